#pragma once
/// \file
/// YuniKorn's queues.yaml, also inside a ConfigMap, as a queue tree. Needs yaml-cpp and nlohmann-json.
///
/// Queues are named by their path ("root.tenants.group-a"), in lower case as in YuniKorn; those of a partition other
/// than "default" begin with the partition ("[gpu]root.test"), and its resources are in a pool of its name, since no
/// partition uses nodes of another. A partition whose top is not a single "root" gets one.
/// `vcore` is counted in thousandths, memory in bytes, everything else in whole units; `maxapplications` is a resource
/// named "applications". Limits of users are limits per user, with "*" as everybody; limits of groups are read as those
/// of a user "group:NAME", also "group:*". A root with resources is refused, as by YuniKorn. What is not about quota
/// (placement rules, ACLs, sort policies) is not looked at; child templates, for queues that are made later, are noted.
/// Source: apache/yunikorn-site docs/user_guide/queue_config.md; checks as in pkg/common/configs/configvalidator.go.

#include <cstddef>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "berth/io/kubernetes/values.hpp"
#include "berth/io/quota/queue_file.hpp"
#include "berth/io/yaml_document.hpp"

namespace berth {

namespace yunikorn_detail {

/// The partition of a queue by its name or prefix; empty for the default one.
[[nodiscard]] inline std::string_view pool_of(std::string_view name) noexcept {
  const auto end = name.find(']');
  return name.starts_with('[') && end != std::string_view::npos ? name.substr(1, end - 1) : std::string_view{};
}

/// A map of resources into amounts by column, through `set(quota column, amount)`.
template <class Set>
[[nodiscard]] expected<void, input_error> amounts(const kube_reader& in, const json_value& parent, std::string_view key,
                                                  const std::string& who, std::string_view pool, queue_file& out,
                                                  Set&& set) {
  const auto map = in.optional_member(parent, key, json_value::kind::object);
  if (!map) return unexpected{map.error()};
  if (*map == nullptr) return {};
  for (std::size_t i = 0; i < (*map)->keys.size(); ++i) {
    const auto& v = (*map)->items[i];
    const auto& name = (*map)->keys[i];
    const auto q = in.quantity(v, std::string{key} + " " + name + " of " + who);
    if (!q) return unexpected{q.error()};
    const bool cores = name == "vcore";
    if (q->whole > (cores ? max_quota / 1001 : max_quota - 1))
      return in.error(v, std::string{key} + " " + name + " of " + who + ": " + scalar_text(v), "an amount below 2^62");
    set(queue_file_detail::column(out.tree, name, pool),
        cores ? q->whole * 1000 + q->thousandths : q->whole + (q->thousandths > 0 ? 1 : 0));
  }
  return {};
}

[[nodiscard]] inline expected<void, input_error> limits(const kube_reader& in, const json_value& at,
                                                        const std::string& who, queue_file& out, queue_spec& q) {
  const auto list = in.optional_member(at, "limits", json_value::kind::array);
  if (!list) return unexpected{list.error()};
  if (*list == nullptr) return {};
  for (const auto& l : (*list)->items) {
    if (auto ok = in.only(l, "limit users groups maxresources maxapplications", "a limit of " + who); !ok) return ok;
    std::vector<std::string> names;
    for (const char* key : {"users", "groups"}) {
      const auto all = in.optional_member(l, key, json_value::kind::array);
      if (!all) return unexpected{all.error()};
      if (*all == nullptr) continue;
      for (const auto& n : (*all)->items) {
        const std::string name = scalar_text(n);
        if (name.empty()) return in.error(n, n.described() + " among the " + key + " of " + who, "a name");
        names.push_back(std::string_view{key} == "groups" ? "group:" + name : name);
      }
    }
    if (names.empty()) return in.error(l, "a limit of " + who + " for nobody", "users or groups");
    std::vector<quota_amount> most;
    const auto set = [&](std::size_t r, quota_amount a) {
      if (most.size() <= r) most.resize(r + 1, unlimited);
      most[r] = a;
    };
    if (auto ok = amounts(in, l, "maxresources", who, pool_of(q.name), out, set); !ok) return ok;
    const auto apps = in.optional_integer(l, "maxapplications", 0, max_quota);
    if (!apps) return unexpected{apps.error()};
    if (*apps && **apps > 0) set(queue_file_detail::column(out.tree, "applications", pool_of(q.name)), **apps);
    if (most.empty())
      return in.error(l, "a limit of " + who + " without maxresources or maxapplications", "one of them");
    for (auto& n : names) {
      for (const auto& before : q.user_limits)
        if (before.user == n) return in.error(l, "a second limit of " + n + " at " + who, "one limit for everybody");
      q.user_limits.push_back({std::move(n), most});
    }
  }
  return {};
}

/// One queue and all below it. Depth is bounded by that of the document.
[[nodiscard]] inline expected<void, input_error> queue(const kube_reader& in, const json_value& v,
                                                       const std::string& parent, const std::string& prefix,
                                                       queue_file& out) {
  const auto name = in.text(v, "name");
  if (!name) return unexpected{name.error()};
  // What YuniKorn takes for a name; in others a dot would look like a level.
  bool is_name = !name->empty() && name->size() <= 64;
  for (const char x : *name)
    is_name = is_name && (io_text::is_digit(x) || (io_text::lower(x) >= 'a' && io_text::lower(x) <= 'z') ||
                          std::string_view{"_:#/@-"}.find(x) != std::string_view::npos);
  if (!is_name)
    return in.error(*v.find("name"), "name " + io_text::quoted(*name), "1 to 64 letters, digits and _ : # / @ -");
  queue_spec q;
  q.name = (parent.empty() ? prefix : parent + ".") + io_text::lower(*name);
  q.parent = parent;
  q.line = v.line;
  const std::string who = "queue " + io_text::quoted(q.name);
  // YuniKorn refuses keys that it does not know.
  if (auto ok = in.only(v,
                        "name parent resources maxapplications properties adminacl submitacl childtemplate "
                        "queues limits",
                        who);
      !ok)
    return ok;
  const auto resources = in.optional_member(v, "resources", json_value::kind::object);
  if (!resources) return unexpected{resources.error()};
  if (v.find("childtemplate") != nullptr)
    out.notes.push_back("childtemplate of " + who + " not read: it is for queues that are made later");
  if (*resources != nullptr) {
    if (auto ok = in.only(**resources, "guaranteed max", "the resources of " + who); !ok) return ok;
    for (const char* key : {"guaranteed", "max"})
      if (const json_value* r = (*resources)->find(key); q.name == prefix + "root" && r != nullptr && !r->keys.empty())
        return in.error(*r, std::string{key} + " of " + who, "no resources of the root: it has the cluster's");
    if (auto ok = amounts(in, **resources, "guaranteed", who, pool_of(q.name), out,
                          [&](std::size_t r, quota_amount a) { queue_file_detail::quota_at(q, r).guarantee = a; });
        !ok)
      return ok;
    if (auto ok = amounts(in, **resources, "max", who, pool_of(q.name), out,
                          [&](std::size_t r, quota_amount a) { queue_file_detail::quota_at(q, r).cap = a; });
        !ok)
      return ok;
  }
  const auto apps = in.optional_integer(v, "maxapplications", 0, max_quota);
  if (!apps) return unexpected{apps.error()};
  if (*apps && **apps > 0)
    queue_file_detail::quota_at(q, queue_file_detail::column(out.tree, "applications", pool_of(q.name))).cap = **apps;
  if (auto ok = limits(in, v, who, out, q); !ok) return ok;
  const auto properties = in.optional_member(v, "properties", json_value::kind::object);
  if (!properties) return unexpected{properties.error()};
  if (*properties != nullptr)
    if (const json_value* p = (*properties)->find("priority.offset"); p != nullptr) {
      const std::string word = scalar_text(*p);
      const bool minus = word.starts_with('-');
      const auto n = io_text::parse_count(std::string_view{word}.substr(minus ? 1 : 0), 2'000'000'000);
      if (!n) return in.error(*p, "priority.offset of " + who + ": " + p->described(), "a whole number");
      q.priority = static_cast<std::int32_t>(minus ? -static_cast<std::int64_t>(*n) : static_cast<std::int64_t>(*n));
    }
  const auto children = in.optional_member(v, "queues", json_value::kind::array);
  const auto is_parent = in.flag(v, "parent", false);
  if (!children) return unexpected{children.error()};
  if (!is_parent) return unexpected{is_parent.error()};
  q.group = *children != nullptr || *is_parent;
  const std::string path = q.name;
  out.tree.queues.push_back(std::move(q));
  if (*children != nullptr)
    for (const auto& c : (*children)->items)
      if (auto ok = queue(in, c, path, prefix, out); !ok) return ok;
  return {};
}

}  // namespace yunikorn_detail

/// The queues.yaml of a ConfigMap, also of one in a List; null where there is none.
[[nodiscard]] inline const json_value* yunikorn_config_map(const json_value& document) noexcept {
  if (document.type != json_value::kind::object) return nullptr;
  if (const json_value* items = document.find("items"); items != nullptr && items->type == json_value::kind::array) {
    for (const json_value& item : items->items)
      if (item.type == json_value::kind::object && item.find("items") == nullptr)
        if (const json_value* found = yunikorn_config_map(item); found != nullptr) return found;
    return nullptr;
  }
  const json_value* data = document.find("data");
  const json_value* text =
      data != nullptr && data->type == json_value::kind::object ? data->find("queues.yaml") : nullptr;
  return text != nullptr && text->type == json_value::kind::string ? text : nullptr;
}

/// Reads the queues of a document that has `partitions`.
[[nodiscard]] inline expected<queue_file, input_error> read_yunikorn_queues(const json_value& document,
                                                                            const std::string& source) {
  const kube_reader in{source};
  queue_file out;
  out.system = "yunikorn";
  out.policy = "weighted-max-min";
  out.tree.source = source;
  out.tree.rule = quota_rule::caps;
  out.tree.guarantees = guarantee_rule::at_least_children;
  const auto partitions = in.member(document, "partitions", json_value::kind::array);
  if (!partitions) return unexpected{partitions.error()};
  for (const auto& p : (*partitions)->items) {
    const auto name = in.text(p, "name");
    const auto queues = in.member(p, "queues", json_value::kind::array);
    if (!name) return unexpected{name.error()};
    if (!queues) return unexpected{queues.error()};
    const std::string prefix = io_text::lower(*name) == "default" ? "" : "[" + io_text::lower(*name) + "]";
    std::string root;
    const auto& list = (*queues)->items;
    const auto first = list.empty() ? std::nullopt : *in.optional_text(list[0], "name");
    const std::size_t at = out.tree.queues.size();
    if (list.size() != 1 || !first || io_text::lower(*first) != "root") {
      root = prefix + "root";
      out.tree.queues.emplace_back();
      out.tree.queues.back().name = root;
      out.tree.queues.back().line = p.line;
      out.tree.queues.back().group = true;
    }
    for (const auto& q : list)
      if (auto ok = yunikorn_detail::queue(in, q, root, prefix, out); !ok) return unexpected{ok.error()};
    // Limits of a partition are those of its root.
    if (at < out.tree.queues.size())
      if (auto ok = yunikorn_detail::limits(in, p, "partition " + io_text::quoted(*name), out, out.tree.queues[at]);
          !ok)
        return unexpected{ok.error()};
  }
  if (auto ok = queue_file_detail::complete(out.tree); !ok) return unexpected{std::move(ok).error()};
  queue_file_detail::keep_apart(out.tree, [](const queue_spec& q) { return yunikorn_detail::pool_of(q.name); });
  // A queue may not have more than its parent.
  std::map<std::string, const queue_spec*> by_name;
  for (const auto& q : out.tree.queues) {
    const auto up = by_name.find(q.parent);
    if (up != by_name.end())
      for (std::size_t r = 0; r < q.quota.size(); ++r)
        if (q.quota[r].cap != unlimited && q.quota[r].cap > up->second->quota[r].cap)
          return unexpected{input_error{source, q.line,
                                        "max " + out.tree.resources[r].name + " " + std::to_string(q.quota[r].cap) +
                                            " of queue " + io_text::quoted(q.name),
                                        "at most the " + std::to_string(up->second->quota[r].cap) + " of its parent"}};
    by_name.emplace(q.name, &q);
  }
  return out;
}

/// Reads YAML text: a queues.yaml, or a ConfigMap that holds one. Lines are those of the outer file.
[[nodiscard]] inline expected<queue_file, input_error> read_yunikorn_queues(const std::vector<json_value>& documents,
                                                                            const std::string& source) {
  for (const auto& d : documents) {
    if (d.type == json_value::kind::object && d.find("partitions") != nullptr) return read_yunikorn_queues(d, source);
    const json_value* text = yunikorn_config_map(d);
    if (text == nullptr) continue;
    const auto outer = [&](input_error e) {
      e.line += text->line;  // the block begins on the line after its key
      return unexpected{std::move(e)};
    };
    const auto inside = parse_yaml(text->text, source);
    if (!inside) return outer(inside.error());
    if (inside->size() != 1)
      return outer({source, 0, std::to_string(inside->size()) + " documents in queues.yaml", "one"});
    auto out = read_yunikorn_queues(inside->front(), source);
    if (!out) return outer(out.error());
    for (auto& q : out->tree.queues) q.line += text->line;
    return out;
  }
  return unexpected{input_error{source, 0, "no partitions", "YuniKorn's queues.yaml, or a ConfigMap that holds it"}};
}

}  // namespace berth
