#pragma once
/// \file
/// The inside of a machine as SVG: NUMA nodes and sockets on top, PCIe below, GPUs and NICs in one row, NVSwitches or
/// the links from GPU to GPU at the bottom. The wider a line, the faster; dashed is unknown, dotted is broken. Needs
/// fmt.
///
/// Cost  O(parts × log + links).

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "berth/report/graph_drawing.hpp"
#include "berth/topology/graph/hardware_graph.hpp"

namespace berth {

namespace report_detail {

class machine_drawer {
 public:
  machine_drawer(const hardware_graph& g, std::string_view title) : g_{g}, title_{title} {}

  [[nodiscard]] std::string draw() {
    place();
    const double left = 24;
    canvas_.text(left, 34, 18, "#1f2933", "start", title_, true);
    for (auto [e, end] = boost::edges(g_); e != end; ++e) draw_link(*e);
    for (part_id v = 0; v < at_.size(); ++v) draw_part(v);
    legend(left);
    return canvas_.finish(24);
  }

 private:
  struct spot {
    double x = 0, y = 0, w = 0, h = 26;
  };
  // Rows from the top.
  enum row : std::size_t { sockets, numas, upper, lower, devices, switches, rows };

  [[nodiscard]] row row_of(part_id v) const {
    switch (g_[v].kind) {
      case vertex_kind::socket:
        return sockets;
      case vertex_kind::numa:
        return numas;
      case vertex_kind::host_bridge:
        return upper;
      case vertex_kind::pcie_switch: {
        // A switch that only has other switches and bridges above and below it stands higher.
        for (auto [e, end] = boost::out_edges(v, g_); e != end; ++e)
          if (is_endpoint(g_[boost::target(*e, g_)].kind)) return lower;
        return upper;
      }
      case vertex_kind::nvswitch:
      case vertex_kind::nvlink_domain:
        return switches;
      default:
        return devices;
    }
  }

  /// Orders every row by what hangs above it, then gives each part its place.
  void place() {
    const std::size_t n = boost::num_vertices(g_);
    at_.resize(n);
    std::vector<double> rank(n);
    // A part's rank follows its NUMA node: breadth first from each NUMA node over host parts.
    std::vector<part_id> order;
    std::vector<char> seen(n);
    std::vector<part_id> roots;
    for (const auto kind : {vertex_kind::numa, vertex_kind::socket, vertex_kind::host_bridge, vertex_kind::pcie_switch})
      for (const auto v : parts_of(g_, kind)) roots.push_back(v);
    double next = 0;
    const auto visit = [&](part_id root) {
      std::vector<part_id> stack{root};
      while (!stack.empty()) {
        const auto v = stack.back();
        stack.pop_back();
        if (seen[v] != 0) continue;
        seen[v] = 1;
        rank[v] = next++;
        std::vector<part_id> below;
        for (auto [e, end] = boost::out_edges(v, g_); e != end; ++e) {
          const auto w = boost::target(*e, g_);
          if (seen[w] == 0 && row_of(w) > row_of(v) && row_of(w) <= devices && is_host_part(g_[v].kind))
            below.push_back(w);
        }
        std::sort(below.begin(), below.end(), [&](auto a, auto b) {
          return std::pair{row_of(a), a} > std::pair{row_of(b), b};
        });
        for (const auto w : below) stack.push_back(w);
      }
    };
    for (const auto v : roots)
      if (seen[v] == 0) visit(v);
    for (part_id v = 0; v < n; ++v)
      if (seen[v] == 0) rank[v] = next++;
    std::array<std::vector<part_id>, rows> line;
    for (part_id v = 0; v < n; ++v) line[row_of(v)].push_back(v);
    for (auto& l : line) std::stable_sort(l.begin(), l.end(), [&](auto a, auto b) { return rank[a] < rank[b]; });

    const double gap = 12, top = 84;
    double y = top;
    for (std::size_t r = 0; r < rows; ++r) {
      if (line[r].empty()) continue;
      for (const auto v : line[r]) at_[v].y = y;
      bool tall = r == devices || r == numas;
      for (const auto v : line[r]) at_[v].h = tall ? 40 : 26;
      y += (tall ? 40 : 26) + 46;
    }
    // Devices first; what is above or below stands over the middle of what it serves.
    double x = 24;
    for (const auto v : line[devices]) {
      at_[v].w = std::max(58.0, 16 + 7.7 * static_cast<double>(label(v).size()));
      at_[v].x = x;
      x += at_[v].w + gap;
    }
    width_ = std::max(x, 320.0);
    for (const std::size_t r : {lower, upper, numas, sockets}) spread(line[r], r == numas ? 120.0 : 106.0);
    double sx = 24;
    const auto count = static_cast<double>(line[switches].size());
    for (const auto v : line[switches]) {
      at_[v].w = std::clamp((width_ - 24) / std::max(1.0, count) - gap, 54.0, 150.0);
      sx = at_[v].w;
    }
    if (count > 0) {
      const double step = std::max(sx + gap, (width_ - 24) / count);
      const double first = std::max(24.0, 24 + (width_ - 24 - step * count) / 2 + (step - sx) / 2);
      for (std::size_t i = 0; i < line[switches].size(); ++i)
        at_[line[switches][i]].x = first + step * static_cast<double>(i);
    }
    bottom_ = y;
  }

  void spread(const std::vector<part_id>& line, double w) {
    std::vector<double> want;
    for (const auto v : line) {
      double sum = 0;
      int n = 0;
      for (auto [e, end] = boost::out_edges(v, g_); e != end; ++e) {
        const auto u = boost::target(*e, g_);
        if (row_of(u) <= row_of(v) || row_of(u) == switches || at_[u].w == 0) continue;
        sum += at_[u].x + at_[u].w / 2;
        ++n;
      }
      want.push_back(n == 0 ? -1 : sum / n);
    }
    double x = 24;
    for (std::size_t i = 0; i < line.size(); ++i) {
      at_[line[i]].w = w;
      at_[line[i]].x = std::max(x, want[i] < 0 ? x : want[i] - w / 2);
      x = at_[line[i]].x + w + 10;
    }
  }

  [[nodiscard]] std::string label(part_id v) const { return g_[v].name; }

  void draw_part(part_id v) {
    const spot& s = at_[v];
    const part& p = g_[v];
    std::string title = p.name;
    if (!p.model.empty()) title += ", " + p.model;
    if (!p.bus_id.empty()) title += ", " + p.bus_id;
    if (!p.uuid.empty()) title += ", " + p.uuid;
    canvas_.box(s.x, s.y, s.w, s.h, part_colour(p.kind), p.healthy, title);
    std::string second;
    if (p.cpu) second = fmt::format("{:g} CPUs", static_cast<double>(p.cpu->count()) / 1000);
    if (p.kind == vertex_kind::nic && p.rate) second = fmt::format("{:g} GB/s", p.rate->count());
    const bool two = s.h > 30 && !second.empty();
    canvas_.text(s.x + s.w / 2, s.y + (two ? 17 : s.h / 2 + 4), 12, "#ffffff", "middle", label(v), true);
    if (two) canvas_.text(s.x + s.w / 2, s.y + 32, 10.5, "#ffffff", "middle", second);
  }

  void draw_link(link_id e) {
    auto a = boost::source(e, g_), b = boost::target(e, g_);
    const link& l = g_[e];
    used_.insert(l.kind);
    if (at_[a].y > at_[b].y || (at_[a].y == at_[b].y && at_[a].x > at_[b].x)) std::swap(a, b);
    const spot &p = at_[a], &q = at_[b];
    const double ax = p.x + p.w / 2, bx = q.x + q.w / 2;
    if (p.y == q.y) {
      const bool below = g_[a].kind == vertex_kind::gpu || g_[a].kind == vertex_kind::nvswitch;
      const double span = 18 + std::abs(bx - ax) * 0.24;
      if (below) canvas_.curve(ax, p.y + p.h, bx, q.y + q.h, span, l);
      else canvas_.curve(ax, p.y, bx, q.y, -std::min(span, 44.0), l);
      if (below) sag_ = std::max(sag_, p.y + p.h + span * 0.8);
      return;
    }
    canvas_.line(ax, p.y + p.h, bx, q.y, l);
  }

  void legend(double left) {
    double y = std::max(bottom_, sag_ + 20) + 8;
    double x = left;
    for (const auto k : used_) {
      const std::string words = words_of(k);
      canvas_.legend_line(x, y, k, words);
      x += 60 + 6.8 * static_cast<double>(words.size());
      if (x > width_ - 120) x = left, y += 20;
    }
    canvas_.text(left, y + 22, 11, "#5b6875", "start", "wider is faster; dashed: rate unknown; dotted: broken");
  }

  [[nodiscard]] std::string words_of(link_kind k) const {
    std::set<double> rates;
    for (auto [e, end] = boost::edges(g_); e != end; ++e)
      if (g_[*e].kind == k && g_[*e].rate) rates.insert(g_[*e].rate->count());
    std::string out{to_string(k)};
    std::size_t n = 0;
    for (const auto r : rates) {
      if (++n > 5) continue;
      out += (n == 1 ? ": " : ", ") + (n == 5 ? std::string{"…"} : fmt::format("{:g}", r));
    }
    return rates.empty() ? out : out + " GB/s";
  }

  const hardware_graph& g_;
  std::string title_;
  std::vector<spot> at_;
  std::set<link_kind> used_;
  double width_ = 0, bottom_ = 0, sag_ = 0;
  canvas canvas_;
};

}  // namespace report_detail

/// Draws one machine. \param title  headline, such as the machine's name and kind
[[nodiscard]] inline std::string draw_machine(const hardware_graph& g, std::string_view title) {
  return report_detail::machine_drawer{g, title}.draw();
}

}  // namespace berth
