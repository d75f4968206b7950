#pragma once
/// \file
/// A cluster as an SVG floor plan: spines and leaves as frames, nodes inside, GPUs as squares coloured by job, the
/// chosen gang standing out, a legend. Readable from 16 to several thousand nodes: names give way as squares shrink.
/// Hovering over a node shows its name and jobs. Needs fmt.
///
/// Names     escaped; what XML cannot hold becomes U+FFFD.
/// Colours   the twelve jobs with most GPUs have one each, the others share grey. Same plan, same bytes.
/// Cost      O(nodes + devices + jobs log jobs).

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "berth/report/floor_plan.hpp"
#include "berth/report/floor_plan_layout.hpp"
#include "berth/report/xml.hpp"

namespace berth {

namespace report_detail {

inline constexpr std::string_view job_colours[] = {"#6f9fc8", "#7fb38a", "#b58fc0", "#d0b25c", "#5fb0ad", "#b08a6a",
                                                   "#8f97d4", "#c98aa5", "#9aab55", "#5d8aa0", "#a7859a", "#74a86d"};
inline constexpr std::string_view other_colour = "#aeb6c1";
inline constexpr std::string_view free_colour = "#e6ebf1";
inline constexpr std::string_view chosen_colour = "#e4572e";
inline constexpr std::string_view chosen_edge = "#b23a17";

class svg_writer {
 public:
  explicit svg_writer(const floor_plan& plan)
      : plan_{plan},
        tally_{plan},
        scale_{plan_scale::of(plan.nodes.size())},
        prefix_{common_prefix(plan)},
        layout_{plan, scale_, name_characters()},
        held_{devices_per_job(plan)},
        parts_{parts_per_job(plan)} {
    for (std::uint32_t j = 0; j < plan.jobs.size(); ++j)
      if ((held_[j] != 0 || parts_[j] != 0) && !(plan.chosen && *plan.chosen == j)) ranked_.push_back(j);
    std::stable_sort(ranked_.begin(), ranked_.end(), [&](auto a, auto b) {
      return held_[a] != held_[b] ? held_[a] > held_[b] : parts_[a] > parts_[b];
    });
    // Layers of squares: free, other, one per coloured job, chosen.
    layer_of_.assign(plan.jobs.size(), 1);
    for (std::size_t i = 0; i < ranked_.size() && i < std::size(job_colours); ++i) layer_of_[ranked_[i]] = i + 2;
    if (plan.chosen) layer_of_[*plan.chosen] = std::size(job_colours) + 2;
    squares_.resize(std::size(job_colours) + 3);
  }

  [[nodiscard]] std::string write() {
    const auto& root = layout_.root();
    const double top = margin + (plan_.title.empty() ? 0 : 30) + (note_line().empty() ? 0 : 20) + 6;
    const double plan_width = std::max(root.width, 360.0);
    const double legend_x = margin + plan_width + 28;
    const double width = std::max(legend_x + legend_width + margin, text_width(plan_.title.size(), 20) + 2 * margin);
    for (const auto& b : root.inside) draw(b, margin, top, 0);
    std::string legend;
    const double legend_bottom = draw_legend(legend, legend_x, top);
    const double height = std::max(top + root.height, legend_bottom) + margin;

    std::string out;
    auto put = std::back_inserter(out);
    fmt::format_to(
        put,
        "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{0:.0f}\" height=\"{1:.0f}\" viewBox=\"0 0 {0:.0f} "
        "{1:.0f}\" font-family=\"Inter, 'Segoe UI', Roboto, 'Helvetica Neue', 'DejaVu Sans', Arial, "
        "sans-serif\">\n<rect width=\"100%\" height=\"100%\" fill=\"#ffffff\"/>\n",
        width, height);
    double y = margin + 16;
    if (!plan_.title.empty()) {
      fmt::format_to(put,
                     "<text x=\"{:g}\" y=\"{:g}\" font-size=\"20\" font-weight=\"600\" fill=\"#1f2933\">{}</text>\n",
                     margin, y, xml_text(plan_.title));
      y += 24;
    }
    if (!note_line().empty())
      fmt::format_to(put, "<text x=\"{:g}\" y=\"{:g}\" font-size=\"12.5\" fill=\"#5b6875\">{}</text>\n", margin, y,
                     xml_text(note_line()));
    out += frames_;
    static constexpr std::size_t last = std::size(job_colours) + 2;
    for (std::size_t i = 0; i <= last; ++i) {
      if (squares_[i].empty()) continue;
      const std::string_view colour = i == 0      ? free_colour
                                      : i == 1    ? other_colour
                                      : i == last ? chosen_colour
                                                  : job_colours[i - 2];
      if (rounded()) fmt::format_to(put, "<g fill=\"{}\">{}</g>\n", colour, squares_[i]);
      else fmt::format_to(put, "<path fill=\"{}\" d=\"{}\"/>\n", colour, squares_[i]);
    }
    if (!crosses_.empty())
      fmt::format_to(put, "<path stroke=\"#4a5560\" stroke-width=\"{:g}\" fill=\"none\" d=\"{}\"/>\n",
                     std::max(0.5, scale_.square * 0.13), crosses_);
    out += texts_;
    out += legend;
    return out + "</svg>\n";
  }

 private:
  static constexpr double margin = 24;
  static constexpr double legend_width = 250;

  /// What all node names begin with, if cutting it off makes them much shorter: up to a separator or the first digit.
  [[nodiscard]] static std::string common_prefix(const floor_plan& plan) {
    if (plan.nodes.size() < 2) return {};
    std::string p = plan.nodes.front().name;
    for (const auto& n : plan.nodes) {
      std::size_t k = 0;
      while (k < p.size() && k < n.name.size() && p[k] == n.name[k]) ++k;
      p.resize(k);
    }
    while (!p.empty() && p.back() >= '0' && p.back() <= '9') p.pop_back();
    while (!p.empty() && p.back() != '-' && p.back() != '_' && p.back() != '.' && p.size() < 4) p.pop_back();
    while (!p.empty() && io_text::find_bad_utf8(p)) p.pop_back();
    for (const auto& n : plan.nodes)
      if (n.name.size() == p.size()) return {};
    return p.size() >= 4 ? p : std::string{};
  }
  [[nodiscard]] std::size_t name_characters() const {
    std::size_t most = 0;
    for (const auto& n : plan_.nodes) most = std::max(most, n.name.size() - prefix_.size());
    return std::min<std::size_t>(most, 24);
  }
  [[nodiscard]] std::string note_line() const {
    std::string out = plan_.note;
    if (!prefix_.empty() && scale_.node_font > 0) {
      if (!out.empty()) out += " · ";
      out += "node names without “" + prefix_ + "”";
    }
    return out;
  }
  [[nodiscard]] bool rounded() const { return scale_.corner > 0; }

  void square(std::size_t layer, double x, double y) {
    auto put = std::back_inserter(squares_[layer]);
    const double s = scale_.square;
    if (rounded())
      fmt::format_to(put, "<rect x=\"{:.1f}\" y=\"{:.1f}\" width=\"{:g}\" height=\"{:g}\" rx=\"{:g}\"/>", x, y, s, s,
                     scale_.corner);
    else fmt::format_to(put, "M{:.1f} {:.1f}h{:g}v{:g}h{:g}z", x, y, s, s, -s);
  }

  /// A part of a device: a strip of its square.
  void strip(std::size_t layer, double x, double y, const plan_part& p) {
    const double s = scale_.square;
    const double left = x + s * std::min<unsigned>(p.from, 1000) / 1000;
    const double width = s * std::min<unsigned>(p.size, 1000U - std::min<unsigned>(p.from, 1000)) / 1000;
    const double gap = std::min(width * 0.2, s * 0.05);  // between neighbours
    auto put = std::back_inserter(squares_[layer]);
    if (rounded())
      fmt::format_to(put, "<rect x=\"{:.2f}\" y=\"{:.1f}\" width=\"{:.2f}\" height=\"{:g}\"/>", left, y, width - gap,
                     s);
    else fmt::format_to(put, "M{:.2f} {:.1f}h{:.2f}v{:g}h{:.2f}z", left, y, width - gap, s, gap - width);
  }

  [[nodiscard]] static std::string gpus(std::uint64_t n, std::uint64_t parts) {
    const std::string some = fmt::format("{} part{}", parts, parts == 1 ? "" : "s");
    return parts == 0 ? gpus(n) : n == 0 ? some : gpus(n) + ", " + some;
  }
  [[nodiscard]] static std::string gpus(std::uint64_t n) { return fmt::format("{} GPU{}", n, n == 1 ? "" : "s"); }

  /// `text` cut to `width` pixels.
  [[nodiscard]] static std::string fitted(std::string text, double width, double font) {
    const auto most = static_cast<std::size_t>(std::max(width / (font * 0.62), 0.0));
    if (text.size() <= most) return text;
    if (most < 2) return {};
    text.resize(most - 1);
    while (!text.empty() && io_text::find_bad_utf8(text)) text.pop_back();
    return text + "…";
  }

  void text(double x, double y, double font, std::string_view colour, const std::string& s, bool strong = false,
            bool end = false) {
    if (s.empty()) return;
    fmt::format_to(std::back_inserter(texts_),
                   "<text x=\"{:.1f}\" y=\"{:.1f}\" font-size=\"{:g}\" fill=\"{}\"{}{}>{}</text>\n", x, y, font, colour,
                   strong ? " font-weight=\"600\"" : "", end ? " text-anchor=\"end\"" : "", xml_text(s));
  }

  [[nodiscard]] std::string tooltip(const plan_node& n, const device_tally& t) const {
    std::string out = fmt::format("{}: {} of {} GPUs free", n.name, t.free, t.devices);
    if (t.unhealthy != 0) out += fmt::format(", {} unhealthy", t.unhealthy);
    if (t.cut != 0) out += fmt::format(", {} in parts", t.cut);
    std::vector<device_owner> seen, owners = n.devices;
    for (const plan_part& p : n.parts) owners.push_back(p.owner);
    for (const auto d : owners)
      if (d >= 0 && std::find(seen.begin(), seen.end(), d) == seen.end()) {
        seen.push_back(d);
        out += ", " + plan_.jobs[static_cast<std::size_t>(d)];
      }
    return out;
  }

  void draw_node(const plan_box& leaf, std::uint32_t i, double left, double top) {
    const std::uint32_t id = leaf.nodes.first + i;
    const auto& n = plan_.nodes[id];
    const auto [dx, dy] = layout_.node_at(leaf, i);
    const double x = left + dx, y = top + dy;
    const device_tally t = tally_.of(node_id{id});
    const bool chosen = t.chosen_nodes != 0;
    fmt::format_to(
        std::back_inserter(frames_),
        "<rect x=\"{:.1f}\" y=\"{:.1f}\" width=\"{:.1f}\" height=\"{:.1f}\" rx=\"{:g}\" fill=\"{}\" stroke=\"{}\" "
        "stroke-width=\"{:g}\"><title>{}</title></rect>\n",
        x, y, layout_.node_width(), layout_.node_height(), scale_.corner * 1.5, chosen ? "#fdeee8" : "#f8f9fb",
        chosen ? chosen_edge : "#d9dfe6",
        chosen ? std::max(0.7, scale_.square * 0.12) : std::min(1.0, scale_.square * 0.1), xml_text(tooltip(n, t)));
    if (scale_.node_font > 0)
      text(x + scale_.node_pad, y + scale_.node_pad + scale_.node_font * 0.82, scale_.node_font,
           chosen ? chosen_edge : "#5b6875",
           fitted(n.name.substr(prefix_.size()), layout_.node_width() - scale_.node_pad, scale_.node_font));
    for (std::size_t d = 0; d < n.devices.size(); ++d) {
      const auto [sx, sy] = layout_.device_at(d);
      const auto owner = n.devices[d];
      if (owner == unhealthy_device) {
        const double s = scale_.square;
        square(0, x + sx, y + sy);
        fmt::format_to(std::back_inserter(crosses_), "M{0:.1f} {1:.1f}l{2:.1f} {2:.1f}m0 {3:.1f}l{3:.1f} {2:.1f}",
                       x + sx + s * 0.2, y + sy + s * 0.2, s * 0.6, -s * 0.6);
        continue;
      }
      if (owner == cut_device) {
        square(0, x + sx, y + sy);
        for (const plan_part& p : n.parts)
          if (p.device == d && p.owner >= 0) strip(layer_of_[static_cast<std::size_t>(p.owner)], x + sx, y + sy, p);
        continue;
      }
      square(owner == free_device ? 0 : layer_of_[static_cast<std::size_t>(owner)], x + sx, y + sy);
    }
  }

  void draw(const plan_box& b, double left, double top, int depth) {
    const double x = left + b.x, y = top + b.y;
    const auto& domain = plan_.tree->at(b.level, b.domain);
    const device_tally t = tally_.of(b.nodes);
    const bool chosen = t.chosen_nodes != 0;
    const std::string& name = plan_.tree->name(b.level, b.domain);
    auto put = std::back_inserter(frames_);
    if (b.leaf) {
      fmt::format_to(put,
                     "<rect x=\"{:.1f}\" y=\"{:.1f}\" width=\"{:.1f}\" height=\"{:.1f}\" rx=\"{:g}\" fill=\"#ffffff\" "
                     "stroke=\"{}\" stroke-width=\"{:g}\"{}/>\n",
                     x, y, b.width, b.height, std::min(6.0, scale_.leaf_pad * 0.6), chosen ? chosen_colour : "#c2cad4",
                     chosen ? std::max(1.0, scale_.square * 0.14) : std::min(1.0, scale_.leaf_pad * 0.14),
                     domain.implicit ? " stroke-dasharray=\"4 3\"" : "");
      if (scale_.leaf_font > 0) {
        const std::string free = fmt::format("{}/{}", t.free, t.devices);
        const double room = b.width - 2 * scale_.leaf_pad;
        const double count_width = text_width(free.size() + 5, scale_.leaf_font - 1);
        const bool both = text_width(name.size() + 1, scale_.leaf_font) + count_width <= room;
        const double base = y + scale_.leaf_pad + scale_.leaf_font * 0.8;
        text(x + scale_.leaf_pad, base, scale_.leaf_font, chosen ? chosen_edge : "#2f3b47",
             fitted(name, room, scale_.leaf_font), true);
        if (both)
          text(x + b.width - scale_.leaf_pad, base, scale_.leaf_font - 1, "#7b8794", free + " free", false, true);
      }
      for (std::uint32_t i = 0; i < b.nodes.size(); ++i) draw_node(b, i, x, y);
      return;
    }
    fmt::format_to(put,
                   "<rect x=\"{:.1f}\" y=\"{:.1f}\" width=\"{:.1f}\" height=\"{:.1f}\" rx=\"8\" fill=\"{}\" "
                   "stroke=\"#d3dae2\"/>\n",
                   x, y, b.width, b.height, depth % 2 == 0 ? "#f1f4f7" : "#e8edf2");
    const double base = y + scale_.domain_font + 6;
    const std::string count = fmt::format("{} of {} GPUs free", t.free, t.devices);
    const double room = b.width - 2 * scale_.domain_gap;
    const std::string& level = plan_.tree->level_name(b.level);
    const std::string word = name.starts_with(level) ? name : name.empty() ? level : level + " " + name;
    const double count_width = text_width(count.size() + 1, scale_.domain_font - 2);
    const bool both = text_width(word.size() + 1, scale_.domain_font) + count_width <= room;
    text(x + std::max(scale_.domain_gap, 6.0), base, scale_.domain_font, "#2f3b47",
         fitted(word, room, scale_.domain_font), true);
    if (both)
      text(x + b.width - std::max(scale_.domain_gap, 6.0), base, scale_.domain_font - 2, "#7b8794", count, false, true);
    for (const auto& i : b.inside) draw(i, x, y, depth + 1);
  }

  /// \returns the lower edge.
  double draw_legend(std::string& out, double x, double y) {
    auto put = std::back_inserter(out);
    const auto entry = [&](std::string_view colour, const std::string& name, const std::string& count, bool strong) {
      fmt::format_to(put, "<rect x=\"{:g}\" y=\"{:g}\" width=\"13\" height=\"13\" rx=\"2\" fill=\"{}\"/>", x, y,
                     colour);
      fmt::format_to(put, "<text x=\"{:g}\" y=\"{:g}\" font-size=\"12\" fill=\"#2f3b47\"{}>{}</text>", x + 21, y + 11,
                     strong ? " font-weight=\"600\"" : "", xml_text(fitted(name, 150, 12)));
      fmt::format_to(put,
                     "<text x=\"{:g}\" y=\"{:g}\" font-size=\"12\" fill=\"#7b8794\" text-anchor=\"end\">{}</text>\n",
                     x + legend_width, y + 11, xml_text(count));
      y += 22;
    };
    const device_tally all = tally_.all();
    if (plan_.chosen) {
      entry(chosen_colour, plan_.jobs[*plan_.chosen],
            gpus(all.chosen, all.chosen_parts) +
                fmt::format(", {} node{}", all.chosen_nodes, all.chosen_nodes == 1 ? "" : "s"),
            true);
      y += 8;
    }
    entry(free_colour, "free", fmt::format("{} of {} GPUs", all.free, all.devices), false);
    if (all.cut != 0) entry("none", "in parts (strips)", gpus(all.cut), false);
    if (all.unhealthy != 0) {
      fmt::format_to(put, "<path stroke=\"#4a5560\" stroke-width=\"1.7\" d=\"M{0:g} {1:g}l8 8m0 -8l-8 8\"/>", x + 2.5,
                     y + 2.5);
      entry("none", "unhealthy", gpus(all.unhealthy), false);
    }
    std::uint64_t other = 0, other_parts = 0;
    for (std::size_t i = 0; i < ranked_.size(); ++i) {
      if (i < std::size(job_colours))
        entry(job_colours[i], plan_.jobs[ranked_[i]], gpus(held_[ranked_[i]], parts_[ranked_[i]]), false);
      else other += held_[ranked_[i]], other_parts += parts_[ranked_[i]];
    }
    if (other != 0 || other_parts != 0)
      entry(other_colour,
            ranked_.size() == std::size(job_colours) + 1
                ? std::string{"1 other job"}
                : fmt::format("{} other jobs", ranked_.size() - std::size(job_colours)),
            gpus(other, other_parts), false);
    return y;
  }

  const floor_plan& plan_;
  plan_tally tally_;
  plan_scale scale_;
  std::string prefix_;
  plan_layout layout_;
  std::vector<std::uint64_t> held_, parts_;
  std::vector<std::uint32_t> ranked_;  // other jobs, most GPUs first
  std::vector<std::size_t> layer_of_;  // per job
  std::vector<std::string> squares_;   // per layer
  std::string frames_, texts_, crosses_;
};

}  // namespace report_detail

/// The plan as an SVG document.
/// \pre plan.tree != nullptr, with as many nodes as the plan; owners are valid
[[nodiscard]] inline std::string floor_plan_svg(const floor_plan& plan) {
  return report_detail::svg_writer{plan}.write();
}

}  // namespace berth
