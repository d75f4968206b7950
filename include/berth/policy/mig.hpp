#pragma once
/// \file
/// Simple policies for MIG instances: what it costs to start one on a GPU in some state. The one that looks ahead is
/// `policy/mig_most_options.hpp`.
///
/// The placer takes the GPU and start of least cost over the cluster; what fits somewhere is placed whatever the policy
/// says. Ties end in the lowest GPU and start.

#include <compare>
#include <cstdint>

#include "berth/core/separate.hpp"
#include "berth/topology/mig_states.hpp"

namespace berth {

/// What it costs to start an instance on a GPU in some state. The least `first` decides, over GPUs too; then the lower
/// GPU; then the least `second`; then the lower placement.
struct mig_start_cost {
  float first = 0;
  float second = 0;
  friend constexpr auto operator<=>(const mig_start_cost&, const mig_start_cost&) noexcept = default;
};

/// The first GPU with room, at the lowest start: what most schedulers do.
struct mig_first_fit {
  [[nodiscard]] mig_start_cost cost(const mig_state_table&, mig_state_id, unsigned) const noexcept { return {}; }
};

namespace detail {
/// Where an instance starts by fixed rule, as a cost: 1g and 3g as high as they can, all others as low, which keeps
/// start 0 for what can start nowhere else (4g, 7g). Source: the order of HAMi's MIG allocator.
[[nodiscard]] float mig_start_rank(const mig_state_table& t, unsigned placement) noexcept;
/// Placement units in use.
[[nodiscard]] inline float mig_filled(const mig_state_table& t, mig_state_id s) noexcept {
  return static_cast<float>(t.used_units(s));
}
}  // namespace detail

/// The first GPU with room, at the start that the fixed rule prefers.
struct mig_preferred_start {
  [[nodiscard]] mig_start_cost cost(const mig_state_table& t, mig_state_id, unsigned placement) const noexcept {
    return {0, detail::mig_start_rank(t, placement)};
  }
};

/// What `mig_pack` and `mig_spread` compare first.
enum class mig_over : std::uint8_t { gpus, nodes };

/// The fullest GPU with room; or the fullest node, and there the fullest GPU. Full is what has placement units in use.
struct mig_pack {
  static constexpr bool fullest_node = true;
  mig_over over = mig_over::gpus;
  [[nodiscard]] mig_start_cost cost(const mig_state_table& t, mig_state_id s, unsigned placement) const noexcept {
    return {-detail::mig_filled(t, s), detail::mig_start_rank(t, placement)};
  }
};

/// The emptiest GPU with room; or the emptiest node, and there the emptiest GPU.
struct mig_spread {
  static constexpr bool keeps_whole = false;  ///< a whole GPU is as good as an empty one in MIG mode
  static constexpr bool fullest_node = false;
  mig_over over = mig_over::gpus;
  [[nodiscard]] mig_start_cost cost(const mig_state_table& t, mig_state_id s, unsigned placement) const noexcept {
    return {detail::mig_filled(t, s), detail::mig_start_rank(t, placement)};
  }
};

}  // namespace berth

#if BERTH_WITH_BODIES
#include "berth/policy/impl/mig.hpp"
#endif
