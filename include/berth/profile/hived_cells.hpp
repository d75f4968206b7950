#pragma once
/// \file
/// HiveD's cells: trees of physical cells that split and merge like buddies, and trees of virtual cells that tenants
/// reserved, bound to physical ones while they are in use. Source: microsoft/hivedscheduler pkg/algorithm/cell.go,
/// cell_allocation.go; peer_semantics item 23.

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

namespace berth::hived {

/// Priorities: what nobody uses, what uses cells that nobody's reservation needs now, and the highest one.
inline constexpr int free_priority = -2, spare_priority = -1, highest_priority = 1000;

using cell_id = std::size_t;
inline constexpr std::size_t none = static_cast<std::size_t>(-1);
using cell_list = std::vector<cell_id>;
using cell_levels = std::vector<cell_list>;  ///< by level, devices first

/// A physical or a virtual cell.
struct cell {
  std::size_t chain = 0;
  std::size_t level = 0;  ///< 0 is one device
  cell_id parent = none;
  cell_list children;
  std::int64_t devices = 1;
  bool node_or_above = false;
  int priority = free_priority;      ///< the highest of its devices
  std::map<int, std::int64_t> used;  ///< devices in use by priority
  cell_id bound = none;              ///< the virtual cell of a physical one, and the other way round

  cell_id root = none;             ///< virtual: the cell that the tenant reserved
  std::size_t tenant = none;       ///< virtual
  std::vector<std::size_t> nodes;  ///< physical: numbers of its nodes
  std::int64_t device = -1;        ///< physical, one device: its number on its node
  bool healthy = true;             ///< physical: no part of it is bad
  bool split = false;              ///< physical: its children are given out one by one
  bool pinned = false;             ///< physical: belongs to one tenant for ever
  std::string user;                ///< physical, one device: the gang that runs on it

  [[nodiscard]] std::int64_t used_at(int p) const {
    const auto i = used.find(p);
    return i == used.end() ? 0 : i->second;
  }
};

/// Takes a cell out of a list; the last one takes its place.
inline bool take_out(cell_list& list, cell_id c) {
  const auto i = std::find(list.begin(), list.end(), c);
  if (i == list.end()) return false;
  *i = list.back();
  list.pop_back();
  return true;
}
[[nodiscard]] inline bool holds(const cell_list& list, cell_id c) {
  return std::find(list.begin(), list.end(), c) != list.end();
}

/// Cells of one shape: equal trees.
struct chain {
  std::string name, model;
  cell_levels all, unused, bad_unused;
  std::vector<std::int64_t> left;    ///< cells that could still be given out, by level
  std::vector<std::int64_t> owed;    ///< cells that tenants reserved and do not use, by level
  std::vector<std::int64_t> doomed;  ///< of these, bound to bad cells as no healthy ones are left
  std::size_t node_level = 0;
};

/// A tenant's cells within one chain.
struct reservation {
  cell_levels all, roots, doomed;
  std::vector<std::int64_t> owed;
  bool any = false;
};

/// All cells and who is bound to whom. Every walk is bounded by the height of a tree or by the cells of a chain.
class cell_book {
 public:
  std::vector<cell> cells;
  std::vector<chain> chains;

  [[nodiscard]] cell& at(cell_id c) { return cells[c]; }
  [[nodiscard]] const cell& at(cell_id c) const { return cells[c]; }

  void bind(cell_id physical, cell_id virtual_cell) {
    at(physical).bound = virtual_cell;
    at(virtual_cell).bound = physical;
  }
  void unbind(cell_id physical) {
    if (at(physical).bound != none) at(at(physical).bound).bound = none;
    at(physical).bound = none;
  }
  /// Binds devices and whatever above them is not bound yet.
  void bind_up(cell_id p, cell_id v) {
    while (p != none && v != none && at(v).bound == none) {
      bind(p, v);
      p = at(p).parent;
      v = at(v).parent;
    }
  }
  /// Unbinds a device and whatever above it has no bound child left; pinned cells stay bound.
  void unbind_up(cell_id p) {
    cell_id v = at(p).bound;
    while (v != none && at(v).bound != none && !at(at(v).bound).pinned) {
      unbind(at(v).bound);
      v = at(v).parent;
      if (v == none) return;
      for (const auto child : at(v).children)
        if (at(child).bound != none) return;
    }
  }
  [[nodiscard]] cell_id first_unbound(const cell_list& list) const {
    for (const auto c : list)
      if (at(c).bound == none) return c;
    return none;
  }
  /// A cell's priority is the highest one of its children.
  void set_priority(cell_id c, int p) {
    while (true) {
      const int before = at(c).priority;
      at(c).priority = p;
      const auto up = at(c).parent;
      if (up == none) return;
      if (p < at(up).priority) {
        if (before != at(up).priority || p >= before) return;
        for (const auto child : at(up).children) p = std::max(p, at(child).priority);
      } else if (p == at(up).priority) {
        return;
      }
      c = up;
    }
  }
  void count(cell_id c, int p, std::int64_t by) {
    for (; c != none; c = at(c).parent)
      if ((at(c).used[p] += by) == 0) at(c).used.erase(p);
  }
  /// Whether it, or a cell above it, is in the list of unused cells.
  [[nodiscard]] bool is_unused(cell_id c) const {
    while (true) {
      if (at(c).bound != none || at(c).split) return false;
      const auto up = at(c).parent;
      if (up == none || at(up).split) return true;
      c = up;
    }
  }
  /// Takes a cell out of the unused ones and splits what holds it; the highest level that was split.
  std::size_t split_for(cell_id c) {
    auto& unused = chains[at(c).chain].unused;
    while (true) {
      const auto l = at(c).level;
      const auto up = at(c).parent;
      const bool last = up == none || at(up).split;
      if (!last) {
        unused[l].insert(unused[l].end(), at(up).children.begin(), at(up).children.end());
        at(up).split = true;
      }
      take_out(unused[l], c);
      if (last) return l;
      c = up;
    }
  }
  /// Puts a cell back and merges buddies as far as all of them are unused; the highest level that was merged.
  std::size_t merge(cell_id c) {
    auto& unused = chains[at(c).chain].unused;
    while (true) {
      const auto l = at(c).level;
      const auto up = at(c).parent;
      const bool all = up != none && std::all_of(at(up).children.begin(), at(up).children.end(),
                                                 [&](cell_id buddy) { return buddy == c || holds(unused[l], buddy); });
      if (!all) {
        unused[l].push_back(c);
        return l;
      }
      for (const auto buddy : at(up).children)
        if (buddy != c) take_out(unused[l], buddy);
      at(up).split = false;
      c = up;
    }
  }
  /// Adds a tree of virtual cells in the shape of a chain; `into` lists them by level.
  cell_id grow(std::size_t chain_number, std::size_t level, std::size_t tenant, cell_id root, cell_levels& into) {
    const auto& shape = at(chains[chain_number].all[level][0]);
    const auto id = cells.size();
    cell c;
    c.chain = chain_number;
    c.level = level;
    c.devices = shape.devices;
    c.node_or_above = shape.node_or_above;
    c.tenant = tenant;
    c.root = root == none ? id : root;
    const auto children = shape.children.size();
    cells.push_back(std::move(c));
    if (into.size() <= level) into.resize(level + 1);
    into[level].push_back(id);
    for (std::size_t i = 0; i < children; ++i) {
      const auto child = grow(chain_number, level - 1, tenant, at(id).root, into);
      at(child).parent = id;
      at(id).children.push_back(child);
    }
    return id;
  }
};

}  // namespace berth::hived
