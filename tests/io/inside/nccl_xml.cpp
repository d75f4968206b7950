// NCCL's and RCCL's topology files: the facts of every sample, variants seen in the field, what is refused.
#include "berth/io/inside/nccl_xml.hpp"

#include <doctest/doctest.h>

#include <string>
#include <vector>

#include "berth/topology/graph/compile.hpp"
#include "berth/topology/graph/paths.hpp"
#include "io/inside/support.hpp"

using namespace berth;
using namespace inside_test;

namespace {

struct expectation {
  const char* file;
  const char* format;
  const char* model;
  const char* census;
  const char* numas;  ///< "NUMA: GPUs GPU, NICs NIC, CPUs; …"
};
constexpr expectation samples[] = {
    {"azure-ndv2-topo.xml", "NCCL topology", "", "gpu:8 nic:1 numa:2", "0: 4 GPU, 1 NIC, 20; 1: 4 GPU, 0 NIC, 20; "},
    {"azure-ndv4-topo.xml", "NCCL topology", "", "gpu:8 nic:8 pcie_switch:4 numa:4",
     "0: 2 GPU, 2 NIC, 24; 1: 2 GPU, 2 NIC, 24; 2: 2 GPU, 2 NIC, 24; 3: 2 GPU, 2 NIC, 24; "},
    {"azure-ndv5-topo.xml", "NCCL topology", "", "gpu:8 nic:8 pcie_switch:8 numa:2",
     "0: 4 GPU, 4 NIC, 48; 1: 4 GPU, 4 NIC, 48; "},
    {"azure-ndv5-topo-superbench.xml", "NCCL topology", "", "gpu:8 nic:8 pcie_switch:8 numa:2",
     "0: 4 GPU, 4 NIC, 48; 1: 4 GPU, 4 NIC, 48; "},
    {"azure-ncv4-topo.xml", "NCCL topology", "a100-pcie-80gb", "gpu:4 nic:1 numa:4",
     "0: 1 GPU, 1 NIC, 24; 1: 1 GPU, 0 NIC, 24; 2: 1 GPU, 0 NIC, 24; 3: 1 GPU, 0 NIC, 24; "},
    {"aws-p4d-24xl-topo.xml", "NCCL topology", "a100-sxm4-40gb", "gpu:8 nic:4 pcie_switch:4 numa:2",
     "0: 4 GPU, 2 NIC, 48; 1: 4 GPU, 2 NIC, 48; "},
    {"aws-p4de-24xl-topo.xml", "NCCL topology", "a100-sxm4-80gb", "gpu:8 nic:4 pcie_switch:4 numa:2",
     "0: 4 GPU, 2 NIC, 48; 1: 4 GPU, 2 NIC, 48; "},
    {"aws-g5.48xl-topo.xml", "NCCL topology", "", "numa:2", "0: 0 GPU, 0 NIC, ?; 1: 0 GPU, 0 NIC, ?; "},
    {"oci-h100-topology.xml", "NCCL topology", "h100-sxm5-80gb", "gpu:8 nic:8 nvswitch:4 pcie_switch:8 numa:2",
     "0: 4 GPU, 4 NIC, 112; 1: 4 GPU, 4 NIC, 112; "},
    {"oci-a100-topo-flattened.xml", "NCCL topology", "", "gpu:8 nic:8 pcie_switch:4 numa:4",
     "3: 2 GPU, 2 NIC, 16; 1: 2 GPU, 2 NIC, 16; 7: 2 GPU, 2 NIC, 16; 5: 2 GPU, 2 NIC, 16; "},
    {"mlperf-dgxa100-nic-affinity.xml", "NCCL topology", "", "gpu:8 nic:8 pcie_switch:12 numa:4",
     "3: 2 GPU, 2 NIC, 32; 1: 2 GPU, 2 NIC, 32; 7: 2 GPU, 2 NIC, 32; 5: 2 GPU, 2 NIC, 32; "},
    {"mlperf-hpe-675d-nic-affinity.xml", "NCCL topology", "a100-sxm4-80gb",
     "gpu:8 nic:4 nvswitch:6 pcie_switch:4 numa:4",
     "3: 2 GPU, 1 NIC, 16; 1: 2 GPU, 1 NIC, 16; 7: 2 GPU, 1 NIC, 16; 5: 2 GPU, 1 NIC, 16; "},
    {"mlperf-inspur-nf5488.xml", "NCCL topology", "", "gpu:8 nic:8 pcie_switch:12 numa:4",
     "3: 2 GPU, 2 NIC, 32; 1: 2 GPU, 2 NIC, 32; 7: 2 GPU, 2 NIC, 32; 5: 2 GPU, 2 NIC, 32; "},
    {"elasticflow-azure-a100-topo.xml", "NCCL topology", "a100-sxm4-40gb",
     "gpu:8 nic:8 nvswitch:6 pcie_switch:4 numa:4",
     "0: 2 GPU, 2 NIC, ?; 1: 2 GPU, 2 NIC, ?; 2: 2 GPU, 2 NIC, ?; 3: 2 GPU, 2 NIC, ?; "},
    {"rccl-mi300x-8p.xml", "RCCL topology", "AMD Instinct MI300X", "gpu:8 nic:8 pcie_switch:8 numa:2",
     "0: 4 GPU, 4 NIC, 112; 1: 4 GPU, 4 NIC, 112; "},
    {"rccl-mi250x-16p1h.xml", "RCCL topology", "AMD Instinct MI250X", "gpu:16 nic:8 pcie_switch:4 numa:4",
     "0: 4 GPU, 2 NIC, 64; 1: 4 GPU, 2 NIC, 64; 2: 4 GPU, 2 NIC, 64; 3: 4 GPU, 2 NIC, 64; "},
    {"rccl-mi300a-4p.xml", "RCCL topology", "AMD Instinct MI300A", "gpu:4 nic:4 numa:4",
     "2: 1 GPU, 1 NIC, 48; 3: 1 GPU, 1 NIC, 48; 0: 1 GPU, 1 NIC, 48; 1: 1 GPU, 1 NIC, 48; "},
    // The file's device id is that of an MI100, whatever its name says.
    {"rccl-mi210-8p-4nic.xml", "RCCL topology", "AMD Instinct MI100", "gpu:8 nic:4 pcie_switch:4 numa:4",
     "1: 2 GPU, 1 NIC, 16; 3: 2 GPU, 1 NIC, 16; 5: 2 GPU, 1 NIC, 16; 7: 2 GPU, 1 NIC, 16; "},
    {"rccl-mi50-8p6l.xml", "RCCL topology", "", "gpu:8 nic:1 numa:2", "0: 4 GPU, 0 NIC, 48; 1: 4 GPU, 1 NIC, 48; "},
    {"rccl-mi100-collnet-n4.xml", "RCCL topology", "", "gpu:8 nic:4 pcie_switch:4 numa:4",
     "0: 2 GPU, 1 NIC, 64; 1: 2 GPU, 1 NIC, 64; 2: 2 GPU, 1 NIC, 64; 3: 2 GPU, 1 NIC, 64; "},
};

std::string numas_of(const hardware_graph& g) {
  std::string out;
  for (const auto n : parts_of(g, vertex_kind::numa)) {
    int gpus = 0, nics = 0;
    for (const auto v : parts_of(g, vertex_kind::gpu)) gpus += detail::home_numa(g, v) == n ? 1 : 0;
    for (const auto v : parts_of(g, vertex_kind::nic)) nics += detail::home_numa(g, v) == n ? 1 : 0;
    out += std::to_string(g[n].index) + ": " + std::to_string(gpus) + " GPU, " + std::to_string(nics) + " NIC, " +
           (g[n].cpu ? std::to_string(g[n].cpu->count() / 1000) : "?") + "; ";
  }
  return out;
}
/// Links of a kind, by their count: "count:links …".
std::string counts(const hardware_graph& g, link_kind k) {
  std::map<unsigned, int> by;
  for (auto [e, end] = boost::edges(g); e != end; ++e)
    if (g[*e].kind == k) ++by[g[*e].count.value_or(0)];
  std::string out;
  for (const auto& [count, n] : by) out += std::to_string(count) + ":" + std::to_string(n) + " ";
  return out;
}
site_report read(const std::string& file, const reader_options& options = {}) {
  auto r = read_nccl_xml(sample("nccl-topo/" + file), options);
  REQUIRE_MESSAGE(r.has_value(), failure(r));
  return *std::move(r);
}
std::string message(const std::string& text) {
  return failure(read_nccl_xml({"f", text}));
}

}  // namespace

TEST_CASE("NCCL topology: every sample has the GPUs, NICs, switches and NUMA nodes that its facts state") {
  for (const auto& s : samples) {
    CAPTURE(s.file);
    const auto text = sample(std::string{"nccl-topo/"} + s.file);
    CHECK(looks_like_nccl_xml(text.text));
    const auto r = read(s.file);
    const auto& g = inside(r);
    CHECK(r.format == s.format);
    CHECK(r.machines[0].gpu_model == s.model);
    CHECK(census(g) == s.census);
    CHECK(numas_of(g) == s.numas);
    for (const auto v : parts_of(g, vertex_kind::gpu)) CHECK_FALSE(g[v].bus_id.empty());
  }
}

TEST_CASE("NCCL topology: links between GPUs, over switches or direct, count what the file counts") {
  const auto oci = read("oci-h100-topology.xml");
  CHECK(counts(inside(oci), link_kind::nvlink) == "4:16 5:16 ");
  CHECK(path_finder{inside(oci)}.between(0, 7).bandwidth == gigabytes_per_second{450});
  CHECK(counts(inside(read("mlperf-hpe-675d-nic-affinity.xml")), link_kind::nvlink) == "2:48 ");
  // Each direction is a row of the file and both are one link here.
  CHECK(counts(inside(read("rccl-mi300x-8p.xml")), link_kind::xgmi) == "1:28 ");
  CHECK(counts(inside(read("rccl-mi250x-16p1h.xml")), link_kind::xgmi) == "1:16 2:4 4:8 ");
  CHECK(counts(inside(read("rccl-mi300a-4p.xml")), link_kind::xgmi) == "1:6 ");
  CHECK(counts(inside(read("rccl-mi50-8p6l.xml")), link_kind::xgmi) == "1:24 ");
  const auto ncv4 = read("azure-ncv4-topo.xml");
  CHECK(counts(inside(ncv4), link_kind::nvlink).empty());
  CHECK(mentions(ncv4.assumptions, "4 GPUs whose NVLinks are stated to lead to itself"));
}

TEST_CASE("NCCL topology: rates are generation times lanes, speeds of NICs in Mbit/s") {
  const auto rate_of = [](const hardware_graph& g, part_id v) {
    const auto e = *boost::out_edges(v, g).first;
    return g[e].rate ? g[e].rate->count() : -1;
  };
  CHECK(rate_of(inside(read("azure-ndv4-topo.xml")), 0) == doctest::Approx(31.5077));
  CHECK(rate_of(inside(read("azure-ndv5-topo.xml")), 0) == doctest::Approx(63.0154));
  CHECK(rate_of(inside(read("aws-p4d-24xl-topo.xml")), 0) == doctest::Approx(15.7538));
  CHECK(rate_of(inside(read("azure-ncv4-topo.xml")), 0) == -1);  // link_speed=""
  const auto a = read("rccl-mi300a-4p.xml");
  CHECK(inside(a)[4].rate == gigabytes_per_second{25});
  CHECK(mentions(a.assumptions, "taken as kbit/s"));
  const auto x = read("rccl-mi300x-8p.xml");
  CHECK(inside(x)[8].name == "mlx5_0");
  CHECK(inside(x)[8].rate == gigabytes_per_second{50});
  const auto oci = read("oci-h100-topology.xml");
  CHECK(inside(oci)[8].name == "mlx5_0+mlx5_1");
  CHECK(inside(oci)[8].rate == gigabytes_per_second{45});
  CHECK(inside(oci)[8].guid == 0x946dae030050709aU);
  CHECK(mentions(oci.assumptions, "switch 0000:08:00.0 is stated at less than a third"));
}

TEST_CASE("NCCL topology: GPUs are numbered as the file numbers them, else by bus id") {
  const auto dev = read("rccl-mi300a-4p.xml");
  CHECK(inside(dev)[0].bus_id == "0000:82:00.0");
  const auto plain = read("azure-ndv4-topo.xml");
  CHECK(inside(plain)[0].bus_id == "0001:00:00.0");
  CHECK(mentions(plain.assumptions, "does not number its GPUs"));
}

TEST_CASE("NCCL topology: two nodes of a rack are two machines in one NVLink domain") {
  std::string text = "<system version=\"1\">\n";
  for (const char* host : {"0xa1", "0xb2"})
    for (int numa = 0; numa < 2; ++numa) {
      text += std::string{"<cpu host_hash=\""} + host + "\" numaid=\"" + std::to_string(numa) + "\" affinity=\"ff" +
              (numa == 0 ? "" : "00") + "\" arch=\"arm64\">\n";
      text += "<pci busid=\"000" + std::to_string(numa) +
              ":01:00.0\" class=\"0x030200\" vendor=\"0x10de\" device=\"0x31c2\" "
              "link_speed=\"64.0 GT/s PCIe\" link_width=\"16\"><gpu dev=\"" +
              std::to_string(numa) +
              "\" sm=\"103\" rank=\"0\" gdr=\"1\"><nvlink target=\"fffffff:ff:ff.0\" count=\"18\" tclass=\"0x068000\"/>"
              "<c2c bw=\"44712\" count=\"5\"/></gpu></pci>\n</cpu>\n";
    }
  text += "</system>\n";
  const auto r = read_nccl_xml({"f", text});
  REQUIRE_MESSAGE(r.has_value(), failure(r));
  REQUIRE(r->machines.size() == 2);
  CHECK(r->machines[1].name == "host-0xb2");
  REQUIRE(r->topologies.size() == 1);
  CHECK(r->topologies[0].what == topology_report::kind::nvlink);
  CHECK(r->topologies[0].members.size() == 2);
  const auto& g = inside(*r, 1);
  CHECK(census(g) == "gpu:2 numa:2 nvlink:1");
  CHECK(r->machines[0].gpu_model == "gb300-288gb");
  CHECK(path_finder{g}.between(0, 1).bandwidth == gigabytes_per_second{900});
  const auto numa = parts_of(g, vertex_kind::numa);
  CHECK(counts(g, link_kind::c2c) == "5:2 ");
  CHECK(g[boost::edge(0, numa[0], g).first].kind != link_kind::nvlink);
  CHECK(g[numa[1]].cpu == cpus(8));
}

TEST_CASE("NCCL topology: NVLinks to a CPU, GPUs missing from the file, unlike counts, unknown elements") {
  const auto r = read_nccl_xml(
      {"f",
       "<system version='1'><cpu numaid='8' affinity='ffff,ffffffff' vendor='IBM'>\n<pci busid='0004:04:00.0' "
       "class='0x030200' link_speed='8 GT/s' link_width='0'><gpu dev='0' sm='70'><nvlink target='0004:05:00.0' "
       "count='3' "
       "tclass='0x030200'/>\n<nvlink target='0000:00:00.0' count='3' tclass='0x068001'/><nvlink target='0007:01:00.0' "
       "count='1' tclass='0x030200'/></gpu></pci><pci busid='0004:05:00.0' class='0x030200'><gpu dev='1' sm='70'>"
       "<nvlink target='0004:04:00.0' count='2' tclass='0x030200'/></gpu></pci><what/></cpu></system>"});
  REQUIRE_MESSAGE(r.has_value(), failure(r));
  const auto& g = inside(*r);
  CHECK(links_between(g, 0, 1) == 2);
  CHECK(g[boost::edge(0, 1, g).first].rate == gigabytes_per_second{50});
  const auto numa = parts_of(g, vertex_kind::numa).at(0);
  CHECK(g[numa].cpu == cpus(48));
  CHECK(counts(g, link_kind::nvlink) == "2:1 3:1 ");
  CHECK(mentions(r->assumptions, "state unlike numbers of links"));
  CHECK(mentions(r->assumptions, "1 link between GPUs leading to GPUs that are not in the file"));
  CHECK(mentions(r->assumptions, "<what>"));
}

TEST_CASE("NCCL topology: what is wrong is told with its line") {
  CHECK(message("<graphs/>") == "f:1: found <graphs>, expected <system version=\"1\"> of NCCL");
  CHECK(message("<system version=\"7\"/>") == "f:1: found version '7', expected version 1 (NCCL) or 2 (RCCL)");
  CHECK(message("<system version=\"1\">\n</system>") ==
        "f:1: found no <cpu>, expected at least one <cpu> with its devices");
  CHECK(message("<system version=\"1\">\n<cpu numaid=\"0\">\n<pci busid=\"zz\"/></cpu></system>") ==
        "f:3: found busid 'zz', expected a PCI bus id such as 0000:1b:00.0");
  CHECK(message("<system version=\"1\">\n<cpu numaid=\"0\"/>\n<cpu numaid=\"0\"/></system>") ==
        "f:3: found a second <cpu> with numaid 0, expected every NUMA node once");
  CHECK(message("<system version=\"1\">\n<cpu numaid=\"0\" affinity=\"xyz\"/></system>") ==
        "f:2: found affinity 'xyz', expected a CPU mask such as 00000000,00ffffff");
  CHECK(message("<system version=\"1\">\n<cpu numaid=\"0\">") ==
        "f:2: found no well-formed XML (Start-end tags mismatch), expected an XML document");
  std::string deep;
  for (int i = 0; i < 200; ++i) deep += "<pci busid=\"0000:00:00.0\">";
  CHECK(message("<system version=\"1\"><cpu numaid=\"0\">" + deep).find("no well-formed XML") != std::string::npos);
  for (int i = 0; i < 200; ++i) deep += "</pci>";
  CHECK(message("<system version=\"1\"><cpu numaid=\"0\">" + deep + "</cpu></system>") ==
        "f:1: found elements nested more than 128 deep, expected a flatter document");
  CHECK_FALSE(looks_like_nccl_xml("<topology version=\"2.0\"><object/></topology>"));
  CHECK_FALSE(looks_like_nccl_xml("<nvidia_smi_log><gpu/></nvidia_smi_log>"));
}

TEST_CASE("NCCL topology: misspelt names and values that are none are refused, not passed over") {
  const std::string whole =
      "<system version='1'>\n<cpu numaid='0' vendor='GenuineIntel' modelid='106'>\n"
      "<pci busid='0000:1b:00.0' class='0x030200' link_speed='16 GT/s' link_width='16'>\n"
      "<gpu dev='0' sm='80'>\n<nvlink target='0000:1c:00.0' count='4' tclass='0x030200'/>\n</gpu></pci>\n"
      "<pci busid='0000:1c:00.0' class='0x030200' link_speed='Unknown' link_width='255'>\n"
      "<gpu dev='1' sm='80'/></pci>\n"
      "<nic>\n<net name='a' dev='0' speed='-1' guid='0x1'/>\n</nic></cpu></system>";
  const auto with = [&](std::string_view old, std::string_view now) {
    std::string text = whole;
    REQUIRE(text.find(old) != std::string::npos);
    text.replace(text.find(old), old.size(), now);
    return message(text);
  };
  CHECK(message(whole).empty());
  CHECK(with("<cpu numaid='0'", "<cpu nmaid='0'") == "f:2: found attribute 'nmaid' of <cpu>, expected numaid");
  CHECK(with("'106'", "'1O6'") == "f:2: found modelid '1O6', expected a number");
  CHECK(with("link_speed='16 GT/s'", "link_speed='16 GX/s'") ==
        "f:3: found link_speed '16 GX/s', expected the speed of a PCIe lane such as 16 GT/s, or Unknown");
  CHECK(with("link_speed='16", "link_sped='16") == "f:3: found attribute 'link_sped' of <pci>, expected link_speed");
  CHECK(with("width='16'", "width='161'") == "f:3: found link_width '161', expected a number of lanes up to 32");
  CHECK(with("width='16'", "width='x16'") == "f:3: found link_width 'x16', expected a number of lanes up to 32");
  CHECK(with("sm='80'>\n<nv", "sm='8x'>\n<nv") == "f:4: found sm '8x', expected a compute capability such as 90");
  CHECK(with("<nvlink", "<nvlnk") == "f:5: found element 'nvlnk' under <gpu>, expected <nvlink>");
  CHECK(with("<nvlink", "<NVLink") == "f:5: found element 'NVLink' under <gpu>, expected <nvlink>");
  CHECK(with("count='4'", "cuont='4'") == "f:5: found attribute 'cuont' of <nvlink>, expected count");
  CHECK(with("count='4'", "") == "f:5: found count '', expected a number of links");
  CHECK(with("<gpu dev='1' sm='80'/>", "<gppu dev='1'/>") == "f:8: found element 'gppu' under <pci>, expected <gpu>");
  CHECK(with("speed='-1'", "speed='-fast'") == "f:10: found speed '-fast', expected Mbit/s");
  CHECK(with("guid='0x1'", "guid='zz'") == "f:10: found guid 'zz', expected a hexadecimal number such as 0x030200");
  CHECK(with("<nic>\n<net", "<nic>\n<nett") == "f:10: found element 'nett' under <nic>, expected <net>");
}

TEST_CASE("NCCL topology: damaged files are refused with a place or read whole") {
  for (const auto& s : samples)
    survives_damage(
        sample(std::string{"nccl-topo/"} + s.file), [](const named_text& t) { return read_nccl_xml(t); }, 60, 23);
}
