#pragma once
/// \file
/// Answers `place` and `replace`. Needs nlohmann-json.

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "berth/io/case/cluster.hpp"
#include "berth/io/case/judge.hpp"
#include "berth/io/case/order.hpp"
#include "berth/io/case/ray.hpp"
#include "berth/io/case/requests.hpp"
#include "berth/profile/kube_scheduler.hpp"
#include "berth/profile/kueue_topology.hpp"

namespace berth {

namespace case_io {

[[nodiscard]] inline kueue_topology_rules kueue_rules(const case_question& q) {
  kueue_topology_rules r;
  if (const auto text = q.policy_text("unconstrained_packing"); !text.empty())
    r.least_free_unconstrained = text.find("least") != std::string::npos;
  r.balanced = q.policy_flag("balanced");
  const auto affinity = q.policy_text("preferred_affinity");
  r.preferred_affinity = q.policy_flag("preferred_affinity") || affinity.find("ranked") != std::string::npos;
  r.elastic = q.policy_flag("elastic") || !q.policy_text("elastic").empty();
  return r;
}

/// Of a topology only a required level counts for some; what else it says is not looked at.
[[nodiscard]] inline std::optional<case_answer> only_required(const case_question& q) {
  const auto all = object{q.body, q.source}.items("requests");
  if (!all) return case_answer{unexpected{all.error()}};
  for (const auto& r : **all) {
    const auto* t = r.find("topology");
    const auto* mode = t == nullptr ? nullptr : t->find("mode");
    if (mode != nullptr && mode->text == "preferred")
      return case_answer{
          case_verdict::unsupported("request with a preferred topology (line " + std::to_string(mode->line) + ")")};
  }
  return std::nullopt;
}

[[nodiscard]] inline case_answer answer_koordinator(const case_question& q, const named_site& site) {
  if (auto odd = unread(q, "cluster usage requests",
                        {{"requests", "name count per_pod topology count_multiple slot_units", "request"},
                         {"topology", "mode level", "topology"}}))
    return std::move(*odd);
  if (auto odd = only_required(q)) return std::move(*odd);
  auto all = object{q.body, q.source}.items("requests");
  if (!all) return unexpected{std::move(all).error()};
  std::vector<named_answer> answers;
  for (const auto& v : **all) {
    auto gang = koordinator_request(v, q.source);
    if (!gang) return unexpected{std::move(gang).error()};
    bool partly = false;
    if (auto ok = object{v, q.source}.flag("slot_units", partly); !ok) return unexpected{std::move(ok).error()};
    answers.push_back(koordinator_topology{site}.place(*gang, partly));
  }
  return judge(q, answers);
}

}  // namespace case_io

[[nodiscard]] inline case_answer answer_place(const case_question& q) {
  if (q.profile == "ray") return case_io::answer_ray(q);
  auto site = case_io::cluster(q);
  if (!site) return unexpected{std::move(site).error()};
  auto requests = case_io::requests(q);
  if (!requests) return unexpected{std::move(requests).error()};
  if (q.profile == "koordinator") return case_io::answer_koordinator(q, *site);
  if (q.profile == "kube-scheduler") {
    if (auto odd = case_io::unread(
            q, "cluster usage requests",
            {{"requests", "name count per_pod node_selector tolerations node_affinity topology", "request"},
             {"topology", "mode level", "topology"}}))
      return std::move(*odd);
    // Groups one after another, each on what the ones before left.
    std::vector<named_answer> answers;
    for (const auto& r : *requests) {
      if (r.count > 10'000) return case_verdict::unsupported("more than 10000 pods");
      answers.push_back(kube_place_group(*site, r, r.count, kube_least_allocated{}));
      for (const auto& p : answers.back().placements)
        site->uses.push_back({r.name, p.domain.back(), {}, r.per_task, p.count, true});
    }
    return case_io::judge(q, answers);
  }
  if (q.profile == "kueue") {
    if (auto odd = case_io::unread(q, "cluster usage requests")) return std::move(*odd);
    return case_io::judge(q, kueue_topology{*site, case_io::kueue_rules(q)}.place(*requests));
  }
  return case_verdict::unsupported("placing by the rules of " + q.profile);
}

[[nodiscard]] inline case_answer answer_replace(const case_question& q) {
  auto site = case_io::cluster(q);
  if (!site) return unexpected{std::move(site).error()};
  auto requests = case_io::requests(q);
  if (!requests) return unexpected{std::move(requests).error()};
  std::vector<std::string> failed;
  if (auto ok = case_io::object{q.body, q.source}.texts("unhealthy_nodes", failed); !ok)
    return unexpected{std::move(ok).error()};
  if (failed.empty())
    return unexpected{input_error{q.source, q.body.line, "no unhealthy_nodes", "the node that failed"}};
  if (failed.size() > 1) return case_verdict::unsupported("eviction: more than one node failed");
  if (q.profile == "kueue") {
    if (auto odd = case_io::unread(q, "cluster usage requests existing unhealthy_nodes")) return std::move(*odd);
    return case_io::judge(q, kueue_topology{*site, case_io::kueue_rules(q)}.replace(*requests, failed[0]));
  }
  return case_verdict::unsupported("replacing by the rules of " + q.profile);
}

}  // namespace berth
