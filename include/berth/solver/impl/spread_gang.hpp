#pragma once
/// \file
/// Bodies of `berth/solver/spread_gang.hpp`.

#include "berth/solver/spread_gang.hpp"

namespace berth {

BERTH_INLINE placement spread_gang_decision::where() const noexcept {
  placement p{{tasks.data(), tasks.size()}, {shapes.data(), shapes.size()}};
  p.parts = {parts.data(), parts.size()};
  return p;
}

BERTH_INLINE void spread_gang_solver::blame(spread_gang_decision& d, std::size_t group, const spread_decision& why) {
  d.group = group;
  d.why = why;
  d.why.where = {};
}

BERTH_INLINE bool spread_gang_solver::next(std::vector<std::size_t>& order) {
  std::size_t i = order.size() - 1;
  while (i > 0 && order[i - 1] > order[i]) --i;
  if (i == 0) return false;
  std::size_t k = order.size() - 1;
  while (order[k] < order[i - 1]) --k;
  std::swap(order[i - 1], order[k]);
  for (std::size_t a = i, b = order.size() - 1; a < b; ++a, --b) std::swap(order[a], order[b]);
  return true;
}

BERTH_INLINE void spread_gang_solver::prepare(const spread_gang& g, spread_gang_decision& d) {
  for (const spread_group& group : g.groups) d.shapes.push_back(group.ask.shape);
  d.replicas.resize(g.groups.size());
  d.dropped.resize(g.groups.size());
}

BERTH_INLINE void spread_gang_solver::take(const spread_decision& one, std::size_t group,
                                           std::vector<task_placement>& tasks, std::vector<part_places>& parts,
                                           spread_gang_decision& d) {
  tasks.assign(one.where.tasks.begin(), one.where.tasks.end());
  parts.assign(one.where.parts.begin(), one.where.parts.end());
  d.replicas[group] = one.replicas;
  d.dropped[group] = one.dropped;
  d.score.tasks_missing += one.score.tasks_missing;
}

BERTH_INLINE void spread_gang_solver::count_domains(spread_gang_decision& d) const {
  const domain_tree& t = cluster_->tree();
  for (std::uint8_t l = 0; l < t.level_count(); ++l) {
    std::vector<std::uint8_t> used(t.domain_count(level_id{l}));
    for (const task_placement& p : d.tasks) used[t.domain_of(p.node, level_id{l}).index()] = 1;
    for (const std::uint8_t u : used) d.score.domains_used[l] += u;
  }
}

BERTH_INLINE spread_gang_solver::spread_gang_solver(cluster& c, job_key first_key)
    : cluster_{&c}, first_key_{first_key} {}

}  // namespace berth
