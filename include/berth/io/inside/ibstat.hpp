#pragma once
/// \file
/// `ibstat`, `ibstatus`-like lists and `ibv_devinfo` of hosts: InfiniBand adapters with their GUIDs, by which fabrics
/// and machines are joined. Plain text; needs Boost.Graph.

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "berth/io/inside/bus_id.hpp"
#include "berth/io/inside/plain_lines.hpp"
#include "berth/io/site_report.hpp"

namespace berth {

namespace detail {

/// "0x0c42a10300a8f8a6", "0ff08c4321664e96", "b8ce:f603:00bb:41d0": 64 bits, all digits there.
[[nodiscard]] inline std::optional<std::uint64_t> parse_guid(std::string_view s) {
  std::string hex;
  if (s.starts_with("0x") || s.starts_with("0X")) s.remove_prefix(2);
  else if (s.size() < 16) return std::nullopt;
  for (const char c : s)
    if (c != ':') hex += c;
  const auto v = inside_text::parse_hex(hex);
  if (!v || *v == 0) return std::nullopt;
  return v;
}

}  // namespace detail

/// True for the output of ibstat or ibv_devinfo, or a list of "VM_hostname <name>" with GUIDs. Looks at 16 KiB.
[[nodiscard]] inline bool looks_like_ibstat(std::string_view text) noexcept {
  text = text.substr(0, std::size_t{1} << 14);
  const auto has = [text](std::string_view w) { return text.find(w) != std::string_view::npos; };
  return (has("CA '") && has("Node GUID:")) || (has("hca_id:") && has("node_guid:")) ||
         text.starts_with("VM_hostname ");
}

/// Reads the adapters of a host from `ibstat` or `ibv_devinfo`, or of several from a list in which a line
/// "VM_hostname <name>" comes before the port GUIDs of that host (`ibstat -p`). NICs get name, GUID and, where stated,
/// the rate of those ports together that are not down. Errors: GUIDs that are none or come twice, lines of a list that
/// are neither. O(n log n).
[[nodiscard]] inline expected<site_report, input_error> read_ibstat(const named_text& in,
                                                                    const reader_options& options = {}) {
  const auto lines = inside_text::plain_lines(in.name, in.text, 1'000'000);
  if (!lines) return unexpected{lines.error()};
  site_report out;
  out.source = in.name;
  const auto fail = [&in](std::size_t line, std::string found, std::string wanted) {
    return unexpected{input_error{in.name, line, std::move(found), std::move(wanted)}};
  };
  struct nic {
    std::string name;
    std::optional<std::uint64_t> guid;
    double gbit = 0;
    std::size_t line = 0;
    bool down = false;  ///< the port read last
  };
  struct host {
    std::string name;
    std::size_t line = 0;
    std::vector<nic> nics;
  };
  std::vector<host> hosts;
  std::size_t nics = 0;
  bool list = false, stat = false;
  const auto add_host = [&](std::string name, std::size_t line) { hosts.push_back({std::move(name), line, {}}); };
  for (const auto& l : *lines) {
    const std::string_view line = io_text::trim(l.text);
    if (line.empty()) continue;
    if (nics > options.max_parts || nics > 1'000'000) return fail(l.number, "one more adapter", "at most a million");
    if (line.starts_with("VM_hostname ")) {
      if (hosts.size() >= options.max_machines)
        return fail(l.number, "one more host", "at most " + std::to_string(options.max_machines));
      const auto w = inside_text::words(line);
      if (w.size() != 2 || w[1].size() > 255) return fail(l.number, io_text::quoted(line), "\"VM_hostname <name>\"");
      list = true;
      add_host(std::string{w[1]}, l.number);
      continue;
    }
    if (list) {
      const auto guid = detail::parse_guid(line);
      if (!guid) return fail(l.number, io_text::quoted(line), "a GUID of 16 hexadecimal digits");
      hosts.back().nics.push_back({"", guid, 0, l.number});
      ++nics;
      continue;
    }
    const auto value = [&](std::string_view key) -> std::optional<std::string_view> {
      if (!line.starts_with(key)) return std::nullopt;
      return io_text::trim(line.substr(key.size()));
    };
    std::optional<std::string> name;
    if (line.starts_with("CA '") && line.size() > 5 && line.back() == '\'')
      name = std::string{line.substr(4, line.size() - 5)};
    if (const auto v = value("hca_id:")) name = std::string{*v};
    if (name) {
      if (name->empty() || name->size() > 64) return fail(l.number, io_text::quoted(line), "the name of an adapter");
      if (hosts.empty()) add_host(options.machine, l.number);
      for (const auto& o : hosts.back().nics)
        if (o.name == *name)
          return fail(l.number, "adapter " + *name + " again", "every adapter once: one machine in a file");
      hosts.back().nics.push_back({*name, std::nullopt, 0, l.number});
      ++nics;
      stat = true;
      continue;
    }
    if (!stat) continue;  // a prompt, a title
    nic& n = hosts.back().nics.back();
    std::optional<std::string_view> guid = value("Node GUID:");
    if (!guid) guid = value("node_guid:");
    if (guid) {
      n.guid = detail::parse_guid(*guid);
      if (!n.guid && guid->find_first_not_of("0x:") != std::string_view::npos)
        return fail(l.number, "Node GUID " + io_text::quoted(*guid), "16 hexadecimal digits");
    }
    if (const auto state = value("State:")) n.down = *state == "Down";
    if (const auto rate = value("Rate:")) {
      const auto gbit = io_text::parse_thousandths(rate->substr(0, rate->find(' ')), 100'000'000);
      if (!gbit) return fail(l.number, "Rate " + io_text::quoted(*rate), "Gb/s");
      if (!n.down) n.gbit += static_cast<double>(*gbit) / 1000;  // a port without a cable states a rate too
    }
  }
  if (hosts.empty()) return fail(lines->empty() ? 0 : 1, "no adapter", "the output of ibstat or ibv_devinfo");
  out.format = list ? "list of hosts and port GUIDs" : "ibstat";
  std::vector<std::pair<std::uint64_t, std::size_t>> guids;
  for (auto& h : hosts) {
    machine_report m;
    m.place = {in.name, h.line};
    m.name = h.name;
    hardware_graph g;
    for (std::size_t i = 0; i < h.nics.size(); ++i) {
      const nic& n = h.nics[i];
      const part_id v = add_part(g, vertex_kind::nic, static_cast<std::uint32_t>(i));
      if (!n.name.empty()) g[v].name = n.name;
      g[v].guid = n.guid;
      if (n.gbit > 0) g[v].rate = gigabytes_per_second{n.gbit / 8};
      if (n.guid) guids.emplace_back(*n.guid, n.line);
    }
    m.inside = std::move(g);
    out.machines.push_back(std::move(m));
  }
  std::sort(guids.begin(), guids.end());
  for (std::size_t i = 1; i < guids.size(); ++i)
    if (guids[i].first == guids[i - 1].first)
      return fail(guids[i].second, "the GUID of line " + std::to_string(guids[i - 1].second) + " again",
                  "every adapter once");
  std::sort(hosts.begin(), hosts.end(),
            [](const host& a, const host& b) { return a.name < b.name || (a.name == b.name && a.line < b.line); });
  for (std::size_t i = 1; i < hosts.size(); ++i)
    if (hosts[i].name == hosts[i - 1].name)
      return fail(hosts[i].line, "host " + hosts[i].name + " again", "every host once");
  if (list)
    out.assumptions.push_back("port GUIDs are taken as GUIDs of their adapters, as adapters with one port have it");
  return out;
}

}  // namespace berth
