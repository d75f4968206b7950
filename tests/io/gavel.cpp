#include "berth/io/gavel.hpp"

#include <doctest/doctest.h>

#include <cstdint>
#include <string>
#include <vector>

#include "berth/core/random.hpp"
#include "berth/io/text_file.hpp"

namespace {

using namespace berth;

const std::string csv =
    "job_type,num_gpus,k80,v100,v100_unconsolidated\n"
    "\"LM (batch size 10)\",2,29.98486,163.12902,35.14049\n"
    "A3C,1,3.43877,7.17577,\n"
    "\"a, \"\"b\"\"\",8,0,,\n";
const std::string json =
    "{\n"
    " \"k80\": {\"('A3C', 1)\": {\"null\": 3.5, \"('A3C', 1)\": [1.5, 1.5]}, \"('LM (batch size 10)', 2)\": {\"null\": "
    "29}},\n"
    " \"v100\": {\"('A3C', 1)\": {\"null\": 7.0}},\n"
    " \"v100_unconsolidated\": {\"('LM (batch size 10)', 2)\": {\"null\": 35.25}}\n"
    "}";
const std::string jobs =
    "job_id,job_type,total_steps,num_gpus,priority_weight,submit_s\n"
    "0,\"LM (batch size 10)\",100,2,2.5,60\nx,A3C,5,1,1,0\ny,A3C,7,1,1,3.5\n";

std::string error_of(const std::string& text) {
  const auto r = read_gavel_throughputs({"t", text});
  return r ? "" : r.error().message();
}
std::string error_of_jobs(const std::string& text) {
  const auto t = read_gavel_throughputs({"t", csv});
  REQUIRE(t);
  const auto r = read_gavel_jobs({"j", text}, *t);
  return r ? "" : r.error().message();
}

TEST_CASE("Throughput tables are read from CSV and from the published JSON") {
  const auto t = read_gavel_throughputs({"t", csv});
  REQUIRE(t);
  CHECK(t->types == std::vector<std::string>{"k80", "v100"});
  REQUIRE(t->lines.size() == 3);
  const auto* lm = t->find("LM (batch size 10)", 2);
  REQUIRE(lm != nullptr);
  CHECK(lm->on[1].packed == 163.12902);
  CHECK(lm->on[1].spread == 35.14049);
  CHECK_FALSE(lm->on[0].spread);
  CHECK(t->find("A3C", 2) == nullptr);
  CHECK_FALSE(t->find("A3C", 1)->on[1].spread);
  CHECK(t->lines[2].job_type == "a, \"b\"");
  CHECK(t->lines[2].on[0].packed == 0.0);
  CHECK_FALSE(t->lines[2].on[1].packed);

  const auto j = read_gavel_throughputs({"t", json});
  REQUIRE(j);
  CHECK(j->types == std::vector<std::string>{"k80", "v100"});
  REQUIRE(j->lines.size() == 2);
  CHECK(j->find("A3C", 1)->on[1].packed == 7.0);
  CHECK_FALSE(j->find("A3C", 1)->on[1].spread);
  CHECK(j->find("LM (batch size 10)", 2)->on[1].spread == 35.25);
  CHECK_FALSE(j->find("LM (batch size 10)", 2)->on[1].packed);
}

TEST_CASE("The published table has 83 lines on three types, and the list of the physical cluster 96 jobs") {
  const auto file = read_text_file("examples/data/gavel/throughput_steps_per_s.csv");
  const auto list = read_text_file("examples/data/gavel/physical_max_min_fairness.csv");
  REQUIRE(file);
  REQUIRE(list);
  const auto t = read_gavel_throughputs(*file);
  REQUIRE(t);
  CHECK(t->lines.size() == 83);
  CHECK(t->types == std::vector<std::string>{"k80", "p100", "v100"});
  CHECK(t->find("ResNet-50 (batch size 64)", 1)->on[2].packed == 4.39477);
  CHECK_FALSE(t->find("ResNet-50 (batch size 64)", 8)->on[0].spread);
  const auto j = read_gavel_jobs(*list, *t);
  REQUIRE(j);
  CHECK(j->size() == 96);
  CHECK(t->lines[j->front().line].job_type == "ResNet-18 (batch size 128)");
  const auto c = classes_of(*t, *j);
  std::uint32_t count = 0;
  for (const auto& l : c.lines) count += l.count;
  CHECK(count == 96);
  CHECK(c.lines.size() == 23);
  CHECK(c.lines[c.line_of[0]].devices == 4);
  CHECK(c.lines[c.line_of[0]].weight == 0.25);
  CHECK(classes_of(*t, *j, false, false).lines[c.line_of[0]].weight == 1);
}

TEST_CASE("Job lists: classes, weights, times") {
  const auto t = read_gavel_throughputs({"t", csv});
  REQUIRE(t);
  const auto j = read_gavel_jobs({"j", jobs}, *t);
  REQUIRE(j);
  REQUIRE(j->size() == 3);
  CHECK((*j)[0].weight == 2.5);
  CHECK((*j)[2].submit_seconds == 3.5);
  const auto c = classes_of(*t, *j, true);
  REQUIRE(c.lines.size() == 2);
  CHECK(c.lines[0].weight == 1.25);
  CHECK(c.lines[0].throughput == std::vector<double>{0, 35.14049});
  CHECK(c.lines[1].count == 2);
  CHECK(c.line_of == std::vector<std::uint32_t>{0, 1, 1});
}

TEST_CASE("Faults of throughput tables and job lists name file and line") {
  CHECK(error_of("") == "t: found no line, expected a header such as job_type,num_gpus");
  CHECK(error_of("job_type,k80\n") == "t:1: found no column 'num_gpus', expected columns job_type,num_gpus");
  CHECK(error_of("job_type,num_gpus\n") ==
        "t:1: found no column of a GPU type, expected one column or more beside job_type");
  CHECK(error_of("job_type,num_gpus,k80\n") == "t: found no job type, expected one or more");
  CHECK(error_of("job_type,num_gpus,k80,k80\n") == "t:1: found two columns 'k80', expected each column once");
  CHECK(error_of("job_type,num_gpus,k80\na,0,1\n") ==
        "t:2: found num_gpus '0', expected a whole number from 1 to 1000000");
  for (const std::string bad : {"-1", "-0", "nan", "inf", "1e13", "x", "1 2", "0x5"})
    CHECK(error_of("job_type,num_gpus,k80\na,1,1\nb,1," + bad + "\n") ==
          "t:3: found k80 '" + bad + "', expected a number from 0 to 10^12");
  CHECK(error_of("job_type,num_gpus,k80\na,1,1\na,1,2\n") ==
        "t:3: found 'a' on 1 GPUs again, expected each job type and number of GPUs once");
  CHECK(error_of("job_type,num_gpus,k80\n\"a,1,1\n") ==
        "t:2: found a quote that does not end with its field, expected fields without quotes, or wholly in quotes with "
        "\"\" for one inside");
  CHECK(error_of("job_type,num_gpus,k80\na,1\n") == "t:2: found 2 fields, expected 3 as in the header");
  CHECK(error_of("{\"k80\": {\"A3C\": {\"null\": 1}}}") == "t:1: found key 'A3C', expected a key such as ('A3C', 1)");
  CHECK(error_of("{\n\"k80\": {\n\"('A', 1)\": {\"null\": -1}}}") ==
        "t:3: found -1, expected steps per second from 0 to 10^12");
  CHECK(error_of("{\n\"k80\": {\n\"('A', 1)\": {}}}") ==
        "t:3: found no member \"null\" of '('A', 1)', expected steps alone");
  CHECK(error_of("{\n\"k80\": 3}") == "t:2: found 3, expected an object of job types");
  CHECK(error_of("{}") == "t:1: found no job type, expected one or more");
  CHECK(error_of("{\n\"k80\": {").starts_with("t:2: found a JSON syntax error"));
  const std::string header = "job_id,job_type,total_steps,num_gpus,priority_weight\n";
  CHECK(error_of_jobs(header) == "j: found no job, expected one or more");
  CHECK(error_of_jobs(header + "1,B,1,1,1\n") == "j:2: found job type 'B' on 1 GPUs, expected one that was measured");
  CHECK(error_of_jobs(header + "1,A3C,0,1,1\n").starts_with("j:2: found total_steps '0'"));
  CHECK(error_of_jobs(header + "1,A3C,1,1,0\n") == "j:2: found priority_weight 0, expected a weight above 0");
  CHECK(error_of_jobs("job_id,job_type,num_gpus\n").starts_with("j:1: found no column 'total_steps'"));
}

TEST_CASE("Mutated tables and lists give a value or a fault with a source") {
  random_source random{12};
  const auto t = read_gavel_throughputs({"t", csv});
  REQUIRE(t);
  std::size_t good = 0, bad = 0;
  for (int i = 0; i < 3000; ++i) {
    std::string text = i % 3 == 0 ? csv : i % 3 == 1 ? json : jobs;
    for (std::uint64_t k = 1 + random.below(3); k-- > 0;) {
      const std::size_t at = random.below(text.size());
      if (random.below(2) == 0) text[at] = static_cast<char>(random.below(256));
      else text.erase(at, 1 + random.below(6));
    }
    const auto count = [&](const auto& r) {
      r ? ++good : ++bad;
      if (!r) CHECK(r.error().source == "f");
    };
    if (i % 3 == 2) count(read_gavel_jobs({"f", text}, *t));
    else count(read_gavel_throughputs({"f", text}));
  }
  CHECK(good > 100);
  CHECK(bad > 100);
}

}  // namespace
