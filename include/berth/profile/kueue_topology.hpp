#pragma once
/// \file
/// Kueue's topology-aware placement as a composition of walks. Source: kubernetes-sigs/kueue
/// pkg/cache/scheduler/tas_flavor_snapshot.go, tas_balanced_placement.go, tas_elastic_workloads.go and
/// keps/2724-topology-aware-scheduling.
///
/// | asked                    | walk                                                                        |
/// |--------------------------|-----------------------------------------------------------------------------|
/// | required, preferred      | `domain_walk<best_fit>`                                                     |
/// | unconstrained            | `domain_walk<least_free>` (since 0.15; before: `best_fit`)                  |
/// | preferred, `balanced`    | `balanced_walk`, then `best_fit` where it finds nothing                     |

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "berth/core/expected.hpp"
#include "berth/profile/gang.hpp"
#include "berth/profile/site_tree.hpp"
#include "berth/solver/balanced_walk.hpp"
#include "berth/solver/domain_walk.hpp"

namespace berth {

/// Its feature gates, by what they do.
struct kueue_topology_rules {
  bool least_free_unconstrained = true;  ///< TASProfileMixed
  bool balanced = false;                 ///< TASBalancedPlacement
  bool preferred_affinity = false;       ///< TASRespectNodeAffinityPreferred
  bool elastic = false;                  ///< ElasticJobsViaWorkloadSlicesWithTAS
};

class kueue_topology {
 public:
  /// The site must outlive it.
  explicit kueue_topology(const named_site& site, kueue_topology_rules rules = {}) : site_{site}, rules_{rules} {}

  /// Places requests one after another, each on what the ones before left; stops at the first that fails. Requests of
  /// one group are a leader (the one with fewer tasks) and its workers. O(requests × domains × levels).
  [[nodiscard]] std::vector<named_answer> place(const std::vector<named_request>& all) {
    std::vector<named_answer> out(all.size());
    for (std::size_t i = 0; i < all.size(); ++i) out[i].request = all[i].name;
    std::vector<bool> done(all.size(), false);
    for (std::size_t i = 0; i < all.size(); ++i) {
      if (done[i]) continue;
      std::vector<std::size_t> group{i};
      for (std::size_t k = i + 1; k < all.size(); ++k)
        if (!all[i].group.empty() && all[k].group == all[i].group) group.push_back(k);
      for (const std::size_t k : group) done[k] = true;
      std::size_t workers = group[0];
      std::optional<std::size_t> leader;
      if (group.size() > 1) {
        leader = group[1];
        if (all[*leader].count > all[workers].count) leader = group[0], workers = group[1];
      }
      if (!place_group(all, workers, leader, out)) break;
    }
    return out;
  }

  /// Finds a new place for the tasks that each request had on the failed node, inside of the domain that binds it: the
  /// required one, or that of the innermost segment that broke. The others stay where they are.
  [[nodiscard]] std::vector<named_answer> replace(const std::vector<named_request>& all, const std::string& failed) {
    std::vector<named_answer> out(all.size());
    for (std::size_t i = 0; i < all.size(); ++i) out[i].request = all[i].name;
    for (std::size_t i = 0; i < all.size(); ++i)
      if (!all[i].existing.empty() && !replace_one(all[i], failed, out[i])) break;
    return out;
  }

 private:
  using shares = std::vector<walk_share>;
  struct found {
    std::vector<placed_count> workers;
    std::vector<placed_count> leader;
  };
  struct statistics {
    std::int64_t nodes = 0;
    std::map<std::pair<std::string, std::string>, std::int64_t> excluded;
  };

  [[nodiscard]] static named_refusal refuse(named_refusal::category why, std::string detail) {
    named_refusal r;
    r.why = why;
    r.detail = std::move(detail);
    return r;
  }
  [[nodiscard]] std::vector<std::string> answer_levels() const {
    const auto& l = site_.site().levels;
    if (site_.leaves_are_nodes()) return {l.back()};
    return l;
  }
  [[nodiscard]] placed_count at(std::uint32_t domain, std::int64_t count) const {
    if (site_.leaves_are_nodes()) return {{site_.name(domain)}, count};
    return {site_.path(domain), count};
  }
  void give(named_answer& a, std::vector<placed_count> where) const {
    a.outcome = named_answer::result::placed;
    a.levels = answer_levels();
    a.placements = std::move(where);
  }
  static void fail(named_answer& a, const named_refusal& why) {
    a.outcome = named_answer::result::unschedulable;
    a.reason = why;
  }
  void take(const std::vector<placed_count>& where, const named_request& r) {
    for (const auto& p : where)
      if (auto* leaf = site_.find(p.domain)) {
        leaf->free.add(r.per_task, -p.count);
        leaf->free.set("pods", leaf->free.of("pods") - 1000 * p.count);
      }
  }
  [[nodiscard]] bool stale(const std::vector<placed_count>& where) {
    for (const auto& p : where)
      if (site_.find(p.domain) == nullptr) return true;
    return false;
  }
  [[nodiscard]] static std::int64_t total(const std::vector<placed_count>& where) {
    std::int64_t n = 0;
    for (const auto& p : where) n += p.count;
    return n;
  }
  /// In the order of the domains' names, counts of one domain added up.
  [[nodiscard]] std::vector<placed_count> merged(std::vector<placed_count> a, const std::vector<placed_count>& b) {
    std::map<std::vector<std::string>, placed_count> all;
    a.insert(a.end(), b.begin(), b.end());
    for (const auto& p : a) {
      const auto* leaf = site_.find(p.domain);
      auto& one = all[leaf == nullptr ? p.domain : site_.path(leaf->domain)];
      one.domain = p.domain;
      one.count += p.count;
    }
    std::vector<placed_count> out;
    for (const auto& [path, p] : all) out.push_back(p);
    return out;
  }

  /// False: later requests are not attempted.
  [[nodiscard]] bool place_group(const std::vector<named_request>& all, std::size_t w, std::optional<std::size_t> l,
                                 std::vector<named_answer>& out) {
    named_request workers = all[w];
    const named_request* leader = l ? &all[*l] : nullptr;
    const bool grows = rules_.elastic && !workers.previous.empty() && !stale(workers.previous) &&
                       (leader == nullptr || !stale(leader->previous));
    if (grows) {
      const std::int64_t before = total(workers.previous);
      if (workers.count <= before) {
        // The same, or less: the last of the previous places go.
        std::vector<placed_count> kept;
        std::int64_t left = workers.count;
        for (auto p : workers.previous) {
          if (left <= 0) break;
          p.count = p.count < left ? p.count : left;
          left -= p.count;
          kept.push_back(std::move(p));
        }
        take(kept, workers);
        give(out[w], std::move(kept));
        if (leader != nullptr) {
          take(leader->previous, *leader);
          give(out[*l], leader->previous);
        }
        return true;
      }
      take(workers.previous, workers);
      const bool keeps_leader = leader != nullptr && !leader->previous.empty();
      if (keeps_leader) take(leader->previous, *leader);
      workers.count -= before;
      auto more = find(workers, keeps_leader ? nullptr : leader, {});
      if (!more) {
        fail(out[w], more.error());
        return false;
      }
      take(more->workers, workers);
      give(out[w], merged(more->workers, workers.previous));
      if (leader != nullptr) {
        if (!keeps_leader) take(more->leader, *leader);
        give(out[*l], keeps_leader ? leader->previous : more->leader);
      }
      return true;
    }
    auto where = find(workers, leader, {});
    if (!where) {
      fail(out[w], where.error());
      if (l) fail(out[*l], where.error());
      return false;
    }
    take(where->workers, workers);
    give(out[w], std::move(where->workers));
    if (l) {
      take(where->leader, *leader);
      give(out[*l], std::move(where->leader));
    }
    return true;
  }

  [[nodiscard]] bool replace_one(const named_request& r, const std::string& failed, named_answer& out) {
    std::vector<placed_count> stays;
    named_request lost = r;
    lost.count = 0;
    for (const auto& p : r.existing) {
      if (!p.domain.empty() && p.domain.back() == failed) lost.count = p.count;
      else stays.push_back(p);
    }
    if (stale(stays)) {
      fail(out, refuse(named_refusal::category::invalid_request, "the other tasks' nodes are not there either"));
      return false;
    }
    const auto within = replacement_domain(lost, stays);
    if (!r.segments.empty() && within && lost.count % size_of(r) != 0) {
      // The innermost segments that the lost tasks fill whole stay whole.
      lost.segments.clear();
      for (std::size_t i = r.segments.size(); i-- > 0;)
        if (r.segments[i].size > 0 && lost.count % r.segments[i].size == 0) {
          lost.segments.push_back(r.segments[i]);
          break;
        }
    }
    auto where = find(lost, nullptr, within);
    if (!where) {
      fail(out, where.error());
      return false;
    }
    if (where->workers.empty()) {
      fail(out, refuse(named_refusal::category::insufficient_capacity, "no replacement"));
      return false;
    }
    take(where->workers, lost);
    give(out, merged(where->workers, stays));
    return true;
  }

  [[nodiscard]] static std::int64_t size_of(const named_request& r) {
    return r.segments.empty() || r.segments[0].size <= 0 ? 1 : r.segments[0].size;
  }
  /// The domain that the replacement may not leave; empty where it may go anywhere.
  [[nodiscard]] std::optional<std::uint32_t> replacement_domain(const named_request& lost,
                                                                const std::vector<placed_count>& stays) {
    const auto asked = level_of(lost);
    if (!asked || stays.empty()) return std::nullopt;
    if (!lost.segments.empty() && lost.count % size_of(lost) != 0) {
      const named_segment* broken = &lost.segments[0];
      for (std::size_t i = lost.segments.size(); i-- > 0;)
        if (lost.segments[i].size > 0 && lost.count % lost.segments[i].size != 0) {
          broken = &lost.segments[i];
          break;
        }
      const auto level = site_.site().level(broken->level);
      if (!level) return std::nullopt;
      std::map<std::uint32_t, std::int64_t> used;
      for (const auto& p : stays)
        if (const auto* leaf = site_.find(p.domain)) used[site_.tree.ancestor(leaf->domain, *level)] += p.count;
      for (const auto& [domain, n] : used)
        if ((n + lost.count) % broken->size == 0) return domain;
      return std::nullopt;
    }
    const auto* leaf = site_.find(stays[0].domain);
    if (lost.mode != topology_mode::required || leaf == nullptr) return std::nullopt;
    return site_.tree.ancestor(leaf->domain, *asked);
  }

  /// The level that a request is about: with segments alone the top, without anything the bottom.
  [[nodiscard]] expected<std::size_t, named_refusal> level_of(const named_request& r) const {
    const auto& levels = site_.site().levels;
    if (levels.empty()) return unexpected{refuse(named_refusal::category::unknown_level, "no levels")};
    if (r.mode != topology_mode::required && r.mode != topology_mode::preferred)
      return r.segments.empty() ? levels.size() - 1 : 0;
    const auto l = site_.site().level(r.level);
    if (!l) return unexpected{refuse(named_refusal::category::unknown_level, r.level)};
    return *l;
  }
  [[nodiscard]] expected<walk_request, named_refusal> plan(const named_request& r, bool leader) const {
    walk_request out;
    out.tasks = r.count;
    out.leaders = leader ? 1 : 0;
    out.required = r.mode == topology_mode::required;
    out.unconstrained = !out.required && r.mode != topology_mode::preferred;
    if (!r.segments.empty() && r.segments[0].size <= 0)
      return unexpected{refuse(named_refusal::category::invalid_request, "segments without a size")};
    out.segment_size = size_of(r);
    auto level = level_of(r);
    if (!level) return unexpected{std::move(level).error()};
    out.level = *level;
    const auto& levels = site_.site().levels;
    out.segment_level = levels.size() - 1;
    if (!r.segments.empty()) {
      const auto l = site_.site().level(r.segments[0].level);
      if (!l) return unexpected{refuse(named_refusal::category::unknown_level, r.segments[0].level)};
      out.segment_level = *l;
    }
    if (out.level > out.segment_level)
      return unexpected{refuse(named_refusal::category::invalid_request, "segments wider than the gang's domain")};
    std::int64_t size = out.segment_size;
    std::size_t around = out.segment_level;
    for (std::size_t i = 1; i < r.segments.size(); ++i) {
      const auto l = site_.site().level(r.segments[i].level);
      if (!l) return unexpected{refuse(named_refusal::category::unknown_level, r.segments[i].level)};
      if (*l <= around || r.segments[i].size <= 0 || size % r.segments[i].size != 0)
        return unexpected{
            refuse(named_refusal::category::invalid_request, "inner segments must be finer and divide the outer ones")};
      out.multiple.resize(*l + 1, 0);
      for (std::size_t k = around + 1; k <= *l; ++k) out.multiple[k] = r.segments[i].size;
      size = r.segments[i].size;
      around = *l;
    }
    return out;
  }

  /// Why a node is out of question for a task; empty where it is not.
  [[nodiscard]] std::optional<std::pair<std::string, std::string>> excluded(const node_wish& wish,
                                                                            const site_node& n) const {
    if (const auto* t = untolerated(n.taints, wish.tolerations))
      return std::pair{std::string{"taint"}, t->key + (t->value.empty() ? "" : "=" + t->value) + ":" + t->effect};
    const label_list labels = site_.labels_of(n);
    if (wish.missing(labels) != nullptr) return std::pair{std::string{"node-selector"}, std::string{}};
    if (!wish.affinity_matches(labels)) return std::pair{std::string{"affinity"}, std::string{}};
    return std::nullopt;
  }

  void count_leaves(const named_request& r, const named_request* leader, std::optional<std::uint32_t> within,
                    statistics& why) {
    for (auto& c : site_.tree.counts) c = {};
    const auto with_pod = [](amount_list need) {
      need.set("pods", need.of("pods") + 1000);
      return need;
    };
    const amount_list need = with_pod(r.per_task);
    for (const auto& leaf : site_.leaves) {
      ++why.nodes;
      domain_counts& c = site_.tree.counts[leaf.domain];
      if (site_.leaves_are_nodes()) {
        const site_node& n = site_.site().nodes[leaf.nodes[0]];
        if (const auto cause = excluded(r.wish, n)) {
          ++why.excluded[*cause];
          continue;
        }
        if (rules_.preferred_affinity) c.preference = r.wish.preference(site_.labels_of(n));
      }
      if (within && site_.tree.ancestor(leaf.domain, site_.tree.at(*within).level) != *within) {
        ++why.excluded[{"topology-domain", ""}];
        continue;
      }
      std::string short_of;
      c.tasks = times_in(leaf.free, need, 0, &short_of);
      if (c.tasks == 0 && !short_of.empty()) ++why.excluded[{"resource", short_of}];
      amount_list rest = leaf.free;
      if (leader != nullptr) {
        const amount_list lead = with_pod(leader->per_task);
        if (times_in(rest, lead, 0) > 0) {
          c.leaders = 1;
          rest.add(lead, -1);
        }
      }
      c.tasks_with_leader = times_in(rest, need, 0);
    }
  }

  template <class Policy>
  [[nodiscard]] expected<shares, walk_refusal> walk(const walk_request& request) {
    domain_walk<Policy> w{site_.tree, request};
    if (rules_.balanced && !request.required && !request.unconstrained)
      if (auto even = balanced_walk{site_.tree, request}.choose())
        return w.descend(std::move(even->second), even->first, true);
    auto chosen = w.choose();
    if (!chosen) return unexpected{std::move(chosen).error()};
    return w.descend(std::move(chosen->second), chosen->first);
  }

  [[nodiscard]] expected<found, named_refusal> find(const named_request& r, const named_request* leader,
                                                    std::optional<std::uint32_t> within) {
    auto request = plan(r, leader != nullptr);
    if (!request) return unexpected{std::move(request).error()};
    statistics why;
    count_leaves(r, leader, within, why);
    site_.tree.count_up(request->counting());
    auto got = request->unconstrained && rules_.least_free_unconstrained ? walk<least_free>(*request)
                                                                         : walk<best_fit>(*request);
    if (!got) return unexpected{explained(r, *request, got.error(), why)};
    std::vector<std::uint32_t> order;
    std::map<std::uint32_t, walk_share> by_domain;
    for (const auto& s : *got) {
      order.push_back(s.domain);
      by_domain[s.domain] = s;
    }
    sort_domains(order,
                 [&](std::uint32_t a, std::uint32_t b) { return site_.tree.at(a).rank < site_.tree.at(b).rank; });
    found out;
    for (const std::uint32_t d : order) {
      const auto& s = by_domain[d];
      if (s.tasks > 0) out.workers.push_back(at(d, s.tasks));
      if (s.leaders > 0) out.leader.push_back(at(d, s.leaders));
    }
    return out;
  }

  [[nodiscard]] std::int64_t segments_below(std::uint32_t d, std::size_t level, std::int64_t size) const {
    if (site_.tree.at(d).level == level) return site_.tree.counts[d].tasks / size;
    std::int64_t sum = 0;
    for (const std::uint32_t c : site_.tree.at(d).children) sum += segments_below(c, level, size);
    return sum;
  }
  [[nodiscard]] named_refusal explained(const named_request& r, const walk_request& request, const walk_refusal& w,
                                        const statistics& why) const {
    if (w.why == walk_refusal::cause::no_domains)
      return refuse(named_refusal::category::no_domains_at_level, site_.site().levels[w.level]);
    named_refusal out;
    if (request.multiple.empty()) {
      out.unit = request.segment_size == 1 ? "pod" : "slice";
      out.fits = w.fits;
      out.needed = w.needed;
    } else {
      // What the best domain of that level holds, layer by layer.
      out.unit = "slice";
      std::uint32_t best = counted_tree::none;
      for (const std::uint32_t d : site_.tree.level(w.level)) {
        if (best != counted_tree::none) {
          const auto a = site_.tree.counts[d].segments, b = site_.tree.counts[best].segments;
          if (a < b || (a == b && site_.tree.at(d).rank > site_.tree.at(best).rank)) continue;
        }
        best = d;
      }
      for (const auto& s : r.segments)
        if (const auto l = site_.site().level(s.level); l && best != counted_tree::none && *l >= w.level)
          out.per_level.push_back({s.level, segments_below(best, *l, s.size), r.count / s.size});
    }
    if (!why.excluded.empty()) {
      out.nodes_considered = why.nodes;
      for (const auto& [cause, n] : why.excluded) out.excluded.push_back({cause.first, cause.second, n});
    }
    return out;
  }

  site_tree site_;
  kueue_topology_rules rules_;
};

}  // namespace berth
