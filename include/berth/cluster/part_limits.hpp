#pragma once
/// \file
/// Into what the devices of every class of nodes may be cut: the limits of a catalogue by class and device.

#include <cstddef>
#include <cstdint>
#include <span>

#include "berth/cluster/node_filter.hpp"
#include "berth/cluster/part_catalogue.hpp"
#include "berth/cluster/part_rooms.hpp"
#include "berth/core/bits.hpp"
#include "berth/core/flat_array.hpp"
#include "berth/core/separate.hpp"
#include "berth/topology/node_shape.hpp"

namespace berth::detail {

/// Grows only, as classes do. Cost   `add_classes` O(models) a device and allocates, all else O(1). \pre of questions:
/// the class is known
class part_limits {
 public:
  /// Learns classes made since.
  void add_classes(const part_catalogue& catalogue, std::span<const node_class> classes,
                   std::span<const node_shape> shapes);
  [[nodiscard]] std::uint32_t devices(class_id c) const noexcept { return first_[c.index() + 1] - first_[c.index()]; }
  [[nodiscard]] const device_limits& of(class_id c, unsigned device) const noexcept {
    return of_[first_[c.index()] + device];
  }
  [[nodiscard]] device_mask mig_able(class_id c) const noexcept { return mig_able_[c.index()]; }
  /// Those of one product.
  [[nodiscard]] device_mask mig_able(class_id c, unsigned product) const noexcept {
    return able_of_[c.index() * products_ + product];
  }
  [[nodiscard]] device_mask share_able(class_id c) const noexcept { return share_able_[c.index()]; }

 private:
  std::size_t products_ = 0;
  flat_array<std::uint32_t> first_;                ///< by class, and one more: its first device
  flat_array<device_limits> of_;                   ///< by class and device
  flat_array<device_mask> mig_able_, share_able_;  ///< by class
  flat_array<device_mask> able_of_;                ///< by class and product
};

}  // namespace berth::detail

#if BERTH_WITH_BODIES
#include "berth/cluster/impl/part_limits.hpp"
#endif
