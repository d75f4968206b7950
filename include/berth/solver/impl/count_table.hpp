#pragma once
/// \file
/// Bodies of `berth/solver/count_table.hpp`.

#include <bit>

#include "berth/solver/count_table.hpp"

namespace berth::detail {

BERTH_INLINE bool count_space::set(const std::uint32_t* total, std::size_t groups, std::uint64_t limit) noexcept {
  groups_ = groups;
  size_ = 1;
  guards_ = 0;
  unsigned shift = 0;
  if (groups > most_groups) return false;
  for (std::size_t i = 0; i < groups; ++i) {
    total_[i] = total[i];
    stride_[i] = static_cast<std::uint32_t>(size_);
    shift_[i] = shift;
    shift += static_cast<unsigned>(std::bit_width(total[i])) + 1;
    if (shift > 64 || size_ > limit / (total[i] + std::uint64_t{1})) return false;
    guards_ |= std::uint64_t{1} << (shift - 1);
    size_ *= total[i] + std::uint64_t{1};
  }
  return true;
}

BERTH_INLINE std::uint64_t count_space::packed(std::uint32_t v) const noexcept {
  std::uint64_t out = 0;
  for (std::size_t i = 0; i < groups_; ++i) out |= std::uint64_t{count(v, i)} << shift_[i];
  return out;
}

BERTH_INLINE void count_row::clear() const noexcept {
  for (std::size_t i = 0; i < std::size_t{vectors_} * rows_; ++i) cells_[i] = none;
  cells_[0] = 0;
}

BERTH_INLINE std::uint64_t count_row::add(const count_space& space, const std::uint64_t* packed,
                                          const count_part* parts, std::uint32_t count,
                                          std::uint32_t* choice) const noexcept {
  std::uint64_t steps = vectors_;
  if (choice != nullptr)
    for (std::size_t i = 0; i < std::size_t{vectors_} * rows_; ++i) choice[i] = 0;
  // Parts are smaller vectors with smaller numbers: downwards, what is read was not yet written.
  for (std::uint32_t v = vectors_ - 1; v != 0; --v)
    for (unsigned row = rows_; row-- > 0;) {
      std::uint64_t& best = at(v, row);
      for (std::uint32_t k = 0; k < count && best != 0; ++k) {
        const count_part& p = parts[k];
        if (p.vector > v || p.loose > row || !space.within(p.packed, packed[v])) continue;
        const std::uint64_t before = at(v - p.vector, row - p.loose);
        if (before == none || before + p.cost >= best) continue;
        best = before + p.cost;
        if (choice != nullptr) choice[std::size_t{row} * vectors_ + v] = k + 1;
      }
      steps += count;
    }
  return steps;
}

}  // namespace berth::detail
