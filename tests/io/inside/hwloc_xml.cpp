// hwloc's XML of all formats, and this machine through libhwloc.
#include "berth/io/inside/hwloc_xml.hpp"

#include <doctest/doctest.h>

#include <cstdlib>
#include <set>
#include <string>

#include "berth/io/inside/hwloc_live.hpp"
#include "berth/topology/graph/compile.hpp"
#include "berth/topology/graph/paths.hpp"
#include "io/inside/support.hpp"

using namespace berth;
using namespace inside_test;

namespace {

struct expectation {
  const char* file;
  const char* format;
  const char* host;
  const char* model;
  const char* census;
  int cpus;
  const char* homes;  ///< NUMA node of each GPU, then of each NIC
};
constexpr expectation samples[] = {
    {"dgx2-16xv100-nvswitch.v3.xml", "hwloc 3.0", "", "v100-sxm3-32gb", "gpu:16 nvswitch:12 pcie_switch:12 numa:2", 4,
     "0 0 0 0 0 0 0 0 1 1 1 1 1 1 1 1 | "},
    {"lassen-power9-4xv100.xml", "hwloc 2.0", "lassen28", "v100-sxm2-16gb", "gpu:4 nic:6 pcie_switch:2 numa:2", 160,
     "0 0 8 8 | 0 0 0 0 8 8 "},
    {"rzansel-power9.hwloc1.xml", "hwloc 1", "rzansel25", "v100-sxm2-16gb", "gpu:4 nic:6 pcie_switch:2 numa:2", 176,
     "0 0 8 8 | 0 0 0 0 8 8 "},
    {"tioga-mi250x.xml", "hwloc 2.0", "tioga29", "AMD Instinct MI250X", "gpu:8 nic:5 numa:4 host_bridge:4", 128,
     "3 3 1 1 0 0 2 2 | 0 3 1 0 2 "},
    {"corona-8xmi50.xml", "hwloc 2.0", "corona282", "AMD Instinct MI50", "gpu:8 nic:3 numa:2 host_bridge:2", 96,
     "0 0 0 0 1 1 1 1 | 1 1 1 "},
    {"g4dnmetal-8xt4.xml", "hwloc 2.0", "gpu-st-g4dnmetal-1", "t4", "gpu:8 nic:2 pcie_switch:1 numa:2 host_bridge:4",
     96, "0 0 0 0 1 1 1 1 | 1 1 "},
    {"pascal-2xp100.xml", "hwloc 2.0", "pascal4", "Tesla P100-PCIE-16GB",
     "gpu:2 nic:3 pcie_switch:1 numa:2 host_bridge:1", 72, "0 0 | 0 0 0 "},
    {"turin-4xh200-nvml.xml", "hwloc 2.0", "h200-1001", "h200-sxm5-141gb", "gpu:4 nic:7 pcie_switch:4 numa:8", 256,
     "1 2 6 7 | 1 2 0 3 3 6 7 "},
    {"heteromem-64intel64.xml", "hwloc 3.0", "", "", "numa:4", 64, "| "},
    {"intel-4n16p.xml", "hwloc 3.0", "bertha", "", "nic:8 numa:4", 96, "| 0 0 1 1 2 2 3 3 "},
    {"corona-4xvega.xml", "hwloc 2.0", "corona145", "AMD Instinct MI50", "gpu:4 nic:3 numa:8", 96, "1 2 5 7 | 0 0 3 "},
};

std::string homes(const hardware_graph& g) {
  std::string out;
  for (const auto kind : {vertex_kind::gpu, vertex_kind::nic}) {
    if (kind == vertex_kind::nic) out += "| ";
    for (const auto v : parts_of(g, kind)) {
      const auto n = detail::home_numa(g, v);
      out += n ? std::to_string(g[*n].index) + " " : "? ";
    }
  }
  return out;
}
site_report read(const std::string& file) {
  auto r = read_hwloc_xml(sample("hwloc/" + file));
  REQUIRE_MESSAGE(r.has_value(), failure(r));
  return *std::move(r);
}
std::string message(const std::string& text) {
  return failure(read_hwloc_xml({"f", text}));
}

/// A machine of one NUMA node with something on its host bridge.
std::string machine_with(const std::string& inside, const std::string& after = "") {
  return "<topology version=\"2.0\">\n<object type=\"Machine\" cpuset=\"0xf\" nodeset=\"0x1\">\n"
         "<object type=\"NUMANode\" os_index=\"0\" cpuset=\"0xf\" nodeset=\"0x1\" local_memory=\"4096\"/>\n"
         "<object type=\"Bridge\" bridge_type=\"0-1\" depth=\"0\">\n" +
         inside + "</object></object>\n" + after + "</topology>\n";
}
std::string gpu(const std::string& bus, int gp) {
  return "<object type=\"PCIDev\" gp_index=\"" + std::to_string(gp) + "\" pci_busid=\"" + bus +
         "\" pci_type=\"0302 [10de:2330] [10de:16c1] a1\" pci_link_speed=\"63.0\"/>\n";
}

}  // namespace

TEST_CASE("hwloc: every sample has the devices, NUMA nodes and CPUs that its facts state, one part per PCI device") {
  for (const auto& s : samples) {
    CAPTURE(s.file);
    const auto text = sample(std::string{"hwloc/"} + s.file);
    CHECK(looks_like_hwloc_xml(text.text));
    const auto r = read(s.file);
    const auto& g = inside(r);
    CHECK(r.format == s.format);
    CHECK(r.machines[0].name == s.host);
    CHECK(r.machines[0].gpu_model == s.model);
    CHECK(census(g) == s.census);
    CHECK(r.machines[0].cpu == cpus(s.cpus));
    CHECK(homes(g) == s.homes);
    std::set<std::string> buses;
    for (const auto kind : {vertex_kind::gpu, vertex_kind::nic})
      for (const auto v : parts_of(g, kind)) CHECK(buses.insert(g[v].bus_id).second);
  }
}

TEST_CASE("hwloc: NVLink and XGMI matrices become links with the stated rates") {
  const auto turin = read("turin-4xh200-nvml.xml");
  const auto& h200 = inside(turin);
  for (part_id a = 0; a < 4; ++a)
    for (part_id b = 0; b < a; ++b) CHECK(links_between(h200, a, b) == 6);
  CHECK(path_finder{h200}.between(0, 3).bandwidth == gigabytes_per_second{150});
  CHECK(h200[0].uuid.starts_with("GPU-"));
  CHECK(h200[0].bus_id == "0000:06:00.0");
  const auto dgx2 = read("dgx2-16xv100-nvswitch.v3.xml");
  const auto& v100 = inside(dgx2);
  // Two boards of eight GPUs; hwloc does not list the links between the switches of the two.
  CHECK(path_finder{v100}.between(0, 7).bandwidth == gigabytes_per_second{150});
  CHECK(path_finder{v100}.between(8, 15).bandwidth == gigabytes_per_second{150});
  for (part_id v = 0; v < 16; ++v) {
    unsigned n = 0;
    for (const auto s : parts_of(v100, vertex_kind::nvswitch)) n += boost::edge(v, s, v100).second ? 1U : 0U;
    CHECK(n == 6);
  }
  const auto tioga = read("tioga-mi250x.xml");
  CHECK(path_table(inside(tioga))[0][7].kind == path_kind::xgmi);
  CHECK(path_finder{inside(tioga)}.between(0, 7).bandwidth == gigabytes_per_second{100});
  CHECK(inside(tioga)[4].bus_id == "0000:d1:00.0");  // rsmi4
}

TEST_CASE("hwloc: NICs carry their host's names and node GUIDs") {
  const auto r = read("rzansel-power9.hwloc1.xml");
  const auto& g = inside(r);
  std::string names;
  for (const auto v : parts_of(g, vertex_kind::nic)) names += g[v].name + " ";
  CHECK(names.find("mlx5_0 mlx5_1 ") != std::string::npos);
  const auto nics = parts_of(g, vertex_kind::nic);
  CHECK(std::any_of(nics.begin(), nics.end(), [&](part_id v) { return g[v].guid == 0xec0d9a0300caba10U; }));
}

TEST_CASE("hwloc: memory nodes without CPUs are left out, a second kind of memory is counted with the first") {
  const auto p9 = read("rzansel-power9.hwloc1.xml");
  CHECK(mentions(p9.assumptions, "4 NUMA nodes without CPUs"));
  const auto knl = read("heteromem-64intel64.xml");
  CHECK(mentions(knl.assumptions, "4 NUMA nodes with the CPUs of another one"));
  const auto& g = inside(knl);
  for (const auto v : parts_of(g, vertex_kind::numa)) CHECK(g[v].cpu == cpus(16));
}

TEST_CASE("hwloc: a port and the device on it are one link; functions of one card hang on no switch") {
  const auto r = read_hwloc_xml(
      {"f",
       machine_with("<object type=\"Bridge\" bridge_type=\"1-1\" depth=\"1\" pci_busid=\"0000:17:00.0\" "
                    "pci_link_speed=\"2.0\">" +
                    gpu("0000:18:00.0", 7) +
                    "</object><object type=\"Bridge\" bridge_type=\"1-1\" depth=\"1\" pci_busid=\"0000:17:02.0\">"
                    "<object type=\"PCIDev\" pci_busid=\"0000:19:00.0\" pci_type=\"0207 [15b3:1021] [15b3:0055] 00\"/>"
                    "<object type=\"PCIDev\" pci_busid=\"0000:19:00.1\" pci_type=\"0207 [15b3:1021] [15b3:0055] 00\"/>"
                    "</object>")});
  REQUIRE_MESSAGE(r.has_value(), failure(r));
  const auto& g = inside(*r);
  CHECK(census(g) == "gpu:1 nic:2 numa:1 host_bridge:1");
  CHECK(g[*boost::out_edges(0, g).first].rate == gigabytes_per_second{63});
}

TEST_CASE("hwloc: equal NVLink bandwidth beyond a GPU's ports is a switch") {
  std::string gpus, indexes, values;
  for (int i = 0; i < 4; ++i) {
    gpus += gpu("0000:2" + std::to_string(i) + ":00.0", 10 + i);
    indexes += std::to_string(10 + i) + " ";
    for (int j = 0; j < 4; ++j) values += i == j ? "1000000 " : "450000 ";
  }
  const std::string matrix =
      "<distances2 type=\"PCIDev\" nbobjs=\"4\" name=\"NVLinkBandwidth\" indexing=\"gp\"><indexes>" + indexes +
      "</indexes><u64values>" + values + "</u64values></distances2>\n";
  const auto r = read_hwloc_xml({"f", machine_with(gpus, matrix)});
  REQUIRE_MESSAGE(r.has_value(), failure(r));
  CHECK(census(inside(*r)) == "gpu:4 nvswitch:1 numa:1 host_bridge:1");
  CHECK(path_finder{inside(*r)}.between(1, 2).bandwidth == gigabytes_per_second{450});
  CHECK(message(machine_with(gpus,
                             "<distances2 nbobjs=\"4\" name=\"NVLinkBandwidth\"><indexes>1</indexes></distances2>")) ==
        "f:10: found 1 indexes and 0 values, expected 4 and 16");
}

TEST_CASE("hwloc: NVLinks to a package end at its NUMA node; a bus id that comes twice is told") {
  const auto r = read_hwloc_xml({"f",
                                 "<topology version=\"3.0\"><object type=\"Machine\" cpuset=\"0xff\" "
                                 "nodeset=\"0x101\">\n<object type=\"Package\" gp_index=\"3\">"
                                 "<object type=\"NUMANode\" os_index=\"0\" cpuset=\"0xf\" "
                                 "nodeset=\"0x1\"/></object><object type=\"Package\" gp_index=\"4\" "
                                 "cpuset=\"0xf0\" nodeset=\"0x100\"><object type=\"NUMANode\" os_index=\"8\" "
                                 "cpuset=\"0xf0\" nodeset=\"0x100\"/>" +
                                     gpu("0000:18:00.0", 9) +
                                     "<object type=\"PCIDev\" pci_busid=\"0000:18:00.0\" pci_type=\"0200 [8086:1533] "
                                     "[17aa:404d] 03\"/></object></object>\n"
                                     "<distances2hetero nbobjs=\"2\" name=\"NVLinkBandwidth\"><indexes>PCIDev:9 "
                                     "Package:4</indexes><u64values>1000000 40000 40000 "
                                     "1000000</u64values></distances2hetero></topology>"});
  REQUIRE_MESSAGE(r.has_value(), failure(r));
  const auto& g = inside(*r);
  bool found = false;
  for (auto [e, end] = boost::out_edges(0, g); e != end; ++e)
    found = found || (g[*e].kind == link_kind::nvlink && g[boost::target(*e, g)].index == 8 &&
                      g[*e].rate == gigabytes_per_second{40});
  CHECK(found);
  CHECK(mentions(r->assumptions, "comes twice"));
}

TEST_CASE("hwloc: what is wrong is told with its line") {
  CHECK(message("<system/>") == "f:1: found <system>, expected <topology> of hwloc");
  CHECK(message("<topology version=\"4.0\"><object type=\"Machine\"/></topology>") ==
        "f:1: found version '4.0', expected format 1 (no version), 2.x or 3.x");
  CHECK(message("<topology>\n</topology>") == "f:1: found no Machine, expected <object type=\"Machine\"> first");
  CHECK(message(machine_with(gpu("0000:18:00.0", 1) + gpu("0000:18:00.0", 2))) ==
        "f:6: found a second GPU 0000:18:00.0, expected every GPU once");
  CHECK(message("<topology>\n<object type=\"Machine\">\n<object type=\"NUMANode\" os_index=\"0\" "
                "cpuset=\"0xzz\"/></object></topology>") ==
        "f:3: found cpuset '0xzz', expected a mask such as 0xff,0xffff0000");
  CHECK_FALSE(looks_like_hwloc_xml("<system version=\"1\"><cpu/></system>"));
}

TEST_CASE("hwloc: misspelt names and types, numbers that are none are refused, not passed over") {
  const std::string whole =
      "<topology version='2.0'>\n<object type='Machine' cpuset='0xf' nodeset='0x1'>\n"
      "<object type='NUMANode' os_index='0' cpuset='0xf' nodeset='0x1' local_memory='1024' gp_index='1'/>\n"
      "<object type='Bridge' bridge_type='0-1' depth='0' gp_index='2'>\n"
      "<object type='PCIDev' pci_busid='0000:18:00.0' pci_type='0302 [10de:2330] [10de:0001] a1' pci_link_speed='31.5' "
      "gp_index='3'>\n"
      "<object type='OSDev' name='nvml0' gp_index='4'><info name='Backend' value='NVML'/></object></object></object>\n"
      "<object type='PU' os_index='0'/></object>\n"
      "<distances2 nbobjs='1' name='NVLinkBandwidth'><indexes>3</indexes><u64values>0</u64values></distances2>\n"
      "</topology>";
  const auto with = [&](std::string_view old, std::string_view now) {
    std::string text = whole;
    REQUIRE(text.find(old) != std::string::npos);
    text.replace(text.find(old), old.size(), now);
    return message(text);
  };
  const std::string form = ", expected class, vendor and device such as 0302 [10de:2335] [10de:18bf] a1";
  CHECK(message(whole).empty());
  CHECK(with("local_memory='1024'", "local_memory='1o24'") ==
        "f:3: found local_memory '1o24', expected a number up to 4503599627370496");
  CHECK(with("local_memory", "lcoal_memory") ==
        "f:3: found attribute 'lcoal_memory' of <object>, expected local_memory");
  CHECK(with("cpuset='0xf' nodeset='0x1' local", "cpuset='0xg' local") ==
        "f:3: found cpuset '0xg', expected a mask such as 0xff,0xffff0000");
  CHECK(with("NUMANode", "NUMANod") == "f:3: found an object of type 'NUMANod', expected NUMANode");
  CHECK(with("'0-1'", "'01'") == "f:4: found bridge_type '01', expected 0-1 for a host bridge, 1-1 for others");
  CHECK(with("depth='0'", "depth='x'") == "f:4: found depth 'x', expected a number up to 1000");
  CHECK(with("PCIDev", "PciDevice") ==
        "f:5: found an object of type 'PciDevice', expected a type of hwloc's, such as NUMANode, Bridge, PCIDev or "
        "OSDev");
  CHECK(with("0302 [10de", "03O2 [10de") == "f:5: found pci_type '03O2 [10de:2330] [10de:0001] a1'" + form);
  CHECK(with("'31.5'", "'fast'") == "f:5: found pci_link_speed 'fast', expected GB/s such as 15.753846");
  CHECK(with("gp_index='3'", "gp_index='x'") ==
        "f:5: found gp_index 'x', expected a number up to 18446744073709551615");
  CHECK(with("gp_index='4'", "gp_index='3'") == "f:6: found gp_index 3 twice, expected each object another one");
  CHECK(with("value='NVML'", "vaule='NVML'") == "f:6: found attribute 'vaule' of <info>, expected value");
  CHECK(with("NVLinkBand", "NVlinkBand") == "f:8: found distances called 'NVlinkBandwidth', expected NVLinkBandwidth");

  const auto odd = read_hwloc_xml({"f", [&] {
                                     std::string text = whole;
                                     text.replace(text.find("'PU'"), 4, "'Tile'");
                                     return text;
                                   }()});
  REQUIRE_MESSAGE(odd.has_value(), failure(odd));
  CHECK(mentions(odd->assumptions, "objects of type 'Tile' (line 7) are passed over"));
}

TEST_CASE("hwloc: this machine has CPUs, memory and a graph that compiles") {
  setenv("HWLOC_PLUGINS_PATH", "/nonexistent", 0);  // vendors' libraries behind hwloc's plugins leak memory
  const auto r = read_live_machine();
  REQUIRE_MESSAGE(r.has_value(), failure(r));
  REQUIRE(r->machines.size() == 1);
  const auto& m = r->machines[0];
  REQUIRE(m.cpu);
  CHECK(m.cpu->count() > 0);
  const auto& g = inside(*r);
  CHECK(count(g, vertex_kind::numa) >= 1);
  CHECK(*m.gpus == count(g, vertex_kind::gpu));
  std::int64_t sum = 0;
  for (const auto v : parts_of(g, vertex_kind::numa)) sum += g[v].cpu.value_or(cpu_millis{}).count();
  CHECK(sum >= m.cpu->count());
  CHECK(compile_shape(g).has_value());
}

TEST_CASE("hwloc: damaged files are refused with a place or read whole") {
  for (const auto& s : samples) {
    const auto text = sample(std::string{"hwloc/"} + s.file);
    survives_damage(
        text, [](const named_text& t) { return read_hwloc_xml(t); }, text.text.size() > 80000 ? 25 : 60, 29);
  }
}
