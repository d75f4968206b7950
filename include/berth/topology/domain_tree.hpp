#pragma once
/// \file
/// The domain tree, flattened: which nodes share a leaf, a spine, a pod. Every node lies in exactly one domain of every
/// level, so levels are arrays and a domain's nodes and children are contiguous ranges of ids.
///
/// Level 0 is always the whole cluster (one domain); the last level holds nodes directly. Where a site's tree is not
/// equally deep everywhere, or has several roots, the builder fills the gaps with *implicit* domains: they count as
/// domains but have no name of their own and do not show in paths. At levels that are no switches they are mostly one
/// node each (`domain_tree_builder.hpp`).
///
/// Cost        every query O(1) or O(levels).
/// Units       none; a domain is an id within its level.

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "berth/core/flat_array.hpp"
#include "berth/core/id.hpp"
#include "berth/core/separate.hpp"

namespace berth {

/// A half-open range of ids.
struct id_range {
  std::uint32_t first = 0;
  std::uint32_t last = 0;
  [[nodiscard]] constexpr std::uint32_t size() const noexcept { return last - first; }
  friend constexpr bool operator==(id_range, id_range) noexcept = default;
};

/// The flat tree. Made by `domain_tree_builder` or a preset; immutable afterwards.
class domain_tree {
 public:
  /// Most levels of a tree, "cluster" included.
  static constexpr std::size_t max_levels = 16;

  struct domain {
    std::uint32_t parent = 0;  ///< in the level above; 0 at level 0
    id_range children;         ///< domains of the next level; at the last level: nodes
    id_range nodes;            ///< all nodes below
    bool implicit = false;     ///< made by the builder to fill a gap
  };

  [[nodiscard]] std::uint8_t level_count() const noexcept { return static_cast<std::uint8_t>(levels_.size()); }
  /// The level that holds nodes directly.
  [[nodiscard]] level_id leaf_level() const noexcept { return level_id{static_cast<std::uint8_t>(levels_.size() - 1)}; }
  [[nodiscard]] const std::string& level_name(level_id l) const noexcept;
  /// The level of that name; "node" is not a level of the tree. O(levels).
  [[nodiscard]] std::optional<level_id> find_level(std::string_view name) const noexcept;
  [[nodiscard]] std::uint32_t domain_count(level_id l) const noexcept {
    return static_cast<std::uint32_t>(levels_[l.index()].domains.size());
  }
  [[nodiscard]] std::uint32_t node_count() const noexcept { return static_cast<std::uint32_t>(leaf_of_.size()); }
  [[nodiscard]] const domain& at(level_id l, domain_id d) const noexcept {
    return levels_[l.index()].domains[d.index()];
  }
  /// A domain's own name, "" for an implicit one.
  [[nodiscard]] const std::string& name(level_id l, domain_id d) const noexcept;
  /// The leaf-level domain of a node. O(1).
  [[nodiscard]] domain_id leaf_of(node_id n) const noexcept { return domain_id{leaf_of_[n.index()]}; }
  /// The domain of a node at any level. O(levels).
  [[nodiscard]] domain_id domain_of(node_id n, level_id l) const noexcept;
  /// Names of the domains around a node, outermost first, implicit ones left out.
  [[nodiscard]] std::vector<std::string> path(node_id n) const;

 private:
  friend class domain_tree_builder;
  struct level {
    std::string name;
    flat_array<domain> domains;
    std::vector<std::string> names;
  };
  flat_array<level> levels_;
  flat_array<std::uint32_t> leaf_of_;
};

}  // namespace berth

#if BERTH_WITH_BODIES
#include "berth/topology/impl/domain_tree.hpp"
#endif
