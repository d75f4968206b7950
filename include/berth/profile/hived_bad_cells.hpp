#pragma once
/// \file
/// HiveD's reservations on cells that fail: what tenants reserved and do not use is counted against the healthy cells
/// that are left, and bound to bad ones ("doomed") while there are too few. Source: microsoft/hivedscheduler
/// pkg/algorithm/hived_algorithm.go (allocatePreassignedCell, setBadCell and their opposites).

#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "berth/profile/hived_cells.hpp"
#include "berth/profile/hived_placement.hpp"

namespace berth::hived {

/// A tenant and its cells.
struct tenant {
  struct pinned_cell {
    std::string name;
    cell_levels all;
    gang_view<pack_all_priorities> view;
  };
  std::string name;
  std::vector<reservation> reserved;                  ///< by chain
  std::vector<gang_view<pack_all_priorities>> views;  ///< by chain
  std::vector<pinned_cell> pinned;

  [[nodiscard]] pinned_cell* find(const std::string& id) {
    for (auto& p : pinned)
      if (p.name == id) return &p;
    return nullptr;
  }
};

/// Gives reserved cells physical ones and takes them back, and keeps count.
class reservation_book : public cell_book {
 public:
  std::vector<tenant> tenants;

  /// Takes physical cell `c` for one that `t` reserved. False where other reservations can then no longer be met.
  bool take(cell_id c, std::size_t t, bool doomed) {
    const auto n = at(c).chain, level = at(c).level;
    bool safe = true;
    --tenants[t].reserved[n].owed[level];
    --chains[n].owed[level];
    --chains[n].left[level];
    const auto top = split_for(c);
    auto up = at(c).parent;
    for (auto l = level + 1; l <= top && up != none; ++l, up = at(up).parent) {
      safe = lessen(n, l, 1) && safe;
      if (at(up).healthy) bind_doomed(n, l);
      else take_out(chains[n].bad_unused[l], up);
    }
    if (!at(c).healthy) {
      take_bad(c);
      if (!doomed) unbind_doomed(n, level);
    } else {
      bind_doomed(n, level);
    }
    auto parts = static_cast<std::int64_t>(at(c).children.size());
    for (auto l = level; l-- > 0;) {
      safe = lessen(n, l, parts) && safe;
      if (!doomed) bind_doomed(n, l);
      parts *= static_cast<std::int64_t>(at(chains[n].all[l][0]).children.size());
    }
    return safe;
  }
  void give_back(cell_id c, std::size_t t, bool doomed) {
    const auto n = at(c).chain, level = at(c).level;
    ++tenants[t].reserved[n].owed[level];
    ++chains[n].owed[level];
    ++chains[n].left[level];
    const auto top = merge(c);
    auto up = at(c).parent;
    for (auto l = level + 1; l <= top && up != none; ++l, up = at(up).parent) {
      ++chains[n].left[l];
      if (at(up).healthy) unbind_doomed(n, l);
      else chains[n].bad_unused[l].push_back(up);
    }
    if (!at(c).healthy) {
      give_back_bad(c);
      if (!doomed) bind_doomed(n, level);
    } else {
      unbind_doomed(n, level);
    }
    auto parts = static_cast<std::int64_t>(at(c).children.size());
    for (auto l = level; l-- > 0;) {
      chains[n].left[l] += parts;
      if (!doomed) unbind_doomed(n, l);
      parts *= static_cast<std::int64_t>(at(chains[n].all[l][0]).children.size());
    }
  }
  void node_bad(std::size_t node) {
    for (const auto c : devices_of(node)) set_bad(c);
  }
  void node_healthy(std::size_t node) {
    for (const auto c : devices_of(node)) set_healthy(c);
  }

 private:
  [[nodiscard]] cell_list devices_of(std::size_t node) const {
    cell_list out;
    for (const auto& ch : chains)
      for (const auto c : ch.all[0])
        if (at(c).nodes[0] == node) out.push_back(c);
    return out;
  }
  bool lessen(std::size_t n, std::size_t level, std::int64_t by) {
    chains[n].left[level] -= by;
    return chains[n].left[level] >= chains[n].owed[level];
  }
  [[nodiscard]] std::int64_t healthy_left(std::size_t n, std::size_t level) const {
    return chains[n].left[level] - static_cast<std::int64_t>(chains[n].bad_unused[level].size());
  }
  void bind_doomed(std::size_t n, std::size_t level) {
    for (std::size_t t = 0; t < tenants.size(); ++t) {
      if (!tenants[t].reserved[n].any) continue;
      while (tenants[t].reserved[n].owed[level] > healthy_left(n, level)) {
        const auto v = first_unbound(tenants[t].reserved[n].roots[level]);
        if (v == none || chains[n].bad_unused[level].empty()) break;
        const auto p = chains[n].bad_unused[level][0];
        bind(p, v);
        tenants[t].reserved[n].doomed[level].push_back(p);
        ++chains[n].doomed[level];
        take(p, t, true);
      }
    }
  }
  void unbind_doomed(std::size_t n, std::size_t level) {
    for (std::size_t t = 0; t < tenants.size(); ++t) {
      if (!tenants[t].reserved[n].any) continue;
      auto& doomed = tenants[t].reserved[n].doomed[level];
      while (!doomed.empty() && tenants[t].reserved[n].owed[level] < healthy_left(n, level)) {
        const auto p = doomed[0];
        unbind(p);
        take_out(doomed, p);
        --chains[n].doomed[level];
        give_back(p, t, true);
      }
    }
  }
  /// Bad cells inside a cell that is taken show up in the tenant's cells.
  void take_bad(cell_id c) {
    take_out(chains[at(c).chain].bad_unused[at(c).level], c);
    bind_bad(c);
    for (const auto child : at(c).children)
      if (!at(child).healthy) take_bad(child);
  }
  void bind_bad(cell_id c) {
    const auto up = at(c).parent;
    if (at(c).bound != none || up == none || at(up).bound == none) return;
    if (const auto v = first_unbound(at(at(up).bound).children); v != none) bind(c, v);
  }
  void give_back_bad(cell_id c) {
    chains[at(c).chain].bad_unused[at(c).level].push_back(c);
    unbind(c);
    for (const auto child : at(c).children)
      if (!at(child).healthy) give_back_bad(child);
  }
  /// A cell is bad as soon as a part of it is.
  void set_bad(cell_id c) {
    if (!at(c).healthy) return;
    at(c).healthy = false;
    if (at(c).parent != none) set_bad(at(c).parent);
    const auto n = at(c).chain, level = at(c).level;
    if (is_unused(c)) {
      chains[n].bad_unused[level].push_back(c);
      if (chains[n].owed[level] > healthy_left(n, level)) bind_doomed(n, level);
    } else if (!at(c).split) {
      bind_bad(c);
    }
  }
  void set_healthy(cell_id c) {
    while (c != none && !at(c).healthy) {
      at(c).healthy = true;
      const auto n = at(c).chain, level = at(c).level;
      const auto v = at(c).bound;
      if (is_unused(c)) {
        take_out(chains[n].bad_unused[level], c);
        unbind_doomed(n, level);
      } else if (v != none && !at(c).pinned && at(c).priority <= spare_priority) {
        // Bound only because it was bad.
        unbind(c);
        if (at(v).parent == none) {
          take_out(tenants[at(v).tenant].reserved[n].doomed[level], c);
          --chains[n].doomed[level];
          give_back(c, at(v).tenant, true);
        }
      }
      c = at(c).parent;
      if (c == none) return;
      for (const auto child : at(c).children)
        if (!at(child).healthy) return;
    }
  }
};

}  // namespace berth::hived
