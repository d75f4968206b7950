#pragma once
/// \file
/// Bodies of `berth/policy/set_holdings.hpp`.

#include "berth/core/shell_sort.hpp"
#include "berth/policy/set_holdings.hpp"

namespace berth {

BERTH_INLINE std::int64_t whole_set::count_in(unsigned whole, std::int64_t cpu_left) const noexcept {
  const std::int64_t sets = whole / devices, asked = cpu.count();
  if (sets == 0 || cpu_left >= sets * asked) return sets;
  return cpu_left < asked ? 0 : cpu_left / asked;
}

BERTH_INLINE void set_holdings::build(std::span<const whole_set> sets, std::uint64_t models, const double* most_whole) {
  rows_.assign(std::size_t{max_device_models} * (max_shared_devices + 1), {});
  steps_.assign(1, {});
  std::uint64_t done = 0;
  for_each_bit(models, [&](unsigned m) {
    unsigned like = max_device_models;
    for_each_bit(done, [&](unsigned o) {
      bool same = most_whole[o] >= most_whole[m] && like == max_device_models;
      for (std::size_t i = 0; same && i < sets.size(); ++i)
        same = ((sets[i].models >> m ^ sets[i].models >> o) & 1U) == 0;
      if (same) like = o;
    });
    done |= bit(m);
    for (unsigned whole = 2; whole <= static_cast<unsigned>(most_whole[m]); ++whole)
      row_of(m, whole) = like != max_device_models ? row_of(like, whole) : make_row(sets, m, whole);
  });
  nodes_.assign(steps_.size(), 0);
  worth_.assign(steps_.size(), 0);
}

BERTH_INLINE set_holdings::number set_holdings::of(unsigned model, unsigned whole, std::int64_t cpu) const noexcept {
  if (whole < 2 || rows_.empty()) return none;
  const row& r = rows_[std::size_t{model} * (max_shared_devices + 1) + whole];
  number low = r.begin, n = r.steps;
  while (n != 0) {
    const number half = (n + 1) / 2;
    low = steps_[low + half].cpu <= cpu ? low + half : low;
    n -= half;
  }
  return low;
}

BERTH_INLINE void set_holdings::tell_left(std::span<whole_set> sets) const noexcept {
  for (whole_set& s : sets) s.left = 0;
  std::int64_t nodes = 0;  // that hold the set of the step
  for (std::size_t h = steps_.size(); h-- > 1;) {
    nodes += nodes_[h];
    if (steps_[h].set == row_begins) nodes = 0;
    else sets[steps_[h].set].left += nodes;
  }
}

BERTH_INLINE void set_holdings::price(std::span<const whole_set> sets) noexcept {
  for (std::size_t h = 1; h < steps_.size(); ++h)
    worth_[h] = steps_[h].set == row_begins ? 0 : worth_[h - 1] + sets[steps_[h].set].price;
}

BERTH_INLINE set_holdings::row set_holdings::make_row(std::span<const whole_set> sets, unsigned model, unsigned whole) {
  const row out{static_cast<number>(steps_.size()), 0};
  steps_.push_back({});
  for (std::uint32_t i = 0; i < sets.size(); ++i)
    if ((sets[i].models >> model & 1U) != 0)
      for (unsigned k = 1; k <= whole / sets[i].devices; ++k) steps_.push_back({k * sets[i].cpu.count(), i, 0, 0});
  const std::size_t count = steps_.size() - out.begin - 1;
  detail::shell_sort(steps_.data() + out.begin + 1, count, [](const step& a, const step& b) { return a.cpu < b.cpu; });
  for (std::size_t h = out.begin + 1; h < steps_.size(); ++h) {
    steps_[h].held = steps_[h - 1].held + 1;
    steps_[h].large = steps_[h - 1].large + (sets[steps_[h].set].is_large() ? 1U : 0U);
  }
  return {out.begin, static_cast<number>(count)};
}

}  // namespace berth
