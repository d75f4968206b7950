#pragma once
/// \file
/// Bodies of `berth/solver/validate.hpp`.

#include <span>

#include "berth/solver/detail/part_ledger.hpp"
#include "berth/solver/validate.hpp"
#include "berth/topology/rails.hpp"

namespace berth::detail {

BERTH_INLINE bool is_consistent(const cluster& c, const gang& g) noexcept {
  const std::size_t levels = c.tree().level_count();
  if (g.groups.empty() || (g.where != locality::unconstrained && g.level.index() >= levels)) return false;
  if (g.segments && (g.segments->count == 0 || g.segments->level.index() >= levels)) return false;
  for (const task_group& t : g.groups) {
    if (!c.is_valid(t.shape) || t.minimum == 0 || t.wanted < t.minimum) return false;
    if (g.segments && t.wanted % g.segments->count != 0) return false;
    if (g.segments && t.minimum % (t.wanted / g.segments->count) != 0) return false;
  }
  return true;
}

BERTH_INLINE bool labels_satisfy(const node_filter& f, const std::vector<std::string>& labels) {
  std::size_t all = 0, any = 0;
  for (const std::string& label : labels) {
    if (f.taints && is_taint(label) && !is_tolerated(label, f.tolerations)) return false;
    for (const std::string& l : f.none_of)
      if (l == label) return false;
    for (const std::string& l : f.any_of) any += l == label ? 1U : 0U;
  }
  for (const std::string& l : f.all_of)
    for (const std::string& label : labels)
      if (l == label) {
        ++all;
        break;
      }
  return all == f.all_of.size() && (any != 0 || f.any_of.empty());
}

BERTH_INLINE device_mask devices_for(const cluster& c, const task_shape& shape, node_id n) {
  const node_state& s = c.node(n);
  if (!s.usable || !c.is_member(n)) return 0;
  const node_filter& f = c.filter(shape.filter);
  if (!labels_satisfy(f, c.class_of(n).labels)) return 0;
  const device_mask idle = s.installed & ~s.held & ~s.unhealthy;
  if (f.models.empty()) return idle;
  device_mask out = 0;
  const node_shape& hardware = c.shape_of(n);
  for (unsigned d = 0; d < hardware.devices && d < hardware.models.size(); ++d)
    for (const std::string& m : f.models)
      if (m == hardware.models[d]) out |= idle & bit(d);
  return out;
}

/// The first task near a link that lacks what the hose model says, n of N devices on one side needing min(n, N - n)
/// times the rate; the number of tasks where none does. Counted anew from `uplinks()`.
[[nodiscard]] BERTH_INLINE std::size_t first_lacking(const cluster& c, std::int64_t rate,
                                                     std::span<const task_placement> tasks) {
  const uplink_state& links = c.uplinks();
  bool several = false;
  const task_placement* first = nullptr;
  for (const task_placement& t : tasks) {
    if (t.devices == 0) continue;
    if (first == nullptr) first = &t;
    several = several || t.node != first->node;
  }
  for (std::size_t k = 0; k < tasks.size() && several; ++k)
    if (tasks[k].devices != 0 && links.nic_share_of(c.node(tasks[k].node).node_class) < rate) return k;
  for (std::uint8_t l = 1; l < c.tree().level_count(); ++l)
    for (unsigned p = 0; p < links.planes(l); ++p) {
      const auto devices = [&](const task_placement& t) -> std::int64_t {
        const bool by_rail = links.planes(l) > 1;
        return count_bits(by_rail ? t.devices & links.on_rail(c.node(t.node).node_class, p) : t.devices);
      };
      std::vector<std::int64_t> inside(c.tree().domain_count(level_id{l}), 0);
      std::int64_t all = 0;
      for (const task_placement& t : tasks)
        all += devices(t), inside[c.tree().domain_of(t.node, level_id{l}).index()] += devices(t);
      for (std::size_t k = 0; k < tasks.size(); ++k) {
        const domain_id d = c.tree().domain_of(tasks[k].node, level_id{l});
        const std::int64_t n = inside[d.index()], across = n < all - n ? n : all - n;
        if (rate > 0 && across > 0 && (links.is_unknown(l, d.raw(), p) || across > links.left(l, d.raw(), p) / rate))
          return k;
      }
    }
  return tasks.size();
}

/// The first task on a node whose rails are not all used on the node with the most; the number of tasks where there is
/// none. A node with fewer tasks than others may use fewer rails.
[[nodiscard]] BERTH_INLINE std::size_t first_off_rails(const cluster& c, std::span<const task_placement> tasks) {
  std::vector<std::uint32_t> used(c.node_count(), 0);
  for (const task_placement& t : tasks)
    for (unsigned r = 0; r < max_rails; ++r)
      if ((c.uplinks().on_rail(c.node(t.node).node_class, r) & t.devices) != 0) used[t.node.index()] |= 1U << r;
  std::uint32_t most = 0;
  for (const std::uint32_t u : used) most = count_bits(u) > count_bits(most) ? u : most;
  for (std::size_t k = 0; k < tasks.size(); ++k)
    if ((used[tasks[k].node.index()] & ~most) != 0) return k;
  return tasks.size();
}

}  // namespace berth::detail

namespace berth {

BERTH_INLINE placement_score score_of(const cluster& c, const gang& g, const placement& p) {
  placement_score out;
  for (const task_group& t : g.groups) out.tasks_missing += t.wanted;
  out.tasks_missing -= static_cast<std::uint32_t>(p.tasks.size());
  for (std::uint8_t l = 0; l < c.tree().level_count(); ++l) {
    std::vector<bool> seen(c.tree().domain_count(level_id{l}), false);
    for (const task_placement& t : p.tasks) {
      const std::size_t d = c.tree().domain_of(t.node, level_id{l}).index();
      if (!seen[d]) ++out.domains_used[l];
      seen[d] = true;
    }
  }
  return out;
}

BERTH_INLINE placement_check validate(const cluster& c, const gang& g, const placement& p) {
  using fault = placement_fault;
  const domain_tree& tree = c.tree();
  if (p.shapes.size() != g.groups.size()) return {fault::bad_shapes, 0};
  for (std::size_t i = 0; i < g.groups.size(); ++i)
    if (!(p.shapes[i] == g.groups[i].shape)) return {fault::bad_shapes, i};

  // Groups one after the other, each along the tree; ids of nodes follow the tree.
  std::vector<std::size_t> first(g.groups.size(), 0), count(g.groups.size(), 0);
  std::size_t together = 0;  ///< tasks of the group on the node, up to the one looked at
  for (std::size_t k = 0; k < p.tasks.size(); ++k) {
    const task_placement& t = p.tasks[k];
    if (t.group >= g.groups.size()) return {fault::bad_group, k};
    if (t.node.index() >= c.node_count()) return {fault::bad_node, k};
    if (count[t.group]++ == 0) {
      first[t.group] = k;
    } else if (p.tasks[k - 1].group != t.group || p.tasks[k - 1].node > t.node) {
      return {fault::bad_order, k};
    }
    together = count[t.group] == 1 || p.tasks[k - 1].node != t.node ? 1 : together + 1;
    const std::uint32_t most = g.groups[t.group].shape.per_node;
    if (most != 0 && together > most) return {fault::crowded_node, k};
  }
  for (std::size_t i = 0; i < g.groups.size(); ++i) {
    if (count[i] < g.groups[i].minimum) return {fault::too_few_tasks, i};
    if (count[i] > g.groups[i].wanted) return {fault::too_many_tasks, i};
  }

  // Nodes and devices.
  struct taken {
    device_mask devices = 0;
    std::int64_t cpu = 0, memory = 0;
    std::size_t ledger = 0;              ///< 1 + index in `ledgers`; 0: none
    device_mask cut = 0;                 ///< devices that parts are of
    std::vector<std::int64_t> inside{};  ///< amounts left on NUMA nodes and links, once a task asks for some
  };
  std::vector<taken> used(c.node_count());
  // Only where a group asks for parts: what each node's devices are used as.
  bool parts = false;
  for (const task_group& t : g.groups) parts = parts || t.shape.part.asks();
  std::vector<detail::part_ledger> ledgers;
  for (std::size_t k = 0; k < p.tasks.size(); ++k) {
    const task_placement& t = p.tasks[k];
    const task_shape& shape = g.groups[t.group].shape;
    const node_state& s = c.node(t.node);
    taken& u = used[t.node.index()];
    if (!s.usable || !c.is_member(t.node)) return {fault::node_unusable, k};
    if (!detail::labels_satisfy(c.filter(shape.filter), c.class_of(t.node).labels))
      return {fault::node_not_admitted, k};
    if (parts) {
      if (u.ledger == 0) {
        ledgers.emplace_back(c, t.node);
        u.ledger = ledgers.size();
      }
      if (!p.parts.empty() && p.parts.size() != p.tasks.size()) return {fault::bad_part, k};
      const part_places* const places = p.parts.empty() ? nullptr : &p.parts[k];
      if (!detail::enter_task(ledgers[u.ledger - 1], c, shape, t, places)) return {fault::bad_part, k};
    }
    if (shape.part.asks()) {
      u.cut |= t.devices;
      u.cpu += shape.cpu.count();
      u.memory += shape.memory.count();
      if (u.cpu > s.cpu.count()) return {fault::cpu_exceeded, k};
      if (u.memory > s.memory.count()) return {fault::memory_exceeded, k};
      continue;
    }
    if (count_bits(t.devices) != shape.devices) return {fault::wrong_device_count, k};
    if ((t.devices & ~(s.installed & ~s.held & ~s.unhealthy)) != 0) return {fault::device_not_free, k};
    if ((t.devices & ~detail::devices_for(c, shape, t.node)) != 0) return {fault::wrong_model, k};
    if ((t.devices & u.devices) != 0) return {fault::device_twice, k};
    if (shape.bind.asks()) {
      if (!c.inside().is_on()) return {fault::unmet_binding, k};
      node_residual now = c.residual(t.node, s.free & ~u.devices & ~u.cut);
      const std::size_t amounts = now.layout->amounts();
      if (u.inside.empty()) u.inside.assign(now.left, now.left + amounts);
      now.left = u.inside.data();
      now.free = now.pool;
      now.cpu -= cpu_millis{u.cpu};
      now.memory -= bytes{u.memory};
      task_binding b;
      if (!now.bind(shape, t.devices, b)) return {fault::unmet_binding, k};
      detail::apply_binding(*now.layout, u.inside.data(), b, shape.cpu, shape.memory, t.devices, -1);
    }
    u.devices |= t.devices;
    u.cpu += shape.cpu.count();
    u.memory += shape.memory.count();
    if (u.cpu > s.cpu.count()) return {fault::cpu_exceeded, k};
    if (u.memory > s.memory.count()) return {fault::memory_exceeded, k};
  }

  // Levels and uplinks.
  for (std::uint8_t l = 0; l < tree.level_count(); ++l) {
    const level_id at{l};
    for (std::size_t k = 0; k < p.tasks.size(); ++k) {
      const domain_id here = tree.domain_of(p.tasks[k].node, at), there = tree.domain_of(p.tasks[0].node, at);
      if (here == there) continue;
      if (g.where == locality::required && g.level == at) return {fault::outside_level, k};
      if (c.is_detached(at, here) || c.is_detached(at, there)) return {fault::cut_off, k};
    }
  }

  if (g.rails == rail_rule::same)
    if (const std::size_t k = detail::first_off_rails(c, p.tasks); k != p.tasks.size()) return {fault::uneven_rails, k};
  if (const std::int64_t rate = g.between_nodes.count(); rate != 0)
    if (const std::size_t k = detail::first_lacking(c, rate, p.tasks); k != p.tasks.size())
      return {fault::link_exceeded, k};

  // Segments: ranks j·size … (j+1)·size-1 of every group form segment j.
  if (g.segments) {
    const segment_request& want = *g.segments;
    const std::size_t size0 = g.groups[0].wanted / want.count;
    const std::size_t segments = count[0] / size0;
    for (std::size_t i = 0; i < g.groups.size(); ++i)
      if (count[i] != segments * (g.groups[i].wanted / want.count)) return {fault::broken_segment, i};
    std::vector<bool> seen(tree.domain_count(want.level), false);
    for (std::size_t j = 0; j < segments; ++j) {
      const domain_id home = tree.domain_of(p.tasks[first[0] + j * size0].node, want.level);
      for (std::size_t i = 0; i < g.groups.size(); ++i) {
        const std::size_t size = g.groups[i].wanted / want.count;
        for (std::size_t r = j * size; r < (j + 1) * size; ++r)
          if (tree.domain_of(p.tasks[first[i] + r].node, want.level) != home)
            return {fault::split_segment, first[i] + r};
      }
      if (want.layout == segment_layout::spread && seen[home.index()])
        return {fault::crowded_segments, first[0] + j * size0};
      seen[home.index()] = true;
    }
  }
  return {};
}

BERTH_INLINE placement_check validate(const cluster& c, const gang& g, const decision& d) {
  if (const placement_check p = validate(c, g, d.where); !p) return p;
  const placement_score true_score = score_of(c, g, d.where);
  if (d.score != true_score) return {placement_fault::false_score, 0};
  std::uint8_t narrowest = 0;
  for (std::uint8_t l = 0; l < c.tree().level_count(); ++l)
    if (true_score.domains_used[l] == 1) narrowest = l;
  if (d.level != level_id{narrowest}) return {placement_fault::false_level, 0};
  if (d.domain != c.tree().domain_of(d.where.tasks[0].node, d.level)) return {placement_fault::false_domain, 0};
  if (d.where.between_nodes != g.between_nodes) return {placement_fault::false_rate, 0};
  return {};
}

}  // namespace berth
