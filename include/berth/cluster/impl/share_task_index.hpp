#pragma once
/// \file
/// Bodies of `berth/cluster/share_task_index.hpp`.

#include "berth/cluster/share_task_index.hpp"

namespace berth {

BERTH_INLINE std::uint32_t share_task_index::intern(const share_task& t) {
  const std::uint32_t known = slots_.find(hash(t), [&](std::uint32_t i) { return tasks_[i] == t; });
  if (known != hash_slots::none) return known;
  tasks_.push_back(t);
  slots_.add(tasks_.size() - 1, [&](std::size_t i) { return hash(tasks_[i]); });
  return static_cast<std::uint32_t>(tasks_.size() - 1);
}

BERTH_INLINE std::size_t share_task_index::hash(const share_task& t) noexcept {
  std::uint64_t h = static_cast<std::uint64_t>(t.cpu.count()) * 0x9e3779b97f4a7c15U;
  h = (h ^ (h >> 29) ^ static_cast<std::uint64_t>(t.memory.count())) * 0xbf58476d1ce4e5b9U;
  h = (h ^ (h >> 32) ^ (std::uint64_t{t.devices} << 16 | t.share)) * 0x94d049bb133111ebU;
  h = (h ^ (h >> 29) ^ t.models) * 0x9e3779b97f4a7c15U;
  return static_cast<std::size_t>(h >> 20);
}

}  // namespace berth
