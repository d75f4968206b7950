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
#include "berth/quota/amount.hpp"
#include "berth/quota/detail/compile_tree.hpp"
#include "berth/quota/queue_spec.hpp"

namespace berth::quota_detail {

/// Rows of amounts by resource. Nothing depends on the order of the table.
class user_table {
 public:
  expected<void, input_error> compile(const queue_tree_spec& s, const tree_layout& t) {
    resources_ = s.resources.size();
    everybody_.assign(t.parent.size(), no_row);
    for (std::uint32_t i = 0; i < t.parent.size(); ++i) {
      const auto& q = s.queues[t.spec_of[i]];
      for (const auto& l : q.user_limits) {
        if (l.at_most.size() != resources_)
          return queue_fault(s, q, "a limit of user '" + l.user + "' without a number for every resource",
                             "all of them");
        for (const auto a : l.at_most)
          if (a < 0 || (a > max_quota && a != unlimited))
            return queue_fault(s, q, "limit " + std::to_string(a) + " of user '" + l.user + "'",
                               "an amount up to 2^62");
        const auto row = static_cast<std::uint32_t>(limits_.size() / (resources_ == 0 ? 1 : resources_));
        limits_.insert(limits_.end(), l.at_most.begin(), l.at_most.end());
        if (l.user == "*") {
          everybody_[i] = row;
          continue;
        }
        const auto u = user_id{ids_.emplace(l.user, static_cast<std::uint32_t>(ids_.size())).first->second};
        own_.emplace_back(key_of(i, u), row);
      }
    }
    reserve(own_.size());
    return {};
  }
  [[nodiscard]] user_id find_user(const std::string& name) const {
    const auto i = ids_.find(name);
    return i == ids_.end() ? user_id{} : user_id{i->second};
  }
  /// Keeps all rows. Room for `pairs` (queue, user) pairs in all, and at least for those with limits of their own.
  void reserve(std::size_t pairs) {
    if (pairs < own_.size()) pairs = own_.size();
    if (pairs <= capacity_ && !slots_.empty()) return;
    std::size_t size = 16;
    while (size < pairs * 2) size *= 2;
    const auto old = std::move(slots_);
    slots_.assign(size, slot{});
    capacity_ = pairs;
    used_.resize(capacity_ * resources_, 0);
    for (const auto& s : old)
      if (s.row != no_row) slots_[probe(s.key)] = s;
    for (const auto& [key, row] : own_) {
      auto& s = slots_[probe(key)];
      if (s.row == no_row) s = {key, next_++, row};
    }
  }
  /// Room for the pair: false when the table is full. O(1) on average.
  [[nodiscard]] bool make_row(std::uint32_t queue, user_id u) noexcept {
    if (slots_.empty()) return false;
    const auto key = key_of(queue, u);
    auto& s = slots_[probe(key)];
    if (s.row != no_row) return true;
    if (next_ >= capacity_) return false;
    s = {key, next_++, everybody_[queue]};
    return true;
  }
  /// \pre the pair has a row
  void add(std::uint32_t queue, user_id u, resource_id r, quota_amount a) noexcept {
    used_[slots_[probe(key_of(queue, u))].row * resources_ + r.index()] += a;
  }
  [[nodiscard]] quota_amount used(std::uint32_t queue, user_id u, resource_id r) const noexcept {
    if (slots_.empty()) return 0;
    const auto& s = slots_[probe(key_of(queue, u))];
    return s.row == no_row ? 0 : used_[s.row * resources_ + r.index()];
  }
  /// What the user may still use.
  [[nodiscard]] quota_amount left(std::uint32_t queue, user_id u, resource_id r) const noexcept {
    std::uint32_t row = everybody_[queue];
    quota_amount used = 0;
    if (!slots_.empty()) {
      const auto& s = slots_[probe(key_of(queue, u))];
      if (s.row != no_row) {
        row = s.limits;
        used = used_[s.row * resources_ + r.index()];
      }
    }
    if (row == no_row) return unlimited;
    const auto limit = limits_[row * resources_ + r.index()];
    return limit == unlimited ? unlimited : limit - used;
  }

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
  [[nodiscard]] std::size_t probe(std::uint64_t key) const noexcept {
    std::size_t i = static_cast<std::size_t>((key * 0x9e3779b97f4a7c15U) >> 20) & (slots_.size() - 1);
    while (slots_[i].row != no_row && slots_[i].key != key) i = (i + 1) & (slots_.size() - 1);
    return i;
  }

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
