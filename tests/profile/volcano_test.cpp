#include "berth/profile/volcano.hpp"

#include "berth/io/case/cycle.hpp"
#include "profile/samples.hpp"

using namespace berth;
using profile_test::answer_text;

namespace {

case_verdict volcano_case(const std::string& policy, const std::string& nodes, const std::string& queues,
                          const std::string& jobs, const std::string& expect) {
  const auto a =
      answer_text("volcano",
                  R"({"id": "t", "kind": "cycle", "policy": {)" + policy +
                      R"(}, "cluster": {"levels": ["tier-2", "tier-1", "host"], "nodes": [)" + nodes +
                      R"(]}, "queues": [)" + queues + R"(], "jobs": [)" + jobs + R"(], "expect": {)" + expect + "}}",
                  case_io::answer_cycle);
  REQUIRE(a);
  return *a;
}

const std::string allocate = R"("actions": ["allocate"])";
const std::string q1 = R"({"name": "q1", "parent": null, "weight": 1})";

std::string node(const std::string& name, const std::string& domain, int cpu = 2000) {
  return R"({"name": ")" + name + R"(", "path": ["top", ")" + domain + R"(", ")" + name +
         R"("], "capacity": {"cpu": )" + std::to_string(cpu) + R"(, "mem": 4000, "pods": 9}})";
}
std::string pods(int n, const std::string& extra = "") {
  std::string out;
  for (int i = 0; i < n; ++i)
    out += (i == 0 ? "" : ", ") + std::string{R"({"name": "p)"} + std::to_string(i) +
           R"(", "state": "pending", "requests": {"cpu": 2000, "mem": 1000})" + extra + "}";
  return out;
}
std::string gang(const std::string& rest, const std::string& of) {
  return R"({"name": "g", "queue": "q1", )" + rest + R"(, "pods": [)" + of + "]}";
}

}  // namespace

TEST_CASE("The samples of Volcano's tests agree, but for those that need eviction") {
  profile_test::check_samples("volcano.json", case_io::answer_cycle,
                              {
                                  {"volcano-090", case_result::unsupported, "eviction"},
                                  {"volcano-098", case_result::unsupported, "eviction"},
                                  {"volcano-114", case_result::unsupported, "eviction"},
                                  {"volcano-138", case_result::unsupported, "eviction"},
                              });
}

TEST_CASE("A hard spread limit keeps a gang inside one domain of its tier, or leaves it waiting") {
  const std::string nodes = node("a1", "a") + "," + node("b1", "b") + "," + node("b2", "b");
  const auto with = [&](const std::string& tier, int n, const std::string& expect) {
    return volcano_case(allocate, nodes, q1,
                        gang(R"("gang_min": )" + std::to_string(n) +
                                 R"(, "topology": {"mode": "required", "max_spread_level": ")" + tier + R"("})",
                             pods(n)),
                        expect)
        .result;
  };
  CHECK(with("tier-1", 2, R"("bound": {"p0": "b1", "p1": "b2"})") == case_result::agrees);
  CHECK(with("tier-1", 3, R"("bound_count": 0)") == case_result::agrees);
  CHECK(with("tier-2", 3, R"("bound_count": 3)") == case_result::agrees);
}

TEST_CASE("Of domains of one tier the fullest wins, then the one with more of the subgroup") {
  const std::string nodes = node("a1", "a", 8000) + "," + node("b1", "b", 6000);
  CHECK(volcano_case(allocate, nodes, q1,
                     gang(R"("gang_min": 2, "topology": {"mode": "required", "max_spread_level": "tier-1"})", pods(2)),
                     R"("bound": {"p0": "b1", "p1": "b1"})")
            .result == case_result::agrees);
}

TEST_CASE("Roles: a gang whose role cannot start stops, one that has enough goes on with the others") {
  const std::string nodes = node("a1", "a", 4000);
  const auto with = [&](const std::string& roles, const std::string& expect) {
    return volcano_case(allocate, nodes, q1,
                        gang(R"("gang_min": 2, "role_min": )" + roles,
                             R"({"name": "m", "state": "pending", "role": "m", "requests": {"cpu": 9000}},
                                {"name": "w0", "state": "pending", "role": "w", "requests": {"cpu": 2000}},
                                {"name": "w1", "state": "pending", "role": "w", "requests": {"cpu": 2000}})"),
                        expect)
        .result;
  };
  CHECK(with(R"({"m": 1, "w": 1})", R"("bound_count": 0)") == case_result::agrees);
  CHECK(with(R"({"m": 0, "w": 2})", R"("bound": {"w0": "a1", "w1": "a1"})") == case_result::agrees);
}

TEST_CASE("Capacity: limits hold up the tree of queues, and only for what is asked") {
  const std::string nodes = node("a1", "a", 8000);
  const std::string tree = R"({"name": "root", "parent": null},
      {"name": "top", "parent": "root", "limit": {"cpu": 3000, "mem": 900}},
      {"name": "q1", "parent": "top"}, {"name": "q2", "parent": "top"})";
  const auto with = [&](const std::string& job_queue, const std::string& asks) {
    const auto v =
        volcano_case(R"("actions": ["enqueue", "allocate"], "quota": "hierarchical deserved/limit")", nodes, tree,
                     R"({"name": "r", "queue": "q2", "gang_min": 1, "admitted": true, "pods": [{"name": "r",
                                   "state": "running", "node": "a1", "requests": {"cpu": 2000, "mem": 100}}]},
                                   {"name": "w", "queue": ")" +
                         job_queue + R"(", "gang_min": 1, "admitted": false,
                                   "pods": [{"name": "w", "state": "pending", "requests": )" +
                         asks + "}]}",
                     R"("bound": {"w": "a1"})");
    return v.result == case_result::agrees;
  };
  CHECK(with("q1", R"({"cpu": 1000})"));
  CHECK_FALSE(with("q1", R"({"cpu": 1001})"));
  CHECK(with("q1", R"({"cpu": 1000, "mem": 800})"));
  CHECK_FALSE(with("q1", R"({"cpu": 1000, "mem": 801})"));
  CHECK_FALSE(with("top", R"({"cpu": 1000})"));  // jobs belong in leaves
}

TEST_CASE("Malformed cycle cases are errors; actions and members that are not known are not answered") {
  CHECK(volcano_case(R"("actions": ["shuffle"])", node("a1", "a"), q1, "", R"("bound": {})").why == "action shuffle");
  CHECK(volcano_case(allocate, node("a1", "a"), q1, gang(R"("volumes": 1)", ""), R"("bound": {})").why ==
        "job with volumes (line 1)");
  CHECK(volcano_case(allocate, node("a1", "a"), q1, "", R"("mood": {})").why == "expectation mood");
  const auto a = answer_text("volcano", R"({"id": "t", "kind": "cycle", "policy": {"actions": ["allocate"]}, "queues":
      [{"name": "x", "parent": "y"}, {"name": "y", "parent": "x"}], "jobs": [], "expect": {}})",
                             case_io::answer_cycle);
  REQUIRE_FALSE(a);
  CHECK(a.error().expected == "a tree of queues, at most 64 deep");
  const auto b = answer_text("volcano", R"({"id": "t", "kind": "cycle", "policy": {"actions": ["allocate"]}, "queues":
      [{"name": "x"}], "jobs": [{"name": "j", "queue": "z", "pods": []}], "expect": {}})",
                             case_io::answer_cycle);
  REQUIRE_FALSE(b);
  CHECK(b.error().found == "queue: 'z'");
}
