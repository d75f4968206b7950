// The catalogue's tables: complete, consistent, and what the generator writes from the JSON tables.
#include <doctest/doctest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <set>
#include <string>
#include <vector>

#include "berth/topology/catalogue/fabrics.hpp"
#include "berth/topology/catalogue/gpu_models.hpp"
#include "berth/topology/catalogue/node_graphs.hpp"
#include "berth/topology/catalogue/node_shapes.hpp"

using namespace berth;

// Tables and look-up are usable at compile time.
static_assert(catalogue::find_gpu_model("h100-sxm5-80gb")->nvlink->links == 18);
static_assert(catalogue::find_node_graph("dgx-h100")->gpus == 8);
static_assert(catalogue::find_fabric("superpod-h100")->scale.size() == 4);

TEST_SUITE("topology/catalogue") {
  TEST_CASE("29 GPU models with distinct ids; what no source states is empty, not 0") {
    std::set<std::string_view> ids;
    for (const auto& m : catalogue::gpu_models) {
      ids.insert(m.id);
      CHECK(m.memory_gb > 0);
      CHECK(m.sm_count > 0);
      CHECK(m.pcie_gbps > 0);
      if (m.memory_mib) CHECK(*m.memory_mib > 0);
      if (m.memory_gbps) CHECK(*m.memory_gbps > 0);
      if (m.nvlink) CHECK(m.nvlink->links > 0);
    }
    CHECK(ids.size() == 29);
    const auto* l40s = catalogue::find_gpu_model("l40s");
    REQUIRE(l40s != nullptr);
    CHECK_FALSE(l40s->nvlink.has_value());
    CHECK(l40s->mig_product == "");
    CHECK_FALSE(catalogue::find_gpu_model("gh200-144gb")->memory_mib.has_value());
    CHECK_FALSE(catalogue::find_gpu_model("h20-141gb")->memory_gbps.has_value());
    CHECK(catalogue::find_gpu_model("h100") == nullptr);
  }

  TEST_CASE("24 node graphs, each of GPUs that the catalogue knows; a GPU's NVLinks are those of its model") {
    std::set<std::string_view> ids;
    for (const auto& n : catalogue::node_graphs) {
      CAPTURE(n.id);
      ids.insert(n.id);
      const auto* model = catalogue::find_gpu_model(n.gpu);
      REQUIRE(model != nullptr);
      if (!model->nvlink || n.id == "gh200") continue;  // the single superchip leaves its ports unused
      std::vector<unsigned> links(n.gpus);
      for (const auto& w : n.wires) {
        if (w.kind != link_kind::nvlink) continue;
        REQUIRE(w.count.has_value());
        const unsigned as = w.a_last - w.a_first + 1u, bs = w.b_last - w.b_first + 1u;
        for (unsigned i = 0; i < as; ++i)
          for (unsigned j = 0; j < bs; ++j) {
            if (w.joins == catalogue::pattern::each && i / (as / bs) != j) continue;
            if (w.a == vertex_kind::gpu) links[w.a_first + i] += *w.count;
            if (w.b == vertex_kind::gpu) links[w.b_first + j] += *w.count;
          }
      }
      for (const auto l : links) CHECK(l == model->nvlink->links);
    }
    CHECK(ids.size() == 24);
    CHECK(ids.count(catalogue::nvl72_rack_id) == 1);
  }

  TEST_CASE("links between sockets of unknown rate are empty") {
    bool seen = false;
    for (const auto& w : catalogue::find_node_graph("gb200-tray")->wires)
      if (w.kind == link_kind::cpu_link) {
        seen = true;
        CHECK_FALSE(w.gbps.has_value());
      }
    CHECK(seen);
  }

  TEST_CASE("24 fabrics of machines that the catalogue has") {
    std::set<std::string_view> ids;
    for (const auto& f : catalogue::fabrics) {
      CAPTURE(f.id);
      ids.insert(f.id);
      CHECK(catalogue::find_node_graph(f.node) != nullptr);
      CHECK(!f.domains.empty());
      for (const auto& s : f.scale)
        if (s.nodes) CHECK(*s.nodes * f.gpus_per_node == s.gpus);
    }
    CHECK(ids.size() == 24);
    // Counts that were not found are empty.
    CHECK_FALSE(catalogue::find_fabric("superpod-gb200")->levels[1].down_ports.has_value());
  }

  TEST_CASE("23 shapes: one for every machine, none for the rack; memory is for the caller to give") {
    CHECK(catalogue_shape_names().size() == 23);
    CHECK_FALSE(catalogue_shape(catalogue::nvl72_rack_id).has_value());
    CHECK_FALSE(catalogue_shape("").has_value());
    for (const auto id : catalogue_shape_names()) {
      CAPTURE(id);
      const auto s = catalogue_shape(id);
      REQUIRE(s.has_value());
      CHECK(s->name == id);
      CHECK(s->models.size() == s->devices);
      CHECK(s->bandwidth.size() == s->devices);
      CHECK(s->memory.count() == 0);
      device_mask on_numa = 0;
      cpu_millis cpu{};
      for (const auto& n : s->numa) {
        CHECK((on_numa & n.devices) == 0);
        on_numa |= n.devices;
        cpu += n.cpu;
      }
      CHECK(on_numa == s->all_devices());
      CHECK(cpu == s->cpu);
      for (const auto& n : s->nics) CHECK((n.devices & ~s->all_devices()) == 0);
    }
  }

  TEST_CASE("figures of well-known machines") {
    const auto h100 = *catalogue_shape("dgx-h100");
    CHECK(h100.bandwidth.between(0, 7)->count() == 450);
    CHECK(h100.cpu == cpus(224));  // 2 x 56 cores, both hardware threads of each listed
    CHECK(h100.nics.size() == 10);
    CHECK(h100.nics[3].devices == bit(3));
    CHECK(h100.nics[3].rail == std::uint8_t{3});
    CHECK(h100.nics[3].rate->count() == 50);
    CHECK_FALSE(h100.nics[8].rail.has_value());
    CHECK(h100.nics[8].devices == 0x0f);  // a storage card on the root complex: all of its NUMA node
    const auto a100 = *catalogue_shape("dgx-a100-80gb");
    CHECK(a100.numa[3].devices == 0b11);  // GPU order is not NUMA order
    CHECK(a100.numa[0].devices == 0);
    const auto dgx1 = *catalogue_shape("dgx1-v100");
    CHECK(dgx1.bandwidth.between(0, 1)->count() == 50);
    CHECK(dgx1.bandwidth.between(0, 2)->count() == 25);
    CHECK(dgx1.bandwidth.between(0, 5)->count() == 6);  // over the sockets, not through GPU 1 or 4
    CHECK(dgx1.cpu == cpus(40));                        // the source lists no threads: cores
    CHECK(catalogue_shape("aws-p5")->nics.size() == 32);
  }

#ifdef BERTH_SOURCE_DIR
  TEST_CASE("the committed headers are what the generator writes, and --check notices a change") {
    namespace fs = std::filesystem;
    if (std::system("python3 --version > /dev/null 2>&1") != 0) {
      MESSAGE("no python3 here: not checked");
      return;
    }
    const fs::path root = BERTH_SOURCE_DIR;
    const auto check = [](const fs::path& at) {
      return std::system(
          ("python3 -B \"" + (at / ".catalogue" / "generate.py").string() + "\" --check 2> /dev/null").c_str());
    };
    CHECK(check(root) == 0);

    const fs::path copy = fs::path{BERTH_BINARY_DIR} / "catalogue-check";
    const fs::path headers = fs::path{"include"} / "berth" / "topology" / "catalogue";
    fs::remove_all(copy);
    fs::create_directories(copy / headers);
    fs::copy(root / ".catalogue", copy / ".catalogue");
    fs::copy(root / headers, copy / headers);
    std::ofstream{copy / headers / "gpu_models.hpp", std::ios::app} << "// edited by hand\n";
    CHECK(check(copy) != 0);
    fs::remove_all(copy);
  }
#endif
}
