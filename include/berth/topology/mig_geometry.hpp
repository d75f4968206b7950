#pragma once
/// \file
/// Where the instances of a MIG product may start, and which may lie beside each other.
///
/// A set of instances is legal where no two share a placement unit, at most one owns the media extensions, the decoders
/// suffice (binding only where one profile takes all of them) and, before driver R510, no 4g lies beside a 3g. All of
/// this is counted in one integer, the *key* of a GPU: every placement has a weight, placing adds it, destroying
/// subtracts it, so that undo is exact. Sizes are placement units, not the number in the name: a 3g takes 4 of 8 units.
///
/// Source: `.catalogue/mig.json`. Compute slices need no check of their own: disjoint units imply them (tested).

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>

#include "berth/core/bits.hpp"
#include "berth/core/error.hpp"
#include "berth/core/expected.hpp"
#include "berth/core/separate.hpp"
#include "berth/topology/catalogue/mig_rows.hpp"

namespace berth {

/// Bit i: the i-th placement of a geometry, or its i-th profile.
using mig_set = std::uint32_t;
inline constexpr unsigned max_mig_placements = 32, max_mig_profiles = 12;

/// One legal place of one profile.
struct mig_placement {
  std::uint8_t profile = 0;  ///< index in `mig_product_row::profiles`
  std::uint8_t start = 0;
  std::uint8_t size = 0;
};

struct mig_geometry_options {
  bool accept_inferred_placements = false;  ///< starts taken over from a product with equal ids and maxima
  bool accept_low_confidence = false;       ///< rows known by name only
  bool before_r510 = false;                 ///< drivers that bar 4g beside 3g
  mig_set profiles = ~mig_set{0};           ///< those that the site offers, by index
};

/// The placements of one product. Copyable, usable at compile time.
struct mig_geometry {
  const catalogue::mig_product_row* product = nullptr;
  unsigned profiles = 0, placements = 0;
  unsigned decoders = 0;  ///< in all; counted only where a profile takes all media engines
  bool before_r510 = false;
  std::array<mig_placement, max_mig_placements> placement{};
  std::array<std::uint32_t, max_mig_placements> weight{};  ///< what a placement adds to the key
  std::array<mig_set, max_mig_profiles> of_profile{};      ///< the placements of a profile

  static constexpr std::uint32_t units_mask = 0xfff;
  static constexpr unsigned media_at = 12, decoders_at = 14, threes_at = 18, fours_at = 20;

  /// The occupied placement units of a key.
  [[nodiscard]] static constexpr std::uint32_t occupied(std::uint32_t key) noexcept { return key & units_mask; }
  /// Whether placement `p` may be added to a GPU with this key. \pre p < placements
  [[nodiscard]] constexpr bool fits(std::uint32_t key, unsigned p) const noexcept {
    const std::uint32_t w = weight[p];
    if ((key & w & units_mask) != 0) return false;
    const auto field = [](std::uint32_t k, unsigned at, unsigned bits) { return (k >> at) & ((1U << bits) - 1); };
    if (field(key, media_at, 2) + field(w, media_at, 2) > 1) return false;
    if (decoders != 0 && field(key, decoders_at, 4) + field(w, decoders_at, 4) > decoders) return false;
    if (!before_r510) return true;
    return !(field(key, threes_at, 2) != 0 && field(w, fours_at, 2) != 0) &&
           !(field(key, fours_at, 2) != 0 && field(w, threes_at, 2) != 0);
  }
  /// All placements that may be added to a GPU with this key. O(placements).
  [[nodiscard]] constexpr mig_set open(std::uint32_t key) const noexcept {
    mig_set out = 0;
    for (unsigned p = 0; p < placements; ++p)
      if (fits(key, p)) out |= mig_set{1} << p;
    return out;
  }
  /// The key of a set of placements; empty where the set is not legal.
  [[nodiscard]] constexpr std::optional<std::uint32_t> key_of(mig_set set) const noexcept {
    std::uint32_t key = 0;
    for (mig_set rest = set; rest != 0; rest &= rest - 1) {
      const unsigned p = lowest_bit(rest);
      if (p >= placements || !fits(key, p)) return std::nullopt;
      key += weight[p];
    }
    return key;
  }
  [[nodiscard]] constexpr unsigned compute_of(unsigned p) const noexcept {
    return product->profiles[placement[p].profile].compute;
  }
  /// What a placement takes of a GPU, in compute slices: its own, and a quarter of what its memory slices would be
  /// worth beyond that. A 1g with double memory takes 1.19 of the 7 slices, a 3g (half the memory) 3.13. By compute
  /// alone, room that only memory-heavy profiles can use is worth too little, and `bench_mig` shows more refusals than
  /// first fit for mixes with many of them; by all of the memory, small instances are scattered to keep room for them.
  [[nodiscard]] constexpr double taken_by(unsigned p) const noexcept {
    const catalogue::mig_profile_row& r = product->profiles[placement[p].profile];
    const double compute = r.compute;
    if (!r.size || !product->compute || !product->units) return compute;
    const double by_memory = static_cast<double>(*r.size) * *product->compute / *product->units;
    return by_memory > compute ? compute + 0.25 * (by_memory - compute) : compute;
  }
  [[nodiscard]] constexpr const catalogue::mig_profile_row& row(unsigned profile) const noexcept {
    return product->profiles[profile];
  }
  /// The placement of that profile at that start, or nothing.
  [[nodiscard]] constexpr std::optional<unsigned> find(unsigned profile, unsigned start) const noexcept {
    for (unsigned p = 0; p < placements; ++p)
      if (placement[p].profile == profile && placement[p].start == start) return p;
    return std::nullopt;
  }
};

/// The geometry of a product whose placements are known. \pre the row has a shape, at most 32 placements and 12
/// profiles
[[nodiscard]] constexpr mig_geometry make_mig_geometry(const catalogue::mig_product_row& product,
                                                       mig_geometry_options options = {}) noexcept {
  mig_geometry g;
  g.product = &product;
  g.before_r510 = options.before_r510;
  for (const auto& q : product.profiles)
    if (q.variant == catalogue::mig_variant::all_media && product.engines) g.decoders = product.engines->decoder;
  for (const auto& q : product.profiles) {
    const unsigned profile = g.profiles++;
    if ((options.profiles >> profile & 1U) == 0 || !q.size) continue;
    const bool media = q.variant == catalogue::mig_variant::media || q.variant == catalogue::mig_variant::all_media;
    for (const auto start : q.starts) {
      std::uint32_t w = ((1U << *q.size) - 1) << start;
      if (media) w |= 1U << mig_geometry::media_at;
      if (g.decoders != 0 && q.engines) w |= std::uint32_t{q.engines->decoder} << mig_geometry::decoders_at;
      if (options.before_r510 && q.compute == 3) w |= 1U << mig_geometry::threes_at;
      if (options.before_r510 && q.compute == 4) w |= 1U << mig_geometry::fours_at;
      g.weight[g.placements] = w;
      g.placement[g.placements] = {static_cast<std::uint8_t>(profile), start, *q.size};
      g.of_profile[profile] |= mig_set{1} << g.placements++;
    }
  }
  return g;
}

/// The geometry of a product, or why it is refused: placements unknown, or of low confidence without the opt-in.
[[nodiscard]] expected<mig_geometry, input_error> checked_mig_geometry(const catalogue::mig_product_row& product,
                                                                       mig_geometry_options options = {});

/// Calls `f(set, maximal)` for every legal non-empty set of placements, each once; `maximal`: nothing more fits.
/// O(sets × placements), at most a few thousand sets.
template <class F>
constexpr void for_each_mig_layout(const mig_geometry& g, F&& f) {
  struct frame {
    mig_set set = 0;
    std::uint32_t key = 0;
    unsigned next = 0;
  };
  frame stack[16]{};  // a GPU holds at most 12 instances
  unsigned depth = 0;
  while (true) {
    frame& top = stack[depth];
    if (top.next == g.placements) {
      if (depth-- == 0) return;
      continue;
    }
    const unsigned p = top.next++;
    if (!g.fits(top.key, p)) continue;
    stack[++depth] = {top.set | mig_set{1} << p, top.key + g.weight[p], p + 1};
    f(stack[depth].set, g.open(stack[depth].key) == 0);
  }
}

/// How many layouts there are.
struct mig_layout_counts {
  unsigned legal = 0, maximal = 0;
};
[[nodiscard]] constexpr mig_layout_counts count_mig_layouts(const mig_geometry& g) {
  mig_layout_counts n;
  for_each_mig_layout(g, [&](mig_set, bool maximal) {
    ++n.legal;
    n.maximal += maximal ? 1 : 0;
  });
  return n;
}

}  // namespace berth

#if BERTH_WITH_BODIES
#include "berth/topology/impl/mig_geometry.hpp"
#endif
