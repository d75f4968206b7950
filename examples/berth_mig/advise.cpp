#include "berth_mig/advise.hpp"

#include <fmt/format.h>

#include <iterator>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "berth/io/kind_rules_json.hpp"
#include "berth/io/text_file.hpp"
#include "berth/policy/device_kind.hpp"
#include "berth/policy/mig_advice.hpp"
#include "berth/topology/catalogue/gpu_models.hpp"
#include "berth/topology/mig_lookup.hpp"
#include "berth_mig/options.hpp"

namespace berth_mig {

using namespace berth;
using nlohmann::ordered_json;

namespace {

// The memory that is stated, or the least that a driver was seen to report for a GPU of that product.
std::optional<std::uint32_t> gpu_memory(const mig_geometry& g, const advise_options& o) {
  if (o.gpu_memory_mib) return o.gpu_memory_mib;
  std::optional<std::uint32_t> least;
  for (const auto& m : catalogue::gpu_models)
    if (m.mig_product == g.product->id && m.memory_mib && (!least || *m.memory_mib < *least)) least = m.memory_mib;
  return least;
}

std::optional<cuda_version> read_cuda(const std::string& text) {
  const auto dot = text.find('.');
  const auto number = [](std::string_view s) -> std::optional<unsigned> {
    if (s.empty() || s.size() > 3) return std::nullopt;
    unsigned n = 0;
    for (const char c : s) {
      if (c < '0' || c > '9') return std::nullopt;
      n = n * 10 + static_cast<unsigned>(c - '0');
    }
    return n;
  };
  const auto major = number(std::string_view{text}.substr(0, dot));
  const auto minor =
      dot == std::string::npos ? std::optional<unsigned>{0U} : number(std::string_view{text}.substr(dot + 1));
  if (!major || !minor) return std::nullopt;
  return cuda_version{*major, *minor};
}

int for_usage(const mig_geometry& g, std::uint32_t memory, const advise_options& o) {
  usage_seen seen;
  seen.memory_mib = memory;
  seen.peak_memory_mib = *o.peak_memory_mib;
  seen.peak_compute = o.peak_compute;
  seen.linked = o.linked;
  if (!(o.hours >= 0 && o.hours < 1e6)) return bad_input({"--hours", 0, fmt::format("{}", o.hours), "0 to 10^6"});
  seen.seconds = static_cast<std::int64_t>(o.hours * 3600);
  if (!o.holds.empty()) {
    const auto q = find_mig_profile(*g.product, o.holds);
    if (!q) return bad_input(q.error());
    if (!o.gpu_memory_mib && !g.row(q->profile).memory_mib)
      return bad_input({"--holds", 0, o.holds + " of unknown memory", "--gpu-memory with the memory of the instance"});
    seen.profile = q->profile;
    seen.memory_mib = o.gpu_memory_mib ? memory : *g.row(q->profile).memory_mib;
  }
  const auto a = advise_mig(g, seen);
  if (!a && a.error() == no_mig_advice::bad_numbers)
    return bad_input({"berth-mig advise", 0,
                      fmt::format("a peak of {} MiB and {} percent on a device of {} MiB", seen.peak_memory_mib,
                                  seen.peak_compute.value_or(0), seen.memory_mib),
                      "peaks that the device can have"});
  constexpr const char* reasons[] = {"",
                                     "it was watched for less than a day",
                                     "it uses 30 percent of its memory or more",
                                     "it uses links between GPUs, which instances do not have",
                                     "how busy the SMs are is not known (--peak-compute)",
                                     "no smaller profile holds its peaks with headroom"};
  if (o.json) {
    ordered_json out;
    out["product"] = std::string{g.product->id};
    if (a)
      out["advice"] = {{"profile", std::string{g.row(a->profile).name}},
                       {"memory_used_percent", a->memory_used},
                       {"memory_needed_mib", a->memory_needed_mib},
                       {"memory_offered_mib", a->memory_offered_mib},
                       {"compute_needed_percent", a->compute_needed},
                       {"slices_now", a->slices_now},
                       {"slices_then", a->slices_then},
                       {"per_gpu", a->per_gpu}};
    else out["advice"] = nullptr, out["reason"] = reasons[static_cast<unsigned>(a.error())];
    fmt::print("{}\n", out.dump(2, ' ', false, ordered_json::error_handler_t::replace));
  } else if (a) {
    fmt::print("Proposed: {} instead of {}\n", g.row(a->profile).name, o.holds.empty() ? "a whole GPU" : o.holds);
    fmt::print("  memory   at most {} of {} MiB in use ({} %); with headroom {}, the instance has about {}\n",
               seen.peak_memory_mib, seen.memory_mib, a->memory_used, a->memory_needed_mib, a->memory_offered_mib);
    fmt::print("  compute  {} % of a GPU with headroom; {} of its slices instead of {}\n", a->compute_needed,
               a->slices_then, a->slices_now);
    fmt::print("  A GPU holds {} of them.\n", a->per_gpu);
  } else {
    fmt::print("No advice: {}\n", reasons[static_cast<unsigned>(a.error())]);
  }
  return exit_ok;
}

int for_request(const mig_geometry* g, std::uint32_t memory, const std::vector<kind_rule>& rules,
                const advise_options& o) {
  const auto kind = json_detail::word_index(work_kind_names, o.kind);
  if (kind == std::size(work_kind_names))
    return bad_input({"--kind", 0, "'" + o.kind + "'", "one of " + json_detail::word_list(work_kind_names)});
  const auto latency = json_detail::word_index(latency_class_names, o.latency);
  if (latency == std::size(latency_class_names))
    return bad_input({"--latency", 0, "'" + o.latency + "'", "one of " + json_detail::word_list(latency_class_names)});
  const auto cuda = read_cuda(o.cuda);
  if (!cuda) return bad_input({"--cuda", 0, "'" + o.cuda + "'", "a version such as 12.4"});
  const workload w{
      static_cast<work_kind>(kind), static_cast<latency_class>(latency), o.gpus, o.linked, o.memory_mib, o.utilisation};
  const auto c = choose_device_kind(rules, w, kind_gpu{memory, g, true, *cuda});
  if (!c)
    return bad_input({"berth-mig advise", 0, "a request that no rule covers, or that is larger than the GPU",
                      fmt::format("at most {} MiB and 100 percent", memory)});
  const kind_rule& r = rules[c->rule];
  const std::string use{device_kind_names[static_cast<unsigned>(c->use)]};
  if (o.json) {
    ordered_json out = {{"use", use}, {"rule", r.name}, {"why", r.why}, {"source", r.source}, {"sharers", c->sharers}};
    if (c->profile) out["profile"] = std::string{g->row(*c->profile).name};
    fmt::print("{}\n", out.dump(2, ' ', false, ordered_json::error_handler_t::replace));
    return exit_ok;
  }
  fmt::print("{}{}{}\n", use, c->profile ? fmt::format(": {}", g->row(*c->profile).name) : "",
             c->sharers > 1 ? fmt::format(", shared by up to {} of its like", c->sharers) : "");
  fmt::print("  rule '{}': {} ({})\n", r.name, r.why, r.source);
  return exit_ok;
}

}  // namespace

int advise(const mig_geometry* g, const advise_options& o) {
  std::vector<kind_rule> rules = default_kind_rules();
  if (!o.rules.empty()) {
    const auto file = read_text_file(o.rules);
    if (!file) return bad_input(file.error());
    auto read = read_kind_rules(file->text, file->name);
    if (!read) return bad_input(read.error());
    rules = std::move(*read);
  }
  if (o.print_rules) {
    fmt::print("{}", write_kind_rules(rules));
    return exit_ok;
  }
  if (o.kind.empty() == !o.peak_memory_mib)
    return bad_input({"berth-mig advise", 0,
                      o.kind.empty() ? "neither --kind nor --peak-memory" : "--kind and --peak-memory",
                      "--kind for a request, or --peak-memory for a job that runs"});
  const auto memory = g != nullptr ? gpu_memory(*g, o) : o.gpu_memory_mib;
  if (!memory || *memory == 0)
    return bad_input({"berth-mig advise", 0, "a GPU of unknown memory", "--gpu-memory with its MiB"});
  if (!o.kind.empty()) return for_request(g, *memory, rules, o);
  if (g == nullptr)
    return bad_input({"berth-mig advise", 0, "a GPU without MIG", "--product with a product that has it"});
  return for_usage(*g, *memory, o);
}

}  // namespace berth_mig
