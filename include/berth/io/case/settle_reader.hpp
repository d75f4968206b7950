#pragma once
/// \file
/// Reads the cluster, queues and jobs of a case of kind `settle`. Needs nlohmann-json and Eigen.
///
/// What their fixtures take for granted and the cases leave out: a pod that states no cpu asks one core, one that
/// states no memory 10^9 bytes; `cpu` of nodes and pods counts cores, that of queues millicores; a node holds 110 pods.

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

#include "berth/io/case/cluster.hpp"
#include "berth/io/case/value.hpp"
#include "berth/profile/kai.hpp"

namespace berth::case_io {

/// Reads a case into `kai::cluster`. Members it does not know are remembered, because an answer without them would
/// answer another question.
class settle_reader {
 public:
  explicit settle_reader(const case_question& q) : q_{q} {}
  kai::cluster cluster;
  std::string unknown;  ///< what of the case is not read or not known

  [[nodiscard]] read<void> all() {
    cluster.resources = {"cpu", "mem", "gpu", "pods"};
    cluster.gpus_per_unit.assign(4, 0);
    known(q_.body, "id kind source policy cluster queues queue_groups jobs expect limits topic", "case");
    if (auto ok = nodes(); !ok) return ok;
    for (const char* key : {"queue_groups", "queues"})
      if (auto ok = queues(key); !ok) return ok;
    if (auto ok = parents(); !ok) return ok;
    if (auto ok = jobs(); !ok) return ok;
    if (unread_.misspelt) return unexpected{*unread_.misspelt};
    // Every amount is as long as the list of resources, which grew while reading.
    const auto m = cluster.resources.size();
    for (auto& n : cluster.nodes) n.total.resize(m, 0);
    for (auto& p : cluster.all_pods) p.request.resize(m, 0);
    kai::book_all(cluster);
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
    // MIG profiles count as GPUs by their compute slices: 3g.20gb as three.
    std::int64_t slices = 0;
    std::size_t i = 0;
    for (; i < name.size() && i < 3 && name[i] >= '0' && name[i] <= '9'; ++i) slices = slices * 10 + (name[i] - '0');
    cluster.gpus_per_unit.push_back(i > 0 && i < name.size() && name[i] == 'g' ? slices : 0);
    return cluster.resources.size() - 1;
  }
  static void set(kai::quantities& q, std::size_t r, std::int64_t value) {
    if (q.size() <= r) q.resize(r + 1, 0);
    q[r] = value;
  }
  /// Thousandths as they are counted: millicores of cores, whole bytes, thousandths of the rest.
  [[nodiscard]] static std::int64_t counted(std::size_t r, std::int64_t thousandths) noexcept {
    return r == kai::memory ? thousandths / 1000 : thousandths;
  }
  [[nodiscard]] read<void> amounts_into(const object& o, std::string_view key, kai::quantities& q) {
    auto a = amounts(o.given(key), key, q_.source);
    if (!a) return unexpected{std::move(a).error()};
    for (const auto& x : *a) {
      const auto r = resource_of(x.resource);
      set(q, r, counted(r, x.thousandths));
    }
    return {};
  }

  [[nodiscard]] read<void> nodes() {
    auto site = case_io::cluster(q_);
    if (!site) return unexpected{std::move(site).error()};
    cluster.levels = site->levels;
    const auto* c = q_.given("cluster");
    if (c == nullptr) return {};
    known(*c, "levels nodes node_filter", "cluster");
    const object co{*c, q_.source};
    auto list = co.items("nodes");
    if (!list) return unexpected{std::move(list).error()};
    for (std::size_t i = 0; i < site->nodes.size(); ++i) {
      const auto& s = site->nodes[i];
      const object o{(**list)[i], q_.source};
      known(o.value(), "name path capacity labels mig_slices mig_strategy gpu_memory_mib gpu_model ready schedulable",
            "node");
      if (!s.schedulable) unknown = unknown.empty() ? "node with schedulable" : unknown;
      if (find(s.name) != kai::nowhere) return o.wrong("name", *o.given("name"), "each node once");
      kai::node n;
      n.name = s.name;
      n.path = s.path;
      n.ready = s.ready;
      n.total.assign(cluster.resources.size(), 0);
      n.total[kai::pods] = 110 * kai::one;
      if (auto ok = amounts_into(o, "capacity", n.total); !ok) return ok;
      if (auto ok = amounts_into(o, "mig_slices", n.total); !ok) return ok;
      n.gpu_count = n.total[kai::gpu] / kai::one;
      std::string strategy;
      if (auto ok = o.text("mig_strategy", strategy); !ok) return ok;
      n.mig = !strategy.empty() || o.given("mig_slices") != nullptr;
      n.strategy = strategy == "mixed"    ? kai::mig_strategy::mixed
                   : strategy == "single" ? kai::mig_strategy::single
                   : n.mig                ? kai::mig_strategy::other
                                          : kai::mig_strategy::none;
      if (n.strategy == kai::mig_strategy::mixed) n.total[kai::gpu] = 0;  // whole GPUs are no resource there
      if (auto ok = o.integer("gpu_memory_mib", n.gpu_memory, 1, max_count); !ok) return ok;
      n.gpu_memory -= n.gpu_memory % 100;
      labels_.push_back(s.labels);
      cluster.nodes.push_back(std::move(n));
    }
    return {};
  }
  [[nodiscard]] std::size_t find(std::string_view name) const noexcept {
    for (std::size_t n = 0; n < cluster.nodes.size(); ++n)
      if (cluster.nodes[n].name == name) return n;
    return kai::nowhere;
  }

  /// {"gpu": 2}: what is not named has no limit, and weight 1.
  [[nodiscard]] read<kai::quantities> quota_of(const object& o, std::string_view key, std::int64_t otherwise) {
    kai::quantities q(kai::quota_resources, otherwise);
    auto a = amounts(o.given(key), key, q_.source);
    if (!a) return unexpected{std::move(a).error()};
    for (const auto& x : *a) {
      if (x.resource == "cpu") q[kai::cpu] = x.thousandths / 1000;  // millicores already
      else if (x.resource == "mem") q[kai::memory] = x.thousandths / 1000;
      else if (x.resource == "gpu") q[kai::gpu] = x.thousandths;
      else if (unknown.empty()) unknown = std::string{key} + " with " + x.resource;
    }
    return q;
  }
  [[nodiscard]] read<void> queues(std::string_view key) {
    const object body{q_.body, q_.source};
    auto list = body.objects(key);
    if (!list) return unexpected{std::move(list).error()};
    std::int64_t age = 0;
    for (const auto& o : *list) {
      known(o.value(), "name parent priority deserved over_quota_weight limit created_at", "queue");
      kai::queue x;
      auto name = o.name();
      if (!name) return unexpected{std::move(name).error()};
      x.name = std::move(*name);
      for (const auto& other : cluster.queues)
        if (other.name == x.name) return o.wrong("name", *o.given("name"), "each queue once");
      x.created = age++;
      if (auto ok = o.integer("priority", x.priority, -max_count, max_count); !ok) return ok;
      x.priority = o.given("priority") == nullptr ? 100 : x.priority;
      if (auto ok = o.integer("created_at", x.created, -max_count, max_count); !ok) return ok;
      for (const auto& [what, to, otherwise] :
           {std::tuple{"deserved", &x.deserved, unlimited}, std::tuple{"limit", &x.limit, unlimited},
            std::tuple{"over_quota_weight", &x.weight, kai::one}}) {
        auto q = quota_of(o, what, otherwise);
        if (!q) return unexpected{std::move(q).error()};
        *to = std::move(*q);
      }
      for (const auto r : {kai::cpu, kai::memory}) x.weight[r] = kai::one;
      if (const auto* w = o.given("over_quota_weight"); w == nullptr || w->find("gpu") == nullptr)
        // A group's surplus is divided by what it deserves.
        x.weight[kai::gpu] = x.deserved[kai::gpu] == unlimited ? kai::one : x.deserved[kai::gpu];
      parents_.push_back({{}, o.value().line});
      if (auto ok = o.text("parent", parents_.back().name); !ok) return ok;
      cluster.queues.push_back(std::move(x));
    }
    return {};
  }
  [[nodiscard]] std::size_t queue_named(std::string_view name) const noexcept {
    for (std::size_t k = 0; k < cluster.queues.size(); ++k)
      if (cluster.queues[k].name == name) return k;
    return kai::nowhere;
  }
  [[nodiscard]] read<void> parents() {
    for (std::size_t i = 0; i < cluster.queues.size(); ++i) {
      const auto& [name, line] = parents_[i];
      if (name.empty()) continue;
      const auto parent = queue_named(name);
      if (parent == kai::nowhere)
        return unexpected{input_error{q_.source, line, "parent: " + io_text::quoted(name), "a queue of the case"}};
      cluster.queues[i].parent = parent;
      cluster.queues[parent].leaf = false;
    }
    for (std::size_t i = 0; i < cluster.queues.size(); ++i) {
      std::size_t steps = 0;
      for (auto at = i; at != kai::nowhere; at = cluster.queues[at].parent)
        if (++steps > cluster.queues.size() || steps > 64)
          return unexpected{
              input_error{q_.source, q_.body.line, "a queue below itself, or deeper than 64", "a tree of queues"}};
    }
    return {};
  }

  [[nodiscard]] read<void> jobs() {
    const object body{q_.body, q_.source};
    auto list = body.objects("jobs");
    if (!list) return unexpected{std::move(list).error()};
    for (const auto& o : *list) {
      known(o.value(), "name queue priority preemptible per_pod gang_min topology group_tree pods created_at", "job");
      kai::job j;
      auto name = o.name();
      if (!name) return unexpected{std::move(name).error()};
      j.name = std::move(*name);
      std::string queue;
      if (auto ok = o.text("queue", queue); !ok) return ok;
      j.queue = queue_named(queue);
      if (j.queue == kai::nowhere && !queue.empty()) return o.wrong("queue", *o.given("queue"), "a queue of the case");
      if (auto ok = o.integer("priority", j.priority, -max_count, max_count); !ok) return ok;
      if (auto ok = o.flag("preemptible", j.preemptible); !ok) return ok;
      cluster.jobs.push_back(std::move(j));
      if (auto ok = groups(o); !ok) return ok;
      if (auto ok = pods(o); !ok) return ok;
    }
    // Age is the place in the list, which KAI's fixtures sort by priority first.
    std::vector<std::size_t> order(cluster.jobs.size());
    for (std::size_t i = 0; i < order.size(); ++i) order[i] = i;
    std::stable_sort(order.begin(), order.end(),
                     [&](std::size_t a, std::size_t b) { return cluster.jobs[a].priority > cluster.jobs[b].priority; });
    for (std::size_t i = 0; i < order.size(); ++i) cluster.jobs[order[i]].created = static_cast<std::int64_t>(i);
    for (std::size_t i = 0; i < order.size(); ++i)
      if (auto ok = (*list)[i].integer("created_at", cluster.jobs[i].created, -max_count, max_count); !ok) return ok;
    return {};
  }

  [[nodiscard]] read<std::optional<kai::topology_wish>> wish(const object& o) {
    std::optional<kai::topology_wish> out;
    const auto* v = o.given("topology");
    if (v == nullptr) return out;
    const object t{*v, q_.source};
    if (auto ok = t.is_object("topology"); !ok) return unexpected{std::move(ok).error()};
    known(*v, "required preferred", "topology");
    out.emplace();
    for (const auto& [key, to] : {std::pair{"required", &out->required}, std::pair{"preferred", &out->preferred}}) {
      std::string level;
      if (auto ok = t.text(key, level); !ok) return unexpected{std::move(ok).error()};
      if (level.empty()) continue;
      const auto at = std::find(cluster.levels.begin(), cluster.levels.end(), level);
      if (at == cluster.levels.end()) {  // a level that the topology does not have refuses the job
        out = kai::topology_wish{};
        return out;
      }
      *to = static_cast<std::size_t>(at - cluster.levels.begin());
    }
    return out;
  }
  [[nodiscard]] read<void> groups(const object& o) {
    auto& j = cluster.jobs.back();
    j.groups.emplace_back();
    j.groups[0].leaf = false;
    const auto* tree = o.given("group_tree");
    if (tree != nullptr) {
      if (auto ok = group(object{*tree, q_.source}, 0, 0); !ok) return ok;
    }
    auto w = wish(o);
    if (!w) return unexpected{std::move(w).error()};
    if (*w) j.groups[0].wish = std::move(*w);
    if (tree == nullptr) {
      auto list = o.items("pods");
      if (!list) return unexpected{std::move(list).error()};
      kai::pod_group leaf;
      leaf.name = "default";
      leaf.parent = 0;
      leaf.least = static_cast<std::int64_t>((*list)->size());
      if (auto ok = o.integer("gang_min", leaf.least, 0, max_count); !ok) return ok;
      j.groups[0].children.push_back(1);
      j.groups[0].least = 1;
      j.groups.push_back(std::move(leaf));
    }
    return {};
  }
  [[nodiscard]] read<void> group(const object& o, std::size_t at, std::size_t depth) {
    if (auto ok = o.is_object("group_tree"); !ok) return ok;
    if (depth > 32) return o.wrong("groups", o.value(), "at most 32 levels of groups");
    known(o.value(), "name groups pod_sets min_children topology", "group");
    auto& j = cluster.jobs.back();
    if (auto ok = o.text("name", j.groups[at].name); !ok) return ok;
    auto w = wish(o);
    if (!w) return unexpected{std::move(w).error()};
    j.groups[at].wish = std::move(*w);
    auto inner = o.items("groups");
    if (!inner) return unexpected{std::move(inner).error()};
    for (const auto& v : **inner) {
      const auto k = child_of(at, false);
      if (auto ok = group(object{v, q_.source}, k, depth + 1); !ok) return ok;
    }
    auto leaves = o.objects("pod_sets");
    if (!leaves) return unexpected{std::move(leaves).error()};
    for (const auto& l : *leaves) {
      known(l.value(), "name min topology", "pod set");
      const auto k = child_of(at, true);
      if (auto ok = l.text("name", j.groups[k].name); !ok) return ok;
      if (auto ok = l.integer("min", j.groups[k].least, 0, max_count); !ok) return ok;
      auto lw = wish(l);
      if (!lw) return unexpected{std::move(lw).error()};
      j.groups[k].wish = std::move(*lw);
    }
    j.groups[at].least = static_cast<std::int64_t>(j.groups[at].children.size());
    return o.integer("min_children", j.groups[at].least, 0, max_count);
  }
  std::size_t child_of(std::size_t at, bool leaf) {
    auto& groups = cluster.jobs.back().groups;
    const auto k = groups.size();
    groups[at].children.push_back(k);
    groups.emplace_back();
    groups[k].parent = at;
    groups[k].leaf = leaf;
    return k;
  }

  [[nodiscard]] read<void> pods(const object& o) {
    auto& j = cluster.jobs.back();
    auto list = o.objects("pods");
    if (!list) return unexpected{std::move(list).error()};
    const auto* per_pod = o.given("per_pod");
    for (const auto& p : *list) {
      known(p.value(), "name state node gpu_devices pod_set mig gpu priority node_affinity allowed_nodes", "pod");
      kai::pod x;
      auto name = p.name();
      if (!name) return unexpected{std::move(name).error()};
      x.name = std::move(*name);
      x.job = cluster.jobs.size() - 1;
      std::string state, node, set;
      for (const auto& [key, to] : {std::pair{"state", &state}, std::pair{"node", &node}, std::pair{"pod_set", &set}})
        if (auto ok = p.text(key, *to); !ok) return ok;
      if (!state_of(state, x.state)) return p.wrong("state", p.value(), "a state of a pod");
      if (kai::on_node(x.state)) {
        x.node = find(node);
        if (x.node == kai::nowhere) return p.wrong("node", p.value(), "a node of the cluster");
      }
      if (p.given("priority") != nullptr) {
        std::int64_t order = 0;
        if (auto ok = p.integer("priority", order, -max_count, max_count); !ok) return ok;
        x.order = order;
      }
      for (const char* key : {"node_affinity", "allowed_nodes"})
        if (auto ok = where(p, key, x); !ok) return ok;
      if (auto ok = asks(per_pod, p, x); !ok) return ok;
      if (x.shares() && kai::on_node(x.state)) {
        if (auto ok = p.texts("gpu_devices", x.shared); !ok) return ok;
        while (static_cast<std::int64_t>(x.shared.size()) < x.devices)
          x.shared.push_back(x.name + "." + std::to_string(x.shared.size()));
        x.shared.resize(static_cast<std::size_t>(x.devices));
      }
      x.group = kai::nowhere;
      for (std::size_t g = 0; g < j.groups.size(); ++g)
        if (j.groups[g].leaf && (set.empty() ? j.groups[g].name == "default" : j.groups[g].name == set)) x.group = g;
      if (x.group == kai::nowhere) {
        if (!set.empty()) return p.wrong("pod_set", p.value(), "a pod set of the job");
        x.group = child_of(0, true);  // pods outside the named sets are one more set, needed whole
        j.groups[x.group].name = "default";
        j.groups[x.group].least = static_cast<std::int64_t>(list->size());
        if (o.given("group_tree") == nullptr || o.given("group_tree")->find("min_children") == nullptr)
          ++j.groups[0].least;
      }
      j.groups[x.group].pods.push_back(cluster.all_pods.size());
      j.pods.push_back(cluster.all_pods.size());
      cluster.all_pods.push_back(std::move(x));
    }
    return {};
  }
  /// ["node1"]: nodes by name, or by the value of one of their labels.
  [[nodiscard]] read<void> where(const object& p, std::string_view key, kai::pod& x) {
    const auto* v = p.given(key);
    if (v == nullptr) return {};
    if (v->type != json_value::kind::array) {
      if (unknown.empty()) unknown = "pod with " + std::string{key};
      return {};
    }
    std::vector<std::string> names;
    if (auto ok = p.texts(key, names); !ok) return ok;
    x.only.emplace();
    for (std::size_t n = 0; n < cluster.nodes.size(); ++n)
      for (const auto& name : names) {
        bool match = cluster.nodes[n].name == name;
        for (const auto& l : labels_[n]) match = match || l.value == name;
        if (match && (x.only->empty() || x.only->back() != n)) x.only->push_back(n);
      }
    return {};
  }
  [[nodiscard]] static bool state_of(std::string_view s, kai::pod_state& out) {
    using enum kai::pod_state;
    for (const auto& [name, to] :
         {std::pair{"pending", pending}, std::pair{"gated", gated}, std::pair{"running", running},
          std::pair{"binding", allocated}, std::pair{"bound", allocated}, std::pair{"pipelined", pipelined},
          std::pair{"releasing", releasing}, std::pair{"stuck-in-releasing", stuck}, std::pair{"succeeded", gone},
          std::pair{"failed", gone}})
      if (s == name) {
        out = to;
        return true;
      }
    return false;
  }
  /// What a pod asks: the job's amounts, over-ruled by its own.
  [[nodiscard]] read<void> asks(const json_value* per_pod, const object& p, kai::pod& x) {
    x.request.assign(cluster.resources.size(), 0);
    x.request[kai::pods] = kai::one;
    x.request[kai::cpu] = 1000;
    x.request[kai::memory] = 1'000'000'000;
    std::int64_t gpus = 0, devices = 1;
    if (per_pod != nullptr) {
      auto a = amounts(per_pod, "per_pod", q_.source);
      if (!a) return unexpected{std::move(a).error()};
      for (const auto& y : *a) {
        if (y.resource == "gpu") gpus = y.thousandths;
        else if (y.resource == "gpu_memory_mib") x.memory_mib = y.thousandths / 1000;
        else if (y.resource == "gpu_devices") devices = y.thousandths / 1000;
        else {
          const auto r = resource_of(y.resource);
          set(x.request, r, counted(r, y.thousandths));
        }
      }
    }
    if (const auto* g = p.given("gpu")) {
      auto n = thousandths(*g, "gpu", q_.source);
      if (!n) return unexpected{std::move(n).error()};
      gpus = *n;
    }
    if (gpus < 0 || devices < 0 || devices > max_count || x.memory_mib < 0)
      return p.wrong("gpu", p.value(), "amounts of at least 0");
    if (x.memory_mib > 0) {
      x.kind = kai::device_kind::memory;
      x.devices = devices;
    } else if (gpus % kai::one != 0) {
      x.kind = kai::device_kind::fraction;
      x.devices = devices;
      x.portion = gpus;
      set(x.request, kai::gpu, gpus * devices);
    } else if (gpus > 0) {
      x.kind = kai::device_kind::whole;
      x.devices = gpus / kai::one;
      x.portion = kai::one;
      set(x.request, kai::gpu, gpus);
    }
    if (p.given("mig") != nullptr) {
      x.kind = kai::device_kind::mig;
      x.portion = 0;
      if (auto ok = amounts_into(p, "mig", x.request); !ok) return ok;
    }
    return {};
  }

  const case_question& q_;
  unread_members unread_;
  struct parent_named {
    std::string name;
    std::size_t line = 0;  ///< of the queue
  };
  std::vector<parent_named> parents_;
  std::vector<label_list> labels_;  ///< by node
};

}  // namespace berth::case_io
