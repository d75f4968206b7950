#pragma once
/// \file
/// KAI-Scheduler's rules. Its allocate action is composed of
///
/// | question            | policy                                          | here                |
/// |---------------------|-------------------------------------------------|---------------------|
/// | how much may a queue | `kai_division` down the tree                    | `kai_quota.hpp`     |
/// | which queue, job     | `kai_queue_order`, priority, elasticity, age    | `kai_allocate.hpp`  |
/// | which pods of a job  | `next_pods`                                     | `kai_allocate.hpp`  |
/// | which domain         | tightest first, narrowest level first           | `kai_topology.hpp`  |
/// | which node           | `node_order`, a `lexicographic` of preferences  | `kai_allocate.hpp`  |
/// | which devices        | shared and fullest first, then whole            | `kai_node.hpp`      |
///
/// What evicts (consolidate, reclaim, preempt, stale gangs) is not part of it; `eviction_could_help` tells whether it
/// could change anything. Needs Eigen.

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "berth/profile/kai_allocate.hpp"
#include "berth/profile/kai_packing.hpp"

namespace berth::kai {

/// Makes the books of all nodes anew from the states of the pods. O(pods).
inline void book_all(cluster& c) {
  for (auto& n : c.nodes) {
    n.idle = n.total;
    n.used.assign(c.resources.size(), 0);
    n.releasing.assign(c.resources.size(), 0);
    n.shared.clear();
  }
  std::vector<std::size_t> order;
  for (std::size_t p = 0; p < c.all_pods.size(); ++p)
    if (on_node(c.all_pods[p].state) && c.all_pods[p].node != nowhere) order.push_back(p);
  std::stable_sort(order.begin(), order.end(),
                   [&](std::size_t a, std::size_t b) { return c.all_pods[a].name < c.all_pods[b].name; });
  for (const auto p : order) enter(c.nodes[c.all_pods[p].node], c.all_pods[p]);
}

/// What evicting actions a cycle has.
struct evictions {
  bool consolidate = false, reclaim = false, preempt = false, stale_gangs = false;
};

/// What leaves at once when a job is evicted: pods beyond its least one by one, then the rest. Jobs with several
/// sets of pods as a whole.
[[nodiscard]] inline std::vector<std::vector<std::size_t>> eviction_steps(const cluster& c, const job& j) {
  std::vector<std::size_t> running;
  for (const auto p : j.pods)
    if (holds(c.all_pods[p].state)) running.push_back(p);
  std::vector<std::vector<std::size_t>> out;
  std::int64_t leaves = 0, least = 0;
  for (const auto& g : j.groups)
    if (g.leaf) {
      ++leaves;
      least = std::max<std::int64_t>(g.least, 0);
    }
  while (leaves == 1 && static_cast<std::int64_t>(running.size()) > std::max<std::int64_t>(least, 1)) {
    out.push_back({running.back()});
    running.pop_back();
  }
  if (!running.empty()) out.push_back(std::move(running));
  return out;
}

/// The most that reclaiming for `asks` more could take: each eviction needs a claim on its queue while those before it
/// are gone. Empty where a queue has several jobs with unlike evictions, so that their order would count.
[[nodiscard]] inline std::optional<quantities> most_reclaimed(const cluster& c, const quota& books, std::size_t j,
                                                              const quantities& asks) {
  quantities sum(c.resources.size(), 0);
  for (std::size_t q = 0; q < c.queues.size(); ++q) {
    if (q == c.jobs[j].queue || !c.queues[q].leaf) continue;
    std::vector<quantities> steps;
    std::size_t jobs = 0;
    for (const auto& v : c.jobs) {
      if (v.queue != q || !v.preemptible) continue;
      const auto before = steps.size();
      for (const auto& pods : eviction_steps(c, v)) {
        std::vector<const pod*> going;
        for (const auto p : pods) going.push_back(&c.all_pods[p]);
        quantities size(c.resources.size(), 0);
        add(size, books.wanted(going, books.least_memory()));
        steps.push_back(std::move(size));
      }
      if (steps.size() > before) ++jobs;
    }
    if (jobs > 1)
      for (const auto& s : steps)
        if (s != steps[0]) return {};
    quantities gone(c.resources.size(), 0);
    for (const auto& s : steps) {
      if (!books.claim_on(c.jobs[j], asks, q, gone).granted) break;
      add(gone, s);
    }
    add(sum, gone);
  }
  return sum;
}

/// Whether one of the actions could do anything: a job that waits would fit if everybody left whom the action may
/// evict, or a gang runs with less than its least. Decides from the state alone, and never says no where the action
/// would act. \pre allocation has run or is not part of the cycle
[[nodiscard]] inline bool eviction_could_help(const cluster& c, const evictions& e) {
  if (e.stale_gangs)
    for (const auto& j : c.jobs) {
      bool any = false, short_of = false;
      for (const auto& g : j.groups) {
        if (!g.leaf) continue;
        std::int64_t n = 0;
        for (const auto p : g.pods) n += on_node(c.all_pods[p].state) ? 1 : 0;
        any = any || n > 0;
        short_of = short_of || n < g.least;
      }
      if (any && short_of) return true;
    }
  const auto helps = [&](std::size_t j, const auto& may_go) {
    cluster other = c;
    bool any = false;
    for (std::size_t v = 0; v < c.jobs.size(); ++v) {
      if (v == j || !c.jobs[v].preemptible || !may_go(v)) continue;
      for (const auto p : c.jobs[v].pods)
        if (holds(other.all_pods[p].state)) {
          other.all_pods[p].state = pod_state::releasing;
          any = true;
        }
    }
    if (!any) return false;
    book_all(other);
    allocation a{other};
    return a.attempt(j);
  };
  cluster copy = c;
  allocation now{copy};
  const auto& books = now.books();
  for (std::size_t j = 0; j < c.jobs.size(); ++j) {
    if (!now.eligible(j)) continue;
    const auto asks = now.next_request(j);
    const auto tasks = next_pods{c, c.jobs[j]}.take();
    std::vector<const pod*> asking;
    for (const auto t : tasks) asking.push_back(&c.all_pods[t]);
    // Whoever is only moved has to find a place, so that what is free in all has to suffice.
    std::int64_t free = 0;
    for (const auto& n : c.nodes) {
      free += books.in_quota(n.idle)[gpu] + books.in_quota(n.releasing)[gpu];
      for (const auto& [name, d] : n.shared)
        if (d.allocated > 0 && n.gpu_memory > 0) free += one + (d.releasing - d.allocated) * one / n.gpu_memory;
    }
    const bool room = free >= asks[gpu];
    if (e.consolidate && c.jobs[j].preemptible && room &&
        books.allowed(c.jobs[j], books.wanted(asking, books.most_memory())) && gpu_packing{c}.fits(tasks) &&
        helps(j, [](std::size_t) { return true; }))
      return true;
    const auto reclaimed = room ? std::nullopt : most_reclaimed(c, books, j, asks);
    const bool enough = !reclaimed || free + (*reclaimed)[gpu] >= asks[gpu];
    if (e.reclaim && enough && books.may_reclaim(c.jobs[j], asks) && helps(j, [&](std::size_t v) {
          if (c.jobs[v].queue == c.jobs[j].queue || c.jobs[v].queue == nowhere) return false;
          const auto claim = books.claim_on(c.jobs[j], asks, c.jobs[v].queue);
          return claim.considered && (claim.granted || room);
        }))
      return true;
    if (e.preempt && helps(j, [&](std::size_t v) {
          return c.jobs[v].queue == c.jobs[j].queue && c.jobs[v].priority < c.jobs[j].priority;
        }))
      return true;
  }
  return false;
}

/// What becomes of a cycle's decisions before the next one: bound pods run, what was released is gone and comes back as
/// new pods, what waited for it waits anew.
inline void next_cycle(cluster& c) {
  for (auto& p : c.all_pods) {
    if (p.state == pod_state::allocated) p.state = pod_state::running;
    if (p.state != pod_state::releasing && p.state != pod_state::pipelined) continue;
    p.state = pod_state::pending;
    p.node = nowhere;
    p.shared.clear();
  }
  book_all(c);
}

}  // namespace berth::kai
