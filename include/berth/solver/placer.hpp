#pragma once
/// \file
/// The placer: which devices should this gang get now, and if none, why not?
///
/// \code
/// berth::cluster c{spec, {.jobs = 1000, .tasks = 8000}};
/// berth::placer place{c};
/// berth::gang g{.groups = {{.name = "worker", .shape = {.devices = 8}, .wanted = 8, .minimum = 8}}};
/// if (const auto d = place(g)) c.commit(berth::job_key{1}, d.where);
/// \endcode
///
/// How it decides
///   * All tasks alike: the capacity index knows exactly what fits where, so the answer needs no search. The narrowest
///     level that has a domain with room wins; the domain policy says which domain, and how to go down from there.
///   * Several task shapes: candidates that could hold every group by itself are tried in the policy's order, scarce
///     and large tasks first; where that fails, a search with backtracking decides, up to `search_steps` nodes.
///   * Guaranteed bandwidth between nodes, and the same rails on all: the shares of all domains are found by a
///     recursion over the tree (`fabric_search.hpp`). For several groups or segments a placement is made without, and
///     where that does not keep what is asked, tables of counts decide (`count_search.hpp`); they also decide mixed
///     gangs that the search gave up.
///   * The number of tasks counts counts before locality, except that a required level is never left.
///
/// Cost      alike: O(levels + domains used + nodes used), not the size of the cluster. Mixed: up to `search_steps`
///           nodes. Where tables of counts decide, up to 1,000 × `search_steps` of their steps for each number of tasks
///           that is tried: mostly 0.5 to 60 ms at 512 to 4,096 nodes, some 260 ms for elastic gangs (one run, 2026).
/// Memory    nothing is allocated after construction, unless the cluster meets a new node shape, see `learn`.
/// Threads   one placer and one cluster per thread.

#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>

#include "berth/cluster/cluster.hpp"
#include "berth/core/flat_array.hpp"
#include "berth/core/separate.hpp"
#include "berth/job/gang.hpp"
#include "berth/policy/concepts.hpp"
#include "berth/policy/device_choice.hpp"
#include "berth/policy/domain_fit.hpp"
#include "berth/policy/node_fit.hpp"
#include "berth/solver/count_search.hpp"
#include "berth/solver/decision.hpp"
#include "berth/solver/fabric_search.hpp"
#include "berth/solver/mixed_search.hpp"
#include "berth/solver/refusal_memory.hpp"
#include "berth/solver/tree_filler.hpp"

namespace berth {

/// Checks a gang for contradictions. O(groups).
[[nodiscard]] gang_fault check_gang(const gang& g, const cluster& c, std::uint32_t& group) noexcept;

/// Places gangs on one cluster by three policies.
template <domain_policy Domain = fewest_domains, node_policy Node = bin_pack, device_policy Devices = best_bandwidth>
class placer {
 public:
  /// Allocates all it will need. \pre `c` outlives the placer, and no other cluster is assigned to it meanwhile
  explicit placer(cluster& c, Domain domain = {}, Node node = {}, Devices devices = {},
                  const placer_limits& limits = {});
  placer(const placer&) = delete;
  placer& operator=(const placer&) = delete;
  ~placer();

  /// Prepares for larger gangs. Allocates.
  void reserve(const placer_limits& limits);

  /// Prepares for node shapes that the cluster met since, which broken links make: else the next decision does, and
  /// allocates. False where that fails for want of memory; decisions are `capacity_exhausted` until it succeeds.
  bool learn() noexcept { return filler_.learn(); }

  /// Decides. The cluster is unchanged afterwards; `commit` the answer to take it.
  [[nodiscard]] decision operator()(const gang& g) noexcept;

 private:
  /// Whether the cluster keeps what the groups ask for beyond masks and sums, and this placer is prepared for it.
  [[nodiscard, gnu::cold]] bool is_served(const gang& g) const noexcept {
    bool served = true;
    for (const task_group& t : g.groups)
      served = served && cluster_->inside().serves(t.shape) && (!t.shape.part.asks() || filler_.ready_for_parts());
    return served;
  }
  /// \returns whether parts are asked for
  bool begin_parts(const gang& g) noexcept {
    bool parts = false;
    for (const task_group& t : g.groups) {
      if (!t.shape.part.asks()) continue;
      if (!parts) filler_.begin_parts();
      parts = true;
      filler_.arrived(t.shape.part, t.wanted);
    }
    return parts;
  }
  /// One task with one MIG instance: decided over the states of all GPUs, not over nodes. False: as any other gang.
  bool place_instance(const gang& g, decision& d) noexcept {
    if constexpr (decltype(filler_)::packs) {
      const task_group& t = g.groups.front();
      const part_need& need = t.shape.part;
      if (g.groups.size() != 1 || t.wanted != 1 || g.segments || !need.is_mig() || need.count() != 1 ||
          t.shape.bind.asks() || !filler_.place_instance(t.shape))
        return false;
      const level_id leaf = cluster_->tree().leaf_level();
      for (unsigned l = 0; l <= leaf.raw(); ++l) d.score.domains_used[l] = 1;
      d.result = verdict::placed;
      d.level = leaf;
      d.domain = cluster_->tree().leaf_of(filler_.tasks()[0].node);
      d.where = {filler_.tasks(), {shapes_.data(), shapes_.size()}, g.between_nodes};
      d.where.parts = filler_.places();
      d.steps = filler_.visited();
      return true;
    }
    static_cast<void>(g), static_cast<void>(d);
    return false;
  }
  /// Answers from memory where nothing that could help has changed; else tells the search where something has.
  bool refused_before(const gang& g, decision& d) noexcept {
    known_ = cluster_->in_transaction() ? nullptr : refusals_.find(g, *cluster_);
    search_.restrict_to(nullptr);
    if (known_ == nullptr) return false;
    if (!cluster_->gained_since(known_->mark)) {
      const bool same = refusals_.is_same(*known_, g);
      if (same && known_->epoch == cluster_->epoch()) {
        d = known_->answer;
      } else {
        // Refused still, but by how much, and whether for ever, is a question about this gang and the nodes of now.
        search_.refuse_unsearched(g, d);
        if (same) refusals_.update(*known_, *cluster_, d);
      }
      return true;
    }
    if (!known_->required || known_->in_segments) return false;
    for (auto& w : gained_) w = 0;
    const bool told = cluster_->each_leaf_gained_since(known_->mark, [&](std::uint32_t leaf) {
      for (unsigned l = cluster_->tree().leaf_level().raw(); l > known_->level.raw(); --l)
        leaf = cluster_->tree().at(level_id{static_cast<std::uint8_t>(l)}, domain_id{leaf}).parent;
      gained_[leaf / 64] |= bit(leaf % 64);
    });
    if (told) search_.restrict_to(gained_.data());
    return false;
  }
  void search_for(const gang& g, decision& d) noexcept {
    search_.place(g, d);
    if (d.result == verdict::gave_up && !detail::asks_fabric(g)) counts_.settle(g, d);
    const bool proven = d.result == verdict::not_now || d.result == verdict::never;
    if (!proven || cluster_->in_transaction()) return;
    refusals_.remember(g, *cluster_, d);
  }
  void place_alike(const gang& g, decision& d) {
    const task_group& t = g.groups.front();
    const live_shape* s = cluster_->bounds(t.shape);
    if (s == nullptr) {
      d.result = verdict::capacity_exhausted;
      return;
    }
    const unsigned widest = g.where == locality::required ? static_cast<unsigned>(g.level.raw()) : 0U;
    if (cluster_->shares_bounds() && !(s->shape() == t.shape)) {
      filler_.select(*s, 0);
      if (fill_narrowest(t.wanted, widest, d) && holds_on_nodes(t.shape)) return;
      // The bound promised too much, or cannot say how much less would fit: count this shape exactly.
      d.level = {};
      d.domain = {};
      filler_.begin(d.score);
      s = cluster_->counters(t.shape);
    }
    filler_.select(*s, 0);
    if (fill_narrowest(t.wanted, widest, d)) return;
    std::uint64_t most = 0;
    unsigned most_level = widest;
    for (unsigned level = s->layout().levels(); level-- > widest;) {
      const std::uint64_t here = s->largest(level);
      if (here > most) most = here, most_level = level;
    }
    if (most >= t.minimum && fill_narrowest(most, widest, d)) return;
    d.result = cluster_->potential(*s, widest) < t.minimum ? verdict::never : verdict::not_now;
    d.why = {gang_fault::none, 0, level_id{static_cast<std::uint8_t>(most_level)}, {}, most, t.minimum};
    if (most != 0) d.why.nearest = domain_id{s->emptiest(0, 0, most_level, most)};
  }
  /// Puts `n` tasks into a domain of the narrowest level that has one with room.
  bool fill_narrowest(std::uint64_t n, unsigned widest, decision& d) {
    for (unsigned level = cluster_->tree().level_count(); level-- > widest;) {
      std::uint32_t at = filler_.choose_domain(0, 0, level, n);
      if (at == live_shape::no_domain) continue;
      if (filler_.has_parts() && n == 1 && level + 1U == cluster_->tree().level_count())
        at = filler_.leaf_for_parts(at);
      filler_.fill(level, at, n);
      filler_.count_around(level);
      d.result = verdict::placed;
      d.level = level_id{static_cast<std::uint8_t>(level)};
      d.domain = domain_id{at};
      return true;
    }
    return false;
  }
  /// Whether CPU and memory of the nodes suffice for the tasks just placed by a bound. Tasks of a node are neighbours.
  [[nodiscard]] bool holds_on_nodes(const task_shape& shape) noexcept {
    node_id last{};
    cpu_millis cpu{};
    bytes memory{};
    for (const task_placement& t : filler_.tasks()) {
      if (t.node != last) last = t.node, cpu = {}, memory = {};
      cpu += shape.cpu;
      memory += shape.memory;
      const node_state& n = cluster_->node(t.node);
      if (n.cpu < cpu || n.memory < memory) return false;
    }
    return true;
  }

  cluster* cluster_;
  detail::tree_filler<Domain, Node, Devices> filler_;
  detail::mixed_search<detail::gang_filler> search_;
  detail::fabric_search<detail::gang_filler> fabric_;
  detail::count_search<detail::gang_filler> counts_;
  detail::refusal_memory refusals_;
  typename detail::refusal_memory::entry* known_ = nullptr;  ///< what is remembered about the gang at work
  flat_array<std::uint64_t> gained_;                         ///< domains that gained since, by id
  flat_array<task_shape> shapes_;
  placer_limits limits_{};
};

/// So that `placer{c, my_policy{}}` with a type that is no policy is told in one sentence what it lacks. As a
/// parameter, since clang looks at what is deduced before it looks at a constraint.
template <class Domain = fewest_domains, class Node = bin_pack, class Devices = best_bandwidth,
          bool = explain_policy<Domain, Node, Devices>::ok>
explicit placer(cluster&, Domain = {}, Node = {}, Devices = {}, const placer_limits& = {})
    -> placer<Domain, Node, Devices>;

// What a program calls is defined here and not in the class: such members are not inline, so that a file which leaves
// `placer<>` to another (below, or by `extern template` of its own) compiles none of them.

template <domain_policy Domain, node_policy Node, device_policy Devices>
placer<Domain, Node, Devices>::placer(cluster& c, Domain domain, Node node, Devices devices,
                                      const placer_limits& limits)
    : cluster_{&c},
      filler_{c, std::move(domain), std::move(node), std::move(devices)},
      search_{c, filler_, detail::domain_wishes::of<Domain>()},
      fabric_{c, filler_},
      counts_{c, filler_} {
  reserve(limits);
}

template <domain_policy Domain, node_policy Node, device_policy Devices>
placer<Domain, Node, Devices>::~placer() = default;

template <domain_policy Domain, node_policy Node, device_policy Devices>
void placer<Domain, Node, Devices>::reserve(const placer_limits& limits) {
  limits_ = limits;
  filler_.reserve(limits.tasks);
  shapes_.reserve(limits.groups);
  search_.reserve(limits);
  fabric_.reserve();
  counts_.reserve(limits);
  refusals_.reserve(limits.groups);
  gained_.resize((cluster_->tree().domain_count(cluster_->tree().leaf_level()) + 63) / 64);
}

template <domain_policy Domain, node_policy Node, device_policy Devices>
decision placer<Domain, Node, Devices>::operator()(const gang& g) noexcept {
  decision d;
  d.why.fault = check_gang(g, *cluster_, d.why.group);
  if (d.why.fault != gang_fault::none) {
    d.result = verdict::invalid;
    return d;
  }
  std::uint64_t wanted = 0;
  for (const task_group& t : g.groups) wanted += t.wanted;
  if (wanted > filler_.task_limit() || g.groups.size() > limits_.groups || !filler_.learn()) {
    d.result = verdict::capacity_exhausted;
    return d;
  }
  shapes_.clear();
  bool inside = false;
  for (const task_group& t : g.groups) {
    inside = inside || t.shape.asks_inside();
    shapes_.push(t.shape);
  }
  if (inside) {
    if (!is_served(g)) {
      d.result = verdict::capacity_exhausted;
      return d;
    }
    filler_.begin(d.score);
    if (begin_parts(g) && place_instance(g, d)) return d;
  } else {
    filler_.begin(d.score);
  }
  const bool alike = g.groups.size() == 1 && !g.segments, fabric = detail::asks_fabric(g);
  if (fabric && g.between_nodes.count() != 0 && !cluster_->uplinks().is_kept()) {
    d.result = verdict::capacity_exhausted;
    return d;
  }
  if (alike && fabric) fabric_.place(g, d);
  else if (alike) place_alike(g, d);
  else if (cluster_->counters(g.groups.front().shape) == nullptr) d.result = verdict::capacity_exhausted;
  else if (!refused_before(g, d)) search_for(g, d);
  if (fabric && ((d.result == verdict::placed && !alike) || d.result == verdict::gave_up)) counts_.settle(g, d);
  d.steps = filler_.visited();
  if (d.result == verdict::placed) {
    d.where = {filler_.tasks(), {shapes_.data(), shapes_.size()}, g.between_nodes};
    if (inside) d.where.parts = filler_.places();
    d.score.tasks_missing = static_cast<std::uint32_t>(wanted - filler_.task_count());
  }
  if (d.result != verdict::placed) filler_.clear_score();
  return d;
}

}  // namespace berth

#if BERTH_WITH_BODIES
#include "berth/solver/impl/placer.hpp"
#endif

#if defined(BERTH_SEPARATE)  // the searches once, for all placers
namespace berth {
BERTH_EXTERN template class detail::count_search<detail::gang_filler>;
BERTH_EXTERN template class detail::fabric_search<detail::gang_filler>;
BERTH_EXTERN template class detail::mixed_search<detail::gang_filler>;
BERTH_EXTERN template class placer<>;
}  // namespace berth
#endif
