#pragma once
/// \file
/// The compact text form of a gang of one group, such as `tasks=8,gpus=8,within=leaf`.

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "berth/core/error.hpp"
#include "berth/core/expected.hpp"
#include "berth/io/job_spec.hpp"
#include "berth/io/spread_spec.hpp"
#include "berth/io/text.hpp"

namespace berth {

namespace job_detail {

/// What `parse_gang` has read so far.
struct gang_text {
  job_spec job;
  std::string prefer;
  std::optional<std::uint64_t> memory_mib, cores;  ///< of a share
  bool has_minimum = false;

  [[nodiscard]] group_spec& group() noexcept { return job.groups.front(); }
};

/// A key of `parse_gang`.
struct gang_key {
  std::string_view name;
  const char* form;  ///< of the value, for messages
  bool (*read)(gang_text& to, std::string_view value);
  bool many = false;  ///< whether it may come several times
};

template <auto Member>
bool set_word(gang_text& t, std::string_view value) {
  if constexpr (requires { t.job.*Member; }) t.job.*Member = std::string{value};
  else t.group().*Member = std::string{value};
  return true;
}
template <auto Member>
bool add_word(gang_text& t, std::string_view value) {
  if constexpr (requires { t.job.*Member; }) (t.job.*Member).emplace_back(value);
  else (t.group().*Member).emplace_back(value);
  return true;
}
template <auto Member>
bool set_count(gang_text& t, std::string_view value) {
  const auto n = io_text::parse_count(value, max_tasks);
  if (!n) return false;
  if constexpr (requires { t.job.*Member; }) t.job.*Member = static_cast<std::uint32_t>(*n);
  else t.group().*Member = static_cast<std::uint32_t>(*n);
  return true;
}
/// Stores what was parsed, if anything was.
template <class To, class From>
bool set_if(To& to, From&& from) {
  if (!from) return false;
  to = *std::forward<From>(from);
  return true;
}
template <class To>
bool set_flag(To& to, std::string_view value) {
  to = value == "yes";
  return value == "yes" || value == "no";
}
inline bool add_spread(gang_text& t, std::string_view key, std::string_view value) {
  auto rule = parse_spread(key, value);
  if (rule) t.group().spread.push_back(std::move(*rule));
  return rule.has_value();
}
inline bool add_count(std::vector<named_count>& to, std::optional<named_count> n) {
  if (n) to.push_back(std::move(*n));
  return n.has_value();
}
inline bool set_replicas(gang_text& t, std::string_view value) {
  const auto n = io_text::parse_count(value, 1000);
  if (!n || *n == 0 || t.group().gpu_replicas != 0) return false;
  t.group().gpu_replicas = static_cast<std::uint32_t>(*n);
  return true;
}
inline bool set_priority(gang_text& t, std::string_view value) {
  const bool minus = value.starts_with('-');
  const auto n = io_text::parse_count(value.substr(minus ? 1 : 0), std::uint64_t{1} << 62);
  if (n) t.job.priority = minus ? -static_cast<std::int64_t>(*n) : static_cast<std::int64_t>(*n);
  return n.has_value();
}

/// Every key that `parse_gang` takes: of the group first, then of the gang.
[[nodiscard]] inline std::span<const gang_key> gang_keys() noexcept {
  using view = std::string_view;
  static constexpr const char* tasks_form = "a number of tasks from 1 to 10000000";
  static_assert(max_tasks == 10'000'000);
  static constexpr const char* segments_form =
      "COUNT:LEVEL or COUNT:LEVEL:LAYOUT with LAYOUT free, spread or consolidate";
  static constexpr const char* yes_form = "yes or no";
  static constexpr const char* of_gpu_form = "how many of a GPU, 1 to 1000, once";
  static constexpr gang_key keys[] = {
      {"tasks", tasks_form,
       [](gang_text& t, view v) { return set_count<&group_spec::wanted>(t, v) && t.group().wanted != 0; }},
      {"min", tasks_form,
       [](gang_text& t, view v) {
         t.has_minimum = true;
         return set_count<&group_spec::minimum>(t, v) && t.group().minimum != 0;
       }},
      {"most", "a number of tasks", set_count<&group_spec::most>},
      {"gpus", "a number of GPUs per task", set_count<&group_spec::gpus>},
      {"cpus", "CPUs per task such as 16 or 0.5",
       [](gang_text& t, view v) { return set_if(t.group().cpu, io_text::parse_cpus(v)); }},
      {"memory", io_text::memory_form,
       [](gang_text& t, view v) { return set_if(t.group().memory, io_text::parse_memory(v)); }},
      {"model", "", set_word<&group_spec::gpu_model>},
      {"label", "", add_word<&group_spec::labels>, true},
      {"not-label", "", add_word<&group_spec::not_labels>, true},
      {"any-label", "",
       [](gang_text& t, view v) {
         t.group().any_labels.push_back(parse_choice(v));
         return true;
       },
       true},
      {"toleration", "", add_word<&group_spec::tolerations>, true},
      {"only-node", "", add_word<&group_spec::only_nodes>, true},
      {"not-node", "", add_word<&group_spec::not_nodes>, true},
      {"per-node", "a number of tasks per node", set_count<&group_spec::per_node>},
      {"exclusive", yes_form, [](gang_text& t, view v) { return set_flag(t.group().exclusive, v); }},
      {"mig", "PROFILE or PROFILE:COUNT", [](gang_text& t, view v) { return add_count(t.group().mig, parse_mig(v)); },
       true},
      {"mig-on", "any, one-gpu or apart",
       [](gang_text& t, view v) { return set_if(t.group().mig_on, parse_mig_on(v)); }},
      {"share", "a share such as 0.5 or 8GiB, or of several GPUs, 0.5x2",
       [](gang_text& t, view v) {
         t.group().share = parse_share(v);
         return t.group().share.has_value();
       }},
      {"gpu_memory_mib", "MiB of a GPU's memory such as 8000",
       [](gang_text& t, view v) {
         t.memory_mib = io_text::parse_count(v, most_gpu_mib);
         return t.memory_mib && *t.memory_mib != 0;
       }},
      {"gpu_cores", "percent of a GPU's compute, 1 to 100",
       [](gang_text& t, view v) {
         t.cores = io_text::parse_count(v, 100);
         return t.cores && *t.cores != 0;
       }},
      {"replicas", of_gpu_form, set_replicas},
      {"shards", of_gpu_form, set_replicas},
      {"user", "", set_word<&group_spec::gpu_user>},
      {"other", "NAME:COUNT", [](gang_text& t, view v) { return add_count(t.group().other, parse_named_count(v)); },
       true},
      {"numa", numa_rule_form, [](gang_text& t, view v) { return set_if(t.group().bind.numa, parse_numa_rule(v)); }},
      {"near-nic", yes_form, [](gang_text& t, view v) { return set_flag(t.group().bind.near_nic, v); }},
      {"host-rate", io_text::rate_form,
       [](gang_text& t, view v) { return set_if(t.group().bind.host, io_text::parse_rate(v)); }},
      {"keep-cpu-ratio", yes_form, [](gang_text& t, view v) { return set_flag(t.group().bind.keep_ratio, v); }},
      {"spread", spread_form, [](gang_text& t, view v) { return add_spread(t, "spread", v); }, true},
      {"anti", anti_form, [](gang_text& t, view v) { return add_spread(t, "anti", v); }, true},
      {"prefer-spread", spread_form, [](gang_text& t, view v) { return add_spread(t, "prefer-spread", v); }, true},
      {"prefer-anti", anti_form, [](gang_text& t, view v) { return add_spread(t, "prefer-anti", v); }, true},
      {"own-within", "",
       [](gang_text& t, view v) {
         t.group().own.within = std::string{v};
         return true;
       }},
      {"own-prefer", "",
       [](gang_text& t, view v) {
         t.group().own.prefer = std::string{v};
         return true;
       }},
      {"own-segments", segments_form,
       [](gang_text& t, view v) {
         t.group().own.segments = parse_segments(v);
         return t.group().own.segments.has_value();
       }},
      {"after-group", "", add_word<&group_spec::after>, true},
      {"name", "", set_word<&job_spec::name>},
      {"within", "", set_word<&job_spec::level>},
      {"prefer", "",
       [](gang_text& t, view v) {
         t.prefer = v;
         return true;
       }},
      {"segments", segments_form,
       [](gang_text& t, view v) {
         t.job.segments = parse_segments(v);
         return t.job.segments.has_value();
       }},
      {"between-nodes", io_text::rate_form,
       [](gang_text& t, view v) { return set_if(t.job.between_nodes, io_text::parse_rate(v)); }},
      {"rails", "any or same",
       [](gang_text& t, view v) {
         t.job.rails = v == "same" ? rail_rule::same : rail_rule::any;
         return v == "any" || v == "same";
       }},
      {"total-min", "a number of tasks", set_count<&job_spec::minimum>},
      {"domains", "a number of domains", set_count<&job_spec::domains>},
      {"exclusive-domain", yes_form, [](gang_text& t, view v) { return set_flag(t.job.exclusive_domain, v); }},
      {"queue", "", set_word<&job_spec::queue>},
      {"priority", "a whole number", set_priority},
      {"priority-class", "", set_word<&job_spec::priority_class>},
      {"time", "a time such as 90s, 30m, 2h or 1d12h",
       [](gang_text& t, view v) { return set_if(t.job.seconds, parse_duration(v)); }},
      {"copies", "a number of jobs", set_count<&job_spec::copies>},
      {"at-once", "a number of jobs", set_count<&job_spec::at_once>},
      {"after", "", add_word<&job_spec::after>, true}};
  return keys;
}
/// Their names, for messages.
[[nodiscard]] inline std::string gang_key_names() {
  std::string out;
  for (const auto& k : gang_keys()) out += (out.empty() ? "" : ", ") + std::string{k.name};
  return out;
}

}  // namespace job_detail

/// Reads `tasks=8,min=4,gpus=8,cpus=16,memory=100GiB,within=leaf,segments=2:leaf:spread`.
///
/// Keys of the group: tasks (1), min and most (as tasks), gpus, cpus, memory (each per task), model, label, not-label
/// and any-label (`a|b`), share (`0.5`, `0.5x2`, `8GiB`), gpu_memory_mib and gpu_cores (percent; both of
/// each GPU, and `gpus` is then how many GPUs, 1 where it is not said), mig (PROFILE or PROFILE:COUNT), mig-on (any,
/// one-gpu, apart), other (NAME:COUNT), toleration, only-node, not-node,
/// per-node, exclusive (yes), numa (a rule), near-nic (yes), host-rate (GB/s), keep-cpu-ratio (yes), own-within,
/// own-prefer, own-segments, after-group, spread LEVEL[:SKEW[:DOMAINS]] and anti LEVEL[:TASKS], with prefer- before
/// them where they are wishes; of the gang: name, within and prefer LEVEL, segments
/// COUNT:LEVEL[:free|spread|consolidate], between-nodes (GB/s), rails (any, same), total-min, domains, exclusive-domain
/// (yes), queue, priority, priority-class, time (`2h`), copies, at-once, after. label, not-label, any-label, mig,
/// other, toleration, only-node, not-node, spread, anti, after and after-group may come several times. \param source
/// what messages call the text, such as "--gang".
[[nodiscard]] inline expected<job_spec, input_error> parse_gang(std::string_view text, const std::string& source) {
  const auto fail = [&](std::string found, std::string expected_text) {
    return unexpected{input_error{source, 0, std::move(found), std::move(expected_text)}};
  };
  const auto any_key = [] { return "one of " + job_detail::gang_key_names() + ", as key=value with commas between"; };
  if (io_text::find_bad_utf8(text)) return fail("bytes that are no UTF-8", "text");
  job_detail::gang_text t;
  t.job.groups.emplace_back();
  std::vector<const job_detail::gang_key*> seen;
  for (std::string_view rest = text;;) {
    const std::size_t comma = rest.find(',');
    const std::string_view item = io_text::trim(rest.substr(0, comma));
    const std::size_t equals = item.find('=');
    if (equals == std::string_view::npos || equals + 1 == item.size()) return fail(io_text::quoted(item), any_key());
    const std::string_view name = item.substr(0, equals);
    const job_detail::gang_key* key = nullptr;
    for (const auto& k : job_detail::gang_keys())
      if (k.name == name) key = &k;
    if (key == nullptr) return fail("key " + io_text::quoted(name), any_key());
    for (const auto* s : seen)
      if (s == key && !key->many) return fail("key " + io_text::quoted(name) + " twice", "each key once");
    seen.push_back(key);
    if (!key->read(t, item.substr(equals + 1))) return fail(io_text::quoted(item), key->form);
    if (comma == std::string_view::npos) break;
    rest.remove_prefix(comma + 1);
  }
  job_spec& job = t.job;
  group_spec& g = t.group();
  if (!job.level.empty()) job.where = locality::required;
  if (!t.prefer.empty()) {
    if (job.where == locality::required) {
      job.prefer = std::move(t.prefer);
    } else {
      job.where = locality::preferred;
      job.level = std::move(t.prefer);
    }
  }
  if (t.memory_mib || t.cores) {
    if (g.share) return fail("gpu_memory_mib or gpu_cores beside share", "one way to say it");
    job_detail::set_share(g, t.memory_mib.value_or(0), t.cores.value_or(0));
  }
  if (!t.has_minimum) g.minimum = g.wanted;
  if (auto f = fault_of(job)) return fail(std::move(f->first), std::move(f->second));
  return std::move(t.job);
}

}  // namespace berth
