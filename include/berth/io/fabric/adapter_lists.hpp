#pragma once
/// \file
/// Which machine has which InfiniBand adapter: `ibstat` or `ibv_devinfo` of one machine, `ibhosts` (or
/// `ibnetdiscover -l`) of a fabric, and "VM_hostname NAME" lists with one GUID a line, as SuperBench collects them.
/// Plain text; needs Boost.Graph for the result.
///
/// Read      per machine its adapters with GUID and, in ibstat, name and rate. Fabric files are joined to them by GUID.
/// Source    rdma-core, infiniband-diags/ibstat.c and ibnetdiscover.c (`list_node`); microsoft/superbenchmark,
///           tests/data/ib_traffic_topo_aware_ibstat.txt.

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>

#include "berth/core/error.hpp"
#include "berth/core/expected.hpp"
#include "berth/io/fabric/description.hpp"
#include "berth/io/fabric/netdiscover_records.hpp"
#include "berth/io/site_report.hpp"
#include "berth/io/text_lines.hpp"
#include "berth/topology/graph/hardware_graph.hpp"

namespace berth {

namespace fabric_detail {

enum class adapter_list : std::uint8_t { none, ibstat, devinfo, hosts, names };

[[nodiscard]] constexpr adapter_list kind_of_adapter_list(std::string_view text) noexcept {
  text = text.substr(0, std::size_t{1} << 14);
  for (bool first_line = true; !text.empty();) {
    std::string_view line = text.substr(0, text.find('\n'));
    text.remove_prefix(line.size() < text.size() ? line.size() + 1 : text.size());
    line = io_text::trim(line);
    if (line.empty() || line.front() == '#') continue;
    if (line.starts_with("CA '")) return adapter_list::ibstat;
    if (line.starts_with("hca_id:")) return adapter_list::devinfo;
    if (line.starts_with("VM_hostname ")) return adapter_list::names;
    if (!first_line) continue;  // a prompt or a title came first
    first_line = false;
    std::string_view rest = line;
    std::string_view first = io_text::take_word(rest);
    if (first.ends_with(':')) first.remove_suffix(1);
    rest = io_text::trim(rest);
    if (rest.starts_with(':')) rest = io_text::trim(rest.substr(1));
    if (kind_of_record(first) && rest.starts_with("0x") && rest.find(" ports ") != std::string_view::npos)
      return adapter_list::hosts;
  }
  return adapter_list::none;
}

class adapter_list_reader {
 public:
  adapter_list_reader(const named_text& file, const reader_options& options)
      : lines_{file}, options_{options}, kind_{kind_of_adapter_list(file.text)} {
    out_.source = file.name;
  }

  [[nodiscard]] expected<site_report, input_error> read() {
    if (kind_ == adapter_list::none)
      return unexpected{input_error{out_.source, 1, "no adapter list", "the output of ibstat, ibv_devinfo or ibhosts"}};
    out_.format = kind_ == adapter_list::ibstat    ? "ibstat"
                  : kind_ == adapter_list::devinfo ? "ibv_devinfo"
                  : kind_ == adapter_list::hosts   ? "ibhosts"
                                                   : "host and GUID list";
    while (lines_.next()) {
      const std::string_view s = io_text::trim(lines_.line());
      if (s.empty() || s.front() == '#') continue;
      const auto ok = kind_ == adapter_list::ibstat    ? take_ibstat(s)
                      : kind_ == adapter_list::devinfo ? take_devinfo(s)
                      : kind_ == adapter_list::hosts   ? take_host(s)
                                                       : take_name(s);
      if (!ok) return unexpected{ok.error()};
    }
    if (lines_.fault()) return unexpected{*lines_.fault()};
    if (out_.machines.empty())
      return unexpected{input_error{out_.source, lines_.number(), "no host", "at least one host with an adapter"}};
    if (nameless_ != 0)
      out_.assumptions.push_back(io_text::counted(nameless_, "adapter") +
                                 " without a host name in the description; left out.");
    return std::move(out_);
  }

 private:
  using status = expected<void, input_error>;

  [[nodiscard]] status fail(std::string_view s, std::string wanted) const {
    return unexpected{lines_.error(io_text::quoted(s), std::move(wanted))};
  }
  [[nodiscard]] expected<std::size_t, input_error> machine(std::string name) {
    const auto [it, fresh] = by_name_.emplace(name, out_.machines.size());
    if (!fresh) return it->second;
    if (out_.machines.size() >= options_.max_machines)
      return unexpected{
          lines_.error("more machines than the limit of " + std::to_string(options_.max_machines), "fewer")};
    machine_report m;
    m.place = {out_.source, lines_.number()};
    m.name = std::move(name);
    m.inside.emplace();
    out_.machines.push_back(std::move(m));
    return it->second;
  }
  [[nodiscard]] status add_nic(std::size_t m, std::uint64_t guid, std::string_view name) {
    hardware_graph& g = *out_.machines[m].inside;
    if (!guids_.emplace(guid, m).second) return fail(lines_.line(), "each GUID once");
    if (boost::num_vertices(g) >= 4096) return fail(lines_.line(), "at most 4096 adapters in one machine");
    const part_id v = add_part(g, vertex_kind::nic, static_cast<std::uint32_t>(boost::num_vertices(g)));
    g[v].guid = guid;
    if (!name.empty()) g[v].name = std::string{name};
    return {};
  }

  /// `VM_hostname NAME`, then GUIDs.
  [[nodiscard]] status take_name(std::string_view s) {
    if (s.starts_with("VM_hostname ")) {
      const std::string_view name = io_text::trim(s.substr(12));
      if (name.empty() || name.find(' ') != std::string_view::npos || name.size() > 255)
        return fail(s, "VM_hostname and one name");
      const auto m = machine(std::string{name});
      if (!m) return unexpected{m.error()};
      open_ = *m;
      return {};
    }
    if (!open_) return {};  // a prompt or a title
    const auto guid = io_text::parse_hex(s);
    if (!guid) return fail(s, "VM_hostname NAME, then GUIDs of 16 hexadecimal digits");
    return add_nic(*open_, *guid, "");
  }

  /// `Ca : 0x0002c903000d7aac ports 1 [devid …] "kube-node-100 HCA-1"`
  [[nodiscard]] status take_host(std::string_view s) {
    std::string_view rest = s;
    std::string_view first = io_text::take_word(rest);
    if (first.ends_with(':')) first.remove_suffix(1);
    const auto kind = kind_of_record(first);
    rest = io_text::trim(rest);
    if (rest.starts_with(':')) rest = io_text::trim(rest.substr(1));
    const auto guid = io_text::parse_hex(io_text::take_word(rest));
    const std::size_t open = rest.find('"'), close = rest.rfind('"');
    if (!kind || !guid || open == std::string_view::npos || open == close)
      return fail(s, "Ca : 0x… ports 1 \"host device\"");
    if (*kind != station_kind::adapter) return {};
    const std::string_view description = rest.substr(open + 1, close - open - 1);
    const adapter_words w = words_of_adapter(description);
    if (w.host.empty()) {
      if (!is_part_of_a_switch(description)) ++nameless_;
      return {};
    }
    const auto m = machine(std::string{w.host});
    if (!m) return unexpected{m.error()};
    return add_nic(*m, *guid, w.device);
  }

  /// The paragraphs of `ibstat`. Port GUIDs and the like are for other tools.
  [[nodiscard]] status take_ibstat(std::string_view s) {
    if (s.starts_with("CA '")) {
      if (!s.ends_with('\'') || s.size() < 6) return fail(s, "CA 'mlx5_0'");
      device_ = std::string{s.substr(4, s.size() - 5)};
      nic_.reset();
      return {};
    }
    if (device_.empty()) return {};  // a prompt or a title
    const std::size_t colon = s.find(':');
    if (colon == std::string_view::npos) return fail(s, "key: value under CA '…'");
    const std::string_view key = s.substr(0, colon), value = io_text::trim(s.substr(colon + 1));
    if (key == "Node GUID") {
      const auto guid = io_text::parse_hex(value);
      if (!guid || nic_) return fail(s, "one Node GUID: 0x… for each CA");
      return name_nic(*guid);
    } else if (key == "Rate") {
      const auto gbit = io_text::parse_thousandths(value.substr(0, value.find(' ')), 10'000'000);  // "100 (FDR)"
      if (!gbit || !nic_) return fail(s, "Rate: and Gb/s after the Node GUID");
      part& p = (*out_.machines.front().inside)[*nic_];
      // A port that is down reports a rate all the same.
      if (active_) p.rate = gigabytes_per_second{(p.rate ? p.rate->count() : 0) + static_cast<double>(*gbit) / 8000};
    } else if (key == "State") {
      active_ = value == "Active";
    }
    return {};
  }

  /// The paragraphs of `ibv_devinfo`; ports and their states are left to other tools.
  [[nodiscard]] status take_devinfo(std::string_view s) {
    if (s.starts_with("hca_id:")) {
      device_ = std::string{io_text::trim(s.substr(7))};
      nic_.reset();
      if (device_.empty() || device_.size() > 64) return fail(s, "hca_id: and the name of an adapter");
    } else if (s.starts_with("node_guid:") && !device_.empty()) {
      std::string digits;
      for (const char c : io_text::trim(s.substr(10)))
        if (c != ':') digits += c;
      const auto guid = io_text::parse_hex(digits);
      if (!guid || nic_) return fail(s, "one node_guid: of 16 hexadecimal digits for each hca_id");
      return name_nic(*guid);
    }
    return {};
  }
  /// The adapter whose paragraph is open has that GUID.
  [[nodiscard]] status name_nic(std::uint64_t guid) {
    const auto m = machine(options_.machine);
    if (!m) return unexpected{m.error()};
    if (auto ok = add_nic(*m, guid, device_); !ok) return ok;
    nic_ = boost::num_vertices(*out_.machines[*m].inside) - 1;
    return {};
  }

  io_text::line_cursor lines_;
  const reader_options& options_;
  adapter_list kind_;
  site_report out_;
  std::unordered_map<std::string, std::size_t> by_name_;
  std::unordered_map<std::uint64_t, std::size_t> guids_;
  std::optional<std::size_t> open_;
  std::string device_;
  std::optional<part_id> nic_;
  bool active_ = false;
  std::size_t nameless_ = 0;
};

}  // namespace fabric_detail

/// Whether the text is of `ibstat`, `ibv_devinfo`, `ibhosts` or a list of host names with their GUIDs.
[[nodiscard]] inline bool looks_like_adapter_list(std::string_view text) noexcept {
  return fabric_detail::kind_of_adapter_list(text) != fabric_detail::adapter_list::none;
}

/// Reads such a list: a machine for each host, with its adapters. `options.machine` names the machine of `ibstat` and
/// `ibv_devinfo`. O(bytes). Errors: lines of another form, a GUID twice.
[[nodiscard]] inline expected<site_report, input_error> read_adapter_list(const named_text& file,
                                                                          const reader_options& options = {}) {
  return fabric_detail::adapter_list_reader{file, options}.read();
}

}  // namespace berth
