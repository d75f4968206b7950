#pragma once
/// \file
/// Our own JSON for queue trees (`berth-queues/1`) and for what they use and want (`berth-usage/1`). Needs
/// nlohmann-json.
///
///     { "schema": "berth-queues/1", "rule": "cohort", "guarantees": "own-plus-children", "policy": "kueue-cohort",
///       "resources": [{"name": "gpu", "pool": "h100", "unit": 1}], "capacity": {"h100/gpu": 64},
///       "queues": [{"name": "a", "parent": "all", "weight": 1.5, "priority": 0, "created_at": 0, "active": true,
///                   "lends": true, "group": false,
///                   "quota": {"h100/gpu": {"guarantee": 8, "borrowing_limit": 4, "lending_limit": 2, "cap": 20,
///                                          "deserved": 8, "weight": 3, "budget": 3600}},
///                   "users": {"*": {"h100/gpu": 4}}}] }
///     { "schema": "berth-usage/1", "usage": {"a": {"h100/gpu": 3}}, "demand": {"a": {"h100/gpu": 9}} }
///
/// `rule`: "cohort" or "caps". `guarantees`: "as-given", "own-plus-children" or "at-least-children". Every member but
/// schema, resources, queues and name may be left out. Amounts are whole numbers. The `weight` of a resource counts
/// there instead of the queue's. `demand` is all that is wanted, running and waiting; a queue without one wants what it
/// uses.

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "berth/io/json_document.hpp"
#include "berth/io/quota/queue_file.hpp"
#include "berth/io/text_file.hpp"
#include "berth/quota/queue_tree.hpp"

namespace berth {

/// What the queues of a tree use and want.
struct usage_file {
  struct entry {
    std::string queue;
    std::size_t resource = 0;
    quota_amount amount = 0;
    std::size_t line = 0;
  };
  std::vector<entry> usage, demand;
};

namespace quota_json_detail {

using kind = json_value::kind;

struct reader {
  const std::string& source;
  const queue_tree_spec& tree;

  [[nodiscard]] unexpected<input_error> fail(const json_value& at, std::string found, std::string wanted) const {
    return unexpected<input_error>{input_error{source, at.line, std::move(found), std::move(wanted)}};
  }
  [[nodiscard]] expected<std::size_t, input_error> resource(const json_value& at, std::string_view label,
                                                            const std::string& who) const {
    std::string known;
    for (std::size_t i = 0; i < tree.resources.size(); ++i) {
      if (tree.resources[i].label() == label) return i;
      known += (i == 0 ? "" : ", ") + tree.resources[i].label();
    }
    return fail(at, "unknown resource " + io_text::quoted(label) + " of " + who, "one of " + known);
  }
  [[nodiscard]] expected<quota_amount, input_error> amount(const json_value& v, const std::string& what) const {
    if (v.type != kind::integer || v.integer < 0 || v.integer > max_quota)
      return fail(v, what + ": " + v.described(), "a whole number from 0 to 2^62");
    return v.integer;
  }
  /// A weight in thousandths.
  [[nodiscard]] expected<quota_amount, input_error> weight(const json_value& v, const std::string& what) const {
    if ((v.type != kind::integer && v.type != kind::real) || !(v.real >= 0) || v.real > 1e12)
      return fail(v, what + ": " + v.described(), "a number from 0 to 10^12");
    return static_cast<quota_amount>(std::llround(v.real * 1000));
  }
};

}  // namespace quota_json_detail

/// Whether a JSON document says that it is a tree of ours.
[[nodiscard]] inline bool is_quota_json(const json_value& root) noexcept {
  const json_value* s = root.type == json_value::kind::object ? root.find("schema") : nullptr;
  return s != nullptr && s->type == json_value::kind::string && s->text == "berth-queues/1";
}

/// Reads a tree. O(bytes).
[[nodiscard]] inline expected<queue_file, input_error> read_quota_json(const json_value& root,
                                                                       const std::string& source) {
  using namespace quota_json_detail;
  queue_file out;
  out.system = "berth";
  out.policy = "weighted-max-min";
  auto& t = out.tree;
  t.source = source;
  const reader in{source, t};
  const json_reader top{root, source};
  if (auto ok = top.only("schema rule guarantees policy resources capacity queues"); !ok) return unexpected{ok.error()};
  std::string schema, rule = "cohort", guarantees;
  for (const auto& [key, into] : {std::pair<const char*, std::string*>{"schema", &schema},
                                  {"rule", &rule},
                                  {"guarantees", &guarantees},
                                  {"policy", &out.policy}})
    if (auto ok = top.text(key, *into); !ok) return unexpected{ok.error()};
  if (schema != "berth-queues/1") return in.fail(root, "schema " + io_text::quoted(schema), "\"berth-queues/1\"");
  if (rule != "cohort" && rule != "caps") return in.fail(root, "rule " + io_text::quoted(rule), "cohort or caps");
  t.rule = rule == "cohort" ? quota_rule::cohort : quota_rule::caps;
  if (guarantees.empty()) guarantees = rule == "cohort" ? "own-plus-children" : "as-given";
  if (guarantees == "as-given") t.guarantees = guarantee_rule::as_given;
  else if (guarantees == "own-plus-children") t.guarantees = guarantee_rule::own_plus_children;
  else if (guarantees == "at-least-children") t.guarantees = guarantee_rule::at_least_children;
  else
    return in.fail(root, "guarantees " + io_text::quoted(guarantees),
                   "as-given, own-plus-children or at-least-children");

  const auto resources = top.array("resources");
  const auto queues = top.array("queues");
  if (!resources) return unexpected{resources.error()};
  if (!queues) return unexpected{queues.error()};
  if (*resources == nullptr || *queues == nullptr) return in.fail(root, "no resources or no queues", "both");
  for (const auto& r : (*resources)->items) {
    quota_resource k;
    const json_reader one{r, source};
    if (auto ok = one.only("name pool unit"); !ok) return unexpected{ok.error()};
    if (auto ok = one.text("name", k.name); !ok) return unexpected{ok.error()};
    if (auto ok = one.text("pool", k.pool); !ok) return unexpected{ok.error()};
    if (auto ok = one.integer("unit", k.unit, 1, 1'000'000'000); !ok) return unexpected{ok.error()};
    if (k.name.empty()) return in.fail(r, "a resource without a name", "a name");
    for (const auto& other : t.resources)
      if (other.label() == k.label())
        return in.fail(r, "resource " + io_text::quoted(k.label()) + " a second time", "every resource once");
    t.resources.push_back(std::move(k));
  }
  t.capacity.resize(t.resources.size());
  if (const json_value* c = root.find("capacity")) {
    if (c->type != kind::object) return in.fail(*c, "capacity: " + c->described(), "an object of amounts");
    for (std::size_t i = 0; i < c->keys.size(); ++i) {
      const auto r = in.resource(c->items[i], c->keys[i], "capacity");
      if (!r) return unexpected{r.error()};
      const auto a = in.amount(c->items[i], "capacity of " + c->keys[i]);
      if (!a) return unexpected{a.error()};
      t.capacity[*r] = *a;
    }
  }
  for (const auto& v : (*queues)->items) {
    queue_spec q;
    q.line = v.line;
    q.quota.resize(t.resources.size());
    const json_reader one{v, source};
    if (auto ok = one.only("name parent weight priority created_at active lends group quota users"); !ok)
      return unexpected{ok.error()};
    if (auto ok = one.text("name", q.name); !ok) return unexpected{ok.error()};
    if (auto ok = one.text("parent", q.parent); !ok) return unexpected{ok.error()};
    const std::string who = "queue " + io_text::quoted(q.name);
    if (auto ok = one.integer("priority", q.priority, -2'000'000'000, 2'000'000'000); !ok)
      return unexpected{ok.error()};
    if (auto ok = one.integer("created_at", q.created_at, 0, max_quota); !ok) return unexpected{ok.error()};
    for (const auto& [key, into] :
         {std::pair<const char*, bool*>{"active", &q.active}, {"lends", &q.lends}, {"group", &q.group}})
      if (auto ok = one.yes_or_no(key, *into); !ok) return unexpected{ok.error()};
    if (const json_value* w = v.find("weight")) {
      const auto thousandths = in.weight(*w, "weight of " + who);
      if (!thousandths) return unexpected{thousandths.error()};
      q.weight = *thousandths;
    }
    if (const json_value* k = v.find("quota")) {
      if (k->type != kind::object)
        return in.fail(*k, "quota of " + who + ": " + k->described(), "an object by resource");
      for (std::size_t i = 0; i < k->keys.size(); ++i) {
        const auto r = in.resource(k->items[i], k->keys[i], who);
        if (!r) return unexpected{r.error()};
        const json_reader numbers{k->items[i], source};
        if (auto ok = numbers.only("guarantee borrowing_limit lending_limit cap deserved weight budget"); !ok)
          return unexpected{ok.error()};
        auto& into = q.quota[*r];
        quota_amount deserved = -1;
        const std::pair<const char*, quota_amount*> fields[] = {{"guarantee", &into.guarantee},
                                                                {"borrowing_limit", &into.borrowing_limit},
                                                                {"lending_limit", &into.lending_limit},
                                                                {"cap", &into.cap},
                                                                {"budget", &into.budget},
                                                                {"deserved", &deserved}};
        for (const auto& [key, amount] : fields)
          if (const json_value* n = k->items[i].find(key)) {
            const auto a = in.amount(*n, std::string{key} + " of " + k->keys[i] + " of " + who);
            if (!a) return unexpected{a.error()};
            *amount = *a;
          }
        if (deserved >= 0) into.deserved = deserved;
        if (const json_value* w = k->items[i].find("weight")) {
          const auto thousandths = in.weight(*w, "weight of " + k->keys[i] + " of " + who);
          if (!thousandths) return unexpected{thousandths.error()};
          into.weight = *thousandths;
        }
      }
    }
    if (const json_value* u = v.find("users")) {
      if (u->type != kind::object) return in.fail(*u, "users of " + who + ": " + u->described(), "an object by user");
      for (std::size_t i = 0; i < u->keys.size(); ++i) {
        const auto& limits = u->items[i];
        if (limits.type != kind::object)
          return in.fail(limits, "limits of user " + io_text::quoted(u->keys[i]) + " of " + who,
                         "an object by resource");
        user_limit l{u->keys[i], std::vector<quota_amount>(t.resources.size(), unlimited)};
        for (std::size_t k = 0; k < limits.keys.size(); ++k) {
          const auto r = in.resource(limits.items[k], limits.keys[k], who);
          if (!r) return unexpected{r.error()};
          const auto a = in.amount(limits.items[k], "limit of user " + io_text::quoted(l.user) + " of " + who);
          if (!a) return unexpected{a.error()};
          l.at_most[*r] = *a;
        }
        q.user_limits.push_back(std::move(l));
      }
    }
    t.queues.push_back(std::move(q));
  }
  return out;
}

/// Reads usage and demand for a tree that was read before.
[[nodiscard]] inline expected<usage_file, input_error> read_usage_json(const named_text& file, const queue_tree& t) {
  using namespace quota_json_detail;
  const auto root = parse_json(file.text, file.name);
  if (!root) return unexpected{root.error()};
  const reader in{file.name, t.description()};
  const json_reader top{*root, file.name};
  if (auto ok = top.only("schema usage demand"); !ok) return unexpected{ok.error()};
  std::string schema;
  if (auto ok = top.text("schema", schema); !ok) return unexpected{ok.error()};
  if (schema != "berth-usage/1") return in.fail(*root, "schema " + io_text::quoted(schema), "\"berth-usage/1\"");
  usage_file out;
  for (const auto& [key, into] :
       {std::pair<const char*, std::vector<usage_file::entry>*>{"usage", &out.usage}, {"demand", &out.demand}}) {
    const json_value* all = root->find(key);
    if (all == nullptr) continue;
    if (all->type != kind::object)
      return in.fail(*all, std::string{key} + ": " + all->described(), "an object by queue");
    for (std::size_t i = 0; i < all->keys.size(); ++i) {
      const auto& q = all->items[i];
      const std::string who = "queue " + io_text::quoted(all->keys[i]);
      if (!t.find(all->keys[i])) return in.fail(q, "unknown " + who, "a queue of " + t.description().source);
      if (q.type != kind::object)
        return in.fail(q, std::string{key} + " of " + who + ": " + q.described(), "an object by resource");
      for (std::size_t k = 0; k < q.keys.size(); ++k) {
        const auto r = in.resource(q.items[k], q.keys[k], who);
        if (!r) return unexpected{r.error()};
        const auto a = in.amount(q.items[k], std::string{key} + " of " + q.keys[k] + " of " + who);
        if (!a) return unexpected{a.error()};
        into->push_back({all->keys[i], *r, *a, q.items[k].line});
      }
    }
  }
  return out;
}

}  // namespace berth
