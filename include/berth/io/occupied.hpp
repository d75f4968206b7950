#pragma once
/// \file
/// The occupancy file: which job holds which devices on which nodes, one line each:
///
///     # job   nodes        devices   amounts on each of these nodes
///     jobA    node[1-4]    0-3,6     cpus=8 memory=64GiB
///     jobB    login1       -         cpus=2
///     jobC    node[5-6]    0-7       between-nodes=40GB/s host-rate=100GB/s numa=restricted
///     jobD    node8        0:3g.40gb@4,1:1g.10gb          # MIG instances: GPU, profile, start where it is known
///     jobE    node8        2-3       share=0.5            # half of each of two GPUs; * for "some GPU"
///     jobF    node8        1:1g.20gb@0  gpu_cores=30 gpu_memory_mib=4000 user=ann  # a share of an instance
///     !unhealthy node7     2         # this GPU is broken
///     !unhealthy node9     -         # the whole node is
///
/// `host-rate` is what the devices of the line hold on the way to the CPUs of each node, `between-nodes` what every GPU
/// of the job holds between its nodes, `numa` that CPUs and memory are held on the NUMA nodes of the devices.
///
/// Described in docs/cluster-file.md. Reading needs no cluster; `resolve_occupancy` checks the lines against one.

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "berth/cluster/spec.hpp"
#include "berth/cluster/task_binding.hpp"
#include "berth/core/bits.hpp"
#include "berth/core/error.hpp"
#include "berth/core/expected.hpp"
#include "berth/core/units.hpp"
#include "berth/io/held_part.hpp"
#include "berth/io/hostlist.hpp"
#include "berth/io/input_place.hpp"
#include "berth/io/job_spec.hpp"
#include "berth/io/text.hpp"
#include "berth/io/text_file.hpp"

namespace berth {

/// One line of an occupancy file. Devices, CPUs and memory are those on each of the nodes.
struct occupancy_line {
  std::size_t line = 0;
  std::string job;         ///< "" on an `!unhealthy` line
  bool unhealthy = false;  ///< the devices (or with none, the nodes) are broken
  std::vector<std::string> nodes;
  device_mask devices = 0;
  cpu_millis cpu{};
  bytes memory{};
  binding_need bind{};               ///< what is held inside each node
  bytes_per_second between_nodes{};  ///< per GPU of the job
  std::vector<held_part> parts{};    ///< of GPUs, on each of the nodes; then `devices` is 0
};

/// A file of them.
struct occupancy {
  std::string source;
  std::vector<occupancy_line> lines;
};

/// Reads an occupancy file. An empty one is legal: nothing is occupied. O(bytes + names).
[[nodiscard]] inline expected<occupancy, input_error> read_occupancy(const named_text& file,
                                                                     std::size_t max_names = default_hostlist_limit) {
  occupancy out{file.name, {}};
  std::string_view text = file.text;
  if (text.starts_with("\xEF\xBB\xBF")) text.remove_prefix(3);
  std::size_t number = 0, names_so_far = 0;
  while (!text.empty()) {
    ++number;
    const std::size_t end = text.find('\n');
    std::string_view s = text.substr(0, end);
    text.remove_prefix(end == std::string_view::npos ? text.size() : end + 1);
    const auto fail = [&](std::string found, std::string expected_text) {
      return unexpected{input_error{file.name, number, std::move(found), std::move(expected_text)}};
    };
    if (io_text::find_bad_utf8(s)) return fail("bytes that are no UTF-8", "text");
    s = io_text::trim(s.substr(0, s.find('#')));
    std::vector<std::string_view> words;
    for (std::size_t i = 0; i < s.size();) {
      std::size_t stop = i;
      while (stop < s.size() && !io_text::is_blank(s[stop])) ++stop;
      if (stop > i) words.push_back(s.substr(i, stop - i));
      i = stop + 1;
    }
    if (words.empty()) continue;
    for (const auto w : words)
      for (const char c : w)
        if (static_cast<unsigned char>(c) < 0x20 || c == 0x7F) return fail("a control character", "text");
    if (words.size() < 3)
      return fail(io_text::counted(words.size(), "word"),
                  "JOB NODES DEVICES [cpus=N] [memory=SIZE], with - for no devices");
    occupancy_line l;
    l.line = number;
    if (words[0].starts_with('!')) {
      if (words[0] != "!unhealthy") return fail(io_text::quoted(words[0]), "a job name or !unhealthy");
      l.unhealthy = true;
    } else {
      l.job = std::string{words[0]};
    }
    auto names = expand_hostlist(words[1], max_names - names_so_far);
    if (!names) return unexpected{names.error().at(file.name, number)};
    names_so_far += names->size();
    l.nodes = std::move(*names);
    bool some_gpu = false;
    if (words[2] == "*") {
      some_gpu = true;
      l.parts.emplace_back();
    } else if (words[2].find(':') != std::string_view::npos) {
      auto parts = parse_held_parts(words[2]);
      if (!parts) return fail("devices " + io_text::quoted(words[2]), held_part_form);
      l.parts = std::move(*parts);
    } else if (words[2] != "-") {
      const auto m = io_text::parse_device_list(words[2]);
      if (!m) return fail("devices " + io_text::quoted(words[2]), std::string{io_text::device_list_form} + ", or -");
      l.devices = *m;
    }
    bool has_cpus = false, has_memory = false, has_host = false, has_between = false, has_numa = false;
    std::optional<gpu_share_spec> share;
    std::optional<std::uint64_t> gpu_mib, gpu_cores;
    std::string user;
    for (std::size_t i = 3; i < words.size(); ++i) {
      const std::string_view w = words[i];
      if (w.starts_with("cpus=") && !has_cpus) {
        const auto c = io_text::parse_cpus(w.substr(5));
        if (!c) return fail(io_text::quoted(w), "CPUs such as cpus=8 or cpus=0.5");
        l.cpu = *c;
        has_cpus = true;
      } else if (w.starts_with("memory=") && !has_memory) {
        const auto m = io_text::parse_memory(w.substr(7));
        if (!m) return fail(io_text::quoted(w), io_text::memory_form);
        l.memory = *m;
        has_memory = true;
      } else if ((w.starts_with("host-rate=") && !has_host) || (w.starts_with("between-nodes=") && !has_between)) {
        const bool host = w.starts_with('h');
        const auto rate = io_text::parse_rate(w.substr(w.find('=') + 1));
        if (!rate) return fail(io_text::quoted(w), io_text::rate_form);
        (host ? l.bind.host : l.between_nodes) = *rate;
        (host ? has_host : has_between) = true;
      } else if (w.starts_with("numa=") && !has_numa) {
        const auto rule = parse_numa_rule(w.substr(5));
        if (!rule) return fail(io_text::quoted(w), numa_rule_form);
        l.bind.numa = *rule;
        has_numa = true;
      } else if (w.starts_with("share=") && !share) {
        share = job_detail::parse_share(w.substr(6));
        if (!share || share->portions != 1) return fail(io_text::quoted(w), "a share such as share=0.5 or share=8GiB");
      } else if (w.starts_with("gpu_memory_mib=") && !gpu_mib) {
        gpu_mib = io_text::parse_count(w.substr(15), job_detail::most_gpu_mib);
        if (!gpu_mib || *gpu_mib == 0) return fail(io_text::quoted(w), "MiB of the memory of each GPU, above 0");
      } else if (w.starts_with("gpu_cores=") && !gpu_cores) {
        gpu_cores = io_text::parse_count(w.substr(10), 100);
        if (!gpu_cores || *gpu_cores == 0) return fail(io_text::quoted(w), "percent of each GPU, 1 to 100");
      } else if (w.starts_with("user=") && user.empty() && w.size() > 5) {
        user = std::string{w.substr(5)};
      } else {
        return fail(io_text::quoted(w),
                    "cpus=N, memory=SIZE, share=SHARE, gpu_memory_mib=N, gpu_cores=N, user=NAME, host-rate=GB/s, "
                    "between-nodes=GB/s or numa=RULE, each once");
      }
    }
    if (gpu_mib || gpu_cores) {
      if (share) return fail("gpu_memory_mib or gpu_cores beside share", "one way to say it");
      group_spec g;
      job_detail::set_share(g, gpu_mib.value_or(0), gpu_cores.value_or(0));
      share = g.share;
    }
    if (some_gpu && !share)
      return fail("devices '*' without a share", std::string{io_text::device_list_form} + ", or -");
    if (!user.empty() && !share) return fail("a user of whole GPUs or instances", "user=NAME beside a share");
    if (share) {
      if (l.parts.empty() && l.devices == 0)
        return fail("a share without GPUs", "GPUs that it is of, or * for some GPU");
      for_each_bit(l.devices, [&](unsigned d) { l.parts.emplace_back().device = d; });
      l.devices = 0;
      for (held_part& p : l.parts) p.share = share, p.user = user;
    }
    if (!l.parts.empty() && (l.unhealthy || l.bind.asks() || has_between))
      return fail("parts of GPUs on a line with rates, NUMA rules or broken devices", "a line of their own");
    if (l.unhealthy && words.size() > 3) return fail("amounts on an !unhealthy line", "!unhealthy NODES DEVICES");
    if (l.devices == 0 && (l.bind.host.count() != 0 || l.between_nodes.count() != 0))
      return fail("a rate on a line without devices", "devices whose rate it is");
    if (!l.unhealthy && l.devices == 0 && l.parts.empty() && l.cpu.count() == 0 && l.memory.count() == 0)
      return fail("a line that holds nothing", "devices, cpus= or memory=");
    out.lines.push_back(std::move(l));
  }
  return out;
}

/// What one job holds on one node, or what is broken there.
struct occupied_share {
  std::uint32_t job = 0;  ///< index into `occupied_cluster::jobs`
  node_id node{};
  device_mask devices = 0;
  cpu_millis cpu{};
  bytes memory{};
  binding_need bind{};
  /// Parts of GPUs; `io/hold_parts.hpp` finds places for them. Those with a stated GPU are in nobody's `devices`.
  std::vector<held_part> parts{};
  bool split = false;  ///< the devices are no job's: they are in MIG mode, and who holds which instance says `parts`
  input_place place{};
};

/// An occupancy file beside its cluster.
struct occupied_cluster {
  std::vector<std::string> jobs;                   ///< in the order of first use
  std::vector<bytes_per_second> between_nodes;     ///< by job, per GPU; may be shorter, and 0 from there on
  std::vector<std::vector<std::string>> labels{};  ///< by job, `key=value`; may be shorter, and unknown from there on
  std::vector<std::vector<spread_spec>>
      keeps_away{};  ///< by job: selected tasks may not come into its domains; likewise
  std::vector<occupied_share> held;
  std::vector<occupied_share> unhealthy;  ///< `devices` 0: the whole node; `job` is not used
};

/// Checks the lines against a cluster: every node known, every device there and free, CPUs and memory enough.
/// O(lines + nodes).
[[nodiscard]] inline expected<occupied_cluster, input_error> resolve_occupancy(const occupancy& file,
                                                                               const cluster_spec& spec) {
  occupied_cluster out;
  std::unordered_map<std::string_view, std::uint32_t> node_index, job_index;
  for (std::uint32_t n = 0; n < spec.nodes.size(); ++n) node_index.emplace(spec.nodes[n].name, n);
  struct use {
    device_mask taken = 0, cut = 0;
    std::int64_t cpu = 0, memory = 0;
  };
  std::vector<use> used(spec.nodes.size());
  for (const auto& l : file.lines) {
    const auto fail = [&](std::string found, std::string expected_text) {
      return unexpected{input_error{file.source, l.line, std::move(found), std::move(expected_text)}};
    };
    std::uint32_t job = 0;
    if (!l.unhealthy) {
      const auto [it, fresh] = job_index.emplace(l.job, static_cast<std::uint32_t>(out.jobs.size()));
      if (fresh) out.jobs.push_back(l.job);
      job = it->second;
      if (fresh) out.between_nodes.push_back(l.between_nodes);
      if (!fresh && out.between_nodes[job] != l.between_nodes)
        return fail("job " + io_text::quoted(l.job) + " with " + io_text::rate_text(l.between_nodes) +
                        " between its nodes, and " + io_text::rate_text(out.between_nodes[job]) + " on an earlier line",
                    "the same rate on all lines of a job");
    }
    for (const auto& name : l.nodes) {
      const auto it = node_index.find(name);
      if (it == node_index.end()) return fail("unknown node " + name, "a node of the cluster");
      const auto& node = spec.nodes[it->second];
      const auto& shape = spec.shapes[node.shape.index()];
      if ((l.devices & ~shape.all_devices()) != 0)
        return fail("device " + io_text::device_list_text(l.devices & ~shape.all_devices()) + " on node " + name,
                    shape.devices == 0 ? std::string{"- (the node has no devices)"}
                                       : "devices 0 to " + std::to_string(shape.devices - 1));
      const occupied_share share{job,   node_id{it->second},  l.devices, l.cpu, l.memory, l.bind, l.parts,
                                 false, {file.source, l.line}};
      for (const held_part& p : l.parts)
        if (p.device && *p.device >= shape.devices)
          return fail("device " + std::to_string(*p.device) + " on node " + name,
                      shape.devices == 0 ? std::string{"- (the node has no devices)"}
                                         : "devices 0 to " + std::to_string(shape.devices - 1));
      if (l.unhealthy) {
        out.unhealthy.push_back(share);
        continue;
      }
      use& u = used[it->second];
      if ((u.taken & l.devices) != 0)
        return fail("device " + io_text::device_list_text(u.taken & l.devices) + " on node " + name + " held twice",
                    "each device held by one job");
      for (const held_part& p : l.parts)
        if (p.device) u.cut |= bit(*p.device);
      u.taken |= l.devices;
      if ((u.taken & u.cut) != 0)
        return fail(
            "device " + io_text::device_list_text(u.taken & u.cut) + " on node " + name + " held whole and in parts",
            "each device whole or in parts");
      u.cpu += l.cpu.count();
      u.memory += l.memory.count();
      if (u.cpu > node.cpu.count())
        return fail(io_text::cpus_text(cpu_millis{u.cpu}) + " CPUs held on node " + name,
                    "at most its " + io_text::cpus_text(node.cpu));
      if (u.memory > node.memory.count())
        return fail(io_text::memory_text(bytes{u.memory}) + " held on node " + name,
                    "at most its " + io_text::memory_text(node.memory));
      out.held.push_back(share);
    }
  }
  return out;
}

}  // namespace berth
