#pragma once
/// \file
/// Bodies of `berth/policy/future_value.hpp`.

#include "berth/core/poisson.hpp"
#include "berth/policy/future_value.hpp"

namespace berth {

BERTH_INLINE void future_value::begin(std::span<const share_node> installed) {
  for (const auto& n : installed) {
    free_total_ += n.free_total();
    free_of_model_[n.model] += n.free_total();
    if (n.devices == 0) continue;
    most_devices_[n.model] = n.devices > most_devices_[n.model] ? n.devices : most_devices_[n.model];
    models_seen_ |= bit(n.model);
    bool known = false;
    for (const auto& k : kinds_) known = known || k == n;
    if (!known) kinds_.push_back(n);
  }
  learn_every_ = installed.size() < 1024 ? 2048 : 2 * installed.size();
}

BERTH_INLINE void future_value::arrived(const share_task& t, std::span<const share_node> now,
                                        std::span<const share_node> installed) {
  const std::uint32_t c = index_.intern(t);
  if (c == count_.size()) count_.push_back(0);
  if (recent_.size() < set_.window) recent_.push_back(c);
  else {
    --count_[recent_[oldest_]];
    recent_[oldest_] = c;
    oldest_ = (oldest_ + 1) % set_.window;
  }
  ++count_[c];
  ++requests_;
  if (requests_ == learn_at_) {
    learn_at_ += learn_at_ < learn_every_ ? learn_at_ : learn_every_;
    learn(now, installed);
  } else if (requests_ % price_interval_ == 0 && is_another()) {
    set_prices();
  }
}

BERTH_INLINE void future_value::changed(const share_node& before, const share_node& after,
                                        const share_node& installed) {
  const double delta = static_cast<double>(after.free_total()) - before.free_total();
  free_total_ += delta;
  free_of_model_[installed.model] += delta;
  count_sets(before, installed, -1);
  count_sets(after, installed, 1);
}

BERTH_INLINE future_value::note future_value::look(const share_node& now, const share_node& installed) const {
  note out;
  out.code = state_code{now};
  out.whole = static_cast<std::uint8_t>(now.count_with(whole_device));
  out.sets = holdings_.of(now.model, out.whole, now.cpu.count());
  const auto state = [&] { return ranked_node{now}; };
  out.value = all_.value(out.code, now.memory.count(), state) + roominess(now);
  if (is_wanted(now.model)) out.scarce_value = only_.value(out.code, now.memory.count(), state);
  if (now.devices != 0 && first_kind_ != sets_.size() && now == installed) out.untouched = kind_of(now);
  return out;
}

BERTH_INLINE void future_value::prefetch(const packing_view& v, const note& seen, const share_task& t) const noexcept {
  const bool wanted = is_wanted(v.now.model);
  for_each_choice(v.now, t, [&](device_mask m) {
    const state_code code = seen.code.after(v.now, t, taken_from(v.now, m));
    all_.prefetch(code);
    if (wanted) only_.prefetch(code);
  });
}

BERTH_INLINE packing_score future_value::score(const packing_view& v, const note& seen, const share_task& t) const {
  const unsigned model = v.now.model;
  const bool pressed = is_pressed(model), wanted = is_wanted(model);
  const std::int64_t cpu = (v.now.cpu - t.cpu).count(), memory = (v.now.memory - t.memory).count();
  choice choices[max_shared_devices];
  choices[0] = {0, -1e300, 0, 0, 0};
  unsigned count = 0, best = 0, whole_one = max_shared_devices;
  for_each_choice(v.now, t, [&](device_mask m) {
    const std::uint16_t from = taken_from(v.now, m);
    const state_code code = seen.code.after(v.now, t, from);
    const auto state = [&] {
      ranked_node after{v.now};
      after.take(t, from);
      return after;
    };
    choice& s = choices[count];
    s.base = all_.value(code, memory, state) + t.demand() - seen.value;
    float lost_share = 0;
    price_term term;
    term.untouched = seen.untouched;
    const unsigned whole = from == whole_device ? seen.whole - t.devices : seen.whole;
    if (from == whole_device) whole_one = count;
    if (seen.sets != set_holdings::none) note_broken(term, seen, v.now, t, holdings_.of(model, whole, cpu), whole);
    if (pressed) {
      const double lost =
          wanted ? seen.scarce_value - only_.value(code, memory, state) : static_cast<double>(t.demand());
      // First come, first served may do better with less. That is luck and nothing to pay for.
      lost_share = lost > 0 ? static_cast<float>(lost) : 0;
      term.pressed = static_cast<std::uint8_t>(model);
    }
    s.amount = lost_share;
    s.charge = terms_.number_of(
        term, [&] { return drift_of(term); }, [&] { return charge_of(term); });
    s.devices = m;
    s.value = charged(s.base, terms_.charges()[s.charge], s.amount);
    if (s.value > choices[best].value) best = count;
    ++count;
  });
  const choice& b = choices[best];
  packing_score out{b.value, b.devices};
  out.base = b.base;
  out.amount = b.amount;
  out.charge = b.charge;
  for (unsigned i = 0; i < count; ++i) {
    const choice& s = choices[i];
    const std::uint8_t drift = terms_[s.charge].drift;
    out.drift = drift > out.drift ? drift : out.drift;
    if (i == best) continue;
    // Another one stays behind if it asks for no less, whatever the prices: a GPU that is wholly free for no fewer
    // sets.
    const bool asks_less = s.amount < b.amount || (s.charge != b.charge && i != whole_one);
    if (asks_less || s.base > b.base || (s.base == b.base && i < best)) out.follows_charge = false;
  }
  return out;
}

BERTH_INLINE double future_value::roominess(const share_node& n) noexcept {
  const std::int64_t cores = n.cpu.count() / 1000 < whole_device ? n.cpu.count() / 1000 : whole_device;
  return static_cast<double>(n.free_total() + cores) / (std::int64_t{1} << 18);
}

BERTH_INLINE void future_value::note_broken(price_term& out, const note& seen, const share_node& now,
                                            const share_task& t, set_holdings::number after,
                                            unsigned whole) const noexcept {
  const std::uint32_t broken = holdings_.sets_in(seen.sets) - holdings_.sets_in(after);
  if (broken == 0) return;
  if (t.devices >= 2)
    for (std::uint32_t i = 0; i < first_kind_; ++i)
      if (sets_[i].is(t)) {
        const std::int64_t own =
            sets_[i].count_in(seen.whole, now.cpu.count()) - sets_[i].count_in(whole, (now.cpu - t.cpu).count());
        if (own == broken) return;
        if (own != 0) out.own = i, out.own_broken = static_cast<std::uint32_t>(own);
        break;
      }
  out.before = seen.sets;
  out.after = after;
}

BERTH_INLINE std::uint8_t future_value::drift_of(const price_term& t) const noexcept {
  if (t.pressed != price_term::no_model) return under_pressure;
  if (t.untouched >= 0) return breaks_large;
  const std::uint32_t own_large = t.own != price_term::no_set && sets_[t.own].is_large() ? t.own_broken : 0;
  const std::uint32_t large = holdings_.large_sets_in(t.before) - holdings_.large_sets_in(t.after) - own_large;
  return large != 0 ? breaks_large : breaks_small;
}

BERTH_INLINE packing_charge future_value::charge_of(const price_term& t) const noexcept {
  packing_charge out;
  if (t.before != t.after) out.fixed = holdings_.worth(t.before) - holdings_.worth(t.after);
  if (t.own != price_term::no_set) out.fixed -= t.own_broken * sets_[t.own].price;
  if (t.untouched >= 0) out.fixed += sets_[first_kind_ + static_cast<std::size_t>(t.untouched)].price;
  if (t.pressed != price_term::no_model) out.rate = rounded(set_.scarcity * scarce_[t.pressed]);
  return out;
}

BERTH_INLINE std::int16_t future_value::kind_of(const share_node& n) const noexcept {
  for (std::size_t k = 0; k < kinds_.size(); ++k)
    if (kinds_[k] == n) return static_cast<std::int16_t>(k);
  return -1;
}

BERTH_INLINE void future_value::count_sets(const share_node& n, const share_node& installed,
                                           std::int64_t times) noexcept {
  const unsigned whole = n.count_with(whole_device);
  if (whole == 0) return;
  holdings_.count(holdings_.of(n.model, whole, n.cpu.count()), times);
  if (!(n == installed) || first_kind_ == sets_.size()) return;
  if (const auto k = kind_of(n); k >= 0) sets_[first_kind_ + static_cast<std::size_t>(k)].left += times;
}

BERTH_INLINE void future_value::draw() {
  all_.begin(set_.samples);
  draw(all_, models_seen_, [](const share_task&) { return true; });
  only_.begin(set_.samples);
  for_each_bit(models_seen_, [&](unsigned m) {
    draw(only_, bit(m), [m](const share_task& t) { return !t.any_model() && (t.models >> m & 1U) != 0; });
  });
}

BERTH_INLINE bool future_value::is_outdated() const noexcept {
  const auto seen = static_cast<double>(recent_.size());
  if (drawn_.empty() || seen >= 2 * drawn_from_) return true;
  double moved = 0, chance = 0;
  for (std::uint32_t c = 0; c < count_.size(); ++c) {
    const double now = count_[c] / seen, then = c < drawn_.size() ? drawn_[c] : 0.0;
    moved += std::fabs(now - then) / 2;
    // Half the mean distance of two normal estimates of one part.
    const double part = (now + then) / 2;
    chance += std::sqrt(part * (1 - part) * (1 / seen + 1 / drawn_from_) / 6.2832);
  }
  return moved > set_.redraw_at + chance;
}

BERTH_INLINE void future_value::learn(std::span<const share_node> now, std::span<const share_node> installed) {
  const auto seen = static_cast<double>(recent_.size());
  const std::uint64_t version = version_;
  // New sequences make every kept value void, so they are drawn only when the demand has changed.
  if (is_outdated()) {
    draw();
    drawn_.clear();
    for (const auto n : count_) drawn_.push_back(n / seen);
    drawn_from_ = seen;
    pressed_ = 0;
    for_each_bit(models_seen_, [&](unsigned m) { pressed_ |= scarce_[m] > 0 ? bit(m) : 0; });
    ++version_;
  }
  std::vector<whole_set> asked;
  for (std::uint32_t c = 0; c < count_.size(); ++c) {
    const share_task& t = index_[c];
    if (count_[c] == 0 || t.devices < 2) continue;
    std::size_t i = 0;
    while (i < asked.size() && !asked[i].is(t)) ++i;
    if (i == asked.size()) asked.push_back({t.devices, -1, t.cpu, t.models, 0, 0, 0});
    asked[i].per_request += count_[c] / seen;
  }
  const double imagined = set_.whole_node_prior / (seen + set_.whole_node_prior);
  const std::size_t kinds_begin = asked.size();
  for (std::size_t k = 0; k < kinds_.size(); ++k)
    asked.push_back({kinds_[k].devices, static_cast<std::int16_t>(k), kinds_[k].cpu, bit(kinds_[k].model),
                     imagined / static_cast<double>(kinds_.size()), 0, 0});
  // Sets that nobody asks for any more stay, for nothing. Scores know nothing of a new one, so they are void.
  for (auto& s : sets_) s.per_request = 0, s.price = 0;
  std::size_t known = 0;
  for (const auto& a : asked)
    for (auto& s : sets_)
      if (s.is_same(a)) s.per_request = a.per_request, ++known;
  if (known != asked.size() && version_ == version) ++version_;
  if (version_ != version) {
    sets_ = static_cast<std::vector<whole_set>&&>(asked);
    first_kind_ = kinds_begin;
    holdings_.build({sets_.data(), first_kind_}, models_seen_, most_devices_);
    terms_.forget();
    for (std::size_t n = 0; n < now.size(); ++n) count_sets(now[n], installed[n], 1);
  }
  // A look at the prices is rarer in large clusters, where they move slower, and where it costs more.
  price_interval_ = std::uint64_t{set_.price_every} * (installed.size() / 1024 + 1) * (sets_.size() / 256 + 1);
  mean_demand_ = 0;
  for (std::uint32_t c = 0; c < count_.size(); ++c) mean_demand_ += count_[c] / seen * index_[c].demand();
  set_prices();
}

BERTH_INLINE bool future_value::is_another() const noexcept {
  const double moved = std::fabs(free_total_ - free_then_);
  return moved >= 0.5 * mean_demand_ * static_cast<double>(price_interval_) ||
         requests_ - looked_at_ >= 64 * price_interval_;
}

BERTH_INLINE void future_value::charge_anew() {
  holdings_.price({sets_.data(), first_kind_});
  double most[packing_drifts]{};
  bool moved[packing_drifts]{};
  for (std::size_t i = 1; i < terms_.size(); ++i) {
    const auto& [term, drift] = terms_[i];
    const packing_charge now = charge_of(term), old = terms_.charge(i);
    if (now.fixed == old.fixed && now.rate == old.rate) continue;
    moved[drift] = true;
    double fall = old.fixed - now.fixed;
    // No node loses more than all its GPUs.
    if (old.rate > now.rate) fall += (old.rate - now.rate) * whole_device * most_devices_[term.pressed];
    most[drift] = fall > most[drift] ? fall : most[drift];
    terms_.charge(i) = now;
  }
  for (unsigned d = breaks_small; d < packing_drifts; ++d) {
    most[d] = most[d - 1] > most[d] ? most[d - 1] : most[d];
    moved[d] = moved[d] || moved[d - 1];
    drift_[d] += std::ceil(most[d] * 1024) / 1024;  // as coarse as prices are
    if (moved[d]) ++moves_[d];
  }
}

BERTH_INLINE void future_value::set_prices() {
  looked_at_ = requests_;
  free_then_ = free_total_;
  if (terms_.size() > most_terms) terms_.forget(), ++version_;
  holdings_.tell_left({sets_.data(), first_kind_});
  const double to_come = mean_demand_ > 0 ? free_total_ / mean_demand_ : 0;  // requests until the cluster is full
  // Rates that were learned from few requests may be wrong by much: the tail has to know it.
  const double spread = 1 + to_come / (static_cast<double>(recent_.size()) + set_.whole_node_prior);
  // Sets of as many GPUs of the same models are needed alike, whatever their CPU.
  struct need {
    unsigned devices;
    std::uint64_t models;
    double per_request, sets;
  };
  std::vector<need> needs;
  std::vector<std::size_t> need_of;
  for (const auto& s : sets_) {
    std::size_t i = 0;
    while (i < needs.size() && (needs[i].devices != s.devices || needs[i].models != s.models)) ++i;
    if (i == needs.size()) needs.push_back({s.devices, s.models, 0, 0});
    needs[i].per_request += s.per_request;
    need_of.push_back(i);
  }
  for (auto& n : needs)
    for (const auto& q : needs)
      if (q.devices >= n.devices && (q.models & n.models) != 0)
        n.sets += q.per_request * to_come * (q.devices / n.devices) * part_on(q.models, n.models);
  for (std::size_t i = 0; i < sets_.size(); ++i) {
    whole_set& s = sets_[i];
    if (s.kind < 0 && s.per_request == 0) continue;
    s.price = rounded(negative_binomial_at_least(needs[need_of[i]].sets, spread, s.left) * s.devices * whole_device);
  }

  struct demand {
    std::uint64_t models;
    double amount;
    double on[max_device_models];
  };
  std::vector<demand> demands;
  const auto add = [&](std::uint64_t models, double amount) {
    for (auto& d : demands)
      if (d.models == models) {
        d.amount += amount;
        return;
      }
    demands.push_back({models, amount, {}});
  };
  const auto seen = static_cast<double>(recent_.size());
  for (std::uint32_t c = 0; c < count_.size(); ++c)
    if (count_[c] != 0 && !index_[c].any_model() && (index_[c].models & models_seen_) != 0)
      add(index_[c].models & models_seen_, count_[c] / seen * to_come * index_[c].demand());
  const double imagined = set_.model_prior / (seen + set_.model_prior * count_bits(models_seen_));
  for_each_bit(models_seen_, [&](unsigned m) { add(bit(m), imagined * to_come * mean_demand_); });

  // Water filling, one set of models at a time, until it settles.
  double load[max_device_models]{};
  for (unsigned round = 0; round < 20; ++round)
    for (auto& d : demands) {
      for_each_bit(d.models, [&](unsigned m) { load[m] -= d.on[m]; });
      double low = 0, high = 0;
      for_each_bit(d.models, [&](unsigned m) {
        const double top = (load[m] + d.amount) / (free_of_model_[m] + 1);
        high = top > high ? top : high;
      });
      for (unsigned step = 0; step < 40; ++step) {
        const double level = (low + high) / 2;
        double held = 0;
        for_each_bit(d.models, [&](unsigned m) {
          const double x = level * (free_of_model_[m] + 1) - load[m];
          held += x > 0 ? x : 0;
        });
        (held > d.amount ? high : low) = level;
      }
      for_each_bit(d.models, [&](unsigned m) {
        const double x = low * (free_of_model_[m] + 1) - load[m];
        d.on[m] = x > 0 ? x : 0;
        load[m] += d.on[m];
      });
    }
  for_each_bit(models_seen_, [&](unsigned m) {
    const double pressure = load[m] / (free_of_model_[m] + 1);
    const double price = rounded(pressure * pressure < 2 ? pressure * pressure : 2.0);
    if (price > 0 && !is_pressed(m)) pressed_ |= bit(m), ++version_;  // what nothing pressed on did not drift
    scarce_[m] = price;
  });
  charge_anew();
}

BERTH_INLINE double future_value::part_on(std::uint64_t q, std::uint64_t r) const noexcept {
  double all = 0, some = 0;
  for_each_bit(q & models_seen_, [&](unsigned m) {
    all += free_of_model_[m] + 1;
    some += (r >> m & 1U) != 0 ? free_of_model_[m] + 1 : 0;
  });
  return all > 0 ? some / all : 0;
}

BERTH_INLINE future_value::future_value(future_value_settings s) : set_{s} {
  assert(s.samples != 0 && s.draws != 0 && s.window != 0 && s.price_every != 0);
}

}  // namespace berth
