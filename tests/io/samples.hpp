#pragma once
/// \file
/// What the tests of readers share: example files, shapes, messages of errors.

#include <doctest/doctest.h>

#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "berth/cluster/spec.hpp"
#include "berth/core/error.hpp"
#include "berth/core/expected.hpp"
#include "berth/io/same_hardware.hpp"
#include "berth/io/slurm.hpp"
#include "berth/io/text_file.hpp"

#ifndef BERTH_SOURCE_DIR
#define BERTH_SOURCE_DIR "."
#endif

namespace samples {

/// A file under examples/data.
inline std::string example_path(const std::string& name) {
  return std::string{BERTH_SOURCE_DIR} + "/examples/data/" + name;
}
inline berth::named_text example(const std::string& name) {
  auto text = berth::load_text_file(example_path(name));
  REQUIRE_MESSAGE(text.has_value(), "cannot read " << example_path(name));
  return {name, std::move(*text)};
}

/// An 8-GPU machine.
inline berth::node_shape hgx() {
  auto s = berth::make_plain_shape("azure-ndv5", 8, "h100-sxm5-80gb", berth::cpus(96), berth::gibibytes(1900));
  for (unsigned a = 0; a < 8; ++a)
    for (unsigned b = 0; b < a; ++b) s.bandwidth.set(a, b, berth::gigabytes_per_second{450});
  return s;
}
inline std::optional<berth::node_shape> catalogue(std::string_view id) {
  if (id == "azure-ndv5") return hgx();
  return std::nullopt;
}

/// Options with that machine for nodes whose hardware no file states, and without access to the file system.
inline berth::slurm_options with_shape() {
  berth::slurm_options o;
  o.hardware.shape = hgx();
  o.load = [](const std::string&) -> std::optional<std::string> { return std::nullopt; };
  return o;
}

/// The message of an expected failure, or the empty string where there is a value.
template <class T>
std::string failure(const berth::expected<T, berth::input_error>& e) {
  return e ? std::string{} : e.error().message();
}

inline bool contains(std::string_view text, std::string_view part) {
  return text.find(part) != text.npos;
}
inline bool any_contains(const std::vector<std::string>& texts, std::string_view part) {
  for (const auto& t : texts)
    if (contains(t, part)) return true;
  return false;
}

/// Checks that two specs are the same in every observable respect.
inline void check_same(const berth::cluster_spec& a, const berth::cluster_spec& b) {
  REQUIRE(a.tree.level_count() == b.tree.level_count());
  REQUIRE(a.tree.node_count() == b.tree.node_count());
  for (std::uint8_t i = 0; i < a.tree.level_count(); ++i) {
    const berth::level_id l{i};
    CHECK(a.tree.level_name(l) == b.tree.level_name(l));
    REQUIRE(a.tree.domain_count(l) == b.tree.domain_count(l));
    for (std::uint32_t d = 0; d < a.tree.domain_count(l); ++d) {
      const auto& x = a.tree.at(l, berth::domain_id{d});
      const auto& y = b.tree.at(l, berth::domain_id{d});
      CHECK(x.parent == y.parent);
      CHECK(x.children == y.children);
      CHECK(x.nodes == y.nodes);
      CHECK(x.implicit == y.implicit);
      CHECK(a.tree.name(l, berth::domain_id{d}) == b.tree.name(l, berth::domain_id{d}));
    }
  }
  REQUIRE(a.shapes.size() == b.shapes.size());
  for (std::size_t i = 0; i < a.shapes.size(); ++i) {
    CHECK(a.shapes[i].name == b.shapes[i].name);
    CHECK(berth::same_hardware(a.shapes[i], b.shapes[i]));
  }
  REQUIRE(a.nodes.size() == b.nodes.size());
  for (std::size_t i = 0; i < a.nodes.size(); ++i) {
    CHECK(a.nodes[i].name == b.nodes[i].name);
    CHECK(a.nodes[i].shape == b.nodes[i].shape);
    CHECK(a.nodes[i].labels == b.nodes[i].labels);
    CHECK(a.nodes[i].usable == b.nodes[i].usable);
    CHECK(a.nodes[i].cpu == b.nodes[i].cpu);
    CHECK(a.nodes[i].memory == b.nodes[i].memory);
  }
  CHECK(a.assumptions == b.assumptions);
  CHECK(a.uplinks.usable_permille == b.uplinks.usable_permille);
  REQUIRE(a.uplinks.levels.size() == b.uplinks.levels.size());
  for (std::size_t l = 0; l < a.uplinks.levels.size(); ++l) {
    CHECK(a.uplinks.levels[l].planes == b.uplinks.levels[l].planes);
    CHECK(a.uplinks.levels[l].rates == b.uplinks.levels[l].rates);
  }
}

}  // namespace samples
