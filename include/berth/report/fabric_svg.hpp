#pragma once
/// \file
/// A fabric as SVG: machines by leaf at the bottom, NVLink domains, then leaf, spine and core switches. The wider a
/// line, the more passes; dashed is unknown. Machines that hang on the same switches are drawn as one box with their
/// number where there are many. Needs fmt.
///
/// Cost  O(parts + links × log).

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "berth/io/hostlist.hpp"
#include "berth/report/graph_drawing.hpp"
#include "berth/topology/graph/hardware_graph.hpp"

namespace berth {

namespace report_detail {

class fabric_drawer {
 public:
  fabric_drawer(const hardware_graph& g, std::string_view title, std::size_t single_machines)
      : g_{g}, title_{title}, single_{single_machines} {}

  [[nodiscard]] std::string draw() {
    group_machines();
    place();
    canvas_.text(left, 34, 18, "#1f2933", "start", title_, true);
    for (const auto& [ends, l] : wires_) draw_wire(ends.first, ends.second, l);
    for (const auto& b : boxes_) {
      canvas_.box(b.x, b.y, b.w, b.h, part_colour(b.kind), b.healthy, b.title);
      if (b.label.empty()) continue;
      canvas_.text(b.x + b.w / 2, b.y + b.h / 2 + 4, b.size, "#ffffff", "middle", b.label, true);
    }
    double x = left;
    for (const auto k : used_) {
      canvas_.legend_line(x, bottom_ + 34, k, to_string(k));
      x += 60 + 7.0 * static_cast<double>(to_string(k).size());
    }
    canvas_.text(left, bottom_ + 56, 11, "#5b6875", "start", "wider is faster; dashed: rate unknown; dotted: broken");
    return canvas_.finish(24);
  }

 private:
  static constexpr double left = 24;
  struct box {
    vertex_kind kind{};
    std::string label, title;
    bool healthy = true;
    double x = 0, y = 0, w = 0, h = 0, size = 12;
  };

  /// Every vertex to its box; machines with the same switches share one where there are many.
  void group_machines() {
    const auto machines = parts_of(g_, vertex_kind::node);
    const bool single = machines.size() <= single_;
    box_of_.assign(boost::num_vertices(g_), 0);
    std::map<std::vector<part_id>, std::size_t> shared;
    std::map<std::size_t, std::vector<std::string>> names;
    for (part_id v = 0; v < boost::num_vertices(g_); ++v) {
      const part& p = g_[v];
      if (p.kind == vertex_kind::node && !single) {
        std::vector<part_id> on;
        for (auto [e, end] = boost::out_edges(v, g_); e != end; ++e) on.push_back(boost::target(*e, g_));
        std::sort(on.begin(), on.end());
        on.erase(std::unique(on.begin(), on.end()), on.end());
        const auto [it, fresh] = shared.emplace(std::move(on), boxes_.size());
        if (fresh) boxes_.push_back({vertex_kind::node, "", "", true});
        box_of_[v] = it->second;
        names[it->second].push_back(p.name);
        continue;
      }
      box_of_[v] = boxes_.size();
      boxes_.push_back({p.kind, p.name, p.name + (p.model.empty() ? "" : ", " + p.model), p.healthy});
    }
    for (const auto& [b, list] : names) {
      std::string all = compress_hostlist(list);
      boxes_[b].title = all;
      boxes_[b].label = list.size() == 1 ? list.front() : std::to_string(list.size()) + " machines";
    }
    for (auto [e, end] = boost::edges(g_); e != end; ++e) {
      auto a = box_of_[boost::source(*e, g_)], b = box_of_[boost::target(*e, g_)];
      if (a == b) continue;
      if (a > b) std::swap(a, b);
      const auto [it, fresh] = wires_.emplace(std::pair{a, b}, g_[*e]);
      used_.insert(g_[*e].kind);
      if (fresh) continue;
      if (it->second.rate && g_[*e].rate) *it->second.rate += *g_[*e].rate;
      else it->second.rate.reset();
    }
  }

  [[nodiscard]] static std::size_t row_of(vertex_kind k) noexcept {
    switch (k) {
      case vertex_kind::core:
        return 0;
      case vertex_kind::spine:
        return 1;
      case vertex_kind::leaf:
        return 2;
      case vertex_kind::node:
        return 3;
      default:
        return 4;
    }
  }

  void place() {
    std::vector<std::vector<std::size_t>> row(5);
    for (std::size_t b = 0; b < boxes_.size(); ++b) row[row_of(boxes_[b].kind)].push_back(b);
    // Machines stand by their leaves; leaves in their own order.
    std::vector<std::vector<std::size_t>> next(boxes_.size());
    for (const auto& [ends, l] : wires_) {
      next[ends.first].push_back(ends.second);
      next[ends.second].push_back(ends.first);
    }
    std::vector<double> rank(boxes_.size());
    for (std::size_t i = 0; i < row[2].size(); ++i) rank[row[2][i]] = static_cast<double>(i);
    const auto middle = [&](std::size_t b, std::size_t of) {
      double sum = 0;
      std::size_t n = 0;
      for (const auto o : next[b])
        if (row_of(boxes_[o].kind) == of) sum += rank[o], ++n;
      return n == 0 ? 1e9 : sum / static_cast<double>(n);
    };
    // Leaves under the same spines stay together.
    for (std::size_t i = 0; i < row[1].size(); ++i) rank[row[1][i]] = static_cast<double>(i);
    std::stable_sort(row[2].begin(), row[2].end(), [&](auto a, auto b) { return middle(a, 1) < middle(b, 1); });
    for (std::size_t i = 0; i < row[2].size(); ++i) rank[row[2][i]] = static_cast<double>(i);
    for (const std::size_t r : {3U, 1U}) {
      std::stable_sort(row[r].begin(), row[r].end(), [&](auto a, auto b) { return middle(a, 2) < middle(b, 2); });
      for (std::size_t i = 0; i < row[r].size(); ++i) rank[row[r][i]] = static_cast<double>(i);
    }
    std::stable_sort(row[4].begin(), row[4].end(), [&](auto a, auto b) { return middle(a, 3) < middle(b, 3); });
    std::stable_sort(row[0].begin(), row[0].end(), [&](auto a, auto b) { return middle(a, 1) < middle(b, 1); });

    double width = 360;
    for (const auto& r : row)
      if (!r.empty()) width = std::max(width, static_cast<double>(r.size()) * least_width(r.size()));
    double y = 64;
    for (std::size_t r = 0; r < row.size(); ++r) {
      if (row[r].empty()) continue;
      const double step = width / static_cast<double>(row[r].size());
      std::size_t longest = 0;
      for (const auto b : row[r]) longest = std::max(longest, boxes_[b].label.size());
      const double w = std::min({step - std::min(10.0, step * 0.2), 190.0, 20 + 8.0 * static_cast<double>(longest)});
      const double size =
          std::clamp(w / (0.62 * static_cast<double>(std::max<std::size_t>(longest, 1)) + 0.6), 2.0, 12.5);
      for (std::size_t i = 0; i < row[r].size(); ++i) {
        box& b = boxes_[row[r][i]];
        b.w = w;
        b.h = 28;
        b.x = left + step * (static_cast<double>(i) + 0.5) - w / 2;
        b.y = y;
        b.size = size;
        if (size < 5) b.label.clear();  // still in the title
      }
      bottom_ = y + 28;
      y += 28 + std::clamp(width / 12, 64.0, 170.0);
    }
  }
  [[nodiscard]] static double least_width(std::size_t count) noexcept {
    return count <= 24 ? 96 : count <= 80 ? 44 : 16;
  }

  void draw_wire(std::size_t a, std::size_t b, const link& l) {
    const box *p = &boxes_[a], *q = &boxes_[b];
    if (p->y > q->y || (p->y == q->y && p->x > q->x)) std::swap(p, q);
    const double opacity = wires_.size() > 400 ? 0.25 : wires_.size() > 80 ? 0.5 : 0.9;
    if (p->y == q->y) canvas_.curve(p->x + p->w / 2, p->y, q->x + q->w / 2, q->y, -30, l);
    else canvas_.line(p->x + p->w / 2, p->y + p->h, q->x + q->w / 2, q->y, l, opacity);
  }

  const hardware_graph& g_;
  std::string title_;
  std::size_t single_;
  std::vector<std::size_t> box_of_;
  std::vector<box> boxes_;
  std::map<std::pair<std::size_t, std::size_t>, link> wires_;
  std::set<link_kind> used_;
  double bottom_ = 0;
  canvas canvas_;
};

}  // namespace report_detail

/// Draws the graph of machines and switches. \param single_machines  so many machines still get a box each
[[nodiscard]] inline std::string draw_fabric(const hardware_graph& g, std::string_view title,
                                             std::size_t single_machines = 64) {
  return report_detail::fabric_drawer{g, title, single_machines}.draw();
}

}  // namespace berth
