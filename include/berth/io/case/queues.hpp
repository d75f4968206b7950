#pragma once
/// \file
/// Queues of cases, and the kinds that `quota/` answers: `fair-share`, `quota-check`, `excess`. Needs nlohmann-json and
/// Eigen.

#include <map>
#include <string>
#include <utility>
#include <vector>

#include "berth/io/case/order.hpp"
#include "berth/profile/scheduler_plugins.hpp"
#include "berth/profile/yunikorn.hpp"
#include "berth/quota/division/kai.hpp"
#include "berth/quota/kueue_share.hpp"
#include "berth/quota/queue_tree.hpp"

namespace berth {

namespace case_io {

/// The column of a resource of a pool, made where it is new.
[[nodiscard]] inline resource_id column(queue_tree_spec& s, const std::string& pool, const std::string& name) {
  for (std::size_t i = 0; i < s.resources.size(); ++i)
    if (s.resources[i].pool == pool && s.resources[i].name == name) return resource_id{static_cast<std::uint16_t>(i)};
  s.resources.push_back({name, pool, 1});
  for (auto& q : s.queues) q.quota.emplace_back();
  return resource_id{static_cast<std::uint16_t>(s.resources.size() - 1)};
}
/// More than any case needs; the columns are 16 bits wide.
inline constexpr std::size_t max_columns = 1'000;

/// "More than anybody counts": what larger amounts become, so that thousands of them still add up.
inline constexpr quota_amount countless = quota_amount{1} << 50;

/// An amount: whole units, or thousandths where `fine`. Amounts beyond `countless`, such as a quota of an exabyte of
/// CPUs, are that.
[[nodiscard]] inline read<quota_amount> whole(const json_value& v, std::string_view key, const std::string& source,
                                              bool fine = false) {
  const bool number = v.type == json_value::kind::integer || v.type == json_value::kind::real;
  if (!number || !(v.real >= 0)) return object{v, source}.wrong(key, v, "a number of at least 0");
  if (v.real * (fine ? 1000 : 1) >= static_cast<double>(countless)) return countless;
  if (fine) return static_cast<quota_amount>(v.real * 1000 + 0.5);
  const auto n = static_cast<quota_amount>(v.real);
  if (static_cast<double>(n) != v.real) return object{v, source}.wrong(key, v, "a whole number");
  return n;
}

/// Calls `f(pool, kind, amount)` for every number of {pool: {kind: amount}}.
template <class F>
[[nodiscard]] read<void> each_pool(const object& o, std::string_view key, F&& f) {
  const auto* pools = o.given(key);
  if (pools == nullptr) return {};
  if (pools->type != json_value::kind::object) return o.wrong(key, *pools, "an object of pools");
  for (std::size_t i = 0; i < pools->keys.size(); ++i) {
    const auto& kinds = pools->items[i];
    if (kinds.type != json_value::kind::object) return o.wrong(pools->keys[i], kinds, "an object of resources");
    for (std::size_t k = 0; k < kinds.keys.size(); ++k)
      if (auto ok = f(pools->keys[i], kinds.keys[k], kinds.items[k]); !ok) return ok;
  }
  return {};
}

/// `queues` and `queue_groups` in Kueue's form.
[[nodiscard]] inline read<queue_tree_spec> kueue_queues(const case_question& q) {
  queue_tree_spec s;
  s.source = q.id;
  const object body{q.body, q.source};
  for (const char* list : {"queue_groups", "queues"}) {
    auto all = body.items(list);
    if (!all) return unexpected{std::move(all).error()};
    for (const auto& i : **all) {
      const object o{i, q.source};
      if (auto ok = o.is_object(list); !ok) return unexpected{std::move(ok).error()};
      auto name = o.name();
      if (!name) return unexpected{std::move(name).error()};
      queue_spec out;
      out.name = std::move(*name);
      out.quota.resize(s.resources.size());
      out.group = std::string_view{list} == "queue_groups";
      out.line = i.line;
      if (auto ok = o.text("parent", out.parent); !ok) return unexpected{std::move(ok).error()};
      if (const auto* w = o.given("weight")) {
        auto n = thousandths(*w, "weight", q.source);
        if (!n) return unexpected{std::move(n).error()};
        out.weight = *n;
      }
      s.queues.push_back(std::move(out));
      const std::size_t at = s.queues.size() - 1;
      auto ok = each_pool(
          o, "quota", [&](const std::string& pool, const std::string& kind, const json_value& v) -> read<void> {
            const object k{v, q.source};
            if (auto is = k.is_object(kind); !is) return is;
            if (s.resources.size() >= max_columns) return k.wrong(kind, v, "at most 1000 resources");
            const auto r = column(s, pool, kind);
            auto& quota = s.queues[at].quota[r.index()];
            // A nominal quota of null is no limit.
            if (k.given("nominal") == nullptr && v.find("nominal") != nullptr) quota.guarantee = countless;
            for (const auto& [key, to] :
                 {std::pair{"nominal", &quota.guarantee}, std::pair{"borrowing_limit", &quota.borrowing_limit},
                  std::pair{"lending_limit", &quota.lending_limit}})
              if (const auto* n = k.given(key)) {
                auto amount = whole(*n, key, q.source);
                if (!amount) return unexpected{std::move(amount).error()};
                *to = *amount;
              }
            return {};
          });
      if (!ok) return unexpected{std::move(ok).error()};
    }
  }
  return s;
}

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
  auto shares = expect.items("shares");
  if (!shares) return unexpected{std::move(shares).error()};
  std::string want, got;
  for (const auto& i : **shares) {
    const object o{i, q.source};
    if (auto ok = o.is_object("shares"); !ok) return unexpected{std::move(ok).error()};
    auto name = o.name();
    if (!name) return unexpected{std::move(name).error()};
    const auto queue = tree->find(*name);
    if (!queue) return o.wrong("name", i, "a queue");
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
  return case_verdict::compare(std::move(want), std::move(got));
}

[[nodiscard]] inline case_answer kai_fair_share(const case_question& q, const object& expect) {
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
    auto shares = expect.items("shares");
    if (!shares) return unexpected{std::move(shares).error()};
    for (const auto& i : **shares) {
      const object o{i, q.source};
      if (auto ok = o.is_object("shares"); !ok) return unexpected{std::move(ok).error()};
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
      if (!known) return o.wrong("name", i, "a queue");
    }
    if (const auto* l = expect.given("leftover"); l != nullptr && l->type == json_value::kind::object)
      if (const auto* v = object{*l, q.source}.given(kind)) {
        auto amount = whole(*v, kind, q.source, true);
        if (!amount) return unexpected{std::move(amount).error()};
        want += kind + " left " + text(*amount) + "; ";
        got += kind + " left " + text(left) + "; ";
      }
  }
  return case_verdict::compare(std::move(want), std::move(got));
}

/// Queues with `limit`, `used`, and `minimum` or `guaranteed`, each {kind: amount}.
[[nodiscard]] inline read<queue_tree_spec> plain_queues(const case_question& q, std::string_view guarantee_key) {
  queue_tree_spec s;
  s.source = q.id;
  auto all = object{q.body, q.source}.items("queues");
  if (!all) return unexpected{std::move(all).error()};
  for (const auto& i : **all) {
    const object o{i, q.source};
    if (auto ok = o.is_object("queues"); !ok) return unexpected{std::move(ok).error()};
    auto name = o.name();
    if (!name) return unexpected{std::move(name).error()};
    queue_spec out;
    out.name = std::move(*name);
    out.line = i.line;
    out.quota.resize(s.resources.size());
    if (auto ok = o.text("parent", out.parent); !ok) return unexpected{std::move(ok).error()};
    s.queues.push_back(std::move(out));
    for (const std::string_view key : {guarantee_key, std::string_view{"limit"}, std::string_view{"used"}}) {
      const auto* kinds = o.given(key);
      if (kinds == nullptr) continue;
      if (kinds->type != json_value::kind::object) return o.wrong(key, *kinds, "amounts by resource");
      for (std::size_t k = 0; k < kinds->keys.size(); ++k) {
        if (s.resources.size() >= max_columns) return o.wrong(key, *kinds, "at most 1000 resources");
        const auto r = column(s, "", kinds->keys[k]);
        if (is_null(&kinds->items[k]) || key == "used") continue;
        auto n = whole(kinds->items[k], kinds->keys[k], q.source);
        if (!n) return unexpected{std::move(n).error()};
        auto& quota = s.queues.back().quota[r.index()];
        (key == "limit" ? quota.cap : quota.guarantee) = *n;
      }
    }
  }
  return s;
}

/// Adds `used` of every queue.
[[nodiscard]] inline read<void> add_used(const case_question& q, queue_tree& tree) {
  auto all = object{q.body, q.source}.items("queues");
  if (!all) return unexpected{std::move(all).error()};
  for (const auto& i : **all) {
    const object o{i, q.source};
    auto name = o.name();
    const auto* used = o.given("used");
    if (!name || used == nullptr) continue;
    for (std::size_t k = 0; k < used->keys.size(); ++k) {
      if (is_null(&used->items[k])) continue;
      auto n = whole(used->items[k], used->keys[k], q.source);
      if (!n) return unexpected{std::move(n).error()};
      const quota_demand d{tree.find_resource(used->keys[k]), *n};
      if (!tree.add_usage(tree.find(*name), {&d, 1})) return o.wrong("used", *used, "a usage");
    }
  }
  return {};
}

}  // namespace case_io

[[nodiscard]] inline case_answer answer_fair_share(const case_question& q) {
  const auto expect = case_io::expected_object(q);
  if (!expect) return unexpected{expect.error()};
  if (q.profile == "kueue") return case_io::kueue_fair_share(q, *expect);
  if (q.profile == "kai") return case_io::kai_fair_share(q, *expect);
  return case_verdict::unsupported("fair shares by the rules of " + q.profile);
}

/// Elastic quota of the scheduler plugins: refused where the queue would pass its maximum, or all queues together the
/// sum of their minimums. A queue without a quota is not checked. Source: kubernetes-sigs/scheduler-plugins
/// pkg/capacityscheduling/capacity_scheduling.go (PreFilter).
[[nodiscard]] inline case_answer answer_quota_check(const case_question& q) {
  using namespace case_io;
  if (q.profile != "scheduler-plugins") return case_verdict::unsupported("quota checks by the rules of " + q.profile);
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
  auto spec = plain_queues(q, "guaranteed");
  if (!spec) return unexpected{std::move(spec).error()};
  if (spec->queues.empty()) return unexpected{input_error{q.source, q.body.line, "no queues", "a queue"}};
  const std::string name = spec->queues[0].name;
  as_yunikorn(*spec);
  auto tree = queue_tree::build(std::move(*spec));
  if (!tree) return unexpected{std::move(tree).error()};
  if (auto ok = add_used(q, *tree); !ok) return unexpected{std::move(ok).error()};
  const auto over = excess(*tree, tree->find(name));
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
