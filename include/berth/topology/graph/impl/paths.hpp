#pragma once
/// \file
/// Bodies of `berth/topology/graph/paths.hpp`.

#include <algorithm>
#include <boost/graph/dijkstra_shortest_paths.hpp>
#include <boost/graph/filtered_graph.hpp>
#include <cassert>
#include <functional>
#include <map>

#include "berth/topology/graph/flow.hpp"
#include "berth/topology/graph/paths.hpp"

namespace berth {

template <class Carry>
connection path_finder::shortest(part_id a, part_id b, double rate, Carry carry) const {
  struct mark {
    std::uint32_t links = std::numeric_limits<std::uint32_t>::max();
    std::optional<double> latency;
  };
  std::vector<mark> marks(usable_.size());
  std::vector<part_id> now{a}, next;
  marks[a] = {0, 0.0};
  for (std::uint32_t depth = 1; !now.empty() && marks[b].links > depth; ++depth) {
    next.clear();
    for (const auto v : now) {
      if (v != a && !carry((*graph_)[v].kind)) continue;
      for (auto [e, end] = boost::out_edges(v, view_); e != end; ++e) {
        const trunk& t = view_[*e];
        const auto w = boost::target(*e, view_);
        if (t.rate < rate || marks[w].links < depth) continue;
        if (marks[w].links > depth) {
          marks[w].links = depth;
          next.push_back(w);
        }
        const auto& cross = (*graph_)[v].latency;
        if (!marks[v].latency || !t.latency || (v != a && !cross)) continue;
        const double total = *marks[v].latency + *t.latency + (v == a ? 0 : cross->count());
        if (!marks[w].latency || total < *marks[w].latency) marks[w].latency = total;
      }
    }
    std::swap(now, next);
  }
  connection c;
  if (marks[b].links == std::numeric_limits<std::uint32_t>::max()) return c;
  c.joined = true;
  c.links = marks[b].links;
  if (marks[b].latency) c.latency = nanoseconds{*marks[b].latency};
  return c;
}

BERTH_INLINE path_finder::path_finder(const hardware_graph& g, health_view health)
    : graph_{&g}, view_(boost::num_vertices(g)), usable_(boost::num_vertices(g)) {
  for (part_id v = 0; v < usable_.size(); ++v) usable_[v] = health == health_view::as_built || g[v].healthy;
  std::map<std::pair<part_id, part_id>, trunk> trunks;
  for (auto [e, end] = boost::edges(g); e != end; ++e) {
    auto a = boost::source(*e, g), b = boost::target(*e, g);
    const link& l = g[*e];
    if (!usable_[a] || !usable_[b] || a == b || (health == health_view::healthy_only && !l.healthy)) continue;
    if (a > b) std::swap(a, b);
    const auto [it, fresh] = trunks.try_emplace({a, b});
    if (l.rate) it->second.rate += l.rate->count();
    if (l.latency && (fresh || !it->second.latency || l.latency->count() < *it->second.latency))
      it->second.latency = l.latency->count();
  }
  for (const auto& [ends, t] : trunks) boost::add_edge(ends.first, ends.second, t, view_);
}

BERTH_INLINE connection path_finder::between(part_id a, part_id b) const {
  assert(a != b);
  connection best;
  if (!usable_[a] || !usable_[b]) return best;
  best = over(network_family::nvlink, a, b);
  // A single path is no wider than the widest trunk at either end; a board of NVSwitches beats that without a search.
  if (!best.bandwidth || best.bandwidth->count() <= std::min(widest_trunk(a), widest_trunk(b)))
    keep_better(best, single_path(a, b));
  const part& pa = (*graph_)[a];
  const part& pb = (*graph_)[b];
  if (pa.kind != vertex_kind::gpu && pb.kind != vertex_kind::gpu)
    keep_better(best, over(network_family::network, a, b));
  else if (pa.machine && pb.machine && *pa.machine != *pb.machine) keep_better(best, through_nics(a, b));
  return best;
}

BERTH_INLINE double path_finder::widest_trunk(part_id v) const {
  double most = 0;
  for (auto [e, end] = boost::out_edges(v, view_); e != end; ++e) most = std::max(most, view_[*e].rate);
  return most;
}

BERTH_INLINE void path_finder::keep_better(connection& best, const connection& other) {
  if (!other.joined) return;
  const double mine = best.bandwidth ? best.bandwidth->count() : best.joined ? 0 : -1;
  const double theirs = other.bandwidth ? other.bandwidth->count() : 0;
  if (theirs > mine || (theirs == mine && other.links < best.links)) best = other;
}

BERTH_INLINE connection path_finder::single_path(part_id a, part_id b) const {
  const boost::filtered_graph<view, may_leave> reach(view_, may_leave{this, a});
  std::vector<double> width(usable_.size());
  boost::dijkstra_shortest_paths(
      reach, a, boost::dummy_property_map(),
      boost::make_iterator_property_map(width.begin(), boost::get(boost::vertex_index, view_)),
      boost::get(&trunk::rate, view_), boost::get(boost::vertex_index, view_), std::greater<>{},
      [](double sofar, double rate) { return sofar < rate ? sofar : rate; }, 0.0, unlimited,
      boost::default_dijkstra_visitor{});
  connection c = shortest(a, b, width[b], [](vertex_kind k) { return !is_endpoint(k); });
  if (c.joined && width[b] > 0) c.bandwidth = gigabytes_per_second{width[b]};
  return c;
}

BERTH_INLINE std::int64_t path_finder::most_between_ends(std::size_t vertices, const std::vector<capacity>& links) {
  std::vector<std::int64_t> in(vertices), out(vertices);
  bool staged = false;
  std::int64_t sum = 0;
  for (const auto& l : links) {
    if (l.a == 0 && l.b == 1) sum += l.units;
    else if (l.a == 0) in[l.b] += l.units;
    else if (l.b == 1) out[l.a] += l.units;
    else staged = true;
  }
  if (!staged) {
    for (std::size_t v = 2; v < vertices; ++v) sum += std::min(in[v], out[v]);
    return sum;
  }
  flow_network flow(vertices);
  for (const auto& l : links) flow.both_ways(l.a, l.b, l.units);
  return flow.max_flow(0, 1);
}

BERTH_INLINE connection path_finder::over(network_family f, part_id a, part_id b) const {
  const auto carry = [f](vertex_kind k) { return carries(f, k); };
  connection c = shortest(a, b, 0, carry);
  if (!c.joined) return c;
  // Only the switches that `a` reaches matter; number them as they are found, after the two ends.
  std::map<part_id, std::size_t> number{{a, 0}, {b, 1}};
  std::vector<part_id> todo{a};
  std::vector<capacity> links;
  for (std::size_t i = 0; i < todo.size(); ++i) {
    const auto v = todo[i];
    for (auto [e, end] = boost::out_edges(v, view_); e != end; ++e) {
      const auto w = boost::target(*e, view_);
      if (w != b && !carry((*graph_)[w].kind)) continue;
      const auto [it, fresh] = number.try_emplace(w, number.size());
      if (fresh) todo.push_back(w);
      // A link between two switches is seen from both ends; those at the ends of the pair only from the other side.
      if (v == a || w == b || v < w)
        links.push_back({number[v], it->second, flow_network::units(gigabytes_per_second{view_[*e].rate})});
    }
  }
  if (const auto most = most_between_ends(number.size(), links); most > 0) {
    c = shortest(a, b, std::numeric_limits<double>::min(), carry);  // over links of known rate
    c.bandwidth = flow_network::rate(most);
  }
  return c;
}

BERTH_INLINE std::vector<part_id> path_finder::nics_of(part_id device) const {
  if ((*graph_)[device].kind == vertex_kind::nic) return {device};
  std::vector<part_id> out;
  for (part_id v = 0; v < usable_.size(); ++v)
    if (usable_[v] && (*graph_)[v].kind == vertex_kind::nic && (*graph_)[v].machine == (*graph_)[device].machine)
      out.push_back(v);
  return out;
}

BERTH_INLINE connection path_finder::through_nics(part_id a, part_id b) const {
  struct way {
    part_id nic;
    connection inside;
    double width;  // from the device to the network; 0: unknown
  };
  const auto ways = [this](part_id device) {
    std::vector<way> out;
    for (const auto n : nics_of(device)) {
      connection c{true, gigabytes_per_second{unlimited}, 0, nanoseconds{0}};
      if (n != device) c = single_path(device, n);
      if (!c.joined) continue;
      double uplink = 0;
      for (auto [e, end] = boost::out_edges(n, view_); e != end; ++e)
        if (is_network_switch((*graph_)[boost::target(*e, view_)].kind)) uplink += view_[*e].rate;
      out.push_back({n, c, c.bandwidth ? std::min(c.bandwidth->count(), uplink) : 0});
    }
    // The nearest NICs first, so that most of the others need no look at the network.
    std::stable_sort(out.begin(), out.end(), [](const way& x, const way& y) {
      return x.width > y.width || (x.width == y.width && x.inside.links < y.inside.links);
    });
    return out;
  };
  connection best;
  const auto out = ways(a), in = ways(b);
  for (const auto& o : out)
    for (const auto& i : in) {
      const double bound = std::min(o.width, i.width);
      const std::uint32_t least = o.inside.links + i.inside.links + 2;
      if (best.bandwidth &&
          (bound < best.bandwidth->count() || (bound == best.bandwidth->count() && least >= best.links)))
        continue;
      connection c = over(network_family::network, o.nic, i.nic);
      if (!c.joined) continue;
      if (!o.inside.bandwidth || !i.inside.bandwidth) c.bandwidth.reset();
      if (c.bandwidth && c.bandwidth->count() > bound) c.bandwidth = gigabytes_per_second{bound};
      c.links += o.inside.links + i.inside.links;
      if (c.latency && o.inside.latency && i.inside.latency) *c.latency += *o.inside.latency + *i.inside.latency;
      else c.latency.reset();
      keep_better(best, c);
    }
  return best;
}

BERTH_INLINE connection between(const hardware_graph& g, part_id a, part_id b, health_view health) {
  return path_finder{g, health}.between(a, b);
}

}  // namespace berth
