#pragma once
/// \file
/// The cluster of a case and what runs on it. Needs nlohmann-json.

#include <string>
#include <utility>

#include "berth/io/case/value.hpp"

namespace berth::case_io {

inline constexpr std::size_t max_nodes = 100'000;
inline constexpr std::size_t max_levels = 32;

/// `["b1", null]`
[[nodiscard]] inline read<std::vector<std::optional<std::string>>> domain_path(const object& o, std::string_view key) {
  std::vector<std::optional<std::string>> out;
  auto all = o.items(key);
  if (!all) return unexpected{std::move(all).error()};
  for (const auto& i : **all) {
    if (i.type == json_value::kind::null) out.emplace_back();
    else if (i.type == json_value::kind::string) out.emplace_back(i.text);
    else return o.wrong(key, i, "an array of domain names");
  }
  return out;
}

[[nodiscard]] inline read<std::vector<node_taint>> taints(const object& o, std::string_view key) {
  std::vector<node_taint> out;
  auto all = o.items(key);
  if (!all) return unexpected{std::move(all).error()};
  for (const auto& i : **all) {
    const object t{i, o.source()};
    node_taint one;
    if (auto ok = t.is_object(key); !ok) return unexpected{std::move(ok).error()};
    if (auto ok = t.text("key", one.key); !ok) return unexpected{std::move(ok).error()};
    if (auto ok = t.text("value", one.value); !ok) return unexpected{std::move(ok).error()};
    if (auto ok = t.text("effect", one.effect); !ok) return unexpected{std::move(ok).error()};
    out.push_back(std::move(one));
  }
  return out;
}

[[nodiscard]] inline read<site_node> node(const json_value& v, std::size_t levels, const std::string& source) {
  const object o{v, source};
  site_node n;
  if (auto ok = o.is_object("nodes"); !ok) return unexpected{std::move(ok).error()};
  auto name = o.name();
  if (!name) return unexpected{std::move(name).error()};
  n.name = std::move(*name);
  auto path = domain_path(o, "path");
  if (!path) return unexpected{std::move(path).error()};
  n.path = std::move(*path);
  if (o.given("path") == nullptr && levels == 1) n.path.emplace_back(n.name);
  if (n.path.size() > levels) return o.wrong("path", *o.given("path"), "one domain per level");
  n.path.resize(levels);
  auto capacity = amounts(o.given("capacity"), "capacity", source);
  if (!capacity) return unexpected{std::move(capacity).error()};
  n.free = n.capacity = std::move(*capacity);
  if (const auto* f = o.given("free")) {
    auto free = amounts(f, "free", source);
    if (!free) return unexpected{std::move(free).error()};
    n.free = std::move(*free);
  }
  if (o.given("free_slots") != nullptr) {
    std::int64_t slots = 0;
    if (auto ok = o.integer("free_slots", slots, 0, max_count); !ok) return unexpected{std::move(ok).error()};
    n.free_slots = slots;
  }
  auto l = labels(o.given("labels"), "labels", source);
  if (!l) return unexpected{std::move(l).error()};
  n.labels = std::move(*l);
  auto t = taints(o, "taints");
  if (!t) return unexpected{std::move(t).error()};
  n.taints = std::move(*t);
  if (auto ok = o.flag("ready", n.ready); !ok) return unexpected{std::move(ok).error()};
  if (auto ok = o.flag("schedulable", n.schedulable); !ok) return unexpected{std::move(ok).error()};
  return n;
}

[[nodiscard]] inline read<std::vector<site_use>> uses(const object& body, std::string_view key) {
  std::vector<site_use> out;
  auto all = body.items(key);
  if (!all) return unexpected{std::move(all).error()};
  for (const auto& i : **all) {
    const object o{i, body.source()};
    site_use u;
    if (auto ok = o.is_object(key); !ok) return unexpected{std::move(ok).error()};
    if (auto ok = o.text("name", u.name); !ok) return unexpected{std::move(ok).error()};
    if (auto ok = o.text("node", u.node); !ok) return unexpected{std::move(ok).error()};
    if (const auto* d = o.given("domain"); d != nullptr && d->type == json_value::kind::string)
      u.domain.push_back(d->text);
    else if (auto ok = o.texts("domain", u.domain); !ok) return unexpected{std::move(ok).error()};
    auto r = amounts(o.given("requests"), "requests", body.source());
    if (!r) return unexpected{std::move(r).error()};
    u.requests = std::move(*r);
    if (auto ok = o.integer("count", u.count, 0, max_count); !ok) return unexpected{std::move(ok).error()};
    if (auto ok = o.flag("counts", u.counts); !ok) return unexpected{std::move(ok).error()};
    out.push_back(std::move(u));
  }
  return out;
}

/// `cluster` and `usage` of a case; an empty site where it has none.
[[nodiscard]] inline read<named_site> cluster(const case_question& q) {
  named_site s;
  const object body{q.body, q.source};
  if (const auto* c = q.given("cluster")) {
    const object o{*c, q.source};
    if (auto ok = o.is_object("cluster"); !ok) return unexpected{std::move(ok).error()};
    if (auto ok = o.texts("levels", s.levels); !ok) return unexpected{std::move(ok).error()};
    if (s.levels.size() > max_levels) return o.wrong("levels", *o.given("levels"), "at most 32 levels");
    auto nodes = o.items("nodes");
    if (!nodes) return unexpected{std::move(nodes).error()};
    if ((*nodes)->size() > max_nodes) return o.wrong("nodes", *o.given("nodes"), "at most 100000 nodes");
    for (const auto& i : **nodes) {
      auto n = node(i, s.levels.size(), q.source);
      if (!n) return unexpected{std::move(n).error()};
      s.nodes.push_back(std::move(*n));
    }
    auto filter = labels(o.given("node_filter"), "node_filter", q.source);
    if (!filter) return unexpected{std::move(filter).error()};
    s.node_filter = std::move(*filter);
  }
  auto u = uses(body, "usage");
  if (!u) return unexpected{std::move(u).error()};
  s.uses = std::move(*u);
  return s;
}

}  // namespace berth::case_io
