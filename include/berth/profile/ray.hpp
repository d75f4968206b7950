#pragma once
/// \file
/// Ray's placement groups and tasks. Source: ray-project/ray src/ray/raylet/scheduling/policy/
/// (bundle_scheduling_policy.cc, topology_bundle_scheduling_policy.cc, scorer.cc, hybrid_scheduling_policy.cc) and
/// doc/source/ray-core/scheduling/placement-group.rst.
///
/// | strategy       | rule                                                                                        |
/// |----------------|---------------------------------------------------------------------------------------------|
/// | `pack`         | bundles GPU first; the best node takes as many as fit, then the next                        |
/// | `spread`       | the best node without one; where there is none, the best that has one                       |
/// | `strict_pack`  | the sum of the bundles on the best node; the wished-for node if it holds them               |
/// | `strict_spread`| the best node without one, or refused                                                       |
/// | topology label | groups of nodes by the label's value: the first that could ever hold everything and does now |
/// | single tasks   | hybrid: the lowest utilisation, counted as 0 below the threshold; nodes that can start it first |
///
/// Ties of equal scores are settled by the order of the nodes; in Ray by that of a hash table.

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "berth/profile/gang.hpp"
#include "berth/profile/site.hpp"

namespace berth {

/// One bundle: what it needs on one node.
struct ray_bundle {
  amount_list need;
  label_list labels;  ///< "value", "!value", "in(a,b)" or "!in(a,b)" by key
};

enum class ray_strategy : std::uint8_t { pack, spread, strict_pack, strict_spread };

/// How single tasks are placed.
struct ray_task_rules {
  double threshold = 0.5;            ///< scheduler_spread_threshold
  bool avoid_gpu_nodes = false;      ///< tasks without GPUs go to nodes without GPUs while there are free ones
  bool must_start_now = false;       ///< no queueing on a node that is full
  std::optional<std::string> avoid;  ///< not this node
};

/// A node policy: the sum over what is needed of the fraction left free, larger first; less than 0 where it does not
/// fit.
struct ray_least_loaded {
  [[nodiscard]] static double score(const amount_list& free, const amount_list& need) noexcept {
    double sum = 0;
    for (const auto& n : need) {
      const std::int64_t have = free.of(n.resource);
      if (n.thousandths > 0 && have < n.thousandths) return -1;
      if (have > 0 && n.thousandths > 0) sum += static_cast<double>(have - n.thousandths) / static_cast<double>(have);
    }
    return sum;
  }
};

class ray_cluster {
 public:
  struct result {
    enum class state : std::uint8_t { placed, failed, infeasible, no_nodes };
    state outcome = state::failed;
    std::vector<std::size_t> nodes;  ///< by bundle
  };

  /// The site must outlive it.
  explicit ray_cluster(const named_site& site) : site_{site} {
    for (const auto& n : site.nodes) free_.push_back(n.free);
    for (const auto& u : site.uses)
      if (const auto n = site.node(u.node); n && u.counts) free_[*n].add(u.requests, -u.count);
  }

  /// Takes what was placed.
  void take(const result& r, const std::vector<ray_bundle>& bundles) {
    for (std::size_t i = 0; i < r.nodes.size(); ++i) free_[r.nodes[i]].add(bundles[i].need, -1);
  }

  /// A placement group. `level`: all of it inside one domain of that level. `wished`: the node that strict packing
  /// tries first. `used`: nodes that hold other bundles of the group, which strict spreading keeps off. `inside`: the
  /// one domain that lost bundles have to return to.
  [[nodiscard]] result place(const std::vector<ray_bundle>& bundles, ray_strategy how,
                             std::optional<std::size_t> level = std::nullopt, const std::string& wished = {},
                             const std::vector<std::size_t>& used = {}, const std::string& inside = {}) const {
    std::vector<std::size_t> all;
    for (std::size_t i = 0; i < site_.nodes.size(); ++i) {
      bool taken = !alive(i);
      for (const std::size_t u : used) taken = taken || (u == i && how == ray_strategy::strict_spread);
      if (!taken) all.push_back(i);
    }
    if (all.empty()) return {result::state::no_nodes, {}};
    if (!level) return among(bundles, how, std::move(all), wished);
    std::vector<std::string> values;
    std::map<std::string, std::vector<std::size_t>> groups;
    for (const std::size_t n : all) {
      const auto& path = site_.nodes[n].path;
      if (*level >= path.size() || !path[*level] || path[*level]->empty()) continue;
      if (!inside.empty() && *path[*level] != inside) continue;
      auto& group = groups[*path[*level]];
      if (group.empty()) values.push_back(*path[*level]);
      group.push_back(n);
    }
    result out{result::state::infeasible, {}};
    for (const auto& value : values) {
      const auto& group = groups[value];
      if (!could_ever(bundles, group) || !sums_up(bundles, group)) continue;
      result r = among(bundles, how, group, wished);
      if (r.outcome == result::state::placed) return r;
      out.outcome = result::state::failed;
    }
    return out;
  }

  /// A single task. `placed` also where the node is full now but could run it later.
  [[nodiscard]] result place_task(const ray_bundle& task, const ray_task_rules& rules) const {
    if (site_.nodes.empty()) return {result::state::no_nodes, {}};
    if (rules.avoid_gpu_nodes && task.need.of("gpu") == 0)
      if (const auto n = hybrid(task, rules, true, true)) return {result::state::placed, {*n}};
    if (const auto n = hybrid(task, rules, rules.must_start_now, false)) return {result::state::placed, {*n}};
    bool ever = false;
    for (std::size_t i = 0; i < site_.nodes.size(); ++i)
      ever = ever || (alive(i) && !(rules.avoid && *rules.avoid == site_.nodes[i].name) && feasible(i, task));
    return {ever ? result::state::failed : result::state::infeasible, {}};
  }

 private:
  [[nodiscard]] bool alive(std::size_t n) const noexcept { return site_.nodes[n].ready && site_.nodes[n].schedulable; }
  [[nodiscard]] bool labels_match(std::size_t n, const ray_bundle& b) const {
    for (const label& l : b.labels) {
      std::string_view want = l.value;
      const bool no = want.starts_with('!');
      if (no) want.remove_prefix(1);
      const std::string* have = value_of(site_.nodes[n].labels, l.key);
      bool listed = false;
      if (want.starts_with("in(") && want.ends_with(')')) {
        want = want.substr(3, want.size() - 4);
        while (!want.empty()) {
          const auto comma = want.find(',');
          std::string_view one = want.substr(0, comma);
          while (one.starts_with(' ')) one.remove_prefix(1);
          while (one.ends_with(' ')) one.remove_suffix(1);
          listed = listed || (have != nullptr && *have == one);
          want = comma == std::string_view::npos ? std::string_view{} : want.substr(comma + 1);
        }
      } else {
        listed = have != nullptr && *have == want;
      }
      if (listed == no) return false;
    }
    return true;
  }
  [[nodiscard]] static bool holds(const amount_list& there, const amount_list& need) noexcept {
    for (const auto& n : need)
      if (n.thousandths > 0 && there.of(n.resource) < n.thousandths) return false;
    return true;
  }
  [[nodiscard]] bool feasible(std::size_t n, const ray_bundle& b) const {
    return holds(site_.nodes[n].capacity, b.need) && labels_match(n, b);
  }
  /// Every bundle alone has a node that could hold it were it empty.
  [[nodiscard]] bool could_ever(const std::vector<ray_bundle>& bundles, const std::vector<std::size_t>& all) const {
    for (const auto& b : bundles) {
      bool one = false;
      for (const std::size_t n : all) one = one || feasible(n, b);
      if (!one) return false;
    }
    return true;
  }
  [[nodiscard]] bool sums_up(const std::vector<ray_bundle>& bundles, const std::vector<std::size_t>& all) const {
    amount_list need, there;
    for (const auto& b : bundles) need.add(b.need);
    for (const std::size_t n : all) there.add(site_.nodes[n].capacity);
    return holds(there, need);
  }

  using frees = std::vector<amount_list>;
  [[nodiscard]] std::optional<std::size_t> best(const ray_bundle& b, const std::vector<std::size_t>& all,
                                                const frees& free) const {
    std::optional<std::size_t> out;
    double top = -1;
    for (const std::size_t n : all) {
      if (!labels_match(n, b)) continue;
      const double s = ray_least_loaded::score(free[n], b.need);
      if (s > top || (!out && s >= 0)) out = n, top = s;
    }
    return top >= 0 ? out : std::nullopt;
  }

  /// Scarce resources first: GPUs, then named ones, object store, memory, CPUs; the larger first.
  [[nodiscard]] static bool scarcer(const amount_list& a, const amount_list& b) {
    if (a.of("gpu") != b.of("gpu")) return a.of("gpu") > b.of("gpu");
    const auto predefined = [](std::string_view r) {
      return r == "gpu" || r == "cpu" || r == "mem" || r == "object_store_memory";
    };
    std::map<std::string, bool> names;
    for (const auto* list : {&a, &b})
      for (const auto& r : *list)
        if (!predefined(r.resource)) names[r.resource] = true;
    for (const auto& [name, yes] : names)
      if (a.of(name) != b.of(name)) return a.of(name) > b.of(name);
    for (const char* r : {"object_store_memory", "mem", "cpu"})
      if (a.of(r) != b.of(r)) return a.of(r) > b.of(r);
    return false;
  }
  [[nodiscard]] static std::vector<std::size_t> scarce_first(const std::vector<ray_bundle>& bundles) {
    std::vector<std::size_t> order;
    for (std::size_t i = 0; i < bundles.size(); ++i) {
      std::size_t at = order.size();
      while (at > 0 && scarcer(bundles[i].need, bundles[order[at - 1]].need)) --at;
      order.insert(order.begin() + static_cast<std::ptrdiff_t>(at), i);
    }
    return order;
  }

  [[nodiscard]] result among(const std::vector<ray_bundle>& bundles, ray_strategy how, std::vector<std::size_t> all,
                             const std::string& wished) const {
    result out;
    out.outcome = result::state::infeasible;
    if (how == ray_strategy::strict_pack) {
      ray_bundle sum;
      for (const auto& b : bundles) {
        sum.need.add(b.need);
        sum.labels.insert(sum.labels.end(), b.labels.begin(), b.labels.end());
      }
      if (!could_ever({sum}, all)) return out;
      out.outcome = result::state::failed;
      std::optional<std::size_t> n;
      for (const std::size_t w : all)
        if (!n && site_.nodes[w].name == wished) n = best(sum, {w}, free_);
      if (!n) n = best(sum, all, free_);
      if (!n) return out;
      out.nodes.assign(bundles.size(), *n);
      out.outcome = result::state::placed;
      return out;
    }
    if (how == ray_strategy::strict_spread && bundles.size() > all.size()) return out;
    if (!could_ever(bundles, all)) return out;
    out.outcome = result::state::failed;
    frees free = free_;
    std::vector<std::size_t> chosen(bundles.size(), site_.nodes.size()), taken;
    const auto remove = [](std::vector<std::size_t>& from, std::size_t n) {
      for (std::size_t i = 0; i < from.size(); ++i)
        if (from[i] == n) return void(from.erase(from.begin() + static_cast<std::ptrdiff_t>(i)));
    };
    const auto order = scarce_first(bundles);
    for (const std::size_t i : order) {
      if (chosen[i] != site_.nodes.size()) continue;
      auto n = best(bundles[i], all, free);
      if (!n && how == ray_strategy::spread) n = best(bundles[i], taken, free);
      if (!n) return out;
      chosen[i] = *n;
      free[*n].add(bundles[i].need, -1);
      if (how == ray_strategy::pack)
        for (const std::size_t k : order)
          if (chosen[k] == site_.nodes.size() && holds(free[*n], bundles[k].need) && labels_match(*n, bundles[k])) {
            chosen[k] = *n;
            free[*n].add(bundles[k].need, -1);
          }
      remove(all, *n);
      taken.push_back(*n);
    }
    out.outcome = result::state::placed;
    out.nodes = std::move(chosen);
    return out;
  }

  /// CPUs, memory and object store; the fullest of them.
  [[nodiscard]] double utilisation(std::size_t n, double threshold) const {
    double top = 0;
    for (const char* r : {"cpu", "mem", "object_store_memory"}) {
      const auto all = site_.nodes[n].capacity.of(r);
      if (all <= 0) continue;
      const double used = 1 - static_cast<double>(free_[n].of(r)) / static_cast<double>(all);
      top = used > top ? used : top;
    }
    return top < threshold ? 0 : top;
  }
  [[nodiscard]] std::optional<std::size_t> hybrid(const ray_bundle& task, const ray_task_rules& rules, bool now,
                                                  bool without_gpus) const {
    std::optional<std::size_t> best_now, best_later;
    double least_now = 0, least_later = 0;
    for (std::size_t i = 0; i < site_.nodes.size(); ++i) {
      if (!alive(i) || !feasible(i, task) || (rules.avoid && *rules.avoid == site_.nodes[i].name)) continue;
      if (without_gpus && site_.nodes[i].capacity.of("gpu") > 0) continue;
      const double u = utilisation(i, rules.threshold);
      const bool starts = holds(free_[i], task.need);
      auto& best = starts ? best_now : best_later;
      double& least = starts ? least_now : least_later;
      if (!best || u < least) best = i, least = u;
    }
    if (best_now || now) return best_now;
    return best_later;
  }

  const named_site& site_;
  frees free_;
};

}  // namespace berth
