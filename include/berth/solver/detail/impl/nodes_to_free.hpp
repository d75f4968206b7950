#pragma once
/// \file
/// Bodies of `berth/solver/detail/nodes_to_free.hpp`.

#include <string>
#include <utility>

#include "berth/core/bits.hpp"
#include "berth/core/shell_sort.hpp"
#include "berth/solver/detail/nodes_to_free.hpp"

namespace berth::detail {

BERTH_INLINE node_state restored(const cluster& c, node_id n) {
  node_state s = c.node(n);
  if (!c.is_member(n)) return s;
  s.held = s.unhealthy = 0;
  s.tasks = 0;
  s.usable = true;
  s.cpu = c.class_of(n).cpu;
  s.memory = c.class_of(n).memory;
  s.refresh();
  return s;
}

BERTH_INLINE void restore(cluster& c, node_id n) {
  if (!c.is_member(n)) return;
  c.overwrite(n, restored(c, n));
  if (c.inside().is_any_on()) c.clear_inside(n);
}

/// Takes the taints off node `n`, for copies as above.
BERTH_INLINE void lift_taints(cluster& c, node_id n) {
  bool any = false;
  if (c.is_member(n))
    for (const std::string& l : c.class_of(n).labels) any = any || is_taint(l);
  if (!any) return;
  std::vector<std::string> labels;
  for (const std::string& l : c.class_of(n).labels)
    if (!is_taint(l)) labels.push_back(l);
  static_cast<void>(c.relabel(n, std::move(labels)));
}

BERTH_INLINE void restore_uplinks(cluster& c) {
  for (std::uint8_t l = 1; l < c.tree().level_count(); ++l)
    for (std::uint32_t d = 0; d < c.tree().domain_count(level_id{l}); ++d)
      static_cast<void>(c.set_uplink_health(level_id{l}, domain_id{d}, true));
}

BERTH_INLINE void restore_all(cluster& c) {
  for (std::uint32_t n = 0; n < c.node_count(); ++n) {
    restore(c, node_id{n});
    lift_taints(c, node_id{n});
  }
  restore_uplinks(c);
}

BERTH_INLINE std::vector<room_plan> plan_room(const cluster& c, const room_request& r) {
  std::vector<room_plan> plans;
  const live_shape* live = c.counters(r.shape);
  if (live == nullptr) return plans;
  const domain_tree& tree = c.tree();
  struct candidate {
    std::uint32_t node, gain, held;
  };
  struct step {  // `units` more in a domain, for the nodes [first, last) of `all`
    std::size_t cost, first, last;
    std::uint64_t units;
  };
  std::vector<candidate> all, mine;
  std::vector<step> steps;
  const auto reaches = [&](std::uint32_t n, level_id from) {
    for (unsigned l = from.raw() + 1U; c.any_detached() && l < tree.level_count(); ++l) {
      const level_id at{static_cast<std::uint8_t>(l)};
      if (c.is_detached(at, tree.domain_of(node_id{n}, at))) return false;
    }
    return true;
  };
  for (std::uint32_t o = 0; o < tree.domain_count(r.outer); ++o) {
    const id_range range = tree.at(r.outer, domain_id{o}).nodes;
    all.clear();
    steps.clear();
    std::uint64_t have = 0;
    for (std::uint32_t n = range.first; n < range.last;) {
      const domain_id inner = tree.domain_of(node_id{n}, r.inner);
      const id_range inside = tree.at(r.inner, inner).nodes;
      n = inside.last;
      bool attached = true;
      for (unsigned l = r.outer.raw() + 1U; c.any_detached() && l <= r.inner.raw(); ++l) {
        const level_id at{static_cast<std::uint8_t>(l)};
        if (c.is_detached(at, tree.domain_of(node_id{inside.first}, at))) attached = false;
      }
      if (!attached) continue;
      std::uint64_t capacity = live->capacity(r.inner.raw(), inner.raw());
      std::uint64_t units = capacity / r.size;
      if (r.one_per_domain && units > 1) units = 1;
      have += units;
      mine.clear();
      for (std::uint32_t k = inside.first; k < inside.last; ++k) {
        const std::uint32_t now = live->fits(k);
        std::uint32_t then = live->count(restored(c, node_id{k}));
        if (r.shape.part.asks())
          then = c.inside().potential(k, c.class_of(node_id{k}), c.node(node_id{k}).node_class,
                                      c.node(node_id{k}).installed, c.eligible(r.shape.filter, node_id{k}).devices,
                                      r.shape, then);
        if (then > now && reaches(k, r.inner)) mine.push_back({k, then - now, count_bits(c.node(node_id{k}).held)});
      }
      shell_sort(mine.data(), mine.size(), [](const candidate& a, const candidate& b) {
        return a.gain != b.gain ? a.gain > b.gain : a.held != b.held ? a.held < b.held : a.node < b.node;
      });
      std::size_t first = 0, key = 0;
      for (std::size_t i = 0; i < mine.size() && !(r.one_per_domain && units >= 1) && units < r.needs; ++i) {
        capacity += mine[i].gain;
        if (capacity / r.size <= units) continue;
        const std::uint64_t more = r.one_per_domain ? 1 : capacity / r.size - units;
        units += more;
        key = i + 1 - first > key ? i + 1 - first : key;  // never less than the step before, so that it comes after it
        steps.push_back({key, all.size() + first, all.size() + i + 1, more});
        first = i + 1;
      }
      all.insert(all.end(), mine.begin(), mine.begin() + static_cast<std::ptrdiff_t>(first));
    }
    shell_sort(steps.data(), steps.size(),
               [](const step& a, const step& b) { return a.cost != b.cost ? a.cost < b.cost : a.first < b.first; });
    room_plan p{domain_id{o}, {}, 0};
    std::uint64_t got = have;
    for (std::size_t i = 0; i < steps.size() && got < r.needs; ++i) {
      got += steps[i].units;
      for (std::size_t k = steps[i].first; k < steps[i].last; ++k) {
        p.nodes.push_back(node_id{all[k].node});
        p.devices_held += all[k].held;
      }
    }
    if (got >= r.needs) plans.push_back(std::move(p));
  }
  shell_sort(plans.data(), plans.size(), [](const room_plan& a, const room_plan& b) {
    if (a.nodes.size() != b.nodes.size()) return a.nodes.size() < b.nodes.size();
    return a.devices_held != b.devices_held ? a.devices_held < b.devices_held : a.domain < b.domain;
  });
  return plans;
}

}  // namespace berth::detail
