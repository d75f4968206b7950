#pragma once
/// \file
/// What a case asks to place. Needs nlohmann-json.

#include <string>
#include <utility>
#include <vector>

#include "berth/io/case/value.hpp"
#include "berth/profile/gang.hpp"

namespace berth::case_io {

/// `{"key": "region", "op": "In", "values": ["us-west"]}`
[[nodiscard]] inline read<label_condition> condition(const json_value& v, const std::string& source) {
  const object o{v, source};
  label_condition c;
  if (auto ok = o.is_object("a condition"); !ok) return unexpected{std::move(ok).error()};
  if (auto ok = o.text("key", c.key); !ok) return unexpected{std::move(ok).error()};
  std::string op = "In";
  if (auto ok = o.text("op", op); !ok) return unexpected{std::move(ok).error()};
  constexpr std::pair<const char*, label_condition::test> ops[] = {
      {"In", label_condition::test::in},         {"NotIn", label_condition::test::not_in},
      {"Exists", label_condition::test::exists}, {"DoesNotExist", label_condition::test::does_not_exist},
      {"Gt", label_condition::test::greater},    {"Lt", label_condition::test::less}};
  bool known = false;
  for (const auto& [name, test] : ops)
    if (op == name) c.op = test, known = true;
  if (!known) return o.wrong("op", *o.given("op"), "In, NotIn, Exists, DoesNotExist, Gt or Lt");
  if (auto ok = o.texts("values", c.values); !ok) return unexpected{std::move(ok).error()};
  return c;
}

/// A term: its conditions under `all_of`, as an array, or one condition alone.
[[nodiscard]] inline read<label_term> term(const json_value& v, const std::string& source) {
  label_term out;
  const json_value* list = &v;
  if (v.type == json_value::kind::object && v.find("all_of") != nullptr) list = v.find("all_of");
  if (list->type != json_value::kind::array) {
    auto one = condition(*list, source);
    if (!one) return unexpected{std::move(one).error()};
    out.all_of.push_back(std::move(*one));
    return out;
  }
  for (const auto& i : list->items) {
    auto one = condition(i, source);
    if (!one) return unexpected{std::move(one).error()};
    out.all_of.push_back(std::move(*one));
  }
  return out;
}

/// `node_selector`, `tolerations` and `node_affinity` of a request or of one of its members.
[[nodiscard]] inline read<node_wish> wish(const object& o) {
  node_wish w;
  auto selector = labels(o.given("node_selector"), "node_selector", o.source());
  if (!selector) return unexpected{std::move(selector).error()};
  w.selector = std::move(*selector);
  auto tolerations = o.items("tolerations");
  if (!tolerations) return unexpected{std::move(tolerations).error()};
  for (const auto& i : **tolerations) {
    const object t{i, o.source()};
    taint_toleration one;
    if (auto ok = t.is_object("tolerations"); !ok) return unexpected{std::move(ok).error()};
    std::string op = "Equal";
    for (const auto& [key, to] : {std::pair{"key", &one.key}, std::pair{"value", &one.value},
                                  std::pair{"effect", &one.effect}, std::pair{"op", &op}})
      if (auto ok = t.text(key, *to); !ok) return unexpected{std::move(ok).error()};
    if (op != "Equal" && op != "Exists") return t.wrong("op", *t.given("op"), "Equal or Exists");
    one.exists = op == "Exists";
    w.tolerations.push_back(std::move(one));
  }
  const auto* affinity = o.given("node_affinity");
  if (affinity == nullptr) return w;
  const object a{*affinity, o.source()};
  if (auto ok = a.is_object("node_affinity"); !ok) return unexpected{std::move(ok).error()};
  auto required = a.items("required_any_of");
  if (!required) return unexpected{std::move(required).error()};
  for (const auto& i : **required) {
    auto t = term(i, o.source());
    if (!t) return unexpected{std::move(t).error()};
    w.required.push_back(std::move(*t));
  }
  auto preferred = a.items("preferred");
  if (!preferred) return unexpected{std::move(preferred).error()};
  for (const auto& i : **preferred) {
    preferred_term p;
    const object po{i, o.source()};
    if (auto ok = po.is_object("preferred"); !ok) return unexpected{std::move(ok).error()};
    if (auto ok = po.integer("weight", p.weight, -1'000'000, 1'000'000); !ok) return unexpected{std::move(ok).error()};
    auto t = term(i, o.source());
    if (!t) return unexpected{std::move(t).error()};
    p.term = std::move(*t);
    w.preferred.push_back(std::move(p));
  }
  return w;
}

/// `[{"node": "x1", "count": 2}, {"domain": ["b1", "r1"], "count": 1}]`
[[nodiscard]] inline read<std::vector<placed_count>> placements(const object& o, std::string_view key) {
  std::vector<placed_count> out;
  auto all = o.items(key);
  if (!all) return unexpected{std::move(all).error()};
  for (const auto& i : **all) {
    const object p{i, o.source()};
    placed_count one;
    if (auto ok = p.is_object(key); !ok) return unexpected{std::move(ok).error()};
    one.count = 1;
    if (auto ok = p.integer("count", one.count, 0, max_count); !ok) return unexpected{std::move(ok).error()};
    std::string node;
    if (auto ok = p.text("node", node); !ok) return unexpected{std::move(ok).error()};
    if (!node.empty()) one.domain.push_back(std::move(node));
    else if (const auto* d = p.given("domain"); d != nullptr && d->type == json_value::kind::string)
      one.domain.push_back(d->text);
    else if (auto ok = p.texts("domain", one.domain); !ok) return unexpected{std::move(ok).error()};
    if (one.domain.empty()) return p.wrong(key, i, "a node or a domain");
    out.push_back(std::move(one));
  }
  return out;
}

/// `topology` of a request.
[[nodiscard]] inline read<void> topology(const object& o, named_request& r) {
  const auto* v = o.given("topology");
  if (v == nullptr) return {};
  const object t{*v, o.source()};
  if (auto ok = t.is_object("topology"); !ok) return ok;
  std::string mode = "none";
  if (auto ok = t.text("mode", mode); !ok) return ok;
  if (mode == "required") r.mode = topology_mode::required;
  else if (mode == "preferred") r.mode = topology_mode::preferred;
  else if (mode == "unconstrained") r.mode = topology_mode::unconstrained;
  else if (mode != "none") return t.wrong("mode", *t.given("mode"), "required, preferred, unconstrained or none");
  if (auto ok = t.text("level", r.level); !ok) return ok;
  auto segments = t.items("slices");
  if (!segments) return unexpected{std::move(segments).error()};
  for (const auto& i : **segments) {
    const object s{i, o.source()};
    named_segment one;
    if (auto ok = s.is_object("slices"); !ok) return ok;
    if (auto ok = s.text("level", one.level); !ok) return ok;
    if (auto ok = s.integer("size", one.size, 0, max_count); !ok) return ok;
    r.segments.push_back(std::move(one));
  }
  return {};
}

/// One request, as far as the topology-aware schedulers share it.
[[nodiscard]] inline read<named_request> request(const json_value& v, const std::string& source) {
  const object o{v, source};
  named_request r;
  if (auto ok = o.is_object("requests"); !ok) return unexpected{std::move(ok).error()};
  if (auto ok = o.text("name", r.name); !ok) return unexpected{std::move(ok).error()};
  if (auto ok = o.text("group", r.group); !ok) return unexpected{std::move(ok).error()};
  r.count = 1;
  if (auto ok = o.integer("count", r.count, 0, max_count); !ok) return unexpected{std::move(ok).error()};
  auto need = amounts(o.given("per_pod"), "per_pod", source);
  if (!need) return unexpected{std::move(need).error()};
  for (const auto& a : *need)
    if (a.thousandths < 0) return o.wrong("per_pod", *o.given("per_pod"), "amounts of at least 0");
  r.per_task = std::move(*need);
  auto w = wish(o);
  if (!w) return unexpected{std::move(w).error()};
  r.wish = std::move(*w);
  if (auto ok = topology(o, r); !ok) return unexpected{std::move(ok).error()};
  if (const auto* p = o.given("previous")) {
    const object po{*p, source};
    if (auto ok = po.is_object("previous"); !ok) return unexpected{std::move(ok).error()};
    auto where = placements(po, "placements");
    if (!where) return unexpected{std::move(where).error()};
    r.previous = std::move(*where);
  }
  return r;
}

/// A label that stands for a level under another name, such as "cloud.com/topology-block" for "block" or
/// "kubernetes.io/hostname" for "host", as the level's own name; any other key as it is.
[[nodiscard]] inline std::string level_key(const std::string& key, const std::vector<std::string>& levels) {
  for (const auto& l : levels)
    if (key == l) return key;
  std::string_view last{key};
  if (const auto slash = last.rfind('/'); slash != std::string_view::npos) last.remove_prefix(slash + 1);
  else return key;
  if (last.starts_with("topology-")) last.remove_prefix(9);
  if (last == "hostname") last = "host";
  for (const auto& l : levels)
    if (last == l) return l;
  return key;
}
inline void use_level_keys(node_wish& w, const std::vector<std::string>& levels) {
  for (auto& s : w.selector) s.key = level_key(s.key, levels);
  for (auto& t : w.required)
    for (auto& c : t.all_of) c.key = level_key(c.key, levels);
  for (auto& p : w.preferred)
    for (auto& c : p.term.all_of) c.key = level_key(c.key, levels);
}

/// `requests` of a case, with what `existing` says of each.
[[nodiscard]] inline read<std::vector<named_request>> requests(const case_question& q) {
  const object body{q.body, q.source};
  std::vector<named_request> out;
  auto all = body.items("requests");
  if (!all) return unexpected{std::move(all).error()};
  std::vector<std::string> levels;
  if (const auto* c = q.given("cluster"))
    if (auto ok = object{*c, q.source}.texts("levels", levels); !ok) return unexpected{std::move(ok).error()};
  for (const auto& i : **all) {
    auto r = request(i, q.source);
    if (!r) return unexpected{std::move(r).error()};
    use_level_keys(r->wish, levels);
    out.push_back(std::move(*r));
  }
  auto existing = body.objects("existing");
  if (!existing) return unexpected{std::move(existing).error()};
  for (const auto& o : *existing) {
    std::string of;
    if (auto ok = o.text("request", of); !ok) return unexpected{std::move(ok).error()};
    auto where = placements(o, "placements");
    if (!where) return unexpected{std::move(where).error()};
    for (auto& r : out)
      if (r.name == of) r.existing = *where;
  }
  return out;
}

}  // namespace berth::case_io
