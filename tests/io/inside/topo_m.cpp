// `nvidia-smi topo -m`: every sample's table comes back from its graph; pastes in all shapes; what is refused.
#include "berth/io/inside/topo_m.hpp"

#include <doctest/doctest.h>

#include <sstream>
#include <string>
#include <vector>

#include "berth/policy/device_choice.hpp"
#include "berth/topology/graph/compile.hpp"
#include "io/inside/support.hpp"

using namespace berth;
using namespace inside_test;

namespace {

struct expectation {
  const char* file;
  const char* census;
  const char* numas;  ///< "name:CPUs …", "?" where open
};
constexpr expectation samples[] = {
    {"v100-dgx1-4nic.txt", "gpu:8 nic:4 pcie_switch:4 numa:2 host_bridge:2", "numa0:40 numa1:40"},
    {"4gpu-mlx4-soc.txt", "gpu:4 nic:1 numa:2 host_bridge:2", "numa0:6 numa1:6"},
    {"esc8000a-4gpu-4nic.txt", "gpu:4 nic:4 pcie_switch:2 numa:2", "numa0:32 numa1:32"},
    {"wrx90-2gpu-2nic.txt", "gpu:2 nic:2 pcie_switch:1 numa:1 host_bridge:1", "numa0:24"},
    {"k80-4gpu-node.txt", "gpu:4 numa:1", "numa0:12"},
    {"h100-vm-1gpu-ansi.txt", "gpu:1 numa:1", "numa0:20"},
    {"l40s-vm-1gpu-ansi.txt", "gpu:1 numa:1", "numa0:8"},
    {"turin-8numa-4gpu.txt", "gpu:4 numa:4", "numa1:32 numa2:32 numa6:32 numa7:32"},
    {"facts-dgx-a100-8gpu-12nic.txt", "gpu:8 nic:12 nvswitch:1 pcie_switch:22 numa:6",
     "numa1:32 numa3:32 numa5:32 numa7:32 unnamed-numa8:? unnamed-numa9:?"},
    {"facts-4x3090-crossed-nvlink.txt", "gpu:4 numa:1 host_bridge:2", "numa0:24"},
    {"facts-8x4090-all-sys.txt", "gpu:8 nic:2 pcie_switch:1 numa:2 host_bridge:8", "numa0:112 numa1:112"},
    {"facts-power9-4gpu-nv3.txt", "gpu:4 nic:4 pcie_switch:2 numa:2", "numa0:64 numa1:64"},
    {"facts-4xv100-mixed-nvlink.txt", "gpu:4 nic:1 numa:2", "numa0:16 unnamed-numa1:?"},
    {"facts-4xa100-roce-legend.txt", "gpu:4 nic:1 nvswitch:1 numa:2", "numa1:64 unnamed-numa2:?"},
    {"facts-3xa6000-one-bridge.txt", "gpu:3 numa:1", "numa0:64"},
    {"facts-p100-k-2gpu-soc.txt", "gpu:2 numa:2", "numa0:6 numa1:6"},
    {"facts-gb200-tray-4gpu-6nic.txt", "gpu:4 nic:6 nvswitch:1 numa:8",
     "numa0:72 numa1:72 unnamed-numa2:? unnamed-numa3:? unnamed-numa4:? unnamed-numa5:? unnamed-numa6:? "
     "unnamed-numa7:?"},
    {"facts-hgx-b300-8gpu-9nic.txt", "gpu:8 nic:9 nvswitch:1 pcie_switch:24 numa:2", "numa0:128 numa1:128"},
};

/// The cells of a sample, read without the library: lines whose second word is a cell.
std::string cells_of(const std::string& text) {
  std::istringstream lines{text};
  std::string out;
  std::vector<std::vector<std::string>> rows;
  for (std::string line; std::getline(lines, line);) {
    std::istringstream words{line};
    std::vector<std::string> row;
    for (std::string w; words >> w;) row.push_back(w == "SOC" ? "SYS" : w);
    const auto cell = [](const std::string& w) {
      return w == "X" || w == "SYS" || w == "NODE" || w == "PHB" || w == "PXB" || w == "PIX" || w.substr(0, 2) == "NV";
    };
    if (row.size() > 1 && cell(row[1]) && row[0] != "X" && !cell(row[0])) rows.push_back(row);
  }
  for (const auto& row : rows) {
    for (std::size_t j = 1; j <= rows.size(); ++j) out += row.at(j) + " ";
    out += "\n";
  }
  return out;
}

std::string numas_of(const hardware_graph& g) {
  std::string out;
  for (const auto v : parts_of(g, vertex_kind::numa))
    out += (out.empty() ? "" : " ") + g[v].name + ":" + (g[v].cpu ? std::to_string(g[v].cpu->count() / 1000) : "?");
  return out;
}

/// A text as a terminal of `width` columns shows it.
std::string wrapped(const std::string& text, std::size_t width) {
  std::string out;
  std::size_t column = 0;
  for (const char c : text) {
    std::string shown(1, c);
    if (c == '\t') shown.assign(8 - column % 8, ' ');
    if (c == '\n') {
      column = 0;
      out += c;
      continue;
    }
    for (const char s : shown) {
      if (column == width) {
        out += '\n';
        column = 0;
      }
      out += s;
      ++column;
    }
  }
  return out;
}

std::string replaced(std::string s, const std::string& from, const std::string& to) {
  for (std::size_t i = s.find(from); i != std::string::npos; i = s.find(from, i + to.size()))
    s.replace(i, from.size(), to);
  return s;
}

}  // namespace

TEST_CASE("topo -m: the graph of every sample gives its table back, and has the parts that the table implies") {
  for (const auto& s : samples) {
    CAPTURE(s.file);
    const auto text = sample(std::string{"topo-m/"} + s.file);
    CHECK(looks_like_topo_m(text.text));
    const auto r = read_topo_m(text);
    REQUIRE_MESSAGE(r.has_value(), failure(r));
    const auto& g = inside(*r);
    CHECK(table_text(g) == cells_of(text.text));
    CHECK(census(g) == s.census);
    CHECK(numas_of(g) == s.numas);
    CHECK(r->machines[0].gpus == count(g, vertex_kind::gpu));
    CHECK_FALSE(mentions(r->assumptions, "fit no tree"));
    // Nothing is known about rates before a model is named.
    for (auto [e, end] = boost::edges(g); e != end; ++e) CHECK_FALSE(g[*e].rate.has_value());
  }
}

TEST_CASE("topo -m: names of NICs come from the legend, in the order of the columns") {
  const auto b300 = read_topo_m(sample("topo-m/facts-hgx-b300-8gpu-9nic.txt"));
  REQUIRE(b300);
  CHECK(inside(*b300)[8].name == "mlx5_10");
  CHECK(inside(*b300)[16].name == "mlx5_bond_0");
  const auto dgx = read_topo_m(sample("topo-m/v100-dgx1-4nic.txt"));
  REQUIRE(dgx);
  CHECK(inside(*dgx)[9].name == "mlx5_2");
  const auto roce = read_topo_m(sample("topo-m/facts-4xa100-roce-legend.txt"));
  REQUIRE(roce);
  CHECK(inside(*roce)[4].name == "rocep49s0");
}

TEST_CASE("topo -m: rates come with a model, a model from the options or, when asked, from a guess that is told") {
  const auto text = sample("topo-m/facts-dgx-a100-8gpu-12nic.txt");
  reader_options options;
  options.machine = "n1";
  options.gpu_model = "NVIDIA A100-SXM4-40GB";
  const auto given = read_topo_m(text, options);
  REQUIRE(given);
  CHECK(given->machines[0].name == "n1");
  CHECK(given->machines[0].gpu_model == "a100-sxm4-40gb");
  const auto& g = inside(*given);
  const auto nvswitch = parts_of(g, vertex_kind::nvswitch).at(0);
  const auto e = boost::edge(3, nvswitch, g);
  REQUIRE(e.second);
  CHECK(g[e.first].rate == gigabytes_per_second{300});
  CHECK(g[e.first].generation == 3);
  CHECK(mentions(given->assumptions, "Gen4 x16"));
  CHECK_FALSE(mentions(given->assumptions, "guess"));

  options.gpu_model = "guess";
  const auto guessed = read_topo_m(text, options);
  REQUIRE(guessed);
  CHECK(guessed->machines[0].gpu_model == "a100-sxm4-80gb");
  CHECK(mentions(guessed->assumptions, "a guess from 12 NVLinks"));

  const auto tray = read_topo_m(sample("topo-m/facts-gb200-tray-4gpu-6nic.txt"), options);
  REQUIRE(tray);
  CHECK(tray->machines[0].gpu_model == "gb200-186gb");
  CHECK(count(inside(*tray), vertex_kind::nvlink_domain) == 1);
  CHECK(mentions(tray->assumptions, "leave the machine"));

  options.gpu_model = "t4";
  CHECK(failure(read_topo_m(text, options)) ==
        "facts-dgx-a100-8gpu-12nic.txt:3: found NV12 between GPU0 and GPU1, expected at most 0 NVLinks, as t4 has");
}

TEST_CASE("topo -m: pastes of all shapes read the same") {
  for (const char* file : {"facts-hgx-b300-8gpu-9nic.txt", "facts-dgx-a100-8gpu-12nic.txt", "v100-dgx1-4nic.txt"}) {
    CAPTURE(file);
    const auto text = sample(std::string{"topo-m/"} + file);
    const auto plain = read_topo_m(text);
    REQUIRE(plain);
    const std::string want = dump(inside(*plain));
    std::vector<std::string> shapes{
        replaced(text.text, "\n", "\r\n"),
        "root@gpu01:~# nvidia-smi topo -m\n" + text.text,
        replaced("\n" + text.text, "\n", "\n    "),
        replaced("\n" + text.text, "\n", "\n> "),
        replaced(text.text, "\t", "\xC2\xA0\xC2\xA0 "),
        "GPU Topology:\n```\n" + text.text.substr(1),  // the blank before the first GPU was trimmed
        "\xEF\xBB\xBF\n\x1b[4m" + text.text.substr(0, text.text.find('\n')) + "\x1b[0m" +
            text.text.substr(text.text.find('\n')),
        "\t[4m" + text.text.substr(1, text.text.find('\n') - 1) + "[0m" + text.text.substr(text.text.find('\n')),
        replaced(text.text, " X ", "X"),
        text.text.substr(0, text.text.find("\nLegend")) + (text.text.find("NIC Legend") == std::string::npos
                                                               ? std::string{"\n"}
                                                               : "\n" + text.text.substr(text.text.find("NIC Legend"))),
    };
    for (const std::size_t width : {72U, 80U, 93U, 100U, 120U, 140U}) shapes.push_back(wrapped(text.text, width));
    for (std::size_t i = 0; i < shapes.size(); ++i) {
      CAPTURE(i);
      CAPTURE(shapes[i]);
      CHECK(looks_like_topo_m(shapes[i]));
      const auto r = read_topo_m({"paste", shapes[i]});
      REQUIRE_MESSAGE(r.has_value(), failure(r));
      CHECK(dump(inside(*r)) == want);
    }
  }
}

TEST_CASE("topo -m: GPUs in any order and with gaps become vertices by number") {
  const auto r =
      read_topo_m({"f", "\tGPU3\tGPU1\tmlx5_0\tCPU Affinity\nGPU3\t X \tNV4\tPHB\t0-3\nGPU1\tNV4\t X \tSYS\t4-7\n"});
  REQUIRE_MESSAGE(r.has_value(), failure(r));
  const auto& g = inside(*r);
  CHECK(g[0].name == "gpu1");
  CHECK(g[1].name == "gpu3");
  CHECK(table_text(g) == "X NV4 SYS \nNV4 X PHB \nSYS PHB X \n");
  CHECK(mentions(r->assumptions, "skips numbers"));
  CHECK(mentions(r->assumptions, "rows of NICs are missing"));
}

TEST_CASE("topo -m: affinity cells may be empty, as in containers that see few CPUs") {
  const std::string header = "\tGPU0\tGPU1\tCPU Affinity\tNUMA Affinity\tGPU NUMA ID\n";
  const auto tabs = read_topo_m({"f", header + "GPU0\t X \tNV4\t0\t0\t\tN/A\nGPU1\tNV4\t X \t\t1\t\tN/A\n"});
  REQUIRE_MESSAGE(tabs.has_value(), failure(tabs));
  CHECK(numas_of(inside(*tabs)) == "numa0:1 numa1:?");
  const auto blanks = read_topo_m(
      {"f", "  GPU0 GPU1 CPU Affinity NUMA Affinity GPU NUMA ID\nGPU0 X NV4 0-3 0 N/A\nGPU1 NV4 X      1   N/A\n"});
  REQUIRE_MESSAGE(blanks.has_value(), failure(blanks));
  CHECK(numas_of(inside(*blanks)) == "numa0:4 numa1:?");
  const auto none = read_topo_m({"f", header + "GPU0\t X \tNV8\t\t\t\tN/A\nGPU1\tNV8\t X \t\t\t\tN/A\n"});
  REQUIRE_MESSAGE(none.has_value(), failure(none));
  CHECK(mentions(none->assumptions, "does not tell NUMA nodes"));
}

TEST_CASE("topo -m: a GPU that lost NVLinks keeps its switch") {
  std::string text = "\tGPU0\tGPU1\tGPU2\tGPU3\n";
  for (int i = 0; i < 4; ++i) {
    text += "GPU" + std::to_string(i);
    for (int j = 0; j < 4; ++j) text += i == j ? "\tX" : i == 2 || j == 2 ? "\tNV16" : "\tNV18";
    text += "\n";
  }
  const auto r = read_topo_m({"f", text});
  REQUIRE_MESSAGE(r.has_value(), failure(r));
  const auto& g = inside(*r);
  const auto nvswitch = parts_of(g, vertex_kind::nvswitch).at(0);
  CHECK(links_between(g, 0, nvswitch) == 18);
  CHECK(links_between(g, 2, nvswitch) == 16);
  CHECK(table_text(g) == cells_of(text));
  CHECK(mentions(r->assumptions, "does not tell NUMA nodes"));
}

TEST_CASE("topo -m: cells that no tree of switches gives are named, not dropped") {
  const auto r = read_topo_m({"f", " GPU0 GPU1 GPU2\nGPU0 X PIX SYS\nGPU1 PIX X PIX\nGPU2 SYS PIX X\n"});
  REQUIRE(r);
  CHECK(mentions(r->assumptions, "1 cell of the table fit no tree of switches: GPU0-GPU2 is SYS"));
}

TEST_CASE("topo -m: without a known rate the devices chosen are those of the best kind of way") {
  const auto chosen = [](const named_text& t, device_mask free, unsigned count, const char* model) {
    reader_options options;
    options.gpu_model = model;
    const auto r = read_topo_m(t, options);
    REQUIRE(r);
    const auto shape = compile_shape(inside(*r));
    REQUIRE(shape);
    return best_bandwidth{}.compile(*shape).choose(free & shape->all_devices(), count);
  };
  struct row {
    const char* file;
    const char* model;
    unsigned count;
    device_mask free, chosen;
  };
  constexpr device_mask all = ~device_mask{0};
  const row rows[] = {
      {"facts-4x3090-crossed-nvlink.txt", "", 2, all, 0b0101},  // NV4, not the pair on a host bridge
      {"facts-4x3090-crossed-nvlink.txt", "guess", 2, all, 0b0101},
      {"facts-4x3090-crossed-nvlink.txt", "", 2, 0b1110, 0b1010},
      {"facts-4x3090-crossed-nvlink.txt", "", 2, 0b0011, 0b0011},
      {"facts-3xa6000-one-bridge.txt", "", 2, 0b110, 0b110},
      {"facts-3xa6000-one-bridge.txt", "", 2, all, 0b011},
      {"v100-dgx1-4nic.txt", "", 2, all, 0b1100},  // NV2, not NV1
      {"v100-dgx1-4nic.txt", "v100-sxm2-32gb", 2, all, 0b1100},
      {"facts-4xv100-mixed-nvlink.txt", "", 2, all, 0b1001},
      {"facts-4xv100-mixed-nvlink.txt", "", 2, 0b0111, 0b0110},
  };
  for (const auto& r : rows) {
    CAPTURE(r.file);
    CAPTURE(r.model);
    CHECK(chosen(sample(std::string{"topo-m/"} + r.file), r.free, r.count, r.model) == r.chosen);
  }
  const std::string bridge = " GPU0 GPU1 GPU2\nGPU0 X NODE NODE\nGPU1 NODE X NV4\nGPU2 NODE NV4 X\n";
  CHECK(chosen({"f", bridge}, all, 2, "") == 0b110);
  // No NVLinks: one switch, several, a host bridge, several bridges, sockets.
  const char* const kinds[] = {"PIX", "PXB", "PHB", "NODE", "SYS"};
  for (int i = 0; i < 4; ++i) {
    const std::string near = kinds[i], far = kinds[i + 1];
    const std::string text = " GPU0 GPU1 GPU2\nGPU0 X " + far + " " + far + "\nGPU1 " + far + " X " + near + "\nGPU2 " +
                             far + " " + near + " X\n";
    CHECK_MESSAGE(chosen({"f", text}, all, 2, "") == 0b110, text);
  }
}

TEST_CASE("topo -m: what is wrong is told with its line") {
  const auto message = [](const std::string& text) { return failure(read_topo_m({"f", text})); };
  CHECK(
      message("") ==
      "f: found no table with a header GPU0 … and rows below it, expected the table that `nvidia-smi topo -m` prints");
  CHECK(message(" GPU0 GPU1\nGPU0 X PIX\nGPU1 PXB X\n") ==
        "f:3: found PXB from GPU1 to GPU0 but PIX in line 2, expected the same in both directions");
  CHECK(message(" GPU0 GPU1\nGPU0 X FOO\nGPU1 FOO X\n") ==
        "f:2: found 'FOO' between GPU0 and GPU1, expected X, NV#, PIX, PXB, PHB, NODE or SYS");
  CHECK(message(" GPU0 GPU1\nGPU0 X PIX\n") == "f:2: found no row GPU1, expected a row for each GPU of the header");
  CHECK(message(" GPU0 GPU1\nGPU0 X\nGPU1 PIX X\n") ==
        "f:2: found 1 cells in row GPU0, expected 2 cells, one for each device of the header");
  CHECK(message(" GPU0 GPU0\nGPU0 X PIX\nGPU0 PIX X\n") ==
        "f:1: found 'GPU0' twice in the header, expected every device once");
  CHECK(message(" GPU0 CPU Affinity\nGPU0 X 9-3\n") == "f:2: found '9-3', expected CPUs such as 0-31,64-95, or N/A");
  CHECK(message(" GPU0 GPU1\nGPU0 X X\nGPU1 X X\n") ==
        "f:2: found 'X' between GPU0 and GPU1, expected X on the diagonal, and nowhere else");
  CHECK(message(" GPU0\nGPU0 X\n\n GPU0\nGPU0 X\n") == "f:5: found a second table, expected one machine in a file");
  std::string many = "\t", row;
  for (int i = 0; i < 65; ++i) many += "GPU" + std::to_string(i) + "\t";
  many += "\nGPU0\tX\n";
  CHECK(message(many) == "f:1: found 65 GPUs and 0 NICs, expected at most 64 GPUs and 256 NICs");
  CHECK_FALSE(looks_like_topo_m("GPU 0: NVIDIA H100 (UUID: GPU-1)\n"));
  CHECK_FALSE(looks_like_topo_m("<topology version=\"2.0\">GPU0 GPU1</topology>"));
  CHECK_FALSE(looks_like_topo_m(sample("topo-m/mi300-tpx-rocm-smi-showtopo.txt").text));
}

TEST_CASE("topo -m: damaged tables are refused with a place or read whole") {
  for (const auto& s : samples)
    survives_damage(
        sample(std::string{"topo-m/"} + s.file), [](const named_text& t) { return read_topo_m(t); }, 60, 17);
}
