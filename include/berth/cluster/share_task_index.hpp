#pragma once
/// \file
/// Numbers for distinct tasks, in the order of their first appearance.

#include <cstddef>
#include <cstdint>
#include <vector>

#include "berth/cluster/share_node.hpp"

namespace berth {

/// Equal tasks share a number. O(1) expected.
class share_task_index {
 public:
  /// The number of the task; a new one where it was never seen.
  [[nodiscard]] std::uint32_t intern(const share_task& t) {
    if (table_.size() < 2 * (tasks_.size() + 1)) {
      table_.assign(table_.empty() ? 64 : 2 * table_.size(), 0);
      for (std::uint32_t i = 0; i < tasks_.size(); ++i) table_[slot_of(tasks_[i])] = i + 1;
    }
    const std::size_t s = slot_of(t);
    if (table_[s] == 0) {
      tasks_.push_back(t);
      table_[s] = static_cast<std::uint32_t>(tasks_.size());
    }
    return table_[s] - 1;
  }
  [[nodiscard]] std::size_t size() const noexcept { return tasks_.size(); }
  [[nodiscard]] const share_task& operator[](std::uint32_t i) const noexcept { return tasks_[i]; }

 private:
  [[nodiscard]] std::size_t slot_of(const share_task& t) const noexcept {
    std::uint64_t h = static_cast<std::uint64_t>(t.cpu.count()) * 0x9e3779b97f4a7c15U;
    h = (h ^ (h >> 29) ^ static_cast<std::uint64_t>(t.memory.count())) * 0xbf58476d1ce4e5b9U;
    h = (h ^ (h >> 32) ^ (std::uint64_t{t.devices} << 16 | t.share)) * 0x94d049bb133111ebU;
    h = (h ^ (h >> 29) ^ t.models) * 0x9e3779b97f4a7c15U;
    // Open addressing; the table is at most half full.
    std::size_t s = static_cast<std::size_t>(h >> 20) & (table_.size() - 1);
    while (table_[s] != 0 && !(tasks_[table_[s] - 1] == t)) s = (s + 1) & (table_.size() - 1);
    return s;
  }
  std::vector<share_task> tasks_;
  std::vector<std::uint32_t> table_;  // number + 1; 0: free
};

}  // namespace berth
