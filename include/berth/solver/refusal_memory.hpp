#pragma once
/// \file
/// Remembers gangs that did not fit, so that they, and gangs that ask for at least as much, are not searched for again
/// before something that could help has changed.
///
/// Only proven refusals (`not_now`, `never`) are remembered, none inside an open transaction. What could help is a
/// release, a repair or a new node; commits cannot. A gang that must stay inside one domain of a level is searched for
/// again in those domains only that gained something.
///
/// Cost        look-up O(entries), fast for the usual miss; no allocation after `reserve`.

#include <cstddef>
#include <cstdint>

#include "berth/cluster/cluster.hpp"
#include "berth/core/flat_array.hpp"
#include "berth/job/gang.hpp"
#include "berth/solver/decision.hpp"

namespace berth::detail {

class refusal_memory {
 public:
  static constexpr std::size_t capacity = 32;

  struct entry {
    flat_array<task_shape> shapes;       ///< per group
    flat_array<std::uint32_t> minimum;   ///< per group
    flat_array<std::uint32_t> per_unit;  ///< per group: tasks of a segment
    bool required = false;
    bool in_segments = false;
    level_id level{}, segment_level{};
    segment_layout layout = segment_layout::free;
    std::uint64_t mark = 0;  ///< position in the cluster's log of changes
    std::uint64_t structure = 0;
    std::uint64_t epoch = 0;  ///< of the cluster when `answer` was made: its numbers may be out of date later
    decision answer{};
    bool in_use = false;
  };

  void reserve(std::size_t groups) {
    entries_.resize(capacity);
    for (auto& e : entries_) {
      e.shapes.reserve(groups);
      e.minimum.reserve(groups);
      e.per_unit.reserve(groups);
    }
  }

  /// The latest refusal that speaks for `g`, or null. `gained` in the cluster's log is for the caller to check.
  [[nodiscard]] entry* find(const gang& g, const cluster& c) noexcept {
    entry* latest = nullptr;
    for (auto& e : entries_)
      if (e.in_use && e.structure == c.structure() && (latest == nullptr || e.mark > latest->mark) && covers(e, g))
        latest = &e;
    return latest;
  }
  /// Remembers that `g` was refused as things stand. Replaces what is known about the same gang, else the oldest entry.
  void remember(const gang& g, const cluster& c, const decision& answer) noexcept {
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
  /// Replaces the answer of an entry by one with the numbers of now.
  void update(entry& e, const cluster& c, const decision& answer) noexcept {
    e.answer = answer;
    e.epoch = c.epoch();
  }
  /// Whether the entry is about this very request, not about a smaller one.
  [[nodiscard]] static bool is_same(const entry& e, const gang& g) noexcept {
    if (!covers(e, g)) return false;
    for (std::size_t i = 0; i < g.groups.size(); ++i)
      if (!(e.shapes[i] == g.groups[i].shape) || e.minimum[i] != g.groups[i].minimum) return false;
    return true;
  }

 private:
  /// Whether `g` asks for at least as much as what was refused, in every component, under the same segments, level and
  /// filters.
  [[nodiscard]] static bool covers(const entry& e, const gang& g) noexcept {
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

  flat_array<entry> entries_;
  std::size_t next_ = 0;
};

}  // namespace berth::detail
