#pragma once
/// \file
/// One line of metrics in the text form of Prometheus: `name{label="value",…} number [timestamp]`.

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "berth/io/text.hpp"

namespace berth {

struct prometheus_label {
  std::string name, value;  ///< escapes resolved
};

/// A line with labels.
struct prometheus_metric {
  std::string_view name;  ///< into the line
  std::vector<prometheus_label> labels;
  std::string_view rest;  ///< what stands behind the labels, trimmed: a number and perhaps a timestamp

  /// The value of a label, "" where there is none. Exporters differ in case. O(labels).
  [[nodiscard]] std::string_view label(std::string_view wanted) const noexcept {
    for (const auto& l : labels)
      if (io_text::equal_nocase(l.name, wanted)) return l.value;
    return {};
  }
};

/// Reads a line; empty where it is none with labels, or its labels are malformed or more than 200. O(length).
[[nodiscard]] inline std::optional<prometheus_metric> parse_prometheus(std::string_view line) {
  const std::size_t open = line.find('{');
  if (open == std::string_view::npos || open == 0) return std::nullopt;
  prometheus_metric out;
  out.name = line.substr(0, open);
  std::size_t i = open + 1;
  for (;;) {
    while (i < line.size() && (line[i] == ',' || io_text::is_blank(line[i]))) ++i;
    if (i < line.size() && line[i] == '}') break;
    const std::size_t equals = line.find('=', i);
    if (equals == std::string_view::npos || equals + 1 >= line.size() || line[equals + 1] != '"') return std::nullopt;
    prometheus_label l;
    l.name = std::string{io_text::trim(line.substr(i, equals - i))};
    std::size_t at = equals + 2;
    for (; at < line.size() && line[at] != '"'; ++at) {
      if (line[at] == '\\' && at + 1 < line.size()) {
        ++at;
        l.value += line[at] == 'n' ? '\n' : line[at];
      } else {
        l.value += line[at];
      }
    }
    if (at >= line.size() || out.labels.size() >= 200) return std::nullopt;
    out.labels.push_back(std::move(l));
    i = at + 1;
  }
  out.rest = io_text::trim(line.substr(i + 1));
  return out;
}

}  // namespace berth
