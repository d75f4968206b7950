#pragma once
/// \file
/// Ray: the text of `ray status` (also `-v`), and nodes as JSON (`ray list nodes --detail --format json`,
/// `ray.nodes()`, the dashboard's `/api/v0/nodes`). Needs nlohmann-json and Boost.Graph.
///
/// The text without `-v` gives totals for all nodes: they are divided where there is one node, or where all nodes can
/// be alike (which is then said); the JSON and `-v` give every node's own. What runs is held by number, for Ray does
/// not say which GPUs; a part of a GPU in use holds a whole one. Source: ray-project/ray
/// `python/ray/autoscaler/_private/util.py` and `v2/utils.py` (ClusterStatusFormatter).

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "berth/core/bits.hpp"
#include "berth/core/error.hpp"
#include "berth/core/expected.hpp"
#include "berth/io/inside/gpu_names.hpp"
#include "berth/io/json_document.hpp"
#include "berth/io/kubernetes/values.hpp"
#include "berth/io/site_report.hpp"
#include "berth/io/text.hpp"
#include "berth/io/text_file.hpp"

namespace berth {

/// Cheap, from the first 64 KiB.
[[nodiscard]] inline bool looks_like_ray_status(std::string_view text) noexcept {
  text = text.substr(0, std::size_t{64} << 10);
  const auto has = [&](std::string_view word) { return text.find(word) != std::string_view::npos; };
  return has("= Autoscaler status:") || (has("Node status\n") && has("\nResources\n")) ||
         (has("\"node_id\"") && has("\"resources_total\"")) || (has("\"NodeID\"") && has("\"Resources\""));
}

namespace ray_detail {

/// `12`, `0.5`, at most 10^9, in thousandths (finer parts round up).
[[nodiscard]] inline std::optional<std::int64_t> thousandths(std::string_view s) noexcept {
  const auto q = parse_quantity(s);
  if (!q || s.empty() || !(io_text::is_digit(s.back()) || s.back() == '.') || q->whole > 1'000'000'000)
    return std::nullopt;
  return q->whole * 1000 + q->thousandths;
}
/// `0B`, `1.78TiB`, `70.437 GiB`; the older text has the unit behind both amounts.
[[nodiscard]] inline std::optional<bytes> size_of(std::string_view s) noexcept {
  std::size_t n = 0;
  while (n < s.size() && (io_text::is_digit(s[n]) || s[n] == '.')) ++n;
  const std::string_view unit = io_text::trim(s.substr(n));
  std::int64_t factor = 0;
  for (const auto& [word, bits] :
       {std::pair{"B", 0}, std::pair{"KiB", 10}, std::pair{"MiB", 20}, std::pair{"GiB", 30}, std::pair{"TiB", 40}})
    if (unit == word) factor = std::int64_t{1} << bits;
  const auto v = thousandths(s.substr(0, n));
  if (factor == 0 || !v || *v > io_text::max_memory / factor * 1000) return std::nullopt;
  return bytes{*v / 1000 * factor + (*v % 1000) * (factor / 8) / 125};
}

/// Amounts in use and there.
struct usage {
  std::optional<std::int64_t> cpu, cpu_used, gpu, gpu_used;  ///< thousandths
  std::optional<bytes> memory;
  std::string model;
  std::size_t line = 0;
};

/// One line of a usage section: ` 0.0/128.0 CPU`, ` 0B/1.78TiB memory`, ` 0.00/70.437 GiB memory`,
/// ` 0.0/4.0 accelerator_type:A100`, each perhaps followed by `(… used of … reserved in placement groups)`.
[[nodiscard]] inline std::optional<input_error> read_usage(std::string_view s, std::size_t line,
                                                           const std::string& source, usage& u) {
  if (const auto paren = s.find(" ("); paren != std::string_view::npos) s = s.substr(0, paren);
  const auto fault = [&] {
    return input_error{source, line, io_text::quoted(s), "used/total resource, such as 0.0/16.0 GPU"};
  };
  const std::size_t slash = s.find('/'), blank = s.rfind(' ');
  if (slash == std::string_view::npos || blank == std::string_view::npos || blank < slash) return fault();
  const std::string_view name = s.substr(blank + 1), used = s.substr(0, slash),
                         total = io_text::trim(s.substr(slash + 1, blank - slash - 1));
  if (name == "CPU" || name == "GPU") {
    const auto a = thousandths(used), b = thousandths(total);
    if (!a || !b) return fault();
    (name == "CPU" ? u.cpu_used : u.gpu_used) = a;
    (name == "CPU" ? u.cpu : u.gpu) = b;
  } else if (name == "memory") {
    const auto m = size_of(total);
    if (!m) return fault();
    u.memory = m;
  } else if (name.starts_with("accelerator_type:")) {
    const auto b = thousandths(total);
    if (!b) return fault();
    const std::string model = inside_text::gpu_model_or_name(name.substr(17));
    u.model = u.model.empty() || u.model == model ? model : "?";  // two models: whose is not said
  }
  return std::nullopt;
}

/// Whole GPUs, CPUs and memory of one machine.
[[nodiscard]] inline std::optional<input_error> set_amounts(const usage& u, const input_place& at, machine_report& m) {
  if (u.gpu) {
    if (*u.gpu % 1000 != 0 || *u.gpu > static_cast<std::int64_t>(max_devices_per_node) * 1000)
      return at.error(std::to_string(*u.gpu) + " thousandths of a GPU on one node",
                      "whole GPUs, at most " + std::to_string(max_devices_per_node));
    m.gpus = static_cast<unsigned>(*u.gpu / 1000);
  }
  if (u.cpu) {
    if (*u.cpu > io_text::max_cpus * 1000) return at.error("more than a million CPUs on one node", "a machine");
    m.cpu = cpu_millis{*u.cpu};
  }
  m.memory = u.memory;
  if (u.model != "?") m.gpu_model = u.model;
  return std::nullopt;
}
inline void hold(const usage& u, const machine_report& m, site_report& out) {
  const std::int64_t gpus = (u.gpu_used.value_or(0) + 999) / 1000;
  if (gpus == 0 && u.cpu_used.value_or(0) == 0) return;
  holding_report h;
  h.place = m.place;
  h.job = "Ray on " + m.name;
  h.machine = m.name;
  h.gpus = static_cast<std::uint32_t>(gpus);
  h.cpu = cpu_millis{u.cpu_used.value_or(0)};
  out.held.push_back(std::move(h));
}

[[nodiscard]] inline expected<site_report, input_error> read_text(const named_text& file,
                                                                  const reader_options& options) {
  site_report out;
  out.source = file.name;
  out.format = "ray status";
  struct node {
    std::string name;
    std::size_t line;
  };
  std::vector<node> nodes;
  usage all;
  std::vector<std::pair<machine_report, usage>> own;  // of `-v`
  enum class section { none, active, usage, other } at = section::none;
  bool typed = false;
  std::size_t line = 0;
  for (std::string_view rest = file.text; !rest.empty();) {
    const std::size_t end = rest.find('\n');
    std::string_view raw = rest.substr(0, end);
    rest = end == std::string_view::npos ? std::string_view{} : rest.substr(end + 1);
    ++line;
    while (!raw.empty() && io_text::is_blank(raw.back())) raw.remove_suffix(1);
    const std::string_view s = io_text::trim(raw);
    if (s.empty()) {
      // A blank line ends the usage of one node, not the list of nodes.
      if (at == section::usage) at = section::none;
      continue;
    }
    if (s.starts_with("=") || s.starts_with("---")) continue;
    if (s == "Active:" || s == "Healthy:" || s == "Idle:") {
      at = section::active;
    } else if (s == "Pending:" || s == "Recent failures:" || s == "Activity:" || s.ends_with("Constraints:") ||
               s.ends_with("Demands:")) {
      at = section::other;
    } else if (s == "Usage:" || s == "Total Usage:") {
      at = section::usage;
      if (own.empty()) all.line = line;
    } else if (s.starts_with("Node: ")) {
      if (own.size() >= options.max_machines)
        return unexpected{input_error{
            file.name, line, "more than " + std::to_string(options.max_machines) + " machines", "a smaller file"}};
      std::string_view name = io_text::trim(s.substr(6));
      machine_report m;
      m.place = {file.name, line};
      if (const auto paren = name.find(" ("); paren != std::string_view::npos) {
        m.labels.push_back("ray.io/node-group=" + std::string{name.substr(paren + 2, name.size() - paren - 3)});
        name = name.substr(0, paren);
      }
      m.name = name;
      for (const auto& have : own)
        if (have.first.name == m.name)
          return unexpected{input_error{file.name, line, "node " + io_text::quoted(name) + " twice", "each node once"}};
      own.emplace_back(std::move(m), usage{});
      at = section::other;
    } else if (s.starts_with("Id: ") || s.starts_with("IP: ") || s.starts_with("Instance ID: ")) {
      if (!own.empty()) own.back().first.aliases.emplace_back(io_text::trim(s.substr(s.find(':') + 1)));
    } else if (at == section::active) {
      if (s.starts_with("(no ")) continue;
      const std::size_t blank = s.find(' ');
      const auto n = io_text::parse_count(s.substr(0, blank), options.max_machines);
      if (!n || blank == std::string_view::npos)
        return unexpected{input_error{file.name, line, io_text::quoted(s),
                                      "a number and a node or node type, such as '1 node_49e8…'"}};
      const std::string name{io_text::trim(s.substr(blank))};
      if (nodes.size() + *n > options.max_machines)
        return unexpected{input_error{
            file.name, line, "more than " + std::to_string(options.max_machines) + " machines", "a smaller file"}};
      typed = typed || *n != 1 || !name.starts_with("node_");
      for (std::uint64_t i = 0; i < *n; ++i) nodes.push_back({*n == 1 ? name : name + "-" + std::to_string(i), line});
    } else if (at == section::usage && raw.front() == ' ') {
      if (s.starts_with("(no ")) continue;
      if (auto e = read_usage(s, line, file.name, own.empty() ? all : own.back().second))
        return unexpected{std::move(*e)};
    }
  }
  if (!own.empty()) {
    for (auto& [m, u] : own) {
      if (auto e = set_amounts(u, m.place, m)) return unexpected{std::move(*e)};
      hold(u, m, out);
      out.machines.push_back(std::move(m));
    }
    return out;
  }
  if (nodes.empty())
    return unexpected{input_error{file.name, line, "a Ray cluster without active nodes", "the output of `ray status`"}};
  const auto n = static_cast<std::int64_t>(nodes.size());
  usage each = all;
  each.gpu_used.reset(), each.cpu_used.reset();
  const bool even = all.gpu.value_or(0) % (n * 1000) == 0;
  if (n > 1) {
    if (even && all.gpu) each.gpu = *all.gpu / n;
    else each.gpu.reset();
    if (all.cpu) each.cpu = *all.cpu / n;
    if (all.memory) each.memory = bytes{all.memory->count() / n};
    out.assumptions.emplace_back(
        even ? "`ray status` gives totals: its " + std::to_string(n) +
                   " nodes are taken to be alike. `ray status -v` or `ray list nodes` tells them apart."
             : "`ray status` gives totals that its " + std::to_string(n) +
                   " nodes cannot share evenly: their GPUs stay unknown. `ray status -v` or `ray list nodes` tells.");
  }
  for (auto& node : nodes) {
    for (const auto& have : out.machines)
      if (nodes.size() <= 4096 && have.name == node.name)
        return unexpected{
            input_error{file.name, node.line, "node " + io_text::quoted(node.name) + " twice", "each node once"}};
    machine_report m;
    m.place = {file.name, node.line};
    m.name = node.name;
    if (auto e = set_amounts(each, m.place, m)) return unexpected{std::move(*e)};
    m.usable = true;
    out.machines.push_back(std::move(m));
  }
  if (typed) out.assumptions.emplace_back("`ray status` names node types, not nodes: they are numbered.");
  if (n == 1) hold(all, out.machines.front(), out);
  else if (all.gpu_used.value_or(0) != 0 || all.cpu_used.value_or(0) != 0)
    out.assumptions.emplace_back("What Ray has in use is not kept: `ray status` does not say on which nodes.");
  return out;
}

/// The list of nodes, wherever it is.
[[nodiscard]] inline const json_value* find_nodes(const json_value& v) noexcept {
  if (v.type == json_value::kind::array) return &v;
  for (const std::string_view key : {"data", "result", "nodes", "summary"})
    if (const json_value* c = v.find(key); c != nullptr)
      if (const json_value* found = find_nodes(*c)) return found;  // depth is bounded by that of the document
  return nullptr;
}

[[nodiscard]] inline expected<site_report, input_error> read_json(const named_text& file,
                                                                  const reader_options& options) {
  auto doc = parse_json(file.text, file.name);
  if (!doc) return unexpected{std::move(doc).error()};
  const kube_reader in{file.name};
  site_report out;
  out.source = file.name;
  out.format = "Ray nodes";
  const json_value* list = find_nodes(*doc);
  if (list == nullptr) return in.error(*doc, "no list of nodes", "`ray list nodes --detail --format json`");
  for (const auto& n : list->items) {
    if (out.machines.size() >= options.max_machines)
      return in.error(n, "more than " + std::to_string(options.max_machines) + " machines", "a smaller file");
    const auto word = [&](std::string_view a, std::string_view b) -> expected<std::string, input_error> {
      auto v = in.optional_text(n, n.find(a) != nullptr ? a : b);
      if (!v) return unexpected{std::move(v).error()};
      return v->value_or("");
    };
    const auto id = word("node_id", "NodeID");
    if (!id) return unexpected{id.error()};
    const auto host = word("NodeManagerHostname", "node_name");
    if (!host) return unexpected{host.error()};
    const auto ip = word("node_ip", "NodeManagerAddress");
    if (!ip) return unexpected{ip.error()};
    const auto state = word("state", "State");
    if (!state) return unexpected{state.error()};
    machine_report m;
    m.place = in.place(n);
    for (const auto* name : {&*host, &*ip, &*id})
      if (!name->empty()) {
        if (m.name.empty()) m.name = *name;
        else if (*name != m.name) m.aliases.push_back(*name);
      }
    if (m.name.empty()) return in.error(n, "a node without node_name, node_ip and node_id", "a node of Ray");
    const auto alive = in.flag(n, "Alive", true);
    if (!alive) return unexpected{alive.error()};
    m.usable = *alive && (state->empty() || *state == "ALIVE");
    const auto resources = in.optional_member(n, n.find("resources_total") != nullptr ? "resources_total" : "Resources",
                                              json_value::kind::object);
    if (!resources) return unexpected{resources.error()};
    usage u;
    if (*resources != nullptr)
      for (std::size_t i = 0; i < (*resources)->keys.size(); ++i) {
        const std::string_view key = (*resources)->keys[i];
        const json_value& v = (*resources)->items[i];
        if ((v.type != json_value::kind::integer && v.type != json_value::kind::real) || !(v.real >= 0) ||
            v.real > 9e15)
          return in.error(v, std::string{key} + ": " + v.described(), "an amount");
        if (key == "memory") u.memory = bytes{static_cast<std::int64_t>(v.real)};
        else if (key == "CPU" || key == "GPU") {
          if (v.real > 1e9) return in.error(v, std::string{key} + ": " + v.described(), "an amount of a machine");
          (key == "CPU" ? u.cpu : u.gpu) = static_cast<std::int64_t>(v.real * 1000 + 0.5);
        } else if (key.starts_with("accelerator_type:")) {
          u.model = inside_text::gpu_model_or_name(key.substr(17));
        }
      }
    if (u.memory && u.memory->count() > io_text::max_memory)
      return in.error(n, "memory of " + std::to_string(u.memory->count()) + " bytes", "at most 4 PiB");
    if (!u.gpu && *resources != nullptr) u.gpu = 0;
    if (auto e = set_amounts(u, m.place, m)) return unexpected{std::move(*e)};
    const auto labels =
        in.optional_member(n, n.find("labels") != nullptr ? "labels" : "Labels", json_value::kind::object);
    if (!labels) return unexpected{labels.error()};
    if (*labels != nullptr)
      for (std::size_t i = 0; i < (*labels)->keys.size(); ++i)
        if ((*labels)->keys[i] != "ray.io/node-id")
          m.labels.push_back((*labels)->keys[i] + "=" + scalar_text((*labels)->items[i]));
    out.machines.push_back(std::move(m));
  }
  if (out.machines.empty()) return in.error(*list, "no nodes", "at least one");
  return out;
}

}  // namespace ray_detail

/// Reads what Ray says about its nodes.
[[nodiscard]] inline expected<site_report, input_error> read_ray_status(const named_text& file,
                                                                        const reader_options& options = {}) {
  if (const auto bad = io_text::find_bad_utf8(file.text)) {
    std::size_t line = 1;
    for (const char c : std::string_view{file.text}.substr(0, *bad)) line += c == '\n' ? 1 : 0;
    return unexpected{input_error{file.name, line, "bytes that are no UTF-8", "the output of `ray status`"}};
  }
  std::string_view s = file.text;
  while (!s.empty() && (io_text::is_blank(s.front()) || s.front() == '\n')) s.remove_prefix(1);
  if (s.empty()) return unexpected{input_error{file.name, 0, "an empty file", "the output of `ray status`"}};
  return s.front() == '{' || s.front() == '[' ? ray_detail::read_json(file, options)
                                              : ray_detail::read_text(file, options);
}

}  // namespace berth
