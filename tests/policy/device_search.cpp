// Machines with more devices than a table of all sets can hold, against trying every set of those that are free.
#include "berth/policy/device_search.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <tuple>
#include <vector>

#include "berth/core/random.hpp"
#include "berth/policy/device_choice.hpp"
#include "berth/topology/catalogue/node_shapes.hpp"
#include "policy/needs_by_rules.hpp"

using namespace berth;
using namespace berth_test;

namespace {

struct key {
  double slowest = std::numeric_limits<double>::infinity(), total = 0;
  unsigned numa = 0, switches = 0;
};
key measure(const node_shape& s, device_mask m) {
  key k;
  for_each_bit(m, [&](unsigned a) {
    for_each_bit(m & low_bits(a), [&](unsigned b) {
      const auto r = s.bandwidth.between(a, b);
      k.slowest = std::min(k.slowest, r ? r->count() : -1.0);
      k.total += r ? r->count() : -1.0;
    });
  });
  device_mask homed = 0, switched = 0;
  for (const auto& x : s.numa) k.numa += (x.devices & m) != 0 ? 1U : 0U, homed |= x.devices;
  for (const device_mask x : s.pcie_switches) k.switches += (x & m) != 0 ? 1U : 0U, switched |= x;
  if (!s.numa.empty() && (m & ~homed) != 0) ++k.numa;
  if (!s.pcie_switches.empty() && (m & ~switched) != 0) ++k.switches;
  return k;
}
/// Rule 6 by trying every set of every size.
key left(const node_shape& s, device_mask rest) {
  std::vector<key> best(65, key{-1e9, 0, 999, 999});
  for (device_mask m = rest; m != 0; m = (m - 1) & rest) {
    const key k = measure(s, m);
    key& b = best[count_bits(m)];
    b = {std::max(b.slowest, k.slowest), 0, std::min(b.numa, k.numa), std::min(b.switches, k.switches)};
  }
  key sum{0, measure(s, rest).total, 0, 0};
  for (unsigned k = 2; k <= count_bits(rest); ++k)
    sum.slowest += best[k].slowest, sum.numa += best[k].numa, sum.switches += best[k].switches;
  return sum;
}
double nics(const node_shape& s, const plain_node& n, device_mask m) {
  double sum = 0;
  bool rails = false;
  for (const auto& c : s.nics) rails = rails || c.rail.has_value();
  for (std::size_t c = 0; c < s.nics.size(); ++c)
    if (n.nic_works[c] && (!rails || s.nics[c].rail) && (s.nics[c].devices & m) != 0 && s.nics[c].rate)
      sum += s.nics[c].rate->count();
  return sum;
}
std::optional<device_mask> best_by_trying(const plain_node& n, const task_shape& t, numa_rule rule) {
  const node_shape& s = *n.shape;
  using order = std::tuple<double, double, unsigned, unsigned, double>;
  std::optional<order> top;
  std::vector<device_mask> equals;
  for (device_mask set = n.pool; set != 0; set = (set - 1) & n.pool) {
    if (count_bits(set) != t.devices || !allowed(n, t, set, rule)) continue;
    const key k = measure(s, set);
    const order o{-k.slowest, -k.total, k.numa, k.switches, t.bind.near_nic ? -nics(s, n, set) : 0};
    if (!top || o < *top) top = o, equals.clear();
    if (o == *top) equals.push_back(set);
  }
  std::optional<device_mask> best;
  key kept;
  for (const device_mask set : equals) {
    const key k = left(s, n.pool & ~set);
    const auto better = [&] {
      const auto a = std::tuple(-k.slowest, k.numa, k.switches, -k.total),
                 b = std::tuple(-kept.slowest, kept.numa, kept.switches, -kept.total);
      if (a != b) return a < b;
      const device_mask differ = set ^ *best;
      return (set & (differ & (~differ + 1))) != 0;
    };
    if (!best || better()) best = set, kept = k;
  }
  return best;
}

/// A box of PCIe switches with `per` devices each; every second one a socket; a NIC per switch; some pairs bridged.
node_shape switch_box(unsigned devices, unsigned per, bool bridges) {
  node_shape s = make_plain_shape("box", devices, "m", cpus(128), gibibytes(1024));
  const unsigned switches = devices / per, half = switches / 2 * per;
  s.numa = {{low_bits(half), cpus(64), gibibytes(512)},
            {low_bits(devices) & ~low_bits(half), cpus(64), gibibytes(512)}};
  for (unsigned w = 0; w < switches; ++w) {
    const device_mask behind = low_bits(per) << (w * per);
    s.pcie_switches.push_back(behind);
    s.host_links.push_back({behind, gigabytes_per_second{25}});
    nic_shape n;
    n.devices = behind;
    n.rate = gigabytes_per_second{w % 2 == 0 ? 50.0 : 25.0};
    s.nics.push_back(n);
  }
  for (unsigned a = 0; a < devices; ++a)
    for (unsigned b = 0; b < a; ++b)
      s.bandwidth.set(a, b, gigabytes_per_second{a / per == b / per ? 25.0 : (a < half) == (b < half) ? 20.5 : 12.25});
  for (unsigned a = 0; bridges && a + 1 < devices; a += 3) s.bandwidth.set(a, a + 1, gigabytes_per_second{56});
  return s;
}
node_shape random_box(random_source& r, unsigned devices) {
  node_shape s = switch_box(devices, 4, false);
  for (unsigned a = 0; a < devices; ++a)
    for (unsigned b = 0; b < a; ++b)
      if (r.below(3) == 0) s.bandwidth.set(a, b, gigabytes_per_second{static_cast<double>(r.between(1, 4)) * 12.5});
  return s;
}
/// At most `most` random devices.
device_mask some(random_source& r, unsigned devices, unsigned most) {
  device_mask m = 0;
  for (unsigned tries = static_cast<unsigned>(r.between(1, most)); tries != 0; --tries)
    m |= bit(static_cast<unsigned>(r.below(devices)));
  return m;
}

}  // namespace

TEST_CASE("machines of 16 to 32 devices: of up to ten that are free the best by the rules, with needs and without") {
  random_source r{77};
  std::vector<node_shape> boxes{*catalogue_shape("dgx2-v100"), switch_box(20, 4, false), switch_box(20, 5, true),
                                switch_box(24, 4, true),       switch_box(24, 6, false), switch_box(32, 8, true)};
  boxes[0].memory = gibibytes(1024);
  for (const unsigned devices : {20U, 24U}) boxes.push_back(random_box(r, devices));
  for (const node_shape& s : boxes) {
    CAPTURE(s.name);
    CAPTURE(s.devices);
#if defined(__OPTIMIZE__)
    const int rounds = 150;
#else
    const int rounds = s.devices > 16 ? 30 : 0;  // the table of 16 devices takes seconds to compile here
#endif
    if (rounds == 0) continue;
    const auto table = best_bandwidth{}.compile(s);
    for (int i = 0; i < rounds; ++i) {
      random_node n{s, r};
      const device_mask free = some(r, s.devices, 10);
      n.offer(free, r.below(4) == 0 ? free & r() : free);
      const auto count = static_cast<unsigned>(r.between(1, std::min(6U, count_bits(free))));
      CAPTURE(free);
      CAPTURE(count);
      plain_node whole = n.plain;
      whole.pool = free;
      whole.cpu = s.cpu.count(), whole.memory = s.memory.count();
      REQUIRE(table.choose(free, count) == best_by_trying(whole, {.devices = count}, numa_rule::none));
      const task_shape t = random_task(s, r, count);
      std::optional<device_mask> want;
      if (t.bind.numa == numa_rule::best_effort) {
        want = best_by_trying(n.plain, t, numa_rule::restricted);
        if (!want) want = best_by_trying(n.plain, t, numa_rule::none);
      } else {
        want = best_by_trying(n.plain, t, t.bind.numa);
      }
      CAPTURE(static_cast<int>(t.bind.numa));
      REQUIRE(table.choose(n.seen, t) == want.value_or(0));
    }
  }
}

TEST_CASE(
    "large machines that are mostly free: no better bottleneck or sum is missed where rules tell few sets apart") {
  random_source r{78};
  for (const unsigned per : {4U, 8U}) {
    const node_shape s = switch_box(32, per, false);
    const auto table = best_bandwidth{}.compile(s);
    // All devices of a switch are alike, so trying numbers of devices per switch is trying everything.
    for (unsigned count = 2; count <= 16; ++count) {
      const device_mask free = s.all_devices() & ~some(r, 32, 6);
      key best{-1, -1, 0, 0};
      const auto shares = [&](const auto& self, unsigned w, device_mask set) -> void {
        if (count_bits(set) > count) return;
        if (w == 32 / per) {
          const key k = measure(s, set);
          if (count_bits(set) == count && std::tuple(k.slowest, k.total) > std::tuple(best.slowest, best.total))
            best = k;
          return;
        }
        const device_mask here = free & low_bits(per) << (w * per);
        for (unsigned n = 0; n <= count_bits(here); ++n) self(self, w + 1, set | lowest_set(here, n));
      };
      shares(shares, 0, 0);
      const key got = measure(s, table.choose(free, count));
      CAPTURE(per);
      CAPTURE(count);
      CHECK(got.slowest == best.slowest);
      CHECK(got.total == best.total);
    }
  }
}
