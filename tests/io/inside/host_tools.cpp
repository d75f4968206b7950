// What other tools say about a host: rocm-smi and amd-smi, lspci; and the words they share.
#include <doctest/doctest.h>

#include <string>

#include "berth/io/inside/lspci.hpp"
#include "berth/io/inside/rocm_topo.hpp"
#include "io/inside/support.hpp"

using namespace berth;
using namespace inside_test;

namespace {

template <class T>
const T& value(const expected<T, input_error>& e) {
  REQUIRE_MESSAGE(e.has_value(), failure(e));
  return *e;
}

// Layout of lspci -D -nn -vv of pciutils; ids of an HGX H100 board: a switch with a GPU and a NIC, two functions of one
// card on a root port, an NVSwitch.
constexpr const char* lspci_text =
    "0000:15:01.0 PCI bridge [0604]: Intel Corporation Device [8086:352a] (rev 04) (prog-if 00 [Normal decode])\n"
    "\tNUMA node: 0\n\tBus: primary=15, secondary=16, subordinate=1b, sec-latency=0\n"
    "\tCapabilities: [40] Express (v2) Root Port (Slot+), MSI 00\n\t\tLnkSta:\tSpeed 32GT/s (ok), Width x16 (ok)\n"
    "0000:16:00.0 PCI bridge [0604]: Broadcom / LSI PEX890xx PCIe Gen 5 Switch [1000:c030] (rev b0)\n"
    "\tBus: primary=16, secondary=17, subordinate=1b, sec-latency=0\n\tCapabilities: [68] Express (v2) Upstream Port, "
    "MSI 00\n"
    "\t\tLnkCap:\tPort #0, Speed 32GT/s, Width x16\n\t\tLnkSta:\tSpeed 32GT/s, Width x16\n"
    "0000:17:00.0 PCI bridge [0604]: Broadcom / LSI PEX890xx PCIe Gen 5 Switch [1000:c030] (rev b0)\n"
    "\tBus: primary=17, secondary=18, subordinate=18, sec-latency=0\n\tCapabilities: [68] Express (v2) Downstream Port "
    "(Slot+), MSI 00\n"
    "0000:17:01.0 PCI bridge [0604]: Broadcom / LSI PEX890xx PCIe Gen 5 Switch [1000:c030] (rev b0)\n"
    "\tBus: primary=17, secondary=1b, subordinate=1b, sec-latency=0\n\tCapabilities: [68] Express (v2) Downstream Port "
    "(Slot+), MSI 00\n"
    "0000:18:00.0 Infiniband controller [0207]: Mellanox Technologies MT2910 Family [ConnectX-7] [15b3:1021]\n"
    "\t\tLnkSta:\tSpeed 32GT/s (ok), Width x16 (ok)\n"
    "0000:1b:00.0 3D controller [0302]: NVIDIA Corporation GH100 [H100 SXM5 80GB] [10de:2330] (rev a1)\n"
    "\t\tLnkCap:\tPort #0, Speed 32GT/s, Width x16\n\t\tLnkSta:\tSpeed 32GT/s, Width x16\n"
    "0000:97:01.0 PCI bridge [0604]: Intel Corporation Device [8086:352a] (rev 04)\n\tNUMA node: 1\n"
    "\tBus: primary=97, secondary=98, subordinate=98, sec-latency=0\n\tCapabilities: [40] Express (v2) Root Port "
    "(Slot+), MSI 00\n"
    "0000:98:00.0 Ethernet controller [0200]: Intel Corporation Ethernet Controller E810-C [8086:1592]\n"
    "0000:98:00.1 Ethernet controller [0200]: Intel Corporation Ethernet Controller E810-C [8086:1592]\n"
    "0000:99:00.0 Bridge [0680]: NVIDIA Corporation GH100 [H100 NVSwitch] [10de:22a3] (rev a1)\n\tNUMA node: 1\n"
    "0000:9a:00.0 VGA compatible controller [0300]: ASPEED Technology, Inc. ASPEED Graphics Family [1a03:2000]\n";

}  // namespace

TEST_CASE("rocm-smi --showtopo: the faulty sample of a split MI300 gives what can be told, and says what cannot") {
  const auto text = sample("topo-m/mi300-tpx-rocm-smi-showtopo.txt");
  CHECK(looks_like_rocm_topo(text.text));
  const auto r = value(read_rocm_topo(text));
  const auto& g = inside(r);
  CHECK(census(g) == "gpu:12 numa:4");
  const auto table = path_table(g);
  int xgmi = 0;
  for (std::size_t i = 0; i < 12; ++i)
    for (std::size_t j = 0; j < 12; ++j) xgmi += table[i][j].kind == path_kind::xgmi ? 1 : 0;
  CHECK(xgmi == 108);
  CHECK(table[1][4].kind == path_kind::node);  // XXXX
  CHECK(table[5][8].kind == path_kind::node);
  CHECK(mentions(r.assumptions, "12 pairs of GPUs whose link the tool could not tell"));
  CHECK(mentions(r.assumptions, "NUMA node and NUMA affinity of 6 GPUs differ"));
}

TEST_CASE("rocm-smi and amd-smi: hops and bus ids count") {
  const auto r = value(read_rocm_topo(
      {"f",
       "==== ROCm System Management Interface ====\n==== Hops between two GPUs ====\n       GPU0  GPU1  GPU2\nGPU0   0 "
       "    1     2\n"
       "GPU1   1     0     1\nGPU2   2     1     0\n==== Link Type between two GPUs ====\n       GPU0  GPU1  GPU2\n"
       "GPU0   0     XGMI  XGMI\nGPU1   XGMI  0     PCIE\nGPU2   XGMI  PCIE  0\nGPU[0] : (Topology) Numa Node: 0\n"
       "GPU[1] : (Topology) Numa Node: 0\nGPU[2] : (Topology) Numa Node: 1\n"}));
  CHECK(to_string(path_table(inside(r))[0][1]) == "XGMI");
  CHECK(to_string(path_table(inside(r))[0][2]) == "SYS");
  CHECK(mentions(r.assumptions, "1 pair of GPUs joined by XGMI over other GPUs"));
  const auto amd =
      value(read_rocm_topo({"f",
                            "LINK TYPE TABLE:\n             0000:0C:00.0 0000:22:00.0\n0000:0C:00.0 SELF         XGMI\n"
                            "0000:22:00.0 XGMI         SELF\n"}));
  CHECK(inside(amd)[1].bus_id == "0000:22:00.0");
  CHECK(failure(read_rocm_topo({"f", "GPU0 GPU1\nGPU0 0\n"})) == "f:2: found 'GPU0 0', expected row GPU0 with 2 cells");
  CHECK(failure(read_rocm_topo({"f", "x\n"})) ==
        "f:1: found no table of GPUs, expected the output of rocm-smi --showtopo");
  CHECK_FALSE(looks_like_rocm_topo(sample("topo-m/v100-dgx1-4nic.txt").text));
}

TEST_CASE("lspci -D -nn -vv: switches, NUMA nodes and rates; without -vv only devices") {
  CHECK(looks_like_lspci(lspci_text));
  const auto r = value(read_lspci({"f", lspci_text}));
  const auto& g = inside(r);
  CHECK(census(g) == "gpu:1 nic:3 nvswitch:1 pcie_switch:1 numa:2");
  CHECK(r.machines[0].gpu_model == "h100-sxm5-80gb");
  CHECK(g[0].bus_id == "0000:1b:00.0");
  CHECK(to_string(path_table(g)[0][1]) == "PIX");
  CHECK(to_string(path_table(g)[0][2]) == "SYS");
  CHECK(g[*boost::out_edges(0, g).first].rate->count() == doctest::Approx(63.0154));
  const auto plain = value(read_lspci({"f",
                                       "1b:00.0 3D controller: NVIDIA Corporation GA100 [A100 SXM4 80GB] (rev a1)\n"
                                       "43:00.0 3D controller: NVIDIA Corporation GA100 [A100 SXM4 80GB] (rev a1)\n"}));
  CHECK(census(inside(plain)) == "gpu:2");
  CHECK(plain.machines[0].gpu_model == "a100-sxm4-80gb");
  CHECK(mentions(plain.assumptions, "lspci -vv tells"));
  CHECK(failure(read_lspci({"f", "1b:00.0 A: b\n1b:00.0 A: b\n"})) ==
        "f:2: found device 0000:1b:00.0 again, expected every device once");
  CHECK(failure(read_lspci({"f", "01:00.0 PCI bridge: a\n\tBus: primary=01, secondary=01, subordinate=01\n"})) ==
        "f:1: found bridges that lie below each other or too deep, expected a tree of bridges");
}

TEST_CASE("words: bus ids, PCIe speeds, CPU lists and masks, product names") {
  using namespace berth::inside_text;
  CHECK(normal_bus_id("00000000:1B:00.0") == "0000:1b:00.0");
  CHECK(normal_bus_id("1b:00.0") == "0000:1b:00.0");
  CHECK(normal_bus_id("10000:e1:00.0") == "10000:e1:00.0");
  CHECK(normal_bus_id("0001:00:00") == "0001:00:00.0");
  for (const char* bad : {"", "1b", "x:00.0", "0000:1b:00.8", "0000:1b:00.", "0000:1b:100.0", "123456789:00:00.0"})
    CHECK_FALSE(normal_bus_id(bad).has_value());
  for (const char* gen4 : {"16 GT/s", "16.0 GT/s PCIe", "16GT/s", "Gen4", "gen 4", "4"}) {
    CAPTURE(gen4);
    REQUIRE(parse_pcie_speed(gen4));
    CHECK(parse_pcie_speed(gen4)->generation == 4);
    CHECK(parse_pcie_speed(gen4)->lane_gbps * 16 == doctest::Approx(31.5077));
  }
  CHECK(parse_pcie_speed("2.5 GT/s PCIe")->generation == 1);
  CHECK(parse_pcie_speed("64.0 GT/s PCIe")->lane_gbps * 16 == doctest::Approx(121.0));
  for (const char* none : {"", "Unknown", "7 GT/s", "N/A", "Gen9"}) CHECK_FALSE(parse_pcie_speed(none).has_value());
  CHECK(cpu_text(*parse_cpu_mask("000000ff,ffff0000,00ffffff")) == "0-23,48-71");
  CHECK(cpu_text(*parse_cpu_mask("0x0000ffff,,0x0000ffff")) == "0-15,64-79");
  CHECK(cpu_text(*parse_cpu_mask("0x10000000,,,,,,,0x0")) == "252");
  CHECK(cpu_text(*parse_cpu_mask("0000,000fffff,ff000000,0fffffff")) == "0-27,56-83");
  for (const char* bad : {"", "0x", "g", "0xf...f", "1ffffffff,0", "0x,"}) CHECK_FALSE(parse_cpu_mask(bad).has_value());
  CHECK(count_cpus(*parse_cpu_list("0,3-9,11-17")) == 15);
  for (const char* bad : {"", "3-1", "1,1", "a", "1-", ",1"}) CHECK_FALSE(parse_cpu_list(bad).has_value());
  CHECK(gpu_model_of_name("NVIDIA A100-SXM4-40GB") == "a100-sxm4-40gb");
  CHECK(gpu_model_of_name("NVIDIA-H100-80GB-HBM3-MIG-1g.10gb") == "h100-sxm5-80gb");
  CHECK(gpu_model_of_name("Tesla T4") == "t4");
  CHECK(gpu_model_of_name("NVIDIA GeForce RTX 3090").empty());
  for (const auto& d : nvidia_devices) CHECK(catalogue::find_gpu_model(d.model) != nullptr);
}

TEST_CASE("host tools: damaged output is refused with a place or read whole") {
  survives_damage(
      sample("topo-m/mi300-tpx-rocm-smi-showtopo.txt"), [](const named_text& t) { return read_rocm_topo(t); }, 300, 37);
  survives_damage(
      {"f", lspci_text}, [](const named_text& t) { return read_lspci(t); }, 400, 37);
}
