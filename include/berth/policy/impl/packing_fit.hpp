#pragma once
/// \file
/// Bodies of `berth/policy/packing_fit.hpp`.

#include "berth/policy/packing_fit.hpp"

namespace berth::detail {

BERTH_INLINE used_parts used_after(const packing_view& v, const share_task& t) noexcept {
  const auto gpus = static_cast<std::int64_t>(v.installed.free_total());
  return {1 - fraction((v.now.cpu - t.cpu).count(), v.installed.cpu.count()),
          1 - fraction((v.now.memory - t.memory).count(), v.installed.memory.count()),
          gpus == 0 ? 0.0 : 1 - fraction(static_cast<std::int64_t>(v.now.free_total()) - t.demand(), gpus)};
}

}  // namespace berth::detail

namespace berth {

BERTH_INLINE packing_score best_fit_packing::score(const packing_view& v, const share_task& t) const noexcept {
  const double cpu = detail::fraction((v.now.cpu - t.cpu).count(), largest.cpu.count());
  const double gpu = (v.now.free_total() - t.demand()) / (1000.0 * largest.devices);
  return {detail::by_rule(100 * (1 - (cpu + gpu) / 2), rule), tightest_choice(v.now, t)};
}

BERTH_INLINE packing_score worst_fit_packing::score(const packing_view& v, const share_task& t) const noexcept {
  device_mask widest = 0;
  unsigned most = 0;
  for_each_choice(v.now, t, [&](device_mask m) {
    const unsigned free = m == 0 ? 0U : v.now.free[lowest_bit(m)];
    if (widest == 0 || free > most) widest = m, most = free;
  });
  return {-best_fit_packing{largest, score_rule::exact}.score(v, t).value, widest};
}

BERTH_INLINE packing_score dot_product_packing::score(const packing_view& v, const share_task& t) const noexcept {
  const auto cpu = static_cast<double>(largest.cpu.count());
  const double gpu = 1000.0 * largest.devices;
  const double product = static_cast<double>(v.now.cpu.count()) / cpu * static_cast<double>(t.cpu.count()) / cpu +
                         v.now.free_total() / gpu * t.demand() / gpu;
  return {rule == score_rule::exact ? -product : std::floor(100 * (1 - product / 2)), tightest_choice(v.now, t)};
}

BERTH_INLINE packing_score most_allocated_packing::score(const packing_view& v, const share_task& t) const noexcept {
  const auto u = detail::used_after(v, t);
  return {t.devices == 0 ? (u.cpu + u.memory) / 2 : (u.cpu + u.memory + u.gpu) / 3, tightest_choice(v.now, t)};
}

BERTH_INLINE packing_score balanced_packing::score(const packing_view& v, const share_task& t) const noexcept {
  const auto u = detail::used_after(v, t);
  const double mean = (u.cpu + u.memory + u.gpu) / 3;
  const double variance =
      ((u.cpu - mean) * (u.cpu - mean) + (u.memory - mean) * (u.memory - mean) + (u.gpu - mean) * (u.gpu - mean)) / 3;
  return {-std::sqrt(variance), tightest_choice(v.now, t)};
}

BERTH_INLINE packing_score requested_to_capacity_packing::score(const packing_view& v,
                                                                const share_task& t) const noexcept {
  const auto u = detail::used_after(v, t);
  const double x = t.devices == 0 ? u.cpu : u.gpu;
  double y = curve[3].score;
  for (unsigned i = 1; i < 4; ++i)
    if (x <= curve[i].used) {
      const double width = curve[i].used - curve[i - 1].used;
      const double along = width == 0 ? 1 : (x - curve[i - 1].used) / width;
      y = curve[i - 1].score + along * (curve[i].score - curve[i - 1].score);
      break;
    }
  return {y, tightest_choice(v.now, t)};
}

BERTH_INLINE packing_score gpu_packing::score(const packing_view& v, const share_task& t) const noexcept {
  const device_mask m = tightest_choice(v.now, t);
  const bool shares = t.devices == 1 && t.share < whole_device && v.now.free[lowest_bit(m)] < whole_device;
  if (rule == score_rule::exact) {
    const double rank = shares ? 2 : v.tasks == 0 ? 0 : 1;
    return {rank * 1e6 - (static_cast<double>(v.now.free_total()) - t.demand()), m};
  }
  if (t.devices == 0) return {0, m};
  const unsigned whole = v.now.count_with(whole_device);
  const auto at_least = [](double x, double least) { return x > least ? x : least; };
  if (whole == v.now.devices) return {at_least(33.0 - whole, whole), m};
  if (shares) return {at_least(100 - v.now.free[lowest_bit(m)] / 10 / 10, 50), m};
  return {at_least(50.0 - t.devices, 33), m};
}

BERTH_INLINE packing_score gpu_clustering::score(const packing_view& v, const share_task& t) const noexcept {
  const device_mask m = tightest_choice(v.now, t);
  if (rule == score_rule::exact) return {static_cast<double>(v.same) * 1e3 - static_cast<double>(v.tasks - v.same), m};
  if (t.devices == 0) return {0, m};
  const double used = std::floor(25 * (8000.0 - v.now.free_total()) / 8000);
  const double group = v.same != 0 ? (v.same == v.with_gpus ? 75 : 50) : (v.with_gpus == 0 ? 25 : 0);
  return {group + used, m};
}

}  // namespace berth
