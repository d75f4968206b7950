#pragma once
/// \file
/// What the drawings of hardware graphs share: colours of parts and links, boxes and lines as SVG. Needs fmt.

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <iterator>
#include <string>
#include <string_view>

#include "berth/report/xml.hpp"
#include "berth/topology/graph/hardware_graph.hpp"

namespace berth::report_detail {

[[nodiscard]] constexpr std::string_view part_colour(vertex_kind k) noexcept {
  switch (k) {
    case vertex_kind::gpu:
      return "#76b900";
    case vertex_kind::nic:
      return "#d98a2b";
    case vertex_kind::nvswitch:
    case vertex_kind::nvlink_domain:
      return "#4f8a10";
    case vertex_kind::pcie_switch:
    case vertex_kind::host_bridge:
      return "#8f97a3";
    case vertex_kind::numa:
    case vertex_kind::socket:
      return "#5b6b80";
    case vertex_kind::node:
      return "#6f9fc8";
    default:
      return "#b4593e";
  }
}
[[nodiscard]] constexpr std::string_view link_colour(link_kind k) noexcept {
  switch (k) {
    case link_kind::nvlink:
      return "#5a9a00";
    case link_kind::xgmi:
      return "#c0392b";
    case link_kind::pcie:
      return "#9aa3af";
    case link_kind::c2c:
      return "#2f7f6f";
    case link_kind::infiniband:
    case link_kind::roce:
    case link_kind::ethernet:
      return "#b4593e";
    default:
      return "#5b6b80";
  }
}

/// A drawing in the making: lines below, boxes above them, texts on top.
class canvas {
 public:
  void line(double x1, double y1, double x2, double y2, const link& l, double opacity = 1) {
    fmt::format_to(std::back_inserter(lines_),
                   "<path d=\"M{:.1f} {:.1f}L{:.1f} {:.1f}\" stroke=\"{}\" stroke-width=\"{:.2f}\"{}{}/>\n", x1, y1, x2,
                   y2, link_colour(l.kind), width_of(l), dash(l), faint(opacity));
  }
  /// A curve that sags below both ends by `sag`.
  void curve(double x1, double y1, double x2, double y2, double sag, const link& l) {
    fmt::format_to(std::back_inserter(lines_),
                   "<path d=\"M{:.1f} {:.1f}C{:.1f} {:.1f} {:.1f} {:.1f} {:.1f} {:.1f}\" fill=\"none\" stroke=\"{}\" "
                   "stroke-width=\"{:.2f}\"{}/>\n",
                   x1, y1, x1, y1 + sag, x2, y2 + sag, x2, y2, link_colour(l.kind), width_of(l), dash(l));
  }
  void box(double x, double y, double w, double h, std::string_view fill, bool healthy, std::string_view title) {
    fmt::format_to(std::back_inserter(boxes_),
                   "<rect x=\"{:.1f}\" y=\"{:.1f}\" width=\"{:.1f}\" height=\"{:.1f}\" rx=\"4\" fill=\"{}\"{}>", x, y,
                   w, h, fill, healthy ? "" : " fill-opacity=\"0.25\" stroke=\"#c0392b\" stroke-dasharray=\"4 3\"");
    fmt::format_to(std::back_inserter(boxes_), "<title>{}</title></rect>\n", xml_text(title));
    grow(x + w, y + h);
  }
  void text(double x, double y, double size, std::string_view fill, std::string_view anchor, std::string_view words,
            bool bold = false) {
    fmt::format_to(std::back_inserter(texts_),
                   "<text x=\"{:.1f}\" y=\"{:.1f}\" font-size=\"{:g}\" fill=\"{}\" text-anchor=\"{}\"{}>{}</text>\n", x,
                   y, size, fill, anchor, bold ? " font-weight=\"600\"" : "", xml_text(words));
    const double columns = static_cast<double>(words.size()) * size * 0.58;
    grow(anchor == "middle" ? x + columns / 2 : anchor == "end" ? x : x + columns, y + size * 0.4);
  }
  /// A sample of a link for the legend.
  void legend_line(double x, double y, link_kind k, std::string_view words) {
    link l;
    l.kind = k;
    l.rate = gigabytes_per_second{25};
    line(x, y - 4, x + 26, y - 4, l);
    text(x + 32, y, 11.5, "#3c4652", "start", words);
  }
  [[nodiscard]] std::string finish(double margin) const {
    std::string out;
    fmt::format_to(
        std::back_inserter(out),
        "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{0:.0f}\" height=\"{1:.0f}\" viewBox=\"0 0 {0:.0f} "
        "{1:.0f}\" font-family=\"Inter, 'Segoe UI', Roboto, 'Helvetica Neue', 'DejaVu Sans', Arial, "
        "sans-serif\">\n<rect width=\"100%\" height=\"100%\" fill=\"#ffffff\"/>\n",
        width_ + margin, height_ + margin);
    return out + lines_ + boxes_ + texts_ + "</svg>\n";
  }
  void grow(double x, double y) {
    width_ = std::max(width_, x);
    height_ = std::max(height_, y);
  }

  [[nodiscard]] static double width_of(const link& l) {
    if (!l.rate) return 1;
    return 0.8 + std::log2(1 + l.rate->count()) * 0.42;
  }

 private:
  [[nodiscard]] static std::string_view dash(const link& l) {
    return !l.healthy ? " stroke-dasharray=\"3 5\"" : !l.rate ? " stroke-dasharray=\"7 3\"" : "";
  }
  [[nodiscard]] static std::string faint(double opacity) {
    return opacity < 1 ? fmt::format(" stroke-opacity=\"{:.2f}\"", opacity) : std::string{};
  }
  std::string lines_, boxes_, texts_;
  double width_ = 0, height_ = 0;
};

}  // namespace berth::report_detail
