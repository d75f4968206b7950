#pragma once
/// \file
/// What the capacity index says in a few steps, counted the slow way: every node is looked at, every domain summed up.
/// For gangs of one task shape. Reads node states, the tree, labels and models; none of the index.

#include <cstdint>
#include <string>
#include <vector>

#include "berth/cluster/cluster.hpp"
#include "berth/core/random.hpp"
#include "berth/job/gang.hpp"
#include "berth/solver/decision.hpp"
#include "berth/topology/domain_tree_builder.hpp"

namespace berth_test {

/// What a scan finds for one request.
struct scan_answer {
  berth::verdict result = berth::verdict::not_now;
  std::uint64_t tasks = 0;  ///< as many as fit, at most as wanted; 0 unless placed
  unsigned level = 0;       ///< the narrowest level with a domain that holds them
};

class plain_scan {
 public:
  explicit plain_scan(const berth::cluster& c) : cluster_{&c} {
    const auto& tree = c.tree();
    for (std::uint8_t l = 0; l < tree.level_count(); ++l) {
      now_.emplace_back(tree.domain_count(berth::level_id{l}), 0);
      ever_.emplace_back(now_.back().size(), 0);
    }
  }

  [[nodiscard]] scan_answer ask(const berth::gang& g) {
    const berth::task_group& t = g.groups.front();
    count(t.shape);
    const unsigned widest = g.where == berth::locality::required ? static_cast<unsigned>(g.level.raw()) : 0U;
    scan_answer out;
    // All that is wanted, in the narrowest domain that has it; else the most there is, likewise.
    std::uint64_t most = 0;
    for (unsigned l = static_cast<unsigned>(now_.size()); l-- > widest;)
      for (const std::uint64_t n : now_[l])
        if ((n < t.wanted ? n : t.wanted) > most) most = n < t.wanted ? n : t.wanted, out.level = l;
    if (most >= t.minimum) {
      out.result = berth::verdict::placed;
      out.tasks = most;
      return out;
    }
    std::uint64_t ever = 0;
    for (const std::uint64_t n : ever_[widest]) ever = n > ever ? n : ever;
    if (ever < t.minimum) out.result = berth::verdict::never;
    return out;
  }
  /// Tasks of the shape asked for last that fit on a node.
  [[nodiscard]] std::uint64_t fits(std::uint32_t node) const { return fits_[node]; }

 private:
  /// Devices of the node that may serve the filter, and whether the node itself may; by class, counted once.
  struct admission {
    berth::device_mask devices = 0;
    bool node = false;
  };
  [[nodiscard]] admission admit(berth::filter_id f, const berth::node_class& c) const {
    if (!c.shape) return {};
    const berth::node_filter& filter = cluster_->filter(f);
    const auto holds = [&](const std::string& label) {
      for (const std::string& l : c.labels)
        if (l == label) return true;
      return false;
    };
    admission out{0, true};
    for (const std::string& l : filter.all_of) out.node = out.node && holds(l);
    for (const std::string& l : filter.none_of) out.node = out.node && !holds(l);
    bool any = filter.any_of.empty();
    for (const std::string& l : filter.any_of) any = any || holds(l);
    out.node = out.node && any;
    if (!out.node) return {};
    const berth::node_shape& s = cluster_->shapes()[c.shape.index()];
    for (unsigned d = 0; d < s.devices; ++d) {
      bool serves = filter.models.empty();
      for (const std::string& m : filter.models) serves = serves || s.models[d] == m;
      if (serves) out.devices |= std::uint64_t{1} << d;
    }
    return out;
  }
  static std::uint64_t tasks(const berth::task_shape& s, const admission& may, berth::device_mask free,
                             std::int64_t cpu, std::int64_t memory) {
    std::uint64_t n = 65'535;
    if (!may.node) return 0;
    if (s.devices != 0) n = berth::count_bits(free & may.devices) / s.devices;
    if (s.cpu.count() != 0) n = lesser(n, static_cast<std::uint64_t>(cpu / s.cpu.count()));
    if (s.memory.count() != 0) n = lesser(n, static_cast<std::uint64_t>(memory / s.memory.count()));
    return n;
  }
  static std::uint64_t lesser(std::uint64_t a, std::uint64_t b) { return a < b ? a : b; }

  void count(const berth::task_shape& s) {
    const auto& tree = cluster_->tree();
    const auto nodes = cluster_->nodes();
    by_class_.clear();
    for (const berth::node_class& c : cluster_->classes()) by_class_.push_back(admit(s.filter, c));
    for (auto& level : now_)
      for (auto& n : level) n = 0;
    for (auto& level : ever_)
      for (auto& n : level) n = 0;
    fits_.assign(nodes.size(), 0);
    const std::size_t leaf = now_.size() - 1;
    for (std::uint32_t n = 0; n < nodes.size(); ++n) {
      const berth::node_state& node = nodes[n];
      const admission& may = by_class_[node.node_class.index()];
      const berth::node_class& total = cluster_->classes()[node.node_class.index()];
      const std::size_t at = tree.leaf_of(berth::node_id{n}).index();
      if (node.usable)
        fits_[n] = tasks(s, may, node.installed & ~node.held & ~node.unhealthy, node.cpu.count(), node.memory.count());
      now_[leaf][at] += fits_[n];
      ever_[leaf][at] += tasks(s, may, node.installed, total.cpu.count(), total.memory.count());
    }
    for (std::size_t l = leaf; l > 0; --l)
      for (std::uint32_t d = 0; d < now_[l].size(); ++d) {
        const berth::level_id level{static_cast<std::uint8_t>(l)};
        const std::uint32_t parent = tree.at(level, berth::domain_id{d}).parent;
        if (!cluster_->is_detached(level, berth::domain_id{d})) now_[l - 1][parent] += now_[l][d];
        ever_[l - 1][parent] += ever_[l][d];
      }
  }

  const berth::cluster* cluster_;
  std::vector<admission> by_class_;
  std::vector<std::uint64_t> fits_;
  std::vector<std::vector<std::uint64_t>> now_, ever_;
};

/// A cluster to which anything may happen, one random operation at a time.
class random_events {
 public:
  /// Uneven leaves under `spines` spines, two kinds of machine, labels.
  static berth::cluster_spec make_spec(berth::random_source& random, std::uint32_t spines, std::uint32_t leaves_each,
                                       std::uint32_t nodes_most) {
    std::vector<berth::domain_declaration> domains;
    std::vector<std::uint32_t> home;
    for (std::uint32_t s = 0; s < spines; ++s) {
      domains.push_back({"s" + std::to_string(s), berth::domain_declaration::no_parent, "spine"});
      const auto spine = static_cast<std::uint32_t>(domains.size() - 1);
      for (std::uint64_t l = random.between(1, leaves_each); l > 0; --l) {
        domains.push_back({domains[spine].name + "l" + std::to_string(l), spine, "leaf"});
        for (std::uint64_t n = random.between(1, nodes_most); n > 0; --n)
          home.push_back(static_cast<std::uint32_t>(domains.size() - 1));
      }
    }
    auto built = berth::domain_tree_builder::build(domains, home);
    berth::cluster_spec spec;
    spec.tree = std::move((*built).tree);
    spec.shapes.push_back(berth::make_plain_shape("eight", 8, "a", berth::cpus(16), berth::gibibytes(64)));
    spec.shapes.push_back(berth::make_plain_shape("four", 4, "b", berth::cpus(8), berth::gibibytes(32)));
    spec.shapes[1].models[3] = "a";
    spec.shapes[1].models[2] = "c";
    for (std::uint32_t n = 0; n < spec.tree.node_count(); ++n) spec.nodes.push_back(make_node(random, spec));
    return spec;
  }
  static berth::node_spec make_node(berth::random_source& random, const berth::cluster_spec& spec) {
    const berth::shape_id kind{static_cast<std::uint16_t>(random.below(spec.shapes.size()))};
    berth::node_spec node{"n", kind, {}, spec.shapes[kind.index()].cpu, spec.shapes[kind.index()].memory};
    for (const char* label : {"x", "y"})
      if (random.below(3) == 0) node.labels.emplace_back(label);
    return node;
  }

  random_events(berth::cluster& c, const berth::cluster_spec& spec, std::uint64_t seed)
      : cluster_{&c}, spec_{&spec}, random_{seed} {
    filters_.push_back(berth::filter_id{0});
    filters_.push_back(c.add_filter({{"x"}, {}, {}, {}}));
    filters_.push_back(c.add_filter({{}, {"y"}, {}, {}}));
    filters_.push_back(c.add_filter({{}, {}, {"x", "y"}, {}}));
    filters_.push_back(c.add_filter({{}, {}, {}, {"a"}}));
    filters_.push_back(c.add_filter({{}, {"x"}, {}, {"b", "c"}}));
  }

  /// A task of any kind. \param grain  CPU and memory come in this many different amounts
  [[nodiscard]] berth::task_shape make_shape(std::uint32_t grain) {
    static constexpr unsigned usual[] = {1, 1, 2, 4, 8, 3, 5, 0};
    berth::task_shape s;
    s.devices = usual[random_.below(8)];
    if (s.devices == 0 || random_.below(2) == 0)
      s.cpu = berth::cpu_millis{static_cast<std::int64_t>((1 + random_.below(grain)) * 8000 / grain)};
    if (random_.below(4) == 0)
      s.memory = berth::mebibytes(static_cast<std::int64_t>((1 + random_.below(grain)) * 32'768 / grain));
    if (!s.is_valid()) s.devices = 1;
    s.filter = random_.below(2) == 0 ? berth::filter_id{0} : filters_[random_.below(filters_.size())];
    return s;
  }
  [[nodiscard]] berth::gang make_gang(const berth::task_shape& shape, std::uint32_t most) {
    berth::gang g;
    const auto wanted = static_cast<std::uint32_t>(random_.between(1, random_.between(1, most)));
    const auto minimum = random_.below(4) == 0 ? static_cast<std::uint32_t>(random_.between(1, wanted)) : wanted;
    g.groups.push_back({"g", shape, wanted, minimum});
    g.where = static_cast<berth::locality>(random_.below(3));
    if (g.where != berth::locality::unconstrained)
      g.level = berth::level_id{static_cast<std::uint8_t>(random_.below(cluster_->tree().level_count()))};
    return g;
  }
  /// Commits what was just placed, under a key of its own. False: the cluster did not take it.
  bool commit(const berth::placement& p) {
    if (!cluster_->commit(berth::job_key{next_}, p)) return false;
    jobs_.push_back(berth::job_key{next_++});
    return true;
  }
  [[nodiscard]] std::size_t jobs() const { return jobs_.size(); }
  bool release_one() {
    if (jobs_.empty()) return true;
    const std::size_t i = random_.below(jobs_.size());
    const bool ok = cluster_->release(jobs_[i]).has_value();
    jobs_[i] = jobs_.back();
    jobs_.pop_back();
    return ok;
  }
  /// A defect, a repair, a drain, an uplink; rarely a new label, a node that leaves or comes.
  void incident() {
    const berth::node_id n{static_cast<std::uint32_t>(random_.below(cluster_->node_count()))};
    const bool better = random_.below(3) != 0;
    switch (random_.below(40)) {
      case 0: {
        std::vector<std::string> labels;
        for (const char* label : {"x", "y"})
          if (random_.below(3) == 0) labels.emplace_back(label);
        static_cast<void>(cluster_->relabel(n, labels));
        break;
      }
      case 1:
        static_cast<void>(cluster_->remove_node(n));
        break;
      case 2:
      case 3: {
        const auto leaf =
            static_cast<std::uint32_t>(random_.below(cluster_->tree().domain_count(cluster_->tree().leaf_level())));
        static_cast<void>(cluster_->add_node(berth::domain_id{leaf}, make_node(random_, *spec_)));
        break;
      }
      case 4:
      case 5:
      case 6: {
        const berth::level_id l{static_cast<std::uint8_t>(random_.below(cluster_->tree().level_count()))};
        const berth::domain_id d{static_cast<std::uint32_t>(random_.below(cluster_->tree().domain_count(l)))};
        static_cast<void>(cluster_->set_uplink_health(l, d, better));
        break;
      }
      case 7:
      case 8:
      case 9:
      case 10:
        static_cast<void>(cluster_->set_node_usable(n, better));
        break;
      default:
        static_cast<void>(cluster_->set_device_health(n, static_cast<unsigned>(random_.below(8)), better));
        break;
    }
  }
  [[nodiscard]] berth::random_source& random() { return random_; }

 private:
  berth::cluster* cluster_;
  const berth::cluster_spec* spec_;
  berth::random_source random_;
  std::vector<berth::filter_id> filters_;
  std::vector<berth::job_key> jobs_;
  std::uint64_t next_ = 1;
};

/// The first thing that a decision says otherwise than the scan, or that it does against the rules; "" when all is
/// well.
[[nodiscard]] inline std::string disagreement(const berth::cluster& c, const berth::gang& g, const berth::decision& d,
                                              const plain_scan& scan, const scan_answer& expected) {
  if (d.result != expected.result)
    return "verdict " + std::to_string(static_cast<int>(d.result)) + " instead of " +
           std::to_string(static_cast<int>(expected.result));
  if (!d) return "";
  if (d.where.tasks.size() != expected.tasks) return "tasks";
  if (d.level.raw() != expected.level) return "level";
  // Tasks of a node are neighbours; nodes ascend.
  std::uint32_t last = c.node_count();
  std::uint64_t here = 0;
  berth::device_mask taken = 0;
  for (const berth::task_placement& t : d.where.tasks) {
    const std::uint32_t n = t.node.raw();
    if (n >= c.node_count() || (last != c.node_count() && n < last)) return "order";
    if (n != last) here = 0, taken = 0, last = n;
    if (++here > scan.fits(n)) return "too many on node " + std::to_string(n);
    if (berth::count_bits(t.devices) != g.groups[0].shape.devices || (t.devices & taken) != 0 ||
        (t.devices & ~c.node(t.node).free) != 0 ||
        (t.devices & ~c.eligible(g.groups[0].shape.filter, t.node).devices) != 0)
      return "devices on node " + std::to_string(n);
    taken |= t.devices;
    // All in the domain that the decision names, and none cut off from the rest.
    if (c.tree().domain_of(t.node, d.level) != d.domain) return "domain";
    for (unsigned l = d.level.raw() + 1U; l < c.tree().level_count(); ++l) {
      const berth::level_id level{static_cast<std::uint8_t>(l)};
      if (c.is_detached(level, c.tree().domain_of(t.node, level))) return "cut off";
    }
  }
  return "";
}

}  // namespace berth_test
