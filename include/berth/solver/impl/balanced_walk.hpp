#pragma once
/// \file
/// Bodies of `berth/solver/balanced_walk.hpp`.

#include <cmath>
#include <map>

#include "berth/solver/balanced_walk.hpp"

namespace berth {

BERTH_INLINE std::optional<std::pair<std::size_t, balanced_walk::domains>> balanced_walk::choose() {
  const std::vector<domain_counts> original = tree_.counts;
  std::optional<std::pair<std::size_t, domains>> found;
  if (best_siblings()) {
    tree_.counts = best_counts_;
    found = shares();
  }
  if (!found) tree_.counts = original;
  return found;
}

BERTH_INLINE std::optional<balanced_walk::domains> balanced_walk::fewest(domains all, std::int64_t segments,
                                                                         std::int64_t leaders, bool by_spread) const {
  const auto greedy = take_greedily(all, segments, leaders);
  if (!greedy) return std::nullopt;
  sort_domains(all, [&](std::uint32_t a, std::uint32_t b) {
    const auto &x = tree_.counts[a], &y = tree_.counts[b];
    if (by_spread) {
      if (x.leaders != y.leaders) return x.leaders > y.leaders;
      if (x.segments_with_leader != y.segments_with_leader) return x.segments_with_leader > y.segments_with_leader;
      const double s = spread(a), t = spread(b);
      if (s != t) return s > t;
    }
    return tree_.at(a).rank < tree_.at(b).rank;
  });
  // By number of domains: (leaders left, tasks left) to the state before and the domain that led here.
  struct step {
    const step* before;
    std::uint32_t domain;
  };
  using key = std::pair<std::int64_t, std::int64_t>;
  std::vector<std::map<key, step>> reached(greedy->count + 1);
  reached[0].emplace(key{leaders, segments * request_.segment_size}, step{nullptr, counted_tree::none});
  std::size_t steps = 0;
  for (const std::uint32_t d : all) {
    const auto& c = tree_.counts[d];
    for (std::size_t n = greedy->count; n > 0; --n)
      for (const auto& [left, how] : reached[n - 1]) {
        if (left.first <= 0 && left.second <= 0) continue;
        if (left.first > 0 && c.leaders > 0)
          reached[n].emplace(key{left.first - c.leaders, left.second - c.tasks_with_leader}, step{&how, d});
        if (c.segments > 0) reached[n].emplace(key{left.first, left.second - c.tasks}, step{&how, d});
        if (++steps > max_steps) return std::nullopt;
      }
  }
  const step* best = nullptr;
  for (const auto& [left, how] : reached[greedy->count])
    if (left.first == 0 && left.second <= 0) best = &how;  // ascending: the last has the least to spare
  if (best == nullptr) return std::nullopt;
  domains out(greedy->count);
  for (std::size_t i = out.size(); i-- > 0; best = best->before) out[i] = best->domain;
  return out;
}

BERTH_INLINE std::optional<balanced_walk::domains> balanced_walk::share_out(const domains& all, std::int64_t segments,
                                                                            std::int64_t leaders,
                                                                            std::int64_t threshold) {
  auto chosen = fewest(all, segments, leaders, false);
  if (!chosen || segments < static_cast<std::int64_t>(chosen->size()) * threshold) return std::nullopt;
  chosen = plain().ranked(std::move(*chosen), true);
  std::int64_t extra = segments - static_cast<std::int64_t>(chosen->size()) * threshold;
  for (const std::uint32_t d : *chosen) {
    domain_counts& c = tree_.counts[d];
    std::int64_t more = 0;
    if (leaders > 0) more = least(c.segments_with_leader - threshold, extra);
    else if (extra > 0) more = least(c.segments - threshold, extra);
    c.leaders = leaders > 0 ? 1 : 0;
    if (leaders > 0) --leaders;
    c.segments = c.segments_with_leader = threshold + more;
    c.tasks = c.segments * request_.segment_size;
    c.tasks_with_leader = c.tasks - c.leaders;
    extra -= more;
  }
  if (extra > 0 || leaders > 0) return std::nullopt;
  return chosen;
}

BERTH_INLINE std::optional<balanced_walk::greedy_result> balanced_walk::take_greedily(const domains& all,
                                                                                      std::int64_t segments,
                                                                                      std::int64_t leaders) const {
  greedy_result out;
  domains rest = plain().ranked(all, leaders > 0);
  if (leaders > 0) {
    std::size_t i = 0;
    for (; leaders > 0 && i < rest.size() && tree_.counts[rest[i]].leaders > 0; ++i) {
      ++out.count;
      out.last_with_leader = rest[i];
      leaders -= tree_.counts[rest[i]].leaders;
      segments -= tree_.counts[rest[i]].segments_with_leader;
    }
    if (leaders > 0) return std::nullopt;
    rest.erase(rest.begin(), rest.begin() + static_cast<std::ptrdiff_t>(i));
    rest = plain().ranked(std::move(rest), false);
  }
  for (std::size_t i = 0; segments > 0 && i < rest.size() && tree_.counts[rest[i]].segments > 0; ++i) {
    ++out.count;
    out.last = rest[i];
    segments -= tree_.counts[rest[i]].segments;
  }
  if (segments > 0) return std::nullopt;
  return out;
}

BERTH_INLINE double balanced_walk::spread(std::uint32_t d) const {
  std::int64_t total = 0;
  for (const std::uint32_t c : tree_.at(d).children) total += tree_.counts[c].tasks;
  double sum = 0;
  if (total == 0) return sum;
  for (const std::uint32_t c : tree_.at(d).children)
    if (tree_.counts[c].tasks > 0) {
      const double p = static_cast<double>(tree_.counts[c].tasks) / static_cast<double>(total);
      sum -= p * std::log2(p);
    }
  return sum;
}

BERTH_INLINE void balanced_walk::clear(std::uint32_t d, bool leader_only) {
  domain_counts& c = tree_.counts[d];
  if (leader_only) {
    c.tasks_with_leader = c.segments_with_leader = c.leaders = 0;
  } else {
    const auto preference = c.preference;
    c = {};
    c.preference = preference;
  }
  for (const std::uint32_t k : tree_.at(d).children) clear(k, leader_only);
}

BERTH_INLINE void balanced_walk::prune(std::uint32_t d, std::int64_t threshold) {
  const domain_counts& c = tree_.counts[d];
  if (c.segments < threshold) clear(d, false);
  else if (request_.leaders > 0 && c.leaders > 0 && c.segments_with_leader < threshold) clear(d, true);
}

BERTH_INLINE void balanced_walk::prune_all(const domains& all, std::int64_t threshold) {
  for (const std::uint32_t d : all)
    for (const std::uint32_t c : tree_.at(d).children) prune(c, threshold);
  count_rule rule = request_.counting();
  rule.multiple.clear();
  for (const std::uint32_t d : all) {
    tree_.count_up(d, rule);
    prune(d, threshold);
  }
}

BERTH_INLINE bool balanced_walk::best_siblings() {
  const std::vector<domain_counts> original = tree_.counts;
  const std::int64_t segments = request_.tasks / request_.segment_size;
  std::vector<domains> groups;
  if (request_.level == 0) {
    groups.push_back(tree_.level(0));
  } else {
    domains parents = tree_.level(request_.level - 1);
    sort_domains(parents, [&](std::uint32_t a, std::uint32_t b) { return tree_.at(a).rank < tree_.at(b).rank; });
    for (const std::uint32_t p : parents) groups.push_back(tree_.at(p).children);
  }
  std::size_t fewest_domains = 0;
  for (const domains& group : groups) {
    tree_.counts = original;
    const domains lower = request_.level < request_.segment_level ? plain().below(group) : group;
    const auto greedy = take_greedily(lower, segments, request_.leaders);
    if (!greedy || greedy->count == 0) continue;
    std::int64_t threshold = segments / static_cast<std::int64_t>(greedy->count);
    if (greedy->last_with_leader != counted_tree::none)
      threshold = least(threshold, tree_.counts[greedy->last_with_leader].segments_with_leader);
    std::int64_t with_leader = threshold;
    if (greedy->last != counted_tree::none) {
      threshold = least(threshold, tree_.counts[greedy->last].segments);
      with_leader = threshold;
      if (request_.leaders > 0) with_leader = least(threshold, tree_.counts[greedy->last].segments_with_leader);
    }
    if (threshold < threshold_) continue;
    prune_all(group, threshold);
    auto after = take_greedily(group, segments, request_.leaders);
    if (!after && with_leader < threshold) {
      // A lower threshold leaves room for the leader.
      if (with_leader <= 0 || with_leader < threshold_) continue;
      threshold = with_leader;
      tree_.counts = original;
      prune_all(group, threshold);
      after = take_greedily(group, segments, request_.leaders);
    }
    if (!after) continue;
    if (threshold > threshold_ || (threshold == threshold_ && after->count < fewest_domains)) {
      threshold_ = threshold;
      fewest_domains = after->count;
      group_ = group;
      best_counts_ = tree_.counts;
    }
  }
  return threshold_ > 0;
}

BERTH_INLINE std::optional<std::pair<std::size_t, balanced_walk::domains>> balanced_walk::shares() {
  const std::int64_t segments = request_.tasks / request_.segment_size;
  std::size_t level = request_.level;
  domains all = group_;
  if (request_.level < request_.segment_level) {
    const auto some = fewest(all, segments, request_.leaders, true);
    if (!some) return std::nullopt;
    all = plain().below(*some);
    ++level;
  }
  auto out = share_out(all, segments, request_.leaders, threshold_);
  if (!out) return std::nullopt;
  return std::pair{level, std::move(*out)};
}

BERTH_INLINE balanced_walk::balanced_walk(counted_tree& tree, const walk_request& request)
    : tree_{tree}, request_{request} {}

}  // namespace berth
