// The code of docs/model.md.
#include "docs/pages.hpp"

// [model-includes]
#include <iostream>

#include "berth/topology/domain_tree_builder.hpp"
#include "berth/topology/graph/bisection.hpp"
#include "berth/topology/graph/compile.hpp"
#include "berth/topology/graph/derive.hpp"
#include "berth/topology/graph/fabric_graph.hpp"
#include "berth/topology/graph/node_graph.hpp"
// [end]

#include <string>
#include <vector>

#include "berth/cluster/cluster.hpp"
#include "berth/cluster/presets.hpp"
#include "berth/topology/graph/paths.hpp"

using berth_docs::check_output;
using berth_docs::printed;

TEST_SUITE("docs/model") {
  TEST_CASE("docs: bandwidth of two devices, and levels from it") {
    printed out;
    // [graph]
    const auto dgx1 = berth::make_node_graph("dgx1-v100");
    const berth::path_finder paths{*dgx1};
    const auto show = [&](berth::part_id a, berth::part_id b) {
      const berth::connection c = paths.between(a, b);
      std::cout << (*dgx1)[a].name << " - " << (*dgx1)[b].name << ": ";
      if (c.bandwidth) std::cout << c.bandwidth->count() << " GB/s, links crossed: " << c.links << '\n';
      else std::cout << (c.joined ? "joined, at an unknown rate\n" : "not joined\n");
    };
    show(0, 1);  // GPU i is vertex i: two NVLinks of 25 GB/s
    show(0, 3);  // one NVLink
    show(0, 7);  // no NVLink: PCIe switch, socket, socket, PCIe switch
    // [end]
    check_output("graph", out.text());
  }

  TEST_CASE("docs: levels of a machine") {
    printed out;
    // [levels]
    for (const char* id : {"dgx1-v100", "pcie-a100-8", "dgx-h100"}) {
      std::cout << id << '\n';
      for (const berth::derived_level& level : berth::derive_levels(*berth::make_node_graph(id))) {
        std::cout << "  " << level.bandwidth->count() << " GB/s:";
        for (const auto& domain : level.domains) {
          std::cout << " {";
          for (const auto gpu : domain) std::cout << ' ' << gpu;
          std::cout << " }";
        }
        std::cout << '\n';
      }
    }
    // [end]
    check_output("levels", out.text());
  }

  TEST_CASE("docs: from graph to shape") {
    printed out;
    // [shape]
    auto graph = *berth::make_node_graph("dgx-h100");
    const auto show = [](const berth::node_shape& s) {
      std::cout << s.devices << " GPUs, 0-1: " << s.bandwidth.between(0, 1)->count()
                << " GB/s, 2-3: " << s.bandwidth.between(2, 3)->count() << " GB/s\n";
    };
    show(*berth::compile_shape(graph));
    // GPU 0 loses the cable to one NVSwitch.
    const auto nvswitch = *berth::find_part(graph, berth::vertex_kind::nvswitch, 0);
    graph[boost::edge(0, nvswitch, graph).first].healthy = false;
    show(*berth::compile_shape(graph));
    // [end]
    check_output("shape", out.text());
  }

  TEST_CASE("docs: the tree of a fabric") {
    printed out;
    // [fabric]
    const auto spec = berth::parse_preset("rail:nodes=12,per-leaf=4");
    const auto fabric = berth::make_fabric(*spec);
    const auto derived = berth::derive_tree(fabric->graph);
    std::cout << berth::parts_of(fabric->graph, berth::vertex_kind::leaf).size() << " leaf switches, ";
    const berth::domain_tree& tree = derived->tree;
    for (std::uint8_t l = 0; l < tree.level_count(); ++l)
      std::cout << tree.domain_count(berth::level_id{l}) << " x " << tree.level_name(berth::level_id{l})
                << (l + 1 < tree.level_count() ? ", " : "\n");
    // [end]
    check_output("fabric", out.text());
  }

  TEST_CASE("docs: a declared tree") {
    printed out;
    // [tree]
    // Two roots of unlike depth, as in a site that grew.
    const std::vector<berth::domain_declaration> domains{
        {.name = "spine-a"}, {.name = "leaf-a0", .parent = 0}, {.name = "leaf-a1", .parent = 0}, {.name = "old-rack"}};
    const std::vector<std::uint32_t> node_domain{1, 1, 2, 3, 3};  // per node: the domain that it hangs on
    const auto built = berth::domain_tree_builder::build(domains, node_domain);
    const berth::domain_tree& tree = built->tree;
    for (std::uint8_t l = 0; l < tree.level_count(); ++l)
      std::cout << "level " << int{l} << " \"" << tree.level_name(berth::level_id{l})
                << "\": " << tree.domain_count(berth::level_id{l}) << '\n';
    for (std::uint32_t n = 0; n < tree.node_count(); ++n) {
      std::cout << "node " << n << ':';
      for (const auto& name : tree.path(berth::node_id{n})) std::cout << " / " << name;
      std::cout << '\n';
    }
    // [end]
    check_output("tree", out.text());
  }

  TEST_CASE("docs: the state of a node") {
    const auto spec = *berth::make_preset("leaf-spine:nodes=8,per-leaf=4");
    berth::cluster live{spec, {.jobs = 4, .tasks = 4}};
    printed out;
    // [state]
    const auto show = [&] {
      const berth::node_state& s = live.node(berth::node_id{0});
      std::cout << "free " << berth::count_bits(s.free) << ", held " << berth::count_bits(s.held) << ", unhealthy "
                << berth::count_bits(s.unhealthy) << ", " << s.cpu.count() / 1000 << " CPUs\n";
    };
    show();
    const berth::task_shape shape{.devices = 2, .cpu = berth::cpus(12)};
    const berth::task_placement task{.devices = 0b11, .node = berth::node_id{0}};
    if (!live.commit(berth::job_key{1}, {.tasks = {&task, 1}, .shapes = {&shape, 1}})) return;
    if (!live.set_device_health(berth::node_id{0}, 1, false)) return;  // held and broken: the job keeps it
    if (!live.set_device_health(berth::node_id{0}, 7, false)) return;
    show();
    if (!live.release(berth::job_key{1})) return;  // GPU 1 is not free afterwards: it is still broken
    show();
    // [end]
    check_output("state", out.text());
    CHECK(live.check_invariants());
  }

  TEST_CASE("docs: unknown is not zero") {
    printed out;
    // [unknown]
    const auto box = berth::make_plain_shape("some-box", 4, "l40s", berth::cpus(64), berth::gibibytes(512));
    std::cout << std::boolalpha << "known: " << box.bandwidth.between(0, 1).has_value() << '\n';
    // [end]
    check_output("unknown", out.text());
  }

  TEST_CASE("docs: bisection") {
    printed out;
    // [bisection]
    const auto graph = *berth::make_node_graph("dgx1-v100");
    const berth::path_finder paths{graph};
    const auto whole = berth::bisection(paths, {0, 1, 2, 3, 4, 5, 6, 7});
    const auto quad = berth::bandwidth_inside(paths, {0, 1, 2, 3});
    std::cout << "across the middle of the machine " << whole->bandwidth->count() << " GB/s, slowest pair of a quad "
              << quad.slowest->count() << " GB/s\n";
    // [end]
    check_output("bisection", out.text());
  }
}
