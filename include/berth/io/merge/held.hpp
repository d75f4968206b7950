#pragma once
/// \file
/// What jobs hold, checked against the merged machines. A holding that cannot be is left out and reported.

#include <cstddef>
#include <cstdint>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "berth/io/assumptions.hpp"
#include "berth/io/merge/machine_index.hpp"
#include "berth/io/merge/site.hpp"
#include "berth/io/site_report.hpp"

namespace berth::merge_detail {

/// Fills `out.held`. \param node_of  by machine of `index`: its node, `machine_index::none` when it is not in the
/// cluster
inline void take_holdings(const std::vector<site_report>& reports, const machine_index& index,
                          const std::vector<std::uint32_t>& node_of, site& out) {
  struct use {
    device_mask taken = 0, cut = 0;  ///< held whole, and in parts
    std::int64_t cpu = 0, memory = 0;
  };
  std::vector<use> used(out.spec.nodes.size());
  std::unordered_map<std::string, std::uint32_t> job_index;
  // A file that names no machine speaks of the one that got its inside.
  const auto home_of = [&](const site_report& r) {
    std::uint32_t home = machine_index::none;
    std::size_t homes = 0;
    for (std::uint32_t m = 0; m < index.machines.size(); ++m) {
      bool here = false;
      for (const auto* list : {&index.machines[m].told, &index.machines[m].shared})
        for (const auto* told : *list)
          for (const auto& own : r.machines) here = here || (told == &own && own.name.empty());
      if (here) home = m, ++homes;
    }
    return homes == 1 ? home : machine_index::none;
  };
  assumption_list picked;
  // Holdings that name their GPUs first, so that the others take what is left; last those of unknown size.
  for (const int pass : {0, 1, 2})
    for (const auto& r : reports)
      for (const auto& h : r.held) {
        const bool named = h.devices.has_value();
        if (pass != (h.rest_of_gpus || h.rest_of_cpu ? 2 : named ? 0 : 1)) continue;
        const auto refuse = [&](std::string why) {
          out.conflicts.push_back({"job " + io_text::quoted(h.job) +
                                       (h.machine.empty() ? std::string{" "} : " on machine " + h.machine + " ") +
                                       std::move(why) + "; it is left out",
                                   h.place,
                                   {}});
        };
        const std::uint32_t m = h.machine.empty() ? home_of(r) : index.find(h.machine);
        if (m == machine_index::none || node_of[m] == machine_index::none) {
          refuse("which is not in the cluster");
          continue;
        }
        const std::uint32_t n = node_of[m];
        const node_spec& node = out.spec.nodes[n];
        const device_mask all = out.spec.shapes[node.shape.index()].all_devices();
        device_mask devices = h.devices.value_or(0);
        if (h.rest_of_gpus) {
          devices = all & ~used[n].taken & ~used[n].cut;
        } else if (!named && h.gpus != 0) {
          devices = lowest_set(all & ~used[n].taken & ~used[n].cut, h.gpus);
          picked.add("which GPUs running jobs hold is not stated; the lowest free ones are taken.", node.name);
        }
        device_mask cut = 0, told = 0;  // instances on GPUs that MIG has split are what the split is for
        for (const held_part& p : h.parts) {
          if (p.device) told |= bit(*p.device);
          if (p.device && p.profile.empty()) cut |= bit(*p.device);
        }
        if (((devices | told) & ~all) != 0 || (devices & (used[n].taken | used[n].cut)) != 0 ||
            (cut & used[n].taken) != 0 || (count_bits(devices) < h.gpus && !h.rest_of_gpus)) {
          refuse("holds GPUs that the machine does not have or another job holds");
          continue;
        }
        cpu_millis cpu = h.cpu;
        bytes memory = h.memory;
        if (h.rest_of_cpu) {
          cpu = cpu_millis{node.cpu.count() - used[n].cpu};
          memory = bytes{node.memory.count() - used[n].memory};
        }
        if (used[n].cpu + cpu.count() > node.cpu.count() || used[n].memory + memory.count() > node.memory.count()) {
          refuse("holds more CPUs or memory than the machine has left");
          continue;
        }
        if (devices == 0 && cpu.count() == 0 && memory.count() == 0 && h.parts.empty()) continue;
        const auto [it, fresh] = job_index.emplace(h.job, static_cast<std::uint32_t>(out.held.jobs.size()));
        if (fresh) out.held.jobs.push_back(h.job);
        if (fresh && !h.labels.empty()) {
          out.held.labels.resize(out.held.jobs.size());
          out.held.labels.back() = h.labels;
        }
        if (fresh && !h.keeps_away.empty()) {
          out.held.keeps_away.resize(out.held.jobs.size());
          out.held.keeps_away.back() = h.keeps_away;
        }
        used[n].taken |= devices;
        used[n].cut |= cut;
        used[n].cpu += cpu.count();
        used[n].memory += memory.count();
        out.held.held.push_back({it->second, node_id{n}, devices, cpu, memory, {}, h.parts, h.split, h.place});
      }
  for (auto& s : picked.sentences()) out.spec.assumptions.push_back(std::move(s));
}

}  // namespace berth::merge_detail
