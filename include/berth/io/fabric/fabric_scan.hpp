#pragma once
/// \file
/// What the scans of a fabric have in common: stations (adapters, switches, routers) and the cables between their
/// ports, each end reported once or twice. `build_fabric` makes a `fabric_report` of it.

#include <cstddef>
#include <cstdint>
#include <deque>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "berth/core/error.hpp"
#include "berth/core/expected.hpp"
#include "berth/core/units.hpp"
#include "berth/io/site_report.hpp"
#include "berth/io/text.hpp"

namespace berth::fabric_detail {

enum class station_kind : std::uint8_t { adapter, network_switch, router };

[[nodiscard]] constexpr std::string_view to_string(station_kind k) noexcept {
  return k == station_kind::adapter ? "adapter" : k == station_kind::network_switch ? "switch" : "router";
}

/// One device of the fabric.
struct station {
  station_kind kind{};
  std::string_view id;           ///< what the file tells it by: "H-e09d730300859298", "0x7cfe9003003b4bde", "lid 12"
  std::string_view description;  ///< node description; "" when no line gives one
  std::optional<std::uint64_t> guid;
  std::optional<std::uint64_t> system;  ///< system image GUID: parts of one box share it
  std::size_t line = 0;                 ///< of its first mention
  std::uint32_t ports = 0;              ///< as its own record says; 0 where there is none
};

struct cable {
  std::uint32_t a = 0, b = 0;
  std::uint32_t port_a = 0, port_b = 0;
  std::optional<gigabytes_per_second> rate;
  std::size_t line = 0;
  bool works = true;
};

/// Largest port number: what a byte of the fabric's own protocol holds.
inline constexpr std::uint32_t max_port = 255;

class fabric_scan {
 public:
  fabric_scan(std::string file_name, const reader_options& options) : source{std::move(file_name)}, limits{options} {}

  std::string source;
  const reader_options& limits;
  std::vector<station> stations;
  std::vector<cable> cables;
  std::size_t loose_ports = 0;  ///< ports with a link but without a peer
  std::size_t loops = 0;        ///< cables from a station to itself
  std::size_t unlike_rates = 0;
  std::size_t unlisted = 0;  ///< stations that only their peers tell of, in files that have a record for each
  std::string first_unlisted;

  [[nodiscard]] input_error error(std::size_t line, std::string found, std::string expected) const {
    return {source, line, std::move(found), std::move(expected)};
  }

  /// The station of that id, new or known. Errors: known as another kind; too many. O(1).
  [[nodiscard]] expected<std::uint32_t, input_error> meet(station_kind kind, std::string_view id, std::size_t line) {
    if (id.empty() || id.size() > 255)
      return unexpected{error(line, "the " + std::string{to_string(kind)} + " " + io_text::quoted(id),
                              "a name of 1 to 255 characters")};
    if (const auto it = by_id_.find(id); it != by_id_.end()) {
      const station& known = stations[it->second];
      if (known.kind == kind) return it->second;
      return unexpected{error(line,
                              std::string{to_string(kind)} + " " + io_text::quoted(id) + ", which line " +
                                  std::to_string(known.line) + " calls a " + std::string{to_string(known.kind)},
                              "one kind for each part")};
    }
    if (stations.size() >= limits.max_parts || stations.size() >= (std::size_t{1} << 30))
      return unexpected{error(line, "more parts than the limit of " + std::to_string(limits.max_parts), "fewer")};
    station s;
    s.kind = kind;
    s.id = id;
    s.line = line;
    stations.push_back(std::move(s));
    const auto index = static_cast<std::uint32_t>(stations.size() - 1);
    by_id_.emplace(id, index);
    cable_of_port_.emplace_back();
    return index;
  }

  /// Whether a station of that id is known.
  [[nodiscard]] std::optional<std::uint32_t> find(std::string_view id) const {
    const auto it = by_id_.find(id);
    if (it == by_id_.end()) return std::nullopt;
    return it->second;
  }

  /// Sets what is not known yet. A second, other description of one station is not an error: scans run while names
  /// change; the first counts.
  void describe(std::uint32_t s, std::string_view description) {
    if (stations[s].description.empty()) stations[s].description = description;
  }
  /// Keeps a name that is not in the text.
  [[nodiscard]] std::string_view keep(std::string name) { return own_names_.emplace_back(std::move(name)); }

  /// Notes a cable; the same cable seen from its other end is one. Errors: a port that is cabled to another peer. O(1).
  [[nodiscard]] expected<void, input_error> connect(cable c) {
    if (c.port_a > max_port || c.port_b > max_port)
      return unexpected{error(c.line, "a port above " + std::to_string(max_port), "a port number")};
    if (c.a == c.b) {
      ++loops;
      return {};
    }
    const std::uint32_t mine = cable_at(c.a, c.port_a), theirs = cable_at(c.b, c.port_b);
    if (mine != none && mine == theirs) {
      cable& known = cables[mine];
      known.works = known.works && c.works;
      if (!c.rate) return {};
      if (known.rate && known.rate->count() != c.rate->count()) {
        ++unlike_rates;
        if (c.rate->count() < known.rate->count()) known.rate = c.rate;
      } else {
        known.rate = c.rate;
      }
      return {};
    }
    if (mine != none || theirs != none) {
      const bool near = mine != none;
      const cable& known = cables[near ? mine : theirs];
      return unexpected{error(c.line,
                              "port " + std::to_string(near ? c.port_a : c.port_b) + " of " +
                                  io_text::quoted(stations[near ? c.a : c.b].id) + " with another peer than on line " +
                                  std::to_string(known.line),
                              "one peer for each port")};
    }
    if (cables.size() >= limits.max_parts)
      return unexpected{error(c.line, "more cables than the limit of " + std::to_string(limits.max_parts), "fewer")};
    const auto index = static_cast<std::uint32_t>(cables.size());
    set_cable(c.a, c.port_a, index);
    set_cable(c.b, c.port_b, index);
    cables.push_back(c);
    return {};
  }

 private:
  static constexpr std::uint32_t none = 0xFFFFFFFFU;
  [[nodiscard]] std::uint32_t cable_at(std::uint32_t s, std::uint32_t port) const noexcept {
    return port < cable_of_port_[s].size() ? cable_of_port_[s][port] : none;
  }
  void set_cable(std::uint32_t s, std::uint32_t port, std::uint32_t index) {
    auto& ports = cable_of_port_[s];
    if (ports.size() <= port) ports.resize(std::size_t{port} + 1, none);
    ports[port] = index;
  }
  std::unordered_map<std::string_view, std::uint32_t> by_id_;
  std::vector<std::vector<std::uint32_t>> cable_of_port_;  // by station and port
  std::deque<std::string> own_names_;
};

}  // namespace berth::fabric_detail
