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
#include "berth/core/separate.hpp"
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
  [[nodiscard]] static expected<queue_tree, input_error> build(queue_tree_spec spec);
  queue_tree() = default;
  queue_tree(queue_tree&&) noexcept = default;
  queue_tree& operator=(queue_tree&&) noexcept = default;

  [[nodiscard]] std::uint32_t queue_count() const noexcept { return static_cast<std::uint32_t>(layout_.parent.size()); }
  [[nodiscard]] std::uint16_t resource_count() const noexcept { return resources_; }
  [[nodiscard]] bool contains(queue_id q) const noexcept { return q.raw() < queue_count(); }
  [[nodiscard]] const queue_spec& spec(queue_id q) const noexcept { return spec_.queues[layout_.spec_of[q.index()]]; }
  [[nodiscard]] const std::string& name(queue_id q) const noexcept;
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
  [[nodiscard]] std::uint32_t depth(queue_id q) const noexcept;
  /// The numbers of one queue and resource as they are now. O(1).
  [[nodiscard]] quota_cell cell(queue_id q, resource_id r) const noexcept;
  /// The queue of that name, or "none". O(1) on average.
  [[nodiscard]] queue_id find(const std::string& name) const;
  /// The resource of that name and pool, or "none". O(resources).
  [[nodiscard]] resource_id find_resource(std::string_view name, std::string_view pool = {}) const noexcept;
  /// Users with limits of their own have the first ids, in the order in which the description names them; "none" else.
  [[nodiscard]] user_id find_user(const std::string& name) const;

  /// Makes room for usage of `pairs` pairs of a queue that limits users and a user. Allocates.
  void reserve_users(std::size_t pairs);

  /// How much of a resource could be admitted at a queue now: \f$available\f$ above, and not more than the caps leave.
  [[nodiscard]] quota_amount available(queue_id q, resource_id r) const noexcept;

  /// May the request be added to the queue now? `request` names each resource once, in rising order of ids.
  /// `seconds`: how long it will run at most; only budgets look at it.
  [[nodiscard]] admission may_admit(queue_id q, std::span<const quota_demand> request, user_id user = {},
                                    std::int64_t seconds = 0) const noexcept;

  /// Adds usage without asking: for what runs already. Whole or not at all: `invalid_request`, `capacity_exhausted`
  /// and sums beyond `max_quota` (reported as `invalid_request`) change nothing.
  admission add_usage(queue_id q, std::span<const quota_demand> request, user_id user = {},
                      std::int64_t seconds = 0) noexcept;
  /// `may_admit`, and if so `add_usage`.
  admission admit(queue_id q, std::span<const quota_demand> request, user_id user = {},
                  std::int64_t seconds = 0) noexcept;
  /// Takes back what `add_usage` or `admit` added, with the same arguments. More than was added is `invalid_request`
  /// and changes nothing.
  admission remove_usage(queue_id q, std::span<const quota_demand> request, user_id user = {},
                         std::int64_t seconds = 0) noexcept;

  /// Books unit-seconds that were used, at the queue and all above it. False, and nothing booked, when the sum would
  /// pass `max_quota` or a queue would have spent less than nothing (take back with a negative amount).
  [[nodiscard]] bool charge(queue_id q, resource_id r, std::int64_t unit_seconds) noexcept;
  /// Unit-seconds left at a queue: budget - spent - what running requests may still spend; `unlimited` without one.
  [[nodiscard]] quota_amount budget_left(queue_id q, resource_id r) const noexcept;
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
  [[nodiscard]] expected<queue_tree, input_error> copy() const;

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
  [[nodiscard]] bool valid(queue_id q, std::span<const quota_demand> request, std::int64_t seconds) const noexcept;
  [[nodiscard]] quota_amount used(std::uint32_t q, resource_id r) const noexcept {
    return cold_[at(q, r)].cap - hot_[at(q, r)].cap;
  }
  // Stopped queues, users and budgets: rare, hence apart from the cells.
  [[nodiscard]] admission special_limits(std::uint32_t i, std::span<const quota_demand> request, user_id user,
                                         std::int64_t seconds) const noexcept;
  // \returns whether there was room for the user's rows and the sums stay in range; if not, nothing has changed
  bool add_special(queue_id q, std::span<const quota_demand> request, user_id user, std::int64_t seconds) noexcept;
  bool remove_special(queue_id q, std::span<const quota_demand> request, user_id user, std::int64_t seconds) noexcept;

  expected<void, input_error> compile();

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

#if BERTH_WITH_BODIES
#include "berth/quota/impl/queue_tree.hpp"
#endif
