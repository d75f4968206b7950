#pragma once
/// \file
/// Bodies of `berth/solver/mig_packer.hpp`.

#include <cmath>
#include <string>

#include "berth/solver/mig_packer.hpp"

namespace berth {

BERTH_INLINE double mig_compute_bound::of(const mig_demand& demand, std::uint32_t gpus) const noexcept {
  double b = per_gpu * gpus;
  for (std::size_t q = 0; q < demand.size(); ++q) b += per_instance[q] * demand[q];
  return b;
}

BERTH_INLINE mig_packer::mig_packer(const mig_geometry& g) : g_{g} {
  std::vector<pattern> all;
  std::set<std::array<std::uint8_t, max_mig_profiles>> seen;
  for_each_mig_layout(g_, [&](mig_set set, bool full) {
    pattern p{{}, set};
    for_each_bit(set, [&](unsigned i) { ++p.holds[g_.placement[i].profile]; });
    if (full && seen.insert(p.holds).second) all.push_back(p);
  });
  for (const auto& p : all) {
    bool contained = false;
    for (const auto& q : all) contained |= &p != &q && covers(q, p);
    if (!contained) patterns_.push_back(p);
  }
}

BERTH_INLINE expected<mig_packing, input_error> mig_packer::pack(const mig_demand& demand, std::uint64_t nodes) const {
  std::uint64_t total = 0;
  for (unsigned q = 0; q < max_mig_profiles; ++q) {
    total += demand[q];
    if (demand[q] == 0 || (q < g_.profiles && g_.of_profile[q] != 0)) continue;
    return unexpected{input_error{"MIG demand", 0,
                                  q < g_.profiles ? std::string{g_.row(q).name} + ", which the site does not offer"
                                                  : std::string{"a profile that the product does not have"},
                                  "profiles of " + std::string{g_.product->id}}};
  }
  if (total > 1'000'000)
    return unexpected{input_error{"MIG demand", 0, std::to_string(total) + " instances", "at most 1000000"}};
  mig_packing out;
  if (total == 0) return out;
  // The dual: weights y, most weight of the demand, no pattern above 1.
  small_lp lp{max_mig_profiles, {demand.begin(), demand.end()}, {}, std::vector<double>(patterns_.size(), 1)};
  for (const pattern& p : patterns_) lp.rows.emplace_back(p.holds.begin(), p.holds.end());
  const small_lp::solution best = solved(lp);
  out.lower_bound = static_cast<std::uint32_t>(std::ceil(best.value - 1e-6));
  weights y{};
  for (unsigned q = 0; q < max_mig_profiles; ++q) y[q] = best.x[q];

  mig_demand rest = demand;
  std::vector<std::uint32_t> base(patterns_.size(), 0);
  for (std::size_t k = 0; k < patterns_.size(); ++k) {
    const double n = best.price[k];
    base[k] = n > 0 ? static_cast<std::uint32_t>(std::floor(n + 1e-6)) : 0;
    for (unsigned q = 0; q < max_mig_profiles; ++q) {
      const std::uint32_t held = base[k] * patterns_[k].holds[q];
      rest[q] = rest[q] > held ? rest[q] - held : 0;
    }
  }
  std::uint32_t whole = 0;
  for (const auto n : base) whole += n;
  const std::uint32_t least = out.lower_bound > whole ? out.lower_bound - whole : 0;
  auto found = fewest(rest, y, least, nodes);
  while (whole + found.size() > out.lower_bound) {
    search s{y, {}, nodes, {}};
    if (reach(s, demand, out.lower_bound)) {
      found = s.taken;
      base.assign(patterns_.size(), 0);
      whole = 0;
      break;
    }
    if (s.left == 0) break;  // out of steps: the bound stays
    ++out.lower_bound;       // all was tried
  }
  for (const auto k : found) ++base[k];
  out.gpus = whole + static_cast<std::uint32_t>(found.size());
  write_layouts(out, base, demand);
  return out;
}

BERTH_INLINE mig_compute_bound mig_packer::compute_bound(const mig_demand& demand, std::uint32_t gpus) const {
  const std::size_t n = max_mig_profiles, m = patterns_.size();
  small_lp lp{n + m, std::vector<double>(n + m, 0), {}, std::vector<double>(2 * n + 1, 0)};
  lp.rows.assign(2 * n + 1, std::vector<double>(n + m, 0));
  for (unsigned q = 0; q < n; ++q) {
    lp.rows[q][q] = 1;
    lp.limits[q] = demand[q];
    lp.rows[n + q][q] = 1;
    for (std::size_t k = 0; k < m; ++k) lp.rows[n + q][n + k] = -static_cast<double>(patterns_[k].holds[q]);
    if (q < g_.profiles) lp.gain[q] = g_.row(q).compute;
  }
  for (std::size_t k = 0; k < m; ++k) lp.rows[2 * n][n + k] = 1;
  lp.limits[2 * n] = gpus;
  const small_lp::solution best = solved(lp);
  // Prices of instances out of the dual; what they leave of each profile's slices, and the most that a GPU can hold
  // of them, make a dual solution whatever the arithmetic lost.
  mig_compute_bound out;
  std::array<double, max_mig_profiles> price{};
  for (unsigned q = 0; q < n; ++q) {
    price[q] = best.price[n + q];
    if (!(price[q] > 0)) price[q] = 0;
    const double left = q < g_.profiles ? g_.row(q).compute - price[q] : 0;
    out.per_instance[q] = left > 0 ? left : 0;
  }
  for (const pattern& p : patterns_) {
    double held = 0;
    for (unsigned q = 0; q < n; ++q) held += price[q] * p.holds[q];
    out.per_gpu = held > out.per_gpu ? held : out.per_gpu;
  }
  return out;
}

BERTH_INLINE small_lp::solution mig_packer::solved(const small_lp& p) {
  if (auto best = p.maximise()) return *std::move(best);
  return {0, std::vector<double>(p.columns, 0), std::vector<double>(p.rows.size(), 0), 0, {}};
}

BERTH_INLINE bool mig_packer::covers(const pattern& a, const pattern& b) noexcept {
  for (unsigned q = 0; q < max_mig_profiles; ++q)
    if (a.holds[q] < b.holds[q]) return false;
  return true;
}

BERTH_INLINE std::uint32_t mig_packer::bound(const mig_demand& d, const weights& y) noexcept {
  double w = 0;
  for (unsigned q = 0; q < max_mig_profiles; ++q) w += d[q] * y[q];
  return static_cast<std::uint32_t>(std::ceil(w - 1e-6));
}

BERTH_INLINE mig_demand mig_packer::without(mig_demand d, std::size_t k) const noexcept {
  for (unsigned q = 0; q < max_mig_profiles; ++q) d[q] -= patterns_[k].holds[q] < d[q] ? patterns_[k].holds[q] : d[q];
  return d;
}

BERTH_INLINE std::optional<unsigned> mig_packer::hardest(const mig_demand& d) const noexcept {
  std::optional<unsigned> out;
  for (unsigned q = 0; q < g_.profiles; ++q)
    if (d[q] != 0 && (!out || *g_.row(q).size > *g_.row(*out).size)) out = q;
  return out;
}

BERTH_INLINE bool mig_packer::reach(search& s, const mig_demand& d, std::uint32_t gpus) const {
  const auto q = hardest(d);
  if (!q) return true;
  if (gpus == 0 || bound(d, s.y) > gpus || gpus > 4000 || s.left == 0) {
    if (gpus > 4000) s.left = 0;  // too deep to be searched; nothing is proven
    return false;
  }
  if (s.failed.count({gpus, d}) != 0) return false;
  --s.left;
  // Patterns that take the most weight first; those that differ only in what is not wanted are one.
  std::vector<std::pair<double, std::size_t>> order;
  std::set<mig_demand> tried;
  for (std::size_t k = 0; k < patterns_.size(); ++k) {
    if (patterns_[k].holds[*q] == 0) continue;
    const mig_demand rest = without(d, k);
    if (!tried.insert(rest).second) continue;
    double w = 0;
    for (unsigned r = 0; r < max_mig_profiles; ++r) w += (d[r] - rest[r]) * s.y[r];
    std::size_t at = order.size();
    order.push_back({w, k});
    for (; at > 0 && order[at - 1].first < w; --at) order[at] = order[at - 1];
    order[at] = {w, k};
  }
  for (const auto& o : order) {
    s.taken.push_back(o.second);
    if (reach(s, without(d, o.second), gpus - 1)) return true;
    s.taken.pop_back();
    if (s.left == 0) return false;
  }
  s.failed.insert({gpus, d});
  return false;
}

BERTH_INLINE std::vector<std::size_t> mig_packer::fewest(const mig_demand& d, const weights& y, std::uint32_t least,
                                                         std::uint64_t nodes) const {
  const std::uint32_t own = bound(d, y);
  for (std::uint32_t n = own > least ? own : least;; ++n) {
    search s{y, {}, nodes, {}};
    if (reach(s, d, n)) return s.taken;
    if (s.left != 0) continue;
    // Out of steps: the heaviest pattern again and again.
    std::vector<std::size_t> taken;
    for (mig_demand rest = d; hardest(rest);) {
      std::size_t best = 0;
      double most = -1;
      const unsigned q = *hardest(rest);
      for (std::size_t k = 0; k < patterns_.size(); ++k) {
        if (patterns_[k].holds[q] == 0) continue;
        const mig_demand then = without(rest, k);
        double w = 0;
        for (unsigned r = 0; r < max_mig_profiles; ++r) w += (rest[r] - then[r]) * (y[r] + 1e-6);
        if (w > most) most = w, best = k;
      }
      taken.push_back(best);
      rest = without(rest, best);
    }
    return taken;
  }
}

BERTH_INLINE void mig_packer::write_layouts(mig_packing& out, const std::vector<std::uint32_t>& base,
                                            mig_demand left) const {
  for (std::size_t k = 0; k < base.size(); ++k)
    for (std::uint32_t n = 0; n < base[k]; ++n) {
      mig_set use = 0;
      for_each_bit(patterns_[k].layout, [&](unsigned p) {
        auto& d = left[g_.placement[p].profile];
        if (d == 0) return;
        --d;
        use |= mig_set{1} << p;
      });
      if (!out.layouts.empty() && out.layouts.back().instances == use) ++out.layouts.back().copies;
      else out.layouts.push_back({use, 1});
    }
}

}  // namespace berth
