#pragma once
/// \file
/// Answers `order`, `select-domains` and `capacity`: ranking sibling domains, choosing among them, counting what they
/// hold. Needs nlohmann-json.

#include <algorithm>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "berth/io/case/cluster.hpp"
#include "berth/io/case/requests.hpp"
#include "berth/profile/koordinator_topology.hpp"
#include "berth/solver/balanced_walk.hpp"
#include "berth/solver/domain_walk.hpp"

namespace berth {

namespace case_io {

/// Domains without nodes: counts are given.
struct stated_domains {
  std::vector<std::string> names;
  std::vector<std::string> parents;
  counted_tree tree{1};

  [[nodiscard]] std::optional<std::uint32_t> find(std::string_view name) const noexcept {
    for (std::size_t i = 0; i < names.size(); ++i)
      if (names[i] == name) return static_cast<std::uint32_t>(i);
    return std::nullopt;
  }
};

[[nodiscard]] inline read<stated_domains> domains(const case_question& q) {
  stated_domains out;
  const object body{q.body, q.source};
  auto all = body.objects("domains");
  if (!all) return unexpected{std::move(all).error()};
  std::map<std::vector<std::string>, std::vector<std::uint32_t>> order;
  for (const auto& o : *all) {
    auto name = o.name();
    if (!name) return unexpected{std::move(name).error()};
    const std::uint32_t d = out.tree.add(counted_tree::none, 0);
    auto& c = out.tree.counts[d];
    for (const auto& [key, to] :
         {std::pair{"free_pods", &c.tasks}, std::pair{"free_slots", &c.tasks}, std::pair{"free_slices", &c.segments},
          std::pair{"free_pods_if_leader_here", &c.tasks_with_leader},
          std::pair{"free_slices_if_leader_here", &c.segments_with_leader}, std::pair{"leaders_that_fit", &c.leaders},
          std::pair{"affinity_score", &c.preference}, std::pair{"score", &c.score}, std::pair{"existing", &c.existing},
          std::pair{"existing_pods", &c.existing}})
      if (auto ok = o.integer(key, *to, 0, max_count); !ok) return unexpected{std::move(ok).error()};
    std::vector<std::string> path;
    if (auto ok = o.texts("path", path); !ok) return unexpected{std::move(ok).error()};
    if (path.empty()) path.push_back(*name);
    order[std::move(path)].push_back(d);
    out.names.push_back(std::move(*name));
    out.parents.emplace_back();
    if (auto ok = o.text("parent", out.parents.back()); !ok) return unexpected{std::move(ok).error()};
  }
  std::uint32_t rank = 0;
  for (const auto& [path, same] : order)
    for (const std::uint32_t d : same) out.tree.set_rank(d, rank++);
  return out;
}

[[nodiscard]] inline std::string joined(const std::vector<std::string>& all) {
  std::string out;
  for (const auto& a : all) out += (out.empty() ? "" : " ") + a;
  return out;
}

/// Kueue: the whole order.
[[nodiscard]] inline case_answer kueue_order(const case_question& q, const object& expect) {
  auto stated = domains(q);
  if (!stated) return unexpected{std::move(stated).error()};
  if (!q.policy_flag("use_affinity"))
    for (auto& c : stated->tree.counts) c.preference = 0;
  const walk_request request;
  const bool leader = q.policy_flag("with_leader");
  const auto sorted = q.policy_text("mode").find("unconstrained") != std::string::npos
                          ? domain_walk<least_free>{stated->tree, request}.ranked(stated->tree.level(0), leader)
                          : domain_walk<best_fit>{stated->tree, request}.ranked(stated->tree.level(0), leader);
  std::vector<std::string> want, got;
  if (auto ok = expect.texts("order", want); !ok) return unexpected{std::move(ok).error()};
  for (const std::uint32_t d : sorted) got.push_back(stated->names[d]);
  return case_verdict::compare(joined(want), joined(got));
}

/// Koordinator: which of two goes first.
[[nodiscard]] inline case_answer koordinator_order(const case_question& q, const object& expect) {
  auto stated = domains(q);
  if (!stated) return unexpected{std::move(stated).error()};
  const object body{q.body, q.source};
  std::vector<std::string> compared;
  if (auto ok = body.texts("compare", compared); !ok) return unexpected{std::move(ok).error()};
  std::vector<std::uint32_t> ids;
  for (const auto& name : compared) {
    const auto d = stated->find(name);
    if (!d) return unexpected{input_error{q.source, q.body.line, "compare: " + io_text::quoted(name), "a domain"}};
    ids.push_back(*d);
  }
  if (ids.size() != 2) return unexpected{input_error{q.source, q.body.line, "no two domains to compare", "compare"}};
  std::map<std::string, domain_counts> parents;
  for (const auto& [key, member] :
       {std::pair{"parent_free_slots", &domain_counts::tasks}, std::pair{"parent_existing", &domain_counts::existing}})
    if (const auto* p = q.given(key); p != nullptr) {
      const object o{*p, q.source};
      if (auto ok = o.is_object(key); !ok) return unexpected{std::move(ok).error()};
      for (const auto& name : p->keys)
        if (auto ok = o.integer(name, parents[name].*member, 0, max_count); !ok)
          return unexpected{std::move(ok).error()};
    }
  const auto chain = [&](std::uint32_t d) {
    std::vector<const domain_counts*> out{&stated->tree.counts[d]};
    if (const auto p = parents.find(stated->parents[d]); p != parents.end()) out.push_back(&p->second);
    return out;
  };
  const auto text = q.policy_text("order");
  const bool fewest = text.find("slots descending") == std::string::npos;
  int c = fewest ? fullest_first::compare(chain(ids[0]), chain(ids[1]))
                 : emptiest_first::compare(chain(ids[0]), chain(ids[1]));
  if (c == 0) c = stated->names[ids[0]] < stated->names[ids[1]] ? -1 : 1;
  std::string first;
  if (auto ok = expect.text("first", first); !ok) return unexpected{std::move(ok).error()};
  return case_verdict::compare(first, stated->names[c < 0 ? ids[0] : ids[1]]);
}

}  // namespace case_io

[[nodiscard]] inline case_answer answer_order(const case_question& q) {
  const auto expect = case_io::expected_object(q);
  if (!expect) return unexpected{expect.error()};
  if (auto odd =
          case_io::unread(q, q.profile == "kueue" ? "domains" : "domains compare parent_free_slots parent_existing"))
    return std::move(*odd);
  if (q.profile == "kueue") return case_io::kueue_order(q, *expect);
  if (q.profile == "koordinator") return case_io::koordinator_order(q, *expect);
  return case_verdict::unsupported("the order of domains by the rules of " + q.profile);
}

[[nodiscard]] inline case_answer answer_select_domains(const case_question& q) {
  const auto expect = case_io::expected_object(q);
  if (!expect) return unexpected{expect.error()};
  if (q.profile != "kueue") return case_verdict::unsupported("choosing domains by the rules of " + q.profile);
  if (auto odd = case_io::unread(q, "domains need")) return std::move(*odd);
  auto stated = case_io::domains(q);
  if (!stated) return unexpected{std::move(stated).error()};
  walk_request request;
  std::int64_t leaders = 0, segments = 0, workers = 0;
  std::int64_t threshold = -1;
  if (const auto* need = q.given("need")) {
    const case_io::object n{*need, q.source};
    if (auto ok = n.is_object("need"); !ok) return unexpected{std::move(ok).error()};
    for (const auto& [key, to] : {std::pair{"leaders", &leaders}, std::pair{"slices", &segments},
                                  std::pair{"workers", &workers}, std::pair{"min_per_domain", &threshold}})
      if (auto ok = n.integer(key, *to, 0, case_io::max_count); !ok) return unexpected{std::move(ok).error()};
    if (auto ok = n.integer("slice_size", request.segment_size, 1, case_io::max_count); !ok)
      return unexpected{std::move(ok).error()};
    if (n.given("slices") == nullptr) segments = workers / request.segment_size;
  }
  balanced_walk walk{stated->tree, request};
  const auto all = stated->tree.level(0);
  if (expect->given("slices_per_domain") != nullptr || threshold >= 0) {
    const auto chosen = walk.share_out(all, segments, leaders, threshold < 0 ? 0 : threshold);
    auto want = case_io::amounts(expect->given("slices_per_domain"), "slices_per_domain", q.source);
    if (!want) return unexpected{std::move(want).error()};
    std::string e, g;
    for (const auto& a : *want) e += a.resource + ":" + std::to_string(a.thousandths / 1000) + " ";
    amount_list got;
    if (chosen)
      for (const std::uint32_t d : *chosen) got.set(stated->names[d], stated->tree.counts[d].segments * 1000);
    for (const auto& a : got) g += a.resource + ":" + std::to_string(a.thousandths / 1000) + " ";
    return case_verdict::compare(e, g);
  }
  if (expect->value().find("domains") == nullptr && expect->value().find("slices_per_domain") == nullptr)
    return case_verdict::unsupported("no domains are expected");
  std::vector<std::string> want, got;
  if (auto ok = expect->texts("domains", want); !ok) return unexpected{std::move(ok).error()};
  if (const auto chosen = walk.fewest(all, segments, leaders, true))
    for (const std::uint32_t d : *chosen) got.push_back(stated->names[d]);
  std::sort(want.begin(), want.end());
  std::sort(got.begin(), got.end());
  return case_verdict::compare(case_io::joined(want), case_io::joined(got));
}

namespace case_io {

/// A request of Koordinator.
[[nodiscard]] inline read<koordinator_gang> koordinator_request(const json_value& v, const std::string& source) {
  const object o{v, source};
  auto r = request(v, source);
  if (!r) return unexpected{std::move(r).error()};
  koordinator_gang g;
  g.name = r->name;
  g.count = r->count;
  g.per_task = r->per_task;
  if (r->mode == topology_mode::required) g.must_gather = r->level;
  if (const auto* m = o.given("count_multiple")) {
    const object mo{*m, source};
    if (auto ok = mo.is_object("count_multiple"); !ok) return unexpected{std::move(ok).error()};
    for (const auto& layer : m->keys) {
      std::int64_t n = 1;
      if (auto ok = mo.integer(layer, n, 0, max_count); !ok) return unexpected{std::move(ok).error()};
      g.multiple[layer] = n;
    }
  }
  return g;
}

}  // namespace case_io

[[nodiscard]] inline case_answer answer_capacity(const case_question& q) {
  const auto expect = case_io::expected_object(q);
  if (!expect) return unexpected{expect.error()};
  if (q.profile != "koordinator") return case_verdict::unsupported("counting by the rules of " + q.profile);
  if (auto odd =
          case_io::unread(q, "cluster usage requests", {{"requests", "name count per_pod count_multiple", "request"}}))
    return std::move(*odd);
  auto site = case_io::cluster(q);
  if (!site) return unexpected{std::move(site).error()};
  koordinator_gang gang;
  auto requests = case_io::object{q.body, q.source}.items("requests");
  if (!requests) return unexpected{std::move(requests).error()};
  if (!(*requests)->empty()) {
    auto g = case_io::koordinator_request((*requests)->front(), q.source);
    if (!g) return unexpected{std::move(g).error()};
    gang = std::move(*g);
  }
  koordinator_topology topology{*site};
  topology.count(gang);
  const auto usable = topology.usable();
  auto want = case_io::amounts(expect->given("usable_slots_per_domain"), "usable_slots_per_domain", q.source);
  if (!want) return unexpected{std::move(want).error()};
  if (want->begin() == want->end()) return case_verdict::unsupported("no slots are expected");
  std::string e, g;
  for (const auto& a : *want) {
    e += a.resource + ":" + std::to_string(a.thousandths / 1000) + " ";
    const auto have = usable.find(a.resource);
    g += a.resource + ":" + (have == usable.end() ? std::string{"?"} : std::to_string(have->second)) + " ";
  }
  return case_verdict::compare(e, g);
}

}  // namespace berth
