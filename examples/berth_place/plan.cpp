// Who has which device, for the drawings.

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "berth/report/floor_plan.hpp"
#include "berth/solver/explain_text.hpp"
#include "berth_place/answer.hpp"

namespace berth_place {

std::vector<placed_instance> instances_of(const site& s, const answer& a, std::size_t task) {
  std::vector<placed_instance> out;
  const berth::placement& where = a.decision.where;
  if (task >= where.parts.size()) return out;
  const auto& parts = s.live->inside().parts();
  for (unsigned i = 0; i < where.parts[task].count; ++i) {
    const berth::part_place at = where.parts[task].at[i];
    const auto product = parts.limits(s.live->node(where.tasks[task].node).node_class, at.device).product;
    const berth::mig_geometry& g = parts.product(product).geometry();
    const berth::mig_placement& p = g.placement[at.placement];
    out.push_back({at.device, std::string{g.row(p.profile).name}, p.start});
  }
  return out;
}

namespace {

// How far the parts of a device that are drawn from the left reach, between `from` and `to`.
unsigned filled(const berth::plan_node& n, unsigned device, unsigned from, unsigned to) {
  unsigned end = from;
  for (const auto& p : n.parts)
    if (p.device == device && p.from >= from && p.from < to) end = std::max(end, unsigned{p.from} + p.size);
  return std::min(end, to);
}

// Whole devices as the owner's; instances where they lie, shares beside each other from the left, each as wide as what
// it takes most of.
void draw_task(const site& s, berth::floor_plan& plan, berth::node_id node, berth::device_mask devices,
               const berth::part_need& need, const berth::part_places& places, berth::device_owner owner) {
  berth::plan_node& n = plan.nodes[node.index()];
  const auto strip = [&](unsigned d, unsigned from, unsigned to) {
    n.devices[d] = berth::cut_device;
    n.parts.push_back({static_cast<std::uint16_t>(d), static_cast<std::uint16_t>(from),
                       static_cast<std::uint16_t>(to > from ? to - from : 0), owner});
  };
  if (!need.asks()) {
    berth::for_each_bit(devices, [&](unsigned d) { n.devices[d] = owner; });
    return;
  }
  const auto& parts = s.live->inside().parts();
  const berth::class_id c = s.live->node(node).node_class;
  // What a share takes of `of` thousandths, at least so much that it can be seen.
  const auto width = [&](std::uint32_t memory_mib, unsigned of) {
    const std::uint64_t memory = need.memory_on(memory_mib);
    const std::uint64_t part = memory_mib != 0 ? memory * 1000 / memory_mib : 0;
    return std::max(20U, static_cast<unsigned>(std::max<std::uint64_t>(part, need.thousandths()) * of / 1000));
  };
  if (need.is_share()) {
    berth::for_each_bit(devices, [&](unsigned d) {
      const unsigned from = filled(n, d, 0, 1000);
      strip(d, from, std::min(1000U, from + width(parts.limits(c, d).memory_mib, 1000)));
    });
    return;
  }
  for (unsigned i = 0; i < places.count; ++i) {
    const unsigned d = places.at[i].device, product = parts.limits(c, d).product;
    const berth::mig_geometry& g = parts.product(product).geometry();
    const berth::mig_placement& p = g.placement[places.at[i].placement];
    const unsigned units = g.product->units.value_or(8), size = g.row(p.profile).size.value_or(1);
    const unsigned from = p.start * 1000U / units, to = std::min(1000U, (p.start + size) * 1000U / units);
    if (!need.is_nested()) {
      strip(d, from, to);
      continue;
    }
    const unsigned at = filled(n, d, from, to);
    strip(d, at, std::min(to, at + width(parts.inside(product, p.profile)->memory_mib, to - from)));
  }
}

}  // namespace

berth::floor_plan make_plan(const site& s, const answer& a) {
  berth::floor_plan plan;
  plan.tree = &s.spec.tree;
  plan.jobs = s.jobs;
  plan.nodes.resize(s.spec.nodes.size());
  for (std::uint32_t n = 0; n < plan.nodes.size(); ++n) {
    const berth::node_state& state = s.live->node(berth::node_id{n});
    plan.nodes[n].name = s.spec.nodes[n].name;
    plan.nodes[n].devices.assign(s.spec.shapes[s.spec.nodes[n].shape.index()].devices, berth::free_device);
    for (std::size_t d = 0; d < plan.nodes[n].devices.size(); ++d)
      if (!state.usable || (state.unhealthy >> d & 1U) != 0) plan.nodes[n].devices[d] = berth::unhealthy_device;
  }
  // A broken device that a job still holds is shown as that job's.
  for (std::size_t j = 0; j < s.jobs.size(); ++j)
    s.live->for_each_task(key_of(j), [&](const berth::committed_task& t) {
      const bool parts = s.live->inside().parts().is_on() && s.live->part_of(t).asks();
      draw_task(s, plan, t.node, t.devices, parts ? s.live->part_of(t) : berth::part_need{},
                parts ? s.live->places_of(t) : berth::part_places{}, static_cast<berth::device_owner>(j));
    });
  plan.note = headline(s, a);
  plan.title = a.job.name;
  for (const auto& t : a.request.groups)
    plan.title += (&t == &a.request.groups.front() ? ": " : " + ") + berth::detail::counted_text(t.wanted, "task") +
                  " of " + berth::detail::shape_words(t.shape);
  if (a.decision.result != berth::verdict::placed) return plan;
  plan.chosen = static_cast<std::uint32_t>(plan.jobs.size());
  plan.jobs.push_back(a.job.name);
  for (const berth::task_placement& t : a.decision.where.tasks) {
    plan.nodes[t.node.index()].chosen = true;
    const std::size_t i = static_cast<std::size_t>(&t - a.decision.where.tasks.data());
    draw_task(s, plan, t.node, t.devices, a.request.groups[t.group].shape.part,
              i < a.decision.where.parts.size() ? a.decision.where.parts[i] : berth::part_places{},
              static_cast<berth::device_owner>(*plan.chosen));
  }
  return plan;
}

}  // namespace berth_place
