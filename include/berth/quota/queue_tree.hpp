#pragma once
/// \file
/// The queue tree: who may use how much of what. Guarantees, borrowing and lending limits, caps, limits per user and
/// budgets, checked along the path from a queue to its root.
///
/// Source      Guarantees that are lent and borrowed: Kueue's quota tree, pkg/cache/scheduler/resource_node.go in
///             kubernetes-sigs/kueue. With S = own guarantee + sum over children (S - L) and L = max(0, S - lending
///             limit), usage climbs to the parent only above L, and
///                 available = max(0, L - used) + min(available(parent), S - L - max(0, used - L) + borrowing limit),
///             at the root S - used. Caps hold for all usage of a subtree, whatever was lent.
/// Complexity  `may_admit`, `add_usage`, `remove_usage`, `charge`: O(depth × resources asked). `build`: O(queues ×
///             resources) time and memory.
/// Allocation  `build` and `reserve_users` only. The calls above are noexcept and do not allocate, lock or throw.
/// Threads     none of its own; const calls may run side by side.

#include <cassert>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <new>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "berth/core/error.hpp"
#include "berth/core/expected.hpp"
#include "berth/core/prefetch.hpp"
#include "berth/quota/amount.hpp"
#include "berth/quota/detail/compile_tree.hpp"
#include "berth/quota/detail/user_table.hpp"
#include "berth/quota/queue_spec.hpp"

namespace berth {

/// How much of which resource.
struct quota_demand {
  resource_id resource;
  quota_amount amount = 0;
};

/// What refuses a request.
enum class quota_limit : std::uint8_t {
  none,                ///< nothing: admitted
  guarantees,          ///< everything that the tree has or lends is in use, at the root named
  borrowing_limit,     ///< the queue named may not borrow as much
  cap,                 ///< the queue named may not use as much
  user_limit,          ///< the user may not use as much of the queue named
  budget,              ///< the queue named has not so many unit-seconds left
  inactive,            ///< the queue named is stopped
  capacity_exhausted,  ///< more (queue, user) pairs than reserved
  invalid_request,     ///< no such queue or resource, a negative amount, or resources not in rising order
};
[[nodiscard]] constexpr std::string_view name_of(quota_limit l) noexcept {
  constexpr std::string_view names[] = {"none",     "guarantees",         "borrowing_limit",
                                        "cap",      "user_limit",         "budget",
                                        "inactive", "capacity_exhausted", "invalid_request"};
  return names[static_cast<std::size_t>(l)];
}

/// The answer to "may it?": yes, or which limit at which queue refuses which resource.
struct admission {
  quota_limit refused_by = quota_limit::none;
  queue_id queue;              ///< where the limit stands
  resource_id resource;        ///< none for `inactive`
  quota_amount asked = 0;      ///< what would have to fit there: the part of the request that reaches this queue
  quota_amount available = 0;  ///< what would fit there
  constexpr explicit operator bool() const noexcept { return refused_by == quota_limit::none; }
};

/// One queue's numbers of one resource.
struct quota_cell {
  quota_amount local = 0;            ///< L: quota of the subtree that is not for others
  quota_amount ceiling = unlimited;  ///< most that `climbed` may reach: S + borrowing limit, S at a root
  quota_amount cap = unlimited;
  quota_amount climbed = 0;    ///< usage that reached this queue after what its children covered themselves
  quota_amount used = 0;       ///< usage of the whole subtree
  quota_amount guarantee = 0;  ///< the queue's own number
  quota_amount subtree = 0;    ///< S
  quota_amount potential = 0;  ///< the most it could use were all others idle
};

/// A compiled tree and its usage. Movable, not copyable by accident: use `copy`.
class queue_tree {
 public:
  /// Compiles a description. Errors name file, line and queue: a name twice, an unknown parent, a cycle, amounts out of
  /// range, guarantees of children above their parent's where `guarantee_rule::at_least_children` forbids it.
  [[nodiscard]] static expected<queue_tree, input_error> build(queue_tree_spec spec) {
    auto order = quota_detail::order_queues(spec);
    if (!order) return unexpected{order.error()};
    queue_tree t;
    t.spec_ = std::move(spec);
    t.layout_ = std::move(*order);
    if (auto ok = t.compile(); !ok) return unexpected{ok.error()};
    return t;
  }
  queue_tree() = default;
  queue_tree(queue_tree&&) noexcept = default;
  queue_tree& operator=(queue_tree&&) noexcept = default;

  [[nodiscard]] std::uint32_t queue_count() const noexcept { return static_cast<std::uint32_t>(layout_.parent.size()); }
  [[nodiscard]] std::uint16_t resource_count() const noexcept { return resources_; }
  [[nodiscard]] bool contains(queue_id q) const noexcept { return q.raw() < queue_count(); }
  [[nodiscard]] const queue_spec& spec(queue_id q) const noexcept { return spec_.queues[layout_.spec_of[q.index()]]; }
  [[nodiscard]] const std::string& name(queue_id q) const noexcept { return spec(q).name; }
  [[nodiscard]] const quota_resource& resource(resource_id r) const noexcept { return spec_.resources[r.index()]; }
  [[nodiscard]] const queue_tree_spec& description() const noexcept { return spec_; }
  /// "none" for a root.
  [[nodiscard]] queue_id parent(queue_id q) const noexcept { return queue_id{layout_.parent[q.index()]}; }
  /// Children are the ids [first, first + count).
  [[nodiscard]] std::pair<std::uint32_t, std::uint32_t> children(queue_id q) const noexcept {
    return {layout_.first_child[q.index()], layout_.child_count[q.index()]};
  }
  /// Roots are the ids [0, root_count()).
  [[nodiscard]] std::uint32_t root_count() const noexcept { return layout_.roots; }
  /// Number of queues on the path to the root, itself included.
  [[nodiscard]] std::uint32_t depth(queue_id q) const noexcept {
    std::uint32_t n = 0;
    for (auto i = q.raw(); i != none; i = layout_.parent[i]) ++n;
    return n;
  }
  /// The numbers of one queue and resource as they are now. O(1).
  [[nodiscard]] quota_cell cell(queue_id q, resource_id r) const noexcept {
    quota_cell c = cold_[at(q.raw(), r)];
    const room& h = hot_[at(q.raw(), r)];
    c.used = c.cap - h.cap;
    c.climbed = c.ceiling - h.ceiling;
    return c;
  }
  /// The queue of that name, or "none". O(1) on average.
  [[nodiscard]] queue_id find(const std::string& name) const {
    const auto i = layout_.id_of.find(name);
    return i == layout_.id_of.end() ? queue_id{} : queue_id{i->second};
  }
  /// The resource of that name and pool, or "none". O(resources).
  [[nodiscard]] resource_id find_resource(std::string_view name, std::string_view pool = {}) const noexcept {
    for (std::size_t i = 0; i < spec_.resources.size(); ++i)
      if (spec_.resources[i].name == name && spec_.resources[i].pool == pool)
        return resource_id{static_cast<std::uint16_t>(i)};
    return {};
  }
  /// Users with limits of their own have the first ids, in the order in which the description names them; "none" else.
  [[nodiscard]] user_id find_user(const std::string& name) const { return users_.find_user(name); }

  /// Makes room for usage of `pairs` pairs of a queue that limits users and a user. Allocates.
  void reserve_users(std::size_t pairs) { users_.reserve(pairs); }

  /// How much of a resource could be admitted at a queue now: \f$available\f$ above, and not more than the caps leave.
  [[nodiscard]] quota_amount available(queue_id q, resource_id r) const noexcept {
    quota_amount fits = unlimited, covered = 0;
    for (auto i = q.raw(); i != none; i = layout_.parent[i]) {
      const room& h = hot_[at(i, r)];
      if (h.cap <= max_quota) fits = quota_detail::least(fits, h.cap);
      if (h.ceiling <= max_quota) fits = quota_detail::least(fits, covered + h.ceiling);
      covered += quota_detail::most(0, h.local);
    }
    return fits == unlimited ? unlimited : quota_detail::most(0, fits);
  }

  /// May the request be added to the queue now? `request` names each resource once, in rising order of ids.
  /// `seconds`: how long it will run at most; only budgets look at it.
  [[nodiscard]] admission may_admit(queue_id q, std::span<const quota_demand> request, user_id user = {},
                                    std::int64_t seconds = 0) const noexcept {
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
        if (d.amount > h.cap)
          return {quota_limit::cap, queue_id{i}, d.resource, d.amount, quota_detail::most(0, h.cap)};
        // Also where `rising` is not positive: above a queue that was cut below its usage nothing is free.
        if (rising > h.ceiling)
          return {layout_.parent[i] == none ? quota_limit::guarantees : quota_limit::borrowing_limit, queue_id{i},
                  d.resource, quota_detail::most(0, rising), quota_detail::most(0, h.ceiling)};
        rising -= quota_detail::most(0, h.local);
      }
    }
    return {};
  }

  /// Adds usage without asking: for what runs already. Whole or not at all: `invalid_request`, `capacity_exhausted`
  /// and sums beyond `max_quota` (reported as `invalid_request`) change nothing.
  admission add_usage(queue_id q, std::span<const quota_demand> request, user_id user = {},
                      std::int64_t seconds = 0) noexcept {
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
  /// `may_admit`, and if so `add_usage`.
  admission admit(queue_id q, std::span<const quota_demand> request, user_id user = {},
                  std::int64_t seconds = 0) noexcept {
    const auto a = may_admit(q, request, user, seconds);
    return a ? add_usage(q, request, user, seconds) : a;
  }
  /// Takes back what `add_usage` or `admit` added, with the same arguments. More than was added is `invalid_request`
  /// and changes nothing.
  admission remove_usage(queue_id q, std::span<const quota_demand> request, user_id user = {},
                         std::int64_t seconds = 0) noexcept {
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

  /// Books unit-seconds that were used, at the queue and all above it. False, and nothing booked, when the sum would
  /// pass `max_quota` or a queue would have spent less than nothing (take back with a negative amount).
  [[nodiscard]] bool charge(queue_id q, resource_id r, std::int64_t unit_seconds) noexcept {
    if (budgets_.empty()) return true;
    for (auto i = q.raw(); i != none; i = layout_.parent[i]) {
      const auto& b = budgets_[at(i, r)];
      if (unit_seconds < 0 ? b.spent < -unit_seconds : b.spent > max_quota - unit_seconds) return false;
    }
    for (auto i = q.raw(); i != none; i = layout_.parent[i]) budgets_[at(i, r)].spent += unit_seconds;
    return true;
  }
  /// Unit-seconds left at a queue: budget - spent - what running requests may still spend; `unlimited` without one.
  [[nodiscard]] quota_amount budget_left(queue_id q, resource_id r) const noexcept {
    if (budgets_.empty()) return unlimited;
    const auto& b = budgets_[at(q.raw(), r)];
    return b.limit == unlimited ? unlimited : b.limit - b.spent - b.reserved;
  }
  /// Sets what was spent so far in the window that budgets speak of, at one queue alone. \pre 0 <= amount <= max_quota
  void set_spent(queue_id q, resource_id r, quota_amount amount) noexcept {
    if (!budgets_.empty()) budgets_[at(q.raw(), r)].spent = amount;
  }
  /// What a user uses of a queue that limits users; 0 where nothing is known. O(1).
  [[nodiscard]] quota_amount user_usage(queue_id q, user_id u, resource_id r) const noexcept {
    return users_.used(q.raw(), u, r);
  }
  /// Rises with every change of usage.
  [[nodiscard]] std::uint64_t epoch() const noexcept { return epoch_; }
  /// The same tree without usage.
  [[nodiscard]] expected<queue_tree, input_error> copy() const { return build(spec_); }

 private:
  static constexpr std::uint32_t none = queue_id{}.raw();
  // What is left before each limit, all that admission reads: eight resources of a queue fill three cache lines.
  // Where there is no limit, more than `max_quota` is left whatever is used.
  struct room {
    quota_amount cap = unlimited;      // cap - used
    quota_amount ceiling = unlimited;  // ceiling - climbed
    quota_amount local = 0;            // local - climbed
  };
  struct budget {
    quota_amount limit = unlimited, spent = 0, reserved = 0;
  };

  [[nodiscard]] std::size_t at(std::uint32_t q, resource_id r) const noexcept {
    return std::size_t{q} * resources_ + r.index();
  }
  [[nodiscard]] bool valid(queue_id q, std::span<const quota_demand> request, std::int64_t seconds) const noexcept {
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
  [[nodiscard]] quota_amount used(std::uint32_t q, resource_id r) const noexcept {
    return cold_[at(q, r)].cap - hot_[at(q, r)].cap;
  }
  // Stopped queues, users and budgets: rare, hence apart from the cells.
  [[nodiscard]] admission special_limits(std::uint32_t i, std::span<const quota_demand> request, user_id user,
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
  // \returns whether there was room for the user's rows and the sums stay in range; if not, nothing has changed
  bool add_special(queue_id q, std::span<const quota_demand> request, user_id user, std::int64_t seconds) noexcept {
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
  bool remove_special(queue_id q, std::span<const quota_demand> request, user_id user, std::int64_t seconds) noexcept {
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

  expected<void, input_error> compile() {
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

  queue_tree_spec spec_;
  quota_detail::tree_layout layout_;
  std::uint16_t resources_ = 0;
  std::vector<room> hot_;
  std::vector<quota_cell> cold_;  // without usage
  std::vector<budget> budgets_;
  quota_detail::user_table users_;
  std::uint64_t epoch_ = 0;
};

}  // namespace berth
