#pragma once
/// \file
/// Cases of kind `cycle` (Volcano): jobs, queues and nodes, and who is bound, waits or is evicted once the named
/// actions have run once. Needs nlohmann-json and Eigen.

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "berth/io/case/cycle_reader.hpp"
#include "berth/io/case/value.hpp"
#include "berth/profile/volcano.hpp"

namespace berth::case_io {

/// Compares what a case expects with what the actions did.
class cycle_comparison {
 public:
  cycle_comparison(const case_question& q, const volcano::cluster& c) : q_{q}, c_{c} {
    for (const auto& t : c.tasks)
      if (t.state == volcano::task_state::bound && t.node != volcano::nowhere) {
        bound_[t.name] = c.nodes[t.node].name;
        ++per_domain_[narrowest(t.node)];
      }
  }
  [[nodiscard]] case_answer verdict() {
    const auto* v = q_.given("expect");
    if (v == nullptr) return case_verdict::unsupported("a case without expectation");
    const object o{*v, q_.source};
    if (auto ok = o.is_object("expect"); !ok) return unexpected{std::move(ok).error()};
    for (std::size_t i = 0; i < v->keys.size(); ++i) {
      if (is_null(&v->items[i])) continue;
      if (auto ok = part(o, v->keys[i], v->items[i]); !ok) return unexpected{std::move(ok).error()};
      if (!unknown_.empty()) return case_verdict::unsupported(unknown_);
    }
    return case_verdict::compare(want_, got_);
  }

 private:
  [[nodiscard]] std::string narrowest(std::size_t n) const {
    const volcano::domain* best = nullptr;
    for (const auto& d : c_.domains)
      if (std::find(d.nodes.begin(), d.nodes.end(), n) != d.nodes.end() && (best == nullptr || d.tier < best->tier))
        best = &d;
    return best == nullptr ? std::string{} : best->name;
  }
  [[nodiscard]] read<void> part(const object& o, const std::string& key, const json_value& v) {
    if (key == "bound") {
      auto want = labels(&v, key, q_.source);
      if (!want) return unexpected{std::move(want).error()};
      std::map<std::string, std::string> sorted;
      for (const auto& l : *want) sorted[l.key] = l.value;
      add("bound", text(sorted), text(bound_));
    } else if (key == "bound_count") {
      add("bound", std::to_string(v.integer), std::to_string(bound_.size()));
    } else if (key == "evicted") {
      std::vector<std::string> names;
      if (auto ok = o.texts(key, names); !ok) return ok;
      std::sort(names.begin(), names.end());
      std::string want;
      for (const auto& n : names) want += " " + n;
      add("evicted", want.empty() ? " nobody" : want, " nobody");
    } else if (key == "evicted_count") {
      add("evicted", std::to_string(v.integer), "0");
    } else if (key == "waiting_for_release") {
      if (v.type != json_value::kind::object) return o.wrong(key, v, "an object of lists of nodes");
      const object w{v, q_.source};
      for (const auto& job : v.keys) {
        std::vector<std::string> nodes;
        if (auto ok = w.texts(job, nodes); !ok) return ok;
        waiting(job, nodes);
      }
    } else if (key == "allocated_per_job") {
      if (v.type != json_value::kind::object) return o.wrong(key, v, "an object of counts");
      for (std::size_t i = 0; i < v.keys.size(); ++i) {
        std::size_t have = 0;
        bool known = false;
        for (const auto& j : c_.jobs)
          if (j.name == v.keys[i]) {
            known = true;
            for (const auto t : j.tasks) have += volcano::holds(c_.tasks[t].state) ? 1U : 0U;
          }
        if (!known || v.items[i].type != json_value::kind::integer) {
          unknown_ = "expectation " + key;
          return {};
        }
        add(v.keys[i], std::to_string(v.items[i].integer), std::to_string(have));
      }
    } else if (v.type == json_value::kind::array && key.find("domain") != std::string::npos) {
      std::vector<std::int64_t> want, got;
      for (const auto& i : v.items) {
        if (i.type != json_value::kind::integer) return o.wrong(key, i, "counts");
        want.push_back(i.integer);
      }
      for (const auto& [domain, n] : per_domain_) got.push_back(n);
      std::sort(want.begin(), want.end());
      std::sort(got.begin(), got.end());
      add("per domain", text(want), text(got));
    } else {
      unknown_ = "expectation " + key;
    }
    return {};
  }
  /// Tasks of the job wait, all of them on one of the nodes.
  void waiting(const std::string& job, const std::vector<std::string>& nodes) {
    std::string got;
    bool all = true;
    for (const auto& t : c_.tasks) {
      if (c_.jobs[t.job].name != job || t.state != volcano::task_state::pipelined) continue;
      const auto& name = c_.nodes[t.node].name;
      got += " " + name;
      all = all && std::find(nodes.begin(), nodes.end(), name) != nodes.end();
    }
    std::string want;
    for (const auto& n : nodes) want += " " + n;
    add(job + " waits on", want, all && !got.empty() ? want : got.empty() ? " nothing" : got);
  }
  void add(const std::string& what, const std::string& want, const std::string& got) {
    want_ += (want_.empty() ? "" : "; ") + what + " " + want;
    got_ += (got_.empty() ? "" : "; ") + what + " " + got;
  }
  [[nodiscard]] static std::string text(const std::map<std::string, std::string>& m) {
    std::string out;
    for (const auto& [pod, node] : m) out += (out.empty() ? "" : ", ") + pod + " on " + node;
    return out.empty() ? "nobody" : out;
  }
  [[nodiscard]] static std::string text(const std::vector<std::int64_t>& v) {
    std::string out;
    for (const auto n : v) out += (out.empty() ? "" : ", ") + std::to_string(n);
    return out;
  }

  const case_question& q_;
  const volcano::cluster& c_;
  std::map<std::string, std::string> bound_;
  std::map<std::string, std::int64_t> per_domain_;
  std::string want_, got_, unknown_;
};

/// Answers a case of kind `cycle` with Volcano's rules. Not supported: what needs eviction, that is, where an action
/// that evicts could change anything; actions and members that are not known.
[[nodiscard]] inline case_answer answer_cycle(const case_question& q) {
  if (q.profile != "volcano") return case_verdict::unsupported("cycle with profile " + q.profile);
  cycle_reader r{q};
  if (auto ok = r.all(); !ok) return unexpected{std::move(ok).error()};
  if (!r.unknown.empty()) return case_verdict::unsupported(r.unknown);
  std::vector<std::string> actions;
  if (const auto* p = q.given("policy"))
    if (auto ok = object{*p, q.source}.texts("actions", actions); !ok) return unexpected{std::move(ok).error()};
  const std::string quota = q.policy_text("quota");
  volcano::quota_rules rules;
  if (!quota.empty())
    rules.kind = quota.find("hierarch") != std::string::npos ? volcano::quota_kind::hierarchical_capacity
                                                             : volcano::quota_kind::capacity;
  // The source's runs leave the skipping of overused queues off; where the case names an order, shares only order.
  rules.skips_overused = false;
  rules.limits_tasks = q.policy_text("order").empty();
  auto& c = r.cluster;
  const bool enqueues = std::find(actions.begin(), actions.end(), "enqueue") != actions.end();
  if (!enqueues)
    for (auto& j : c.jobs) j.admitted = true;
  for (const auto& a : actions) {
    if (a == "enqueue") volcano::admit(c, rules);
    else if (a == "allocate") volcano::allocation{c, rules, enqueues}.run();
    else if (a == "preempt" || a == "reclaim") {
      if (volcano::eviction_could_help(c, rules,
                                       a == "preempt" ? volcano::eviction::preempt : volcano::eviction::reclaim))
        return case_verdict::unsupported("eviction");
    } else {
      return case_verdict::unsupported("action " + a);
    }
  }
  return cycle_comparison{q, c}.verdict();
}

}  // namespace berth::case_io
