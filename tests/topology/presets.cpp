#include "berth/topology/presets.hpp"

#include <doctest/doctest.h>

#include <chrono>
#include <string>
#include <string_view>

#include "berth/cluster/presets.hpp"
#include "support.hpp"

using namespace berth;
using namespace berth::testing;

namespace {
std::string fault(std::string_view text) {
  const auto c = make_preset(text);
  return c ? "" : c.error();
}
bool says(std::string_view text, std::string_view words) {
  return fault(text).find(words) != std::string::npos;
}
}  // namespace

TEST_SUITE("topology/presets") {
  TEST_CASE("every preset of the list builds with its defaults and with the parameters that the help names") {
    for (const auto& h : preset_names()) {
      CAPTURE(h.name);
      CHECK(!h.text.empty());
      const auto plain = make_preset(h.name);
      const auto spelled = make_preset(std::string{h.name} + ":" + std::string{h.parameters});
      REQUIRE(plain.has_value());
      REQUIRE(spelled.has_value());
      CHECK(broken_law(plain->tree) == "");
      CHECK(difference(plain->tree, spelled->tree) == "");
      CHECK(plain->nodes.size() == plain->tree.node_count());
      CHECK(plain->shapes.size() == 1);
      CHECK(!plain->assumptions.empty());  // the memory of a machine, at least
    }
  }

  TEST_CASE("SuperPOD H100 of four scalable units: 127 machines of 8 GPUs, the last unit one short") {
    const auto c = make_preset("superpod-h100:su=4,memory=2048");
    REQUIRE(c.has_value());
    CHECK(c->nodes.size() == 127);
    CHECK(c->tree.level_count() == 2);
    CHECK(c->tree.domain_count(lv(1)) == 4);
    CHECK(c->tree.at(lv(1), domain_id{3}).nodes.size() == 31);
    CHECK(c->nodes[126].name == "node-126");
    CHECK(c->shapes[0].devices == 8);
    CHECK(c->shapes[0].memory == gibibytes(2048));
    CHECK(c->nodes[0].memory == gibibytes(2048));
    CHECK(c->nodes[0].cpu == cpus(224));
    CHECK(c->shapes[0].numa[0].memory + c->shapes[0].numa[1].memory == gibibytes(2048));
    CHECK(c->assumptions.empty());
  }

  TEST_CASE("assumptions say what no table states") {
    const auto c = make_preset("rail:nodes=8,shape=aws-p5");
    REQUIRE(c.has_value());
    REQUIRE(c->assumptions.size() == 2);
    CHECK(c->assumptions[0].find("1024 GiB") != std::string::npos);
    CHECK(c->assumptions[1].find("physical core") != std::string::npos);
    CHECK(make_preset("nvl72:racks=1")->assumptions[0].find("not published") != std::string::npos);
  }

  TEST_CASE("NICs and rails come from the machine") {
    const auto p5 = parse_preset("rail:nodes=64,shape=aws-p5");
    REQUIRE(p5.has_value());
    CHECK(p5->rails == 8);
    CHECK(p5->nics_per_node == 32);
    CHECK(p5->nic_gbit == 100);
    CHECK(p5->uplinks_per_leaf == 32 * 4);
    const auto plain = parse_preset("leaf-spine:nodes=64,shape=azure-ndv5,per-leaf=4,medium=roce");
    REQUIRE(plain.has_value());
    CHECK(plain->rails == 1);
    CHECK(plain->uplinks_per_leaf == 32);
    CHECK(plain->medium == link_kind::roce);
  }

  TEST_CASE("a million GPUs in well under a second") {
    const auto start = std::chrono::steady_clock::now();
    const auto c = make_preset("clos3:nodes=131072,per-leaf=32,leaves=32");
    const std::chrono::duration<double> took = std::chrono::steady_clock::now() - start;
    REQUIRE(c.has_value());
    MESSAGE("1,048,576 GPUs: " << took.count() << " s");
    CHECK(took.count() < 1);
    CHECK(c->nodes.size() * c->shapes[0].devices == 1048576);
    CHECK(c->tree.level_count() == 3);
    CHECK(c->tree.level_name(lv(1)) == "spine");
    CHECK(c->tree.domain_count(lv(1)) == 128);
    CHECK(c->tree.domain_count(lv(2)) == 4096);
  }

  TEST_CASE("bad presets are refused in words that say what was expected") {
    CHECK(says("", "expected one of superpod-h100"));
    CHECK(says("superpod", "expected one of superpod-h100"));
    CHECK(says("superpod-h100:su=0", "from 1 to 8"));
    CHECK(says("superpod-h100:su=9", "from 1 to 8"));
    CHECK(says("superpod-h100:su=-1", "found su=-1"));
    CHECK(says("superpod-h100:su=1x", "found su=1x"));
    CHECK(says("superpod-h100:su=", "expected key=value"));
    CHECK(says("superpod-h100:su", "expected key=value"));
    CHECK(says("superpod-h100:su=1,su=2", "given twice"));
    CHECK(says("superpod-h100:nodes=4", "expected one of memory, su"));
    CHECK(says("rail:nodes=0", "from 1 to"));
    CHECK(says("rail:nodes=99999999999999999999", "from 1 to"));
    CHECK(says("rail:nodes=5000000", "from 1 to"));
    CHECK(says("rail:shape=gb200-nvl72-rack", "no machine"));
    CHECK(says("rail:medium=token-ring", "expected ib or roce"));
    CHECK(says("leaf-spine:oversubscription=7", "do not divide"));
    CHECK(says("clos3:core-oversubscription=7", "do not divide"));
    CHECK(says("rail:memory=0", "from 1 to"));
    CHECK(fault("rail:nodes=8,") == "");  // a trailing comma adds nothing
  }
}
