#pragma once
/// \file
/// The kinds of hardware parts and of links between them: the words that the catalogue's tables and the hardware graph
/// share.

#include <cstdint>
#include <string_view>

namespace berth {

/// What a vertex of the hardware graph is.
enum class vertex_kind : std::uint8_t {
  gpu,            ///< a whole GPU
  nic,            ///< a network card
  nvswitch,       ///< an NVSwitch chip, inside a machine or shared by the machines of a rack
  pcie_switch,    ///< a PCIe switch
  numa,           ///< a NUMA node with its root complex
  socket,         ///< a CPU package, where it is told apart from its NUMA nodes
  node,           ///< a whole machine, in graphs of a fabric
  leaf,           ///< a network switch that machines hang on
  spine,          ///< a network switch above leaves
  core,           ///< a network switch above spines
  nvlink_domain,  ///< all NVSwitches of a rack taken together, in graphs of a fabric
  host_bridge,    ///< a PCIe host bridge (root complex), where it is told apart from its NUMA node
};

/// What a link is made of.
enum class link_kind : std::uint8_t {
  nvlink,      ///< NVLink; `generation` says which
  pcie,        ///< PCIe; `generation` says which
  c2c,         ///< NVLink-C2C between CPU and GPU
  qpi,         ///< between Intel sockets, up to Broadwell
  upi,         ///< between Intel sockets, from Skylake on
  xgmi,        ///< between AMD sockets or AMD GPUs
  cpu_link,    ///< between CPU packages or dies, of another or an unstated make
  on_die,      ///< between the NUMA nodes of one package
  infiniband,  ///< InfiniBand
  roce,        ///< RDMA over Ethernet
  ethernet,    ///< Ethernet without RDMA, or of an unstated kind
};

/// True for what is handed out or sends by itself: such a vertex ends a path, it never carries one through.
[[nodiscard]] constexpr bool is_endpoint(vertex_kind k) noexcept {
  return k == vertex_kind::gpu || k == vertex_kind::nic || k == vertex_kind::node;
}
/// True for the switches of an NVLink network.
[[nodiscard]] constexpr bool is_nvlink_switch(vertex_kind k) noexcept {
  return k == vertex_kind::nvswitch || k == vertex_kind::nvlink_domain;
}
/// True for the switches between machines.
[[nodiscard]] constexpr bool is_network_switch(vertex_kind k) noexcept {
  return k == vertex_kind::leaf || k == vertex_kind::spine || k == vertex_kind::core;
}
/// True for what joins devices inside a machine besides NVLink.
[[nodiscard]] constexpr bool is_host_part(vertex_kind k) noexcept {
  return k == vertex_kind::pcie_switch || k == vertex_kind::numa || k == vertex_kind::socket ||
         k == vertex_kind::host_bridge;
}

/// "gpu", "nvswitch", …
[[nodiscard]] constexpr std::string_view to_string(vertex_kind k) noexcept {
  switch (k) {
    case vertex_kind::gpu:
      return "gpu";
    case vertex_kind::nic:
      return "nic";
    case vertex_kind::nvswitch:
      return "nvswitch";
    case vertex_kind::pcie_switch:
      return "pcie_switch";
    case vertex_kind::numa:
      return "numa";
    case vertex_kind::socket:
      return "socket";
    case vertex_kind::node:
      return "node";
    case vertex_kind::leaf:
      return "leaf";
    case vertex_kind::spine:
      return "spine";
    case vertex_kind::core:
      return "core";
    case vertex_kind::nvlink_domain:
      return "nvlink";
    case vertex_kind::host_bridge:
      return "host_bridge";
  }
  return "?";
}

/// "nvlink", "pcie", …
[[nodiscard]] constexpr std::string_view to_string(link_kind k) noexcept {
  switch (k) {
    case link_kind::nvlink:
      return "nvlink";
    case link_kind::pcie:
      return "pcie";
    case link_kind::c2c:
      return "c2c";
    case link_kind::qpi:
      return "qpi";
    case link_kind::upi:
      return "upi";
    case link_kind::xgmi:
      return "xgmi";
    case link_kind::cpu_link:
      return "cpu_link";
    case link_kind::on_die:
      return "on_die";
    case link_kind::infiniband:
      return "infiniband";
    case link_kind::roce:
      return "roce";
    case link_kind::ethernet:
      return "ethernet";
  }
  return "?";
}

}  // namespace berth

namespace berth::catalogue {

/// How far a row can be trusted. high: a capture, or the vendor's own document; medium: one secondary source, or partly
/// recalled and consistent; low: inferred, third-party or contradicted.
enum class confidence : std::uint8_t { none, low, medium, high };

}  // namespace berth::catalogue
