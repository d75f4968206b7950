// Rules for kinds of devices from a file.
#include "berth/io/kind_rules_json.hpp"

#include <doctest/doctest.h>

#include <string>

using namespace berth;

namespace {

std::string refusal(const std::string& rules) {
  const auto r = read_kind_rules("{\"berth_kind_rules\": 1,\n\"rules\": [" + rules + "]}", "rules.json");
  return r ? "read" : r.error().message();
}
bool has(const std::string& text, std::string_view part) {
  return text.find(part) != std::string::npos;
}

}  // namespace

TEST_SUITE("io/kind_rules_json") {
  TEST_CASE("the table that berth comes with is written and read back as it was") {
    const auto ours = default_kind_rules();
    const auto read = read_kind_rules(write_kind_rules(ours), "ours");
    REQUIRE(read);
    REQUIRE(read->size() == ours.size());
    for (std::size_t i = 0; i < ours.size(); ++i) {
      const auto &a = ours[i], &b = (*read)[i];
      CHECK(a.name == b.name);
      CHECK(a.kinds == b.kinds);
      CHECK(a.latencies == b.latencies);
      CHECK(a.linked == b.linked);
      CHECK(a.memory_at_most == b.memory_at_most);
      CHECK(a.utilisation_at_most == b.utilisation_at_most);
      CHECK(a.use == b.use);
      CHECK(a.why == b.why);
      CHECK(a.source == b.source);
    }
  }

  TEST_CASE("what is wrong with a rule is said with its line; nothing is taken over in part") {
    CHECK(refusal(R"({"name": "a", "use": "time-slice", "kinds": ["development"], "latency": ["none"]})") == "read");
    CHECK(has(refusal(R"({"name": "a", "use": "half"})"),
              "rules.json:2: found rule 'a' with use 'half', expected one of whole-gpu"));
    CHECK(has(refusal(R"({"name": "a"})"), "expected one of whole-gpu"));
    CHECK(has(refusal(R"({"use": "whole-gpu"})"), "without \"name\""));
    CHECK(has(refusal(R"({"name": "a", "use": "whole-gpu", "kinds": ["hpc"]})"), "'hpc', expected one of training"));
    CHECK(has(refusal(R"({"name": "a", "use": "whole-gpu", "kinds": []})"), "at least one of"));
    CHECK(has(refusal(R"({"name": "a", "use": "whole-gpu", "memory_percent_at_most": 101})"), "from 0 to 100"));
    CHECK(has(refusal(R"({"name": "a", "use": "whole-gpu", "linked": 1})"), "true or false"));
    CHECK(has(refusal(R"({"name": "a", "use": "whole-gpu", "memory": 1})"), "unknown key 'memory'"));
    CHECK(has(refusal(""), "1 to 1000 rules"));
    CHECK_FALSE(read_kind_rules("{}", "x"));
    CHECK_FALSE(read_kind_rules("{\"berth_kind_rules\": 2, \"rules\": []}", "x"));
    CHECK_FALSE(read_kind_rules("[", "x"));
    CHECK_FALSE(read_kind_rules("", "x"));
  }
}
