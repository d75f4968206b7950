#pragma once
/// \file
/// Builds the domain tree from what a site declares, or as regular as a preset wants it.
///
/// Where a site's tree is not equally deep everywhere, or has several roots, the builder fills the gaps with *implicit*
/// domains: what hangs on a spine directly is in one implicit leaf, as near to each other as under a switch. Racks,
/// blocks and NVLink domains join only what they are said to join, so of nodes that hang on a rack while others hang on
/// NVLink domains inside racks, each is in an implicit NVLink domain of its own (`is_switch_level` tells the two
/// apart). Only where such domains hold whole leaves does a leaf beside them stay whole, as one implicit domain: there
/// a filter has to tell the machines apart.
///
/// Cost        O(D log D + N) for D domains and N nodes.

#include <cstddef>
#include <cstdint>
#include <limits>
#include <string>
#include <vector>

#include "berth/core/expected.hpp"
#include "berth/core/id.hpp"
#include "berth/core/separate.hpp"
#include "berth/topology/domain_tree.hpp"

namespace berth {

/// A domain as a site declares it. Domains may come in any order; `parent` is an index into the same list.
struct domain_declaration {
  static constexpr std::uint32_t no_parent = std::numeric_limits<std::uint32_t>::max();
  std::string name{};
  std::uint32_t parent = no_parent;
  /// Level name; empty: derived from the height above the nodes ("leaf", "spine", "core", "tier4", …).
  std::string level{};
};

/// Why a declared tree is not one. `subject` is the index of the domain at fault, or of the node (see `what`).
struct tree_error {
  enum class kind : std::uint8_t {
    no_nodes,         ///< no node at all
    bad_parent,       ///< a parent index is out of range
    cycle,            ///< a domain is its own ancestor
    bad_leaf,         ///< a node's domain index is out of range
    level_order,      ///< level names contradict the nesting
    too_many_levels,  ///< more than 16 levels
  };
  kind what{};
  std::uint32_t subject = 0;
};

/// Builds a tree from declared domains.
class domain_tree_builder {
 public:
  static constexpr std::size_t max_levels = domain_tree::max_levels;

  /// Result: the tree, and for every declared node (by its index in `node_domain`) the id it got.
  struct result {
    domain_tree tree;
    std::vector<node_id> node_ids;
  };

  /// \param domains      declared domains, any order, any depth, several roots.
  /// \param node_domain  per node the index of its innermost domain.
  /// Nodes keep their order inside a domain, domains theirs under a parent, so neighbours in a file stay neighbours.
  /// Domains without any node below them are dropped. Cost O(D × levels + N).
  [[nodiscard]] static expected<result, tree_error> build(const std::vector<domain_declaration>& domains,
                                                          const std::vector<std::uint32_t>& node_domain);

  /// A regular tree: `fanout[i]` children per domain of level i, `nodes_per_leaf` nodes in each domain of the last
  /// level. `level_names[0]` names the root level; domain names are `<level name>-<index>`. O(N).
  /// \pre level_names.size() == fanout.size() + 1
  [[nodiscard]] static domain_tree regular(const std::vector<std::string>& level_names,
                                           const std::vector<std::uint32_t>& fanout, std::uint32_t nodes_per_leaf,
                                           bool with_names = true);
};

}  // namespace berth

#if BERTH_WITH_BODIES
#include "berth/topology/impl/domain_tree_builder.hpp"
#endif
