#include "profile/cases.hpp"

#include <cstdint>
#include <vector>

#include "berth/core/random.hpp"

using namespace berth;

TEST_CASE("Every case about placing, ordering, dividing and quota agrees with its scheduler") {
  struct row {
    const char* file;
    const char* kind;
    std::size_t cases;
  };
  const row table[] = {
      {"kueue_tas.json", "place", 17},
      {"kueue_tas.json", "replace", 1},
      {"kueue_order.json", "order", 4},
      {"kueue_order.json", "select-domains", 2},
      {"kueue_quota.json", "fair-share", 2},
      {"koordinator.json", "place", 1},
      {"koordinator.json", "order", 2},
      {"koordinator.json", "capacity", 1},
      {"ray.json", "place", 10},
      {"scheduler_plugins.json", "numa", 3},
      {"scheduler_plugins.json", "quota-check", 1},
      {"yunikorn.json", "excess", 2},
      {"kai_fairshare.json", "fair-share", 9},
  };
  // Differences that are the other scheduler's fault or a random tie, by case. None so far.
  const std::map<std::string, std::string> explained{};
  for (const auto& r : table) {
    CAPTURE(r.file);
    CAPTURE(r.kind);
    CHECK(profile_cases::run(r.file, r.kind, explained).agree == r.cases);
  }
}

TEST_CASE("What needs eviction says so") {
  for (const char* name : {"kueue_quota.json", "yunikorn.json", "scheduler_plugins.json"}) {
    case_file file;
    REQUIRE(read_cases(profile_cases::text_of(name), name, file));
    for (const auto& q : file.cases) {
      if (q.kind != "preempt") continue;
      const auto answer = answer_case(q);
      REQUIRE(answer);
      CHECK(answer->result == case_result::unsupported);
      CHECK(answer->why == "eviction");
    }
  }
}

TEST_CASE("A case is answered by another scheduler's rules where that is asked for") {
  case_file file;
  REQUIRE(read_cases(profile_cases::text_of("kueue_tas.json"), "kueue_tas.json", file));
  case_run_options options;
  options.profile = "nobody";
  for (const auto& c : run_cases(file, options).cases) CHECK(c.verdict.result == case_result::unsupported);
  // Koordinator fills the emptiest first, kube-scheduler spreads: some answers are the same, some are not.
  options.kind = "place";
  for (const char* other : {"koordinator", "kube-scheduler"}) {
    options.profile = other;
    const auto out = run_cases(file, options);
    CAPTURE(other);
    CHECK(out.kinds.at("place").agree > 0);
    CHECK(out.kinds.at("place").differ > 0);
    // Neither has groups that share a domain, nor slices.
    for (const auto& c : out.cases)
      if (c.verdict.result == case_result::unsupported)
        CHECK_MESSAGE((c.verdict.why.find("request with ") == 0 || c.verdict.why.find("topology with slices") == 0),
                      c.verdict.why);
  }
}

namespace {

/// The smallest file with one case.
std::string file_with(const std::string& body, const std::string& kind = "place", const std::string& peer = "kueue") {
  return R"({"schema": "berth-cases/1", "peer": ")" + peer +
         R"(", "cases": [)"
         "\n{\"id\": \"a\", \"kind\": \"" +
         kind + "\", " + body + "}\n]}";
}
std::string fault_of(const std::string& text) {
  case_file file;
  if (const auto ok = read_cases(text, "f.json", file); !ok) return ok.error().message();
  const auto out = run_cases(file, {});
  for (const auto& c : out.cases)
    if (c.malformed) return c.verdict.why;
  return "";
}

}  // namespace

TEST_CASE("Malformed files and cases name file and line") {
  const std::string expect = R"("expect": [{"request": "r", "result": "placed"}])";
  struct row {
    std::string text, fault;
  };
  const row table[] = {
      {"", "f.json: found an empty file, expected a JSON object"},
      {"[]", "f.json:1: found an array, expected an object"},
      {R"({"schema": "berth-cases/2", "peer": "x", "cases": []})", "\"berth-cases/1\""},
      {R"({"schema": "berth-cases/1", "cases": []})", "found no peer"},
      {R"({"schema": "berth-cases/1", "peer": "x"})", "found no cases"},
      {R"({"schema": "berth-cases/1", "peer": "x", "cases": []})", "expected at least one case"},
      {R"({"schema": "berth-cases/1", "peer": "x", "cases": [{"kind": "place", "expect": []}]})", "found no id"},
      {R"({"schema": "berth-cases/1", "peer": "x", "cases": [{"id": "a", "kind": "place"}]})", "found no expect"},
      {file_with(R"("requests": [{"name": "r"}], "expect": [{"request": "R", "result": "placed"}])"),
       "f.json:2: found request: an object, expected the name of a request"},
      {file_with(R"("requests": [{"name": "r"}], "expect": [{"request": "r", "gangs_per_node_sorted": "x"}])"),
       "f.json:2: found gangs_per_node_sorted: 'x', expected an array"},
      {file_with(R"("requests": [{"name": "r"}], "expect": [{"request": "r", "gangs_per_node_sorted": [true]}])"),
       "expected an array of whole numbers from 0"},
      {file_with(R"("queues": [{"name": "q", "weight": -1}], "expect": {"shares": [{"name": "q"}]})", "fair-share"),
       "f.json:2: found weight -1000 at queue 'q'"},
      {file_with(R"("queues": [{"name": "q"}],
"expect": {"shares": [{"name": "q", "weighted_share_permille": "finite"}]})",
                 "fair-share"),
       "f.json:3: found weighted_share_permille: 'finite'"},
      {file_with(R"("queues": [{"name": "q"}], "expect": {"shares": [{"name": "q", "weighted_share_permille": 0.5}]})",
                 "fair-share"),
       "expected a whole number, or \"infinite\""},
      {file_with(R"("numa_nodes": [], "expect": {"numa_nodes": ["0"]})", "numa", "scheduler-plugins"),
       "f.json:2: found numa_nodes: '0'"},
      {R"({"schema": "berth-cases/1", "peer": "x", "cases": [{"id": "a", "kind": "k", "expect": {}},
{"id": "a", "kind": "k", "expect": {}}]})",
       "f.json:2: found case 'a' twice"},
      {file_with(R"("cluster": [], )" + expect), "f.json:2: found cluster: an array, expected an object"},
      {file_with(R"("cluster": {"levels": ["host"], "nodes": [{"name": "n", "path": ["a", "b"]}]}, )" + expect),
       "one domain per level"},
      {file_with(R"("cluster": {"levels": ["host"], "nodes": [{"path": ["a"]}]}, )" + expect), "found no name"},
      {file_with(R"("cluster": {"levels": ["host"], "nodes": [{"name": "n", "capacity": {"cpu": "1"}}]}, )" + expect),
       "f.json:2: found cpu: '1', expected a number"},
      {file_with(R"("requests": [{"name": "r", "count": -1}], )" + expect), "count: -1"},
      {file_with(R"("requests": [{"name": "r", "per_pod": {"cpu": 1e300}}], )" + expect), "cpu"},
      {file_with(R"("requests": [{"name": "r", "topology": {"mode": "maybe"}}], )" + expect), "mode: 'maybe'"},
      {file_with(R"("requests": [{"name": "r", "tolerations": [{"op": "Never"}]}], )" + expect), "op: 'Never'"},
      {file_with(R"("expect": {})"), "expect: an object, expected an array"},
      {file_with(R"("expect": [{"request": "nobody"}])"), "the name of a request"},
      {file_with(expect, "replace"), "found no unhealthy_nodes"},
      {file_with(R"("expect": [])", "order"), "found no object expect"},
      {file_with(R"("domains": [{"name": "d", "free_pods": 1e9}], "expect": {"order": []})", "order"), "free_pods"},
      // Members that are meant to be others, of every part.
      {file_with(R"("requests": [{"name": "r", "coutn": 2}], )" + expect),
       "f.json:2: found unknown key 'coutn' of a request, expected count"},
      {file_with("\"requests\": [{\"name\": \"r\",\n\"topology\": {\"modes\": \"required\"}}], " + expect),
       "f.json:3: found unknown key 'modes' of a topology, expected mode"},
      {file_with(R"("requests": [{"name": "r", "tolerations": [{"keys": "a"}]}], )" + expect),
       "unknown key 'keys' of a toleration, expected key"},
      {file_with(R"("requests": [{"name": "r", "node_affinity": {"prefered": []}}], )" + expect),
       "unknown key 'prefered' of a node affinity, expected preferred"},
      {file_with(R"("cluster": {"levels": ["host"], "nodes": [{"name": "n", "label": {}}]}, )" + expect),
       "unknown key 'label' of a node, expected labels"},
      {file_with(R"("request": [], )" + expect), "unknown key 'request' of a case, expected requests"},
      {file_with(R"("requests": [{"name": "r", "spread_modes": "pack"}], )" + expect, "place", "ray"),
       "unknown key 'spread_modes' of a request, expected spread_mode"},
      {file_with(R"("requests": [{"name": "r", "count_multiples": {}}], )" + expect, "place", "koordinator"),
       "unknown key 'count_multiples' of a request, expected count_multiple"},
      {file_with(R"("requests": [{"name": "r", "toleration": []}], )" + expect, "place", "kube-scheduler"),
       "unknown key 'toleration' of a request, expected tolerations"},
      {file_with(R"("unhealthy_nodes": ["n"], "existing": [{"requests": "r"}], )" + expect, "replace"),
       "unknown key 'requests' of a placement, expected request"},
      {file_with(R"("domains": [{"name": "d", "free_pod": 1}], "expect": {"order": []})", "order"),
       "unknown key 'free_pod' of a domain, expected free_pods"},
      {file_with(R"("domains": [], "need": {"leader": 1}, "expect": {"domains": []})", "select-domains"),
       "unknown key 'leader' of a need, expected leaders"},
      {file_with(R"("requests": [{"countmultiple": {}}], "expect": {})", "capacity", "koordinator"),
       "unknown key 'countmultiple' of a request, expected count_multiple"},
      {file_with(R"("numa_nodes": [{"numa": 0, "fre": {}}], "expect": {})", "numa", "scheduler-plugins"),
       "unknown key 'fre' of a NUMA node, expected free"},
      {file_with(R"("request": {"perpod": {}}, "expect": {})", "numa", "scheduler-plugins"),
       "unknown key 'perpod' of a request, expected per_pod"},
      {file_with(R"("queues": [{"name": "q", "limits": {}}], "expect": [])", "quota-check", "scheduler-plugins"),
       "unknown key 'limits' of a queue, expected limit"},
      {file_with(R"("queues": [{"name": "q", "guarantee": {}}], "expect": {})", "excess", "yunikorn"),
       "unknown key 'guarantee' of a queue, expected guaranteed"},
      {file_with(R"("queues": [{"name": "q", "weigth": 1}], "expect": {"shares": []})", "fair-share"),
       "unknown key 'weigth' of a queue, expected weight"},
      {file_with(R"("capacity": {}, "queues": [{"name": "q", "deservd": {}}], "expect": {})", "fair-share", "kai"),
       "unknown key 'deservd' of a queue, expected deserved"},
      {file_with(R"("policy": {"pick": "lowest id first"}, "steps": [{"op": "match", "or_reserv": true}])", "sequence",
                 "flux-sched"),
       "unknown key 'or_reserv' of a step, expected or_reserve"},
  };
  for (const auto& r : table) {
    CAPTURE(r.text);
    const auto fault = fault_of(r.text);
    CHECK_MESSAGE(fault.find(r.fault) != std::string::npos, fault);
    CHECK(fault.find("f.json") != std::string::npos);
  }
}

TEST_CASE("A case of which nothing was compared, or of which something is not looked at, does not agree") {
  struct row {
    const char *body, *kind, *peer, *why;
  };
  const row table[] = {
      {R"("requests": [{"name": "r", "colour": "red"}], "expect": [{"request": "r"}])", "place", "kueue",
       "request with colour (line 2)"},
      {R"("requests": [{"name": "r", "spread_mode": "pack"}], "expect": [{"request": "r"}])", "place", "kueue",
       "request with spread_mode (line 2)"},
      {R"("requests": [{"name": "r", "tolerations": []}], "expect": [{"request": "r"}])", "place", "koordinator",
       "request with tolerations (line 2)"},
      {R"("requests": [{"name": "r", "topology": {"mode": "preferred"}}], "expect": [{"request": "r"}])", "place",
       "koordinator", "request with a preferred topology (line 2)"},
      {R"("requests": [{"name": "r", "group": "g"}], "expect": [{"request": "r"}])", "place", "ray",
       "request with group (line 2)"},
      {R"("cluster": {"levels": ["host"], "nodes": [{"name": "n", "mig_slices": {}}]}, "expect": [])", "place", "kueue",
       "node with mig_slices (line 2)"},
      {R"("queues": [{"name": "q", "preemption": {}}], "expect": {"shares": []})", "fair-share", "kueue",
       "queue with preemption (line 2)"},
      {R"("capacity": {"gpu": 1}, "queues": [{"name": "q"}], "expect": {"shars": []})", "fair-share", "kai",
       "no shares are expected"},
      {R"("capacity": {"gpu": 1}, "queues": [{"name": "q"}], "expect": {"shares": [{"name": "q", "gpus": 0}]})",
       "fair-share", "kai", "a share of gpus, of which there is no capacity"},
      {R"("queues": [{"name": "q"}], "expect": {"shars": []})", "fair-share", "kueue", "no shares are expected"},
      {R"("domains": [], "expect": {"domain": []})", "select-domains", "kueue", "no domains are expected"},
      {R"("cluster": {"levels": ["host"]}, "expect": {"slots": {}})", "capacity", "koordinator",
       "no slots are expected"},
      {R"("queues": [{"name": "q"}], "expect": {"may_take": null})", "excess", "yunikorn",
       "no may_take_back is expected"},
  };
  for (const auto& r : table) {
    CAPTURE(r.body);
    case_file file;
    REQUIRE(read_cases(file_with(r.body, r.kind, r.peer), "f.json", file));
    const auto out = run_cases(file, {});
    REQUIRE(out.cases.size() == 1);
    CHECK(out.cases[0].verdict.result == case_result::unsupported);
    CHECK(out.cases[0].verdict.why == r.why);
  }
}

TEST_CASE("Broken cases never crash the reader or the answers") {
  // Bytes changed, cut out and doubled, and JSON values exchanged for others.
  random_source random{7};
  std::size_t malformed = 0, answered = 0;
  const char* values[] = {"null", "-1", "9e99", "\"x\"", "[]", "{}", "true", "1000000000", "0.5", "0"};
  for (const char* name : {"koordinator.json", "kueue_order.json", "ray.json", "scheduler_plugins.json",
                           "yunikorn.json", "kueue_tas.json", "kai_fairshare.json"}) {
    const std::string original = profile_cases::text_of(name);
    for (int round = 0; round < 120; ++round) {
      std::string text = original.substr(0, 1 + random.below(original.size()) % 12'000);
      const bool whole = random.below(4) != 0;
      if (whole) text = original;
      for (std::uint64_t i = 1 + random.below(6); i > 0; --i) {
        const auto at = random.below(text.size());
        if (random.below(3) == 0) {
          text[at] = static_cast<char>(32 + random.below(96));
        } else if (random.below(4) == 0) {
          text.erase(at, 1 + random.below(8));
        } else if (const auto colon = text.find(": ", at); colon != std::string::npos) {
          const auto end = text.find_first_of(",}]", colon);
          if (end != std::string::npos)
            text.replace(colon + 2, end - colon - 2, values[random.below(std::size(values))]);
        }
        if (text.empty()) text = "{";
      }
      case_file file;
      if (const auto ok = read_cases(text, name, file); !ok) {
        ++malformed;
        REQUIRE(ok.error().source == name);
        REQUIRE_FALSE(ok.error().found.empty());
        continue;
      }
      const auto out = run_cases(file, {});
      answered += out.cases.size();
      for (const auto& c : out.cases) malformed += c.malformed ? 1 : 0;
      (void)case_json({out});
    }
  }
  CHECK(malformed > 100);
  CHECK(answered > 500);
}
