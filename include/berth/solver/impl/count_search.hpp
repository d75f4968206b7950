#pragma once
/// \file
/// Bodies of `berth/solver/count_search.hpp`.

#include <bit>
#include <utility>

#include "berth/solver/count_search.hpp"
#include "berth/solver/detail/rail_use.hpp"

namespace berth::detail {

template <class Filler>
BERTH_INLINE void count_search<Filler>::reserve(const placer_limits& limits) {
  reserve_tables(limits);
  shares_.reserve(limits.tasks * domain_tree::max_levels);
}

template <class Filler>
BERTH_INLINE bool count_search<Filler>::keeps(std::optional<lacking_link>& lack, std::uint32_t& rails) const noexcept {
  if (gang_->between_nodes.count() != 0) lack = cluster_->lacking({filler_->tasks(), {}, gang_->between_nodes});
  if (lack) return false;
  return gang_->rails != rail_rule::same || same_rails(*cluster_, filler_->tasks(), rails);
}

template <class Filler>
BERTH_INLINE bool count_search<Filler>::begin() noexcept {
  const gang& g = *gang_;
  leaf_ = cluster_->tree().leaf_level().raw();
  top_ = g.where == locality::required ? static_cast<unsigned>(g.level.raw()) : 0U;
  rate_ = g.between_nodes.count();
  steps_ = step_limit_;
  rows_ = 1;
  units_at_ = none;
  unit_only_ = false;
  exact_ = true;
  std::size_t binding = 0;
  for (const task_group& t : g.groups) {
    if (t.shape.part.asks()) return false;
    binding += t.shape.bind.asks() ? 1U : 0U;
  }
  if (groups() > count_space::most_groups) return false;
  // What several groups need of the inside of one node is counted for each alone.
  if (binding != 0 && groups() > 1) exact_ = false;
  if (g.segments) {
    if (g.segments->level.index() >= top_) {
      units_at_ = static_cast<unsigned>(g.segments->level.raw());
      if (g.segments->layout == segment_layout::consolidate) rows_ = 2;
    } else {
      unit_only_ = g.segments->layout == segment_layout::spread;  // the gang is inside one domain, so one segment is
    }
  }
  list_sets();
  return true;
}

template <class Filler>
BERTH_INLINE void count_search<Filler>::list_sets() noexcept {
  sets_count_ = 0;
  one_node_set_ = none;
  const bool same = gang_->rails == rail_rule::same, planes = rate_ != 0 && cluster_->uplinks().has_planes();
  std::uint32_t all = 0;
  for (std::size_t c = 0; (same || planes) && c < cluster_->classes().size(); ++c)
    for (unsigned r = 0; r < max_rails; ++r)
      if (cluster_->uplinks().on_rail(class_id{static_cast<std::uint16_t>(c)}, r) != 0) all |= 1U << r;
  if (planes) exact_ = exact_ && fills_nodes(all);
  if (planes && !same && fills_nodes(all)) {
    sets_[sets_count_++] = all;
    return;
  }
  // For a rate, the more rails the more bandwidth; to be on the same rails, few leave the most to others.
  for (int i = 1, most = std::popcount(all); i <= most; ++i)
    for (std::uint32_t s = all; s != 0; s = (s - 1) & all) {
      if (std::popcount(s) != (same ? i : most + 1 - i) || !has_room(s)) continue;
      if (sets_count_ + 1 == most_sets) exact_ = false;
      else sets_[sets_count_++] = s;
    }
  if (same) one_node_set_ = static_cast<std::uint32_t>(sets_count_);
  sets_[sets_count_++] = 0;  // whichever rails a node has; with `same` on one node alone
}

template <class Filler>
BERTH_INLINE device_mask count_search<Filler>::devices_on(class_id c, std::uint32_t rails) const noexcept {
  device_mask m = 0;
  for (unsigned r = 0; r < max_rails; ++r)
    if ((rails >> r & 1U) != 0) m |= cluster_->uplinks().on_rail(c, r);
  return m;
}

template <class Filler>
BERTH_INLINE bool count_search<Filler>::has_room(std::uint32_t rails) const noexcept {
  unsigned most = 0;
  for (std::size_t c = 0; c < cluster_->classes().size(); ++c) {
    const unsigned n = count_bits(devices_on(class_id{static_cast<std::uint16_t>(c)}, rails));
    most = n > most ? n : most;
  }
  bool fits = true;
  for (std::size_t i = 0; i < groups(); ++i) fits = fits && shape(i).devices <= most;
  return fits;
}

template <class Filler>
BERTH_INLINE bool count_search<Filler>::fills_nodes(std::uint32_t rails) const noexcept {
  for (std::size_t c = 0; c < cluster_->classes().size(); ++c) {
    if (!cluster_->classes()[c].shape) continue;
    const class_id id{static_cast<std::uint16_t>(c)};
    const unsigned devices = cluster_->shapes()[cluster_->classes()[c].shape.index()].devices;
    if (devices == 0) continue;
    for (unsigned r = 0; r < max_rails; ++r)
      if ((rails >> r & 1U) != 0 &&
          count_bits(cluster_->uplinks().on_rail(id, r)) * static_cast<unsigned>(std::popcount(rails)) != devices)
        return false;
    for (std::size_t i = 0; i < groups(); ++i)
      if (shape(i).devices != 0 && shape(i).devices < devices) return false;
  }
  return rails != 0;
}

template <class Filler>
BERTH_INLINE verdict count_search<Filler>::decide() noexcept {
  std::uint32_t total[count_space::most_groups] = {};
  bool unsure = false;
  for (std::size_t i = 0; i < groups(); ++i) total[i] = gang_->groups[i].wanted;
  if (gang_->segments) {
    // By whole segments, as many as can be.
    std::uint32_t least = 1;
    for (const task_group& t : gang_->groups) {
      const std::uint32_t size = t.wanted / gang_->segments->count;
      if (t.minimum / size > least) least = t.minimum / size;
    }
    for (std::uint32_t k = gang_->segments->count; k >= least && k != 0; --k) {
      if (unit_only_ && k > 1) continue;
      for (std::size_t i = 0; i < groups(); ++i) total[i] = gang_->groups[i].wanted / gang_->segments->count * k;
      if (try_total(total, unsure)) return verdict::placed;
    }
    return unsure ? verdict::gave_up : verdict::not_now;
  }
  if (try_total(total, unsure)) return verdict::placed;
  std::uint64_t totals = 1;
  for (const task_group& t : gang_->groups)
    totals *= totals > most_totals ? 1U : t.wanted - t.minimum + std::uint64_t{1};
  if (totals == 1) return unsure ? verdict::gave_up : verdict::not_now;
  // Fewer tasks fit where more do: what the minimum lacks, all lack.
  for (std::size_t i = 0; i < groups(); ++i) total[i] = gang_->groups[i].minimum;
  bool minimum_unsure = false;
  steps_ = step_limit_;
  const bool any = try_total(total, minimum_unsure);
  steps_ = step_limit_;
  if (!any && !(minimum_unsure && totals <= most_totals)) return minimum_unsure ? verdict::gave_up : verdict::not_now;
  if (totals <= most_totals) {
    if (best_total()) return verdict::placed;
    if (!any) return verdict::gave_up;
  } else {
    raise(total);
  }
  for (std::size_t i = 0; i < groups() && totals <= most_totals; ++i) total[i] = gang_->groups[i].minimum;
  steps_ = step_limit_;
  return try_total(total, minimum_unsure) ? verdict::placed : verdict::gave_up;
}

template <class Filler>
BERTH_INLINE bool count_search<Filler>::best_total() noexcept {
  std::uint32_t sum = 0, least = 0, total[count_space::most_groups] = {};
  for (const task_group& t : gang_->groups) sum += t.wanted, least += t.minimum;
  bool unsure = false;
  for (--sum; sum > least && steps_ != 0; --sum) {
    std::uint32_t best[count_space::most_groups] = {};
    std::uint64_t cost = count_row::none;
    for (std::size_t i = 0; i < groups(); ++i) total[i] = gang_->groups[i].minimum;
    for (;;) {
      std::uint32_t here = 0;
      for (std::size_t i = 0; i < groups(); ++i) here += total[i];
      for (std::size_t s = 0; here == sum && s < sets_count_; ++s) {
        found f;
        if (!prepare(total, sets_[s], s == one_node_set_) || look(f) != outcome::yes || f.cost >= cost) continue;
        cost = f.cost;
        for (std::size_t i = 0; i < groups(); ++i) best[i] = total[i];
      }
      std::size_t i = 0;
      while (i < groups() && total[i] == gang_->groups[i].wanted) total[i] = gang_->groups[i].minimum, ++i;
      if (i == groups()) break;
      ++total[i];
    }
    if (cost == count_row::none) continue;
    const std::uint64_t left = steps_;
    steps_ = step_limit_;
    if (try_total(best, unsure)) return true;
    steps_ = left;
  }
  return false;
}

template <class Filler>
BERTH_INLINE void count_search<Filler>::raise(std::uint32_t* total) noexcept {
  for (std::size_t i = groups(); i-- > 0;) {
    std::uint32_t low = total[i], high = gang_->groups[i].wanted;
    while (low < high && steps_ != 0) {
      total[i] = low + (high - low + 1) / 2;
      bool yes = false;
      found f;
      for (std::size_t s = 0; s < sets_count_ && !yes; ++s)
        yes = prepare(total, sets_[s], s == one_node_set_) && look(f) == outcome::yes;
      if (yes) low = total[i];
      else high = total[i] - 1;
    }
    total[i] = low;
  }
}

template <class Filler>
BERTH_INLINE bool count_search<Filler>::try_total(const std::uint32_t* total, bool& unsure) noexcept {
  for (std::size_t tried = 0; tried < sets_count_; ++tried) {
    found best;
    std::size_t best_set = sets_count_;
    for (std::size_t s = 0; s < sets_count_; ++s) {
      found f;
      if ((refused_[s / 64] >> (s % 64) & 1U) != 0) continue;
      if (!prepare(total, sets_[s], s == one_node_set_)) {
        unsure = true;
        continue;
      }
      const outcome o = look(f);
      if (o == outcome::unknown) unsure = true;
      if (o == outcome::yes && f.cost < best.cost) best = f, best_set = s;
      if (o == outcome::yes && gang_->rails != rail_rule::same) break;
    }
    if (best_set == sets_count_) break;
    if (gang_->rails == rail_rule::same && best_set + 1 != sets_count_) {
      const std::uint64_t left = std::exchange(steps_, step_limit_);
      static_cast<void>(prepare(total, sets_[best_set], best_set == one_node_set_));
      static_cast<void>(look(best));
      steps_ = left;
    }
    if (best.domain != none && place(best)) {
      clear_refused();
      return true;
    }
    unsure = true;  // the tables were too generous
    refused_[best_set / 64] |= std::uint64_t{1} << (best_set % 64);
  }
  clear_refused();
  if (!exact_) unsure = true;
  return false;
}

template <class Filler>
BERTH_INLINE bool count_search<Filler>::place(const found& at) noexcept {
  filler_->truncate(0);
  bool ok = descend(top_, at.domain, space_.last(), at.row, 0);
  for (std::size_t n = filler_->task_count(); n > 0; --n) {
    const task_placement& t = filler_->tasks()[n - 1];
    cluster_->unhold(t.node, t.devices, shape(t.group));
  }
  if (ok) filler_->sort_tasks();
  if (ok && rate_ != 0) ok = !cluster_->lacking({filler_->tasks(), {}, gang_->between_nodes});
  if (!ok) filler_->truncate(0);
  return ok;
}

template <class Filler>
BERTH_INLINE bool count_search<Filler>::descend(unsigned l, std::uint32_t d, std::uint32_t v, unsigned row,
                                                std::size_t base) noexcept {
  const id_range kids = domain(l, d).children;
  const std::size_t width = std::size_t{vectors_} * rows_;
  // The domain's own table is not needed any more; what its children hold is.
  if (l == units_at_) row = 0;  // inside it segments are tasks
  if (!fill(l, d, table(l, d), choices_.data())) return false;
  std::size_t end = base;
  share* const down = shares_.data();
  for (std::uint32_t c = kids.last; c-- > kids.first && v != 0;) {
    const std::uint32_t pick = choices_.data()[(c - kids.first) * width + std::size_t{row} * vectors_ + v];
    if (pick == 0) continue;
    if (end == shares_.capacity()) return false;
    std::uint32_t count = 0;
    if (l == leaf_) count = list_node(node_id{c});
    else count = list_child(l + 1, c);
    if (pick > count) return false;
    const count_part& p = parts_.data()[pick - 1];
    down[end++] = {c, p.vector, p.loose};
    v -= p.vector;
    row -= p.loose;
  }
  if (v != 0) return false;
  for (std::size_t k = end; k-- > base;) {
    const share s = down[k];
    if (l == leaf_ ? !serve(node_id{s.child}, s.vector) : !descend(l + 1, s.child, s.vector, s.loose, end))
      return false;
  }
  return true;
}

template <class Filler>
BERTH_INLINE bool count_search<Filler>::serve(node_id n, std::uint32_t v) noexcept {
  static_cast<void>(list_node(n));
  const bool alike = alike_;
  if (!alike && !split(v)) return false;
  for (std::size_t i = 0; i < groups(); ++i) {
    const std::uint32_t count = space_.count(v, i);
    if (count == 0) continue;
    const task_shape& t = shape(i);
    const node_state& s = cluster_->node(n);
    const device_mask from = alike ? pools_[i] & s.free : given_[i];
    if (t.bind.asks() && cluster_->inside().count(n.raw(), s, from, t, count) < count) return false;
    const std::size_t mark = filler_->task_count();
    filler_->place_on(n, from, t, count);
    for (std::size_t k = mark; k < filler_->task_count(); ++k) {
      task_placement& made = filler_->tasks()[k];
      made.group = static_cast<std::uint32_t>(i);
      cluster_->hold(n, made.devices, t);
    }
  }
  return true;
}

template <class Filler>
BERTH_INLINE void count_search<Filler>::finish(decision& d) noexcept {
  filler_->score_tasks();
  d.why = {};
  unsigned level = leaf_;
  while (level > 0 && filler_->score().domains_used[level] != 1) --level;
  d.level = level_id{static_cast<std::uint8_t>(level)};
  d.domain = cluster_->tree().domain_of(filler_->tasks().front().node, d.level);
  if (gang_->rails == rail_rule::same || rails_ != 0)
    for (const task_placement& t : filler_->tasks()) d.rails |= rails_of(*cluster_, t);
}

template <class Filler>
BERTH_INLINE void count_search<Filler>::refuse(decision& d) noexcept {
  d.level = {};
  d.domain = {};
  d.why.group = 0;
  d.why.level = level_id{static_cast<std::uint8_t>(top_)};
  d.why.needs = gang_->groups.front().minimum;
  const live_shape* s = cluster_->counters(shape(0));
  if (s == nullptr) return;
  d.why.holds = s->largest(top_);
  if (d.why.holds != 0) d.why.nearest = domain_id{s->emptiest(0, 0, top_, 1)};
}

// Not inline: most gangs never come here.

template <class Filler>
void count_search<Filler>::settle(const gang& g, decision& d) noexcept {
  gang_ = &g;
  const bool placed = d.result == verdict::placed;
  std::optional<lacking_link> lack;
  if (placed && keeps(lack, d.rails)) return;
  d.rails = 0;
  filler_->truncate(0);
  d.result = begin() ? decide() : verdict::gave_up;
  if (d.result == verdict::placed) return finish(d);
  filler_->truncate(0);
  if (placed) refuse(d);
  if (!d.why.link) d.why.link = lack;
}

}  // namespace berth::detail
