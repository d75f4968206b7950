#pragma once
/// \file
/// Files of any known kind to one `site`: each is recognised by its content and read, and all reports are merged.
/// Heavy: includes every reader (`io/recognise.hpp`).

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <fstream>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "berth/cluster/presets.hpp"
#include "berth/core/error.hpp"
#include "berth/core/expected.hpp"
#include "berth/io/inside/hwloc_live.hpp"
#include "berth/io/merge.hpp"
#include "berth/io/merge/site_json.hpp"
#include "berth/io/recognise.hpp"
#include "berth/io/text_file.hpp"
#include "berth/topology/catalogue/node_shapes.hpp"
#include "berth/topology/graph/fabric_graph.hpp"

namespace berth {

/// What `read_site` is told besides the files.
struct site_options {
  merge_options merge;
  std::string gpu_model;  ///< for files that do not say it; "guess" derives it and says so
  std::size_t max_parts = std::size_t{1} << 24;
  text_loader load = load_text_file;  ///< how included files are found; empty refuses them
};

/// A file, and whose inside it shows where the file itself does not say.
struct site_input {
  named_text file;
  std::string machines;  ///< host list or pattern; "" leaves it open
};

/// Reads the file of `FILE` or `NODE=FILE`, where NODE is a name, a host list or a pattern with `*` and `?`. An
/// argument that is itself the path of a file is that file.
[[nodiscard]] inline expected<site_input, input_error> load_site_input(const std::string& argument) {
  const std::size_t equals = argument.find('=');
  if (equals == std::string::npos || equals == 0 || std::ifstream{argument}.good()) {
    auto f = read_text_file(argument);
    if (!f) return unexpected{std::move(f).error()};
    return site_input{std::move(*f), ""};
  }
  auto f = read_text_file(argument.substr(equals + 1));
  if (!f)
    return unexpected{input_error{argument, 0, "no readable file '" + argument.substr(equals + 1) + "'",
                                  "FILE or NODE=FILE, or preset:NAME for a cluster known by name"}};
  return site_input{std::move(*f), argument.substr(0, equals)};
}

/// The reference cluster of a preset with its graph. Errors in words, as `parse_preset`.
[[nodiscard]] inline expected<site, std::string> site_of_preset(std::string_view text) {
  const auto fabric_numbers = parse_preset(text);
  if (!fabric_numbers) return unexpected{fabric_numbers.error()};
  auto spec = make_preset(text);
  if (!spec) return unexpected{spec.error()};
  auto fabric = make_fabric(*fabric_numbers);
  if (!fabric) return unexpected{fabric.error()};
  site out = site_of_spec(std::move(*spec));
  out.net = std::move(*fabric);
  out.inside_known.assign(out.net.shapes.size(), 1);
  out.has_fabric = true;
  for (std::uint32_t n = 0; n < out.spec.nodes.size(); ++n) {
    out.net.graph[n].name = out.spec.nodes[n].name;
    for (auto [e, end] = boost::out_edges(out.net.nodes[n], out.net.graph); e != end; ++e)
      if (const auto w = boost::target(*e, out.net.graph); out.net.graph[w].kind == vertex_kind::nvlink_domain)
        out.nvlink[n] = out.net.graph[w].name;
  }
  out.formats.emplace_back("preset");
  return out;
}

namespace recognise_detail {

/// Configuration files whose lines stand elsewhere have no key of their own.
[[nodiscard]] inline bool is_only_includes(std::string_view text) {
  bool any = false;
  while (!text.empty()) {
    std::string_view line = text.substr(0, text.find('\n'));
    text.remove_prefix(line.size() < text.size() ? line.size() + 1 : text.size());
    line = io_text::trim(line);
    if (line.empty() || line.front() == '#') continue;
    if (line.size() < 9 || !io_text::equal_nocase(line.substr(0, 8), "include ")) return false;
    any = true;
  }
  return any;
}

[[nodiscard]] inline input_error unknown_text(const named_text& file) {
  std::string_view rest = file.text;
  std::size_t line = 0;
  std::string_view first;
  while (first.empty() && !rest.empty()) {
    const std::size_t end = rest.find('\n');
    first = io_text::trim(rest.substr(0, end));
    rest.remove_prefix(end == std::string_view::npos ? rest.size() : end + 1);
    ++line;
  }
  if (first.empty()) return {file.name, 0, "an empty file", "a file that describes a cluster or a job"};
  if (io_text::find_bad_utf8(first)) return {file.name, line, "bytes that are no UTF-8", "text"};
  std::string all;
  for (const auto& f : input_formats()) all += (all.empty() ? "" : ", ") + std::string{f.name};
  return {file.name, line, "text of no known kind, " + io_text::quoted(first, 60), "one of " + all};
}

/// Names that no output could show: XML and metrics may hold bytes that are no UTF-8, which text in other places than
/// names does no harm.
[[nodiscard]] inline std::optional<input_error> bad_name(const site_report& report) {
  const auto fault = [](const input_place& at, const char* whose) {
    return input_error{at.source, at.line, std::string{whose} + " name that is no UTF-8", "UTF-8"};
  };
  for (const auto& m : report.machines) {
    if (io_text::find_bad_utf8(m.name)) return fault(m.place, "a machine's");
    if (!m.inside) continue;
    for (part_id v = 0; v < boost::num_vertices(*m.inside); ++v)
      if (io_text::find_bad_utf8((*m.inside)[v].name) || io_text::find_bad_utf8((*m.inside)[v].model))
        return fault(m.place, "a device's");
  }
  for (const auto& t : report.topologies)
    for (std::size_t d = 0; d < t.domains.size(); ++d)
      if (io_text::find_bad_utf8(t.domains[d].name))
        return fault(d < t.domain_places.size() ? t.domain_places[d] : t.place, "a domain's");
  return std::nullopt;
}

}  // namespace recognise_detail

/// Reads one file that stands for itself. A name in it that is no UTF-8 is an error.
[[nodiscard]] inline expected<site_report, input_error> read_report(const named_text& file,
                                                                    const reader_options& options) {
  const input_format* format = recognise(file.text);
  if (format == nullptr && recognise_detail::is_only_includes(file.text)) return read_slurm_text(file, options);
  if (format == nullptr) return unexpected{recognise_detail::unknown_text(file)};
  auto report = format->read(file, options);
  if (report && report->format.empty()) report->format = std::string{format->name};
  if (report && io_text::find_bad_utf8(file.text))
    if (auto bad = recognise_detail::bad_name(*report)) return unexpected{std::move(*bad)};
  return report;
}

/// One site of several files.
/// Errors: the first fault of a file; what `merge_site` refuses; a file of no known kind.
[[nodiscard]] inline expected<site, input_error> read_site(const std::vector<site_input>& inputs,
                                                           const site_options& options = {}) {
  if (inputs.empty()) return unexpected{input_error{"site", 0, "no file", "at least one file"}};
  if (inputs.size() == 1 && recognise_detail::looks_like_our_cluster(inputs.front().file.text))
    return read_site_json(inputs.front().file, catalogue_shape, options.merge.max_nodes, options.max_parts);
  reader_options reader;
  reader.gpu_model = options.gpu_model;
  reader.max_machines = options.merge.max_nodes;
  reader.max_parts = options.max_parts;
  reader.load = options.load;
  std::vector<site_report> reports;
  std::vector<named_text> slurm;
  std::vector<std::string> formats;  // by input
  merge_options merge = options.merge;
  merge.machine_of.clear();
  for (const auto& in : inputs) {
    const input_format* format = recognise(in.file.text);
    if ((format != nullptr && format->name == slurm_format) ||
        (format == nullptr && recognise_detail::is_only_includes(in.file.text))) {
      slurm.push_back(in.file);
      formats.emplace_back(slurm_format);
      continue;
    }
    const bool one = in.machines.find_first_of("*?[,") == std::string::npos;
    reader.machine = one ? in.machines : std::string{};
    auto report = read_report(in.file, reader);
    if (!report) return unexpected{std::move(report).error()};
    formats.push_back(report->format);
    reports.push_back(std::move(*report));
    merge.machine_of.push_back(in.machines);
  }
  if (!slurm.empty()) {
    slurm_options o;
    o.hardware = options.merge.hardware;
    o.model_ids = merge_detail::catalogue_models();
    o.max_nodes = options.merge.max_nodes;
    o.load = options.load;
    auto report = read_slurm_report(slurm, o);
    if (!report) return unexpected{std::move(report).error()};
    if (report->format.empty()) report->format = std::string{slurm_format};
    reports.push_back(std::move(*report));
    merge.machine_of.emplace_back();
  }
  auto out = merge_site(reports, merge);
  if (out) out->formats = std::move(formats);
  return out;
}

/// The same from arguments of a command line: `FILE`, `NODE=FILE`, or alone `preset:NAME` or `live`, which
/// is this machine through libhwloc.
[[nodiscard]] inline expected<site, input_error> read_site(const std::vector<std::string>& arguments,
                                                           const site_options& options = {}) {
  constexpr std::string_view preset = "preset:";
  std::vector<site_input> inputs;
  for (const auto& a : arguments) {
    if (a == "live" && arguments.size() == 1) {
      reader_options reader;
      reader.gpu_model = options.gpu_model;
      auto report = read_live_machine(reader);
      if (!report) return unexpected{std::move(report).error()};
      return merge_site({std::move(*report)}, options.merge);
    }
    if (a.starts_with(preset)) {
      if (arguments.size() > 1)
        return unexpected{input_error{a, 0, "a preset beside other clusters", "one preset alone"}};
      auto s = site_of_preset(std::string_view{a}.substr(preset.size()));
      if (!s) return unexpected{input_error{a, 0, "no preset", "the name of one: " + s.error()}};
      return std::move(*s);
    }
    auto in = load_site_input(a);
    if (!in) return unexpected{std::move(in).error()};
    inputs.push_back(std::move(*in));
  }
  return read_site(inputs, options);
}

}  // namespace berth
