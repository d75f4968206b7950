#pragma once
/// \file
/// Reads the cluster, queues and jobs of a case of kind `cycle`. Needs nlohmann-json and Eigen.

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

#include "berth/io/case/cluster.hpp"
#include "berth/io/case/value.hpp"
#include "berth/profile/volcano.hpp"

namespace berth::case_io {

/// Reads a case into `volcano::cluster`. Members it does not know are remembered, because an answer without them would
/// answer another question.
class cycle_reader {
 public:
  explicit cycle_reader(const case_question& q) : q_{q} {}
  volcano::cluster cluster;
  std::string unknown;  ///< what of the case is not read or not known

  [[nodiscard]] read<void> all() {
    cluster.resources = {"cpu", "mem"};
    known(q_.body, "id kind source policy cluster queues jobs expect topic", "case");
    for (const auto step : {&cycle_reader::nodes, &cycle_reader::queues, &cycle_reader::jobs})
      if (auto ok = (this->*step)(); !ok) return ok;
    if (unread_.misspelt) return unexpected{*unread_.misspelt};
    const auto m = cluster.resources.size();
    for (auto& n : cluster.nodes) {
      n.total.resize(m, 0);
      n.idle = n.total;
      n.releasing.assign(m, 0);
      n.pipelined.assign(m, 0);
    }
    for (auto& j : cluster.jobs)
      if (j.least_request) j.least_request->resize(m, 0);
    for (auto& t : cluster.tasks) {
      t.request.resize(m, 0);
      if (t.node == volcano::nowhere) continue;
      auto& n = cluster.nodes[t.node];
      if (t.state == volcano::task_state::pipelined) volcano::add(n.pipelined, t.request);
      else volcano::add(n.idle, t.request, -1);
      if (t.state == volcano::task_state::releasing) volcano::add(n.releasing, t.request);
      ++n.tasks;
    }
    return {};
  }

 private:
  void known(const json_value& v, std::string_view keys, std::string_view what) {
    unread_.look(v, keys, what, q_.source);
    if (unknown.empty()) unknown = unread_.first;
  }
  [[nodiscard]] std::size_t resource_of(std::string_view name) {
    for (std::size_t r = 0; r < cluster.resources.size(); ++r)
      if (cluster.resources[r] == name) return r;
    cluster.resources.emplace_back(name);
    return cluster.resources.size() - 1;
  }
  [[nodiscard]] read<volcano::quantities> quantities_of(const object& o, std::string_view key) {
    auto a = amounts(o.given(key), key, q_.source);
    if (!a) return unexpected{std::move(a).error()};
    volcano::quantities q(cluster.resources.size(), 0);
    for (const auto& x : *a) {
      if (x.resource == "pods") continue;
      const auto r = resource_of(x.resource);
      if (q.size() <= r) q.resize(r + 1, 0);
      q[r] = x.thousandths;
    }
    return q;
  }
  /// "tier-2"
  [[nodiscard]] static std::optional<int> tier_of(std::string_view level) {
    if (!level.starts_with("tier-")) return std::nullopt;
    const auto n = label_condition::whole(level.substr(5));
    if (!n || *n < 1 || *n > 1000) return std::nullopt;
    return static_cast<int>(*n);
  }

  [[nodiscard]] read<void> nodes() {
    auto site = case_io::cluster(q_);
    if (!site) return unexpected{std::move(site).error()};
    site_ = std::move(*site);
    cluster.domains.emplace_back();
    cluster.domains[0].name = "the cluster";
    const auto* c = q_.given("cluster");
    if (c == nullptr) return {};
    known(*c, "levels nodes node_filter", "cluster");
    auto list = object{*c, q_.source}.items("nodes");
    if (!list) return unexpected{std::move(list).error()};
    for (std::size_t i = 0; i < site_.nodes.size(); ++i) {
      const auto& s = site_.nodes[i];
      const object o{(**list)[i], q_.source};
      known(o.value(), "name path capacity labels taints ready schedulable", "node");
      if (!s.ready || !s.schedulable) unknown = unknown.empty() ? "node that takes nothing" : unknown;
      if (i > 0 && site_.node(s.name) != i) return o.wrong("name", *o.given("name"), "each node once");
      volcano::node n;
      n.name = s.name;
      auto total = quantities_of(o, "capacity");
      if (!total) return unexpected{std::move(total).error()};
      n.total = std::move(*total);
      const auto* slots = s.capacity.find("pods");
      n.most_tasks = slots == nullptr ? std::numeric_limits<std::int64_t>::max() : slots->thousandths / 1000;
      cluster.nodes.push_back(std::move(n));
      cluster.domains[0].nodes.push_back(i);
      std::size_t above = 0;
      for (std::size_t l = 0; l < s.path.size(); ++l) {
        const auto tier = tier_of(site_.levels[l]);
        if (!tier || !s.path[l]) continue;
        above = domain_of(*s.path[l], *tier, above);
        auto& d = cluster.domains[above];
        if (d.nodes.empty() || d.nodes.back() != i) d.nodes.push_back(i);
      }
    }
    return {};
  }
  std::size_t domain_of(const std::string& name, int tier, std::size_t above) {
    for (std::size_t d = 1; d < cluster.domains.size(); ++d)
      if (cluster.domains[d].name == name && cluster.domains[d].tier == tier) return d;
    volcano::domain d;
    d.name = name;
    d.tier = tier;
    d.parent = above;
    cluster.domains.push_back(std::move(d));
    cluster.domains[above].children.push_back(cluster.domains.size() - 1);
    return cluster.domains.size() - 1;
  }

  [[nodiscard]] read<void> queues() {
    const object body{q_.body, q_.source};
    auto list = body.objects("queues");
    if (!list) return unexpected{std::move(list).error()};
    std::vector<std::string> parents;
    for (const auto& o : *list) {
      known(o.value(), "name parent weight limit deserved guarantee priority reclaimable state", "queue");
      volcano::queue x;
      auto name = o.name();
      if (!name) return unexpected{std::move(name).error()};
      x.name = std::move(*name);
      for (const auto& other : cluster.queues)
        if (other.name == x.name) return o.wrong("name", *o.given("name"), "each queue once");
      if (auto ok = o.integer("weight", x.weight, 0, max_count); !ok) return ok;
      if (auto ok = o.integer("priority", x.priority, -max_count, max_count); !ok) return ok;
      if (auto ok = o.flag("reclaimable", x.reclaimable); !ok) return ok;
      std::string state = "open";
      if (auto ok = o.text("state", state); !ok) return ok;
      x.open = state == "open" || state == "Open";
      for (const auto& [key, to] :
           {std::pair{"limit", &x.limit}, std::pair{"deserved", &x.deserved}, std::pair{"guarantee", &x.guarantee}}) {
        if (o.given(key) == nullptr) continue;
        auto q = quantities_of(o, key);
        if (!q) return unexpected{std::move(q).error()};
        *to = std::move(*q);
      }
      parents.emplace_back();
      if (auto ok = o.text("parent", parents.back()); !ok) return ok;
      cluster.queues.push_back(std::move(x));
    }
    // A queue without a parent is below the root, where there is one.
    std::size_t root = volcano::nowhere;
    for (std::size_t i = 0; i < parents.size(); ++i)
      if (cluster.queues[i].name == "root") root = i;
    for (std::size_t i = 0; i < parents.size(); ++i) {
      std::size_t parent = parents[i].empty() && i != root ? root : volcano::nowhere;
      for (std::size_t k = 0; k < parents.size(); ++k)
        if (!parents[i].empty() && cluster.queues[k].name == parents[i]) parent = k;
      if (!parents[i].empty() && parent == volcano::nowhere)
        return body.wrong("parent", (*list)[i].value(), "a queue of the case");
      cluster.queues[i].parent = parent;
      if (parent != volcano::nowhere) cluster.queues[parent].leaf = false;
    }
    for (std::size_t i = 0; i < parents.size(); ++i) {
      std::size_t steps = 0;
      for (auto at = i; at != volcano::nowhere; at = cluster.queues[at].parent)
        if (++steps > cluster.queues.size() || steps > 64)
          return body.wrong("parent", (*list)[i].value(), "a tree of queues, at most 64 deep");
    }
    return {};
  }

  /// {"mode": "required", "max_spread_level": "tier-1"}
  [[nodiscard]] read<std::optional<volcano::spread_limit>> limit_of(const object& o) {
    std::optional<volcano::spread_limit> out;
    const auto* v = o.given("topology");
    if (v == nullptr) return out;
    const object t{*v, q_.source};
    if (auto ok = t.is_object("topology"); !ok) return unexpected{std::move(ok).error()};
    known(*v, "mode max_spread_level", "topology");
    std::string mode, level;
    if (auto ok = t.text("mode", mode); !ok) return unexpected{std::move(ok).error()};
    if (auto ok = t.text("max_spread_level", level); !ok) return unexpected{std::move(ok).error()};
    out = volcano::spread_limit{mode == "required", tier_of(level)};
    if (mode != "required" && mode != "preferred") out->hard = true, out->tier.reset();  // neither: no limit
    return out;
  }
  [[nodiscard]] read<void> jobs() {
    const object body{q_.body, q_.source};
    auto list = body.objects("jobs");
    if (!list) return unexpected{std::move(list).error()};
    for (const auto& o : *list) {
      known(o.value(),
            "name queue gang_min priority role_min topology prior_domain partition admitted pods min_resources "
            "min_request",
            "job");
      volcano::job j;
      auto name = o.name();
      if (!name) return unexpected{std::move(name).error()};
      j.name = std::move(*name);
      std::string queue;
      if (auto ok = o.text("queue", queue); !ok) return ok;
      for (std::size_t k = 0; k < cluster.queues.size(); ++k)
        if (cluster.queues[k].name == queue) j.queue = k;
      if (j.queue == volcano::nowhere && !queue.empty())
        return o.wrong("queue", *o.given("queue"), "a queue of the case");
      if (auto ok = o.integer("gang_min", j.least, 0, max_count); !ok) return ok;
      if (auto ok = o.integer("priority", j.priority, -2'147'483'648LL, 2'147'483'647); !ok) return ok;
      if (auto ok = o.flag("admitted", j.admitted); !ok) return ok;
      if (const auto* roles = o.given("role_min")) {
        const object ro{*roles, q_.source};
        if (auto ok = ro.is_object("role_min"); !ok) return ok;
        for (const auto& role : roles->keys)
          if (auto ok = ro.integer(role, j.role_least[role], 0, max_count); !ok) return ok;
      }
      for (const char* key : {"min_resources", "min_request"})
        if (o.given(key) != nullptr) {
          auto q = quantities_of(o, key);
          if (!q) return unexpected{std::move(q).error()};
          j.least_request = std::move(*q);
        }
      auto limit = limit_of(o);
      if (!limit) return unexpected{std::move(limit).error()};
      j.limit = *limit;
      cluster.jobs.push_back(std::move(j));
      if (auto ok = policies(o); !ok) return ok;
      if (auto ok = pods(o); !ok) return ok;
      // "default" is what cases call tasks without a role.
      auto& roles = cluster.jobs.back().role_least;
      bool named = false;
      for (const auto t : cluster.jobs.back().tasks) named = named || cluster.tasks[t].role == "default";
      if (const auto at = roles.find("default"); at != roles.end() && !named) {
        roles[""] = at->second;
        roles.erase(at);
      }
    }
    return {};
  }
  struct policy {
    std::string name;
    std::vector<std::string> by;
    std::int64_t size = 1;
    std::optional<volcano::spread_limit> limit;
  };
  [[nodiscard]] read<void> policies(const object& o) {
    policies_.clear();
    auto list = o.objects("partition");
    if (!list) return unexpected{std::move(list).error()};
    for (const auto& p : *list) {
      known(p.value(), "name by_labels size min_groups topology", "partition");
      policy x;
      if (auto ok = p.text("name", x.name); !ok) return ok;
      if (auto ok = p.texts("by_labels", x.by); !ok) return ok;
      if (auto ok = p.integer("size", x.size, 0, max_count); !ok) return ok;
      std::int64_t least = 0;
      if (auto ok = p.integer("min_groups", least, 0, max_count); !ok) return ok;
      auto limit = limit_of(p);
      if (!limit) return unexpected{std::move(limit).error()};
      x.limit = *limit;
      policies_.push_back(std::move(x));
      cluster.jobs.back().policy_least.push_back(least);
    }
    return {};
  }
  [[nodiscard]] read<void> pods(const object& o) {
    auto list = o.objects("pods");
    if (!list) return unexpected{std::move(list).error()};
    for (const auto& p : *list) {
      known(p.value(), "name state requests node role labels node_selector preemptible may_preempt priority", "pod");
      volcano::task t;
      auto name = p.name();
      if (!name) return unexpected{std::move(name).error()};
      t.name = std::move(*name);
      t.job = cluster.jobs.size() - 1;
      std::string state, node;
      for (const auto& [key, to] : {std::pair{"state", &state}, std::pair{"node", &node}, std::pair{"role", &t.role}})
        if (auto ok = p.text(key, *to); !ok) return ok;
      if (!state_of(state, t.state)) return p.wrong("state", p.value(), "a state of a pod");
      if (t.state != volcano::task_state::pending && t.state != volcano::task_state::gated)
        t.node = site_.node(node).value_or(volcano::nowhere);
      t.placed_elsewhere = !node.empty() && t.node == volcano::nowhere;
      auto request = quantities_of(p, "requests");
      if (!request) return unexpected{std::move(request).error()};
      t.request = std::move(*request);
      if (auto ok = p.flag("preemptible", t.preemptible); !ok) return ok;
      if (auto ok = p.flag("may_preempt", t.may_preempt); !ok) return ok;
      if (auto ok = p.integer("priority", t.priority, -2'147'483'648LL, 2'147'483'647); !ok) return ok;
      auto of = labels(p.given("labels"), "labels", q_.source);
      if (!of) return unexpected{std::move(of).error()};
      if (auto ok = where(p, t); !ok) return ok;
      join(t, *of);
      cluster.tasks.push_back(std::move(t));
    }
    return {};
  }
  [[nodiscard]] read<void> where(const object& p, volcano::task& t) {
    node_wish wish;
    auto selector = labels(p.given("node_selector"), "node_selector", q_.source);
    if (!selector) return unexpected{std::move(selector).error()};
    wish.selector = std::move(*selector);
    t.allowed.emplace(cluster.nodes.size(), 1);
    for (std::size_t n = 0; n < cluster.nodes.size(); ++n)
      if (wish.missing(site_.nodes[n].labels) != nullptr || untolerated(site_.nodes[n].taints, {}) != nullptr)
        (*t.allowed)[n] = 0;
    return {};
  }
  /// Puts a task into the subgroup of the first policy all of whose labels it carries.
  void join(volcano::task& t, const label_list& of) {
    auto& j = cluster.jobs.back();
    volcano::subgroup s;
    for (std::size_t p = 0; p < policies_.size() && s.policy == volcano::nowhere; ++p) {
      std::vector<std::string> values;
      for (const auto& key : policies_[p].by) {
        const auto* value = value_of(of, key);
        if (value == nullptr && key == "volcano.sh/task-spec" && !t.role.empty()) value = &t.role;
        if (value == nullptr || value->empty()) break;
        values.push_back(*value);
      }
      if (values.empty() || values.size() != policies_[p].by.size()) continue;
      s.policy = p;
      s.id = policies_[p].name;
      for (const auto& value : values) s.id += "-" + value;
      s.index = label_condition::whole(values[0]).value_or(0);
      s.least = policies_[p].size;
      s.limit = policies_[p].limit;
    }
    if (s.policy == volcano::nowhere) {
      s.least = policies_.empty() ? j.least : 1;
      s.limit = j.limit;
    }
    std::size_t at = 0;
    while (at < j.subgroups.size() && (j.subgroups[at].policy != s.policy || j.subgroups[at].id != s.id)) ++at;
    if (at == j.subgroups.size()) j.subgroups.push_back(std::move(s));
    t.subgroup = at;
    j.subgroups[at].tasks.push_back(cluster.tasks.size());
    j.tasks.push_back(cluster.tasks.size());
  }
  [[nodiscard]] static bool state_of(std::string_view s, volcano::task_state& out) {
    using enum volcano::task_state;
    for (const auto& [name, to] :
         {std::pair{"pending", pending}, std::pair{"gated", gated}, std::pair{"running", running},
          std::pair{"allocated", allocated}, std::pair{"binding", bound}, std::pair{"bound", bound},
          std::pair{"pipelined", pipelined}, std::pair{"releasing", releasing}, std::pair{"succeeded", gone},
          std::pair{"failed", gone}})
      if (s == name) {
        out = to == bound ? running : to;  // bound before the cycle is no binding of this one
        return true;
      }
    return false;
  }

  const case_question& q_;
  unread_members unread_;
  named_site site_;
  std::vector<policy> policies_;
};

}  // namespace berth::case_io
