#include "berth/io/cluster_json.hpp"

#include <doctest/doctest.h>

#include <optional>
#include <string>
#include <vector>

#include "berth/topology/domain_tree_builder.hpp"
#include "samples.hpp"

namespace {

using samples::contains;
using samples::failure;

berth::expected<berth::cluster_spec, berth::input_error> read(std::string text) {
  return berth::read_cluster_json({"c.json", std::move(text)}, samples::catalogue);
}
berth::cluster_spec good(std::string text) {
  auto r = read(std::move(text));
  REQUIRE_MESSAGE(r.has_value(), failure(r));
  return std::move(*r);
}
/// A file with one shape and the given "domains" array.
std::string with_domains(const std::string& domains) {
  return R"({"berth_cluster": 1, "shapes": ["azure-ndv5"], "domains": )" + domains + "}";
}
void check_round_trip(const berth::cluster_spec& spec, berth::shape_lookup catalogue) {
  const std::string text = berth::write_cluster_json(spec, catalogue);
  auto again = berth::read_cluster_json({"again.json", text}, catalogue);
  REQUIRE_MESSAGE(again.has_value(), failure(again) << "\n" << text);
  samples::check_same(spec, *again);
  CHECK(berth::write_cluster_json(*again, catalogue) == text);
}

TEST_SUITE("io/cluster_json") {
  TEST_CASE("cluster file: nested domains, host lists, labels, amounts") {
    const auto s = good(R"({
      "berth_cluster": 1,
      "shapes": ["azure-ndv5", {"name": "cpu", "devices": 0, "cpus": 64, "memory": "256GiB"}],
      "domains": [
        {"name": "row1", "level": "row", "domains": [
          {"name": "rack1", "level": "rack", "nodes": [
            {"names": "gpu[01-04]", "shape": "azure-ndv5", "labels": ["zone=a", "ib", "ib"]},
            {"names": "login1", "shape": "cpu", "cpus": 1.5, "memory": 1048576}]},
          {"name": "rack2", "level": "rack", "nodes": [{"names": "gpu[05-08]", "shape": 0}]}]}]})");
    REQUIRE(s.nodes.size() == 9);
    CHECK(s.tree.find_level("rack").has_value());
    CHECK(s.tree.path(berth::node_id{8}) == std::vector<std::string>{"row1", "rack2"});
    CHECK(s.nodes[0].labels == std::vector<std::string>{"ib", "zone=a"});
    CHECK(s.nodes[0].cpu == berth::cpus(96));
    CHECK(s.nodes[4].cpu == berth::cpu_millis{1500});
    CHECK(s.nodes[4].memory == berth::mebibytes(1));
    CHECK(s.shapes[0].bandwidth.between(0, 7) == berth::gigabytes_per_second{450});
    CHECK(s.assumptions.empty());
  }
  TEST_CASE("cluster file: nodes by path, with and without named levels") {
    const auto s = good(R"({"berth_cluster": 1, "shapes": ["azure-ndv5"], "levels": ["zone", "rack"],
      "nodes": [{"names": "b1", "path": ["z1", "r1"]}, {"names": "a1", "path": ["z2", "r1"]},
                {"names": "b2", "path": ["z1", "r1"]}, {"names": "b3", "path": ["z1", "r2"]}]})");
    REQUIRE(s.nodes.size() == 4);
    CHECK(s.tree.level_name(berth::level_id{1}) == "zone");
    CHECK(s.tree.level_name(berth::level_id{2}) == "rack");
    CHECK(s.nodes[1].name == "b2");
    CHECK(s.nodes[3].name == "a1");
    CHECK(s.tree.domain_count(berth::level_id{2}) == 3);
    const auto free = good(R"({"berth_cluster": 1, "shapes": ["azure-ndv5"],
      "nodes": [{"names": "a[1-2]", "path": ["s", "l"]}]})");
    CHECK(free.tree.level_name(berth::level_id{2}) == "leaf");
  }
  TEST_CASE("cluster file: an inline shape with everything") {
    const auto s = good(R"({"berth_cluster": 1, "shapes": [{
        "name": "box", "devices": 4, "models": ["a", "a", "b", ""], "cpus": 32, "memory": "64GiB",
        "bandwidth": [[null, 50, 10, 10], [50, null, 10, 10], [10, 10, null, 50.5], [10, 10, 50.5, null]],
        "numa": [{"devices": "0-1", "cpus": 16, "memory": "32GiB"}, {"devices": "2-3", "cpus": 16, "memory": "32GiB"}],
        "pcie_switches": ["0-1", "2,3"],
        "nics": [{"devices": "0-1", "gigabytes_per_second": 50, "rail": 0}, {"devices": ""}]}],
      "domains": [{"name": "l", "nodes": [{"names": "n1"}]}]})");
    const auto& b = s.shapes[0];
    CHECK(b.models == std::vector<std::string>{"a", "a", "b", ""});
    CHECK(b.bandwidth.between(3, 2) == berth::gigabytes_per_second{50.5});
    CHECK(!b.bandwidth.between(0, 0).has_value());
    REQUIRE(b.numa.size() == 2);
    CHECK(b.numa[1].devices == 0xCU);
    CHECK(b.pcie_switches == std::vector<berth::device_mask>{3, 12});
    REQUIRE(b.nics.size() == 2);
    CHECK(b.nics[0].rail == std::uint8_t{0});
    CHECK(!b.nics[1].rate.has_value());
    check_round_trip(s, samples::catalogue);
  }
  TEST_CASE("cluster file: pairs of unknown rate keep their order") {
    const auto s = good(R"({"berth_cluster": 1, "shapes": [{"name": "box", "devices": 3,
        "bandwidth": [[null, 12.5, null], [12.5, null, null], [null, null, null]],
        "bandwidth_order": [[null, null, 100], [null, null, -0.875], [100, -0.875, null]]}],
      "domains": [{"name": "l", "nodes": [{"names": "n1"}]}]})");
    const auto& b = s.shapes[0].bandwidth;
    CHECK_FALSE(b.between(0, 2).has_value());
    CHECK(b.rank(2, 0) == 100);
    CHECK(b.rank(1, 2) == -0.875F);
    CHECK(b.rank(0, 1) == 12.5F);
    check_round_trip(s, samples::catalogue);
    const auto order = [](const std::string& table) {
      return failure(read(R"({"berth_cluster": 1, "shapes": [{"name": "x", "devices": 2, "bandwidth": 5,
        "bandwidth_order": )" +
                          table + "}]}"));
    };
    CHECK(contains(order("[[null, 7], [7, null]]"), "an order for devices 0 and 1 of known rate"));
    for (const char* bad : {"7", "[[null, 7]]", "[[null, 7], [8, null]]", "[[null, -1], [-1, null]]",
                            "[[0, null], [null, 0]]", "[[null, \"a\"], [\"a\", null]]", "[[null, 1e9], [1e9, null]]"})
      CHECK_MESSAGE(contains(order(bad), "a symmetric square of 2 rows of numbers above -1"), bad);
  }
  TEST_CASE("cluster file: reading what was written gives the same spec") {
    for (const char* name : {"azure-tree.topology.conf", "topograph-tree.topology.conf", "gcp-nodesets.topology.conf",
                             "azure-block-gb200.topology.conf"}) {
      auto s = berth::read_slurm({samples::example(name)}, samples::with_shape());
      REQUIRE_MESSAGE(s.has_value(), failure(s));
      check_round_trip(*s, samples::catalogue);
      check_round_trip(*s, nullptr);
    }
    for (const auto& files : {std::vector<std::string>{"tara-mixed.topology.conf", "tara.slurm.conf"},
                              std::vector<std::string>{"aws-gpu.partition.conf", "aws-gpu.gres.conf"},
                              std::vector<std::string>{"lambda-8gpu.slurm.conf", "lambda-8gpu.gres.conf"}}) {
      auto s = berth::read_slurm({samples::example(files[0]), samples::example(files[1])});
      REQUIRE_MESSAGE(s.has_value(), failure(s));
      check_round_trip(*s, samples::catalogue);
    }
  }
  TEST_CASE("cluster file: nodes that are down stay down through a round trip") {
    const auto s = good(with_domains(R"([{"name": "a", "nodes": [{"names": "n[1-2]", "shape": "azure-ndv5"},
      {"names": "n3", "shape": "azure-ndv5", "usable": false}]}])"));
    REQUIRE(s.nodes.size() == 3);
    CHECK(s.nodes[1].usable);
    CHECK_FALSE(s.nodes[2].usable);
    check_round_trip(s, samples::catalogue);
    CHECK(contains(failure(read(with_domains(R"([{"name": "a", "nodes": [{"names": "n1", "shape": "azure-ndv5",
      "usable": "no"}]}])"))),
                   "true or false"));
  }
  TEST_CASE("cluster file: round trips of odd specs") {
    berth::cluster_spec s;
    s.tree = berth::domain_tree_builder::regular({"cluster", "spine", "leaf"}, {2, 3}, 4, false);
    s.shapes = {samples::hgx(), samples::hgx(), berth::make_plain_shape("", 1, "", {}, {})};
    s.shapes[1].memory = berth::bytes{12345};
    s.shapes[2].bandwidth.set(0, 0, berth::gigabytes_per_second{1});
    for (std::uint32_t n = 0; n < 24; ++n)
      s.nodes.push_back({"n" + std::to_string(23 - n),
                         berth::shape_id{static_cast<std::uint16_t>(n % 3)},
                         {"x=\"ü\""},
                         berth::cpu_millis{n * 250},
                         berth::bytes{n}});
    s.assumptions = {"made up", ""};
    check_round_trip(s, samples::catalogue);
    check_round_trip(s, nullptr);
    // Nodes and switches under one domain, and domains of unlike depth.
    check_round_trip(good(with_domains(R"([{"name": "a", "nodes": [{"names": "x,y"}],
        "domains": [{"name": "b", "domains": [{"name": "c", "nodes": [{"names": "z"}]}]}]},
        {"name": "d", "nodes": [{"names": "w"}]}])")),
                     samples::catalogue);
  }
  TEST_CASE("cluster file: amounts that nobody states are 0 and said so, once") {
    const auto s = good(R"({"berth_cluster": 1, "shapes": [{"name": "x", "devices": 1}],
                            "domains": [{"name": "l", "nodes": [{"names": "n[1-2]"}]}]})");
    CHECK(samples::any_contains(s.assumptions, "2 nodes (n[1-2]): memory is stated neither"));
    CHECK(samples::any_contains(s.assumptions, "2 nodes (n[1-2]): CPUs are stated neither"));
    check_round_trip(s, samples::catalogue);
  }
  TEST_CASE("cluster file: what uplinks carry, for one domain, for a level, by rail") {
    using rate = std::optional<berth::gigabytes_per_second>;
    const auto gb = [](double v) { return rate{berth::gigabytes_per_second{v}}; };
    const auto s = good(R"({"berth_cluster": 1, "shapes": ["azure-ndv5"], "usable_uplinks": 0.95,
      "uplinks": {"leaf": [50, 25]},
      "domains": [{"name": "s", "level": "spine", "uplinks": 100.5, "domains": [
        {"name": "a", "level": "leaf", "nodes": [{"names": "n1"}]},
        {"name": "b", "level": "leaf", "uplinks": [400, null], "nodes": [{"names": "n2"}]}]},
        {"name": "t", "level": "spine", "nodes": [{"names": "n3"}]}]})");
    CHECK(s.uplinks.usable_permille == 950);
    REQUIRE(s.uplinks.levels.size() == 3);
    CHECK(s.uplinks.levels[1].rates == std::vector<rate>{gb(100.5), {}});
    CHECK(s.uplinks.levels[2].planes == 2);
    CHECK(s.uplinks.levels[2].rates == std::vector<rate>{gb(50), gb(25), gb(400), {}, {}, {}});  // the last is implicit
    check_round_trip(s, samples::catalogue);
    const auto leaf = [](const std::string& up, const std::string& more) {
      return failure(read(
          "{\"berth_cluster\": 1, \"shapes\": [\"azure-ndv5\"]" + more +
          ", \"domains\": [{\"name\": \"a\", \"nodes\": [{\"names\": \"n1\"}]},\n{\"name\": \"b\", \"uplinks\": " + up +
          ", \"nodes\": [{\"names\": \"n2\"}]}]}"));
    };
    CHECK(contains(leaf("-1", ""), "c.json:2: found uplinks: -1"));
    CHECK(contains(leaf("[]", ""), "uplinks of 0 rails"));
    CHECK(contains(leaf("\"4\"", ""), "uplinks: '4', expected GB/s as a number"));
    CHECK(contains(leaf("[1, 2]", ", \"uplinks\": {\"leaf\": 5}"),
                   "c.json:2: found uplinks of 2 rails, expected as many"));
    CHECK(contains(leaf("1", ", \"uplinks\": {\"row\": 5}"), "uplinks of level 'row'"));
    CHECK(contains(leaf("1", ", \"uplinks\": 5"), "an object of levels with rates"));
    CHECK(contains(leaf("1", ", \"usable_uplinks\": 0"), "a share above 0"));
    CHECK(contains(leaf("1", ", \"usable_uplinks\": 1.5"), "a share above 0"));
  }
  TEST_CASE("cluster file: syntax errors come with their line") {
    CHECK(contains(failure(read("{\n  \"berth_cluster\": 1,\n  \"shapes\": [,]\n}")),
                   "c.json:3: found a JSON syntax error"));
    CHECK(contains(failure(read("{\n\"berth_cluster\": 1")), "c.json:2: found a JSON syntax error"));
    CHECK(contains(failure(read("{} x")), "c.json:1: found a JSON syntax error"));
    CHECK(contains(failure(read("{// no\n}")), "JSON syntax error"));
    CHECK(contains(failure(read("{\"a\":\n \"\xFF\"}")), "c.json:2: found bytes that are no UTF-8"));
    CHECK(contains(failure(read("")), "an empty file"));
    CHECK(contains(failure(read(" \n ")), "found"));
    CHECK(contains(failure(read(std::string(100, '['))), "nesting deeper than 64"));
    CHECK(contains(failure(read(std::string(100000, '['))), "nesting deeper than 64"));
    CHECK(contains(failure(read("{\"a\": 1,\n\"a\": 2}")), "c.json:2: found key 'a' twice"));
    CHECK(contains(failure(read("{\"berth_cluster\": 99999999999999999999}")), "c.json:1: found"));
    CHECK(contains(failure(read("{\"berth_cluster\": 1e999}")), "c.json:1: found"));
  }
  TEST_CASE("cluster file: unknown keys are errors that name the one meant or list the known ones, with the line") {
    CHECK(failure(read("{\n  \"berth_cluster\": 1,\n  \"shape\": []\n}")) ==
          "c.json:3: found unknown key 'shape', expected shapes");
    CHECK(failure(read("{\n  \"berth_cluster\": 1,\n  \"gpus_in_all\": []\n}")) ==
          "c.json:3: found unknown key 'gpus_in_all', expected one of berth_cluster, shapes, levels, domains, nodes, "
          "assumptions, insides, fabric, nvlink, blocks, held, unhealthy, unknown_hardware, conflicts, uplinks, "
          "usable_uplinks");
    CHECK(contains(failure(read(with_domains("[\n{\"name\": \"a\",\n \"node\": []}]"))),
                   "c.json:3: found unknown key 'node', expected nodes"));
    CHECK(contains(failure(read(with_domains(R"([{"name": "a", "nodes": [{"name": "x"}]}])"))), "unknown key 'name'"));
    CHECK(
        contains(failure(read(R"({"berth_cluster": 1, "shapes": [{"name": "x", "gpus": 8}]})")), "unknown key 'gpus'"));
    CHECK(contains(failure(read("[]")), "found an array, expected an object with berth_cluster"));
  }
  TEST_CASE("cluster file: wrong values are named with key and line") {
    CHECK(contains(failure(read("{}")), "no \"berth_cluster\""));
    CHECK(contains(failure(read("{\"berth_cluster\": 2}")), "berth_cluster: 2, expected a whole number from 1 to 1"));
    CHECK(contains(failure(read("{\"berth_cluster\": 1}")), "no \"shapes\""));
    CHECK(contains(failure(read("{\"berth_cluster\": 1, \"shapes\": [\"dgx-9000\"]}")), "shape 'dgx-9000'"));
    CHECK(contains(failure(read("{\"berth_cluster\": 1, \"shapes\": [\"azure-ndv5\"]}")), "no node"));
    CHECK(contains(failure(berth::read_cluster_json({"c.json", with_domains("[]")})), "no catalogue is at hand"));
    const auto shape = [](const std::string& body) {
      return failure(read("{\"berth_cluster\": 1, \"shapes\": [{\"name\": \"x\", " + body + "}]}"));
    };
    CHECK(contains(shape("\"devices\": 65"), "devices: 65"));
    CHECK(contains(shape("\"devices\": -1"), "devices: -1"));
    CHECK(contains(shape("\"devices\": \"8\""), "devices: '8'"));
    CHECK(contains(shape("\"cpus\": 1"), "without \"devices\""));
    CHECK(contains(shape("\"devices\": 2, \"models\": [\"a\"]"), "1 model, expected one per device, 2"));
    CHECK(contains(shape("\"devices\": 2, \"model\": \"a\", \"models\": [\"a\", \"a\"]"), "both"));
    CHECK(contains(shape("\"devices\": 2, \"bandwidth\": 0"), "bandwidth: 0"));
    CHECK(contains(shape("\"devices\": 2, \"bandwidth\": [[1]]"), "a square of 2 rows"));
    CHECK(contains(shape("\"devices\": 2, \"bandwidth\": [[null, 1], [2, null]]"), "symmetric"));
    CHECK(contains(shape("\"devices\": 2, \"numa\": [{\"devices\": \"0-2\"}]"), "devices 2, expected devices below 2"));
    CHECK(contains(shape("\"devices\": 2, \"pcie_switches\": [\"x\"]"), "pcie_switches: 'x'"));
    CHECK(contains(shape("\"devices\": 2, \"nics\": [{\"rail\": 256}]"), "rail: 256"));
    CHECK(contains(shape("\"devices\": 2, \"memory\": \"64G\""), "memory: '64G', expected a size with its unit"));
    CHECK(contains(shape("\"devices\": 2, \"cpus\": 1.00005"), "cpus: 1.00005"));
    CHECK(contains(shape("\"devices\": 2, \"cpus\": 1e300"), "cpus:"));
    const auto node = [](const std::string& body) {
      return failure(read(with_domains("[{\"name\": \"a\", \"nodes\": [{" + body + "}]}]")));
    };
    CHECK(contains(node("\"shape\": 0"), "without \"names\""));
    CHECK(contains(node("\"names\": \"n[2-1]\""), "range '2-1'"));
    CHECK(contains(node("\"names\": \"n[0-999999999999]\""), "too many names"));
    CHECK(contains(node("\"names\": \"a,a\""), "second node a"));
    CHECK(contains(node("\"names\": \"a\", \"shape\": 1"), "shape: 1"));
    CHECK(contains(node("\"names\": \"a\", \"shape\": \"x\""), "shape: 'x'"));
    CHECK(contains(node("\"names\": \"a\", \"labels\": [1]"), "labels: 1"));
    CHECK(contains(node("\"names\": \"a\", \"path\": [\"x\"]"), "unknown key 'path'"));
    CHECK(contains(failure(read(with_domains("[{\"nodes\": []}]"))), "without \"name\""));
    CHECK(contains(failure(read(with_domains("[{\"name\": \"a\"}]"))), "neither"));
    CHECK(contains(failure(read(with_domains(R"([{"name": "a", "nodes": []}, {"name": "a", "nodes": []}])"))),
                   "second domain 'a'"));
    CHECK(contains(failure(read(with_domains(R"([{"name": "a", "level": "cluster", "nodes": []}])"))), "is taken"));
    CHECK(contains(failure(read(with_domains(R"([{"name": "a", "level": "x", "domains": [
                     {"name": "b", "level": "x", "nodes": [{"names": "n"}]}]}])"))),
                   "contradict the nesting"));
    const auto flat = [](const std::string& body) {
      return failure(read("{\"berth_cluster\": 1, \"shapes\": [\"azure-ndv5\"], " + body + "}"));
    };
    CHECK(contains(flat(R"("nodes": [{"names": "a"}])"), "without \"path\""));
    CHECK(contains(flat(R"("levels": ["x", "y"], "nodes": [{"names": "a", "path": ["b"]}])"), "path of 1 domain"));
    CHECK(contains(flat(R"("levels": ["x", "x"], "nodes": [])"), "level 'x'"));
    CHECK(contains(flat(R"("nodes": [{"names": "a", "path": [""]}])"), "an empty name"));
    std::string deep, end;
    for (int i = 0; i < 20; ++i) deep += "[{\"name\": \"a\", \"domains\": ", end += "}]";
    CHECK(contains(failure(read(with_domains(deep + R"([{"name": "a", "nodes": [{"names": "n"}]}])" + end))),
                   "too deep"));
  }
}

}  // namespace
