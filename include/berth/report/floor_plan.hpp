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

/// Who has a device: an index into `floor_plan::jobs`, or one of the constants below.
using device_owner = std::int32_t;
inline constexpr device_owner free_device = -1;
inline constexpr device_owner unhealthy_device = -2;
inline constexpr device_owner cut_device = -3;  ///< in parts: `plan_node::parts` says who has which, the rest is free

/// A part of a device: a MIG instance, a share, a share of an instance.
struct plan_part {
  std::uint16_t device = 0;
  std::uint16_t from = 0, size = 0;  ///< thousandths of the device
  device_owner owner = free_device;  ///< an index into `floor_plan::jobs`
};

/// One node of a floor plan.
struct plan_node {
  std::string name;
  std::vector<device_owner> devices;
  bool chosen = false;             ///< a task of the chosen gang is here, with or without devices
  std::vector<plan_part> parts{};  ///< of devices that are `cut_device`, in the order of devices and places
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
  std::uint64_t cut = 0;           ///< devices in parts, whoever has them
  std::uint64_t chosen_parts = 0;  ///< parts of the chosen gang

  /// Devices held whole by other jobs.
  [[nodiscard]] std::uint64_t busy() const noexcept { return devices - free - unhealthy - chosen - cut; }
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
        t.cut += d == cut_device ? 1U : 0U;
        if (plan.chosen && d == static_cast<device_owner>(*plan.chosen)) ++t.chosen, here = true;
      }
      for (const plan_part& p : n.parts)
        if (plan.chosen && p.owner == static_cast<device_owner>(*plan.chosen)) ++t.chosen_parts, here = true;
      t.chosen_nodes += here ? 1U : 0U;
      sums_.push_back(t);
    }
  }
  [[nodiscard]] device_tally of(id_range r) const noexcept {
    const auto& a = sums_[r.first];
    const auto& b = sums_[r.last];
    return {b.nodes - a.nodes,   b.devices - a.devices,           b.free - a.free, b.unhealthy - a.unhealthy,
            b.chosen - a.chosen, b.chosen_nodes - a.chosen_nodes, b.cut - a.cut,   b.chosen_parts - a.chosen_parts};
  }
  [[nodiscard]] device_tally of(node_id n) const noexcept { return of(id_range{n.raw(), n.raw() + 1}); }
  [[nodiscard]] device_tally all() const noexcept { return sums_.back(); }

 private:
  std::vector<device_tally> sums_;
};

/// Parts of devices held per job. O(parts).
[[nodiscard]] inline std::vector<std::uint64_t> parts_per_job(const floor_plan& plan) {
  std::vector<std::uint64_t> out(plan.jobs.size(), 0);
  for (const auto& n : plan.nodes)
    for (const plan_part& p : n.parts)
      if (p.owner >= 0 && static_cast<std::size_t>(p.owner) < out.size()) ++out[static_cast<std::size_t>(p.owner)];
  return out;
}

/// Whole devices held per job. O(devices).
[[nodiscard]] inline std::vector<std::uint64_t> devices_per_job(const floor_plan& plan) {
  std::vector<std::uint64_t> out(plan.jobs.size(), 0);
  for (const auto& n : plan.nodes)
    for (const auto d : n.devices)
      if (d >= 0 && static_cast<std::size_t>(d) < out.size()) ++out[static_cast<std::size_t>(d)];
  return out;
}

}  // namespace berth
