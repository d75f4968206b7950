#pragma once
/// \file
/// From flat shapes and words back to graphs: for machines that are known by a table, a catalogue id, an instance type,
/// or only by the number and model of their GPUs.

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "berth/io/same_hardware.hpp"
#include "berth/io/slurm_hardware.hpp"
#include "berth/io/text.hpp"
#include "berth/topology/catalogue/gpu_models.hpp"
#include "berth/topology/catalogue/node_graphs.hpp"
#include "berth/topology/catalogue/node_shapes.hpp"
#include "berth/topology/graph/compile.hpp"
#include "berth/topology/graph/node_graph.hpp"

namespace berth {

/// A graph that compiles to the bandwidths of `s`: one link for each pair of known rate, PCIe switches, NUMA nodes and
/// NICs as in the table, with links of unknown rate. What a rate is made of is not in a table: above what PCIe gives
/// the model it is called NVLink, else PCIe. O(devices²).
[[nodiscard]] inline hardware_graph graph_of_shape(const node_shape& s) {
  hardware_graph g;
  g[boost::graph_bundle].name = s.name;
  for (unsigned i = 0; i < s.devices; ++i) g[add_part(g, vertex_kind::gpu, i)].model = s.models[i];
  std::vector<part_id> nics, switches, numas;
  for (std::uint32_t i = 0; i < s.nics.size(); ++i) {
    nics.push_back(add_part(g, vertex_kind::nic, i));
    g[nics[i]].rate = s.nics[i].rate;
    g[nics[i]].rail = s.nics[i].rail;
  }
  for (std::uint32_t i = 0; i < s.pcie_switches.size(); ++i)
    switches.push_back(add_part(g, vertex_kind::pcie_switch, i));
  for (std::uint32_t i = 0; i < s.numa.size(); ++i) {
    numas.push_back(add_part(g, vertex_kind::numa, i));
    g[numas[i]].cpu = s.numa[i].cpu;
  }
  link pcie;
  pcie.kind = link_kind::pcie;
  device_mask switched = 0;
  for (std::size_t i = 0; i < switches.size(); ++i) {
    for_each_bit(s.pcie_switches[i] & ~switched, [&](unsigned d) { (void)join(g, d, switches[i], pcie); });
    switched |= s.pcie_switches[i];
    for (std::size_t n = 0; n < numas.size(); ++n)
      if ((s.numa[n].devices & s.pcie_switches[i]) != 0) {
        (void)join(g, switches[i], numas[n], pcie);
        break;
      }
  }
  for (std::size_t n = 0; n < numas.size(); ++n)
    for_each_bit(s.numa[n].devices & ~switched, [&](unsigned d) { (void)join(g, d, numas[n], pcie); });
  for (std::size_t i = 0; i < nics.size(); ++i) {
    bool placed = s.nics[i].devices == 0;
    for (std::size_t k = 0; k < switches.size() && !placed; ++k)
      if (s.pcie_switches[k] == s.nics[i].devices) (void)join(g, nics[i], switches[k], pcie), placed = true;
    for (std::size_t k = 0; k < numas.size() && !placed; ++k)
      if ((s.numa[k].devices & s.nics[i].devices) != 0) (void)join(g, nics[i], numas[k], pcie), placed = true;
  }
  link between_sockets;
  between_sockets.kind = link_kind::cpu_link;
  for (std::size_t n = 1; n < numas.size(); ++n) (void)join(g, numas[n - 1], numas[n], between_sockets);
  for (unsigned a = 0; a < s.devices; ++a)
    for (unsigned b = a + 1; b < s.devices; ++b) {
      const auto rate = s.bandwidth.between(a, b);
      if (!rate) continue;
      const auto* model = catalogue::find_gpu_model(s.models[a]);
      const bool nvlink = model != nullptr ? model->nvlink && rate->count() > model->pcie_gbps : rate->count() > 64;
      link l;
      l.kind = nvlink ? link_kind::nvlink : link_kind::pcie;
      l.rate = *rate;
      (void)join(g, a, b, l);
    }
  return g;
}

namespace merge_detail {

/// The catalogue's machine for the word that a file uses for one: its id, or the instance type of a cloud.
/// Source of the instance types: the clouds' own names of these machines, as in the catalogue's titles.
[[nodiscard]] inline std::optional<std::string_view> machine_of_word(std::string_view word) {
  static constexpr std::string_view instances[][2] = {
      {"p4d.24xlarge", "aws-p4d"},           {"p5.48xlarge", "aws-p5"},
      {"p5en.48xlarge", "aws-p5en"},         {"p6-b200.48xlarge", "aws-p6-b200"},
      {"standard_nd96asr_v4", "azure-ndv4"}, {"standard_nd96isr_h100_v5", "azure-ndv5"},
      {"a3-highgpu-8g", "gcp-a3-high"},      {"a3-megagpu-8g", "gcp-a3-mega"},
      {"a3-ultragpu-8g", "gcp-a3-ultra"},    {"a4-highgpu-8g", "gcp-a4"},
  };
  for (const auto& i : instances)
    if (io_text::equal_nocase(word, i[0]) && catalogue::find_node_graph(i[1]) != nullptr) return i[1];
  for (const auto id : catalogue_shape_names())
    if (io_text::equal_nocase(word, id)) return id;
  return std::nullopt;
}

/// The GPU models of the catalogue.
[[nodiscard]] inline const std::vector<std::string>& catalogue_models() {
  static const std::vector<std::string> all = [] {
    std::vector<std::string> out;
    for (const auto& m : catalogue::gpu_models) out.emplace_back(m.id);
    return out;
  }();
  return all;
}

/// What the catalogue's machines with these GPUs have in common.
struct common_hardware {
  hardware_graph graph;
  std::string source;  ///< sentence part that names it
};

/// GPUs of one model, so many in a machine: the catalogue's machine where it has only one such, else the wiring between
/// the GPUs where all of its machines agree about that. Empty: none, or they differ.
[[nodiscard]] inline std::optional<common_hardware> hardware_of_model(const std::string& model, unsigned gpus) {
  std::vector<node_shape> all;
  if (gpus == 0 || catalogue::find_gpu_model(model) == nullptr) return std::nullopt;
  for (const auto id : catalogue_shape_names())
    if (auto s = catalogue_shape(id); s && s->devices == gpus && s->models.front() == model)
      all.push_back(std::move(*s));
  if (all.empty()) return std::nullopt;
  for (const auto& s : all)
    if (!(s.bandwidth == all.front().bandwidth)) return std::nullopt;
  auto g = make_node_graph(all.front().name);
  if (!g) return std::nullopt;
  if (all.size() == 1)
    return common_hardware{std::move(*g), "the wiring is taken to be that of " + all.front().name +
                                              ", the catalogue's one machine with these GPUs"};
  hardware_graph out;
  std::vector<std::optional<part_id>> at(boost::num_vertices(*g));
  for (part_id v = 0; v < boost::num_vertices(*g); ++v)
    if ((*g)[v].kind == vertex_kind::gpu || is_nvlink_switch((*g)[v].kind)) at[v] = boost::add_vertex((*g)[v], out);
  for (auto [e, end] = boost::edges(*g); e != end; ++e)
    if (at[boost::source(*e, *g)] && at[boost::target(*e, *g)])
      (void)join(out, *at[boost::source(*e, *g)], *at[boost::target(*e, *g)], (*g)[*e]);
  const auto compiled = compile_shape(out);
  if (!compiled || !(compiled->bandwidth == all.front().bandwidth)) return std::nullopt;
  return common_hardware{std::move(out),
                         "the links between GPUs are taken to be those that all machines of the "
                         "catalogue with these GPUs have; NUMA nodes and NICs are not known"};
}

}  // namespace merge_detail
}  // namespace berth
