#pragma once
/// \file
/// Answers Ray's `place` cases. Needs nlohmann-json.

#include <map>
#include <string>
#include <utility>
#include <vector>

#include "berth/io/case/cluster.hpp"
#include "berth/io/case/judge.hpp"
#include "berth/io/case/requests.hpp"
#include "berth/profile/ray.hpp"

namespace berth::case_io {

inline constexpr std::int64_t max_bundles = 2'000;
inline constexpr std::int64_t max_repeats = 1'000;

struct ray_request {
  std::string name;
  std::vector<ray_bundle> bundles;
  ray_strategy how = ray_strategy::pack;
  bool gang = false;
  std::string wished;
  std::string level;
  std::int64_t repeat = 1;
  std::vector<std::size_t> used;
};

[[nodiscard]] inline read<ray_request> ray_read(const json_value& v, const named_site& site,
                                                const std::string& source) {
  const object o{v, source};
  auto r = request(v, source);
  if (!r) return unexpected{std::move(r).error()};
  ray_request out;
  out.name = r->name;
  if (r->mode == topology_mode::required) out.level = r->level;
  if (auto ok = o.flag("gang", out.gang); !ok) return unexpected{std::move(ok).error()};
  if (auto ok = o.text("preferred_node", out.wished); !ok) return unexpected{std::move(ok).error()};
  if (auto ok = o.integer("repeat", out.repeat, 1, max_repeats); !ok) return unexpected{std::move(ok).error()};
  std::string how;
  if (auto ok = o.text("spread_mode", how); !ok) return unexpected{std::move(ok).error()};
  constexpr std::pair<const char*, ray_strategy> names[] = {{"pack", ray_strategy::pack},
                                                            {"spread", ray_strategy::spread},
                                                            {"strict-pack", ray_strategy::strict_pack},
                                                            {"strict-spread", ray_strategy::strict_spread}};
  bool known = how.empty();
  for (const auto& [name, s] : names)
    if (how == name) out.how = s, known = true;
  if (!known) return o.wrong("spread_mode", *o.given("spread_mode"), "pack, spread, strict-pack or strict-spread");
  out.gang = out.gang || !how.empty();
  auto members = o.items("members");
  if (!members) return unexpected{std::move(members).error()};
  if ((*members)->size() > static_cast<std::size_t>(max_bundles) || r->count > max_bundles)
    return o.wrong("count", v, "at most 2000 members");
  for (const auto& m : **members) {
    auto one = request(m, source);
    if (!one) return unexpected{std::move(one).error()};
    if (one->count + static_cast<std::int64_t>(out.bundles.size()) > max_bundles)
      return o.wrong("count", m, "at most 2000 members");
    for (std::int64_t i = 0; i < one->count; ++i) out.bundles.push_back({one->per_task, one->wish.selector});
  }
  if (out.bundles.empty())
    for (std::int64_t i = 0; i < r->count; ++i) out.bundles.push_back({r->per_task, r->wish.selector});
  if (out.bundles.empty()) return o.wrong("count", v, "at least one member");
  if (static_cast<std::int64_t>(out.bundles.size()) * out.repeat > 10 * max_bundles)
    return o.wrong("repeat", v, "at most 20000 members in all");
  for (const auto* places : {&r->previous})
    for (const auto& p : *places)
      if (const auto n = site.node(p.domain.back())) out.used.push_back(*n);
  return out;
}

[[nodiscard]] inline case_answer answer_ray(const case_question& q) {
  auto site = cluster(q);
  if (!site) return unexpected{std::move(site).error()};
  if (auto odd = unread(q, "cluster usage requests",
                        {{"requests",
                          "name count per_pod node_selector topology previous gang spread_mode members preferred_node "
                          "repeat",
                          "request"},
                         {"members", "name count per_pod node_selector", "member"},
                         {"topology", "mode level", "topology"}}))
    return std::move(*odd);
  auto all = object{q.body, q.source}.items("requests");
  if (!all) return unexpected{std::move(all).error()};
  ray_cluster ray{*site};
  std::vector<named_answer> answers;
  ray_task_rules rules;
  rules.avoid_gpu_nodes = q.policy_flag("avoid_gpu_nodes_for_cpu_work") || q.policy_flag("avoid_gpu_nodes");
  rules.must_start_now = q.policy_flag("require_node_available") || q.policy_flag("must_start_now");
  for (const auto& v : **all) {
    auto r = ray_read(v, *site, q.source);
    if (!r) return unexpected{std::move(r).error()};
    std::optional<std::size_t> level;
    if (!r->level.empty()) {
      level = site->level(r->level);
      if (!level) return unexpected{input_error{q.source, v.line, "level " + r->level, "a level of the cluster"}};
    }
    named_answer a;
    a.request = r->name;
    a.levels = {"host"};
    std::map<std::size_t, std::int64_t> per_node;
    for (std::int64_t turn = 0; turn < r->repeat; ++turn) {
      ray_cluster::result got;
      if (r->gang || level || r->bundles.size() > 1) {
        got = ray.place(r->bundles, r->how, level, r->wished, r->used);
      } else {
        ray_task_rules one = rules;
        got = ray.place_task(r->bundles[0], one);
      }
      using state = ray_cluster::result::state;
      if (got.outcome != state::placed) {
        a.outcome = named_answer::result::unschedulable;
        named_refusal why;
        why.why = got.outcome == state::no_nodes     ? named_refusal::category::no_nodes
                  : got.outcome == state::infeasible ? named_refusal::category::never_feasible
                                                     : named_refusal::category::insufficient_capacity;
        a.reason = why;
        break;
      }
      a.outcome = named_answer::result::placed;
      std::map<std::size_t, std::int64_t> mine;
      for (const std::size_t n : got.nodes) ++mine[n];
      for (const auto& [n, count] : mine) per_node[n] += r->repeat > 1 ? 1 : count;  // repeated: gangs are counted
      ray.take(got, r->bundles);
    }
    for (const auto& [n, count] : per_node) {
      placed_count p;
      for (const auto& d : site->nodes[n].path)
        if (d) p.domain.push_back(*d);
      if (p.domain.empty()) p.domain.push_back(site->nodes[n].name);
      p.count = count;
      a.placements.push_back(std::move(p));
    }
    answers.push_back(std::move(a));
  }
  return judge(q, answers);
}

}  // namespace berth::case_io
