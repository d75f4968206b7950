#pragma once
// The cluster again, as plainly as can be: what is free is never stored, only counted from the jobs. Savepoints are
// copies of everything. Shares no code with the library but its plain types.

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "berth/cluster/cluster.hpp"

namespace naive {

struct task {
  std::uint32_t node = 0;
  std::set<unsigned> devices;
  std::int64_t cpu = 0, memory = 0;
  berth::filter_id filter{0};
  friend bool operator==(const task&, const task&) = default;
};

struct node {
  bool present = true, usable = true;
  std::vector<std::string> models;                        // of its devices
  std::set<unsigned> sick;                                // devices
  std::set<std::pair<unsigned, unsigned>> cut;            // links, lower device first
  std::vector<std::vector<std::optional<double>>> rates;  // of whole links
  std::set<std::string> labels;
  std::int64_t cpu = 0, memory = 0;
};

struct state {
  std::vector<node> nodes;
  std::map<std::uint64_t, std::vector<task>> jobs;
  std::set<std::pair<unsigned, std::uint32_t>> down;  // uplinks: level, domain
  std::size_t parked_jobs = 0, parked_tasks = 0;  // released while a transaction is open: their room is not free yet
  std::size_t journal = 0;
};

/// What one node has left.
struct remains {
  std::set<unsigned> held;
  std::int64_t cpu = 0, memory = 0;
  std::uint32_t tasks = 0;
};

/// No value: it went well.
struct outcome {
  std::optional<berth::cluster_errc> error;
  berth::node_id node{};
};

inline std::set<unsigned> set_of(berth::device_mask m) {
  std::set<unsigned> out;
  for (unsigned i = 0; i < 64; ++i)
    if ((m >> i & 1) != 0) out.insert(i);
  return out;
}

class cluster {
 public:
  state now;
  std::vector<state> saved;
  berth::domain_tree tree;
  berth::cluster_limits limits;
  std::vector<berth::node_filter> filters{{}};

  cluster(const berth::cluster_spec& spec, const berth::cluster_limits& l) : tree{spec.tree}, limits{l} {
    for (const auto& n : spec.nodes) now.nodes.push_back(make(spec, n));
  }

  [[nodiscard]] static node make(const berth::cluster_spec& spec, const berth::node_spec& n) {
    node out;
    const auto& shape = spec.shapes[n.shape.index()];
    out.models = shape.models;
    out.rates.assign(shape.devices, std::vector<std::optional<double>>(shape.devices));
    for (unsigned a = 0; a < shape.devices; ++a)
      for (unsigned b = 0; b < shape.devices; ++b)
        if (const auto r = shape.bandwidth.between(a, b); a != b && r) out.rates[a][b] = r->count();
    out.labels = {n.labels.begin(), n.labels.end()};
    out.cpu = n.cpu.count();
    out.memory = n.memory.count();
    return out;
  }

  // -- what is left ------------------------------------------------------------------------------------------------

  [[nodiscard]] std::vector<remains> left() const {
    std::vector<remains> out(now.nodes.size());
    for (std::size_t n = 0; n < out.size(); ++n)
      if (now.nodes[n].present) out[n].cpu = now.nodes[n].cpu, out[n].memory = now.nodes[n].memory;
    for (const auto& [key, tasks] : now.jobs)
      for (const auto& t : tasks) take(out[t.node], t);
    return out;
  }
  [[nodiscard]] bool is_free(std::uint32_t n, unsigned device, const remains& r) const {
    const node& x = now.nodes[n];
    return x.present && x.usable && device < x.models.size() && x.sick.count(device) == 0 && r.held.count(device) == 0;
  }
  [[nodiscard]] static bool admits(const berth::node_filter& f, const node& x) {
    for (const auto& l : f.all_of)
      if (x.labels.count(l) == 0) return false;
    for (const auto& l : f.none_of)
      if (x.labels.count(l) != 0) return false;
    bool any = f.any_of.empty();
    for (const auto& l : f.any_of) any = any || x.labels.count(l) != 0;
    return any;
  }
  [[nodiscard]] static bool serves(const berth::node_filter& f, const node& x, unsigned device) {
    bool out = f.models.empty();
    for (const auto& m : f.models) out = out || m == x.models[device];
    return out;
  }
  /// Tasks of a shape that fit on a node: puts one after the other until there is no more room.
  [[nodiscard]] std::uint64_t fits(std::uint32_t n, const berth::task_shape& s, const remains& r, bool empty) const {
    const node& x = now.nodes[n];
    const auto& f = filters[s.filter.index()];
    if (!x.present || (!x.usable && !empty) || !admits(f, x)) return 0;
    std::int64_t devices = 0;
    for (unsigned d = 0; d < x.models.size(); ++d)
      if (serves(f, x, d) && (empty || is_free(n, d, r))) ++devices;
    std::int64_t cpu = empty ? x.cpu : r.cpu, memory = empty ? x.memory : r.memory;
    std::uint64_t count = 0;
    while (count < 65'535 && devices >= s.devices && cpu >= s.cpu.count() && memory >= s.memory.count()) {
      ++count;
      devices -= s.devices;
      cpu -= s.cpu.count();
      memory -= s.memory.count();
    }
    return count;
  }
  /// Capacity of every domain of every level, from what fits on the nodes. \param whole ignores broken uplinks
  [[nodiscard]] std::vector<std::vector<std::uint64_t>> capacities(const std::vector<std::uint64_t>& fit,
                                                                   bool whole) const {
    std::vector<std::vector<std::uint64_t>> out(tree.level_count());
    for (unsigned l = tree.level_count(); l-- > 0;) {
      const berth::level_id level{static_cast<std::uint8_t>(l)};
      for (std::uint32_t d = 0; d < tree.domain_count(level); ++d) {
        std::uint64_t sum = 0;
        const auto children = tree.at(level, berth::domain_id{d}).children;
        for (std::uint32_t c = children.first; c < children.last; ++c) {
          if (l + 1U == tree.level_count()) sum += fit[c];
          else if (whole || now.down.count({l + 1, c}) == 0) sum += out[l + 1][c];
        }
        out[l].push_back(sum);
      }
    }
    return out;
  }

  // -- changes -----------------------------------------------------------------------------------------------------

  outcome commit(std::uint64_t key, const std::vector<berth::task_placement>& placed,
                 const std::vector<berth::task_shape>& shapes) {
    using enum berth::cluster_errc;
    std::vector<task> wanted;
    for (const auto& t : placed) {
      task w{t.node.raw(), set_of(t.devices), 0, 0};
      if (t.group < shapes.size()) {
        w.cpu = shapes[t.group].cpu.count();
        w.memory = shapes[t.group].memory.count();
        w.filter = shapes[t.group].filter;
      }
      wanted.push_back(w);
    }
    if (const auto known = now.jobs.find(key); known != now.jobs.end()) {
      for (const auto& t : placed)
        if (t.group >= shapes.size()) return {key_in_use, {}};
      return known->second == wanted ? outcome{} : outcome{key_in_use, {}};
    }
    if (placed.empty()) return {bad_argument, {}};
    std::size_t tasks = now.parked_tasks;
    for (const auto& [k, j] : now.jobs) tasks += j.size();
    if (now.jobs.size() + now.parked_jobs + 1 > limits.jobs || tasks + placed.size() > limits.tasks || !journal_room())
      return {capacity_exhausted, {}};
    auto l = left();
    for (std::size_t i = 0; i < placed.size(); ++i) {
      const auto& t = placed[i];
      if (t.node.index() >= now.nodes.size() || t.group >= shapes.size() ||
          set_of(t.devices).size() != shapes[t.group].devices || shapes[t.group].cpu.count() < 0 ||
          shapes[t.group].memory.count() < 0 || shapes[t.group].filter.index() >= filters.size() ||
          (shapes[t.group].devices == 0 && wanted[i].cpu == 0 && wanted[i].memory == 0))
        return {bad_argument, t.node};
      remains& r = l[t.node.index()];
      bool ok = now.nodes[t.node.index()].usable && r.cpu >= wanted[i].cpu && r.memory >= wanted[i].memory;
      for (const unsigned d : wanted[i].devices) ok = ok && is_free(t.node.raw(), d, r);
      // Labels and models count as they are now, whatever they were when the tasks were placed.
      const auto& f = filters[shapes[t.group].filter.index()];
      ok = ok && admits(f, now.nodes[t.node.index()]);
      for (const unsigned d : wanted[i].devices) ok = ok && serves(f, now.nodes[t.node.index()], d);
      if (!ok) return {conflict, t.node};
      take(r, wanted[i]);
    }
    now.jobs[key] = wanted;
    note();
    return {};
  }
  outcome release(std::uint64_t key) {
    const auto j = now.jobs.find(key);
    if (j == now.jobs.end()) return {};  // holds nothing already
    if (!journal_room()) return {berth::cluster_errc::capacity_exhausted, {}};
    if (!saved.empty()) ++now.parked_jobs, now.parked_tasks += j->second.size();
    now.jobs.erase(j);
    note();
    return {};
  }
  outcome set_device_health(std::uint32_t n, unsigned d, bool healthy) {
    if (n >= now.nodes.size() || !now.nodes[n].present || d >= now.nodes[n].models.size()) return bad(n);
    if ((now.nodes[n].sick.count(d) == 0) == healthy) return {};
    if (!journal_room()) return full(n);
    if (healthy) now.nodes[n].sick.erase(d);
    else now.nodes[n].sick.insert(d);
    note();
    return {};
  }
  outcome set_node_usable(std::uint32_t n, bool usable) {
    if (n >= now.nodes.size() || !now.nodes[n].present) return bad(n);
    if (now.nodes[n].usable == usable) return {};
    if (!journal_room()) return full(n);
    now.nodes[n].usable = usable;
    note();
    return {};
  }
  outcome set_uplink_health(unsigned level, std::uint32_t domain, bool healthy) {
    if (level == 0 || level >= tree.level_count() ||
        domain >= tree.domain_count(berth::level_id{static_cast<std::uint8_t>(level)}))
      return {berth::cluster_errc::bad_argument, {}};
    if ((now.down.count({level, domain}) == 0) == healthy) return {};
    if (!journal_room()) return {berth::cluster_errc::capacity_exhausted, {}};
    if (healthy) now.down.erase({level, domain});
    else now.down.insert({level, domain});
    note();
    return {};
  }
  outcome set_link_health(std::uint32_t n, unsigned a, unsigned b, bool healthy) {
    if (n >= now.nodes.size() || !now.nodes[n].present) return bad(n);
    node& x = now.nodes[n];
    if (a == b || a >= x.models.size() || b >= x.models.size()) return bad(n);
    const auto link = a < b ? std::pair{a, b} : std::pair{b, a};
    // A link of unknown speed has nothing to lose.
    if (!x.rates[a][b] || (x.cut.count(link) == 0) == healthy) return {};
    if (!journal_room()) return full(n);
    if (healthy) x.cut.erase(link);
    else x.cut.insert(link);
    note();
    return {};
  }
  outcome relabel(std::uint32_t n, const std::vector<std::string>& labels) {
    if (n >= now.nodes.size() || !now.nodes[n].present) return bad(n);
    const std::set<std::string> next{labels.begin(), labels.end()};
    if (now.nodes[n].labels == next) return {};
    if (!journal_room()) return full(n);
    now.nodes[n].labels = next;
    note();
    return {};
  }
  outcome remove_node(std::uint32_t n) {
    if (n >= now.nodes.size() || !saved.empty()) return bad(n);
    for (const auto& [key, tasks] : now.jobs)
      for (const auto& t : tasks)
        if (t.node == n) return {berth::cluster_errc::still_in_use, berth::node_id{n}};
    now.nodes[n] = {};
    now.nodes[n].present = now.nodes[n].usable = false;
    return {};
  }
  /// The id, or what went wrong.
  std::pair<outcome, std::uint32_t> add_node(std::uint32_t leaf, const berth::cluster_spec& spec,
                                             const berth::node_spec& s) {
    const auto level = tree.leaf_level();
    if (leaf >= tree.domain_count(level) || s.shape.index() >= spec.shapes.size() || !saved.empty())
      return {{berth::cluster_errc::bad_argument, {}}, 0};
    for (std::uint32_t n = 0; n < now.nodes.size(); ++n)
      if (tree.leaf_of(berth::node_id{n}).raw() == leaf && !now.nodes[n].present) {
        now.nodes[n] = make(spec, s);
        return {{}, n};
      }
    return {{berth::cluster_errc::capacity_exhausted, {}}, 0};
  }

  void begin() { saved.push_back(now); }
  void keep() {
    saved.pop_back();
    if (saved.empty()) now.parked_jobs = now.parked_tasks = now.journal = 0;
  }
  void undo() {
    now = saved.back();
    saved.pop_back();
  }

 private:
  static void take(remains& r, const task& t) {
    r.held.insert(t.devices.begin(), t.devices.end());
    r.cpu -= t.cpu;
    r.memory -= t.memory;
    ++r.tasks;
  }
  [[nodiscard]] static outcome bad(std::uint32_t n) { return {berth::cluster_errc::bad_argument, berth::node_id{n}}; }
  [[nodiscard]] static outcome full(std::uint32_t n) {
    return {berth::cluster_errc::capacity_exhausted, berth::node_id{n}};
  }
  [[nodiscard]] bool journal_room() const { return saved.empty() || now.journal < limits.journal; }
  void note() {
    if (!saved.empty()) ++now.journal;
  }
};

}  // namespace naive
