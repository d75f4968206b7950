#pragma once
/// \file
/// Bodies of `berth/policy/value_table.hpp`.

#include "berth/policy/value_table.hpp"

namespace berth {

BERTH_INLINE state_code state_code::after(const share_node& n, const share_task& t, std::uint16_t from) const noexcept {
  state_code out = *this;
  out.bits_ += cores(n.cpu - t.cpu) - cores(n.cpu);
  if (t.devices == 1) out.bits_ += free(static_cast<std::uint16_t>(from - t.share)) - free(from);
  else if (t.devices > 1) out.bits_ -= t.devices * free(whole_device);
  return out;
}

BERTH_INLINE void value_table::begin(unsigned samples) {
  lines_.assign(lines_.size(), {});
  used_ = 0;
  samples_ = samples;
  sequences_.clear();
  for (auto& s : of_model_) s = 0;
}

BERTH_INLINE task_sequences& value_table::add(std::uint64_t models) {
  sequences_.emplace_back();
  for_each_bit(models, [&](unsigned m) { of_model_[m] = static_cast<std::uint8_t>(sequences_.size()); });
  return sequences_.back();
}

BERTH_INLINE task_sequences::outcome value_table::roll_out(ranked_node n, std::int64_t memory) const noexcept {
  n.cpu = n.cpu / 1000 * 1000;
  n.memory = memory;
  return of_model_[n.model] == 0 ? task_sequences::outcome{} : sequences_[of_model_[n.model] - 1U].roll_out(n);
}

BERTH_INLINE const value_table::slot* value_table::find(std::uint64_t key) const noexcept {
  for (const slot& s : lines_[line_of(key)].slots)
    if (s.key == key) return &s;
  return nullptr;
}

BERTH_INLINE const value_table::slot* value_table::insert(const slot& x) {
  constexpr std::size_t most = (std::size_t{1} << 21) / ways;
  if (2 * used_ >= lines_.size() * ways && lines_.size() < most) {
    const flat_array<line> old = static_cast<flat_array<line>&&>(lines_);
    lines_.assign(2 * old.size(), {});
    used_ = 0;
    for (const line& l : old)
      for (const slot& s : l.slots)
        if (s.key != 0) put(s);
  }
  return put(x);
}

BERTH_INLINE const value_table::slot* value_table::put(const slot& x) noexcept {
  slot* const slots = lines_[line_of(x.key)].slots;
  std::size_t i = 0;
  while (i < ways && slots[i].key != 0) ++i;
  if (i == ways) i = static_cast<std::size_t>(x.key >> 62);
  else ++used_;
  slots[i] = x;
  return slots + i;
}

BERTH_INLINE state_code::state_code(const share_node& n) noexcept : bits_{model(n.model) + cores(n.cpu)} {
  for (unsigned g = 0; g < n.devices; ++g) bits_ += free(n.free[g]);
}

}  // namespace berth
