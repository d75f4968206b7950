#pragma once
/// \file
/// What a placer answers.

#include <cstdint>
#include <limits>
#include <optional>

#include "berth/cluster/placement.hpp"
#include "berth/cluster/uplinks.hpp"
#include "berth/core/id.hpp"
#include "berth/topology/domain_tree.hpp"

namespace berth {

/// The outcome of one request.
enum class verdict : std::uint8_t {
  placed,
  not_now,             ///< does not fit as things stand: wait, or make room
  never,               ///< would not fit on an empty, healthy cluster either: reject
  gave_up,             ///< the search for a mix of task shapes ran out of steps before it found or refuted one
  invalid,             ///< the gang contradicts itself, see `refusal`
  capacity_exhausted,  ///< more tasks, groups or shapes than the placer was reserved for
};

/// What is wrong with an invalid gang.
enum class gang_fault : std::uint8_t {
  none,
  no_groups,
  bad_shape,      ///< a task asks for nothing, for a negative amount, or names an unknown filter
  bad_count,      ///< wanted or minimum is 0, or minimum > wanted
  bad_level,      ///< no such level
  bad_bandwidth,  ///< a guaranteed rate is negative or absurdly large
  bad_segments,   ///< the segment count does not divide the group's counts
  /// MIG instances or shares beside a rate between nodes, a rail rule or a required NVLink domain: instances have
  /// neither NVLink nor P2P, and shares are promised no part of a link.
  parts_without_links,
};

/// How good a placement is: smaller is better, compared member by member, counts from the outermost level inwards.
struct placement_score {
  // Not constexpr, or compilers clear a whole `decision` at once with a string instruction, which starts slowly.
  placement_score() noexcept {
    for (auto& d : domains_used) d = 0;
  }
  std::uint32_t tasks_missing = 0;  ///< tasks wanted but not placed
  /// Domains used per level, [0] = cluster.
  std::uint32_t domains_used[domain_tree::max_levels];
  friend constexpr auto operator<=>(const placement_score&, const placement_score&) noexcept = default;
};

/// Why not, in numbers. For people, see `explain.hpp`.
struct refusal {
  gang_fault fault = gang_fault::none;
  std::uint32_t group = 0;             ///< the group that does not fit, or is at fault
  level_id level{};                    ///< the level that was asked to hold it
  domain_id nearest{};                 ///< the domain of that level with most room
  std::uint64_t holds = 0;             ///< tasks of the group that fit there now
  std::uint64_t needs = 0;             ///< tasks of the group needed there
  std::optional<lacking_link> link{};  ///< what lacks a guaranteed rate, where there is room for the tasks
};

/// The answer. `where` is a view into the placer, valid until its next call.
struct decision {
  verdict result = verdict::not_now;
  placement where{};
  level_id level{};    ///< the narrowest level at which one domain holds the whole gang
  domain_id domain{};  ///< that domain
  placement_score score{};
  std::uint32_t rails = 0;  ///< bit r: rail r is used, on every node alike; 0 where that was not asked for
  refusal why{};
  std::uint64_t steps = 0;  ///< nodes visited: read to place a task, or tried in a search
  [[nodiscard]] constexpr explicit operator bool() const noexcept { return result == verdict::placed; }
};

/// What a placer prepares for.
struct placer_limits {
  std::size_t tasks = 4096;             ///< tasks of one gang
  std::size_t groups = 64;              ///< groups of one gang
  std::uint64_t search_steps = 20'000;  ///< steps spent on mixed gangs before giving up
  std::size_t count_cells = 1U << 18;   ///< cells of tables for mixed gangs that ask something of the fabric or that the
                                        ///< search gave up, 12 bytes each: domains × product of (tasks + 1) over the groups
};

}  // namespace berth
