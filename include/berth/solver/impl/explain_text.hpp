#pragma once
/// \file
/// Bodies of `berth/solver/explain_text.hpp`.

#include "berth/solver/explain_text.hpp"

namespace berth {

BERTH_INLINE std::string domain_text(const cluster_spec& spec, level_id l, domain_id d) {
  if (l.raw() == 0) return "the cluster";
  const std::string& level = spec.tree.level_name(l);
  const std::string& name = spec.tree.name(l, d);
  if (name.empty()) return "the " + level + " of " + spec.nodes[spec.tree.at(l, d).nodes.first].name;
  return name.compare(0, level.size(), level) == 0 ? name : level + " " + name;
}

}  // namespace berth

namespace berth::detail {

BERTH_INLINE std::string counted_text(std::uint64_t n, const std::string& word) {
  const bool one = n == 1;
  std::string many = word + "s";
  if (word.size() > 1 && word.back() == 'f' && word.compare(word.size() - 2, 2, "ff") != 0)
    many = word.substr(0, word.size() - 1) + "ves";  // leaf
  return std::to_string(n) + " " + (one ? word : many);
}

/// 64 GiB, 1.5 TiB, 1100 GiB: the largest unit in which a tenth is exact.
[[nodiscard]] BERTH_INLINE std::string memory_words(bytes b) {
  static constexpr const char* units[] = {" bytes", " KiB", " MiB", " GiB", " TiB"};
  std::size_t u = 4;
  std::int64_t unit = std::int64_t{1} << 40;
  for (; u > 0; --u, unit /= 1024)
    if (b.count() >= unit && b.count() % unit * 10 % unit == 0) break;
  const std::int64_t whole = b.count() / unit, tenths = b.count() % unit * 10 / unit;
  return std::to_string(whole) + (tenths != 0 ? "." + std::to_string(tenths) : "") + units[u];
}

BERTH_INLINE std::string cpu_words(cpu_millis c) {
  std::string out = std::to_string(c.count() / 1000);
  if (const auto rest = c.count() % 1000; rest != 0) {
    std::string f = std::to_string(1000 + rest).substr(1);
    while (f.back() == '0') f.pop_back();
    out += "." + f;
  }
  return out + (out == "1" ? " CPU" : " CPUs");
}

BERTH_INLINE std::string shape_words(const task_shape& t) {
  std::vector<std::string> parts;
  if (t.devices != 0) parts.push_back(counted_text(t.devices, "GPU"));
  if (t.part.is_mig())
    parts.push_back(t.part.count() == 1 ? "a MIG instance" : std::to_string(t.part.count()) + " times a MIG request");
  if (t.part.is_share() || t.part.is_nested()) {
    std::string of = t.part.thousandths() == 0 ? "" : std::to_string(t.part.thousandths()) + " thousandths";
    if (t.part.memory_mib() != 0) of += (of.empty() ? "" : " and ") + std::to_string(t.part.memory_mib()) + " MiB";
    if (const unsigned m = t.part.memory_thousandths(); m != 0)
      of += m == t.part.thousandths() ? " of compute and memory"
                                      : (of.empty() ? "" : " and ") + std::to_string(m) + " thousandths of the memory";
    parts.push_back(of + " of " +
                    (t.part.is_nested()    ? "a MIG instance"
                     : t.part.count() == 1 ? "a GPU"
                                           : "each of " + counted_text(t.part.count(), "GPU")));
  }
  if (t.cpu.count() != 0) parts.push_back(cpu_words(t.cpu));
  if (t.memory.count() != 0) parts.push_back(memory_words(t.memory) + " of memory");
  std::string out;
  for (std::size_t i = 0; i < parts.size(); ++i)
    out += (i == 0 ? "" : i + 1 == parts.size() ? " and " : ", ") + parts[i];
  if (t.bind.numa == numa_rule::single_node) out += " on one NUMA node";
  if (t.bind.numa == numa_rule::restricted) out += " on as few NUMA nodes as can be";
  if (t.bind.near_nic) out += " with a NIC beside every GPU";
  if (t.bind.host.count() != 0) out += " with bandwidth to the host";
  return out;
}

BERTH_INLINE const char* explanation_writer::fault_words(gang_fault f) {
  switch (f) {
    case gang_fault::none:
      return "nothing";
    case gang_fault::no_groups:
      return "it has no task groups";
    case gang_fault::bad_shape:
      return "a task asks for nothing, for a negative amount or names an unknown filter";
    case gang_fault::bad_count:
      return "a number of tasks is 0, or a minimum exceeds the number wanted";
    case gang_fault::bad_level:
      return "it names a level that the cluster does not have";
    case gang_fault::parts_without_links:
      return "its tasks ask for MIG instances or shares of GPUs, and it asks for bandwidth between devices or for "
             "one "
             "NVLink domain: instances have neither NVLink nor P2P, and shares are promised no part of a link";
    case gang_fault::bad_bandwidth:
      return "the bandwidth between its nodes is negative or too large";
    case gang_fault::bad_segments:
      return "its segments do not divide its tasks evenly, or its minimum is no whole number of segments";
  }
  return "";
}

BERTH_INLINE std::string explanation_writer::headline() const {
  switch (e.result) {
    case verdict::placed:
      return "The gang was placed.";
    case verdict::invalid:
      return std::string{"The gang contradicts itself: "} + fault_words(e.fault) + ".";
    case verdict::capacity_exhausted:
      return "The gang is larger than the placer was prepared for.";
    case verdict::gave_up:
      return "Gave up after visiting " + counted_text(e.steps, "node") +
             ": no mix of the groups was found, and none was ruled out.";
    case verdict::never:
      return "Never: even with everything free and healthy the cluster cannot hold " + wish() + ".";
    case verdict::not_now:
      break;
  }
  if (e.link) return "Not now: a link lacks bandwidth for " + wish() + ".";
  return "Not now: there is no room for " + wish() + ".";
}

BERTH_INLINE std::string explanation_writer::wish() const {
  std::string out;
  if (g.groups.size() == 1) {
    out = counted_text(group().minimum, "task") + " of " + shape_words(group().shape);
    if (group().minimum != 1) out += " each";
    if (group().shape.per_node != 0) out += ", at most " + std::to_string(group().shape.per_node) + " on a node";
  } else {
    out = "all " + std::to_string(g.groups.size()) + " groups together";
  }
  if (g.segments && g.segments->count > 1)
    out += ", in " + counted_text(g.segments->count, "segment") + " of one " + spec.tree.level_name(g.segments->level) +
           " each";
  if (g.where == locality::required && g.level.raw() != 0) out += ", within one " + spec.tree.level_name(g.level);
  return out;
}

BERTH_INLINE std::string explanation_writer::near_words(const near_miss& n) const {
  std::string at = domain_text(spec, n.level, n.domain);
  const bool whole = n.level.raw() == 0, never = e.result == verdict::never;
  const std::string unit = g.segments ? counted_text(n.needs, "segment") : tasks(n.needs);
  const std::string beside = !g.segments && g.groups.size() > 1 ? " beside the other groups" : "";
  return (whole ? (never ? "Empty, the cluster holds " : "The cluster holds ")
                : at + (never ? " comes nearest: empty, it holds " : " comes nearest: it holds ")) +
         std::to_string(n.holds) + " of " + unit + beside + ".";
}

BERTH_INLINE std::string explanation_writer::upper(std::string s) {
  if (!s.empty() && s[0] >= 'a' && s[0] <= 'z') s[0] = static_cast<char>(s[0] - 32);
  return s;
}

BERTH_INLINE std::string explanation_writer::rate_words(std::int64_t bytes_per_second) {
  const std::int64_t tenths = bytes_per_second / 100'000'000;
  return std::to_string(tenths / 10) + (tenths % 10 == 0 ? "" : "." + std::to_string(tenths % 10)) + " GB/s";
}

BERTH_INLINE std::string explanation_writer::link_sentence(const lacking_link& l) const {
  std::string what = l.domain ? "the uplinks of " + domain_text(spec, l.level, l.domain)
                              : "a GPU's share of the NICs of " + spec.nodes[l.node.index()].name;
  if (l.domain && l.level.index() < spec.uplinks.levels.size() && spec.uplinks.levels[l.level.index()].planes > 1)
    what += " on rail " + std::to_string(l.plane);
  const std::string needs = rate_words(l.needs);
  if (l.unknown) return "There is room, but nobody said what " + what + " carry; " + needs + " are needed.";
  return "There is room, but of " + needs + " needed, " + what + " have " + rate_words(l.left) + " left.";
}

BERTH_INLINE void explanation_writer::scatter(std::vector<std::string>& out) const {
  const std::uint64_t needs = group().minimum;
  const std::uint32_t d = group().shape.devices;
  if (e.room.tasks_anywhere < needs && e.room.tasks_crowded >= needs && group().shape.per_node != 0)
    out.push_back("Nodes are lacking, not GPUs: with at most " + std::to_string(group().shape.per_node) +
                  " on a node, " + tasks(e.room.tasks_anywhere) + " would fit in the cluster, and " +
                  std::to_string(e.room.tasks_crowded) + " if they might share nodes.");
  else if (e.level.raw() != 0 && e.room.tasks_anywhere >= needs && e.room.tasks_in_one < needs && !g.segments)
    out.push_back("Room is scattered: " + tasks(e.room.tasks_anywhere) + " would fit in the cluster, but at most " +
                  std::to_string(e.room.tasks_in_one) + " in " + one_of_level() + ".");
  else if (d > 1 && e.room.tasks_crowded < needs && e.room.free_devices / d >= needs)
    out.push_back("Room is scattered: " + std::to_string(e.room.free_devices) + " GPUs are free, as many as " +
                  tasks(e.room.free_devices / d) + " would need, but only " + std::to_string(e.room.tasks_crowded) +
                  (e.room.tasks_crowded == 1 ? " finds " : " find ") + std::to_string(d) + " on one node.");
}

BERTH_INLINE const char* explanation_writer::cause_words(node_cause c) const {
  switch (c) {
    case node_cause::vacant:
      return "vacant";
    case node_cause::excluded_by_label:
      return "excluded by label";
    case node_cause::too_few_devices:
      return group().shape.part.asks() ? "without GPUs that could hold the parts" : "without enough GPUs";
    case node_cause::excluded_by_model:
      return "with GPUs of another model";
    case node_cause::too_few_cpus:
      return "without enough CPUs";
    case node_cause::too_little_memory:
      return "without enough memory";
    case node_cause::tainted:
      return "kept for others by a taint";
    case node_cause::unusable:
      return "out of service";
    case node_cause::unhealthy_devices:
      return "with too many broken GPUs";
    case node_cause::devices_in_use:
      return "with too many GPUs in use";
    case node_cause::cpus_in_use:
      return "with too many CPUs in use";
    case node_cause::memory_in_use:
      return "with too much memory in use";
    case node_cause::inside_in_use:
      return "without free GPUs that have the CPUs, NICs or links a task needs beside them";
    case node_cause::fragmented:
      return "with MIG slices enough, but no start left for the instance";
    case node_cause::uplink_down:
      return "cut off by a broken uplink";
    case node_cause::has_room:
      return "with room";
  }
  return "";
}

BERTH_INLINE std::string explanation_writer::cause_sentence() const {
  std::string out;
  std::uint64_t total = 0;
  for (std::size_t c = node_cause_count; c-- > 0;) {
    total += e.causes[c];
    if (e.causes[c] == 0) continue;
    out += (out.empty() ? "" : ", ") + std::to_string(e.causes[c]) + " " + cause_words(static_cast<node_cause>(c));
  }
  return "For a task" + of_group() + " the " + counted_text(total, "node") + (total == 1 ? " is: " : " are: ") + out +
         ".";
}

BERTH_INLINE std::string explanation_writer::taint_sentence() const {
  std::string out;
  for (const explanation::taint& t : e.taints)
    out += (out.empty() ? "" : ", ") + t.key + " on " + counted_text(t.nodes, "node");
  return (e.taints.size() == 1 ? "Taint: " : "Taints: ") + out + ".";
}

BERTH_INLINE std::string explanation_writer::remedy_sentence(const remedy& r) const {
  const std::string at = domain_text(spec, r.level, r.domain);
  const std::string in_place = r.level.raw() == 0 ? "" : ", in " + at;
  const std::string then = (e.result == verdict::never ? " would fit an empty cluster" : " would fit now") + in_place;
  switch (r.what) {
    case remedy::kind::free_nodes: {
      std::string names;
      for (std::size_t i = 0; i < r.nodes.size() && i < 6; ++i)
        names += (i == 0 ? "" : ", ") + spec.nodes[r.nodes[i].index()].name;
      if (r.nodes.size() > 6) names += ", …";
      return (r.least ? "" : "At most ") + counted_text(r.count, "more node") + " free and healthy in " + at +
             " would do: " + names + ".";
    }
    case remedy::kind::restore_uplinks:
      return "With the broken uplinks repaired it would fit" + in_place + ".";
    case remedy::kind::wider_level:
      return "One level wider it" + then +
             (r.spread > 1 ? ", over " + counted_text(r.spread, spec.tree.level_name(g.level)) : "") + ".";
    case remedy::kind::fewer_tasks:
      return std::to_string(r.count) + " instead of " + tasks(group().minimum) + then + ".";
    case remedy::kind::fewer_segments:
      return counted_text(r.count, "segment") + then + ".";
    case remedy::kind::smaller_tasks:
      return "Tasks" + of_group() + " of " + counted_text(r.count, "GPU") + " instead of " +
             std::to_string(group().shape.devices) + then + ".";
    case remedy::kind::any_layout:
      return "With several segments in one " + spec.tree.level_name(g.segments->level) + " it" + then + ".";
    case remedy::kind::no_segments:
      return "In one piece, without segments, it" + then + ".";
    case remedy::kind::no_filter:
      return "Without its conditions on labels and GPU models" + (g.groups.size() > 1 ? of_group() + " it" : " it") +
             then + ".";
    case remedy::kind::no_taints:
      return "If its tasks" + of_group() + " tolerated these taints it" + then + ".";
    case remedy::kind::more_per_node:
      return "With up to " + tasks(r.count) + " on a node it" + then + ".";
  }
  return "";
}

}  // namespace berth::detail

namespace berth {

BERTH_INLINE std::vector<std::string> explanation_sentences(const explanation& e, const gang& g,
                                                            const cluster_spec& spec) {
  const detail::explanation_writer w{e, g, spec};
  std::vector<std::string> out{w.headline()};
  if (e.result != verdict::not_now && e.result != verdict::never && e.result != verdict::gave_up) return out;
  if (e.groups_fit_alone) out.emplace_back("Each group fits by itself; together they get in each other's way.");
  const auto& nearest = e.result == verdict::never ? e.best_ever : e.nearest;
  if (e.link) out.push_back(w.link_sentence(*e.link));
  if (nearest) out.push_back(detail::explanation_writer::upper(w.near_words(*nearest)));
  if (e.result != verdict::never) w.scatter(out);
  out.push_back(w.cause_sentence());
  if (!e.taints.empty()) out.push_back(w.taint_sentence());
  for (const auto& r : e.remedies) out.push_back(detail::explanation_writer::upper(w.remedy_sentence(r)));
  return out;
}

}  // namespace berth

namespace berth::detail {

BERTH_INLINE std::string explanation_writer::of_group() const {
  return g.groups.size() > 1 ? " of group " + group().name : "";
}

BERTH_INLINE std::string explanation_writer::one_of_level() const {
  return e.level.raw() == 0 ? "the cluster" : "one " + spec.tree.level_name(e.level);
}

BERTH_INLINE std::string explanation_writer::tasks(std::uint64_t n) const {
  return counted_text(n, "task") + of_group();
}

}  // namespace berth::detail
