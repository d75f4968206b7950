#include "berth/io/merge.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "berth/io/graphviz.hpp"
#include "berth/io/merge/expand_site.hpp"
#include "berth/io/merge/site_check.hpp"
#include "berth/io/merge/site_json.hpp"
#include "berth/topology/graph/paths.hpp"
#include "berth/topology/rails.hpp"

namespace {

using berth::machine_report;
using berth::part_id;
using berth::site_report;
using berth::topology_report;
using berth::vertex_kind;

constexpr auto root = berth::domain_declaration::no_parent;

machine_report named(const std::string& name, const std::string& file = "nodes") {
  machine_report m;
  m.name = name;
  m.place = {file, 1};
  return m;
}
site_report file_of(std::string name, std::vector<machine_report> machines) {
  site_report r;
  r.source = std::move(name);
  r.format = "test";
  r.machines = std::move(machines);
  return r;
}
/// `gpus` GPUs on one NVSwitch at `rate` each, a NUMA node with CPUs and one NIC.
berth::hardware_graph board(std::uint32_t gpus, double rate, std::uint64_t guid = 0) {
  berth::hardware_graph g;
  for (std::uint32_t i = 0; i < gpus; ++i) berth::add_part(g, vertex_kind::gpu, i);
  const auto nic = berth::add_part(g, vertex_kind::nic, 0), numa = berth::add_part(g, vertex_kind::numa, 0);
  const auto chip = berth::add_part(g, vertex_kind::nvswitch, 0);
  g[nic].name = "mlx5_0";
  if (guid != 0) g[nic].guid = guid;
  g[numa].cpu = berth::cpus(32);
  berth::link l;
  l.kind = berth::link_kind::nvlink;
  l.count = std::uint16_t{18};
  l.rate = berth::gigabytes_per_second{rate};
  berth::link pcie;
  pcie.kind = berth::link_kind::pcie;
  pcie.rate = berth::gigabytes_per_second{50};
  for (part_id i = 0; i < gpus; ++i) {
    berth::join(g, i, chip, l);
    berth::join(g, i, numa, pcie);
  }
  berth::join(g, nic, numa, pcie);
  return g;
}
machine_report inside(berth::hardware_graph g, const std::string& name = "", const std::string& file = "inside") {
  machine_report m = named(name, file);
  m.gpus = static_cast<unsigned>(berth::parts_of(g, vertex_kind::gpu).size());
  m.inside = std::move(g);
  return m;
}
/// `leaves[i]` names the machines of leaf i under one spine.
topology_report switches(const std::vector<std::vector<std::string>>& leaves) {
  topology_report t;
  t.place = {"switches", 1};
  t.domains.push_back({"top", root, ""});
  for (std::size_t i = 0; i < leaves.size(); ++i) {
    t.domains.push_back({"s" + std::to_string(i), 0, ""});
    for (const auto& n : leaves[i]) t.members.push_back({n, static_cast<std::uint32_t>(i + 1)});
  }
  return t;
}
topology_report trays(const std::vector<std::vector<std::string>>& domains) {
  topology_report t;
  t.place = {"cliques", 1};
  t.what = topology_report::kind::nvlink;
  for (std::size_t i = 0; i < domains.size(); ++i) {
    t.domains.push_back({"rack" + std::to_string(i), root, ""});
    for (const auto& n : domains[i]) t.members.push_back({n, static_cast<std::uint32_t>(i)});
  }
  return t;
}
bool any(const std::vector<std::string>& all, const std::string& part) {
  return std::any_of(all.begin(), all.end(), [&](const auto& s) { return s.find(part) != s.npos; });
}
bool any_conflict(const berth::site& s, const std::string& part) {
  return std::any_of(s.conflicts.begin(), s.conflicts.end(),
                     [&](const auto& c) { return c.text().find(part) != std::string::npos; });
}
std::vector<std::string> levels(const berth::site& s) {
  std::vector<std::string> out;
  for (std::uint8_t l = 0; l < s.spec.tree.level_count(); ++l)
    out.push_back(s.spec.tree.level_name(berth::level_id{l}));
  return out;
}
bool has_finding(const std::vector<berth::site_finding>& all, const std::string& kind) {
  return std::any_of(all.begin(), all.end(), [&](const auto& f) { return f.kind == kind; });
}
/// Switch "leaf" with one NIC of each machine: {machine or "", GUID}.
berth::fabric_report cables(const std::vector<std::pair<std::string, std::uint64_t>>& nics) {
  berth::fabric_report f;
  f.place = {"fabric", 1};
  const auto leaf = berth::add_part(f.graph, vertex_kind::leaf, 0);
  f.graph[leaf].name = "leaf";
  f.graph[leaf].guid = 0xFFU;
  for (const auto& [name, guid] : nics) {
    const auto nic = berth::add_part(f.graph, vertex_kind::nic, 0);
    f.graph[nic].guid = guid;
    f.graph[nic].name = "mlx5_0";
    berth::link l;
    l.kind = berth::link_kind::infiniband;
    l.rate = berth::gigabytes_per_second{50};
    berth::join(f.graph, nic, leaf, l);
    if (name.empty()) continue;
    const auto node = berth::add_part(f.graph, vertex_kind::node, 0);
    f.graph[node].name = name;
    berth::link slot;
    slot.kind = berth::link_kind::pcie;
    berth::join(f.graph, node, nic, slot);
  }
  return f;
}

TEST_SUITE("io/merge") {
  TEST_CASE("merge: machines are joined by name, alias and the part before the first dot") {
    auto slurm = named("n1", "slurm.conf");
    slurm.cpu = berth::cpus(64);
    slurm.gpus = 8;
    slurm.labels = {"slurm"};
    auto kube = named("n1.cluster.example", "nodes.json");
    kube.memory = berth::gibibytes(100);
    kube.cpu = berth::cpus(60);
    kube.labels = {"zone=a"};
    auto cloud = named("i-0abc", "cloud.json");
    cloud.aliases = {"n1.cluster.example"};
    cloud.gpu_model = "h100-sxm5-80gb";
    const auto s = berth::merge_site({file_of("a", {slurm}), file_of("b", {kube}), file_of("c", {cloud})});
    REQUIRE(s.has_value());
    REQUIRE(s->spec.nodes.size() == 1);
    CHECK(s->spec.nodes[0].name == "n1");
    CHECK(s->spec.nodes[0].cpu == berth::cpus(60));  // no file grants more
    CHECK(s->spec.nodes[0].memory == berth::gibibytes(100));
    CHECK(s->spec.nodes[0].labels == std::vector<std::string>{"slurm", "zone=a"});
    CHECK(s->conflicts.empty());
    // Every machine of the catalogue with 8 of these GPUs joins them alike, so that much is known.
    CHECK(s->spec.shapes[0].bandwidth.between(0, 7) == berth::gigabytes_per_second{450});
    CHECK(any(s->spec.assumptions, "all machines of the catalogue"));
  }
  TEST_CASE("merge: an unnamed inside goes to all machines that it fits, and is said to") {
    auto a = named("n1"), b = named("n2"), login = named("login");
    a.gpus = 4;
    b.gpus = 4;
    login.gpus = 0;
    const auto s = berth::merge_site({file_of("nodes", {a, b, login}), file_of("topo", {inside(board(4, 100))})});
    REQUIRE(s.has_value());
    REQUIRE(s->spec.nodes.size() == 3);
    CHECK(s->spec.shapes[s->spec.nodes[0].shape.index()].bandwidth.between(0, 3) == berth::gigabytes_per_second{100});
    CHECK(s->spec.nodes[0].shape == s->spec.nodes[1].shape);
    CHECK(s->spec.shapes[s->spec.nodes[2].shape.index()].devices == 0);
    CHECK(any(s->spec.assumptions, "2 nodes (n[1-2]): taken to be inside as inside shows one machine."));
  }
  TEST_CASE("merge: an unnamed inside that fits nothing is reported; NODE=FILE and patterns say whose it is") {
    auto a = named("n1"), b = named("n2");
    a.gpus = 8;
    const std::vector<site_report> files{file_of("nodes", {a, b}), file_of("topo", {inside(board(4, 100))})};
    berth::merge_options o;
    o.machine_of = {"", "n2"};
    const auto one = berth::merge_site(files, o);
    REQUIRE(one.has_value());
    CHECK(one->spec.shapes[one->spec.nodes[1].shape.index()].devices == 4);
    o.machine_of = {"", "n?"};
    const auto both = berth::merge_site(files, o);
    REQUIRE(both.has_value());
    CHECK(any_conflict(*both, "stated to have 8 GPUs and shows 4"));
    o.machine_of = {"", "x*"};
    const auto none = berth::merge_site(files, o);
    REQUIRE(!none.has_value());
    CHECK(none.error().found.find("'x*'") != std::string::npos);
    b.gpus = 8;
    const auto alien = berth::merge_site({file_of("nodes", {a, b}), file_of("topo", {inside(board(4, 100))})});
    REQUIRE(alien.has_value());
    CHECK(any_conflict(*alien, "like none of the other files' machines"));
  }
  TEST_CASE("merge: unnamed insides alone are one machine each kind, joined by bus id") {
    auto wiring = board(2, 100), list = berth::hardware_graph{};
    for (part_id i = 0; i < 2; ++i) {
      berth::add_part(list, vertex_kind::gpu, static_cast<std::uint32_t>(i));
      wiring[i].bus_id = i == 0 ? "0000:1b:00.0" : "0000:3d:00.0";
      list[i].bus_id = i == 0 ? "0000:3d:00.0" : "0000:1b:00.0";  // in another order
      list[i].uuid = i == 0 ? "GPU-b" : "GPU-a";
      list[i].model = "l40s";
    }
    const auto s = berth::merge_site({file_of("list", {inside(list)}), file_of("topo", {inside(wiring)})});
    REQUIRE(s.has_value());
    REQUIRE(s->spec.nodes.size() == 1);
    const auto& g = s->net.shapes[0];
    CHECK(g[0].uuid == "GPU-a");
    CHECK(g[1].uuid == "GPU-b");
    CHECK(g[0].model == "l40s");
    CHECK(s->conflicts.empty());
    const auto two = berth::merge_site({file_of("a", {inside(board(2, 100))}), file_of("b", {inside(board(4, 100))})});
    REQUIRE(two.has_value());
    CHECK(two->spec.nodes.size() == 2);
  }
  TEST_CASE("merge: two files that tell one machine apart from itself are a conflict with both places") {
    auto a = inside(board(2, 100), "n1", "one"), b = inside(board(2, 60), "n1", "two");
    a.inside->operator[](0).model = "l40s";
    b.inside->operator[](0).model = "a100-sxm4-80gb";
    const auto s = berth::merge_site({file_of("one", {a}), file_of("two", {b})});
    REQUIRE(s.has_value());
    CHECK(any_conflict(*s, "one:1, two:1: machine n1 gpu0 is a l40s in one file and a a100-sxm4-80gb in the other"));
    CHECK(any_conflict(*s, "gpu0 and gpu1: 100 and 60 GB/s"));
    CHECK(s->spec.shapes[0].bandwidth.between(0, 1) == berth::gigabytes_per_second{100});
    CHECK(has_finding(berth::check_site(*s), "conflict"));
  }
  TEST_CASE("merge: the GPUs' model from another file rates the links of a table that counts them") {
    // Two GPUs with two NVLinks under one NUMA node, as topo -m tells it.
    berth::hardware_graph g;
    for (std::uint32_t i = 0; i < 2; ++i) berth::add_part(g, vertex_kind::gpu, i);
    const auto numa = berth::add_part(g, vertex_kind::numa, 0);
    berth::link nv, pcie;
    nv.kind = berth::link_kind::nvlink;
    nv.count = std::uint16_t{2};
    pcie.kind = berth::link_kind::pcie;
    berth::join(g, 0, 1, nv);
    for (part_id i = 0; i < 2; ++i) berth::join(g, i, numa, pcie);
    auto table = inside(g, "n1", "topo.txt");
    table.rates_by_model = true;
    auto label = named("n1", "nodes.json");
    label.gpu_model = "v100-sxm2-32gb";
    berth::hardware_graph bare;
    for (std::uint32_t i = 0; i < 2; ++i) bare[berth::add_part(bare, vertex_kind::gpu, i)].model = label.gpu_model;
    const auto list = inside(bare, "n1", "list.txt");
    using rate = std::optional<berth::gigabytes_per_second>;
    const auto of = [](const berth::site& s) { return s.spec.shapes[0].bandwidth.between(0, 1); };
    for (const auto& other : {label, list})
      for (const bool first : {true, false}) {
        const auto a = file_of("a", {first ? table : other}), b = file_of("b", {first ? other : table});
        const auto s = berth::merge_site({a, b});
        REQUIRE(s.has_value());
        CHECK(of(*s) == rate{berth::gigabytes_per_second{50}});
        CHECK(s->conflicts.empty());
        CHECK(any(s->spec.assumptions, "every PCIe link is taken as Gen3 x16, as v100-sxm2-32gb has"));
        const auto& in = s->net.shapes[0];
        CHECK(in[boost::edge(0, 2, in).first].rate == rate{berth::gigabytes_per_second{15.75}});
      }
    CHECK(!of(*berth::merge_site({file_of("a", {table})})));
    // Where a graph is no whole table, PCIe stays as it is: the NVLinks beside it may not be told.
    auto part = table;
    part.rates_by_model = false;
    boost::remove_edge(0, 1, *part.inside);
    CHECK(!of(*berth::merge_site({file_of("a", {part}), file_of("b", {label})})));
    // More NVLinks than the model has.
    (*table.inside)[boost::edge(0, 1, *table.inside).first].count = std::uint16_t{18};
    const auto wrong = berth::merge_site({file_of("a", {table}), file_of("b", {label})});
    REQUIRE(wrong.has_value());
    CHECK(any_conflict(*wrong,
                       "topo.txt:1, nodes.json:1: machine n1 has 18 NVLinks at gpu0, and a v100-sxm2-32gb has at "
                       "most 6; their rate stays unknown"));
  }
  TEST_CASE("merge: the fabric's NICs are joined to machines by GUID, and give the tree") {
    auto r = file_of("fabric", {});
    r.fabrics.push_back(cables({{"n1", 1}, {"", 2}, {"", 9}}));
    const auto sw = berth::add_part(r.fabrics[0].graph, vertex_kind::node, 7);
    r.fabrics[0].graph[sw].name = "aggregation";
    r.fabrics[0].not_hosts.push_back(sw);
    const auto s = berth::merge_site({r, file_of("n1", {inside(board(8, 450, 1), "n1", "n1")}),
                                      file_of("n2", {inside(board(8, 450, 2), "n2", "n2")}),
                                      file_of("n3", {inside(board(8, 450, 3), "n3", "n3")})});
    REQUIRE(s.has_value());
    REQUIRE(s->spec.nodes.size() == 3);
    CHECK(s->has_fabric);
    CHECK(s->off_fabric == std::vector<std::string>{"n3"});
    CHECK(any(s->spec.assumptions, "1 NIC on the fabric names no host"));
    CHECK(has_finding(berth::check_site(*s), "missing_from_fabric"));
    // Two machines of the leaf: 50 GB/s through their NICs.
    const auto full = berth::expand_site(*s, {0, 1});
    const auto c = berth::between(full.graph, full.gpus[0][0], full.gpus[1][7]);
    REQUIRE(c.bandwidth.has_value());
    CHECK(c.bandwidth->count() == doctest::Approx(50));
  }
  TEST_CASE("merge: uplinks of domains by their cables, rails by the NICs' leaves") {
    // Two leaves of one rail each serve n1 and n2, two more n3; every leaf has two cables to the spine, one of them
    // dead.
    auto r = file_of("fabric", {});
    r.fabrics.emplace_back();
    auto& g = r.fabrics[0].graph;
    const auto spine = berth::add_part(g, vertex_kind::spine, 0);
    g[spine].name = "top";
    const auto cable = [&](double rate, std::optional<std::uint8_t> rail = {}) {
      berth::link l;
      l.kind = berth::link_kind::infiniband;
      l.rate = berth::gigabytes_per_second{rate};
      l.rail = rail;
      return l;
    };
    for (std::uint32_t pod = 0; pod < 2; ++pod)
      for (std::uint8_t rail = 0; rail < 2; ++rail) {
        const auto leaf = berth::add_part(g, vertex_kind::leaf, pod * 2 + rail);
        g[leaf].rail = rail;
        berth::join(g, leaf, spine, cable(100 + 10 * pod));
        auto dead = cable(100);
        dead.healthy = false;
        berth::join(g, leaf, spine, dead);
        for (std::uint32_t n = pod == 0 ? 1 : 3; n <= (pod == 0 ? 2U : 3U); ++n) {
          const auto nic = berth::add_part(g, vertex_kind::nic, rail);
          g[nic].name = "mlx5_" + std::to_string(rail);
          const auto known = berth::find_part(g, vertex_kind::node, n);
          const auto node = known ? *known : berth::add_part(g, vertex_kind::node, n);
          g[node].name = "n" + std::to_string(n);
          berth::join(g, node, nic, cable(1));
          berth::join(g, nic, leaf, cable(50, rail));
        }
      }
    // Inside, GPU i hangs on NIC i's switch; a third NIC is on no fabric.
    berth::hardware_graph in;
    for (std::uint32_t i = 0; i < 2; ++i) berth::add_part(in, vertex_kind::gpu, i);
    for (std::uint32_t i = 0; i < 2; ++i) {
      const auto sw = berth::add_part(in, vertex_kind::pcie_switch, i);
      const auto nic = berth::add_part(in, vertex_kind::nic, 1 - i);
      in[nic].name = "mlx5_" + std::to_string(1 - i);
      berth::join(in, i, sw, cable(25));
      berth::join(in, nic, sw, cable(25));
    }
    in[berth::add_part(in, vertex_kind::nic, 2)].name = "mlx5_2";
    const auto s = berth::merge_site({r, file_of("boxes", {inside(in)})});
    REQUIRE(s.has_value());
    REQUIRE(s->spec.nodes.size() == 3);
    const auto& up = s->spec.uplinks;
    REQUIRE(up.levels.size() == s->spec.tree.level_count());
    const auto leaf = s->spec.tree.leaf_level();
    CHECK(up.levels[leaf.index()].planes == 2);
    using rate = std::optional<berth::gigabytes_per_second>;
    const auto gb = [](double v) { return rate{berth::gigabytes_per_second{v}}; };
    CHECK(up.levels[leaf.index()].rates == std::vector<rate>{gb(100), gb(100), gb(110), gb(110)});
    const auto& shape = s->spec.shapes[s->spec.nodes[0].shape.index()];
    CHECK(berth::rail_of(shape, 0) == std::uint8_t{1});
    CHECK(berth::rail_of(shape, 1) == std::uint8_t{0});
    CHECK(berth::nic_share(shape) == berth::bytes_per_second{50'000'000'000});
    // Through our JSON, alone and beside another file.
    const auto again = berth::read_site_json({"again.json", berth::write_site_json(*s)});
    REQUIRE_MESSAGE(again.has_value(), again.error().message());
    CHECK(again->spec.uplinks.levels[leaf.index()].rates == up.levels[leaf.index()].rates);
    auto stated = *again;
    stated.spec.uplinks.usable_permille = 950;
    stated.spec.uplinks.levels[leaf.index()].rates[0] = gb(7);
    const auto merged =
        berth::merge_site({berth::report_of_site(stated, "site.json"), file_of("labels", {named("n1")})});
    REQUIRE(merged.has_value());
    CHECK(merged->spec.uplinks.usable_permille == 950);
    CHECK(merged->spec.uplinks.levels[leaf.index()].rates == std::vector<rate>{gb(7), gb(100), gb(110), gb(110)});
    // An inside whose NICs are not those of the fabric: no rail is guessed.
    auto other = in;
    for (const auto v : berth::parts_of(other, vertex_kind::nic)) other[v].name = "eth" + std::to_string(v);
    const auto unlike = berth::merge_site({r, file_of("boxes", {inside(other)})});
    REQUIRE(unlike.has_value());
    CHECK(any(unlike->spec.assumptions, "the fabric shows 2 NICs and the inside 3"));
    CHECK(berth::nic_share(unlike->spec.shapes[0]) == berth::bytes_per_second{});
  }
  TEST_CASE("merge: the same cables in two files are not doubled") {
    auto a = file_of("a", {}), b = file_of("b", {});
    a.fabrics.push_back(cables({{"n1", 1}, {"n2", 2}}));
    b.fabrics.push_back(cables({{"n1", 1}, {"n2", 2}}));
    const auto s = berth::merge_site({a, b});
    REQUIRE(s.has_value());
    CHECK(s->spec.nodes.size() == 2);
    CHECK(boost::num_edges(s->net.graph) == 2);
    CHECK(s->hardware_known == std::vector<char>{0, 0});
    berth::merge_options o;
    o.hardware_needed = true;
    const auto needed = berth::merge_site({a, b}, o);
    REQUIRE(!needed.has_value());
    CHECK(needed.error().found == "node n1, whose hardware no file states");
  }
  TEST_CASE("merge: NVLink domains go below the leaves, between levels, or across") {
    std::vector<machine_report> all;
    for (int i = 1; i <= 8; ++i) {
      auto m = named("n" + std::to_string(i));
      m.gpus = 4;
      all.push_back(m);
    }
    const auto with = [&](const std::vector<std::vector<std::string>>& racks) {
      auto r = file_of("nodes", all);
      r.topologies = {switches({{"n1", "n2", "n3", "n4"}, {"n5", "n6"}, {"n7", "n8"}}), trays(racks)};
      auto s = berth::merge_site({r});
      REQUIRE(s.has_value());
      return std::move(*s);
    };
    const auto below = with({{"n1", "n2"}, {"n3", "n4"}, {"n5", "n6"}, {"n7", "n8"}});
    CHECK(levels(below) == std::vector<std::string>{"cluster", "spine", "leaf", "nvlink"});
    CHECK(below.nvlink[0] == "rack0");
    const auto between = with({{"n1", "n2", "n3", "n4"}, {"n5", "n6", "n7", "n8"}});
    CHECK(levels(between) == std::vector<std::string>{"cluster", "spine", "nvlink", "leaf"});
    // Machines in no NVLink domain share none, whatever switch they share.
    const auto some = with({{"n1", "n2"}});
    REQUIRE(levels(some) == std::vector<std::string>{"cluster", "spine", "leaf", "nvlink"});
    CHECK(some.spec.tree.domain_count(berth::level_id{3}) == 7);
    const auto across = with({{"n1", "n2"}, {"n3", "n5", "n6"}, {"n4", "n7", "n8"}});
    CHECK(levels(across) == std::vector<std::string>{"cluster", "spine", "leaf", "nvlink"});
    CHECK(any(across.spec.assumptions, "do not nest"));
    CHECK(across.spec.nodes[0].labels == std::vector<std::string>{"nvlink=rack0"});
  }
  TEST_CASE("merge: the preferred topology is used, others are named, the cables are compared with it") {
    auto r = file_of("nodes", {named("n1"), named("n2"), named("n3")});
    for (auto& m : r.machines) m.gpus = 1;
    r.topologies = {switches({{"n1", "n2"}, {"n3"}}), switches({{"n1"}, {"n2", "n3"}})};
    r.topologies[0].preferred = false;
    r.topologies[0].name = "old";
    auto f = file_of("fabric", {});
    f.fabrics.push_back(cables({{"n1", 1}, {"n2", 2}}));
    f.fabrics.push_back(cables({{"n3", 3}}));
    f.fabrics[1].graph[0].guid = 0xEEU;
    f.fabrics[1].graph[0].name = "leaf2";
    const auto s = berth::merge_site({r, f});
    REQUIRE(s.has_value());
    CHECK(s->spec.tree.path(berth::node_id{1}).back() == "s1");
    CHECK(any(s->spec.assumptions, "topology 'old' of switches is not the one used"));
    CHECK(any_conflict(*s, "the declared topology and the cables differ for 1 machine"));
  }
  TEST_CASE("merge: machines off the topology are left out without GPUs and kept apart with them") {
    auto r = file_of("nodes", {named("n1"), named("n2"), named("login"), named("lone")});
    for (auto& m : r.machines) m.gpus = m.name == "login" ? 0U : 1U;
    r.topologies = {switches({{"n1", "n2"}})};
    const auto s = berth::merge_site({r});
    REQUIRE(s.has_value());
    CHECK(s->spec.nodes.size() == 3);
    CHECK(any(s->spec.assumptions, "1 node (login): under no switch and without GPUs; left out."));
    CHECK(any(s->spec.assumptions, "1 node (lone): in no domain of the topology"));
    CHECK(s->spec.tree.domain_count(s->spec.tree.leaf_level()) == 2);
  }
  TEST_CASE("merge: holdings that cannot be are left out and reported") {
    auto r = file_of("nodes", {named("n1")});
    r.machines[0].gpus = 2;
    r.machines[0].unhealthy = 2;
    r.held = {{{"q", 1}, "a", "n1", berth::device_mask{1}, 1, {}, {}},
              {{"q", 2}, "b", "n1", berth::device_mask{1}, 1, {}, {}},
              {{"q", 3}, "c", "n1", std::nullopt, 1, {}, {}},
              {{"q", 4}, "d", "n9", std::nullopt, 1, {}, {}}};
    const auto s = berth::merge_site({r});
    REQUIRE(s.has_value());
    REQUIRE(s->held.held.size() == 2);
    CHECK(s->held.held[1].devices == 2);
    CHECK(s->held.unhealthy.size() == 1);
    CHECK(any_conflict(*s, "q:2: job 'b' on machine n1"));
    CHECK(any_conflict(*s, "q:4: job 'd' on machine n9"));
    CHECK(any(s->spec.assumptions, "the lowest free ones are taken"));
    CHECK(has_finding(berth::check_site(*s), "broken_gpu"));
  }
  TEST_CASE("merge: a topology that is no tree is an error at its place") {
    auto r = file_of("nodes", {});
    r.topologies = {switches({{"n1"}})};
    r.topologies[0].domains[0].parent = 1;
    r.topologies[0].domain_places = {{"t.conf", 4}, {"t.conf", 5}};
    const auto s = berth::merge_site({r});
    REQUIRE(!s.has_value());
    CHECK(s.error().message().find("t.conf:") == 0);
    CHECK(s.error().found.find("a cycle") == 0);
    CHECK(berth::merge_site({file_of("empty", {})}).error().found == "no machine");
  }
  TEST_CASE("merge: our JSON holds a whole site; what is read again is the same") {
    auto r =
        file_of("fabric", {inside(board(8, 450, 1), "n1", "n1"), inside(board(8, 450, 2), "n2", "n2"), named("n3")});
    r.machines[1].inside->operator[](3).healthy = false;
    r.machines[1].usable = false;
    r.fabrics.push_back(cables({{"n1", 1}, {"n2", 2}}));
    r.topologies.push_back(trays({{"n1", "n2"}}));
    r.held.push_back({{"q", 1}, "a", "n1", berth::device_mask{5}, 2, berth::cpus(3), berth::bytes{}});
    r.machines[0].cpu = berth::cpus(30);
    const auto s = berth::merge_site({r});
    REQUIRE(s.has_value());
    const std::string text = berth::write_site_json(*s);
    const auto again = berth::read_site_json({"again.json", text});
    REQUIRE_MESSAGE(again.has_value(), again.error().message());
    CHECK(berth::write_site_json(*again) == text);
    CHECK(again->ports == s->ports);
    CHECK(again->nvlink == s->nvlink);
    CHECK(boost::num_edges(again->net.graph) == boost::num_edges(s->net.graph));
    CHECK(again->spec.shapes.size() == s->spec.shapes.size());
    // Beside other files it is one more report: the same again.
    const auto merged = berth::merge_site({berth::report_of_site(*again, "again.json"), file_of("labels", {[] {
                                                                                                  auto m = named("n1");
                                                                                                  m.labels = {"rack=7"};
                                                                                                  return m;
                                                                                                }()})});
    REQUIRE(merged.has_value());
    CHECK(merged->spec.nodes.size() == s->spec.nodes.size());
    CHECK(std::count(merged->spec.nodes[0].labels.begin(), merged->spec.nodes[0].labels.end(), "rack=7") == 1);
    CHECK(merged->held.held.size() == 1);
    CHECK(berth::write_graphviz_text(s->net.graph).find("label=\"n1") != std::string::npos);
  }
  TEST_CASE("check: what looks wrong inside machines and between leaves") {
    auto g = board(4, 100);
    boost::remove_edge(2, 6, g);  // gpu2 has lost its NVLinks
    auto a = inside(g, "n1");
    auto far = berth::hardware_graph{};
    for (std::uint32_t i = 0; i < 2; ++i) berth::add_part(far, vertex_kind::gpu, i);
    const auto nic = berth::add_part(far, vertex_kind::nic, 0);
    const auto n0 = berth::add_part(far, vertex_kind::numa, 0), n1 = berth::add_part(far, vertex_kind::numa, 1);
    berth::link pcie, upi;
    pcie.kind = berth::link_kind::pcie;
    upi.kind = berth::link_kind::upi;
    berth::join(far, 0, n0, pcie);
    berth::join(far, 1, n1, pcie);
    berth::join(far, nic, n0, pcie);
    berth::join(far, n0, n1, upi);
    auto r = file_of("nodes", {a, inside(far, "n2"), named("n3"), named("n4"), named("n5")});
    for (auto& m : r.machines)
      if (!m.gpus) m.gpus = 1;
    r.topologies = {switches({{"n1", "n2", "n3", "n4"}, {"n5"}})};
    const auto s = berth::merge_site({r});
    REQUIRE(s.has_value());
    const auto all = berth::check_site(*s);
    CHECK(has_finding(all, "fewer_nvlinks"));
    CHECK(has_finding(all, "far_nic"));
    CHECK(has_finding(all, "unbalanced_leaves"));
    for (const auto& f : all)
      if (f.kind == "far_nic")
        CHECK(f.text == "1 machine (n2): gpu1 is on numa1, which has no NIC; the NICs are on numa0");
  }
}

}  // namespace
