#pragma once
/// \file
/// Domains and nodes that are whole stay whole: never break an empty rack, leaf, pod or node while a broken one serves.
///
/// \code
/// berth::domain_use use{c};
/// berth::placer place{c, berth::whole_domains_last{&c, &use},
///                     berth::lexicographic{berth::whole_nodes_last{}, berth::bin_pack{}}};
/// if (const auto d = place(job)) {
///   c.commit(key, d.where);
///   use.update(c, d.where.tasks);
/// }
/// \endcode
///
/// A node is whole when nothing runs on it and none of its devices is broken or drained; a domain when all its nodes
/// are. Domains nest, so one order keeps all levels whole at once: whoever lands on a broken node breaks no rack and no
/// pod either. Domains that could hold the gang are compared by, in this order,
///   1. how many domains would newly be broken: of the domain itself and those around it, the whole ones;
///   2. how many tasks would not fit on its broken nodes;
///   3. for one task, and with `islands`: how many whole islands break on the broken node where that is the fewest;
///   4. the least room ("best fit").
/// Numbers: racks of two 4-GPU nodes, one node with 1 GPU used. Single GPUs go to that node's three GPUs, then to its
/// neighbour, and only then to another rack, the nearest one first: one of the same pod.

#include <compare>
#include <cstddef>
#include <cstdint>
#include <span>
#include <tuple>
#include <vector>

#include "berth/cluster/cluster.hpp"
#include "berth/cluster/placement.hpp"
#include "berth/core/bits.hpp"
#include "berth/core/id.hpp"
#include "berth/core/separate.hpp"
#include "berth/policy/concepts.hpp"
#include "berth/policy/keep_islands.hpp"
#include "berth/topology/domain_tree.hpp"

namespace berth {

/// Whether nothing runs on a node and nothing of it is missing.
[[nodiscard]] constexpr bool is_whole(const node_state& n) noexcept {
  return n.tasks == 0 && n.free == n.installed;
}

/// Which nodes are broken into, and how many per domain. Not kept by the cluster: whoever changes it says so by
/// `update` or `sync`. What it does not know yet costs placements their quality, nothing else.
class domain_use {
 public:
  /// O(nodes × levels); allocates. \pre the cluster's tree outlives it
  explicit domain_use(const cluster& c);
  /// Looks at one node again. O(levels) where it changed.
  void update(const cluster& c, node_id n) noexcept;
  /// Looks at the nodes of tasks again, after they were committed or released.
  void update(const cluster& c, std::span<const task_placement> tasks) noexcept;
  /// Looks at all nodes again. O(nodes), and O(levels) for those that changed.
  void sync(const cluster& c) noexcept {
    for (std::uint32_t n = 0; n < c.node_count(); ++n) update(c, node_id{n});
  }

  [[nodiscard]] bool is_broken(node_id n) const noexcept { return (broken_[n.index() / 64] & bit(n.raw() % 64)) != 0; }
  [[nodiscard]] std::uint32_t broken_nodes(level_id l, domain_id d) const noexcept {
    return counts_[l.index()][d.index()];
  }
  /// Of the domain and those around it, how many are whole. O(levels).
  [[nodiscard]] unsigned whole_around(level_id l, domain_id d) const noexcept;
  /// Calls `f(node)` for the broken nodes of a domain, lowest first, until it says false. O(nodes / 64 + calls).
  template <class F>
  void each_broken(level_id l, domain_id d, F&& f) const {
    const id_range r = tree_->at(l, d).nodes;
    for (std::uint32_t w = r.first / 64; w * 64 < r.last; ++w) {
      std::uint64_t m = broken_[w];
      if (w * 64 < r.first) m &= ~low_bits(r.first % 64);
      if (r.last < w * 64 + 64) m &= low_bits(r.last % 64);
      for (; m != 0; m &= m - 1)
        if (!f(node_id{w * 64 + lowest_bit(m)})) return;
    }
  }

 private:
  const domain_tree* tree_;
  std::vector<std::uint64_t> broken_;
  std::vector<std::vector<std::uint32_t>> counts_;  // broken nodes, by level and domain
};

/// Domain policy: see above. O(levels + broken nodes of the domain) a domain. \pre all of them outlive it
struct whole_domains_last {
  const cluster* of = nullptr;
  const domain_use* use = nullptr;
  const whole_islands_last* islands = nullptr;
  [[nodiscard]] std::tuple<int, std::int64_t, std::uint64_t, std::int64_t> score(const domain_view& d,
                                                                                 std::uint64_t need) const noexcept;
};
/// Domain policy, "hierarchical least-free": the least room that suffices, compared from the outermost domain inwards,
/// so that the fullest pod is filled before another is touched, in it the fullest rack, and so on. Ignores who broke
/// what. O(levels) a domain. \pre the cluster outlives it
struct least_free_outwards {
  const cluster* of = nullptr;
  /// Room of the domains around, outermost first; smaller numbers are compared first.
  struct chain {
    std::uint64_t room[domain_tree::max_levels]{};
    friend constexpr bool operator==(const chain&, const chain&) noexcept = default;
    /// Less room is better, and better is larger.
    friend constexpr auto operator<=>(const chain& a, const chain& b) noexcept {
      std::size_t i = 0;
      while (i + 1 < domain_tree::max_levels && a.room[i] == b.room[i]) ++i;
      return b.room[i] <=> a.room[i];
    }
  };
  [[nodiscard]] chain score(const domain_view& d, std::uint64_t) const noexcept;
};

/// Node policy: broken nodes first. Put `whole_islands_last` and `bin_pack` behind it.
struct whole_nodes_last {
  [[nodiscard]] constexpr int score(const node_view& n, const task_shape&) const noexcept {
    return n.taken != 0 || !is_whole(n.state) ? 1 : 0;
  }
};

}  // namespace berth

#if BERTH_WITH_BODIES
#include "berth/policy/impl/keep_whole.hpp"
#endif
