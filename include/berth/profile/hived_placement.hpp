#pragma once
/// \file
/// Where HiveD puts a gang: first onto nodes and devices of a view (a tenant's virtual cells, or the physical ones),
/// then virtual cells onto physical ones. Source: microsoft/hivedscheduler pkg/algorithm/topology_aware_scheduler.go,
/// cell_allocation.go; peer_semantics items 23 and 24.

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <vector>

#include "berth/profile/hived_cells.hpp"

namespace berth::hived {

/// A node as a gang of one priority sees it.
struct node_view {
  cell_id cell = none;  ///< a node, or a reserved cell smaller than one
  std::int64_t available = 0;
  std::int64_t used = 0;  ///< devices at the gang's priority
  std::int64_t used_above = 0, used_below = 0;
  bool healthy = true, allowed = true;
};

/// Packs whatever the priority: for a tenant's own cells, where a higher priority can take any.
struct pack_all_priorities {
  [[nodiscard]] static bool before(const node_view& a, const node_view& b) {
    return a.used + a.used_above + a.used_below > b.used + b.used_above + b.used_below;
  }
};
/// Packs with its like and keeps away from higher priorities: for gangs on cells that others reserved.
struct pack_own_priority {
  [[nodiscard]] static bool before(const node_view& a, const node_view& b) {
    return a.used != b.used ? a.used > b.used : a.used_above < b.used_above;
  }
};

/// Devices of each pod, pods by ascending size.
struct gang_cells {
  std::vector<std::int64_t> sizes;
  std::vector<cell_list> pods;
};

/// Which nodes may be used, by number; empty: all.
using allowed_nodes = std::vector<bool>;

/// Nodes of a view. Their order is kept from call to call, so that equals stay as they were.
template <class Order>
class gang_view {
 public:
  /// Nodes, and below them cells that are no part of one.
  void build(const cell_book& book, const cell_levels& all) {
    std::size_t top = 0;
    while (top < all.size() && (all[top].empty() || !book.at(all[top][0]).node_or_above)) ++top;
    for (std::size_t l = std::min(top + 1, all.size()); l-- > 0;)
      for (auto c : all[l]) {
        while (!book.at(c).node_or_above && book.at(c).parent != none) c = book.at(c).parent;
        if (std::none_of(nodes_.begin(), nodes_.end(), [&](const auto& n) { return n.cell == c; }))
          nodes_.push_back({c, 0, 0, 0, 0, true, true});
      }
  }
  /// Places pods of `sizes` (ascending): without taking anything from lower priorities, else with it. One pass over
  /// the nodes: a node that was passed is not tried again. O(nodes · log + devices).
  [[nodiscard]] std::optional<gang_cells> place(const cell_book& book, const std::vector<std::int64_t>& sizes,
                                                int priority, const allowed_nodes& allowed) {
    if (const auto picked = pick(book, sizes, spare_priority, allowed))
      return devices(book, sizes, *picked, spare_priority);
    if (priority > spare_priority)
      if (const auto picked = pick(book, sizes, priority, allowed)) return devices(book, sizes, *picked, priority);
    return {};
  }

 private:
  void update(const cell_book& book, int p, const allowed_nodes& allowed) {
    for (auto& n : nodes_) {
      const auto& c = book.at(n.cell);
      n.available = c.devices;
      n.used = n.used_above = n.used_below = 0;
      for (const auto& [priority, devices] : c.used) {
        (priority == p ? n.used : priority > p ? n.used_above : n.used_below) += devices;
        if (priority >= p) n.available -= devices;
      }
      const auto physical = c.tenant == none ? n.cell : c.bound;
      n.healthy = physical == none || book.at(physical).healthy;
      n.allowed =
          physical == none || allowed.empty() || book.at(physical).nodes.empty() || allowed[book.at(physical).nodes[0]];
    }
  }
  [[nodiscard]] std::optional<cell_list> pick(const cell_book& book, const std::vector<std::int64_t>& sizes, int p,
                                              const allowed_nodes& allowed) {
    update(book, p, allowed);
    std::stable_sort(nodes_.begin(), nodes_.end(), [](const node_view& a, const node_view& b) {
      if (a.healthy != b.healthy) return a.healthy;
      return a.allowed != b.allowed ? a.allowed : Order::before(a, b);
    });
    cell_list out;
    std::int64_t taken = 0;
    for (std::size_t i = 0; i < nodes_.size() && out.size() < sizes.size();) {
      const auto& n = nodes_[i];
      if (n.available - taken < sizes[out.size()]) {
        taken = 0;
        ++i;
        continue;
      }
      if (!n.healthy || !n.allowed) return {};
      taken += sizes[out.size()];
      out.push_back(n.cell);
    }
    if (out.size() < sizes.size()) return {};
    return out;
  }
  /// Of each pod, the devices with the lowest common cell; among these the first, free ones before taken ones.
  [[nodiscard]] std::optional<gang_cells> devices(const cell_book& book, const std::vector<std::int64_t>& sizes,
                                                  const cell_list& nodes, int p) const {
    gang_cells out{sizes, {}};
    std::map<cell_id, cell_list> available;
    for (std::size_t i = 0; i < sizes.size(); ++i) {
      auto [at, fresh] = available.try_emplace(nodes[i]);
      auto& list = at->second;
      if (fresh) {
        cell_list taken;
        collect(book, nodes[i], p, list, taken);
        list.insert(list.end(), taken.begin(), taken.end());
      }
      auto chosen = closest(book, list, static_cast<std::size_t>(sizes[i]));
      if (chosen.empty()) return {};
      list.erase(std::remove_if(list.begin(), list.end(), [&](cell_id c) { return holds(chosen, c); }), list.end());
      out.pods.push_back(std::move(chosen));
    }
    return out;
  }
  static void collect(const cell_book& book, cell_id c, int p, cell_list& free, cell_list& taken) {
    for (const auto child : book.at(c).children) collect(book, child, p, free, taken);
    if (book.at(c).level > 0) return;
    if (book.at(c).priority == free_priority) free.push_back(c);
    else if (book.at(c).priority < p) taken.push_back(c);
  }
  [[nodiscard]] static cell_list closest(const cell_book& book, const cell_list& list, std::size_t n) {
    cell_list above = list;
    while (true) {
      std::map<cell_id, std::size_t> count;
      std::size_t best = list.size();
      for (const auto c : above) ++count[c];
      for (std::size_t i = list.size(); i-- > 0;)
        if (count[above[i]] >= n) best = i;
      if (best < list.size()) {
        cell_list out;
        for (std::size_t i = best; i < list.size() && out.size() < n; ++i)
          if (above[i] == above[best]) out.push_back(list[i]);
        return out;
      }
      bool higher = false;
      for (auto& c : above)
        if (book.at(c).parent != none) {
          c = book.at(c).parent;
          higher = true;
        }
      if (!higher) return {};
    }
  }

  std::vector<node_view> nodes_;
};

/// A virtual cell to bind, with those below it.
struct binding_path {
  cell_id cell = none;
  std::vector<std::size_t> children;  ///< numbers of other paths
};

/// Physical cells with fewer devices in spare use first.
struct fewest_spare_users_first {
  [[nodiscard]] static bool before(const cell& a, const cell& b) {
    return a.used_at(spare_priority) < b.used_at(spare_priority);
  }
};

/// Finds physical cells for virtual ones: buddies of the smallest unused cells first, with backtracking where cells are
/// bad or on nodes that may not be used; then by splitting larger cells as far as no reservation needs them.
template <class Order = fewest_spare_users_first>
class binder {
 public:
  binder(const cell_book& book, std::size_t chain_number, const allowed_nodes& allowed)
      : book_{book}, allowed_{allowed} {
    if (chain_number == none) return;
    unused_ = book.chains[chain_number].unused;
    owed_ = book.chains[chain_number].owed;
  }
  /// The physical device of each virtual one; none where there are not enough usable cells. `budget` bounds the steps
  /// of the search.
  [[nodiscard]] std::optional<std::map<cell_id, cell_id>> bind(const gang_cells& wanted) {
    collect_paths(wanted);
    for (const auto r : roots_) {
      const auto level = book_.at(paths_[r].cell).level;
      std::size_t from = level;
      while (from < unused_.size() && unused_[from].empty()) ++from;
      if (from >= unused_.size()) return {};
      if (buddy(r, from)) --owed_[level];
      else if (!split_safely(r, level)) return {};
    }
    for (const auto& group : inner_) {
      const auto up = book_.at(book_.at(paths_[group[0]].cell).parent).bound;
      cell_list picked;
      if (!map(group, book_.at(up).children, picked)) return {};
    }
    return bound_;
  }

 private:
  void collect_paths(const gang_cells& wanted) {
    std::map<cell_id, std::size_t> known;
    for (const auto& pod : wanted.pods)
      for (const auto leaf : pod) {
        if (book_.at(leaf).bound != none) {
          bound_[leaf] = book_.at(leaf).bound;
          continue;
        }
        cell_list path;
        for (auto c = leaf; c != none && book_.at(c).bound == none && known.find(c) == known.end();
             c = book_.at(c).parent)
          path.push_back(c);
        for (std::size_t i = path.size(); i-- > 0;) {
          const auto n = paths_.size();
          const auto up = book_.at(path[i]).parent;
          paths_.push_back({path[i], {}});
          known[path[i]] = n;
          if (up == none) roots_.push_back(n);
          else if (book_.at(up).bound == none) paths_[known[up]].children.push_back(n);
          else add_inner(n, up);
        }
      }
  }
  void add_inner(std::size_t n, cell_id up) {
    for (auto& group : inner_)
      if (book_.at(paths_[group[0]].cell).parent == up) {
        group.push_back(n);
        return;
      }
    inner_.push_back({n});
  }
  [[nodiscard]] cell_list usable(const cell_list& from, std::size_t needed) const {
    cell_list out;
    for (const auto c : from) {
      const auto& x = book_.at(c);
      if (x.bound != none || (x.nodes.size() == 1 && !x.healthy)) continue;
      if (!allowed_.empty() && std::none_of(x.nodes.begin(), x.nodes.end(), [&](std::size_t n) { return allowed_[n]; }))
        continue;
      out.push_back(c);
    }
    if (out.size() < needed) return {};
    std::stable_sort(out.begin(), out.end(),
                     [&](cell_id a, cell_id b) { return Order::before(book_.at(a), book_.at(b)); });
    return out;
  }
  [[nodiscard]] bool map(const std::vector<std::size_t>& paths, const cell_list& from, cell_list& picked) {
    if (paths.empty()) return true;
    const auto candidates = usable(from, paths.size());
    if (candidates.empty()) return false;
    return map_rest(paths, candidates, picked);
  }
  /// Finds a cell for path number `picked.size()` and the ones behind it.
  [[nodiscard]] bool map_rest(const std::vector<std::size_t>& paths, const cell_list& candidates, cell_list& picked) {
    if (picked.size() == paths.size()) return true;
    const auto& path = paths_[paths[picked.size()]];
    for (const auto c : candidates) {
      if (holds(picked, c) || budget_ == 0) continue;
      --budget_;
      if (book_.at(c).level == 0) {
        bound_[path.cell] = c;
      } else {
        cell_list inner;
        if (!map(path.children, book_.at(c).children, inner)) continue;
      }
      picked.push_back(c);
      if (map_rest(paths, candidates, picked)) return true;
      picked.pop_back();
    }
    return false;
  }
  [[nodiscard]] bool map_root(std::size_t root, std::size_t level) {
    cell_list picked;
    if (!map({root}, unused_[level], picked)) return false;
    for (const auto c : picked) take_out(unused_[level], c);
    return true;
  }
  [[nodiscard]] bool buddy(std::size_t root, std::size_t level) {
    if (level == book_.at(paths_[root].cell).level) return map_root(root, level);
    for (const auto c : usable(unused_[level], 1)) {
      const auto& children = book_.at(c).children;
      unused_[level - 1].insert(unused_[level - 1].end(), children.begin(), children.end());
      if (buddy(root, level - 1)) {
        take_out(unused_[level], c);
        return true;
      }
      unused_[level - 1].clear();
    }
    return false;
  }
  [[nodiscard]] bool split_safely(std::size_t root, std::size_t level) {
    // Cells of each level that no reservation needs, from the top down.
    std::vector<std::int64_t> spare(unused_.size(), 0);
    cell_id sample = none;
    for (std::size_t l = unused_.size(); l-- > level + 1;) {
      spare[l] = static_cast<std::int64_t>(unused_[l].size()) - owed_[l];
      if (sample != none) spare[l] += spare[l + 1] * static_cast<std::int64_t>(book_.at(sample).children.size());
      if (sample != none) sample = book_.at(sample).children[0];
      else if (!unused_[l].empty()) sample = unused_[l][0];
      if (spare[l] < 0) return false;
    }
    for (std::size_t l = level + 1; l < unused_.size(); ++l) {
      auto n = std::min(static_cast<std::int64_t>(unused_[l].size()), spare[l]);
      if (n <= 0) continue;
      cell_list parts;
      for (; n > 0; --n) {
        parts.push_back(unused_[l][0]);
        take_out(unused_[l], unused_[l][0]);
      }
      for (auto down = l; down > level; --down) {
        cell_list smaller;
        for (const auto c : parts)
          smaller.insert(smaller.end(), book_.at(c).children.begin(), book_.at(c).children.end());
        parts = std::move(smaller);
      }
      unused_[level].insert(unused_[level].begin(), parts.begin(), parts.end());
      if (map_root(root, level)) return true;
    }
    return false;
  }

  const cell_book& book_;
  const allowed_nodes& allowed_;
  cell_levels unused_;
  std::vector<std::int64_t> owed_;
  std::vector<binding_path> paths_;
  std::vector<std::size_t> roots_;
  std::vector<std::vector<std::size_t>> inner_;
  std::map<cell_id, cell_id> bound_;
  std::size_t budget_ = 1'000'000;
};

}  // namespace berth::hived
