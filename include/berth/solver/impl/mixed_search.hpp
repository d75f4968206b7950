#pragma once
/// \file
/// Bodies of `berth/solver/mixed_search.hpp`.

#include <utility>

#include "berth/solver/detail/hardness.hpp"
#include "berth/solver/mixed_search.hpp"

namespace berth::detail {

template <class Filler>
BERTH_INLINE void mixed_search<Filler>::reserve(const placer_limits& limits) {
  frames_.resize(limits.tasks + 1);
  order_.resize(limits.groups);
  counts_.resize(limits.groups);
  left_.resize(limits.groups);
  step_limit_ = limits.search_steps;
  ranks_.reserve(limits.tasks);
  kept_.resize(limits.tasks);
  if (cluster_->inside().parts().is_on()) kept_places_.resize(limits.tasks);
  cluster_->reserve_holds(limits.tasks + 1);
}

template <class Filler>
BERTH_INLINE void mixed_search<Filler>::refuse_unsearched(const gang& g, decision& d) {
  begin(g);
  decide_refusal(d);
}

template <class Filler>
BERTH_INLINE void mixed_search<Filler>::begin(const gang& g) {
  gang_ = &g;
  uncertain_ = false;
  widest_ = g.where == locality::required ? static_cast<unsigned>(g.level.raw()) : 0U;
  unit_level_ = cluster_->tree().leaf_level().raw();
  if (g.segments) {
    unit_level_ = static_cast<unsigned>(g.segments->level.raw());
    if (unit_level_ < widest_) unit_level_ = widest_;
  }
  order_groups();
}

template <class Filler>
BERTH_INLINE void mixed_search<Filler>::order_groups() {
  interchangeable_ = true;
  needs_ = binds_ = false;
  for (std::size_t i = 0; i < groups(); ++i) {
    if (!cluster_->filter(shape(i).filter).models.empty()) interchangeable_ = false;
    if (shape(i).asks_inside()) needs_ = true;
    if (shape(i).bind.asks()) binds_ = true;
    std::size_t at = i;
    for (; at > 0 && is_harder(*cluster_, shape(i), shape(order_[at - 1])); --at) order_[at] = order_[at - 1];
    order_[at] = static_cast<std::uint32_t>(i);
  }
}

template <class Filler>
BERTH_INLINE bool mixed_search<Filler>::place_wanted_or_minimum() {
  bool elastic = false;
  for (std::size_t i = 0; i < groups(); ++i) {
    counts_[i] = gang_->groups[i].wanted;
    elastic = elastic || gang_->groups[i].minimum < gang_->groups[i].wanted;
  }
  std::uint64_t budget = step_limit_;
  if (place_whole(budget)) return true;
  if (!elastic) return false;
  uncertain_ = false;  // what could not be decided for the wanted counts does not matter below them
  for (std::size_t i = 0; i < groups(); ++i) counts_[i] = gang_->groups[i].minimum;
  budget = step_limit_;
  if (!place_whole(budget)) return false;
  raise_counts();
  return true;
}

template <class Filler>
BERTH_INLINE void mixed_search<Filler>::raise_counts() {
  keep();
  std::uint64_t budget = step_limit_;
  for (std::size_t k = groups(); k-- > 0;) {
    const std::size_t i = order_[k];
    undo_to(0);
    std::uint64_t most = counters(i).largest(widest_);
    for (unsigned l = widest_; cluster_->any_detached() && l < cluster_->tree().level_count(); ++l)
      if (counters(i).largest(l) > most) most = counters(i).largest(l);
    if (gang_->groups[i].wanted < most) most = gang_->groups[i].wanted;
    std::uint64_t least = counts_[i];
    while (least < most) {
      counts_[i] = least + (most - least + 1) / 2;
      undo_to(0);
      if (place_whole(budget)) keep(), least = counts_[i];
      else most = counts_[i] - 1;
    }
    counts_[i] = least;
  }
  undo_to(0);
  for (std::size_t n = 0; n < kept_count_; ++n) {
    filler_->append(kept_[n], filler_->has_parts() ? kept_places_[n] : part_places{});
    hold_task(n);
  }
}

template <class Filler>
BERTH_INLINE void mixed_search<Filler>::hold_task(std::size_t n) noexcept {
  const task_placement& t = filler_->tasks()[n];
  if (shape(t.group).part.asks()) cluster_->hold(t.node, t.devices, shape(t.group), filler_->places()[n]);
  else cluster_->hold(t.node, t.devices, shape(t.group));
}

template <class Filler>
BERTH_INLINE void mixed_search<Filler>::keep() noexcept {
  kept_count_ = filler_->task_count();
  for (std::size_t n = 0; n < kept_count_; ++n) kept_[n] = filler_->tasks()[n];
  for (std::size_t n = 0; n < kept_count_ && filler_->has_parts(); ++n) kept_places_[n] = filler_->places()[n];
}

template <class Filler>
BERTH_INLINE bool mixed_search<Filler>::place_whole(std::uint64_t& budget) {
  const unsigned leaf = cluster_->tree().leaf_level().raw();
  // Half of the steps are for the widest level, which decides.
  const std::uint64_t reserved = budget - budget / 2;
  budget -= reserved;
  for (unsigned level = leaf + 1; level-- > widest_;) {
    if (level == widest_) budget += reserved;
    if (!place_at_level(level, level == widest_, budget)) continue;
    if (level != widest_) budget += reserved;
    return true;
  }
  return false;
}

template <class Filler>
BERTH_INLINE bool mixed_search<Filler>::place_at_level(unsigned level, bool last, std::uint64_t& budget) {
  const std::uint32_t domains = cluster_->tree().domain_count(level_id{static_cast<std::uint8_t>(level)});
  std::uint64_t after_key = 0;
  std::uint32_t after = live_shape::no_domain;
  for (;;) {
    const std::uint32_t d = next_candidate(level, domains, after_key, after);
    if (d == live_shape::no_domain) return false;
    after = d;
    const bool decides = last || !attached(level, d);
    std::uint64_t steps = decides || budget < 500 ? budget : 500;
    const std::uint64_t given = steps;
    const outcome o = pack(level, d, steps);
    budget -= given - steps;
    if (o == outcome::yes) return true;
    if (o == outcome::unknown && decides) uncertain_ = true;
  }
}

template <class Filler>
BERTH_INLINE std::uint32_t mixed_search<Filler>::next_candidate(unsigned level, std::uint32_t domains,
                                                                std::uint64_t& key, std::uint32_t after) {
  filler_->visit(domains / 64);
  std::uint32_t best = live_shape::no_domain;
  std::uint64_t best_key = 0;
  const live_shape& first = counters(order_[0]);
  for (std::uint32_t d = 0; d < domains; ++d) {
    std::uint64_t k = first.capacity(level, d);
    if (k < counts_[order_[0]] || (only_ != nullptr && !is_admitted(level, d))) continue;
    if (wishes_.emptiest_first) k = ~k;
    if (after != live_shape::no_domain && (k < key || (k == key && d <= after))) continue;
    if (best != live_shape::no_domain && k >= best_key) continue;
    best = d;
    best_key = k;
  }
  key = best_key;
  return best;
}

template <class Filler>
BERTH_INLINE bool mixed_search<Filler>::is_admitted(unsigned level, std::uint32_t d) const noexcept {
  for (; level > widest_; --level)
    d = cluster_->tree().at(level_id{static_cast<std::uint8_t>(level)}, domain_id{d}).parent;
  return (only_[d / 64] & bit(d % 64)) != 0;
}

template <class Filler>
BERTH_INLINE bool mixed_search<Filler>::place_in_segments_of(unsigned level, std::uint32_t wanted) {
  const gang& g = *gang_;
  std::uint32_t least = 1;
  for (std::size_t i = 0; i < groups(); ++i) {
    const std::uint32_t size = g.groups[i].wanted / wanted;
    if (g.groups[i].minimum / size > least) least = g.groups[i].minimum / size;
  }
  unit_level_ = level;
  share_.begin(g, widest_, level, wanted, order_[0]);
  std::uint64_t budget = step_limit_;
  // Every round either succeeds, lowers the limit of a domain, or settles for fewer units.
  bool first_try = true;
  for (std::uint32_t want = wanted;;) {
    if (std::exchange(first_try, false) && place_narrower(level, wanted, want, budget)) return true;
    filler_->visit(share_.count() / 16);
    if (!share_.assign(want, wishes_.smallest_share_first)) {
      // A domain that is cut off may hold more units than what is joined; then go down one by one.
      const std::uint64_t most = cluster_->any_detached() ? want - 1U : share_.most();
      if (most >= want || most < least) return false;
      want = static_cast<std::uint32_t>(most);
      first_try = true;
      continue;
    }
    bool ok = true;
    for (std::uint32_t d = 0; d < share_.domains() && ok; ++d) {
      const auto want_here = static_cast<std::uint32_t>(share_.assigned(d));
      std::uint32_t fit = want_here;
      for (; fit > 0; --fit) {
        for (std::size_t i = 0; i < groups(); ++i) counts_[i] = g.groups[i].wanted / wanted * fit;
        const outcome o = pack(level, d, budget);
        if (o == outcome::unknown) uncertain_ = true;
        if (o == outcome::yes) break;
      }
      if (fit != want_here) share_.limit(d, fit), ok = false;
    }
    if (ok) return true;
    undo_to(0);
    filler_->truncate(0);
    filler_->forget_used();
  }
}

template <class Filler>
BERTH_INLINE bool mixed_search<Filler>::place_narrower(unsigned level, std::uint32_t wanted, std::uint32_t units,
                                                       std::uint64_t& budget) {
  if (gang_->segments->layout == segment_layout::spread && units > 1) return false;
  for (std::size_t i = 0; i < groups(); ++i) counts_[i] = std::uint64_t{gang_->groups[i].wanted} / wanted * units;
  for (unsigned l = cluster_->tree().leaf_level().raw(); l > level; --l)
    if (place_at_level(l, false, budget)) return true;
  return false;
}

template <class Filler>
BERTH_INLINE typename mixed_search<Filler>::outcome mixed_search<Filler>::pack(unsigned level, std::uint32_t domain,
                                                                               std::uint64_t& steps) {
  for (std::size_t i = 0; i < groups(); ++i)
    if (counters(i).capacity(level, domain) < counts_[i]) return outcome::no;
  const std::size_t mark = filler_->task_count();
  bool ok = true;
  for (std::size_t k = 0; k < groups() && ok; ++k) {
    const std::size_t i = order_[k];
    ok = counters(i).capacity(level, domain) >= counts_[i];
    if (ok && counts_[i] != 0) fill_held(i, level, domain, counts_[i]);
  }
  const std::uint64_t spent = filler_->task_count() - mark + 1;
  steps -= spent < steps ? spent : steps;
  if (ok) return outcome::yes;
  undo_to(mark);
  if (groups() == 1) return outcome::no;
  const outcome o = search(level, domain, mark, steps);
  return o == outcome::no && device_choice_matters_ ? outcome::unknown : o;
}

template <class Filler>
BERTH_INLINE void mixed_search<Filler>::fill_held(std::size_t group, unsigned level, std::uint32_t domain,
                                                  std::uint64_t n) {
  const std::size_t mark = filler_->task_count();
  filler_->select(counters(group), static_cast<std::uint32_t>(group));
  filler_->fill(level, domain, n);
  for (std::size_t k = mark; k < filler_->task_count(); ++k) hold_task(k);
}

template <class Filler>
BERTH_INLINE void mixed_search<Filler>::undo_to(std::size_t mark) {
  for (std::size_t n = filler_->task_count(); n > mark; --n) {
    const task_placement& t = filler_->tasks()[n - 1];
    cluster_->unhold(t.node, t.devices, shape(t.group));
  }
  filler_->truncate(mark);
  filler_->remember_tasks();
}

template <class Filler>
BERTH_INLINE bool mixed_search<Filler>::reaches(std::uint32_t node, unsigned level) const noexcept {
  for (unsigned l = level + 1; l < cluster_->tree().level_count(); ++l) {
    const level_id at{static_cast<std::uint8_t>(l)};
    if (cluster_->is_detached(at, cluster_->tree().domain_of(node_id{node}, at))) return false;
  }
  return true;
}

template <class Filler>
BERTH_INLINE bool mixed_search<Filler>::equal(std::uint32_t a, std::uint32_t b) const noexcept {
  const node_state &x = cluster_->node(node_id{a}), &y = cluster_->node(node_id{b});
  return x.node_class == y.node_class && x.cpu == y.cpu && x.memory == y.memory && x.usable == y.usable &&
         (interchangeable_ && !needs_ ? count_bits(x.free) == count_bits(y.free) : x.free == y.free) &&
         (!needs_ || cluster_->inside().equal(a, b, x.node_class));
}

template <class Filler>
BERTH_INLINE typename mixed_search<Filler>::outcome mixed_search<Filler>::search(unsigned level, std::uint32_t domain,
                                                                                 std::size_t mark,
                                                                                 std::uint64_t& steps) {
  const id_range nodes = cluster_->tree().at(level_id{static_cast<std::uint8_t>(level)}, domain_id{domain}).nodes;
  std::size_t total = 0;
  for (std::size_t i = 0; i < groups(); ++i) total += counts_[i];
  std::size_t depth = 0;
  device_choice_matters_ = false;
  if (rest_exceeds(nodes, level, 0, steps)) return outcome::no;
  frames_[0] = {nodes.first, 0, {}};
  for (;;) {
    if (depth == total) return outcome::yes;
    // Which group the task at this depth belongs to, and whether it is the first of its group.
    std::size_t k = 0, before = 0;
    while (depth >= before + counts_[order_[k]]) before += counts_[order_[k++]];
    const std::size_t group = order_[k];
    const live_shape& s = counters(group);
    frame& f = frames_[depth];
    const bool parts = s.shape().part.asks();
    std::uint32_t pick = nodes.last;
    part_places places;
    device_mask devices = 0;
    // With a limit per node, the node at work is like no other: it holds tasks of the group already.
    const bool limited = s.shape().per_node != 0 && depth != before;
    const std::uint32_t last = limited ? filler_->tasks().back().node.raw() : nodes.last;
    // What parts a task gets is part of the search, as it decides what fits beside them.
    if (parts && f.known != 0 && f.way != no_way) {
      const node_id at{f.next - 1};
      if (steps != 0 && filler_->choose_parts(at, s, ++f.way, devices, places)) pick = at.raw(), --steps;
      else f.way = no_way;
    }
    const bool again = pick != nodes.last;
    for (; !again && f.next < nodes.last && steps != 0; ++f.next) {
      --steps;
      if (s.fits(f.next) == 0 || skip(f, last)) continue;
      if (f.next == last && on_last_node() >= s.shape().per_node) continue;
      if (cluster_->any_detached() && !reaches(f.next, level)) continue;
      pick = f.next++;
      break;
    }
    if (pick == nodes.last) {
      if (steps == 0 || depth == 0) {
        undo_to(mark);
        return steps == 0 ? outcome::unknown : outcome::no;
      }
      --depth;
      drop_last();
      continue;
    }
    if (!again) {
      if (f.known < representatives) f.tried[f.known++] = pick;
      f.way = 0;
      const bool own_way = interchangeable_ || s.shape().bind.asks();
      if (parts) devices = filler_->choose_parts(node_id{pick}, s, places);
      else devices = own_way ? filler_->choose_devices(node_id{pick}, s) : least_wanted_devices(node_id{pick}, group);
      if (needs_ && !parts &&
          (binds_ || !interchangeable_ || !cluster_->inside().parts().alike(pick, cluster_->node(node_id{pick}))))
        device_choice_matters_ = true;
    }
    const task_placement t{devices, node_id{pick}, static_cast<std::uint32_t>(group)};
    filler_->append(t, places);
    filler_->visit(1);
    hold_task(filler_->task_count() - 1);
    ++depth;
    if (depth < total) frames_[depth] = {depth < before + counts_[group] ? pick : nodes.first, 0, {}};
    const bool group_done = depth == before + counts_[group] && depth < total;
    if (!can_finish(level, domain, depth) || (group_done && rest_exceeds(nodes, level, k + 1, steps))) {
      --depth;
      drop_last();
    }
  }
}

template <class Filler>
BERTH_INLINE bool mixed_search<Filler>::rest_exceeds(id_range nodes, unsigned level, std::size_t from,
                                                     std::uint64_t& steps) noexcept {
  if (nodes.size() > steps / (from == 0 ? 2 : 64) || groups() - from < 2) return false;
  steps -= nodes.size();
  for (std::size_t k = 0; k < groups(); ++k) left_[order_[k]] = k < from ? 0 : counts_[order_[k]];
  joint_bound bound{*cluster_, *gang_, {left_.data(), left_.size()}};
  for (std::uint32_t n = nodes.first; n < nodes.last; ++n)
    if (!cluster_->any_detached() || reaches(n, level)) bound.add(node_id{n});
  return bound.exceeded();
}

template <class Filler>
BERTH_INLINE device_mask mixed_search<Filler>::least_wanted_devices(node_id node, std::size_t group) noexcept {
  const node_state& n = cluster_->node(node);
  device_mask pool = n.free & cluster_->eligible(shape(group).filter, node).devices, chosen = 0;
  for (unsigned left = shape(group).devices; left != 0;) {
    // The devices of `pool` that serve the fewest groups, and whether all others serve those groups too.
    device_mask best = 0;
    std::size_t fewest = groups() + 1;
    for (device_mask rest = pool; rest != 0;) {
      device_mask alike = rest;
      std::size_t served = 0;
      for (std::size_t i = 0; i < groups(); ++i) {
        const device_mask may = cluster_->eligible(shape(i).filter, node).devices;
        const bool serves = (may & bit(lowest_bit(rest))) != 0;
        alike &= serves ? may : ~may;
        served += serves ? 1U : 0U;
      }
      if (served < fewest) best = alike, fewest = served;
      rest &= ~alike;
    }
    if (count_bits(pool) > left)
      for (std::size_t i = 0; i < groups(); ++i) {
        const device_mask may = cluster_->eligible(shape(i).filter, node).devices;
        if ((may & best) != 0 && (pool & ~may) != 0) device_choice_matters_ = true;
      }
    const device_mask part = count_bits(best) <= left ? best : filler_->choose_devices(node, best, left);
    chosen |= part;
    pool &= ~part;
    left -= count_bits(part);
  }
  return chosen;
}

template <class Filler>
BERTH_INLINE bool mixed_search<Filler>::skip(const frame& f, std::uint32_t unlike) const noexcept {
  for (std::uint32_t i = 0; i < f.known; ++i)
    if (f.tried[i] != unlike && equal(f.tried[i], f.next)) return true;
  return false;
}

template <class Filler>
BERTH_INLINE std::uint32_t mixed_search<Filler>::on_last_node() const noexcept {
  const task_placement* const all = filler_->tasks().data();
  std::size_t n = filler_->task_count();
  const task_placement& end = all[n - 1];
  std::uint32_t count = 0;
  while (n != 0 && all[n - 1].node == end.node && all[n - 1].group == end.group) --n, ++count;
  return count;
}

template <class Filler>
BERTH_INLINE void mixed_search<Filler>::drop_last() {
  const task_placement t = filler_->tasks().back();
  cluster_->unhold(t.node, t.devices, shape(t.group));
  filler_->truncate(filler_->task_count() - 1);
}

template <class Filler>
BERTH_INLINE bool mixed_search<Filler>::can_finish(unsigned level, std::uint32_t domain,
                                                   std::size_t depth) const noexcept {
  std::size_t before = 0;
  for (std::size_t k = 0; k < groups(); ++k) {
    const std::size_t end = before + counts_[order_[k]];
    const std::size_t left = depth >= end ? 0 : (depth > before ? end - depth : end - before);
    if (left != 0 && counters(order_[k]).capacity(level, domain) < left) return false;
    before = end;
  }
  return true;
}

template <class Filler>
BERTH_INLINE void mixed_search<Filler>::finish(decision& d) {
  const std::size_t count = filler_->task_count();
  for (std::size_t n = count; n > 0; --n) {
    const task_placement& t = filler_->tasks()[n - 1];
    cluster_->unhold(t.node, t.devices, shape(t.group));
  }
  filler_->sort_tasks();
  // Nodes in equal state may differ inside.
  if (!needs_ && ranks_.bring_leaders_forward(*cluster_, *gang_, filler_->tasks())) filler_->sort_tasks();
  filler_->score_tasks();
  d.result = verdict::placed;
  unsigned level = cluster_->tree().leaf_level().raw();
  while (level > 0 && filler_->score().domains_used[level] != 1) --level;
  d.level = level_id{static_cast<std::uint8_t>(level)};
  d.domain = cluster_->tree().domain_of(filler_->tasks().front().node, d.level);
}

template <class Filler>
BERTH_INLINE void mixed_search<Filler>::refuse(decision& d, verdict v, std::size_t group, std::uint64_t holds) {
  const std::uint32_t needs = gang_->groups[group].minimum;
  d.result = v;
  d.why = {gang_fault::none,
           static_cast<std::uint32_t>(group),
           level_id{static_cast<std::uint8_t>(widest_)},
           {},
           holds,
           needs};
  const live_shape& s = counters(group);
  const std::uint32_t nearest = s.emptiest(0, 0, widest_, 1);
  if (nearest != live_shape::no_domain) d.why.nearest = domain_id{nearest}, d.why.holds = s.capacity(widest_, nearest);
}

template <class Filler>
BERTH_INLINE void mixed_search<Filler>::decide_refusal(decision& d) {
  // The group that is furthest from fitting by itself, else the hardest one.
  std::size_t worst = order_[0];
  for (std::size_t i = 0; i < groups(); ++i) {
    const live_shape& s = counters(i);
    std::uint64_t unit = gang_->groups[i].minimum;
    if (gang_->segments) unit = gang_->groups[i].wanted / gang_->segments->count;
    const unsigned unit_level = gang_->segments ? unit_level_ : widest_;
    const bool too_many_apart = gang_->segments && gang_->segments->layout == segment_layout::spread &&
                                gang_->segments->level.index() < widest_ && gang_->groups[i].minimum > unit;
    if (cluster_->potential(s, widest_) < gang_->groups[i].minimum || cluster_->potential(s, unit_level) < unit ||
        too_many_apart)
      return refuse(d, verdict::never, i, 0);
    if (s.largest(widest_) < gang_->groups[i].minimum) worst = i;
  }
  refuse(d, uncertain_ ? verdict::gave_up : verdict::not_now, worst, 0);
}

// Not inline: most gangs never come here.

template <class Filler>
void mixed_search<Filler>::place(const gang& g, decision& d) {
  begin(g);
  bool placed = false;
  filler_->prefer_used(true);
  if (!g.segments) {
    placed = place_wanted_or_minimum();
  } else if (g.segments->level.index() >= widest_) {
    placed = place_in_segments_of(unit_level_, g.segments->count);
  } else {
    // The gang must stay inside a narrower domain than a segment would: the segments have no say of their own, but
    // `spread` then leaves room for one.
    const std::uint32_t units = g.segments->count;
    if (g.segments->layout != segment_layout::spread || units == 1) {
      placed = place_in_segments_of(widest_, units);
    } else {
      for (std::size_t i = 0; i < groups(); ++i) counts_[i] = g.groups[i].wanted / units;
      bool one_is_enough = true;
      for (std::size_t i = 0; i < groups(); ++i) one_is_enough = one_is_enough && g.groups[i].minimum <= counts_[i];
      std::uint64_t budget = step_limit_;
      placed = one_is_enough && place_whole(budget);
    }
  }
  if (placed) {
    finish(d);
  } else {
    undo_to(0);
    filler_->truncate(0);
    filler_->clear_score();
    decide_refusal(d);
  }
  filler_->prefer_used(false);
}

}  // namespace berth::detail
