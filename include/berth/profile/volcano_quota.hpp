#pragma once
/// \file
/// Volcano's quota plugins: proportion (shares by weight), capacity (three numbers per queue, flat or as a tree), and
/// the dominant share of jobs (drf). Needs Eigen. Shares by weight are `volcano_proportion`. Source: volcano-sh/volcano
/// pkg/scheduler/plugins/proportion/, plugins/capacity/, plugins/drf/; peer_semantics item 44.

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "berth/profile/volcano_cluster.hpp"
#include "berth/quota/division/volcano.hpp"

namespace berth::volcano {

enum class quota_kind : std::uint8_t { proportion, capacity, hierarchical_capacity };

/// Which plugin counts, and what it decides beside the order of queues: a site switches each of these on by itself.
struct quota_rules {
  quota_kind kind = quota_kind::proportion;
  bool limits_tasks = true;    ///< no task beyond what the queue may have (EnabledAllocatable)
  bool skips_overused = true;  ///< no job of a queue that has all it deserves (EnabledOverused)
};

class quota {
 public:
  quota(const cluster& c, quota_rules rules) : c_{&c}, rules_{rules}, kind_{rules.kind}, total_{c.total()} {
    const auto m = c.resources.size();
    books_.resize(c.queues.size());
    for (auto& b : books_)
      b.used.assign(m, 0), b.asked.assign(m, 0), b.deserved.assign(m, 0), b.most.assign(m, no_limit);
    for (const auto& t : c.tasks) {
      const auto q = c.jobs[t.job].queue;
      if (q == nowhere) continue;
      if (holds(t.state)) charge(q, t.request, 1);
      if (holds(t.state) || t.state == task_state::pending)
        for (auto at = q; at != nowhere; at = parent(at)) add(books_[at].asked, t.request);
    }
    if (kind_ == quota_kind::hierarchical_capacity) build_tree();
    else build_flat();
  }

  /// Whether anything is scheduled at all: a tree of queues with a root, jobs in its leaves only.
  [[nodiscard]] bool usable() const noexcept { return usable_; }
  void charge(std::size_t q, const quantities& request, std::int64_t sign) {
    for (auto at = q; at != nowhere; at = parent(at)) add(books_[at].used, request, sign);
  }
  /// Whether the queue, and in a tree all above it, may take a task. Only resources that it asks count.
  [[nodiscard]] bool allows(std::size_t q, const quantities& request) const {
    if (!rules_.limits_tasks) return true;
    if (!c_->queues[q].open || !usable_) return false;
    if (kind_ == quota_kind::hierarchical_capacity && !c_->queues[q].leaf) return false;
    for (auto at = q; at != nowhere; at = parent(at)) {
      const auto& most = kind_ == quota_kind::proportion ? books_[at].deserved : books_[at].most;
      for (std::size_t r = 0; r < request.size(); ++r)
        if (request[r] > 0 && books_[at].used[r] + request[r] > most[r]) return false;
    }
    return true;
  }
  /// Whether a job may be considered at all; `waiting` is what jobs that are considered and do not run yet will take.
  [[nodiscard]] bool admits(const job& j, const std::vector<quantities>& waiting) const {
    if (!usable_ || !c_->queues[j.queue].open) return false;
    if (kind_ == quota_kind::hierarchical_capacity && !c_->queues[j.queue].leaf) return false;
    if (!j.least_request) return true;
    for (auto at = j.queue; at != nowhere; at = parent(at))
      for (std::size_t r = 0; r < j.least_request->size(); ++r) {
        const auto asks = (*j.least_request)[r];
        if (asks > 0 && books_[at].most[r] != no_limit &&
            asks + books_[at].used[r] + waiting[at][r] > books_[at].most[r])
          return false;
      }
    return true;
  }
  /// Proportion: has all it deserves.
  [[nodiscard]] bool overused(std::size_t q) const {
    return rules_.skips_overused && kind_ == quota_kind::proportion && within(books_[q].deserved, books_[q].used);
  }
  /// Higher priority, then the smaller share; in a tree of the two ancestors below the lowest common one; then who
  /// deserves anything; then by name.
  [[nodiscard]] bool before(std::size_t a, std::size_t b) const {
    const auto &x = c_->queues[a], &y = c_->queues[b];
    if (x.priority != y.priority) return x.priority > y.priority;
    auto p = a, q = b;
    if (kind_ == quota_kind::hierarchical_capacity && x.leaf != y.leaf) return x.leaf;
    if (kind_ == quota_kind::hierarchical_capacity && x.leaf) {
      const auto up = path(a), down = path(b);
      std::size_t i = 0;
      while (i + 1 < up.size() && i + 1 < down.size() && up[i] == down[i]) ++i;
      p = up[i], q = down[i];
    }
    const double s = share(p), t = share(q);
    if (s != t) return s < t;
    if (kind_ != quota_kind::proportion && deserves(p) != deserves(q)) return deserves(p);
    return x.name < y.name;
  }
  /// The largest part of the cluster that a job has.
  [[nodiscard]] double dominant_share(const job& j) const {
    quantities used(total_.size(), 0);
    for (const auto t : j.tasks)
      if (holds(c_->tasks[t].state) || c_->tasks[t].state == task_state::pipelined) add(used, c_->tasks[t].request);
    double most = 0;
    for (std::size_t r = 0; r < total_.size(); ++r) most = std::max(most, part(used[r], total_[r]));
    return most;
  }
  /// May take back: within its limit, and in some resource that is asked within what it deserves.
  [[nodiscard]] bool may_reclaim(std::size_t q, const quantities& request) const {
    if (kind_ == quota_kind::proportion) return allows(q, request);
    if (!usable_ || !c_->queues[q].open) return false;
    bool some = false;
    for (std::size_t r = 0; r < request.size(); ++r) {
      if (request[r] <= 0) continue;
      if (books_[q].used[r] + request[r] > books_[q].most[r]) return false;
      some = some || books_[q].used[r] + request[r] <= books_[q].deserved[r];
    }
    for (auto at = parent(q); !some && at != nowhere; at = parent(at))  // looked at where a site asks for it
      for (std::size_t r = 0; r < request.size(); ++r)
        some = some || (request[r] > 0 && books_[at].used[r] + request[r] <= books_[at].deserved[r]);
    return some;
  }

 private:
  struct books {
    quantities used, asked, deserved, most;
  };
  [[nodiscard]] std::size_t parent(std::size_t q) const noexcept {
    return kind_ == quota_kind::hierarchical_capacity ? c_->queues[q].parent : nowhere;
  }
  [[nodiscard]] std::vector<std::size_t> path(std::size_t q) const {
    std::vector<std::size_t> up;
    for (; q != nowhere; q = parent(q)) up.insert(up.begin(), q);
    return up;
  }
  [[nodiscard]] static double part(std::int64_t of, std::int64_t all) noexcept {
    if (all == 0) return of == 0 ? 0 : 1;
    return static_cast<double>(of) / static_cast<double>(all);
  }
  [[nodiscard]] bool deserves(std::size_t q) const {
    for (const auto d : books_[q].deserved)
      if (d > 0) return true;
    return false;
  }
  /// The largest used / deserved; 1 for who deserves nothing under capacity.
  [[nodiscard]] double share(std::size_t q) const {
    if (kind_ != quota_kind::proportion && !deserves(q)) return 1;
    double most = 0;
    for (std::size_t r = 0; r < total_.size(); ++r)
      if (books_[q].deserved[r] > 0 || r < 2) most = std::max(most, part(books_[q].used[r], books_[q].deserved[r]));
    return most;
  }
  [[nodiscard]] static quantities or_zero(const std::optional<quantities>& q, std::size_t m) {
    quantities out = q ? *q : quantities{};
    out.resize(m, 0);
    return out;
  }
  /// What a limit says of each resource: nothing stated, or nothing positive, is no limit.
  [[nodiscard]] std::int64_t limit_of(const queue& q, std::size_t r) const {
    if (!q.limit || r >= q.limit->size() || (*q.limit)[r] <= 0) return no_limit;
    return (*q.limit)[r];
  }

  void build_flat() {
    const auto m = static_cast<Eigen::Index>(c_->resources.size());
    std::vector<std::size_t> rows;  // queues that have jobs
    for (std::size_t q = 0; q < c_->queues.size(); ++q)
      for (const auto& j : c_->jobs)
        if (j.queue == q) {
          rows.push_back(q);
          break;
        }
    division_problem p{static_cast<Eigen::Index>(rows.size()), m};
    p.capacity.assign(total_.begin(), total_.end());
    quantities guaranteed(total_.size(), 0);
    for (const auto& q : c_->queues) add(guaranteed, or_zero(q.guarantee, total_.size()));
    for (std::size_t i = 0; i < rows.size(); ++i) {
      const auto& q = c_->queues[rows[i]];
      auto& b = books_[rows[i]];
      const auto own = or_zero(q.guarantee, total_.size()), deserved = or_zero(q.deserved, total_.size());
      for (Eigen::Index r = 0; r < m; ++r) {
        const auto k = static_cast<std::size_t>(r);
        // What the others are not guaranteed, up to the own limit.
        b.most[k] = std::min(limit_of(q, k), std::max<std::int64_t>(0, total_[k] - guaranteed[k]) + own[k]);
        const auto e = static_cast<Eigen::Index>(i);
        p.guarantee(e, r) = own[k];
        p.cap(e, r) = b.most[k];
        p.demand(e, r) = b.asked[k];
        p.weight(e, r) = q.weight;
        b.deserved[k] = std::max(own[k], std::min(deserved[k], b.most[k]));
      }
    }
    if (kind_ != quota_kind::proportion || rows.empty()) return;
    const auto shares = p.divided_by(volcano_proportion{});
    for (std::size_t i = 0; i < rows.size(); ++i)
      for (Eigen::Index r = 0; r < m; ++r)
        books_[rows[i]].deserved[static_cast<std::size_t>(r)] = shares(static_cast<Eigen::Index>(i), r);
  }
  /// From the root down: what the parent may have, less what its children are guaranteed, plus the own guarantee, up to
  /// the own limit, which is the parent's where none is stated.
  void build_tree() {
    std::size_t root = nowhere;
    for (std::size_t q = 0; q < c_->queues.size(); ++q)
      if (c_->queues[q].parent == nowhere) root = root == nowhere && c_->queues[q].name == "root" ? q : root;
    usable_ = root != nowhere;
    for (const auto& j : c_->jobs)
      if (j.queue != nowhere && !c_->queues[j.queue].leaf) usable_ = false;
    for (std::size_t q = 0; q < c_->queues.size(); ++q)
      for (std::size_t r = 0; r < total_.size(); ++r) {
        const auto d = or_zero(c_->queues[q].deserved, total_.size()),
                   g = or_zero(c_->queues[q].guarantee, total_.size());
        books_[q].deserved[r] = std::max(d[r], g[r]);
      }
    if (!usable_) return;
    std::vector<quantities> cap(c_->queues.size(), quantities(total_.size(), no_limit));
    for (std::size_t r = 0; r < total_.size(); ++r) cap[root][r] = books_[root].most[r] = limit_of(c_->queues[root], r);
    descend(root, cap);
  }
  void descend(std::size_t at, std::vector<quantities>& cap) {
    quantities guaranteed(total_.size(), 0);
    for (std::size_t q = 0; q < c_->queues.size(); ++q)
      if (c_->queues[q].parent == at) add(guaranteed, or_zero(c_->queues[q].guarantee, total_.size()));
    for (std::size_t q = 0; q < c_->queues.size(); ++q) {
      if (c_->queues[q].parent != at) continue;
      const auto own = or_zero(c_->queues[q].guarantee, total_.size());
      for (std::size_t r = 0; r < total_.size(); ++r) {
        const auto stated = limit_of(c_->queues[q], r);
        cap[q][r] = stated == no_limit ? cap[at][r] : stated;
        const auto above = books_[at].most[r];
        books_[q].most[r] = std::min(
            cap[q][r], above == no_limit ? no_limit : std::max<std::int64_t>(0, above - guaranteed[r]) + own[r]);
      }
      descend(q, cap);
    }
  }

  const cluster* c_;
  quota_rules rules_;
  quota_kind kind_;
  quantities total_;
  std::vector<books> books_;
  bool usable_ = true;
};

}  // namespace berth::volcano
