// Pairs of unknown rate rank by the kind of way and the number of links; the rate stays unknown.
#include "berth/topology/graph/pair_order.hpp"

#include <doctest/doctest.h>

#include <optional>
#include <utility>
#include <vector>

#include "berth/topology/graph/compile.hpp"

using namespace berth;

namespace {

berth::link of(link_kind k, std::uint16_t count = 1, std::optional<double> rate = std::nullopt) {
  berth::link l;
  l.kind = k;
  l.count = count;
  if (rate) l.rate = gigabytes_per_second{*rate};
  return l;
}

/// GPUs on one NUMA node over PCIe links of that rate.
hardware_graph on_one_node(unsigned gpus, std::optional<double> pcie = std::nullopt) {
  hardware_graph g;
  for (unsigned i = 0; i < gpus; ++i) (void)add_part(g, vertex_kind::gpu, i);
  const auto numa = add_part(g, vertex_kind::numa, 0);
  for (unsigned i = 0; i < gpus; ++i) join(g, i, numa, of(link_kind::pcie, 16, pcie));
  return g;
}
bandwidth_table table_of(const hardware_graph& g) {
  const auto s = compile_shape(g);
  REQUIRE(s.has_value());
  return s->bandwidth;
}

}  // namespace

TEST_SUITE("topology/pair_order") {
  TEST_CASE("more NVLinks of unknown rate come before fewer, and any before a way over the host, known or not") {
    for (const std::optional<double> pcie : {std::optional<double>{}, std::optional{15.75}, std::optional{63.0}})
      for (const auto kind : {link_kind::nvlink, link_kind::xgmi}) {
        CAPTURE(pcie.value_or(0));
        auto g = on_one_node(5, pcie);
        join(g, 1, 2, of(kind, 4));
        join(g, 2, 3, of(kind, 2));
        join(g, 0, 3, berth::link{kind, {}, {}, {}, {}, {}, true});  // of unknown number: one
        const auto t = table_of(g);
        CHECK(t.rank(1, 2) > t.rank(2, 3));
        CHECK(t.rank(2, 3) > t.rank(0, 3));
        CHECK(t.rank(0, 3) > t.rank(0, 1));
        CHECK(t.rank(0, 1) == t.rank(3, 4));
        CHECK(t.rank(0, 1) == doctest::Approx(pcie.value_or(2.0 / 16 - 1)));
        // No order is told as a rate, nor is what PCIe gives beside the NVLinks.
        CHECK_FALSE(t.between(1, 2).has_value());
        CHECK_FALSE(t.between(0, 3).has_value());
        CHECK(t.between(0, 1).has_value() == pcie.has_value());
      }
  }

  TEST_CASE("beside known NVLinks unknown ones rank by their number; the known rates are as they were") {
    auto g = on_one_node(4, 31.5);
    join(g, 0, 1, of(link_kind::nvlink, 2, 50));
    join(g, 1, 2, of(link_kind::nvlink, 2));
    join(g, 2, 3, of(link_kind::nvlink, 3));
    auto t = table_of(g);
    CHECK(t.between(0, 1) == gigabytes_per_second{50});
    CHECK_FALSE(t.order(0, 1).has_value());
    CHECK(t.rank(1, 2) == t.rank(0, 1));
    CHECK(t.rank(2, 3) == 75);
    CHECK(t.rank(0, 2) == doctest::Approx(31.5));
    // A single link of such a kind is known to be slower than this PCIe.
    join(g, 0, 3, of(link_kind::nvlink, 1));
    t = table_of(g);
    CHECK(t.between(0, 3) == gigabytes_per_second{31.5});
  }

  TEST_CASE("over NVSwitches the smaller number of links counts, over several their sum") {
    auto g = on_one_node(4);
    for (std::uint32_t s = 0; s < 2; ++s) {
      const auto v = add_part(g, vertex_kind::nvswitch, s);
      for (unsigned i = 0; i < 3; ++i) join(g, i, v, of(link_kind::nvlink, i == 2 ? 1 : 3));
    }
    const auto t = table_of(g);
    CHECK(t.rank(0, 1) == 150);
    CHECK(t.rank(0, 2) == 50);
    CHECK(t.rank(0, 3) < 0);
  }

  TEST_CASE("ways over the host of unknown rate: PIX, PXB, PHB, NODE, SYS, all behind what is known") {
    hardware_graph g;
    for (unsigned i = 0; i < 8; ++i) (void)add_part(g, vertex_kind::gpu, i);
    const auto add = [&](vertex_kind k, std::vector<part_id> below) {
      const auto v = add_part(g, k, static_cast<std::uint32_t>(boost::num_vertices(g)));
      for (const auto b : below) join(g, b, v, of(link_kind::pcie));
      return v;
    };
    const auto low = add(vertex_kind::pcie_switch, {0, 1}), other = add(vertex_kind::pcie_switch, {2});
    const auto high = add(vertex_kind::pcie_switch, {low, other});
    const auto bridge = add(vertex_kind::host_bridge, {high, 3});
    const auto numa = add(vertex_kind::numa, {bridge, 4}), far = add(vertex_kind::numa, {5});
    join(g, numa, far, of(link_kind::upi, 1, 20));
    join(g, 5, 6, of(link_kind::pcie, 1, 0.25));
    const auto t = table_of(g);
    const float ranks[] = {t.rank(6, 5), t.rank(0, 1), t.rank(0, 2), t.rank(0, 3), t.rank(0, 4), t.rank(0, 5)};
    for (int i = 0; i < 5; ++i) CHECK(ranks[i] > ranks[i + 1]);
    CHECK(t.rank(6, 5) == 0.25F);
    CHECK(t.rank(0, 5) > -1);
    CHECK(t.rank(0, 7) == -1);  // nothing joins them
    for (unsigned b = 1; b < 8; ++b) CHECK_FALSE(t.between(0, b).has_value());
  }

  TEST_CASE("a broken NVLink is none: its pair ranks with those that PCIe joins, a broken device behind all") {
    auto g = on_one_node(4);
    const auto l = join(g, 0, 1, of(link_kind::nvlink, 4));
    join(g, 2, 3, of(link_kind::nvlink, 4));
    CHECK(table_of(g).rank(0, 1) == table_of(g).rank(2, 3));
    g[l].healthy = false;
    CHECK(table_of(g).rank(0, 1) == table_of(g).rank(0, 2));
    CHECK(table_of(g).rank(0, 1) < 0);
    g[part_id{3}].healthy = false;
    CHECK(table_of(g).rank(2, 3) == -1);
  }
}
