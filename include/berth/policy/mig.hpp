#pragma once
/// \file
/// Simple policies for MIG requests: which GPU, and at which start. The one that looks ahead is
/// `policy/mig_most_options.hpp`.
///
/// All are work-conserving: what fits somewhere is placed. Ties end in the lowest GPU and start.

#include <compare>
#include <concepts>
#include <cstdint>
#include <optional>

#include "berth/cluster/mig_state.hpp"

namespace berth {

/// Answers a request for one instance of a profile, and is told what is asked for.
template <class P>
concept mig_policy = requires(P& p, const mig_cluster& c, unsigned profile) {
  { p.choose(c, profile) }
  noexcept->std::same_as<std::optional<mig_instance>>;
  {p.arrived(c, profile)};
};

/// What it costs to start an instance on a GPU in some state. The least `first` decides, over GPUs too; then the lower
/// GPU; then the least `second`; then the lower placement.
struct mig_start_cost {
  float first = 0;
  float second = 0;
  friend constexpr auto operator<=>(const mig_start_cost&, const mig_start_cost&) noexcept = default;
};

/// Why a request found no place.
struct mig_refusal {
  std::uint32_t open_gpus = 0;   ///< in MIG mode
  std::uint32_t fragmented = 0;  ///< of them, those with enough free compute and placement units, but no legal start
  std::uint64_t free_units = 0;  ///< in the whole cluster
};

/// Compute slices that no instance of a GPU in that state can be using. \pre the product's slices are known
[[nodiscard]] inline unsigned mig_free_compute(const mig_cluster& c, std::uint32_t gpu) noexcept {
  const auto& g = c.table().geometry();
  unsigned used = 0;
  for_each_bit(c.instances(gpu), [&](unsigned p) { used += g.compute_of(p); });
  return *g.product->compute - used;
}

/// Tells "full" from "fragmented". O(GPUs); not for the hot path.
[[nodiscard]] inline mig_refusal explain_mig_refusal(const mig_cluster& c, unsigned profile) noexcept {
  mig_refusal r;
  const auto& row = c.table().geometry().row(profile);
  for (std::uint32_t g = 0; g < c.size(); ++g) {
    if (c.mode(g) != mig_mode::on) continue;
    const unsigned units = c.table().free_units(c.state(g));
    ++r.open_gpus;
    r.free_units += units;
    if (row.size && units >= *row.size && mig_free_compute(c, g) >= row.compute &&
        c.table().open(c.state(g), profile) == 0)
      ++r.fragmented;
  }
  return r;
}

namespace detail {
/// The lowest GPU in any state in which `profile` fits. O(distinct states).
[[nodiscard]] inline std::optional<std::uint32_t> lowest_open_gpu(const mig_cluster& c, unsigned profile) noexcept {
  std::optional<std::uint32_t> best;
  c.for_each_state([&](mig_state_id s) {
    if (c.table().open(s, profile) == 0) return;
    const auto g = c.first(s);
    if (!best || g < *best) best = g;
  });
  return best;
}
[[nodiscard]] inline std::uint8_t last_bit(mig_set m) noexcept {
  return static_cast<std::uint8_t>(31U - static_cast<unsigned>(std::countl_zero(m)));
}
}  // namespace detail

/// The first GPU with room, at the lowest start: what most schedulers do. O(distinct states).
struct mig_first_fit {
  [[nodiscard]] std::optional<mig_instance> choose(const mig_cluster& c, unsigned profile) const noexcept {
    const auto g = detail::lowest_open_gpu(c, profile);
    if (!g) return std::nullopt;
    return mig_instance{*g, static_cast<std::uint8_t>(lowest_bit(c.table().open(c.state(*g), profile)))};
  }
  [[nodiscard]] mig_start_cost cost(const mig_state_table&, mig_state_id, unsigned) const noexcept { return {}; }
  void arrived(const mig_cluster&, unsigned) const noexcept {}
};

/// Where an instance starts by fixed rule: 1g and 3g as high as they can, all others as low, which keeps start 0 for
/// what can start nowhere else (4g, 7g). Source: the order of HAMi's MIG allocator.
[[nodiscard]] inline std::uint8_t preferred_mig_start(const mig_geometry& g, unsigned profile, mig_set open) noexcept {
  const unsigned compute = g.row(profile).compute;
  return compute == 1 || compute == 3 ? detail::last_bit(open) : static_cast<std::uint8_t>(lowest_bit(open));
}

namespace detail {
/// The fixed rule as a cost: where placements of one profile rise with their starts, 1g and 3g want the last.
[[nodiscard]] inline float mig_start_rank(const mig_state_table& t, unsigned placement) noexcept {
  const mig_geometry& g = t.geometry();
  const unsigned compute = g.compute_of(placement);
  const auto start = static_cast<float>(g.placement[placement].start);
  return compute == 1 || compute == 3 ? -start : start;
}
/// Placement units in use.
[[nodiscard]] inline float mig_filled(const mig_state_table& t, mig_state_id s) noexcept {
  return static_cast<float>(count_bits(mig_geometry::occupied(t.key(s))));
}
}  // namespace detail

/// The first GPU with room, at the start that the fixed rule prefers. O(distinct states).
struct mig_preferred_start {
  [[nodiscard]] std::optional<mig_instance> choose(const mig_cluster& c, unsigned profile) const noexcept {
    const auto g = detail::lowest_open_gpu(c, profile);
    if (!g) return std::nullopt;
    return mig_instance{*g, preferred_mig_start(c.table().geometry(), profile, c.table().open(c.state(*g), profile))};
  }
  [[nodiscard]] mig_start_cost cost(const mig_state_table& t, mig_state_id, unsigned placement) const noexcept {
    return {0, detail::mig_start_rank(t, placement)};
  }
  void arrived(const mig_cluster&, unsigned) const noexcept {}
};

/// What `mig_pack` and `mig_spread` compare first.
enum class mig_over : std::uint8_t { gpus, nodes };

namespace detail {
template <bool Fullest>
[[nodiscard]] std::optional<mig_instance> by_fill(const mig_cluster& c, unsigned profile, mig_over over) noexcept {
  const auto& t = c.table();
  const auto better = [](std::uint64_t a, std::uint64_t b) { return Fullest ? a > b : a < b; };
  std::optional<std::uint32_t> best;
  std::uint64_t best_fill = 0;
  const auto offer = [&](std::uint32_t gpu, std::uint64_t fill) {
    if (best && !better(fill, best_fill) && !(fill == best_fill && gpu < *best)) return;
    best = gpu;
    best_fill = fill;
  };
  const auto filled = [&](mig_state_id s) { return std::uint64_t{count_bits(mig_geometry::occupied(t.key(s)))}; };
  if (over == mig_over::gpus) {
    c.for_each_state([&](mig_state_id s) {
      if (t.open(s, profile) != 0) offer(c.first(s), filled(s));
    });
  } else {
    for (std::uint32_t g = 0; g < c.size(); ++g)
      if (c.mode(g) == mig_mode::on && t.open(c.state(g), profile) != 0)
        offer(g, std::uint64_t{c.node_used(c.node_of(g))} << 8 | filled(c.state(g)));
  }
  if (!best) return std::nullopt;
  return mig_instance{*best, preferred_mig_start(t.geometry(), profile, t.open(c.state(*best), profile))};
}
}  // namespace detail

/// The fullest GPU with room; or the fullest node, and there the fullest GPU. Over GPUs O(distinct states), over nodes
/// O(GPUs).
struct mig_pack {
  mig_over over = mig_over::gpus;
  [[nodiscard]] std::optional<mig_instance> choose(const mig_cluster& c, unsigned profile) const noexcept {
    return detail::by_fill<true>(c, profile, over);
  }
  [[nodiscard]] mig_start_cost cost(const mig_state_table& t, mig_state_id s, unsigned placement) const noexcept {
    return {-detail::mig_filled(t, s), detail::mig_start_rank(t, placement)};
  }
  void arrived(const mig_cluster&, unsigned) const noexcept {}
};

/// The emptiest GPU with room; or the emptiest node, and there the emptiest GPU. Cost as `mig_pack`.
struct mig_spread {
  static constexpr bool keeps_whole = false;  ///< a whole GPU is as good as an empty one in MIG mode
  mig_over over = mig_over::gpus;
  [[nodiscard]] std::optional<mig_instance> choose(const mig_cluster& c, unsigned profile) const noexcept {
    return detail::by_fill<false>(c, profile, over);
  }
  [[nodiscard]] mig_start_cost cost(const mig_state_table& t, mig_state_id s, unsigned placement) const noexcept {
    return {detail::mig_filled(t, s), detail::mig_start_rank(t, placement)};
  }
  void arrived(const mig_cluster&, unsigned) const noexcept {}
};

}  // namespace berth
