#pragma once
/// \file
/// Bodies of `berth/cluster/mig_requests.hpp`.

#include "berth/cluster/mig_requests.hpp"
#include "berth/core/bits.hpp"
#include "berth/topology/mig_values.hpp"

namespace berth::detail {

BERTH_INLINE void mig_requests::begin(const part_catalogue& c) {
  products_ = {c.products.data(), c.products.size()};
  std::size_t states = 0;
  for (const mig_state_table& t : products_) {
    at_.append(static_cast<std::uint32_t>(states));
    states += t.size();
  }
  value_.resize(states);
  for (std::size_t p = 0; p < products_.size(); ++p)
    make_values(p, p < c.mix.size() && c.mix[p].size() == products_[p].geometry().profiles ? c.mix[p].data() : nullptr);
}

BERTH_INLINE mig_request_id mig_requests::find_or_add(const mig_request& r) {
  for (std::size_t i = 0; i < known_.size(); ++i)
    if (known_[i].what.products == r.products) return mig_request_id{static_cast<std::uint16_t>(i)};
  if (known_.size() >= 65'534 || r.products.size() != products_.size()) return {};
  entry e;
  e.what = r;
  e.room.resize(states());
  e.rank.resize(states());
  for (std::size_t p = 0; p < r.products.size(); ++p) {
    const mig_request::on_product& want = r.products[p];
    if (want.count > max_task_instances) return {};
    for (unsigned i = 0; i < want.count; ++i)
      if (want.profiles[i] >= products_[p].geometry().profiles) return {};
    for (const mig_state_id s : products_[p].fullest_first()) {
      if (want.count == 0) break;
      const way w = best_from(p, want, 0, s, e.room, 0);
      e.room[at_[p] + s] = static_cast<std::uint8_t>(w.times);
      const double loss = static_cast<double>(value_[at_[p] + s]) - w.worth;
      const double rank = w.times == 0 || loss < 0 ? 0 : loss / rank_step;
      e.rank[at_[p] + s] = static_cast<std::uint8_t>(rank < part_ranks - 1 ? rank : part_ranks - 1);
    }
  }
  known_.append(e);
  return mig_request_id{static_cast<std::uint16_t>(known_.size() - 1)};
}

BERTH_INLINE void mig_requests::make_values(std::size_t p, const double* given) {
  const mig_state_table& t = products_[p];
  const mig_geometry& g = t.geometry();
  double mix[max_mig_profiles] = {}, all = 0;
  for (unsigned q = 0; q < g.profiles; ++q) {
    const bool plain = g.row(q).variant == catalogue::mig_variant::plain && g.of_profile[q] != 0;
    mix[q] = given != nullptr ? given[q] : plain ? 1 : 0;
    all += mix[q];
  }
  flat_array<double> value(t.size());
  mig_state_values(t, mix, value.data());
  for (std::size_t s = 0; s < t.size(); ++s) {
    double v = value[s];
    for (unsigned q = 0; q < g.profiles && all > 0; ++q)
      v += place_worth * (mix[q] / all) * g.row(q).compute * t.room(static_cast<mig_state_id>(s), q);
    value_[at_[p] + s] = static_cast<float>(v);
  }
}

BERTH_INLINE mig_requests::way mig_requests::best_from(std::size_t p, const mig_request::on_product& want, unsigned i,
                                                       mig_state_id s, const flat_array<std::uint8_t>& room,
                                                       unsigned last) const {
  if (i == want.count) return {1U + room[at_[p] + s], static_cast<double>(value_[at_[p] + s])};
  const mig_state_table& t = products_[p];
  mig_set open = t.open(s, want.profiles[i]);
  // Equal profiles in rising order only: the others are the same layout.
  if (i != 0 && want.profiles[i] == want.profiles[i - 1]) open &= ~static_cast<mig_set>(low_bits(last + 1));
  way best;
  for_each_bit(open, [&](unsigned at) {
    way w = best_from(p, want, i + 1, t.after(s, at), room, at);
    if (w.times == 0) return;
    w.worth += t.geometry().compute_of(at);
    if (best.times == 0 || w.worth > best.worth) best.worth = w.worth;
    if (w.times > best.times) best.times = w.times;
  });
  return best;
}

}  // namespace berth::detail
