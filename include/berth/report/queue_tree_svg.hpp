#pragma once
/// \file
/// A queue tree as SVG: a row per queue, children indented below their parent, and per resource a bar with what is
/// guaranteed, used and due. Hovering over a bar shows the numbers. Needs fmt.
///
/// Names     escaped; what XML cannot hold becomes U+FFFD.
/// Scale     every bar of a resource has one scale: the largest number of that resource in the drawing.
/// Cost      O(rows × resources). At most `most_rows` rows are drawn; the picture says how many are not.

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "berth/report/xml.hpp"

namespace berth {

/// One resource of one queue, in any unit.
struct queue_bar {
  double guarantee = 0;
  double used = 0;
  double share = 0;
  std::optional<double> cap;
  std::string text;  ///< shown when hovering
};
/// One queue. Rows stand in depth-first order.
struct queue_row {
  std::string name;
  std::size_t depth = 0;
  std::string note;             ///< a few words in grey behind the name, such as a weight
  std::vector<queue_bar> bars;  ///< by resource
  bool stopped = false;
};
struct queue_picture {
  std::string title, subtitle;
  std::vector<std::string> resources;
  std::vector<queue_row> rows;
};

/// The drawing.
[[nodiscard]] inline std::string queue_tree_svg(const queue_picture& p, std::size_t most_rows = 1000) {
  constexpr double margin = 24, row_height = 30, indent = 22, bar_width = 190, gap = 28, bar_height = 12;
  const std::size_t rows = std::min(p.rows.size(), most_rows);
  double names = 120;
  const auto characters = [](std::string_view s) {
    std::size_t n = 0;
    for (const char c : s) n += (static_cast<unsigned char>(c) & 0xC0U) != 0x80U ? 1U : 0U;
    return static_cast<double>(n);
  };
  // Deep chains would push names out of the picture.
  const auto left = [&](const queue_row& r) {
    return margin + indent * static_cast<double>(std::min<std::size_t>(r.depth, 20));
  };
  for (std::size_t i = 0; i < rows; ++i)
    names = std::max(names, left(p.rows[i]) - margin + 24 + 7.6 * std::min(60.0, characters(p.rows[i].name)) +
                                6.4 * std::min(40.0, characters(p.rows[i].note)));
  std::vector<double> largest(p.resources.size(), 0);
  for (std::size_t i = 0; i < rows; ++i)
    for (std::size_t r = 0; r < p.resources.size() && r < p.rows[i].bars.size(); ++r) {
      const auto& b = p.rows[i].bars[r];
      largest[r] = std::max({largest[r], b.guarantee, b.used, b.share});
    }
  const double first_bar = margin + names + gap;
  const double top = margin + (p.title.empty() ? 0 : 30) + (p.subtitle.empty() ? 0 : 22) + 26;
  const double width =
      std::max(first_bar + static_cast<double>(p.resources.size()) * (bar_width + gap) + margin, 560.0);
  const double bottom = top + row_height * static_cast<double>(rows) + (rows < p.rows.size() ? row_height : 0);
  const double height = bottom + 46 + margin;
  std::string out;
  auto put = std::back_inserter(out);
  fmt::format_to(
      put,
      "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{0:.0f}\" height=\"{1:.0f}\" viewBox=\"0 0 {0:.0f} {1:.0f}\" "
      "font-family=\"Inter, 'Segoe UI', Roboto, 'Helvetica Neue', 'DejaVu Sans', Arial, sans-serif\">\n"
      "<rect width=\"100%\" height=\"100%\" fill=\"#ffffff\"/>\n",
      width, height);
  const auto text = [&](double x, double y, double size, std::string_view colour, std::string_view extra,
                        std::string_view s) {
    fmt::format_to(put, "<text x=\"{:.1f}\" y=\"{:.1f}\" font-size=\"{:g}\" fill=\"{}\"{}>{}</text>\n", x, y, size,
                   colour, extra, xml_text(s));
  };
  double y = margin + 16;
  if (!p.title.empty()) text(margin, y, 20, "#1f2933", " font-weight=\"600\"", p.title), y += 24;
  if (!p.subtitle.empty()) text(margin, y, 12.5, "#5b6875", "", p.subtitle);
  for (std::size_t r = 0; r < p.resources.size(); ++r)
    text(first_bar + static_cast<double>(r) * (bar_width + gap), top - 10, 12.5, "#1f2933", " font-weight=\"600\"",
         p.resources[r]);
  std::vector<double> column_bottom;  // by depth: the y of the last queue drawn there
  for (std::size_t i = 0; i < rows; ++i) {
    const auto& q = p.rows[i];
    const double middle = top + row_height * static_cast<double>(i) + row_height / 2, x = left(q);
    if (i % 2 == 1)
      fmt::format_to(put, "<rect x=\"{:.1f}\" y=\"{:.1f}\" width=\"{:.1f}\" height=\"{:g}\" fill=\"#f6f8fa\"/>\n",
                     margin - 8, middle - row_height / 2, width - 2 * margin + 16, row_height);
    if (q.depth > 0 && q.depth <= column_bottom.size() && q.depth <= 20)
      fmt::format_to(put, "<path d=\"M{:.1f} {:.1f}V{:.1f}H{:.1f}\" fill=\"none\" stroke=\"#b8c2cc\"/>\n",
                     x - indent + 6, column_bottom[q.depth - 1] + 8, middle, x - 4);
    column_bottom.resize(std::min(q.depth, column_bottom.size()));
    column_bottom.resize(q.depth + 1, middle);
    column_bottom[q.depth] = middle;
    fmt::format_to(put, "<circle cx=\"{:.1f}\" cy=\"{:.1f}\" r=\"4\" fill=\"{}\"/>\n", x + 6, middle,
                   q.stopped ? "#c0392b" : "#4a6785");
    std::string name = q.name;
    if (characters(name) > 60) {
      std::size_t cut = 58;
      while (cut > 0 && (static_cast<unsigned char>(name[cut]) & 0xC0U) == 0x80U) --cut;
      name = name.substr(0, cut) + "…";
    }
    fmt::format_to(put,
                   "<text x=\"{:.1f}\" y=\"{:.1f}\" font-size=\"13\" fill=\"#1f2933\">{}<tspan dx=\"8\" "
                   "font-size=\"11\" fill=\"#7b8794\">{}</tspan></text>\n",
                   x + 16, middle + 4.5, xml_text(name), xml_text(q.note));
    for (std::size_t r = 0; r < p.resources.size() && r < q.bars.size(); ++r) {
      const auto& b = q.bars[r];
      const double bx = first_bar + static_cast<double>(r) * (bar_width + gap), by = middle - bar_height / 2;
      const auto scaled = [&](double v) {
        return largest[r] > 0 ? std::clamp(v / largest[r], 0.0, 1.0) * bar_width : 0.0;
      };
      fmt::format_to(
          put, "<g><title>{}</title><rect x=\"{:.1f}\" y=\"{:.1f}\" width=\"{:g}\" height=\"{:g}\" fill=\"#e6ebf1\"/>",
          xml_text(q.name + " " + p.resources[r] + ": " + b.text), bx, by, bar_width, bar_height);
      fmt::format_to(put, "<rect x=\"{:.1f}\" y=\"{:.1f}\" width=\"{:.1f}\" height=\"{:g}\" fill=\"#b9d3ea\"/>", bx, by,
                     scaled(b.guarantee), bar_height);
      // Usage within the guarantee, and what is borrowed beyond it.
      const double own = std::min(b.used, b.guarantee);
      fmt::format_to(put, "<rect x=\"{:.1f}\" y=\"{:.1f}\" width=\"{:.1f}\" height=\"{:g}\" fill=\"#3b7cb8\"/>", bx,
                     by + 3, scaled(own), bar_height - 6);
      if (b.used > b.guarantee)
        fmt::format_to(put, "<rect x=\"{:.1f}\" y=\"{:.1f}\" width=\"{:.1f}\" height=\"{:g}\" fill=\"#e08e45\"/>",
                       bx + scaled(own), by + 3, scaled(b.used) - scaled(own), bar_height - 6);
      fmt::format_to(put, "<path d=\"M{0:.1f} {1:.1f}V{2:.1f}\" stroke=\"#1f2933\" stroke-width=\"2\"/>",
                     bx + scaled(b.share), by - 3, by + bar_height + 3);
      if (b.cap && *b.cap <= largest[r])
        fmt::format_to(
            put,
            "<path d=\"M{0:.1f} {1:.1f}V{2:.1f}\" stroke=\"#c0392b\" stroke-width=\"1.5\" stroke-dasharray=\"2 2\"/>",
            bx + scaled(*b.cap), by - 3, by + bar_height + 3);
      out += "</g>\n";
    }
  }
  if (rows < p.rows.size())
    text(margin, bottom - 10, 12.5, "#5b6875", "",
         fmt::format("and {} more queues that are not drawn", p.rows.size() - rows));
  // Legend.
  double x = margin;
  const double ly = bottom + 24;
  const auto entry = [&](std::string_view shape, std::string_view label) {
    out += fmt::format("<g transform=\"translate({:.1f} {:.1f})\">{}</g>\n", x, ly, shape);
    text(x + 24, ly + 4.5, 12, "#5b6875", "", label);
    x += 34 + 6.6 * static_cast<double>(label.size());
  };
  entry("<rect y=\"-6\" width=\"18\" height=\"12\" fill=\"#b9d3ea\"/>", "guarantee");
  entry("<rect y=\"-3\" width=\"18\" height=\"6\" fill=\"#3b7cb8\"/>", "used");
  entry("<rect y=\"-3\" width=\"18\" height=\"6\" fill=\"#e08e45\"/>", "used beyond it");
  entry("<path d=\"M9 -9V9\" stroke=\"#1f2933\" stroke-width=\"2\"/>", "share");
  entry("<path d=\"M9 -9V9\" stroke=\"#c0392b\" stroke-width=\"1.5\" stroke-dasharray=\"2 2\"/>", "cap");
  return out + "</svg>\n";
}

}  // namespace berth
