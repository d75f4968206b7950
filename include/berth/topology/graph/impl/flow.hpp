#pragma once
/// \file
/// Bodies of `berth/topology/graph/flow.hpp`.

#include "berth/topology/graph/flow.hpp"

namespace berth {

BERTH_INLINE flow_network::handle flow_network::one_way(std::size_t a, std::size_t b, std::int64_t capacity) {
  // Boost's push-relabel wants a reverse arc of capacity 0 beside every arc.
  const auto there = boost::add_edge(a, b, arc{capacity, 0, {}}, g_).first;
  const auto back = boost::add_edge(b, a, arc{0, 0, {}}, g_).first;
  g_[there].reverse = back;
  g_[back].reverse = there;
  arcs_.push_back(there);
  return {arcs_.size() - 1};
}

BERTH_INLINE void flow_network::both_ways(std::size_t a, std::size_t b, std::int64_t capacity) {
  (void)one_way(a, b, capacity);
  (void)one_way(b, a, capacity);
}

BERTH_INLINE std::int64_t flow_network::max_flow(std::size_t source, std::size_t sink) {
  return boost::push_relabel_max_flow(g_, source, sink, boost::get(&arc::capacity, g_), boost::get(&arc::residual, g_),
                                      boost::get(&arc::reverse, g_), boost::get(boost::vertex_index, g_));
}

}  // namespace berth
