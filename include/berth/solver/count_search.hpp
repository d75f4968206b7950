#pragma once
/// \file
/// Gangs of several groups, or in segments, that ask something of the fabric, or that the search gave up: decided by
/// counts.
///
/// The former are first placed as if they asked nothing. Where that placement keeps what is asked, it is the answer.
/// Else every domain gets a table (`count_table.hpp`) of the vectors of counts that it can hold, from the leaves up,
/// and only those are kept that its uplinks carry: with N devices in the gang, a domain with n of them needs min(n, N -
/// n) × rate. What is left at the top is all there is, so this is complete:
///   * a gang is refused only where no placement exists, and gets as many tasks as any placement holds, in the fewest
///     domains (elastic gangs of up to 512 totals; beyond, one group after the other is raised as far as it goes);
///   * `gave_up` is left where the tables do not fit (`placer_limits::count_cells`), after `search_steps` × 1000 steps
///     each for the wanted counts, the minimum and what is between, and where the tables are too generous: several
///     groups that ask for the inside of nodes, and tasks that take parts of nodes where uplinks are by rail, as a set
///     of rails is assumed to be used evenly. Such placements are checked, and one that fails proves nothing.
/// That fewer tasks fit where more do holds as taking one away leaves min(n, N - n) as it is or less.
///
/// Rails. With `rail_rule::same` a node serves if it has free devices on every rail of a set; all sets are tried, up to
/// 256, those of few rails first. On a node with fewer tasks than the set has room for, fewer rails are used.
///
/// Cost        O(nodes × vectors × vectors per node + domains × vectors²) per total and set of rails. No allocation.

#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>

#include "berth/cluster/cluster.hpp"
#include "berth/core/flat_array.hpp"
#include "berth/core/separate.hpp"
#include "berth/job/gang.hpp"
#include "berth/solver/count_tree.hpp"
#include "berth/solver/decision.hpp"

namespace berth::detail {

template <class Filler>
class count_search : count_tree {
 public:
  static constexpr std::uint64_t most_totals = 512;
  static constexpr std::size_t most_sets = 256;

  count_search(cluster& c, Filler& f) : count_tree{c}, filler_{&f} {}

  /// Allocates. Memory is touched when it is used.
  void reserve(const placer_limits& limits);

  /// Takes over a gang that was placed, or given up, without regard to the fabric: keeps that, or decides. \pre
  /// check_gang found no fault; the filler's tasks are those of `d`, if it was placed; nothing is held
  void settle(const gang& g, decision& d) noexcept;

 private:
  /// A child of a domain on the way down, and what it gets.
  struct share {
    std::uint32_t child = 0, vector = 0, loose = 0;
  };
  // -- the placement made without regard to the fabric ---------------------------------------------------------------

  [[nodiscard]] bool keeps(std::optional<lacking_link>& lack, std::uint32_t& rails) const noexcept;

  // -- preparation ---------------------------------------------------------------------------------------------------

  /// \returns false where the gang is beyond what is decided here
  [[nodiscard]] bool begin() noexcept;

  void list_sets() noexcept;
  [[nodiscard]] device_mask devices_on(class_id c, std::uint32_t rails) const noexcept;
  /// Whether every group fits on the rails of a set, on some kind of node.
  [[nodiscard]] bool has_room(std::uint32_t rails) const noexcept;
  /// Whether tasks with devices take all of a node, which has as many on every rail: then rails share evenly.
  [[nodiscard]] bool fills_nodes(std::uint32_t rails) const noexcept;

  // -- how many tasks ------------------------------------------------------------------------------------------------

  [[nodiscard]] verdict decide() noexcept;
  /// The totals between minimum and wanted by their sums, the largest first. \returns whether one was placed
  [[nodiscard]] bool best_total() noexcept;
  /// Raises one group after the other as far as the fabric and the nodes go.
  void raise(std::uint32_t* total) noexcept;
  /// Places a total with the set of rails that does it at the least cost.
  [[nodiscard]] bool try_total(const std::uint32_t* total, bool& unsure) noexcept;
  void clear_refused() noexcept {
    for (auto& w : refused_) w = 0;
  }

  // -- placing -------------------------------------------------------------------------------------------------------

  /// Puts the total where the tables say. \returns whether nodes and links take it
  [[nodiscard]] bool place(const found& at) noexcept;
  /// \param base  where the shares of this domain's children begin in `shares_`
  [[nodiscard]] bool descend(unsigned l, std::uint32_t d, std::uint32_t v, unsigned row, std::size_t base) noexcept;
  /// Gives the tasks of a node their devices, and holds them.
  [[nodiscard]] bool serve(node_id n, std::uint32_t v) noexcept;

  // -- the answer ----------------------------------------------------------------------------------------------------

  void finish(decision& d) noexcept;
  /// The numbers of a refusal: room there is, so they are about the first group.
  void refuse(decision& d) noexcept;

  Filler* filler_;
  bool unit_only_ = false;    ///< one segment is all there may be
  bool exact_ = true;         ///< the tables promise nothing that the nodes do not keep
  flat_array<share> shares_;  ///< shares of children not yet served
  std::uint32_t one_node_set_ = none;
  std::uint32_t sets_[most_sets] = {};
  std::size_t sets_count_ = 0;
  std::uint64_t refused_[most_sets / 64] = {};  ///< sets whose placement did not hold
};

}  // namespace berth::detail

#if BERTH_WITH_BODIES
#include "berth/solver/impl/count_search.hpp"
#endif
