#pragma once
/// \file
/// Answers `fair-share`. Needs nlohmann-json and Eigen.

#include <map>
#include <string>
#include <utility>
#include <vector>

#include "berth/io/case/queues.hpp"
#include "berth/quota/division/kai.hpp"
#include "berth/quota/kueue_share.hpp"

namespace berth {

namespace case_io {

/// By queue, then resource: whether it has a quota of it, itself or below it. Kueue's shares count nothing else.
[[nodiscard]] inline read<std::map<std::string, std::vector<bool>>> counted_resources(const case_question& q,
                                                                                      queue_tree_spec& s) {
  std::map<std::string, std::string> parent;
  for (const auto& queue : s.queues) parent[queue.name] = queue.parent;
  std::map<std::string, std::vector<bool>> out;
  for (const auto& queue : s.queues) out[queue.name].resize(s.resources.size(), false);
  const object body{q.body, q.source};
  for (const char* list : {"queue_groups", "queues"}) {
    auto all = body.items(list);
    if (!all) return unexpected{std::move(all).error()};
    for (const auto& i : **all) {
      const object o{i, q.source};
      auto name = o.name();
      if (!name) return unexpected{std::move(name).error()};
      auto ok = each_pool(o, "quota", [&](const std::string& pool, const std::string& kind, const json_value&) {
        const auto r = column(s, pool, kind).index();
        std::string at = *name;
        for (std::size_t steps = 0; steps <= parent.size(); ++steps, at = parent[at]) {
          const auto mine = out.find(at);
          if (mine == out.end()) break;
          mine->second[r] = true;
        }
        return read<void>{};
      });
      if (!ok) return unexpected{std::move(ok).error()};
    }
  }
  return out;
}

[[nodiscard]] inline case_answer kueue_fair_share(const case_question& q, const object& expect) {
  if (auto odd = unread(q, "queues queue_groups usage_by_queue what_if_added")) return std::move(*odd);
  auto spec = kueue_queues(q);
  if (!spec) return unexpected{std::move(spec).error()};
  // Every resource in use has a column, also where nobody has a quota of it.
  const object body{q.body, q.source};
  const auto* usage = q.given("usage_by_queue");
  const auto add_columns = [&](const std::string& pool, const std::string& kind, const json_value& v) -> read<void> {
    if (spec->resources.size() >= max_columns) return object{v, q.source}.wrong(kind, v, "at most 1000 resources");
    (void)column(*spec, pool, kind);
    return {};
  };
  if (usage != nullptr)
    for (const auto& name : usage->keys)
      if (auto ok = each_pool(object{*usage, q.source}, name, add_columns); !ok)
        return unexpected{std::move(ok).error()};
  auto counted = counted_resources(q, *spec);
  if (!counted) return unexpected{std::move(counted).error()};
  auto tree = queue_tree::build(std::move(*spec));
  if (!tree) return unexpected{std::move(tree).error()};
  if (usage != nullptr)
    for (const auto& name : usage->keys) {
      const auto queue = tree->find(name);
      if (!queue) return unexpected{input_error{q.source, usage->line, "usage of " + name, "a queue"}};
      auto ok = each_pool(object{*usage, q.source}, name,
                          [&](const std::string& pool, const std::string& kind, const json_value& v) -> read<void> {
                            auto n = whole(v, kind, q.source);
                            if (!n) return unexpected{std::move(n).error()};
                            const quota_demand d{tree->find_resource(kind, pool), *n};
                            if (!tree->add_usage(queue, {&d, 1})) return object{v, q.source}.wrong(kind, v, "a usage");
                            return {};
                          });
      if (!ok) return unexpected{std::move(ok).error()};
    }
  // {pool: {kind: amount}} on top of everybody's usage, or {queue: {pool: …}} for one.
  std::map<std::string, quota_amounts> added;
  const auto add = [&](const std::string& to, const object& o, std::string_view key) {
    return each_pool(o, key, [&](const std::string& pool, const std::string& kind, const json_value& v) -> read<void> {
      auto n = whole(v, kind, q.source);
      if (!n) return unexpected{std::move(n).error()};
      auto& amounts = added[to];
      amounts.resize(tree->resource_count(), 0);
      const auto r = tree->find_resource(kind, pool);
      if (r.index() < amounts.size()) amounts[r.index()] += *n;
      return {};
    });
  };
  if (const auto* what = q.given("what_if_added"); what != nullptr && what->type == json_value::kind::object) {
    bool by_queue = !what->keys.empty();
    for (const auto& key : what->keys) by_queue = by_queue && static_cast<bool>(tree->find(key));
    if (by_queue) {
      for (const auto& key : what->keys)
        if (auto ok = add(key, object{*what, q.source}, key); !ok) return unexpected{std::move(ok).error()};
    } else if (auto ok = add("", body, "what_if_added"); !ok) {
      return unexpected{std::move(ok).error()};
    }
  }
  auto shares = expect.objects("shares");
  if (!shares) return unexpected{std::move(shares).error()};
  std::string want, got;
  for (const auto& o : *shares) {
    auto name = o.name();
    if (!name) return unexpected{std::move(name).error()};
    const auto queue = tree->find(*name);
    if (!queue) return o.wrong("name", o.value(), "a queue");
    const auto extra = added.find(added.count(*name) != 0 ? *name : std::string{});
    quota_amounts more = extra == added.end() ? quota_amounts{} : extra->second;
    for (std::size_t r = 0; r < more.size(); ++r)
      if (!(*counted)[*name][r]) more[r] = 0;
    const auto share = kueue_share_of(*tree, queue, more);
    const auto* permille = o.given("weighted_share_permille");
    std::string dominant;
    bool borrowing = false;
    if (auto ok = o.text("dominant", dominant); !ok) return unexpected{std::move(ok).error()};
    if (auto ok = o.flag("borrowing", borrowing); !ok) return unexpected{std::move(ok).error()};
    const bool infinite = permille != nullptr && permille->type == json_value::kind::string;
    if (permille != nullptr && (infinite ? permille->text != "infinite" : permille->type != json_value::kind::integer))
      return o.wrong("weighted_share_permille", *permille, "a whole number, or \"infinite\"");
    want += *name + " " +
            (permille == nullptr ? "?"
             : infinite          ? "infinite"
                                 : std::to_string(permille->integer)) +
            " " + dominant + (borrowing ? " borrowing; " : "; ");
    got += *name + " " +
           (permille == nullptr ? "?"
            : share.infinite()  ? "infinite"
                                : std::to_string(*share.rounded())) +
           " " + std::string{share.dominant} + (share.borrowing ? " borrowing; " : "; ");
  }
  if (want.empty()) return case_verdict::unsupported("no shares are expected");
  return case_verdict::compare(std::move(want), std::move(got));
}

[[nodiscard]] inline case_answer kai_fair_share(const case_question& q, const object& expect) {
  if (auto odd = unread(
          q, "capacity queues",
          {{"queues", "name priority created_at deserved over_quota_weight limit request allocated already_granted",
            "queue"}}))
    return std::move(*odd);
  const object body{q.body, q.source};
  const auto* capacity = q.given("capacity");
  if (capacity == nullptr || capacity->type != json_value::kind::object)
    return unexpected{input_error{q.source, q.body.line, "no capacity", "amounts by resource"}};
  auto queues = body.items("queues");
  if (!queues) return unexpected{std::move(queues).error()};
  const auto n = static_cast<Eigen::Index>((*queues)->size());
  std::vector<std::string> names((*queues)->size());
  std::string want, got;
  const auto text = [](quota_amount v) {
    std::string out = std::to_string(v / 1000);
    if (v % 1000 != 0) out += "." + std::to_string(1000 + v % 1000).substr(1);
    return out;
  };
  for (const auto& kind : capacity->keys) {
    const auto number = [&](const object& o, const char* key, quota_amount otherwise) -> read<quota_amount> {
      const auto* of = o.given(key);
      if (of == nullptr) return otherwise;
      if (of->type != json_value::kind::object) return o.wrong(key, *of, "amounts by resource");
      const auto* v = object{*of, q.source}.given(kind);
      if (v == nullptr) return otherwise;
      return whole(*v, kind, q.source, true);
    };
    division_problem p(n, 1);
    auto total = number(body, "capacity", 0);
    if (!total) return unexpected{std::move(total).error()};
    p.capacity[0] = *total;
    p.unit[0] = 1000;
    quota_matrix share = quota_matrix::Zero(n, 1);
    for (Eigen::Index i = 0; i < n; ++i) {
      const auto at = static_cast<std::size_t>(i);
      const object o{(**queues)[at], q.source};
      if (auto ok = o.is_object("queues"); !ok) return unexpected{std::move(ok).error()};
      auto name = o.name();
      if (!name) return unexpected{std::move(name).error()};
      names[at] = std::move(*name);
      // A deserved amount or a limit of null is none: unlimited.
      struct entry {
        const char* key;
        quota_amount* to;
        quota_amount otherwise;
      };
      const bool unlimited_deserved =
          o.given("deserved") != nullptr && object{*o.given("deserved"), q.source}.value().find(kind) != nullptr;
      for (const entry e : {entry{"deserved", &p.guarantee(i, 0), unlimited_deserved ? unlimited : 0},
                            entry{"over_quota_weight", &p.weight(i, 0), 0}, entry{"limit", &p.cap(i, 0), unlimited},
                            entry{"request", &p.demand(i, 0), 0}, entry{"already_granted", &share(i, 0), 0}}) {
        auto v = number(o, e.key, e.otherwise);
        if (!v) return unexpected{std::move(v).error()};
        *e.to = *v;
      }
      if (auto ok = o.integer("priority", p.priority[at], -2'000'000'000, 2'000'000'000); !ok)
        return unexpected{std::move(ok).error()};
      if (auto ok = o.integer("created_at", p.created_at[at], -9'000'000'000'000'000, 9'000'000'000'000'000); !ok)
        return unexpected{std::move(ok).error()};
    }
    division_workspace w;
    kai_division kai;
    quota_amount left = 0;
    if (q.policy_text("division") == "weighted-over-quota-only") {
      kai.give_deserved = false;
      left = kai.surplus(p.view(), 0, p.capacity[0], share, w);
    } else {
      kai.divide(p.view(), share, w);
      left = p.capacity[0] > share.sum() ? p.capacity[0] - share.sum() : 0;
    }
    auto shares = expect.objects("shares");
    if (!shares) return unexpected{std::move(shares).error()};
    for (const auto& o : *shares) {
      auto name = o.name();
      if (!name) return unexpected{std::move(name).error()};
      const auto* v = o.given(kind);
      if (v == nullptr) continue;
      auto amount = whole(*v, kind, q.source, true);
      if (!amount) return unexpected{std::move(amount).error()};
      want += *name + " " + kind + " " + text(*amount) + "; ";
      bool known = false;
      for (std::size_t k = 0; k < names.size(); ++k)
        if (names[k] == *name) {
          got += *name + " " + kind + " " + text(share(static_cast<Eigen::Index>(k), 0)) + "; ";
          known = true;
        }
      if (!known) return o.wrong("name", o.value(), "a queue");
    }
    if (const auto* l = expect.given("leftover"); l != nullptr && l->type == json_value::kind::object)
      if (const auto* v = object{*l, q.source}.given(kind)) {
        auto amount = whole(*v, kind, q.source, true);
        if (!amount) return unexpected{std::move(amount).error()};
        want += kind + " left " + text(*amount) + "; ";
        got += kind + " left " + text(left) + "; ";
      }
  }
  // What is expected of a resource without a capacity was not worked out.
  auto shares = expect.objects("shares");
  if (!shares) return unexpected{std::move(shares).error()};
  for (const auto& o : *shares)
    for (const auto& key : o.value().keys)
      if (key != "name" && o.given(key) != nullptr && capacity->find(key) == nullptr)
        return case_verdict::unsupported("a share of " + key + ", of which there is no capacity");
  if (want.empty()) return case_verdict::unsupported("no shares are expected");
  return case_verdict::compare(std::move(want), std::move(got));
}

}  // namespace case_io

[[nodiscard]] inline case_answer answer_fair_share(const case_question& q) {
  const auto expect = case_io::expected_object(q);
  if (!expect) return unexpected{expect.error()};
  if (q.profile == "kueue") return case_io::kueue_fair_share(q, *expect);
  if (q.profile == "kai") return case_io::kai_fair_share(q, *expect);
  return case_verdict::unsupported("fair shares by the rules of " + q.profile);
}

}  // namespace berth
