#pragma once
/// \file
/// Numbers for distinct tasks, in the order of their first appearance.

#include <cstddef>
#include <cstdint>
#include <vector>

#include "berth/cluster/share_node.hpp"
#include "berth/core/hash_slots.hpp"
#include "berth/core/separate.hpp"

namespace berth {

/// Equal tasks share a number. O(1) expected.
class share_task_index {
 public:
  /// The number of the task; a new one where it was never seen.
  [[nodiscard]] std::uint32_t intern(const share_task& t);
  [[nodiscard]] std::size_t size() const noexcept { return tasks_.size(); }
  [[nodiscard]] const share_task& operator[](std::uint32_t i) const noexcept { return tasks_[i]; }

 private:
  [[nodiscard]] static std::size_t hash(const share_task& t) noexcept;
  std::vector<share_task> tasks_;
  hash_slots slots_;
};

}  // namespace berth

#if BERTH_WITH_BODIES
#include "berth/cluster/impl/share_task_index.hpp"
#endif
