#pragma once
/// \file
/// All that Slurm's files and commands say about a site, as one `site_report`: topology.conf or topology.yaml,
/// slurm.conf, gres.conf, `scontrol show node`, `scontrol show topology`, `sinfo`, `squeue --json` and the like, in any
/// order. Needs Boost.Graph, yaml-cpp and nlohmann-json.
///
/// What a text is follows from its content, not from its name. The files check each other, as in `read_slurm`: a switch
/// that names a node without a NodeName= line, a node with GPUs under no switch, fewer GPUs in gres.conf than in
/// `Gres=`. Machines that slurm.conf and a command both tell of are told of twice; whoever merges reports compares
/// them. Blocks (`BlockName=`) are NVLink domains: that is what topology/block is made for. See docs/slurm-files.md.

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <vector>

#include "berth/io/assumptions.hpp"
#include "berth/io/site_report.hpp"
#include "berth/io/slurm/conf_files.hpp"
#include "berth/io/slurm/json.hpp"
#include "berth/io/slurm/partitions.hpp"
#include "berth/io/slurm/scontrol.hpp"
#include "berth/io/slurm/sinfo.hpp"
#include "berth/io/slurm/topology_yaml.hpp"
#include "berth/io/slurm_gres.hpp"
#include "berth/io/slurm_nodes.hpp"
#include "berth/io/slurm_topology.hpp"

namespace berth {

namespace slurm_detail {

/// The inside of a node as its gres.conf lines tell it: GPUs, NUMA nodes from `Cores=`, NVLinks from `Links=`. Empty
/// where they tell no more than a number of equal GPUs.
[[nodiscard]] inline std::optional<hardware_graph> inside_of(const std::vector<slurm_device>& devices,
                                                             const slurm_node_line* line,
                                                             const std::vector<std::string>& ids) {
  const std::vector<numa_shape> numa = hardware_resolver::numa_of(devices, line, cpus(io_text::max_cpus), {});
  bool more = !numa.empty();
  for (std::size_t i = 0; i < devices.size(); ++i)
    more = more || !devices[i].links.empty() || devices[i].type != devices[0].type ||
           (!devices[i].file.empty() && devices[i].file != "/dev/nvidia" + std::to_string(i));
  if (!more) return std::nullopt;
  hardware_graph g;
  for (std::uint32_t i = 0; i < devices.size(); ++i) {
    part& p = g[add_part(g, vertex_kind::gpu, i)];
    p.model = gpu_model_of(devices[i].type, ids);
  }
  for (std::uint32_t n = 0; n < numa.size(); ++n) {
    const part_id v = add_part(g, vertex_kind::numa, n);
    g[v].cpu = numa[n].cpu;
    for (std::uint32_t i = 0; i < devices.size(); ++i)
      if ((numa[n].devices >> i & 1U) != 0) {
        link l;
        l.kind = link_kind::pcie;
        (void)join(g, i, v, std::move(l));
      }
  }
  for (std::uint32_t a = 0; a < devices.size(); ++a)
    for (std::uint32_t b = a + 1; b < devices.size() && b < devices[a].links.size(); ++b) {
      const int n = devices[a].links[b];
      if (n <= 0) continue;
      link l;
      l.kind = link_kind::nvlink;
      l.count = static_cast<std::uint16_t>(n);
      (void)join(g, a, b, std::move(l));
    }
  return g;
}

/// All that `inside_of` goes by, so that equal nodes share one inside.
[[nodiscard]] inline std::string word_of_inside(const std::vector<slurm_device>& devices, const slurm_node_line* line) {
  std::string out = line == nullptr ? "-" : std::to_string(line->cores) + "x" + std::to_string(line->threads);
  for (const auto& d : devices) {
    out += "|" + d.type + "|" + d.cores + "|";
    for (const int n : d.links) out += std::to_string(n) + ",";
  }
  return out;
}

/// What `Links=` of a node says about itself, as a fault; empty where it fits: as many numbers as GPUs, -1 or 0 for the
/// GPU itself, the same number from both ends.
[[nodiscard]] inline std::optional<std::string> fault_of_links(const std::vector<slurm_device>& devices) {
  for (std::size_t a = 0; a < devices.size(); ++a) {
    const auto& row = devices[a].links;
    if (row.empty()) continue;
    if (row.size() != devices.size())
      return "Links= of " + std::to_string(row.size()) + " numbers for " + io_text::counted(devices.size(), "GPU");
    if (row[a] > 0) return "Links= with links of GPU " + std::to_string(a) + " to itself";
    for (std::size_t b = 0; b < a; ++b)
      if (!devices[b].links.empty() && devices[b].links[a] != row[b])
        return "Links= with " + std::to_string(row[b]) + " links from GPU " + std::to_string(a) + " to GPU " +
               std::to_string(b) + " and " + std::to_string(devices[b].links[a]) + " back";
  }
  return std::nullopt;
}

class slurm_report_maker {
 public:
  explicit slurm_report_maker(const slurm_options& options) : options_{options} {}

  [[nodiscard]] expected<site_report, input_error> make(const std::vector<named_text>& files) {
    if (files.empty()) return unexpected{input_error{"slurm", 0, "no file", "at least one file"}};
    out_.source = files.front().name;
    out_.format = "Slurm";
    for (const auto& f : files)
      if (auto ok = sort(f); !ok) return unexpected{std::move(ok).error()};
    if (auto ok = read_conf(); !ok) return unexpected{std::move(ok).error()};
    if (auto ok = check_names(); !ok) return unexpected{std::move(ok).error()};
    if (auto ok = add_machines(); !ok) return unexpected{std::move(ok).error()};
    for (const auto& t : trees_) add_topology(t);
    live_nodes live{out_, options_.model_ids, jobs_are_known_};
    for (const auto& n : live_)
      if (auto ok = live.add(n); !ok) return unexpected{std::move(ok).error()};
    for (auto& s : notes_.sentences()) out_.assumptions.push_back(std::move(s));
    live.finish();
    return std::move(out_);
  }

 private:
  using status = expected<void, input_error>;

  /// Reads a text or puts its lines to those of its kind.
  [[nodiscard]] status sort(const named_text& f) {
    if (looks_like_slurm_topology_yaml(f.text)) {
      auto t = read_slurm_topology_yaml(f, options_.max_nodes);
      if (!t) return unexpected{std::move(t).error()};
      for (auto& one : *t) trees_.push_back(std::move(one));
    } else if (looks_like_scontrol_nodes(f.text)) {
      auto n = read_scontrol_nodes(f, options_.max_nodes);
      if (!n) return unexpected{std::move(n).error()};
      for (auto& one : *n) live_.push_back(std::move(one));
    } else if (looks_like_sinfo(f.text)) {
      auto n = read_sinfo(f, options_.max_nodes);
      if (!n) return unexpected{std::move(n).error()};
      for (auto& one : *n) live_.push_back(std::move(one));
    } else if (looks_like_slurm_json(f.text)) {
      auto root = parse_documents(f.text, f.name);
      if (!root) return unexpected{std::move(root).error()};
      if (root->size() != 1) return unexpected{input_error{f.name, 0, "several JSON values", "one"}};
      slurm_json_reader r{f.name, options_.max_nodes};
      if (auto ok = r.read(root->front()); !ok) return ok;
      jobs_are_known_ = jobs_are_known_ || root->front().find("jobs") != nullptr;
      for (auto& n : r.nodes) live_.push_back(std::move(n));
      for (auto& h : r.held) out_.held.push_back(std::move(h));
      for (auto& j : r.jobs) out_.jobs.push_back(std::move(j));
      for (auto& s : r.notes) out_.assumptions.push_back(std::move(s));
    } else if (looks_like_scontrol_topology(f.text)) {
      auto lines = read_conf_lines(f.name, f.text, {});
      if (!lines) return unexpected{std::move(lines).error()};
      auto conf = conf_of_shown_topology(std::move(*lines));
      if (!conf) return unexpected{std::move(conf).error()};
      for (auto& l : *conf) lines_.topology.push_back(std::move(l));
    } else {
      return sort_file(f, options_.load, lines_);
    }
    return {};
  }

  [[nodiscard]] status read_conf() {
    if (!lines_.topology.empty()) {
      slurm_named_topology t;
      auto declared = read_topology_lines(lines_.topology, options_.max_nodes);
      if (!declared) return unexpected{std::move(declared).error()};
      t.declared = std::move(*declared);
      if (t.declared.nodes.empty())
        return unexpected{lines_.topology.front().error("a topology without any node", "Nodes= of a switch or block")};
      // As in Slurm: where there is a topology.yaml, topology.conf is not used.
      t.preferred = trees_.empty();
      if (!trees_.empty())
        out_.assumptions.push_back(
            "With a topology.yaml, Slurm does not use topology.conf; its topology is kept beside.");
      trees_.push_back(std::move(t));
    }
    auto nodes = read_node_lines(lines_.nodes, options_.max_nodes);
    if (!nodes) return unexpected{std::move(nodes).error()};
    nodes_ = std::move(*nodes);
    for (auto& a : nodes_.assumptions) out_.assumptions.push_back(std::move(a));
    auto partitions = read_partition_lines(lines_.partitions, nodes_, options_.max_nodes, &lines_.notes);
    if (!partitions) return unexpected{std::move(partitions).error()};
    for (auto& a : lines_.notes) out_.assumptions.push_back(std::move(a));
    for (auto& p : *partitions) {
      for (auto& n : p.nodes) {
        if (nodes_.lines.empty() && !partition_of_.contains(n)) only_partition_.emplace_back(n, p.place);
        partition_of_[n].push_back("partition=" + p.name);
        if (p.starts_jobs) startable_.insert(n);
      }
      if (!p.starts_jobs)
        out_.assumptions.push_back(p.place.source + ":" + std::to_string(p.place.line) + ": partition " +
                                   io_text::quoted(p.name) +
                                   " is DOWN or INACTIVE and starts no job; nodes that are in another too are used.");
    }
    auto gres = read_gres_lines(lines_.gres, options_.max_nodes, &other_gres_);
    if (!gres) return unexpected{std::move(gres).error()};
    gres_ = std::move(*gres);
    return {};
  }

  [[nodiscard]] const slurm_node_line* line_of(const std::string& node) const {
    const auto it = nodes_.line_of_node.find(node);
    return it == nodes_.line_of_node.end() ? nullptr : &nodes_.lines[it->second];
  }

  /// Every node of the preferred topology must have a line in slurm.conf (if there is one), and the other way round.
  [[nodiscard]] status check_names() {
    if (nodes_.lines.empty()) return {};
    std::unordered_set<std::string> in_tree;
    const slurm_named_topology* main = nullptr;
    for (const auto& t : trees_) {
      if (t.preferred && !t.flat) main = &t;
      const declared_topology& d = t.declared;
      for (std::size_t n = 0; n < d.nodes.size(); ++n) {
        if (line_of(d.nodes[n]) == nullptr) {
          const auto& place = d.place_of_node(n);
          return unexpected{place.error("unknown node " + d.nodes[n] + " under " + d.domains[d.node_domain[n]].name,
                                        "a node with a NodeName= line in slurm.conf")};
        }
        if (t.preferred) in_tree.insert(d.nodes[n]);
      }
    }
    if (main == nullptr) return {};
    for (const auto& l : nodes_.lines)
      for (const auto& n : l.nodes) {
        if (l.future || in_tree.contains(n)) continue;
        if (!l.gpus.empty())
          return unexpected{l.place.error("node " + n + " with GPUs under no switch of the topology file",
                                          "its name in a Nodes= list")};
        notes_.add("under no switch and without GPUs; left out.", n);
        outside_.insert(n);
      }
    return {};
  }

  /// One machine for each node of slurm.conf, or of gres.conf where there is no slurm.conf.
  [[nodiscard]] status add_machines() {
    std::unordered_map<std::string, std::vector<std::uint32_t>> gres_of;
    std::vector<std::uint32_t> gres_of_all;
    std::vector<std::pair<std::string, const slurm_node_line*>> names;
    std::unordered_set<std::string> known;
    for (const auto& l : nodes_.lines)
      for (const auto& n : l.nodes) {
        known.insert(n);
        names.emplace_back(n, &l);
      }
    std::unordered_set<std::string> elsewhere;  // nodes that other files know
    for (const auto& t : trees_) elsewhere.insert(t.declared.nodes.begin(), t.declared.nodes.end());
    for (const auto& n : live_) elsewhere.insert(n.name);
    for (std::uint32_t g = 0; g < gres_.size(); ++g) {
      if (gres_[g].every_node) gres_of_all.push_back(g);
      for (const auto& n : gres_[g].nodes) {
        gres_of[n].push_back(g);
        if (known.contains(n)) continue;
        // Sites share one gres.conf between clusters.
        if (!nodes_.lines.empty() || (!elsewhere.empty() && !elsewhere.contains(n))) {
          notes_.add("in gres.conf but in no other file; passed over.", n);
        } else {
          known.insert(n);
          names.emplace_back(n, nullptr);
        }
      }
    }
    if (nodes_.lines.empty() && !gres_of_all.empty())
      for (const auto& t : trees_)
        for (const auto& n : t.declared.nodes)
          if (known.insert(n).second) names.emplace_back(n, nullptr);
    std::unordered_map<std::string, kind_of_node> kinds;  // by the lines that describe a node
    for (const auto& [name, line] : names) {
      if (outside_.contains(name)) continue;
      if (line != nullptr && line->future) {
        notes_.add("State=FUTURE, not there yet; left out.", name);
        continue;
      }
      std::string key = line != nullptr ? std::to_string(line - nodes_.lines.data()) : "-";
      std::vector<const slurm_gres_line*> lines;
      const auto own = gres_of.find(name);
      // Lines without NodeName= are for every node, beside those with its name; both in the order of the file.
      std::vector<std::uint32_t> all = gres_of_all;
      if (own != gres_of.end()) {
        for (const auto g : own->second) key += "," + std::to_string(g);
        all.insert(all.end(), own->second.begin(), own->second.end());
        std::inplace_merge(all.begin(), all.begin() + static_cast<std::ptrdiff_t>(gres_of_all.size()), all.end());
      }
      auto it = kinds.find(key);
      if (it == kinds.end()) {
        for (const auto g : all) lines.push_back(&gres_[g]);
        auto made = kind_of(name, line, lines);
        if (!made) return unexpected{std::move(made).error()};
        it = kinds.emplace(std::move(key), std::move(*made)).first;
      }
      machine_report m = it->second.machine;
      m.name = name;
      if (line != nullptr && !line->hostname.empty() && line->hostname != name) m.aliases.push_back(line->hostname);
      if (const auto o = other_gres_.find(name); o != other_gres_.end() && line == nullptr)
        m.labels.insert(m.labels.end(), o->second.begin(), o->second.end());
      if (const auto p = partition_of_.find(name); p != partition_of_.end())
        m.labels.insert(m.labels.end(), p->second.begin(), p->second.end());
      if (line != nullptr && (line->down || nodes_.down_nodes.contains(name))) {
        m.usable = false;
        if (line->drained && !nodes_.down_nodes.contains(name)) m.labels.emplace_back(drain_taint);
        notes_.add("down or drained in slurm.conf; nothing is placed there.", name);
      }
      close_partitions(m);
      for (const auto& n : it->second.notes) notes_.add(n, name);
      labels_ += m.labels.size();
      if (labels_ > max_labels)
        return unexpected{m.place.error("more than " + std::to_string(max_labels) + " labels in all", "fewer")};
      out_.machines.push_back(std::move(m));
    }
    for (const auto& [name, place] : only_partition_) {
      if (known.contains(name)) continue;
      machine_report m;
      m.place = place;
      m.name = name;
      m.labels = partition_of_[name];
      close_partitions(m);
      out_.machines.push_back(std::move(m));
    }
    return {};
  }

  /// Nothing starts on a node whose partitions all start nothing.
  void close_partitions(machine_report& m) {
    if (!partition_of_.contains(m.name) || startable_.contains(m.name) || m.usable == false) return;
    m.usable = false;
    m.labels.emplace_back(drain_taint);
    notes_.add("only in partitions that are DOWN or INACTIVE; nothing is placed there.", m.name);
  }

  struct kind_of_node {
    machine_report machine;
    std::vector<std::string> notes;
  };
  [[nodiscard]] expected<kind_of_node, input_error> kind_of(const std::string& name, const slurm_node_line* line,
                                                            const std::vector<const slurm_gres_line*>& gres) {
    kind_of_node out;
    machine_report& m = out.machine;
    m.place = line != nullptr ? line->place : gres.front()->place;
    auto devices = hardware_resolver::devices_of(name, line, gres, out.notes);
    if (!devices) return unexpected{std::move(devices).error()};
    if (const auto fault = fault_of_links(*devices))
      return unexpected{(gres.empty() ? m.place : gres.front()->place)
                            .error(*fault + " on node " + name, "one number for each GPU, alike from both ends")};
    m.gpus = static_cast<unsigned>(devices->size());
    bool alike = !devices->empty();
    for (const auto& d : *devices) alike = alike && d.type == devices->front().type;
    if (alike) m.gpu_model = gpu_model_of(devices->front().type, options_.model_ids);
    m.inside = inside_of(*devices, line, options_.model_ids);
    if (m.inside) m.same_inside = word_of_inside(*devices, line);
    for (const auto* g : gres)
      if (g->mig && (line == nullptr || !hardware_resolver::has_mig(line->other_gres))) add_mig(m, g->type, g->count);
    if (line == nullptr) return out;
    m.cpu = line->cpu;
    m.memory = line->memory;
    m.labels = line->features;
    (void)add_other_gres(m, line->other_gres);
    if (line->cpus_reset)
      out.notes.emplace_back("CPUs= fits neither sockets, cores nor threads; their product is used, as in Slurm.");
    return out;
  }

  void add_topology(const slurm_named_topology& t) {
    topology_report r;
    const declared_topology& d = t.declared;
    r.name = t.name;
    r.preferred = t.preferred;
    r.what = d.blocks ? topology_report::kind::nvlink : topology_report::kind::network;
    r.place = d.places.empty() ? input_place{out_.source, 0} : d.places.front();
    r.domains = d.domains;
    r.block_sizes = d.block_sizes;
    for (std::size_t i = 0; i < d.domains.size(); ++i) r.domain_places.push_back(d.place_of_domain(i));
    for (std::size_t n = 0; n < d.nodes.size(); ++n) {
      const auto* l = line_of(d.nodes[n]);
      if (l != nullptr && l->future) continue;  // said with the machines
      r.members.push_back({d.nodes[n], d.node_domain[n]});
    }
    for (const auto& s : d.assumptions) out_.assumptions.push_back(s);
    if (d.blocks)
      out_.assumptions.push_back("Blocks are taken to be NVLink domains, which topology/block is made for.");
    out_.topologies.push_back(std::move(r));
  }

  const slurm_options& options_;
  site_report out_;
  sorted_lines lines_;
  std::vector<slurm_named_topology> trees_;
  slurm_nodes nodes_;
  std::vector<slurm_gres_line> gres_;
  std::unordered_map<std::string, std::vector<std::string>> other_gres_;  // by node: "gres/shard=32"
  std::unordered_map<std::string, std::vector<std::string>> partition_of_;
  std::unordered_set<std::string> startable_;  // nodes in a partition that starts jobs
  std::vector<std::pair<std::string, input_place>> only_partition_;
  std::vector<live_node> live_;
  bool jobs_are_known_ = false;
  std::size_t labels_ = 0;
  std::unordered_set<std::string> outside_;
  assumption_list notes_;
};

}  // namespace slurm_detail

/// Reads Slurm's files and command output of one cluster; their order does not matter. O(bytes + nodes).
/// Errors: the first fault found, with file and line.
[[nodiscard]] inline expected<site_report, input_error> read_slurm_report(const std::vector<named_text>& files,
                                                                          const slurm_options& options = {}) {
  return slurm_detail::slurm_report_maker{options}.make(files);
}

/// Whether the text is one of those that `read_slurm_report` reads.
[[nodiscard]] inline bool looks_like_slurm(std::string_view text) noexcept {
  if (looks_like_slurm_topology_yaml(text) || looks_like_scontrol_nodes(text) || looks_like_sinfo(text) ||
      looks_like_slurm_json(text) || looks_like_scontrol_topology(text))
    return true;
  // Configuration: a line that begins with one of its keys.
  for (int lines = 0; lines < 2000 && !text.empty(); ++lines) {
    std::string_view line = text.substr(0, text.find('\n'));
    text.remove_prefix(line.size() < text.size() ? line.size() + 1 : text.size());
    if (line.starts_with("apiVersion:")) return false;  // files inside a Kubernetes object
    line = io_text::trim(line.substr(0, 4096));
    for (const std::string_view key : {"NodeName", "SwitchName", "BlockName", "RingName", "BlockSizes", "PartitionName",
                                       "NodeSet", "Name", "AutoDetect"}) {
      if (line.size() <= key.size() || !io_text::equal_nocase(line.substr(0, key.size()), key)) continue;
      const std::string_view rest = io_text::trim(line.substr(key.size()));
      if (!rest.starts_with('=') || rest.size() < 2) continue;
      if (key != "Name") return true;  // too common a word to stand alone
      const std::string_view value = io_text::trim(rest.substr(1));
      for (const std::string_view gres : {"gpu", "mps", "shard", "nic"})
        if (value.size() >= gres.size() && io_text::equal_nocase(value.substr(0, gres.size()), gres)) return true;
    }
  }
  return false;
}

/// One text alone, with the options that all readers share.
[[nodiscard]] inline expected<site_report, input_error> read_slurm_text(const named_text& file,
                                                                        const reader_options& options = {}) {
  slurm_options o;
  o.max_nodes = std::min(options.max_machines, default_hostlist_limit);
  o.load = options.load;
  return read_slurm_report({file}, o);
}

}  // namespace berth
