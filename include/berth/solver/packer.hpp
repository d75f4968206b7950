#pragma once
/// \file
/// Places tasks one by one on nodes with shared GPUs, as a packing policy likes. Scores are kept per class of equal
/// tasks and computed again only for nodes that changed; nodes in equal state are scored once.
///
/// Work-conserving: a task that fits somewhere is placed. Ties end in the lowest node number.
///
/// Cost   a decision: O(c × score + log n) where c nodes changed since the last task of the class and have room for it;
///        after a move of its prices also the nodes of which another GPU may now be best; the first task of a class, and
///        the first after the policy changed its mind altogether: O(n × score). Memory O(nodes × classes).

#include <cassert>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <utility>
#include <vector>

#include "berth/cluster/share_node.hpp"
#include "berth/cluster/share_task_index.hpp"
#include "berth/core/flat_array.hpp"
#include "berth/core/prefetch.hpp"
#include "berth/policy/packing.hpp"
#include "berth/solver/detail/kept_scores.hpp"

namespace berth {

/// Where a task went.
struct packed_task {
  std::uint32_t node = 0;
  device_mask devices = 0;
  double score = 0;
};

namespace detail {
// What a policy noted about a node in a state, and of which mind it was.
template <class Policy>
struct seen_note {};
template <noting_packing_policy Policy>
struct alignas(64) seen_note<Policy> {
  typename Policy::note note{};
  share_node node{};  // beside the note, for one way to memory
  std::uint64_t policy_version = ~std::uint64_t{0};
  std::uint32_t node_version = 0;
  void fetch() const noexcept {
    prefetch_read(this);
    prefetch_read(reinterpret_cast<const char*>(this) + 64);
  }
};
}  // namespace detail

/// \pre of every node: at most `max_shared_devices` GPUs, a model below `max_device_models`, no amount negative
template <packing_policy Policy>
class packer {
  static_assert(explain_packing_policy<Policy>::ok);

 public:
  /// \param nodes  as installed, nothing on them
  packer(std::vector<share_node> nodes, Policy policy)
      : policy_{std::move(policy)},
        installed_{std::move(nodes)},
        now_{installed_},
        counts_(installed_.size()),
        last_change_(installed_.size()) {
    if constexpr (learning_packing_policy<Policy>) policy_.begin(installed_);
    if constexpr (noting_packing_policy<Policy>) notes_.resize(installed_.size());
  }

  /// Whether the task fits anywhere now. A policy that learns does not see it as a request.
  [[nodiscard]] bool has_room(const share_task& t) {
    task_class& c = class_of(t);
    catch_up(c);
    for (unsigned d = 0; d < packing_drifts; ++d)
      if (settled(c, d) != now_.size()) return true;
    return false;
  }
  /// Chooses a node for the task and takes its amounts; empty where it fits nowhere. \pre t.is_valid()
  [[nodiscard]] std::optional<packed_task> place(const share_task& t) {
    assert(t.is_valid());
    if constexpr (learning_packing_policy<Policy>) {
      policy_.arrived(t, now_, installed_);
      hear();
    }
    task_class& c = class_of(t);
    c.kept.prefetch_best();
    catch_up(c);
    packed_task best;
    bool found = false;
    for (unsigned d = 0; d < packing_drifts; ++d) {
      const std::size_t n = settled(c, d);
      if (n == now_.size()) continue;
      const double value = score_of(c.kept[n]);
      if (found && (value < best.score || (value == best.score && n > best.node))) continue;
      best.node = static_cast<std::uint32_t>(n);
      best.devices = c.kept[n].devices;
      best.score = value;
      found = true;
    }
    if (!found) return std::nullopt;
    assert(count_bits(best.devices) == t.devices);
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
  // So many scores that do not follow their charge are renewed one by one at the top before all of a class are.
  static constexpr unsigned most_at_the_top = 16;
  struct node_counts {
    std::uint32_t tasks = 0;
    std::uint32_t by_kind[2 + max_shared_devices]{};
  };
  // What there is room for, in as few bits as it takes to see quickly that a node cannot serve a task: all the rest is
  // rounded in favour of the node.
  struct room {
    std::uint32_t cpu = 0;     // millicores
    std::uint32_t memory = 0;  // MiB
    std::uint16_t widest = 0;  // free share
    std::uint8_t whole = 0;
    std::uint8_t model = 0;
    room() = default;
    explicit room(const share_node& x) noexcept
        : cpu{bounded(x.cpu.count())}, memory{bounded((x.memory.count() + mebibyte - 1) / mebibyte)}, model{x.model} {
      for (unsigned g = 0; g < x.devices; ++g) {
        widest = x.free[g] > widest ? x.free[g] : widest;
        if (x.free[g] == whole_device) ++whole;
      }
    }
    // What a task needs.
    explicit room(const share_task& t) noexcept
        : cpu{bounded(t.cpu.count())},
          memory{bounded(t.memory.count() / mebibyte)},
          widest{t.share},
          whole{t.share == whole_device ? t.devices : std::uint8_t{0}} {}
    [[nodiscard]] bool has(const room& need, std::uint64_t models) const noexcept {
      // No branches: what is there and what is not follow each other at random.
      return (static_cast<unsigned>(need.cpu <= cpu) & static_cast<unsigned>(need.memory <= memory) &
              static_cast<unsigned>(need.widest <= widest) & static_cast<unsigned>(need.whole <= whole) &
              static_cast<unsigned>(models >> model & 1U)) != 0;
    }

   private:
    static constexpr std::int64_t mebibyte = std::int64_t{1} << 20U;
    [[nodiscard]] static std::uint32_t bounded(std::int64_t x) noexcept {
      constexpr std::int64_t most = std::numeric_limits<std::uint32_t>::max();
      return static_cast<std::uint32_t>(x < most ? x : most);
    }
  };
  // A change of a node, with what is left there; once it has changed again, of none.
  struct change {
    std::uint32_t node = none;
    room left;
    static constexpr std::uint32_t none = ~std::uint32_t{0};
  };
  // Scores follow the policy's charges, so they are had anew without the policy. What keeps them in order is the score
  // less the drift of that time: it may fall, but does not rise while the policy drifts, so nodes are looked at again
  // only when they come out best.
  struct task_class {
    share_task task;
    detail::kept_scores kept;  // by node; some are of the past
    std::size_t seen = 0;      // position in the log of changes
    std::uint64_t policy_version = ~std::uint64_t{0};
  };
  static_assert(max_shared_devices <= 16);

  using seen_note = detail::seen_note<Policy>;

  [[nodiscard]] packing_view view(std::uint32_t n, const share_task& t) const noexcept {
    const node_counts& c = counts_[n];
    return {now_[n], installed_[n], c.tasks, c.by_kind[packing_kind(t)], c.tasks - c.by_kind[0]};
  }
  [[nodiscard]] const seen_note& looked_at(std::uint32_t n) {
    seen_note& seen = notes_[n];
    if (seen.node_version != version_of(n) || seen.policy_version != policy_.version()) {
      seen.note = policy_.look(now_[n], installed_[n]);
      seen.node = now_[n];
      seen.node_version = version_of(n);
      seen.policy_version = policy_.version();
    }
    return seen;
  }
  // What is free on the node, from where its score reads it too.
  [[nodiscard]] const share_node& state_of(std::uint32_t n) {
    if constexpr (noting_packing_policy<Policy>) return looked_at(n).node;
    else return now_[n];
  }
  // The policy's score; for some policies from what they noted about the node.
  [[nodiscard]] packing_score score(std::uint32_t n, const share_task& t) {
    ++scores_;
    if constexpr (noting_packing_policy<Policy>) {
      const seen_note& seen = looked_at(n);
      return policy_.score({seen.node, installed_[n]}, seen.note, t);
    } else {
      return policy_.score(view(n, t), t);
    }
  }
  [[nodiscard]] std::uint32_t version_of(std::uint32_t n) const noexcept {
    return static_cast<std::uint32_t>(last_change_[n]);
  }
  [[nodiscard]] std::uint64_t version() const noexcept {
    if constexpr (learning_packing_policy<Policy>) return policy_.version();
    else return 0;
  }

  // How far the policy has drifted. While no score of a kind moves, neither does what is kept of its drift, even where
  // the policy's rises, which is a bound: else kept scores would come out higher than those made since.
  void hear() {
    for (unsigned d = 1; d < packing_drifts; ++d)
      if (const std::uint32_t moves = policy_.moves(d); moves != moves_[d])
        drift_[d] = policy_.drift(d), moves_[d] = moves;
  }

  [[nodiscard]] task_class& class_of(const share_task& t) {
    const std::uint32_t i = index_.intern(t);
    if (i == classes_.size()) {
      classes_.emplace_back();
      classes_.back().task = t;
    }
    return classes_[i];
  }

  [[nodiscard]] detail::kept_score scored(std::uint32_t n, const packing_score& s) const noexcept {
    assert(s.drift < packing_drifts);
    detail::kept_score out;
    const bool follows = s.follows_charge && (charging_packing_policy<Policy> || s.drift == 0);
    out.base = !follows                                            ? s.value - drift_[s.drift]
               : !charging_packing_policy<Policy> || s.charge == 0 ? s.value
                                                                   : s.base;
    out.amount = s.amount;
    out.charge = follows ? s.charge : moves_[s.drift];
    out.version = version_of(n);
    out.devices = static_cast<std::uint16_t>(s.devices);
    out.kind = s.drift;
    out.follows_charge = follows;
    return out;
  }
  // The score of now. Where it does not follow its charge and that has moved, no less than it.
  [[nodiscard]] double score_of(const detail::kept_score& k) const noexcept {
    if (!k.follows_charge) return k.base + drift_[k.kind];
    if constexpr (charging_packing_policy<Policy>) return charged(k.base, policy_.charges()[k.charge], k.amount);
    else return k.base;
  }
  // What stays in order.
  [[nodiscard]] auto key_of() const noexcept {
    return [this](const detail::kept_score& k) noexcept { return score_of(k) - drift_[k.kind]; };
  }
  // \pre what is kept of the node is of the past, or no longer how the policy sees it
  void add(task_class& c, std::uint32_t n) {
    if (!fits(state_of(n), c.task)) return c.kept.clear(n);
    const packing_score s = score(n, c.task);
    c.kept.set(n, scored(n, s), s.value - drift_[s.drift]);
  }
  void add(task_class& c, const std::uint32_t* some, unsigned n) {
    prepare(c, some, n);
    for (unsigned k = 0; k < n; ++k) add(c, some[k]);
  }
  // Looks at some nodes and begins to bring in what their scores will read.
  void prepare(const task_class& c, const std::uint32_t* some, unsigned n) {
    if constexpr (noting_packing_policy<Policy>)
      for (unsigned k = 0; k < n; ++k) {
        const seen_note& seen = looked_at(some[k]);
        policy_.prefetch({seen.node, installed_[some[k]]}, seen.note, c.task);
      }
  }
  void catch_up(task_class& c) {
    const std::uint64_t now = version();
    if (c.policy_version != now || c.kept.size() == 0 || c.seen < log_start_ || log_end() - c.seen > 2 * now_.size()) {
      c.policy_version = now;
      score_all(c);
    } else {
      // Some at a time, so that their memory is on its way before it is needed.
      std::uint32_t some[16];
      unsigned n = 0;
      const room need{c.task};
      const std::uint64_t models = c.task.devices == 0 ? ~std::uint64_t{0} : c.task.models;
      for (std::size_t i = c.seen; i < log_end(); ++i) {
        const change& x = log_[i - log_start_];
        // Nothing for nodes without room: what is kept of them goes when it comes out best.
        if (!x.left.has(need, models) || x.node == change::none) continue;
        if constexpr (noting_packing_policy<Policy>) notes_[x.node].fetch();
        c.kept.prefetch(x.node);
        some[n++] = x.node;
        if (n < 16) continue;
        add(c, some, n);
        n = 0;
      }
      add(c, some, n);
    }
    c.seen = log_end();
  }
  void score_all(task_class& c) {
    c.kept.assign(now_.size());
    // Neighbours are often alike, as whole racks are: the last score serves as long as the state repeats.
    std::size_t last = now_.size();
    packing_score s;
    for (std::uint32_t n = 0; n < now_.size(); ++n) {
      if (!fits(now_[n], c.task)) continue;
      if (last == now_.size() || !are_alike(n, last, packing_kind(c.task))) s = score(n, c.task);
      last = n;
      c.kept.put(n, scored(n, s));
    }
    c.kept.settle(key_of());
  }
  // Whether a policy sees the same in both.
  [[nodiscard]] bool are_alike(std::size_t a, std::size_t b, unsigned kind) const noexcept {
    if (!(now_[a] == now_[b]) || !(installed_[a] == installed_[b])) return false;
    if constexpr (noting_packing_policy<Policy>) return true;
    const node_counts &x = counts_[a], &y = counts_[b];
    return x.tasks == y.tasks && x.by_kind[kind] == y.by_kind[kind] && x.by_kind[0] == y.by_kind[0];
  }
  // The best node with that kind of drift, as it is and as the policy sees it now; the number of nodes: none.
  [[nodiscard]] std::size_t settled(task_class& c, unsigned d) {
    for (unsigned again = 0;;) {
      const std::size_t n = c.kept.best(d, key_of());
      if (n == c.kept.size()) return n;
      const detail::kept_score& kept = c.kept[n];
      if (kept.version != version_of(static_cast<std::uint32_t>(n))) c.kept.clear(n);
      else if (kept.follows_charge || kept.charge == moves_[d]) return n;
      else if (++again <= most_at_the_top) add(c, static_cast<std::uint32_t>(n));
      else refresh(c);
    }
  }
  // Scores all nodes again that do not follow their charge and that the policy sees otherwise now. Where that is many,
  // it is cheaper than to find them one by one at the top.
  void refresh(task_class& c) {
    std::uint32_t some[16];
    unsigned n = 0;
    const auto score_some = [&] {
      prepare(c, some, n);
      for (unsigned k = 0; k < n; ++k) c.kept.put(some[k], scored(some[k], score(some[k], c.task)));
      n = 0;
    };
    for (std::uint32_t i = 0; i < now_.size(); ++i) {
      const detail::kept_score& kept = c.kept[i];
      if (kept.base == max_tree::none) continue;
      if (kept.version != version_of(i)) {
        c.kept.clear(i);
      } else if (!kept.follows_charge && kept.charge != moves_[kept.kind]) {
        if constexpr (noting_packing_policy<Policy>) notes_[i].fetch();
        some[n++] = i;
        if (n == 16) score_some();
      }
    }
    score_some();
    c.kept.settle(key_of());
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
    if (last_change_[n] > log_start_) log_[last_change_[n] - 1 - log_start_] = {};
    log_.push_back({n, room{now_[n]}});
    last_change_[n] = log_end();
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
  std::vector<std::uint64_t> last_change_;  // of each node: its place in the log, from 1 on
  flat_array<seen_note> notes_;
  double drift_[packing_drifts]{};  // of the policy
  std::uint32_t moves_[packing_drifts]{};
  std::vector<task_class> classes_;
  share_task_index index_;
  std::vector<change> log_;
  std::size_t log_start_ = 0;
  std::uint64_t scores_ = 0;
};

/// So that `packer{nodes, my_policy{}}` with a type that is no policy is told in one sentence what it lacks.
template <class Policy, bool = explain_packing_policy<Policy>::ok>
packer(std::vector<share_node>, Policy) -> packer<Policy>;

}  // namespace berth
