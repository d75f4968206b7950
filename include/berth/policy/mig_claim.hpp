#pragma once
/// \file
/// Claims for several MIG profiles that must share one GPU, or must all lie on different ones.
///
/// Both are complete: where any assignment exists, one is found, whatever the order of the request. `cost(state,
/// placement)` says what to prefer: together, the least total wins; apart, it chooses the start on each GPU, and the
/// GPUs are the first that do. Profiles of another product never get here: `find_mig_profile` refuses them by name.

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

#include "berth/policy/mig.hpp"

namespace berth {

/// The most instances in one claim.
inline constexpr std::size_t max_mig_claim = 12;

/// Where each profile of a claim goes, in the order of the request.
struct mig_claim {
  std::array<mig_instance, max_mig_claim> at{};
  std::size_t count = 0;
};

namespace detail {

template <class Cost>
struct mig_together_search {
  const mig_state_table& t;
  std::span<const unsigned> want;
  Cost& cost;
  std::array<std::uint8_t, max_mig_claim> now{}, best{};
  double least = 0;
  bool found = false;

  void from(mig_state_id s, std::size_t i, double so_far) {
    if (i == want.size()) {
      if (found && so_far >= least) return;
      found = true;
      least = so_far;
      best = now;
      return;
    }
    mig_set open = t.open(s, want[i]);
    // Equal profiles in rising order only: the others are the same layout.
    for (std::size_t k = 0; k < i; ++k)
      if (want[k] == want[i]) open &= ~static_cast<mig_set>(low_bits(now[k] + 1U));
    for_each_bit(open, [&](unsigned p) {
      now[i] = static_cast<std::uint8_t>(p);
      from(t.after(s, p), i + 1, so_far + static_cast<double>(cost(s, p)));
    });
  }
};

/// Whether requests `i` and on can be spread over GPUs of distinct buckets with `left` members each.
template <class Left>
bool mig_apart(const mig_cluster& c, std::span<const unsigned> want, std::size_t i,
               std::array<mig_state_id, max_mig_claim>& at, const Left& left) {
  if (i == want.size()) return true;
  bool done = false;
  c.for_each_state([&](mig_state_id s) {
    if (done || c.table().open(s, want[i]) == 0) return;
    std::uint32_t taken = 0;
    for (std::size_t k = 0; k < i; ++k) taken += at[k] == s ? 1U : 0U;
    if (left(s) <= taken) return;
    at[i] = s;
    done = mig_apart(c, want, i + 1, at, left);
  });
  return done;
}

}  // namespace detail

/// All profiles on one GPU. Nothing where no GPU holds them, or where the claim is empty or too large.
/// O(distinct states × ways to place the claim).
template <class Cost>
[[nodiscard]] std::optional<mig_claim> mig_choose_together(const mig_cluster& c, std::span<const unsigned> profiles,
                                                           Cost&& cost) {
  if (profiles.empty() || profiles.size() > max_mig_claim) return std::nullopt;
  std::optional<mig_claim> out;
  double least = 0;
  c.for_each_state([&](mig_state_id s) {
    detail::mig_together_search<Cost> search{c.table(), profiles, cost};
    search.from(s, 0, 0.0);
    if (!search.found || (out && search.least >= least)) return;
    least = search.least;
    out.emplace();
    out->count = profiles.size();
    for (std::size_t i = 0; i < profiles.size(); ++i) out->at[i] = {c.first(s), search.best[i]};
  });
  return out;
}

/// Every profile on a GPU of its own. Nothing where no such assignment exists, or where the claim is empty or too
/// large. Exact matching of requests to buckets by backtracking: O(distinct states ^ profiles) at worst; a claim is
/// small.
template <class Cost>
[[nodiscard]] std::optional<mig_claim> mig_choose_apart(const mig_cluster& c, std::span<const unsigned> profiles,
                                                        Cost&& cost) {
  if (profiles.empty() || profiles.size() > max_mig_claim) return std::nullopt;
  std::array<mig_state_id, max_mig_claim> at{};
  if (!detail::mig_apart(c, profiles, 0, at, [&](mig_state_id s) { return c.count(s); })) return std::nullopt;
  mig_claim out;
  out.count = profiles.size();
  for (std::size_t i = 0; i < profiles.size(); ++i) {
    std::uint32_t gpu = c.first(at[i]);
    for (std::size_t k = 0; k < i; ++k)
      if (at[k] == at[i]) gpu = *c.next(at[i], out.at[k].gpu);
    double least = 0;
    bool first = true;
    for_each_bit(c.table().open(at[i], profiles[i]), [&](unsigned p) {
      const auto x = static_cast<double>(cost(at[i], p));
      if (!first && x >= least) return;
      first = false;
      least = x;
      out.at[i] = {gpu, static_cast<std::uint8_t>(p)};
    });
  }
  return out;
}

}  // namespace berth
