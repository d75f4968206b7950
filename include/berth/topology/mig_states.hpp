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

#include "berth/topology/mig_geometry.hpp"

namespace berth {

/// Number of a state; 0 is the empty GPU.
using mig_state_id = std::uint16_t;
inline constexpr mig_state_id no_mig_state = 0xffff;

class mig_state_table {
 public:
  /// O(states² × placements²) at worst, for what dominates what: 8 µs for an A30, some 450 µs for an H100 with all
  /// profiles (one run, -O2). Allocates.
  explicit mig_state_table(const mig_geometry& g) : geometry_{g}, hash_(4096, no_mig_state) {
    static_cast<void>(intern(0));
    for (std::size_t s = 0; s < key_.size(); ++s) {
      const mig_set open = geometry_.open(key_[s]);
      open_.push_back(open);
      for (unsigned p = 0; p < max_mig_placements; ++p)
        next_.push_back((open >> p & 1U) != 0 ? intern(key_[s] + geometry_.weight[p]) : no_mig_state);
    }
    const std::size_t n = key_.size();
    for (const std::uint32_t k : key_)
      used_.push_back(static_cast<std::uint8_t>(count_bits(mig_geometry::occupied(k))));
    previous_.assign(n * max_mig_placements, no_mig_state);
    room_.assign(n * max_mig_profiles, 0);
    for (std::size_t s = 0; s < n; ++s)
      for_each_bit(open_[s], [&](unsigned p) {
        const std::size_t then = next_[s * max_mig_placements + p];
        previous_[then * max_mig_placements + p] = static_cast<mig_state_id>(s);
      });
    words_ = (n + 63) / 64;
    open_states_.assign(max_mig_profiles * words_, 0);
    for (std::size_t s = 0; s < n; ++s)
      for (unsigned q = 0; q < geometry_.profiles; ++q)
        if ((open_[s] & geometry_.of_profile[q]) != 0)
          open_states_[q * words_ + s / 64] |= bit(static_cast<unsigned>(s % 64));
    // Those with most occupied first, so that what follows a state is known before it.
    for (unsigned free = 0; free <= *geometry_.product->units; ++free)
      for (std::size_t s = 0; s < n; ++s) {
        if (free_units(static_cast<mig_state_id>(s)) != free) continue;
        by_room_.push_back(static_cast<mig_state_id>(s));
        for_each_bit(open_[s], [&](unsigned p) {
          const unsigned profile = geometry_.placement[p].profile;
          const unsigned with = 1 + room(next_[s * max_mig_placements + p], profile);
          auto& most = room_[s * max_mig_profiles + profile];
          if (with > most) most = static_cast<std::uint8_t>(with);
        });
      }
    find_dominated();
  }

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
  [[nodiscard]] const std::vector<mig_state_id>& fullest_first() const noexcept { return by_room_; }
  /// The state with that key, or `no_mig_state`.
  [[nodiscard]] mig_state_id find(std::uint32_t key) const noexcept { return hash_[slot(key)]; }

 private:
  [[nodiscard]] std::size_t slot(std::uint32_t key) const noexcept {
    std::size_t h = (key * 0x9e3779b1U >> 8) & (hash_.size() - 1);
    while (hash_[h] != no_mig_state && key_[hash_[h]] != key) h = (h + 1) & (hash_.size() - 1);
    return h;
  }
  mig_state_id intern(std::uint32_t key) {
    const std::size_t h = slot(key);
    if (hash_[h] == no_mig_state) {
      hash_[h] = static_cast<mig_state_id>(key_.size());
      key_.push_back(key);
    }
    return hash_[h];
  }
  /// Whether whatever can follow in state `b` can follow in `a` too, step by step. `known`: 0 not looked at yet, 1 yes,
  /// 2 no, for every pair. Depth: the placements of a layout.
  [[nodiscard]] bool serves_all_of(mig_state_id a, mig_state_id b, std::vector<std::uint8_t>& known) const noexcept {
    if (a == b || open_[b] == 0) return true;
    for (unsigned q = 0; q < geometry_.profiles; ++q)
      if (room(a, q) < room(b, q)) return false;
    auto& k = known[a * key_.size() + b];
    if (k != 0) return k == 1;
    bool all = true;
    for (unsigned q = 0; all && q < geometry_.profiles; ++q)
      for (mig_set m = open(b, q); all && m != 0; m &= m - 1) {
        bool some = false;
        for (mig_set n = open(a, q); !some && n != 0; n &= n - 1)
          some = serves_all_of(after(a, lowest_bit(n)), after(b, lowest_bit(m)), known);
        all = some;
      }
    k = all ? 1 : 2;
    return all;
  }
  void find_dominated() {
    dominated_.assign(key_.size(), 0);
    std::vector<std::uint8_t> known(key_.size() * key_.size(), 0);
    for (std::size_t i = 0; i < key_.size(); ++i) {
      const auto s = static_cast<mig_state_id>(i);
      for_each_bit(open_[i], [&](unsigned p) {
        const mig_state_id then = after(s, p);
        for_each_bit(open(s, geometry_.placement[p].profile), [&](unsigned other) {
          const mig_state_id better = after(s, other);
          if (better != then && serves_all_of(better, then, known) && !serves_all_of(then, better, known))
            dominated_[i] |= mig_set{1} << p;
        });
      });
    }
  }

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
