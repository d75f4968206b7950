#pragma once
/// \file
/// A job as its owner writes it. Levels, GPU models and labels are words here: what they mean is known only beside a
/// concrete cluster (`io/resolve_job.hpp`). A job may say more than the placer can serve today (other resources, …):
/// that is kept here and refused there, never dropped.

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "berth/core/error.hpp"
#include "berth/core/expected.hpp"
#include "berth/core/units.hpp"
#include "berth/io/input_place.hpp"
#include "berth/io/spread_spec.hpp"
#include "berth/io/text.hpp"
#include "berth/job/gang.hpp"

namespace berth {

/// So many of something that has a name.
struct named_count {
  std::string name;
  std::int64_t count = 1;

  friend bool operator==(const named_count&, const named_count&) = default;
};

/// Parts of GPUs: `portions` GPUs, and of each of them a share of its compute, an amount of its memory, or both. Where
/// no amount of memory is stated, the share is one of memory too: half a GPU is half of its memory.
struct gpu_share_spec {
  std::uint32_t portions = 1;
  std::uint32_t thousandths = 0;         ///< of each GPU's compute, 1 … 1000; 0 where `memory` alone says it
  bytes memory{};                        ///< of each GPU's memory; 0: as `memory_thousandths` says
  std::uint32_t memory_thousandths = 0;  ///< of each GPU's memory, where `memory` says none; 0: as many as of compute

  /// Thousandths of the memory that go with it; 0 where `memory` says an amount.
  [[nodiscard]] std::uint32_t part_of_memory() const noexcept {
    return memory.count() != 0 ? 0 : memory_thousandths != 0 ? memory_thousandths : thousandths;
  }

  friend bool operator==(const gpu_share_spec&, const gpu_share_spec&) = default;
};

/// Where the MIG instances of one task lie.
enum class mig_spread_rule : std::uint8_t {
  any,      ///< on any GPUs of its node
  one_gpu,  ///< all on one GPU
  apart,    ///< each on another GPU
};

/// Equal chunks of a gang, each inside one domain of a level.
struct segment_spec {
  std::uint32_t count = 1;
  placed_word level;
  segment_layout layout = segment_layout::free;

  friend bool operator==(const segment_spec&, const segment_spec&) = default;
};

/// Where the tasks of one group are to be, apart from the other groups of its gang.
struct group_locality {
  placed_word within;  ///< they must lie in one domain of this level; "" for anywhere
  placed_word prefer;  ///< they should lie in one domain of this level; "" for no wish
  std::optional<segment_spec> segments;

  friend bool operator==(const group_locality&, const group_locality&) = default;
};

/// Tasks that ask the same, by words.
///
/// A label is `key=value` or a bare word; `key=*` stands for any value of the key, `key>N` and `key<N` for a number.
struct group_spec {
  std::string name = "tasks";
  std::uint32_t wanted = 1;
  std::uint32_t minimum = 1;          ///< 1 … wanted
  std::uint32_t gpus = 0;             ///< whole GPUs per task; more than any node has is legal here and never placeable
  cpu_millis cpu{};                   ///< per task
  bytes memory{};                     ///< per task
  placed_word gpu_model{};            ///< "" for any
  std::vector<std::string> labels{};  ///< every one must be on the node
  std::vector<std::string> not_labels{};               ///< none may be on the node
  std::vector<std::vector<std::string>> any_labels{};  ///< of each list, one must be on the node
  std::uint32_t most = 0;                              ///< an elastic group may grow to so many tasks; 0: to `wanted`
  /// Parts of GPUs per task; with `mig`, of the one instance that it then shares with others.
  std::optional<gpu_share_spec> share{};
  std::uint32_t gpu_replicas =
      0;                   ///< instead: replicas of a time-sliced GPU, or Slurm's shards; what one is says the site
  std::string gpu_user{};  ///< whose the share is, where devices are one user's at a time (MPS)
  std::uint16_t gpu_user_id =
      0;  ///< the number of that user in the cluster, given by who knows the others (`user_names`)
  std::vector<named_count> mig{};  ///< MIG profiles per task, such as {"1g.5gb", 2}
  mig_spread_rule mig_on = mig_spread_rule::any;
  std::vector<named_count> other{};        ///< other resources per task, such as {"google.com/tpu", 4}
  std::vector<std::string> tolerations{};  ///< `key=value:effect`; taints that do not keep these tasks away
  std::vector<std::string> only_nodes{};   ///< host names; empty for any
  std::vector<std::string> not_nodes{};    ///< host names
  binding_need bind{};                     ///< what each task asks of the inside of its node
  std::uint32_t per_node = 0;              ///< at most so many tasks of the group on one node; 0: any number
  bool exclusive = false;                  ///< nothing else may run on the nodes of these tasks
  group_locality own{};                    ///< besides the locality of the gang
  std::vector<std::string> after{};        ///< groups that start or finish before this one
  std::vector<spread_spec> spread{};       ///< rules about the domains that its tasks lie in; all hold at once
  uncompared<std::vector<std::string>> task_labels{};  ///< `key=value`, of each task, for rules of other groups
  uncompared<std::size_t> line{};                      ///< where the file has the group; 0 where it has no lines

  friend bool operator==(const group_spec&, const group_spec&) = default;
};

/// A gang by words.
struct job_spec {
  std::string name = "job";
  std::vector<group_spec> groups{};
  locality where = locality::unconstrained;
  placed_word level{};   ///< read unless `where` is unconstrained
  placed_word prefer{};  ///< besides a required level: a narrower one where the gang should be
  std::optional<segment_spec> segments{};
  bytes_per_second between_nodes{};  ///< guaranteed per GPU between its nodes; 0: nothing is promised
  rail_rule rails = rail_rule::any;
  std::uint32_t minimum = 0;  ///< tasks of all groups together without which it does not start; 0: what the groups say
  std::uint32_t domains = 0;  ///< at most so many domains of the lowest switch level; 0: any number
  bool exclusive_domain = false;  ///< no other such job in the domains of `level` or of the segments
  std::string queue{};            ///< queue, partition or account
  std::optional<std::int64_t> priority{};
  std::string priority_class{};
  std::uint64_t seconds = 0;               ///< time limit; 0: none stated
  std::uint32_t copies = 1;                ///< so many equal jobs, as of a job array; each is a gang of its own
  std::uint32_t at_once = 0;               ///< of these at most so many run at a time; 0: any number
  std::vector<std::string> after{};        ///< what must happen first, in the words of the file: "afterok:123"
  std::vector<std::string> assumptions{};  ///< what the reader had to assume, one sentence each; tools must print them
  uncompared<std::uint32_t> running{};     ///< tasks that run already, on nodes that the file names

  /// Whether all of it runs already: then it is asked for only where somebody picks it out.
  [[nodiscard]] bool runs_already() const noexcept {
    std::uint64_t tasks = 0;
    for (const auto& g : groups) tasks += g.wanted;
    return running.is != 0 && running.is >= tasks;
  }

  friend bool operator==(const job_spec&, const job_spec&) = default;
};

/// Most tasks of one group; more is refused as absurd.
inline constexpr std::uint32_t max_tasks = 10'000'000;

namespace job_detail {

[[nodiscard]] inline bool asks_for_parts(const group_spec& g) noexcept {
  return g.share || g.gpu_replicas != 0 || !g.mig.empty();
}
[[nodiscard]] inline bool asks_for_nothing(const group_spec& g) noexcept {
  return g.gpus == 0 && g.cpu.count() == 0 && g.memory.count() == 0 && !asks_for_parts(g) && g.other.empty();
}
[[nodiscard]] inline bool fits_segments(const group_spec& g, const std::optional<segment_spec>& s) noexcept {
  return !s || (s->count != 0 && g.wanted % s->count == 0 && g.minimum % (g.wanted / s->count) == 0);
}

}  // namespace job_detail

/// What is wrong with a job by itself, as {found, expected}; empty when nothing is. O(groups²).
[[nodiscard]] inline std::optional<std::pair<std::string, std::string>> fault_of(const job_spec& job) {
  using fault = std::pair<std::string, std::string>;
  if (job.groups.empty()) return fault{"no task group", "at least one"};
  std::uint64_t total = 0;
  for (std::size_t i = 0; i < job.groups.size(); ++i) {
    const auto& g = job.groups[i];
    const std::string who = "group " + io_text::quoted(g.name);
    if (g.wanted == 0) return fault{who + " with 0 tasks", "at least 1 task"};
    if (g.minimum == 0) return fault{who + " with a minimum of 0 tasks", "at least 1"};
    if (g.minimum > g.wanted)
      return fault{
          who + " with a minimum of " + std::to_string(g.minimum) + " of " + std::to_string(g.wanted) + " tasks",
          "a minimum of at most the number of tasks"};
    if (g.most != 0 && g.most < g.wanted)
      return fault{who + " with at most " + std::to_string(g.most) + " of " + std::to_string(g.wanted) + " tasks",
                   "a maximum of at least the number of tasks"};
    if (job_detail::asks_for_nothing(g))
      return fault{who + " that asks for nothing", "gpus, parts of GPUs, cpus or memory above 0"};
    for (const auto& rule : g.spread)
      if (auto f = job_detail::fault_of(rule)) return fault{who + " with " + f->first, f->second};
    if (!g.gpu_user.empty() && !g.share && g.gpu_replicas == 0)
      return fault{who + " that names a user and shares no GPU", "a share, replicas or shards beside the user"};
    if (g.mig.empty() && g.mig_on != mig_spread_rule::any)
      return fault{who + " that says on which GPUs its MIG instances lie and asks for none", "mig, or no mig-on"};
    if (g.gpus == 0 && ((g.bind.near_nic && !job_detail::asks_for_parts(g)) || g.bind.host.count() != 0))
      return fault{who + " without GPUs that asks for NICs or bandwidth beside them", "GPUs"};
    if (g.share && (g.share->portions == 0 || g.share->thousandths > 1000 || g.share->memory_thousandths > 1000 ||
                    (g.share->thousandths == 0 && g.share->memory.count() == 0 && g.share->memory_thousandths == 0)))
      return fault{who + " with a share of GPUs that is no share",
                   "1 to 1000 thousandths, an amount of GPU memory or both, on at least 1 GPU"};
    for (const auto* s : {&job.segments, &g.own.segments})
      if (!job_detail::fits_segments(g, *s))
        return fault{who + " with " + std::to_string(g.wanted) + " tasks (at least " + std::to_string(g.minimum) +
                         ") in " + io_text::counted((*s)->count, "segment"),
                     "tasks that the segments divide evenly, and a minimum that is a whole number of segments"};
    for (std::size_t k = 0; k < i; ++k)
      if (job.groups[k].name == g.name) return fault{"two groups named " + io_text::quoted(g.name), "each name once"};
    total += g.wanted;
  }
  if (job.minimum > total)
    return fault{"a minimum of " + std::to_string(job.minimum) + " of " + std::to_string(total) + " tasks in all",
                 "a minimum of at most the number of tasks"};
  if (job.copies == 0) return fault{"0 copies", "at least 1"};
  return std::nullopt;
}

/// The rule of that name.
[[nodiscard]] inline std::optional<numa_rule> parse_numa_rule(std::string_view s) noexcept {
  if (s == "none") return numa_rule::none;
  if (s == "best-effort") return numa_rule::best_effort;
  if (s == "restricted") return numa_rule::restricted;
  if (s == "single-node") return numa_rule::single_node;
  return std::nullopt;
}
/// What `parse_numa_rule` reads, for messages.
inline constexpr const char* numa_rule_form = "none, best-effort, restricted or single-node";

/// The layout of that name.
[[nodiscard]] inline std::optional<segment_layout> parse_segment_layout(std::string_view s) noexcept {
  if (s == "free") return segment_layout::free;
  if (s == "spread") return segment_layout::spread;
  if (s == "consolidate") return segment_layout::consolidate;
  return std::nullopt;
}

namespace job_detail {

/// `COUNT:LEVEL[:LAYOUT]`. Levels may contain colons only in front of a layout that is none.
[[nodiscard]] inline std::optional<segment_spec> parse_segments(std::string_view value) {
  const std::size_t a = value.find(':');
  const std::size_t b = a == std::string_view::npos ? a : value.find(':', a + 1);
  const auto n = io_text::parse_count(value.substr(0, a), max_tasks);
  segment_spec s;
  if (a != std::string_view::npos)
    s.level = std::string{value.substr(a + 1, b == std::string_view::npos ? b : b - a - 1)};
  const auto layout = b == std::string_view::npos ? segment_layout::free : parse_segment_layout(value.substr(b + 1));
  if (!n || *n == 0 || s.level.empty() || !layout) return std::nullopt;
  s.count = static_cast<std::uint32_t>(*n);
  s.layout = *layout;
  return s;
}
/// `NAME:COUNT`; the name may have colons.
[[nodiscard]] inline std::optional<named_count> parse_named_count(std::string_view value) {
  const std::size_t at = value.rfind(':');
  if (at == std::string_view::npos || at == 0) return std::nullopt;
  const auto n = io_text::parse_count(value.substr(at + 1), std::uint64_t{1} << 52);
  if (!n || *n == 0) return std::nullopt;
  return named_count{std::string{value.substr(0, at)}, static_cast<std::int64_t>(*n)};
}
/// `0.5`, `0.25x2` (of two GPUs), `8GiB`, `8GiBx2`.
[[nodiscard]] inline std::optional<gpu_share_spec> parse_share(std::string_view value) {
  gpu_share_spec s;
  if (const std::size_t x = value.rfind('x'); x != std::string_view::npos) {
    const auto n = io_text::parse_count(value.substr(x + 1), max_tasks);
    if (!n || *n == 0) return std::nullopt;
    s.portions = static_cast<std::uint32_t>(*n);
    value = value.substr(0, x);
  }
  if (const auto t = io_text::parse_thousandths(value, 999); t && *t > 0) {
    s.thousandths = static_cast<std::uint32_t>(*t);
    return s;
  }
  const auto m = io_text::parse_memory(value);
  if (!m || m->count() == 0) return std::nullopt;
  s.memory = *m;
  return s;
}
/// `NAME` or `NAME:COUNT`.
[[nodiscard]] inline std::optional<named_count> parse_mig(std::string_view value) {
  if (value.find(':') != std::string_view::npos) return parse_named_count(value);
  return named_count{std::string{value}, 1};
}
[[nodiscard]] inline std::optional<mig_spread_rule> parse_mig_on(std::string_view value) noexcept {
  if (value == "any") return mig_spread_rule::any;
  if (value == "one-gpu") return mig_spread_rule::one_gpu;
  if (value == "apart") return mig_spread_rule::apart;
  return std::nullopt;
}
/// Sets what `gpu_memory_mib` and `gpu_cores` (percent) say, of as many GPUs as `gpus` says, or one.
inline void set_share(group_spec& g, std::uint64_t memory_mib, std::uint64_t cores) {
  g.share = gpu_share_spec{g.gpus == 0 ? 1 : g.gpus, static_cast<std::uint32_t>(cores * 10),
                           mebibytes(static_cast<std::int64_t>(memory_mib))};
  g.gpus = 0;
}
inline constexpr std::uint64_t most_gpu_mib = std::uint64_t{1} << 30;
/// `a|b|c`
[[nodiscard]] inline std::vector<std::string> parse_choice(std::string_view value) {
  std::vector<std::string> out;
  for (;;) {
    const std::size_t bar = value.find('|');
    out.emplace_back(value.substr(0, bar));
    if (bar == std::string_view::npos) return out;
    value.remove_prefix(bar + 1);
  }
}

}  // namespace job_detail

/// `90`, `90s`, `30m`, `2h`, `1d`, or several of these from the largest down: `1d12h`. In seconds, at most 100 years.
[[nodiscard]] inline std::optional<std::uint64_t> parse_duration(std::string_view s) noexcept {
  constexpr std::uint64_t most = std::uint64_t{100} * 366 * 86400;
  if (const auto n = io_text::parse_count(s, most)) return n;
  std::uint64_t total = 0, last = most + 1;
  while (!s.empty()) {
    std::size_t i = 0;
    while (i < s.size() && io_text::is_digit(s[i])) ++i;
    if (i == s.size()) return std::nullopt;
    const std::uint64_t unit = s[i] == 'd' ? 86400 : s[i] == 'h' ? 3600 : s[i] == 'm' ? 60 : s[i] == 's' ? 1 : 0;
    const auto n = io_text::parse_count(s.substr(0, i), most);
    if (!n || unit == 0 || unit >= last || *n > most / unit || total + *n * unit > most) return std::nullopt;
    total += *n * unit;
    last = unit;
    s.remove_prefix(i + 1);
  }
  return last > most ? std::nullopt : std::optional{total};
}

}  // namespace berth
