#pragma once
/// \file
/// The tables of all domains for one total of a gang: a part of `count_search`.

#include <cstddef>
#include <cstdint>
#include <limits>

#include "berth/core/separate.hpp"
#include "berth/solver/count_nodes.hpp"
#include "berth/solver/decision.hpp"

namespace berth::detail {

/// Which vectors every domain can hold, and whether one at the top holds the total. No allocation after `reserve`.
class count_tree : protected count_nodes {
 protected:
  using count_nodes::count_nodes;
  static constexpr std::uint32_t none = std::numeric_limits<std::uint32_t>::max();
  static constexpr std::uint64_t unlimited = std::numeric_limits<std::uint64_t>::max() / 4;
  enum class outcome : std::uint8_t { yes, no, unknown };
  struct found {
    std::uint64_t cost = count_row::none;
    std::uint32_t domain = none;
    unsigned row = 0;
  };

  [[nodiscard]] const domain_tree::domain& domain(unsigned l, std::uint32_t d) const noexcept {
    return cluster_->tree().at(level_id{static_cast<std::uint8_t>(l)}, domain_id{d});
  }
  [[nodiscard]] std::uint32_t count_at(unsigned l) const noexcept {
    return cluster_->tree().domain_count(level_id{static_cast<std::uint8_t>(l)});
  }
  [[nodiscard]] bool detached(unsigned l, std::uint32_t d) const noexcept {
    return l != 0 && cluster_->is_detached(level_id{static_cast<std::uint8_t>(l)}, domain_id{d});
  }

  /// Allocates. Memory is touched when it is used.
  void reserve_tables(const placer_limits& limits);

  /// Takes a total and a set of rails. \param one_node  on one node alone \returns false where the tables do not fit
  [[nodiscard]] bool prepare(const std::uint32_t* total, std::uint32_t rails, bool one_node) noexcept;
  [[nodiscard]] std::uint64_t unit_cost(unsigned l) const noexcept {
    return std::uint64_t{1} << (digit_ * (leaf_ - l));
  }
  /// Devices whose traffic the uplinks of a domain carry.
  [[nodiscard]] std::uint64_t carried(unsigned l, std::uint32_t d) const noexcept;
  [[nodiscard]] count_row table(unsigned l, std::uint32_t d) noexcept {
    return {cells_.data() + (first_[l] + d) * std::size_t{vectors_} * rows_, vectors_, rows_};
  }
  [[nodiscard]] std::uint64_t devices_of(std::uint32_t v) const noexcept;

  /// The table of one domain from those of its children; `choices` per child, or null. \returns false out of steps
  [[nodiscard]] bool fill(unsigned l, std::uint32_t d, const count_row& row, std::uint32_t* choices) noexcept;
  [[nodiscard]] std::uint32_t list_child(unsigned l, std::uint32_t c) noexcept;
  /// Strikes out what a domain may not hold of a gang.
  void restrict(unsigned l, std::uint32_t d, const count_row& row) noexcept;
  /// Segments are whole in domains of their level.
  void keep_units(std::uint32_t d, const count_row& row) noexcept;
  [[nodiscard]] std::uint32_t unit_vector() const noexcept;
  /// How many segments the nodes of each domain of their level hold, for `consolidate`.
  [[nodiscard]] bool count_units() noexcept;
  /// Whether some domain of the top level holds the total, and which does at the least cost.
  [[nodiscard]] outcome look(found& best) noexcept;

  unsigned leaf_ = 0, top_ = 0, rows_ = 1, digit_ = 0;
  unsigned units_at_ = none;  ///< level of the segments; none: they have no say
  std::uint64_t step_limit_ = 0;
  std::uint32_t vectors_ = 0;
  std::size_t first_[domain_tree::max_levels] = {};  ///< by level: its first domain in the tables
  std::size_t domains_ = 0, room_ = 0;
  std::uint32_t widest_ = 0;              ///< the most children of a domain
  flat_array<std::uint64_t> cells_;       ///< costs, by domain, row and vector
  flat_array<std::uint32_t> choices_;     ///< of the domain at work, by child, row and vector
  flat_array<std::uint64_t> limit_;       ///< by domain: devices whose traffic its uplinks carry
  flat_array<std::uint32_t> most_units_;  ///< by domain: segments that its nodes hold
};

}  // namespace berth::detail

#if BERTH_WITH_BODIES
#include "berth/solver/impl/count_tree.hpp"
#endif
