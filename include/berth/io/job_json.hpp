#pragma once
/// \file
/// A job file: one JSON object with task groups, locality and segments. Described in docs/cluster-file.md. Needs
/// nlohmann-json.

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "berth/core/error.hpp"
#include "berth/core/expected.hpp"
#include "berth/io/job_spec.hpp"
#include "berth/io/json_document.hpp"
#include "berth/io/text_file.hpp"

namespace berth {

namespace json_detail {

/// A text member with its line.
[[nodiscard]] inline expected<void, input_error> read_word(const json_reader& r, const json_value& v,
                                                           std::string_view key, placed_word& out) {
  auto ok = r.text(key, out);
  if (const auto* word = v.find(key)) out.line = word->line;
  return ok;
}

[[nodiscard]] inline expected<segment_spec, input_error> read_segments(const json_value& v, const std::string& source) {
  const json_reader r{v, source};
  segment_spec s;
  std::string layout = "free";
  auto ok = r.only("count level layout");
  if (ok && (v.find("count") == nullptr || v.find("level") == nullptr))
    ok = unexpected{r.error(v, "segments without \"count\" or \"level\"", "both")};
  if (ok) ok = r.integer("count", s.count, 1, max_tasks);
  if (ok) ok = read_word(r, v, "level", s.level);
  if (ok && s.level.empty()) ok = r.wrong("level", *v.find("level"), "the name of a level");
  if (ok) ok = r.text("layout", layout);
  if (ok) {
    const auto l = parse_segment_layout(layout);
    if (l) s.layout = *l;
    else ok = r.wrong("layout", *v.find("layout"), "free, spread or consolidate");
  }
  if (!ok) return unexpected{std::move(ok).error()};
  return s;
}

/// An object of names with counts: `{"1g.5gb": 2}`.
[[nodiscard]] inline expected<void, input_error> read_counts(const json_reader& r, const json_value& v,
                                                             std::string_view key, std::vector<named_count>& out) {
  const auto* all = v.find(key);
  if (all == nullptr) return {};
  if (all->type != json_value::kind::object) return r.wrong(key, *all, "an object of names with numbers");
  for (std::size_t i = 0; i < all->keys.size(); ++i) {
    const auto& n = all->items[i];
    if (n.type != json_value::kind::integer || n.integer < 1 || n.integer > std::int64_t{1} << 52)
      return r.wrong(all->keys[i], n, "a whole number above 0");
    out.push_back({all->keys[i], n.integer});
  }
  return {};
}

[[nodiscard]] inline expected<void, input_error> read_locality(const json_value& v, const std::string& source,
                                                               group_locality& out) {
  const json_reader r{v, source};
  auto ok = r.only("within prefer segments");
  if (ok) ok = read_word(r, v, "within", out.within);
  if (ok) ok = read_word(r, v, "prefer", out.prefer);
  if (ok)
    if (const auto* s = v.find("segments")) {
      auto segments = read_segments(*s, source);
      if (!segments) return unexpected{std::move(segments).error()};
      out.segments = std::move(*segments);
    }
  return ok;
}

/// An array of rules.
[[nodiscard]] inline expected<void, input_error> read_spread(const json_reader& group, const std::string& source,
                                                             std::vector<spread_spec>& out) {
  const auto all = group.array("spread");
  if (!all) return unexpected{all.error()};
  if (*all == nullptr) return {};
  for (const auto& v : (*all)->items) {
    const json_reader r{v, source};
    spread_spec s;
    s.line.is = v.line;
    auto ok = r.only("level max_skew minimum_domains at_most required");
    if (ok) ok = r.text("level", s.level);
    if (ok) ok = r.integer("max_skew", s.max_skew, 1, max_tasks);
    if (ok) ok = r.integer("minimum_domains", s.minimum_domains, 1, max_tasks);
    std::uint32_t at_most = 0;
    if (ok) ok = r.integer("at_most", at_most, 1, max_tasks);
    if (ok && at_most != 0) s.at_most = at_most;
    if (ok) ok = r.yes_or_no("required", s.required);
    if (!ok) return ok;
    if (auto f = job_detail::fault_of(s)) return unexpected{r.error(v, std::move(f->first), std::move(f->second))};
    out.push_back(std::move(s));
  }
  return {};
}

[[nodiscard]] inline expected<group_spec, input_error> read_group(const json_value& v, const std::string& source) {
  const json_reader r{v, source};
  group_spec g;
  g.line.is = v.line;
  auto ok = r.only(
      "name tasks min gpus cpus memory model labels not_labels any_labels most share mig other tolerations only_nodes "
      "not_nodes per_node exclusive own after numa near_nic host_rate keep_cpu_ratio mig_on gpu_memory_mib gpu_cores "
      "spread replicas shards user");
  if (ok) ok = r.text("name", g.name);
  if (ok) ok = r.integer("tasks", g.wanted, 1, max_tasks);
  g.minimum = g.wanted;
  if (ok) ok = r.integer("min", g.minimum, 1, max_tasks);
  if (ok) ok = r.integer("most", g.most, 1, max_tasks);
  if (ok) ok = r.integer("gpus", g.gpus, 0, max_tasks);
  if (ok) ok = r.integer("per_node", g.per_node, 1, max_tasks);
  if (ok) ok = r.cpus("cpus", g.cpu);
  if (ok) ok = r.memory("memory", g.memory);
  if (ok) ok = read_word(r, v, "model", g.gpu_model);
  if (ok) ok = r.texts("labels", g.labels);
  if (ok) ok = r.texts("not_labels", g.not_labels);
  if (ok) ok = r.texts("tolerations", g.tolerations);
  if (ok) ok = r.texts("only_nodes", g.only_nodes);
  if (ok) ok = r.texts("not_nodes", g.not_nodes);
  if (ok) ok = r.texts("after", g.after);
  if (ok) ok = r.yes_or_no("exclusive", g.exclusive);
  if (ok) ok = r.yes_or_no("near_nic", g.bind.near_nic);
  if (ok) ok = r.yes_or_no("keep_cpu_ratio", g.bind.keep_ratio);
  if (ok) ok = r.rate("host_rate", g.bind.host);
  std::string numa;
  if (ok) ok = r.text("numa", numa);
  if (ok && v.find("numa") != nullptr) {
    if (const auto rule = parse_numa_rule(numa)) g.bind.numa = *rule;
    else ok = r.wrong("numa", *v.find("numa"), numa_rule_form);
  }
  if (ok) ok = read_counts(r, v, "mig", g.mig);
  if (ok) ok = read_counts(r, v, "other", g.other);
  if (!ok) return unexpected{std::move(ok).error()};
  const auto any = r.array("any_labels");
  if (!any) return unexpected{any.error()};
  if (*any != nullptr)
    for (const auto& i : (*any)->items) {
      bool texts = i.type == json_value::kind::array && !i.items.empty();
      auto& choice = g.any_labels.emplace_back();
      for (const auto& l : i.items) {
        texts = texts && l.type == json_value::kind::string;
        choice.push_back(l.text);
      }
      if (!texts) return unexpected{r.error(i, "any_labels: " + i.described(), "an array of arrays of labels")};
    }
  std::string share;
  if (ok) ok = r.text("share", share);
  if (ok && !share.empty()) {
    g.share = job_detail::parse_share(share);
    if (!g.share) ok = r.wrong("share", *v.find("share"), "a share such as 0.5 or 8GiB, or of several GPUs, 0.5x2");
  }
  std::uint64_t memory_mib = 0, cores = 0;
  if (ok) ok = r.integer("gpu_memory_mib", memory_mib, 1, job_detail::most_gpu_mib);
  if (ok) ok = r.integer("gpu_cores", cores, 1, 100);
  if (ok) ok = r.integer("replicas", g.gpu_replicas, 1, 1000);
  if (ok && g.gpu_replicas != 0 && v.find("shards") != nullptr)
    ok = r.wrong("shards", *v.find("shards"), "one way to say it: not beside replicas");
  if (ok) ok = r.integer("shards", g.gpu_replicas, 1, 1000);
  if (ok) ok = r.text("user", g.gpu_user);
  if (ok && (memory_mib != 0 || cores != 0)) {
    if (g.share) ok = r.wrong("share", *v.find("share"), "one way to say it: not beside gpu_memory_mib or gpu_cores");
    else job_detail::set_share(g, memory_mib, cores);
  }
  std::string mig_on;
  if (ok) ok = r.text("mig_on", mig_on);
  if (ok && !mig_on.empty()) {
    if (const auto on = job_detail::parse_mig_on(mig_on)) g.mig_on = *on;
    else ok = r.wrong("mig_on", *v.find("mig_on"), "any, one-gpu or apart");
  }
  if (ok) ok = read_spread(r, source, g.spread);
  if (ok)
    if (const auto* own = v.find("own")) ok = read_locality(*own, source, g.own);
  if (!ok) return unexpected{std::move(ok).error()};
  return g;
}

/// The members of a job that say when it runs and for whom.
[[nodiscard]] inline expected<void, input_error> read_job_words(const json_reader& r, const json_value& v,
                                                                job_spec& job) {
  auto ok = r.text("name", job.name);
  if (ok) ok = r.text("queue", job.queue);
  if (ok) ok = r.text("priority_class", job.priority_class);
  std::int64_t priority = 0;
  if (ok) ok = r.integer("priority", priority, -(std::int64_t{1} << 62), std::int64_t{1} << 62);
  if (ok && v.find("priority") != nullptr) job.priority = priority;
  if (ok) ok = r.rate("between_nodes", job.between_nodes);
  std::string rails = "any";
  if (ok) ok = r.text("rails", rails);
  if (ok && rails != "any" && rails != "same") ok = r.wrong("rails", *v.find("rails"), "any or same");
  if (rails == "same") job.rails = rail_rule::same;
  if (ok) ok = r.integer("min", job.minimum, 1, max_tasks);
  if (ok) ok = r.integer("domains", job.domains, 1, max_tasks);
  if (ok) ok = r.yes_or_no("exclusive_domain", job.exclusive_domain);
  if (ok) ok = r.integer("copies", job.copies, 1, max_tasks);
  if (ok) ok = r.integer("at_once", job.at_once, 1, max_tasks);
  if (ok) ok = r.texts("after", job.after);
  std::string time;
  if (ok) ok = r.text("time", time);
  if (ok && !time.empty()) {
    if (const auto t = parse_duration(time)) job.seconds = *t;
    else ok = r.wrong("time", *v.find("time"), "a time such as 90s, 30m, 2h or 1d12h");
  }
  return ok;
}

}  // namespace json_detail

/// Reads a job file. O(bytes).
[[nodiscard]] inline expected<job_spec, input_error> read_job_json(const named_text& file) {
  const auto root = parse_json(file.text, file.name);
  if (!root) return unexpected{root.error()};
  const json_reader r{*root, file.name};
  job_spec job;
  auto ok = r.only(
      "name groups within prefer segments min domains exclusive_domain queue priority priority_class time copies "
      "at_once after between_nodes rails");
  if (ok) ok = json_detail::read_job_words(r, *root, job);
  const auto* within = root->find("within");
  const auto* prefer = root->find("prefer");
  if (ok && within != nullptr) ok = json_detail::read_word(r, *root, "within", job.level);
  if (ok && prefer != nullptr)
    ok = json_detail::read_word(r, *root, "prefer", within != nullptr ? job.prefer : job.level);
  if (ok && (within != nullptr || prefer != nullptr)) {
    job.where = within != nullptr ? locality::required : locality::preferred;
    if (job.level.empty() || (within != nullptr && prefer != nullptr && job.prefer.empty()))
      ok = unexpected{r.error(within != nullptr ? *within : *prefer, "''", "the name of a level")};
  }
  if (!ok) return unexpected{std::move(ok).error()};
  const auto groups = r.array("groups");
  if (!groups) return unexpected{groups.error()};
  if (*groups != nullptr)
    for (const auto& g : (*groups)->items) {
      auto group = json_detail::read_group(g, file.name);
      if (!group) return unexpected{std::move(group).error()};
      if (g.find("name") == nullptr && (*groups)->items.size() > 1)
        return unexpected{r.error(g, "a group without \"name\"", "a name for each of several groups")};
      job.groups.push_back(std::move(*group));
    }
  if (const auto* s = root->find("segments")) {
    auto segments = json_detail::read_segments(*s, file.name);
    if (!segments) return unexpected{std::move(segments).error()};
    job.segments = std::move(*segments);
  }
  if (auto f = fault_of(job))
    return unexpected{r.error(*groups != nullptr ? **groups : *root, std::move(f->first), std::move(f->second))};
  return job;
}

}  // namespace berth
