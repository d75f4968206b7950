#pragma once
/// \file
/// KubeRay's RayCluster, RayJob and RayService, and the placement groups that a job's script makes.
///
/// Sources: `ray.io/v1` of ray-project/kuberay; `ray.util.placement_group` (bundles, strategy).

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "berth/io/job/kubernetes/context.hpp"
#include "berth/io/job/kubernetes/controllers.hpp"
#include "berth/io/job/kubernetes/pod.hpp"

namespace berth::kube_job {

/// Head and workers of a Ray cluster. A worker replica may be several hosts, which start together.
inline void add_ray_cluster(const context& c, const json_value& spec, draft& d) {
  refuse_misspelt(c, &spec, ray_cluster_fields, "a Ray cluster's spec");
  const bool scales = c.flag(&spec, "enableInTreeAutoscaling");
  using kind = given_label::kind;
  const auto given = [&](const std::string& group, const char* type) {
    // The cluster of a RayJob or RayService gets a name of its own.
    const bool named = !d.ray_cluster.empty();
    return std::vector<given_label>{{"ray.io/cluster", d.ray_cluster, named ? kind::known : kind::unknown},
                                    {"ray.io/group", group},
                                    {"ray.io/node-type", type},
                                    {"ray.io/is-ray-node", "yes"},
                                    {"ray.io/identifier", "", kind::unknown}};
  };
  {
    group_spec g;
    g.name = "head";
    d.given = given("headgroup", "head");
    add_group(c, pod_template(c, c.needed(spec, "headGroupSpec", json_value::kind::object)), std::move(g), d);
  }
  const auto* workers = c.array(&spec, "workerGroupSpecs");
  if (workers == nullptr) return;
  for (const auto& w : workers->items) {
    refuse_misspelt(c, &w, ray_worker_fields, "a worker group");
    group_spec g;
    g.name = c.text(&w, "groupName");
    const std::uint32_t hosts = c.tasks(&w, "numOfHosts", 1).value_or(1);
    const std::uint32_t least = c.tasks(&w, "minReplicas").value_or(0);
    const auto most = c.integer(&w, "maxReplicas", 0, std::int64_t{1} << 31);
    std::uint32_t replicas = c.tasks(&w, "replicas").value_or(least);
    if (replicas < least) replicas = least;
    if (most && *most < replicas) replicas = static_cast<std::uint32_t>(*most);
    if (c.flag(&w, "suspend")) replicas = 0;
    if (replicas == 0) {
      c.assume(d.job, w, "the worker group " + io_text::quoted(g.name) + " starts with no workers and is left out");
      continue;
    }
    g.wanted = c.product(w, replicas, hosts);
    g.minimum = g.wanted;
    if (scales) {
      if (least == 0)
        c.assume(d.job, w,
                 "the worker group " + io_text::quoted(g.name) +
                     " may shrink to nothing; it is asked for with at least one replica");
      g.minimum = std::max(least, 1U) * hosts;
      if (most && *most > replicas)
        g.most = c.product(w, static_cast<std::uint64_t>(std::min<std::int64_t>(*most, max_tasks / hosts)), hosts);
    }
    d.given = given(g.name, "worker");
    add_group(c, pod_template(c, w), std::move(g), d);
  }
}

/// Reads `[{"CPU": 1, "GPU": 0.5}] * 4` at `s`; bundles as (amounts, count). Empty when it is no literal.
struct ray_bundle {
  std::vector<std::pair<std::string, std::int64_t>> amounts;  ///< in thousandths
  std::uint32_t count = 1;
  friend bool operator==(const ray_bundle&, const ray_bundle&) = default;
};
class bundle_reader {
 public:
  explicit bundle_reader(std::string_view s) : s_{s} {}
  [[nodiscard]] std::optional<std::vector<ray_bundle>> read() {
    std::vector<ray_bundle> out;
    if (!eat('[')) return std::nullopt;
    while (!eat(']')) {
      if (out.size() >= 10'000 || !eat('{')) return std::nullopt;
      ray_bundle b;
      while (!eat('}')) {
        const auto name = word();
        if (!name || !eat(':')) return std::nullopt;
        blanks();
        std::size_t n = 0;
        while (n < s_.size() && (io_text::is_digit(s_[n]) || s_[n] == '.' || s_[n] == '_')) ++n;
        std::string digits{s_.substr(0, n)};
        std::erase(digits, '_');
        const auto v = io_text::parse_thousandths(digits, std::int64_t{1} << 50);
        if (!v) return std::nullopt;
        s_.remove_prefix(n);
        b.amounts.emplace_back(*name, *v);
        if (!eat(',') && (blanks(), s_.empty() || s_.front() != '}')) return std::nullopt;
      }
      std::sort(b.amounts.begin(), b.amounts.end());
      if (!out.empty() && out.back().amounts == b.amounts) ++out.back().count;
      else out.push_back(std::move(b));
      if (!eat(',') && (blanks(), s_.empty() || s_.front() != ']')) return std::nullopt;
    }
    if (eat('*')) {
      blanks();
      std::size_t n = 0;
      while (n < s_.size() && io_text::is_digit(s_[n])) ++n;
      const auto times = io_text::parse_count(s_.substr(0, n), max_tasks / 10'000);
      if (!times || *times == 0) return std::nullopt;
      s_.remove_prefix(n);
      for (auto& b : out) b.count *= static_cast<std::uint32_t>(*times);
    }
    return out;
  }
  [[nodiscard]] std::string_view rest() const noexcept { return s_; }

 private:
  void blanks() noexcept {
    while (!s_.empty() && (io_text::is_blank(s_.front()) || s_.front() == '\n')) s_.remove_prefix(1);
  }
  bool eat(char ch) noexcept {
    blanks();
    if (s_.empty() || s_.front() != ch) return false;
    s_.remove_prefix(1);
    return true;
  }
  std::optional<std::string> word() {
    blanks();
    if (s_.empty() || (s_.front() != '"' && s_.front() != '\'')) return std::nullopt;
    const std::size_t end = s_.find(s_.front(), 1);
    if (end == std::string_view::npos || end == 1 || end > 200) return std::nullopt;
    std::string out{s_.substr(1, end - 1)};
    s_.remove_prefix(end + 1);
    return out;
  }
  std::string_view s_;
};

/// The placement groups of a script, as jobs that lie inside the cluster's pods.
inline void read_placement_groups(const context& c, std::string_view script, const json_value& at, const draft& owner,
                                  std::vector<draft>& out) {
  constexpr std::string_view call = "placement_group(";
  for (std::size_t p = script.find(call); p != std::string_view::npos; p = script.find(call, p + 1)) {
    if (p > 0 && (script[p - 1] == '_' || script[p - 1] == '.' || (script[p - 1] >= 'a' && script[p - 1] <= 'z')))
      continue;
    std::string_view args = script.substr(p + call.size());
    draft d;
    d.at = &at;
    std::size_t end = args.find(')');
    if (end == std::string_view::npos) end = args.size();
    std::string_view first = args;
    if (const auto named = args.substr(0, end).find("bundles"); named != std::string_view::npos) {
      first = args.substr(named + 7);
      first.remove_prefix(std::min(first.find('=') == std::string_view::npos ? 0 : first.find('=') + 1, first.size()));
    }
    bundle_reader r{first};
    const auto bundles = r.read();
    d.job = job_spec{};
    d.job.after = {owner.job.name};
    const auto keyword = [&](std::string_view key) -> std::string {
      const auto text = args.substr(0, args.find(')'));
      const std::size_t k = text.find(std::string{key} + "=");
      if (k == std::string_view::npos) return {};
      const auto v = text.substr(k + key.size() + 1);
      if (v.size() < 2 || (v.front() != '"' && v.front() != '\'')) return {};
      return std::string{v.substr(1, v.find(v.front(), 1) - 1)};
    };
    std::string name = keyword("name"), strategy = keyword("strategy");
    if (strategy.empty()) strategy = "PACK";
    if (!bundles || bundles->empty()) {
      out.push_back({});  // marked as unread; the caller says so
      continue;
    }
    d.job.name = owner.job.name + "/" + (name.empty() ? "placement-group" : name);
    std::uint64_t tasks = 0;
    for (const auto& b : *bundles) {
      group_spec g;
      g.name = free_name(d.job, "bundle");
      g.wanted = g.minimum = b.count;
      tasks += b.count;
      for (const auto& [what, n] : b.amounts) {
        if (what == "CPU" && n <= io_text::max_cpus * 1000) g.cpu = cpu_millis{n};
        else if (what == "memory" && n / 1000 <= io_text::max_memory) g.memory = bytes{n / 1000};
        else if (what == "GPU" && n % 1000 == 0 && n / 1000 <= max_tasks) g.gpus = static_cast<std::uint32_t>(n / 1000);
        else if (what == "GPU" && n < 1000) g.share = gpu_share_spec{1, static_cast<std::uint32_t>(n), {}};
        else if (n != 0) g.other.push_back({what, (n + 999) / 1000});
      }
      if (strategy == "STRICT_SPREAD") g.per_node = 1;
      if (strategy == "SPREAD" && g.wanted > 1) {
        spread_spec even;  // best effort: over as many nodes as can be
        even.level = "node";
        even.max_skew = 1;
        even.required = false;
        g.spread.push_back(std::move(even));
      }
      if (job_detail::asks_for_nothing(g)) g.cpu = cpu_millis{1};
      d.job.groups.push_back(std::move(g));
    }
    if (strategy == "STRICT_PACK" && tasks > 1) d.job.where = locality::required, d.job.level = "node";
    if (strategy == "PACK" && tasks > 1) d.job.where = locality::preferred, d.job.level = "node";
    c.assume(d.job, at,
             "placement group with strategy " + strategy +
                 " lies inside the pods of the Ray cluster, which are placed first");
    out.push_back(std::move(d));
  }
}

/// RayCluster, RayJob, RayService. \param out receives the cluster, then the placement groups of its script
inline void read_ray(const context& c, const kube_object& o, std::vector<draft>& out) {
  draft d = begin(c, o);
  const json_value& outer = c.needed(*o.value, "spec", json_value::kind::object);
  const bool cron = o.kind == "RayCronJob";
  const json_value* inner = cron ? c.object(&outer, "jobTemplate") : &outer;
  if (cron && c.object(inner, "spec") != nullptr) inner = c.object(inner, "spec");
  if (inner == nullptr) c.fail(outer, "a RayCronJob without jobTemplate", "one");
  if (cron) refuse_suspended(c, outer);
  const json_value& spec = *inner;
  const json_value* cluster = &spec;
  if (o.kind == "RayJob" || cron) cluster = c.object(&spec, "rayClusterSpec");
  if (o.kind == "RayService") {
    cluster = c.object(&spec, "rayClusterConfig");
    if (cluster == nullptr) cluster = c.object(&spec, "rayClusterSpec");
  }
  if (cluster == nullptr) {
    const auto* selector = c.object(&spec, "clusterSelector");
    const std::string name = c.text(selector, "ray.io/cluster");
    if (selector == nullptr) c.fail(spec, o.kind + " without a cluster", "rayClusterSpec");
    c.none(spec, "RayCluster " + io_text::quoted(name) + ", which runs already",
           "rayClusterSpec; a job on a running cluster asks for no nodes");
  }
  if (const auto s = c.integer(&spec, "activeDeadlineSeconds", 1, std::int64_t{1} << 40))
    d.job.seconds = static_cast<std::uint64_t>(*s);
  if (o.kind == "RayCluster") d.ray_cluster = o.name;
  add_ray_cluster(c, *cluster, d);
  std::vector<draft> groups;
  if (o.kind == "RayJob" || cron) {
    const std::string entry = c.text(&spec, "entrypoint");
    if (!entry.empty()) read_placement_groups(c, entry, *spec.find("entrypoint"), d, groups);
    for (const auto& map : c.file().objects) {
      if (map.kind != "ConfigMap") continue;
      const auto* data = c.object(map.value, "data");
      if (data == nullptr) continue;
      for (std::size_t i = 0; i < data->keys.size(); ++i)
        if (data->keys[i].ends_with(".py") && entry.find(data->keys[i]) != std::string::npos)
          read_placement_groups(c, c.text(data, data->keys[i]), data->items[i], d, groups);
    }
  }
  for (const auto& g : groups)
    if (g.job.groups.empty())
      c.assume(d.job, spec, "the script makes a placement group whose bundles are no literal; it is not read");
  out.push_back(std::move(d));
  for (auto& g : groups)
    if (!g.job.groups.empty()) out.push_back(std::move(g));
}

}  // namespace berth::kube_job
