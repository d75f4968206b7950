#pragma once
/// \file
/// Small random clusters and gangs for the tests of the placer: uneven trees, unlike nodes and devices, jobs that run,
/// broken devices, drained nodes, uplinks that are down; gangs of all kinds. The seed decides everything.

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "berth/cluster/cluster.hpp"
#include "berth/core/random.hpp"
#include "berth/job/gang.hpp"
#include "berth/solver/decision.hpp"
#include "berth/topology/domain_tree_builder.hpp"

namespace berth_test {

/// What a gang is like; the tests count by it.
enum class gang_kind : std::uint8_t { alike, mixed, alike_segments, mixed_segments };
inline constexpr std::size_t gang_kinds = 4;
inline const char* const gang_kind_names[gang_kinds] = {"alike", "mixed", "alike in segments", "mixed in segments"};

struct instance_limits {
  std::uint32_t nodes = 12;
  unsigned devices = 8;          ///< per node
  std::uint32_t tasks = 12;      ///< wanted, of all groups together, about
  std::uint64_t vectors = 1500;  ///< product of (wanted + 1)
  std::uint32_t domains = 31;    ///< declared
};

class instance_maker {
 public:
  explicit instance_maker(std::uint64_t seed, instance_limits limits = {}) : random_{seed}, limits_{limits} {}

  [[nodiscard]] bool chance(unsigned percent) { return random_.below(100) < percent; }
  [[nodiscard]] std::uint32_t between(std::uint32_t lo, std::uint32_t hi) {
    return static_cast<std::uint32_t>(random_.between(lo, hi));
  }

  /// An empty, healthy cluster.
  [[nodiscard]] berth::cluster_spec make_spec() {
    berth::cluster_spec spec;
    spec.tree = make_tree();
    const std::uint32_t kinds = chance(50) ? 1 : between(2, 3);
    for (std::uint32_t k = 0; k < kinds; ++k) spec.shapes.push_back(make_shape("kind" + std::to_string(k)));
    const bool labelled = chance(40);
    for (std::uint32_t n = 0; n < spec.tree.node_count(); ++n) {
      const auto k = static_cast<std::uint16_t>(random_.below(kinds));
      berth::node_spec node{"n" + std::to_string(n), berth::shape_id{k}, {}, spec.shapes[k].cpu, spec.shapes[k].memory};
      if (labelled)
        for (const char* label : {"x", "y", "z"})
          if (chance(50)) node.labels.emplace_back(label);
      spec.nodes.push_back(std::move(node));
    }
    return spec;
  }

  /// Jobs, defects and drains.
  void disturb(berth::cluster& c) {
    const unsigned busy = chance(20) ? 0 : between(10, 80);
    const bool defects = chance(40), cuts = chance(25);
    std::uint64_t job = 0;
    for (std::uint32_t n = 0; n < c.node_count(); ++n) {
      const berth::node_id id{n};
      if (chance(busy)) {
        const berth::node_state& s = c.node(id);
        berth::device_mask taken = 0;
        berth::for_each_bit(s.free, [&](unsigned d) {
          if (chance(50)) taken |= berth::bit(d);
        });
        berth::task_shape shape;
        shape.devices = berth::count_bits(taken);
        shape.cpu =
            berth::cpu_millis{static_cast<std::int64_t>(random_.below(static_cast<std::uint64_t>(s.cpu.count()) + 1))};
        shape.memory =
            berth::bytes{static_cast<std::int64_t>(random_.below(static_cast<std::uint64_t>(s.memory.count()) + 1))};
        if (chance(60)) shape.cpu = {}, shape.memory = {};
        const berth::task_placement t{taken, id, 0};
        if (shape.is_valid() && !c.commit(berth::job_key{job++}, {{&t, 1}, {&shape, 1}})) broken_ = true;
      }
      if (!defects) continue;
      for (unsigned d = 0; d < 64; ++d)
        if ((c.node(id).installed & berth::bit(d)) != 0 && chance(8))
          static_cast<void>(c.set_device_health(id, d, false));
      if (chance(8)) static_cast<void>(c.set_node_usable(id, false));
    }
    if (!cuts) return;
    for (std::uint32_t k = between(1, 2); k != 0; --k) {
      const auto l = static_cast<std::uint8_t>(random_.below(c.tree().level_count()));
      if (l == 0) continue;
      const auto d = static_cast<std::uint32_t>(random_.below(c.tree().domain_count(berth::level_id{l})));
      static_cast<void>(c.set_uplink_health(berth::level_id{l}, berth::domain_id{d}, false));
    }
  }
  /// Whether `disturb` could not do what it wanted: a fault of the cluster.
  [[nodiscard]] bool broken() const noexcept { return broken_; }
  /// Lets some of the task groups to come have a limit of tasks per node.
  void limit_per_node() noexcept { per_node_ = true; }

  [[nodiscard]] berth::gang make_gang(berth::cluster& c, gang_kind kind, bool elastic) {
    for (;;) {
      berth::gang g;
      const bool mixed = kind == gang_kind::mixed || kind == gang_kind::mixed_segments;
      const bool in_segments = kind == gang_kind::alike_segments || kind == gang_kind::mixed_segments;
      const std::uint32_t groups = mixed ? between(2, chance(25) ? 4 : 3) : 1;
      const auto levels = c.tree().level_count();
      if (in_segments) {
        g.segments = {between(1, 5), berth::level_id{static_cast<std::uint8_t>(random_.below(levels))},
                      static_cast<berth::segment_layout>(random_.below(3))};
      }
      g.where = static_cast<berth::locality>(random_.below(3));
      if (g.where != berth::locality::unconstrained)
        g.level = berth::level_id{static_cast<std::uint8_t>(random_.below(levels))};
      const std::uint32_t most = between(1, between(1, limits_.tasks));
      std::uint64_t vectors = 1;
      for (std::uint32_t i = 0; i < groups; ++i) {
        berth::task_group t;
        t.name = "g" + std::to_string(i);
        t.shape = make_task(c);
        if (in_segments) {
          const std::uint32_t size = between(1, 1 + most / groups / g.segments->count);
          t.wanted = size * g.segments->count;
          t.minimum = elastic ? size * between(1, g.segments->count) : t.wanted;
        } else {
          t.wanted = between(1, most / groups + 1);
          t.minimum = elastic ? between(1, t.wanted) : t.wanted;
        }
        vectors *= t.wanted + std::uint64_t{1};
        g.groups.push_back(std::move(t));
      }
      if (vectors <= limits_.vectors) return g;
    }
  }

  /// A gang that fills what is free in a random domain nearly or quite to the brim, so that it fits but hardly: tasks
  /// of 2 to 4 shapes are put on nodes until no more fits, then forgotten. Empty where nothing is free.
  [[nodiscard]] berth::gang make_tight_gang(berth::cluster& c) {
    berth::gang g;
    const berth::level_id level{static_cast<std::uint8_t>(random_.below(c.tree().level_count()))};
    const berth::domain_id domain{static_cast<std::uint32_t>(random_.below(c.tree().domain_count(level)))};
    const berth::id_range nodes = c.tree().at(level, domain).nodes;
    const std::uint32_t groups = between(2, 4);
    std::vector<berth::task_shape> shapes;
    for (std::uint32_t i = 0; i < groups; ++i) shapes.push_back(make_task(c));
    std::vector<std::uint32_t> counts(groups, 0);
    const unsigned effort = between(1, 12);
    std::uint64_t vectors = 1;
    for (std::uint32_t n = nodes.first; n < nodes.last; ++n) {
      berth::node_state s = c.node(berth::node_id{n});
      for (unsigned tries = effort; tries != 0; --tries) {
        const auto i = static_cast<std::uint32_t>(random_.below(groups));
        const auto& t = shapes[i];
        const auto may = c.eligible(t.filter, berth::node_id{n});
        const std::uint64_t more = vectors / (counts[i] + 1) * (counts[i] + 2);
        if (!s.usable || !may.admits || berth::count_bits(s.free & may.devices) < t.devices || s.cpu < t.cpu ||
            s.memory < t.memory || more > limits_.vectors)
          continue;
        s.free &= ~berth::lowest_set(s.free & may.devices, t.devices);
        s.cpu -= t.cpu;
        s.memory -= t.memory;
        ++counts[i];
        vectors = more;
      }
    }
    for (std::uint32_t i = 0; i < groups; ++i)
      if (counts[i] != 0) g.groups.push_back({"g" + std::to_string(i), shapes[i], counts[i], counts[i]});
    g.where = static_cast<berth::locality>(random_.below(3));
    g.level = level;
    return g;
  }

 private:
  [[nodiscard]] berth::domain_tree make_tree() {
    std::uint32_t nodes = between(1, limits_.nodes);
    if (chance(8)) {  // regular trees, among them the one whose only level is the cluster
      const std::uint32_t depth = between(0, 3);
      std::vector<std::string> names{"cluster"};
      std::vector<std::uint32_t> fanout;
      std::uint32_t leaves = 1;
      for (std::uint32_t i = 0; i < depth; ++i) {
        names.push_back("level" + std::to_string(i));
        fanout.push_back(between(1, 3));
        if (leaves * fanout.back() > limits_.nodes) fanout.back() = 1;
        leaves *= fanout.back();
      }
      return berth::domain_tree_builder::regular(names, fanout, between(1, limits_.nodes / leaves));
    }
    // Declared domains hang on earlier ones, to a depth of 4; nodes hang anywhere, so that leaves differ in depth.
    const std::uint32_t count = between(1, 1 + nodes < limits_.domains ? 1 + nodes : limits_.domains);
    std::vector<berth::domain_declaration> domains;
    std::vector<std::uint32_t> depth;
    const bool several_roots = chance(30);
    for (std::uint32_t d = 0; d < count; ++d) {
      berth::domain_declaration decl{"d" + std::to_string(d), berth::domain_declaration::no_parent, ""};
      std::uint32_t deep = 1;
      if (d != 0 && !(several_roots && chance(30))) {
        std::uint32_t p = between(0, d - 1);
        if (chance(40)) p = d - 1;
        if (depth[p] < 4) decl.parent = p, deep = depth[p] + 1;
      }
      depth.push_back(deep);
      domains.push_back(std::move(decl));
    }
    std::vector<bool> inner(count, false);
    for (const auto& d : domains)
      if (d.parent != berth::domain_declaration::no_parent) inner[d.parent] = true;
    const bool anywhere = chance(30);
    std::vector<std::uint32_t> homes, node_domain;
    for (std::uint32_t d = 0; d < count; ++d)
      if (anywhere || !inner[d]) homes.push_back(d);
    for (; nodes != 0; --nodes) node_domain.push_back(homes[random_.below(homes.size())]);
    auto built = berth::domain_tree_builder::build(domains, node_domain);
    return std::move(built->tree);
  }

  [[nodiscard]] berth::node_shape make_shape(std::string name) {
    static constexpr unsigned usual[] = {0, 1, 2, 4, 4, 8, 8, 8};
    unsigned devices = chance(70) ? usual[random_.below(8)] : between(0, limits_.devices);
    if (devices > limits_.devices) devices = limits_.devices;
    berth::node_shape s = berth::make_plain_shape(std::move(name), devices, chance(50) ? "a" : "b",
                                                  berth::cpus(between(1, 16)), berth::gibibytes(between(1, 16)));
    if (chance(35))  // unlike devices in one node
      for (auto& m : s.models) m = std::string(1, static_cast<char>('a' + random_.below(3)));
    if (chance(30))  // pairs with a faster link
      for (unsigned d = 0; d + 1 < devices; d += 2) s.bandwidth.set(d, d + 1, berth::gigabytes_per_second{50.0});
    return s;
  }

  [[nodiscard]] berth::task_shape make_task(berth::cluster& c) {
    static constexpr unsigned usual[] = {0, 1, 1, 1, 2, 2, 4, 8};
    berth::task_shape t;
    t.devices = chance(80) ? usual[random_.below(8)] : between(0, limits_.devices);
    // Mostly what some node could hold, so that about as many gangs fit as do not.
    const auto node = static_cast<std::uint32_t>(random_.below(c.node_count()));
    const unsigned held = c.shape_of(berth::node_id{node}).devices;
    if (t.devices > held && chance(85)) t.devices = held;
    if (t.devices > limits_.devices) t.devices = limits_.devices;
    if (chance(45) || t.devices == 0)
      t.cpu = berth::cpu_millis{between(chance(20) ? 10 : 500, chance(20) ? 6000 : 2000)};
    if (chance(30)) t.memory = berth::gibibytes(between(1, chance(20) ? 6 : 2));
    if (per_node_ && chance(25)) t.per_node = between(1, 3);
    if (chance(20)) {
      berth::node_filter f;
      if (chance(40)) f.models = chance(50) ? std::vector<std::string>{"a"} : std::vector<std::string>{"a", "b"};
      if (chance(15)) f.models = {"c"};
      if (chance(25)) f.all_of = {"x"};
      if (chance(25)) f.none_of = {"y"};
      if (chance(25)) f.any_of = {"y", "z"};
      t.filter = c.add_filter(f);
    }
    return t;
  }

  berth::random_source random_;
  instance_limits limits_;
  bool broken_ = false;
  bool per_node_ = false;
};

/// The same cluster with nothing on it and everything whole.
[[nodiscard]] inline berth::cluster pristine(const berth::cluster_spec& spec, const berth::cluster& like,
                                             const berth::gang& g, berth::gang& translated) {
  berth::cluster c{spec};
  translated = g;
  for (auto& t : translated.groups) t.shape.filter = c.add_filter(like.filter(t.shape.filter));
  return c;
}

/// For messages.
[[nodiscard]] inline std::string describe(const berth::gang& g) {
  static const char* const where[] = {"anywhere", "preferred", "required"};
  static const char* const layout[] = {"free", "spread", "consolidate"};
  std::string out = std::string(where[static_cast<int>(g.where)]) +
                    (g.where == berth::locality::unconstrained ? "" : " in level " + std::to_string(g.level.raw()));
  if (g.segments)
    out += ", " + std::to_string(g.segments->count) + " segments in level " + std::to_string(g.segments->level.raw()) +
           " " + layout[static_cast<int>(g.segments->layout)];
  for (const auto& t : g.groups)
    out += "; " + std::to_string(t.minimum) + ".." + std::to_string(t.wanted) + " x (" +
           std::to_string(t.shape.devices) + " devices, " + std::to_string(t.shape.cpu.count()) + " cpu, " +
           std::to_string(t.shape.memory.count() >> 30) + " GiB, filter " + std::to_string(t.shape.filter.raw()) +
           ", per node " + std::to_string(t.shape.per_node) + ")";
  return out;
}
[[nodiscard]] inline std::string describe(const berth::cluster& c) {
  std::string out;
  const auto& tree = c.tree();
  for (std::uint32_t n = 0; n < c.node_count(); ++n) {
    const auto& s = c.node(berth::node_id{n});
    out += "\n  node " + std::to_string(n) + " in";
    for (std::uint8_t l = 0; l < tree.level_count(); ++l) {
      const auto d = tree.domain_of(berth::node_id{n}, berth::level_id{l});
      out += " " + std::to_string(d.raw()) + (l != 0 && c.is_detached(berth::level_id{l}, d) ? "!" : "");
    }
    out += ": free";
    const auto& models = c.shape_of(berth::node_id{n}).models;
    berth::for_each_bit(s.free, [&](unsigned d) { out += " " + std::to_string(d) + models[d]; });
    out += ", cpu " + std::to_string(s.cpu.count()) + ", " +
           std::to_string(static_cast<double>(s.memory.count()) / (1 << 30)) + " GiB, labels";
    for (const auto& l : c.class_of(berth::node_id{n}).labels) out += " " + l;
    if (!s.usable) out += ", unusable";
  }
  return out;
}
[[nodiscard]] inline std::string describe(const berth::placement_score& s, std::size_t levels) {
  std::string out = std::to_string(s.tasks_missing) + " missing, domains";
  for (std::size_t l = 0; l < levels; ++l) out += " " + std::to_string(s.domains_used[l]);
  return out;
}

[[nodiscard]] inline std::string describe(const berth::decision& d, const berth::cluster& c) {
  std::string out = "level " + std::to_string(d.level.raw()) + ", domain " + std::to_string(d.domain.raw()) + ", " +
                    describe(d.score, c.tree().level_count()) + ", tasks (group:node:devices)";
  for (const auto& t : d.where.tasks)
    out += " " + std::to_string(t.group) + ":" + std::to_string(t.node.raw()) + ":" + std::to_string(t.devices);
  return out;
}

}  // namespace berth_test
