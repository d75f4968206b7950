#pragma once
/// \file
/// Answers `numa`. Needs nlohmann-json.

#include <algorithm>
#include <string>
#include <utility>

#include "berth/io/case/value.hpp"
#include "berth/profile/scheduler_plugins_numa.hpp"

namespace berth {

[[nodiscard]] inline case_answer answer_numa(const case_question& q) {
  using namespace case_io;
  const auto expect = expected_object(q);
  if (!expect) return unexpected{expect.error()};
  if (q.profile != "scheduler-plugins") return case_verdict::unsupported("NUMA nodes by the rules of " + q.profile);
  if (auto odd = unread(q, "numa_nodes request",
                        {{"numa_nodes", "numa free distance_to", "NUMA node"}, {"request", "per_pod", "request"}}))
    return std::move(*odd);
  const object body{q.body, q.source};
  auto all = body.objects("numa_nodes");
  if (!all) return unexpected{std::move(all).error()};
  if (all->size() > 16) return body.wrong("numa_nodes", *q.find("numa_nodes"), "at most 16 NUMA nodes");
  std::vector<numa_part> parts;
  for (const auto& o : *all) {
    numa_part p;
    if (auto ok = o.integer("numa", p.id, 0, 1'000'000); !ok) return unexpected{std::move(ok).error()};
    auto free = amounts(o.given("free"), "free", q.source);
    if (!free) return unexpected{std::move(free).error()};
    p.free = std::move(*free);
    if (const auto* d = o.given("distance_to")) {
      const object to{*d, q.source};
      if (auto ok = to.is_object("distance_to"); !ok) return unexpected{std::move(ok).error()};
      for (const auto& key : d->keys) {
        const auto id = label_condition::whole(key);
        if (!id) return to.wrong("distance_to", *d, "the number of a NUMA node");
        std::int64_t n = 255;
        if (auto ok = to.integer(key, n, 0, 1'000'000); !ok) return unexpected{std::move(ok).error()};
        p.distance[*id] = n;
      }
    }
    parts.push_back(std::move(p));
  }
  amount_list need;
  if (const auto* r = q.given("request")) {
    auto one = amounts(object{*r, q.source}.given("per_pod"), "per_pod", q.source);
    if (!one) return unexpected{std::move(one).error()};
    need = std::move(*one);
  }
  const auto chosen = least_numa(parts, need);
  const auto list = [](std::vector<std::int64_t> ids) {
    std::sort(ids.begin(), ids.end());
    std::string out;
    for (const auto id : ids) out += (out.empty() ? "" : ",") + std::to_string(id);
    return out.empty() ? std::string{"none"} : out;
  };
  auto want = whole_numbers(*expect, "numa_nodes");
  if (!want) return unexpected{std::move(want).error()};
  std::string e = list(std::move(*want)), g = list(chosen ? chosen->ids : std::vector<std::int64_t>{});
  if (expect->given("minimal_distance") != nullptr) {
    bool closest = false;
    if (auto ok = expect->flag("minimal_distance", closest); !ok) return unexpected{std::move(ok).error()};
    e += closest ? ", closest" : "";
    g += chosen && chosen->least_distance ? ", closest" : "";
  }
  return case_verdict::compare(std::move(e), std::move(g));
}

}  // namespace berth
