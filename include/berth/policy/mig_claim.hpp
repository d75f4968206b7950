#pragma once
/// \file
/// Claims for several MIG instances that must all lie on different GPUs, of any profiles, anywhere in the cluster.
/// Instances that must share one GPU are one `mig_request`; one profile several times on different GPUs of a node is
/// `part_need::mig(request, count, apart)`: the placer serves both.
///
/// Complete: where any assignment exists, one is found, whatever the order of the request. `cost(state, placement)`
/// says which start to prefer on each GPU; the GPUs are the first that do. Profiles of another product never get here:
/// `find_mig_profile` refuses them by name.

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

#include "berth/cluster/mig_view.hpp"

namespace berth {

/// The most instances in one claim.
inline constexpr std::size_t max_mig_claim = 12;

/// Where each profile of a claim goes, in the order of the request.
struct mig_claim {
  std::array<mig_instance, max_mig_claim> at{};
  std::size_t count = 0;
};

namespace detail {

/// Whether requests `i` and on can be spread over GPUs of distinct buckets with `left(state)` members each.
template <class Left>
bool mig_apart(const mig_view& v, std::span<const unsigned> want, std::size_t i,
               std::array<mig_state_id, max_mig_claim>& at, const Left& left) {
  if (i == want.size()) return true;
  bool done = false;
  v.for_each_state([&](mig_state_id s) {
    if (done || v.table().open(s, want[i]) == 0) return;
    std::uint32_t taken = 0;
    for (std::size_t k = 0; k < i; ++k) taken += at[k] == s ? 1U : 0U;
    if (left(s) <= taken) return;
    at[i] = s;
    done = mig_apart(v, want, i + 1, at, left);
  });
  return done;
}

}  // namespace detail

/// Every profile on a GPU of its own, among those in MIG mode. Nothing where no such assignment exists, or where the
/// claim is empty or too large. Exact matching of requests to buckets by backtracking: O(distinct states ^ profiles) at
/// worst; a claim is small.
template <class Cost>
[[nodiscard]] std::optional<mig_claim> mig_choose_apart(const mig_view& v, std::span<const unsigned> profiles,
                                                        Cost&& cost) {
  if (profiles.empty() || profiles.size() > max_mig_claim) return std::nullopt;
  std::array<mig_state_id, max_mig_claim> at{};
  const auto members = [&](mig_state_id s) {
    std::uint32_t n = 0;
    for (auto g = v.next(s); g && n < profiles.size(); g = v.next(s, g)) ++n;
    return n;
  };
  if (!detail::mig_apart(v, profiles, 0, at, members)) return std::nullopt;
  mig_claim out;
  out.count = profiles.size();
  for (std::size_t i = 0; i < profiles.size(); ++i) {
    std::optional<mig_gpu> gpu = v.next(at[i]);
    for (std::size_t k = 0; k < i; ++k)
      if (at[k] == at[i]) gpu = v.next(at[i], out.at[k].gpu);
    double least = 0;
    bool first = true;
    for_each_bit(v.table().open(at[i], profiles[i]), [&](unsigned p) {
      const auto x = static_cast<double>(cost(at[i], p));
      if (!first && x >= least) return;
      first = false;
      least = x;
      out.at[i] = {*gpu, static_cast<std::uint8_t>(p)};
    });
  }
  return out;
}

}  // namespace berth
