#pragma once
/// \file
/// Volcano's Queue objects (scheduling.volcano.sh) as a queue tree. Needs yaml-cpp and nlohmann-json.
///
/// Tree        `spec.parent` (queues without one, and those whose parent is "root", stand below the queue "root", which
///             Volcano makes by itself) or the annotation volcano.sh/hierarchy: "root/eng/prod" puts the queue below
///             "root/eng", a group of that name, whatever the first word is called. A queue whose path goes through
///             another queue's is refused, as Volcano's admission does. Where one file has both, the annotation counts.
/// Weights     `spec.weight`, 1 where absent; 0 is refused, as Volcano does. With the annotation, those of
///             volcano.sh/hierarchy-weights, at least 1: of a group the first queue that names it decides.
/// Numbers     `capability` is the cap, `guarantee.resource` the guarantee, `deserved` the deserved amount. CPUs become
///             millicores, everything else whole units. "root" deserves everything. Guarantees are not lent. Guarantees
///             of children above their parent's are an error, as up to Volcano 1.12 (later ones warn in the log).
/// Division    "hdrf" where there are hierarchies, else "volcano-capacity" where anything is deserved or there is a
///             parent, else "volcano-proportion".
/// Source      volcano-sh/volcano pkg/webhooks/admission/queues, pkg/scheduler/plugins/{drf,capacity,proportion};
///             docs/design/hierarchical-queue-on-capacity-plugin.md.

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdlib>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "berth/io/kubernetes/documents.hpp"
#include "berth/io/kubernetes/values.hpp"
#include "berth/io/quota/kube_amount.hpp"
#include "berth/io/quota/queue_file.hpp"

namespace berth {

[[nodiscard]] inline bool holds_volcano_queues(const kube_documents& d) noexcept {
  for (const auto& o : d.objects)
    if (o.group == "scheduling.volcano.sh" && o.kind == "Queue") return true;
  return false;
}

namespace volcano_detail {

[[nodiscard]] inline std::vector<std::string> parts_of(std::string_view path) {
  std::vector<std::string> out;
  for (std::size_t at = 0;;) {
    const auto slash = path.find('/', at);
    out.emplace_back(path.substr(at, slash == std::string_view::npos ? slash : slash - at));
    if (slash == std::string_view::npos) return out;
    at = slash + 1;
  }
}

/// A list of resources through `set(quota, amount)`.
template <class Set>
[[nodiscard]] expected<void, input_error> amounts(const kube_reader& in, const json_value* list,
                                                  const std::string& what, queue_file& out, queue_spec& q, Set&& set) {
  for (std::size_t i = 0; list != nullptr && i < list->keys.size(); ++i) {
    const auto& name = list->keys[i];
    const auto a = kube_amount(in, list->items[i], what + " " + name, name);
    if (!a) return unexpected{a.error()};
    set(queue_file_detail::quota_at(q, queue_file_detail::column(out.tree, name, "")), *a);
  }
  return {};
}

/// The two annotations of one queue: words and weights, as many of each; empty where there are none.
struct hierarchy {
  std::vector<std::string> path;
  std::vector<quota_amount> weights;  ///< thousandths
};
[[nodiscard]] inline expected<hierarchy, input_error> hierarchy_of(const kube_reader& in, const kube_object& o,
                                                                   const std::string& who) {
  hierarchy out;
  const json_value* notes = o.metadata("annotations");
  if (notes == nullptr) return out;
  const auto path = in.optional_text(*notes, "volcano.sh/hierarchy");
  const auto weights = in.optional_text(*notes, "volcano.sh/hierarchy-weights");
  if (!path) return unexpected{path.error()};
  if (!weights) return unexpected{weights.error()};
  if (path->value_or("").empty() && weights->value_or("").empty()) return out;
  out.path = parts_of(path->value_or(""));
  const auto list = parts_of(weights->value_or(""));
  // Groups are named by their paths: without a bound a long one would take memory by the square of its length.
  constexpr std::size_t deepest = 64;
  if (out.path.size() > deepest)
    return in.error(*notes, "a hierarchy of " + std::to_string(out.path.size()) + " words of " + who,
                    "at most " + std::to_string(deepest));
  if (out.path.size() != list.size() || out.path.size() < 2)
    return in.error(*notes,
                    "hierarchy " + io_text::quoted(path->value_or("")) + " with weights " +
                        io_text::quoted(weights->value_or("")) + " of " + who,
                    "a path from the root such as root/eng/prod, and as many weights");
  for (std::size_t i = 0; i < list.size(); ++i) {
    char* stop = nullptr;
    const double w = std::strtod(list[i].c_str(), &stop);
    if (list[i].empty() || *stop != '\0' || !(w > 0) || w > 1e9)
      return in.error(*notes, "weight " + io_text::quoted(list[i]) + " in the hierarchy of " + who,
                      "a number above 0, at most 10^9");
    if (out.path[i].empty())
      return in.error(*notes, "hierarchy " + io_text::quoted(path->value_or("")) + " of " + who, "no empty words");
    out.weights.push_back(static_cast<quota_amount>(std::llround(std::max(1.0, w) * 1000)));
  }
  return out;
}

}  // namespace volcano_detail

/// Reads the Queues of a file. O(objects × depth).
[[nodiscard]] inline expected<queue_file, input_error> read_volcano_queues(const kube_documents& d) {
  using namespace volcano_detail;
  const kube_reader in{d.source};
  queue_file out;
  out.system = "volcano";
  out.policy = "volcano-proportion";
  out.tree.source = d.source;
  out.tree.rule = quota_rule::caps;
  out.tree.guarantees = guarantee_rule::at_least_children;
  std::map<std::string, std::size_t> ignored, groups, leaves;  // groups and leaves by path
  bool any_parent = false, any_hierarchy = false, any_deserved = false, has_root = false;
  for (const auto& o : d.objects) {
    if (o.group != "scheduling.volcano.sh" || o.kind != "Queue") {
      ++ignored[o.kind.empty() ? "objects without a kind" : o.kind];
      continue;
    }
    if (o.name.empty()) return in.error(*o.value, "a Queue without a name", "metadata.name");
    const std::string who = "queue " + io_text::quoted(o.name);
    queue_spec q;
    q.name = o.name;
    q.line = o.value->line;
    q.lends = false;
    const auto spec = in.optional_member(*o.value, "spec", json_value::kind::object);
    const auto status = in.optional_member(*o.value, "status", json_value::kind::object);
    if (!spec) return unexpected{spec.error()};
    if (!status) return unexpected{status.error()};
    if (*spec != nullptr) {
      const auto weight = in.optional_integer(**spec, "weight", 1, 2'147'483'647);
      const auto priority = in.optional_integer(**spec, "priority", -2'147'483'648, 2'147'483'647);
      const auto parent = in.optional_text(**spec, "parent");
      const auto cap = in.optional_member(**spec, "capability", json_value::kind::object);
      const auto deserved = in.optional_member(**spec, "deserved", json_value::kind::object);
      const auto guarantee = in.optional_member(**spec, "guarantee", json_value::kind::object);
      if (!weight)
        return unexpected{input_error{weight.error().source, weight.error().line, weight.error().found + " of " + who,
                                      weight.error().expected}};
      if (!priority) return unexpected{priority.error()};
      if (!parent) return unexpected{parent.error()};
      if (!cap) return unexpected{cap.error()};
      if (!deserved) return unexpected{deserved.error()};
      if (!guarantee) return unexpected{guarantee.error()};
      q.weight = weight->value_or(1) * 1000;
      q.priority = static_cast<std::int32_t>(priority->value_or(0));
      q.parent = parent->value_or("");
      any_parent = any_parent || !q.parent.empty();
      const json_value* kept = nullptr;
      if (*guarantee != nullptr) {
        const auto list = in.optional_member(**guarantee, "resource", json_value::kind::object);
        if (!list) return unexpected{list.error()};
        kept = *list;
      }
      if (auto ok = amounts(in, *cap, "capability of " + who, out, q, [](auto& k, auto a) { k.cap = a; }); !ok)
        return unexpected{ok.error()};
      if (auto ok = amounts(in, kept, "guarantee of " + who, out, q, [](auto& k, auto a) { k.guarantee = a; }); !ok)
        return unexpected{ok.error()};
      if (auto ok = amounts(in, *deserved, "deserved of " + who, out, q, [](auto& k, auto a) { k.deserved = a; }); !ok)
        return unexpected{ok.error()};
      any_deserved = any_deserved || *deserved != nullptr;
    }
    if (*status != nullptr) {
      const auto state = in.optional_text(**status, "state");
      if (!state) return unexpected{state.error()};
      if (*state && (**state == "Closed" || **state == "Closing")) {
        q.active = false;
        out.notes.push_back(who + " is stopped (" + **state + ")");
      }
    }
    const auto h = hierarchy_of(in, o, who);
    if (!h) return unexpected{h.error()};
    if (!h->path.empty()) {
      any_hierarchy = true;
      std::string path = "root";
      for (std::size_t i = 1; i < h->path.size(); ++i) {
        const std::string up = path;
        path += "/" + h->path[i];
        const bool last = i + 1 == h->path.size();
        if (const auto other = leaves.find(path); other != leaves.end() || (last && groups.count(path) != 0))
          return in.error(*o.value,
                          "the hierarchy of " + who + " at or below " + io_text::quoted(path) + " of another queue",
                          "queues at the ends of paths");
        if (last) {
          q.parent = up;
          q.weight = h->weights[i];
          leaves.emplace(path, 0);
        } else if (const auto [it, fresh] = groups.emplace(path, out.tree.queues.size()); fresh) {
          queue_spec group;
          group.name = path;
          group.parent = up;
          group.group = true;
          group.line = q.line;
          group.weight = h->weights[i];
          out.tree.queues.push_back(std::move(group));
        } else if (out.tree.queues[it->second].weight != h->weights[i]) {
          out.notes.push_back(who + " gives another weight to " + io_text::quoted(path) +
                              ": the first one counts, as with Volcano");
        }
      }
    }
    has_root = has_root || q.name == "root";
    out.tree.queues.push_back(std::move(q));
  }
  if (any_hierarchy || any_parent) {
    for (auto& q : out.tree.queues)
      if (q.parent.empty() && q.name != "root") q.parent = "root";
    if (!has_root) {
      queue_spec root;
      root.name = "root";
      root.group = true;
      out.tree.queues.push_back(std::move(root));
    }
  }
  if (any_hierarchy) out.policy = "hdrf";
  else if (any_deserved || any_parent) out.policy = "volcano-capacity";
  for (const auto& i : ignored) out.notes.push_back(io_text::counted(i.second, i.first) + " not read: not a queue");
  if (auto ok = queue_file_detail::complete(out.tree); !ok) return unexpected{std::move(ok).error()};
  // The root deserves all there is where it says nothing else.
  for (auto& q : out.tree.queues)
    for (auto& k : q.quota)
      if (q.name == "root" && !k.deserved) k.deserved = max_quota;
  return out;
}

}  // namespace berth
