#pragma once
/// \file
/// Bodies of `berth/policy/mig_most_options.hpp`.

#include "berth/policy/mig_most_options.hpp"
#include "berth/topology/mig_values.hpp"

namespace berth {

BERTH_INLINE mig_most_options::mig_most_options(const mig_state_table& t, mig_most_options_settings s)
    : t_{&t}, set_{s} {
  value_.assign(states_, 0);
  memo_.resize(states_ * max_mig_profiles);
  const auto& g = t.geometry();
  unsigned offered = 0;
  for (unsigned q = 0; q < g.profiles; ++q) offered += g.of_profile[q] != 0 ? 1U : 0U;
  for (unsigned q = 0; q < g.profiles; ++q) {
    if (g.of_profile[q] != 0) seen_[q] = set_.prior / offered;
    size_[q] = std::pow(g.row(q).compute, set_.by_size) * set_.scarcity;
  }
  learn();
}

BERTH_INLINE void mig_most_options::set_mix(std::span<const double> weights) {
  learning_ = false;
  for (unsigned q = 0; q < weights.size() && q < max_mig_profiles; ++q) seen_[q] = weights[q];
  learn();
}

BERTH_INLINE double mig_most_options::cost(mig_state_id s, unsigned placement) const noexcept {
  const mig_state_id then = t_->after(s, placement);
  const auto& g = t_->geometry();
  double k = stranding_ * (value_[s] - value_[then] - g.taken_by(placement));
  if ((t_->dominated(s) >> placement & 1U) != 0) k += dominated_cost;
  for (unsigned q = 0; q < g.profiles; ++q)
    if (price_[q] != 0) k += price_[q] * static_cast<double>(t_->room(s, q) - t_->room(then, q));
  return k;
}

BERTH_INLINE mig_most_options::start mig_most_options::best_start(mig_state_id s, unsigned profile) noexcept {
  choice& k = memo_[profile * states_ + s];
  if (k.version != version_) evaluate(k, s, profile);
  return {k.cost, k.placement, s};
}

BERTH_INLINE mig_most_options::start mig_most_options::best_start(const std::uint64_t* in_use, unsigned profile,
                                                                  float cost, std::size_t from) noexcept {
  choice* const row = memo_.data() + profile * states_;
  const std::uint64_t* const open = t_->open_states(profile);
  const std::uint32_t version = version_;
  start best;
  for (std::size_t w = 0, words = t_->words(); w < words; ++w)
    for (std::uint64_t m = in_use[w] & open[w]; m != 0; m &= m - 1) {
      const std::size_t s = w * 64 + lowest_bit(m);
      choice& k = row[s];
      if (k.version != version) evaluate(k, static_cast<mig_state_id>(s), profile);
      if (best.state != no_mig_state && !(k.cost < best.cost)) continue;
      if (k.cost < cost || (k.cost == cost && s < from)) continue;
      best = {k.cost, k.placement, static_cast<mig_state_id>(s)};
    }
  return best;
}

[[gnu::noinline]] BERTH_INLINE void mig_most_options::evaluate(choice& k, mig_state_id s,
                                                               unsigned profile) const noexcept {
  bool first = true;
  for_each_bit(t_->open(s, profile), [&](unsigned p) {
    const auto x = static_cast<float>(cost(s, p));
    if (!first && x >= k.cost) return;
    k = {version_, x, static_cast<std::uint8_t>(p)};
    first = false;
  });
}

BERTH_INLINE void mig_most_options::learn() noexcept {
  const auto& g = t_->geometry();
  double all = 0;
  for (unsigned q = 0; q < g.profiles; ++q) all += g.of_profile[q] != 0 ? seen_[q] : 0;
  mean_size_ = 0;
  for (unsigned q = 0; q < g.profiles; ++q) {
    mix_[q] = all > 0 && g.of_profile[q] != 0 ? seen_[q] / all : 0;
    if (g.row(q).size) mean_size_ += mix_[q] * *g.row(q).size;
  }
  mig_state_values(*t_, mix_, value_.data());
  ++version_;
}

}  // namespace berth
