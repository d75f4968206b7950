#pragma once
/// \file
/// From a list of queues with parents' names to ids level by level, and the checks of their numbers.

#include <cstddef>
#include <cstdint>
#include <string>
#include <unordered_map>
#include <vector>

#include "berth/core/error.hpp"
#include "berth/core/expected.hpp"
#include "berth/core/separate.hpp"
#include "berth/quota/amount.hpp"
#include "berth/quota/queue_spec.hpp"

namespace berth::quota_detail {

/// What is rare at a queue, as bits.
enum queue_flag : std::uint8_t { stopped = 1, limits_users = 2, has_budget = 4 };
inline constexpr std::uint8_t special = stopped | limits_users | has_budget;

/// The shape of a tree: arrays by queue id.
struct tree_layout {
  std::vector<std::uint32_t> parent;
  std::vector<std::uint32_t> first_child;
  std::vector<std::uint32_t> child_count;
  std::vector<std::uint8_t> flags;
  std::vector<std::uint32_t> spec_of;  ///< position in the description
  std::unordered_map<std::string, std::uint32_t> id_of;
  std::uint32_t roots = 0;
};

[[nodiscard]] unexpected<input_error> queue_fault(const queue_tree_spec& s, const queue_spec& q, std::string found,
                                                  std::string expected_text);

/// Orders the queues level by level, siblings side by side in the order of the description. O(queues).
[[nodiscard]] expected<tree_layout, input_error> order_queues(const queue_tree_spec& s);

/// Whether the numbers of one queue and resource make sense. `below` is the sum of its children's guarantees.
[[nodiscard]] expected<void, input_error> check_quota(const queue_tree_spec& s, const queue_spec& q, std::size_t r,
                                                      quota_amount below);

}  // namespace berth::quota_detail

#if BERTH_WITH_BODIES
#include "berth/quota/detail/impl/compile_tree.hpp"
#endif
