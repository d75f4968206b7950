#pragma once
/// \file
/// Bodies of `berth/solver/refusal_memory.hpp`.

#include "berth/solver/refusal_memory.hpp"

namespace berth::detail {

BERTH_INLINE void refusal_memory::reserve(std::size_t groups) {
  entries_.resize(capacity);
  for (auto& e : entries_) {
    e.shapes.reserve(groups);
    e.minimum.reserve(groups);
    e.per_unit.reserve(groups);
  }
}

BERTH_INLINE refusal_memory::entry* refusal_memory::find(const gang& g, const cluster& c) noexcept {
  entry* latest = nullptr;
  for (auto& e : entries_)
    if (e.in_use && e.structure == c.structure() && (latest == nullptr || e.mark > latest->mark) && covers(e, g))
      latest = &e;
  return latest;
}

BERTH_INLINE void refusal_memory::remember(const gang& g, const cluster& c, const decision& answer) noexcept {
  entry* same = nullptr;
  for (auto& known : entries_)
    if (known.in_use && is_same(known, g)) same = &known;
  entry& e = same != nullptr ? *same : entries_[next_++ % entries_.size()];
  e.in_use = true;
  e.shapes.clear();
  e.minimum.clear();
  e.per_unit.clear();
  for (const task_group& t : g.groups) {
    e.shapes.push(t.shape);
    e.minimum.push(t.minimum);
    e.per_unit.push(g.segments ? t.wanted / g.segments->count : 0);
  }
  e.required = g.where == locality::required;
  e.level = e.required ? g.level : level_id{0};
  e.in_segments = g.segments.has_value();
  if (g.segments) e.segment_level = g.segments->level, e.layout = g.segments->layout;
  e.mark = c.mark_changes();
  e.structure = c.structure();
  update(e, c, answer);
}

BERTH_INLINE void refusal_memory::update(entry& e, const cluster& c, const decision& answer) noexcept {
  e.answer = answer;
  e.epoch = c.epoch();
}

BERTH_INLINE bool refusal_memory::is_same(const entry& e, const gang& g) noexcept {
  if (!covers(e, g)) return false;
  for (std::size_t i = 0; i < g.groups.size(); ++i)
    if (!(e.shapes[i] == g.groups[i].shape) || e.minimum[i] != g.groups[i].minimum) return false;
  return true;
}

BERTH_INLINE bool refusal_memory::covers(const entry& e, const gang& g) noexcept {
  const bool required = g.where == locality::required;
  if (e.shapes.size() != g.groups.size() || e.required != required || (required && e.level != g.level) ||
      e.in_segments != g.segments.has_value())
    return false;
  if (g.segments && (e.segment_level != g.segments->level || e.layout != g.segments->layout)) return false;
  for (std::size_t i = 0; i < g.groups.size(); ++i) {
    const task_shape &was = e.shapes[i], &is = g.groups[i].shape;
    // More of a task with needs may fit where less did not: three GPUs may span two NUMA nodes where two must not.
    if (was.asks_inside() && !(is == was)) return false;
    if (is.filter != was.filter || !was.shares_as_much_as(is) || is.devices < was.devices || is.cpu < was.cpu ||
        is.memory < was.memory || g.groups[i].minimum < e.minimum[i])
      return false;
    // Segments of another size may be packed where these could not.
    if (g.segments && g.groups[i].wanted / g.segments->count != e.per_unit[i]) return false;
  }
  return true;
}

}  // namespace berth::detail
