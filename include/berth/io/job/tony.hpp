#pragma once
/// \file
/// Jobs of TonY (deep learning on Hadoop YARN): an XML configuration with roles, their instances and what each asks
/// for. Needs pugixml.
///
/// Source: `tony-default.xml` and `TonyConfigurationKeys` of TonY: `tony.ROLE.instances`, `.memory` (2g), `.vcores`
/// (1),
/// `.gpus` (0), `.node-label`, `.depends-on`; `tony.application.name`, `.timeout` (ms), `.node-label`;
/// `tony.yarn.queue`.

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <pugixml.hpp>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "berth/core/error.hpp"
#include "berth/core/expected.hpp"
#include "berth/io/job_spec.hpp"
#include "berth/io/site_report.hpp"
#include "berth/io/text.hpp"
#include "berth/io/text_file.hpp"

namespace berth {

namespace tony_detail {

struct property {
  std::string value;
  std::size_t line = 0;
};

/// `4096` in MB, `4G`, `512m`.
[[nodiscard]] inline std::optional<bytes> parse_memory(std::string_view s) noexcept {
  int shift = 20;
  if (!s.empty() && io_text::lower(s.back()) == 'g') shift = 30;
  if (!s.empty() && !io_text::is_digit(s.back())) {
    if (shift == 20 && io_text::lower(s.back()) != 'm') return std::nullopt;
    s.remove_suffix(1);
  }
  const auto n = io_text::parse_count(s, static_cast<std::uint64_t>(io_text::max_memory) >> shift);
  if (!n) return std::nullopt;
  return bytes{static_cast<std::int64_t>(*n << shift)};
}

[[nodiscard]] inline expected<std::map<std::string, property>, input_error> read_properties(const named_text& file) {
  std::size_t at_line = 1, at_offset = 0;
  const auto line_of = [&](std::ptrdiff_t offset) {
    const std::size_t to = offset < 0 ? 0 : static_cast<std::size_t>(offset);
    if (to < at_offset) at_line = 1, at_offset = 0;
    for (; at_offset < to && at_offset < file.text.size(); ++at_offset)
      at_line += file.text[at_offset] == '\n' ? 1U : 0U;
    return at_line;
  };
  pugi::xml_document document;
  const auto parsed =
      document.load_buffer(file.text.data(), file.text.size(), pugi::parse_default, pugi::encoding_utf8);
  if (!parsed)
    return unexpected{input_error{file.name, line_of(parsed.offset),
                                  "an XML syntax error (" + std::string{parsed.description()} + ")", "XML"}};
  const auto root = document.child("configuration");
  if (!root) return unexpected{input_error{file.name, 1, "XML without <configuration>", "a configuration of TonY"}};
  std::map<std::string, property> out;
  for (const auto p : root.children("property")) {
    const std::string name{io_text::trim(p.child("name").text().get())};
    const std::string value{io_text::trim(p.child("value").text().get())};
    const std::size_t line = line_of(p.offset_debug());
    if (name.empty()) return unexpected{input_error{file.name, line, "a property without a name", "<name>"}};
    if (io_text::find_bad_utf8(name) || io_text::find_bad_utf8(value))
      return unexpected{input_error{file.name, line, "bytes that are no UTF-8", "text"}};
    out[name] = {value, line};  // of a property given twice the last counts, as in Hadoop
    if (out.size() > 100'000) return unexpected{input_error{file.name, line, "more than 100000 properties", "fewer"}};
  }
  return out;
}

}  // namespace tony_detail

/// Whether a text is a Hadoop configuration with properties of TonY.
[[nodiscard]] inline bool looks_like_tony(std::string_view text) noexcept {
  text = text.substr(0, std::size_t{1} << 16);
  return text.find("<configuration") != std::string_view::npos &&
         (text.find("<name>tony.") != std::string_view::npos || text.find("\ntony.") != std::string_view::npos);
}

/// Reads a job of TonY: its roles start together. O(bytes · log properties).
[[nodiscard]] inline expected<std::vector<job_spec>, input_error> read_tony(const named_text& file,
                                                                            const reader_options& options = {}) {
  (void)options;
  auto properties = tony_detail::read_properties(file);
  if (!properties) return unexpected{std::move(properties).error()};
  const auto find = [&](const std::string& name) -> const tony_detail::property* {
    const auto at = properties->find(name);
    return at == properties->end() || at->second.value.empty() ? nullptr : &at->second;
  };
  const auto wrong = [&](const std::string& name, const tony_detail::property& p, std::string form) {
    return unexpected{input_error{file.name, p.line, name + ": " + io_text::quoted(p.value), std::move(form)}};
  };
  job_spec job;
  if (const auto* p = find("tony.application.name")) job.name = p->value;
  if (const auto* p = find("tony.yarn.queue")) job.queue = p->value;
  if (const auto* p = find("tony.application.timeout")) {
    const auto ms = io_text::parse_count(p->value, std::uint64_t{1} << 50);
    if (!ms) return wrong("tony.application.timeout", *p, "milliseconds");
    job.seconds = (*ms + 999) / 1000;
  }
  for (const auto& [name, p] : *properties) {
    constexpr std::string_view head = "tony.", tail = ".instances";
    if (!name.starts_with(head) || !name.ends_with(tail) || name.size() <= head.size() + tail.size()) continue;
    const std::string role = name.substr(head.size(), name.size() - head.size() - tail.size());
    if (role.find('.') != std::string::npos || role == "am" || role == "task" || role == "application") continue;
    const auto n = io_text::parse_count(p.value, max_tasks);
    if (!n) return wrong(name, p, "a number of instances");
    if (*n == 0) continue;  // a role that this job does not have
    group_spec g;
    g.name = role;
    g.wanted = g.minimum = static_cast<std::uint32_t>(*n);
    const std::string base = std::string{head} + role;
    g.cpu = cpus(1);
    g.memory = gibibytes(2);
    if (const auto* v = find(base + ".vcores")) {
      const auto c = io_text::parse_count(v->value, static_cast<std::uint64_t>(io_text::max_cpus));
      if (!c) return wrong(base + ".vcores", *v, "a number of virtual cores");
      g.cpu = cpus(static_cast<std::int64_t>(*c));
    }
    if (const auto* v = find(base + ".memory")) {
      const auto m = tony_detail::parse_memory(v->value);
      if (!m) return wrong(base + ".memory", *v, "memory such as 4g, 512m or 4096 (megabytes)");
      g.memory = *m;
    } else {
      job.assumptions.push_back(file.name + ": role " + io_text::quoted(role) +
                                " states no memory; TonY's default of 2 GiB is taken.");
    }
    if (const auto* v = find(base + ".gpus")) {
      const auto c = io_text::parse_count(v->value, max_tasks);
      if (!c) return wrong(base + ".gpus", *v, "a number of GPUs");
      g.gpus = static_cast<std::uint32_t>(*c);
    }
    const auto* label = find(base + ".node-label");
    if (label == nullptr) label = find("tony.application.node-label");
    if (label != nullptr) g.labels.push_back(label->value);
    if (const auto* v = find(base + ".depends-on")) {
      std::string_view rest = v->value;
      for (;;) {
        const std::size_t comma = rest.find(',');
        const auto other = io_text::trim(rest.substr(0, comma));
        if (!other.empty()) g.after.emplace_back(other);
        if (comma == std::string_view::npos) break;
        rest.remove_prefix(comma + 1);
      }
    }
    if (job_detail::asks_for_nothing(g)) return wrong(name, p, "vcores, memory or gpus above 0 for the role");
    job.groups.push_back(std::move(g));
  }
  if (job.groups.empty())
    return unexpected{input_error{file.name, 1, "no role with instances", "a property tony.ROLE.instances"}};
  job.assumptions.push_back(file.name + ": TonY's application master runs beside the roles and is not asked for.");
  std::vector<job_spec> out;
  out.push_back(std::move(job));
  return out;
}

}  // namespace berth
