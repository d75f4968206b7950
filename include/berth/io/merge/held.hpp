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
  const auto node_for = [&](const site_report& r, const std::string& machine) {
    const std::uint32_t m = machine.empty() ? home_of(r) : index.find(machine);
    return m == machine_index::none ? machine_index::none : node_of[m];
  };
  // GPUs in MIG mode: no job's, but nobody can have them whole.
  std::vector<device_mask> split(out.spec.nodes.size());
  for (const auto& r : reports)
    for (const machine_report& m : r.machines)
      if (const std::uint32_t n = m.split == 0 ? machine_index::none : node_for(r, m.name); n != machine_index::none)
        split[n] |= m.split & out.spec.shapes[out.spec.nodes[n].shape.index()].all_devices();
  assumption_list picked;
  // Holdings that name their GPUs first, so that the others take what is left; last those of unknown size.
  for (const int pass : {0, 1, 2})
    for (const auto& r : reports)
      for (const auto& h : r.held) {
        const bool named = h.devices.has_value();
        if (pass != (h.rest_of_gpus || h.rest_of_cpu ? 2 : named ? 0 : 1)) continue;
        const auto report = [&](std::string why) {
          out.conflicts.push_back({"job " + io_text::quoted(h.job) +
                                       (h.machine.empty() ? std::string{" "} : " on machine " + h.machine + " ") +
                                       std::move(why),
                                   h.place,
                                   {}});
        };
        const std::uint32_t n = node_for(r, h.machine);
        if (n == machine_index::none) {
          report("which is not in the cluster; it is left out");
          continue;
        }
        const node_spec& node = out.spec.nodes[n];
        const device_mask all = out.spec.shapes[node.shape.index()].all_devices();
        device_mask devices = h.devices.value_or(0);
        if (h.rest_of_gpus) {
          devices = all & ~used[n].taken & ~used[n].cut;
        } else if (!named && h.gpus != 0) {
          const device_mask from =
              h.split && split[n] != 0 ? split[n] : ~split[n];  // those, where another file says which
          devices = lowest_set(all & ~used[n].taken & ~used[n].cut & from, h.gpus);
          picked.add("which GPUs running jobs hold is not stated; the lowest free ones are taken.", node.name);
        }
        device_mask cut = 0, told = 0;  // instances on GPUs that MIG has split are what the split is for
        for (const held_part& p : h.parts) {
          if (p.device) told |= bit(*p.device);
          if (p.device && p.profile.empty()) cut |= bit(*p.device);
        }
        // What does not add up is no reason to give away what may be in use: what is left counts as held.
        const device_mask left = all & ~used[n].taken & ~used[n].cut;
        std::vector<held_part> parts = h.parts;
        if (h.split) {
          devices &= left;  // several files may say it
        } else if (((devices | told) & ~all) != 0 || (count_bits(devices) < h.gpus && !h.rest_of_gpus)) {
          report("holds GPUs that the machine does not have; all that are left there count as held");
          devices = left;
          cut = 0;
          parts.clear();
        } else if ((devices & ~left) != 0 || (cut & used[n].taken) != 0) {
          report("holds GPUs that another job holds; they are counted once");
          devices &= left;
          if ((cut & used[n].taken) != 0) cut = 0, parts.clear();
        }
        cpu_millis cpu = h.cpu;
        bytes memory = h.memory;
        const cpu_millis cpu_left{node.cpu.count() - used[n].cpu};
        const bytes memory_left{node.memory.count() - used[n].memory};
        if (h.rest_of_cpu) cpu = cpu_left, memory = memory_left;
        if (cpu > cpu_left || memory > memory_left) {
          report("holds more CPUs or memory than the machine has left; all that is left there counts as held");
          cpu = cpu > cpu_left ? cpu_left : cpu;
          memory = memory > memory_left ? memory_left : memory;
        }
        if (devices == 0 && cpu.count() == 0 && memory.count() == 0 && parts.empty()) continue;
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
        out.held.held.push_back({it->second, node_id{n}, devices, cpu, memory, {}, std::move(parts), h.split, h.place});
      }
  for (std::uint32_t n = 0; n < split.size(); ++n) {
    const device_mask devices = split[n] & ~used[n].taken & ~used[n].cut;
    if (devices == 0) continue;
    out.held.held.push_back(
        {static_cast<std::uint32_t>(out.held.jobs.size()), node_id{n}, devices, {}, {}, {}, {}, true, {}});
    out.held.jobs.push_back("GPUs in MIG mode of " + out.spec.nodes[n].name);
    picked.add("GPUs in MIG mode are held: nobody can have them whole.", out.spec.nodes[n].name);
  }
  for (auto& s : picked.sentences()) out.spec.assumptions.push_back(std::move(s));
}

}  // namespace berth::merge_detail
