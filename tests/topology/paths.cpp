// Bandwidth between two devices: against the generated tables, against brute force, and as links and parts break.
#include "berth/topology/graph/paths.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "berth/core/random.hpp"
#include "berth/topology/catalogue/node_graphs.hpp"
#include "berth/topology/catalogue/node_shapes.hpp"
#include "berth/topology/graph/compile.hpp"
#include "berth/topology/graph/node_graph.hpp"
#include "support.hpp"

using namespace berth;
using namespace berth::testing;

namespace {

/// Widest paths by trying every rate as a threshold and searching breadth first, straight from the definition: NVSwitch
/// planes one by one, added up with the direct links; or one path through anything but devices. -1: not joined.
class brute_force {
 public:
  explicit brute_force(const hardware_graph& g) : g_{g} {
    for (auto [e, end] = boost::edges(g); e != end; ++e) {
      const auto a = boost::source(*e, g), b = boost::target(*e, g);
      if (!g[*e].healthy || !g[a].healthy || !g[b].healthy || !g[*e].rate) continue;
      rates_[{a, b}] += g[*e].rate->count();
      rates_[{b, a}] = rates_[{a, b}];
    }
    for (const auto& [ends, rate] : rates_) thresholds_.insert(rate);
    for (part_id v = 0; v < boost::num_vertices(g); ++v) {
      if (!is_nvlink_switch(g[v].kind) || plane_.count(v) != 0) continue;
      std::vector<part_id> todo{v};
      plane_[v] = v;
      while (!todo.empty()) {
        const auto x = todo.back();
        todo.pop_back();
        for (const auto& [ends, rate] : rates_)
          if (ends.first == x && is_nvlink_switch(g[ends.second].kind) && plane_.emplace(ends.second, v).second)
            todo.push_back(ends.second);
      }
    }
  }
  double between(part_id a, part_id b) const {
    double sum = 0;
    if (const auto direct = rates_.find({a, b}); direct != rates_.end()) sum = direct->second;
    std::set<part_id> planes;
    for (const auto& [v, p] : plane_) planes.insert(p);
    for (const auto p : planes)
      sum += std::max(0.0, widest(
                               a, b,
                               [&](part_id v) {
                                 const auto it = plane_.find(v);
                                 return it != plane_.end() && it->second == p;
                               },
                               false));
    const double one = widest(
        a, b, [&](part_id v) { return !is_endpoint(g_[v].kind); }, true);
    const double best = std::max(sum, one);
    return best > 0 ? best : -1;
  }

 private:
  template <class May>
  double widest(part_id a, part_id b, May may_pass, bool direct) const {
    for (auto t = thresholds_.rbegin(); t != thresholds_.rend(); ++t) {
      std::set<part_id> seen{a};
      std::vector<part_id> todo{a};
      while (!todo.empty()) {
        const auto v = todo.back();
        todo.pop_back();
        for (auto it = rates_.lower_bound({v, 0}); it != rates_.end() && it->first.first == v; ++it) {
          const auto w = it->first.second;
          if (it->second < *t || (v == a && w == b && !direct)) continue;
          if (w == b) return *t;
          if (may_pass(w) && seen.insert(w).second) todo.push_back(w);
        }
      }
    }
    return -1;
  }
  const hardware_graph& g_;
  std::map<std::pair<part_id, part_id>, double> rates_;
  std::map<part_id, part_id> plane_;
  std::set<double> thresholds_;
};

/// Every pair of GPUs, by brute force and by path_finder.
void agree_with_brute_force(const hardware_graph& g) {
  const path_finder finder{g};
  const brute_force slow{g};
  const auto gpus = parts_of(g, vertex_kind::gpu);
  for (std::size_t a = 0; a<gpus.size(); a += gpus.size()> 16 ? 9U : 1U)  // of a rack, some
    for (std::size_t b = a + 1; b < gpus.size(); ++b) {
      const double expected = slow.between(gpus[a], gpus[b]);
      const double found = rate_of(finder.between(gpus[a], gpus[b]).bandwidth);
      if (found != doctest::Approx(expected)) {
        CAPTURE(a);
        CAPTURE(b);
        CHECK(found == expected);
      }
    }
}

std::string difference(const node_shape& a, const node_shape& b) {
  if (a.name != b.name || a.devices != b.devices || a.models != b.models) return "name, devices or models";
  if (!(a.bandwidth == b.bandwidth)) return "bandwidth";
  if (a.cpu != b.cpu || a.memory != b.memory) return "cpu or memory";
  if (a.pcie_switches != b.pcie_switches) return "PCIe switches";
  if (a.numa.size() != b.numa.size() || a.nics.size() != b.nics.size()) return "counts";
  for (std::size_t i = 0; i < a.numa.size(); ++i)
    if (a.numa[i].devices != b.numa[i].devices || a.numa[i].cpu != b.numa[i].cpu)
      return "NUMA node " + std::to_string(i);
  for (std::size_t i = 0; i < a.nics.size(); ++i)
    if (a.nics[i].devices != b.nics[i].devices || a.nics[i].rate != b.nics[i].rate || a.nics[i].rail != b.nics[i].rail)
      return "NIC " + std::to_string(i);
  return "";
}

}  // namespace

TEST_SUITE("topology/paths") {
  TEST_CASE("every machine of the catalogue: what the graph compiles to is what the generator computed") {
    for (const auto id : catalogue_shape_names()) {
      CAPTURE(id);
      const auto compiled = compile_shape(machine(id));
      REQUIRE(compiled.has_value());
      CHECK(difference(*compiled, *catalogue_shape(id)) == "");
    }
  }

  TEST_CASE("every machine and the rack: widest paths agree with brute force") {
    for (const auto& row : catalogue::node_graphs) {
      CAPTURE(row.id);
      agree_with_brute_force(make_node_graph(row));
    }
  }

  TEST_CASE("every machine with random faults: widest paths still agree with brute force") {
    random_source rng{2024};
    for (const auto& row : catalogue::node_graphs) {
      if (row.id == catalogue::nvl72_rack_id || row.id == "dgx2-v100")
        continue;  // planes of several stages: min cut below
      CAPTURE(row.id);
      auto g = make_node_graph(row);
      for (auto [e, end] = boost::edges(g); e != end; ++e)
        if (rng.below(6) == 0) g[*e].healthy = false;
      g[rng.below(boost::num_vertices(g))].healthy = false;
      agree_with_brute_force(g);
    }
  }

  TEST_CASE("the rack is not a machine: it has more GPUs than one may have") {
    const auto s = compile_shape(machine(catalogue::nvl72_rack_id));
    REQUIRE_FALSE(s.has_value());
    CHECK(s.error().find("72 GPUs") != std::string::npos);
    CHECK_FALSE(make_node_graph("no-such-machine").has_value());
  }

  TEST_CASE("NVSwitch planes are used at once: 18 links of 25 GB/s over four switches are 450") {
    const auto c = between(machine("dgx-h100"), 0, 1);
    CHECK(c.joined);
    CHECK(rate_of(c.bandwidth) == 450);
    CHECK(c.links == 2);
  }

  TEST_CASE("a path never runs through another GPU") {
    // DGX-1: GPU 0 and 5 have NVLink neighbours in common and no link; what is left is the link between the sockets.
    const auto c = between(machine("dgx1-v100"), 0, 5);
    CHECK(rate_of(c.bandwidth) == 6);
    CHECK(c.links == 5);
  }

  TEST_CASE("a path never runs through a NIC: two GPUs that share only a NIC are not joined") {
    hardware_graph g;
    const auto a = add_part(g, vertex_kind::gpu, 0), b = add_part(g, vertex_kind::gpu, 1),
               n = add_part(g, vertex_kind::nic, 0);
    wire(g, a, n, 10);
    wire(g, b, n, 10);
    CHECK_FALSE(between(g, a, b).joined);
    CHECK(rate_of(between(g, a, n).bandwidth) == 10);
  }

  TEST_CASE("GPU to NIC: under one switch the slot's rate, to the other socket the link between the sockets") {
    const auto g = machine("dgx-h100");
    const path_finder f{g};
    CHECK(rate_of(f.between(0, find(g, vertex_kind::nic, 0)).bandwidth) == 63);
    CHECK(f.between(0, find(g, vertex_kind::nic, 0)).links == 2);
    CHECK(rate_of(f.between(0, find(g, vertex_kind::nic, 4)).bandwidth) == 22);
  }

  TEST_CASE("unknown stays unknown: joined, but at no stated rate") {
    const auto tray = machine("gb200-tray");
    const auto far = between(tray, 0, find(tray, vertex_kind::nic, 2));  // over the link between the Grace CPUs
    CHECK(far.joined);
    CHECK_FALSE(far.bandwidth.has_value());
    CHECK(far.links == 3);
    CHECK(rate_of(between(tray, 0, find(tray, vertex_kind::nic, 0)).bandwidth) == 63);

    const auto a100 = machine("dgx-a100-80gb");
    const auto storage = between(a100, 0, find(a100, vertex_kind::nic, 8));  // over a link inside the package
    CHECK(storage.joined);
    CHECK_FALSE(storage.bandwidth.has_value());
  }

  TEST_CASE("a link of unknown rate hides no known one: the known path is the answer, and parallel links add up") {
    hardware_graph g;
    const auto a = add_part(g, vertex_kind::gpu, 0), b = add_part(g, vertex_kind::gpu, 1),
               s = add_part(g, vertex_kind::numa, 0);
    wire(g, a, b, std::nullopt, link_kind::nvlink);
    CHECK(between(g, a, b).joined);
    CHECK_FALSE(between(g, a, b).bandwidth.has_value());
    wire(g, a, s, 8);
    wire(g, b, s, 4);
    CHECK(rate_of(between(g, a, b).bandwidth) == 4);
    wire(g, b, s, 3);
    CHECK(rate_of(between(g, a, b).bandwidth) == 7);
    const auto more = wire(g, a, b, 20, link_kind::nvlink);
    CHECK(rate_of(between(g, a, b).bandwidth) == 20);
    g[more].healthy = false;
    CHECK(rate_of(between(g, a, b).bandwidth) == 7);
  }

  TEST_CASE("latency adds links and crossed switches, and is unknown as soon as one is") {
    hardware_graph g;
    const auto a = add_part(g, vertex_kind::gpu, 0), b = add_part(g, vertex_kind::gpu, 1),
               s = add_part(g, vertex_kind::nvswitch, 0);
    const auto l = wire(g, a, s, 50, link_kind::nvlink), m = wire(g, s, b, 50, link_kind::nvlink);
    CHECK_FALSE(between(g, a, b).latency.has_value());
    g[l].latency = nanoseconds{10};
    g[m].latency = nanoseconds{20};
    CHECK_FALSE(between(g, a, b).latency.has_value());  // crossing the switch is not known
    g[s].latency = nanoseconds{100};
    CHECK(between(g, a, b).latency->count() == 130);
    g[m].latency.reset();
    CHECK_FALSE(between(g, a, b).latency.has_value());
    for (const auto id : catalogue_shape_names()) {
      const auto machine_graph = machine(id);
      if (num_vertices(machine_graph) > 1 && parts_of(machine_graph, vertex_kind::gpu).size() > 1)
        CHECK_FALSE(between(machine_graph, 0, 1).latency.has_value());  // the catalogue states none
    }
  }

  TEST_CASE("a lost NVSwitch, link or lane costs its own share and nothing else") {
    auto g = machine("dgx-h100");
    const auto nv = [&](std::uint32_t i) { return find(g, vertex_kind::nvswitch, i); };
    g[link_between(g, 0, nv(0))].healthy = false;  // 5 of GPU 0's 18 links
    CHECK(rate_of(between(g, 0, 1).bandwidth) == 325);
    CHECK(rate_of(between(g, 1, 2).bandwidth) == 450);
    g[link_between(g, 1, nv(1))].healthy = false;  // GPUs 0 and 1 now share only two switches
    CHECK(rate_of(between(g, 0, 1).bandwidth) == 200);
    CHECK(rate_of(between(g, 2, 3).bandwidth) == 450);
    g[nv(3)].healthy = false;
    CHECK(rate_of(between(g, 2, 3).bandwidth) == 350);
    lose_lanes(g, link_between(g, 2, nv(2)), 1);
    CHECK(rate_of(between(g, 2, 3).bandwidth) == 325);
    lose_lanes(g, link_between(g, 2, nv(2)), 3);
    CHECK_FALSE(g[link_between(g, 2, nv(2))].healthy);
    for (std::uint32_t i = 0; i < 4; ++i) g[nv(i)].healthy = false;
    CHECK(rate_of(between(g, 0, 1).bandwidth) == 63);  // what PCIe gives
    CHECK(rate_of(between(g, 0, 7).bandwidth) == 22);
    CHECK(rate_of(between(g, 0, 7, health_view::as_built).bandwidth) == 450);
  }

  TEST_CASE("a dead GPU changes no pair of the others, and its own pairs are unknown in the compiled shape") {
    for (const auto id : catalogue_shape_names()) {
      CAPTURE(id);
      auto g = machine(id);
      const auto before = *catalogue_shape(id);
      const unsigned dead = before.devices / 2;
      g[dead].healthy = false;
      const auto after = compile_shape(g);
      REQUIRE(after.has_value());
      CHECK(after->devices == before.devices);
      CHECK(after->pcie_switches == before.pcie_switches);
      for (unsigned a = 0; a < before.devices; ++a)
        for (unsigned b = a + 1; b < before.devices; ++b) {
          const bool touched = a == dead || b == dead;
          CHECK(after->bandwidth.between(a, b) == (touched ? std::nullopt : before.bandwidth.between(a, b)));
        }
    }
  }

  TEST_CASE("random NVSwitch networks of several stages: the bandwidth is the smallest cut") {
    random_source rng{11};
    for (int round = 0; round < 200; ++round) {
      hardware_graph g;
      const auto a = add_part(g, vertex_kind::gpu, 0), b = add_part(g, vertex_kind::gpu, 1);
      const auto stages = static_cast<std::uint32_t>(rng.between(1, 6));
      std::vector<part_id> sw;
      for (std::uint32_t i = 0; i < stages; ++i) sw.push_back(add_part(g, vertex_kind::nvswitch, i));
      const auto some = [&](part_id x, part_id y) {
        if (rng.below(2) == 0) wire(g, x, y, static_cast<double>(rng.between(1, 40)) * 0.5, link_kind::nvlink);
      };
      some(a, b);
      for (const auto s : sw) some(a, s), some(b, s);
      for (std::size_t i = 0; i < sw.size(); ++i)
        for (std::size_t j = i + 1; j < sw.size(); ++j) some(sw[i], sw[j]);
      double cut = 1e9;
      for (std::uint32_t side = 0; side < (1U << stages); ++side) {  // which switches are on a's side
        const auto with_a = [&](part_id v) { return v == a || (v != b && ((side >> (v - 2)) & 1) != 0); };
        double sum = 0;
        for (auto [e, end] = boost::edges(g); e != end; ++e)
          if (with_a(boost::source(*e, g)) != with_a(boost::target(*e, g))) sum += g[*e].rate->count();
        cut = std::min(cut, sum);
      }
      const auto c = between(g, a, b);
      CHECK(c.joined == (cut > 0));
      CHECK(std::max(0.0, rate_of(c.bandwidth)) == doctest::Approx(cut));
    }
  }
}
