#pragma once
/// \file
/// What choices are charged for, by number: choices that break as many of the same sets move together when prices do.

#include <cstddef>
#include <cstdint>
#include <vector>

#include "berth/core/hash_slots.hpp"
#include "berth/core/separate.hpp"
#include "berth/policy/packing.hpp"
#include "berth/policy/set_holdings.hpp"

namespace berth {

/// Sets of whole GPUs that a choice breaks, an untouched node that it touches, a scarce model that it takes from.
struct price_term {
  static constexpr std::uint32_t no_set = ~std::uint32_t{0};
  static constexpr std::uint8_t no_model = max_device_models;
  set_holdings::number before = set_holdings::none, after = set_holdings::none;  ///< what the node holds
  std::uint32_t own = no_set;                                                    ///< a set that costs nothing
  std::uint32_t own_broken = 0;                                                  ///< so many of it
  std::int16_t untouched = -1;                                                   ///< kind of the untouched node
  std::uint8_t pressed = no_model;
  friend bool operator==(const price_term&, const price_term&) = default;
  [[nodiscard]] bool is_free() const noexcept { return before == after && untouched < 0 && pressed == no_model; }
};

class price_terms {
 public:
  struct entry {
    price_term term;
    std::uint8_t drift = 0;
  };
  /// The number of a term; 0 for one that is free. \param drift  gives the drift of a new one \param charge  its
  /// charge. O(1) expected.
  template <class Drift, class Charge>
  [[nodiscard]] std::uint32_t number_of(const price_term& t, Drift&& drift, Charge&& charge) {
    if (t.is_free()) return 0;
    const std::uint32_t known = slots_.find(hash(t), [&](std::uint32_t i) { return entries_[i + 1].term == t; });
    if (known != hash_slots::none) return known + 1;
    entries_.push_back({t, drift()});
    charges_.push_back(charge());
    slots_.add(entries_.size() - 2, [&](std::size_t i) { return hash(entries_[i + 1].term); });
    return static_cast<std::uint32_t>(entries_.size() - 1);
  }
  /// Numbers given, the free one included.
  [[nodiscard]] std::size_t size() const noexcept { return entries_.size(); }
  [[nodiscard]] const entry& operator[](std::size_t i) const noexcept { return entries_[i]; }
  [[nodiscard]] const packing_charge* charges() const noexcept { return charges_.data(); }
  [[nodiscard]] packing_charge& charge(std::size_t i) noexcept { return charges_[i]; }
  void forget();

 private:
  [[nodiscard]] static std::size_t hash(const price_term& t) noexcept;
  std::vector<entry> entries_ = std::vector<entry>(1);
  std::vector<packing_charge> charges_ = std::vector<packing_charge>(1);
  hash_slots slots_;  // of all but the free one
};

}  // namespace berth

#if BERTH_WITH_BODIES
#include "berth/policy/impl/price_terms.hpp"
#endif
