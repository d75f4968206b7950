#pragma once
/// \file
/// Kueue's ClusterQueue and Cohort objects (v1beta1 and v1beta2) as a queue tree. Needs yaml-cpp and nlohmann-json.
///
/// Flavors are pools. CPUs become millicores, everything else whole units. A cohort that is only named by a queue
/// exists with no quota of its own. Cohorts in a cycle are handled as Kueue handles them: the queues below them are
/// inactive. A queue that is stopped (`stopPolicy`) is inactive. Every flavor of a resource group lists what the group
/// covers, in that order, and a resource or a flavor is in one group of a queue: Kueue's webhook and the rules of its
/// CRD refuse the rest (pkg/webhooks/clusterqueue_webhook.go, apis/kueue/v1beta2/clusterqueue_types.go). What is not
/// about quota (namespaces, preemption, flavor order, admission checks) is not looked at; other objects are listed in
/// `notes`.

#include <cstddef>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "berth/io/kubernetes/documents.hpp"
#include "berth/io/kubernetes/values.hpp"
#include "berth/io/quota/kube_amount.hpp"
#include "berth/io/quota/queue_file.hpp"

namespace berth {

namespace kueue_detail {

/// What a resource group covers. Errors: none, a name that `seen` holds already.
[[nodiscard]] inline expected<std::vector<std::string>, input_error> covered_resources(const kube_reader& in,
                                                                                       const json_value& group,
                                                                                       const std::string& who,
                                                                                       std::set<std::string>& seen) {
  const auto list = in.member(group, "coveredResources", json_value::kind::array);
  if (!list) return unexpected{list.error()};
  if ((*list)->items.empty()) return in.error(**list, "no coveredResources in " + who, "at least one resource");
  std::vector<std::string> out;
  for (const auto& v : (*list)->items) {
    if (v.type != json_value::kind::string)
      return in.error(v, "coveredResources of " + who + ": " + v.described(), "names of resources");
    if (!seen.insert(v.text).second)
      return in.error(v, io_text::quoted(v.text) + " covered a second time in " + who, "every resource in one group");
    out.push_back(v.text);
  }
  return out;
}

/// `spec.resourceGroups` into a queue.
[[nodiscard]] inline expected<void, input_error> resource_groups(const kube_reader& in, const json_value& spec,
                                                                 const std::string& who, bool has_parent,
                                                                 queue_file& out, queue_spec& q) {
  const auto groups = in.optional_member(spec, "resourceGroups", json_value::kind::array);
  if (!groups) return unexpected{groups.error()};
  if (*groups == nullptr) return {};
  std::set<std::string> resources, pools;
  for (const auto& g : (*groups)->items) {
    const auto covered = covered_resources(in, g, who, resources);
    if (!covered) return unexpected{covered.error()};
    const auto flavors = in.member(g, "flavors", json_value::kind::array);
    if (!flavors) return unexpected{flavors.error()};
    for (const auto& f : (*flavors)->items) {
      const auto pool = in.text(f, "name");
      const auto kinds = in.member(f, "resources", json_value::kind::array);
      if (!pool) return unexpected{pool.error()};
      if (!kinds) return unexpected{kinds.error()};
      if (!pools.insert(*pool).second)
        return in.error(f, "flavor " + io_text::quoted(*pool) + " a second time in " + who, "every flavor once");
      for (std::size_t i = 0; i < (*kinds)->items.size(); ++i) {
        const json_value& k = (*kinds)->items[i];
        const auto name = in.text(k, "name");
        if (!name) return unexpected{name.error()};
        if (auto ok = in.only(k, "name nominalQuota borrowingLimit lendingLimit", *name + " in " + who); !ok) return ok;
        if (i >= covered->size() || *name != (*covered)[i])
          return in.error(k,
                          "resource " + io_text::quoted(*name) + " of flavor " + io_text::quoted(*pool) + " in " + who,
                          i < covered->size() ? io_text::quoted((*covered)[i]) + ", as coveredResources has it there"
                                              : "no more, as coveredResources ends here");
        const auto r = queue_file_detail::column(out.tree, *name, *pool);
        auto& quota = queue_file_detail::quota_at(q, r);
        const json_value* nominal = k.find("nominalQuota");
        if (nominal == nullptr)
          return in.error(k, "no nominalQuota of " + *name + " in " + who,
                          "nominalQuota: " + std::string{quantity_form});
        const auto n = kube_amount(in, *nominal, "nominalQuota of " + who, *name);
        if (!n) return unexpected{n.error()};
        quota.guarantee = *n;
        for (const auto& [key, into] :
             {std::pair{"borrowingLimit", &quota.borrowing_limit}, std::pair{"lendingLimit", &quota.lending_limit}}) {
          const json_value* v = k.find(key);
          if (v == nullptr || v->type == json_value::kind::null) continue;
          const auto a = kube_amount(in, *v, std::string{key} + " of " + who, *name);
          if (!a) return unexpected{a.error()};
          // Kueue's validation: both need a cohort, and nobody lends more than it has.
          if (!has_parent)
            return in.error(*v, std::string{key} + " of " + who + " without a cohort", "a cohort, or no limit");
          if (into == &quota.lending_limit && *a > *n)
            return in.error(*v, "lendingLimit " + std::to_string(*a) + " of " + who,
                            "at most its nominalQuota " + std::to_string(*n));
          *into = *a;
        }
      }
      if ((*kinds)->items.size() < covered->size())
        return in.error(f,
                        "flavor " + io_text::quoted(*pool) + " in " + who + " without " +
                            io_text::quoted((*covered)[(*kinds)->items.size()]),
                        "every one of coveredResources");
    }
  }
  return {};
}

/// `spec.fairSharing.weight` in thousandths.
[[nodiscard]] inline expected<void, input_error> fair_weight(const kube_reader& in, const json_value& spec,
                                                             const std::string& who, queue_spec& q) {
  const auto fair = in.optional_member(spec, "fairSharing", json_value::kind::object);
  if (!fair) return unexpected{fair.error()};
  const json_value* w = *fair == nullptr ? nullptr : (*fair)->find("weight");
  if (w == nullptr || w->type == json_value::kind::null) return {};
  const auto k = in.quantity(*w, "weight of " + who);
  if (!k) return unexpected{k.error()};
  if (k->whole > 1'000'000'000) return in.error(*w, "weight of " + who + ": " + scalar_text(*w), "at most 10^9");
  q.weight = k->whole * 1000 + k->thousandths;
  return {};
}

}  // namespace kueue_detail

/// Whether a file holds ClusterQueues or Cohorts.
[[nodiscard]] inline bool holds_kueue_queues(const kube_documents& d) noexcept {
  for (const auto& o : d.objects)
    if (o.group == "kueue.x-k8s.io" && (o.kind == "ClusterQueue" || o.kind == "Cohort")) return true;
  return false;
}

/// Reads the ClusterQueues and Cohorts of a file. O(objects).
[[nodiscard]] inline expected<queue_file, input_error> read_kueue_queues(const kube_documents& d) {
  const kube_reader in{d.source};
  queue_file out;
  out.system = "kueue";
  out.policy = "kueue-cohort";
  out.tree.source = d.source;
  out.tree.rule = quota_rule::cohort;
  out.tree.guarantees = guarantee_rule::own_plus_children;
  std::map<std::string, std::size_t> ignored;
  std::set<std::string> queue_names;
  for (const auto& o : d.objects)
    if (o.kind == "ClusterQueue") queue_names.insert(o.name);
  // A queue and a cohort may have one name; the cohort then is told apart.
  const auto cohort_name = [&](const std::string& n) { return queue_names.count(n) != 0 ? "cohort/" + n : n; };
  std::map<std::string, std::size_t> cohorts;
  const auto cohort = [&](const std::string& n, std::size_t line) {
    const auto [it, fresh] = cohorts.emplace(n, out.tree.queues.size());
    if (fresh) {
      out.tree.queues.emplace_back();
      out.tree.queues.back().name = cohort_name(n);
      out.tree.queues.back().group = true;
      out.tree.queues.back().line = line;
    }
    return it->second;
  };
  std::set<std::string> defined;
  for (const auto& o : d.objects) {
    const bool is_cohort = o.kind == "Cohort";
    if (o.group != "kueue.x-k8s.io" || (!is_cohort && o.kind != "ClusterQueue")) {
      ++ignored[o.kind.empty() ? "objects without a kind" : o.kind];
      continue;
    }
    const std::string who = (is_cohort ? "cohort " : "queue ") + io_text::quoted(o.name);
    if (o.name.empty()) return in.error(*o.value, "a " + o.kind + " without a name", "metadata.name");
    const auto spec = in.optional_member(*o.value, "spec", json_value::kind::object);
    if (!spec) return unexpected{spec.error()};
    static const json_value nothing;
    const json_value& s = *spec == nullptr ? nothing : **spec;
    std::string above;
    for (const char* key : is_cohort ? std::vector<const char*>{"parentName", "parent"}
                                     : std::vector<const char*>{"cohortName", "cohort"}) {
      const auto t = in.optional_text(s, key);
      if (!t) return unexpected{t.error()};
      if (*t && !(*t)->empty()) above = **t;
    }
    if (is_cohort && !defined.insert(o.name).second)
      return in.error(*o.value, who + " a second time", "every cohort once");
    queue_spec q;
    if (is_cohort) q = out.tree.queues[cohort(o.name, o.value->line)];
    q.name = is_cohort ? cohort_name(o.name) : o.name;
    q.group = is_cohort;
    q.line = o.value->line;
    if (auto ok = kueue_detail::resource_groups(in, s, who, !above.empty(), out, q); !ok) return unexpected{ok.error()};
    if (auto ok = kueue_detail::fair_weight(in, s, who, q); !ok) return unexpected{ok.error()};
    const auto stop = in.optional_text(s, "stopPolicy");
    if (!stop) return unexpected{stop.error()};
    if (*stop && !io_text::is_word_of(**stop, "None Hold HoldAndDrain"))
      return in.error(*s.find("stopPolicy"), "stopPolicy " + io_text::quoted(**stop) + " of " + who,
                      "None, Hold or HoldAndDrain");
    if (*stop && **stop != "None") {
      q.active = false;
      out.notes.push_back(who + " is stopped (" + **stop + ")");
    }
    if (!above.empty()) q.parent = out.tree.queues[cohort(above, o.value->line)].name;
    if (is_cohort) out.tree.queues[cohorts.at(o.name)] = std::move(q);
    else out.tree.queues.push_back(std::move(q));
  }
  // Cycles: from every cohort follow the parents; whoever comes back to where this walk has been is in one.
  std::map<std::string, std::size_t> by_name;
  for (const auto& c : cohorts) by_name.emplace(out.tree.queues[c.second].name, c.second);
  std::vector<int> state(out.tree.queues.size(), 0);  // 1: on this walk, 2: done
  for (const auto& c : cohorts) {
    std::vector<std::size_t> walk;
    auto at = c.second;
    bool came_back = false;
    while (!came_back && state[at] == 0) {
      state[at] = 1;
      walk.push_back(at);
      const auto up = by_name.find(out.tree.queues[at].parent);
      if (up == by_name.end()) break;
      at = up->second;
      came_back = state[at] == 1;
    }
    for (bool inside = false; const auto i : walk) {
      inside = inside || i == at;
      if (!came_back || !inside) continue;
      auto& q = out.tree.queues[i];
      out.notes.push_back("cohort " + io_text::quoted(q.name) +
                          " is in a cycle of cohorts: nothing below it is admitted, as with Kueue");
      q.active = false;
      q.parent.clear();
    }
    for (const auto i : walk) state[i] = 2;
  }
  for (const auto& i : ignored) out.notes.push_back(io_text::counted(i.second, i.first) + " not read: not a queue");
  if (auto ok = queue_file_detail::complete(out.tree); !ok) return unexpected{std::move(ok).error()};
  return out;
}

}  // namespace berth
