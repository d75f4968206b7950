#pragma once
/// \file
/// What one kind of machine looks like from inside, compiled to flat tables: devices, NUMA nodes, PCIe switches, NICs
/// and the bandwidth between every two devices. Equal machines share one `node_shape`.
///
/// A shape is made from a hardware graph (`topology/graph/compile.hpp`), taken from the catalogue
/// (`topology/catalogue/node_shapes.hpp`), or described by hand (`make_plain_shape`).

#include <cassert>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "berth/core/bits.hpp"
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
  device_mask devices = 0;                  ///< devices nearest to this card
  std::optional<gigabytes_per_second> rate;  ///< line rate; empty when unknown
  std::optional<std::uint8_t> rail;          ///< rail of the compute fabric; empty when it is not a compute NIC
};

/// Bandwidth between every two devices of a node: that of the widest path that runs through switches, bridges and
/// sockets, never through another device or NIC. Unknown stays unknown.
class bandwidth_table {
 public:
  bandwidth_table() = default;
  /// `n` devices, every pair unknown.
  explicit bandwidth_table(unsigned n) : n_{n}, rate_(std::size_t{n} * n, unknown_rate) {}

  [[nodiscard]] unsigned size() const noexcept { return n_; }
  /// GB/s one direction between two devices; empty when unknown. \pre a, b < size()
  [[nodiscard]] std::optional<gigabytes_per_second> between(unsigned a, unsigned b) const noexcept {
    const float r = at(a, b);
    if (r == unknown_rate) return std::nullopt;
    return gigabytes_per_second{static_cast<double>(r)};
  }
  /// Sets both directions. \pre a, b < size()
  void set(unsigned a, unsigned b, std::optional<gigabytes_per_second> rate) {
    assert(a < n_ && b < n_);
    const float r = rate ? static_cast<float>(rate->count()) : unknown_rate;
    rate_[std::size_t{a} * n_ + b] = r;
    rate_[std::size_t{b} * n_ + a] = r;
  }
  /// As a number to rank by: an unknown rate ranks below every known one. \pre a, b < size()
  [[nodiscard]] float rank(unsigned a, unsigned b) const noexcept { return at(a, b); }

  friend bool operator==(const bandwidth_table&, const bandwidth_table&) = default;

 private:
  static constexpr float unknown_rate = -1.0F;
  [[nodiscard]] float at(unsigned a, unsigned b) const noexcept {
    assert(a < n_ && b < n_);
    return rate_[std::size_t{a} * n_ + b];
  }
  unsigned n_ = 0;
  std::vector<float> rate_;
};

/// One kind of machine.
struct node_shape {
  std::string name;                ///< catalogue id such as "azure-ndv5", or the site's own word
  unsigned devices = 0;            ///< GPUs, at most `max_devices_per_node`; 0 for a CPU-only machine
  std::vector<std::string> models;  ///< model id of every device ("h100-sxm5-80gb"); "" when unknown
  bandwidth_table bandwidth;        ///< devices × devices
  std::vector<numa_shape> numa;     ///< empty when unknown
  std::vector<device_mask> pcie_switches;  ///< devices under each PCIe switch; empty when flat or unknown
  std::vector<nic_shape> nics;
  cpu_millis cpu{};  ///< schedulable CPUs of the whole machine
  bytes memory{};    ///< schedulable memory of the whole machine

  /// Mask of all devices.
  [[nodiscard]] device_mask all_devices() const noexcept { return low_bits(devices); }
};

/// A machine about which only the number and model of its devices is known: every bandwidth is unknown.
[[nodiscard]] inline node_shape make_plain_shape(std::string name, unsigned devices, std::string model,
                                                 cpu_millis cpu, bytes memory) {
  node_shape s;
  s.name = std::move(name);
  s.devices = devices;
  s.models.assign(devices, model);
  s.bandwidth = bandwidth_table{devices};
  s.cpu = cpu;
  s.memory = memory;
  return s;
}

}  // namespace berth
