#include "berth/topology/graph/bisection.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <bit>
#include <string_view>
#include <vector>

#include "berth/core/random.hpp"
#include "berth/topology/catalogue/node_graphs.hpp"
#include "berth/topology/graph/paths.hpp"
#include "support.hpp"

using namespace berth;
using namespace berth::testing;

namespace {
std::vector<part_id> first(std::size_t n) {
  std::vector<part_id> v;
  for (part_id i = 0; i < n; ++i) v.push_back(i);
  return v;
}
double bisect(const hardware_graph& g, const std::vector<part_id>& set) {
  const path_finder f{g};
  const auto r = bisection(f, set);
  REQUIRE(r.has_value());
  return rate_of(r->bandwidth);
}
}  // namespace

TEST_SUITE("topology/bisection") {
  TEST_CASE("bisection of known machines") {
    CHECK(bisect(machine("dgx-h100"), first(8)) == 1800);    // four GPUs of 450
    CHECK(bisect(machine("dgx-h100"), first(3)) == 450);     // one against two
    CHECK(bisect(machine("dgx2-v100"), first(16)) == 1200);  // 2.4 TB/s in both directions
    CHECK(bisect(machine("pcie-l40s-8"), first(8)) == 22);   // the link between the sockets
    CHECK(bisect(machine("pcie-a100-8"), first(8)) == 10);   // bridges lie inside the halves
    CHECK(bisect(machine("gb200-tray"), first(4)) == 1800);
  }

  TEST_CASE("DGX-1: the worst split is the two quads, joined by six NVLinks") {
    const auto g = machine("dgx1-v100");
    const path_finder f{g};
    const auto r = bisection(f, first(8));
    REQUIRE(r.has_value());
    CHECK(rate_of(r->bandwidth) == 150);
    CHECK(r->half == first(4));
    CHECK(rate_of(cut_bandwidth(f, {0, 1, 2, 3}, {4, 5, 6, 7})) == 150);
    CHECK(rate_of(cut_bandwidth(f, {0, 3, 5, 6}, {1, 2, 4, 7})) ==
          500);  // every pair of two links cut, and four others
  }

  TEST_CASE("the bisection of two devices joined by NVLink is their bandwidth") {
    for (const std::string_view id : {"dgx-h100", "dgx2-v100", "gb200-tray", "hgx-b200", "azure-ndv4"}) {
      CAPTURE(id);
      const auto g = machine(id);
      const path_finder f{g};
      const auto n = parts_of(g, vertex_kind::gpu).size();
      for (part_id a = 0; a < n; ++a)
        for (part_id b = a + 1; b < n; ++b)
          CHECK(rate_of(bisection(f, {a, b})->bandwidth) == rate_of(f.between(a, b).bandwidth));
    }
  }

  TEST_CASE("above 16 devices the split must be given: half a rack to the other half") {
    const auto g = machine(catalogue::nvl72_rack_id);
    const path_finder f{g};
    const auto r = bisection(f, first(17));
    REQUIRE_FALSE(r.has_value());
    CHECK(r.error() == bisection_error::too_many);
    std::vector<part_id> a, b;
    for (part_id i = 0; i < 72; ++i) (i < 36 ? a : b).push_back(i);
    CHECK(rate_of(cut_bandwidth(f, a, b)) == 36 * 900);
  }

  TEST_CASE("sets that have no halves are refused") {
    const auto g = machine("dgx-h100");
    const path_finder f{g};
    CHECK(bisection(f, {}).error() == bisection_error::too_few);
    CHECK(bisection(f, {3}).error() == bisection_error::too_few);
    CHECK(bisection(f, {3, 4, 3}).error() == bisection_error::repeated);
  }

  TEST_CASE("not joined is 0, joined at an unknown rate is unknown") {
    hardware_graph g;
    for (std::uint32_t i = 0; i < 4; ++i) add_part(g, vertex_kind::gpu, i);
    wire(g, 0, 1, 10, link_kind::nvlink);
    wire(g, 2, 3, 10, link_kind::nvlink);
    CHECK(bisect(g, {0, 1, 2, 3}) == 0);
    wire(g, 1, 2, std::nullopt, link_kind::nvlink);
    CHECK(bisect(g, {0, 1, 2, 3}) == -1);
    CHECK(bisect(g, {0, 1}) == 10);
    g[0].healthy = false;
    CHECK(bisect(g, {0, 1}) == 0);  // a broken device joins nothing
  }

  TEST_CASE("bandwidth inside a set") {
    const auto g = machine("dgx1-v100");
    const path_finder f{g};
    const auto quad = bandwidth_inside(f, {0, 1, 2, 3});
    CHECK(quad.pairs == 6);
    CHECK(rate_of(quad.slowest) == 25);
    CHECK(quad.total.count() == 3 * 50 + 3 * 25);
    CHECK(rate_of(bandwidth_inside(f, {0, 5}).slowest) == 6);
    CHECK(bandwidth_inside(f, {4}).pairs == 0);
    CHECK_FALSE(bandwidth_inside(f, {4}).slowest.has_value());

    const auto tray = machine("gb200-tray");
    const path_finder t{tray};
    const auto mixed = bandwidth_inside(t, {0, find(tray, vertex_kind::nic, 2), find(tray, vertex_kind::nic, 0)});
    CHECK(mixed.pairs == 3);
    CHECK(mixed.unknown_pairs == 2);
    CHECK(rate_of(mixed.slowest) == 63);
  }

  TEST_CASE("random switch networks: the exact bisection is the smallest cut over all balanced halves") {
    random_source rng{5};
    for (int round = 0; round < 60; ++round) {
      hardware_graph g;
      const auto devices = static_cast<std::uint32_t>(rng.between(2, 6)),
                 switches = static_cast<std::uint32_t>(rng.between(1, 3));
      for (std::uint32_t i = 0; i < devices; ++i) add_part(g, vertex_kind::gpu, i);
      for (std::uint32_t i = 0; i < switches; ++i) add_part(g, vertex_kind::nvswitch, i);
      for (part_id x = 0; x < devices + switches; ++x)
        for (part_id y = x + 1; y < devices + switches; ++y)
          if (rng.below(3) != 0) wire(g, x, y, static_cast<double>(rng.between(1, 30)), link_kind::nvlink);
      double best = 1e9;
      for (std::uint32_t half = 1; half < (1U << devices); ++half) {
        const auto size = static_cast<std::uint32_t>(std::popcount(half));
        if (size != devices / 2 && size != devices - devices / 2) continue;
        double cut = 1e9;
        for (std::uint32_t side = 0; side < (1U << switches); ++side) {
          const std::uint32_t in = half | side << devices;
          double sum = 0;
          for (auto [e, end] = boost::edges(g); e != end; ++e)
            if (((in >> boost::source(*e, g)) & 1) != ((in >> boost::target(*e, g)) & 1)) sum += g[*e].rate->count();
          cut = std::min(cut, sum);
        }
        best = std::min(best, cut);
      }
      CHECK(bisect(g, first(devices)) == doctest::Approx(best));
    }
  }
}
