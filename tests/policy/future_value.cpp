#include "berth/policy/future_value.hpp"

#include <doctest/doctest.h>

#include <cstdint>
#include <vector>

#include "berth/core/random.hpp"
#include "policy/packing_support.hpp"

namespace {

using namespace berth;
using packing_test::random_task;

// Takes the task where it fits, from a GPU at random; whether it did.
bool take_some(share_node& n, const share_task& t, random_source& random) {
  if (!fits(n, t)) return false;
  device_mask chosen = 0;
  unsigned seen = 0;
  for_each_choice(n, t, [&](device_mask m) {
    if (random.below(++seen) == 0) chosen = m;
  });
  take(n, t, chosen);
  return true;
}

}  // namespace

TEST_CASE("As long as the version is the same, scores change as the policy says that they may") {
  std::size_t followed = 0, moved = 0, flipped[2]{}, drifted = 0;
  for (std::uint64_t seed = 1; seed < 8; ++seed) {
    random_source random{seed};
    std::vector<share_node> installed;
    for (unsigned i = 0; i < 60; ++i) {
      share_node n;
      n.devices = static_cast<std::uint8_t>(2 + random.below(7));
      n.model = static_cast<std::uint8_t>(random.below(3));
      n.cpu = cpus(16 + 16 * static_cast<std::int64_t>(random.below(3)));
      n.memory = gibibytes(128);
      for (unsigned g = 0; g < n.devices; ++g) n.free[g] = whole_device;
      installed.push_back(n);
    }
    std::vector<share_task> tasks;
    for (unsigned i = 0; i < 12; ++i) tasks.push_back(random_task(random));
    future_value_settings settings;
    settings.samples = 3;
    settings.draws = 20;
    settings.price_every = 1;
    settings.window = 64;
    settings.redraw_at = 2;  // never anew
    settings.scarcity = 0.7;
    if (seed % 2 == 0) {
      // No model is scarce. Half a GPU from one with 800 left wastes 300; from a whole one it may break a pair.
      settings.model_prior = 0;
      for (std::size_t i = 0; i < tasks.size(); ++i) {
        tasks[i] = {};
        tasks[i].cpu = cpus(1);
        tasks[i].devices = i < 6 ? 1 : 2;
        tasks[i].share = i < 3 ? 800 : i < 6 ? 500 : whole_device;
      }
    }
    future_value p{settings};
    p.begin(installed);
    std::vector<share_node> now = installed;
    const auto come = [&](std::size_t first, std::size_t last, std::size_t begin, std::size_t end) {
      const share_task& t = tasks[begin + random.below(end - begin)];
      p.arrived(t, now, installed);
      for (unsigned tries = 0; tries < 4; ++tries) {
        const std::size_t n = first + random.below(last - first);
        const share_node before = now[n];
        if (!take_some(now[n], t, random)) continue;
        p.changed(before, now[n], installed[n]);
        return;
      }
      // Full: a node is emptied.
      const std::size_t n = first + random.below(last - first);
      const share_node before = now[n];
      now[n] = installed[n];
      p.changed(before, now[n], installed[n]);
    };
    // The first half of the nodes gets some tasks and stays like that; prices move with what happens on the others.
    for (unsigned i = 0; i < 90; ++i) come(0, 30, 0, tasks.size());
    struct kept {
      std::size_t node, task;
      packing_score score;
      double drift;
      std::uint32_t moves;
    };
    std::vector<kept> all;
    std::uint64_t version = 0;
    for (unsigned i = 0; i < 9000; ++i) {
      // Demand swings from one half of the tasks to the other, and prices with it.
      const std::size_t half = i / 2048 % 2 * 6;
      come(30, 60, half, half + 6);
      if (p.version() != version) {
        version = p.version();
        all.clear();
        for (std::size_t n = 0; n < 30; ++n)
          for (std::size_t t = 0; t < tasks.size(); ++t)
            if (fits(now[n], tasks[t])) {
              const packing_score s = p.score({now[n], installed[n]}, tasks[t]);
              all.push_back({n, t, s, p.drift(s.drift), p.moves(s.drift)});
            }
        continue;
      }
      if (i % 61 != 0) continue;
      for (const kept& k : all) {
        const packing_score s = p.score({now[k.node], installed[k.node]}, tasks[k.task]);
        REQUIRE(s.drift == k.score.drift);
        REQUIRE(s.value <= k.score.value + p.drift(s.drift) - k.drift);
        if (s.value > k.score.value) ++drifted;
        if (p.moves(s.drift) == k.moves) {
          REQUIRE(s.value == k.score.value);
          REQUIRE(s.devices == k.score.devices);
        }
        if (k.score.follows_charge) {
          REQUIRE(s.value == charged(k.score.base, p.charges()[k.score.charge], k.score.amount));
          REQUIRE(s.devices == k.score.devices);
          ++followed;
          if (s.value != k.score.value) ++moved;
        } else if (s.devices != k.score.devices) {
          ++flipped[seed % 2];
        }
      }
    }
  }
  CHECK(followed > 10'000);
  CHECK(moved > 1000);
  for (const auto n : flipped) CHECK(n > 10);
  CHECK(drifted > 100);
}

TEST_CASE("A task pays for sets that others ask for, not for its own") {
  share_node node;
  node.devices = 8;
  node.cpu = cpus(96);
  for (unsigned g = 0; g < node.devices; ++g) node.free[g] = whole_device;
  const std::vector<share_node> installed(4, node);
  auto now = installed;
  const auto whole = [](unsigned devices, std::int64_t cpu) {
    share_task t;
    t.devices = static_cast<std::uint8_t>(devices);
    t.share = whole_device;
    t.cpu = cpus(cpu);
    return t;
  };
  const share_task one = whole(1, 4), two = whole(2, 8), eight = whole(8, 90);
  future_value_settings settings;
  settings.price_every = 1;
  future_value p{settings};
  p.begin(installed);
  for (unsigned i = 0; i < 64; ++i) p.arrived(i % 2 == 0 ? eight : two, now, installed);
  share_node touched = node;  // that it is untouched would cost by itself
  touched.cpu = cpus(95);
  const auto charge = [&](const share_task& t) {
    const auto s = p.score({touched, node}, t);
    return p.charges()[s.charge].fixed;
  };
  // One GPU breaks the set of eight and one of four sets of two.
  CHECK(charge(two) > 0);
  CHECK(charge(eight) > 0);
  CHECK(charge(one) == charge(two) + charge(eight) / 4);
}
