#pragma once
/// \file
/// Objects that list the devices of one node: Koordinator's `Device`, `NodeResourceTopology` (v1alpha1 and v1alpha2),
/// DRA's `ResourceSlice` (all versions) and bare lists of its devices. Needs nlohmann-json and yaml-cpp (through
/// `io/kubernetes/values.hpp`) and Boost.Graph.
///
/// Sources: koordinator-sh/koordinator `apis/scheduling/v1alpha1/device_types.go`; k8stopologyawareschedwg/
/// noderesourcetopology-api; `k8s.io/api/resource` and the attribute references of NVIDIA's and the dranet drivers.

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "berth/core/bits.hpp"
#include "berth/core/error.hpp"
#include "berth/core/expected.hpp"
#include "berth/io/inside/bus_id.hpp"
#include "berth/io/json_document.hpp"
#include "berth/io/kubernetes/documents.hpp"
#include "berth/io/kubernetes/inside_parts.hpp"
#include "berth/io/kubernetes/labels.hpp"
#include "berth/io/kubernetes/nodes.hpp"
#include "berth/io/kubernetes/values.hpp"
#include "berth/io/site_report.hpp"

namespace berth::kube_detail {

/// The report of that machine: the one that a Node or another object of the file has begun, or a new one.
[[nodiscard]] inline expected<machine_report*, input_error> machine_of(const std::string& name, const json_value& at,
                                                                       reading& r) {
  if (const auto it = r.machine_of.find(name); it != r.machine_of.end()) return &r.out.machines[it->second];
  return r.add_machine(at, name);
}

/// A PCI bus id in the normal form; "" for none.
[[nodiscard]] inline expected<std::string, input_error> bus_id_of(const std::string& text, const json_value& at,
                                                                  const kube_reader& in) {
  if (text.empty()) return std::string{};
  auto id = inside_text::normal_bus_id(text);
  if (!id) return in.error(at, "bus id " + io_text::quoted(text), inside_text::bus_id_form);
  return std::move(*id);
}

/// What is known of a machine's GPUs goes into its report.
[[nodiscard]] inline expected<void, input_error> set_inside(machine_report& m, std::vector<listed_device> devices,
                                                            const json_value& at, const kube_reader& in) {
  std::size_t gpus = 0;
  for (const auto& d : devices) gpus += d.kind == vertex_kind::gpu ? 1 : 0;
  if (gpus > max_devices_per_node)
    return in.error(at, std::to_string(gpus) + " GPUs on one node", "at most " + std::to_string(max_devices_per_node));
  bool named = false;  // a NodeResourceTopology counts GPUs and names none: any list tells more
  for (part_id v = 0; m.inside && v < boost::num_vertices(*m.inside); ++v)
    named = named || !(*m.inside)[v].uuid.empty() || !(*m.inside)[v].bus_id.empty();
  if (named)
    return in.error(at, "a second list of the devices of node " + io_text::quoted(m.name), "one list of devices");
  std::string model;
  bool alike = true;
  for (const auto& d : devices)
    if (d.kind == vertex_kind::gpu) {
      alike = alike && (model.empty() || d.model == model);
      if (model.empty()) model = d.model;
    }
  m.inside = inside_of(std::move(devices));
  m.gpus = static_cast<unsigned>(gpus);
  if (alike && m.gpu_model.empty()) m.gpu_model = model;
  m.unhealthy = 0;
  for (part_id v = 0; v < gpus; ++v)
    if (!(*m.inside)[v].healthy) m.unhealthy |= bit(static_cast<unsigned>(v));
  return {};
}

/// Who holds what by Koordinator's annotation `gpu-checkpoints` (JSON).
[[nodiscard]] inline expected<void, input_error> read_gpu_checkpoints(const json_value& note, const machine_report& m,
                                                                      reading& r) {
  auto list = parse_json(scalar_text(note), r.in.source());
  if (!list) {
    input_error e = std::move(list).error();
    e.line += note.line;  // the text begins on the line below its key, or on it
    return unexpected{std::move(e)};
  }
  if (list->type != json_value::kind::array) return r.in.error(note, "gpu-checkpoints: " + list->described(), "a list");
  std::map<std::string, holding_report> by_pod;
  std::size_t strangers = 0;
  for (const auto& c : list->items) {
    const kube_reader in{r.in.source()};
    const auto pod = in.text(c, "podUID");
    if (!pod) return r.in.error(note, pod.error().found, pod.error().expected);
    const auto ids = in.optional_member(c, "deviceIDs", json_value::kind::array);
    if (!ids) return r.in.error(note, ids.error().found, ids.error().expected);
    if (*ids == nullptr) continue;
    holding_report& h = by_pod[*pod];
    for (const auto& id : (*ids)->items) {
      ++h.gpus;
      bool found = false;
      for (part_id v = 0; m.inside && v < boost::num_vertices(*m.inside); ++v)
        if ((*m.inside)[v].kind == vertex_kind::gpu && (*m.inside)[v].uuid == id.text && !id.text.empty()) {
          h.devices = h.devices.value_or(0) | bit(static_cast<unsigned>(v));
          found = true;
        }
      strangers += found ? 0 : 1;
    }
  }
  for (auto& [pod, h] : by_pod) {
    if (h.gpus == 0) continue;
    // Devices that the list does not have: only the number is sure.
    if (h.devices && static_cast<std::uint32_t>(count_bits(*h.devices)) != h.gpus) h.devices.reset();
    h.place = r.in.place(note);
    h.job = pod;
    h.machine = m.name;
    r.out.held.push_back(std::move(h));
  }
  if (strangers != 0) r.assume("Pods hold GPUs that the Device object does not list; they count by number.");
  return {};
}

/// Koordinator's `Device`, named like its node.
[[nodiscard]] inline expected<void, input_error> read_koordinator_device(const kube_object& o, reading& r) {
  if (o.name.empty()) return r.in.missing(*o.value, "metadata.name", "a node's name");
  const auto spec = r.in.member(*o.value, "spec", json_value::kind::object);
  if (!spec) return unexpected{spec.error()};
  const auto list = r.in.optional_member(**spec, "devices", json_value::kind::array);
  if (!list) return unexpected{list.error()};
  std::string model;
  if (const auto* labels = o.metadata("labels"))
    if (const auto* v = labels->find("node.koordinator.sh/gpu-model")) model = kube_labels::gpu_model(scalar_text(*v));
  std::vector<listed_device> devices;
  std::map<std::int64_t, std::size_t> minors;
  if (*list != nullptr)
    for (const auto& d : (*list)->items) {
      const auto type = r.in.text(d, "type");
      if (!type) return unexpected{type.error()};
      const auto healthy = r.in.flag(d, "health", false);
      if (!healthy) return unexpected{healthy.error()};
      const auto minor = r.in.optional_integer(d, "minor", 0, 4095);
      if (!minor) return unexpected{minor.error()};
      const auto id = r.in.optional_text(d, "id");
      if (!id) return unexpected{id.error()};
      if (*type != "gpu" && *type != "rdma") {
        r.assume("Devices of type " + *type + " are no GPUs or NICs and are not kept.");
        continue;
      }
      listed_device x;
      x.kind = *type == "gpu" ? vertex_kind::gpu : vertex_kind::nic;
      x.healthy = *healthy;
      x.index = *minor;
      if (x.kind == vertex_kind::gpu) {
        if (*minor && !minors.emplace(**minor, devices.size()).second)
          return r.in.error(d, "GPU " + std::to_string(**minor) + " a second time", "each minor once");
        x.uuid = id->value_or("");
        x.model = model;
      } else {
        x.name = id->value_or("");
      }
      const auto topology = r.in.optional_member(d, "topology", json_value::kind::object);
      if (!topology) return unexpected{topology.error()};
      if (*topology != nullptr) {
        const auto socket = r.in.optional_integer(**topology, "socketID", -1, 4095);
        if (!socket) return unexpected{socket.error()};
        const auto numa = r.in.optional_integer(**topology, "nodeID", -1, 4095);
        if (!numa) return unexpected{numa.error()};
        const auto pcie = r.in.optional_text(**topology, "pcieID");
        if (!pcie) return unexpected{pcie.error()};
        const auto bus = r.in.optional_text(**topology, "busID");
        if (!bus) return unexpected{bus.error()};
        auto bus_id = bus_id_of(bus->value_or(""), **topology, r.in);
        if (!bus_id) return unexpected{bus_id.error()};
        x.socket = *socket;
        x.numa = *numa;
        x.pcie = pcie->value_or("");
        x.bus_id = std::move(*bus_id);
      }
      devices.push_back(std::move(x));
    }
  const auto machine = machine_of(o.name, *o.value, r);
  if (!machine) return unexpected{machine.error()};
  machine_report& m = **machine;
  if (auto ok = set_inside(m, std::move(devices), *o.value, r.in); !ok) return ok;
  if (const auto* notes = o.metadata("annotations"))
    if (const auto* held = notes->find("node.koordinator.sh/gpu-checkpoints")) return read_gpu_checkpoints(*held, m, r);
  return {};
}

/// `NodeResourceTopology`: NUMA nodes with their CPUs and numbers of GPUs.
[[nodiscard]] inline expected<void, input_error> read_node_resource_topology(const kube_object& o, reading& r) {
  if (o.name.empty()) return r.in.missing(*o.value, "metadata.name", "a node's name");
  const auto list = r.in.member(*o.value, "zones", json_value::kind::array);
  if (!list) return unexpected{list.error()};
  struct zone {
    std::string name;
    std::int64_t gpus = 0;
    std::optional<cpu_millis> cpu;
  };
  std::vector<zone> zones;
  std::optional<bytes> memory;
  std::int64_t gpus = 0;
  bool gpus_stated = false;
  for (const auto& z : (*list)->items) {
    const auto name = r.in.text(z, "name");
    if (!name) return unexpected{name.error()};
    const auto type = r.in.text(z, "type");
    if (!type) return unexpected{type.error()};
    // A list of {name, value}; the first release had a mapping.
    if (const json_value* costs = z.find("costs"); costs != nullptr && costs->type == json_value::kind::object) {
      for (std::size_t i = 0; i < costs->keys.size(); ++i)
        if (const auto v = r.in.integer(*costs, costs->keys[i], 0, 1'000'000); !v) return unexpected{v.error()};
    } else {
      const auto list_of_costs = r.in.optional_member(z, "costs", json_value::kind::array);
      if (!list_of_costs) return unexpected{list_of_costs.error()};
      if (*list_of_costs != nullptr)
        for (const auto& c : (*list_of_costs)->items) {
          if (const auto to = r.in.text(c, "name"); !to) return unexpected{to.error()};
          if (const auto v = r.in.integer(c, "value", 0, 1'000'000); !v) return unexpected{v.error()};
        }
    }
    if (*type != "Node") {
      r.assume("Zones of type " + *type + " of a NodeResourceTopology are not kept; NUMA nodes (type Node) are.");
      continue;
    }
    if (zones.size() >= 256) return r.in.error(z, "more than 256 NUMA nodes", "a machine");
    for (const auto& have : zones)
      if (have.name == *name)
        return r.in.error(z, "zone " + io_text::quoted(*name) + " a second time", "each zone once");
    zone out;
    out.name = *name;
    const auto resources = r.in.optional_member(z, "resources", json_value::kind::array);
    if (!resources) return unexpected{resources.error()};
    if (*resources != nullptr)
      for (const auto& s : (*resources)->items) {
        const auto resource = r.in.text(s, "name");
        if (!resource) return unexpected{resource.error()};
        const json_value* amount = s.find("allocatable") != nullptr ? s.find("allocatable") : s.find("capacity");
        if (amount == nullptr) return r.in.missing(s, "allocatable", quantity_form);
        bool gpu = false;
        for (const auto g : kube_labels::gpu_resources) gpu = gpu || *resource == g;
        if (*resource == "cpu") {
          const auto cpu = r.in.cpus(*amount, "cpu");
          if (!cpu) return unexpected{cpu.error()};
          out.cpu = *cpu;
        } else if (*resource == "memory") {
          const auto b = r.in.memory(*amount, "memory");
          if (!b) return unexpected{b.error()};
          memory = memory.value_or(bytes{}) + *b;
        } else if (gpu) {
          const auto n = r.in.count(*amount, *resource, max_devices_per_node);
          if (!n) return unexpected{n.error()};
          out.gpus += *n;
          gpus += *n;
          gpus_stated = true;
        } else {
          if (const auto q = r.in.quantity(*amount, *resource); !q) return unexpected{q.error()};
          if (!kube_labels::is_system_resource(*resource)) r.other_resources.insert(*resource);
        }
      }
    zones.push_back(std::move(out));
  }
  if (zones.empty()) return r.in.error(**list, "no zone of type Node", "NUMA nodes");
  if (gpus > static_cast<std::int64_t>(max_devices_per_node))
    return r.in.error(**list, std::to_string(gpus) + " GPUs on one node",
                      "at most " + std::to_string(max_devices_per_node));
  const auto machine = machine_of(o.name, *o.value, r);
  if (!machine) return unexpected{machine.error()};
  machine_report& m = **machine;
  hardware_graph g;
  for (std::int64_t i = 0; i < gpus; ++i) {
    const part_id v = add_part(g, vertex_kind::gpu, static_cast<std::uint32_t>(i));
    g[v].model = m.gpu_model;
  }
  std::vector<part_id> numa;
  part_id next = 0;
  std::optional<cpu_millis> cpu = cpu_millis{};
  for (std::size_t z = 0; z < zones.size(); ++z) {
    numa.push_back(add_part(g, vertex_kind::numa, static_cast<std::uint32_t>(z)));
    g[numa.back()].cpu = zones[z].cpu;
    if (cpu && zones[z].cpu) *cpu += *zones[z].cpu;
    else cpu.reset();
    for (std::int64_t i = 0; i < zones[z].gpus; ++i) {
      link l;
      l.kind = link_kind::pcie;
      (void)join(g, next++, numa.back(), std::move(l));
    }
  }
  for (std::size_t a = 0; a < numa.size() && numa.size() <= 16; ++a)
    for (std::size_t b = 0; b < a; ++b) {
      link l;
      l.kind = link_kind::cpu_link;
      (void)join(g, numa[b], numa[a], std::move(l));
    }
  if (m.inside) {
    r.assume("Where another object lists the devices of a node, the GPUs of its NodeResourceTopology are not used.");
  } else if (gpus_stated) {
    m.inside = std::move(g);
    m.gpus = static_cast<unsigned>(gpus);
    if (zones.size() > 1)
      r.assume(
          "A NodeResourceTopology counts GPUs by NUMA node; they are taken to be numbered in the order of its zones.");
  } else if (!m.gpus || *m.gpus == 0) {
    m.inside = std::move(g);
  }
  if (cpu && !m.cpu) m.cpu = cpu;
  if (memory && !m.memory) m.memory = memory;
  return {};
}

}  // namespace berth::kube_detail
