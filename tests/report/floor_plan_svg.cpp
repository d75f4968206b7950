#include "berth/report/floor_plan_svg.hpp"

#include <doctest/doctest.h>

#include <string>
#include <string_view>
#include <vector>

#include "berth/topology/domain_tree_builder.hpp"
#include "plans.hpp"

namespace {

bool contains(std::string_view text, std::string_view part) {
  return text.find(part) != text.npos;
}
std::size_t count(std::string_view text, std::string_view part) {
  std::size_t n = 0;
  for (std::size_t p = text.find(part); p != text.npos; p = text.find(part, p + part.size())) ++n;
  return n;
}

/// What keeps a text from being a well-formed XML document, "" if nothing: tags that do not pair, attributes without
/// quotes, a bare & or <, bytes that are no UTF-8, control characters.
std::string xml_fault(std::string_view s) {
  if (berth::io_text::find_bad_utf8(s)) return "no UTF-8";
  std::vector<std::string> open;
  std::size_t roots = 0;
  for (std::size_t i = 0; i < s.size(); ++i) {
    const char c = s[i];
    if (static_cast<unsigned char>(c) < 0x20 && c != '\n') return "control character";
    if (c == '&') {
      const std::size_t end = s.find(';', i);
      const auto name = s.substr(i, end - i + 1);
      if (name != "&amp;" && name != "&lt;" && name != "&gt;" && name != "&quot;" && name != "&#39;") return "bare &";
    }
    if (c != '<') {
      if (open.empty() && c != '\n') return "text outside the root";
      continue;
    }
    std::size_t end = i + 1;
    bool quoted = false;
    while (end < s.size() && (quoted || s[end] != '>')) {
      if (s[end] == '"') quoted = !quoted;
      if (s[end] == '<') return "< inside a tag";
      ++end;
    }
    if (end == s.size()) return "a tag without end";
    const auto tag = s.substr(i + 1, end - i - 1);
    const auto name =
        std::string{tag.substr(tag.front() == '/' ? 1 : 0, tag.find_first_of(" /", 1) - (tag.front() == '/' ? 1 : 0))};
    if (tag.front() == '/') {
      if (open.empty() || open.back() != tag.substr(1)) return "unpaired </" + name + ">";
      open.pop_back();
    } else {
      if (count(tag, "=\"") * 2 != count(tag, "\"")) return "attribute quotes in <" + std::string{tag} + ">";
      if (open.empty() && ++roots > 1) return "two roots";
      if (tag.back() != '/') open.push_back(name);
    }
    i = end;
  }
  return open.empty() ? "" : "unclosed <" + open.back() + ">";
}

/// Checks that boxes lie within their parent and beside each other, and nodes within their leaf.
void check_inside(const berth::plan_layout& layout, const berth::plan_box& b) {
  constexpr double slack = 0.01;
  for (std::size_t i = 0; i < b.inside.size(); ++i) {
    const auto& c = b.inside[i];
    REQUIRE(c.width > 0);
    REQUIRE(c.height > 0);
    REQUIRE(c.x >= 0);
    REQUIRE(c.y >= b.header - slack);
    REQUIRE(c.x + c.width <= b.width + slack);
    REQUIRE(c.y + c.height <= b.height + slack);
    for (std::size_t k = 0; k < i; ++k) {
      const auto& o = b.inside[k];
      REQUIRE((o.x + o.width <= c.x + slack || c.x + c.width <= o.x + slack || o.y + o.height <= c.y + slack ||
               c.y + c.height <= o.y + slack));
    }
    check_inside(layout, c);
  }
  if (!b.leaf) return;
  for (std::uint32_t n = 0; n < b.nodes.size(); ++n) {
    const auto [x, y] = layout.node_at(b, n);
    REQUIRE(x >= 0);
    REQUIRE(y >= b.header - slack);
    REQUIRE(x + layout.node_width() <= b.width + slack);
    REQUIRE(y + layout.node_height() <= b.height + slack);
  }
}

TEST_SUITE("report/floor_plan_svg") {
  TEST_CASE("floor plan: a square per device, the gang in its own colour, a legend") {
    const auto tree = berth::domain_tree_builder::regular({"cluster", "spine", "leaf"}, {2, 2}, 4);
    auto p = plans::empty(tree, 8);
    p.title = "Example";
    p.jobs = {"old", "new", "nothing"};
    p.chosen = 1;
    p.nodes[0].devices[0] = 0;
    p.nodes[0].devices[1] = berth::unhealthy_device;
    for (int n = 4; n < 6; ++n) {
      p.nodes[static_cast<std::size_t>(n)].devices.assign(8, 1);
      p.nodes[static_cast<std::size_t>(n)].chosen = true;
    }
    const auto svg = berth::floor_plan_svg(p);
    CHECK(xml_fault(svg) == "");
    CHECK(svg.starts_with("<svg "));
    // 128 devices as squares of 13 pixels, plus the four entries of the legend, which are as large.
    CHECK(count(svg, "width=\"13\" height=\"13\"") == 128 + 4);
    CHECK(contains(svg, ">Example<"));
    CHECK(contains(svg, ">new<"));
    CHECK(contains(svg, ">16 GPUs, 2 nodes<"));
    CHECK(contains(svg, ">110 of 128 GPUs<"));
    CHECK(contains(svg, ">1 GPU<"));
    CHECK(!contains(svg, "nothing"));
    CHECK(contains(svg, "<title>n0: 6 of 8 GPUs free, 1 unhealthy, old</title>"));
    const auto gang = svg.substr(svg.find("<g fill=\"#e4572e\">"));
    CHECK(count(gang.substr(0, gang.find("</g>")), "<rect") == 16);
  }
  TEST_CASE("floor plan: a device in parts is a square with a strip for each, in the colours of who has them") {
    const auto tree = berth::domain_tree_builder::regular({"cluster", "leaf"}, {1}, 2);
    auto p = plans::empty(tree, 4);
    p.jobs = {"old", "new"};
    p.chosen = 1;
    p.nodes[0].chosen = true;
    p.nodes[0].devices = {berth::cut_device, 0, berth::free_device, berth::cut_device};
    p.nodes[0].parts = {{0, 0, 500, 0}, {0, 500, 125, 1}, {3, 900, 400, 0}};
    const auto svg = berth::floor_plan_svg(p);
    CHECK(xml_fault(svg) == "");
    CHECK(count(svg, "width=\"13\" height=\"13\"") == 8 + 4);  // squares stay, and the entries of the legend
    const auto of = [&](const char* colour) {
      const auto from = svg.substr(svg.find("<g fill=\"" + std::string{colour} + "\">"));
      return from.substr(0, from.find("</g>"));
    };
    CHECK(count(of("#e4572e"), "<rect") == 1);
    CHECK(count(of("#6f9fc8"), "<rect") == 3);
    CHECK(contains(svg, ">1 part, 1 node<"));
    CHECK(contains(svg, ">1 GPU, 2 parts<"));
    CHECK(contains(svg, "<title>n0: 1 of 4 GPUs free, 2 in parts, old, new</title>"));
    CHECK(contains(svg, ">in parts (strips)<"));
  }
  TEST_CASE("floor plan: names are escaped and never break the document") {
    const auto tree = plans::uneven();
    auto p = plans::empty(tree, 2);
    p.title = "<script>alert('x')</script> & \"more\"";
    p.note = std::string{"a\x01 b\xFF c \xEF\xBF\xBF]]>", 13};
    p.jobs = {"<b>&amp;</b>", "\xC3"};
    p.nodes[0].devices = {0, 1};
    p.nodes[0].name = "n<0>&\"'\n";
    p.nodes[1].name = "ünïcödé-☃";
    const auto svg = berth::floor_plan_svg(p);
    CHECK(xml_fault(svg) == "");
    CHECK(!contains(svg, "<script"));
    CHECK(contains(svg, "&lt;b&gt;&amp;amp;&lt;/b&gt;"));
    CHECK(berth::xml_text("a<b>&\"'") == "a&lt;b&gt;&amp;&quot;&#39;");
    CHECK(berth::xml_text("\x01\xFF") == "\xEF\xBF\xBD\xEF\xBF\xBD");
    CHECK(berth::xml_text("\xEF\xBF\xBE") == "\xEF\xBF\xBD");
    CHECK(berth::xml_text("") == "");
  }
  TEST_CASE("floor plan: the checker of this test sees faults") {
    CHECK(xml_fault("<a><b></a>") != "");
    CHECK(xml_fault("<a>&x</a>") != "");
    CHECK(xml_fault("<a b=c\">x</a>") != "");
    CHECK(xml_fault("<a></a><b></b>") != "");
    CHECK(xml_fault("<a b=\"c\"><d/>x</a>") == "");
  }
  TEST_CASE("floor plan: nothing overlaps, from one node to thousands") {
    struct regular {
      std::vector<std::string> levels;
      std::vector<std::uint32_t> fanout;
      std::uint32_t nodes;
    };
    for (const auto& r : {regular{{"cluster", "leaf"}, {1}, 1}, regular{{"cluster"}, {}, 5},
                          regular{{"cluster", "leaf"}, {7}, 3}, regular{{"cluster", "spine", "leaf"}, {5, 7}, 13},
                          regular{{"cluster", "pod", "spine", "leaf"}, {3, 3, 5}, 18},
                          regular{{"cluster", "pod", "spine", "leaf"}, {4, 4, 8}, 32},
                          regular{{"cluster", "pod", "leaf"}, {8, 32}, 32}}) {
      const auto tree = berth::domain_tree_builder::regular(r.levels, r.fanout, r.nodes);
      const auto p = plans::random(tree, tree.node_count() / 4, 4);
      const berth::plan_layout layout{p, berth::plan_scale::of(p.nodes.size()), 8};
      check_inside(layout, layout.root());
      const auto svg = berth::floor_plan_svg(p);
      CHECK(xml_fault(svg) == "");
      CHECK(svg == berth::floor_plan_svg(p));
      // No more than about 110 bytes a device.
      CHECK(svg.size() < 8000 + p.nodes.size() * 8 * 110);
    }
    const auto tree = plans::uneven();
    const auto p = plans::empty(tree, 8);
    const berth::plan_layout layout{p, berth::plan_scale::of(4), 3};
    check_inside(layout, layout.root());
  }
  TEST_CASE("floor plan: nodes with unlike numbers of devices, with none and with 64") {
    const auto tree = plans::uneven();
    auto p = plans::empty(tree, 8);
    p.nodes[1].devices.clear();
    p.nodes[2].devices.assign(64, berth::free_device);
    p.nodes[3].devices.assign(1, berth::unhealthy_device);
    const auto svg = berth::floor_plan_svg(p);
    CHECK(xml_fault(svg) == "");
    CHECK(count(svg, "width=\"13\" height=\"13\"") == 8 + 64 + 1 + 2);
  }
  TEST_CASE("floor plan: what all node names begin with is left out and said") {
    const auto tree = berth::domain_tree_builder::regular({"cluster", "leaf"}, {2}, 2);
    auto p = plans::empty(tree, 1);
    for (std::size_t n = 0; n < 4; ++n) p.nodes[n].name = "hpcbench-hpc-1" + std::to_string(n);
    const auto svg = berth::floor_plan_svg(p);
    CHECK(contains(svg, "node names without “hpcbench-hpc-”"));
    CHECK(contains(svg, ">13</text>"));
    p.nodes[3].name = "login";
    CHECK(!contains(berth::floor_plan_svg(p), "without"));
  }
}

}  // namespace
