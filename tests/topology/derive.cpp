// Levels of a machine's GPUs from its graph alone.
#include "berth/topology/graph/derive.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <map>
#include <numeric>
#include <string>
#include <string_view>
#include <vector>

#include "berth/topology/catalogue/node_graphs.hpp"
#include "berth/topology/graph/node_graph.hpp"
#include "support.hpp"

using namespace berth;
using namespace berth::testing;

namespace {

/// "50: 0 1 | 2 3; 25: 0 1 2 3": levels, innermost first.
std::string levels(const hardware_graph& g) {
  std::string out;
  for (const auto& l : derive_levels(g)) {
    if (!out.empty()) out += "; ";
    std::string rate = std::to_string(rate_of(l.bandwidth));
    rate.erase(rate.find_last_not_of('0') + 1);
    if (rate.back() == '.') rate.pop_back();
    out += (l.bandwidth ? rate : "unknown") + ":";
    for (std::size_t d = 0; d < l.domains.size(); ++d) {
      if (d != 0) out += " |";
      for (const auto i : l.domains[d]) out += " " + std::to_string(i);
    }
  }
  return out;
}

}  // namespace

TEST_SUITE("topology/derive") {
  TEST_CASE("the derived levels of every machine of the catalogue are what the hardware is") {
    const std::string eight = "0 1 2 3 4 5 6 7", quads = "0 1 2 3 | 4 5 6 7", pairs = "0 1 | 2 3 | 4 5 | 6 7";
    const std::map<std::string_view, std::string> expected{
        // Four pairs joined twice over, two quads at one link, the sockets.
        {"dgx1-v100", "50: " + pairs + "; 25: " + quads + "; 6: " + eight},
        // Two baseboards, reached over one switch, and as fast over two.
        {"dgx2-v100", "150: " + eight + " | 8 9 10 11 12 13 14 15; 150: " + eight + " 8 9 10 11 12 13 14 15"},
        {"dgx-a100-80gb", "300: " + eight},
        {"dgx-h100", "450: " + eight},
        {"dgx-h200", "450: " + eight},
        {"hgx-h20", "450: " + eight},
        {"hgx-b200", "900: " + eight},
        {"hgx-b300", "900: " + eight},
        {"gb200-tray", "900: 0 1 2 3"},
        {"gb300-tray", "900: 0 1 2 3"},
        {"gh200", "unknown: 0"},
        // Bridge pairs, sockets, the machine.
        {"pcie-a100-8", "300: " + pairs + "; 31.5: " + quads + "; 10: " + eight},
        {"pcie-l40s-8", "31.5: " + quads + "; 22: " + eight},
        {"aws-p4d", "300: " + eight},
        {"aws-p5", "450: " + eight},
        {"aws-p5en", "450: " + eight},
        {"aws-p6-b200", "900: " + eight},
        {"azure-ndv4", "300: " + eight},
        {"azure-ndv5", "450: " + eight},
        {"gcp-a3-high", "450: " + eight},
        {"gcp-a3-mega", "450: " + eight},
        {"gcp-a3-ultra", "450: " + eight},
        {"gcp-a4", "900: " + eight},
    };
    for (const auto& row : catalogue::node_graphs) {
      if (row.id == catalogue::nvl72_rack_id) continue;
      CAPTURE(row.id);
      REQUIRE(expected.count(row.id) == 1);
      CHECK(levels(make_node_graph(row)) == expected.at(row.id));
    }
  }

  TEST_CASE("the NVL72 rack is one domain of 72 GPUs at 900 GB/s") {
    const auto l = derive_levels(machine(catalogue::nvl72_rack_id));
    REQUIRE(l.size() == 1);
    CHECK(rate_of(l[0].bandwidth) == 900);
    std::vector<std::uint32_t> all(72);
    std::iota(all.begin(), all.end(), 0U);
    CHECK(l[0].domains == std::vector<std::vector<std::uint32_t>>{all});
  }

  TEST_CASE("a PCIe box: a switch before its socket, a socket before the machine") {
    hardware_graph g;
    for (std::uint32_t i = 0; i < 8; ++i) add_part(g, vertex_kind::gpu, i);
    std::vector<part_id> sw, numa;
    for (std::uint32_t i = 0; i < 2; ++i) numa.push_back(add_part(g, vertex_kind::numa, i));
    for (std::uint32_t i = 0; i < 4; ++i) {
      sw.push_back(add_part(g, vertex_kind::pcie_switch, i));
      wire(g, sw[i], numa[i / 2], 31.5);
    }
    for (std::uint32_t i = 0; i < 8; ++i) wire(g, i, sw[i / 2], 31.5);
    const auto upi = wire(g, numa[0], numa[1], 22, link_kind::upi);
    CHECK(levels(g) == "31.5: 0 1 | 2 3 | 4 5 | 6 7; 31.5: 0 1 2 3 | 4 5 6 7; 22: 0 1 2 3 4 5 6 7");
    g[upi].rate.reset();  // unknown: still one machine
    CHECK(levels(g) == "31.5: 0 1 | 2 3 | 4 5 | 6 7; 31.5: 0 1 2 3 | 4 5 6 7; unknown: 0 1 2 3 4 5 6 7");
  }

  TEST_CASE("a dead GPU leaves its domains and nothing else changes") {
    auto dgx1 = machine("dgx1-v100");
    dgx1[5].healthy = false;
    CHECK(levels(dgx1) == "50: 0 1 | 2 3 | 4 | 6 7; 25: 0 1 2 3 | 4 6 7; 6: 0 1 2 3 4 6 7");
    auto h100 = machine("dgx-h100");
    h100[5].healthy = false;
    CHECK(levels(h100) == "450: 0 1 2 3 4 6 7");
  }

  TEST_CASE("a lost link sets its GPU apart, a lost switch slows all alike") {
    auto g = machine("dgx-h100");
    const auto nv0 = find(g, vertex_kind::nvswitch, 0);
    g[link_between(g, 3, nv0)].healthy = false;
    CHECK(levels(g) == "450: 0 1 2 4 5 6 7 | 3; 325: 0 1 2 3 4 5 6 7");
    g[nv0].healthy = false;
    CHECK(levels(g) == "325: 0 1 2 3 4 5 6 7");
  }

  TEST_CASE("a mesh that does not split evenly gives no level") {
    // A ring of five: the largest cliques are pairs, and one device is left over.
    hardware_graph g;
    for (std::uint32_t i = 0; i < 5; ++i) add_part(g, vertex_kind::gpu, i);
    for (std::uint32_t i = 0; i < 5; ++i) wire(g, i, (i + 1) % 5, 25, link_kind::nvlink);
    CHECK(levels(g) == "unknown: 0 1 2 3 4");
    // A ring of six splits into three pairs.
    hardware_graph six;
    for (std::uint32_t i = 0; i < 6; ++i) add_part(six, vertex_kind::gpu, i);
    for (std::uint32_t i = 0; i < 6; ++i) wire(six, i, (i + 1) % 6, 25, link_kind::nvlink);
    CHECK(levels(six) == "25: 0 1 | 2 3 | 4 5; unknown: 0 1 2 3 4 5");
  }

  TEST_CASE("a level whose domains cut through those of the level before is left out") {
    // A prism: pairs at 50, and at 25 two triangles that split every pair.
    hardware_graph g;
    for (std::uint32_t i = 0; i < 6; ++i) add_part(g, vertex_kind::gpu, i);
    for (std::uint32_t i = 0; i < 6; i += 2) {
      wire(g, i, i + 1, 50, link_kind::nvlink);
      wire(g, i, (i + 2) % 6, 25, link_kind::nvlink);
      wire(g, i + 1, (i + 3) % 6, 25, link_kind::nvlink);
    }
    CHECK(levels(g) == "50: 0 1 | 2 3 | 4 5; unknown: 0 1 2 3 4 5");
  }

  TEST_CASE("no GPU, no level") {
    CHECK(derive_levels(hardware_graph{}).empty());
  }
}
