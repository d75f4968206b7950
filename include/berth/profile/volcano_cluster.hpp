#pragma once
/// \file
/// Volcano's view of a cluster: nodes below HyperNodes, jobs that are gangs with roles and subgroups, queues with three
/// numbers. Source of every rule here: volcano-sh/volcano pkg/scheduler/api/ at the commit named in the case files.

#include <cstddef>
#include <cstdint>
#include <limits>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace berth::volcano {

/// By resource of the cluster: cpu, memory, then whatever it names. Thousandths of its unit.
using quantities = std::vector<std::int64_t>;
inline constexpr std::size_t nowhere = std::numeric_limits<std::size_t>::max();

inline void add(quantities& to, const quantities& q, std::int64_t sign = 1) {
  if (to.size() < q.size()) to.resize(q.size(), 0);
  for (std::size_t r = 0; r < q.size(); ++r) to[r] += sign * q[r];
}
[[nodiscard]] inline bool within(const quantities& a, const quantities& b) {
  for (std::size_t r = 0; r < a.size(); ++r)
    if (a[r] > (r < b.size() ? b[r] : 0)) return false;
  return true;
}

enum class task_state : std::uint8_t { pending, gated, allocated, pipelined, bound, running, releasing, gone };
/// Holds resources (Volcano: allocated status).
[[nodiscard]] constexpr bool holds(task_state s) noexcept {
  return s == task_state::allocated || s == task_state::bound || s == task_state::running;
}

struct task {
  std::string name;
  std::string role;  ///< empty: none
  std::size_t job = 0;
  std::size_t subgroup = 0;
  task_state state = task_state::pending;
  std::size_t node = nowhere;
  bool placed_elsewhere = false;  ///< runs on a node that the cluster does not list
  quantities request;
  std::int64_t priority = 0;
  bool preemptible = true;
  bool may_preempt = true;
  std::optional<std::vector<char>> allowed;  ///< by node; absent: all
  /// Asks nothing, so that other actions place it.
  [[nodiscard]] bool best_effort() const noexcept {
    for (const auto a : request)
      if (a > 0) return false;
    return true;
  }
};

/// How far apart tasks may be: the highest tier whose domain may hold them all. Soft wishes are hard ones for the
/// cluster as a whole (framework/session.go convertSoftToHardTopology).
struct spread_limit {
  bool hard = false;
  std::optional<int> tier;
};

/// Tasks of a job that one policy puts together (Volcano: SubJob).
struct subgroup {
  std::size_t policy = nowhere;  ///< of the job; nowhere: those that none matched
  std::string id;
  std::int64_t index = 0;  ///< the first matched label value, if a number
  std::int64_t least = 1;
  std::optional<spread_limit> limit;
  std::vector<std::size_t> tasks;
  std::size_t domain = nowhere;  ///< the smallest domain of what it has
};

struct job {
  std::string name;
  std::size_t queue = nowhere;
  std::int64_t least = 0;
  std::map<std::string, std::int64_t> role_least;
  std::optional<spread_limit> limit;
  std::vector<std::int64_t> policy_least;  ///< subgroups of each policy that have to start
  std::vector<subgroup> subgroups;
  std::vector<std::size_t> tasks;
  std::optional<quantities> least_request;
  std::int64_t priority = 0;
  std::size_t domain = nowhere;
  bool admitted = true;
  [[nodiscard]] bool partitioned() const noexcept { return !policy_least.empty(); }
  [[nodiscard]] std::int64_t roles_total() const noexcept {
    std::int64_t n = 0;
    for (const auto& [role, least_of] : role_least) n += least_of;
    return n;
  }
};

/// A HyperNode. Domain 0 is the cluster, of a tier above all others.
struct domain {
  std::string name;
  int tier = 1;
  std::size_t parent = nowhere;
  std::vector<std::size_t> children;
  std::vector<std::size_t> nodes;
  quantities total, used, idle, later;  ///< idle, later: as the cycle found them
};

struct node {
  std::string name;
  quantities total, idle, releasing, pipelined;
  std::int64_t most_tasks = 0;
  std::int64_t tasks = 0;
  [[nodiscard]] quantities later() const {
    quantities q = idle;
    add(q, releasing);
    add(q, pipelined, -1);
    return q;
  }
};

inline constexpr std::int64_t no_limit = std::numeric_limits<std::int64_t>::max();

struct queue {
  std::string name;
  std::size_t parent = nowhere;
  std::int64_t weight = 1;
  std::int64_t priority = 0;
  bool open = true;
  bool reclaimable = true;
  std::optional<quantities> limit, deserved, guarantee;
  bool leaf = true;
};

struct cluster {
  std::vector<std::string> resources;
  std::vector<node> nodes;
  std::vector<domain> domains;
  std::vector<task> tasks;
  std::vector<job> jobs;
  std::vector<queue> queues;

  [[nodiscard]] quantities total() const {
    quantities q(resources.size(), 0);
    for (const auto& n : nodes) add(q, n.total);
    return q;
  }
  [[nodiscard]] std::vector<std::size_t> path(std::size_t d) const {
    std::vector<std::size_t> up;
    for (; d != nowhere; d = domains[d].parent) up.push_back(d);
    return up;
  }
  /// The lowest domain above both; the other one where one is nowhere.
  [[nodiscard]] std::size_t common(std::size_t a, std::size_t b) const {
    if (a == nowhere) return b;
    if (b == nowhere) return a;
    const auto up = path(a);
    for (const auto d : path(b))
      for (const auto e : up)
        if (d == e) return d;
    return nowhere;
  }
};

/// Counts that make a gang ready: api/job_info.go, api/sub_job_info.go, plugin gang.
struct gang_view {
  const cluster& c;
  const job& j;

  [[nodiscard]] static bool ready_state(const task& t) noexcept {
    return holds(t.state) || (t.state == task_state::pending && t.best_effort());
  }
  [[nodiscard]] static bool waiting_state(const task& t) noexcept {
    return ready_state(t) || t.state == task_state::pipelined;
  }
  template <class State>
  [[nodiscard]] std::int64_t count(const std::vector<std::size_t>& of, const State& state) const {
    std::int64_t n = 0;
    for (const auto t : of) n += state(c.tasks[t]) ? 1 : 0;
    return n;
  }
  /// Every role has its least; without effect where the gang needs fewer than the roles together.
  template <class State>
  [[nodiscard]] bool roles(const State& state) const {
    if (j.least < j.roles_total()) return true;
    for (const auto& [role, least] : j.role_least) {
      std::int64_t n = 0;
      for (const auto t : j.tasks) n += c.tasks[t].role == role && state(c.tasks[t]) ? 1 : 0;
      if (n < least) return false;
    }
    return true;
  }
  template <class State>
  [[nodiscard]] bool subgroups(const State& state) const {
    for (std::size_t p = 0; p < j.policy_least.size(); ++p) {
      std::int64_t n = 0;
      for (const auto& s : j.subgroups) n += s.policy == p && count(s.tasks, state) >= s.least ? 1 : 0;
      if (n < j.policy_least[p]) return false;
    }
    return true;
  }
  template <class State>
  [[nodiscard]] bool enough(const State& state) const {
    return roles(state) && subgroups(state) && count(j.tasks, state) >= j.least;
  }
  [[nodiscard]] bool ready() const { return enough(ready_state); }
  [[nodiscard]] bool waiting() const { return enough(waiting_state); }
  [[nodiscard]] bool subgroup_ready(const subgroup& s) const {
    return j.partitioned() ? count(s.tasks, ready_state) >= s.least : ready();
  }
  [[nodiscard]] bool subgroup_waiting(const subgroup& s) const {
    return j.partitioned() ? count(s.tasks, waiting_state) >= s.least : waiting();
  }
  /// Enough tasks exist at all.
  [[nodiscard]] bool valid() const {
    const auto exists = [](const task& t) {
      return holds(t.state) || t.state == task_state::pipelined || t.state == task_state::pending;
    };
    if (!roles(exists)) return false;
    for (std::size_t p = 0; p < j.policy_least.size(); ++p) {
      std::int64_t n = 0;
      for (const auto& s : j.subgroups) n += s.policy == p ? 1 : 0;
      if (n < j.policy_least[p]) return false;
    }
    return count(j.tasks, exists) >= j.least;
  }
  /// Needs more to run at all (gang's JobStarving).
  [[nodiscard]] bool starving() const {
    return count(j.tasks, [](const task& t) { return holds(t.state) || t.state == task_state::pipelined; }) < j.least;
  }
};

}  // namespace berth::volcano
