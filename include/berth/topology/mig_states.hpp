#pragma once
/// \file
/// Every state that a MIG GPU can be in, numbered, with what each placement makes of it.
///
/// A state is the key of `mig_geometry`: what is occupied, not which instances occupy it, as nothing else matters for
/// what still fits. A 7-slice GPU has some 380 of them with all profiles, an A30 some 30. Built once per product; the
/// hot path reads tables.

#include <cstddef>
#include <cstdint>
#include <vector>

#include "berth/core/separate.hpp"
#include "berth/topology/mig_geometry.hpp"

namespace berth {

/// Number of a state; 0 is the empty GPU.
using mig_state_id = std::uint16_t;
inline constexpr mig_state_id no_mig_state = 0xffff;

class mig_state_table {
 public:
  /// O(states² × placements²) at worst, for what dominates what: 8 µs for an A30, some 450 µs for an H100 with all
  /// profiles (one run, -O2). Allocates.
  explicit mig_state_table(const mig_geometry& g);

  [[nodiscard]] const mig_geometry& geometry() const noexcept { return geometry_; }
  [[nodiscard]] std::size_t size() const noexcept { return key_.size(); }
  [[nodiscard]] std::uint32_t key(mig_state_id s) const noexcept { return key_[s]; }
  /// The placements that may be added in that state.
  [[nodiscard]] mig_set open(mig_state_id s) const noexcept { return open_[s]; }
  /// Those of one profile.
  [[nodiscard]] mig_set open(mig_state_id s, unsigned profile) const noexcept {
    return open_[s] & geometry_.of_profile[profile];
  }
  /// The open placements that no one should choose: another of the same profile leaves room for everything that this
  /// one leaves room for, and for more. On an empty 7-slice GPU that is most starts of 1g.
  [[nodiscard]] mig_set dominated(mig_state_id s) const noexcept { return dominated_[s]; }
  /// The states in which one more instance of a profile fits: bit s of word s / 64, of `words()` words.
  [[nodiscard]] const std::uint64_t* open_states(unsigned profile) const noexcept {
    return open_states_.data() + profile * words_;
  }
  [[nodiscard]] std::size_t words() const noexcept { return words_; }
  /// \pre the placement is open in `s`
  [[nodiscard]] mig_state_id after(mig_state_id s, unsigned placement) const noexcept {
    return next_[s * std::size_t{max_mig_placements} + placement];
  }
  /// \pre the placement is held by a GPU in state `s`
  [[nodiscard]] mig_state_id without(mig_state_id s, unsigned placement) const noexcept {
    return previous_[s * std::size_t{max_mig_placements} + placement];
  }
  /// How many instances of one profile fit at once.
  [[nodiscard]] unsigned room(mig_state_id s, unsigned profile) const noexcept {
    return room_[s * std::size_t{max_mig_profiles} + profile];
  }
  /// Free placement units.
  [[nodiscard]] unsigned free_units(mig_state_id s) const noexcept { return *geometry_.product->units - used_units(s); }
  /// Those that instances hold.
  [[nodiscard]] unsigned used_units(mig_state_id s) const noexcept { return used_[s]; }
  /// All states, those with the fewest free units first: what follows a state comes before it.
  [[nodiscard]] const std::vector<mig_state_id>& fullest_first() const noexcept;
  /// The state with that key, or `no_mig_state`.
  [[nodiscard]] mig_state_id find(std::uint32_t key) const noexcept { return hash_[slot(key)]; }

 private:
  [[nodiscard]] std::size_t slot(std::uint32_t key) const noexcept;
  mig_state_id intern(std::uint32_t key);
  /// Whether whatever can follow in state `b` can follow in `a` too, step by step. `known`: 0 not looked at yet, 1 yes,
  /// 2 no, for every pair. Depth: the placements of a layout.
  [[nodiscard]] bool serves_all_of(mig_state_id a, mig_state_id b, std::vector<std::uint8_t>& known) const noexcept;
  void find_dominated();

  mig_geometry geometry_;
  std::vector<mig_state_id> hash_;
  std::vector<std::uint32_t> key_;
  std::vector<mig_set> open_, dominated_;
  std::vector<mig_state_id> next_, previous_;
  std::vector<std::uint8_t> room_, used_;
  std::vector<std::uint64_t> open_states_;
  std::size_t words_ = 0;
  std::vector<mig_state_id> by_room_;
};

}  // namespace berth

#if BERTH_WITH_BODIES
#include "berth/topology/impl/mig_states.hpp"
#endif
