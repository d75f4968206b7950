#pragma once
/// \file
/// Several files about one cluster become one `site`: machines joined by name, alias and GUID; insides by bus id; the
/// declared topology, or what the fabric's switches say, as the domain tree; NVLink domains as a level. What is assumed
/// is written down, what contradicts itself is reported with both places. The rules are in docs/inputs.md. Needs
/// Boost.Graph.

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <tuple>
#include <unordered_map>
#include <utility>
#include <vector>

#include "berth/core/error.hpp"
#include "berth/core/expected.hpp"
#include "berth/io/assumptions.hpp"
#include "berth/io/kubernetes/labels.hpp"
#include "berth/io/merge/fabrics.hpp"
#include "berth/io/merge/hardware.hpp"
#include "berth/io/merge/held.hpp"
#include "berth/io/merge/levels.hpp"
#include "berth/io/merge/machine_index.hpp"
#include "berth/io/merge/nest.hpp"
#include "berth/io/merge/site.hpp"
#include "berth/io/merge/site_graph.hpp"
#include "berth/io/merge/unnamed.hpp"
#include "berth/io/merge/uplinks.hpp"
#include "berth/io/site_report.hpp"
#include "berth/io/topology_rules.hpp"
#include "berth/topology/domain_tree_builder.hpp"

namespace berth {

namespace merge_detail {

class site_merger {
 public:
  site_merger(const std::vector<site_report>& reports, const merge_options& options)
      : reports_{reports}, options_{options}, table_{options} {}

  [[nodiscard]] expected<site, input_error> run() {
    for (const auto& r : reports_) {
      out_.formats.push_back(r.format);
      out_.jobs.insert(out_.jobs.end(), r.jobs.begin(), r.jobs.end());
      for (const auto& a : r.assumptions) out_.spec.assumptions.push_back(a);
    }
    join_by_name(reports_, index_, out_.conflicts);
    if (auto ok = take_topologies(); !ok) return unexpected{std::move(ok).error()};
    fabric_ = join_fabrics(reports_, index_, out_.conflicts, out_.spec.assumptions);
    if (auto ok = place_unnamed(reports_, options_, index_, out_.conflicts, out_.spec.assumptions); !ok)
      return unexpected{std::move(ok).error()};
    fabric_.place_of_machine.resize(index_.machines.size());
    const auto count = static_cast<std::uint32_t>(index_.machines.size());
    if (count == 0)
      return unexpected{input_error{reports_.empty() ? "merge" : reports_.front().source, 0,
                                    out_.jobs.empty() ? "no machine" : "a job and no machine",
                                    "files that name or show at least one machine"}};
    if (count > options_.max_nodes)
      return unexpected{index_.machines[options_.max_nodes].place.error(
          io_text::counted(count, "machine"), "at most " + std::to_string(options_.max_nodes))};
    out_.has_fabric = !fabric_.switches.empty();
    net_.of.resize(count, no_domain);
    nv_.of.resize(count, no_domain);
    facts_.reserve(count);
    for (const auto& m : index_.machines) facts_.push_back(facts_of(m, out_.conflicts));
    if (auto ok = make_levels(); !ok) return unexpected{std::move(ok).error()};
    if (auto ok = make_nodes(); !ok) return unexpected{std::move(ok).error()};
    make_graph();
    find_uplinks();
    take_holdings(reports_, index_, node_of_, out_);
    for (auto& s : notes_.sentences()) out_.spec.assumptions.push_back(std::move(s));
    auto& all = out_.spec.assumptions;
    std::set<std::string> seen;
    all.erase(std::remove_if(all.begin(), all.end(), [&](const auto& s) { return !seen.insert(s).second; }), all.end());
    return std::move(out_);
  }

 private:
  [[nodiscard]] static std::string word_of(const hierarchy& h) {
    return (h.from->name.empty() ? "the topology" : "topology " + io_text::quoted(h.from->name)) + " of " +
           h.from->place.source;
  }

  /// Declared topologies: of those of the highest standing the preferred one with most machines, then with most
  /// domains, is the network tree, and the same for NVLink domains. Between equals the order of their names decides.
  [[nodiscard]] expected<void, input_error> take_topologies() {
    std::vector<hierarchy> nets, nvs;
    std::vector<const site_report*> sources;
    std::size_t count = 0;
    for (const auto& r : reports_) sources.push_back(&r), count += r.topologies.size();
    topologies_.reserve(count);
    for (const auto& r : reports_) topologies_.insert(topologies_.end(), r.topologies.begin(), r.topologies.end());
    for (auto& c : join_topologies(topologies_))
      out_.conflicts.push_back({std::move(c), topologies_.front().place, {}});
    for (auto& t : topologies_) {
      for (auto& c : apply_topology_rules(t, sources)) out_.conflicts.push_back({std::move(c), t.place, {}});
      if (t.members.empty()) continue;
      for (const auto& alias : t.level_aliases) out_.level_aliases.push_back(alias);
      if (auto f = fault_of(t)) return unexpected{std::move(*f)};
      (t.what == topology_report::kind::nvlink ? nvs : nets).push_back(take_topology(t, index_, out_.conflicts));
    }
    for (auto* list : {&nets, &nvs})
      for (auto& h : *list) h.of.resize(index_.machines.size(), no_domain);
    const auto best = [](std::vector<hierarchy>& all) {
      const auto rank = [](const hierarchy& h) {
        return std::tuple{h.from->by, h.from->preferred, h.members(), h.domains.size()};
      };
      const auto name = [](const hierarchy& h) { return std::pair{h.from->place.source, h.from->name}; };
      std::size_t at = 0;
      for (std::size_t i = 1; i < all.size(); ++i) {
        const auto here = rank(all[i]), there = rank(all[at]);
        if (here > there || (here == there && name(all[i]) < name(all[at]))) at = i;
      }
      return at;
    };
    if (!nets.empty()) {
      const std::size_t b = best(nets);
      for (std::size_t i = 0; i < nets.size(); ++i)
        if (i != b)
          out_.spec.assumptions.push_back(
              word_of(nets[i]) + " is not the one used; " + word_of(nets[b]) + " is" +
              (same_partition(nets[i], nets[b]) ? ", and both group the machines alike." : "."));
      net_ = std::move(nets[b]);
    }
    if (!nvs.empty()) {
      const std::size_t b = best(nvs);
      for (std::size_t i = 0; i < nvs.size(); ++i)
        if (i != b && !same_partition(nvs[i], nvs[b]))
          out_.conflicts.push_back({"NVLink domains unlike those of " + word_of(nvs[b]) + ", which are used",
                                    nvs[i].from->place, nvs[b].from->place});
      nv_ = std::move(nvs[b]);
    }
    return {};
  }

  /// Whether two hierarchies put the machines that both have into the same innermost groups.
  [[nodiscard]] static bool same_partition(const hierarchy& a, const hierarchy& b) {
    std::map<std::uint32_t, std::uint32_t> ab, ba;
    for (std::size_t m = 0; m < a.of.size() && m < b.of.size(); ++m) {
      if (a.of[m] == no_domain || b.of[m] == no_domain) continue;
      if (ab.emplace(a.of[m], b.of[m]).first->second != b.of[m]) return false;
      if (ba.emplace(b.of[m], a.of[m]).first->second != a.of[m]) return false;
    }
    return true;
  }

  [[nodiscard]] bool has_gpus(std::uint32_t m) const {
    if (facts_[m].gpus.value_or(0) != 0) return true;
    for (const auto* list : {&index_.machines[m].told, &index_.machines[m].shared})
      for (const auto* r : *list)
        if (gpus_of(*r).value_or(0) != 0) return true;
    return false;
  }

  [[nodiscard]] input_error tree_failure(const tree_error& e) const {
    input_place place{reports_.front().source, 0};
    if (e.subject < net_.places.size() && !net_.places[e.subject].source.empty()) place = net_.places[e.subject];
    if (e.what == tree_error::kind::too_many_levels)
      return place.error("levels nested deeper than the tree can hold",
                         "at most " + std::to_string(domain_tree_builder::max_levels - 1) + " levels");
    if (e.what == tree_error::kind::level_order)
      return place.error("level names that contradict the nesting of domains", "each level name at one height");
    return place.error("a topology that is no tree", "a tree of domains");
  }

  [[nodiscard]] expected<void, input_error> make_levels() {
    const auto count = static_cast<std::uint32_t>(index_.machines.size());
    const bool declared = !net_.empty() && net_.members() != 0;
    if (out_.has_fabric) {
      auto cables = hierarchy_of_cables(fabric_, count);
      if (!declared && cables) {
        net_ = std::move(*cables);
      } else if (declared && cables) {
        join_with_fabric(*cables);
      }
    }
    if (net_.members() == 0) net_.domains.clear(), net_.places.clear();
    if (net_.empty() && nv_.members() == 0) {
      net_.domains.push_back({"all-nodes", no_domain, ""});
      net_.places.push_back({});
      net_.of.assign(count, 0);
      if (count > 1)
        out_.spec.assumptions.emplace_back("No file gives a topology: all nodes are taken to hang on one switch.");
      else lone_ = true;
    }
    network_ = net_;
    out_.nvlink.clear();
    if (nv_.members() != 0) {
      std::vector<std::size_t> size(nv_.domains.size());
      for (const auto d : nv_.of)
        if (d != no_domain) ++size[chain_of(nv_, d).back()];
      tray_.assign(count, 0);
      for (std::uint32_t m = 0; m < count; ++m)
        if (nv_.of[m] != no_domain && size[chain_of(nv_, nv_.of[m]).back()] > 1) tray_[m] = 1;
      const auto fit = insert_nvlink(net_, nv_);
      if (fit == nvlink_fit::across)
        out_.spec.assumptions.emplace_back(
            "NVLink domains reach over several leaves that also hold other machines, so they do not nest with the "
            "network's tree: the network's levels are kept, each leaf is divided by NVLink domain, and every machine "
            "has a label nvlink=DOMAIN.");
      label_nvlink_ = fit == nvlink_fit::across;
    } else {
      tray_.assign(count, 0);
    }
    return {};
  }

  /// The declared tree and that of the cables become one where their levels nest. Declared domains that cross the
  /// leaves of the cables contradict them; so do domains of a level that is called like theirs and other machines, as
  /// those of Slurm's switches are. Then the declared tree counts alone.
  void join_with_fabric(const hierarchy& cables) {
    hierarchy named = net_;
    name_levels(named);
    std::map<std::uint32_t, std::uint32_t> leaf_of_domain, domain_of_leaf;
    std::set<std::uint32_t> parted;  // leaves with machines of several domains
    const auto both = [&](std::uint32_t m) {
      return m < net_.of.size() && net_.of[m] != no_domain && cables.of[m] != no_domain;
    };
    for (std::uint32_t m = 0; m < cables.of.size(); ++m)
      if (both(m) && domain_of_leaf.emplace(cables.of[m], net_.of[m]).first->second != net_.of[m])
        parted.insert(cables.of[m]);
    std::map<std::uint32_t, bool> crosses;  // by domain: one of its leaves is parted
    for (std::uint32_t m = 0; m < cables.of.size(); ++m)
      if (both(m)) {
        const bool like = named.domains[net_.of[m]].level == cables.domains[cables.of[m]].level;
        crosses[net_.of[m]] = crosses[net_.of[m]] || like || parted.contains(cables.of[m]);
      }
    std::size_t unlike = 0;
    std::string example;
    input_place where, by;
    for (std::uint32_t m = 0; m < cables.of.size(); ++m) {
      if (!both(m) || !crosses[net_.of[m]]) continue;
      const auto [it, fresh] = leaf_of_domain.emplace(net_.of[m], cables.of[m]);
      if (fresh || it->second == cables.of[m]) continue;
      if (unlike++ == 0) {
        example = index_.machines[m].name + " is declared in " + net_.domains[net_.of[m]].name +
                  ", whose other machines are on " + cables.domains[it->second].name + ", and is cabled to " +
                  cables.domains[cables.of[m]].name;
        where = net_.places[net_.of[m]];
        by = fabric_.place_of_machine[m];
      }
    }
    if (unlike != 0) {
      out_.conflicts.push_back({"the declared topology and the cables differ for " +
                                    io_text::counted(unlike, "machine") + ": " + example + "; the declared one is used",
                                where, by});
      return;
    }
    const auto nested = nest_levels(net_, cables, kube_labels::zone_level_names());
    for (const auto& [level, declared] : nested.same)
      if (std::none_of(out_.level_aliases.begin(), out_.level_aliases.end(),
                       [&level = level](const auto& a) { return a.first == level; }))
        out_.level_aliases.emplace_back(level, declared);
    for (const auto& [level, declared] : nested.left_out)
      out_.spec.assumptions.push_back("Level " + io_text::quoted(level) + " of the cables does not nest with level " +
                                      io_text::quoted(declared) + " and is left out.");
    for (const auto& level : nested.no_room)
      out_.spec.assumptions.push_back("Level " + io_text::quoted(level) +
                                      " of the cables is left out: a tree has at most " +
                                      std::to_string(domain_tree_builder::max_levels) + " levels.");
  }

  [[nodiscard]] expected<void, input_error> make_nodes() {
    const auto count = static_cast<std::uint32_t>(index_.machines.size());
    const auto wired = wired_nics(fabric_, count);
    std::vector<std::uint32_t> kept, node_domain;
    assumption_list outside;
    for (std::uint32_t m = 0; m < count; ++m) {
      std::uint32_t d = net_.of[m];
      if (d == no_domain && !has_gpus(m) && !network_.empty() && facts_[m].shape.empty()) {
        outside.add("under no switch and without GPUs; left out.", index_.machines[m].name);
        continue;
      }
      if (d == no_domain) {
        outside.add("in no domain of the topology; taken to hang on a switch of its own.", index_.machines[m].name);
        d = static_cast<std::uint32_t>(net_.domains.size());
        net_.domains.push_back({index_.machines[m].name, no_domain, ""});
        net_.places.push_back(index_.machines[m].place);
      }
      kept.push_back(m);
      node_domain.push_back(d);
    }
    for (auto& s : outside.sentences()) out_.spec.assumptions.push_back(std::move(s));
    if (kept.empty())
      return unexpected{index_.machines.front().place.error("machines of which none is under a switch or has a GPU",
                                                            "at least one node")};
    auto built = domain_tree_builder::build(net_.domains, node_domain);
    if (!built) return unexpected{tree_failure(built.error())};
    out_.spec.tree = std::move(built->tree);
    node_of_.assign(count, machine_index::none);
    machine_of_.resize(kept.size());
    for (std::size_t k = 0; k < kept.size(); ++k) {
      node_of_[kept[k]] = built->node_ids[k].raw();
      machine_of_[built->node_ids[k].index()] = kept[k];
    }
    out_.spec.nodes.resize(kept.size());
    out_.net.shape_of.resize(kept.size());
    out_.hardware_known.resize(kept.size());
    out_.nvlink.resize(kept.size());
    for (std::uint32_t n = 0; n < kept.size(); ++n) {
      const std::uint32_t m = machine_of_[n];
      const machine& who = index_.machines[m];
      const stated_facts& facts = facts_[m];
      auto hw = table_.of(who, facts, tray_[m] != 0, wired[m], out_.conflicts);
      if (!hw) return unexpected{std::move(hw).error()};
      node_spec& spec = out_.spec.nodes[n];
      spec.name = who.name;
      spec.shape = hw->shape;
      spec.cpu = hw->cpu;
      spec.memory = hw->memory;
      spec.labels = facts.labels;
      spec.usable = facts.usable;
      if (!facts.usable) notes_.add("down, drained or cordoned; nothing is placed there.", who.name);
      for (const auto& note : hw->notes) notes_.add(note, who.name);
      out_.net.shape_of[n] = shape_id{static_cast<std::uint16_t>(hw->inside)};
      out_.hardware_known[n] = hw->known ? char{1} : char{0};
      if (nv_.of[m] != no_domain) {
        out_.nvlink[n] = nv_.domains[chain_of(nv_, nv_.of[m]).back()].name;
        if (label_nvlink_) {
          spec.labels.push_back("nvlink=" + out_.nvlink[n]);
          std::sort(spec.labels.begin(), spec.labels.end());
        }
      }
      device_mask broken = facts.unhealthy;
      const hardware_graph& g = table_.insides[hw->inside];
      const auto gpus = parts_of(g, vertex_kind::gpu);
      for (unsigned i = 0; i < gpus.size(); ++i)
        if (!g[gpus[i]].healthy) broken |= bit(i);
      broken &= low_bits(static_cast<unsigned>(gpus.size()));
      if (broken != 0) out_.held.unhealthy.push_back({0, node_id{n}, broken, {}, {}});
    }
    out_.blocks = blocks_of(nv_, machine_of_);
    out_.spec.shapes = std::move(table_.shapes());
    out_.net.shapes = std::move(table_.insides);
    out_.inside_known = std::move(table_.inside_known);
    return {};
  }

  void find_uplinks() {
    out_.spec.uplinks = uplinks_of(out_.spec, out_.net);
    if (net_.uplinks.empty()) return;
    std::vector<std::vector<std::uint32_t>> domains_of;
    for (const auto m : machine_of_)
      domains_of.push_back(net_.of[m] == no_domain ? std::vector<std::uint32_t>{} : chain_of(net_, net_.of[m]));
    state_uplinks(out_.spec.uplinks, out_.spec.tree, net_.uplinks, domains_of);
    if (net_.from != nullptr && net_.from->usable_permille)
      out_.spec.uplinks.usable_permille = *net_.from->usable_permille;
  }

  void make_graph() {
    hardware_graph& g = out_.net.graph;
    for (std::uint32_t n = 0; n < out_.spec.nodes.size(); ++n) {
      const part_id v = add_part(g, vertex_kind::node, n);
      g[v].name = out_.spec.nodes[n].name;
      g[v].model = out_.spec.shapes[out_.spec.nodes[n].shape.index()].name;
      g[v].healthy = true;
      out_.net.nodes.push_back(v);
    }
    if (out_.has_fabric) {
      add_cables(g, fabric_, node_of_, &out_.ports);
      for (std::uint32_t n = 0; n < out_.spec.nodes.size(); ++n) {
        bool wired = false;
        for (auto [e, end] = boost::out_edges(out_.net.nodes[n], g); e != end; ++e) wired = true;
        if (!wired) out_.off_fabric.push_back(out_.spec.nodes[n].name);
      }
    } else if (!network_.empty() && !lone_) {
      add_declared_switches(g, network_, node_of_);
    }
    std::map<std::string, part_id> at;
    for (std::uint32_t n = 0; n < out_.spec.nodes.size(); ++n) {
      if (out_.nvlink[n].empty()) continue;
      const auto [it, fresh] = at.emplace(out_.nvlink[n], 0);
      if (fresh) {
        it->second = add_part(g, vertex_kind::nvlink_domain, static_cast<std::uint32_t>(at.size() - 1));
        g[it->second].name = out_.nvlink[n];
      }
      (void)join(g, out_.net.nodes[n], it->second, nvlink_of(out_.net.shapes[out_.net.shape_of[n].index()]));
    }
  }

  const std::vector<site_report>& reports_;
  const merge_options& options_;
  hardware_table table_;
  machine_index index_;
  joined_fabric fabric_;
  hierarchy net_, nv_, network_;
  std::vector<topology_report> topologies_;  // with the members that rules and labels give
  std::vector<stated_facts> facts_;
  std::vector<char> tray_;
  std::vector<std::uint32_t> node_of_, machine_of_;  // by machine, by node
  bool label_nvlink_ = false;
  bool lone_ = false;  // one machine and no topology: there is no switch to draw
  assumption_list notes_;
  site out_;
};

}  // namespace merge_detail

/// One site of several reports. Their order does not matter but where two of equal standing contradict each other.
/// Errors: no machine, a topology that is no tree, a pattern that fits no machine, too many machines or kinds; where
/// `hardware_needed`, a machine whose hardware no file states. O(machines × depth + parts + cables × log).
[[nodiscard]] inline expected<site, input_error> merge_site(const std::vector<site_report>& reports,
                                                            const merge_options& options = {}) {
  return merge_detail::site_merger{reports, options}.run();
}

}  // namespace berth
