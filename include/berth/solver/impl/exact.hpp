#pragma once
/// \file
/// Bodies of `berth/solver/exact.hpp`.

#include <bit>
#include <utility>

#include "berth/solver/device_matching.hpp"
#include "berth/solver/exact.hpp"

namespace berth {

BERTH_INLINE placement exact_answer::where() const noexcept {
  return {tasks, shapes, {}, parts};
}

}  // namespace berth

namespace berth::detail {

BERTH_INLINE exact_solver::exact_solver(const cluster& c, const gang& g, const exact_limits& limits)
    : cluster_{c}, tree_{c.tree()}, gang_{g} {
  groups_ = g.groups.size();
  leaf_ = tree_.leaf_level().raw();
  work_ = limits.work;
  digit_bits_ = static_cast<unsigned>(64 / (groups_ == 0 ? 1 : groups_));
  cost_bits_ = static_cast<unsigned>(std::bit_width(c.node_count()));
  fits_ = digit_bits_ >= 8 && cost_bits_ * leaf_ < 64;
  for (const task_group& t : g.groups) {
    if (!fits_ || t.wanted >= (std::uint64_t{1} << (digit_bits_ - 2))) fits_ = false;
    if (!fits_) return;
    stride_.push_back(vectors_);
    if (vectors_ > limits.vectors / (t.wanted + std::uint64_t{1})) fits_ = false;
    vectors_ *= t.wanted + std::uint64_t{1};
    wanted_ += t.wanted;
  }
}

BERTH_INLINE exact_answer exact_solver::solve() {
  exact_answer out;
  out.result = exact_verdict::too_large;
  if (!prepare()) return out;
  const unsigned top = gang_.where == locality::required ? gang_.level.raw() : 0U;
  const unsigned split = gang_.segments ? gang_.segments->level.raw() : 0U;
  const unsigned highest = gang_.segments && split > top ? split : top;
  for (unsigned l = leaf_ + 1; l-- > highest;)
    for (std::uint32_t d = 0; d < domains(l); ++d)
      if (!fill_table(l, d)) return out;
  out.result = exact_verdict::impossible;
  if (gang_.segments)
    for (unsigned l = split + 1; l-- > top;)
      for (std::uint32_t d = 0; d < domains(l); ++d) fill_segments(l, d);
  // A gang lies inside one domain of the required level, or inside a narrower one that is cut off.
  for (unsigned l = top; l <= leaf_; ++l)
    for (std::uint32_t d = 0; d < domains(l); ++d)
      if (l == top || detached(l, d)) consider(l, d);
  if (!found_) return out;
  out.result = exact_verdict::found;
  out.score = best_;
  witness(out);
  return out;
}

BERTH_INLINE std::optional<std::uint32_t> exact_solver::most_segments(std::uint32_t domain) {
  if (vectors_of_.empty() && !prepare()) return std::nullopt;
  const unsigned level = gang_.segments->level.raw();
  for (unsigned l = leaf_ + 1; l-- > level;)
    for (std::uint32_t d = 0; d < domains(l); ++d)
      if (tables_[l][d].cost.empty() && !fill_table(l, d)) return std::nullopt;
  return most_segments_of(level, domain);
}

BERTH_INLINE std::uint32_t exact_solver::segment_vector(std::uint32_t k) const noexcept {
  std::uint64_t v = 0;
  for (std::size_t i = 0; i < groups_; ++i) v += stride_[i] * k * (gang_.groups[i].wanted / gang_.segments->count);
  return static_cast<std::uint32_t>(v);
}

BERTH_INLINE bool exact_solver::prepare() {
  if (!fits_) return false;
  for (std::size_t i = 0; i < groups_; ++i) {
    const std::uint64_t guard = std::uint64_t{1} << (digit_bits_ * i + digit_bits_ - 1);
    guards_ |= guard;
    most_ |= guard | std::uint64_t{gang_.groups[i].wanted} << (digit_bits_ * i);
  }
  packed_.resize(vectors_);
  for (std::uint64_t v = 0; v < vectors_; ++v)
    for (std::size_t i = 0; i < groups_; ++i) packed_[v] |= digit(v, i) << (digit_bits_ * i);
  vectors_of_.resize(cluster_.node_count());
  for (std::uint32_t n = 0; n < cluster_.node_count(); ++n) list_vectors(n);
  for (unsigned l = 0; l <= leaf_; ++l) tables_.emplace_back(domains(l)), segments_.emplace_back(domains(l));
  return true;
}

BERTH_INLINE void exact_solver::list_vectors(std::uint32_t node) {
  const node_state& s = cluster_.node(node_id{node});
  std::vector<device_mask> devices(groups_);
  std::vector<bool> admitted(groups_);
  const bool there = s.usable && cluster_.is_member(node_id{node});
  for (std::size_t i = 0; i < groups_; ++i) {
    const task_shape& shape = gang_.groups[i].shape;
    devices[i] = devices_for(cluster_, shape, node_id{node});
    admitted[i] = there && labels_satisfy(cluster_.filter(shape.filter), cluster_.class_of(node_id{node}).labels);
  }
  for (std::uint64_t v = 0; v < vectors_; ++v) {
    std::int64_t cpu = s.cpu.count(), memory = s.memory.count();
    bool ok = true;
    for (std::size_t i = 0; i < groups_ && ok; ++i) {
      const auto n = static_cast<std::int64_t>(digit(v, i));
      cpu -= n * gang_.groups[i].shape.cpu.count();
      memory -= n * gang_.groups[i].shape.memory.count();
      const std::uint32_t most = gang_.groups[i].shape.per_node;
      ok = n == 0 || (admitted[i] && cpu >= 0 && memory >= 0 && (most == 0 || n <= std::int64_t{most}));
    }
    for (std::uint64_t set = 1; set < std::uint64_t{1} << groups_ && ok; ++set) {
      device_mask together = 0;
      std::uint64_t needed = 0;
      for (std::size_t i = 0; i < groups_; ++i) {
        if ((set >> i & 1) == 0 || digit(v, i) == 0) continue;
        together |= devices[i];
        needed += digit(v, i) * gang_.groups[i].shape.devices;
      }
      ok = needed <= count_bits(together);
    }
    if (ok) vectors_of_[node].push_back(static_cast<std::uint32_t>(v));
  }
}

BERTH_INLINE bool exact_solver::fill_table(unsigned l, std::uint32_t d) {
  table& t = tables_[l][d];
  t.cost.assign(vectors_, none);
  t.cost[0] = 0;
  t.reached = {0};
  const id_range kids = children(l, d);
  for (std::uint32_t k = kids.first; k < kids.last; ++k) {
    t.choice.emplace_back();
    if (l != leaf_ && detached(l + 1, k)) continue;
    const std::vector<std::uint32_t>& parts = l == leaf_ ? vectors_of_[k] : tables_[l + 1][k].reached;
    const std::uint64_t pairs = std::uint64_t{parts.size()} * t.reached.size();
    if (pairs > work_) return false;
    work_ -= pairs;
    std::vector<std::uint64_t> cost(vectors_, none);
    std::vector<std::uint32_t> choice(vectors_, 0), reached;
    for (const std::uint32_t a : t.reached)
      for (const std::uint32_t b : parts) {
        if (!within(a, b)) continue;
        std::uint64_t sum = t.cost[a];
        if (l != leaf_ && b != 0) sum += unit(l + 1) + tables_[l + 1][k].cost[b];
        std::uint64_t& at = cost[a + b];
        if (at == none) reached.push_back(a + b);
        if (sum < at) at = sum, choice[a + b] = b;
      }
    t.cost = std::move(cost);
    t.reached = std::move(reached);
    t.choice.back() = std::move(choice);
  }
  return true;
}

BERTH_INLINE std::uint32_t exact_solver::most_segments_of(unsigned l, std::uint32_t d) const noexcept {
  std::uint32_t k = 0;
  while (k < gang_.segments->count && tables_[l][d].cost[segment_vector(k + 1)] != none) ++k;
  return k;
}

BERTH_INLINE void exact_solver::fill_segments(unsigned l, std::uint32_t d) {
  const segment_request& want = *gang_.segments;
  const std::uint32_t states = 2 * (want.count + 1);
  segment_table& t = segments_[l][d];
  t.cost.assign(states, none);
  t.cost[0] = 0;
  if (l == want.level.index()) {
    const std::uint32_t most = most_segments_of(l, d);
    for (std::uint32_t k = 1; k <= most && (k == 1 || want.layout != segment_layout::spread); ++k)
      t.cost[2 * k + (want.layout == segment_layout::consolidate && k < most ? 1 : 0)] =
          tables_[l][d].cost[segment_vector(k)];
    return;
  }
  const id_range kids = children(l, d);
  for (std::uint32_t c = kids.first; c < kids.last; ++c) {
    t.choice.emplace_back();
    if (detached(l + 1, c)) continue;
    const segment_table& child = segments_[l + 1][c];
    std::vector<std::uint64_t> cost(states, none);
    std::vector<std::uint32_t> choice(states, 0);
    for (std::uint32_t a = 0; a < states; ++a)
      for (std::uint32_t b = 0; a + b < states; ++b) {
        if (t.cost[a] == none || child.cost[b] == none || (a & b & 1) != 0) continue;
        const std::uint64_t sum = t.cost[a] + (b == 0 ? 0 : unit(l + 1) + child.cost[b]);
        if (sum < cost[a + b]) cost[a + b] = sum, choice[a + b] = b;
      }
    t.cost = std::move(cost);
    t.choice.back() = std::move(choice);
  }
}

BERTH_INLINE void exact_solver::consider(unsigned l, std::uint32_t d) {
  if (gang_.segments) {
    std::uint32_t least = 1;
    for (const task_group& t : gang_.groups)
      if (t.minimum / (t.wanted / gang_.segments->count) > least)
        least = t.minimum / (t.wanted / gang_.segments->count);
    const bool by_segment = l <= gang_.segments->level.index();
    for (std::uint32_t k = least; k <= gang_.segments->count; ++k) {
      const std::uint32_t v = segment_vector(k);
      if (by_segment) {
        for (std::uint32_t p = 0; p < 2; ++p) offer(l, d, v, segments_[l][d].cost[2 * k + p], 2 * k + p);
      } else if (k == 1 || gang_.segments->layout != segment_layout::spread) {
        offer(l, d, v, tables_[l][d].cost[v], 0);
      }
    }
    return;
  }
  for (const std::uint32_t v : tables_[l][d].reached) {
    bool enough = true;
    for (std::size_t i = 0; i < groups_ && enough; ++i) enough = digit(v, i) >= gang_.groups[i].minimum;
    if (enough) offer(l, d, v, tables_[l][d].cost[v], 0);
  }
}

BERTH_INLINE void exact_solver::offer(unsigned l, std::uint32_t d, std::uint32_t vector, std::uint64_t cost,
                                      std::uint32_t state) {
  if (cost == none) return;
  placement_score s;
  std::uint64_t placed = 0;
  for (std::size_t i = 0; i < groups_; ++i) placed += digit(vector, i);
  s.tasks_missing = static_cast<std::uint32_t>(wanted_ - placed);
  for (unsigned k = 0; k <= leaf_; ++k)
    s.domains_used[k] = k <= l ? 1 : static_cast<std::uint32_t>(cost / unit(k) & (unit(leaf_ - 1) - 1));
  if (found_ && !(s < best_)) return;
  found_ = true;
  best_ = s;
  best_level_ = l;
  best_domain_ = d;
  best_vector_ = vector;
  best_state_ = state;
}

BERTH_INLINE void exact_solver::witness(exact_answer& out) {
  std::vector<std::uint32_t> on_node(cluster_.node_count(), 0);
  if (gang_.segments && best_level_ <= gang_.segments->level.index())
    trace_segments(best_level_, best_domain_, best_state_, on_node);
  else trace(best_level_, best_domain_, best_vector_, on_node);
  std::vector<std::vector<task_placement>> by_group(groups_);
  for (std::uint32_t n = 0; n < on_node.size(); ++n)
    if (on_node[n] != 0) hand_out(n, on_node[n], by_group);
  for (std::size_t i = 0; i < groups_; ++i) {
    out.tasks.insert(out.tasks.end(), by_group[i].begin(), by_group[i].end());
    out.shapes.push_back(gang_.groups[i].shape);
  }
}

BERTH_INLINE void exact_solver::trace(unsigned l, std::uint32_t d, std::uint32_t vector,
                                      std::vector<std::uint32_t>& on_node) const {
  const id_range kids = children(l, d);
  for (std::uint32_t k = kids.last; k-- > kids.first;) {
    const std::vector<std::uint32_t>& choice = tables_[l][d].choice[k - kids.first];
    const std::uint32_t part = choice.empty() ? 0 : choice[vector];
    vector -= part;
    if (part == 0) continue;
    if (l == leaf_) on_node[k] = part;
    else trace(l + 1, k, part, on_node);
  }
}

BERTH_INLINE void exact_solver::trace_segments(unsigned l, std::uint32_t d, std::uint32_t state,
                                               std::vector<std::uint32_t>& on_node) const {
  if (l == gang_.segments->level.index()) return trace(l, d, segment_vector(state / 2), on_node);
  const id_range kids = children(l, d);
  for (std::uint32_t k = kids.last; k-- > kids.first;) {
    const std::vector<std::uint32_t>& choice = segments_[l][d].choice[k - kids.first];
    const std::uint32_t part = choice.empty() ? 0 : choice[state];
    state -= part;
    if (part != 0) trace_segments(l + 1, k, part, on_node);
  }
}

BERTH_INLINE void exact_solver::hand_out(std::uint32_t node, std::uint32_t vector,
                                         std::vector<std::vector<task_placement>>& by_group) const {
  std::vector<device_want> wants;
  for (std::size_t i = 0; i < groups_; ++i)
    wants.insert(wants.end(), digit(vector, i),
                 {devices_for(cluster_, gang_.groups[i].shape, node_id{node}), gang_.groups[i].shape.devices});
  const std::vector<device_mask> devices = device_matching::find(wants);
  std::size_t next = 0;
  for (std::size_t i = 0; i < groups_; ++i)
    for (std::uint64_t n = digit(vector, i); n != 0; --n)
      by_group[i].push_back({devices[next++], node_id{node}, static_cast<std::uint32_t>(i)});
}

}  // namespace berth::detail

namespace berth {

BERTH_INLINE exact_answer solve_exactly(const cluster& c, const gang& g, const exact_limits& limits) {
  if (!detail::is_consistent(c, g)) return {exact_verdict::invalid, {}, {}, {}};
  bool counts = g.between_nodes.count() == 0 && g.rails == rail_rule::any;
  for (const task_group& t : g.groups) counts = counts && !t.shape.asks_inside();
  if (!counts) return {exact_verdict::too_large, {}, {}, {}};
  return detail::exact_solver{c, g, limits}.solve();
}

BERTH_INLINE std::optional<bool> is_consolidated(const cluster& c, const gang& g, const placement& p,
                                                 const exact_limits& limits) {
  const level_id level = g.segments->level;
  const std::uint32_t size = g.groups[0].wanted / g.segments->count;
  std::vector<std::uint32_t> tasks(c.tree().domain_count(level), 0);
  std::size_t used = 0, loose = 0;
  for (const task_placement& t : p.tasks)
    if (t.group == 0 && tasks[c.tree().domain_of(t.node, level).index()]++ == 0) ++used;
  if (used <= 1) return true;
  detail::exact_solver solver{c, g, limits};
  for (std::uint32_t d = 0; d < tasks.size(); ++d) {
    if (tasks[d] == 0) continue;
    const auto most = solver.most_segments(d);
    if (!most) return std::nullopt;
    if (tasks[d] / size < *most) ++loose;
  }
  return loose <= 1;
}

}  // namespace berth
