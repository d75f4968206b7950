#pragma once
/// \file
/// Line charts as SVG: several series over one axis, with a legend. Needs fmt.

#include <fmt/format.h>

#include <cmath>
#include <cstddef>
#include <iterator>
#include <string>
#include <utility>
#include <vector>

#include "berth/report/xml.hpp"

namespace berth {

/// One line: points with rising x.
struct chart_series {
  std::string name;
  std::vector<std::pair<double, double>> points;
};

struct line_chart {
  std::string title, x_label, y_label;
  std::vector<chart_series> series;
};

namespace chart_detail {

// Distinct also for readers who do not see red and green apart (after Okabe and Ito, 2008), and by dashes past eight.
inline constexpr const char* colours[] = {"#0072B2", "#D55E00", "#009E73", "#CC79A7",
                                          "#E69F00", "#56B4E9", "#000000", "#8C6D1F"};
inline constexpr const char* dashes[] = {"", "6 3", "2 2", "8 3 2 3"};

/// A step of 1, 2 or 5 times a power of ten that makes at most `most` steps of `span`.
[[nodiscard]] inline double tick_step(double span, double most) {
  const double raw = span / most;
  const double power = std::pow(10.0, std::floor(std::log10(raw)));
  for (const double k : {1.0, 2.0, 5.0})
    if (k * power >= raw) return k * power;
  return 10 * power;
}

}  // namespace chart_detail

/// The chart as one SVG element, 760 × 420. Empty where no series has two points. O(points).
[[nodiscard]] inline std::string svg_line_chart(const line_chart& c) {
  constexpr double left = 62, right = 560, top = 40, bottom = 366;
  double x0 = 0, x1 = 0, y0 = 0, y1 = 0;
  bool any = false;
  for (const auto& s : c.series) {
    if (s.points.size() < 2) continue;
    for (const auto& [x, y] : s.points) {
      if (!any) x0 = x1 = x, y0 = y1 = y;
      any = true;
      x0 = x < x0 ? x : x0;
      x1 = x > x1 ? x : x1;
      y0 = y < y0 ? y : y0;
      y1 = y > y1 ? y : y1;
    }
  }
  if (!any) return {};
  if (x1 <= x0) x1 = x0 + 1;
  if (y1 <= y0) y1 = y0 + 1;
  const double x_step = chart_detail::tick_step(x1 - x0, 10), y_step = chart_detail::tick_step(y1 - y0, 8);
  x0 = std::floor(x0 / x_step) * x_step;
  x1 = std::ceil(x1 / x_step) * x_step;
  y0 = std::floor(y0 / y_step) * y_step;
  y1 = std::ceil(y1 / y_step) * y_step;
  const auto px = [&](double x) { return left + (x - x0) / (x1 - x0) * (right - left); };
  const auto py = [&](double y) { return bottom - (y - y0) / (y1 - y0) * (bottom - top); };

  std::string out;
  auto to = std::back_inserter(out);
  fmt::format_to(to,
                 "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 760 420\" width=\"760\" height=\"420\" "
                 "font-family=\"sans-serif\" font-size=\"12\">\n<rect width=\"760\" height=\"420\" fill=\"#fff\"/>\n"
                 "<text x=\"{}\" y=\"22\" font-size=\"15\">{}</text>\n",
                 left, xml_text(c.title));
  for (int i = 0; x0 + i * x_step <= x1 + x_step / 2; ++i) {
    const double x = x0 + i * x_step;
    fmt::format_to(to,
                   "<path d=\"M{0:.1f} {1}V{2}\" stroke=\"#e3e3e3\"/><text x=\"{0:.1f}\" y=\"{3}\" "
                   "text-anchor=\"middle\">{4:g}</text>\n",
                   px(x), top, bottom, bottom + 17, x);
  }
  for (int i = 0; y0 + i * y_step <= y1 + y_step / 2; ++i) {
    const double y = y0 + i * y_step;
    fmt::format_to(to,
                   "<path d=\"M{0} {1:.1f}H{2}\" stroke=\"#e3e3e3\"/><text x=\"{3}\" y=\"{4:.1f}\" "
                   "text-anchor=\"end\">{5:g}</text>\n",
                   left, py(y), right, left - 6, py(y) + 4, y);
  }
  fmt::format_to(to,
                 "<text x=\"{}\" y=\"{}\" text-anchor=\"middle\">{}</text>\n<text transform=\"translate(16 {}) "
                 "rotate(-90)\" text-anchor=\"middle\">{}</text>\n",
                 (left + right) / 2, bottom + 38, xml_text(c.x_label), (top + bottom) / 2, xml_text(c.y_label));
  std::size_t shown = 0;
  for (const auto& s : c.series) {
    if (s.points.size() < 2) continue;
    const char* colour = chart_detail::colours[shown % std::size(chart_detail::colours)];
    const char* dash = chart_detail::dashes[shown / std::size(chart_detail::colours) % std::size(chart_detail::dashes)];
    std::string line;
    for (const auto& [x, y] : s.points) fmt::format_to(std::back_inserter(line), "{:.1f},{:.1f} ", px(x), py(y));
    fmt::format_to(to,
                   "<polyline points=\"{}\" fill=\"none\" stroke=\"{}\" stroke-width=\"1.8\" "
                   "stroke-dasharray=\"{}\"/>\n",
                   line, colour, dash);
    const double y = top + 8 + 20 * static_cast<double>(shown);
    fmt::format_to(to,
                   "<path d=\"M{0} {1}h26\" stroke=\"{2}\" stroke-width=\"2.5\" stroke-dasharray=\"{3}\"/>"
                   "<text x=\"{4}\" y=\"{5}\">{6}</text>\n",
                   right + 14, y, colour, dash, right + 46, y + 4, xml_text(s.name));
    ++shown;
  }
  out += "</svg>\n";
  return out;
}

}  // namespace berth
