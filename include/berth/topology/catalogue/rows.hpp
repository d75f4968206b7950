#pragma once
/// \file
/// Row types of the catalogue's tables. The tables themselves are generated (`.catalogue/generate.py`).
///
/// Units    `gbps`: GB/s (10^9 bytes), one direction, links or lanes already multiplied in; `gbit`: Gb/s line rate.
/// Unknown  an empty optional, never 0. An empty string means "not stated".

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

#include "berth/topology/catalogue/kinds.hpp"

namespace berth::catalogue {

/// NVLink ports of one GPU. All together carry `links * gbps_per_link`.
struct nvlink_ports {
  std::uint8_t generation;
  std::uint8_t links;
  double gbps_per_link;
};

/// Dense tensor-core peaks (without 2:4 sparsity) in TFLOPS.
struct dense_tflops {
  std::optional<double> fp16;
  std::optional<double> bf16;
  std::optional<double> fp8;
  std::optional<double> fp4;
};

/// One GPU model.
struct gpu_model {
  std::string_view id;  ///< "h100-sxm5-80gb"
  std::string_view name;
  std::string_view architecture;
  std::string_view chip;
  std::string_view compute_capability;
  std::uint16_t memory_gb;                  ///< the marketing number
  std::optional<std::uint32_t> memory_mib;  ///< what the driver reports, where a capture was seen
  std::optional<double> memory_gbps;
  std::uint16_t sm_count;
  dense_tflops tflops;
  std::uint16_t tdp_watts;
  std::optional<nvlink_ports> nvlink;  ///< empty: the card has none
  std::uint8_t pcie_generation;
  std::uint8_t pcie_lanes;
  double pcie_gbps;
  std::string_view mig_product;  ///< "": no MIG
  confidence rates;              ///< of rates and power
  confidence shape;              ///< of SM count, links and memory size
};

/// What a network card is for.
enum class nic_role : std::uint8_t { compute, storage };

/// NUMA nodes `first` to `last`, all alike.
struct numa_row {
  std::uint8_t first, last;
  std::uint16_t cores;                ///< physical cores of each
  std::optional<std::uint16_t> cpus;  ///< hardware threads of each; empty where the source lists none
  std::optional<std::uint8_t> socket;
};

/// NICs `first` to `last`, all alike; the i-th of them is on rail `rail + i / nics_per_rail`.
struct nic_row {
  std::uint8_t first, last;
  nic_role role;
  std::uint16_t gbit;
  std::optional<std::uint8_t> rail;  ///< of the first one; empty: not on the compute fabric
  std::uint8_t nics_per_rail;
};

/// How a wire row joins its two ranges.
enum class pattern : std::uint8_t {
  all,   ///< every a with every b
  each,  ///< the a's in order, shared out evenly over the b's in order
};

/// Equal links between two ranges of parts. `count`: NVLinks or PCIe lanes of each link.
struct wire_row {
  vertex_kind a;
  std::uint8_t a_first, a_last;
  pattern joins;
  vertex_kind b;
  std::uint8_t b_first, b_last;
  link_kind kind;
  std::optional<std::uint8_t> generation;
  std::optional<std::uint8_t> count;
  std::optional<double> gbps;
};

/// The wiring of one machine (or, for "gb200-nvl72-rack", of one NVLink domain of 18 machines).
struct node_graph_row {
  std::string_view id;
  std::string_view title;
  std::string_view gpu;  ///< id in `gpu_models`
  std::string_view cpu;
  confidence trust;
  std::uint8_t gpus, nvswitches;
  std::uint8_t nvlink_domains;  ///< 1: the tray shares the NVSwitches of its rack, seen as one vertex
  std::uint8_t pcie_switches, sockets;
  std::span<const numa_row> numa;
  std::span<const nic_row> nics;
  std::span<const wire_row> wires;
};

/// One switch level of a fabric, from the edge up (level 0: NVLink switches).
struct fabric_level_row {
  std::uint8_t level;
  std::string_view name, switch_model, scope;
  std::optional<std::uint16_t> ports, down_ports, up_ports, down_port_gbit, up_port_gbit;
  std::optional<double> oversubscription;  ///< down / up capacity; below 1 means spare uplinks
};

/// A domain of a fabric, smallest first: GPUs in it, switches crossed between GPUs that share no smaller domain, and
/// the worst-case rate per GPU across its top.
struct fabric_domain_row {
  std::string_view name;
  std::optional<std::uint32_t> gpus;
  std::optional<std::uint8_t> switch_hops;
  std::optional<double> gbps_per_gpu;
};

/// A published size of a fabric.
struct fabric_scale_row {
  std::optional<std::uint16_t> su, racks;
  std::optional<std::uint32_t> nodes;
  std::uint32_t gpus;
  std::optional<std::uint16_t> leaf, spine, core;
  std::optional<std::uint32_t> node_leaf_cables, leaf_spine_cables, spine_core_cables;
};

/// One reference fabric.
struct fabric_row {
  std::string_view id, title, kind, medium;
  std::string_view node;  ///< id in `node_graphs`
  std::uint8_t gpus_per_node, nics_per_node;
  std::uint16_t nic_gbit;
  std::optional<std::uint8_t> rails, planes;
  std::optional<std::uint16_t> su_nodes;
  confidence trust;
  std::span<const fabric_level_row> levels;
  std::span<const fabric_domain_row> domains;
  std::span<const fabric_scale_row> scale;
};

}  // namespace berth::catalogue
