#pragma once
/// \file
/// A hash table of numbers, for owners that keep the things themselves: classes, filters, distinct tasks.

#include <cstddef>
#include <cstdint>

#include "berth/core/flat_array.hpp"
#include "berth/core/separate.hpp"

namespace berth {

/// Finds numbered things by their hash: a power of two of places, at most half of them taken. Only finds: no order
/// follows from it.
class hash_slots {
 public:
  static constexpr std::uint32_t none = 0xffffffffU;

  /// The thing with that hash for which `is(number)` says so; `none` where there is none. O(1) on average.
  template <class F>
  [[nodiscard]] std::uint32_t find(std::size_t hash, F&& is) const {
    if (slots_.empty()) return none;
    std::size_t at = hash & (slots_.size() - 1);
    while (slots_[at] != none && !is(slots_[at])) at = (at + 1) & (slots_.size() - 1);
    return slots_[at];
  }
  /// Adds the thing numbered `count`, after those before it; `hash_of(number)` is the hash of any of them. Allocates.
  template <class F>
  void add(std::size_t count, F&& hash_of) {
    if ((count + 1) * 2 <= slots_.size()) return put(static_cast<std::uint32_t>(count), hash_of(count));
    slots_.assign(slots_.empty() ? 16 : slots_.size() * 2, none);
    for (std::size_t i = 0; i <= count; ++i) put(static_cast<std::uint32_t>(i), hash_of(i));
  }

  /// Forgets all, and keeps the memory.
  void clear() noexcept {
    for (auto& s : slots_) s = none;
  }

 private:
  void put(std::uint32_t i, std::size_t hash) noexcept;
  flat_array<std::uint32_t> slots_;
};

}  // namespace berth

#if BERTH_WITH_BODIES
#include "berth/core/impl/hash_slots.hpp"
#endif
