#pragma once
/// \file
/// Koordinator's placement of gangs on a network topology. Source: koordinator-sh/koordinator
/// pkg/scheduler/plugins/coscheduling/core/network_topology_solver.go.
///
/// Slots of a node: tasks added one by one until the first that does not fit. Summed up the tree, rounded down to the
/// multiple of every layer. Candidates: the deepest layer, from the must-gather layer downwards, where some domain
/// holds the whole gang; `fullest_first` among them. A domain is filled `emptiest_first`.

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "berth/policy/domain_rank.hpp"
#include "berth/profile/gang.hpp"
#include "berth/profile/site_tree.hpp"
#include "berth/solver/counted_tree.hpp"

namespace berth {

/// A gang as Koordinator sees it.
struct koordinator_gang {
  std::string name;
  std::int64_t count = 0;
  amount_list per_task;                          ///< not looked at where nodes state their slots
  std::map<std::string, std::int64_t> multiple;  ///< by layer: its domains get multiples of this
  std::string must_gather;                       ///< layer; empty: anywhere
};

class koordinator_topology {
 public:
  /// The site must outlive it.
  explicit koordinator_topology(const named_site& site) : site_{site} {}

  /// Counts slots bottom up. O(domains).
  void count(const koordinator_gang& gang) {
    auto& tree = site_.tree;
    for (auto& c : tree.counts) c = {};
    for (auto& leaf : site_.leaves)
      for (const std::size_t n : leaf.nodes) {
        const auto& node = site_.site().nodes[n];
        tree.counts[leaf.domain].tasks += node.free_slots ? *node.free_slots : times_in(leaf.free, gang.per_task, 0);
      }
    rule_ = {};
    rule_.round_in_place = true;
    for (const auto& [layer, m] : gang.multiple)
      if (const auto l = site_.site().level(layer)) {
        if (rule_.multiple.size() <= *l) rule_.multiple.resize(*l + 1, 0);
        rule_.multiple[*l] = m;
      }
    tree.count_up(rule_);
  }

  /// What every domain can take, by name.
  [[nodiscard]] std::map<std::string, std::int64_t> usable() const {
    std::map<std::string, std::int64_t> out;
    for (std::uint32_t d = 0; d < site_.tree.size(); ++d) out[site_.name(d)] = site_.tree.counts[d].tasks;
    return out;
  }

  /// Places a gang. Where it does not fit as a whole, `partly` says whether what fits is given nevertheless.
  [[nodiscard]] named_answer place(const koordinator_gang& gang, bool partly = false) {
    named_answer out;
    out.request = gang.name;
    out.levels = {site_.site().levels.empty() ? std::string{} : site_.site().levels.back()};
    count(gang);
    const auto& tree = site_.tree;
    std::size_t top = 0;
    if (!gang.must_gather.empty()) {
      const auto l = site_.site().level(gang.must_gather);
      if (!l) return refused(std::move(out), named_refusal::category::unknown_level, 0, gang.count);
      top = *l;
    }
    // The deepest layer where some domain holds all of it.
    std::vector<std::uint32_t> candidates;
    std::vector<std::uint32_t> layer = tree.level_count() == 0 ? std::vector<std::uint32_t>{} : tree.level(top);
    while (!layer.empty()) {
      std::vector<std::uint32_t> hold, next;
      for (const std::uint32_t d : layer)
        if (tree.counts[d].tasks >= gang.count) {
          hold.push_back(d);
          for (const std::uint32_t c : tree.at(d).children) next.push_back(c);
        }
      if (!hold.empty()) candidates = std::move(hold);
      layer = std::move(next);
    }
    sort_domains(candidates, [&](std::uint32_t a, std::uint32_t b) { return before<fullest_first>(a, b); });
    for (const std::uint32_t d : candidates) {
      out.placements.clear();
      if (share_out(d, gang.count, out.placements) >= gang.count) {
        out.outcome = named_answer::result::placed;
        return out;
      }
    }
    out.placements.clear();
    std::int64_t whole = 0;
    if (tree.level_count() > 0)
      for (const std::uint32_t d : tree.level(top)) whole += tree.counts[d].tasks;
    if (gang.must_gather.empty() && (whole >= gang.count || partly)) {
      // The cluster itself is the domain.
      std::vector<std::uint32_t> all = tree.level_count() == 0 ? std::vector<std::uint32_t>{} : tree.level(0);
      const std::int64_t given = share_among(std::move(all), gang.count, out.placements);
      out.outcome = given >= gang.count ? named_answer::result::placed : named_answer::result::partial;
      if (given >= gang.count || partly) return out;
    }
    return refused(std::move(out), named_refusal::category::insufficient_capacity, whole, gang.count);
  }

  /// Whether domain `a` goes before `b`: by what runs there and what fits, outwards, then score, then name.
  template <class Order>
  [[nodiscard]] bool before(std::uint32_t a, std::uint32_t b) const {
    const int c = Order::compare(outwards(a), outwards(b));
    return c != 0 ? c < 0 : site_.name(a) < site_.name(b);
  }

 private:
  [[nodiscard]] static named_answer refused(named_answer out, named_refusal::category why, std::int64_t fits,
                                            std::int64_t needed) {
    named_refusal r;
    r.why = why;
    r.fits = fits;
    r.needed = needed;
    out.outcome = named_answer::result::unschedulable;
    out.placements.clear();
    out.reason = std::move(r);
    return out;
  }
  [[nodiscard]] std::vector<const domain_counts*> outwards(std::uint32_t d) const {
    std::vector<const domain_counts*> out;
    for (; d != counted_tree::none; d = site_.tree.at(d).parent) out.push_back(&site_.tree.counts[d]);
    return out;
  }
  [[nodiscard]] std::int64_t share_among(std::vector<std::uint32_t> all, std::int64_t want,
                                         std::vector<placed_count>& out) const {
    sort_domains(all, [&](std::uint32_t a, std::uint32_t b) { return before<emptiest_first>(a, b); });
    std::int64_t given = 0;
    for (const std::uint32_t d : all) given += share_out(d, want - given, out);
    return given;
  }
  /// Gives up to `want` slots below a domain. \returns how many
  [[nodiscard]] std::int64_t share_out(std::uint32_t d, std::int64_t want, std::vector<placed_count>& out) const {
    const auto& v = site_.tree.at(d);
    const std::int64_t m = rule_.multiple_at(v.level);
    std::int64_t n = site_.tree.counts[d].tasks < want ? site_.tree.counts[d].tasks : want;
    n = n / m * m;
    if (!v.children.empty()) return share_among(v.children, n, out);
    if (n > 0) out.push_back({site_.path(d), n});
    return n;
  }

  site_tree site_;
  count_rule rule_;
};

}  // namespace berth
