#pragma once
/// \file
/// Which nodes have GPUs in MIG mode in which state: equal GPUs are one bucket, so that a decision over the whole
/// cluster looks at states, not at GPUs.
///
/// A bucket is a set of nodes as a tree of 64-bit words, whose lowest member is found in one step per level. It says
/// where to look, not what may be taken: health, CPU and memory of a node are for who reads it to check.
///
/// Memory   states × nodes / 8 bytes (50 kB for 1,024 nodes of H100, 6 MB for 131,072), and 4 bytes per GPU.

#include <cstddef>
#include <cstdint>
#include <span>

#include "berth/core/flat_array.hpp"
#include "berth/core/separate.hpp"
#include "berth/topology/mig_states.hpp"

namespace berth::detail {

class mig_buckets {
 public:
  static constexpr std::uint32_t none = 0xffff'ffff;

  /// All empty. Allocates.
  void begin(std::span<const mig_state_table> products, std::size_t nodes, std::size_t devices);
  /// As if no GPU were in MIG mode.
  void clear() noexcept;
  /// States of all products are numbered on; those of one begin here, at a multiple of 64.
  [[nodiscard]] std::uint32_t first_state(unsigned product) const noexcept { return first_state_[product]; }
  /// GPUs in a state.
  [[nodiscard]] std::uint32_t count(std::size_t state) const noexcept { return count_[state]; }
  /// Whether any GPU is in a state: bit s of word s / 64.
  [[nodiscard]] const std::uint64_t* in_use() const noexcept { return in_use_.data(); }
  /// The lowest node with a GPU in that state, or `none`. O(levels).
  [[nodiscard]] std::uint32_t first(std::size_t state) const noexcept {
    return count_[state] == 0 ? none : down(state, levels_ - 1, 0);
  }
  /// The lowest node above `node` with one, or `none`. O(levels).
  [[nodiscard]] std::uint32_t next(std::size_t state, std::uint32_t node) const noexcept;
  /// Room for the devices of one more node, which stand at `device_count()` and on. Allocates.
  void add_devices(std::uint32_t devices);
  /// The state that a device is counted in, or `none`. \param device  its place among the devices of all nodes
  [[nodiscard]] std::uint32_t state_of(std::uint32_t device) const noexcept { return state_of_[device]; }

  /// A GPU of a node is in MIG mode, in that state. \param at  the devices of its node begin there
  void enter(std::uint32_t state, std::uint32_t node, std::uint32_t at, std::uint32_t devices,
             unsigned device) noexcept;
  /// No longer. \pre it is counted in some state
  void leave(std::uint32_t node, std::uint32_t at, std::uint32_t devices, unsigned device) noexcept;
  [[nodiscard]] std::size_t memory() const noexcept {
    return (bits_.size() + in_use_.size()) * 8 + (count_.size() + state_of_.capacity()) * 4;
  }
  /// Whether the same GPUs are in the same states.
  friend bool operator==(const mig_buckets& a, const mig_buckets& b) {
    return a.bits_ == b.bits_ && a.count_ == b.count_ && a.in_use_ == b.in_use_ && a.state_of_ == b.state_of_;
  }

 private:
  [[nodiscard]] bool has(std::uint32_t state, std::uint32_t at, std::uint32_t devices) const noexcept;
  /// The lowest member below word `word` of a level. \pre it has one
  [[nodiscard]] std::uint32_t down(std::size_t state, unsigned level, std::size_t word) const noexcept;

  flat_array<std::uint32_t> first_state_;  ///< by product
  std::size_t stride_ = 0;                 ///< words of one bucket
  std::size_t level_at_[6]{};              ///< first word of each level
  unsigned levels_ = 0;
  flat_array<std::uint64_t> bits_;      ///< per state: the words of every level
  flat_array<std::uint32_t> count_;     ///< GPUs, by state
  flat_array<std::uint64_t> in_use_;    ///< states with a GPU
  flat_array<std::uint32_t> state_of_;  ///< by device, or `none`
};

}  // namespace berth::detail

#if BERTH_WITH_BODIES
#include "berth/cluster/impl/mig_buckets.hpp"
#endif
