#pragma once
/// \file
/// What the uplinks of a site's domains carry: by the cables of its fabric, and where files state it, as they say.
///
/// A switch belongs to the smallest domain that holds all machines below it; uplinks of a domain are the cables from
/// its machines and switches to switches outside it. Where a domain has no switch of its own (an NVLink domain), these
/// are the cables of its machines, and without a file of cables the line rates of their NICs.
///
/// Planes   where every cable out of the domains of a level is of a known rail, each rail is a plane of its own.
/// Unknown  a cable of unknown rate adds nothing; a domain of whose uplinks no rate is known has none.

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "berth/cluster/spec.hpp"
#include "berth/cluster/uplinks.hpp"
#include "berth/topology/domain_tree.hpp"
#include "berth/topology/graph/fabric_graph.hpp"
#include "berth/topology/rails.hpp"

namespace berth::merge_detail {

/// Rates by plane.
using plane_rates = std::vector<std::optional<gigabytes_per_second>>;

class uplink_finder {
 public:
  uplink_finder(const cluster_spec& spec, const fabric& net) : spec_{spec}, net_{net} {}

  [[nodiscard]] uplink_rates run() {
    find_spans();
    uplink_rates out;
    out.levels.resize(spec_.tree.level_count());
    bool any = false;
    for (std::uint8_t l = 1; l < spec_.tree.level_count(); ++l) any = add_level(level_id{l}, out.levels[l]) || any;
    if (!any) out.levels.clear();
    return out;
  }

 private:
  static constexpr std::uint32_t none = 0xFFFFFFFFU;
  struct span {
    std::uint32_t first = none, last = 0;  ///< lowest and highest node below; none: `first` > `last`
    void add(span o) noexcept {
      first = std::min(first, o.first);
      last = std::max(last, o.last);
    }
  };
  [[nodiscard]] static int tier(vertex_kind k) noexcept {
    return k == vertex_kind::node ? 0 : k == vertex_kind::leaf ? 1 : k == vertex_kind::spine ? 2 : 3;
  }

  /// The nodes below every switch, as built.
  void find_spans() {
    const hardware_graph& g = net_.graph;
    spans_.resize(boost::num_vertices(g));
    for (std::uint32_t n = 0; n < net_.nodes.size(); ++n) spans_[net_.nodes[n]] = {n, n};
    for (int t = 0; t < 3; ++t)
      for (auto [e, end] = boost::edges(g); e != end; ++e) {
        auto a = boost::source(*e, g), b = boost::target(*e, g);
        if (tier(g[a].kind) > tier(g[b].kind)) std::swap(a, b);
        if (tier(g[a].kind) == t && tier(g[b].kind) > t && is_network_switch(g[b].kind)) spans_[b].add(spans_[a]);
      }
  }

  /// The domain of a level that holds all nodes below `v`; `none`: several, or there are no nodes below it.
  [[nodiscard]] std::uint32_t owner(part_id v, level_id l) const {
    const span s = spans_[v];
    if (s.first > s.last) return none;
    const domain_id d = spec_.tree.domain_of(node_id{s.first}, l);
    return s.last < spec_.tree.at(l, d).nodes.last ? d.raw() : none;
  }

  struct cable {
    std::uint32_t domain;
    std::optional<std::uint8_t> rail;
    std::optional<gigabytes_per_second> rate;
  };

  [[nodiscard]] bool add_level(level_id l, uplink_level& out) const {
    const hardware_graph& g = net_.graph;
    const std::uint32_t count = spec_.tree.domain_count(l);
    std::vector<cable> cables;
    std::vector<char> has_switch(count), told(count);
    for (auto [e, end] = boost::edges(g); e != end; ++e)
      for (const auto& [in, to] : {std::pair{boost::source(*e, g), boost::target(*e, g)},
                                   std::pair{boost::target(*e, g), boost::source(*e, g)}}) {
        if (!is_network_switch(g[to].kind) || (g[in].kind != vertex_kind::node && !is_network_switch(g[in].kind)))
          continue;
        const std::uint32_t d = owner(in, l);
        if (d == none || spec_.tree.at(l, domain_id{d}).implicit) continue;
        if (g[in].kind != vertex_kind::node) has_switch[d] = 1;
        if (owner(to, l) == d) continue;
        const link& k = g[*e];
        if (!k.healthy || !g[in].healthy || !g[to].healthy || !k.rate) continue;
        told[d] = 1;
        cables.push_back({d, g[in].rail ? g[in].rail : k.rail, k.rate});
      }
    for (std::uint32_t d = 0; d < count; ++d)
      if (has_switch[d] == 0 && told[d] == 0 && !spec_.tree.at(l, domain_id{d}).implicit) add_nics(l, d, cables);
    if (cables.empty()) return false;
    unsigned planes = 0;
    for (const auto& c : cables) {
      planes = std::max(planes, c.rail ? *c.rail + 1U : max_rails + 1U);
    }
    out.planes = planes <= max_rails ? planes : 1;
    out.rates.resize(std::size_t{count} * out.planes);
    for (const auto& c : cables) {
      auto& sum = out.rates[std::size_t{c.domain} * out.planes + (out.planes > 1 ? *c.rail : 0U)];
      sum = gigabytes_per_second{(sum ? sum->count() : 0) + c.rate->count()};
    }
    return true;
  }

  /// The NICs of the compute fabric of all machines of a domain, by their line rates.
  void add_nics(level_id l, std::uint32_t d, std::vector<cable>& cables) const {
    const auto nodes = spec_.tree.at(l, domain_id{d}).nodes;
    bool nvlink = false;  // elsewhere, what has no switch here has one that no file shows
    for (auto [e, end] = boost::out_edges(net_.nodes[nodes.first], net_.graph); e != end; ++e)
      nvlink = nvlink || net_.graph[boost::target(*e, net_.graph)].kind == vertex_kind::nvlink_domain;
    if (!nvlink) return;
    const std::size_t before = cables.size();
    for (std::uint32_t n = nodes.first; n < nodes.last; ++n)
      for (const auto& card : spec_.shapes[spec_.nodes[n].shape.index()].nics)
        if (card.rail && card.rate) cables.push_back({d, card.rail, card.rate});
        else if (card.rail) return cables.resize(before);
  }

  const cluster_spec& spec_;
  const fabric& net_;
  std::vector<span> spans_;  // by vertex
};

/// What the cables of `net` and the NICs of machines tell about the uplinks of the domains of `spec`. Levels are empty
/// where nothing is known. O(levels × links). \pre node i of `spec` is machine i of `net`
[[nodiscard]] inline uplink_rates uplinks_of(const cluster_spec& spec, const fabric& net) {
  return uplink_finder{spec, net}.run();
}

/// Puts a stated rate of one domain over what is known. A level whose number of planes differs is begun anew.
inline void state_uplink(uplink_rates& out, const domain_tree& tree, level_id l, domain_id d,
                         const plane_rates& rates) {
  if (rates.empty()) return;
  if (out.levels.empty()) out.levels.resize(tree.level_count());
  uplink_level& level = out.levels[l.index()];
  const auto planes = static_cast<unsigned>(rates.size());
  if (level.rates.empty() || level.planes != planes) {
    level.planes = planes;
    level.rates.assign(std::size_t{tree.domain_count(l)} * planes, std::nullopt);
  }
  std::copy(rates.begin(), rates.end(), level.rates.begin() + static_cast<std::ptrdiff_t>(d.index() * planes));
}

/// The uplinks of a spec's domains, in the order of `declarations_of` its tree; empty where nothing is known.
[[nodiscard]] inline std::vector<plane_rates> stated_uplinks(const cluster_spec& spec) {
  std::vector<plane_rates> out;
  const auto& levels = spec.uplinks.levels;
  if (levels.empty()) return out;
  for (std::uint8_t l = 1; l < spec.tree.level_count(); ++l)
    for (std::uint32_t d = 0; d < spec.tree.domain_count(level_id{l}); ++d) {
      if (spec.tree.at(level_id{l}, domain_id{d}).implicit) continue;
      auto& rates = out.emplace_back();
      if (l >= levels.size()) continue;
      const std::size_t first = std::size_t{d} * levels[l].planes;
      for (std::size_t p = 0; p < levels[l].planes && first + p < levels[l].rates.size(); ++p)
        rates.push_back(levels[l].rates[first + p]);
    }
  return out;
}

/// What files state about declared domains, put over what cables tell.
/// \param domains_of  by node its declared domains, innermost first: those of `tree` that its builder did not make
inline void state_uplinks(uplink_rates& out, const domain_tree& tree, const std::vector<plane_rates>& stated,
                          const std::vector<std::vector<std::uint32_t>>& domains_of) {
  std::vector<char> done(stated.size());
  for (std::uint32_t n = 0; n < domains_of.size(); ++n) {
    std::size_t i = 0;
    for (unsigned l = tree.leaf_level().raw(); l > 0 && i < domains_of[n].size(); --l) {
      const level_id level{static_cast<std::uint8_t>(l)};
      const domain_id d = tree.domain_of(node_id{n}, level);
      if (tree.at(level, d).implicit) continue;
      const std::uint32_t declared = domains_of[n][i++];
      if (declared >= stated.size() || done[declared] != 0) continue;
      done[declared] = 1;
      state_uplink(out, tree, level, d, stated[declared]);
    }
  }
}

}  // namespace berth::merge_detail
