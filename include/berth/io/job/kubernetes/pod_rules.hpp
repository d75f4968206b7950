#pragma once
/// \file
/// Where pods must not be, or want to be, because of other pods: `topologySpreadConstraints`, `podAffinity` and
/// `podAntiAffinity` of a pod template as rules of spreading (`io/spread_spec.hpp`).
///
/// | pod                                    | rule                                                                   |
/// |----------------------------------------|------------------------------------------------------------------------|
/// | spread constraint, `DoNotSchedule`     | `max_skew`, `minDomains` as `minimum_domains`                          |
/// | spread constraint, `ScheduleAnyway`    | the same as a wish: kept whole, or given up where the pods do not fit  |
/// | required anti-affinity to its own kind | `at_most` 1 of those that are selected, in a domain                    |
/// | required anti-affinity to others       | `at_most` 0                                                            |
/// | preferred anti-affinity                | a wish: even (skew 1) among its own kind, `at_most` 0 of others        |
/// | required affinity                      | `beside`; among its own kind besides `within` of the group             |
/// | preferred affinity                     | `prefer` of the group among its own kind, else a wish `beside` others  |
///
/// Wishes stand after what is required, by falling weight, and are given up from the last on.
///
/// Sources: Kubernetes' API v1 (TopologySpreadConstraint, PodAffinityTerm) and "Pod Topology Spread Constraints":
/// selectors look at one namespace; none selects nothing, an empty one everything; nodes without the topology key get
/// no pods; `nodeAffinityPolicy` Honor and `nodeTaintsPolicy` Ignore are the defaults. Labels that controllers add:
/// see `given_label`.

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "berth/io/job/kubernetes/context.hpp"
#include "berth/io/spread_spec.hpp"

namespace berth::kube_job {

/// What selectors see of the pods of a template.
struct own_labels {
  const json_value* stated = nullptr;               ///< `metadata.labels` of the template; may be null
  const std::vector<given_label>* given = nullptr;  ///< by the controller
  std::string space;                                ///< namespace

  [[nodiscard]] const given_label* find_given(std::string_view key) const noexcept {
    if (stated == nullptr || stated->find(key) == nullptr)
      for (const auto& g : *given)
        if (g.key == key) return &g;
    return nullptr;
  }
};

/// `key=value` of all that is known and the same for all pods, with the namespace.
[[nodiscard]] inline std::vector<std::string> labels_of(const context& c, const own_labels& own) {
  std::vector<std::string> out{std::string{namespace_label} + "=" + own.space};
  if (own.stated != nullptr)
    for (const auto& key : own.stated->keys) out.push_back(key + "=" + c.text(own.stated, key));
  for (const auto& g : *own.given)
    if (g.what == given_label::kind::known && own.find_given(g.key) == &g) out.push_back(g.key + "=" + g.value);
  return out;
}

/// The conditions of a label selector.
[[nodiscard]] inline std::vector<label_requirement> read_selector(const context& c, const json_value& selector) {
  using kind = label_requirement::kind;
  std::vector<label_requirement> out;
  if (const auto* all = c.object(&selector, "matchLabels"))
    for (const auto& key : all->keys) out.push_back({key, kind::in, {c.text(all, key)}});
  if (const auto* all = c.array(&selector, "matchExpressions"))
    for (const auto& e : all->items) {
      label_requirement r;
      r.key = c.text(&e, "key");
      const std::string op = c.text(&e, "operator");
      if (const auto* values = c.array(&e, "values"))
        for (const auto& v : values->items) r.values.push_back(scalar_text(v));
      if (op == "In") r.what = kind::in;
      else if (op == "NotIn") r.what = kind::not_in;
      else if (op == "Exists") r.what = kind::exists;
      else if (op == "DoesNotExist") r.what = kind::missing;
      else c.fail(e, "operator: " + io_text::quoted(op), "In, NotIn, Exists or DoesNotExist");
      if (r.key.empty()) c.fail(e, "a condition without key", "key, operator and values");
      if ((op == "In" || op == "NotIn") == r.values.empty())
        c.fail(e, "operator " + op + (r.values.empty() ? " without values" : " with values"),
               "values with In and NotIn, and none with Exists and DoesNotExist");
      out.push_back(std::move(r));
    }
  return out;
}

/// Whether the pods of the template meet a condition, each of them alike.
[[nodiscard]] inline bool own_meet(const context& c, const json_value& at, const label_requirement& r,
                                   const own_labels& own) {
  using kind = label_requirement::kind;
  const given_label* g = own.find_given(r.key);
  const bool stated = own.stated != nullptr && own.stated->find(r.key) != nullptr;
  if (r.what == kind::exists || r.what == kind::missing) return (stated || g != nullptr) == (r.what == kind::exists);
  if (g != nullptr && g->what == given_label::kind::varying)
    c.fail(at, "a selector on the label " + io_text::quoted(r.key) + ", which differs from pod to pod",
           "labels that all pods of the template have");
  bool in = false;
  for (const auto& v : r.values)
    in = in || (stated ? c.text(own.stated, r.key) == v : g != nullptr && !g->value.empty() && g->value == v);
  return in == (r.what == kind::in);
}

/// Sets who counts for a rule: `own`, `others` and `selector`.
inline void read_who(const context& c, const json_value& term, const own_labels& own, bool affinity, spread_spec& s) {
  using kind = label_requirement::kind;
  const auto* selector = c.object(&term, "labelSelector");
  s.own = s.others = selector != nullptr;
  if (selector == nullptr) return;
  s.selector = read_selector(c, *selector);
  for (const auto& r : s.selector) s.own = own_meet(c, *selector, r, own) && s.own;
  for (const char* member : {"matchLabelKeys", "mismatchLabelKeys"}) {
    const bool same = member[1] == 'a';
    const auto* keys = same || affinity ? c.array(&term, member) : nullptr;
    if (keys == nullptr) continue;
    for (const auto& k : keys->items) {
      const std::string key = scalar_text(k);
      const given_label* g = own.find_given(key);
      const bool stated = own.stated != nullptr && own.stated->find(key) != nullptr;
      if (!stated && g == nullptr) continue;  // keys that the pod does not have are ignored
      if (!stated && g->what == given_label::kind::varying)
        c.fail(k, std::string{member} + " with " + io_text::quoted(key) + ", which differs from pod to pod",
               "labels that all pods of the template have");
      s.own = s.own && same;
      if (!stated && g->what == given_label::kind::unknown) {
        // No other pod has the value, whatever it is.
        if (same) s.selector.push_back({key, kind::in, {}});
        continue;
      }
      s.selector.push_back({key, same ? kind::in : kind::not_in, {stated ? c.text(own.stated, key) : g->value}});
    }
  }
  std::vector<std::string> spaces;
  const auto* named = affinity ? c.array(&term, "namespaces") : nullptr;
  const auto* chosen = affinity ? c.object(&term, "namespaceSelector") : nullptr;
  if (named != nullptr)
    for (const auto& n : named->items) spaces.push_back(scalar_text(n));
  if (chosen != nullptr) {
    const auto conditions = read_selector(c, *chosen);
    if (conditions.empty()) return;  // every namespace
    if (conditions.size() != 1 || conditions[0].key != "kubernetes.io/metadata.name" || conditions[0].what != kind::in)
      c.fail(*chosen, "a namespaceSelector on labels of namespaces, which no file shows",
             "namespaces, an empty namespaceSelector, or one on kubernetes.io/metadata.name");
    spaces.insert(spaces.end(), conditions[0].values.begin(), conditions[0].values.end());
  }
  if (spaces.empty()) spaces.push_back(own.space);
  s.own = s.own && std::find(spaces.begin(), spaces.end(), own.space) != spaces.end();
  s.selector.push_back({std::string{namespace_label}, kind::in, std::move(spaces)});
}

[[nodiscard]] inline std::string topology_key(const context& c, const json_value& term) {
  std::string key = c.text(&term, "topologyKey");
  if (key.empty()) c.fail(term, "no topologyKey", "topologyKey: the label whose values are the domains");
  return key;
}

/// Rules of a pod: those that are required first.
struct pod_rules {
  std::vector<spread_spec> required;
  std::vector<std::pair<std::int64_t, spread_spec>> wishes;  ///< with their weights
  placed_word within, prefer;                                ///< levels that hold all pods of the template together

  [[nodiscard]] std::vector<spread_spec> take() {
    std::stable_sort(wishes.begin(), wishes.end(), [](const auto& a, const auto& b) { return a.first > b.first; });
    for (auto& [weight, s] : wishes) required.push_back(std::move(s));
    return std::move(required);
  }
};

inline void read_spread_constraint(const context& c, const json_value& t, const own_labels& own, job_spec& job,
                                   pod_rules& out) {
  spread_spec s;
  s.line.is = t.line;
  s.level = topology_key(c, t);
  const auto skew = c.integer(&t, "maxSkew", 1, max_tasks);
  if (!skew) c.fail(t, "a spread constraint without maxSkew", "maxSkew: a number of pods above 0");
  s.max_skew = static_cast<std::uint32_t>(*skew);
  const std::string otherwise = c.text(&t, "whenUnsatisfiable");
  if (otherwise != "DoNotSchedule" && otherwise != "ScheduleAnyway")
    c.fail(t, "whenUnsatisfiable: " + io_text::quoted(otherwise), "DoNotSchedule or ScheduleAnyway");
  s.required = otherwise == "DoNotSchedule";
  if (const auto least = c.integer(&t, "minDomains", 1, max_tasks)) {
    if (!s.required) c.fail(t, "minDomains beside ScheduleAnyway", "minDomains with DoNotSchedule alone");
    s.minimum_domains = static_cast<std::uint32_t>(*least);
  }
  const auto policy = [&](const char* key, bool honoured) {
    const std::string word = c.text(&t, key);
    if (!word.empty() && word != "Honor" && word != "Ignore")
      c.fail(t, std::string{key} + ": " + io_text::quoted(word), "Honor or Ignore");
    return word.empty() ? honoured : word == "Honor";
  };
  s.any_labels = !policy("nodeAffinityPolicy", true);
  s.any_taints = !policy("nodeTaintsPolicy", false);
  s.declared_only = s.required;
  read_who(c, t, own, false, s);
  if (!s.others) {
    c.assume(job, t,
             "the spread constraint over " + io_text::quoted(s.level) +
                 " has no labelSelector and counts no pods; it restricts nothing");
  } else if (s.required) {
    out.required.push_back(std::move(s));
  } else {
    out.wishes.emplace_back(1000, std::move(s));  // above every preferred affinity, whose weights end at 100
  }
}

/// \param weight  of a preferred term; 0 for a required one
inline void read_affinity_term(const context& c, const json_value& t, const own_labels& own, bool together,
                               std::int64_t weight, job_spec& job, pod_rules& out) {
  spread_spec s;
  s.line.is = t.line;
  s.level = topology_key(c, t);
  s.required = weight == 0;
  s.declared_only = s.required && together;
  read_who(c, t, own, true, s);
  const char* what = together ? "affinity" : "anti-affinity";
  if (!s.others) {
    if (s.required && together)
      c.fail(t, "required pod affinity without labelSelector, which no pod meets", "a labelSelector");
    c.assume(job, t, std::string{what} + " without labelSelector selects no pods; it restricts nothing");
    return;
  }
  if (together) {
    if (s.own && s.required) {
      if (!out.within.empty() && out.within != s.level)
        c.fail(t, "affinity at " + io_text::quoted(out.within) + " and at " + io_text::quoted(s.level), "one level");
      out.within = {s.level, t.line};
    } else if (s.own && out.prefer.empty()) {
      out.prefer = {s.level, t.line};
      return;
    }
    s.beside = true;
  } else if (s.own && !s.required) {
    s.max_skew = 1;
  } else {
    s.at_most = s.own ? 1 : 0;
  }
  if (s.required) out.required.push_back(std::move(s));
  else out.wishes.emplace_back(weight, std::move(s));
}

inline void read_affinity(const context& c, const json_value* affinity, const own_labels& own, bool together,
                          job_spec& job, pod_rules& out) {
  if (const auto* hard = c.array(affinity, "requiredDuringSchedulingIgnoredDuringExecution"))
    for (const auto& t : hard->items) read_affinity_term(c, t, own, together, 0, job, out);
  if (const auto* soft = c.array(affinity, "preferredDuringSchedulingIgnoredDuringExecution"))
    for (const auto& w : soft->items) {
      const auto weight = c.integer(&w, "weight", 1, 100);
      const json_value& t = c.needed(w, "podAffinityTerm", json_value::kind::object);
      read_affinity_term(c, t, own, together, weight.value_or(1), job, out);
    }
}

/// All rules of a pod's `spec`.
[[nodiscard]] inline pod_rules read_pod_rules(const context& c, const json_value& spec, const own_labels& own,
                                              job_spec& job) {
  pod_rules out;
  if (const auto* all = c.array(&spec, "topologySpreadConstraints"))
    for (const auto& t : all->items) read_spread_constraint(c, t, own, job, out);
  const auto* affinity = c.object(&spec, "affinity");
  read_affinity(c, c.object(affinity, "podAffinity"), own, true, job, out);
  read_affinity(c, c.object(affinity, "podAntiAffinity"), own, false, job, out);
  return out;
}

}  // namespace berth::kube_job
