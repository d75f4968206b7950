#include "berth/io/slurm/report.hpp"

#include <doctest/doctest.h>

#include <string>
#include <vector>

#include "../samples.hpp"
#include "berth/io/slurm/write_topology.hpp"
#include "io/broken_text.hpp"

namespace {

using berth::named_text;
using berth::site_report;
using samples::any_contains;
using samples::contains;
using samples::failure;

/// Includes are found among the sample files.
berth::slurm_options options() {
  berth::slurm_options o;
  o.load = [](const std::string&) -> std::optional<std::string> { return std::nullopt; };
  return o;
}
site_report good(const std::vector<named_text>& files) {
  for (const auto& f : files) CHECK_MESSAGE(berth::looks_like_slurm(f.text), f.name);
  auto r = berth::read_slurm_report(files, options());
  REQUIRE_MESSAGE(r.has_value(), failure(r));
  return std::move(*r);
}
site_report text(std::string t) {
  return good({{"f", std::move(t)}});
}
std::string fault(const std::vector<named_text>& files) {
  return failure(berth::read_slurm_report(files, options()));
}
const berth::machine_report& machine(const site_report& r, std::string_view name) {
  for (const auto& m : r.machines)
    if (m.name == name) return m;
  FAIL("no machine " << name);
  return r.machines.front();
}
bool has_label(const berth::machine_report& m, std::string_view label) {
  for (const auto& l : m.labels)
    if (l == label) return true;
  return false;
}
std::size_t members(const berth::topology_report& t, std::string_view domain) {
  std::size_t n = 0;
  for (const auto& m : t.members)
    for (std::uint32_t d = m.domain; d != berth::domain_declaration::no_parent; d = t.domains[d].parent)
      if (t.domains[d].name == domain) ++n;
  return n;
}

// In the layout of slurm 24.05 src/api/node_info.c, slurm_sprint_node_table(); names are made up.
constexpr const char* shown_nodes =
    "NodeName=gpu1 Arch=x86_64 CoresPerSocket=48 \n"
    "   CPUAlloc=96 CPUEfctv=188 CPUTot=192 CPULoad=12.33\n"
    "   AvailableFeatures=h100,ib\n"
    "   ActiveFeatures=h100,ib\n"
    "   Gres=gpu:h100:8(S:0-1),shard:h100:32(S:0-1)\n"
    "   GresUsed=gpu:h100:5(IDX:0-3,6),shard:h100:0(0/4,0/4,0/4,0/4,0/4,0/4,0/4,0/4)\n"
    "   NodeAddr=10.0.0.1 NodeHostName=gpu1.cluster Version=24.05.3\n"
    "   OS=Linux 5.15.0-1053-azure #61-Ubuntu SMP Fri Nov 10 16:23:37 UTC 2023 \n"
    "   RealMemory=2000000 AllocMem=1048576 FreeMem=1900000 Sockets=2 Boards=1\n"
    "   CoreSpecCount=2 MemSpecLimit=2048\n"
    "   State=MIXED+CLOUD ThreadsPerCore=2 TmpDisk=0 Weight=1 Owner=N/A MCS_label=N/A\n"
    "   Partitions=batch,debug \n"
    "   BootTime=2024-01-01T00:00:00 SlurmdStartTime=2024-01-01T00:01:00\n"
    "   LastBusyTime=2024-01-02T00:00:00 ResumeAfterTime=None SuspendTime=INFINITE\n"
    "   CfgTRES=cpu=188,mem=2000000M,billing=188,gres/gpu=8,gres/gpu:h100=8\n"
    "   AllocTRES=cpu=96,mem=1T,gres/gpu=5,gres/gpu:h100=5\n"
    "   CurrentWatts=0 AveWatts=0\n"
    "\n"
    "NodeName=gpu2 Arch=x86_64 CoresPerSocket=48 \n"
    "   CPUAlloc=0 CPUEfctv=192 CPUTot=192 CPULoad=0.01\n"
    "   AvailableFeatures=(null)\n"
    "   ActiveFeatures=(null)\n"
    "   Gres=gpu:a100_1g.5gb:14(S:0),gpu:a100:6\n"
    "   NodeAddr=gpu2 NodeHostName=gpu2 \n"
    "   RealMemory=1000 AllocMem=0 FreeMem=N/A Sockets=2 Boards=1\n"
    "   State=IDLE+DRAIN+NOT_RESPONDING ThreadsPerCore=2 TmpDisk=0 Weight=1 Owner=N/A MCS_label=N/A\n"
    "   BootTime=None SlurmdStartTime=None\n"
    "   CfgTRES=cpu=192,mem=1000M,billing=192\n"
    "   AllocTRES=\n"
    "   CurrentWatts=n/a AveWatts=n/a\n"
    "   Reason=fan #3 = broken [root@2024-01-01T00:00:00]\n"
    "       second line of it\n"
    "   Comment=call the vendor\n"
    "\n"
    "NodeName=later CoresPerSocket=1 \n"
    "   CPUAlloc=0 CPUEfctv=1 CPUTot=1 CPULoad=0.00\n"
    "   AvailableFeatures=(null)\n   ActiveFeatures=(null)\n   Gres=(null)\n"
    "   RealMemory=1 AllocMem=0 FreeMem=N/A Sockets=1 Boards=1\n"
    "   State=FUTURE ThreadsPerCore=1 TmpDisk=0 Weight=1 Owner=N/A MCS_label=N/A\n";

TEST_SUITE("io/slurm/report") {
  TEST_CASE("scontrol show node: hardware, state, partitions and what runs, with and without -o") {
    std::string one_line;
    for (std::string_view rest = shown_nodes; !rest.empty();) {
      const std::size_t end = rest.find('\n');
      const std::string_view line = rest.substr(0, end);
      rest.remove_prefix(end + 1);
      if (line.starts_with("NodeName=") && !one_line.empty()) one_line += "\n";
      if (!line.starts_with("       ")) one_line += std::string{berth::io_text::trim(line)} + (line.empty() ? "" : " ");
    }
    for (const auto& t : {std::string{shown_nodes}, one_line}) {
      const auto r = text(t);
      REQUIRE(r.machines.size() == 2);
      const auto& a = machine(r, "gpu1");
      CHECK(a.cpu == berth::cpus(188));
      CHECK(a.memory == berth::mebibytes(2000000 - 2048));
      CHECK(a.gpus == 8);
      CHECK(a.gpu_model == "h100");
      CHECK(a.usable == true);
      CHECK(a.aliases == std::vector<std::string>{"gpu1.cluster"});
      for (const char* l : {"h100", "ib", "partition=batch", "partition=debug", "gres/shard:h100=32"})
        CHECK_MESSAGE(has_label(a, l), l);
      const auto& b = machine(r, "gpu2");
      CHECK(b.usable == false);
      CHECK(b.gpus == 6);
      REQUIRE(b.mig.size() == 1);
      CHECK(b.mig[0] == berth::named_count{"1g.5gb", 14});
      CHECK(b.labels.empty());
      CHECK(any_contains(r.assumptions, "1 node (later): State=FUTURE"));
      CHECK(any_contains(r.assumptions, "1 node (gpu2): MIG devices"));
      REQUIRE(r.held.size() == 1);
      CHECK(r.held[0].machine == "gpu1");
      CHECK(r.held[0].gpus == 5);
      CHECK(r.held[0].devices == berth::device_mask{0b1001111});
      CHECK(r.held[0].cpu == berth::cpus(96));
      CHECK(r.held[0].memory == berth::gibibytes(1024));
    }
  }
  TEST_CASE("scontrol show topology: trees with all nodes on upper switches, blocks with aggregated ones") {
    // Layouts: slurm 25.05 topology_tree.c and topology_block.c, _print_topo_record().
    const auto tree = text(
        "SwitchName=s0 Level=0 LinkSpeed=1 Nodes=n[1-2]\nSwitchName=s1 Level=0 LinkSpeed=1 Nodes=n[3-4]\n"
        "SwitchName=top Level=1 LinkSpeed=1 Nodes=n[1-4] Switches=s[0-1]\n");
    REQUIRE(tree.topologies.size() == 1);
    CHECK(tree.topologies[0].what == berth::topology_report::kind::network);
    CHECK(members(tree.topologies[0], "top") == 4);
    CHECK(members(tree.topologies[0], "s1") == 2);
    const auto blocks = text(
        "BlockName=b1 BlockIndex=0 Nodes=n[01-04] BlockSize=4\nBlockName=b2 BlockIndex=1 Nodes=n[05-08] BlockSize=4\n"
        "AggregatedBlock=b[1-2] BlockIndex=2 Nodes=n[01-08] BlockSize=8\n");
    REQUIRE(blocks.topologies.size() == 1);
    CHECK(blocks.topologies[0].what == berth::topology_report::kind::nvlink);
    CHECK(blocks.topologies[0].block_sizes == std::vector<std::uint64_t>{4, 8});
    CHECK(members(blocks.topologies[0], "b1...b2") == 8);
  }
  TEST_CASE("sinfo: the default, -N -l, and formats of one's own") {
    // Layouts: slurm src/sinfo/opts.c and print.c.
    const auto d = text(
        "PARTITION AVAIL  TIMELIMIT  NODES  STATE NODELIST\n"
        "batch*       up   infinite      1  down* gpu1\nbatch*       up   infinite      3   idle gpu[2-4]\n"
        "debug        up    2:00:00      2   idle gpu[3-4]\nempty        up   infinite      0    n/a \n");
    REQUIRE(d.machines.size() == 4);
    CHECK(machine(d, "gpu1").usable == false);
    CHECK(machine(d, "gpu2").usable == true);
    CHECK(has_label(machine(d, "gpu3"), "partition=debug"));
    CHECK(has_label(machine(d, "gpu3"), "partition=batch"));
    CHECK_FALSE(machine(d, "gpu3").gpus.has_value());
    const auto l = text(
        "Mon Jan  1 12:00:00 2024\n"
        "NODELIST   NODES PARTITION       STATE CPUS    S:C:T MEMORY TMP_DISK WEIGHT AVAIL_FE REASON              \n"
        "gpu1           1    batch*     drained 192    2:48:2 200000        0      1 h100,ib  fan #3 broken       \n"
        "gpu2           1    batch*       mixed 192    2:48:2 200000        0      1 (null)   none                \n");
    CHECK(machine(l, "gpu1").usable == false);
    CHECK(has_label(machine(l, "gpu1"), "ib"));
    CHECK(machine(l, "gpu2").cpu == berth::cpus(192));
    CHECK(machine(l, "gpu2").memory == berth::mebibytes(200000));
    const auto own = text(
        "HOSTNAMES CPUS(A/I/O/T) MEMORY GRES GRES_USED STATE\n"
        "gpu1 96/96/0/192 2000000 gpu:h100:8(S:0-1) gpu:h100:2(IDX:4-5) mixed\n"
        "gpu2 0/192/0/192 2000000 (null) gpu:0 idle~\n");
    CHECK(machine(own, "gpu1").gpus == 8);
    CHECK(machine(own, "gpu2").gpus == 0);
    CHECK(machine(own, "gpu2").usable == true);
    REQUIRE(own.held.size() == 1);
    CHECK(own.held[0].devices == berth::device_mask{0b110000});
    CHECK(own.held[0].cpu == berth::cpus(96));
    CHECK(contains(fault({{"s", "PARTITION AVAIL TIMELIMIT NODES STATE NODELIST\na up 1:00 3 idle n[1-2]\n"}}),
                   "s:2: found 3 nodes beside a list of 2"));
    CHECK(contains(fault({{"s", "NODELIST STATE\nn1 odd\n"}}), "s:2: found STATE 'odd'"));
    CHECK(contains(fault({{"s", "NODELIST STATE\nn1\n"}}), "as many words as the heading has: 2"));
  }
  TEST_CASE("--json: nodes of a live cluster, running jobs hold, pending ones are gangs") {
    const auto n = good({broken::input("slurm/sinfo-json.json")});
    REQUIRE(n.machines.size() >= 2);
    const auto& a = machine(n, "cs2.example.company.com");
    CHECK(a.cpu == berth::cpus(64));
    CHECK(a.memory == berth::mebibytes(500000));
    CHECK(a.gpus == 0);
    CHECK(has_label(a, "partition=hw"));
    CHECK(n.held.at(0).cpu == berth::cpus(4));
    CHECK(n.held.at(0).memory == berth::gibibytes(112));
    const auto j = good({broken::input("slurm/squeue-json.json")});
    REQUIRE(j.held.size() == 1);
    CHECK(j.held[0].job == "slurm job 26515966");
    CHECK(j.held[0].machine == "cs75");
    CHECK(j.held[0].cpu == berth::cpus(1));
    CHECK(j.held[0].memory == berth::mebibytes(64000));
    REQUIRE(j.jobs.size() == 1);
    CHECK_FALSE(berth::fault_of(j.jobs[0]).has_value());
    // Newer data parsers: numbers with flags, states as lists, groups of nodes.
    const auto g =
        text(R"~({"sinfo": [{"node": {"state": ["MIXED", "DRAIN"]}, "nodes": {"total": 2, "nodes": ["g[1-2]"]},
      "cpus": {"minimum": 192, "maximum": 192}, "memory": {"minimum": 1000, "maximum": 1000}, "gres": {"total": "gpu:h100:8(S:0-1)"},
      "features": {"active": "ib"}, "partition": {"name": "batch"}}], "meta": {"slurm": {}},
      "jobs": [{"job_id": 7, "job_state": ["RUNNING"], "nodes": "g[1-2]", "node_count": {"set": true, "infinite": false, "number": 2},
      "tres_alloc_str": "cpu=64,mem=100G,node=2,gres/gpu=12", "gres_detail": ["gpu:h100:8(IDX:0-7)", "gpu:h100:4(IDX:0,2-4)"]},
      {"job_id": 8, "job_state": ["PENDING"], "node_count": {"set": true, "infinite": false, "number": 4},
      "tres_req_str": "cpu=64,mem=400G,node=4,billing=64,gres/gpu=32", "features": "ib&h100", "partition": "batch"},
      {"job_id": 9, "job_state": ["COMPLETED"]}]})~");
    CHECK(machine(g, "g2").usable == false);
    CHECK(machine(g, "g2").gpus == 8);
    REQUIRE(g.held.size() == 2);
    CHECK(g.held[1].gpus == 4);
    CHECK(g.held[1].devices == berth::device_mask{0b11101});
    CHECK(g.held[1].memory == berth::gibibytes(50));
    REQUIRE(g.jobs.size() == 1);
    CHECK(g.jobs[0].groups[0].wanted == 4);
    CHECK(g.jobs[0].groups[0].gpus == 8);
    CHECK(g.jobs[0].groups[0].memory == berth::gibibytes(100));
    CHECK(g.jobs[0].groups[0].labels == std::vector<std::string>{"partition=batch", "ib", "h100"});
    CHECK(any_contains(g.assumptions, "1 job that are over"));
    // A job list beside nodes, and two commands about one node: nothing is counted twice.
    const auto jobs = good(
        {{"nodes", shown_nodes}, {"jobs", R"~({"meta": {"slurm": {}}, "jobs": [{"job_id": 7, "job_state": ["RUNNING"],
      "nodes": "gpu1", "tres_alloc_str": "cpu=4,mem=1G,gres/gpu=2"}]})~"}});
    REQUIRE(jobs.held.size() == 1);
    CHECK(jobs.held[0].gpus == 2);
    CHECK(any_contains(jobs.assumptions, "taken from the list of jobs"));
    const auto twice =
        good({{"sinfo", "HOSTNAMES CPUS(A/I/O/T) STATE\ngpu1 90/96/0/192 mixed\n"}, {"nodes", shown_nodes}});
    REQUIRE(twice.held.size() == 1);
    CHECK(twice.held[0].cpu == berth::cpus(96));
    CHECK(twice.held[0].devices == berth::device_mask{0b1001111});
  }
  TEST_CASE("slurm.conf: partitions are labels; node sets, ALL and DEFAULT are followed") {
    const auto aws = good({broken::input("slurm/aws-gpu.partition.conf"), broken::input("slurm/aws-gpu.gres.conf")});
    REQUIRE(aws.machines.size() == 15);
    CHECK(aws.topologies.empty());
    const auto& p3 = machine(aws, "gpu-dy-gpu-p3dn24xlarge-10");
    CHECK(p3.gpus == 8);
    CHECK(p3.gpu_model == "v100");
    CHECK(has_label(p3, "partition=gpu"));
    CHECK(has_label(p3, "p3dn.24xlarge"));
    const auto tara = good({broken::input("slurm/tara.slurm.conf"), broken::input("slurm/tara-mixed.topology.conf")});
    REQUIRE(tara.machines.size() == 10);
    CHECK(has_label(machine(tara, "tara-c-001"), "partition=debug"));
    CHECK(has_label(machine(tara, "tara-c-001"), "partition=standby"));
    CHECK_FALSE(has_label(machine(tara, "tara-c-003"), "partition=debug"));
    CHECK(has_label(machine(tara, "tara-dgx1-001"), "partition=biobank"));
    CHECK(members(tara.topologies.at(0), "s4") == 10);
    const auto all = text(
        "NodeName=a[1-3] CPUs=4 Feature=x\nNodeSet=s Feature=x\nPartitionName=DEFAULT Nodes=a1\n"
        "PartitionName=p Nodes=ALL\nPartitionName=q\nPartitionName=r Nodes=s,a1\n");
    CHECK(has_label(machine(all, "a3"), "partition=p"));
    CHECK(has_label(machine(all, "a1"), "partition=q"));
    CHECK_FALSE(has_label(machine(all, "a2"), "partition=q"));
    CHECK(has_label(machine(all, "a2"), "partition=r"));
    const auto home = good({broken::input("slurm/homelab.slurm.conf"), broken::input("slurm/homelab.gres.conf")});
    CHECK(has_label(home.machines.at(0), "partition=research"));
    CHECK(has_label(home.machines.at(0), "partition=students"));
    CHECK(contains(fault({{"s", "NodeName=a CPUs=1\nPartitionName=p Nodes=b\n"}}), "s:2: found unknown node b"));
    // Keys that are not Slurm's are said; those that look like a slip of the pen are errors.
    const auto custom = good({broken::input("slurm/aws-custom.partition.conf")});
    CHECK(custom.machines.size() == 15);
    CHECK(any_contains(custom.assumptions, ": the key CustomNvidiaParam on NodeName= lines is not one of Slurm's"));
    CHECK(contains(fault({{"s", "NodeName=a CPUs=1 RealMemroy=5\n"}}),
                   "s:1: found unknown key 'RealMemroy', expected RealMemory"));
    // Several nodes on one host: its name is no name of one of them alone.
    const auto ports = good({broken::input("slurm/ports-range.slurm.conf")});
    CHECK(ports.machines.size() == 3);
    CHECK(ports.machines[0].aliases.empty());
  }
  TEST_CASE("slurm.conf: nothing starts on nodes whose partitions are all down") {
    const auto r = text(
        "NodeName=a[1-4] CPUs=4\nPartitionName=DEFAULT State=INACTIVE\nPartitionName=p Nodes=a[1-2]\n"
        "PartitionName=q Nodes=a2 State=drain\nPartitionName=r Nodes=a3 State=Up\n");
    CHECK(machine(r, "a1").usable == false);
    CHECK(has_label(machine(r, "a1"), "partition=p"));
    for (const char* n : {"a2", "a3", "a4"}) CHECK(machine(r, n).usable != false);  // a4 is in no partition at all
    CHECK(any_contains(r.assumptions, "f:3: partition 'p' is DOWN or INACTIVE and starts no job"));
    CHECK(any_contains(r.assumptions, "only in partitions that are DOWN or INACTIVE; nothing is placed there."));
    CHECK(contains(fault({{"s", "NodeName=a CPUs=1\nPartitionName=p Nodes=a State=DWON\n"}}),
                   "s:2: found State='DWON', expected UP, DOWN, DRAIN or INACTIVE"));
  }

  TEST_CASE("slurm.conf: a misspelt key is an error of its own, a foreign one is told, all of Slurm's are taken") {
    const std::string_view head =
        "ClusterName=c\nNodeName=a CPUs=8 RealMemory=1000 Gres=gpu:8\nPartitionName=p Nodes=a\n";
    struct row {
      const char *line, *message;
    };
    for (const auto& r :
         {row{"NodeName=b Gers=gpu:8", "found unknown key 'Gers', expected Gres"},
          row{"NodeName=b Feture=x", "found unknown key 'Feture', expected Feature"},
          row{"NodeName=b GPUs=8", "found unknown key 'GPUs', expected CPUs"},
          row{"NodeName=b RaelMemory=8", "found unknown key 'RaelMemory', expected RealMemory"},
          row{"NodeNmae=b CPUs=8", "found unknown key 'NodeNmae', expected NodeName"},
          row{"PartitonName=q Nodes=a", "found unknown key 'PartitonName', expected PartitionName"},
          row{"PartitionName=q Noeds=a", "found unknown key 'Noeds', expected Nodes"},
          row{"PartitionName=q Node=a", "found unknown key 'Node', expected Nodes"},
          row{"DownNode=a State=DOWN", "found unknown key 'DownNode', expected DownNodes"},
          row{"Gres=gpu:8", "found key 'Gres' on a line of its own, expected NodeName= or PartitionName="},
          row{"Nodes=a", "found key 'Nodes' on a line of its own"}}) {
      const std::string told = fault({{"s", std::string{head} + r.line + "\n"}});
      CHECK_MESSAGE(told.starts_with(std::string{"s:4: "} + r.message), told);
    }
    const auto odd = good({{"s", std::string{head} + "Site_Owner=me\nPARTITIONNAME=q NODES=a Owner=x\n"}});
    CHECK(any_contains(odd.assumptions, "s:4: the key Site_Owner is not one of Slurm's; passed over."));
    CHECK(any_contains(odd.assumptions,
                       "s:5: the key Owner on PartitionName= lines is not one of Slurm's; passed over."));
    std::string many{head};
    for (int i = 0; i < 30; ++i) many += "Site_Number" + std::to_string(i) + "=1\n";
    std::size_t said = 0;
    for (const auto& n : good({{"s", many}}).assumptions)
      said += contains(n, "not one of Slurm's") || contains(n, "More keys that are not Slurm's") ? 1U : 0U;
    CHECK(said == 21);  // one by one, the others in one sentence
    const auto all = good(
        {{"s", std::string{head} + "proctracktype=proctrack/cgroup\nSlurmctldHost=ctl(10.0.0.1)\nUsePAM=1\n"
                                   "FrontendName=f FrontendAddr=10.0.0.2 Port=7000\nPowerAction=off Program=/bin/off\n"
                                   "PartitionName=q Nodes=a LLN=YES TRESBillingWeights=CPU=1.0,Mem=0.25G "
                                   "ExclusiveUser=NO PowerDownOnIdle=YES QOS=x\nNodeName=b CPUs=1 SuspendTime=9 "
                                   "TRESWeights=CPU=1 GresConf=Cores=0\n"}});
    for (const auto& n : all.assumptions) CHECK_MESSAGE(!contains(n, "not one of Slurm's"), n);
    for (const char* file : {"slurm/homelab.slurm.conf", "slurm/lambda-8gpu.slurm.conf", "slurm/wsl-dxg.slurm.conf",
                             "slurm/tara.slurm.conf", "slurm/ports-range.slurm.conf", "slurm/aws-gpu.partition.conf"}) {
      const auto read = berth::read_slurm_report({broken::input(file)});
      if (!read) continue;  // needs other files
      for (const auto& n : read->assumptions) CHECK_MESSAGE(!contains(n, "not one of Slurm's"), n);
    }
  }
  TEST_CASE("gres.conf: Cores give NUMA nodes, Links give NVLinks, File names the devices") {
    const auto lambda =
        good({broken::input("slurm/lambda-8gpu.slurm.conf"), broken::input("slurm/lambda-8gpu.gres.conf")});
    const auto& m = machine(lambda, "lambda");
    REQUIRE(m.inside.has_value());
    const auto numa = berth::parts_of(*m.inside, berth::vertex_kind::numa);
    REQUIRE(numa.size() == 2);
    CHECK(boost::out_degree(numa[0], *m.inside) == 4);
    CHECK((*m.inside)[numa[0]].cpu == berth::cpus(32));
    const auto links = text(
        "NodeName=a Name=gpu Type=v100 File=/dev/nvidia0 Links=-1,2,0\nNodeName=a Name=gpu Type=v100 File=/dev/nvidia1 "
        "Links=2,-1,1\nNodeName=a Name=gpu Type=v100 File=/dev/nvidia2 Links=0,1,-1\n");
    REQUIRE(links.machines.size() == 1);
    REQUIRE(links.machines[0].inside.has_value());
    const auto& g = *links.machines[0].inside;
    CHECK(boost::num_edges(g) == 2);
    CHECK(g[boost::edge(0, 1, g).first].count == 2);
    CHECK(g[boost::edge(1, 2, g).first].kind == berth::link_kind::nvlink);
    CHECK(contains(fault({{"g", "NodeName=a Name=gpu File=/dev/nvidia[0-1] Links=-1,2,0\n"}}), "3 numbers for 2 GPUs"));
    CHECK(contains(fault({{"g",
                           "NodeName=a Name=gpu File=/dev/nvidia0 Links=-1,2\nNodeName=a Name=gpu File=/dev/nvidia1 "
                           "Links=1,-1\n"}}),
                   "1 links from GPU 1 to GPU 0 and 2 back"));
    // One device is listed once, on one line, on several, or by lines for one node and for all.
    CHECK(fault({{"g", "NodeName=a Name=gpu File=/dev/nvidia[0-1]\nNodeName=a Name=gpu File=/dev/nvidia[1-2]\n"}}) ==
          "g:2: found device /dev/nvidia1 of node a again, first at g:1, expected each device of a node once");
    CHECK(contains(fault({{"g", "NodeName=a Name=gpu File=/dev/nvidia0,/dev/nvidia0\n"}}),
                   "g:1: found device /dev/nvidia0 of node a again, first on the same line"));
    CHECK(contains(fault({{"g", "Name=gpu File=/dev/nvidia0\nNodeName=a Name=gpu File=/dev/nvidia0\n"}}),
                   "g:2: found device /dev/nvidia0 of node a again, first at g:1"));
    CHECK(text("Name=gpu Files=/dev/nvidia1\nNodeName=a Name=gpu File=/dev/nvidia0\n").machines.at(0).gpus == 2);
    CHECK(contains(fault({{"g", "NodeName=a Name=gpu File=/dev/nvidia0 Cores=0-1 CPUs=0-1\n"}}),
                   "g:1: found both Cores= and CPUs="));
    CHECK(contains(fault({{"g", "NodeName=a Name=gpu File=/dev/nvidia0 Cores=0-1 cores=0-1\n"}}), "twice on one line"));
    // AMD render nodes in an order that is not that of their numbers; Intel by oneAPI; WSL has one file for all.
    const auto amd = text("NodeName=m Name=gpu Type=MI355X File=/dev/dri/renderD[136,152,144,128]\n");
    CHECK(amd.machines.at(0).gpus == 4);
    CHECK(amd.machines[0].gpu_model == "MI355X");
    CHECK(text("AutoDetect=oneapi\nNodeName=x Name=gpu Type=max1550 File=/dev/dri/renderD[128-133]\n")
              .machines.at(0)
              .gpus == 6);
    const auto wsl = good({broken::input("slurm/wsl-dxg.slurm.conf"), broken::input("slurm/wsl-dxg.gres.conf")});
    CHECK(machine(wsl, "c1").gpus == 1);
    CHECK(machine(wsl, "c2").gpus == 0);
    const auto mig = text(
        "NodeName=a Name=gpu Type=a100_3g.20gb MultipleFiles=/dev/nvidia0,/dev/nvidia-caps/nvidia-cap30\n"
        "NodeName=a Name=gpu Type=a100_3g.20gb MultipleFiles=/dev/nvidia0,/dev/nvidia-caps/nvidia-cap39\n"
        "NodeName=a Name=gpu Type=a100 File=/dev/nvidia[1-3]\nNodeName=a Name=shard Count=24\n");
    CHECK(mig.machines.at(0).gpus == 3);
    CHECK(mig.machines[0].mig.at(0) == berth::named_count{"3g.20gb", 2});
    CHECK(has_label(mig.machines[0], "gres/shard=24"));
    // Jinja templates and includes that cannot be read are refused with the line.
    CHECK(contains(fault({broken::input("slurm/oci-gres.conf.j2")}), "oci-gres.conf.j2:1: found"));
    CHECK(contains(fault({broken::input("slurm/aws-include.gres.conf")}), "which cannot be read"));
  }
  TEST_CASE("topology.yaml: several topologies, one preferred") {
    const auto r = good({broken::input("slurm/slinky.topology.yaml")});
    REQUIRE(r.topologies.size() == 3);
    CHECK(r.topologies[0].name == "topo-switch");
    CHECK(r.topologies[0].preferred);
    CHECK(members(r.topologies[0], "sw_root") == 4);
    CHECK(members(r.topologies[0], "s2") == 2);
    CHECK(r.topologies[1].what == berth::topology_report::kind::nvlink);
    CHECK_FALSE(r.topologies[1].preferred);
    CHECK(r.topologies[1].block_sizes == std::vector<std::uint64_t>{2, 4});
    CHECK(members(r.topologies[1], "b1...b2") == 4);
    CHECK(r.topologies[2].domains.empty());
    // All kinds of topology.yaml(5); without a default the first counts.
    const auto more = text(
        "- topology: r\n  ring:\n    rings:\n      - ring: ring0\n        nodes: node[01-08]\n"
        "- topology: t\n  torus3d:\n    toruses:\n      - name: pod1\n        dims: {x: 4, y: 2, z: 1}\n"
        "        nodes: node[01-08]\n        placements:\n          - dims: {x: 2, y: 2, z: 1}\n"
        "- topology: f\n  flat:\n    alpha_step_rank: true\n");
    CHECK(more.topologies.at(0).preferred);
    CHECK(more.topologies[1].domains.at(0).level == "torus");
    CHECK(contains(fault({{"y", "- topology: a\n  tree:\n    switches:\n      - switch: s\n        nods: n1\n"}}),
                   "y:5: found key 'nods'"));
    CHECK(contains(fault({{"y", "- topology: a\n  flat: true\n- topology: a\n  flat: true\n"}}),
                   "y:3: found a second topology"));
    CHECK(contains(fault({{"y", "- topology: a\n  flat: true\n  tree:\n    switches: []\n"}}), "one kind of topology"));
    CHECK(contains(fault({{"y", "- topology: a\n  tree:\n    switches:\n      - switch: s\n        children: x\n"}}),
                   "unknown switch x"));
  }
  TEST_CASE("Slurm files check each other") {
    const named_text topology{"topology.conf", "SwitchName=s0 Nodes=n[1-2]\nSwitchName=s1 Nodes=n[3-4]\n"};
    CHECK(fault({topology, {"slurm.conf", "NodeName=n[1-3] CPUs=4\n"}}) ==
          "topology.conf:2: found unknown node n4 under s1, expected a node with a NodeName= line in slurm.conf");
    CHECK(contains(fault({topology, {"slurm.conf", "NodeName=n[1-4] CPUs=4\nNodeName=x CPUs=4 Gres=gpu:1\n"}}),
                   "slurm.conf:2: found node x with GPUs under no switch"));
    const auto r = good({topology,
                         {"slurm.conf",
                          "NodeName=n[1-3] CPUs=4\nNodeName=n4 State=FUTURE\nNodeName=login CPUs=1\n"
                          "DownNodes=n2 State=DOWN\n"}});
    CHECK(r.machines.size() == 3);
    CHECK(machine(r, "n2").usable == false);
    CHECK(r.topologies.at(0).members.size() == 3);
    CHECK(any_contains(r.assumptions, "1 node (login): under no switch and without GPUs; left out."));
    CHECK(contains(fault({{"slurm.conf", "NodeName=a Gres=gpu:4\n"},
                          {"gres.conf", "NodeName=a Name=gpu File=/dev/nvidia[0-1]\n"}}),
                   "of which gres.conf lists 2"));
    // A topology of port GUIDs, with one switch under several: no tree, refused with both parents.
    CHECK(contains(fault({broken::input("slurm/azure-tree-guids.topology.conf")}), "azure-tree-guids.topology.conf:"));
    const auto dead = good({broken::input("slurm/azure-block-commented-out.topology.conf")});
    CHECK(dead.topologies.at(0).domains.size() == 3);
    CHECK(dead.topologies[0].block_sizes == std::vector<std::uint64_t>{18});
    // What a command says and what slurm.conf says stand side by side.
    const auto both =
        good({{"slurm.conf", "NodeName=gpu1 CPUs=188 RealMemory=1 Gres=gpu:h100:8\n"}, {"shown", shown_nodes}});
    CHECK(both.machines.size() == 3);
  }
  TEST_CASE("topologies written as topology.conf and topology.yaml are read back the same") {
    const auto same = [](const berth::topology_report& a, const berth::topology_report& b) {
      CHECK(a.what == b.what);
      CHECK(a.block_sizes == b.block_sizes);
      REQUIRE(a.domains.size() == b.domains.size());
      for (std::size_t i = 0; i < a.domains.size(); ++i) {
        CHECK(a.domains[i].name == b.domains[i].name);
        CHECK(a.domains[i].parent == b.domains[i].parent);
        CHECK(a.domains[i].level == b.domains[i].level);
      }
      REQUIRE(a.members.size() == b.members.size());
      for (std::size_t i = 0; i < a.members.size(); ++i) {
        CHECK(a.members[i].machine == b.members[i].machine);
        CHECK(a.members[i].domain == b.members[i].domain);
      }
    };
    for (const char* name : {"azure-tree.topology.conf", "azure-block-gb200.topology.conf",
                             "azure-block-commented-out.topology.conf", "topograph-block.topology.conf",
                             "topograph-tree.topology.conf", "tara-mixed.topology.conf", "tara-example.topology.conf",
                             "taranis.topology.conf", "gcp-nodesets.topology.conf", "slinky.topology.yaml"}) {
      CAPTURE(name);
      const auto file = broken::input(std::string{"slurm/"} + name);
      const auto r = good({file});
      const auto yaml = berth::write_slurm_topology_yaml(r.topologies);
      REQUIRE(yaml.has_value());
      const auto again = text(*yaml);
      REQUIRE(again.topologies.size() == r.topologies.size());
      for (std::size_t i = 0; i < r.topologies.size(); ++i) same(r.topologies[i], again.topologies[i]);
      CHECK(*berth::write_slurm_topology_yaml(again.topologies) == *yaml);
      for (const auto& t : r.topologies) {
        if (t.domains.empty()) continue;
        const auto conf = berth::write_slurm_topology_conf(t);
        REQUIRE(conf.has_value());
        const auto back = text(*conf);
        same(t, back.topologies.at(0));
      }
      // And through a cluster, which holds the tree.
      if (file.text.starts_with("---")) continue;
      const auto spec = berth::read_slurm({file}, samples::with_shape());
      REQUIRE(spec.has_value());
      const auto conf = berth::write_slurm_topology_conf(*spec, r.topologies[0].block_sizes);
      REQUIRE_MESSAGE(conf.has_value(), conf.error());
      const auto reread = berth::read_slurm({{"topology.conf", *conf}}, samples::with_shape());
      REQUIRE_MESSAGE(reread.has_value(), failure(reread) << "\n" << *conf);
      samples::check_same(*spec, *reread);
      const auto spec_yaml = berth::write_slurm_topology_yaml(*spec);
      REQUIRE(spec_yaml.has_value());
      CHECK(text(*spec_yaml).topologies.at(0).members.size() == spec->nodes.size());
    }
    // Without being told, the sizes follow from the levels.
    const auto racks = berth::read_slurm({broken::input("slurm/topograph-block.topology.conf")}, samples::with_shape());
    CHECK(contains(*berth::write_slurm_topology_conf(*racks), "BlockSizes=8,16,32\n"));
    CHECK(contains(*berth::write_slurm_topology_conf(*racks), "BlockName=rack11 Nodes=srv[1101-1108]\n"));
  }
  TEST_CASE("host lists keep their order and their padding") {
    for (const std::vector<std::string>& names : {std::vector<std::string>{"n1", "n2", "n10"},
                                                  {"n08", "n09", "n10", "n11"},
                                                  {"n9", "n10"},
                                                  {"n3", "n1", "n2"},
                                                  {"a", "b7", "b8-ib", "b9-ib"},
                                                  {"n099", "n100", "n1000"},
                                                  {"n99", "n100", "n101"},
                                                  {"n0", "n00", "n01"},
                                                  {"7", "8"},
                                                  {"x"},
                                                  {"n1", "m1", "n2"}}) {
      const std::string list = berth::ordered_hostlist(names);
      const auto back = berth::expand_hostlist(list);
      REQUIRE_MESSAGE(back.has_value(), list);
      CHECK_MESSAGE(*back == names, list);
    }
    CHECK(berth::ordered_hostlist({"n1", "n2", "n3", "n7"}) == "n[1-3,7]");
    berth::topology_report odd;
    odd.domains = {{"a b", berth::domain_declaration::no_parent, ""}};
    odd.members = {{"n1", 0}};
    CHECK(contains(berth::write_slurm_topology_conf(odd).error(), "cannot hold"));
    odd.domains = {{"a", berth::domain_declaration::no_parent, ""}, {"b", 0, ""}};
    odd.members = {{"n1", 0}, {"n2", 1}};
    CHECK(contains(berth::write_slurm_topology_conf(odd).error(), "with nodes and switches"));
  }
  TEST_CASE("broken Slurm files and outputs give a report or an error") {
    const std::vector<named_text> seeds{
        {"n", shown_nodes},
        broken::input("slurm/slinky.topology.yaml"),
        broken::input("slurm/topograph-block.topology.conf"),
        broken::input("slurm/aws-custom.partition.conf"),
        broken::input("slurm/homelab.slurm.conf"),
        broken::input("slurm/sinfo-json.json"),
        broken::input("slurm/squeue-json.json"),
        {"i",
         "NODELIST NODES PARTITION STATE CPUS MEMORY GRES GRES_USED AVAIL_FEATURES\n"
         "n[1-2] 2 a* idle 4 100 gpu:2 gpu:1(IDX:0) x,y\nn3 1 b mix- 4+ 100 (null) gpu:0 (null)\n"}};
    const std::vector<std::string_view> pieces{"[",
                                               "]",
                                               "[1-4]",
                                               "=",
                                               ",",
                                               "\"",
                                               "\n",
                                               "- ",
                                               ": ",
                                               "{",
                                               "}",
                                               "NodeName=",
                                               "Nodes=",
                                               "gpu:",
                                               "(IDX:0-3)",
                                               "BlockSizes=",
                                               "18446744073709551616",
                                               "-1",
                                               "DOWN*",
                                               "include x",
                                               "\\\n",
                                               "\xFF",
                                               "null",
                                               "topology: ",
                                               "AllocTRES=",
                                               "1g.5gb",
                                               "64"};
    auto o = options();
    o.max_nodes = 3000;
    for (const auto& seed : seeds)
      broken::run(
          {seed}, pieces, 300, 11, [&](const named_text& f) { return berth::read_slurm_report({f}, o); },
          [](const site_report& r) {
            for (const auto& t : r.topologies) {
              for (const auto& m : t.members) REQUIRE(m.domain < t.domains.size());
              const auto conf = berth::write_slurm_topology_conf(t);
              if (conf) REQUIRE_MESSAGE(berth::read_slurm_report({{"again", *conf}}, options()).has_value(), *conf);
            }
            for (const auto& m : r.machines) REQUIRE(!m.name.empty());
            for (const auto& j : r.jobs) REQUIRE(!berth::fault_of(j).has_value());
          });
  }
}

}  // namespace
