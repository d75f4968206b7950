#pragma once
/// \file
/// Bodies of `berth/solver/exhaustive.hpp`.

#include "berth/solver/exhaustive.hpp"

namespace berth::detail {

BERTH_INLINE exhaustive_search::exhaustive_search(const cluster& c, const gang& g, const exact_limits& limits)
    : cluster_{c},
      gang_{g},
      work_{limits.work},
      device_work_{limits.work < (std::uint64_t{1} << 57) ? limits.work * device_steps : limits.work},
      load_(c.node_count()),
      range_{0, c.node_count()},
      cut_off_(c.node_count(), false) {
  for (const task_group& t : g.groups) answer_.shapes.push_back(t.shape);
  counts_.resize(g.groups.size());
}

BERTH_INLINE exact_answer exhaustive_search::solve() {
  answer_.result = exact_verdict::impossible;
  choose_counts(0);
  if (work_ == 0) answer_.result = exact_verdict::too_large;
  return std::move(answer_);
}

BERTH_INLINE void exhaustive_search::choose_counts(std::size_t group) {
  if (group == gang_.groups.size()) return place(0, counts_[0], range_.first);
  for (std::uint32_t n = gang_.groups[group].minimum; n <= gang_.groups[group].wanted; ++n) {
    counts_[group] = n;
    choose_counts(group + 1);
  }
}

BERTH_INLINE void exhaustive_search::place(std::size_t group, std::uint32_t left, std::uint32_t from) {
  if (work_ == 0) return;
  --work_;
  if (left == 0) {
    if (group + 1 == gang_.groups.size()) return judge();
    return place(group + 1, counts_[group + 1], range_.first);
  }
  for (std::uint32_t n = from; n < range_.last; ++n) {
    if (cut_off_[n] || !cluster_.is_member(node_id{n})) continue;
    load_[n].push_back(group);
    if (give_devices(n)) {
      nodes_.push_back({group, n});
      place(group, left - 1, n);
      nodes_.pop_back();
    }
    load_[n].pop_back();
  }
}

BERTH_INLINE bool exhaustive_search::give_devices(std::uint32_t n) {
  const node_state& s = cluster_.node(node_id{n});
  std::int64_t cpu = s.cpu.count(), memory = s.memory.count();
  for (const std::size_t i : load_[n]) {
    cpu -= gang_.groups[i].shape.cpu.count();
    memory -= gang_.groups[i].shape.memory.count();
  }
  masks_.assign(load_[n].size(), 0);
  places_.assign(load_[n].size(), {});
  return cpu >= 0 && memory >= 0 && give_task(n, 0, part_ledger{cluster_, node_id{n}});
}

BERTH_INLINE bool exhaustive_search::give_task(std::uint32_t n, std::size_t task, const part_ledger& now) {
  if (task == load_[n].size()) return true;
  const task_shape& shape = gang_.groups[load_[n][task]].shape;
  if (!labels_satisfy(cluster_.filter(shape.filter), cluster_.class_of(node_id{n}).labels)) return false;
  if (!cluster_.node(node_id{n}).usable) return false;
  const unsigned count = shape.part.asks() ? shape.part.count() : shape.devices;
  return give_device(n, task, count, 0, now);
}

BERTH_INLINE bool exhaustive_search::give_device(std::uint32_t n, std::size_t task, unsigned left, unsigned from,
                                                 const part_ledger& now) {
  if (device_work_ == 0 || --device_work_ == 0) {
    work_ = 0;
    return false;
  }
  if (left == 0) return give_task(n, task + 1, now);
  const task_shape& shape = gang_.groups[load_[n][task]].shape;
  const device_mask may = models_for(cluster_, shape, node_id{n});
  for (unsigned d = from; d < now.devices(); ++d) {
    if ((may & bit(d)) == 0) continue;
    if (shape.part.is_mig()) {
      if (now.geometry(d) == nullptr) continue;
      const auto& want = cluster_.inside().parts().request(shape.part.request()).products[now.product(d)];
      if (want.count != 0 && give_instance(n, task, left, d, 0, now)) return true;
      continue;
    }
    if (shape.part.is_nested()) {
      if (join_instance(n, task, d, now)) return true;
      continue;
    }
    part_ledger then = now;
    if (!(shape.part.asks() ? then.put_share(d, shape.part) : then.take_whole(d))) continue;
    masks_[task] |= bit(d);
    if (give_device(n, task, left - 1, d + 1, then)) return true;
    masks_[task] &= ~bit(d);
  }
  return false;
}

BERTH_INLINE bool exhaustive_search::join_instance(std::uint32_t n, std::size_t task, unsigned d,
                                                   const part_ledger& now) {
  if (now.geometry(d) == nullptr) return false;
  const part_need need = gang_.groups[load_[n][task]].shape.part;
  const auto& want = cluster_.inside().parts().request(need.request()).products[now.product(d)];
  const mig_geometry& g = *now.geometry(d);
  for (unsigned p = 0; p < g.placements; ++p) {
    part_ledger then = now;
    if (want.count != 1 || g.placement[p].profile != want.profiles[0] || !then.join_instance(d, p, need)) continue;
    places_[task].push(d, p);
    masks_[task] = bit(d);
    if (give_device(n, task, 0, 0, then)) return true;
    masks_[task] = 0;
    --places_[task].count;
  }
  return false;
}

BERTH_INLINE bool exhaustive_search::give_instance(std::uint32_t n, std::size_t task, unsigned left, unsigned d,
                                                   unsigned i, const part_ledger& now) {
  const part_need need = gang_.groups[load_[n][task]].shape.part;
  const auto& want = cluster_.inside().parts().request(need.request()).products[now.product(d)];
  if (i == want.count) {
    const device_mask before = masks_[task];
    masks_[task] |= bit(d);
    if (give_device(n, task, left - 1, need.apart() ? d + 1 : d, now)) return true;
    masks_[task] = before;
    return false;
  }
  const mig_geometry& g = *now.geometry(d);
  for (unsigned p = 0; p < g.placements; ++p) {
    part_ledger then = now;
    if (g.placement[p].profile != want.profiles[i] || !then.put_instance(d, p)) continue;
    places_[task].push(d, p);
    if (give_instance(n, task, left, d, i + 1, then)) return true;
    --places_[task].count;
  }
  return false;
}

BERTH_INLINE void exhaustive_search::judge() {
  std::vector<task_placement> tasks;
  std::vector<part_places> parts(nodes_.size());
  for (const auto& [group, n] : nodes_) tasks.push_back({0, node_id{n}, static_cast<std::uint32_t>(group)});
  for (std::uint32_t n = range_.first; n < range_.last; ++n) {
    if (load_[n].empty()) continue;
    static_cast<void>(give_devices(n));  // succeeds: it did when the last task of the node was put there
    std::vector<bool> given(load_[n].size(), false);
    for (std::size_t at = 0; at < tasks.size(); ++at) {
      task_placement& t = tasks[at];
      if (t.node != node_id{n}) continue;
      for (std::size_t k = 0; k < given.size(); ++k)
        if (!given[k] && load_[n][k] == t.group) {
          t.devices = masks_[k];
          parts[at] = places_[k];
          given[k] = true;
          break;
        }
    }
  }
  const placement p{tasks, answer_.shapes, {}, parts};
  if (!validate(cluster_, gang_, p)) return;
  const placement_score s = score_of(cluster_, gang_, p);
  if (answer_.result == exact_verdict::found && !(s < answer_.score)) return;
  if (gang_.segments && gang_.segments->layout == segment_layout::consolidate && !consolidated(p)) return;
  answer_.result = exact_verdict::found;
  answer_.score = s;
  answer_.tasks = std::move(tasks);
  answer_.parts = std::move(parts);
}

BERTH_INLINE bool exhaustive_search::consolidated(const placement& p) {
  const level_id level = gang_.segments->level;
  const std::uint32_t size = gang_.groups[0].wanted / gang_.segments->count;
  std::vector<std::uint32_t> tasks(cluster_.tree().domain_count(level), 0);
  std::size_t used = 0, loose = 0;
  for (const task_placement& t : p.tasks)
    if (t.group == 0 && tasks[cluster_.tree().domain_of(t.node, level).index()]++ == 0) ++used;
  if (used <= 1) return true;
  for (std::uint32_t d = 0; d < tasks.size(); ++d) {
    if (tasks[d] == 0 || tasks[d] / size == gang_.segments->count) continue;
    // The same gang with one segment more, in this domain alone and joined to the others by healthy links.
    gang more = gang_;
    more.segments.reset();
    more.between_nodes = {};  // what a domain could hold is a question of its nodes
    more.where = locality::required;
    more.level = level;
    for (task_group& t : more.groups) {
      t.wanted = t.wanted / gang_.segments->count * (tasks[d] / size + 1);
      t.minimum = t.wanted;
    }
    exhaustive_search alone{cluster_, more, {0, work_}};
    alone.range_ = cluster_.tree().at(level, domain_id{d}).nodes;
    for (std::uint32_t n = alone.range_.first; n < alone.range_.last; ++n)
      for (std::uint8_t l = static_cast<std::uint8_t>(level.raw() + 1); l < cluster_.tree().level_count(); ++l)
        if (cluster_.is_detached(level_id{l}, cluster_.tree().domain_of(node_id{n}, level_id{l})))
          alone.cut_off_[n] = true;
    const exact_answer a = alone.solve();
    if (a.result == exact_verdict::too_large) work_ = 0;
    if (a.result == exact_verdict::found) ++loose;
  }
  return loose <= 1;
}

}  // namespace berth::detail

namespace berth {

BERTH_INLINE exact_answer solve_exhaustively(const cluster& c, const gang& g, const exact_limits& limits) {
  if (!detail::is_consistent(c, g)) return {exact_verdict::invalid, {}, {}, {}};
  for (const task_group& t : g.groups)
    if (t.shape.bind.asks()) return {exact_verdict::too_large, {}, {}, {}};
  exact_answer a = detail::exhaustive_search{c, g, limits}.solve();
  bool which = false;  // whether a task might have had other devices of a node
  if (g.rails == rail_rule::same || (g.between_nodes.count() != 0 && c.uplinks().has_planes()))
    for (const task_group& t : g.groups)
      for (const node_state& n : c.nodes())
        which = which || (t.shape.devices != 0 && count_bits(n.installed) > t.shape.devices);
  if (which && a.result == exact_verdict::impossible) a.result = exact_verdict::too_large;
  return a;
}

}  // namespace berth
