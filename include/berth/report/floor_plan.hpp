#pragma once
/// \file
/// What the drawings of a cluster need: the domain tree, every node with the owner of each of its devices, and which
/// job is the gang just placed. Plain data, filled from live state or by hand.

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "berth/core/id.hpp"
#include "berth/topology/domain_tree.hpp"

namespace berth {

/// Who has a device: an index into `floor_plan::jobs`, or one of the two constants below.
using device_owner = std::int32_t;
inline constexpr device_owner free_device = -1;
inline constexpr device_owner unhealthy_device = -2;

/// One node of a floor plan.
struct plan_node {
  std::string name;
  std::vector<device_owner> devices;
  bool chosen = false;  ///< a task of the chosen gang is here, with or without devices
};

/// A cluster at one moment.
struct floor_plan {
  const domain_tree* tree = nullptr;
  std::vector<plan_node> nodes;  ///< by node id
  std::vector<std::string> jobs;
  std::optional<std::uint32_t> chosen;  ///< the job to point out, an index into `jobs`
  std::string title;                    ///< headline of the floor plan; may be empty
  std::string note;                     ///< a line below it; may be empty
};

/// Devices of a range of nodes, by state.
struct device_tally {
  std::uint64_t nodes = 0;
  std::uint64_t devices = 0;
  std::uint64_t free = 0;
  std::uint64_t unhealthy = 0;
  std::uint64_t chosen = 0;        ///< devices of the chosen gang
  std::uint64_t chosen_nodes = 0;  ///< nodes with a task of it

  /// Devices held by other jobs.
  [[nodiscard]] std::uint64_t busy() const noexcept { return devices - free - unhealthy - chosen; }
};

/// Tallies of any node range in O(1), after one pass over the plan.
class plan_tally {
 public:
  /// \pre plan.tree != nullptr and has as many nodes as the plan
  explicit plan_tally(const floor_plan& plan) {
    sums_.reserve(plan.nodes.size() + 1);
    sums_.emplace_back();
    for (const auto& n : plan.nodes) {
      device_tally t = sums_.back();
      ++t.nodes;
      bool here = n.chosen;
      for (const auto d : n.devices) {
        ++t.devices;
        t.free += d == free_device ? 1U : 0U;
        t.unhealthy += d == unhealthy_device ? 1U : 0U;
        if (plan.chosen && d == static_cast<device_owner>(*plan.chosen)) ++t.chosen, here = true;
      }
      t.chosen_nodes += here ? 1U : 0U;
      sums_.push_back(t);
    }
  }
  [[nodiscard]] device_tally of(id_range r) const noexcept {
    const auto& a = sums_[r.first];
    const auto& b = sums_[r.last];
    return {b.nodes - a.nodes,         b.devices - a.devices, b.free - a.free,
            b.unhealthy - a.unhealthy, b.chosen - a.chosen,   b.chosen_nodes - a.chosen_nodes};
  }
  [[nodiscard]] device_tally of(node_id n) const noexcept { return of(id_range{n.raw(), n.raw() + 1}); }
  [[nodiscard]] device_tally all() const noexcept { return sums_.back(); }

 private:
  std::vector<device_tally> sums_;
};

/// Devices held per job. O(devices).
[[nodiscard]] inline std::vector<std::uint64_t> devices_per_job(const floor_plan& plan) {
  std::vector<std::uint64_t> out(plan.jobs.size(), 0);
  for (const auto& n : plan.nodes)
    for (const auto d : n.devices)
      if (d >= 0 && static_cast<std::size_t>(d) < out.size()) ++out[static_cast<std::size_t>(d)];
  return out;
}

}  // namespace berth
