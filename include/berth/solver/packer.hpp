#pragma once
/// \file
/// Places tasks one by one on nodes with shared GPUs, as a packing policy likes. Scores are kept per class of equal
/// tasks and computed again only for nodes that changed; nodes in equal state are scored once.
///
/// Work-conserving: a task that fits somewhere is placed. Ties end in the lowest node number.
///
/// Cost   a decision: O(c × score + log n) where c nodes changed since the last task of the class; the first task of a
///        class, and the first after the policy changed its mind: O(n log n). Memory O(nodes × classes).

#include <cassert>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "berth/cluster/share_node.hpp"
#include "berth/cluster/share_task_index.hpp"
#include "berth/policy/packing.hpp"

namespace berth {

/// Where a task went.
struct packed_task {
  std::uint32_t node = 0;
  device_mask devices = 0;
  double score = 0;
};

template <packing_policy Policy>
class packer {
 public:
  /// \param nodes  as installed, nothing on them
  packer(std::vector<share_node> nodes, Policy policy) : policy_{std::move(policy)}, installed_{std::move(nodes)} {
    nodes_.reserve(installed_.size());
    for (const auto& n : installed_) {
      nodes_.push_back({n, 0, 0, {}});
      if constexpr (learning_packing_policy<Policy>) policy_.add_node(n);
    }
  }

  /// Chooses a node for the task and takes its amounts; empty where it fits nowhere. \pre t.is_valid()
  [[nodiscard]] std::optional<packed_task> place(const share_task& t) {
    assert(t.is_valid());
    if constexpr (learning_packing_policy<Policy>) policy_.arrived(t);
    task_class& c = class_of(t);
    catch_up(c);
    drop_stale(c);
    if (c.heap.empty()) return std::nullopt;
    const entry best = c.heap.front();
    // The devices are not kept: one score is cheaper than a word more in every entry.
    const packing_score s = policy_.score(view(best.node, t), t);
    apply(best.node, t, s.devices, true);
    return packed_task{best.node, s.devices, s.value};
  }
  /// Takes a task off its node again. \pre it was placed there and not released since
  void release(const share_task& t, const packed_task& where) { apply(where.node, t, where.devices, false); }

  [[nodiscard]] std::size_t node_count() const noexcept { return nodes_.size(); }
  [[nodiscard]] const share_node& node(std::uint32_t n) const noexcept { return nodes_[n].now; }
  [[nodiscard]] const share_node& installed(std::uint32_t n) const noexcept { return installed_[n]; }
  [[nodiscard]] const Policy& policy() const noexcept { return policy_; }
  /// Scores computed since the beginning.
  [[nodiscard]] std::uint64_t scores() const noexcept { return scores_; }
  /// Distinct tasks seen.
  [[nodiscard]] std::size_t class_count() const noexcept { return classes_.size(); }

 private:
  struct live_node {
    share_node now;
    std::uint32_t version = 0;  // of its last change
    std::uint32_t tasks = 0;
    std::uint32_t by_kind[2 + max_shared_devices]{};
  };
  struct entry {
    double score = 0;
    std::uint32_t node = 0;
    std::uint32_t version = 0;
  };
  struct task_class {
    share_task task;
    std::vector<entry> heap;  // best first; stale entries are dropped when they surface
    std::size_t seen = 0;     // position in the log of changes
    std::uint64_t policy_version = ~std::uint64_t{0};
  };

  [[nodiscard]] static bool before(const entry& a, const entry& b) noexcept {
    return a.score != b.score ? a.score > b.score : a.node < b.node;
  }
  static void sift_up(std::vector<entry>& h, std::size_t i) noexcept {
    const entry e = h[i];
    while (i != 0 && before(e, h[(i - 1) / 2])) {
      h[i] = h[(i - 1) / 2];
      i = (i - 1) / 2;
    }
    h[i] = e;
  }
  static void sift_down(std::vector<entry>& h, std::size_t i) noexcept {
    const entry e = h[i];
    for (std::size_t k = 2 * i + 1; k < h.size(); k = 2 * i + 1) {
      if (k + 1 < h.size() && before(h[k + 1], h[k])) ++k;
      if (!before(h[k], e)) break;
      h[i] = h[k];
      i = k;
    }
    h[i] = e;
  }

  [[nodiscard]] packing_view view(std::uint32_t n, const share_task& t) const noexcept {
    const auto& x = nodes_[n];
    return {x.now, installed_[n], x.tasks, x.by_kind[packing_kind(t)]};
  }
  [[nodiscard]] std::uint64_t version() const noexcept {
    if constexpr (learning_packing_policy<Policy>) return policy_.version();
    else return 0;
  }

  [[nodiscard]] task_class& class_of(const share_task& t) {
    const std::uint32_t i = index_.intern(t);
    if (i == classes_.size()) classes_.push_back({t, {}, 0, ~std::uint64_t{0}});
    return classes_[i];
  }

  [[nodiscard]] double score(std::uint32_t n, const share_task& t) {
    ++scores_;
    return policy_.score(view(n, t), t).value;
  }

  void catch_up(task_class& c) {
    const std::uint64_t now = version();
    const bool fresh = c.policy_version == ~std::uint64_t{0};
    if (fresh || c.policy_version != now || c.seen < log_start_ || log_end() - c.seen > nodes_.size()) {
      c.policy_version = now;
      score_all(c);
    } else {
      for (std::size_t i = c.seen; i < log_end(); ++i) {
        const auto [n, v] = log_[i - log_start_];
        if (nodes_[n].version != v || !fits(nodes_[n].now, c.task)) continue;  // changed again since, or no use
        c.heap.push_back({score(n, c.task), n, v});
        sift_up(c.heap, c.heap.size() - 1);
      }
      if (c.heap.size() > 2 * nodes_.size() + 64) score_all(c);
    }
    c.seen = log_end();
  }
  void score_all(task_class& c) {
    c.heap.clear();
    // Neighbours are often alike, as whole racks are: the last score serves as long as the state repeats.
    std::uint32_t last = 0;
    bool has_last = false;
    double last_score = 0;
    for (std::uint32_t n = 0; n < nodes_.size(); ++n) {
      if (!fits(nodes_[n].now, c.task)) continue;
      if (!(has_last && nodes_[n].now == nodes_[last].now && installed_[n] == installed_[last] &&
            nodes_[n].tasks == nodes_[last].tasks &&
            nodes_[n].by_kind[packing_kind(c.task)] == nodes_[last].by_kind[packing_kind(c.task)]))
        last_score = score(n, c.task);
      last = n;
      has_last = true;
      c.heap.push_back({last_score, n, nodes_[n].version});
    }
    for (std::size_t i = c.heap.size() / 2; i-- > 0;) sift_down(c.heap, i);
  }
  void drop_stale(task_class& c) {
    while (!c.heap.empty() && c.heap.front().version != nodes_[c.heap.front().node].version) {
      c.heap.front() = c.heap.back();
      c.heap.pop_back();
      if (!c.heap.empty()) sift_down(c.heap, 0);
    }
  }

  void apply(std::uint32_t n, const share_task& t, device_mask devices, bool takes) {
    live_node& x = nodes_[n];
    if (takes) {
      take(x.now, t, devices);
      ++x.tasks;
      ++x.by_kind[packing_kind(t)];
    } else {
      give_back(x.now, t, devices);
      --x.tasks;
      --x.by_kind[packing_kind(t)];
    }
    if constexpr (learning_packing_policy<Policy>) policy_.changed(n, x.now, installed_[n]);
    x.version = ++changes_;
    log_.push_back({n, x.version});
    if (log_.size() > 4 * nodes_.size() + 1024) {  // classes that are further behind score all nodes again
      const std::size_t drop = log_.size() / 2;
      log_.erase(log_.begin(), log_.begin() + static_cast<std::ptrdiff_t>(drop));
      log_start_ += drop;
    }
  }
  [[nodiscard]] std::size_t log_end() const noexcept { return log_start_ + log_.size(); }

  Policy policy_;
  std::vector<share_node> installed_;
  std::vector<live_node> nodes_;
  std::vector<task_class> classes_;
  share_task_index index_;
  std::vector<std::pair<std::uint32_t, std::uint32_t>> log_;  // node, version
  std::size_t log_start_ = 0;
  std::uint32_t changes_ = 0;
  std::uint64_t scores_ = 0;
};

}  // namespace berth
