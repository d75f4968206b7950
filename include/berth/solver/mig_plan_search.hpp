#pragma once
/// \file
/// The search behind `mig_planner`: one choice for every GPU, so that all together cover the need at the least cost.
///
/// A multiple-choice covering program. A greedy cover, improved by exchanges, comes first. Prices of profiles from
/// subgradient steps on the Lagrangian dual (Held and Karp 1971; Fisher 1981) give a lower bound, starts for further
/// covers, and rule out choices that no better plan can contain. The rest is a dynamic program over the GPUs, whose
/// states are what is still needed; states that cannot beat the best plan known are dropped, and where more are left
/// than the budget allows, the least promising, whose bound then limits what is claimed.

#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "berth/core/separate.hpp"
#include "berth/solver/mig_plan.hpp"
#include "berth/solver/mig_plan_options.hpp"

namespace berth::detail {

struct mig_plan_search {
  static constexpr unsigned kinds_of_need = max_mig_profiles + 1;
  using need = std::array<std::int64_t, kinds_of_need>;

  mig_plan_search(const mig_geometry& g, const mig_plan_costs& c, const std::vector<mig_gpu_now>& now,
                  const mig_plan_request& r, std::size_t steps);

  const mig_geometry& geometry;
  const mig_plan_costs& costs;
  const std::vector<mig_gpu_now>& gpus;
  const mig_plan_request& request;
  std::size_t budget;
  mig_option_maker maker;

  std::vector<std::vector<mig_gpu_option>> kinds;  ///< per kind of GPU: its choices, doing nothing first
  std::vector<std::uint32_t> kind_of;              ///< per GPU
  std::vector<std::int64_t> members;               ///< GPUs per kind
  need wanted{};                                   ///< still missing if nothing is done; may be negative: a surplus
  need weight{};                                   ///< what one that is left out costs
  std::vector<std::uint16_t> best;                 ///< per GPU: the choice of the best plan known
  std::int64_t upper = 0, lower = 0;
  std::int64_t grain = 0;    ///< divides the cost of every plan, so that bounds are rounded up to it
  std::size_t work = 0;      ///< choices that `improve` may yet look at
  std::int64_t reached = 0;  ///< the bound that `price` gives
  need price{};

  [[nodiscard]] std::int64_t missing(const need& left) const noexcept;
  static void subtract(need& left, const mig_net& n) noexcept {
    for (unsigned q = 0; q < kinds_of_need; ++q) left[q] -= n[q];
  }
  [[nodiscard]] std::int64_t reduced(const mig_gpu_option& o) const noexcept;

  /// What is missing, the choices of every kind of GPU, and what leaving out costs. False: numbers too large.
  bool prepare();
  [[nodiscard]] static std::vector<std::int64_t> described(const mig_gpu_now& n);

  /// A plan from the choices given: serves what is missing by the changes that serve most for their cost, then
  /// changes one GPU, or undoes one and changes another, as long as that is cheaper. Keeps it where it beats the best
  /// known.
  void improve(std::vector<std::uint16_t> choice);
  void cover();

  /// What every GPU would do at those prices.
  [[nodiscard]] std::vector<std::uint16_t> priced(const need& at);
  /// Prices that give the best lower bound found.
  void set_prices();

  struct state {
    std::int64_t cost = 0;
    std::uint32_t parent = 0;
    std::uint16_t choice = 0;
  };
  struct candidate {
    std::int64_t bound = 0;
    need left{};
    state how;
  };

  /// The dynamic program over the GPUs.
  void walk();
  /// No completion of such a state costs less.
  [[nodiscard]] std::int64_t bound(std::int64_t cost, const need& left, std::int64_t rest) const noexcept;

  [[nodiscard]] mig_plan result() const;
  void write(mig_plan& out, std::uint32_t gpu, const mig_gpu_option& o) const;
};

}  // namespace berth::detail

#if BERTH_WITH_BODIES
#include "berth/solver/impl/mig_plan_search.hpp"
#endif
