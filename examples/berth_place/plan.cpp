// Who has which device, for the drawings.

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
      berth::for_each_bit(
          t.devices, [&](unsigned d) { plan.nodes[t.node.index()].devices[d] = static_cast<berth::device_owner>(j); });
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
    berth::for_each_bit(t.devices, [&](unsigned d) {
      plan.nodes[t.node.index()].devices[d] = static_cast<berth::device_owner>(*plan.chosen);
    });
  }
  return plan;
}

}  // namespace berth_place
