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
#include "berth/core/separate.hpp"
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

  void reserve(std::size_t groups);

  /// The latest refusal that speaks for `g`, or null. `gained` in the cluster's log is for the caller to check.
  [[nodiscard]] entry* find(const gang& g, const cluster& c) noexcept;
  /// Remembers that `g` was refused as things stand. Replaces what is known about the same gang, else the oldest entry.
  void remember(const gang& g, const cluster& c, const decision& answer) noexcept;
  /// Replaces the answer of an entry by one with the numbers of now.
  void update(entry& e, const cluster& c, const decision& answer) noexcept;
  /// Whether the entry is about this very request, not about a smaller one.
  [[nodiscard]] static bool is_same(const entry& e, const gang& g) noexcept;

 private:
  /// Whether `g` asks for at least as much as what was refused, in every component, under the same segments, level and
  /// filters.
  [[nodiscard]] static bool covers(const entry& e, const gang& g) noexcept;

  flat_array<entry> entries_;
  std::size_t next_ = 0;
};

}  // namespace berth::detail

#if BERTH_WITH_BODIES
#include "berth/solver/impl/refusal_memory.hpp"
#endif
