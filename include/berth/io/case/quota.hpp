#pragma once
/// \file
/// Answers `quota-check` and `excess`. Needs nlohmann-json.

#include <string>
#include <utility>
#include <vector>

#include "berth/io/case/queues.hpp"
#include "berth/io/case/requests.hpp"
#include "berth/profile/scheduler_plugins.hpp"
#include "berth/profile/yunikorn.hpp"

namespace berth {

/// Elastic quota of the scheduler plugins: refused where the queue would pass its maximum, or all queues together the
/// sum of their minimums. A queue without a quota is not checked. Source: kubernetes-sigs/scheduler-plugins
/// pkg/capacityscheduling/capacity_scheduling.go (PreFilter).
[[nodiscard]] inline case_answer answer_quota_check(const case_question& q) {
  using namespace case_io;
  if (q.profile != "scheduler-plugins") return case_verdict::unsupported("quota checks by the rules of " + q.profile);
  if (auto odd = unread(
          q, "queues requests",
          {{"queues", "name parent minimum limit used", "queue"}, {"requests", "name queue count per_pod", "request"}}))
    return std::move(*odd);
  auto spec = plain_queues(q, "minimum");
  if (!spec) return unexpected{std::move(spec).error()};
  auto asked = requests(q);
  if (!asked) return unexpected{std::move(asked).error()};
  const object body{q.body, q.source};
  auto raw = body.items("requests");
  if (!raw) return unexpected{std::move(raw).error()};
  // What nobody has a quota of still needs a column, which nobody has anything in.
  for (const auto& r : *asked)
    for (const auto& a : r.per_task) (void)column(*spec, "", a.resource);
  as_elastic_quota(*spec);
  auto tree = queue_tree::build(std::move(*spec));
  if (!tree) return unexpected{std::move(tree).error()};
  if (auto ok = add_used(q, *tree); !ok) return unexpected{std::move(ok).error()};
  auto all = body.items("expect");
  if (!all) return unexpected{std::move(all).error()};
  std::string want, got;
  for (std::size_t i = 0; i < (*all)->size(); ++i) {
    const object e{(**all)[i], q.source};
    if (auto ok = e.is_object("expect"); !ok) return unexpected{std::move(ok).error()};
    std::string name, result, reason;
    for (const auto& [key, to] :
         {std::pair{"request", &name}, std::pair{"result", &result}, std::pair{"reason", &reason}})
      if (auto ok = e.text(key, *to); !ok) return unexpected{std::move(ok).error()};
    std::size_t at = (*raw)->size();
    for (std::size_t k = 0; k < asked->size(); ++k)
      if ((*asked)[k].name == name) at = k;
    if (at == (*raw)->size() && name.empty()) at = i;
    if (at >= (*raw)->size()) return e.wrong("request", e.value(), "the name of a request");
    std::string queue;
    if (auto ok = object{(**raw)[at], q.source}.text("queue", queue); !ok) return unexpected{std::move(ok).error()};
    const auto id = tree->find(queue);
    std::string mine = "allowed", why;
    if (id) {
      std::vector<quota_demand> demand;
      for (const auto& a : (*asked)[at].per_task)
        demand.push_back({tree->find_resource(a.resource), a.thousandths * (*asked)[at].count / 1000});
      const auto answer = tree->may_admit(id, demand);
      if (!answer) {
        mine = "refused";
        why = answer.refused_by == quota_limit::guarantees ? "over-sum-of-minimums" : "over-maximum";
      }
    }
    want += name + " " + (result == "refused" ? "refused" : "allowed");
    got += name + " " + mine;
    if (result == "refused" && !reason.empty() && mine == "refused") {
      // "over-maximum" goes by several names; the sum of minimums by one.
      want += reason.find("sum") != std::string::npos ? " over-sum-of-minimums" : " over-maximum";
      got += " " + why;
    }
    want += "; ";
    got += "; ";
  }
  return case_verdict::compare(std::move(want), std::move(got));
}

/// How much may be taken back from the first queue, whose limit was lowered.
[[nodiscard]] inline case_answer answer_excess(const case_question& q) {
  using namespace case_io;
  const auto expect = expected_object(q);
  if (!expect) return unexpected{expect.error()};
  if (q.profile != "yunikorn") return case_verdict::unsupported("excess by the rules of " + q.profile);
  if (auto odd = unread(q, "queues", {{"queues", "name parent guaranteed limit used", "queue"}}))
    return std::move(*odd);
  auto spec = plain_queues(q, "guaranteed");
  if (!spec) return unexpected{std::move(spec).error()};
  if (spec->queues.empty()) return unexpected{input_error{q.source, q.body.line, "no queues", "a queue"}};
  const std::string name = spec->queues[0].name;
  as_yunikorn(*spec);
  auto tree = queue_tree::build(std::move(*spec));
  if (!tree) return unexpected{std::move(tree).error()};
  if (auto ok = add_used(q, *tree); !ok) return unexpected{std::move(ok).error()};
  const auto over = excess(*tree, tree->find(name));
  if (expect->value().find("may_take_back") == nullptr)
    return case_verdict::unsupported("no may_take_back is expected");
  auto want = amounts(expect->given("may_take_back"), "may_take_back", q.source);
  if (!want) return unexpected{std::move(want).error()};
  amount_list got;
  if (over)
    for (std::uint16_t r = 0; r < tree->resource_count(); ++r)
      if ((*over)[r] > 0) got.set(tree->resource(resource_id{r}).name, (*over)[r] * 1000);
  const auto text = [](const amount_list& all) {
    std::string out;
    for (const auto& a : all)
      if (a.thousandths != 0) out += a.resource + ":" + std::to_string(a.thousandths / 1000) + " ";
    return out.empty() ? std::string{"nothing"} : out;
  };
  return case_verdict::compare(text(*want), text(got));
}

}  // namespace berth
