#pragma once
/// \file
/// Places tasks one by one on nodes with shared GPUs, as a packing policy likes. Scores are kept per class of equal
/// tasks and computed again only for nodes that changed; nodes in equal state are scored once.
///
/// Work-conserving: a task that fits somewhere is placed. Ties end in the lowest node number.
///
/// Cost   a decision: O(c × score + log n) where c nodes changed since the last task of the class; after a drift of the
///        policy also the nodes that may now be best; the first task of a class, and the first after the policy changed
///        its mind altogether: O(n × score). Memory O(nodes × classes).

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

namespace detail {
// What a policy noted about a node, and of which state and mind.
template <class Policy>
struct seen_note {};
template <noting_packing_policy Policy>
struct seen_note<Policy> {
  typename Policy::note note{};
  std::uint64_t policy_version = ~std::uint64_t{0};
  std::uint32_t node_version = 0;
};
}  // namespace detail

template <packing_policy Policy>
class packer {
 public:
  /// \param nodes  as installed, nothing on them
  packer(std::vector<share_node> nodes, Policy policy)
      : policy_{std::move(policy)}, installed_{std::move(nodes)}, now_{installed_}, counts_(installed_.size()) {
    if constexpr (learning_packing_policy<Policy>) policy_.begin(installed_);
    if constexpr (noting_packing_policy<Policy>) notes_.resize(installed_.size());
  }

  /// Chooses a node for the task and takes its amounts; empty where it fits nowhere. \pre t.is_valid()
  [[nodiscard]] std::optional<packed_task> place(const share_task& t) {
    assert(t.is_valid());
    if constexpr (learning_packing_policy<Policy>) {
      policy_.arrived(t, now_, installed_);
      drift_ = policy_.drift();
    }
    task_class& c = class_of(t);
    catch_up(c);
    for (auto& h : c.heaps) settle(h, c.task);
    const std::vector<entry>*steady = &c.heaps[0], *drifting = &c.heaps[1];
    if (steady->empty() && drifting->empty()) return std::nullopt;
    const auto found = [](const entry& e, double drift) { return packed_task{e.node, e.devices, e.key + drift}; };
    packed_task best;
    if (!steady->empty()) best = found(steady->front(), 0);
    if (!drifting->empty()) {
      const packed_task other = found(drifting->front(), drift_);
      if (steady->empty() || other.score > best.score || (other.score == best.score && other.node < best.node))
        best = other;
    }
    apply(best.node, t, best.devices, true);
    return best;
  }
  /// Takes a task off its node again. \pre it was placed there and not released since
  void release(const share_task& t, const packed_task& where) { apply(where.node, t, where.devices, false); }

  [[nodiscard]] std::size_t node_count() const noexcept { return now_.size(); }
  [[nodiscard]] const share_node& node(std::uint32_t n) const noexcept { return now_[n]; }
  [[nodiscard]] const share_node& installed(std::uint32_t n) const noexcept { return installed_[n]; }
  [[nodiscard]] const Policy& policy() const noexcept { return policy_; }
  /// Scores computed since the beginning.
  [[nodiscard]] std::uint64_t scores() const noexcept { return scores_; }
  /// Distinct tasks seen.
  [[nodiscard]] std::size_t class_count() const noexcept { return classes_.size(); }

 private:
  struct node_counts {
    std::uint32_t version = 0;  // of its last change
    std::uint32_t tasks = 0;
    std::uint32_t by_kind[2 + max_shared_devices]{};
  };
  // Where scores drift, no entry scores more now than its key and the drift of now together: so the heap stays in order
  // while the policy drifts, and entries are scored again only when they surface.
  struct entry {
    double key = 0;    // its score, less the drift when it was scored
    double drift = 0;  // of that moment; 0 where the score does not drift
    std::uint32_t node = 0;
    std::uint32_t version = 0;
    device_mask devices = 0;
  };
  struct task_class {
    share_task task;
    std::vector<entry> heaps[2];  // best first; stale entries are dropped when they surface. Steady ones, drifting ones
    std::size_t seen = 0;         // position in the log of changes
    std::uint64_t policy_version = ~std::uint64_t{0};
  };

  using seen_note = detail::seen_note<Policy>;

  [[nodiscard]] static bool before(const entry& a, const entry& b) noexcept {
    return a.key != b.key ? a.key > b.key : a.node < b.node;
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
    const node_counts& c = counts_[n];
    return {now_[n], installed_[n], c.tasks, c.by_kind[packing_kind(t)], c.tasks - c.by_kind[0]};
  }
  // The policy's score; for some policies from what they noted about the node.
  [[nodiscard]] packing_score score(std::uint32_t n, const share_task& t) {
    ++scores_;
    if constexpr (noting_packing_policy<Policy>) {
      seen_note& seen = notes_[n];
      if (seen.node_version != counts_[n].version || seen.policy_version != policy_.version()) {
        seen.note = policy_.look(now_[n], installed_[n]);
        seen.node_version = counts_[n].version;
        seen.policy_version = policy_.version();
      }
      return policy_.score(view(n, t), seen.note, t);
    } else {
      return policy_.score(view(n, t), t);
    }
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

  void add(task_class& c, std::uint32_t n) {
    const packing_score s = score(n, c.task);
    const double drift = s.drifts ? drift_ : 0;
    c.heaps[s.drifts ? 1 : 0].push_back({s.value - drift, drift, n, counts_[n].version, s.devices});
    last_ = s.drifts ? 1 : 0;
  }

  void catch_up(task_class& c) {
    const std::uint64_t now = version();
    const bool fresh = c.policy_version == ~std::uint64_t{0};
    if (fresh || c.policy_version != now || c.seen < log_start_ || log_end() - c.seen > now_.size()) {
      c.policy_version = now;
      score_all(c);
    } else {
      for (std::size_t i = c.seen; i < log_end(); ++i) {
        const auto [n, v] = log_[i - log_start_];
        if (counts_[n].version != v || !fits(now_[n], c.task)) continue;  // changed again since, or no use
        add(c, n);
        sift_up(c.heaps[last_], c.heaps[last_].size() - 1);
      }
      if (c.heaps[0].size() + c.heaps[1].size() > 2 * now_.size() + 64) score_all(c);
    }
    c.seen = log_end();
  }
  void score_all(task_class& c) {
    for (auto& h : c.heaps) h.clear();
    const unsigned kind = packing_kind(c.task);
    // Neighbours are often alike, as whole racks are: the last score serves as long as the state repeats.
    const auto alike = [&](std::uint32_t a, std::uint32_t b) {
      return counts_[a].tasks == counts_[b].tasks && counts_[a].by_kind[kind] == counts_[b].by_kind[kind] &&
             counts_[a].by_kind[0] == counts_[b].by_kind[0] && now_[a] == now_[b] && installed_[a] == installed_[b];
    };
    for (std::uint32_t n = 0; n < now_.size(); ++n) {
      if (!fits(now_[n], c.task)) continue;
      if (auto& h = c.heaps[last_]; !h.empty() && alike(n, h.back().node)) {
        entry same = h.back();
        same.node = n;
        same.version = counts_[n].version;
        h.push_back(same);
      } else {
        add(c, n);
      }
    }
    for (auto& h : c.heaps)
      for (std::size_t i = h.size() / 2; i-- > 0;) sift_down(h, i);
  }
  // Until the first entry is of the node as it is and as the policy sees it now.
  void settle(std::vector<entry>& h, const share_task& t) {
    while (!h.empty()) {
      entry& first = h.front();
      if (first.version != counts_[first.node].version) {
        first = h.back();
        h.pop_back();
        if (h.empty()) return;
      } else if (first.drift != 0 && first.drift != drift_) {
        const packing_score s = score(first.node, t);
        first.key = s.value - drift_;
        first.drift = drift_;
        first.devices = s.devices;
      } else {
        return;
      }
      sift_down(h, 0);
    }
  }

  void apply(std::uint32_t n, const share_task& t, device_mask devices, bool takes) {
    node_counts& x = counts_[n];
    const share_node before = now_[n];
    if (takes) {
      take(now_[n], t, devices);
      ++x.tasks;
      ++x.by_kind[packing_kind(t)];
    } else {
      give_back(now_[n], t, devices);
      --x.tasks;
      --x.by_kind[packing_kind(t)];
    }
    if constexpr (learning_packing_policy<Policy>) policy_.changed(before, now_[n], installed_[n]);
    x.version = ++changes_;
    log_.push_back({n, x.version});
    if (log_.size() > 4 * now_.size() + 1024) {  // classes that are further behind score all nodes again
      const std::size_t drop = log_.size() / 2;
      log_.erase(log_.begin(), log_.begin() + static_cast<std::ptrdiff_t>(drop));
      log_start_ += drop;
    }
  }
  [[nodiscard]] std::size_t log_end() const noexcept { return log_start_ + log_.size(); }

  Policy policy_;
  std::vector<share_node> installed_, now_;
  std::vector<node_counts> counts_;
  std::vector<seen_note> notes_;
  double drift_ = 0;   // of the policy
  unsigned last_ = 0;  // heap that the last score went to
  std::vector<task_class> classes_;
  share_task_index index_;
  std::vector<std::pair<std::uint32_t, std::uint32_t>> log_;  // node, version
  std::size_t log_start_ = 0;
  std::uint32_t changes_ = 0;
  std::uint64_t scores_ = 0;
};

}  // namespace berth
