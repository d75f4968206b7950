// Jobs in words to gangs on a cluster.
#include "berth/io/resolve_job.hpp"

#include <doctest/doctest.h>

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "berth/io/gang_text.hpp"
#include "berth/io/sharing_terms.hpp"
#include "berth/solver/placer.hpp"
#include "berth/topology/domain_tree_builder.hpp"

namespace {

berth::cluster make_cluster(const std::vector<const char*>& models = {"h100-sxm5-80gb", "h100-pcie-80gb",
                                                                      "a100-sxm4-40gb", ""}) {
  berth::cluster_spec s;
  s.tree = berth::domain_tree_builder::regular({"cluster", "spine", "leaf"}, {2, 2}, 2);
  for (const char* model : models)
    s.shapes.push_back(berth::make_plain_shape("box", 8, model, berth::cpus(8), berth::gibibytes(8)));
  for (std::uint16_t n = 0; n < 8; ++n)
    s.nodes.push_back({"n" + std::to_string(n),
                       berth::shape_id{static_cast<std::uint16_t>(n % models.size())},
                       {},
                       berth::cpus(8),
                       berth::gibibytes(8)});
  return berth::cluster{s};
}
berth::expected<berth::gang, berth::input_error> resolve(berth::cluster& c, const std::string& text) {
  const auto job = berth::parse_gang(text, "--gang");
  REQUIRE(job.has_value());
  return berth::resolve_job(*job, c, {"b200-sxm-180gb", "h100-nvl-94gb"}, "--gang");
}
std::string fault(berth::cluster& c, const std::string& text) {
  const auto g = resolve(c, text);
  return g ? "" : g.error().message();
}

const std::vector<const char*> two_models{"h100-sxm5-80gb", "a100-sxm4-40gb"};

/// What a cluster of two models, shared by `share` on those terms ("": not shared), says of a gang; "": it is served.
struct terms_row {
  const char *terms, *gang, *says;
};
template <class Share>
void check_terms(Share share, const terms_row& r) {
  auto c = make_cluster(two_models);
  auto setup = berth::make_part_catalogue(c.shapes());
  if (r.terms[0] != 0) REQUIRE(share(setup, r.terms));
  c.reserve({.parts = &setup});
  const std::string m = fault(c, r.gang);
  CAPTURE((std::string{r.terms} + " " + r.gang + ": " + m));
  CHECK((r.says[0] == 0 ? m.empty() : m.find(r.says) != std::string::npos));
}

}  // namespace

TEST_SUITE("io/resolve_job") {
  TEST_CASE("words become levels, amounts and filters") {
    auto c = make_cluster();
    const auto g = resolve(c, "tasks=8,min=4,gpus=2,cpus=1.5,memory=1GiB,label=x,within=spine,segments=4:leaf:spread");
    REQUIRE(g.has_value());
    CHECK(g->where == berth::locality::required);
    CHECK(g->level == berth::level_id{1});
    REQUIRE(g->segments.has_value());
    CHECK(g->segments->count == 4);
    CHECK(g->segments->level == berth::level_id{2});
    CHECK(g->segments->layout == berth::segment_layout::spread);
    REQUIRE(g->groups.size() == 1);
    const auto& t = g->groups[0];
    CHECK(t.wanted == 8);
    CHECK(t.minimum == 4);
    CHECK(t.shape.devices == 2);
    CHECK(t.shape.cpu == berth::cpu_millis{1500});
    CHECK(t.shape.memory == berth::gibibytes(1));
    CHECK(c.filter(t.shape.filter).all_of == std::vector<std::string>{"x"});
    CHECK(resolve(c, "gpus=1,prefer=leaf")->where == berth::locality::preferred);
    CHECK(resolve(c, "gpus=1")->groups[0].shape.filter == berth::filter_id{0});
  }
  TEST_CASE("a model may be abbreviated; one that exists elsewhere is legal, one that nobody knows is not") {
    auto c = make_cluster();
    const auto models = [&](const char* word) {
      const auto g = resolve(c, std::string{"gpus=1,model="} + word);
      REQUIRE(g.has_value());
      return c.filter(g->groups[0].shape.filter).models;
    };
    CHECK(models("h100-sxm5-80gb") == std::vector<std::string>{"h100-sxm5-80gb"});
    CHECK(models("H100") == std::vector<std::string>{"h100-sxm5-80gb", "h100-pcie-80gb"});
    CHECK(models("b200") == std::vector<std::string>{"b200"});
    CHECK(fault(c, "gpus=1,model=h10") ==
          "--gang: found GPU model 'h10', expected h100-sxm5-80gb, h100-pcie-80gb or a100-sxm4-40gb");
  }
  TEST_CASE("unknown levels are named with those that exist") {
    auto c = make_cluster();
    CHECK(fault(c, "gpus=1,within=rack") == "--gang: found level 'rack', expected cluster, spine or leaf");
    CHECK(fault(c, "tasks=2,gpus=1,segments=2:rack") == "--gang: found level 'rack', expected cluster, spine or leaf");
  }
  TEST_CASE("a job that asks for what nobody states of the only nodes for it is no job that can never run") {
    const auto with = [](berth::bytes memory0, berth::cpu_millis cpu1) {
      berth::cluster_spec s;
      s.tree = berth::domain_tree_builder::regular({"cluster", "leaf"}, {1}, 2);
      s.shapes.push_back(berth::make_plain_shape("a", 8, "h100-sxm5-80gb", berth::cpus(8), memory0));
      s.shapes.push_back(berth::make_plain_shape("b", 4, "h100-sxm5-80gb", cpu1, berth::gibibytes(8)));
      s.nodes.push_back({"n0", berth::shape_id{0}, {}, berth::cpus(8), memory0});
      s.nodes.push_back({"n1", berth::shape_id{1}, {}, cpu1, berth::gibibytes(8)});
      return berth::cluster{s};
    };
    auto c = with({}, berth::cpus(8));
    CHECK(
        fault(c, "gpus=8,memory=1GiB") ==
        "--gang: found group 'tasks' asking for 1GiB of memory per task, where nobody states the memory of the 1 node "
        "that might hold it, expected a file that states the memory of these nodes");
    // Who asks may say how else to state it; the library has no options.
    const auto wanted = [&](const char* gang, const berth::stated_by& ways) {
      auto open = with({}, {});
      return berth::resolve_job(*berth::parse_gang(gang, "g"), open, {}, "g", nullptr, ways).error().expected;
    };
    CHECK(wanted("gpus=1,cpus=1,memory=1GiB", {}) == "a file that states the CPUs and memory of these nodes");
    CHECK(wanted("gpus=1,cpus=1,memory=1GiB", {"--s", "--c", "--m"}) ==
          "a file that states the CPUs and memory of these nodes, or --c and --m");
    CHECK(wanted("gpus=8,memory=1GiB", {"", "--c", "--m"}) == "a file that states the memory of these nodes, or --m");
    CHECK(wanted("gpus=8,memory=1GiB", {"", "--c", ""}) == "a file that states the memory of these nodes");
    CHECK(fault(c, "gpus=4,memory=1GiB").empty());  // n1 is known to hold it
    CHECK(fault(c, "gpus=4,memory=9GiB").find("the memory of the 1 node") != std::string::npos);
    CHECK(fault(c, "gpus=8,cpus=9,memory=1GiB").empty());  // too few CPUs in any case: never
    CHECK(fault(c, "gpus=8,cpus=8").empty());
    auto d = with({}, {});
    CHECK(fault(d, "gpus=1,cpus=2,memory=1GiB")
              .find("asking for 2 CPUs and 1GiB of memory per task, where nobody "
                    "states the CPUs and memory of the 2 nodes") != std::string::npos);
    auto known = with(berth::gibibytes(8), berth::cpus(8));
    CHECK(fault(known, "gpus=8,memory=9GiB").empty());
  }
  TEST_CASE("amounts beyond any machine are kept, and what is wrong by itself is found without parsing") {
    auto c = make_cluster();
    CHECK(resolve(c, "gpus=1000")->groups[0].shape.devices == 1000);
    berth::job_spec job;
    CHECK_FALSE(berth::resolve_job(job, c).has_value());
    job.groups.push_back({});
    CHECK_FALSE(berth::resolve_job(job, c).has_value());  // asks for nothing
    job.groups[0].gpus = 1;
    CHECK(berth::resolve_job(job, c).has_value());
  }
  TEST_CASE("levels may be named by their last word, by tier, or as a node where that means something") {
    auto c = make_cluster();
    CHECK(resolve(c, "gpus=1,tasks=2,within=cloud.example.com/topology-leaf")->level == berth::level_id{2});
    CHECK(resolve(c, "gpus=1,tasks=2,within=tier 1")->level == berth::level_id{2});
    CHECK(resolve(c, "gpus=1,tasks=2,within=tier 2")->level == berth::level_id{1});
    CHECK(resolve(c, "gpus=1,tasks=2,within=tier 9")->level == berth::level_id{0});
    CHECK(resolve(c, "gpus=1,within=kubernetes.io/hostname")->where == berth::locality::unconstrained);
    CHECK(fault(c, "gpus=1,tasks=2,within=kubernetes.io/hostname").find("on one node") != std::string::npos);
    CHECK(resolve(c, "gpus=1,tasks=2,domains=1")->level == berth::level_id{2});
    CHECK(resolve(c, "gpus=1,tasks=2,own-within=spine")->level == berth::level_id{1});
    CHECK(resolve(c, "gpus=1,tasks=2,within=spine,prefer=leaf")->level == berth::level_id{1});
    CHECK(fault(c, "gpus=1,tasks=2,within=spine,prefer=rack").find("level 'rack'") != std::string::npos);
  }
  TEST_CASE("NVLink domains are found by any of their names, whatever a site calls them") {
    for (const char* site : {"nvlink", "nvidia.com/gpu.clique", "ds.coreweave.com/nvlink.domain"}) {
      CAPTURE(site);
      berth::cluster_spec s;
      s.tree = berth::domain_tree_builder::regular({"cluster", "rack", site}, {2, 2}, 2);
      s.shapes.push_back(berth::make_plain_shape("box", 8, "h100-sxm5-80gb", berth::cpus(8), berth::gibibytes(8)));
      for (int n = 0; n < 8; ++n)
        s.nodes.push_back({"n" + std::to_string(n), berth::shape_id{0}, {}, berth::cpus(8), berth::gibibytes(8)});
      berth::cluster c{s};
      for (const char* word : {"nvlink", "nvidia.com/gpu.clique", "nvidia.com/gpu.imex-domain"}) {
        CAPTURE(word);
        const auto g = resolve(c, std::string{"gpus=1,tasks=2,within="} + word);
        REQUIRE(g);
        CHECK(g->level == berth::level_id{2});
      }
      CHECK(fault(c, "gpus=1,tasks=2,within=nvlink-2").find("level 'nvlink-2'") != std::string::npos);
    }
  }
  TEST_CASE("parts of GPUs become needs where the cluster hands them out, and are refused with the reason elsewhere") {
    const auto whole = make_cluster();
    const auto setup = berth::make_part_catalogue(whole.shapes());
    auto c = make_cluster();
    c.reserve({.parts = &setup});
    const auto of = [&](const std::string& text) {
      const auto g = resolve(c, text);
      REQUIRE_MESSAGE(g, (g ? "" : g.error().message()));
      return g->groups[0].shape.part;
    };
    CHECK(of("tasks=4,gpu_memory_mib=8000,gpu_cores=30") == berth::part_need::share(300, 8000));
    CHECK(of("gpus=2,gpu_memory_mib=8000") == berth::part_need::share(0, 8000, 2));
    CHECK(of("gpu_memory_mib=8000,user=ann") == berth::part_need::share(0, 8000));  // who that is says the caller
    // Half a GPU is half of its memory too, whatever it has.
    CHECK(of("share=0.5x2") == berth::part_need::fraction(500, 500, 2));
    CHECK(of("gpu_cores=30") == berth::part_need::fraction(300, 300));
    CHECK(of("share=8GiB") == berth::part_need::share(0, 8192));
    const auto one = of("tasks=6,mig=1g.10gb");
    CHECK(one.is_mig());
    CHECK(one.count() == 1);
    CHECK(of("mig=1g.10gb:3,mig-on=apart") == berth::part_need::mig(one.request(), 3, true));
    const auto claim = of("mig=1g.10gb,mig=4g.40gb,mig-on=one-gpu");
    CHECK(c.inside().parts().request(claim.request()).name == "1g.10gb+4g.40gb");
    // Of the inside of a node, parts can have a NIC beside them.
    CHECK(of("tasks=6,mig=1g.10gb,near-nic=yes") == one.beside_nic());
    CHECK(of("share=8GiB,near-nic=yes") == berth::part_need::share(0, 8192).beside_nic());
    CHECK_FALSE(resolve(c, "share=8GiB,near-nic=yes")->groups[0].shape.bind.asks());
    for (const auto& one_case : std::vector<std::pair<const char*, const char*>>{
             {"mig=9g.99gb", "9g.99gb"},
             {"mig=1g.10gb:8", "at most 7 MIG instances"},
             {"mig=1g.10gb,mig=4g.40gb", "mig-on=one-gpu"},
             {"mig=4g.40gb:2,mig-on=one-gpu", "fit on one GPU together"},
             {"gpus=1,mig=1g.10gb", "beside whole GPUs"},
             {"mig=1g.10gb,share=0.5", "beside shares"},
             {"mig=1g.10gb,exclusive=yes,per-node=1", "exclusive nodes"},
             {"mig=1g.10gb,numa=single-node", "NUMA"},
             {"mig=1g.10gb,near-nic=yes,keep-cpu-ratio=yes", "ratio of CPUs"},
             {"tasks=2,mig=1g.10gb,between-nodes=10GB/s", "neither NVLink nor P2P"},
             {"tasks=2,mig=1g.10gb,rails=same", "neither NVLink nor P2P"}}) {
      const std::string m = fault(c, one_case.first);
      CHECK_MESSAGE(m.find(one_case.second) != std::string::npos, (std::string{one_case.first} + ": " + m));
    }
    auto off = make_cluster();
    CHECK(fault(off, "mig=1g.10gb").find("hands out no parts") != std::string::npos);
  }
  TEST_CASE("replicas, shards and shares of instances mean what the site's terms of sharing say") {
    const auto whole = make_cluster();
    auto setup = berth::make_part_catalogue(whole.shapes());
    const auto wrong = [&](const char* terms, auto share) {
      auto copy = setup;
      const auto ok = share(copy, terms);
      return ok ? std::string{} : ok.error().message();
    };
    const auto devices = [](auto& c, const char* t) { return berth::share_devices(c, t); };
    const auto instances = [](auto& c, const char* t) { return berth::share_instances(c, t); };
    for (const auto& one : std::vector<std::pair<const char*, const char*>>{{"mps:49", "1 to 48"},
                                                                            {"mps-plugin:1", "2 to 48"},
                                                                            {"time-slice:1", "2 to 1000"},
                                                                            {"time-slice", "time-slice:N"},
                                                                            {"mps:4:several", "'mps:4:several'"},
                                                                            {"time-slice:several", "'time-slice"},
                                                                            {"shards:0", "1 to 1000"},
                                                                            {"fractions:1001", "1 to 1000"},
                                                                            {"vgpu:4", "'vgpu:4'"},
                                                                            {"mps:x", "'mps:x'"}}) {
      const std::string m = wrong(one.first, devices);
      CHECK_MESSAGE(m.find(one.second) != std::string::npos, (std::string{one.first} + ": " + m));
    }
    CHECK(wrong("mps-plugin:4", instances).find("a whole GPU") != std::string::npos);
    CHECK(wrong("mps:6", instances) == "");
    REQUIRE(berth::share_devices(setup, "time-slice:4"));
    REQUIRE(berth::share_instances(setup, "mps"));
    auto c = make_cluster();
    c.reserve({.parts = &setup});
    const auto of = [&](const std::string& text) {
      const auto g = resolve(c, text);
      REQUIRE_MESSAGE(g, (g ? "" : g.error().message()));
      return g->groups[0].shape.part;
    };
    CHECK(of("replicas=1") == berth::part_need::fraction(250, 250));
    CHECK(of("replicas=1,gpu_memory_mib=1000") == berth::part_need::share(250, 1000));
    CHECK(of("gpu_memory_mib=1000") == berth::part_need::share(250, 1000));
    const auto nested = of("mig=1g.10gb,gpu_cores=30,gpu_memory_mib=1000");
    CHECK(nested.is_nested());
    CHECK(nested == berth::part_need::share(300, 1000).in_instance(nested.request()));
    for (const auto& one :
         std::vector<std::pair<const char*, const char*>>{{"replicas=5", "at most the 4 that a GPU has"},
                                                          {"replicas=1,share=0.5", "of one GPU an amount of memory"},
                                                          {"replicas=1,mig=1g.10gb", "one kind per group"},
                                                          {"mig=1g.10gb:2,share=0.5", "a share of one instance"},
                                                          {"mig=1g.10gb,share=0.5x2", "a share of one instance"}}) {
      const std::string m = fault(c, one.first);
      CHECK_MESSAGE(m.find(one.second) != std::string::npos, (std::string{one.first} + ": " + m));
    }
    const auto plain = berth::make_part_catalogue(whole.shapes());
    auto unshared = make_cluster();
    unshared.reserve({.parts = &plain});
    CHECK(fault(unshared, "replicas=1").find("shared in replicas or shards") != std::string::npos);
  }
  TEST_CASE("a gang keeps to the terms on which the GPUs are shared, or is told the limit") {
    for (const terms_row& r : std::vector<terms_row>{
             {"mps-plugin:4", "replicas=1", ""},
             {"mps-plugin:4", "gpu_cores=25", ""},
             {"mps-plugin:4", "share=0.25", ""},
             {"mps-plugin:4", "gpu_memory_mib=20000,model=h100-sxm5-80gb", ""},
             {"mps-plugin:4", "replicas=2", "'tasks' asking for 2 replicas of a GPU, expected 1 replica per task"},
             {"mps-plugin:4", "share=8GiBx2", "1 replica per task"},
             {"mps-plugin:4", "gpu_cores=60", "at most 25 percent of the compute, which each of 4 equal replicas gets"},
             {"mps-plugin:4", "gpu_memory_mib=40000,model=h100",
              "at most 20389 MiB, which each of 4 equal replicas gets"},
             {"mps-plugin:4", "gpu_memory_mib=20000",
              "which each of 4 equal replicas gets, on GPUs of model 'a100-sxm4-40gb'"},
             {"time-slice:4", "replicas=2", "1 replica per task: of time-slice in 4 replicas"},
             {"time-slice:4", "shards=3,gpu_memory_mib=1000", "1 replica per task"},
             {"time-slice:4", "gpu_memory_mib=1000,gpu_cores=30", "compute, which time-slice does not limit"},
             {"time-slice:4", "share=0.5", "compute, which time-slice does not limit"},
             {"time-slice:4", "share=8GiBx2", "1 replica per task"},
             {"time-slice:4:several", "replicas=3", ""},
             {"time-slice:4:several", "replicas=5", "at most the 4 that a GPU has"},
             {"time-slice:4:several", "share=8GiBx2", ""},
             {"shards:8", "shards=3", ""},
             {"shards:8", "gpu_memory_mib=9000", ""},
             {"shards:8", "shards=9", "at most the 8 that a GPU has"},
             {"shards:8", "gpu_cores=30", "compute, which shards does not limit"},
             {"mps:20", "gpu_memory_mib=1000,gpu_cores=60", ""},
             {"mps:20", "replicas=1", ""},
             {"mps:20", "replicas=2", "1 client per task: mps counts no replicas"},
             {"mps:20", "gpu_memory_mib=900000", ""},  // the placer says what does not fit the device
             {"fractions:10", "gpu_memory_mib=1000,gpu_cores=100", ""},
             {"fractions:10", "share=0.5x2", ""},
             {"fractions:10", "replicas=3", "1 client per task"}})
      check_terms(berth::share_devices, r);
    for (const terms_row& r : std::vector<terms_row>{
             {"mps:6", "mig=1g.10gb,gpu_memory_mib=1000,gpu_cores=30", ""},
             {"mps:7", "mig=1g.10gb,gpu_memory_mib=1000", "MPS with 7 clients, where 1 to 6 inside that MIG instance"},
             {"mps:7", "mig=2g.20gb,gpu_memory_mib=1000", ""},
             {"time-slice:3", "mig=1g.10gb,gpu_memory_mib=1000", ""},
             {"time-slice:3", "mig=1g.10gb,gpu_memory_mib=1000,gpu_cores=30", "time-slice does not limit"}})
      check_terms(berth::share_instances, r);
  }
  TEST_CASE("shards of Slurm and replicas of the device plug-in are taken where the GPUs are shared so") {
    for (const terms_row& r : std::vector<terms_row>{
             {"shards:4", "other=shard:2", ""},
             {"time-slice:4", "other=nvidia.com/gpu.shared:1", ""},
             {"mps-plugin:4", "other=nvidia.com/gpu.shared:1", ""},
             {"shards:4", "other=shard:5", "at most the 4 that a GPU has"},
             {"time-slice:4", "other=nvidia.com/gpu.shared:2", "1 replica per task"},
             {"shards:4", "other=shard:1,gpus=1", "one kind per group"},
             {"time-slice:4", "other=shard:2", "2 x 'shard', expected GPUs that are shared in shards"},
             {"shards:4", "other=nvidia.com/gpu.shared:1", "expected GPUs in replicas"},
             {"", "other=shard:2", "expected GPUs that are shared in shards"},
             {"shards:4", "other=google.com/tpu:4", "does not count other resources yet"}})
      check_terms(berth::share_devices, r);
    auto c = make_cluster(two_models);
    auto setup = berth::make_part_catalogue(c.shapes());
    REQUIRE(berth::share_devices(setup, "shards:4"));
    c.reserve({.parts = &setup});
    CHECK(resolve(c, "other=shard:2")->groups[0].shape.part == berth::part_need::fraction(500, 500));
  }
  TEST_CASE("what the placer cannot serve is refused with the reason, never dropped") {
    auto c = make_cluster();
    const std::pair<const char*, const char*> cases[] = {
        {"mig=1g.5gb:2", "2 x MIG profile '1g.5gb'"},
        {"share=0.5", "500 thousandths of 1 GPU"},
        {"share=8GiBx2", "8GiB of 2 GPUs"},
        {"gpus=1,other=google.com/tpu:4", "4 x 'google.com/tpu'"},
        {"gpus=1,only-node=n1", "names the nodes"},
        {"gpus=1,not-node=n1", "names the nodes"},
        {"gpus=1,tasks=2,domains=2", "at most 2 switches"},
        {"gpus=1,tasks=2,within=leaf,own-within=leaf", "a locality of its own"},
        {"gpus=1,exclusive=yes", "any number of its tasks"},
        {"gpus=1,any-label=a|b,any-label=c|d", "several choices of labels"},
    };
    for (const auto& one : cases) {
      const std::string found = fault(c, one.first);
      CHECK_MESSAGE(found.find(one.second) != std::string::npos, (one.first + (": " + found)));
    }
    auto two = *berth::parse_gang("gpus=1,tasks=4,min=1", "");
    two.groups.push_back(two.groups[0]);
    two.groups[1].name = "other";
    two.minimum = 5;
    std::vector<std::string> notes;
    CHECK(berth::resolve_job(two, c, {}, "job", &notes)->groups[0].minimum == 4);  // all, which is more than asked for
    CHECK(notes.at(0).find("5 of 8 tasks of whichever group would do") != std::string::npos);
    two.minimum = 8;
    CHECK(berth::resolve_job(two, c)->groups[1].minimum == 4);
    two.groups[0].own.within = two.groups[1].own.within = "spine";
    CHECK(berth::resolve_job(two, c, {}, "job", &notes)->level == berth::level_id{1});
    CHECK(notes.at(1).find("the whole gang is kept in one") != std::string::npos);
    two.groups[1].own.within = "leaf";
    CHECK(berth::resolve_job(two, c).error().message().find("a locality of its own") != std::string::npos);
    two.groups[1].own = {};
    two.groups[0].minimum = 2;
    two.groups[0].own.segments = berth::segment_spec{2, "leaf"};
    CHECK(berth::resolve_job(two, c).error().message().find("a locality of its own") != std::string::npos);
  }
  TEST_CASE("small tasks are kept apart by a limit per node, large ones by their size") {
    auto c = make_cluster();
    const auto limit = [&](const char* text) {
      const auto g = resolve(c, text);
      REQUIRE_MESSAGE(g.has_value(), text);
      return g->groups[0].shape.per_node;
    };
    CHECK(limit("gpus=1,tasks=2,per-node=1") == 1);
    CHECK(limit("gpus=2,tasks=9,per-node=3") == 3);
    CHECK(limit("cpus=1,tasks=9,per-node=2") == 2);
    CHECK(limit("gpus=1,tasks=2") == 0);
    CHECK(limit("gpus=1,tasks=2,per-node=2") == 0);  // there are no more
    CHECK(limit("gpus=5,tasks=2,per-node=1") == 0);
    CHECK(limit("gpus=1,cpus=5,tasks=2,per-node=1") == 0);
    const auto g = resolve(c, "gpus=1,tasks=2,per-node=1");
    berth::placer<> place{c};
    const auto d = place(*g);
    REQUIRE(d);
    CHECK(d.where.tasks[0].node != d.where.tasks[1].node);
  }
  TEST_CASE("exclusive nodes are served where they are alike") {
    auto c = make_cluster();
    const auto g = resolve(c, "gpus=1,tasks=2,per-node=1,exclusive=yes,model=h100-sxm5-80gb");
    REQUIRE(g.has_value());
    CHECK(g->groups[0].shape.devices == 8);
    CHECK(g->groups[0].shape.cpu == berth::cpus(8));
  }
  TEST_CASE("taints keep gangs away that do not tolerate them") {
    auto s = berth::cluster_spec{};
    s.tree = berth::domain_tree_builder::regular({"cluster", "leaf"}, {1}, 4);
    s.shapes.push_back(berth::make_plain_shape("box", 8, "t4", berth::cpus(8), berth::gibibytes(8)));
    const std::vector<std::string> labels[] = {{},
                                               {"taint:dedicated=a:NoSchedule"},
                                               {"taint:dedicated=a:NoSchedule", "taint:gpu=:NoExecute"},
                                               {"taint:slurm/reservation=r1:NoSchedule"}};
    for (int n = 0; n < 4; ++n)
      s.nodes.push_back({"n" + std::to_string(n), berth::shape_id{0}, labels[n], berth::cpus(8), berth::gibibytes(8)});
    berth::cluster c{s};
    const auto nodes = [&](const std::string& text) {
      const auto g = resolve(c, text);
      REQUIRE(g.has_value());
      std::string out;
      for (std::uint32_t n = 0; n < 4; ++n)
        if (c.eligible(g->groups[0].shape.filter, berth::node_id{n}).admits) out += std::to_string(n);
      return out;
    };
    CHECK(nodes("gpus=1") == "0");
    CHECK(nodes("gpus=1,toleration=dedicated") == "01");
    CHECK(nodes("gpus=1,toleration=dedicated=a") == "01");
    CHECK(nodes("gpus=1,toleration=dedicated=b") == "0");
    CHECK(nodes("gpus=1,toleration=dedicated=a:NoExecute") == "0");
    CHECK(nodes("gpus=1,toleration=dedicate") == "0");
    CHECK(nodes("gpus=1,toleration=dedicated:NoSchedule,toleration=gpu=") == "012");
    CHECK(nodes("gpus=1,toleration=*:NoExecute") == "0");
    CHECK(nodes("gpus=1,toleration=*:NoSchedule") == "013");
    CHECK(nodes("gpus=1,toleration=*") == "0123");
    CHECK(nodes("gpus=1,toleration=slurm/reservation=r1") == "03");
    CHECK(nodes("gpus=1,toleration=slurm/reservation=r2") == "0");
  }
  TEST_CASE("labels by pattern, and what does not bind the placer is said") {
    auto s = berth::cluster_spec{};
    s.tree = berth::domain_tree_builder::regular({"cluster", "leaf"}, {1}, 3);
    s.shapes.push_back(berth::make_plain_shape("box", 8, "A100-SXM4-80GB", berth::cpus(8), berth::gibibytes(8)));
    const char* zones[] = {"zone=a", "zone=b", "gen=9"};
    for (int n = 0; n < 3; ++n)
      s.nodes.push_back({"n" + std::to_string(n), berth::shape_id{0}, {zones[n]}, berth::cpus(8), berth::gibibytes(8)});
    berth::cluster c{s};
    const auto filter = [&](const char* text) {
      const auto g = resolve(c, text);
      REQUIRE(g.has_value());
      return c.filter(g->groups[0].shape.filter);
    };
    CHECK(filter("gpus=1,label=zone=*").any_of == std::vector<std::string>{"zone=a", "zone=b"});
    CHECK(filter("gpus=1,not-label=zone=*").none_of == std::vector<std::string>{"zone=a", "zone=b"});
    CHECK(filter("gpus=1,label=gen>8").all_of == std::vector<std::string>{"gen=9"});
    CHECK(filter("gpus=1,label=gen<9").all_of == std::vector<std::string>{"gen<9"});
    CHECK(filter("gpus=1,label=rack=*").all_of == std::vector<std::string>{"rack=*"});
    CHECK(filter("gpus=1,model=NVIDIA A100-SXM4-80GB").models == std::vector<std::string>{"A100-SXM4-80GB"});
    CHECK_FALSE(filter("gpus=1").taints);
    const auto job = berth::parse_gang("gpus=1,most=3,copies=4,after=afterok:1,other=ephemeral-storage:5", "");
    std::vector<std::string> notes;
    REQUIRE(berth::resolve_job(*job, c, {}, "job", &notes).has_value());
    CHECK(notes.size() == 4);
  }
}
