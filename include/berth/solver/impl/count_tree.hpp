#pragma once
/// \file
/// Bodies of `berth/solver/count_tree.hpp`.

#include <bit>
#include <utility>

#include "berth/solver/count_tree.hpp"

namespace berth::detail {

BERTH_INLINE void count_tree::reserve_tables(const placer_limits& limits) {
  const domain_tree& tree = cluster_->tree();
  domains_ = widest_ = 0;
  for (std::uint8_t l = 0; l < tree.level_count(); ++l) {
    first_[l] = domains_;
    domains_ += tree.domain_count(level_id{l});
    for (std::uint32_t d = 0; d < tree.domain_count(level_id{l}); ++d)
      if (domain(l, d).children.size() > widest_) widest_ = domain(l, d).children.size();
  }
  step_limit_ = limits.search_steps * 1000;
  limit_.resize(domains_);
  most_units_.resize(domains_);
  if (limits.count_cells <= room_) return;
  room_ = limits.count_cells;
  cells_.reserve(room_);
  choices_.reserve(room_);
  reserve_vectors();
}

BERTH_INLINE bool count_tree::prepare(const std::uint32_t* total, std::uint32_t rails, bool one_node) noexcept {
  rails_ = rails;
  one_node_ = one_node;
  if (!space_.set(total, groups(), most_vectors)) return false;
  const std::uint64_t all = std::uint64_t{space_.size()} * rows_;
  if (domains_ * all > room_ || widest_ * all > room_) return false;
  vectors_ = space_.size();
  devices_ = tasks_ = 0;
  for (std::size_t i = 0; i < groups(); ++i) devices_ += std::uint64_t{total[i]} * shape(i).devices, tasks_ += total[i];
  for (std::uint32_t v = 0; v < vectors_; ++v) packed_.data()[v] = space_.packed(v);
  // A digit per level, wide enough for all tasks where 63 bits allow it; else what is summed stays an order.
  const auto wide = static_cast<unsigned>(std::bit_width(tasks_));
  const unsigned digits = leaf_ > top_ ? leaf_ - top_ : 1;
  digit_ = wide * digits <= 62 ? wide : digits == 1 ? 0 : (62 - wide) / (digits - 1);
  for (unsigned l = top_; l <= leaf_; ++l)
    for (std::uint32_t d = 0; d < count_at(l); ++d) limit_[first_[l] + d] = carried(l, d);
  return true;
}

BERTH_INLINE std::uint64_t count_tree::carried(unsigned l, std::uint32_t d) const noexcept {
  if (l == 0 || rate_ == 0) return unlimited;
  const uplink_state& u = cluster_->uplinks();
  std::uint64_t least = unlimited, planes = 0;
  for (unsigned p = 0; p < u.planes(l); ++p) {
    if (u.planes(l) > 1 && rails_ != 0 && (rails_ >> p & 1U) == 0) continue;
    ++planes;
    const auto h = static_cast<std::uint64_t>(u.left(l, d, p) / rate_);
    if (h < least) least = h;
  }
  return u.planes(l) == 1 || rails_ == 0 || least == unlimited ? least : least * planes;
}

BERTH_INLINE std::uint64_t count_tree::devices_of(std::uint32_t v) const noexcept {
  std::uint64_t sum = 0;
  for (std::size_t i = 0; i < groups(); ++i) sum += std::uint64_t{space_.count(v, i)} * shape(i).devices;
  return sum;
}

BERTH_INLINE bool count_tree::fill(unsigned l, std::uint32_t d, const count_row& row, std::uint32_t* choices) noexcept {
  row.clear();
  const id_range kids = domain(l, d).children;
  node_id like{};
  std::uint64_t run = 0;
  std::uint32_t count = 0;
  for (std::uint32_t c = kids.first; c < kids.last; ++c) {
    std::uint32_t* const choice =
        choices == nullptr ? nullptr : choices + std::size_t{c - kids.first} * vectors_ * rows_;
    if (l == leaf_) {
      const node_id n{c};
      if (like && equal(n, like)) {
        ++run;  // more nodes alike than there are tasks add nothing
      } else {
        count = list_node(n), run = 1;
      }
      like = n;
      if (run > tasks_) count = 0;
    } else {
      count = list_child(l + 1, c);
    }
    if (count == 0 && choice == nullptr) continue;
    const std::uint64_t spent = row.add(space_, packed_.data(), parts_.data(), count, choice);
    if (choices != nullptr) continue;  // what was found is placed, whatever it takes
    if (spent >= steps_) return steps_ = 0, false;
    steps_ -= spent;
  }
  return true;
}

BERTH_INLINE std::uint32_t count_tree::list_child(unsigned l, std::uint32_t c) noexcept {
  const count_row row = table(l, c);
  std::uint32_t count = 0;
  for (unsigned r = 0; r < rows_; ++r)
    for (std::uint32_t v = 1; v < vectors_; ++v)
      if (row.at(v, r) != count_row::none)
        parts_.data()[count++] = {v, r, packed_.data()[v], row.at(v, r) + unit_cost(l)};
  return count;
}

BERTH_INLINE void count_tree::restrict(unsigned l, std::uint32_t d, const count_row& row) noexcept {
  const std::uint64_t limit = limit_[first_[l] + d];
  const bool cut = detached(l, d);
  if (l == top_) return;  // everything is inside
  if (!cut && limit >= devices_) return;
  for (std::uint32_t v = 1; v + 1 < vectors_; ++v) {
    const std::uint64_t n = cut ? 0 : devices_of(v);
    if (!cut && (n < devices_ - n ? n : devices_ - n) <= limit) continue;
    for (unsigned r = 0; r < rows_; ++r) row.at(v, r) = count_row::none;
  }
}

BERTH_INLINE void count_tree::keep_units(std::uint32_t d, const count_row& row) noexcept {
  const segment_request& want = *gang_->segments;
  const std::uint32_t step = unit_vector(), most = most_units_[first_[units_at_] + d];
  std::uint32_t unit = step, k = 1;
  for (std::uint32_t v = 1; v < vectors_; ++v) {
    if (v != unit) {
      row.at(v) = count_row::none;
      continue;
    }
    unit += step;
    if (want.layout == segment_layout::spread && k > 1) row.at(v) = count_row::none;
    if (rows_ == 2 && k < most) row.at(v, 1) = row.at(v), row.at(v) = count_row::none;
    ++k;
  }
}

BERTH_INLINE std::uint32_t count_tree::unit_vector() const noexcept {
  std::uint32_t v = 0;
  for (std::size_t i = 0; i < groups(); ++i) v += gang_->groups[i].wanted / gang_->segments->count * space_.stride(i);
  return v;
}

BERTH_INLINE bool count_tree::count_units() noexcept {
  for (unsigned l = leaf_ + 1; l-- > units_at_;)
    for (std::uint32_t d = 0; d < count_at(l); ++d) {
      const count_row row = table(l, d);
      if (!fill(l, d, row, nullptr)) return false;
      std::uint32_t k = 0;
      for (std::uint32_t v = unit_vector(); v < vectors_ && row.at(v) != count_row::none; v += unit_vector()) ++k;
      most_units_[first_[l] + d] = k;
      if (l == units_at_ || !detached(l, d)) continue;
      for (std::uint32_t v = 1; v < vectors_; ++v) row.at(v) = count_row::none;
    }
  return true;
}

BERTH_INLINE count_tree::outcome count_tree::look(found& best) noexcept {
  best = {};
  if (rows_ == 2) {
    // Whether another segment fits beside those of a domain is a question of its nodes alone.
    const std::uint32_t rails = std::exchange(rails_, 0);
    const bool one_node = std::exchange(one_node_, false);
    rate_ = 0;
    const bool counted = count_units();
    rate_ = gang_->between_nodes.count();
    rails_ = rails;
    one_node_ = one_node;
    if (!counted) return outcome::unknown;
  }
  for (unsigned l = leaf_ + 1; l-- > top_;)
    for (std::uint32_t d = 0; d < count_at(l); ++d) {
      const count_row row = table(l, d);
      if (!fill(l, d, row, nullptr)) return outcome::unknown;
      if (l == units_at_) keep_units(d, row);
      restrict(l, d, row);
    }
  for (std::uint32_t d = 0; d < count_at(top_); ++d)
    for (unsigned r = 0; r < rows_; ++r) {
      const std::uint64_t cost = table(top_, d).at(space_.last(), r);
      if (cost < best.cost) best = {cost, d, r};
    }
  return best.domain == none ? outcome::no : outcome::yes;
}

}  // namespace berth::detail
