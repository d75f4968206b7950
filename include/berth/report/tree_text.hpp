#pragma once
/// \file
/// The domain tree as text: every leaf with its nodes, every node with one character per GPU, the chosen gang standing
/// out. Large clusters are summarised: domains without a task of the gang are counted, not drawn.
///
///     cluster  16 nodes, 128 GPUs: 64 chosen, 34 free, 29 busy, 1 unhealthy
///     └─ sw05 (spine)  16 nodes, 128 GPUs: 64 chosen, …
///        ├─ sw00 (leaf)  3 nodes, 24 GPUs: 12 free, 12 busy
///        │    hpc-36 aaaaaaaa  hpc-39 bbbb····  hpc-42 ········
///
/// Cost  O(nodes + devices).

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "berth/io/hostlist.hpp"
#include "berth/report/floor_plan.hpp"
#include "berth/topology/domain_tree.hpp"
#include "berth/topology/level_names.hpp"

namespace berth {

struct tree_text_options {
  std::size_t width = 110;             ///< columns to keep within where names allow
  std::uint32_t draw_all_leaves = 64;  ///< trees with more leaves are summarised
  std::uint32_t nodes_per_leaf = 16;   ///< leaves with more nodes show only those with a task, and count the others
  std::size_t jobs_in_legend = 12;
  bool ascii = false;  ///< no characters beyond ASCII
};

namespace report_detail {

/// Columns a text takes: its characters, not its bytes.
[[nodiscard]] inline std::size_t columns(std::string_view s) noexcept {
  std::size_t n = 0;
  for (const char c : s) n += (static_cast<unsigned char>(c) & 0xC0U) != 0x80U ? 1U : 0U;
  return n;
}

class tree_drawer {
 public:
  tree_drawer(const floor_plan& plan, const tree_text_options& options) : plan_{plan}, options_{options}, tally_{plan} {
    summarise_ = plan.tree->domain_count(plan.tree->leaf_level()) > options.draw_all_leaves;
    static constexpr std::string_view letters = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ";
    const auto held = devices_per_job(plan);
    for (std::size_t j = 0; j < plan.jobs.size(); ++j) {
      const bool chosen = plan.chosen && *plan.chosen == j;
      const bool lettered = !chosen && held[j] != 0 && used_ < letters.size();
      glyphs_.push_back(chosen ? chosen_glyph() : lettered ? std::string{letters[used_]} : std::string{"+"});
      if (lettered) ++used_;
    }
  }

  [[nodiscard]] std::string draw() {
    const auto& t = *plan_.tree;
    out_ = t.level_name(level_id{0}) + "  " + words(tally_.all()) + "\n";
    children(level_id{0}, domain_id{0}, {0, plan_.tree->node_count()}, "");
    legend();
    return std::move(out_);
  }

 private:
  [[nodiscard]] std::string chosen_glyph() const { return options_.ascii ? "#" : "█"; }
  /// A device in parts, with one of the gang's among them, or without.
  [[nodiscard]] std::string cut_glyph(bool chosen) const {
    return chosen ? (options_.ascii ? "@" : "▚") : (options_.ascii ? "%" : "░");
  }
  [[nodiscard]] std::string free_glyph() const { return options_.ascii ? "." : "·"; }

  static void add(std::string& out, std::uint64_t n, const char* word) {
    if (n == 0) return;
    out += (out.empty() ? "" : ", ") + std::to_string(n) + " " + word;
  }
  [[nodiscard]] static std::string words(const device_tally& t) {
    std::string out = std::to_string(t.nodes) + (t.nodes == 1 ? " node, " : " nodes, ") + std::to_string(t.devices) +
                      (t.devices == 1 ? " GPU" : " GPUs");
    std::string states;
    add(states, t.chosen, "chosen");
    add(states, t.free, "free");
    add(states, t.busy(), "busy");
    add(states, t.cut, "in parts");
    add(states, t.unhealthy, "unhealthy");
    return states.empty() ? out : out + ": " + states;
  }

  struct item {  // a child to draw, or several to count
    level_id level{};
    domain_id domain{};
    id_range nodes;
    std::uint64_t domains = 1;
    device_tally tally;
    bool counted = false;
  };

  /// The real domains and leaves below a domain; implicit ones that hold no nodes themselves are seen through, and
  /// implicit leaves side by side are one.
  void collect(level_id l, domain_id d, std::vector<item>& out) const {
    const auto& t = *plan_.tree;
    const level_id below{static_cast<std::uint8_t>(l.raw() + 1)};
    const auto& at = t.at(l, d);
    for (std::uint32_t c = at.children.first; c < at.children.last; ++c) {
      const auto& child = t.at(below, domain_id{c});
      if (child.implicit && below != t.leaf_level()) {
        collect(below, domain_id{c}, out);
        continue;
      }
      if (child.implicit && !out.empty() && out.back().level == below && t.at(below, out.back().domain).implicit) {
        out.back().nodes.last = child.nodes.last;
        out.back().tally = tally_.of(out.back().nodes);
        continue;
      }
      out.push_back({below, domain_id{c}, child.nodes, 1, tally_.of(child.nodes), false});
    }
  }

  /// \param nodes  those of the domain, or of the implicit leaves that are drawn as one
  void children(level_id l, domain_id d, id_range nodes, const std::string& indent) {
    const auto& t = *plan_.tree;
    if (l == t.leaf_level()) {
      cells(nodes, indent + "  ");
      return;
    }
    std::vector<item> all, shown;
    collect(l, d, all);
    for (auto& i : all) {
      if (!summarise_ || i.tally.chosen_nodes != 0) {
        shown.push_back(i);
        continue;
      }
      if (shown.empty() || !shown.back().counted || shown.back().level != i.level) {
        i.counted = true;
        shown.push_back(i);
        continue;
      }
      item& s = shown.back();
      ++s.domains;
      s.tally.nodes += i.tally.nodes;
      s.tally.devices += i.tally.devices;
      s.tally.free += i.tally.free;
      s.tally.unhealthy += i.tally.unhealthy;
      s.tally.cut += i.tally.cut;
    }
    for (std::size_t i = 0; i < shown.size(); ++i) {
      const bool last = i + 1 == shown.size();
      const item& s = shown[i];
      out_ += indent + (options_.ascii ? (last ? "`- " : "|- ") : (last ? "└─ " : "├─ "));
      const std::string& name = t.name(s.level, s.domain);
      if (s.counted && s.domains > 1) {
        out_ += (options_.ascii ? "... " : "… ") + std::to_string(s.domains) + " of level " + t.level_name(s.level) +
                "  " + words(s.tally) + "\n";
        continue;
      }
      // Machines that are in no rack or NVLink domain are drawn side by side, and share none.
      const bool none = t.at(s.level, s.domain).implicit && !is_switch_level(t.level_name(s.level));
      out_ += (name.empty() ? "" : name + " ") + (none ? "(no " : "(") + t.level_name(s.level) + ")  " + words(s.tally) +
              "\n";
      if (!s.counted) children(s.level, s.domain, s.nodes, indent + (last ? "   " : options_.ascii ? "|  " : "│  "));
    }
  }

  [[nodiscard]] bool has_chosen_part(const plan_node& n, std::size_t device) const {
    bool here = false;
    for (const plan_part& p : n.parts)
      here = here || (plan_.chosen && p.device == device && p.owner == static_cast<device_owner>(*plan_.chosen));
    return here;
  }
  void cells(id_range nodes, const std::string& indent) {
    const bool all = nodes.size() <= options_.nodes_per_leaf;
    if (!all && tally_.of(nodes).chosen_nodes == 0) return;               // the line of the leaf has said it
    std::vector<std::pair<std::string, std::vector<std::string>>> drawn;  // devices, names of the nodes that look so
    device_tally rest;
    for (std::uint32_t n = nodes.first; n < nodes.last; ++n) {
      const device_tally t = tally_.of(node_id{n});
      if (!all && t.chosen_nodes == 0) {
        rest.nodes += 1;
        rest.devices += t.devices;
        rest.free += t.free;
        rest.unhealthy += t.unhealthy;
        rest.cut += t.cut;
        continue;
      }
      const auto& node = plan_.nodes[n];
      std::string s;
      for (std::size_t i = 0; i < node.devices.size(); ++i) {
        const device_owner d = node.devices[i];
        if (d == free_device) s += free_glyph();
        else if (d == unhealthy_device) s += "x";
        else if (d == cut_device) s += cut_glyph(has_chosen_part(node, i));
        else s += glyphs_[static_cast<std::size_t>(d)];
      }
      if (node.devices.empty()) s += node.chosen ? chosen_glyph() : "-";
      std::size_t at = all ? drawn.size() : 0;  // in large leaves, nodes that look alike share an entry
      while (at < drawn.size() && drawn[at].first != s) ++at;
      if (at == drawn.size()) drawn.emplace_back(std::move(s), std::vector<std::string>{});
      drawn[at].second.push_back(node.name);
    }
    std::vector<std::string> texts;
    std::size_t widest = 0;
    for (const auto& [devices, names] : drawn) {
      texts.push_back(compress_hostlist(names) + " " + devices + (names.size() > 1 ? " each" : ""));
      widest = std::max(widest, columns(texts.back()));
    }
    const std::size_t start = columns(indent);
    std::size_t per_line = options_.width > start ? (options_.width - start + 2) / (widest + 2) : 1;
    if (per_line == 0) per_line = 1;
    for (std::size_t i = 0; i < texts.size(); i += per_line) {
      out_ += indent;
      for (std::size_t k = i; k < texts.size() && k < i + per_line; ++k) {
        out_ += texts[k];
        if (k + 1 < texts.size() && k + 1 < i + per_line) out_.append(widest + 2 - columns(texts[k]), ' ');
      }
      out_ += "\n";
    }
    if (rest.nodes != 0) out_ += indent + (options_.ascii ? "... " : "… ") + words(rest) + "\n";
  }

  void legend() {
    out_ += "\n";
    if (plan_.chosen) out_ += chosen_glyph() + " " + plan_.jobs[*plan_.chosen] + "   ";
    if (tally_.all().chosen_parts != 0) out_ += cut_glyph(true) + " parts of it   ";
    out_ += free_glyph() + " free";
    if (tally_.all().cut != 0) out_ += "   " + cut_glyph(false) + " in parts";
    if (tally_.all().unhealthy != 0) out_ += "   x unhealthy";
    std::size_t shown = 0, left = 0;
    const auto held = devices_per_job(plan_);
    for (std::size_t j = 0; j < plan_.jobs.size(); ++j) {
      if (held[j] == 0 || (plan_.chosen && *plan_.chosen == j)) continue;
      if (shown < options_.jobs_in_legend && glyphs_[j] != "+") {
        out_ += "   " + glyphs_[j] + " " + plan_.jobs[j];
        ++shown;
      } else {
        ++left;
      }
    }
    if (left != 0) out_ += "   and " + std::to_string(left) + " more " + (left == 1 ? "job" : "jobs");
    out_ += "\n";
  }

  const floor_plan& plan_;
  const tree_text_options& options_;
  plan_tally tally_;
  std::vector<std::string> glyphs_;
  std::size_t used_ = 0;
  bool summarise_ = false;
  std::string out_;
};

}  // namespace report_detail

/// Draws the plan. Names are printed as they are.
/// \pre plan.tree != nullptr, with as many nodes as the plan; owners are valid
[[nodiscard]] inline std::string draw_tree(const floor_plan& plan, const tree_text_options& options = {}) {
  return report_detail::tree_drawer{plan, options}.draw();
}

}  // namespace berth
