// What a placement holds beyond devices: NUMA nodes, bandwidth inside nodes and between them.

#include <cstddef>
#include <cstdint>

#include "berth/cluster/transaction.hpp"
#include "berth/io/text.hpp"
#include "berth/solver/explain.hpp"
#include "berth_place/answer.hpp"
#include "shared/words.hpp"

namespace berth_place {

using berth::level_id;

void work_out_reservations(site& s, answer& a) {
  if (a.decision.result != berth::verdict::placed) return;
  bool inside = false;
  for (const auto& g : a.request.groups) inside = inside || g.shape.bind.asks();
  const bool between = a.request.between_nodes.count() != 0;
  if (!inside && !between) return;
  berth::cluster& c = *s.live;
  const auto& tasks = a.decision.where.tasks;
  std::size_t held = 0;
  for (std::size_t j = 0; j < s.jobs.size(); ++j)
    c.for_each_task(key_of(j), [&](const berth::committed_task&) { ++held; });
  berth::cluster_limits more{s.jobs.size() + 1, held + tasks.size(), 0, 16};
  more.bindings = c.inside().is_on();
  c.reserve(more);

  // The domains around the gang, each once.
  const berth::domain_tree& tree = c.tree();
  if (between)
    for (std::uint8_t l = 1; l < tree.level_count(); ++l) {
      std::vector<char> seen(tree.domain_count(level_id{l}));
      for (const auto& t : tasks) {
        const berth::domain_id d = tree.domain_of(t.node, level_id{l});
        if (seen[d.index()] != 0) continue;
        seen[d.index()] = 1;
        const unsigned planes = c.uplinks().planes(l);
        for (unsigned p = 0; p < planes; ++p) {
          reserved_uplink u;
          u.level = level_id{l};
          u.domain = d;
          if (planes > 1) u.rail = p;
          u.taken = c.uplinks().left(l, d.raw(), p);
          a.uplinks.push_back(u);
        }
      }
    }
  const berth::job_key key = key_of(s.jobs.size());
  berth::transaction trial{c};
  if (!c.commit(key, a.decision.where)) {
    a.uplinks.clear();
    return;
  }
  if (inside) c.for_each_task(key, [&](const berth::committed_task& t) { a.bindings.push_back(c.binding_of(t)); });
  std::size_t kept = 0;
  for (auto& u : a.uplinks) {
    u.left = c.uplinks().left(u.level.raw(), u.domain.raw(), u.rail.value_or(0));
    u.taken -= u.left;
    if (u.taken != 0) a.uplinks[kept++] = u;
  }
  a.uplinks.resize(kept);
}

std::uint64_t nics_beside(const site& s, const berth::task_placement& t) {
  const auto& nics = s.spec.shapes[s.spec.nodes[t.node.index()].shape.index()].nics;
  bool rails = false;
  for (const auto& n : nics) rails = rails || n.rail;
  std::uint64_t out = 0;
  for (unsigned i = 0; i < nics.size() && i < 64; ++i)
    if ((nics[i].devices & t.devices) != 0 && (!rails || nics[i].rail)) out |= berth::bit(i);
  return out;
}

std::string host_link_sentence(const site& s, const answer& a) {
  const std::uint32_t group = a.explanation ? a.explanation->group : 0;
  if (group >= a.request.groups.size()) return {};
  const berth::task_shape& t = a.request.groups[group].shape;
  const berth::cluster& c = *s.live;
  if (t.bind.host.count() == 0 || t.devices == 0 || !c.inside().is_on()) return {};
  const std::int64_t each = t.bind.per_device(t.devices);
  // The node that comes nearest: most free devices whose links all have enough.
  std::uint32_t best_node = 0, best_count = 0;
  bool any = false;
  for (std::uint32_t n = 0; n < c.node_count(); ++n) {
    const berth::node_id id{n};
    if (berth::cause_of(c, id, t, level_id{0}) != berth::node_cause::inside_in_use) continue;
    const berth::device_mask pool = c.node(id).free & c.eligible(t.filter, id).devices;
    const auto count = berth::count_bits(pool);
    if (!any || count > best_count) best_node = n, best_count = count, any = true;
  }
  if (!any) return {};
  const berth::node_id id{best_node};
  const auto& node = c.node(id);
  const berth::device_mask pool = node.free & c.eligible(t.filter, id).devices;
  const berth::node_residual inside = c.residual(id, pool);
  const berth::machine_layout& y = *inside.layout;
  const std::string& name = s.spec.nodes[best_node].name;
  if ((pool & ~y.guaranteed()) != 0 && berth::count_bits(pool & y.guaranteed()) < t.devices)
    return "On " + name + " nobody said what the links between GPUs and CPUs carry.";
  std::size_t worst = y.links();
  for (std::size_t l = 0; l < y.links(); ++l) {
    if ((y.link_devices(l) & pool) == 0) continue;
    if (worst == y.links() || inside.left[y.link_at(l)] < inside.left[y.link_at(worst)]) worst = l;
  }
  if (worst == y.links()) return {};
  const std::int64_t left = inside.left[y.link_at(worst)];
  const auto behind = berth::count_bits(y.link_devices(worst) & pool);
  if (left >= each * (behind < t.devices ? behind : t.devices)) return {};
  return "On " + name + " the link to the CPUs " +
         (berth::count_bits(y.link_devices(worst)) == 1
              ? "of " + berth_program::numbered("GPU", y.link_devices(worst))
              : "that " + berth_program::numbered("GPU", y.link_devices(worst)) + " share") +
         " has " + berth::io_text::rate_text(berth::bytes_per_second{left}) + " left; a task needs " +
         berth::io_text::rate_text(berth::bytes_per_second{each}) + " for each of its GPUs.";
}

}  // namespace berth_place
