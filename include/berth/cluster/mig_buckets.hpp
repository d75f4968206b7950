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

#include "berth/core/bits.hpp"
#include "berth/core/flat_array.hpp"
#include "berth/topology/mig_states.hpp"

namespace berth::detail {

class mig_buckets {
 public:
  static constexpr std::uint32_t none = 0xffff'ffff;

  /// All empty. Allocates.
  void begin(std::span<const mig_state_table> products, std::size_t nodes, std::size_t devices) {
    std::size_t states = 0;
    for (const mig_state_table& t : products) {
      first_state_.append(static_cast<std::uint32_t>(states));
      states += t.words() * 64;
    }
    state_of_.reserve(devices);
    levels_ = 0;
    stride_ = 0;
    std::size_t words = nodes == 0 ? 1 : nodes;
    do {
      words = (words + 63) / 64;
      level_at_[levels_++] = stride_;
      stride_ += words;
    } while (words > 1);
    bits_.assign(states * stride_, 0);
    count_.assign(states, 0);
    in_use_.assign((states + 63) / 64, 0);
  }
  /// As if no GPU were in MIG mode.
  void clear() noexcept {
    for (auto& w : bits_) w = 0;
    for (auto& n : count_) n = 0;
    for (auto& w : in_use_) w = 0;
    for (auto& x : state_of_) x = none;
  }
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
  [[nodiscard]] std::uint32_t next(std::size_t state, std::uint32_t node) const noexcept {
    const std::uint64_t* const b = bits_.data() + state * stride_;
    std::size_t i = node;
    for (unsigned l = 0; l < levels_; ++l, i /= 64) {
      const std::uint64_t m = b[level_at_[l] + i / 64] & ~low_bits(static_cast<unsigned>(i % 64) + 1);
      if (m != 0)
        return l == 0 ? static_cast<std::uint32_t>(i / 64 * 64 + lowest_bit(m))
                      : down(state, l - 1, i / 64 * 64 + lowest_bit(m));
    }
    return none;
  }
  /// Room for the devices of one more node, which stand at `device_count()` and on. Allocates.
  void add_devices(std::uint32_t devices) {
    for (std::uint32_t d = 0; d < devices; ++d) state_of_.append(none);
  }
  /// The state that a device is counted in, or `none`. \param device  its place among the devices of all nodes
  [[nodiscard]] std::uint32_t state_of(std::uint32_t device) const noexcept { return state_of_[device]; }

  /// A GPU of a node is in MIG mode, in that state. \param at  the devices of its node begin there
  void enter(std::uint32_t state, std::uint32_t node, std::uint32_t at, std::uint32_t devices,
             unsigned device) noexcept {
    if (count_[state]++ == 0) in_use_[state / 64] |= bit(state % 64);
    const bool twin = has(state, at, devices);
    state_of_[at + device] = state;
    if (twin) return;
    std::uint64_t* const b = bits_.data() + state * stride_;
    std::size_t i = node;
    for (unsigned l = 0; l < levels_; ++l, i /= 64) {
      std::uint64_t& w = b[level_at_[l] + i / 64];
      const bool had = w != 0;
      w |= bit(static_cast<unsigned>(i % 64));
      if (had) break;
    }
  }
  /// No longer. \pre it is counted in some state
  void leave(std::uint32_t node, std::uint32_t at, std::uint32_t devices, unsigned device) noexcept {
    const std::uint32_t state = state_of_[at + device];
    state_of_[at + device] = none;
    if (--count_[state] == 0) in_use_[state / 64] &= ~bit(state % 64);
    if (has(state, at, devices)) return;
    std::uint64_t* const b = bits_.data() + state * stride_;
    std::size_t i = node;
    for (unsigned l = 0; l < levels_; ++l, i /= 64) {
      std::uint64_t& w = b[level_at_[l] + i / 64];
      w &= ~bit(static_cast<unsigned>(i % 64));
      if (w != 0) break;
    }
  }
  [[nodiscard]] std::size_t memory() const noexcept {
    return (bits_.size() + in_use_.size()) * 8 + (count_.size() + state_of_.capacity()) * 4;
  }
  /// Whether the same GPUs are in the same states.
  friend bool operator==(const mig_buckets& a, const mig_buckets& b) {
    return a.bits_ == b.bits_ && a.count_ == b.count_ && a.in_use_ == b.in_use_ && a.state_of_ == b.state_of_;
  }

 private:
  [[nodiscard]] bool has(std::uint32_t state, std::uint32_t at, std::uint32_t devices) const noexcept {
    const std::uint32_t* const s = state_of_.data() + at;
    for (std::uint32_t d = 0; d < devices; ++d)
      if (s[d] == state) return true;
    return false;
  }
  /// The lowest member below word `word` of a level. \pre it has one
  [[nodiscard]] std::uint32_t down(std::size_t state, unsigned level, std::size_t word) const noexcept {
    const std::uint64_t* const b = bits_.data() + state * stride_;
    for (unsigned l = level + 1; l-- > 0;) word = word * 64 + lowest_bit(b[level_at_[l] + word]);
    return static_cast<std::uint32_t>(word);
  }

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
