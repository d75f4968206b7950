#include "berth/io/job_spec.hpp"

#include <doctest/doctest.h>

#include <string>
#include <vector>

#include "berth/io/gang_text.hpp"
#include "berth/io/job_json.hpp"
#include "samples.hpp"

namespace {

using samples::contains;
using samples::failure;

berth::job_spec gang(std::string_view text) {
  auto r = berth::parse_gang(text, "--gang");
  REQUIRE_MESSAGE(r.has_value(), failure(r));
  return *r;
}
std::string gang_fault(std::string_view text) {
  const auto r = berth::parse_gang(text, "--gang");
  REQUIRE_MESSAGE(!r.has_value(), std::string{text});
  return failure(r);
}
std::string job_fault(std::string text) {
  const auto r = berth::read_job_json({"job.json", std::move(text)});
  REQUIRE(!r.has_value());
  return failure(r);
}

TEST_SUITE("io/job_spec") {
  TEST_CASE("gang text: every key") {
    const auto j = gang(
        "name=llm,tasks=8,min=4,gpus=8,cpus=16,memory=100GiB,model=h100-sxm5-80gb,label=ib,label=zone=a,within=leaf,"
        "segments=2:leaf:spread");
    CHECK(j.name == "llm");
    REQUIRE(j.groups.size() == 1);
    const auto& g = j.groups[0];
    CHECK(g.wanted == 8);
    CHECK(g.minimum == 4);
    CHECK(g.gpus == 8);
    CHECK(g.cpu == berth::cpus(16));
    CHECK(g.memory == berth::gibibytes(100));
    CHECK(g.gpu_model == "h100-sxm5-80gb");
    CHECK(g.labels == std::vector<std::string>{"ib", "zone=a"});
    CHECK(j.where == berth::locality::required);
    CHECK(j.level == "leaf");
    REQUIRE(j.segments.has_value());
    CHECK(*j.segments == berth::segment_spec{2, "leaf", berth::segment_layout::spread});
  }
  TEST_CASE("gang text: for a key that is none, the message lists exactly the keys that are read") {
    const std::string said = gang_fault("tasks=2,gpus=8,colour=red");
    CHECK(contains(said, "found key 'colour'"));
    std::string all = "one of ";
    for (const auto& k : berth::job_detail::gang_keys()) {
      CAPTURE(k.name);
      all += (&k == &berth::job_detail::gang_keys().front() ? "" : ", ") + std::string{k.name};
      const auto r = berth::parse_gang("gpus=1," + std::string{k.name} + "=%", "--gang");
      if (!r) CHECK(!contains(failure(r), "expected one of tasks"));
    }
    CHECK(contains(said, all + ", as key=value"));
    CHECK(contains(all, "keep-cpu-ratio"));
    CHECK(contains(all, "own-segments"));
    CHECK(contains(all, "at-once"));
  }
  TEST_CASE("gang text: defaults, order and preference") {
    const auto j = gang("gpus=1");
    CHECK(j.groups[0].wanted == 1);
    CHECK(j.groups[0].minimum == 1);
    CHECK(j.where == berth::locality::unconstrained);
    CHECK(!j.segments.has_value());
    CHECK(gang("gpus=8,tasks=64").groups[0].minimum == 64);
    CHECK(gang("min=2,tasks=4,cpus=0.5").groups[0].cpu == berth::cpu_millis{500});
    CHECK(gang("tasks=2, gpus=8 , prefer=spine").where == berth::locality::preferred);
    CHECK(gang("tasks=4,gpus=8,segments=2:leaf").segments->layout == berth::segment_layout::free);
    CHECK(gang("tasks=4,gpus=8,segments=2:leaf:consolidate").segments->layout == berth::segment_layout::consolidate);
    // More than any cluster has is for the placer to refuse, as never possible.
    CHECK(gang("tasks=1000000,gpus=100").groups[0].gpus == 100);
  }
  TEST_CASE("gang text: faults") {
    CHECK(contains(gang_fault(""), "--gang: found ''"));
    CHECK(contains(gang_fault("tasks=0,gpus=8"), "'tasks=0', expected a number of tasks from 1"));
    CHECK(contains(gang_fault("tasks=4,min=0,gpus=8"), "'min=0'"));
    CHECK(contains(gang_fault("tasks=4,min=5,gpus=8"), "a minimum of 5 of 4 tasks"));
    CHECK(contains(gang_fault("tasks=4"), "asks for nothing"));
    CHECK(contains(gang_fault("tasks=4,gpus=0"), "asks for nothing"));
    CHECK(contains(gang_fault("gpus=1,mig-on=apart"), "on which GPUs its MIG instances lie and asks for none"));
    CHECK(contains(gang_fault("tasks=-4,gpus=8"), "'tasks=-4'"));
    CHECK(contains(gang_fault("tasks=99999999999,gpus=8"), "tasks=99999999999"));
    CHECK(contains(gang_fault("tasks=4,tasks=5,gpus=8"), "key 'tasks' twice"));
    CHECK(contains(gang_fault("task=4"), "key 'task', expected one of tasks, min"));
    CHECK(contains(gang_fault("tasks"), "'tasks'"));
    CHECK(contains(gang_fault("tasks=,gpus=8"), "'tasks='"));
    CHECK(contains(gang_fault("tasks=4,,gpus=8"), "found ''"));
    CHECK(contains(gang_fault("gpus=8,memory=100"), "such as 64GiB"));
    CHECK(contains(gang_fault("gpus=8,memory=99999999TiB"), "such as 64GiB"));
    CHECK(contains(gang_fault("gpus=8,cpus=1.0001"), "'cpus=1.0001'"));
    CHECK(contains(gang_fault("gpus=8,share=1"), "a share such as 0.5"));
    CHECK(contains(gang_fault("gpus=8,share=0.5x0"), "a share such as 0.5"));
    CHECK(contains(gang_fault("mig=1g.5gb:0"), "PROFILE or PROFILE:COUNT"));
    CHECK(contains(gang_fault("mig=1g.5gb,mig-on=two"), "any, one-gpu or apart"));
    CHECK(contains(gang_fault("gpu_cores=101"), "1 to 100"));
    CHECK(contains(gang_fault("gpu_cores=0"), "1 to 100"));
    CHECK(contains(gang_fault("gpu_memory_mib=0"), "such as 8000"));
    CHECK(contains(gang_fault("share=0.5,gpu_cores=30"), "one way to say it"));
    CHECK(contains(gang_fault("gpus=1,time=2h3h"), "a time such as"));
    CHECK(contains(gang_fault("gpus=1,exclusive=maybe"), "yes or no"));
    CHECK(contains(gang_fault("gpus=1,tasks=4,most=3"), "at most 3 of 4"));
    CHECK(contains(gang_fault("gpus=1,tasks=4,total-min=5"), "a minimum of 5 of 4 tasks in all"));
    CHECK(contains(gang_fault("gpus=1,copies=0"), "0 copies"));
    CHECK(contains(gang_fault("gpus=1,own-segments=2:leaf"), "divide evenly"));
    for (const char* s : {"segments=2", "segments=0:leaf", "segments=2:", "segments=2::spread", "segments=x:leaf",
                          "segments=2:leaf:diagonal", "segments=2:leaf:spread:x"})
      CHECK_MESSAGE(contains(gang_fault(std::string{"tasks=2,gpus=8,"} + s), "COUNT:LEVEL"), s);
    CHECK(contains(gang_fault("tasks=5,gpus=8,segments=2:leaf"), "divide evenly"));
    CHECK(contains(gang_fault("tasks=8,min=5,gpus=8,segments=2:leaf"), "divide evenly"));
    CHECK(contains(gang_fault("tasks=8,min=2,gpus=8,segments=2:leaf"), "a whole number of segments"));
    CHECK(gang("tasks=8,min=2,gpus=8,segments=4:leaf").groups[0].minimum == 2);
    CHECK(contains(gang_fault("gpus=8,name=\xFF"), "UTF-8"));
  }
  TEST_CASE("job file: several groups, segments, preference") {
    auto r = berth::read_job_json(samples::example("two-groups.job.json"));
    REQUIRE_MESSAGE(r.has_value(), failure(r));
    CHECK(r->name == "agents");
    REQUIRE(r->groups.size() == 2);
    CHECK(r->groups[0].name == "leader");
    CHECK(r->groups[0].wanted == 2);
    CHECK(r->groups[0].minimum == 1);
    CHECK(r->groups[0].gpus == 0);
    CHECK(r->groups[1].minimum == 4);
    CHECK(r->where == berth::locality::required);
    CHECK(r->level == "spine");
    CHECK(r->segments == berth::segment_spec{2, "leaf", berth::segment_layout::spread});
    auto p = berth::read_job_json(
        {"j", R"({"prefer": "rack", "groups": [{"gpus": 1, "memory": "1.5GiB", "model": "t4", "labels": ["x"]}]})"});
    REQUIRE_MESSAGE(p.has_value(), failure(p));
    CHECK(p->where == berth::locality::preferred);
    CHECK(p->groups[0].memory == berth::mebibytes(1536));
    CHECK(p->groups[0].gpu_model == "t4");
  }
  TEST_CASE("job file: the text form and the file form agree") {
    auto file =
        berth::read_job_json({"j", R"({"name": "n", "within": "leaf", "groups": [{"tasks": 8, "min": 4, "gpus": 8,
      "cpus": 16, "memory": "100GiB", "model": "m", "labels": ["a"]}],
      "segments": {"count": 2, "level": "leaf", "layout": "spread"}})"});
    REQUIRE_MESSAGE(file.has_value(), failure(file));
    CHECK(*file ==
          gang("name=n,tasks=8,min=4,gpus=8,cpus=16,memory=100GiB,model=m,label=a,within=leaf,segments=2:leaf:spread"));
  }
  TEST_CASE("what a gang asks of nodes inside and of the links between them, as text and as a file") {
    const auto text = gang(
        "gpus=4,numa=single-node,near-nic=yes,host-rate=25.5GB/s,keep-cpu-ratio=yes,between-nodes=400Gb/s,rails=same");
    CHECK(text.groups[0].bind ==
          berth::binding_need{berth::numa_rule::single_node, true, true, berth::bytes_per_second{25'500'000'000}});
    CHECK(text.between_nodes == berth::bytes_per_second{50'000'000'000});
    CHECK(text.rails == berth::rail_rule::same);
    const auto file = berth::read_job_json({"j", R"({"groups": [{"gpus": 4, "numa": "single-node", "near_nic": true,
      "host_rate": 25.5, "keep_cpu_ratio": true}], "between_nodes": "50GB/s", "rails": "same"})"});
    REQUIRE_MESSAGE(file.has_value(), failure(file));
    CHECK(*file == text);
    CHECK(gang("gpus=1,numa=best-effort").groups[0].bind.numa == berth::numa_rule::best_effort);
    CHECK(contains(gang_fault("gpus=1,numa=near"), "none, best-effort, restricted or single-node"));
    CHECK(contains(gang_fault("gpus=1,host-rate=fast"), "GB/s with at most three decimals"));
    CHECK(contains(gang_fault("gpus=1,between-nodes=1TB/s"), "GB/s with at most three decimals"));
    CHECK(contains(gang_fault("gpus=1,rails=2"), "any or same"));
    CHECK(contains(gang_fault("cpus=1,near-nic=yes"), "without GPUs that asks for NICs"));
    CHECK(contains(job_fault(R"({"groups": [{"gpus": 1, "host_rate": -1}]})"), "host_rate: -1"));
    CHECK(contains(job_fault(R"({"groups": [{"gpus": 1, "host_rate": 0.00001}]})"), "three decimals"));
    CHECK(contains(job_fault(R"({"groups": [{"gpus": 1, "numa": "x"}]})"), "numa: 'x'"));
    CHECK(contains(job_fault(R"({"rails": "two", "groups": [{"gpus": 1}]})"), "rails: 'two'"));
  }
  TEST_CASE("parts of GPUs, as text and as a file") {
    const auto mig = gang("tasks=6,mig=1g.10gb");
    CHECK(mig.groups[0].mig == std::vector<berth::named_count>{{"1g.10gb", 1}});
    CHECK(mig.groups[0].mig_on == berth::mig_spread_rule::any);
    const auto share = gang("tasks=4,gpu_memory_mib=8000,gpu_cores=30");
    CHECK(share.groups[0].share == berth::gpu_share_spec{1, 300, berth::mebibytes(8000)});
    CHECK(gang("gpus=2,gpu_cores=30").groups[0].share == berth::gpu_share_spec{2, 300, {}});
    CHECK(gang("gpus=2,gpu_cores=30").groups[0].gpus == 0);
    const auto file = berth::read_job_json({"j", R"({"groups": [{"tasks": 6, "mig": {"3g.40gb": 1, "1g.10gb": 2},
      "mig_on": "one-gpu"}]})"});
    REQUIRE_MESSAGE(file.has_value(), failure(file));
    CHECK(*file == gang("tasks=6,mig=3g.40gb,mig=1g.10gb:2,mig-on=one-gpu"));
    const auto of_two =
        berth::read_job_json({"j", R"({"groups": [{"gpus": 2, "gpu_memory_mib": 8000, "gpu_cores": 30}]})"});
    REQUIRE_MESSAGE(of_two.has_value(), failure(of_two));
    CHECK(*of_two == gang("gpus=2,gpu_memory_mib=8000,gpu_cores=30"));
    CHECK(contains(job_fault(R"({"groups": [{"gpu_cores": 130}]})"), "gpu_cores: 130"));
    CHECK(contains(job_fault(R"({"groups": [{"gpu_cores": 30, "share": "0.5"}]})"), "one way to say it"));
    CHECK(contains(job_fault(R"({"groups": [{"mig": {"1g.5gb": 1}, "mig_on": "x"}]})"), "mig_on: 'x'"));
  }
  TEST_CASE("what the placer cannot serve yet is kept, and the text form and the file form agree on it") {
    const auto text = gang(
        "name=n,tasks=8,min=4,most=16,gpus=1,share=0.5x2,mig=1g.5gb:2,other=google.com/tpu:4,other=a:b:1,"
        "label=a=1,not-label=b,any-label=c|d=2,toleration=k=v:NoSchedule,only-node=h1,not-node=h2,per-node=2,"
        "exclusive=yes,own-within=rack,own-prefer=leaf,own-segments=2:leaf,after-group=x,within=spine,prefer=rack,"
        "total-min=5,domains=3,exclusive-domain=yes,queue=q,priority=-7,priority-class=high,time=1d2h,copies=9,"
        "at-once=3,after=afterok:1,after=singleton");
    CHECK(text.groups[0].share == berth::gpu_share_spec{2, 500, {}});
    CHECK(text.groups[0].mig == std::vector<berth::named_count>{{"1g.5gb", 2}});
    CHECK(text.groups[0].other == std::vector<berth::named_count>{{"google.com/tpu", 4}, {"a:b", 1}});
    CHECK(text.groups[0].any_labels == std::vector<std::vector<std::string>>{{"c", "d=2"}});
    CHECK(text.where == berth::locality::required);
    CHECK(text.level == "spine");
    CHECK(text.prefer == "rack");
    CHECK(text.priority == -7);
    CHECK(text.seconds == 26 * 3600);
    CHECK(text.after == std::vector<std::string>{"afterok:1", "singleton"});
    CHECK(gang("share=8GiB").groups[0].share == berth::gpu_share_spec{1, 0, berth::gibibytes(8)});
    const auto file = berth::read_job_json({"j", R"({"name": "n", "within": "spine", "prefer": "rack", "min": 5,
      "domains": 3, "exclusive_domain": true, "queue": "q", "priority": -7, "priority_class": "high", "time": "1d2h",
      "copies": 9, "at_once": 3, "after": ["afterok:1", "singleton"],
      "groups": [{"tasks": 8, "min": 4, "most": 16, "gpus": 1, "share": "0.5x2", "mig": {"1g.5gb": 2},
        "other": {"google.com/tpu": 4, "a:b": 1}, "labels": ["a=1"], "not_labels": ["b"], "any_labels": [["c", "d=2"]],
        "tolerations": ["k=v:NoSchedule"], "only_nodes": ["h1"], "not_nodes": ["h2"], "per_node": 2, "exclusive": true,
        "own": {"within": "rack", "prefer": "leaf", "segments": {"count": 2, "level": "leaf"}}, "after": ["x"]}]})"});
    REQUIRE_MESSAGE(file.has_value(), failure(file));
    CHECK(*file == text);
  }
  TEST_CASE("job file: faults") {
    CHECK(contains(job_fault("{}"), "no task group"));
    CHECK(contains(job_fault("{\n\"groups\": []}"), "job.json:2: found no task group"));
    CHECK(contains(job_fault("{\"groups\": [{\"gpus\": 1}],\n\"segment\": {}}"),
                   "job.json:2: found unknown key 'segment'"));
    CHECK(contains(job_fault("{\"groups\": [{\"gpu\": 1}]}"), "unknown key 'gpu', expected gpus"));
    CHECK(contains(job_fault("{\"groups\": [{\"tasks\": 0, \"gpus\": 1}]}"), "tasks: 0"));
    CHECK(contains(job_fault("{\"groups\": [{\"tasks\": 2, \"min\": 3, \"gpus\": 1}]}"), "a minimum of 3 of 2"));
    CHECK(contains(job_fault("{\"groups\": [{\"tasks\": 2}]}"), "asks for nothing"));
    CHECK(contains(job_fault("{\"groups\": [{\"gpus\": 1}, {\"gpus\": 1}]}"), "a group without \"name\""));
    CHECK(contains(job_fault(R"({"groups": [{"name": "a", "gpus": 1}, {"name": "a", "gpus": 1}]})"),
                   "two groups named 'a'"));
    CHECK(contains(job_fault(R"({"within": "a", "prefer": "", "groups": [{"gpus": 1}]})"), "the name of a level"));
    CHECK(contains(job_fault(R"({"groups": [{"gpus": 1, "share": "2"}]})"), "share: '2'"));
    CHECK(contains(job_fault(R"({"groups": [{"mig": {"1g.5gb": 0}}]})"), "1g.5gb: 0"));
    CHECK(contains(job_fault(R"({"groups": [{"gpus": 1, "any_labels": ["a"]}]})"), "arrays of labels"));
    CHECK(contains(job_fault(R"({"time": "x", "groups": [{"gpus": 1}]})"), "time: 'x'"));
    CHECK(contains(job_fault(R"({"within": "", "groups": [{"gpus": 1}]})"), "the name of a level"));
    CHECK(contains(job_fault(R"({"groups": [{"gpus": 1}], "segments": {"count": 2}})"),
                   "without \"count\" or \"level\""));
    CHECK(contains(job_fault(R"({"groups": [{"gpus": 1}], "segments": {"count": 0, "level": "l"}})"), "count: 0"));
    CHECK(contains(job_fault(R"({"groups": [{"gpus": 1}], "segments": {"count": 1, "level": "l", "layout": "x"}})"),
                   "layout: 'x'"));
    CHECK(contains(job_fault(R"({"groups": [{"tasks": 3, "gpus": 1}], "segments": {"count": 2, "level": "l"}})"),
                   "divide evenly"));
    CHECK(contains(job_fault("{\"groups\": 3}"), "groups: 3, expected an array"));
    CHECK(contains(job_fault("{\"groups\": [3]}"), "found 3, expected an object"));
  }
}

}  // namespace
