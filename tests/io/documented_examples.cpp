// The examples in docs/cluster-file.md are read by the readers they document.

#include <doctest/doctest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "berth/io/cluster_json.hpp"
#include "berth/io/gang_text.hpp"
#include "berth/io/job_json.hpp"
#include "berth/io/occupied.hpp"
#include "samples.hpp"

namespace {

/// The fenced JSON blocks and the indented blocks of a page.
struct blocks {
  std::vector<std::string> json, indented;
};
blocks blocks_of(const std::string& page) {
  blocks out;
  bool fenced = false, in_block = false;
  for (std::size_t at = 0; at < page.size();) {
    const std::size_t end = std::min(page.find('\n', at), page.size());
    const std::string line = page.substr(at, end - at);
    at = end + 1;
    if (line.starts_with("```")) {
      fenced = line == "```json";
      if (fenced) out.json.emplace_back();
    } else if (fenced) {
      out.json.back() += line + "\n";
    } else if (line.starts_with("    ")) {
      if (!in_block) out.indented.emplace_back();
      out.indented.back() += line.substr(4) + "\n";
    }
    in_block = !fenced && line.starts_with("    ");
  }
  return out;
}

TEST_SUITE("io/documented_examples") {
  TEST_CASE("documentation: every example of docs/cluster-file.md is read") {
    const auto page = berth::load_text_file(std::string{BERTH_SOURCE_DIR} + "/docs/cluster-file.md");
    REQUIRE(page.has_value());
    const auto b = blocks_of(*page);
    REQUIRE(b.json.size() == 3);
    for (int i = 0; i < 2; ++i) {
      const auto spec = berth::read_cluster_json({"docs", b.json[static_cast<std::size_t>(i)]}, samples::catalogue);
      CHECK_MESSAGE(spec.has_value(), samples::failure(spec));
      if (spec) CHECK(spec->assumptions.empty());
    }
    const auto job = berth::read_job_json({"docs", b.json[2]});
    CHECK_MESSAGE(job.has_value(), samples::failure(job));
    REQUIRE(b.indented.size() == 2);
    const auto gang = berth::parse_gang(b.indented[0].substr(0, b.indented[0].size() - 1), "docs");
    CHECK_MESSAGE(gang.has_value(), samples::failure(gang));
    const auto held = berth::read_occupancy({"docs", b.indented[1]});
    CHECK_MESSAGE(held.has_value(), samples::failure(held));
    if (held) CHECK(held->lines.size() == 5);
  }
}

}  // namespace
