#include <doctest/doctest.h>

#include <string>

#include "berth/topology/catalogue/node_shapes.hpp"
#include "berth/topology/graph/compile.hpp"
#include "berth/topology/graph/node_graph.hpp"

namespace {

using namespace berth;

std::string difference(const node_shape& a, const node_shape& b) {
  if (a.host_links.size() != b.host_links.size()) return "number of host links";
  for (std::size_t i = 0; i < a.host_links.size(); ++i)
    if (a.host_links[i].devices != b.host_links[i].devices || a.host_links[i].rate != b.host_links[i].rate)
      return "host link " + std::to_string(i);
  return a.numa_bandwidth == b.numa_bandwidth ? "" : "between NUMA nodes";
}

}  // namespace

TEST_CASE("links to the host and between NUMA nodes: the catalogue's tables are those of its graphs") {
  for (const auto id : catalogue_shape_names()) {
    CAPTURE(std::string{id});
    const node_shape s = *catalogue_shape(id);
    const auto compiled = compile_shape(*make_node_graph(id));
    REQUIRE(compiled.has_value());
    CHECK(difference(s, *compiled) == "");
    device_mask behind = 0;
    for (const host_link& l : s.host_links) {
      behind |= l.devices;
      for (const host_link& m : s.host_links) {  // one inside the other, or apart
        const device_mask both = l.devices & m.devices;
        CHECK((both == 0 || both == l.devices || both == m.devices));
      }
    }
    CHECK(behind == s.all_devices());
  }
}

TEST_CASE("with its NVLinks broken a pair falls back to what PCIe and sockets give") {
  for (const auto id : catalogue_shape_names()) {
    CAPTURE(std::string{id});
    const node_shape s = *catalogue_shape(id);
    auto g = *make_node_graph(id);
    for (auto [e, end] = boost::edges(g); e != end; ++e)
      if (g[*e].kind == link_kind::nvlink) g[*e].healthy = false;
    const auto slow = compile_shape(g);
    REQUIRE(slow.has_value());
    for (unsigned a = 0; a < s.devices; ++a)
      for (unsigned b = 0; b < a; ++b) CHECK(s.host_path(a, b) == slow->bandwidth.between(a, b));
  }
  const node_shape dgx1 = *catalogue_shape("dgx1-v100");
  CHECK(dgx1.host_path(0, 1) == gigabytes_per_second{15.75});
  CHECK(dgx1.host_path(0, 4) == gigabytes_per_second{6});
  CHECK_FALSE(make_plain_shape("x", 2, "m", cpus(1), bytes{1}).host_path(0, 1).has_value());
}

TEST_CASE("a PCIe switch whose uplink lost lanes or is broken says so in the compiled shape") {
  auto g = *make_node_graph("dgx-a100-80gb");
  const auto uplink = [&](std::uint32_t index) {
    const auto sw = *find_part(g, vertex_kind::pcie_switch, index);
    for (auto [e, end] = boost::out_edges(sw, g); e != end; ++e)
      if (g[boost::target(*e, g)].kind == vertex_kind::numa) return *e;
    FAIL("no uplink");
    return *boost::edges(g).first;
  };
  lose_lanes(g, uplink(0), 8);
  g[uplink(1)].healthy = false;
  const node_shape s = *compile_shape(g);
  const auto rate = [&](device_mask m) {
    for (const host_link& l : s.host_links)
      if (l.devices == m) return l.rate->count();
    return -1.0;
  };
  CHECK(rate(0x3) == 15.75);
  CHECK(rate(0xc) == 0);
  CHECK(rate(0x30) == 31.5);
  CHECK(rate(0x4) == 31.5);
}
