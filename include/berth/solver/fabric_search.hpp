#pragma once
/// \file
/// Gangs that ask something of the fabric: a guaranteed rate between their nodes, the same rails on every node.
///
/// What can be held where. With N tasks in the gang, a domain that holds n of them reserves for min(n, N - n): its
/// uplinks carry n <= h tasks, or n >= N - h. Of all children of a domain at most one holds more than N / 2. So per
/// domain two numbers are enough, from the leaves up:
///   L, the most it holds as one of several: min(h, N / 2, sum of its children's L), room in a leaf;
///   H, the most it holds when nothing above limits it: the sum of its children's L, or for one child g with
///      N - min(H(g), N) <= h(g) that child's H and the L of the others; room in a leaf.
/// A domain holds the gang if and only if H >= N. If N tasks fit, so do fewer: binary search finds how many of an
/// elastic gang do. All of this is exact for tasks that are alike.
///
/// Rails. A node takes part when it has free devices on every rail of the chosen set. All sets of free rails are tried
/// that tasks of this size fill evenly, on whichever of up to 16 kinds of node; past 255 sets the answer is `gave_up`
/// where it would be a refusal, for `count_search` to decide. Of those that serve equally well (narrowest domain,
/// fewest domains) the one whose devices lie on the fewest NUMA nodes wins, then the one with the least room to spare,
/// then the lowest rails. On a node that holds fewer tasks than its set has room for, fewer rails are used.
///
/// Cost        O(nodes + domains × log tasks) for every set of rails tried; one where no rails are told apart.
/// Source      see `cluster/uplinks.hpp` for the hose model; the recursion is ours, and checked against trying
/// everything.

#include <cstddef>
#include <cstdint>
#include <limits>

#include "berth/cluster/cluster.hpp"
#include "berth/core/flat_array.hpp"
#include "berth/core/separate.hpp"
#include "berth/job/gang.hpp"
#include "berth/solver/decision.hpp"

namespace berth::detail {

/// Whether a gang asks something of the fabric.
[[nodiscard]] inline bool asks_fabric(const gang& g) noexcept {
  return g.between_nodes.count() != 0 || g.rails != rail_rule::any;
}

template <class Filler>
class fabric_search {
 public:
  static constexpr std::size_t most_sets = 256, most_kinds = 16;

  fabric_search(const cluster& c, Filler& f) : cluster_{&c}, filler_{&f} {}

  /// Allocates what a search will need, unless it has been.
  void reserve();

  /// Decides for one group without segments; fills the filler's tasks. \pre check_gang found no fault
  void place(const gang& g, decision& d);

 private:
  static constexpr std::uint32_t none = std::numeric_limits<std::uint32_t>::max();
  /// Rails that may be used together; all of them where none are told apart.
  struct rail_set {
    std::uint32_t rails = 0;     ///< 0: whichever a node has; every device then counts on every plane
    std::uint32_t per_node = 0;  ///< tasks on a node that uses all of the set, on a kind of node they fill
    unsigned numa_nodes = 0;
    bool one_node_only = false;
  };
  struct candidate {
    std::size_t set = 0;
    unsigned level = 0;
    std::uint32_t domain = none, node = none;
    std::uint64_t tasks = 0, spare = 0;
    unsigned numa_nodes = 0;
    std::uint32_t rails = 0;
    [[nodiscard]] bool is_better_than(const candidate& o) const noexcept;
  };

  [[nodiscard]] std::size_t at(unsigned level, std::uint32_t d) const noexcept { return first_[level] + d; }
  [[nodiscard]] const domain_tree::domain& domain(unsigned level, std::uint32_t d) const noexcept {
    return cluster_->tree().at(level_id{static_cast<std::uint8_t>(level)}, domain_id{d});
  }
  [[nodiscard]] device_mask devices_on(std::uint32_t rails, class_id c) const noexcept;

  // -- which rails ---------------------------------------------------------------------------------------------------

  /// The sets of rails to try: those that an even number of tasks fills on some kind of node, out of rails that are
  /// free anywhere.
  void list_sets();
  /// A class of every kind of node with rails; none where rails do not matter. O(classes × kinds).
  void find_kinds(bool matter);
  [[nodiscard]] bool on_same_rails(class_id a, class_id b) const noexcept;
  /// Rails of devices that may serve on some node now. O(nodes).
  [[nodiscard]] std::uint32_t free_rails() const noexcept;
  /// The first kind of node on which so many tasks, and no more, fill a set; `kinds_count_` where there is none.
  [[nodiscard]] std::size_t filled_by(std::uint32_t set, std::uint32_t tasks) const noexcept;
  /// Whether no rail of a set can be left out.
  [[nodiscard]] bool is_least(std::uint32_t set, class_id c, std::uint32_t devices) const noexcept;

  // -- room ----------------------------------------------------------------------------------------------------------

  /// The devices that a node offers on the rails of the set; 0 where it does not have all of those rails.
  [[nodiscard]] device_mask pool(std::uint32_t n) const noexcept;
  /// Tasks that fit on a node.
  [[nodiscard]] std::uint64_t fits(std::uint32_t n) const noexcept;
  /// Whether a node's NICs carry the rate, so that it can serve beside others.
  [[nodiscard]] bool can_send(std::uint32_t n) const noexcept;
  /// Room of every leaf, and what the uplinks of every domain carry, in tasks.
  void prepare(const rail_set& set);
  /// Tasks whose traffic the uplinks of a domain carry.
  [[nodiscard]] std::uint64_t carried(unsigned level, std::uint32_t d) const noexcept;

  // -- how many where ----------------------------------------------------------------------------------------------

  /// L and H of every domain for a gang of `n` tasks. O(domains).
  void weigh(std::uint64_t n);
  [[nodiscard]] static std::uint64_t least(std::uint64_t a, std::uint64_t b) noexcept { return a < b ? a : b; }

  /// Whether a domain of the widest level holds `n` tasks with the set at work.
  [[nodiscard]] bool holds(std::uint64_t n);
  /// The most tasks, up to `wanted`, that some set of rails holds.
  [[nodiscard]] std::uint64_t most_tasks(std::uint64_t wanted);
  /// The narrowest domain that holds `n` tasks, the tightest of its level.
  bool choose(std::uint64_t n, candidate& c);

  // -- placing
  // ---------------------------------------------------------------------------------------------------------

  /// Puts `n` tasks below a domain. \pre whole_ of it is at least n, or its children's light_ together
  void fill(unsigned level, std::uint32_t d, std::uint64_t n);
  /// The nodes that hold most first, of equals those with the fewest free devices; the last part on the tightest.
  void fill_leaf(std::uint32_t leaf, std::uint64_t n);
  [[nodiscard]] bool is_tighter(std::uint32_t a, std::uint32_t b) const noexcept {
    return count_bits(cluster_->node(node_id{a}).free) < count_bits(cluster_->node(node_id{b}).free);
  }
  [[nodiscard]] bool is_used(std::uint32_t node, std::size_t mark) const noexcept;
  void fill_node(std::uint32_t node, std::uint64_t n) { filler_->place_on(node_id{node}, pool(node), *shape_, n); }

  // -- the answer
  // ------------------------------------------------------------------------------------------------------

  void finish(decision& d);
  /// By how much it misses: without the rate it may fit, and then some link lacks it.
  void refuse(decision& d);

  static constexpr std::uint64_t unlimited = std::numeric_limits<std::uint64_t>::max() / 4;

  const cluster* cluster_;
  Filler* filler_;
  const gang* gang_ = nullptr;
  const task_shape* shape_ = nullptr;
  std::int64_t rate_ = 0;
  unsigned widest_ = 0, leaf_ = 0;
  std::uint64_t tasks_ = 0;                          ///< of the gang that L and H are for
  std::size_t first_[domain_tree::max_levels] = {};  ///< by level: its first domain in the tables
  flat_array<std::uint64_t> light_, whole_;          ///< L and H, by domain
  flat_array<std::uint64_t> limit_;                  ///< h, by domain
  flat_array<std::uint32_t> major_;                  ///< by domain: the child that holds most of H; none: no child does
  flat_array<std::uint64_t> room_;                   ///< by leaf: tasks that fit
  std::uint32_t alone_ = 0;                          ///< the node that holds most
  std::uint64_t alone_most_ = 0;
  rail_set set_{};
  rail_set sets_[most_sets];
  std::size_t sets_count_ = 0;
  bool all_listed_ = true;  ///< whether `sets_` has all that matter
  class_id kinds_[most_kinds];
  std::size_t kinds_count_ = 0;
};

}  // namespace berth::detail

#if BERTH_WITH_BODIES
#include "berth/solver/impl/fabric_search.hpp"
#endif
