#pragma once
/// \file
/// Which children of a domain are chosen, and how many tasks each gets: scratch memory of the fillers.

#include <cstddef>
#include <cstdint>

#include "berth/core/bits.hpp"
#include "berth/core/flat_array.hpp"
#include "berth/core/separate.hpp"

namespace berth::detail {

struct child_choice {
  flat_array<std::uint64_t> words;   ///< a bit per child: chosen
  flat_array<std::uint64_t> amount;  ///< tasks of a chosen child
  flat_array<std::uint32_t> order;   ///< children in the order chosen, for even splits

  /// Makes room for domains of up to `children`. Allocates.
  void reserve(std::uint32_t children);
  void take(std::uint32_t child, std::uint64_t n) noexcept;
  [[nodiscard]] bool taken(std::uint32_t child) const noexcept { return (words[child / 64] & bit(child % 64)) != 0; }
  /// Tasks of a child, 0 where it is not chosen.
  [[nodiscard]] std::uint64_t tasks_of(std::uint32_t child) const noexcept { return taken(child) ? amount[child] : 0; }
};

}  // namespace berth::detail

#if BERTH_WITH_BODIES
#include "berth/solver/impl/child_choice.hpp"
#endif
