#include <doctest/doctest.h>

#include <algorithm>
#include <cstdio>
#include <map>
#include <string>
#include <vector>

#include "berth/io/fabric/adapter_lists.hpp"
#include "berth/io/fabric/iblinkinfo.hpp"
#include "berth/io/fabric/ibnetdiscover.hpp"
#include "berth/io/fabric/ibsim_net.hpp"
#include "berth/io/fabric/ibswinfo.hpp"
#include "berth/io/fabric/machine_links.hpp"
#include "berth/io/fabric/opensm_subnet.hpp"
#include "berth/topology/graph/derive.hpp"
#include "io/broken_text.hpp"

namespace {

using berth::vertex_kind;
using report = berth::expected<berth::site_report, berth::input_error>;
using reader = report (*)(const berth::named_text&, const berth::reader_options&);

struct format {
  const char* name;
  bool (*looks)(std::string_view) noexcept;
  reader read;
};
const format formats[] = {
    {"ibnetdiscover", berth::looks_like_ibnetdiscover, berth::read_ibnetdiscover},
    {"iblinkinfo", berth::looks_like_iblinkinfo, berth::read_iblinkinfo},
    {"opensm", berth::looks_like_opensm_subnet, berth::read_opensm_subnet},
    {"ibsim", berth::looks_like_ibsim_net, berth::read_ibsim_net},
    {"ibswinfo", berth::looks_like_ibswinfo, berth::read_ibswinfo},
    {"adapters", berth::looks_like_adapter_list, berth::read_adapter_list},
};

/// Reads with the one reader that takes the text for its own.
report read(const berth::named_text& file, std::string* which = nullptr) {
  const format* mine = nullptr;
  for (const auto& f : formats) {
    if (!f.looks(file.text)) continue;
    REQUIRE_MESSAGE(mine == nullptr, file.name << " looks like " << mine->name << " and " << f.name);
    mine = &f;
  }
  REQUIRE_MESSAGE(mine != nullptr, file.name << " looks like nothing");
  if (which != nullptr) *which = mine->name;
  return mine->read(file, {});
}
berth::site_report good(const berth::named_text& file) {
  auto r = read(file);
  REQUIRE_MESSAGE(r.has_value(), r.error().message());
  return std::move(*r);
}
std::size_t count(const berth::fabric_report& f, vertex_kind k) {
  return berth::parts_of(f.graph, k).size();
}
/// The name of a part; of an adapter with its machine, as "host/mlx5_0".
std::string full_name(const berth::hardware_graph& g, berth::part_id v) {
  if (g[v].kind == vertex_kind::nic)
    for (auto [e, end] = boost::out_edges(v, g); e != end; ++e)
      if (g[boost::target(*e, g)].kind == vertex_kind::node) return g[boost::target(*e, g)].name + "/" + g[v].name;
  return g[v].name;
}
std::optional<berth::part_id> named(const berth::fabric_report& f, std::string_view name) {
  for (berth::part_id v = 0; v < boost::num_vertices(f.graph); ++v)
    if (full_name(f.graph, v) == name) return v;
  return std::nullopt;
}
bool says(const berth::site_report& r, std::string_view part) {
  for (const auto& a : r.assumptions)
    if (a.find(part) != a.npos) return true;
  return false;
}
/// Everything about a fabric in words, in an order of its own.
std::string words(const berth::fabric_report& f) {
  std::vector<std::string> lines;
  const auto& g = f.graph;
  for (berth::part_id v = 0; v < boost::num_vertices(g); ++v)
    lines.push_back(std::string{berth::to_string(g[v].kind)} + " " + full_name(g, v) + " guid " +
                    (g[v].guid ? std::to_string(*g[v].guid) : "?") + " rail " +
                    (g[v].rail ? std::to_string(*g[v].rail) : "?"));
  for (auto [e, end] = boost::edges(g); e != end; ++e) {
    std::string a = full_name(g, boost::source(*e, g)), b = full_name(g, boost::target(*e, g));
    if (b < a) std::swap(a, b);
    lines.push_back(a + " -- " + b + " x" + (g[*e].count ? std::to_string(*g[*e].count) : "?") + " " +
                    (g[*e].rate ? std::to_string(g[*e].rate->count()) : "?") + (g[*e].healthy ? "" : " broken"));
  }
  std::sort(lines.begin(), lines.end());
  std::string out;
  for (const auto& l : lines) out += l + "\n";
  return out;
}

TEST_SUITE("io/fabric") {
  TEST_CASE("ibnetdiscover: a DGX SuperPOD has 121 hosts, 31 leaves in 4 rails, 9 spines and doubled uplinks") {
    const auto r = good(broken::input("infiniband/dgx-superpod-ndr.ibnetdiscover"));
    REQUIRE(r.fabrics.size() == 1);
    const auto& f = r.fabrics[0];
    const auto& g = f.graph;
    CHECK(count(f, vertex_kind::node) == 121);
    CHECK(count(f, vertex_kind::nic) == 582);
    CHECK(count(f, vertex_kind::leaf) == 31);
    CHECK(count(f, vertex_kind::spine) == 9);
    CHECK(count(f, vertex_kind::core) == 0);
    CHECK(f.not_hosts.size() == 40);
    std::size_t inside = 0, cables = 0, bundles = 0, doubled = 0, trunks = 0;
    for (auto [e, end] = boost::edges(g); e != end; ++e) {
      if (g[*e].kind == berth::link_kind::pcie) {
        ++inside;
        continue;
      }
      ++bundles;
      cables += *g[*e].count;
      REQUIRE(g[*e].rate.has_value());
      CHECK(g[*e].rate->count() == 50.0 * *g[*e].count);
      doubled += *g[*e].count == 2 ? 1U : 0U;
      const auto a = boost::source(*e, g), b = boost::target(*e, g);
      if (berth::is_network_switch(g[a].kind) && berth::is_network_switch(g[b].kind)) trunks += *g[*e].count;
    }
    CHECK(inside == 470);  // adapters with a host name
    CHECK(cables == 1114);
    CHECK(bundles == 851);
    CHECK(doubled == 263);
    CHECK(trunks == 532);
    // Three of them call themselves localhost.
    CHECK(says(r, "72 adapters without a host name"));
    CHECK(says(r, "40 adapters inside switches"));
    CHECK(says(r, "4 rails"));
    // Adapter n of a machine is rail n, whatever the driver calls it; a leaf of the fourth rail serves mlx5_5 and
    // HCA-6.
    CHECK(g[*named(f, "A09-P1-IBLEAF-01-01")].rail == 0);
    CHECK(g[*named(f, "B09-P1-IBLEAF-02-05")].rail == 1);
    CHECK(g[*named(f, "A09-P1-IBLEAF-03-04")].rail == 2);
    CHECK(g[*named(f, "A09-P1-IBLEAF-04-04")].rail == 3);
    CHECK(g[*named(f, "A09-P1-IBLEAF-04-01")].rail == 3);
    CHECK(g[*named(f, "a08-p1-dgx-04-c01/mlx5_5")].guid == 0xe09d7303007a4bd8);
    CHECK(g[*named(f, "a08-p1-dgx-04-c01/mlx5_5")].rate->count() == 50);
    CHECK(g[*named(f, "A10-P1-IBSPINE-02")].kind == vertex_kind::spine);
    CHECK(g[*named(f, "A10-P1-IBSPINE-02")].guid == 0x2c5eab0300c26280);
    // The leaves that serve the same machines are one domain: eight scalable units.
    const auto tree = berth::derive_tree(berth::machine_links(f));
    REQUIRE(tree.has_value());
    CHECK(tree->cut_off.empty());
    CHECK(tree->tree.node_count() == 121);
    CHECK(tree->tree.level_name(tree->tree.leaf_level()) == "leaf");
    CHECK(tree->tree.domain_count(tree->tree.leaf_level()) == 8);
  }
  TEST_CASE("ibnetdiscover: the cards of a director switch are levels of their own, aggregation nodes are no hosts") {
    const auto r = good(broken::input("infiniband/hdr-modular.ibnetdiscover"));
    const auto& f = r.fabrics.at(0);
    CHECK(count(f, vertex_kind::node) == 10);
    CHECK(count(f, vertex_kind::nic) == 11);
    CHECK(f.not_hosts.size() == 1);
    CHECK(f.graph[f.not_hosts.at(0)].guid == 0x0ff08c43213b3f38);
    CHECK(count(f, vertex_kind::leaf) == 5);
    CHECK(count(f, vertex_kind::spine) == 2);
    CHECK(count(f, vertex_kind::core) == 1);
    CHECK(f.graph[*named(f, "rmd70-0101-0908-01ib1-A/L01")].kind == vertex_kind::spine);
    CHECK(f.graph[*named(f, "rmd70-0101-0908-01ib1-A/S01")].kind == vertex_kind::core);
    CHECK(f.graph[*named(f, "rmd70-0101-0919-12ib0")].kind == vertex_kind::leaf);
    CHECK(f.graph[*named(f, "RMD701091906037/ibp11s0f0")].rate->count() == 25);
    CHECK_FALSE(says(r, "rails"));
    const auto tree = berth::derive_tree(berth::machine_links(f));
    REQUIRE(tree.has_value());
    CHECK(tree->tree.domain_count(tree->tree.leaf_level()) == 5);
  }
  TEST_CASE("ibnetdiscover -p: lines without a peer are told, both directions are one cable") {
    const auto r = good(broken::input("infiniband/links-p.ibnetdiscover"));
    CHECK(r.format == "ibnetdiscover -p");
    const auto& f = r.fabrics.at(0);
    CHECK(count(f, vertex_kind::node) == 3);
    CHECK(count(f, vertex_kind::leaf) == 2);
    CHECK(count(f, vertex_kind::spine) == 1);
    CHECK(f.graph[*named(f, "p0001/HCA-1")].rate->count() == 12.5);
    CHECK(f.graph[*named(f, "ib-i1l2s01")].kind == vertex_kind::spine);
    CHECK(says(r, "2 ports with a link but without a peer"));
    CHECK(says(r, "1 switch that no cable joins to a leaf"));
    CHECK(boost::num_edges(f.graph) == 3 + 4);
  }
  TEST_CASE("ibsim: free words are names, parallel trunks are one link of two cables") {
    const auto one = good(broken::input("infiniband/simple.ibsim-net"));
    CHECK(count(one.fabrics.at(0), vertex_kind::node) == 2);
    CHECK(one.fabrics[0].graph[*named(one.fabrics[0], "Switch1")].kind == vertex_kind::leaf);
    CHECK(one.fabrics[0].graph[*named(one.fabrics[0], "Switch2")].kind == vertex_kind::spine);
    const auto two = good(broken::input("infiniband/two-switch-4hca.ibsim-net"));
    const auto& f = two.fabrics.at(0);
    CHECK(count(f, vertex_kind::node) == 4);
    CHECK(count(f, vertex_kind::leaf) == 2);
    CHECK(words(f).find("Switch1 -- Switch2 x2 ?") != std::string::npos);
    CHECK(says(two, "6 cables of unknown rate"));
    const auto lone = berth::read_ibsim_net({"n", "Switch 8 \"a\"\n[1] \"b\"[1]\n"});
    REQUIRE_FALSE(lone.has_value());
    CHECK(lone.error().message() == "n:2: found peer 'b', which has no record, expected its own Switch or Hca line");
  }
  TEST_CASE("ibswinfo is one switch, ibstat and host lists say who has which adapter") {
    const auto s = good(broken::input("infiniband/switch-status.ibswinfo"));
    REQUIRE(boost::num_vertices(s.fabrics.at(0).graph) == 1);
    CHECK(s.fabrics[0].graph[0].guid == 0x1c34da0300010540);
    const auto h = good(broken::input("infiniband/hdr-modular.ibstat"));
    REQUIRE(h.machines.size() == 10);
    CHECK(h.machines[9].name == "vma414bbc00005R");
    CHECK((*h.machines[9].inside)[0].guid == 0x043f720300e61112);
    const auto l = good({"hosts",
                         "Ca\t: 0x0002c903000d7aac ports 1 devid 0x1003 vendid 0x2c9 \"kube-100 HCA-1\"\n"
                         "Ca\t: 0x0002c903000d7aad ports 1 devid 0x1003 vendid 0x2c9 \"kube-100 HCA-2\"\n"
                         "Ca\t: 0x0002c903000d7aae ports 1 devid 0x1003 vendid 0x2c9 \"MT4129 ConnectX7   "
                         "Mellanox Technologies\"\n"});
    REQUIRE(l.machines.size() == 1);
    CHECK(boost::num_vertices(*l.machines[0].inside) == 2);
    CHECK(says(l, "1 adapter without a host name"));
    berth::reader_options o;
    o.machine = "n7";
    const auto ibstat = berth::read_adapter_list(
        {"ibstat",
         "CA 'mlx5_0'\n\tCA type: MT4129\n\tNumber of ports: 1\n\tNode GUID: 0x946dae0300a1b2c4\n\tPort 1:\n"
         "\t\tState: Active\n\t\tPhysical state: LinkUp\n\t\tRate: 400\n\t\tLink layer: InfiniBand\n"},
        o);
    REQUIRE(ibstat.has_value());
    CHECK(ibstat->machines.at(0).name == "n7");
    CHECK((*ibstat->machines[0].inside)[0].name == "mlx5_0");
    CHECK((*ibstat->machines[0].inside)[0].rate->count() == 50);

    // A paste with its prompt; a port that is down states a rate too.
    const auto two = berth::read_adapter_list(
        {"ibstat",
         "$ ibstat\nCA 'mlx5_1'\n\tNode GUID: 0x1070fd0300aabbcc\n\tPort 1:\n\t\tState: Active\n\t\tRate: 100 (FDR)\n"
         "\tPort 2:\n\t\tState: Down\n\t\tRate: 100\n"},
        o);
    REQUIRE(two.has_value());
    CHECK((*two->machines.at(0).inside)[0].rate->count() == 12.5);

    const berth::named_text devinfo{"f",
                                    "hca_id:\tmlx5_2\n\ttransport:\t\t\tInfiniBand "
                                    "(0)\n\tnode_guid:\t\t\tb8ce:f603:00bb:41d0\n\tphys_port_cnt:\t\t\t1\n"};
    CHECK(berth::looks_like_adapter_list(devinfo.text));
    const auto dev = berth::read_adapter_list(devinfo, o);
    REQUIRE(dev.has_value());
    CHECK(dev->format == "ibv_devinfo");
    CHECK((*dev->machines.at(0).inside)[0].guid == 0xb8cef60300bb41d0U);
    CHECK((*dev->machines[0].inside)[0].name == "mlx5_2");
    const auto cut = berth::read_adapter_list({"f", "hca_id: a\n node_guid: zz\n"}, o);
    REQUIRE(!cut.has_value());
    CHECK(cut.error().line == 2);
    CHECK(cut.error().expected == "one node_guid: of 16 hexadecimal digits for each hca_id");
  }

  // One fabric, printed in the layout of every tool's printf calls: two leaves, two spines, machines with an adapter on
  // each leaf, a spine with a management host, a port that is down.
  struct sketch_end {
    const char* name;
    std::uint64_t guid;
    int lid, port;
    bool is_switch;
  };
  struct sketch_cable {
    sketch_end a, b;
  };
  std::vector<sketch_cable> sketch() {
    std::vector<sketch_cable> out;
    static std::vector<std::string> names;
    names.clear();
    names.reserve(64);
    int lid = 10;
    const auto leaf = [](int i, int port) {
      return i == 0 ? sketch_end{"MF0;leaf0:MQM9700/U1", 0xa0, 1, port, true}
                    : sketch_end{"MF0;leaf1:MQM9700/U1", 0xa1, 2, port, true};
    };
    const auto spine = [](int i, int port) {
      return i == 0 ? sketch_end{"MF0;spine0:MQM9700/U1", 0xb0, 3, port, true}
                    : sketch_end{"MF0;spine1:MQM9700/U1", 0xb1, 4, port, true};
    };
    for (int h = 0; h < 4; ++h)
      for (int n = 0; n < 2; ++n) {
        names.push_back("gpu" + std::to_string(h) + " mlx5_" + std::to_string(n));
        ++lid;
        out.push_back({leaf(n, h + 1), {names.back().c_str(), 0x100U + static_cast<unsigned>(lid), lid, 1, false}});
      }
    for (int l = 0; l < 2; ++l)
      for (int s = 0; s < 2; ++s)
        for (int k = 0; k < 2; ++k) out.push_back({leaf(l, 20 + 2 * s + k), spine(s, 1 + 2 * l + k)});
    out.push_back({spine(0, 40), {"ufm HCA-1", 0x200, 99, 1, false}});
    out.push_back({leaf(0, 65), {"Mellanox Technologies Aggregation Node", 0x300, 98, 1, false}});
    return out;
  }
  template <class... A>
  std::string printed(const char* layout, A... a) {
    char buffer[512];
    const int n = std::snprintf(buffer, sizeof buffer, layout, a...);
    REQUIRE(n > 0);
    REQUIRE(static_cast<std::size_t>(n) < sizeof buffer);
    return buffer;
  }
  std::string as(const std::string& tool) {
    std::map<std::uint64_t, std::vector<sketch_cable>> of;  // both directions, by near device
    for (const auto& c : sketch()) {
      of[c.a.guid].push_back(c);
      of[c.b.guid].push_back({c.b, c.a});
    }
    std::string out;
    for (const auto& [guid, cables] : of) {
      const auto& me = cables.front().a;
      const auto id = [](const sketch_end& e) {
        return printed("\"%c-%016llx\"", e.is_switch ? 'S' : 'H', static_cast<unsigned long long>(e.guid));
      };
      const auto g = [](const sketch_end& e) { return static_cast<unsigned long long>(e.guid); };
      if (tool == "ibnetdiscover") {
        out += printed("\nvendid=0x2c9\ndevid=0xd2f2\nsysimgguid=0x%llx\n%s=0x%llx", g(me) | 0xf000,
                       me.is_switch ? "switchguid" : "caguid", g(me));
        if (me.is_switch)
          out += printed("(%llx)\nSwitch\t65 %s\t\t# \"%s\" enhanced port 0 lid %d lmc 0\n", g(me), id(me).c_str(),
                         me.name, me.lid);
        else out += printed("\nCa\t1 %s\t\t# \"%s\"\n", id(me).c_str(), me.name);
      } else if (tool == "iblinkinfo") {
        out += me.is_switch ? printed("Switch: 0x%016llx %s:\n", g(me), me.name) : printed("CA: %s:\n", me.name);
      }
      for (const auto& [a, b] : cables) {
        if (tool == "ibnetdiscover" && a.is_switch) {
          out += printed("[%d]\t%s[%d]", a.port, id(b).c_str(), b.port);
          if (!b.is_switch) out += printed("(%llx) ", g(b));
          out += printed("\t\t# \"%s\" lid %d 4xNDR\n", b.name, b.lid);
        } else if (tool == "ibnetdiscover") {
          out += printed("[%d](%llx) \t%s[%d]\t\t# lid %d lmc 0 \"%s\" lid %d 4xNDR s=4 w=2 v=4\n", a.port, g(a),
                         id(b).c_str(), b.port, a.lid, b.name, b.lid);
        } else if (tool == "ibnetdiscover -p") {
          out += printed("%2s %5d %2d 0x%016llx 4x NDR - %2s %5d %2d 0x%016llx ( '%s' - '%s' )\n",
                         a.is_switch ? "SW" : "CA", a.lid, a.port, g(a), b.is_switch ? "SW" : "CA", b.lid, b.port, g(b),
                         a.name, b.name);
        } else if (tool == "iblinkinfo" || tool == "iblinkinfo -l") {
          const bool line = tool != "iblinkinfo";
          const std::string link = printed("(%3s %18s %6s/%8s)", "4X", "106.25 Gbps", "Active", "LinkUp");
          std::string far = line ? printed("0x%016llx ", g(b)) : "";
          far += printed("%6d %4d[%2s] \"%s\" (%s %s)\n", b.lid, b.port, "", b.name, "", "Could be 212.5 Gbps");
          if (line) out += printed("0x%016llx \"%30s\" ", g(a), a.name);
          else out += a.is_switch ? "      " : printed("      0x%016llx ", g(a));
          out += printed("%6d %4d[%2s] ==%s==>  ", a.lid, a.port, "", link.c_str()) + far;
        } else {
          const auto half = [&](const sketch_end& e) {
            return printed(
                "{ %s Ports:%02X SystemGUID:%016llx NodeGUID:%016llx PortGUID:%016llx VenID:%06X DevID:%04X "
                "Rev:%08X {%s} LID:%04X PN:%02X } ",
                e.is_switch ? "SW" : "CA-SM", 65, g(e) | 0xf000, g(e), g(e), 0x2c9, 0xd2f2, 0xa0, e.name, e.lid,
                e.port);
          };
          out += half(a) + half(b) + "PHY=4x LOG=ACT SPD=100\n";
        }
      }
      if (tool == "iblinkinfo" && me.is_switch)
        out += printed("      %6d %4d[%2s] ==%s==>             [  ] \"\" ( )\n", me.lid, 60, "",
                       printed("(              %6s/%8s)", "Down", "Polling").c_str());
    }
    return out;
  }

  TEST_CASE("all tools tell the same fabric: hosts, rails, levels, trunks, what is no host") {
    const auto base = good({"f", as("ibnetdiscover")});
    const auto& f = base.fabrics.at(0);
    CHECK(count(f, vertex_kind::node) == 5);
    CHECK(count(f, vertex_kind::leaf) == 2);
    CHECK(count(f, vertex_kind::spine) == 2);
    CHECK(f.not_hosts.size() == 1);
    CHECK(says(base, "1 switch with a few hosts beside many leaves; taken for a spine"));
    CHECK(f.graph[*named(f, "leaf1")].rail == 1);
    CHECK(f.graph[*named(f, "gpu2/mlx5_1")].rail == 1);
    const std::string all = words(f);
    CHECK(all.find("leaf0 -- spine1 x2 100.0") != std::string::npos);
    CHECK(all.find("gpu0/mlx5_0 -- leaf0 x1 50.0") != std::string::npos);
    CHECK(all.find("spine0 -- ufm/HCA-1 x1 50.0") != std::string::npos);
    for (const char* tool : {"ibnetdiscover -p", "iblinkinfo", "iblinkinfo -l", "opensm"}) {
      const auto r = good({"f", as(tool)});
      const std::string other = words(r.fabrics.at(0));
      // The aggregation node has no name but what the file tells it by.
      const auto plain = [](const std::string& s) {
        std::string out;
        for (std::size_t i = 0; i < s.size();) {
          const std::size_t end = s.find('\n', i);
          const std::string line = s.substr(i, end - i);
          i = end + 1;
          if (line.find("0000300") == line.npos && line.find("lid 98") == line.npos) out += line + "\n";
        }
        return out;
      };
      CHECK_MESSAGE(plain(other) == plain(all), tool);
      CHECK(r.fabrics[0].not_hosts.size() == 1);
      CHECK(r.fabrics[0].graph[r.fabrics[0].not_hosts[0]].guid == 0x300);
    }
  }
  TEST_CASE("fabric text: what is wrong is named with its line") {
    struct row {
      const char* text;
      const char* message;
    };
    const row rows[] = {
        {"Switch\t2 \"S-01\"\t# \"a\"\n[1]\t\"S-02\"[1]\n[1]\t\"S-03\"[1]\n",
         "f:3: found port 1 of 'S-01' with another peer"},
        {"Switch\t2 \"S-01\"\t# \"a\"\n[1]\t\"S-02\"[1]\n[2]\t\"S-02\"[1]\n",
         "f:3: found port 1 of 'S-02' with another peer"},
        {"Switch\t2 \"S-01\"\t# \"a\"\n[1\t\"S-02\"[1]\n", "f:2: found '[1"},
        {"Switch\t2 \"S-01\"\t# \"a\"\n[300]\t\"S-02\"[1]\n", "f:2: found '[300]"},
        {"Switch\t2 \"S-01\"\t# \"a\"\nwhat is this\n", "f:2: found 'what is this'"},
        {"Switch\t2 \"S-01\"\t# \"a\"\n\n[1]\t\"S-02\"[1]\n", "f:3: found a port before any device"},
        {"Switch\t2 \"S-01\"\t# \"a\"\nsysimgguid=0xzz\n", "f:2: found 'sysimgguid=0xzz'"},
        {"Switch\t2 \"S-01\"\t# \"a\"\n[1]\t\"S-02\"[1]\t# \"b\" lid 3 4xNRD\n",
         "f:2: found '4xNRD' behind the peer's description, expected lid, lmc, and a rate such as 4xNDR"},
        {"Switch\t2 \"S-01\"\t# \"a\"\n[1]\t\"S-02\"[1]\t# \"b\" lid 3 3xNDR\n", "f:2: found '3xNDR'"},
        {"Switch\t2 \"S-01\"\t# \"a\"\n[1]\t\"S-02\"[1]\t# \"b\" lid 3 4NDR\n", "f:2: found '4NDR'"},
        {"Switch\t2 \"S-01\"\t# \"a\"\n[1]\t\"S-02\"[1]\t# \"b lid 3 4xNDR\n", "f:2: found '\"b'"},
        {"Switch\t2 \"S-01\"\t# \"a\"\n[1]\t\"S-02\"[1]\t# \"b\" lid x 4xNDR\n", "f:2: found no number after 'lid'"},
        {"Switch\t2 \"S-01\"\t# \"a\"\n[3]\t\"S-02\"[1]\n", "f:2: found port 3 of 'S-01', expected at most 2"},
        {"Switch\t2 \"S-01\"\t# \"a\n", "f:1: found ' \"a', expected the description in two double quotes"},
        {"Switch\t2 \"S-01\"\nCa\t1 \"S-02\"\n", "f:2: found the adapter 'S-02', expected"},
        {"Switch\t2 \"S-01\"\n[1]\t\"S-0z\"[1]\n", "f:2: found the id 'S-0z', expected S-, H- or R- and a GUID"},
        {"SW 1 1 0x1 4x EDR - CA 2 1 0x2 ( 'a' - 'b' )\nSW 1 2 0x1 4x ERD - CA 2 2 0x2 ( 'a' - 'b' )\n",
         "f:2: found rate '4x ERD', expected a width of 1x"},
        {"{ SW Ports:24 NodeGUID:01 PN:3 } { SW NodeGUID:02 PN:1 } PHY=4x LOG=ACT SPD=26\n",
         "f:1: found PHY='4x' SPD='26', expected lanes"},
        {"Switch: 0x01 a:\n  4 1[  ] ==( 4X 25.87125 Gbps Active/ LinkUp)==> 5 1[  ] \"a b1\" ( )\n",
         "f:2: found '  4 1[ "},
        {"SW 1 1 0x1 4x EDR - CA 2 1 0x2 ( 'a' 'b' )\n", "f:1: found 'SW 1 1 0x1"},
        {"SW 1 1 0x1 4x EDR - CA 2 1 0x2 ( 'a' - 'b' )\nCA 1 1 0x1 4x EDR 'a'\n",
         "f:2: found adapter '0x1', which line 1 calls a switch"},
        {"{ SW Ports:24 NodeGUID:01 PN:300 } { SW NodeGUID:02 PN:1 } PHY=4x LOG=ACT SPD=25\n", "f:1: found '{ SW"},
        {"{ SW Ports:24 NodeGUID:01 PN:3 } { SW NodeGUID:02 PN:1 } PHY=4x LOG=ODD SPD=25\n", "f:1: found LOG='ODD'"},
        {"  4 1[  ] ==( 4X 25.78125 Gbps Active/ LinkUp)==> 5 1[  ] \"a b1\" ( )\n",
         "f:1: found a port before any device"},
    };
    for (const auto& r : rows) {
      const auto got = read({"f", r.text});
      REQUIRE_FALSE(got.has_value());
      CHECK_MESSAGE(got.error().message().find(r.message) == 0, got.error().message());
    }
    const auto part = read({"f", "Switch\t2 \"S-01\"\t# \"a\"\n[1]\t\"H-02\"[1]\t# \"b mlx5_0\" lid 3 ??NDR\n"});
    REQUIRE(part.has_value());
    REQUIRE_FALSE(part->assumptions.empty());
    CHECK(part->assumptions.front().starts_with(
        "1 part that only peers tell of, without a record of its own (the first is H-02)"));
    const auto list = berth::read_ibnetdiscover({"f", "Ca\t: 0x1 ports 1 devid 0x1 vendid 0x1 \"a b1\"\n"});
    REQUIRE_FALSE(list.has_value());
    berth::reader_options few;
    few.max_machines = 9;
    const auto sample = broken::input("infiniband/hdr-modular.ibnetdiscover");
    CHECK(berth::read_ibnetdiscover(sample, few).error().message().find("10 hosts") != std::string::npos);
    few = {};
    few.max_parts = 10;
    CHECK(berth::read_ibnetdiscover(sample, few).error().message().find("limit of 10") != std::string::npos);
  }
  TEST_CASE("rates are those of the data, whatever word a tool has for them") {
    using namespace berth::fabric_detail;
    CHECK(rate_of_words("4x", "HDR")->count() == 25);
    CHECK(rate_of_words("2x", "HDR")->count() == 12.5);
    CHECK(rate_of_words("4x", "NDR")->count() == 50);
    CHECK(rate_of_words("4x", "XDR")->count() == 100);
    CHECK(rate_of_words("12x", "QDR")->count() == 12);
    CHECK_FALSE(rate_of_words("4x", "???").has_value());
    CHECK_FALSE(rate_of_words("??", "EDR").has_value());
    CHECK(rate_of_signal("4X", "25.78125", false)->count() == 12.5);
    CHECK(rate_of_signal("4X", "53.125", false)->count() == 25);
    CHECK(rate_of_signal("4X", "10.0", false)->count() == 4);
    CHECK(rate_of_signal("4X", "10.0", true)->count() == 5);
    CHECK(rate_of_signal("4X", "100", false)->count() == 50);
    CHECK(rate_of_opensm("4x", "25")->count() == 12.5);
    CHECK(rate_of_opensm("4x", "2.5")->count() == 1);
    CHECK_FALSE(rate_of_opensm("4x", "??").has_value());
  }
  TEST_CASE("node descriptions: hosts, devices and switches") {
    using namespace berth::fabric_detail;
    CHECK(words_of_adapter("a08-c01 mlx5_5").host == "a08-c01");
    CHECK(words_of_adapter("RMD701 ibp11s0f0").device == "ibp11s0f0");
    CHECK(words_of_adapter("o0001").host == "o0001");
    for (const char* none : {"MT4129 ConnectX7   Mellanox Technologies", "Mellanox Technologies Aggregation Node", "",
                             "localhost mlx5_0", "MT25408 ConnectX3", "two words", "MF0;x:y/U1"})
      CHECK_MESSAGE(words_of_adapter(none).host.empty(), none);
    CHECK(place_of_device("HCA-6") == place_of_device("mlx5_5"));
    CHECK(place_of_device("HCA-2") < place_of_device("HCA-10"));
    CHECK(name_of_switch("MF0;A09-P1:MQM9701/U1") == "A09-P1");
    CHECK(name_of_switch("MF0;q3400-1:Q3400_RA/U3") == "q3400-1/U3");
    CHECK(name_of_switch("ib-i1l1s01") == "ib-i1l1s01");
  }
  TEST_CASE("broken fabric files give a fabric or an error") {
    const std::vector<berth::named_text> seeds{broken::input("infiniband/hdr-modular.ibnetdiscover"),
                                               broken::input("infiniband/links-p.ibnetdiscover"),
                                               broken::input("infiniband/two-switch-4hca.ibsim-net"),
                                               broken::input("infiniband/switch-status.ibswinfo"),
                                               broken::input("infiniband/hdr-modular.ibstat"),
                                               {"l", as("iblinkinfo")},
                                               {"ll", as("iblinkinfo -l")},
                                               {"o", as("opensm")}};
    const std::vector<std::string_view> pieces{"[",      "]",      "\"",  "#",    "{",    "}",    "(",           ")",
                                               "'",      "- ",     "==(", ")==>", "0x",   "[1]",  "4x",          "NDR",
                                               "Switch", "Ca\t1 ", "SW",  "lid ", " PN:", "\n\n", "999999999999"};
    for (const auto& seed : seeds) {
      const format* mine = nullptr;
      for (const auto& f : formats)
        if (f.looks(seed.text)) mine = &f;
      REQUIRE(mine != nullptr);
      broken::run(
          {seed}, pieces, 250, 7, [&](const berth::named_text& t) { return mine->read(t, {}); },
          [](const berth::site_report& r) {
            for (const auto& f : r.fabrics)
              for (const auto v : f.not_hosts) REQUIRE(v < boost::num_vertices(f.graph));
          });
    }
  }
}

}  // namespace
