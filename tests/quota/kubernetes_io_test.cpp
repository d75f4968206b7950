// Queues as objects of Kubernetes: Kueue, KAI, Volcano.
#include <doctest/doctest.h>

#include <algorithm>
#include <string>

#include "berth/quota/borrowing.hpp"
#include "quota/io_support.hpp"

using namespace berth;
using namespace queue_tests;

TEST_CASE("Kueue's sample files are read whole") {
  const auto f = read(sample("kueue-cluster-queues.yaml"));
  CHECK(f.system == "kueue");
  auto t = tree_of(f);
  CHECK(t.queue_count() == 5);
  const auto cohort = t.find("ai-for-humanity-foundation"), emergency = t.find("emergency-cluster-queue");
  REQUIRE(bool(cohort));
  CHECK(t.parent(emergency) == cohort);
  CHECK_FALSE(bool(t.parent(t.find("unused-cluster-queue"))));
  const auto cpu = t.find_resource("cpu", "default-flavor"), mem = t.find_resource("memory", "default-flavor");
  CHECK(t.cell(emergency, cpu).guarantee == 1000);
  CHECK(t.cell(t.find("agi-cluster-queue"), cpu).guarantee == 300);
  CHECK(t.cell(cohort, cpu).subtree == 1600);
  CHECK(t.cell(cohort, mem).subtree == (std::int64_t{1} << 30) + 2 * (std::int64_t{300} << 20));
  CHECK(t.cell(emergency, t.find_resource("gpu", "gpu")).guarantee == std::int64_t{1} << 30);  // as the file says it

  const auto c = tree_of(read(sample("kueue-cohorts.yaml")));
  CHECK(c.queue_count() == 5);
  CHECK(c.root_count() == 3);
  CHECK(c.name(c.parent(c.find("research"))) == "organization");
  const auto g = read(sample("kueue-tas-gpu-queues.yaml"));
  const auto tas = tree_of(g);
  CHECK(tas.cell(tas.find("tas-cluster-queue"), tas.find_resource("nvidia.com/gpu", "tas-flavor")).guarantee == 16);
  CHECK(g.notes.size() == 3);  // Topology, ResourceFlavor, LocalQueue
}

TEST_CASE("Kueue: limits, weights, stopped queues, cycles, and what its own validation refuses") {
  const std::string text =
      kueue("Cohort", "org", "{fairSharing: {weight: 500m}, " + gpus("nominalQuota: 2") + "}") +
      kueue("ClusterQueue", "a",
            "{cohort: team, fairSharing: {weight: \"2.5\"}, " +
                gpus("nominalQuota: 8, borrowingLimit: 4, lendingLimit: 3") + "}") +
      kueue("ClusterQueue", "b", "{cohort: team, stopPolicy: Hold, " + gpus("nominalQuota: 8") + "}") +
      kueue("Cohort", "team", "{parent: org, fairSharing: {weight: 0}}");
  auto f = read({"f", text});
  auto t = tree_of(f);
  const resource_id gpu{0};
  CHECK(t.spec(t.find("org")).weight == 500);
  CHECK(t.spec(t.find("a")).weight == 2500);
  CHECK(t.spec(t.find("team")).weight == 0);
  CHECK(t.cell(t.find("a"), gpu).local == 5);
  CHECK(t.cell(t.find("team"), gpu).subtree == 3 + 8);
  CHECK(t.depth(t.find("a")) == 3);
  const quota_demand one{gpu, 1};
  CHECK(t.may_admit(t.find("a"), {&one, 1}));
  CHECK(t.may_admit(t.find("b"), {&one, 1}).refused_by == quota_limit::inactive);

  // A cycle: Kueue marks the queues inactive.
  const std::string ring = kueue("Cohort", "x", "{parentName: y}") + kueue("Cohort", "y", "{parentName: z}") +
                           kueue("Cohort", "z", "{parentName: y}") +
                           kueue("ClusterQueue", "q", "{cohort: x, " + gpus("nominalQuota: 8") + "}") +
                           kueue("ClusterQueue", "fine", "{cohort: other, " + gpus("nominalQuota: 8") + "}");
  f = read({"f", ring});
  auto r = tree_of(f);
  CHECK(r.may_admit(r.find("q"), {&one, 1}).refused_by == quota_limit::inactive);
  CHECK(r.may_admit(r.find("fine"), {&one, 1}));
  CHECK(f.notes.size() == 2);

  CHECK(fault(kueue("ClusterQueue", "a", "{cohort: t, " + gpus("nominalQuota: -1") + "}")) ==
        "f:5: found nominalQuota of queue 'a': -1, expected a quantity such as 2, 500m, 1.5, 1e3, 40Gi or 87425380Ki");
  CHECK(fault(kueue("ClusterQueue", "a", "{cohort: t, " + gpus("nominalQuota: 5, lendingLimit: 6") + "}")) ==
        "f:5: found lendingLimit 6 of queue 'a', expected at most its nominalQuota 5");
  CHECK(fault(kueue("ClusterQueue", "a", "{" + gpus("nominalQuota: 5, borrowingLimit: 6") + "}")) ==
        "f:5: found borrowingLimit of queue 'a' without a cohort, expected a cohort, or no limit");
  CHECK(fault(kueue("ClusterQueue", "a", "{" + gpus("nominalQuota: 9E") + "}")).find("below 2^62") !=
        std::string::npos);
  CHECK(fault(kueue("ClusterQueue", "a", "{" + gpus("borrowingLimit: 9") + "}"))
            .find("no nominalQuota of gpu in queue 'a'") != std::string::npos);
  CHECK(fault(kueue("ClusterQueue", "a", "{}") + kueue("ClusterQueue", "a", "{}"))
            .find("the same name a second time at queue 'a'") != std::string::npos);
  CHECK(fault(kueue("Cohort", "a", "{}") + kueue("ClusterQueue", "a", "{cohort: a}")) == "read");
  CHECK(fault(kueue("ClusterQueue", "a", "{fairSharing: {weight: -1}}")).find("weight of queue 'a'") !=
        std::string::npos);
  CHECK(fault(kueue("ClusterQueue", "", "{}")).find("without a name") != std::string::npos);
}

TEST_CASE("Kueue: flavors list what their resource group covers, in that order") {
  const auto groups = [](const std::string& all) {
    return fault(kueue("ClusterQueue", "a", "\n  resourceGroups:\n" + all));
  };
  const std::string two = "  - coveredResources: [cpu, gpu]\n    flavors:\n    - name: x\n      resources:\n";
  const std::string cpu = "      - {name: cpu, nominalQuota: 1}\n", gpu = "      - {name: gpu, nominalQuota: 1}\n";
  CHECK(groups(two + cpu + gpu) == "read");
  CHECK(groups(two + gpu + cpu) ==
        "f:11: found resource 'gpu' of flavor 'x' in queue 'a', expected 'cpu', as coveredResources has it there");
  CHECK(groups(two + cpu + "      - {name: gpus, nominalQuota: 1}\n") ==
        "f:12: found resource 'gpus' of flavor 'x' in queue 'a', expected 'gpu', as coveredResources has it there");
  CHECK(groups(two + cpu) ==
        "f:9: found flavor 'x' in queue 'a' without 'gpu', expected every one of coveredResources");
  CHECK(groups(two + cpu + gpu + gpu) ==
        "f:13: found resource 'gpu' of flavor 'x' in queue 'a', expected no more, as coveredResources ends here");
  const std::string one = "  - coveredResources: [gpu]\n    flavors:\n    - name: y\n      resources:\n" + gpu;
  CHECK(groups(two + cpu + gpu + one) ==
        "f:13: found 'gpu' covered a second time in queue 'a', expected every resource in one group");
  CHECK(groups(one + "    - name: y\n      resources:\n" + gpu) ==
        "f:12: found flavor 'y' a second time in queue 'a', expected every flavor once");
  CHECK(groups("  - flavors: []\n").find("f:7: found no coveredResources, expected coveredResources: a list") == 0);
  CHECK(groups("  - {coveredResources: [], flavors: []}\n").find("f:7: found no coveredResources in queue 'a'") == 0);
}

TEST_CASE("KAI's sample files are read: -1 is no limit, GPUs are divided whole") {
  const auto f = read(sample("kai-queues.yaml"));
  CHECK(f.policy == "kai");
  const auto t = tree_of(f);
  CHECK(t.queue_count() == 2);
  CHECK(t.name(t.parent(t.find("default-queue"))) == "default-parent-queue");
  CHECK(t.cell(t.find("default-queue"), resource_id{0}).cap == unlimited);
  CHECK(t.resource(resource_id{0}).unit == 1000);
  const auto o = tree_of(read(sample("kai-oscillation-queues.yaml")));
  CHECK(o.queue_count() == 3);
  CHECK(o.spec(o.find("team-a")).priority == 100);
  const std::string one =
      "apiVersion: scheduling.run.ai/v2\nkind: Queue\nmetadata: {name: a}\nspec: {resources: {gpu: {";
  CHECK(fault(one + "quota: 2.5, limit: -1}}}") == "read");
  CHECK(fault(one + "quota: -2}}}") ==
        "f:4: found quota of queue 'a': -2, expected a number from 0, or -1 for no limit");
  CHECK(fault(one + "overQuotaWeight: -1}}}").find("overQuotaWeight of queue 'a': -1") != std::string::npos);
}

TEST_CASE("What a queue of KAI's does not state is 0, as in KAI, and one without resources is refused") {
  const std::string head = "---\napiVersion: scheduling.run.ai/v2\nkind: Queue\nmetadata: {name: ";
  const auto f = read({"f", head + "a}\nspec: {resources: {gpu: {quota: 2}, cpu: {limit: -1, overQuotaWeight: 1}}}\n" +
                                head + "b}\nspec: {resources: {gpu: {limit: 4}, cpu: {limit: 5, quota: 5}}}\n"});
  const auto t = tree_of(f);
  const auto& a = t.spec(t.find("a")).quota;
  CHECK(a[0].guarantee == 2000);
  CHECK(a[0].cap == 0);
  CHECK(a[0].weight == 0);
  CHECK(a[1].cap == unlimited);
  CHECK(a[1].weight == 1000);
  CHECK(a[2].cap == 0);
  const quota_demand gpu[] = {{resource_id{0}, 1}};
  CHECK(t.may_admit(t.find("a"), gpu).refused_by == quota_limit::cap);
  CHECK(bool(t.may_admit(t.find("b"), gpu)));
  REQUIRE(f.notes.size() == 3);
  CHECK(f.notes[0] ==
        "queue 'a' states no limit of gpu: KAI counts 0, so that nothing of it may be used there; -1 is no limit");
  CHECK(
      f.notes[1] ==
      "queue 'b' states no overQuotaWeight of gpu: KAI counts 0, so that nothing beyond the quota is shared out there");
  CHECK(f.notes[2].find("queue 'a' and 1 other queue state no limit of memory") == 0);
  CHECK(fault(head + "a}\nspec: {parentQueue: b}\n") ==
        "f:5: found no resources of queue 'a', expected resources: a mapping of gpu, cpu and memory, as KAI requires");
  CHECK(fault(head + "a}\n").find("f:2: found no spec, expected spec: a mapping") == 0);
}

TEST_CASE("What a system does not know, or takes otherwise when it is missing, is not passed over") {
  const auto has = [](const std::string& text, const std::string& says) {
    INFO(text);
    CHECK(text.find(says) != std::string::npos);
  };
  // KAI's queues without a priority have 100.
  const std::string kai = "apiVersion: scheduling.run.ai/v2\nkind: Queue\nmetadata: {name: a}\nspec: ";
  CHECK(tree_of(read({"f", kai + "{resources: {}}\n"})).spec(queue_id{0}).priority == 100);
  CHECK(tree_of(read({"f", kai + "{priority: 5, resources: {}}\n"})).spec(queue_id{0}).priority == 5);
  has(fault(kai + "{resources: {gpus: {quota: 1}}}\n"),
      "f:4: found unknown key 'gpus' of the resources of queue 'a', expected gpu");
  has(fault(kai + "{resources: {gpu: {limits: 1}}}\n"), "unknown key 'limits' of gpu of queue 'a', expected limit");
  has(fault(kueue("ClusterQueue", "a", "{" + gpus("nominalQuota: 1, borowingLimit: 1") + "}")),
      "unknown key 'borowingLimit' of gpu in queue 'a', expected borrowingLimit");
  has(fault(kueue("ClusterQueue", "a", "{stopPolicy: Drain}")),
      "found stopPolicy 'Drain' of queue 'a', expected None, Hold");
  const auto yunikorn = [](const std::string& queue) {
    return "partitions:\n- name: default\n  queues:\n  - name: root\n    queues:\n    - {name: a, " + queue + "}\n";
  };
  CHECK(fault(yunikorn("maxapplications: 3")) == "read");
  has(fault(yunikorn("maxApplications: 3")),
      "f:6: found unknown key 'maxApplications' of queue 'root.a', expected maxapplications");
  has(fault(yunikorn("resources: {maximum: {vcore: 1}}")),
      "unknown key 'maximum' of the resources of queue 'root.a', expected one of guaranteed, max");
  has(fault(yunikorn("limits: [{user: [b], maxapplications: 1}]")),
      "unknown key 'user' of a limit of queue 'root.a', expected users");
  has(fault("partitions:\n- name: default\n  queues:\n  - name: root\n    queues:\n    - {name: a.b}\n"),
      "f:6: found name 'a.b', expected 1 to 64 letters");
  // A ConfigMap as kubectl lists it, and a byte order mark before a dump.
  const auto listed =
      read({"f", R"({"kind": "List", "items": [{"kind": "ConfigMap", "data": {"x": "y"}}, {"kind": "ConfigMap", "data":
 {"queues.yaml": "partitions:\n- name: default\n  queues:\n  - name: root\n    queues: [{name: a}]\n"}}]})"});
  CHECK(tree_of(listed).queue_count() == 2);
  const std::string dump = "Cluster - 'a'\nParent - 'root'\nAccount - 'b':Fairshare=2\n";
  CHECK(read({"f", "\xEF\xBB\xBF" + dump}).tree.queues.size() == read({"f", dump}).tree.queues.size());
  // A number for every queue and resource: a file of half a megabyte must not ask for gigabytes.
  std::string wide;
  for (int i = 0; i < 2100; ++i)
    wide += kueue("ClusterQueue", "q" + std::to_string(i),
                  "{resourceGroups: [{coveredResources: [gpu], flavors: [{name: f" + std::to_string(i) +
                      ", resources: [{name: gpu, nominalQuota: 1}]}]}]}");
  has(fault(wide), "f: found 2100 queues with 2100 resources in all, expected at most 4000000 numbers");
}

TEST_CASE("Volcano's queues are read: hierarchies in annotations, parents, and the three numbers") {
  const auto f = read(sample("volcano-hierarchical-queues.yaml"));
  CHECK(f.system == "volcano");
  CHECK(f.policy == "hdrf");
  const auto t = tree_of(f);
  CHECK(t.queue_count() == 7);
  CHECK(t.name(t.parent(t.find("root-eng-prod"))) == "root/eng");
  CHECK(t.name(t.parent(t.find("root/sci"))) == "root");
  CHECK(t.spec(t.find("root/eng")).weight == 2000);
  CHECK(t.spec(t.find("root-sci-prod")).weight == 8000);

  const auto one = [](const std::string& name, const std::string& spec, const std::string& notes = "") {
    return "---\napiVersion: scheduling.volcano.sh/v1beta1\nkind: Queue\nmetadata: {name: " + name +
           (notes.empty() ? "" : ", annotations: {" + notes + "}") + "}\nspec: " + spec + "\n";
  };
  const std::string eng =
      "{weight: 3, capability: {gpu: 64, cpu: 1500m}, guarantee: {resource: {gpu: 16}}, deserved: "
      "{gpu: 40}}";
  const auto g = read({"f", one("eng", eng) + one("train", "{parent: eng, deserved: {gpu: 30}}") +
                                one("sci", "{deserved: {gpu: 24}}\nstatus: {state: Closed}")});
  CHECK(g.policy == "volcano-capacity");
  auto u = tree_of(g);
  const auto gpu = u.find_resource("gpu");
  const auto& q = u.spec(u.find("eng"));
  CHECK(u.name(u.parent(u.find("eng"))) == "root");
  CHECK(u.name(u.parent(u.find("train"))) == "eng");
  CHECK(q.quota[gpu.index()].deserved == 40);
  CHECK(q.weight == 3000);
  CHECK(u.cell(u.find("eng"), gpu).guarantee == 16);
  CHECK(u.cell(u.find("eng"), u.find_resource("cpu")).cap == 1500);
  const quota_demand d{gpu, 1};
  CHECK(u.may_admit(u.find("sci"), {&d, 1}).refused_by == quota_limit::inactive);
  // Guarantees are kept, what is deserved beyond them is lent.
  const auto from = lenders(u, u.find("sci"), gpu);
  REQUIRE(from.size() == 1);
  CHECK(from[0].idle == 24);
  CHECK(read({"f", one("a", "{weight: 2}")}).policy == "volcano-proportion");

  const auto path = [](const std::string& p, const std::string& w) {
    return "volcano.sh/hierarchy: " + p + ", volcano.sh/hierarchy-weights: " + w;
  };
  // The first weight of a group counts, and less than 1 is 1.
  const auto h = read({"f", one("x", "{}", path("root/g/x", "1/0.5/2")) + one("y", "{}", path("root/g/y", "1/7/2.5")) +
                                one("z", "{weight: 4}")});
  const auto v = tree_of(h);
  CHECK(v.spec(v.find("root/g")).weight == 1000);
  CHECK(v.spec(v.find("y")).weight == 2500);
  CHECK(v.name(v.parent(v.find("z"))) == "root");
  CHECK(h.notes.size() == 1);

  CHECK(fault(one("a", "{weight: 0}")) ==
        "f:5: found weight: 0 of queue 'a', expected a whole number from 1 to 2147483647");
  CHECK(fault(one("a", "{}", path("root/a", "1/0"))).find("weight '0' in the hierarchy of queue 'a'") !=
        std::string::npos);
  CHECK(fault(one("a", "{}", path("root/a", "1"))).find("hierarchy 'root/a' with weights '1' of queue 'a'") !=
        std::string::npos);
  CHECK(fault(one("a", "{}", path("root/a", "1/1")) + one("b", "{}", path("root/a/b", "1/1/1")))
            .find("the hierarchy of queue 'b' at or below 'root/a'") != std::string::npos);
  CHECK(fault(one("b", "{}", path("root/a/b", "1/1/1")) + one("a", "{}", path("root/a", "1/1")))
            .find("the hierarchy of queue 'a' at or below 'root/a'") != std::string::npos);
  std::string deep = "root", ones = "1";
  for (int i = 0; i < 64; ++i) deep += "/a", ones += "/1";
  CHECK(fault(one("a", "{}", path(deep, ones))).find("a hierarchy of 65 words of queue 'a'") != std::string::npos);
  CHECK(fault(one("a", "{parent: nobody}")).find("unknown parent 'nobody' at queue 'a'") != std::string::npos);
  CHECK(fault(one("a", "{parent: b}") + one("b", "{parent: a}")).find("a cycle of parents at queue") !=
        std::string::npos);
  CHECK(fault(one("a", "{guarantee: {resource: {gpu: 2}}}") + one("b", "{parent: a, guarantee: {resource: {gpu: 3}}}"))
            .find("children that are guaranteed 3 of gpu at queue 'a'") != std::string::npos);
  CHECK(fault(one("a", "{capability: {gpu: -3}}")).find("capability of queue 'a' gpu: -3") != std::string::npos);
  CHECK(fault(one("a", "{capability: {gpu: 9E}}")).find("below 2^62") != std::string::npos);
}
