#pragma once
/// \file
/// Bodies of `berth/quota/detail/compile_tree.hpp`.

#include <utility>

#include "berth/quota/detail/compile_tree.hpp"

namespace berth::quota_detail {

BERTH_INLINE unexpected<input_error> queue_fault(const queue_tree_spec& s, const queue_spec& q, std::string found,
                                                 std::string expected_text) {
  return unexpected<input_error>{
      input_error{s.source, q.line, std::move(found) + " at queue '" + q.name + "'", std::move(expected_text)}};
}

BERTH_INLINE expected<tree_layout, input_error> order_queues(const queue_tree_spec& s) {
  constexpr std::uint32_t none = queue_id{}.raw();
  if (s.queues.size() >= none || s.resources.size() >= resource_id{}.raw())
    return unexpected{input_error{
        s.source, 0,
        std::to_string(s.queues.size()) + " queues and " + std::to_string(s.resources.size()) + " resources",
        "fewer than 2^32 and 65,535"}};
  const auto n = static_cast<std::uint32_t>(s.queues.size());
  std::unordered_map<std::string, std::uint32_t> position;
  position.reserve(n);
  for (std::uint32_t i = 0; i < n; ++i) {
    const auto& q = s.queues[i];
    if (q.name.empty()) return queue_fault(s, q, "no name", "a name");
    if (q.quota.size() != s.resources.size())
      return queue_fault(s, q, std::to_string(q.quota.size()) + " resources", std::to_string(s.resources.size()));
    if (q.weight < 0 || q.weight > max_quota)
      return queue_fault(s, q, "weight " + std::to_string(q.weight), "thousandths from 0 to 2^62");
    const auto [it, fresh] = position.emplace(q.name, i);
    if (!fresh) {
      const auto& other = s.queues[it->second];
      if (other.parent != q.parent)
        return queue_fault(s, q, "two parents, '" + other.parent + "' and '" + q.parent + "',", "one parent");
      return queue_fault(s, q, "the same name a second time", "every queue once");
    }
  }
  // Children of every queue as linked lists, so that no recursion and no vector per queue is needed.
  std::vector<std::uint32_t> first(n, none), last(n, none), next(n, none), roots;
  for (std::uint32_t i = 0; i < n; ++i) {
    const auto& q = s.queues[i];
    if (q.parent.empty()) {
      roots.push_back(i);
      continue;
    }
    const auto p = position.find(q.parent);
    if (p == position.end()) return queue_fault(s, q, "unknown parent '" + q.parent + "'", "the name of a queue");
    auto& tail = last[p->second];
    (tail == none ? first[p->second] : next[tail]) = i;
    tail = i;
  }
  tree_layout t;
  t.spec_of = std::move(roots);
  t.roots = static_cast<std::uint32_t>(t.spec_of.size());
  t.parent.assign(t.roots, none);
  t.spec_of.reserve(n);
  for (std::uint32_t i = 0; i < t.spec_of.size(); ++i) {
    t.first_child.push_back(static_cast<std::uint32_t>(t.spec_of.size()));
    for (auto c = first[t.spec_of[i]]; c != none; c = next[c]) {
      t.spec_of.push_back(c);
      t.parent.push_back(i);
    }
    t.child_count.push_back(static_cast<std::uint32_t>(t.spec_of.size()) - t.first_child.back());
  }
  if (t.spec_of.size() != n) {
    // What was not reached hangs below a cycle. Following parents from there ends in the cycle itself.
    std::vector<bool> seen(n, false), reached(n, false);
    for (const auto i : t.spec_of) reached[i] = true;
    std::uint32_t at = 0;
    while (reached[at]) ++at;
    while (!seen[at]) {
      seen[at] = true;
      at = position.at(s.queues[at].parent);
    }
    return queue_fault(s, s.queues[at], "a cycle of parents", "parents that lead to a root");
  }
  for (std::uint32_t i = 0; i < n; ++i) t.id_of.emplace(s.queues[t.spec_of[i]].name, i);
  t.flags.assign(n, 0);
  return t;
}

BERTH_INLINE expected<void, input_error> check_quota(const queue_tree_spec& s, const queue_spec& q, std::size_t r,
                                                     quota_amount below) {
  const auto& k = q.quota[r];
  const auto& name = s.resources[r].label();
  const auto bad = [](quota_amount a, bool may_be_unlimited) {
    return a < 0 || (a > max_quota && !(may_be_unlimited && a == unlimited));
  };
  constexpr const char* form = "an amount from 0 to 2^62";
  if (bad(k.guarantee, false))
    return queue_fault(s, q, "guarantee " + std::to_string(k.guarantee) + " of " + name, form);
  const std::pair<const char*, quota_amount> limits[] = {
      {"borrowing limit", k.borrowing_limit}, {"lending limit", k.lending_limit}, {"cap", k.cap}, {"budget", k.budget}};
  for (const auto& [what, a] : limits)
    if (bad(a, true)) return queue_fault(s, q, std::string{what} + " " + std::to_string(a) + " of " + name, form);
  if (k.deserved && bad(*k.deserved, false))
    return queue_fault(s, q, "deserved amount " + std::to_string(*k.deserved) + " of " + name, form);
  if (k.weight && bad(*k.weight, false))
    return queue_fault(s, q, "weight " + std::to_string(*k.weight) + " of " + name, form);
  if (below > max_quota || (below > max_quota - k.guarantee && s.guarantees == guarantee_rule::own_plus_children))
    return queue_fault(s, q, "guarantees of " + name + " that add up to more than 2^62", "smaller amounts");
  if (s.guarantees == guarantee_rule::own_plus_children && below + k.guarantee > k.cap)
    return queue_fault(
        s, q, "guarantees of " + std::to_string(below + k.guarantee) + " of " + name + " in the queue and below",
        "at most its cap " + std::to_string(k.cap));
  if (s.guarantees == guarantee_rule::at_least_children) {
    if (k.guarantee != 0 && below > k.guarantee)
      return queue_fault(s, q, "children that are guaranteed " + std::to_string(below) + " of " + name,
                         "at most the " + std::to_string(k.guarantee) + " of the queue itself");
    if (most(below, k.guarantee) > k.cap)
      return queue_fault(s, q, "a guarantee of " + std::to_string(most(below, k.guarantee)) + " of " + name,
                         "at most the cap " + std::to_string(k.cap));
  }
  return {};
}

}  // namespace berth::quota_detail
