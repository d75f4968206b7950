#pragma once
/// \file
/// The mutable state of one node, in one cache line.

#include <cstddef>
#include <cstdint>

#include "berth/core/bits.hpp"
#include "berth/core/id.hpp"
#include "berth/core/separate.hpp"
#include "berth/core/units.hpp"

namespace berth {

/// What of a node is free, held and broken. Invariant, after every call on `cluster`:
/// `free == (usable ? installed & ~held & ~unhealthy : 0)`.
struct alignas(64) node_state {
  device_mask free = 0;       ///< devices that may be handed out now
  device_mask held = 0;       ///< devices that committed placements hold, healthy or not
  device_mask unhealthy = 0;  ///< devices marked unhealthy, held or not
  device_mask installed = 0;  ///< all devices of the node
  // CPU and memory stand apart on purpose: side by side, compilers read both in one go soon after each was written
  // alone, and the processor has to wait for that.
  cpu_millis cpu{};         ///< free CPU
  std::uint32_t leaf = 0;   ///< domain of the innermost level
  std::uint32_t tasks = 0;  ///< committed tasks on the node
  bytes memory{};           ///< free memory
  class_id node_class{};
  bool usable = true;       ///< false: drained, broken or removed; nothing new lands here
  std::uint8_t unused = 0;  ///< stays 0: makes one word of what `kind` compares

  /// Recomputes `free` from the other masks.
  constexpr void refresh() noexcept { free = usable ? installed & ~held & ~unhealthy : 0; }
  /// `node_class` and `usable`, to be compared with those of another node.
  [[nodiscard]] std::uint32_t kind() const noexcept;
  friend constexpr bool operator==(const node_state&, const node_state&) noexcept = default;
};
static_assert(sizeof(node_state) == 64);

}  // namespace berth

#if BERTH_WITH_BODIES
#include "berth/cluster/impl/node_state.hpp"
#endif
