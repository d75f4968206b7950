#include <doctest/doctest.h>

#include <algorithm>
#include <string>

#include "berth/core/random.hpp"
#include "berth/io/quota/dcgm_samples.hpp"
#include "berth/io/quota/read_queues.hpp"
#include "berth/quota/borrowing.hpp"
#include "berth/quota/division/weighted_max_min.hpp"
#include "berth/quota/queue_tree.hpp"
#include "berth/quota/share_book.hpp"
#include "quota/io_support.hpp"

using namespace berth;
using namespace queue_tests;

TEST_CASE("YuniKorn's sample files are read, also inside a ConfigMap") {
  const auto f = read(sample("yunikorn-queues.yaml"));
  auto t = tree_of(f);
  const auto search = t.find("root.search");
  REQUIRE(bool(search));
  const auto vcore = t.find_resource("vcore"), memory = t.find_resource("memory");
  CHECK(t.cell(search, vcore).guarantee == 40000);
  CHECK(t.cell(search, memory).cap == 600'000'000'000);
  CHECK(t.cell(t.find("root"), memory).subtree == 1'000'000'000'000);
  CHECK(t.name(t.parent(t.find("[gpu]root.test"))) == "[gpu]root");
  CHECK(t.cell(t.find("[gpu]root.production"), t.find_resource("applications", "gpu")).cap == 10);
  const auto user = t.find_user("gpuuser");
  REQUIRE(bool(user));
  const quota_demand d{t.find_resource("gpu", "gpu"), 51};
  // Partitions have nothing of each other.
  CHECK(t.may_admit(search, {&d, 1}).refused_by == quota_limit::cap);
  CHECK(lenders(t, t.find("[gpu]root.test"), vcore).size() <= 1);
  CHECK(may_borrow(t, t.find("[gpu]root.test"), vcore) == 0);
  CHECK(t.may_admit(t.find("[gpu]root.test"), {&d, 1}, user).refused_by == quota_limit::user_limit);
  CHECK(bool(t.find_user("group:sandbox")));

  const auto l = tree_of(read(sample("yunikorn-limits.yaml")));
  CHECK(l.queue_count() == 4);
  const quota_demand cores{l.find_resource("vcore"), 10001};
  CHECK(l.may_admit(l.find("root.level1.level2-2"), {&cores, 1}, l.find_user("john")).queue == l.find("root"));

  const auto p = tree_of(read(sample("yunikorn-priority.yaml")));
  CHECK(p.spec(p.find("root.system.low-priority")).priority == -1000);
  CHECK(p.spec(p.find("root.tenants.group-a")).priority == 20);
  CHECK(p.spec(p.find("root")).line == 28);  // of the outer file

  const std::string head = "partitions:\n- name: default\n  queues:\n  - name: root\n    queues:\n    - name: a\n";
  const std::string res = "      resources: {guaranteed: {gpu: 4}, max: {gpu: 8}}\n";
  CHECK(fault(head + res) == "read");
  CHECK(
      fault(head + res + "      queues: [{name: b, resources: {guaranteed: {gpu: 5}}}]\n") ==
      "f:6: found children that are guaranteed 5 of gpu at queue 'root.a', expected at most the 4 of the queue itself");
  CHECK(fault(head + res + "      queues: [{name: b, resources: {max: {gpu: 9}}}]\n")
            .find("found max gpu 9 of queue 'root.a.b', expected at most the 8") != std::string::npos);
  CHECK(fault(head + "      resources: {guaranteed: {gpu: 9}, max: {gpu: 8}}\n").find("at most the cap 8") !=
        std::string::npos);
  CHECK(fault(head + "      resources: {guaranteed: {gpu: -9}}\n").find("guaranteed gpu of queue 'root.a': -9") !=
        std::string::npos);
  CHECK(fault("partitions:\n- name: default\n  queues:\n  - name: Root\n    resources: {max: {gpu: 8}}\n") ==
        "f:5: found max of queue 'root', expected no resources of the root: it has the cluster's");
  // Limits of all groups are not those of every user; templates are for other queues.
  const auto groups = read({"f", head + "      parent: true\n      childtemplate: {resources: {max: {gpu: 1}}}\n"
                                        "      limits:\n      - {users: ['*'], maxresources: {gpu: 2}}\n"
                                        "      - {groups: [g, '*'], maxresources: {gpu: 9}}\n"});
  REQUIRE(groups.notes.size() == 1);
  CHECK(groups.notes[0].find("childtemplate of queue 'root.a'") == 0);
  const auto both = tree_of(groups);
  const quota_demand three{both.find_resource("gpu"), 3};
  CHECK(both.may_admit(both.find("root.a"), {&three, 1}, user_id{99}).refused_by == quota_limit::user_limit);
  CHECK(both.may_admit(both.find("root.a"), {&three, 1}, both.find_user("group:*")));
  CHECK(fault(head + "    - name: A\n").find("the same name a second time at queue 'root.a'") != std::string::npos);
  CHECK(fault("apiVersion: v1\nkind: ConfigMap\ndata:\n  queues.yaml: |\n    partitions:\n    - name: default\n      "
              "queues: 7\n") == "f:7: found queues: 7, expected a list");
}

TEST_CASE("What sacctmgr dumps is read: parents, users, partitions, quotes") {
  const std::string head = "# To edit this file start with a cluster line\nCluster - 'hpc':FairShare=1\n";
  const auto f =
      read({"f", head + "Parent - 'root'\nUser - 'root':DefaultAccount='root':AdminLevel='Administrator'\n"
                        "Account - 'eng':Description='a: b':FairShare=50:GrpTRES='cpu=1000,gres/gpu:h100=64'\n"
                        "Account - sci:Fairshare=parent:GrpTRESMins=cpu=60:MaxJobs=4\n"
                        "Parent - 'eng'\nUser - 'ann':DefaultAccount='eng':FairShare=10:QOS='high,normal'\n"
                        "User - 'ann':Partition='gpu':FairShare=3\n"
                        "Account - 'ml':FairShare=2\nParent - 'ml'\nUser - 'bob'\n"});
  CHECK(f.system == "slurm");
  REQUIRE(f.notes.size() == 1);
  CHECK(f.notes[0].find("MaxJobs not read") == 0);
  CHECK(f.shares_as_parent.count("sci") == 1);
  const auto t = tree_of(f);
  CHECK(t.queue_count() == 8);
  CHECK(t.depth(t.find("ml/bob")) == 4);
  CHECK(t.spec(t.find("eng/ann/gpu")).weight == 3000);
  CHECK(t.spec(t.find("eng/ann")).line == 8);
  CHECK(t.cell(t.find("eng"), t.find_resource("gres/gpu:h100")).cap == 64);
  CHECK(t.budget_left(t.find("sci"), t.find_resource("cpu")) == 60 * 60 * 1000);

  const bad_case bad[] = {{"Parent - 'x'\n", "f:3: found unknown parent 'x'"},
                          {"Account - 'a:FairShare=1\n", "f:3: found 'Account - "},
                          {"Account - 'a':FairShare\n", "f:3: found 'FairShare', expected Option=value"},
                          {"Account - 'a'\nAccount - 'a'\n", "f:4: found account 'a' a second time"},
                          {"Account - 'a':GrpTRES='cpu'\n", "f:3: found 'cpu' in GrpTRES of 'a'"},
                          {"Account - 'a':FairShare=-4\n", "f:3: found share '-4' of 'a'"},
                          {"Coordinator - 'a'\n", "f:3: found a line of kind 'Coordinator'"},
                          {"User - 'a'\nUser - 'a'\n", "f:4: found association 'root/a' a second time"},
                          {"Cluster - 'b'\n", "f:3: found a second Cluster line"},
                          {"", "f:2: found no accounts"}};
  for (const auto& b : bad) CHECK_MESSAGE(fault(head + b.text).find(b.says) == 0, fault(head + b.text));
  CHECK(fault("Account|User|ParentName\n").find("f:1: found no associations below the header") == 0);
}

std::string yarn(const std::string& settings) {
  std::string out = "<configuration>\n";
  for (std::size_t at = 0; at < settings.size();) {
    const auto end = std::min(settings.find(';', at), settings.size()), equals = settings.find('=', at);
    out += "<property><name>yarn.scheduler.capacity." + settings.substr(at, equals - at) + "</name><value>" +
           settings.substr(equals + 1, end - equals - 1) + "</value></property>\n";
    at = end + 1;
  }
  return out + "</configuration>\n";
}

TEST_CASE("YARN's capacity-scheduler.xml is read: percents, weights and absolute amounts") {
  const auto f = read(sample("../../io/data/inputs/other-schedulers/yarn-capacity-scheduler.xml"));
  CHECK(f.system == "yarn");
  REQUIRE(f.notes.size() == 1);  // the same property twice, with different values
  CHECK(f.notes[0].find("root.default.user-limit-factor is stated again") != std::string::npos);
  auto t = tree_of(f);
  CHECK(t.queue_count() == 3);
  CHECK(t.resource_count() == 3);
  const auto dev = t.find("root.dev"), plain = t.find("root.default");
  const auto memory = t.find_resource("memory"), gpu = t.find_resource("gpu");
  CHECK(t.cell(dev, memory).guarantee == std::int64_t{100} << 30);
  CHECK(t.cell(dev, gpu).cap == 2);
  CHECK(t.cell(t.find("root"), t.find_resource("vcores")).subtree == 40);
  // Factor 1 where nothing is stated, and the last of two values, 2.
  const quota_demand two[] = {{gpu, 2}};
  CHECK(t.may_admit(dev, two, user_id{0}).refused_by == quota_limit::user_limit);
  CHECK(bool(t.may_admit(plain, two, user_id{1})));

  const auto parts = read({"f", yarn("root.queues=a, b;root.a.capacity=70;root.b.capacity=30;root.a.queues=x,y;"
                                     "root.a.x.capacity=1w;root.a.y.capacity=3w;root.a.maximum-capacity=80;"
                                     "root.a.y.maximum-capacity=90;root.b.state=STOPPED;root.b.user-limit-factor=-1;"
                                     "root.b.maximum-applications=7;root.c.capacity=5")});
  CHECK(parts.notes.size() == 4);  // stopped, applications, c, the unit
  t = tree_of(parts);
  const auto cluster = t.find_resource("cluster");
  CHECK(t.cell(t.find("root.a"), cluster).guarantee == 700'000);
  CHECK(t.cell(t.find("root.a.x"), cluster).guarantee == 175'000);
  CHECK(t.cell(t.find("root.a.y"), cluster).guarantee == 525'000);
  CHECK(t.cell(t.find("root.a.x"), cluster).cap == 800'000);
  CHECK(t.cell(t.find("root.a.y"), cluster).cap == 720'000);
  CHECK_FALSE(t.spec(t.find("root.b")).active);
  CHECK(t.spec(t.find("root.b")).user_limits.empty());
  CHECK_FALSE(bool(t.find("root.c")));

  const bad_case bad[] = {
      {"root.a.capacity=5", "f: found no queues below root, expected yarn.scheduler.capacity.root.queues"},
      {"root.queues=a,b;root.a.capacity=70;root.b.capacity=20", "f:2: found capacities of the queues below 'root'"},
      {"root.queues=a,b;root.a.capacity=70;root.b.capacity=1w",
       "f:4: found another kind of capacity of queue 'root.b'"},
      {"root.queues=a;root.a.capacity=[memory=5Xi]", "f:3: found capacity '[memory=5Xi]' of queue 'root.a'"},
      {"root.queues=a;root.a.capacity=[memory=9999999Pi]", "f:3: found capacity '[memory=9999999Pi]'"},
      {"root.queues=a;root.a.capacity=[memory=50%]", "f:3: found capacity '[memory=50%]'"},
      {"root.queues=a;root.a.capacity=[gpu=1,gpu=2]", "f:3: found capacity '[gpu=1,gpu=2]'"},
      {"root.queues=a;root.a.capacity=nan", "f:3: found capacity 'nan'"},
      {"root.queues=a;root.a.capacity=0x64", "f:3: found capacity '0x64' of queue 'root.a', expected percents"},
      {"root.queues=a;root.a.capacity=0x1w", "f:3: found capacity '0x1w'"},
      {"root.queues=a;root.a.capacity=100;root.a.user-limit-factor=0x2", "found user-limit-factor '0x2'"},
      {"root.queues=a,b;root.a.capacity=100;root.b.capacity=[memory=1Gi]",
       "f:4: found another kind of capacity of queue 'root.b'"},
      {"root.queues=a;root.a.capacity=[memory=2Gi];root.a.queues=x;root.a.x.capacity=100",
       "f:5: found capacity '100' of queue 'root.a.x' below a queue with an absolute one, expected absolute"},
      {"root.queues=a;root.a.capacity=[memory=2Gi];root.a.queues=x;root.a.x.capacity=1w",
       "f:5: found capacity '1w' of queue 'root.a.x' below a queue with an absolute one"},
      {"root.queues=a;root.a.capacity=100;root.a.queues=x;root.a.x.capacity=[memory=1Gi]",
       "f:5: found capacity '[memory=1Gi]' of queue 'root.a.x' below a queue without an absolute one"},
      {"root.queues=a;root.a.capacity=[memory=2Gi];root.a.maximum-capacity=50",
       "f:4: found maximum-capacity '50' of queue 'root.a', expected an absolute one, as its capacity is"},
      {"root.queues=a;root.a.capacity=100;root.a.maximum-capacity=[memory=2Gi]",
       "f:4: found maximum-capacity '[memory=2Gi]' of queue 'root.a', expected percents"},
      {"root.queues=a;root.a.capacity=100;root.a.maximum-capacity=3w", "f:4: found maximum-capacity '3w'"},
      {"root.queues=a;root.a.capacity=100;root.a.maximum-capacity=50", "at most the cap 500000"},
      {"root.queues=a,a;root.a.capacity=50", "the same name a second time at queue 'root.a'"},
      {"root.queues=a,;root.a.capacity=100;root.a.state=ON", "found state 'ON' of queue 'root.a'"},
      {"root.queues=a,,b;root.a.capacity=100", "f:2: found queue '' below 'root'"},
      {"root.queues=a;root.a.capacity=100;root.a.user-limit-factor=-2", "found user-limit-factor '-2'"},
      {"root.queues=a;root.capacity=50;root.a.capacity=100", "found capacity of root: 50, expected 100"},
  };
  for (const auto& b : bad) CHECK_MESSAGE(fault(yarn(b.text)).find(b.says) != std::string::npos, fault(yarn(b.text)));
  CHECK(fault("<configuration>\n<property><name>yarn.scheduler.capacity.root.queues</na")
            .find("f:2: found an XML error") == 0);
  // 0 percent is of no kind, thirds are near enough, and -1 and 100 are no limit of an absolute queue.
  CHECK(fault(yarn("root.queues=a,b;root.a.capacity=0;root.b.capacity=2w")) == "read");
  CHECK(
      fault(yarn("root.queues=a,b;root.a.capacity=[gpu=2];root.b.capacity=0;root.a.queues=x;root.a.x.capacity=[gpu=1];"
                 "root.a.maximum-capacity=100;root.a.x.maximum-capacity=-1")) == "read");
  CHECK(fault(yarn("root.queues=a,b,c;root.a.capacity=33.33;root.b.capacity=33.33;root.c.capacity=33.33")) == "read");
  std::string deep = "root.queues=a", path = "root";
  for (int i = 0; i < 70; ++i) path += ".a", deep += ";" + path + ".capacity=100;" + path + ".queues=a";
  CHECK(fault(yarn(deep)).find("more than 64 levels of queues") != std::string::npos);
}

TEST_CASE("The file of KAI's simulator: queues, and the GPUs of its nodes") {
  const auto f = read(sample("../../io/data/inputs/other-schedulers/kai-fairshare-sim.yaml"));
  CHECK(f.system == "kai");
  REQUIRE(f.notes.size() == 2);
  CHECK(f.notes[0] == "jobs of queue 'team-a' ask for 200 GPUs in all: not read, as demand is no part of the queues");
  REQUIRE(f.tree.capacity.size() == 1);
  CHECK(f.tree.capacity[0] == 8000);
  auto t = tree_of(f);
  CHECK(t.parent(t.find("team-b")) == t.find("default"));
  const std::string nodes = "Nodes: [{GPUs: 8, Count: 2}]\nQueues:\n";
  t = tree_of(read({"f", nodes + "- {Name: a, DeservedGPUs: 2.5, Weight: 3, Priority: 7}\n"}));
  CHECK(t.cell(t.find("a"), t.find_resource("gpu")).guarantee == 2500);
  CHECK(t.spec(t.find("a")).priority == 7);
  CHECK(t.spec(t.find("a")).quota[0].weight == 3000);
  CHECK(fault(nodes + "- {Name: a, DeservedGPUs: -1}\n").find("f:3: found DeservedGPUs of queue 'a': -1") == 0);
  CHECK(fault(nodes + "- {Name: a, Parent: b}\n").find("unknown parent 'b' at queue 'a'") != std::string::npos);
  CHECK(fault("Nodes: [{GPUs: x}]\nQueues: []\n").find("f:1: found GPUs") == 0);
}

TEST_CASE("Queues without a resource, and no queues at all, are divided to nothing") {
  auto f = read({"f", kueue("Cohort", "all", "{}") + kueue("ClusterQueue", "a", "{cohort: all}") +
                          kueue("ClusterQueue", "b", "{cohort: all}")});
  auto t = tree_of(f);
  share_book<weighted_max_min> book{t, {}};
  CHECK(book.shares().size() == 0);
  CHECK(book.divisions() == 0);
}

TEST_CASE("Slurm's associations are read from sacctmgr -p, as a tree or with parents, and from sshare") {
  const std::string tree =
      "Cluster|Account|User|Partition|Share|Priority|GrpTRES|GrpTRESMins|MaxTRES|\n"
      "site|root|||1||||\n"
      "|\n";
  CHECK(fault(tree).find("f:3: found 2 columns, expected 9, as in the header") == 0);
  const std::string good =
      "Cluster|Account|User|Partition|Share|Priority|GrpTRES|GrpTRESMins|MaxTRES|\n"
      "site|root|||1|||||\n"
      "site| physics|||30||cpu=100,gres/gpu=8,mem=4T||node=4|\n"
      "site|  theory|||2|||gres/gpu=600||\n"
      "site|   theory|ann||parent|||||\n"
      "site|   theory|bob||3|||||\n"
      "site| bio|||70|||||\n"
      "site|  bio|cat|gpu|1||gres/gpu:h100=2|||\n";
  const auto f = read({"f", good});
  CHECK(f.system == "slurm");
  CHECK(f.notes.size() == 1);
  auto t = tree_of(f);
  CHECK(t.queue_count() == 7);
  const auto physics = t.find("physics"), bob = t.find("theory/bob");
  REQUIRE(bool(bob));
  CHECK(t.name(t.parent(t.find("theory"))) == "physics");
  CHECK(t.depth(bob) == 4);
  CHECK(t.spec(bob).weight == 3000);
  CHECK(f.shares_as_parent.count("theory/ann") == 1);
  CHECK(t.cell(physics, t.find_resource("cpu")).cap == 100'000);
  CHECK(t.cell(physics, t.find_resource("mem")).cap == std::int64_t{4} << 40);
  CHECK(t.budget_left(t.find("theory"), t.find_resource("gres/gpu")) == 36000);
  const quota_demand nine{t.find_resource("gres/gpu"), 9};
  CHECK(t.may_admit(bob, {&nine, 1}).queue == physics);
  CHECK(bool(t.find("bio/cat/gpu")));

  // Clusters of one database have nothing of each other.
  const auto two = tree_of(read({"f",
                                 "Cluster|Account|User|ParentName|GrpTRES\nx|root|||gres/gpu=8\ny|root|||gres/gpu=4\n"
                                 "x|a||root|\ny|a||root|\n"}));
  CHECK(two.resource_count() == 2);
  const quota_demand one_gpu{two.find_resource("gres/gpu", "y"), 1};
  CHECK(two.may_admit(two.find("y:a"), {&one_gpu, 1}));
  CHECK(two.may_admit(two.find("x:a"), {&one_gpu, 1}).refused_by == quota_limit::cap);

  const auto by_name =
      tree_of(read({"f", "Account|ParentName|User|Fairshare\nroot|||1\nb|a||1\na|root||5\nb||eve|2\n"}));
  CHECK(by_name.depth(by_name.find("b/eve")) == 4);
  const auto s =
      read({"f",
            "Account|User|RawShares|NormShares|RawUsage|EffectvUsage|FairShare|LevelFS\n"
            "root|||0.0|100|1.0||\n root|root|1|0.5|40|0.4|1.0|1.2\n a||1|0.5|60|0.6||0.8\n  a|ann|1|1|60|1|0.5|1\n"});
  CHECK(s.raw_usage.at("a/ann") == 60);
  CHECK(tree_of(s).spec(tree_of(s).find("a")).weight == 1000);

  CHECK(fault("Account|User|Share\na||1\n").find("account 'a' without its parent") != std::string::npos);
  CHECK(fault("Account|User|ParentName\na||b\nb||a\n").find("a cycle of parents at queue '") != std::string::npos);
  CHECK(fault("Account|User|ParentName\na||\na||\n").find("association 'a' a second time") != std::string::npos);
  CHECK(fault("Account|User|ParentName|Share\na|||-1\n").find("share '-1' of 'a'") != std::string::npos);
  CHECK(fault("Account|User|ParentName|Share\na|||99999999999999999999\n").find("share '9999") != std::string::npos);
  CHECK(fault("Account|User|ParentName|GrpTRES\na|||gres/gpu\n").find("'gres/gpu' in GrpTRES of 'a'") !=
        std::string::npos);
  CHECK(fault("Account|User|ParentName|GrpTRES\na|||mem=9999999999P\n").find("'mem=9999999999P'") != std::string::npos);
  CHECK(fault("Account|User|ParentName\nb|ann|\n").find("unknown parent 'b' at queue 'b/ann'") != std::string::npos);
}

TEST_CASE("Our own JSON: every member, and faults with line and queue") {
  const std::string text =
      R"({"schema": "berth-queues/1", "rule": "caps", "policy": "kai", "capacity": {"h100/gpu": 64},
 "resources": [{"name": "gpu", "pool": "h100"}, {"name": "mem"}],
 "queues": [{"name": "all"},
  {"name": "a", "parent": "all", "weight": 1.5, "priority": 3, "created_at": 5, "lends": false,
   "quota": {"h100/gpu": {"guarantee": 8, "cap": 20, "deserved": 9, "weight": 7, "budget": 100}},
   "users": {"*": {"h100/gpu": 4}}}]})";
  const auto f = read({"f", text});
  auto t = tree_of(f);
  const auto a = t.find("a");
  const auto& q = t.spec(a);
  CHECK(q.weight == 1500);
  CHECK(q.quota[0].weight == 7000);  // thousandths, as the weights of queues
  CHECK(q.quota[0].deserved == 9);
  CHECK_FALSE(q.lends);
  CHECK(t.available(t.find("all"), resource_id{0}) == 64);
  CHECK(t.budget_left(a, resource_id{0}) == 100);
  const auto u = read_usage_json(
      {"u", R"({"schema": "berth-usage/1", "usage": {"a": {"h100/gpu": 3}}, "demand": {"a": {"mem": 1}}})"}, t);
  REQUIRE(u);
  CHECK(u->usage[0].amount == 3);
  CHECK(u->demand[0].resource == 1);
  const auto usage_fault = [&](const std::string& s) {
    const auto r = read_usage_json({"u", s}, t);
    return r ? std::string{"read"} : r.error().message();
  };
  CHECK(usage_fault(R"({"schema": "berth-usage/1", "usage": {"b": {}}})") ==
        "u:1: found unknown queue 'b', expected a queue of f");
  CHECK(usage_fault(R"({"schema": "berth-usage/1", "usage": {"a": {"gpu": 1}}})") ==
        "u:1: found unknown resource 'gpu' of queue 'a', expected one of h100/gpu, mem");
  CHECK(usage_fault(R"({"schema": "berth-usage/1", "usage": {"a": {"mem": -1}}})")
            .find("usage of mem of queue 'a': -1") != std::string::npos);
  CHECK(usage_fault("{}").find("schema ''") != std::string::npos);

  const auto with = [&](const std::string& queue) {
    return fault(R"({"schema": "berth-queues/1", "resources": [{"name": "gpu"}], "queues": [{"name": "r"},
)" + queue + "]}");
  };
  CHECK(with(R"({"name": "a", "parent": "r"})") == "read");
  CHECK(with(R"({"name": "a", "parnt": "r"})").find("f:2: found unknown key 'parnt'") == 0);
  CHECK(with(R"({"name": "a", "quota": {"cpu": {}}})") ==
        "f:2: found unknown resource 'cpu' of queue 'a', expected one of gpu");
  CHECK(with(R"({"name": "a", "quota": {"gpu": {"guarantee": -4}}})") ==
        "f:2: found guarantee of gpu of queue 'a': -4, expected a whole number from 0 to 2^62");
  CHECK(with(R"({"name": "a", "quota": {"gpu": {"cap": 1e30}}})").find("cap of gpu of queue 'a'") != std::string::npos);
  CHECK(with(R"({"name": "a", "weight": -1})").find("weight of queue 'a': -1") != std::string::npos);
  CHECK(with(R"({"name": "a", "weight": 0})") == "read");
  CHECK(with(R"({"name": "r", "parent": "r"})").find("two parents") != std::string::npos);
  CHECK(fault("{}").find("no queues") != std::string::npos);
  CHECK(fault("").find("an empty file") != std::string::npos);
  CHECK(fault("kind: Pod").find("no queues") != std::string::npos);
}

TEST_CASE("Damaged files of queues are read or refused, never more") {
  random_source random{8};
  for (const char* name :
       {"kueue-cluster-queues.yaml", "yunikorn-queues.yaml", "yunikorn-priority.yaml", "kai-queues.yaml",
        "volcano-hierarchical-queues.yaml", "../../io/data/inputs/other-schedulers/yarn-capacity-scheduler.xml",
        "dcgm-mig-4-workloads.prom", "nvidia-smi-query-h100.csv"}) {
    const auto whole = sample(name);
    for (int k = 0; k < 60; ++k) {
      named_text t = whole;
      if (k % 2 == 0) t.text.resize(random.below(t.text.size()));
      for (int i = 0; i < 4 && !t.text.empty(); ++i)
        t.text[random.below(t.text.size())] = static_cast<char>(random.below(256));
      if (const auto f = read_queues(t)) (void)queue_tree::build(f->tree);
      (void)read_dcgm_text(t, 0);
      (void)read_gpu_csv(t, 0);
    }
  }
}
