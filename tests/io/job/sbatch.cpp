// Batch scripts of Slurm. The scripts are written after sbatch's manual page; no site's script is copied.
#include "berth/io/job/sbatch.hpp"

#include <doctest/doctest.h>

#include <string>
#include <string_view>
#include <vector>

#include "../samples.hpp"

namespace {

berth::job_spec read(const std::string& lines) {
  auto r = berth::read_sbatch({"dir/run.sh", "#!/bin/bash\n" + lines + "srun ./train\n"});
  REQUIRE_MESSAGE(r.has_value(), samples::failure(r));
  REQUIRE(r->size() == 1);
  return r->front();
}
std::string fault(const std::string& lines) {
  const auto r = berth::read_sbatch({"run.sh", "#!/bin/bash\n" + lines + "srun ./train\n"});
  REQUIRE_MESSAGE(!r.has_value(), lines);
  return samples::failure(r);
}
/// The options as `#SBATCH` lines, one each.
std::string script(std::string_view options) {
  return "#SBATCH " + std::string{options} + "\n";
}

TEST_SUITE("io/job/sbatch") {
  TEST_CASE("a training job: nodes, tasks per node, GPUs, CPUs, memory, time, segments") {
    const auto j = read(
        "#SBATCH --job-name=llm           # a comment\n"
        "#SBATCH -N 16 --ntasks-per-node=8\n"
        "\n"
        "# a remark between the options\n"
        "##SBATCH --nodes=99\n"
        "#SBATCH --gres=gpu:h100:8\n"
        "#SBATCH --cpus-per-task 12\n"
        "#SBATCH --mem=1900G\n"
        "#SBATCH --time=2-12:30:00 --partition=\"batch\" -A 'team a' --qos=high\n"
        "#SBATCH --segment=8 --spread-segments --switches=1@10:00\n"
        "#SBATCH --output=%j.out --mail-type=END\n");
    CHECK(j.name == "llm");
    CHECK(j.queue == "batch");
    CHECK(j.priority_class == "high");
    CHECK(j.seconds == ((2 * 24 + 12) * 60 + 30) * 60);
    REQUIRE(j.groups.size() == 1);
    const auto& g = j.groups[0];
    CHECK(g.wanted == 16);
    CHECK(g.minimum == 16);
    CHECK(g.gpus == 8);
    CHECK(g.gpu_model == "h100");
    CHECK(g.cpu == berth::cpus(96));
    CHECK(g.memory == berth::gibibytes(1900));
    CHECK(g.per_node == 1);
    CHECK(j.segments == berth::segment_spec{2, "block", berth::segment_layout::spread});
    CHECK(j.where == berth::locality::required);
    CHECK(j.level == "leaf");
    CHECK(j.assumptions.size() == 1);  // of --switches
  }
  TEST_CASE("how counts become tasks") {
    struct row {
      const char* options;
      std::uint32_t wanted, minimum, gpus;
      std::int64_t cpus;
      std::uint32_t per_node;
    };
    const row rows[] = {
        {"-N 2-4 --gpus-per-node=4", 4, 2, 4, 1, 1},
        {"-N4 -n32 -c2", 4, 4, 0, 16, 1},
        {"--nodes=2 --gpus=16", 2, 2, 8, 1, 1},
        {"--nodes=2 --ntasks=16 --gpus-per-task=1 --cpus-per-gpu=6", 2, 2, 8, 48, 1},
        {"--ntasks=16 --ntasks-per-node=8 --gpus-per-task=a100:1", 2, 2, 8, 8, 1},
        {"--ntasks=16 --gpus-per-task=1 -c 4", 16, 16, 1, 4, 0},
        {"--ntasks=4 --gpus=8", 4, 4, 2, 1, 0},
        {"--gpus=8 --cpus-per-gpu=4", 8, 8, 1, 4, 0},
        {"-G 16 --gpus-per-node=8", 2, 2, 8, 1, 1},
        {"--gpus=8 -n 1", 1, 1, 8, 1, 0},
        {"--gres=gpu", 1, 1, 1, 1, 0},
        {"--gres=gpu:2,gres/gpu:1", 1, 1, 3, 1, 0},
        {"--gpus-per-socket=2 --sockets-per-node=2 -N 3", 3, 3, 4, 1, 1},
        {"-n 8 --tres-per-task=cpu=4,gres/gpu=1", 8, 8, 1, 4, 0},
        {"-N 1 --gres=gpu:4 --ntasks-per-gpu=2 -c 3", 1, 1, 4, 24, 0},
        {"-N 2 --mincpus=32 --gres=gpu:8", 2, 2, 8, 32, 1},
        {"-N 1k --gres=gpu:4", 1024, 1024, 4, 1, 1},
        {"-N2 --gpus-per-n=4 -Hs", 2, 2, 4, 1, 1},
        {"-n 10 -N 4 --gpus=10", 4, 4, 3, 3, 1},
        {"-n 16 --mem=64G", 1, 1, 0, 16, 0},
        {"-N 2 -N 3 --gres=gpu:1", 3, 3, 1, 1, 1},
        {"-w n[1-4] --gres=gpu:8", 4, 4, 8, 1, 1},
        {"-n 8 -w n[1-4] -c 2", 4, 4, 0, 4, 1},
    };
    for (const auto& r : rows) {
      CAPTURE(r.options);
      const auto j = read(script(r.options));
      const auto& g = j.groups[0];
      CHECK(g.wanted == r.wanted);
      CHECK(g.minimum == r.minimum);
      CHECK(g.gpus == r.gpus);
      CHECK(g.cpu == berth::cpus(r.cpus));
      CHECK(g.per_node == r.per_node);
    }
    CHECK(read(script("-n 10 -N 4 --gpus=10")).assumptions.size() == 2);
    CHECK(read(script("-n 16 --mem=64G")).assumptions.size() == 1);
  }
  TEST_CASE("memory per CPU and per GPU, and all of it") {
    CHECK(read(script("-N 1 -n 4 -c 2 --mem-per-cpu=4G")).groups[0].memory == berth::gibibytes(32));
    CHECK(read(script("-N 1 --gres=gpu:4 --mem-per-gpu=100000")).groups[0].memory == berth::mebibytes(400000));
    CHECK(read(script("-N 1 --mem=500MB")).groups[0].memory == berth::mebibytes(500));
    const auto all = read(script("-N 1 --mem=0"));
    CHECK(all.groups[0].memory.count() == 0);
    CHECK(samples::any_contains(all.assumptions, "all memory of each node"));
  }
  TEST_CASE("MIG types, mps, shards and other resources are kept as what they are") {
    const auto j = read(script("--gres=gpu:a100_1g.5gb:2,gpu:3g.20gb:1,mps:50,shard:2,nvme:1 -L matlab:2 --tmp=10G"));
    const auto& g = j.groups[0];
    CHECK(g.gpus == 0);
    CHECK(g.mig == std::vector<berth::named_count>{{"1g.5gb", 2}, {"3g.20gb", 1}});
    CHECK(g.other ==
          std::vector<berth::named_count>{
              {"mps", 50}, {"shard", 2}, {"nvme", 1}, {"tmp-disk", std::int64_t{10} << 30}, {"license:matlab", 2}});
    using counts = std::vector<berth::named_count>;
    const auto per_node = read(script("--ntasks=8 --gres=shard:2"));  // however many tasks there are
    CHECK(per_node.groups[0].wanted == 1);
    CHECK(per_node.groups[0].other == counts{{"shard", 2}});
    const auto per_task = read(script("--ntasks=8 --tres-per-task=gres/shard:2"));
    CHECK(per_task.groups[0].wanted == 8);
    CHECK(per_task.groups[0].other == counts{{"shard", 2}});
    CHECK(read(script("-N 2 --ntasks-per-node=3 --tres-per-task=gres/shard:2")).groups[0].other ==
          counts{{"shard", 6}});
  }
  TEST_CASE("nodes by feature and by name, exclusive nodes") {
    const auto j = read(script("-N 2 --constraint=\"a100&ib&(rack1|rack2)\" -w n[1-2] -x n9 --exclusive"));
    const auto& g = j.groups[0];
    CHECK(g.labels == std::vector<std::string>{"a100", "ib"});
    CHECK(g.any_labels == std::vector<std::vector<std::string>>{{"rack1", "rack2"}});
    CHECK(g.only_nodes == std::vector<std::string>{"n1", "n2"});
    CHECK(g.not_nodes == std::vector<std::string>{"n9"});
    CHECK(g.exclusive);
    CHECK(read(script("-C 'a|b'")).groups[0].any_labels == std::vector<std::vector<std::string>>{{"a", "b"}});
    CHECK(read(script("-C '[a|b]' -N 1")).groups[0].any_labels.size() == 1);
    CHECK(read(script("--exclusive=topo -N 4 --segment=2")).exclusive_domain);
    CHECK_FALSE(read(script("--exclusive=user")).groups[0].exclusive);
    CHECK(read(script("--switches=2 -N 4")).domains == 2);
  }
  TEST_CASE("arrays, dependencies, priority") {
    const auto j = read(script("--array=0-15,20,30-40:5%4 -d afterok:12:13,singleton --priority=100 --nice=10"));
    CHECK(j.copies == 20);
    CHECK(j.at_once == 4);
    CHECK(j.after == std::vector<std::string>{"afterok:12:13", "singleton"});
    CHECK(j.priority == 100);
    CHECK(samples::any_contains(j.assumptions, "--nice=10: read, but does not bind the placer"));
    CHECK(j.name == "run.sh");  // as sbatch calls a script without a name
    CHECK(read(script("-t 90")).seconds == 5400);
    CHECK(read(script("-t 1:30")).seconds == 90);
    CHECK(read(script("-t 1-6")).seconds == 30 * 3600);
    CHECK(read(script("-t UNLIMITED")).seconds == 0);
  }
  TEST_CASE("components of a heterogeneous job are groups of one gang") {
    const auto j = read(
        "#SBATCH -J het -N 1 -c 8 --mem=16G -p cpu\n#SBATCH hetjob\n#SBATCH -N 4 --gres=gpu:8 --segment=2 -p gpu\n");
    REQUIRE(j.groups.size() == 2);
    CHECK(j.name == "het");
    CHECK(j.groups[0].name == "component-0");
    CHECK(j.groups[0].gpus == 0);
    CHECK(j.groups[1].gpus == 8);
    CHECK(j.groups[1].own.segments == berth::segment_spec{2, "block", berth::segment_layout::free});
    CHECK_FALSE(j.segments.has_value());
    CHECK(samples::any_contains(j.assumptions, "another partition"));
  }
  TEST_CASE("options after the first command are not read, and that is said") {
    const auto r = berth::read_sbatch({"a.sh", "#!/bin/sh\n#SBATCH -N 2\nmodule load x\n#SBATCH -N 9\n"});
    REQUIRE(r.has_value());
    CHECK(r->front().groups[0].wanted == 2);
    CHECK(samples::any_contains(r->front().assumptions, "a.sh:4: #SBATCH after the first command"));
    CHECK(berth::looks_like_sbatch("#!/bin/bash\n#SBATCH -N 1\n"));
    CHECK_FALSE(berth::looks_like_sbatch("#!/bin/bash\necho\n#SBATCH -N 1\n"));
    CHECK_FALSE(berth::read_sbatch({"a.sh", "#!/bin/sh\nls\n"}).has_value());
  }
  TEST_CASE("faults name line, option and what it takes") {
    const std::pair<const char*, const char*> cases[] = {
        {"--nodes=0", "run.sh:2: found --nodes='0', expected a number of nodes such as 4 or 2-4"},
        {"--nodes=4-2", "--nodes='4-2'"},
        {"--nodes=4,8", "--nodes='4,8'"},
        {"--nodes", "option --nodes without a value"},
        {"--node=2", "option '--node'"},  // --nodes, --nodefile, --nodelist
        {"--gpus-per-nod=2 --ma=x", "option '--ma'"},
        {"--frobnicate=1", "option '--frobnicate'"},
        {"-Z", "option '-Z'"},
        {"nodes=4", "'nodes=4', expected an option of sbatch"},
        {"--contiguous=yes", "without a value"},
        {"--gres=gpu:", "--gres="},
        {"--gres=gpu:a:b", "--gres="},
        {"--gres=gpu:a100:1,gpu:v100:1", "GPUs of one type"},
        {"--gres=:4", "--gres="},
        {"--gpus=many:x", "--gpus="},
        {"--gpus=0", "at least 1 GPU"},
        {"-n 3 --gpus=8", "divide evenly"},
        {"--gpus-per-socket=2", "--sockets-per-node beside it"},
        {"--mem=lots", "a size such as 64G"},
        {"--mem=99999999T", "a size such as 64G"},
        {"-n 1000000 -N 1 --mem-per-cpu=1T", "beyond any machine"},
        {"-t 1:2:3:4", "a time such as"},
        {"-a 5-1", "task ids"},
        {"-a 1:2", "task ids"},
        {"-C 'a*2&b*4'", "counts and matching choices"},
        {"-C '[a|b]' -N 4", "counts and matching choices"},
        {"-C 'a&b|c'", "counts and matching choices"},
        {"-N 5 --segment=2", "divides the 5 nodes evenly"},
        {"--spread-segments", "--segment beside it"},
        {"--switches=x", "a number of switches"},
        {"--exclusive=me", "user, mcs or topo"},
        {"-J 'a", "no closing '"},
        {"-w n[1-", "found '[' without its ']'"},
        {"-d ,x", "dependencies such as"},
        {"-J \xFF", "UTF-8"},
    };
    for (const auto& c : cases) {
      const std::string options = c.first, part = c.second;
      const auto message = fault(script(options));
      CHECK_MESSAGE(samples::contains(message, part), (options + ": " + message));
      CHECK(samples::contains(message, "run.sh:2:"));
    }
  }
}

}  // namespace
