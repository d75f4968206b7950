#include <doctest/doctest.h>

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "berth/core/random.hpp"
#include "berth/io/case/sequence.hpp"
#include "profile/samples.hpp"

using namespace berth;
using case_io::answer_sequence;

namespace {

/// Two racks of two nodes with four GPUs on two sockets, and a node of its own.
const std::string cluster = R"("cluster": {"nodes": [
  {"name": "a0", "chain": "rack", "path": ["r0"], "gpu_model": "big", "device_tree": [[0, 1], [2, 3]]},
  {"name": "a1", "chain": "rack", "path": ["r0"], "gpu_model": "big", "device_tree": [[0, 1], [2, 3]]},
  {"name": "b0", "chain": "rack", "path": ["r1"], "gpu_model": "big", "device_tree": [[0, 1], [2, 3]]},
  {"name": "b1", "chain": "rack", "path": ["r1"], "gpu_model": "big", "device_tree": [[0, 1], [2, 3]]},
  {"name": "c", "chain": "alone", "path": ["s"], "gpu_model": "small", "device_tree": [4, 5], "pinned_as": "mine"}]})";
std::string reserved(int sockets, int nodes, const std::string& pinned = "") {
  return R"("reserved": [{"chain": "rack", "cell": "half node", "count": )" + std::to_string(sockets) +
         R"(}, {"chain": "rack", "cell": "single node", "count": )" + std::to_string(nodes) + R"(}], "pinned": [)" +
         pinned + "]";
}
std::string pod(const std::string& name, const std::string& tenant, int priority, int gpus, const std::string& more,
                const std::string& expect) {
  return R"({"op": "schedule", "request": {"pod": ")" + name + R"(", "tenant": ")" + tenant + R"(", "priority": )" +
         std::to_string(priority) + R"(, "gpus": )" + std::to_string(gpus) + R"(, "gpu_model": "big")" + more +
         R"(}, "expect": )" + expect + "}";
}
std::string bind(const std::string& node, const std::string& gpus) {
  return R"({"bind": {"node": ")" + node + R"(", "gpus": [)" + gpus + "]}}";
}
case_answer run(const std::string& a, const std::string& b, const std::string& steps) {
  return profile_test::answer_text("hived",
                                   R"({"id": "x", "kind": "sequence", )" + cluster + R"(, "tenants": {"A": {)" + a +
                                       R"(}, "B": {)" + b + R"(}}, "steps": [)" + steps + "]}",
                                   answer_sequence);
}
void check(const std::string& a, const std::string& b, const std::string& steps) {
  const auto answer = run(a, b, steps);
  REQUIRE(answer);
  CHECK_MESSAGE(answer->result == case_result::agrees, answer->why, "\n", answer->expected, "\n", answer->got);
}

}  // namespace

TEST_CASE("HiveD's samples agree, but the replay of another case") {
  profile_test::check_samples("hived.json", answer_sequence, {{"hived-14", case_result::unsupported, "step replay"}});
}

TEST_CASE("HiveD's cells split and merge like buddies, and gangs sit close") {
  const std::string wait = R"({"bind": null})";
  // The tenant's node fills first, then its sockets, which split another node in use and no whole one.
  check(reserved(2, 1), reserved(0, 2),
        pod("p", "A", 1, 2, "", bind("a0", "0, 1")) + "," + pod("q", "A", 1, 2, "", bind("a0", "2, 3")) + "," +
            pod("r", "A", 1, 4, "", wait) + "," + pod("s", "A", 1, 1, "", bind("a1", "0")) + "," +
            pod("t", "B", 1, 4, "", bind("b0", "0, 1, 2, 3")) + R"(, {"op": "delete", "pod": "q"}, )" +
            pod("u", "A", 1, 1, "", bind("a0", "2")) + R"(, {"op": "check", "expect": {"gang q": "gone"}})");
  // Spare gangs keep away from guaranteed ones, and need no reservation.
  check(reserved(0, 1), reserved(0, 0),
        pod("p", "A", 0, 1, "", bind("b0", "0")) + "," + pod("q", "B", -1, 4, "", bind("a0", "0, 1, 2, 3")) + "," +
            pod("r", "B", -1, 3, "", bind("a1", "0, 1, 2")) + "," +
            pod("s", "B", 0, 1, "", R"({"error": "invalid-request"})"));
  // Pinned cells belong to who pinned them.
  check(reserved(0, 0, "\"mine\""), reserved(0, 0),
        R"({"op": "schedule", "request": {"pod": "p", "tenant": "A", "priority": 5, "gpus": 2, "pinned": "mine"},
            "expect": {"bind": {"node": "c", "gpus": [4, 5]}}},
           {"op": "schedule", "request": {"pod": "q", "tenant": "B", "priority": 5, "gpus": 2, "pinned": "mine"},
            "expect": {"error": "invalid-request"}},
           {"op": "schedule", "request": {"pod": "r", "tenant": "A", "priority": -1, "gpus": 2, "pinned": "mine"},
            "expect": {"error": "invalid-request"}})");
  // A gang of two sizes: the second pod of a size is one too many.
  const std::string gang = R"(, "gang": "g", "gang_members": [{"pods": 1, "gpus": 3}, {"pods": 1, "gpus": 1}])";
  check(reserved(0, 2), reserved(0, 0),
        pod("p", "A", 1, 3, gang, bind("a0", "1, 2, 3")) + "," + pod("q", "A", 1, 1, gang, bind("a0", "0")) + "," +
            pod("r", "A", 1, 1, gang, R"({"error": "invalid-request"})"));
}

TEST_CASE("HiveD's gangs lose reserved cells to higher priorities, but no pod is evicted") {
  const std::string lazy = R"(, "lazy_preemption": true)";
  check(reserved(0, 1), reserved(0, 0),
        pod("low", "A", 0, 4, lazy, bind("b0", "0, 1, 2, 3")) + "," +
            pod("high", "A", 1, 4, lazy, bind("a0", "0, 1, 2, 3")) +
            R"(, {"op": "check", "expect": {"lazily_preempted": ["low"], "gang low": "allocated"}})");
  // Without physical cells that may be used, the lower one gets its cells back.
  check(reserved(0, 1), reserved(0, 0),
        pod("low", "A", 0, 4, lazy, bind("b0", "0, 1, 2, 3")) + "," +
            pod("high", "A", 1, 4, lazy + R"(, "allowed_nodes": ["c"])", R"({"bind": null})") + "," +
            pod("next", "A", 0, 4, lazy, R"({"bind": null})"));
  const auto a = run(reserved(0, 1), reserved(0, 0),
                     pod("low", "A", 0, 4, "", bind("a0", "0, 1, 2, 3")) + "," +
                         pod("high", "A", 1, 4, "", R"({"preempt_victims_subset_of": ["low"]})"));
  REQUIRE(a);
  CHECK(a->result == case_result::unsupported);
  CHECK(a->why == "eviction");
}

TEST_CASE("HiveD keeps off bad nodes, and splits larger cells where no reservation needs them") {
  const std::string bad = R"({"op": "node-bad", "node": "a1"}, )";
  check(reserved(0, 2), reserved(0, 0),
        pod("p", "A", 1, 4, "", bind("a0", "0, 1, 2, 3")) + "," + bad +
            pod("q", "A", 1, 4, "", bind("b0", "0, 1, 2, 3")) + R"(, {"op": "node-healthy", "node": "a1"})");
  // Four nodes are owed: the bad one is bound to one of the tenant's, which then waits.
  check(
      reserved(0, 4), reserved(0, 0),
      bad + pod("p", "A", 1, 4, R"(, "gang": "g", "gang_members": [{"pods": 4, "gpus": 4}])", R"({"bind": null})") +
          R"(, {"op": "node-healthy", "node": "a1"}, )" +
          pod("q", "A", 1, 4, R"(, "gang": "h", "gang_members": [{"pods": 4, "gpus": 4}])", bind("b0", "0, 1, 2, 3")));
  // More than there is.
  check(reserved(0, 3), reserved(0, 2), R"({"op": "check", "expect": {"error": "invalid configuration"}})");
}

TEST_CASE("Malformed sequences of HiveD say where; unknown members are not skipped") {
  struct row {
    std::string tenants, steps, fault;
  };
  const std::string cell = R"("reserved": [{"chain": "CHAIN", "cell": "CELL", "count": 1}])";
  const auto with = [&](const std::string& ch, const std::string& ce) {
    auto s = cell;
    s.replace(s.find("CHAIN"), 5, ch);
    s.replace(s.find("CELL"), 4, ce);
    return s;
  };
  const row malformed[] = {
      {with("nowhere", "single node"), "", "a chain of the cluster"},
      {R"("reserved": [{"chain": "rack", "cell": "single node", "count": -1}])", "", "a whole number from 0"},
      {R"("reserved": [{"chain": "rack", "cell": "single node", "count": 999999}])", "", "a million cells"},
      {reserved(0, 1), R"({"op": "node-bad", "node": "z"})", "a node of the cluster"},
      {reserved(0, 1), R"({"op": "schedule"})", "a request"},
      {reserved(0, 1), pod("p", "A", 1, 4, R"(, "gang_members": [{"pods": 1000000, "gpus": 1}])", "{}"), "from 0 to"},
      {reserved(0, 1), pod("p", "A", 1, -4, "", "{}"), "a whole number from 0"},
      {reserved(0, 1), pod("p", "A", 1, 4, R"(, "pined": "x")", "{}"), "pinned"},
      {reserved(0, 1), pod("p", "A", 1, 4, R"(, "gang_members": [{"pod": 1, "gpus": 4}])", "{}"), "pods"},
      {R"("resreved": [])", "", "reserved"},
  };
  for (const auto& r : malformed) {
    CAPTURE(r.fault);
    const auto a = run(r.tenants, reserved(0, 0), r.steps);
    REQUIRE_FALSE(a);
    CHECK_MESSAGE(a.error().expected.find(r.fault) != std::string::npos, a.error().expected);
  }
  const row unsupported[] = {
      {with("rack", "a third of a moon"), "", "reserved cell a third of a moon"},
      {R"("pinned": ["nowhere"])", "", "pinned cell nowhere of unknown place"},
      {reserved(0, 1), pod("p", "A", 1, 4, R"(, "colour": "red")", "{}"), "request with colour (line 6)"},
      {reserved(0, 1), R"({"op": "dance"})", "step dance"},
      {reserved(0, 1), R"({"op": "check", "expect": {"mood": "good"}})", "check of mood"},
  };
  for (const auto& r : unsupported) {
    CAPTURE(r.fault);
    const auto a = run(r.tenants, reserved(0, 0), r.steps);
    REQUIRE(a);
    CHECK(a->result == case_result::unsupported);
    CHECK(a->why == r.fault);
  }
}

TEST_CASE("HiveD's books balance after any sequence: all cells unused, none owed twice") {
  using namespace hived;
  random_source random{11};
  for (int round = 0; round < 40; ++round) {
    reservation_book book;
    book.chains.push_back({"rack", "big", {}, {}, {}, {}, {}, {}, 2});
    auto& all = book.chains[0].all;
    all.resize(4);
    // 3 racks of 2 nodes of 2 sockets of 2 devices.
    const auto build = [&](const auto& self, std::size_t level, std::size_t rack, std::size_t n) -> cell_id {
      cell c;
      c.level = level;
      c.devices = std::int64_t{1} << level;
      c.node_or_above = level >= 2;
      if (level == 0) c.device = static_cast<std::int64_t>(n % 4);
      book.cells.push_back(c);
      const auto id = book.cells.size() - 1;
      all[level].push_back(id);
      for (std::size_t i = 0; level > 0 && i < 2; ++i) {
        const auto child = self(self, level - 1, rack, n * 2 + i);
        book.at(child).parent = id;
        book.at(id).children.push_back(child);
      }
      if (level >= 2) book.at(id).nodes = level == 2 ? cell_list{n} : cell_list{2 * n, 2 * n + 1};
      else book.at(id).nodes = {level == 1 ? n / 2 : n / 4};
      return id;
    };
    for (std::size_t r = 0; r < 3; ++r) build(build, 3, r, r);
    for (std::size_t t = 0; t < 2; ++t) {
      tenant x;
      x.name = t == 0 ? "A" : "B";
      x.reserved.resize(1);
      x.views.resize(1);
      auto& res = x.reserved[0];
      res.roots.resize(4);
      res.doomed.resize(4);
      res.owed = t == 0 ? std::vector<std::int64_t>{0, 2, 1, 0} : std::vector<std::int64_t>{1, 0, 0, 1};
      res.any = true;
      for (std::size_t l = 4; l-- > 0;)
        for (std::int64_t i = 0; i < res.owed[l]; ++i) res.roots[l].push_back(book.grow(0, l, t, none, res.all));
      book.tenants.push_back(std::move(x));
    }
    auto s = scheduler::start(book, {{"big", {0}}}, {}, 6);
    REQUIRE(s);
    const auto fresh = s->book().chains[0].left;
    std::vector<std::string> pods;
    std::vector<std::size_t> bad;
    for (int i = 0; i < 60; ++i) {
      const auto what = random.below(10);
      if (what < 6) {
        request r;
        r.pod = r.gang = "p" + std::to_string(i);
        r.tenant = random.below(2) == 0 ? "A" : "B";
        r.priority = static_cast<int>(random.below(4)) - 1;
        r.devices = std::int64_t{1} << random.below(3);
        r.members[r.devices] = static_cast<std::int64_t>(1 + random.below(2));
        r.lazy = random.below(2) == 0;
        if (random.below(4) == 0) r.allowed = {true, false, true, true, false, true};
        const auto a = s->schedule(r);
        if (a.what == outcome::bound) {
          pods.push_back(r.pod);
          CHECK(a.devices.size() == static_cast<std::size_t>(r.devices));
          CHECK((r.allowed.empty() || r.allowed[a.node]));
          for (const auto n : bad) CHECK(a.node != n);
        }
      } else if (what < 8 && !pods.empty()) {
        const auto k = random.below(pods.size());
        CHECK(s->remove(pods[k]));
        pods.erase(pods.begin() + static_cast<std::ptrdiff_t>(k));
      } else if (what == 8 && bad.size() < 3) {
        bad.push_back(random.below(6));
        s->node_bad(bad.back());
      } else if (!bad.empty()) {
        s->node_healthy(bad.back());
        const auto n = bad.back();
        bad.erase(std::remove(bad.begin(), bad.end(), n), bad.end());
      }
      // No device is used twice.
      std::map<cell_id, int> users;
      for (const auto& [name, g] : s->gangs())
        for (const auto& [size, list] : g.pods)
          for (const auto& p : list)
            for (const auto c : p.physical) CHECK(++users[c] == 1);
    }
    for (const auto& p : pods) CHECK(s->remove(p));
    for (const auto n : bad) s->node_healthy(n);
    const auto& c = s->book().chains[0];
    CHECK(c.left == fresh);
    CHECK(c.unused[3].size() == 3);
    CHECK(c.owed == std::vector<std::int64_t>{1, 2, 1, 1});
    for (const auto& x : s->book().cells) {
      CHECK(x.bound == none);
      CHECK(x.priority == free_priority);
      CHECK(x.used.empty());
    }
  }
}
