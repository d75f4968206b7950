#pragma once
/// \file
/// KAI's allocate action: jobs by queue, pods by group, nodes by preference, all of a gang or nothing. Needs Eigen.
/// Source: kai-scheduler/KAI-Scheduler pkg/scheduler/actions/allocate/, actions/common/allocate.go,
/// actions/utils/job_order_by_queue.go, api/podgroup_info/allocation_info.go and the plugins named below.

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <utility>
#include <vector>

#include "berth/policy/compose.hpp"
#include "berth/policy/node_preference.hpp"
#include "berth/profile/kai_cluster.hpp"
#include "berth/profile/kai_node.hpp"
#include "berth/profile/kai_quota.hpp"
#include "berth/profile/kai_topology.hpp"

namespace berth::kai {

/// Which node a pod goes to: plugins nominatednode, topology, gpusharingorder, nodeavailability, resourcetype,
/// nodeplacement (bin packing). KAI adds numbers of magnitudes that never overlap (plugins/scores), ties go to the
/// smaller name.
using node_order = lexicographic<nominated_first, ranked_domain_first, shared_device_first, free_now_first,
                                 same_kind_first, least_free_node_first>;

/// Counts of a job's tree: api/podgroup_info/subgroup_info/.
struct group_view {
  const cluster& c;
  const job& j;

  [[nodiscard]] const pod_group& at(std::size_t g) const { return j.groups[g]; }
  [[nodiscard]] std::int64_t holding(std::size_t g) const {
    std::int64_t n = 0;
    for (const auto p : at(g).pods) n += holds(c.all_pods[p].state) ? 1 : 0;
    return n;
  }
  /// Pods of a leaf that hold something, or children of a group that are satisfied.
  [[nodiscard]] std::int64_t members(std::size_t g) const {
    if (at(g).leaf) return holding(g);
    std::int64_t n = 0;
    for (const auto k : at(g).children) n += satisfied(k) ? 1 : 0;
    return n;
  }
  [[nodiscard]] bool satisfied(std::size_t g) const { return members(g) >= at(g).least; }
  /// Enough pods exist and are not held back.
  [[nodiscard]] bool ready(std::size_t g) const {
    std::int64_t n = 0;
    if (at(g).leaf)
      for (const auto p : at(g).pods)
        n += alive(c.all_pods[p].state) && c.all_pods[p].state != pod_state::gated ? 1 : 0;
    else
      for (const auto k : at(g).children) n += ready(k) ? 1 : 0;
    return n >= at(g).least;
  }
  /// Groups short of their least first; then those with a least before those without; then the smaller part of it;
  /// then by name. Plugin subgrouporder.
  [[nodiscard]] bool before(std::size_t a, std::size_t b) const {
    const auto x = members(a), y = members(b), least_x = at(a).least, least_y = at(b).least;
    const bool short_x = x < least_x, short_y = y < least_y;
    if (short_x != short_y) return short_x;
    if (!short_x) {
      if ((least_x == 0) != (least_y == 0)) return least_y == 0;
      const auto part_x = least_x == 0 ? x : x * least_y, part_y = least_x == 0 ? y : y * least_x;
      if (part_x != part_y) return part_x < part_y;
    }
    return at(a).name < at(b).name;
  }
  [[nodiscard]] std::vector<std::size_t> ordered(std::size_t g) const {
    auto children = at(g).children;
    std::stable_sort(children.begin(), children.end(), [&](std::size_t a, std::size_t b) { return before(a, b); });
    return children;
  }
  void pods_below(std::size_t g, std::vector<std::size_t>& out) const {
    out.insert(out.end(), at(g).pods.begin(), at(g).pods.end());
    for (const auto k : at(g).children) pods_below(k, out);
  }
};

/// The pods of a job that go next: what the group needs to start, from its first `least` children; once it has that,
/// one pod or one child at a time.
class next_pods {
 public:
  next_pods(const cluster& c, const job& j) : v_{c, j} {}
  [[nodiscard]] std::vector<std::size_t> take() const { return of(0); }

 private:
  [[nodiscard]] std::vector<std::size_t> of(std::size_t g) const {
    if (v_.at(g).leaf) return of_leaf(g);
    const auto children = v_.ordered(g);
    std::vector<std::size_t> out;
    if (!v_.satisfied(g)) {
      for (std::size_t i = 0; i < children.size() && static_cast<std::int64_t>(i) < v_.at(g).least; ++i) {
        if (v_.satisfied(children[i])) continue;
        const auto some = of(children[i]);
        out.insert(out.end(), some.begin(), some.end());
      }
      return out;
    }
    for (const auto k : children)
      if (out = of(k); !out.empty()) return out;
    return out;
  }
  /// By stated order, largest first and before those without; then by name.
  [[nodiscard]] std::vector<std::size_t> of_leaf(std::size_t g) const {
    std::vector<std::size_t> waiting;
    for (const auto p : v_.at(g).pods)
      if (v_.c.all_pods[p].state == pod_state::pending) waiting.push_back(p);
    std::stable_sort(waiting.begin(), waiting.end(), [&](std::size_t a, std::size_t b) {
      const auto &x = v_.c.all_pods[a], &y = v_.c.all_pods[b];
      if (x.order.has_value() != y.order.has_value()) return x.order.has_value();
      if (x.order && *x.order != *y.order) return *x.order > *y.order;
      return x.name < y.name;
    });
    const auto have = v_.holding(g), least = v_.at(g).least;
    const std::size_t most = have >= least ? 1 : static_cast<std::size_t>(least - have);
    if (waiting.size() > most) waiting.resize(most);
    return waiting;
  }

  group_view v_;
};

/// One run of the action over the cluster.
class allocation {
 public:
  explicit allocation(cluster& c) : c_{c}, quota_{c}, domains_{c} {}

  /// Jobs in KAI's order until each was tried; one that got pods and has more comes again.
  void run() {
    std::vector<std::size_t> waiting;
    for (std::size_t j = 0; j < c_.jobs.size(); ++j)
      if (eligible(j)) waiting.push_back(j);
    while (!waiting.empty()) {
      const auto at = best(waiting);
      const auto j = waiting[at];
      waiting.erase(waiting.begin() + static_cast<std::ptrdiff_t>(at));
      if (attempt(j) && has_pending(j)) waiting.push_back(j);
    }
  }

  /// Places the next pods of one job, or changes nothing. Pods that fit only once others are gone are pipelined.
  bool attempt(std::size_t j) {
    const auto tasks = next_pods{c_, c_.jobs[j]}.take();
    if (tasks.empty()) return false;
    std::vector<const pod*> asking;
    for (const auto t : tasks) asking.push_back(&c_.all_pods[t]);
    if (!quota_.allowed(c_.jobs[j], quota_.wanted(asking, quota_.most_memory()))) return false;
    ranks_.clear();
    node_set all(c_.nodes.size());
    for (std::size_t n = 0; n < all.size(); ++n) all[n] = n;
    const saved before{*this};
    placed_.clear();
    if (!group(j, 0, all, tasks)) {
      before.restore(*this);
      return false;
    }
    if (must_wait(j)) {
      // One pod of a gang that waits makes all of this attempt wait.
      for (const auto t : placed_)
        if (c_.all_pods[t].state == pod_state::allocated) move_state(t, pod_state::pipelined);
    }
    return true;
  }

  [[nodiscard]] const quota& books() const noexcept { return quota_; }
  [[nodiscard]] bool eligible(std::size_t j) const {
    const auto& x = c_.jobs[j];
    return x.queue != nowhere && c_.queues[x.queue].leaf && has_pending(j) && group_view{c_, x}.ready(0);
  }
  [[nodiscard]] bool has_pending(std::size_t j) const {
    for (const auto p : c_.jobs[j].pods)
      if (c_.all_pods[p].state == pod_state::pending) return true;
    return false;
  }
  /// What the next pods of a job ask, as queues count it.
  [[nodiscard]] quantities next_request(std::size_t j) const {
    std::vector<const pod*> asking;
    for (const auto t : next_pods{c_, c_.jobs[j]}.take()) asking.push_back(&c_.all_pods[t]);
    return quota_.wanted(asking, quota_.least_memory());
  }

 private:
  struct saved {
    std::vector<node> nodes;
    std::vector<pod> pods;
    quota q;
    std::vector<std::size_t> placed;
    explicit saved(const allocation& a) : nodes{a.c_.nodes}, pods{a.c_.all_pods}, q{a.quota_}, placed{a.placed_} {}
    void restore(allocation& a) const {
      a.c_.nodes = nodes;
      a.c_.all_pods = pods;
      a.quota_ = q;
      a.placed_ = placed;
    }
  };

  /// Below, at or above what its leaves need at least: plugin elastic.
  [[nodiscard]] int fill_state(std::size_t j) const {
    const group_view v{c_, c_.jobs[j]};
    bool above = false;
    for (std::size_t g = 0; g < c_.jobs[j].groups.size(); ++g) {
      if (!v.at(g).leaf) continue;
      const auto have = v.holding(g);
      if (have < v.at(g).least) return 0;
      above = above || have > v.at(g).least;
    }
    return above ? 2 : 1;
  }
  /// Higher priority, then short of its least before at it before above it, then older, then by name.
  [[nodiscard]] bool job_before(std::size_t a, std::size_t b) const {
    const auto &x = c_.jobs[a], &y = c_.jobs[b];
    if (x.priority != y.priority) return x.priority > y.priority;
    if (const int f = fill_state(a), g = fill_state(b); f != g) return f < g;
    if (x.created != y.created) return x.created < y.created;
    return x.name < y.name;
  }
  [[nodiscard]] bool below(std::size_t q, std::size_t ancestor) const {
    for (; q != nowhere; q = c_.queues[q].parent)
      if (q == ancestor) return true;
    return false;
  }
  /// From the top of the queue tree down: the sibling that goes first with the job at its head, then that one's head.
  [[nodiscard]] std::size_t best(const std::vector<std::size_t>& waiting) const { return head(waiting, nowhere); }
  /// Position of the head below `parent`; `waiting.size()` where there is none.
  [[nodiscard]] std::size_t head(const std::vector<std::size_t>& waiting, std::size_t parent) const {
    std::size_t first = waiting.size(), first_queue = nowhere;
    for (std::size_t i = 0; i < waiting.size(); ++i)
      if (c_.jobs[waiting[i]].queue == parent && (first == waiting.size() || job_before(waiting[i], waiting[first])))
        first = i;
    if (parent != nowhere && c_.queues[parent].leaf) return first;
    quantities first_asks;
    for (std::size_t q = 0; q < c_.queues.size(); ++q) {
      if (c_.queues[q].parent != parent) continue;
      const auto i = head(waiting, q);
      if (i == waiting.size()) continue;
      auto asks = next_request(waiting[i]);
      if (first_queue == nowhere || quota_.before(q, asks, first_queue, first_asks)) {
        first = i;
        first_queue = q;
        first_asks = std::move(asks);
      }
    }
    return first;
  }

  /// Node sets of a group: those of its topology wish, or the one of its parent.
  [[nodiscard]] std::vector<node_set> subsets(std::size_t j, std::size_t g, const node_set& nodes,
                                              const std::vector<std::size_t>& tasks) {
    const auto& wish = c_.jobs[j].groups[g].wish;
    if (!wish) return {nodes};
    // Only leaves that get pods now pin the domain.
    node_set active;
    for (const auto t : tasks)
      for (const auto p : c_.jobs[j].groups[c_.all_pods[t].group].pods)
        if (holds(c_.all_pods[p].state) && c_.all_pods[p].node != nowhere) active.push_back(c_.all_pods[p].node);
    ranks_.erase(g);
    std::map<std::size_t, std::int32_t> ranks;
    auto sets = domains_.subsets(*wish, tasks, nodes, active, ranks);
    if (wish->preferred && !ranks.empty()) ranks_[g] = std::move(ranks);
    return sets;
  }
  [[nodiscard]] std::vector<std::size_t> those_below(std::size_t j, std::size_t g,
                                                     const std::vector<std::size_t>& tasks) const {
    std::vector<std::size_t> out;
    for (const auto t : tasks)
      for (auto at = c_.all_pods[t].group; at != nowhere; at = c_.jobs[j].groups[at].parent)
        if (at == g) {
          out.push_back(t);
          break;
        }
    return out;
  }
  bool group(std::size_t j, std::size_t g, const node_set& nodes, const std::vector<std::size_t>& tasks) {
    if (tasks.empty()) return true;
    for (const auto& set : subsets(j, g, nodes, tasks)) {
      const saved before{*this};
      bool ok = true;
      if (c_.jobs[j].groups[g].leaf) {
        for (std::size_t i = 0; ok && i < tasks.size(); ++i) ok = place(j, tasks[i], set);
      } else {
        for (const auto k : group_view{c_, c_.jobs[j]}.ordered(g)) {
          ok = group(j, k, set, those_below(j, k, tasks));
          if (!ok) break;
        }
      }
      if (ok) return true;
      before.restore(*this);
    }
    return false;
  }

  [[nodiscard]] bool suits(std::size_t j, const pod& p, std::size_t n) const {
    const auto& x = c_.nodes[n];
    if (!fits_later(x, p)) return false;
    auto asks = quota_.in_quota(p.request);
    if (p.shares()) asks[gpu] = p.devices * memory_portion(x, share_memory(x, p));
    if (!quota_.allowed(c_.jobs[j], asks)) return false;
    if (!kind_allowed(x, p) || !x.ready) return false;
    if (p.kind == device_kind::memory && !x.gpu_memory_known) return false;
    if (p.only && std::find(p.only->begin(), p.only->end(), n) == p.only->end()) return false;
    return slots_left(x, p);
  }

  bool place(std::size_t j, std::size_t t, const node_set& set) {
    const pod p = c_.all_pods[t];
    // The ranks that count are those of the nearest group with a preferred level.
    const std::map<std::size_t, std::int32_t>* ranks = nullptr;
    for (auto g = p.group; g != nowhere && ranks == nullptr; g = c_.jobs[j].groups[g].parent)
      if (const auto at = ranks_.find(g); at != ranks_.end()) ranks = &at->second;
    const std::size_t r = p.kind == device_kind::none ? cpu : gpu;
    scan_request request;
    bool any = false;
    for (const auto n : set) {
      const auto& x = c_.nodes[n];
      if (x.total[r] == 0) continue;
      request.least_free = any ? std::min(request.least_free, x.free(r)) : x.free(r);
      request.most_free = any ? std::max(request.most_free, x.free(r)) : std::max<std::int64_t>(0, x.free(r));
      any = true;
    }
    std::vector<scan_candidate> order;
    for (const auto n : set) {
      const auto& x = c_.nodes[n];
      scan_candidate s{static_cast<std::uint32_t>(n),
                       p.nominated == n,
                       joins_any(x, p),
                       fits_now(x, p),
                       r == cpu && x.without_devices(),
                       0,
                       x.free(r),
                       x.total[r]};
      if (ranks != nullptr) {
        const auto at = ranks->find(n);
        if (at == ranks->end()) continue;  // outside the ranked part of the tree
        s.domain_rank = at->second;
      }
      order.push_back(s);
    }
    std::sort(order.begin(), order.end(), [&](const scan_candidate& a, const scan_candidate& b) {
      const auto x = node_order{}.score(a, request), y = node_order{}.score(b, request);
      return x != y ? x > y : c_.nodes[a.node].name < c_.nodes[b.node].name;
    });
    for (const auto& s : order)
      if (suits(j, p, s.node) && put(t, s.node)) return true;
    return false;
  }

  bool put(std::size_t t, std::size_t n) {
    auto& p = c_.all_pods[t];
    bool waits = !fits_now(c_.nodes[n], p);
    if (p.shares()) {
      auto plan = plan_devices(c_.nodes[n], p);
      if (!plan.found) return false;
      waits = plan.waits;
      p.shared = std::move(plan.devices);
    }
    p.node = n;
    p.state = waits ? pod_state::pipelined : pod_state::allocated;
    enter(c_.nodes[n], p);
    quota_.charge(c_.jobs[p.job], quota_.in_quota(accepted(c_.nodes[n], p)), 1);
    placed_.push_back(t);
    return true;
  }
  void move_state(std::size_t t, pod_state to) {
    auto& p = c_.all_pods[t];
    leave(c_.nodes[p.node], p);
    p.state = to;
    enter(c_.nodes[p.node], p);
  }
  /// A leaf with a pod that waits, whose other pods are fewer than its least.
  [[nodiscard]] bool must_wait(std::size_t j) const {
    for (const auto& g : c_.jobs[j].groups) {
      if (!g.leaf) continue;
      bool waits = false;
      std::int64_t have = 0;
      for (const auto p : g.pods) {
        const auto s = c_.all_pods[p].state;
        waits = waits || s == pod_state::pipelined;
        have += s == pod_state::allocated || s == pod_state::running ? 1 : 0;
      }
      if (waits && have < g.least) return true;
    }
    return false;
  }

  cluster& c_;
  quota quota_;
  domains domains_;
  std::map<std::size_t, std::map<std::size_t, std::int32_t>> ranks_;  ///< by group, then node
  std::vector<std::size_t> placed_;
};

}  // namespace berth::kai
