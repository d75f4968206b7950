#pragma once
/// \file
/// Where everything of a floor plan goes: nodes in a grid inside their leaf, leaves inside their spine, and so on,
/// wrapped so that the whole is a little wider than high. Pure geometry, in pixels.
///
/// Cost  O(nodes + domains).

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "berth/report/floor_plan.hpp"
#include "berth/topology/domain_tree.hpp"

namespace berth {

/// Sizes that depend on how many nodes must fit.
struct plan_scale {
  double square = 13;      ///< side of a GPU
  double gap = 3;          ///< between GPUs
  double node_pad = 6;     ///< inside a node's frame
  double node_gap = 8;     ///< between nodes
  double node_font = 10;   ///< 0: no node names
  double leaf_pad = 10;    ///< inside a leaf's frame
  double leaf_font = 12;   ///< 0: no leaf names
  double domain_gap = 12;  ///< between domains
  double domain_font = 13;
  double corner = 2;  ///< rounding of a GPU

  /// Sizes for that many nodes: names of nodes up to some hundred, names of leaves up to some thousand.
  [[nodiscard]] static plan_scale of(std::size_t nodes) {
    if (nodes <= 80) return {};
    if (nodes <= 400) return {8, 2, 4, 5, 8, 7, 10, 9, 12, 1.5};
    if (nodes <= 1500) return {5, 1, 2.5, 3, 0, 5, 9, 7, 12, 0.8};
    if (nodes <= 6000) return {3, 0.6, 1.5, 2, 0, 4, 8, 5, 12, 0};
    return {1.6, 0.3, 0.8, 1, 0, 3, 0, 3, 12, 0};
  }
};

/// A frame on the plan: a domain, with what lies inside.
struct plan_box {
  level_id level{};
  domain_id domain{};
  bool leaf = false;
  double x = 0, y = 0;  ///< relative to the enclosing box
  double width = 0, height = 0;
  double header = 0;  ///< height of the strip with the name
  id_range nodes;
  std::uint32_t columns = 1;  ///< of nodes, in a leaf
  std::vector<plan_box> inside;
};

/// Rough width of a text in a sans-serif font.
[[nodiscard]] inline double text_width(std::size_t characters, double font) {
  return static_cast<double>(characters) * font * 0.62;
}

/// How many of `n` equal cells to put in a row, so that the block is about `aspect` times as wide as high and few
/// places stay empty. O(n).
[[nodiscard]] inline std::uint32_t even_columns(std::uint32_t n, double width, double height, double aspect) {
  std::uint32_t best = 1;
  double least = 1e300;
  for (std::uint32_t c = 1; c <= n; ++c) {
    const std::uint32_t rows = (n + c - 1) / c;
    const double shape = std::abs(std::log(c * width / (rows * height * aspect)));
    const double empty = static_cast<double>(rows * c - n) / n;
    if (shape + 6 * empty < least) least = shape + 6 * empty, best = c;
    if (c * width > 4 * aspect * rows * height) break;  // it only gets flatter
  }
  return best;
}

/// The geometry of one plan.
class plan_layout {
 public:
  /// \pre plan.tree != nullptr, with as many nodes as the plan
  plan_layout(const floor_plan& plan, const plan_scale& scale, std::size_t name_characters)
      : tree_{*plan.tree}, scale_{scale} {
    std::size_t most = 1;
    for (const auto& n : plan.nodes) most = std::max(most, n.devices.size());
    device_columns_ = most <= 4 ? most : most <= 16 ? (most + 1) / 2 : 8;
    const std::size_t rows = (most + device_columns_ - 1) / device_columns_;
    const double step = scale.square + scale.gap;
    node_header_ = scale.node_font > 0 ? scale.node_font + 4 : 0;
    node_width_ = static_cast<double>(device_columns_) * step - scale.gap + 2 * scale.node_pad;
    if (scale.node_font > 0)
      node_width_ = std::max(node_width_, text_width(name_characters, scale.node_font) + 2 * scale.node_pad);
    node_height_ = static_cast<double>(rows) * step - scale.gap + 2 * scale.node_pad + node_header_;
    root_.nodes = {0, tree_.node_count()};
    if (tree_.level_count() == 1) root_.inside.push_back(leaf(level_id{0}, domain_id{0}, {0, tree_.node_count()}));
    else collect(level_id{0}, domain_id{0}, root_.inside);
    flow(root_, 0, 0, 0);
  }

  /// The sheet itself; frameless.
  [[nodiscard]] const plan_box& root() const noexcept { return root_; }
  [[nodiscard]] double node_width() const noexcept { return node_width_; }
  [[nodiscard]] double node_height() const noexcept { return node_height_; }
  /// Where node number `i` of a leaf lies, relative to the leaf.
  [[nodiscard]] std::pair<double, double> node_at(const plan_box& leaf, std::uint32_t i) const noexcept {
    return {scale_.leaf_pad + (i % leaf.columns) * (node_width_ + scale_.node_gap),
            leaf.header + scale_.leaf_pad + (i / leaf.columns) * (node_height_ + scale_.node_gap)};
  }
  /// Where device `d` of a node lies, relative to the node.
  [[nodiscard]] std::pair<double, double> device_at(std::size_t d) const noexcept {
    const double step = scale_.square + scale_.gap;
    return {scale_.node_pad + static_cast<double>(d % device_columns_) * step,
            node_header_ + scale_.node_pad + static_cast<double>(d / device_columns_) * step};
  }
  [[nodiscard]] double node_header() const noexcept { return node_header_; }

 private:
  /// Boxes for the real domains below; implicit ones are seen through, but the leaves among them hold nodes: those side
  /// by side share a box.
  void collect(level_id l, domain_id d, std::vector<plan_box>& out) {
    const level_id below{static_cast<std::uint8_t>(l.raw() + 1)};
    const auto& at = tree_.at(l, d);
    for (std::uint32_t c = at.children.first; c < at.children.last; ++c) {
      const domain_id child{c};
      if (below == tree_.leaf_level()) {
        id_range nodes = tree_.at(below, child).nodes;
        if (tree_.at(below, child).implicit && !out.empty() && out.back().leaf &&
            tree_.at(below, out.back().domain).implicit) {
          nodes.first = out.back().nodes.first;
          out.back() = leaf(below, out.back().domain, nodes);
        } else {
          out.push_back(leaf(below, child, nodes));
        }
      } else if (tree_.at(below, child).implicit) {
        collect(below, child, out);
      } else {
        plan_box b;
        b.level = below;
        b.domain = child;
        b.nodes = tree_.at(below, child).nodes;
        collect(below, child, b.inside);
        b.header = scale_.domain_font + 8;
        const double least = text_width(tree_.name(below, child).size() + 8, scale_.domain_font);
        flow(b, scale_.domain_gap, b.header, least);
        out.push_back(std::move(b));
      }
    }
  }

  [[nodiscard]] plan_box leaf(level_id l, domain_id d, id_range nodes) const {
    plan_box b;
    b.level = l;
    b.domain = d;
    b.leaf = true;
    b.nodes = nodes;
    b.header = scale_.leaf_font > 0 ? scale_.leaf_font + 6 : 0;
    const double w = node_width_ + scale_.node_gap, h = node_height_ + scale_.node_gap;
    b.columns = even_columns(b.nodes.size(), w, h, 1.3);
    const std::uint32_t rows = (b.nodes.size() + b.columns - 1) / b.columns;
    b.width = b.columns * w - scale_.node_gap + 2 * scale_.leaf_pad;
    b.height = rows * h - scale_.node_gap + 2 * scale_.leaf_pad + b.header;
    const std::size_t shown = std::min<std::size_t>(tree_.name(l, d).size(), 18);
    if (scale_.leaf_font > 0)
      b.width = std::max(b.width, text_width(shown + 2, scale_.leaf_font) + 2 * scale_.leaf_pad);
    return b;
  }

  /// Width and height of the boxes inside when wrapped at a width.
  [[nodiscard]] std::pair<double, double> wrapped_size(const plan_box& b, double wrap) const {
    double x = 0, row = 0, width = 0, height = 0;
    for (const auto& i : b.inside) {
      if (x > 0 && x + i.width > wrap * 1.02 + 0.01) {
        height += row + scale_.domain_gap;
        x = row = 0;
      }
      x += i.width + scale_.domain_gap;
      width = std::max(width, x);
      row = std::max(row, i.height);
    }
    return {width, height + row + scale_.domain_gap};
  }

  /// Places the boxes inside one after the other in rows. Boxes of a row get the height of the tallest.
  void flow(plan_box& b, double pad, double top, double least_width) const {
    double area = 0, widest = 0, tallest = 0;
    for (const auto& i : b.inside) {
      area += (i.width + scale_.domain_gap) * (i.height + scale_.domain_gap);
      widest = std::max(widest, i.width);
      tallest = std::max(tallest, i.height);
    }
    bool alike = true;
    for (const auto& i : b.inside) alike = alike && i.width > 0.99 * widest && i.height > 0.99 * tallest;
    double wrap = widest;
    if (alike && !b.inside.empty()) {
      const double w = widest + scale_.domain_gap, h = tallest + scale_.domain_gap;
      wrap = even_columns(static_cast<std::uint32_t>(b.inside.size()), w, h, 1.6) * w - scale_.domain_gap;
    } else {
      // Unlike boxes: of some widths to wrap at, the one that wastes least and comes nearest to the wanted shape.
      double least = 1e300;
      for (int step = 0; step < 16; ++step) {
        const double candidate = std::max(widest, std::sqrt(area) * (0.9 + 0.1 * step));
        const auto [w, h] = wrapped_size(b, candidate);
        const double cost = std::abs(std::log(w / (h * 1.5))) + 2 * std::log(w * h / area);
        if (cost < least) least = cost, wrap = candidate;
      }
    }
    double x = pad, y = top + pad, row = 0, right = 0;
    std::size_t first = 0;
    const auto close_row = [&](std::size_t last) {
      for (std::size_t k = first; k < last; ++k) b.inside[k].height = row;
      first = last;
    };
    for (std::size_t k = 0; k < b.inside.size(); ++k) {
      auto& i = b.inside[k];
      if (k != first && x - pad + i.width > wrap * 1.02 + 0.01) {
        close_row(k);
        y += row + scale_.domain_gap;
        x = pad;
        row = 0;
      }
      i.x = x;
      i.y = y;
      x += i.width + scale_.domain_gap;
      right = std::max(right, x - scale_.domain_gap);
      row = std::max(row, i.height);
    }
    close_row(b.inside.size());
    b.width = std::max(right + pad, least_width);
    b.height = y + row + pad;
  }

  const domain_tree& tree_;
  plan_scale scale_;
  plan_box root_;
  std::size_t device_columns_ = 1;
  double node_width_ = 0, node_height_ = 0, node_header_ = 0;
};

}  // namespace berth
