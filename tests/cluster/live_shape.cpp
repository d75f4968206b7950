// Every query of `live_shape` against a plain scan of all domains and nodes.

#include "berth/cluster/live_shape.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <cstdint>
#include <set>
#include <string>
#include <vector>

#include "berth/cluster/cluster.hpp"
#include "berth/core/random.hpp"
#include "berth/topology/domain_tree_builder.hpp"
#include "effort.hpp"

namespace {

using namespace berth;

node_shape kind(unsigned devices) {
  return make_plain_shape("k" + std::to_string(devices), devices, "m", cpus(8), gibibytes(8));
}

cluster_spec machines(domain_tree tree, const std::vector<unsigned>& devices, random_source& random) {
  cluster_spec s;
  s.tree = std::move(tree);
  for (const unsigned d : devices) s.shapes.push_back(kind(d));
  for (std::uint32_t n = 0; n < s.tree.node_count(); ++n) {
    node_spec x;
    x.shape = shape_id{static_cast<std::uint16_t>(random.below(devices.size()))};
    x.cpu = cpus(static_cast<std::int64_t>(random.between(1, 64)));
    x.memory = gibibytes(64);
    s.nodes.push_back(x);
  }
  return s;
}

/// Declared domains of random depth, several roots, nodes anywhere.
domain_tree random_tree(random_source& random, std::uint32_t nodes) {
  std::vector<domain_declaration> domains;
  const std::uint64_t count = random.between(1, 14);
  for (std::uint32_t d = 0; d < count; ++d) {
    const bool root = d == 0 || random.below(6) == 0;
    domains.push_back({"d" + std::to_string(d),
                       root ? domain_declaration::no_parent : static_cast<std::uint32_t>(random.below(d)), ""});
  }
  std::vector<std::uint32_t> at(nodes);
  for (auto& d : at) d = static_cast<std::uint32_t>(random.below(count));
  auto built = domain_tree_builder::build(domains, at);
  if (!built) return domain_tree_builder::regular({"cluster", "leaf"}, {3}, nodes / 3 + 1);  // deeper than 16 levels
  return std::move(built->tree);
}

constexpr cluster_limits room{.jobs = 400, .tasks = 400};

void disturb(cluster& c, random_source& random, std::size_t changes) {
  for (std::size_t i = 0; i < changes; ++i) {
    const node_id n{static_cast<std::uint32_t>(random.below(c.node_count()))};
    const node_state& s = c.node(n);
    const std::uint64_t roll = random.below(10);
    if (roll < 7) {
      device_mask devices = s.free;
      for (auto r = random.below(4); r-- > 0;) devices &= random();
      const task_shape shape{
          count_bits(devices), cpu_millis{s.cpu.count() / static_cast<std::int64_t>(random.between(2, 9))}, {}};
      const task_placement task{devices, n, 0};
      const auto done = c.commit(job_key{c.epoch()}, {{&task, 1}, {&shape, 1}});
      if (done || done.error().code != cluster_errc::capacity_exhausted) continue;
      std::vector<job_key> jobs;
      c.for_each_job([&](job_key k) { jobs.push_back(k); });
      for (const job_key k : jobs)
        if (random.below(2) == 0) static_cast<void>(c.release(k));
    } else if (roll < 8) {
      static_cast<void>(c.set_node_usable(n, random.below(3) != 0));
    } else if (roll < 9) {
      static_cast<void>(c.set_device_health(n, static_cast<unsigned>(random.below(8)), random.below(2) == 0));
    } else {
      const auto l = static_cast<std::uint8_t>(random.below(c.tree().level_count()));
      const auto d = static_cast<std::uint32_t>(random.below(c.tree().domain_count(level_id{l})));
      if (l != 0) static_cast<void>(c.set_uplink_health(level_id{l}, domain_id{d}, random.below(3) != 0));
    }
  }
}

struct found {
  std::size_t compared = 0, inexact = 0, saturated = 0, wide = 0;
  std::string fault;
  void good(bool ok, const char* what) {
    ++compared;
    if (!ok && fault.empty()) fault = what;
  }
};

/// Ids of the `inner` domains below a domain, by asking every one of them for its ancestor.
std::vector<std::uint32_t> below(const domain_tree& t, unsigned level, std::uint32_t domain, unsigned inner) {
  std::vector<std::uint32_t> out;
  for (std::uint32_t d = 0; d < t.domain_count(level_id{static_cast<std::uint8_t>(inner)}); ++d) {
    const id_range nodes = t.at(level_id{static_cast<std::uint8_t>(inner)}, domain_id{d}).nodes;
    if (t.domain_of(node_id{nodes.first}, level_id{static_cast<std::uint8_t>(level)}).raw() == domain) out.push_back(d);
  }
  return out;
}

void compare(const cluster& c, const task_shape& shape, random_source& random, found& f) {
  const live_shape& s = *c.counters(shape);
  const domain_tree& t = c.tree();
  const unsigned levels = t.level_count();
  for (unsigned inner = 0; inner < levels; ++inner) {
    std::uint64_t largest = 0;
    for (std::uint32_t d = 0; d < t.domain_count(level_id{static_cast<std::uint8_t>(inner)}); ++d)
      largest = std::max(largest, s.capacity(inner, d));
    f.good(s.largest(inner) == largest, "largest");
    for (unsigned level = 0; level <= inner; ++level)
      for (std::uint32_t domain = 0; domain < t.domain_count(level_id{static_cast<std::uint8_t>(level)}); ++domain) {
        const auto all = below(t, level, domain, inner);
        std::vector<std::uint64_t> needs{1, 2, random.between(1, 300), largest, largest + 1};
        for (int i = 0; i < 3; ++i) needs.push_back(s.capacity(inner, all[random.below(all.size())]) + random.below(2));
        for (const std::uint64_t need : needs) {
          if (need == 0) continue;
          std::uint32_t tightest = live_shape::no_domain, emptiest = live_shape::no_domain;
          for (const auto d : all) {
            const std::uint64_t capacity = s.capacity(inner, d);
            if (capacity < need) continue;
            if (tightest == live_shape::no_domain || capacity < s.capacity(inner, tightest)) tightest = d;
            if (emptiest == live_shape::no_domain || capacity > s.capacity(inner, emptiest)) emptiest = d;
          }
          f.good(s.tightest(level, domain, inner, need) == tightest, "tightest");
          f.good(s.emptiest(level, domain, inner, need) == emptiest, "emptiest");
        }
        if (level == inner) continue;
        std::set<std::uint32_t> used;
        for (const auto d : all) {
          const std::uint32_t b = s.bucket_of(inner, s.capacity(inner, d));
          f.good((b == 0) == (s.capacity(inner, d) == 0), "bucket 0 is for what is full, and for nothing else");
          if (b != 0) used.insert(b);
          f.inexact += b != 0 && !s.is_exact(inner, b) ? 1U : 0U;
          f.saturated += b != 0 && b + 1 == s.layout().buckets(inner) ? 1U : 0U;
        }
        for (const auto b : used) {
          std::vector<std::uint32_t> want, got;
          for (const auto d : all)
            if (s.bucket_of(inner, s.capacity(inner, d)) == b) want.push_back(d);
          s.each_in_bucket(level, inner, domain, b, [&](std::uint32_t d) { got.push_back(d); });
          f.good(got == want, "each_in_bucket");
          for (const auto d : want)
            f.good(!s.is_exact(inner, b) || s.capacity(inner, d) == s.capacity(inner, want[0]), "is_exact");
        }
        std::vector<std::uint32_t> from{0, 1, 2, 63, 64, 65, s.layout().buckets(inner) - 1, s.layout().buckets(inner)};
        for (const auto b : used) from.insert(from.end(), {b - 1, b, b + 1});
        for (const auto b : from) {
          if (b > s.layout().buckets(inner)) continue;
          const auto next = used.lower_bound(b);
          f.good(s.next_bucket(level, inner, domain, b) == (next == used.end() ? 0 : *next), "next_bucket");
          f.good(s.previous_bucket(level, inner, domain, b) == (next == used.begin() ? 0 : *std::prev(next)),
                 "previous_bucket");
        }
      }
  }
  // Nodes of a leaf, by free devices.
  const unsigned leaf = levels - 1;
  for (std::uint32_t d = 0; d < t.domain_count(t.leaf_level()); ++d) {
    const id_range nodes = t.at(t.leaf_level(), domain_id{d}).nodes;
    f.wide += nodes.size() > 64 ? 1U : 0U;
    std::uint64_t sum = 0;
    for (std::uint32_t n = nodes.first; n < nodes.last; ++n) sum += s.fits(n);
    f.good(s.capacity(leaf, d) == sum, "capacity of a leaf");
    std::set<std::uint32_t> used;
    for (std::uint32_t rank = 0; rank < s.layout().buckets(levels); ++rank) {
      std::vector<std::uint32_t> want, got;
      for (std::uint32_t n = nodes.first; n < nodes.last; ++n)
        if (s.fits(n) != 0 && count_bits(c.node(node_id{n}).free) == rank) want.push_back(n);
      s.each_in_bucket(leaf, levels, d, rank, [&](std::uint32_t n) { got.push_back(n); });
      f.good(got == want, "nodes of a leaf");
      if (!want.empty()) used.insert(rank);
      f.good(s.next_bucket(leaf, levels, d, rank) == 0 || used.count(rank) == 0 || rank == 0 ||
                 s.next_bucket(leaf, levels, d, rank) == rank,
             "next rank");
    }
    const auto first = used.upper_bound(0);
    f.good(s.next_bucket(leaf, levels, d, 1) == (first == used.end() ? 0 : *first), "first rank");
    f.good(s.previous_bucket(leaf, levels, d, s.layout().buckets(levels)) == (used.empty() ? 0 : *used.rbegin()),
           "last rank");
  }
}

std::vector<task_shape> some_shapes() {
  return {
      {1, {}, {}},           {2, cpus(1), {}},       {3, {}, gibibytes(9)}, {8, cpus(4), {}}, {0, cpu_millis{100}, {}},
      {0, {}, gibibytes(1)}, {0, cpu_millis{1}, {}}, {64, {}, {}}};
}

}  // namespace

TEST_CASE("queries agree with a scan on random trees, while the cluster changes") {
  found f;
  random_source random{77};
  for (std::size_t round = 0; round < effort(200) + 2 && f.fault.empty(); ++round) {
    const auto nodes = static_cast<std::uint32_t>(random.between(1, round % 10 == 0 ? 400 : 60));
    cluster c{machines(random_tree(random, nodes), {0, 1, 4, 8, 64}, random), room};
    for (int change = 0; change < 4; ++change) {
      for (const auto& s : some_shapes()) compare(c, s, random, f);
      disturb(c, random, random.between(1, 40));
    }
    CHECK_MESSAGE(f.fault.empty(), f.fault);
    CHECK(c.check_invariants());
  }
  CHECK(f.compared > 1000);
  CHECK(f.inexact > 0);
  CHECK(f.saturated > 0);
}

TEST_CASE("queries agree with a scan where leaves have more than 64 nodes and hold more than 255 tasks") {
  found f;
  random_source random{78};
  for (const std::uint32_t width : {64U, 65U, 129U, 200U}) {
    cluster c{machines(domain_tree_builder::regular({"cluster", "spine", "leaf"}, {3, 5}, width), {8}, random), room};
    for (int change = 0; change < 3; ++change) {
      for (const auto& s : some_shapes()) compare(c, s, random, f);
      disturb(c, random, width * 5);
    }
  }
  CHECK_MESSAGE(f.fault.empty(), f.fault);
  CHECK(f.wide > 0);
  CHECK(f.inexact > 0);
}

TEST_CASE("queries agree with a scan where a domain has more than 64 children") {
  found f;
  random_source random{79};
  cluster c{machines(domain_tree_builder::regular({"cluster", "spine", "leaf"}, {70, 2}, 2), {4, 8}, random), room};
  for (int change = 0; change < 4; ++change) {
    for (const auto& s : some_shapes()) compare(c, s, random, f);
    disturb(c, random, 200);
  }
  CHECK_MESSAGE(f.fault.empty(), f.fault);
}

TEST_CASE("tasks without devices overflow into one last bucket, and are still found exactly") {
  found f;
  random_source random{80};
  // Two CPU-only leaves of unlike size: far more tasks than "16 times the devices".
  cluster c{machines(domain_tree_builder::regular({"cluster", "leaf"}, {4}, 6), {0}, random)};
  const task_shape small{0, cpu_millis{10}, {}};
  const live_shape& s = *c.counters(small);
  REQUIRE(s.capacity(1, 0) > 255);
  CHECK(s.bucket_of(1, s.capacity(1, 0)) + 1 == s.layout().buckets(1));
  CHECK_FALSE(s.is_exact(1, s.bucket_of(1, s.capacity(1, 0))));
  compare(c, small, random, f);
  for (std::uint32_t d = 0; d < 4; ++d) CHECK(s.tightest(0, 0, 1, s.capacity(1, d)) == d);
  CHECK_MESSAGE(f.fault.empty(), f.fault);
}

TEST_CASE("buckets rise with capacity and cover every number") {
  using scale = detail::bucket_scale;
  std::uint32_t last = 0;
  for (std::uint64_t x = 1; x < 70'000; ++x) {
    const std::uint32_t b = scale::of(x);
    CHECK_MESSAGE((b == last || b == last + 1), x);
    if (x < 256) CHECK(b == x);
    last = b;
  }
  CHECK(scale::of(~std::uint64_t{0}) > scale::of(std::uint64_t{1} << 62));
}

TEST_CASE("a node counts at most 65,535 tasks") {
  cluster_spec spec;
  spec.tree = domain_tree_builder::regular({"cluster"}, {}, 2);
  spec.shapes = {kind(0)};
  spec.nodes = {{"a", shape_id{0}, {}, cpus(100'000), gibibytes(1)},
                {"b", shape_id{0}, {}, cpu_millis{65'534}, gibibytes(1)}};
  const cluster c{spec};
  const live_shape& s = *c.counters({0, cpu_millis{1}, {}});
  CHECK(s.fits(0) == 65'535);
  CHECK(s.fits(1) == 65'534);
  CHECK(s.capacity(0, 0) == 65'535 + 65'534);
}

TEST_CASE("the largest legal amounts do not overflow") {
  constexpr std::int64_t most = task_shape::amount_limit - 1;
  cluster_spec spec;
  spec.tree = domain_tree_builder::regular({"cluster"}, {}, 2);
  spec.shapes = {kind(64)};
  spec.nodes = {{"a", shape_id{0}, {}, cpu_millis{most}, bytes{3 * most + 2}},
                {"b", shape_id{0}, {}, cpu_millis{most - 1}, bytes{most}}};
  const cluster c{spec};
  CHECK(c.counters({1, cpu_millis{most}, {}})->fits(0) == 1);
  CHECK(c.counters({1, cpu_millis{most}, {}})->fits(1) == 0);
  CHECK(c.counters({0, {}, bytes{most}})->fits(0) == 3);
  CHECK(c.counters({0, {}, bytes{most}})->fits(1) == 1);
  CHECK_FALSE(task_shape{1, cpu_millis{most + 1}, {}}.is_valid());
}

TEST_CASE("a shape that is asked for again after others took its place is counted anew") {
  random_source random{81};
  cluster c{machines(domain_tree_builder::regular({"cluster", "leaf"}, {4}, 8), {8}, random),
            {.jobs = 100, .tasks = 100, .live_shapes = 1}};
  cluster few{machines(domain_tree_builder::regular({"cluster", "leaf"}, {4}, 8), {8}, random),
              {.jobs = 100, .tasks = 100, .live_shapes = 2}};
  found f;
  for (int round = 0; round < 50; ++round)
    for (cluster* x : {&c, &few}) {
      for (const auto& s : some_shapes()) compare(*x, s, random, f);
      disturb(*x, random, 3);
    }
  CHECK_MESSAGE(f.fault.empty(), f.fault);
  CHECK(c.check_invariants());
  CHECK(few.check_invariants());
}

TEST_CASE("without live shapes there are no counters") {
  random_source random{82};
  const cluster c{machines(domain_tree_builder::regular({"cluster"}, {}, 2), {8}, random), {.live_shapes = 0}};
  CHECK(c.counters({1, {}, {}}) == nullptr);
}

TEST_CASE("a shape catches up with the log of changes, also when it fell behind by more than the log holds") {
  // The log of a small cluster holds 1,024 words of nodes; every change is read by another shape, so none is merged.
  for (const int changes : {1, 1022, 1023, 1024, 1025, 1026, 2048, 5000}) {
    CAPTURE(changes);
    random_source random{83};
    cluster c{machines(domain_tree_builder::regular({"cluster", "leaf"}, {3}, 70), {8}, random), room};
    const task_shape asleep{1, {}, {}}, awake{2, {}, {}};
    found f;
    compare(c, asleep, random, f);
    // The first change is the only one of its word: were it lost, nothing later would make up for it.
    REQUIRE(c.set_node_usable(node_id{0}, false));
    for (int i = 1; i < changes; ++i) {
      static_cast<void>(c.counters(awake));
      const node_id other{i % 3 == 0 ? 100U : 200U};
      REQUIRE(c.set_node_usable(other, !c.node(other).usable));
    }
    CHECK(c.counters(asleep)->fits(0) == 0);
    compare(c, asleep, random, f);
    compare(c, awake, random, f);
    CHECK_MESSAGE(f.fault.empty(), f.fault);
    CHECK(c.check_invariants());
  }
}
