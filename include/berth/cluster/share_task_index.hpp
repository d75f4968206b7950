#pragma once
/// \file
/// Numbers for distinct tasks, in the order of their first appearance.

#include <cstddef>
#include <cstdint>
#include <vector>

#include "berth/cluster/share_node.hpp"
#include "berth/core/hash_slots.hpp"

namespace berth {

/// Equal tasks share a number. O(1) expected.
class share_task_index {
 public:
  /// The number of the task; a new one where it was never seen.
  [[nodiscard]] std::uint32_t intern(const share_task& t) {
    const std::uint32_t known = slots_.find(hash(t), [&](std::uint32_t i) { return tasks_[i] == t; });
    if (known != hash_slots::none) return known;
    tasks_.push_back(t);
    slots_.add(tasks_.size() - 1, [&](std::size_t i) { return hash(tasks_[i]); });
    return static_cast<std::uint32_t>(tasks_.size() - 1);
  }
  [[nodiscard]] std::size_t size() const noexcept { return tasks_.size(); }
  [[nodiscard]] const share_task& operator[](std::uint32_t i) const noexcept { return tasks_[i]; }

 private:
  [[nodiscard]] static std::size_t hash(const share_task& t) noexcept {
    std::uint64_t h = static_cast<std::uint64_t>(t.cpu.count()) * 0x9e3779b97f4a7c15U;
    h = (h ^ (h >> 29) ^ static_cast<std::uint64_t>(t.memory.count())) * 0xbf58476d1ce4e5b9U;
    h = (h ^ (h >> 32) ^ (std::uint64_t{t.devices} << 16 | t.share)) * 0x94d049bb133111ebU;
    h = (h ^ (h >> 29) ^ t.models) * 0x9e3779b97f4a7c15U;
    return static_cast<std::size_t>(h >> 20);
  }
  std::vector<share_task> tasks_;
  hash_slots slots_;
};

}  // namespace berth
