#pragma once
/// \file
/// Bodies of `berth/solver/counted_tree.hpp`.

#include "berth/solver/counted_tree.hpp"

namespace berth {

BERTH_INLINE std::uint32_t counted_tree::add(std::uint32_t parent, std::size_t level) {
  const auto id = static_cast<std::uint32_t>(vertices_.size());
  vertices_.push_back({parent, 0, static_cast<std::uint32_t>(level), {}});
  counts.emplace_back();
  if (parent != none) vertices_[parent].children.push_back(id);
  levels_[level].push_back(id);
  return id;
}

BERTH_INLINE std::uint32_t counted_tree::ancestor(std::uint32_t d, std::size_t l) const noexcept {
  while (vertices_[d].level > l) d = vertices_[d].parent;
  return d;
}

BERTH_INLINE void counted_tree::count_up(std::uint32_t d, const count_rule& rule) {
  const vertex& v = vertices_[d];
  domain_counts& c = counts[d];
  if (v.children.empty()) {
    if (v.level == rule.segment_level) {
      c.segments = c.tasks / rule.segment_size;
      c.segments_with_leader = c.tasks_with_leader / rule.segment_size;
    }
  } else {
    domain_counts sum;
    bool hosts = false;
    std::int64_t least_tasks = 0, least_segments = 0;
    const std::int64_t m = rule.multiple_at(v.level + 1);
    for (const std::uint32_t child : v.children) {
      count_up(child, rule);
      const domain_counts& k = counts[child];
      const std::int64_t tasks = k.tasks / m * m, with = k.tasks_with_leader / m * m;
      sum.tasks += tasks;
      sum.segments += k.segments;
      sum.preference += k.preference;
      sum.existing += k.existing;
      sum.score += k.score;
      if (k.leaders > sum.leaders) sum.leaders = k.leaders;
      if (rule.leader && k.leaders == 0) continue;
      if (!hosts || tasks - with < least_tasks) least_tasks = tasks - with;
      if (!hosts || k.segments - k.segments_with_leader < least_segments)
        least_segments = k.segments - k.segments_with_leader;
      hosts = true;
    }
    sum.tasks_with_leader = hosts ? sum.tasks - least_tasks : 0;
    sum.segments_with_leader = hosts ? sum.segments - least_segments : 0;
    if (v.level == rule.segment_level) {
      sum.segments = sum.tasks / rule.segment_size;
      sum.segments_with_leader = sum.tasks_with_leader / rule.segment_size;
    }
    c = sum;
  }
  if (rule.round_in_place) {
    const std::int64_t own = rule.multiple_at(v.level);
    c.tasks = c.tasks / own * own;
  }
}

BERTH_INLINE void counted_tree::count_up(const count_rule& rule) {
  if (!levels_.empty())
    for (const std::uint32_t d : levels_[0]) count_up(d, rule);
}

BERTH_INLINE const std::vector<std::uint32_t>& counted_tree::level(std::size_t l) const noexcept {
  return levels_[l];
}

BERTH_INLINE counted_tree::counted_tree(std::size_t levels) : levels_(levels) {}

}  // namespace berth
