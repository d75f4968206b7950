#include "berth/io/openb.hpp"

#include <doctest/doctest.h>

#include <string>
#include <utility>
#include <vector>

#include "berth/core/random.hpp"
#include "berth/io/openb_types.hpp"
#include "berth/io/text_file.hpp"

namespace {

using namespace berth;

const std::string nodes = "sn,cpu_milli,memory_mib,gpu,model\nb,64000,1024,2,T4\na,96000,2048,8,G2\nc,32000,1024,0,\n";
const std::string pods =
    "gpu_milli,name,num_gpu,cpu_milli,memory_mib,gpu_spec\n460,p2,1,6000,12,\n1000,p1,8,88000,64,G2|T4\n1000,p3,1,1000,"
    "1,"
    "A10\n0,p4,0,500,1,\n";

std::string error_of_nodes(const std::string& text) {
  const auto r = read_openb_nodes({"nodes.csv", text});
  return r ? "" : r.error().message();
}
std::string error_of_pods(const std::string& text) {
  const auto c = read_openb_nodes({"nodes.csv", nodes});
  REQUIRE(c);
  const auto r = read_openb_tasks({"pods.csv", text}, *c);
  return r ? "" : r.error().message();
}

TEST_CASE("Node and task lists are read by their headers, sorted by name") {
  const auto c = read_openb_nodes({"nodes.csv", nodes});
  REQUIRE(c);
  CHECK(c->names == std::vector<std::string>{"a", "b", "c"});
  CHECK(c->models == std::vector<std::string>{"T4", "G2"});
  CHECK(c->without_gpus == 1);
  CHECK(c->nodes[2].devices == 0);
  CHECK(c->nodes[2].model == no_device_model);
  CHECK(c->nodes[2].cpu == cpus(32));
  CHECK(c->capacity() == 10'000);
  CHECK(c->nodes[0].memory == mebibytes(2048));
  const auto t = read_openb_tasks({"pods.csv", pods}, *c);
  REQUIRE(t);
  CHECK(t->names == std::vector<std::string>{"p1", "p2", "p3", "p4"});
  CHECK(t->tasks[0].models == (bit(0) | bit(1)));
  CHECK(t->tasks[1].share == 460);
  CHECK(t->tasks[1].any_model());
  CHECK(t->tasks[3].devices == 0);
  REQUIRE(t->misfits.size() == 1);
  CHECK(t->misfits[0].line == 4);
  CHECK(t->misfits[0].why == "no node has GPUs of type 'A10'");
  const auto bare = read_openb_tasks({"pods.csv", "name,cpu_milli,memory_mib,num_gpu,gpu_milli\nx,1,1,1,500\n"}, *c);
  REQUIRE(bare);
  CHECK_FALSE(bare->states_models);
}

TEST_CASE("Fields in quotes say the same as fields without, and may hold commas and quotes") {
  std::string quoted;
  for (const char x : nodes) quoted += x == ',' ? "\",\"" : x == '\n' ? "\"\n\"" : std::string(1, x);
  quoted = "\"" + quoted.substr(0, quoted.size() - 1);
  const auto plain = read_openb_nodes({"nodes.csv", nodes}), same = read_openb_nodes({"nodes.csv", quoted});
  REQUIRE(plain);
  REQUIRE(same);
  CHECK(same->names == plain->names);
  CHECK(same->nodes == plain->nodes);
  CHECK(same->models == plain->models);
  using cells = std::vector<std::string>;
  CHECK(quoted_csv_cells("a, b ,,\"c\"") == cells{"a", "b", "", "c"});
  CHECK(quoted_csv_cells("\"a,b\" , \" c \",\"say \"\"d\"\"\",\"\"") == cells{"a,b", " c ", "say \"d\"", ""});
  CHECK(quoted_csv_cells("") == cells{""});
  for (const std::string bad : {"\"a", "\"a\"b", "a\"b\"", "\"a\"\"", "a,\"", "\"a\",b\""}) {
    CHECK_FALSE(quoted_csv_cells(bad).has_value());
    CHECK(error_of_nodes("sn,cpu_milli,memory_mib,gpu,model\n" + bad + "\n") ==
          "nodes.csv:2: found a quote that does not end with its field, expected fields without quotes, or wholly in "
          "quotes with \"\" for one inside");
  }
}

TEST_CASE("Faults name file, line, what was found and what was expected") {
  CHECK(error_of_nodes("") == "nodes.csv: found no line, expected a header such as sn,cpu_milli,memory_mib,gpu,model");
  CHECK(error_of_nodes("sn,cpu_milli,gpu,model\n") ==
        "nodes.csv:1: found no column 'memory_mib', expected columns sn,cpu_milli,memory_mib,gpu,model");
  CHECK(error_of_nodes("sn,cpu_milli,memory_mib,gpu,model\na,-1,1,1,T4\n") ==
        "nodes.csv:2: found cpu_milli '-1', expected a whole number from 0 to 1000000000");
  CHECK(error_of_nodes("sn,cpu_milli,memory_mib,gpu,model\na,1,1,17,T4\n") ==
        "nodes.csv:2: found gpu '17', expected a whole number from 0 to 16");
  CHECK(error_of_nodes("sn,cpu_milli,memory_mib,gpu,model\na,1,1,1,T4\na,1,1,1,T4\n") ==
        "nodes.csv:3: found name 'a' again, expected each name once (first on line 2)");
  CHECK(error_of_nodes("sn,cpu_milli,memory_mib,gpu,model\na,1,1,0,\n") ==
        "nodes.csv: found no node with GPUs, expected at least one");
  CHECK(error_of_nodes("sn,cpu_milli,memory_mib,gpu,model\na,1,1,1\n") ==
        "nodes.csv:2: found 4 fields, expected 5 as in the header");
  CHECK(error_of_pods("name,cpu_milli,memory_mib,num_gpu,gpu_milli\nx,1,1,1,1001\n") ==
        "pods.csv:2: found gpu_milli '1001', expected a whole number from 0 to 1000");
  CHECK(error_of_pods("name,cpu_milli,memory_mib,num_gpu,gpu_milli\nx,1,1,1,0\n") ==
        "pods.csv:2: found num_gpu 1 with gpu_milli 0, expected a share from 1 to 1000");
  CHECK(error_of_pods("name,cpu_milli,memory_mib,num_gpu,gpu_milli\nx,1,1,0,500\n") ==
        "pods.csv:2: found num_gpu 0 with gpu_milli 500, expected gpu_milli 0");
  CHECK(error_of_pods("name,cpu_milli,memory_mib,num_gpu,gpu_milli,gpu_spec\nx,1,1,1,5,A||B\n") ==
        "pods.csv:2: found gpu_spec 'A||B', expected GPU types with | between");
}

TEST_CASE("Task lists without a required column, with amounts that are none, or with tasks larger than any node") {
  const std::string header = "name,cpu_milli,memory_mib,num_gpu,gpu_milli\n";
  CHECK(error_of_pods("name,cpu_milli,memory_mib,gpu_milli\nx,1,1,5\n") ==
        "pods.csv:1: found no column 'num_gpu', expected columns name,cpu_milli,memory_mib,num_gpu,gpu_milli");
  for (const std::string bad : {"-1", "2.5", "many", "", "1e3", "99999999999999999999"})
    CHECK(error_of_pods(header + "a,1,1,0,0\nx," + bad + ",1,1,5\n") ==
          "pods.csv:3: found cpu_milli '" + bad + "', expected a whole number from 0 to 1000000000");
  const auto c = read_openb_nodes({"nodes.csv", nodes});
  REQUIRE(c);
  const auto t = read_openb_tasks(
      {"pods.csv", header + "cpu,96001,1,0,0\nmemory,1,2049,0,0\ngpus,1,1,9,1000\nfits,1,1,8,1\n"}, *c);
  REQUIRE(t);
  REQUIRE(t->misfits.size() == 3);
  for (std::size_t i = 0; i < 3; ++i) {
    CHECK(t->misfits[i].line == i + 2);
    CHECK(t->misfits[i].why == "no empty node has what it asks for");
  }
  CHECK(t->tasks.size() == 4);  // they arrive and are refused like any other
  REQUIRE(t->remarks.size() == 1);
  CHECK(t->remarks[0].line == 5);
  CHECK(t->remarks[0].why == "several GPUs count as whole ones, not as 1");
  const auto some = read_openb_tasks(
      {"pods.csv", "name,cpu_milli,memory_mib,num_gpu,gpu_milli,gpu_spec\na,1,1,1,5,H100|T4\nb,1,1,1,5,H100\n"}, *c);
  REQUIRE(some);
  REQUIRE(some->remarks.size() == 1);
  CHECK(some->remarks[0].why == "no node has GPUs of type 'H100'");
  CHECK(some->tasks[0].models == bit(0));
  REQUIRE(some->misfits.size() == 1);
  CHECK(some->misfits[0].line == 3);
}

TEST_CASE("Watts and memory of the trace's GPU types, of models of the catalogue, and of types that nobody knows") {
  // Where the catalogue has the model, it says the same.
  for (const auto& [name, id] : {std::pair{"T4", "t4"}, std::pair{"V100M16", "v100-sxm2-16gb"},
                                 std::pair{"V100M32", "v100-sxm2-32gb"}, std::pair{"A100", "a100-sxm4-80gb"}}) {
    const auto t = find_openb_type(name);
    const auto* const m = catalogue::find_gpu_model(id);
    REQUIRE(t);
    REQUIRE(m != nullptr);
    CHECK(t->power.gpu.busy == m->tdp_watts);
    CHECK(t->memory_mib <= m->memory_gb * 1024U);
  }
  const auto c = read_openb_nodes({"f",
                                   "sn,cpu_milli,memory_mib,gpu,model\na,96000,1,8,G2\nb,96000,1,2,T4\n"
                                   "c,96000,1,1,h100-sxm5-80gb\nd,96000,1,4,X1\n"});
  REQUIRE(c);
  const auto f = facts_of(*c);
  CHECK(f.unknown == std::vector<std::string>{"X1"});
  CHECK(f.size[2] == 1.0);
  CHECK(f.size[1] == doctest::Approx(15'109.0 / 81'559));
  CHECK(f.power.watts(c->nodes[0], c->nodes[0]) == 8 * 30 + 2 * 20);  // 48 cores, 32 a package
  CHECK(f.power.watts(c->nodes[1], c->nodes[1]) == 2 * 10 + 2 * 20);
  CHECK(f.power.watts(c->nodes[2], c->nodes[2]) == 700 / 8.0 + 2 * 20);  // an estimate
  auto busy = c->nodes[1];
  take(busy, {cpus(8), {}, 1, 500, ~std::uint64_t{0}}, bit(1));
  CHECK(f.power.watts(busy, c->nodes[1]) == 265);
}

TEST_CASE("Mutated lists give a value or a fault with a source") {
  random_source random{11};
  const auto c = read_openb_nodes({"nodes.csv", nodes});
  REQUIRE(c);
  std::size_t good = 0, bad = 0;
  for (int i = 0; i < 4000; ++i) {
    std::string text = i % 2 == 0 ? nodes : pods;
    for (std::uint64_t k = 1 + random.below(3); k-- > 0;) {
      const std::size_t at = random.below(text.size());
      if (random.below(2) == 0) text[at] = static_cast<char>(random.below(256));
      else text.erase(at, 1 + random.below(6));
    }
    if (i % 2 == 0) {
      const auto r = read_openb_nodes({"f", text});
      r ? ++good : ++bad;
      if (!r) CHECK(r.error().source == "f");
    } else {
      const auto r = read_openb_tasks({"f", text}, *c);
      r ? ++good : ++bad;
      if (!r) CHECK(r.error().source == "f");
    }
  }
  CHECK(good > 100);
  CHECK(bad > 100);
}

}  // namespace
