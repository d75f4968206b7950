#pragma once
/// \file
/// Bodies of `berth/topology/mig_states.hpp`.

#include "berth/topology/mig_states.hpp"

namespace berth {

BERTH_INLINE mig_state_table::mig_state_table(const mig_geometry& g) : geometry_{g}, hash_(4096, no_mig_state) {
  static_cast<void>(intern(0));
  for (std::size_t s = 0; s < key_.size(); ++s) {
    const mig_set open = geometry_.open(key_[s]);
    open_.push_back(open);
    for (unsigned p = 0; p < max_mig_placements; ++p)
      next_.push_back((open >> p & 1U) != 0 ? intern(key_[s] + geometry_.weight[p]) : no_mig_state);
  }
  const std::size_t n = key_.size();
  for (const std::uint32_t k : key_) used_.push_back(static_cast<std::uint8_t>(count_bits(mig_geometry::occupied(k))));
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

BERTH_INLINE std::size_t mig_state_table::slot(std::uint32_t key) const noexcept {
  std::size_t h = (key * 0x9e3779b1U >> 8) & (hash_.size() - 1);
  while (hash_[h] != no_mig_state && key_[hash_[h]] != key) h = (h + 1) & (hash_.size() - 1);
  return h;
}

BERTH_INLINE mig_state_id mig_state_table::intern(std::uint32_t key) {
  const std::size_t h = slot(key);
  if (hash_[h] == no_mig_state) {
    hash_[h] = static_cast<mig_state_id>(key_.size());
    key_.push_back(key);
  }
  return hash_[h];
}

BERTH_INLINE bool mig_state_table::serves_all_of(mig_state_id a, mig_state_id b,
                                                 std::vector<std::uint8_t>& known) const noexcept {
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

BERTH_INLINE void mig_state_table::find_dominated() {
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

BERTH_INLINE const std::vector<mig_state_id>& mig_state_table::fullest_first() const noexcept {
  return by_room_;
}

}  // namespace berth
