#pragma once
/// \file
/// What users may use and do use of queues that limit users: a hash table of fixed size, found by (queue, user).

#include <cstddef>
#include <cstdint>
#include <string>
#include <unordered_map>
#include <vector>

#include "berth/core/error.hpp"
#include "berth/core/expected.hpp"
#include "berth/core/separate.hpp"
#include "berth/quota/amount.hpp"
#include "berth/quota/detail/compile_tree.hpp"
#include "berth/quota/queue_spec.hpp"

namespace berth::quota_detail {

/// Rows of amounts by resource. Nothing depends on the order of the table.
class user_table {
 public:
  expected<void, input_error> compile(const queue_tree_spec& s, const tree_layout& t);
  [[nodiscard]] user_id find_user(const std::string& name) const;
  /// Keeps all rows. Room for `pairs` (queue, user) pairs in all, and at least for those with limits of their own.
  void reserve(std::size_t pairs);
  /// Room for the pair: false when the table is full. O(1) on average.
  [[nodiscard]] bool make_row(std::uint32_t queue, user_id u) noexcept;
  /// \pre the pair has a row
  void add(std::uint32_t queue, user_id u, resource_id r, quota_amount a) noexcept {
    used_[slots_[probe(key_of(queue, u))].row * resources_ + r.index()] += a;
  }
  [[nodiscard]] quota_amount used(std::uint32_t queue, user_id u, resource_id r) const noexcept;
  /// What the user may still use.
  [[nodiscard]] quota_amount left(std::uint32_t queue, user_id u, resource_id r) const noexcept;

 private:
  static constexpr std::uint32_t no_row = ~std::uint32_t{0};
  struct slot {
    std::uint64_t key = 0;
    std::uint32_t row = no_row;     ///< of `used_`
    std::uint32_t limits = no_row;  ///< of `limits_`
  };
  [[nodiscard]] static std::uint64_t key_of(std::uint32_t queue, user_id u) noexcept {
    return (std::uint64_t{queue} << 32) | u.raw();
  }
  // The pair's slot, or the free one where it belongs. Half of the slots are always free.
  [[nodiscard]] std::size_t probe(std::uint64_t key) const noexcept;

  std::size_t resources_ = 0;
  std::vector<std::uint32_t> everybody_;  ///< by queue: row of the limits of users without their own
  std::vector<std::pair<std::uint64_t, std::uint32_t>> own_;
  std::unordered_map<std::string, std::uint32_t> ids_;
  std::vector<quota_amount> limits_;
  std::vector<quota_amount> used_;
  std::vector<slot> slots_;
  std::size_t capacity_ = 0;
  std::uint32_t next_ = 0;
};

}  // namespace berth::quota_detail

#if BERTH_WITH_BODIES
#include "berth/quota/detail/impl/user_table.hpp"
#endif
