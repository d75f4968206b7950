#pragma once
/// \file
/// Bodies of `berth/quota/detail/user_table.hpp`.

#include "berth/quota/detail/user_table.hpp"

namespace berth::quota_detail {

BERTH_INLINE expected<void, input_error> user_table::compile(const queue_tree_spec& s, const tree_layout& t) {
  resources_ = s.resources.size();
  everybody_.assign(t.parent.size(), no_row);
  for (std::uint32_t i = 0; i < t.parent.size(); ++i) {
    const auto& q = s.queues[t.spec_of[i]];
    for (const auto& l : q.user_limits) {
      if (l.at_most.size() != resources_)
        return queue_fault(s, q, "a limit of user '" + l.user + "' without a number for every resource", "all of them");
      for (const auto a : l.at_most)
        if (a < 0 || (a > max_quota && a != unlimited))
          return queue_fault(s, q, "limit " + std::to_string(a) + " of user '" + l.user + "'", "an amount up to 2^62");
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

BERTH_INLINE user_id user_table::find_user(const std::string& name) const {
  const auto i = ids_.find(name);
  return i == ids_.end() ? user_id{} : user_id{i->second};
}

BERTH_INLINE void user_table::reserve(std::size_t pairs) {
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

BERTH_INLINE bool user_table::make_row(std::uint32_t queue, user_id u) noexcept {
  if (slots_.empty()) return false;
  const auto key = key_of(queue, u);
  auto& s = slots_[probe(key)];
  if (s.row != no_row) return true;
  if (next_ >= capacity_) return false;
  s = {key, next_++, everybody_[queue]};
  return true;
}

BERTH_INLINE quota_amount user_table::used(std::uint32_t queue, user_id u, resource_id r) const noexcept {
  if (slots_.empty()) return 0;
  const auto& s = slots_[probe(key_of(queue, u))];
  return s.row == no_row ? 0 : used_[s.row * resources_ + r.index()];
}

BERTH_INLINE quota_amount user_table::left(std::uint32_t queue, user_id u, resource_id r) const noexcept {
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

BERTH_INLINE std::size_t user_table::probe(std::uint64_t key) const noexcept {
  std::size_t i = static_cast<std::size_t>((key * 0x9e3779b97f4a7c15U) >> 20) & (slots_.size() - 1);
  while (slots_[i].row != no_row && slots_[i].key != key) i = (i + 1) & (slots_.size() - 1);
  return i;
}

}  // namespace berth::quota_detail
