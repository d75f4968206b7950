#pragma once
/// \file
/// Slurm's Fair Tree: every user's rank from shares and usage, level by level.

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "berth/core/separate.hpp"
#include "berth/quota/amount.hpp"

namespace berth {

/// An association: an account or a user in one. Parents stand before their children.
struct fair_tree_node {
  static constexpr std::uint32_t no_parent = ~std::uint32_t{0};
  static constexpr quota_amount as_parent = -1;  ///< "parent" in Slurm: a user ranks first in his account
  std::uint32_t parent = no_parent;
  quota_amount shares = 1;
  double usage = 0;  ///< decayed, of the whole subtree
  bool user = false;
};

/// The fair-share factor of every association: rank / users, 1 for who goes first; 0 for accounts.
///
/// The level factor of an association is S / U, its part of the shares of its siblings divided by its part of their
/// usage: infinite without usage, 0 without shares. Depth first, siblings by factor, largest first; every user met has
/// the number of users not yet met as his rank. Users that tie with a sibling share its rank; a user goes before an
/// account that ties with him, and the account's first user has his rank; children of tied accounts are merged and
/// sorted together. (The text of Slurm's page; `_count_tied_accounts` in a version that we read never merges.)
/// Source: peer_semantics item 45; SchedMD/slurm doc/html/fair_tree.shtml,
/// src/plugins/priority/multifactor/fair_tree.c. O(n log n), no recursion.
class fair_tree {
 public:
  [[nodiscard]] static std::vector<double> factors(std::span<const fair_tree_node> nodes);

  /// S / U of every association ("Level FS" of `sshare -l`).
  [[nodiscard]] static std::vector<double> level_factors(std::span<const fair_tree_node> nodes);

 private:
  struct frame {
    std::vector<std::uint32_t> rows;
    std::size_t next = 0;
    bool tied = false;
  };
};

}  // namespace berth

#if BERTH_WITH_BODIES
#include "berth/quota/order/impl/fair_tree.hpp"
#endif
