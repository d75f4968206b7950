#pragma once
/// \file
/// Bodies of `berth/cluster/mig_buckets.hpp`.

#include "berth/cluster/mig_buckets.hpp"
#include "berth/core/bits.hpp"

namespace berth::detail {

BERTH_INLINE void mig_buckets::begin(std::span<const mig_state_table> products, std::size_t nodes,
                                     std::size_t devices) {
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

BERTH_INLINE void mig_buckets::clear() noexcept {
  for (auto& w : bits_) w = 0;
  for (auto& n : count_) n = 0;
  for (auto& w : in_use_) w = 0;
  for (auto& x : state_of_) x = none;
}

BERTH_INLINE std::uint32_t mig_buckets::next(std::size_t state, std::uint32_t node) const noexcept {
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

BERTH_INLINE void mig_buckets::enter(std::uint32_t state, std::uint32_t node, std::uint32_t at, std::uint32_t devices,
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

BERTH_INLINE void mig_buckets::leave(std::uint32_t node, std::uint32_t at, std::uint32_t devices,
                                     unsigned device) noexcept {
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

BERTH_INLINE bool mig_buckets::has(std::uint32_t state, std::uint32_t at, std::uint32_t devices) const noexcept {
  const std::uint32_t* const s = state_of_.data() + at;
  for (std::uint32_t d = 0; d < devices; ++d)
    if (s[d] == state) return true;
  return false;
}

BERTH_INLINE std::uint32_t mig_buckets::down(std::size_t state, unsigned level, std::size_t word) const noexcept {
  const std::uint64_t* const b = bits_.data() + state * stride_;
  for (unsigned l = level + 1; l-- > 0;) word = word * 64 + lowest_bit(b[level_at_[l] + word]);
  return static_cast<std::uint32_t>(word);
}

BERTH_INLINE void mig_buckets::add_devices(std::uint32_t devices) {
  for (std::uint32_t d = 0; d < devices; ++d) state_of_.append(none);
}

}  // namespace berth::detail
