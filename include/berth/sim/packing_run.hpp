#pragma once
/// \file
/// One run of arriving tasks that never leave, as the packing experiments of the literature have it: what is allocated
/// and what is fragmented while the arrived demand grows.
///
/// Source of the measures: Weng et al., USENIX ATC 2023. Load: arrived GPU demand, refused tasks included, in percent
/// of capacity. Every arrival gives a sample; those that round to the same percent are averaged.

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "berth/cluster/share_node.hpp"
#include "berth/cluster/share_task_index.hpp"
#include "berth/core/separate.hpp"
#include "berth/policy/fragmentation.hpp"
#include "berth/policy/packing.hpp"
#include "berth/policy/power_model.hpp"
#include "berth/solver/packer.hpp"

namespace berth {

namespace detail {

/// By a clock that is never set.
[[nodiscard]] double now_in_nanoseconds() noexcept;
/// The value below which that part of `values` lies; 0 of none. Reorders them. O(values).
[[nodiscard]] double quantile(std::vector<double>& values, double part);

}  // namespace detail

/// Means at one percent of load. Empty (`samples` 0) where no arrival rounds to it.
struct load_point {
  double allocated_percent = 0;      ///< allocated GPU share of capacity
  double fragmentation_percent = 0;  ///< fragmented free share of capacity
  double watts = 0;                  ///< draw of all nodes; 0 where it is not measured
  std::uint32_t samples = 0;
};

/// Refused tasks of one kind.
struct refused_class {
  share_task task;
  std::uint32_t tasks = 0;
  std::uint64_t demand = 0;  ///< thousandths of GPUs that they asked for
};

struct packing_run {
  std::vector<load_point> by_load;  ///< index: percent
  std::uint32_t arrived = 0, refused = 0;
  std::vector<refused_class> refusals;  ///< by falling demand, then in order of first refusal
  double allocated_percent = 0;         ///< at the end
  double watts = 0;                     ///< at the end; 0 where it is not measured
  double seconds = 0;                   ///< all decisions together
  double decision_ns_p50 = 0, decision_ns_p99 = 0;
};

/// The free share of a node that no task of the workload could use: of a class that the node serves nothing is
/// fragmented, of one that it does not, all of the free share. In thousandths of a GPU. O(classes × GPUs).
[[nodiscard]] double unusable_share(const share_node& n, const std::vector<workload_class>& workload) noexcept;

/// Sends `tasks[order[0]]`, `tasks[order[1]]`, … to a packer with that policy. \param workload  what fragmentation is
/// measured against; empty: it is not measured. \param progress  called with the number of tasks placed or refused.
/// \param power  draws by GPU model; null: watts are not measured
template <packing_policy Policy, class Progress>
[[nodiscard]] packing_run run_packing(const std::vector<share_node>& nodes, const std::vector<share_task>& tasks,
                                      const std::vector<std::uint32_t>& order, Policy policy,
                                      const std::vector<workload_class>& workload, Progress&& progress,
                                      const power_model* power = nullptr) {
  packing_run out;
  double capacity = 0, fragmented = 0, arrived = 0, allocated = 0;
  std::vector<double> unusable;
  for (const auto& n : nodes) {
    if (power != nullptr) out.watts += power->watts(n, n);
    capacity += n.free_total();
    unusable.push_back(workload.empty() ? 0 : unusable_share(n, workload));
    fragmented += unusable.back();
  }
  if (capacity == 0) return out;
  packer<Policy> p{nodes, std::move(policy)};
  share_task_index refused;
  std::vector<double> times;  // ns, by decision
  times.reserve(order.size());
  for (const auto i : order) {
    const share_task& t = tasks[i];
    const double begin = detail::now_in_nanoseconds();
    const auto where = p.place(t);
    times.push_back(detail::now_in_nanoseconds() - begin);
    ++out.arrived;
    arrived += t.demand();
    if (where) {
      allocated += t.demand();
      if (power != nullptr) {
        share_node before = p.node(where->node);
        give_back(before, t, where->devices);
        out.watts += power->watts(p.node(where->node), nodes[where->node]) - power->watts(before, nodes[where->node]);
      }
      if (!workload.empty()) {
        const double now = unusable_share(p.node(where->node), workload);
        fragmented += now - unusable[where->node];
        unusable[where->node] = now;
      }
    } else {
      ++out.refused;
      const std::uint32_t c = refused.intern(t);
      if (c == out.refusals.size()) out.refusals.push_back({t, 0, 0});
      ++out.refusals[c].tasks;
      out.refusals[c].demand += t.demand();
    }
    const auto percent = static_cast<std::size_t>(std::lround(100 * arrived / capacity));
    if (percent >= out.by_load.size()) out.by_load.resize(percent + 1);
    load_point& at = out.by_load[percent];
    at.allocated_percent += 100 * allocated / capacity;
    at.fragmentation_percent += 100 * fragmented / capacity;
    at.watts += out.watts;
    ++at.samples;
    progress(out.arrived);
  }
  for (auto& at : out.by_load)
    if (at.samples != 0) {
      at.allocated_percent /= at.samples;
      at.fragmentation_percent /= at.samples;
      at.watts /= at.samples;
    }
  out.allocated_percent = 100 * allocated / capacity;
  std::stable_sort(out.refusals.begin(), out.refusals.end(),
                   [](const refused_class& a, const refused_class& b) { return a.demand > b.demand; });
  for (const double ns : times) out.seconds += ns * 1e-9;
  out.decision_ns_p50 = detail::quantile(times, 0.5);
  out.decision_ns_p99 = detail::quantile(times, 0.99);
  return out;
}

}  // namespace berth

#if BERTH_WITH_BODIES
#include "berth/sim/impl/packing_run.hpp"
#endif
