#pragma once
/// \file
/// Hardware graphs as JSON: `{"name", "vertices": [{"kind", "name", …}], "links": [{"from", "to", "kind", …}]}`, ends
/// of links by position among the vertices. Unknown rates and latencies are left out, never 0. Reading what was written
/// gives the same graph. Needs nlohmann-json and Boost.Graph.

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <limits>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "berth/core/error.hpp"
#include "berth/core/expected.hpp"
#include "berth/io/json_document.hpp"
#include "berth/io/shape_json.hpp"
#include "berth/io/text.hpp"
#include "berth/topology/graph/hardware_graph.hpp"

namespace berth {

namespace json_detail {

[[nodiscard]] inline std::optional<vertex_kind> parse_vertex_kind(std::string_view s) noexcept {
  for (unsigned k = 0; k < 64; ++k) {
    const auto kind = static_cast<vertex_kind>(k);
    if (to_string(kind) == "?") return std::nullopt;
    if (to_string(kind) == s) return kind;
  }
  return std::nullopt;
}
[[nodiscard]] inline std::optional<link_kind> parse_link_kind(std::string_view s) noexcept {
  for (unsigned k = 0; k < 64; ++k) {
    const auto kind = static_cast<link_kind>(k);
    if (to_string(kind) == "?") return std::nullopt;
    if (to_string(kind) == s) return kind;
  }
  return std::nullopt;
}

/// "0x" and 16 digits.
[[nodiscard]] inline std::string guid_json(std::uint64_t guid) {
  char out[24];
  std::snprintf(out, sizeof out, "0x%016llx", static_cast<unsigned long long>(guid));
  return out;
}
[[nodiscard]] inline std::optional<std::uint64_t> parse_guid(std::string_view s) noexcept {
  if (!s.starts_with("0x") || s.size() < 3 || s.size() > 18) return std::nullopt;
  std::uint64_t v = 0;
  for (const char c : s.substr(2)) {
    const char l = io_text::lower(c);
    if (!io_text::is_digit(l) && (l < 'a' || l > 'f')) return std::nullopt;
    v = v * 16 + static_cast<std::uint64_t>(io_text::is_digit(l) ? l - '0' : l - 'a' + 10);
  }
  return v;
}

/// One vertex with everything that is known about it.
[[nodiscard]] inline nlohmann::ordered_json part_json(const part& p) {
  nlohmann::ordered_json j;
  j["kind"] = to_string(p.kind);
  j["name"] = p.name;
  j["index"] = p.index;
  if (p.machine) j["machine"] = *p.machine;
  if (!p.model.empty()) j["model"] = p.model;
  if (!p.bus_id.empty()) j["bus_id"] = p.bus_id;
  if (!p.uuid.empty()) j["uuid"] = p.uuid;
  if (p.guid) j["guid"] = guid_json(*p.guid);
  if (p.rail) j["rail"] = *p.rail;
  if (p.rate) j["gigabytes_per_second"] = p.rate->count();
  if (p.cpu) j["cpus"] = cpus_json(*p.cpu);
  if (p.latency) j["latency_ns"] = p.latency->count();
  if (!p.healthy) j["healthy"] = false;
  return j;
}
/// One link, without its ends.
[[nodiscard]] inline nlohmann::ordered_json link_json(const link& l) {
  nlohmann::ordered_json j;
  j["kind"] = to_string(l.kind);
  if (l.generation) j["generation"] = *l.generation;
  if (l.count) j["count"] = *l.count;
  if (l.rate) j["gigabytes_per_second"] = l.rate->count();
  if (l.latency) j["latency_ns"] = l.latency->count();
  if (l.rail) j["rail"] = *l.rail;
  if (!l.healthy) j["healthy"] = false;
  return j;
}

struct graph_reader {
  const std::string& source;
  std::size_t max_parts;

  using status = expected<void, input_error>;

  /// A number of at least 0; absent leaves `out` empty.
  template <class Unit>
  status amount(const json_reader& r, const json_value& v, std::string_view key, std::optional<Unit>& out) const {
    const auto* x = v.find(key);
    if (x == nullptr || x->type == json_value::kind::null) return {};
    const bool number = x->type == json_value::kind::integer || x->type == json_value::kind::real;
    if (!number || !(x->real >= 0) || x->real > 1e12) return r.wrong(key, *x, "a number of at least 0, or null");
    out = Unit{x->real};
    return {};
  }
  template <class T>
  status whole(const json_reader& r, const json_value& v, std::string_view key, std::optional<T>& out) const {
    if (v.find(key) == nullptr) return {};
    T n{};
    if (auto ok = r.integer(key, n, 0, static_cast<std::int64_t>(std::numeric_limits<T>::max())); !ok) return ok;
    out = n;
    return {};
  }

  status read_part(const json_value& v, part& p) const {
    const json_reader r{v, source};
    auto ok =
        r.only("kind name index machine model bus_id uuid guid rail gigabytes_per_second cpus latency_ns healthy");
    std::string kind, guid;
    if (ok) ok = r.text("kind", kind);
    if (ok) ok = r.text("name", p.name);
    if (ok) ok = r.integer("index", p.index, 0, std::numeric_limits<std::uint32_t>::max());
    if (ok) ok = whole(r, v, "machine", p.machine);
    if (ok) ok = r.text("model", p.model);
    if (ok) ok = r.text("bus_id", p.bus_id);
    if (ok) ok = r.text("uuid", p.uuid);
    if (ok) ok = r.text("guid", guid);
    if (ok) ok = whole(r, v, "rail", p.rail);
    if (ok) ok = amount(r, v, "gigabytes_per_second", p.rate);
    if (ok && v.find("cpus") != nullptr) {
      p.cpu = cpu_millis{};
      ok = r.cpus("cpus", *p.cpu);
    }
    if (ok) ok = amount(r, v, "latency_ns", p.latency);
    if (ok) ok = r.yes_or_no("healthy", p.healthy);
    if (!ok) return ok;
    const auto k = parse_vertex_kind(kind);
    if (!k) return unexpected{r.error(v, "vertex of kind " + io_text::quoted(kind), "gpu, nic, nvswitch, …")};
    p.kind = *k;
    if (!guid.empty()) {
      p.guid = parse_guid(guid);
      if (!p.guid) return r.wrong("guid", *v.find("guid"), "0x and up to 16 digits");
    }
    return {};
  }

  status read_link(const json_value& v, std::size_t parts, hardware_graph& g) const {
    const json_reader r{v, source};
    auto ok = r.only("from to kind generation count gigabytes_per_second latency_ns rail healthy");
    std::optional<std::uint32_t> from, to;
    std::string kind;
    link l;
    if (ok) ok = whole(r, v, "from", from);
    if (ok) ok = whole(r, v, "to", to);
    if (ok) ok = r.text("kind", kind);
    if (ok) ok = whole(r, v, "generation", l.generation);
    if (ok) ok = whole(r, v, "count", l.count);
    if (ok) ok = amount(r, v, "gigabytes_per_second", l.rate);
    if (ok) ok = amount(r, v, "latency_ns", l.latency);
    if (ok) ok = whole(r, v, "rail", l.rail);
    if (ok) ok = r.yes_or_no("healthy", l.healthy);
    if (!ok) return ok;
    const auto k = parse_link_kind(kind);
    if (!k) return unexpected{r.error(v, "link of kind " + io_text::quoted(kind), "nvlink, pcie, infiniband, …")};
    if (!from || !to || *from >= parts || *to >= parts || *from == *to)
      return unexpected{r.error(v, "a link between no two vertices", "\"from\" and \"to\": positions of two vertices")};
    l.kind = *k;
    (void)join(g, *from, *to, std::move(l));
    return {};
  }
};

}  // namespace json_detail

/// A graph as JSON. O(parts + links).
[[nodiscard]] inline nlohmann::ordered_json graph_json(const hardware_graph& g) {
  nlohmann::ordered_json j;
  j["name"] = g[boost::graph_bundle].name;
  j["vertices"] = nlohmann::ordered_json::array();
  j["links"] = nlohmann::ordered_json::array();
  for (part_id v = 0; v < boost::num_vertices(g); ++v) j["vertices"].push_back(json_detail::part_json(g[v]));
  for (auto [e, end] = boost::edges(g); e != end; ++e) {
    nlohmann::ordered_json l{{"from", boost::source(*e, g)}, {"to", boost::target(*e, g)}};
    l.update(json_detail::link_json(g[*e]));
    j["links"].push_back(std::move(l));
  }
  return j;
}

/// Reads what `graph_json` wrote. Errors: unknown kinds, links without ends, more than `max_parts` vertices and links.
[[nodiscard]] inline expected<hardware_graph, input_error> read_graph_json(const json_value& v,
                                                                           const std::string& source,
                                                                           std::size_t max_parts = std::size_t{1}
                                                                                                   << 24) {
  const json_reader r{v, source};
  hardware_graph g;
  if (auto ok = r.only("name vertices links"); !ok) return unexpected{std::move(ok).error()};
  if (auto ok = r.text("name", g[boost::graph_bundle].name); !ok) return unexpected{std::move(ok).error()};
  const auto parts = r.array("vertices"), links = r.array("links");
  if (!parts) return unexpected{parts.error()};
  if (!links) return unexpected{links.error()};
  const json_detail::graph_reader reader{source, max_parts};
  const std::size_t count =
      (*parts == nullptr ? 0 : (*parts)->items.size()) + (*links == nullptr ? 0 : (*links)->items.size());
  if (count > max_parts)
    return unexpected{
        r.error(v, std::to_string(count) + " vertices and links", "at most " + std::to_string(max_parts))};
  if (*parts != nullptr)
    for (const auto& p : (*parts)->items) {
      part out;
      if (auto ok = reader.read_part(p, out); !ok) return unexpected{std::move(ok).error()};
      boost::add_vertex(std::move(out), g);
    }
  if (*links != nullptr)
    for (const auto& l : (*links)->items)
      if (auto ok = reader.read_link(l, boost::num_vertices(g), g); !ok) return unexpected{std::move(ok).error()};
  return g;
}

}  // namespace berth
