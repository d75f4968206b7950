#include "berth/policy/device_choice.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <vector>

#include "berth/core/random.hpp"
#include "berth/topology/catalogue/node_shapes.hpp"

namespace {

using namespace berth;

static_assert(device_policy<best_bandwidth> && device_policy<lowest_index>);
static_assert(noexcept(std::declval<const best_bandwidth::table&>().choose(device_mask{}, 1U)));
static_assert(noexcept(std::declval<const best_bandwidth::table&>().choose(node_residual{}, task_shape{})));

#if defined(__OPTIMIZE__)
constexpr int random_tables = 60;
#else
constexpr int random_tables = 3;
#endif

/// Rank of a pair as documented: the rate, else the order, and what has neither is below everything else.
double rank(const node_shape& s, unsigned a, unsigned b) {
  if (const auto r = s.bandwidth.between(a, b)) return r->count();
  return s.bandwidth.order(a, b).value_or(-1.0F);
}
double bottleneck(const node_shape& s, device_mask m) {
  double least = std::numeric_limits<double>::infinity();
  for_each_bit(m, [&](unsigned a) {
    for_each_bit(m, [&](unsigned b) {
      if (a < b) least = std::min(least, rank(s, a, b));
    });
  });
  return least;
}
double total(const node_shape& s, device_mask m) {
  double sum = 0;
  for_each_bit(m, [&](unsigned a) {
    for_each_bit(m, [&](unsigned b) {
      if (a < b) sum += rank(s, a, b);
    });
  });
  return sum;
}

/// The rules of `best_bandwidth`, word by word, by trying every set.
class by_the_rules {
 public:
  explicit by_the_rules(const node_shape& s) : shape_{s}, masks_{std::size_t{1} << s.devices} {
    for (device_mask m = 0; m < masks_; ++m) bottleneck_.push_back(bottleneck(s, m)), total_.push_back(total(s, m));
    for (device_mask m = 0; m < masks_; ++m) {
      double fast = 0;
      unsigned sockets = 0, switches = 0;
      for (unsigned k = 2; k <= count_bits(m); ++k) {
        double best = -std::numeric_limits<double>::infinity();
        unsigned fewest_sockets = 99, fewest_switches = 99;
        for (device_mask set = m; set != 0; set = (set - 1) & m) {
          if (count_bits(set) != k) continue;
          best = std::max(best, bottleneck_[set]);
          fewest_sockets = std::min(fewest_sockets, numa_nodes(set));
          fewest_switches = std::min(fewest_switches, pcie_switches(set));
        }
        fast += best;
        sockets += fewest_sockets;
        switches += fewest_switches;
      }
      left_.push_back(fast);
      left_sockets_.push_back(sockets);
      left_switches_.push_back(switches);
    }
  }
  [[nodiscard]] device_mask choose(device_mask free, unsigned count) const {
    std::optional<device_mask> best;
    for (device_mask set = 0; set < masks_; ++set)
      if ((set & ~free) == 0 && count_bits(set) == count && (!best || better(set, *best, free))) best = set;
    return best.value_or(0);
  }

 private:
  [[nodiscard]] unsigned numa_nodes(device_mask m) const {
    unsigned n = 0;
    device_mask all = 0;
    for (const auto& x : shape_.numa) n += (x.devices & m) != 0 ? 1U : 0U, all |= x.devices;
    return n + (!shape_.numa.empty() && (m & ~all) != 0 ? 1U : 0U);
  }
  [[nodiscard]] unsigned pcie_switches(device_mask m) const {
    unsigned n = 0;
    device_mask all = 0;
    for (const auto x : shape_.pcie_switches) n += (x & m) != 0 ? 1U : 0U, all |= x;
    return n + (!shape_.pcie_switches.empty() && (m & ~all) != 0 ? 1U : 0U);
  }
  [[nodiscard]] bool better(device_mask a, device_mask b, device_mask free) const {
    const device_mask rest_a = free & ~a, rest_b = free & ~b;
    if (bottleneck_[a] != bottleneck_[b]) return bottleneck_[a] > bottleneck_[b];
    if (total_[a] != total_[b]) return total_[a] > total_[b];
    if (numa_nodes(a) != numa_nodes(b)) return numa_nodes(a) < numa_nodes(b);
    if (pcie_switches(a) != pcie_switches(b)) return pcie_switches(a) < pcie_switches(b);
    if (left_[rest_a] != left_[rest_b]) return left_[rest_a] > left_[rest_b];
    if (left_sockets_[rest_a] != left_sockets_[rest_b]) return left_sockets_[rest_a] < left_sockets_[rest_b];
    if (left_switches_[rest_a] != left_switches_[rest_b]) return left_switches_[rest_a] < left_switches_[rest_b];
    if (total_[rest_a] != total_[rest_b]) return total_[rest_a] > total_[rest_b];
    for (unsigned d = 0; d < 64; ++d)
      if (((a ^ b) >> d & 1) != 0) return (a >> d & 1) != 0;
    return false;
  }
  const node_shape& shape_;
  std::size_t masks_;
  std::vector<double> bottleneck_, total_, left_;
  std::vector<unsigned> left_sockets_, left_switches_;
};

node_shape unknown(unsigned n) {
  return make_plain_shape("test", n, "m", cpus(1), gibibytes(1));
}
void link(node_shape& s, unsigned a, unsigned b, double rate) {
  s.bandwidth.set(a, b, gigabytes_per_second{rate});
}
node_shape all_pairs(unsigned n, double rate) {
  node_shape s = unknown(n);
  for (unsigned a = 0; a < n; ++a)
    for (unsigned b = 0; b < a; ++b) link(s, a, b, rate);
  return s;
}
/// Fast pairs (0,1), (2,3), … on a slower bus.
node_shape in_pairs(unsigned n, double fast, double slow) {
  node_shape s = all_pairs(n, slow);
  for (unsigned a = 0; a + 1 < n; a += 2) link(s, a, a + 1, fast);
  return s;
}
/// Groups of `size` joined at `inside`, everything else at `outside`.
node_shape in_groups(unsigned n, unsigned size, double inside, double outside) {
  node_shape s = unknown(n);
  for (unsigned a = 0; a < n; ++a)
    for (unsigned b = 0; b < a; ++b) link(s, a, b, a / size == b / size ? inside : outside);
  return s;
}

/// Compares every free mask and every count.
int differences(const node_shape& s) {
  const auto table = best_bandwidth{}.compile(s);
  const by_the_rules rules{s};
  int wrong = 0;
  for (device_mask free = 0; free <= s.all_devices(); ++free)
    for (unsigned count = 0; count <= s.devices; ++count)
      if (table.choose(free, count) != (count <= count_bits(free) ? rules.choose(free, count) : 0)) ++wrong;
  return wrong;
}

}  // namespace

TEST_CASE("the choice follows the documented order of rules on random tables, for every free mask and count") {
  random_source random{1};
  // Few values make ties; the odd ones are PCIe rates that no binary fraction holds.
  const std::vector<std::vector<double>> palettes{{25, 50}, {31.508, 63.015}, {26.562, 450, 0.1}, {50, 25, 6.3, 0}};
  constexpr float orders[] = {-0.6875F, -0.75F, 50};  // of unknown rate: over PCIe, sockets, two NVLinks
  for (int round = 0; round < random_tables; ++round) {
    const auto n = static_cast<unsigned>(round % 4 == 0 ? 8 : random.between(1, 7));
    node_shape s = unknown(n);
    const auto& palette = palettes[random.below(palettes.size())];
    const bool with_unknown = random.below(2) == 0;
    for (unsigned a = 0; a < n; ++a)
      for (unsigned b = 0; b < a; ++b)
        if (!with_unknown || random.below(4) != 0) link(s, a, b, palette[random.below(palette.size())]);
        else if (const auto kind = random.below(4); kind != 0) s.bandwidth.set_unknown(a, b, orders[kind - 1]);
    if (random.below(2) == 0)
      for (unsigned d = 0; d + 1 < n; d += 2) s.pcie_switches.push_back(bit(d) | bit(d + 1));
    if (random.below(2) == 0) {
      s.numa = {{}, {}};
      for (unsigned d = 0; d < n; ++d) s.numa[random.below(2)].devices |= bit(d);
    }
    CAPTURE(round);
    CHECK(differences(s) == 0);
  }
}

TEST_CASE("the choice follows the documented order of rules on structured machines") {
  CHECK(differences(in_pairs(8, 50, 31.508)) == 0);
  CHECK(differences(in_groups(8, 4, 63.015, 26.562)) == 0);
  CHECK(differences(all_pairs(8, 450)) == 0);
  CHECK(differences(unknown(6)) == 0);
  node_shape sockets = all_pairs(8, 0.1);  // all alike but for the sockets
  sockets.numa = {{0b01010101, {}, {}}, {0b10101010, {}, {}}};
  CHECK(differences(sockets) == 0);
  const auto table = best_bandwidth{}.compile(sockets);
  CHECK(table.choose(0xff, 4) == 0b01010101);
  CHECK(table.choose(0xfe, 3) == 0b01010100);  // the broken socket, so that the other one stays whole
}

TEST_CASE("every machine of the catalogue with up to eight devices is served by the rules") {
  for (const auto id : catalogue_shape_names()) {
    const node_shape s = *catalogue_shape(id);
    CAPTURE(std::string{id});
#if !defined(__OPTIMIZE__)
    if (id != "dgx1-v100" && id != "gb200-tray") continue;
#endif
    if (s.devices <= 8) CHECK(differences(s) == 0);
  }
}

TEST_CASE("single devices use up broken pairs first, so that pairs find pairs") {
  const auto table = best_bandwidth{}.compile(in_pairs(8, 50, 12));
  device_mask free = 0xff;
  for (int i = 0; i < 4; ++i) {
    const device_mask got = table.choose(free, 1);
    CHECK(count_bits(got) == 1);
    free &= ~got;
    if (i % 2 == 1) CHECK(free == (0xffU << (i + 1) & 0xffU));  // pairs are broken one after the other
  }
  REQUIRE(free == 0b1111'0000);
  CHECK(table.choose(free, 2) == 0b0011'0000);
  CHECK(table.choose(0b1100'0000, 2) == 0b1100'0000);
}

TEST_CASE("on a DGX-1 pairs take double links and quads take a quad") {
  const node_shape s = *catalogue_shape("dgx1-v100");
  const auto table = best_bandwidth{}.compile(s);
  const device_mask pair = table.choose(0xff, 2);
  CHECK(bottleneck(s, pair) == 50);
  const device_mask quad = table.choose(0xff, 4);
  CHECK((quad == 0x0f || quad == 0xf0));
  CHECK(bottleneck(s, quad) == 25);
  CHECK(table.choose(0xff & ~quad, 4) == (0xff & ~quad));
  // Four pairs, one after the other, all get a double link.
  device_mask free = 0xff;
  for (int i = 0; i < 4; ++i) {
    const device_mask got = table.choose(free, 2);
    CHECK(bottleneck(s, got) == 50);
    free &= ~got;
  }
  CHECK(free == 0);
  // A pair leaves a quad whole where it can: with one quad broken into, it stays there.
  CHECK((table.choose(0xff & ~device_mask{1}, 1) & 0xf0) == 0);
}

TEST_CASE("a dead device, or one whose links nobody can read, does not stop the others") {
  node_shape s = in_groups(8, 4, 50, 12);
  for (unsigned d = 0; d < 8; ++d)
    if (d != 5) s.bandwidth.set(5, d, std::nullopt);
  const auto table = best_bandwidth{}.compile(s);
  const device_mask healthy = 0xff & ~bit(5);
  for (unsigned count = 1; count <= 7; ++count) {
    const device_mask got = table.choose(healthy, count);
    CHECK(count_bits(got) == count);
    CHECK((got & ~healthy) == 0);
  }
  CHECK(table.choose(healthy, 4) == 0x0f);
  // Where it is usable all the same, it is taken last for sets and first for single devices.
  CHECK(table.choose(0xff, 7) == healthy);
  CHECK(table.choose(0xff, 8) == 0xff);
  CHECK(table.choose(0xff, 1) == bit(5));
}

TEST_CASE("an unknown bandwidth ranks below the slowest known one") {
  node_shape s = unknown(4);
  link(s, 2, 3, 0.0);
  CHECK(best_bandwidth{}.compile(s).choose(0b1111, 2) == 0b1100);
  CHECK(best_bandwidth{}.compile(s).choose(0b0111, 2) == 0b0011);
}

TEST_CASE("pairs of unknown rate rank by their order, which is no rate; a broken link ranks behind all of them") {
  node_shape s = unknown(5);
  for (unsigned a = 0; a < 5; ++a)
    for (unsigned b = 0; b < a; ++b) s.bandwidth.set_unknown(a, b, -0.875F);
  s.bandwidth.set_unknown(1, 3, 100);
  s.bandwidth.set_unknown(2, 4, 50);
  CHECK(differences(s) == 0);
  const auto chosen = [&](device_mask free) { return best_bandwidth{}.compile(s).choose(free, 2); };
  CHECK(chosen(0b11111) == 0b01010);
  CHECK(chosen(0b11101) == 0b10100);
  CHECK_FALSE(s.bandwidth.between(1, 3).has_value());
  link(s, 0, 4, 12);
  CHECK(chosen(0b11111) == 0b01010);
  CHECK(chosen(0b11011) == 0b01010);
  CHECK(chosen(0b10011) == 0b10001);  // a known rate before an unknown one over PCIe
  s.bandwidth.set(1, 3, std::nullopt);
  CHECK_FALSE(s.bandwidth.order(1, 3).has_value());
  CHECK(chosen(0b01011) == 0b00011);
  CHECK(differences(s) == 0);
}

TEST_CASE("what cannot be served is an empty set") {
  for (const unsigned n : {1U, 8U, 12U, 20U}) {
    const auto table = best_bandwidth{}.compile(in_pairs(n, 50, 12));
    CHECK(table.choose(0, 1) == 0);
    CHECK(table.choose(bit(n - 1), 2) == 0);
    CHECK(table.choose(low_bits(n), 0) == 0);
    CHECK(table.choose(low_bits(n), n) == low_bits(n));
    CHECK(table.choose(low_bits(n), n + 1) == 0);
  }
  const auto none = best_bandwidth{}.compile(unknown(0));
  CHECK(none.choose(0, 0) == 0);
}

TEST_CASE("twelve and sixteen devices: the best bottleneck by a table") {
  random_source random{2};
#if defined(__OPTIMIZE__)
  const std::vector<unsigned> sizes{11, 12, 16};
#else
  const std::vector<unsigned> sizes{11};
#endif
  for (const unsigned n : sizes) {
    CAPTURE(n);
    const node_shape s = in_groups(n, 4, 63.015, 26.562);
    const auto table = best_bandwidth{}.compile(s);
    for (int i = 0; i < 40; ++i) {
      const device_mask free = random() & s.all_devices();
      const auto count = static_cast<unsigned>(random.between(1, 5));
      const device_mask got = table.choose(free, count);
      if (count > count_bits(free)) {
        CHECK(got == 0);
        continue;
      }
      REQUIRE(count_bits(got) == count);
      REQUIRE((got & ~free) == 0);
      double best = -2;
      for (device_mask set = free; set != 0; set = (set - 1) & free)
        if (count_bits(set) == count) best = std::max(best, bottleneck(s, set));
      CHECK(bottleneck(s, got) == best);
    }
    // A single device comes out of the group that is broken already.
    CHECK((table.choose(s.all_devices() & ~bit(5), 1) & 0xf0) != 0);
  }
  const node_shape dgx2 = *catalogue_shape("dgx2-v100");
  const auto table = best_bandwidth{}.compile(dgx2);
  CHECK(table.choose(0xffff, 8) == 0x00ff);  // one NVSwitch domain: the sockets decide
  CHECK(table.choose(0xff10, 8) == 0xff00);
}

TEST_CASE("more than sixteen devices: valid sets, never a worse bottleneck than the lowest numbers") {
  random_source random{3};
  for (const node_shape& s : {in_pairs(18, 50, 12), in_groups(24, 8, 450, 31.508), in_groups(32, 4, 50, 12),
                              in_pairs(64, 50, 12), in_groups(17, 16, 300, 6)}) {
    const auto table = best_bandwidth{}.compile(s);
    const auto lowest = lowest_index{}.compile(s);
    for (int i = 0; i < 200; ++i) {
      device_mask free = random() & s.all_devices();
      if (i % 2 == 0) free |= random() & s.all_devices();
      const auto count = static_cast<unsigned>(random.between(1, 10));
      const device_mask got = table.choose(free, count), plain = lowest.choose(free, count);
      if (count > count_bits(free)) {
        CHECK(got == 0);
        continue;
      }
      REQUIRE(count_bits(got) == count);
      REQUIRE((got & ~free) == 0);
      CHECK(bottleneck(s, got) >= bottleneck(s, plain));
    }
  }
  // Here greedy growth is exact: a group that holds the set is found, and a broken group serves single devices.
  const node_shape groups = in_groups(32, 8, 450, 31.508);
  const auto table = best_bandwidth{}.compile(groups);
  CHECK(table.choose(0xff00'ffff & ~device_mask{0x0101}, 8) == 0xff00'0000);
  CHECK(table.choose(0xffff'ffff & ~bit(9), 1) == bit(8));
}

TEST_CASE("lowest_index takes the lowest numbers that are free") {
  const auto table = lowest_index{}.compile(unknown(8));
  CHECK(table.choose(0b1011'0100, 2) == 0b0001'0100);
  CHECK(table.choose(0b1011'0100, 4) == 0b1011'0100);
}
