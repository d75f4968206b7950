#include <doctest/doctest.h>

#include <algorithm>
#include <cstdint>
#include <string>

#include "berth/cluster/node_residual.hpp"
#include "berth/policy/device_choice.hpp"
#include "berth/topology/catalogue/node_shapes.hpp"
#include "berth/topology/graph/compile.hpp"
#include "berth/topology/graph/node_graph.hpp"

// What other schedulers get wrong, and machines that are not all alike inside.

namespace {

using namespace berth;

double inside(const node_shape& s, device_mask m) {
  double sum = 0;
  for (unsigned a = 0; a < s.devices; ++a)
    for (unsigned b = 0; b < a; ++b)
      if ((m >> a & 1) != 0 && (m >> b & 1) != 0) sum += s.bandwidth.rank(a, b);
  return sum;
}

/// Two GPUs with an NVLink bridge, two more under the same PCIe switch, two under another switch of the socket, two on
/// the other socket. All PCIe and socket links at one rate, so that bandwidth alone does not tell them apart.
node_shape unlike_ways() {
  hardware_graph g;
  for (std::uint32_t i = 0; i < 8; ++i) add_part(g, vertex_kind::gpu, i);
  const part_id s0 = add_part(g, vertex_kind::pcie_switch, 0), s1 = add_part(g, vertex_kind::pcie_switch, 1),
                s2 = add_part(g, vertex_kind::pcie_switch, 2), n0 = add_part(g, vertex_kind::numa, 0),
                n1 = add_part(g, vertex_kind::numa, 1);
  const auto wire = [&](part_id a, part_id b, link_kind kind, double rate) {
    berth::link l;
    l.kind = kind;
    l.rate = gigabytes_per_second{rate};
    join(g, a, b, l);
  };
  for (part_id d = 0; d < 8; ++d) wire(d, d < 4 ? s0 : d < 6 ? s1 : s2, link_kind::pcie, 30);
  wire(s0, n0, link_kind::pcie, 30);
  wire(s1, n0, link_kind::pcie, 30);
  wire(s2, n1, link_kind::pcie, 30);
  wire(n0, n1, link_kind::upi, 30);
  wire(0, 1, link_kind::nvlink, 50);
  return *compile_shape(g);
}

}  // namespace

TEST_CASE("on a mesh of unequal links the set with the most bandwidth inside is taken, not the first that is linked") {
  const node_shape s = *catalogue_shape("dgx1-v100");
  const auto table = best_bandwidth{}.compile(s);
  for (device_mask free = 1; free < 256; ++free)
    for (unsigned k = 2; k <= count_bits(free); ++k) {
      float best = -2;
      double most = 0;
      for (device_mask set = free; set != 0; set = (set - 1) & free) {
        if (count_bits(set) != k) continue;
        float least = 1e9F;
        for_each_bit(set, [&](unsigned a) {
          for_each_bit(set & low_bits(a), [&](unsigned b) { least = std::min(least, s.bandwidth.rank(a, b)); });
        });
        if (least > best || (least == best && inside(s, set) > most)) best = least, most = inside(s, set);
      }
      CHECK(inside(s, table.choose(free, k)) == most);
    }
}

TEST_CASE("a pair prefers NVLink, then one PCIe switch, then one socket, then two: never the other way round") {
  const node_shape s = unlike_ways();
  const auto table = best_bandwidth{}.compile(s);
  CHECK(table.choose(0xff, 2) == 0b11);  // the bridge
  CHECK(table.choose(0b1111'1110, 2) ==
        0b1100'0000);  // one switch; of three such pairs the one that leaves most together
  CHECK(table.choose(0b0101'1010, 2) == 0b0000'1010);  // one switch rather than one socket or two
  CHECK(table.choose(0b0101'0010, 2) == 0b0001'0010);  // one socket rather than two
  CHECK(table.choose(0b0100'0010, 2) == 0b0100'0010);  // whatever there is
  // A slow link behind a switch counts more than the switch: bandwidth comes first.
  const node_shape boards = *catalogue_shape("pcie-l40s-8");
  CHECK(best_bandwidth{}.compile(boards).choose(0b0011'0001, 2) == 0b0011'0000);
}

TEST_CASE("a lost GPU, or one in MIG mode, is missing from the mask and stops nothing else") {
  for (const auto id : catalogue_shape_names()) {
    const node_shape s = *catalogue_shape(id);
    const auto table = best_bandwidth{}.compile(s);
    CAPTURE(std::string{id});
    for (unsigned lost = 0; lost < s.devices; ++lost) {
      const device_mask rest = s.all_devices() & ~bit(lost);
      for (unsigned k = 1; k < s.devices; ++k) CHECK(count_bits(table.choose(rest, k)) == k);
      const machine_layout y{s, s.cpu, gibibytes(64)};
      // The other socket is still served as one.
      const std::size_t home = s.numa_of(lost);
      for (std::size_t m = 0; m < s.numa.size(); ++m) {
        const node_residual n{&y, y.capacity().data(), ~std::uint64_t{0}, rest, rest, s.cpu, gibibytes(64)};
        const task_shape t{.devices = count_bits(s.numa[m].devices), .bind = {.numa = numa_rule::single_node}};
        if (m == home || t.devices == 0) continue;
        CHECK(count_bits(table.choose(n, t)) == t.devices);
      }
    }
  }
}

TEST_CASE("after an unhealthy NVLink sets that still have theirs come first, and the pair counts as its PCIe path") {
  auto g = *make_node_graph("pcie-a100-8");
  for (auto [e, end] = boost::edges(g); e != end; ++e)
    if (g[*e].kind == link_kind::nvlink && boost::source(*e, g) + boost::target(*e, g) == 1) g[*e].healthy = false;
  const node_shape s = *compile_shape(g);
  CHECK(s.bandwidth.between(0, 1) == gigabytes_per_second{31.5});
  const auto table = best_bandwidth{}.compile(s);
  CHECK(table.choose(0xff, 2) == 0b1100);
  CHECK(table.choose(0b1001'0011, 2) == 0b11);  // still better than across sockets
}

TEST_CASE("CPUs and memory near the devices: none, best effort, restricted, one node") {
  const node_shape s = *catalogue_shape("dgx-h100");  // two sockets of 112 CPUs and four GPUs
  const auto table = best_bandwidth{}.compile(s);
  const machine_layout y{s, s.cpu, gibibytes(2048)};
  auto left = y.capacity();
  node_residual n{&y, left.data(), ~std::uint64_t{0}, 0xff, 0xff, s.cpu, gibibytes(2048)};
  task_shape t{.devices = 2, .cpu = cpus(40), .memory = gibibytes(100)};
  left[0] = cpus(30).count();  // the first socket is short of CPUs
  task_binding b;
  CHECK(table.choose(n, t) == 0b11);
  t.bind.numa = numa_rule::single_node;
  CHECK(table.choose(n, t) == 0b11'0000);
  REQUIRE(n.bind(t, 0b11'0000, b));
  CHECK(b.cpu_nodes == 2);
  CHECK(b.memory_nodes == 2);
  t.bind.numa = numa_rule::restricted;
  CHECK(table.choose(n, t) == 0b11'0000);
  t.bind.numa = numa_rule::best_effort;
  CHECK(table.choose(n, t) == 0b11'0000);

  // No socket has that many CPUs: one node refuses, restricted takes both, and both are the fewest that do.
  t.cpu = cpus(150);
  left[0] = cpus(112).count();
  t.bind.numa = numa_rule::single_node;
  CHECK(table.choose(n, t) == 0);
  t.bind.numa = numa_rule::restricted;
  CHECK(table.choose(n, t) == 0b11);
  REQUIRE(n.bind(t, 0b11, b));
  CHECK(b.cpu_nodes == 3);
  CHECK(b.memory_nodes == 1);
  // One socket would do on an empty machine, but not on this one: restricted waits, best effort takes both.
  t.cpu = cpus(80);
  left[0] = left[1] = cpus(60).count();
  CHECK(table.choose(n, t) == 0);
  t.bind.numa = numa_rule::best_effort;
  CHECK(table.choose(n, t) == 0b11);
  REQUIRE(n.bind(t, 0b11, b));
  CHECK(b.cpu_nodes == 0);
  // Two GPUs on two sockets are more than such a machine needs for two.
  n.pool = n.free = 0b1'0001;
  t.cpu = cpus(1);
  t.bind.numa = numa_rule::restricted;
  CHECK(table.choose(n, t) == 0);
  t.bind.numa = numa_rule::best_effort;
  CHECK(table.choose(n, t) == 0b1'0001);
}

TEST_CASE("a task that wants most CPUs of a socket leaves the other GPUs their share") {
  const node_shape s = *catalogue_shape("azure-ndv5");  // 96 CPUs, 8 GPUs
  const machine_layout y{s, s.cpu, gibibytes(64)};
  const node_residual n{&y, y.capacity().data(), ~std::uint64_t{0}, 0xff, 0xff, s.cpu, gibibytes(64)};
  const auto table = best_bandwidth{}.compile(s);
  task_shape t{.devices = 1, .cpu = cpus(12), .bind = {.keep_ratio = true}};
  CHECK(table.choose(n, t) == 1);
  t.cpu = cpus(13);
  CHECK(table.choose(n, t) == 0);
  node_residual fewer = n;
  fewer.free = fewer.pool = 0b111'1111;  // one GPU is broken: its CPUs are nobody's share
  CHECK(table.choose(fewer, t) != 0);
  t.bind.keep_ratio = false;
  CHECK(table.choose(n, t) == 1);
}

TEST_CASE("GPUs with a working NIC of the compute fabric beside them; more NICs are better") {
  const node_shape p4d = *catalogue_shape("dgx-a100-80gb");  // two GPUs and two NICs per switch
  const machine_layout y{p4d, p4d.cpu, gibibytes(64)};
  node_residual n{&y, y.capacity().data(), ~std::uint64_t{0}, 0xff, 0xff, p4d.cpu, gibibytes(64)};
  const auto table = best_bandwidth{}.compile(p4d);
  task_shape t{.devices = 2, .bind = {.near_nic = true}};
  CHECK(table.choose(n, t) == 0b11);
  n.nics &= ~bit(0);  // one of the two NICs of the first switch is down
  CHECK(table.choose(n, t) == 0b1100);
  n.nics &= ~bit(1);
  CHECK(table.choose(n, t) == 0b1100);
  n.free = n.pool = 0b111;
  CHECK(table.choose(n, t) == 0);  // only GPU 2 has a NIC left
  t.devices = 1;
  CHECK(table.choose(n, t) == 0b100);
  const node_shape box = *catalogue_shape("pcie-a100-8");  // one NIC, on the second socket
  const machine_layout z{box, box.cpu, gibibytes(64)};
  const node_residual m{&z, z.capacity().data(), ~std::uint64_t{0}, 0xff, 0xff, box.cpu, gibibytes(64)};
  CHECK(best_bandwidth{}.compile(box).choose(m, t) == 0b1'0000);
}

TEST_CASE("more than sixteen devices with needs: found whenever there is a set") {
  node_shape s = make_plain_shape("big", 32, "m", cpus(128), gibibytes(1024));
  for (unsigned a = 0; a < 32; ++a)
    for (unsigned b = 0; b < a; ++b) s.bandwidth.set(a, b, gigabytes_per_second{a / 8 == b / 8 ? 50.0 : 10.0});
  for (unsigned m = 0; m < 4; ++m) {
    s.numa.push_back({low_bits(8) << (8 * m), cpus(32), gibibytes(256)});
    s.host_links.push_back({low_bits(4) << (8 * m), gigabytes_per_second{30}});
    s.host_links.push_back({low_bits(4) << (8 * m + 4), gigabytes_per_second{30}});
  }
  const auto table = best_bandwidth{}.compile(s);
  const machine_layout y{s, s.cpu, s.memory};
  auto left = y.capacity();
  const node_residual n{&y, left.data(), ~std::uint64_t{0}, s.all_devices(), s.all_devices(), s.cpu, s.memory};
  task_shape t{
      .devices = 4, .cpu = cpus(8), .bind = {.numa = numa_rule::single_node, .host = bytes_per_second{60'000'000'000}}};
  const device_mask set = table.choose(n, t);
  CHECK(count_bits(set) == 4);
  CHECK(n.admits(t, set));
  CHECK(count_bits(set & 0xf) == 2);  // two halves of a group share 30 GB/s each
  for (std::size_t m = 0; m < 3; ++m) left[m] = cpus(7).count();
  CHECK((table.choose(n, t) & ~device_mask{0xff00'0000}) == 0);
  CHECK(count_bits(table.choose(n, t)) == 4);
  left[y.link_at(7)] = 29'000'000'000;  // the second half of the last group
  CHECK(table.choose(n, t) == 0);
}
