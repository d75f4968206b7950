#pragma once
/// \file
/// Bodies of `berth/topology/graph/flow.hpp`.

#include <boost/graph/adjacency_list.hpp>
#include <boost/graph/push_relabel_max_flow.hpp>
#include <vector>

#include "berth/topology/graph/flow.hpp"

namespace berth {

struct flow_network::network {
  using traits = boost::adjacency_list_traits<boost::vecS, boost::vecS, boost::directedS>;
  struct arc {
    std::int64_t capacity;
    std::int64_t residual;
    traits::edge_descriptor reverse;
  };
  explicit network(std::size_t vertices) : graph(vertices) {}

  boost::adjacency_list<boost::vecS, boost::vecS, boost::directedS, boost::no_property, arc> graph;
  std::vector<traits::edge_descriptor> arcs;
};

BERTH_INLINE flow_network::flow_network(std::size_t vertices) : net_{std::make_unique<network>(vertices)} {}

BERTH_INLINE flow_network::~flow_network() = default;

BERTH_INLINE flow_network::handle flow_network::one_way(std::size_t a, std::size_t b, std::int64_t capacity) {
  // Boost's push-relabel wants a reverse arc of capacity 0 beside every arc.
  auto& g = net_->graph;
  const auto there = boost::add_edge(a, b, network::arc{capacity, 0, {}}, g).first;
  const auto back = boost::add_edge(b, a, network::arc{0, 0, {}}, g).first;
  g[there].reverse = back;
  g[back].reverse = there;
  net_->arcs.push_back(there);
  return {net_->arcs.size() - 1};
}

BERTH_INLINE void flow_network::both_ways(std::size_t a, std::size_t b, std::int64_t capacity) {
  (void)one_way(a, b, capacity);
  (void)one_way(b, a, capacity);
}

BERTH_INLINE void flow_network::set(handle h, std::int64_t capacity) {
  net_->graph[net_->arcs[h.at]].capacity = capacity;
}

BERTH_INLINE std::int64_t flow_network::max_flow(std::size_t source, std::size_t sink) {
  auto& g = net_->graph;
  using arc = network::arc;
  return boost::push_relabel_max_flow(g, source, sink, boost::get(&arc::capacity, g), boost::get(&arc::residual, g),
                                      boost::get(&arc::reverse, g), boost::get(boost::vertex_index, g));
}

}  // namespace berth
