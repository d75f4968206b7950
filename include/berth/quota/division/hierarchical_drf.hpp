#pragma once
/// \file
/// Hierarchical dominant resource fairness, task by task.

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "berth/core/separate.hpp"
#include "berth/quota/division.hpp"

namespace berth {

/// A node of the tree that `hierarchical_drf` fills. Parents stand before their children; node 0 is the root.
struct hdrf_node {
  std::uint32_t parent = 0;
  quota_amount weight = 1000;
  std::vector<quota_amount> task;  ///< what one task asks, by resource; empty for inner nodes
  std::int64_t tasks = 0;          ///< how many a leaf wants
};

/// From the root down, the child with the smallest dominant share divided by weight gets the next task. A leaf is
/// blocked once it has all it wants or its next task does not fit; an inner node once all its children are. The share
/// of an inner node is that of the sum of its children's usage, where every child that is not blocked is first scaled
/// down to the smallest weighted share among those that have any, so that a child which ran ahead (because a sibling
/// was blocked for a while) does not count against its parent: the "naive" rule starves siblings, this one does not.
/// Source: Bhattacharya et al., "Hierarchical Scheduling for Diverse Datacenter Workloads", SoCC 2013; Volcano
/// docs/design/hdrf.md.
///
/// As a division of one group: a tree of depth one, in which a queue takes its need in steps of a unit of its largest
/// need, at most `finest` steps; after k of n steps it has floor(need × k / n) of every resource. Weights are those of
/// the first resource. A queue that needs a resource of which there is none gets nothing.
struct hierarchical_drf {
  static constexpr std::string_view name = "hdrf";
  quota_amount finest = 4'000'000;  ///< steps to a need, at most, at least 1

  /// How many tasks every node gets; 0 for inner nodes. Children of the root cost a comparison a task each, those of
  /// other inner nodes on the task's path O(resources); leaves are looked through where a resource runs short.
  [[nodiscard]] static std::vector<std::int64_t> divide_tree(std::span<const hdrf_node> nodes,
                                                             std::span<const quota_amount> capacity);

  /// O(queues × resources) per round of filling, in practice five to ten, and O(log queues + resources) for each of the
  /// few steps per queue that the end of a round leaves.
  void divide(const sibling_group& g, quota_rows_out share, division_workspace& w) const;

 private:
  static double weight(const hdrf_node& n) { return static_cast<double>(n.weight); }

  /// One group on its way from nothing to its shares.
  struct filling {
    const sibling_group& g;
    quota_rows_out& share;
    division_workspace& w;
    quota_amount finest;

    [[nodiscard]] std::size_t resources() const { return g.capacity.size(); }
    [[nodiscard]] quota_amount& left(std::size_t r) const { return w.amounts[r]; }
    [[nodiscard]] quota_amount& steps(std::size_t i) const { return w.amounts[resources() + 2 * i]; }
    [[nodiscard]] quota_amount& taken(std::size_t i) const { return w.amounts[resources() + 2 * i + 1]; }
    [[nodiscard]] double key(std::size_t i) const { return static_cast<double>(taken(i)) * w.numbers[i]; }
    [[nodiscard]] quota_amount need(std::size_t i, std::size_t r) const {
      return g.need(static_cast<Eigen::Index>(i), static_cast<Eigen::Index>(r));
    }
    [[nodiscard]] quota_amount& has(std::size_t i, std::size_t r) const {
      return share(static_cast<Eigen::Index>(i), static_cast<Eigen::Index>(r));
    }
    /// What row i has after k of its steps.
    [[nodiscard]] quota_amount after(std::size_t i, std::size_t r, quota_amount k) const;
    /// Works out the steps of a row. False where it wants nothing or can have nothing.
    [[nodiscard]] bool prepare(std::size_t i) const;
    [[nodiscard]] bool fits(std::size_t i) const;
    bool step(std::size_t i) const;
    void go_to(std::size_t i, quota_amount k) const;
    /// Takes all steps below a level that certainly comes before the first refusal: in which order does not matter
    /// then. Rows that are refused already leave `w.turns`. \returns how many steps
    quota_amount many_steps() const;
  };
};

}  // namespace berth

#if BERTH_WITH_BODIES
#include "berth/quota/division/impl/hierarchical_drf.hpp"
#endif
