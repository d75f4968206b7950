#include "berth/report/tree_text.hpp"
#include "berth/topology/domain_tree_builder.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <string>

#include "plans.hpp"

namespace {

bool contains(const std::string& text, const std::string& part) {
  return text.find(part) != text.npos;
}
std::size_t lines(const std::string& text) {
  return static_cast<std::size_t>(std::count(text.begin(), text.end(), '\n'));
}

TEST_SUITE("report/tree_text") {
  TEST_CASE("tree text: every leaf with its nodes, one character per device") {
    const auto tree = plans::uneven();
    auto p = plans::empty(tree, 4);
    p.jobs = {"old", "new", "idle"};
    p.chosen = 1;
    p.nodes[0].devices = {0, 0, berth::free_device, berth::unhealthy_device};
    p.nodes[2].devices = {1, 1, 1, 1};
    p.nodes[2].chosen = true;
    p.nodes[3].devices.clear();
    p.nodes[3].chosen = true;
    berth::tree_text_options ascii;
    ascii.ascii = true;
    CHECK(berth::draw_tree(p, ascii) ==
          "cluster  4 nodes, 12 GPUs: 4 chosen, 5 free, 2 busy, 1 unhealthy\n"
          "|- s1 (spine)  3 nodes, 12 GPUs: 4 chosen, 5 free, 2 busy, 1 unhealthy\n"
          "|  |- a (leaf)  2 nodes, 8 GPUs: 5 free, 2 busy, 1 unhealthy\n"
          "|  |    n0 aa.x  n1 ....\n"
          "|  `- b (leaf)  1 node, 4 GPUs: 4 chosen\n"
          "|       n2 ####\n"
          "`- c (leaf)  1 node, 0 GPUs\n"
          "     n3 #\n"
          "\n"
          "# new   . free   x unhealthy   a old\n");
    const auto drawn = berth::draw_tree(p);
    CHECK(contains(drawn, "├─ s1 (spine)"));
    CHECK(contains(drawn, "n2 ████"));
    CHECK(contains(drawn, "n0 aa·x"));
  }
  TEST_CASE("tree text: machines in no NVLink domain are drawn side by side, and said to be in none") {
    const auto none = berth::domain_declaration::no_parent;
    const auto built = berth::domain_tree_builder::build(
        {{"r0", none, "rack"}, {"r1", none, "rack"}, {"nvl", 0, "nvlink"}}, {2, 2, 1, 1});
    REQUIRE(built);
    auto p = plans::empty(built->tree, 2);
    berth::tree_text_options ascii;
    ascii.ascii = true;
    CHECK(berth::draw_tree(p, ascii) ==
          "cluster  4 nodes, 8 GPUs: 8 free\n"
          "|- r0 (rack)  2 nodes, 4 GPUs: 4 free\n"
          "|  `- nvl (nvlink)  2 nodes, 4 GPUs: 4 free\n"
          "|       n0 ..  n1 ..\n"
          "`- r1 (rack)  2 nodes, 4 GPUs: 4 free\n"
          "   `- (no nvlink)  2 nodes, 4 GPUs: 4 free\n"
          "        n2 ..  n3 ..\n"
          "\n"
          ". free\n");
  }
  TEST_CASE("tree text: lines keep within the width") {
    const auto tree = berth::domain_tree_builder::regular({"cluster", "leaf"}, {3}, 15);
    const auto p = plans::random(tree, 5, 1);
    for (const std::size_t width : {40U, 80U, 120U}) {
      berth::tree_text_options o;
      o.width = width;
      const auto text = berth::draw_tree(p, o);
      const auto body = text.substr(0, text.rfind("\n\n"));
      std::size_t at = 0;
      while (at < body.size()) {
        const auto end = std::min(body.find('\n', at), body.size());
        const auto line = body.substr(at, end - at);
        if (!contains(line, "GPUs")) CHECK(berth::report_detail::columns(line) <= width);
        at = end + 1;
      }
    }
  }
  TEST_CASE("tree text: large clusters show where the gang is and count the rest") {
    const auto tree = berth::domain_tree_builder::regular({"cluster", "pod", "spine", "leaf"}, {4, 4, 8}, 32);
    const auto p = plans::random(tree, 64, 2);
    const auto text = berth::draw_tree(p);
    CHECK(lines(text) < 40);
    CHECK(contains(text, "leaf-64 (leaf)  32 nodes, 256 GPUs: 256 chosen"));
    CHECK(contains(text, "n[2048-2079] ████████ each"));
    CHECK(contains(text, "… 2 of level pod  2048 nodes"));
    CHECK(contains(text, "… 6 of level leaf"));
    CHECK(!contains(text, "leaf-3 "));
    // Without a gang there is nothing to show but sums.
    CHECK(lines(berth::draw_tree(plans::empty(tree, 8))) < 10);
  }
  TEST_CASE("tree text: more jobs than letters, and none at all") {
    const auto tree = berth::domain_tree_builder::regular({"cluster", "leaf"}, {10}, 10);
    auto p = plans::empty(tree, 1);
    for (int n = 0; n < 100; ++n) {
      p.jobs.push_back("j" + std::to_string(n));
      p.nodes[static_cast<std::size_t>(n)].devices[0] = n;
    }
    const auto text = berth::draw_tree(p);
    CHECK(contains(text, "n99 +"));
    CHECK(contains(text, "n51 Z"));
    CHECK(contains(text, "and 88 more jobs"));
    CHECK(contains(berth::draw_tree(plans::empty(tree, 1)), "· free\n"));
    const auto flat = berth::domain_tree_builder::regular({"cluster"}, {}, 3);
    CHECK(contains(berth::draw_tree(plans::empty(flat, 2)), "n2 ··"));
  }
  TEST_CASE("tallies add up for every range") {
    const auto tree = berth::domain_tree_builder::regular({"cluster", "leaf"}, {8}, 8);
    const auto p = plans::random(tree, 9, 3);
    const berth::plan_tally t{p};
    const auto all = t.all();
    CHECK(all.nodes == 64);
    CHECK(all.devices == 512);
    CHECK(all.chosen == 72);
    CHECK(all.chosen_nodes == 9);
    berth::device_tally sum;
    for (std::uint32_t n = 0; n < 64; ++n) {
      const auto one = t.of(berth::node_id{n});
      sum.free += one.free;
      sum.unhealthy += one.unhealthy;
      sum.chosen += one.chosen;
    }
    CHECK(sum.free == all.free);
    CHECK(sum.unhealthy == all.unhealthy);
    CHECK(all.busy() + all.free + all.unhealthy + all.chosen == all.devices);
    std::uint64_t held = 0;
    for (const auto h : berth::devices_per_job(p)) held += h;
    CHECK(held == all.busy() + all.chosen);
  }
}

}  // namespace
