#pragma once
/// \file
/// KAI's quota: fair shares at the beginning of a cycle, the order of queues, what a queue may not exceed. Needs Eigen.
/// Shares are `kai_division` down the tree, the order is `kai_queue_order`. Source: kai-scheduler/KAI-Scheduler
/// pkg/scheduler/plugins/proportion/ (proportion.go, queue_order/, capacity_policy/); peer_semantics items 41, 42.

#include <cstddef>
#include <cstdint>
#include <vector>

#include "berth/profile/kai_cluster.hpp"
#include "berth/quota/division/kai.hpp"
#include "berth/quota/order/kai.hpp"

namespace berth::kai {

/// What queues count: cpu, memory, GPUs.
inline constexpr std::size_t quota_resources = 3;

struct queue_books {
  quantities used, not_preemptible, asked, share;  ///< by quota resource
};

class quota {
 public:
  /// Charges what runs and what waits, and divides. O(pods × depth + queues).
  explicit quota(const cluster& c) : c_{&c}, books_(c.queues.size()), total_(quota_resources, 0) {
    for (auto& b : books_) b.used = b.not_preemptible = b.asked = b.share = quantities(quota_resources, 0);
    least_memory_ = most_memory_ = 0;
    for (const auto& n : c.nodes) {
      if (n.ready) add(total_, in_quota(n.total));
      if (n.gpu_memory <= 100) continue;  // not more than what an unknown device counts as
      if (least_memory_ == 0 || n.gpu_memory < least_memory_) least_memory_ = n.gpu_memory;
      if (n.gpu_memory > most_memory_) most_memory_ = n.gpu_memory;
    }
    if (least_memory_ == 0) least_memory_ = most_memory_ = 100;
    for (const auto& p : c.all_pods) {
      if (charged(p.state)) {
        const auto q = in_quota(p.node == nowhere ? p.request : accepted(c.nodes[p.node], p));
        charge(c.jobs[p.job], q, 1);
        ask(c.jobs[p.job], q);
      } else if (p.state == pod_state::pending) {
        ask(c.jobs[p.job], wanted({&p}, least_memory_));
      }
    }
    divide(nowhere, total_);
  }

  /// What resources count as: MIG slices are GPUs by their number of compute slices.
  [[nodiscard]] quantities in_quota(const quantities& q) const {
    quantities out(q.begin(), q.begin() + quota_resources);
    for (std::size_t r = first_other; r < q.size(); ++r) out[gpu] += q[r] * c_->gpus_per_unit[r];
    return out;
  }
  /// What pods ask, where `memory` MiB of a device count as one GPU.
  [[nodiscard]] quantities wanted(const std::vector<const pod*>& tasks, std::int64_t memory) const {
    quantities sum(quota_resources, 0);
    for (const auto* p : tasks) {
      add(sum, in_quota(p->request));
      if (p->kind == device_kind::memory) sum[gpu] += p->devices * p->memory_mib * one / memory;
    }
    return sum;
  }
  [[nodiscard]] std::int64_t least_memory() const noexcept { return least_memory_; }
  [[nodiscard]] std::int64_t most_memory() const noexcept { return most_memory_; }
  [[nodiscard]] const queue_books& books(std::size_t q) const noexcept { return books_[q]; }

  void charge(const job& j, const quantities& q, std::int64_t sign) {
    for (auto at = j.queue; at != nowhere; at = c_->queues[at].parent) {
      add(books_[at].used, q, sign);
      if (!j.preemptible) add(books_[at].not_preemptible, q, sign);
    }
  }
  /// Whether `q` more stays within the limits of the job's queues, and, where it cannot be preempted, within what they
  /// deserve.
  [[nodiscard]] bool allowed(const job& j, const quantities& q) const {
    for (auto at = j.queue; at != nowhere; at = c_->queues[at].parent)
      for (std::size_t r = 0; r < quota_resources; ++r) {
        if (q[r] == 0) continue;
        const auto& d = c_->queues[at];
        if (d.limit[r] != unlimited && books_[at].used[r] + q[r] > d.limit[r]) return false;
        if (!j.preemptible && d.deserved[r] != unlimited && books_[at].not_preemptible[r] + q[r] > d.deserved[r])
          return false;
      }
    return true;
  }
  /// Whether queue a goes before its sibling b with these heads.
  [[nodiscard]] bool before(std::size_t a, const quantities& head_a, std::size_t b, const quantities& head_b) const {
    return kai_queue_order{}.before(standing(a, head_a), standing(b, head_b), total_);
  }
  /// May take back from others: stays within its share, and without preemption within what it deserves.
  [[nodiscard]] bool may_reclaim(const job& j, const quantities& q) const {
    for (std::size_t r = 0; r < quota_resources; ++r)
      if (books_[j.queue].used[r] + q[r] > books_[j.queue].share[r]) return false;
    for (auto at = j.queue; !j.preemptible && at != nowhere; at = c_->queues[at].parent)
      for (std::size_t r = 0; r < quota_resources; ++r) {
        const auto d = c_->queues[at].deserved[r];
        if (d != unlimited && books_[at].not_preemptible[r] + q[r] > d) return false;
      }
    return true;
  }
  /// What taking from another queue for `q` more in the job's queue takes: seen from the two ancestors below the lowest
  /// common one, once `gone` has left there. reclaimable/.
  struct claim {
    bool considered = false;  ///< the taker stays within what it deserves and the other is not only below; or as below
    bool granted = false;     ///< the other has more than it may have; or the taker stays within what it deserves and
                              ///< the other has more than that
  };
  [[nodiscard]] claim claim_on(const job& j, const quantities& q, std::size_t victim,
                               const quantities& gone = {}) const {
    const auto up = path(j.queue), down = path(victim);
    std::size_t i = 0;
    while (i + 1 < up.size() && i + 1 < down.size() && up[i] == down[i]) ++i;
    const auto a = up[i], b = down[i];
    const auto s = standing(b, {});
    auto used = books_[b].used;
    add(used, gone, -1);
    bool deserves = true, over_share = false, over = false, over_asked = false, under_asked = false;
    for (std::size_t r = 0; r < quota_resources; ++r) {
      const auto mine = c_->queues[a].deserved[r], d = c_->queues[b].deserved[r];
      deserves = deserves && (mine == unlimited || books_[a].used[r] + q[r] <= mine);
      over_share = over_share || used[r] > kai_queue_order::allocatable(s, r);
      if (d == unlimited) continue;
      over = over || used[r] > d;
      over_asked = over_asked || (q[r] > 0 && used[r] > d);
      under_asked = under_asked || (q[r] > 0 && used[r] < d);
    }
    return {deserves ? over_asked || !under_asked : over_share, over_share || (deserves && over)};
  }

 private:
  [[nodiscard]] std::vector<std::size_t> path(std::size_t q) const {
    std::vector<std::size_t> up;
    for (; q != nowhere; q = c_->queues[q].parent) up.insert(up.begin(), q);
    return up;
  }
  [[nodiscard]] queue_standing standing(std::size_t q, const quantities& head) const {
    const auto& d = c_->queues[q];
    const auto& b = books_[q];
    return {b.used,    d.deserved,
            d.limit,   b.share,
            {},        head,
            {},        static_cast<std::int32_t>(d.priority),
            d.created, static_cast<std::uint32_t>(q)};
  }
  void ask(const job& j, const quantities& q) {
    for (auto at = j.queue; at != nowhere; at = c_->queues[at].parent) add(books_[at].asked, q);
  }
  void divide(std::size_t parent, const quantities& amount) {
    std::vector<std::size_t> rows;
    for (std::size_t q = 0; q < c_->queues.size(); ++q)
      if (c_->queues[q].parent == parent) rows.push_back(q);
    if (rows.empty()) return;
    division_problem p{static_cast<Eigen::Index>(rows.size()), static_cast<Eigen::Index>(quota_resources)};
    p.capacity.assign(amount.begin(), amount.end());
    // Rounding is to millicores, bytes and whole GPUs.
    p.unit = {1, 1, one};
    for (std::size_t i = 0; i < rows.size(); ++i) {
      const auto& d = c_->queues[rows[i]];
      const auto e = static_cast<Eigen::Index>(i);
      for (std::size_t r = 0; r < quota_resources; ++r) {
        const auto k = static_cast<Eigen::Index>(r);
        p.guarantee(e, k) = d.deserved[r];
        p.cap(e, k) = d.limit[r];
        p.demand(e, k) = books_[rows[i]].asked[r];
        p.weight(e, k) = d.weight[r];
      }
      p.priority[i] = static_cast<std::int32_t>(d.priority);
      p.created_at[i] = d.created;
    }
    const auto shares = p.divided_by(kai_division{});
    for (std::size_t i = 0; i < rows.size(); ++i) {
      for (std::size_t r = 0; r < quota_resources; ++r)
        books_[rows[i]].share[r] = shares(static_cast<Eigen::Index>(i), static_cast<Eigen::Index>(r));
      divide(rows[i], books_[rows[i]].share);
    }
  }

  const cluster* c_;
  std::vector<queue_books> books_;
  quantities total_;
  std::int64_t least_memory_ = 0, most_memory_ = 0;
};

}  // namespace berth::kai
