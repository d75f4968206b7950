#pragma once
/// \file
/// What one kind of machine looks like from inside, compiled to flat tables: devices, NUMA nodes, PCIe switches, NICs
/// and the bandwidth between every two devices. Equal machines share one `node_shape`.
///
/// A shape is made from a hardware graph (`topology/graph/compile.hpp`), taken from the catalogue
/// (`topology/catalogue/node_shapes.hpp`), or described by hand (`make_plain_shape`).

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "berth/core/bits.hpp"
#include "berth/core/separate.hpp"
#include "berth/core/units.hpp"

namespace berth {

/// One NUMA node of a machine and the devices nearest to it.
struct numa_shape {
  device_mask devices = 0;
  cpu_millis cpu{};
  bytes memory{};
};

/// One network card and the devices under the same PCIe switch (all of the NUMA node where there is no switch).
struct nic_shape {
  device_mask devices = 0;                     ///< devices nearest to this card
  std::optional<gigabytes_per_second> rate{};  ///< line rate; empty when unknown
  std::optional<std::uint8_t> rail{};          ///< rail of the compute fabric; empty when it is not a compute NIC
};

/// A link on the way from devices to the CPUs of their NUMA node: a PCIe slot, the uplink of a PCIe switch, NVLink-C2C.
/// All devices behind it share it. Of two links either one lies behind the other or nothing is behind both. Links
/// behind which lie the same devices are one: the slowest.
struct host_link {
  device_mask devices = 0;                     ///< devices behind it
  std::optional<gigabytes_per_second> rate{};  ///< one direction; empty when unknown
};

/// Bandwidth between every two devices of a node: that of the widest path that runs through switches, bridges and
/// sockets, never through another device or NIC. Unknown stays unknown; a pair of unknown rate may still have an order
/// (`set_unknown`), which ranks it and is never a rate.
class bandwidth_table {
 public:
  bandwidth_table() = default;
  /// `n` devices, every pair unknown.
  explicit bandwidth_table(unsigned n) : n_{n}, rate_(std::size_t{n} * n, unknown_rate), order_(rate_) {}

  [[nodiscard]] unsigned size() const noexcept { return n_; }
  /// GB/s one direction between two devices; empty when unknown. \pre a, b < size()
  [[nodiscard]] std::optional<gigabytes_per_second> between(unsigned a, unsigned b) const noexcept;
  /// Sets both directions; without a rate, the pair is also without an order. \pre a, b < size()
  void set(unsigned a, unsigned b, std::optional<gigabytes_per_second> rate);
  /// A pair of unknown rate that ranks as if it had this one. Above 0: among the known rates; above -1 and below 0:
  /// behind all of them (`topology/graph/pair_order.hpp`). \pre a, b < size(), order > -1
  void set_unknown(unsigned a, unsigned b, float order);
  /// The order of a pair of unknown rate; empty where the rate is known or nothing is. \pre a, b < size()
  [[nodiscard]] std::optional<float> order(unsigned a, unsigned b) const noexcept;
  /// As a number to rank by: the rate, else the order; a pair without either is -1. \pre a, b < size()
  [[nodiscard]] float rank(unsigned a, unsigned b) const noexcept { return order_[at(a, b)]; }

  friend bool operator==(const bandwidth_table&, const bandwidth_table&) = default;

 private:
  static constexpr float unknown_rate = -1.0F;
  [[nodiscard]] std::size_t at(unsigned a, unsigned b) const noexcept;
  void put(std::vector<float>& table, unsigned a, unsigned b, float x);
  unsigned n_ = 0;
  std::vector<float> rate_, order_;  ///< in `order_` known rates as they are
};

/// One kind of machine.
struct node_shape {
  std::string name{};                        ///< catalogue id such as "azure-ndv5", or the site's own word
  unsigned devices = 0;                      ///< GPUs, at most `max_devices_per_node`; 0 for a CPU-only machine
  std::vector<std::string> models{};         ///< model id of every device ("h100-sxm5-80gb"); "" when unknown
  bandwidth_table bandwidth{};               ///< devices × devices
  std::vector<numa_shape> numa{};            ///< empty when unknown
  std::vector<device_mask> pcie_switches{};  ///< devices under each PCIe switch; empty when flat or unknown
  std::vector<nic_shape> nics{};
  std::vector<host_link> host_links{};  ///< few devices first; empty when unknown
  bandwidth_table numa_bandwidth{};     ///< between NUMA nodes; of size 0 when unknown
  cpu_millis cpu{};                     ///< schedulable CPUs of the whole machine
  bytes memory{};                       ///< schedulable memory of the whole machine

  /// Mask of all devices.
  [[nodiscard]] device_mask all_devices() const noexcept { return low_bits(devices); }
  /// The NUMA node that a device hangs on; `numa.size()` when unknown. O(NUMA nodes).
  [[nodiscard]] std::size_t numa_of(unsigned device) const noexcept;
  /// GB/s between two devices over PCIe and sockets alone: what is left when the NVLink between them is broken. The
  /// slowest link on the way; empty where one of them is unknown. O(links). \pre a != b
  [[nodiscard]] std::optional<gigabytes_per_second> host_path(unsigned a, unsigned b) const noexcept;
};

/// A machine about which only the number and model of its devices is known: every bandwidth is unknown.
[[nodiscard]] node_shape make_plain_shape(std::string name, unsigned devices, std::string model, cpu_millis cpu,
                                          bytes memory);

}  // namespace berth

#if BERTH_WITH_BODIES
#include "berth/topology/impl/node_shape.hpp"
#endif
