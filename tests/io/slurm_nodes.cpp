#include "berth/io/slurm_nodes.hpp"

#include <doctest/doctest.h>

#include <string>
#include <vector>

#include "berth/io/slurm.hpp"
#include "berth/io/slurm_gres.hpp"
#include "samples.hpp"

namespace {

using samples::contains;
using samples::failure;

berth::expected<berth::cluster_spec, berth::input_error> read(std::string text, std::string gres = "") {
  std::vector<berth::named_text> files{{"slurm.conf", std::move(text)}};
  if (!gres.empty()) files.push_back({"gres.conf", std::move(gres)});
  return berth::read_slurm(files);
}
berth::cluster_spec good(std::string text, std::string gres = "") {
  auto r = read(std::move(text), std::move(gres));
  REQUIRE_MESSAGE(r.has_value(), failure(r));
  return std::move(*r);
}
const berth::node_shape& shape(const berth::cluster_spec& s, std::size_t n = 0) {
  return s.shapes[s.nodes[n].shape.index()];
}

TEST_SUITE("io/slurm_nodes") {
  TEST_CASE("NodeName: CPUs from CPUs=, Procs= or sockets, cores and threads") {
    CHECK(good("NodeName=a CPUs=48 RealMemory=1024").nodes[0].cpu == berth::cpus(48));
    CHECK(good("NodeName=a Procs=48").nodes[0].cpu == berth::cpus(48));
    CHECK(good("NodeName=a Sockets=2 CoresPerSocket=16 ThreadsPerCore=2").nodes[0].cpu == berth::cpus(64));
    CHECK(good("NodeName=a Boards=2 SocketsPerBoard=2 CoresPerSocket=8").nodes[0].cpu == berth::cpus(32));
    CHECK(good("NodeName=a CPUs=32 Sockets=2 CoresPerSocket=16 ThreadsPerCore=2").nodes[0].cpu == berth::cpus(32));
    const auto reset = good("NodeName=a CPUs=7 Sockets=2 CoresPerSocket=16 ThreadsPerCore=2");
    CHECK(reset.nodes[0].cpu == berth::cpus(64));
    CHECK(samples::any_contains(reset.assumptions, "their product is used, as in Slurm"));
    CHECK(good("NodeName=a CPUs=64 ThreadsPerCore=2 CoreSpecCount=2").nodes[0].cpu == berth::cpus(60));
    CHECK(good("NodeName=a CPUs=64 CpuSpecList=0-3,32").nodes[0].cpu == berth::cpus(59));
  }
  TEST_CASE("NodeName: memory in MiB, less what is set aside; what is not stated is taken as 0 and said") {
    const auto s = good("NodeName=a CPUs=4 RealMemory=237363 MemSpecLimit=363");
    CHECK(s.nodes[0].memory == berth::mebibytes(237000));
    CHECK(s.shapes[0].memory == berth::mebibytes(237000));
    const auto bare = good("NodeName=a,b");
    CHECK(bare.nodes[1].cpu == berth::cpus(0));
    CHECK(bare.nodes[1].memory == berth::mebibytes(0));
    CHECK(samples::any_contains(bare.assumptions, "2 nodes (a,b): no file states the CPUs; taken as 0"));
    CHECK(samples::any_contains(bare.assumptions, "2 nodes (a,b): no file states the memory; taken as 0"));
    berth::slurm_options o;
    o.hardware.cpu = berth::cpus(8);
    o.hardware.memory = berth::gibibytes(16);
    const auto given = berth::read_slurm({{"slurm.conf", "NodeName=a\n"}}, o);
    REQUIRE(given.has_value());
    CHECK(given->nodes[0].cpu == berth::cpus(8));
    CHECK(given->nodes[0].memory == berth::gibibytes(16));
  }
  TEST_CASE("NodeName: Gres with types, counts, sockets and several kinds") {
    CHECK(shape(good("NodeName=a Gres=gpu:8")).devices == 8);
    CHECK(shape(good("NodeName=a Gres=gpu")).devices == 1);
    CHECK(shape(good("NodeName=a Gres=gpu:a100")).models == std::vector<std::string>{"a100"});
    CHECK(shape(good("NodeName=a Gres=gpu:8(S:0-1)")).devices == 8);
    CHECK(shape(good("NodeName=a Gres=gpu:a100:4(S:0,1),mps:400")).devices == 4);
    CHECK(shape(good("NodeName=a Gres=bandwidth:lustre:no_consume:4G,gpu:2")).devices == 2);
    CHECK(shape(good("NodeName=a Gres=(null)")).devices == 0);
    CHECK(shape(good("NodeName=a Gres=gpu:0")).devices == 0);
    CHECK(shape(good("NodeName=a Gres=gpu:64")).devices == 64);
    const auto mixed = good("NodeName=a Gres=gpu:a100:2,gpu:l40s:1");
    CHECK(shape(mixed).models == std::vector<std::string>{"a100", "a100", "l40s"});
    CHECK(shape(mixed).name == "2xa100+1xl40s");
    CHECK(!shape(mixed).bandwidth.between(0, 1).has_value());
    CHECK(contains(failure(read("NodeName=a Gres=gpu:65")), "more than 64 GPUs"));
    CHECK(contains(failure(read("NodeName=a Gres=gpu:x:40,gpu:y:40")), "more than 64 GPUs"));
    CHECK(contains(failure(read("NodeName=a Gres=gpu:4K")), "more than 64 GPUs"));
    CHECK(contains(failure(read("NodeName=a Gres=gpu:99999999999999999999")), "more than 64 GPUs") == false);
    for (const char* bad : {"gpu:", "gpu::2", ",gpu:2", "gpu:2,", "gpu:2(S:0", "gpu:2)", "gpu:a:b:2", "gpu:2(S:0)x"})
      CHECK_MESSAGE(contains(failure(read(std::string{"NodeName=a Gres="} + bad)), "Gres item"), bad);
  }
  TEST_CASE("NodeName: features become sorted labels, down states make nodes unusable, FUTURE nodes are left out") {
    const auto s = good(
        "NodeName=a Feature=static,g3.8xlarge,gpu State=CLOUD\nNodeName=b Features=x,x State=DOWN\n"
        "NodeName=c State=FUTURE\nNodeName=d State=UNKNOWN\nDownNodes=d State=FAIL Reason=\"fan\"");
    REQUIRE(s.nodes.size() == 3);
    CHECK(s.nodes[0].labels == std::vector<std::string>{"g3.8xlarge", "gpu", "static"});
    CHECK(s.nodes[1].labels == std::vector<std::string>{"x"});
    CHECK_FALSE(s.nodes[1].usable);
    CHECK_FALSE(s.nodes[2].usable);
    CHECK(s.nodes[0].usable);
    CHECK(samples::any_contains(s.assumptions, "1 node (c): State=FUTURE"));
    CHECK(samples::any_contains(s.assumptions, "2 nodes (b,d): down or drained"));
  }
  TEST_CASE("NodeName=DEFAULT gives values to the lines after it, key by key") {
    const auto s = good(
        "NodeName=early\nNodeName=DEFAULT CPUs=8 RealMemory=1024 Gres=gpu:2 Features=base\nNodeName=a\n"
        "NodeName=b CPUs=16 Feature=own\nNodeName=DEFAULT RealMemory=2048\nNodeName=c");
    REQUIRE(s.nodes.size() == 4);
    CHECK(s.nodes[0].cpu == berth::cpus(0));
    CHECK(s.nodes[1].cpu == berth::cpus(8));
    CHECK(s.nodes[1].labels == std::vector<std::string>{"base"});
    CHECK(s.nodes[2].cpu == berth::cpus(16));
    CHECK(s.nodes[2].labels == std::vector<std::string>{"own"});
    CHECK(s.nodes[3].memory == berth::mebibytes(2048));
    CHECK(shape(s, 3).devices == 2);
  }
  TEST_CASE("NodeName: equal nodes share one shape, unlike ones do not") {
    const auto s = good(
        "NodeName=a[1-4] CPUs=8 Gres=gpu:v100:4\nNodeName=b[1-4] CPUs=8 Gres=gpu:v100:4 Feature=x\n"
        "NodeName=c CPUs=16 Gres=gpu:v100:4");
    REQUIRE(s.shapes.size() == 2);
    CHECK(s.nodes[0].shape == s.nodes[7].shape);
    CHECK(s.shapes[0].name == "4xv100");
    CHECK(s.shapes[1].name == "4xv100#2");
  }
  TEST_CASE("NodeName: faults are named with their place") {
    CHECK(failure(read("NodeName=a[1-3]\n#\nNodeName=a3")) ==
          "slurm.conf:3: found second NodeName= of node a3 (first at slurm.conf:1), expected each node once");
    CHECK(contains(failure(read("NodeName=a,a")), "on the same line"));
    CHECK(contains(failure(read("NodeName=a CPUs=many")), "slurm.conf:1: found CPUs='many'"));
    CHECK(contains(failure(read("NodeName=a CPUs=0")), "CPUs='0'"));
    CHECK(contains(failure(read("NodeName=a CPUs=-1")), "CPUs='-1'"));
    CHECK(contains(failure(read("NodeName=a CPUs=99999999999")), "from 1 to 1000000"));
    CHECK(contains(failure(read("NodeName=a RealMemory=99999999999999")), "RealMemory="));
    CHECK(contains(failure(read("NodeName=a RealMemory=10 MemSpecLimit=10")), "MemSpecLimit="));
    CHECK(contains(failure(read("NodeName=a CPUs=2 CoreSpecCount=2")), "all CPUs"));
    CHECK(contains(failure(read("NodeName=a CPUs=2 Procs=2")), "both CPUs= and Procs="));
    CHECK(contains(failure(read("NodeName=a Sockets=2 SocketsPerBoard=2")), "both Sockets="));
    CHECK(contains(failure(read("NodeName=a Sockets=1024 CoresPerSocket=4096 ThreadsPerCore=64")), "CPUs on one node"));
    CHECK(contains(failure(read("NodeName=a RealMemry=10")), "unknown key 'RealMemry', expected RealMemory"));
    CHECK(contains(failure(read("NodeName=a State=BROKEN")), "State='BROKEN'"));
    CHECK(contains(failure(read("NodeName=a Features=x,,y")), "empty item in Features="));
    CHECK(contains(failure(read("NodeName=n[0-99999999999]")), "too many names in NodeName="));
    CHECK(contains(failure(read("NodeName=a\nDownNodes=b State=DOWN")), "unknown node b"));
    CHECK(contains(failure(read("NodeName=DEFAULT CPUs=4")), "no machine"));
  }

  TEST_CASE("gres.conf: files, counts and types make the devices, in the order of the file") {
    const auto s = good("NodeName=a[1-2] CPUs=8 Gres=gpu:4",
                        "NodeName=a[1-2] Name=gpu Type=a100 File=/dev/nvidia[0-1]\n"
                        "NodeName=a[1-2] Name=gpu Type=t4 File=/dev/nvidia2,/dev/nvidia3 Links=-1,16,0,0\n"
                        "NodeName=a[1-2] Name=mps Count=400\nAutoDetect=nvml\n");
    REQUIRE(s.shapes.size() == 1);
    CHECK(s.shapes[0].models == std::vector<std::string>{"a100", "a100", "t4", "t4"});
    const auto typed = good("NodeName=a CPUs=8 Gres=gpu:a100:1,gpu:t4:2",
                            "Name=gpu Type=t4 File=/dev/nvidia0\nName=gpu Type=a100 File=/dev/nvidia1\n"
                            "Name=gpu Type=t4 File=/dev/nvidia2\n");
    CHECK(shape(typed).models == std::vector<std::string>{"t4", "a100", "t4"});
    CHECK(shape(good("NodeName=c1 CPUs=8 Gres=gpu:1", "NodeName=c1 Name=gpu File=/dev/dxg Count=1")).devices == 1);
  }
  TEST_CASE("gres.conf: too few GPUs is an error, too many are cut as in Slurm, none stated means none") {
    CHECK(contains(failure(read("NodeName=a CPUs=8 Gres=gpu:4", "Name=gpu File=/dev/nvidia[0-1]")),
                   "slurm.conf:1: found Gres=gpu:4 on node a, of which gres.conf lists 2 (gres.conf:1)"));
    CHECK(contains(failure(read("NodeName=a CPUs=8 Gres=gpu:a100:2", "Name=gpu Type=t4 File=/dev/nvidia[0-1]")),
                   "of which gres.conf lists 0"));
    const auto cut = good("NodeName=a CPUs=8 Gres=gpu:2", "Name=gpu File=/dev/nvidia[0-3]");
    CHECK(shape(cut).devices == 2);
    CHECK(samples::any_contains(cut.assumptions, "gres.conf lists 4 GPUs, Gres= states 2"));
    const auto none = good("NodeName=a,b CPUs=8", "NodeName=a Name=gpu File=/dev/nvidia[0-3]");
    CHECK(shape(none).devices == 0);
    CHECK(samples::any_contains(none.assumptions, "1 node (a): gres.conf lists GPUs but"));
    const auto stranger = good("NodeName=a CPUs=8", "NodeName=x[1-3] Name=gpu File=/dev/nvidia0");
    CHECK(samples::any_contains(stranger.assumptions, "3 nodes (x[1-3]): in gres.conf but in no other file"));
  }
  TEST_CASE("gres.conf: cores near GPUs make NUMA nodes, in threads or in cores") {
    auto r = berth::read_slurm({samples::example("lambda-8gpu.slurm.conf"), samples::example("lambda-8gpu.gres.conf")});
    REQUIRE_MESSAGE(r.has_value(), failure(r));
    REQUIRE(r->nodes.size() == 1);
    const auto& s = shape(*r);
    CHECK(s.devices == 8);
    REQUIRE(s.numa.size() == 2);
    CHECK(s.numa[0].devices == 0x0FU);
    CHECK(s.numa[1].devices == 0xF0U);
    CHECK(s.numa[0].cpu == berth::cpus(32));
    const auto cores = good("NodeName=a Sockets=2 CoresPerSocket=16 ThreadsPerCore=2 RealMemory=64 Gres=gpu:2",
                            "Name=gpu File=/dev/nvidia0 Cores=0-15\nName=gpu File=/dev/nvidia1 Cores=16-31");
    REQUIRE(shape(cores).numa.size() == 2);
    CHECK(shape(cores).numa[1].cpu == berth::cpus(32));
    // Overlapping or partial lists tell no NUMA layout.
    CHECK(shape(good("NodeName=a CPUs=32 Gres=gpu:2",
                     "Name=gpu File=/dev/nvidia0 Cores=0-15\n"
                     "Name=gpu File=/dev/nvidia1 Cores=8-23"))
              .numa.empty());
    CHECK(shape(good("NodeName=a CPUs=32 Gres=gpu:2",
                     "Name=gpu File=/dev/nvidia0 Cores=0-15\n"
                     "Name=gpu File=/dev/nvidia1"))
              .numa.empty());
  }
  TEST_CASE("gres.conf: MIG devices are no whole GPUs") {
    const auto s = good("NodeName=a CPUs=8 Gres=gpu:a100:1,gpu:a100_3g.20gb:2,shard:8",
                        "Name=gpu Type=a100 File=/dev/nvidia0\n"
                        "Name=gpu Type=a100_3g.20gb MultipleFiles=/dev/nvidia1,/dev/nvidia-caps/nvidia-cap21\n"
                        "Name=gpu Type=a100_3g.20gb MultipleFiles=/dev/nvidia1,/dev/nvidia-caps/nvidia-cap30\n"
                        "Name=shard Count=8");
    CHECK(shape(s).models == std::vector<std::string>{"a100"});
    CHECK(samples::any_contains(s.assumptions, "MIG devices are no whole GPUs"));
    CHECK(shape(good("NodeName=a CPUs=8 Gres=gpu:1", "Name=gpu MultipleFiles=/dev/a,/dev/b")).devices == 0);
  }
  TEST_CASE("gres.conf: faults are named with their place") {
    const auto fault = [](std::string gres) { return failure(read("NodeName=a CPUs=8 Gres=gpu:1", std::move(gres))); };
    CHECK(contains(fault("Name=gpu File=/dev/nvidia[3-0]"), "gres.conf:1: found range '3-0' in File="));
    CHECK(contains(fault("Name=gpu File=/dev/nvidia[0-999]"), "too many names in File="));
    CHECK(contains(fault("Name=gpu Count=none"), "Count='none'"));
    CHECK(contains(fault("Name=gpu Count=0"), "Count='0'"));
    CHECK(contains(fault("Name=gpu File=/dev/nvidia[0-1] Count=3"), "Count=3 beside 2 files"));
    CHECK(contains(fault("Name=gpu Cores=9-1"), "Cores='9-1'"));
    CHECK(contains(fault("Name=gpu Cores=0-999999999"), "Cores="));
    CHECK(contains(fault("Name=gpu Links=a"), "Links='a'"));
    CHECK(contains(fault("Name=gpu Colour=red"), "unknown key 'Colour', expected one of "));
    CHECK(contains(fault("Name=gpu Flie=/dev/a"), ":1: found unknown key 'Flie', expected File"));
    CHECK(contains(fault("AutoDetect=magic"), "AutoDetect='magic'"));
    CHECK(contains(fault("Name=gpu File=/dev/c MultipleFiles=/dev/a,/dev/b"), "both File= and MultipleFiles="));
    CHECK(contains(fault("Name=gpu\nCPUs=0-3"), "key 'CPUs' in a topology or gres file"));
    CHECK(contains(fault("Name=gpu Count=40\nName=gpu Count=40"), "more than 64 GPUs on node a"));
  }
}

}  // namespace
