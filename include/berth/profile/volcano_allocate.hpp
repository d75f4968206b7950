#pragma once
/// \file
/// Volcano's allocate action with gangs and HyperNodes. Needs Eigen. Source: volcano-sh/volcano
/// pkg/scheduler/actions/allocate/allocate.go, plugins/gang/, plugins/network-topology-aware/, plugins/nodeorder/,
/// framework/session.go; peer_semantics items 16, 17. Where Volcano picks one of equals by chance, the first by name is
/// taken here.

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "berth/policy/compose.hpp"
#include "berth/policy/tier_preference.hpp"
#include "berth/profile/volcano_cluster.hpp"
#include "berth/profile/volcano_quota.hpp"

namespace berth::volcano {

/// Which domain a subgroup goes to, and which node a task of a job with a spread limit.
using domain_order = lexicographic<packed_first, most_own_first>;
using near_node_order = lexicographic<near_tier_first, most_own_first>;
/// Which node a task without: first by the packing of the domains it is in, then where most is free (nodeorder).
using plain_node_order = lexicographic<packed_first, roomy_first>;

/// How much less each tier counts than the one below in the packing of tasks without a limit.
inline constexpr double tier_fading = 0.8;

class allocation {
 public:
  allocation(cluster& c, quota_rules rules, bool needs_admission)
      : c_{c}, quota_{c, rules}, needs_admission_{needs_admission} {
    for (std::size_t d = 1; d < c.domains.size(); ++d) top_tier_ = std::max(top_tier_, c.domains[d].tier + 1);
    c.domains[0].tier = top_tier_;
    for (auto& d : c.domains) {
      d.total.assign(c.resources.size(), 0);
      d.used = d.idle = d.later = d.total;
      for (const auto n : d.nodes) {
        add(d.total, c.nodes[n].total);
        add(d.idle, c.nodes[n].idle);
        add(d.later, c.nodes[n].later());
      }
      d.used = d.total;
      add(d.used, d.idle, -1);
    }
    soft_to_hard();
    recover_domains();
  }

  /// Queue by queue and job by job until none is left; a job that started and has tasks left comes again.
  void run() {
    struct entry {
      std::size_t job;
      worksheet work;
    };
    std::vector<entry> jobs;
    for (std::size_t j = 0; j < c_.jobs.size(); ++j) {
      const auto& x = c_.jobs[j];
      if (x.queue == nowhere || (needs_admission_ && !x.admitted) || !gang_view{c_, x}.valid()) continue;
      if (auto w = organize(j); !w.empty()) jobs.push_back({j, std::move(w)});
    }
    std::vector<std::size_t> queues;
    for (std::size_t q = 0; q < c_.queues.size(); ++q)
      for (const auto& e : jobs)
        if (c_.jobs[e.job].queue == q) {
          queues.push_back(q);
          break;
        }
    while (!queues.empty()) {
      std::size_t at = 0;
      for (std::size_t i = 1; i < queues.size(); ++i)
        if (quota_.before(queues[i], queues[at])) at = i;
      const auto q = queues[at];
      std::size_t first = jobs.size();
      for (std::size_t i = 0; i < jobs.size(); ++i)
        if (c_.jobs[jobs[i].job].queue == q && (first == jobs.size() || job_before(jobs[i].job, jobs[first].job)))
          first = i;
      if (quota_.overused(q) || first == jobs.size()) {
        queues.erase(queues.begin() + static_cast<std::ptrdiff_t>(at));
        continue;
      }
      auto e = std::move(jobs[first]);
      jobs.erase(jobs.begin() + static_cast<std::ptrdiff_t>(first));
      const bool wide = limited(c_.jobs[e.job]) || c_.jobs[e.job].partitioned();
      const bool tried = wide ? by_domains(e.job, e.work) : flat(e.job, e.work);
      if (!tried || !gang_view{c_, c_.jobs[e.job]}.ready()) continue;
      for (const auto t : c_.jobs[e.job].tasks)
        if (c_.tasks[t].state == task_state::allocated) c_.tasks[t].state = task_state::bound;
      if (!e.work.empty()) jobs.push_back(std::move(e));
    }
  }
  [[nodiscard]] const quota& books() const noexcept { return quota_; }

 private:
  /// Tasks of each subgroup that are still to be placed, and the subgroups in order.
  struct worksheet {
    std::vector<std::size_t> order;
    std::vector<std::vector<std::size_t>> tasks;
    [[nodiscard]] bool empty() const noexcept { return order.empty(); }
  };
  struct saved {
    std::vector<node> nodes;
    std::vector<task> tasks;
    std::vector<domain> domains;
    quota q;
    explicit saved(const allocation& a) : nodes{a.c_.nodes}, tasks{a.c_.tasks}, domains{a.c_.domains}, q{a.quota_} {}
    void restore(allocation& a) const {
      a.c_.nodes = nodes;
      a.c_.tasks = tasks;
      a.c_.domains = domains;
      a.quota_ = q;
    }
  };

  /// Soft wishes are hard ones up to the whole cluster; those of a subgroup up to what binds its job.
  void soft_to_hard() {
    for (auto& j : c_.jobs) {
      int most = top_tier_;
      if (j.limit && !j.limit->hard) j.limit = spread_limit{true, top_tier_};
      if (j.limit && j.limit->tier) most = *j.limit->tier;
      for (auto& s : j.subgroups)
        if (s.limit && !s.limit->hard) s.limit = spread_limit{true, most};
    }
  }
  [[nodiscard]] static bool limited(const job& j) {
    if (j.limit && j.limit->hard && j.limit->tier) return true;
    for (const auto& s : j.subgroups)
      if (s.limit && s.limit->hard && s.limit->tier) return true;
    return false;
  }
  /// What runs tells where a job is: the smallest domain that holds all of a subgroup, the lowest above all of them.
  void recover_domains() {
    for (auto& j : c_.jobs) {
      bool any = j.limit.has_value();
      for (const auto& s : j.subgroups) any = any || s.limit.has_value();
      if (!any) continue;
      for (auto& s : j.subgroups) {
        if (!s.limit) continue;
        std::vector<std::size_t> nodes;
        bool unknown = false;
        for (const auto t : s.tasks)
          if (holds(c_.tasks[t].state)) {
            unknown = unknown || c_.tasks[t].node == nowhere;
            nodes.push_back(c_.tasks[t].node);
          }
        if (nodes.empty() || unknown) continue;
        for (std::size_t d = 0; d < c_.domains.size(); ++d) {
          bool all = true;
          for (const auto n : nodes) all = all && has(d, n);
          if (all && (s.domain == nowhere || c_.domains[d].tier < c_.domains[s.domain].tier)) s.domain = d;
        }
        if (s.domain != nowhere) j.domain = c_.common(j.domain, s.domain);
      }
    }
  }
  [[nodiscard]] bool has(std::size_t d, std::size_t n) const {
    const auto& nodes = c_.domains[d].nodes;
    return std::find(nodes.begin(), nodes.end(), n) != nodes.end();
  }

  /// Those not ready go before ready ones, the smaller dominant share before the larger, then by name.
  [[nodiscard]] bool job_before(std::size_t a, std::size_t b) const {
    const auto &x = c_.jobs[a], &y = c_.jobs[b];
    const auto ready = [&](const job& j) { return gang_view{c_, j}.count(j.tasks, gang_view::ready_state) >= j.least; };
    if (const bool r = ready(x), s = ready(y); r != s) return s;
    if (const double s = quota_.dominant_share(x), t = quota_.dominant_share(y); s != t) return s < t;
    return x.name < y.name;
  }
  /// By priority, then by the number at the end of the name, then by name.
  [[nodiscard]] bool task_before(std::size_t a, std::size_t b) const {
    const auto &x = c_.tasks[a], &y = c_.tasks[b];
    if (x.priority != y.priority) return x.priority > y.priority;
    const auto number = [](const std::string& s) -> std::optional<std::int64_t> {
      const auto dash = s.rfind('-');
      if (dash == std::string::npos || dash + 1 == s.size() || s.size() - dash > 18) return std::nullopt;
      std::int64_t n = 0;
      for (auto i = dash + 1; i < s.size(); ++i) {
        if (s[i] < '0' || s[i] > '9') return std::nullopt;
        n = n * 10 + (s[i] - '0');
      }
      return n;
    };
    if (const auto m = number(x.name), n = number(y.name); m && n && *m != *n) return *m < *n;
    return x.name < y.name;
  }
  [[nodiscard]] bool subgroup_before(const job& j, std::size_t a, std::size_t b) const {
    const auto &x = j.subgroups[a], &y = j.subgroups[b];
    const gang_view v{c_, j};
    const bool r = v.count(x.tasks, gang_view::ready_state) >= x.least,
               s = v.count(y.tasks, gang_view::ready_state) >= y.least;
    if (r != s) return s;
    return x.index != y.index ? x.index < y.index : x.id < y.id;
  }
  /// First the subgroups that their policies need to start.
  [[nodiscard]] worksheet organize(std::size_t j) const {
    const auto& x = c_.jobs[j];
    const gang_view v{c_, x};
    worksheet w;
    w.tasks.resize(x.subgroups.size());
    std::vector<std::size_t> all(x.subgroups.size());
    for (std::size_t s = 0; s < all.size(); ++s) all[s] = s;
    std::sort(all.begin(), all.end(), [&](std::size_t a, std::size_t b) { return subgroup_before(x, a, b); });
    std::vector<std::int64_t> have(x.policy_least.size(), 0);
    std::vector<char> required(x.subgroups.size(), 0);
    for (const auto s : all)
      if (x.subgroups[s].policy != nowhere && v.subgroup_ready(x.subgroups[s])) ++have[x.subgroups[s].policy];
    for (const auto s : all) {
      const auto p = x.subgroups[s].policy;
      if (p == nowhere || v.subgroup_ready(x.subgroups[s]) || have[p] >= x.policy_least[p]) continue;
      required[s] = 1;
      ++have[p];
    }
    std::stable_sort(all.begin(), all.end(), [&](std::size_t a, std::size_t b) { return required[a] > required[b]; });
    for (const auto s : all) {
      for (const auto t : x.subgroups[s].tasks)
        if (c_.tasks[t].state == task_state::pending && !c_.tasks[t].best_effort()) w.tasks[s].push_back(t);
      std::sort(w.tasks[s].begin(), w.tasks[s].end(), [&](std::size_t a, std::size_t b) { return task_before(a, b); });
      if (!w.tasks[s].empty()) w.order.push_back(s);
    }
    return w;
  }

  /// A job without any limit: its tasks on all nodes.
  bool flat(std::size_t j, worksheet& w) {
    const auto s = w.order.front();
    auto left = w.tasks[s];
    const bool done = place_tasks(j, s, left, 0);
    w.tasks[s] = std::move(left);
    if (w.tasks[s].empty()) w.order.clear();
    return done;
  }

  /// Domains in which the whole job may be, narrowest tier first; in each, subgroup after subgroup in domains of
  /// theirs. The first tier with a success ends the search, there the best sum of scores.
  bool by_domains(std::size_t j, worksheet& w) {
    const auto own = c_.jobs[j].subgroups;
    for (const auto& tier : gradient(0, c_.jobs[j].limit, c_.jobs[j].domain,
                                     c_.jobs[j].least_request.value_or(quantities(c_.resources.size(), 0)))) {
      std::optional<saved> best;
      std::vector<subgroup> best_subgroups;
      worksheet best_work;
      double best_score = 0;
      std::size_t best_domain = nowhere;
      for (const auto d : tier) {
        const saved before{*this};
        for (const auto t : c_.jobs[j].tasks) failed_.erase(t);
        auto copy = w;
        double score = 0;
        bool any = false;
        while (!copy.order.empty()) {
          const auto s = copy.order.front();
          copy.order.erase(copy.order.begin());
          const auto got = in_domain(j, s, copy.tasks[s], d);
          if (!got) continue;
          any = true;
          score += *got;
          if (!copy.tasks[s].empty()) push_back(j, copy, s);
          if (gang_view{c_, c_.jobs[j]}.ready()) break;
        }
        const gang_view v{c_, c_.jobs[j]};
        const bool good = any && (v.ready() || v.waiting());
        if (good && (!best || score > best_score)) {
          best.emplace(*this);
          best_subgroups = c_.jobs[j].subgroups;
          best_work = std::move(copy);
          best_score = score;
          best_domain = d;
        }
        before.restore(*this);
        c_.jobs[j].subgroups = own;
      }
      if (!best) continue;
      best->restore(*this);
      c_.jobs[j].subgroups = std::move(best_subgroups);
      c_.jobs[j].domain = c_.common(c_.jobs[j].domain, best_domain);
      w = std::move(best_work);
      return true;
    }
    return false;
  }
  void push_back(std::size_t j, worksheet& w, std::size_t s) const {
    std::size_t i = 0;
    while (i < w.order.size() && !subgroup_before(c_.jobs[j], s, w.order[i])) ++i;
    w.order.insert(w.order.begin() + static_cast<std::ptrdiff_t>(i), s);
  }
  /// One subgroup below `d`. \returns the score of the domain it got
  std::optional<double> in_domain(std::size_t j, std::size_t s, std::vector<std::size_t>& tasks, std::size_t d) {
    quantities asks(c_.resources.size(), 0);
    for (const auto t : c_.jobs[j].subgroups[s].tasks)
      if (c_.tasks[t].state == task_state::pending) add(asks, c_.tasks[t].request);
    for (const auto& tier : gradient(d, c_.jobs[j].subgroups[s].limit, c_.jobs[j].subgroups[s].domain, asks)) {
      struct solution {
        std::size_t domain;
        saved state;
        std::vector<std::size_t> left;
      };
      std::vector<solution> found;
      const auto was = c_.jobs[j].subgroups[s].domain;
      for (const auto e : tier) {
        const saved before{*this};
        for (const auto t : c_.jobs[j].subgroups[s].tasks) failed_.erase(t);
        auto left = tasks;
        const bool moved = place_tasks(j, s, left, e);
        if (moved && left.size() < tasks.size() && placed_any(before)) found.push_back({e, saved{*this}, left});
        before.restore(*this);
        c_.jobs[j].subgroups[s].domain = was;
      }
      if (found.empty()) continue;
      std::size_t best = 0;
      std::vector<tier_candidate> scores;
      for (const auto& f : found) scores.push_back(domain_candidate(j, s, f.domain));
      for (std::size_t i = 1; i < found.size(); ++i) {
        const auto x = domain_order{}.score(scores[i], tier_range{}),
                   y = domain_order{}.score(scores[best], tier_range{});
        if (x > y || (x == y && c_.domains[found[i].domain].name < c_.domains[found[best].domain].name)) best = i;
      }
      found[best].state.restore(*this);
      tasks = found[best].left;
      auto& mine = c_.jobs[j].subgroups[s].domain;
      mine = c_.common(was, found[best].domain);
      return scores[best].filled + (found.size() > 1 ? scores[best].own : 0);
    }
    return std::nullopt;
  }
  [[nodiscard]] bool placed_any(const saved& before) const {
    for (std::size_t t = 0; t < c_.tasks.size(); ++t)
      if (c_.tasks[t].state != before.tasks[t].state) return true;
    return false;
  }
  /// Packing counts what a subgroup asks in all, also what runs already.
  [[nodiscard]] tier_candidate domain_candidate(std::size_t j, std::size_t s, std::size_t d) const {
    quantities asks(c_.resources.size(), 0);
    std::int64_t inside = 0;
    const auto& tasks = c_.jobs[j].subgroups[s].tasks;
    for (const auto t : tasks) {
      add(asks, c_.tasks[t].request);
      inside += c_.tasks[t].node != nowhere && has(d, c_.tasks[t].node) ? 1 : 0;
    }
    return {static_cast<std::uint32_t>(d),
            false,
            c_.domains[d].tier,
            filled(c_.domains[d], asks),
            static_cast<double>(inside) / static_cast<double>(std::max<std::size_t>(1, tasks.size())),
            0};
  }
  /// Mean over cpu and memory of (used + asked) / total; 0 where any overflows.
  [[nodiscard]] static double filled(const domain& d, const quantities& asks) {
    double sum = 0;
    int n = 0;
    for (std::size_t r = 0; r < 2 && r < asks.size(); ++r) {
      if (asks[r] == 0) continue;
      if (d.used[r] + asks[r] > d.total[r]) return 0;
      sum += static_cast<double>(d.used[r] + asks[r]) / static_cast<double>(d.total[r]);
      ++n;
    }
    return n == 0 ? 0 : sum / n;
  }

  /// Domains to try below `root`, tier by tier from the narrowest: those of at most the limit's tier that hold what is
  /// asked; where something runs already, those below its highest allowed ancestor.
  [[nodiscard]] std::vector<std::vector<std::size_t>> gradient(std::size_t root,
                                                               const std::optional<spread_limit>& limit,
                                                               std::size_t has_domain, const quantities& asks) const {
    if (!limit || !limit->hard || !limit->tier) return {{root}};
    std::size_t from = root;
    if (has_domain != nowhere) {
      std::size_t highest = nowhere;
      for (const auto d : c_.path(has_domain)) {
        if (c_.domains[d].tier > *limit->tier) break;
        highest = d;
      }
      if (highest == nowhere) return {};
      const auto lca = c_.common(root, highest);
      if (lca == highest) from = root;
      else if (lca == root) from = highest;
      else return {};
    }
    std::vector<std::size_t> all{from};
    for (std::size_t i = 0; i < all.size(); ++i)
      for (const auto k : c_.domains[all[i]].children) all.push_back(k);
    std::vector<std::size_t> fit;
    for (const auto d : all)
      if (c_.domains[d].tier <= *limit->tier &&
          (has_domain != nowhere || within(asks, c_.domains[d].idle) || within(asks, c_.domains[d].later)))
        fit.push_back(d);
    std::sort(fit.begin(), fit.end(), [&](std::size_t a, std::size_t b) {
      const auto &x = c_.domains[a], &y = c_.domains[b];
      return x.tier != y.tier ? x.tier < y.tier : x.name < y.name;
    });
    std::vector<std::vector<std::size_t>> out;
    for (const auto d : fit) {
      if (out.empty() || c_.domains[out.back()[0]].tier != c_.domains[d].tier) out.emplace_back();
      out.back().push_back(d);
    }
    return out;
  }

  /// Tasks of a subgroup in a domain, in order. Keeps what was placed if the gang is ready or waits for what leaves.
  bool place_tasks(std::size_t j, std::size_t s, std::vector<std::size_t>& left, std::size_t d) {
    if (c_.domains[d].nodes.empty()) return false;
    const saved before{*this};
    auto near = c_.jobs[j].subgroups[s].domain;
    const bool aware = c_.jobs[j].subgroups[s].limit.has_value();
    while (!left.empty()) {
      const auto t = left.front();
      left.erase(left.begin());
      if (!quota_.allows(c_.jobs[j].queue, c_.tasks[t].request)) continue;
      if (role_failed(s, t)) {
        failed_.insert(t);
        continue;
      }
      std::vector<std::size_t> now, later;
      for (const auto n : c_.domains[d].nodes) {
        const auto& x = c_.nodes[n];
        if (c_.tasks[t].allowed && (*c_.tasks[t].allowed)[n] == 0) continue;
        if (x.tasks >= x.most_tasks) continue;
        if (within(c_.tasks[t].request, x.idle)) now.push_back(n);
        else if (within(c_.tasks[t].request, x.later())) later.push_back(n);
      }
      if (now.empty() && later.empty()) {
        failed_.insert(t);
        if (goes_on(j, s)) continue;
        break;
      }
      const bool waits = now.empty();
      const auto n = best_node(j, s, t, waits ? later : now, aware, near);
      put(t, n, waits);
      if (aware) near = c_.common(near, narrowest(n));
      if (gang_view{c_, c_.jobs[j]}.subgroup_ready(c_.jobs[j].subgroups[s])) break;
    }
    const gang_view v{c_, c_.jobs[j]};
    if (v.subgroup_ready(c_.jobs[j].subgroups[s]) || v.subgroup_waiting(c_.jobs[j].subgroups[s])) return true;
    before.restore(*this);
    return false;
  }
  /// The tier-1 domain of a node; nowhere where it has none.
  [[nodiscard]] std::size_t narrowest(std::size_t n) const {
    int least = top_tier_;
    for (std::size_t d = 1; d < c_.domains.size(); ++d) least = std::min(least, c_.domains[d].tier);
    for (std::size_t d = 0; d < c_.domains.size(); ++d)
      if (c_.domains[d].tier == least && has(d, n)) return d;
    return nowhere;
  }
  [[nodiscard]] std::size_t best_node(std::size_t j, std::size_t s, std::size_t t, const std::vector<std::size_t>& of,
                                      bool aware, std::size_t near) const {
    int least = top_tier_;
    for (std::size_t d = 1; d < c_.domains.size(); ++d) least = std::min(least, c_.domains[d].tier);
    const tier_range range{least, top_tier_};
    const auto& tasks = c_.jobs[j].subgroups[s].tasks;
    std::optional<std::pair<tier_candidate, std::size_t>> best;
    for (const auto n : of) {
      tier_candidate x;
      x.index = static_cast<std::uint32_t>(n);
      if (aware) {
        const auto home = narrowest(n);
        const auto lca = home == nowhere || near == nowhere ? nowhere : c_.common(home, near);
        x.same = home != nowhere && home == near;
        x.tier = lca == nowhere ? 0 : c_.domains[lca].tier;
        std::int64_t inside = 0;
        for (const auto o : tasks)
          inside += near != nowhere && home != nowhere && c_.tasks[o].node != nowhere && has(home, c_.tasks[o].node);
        x.own = static_cast<double>(inside) / static_cast<double>(std::max<std::size_t>(1, tasks.size()));
      } else {
        x.filled = packing(c_.tasks[t].request, n, range);
        x.free = free_part(c_.tasks[t].request, c_.nodes[n]);
      }
      const auto better = [&](const auto& order) {
        const auto a = order.score(x, range), b = order.score(best->first, range);
        return a > b || (a == b && c_.nodes[n].name < c_.nodes[best->second].name);
      };
      if (!best || (aware ? better(near_node_order{}) : better(plain_node_order{}))) best.emplace(x, n);
    }
    return best->second;
  }
  /// Sum over tiers of fading^(tier-1) × how full the node's domain of that tier gets; a node without one counts as
  /// full.
  [[nodiscard]] double packing(const quantities& asks, std::size_t n, tier_range range) const {
    if (range.least == range.most) return 0;  // no domains but the cluster: equal for all
    double sum = 0, weights = 0, weight = 1;
    for (int tier = 1; tier <= range.most; ++tier, weight *= tier_fading) {
      if (tier < range.least) continue;
      double score = 1;
      for (const auto& d : c_.domains)
        if (d.tier == tier && std::find(d.nodes.begin(), d.nodes.end(), n) != d.nodes.end()) {
          score = filled(d, asks);
          break;
        }
      sum += weight * score;
      weights += weight;
    }
    return sum / weights;
  }
  [[nodiscard]] static double free_part(const quantities& asks, const node& n) {
    double sum = 0;
    for (std::size_t r = 0; r < 2 && r < n.total.size(); ++r)
      if (n.total[r] > 0)
        sum += static_cast<double>(n.idle[r] - (r < asks.size() ? asks[r] : 0)) / static_cast<double>(n.total[r]);
    return sum;
  }
  void put(std::size_t t, std::size_t n, bool waits) {
    auto& x = c_.tasks[t];
    x.node = n;
    x.state = waits ? task_state::pipelined : task_state::allocated;
    if (waits) add(c_.nodes[n].pipelined, x.request);
    else add(c_.nodes[n].idle, x.request, -1);
    ++c_.nodes[n].tasks;
    quota_.charge(c_.jobs[x.job].queue, x.request, 1);
    for (auto& d : c_.domains)
      if (std::find(d.nodes.begin(), d.nodes.end(), n) != d.nodes.end()) add(d.used, x.request);
  }

  /// A task of this role has found no node in this subgroup; roles are taken to ask the same.
  [[nodiscard]] bool role_failed(std::size_t s, std::size_t t) const {
    if (c_.tasks[t].role.empty()) return false;
    for (const auto f : failed_)
      if (c_.tasks[f].job == c_.tasks[t].job && c_.tasks[f].subgroup == s && c_.tasks[f].role == c_.tasks[t].role)
        return true;
    return false;
  }
  /// Whether the gang can still start although a task found no node.
  [[nodiscard]] bool goes_on(std::size_t j, std::size_t s) const {
    const auto& x = c_.jobs[j];
    if (x.least == static_cast<std::int64_t>(x.tasks.size())) return false;
    if (x.subgroups[s].least >= static_cast<std::int64_t>(x.subgroups[s].tasks.size())) return false;
    if (x.partitioned()) return true;
    std::set<std::string> roles;
    for (const auto f : failed_)
      if (c_.tasks[f].job == j && c_.tasks[f].subgroup == s) roles.insert(c_.tasks[f].role);
    if (x.least < x.roles_total()) {
      std::int64_t left = 0, ready = 0;
      for (const auto t : x.tasks) {
        left += c_.tasks[t].state == task_state::pending && roles.count(c_.tasks[t].role) == 0 ? 1 : 0;
        ready += holds(c_.tasks[t].state) ? 1 : 0;
      }
      return ready + left >= x.least;
    }
    for (const auto& role : roles) {
      const auto least = x.role_least.find(role);
      if (least == x.role_least.end() || least->second == 0) continue;
      std::int64_t have = 0;
      for (const auto t : x.tasks) have += c_.tasks[t].role == role && gang_view::ready_state(c_.tasks[t]) ? 1 : 0;
      if (have < least->second) return false;
    }
    return true;
  }

  cluster& c_;
  quota quota_;
  bool needs_admission_;
  int top_tier_ = 1;
  std::set<std::size_t> failed_;  ///< tasks that found no node
};

}  // namespace berth::volcano
