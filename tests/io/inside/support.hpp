#pragma once
/// \file
/// What the tests of readers of a machine's inside share: samples, small queries on graphs, damaged texts.

#include <doctest/doctest.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "berth/core/random.hpp"
#include "berth/io/inside/path_kind.hpp"
#include "berth/io/site_report.hpp"
#include "io/broken_text.hpp"

#ifndef BERTH_SOURCE_DIR
#define BERTH_SOURCE_DIR "."
#endif

namespace inside_test {

/// A file under tests/io/data/inputs, named by its last part.
inline berth::named_text sample(const std::string& path) {
  auto text = berth::load_text_file(std::string{BERTH_SOURCE_DIR} + "/tests/io/data/inputs/" + path);
  REQUIRE_MESSAGE(text.has_value(), "cannot read " << path);
  return {path.substr(path.rfind('/') + 1), std::move(*text)};
}

inline const berth::hardware_graph& inside(const berth::site_report& r, std::size_t machine = 0) {
  REQUIRE(r.machines.size() > machine);
  REQUIRE(r.machines[machine].inside.has_value());
  return *r.machines[machine].inside;
}
inline std::size_t count(const berth::hardware_graph& g, berth::vertex_kind k) {
  return berth::parts_of(g, k).size();
}

/// "kind:count …" of all parts, in the order of the kinds.
inline std::string census(const berth::hardware_graph& g) {
  std::string out;
  for (int k = 0; k <= static_cast<int>(berth::vertex_kind::host_bridge); ++k) {
    const auto kind = static_cast<berth::vertex_kind>(k);
    if (const std::size_t n = count(g, kind); n != 0)
      out += (out.empty() ? "" : " ") + std::string{to_string(kind)} + ":" + std::to_string(n);
  }
  return out;
}

/// The whole graph as text, links sorted, so that two graphs can be compared.
inline std::string dump(const berth::hardware_graph& g) {
  std::string out;
  for (berth::part_id v = 0; v < boost::num_vertices(g); ++v)
    out += g[v].name + " " + g[v].model + " " + g[v].bus_id + " " + g[v].uuid +
           (g[v].cpu ? " " + std::to_string(g[v].cpu->count()) : "") +
           (g[v].rate ? " " + std::to_string(g[v].rate->count()) : "") + "\n";
  std::vector<std::string> links;
  for (auto [e, end] = boost::edges(g); e != end; ++e) {
    const auto a = std::min(boost::source(*e, g), boost::target(*e, g));
    const auto b = std::max(boost::source(*e, g), boost::target(*e, g));
    links.push_back(g[a].name + "-" + g[b].name + " " + std::string{to_string(g[*e].kind)} + " " +
                    std::to_string(g[*e].count.value_or(0)) + " " +
                    (g[*e].rate ? std::to_string(g[*e].rate->count()) : "?"));
  }
  std::sort(links.begin(), links.end());
  for (const auto& l : links) out += l + "\n";
  return out;
}

/// The table of a graph as text: one line per device.
inline std::string table_text(const berth::hardware_graph& g) {
  std::string out;
  for (const auto& row : berth::path_table(g)) {
    for (const auto& c : row) out += to_string(c) + " ";
    out += "\n";
  }
  return out;
}

inline bool mentions(const std::vector<std::string>& sentences, std::string_view word) {
  return std::any_of(sentences.begin(), sentences.end(),
                     [&](const std::string& s) { return s.find(word) != std::string::npos; });
}

/// The links between two parts, taken together: NVLinks, lanes or cables.
inline unsigned links_between(const berth::hardware_graph& g, berth::part_id a, berth::part_id b) {
  unsigned n = 0;
  for (auto [e, end] = boost::out_edges(a, g); e != end; ++e)
    if (boost::target(*e, g) == b) n += g[*e].count.value_or(1);
  return n;
}

template <class T>
std::string failure(const berth::expected<T, berth::input_error>& e) {
  return e ? std::string{} : e.error().message();
}

/// Reads `times` damaged copies of a text: each is a value whose parts are in order, or an error at a place.
template <class Read>
void survives_damage(const berth::named_text& in, Read read, unsigned times, std::uint64_t seed) {
  static const std::vector<std::string_view> words{"\t", "\n", " ",  "\"", "<", ">",  "/", "=",
                                                   ":",  ",",  "-1", "0",  "f", "NV", "X", "[\x1b"};
  berth::random_source random{seed};
  for (unsigned i = 0; i < times; ++i) {
    const berth::named_text bad{in.name, broken::mutated(in.text, words, random)};
    CAPTURE(i);
    CAPTURE(bad.name);
    const auto r = read(bad);
    if (!r) {
      CHECK(r.error().source == in.name);
      CHECK((r.error().line > 0 || bad.text.empty()));
      CHECK_FALSE(r.error().found.empty());
      continue;
    }
    for (const auto& m : r->machines) {
      if (!m.inside) continue;
      const auto gpus = berth::parts_of(*m.inside, berth::vertex_kind::gpu);
      for (std::size_t g = 0; g < gpus.size(); ++g) CHECK(gpus[g] == g);
      if (m.gpus) CHECK(*m.gpus == gpus.size());
    }
  }
}

}  // namespace inside_test
