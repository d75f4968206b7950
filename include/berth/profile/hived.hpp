#pragma once
/// \file
/// HiveD: gangs on cells that tenants reserved, and on cells that no reservation needs at the moment. Source:
/// microsoft/hivedscheduler pkg/algorithm/hived_algorithm.go; peer_semantics items 23, 24 and 62.
///
/// | question                      | policy                                                                |
/// |-------------------------------|-----------------------------------------------------------------------|
/// | which of a tenant's nodes     | `pack_all_priorities`, one pass, smallest pods first                  |
/// | which nodes for spare gangs   | `pack_own_priority`: away from guaranteed ones                        |
/// | which devices of a node       | the lowest common cell, free ones before those of lower priorities    |
/// | which physical cells          | `binder<fewest_spare_users_first>`: buddies, then safe splits         |
/// | who gives way                 | gangs that allow it lose the reserved cell and run on as spare ones   |
/// | what bad nodes do             | `reservation_book`                                                    |
///
/// A placement that takes devices from running pods needs eviction, which is not done here.

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "berth/profile/hived_bad_cells.hpp"

namespace berth::hived {

struct request {
  std::string pod, tenant, gang, pinned;
  std::optional<std::string> model;
  int priority = 0;
  std::int64_t devices = 0;
  std::map<std::int64_t, std::int64_t> members;  ///< pods by devices of each
  bool lazy = false;                             ///< may lose its reserved cells and run on
  allowed_nodes allowed;
};

enum class outcome : std::uint8_t { bound, waits, invalid, needs_eviction };

struct answer {
  outcome what = outcome::waits;
  std::size_t node = 0;
  std::vector<std::int64_t> devices;
};

class scheduler {
 public:
  struct running {
    std::string pod;  ///< empty: not there yet
    cell_list physical, reserved;
  };
  struct gang {
    std::size_t tenant = 0;
    int priority = 0;
    bool lazy = false;
    bool guaranteed = false;                            ///< still has its reserved cells
    std::map<std::int64_t, std::vector<running>> pods;  ///< by devices of each
  };

  /// `models` lists the chains of each model in the order in which they are tried. Chains have their cells, tenants
  /// their reservations and pinned cells (`pinned` names the physical one of each), and every node is healthy. False
  /// where the reservations do not fit into the cells.
  [[nodiscard]] static std::optional<scheduler> start(
      reservation_book book, std::vector<std::pair<std::string, std::vector<std::size_t>>> models,
      const std::map<std::string, cell_id>& pinned, std::size_t nodes) {
    scheduler s{std::move(book), std::move(models)};
    if (!s.count_cells()) return {};
    for (std::size_t t = 0; t < s.book_.tenants.size(); ++t)
      for (auto& p : s.book_.tenants[t].pinned) {
        const auto physical = pinned.find(p.name);
        if (physical == pinned.end()) return {};
        s.book_.at(physical->second).pinned = true;
        s.book_.take(physical->second, t, false);
        s.book_.bind_up(physical->second, p.all.back()[0]);
        p.view.build(s.book_, p.all);
      }
    // Nodes are bad until they are first seen: that leaves the lists of unused cells in the order of a real start.
    for (std::size_t n = 0; n < nodes; ++n) s.book_.node_bad(n);
    for (std::size_t n = 0; n < nodes; ++n) s.book_.node_healthy(n);
    for (auto& t : s.book_.tenants)
      for (std::size_t c = 0; c < s.book_.chains.size(); ++c) t.views[c].build(s.book_, t.reserved[c].all);
    for (std::size_t c = 0; c < s.book_.chains.size(); ++c) s.spare_views_[c].build(s.book_, s.book_.chains[c].all);
    return s;
  }

  [[nodiscard]] const std::map<std::string, gang>& gangs() const { return gangs_; }
  [[nodiscard]] const reservation_book& book() const { return book_; }
  void node_bad(std::size_t n) { book_.node_bad(n); }
  void node_healthy(std::size_t n) { book_.node_healthy(n); }

  /// Decides about one pod and keeps the decision (unless `keep` is false). The first pod of a gang decides for all.
  answer schedule(const request& r, bool keep = true) {
    if (r.priority < spare_priority || r.priority > highest_priority || r.devices <= 0 || r.gang.empty() ||
        r.members.find(r.devices) == r.members.end())
      return {outcome::invalid, 0, {}};
    if (const auto g = gangs_.find(r.gang); g != gangs_.end()) return join(g->second, r, keep);
    std::size_t t = 0;
    while (t < book_.tenants.size() && book_.tenants[t].name != r.tenant) ++t;
    if (t == book_.tenants.size()) return {outcome::invalid, 0, {}};
    std::optional<placement> found;
    if (!r.pinned.empty()) {
      auto* p = book_.tenants[t].find(r.pinned);
      if (p == nullptr || r.priority == spare_priority) return {outcome::invalid, 0, {}};
      found = guaranteed(r, none, p->view);
    } else {
      bool has = false, known = !r.model;
      for (const auto& [model, chains] : models_) {
        if (r.model && model != *r.model) continue;
        known = true;
        for (const auto c : chains) {
          if (found || (r.priority > spare_priority && !reserved(t, c))) continue;
          has = true;
          found = r.priority > spare_priority ? guaranteed(r, c, book_.tenants[t].views[c]) : spare(r, c);
        }
      }
      if (!known || (r.model && !has)) return {outcome::invalid, 0, {}};
    }
    if (!found) return {};
    for (const auto& pod : found->physical)
      for (const auto c : pod)
        if (!book_.at(c).user.empty()) return {outcome::needs_eviction, 0, {}};
    std::size_t i = 0;
    while (found->sizes[i] != r.devices) ++i;
    const auto out = answer_of(found->physical[i]);
    if (keep) start_gang(r, t, *found);
    return out;
  }
  /// A pod ends; its gang ends with the last one. False where no such pod runs.
  bool remove(const std::string& pod) {
    for (auto g = gangs_.begin(); g != gangs_.end(); ++g) {
      bool found = false, left = false;
      for (auto& [size, pods] : g->second.pods)
        for (auto& p : pods) {
          if (p.pod == pod && !found) {
            found = true;
            p.pod.clear();
          }
          left = left || !p.pod.empty();
        }
      if (!found) continue;
      if (!left) {
        for (auto& [size, pods] : g->second.pods)
          for (auto& p : pods)
            for (const auto c : p.physical) {
              book_.at(c).user.clear();
              release(c, g->second.tenant);
            }
        gangs_.erase(g);
      }
      return true;
    }
    return false;
  }

 private:
  struct placement {
    std::vector<std::int64_t> sizes;
    std::vector<cell_list> physical;
    std::vector<std::size_t> root_levels;  ///< of each device, pod by pod; empty for spare gangs
  };

  scheduler(reservation_book book, std::vector<std::pair<std::string, std::vector<std::size_t>>> models)
      : book_{std::move(book)}, models_{std::move(models)} {
    spare_views_.resize(book_.chains.size());
  }

  /// Counts what is owed and left by level; false where more is reserved than there is.
  [[nodiscard]] bool count_cells() {
    for (std::size_t n = 0; n < book_.chains.size(); ++n) {
      auto& c = book_.chains[n];
      const auto levels = c.all.size();
      c.owed.assign(levels, 0);
      c.left.assign(levels, 0);
      c.doomed.assign(levels, 0);
      c.bad_unused.assign(levels, {});
      c.unused.assign(levels, {});
      c.unused.back() = c.all.back();
      for (const auto& t : book_.tenants)
        for (std::size_t l = 0; l < levels; ++l) c.owed[l] += t.reserved[n].owed[l];
      auto available = static_cast<std::int64_t>(c.all.back().size());
      for (auto l = levels; l-- > 0;) {
        c.left[l] = static_cast<std::int64_t>(c.all[l].size());
        available -= c.owed[l];
        if (available < 0) return false;
        available *= static_cast<std::int64_t>(book_.at(c.all[l][0]).children.size());
      }
    }
    return true;
  }
  [[nodiscard]] bool reserved(std::size_t t, std::size_t c) const {
    for (const auto& l : book_.tenants[t].reserved[c].roots)
      if (!l.empty()) return true;
    return false;
  }
  [[nodiscard]] static std::vector<std::int64_t> sizes_of(const request& r) {
    std::vector<std::int64_t> out;
    for (const auto& [devices, pods] : r.members) out.insert(out.end(), static_cast<std::size_t>(pods), devices);
    return out;
  }
  [[nodiscard]] answer answer_of(const cell_list& pod) const {
    answer out{outcome::bound, book_.at(pod[0]).nodes[0], {}};
    for (const auto c : pod) out.devices.push_back(book_.at(c).device);
    return out;
  }
  answer join(gang& g, const request& r, bool keep) {
    const auto pods = g.pods.find(r.devices);
    if (pods == g.pods.end()) return {outcome::invalid, 0, {}};
    for (auto& p : pods->second)
      if (p.pod.empty()) {
        if (keep) p.pod = r.pod;
        return answer_of(p.physical);
      }
    return {outcome::invalid, 0, {}};
  }
  [[nodiscard]] std::optional<placement> spare(const request& r, std::size_t c) {
    auto found = spare_views_[c].place(book_, sizes_of(r), spare_priority, r.allowed);
    if (!found) return {};
    return placement{std::move(found->sizes), std::move(found->pods), {}};
  }
  /// In the tenant's own cells first; gangs there that may lose their cells do so, unless no physical cells are found.
  [[nodiscard]] std::optional<placement> guaranteed(const request& r, std::size_t chain_number,
                                                    gang_view<pack_all_priorities>& view) {
    const auto wanted = view.place(book_, sizes_of(r), r.priority, r.allowed);
    if (!wanted) return {};
    std::vector<std::pair<std::string, std::map<std::int64_t, std::vector<running>>>> before;
    for (const auto& pod : wanted->pods)
      for (const auto v : pod) {
        const auto p = book_.at(v).bound;
        if (p == none || book_.at(p).user.empty()) continue;
        const auto g = gangs_.find(book_.at(p).user);
        if (g == gangs_.end() || !g->second.lazy || !g->second.guaranteed) continue;
        before.emplace_back(g->first, g->second.pods);
        lose_cells(g->second);
      }
    const auto bound = binder<>{book_, chain_number, r.allowed}.bind(*wanted);
    if (!bound) {
      for (auto& [name, pods] : before) regain_cells(gangs_.at(name), std::move(pods));
      return {};
    }
    placement out{wanted->sizes, {}, {}};
    for (const auto& pod : wanted->pods) {
      out.physical.emplace_back();
      for (const auto v : pod) {
        out.physical.back().push_back(bound->at(v));
        out.root_levels.push_back(book_.at(book_.at(v).root).level);
      }
    }
    return out;
  }
  void start_gang(const request& r, std::size_t t, const placement& found) {
    gang g;
    g.tenant = t;
    g.priority = r.priority;
    g.lazy = r.lazy;
    g.guaranteed = !found.root_levels.empty();
    bool lose = false, first = true;
    std::size_t k = 0;
    for (std::size_t i = 0; i < found.sizes.size(); ++i) {
      running pod;
      pod.physical = found.physical[i];
      for (const auto c : pod.physical) {
        cell_id v = none;
        if (g.guaranteed && !lose) {
          const auto chain_number = book_.at(c).chain;
          auto* pinned = r.pinned.empty() ? nullptr : book_.tenants[t].find(r.pinned);
          v = virtual_of(c, pinned != nullptr ? pinned->all : book_.tenants[t].reserved[chain_number].roots,
                         found.root_levels[k], r.priority);
          if (v == none) lose = true;
          else if (book_.is_unused(c) && book_.at(book_.at(v).root).priority > free_priority)
            lose_cells_in(book_.at(v).root);
        }
        ++k;
        pod.reserved.push_back(v);
        if (!allocate(c, v, r.priority, t)) lose = true;
        book_.at(c).user = r.gang;
      }
      if (first && found.sizes[i] == r.devices) {
        pod.pod = r.pod;
        first = false;
      }
      g.pods[found.sizes[i]].push_back(std::move(pod));
    }
    auto& kept = gangs_[r.gang] = std::move(g);
    if (lose && kept.guaranteed) lose_cells(kept);
  }
  /// The virtual cell of a physical one: the bound one, else the first free one, else the lowest below `priority`.
  [[nodiscard]] cell_id virtual_of(cell_id p, const cell_levels& roots, std::size_t root_level, int priority) const {
    if (book_.at(p).bound != none) return book_.at(p).bound;
    if (book_.at(p).level == root_level) return root_level < roots.size() ? lowest(roots[root_level], priority) : none;
    if (book_.at(p).parent == none) return none;
    const auto up = virtual_of(book_.at(p).parent, roots, root_level, priority);
    return up == none ? none : lowest(book_.at(up).children, priority);
  }
  [[nodiscard]] cell_id lowest(const cell_list& list, int priority) const {
    cell_id out = none;
    int least = highest_priority;
    for (const auto c : list) {
      const auto& x = book_.at(c);
      if (x.priority == free_priority) {
        if (x.bound == none) return c;
      } else if (x.priority < priority && x.priority < least) {
        least = x.priority;
        out = c;
      }
    }
    return out;
  }
  bool allocate(cell_id p, cell_id v, int priority, std::size_t t) {
    bool safe = true;
    if (v == none) priority = spare_priority;
    if (v != none) {
      book_.set_priority(v, priority);
      book_.count(v, priority, 1);
    }
    book_.set_priority(p, priority);
    book_.count(p, priority, 1);
    if (v != none) {
      const auto root = book_.at(v).root;
      const bool fresh = book_.at(root).bound == none;
      if (book_.at(p).bound == none) book_.bind_up(p, v);
      if (fresh && book_.at(root).bound != none) safe = book_.take(book_.at(root).bound, t, false);
    }
    return safe;
  }
  void release(cell_id p, std::size_t t) {
    // A free virtual cell is bound only because the device is bad: a spare gang ran on it.
    if (const auto v = book_.at(p).bound; v != none && book_.at(v).priority > free_priority) {
      book_.count(v, book_.at(v).priority, -1);
      book_.set_priority(v, free_priority);
      const auto root = book_.at(v).root;
      const auto physical = book_.at(root).bound;
      if (book_.at(p).healthy) book_.unbind_up(p);
      if (physical != none && !book_.at(physical).pinned && book_.at(root).priority <= spare_priority &&
          !holds(book_.tenants[t].reserved[book_.at(physical).chain].doomed[book_.at(physical).level], physical))
        book_.give_back(physical, t, false);
    }
    book_.count(p, book_.at(p).priority, -1);
    book_.set_priority(p, free_priority);
  }
  /// A gang loses its reserved cells and runs on as a spare one.
  void lose_cells(gang& g) {
    for (auto& [size, pods] : g.pods)
      for (auto& pod : pods)
        for (std::size_t i = 0; i < pod.physical.size(); ++i) {
          if (pod.reserved[i] == none) continue;
          release(pod.physical[i], g.tenant);
          allocate(pod.physical[i], none, spare_priority, g.tenant);
          pod.reserved[i] = none;
        }
    g.guaranteed = false;
  }
  void regain_cells(gang& g, std::map<std::int64_t, std::vector<running>> pods) {
    g.pods = std::move(pods);
    g.guaranteed = true;
    for (auto& [size, list] : g.pods)
      for (auto& pod : list)
        for (std::size_t i = 0; i < pod.physical.size(); ++i) {
          release(pod.physical[i], g.tenant);
          allocate(pod.physical[i], pod.reserved[i], g.priority, g.tenant);
        }
  }
  void lose_cells_in(cell_id v) {
    const auto p = book_.at(v).bound;
    if (book_.at(v).level == 0 && p != none && !book_.at(p).user.empty())
      if (const auto g = gangs_.find(book_.at(p).user); g != gangs_.end() && g->second.guaranteed)
        lose_cells(g->second);
    for (std::size_t i = 0; i < book_.at(v).children.size(); ++i) lose_cells_in(book_.at(v).children[i]);
  }

  reservation_book book_;
  std::vector<std::pair<std::string, std::vector<std::size_t>>> models_;
  std::vector<gang_view<pack_own_priority>> spare_views_;
  std::map<std::string, gang> gangs_;
};

}  // namespace berth::hived
