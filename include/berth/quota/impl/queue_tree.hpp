#pragma once
/// \file
/// Bodies of `berth/quota/queue_tree.hpp`.

#include "berth/core/prefetch.hpp"
#include "berth/quota/queue_tree.hpp"

namespace berth {

BERTH_INLINE expected<queue_tree, input_error> queue_tree::copy() const {
  return build(spec_);
}

BERTH_INLINE expected<queue_tree, input_error> queue_tree::build(queue_tree_spec spec) {
  auto order = quota_detail::order_queues(spec);
  if (!order) return unexpected{order.error()};
  queue_tree t;
  t.spec_ = std::move(spec);
  t.layout_ = std::move(*order);
  if (auto ok = t.compile(); !ok) return unexpected{ok.error()};
  return t;
}

BERTH_INLINE std::uint32_t queue_tree::depth(queue_id q) const noexcept {
  std::uint32_t n = 0;
  for (auto i = q.raw(); i != none; i = layout_.parent[i]) ++n;
  return n;
}

BERTH_INLINE quota_cell queue_tree::cell(queue_id q, resource_id r) const noexcept {
  quota_cell c = cold_[at(q.raw(), r)];
  const room& h = hot_[at(q.raw(), r)];
  c.used = c.cap - h.cap;
  c.climbed = c.ceiling - h.ceiling;
  return c;
}

BERTH_INLINE queue_id queue_tree::find(const std::string& name) const {
  const auto i = layout_.id_of.find(name);
  return i == layout_.id_of.end() ? queue_id{} : queue_id{i->second};
}

BERTH_INLINE resource_id queue_tree::find_resource(std::string_view name, std::string_view pool) const noexcept {
  for (std::size_t i = 0; i < spec_.resources.size(); ++i)
    if (spec_.resources[i].name == name && spec_.resources[i].pool == pool)
      return resource_id{static_cast<std::uint16_t>(i)};
  return {};
}

BERTH_INLINE quota_amount queue_tree::available(queue_id q, resource_id r) const noexcept {
  quota_amount fits = unlimited, covered = 0;
  for (auto i = q.raw(); i != none; i = layout_.parent[i]) {
    const room& h = hot_[at(i, r)];
    if (h.cap <= max_quota) fits = quota_detail::least(fits, h.cap);
    if (h.ceiling <= max_quota) fits = quota_detail::least(fits, covered + h.ceiling);
    covered += quota_detail::most(0, h.local);
  }
  return fits == unlimited ? unlimited : quota_detail::most(0, fits);
}

BERTH_INLINE admission queue_tree::may_admit(queue_id q, std::span<const quota_demand> request, user_id user,
                                             std::int64_t seconds) const noexcept {
  if (!valid(q, request, seconds)) return {quota_limit::invalid_request, q, {}, 0, 0};
  // The path's cells lie apart; ask for all of them before the first is needed.
  for (auto i = layout_.parent[q.raw()]; i != none; i = layout_.parent[i])
    for (const auto& d : request) prefetch_read(&hot_[at(i, d.resource)]);
  for (auto i = q.raw(); i != none; i = layout_.parent[i])
    if ((layout_.flags[i] & quota_detail::special) != 0)
      if (const auto a = special_limits(i, request, user, seconds); !a) return a;
  for (const auto& d : request) {
    if (d.amount == 0) continue;
    quota_amount rising = d.amount;  // less what the queues below can cover from their own
    for (auto i = q.raw(); i != none; i = layout_.parent[i]) {
      const room& h = hot_[at(i, d.resource)];
      if (d.amount > h.cap) return {quota_limit::cap, queue_id{i}, d.resource, d.amount, quota_detail::most(0, h.cap)};
      // Also where `rising` is not positive: above a queue that was cut below its usage nothing is free.
      if (rising > h.ceiling)
        return {layout_.parent[i] == none ? quota_limit::guarantees : quota_limit::borrowing_limit, queue_id{i},
                d.resource, quota_detail::most(0, rising), quota_detail::most(0, h.ceiling)};
      rising -= quota_detail::most(0, h.local);
    }
  }
  return {};
}

BERTH_INLINE admission queue_tree::add_usage(queue_id q, std::span<const quota_demand> request, user_id user,
                                             std::int64_t seconds) noexcept {
  if (!valid(q, request, seconds)) return {quota_limit::invalid_request, q, {}, 0, 0};
  // The root's sum is the largest on the path.
  auto root = q.raw();
  while (layout_.parent[root] != none) root = layout_.parent[root];
  for (const auto& d : request)
    if (used(root, d.resource) > max_quota - d.amount)
      return {quota_limit::invalid_request, queue_id{root}, d.resource, d.amount, 0};
  if (!add_special(q, request, user, seconds)) return {quota_limit::capacity_exhausted, q, {}, 0, 0};
  for (const auto& d : request) {
    quota_amount rising = d.amount;
    for (auto i = q.raw(); i != none; i = layout_.parent[i]) {
      room& h = hot_[at(i, d.resource)];
      const auto covered = quota_detail::most(0, h.local);
      h.cap -= d.amount;
      h.ceiling -= rising;
      h.local -= rising;
      rising = quota_detail::most(0, rising - covered);
    }
  }
  ++epoch_;
  return {};
}

BERTH_INLINE admission queue_tree::admit(queue_id q, std::span<const quota_demand> request, user_id user,
                                         std::int64_t seconds) noexcept {
  const auto a = may_admit(q, request, user, seconds);
  return a ? add_usage(q, request, user, seconds) : a;
}

BERTH_INLINE admission queue_tree::remove_usage(queue_id q, std::span<const quota_demand> request, user_id user,
                                                std::int64_t seconds) noexcept {
  if (!valid(q, request, seconds)) return {quota_limit::invalid_request, q, {}, 0, 0};
  const auto [first, count] = children(q);
  for (const auto& d : request) {
    quota_amount own = used(q.raw(), d.resource);
    for (auto i = first; i < first + count; ++i) own -= used(i, d.resource);
    if (own < d.amount) return {quota_limit::invalid_request, q, d.resource, d.amount, own};
  }
  if (!remove_special(q, request, user, seconds)) return {quota_limit::invalid_request, q, {}, 0, 0};
  for (const auto& d : request) {
    quota_amount rising = d.amount;
    for (auto i = q.raw(); i != none; i = layout_.parent[i]) {
      room& h = hot_[at(i, d.resource)];
      const auto above = quota_detail::most(0, -h.local);  // what had climbed further
      h.cap += d.amount;
      h.ceiling += rising;
      h.local += rising;
      rising = quota_detail::least(rising, above);
    }
  }
  ++epoch_;
  return {};
}

BERTH_INLINE bool queue_tree::charge(queue_id q, resource_id r, std::int64_t unit_seconds) noexcept {
  if (budgets_.empty()) return true;
  for (auto i = q.raw(); i != none; i = layout_.parent[i]) {
    const auto& b = budgets_[at(i, r)];
    if (unit_seconds < 0 ? b.spent < -unit_seconds : b.spent > max_quota - unit_seconds) return false;
  }
  for (auto i = q.raw(); i != none; i = layout_.parent[i]) budgets_[at(i, r)].spent += unit_seconds;
  return true;
}

BERTH_INLINE quota_amount queue_tree::budget_left(queue_id q, resource_id r) const noexcept {
  if (budgets_.empty()) return unlimited;
  const auto& b = budgets_[at(q.raw(), r)];
  return b.limit == unlimited ? unlimited : b.limit - b.spent - b.reserved;
}

BERTH_INLINE bool queue_tree::valid(queue_id q, std::span<const quota_demand> request,
                                    std::int64_t seconds) const noexcept {
  if (q.raw() >= queue_count() || seconds < 0) return false;
  std::uint32_t least_id = 0;
  for (const auto& d : request) {
    if (d.amount < 0 || d.amount > max_quota || d.resource.raw() < least_id || d.resource.raw() >= resources_)
      return false;
    prefetch_read(&hot_[at(q.raw(), d.resource)]);
    least_id = std::uint32_t{d.resource.raw()} + 1;
  }
  return true;
}

BERTH_INLINE admission queue_tree::special_limits(std::uint32_t i, std::span<const quota_demand> request, user_id user,
                                                  std::int64_t seconds) const noexcept {
  const auto f = layout_.flags[i];
  if ((f & quota_detail::stopped) != 0) return {quota_limit::inactive, queue_id{i}, {}, 0, 0};
  if ((f & quota_detail::limits_users) != 0 && user)
    for (const auto& d : request)
      if (const auto left = users_.left(i, user, d.resource); d.amount > left && d.amount > 0)
        return {quota_limit::user_limit, queue_id{i}, d.resource, d.amount, quota_detail::most(0, left)};
  if ((f & quota_detail::has_budget) != 0)
    for (const auto& d : request) {
      const auto left = budget_left(queue_id{i}, d.resource);
      const auto costs = quota_detail::multiply(d.amount, seconds);
      if (left != unlimited && d.amount > 0 && (costs > left || left <= 0))
        return {quota_limit::budget, queue_id{i}, d.resource, costs, quota_detail::most(0, left)};
    }
  return {};
}

BERTH_INLINE bool queue_tree::add_special(queue_id q, std::span<const quota_demand> request, user_id user,
                                          std::int64_t seconds) noexcept {
  for (auto i = q.raw(); i != none; i = layout_.parent[i]) {
    if ((layout_.flags[i] & quota_detail::limits_users) != 0 && user && !users_.make_row(i, user)) return false;
    if ((layout_.flags[i] & quota_detail::has_budget) != 0)
      for (const auto& d : request) {
        const auto costs = quota_detail::multiply(d.amount, seconds);
        if (costs == unlimited || budgets_[at(i, d.resource)].reserved > max_quota - costs) return false;
      }
  }
  for (auto i = q.raw(); i != none; i = layout_.parent[i])
    for (const auto& d : request) {
      if ((layout_.flags[i] & quota_detail::limits_users) != 0 && user) users_.add(i, user, d.resource, d.amount);
      if ((layout_.flags[i] & quota_detail::has_budget) != 0)
        budgets_[at(i, d.resource)].reserved += d.amount * seconds;
    }
  return true;
}

BERTH_INLINE bool queue_tree::remove_special(queue_id q, std::span<const quota_demand> request, user_id user,
                                             std::int64_t seconds) noexcept {
  for (auto i = q.raw(); i != none; i = layout_.parent[i])
    for (const auto& d : request) {
      if ((layout_.flags[i] & quota_detail::limits_users) != 0 && user && users_.used(i, user, d.resource) < d.amount)
        return false;
      if ((layout_.flags[i] & quota_detail::has_budget) != 0 &&
          budgets_[at(i, d.resource)].reserved < quota_detail::multiply(d.amount, seconds))
        return false;
    }
  for (auto i = q.raw(); i != none; i = layout_.parent[i])
    for (const auto& d : request) {
      if ((layout_.flags[i] & quota_detail::limits_users) != 0 && user) users_.add(i, user, d.resource, -d.amount);
      if ((layout_.flags[i] & quota_detail::has_budget) != 0)
        budgets_[at(i, d.resource)].reserved -= d.amount * seconds;
    }
  return true;
}

BERTH_INLINE expected<void, input_error> queue_tree::compile() {
  resources_ = static_cast<std::uint16_t>(spec_.resources.size());
  const std::size_t n = queue_count();
  cold_.resize(n * resources_);
  bool any_budget = false;
  for (std::uint32_t i = static_cast<std::uint32_t>(n); i-- > 0;) {
    const auto& q = spec(queue_id{i});
    const auto up = layout_.parent[i];
    if (!q.active) layout_.flags[i] |= quota_detail::stopped;
    for (std::uint16_t r = 0; r < resources_; ++r) {
      const auto& k = q.quota[r];
      auto& c = cold_[at(i, resource_id{r})];
      if (auto ok = quota_detail::check_quota(spec_, q, r, c.subtree); !ok) return ok;
      c.guarantee = k.guarantee;
      if (spec_.guarantees == guarantee_rule::own_plus_children) c.subtree += k.guarantee;
      else if (spec_.guarantees == guarantee_rule::as_given) c.subtree = k.guarantee;
      else c.subtree = quota_detail::most(c.subtree, k.guarantee);
      if (c.subtree > max_quota)
        return unexpected{input_error{spec_.source, q.line,
                                      "guarantees of " + spec_.resources[r].label() + " below queue '" + q.name +
                                          "' that add up to more than 2^62",
                                      "smaller amounts"}};
      c.cap = k.cap;
      if (spec_.rule == quota_rule::cohort) {
        c.local = k.lending_limit == unlimited ? 0 : quota_detail::most(0, c.subtree - k.lending_limit);
        c.ceiling = up == none ? c.subtree : quota_detail::add(c.subtree, k.borrowing_limit);
      } else if (up == none && r < spec_.capacity.size() && spec_.capacity[r]) {
        c.ceiling = *spec_.capacity[r];
      }
      if (up != none && spec_.guarantees != guarantee_rule::as_given) {
        auto& p = cold_[at(up, resource_id{r})].subtree;  // `unlimited` beyond the range: refused at the parent
        p = quota_detail::add(p, spec_.rule == quota_rule::cohort ? c.subtree - c.local : c.subtree);
      }
      if (k.budget != unlimited) any_budget = true, layout_.flags[i] |= quota_detail::has_budget;
    }
    if (!q.user_limits.empty()) layout_.flags[i] |= quota_detail::limits_users;
  }
  for (std::uint32_t i = 0; i < n; ++i)
    for (std::uint16_t r = 0; r < resources_; ++r) {
      auto& c = cold_[at(i, resource_id{r})];
      const auto up = layout_.parent[i];
      quota_amount p = c.ceiling;
      if (up != none) p = quota_detail::least(quota_detail::add(c.local, cold_[at(up, resource_id{r})].potential), p);
      c.potential = quota_detail::least(p, c.cap);
    }
  hot_.reserve(cold_.size());
  for (const auto& c : cold_) hot_.push_back({c.cap, c.ceiling, c.local});
  if (any_budget) {
    budgets_.resize(cold_.size());
    for (std::uint32_t i = 0; i < n; ++i)
      for (std::uint16_t r = 0; r < resources_; ++r)
        budgets_[at(i, resource_id{r})].limit = spec(queue_id{i}).quota[r].budget;
  }
  return users_.compile(spec_, layout_);
}

BERTH_INLINE const std::string& queue_tree::name(queue_id q) const noexcept {
  return spec(q).name;
}

BERTH_INLINE user_id queue_tree::find_user(const std::string& name) const {
  return users_.find_user(name);
}

BERTH_INLINE void queue_tree::reserve_users(std::size_t pairs) {
  users_.reserve(pairs);
}

}  // namespace berth
