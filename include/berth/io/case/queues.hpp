#pragma once
/// \file
/// Queues of cases, as Kueue and as the simpler quota checks state them. Needs nlohmann-json.

#include <map>
#include <string>
#include <utility>
#include <vector>

#include "berth/io/case/value.hpp"
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
  s.source = q.source;
  const object body{q.body, q.source};
  for (const char* list : {"queue_groups", "queues"}) {
    auto all = body.objects(list);
    if (!all) return unexpected{std::move(all).error()};
    for (const auto& o : *all) {
      auto name = o.name();
      if (!name) return unexpected{std::move(name).error()};
      queue_spec out;
      out.name = std::move(*name);
      out.quota.resize(s.resources.size());
      out.group = std::string_view{list} == "queue_groups";
      out.line = o.value().line;
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

/// Queues with `limit`, `used`, and `minimum` or `guaranteed`, each {kind: amount}.
[[nodiscard]] inline read<queue_tree_spec> plain_queues(const case_question& q, std::string_view guarantee_key) {
  queue_tree_spec s;
  s.source = q.source;
  auto all = object{q.body, q.source}.objects("queues");
  if (!all) return unexpected{std::move(all).error()};
  for (const auto& o : *all) {
    auto name = o.name();
    if (!name) return unexpected{std::move(name).error()};
    queue_spec out;
    out.name = std::move(*name);
    out.line = o.value().line;
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

}  // namespace berth
