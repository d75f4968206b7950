#include "berth/profile/kai.hpp"

#include "berth/io/case/settle.hpp"
#include "profile/samples.hpp"

using namespace berth;
using profile_test::answer_text;

namespace {

constexpr auto eviction = case_result::unsupported;

// One KAI case: nodes, queues, jobs, expectations as JSON.
case_verdict kai_case(const std::string& levels, const std::string& nodes, const std::string& queues,
                      const std::string& jobs, const std::string& expect, const std::string& actions = "allocate") {
  const auto a =
      answer_text("kai",
                  R"({"id": "t", "kind": "settle", "policy": {"actions": ")" + actions +
                      R"("}, "cluster": {"levels": [)" + levels + R"(], "nodes": [)" + nodes + R"(]}, "queues": [)" +
                      queues + R"(], "jobs": [)" + jobs + R"(], "expect": [)" + expect + "]}",
                  case_io::answer_settle);
  REQUIRE(a);
  return *a;
}

const std::string one_queue = R"({"name": "q", "parent": null, "deserved": {"gpu": 4}})";

}  // namespace

TEST_CASE("The samples of KAI's tests agree, but for those that need eviction and one that leaves its settings out") {
  profile_test::check_samples("kai.json", case_io::answer_settle,
                              {
                                  {"kai-topology-010", eviction, "eviction"},
                                  {"kai-reclaim-002", eviction, "eviction"},
                                  {"kai-reclaim-010", eviction, "eviction"},
                                  {"kai-reclaim-018", eviction, "eviction"},
                                  {"kai-reclaim-026", eviction, "eviction"},
                                  {"kai-reclaim-042", eviction, "eviction"},
                                  {"kai-reclaim-050", eviction, "eviction"},
                                  {"kai-reclaim-058", eviction, "eviction"},
                                  {"kai-reclaim-074", eviction, "eviction"},
                                  {"kai-reclaim-098", eviction, "eviction"},
                                  {"kai-preempt-001", eviction, "eviction"},
                                  {"kai-preempt-009", eviction, "eviction"},
                                  {"kai-preempt-025", eviction, "eviction"},
                                  {"kai-preempt-033", eviction, "eviction"},
                                  {"kai-preempt-041", eviction, "eviction"},
                                  {"kai-consolidation-001", eviction, "eviction"},
                                  {"kai-consolidation-009", eviction, "eviction"},
                                  {"kai-consolidation-017", eviction, "eviction"},
                                  {"kai-fractional-060", eviction, "eviction"},
                                  {"kai-stalegang-001", eviction, "eviction"},
                                  // Its test runs with nodes and GPUs set to spread; the case says so in its name only.
                                  {"kai-fractional-036", case_result::differs, ""},
                              });
}

TEST_CASE("Pods are packed on the fuller node, share the fuller device, and open a new one only where none has room") {
  const std::string nodes = R"({"name": "a", "path": ["a"], "capacity": {"gpu": 4, "cpu": 99, "mem": 99000000000}},
                               {"name": "b", "path": ["b"], "capacity": {"gpu": 4, "cpu": 99, "mem": 99000000000}})";
  const std::string running =
      R"({"name": "r", "queue": "q", "per_pod": {"gpu": 0.3}, "gang_min": 1,
          "pods": [{"name": "r-0", "state": "running", "node": "b", "gpu_devices": ["x"]},
                   {"name": "r-1", "state": "running", "node": "b", "gpu_devices": ["y"]},
                   {"name": "r-2", "state": "running", "node": "b", "gpu_devices": ["y"]}]})";
  const auto with = [&](const std::string& gpu, const std::string& expect) {
    return kai_case(R"("host")", nodes, one_queue,
                    running + R"(, {"name": "p", "queue": "q", "per_pod": {"gpu": )" + gpu +
                        R"(}, "gang_min": 1, "pods": [{"name": "p-0", "state": "pending"}]})",
                    R"({"pod": "r-0", "state": "running", "gpu_devices": ["x"]},
                       {"pod": "r-1", "state": "running", "gpu_devices": ["y"]},)" +
                        expect)
        .result;
  };
  CHECK(with("0.4", R"({"pod": "p-0", "state": "binding", "node": "b", "gpu_devices": ["y"]})") == case_result::agrees);
  CHECK(with("0.5", R"({"pod": "p-0", "state": "binding", "node": "b", "gpu_devices": ["x"]})") == case_result::agrees);
  CHECK(with("0.9", R"({"pod": "p-0", "state": "binding", "node": "b", "gpu_devices": ["z"]})") == case_result::agrees);
  CHECK(with("2", R"({"pod": "p-0", "state": "binding", "node": "b"})") == case_result::agrees);
  CHECK(with("3", R"({"pod": "p-0", "state": "binding", "node": "a"})") == case_result::agrees);
  CHECK(with("0.4", R"({"pod": "p-0", "state": "binding", "node": "b", "gpu_devices": ["x"]})") ==
        case_result::differs);
}

TEST_CASE("A gang waits whole for what is being released, and starts in part beyond its least") {
  const std::string nodes = R"({"name": "a", "path": ["a"], "capacity": {"gpu": 2, "cpu": 99, "mem": 99000000000}})";
  const std::string leaving = R"({"name": "old", "queue": "q", "per_pod": {"gpu": 1}, "gang_min": 1,
                                  "pods": [{"name": "old-0", "state": "releasing", "node": "a"}]},)";
  const auto gang = [&](const std::string& least, const std::string& first, const std::string& second) {
    return kai_case(R"("host")", nodes, one_queue,
                    leaving + R"({"name": "g", "queue": "q", "per_pod": {"gpu": 1}, "gang_min": )" + least +
                        R"(, "pods": [{"name": "g-0", "state": "pending"}, {"name": "g-1", "state": "pending"}]})",
                    R"({"pod": "g-0", "state": ")" + first + R"("}, {"pod": "g-1", "state": ")" + second + R"("})")
        .result;
  };
  CHECK(gang("2", "pipelined", "pipelined") == case_result::agrees);
  CHECK(gang("1", "binding", "pipelined") == case_result::agrees);
}

TEST_CASE("What could be evicted is decided from the state: nothing waits, nobody may go, or nothing would fit") {
  const std::string nodes = R"({"name": "a", "path": ["a"], "capacity": {"gpu": 2, "cpu": 99, "mem": 99000000000}})";
  const auto with = [&](const std::string& runs, const std::string& waits, const std::string& gpus) {
    return kai_case(
               R"("host")", nodes, one_queue,
               R"({"name": "r", "queue": "q", "priority": 50, "preemptible": )" + runs +
                   R"(, "per_pod": {"gpu": 2}, "gang_min": 1, "pods": [{"name": "r-0", "state": "running", "node": "a"}]},
                           {"name": "w", "queue": "q", "preemptible": false, "priority": )" +
                   waits + R"(, "per_pod": {"gpu": )" + gpus +
                   R"(}, "gang_min": 1, "pods": [{"name": "w-0", "state": "pending"}]})",
               R"({"job": "r", "state": "running"}, {"job": "w", "state": "pending"})", "preempt")
        .result;
  };
  CHECK(with("true", "100", "1") == case_result::unsupported);
  CHECK(with("false", "100", "1") == case_result::agrees);
  CHECK(with("true", "50", "1") == case_result::agrees);
  CHECK(with("true", "100", "3") == case_result::agrees);
}

TEST_CASE("Malformed settle cases are errors that name what is wrong; members that are not known are not answered") {
  const std::string nodes = R"({"name": "a", "path": ["a"], "capacity": {"gpu": 2}})";
  const auto found = [&](const std::string& queues, const std::string& jobs) {
    const auto a =
        answer_text("kai",
                    R"({"id": "t", "kind": "settle", "policy": {"actions": "allocate"}, "cluster": {"levels":
                                  ["host"], "nodes": [)" +
                        nodes + R"(]}, "queues": [)" + queues + R"(], "jobs": [)" + jobs + R"(], "expect": []})",
                    case_io::answer_settle);
    return a ? "answered: " + a->why : a.error().found + "; " + a.error().expected;
  };
  CHECK(found(one_queue + "," + one_queue, "") == "name: 'q'; each queue once");
  CHECK(found(R"({"name": "x", "parent": "y"}, {"name": "y", "parent": "x"})", "") ==
        "a queue below itself, or deeper than 64; a tree of queues");
  CHECK(found(R"({"name": "x", "parent": "z"})", "") == "parent: 'z'; a queue of the case");
  CHECK(found(one_queue, R"({"name": "j", "queue": "z", "pods": []})") == "queue: 'z'; a queue of the case");
  CHECK(found(one_queue, R"({"name": "j", "queue": "q", "pods": [{"name": "p", "state": "running", "node": "b"}]})") ==
        "node: an object; a node of the cluster");
  CHECK(found(one_queue, R"({"name": "j", "queue": "q", "pods": [{"name": "p", "state": "asleep"}]})") ==
        "state: an object; a state of a pod");
  CHECK(found(one_queue, R"({"name": "j", "queue": "q", "volumes": 1, "pods": []})") ==
        "answered: job with volumes (line 2)");
  CHECK(found(one_queue, R"({"name": "j", "queue": "q", "gangmin": 1, "pods": []})") ==
        "unknown key 'gangmin' of a job; gang_min");
}

TEST_CASE("Eviction is asked for only where it could change something in KAI's cases") {
  const std::string node = R"({"name": "n", "path": ["n"], "capacity": {"gpu": 4, "cpu": 9000, "mem": 9000000000}})";
  const std::string two = R"({"name": "q", "parent": null, "deserved": {"gpu": 2}},
                             {"name": "o", "parent": null, "deserved": {"gpu": 2}})";
  const auto job = [](const std::string& name, const std::string& queue, const std::string& gpu, bool runs, int pods,
                      int least, const std::string& device = "") {
    std::string out = R"({"name": ")" + name + R"(", "queue": ")" + queue +
                      R"(", "priority": 50, "preemptible": true, "per_pod": {"gpu": )" + gpu + R"(}, "gang_min": )" +
                      std::to_string(least) + R"(, "pods": [)";
    for (int i = 0; i < pods; ++i) {
      out += (i > 0 ? ", " : "") + std::string{R"({"name": ")"} + name + "-" + std::to_string(i) + R"(", "state": )";
      out += runs ? R"("running", "node": "n")" : R"("pending")";
      out += device.empty() ? "}" : R"(, "gpu_devices": [")" + device + R"("]})";
    }
    return out + "]}";
  };
  const auto waits = [](const std::string& name) { return R"({"job": ")" + name + R"(", "state": "pending"})"; };
  struct row {
    std::string queues, jobs, actions;
    case_result result;
  };
  const row table[] = {
      // Shares of 0.6, 0.6, 0.6, 0.6 and 0.5 never fit onto four devices; with 0.4 for one of them they do if it moves.
      {one_queue,
       job("a", "q", "0.6", true, 1, 1, "0") + "," + job("b", "q", "0.6", true, 1, 1, "1") + "," +
           job("c", "q", "0.6", true, 1, 1, "2") + "," + job("d", "q", "0.6", true, 1, 1, "3") + "," +
           job("w", "q", "0.5", false, 1, 1),
       "consolidation", case_result::agrees},
      {one_queue,
       job("a", "q", "0.6", true, 1, 1, "0") + "," + job("b", "q", "0.6", true, 1, 1, "1") + "," +
           job("c", "q", "0.6", true, 1, 1, "2") + "," + job("d", "q", "0.4", true, 1, 1, "3") + "," +
           job("w", "q", "0.7", false, 1, 1),
       "consolidation", eviction},
      // One of four pods may go until the other queue has what it deserves: two, then none.
      {two, job("a", "o", "1", true, 4, 1) + "," + job("w", "q", "1", false, 2, 2), "reclaim", eviction},
      {two, job("a", "o", "1", true, 4, 3) + "," + job("w", "q", "1", false, 2, 2), "reclaim", eviction},
      // With a least of three the first of four may go, then no one: the other queue stays at what it deserves.
      {R"({"name": "q", "parent": null, "deserved": {"gpu": 3}}, {"name": "o", "parent": null, "deserved": {"gpu": 3}})",
       job("a", "o", "1", true, 4, 3) + "," + job("w", "q", "3", false, 1, 1), "reclaim", case_result::agrees},
      {R"({"name": "q", "parent": null, "deserved": {"gpu": 3}}, {"name": "o", "parent": null, "deserved": {"gpu": 2}})",
       job("a", "o", "1", true, 4, 3) + "," + job("w", "q", "3", false, 1, 1), "reclaim", eviction},
  };
  for (const auto& r : table) {
    CAPTURE(r.jobs);
    const auto v = kai_case("\"host\"", node, r.queues, r.jobs, waits("w"), r.actions);
    CAPTURE(v.got);
    CHECK(v.result == r.result);
  }
}
