#include <doctest/doctest.h>

#include <algorithm>
#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <tuple>
#include <vector>

#include "berth/cluster/node_count.hpp"
#include "berth/core/random.hpp"
#include "berth/policy/device_choice.hpp"
#include "berth/topology/catalogue/node_shapes.hpp"
#include "policy/needs_by_rules.hpp"

namespace {

using namespace berth;
using namespace berth_test;

/// Keys of all sets, so that the order reads as it is documented.
class rules {
 public:
  explicit rules(const node_shape& s) : s_{s}, masks_{std::size_t{1} << s.devices}, left_(masks_) {
    for (device_mask m = 0; m < masks_; ++m) own_.push_back(measure(m));
    std::vector<key> best(masks_);
    for (unsigned k = 2; k <= s.devices; ++k)
      for (device_mask m = 0; m < masks_; ++m) {
        if (count_bits(m) < k) continue;
        // The best of k members of m, by leaving out one member after the other: the same as trying every k of them.
        best[m] = count_bits(m) == k ? own_[m] : key{-9, 0, 999, 999};
        for (unsigned d = 0; d < s.devices && count_bits(m) > k; ++d)
          if ((m >> d & 1) != 0) {
            const key& v = best[m & ~bit(d)];
            best[m] = {std::max(best[m].slowest, v.slowest), 0, std::min(best[m].numa, v.numa),
                       std::min(best[m].switches, v.switches)};
          }
        left_[m].slowest += best[m].slowest;
        left_[m].numa += best[m].numa;
        left_[m].switches += best[m].switches;
      }
  }
  [[nodiscard]] std::optional<device_mask> best(const plain_node& n, const task_shape& t, numa_rule rule) const {
    std::optional<device_mask> out;
    for (device_mask set = n.pool;; set = (set - 1) & n.pool) {
      if (count_bits(set) == t.devices && allowed(n, t, set, rule) && (!out || better(n, t, set, *out))) out = set;
      if (set == 0) return out;
    }
  }

 private:
  struct key {
    double slowest = 0, total = 0;
    unsigned numa = 0, switches = 0;
  };
  [[nodiscard]] key measure(device_mask m) const {
    key k{std::numeric_limits<double>::infinity(), 0, 0, 0};
    for (unsigned a = 0; a < s_.devices; ++a)
      for (unsigned b = 0; b < a; ++b)
        if ((m >> a & 1) != 0 && (m >> b & 1) != 0) {
          const auto r = s_.bandwidth.between(a, b);
          k.slowest = std::min(k.slowest, r ? r->count() : -1.0);
          k.total += r ? r->count() : -1.0;
        }
    device_mask homed = 0, switched = 0;
    for (const auto& x : s_.numa) k.numa += (x.devices & m) != 0 ? 1U : 0U, homed |= x.devices;
    for (const device_mask x : s_.pcie_switches) k.switches += (x & m) != 0 ? 1U : 0U, switched |= x;
    if (!s_.numa.empty() && (m & ~homed) != 0) ++k.numa;
    if (!s_.pcie_switches.empty() && (m & ~switched) != 0) ++k.switches;
    return k;
  }
  [[nodiscard]] double nics(const plain_node& n, device_mask m) const {
    double sum = 0;
    bool rails = false;
    for (const auto& c : s_.nics) rails = rails || c.rail.has_value();
    for (std::size_t c = 0; c < s_.nics.size(); ++c)
      if (n.nic_works[c] && (!rails || s_.nics[c].rail) && (s_.nics[c].devices & m) != 0 && s_.nics[c].rate)
        sum += s_.nics[c].rate->count();
    return sum;
  }
  [[nodiscard]] bool better(const plain_node& n, const task_shape& t, device_mask a, device_mask b) const {
    const key &x = own_[a], &y = own_[b];
    const key &p = left_[n.pool & ~a], &q = left_[n.pool & ~b];
    const double c = t.bind.near_nic ? nics(n, a) : 0, d = t.bind.near_nic ? nics(n, b) : 0;
    const auto first = std::tuple(-x.slowest, -x.total, x.numa, x.switches, -c, -p.slowest, p.numa, p.switches,
                                  -own_[n.pool & ~a].total);
    const auto second = std::tuple(-y.slowest, -y.total, y.numa, y.switches, -d, -q.slowest, q.numa, q.switches,
                                   -own_[n.pool & ~b].total);
    if (first != second) return first < second;
    for (unsigned i = 0; i < 64; ++i)
      if (((a ^ b) >> i & 1) != 0) return (a >> i & 1) != 0;
    return false;
  }
  const node_shape& s_;
  std::size_t masks_;
  std::vector<key> own_, left_;
};

node_shape machine(std::string_view id) {
  node_shape s = *catalogue_shape(id);
  s.memory = gibibytes(1024);
  return s;
}

/// Compares on every free mask (or some) with one random state and task each.
int differences(const node_shape& s, random_source& r, int states, unsigned step = 1) {
  const auto table = best_bandwidth{}.compile(s);
  const rules by{s};
  int wrong = 0;
  for (int i = 0; i < states; ++i) {
    random_node n{s, r};
    for (device_mask free = 1; free <= s.all_devices(); free += step == 1 ? 1 : r.between(1, step)) {
      n.offer(free, r.below(4) == 0 ? free & r() : free);
      const task_shape t = random_task(s, r, static_cast<unsigned>(r.between(1, count_bits(free))));
      std::optional<device_mask> want;
      if (t.bind.numa == numa_rule::best_effort) {
        want = by.best(n.plain, t, numa_rule::restricted);
        if (!want) want = by.best(n.plain, t, numa_rule::none);
      } else {
        want = by.best(n.plain, t, t.bind.numa);
      }
      if (table.choose(n.seen, t) != want.value_or(0)) ++wrong;
      device_mask some = 0;
      task_binding b;
      if (n.seen.first_fit(t, some, b) != want.has_value()) ++wrong;
      if (want && (!n.seen.bind(t, *want, b) || (some & ~n.plain.pool) != 0 || count_bits(some) != t.devices)) ++wrong;
    }
  }
  return wrong;
}

}  // namespace

TEST_CASE("every machine of the catalogue, every free mask, random residuals: the choice is the best by the rules") {
  random_source r{41};
  for (const auto id : catalogue_shape_names()) {
    CAPTURE(std::string{id});
    const node_shape s = machine(id);
    if (s.devices > 10) continue;
#if defined(__OPTIMIZE__)
    CHECK(differences(s, r, 12) == 0);
#else
    CHECK(differences(s, r, 1, id == "dgx1-v100" || id == "pcie-a100-8" ? 1 : 4) == 0);
#endif
  }
}

TEST_CASE("how many tasks fit on a node is what exhaustive packing finds") {
  random_source r{42};
  const node_shape small[] = {machine("dgx1-v100"), machine("dgx-a100-80gb"), machine("gb200-tray"), machine("gh200")};
  for (int i = 0; i < 400; ++i) {
    const node_shape& s = small[r.below(4)];
    random_node n{s, r};
    device_mask free = r() & s.all_devices();
    if (count_bits(free) > 6) free = lowest_set(free, 6);
    n.offer(free, free);
    if (free == 0) continue;
    const task_shape t = random_task(s, r, static_cast<unsigned>(r.between(1, 3)));
    const auto strict = t.bind.numa == numa_rule::restricted;
    if (strict && (n.layout.fewest_nodes(t.devices) > 1 || n.layout.fewest_for(t.cpu.count(), 0) > 1)) continue;
    // The most tasks at once, one after the other in any way.
    const auto pack = [&](const auto& self, node_residual now) -> std::uint32_t {
      std::uint32_t most = 0;
      for (device_mask set = now.pool; set != 0; set = (set - 1) & now.pool) {
        task_binding b;
        if (count_bits(set) != t.devices || !now.bind(t, set, b)) continue;
        std::vector<std::int64_t> left(now.left, now.left + n.layout.amounts());
        detail::apply_binding(n.layout, left.data(), b, t.cpu, t.memory, set, -1);
        node_residual next = now;
        next.left = left.data();
        next.pool &= ~set, next.free &= ~set, next.cpu -= t.cpu, next.memory -= t.memory;
        most = std::max(most, 1 + self(self, next));
      }
      return most;
    };
    std::uint32_t limit = count_bits(free) / t.devices;
    while (limit > 0 && (t.cpu.count() * limit > n.plain.cpu || t.memory.count() * limit > n.plain.memory)) --limit;
    CAPTURE(s.name);
    CAPTURE(static_cast<int>(t.bind.numa));
    CAPTURE(t.bind.keep_ratio);
    CAPTURE(free);
    CHECK(detail::count_fits(n.seen, t, limit) == pack(pack, n.seen));
    // And whatever the policy takes one after the other reaches it.
    const auto table = best_bandwidth{}.compile(s);
    std::uint32_t reached = 0;
    flat_array<std::int64_t> left = n.left;
    node_residual now = n.seen;
    now.left = left.data();
    for (device_mask set; (set = table.choose(now, t)) != 0; ++reached) {
      task_binding b;
      REQUIRE(now.bind(t, set, b));
      detail::apply_binding(n.layout, left.data(), b, t.cpu, t.memory, set, -1);
      now.pool &= ~set, now.free &= ~set, now.cpu -= t.cpu, now.memory -= t.memory;
    }
    CHECK(detail::count_fits(n.seen, t, limit) == reached);
  }
}

TEST_CASE("sixteen devices: what the table's ranks choose is best, also with residuals") {
  random_source r{43};
  const node_shape s = machine("dgx2-v100");
#if defined(__OPTIMIZE__)
  CHECK(differences(s, r, 2, 4000) == 0);
#endif
  const auto table = best_bandwidth{}.compile(s);
  random_node n{s, r};
  n.left = n.layout.capacity();
  n.seen.left = n.left.data();
  n.seen.cpu = s.cpu;
  n.offer(0xffff, 0xffff);
  task_shape t{.devices = 2, .bind = {.numa = numa_rule::single_node, .host = bytes_per_second{20'000'000'000}}};
  // Two GPUs under one switch share 15.75 GB/s to the host, so that 20 need two switches.
  CHECK(table.choose(n.seen, t) == 0b101);
  t.bind.host = bytes_per_second{15'000'000'000};
  CHECK(table.choose(n.seen, t) == 0b11);
  t.devices = 16, t.bind.numa = numa_rule::single_node;
  CHECK(table.choose(n.seen, t) == 0);
  t.bind.numa = numa_rule::restricted;
  CHECK(table.choose(n.seen, t) == 0xffff);
}
