#pragma once
/// \file
/// The shares of a whole tree under one policy, worked out when they are asked for and only where something changed.
///
/// A group of siblings divides what its parent has; roots divide the cluster's capacity (with `quota_rule::cohort`, a
/// root has its own quota instead). What a parent has is its share plus what its children keep for themselves
/// (`quota_cell::local`). A changed demand marks the groups on the path to the root, as far up as the change is felt. A
/// share that is read works out, from the root down, the marked groups on its path and those whose parent's share has
/// changed; all other groups stay as they are.
///
/// Complexity  `set_demand` O(depth). `share` O(depth) plus the divisions it makes. Memory O(queues × resources).
/// Allocation  the constructor; the workspace, until it has served the largest group.
/// Units       as `quota_tree`. Threads: none; `share` writes, so that a book belongs to one thread.

#include <Eigen/Core>
#include <cstddef>
#include <cstdint>
#include <tuple>
#include <utility>
#include <vector>

#include "berth/quota/division.hpp"
#include "berth/quota/queue_tree.hpp"

namespace berth {

/// Shares of the queues of a tree. The tree must outlive the book; its usage is not looked at.
template <division_policy Policy>
class share_book {
 public:
  explicit share_book(const queue_tree& t, Policy policy = {}) : t_{&t}, policy_{std::move(policy)} {
    const auto n = static_cast<Eigen::Index>(t.queue_count());
    const auto m = static_cast<Eigen::Index>(t.resource_count());
    for (auto* matrix :
         {&guarantee_, &deserved_, &cap_, &weight_, &local_, &ceiling_, &wanted_, &demand_, &share_, &given_})
      matrix->setZero(n, m);
    past_usage_.setZero(n, m);
    const auto size = static_cast<std::size_t>(n);
    marked_.assign(size + 1, 1);
    priority_.resize(size);
    created_.resize(size);
    lends_.resize(size);
    path_.reserve(64);
    for (std::uint32_t i = 0; i < t.queue_count(); ++i) {
      const auto& s = t.spec(queue_id{i});
      priority_[i] = s.priority;
      created_[i] = s.created_at;
      lends_[i] = s.lends ? 1 : 0;
      for (std::uint16_t r = 0; r < t.resource_count(); ++r) {
        const auto c = t.cell(queue_id{i}, resource_id{r});
        const auto& k = s.quota[r];
        guarantee_(i, r) = c.subtree;
        deserved_(i, r) = k.deserved.value_or(c.subtree);
        cap_(i, r) = c.cap;
        weight_(i, r) = k.weight.value_or(s.weight);
        local_(i, r) = c.local;
        ceiling_(i, r) = c.ceiling;
      }
    }
    const auto& d = t.description();
    capacity_.assign(t.resource_count(), 0);
    for (std::size_t r = 0; r < capacity_.size(); ++r) {
      unit_.push_back(d.resources[r].unit);
      if (r < d.capacity.size() && d.capacity[r]) {
        capacity_[r] = *d.capacity[r];
        continue;
      }
      // Not stated: what the roots are guaranteed.
      for (std::uint32_t i = 0; i < t.root_count(); ++i)
        capacity_[r] = quota_detail::add(capacity_[r], guarantee_(i, static_cast<Eigen::Index>(r)));
    }
    room_ = capacity_;
  }
  [[nodiscard]] const Policy& policy() const noexcept { return policy_; }

  /// Says what a queue's own jobs want of a resource, running and waiting. False where the amount is out of range, or
  /// the sum of the tree would be. O(depth).
  [[nodiscard]] bool set_demand(queue_id q, resource_id r, quota_amount amount) {
    if (!t_->contains(q) || r.raw() >= t_->resource_count() || amount < 0 || amount > max_quota) return false;
    const auto k = static_cast<Eigen::Index>(r.raw());
    quota_amount delta = amount - wanted_(at(q), k);
    for (auto i = q; i && delta > 0; i = t_->parent(i))
      if (demand_(at(i), k) > max_quota - delta) return false;
    wanted_(at(q), k) = amount;
    for (auto i = q; i && delta != 0; i = t_->parent(i)) {
      const auto before = rising(at(i), k);
      demand_(at(i), k) += delta;
      delta = rising(at(i), k) - before;
      mark(t_->parent(i));
    }
    return true;
  }
  [[nodiscard]] quota_amount demand(queue_id q, resource_id r) const noexcept {
    return demand_(at(q), static_cast<Eigen::Index>(r.raw()));
  }
  /// Past usage of a queue as a fraction of the capacity (KAI's time-based fair share). O(1).
  void set_past_usage(queue_id q, resource_id r, double fraction) {
    past_usage_(at(q), static_cast<Eigen::Index>(r.raw())) = fraction;
    mark(t_->parent(q));
  }
  /// What the roots divide. \pre 0 <= amount <= max_quota
  void set_capacity(resource_id r, quota_amount amount) {
    capacity_[r.index()] = amount;
    mark(queue_id{});
  }
  [[nodiscard]] quota_amount capacity(resource_id r) const noexcept { return capacity_[r.index()]; }

  /// The share of a queue, worked out now if need be.
  [[nodiscard]] quota_amount share(queue_id q, resource_id r) {
    refresh(q);
    return share_(at(q), static_cast<Eigen::Index>(r.raw()));
  }
  /// Works out the groups on the path to `q`, its own included.
  void refresh(queue_id q) {
    path_.clear();
    for (auto i = t_->parent(q); i; i = t_->parent(i)) path_.push_back(i.raw());
    update(queue_id{});
    for (auto k = path_.size(); k-- > 0;) update(queue_id{path_[k]});
  }
  /// All shares, rows by queue id. Works out every group that is out of date.
  [[nodiscard]] const quota_matrix& shares() {
    update(queue_id{});
    for (std::uint32_t i = 0; i < t_->queue_count(); ++i)
      if (t_->children(queue_id{i}).second > 0) update(queue_id{i});
    return share_;
  }
  /// How many groups were divided so far.
  [[nodiscard]] std::uint64_t divisions() const noexcept { return divisions_; }

 private:
  [[nodiscard]] static Eigen::Index at(queue_id q) noexcept { return static_cast<Eigen::Index>(q.raw()); }
  // What a queue asks of its parent: its demand up to its cap, less what it covers itself.
  [[nodiscard]] quota_amount rising(Eigen::Index i, Eigen::Index r) const noexcept {
    return quota_detail::most(0, quota_detail::least(demand_(i, r), cap_(i, r)) - local_(i, r));
  }
  void mark(queue_id parent) noexcept { marked_[parent ? parent.index() + 1 : 0] = 1; }

  void update(queue_id parent) {
    const auto m = static_cast<Eigen::Index>(t_->resource_count());
    std::uint32_t first = 0, count = t_->root_count();
    if (parent) std::tie(first, count) = t_->children(parent);
    if (m == 0 || count == 0) return;  // nothing to divide, or nobody: matrices without numbers have no rows either
    if (parent) {
      bool changed = marked_[parent.index() + 1] != 0;
      for (Eigen::Index r = 0; r < m; ++r) {
        changed = changed || given_(at(parent), r) != share_(at(parent), r);
        given_(at(parent), r) = share_(at(parent), r);
      }
      if (!changed) return;
      for (Eigen::Index r = 0; r < m; ++r) {
        auto& room = room_[static_cast<std::size_t>(r)];
        // The parent's own jobs come first.
        room = quota_detail::most(0, share_(at(parent), r) - wanted_(at(parent), r));
        for (std::uint32_t i = first; i < first + count; ++i) room = quota_detail::add(room, local_(i, r));
      }
    } else {
      if (marked_[0] == 0) return;
      room_ = capacity_;
    }
    marked_[parent ? parent.index() + 1 : 0] = 0;
    ++divisions_;
    if (!parent && t_->description().rule == quota_rule::cohort) {
      for (std::uint32_t i = 0; i < count; ++i)
        for (Eigen::Index r = 0; r < m; ++r)
          share_(i, r) = quota_detail::least(guarantee_(i, r), quota_detail::least(demand_(i, r), cap_(i, r)));
      return;
    }
    const auto rows = [&](const auto& matrix) { return matrix.middleRows(first, count); };
    const sibling_group g{rows(guarantee_),
                          rows(deserved_),
                          rows(demand_),
                          rows(cap_),
                          rows(weight_),
                          rows(local_),
                          rows(ceiling_),
                          rows(past_usage_),
                          {&priority_[first], count},
                          {&created_[first], count},
                          {&lends_[first], count},
                          room_,
                          unit_};
    policy_.divide(g, share_.middleRows(first, count), work_);
  }

  const queue_tree* t_;
  Policy policy_;
  quota_matrix guarantee_, deserved_, cap_, weight_, local_, ceiling_;
  quota_matrix wanted_;  ///< of the queue's own jobs
  quota_matrix demand_;  ///< of its subtree
  quota_matrix share_;
  quota_matrix given_;  ///< the share that the children's division started from
  Eigen::MatrixXd past_usage_;
  std::vector<std::int32_t> priority_;
  std::vector<std::int64_t> created_;
  std::vector<std::uint8_t> lends_;
  std::vector<std::uint8_t> marked_;  ///< groups out of date: that of the roots, then by parent
  std::vector<quota_amount> capacity_, room_, unit_;
  std::vector<std::uint32_t> path_;
  division_workspace work_;
  std::uint64_t divisions_ = 0;
};

}  // namespace berth
