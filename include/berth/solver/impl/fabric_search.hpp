#pragma once
/// \file
/// Bodies of `berth/solver/fabric_search.hpp`.

#include <utility>

#include "berth/solver/detail/rail_use.hpp"
#include "berth/solver/fabric_search.hpp"
#include "berth/topology/rails.hpp"

namespace berth::detail {

template <class Filler>
BERTH_INLINE void fabric_search<Filler>::reserve() {
  const domain_tree& tree = cluster_->tree();
  std::size_t domains = 0;
  for (std::uint8_t l = 0; l < tree.level_count(); ++l) first_[l] = domains, domains += tree.domain_count(level_id{l});
  if (light_.size() == domains) return;
  light_.resize(domains);
  whole_.resize(domains);
  limit_.resize(domains);
  major_.resize(domains);
  room_.resize(tree.domain_count(tree.leaf_level()));
}

template <class Filler>
BERTH_INLINE bool fabric_search<Filler>::candidate::is_better_than(const candidate& o) const noexcept {
  if ((node == none) != (o.node == none)) return node != none;
  if (level != o.level) return level > o.level;
  if (numa_nodes != o.numa_nodes) return numa_nodes < o.numa_nodes;
  if (spare != o.spare) return spare < o.spare;
  return rails < o.rails;
}

template <class Filler>
BERTH_INLINE device_mask fabric_search<Filler>::devices_on(std::uint32_t rails, class_id c) const noexcept {
  if (rails == 0) return ~device_mask{0};
  device_mask m = 0;
  for (unsigned r = 0; r < max_rails; ++r)
    if ((rails >> r & 1U) != 0) m |= cluster_->uplinks().on_rail(c, r);
  return m;
}

template <class Filler>
BERTH_INLINE void fabric_search<Filler>::list_sets() {
  sets_count_ = 0;
  all_listed_ = true;
  const std::uint32_t k = shape_->devices;
  const bool matter = k != 0 && (gang_->rails == rail_rule::same || (rate_ != 0 && cluster_->uplinks().has_planes()));
  find_kinds(matter);
  if (kinds_count_ == 0) {
    sets_[sets_count_++] = {};
    return;
  }
  const std::uint32_t all = free_rails();
  std::uint64_t most = 0;
  for (std::size_t i = 0; i < kinds_count_; ++i) {
    const std::uint64_t tasks = shape_->capped(count_bits(devices_on(all, kinds_[i])) / k);
    most = tasks > most ? tasks : most;
  }
  // Sets that more tasks share first, so that fewer nodes are used; then the lowest rails.
  for (std::uint64_t tasks = most; tasks > 0 && sets_count_ + 1 < most_sets; --tasks)
    for (std::uint32_t s = all;; s = (s - 1) & all) {
      const std::uint32_t set = all & ~s;  // ascending in the rails of `all`
      const std::size_t kind = set != 0 ? filled_by(set, static_cast<std::uint32_t>(tasks)) : kinds_count_;
      if (kind != kinds_count_) {
        if (sets_count_ + 1 == most_sets) {
          all_listed_ = false;
          break;
        }
        unsigned numa = 0;
        const shape_id machine = cluster_->classes()[kinds_[kind].index()].shape;
        for (const numa_shape& m : cluster_->shapes()[machine.index()].numa)
          numa += (m.devices & devices_on(set, kinds_[kind])) != 0 ? 1U : 0U;
        sets_[sets_count_++] = {set, static_cast<std::uint32_t>(tasks), numa};
      }
      if (s == 0) break;
    }
  sets_[sets_count_++] = {0, 0, 64, gang_->rails == rail_rule::same};
}

template <class Filler>
BERTH_INLINE void fabric_search<Filler>::find_kinds(bool matter) {
  kinds_count_ = 0;
  for (std::size_t i = 0; matter && i < cluster_->classes().size(); ++i) {
    const class_id c{static_cast<std::uint16_t>(i)};
    if (devices_on(0xffffU, c) == 0) continue;
    std::size_t like = 0;
    while (like < kinds_count_ && !on_same_rails(kinds_[like], c)) ++like;
    if (like != kinds_count_) continue;
    if (kinds_count_ == most_kinds) {
      all_listed_ = false;
      break;
    }
    kinds_[kinds_count_++] = c;
  }
}

template <class Filler>
BERTH_INLINE bool fabric_search<Filler>::on_same_rails(class_id a, class_id b) const noexcept {
  for (unsigned r = 0; r < max_rails; ++r)
    if (cluster_->uplinks().on_rail(a, r) != cluster_->uplinks().on_rail(b, r)) return false;
  return true;
}

template <class Filler>
BERTH_INLINE std::uint32_t fabric_search<Filler>::free_rails() const noexcept {
  std::uint32_t out = 0;
  for (std::uint32_t n = 0; n < cluster_->node_count(); ++n) {
    const node_state& s = cluster_->node(node_id{n});
    const device_mask open = s.free & cluster_->eligible(shape_->filter, node_id{n}).devices;
    for (unsigned r = 0; r < max_rails && open != 0; ++r)
      if ((cluster_->uplinks().on_rail(s.node_class, r) & open) != 0) out |= 1U << r;
  }
  return out;
}

template <class Filler>
BERTH_INLINE std::size_t fabric_search<Filler>::filled_by(std::uint32_t set, std::uint32_t tasks) const noexcept {
  std::size_t i = 0;
  while (i < kinds_count_ && !(shape_->capped(count_bits(devices_on(set, kinds_[i])) / shape_->devices) == tasks &&
                               is_least(set, kinds_[i], tasks * shape_->devices)))
    ++i;
  return i;
}

template <class Filler>
BERTH_INLINE bool fabric_search<Filler>::is_least(std::uint32_t set, class_id c, std::uint32_t devices) const noexcept {
  for (unsigned r = 0; r < max_rails; ++r) {
    const std::uint32_t others = set & ~(1U << r);  // 0 would stand for all devices
    if (others != set && others != 0 && count_bits(devices_on(others, c)) >= devices) return false;
  }
  return true;
}

template <class Filler>
BERTH_INLINE device_mask fabric_search<Filler>::pool(std::uint32_t n) const noexcept {
  const node_state& s = cluster_->node(node_id{n});
  const device_mask open = s.free & cluster_->eligible(shape_->filter, node_id{n}).devices;
  if (set_.rails == 0) return open;
  for (unsigned r = 0; r < max_rails; ++r)
    if ((set_.rails >> r & 1U) != 0 && (cluster_->uplinks().on_rail(s.node_class, r) & open) == 0) return 0;
  return open & devices_on(set_.rails, s.node_class);
}

template <class Filler>
BERTH_INLINE std::uint64_t fabric_search<Filler>::fits(std::uint32_t n) const noexcept {
  const node_state& s = cluster_->node(node_id{n});
  const eligibility may = cluster_->eligible(shape_->filter, node_id{n});
  if (!s.usable || !may.admits) return 0;
  const device_mask open = pool(n);
  std::uint64_t most =
      shape_->capped(shape_->devices == 0 ? live_shape::max_tasks_per_node : count_bits(open) / shape_->devices);
  const auto bound = [&](std::int64_t have, std::int64_t each) {
    if (each > 0 && static_cast<std::uint64_t>(have / each) < most) most = static_cast<std::uint64_t>(have / each);
  };
  bound(s.cpu.count(), shape_->cpu.count());
  bound(s.memory.count(), shape_->memory.count());
  if (shape_->bind.asks()) most = cluster_->inside().count(n, s, open, *shape_, static_cast<std::uint32_t>(most));
  return most;
}

template <class Filler>
BERTH_INLINE bool fabric_search<Filler>::can_send(std::uint32_t n) const noexcept {
  return shape_->devices == 0 || rate_ == 0 ||
         cluster_->uplinks().nic_share_of(cluster_->node(node_id{n}).node_class) >= rate_;
}

template <class Filler>
BERTH_INLINE void fabric_search<Filler>::prepare(const rail_set& set) {
  set_ = set;
  for (auto& r : room_) r = 0;
  alone_ = none;
  alone_most_ = 0;
  for (std::uint32_t n = 0; n < cluster_->node_count(); ++n) {
    const std::uint64_t here = fits(n);
    if (here != 0 && can_send(n) && !set.one_node_only) room_[cluster_->node(node_id{n}).leaf] += here;
    if (here > alone_most_) alone_ = n, alone_most_ = here;
  }
  for (unsigned l = 0; l <= leaf_; ++l)
    for (std::uint32_t d = 0; d < cluster_->tree().domain_count(level_id{static_cast<std::uint8_t>(l)}); ++d)
      limit_[at(l, d)] = carried(l, d);
  filler_->visit(cluster_->node_count());
}

template <class Filler>
BERTH_INLINE std::uint64_t fabric_search<Filler>::carried(unsigned level, std::uint32_t d) const noexcept {
  if (level == 0) return unlimited;
  if (cluster_->is_detached(level_id{static_cast<std::uint8_t>(level)}, domain_id{d})) return 0;
  if (rate_ == 0 || shape_->devices == 0) return unlimited;
  const uplink_state& u = cluster_->uplinks();
  if (u.planes(level) == 1 || set_.rails == 0) {
    std::uint64_t least = unlimited;
    for (unsigned p = 0; p < u.planes(level); ++p) {
      const auto devices = static_cast<std::uint64_t>(u.left(level, d, p) / rate_);
      if (devices < least) least = devices;
    }
    return least / shape_->devices;
  }
  // Every full node has `per_node` tasks and as many devices on one rail of the set as on another.
  const auto rails = static_cast<std::uint64_t>(count_bits(set_.rails));
  const std::uint64_t each = (std::uint64_t{set_.per_node} * shape_->devices + rails - 1) / rails;
  std::uint64_t least = unlimited;
  for (unsigned p = 0; p < u.planes(level); ++p) {
    if ((set_.rails >> p & 1U) == 0) continue;
    const auto nodes = static_cast<std::uint64_t>(u.left(level, d, p) / rate_) / each;
    if (nodes < least) least = nodes;
  }
  return least == unlimited ? unlimited : least * set_.per_node;
}

template <class Filler>
BERTH_INLINE void fabric_search<Filler>::weigh(std::uint64_t n) {
  tasks_ = n;
  for (unsigned l = leaf_ + 1; l-- > 0;)
    for (std::uint32_t d = 0; d < cluster_->tree().domain_count(level_id{static_cast<std::uint8_t>(l)}); ++d) {
      std::uint64_t sum = 0, most = 0;
      std::uint32_t major = none;
      if (l == leaf_) {
        sum = most = room_[d];
      } else {
        const id_range children = domain(l, d).children;
        for (std::uint32_t c = children.first; c < children.last; ++c) sum += light_[at(l + 1, c)];
        for (std::uint32_t c = children.first; c < children.last; ++c) {
          const std::uint64_t h = least(whole_[at(l + 1, c)], n), together = h + sum - light_[at(l + 1, c)];
          if (2 * h > n && n - h <= limit_[at(l + 1, c)] && together > most) most = together, major = c;
        }
        if (sum > most) most = sum, major = none;
      }
      light_[at(l, d)] = least(least(limit_[at(l, d)], n / 2), sum);
      whole_[at(l, d)] = most;
      major_[at(l, d)] = major;
    }
}

template <class Filler>
BERTH_INLINE bool fabric_search<Filler>::holds(std::uint64_t n) {
  if (alone_most_ >= n) return true;
  weigh(n);
  for (std::uint32_t d = 0; d < cluster_->tree().domain_count(level_id{static_cast<std::uint8_t>(widest_)}); ++d)
    if (whole_[at(widest_, d)] >= n) return true;
  return false;
}

template <class Filler>
BERTH_INLINE std::uint64_t fabric_search<Filler>::most_tasks(std::uint64_t wanted) {
  std::uint64_t best = 0;
  for (std::size_t s = 0; s < sets_count_ && best < wanted; ++s) {
    prepare(sets_[s]);
    std::uint64_t low = best, high = wanted + 1;  // low is held (or 0), high is not
    if (holds(wanted)) low = wanted, high = wanted;
    while (low + 1 < high) {
      const std::uint64_t mid = low + (high - low) / 2;
      if (holds(mid)) low = mid;
      else high = mid;
    }
    if (low > best) best = low;
  }
  return best;
}

template <class Filler>
BERTH_INLINE bool fabric_search<Filler>::choose(std::uint64_t n, candidate& c) {
  c.numa_nodes = set_.numa_nodes;
  c.rails = set_.rails;
  if (alone_most_ >= n) {
    std::uint64_t tightest = unlimited;
    unsigned free = 65;
    for (std::uint32_t m = 0; m < cluster_->node_count(); ++m) {
      const std::uint64_t here = fits(m);
      const unsigned open = count_bits(cluster_->node(node_id{m}).free);
      if (here < n || here > tightest || (here == tightest && open >= free)) continue;
      tightest = here;
      free = open;
      c.node = m;
    }
    c.level = leaf_;
    c.tasks = n;
    c.spare = tightest - n;
    return true;
  }
  weigh(n);
  for (unsigned l = leaf_ + 1; l-- > widest_;) {
    for (std::uint32_t d = 0; d < cluster_->tree().domain_count(level_id{static_cast<std::uint8_t>(l)}); ++d) {
      const std::uint64_t h = whole_[at(l, d)];
      if (h < n || (c.domain != none && h - n >= c.spare)) continue;
      c.domain = d;
      c.spare = h - n;
    }
    if (c.domain == none) continue;
    c.level = l;
    c.tasks = n;
    return true;
  }
  return false;
}

template <class Filler>
BERTH_INLINE void fabric_search<Filler>::fill(unsigned level, std::uint32_t d, std::uint64_t n) {
  if (level == leaf_) return fill_leaf(d, n);
  const id_range children = domain(level, d).children;
  // One child with most of the gang leaves the least to go between them.
  std::uint32_t major = 2 * n > tasks_ ? major_[at(level, d)] : none;
  if (major != none) {
    const std::uint64_t part = least(whole_[at(level + 1, major)], n);
    fill(level + 1, major, part);
    n -= part;
  }
  // The emptiest child first; the last part goes to the tightest that holds it.
  std::uint64_t below = unlimited;
  std::uint32_t done = none;  // children are passed in order of light_, then id
  while (n != 0) {
    std::uint32_t pick = none;
    std::uint64_t most = 0;
    for (std::uint32_t c = children.first; c < children.last; ++c) {
      const std::uint64_t v = light_[at(level + 1, c)];
      if (c == major || v == 0 || v > below || (v == below && done != none && c <= done)) continue;
      if (v > most) pick = c, most = v;
    }
    if (pick == none) return;
    below = most;
    done = pick;
    if (most >= n) {
      std::uint32_t tight = pick;
      for (std::uint32_t c = children.first; c < children.last; ++c) {
        const std::uint64_t v = light_[at(level + 1, c)];
        if (c != major && v >= n && v < light_[at(level + 1, tight)]) tight = c;
      }
      return fill(level + 1, tight, n);
    }
    fill(level + 1, pick, most);
    n -= most;
  }
}

template <class Filler>
BERTH_INLINE void fabric_search<Filler>::fill_leaf(std::uint32_t leaf, std::uint64_t n) {
  const id_range nodes = domain(leaf_, leaf).nodes;
  const std::size_t mark = filler_->task_count();
  while (n != 0) {
    std::uint32_t pick = none;
    std::uint64_t most = 0;
    for (std::uint32_t m = nodes.first; m < nodes.last; ++m) {
      if (!can_send(m) || is_used(m, mark)) continue;
      const std::uint64_t here = least(fits(m), n);
      if (pick != none && (here < most || (here == most && !is_tighter(m, pick)))) continue;
      if (here != 0) pick = m, most = here;
    }
    if (pick == none) return;
    fill_node(pick, most);
    n -= most;
  }
}

template <class Filler>
BERTH_INLINE bool fabric_search<Filler>::is_used(std::uint32_t node, std::size_t mark) const noexcept {
  for (std::size_t i = mark; i < filler_->task_count(); ++i)
    if (filler_->tasks()[i].node == node_id{node}) return true;
  return false;
}

template <class Filler>
BERTH_INLINE void fabric_search<Filler>::finish(decision& d) {
  filler_->score_tasks();
  d.result = verdict::placed;
  unsigned level = leaf_;
  while (level > 0 && filler_->score().domains_used[level] != 1) --level;
  d.level = level_id{static_cast<std::uint8_t>(level)};
  d.domain = cluster_->tree().domain_of(filler_->tasks().front().node, d.level);
  if (gang_->rails == rail_rule::same || set_.rails != 0)
    for (const task_placement& t : filler_->tasks()) d.rails |= rails_of(*cluster_, t);
}

template <class Filler>
BERTH_INLINE void fabric_search<Filler>::refuse(decision& d) {
  const task_group& t = gang_->groups.front();
  d.result = verdict::not_now;
  const live_shape* s = cluster_->counters(t.shape);
  if (s == nullptr) {
    d.result = verdict::capacity_exhausted;
    return;
  }
  if (cluster_->potential(*s, widest_) < t.minimum) d.result = verdict::never;
  d.why = {gang_fault::none, 0, level_id{static_cast<std::uint8_t>(widest_)}, {}, s->largest(widest_), t.minimum, {}};
  if (d.why.holds != 0) d.why.nearest = domain_id{s->emptiest(0, 0, widest_, d.why.holds)};
  if (rate_ == 0 || d.result == verdict::never) return;
  const std::int64_t rate = std::exchange(rate_, 0);
  for (std::size_t i = 0; i < sets_count_ && !d.why.link; ++i) {
    prepare(sets_[i]);
    candidate c{i};
    if (!choose(t.minimum, c)) continue;
    if (c.node != none) fill_node(c.node, c.tasks);
    else fill(c.level, c.domain, c.tasks);
    filler_->sort_tasks();
    d.why.link = cluster_->lacking({filler_->tasks(), {}, bytes_per_second{rate}});
    filler_->truncate(0);
  }
  rate_ = rate;
}

// Not inline: most gangs never come here.

template <class Filler>
void fabric_search<Filler>::place(const gang& g, decision& d) {
  gang_ = &g;
  const task_group& t = g.groups.front();
  shape_ = &t.shape;
  rate_ = g.between_nodes.count();
  widest_ = g.where == locality::required ? static_cast<unsigned>(g.level.raw()) : 0U;
  leaf_ = cluster_->tree().leaf_level().raw();
  list_sets();
  const std::uint64_t n = most_tasks(t.wanted);
  if (n < t.minimum) {
    refuse(d);
    if (!all_listed_ && d.result == verdict::not_now) d.result = verdict::gave_up;
    return;
  }
  for (;;) {
    candidate best;
    for (std::size_t s = 0; s < sets_count_; ++s) {
      prepare(sets_[s]);
      candidate c{s};
      if (choose(n, c) && (best.tasks == 0 || c.is_better_than(best))) best = c;
    }
    if (best.tasks == 0) break;
    prepare(sets_[best.set]);
    weigh(best.tasks);
    if (best.node != none) fill_node(best.node, best.tasks);
    else fill(best.level, best.domain, best.tasks);
    filler_->sort_tasks();
    // Partly filled nodes of several leaves may use one rail more than their share.
    if (rate_ != 0) d.why.link = cluster_->lacking({filler_->tasks(), {}, g.between_nodes});
    if (!d.why.link) return finish(d);
    filler_->truncate(0);
    sets_[best.set] = sets_[--sets_count_];
  }
  d.result = verdict::gave_up;
}

}  // namespace berth::detail
