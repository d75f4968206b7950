#pragma once
/// \file
/// The reference for the reference: every way to put a gang on a few nodes, one task at a time, each judged by
/// `validate`. Uses no property of the problem but two: tasks of a group are alike, and so are their orders.
///
/// Devices     of a node are tried until its tasks have some, as it does not matter which. Where it does, the answer is
///             `too_large`: always for tasks that ask for something of the inside of nodes (`binding_need`), and in
///             place of `impossible` for the same rails and for rates on planes, unless tasks take whole nodes.
/// Cost        about nodes^tasks, each time with all subsets of the devices of a node where its tasks do not fit; past
///             `exact_limits::work` the answer is `too_large`. Good for up to about 6 nodes.

#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "berth/cluster/cluster.hpp"
#include "berth/core/separate.hpp"
#include "berth/job/gang.hpp"
#include "berth/solver/decision.hpp"
#include "berth/solver/detail/part_ledger.hpp"
#include "berth/solver/exact.hpp"
#include "berth/solver/validate.hpp"

namespace berth {
namespace detail {

class exhaustive_search {
 public:
  exhaustive_search(const cluster& c, const gang& g, const exact_limits& limits);

  [[nodiscard]] exact_answer solve();

 private:
  /// Every number of tasks per group, then every placement of them.
  void choose_counts(std::size_t group);
  /// Puts `left` more tasks of a group on nodes from `from` on.
  void place(std::size_t group, std::uint32_t left, std::uint32_t from);
  /// Finds devices for all tasks of a node by trying all subsets, task by task; for parts, all starts.
  [[nodiscard]] bool give_devices(std::uint32_t n);
  [[nodiscard]] bool give_task(std::uint32_t n, std::size_t task, const part_ledger& now);
  /// The `left` devices (or times a MIG request) of a task that are still to come, on devices from `from` on.
  bool give_device(std::uint32_t n, std::size_t task, unsigned left, unsigned from, const part_ledger& now);
  /// A client of some instance on device `d`, shared already or new.
  bool join_instance(std::uint32_t n, std::size_t task, unsigned d, const part_ledger& now);
  /// Instances `i` and on of one request on device `d`.
  bool give_instance(std::uint32_t n, std::size_t task, unsigned left, unsigned d, unsigned i, const part_ledger& now);
  /// The placement is complete: is it one, and is it better?
  void judge();
  /// Whether at most one domain of the segment level could take one more segment beside those it has.
  [[nodiscard]] bool consolidated(const placement& p);

  /// Devices of a node are tried faster than nodes: as many of these steps make one of `exact_limits::work`.
  static constexpr std::uint64_t device_steps = 64;

  const cluster& cluster_;
  const gang& gang_;
  std::uint64_t work_;
  std::uint64_t device_work_;
  std::vector<std::vector<std::size_t>> load_;                ///< by node: groups of the tasks there
  id_range range_;                                            ///< nodes to use
  std::vector<bool> cut_off_;                                 ///< nodes not to use
  std::vector<std::uint32_t> counts_;                         ///< by group
  std::vector<std::pair<std::size_t, std::uint32_t>> nodes_;  ///< per task so far: group, node
  std::vector<device_mask> masks_;                            ///< devices of the tasks of the node looked at last
  std::vector<part_places> places_;                           ///< their MIG instances
  exact_answer answer_;
};

}  // namespace detail

/// The best placement by trying all. `limits.work` bounds the steps, `limits.vectors` is not used.
[[nodiscard]] exact_answer solve_exhaustively(const cluster& c, const gang& g, const exact_limits& limits = {});

}  // namespace berth

#if BERTH_WITH_BODIES
#include "berth/solver/impl/exhaustive.hpp"
#endif
