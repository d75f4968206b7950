#pragma once
/// \file
/// `scontrol show node` (with or without `-o` and `-d`) and `scontrol show topology`. Plain text; needs Boost.Graph for
/// the result.
///
/// Nodes     CPUs (`CPUEfctv=`, else `CPUTot=` less `CoreSpecCount=`), memory (`RealMemory=` less `MemSpecLimit=`),
///           GPUs, features, partitions and state; what runs there from `AllocTRES=`, `CPUAlloc=` and `AllocMem=`, and
///           which GPUs from `GresUsed=…(IDX:…)`, which `-d` prints.
/// Topology  `SwitchName=… Level=…` lines (upper switches list all nodes below, too), `BlockName=… BlockIndex=…` and
///           `AggregatedBlock=…` lines.
/// Source    slurm src/api/node_info.c (`slurm_sprint_node_table`), src/plugins/topology/tree/topology_tree.c and
///           src/plugins/topology/block/topology_block.c (`_print_topo_record`).

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "berth/io/slurm/live_nodes.hpp"
#include "berth/io/slurm_topology.hpp"
#include "berth/io/text_lines.hpp"

namespace berth {

namespace slurm_detail {

class scontrol_node_reader {
 public:
  scontrol_node_reader(const named_text& file, std::size_t max_nodes)
      : lines_{file}, source_{file.name}, most_{max_nodes} {}

  [[nodiscard]] expected<std::vector<live_node>, input_error> read() {
    while (lines_.next())
      if (auto ok = take(lines_.line()); !ok) return unexpected{std::move(ok).error()};
    if (lines_.fault()) return unexpected{*lines_.fault()};
    if (auto ok = close(); !ok) return unexpected{std::move(ok).error()};
    return std::move(out_);
  }

 private:
  using status = expected<void, input_error>;

  [[nodiscard]] static constexpr bool is_key(std::string_view w) noexcept {
    if (w.empty()) return false;
    for (const char c : w)
      if (!(io_text::lower(c) >= 'a' && io_text::lower(c) <= 'z') && c != '_' && !io_text::is_digit(c)) return false;
    return !io_text::is_digit(w.front());
  }

  /// A line of `Key=value` pairs; values of a few keys hold blanks.
  [[nodiscard]] status take(std::string_view s) {
    s = io_text::trim(s);
    if (s.empty()) return {};

    while (!s.empty()) {
      const std::size_t equals = s.find('=');
      const std::string_view key = s.substr(0, equals);
      if (equals == std::string_view::npos || !is_key(key)) {
        // The reason of a drain may have several lines, and words after its own.
        if (open_ && (last_ == "Reason" || last_ == "Comment" || last_ == "Extra" || last_ == "OS")) return {};
        return unexpected{lines_.error(io_text::quoted(s), "Key=value as scontrol show node prints it")};
      }
      s.remove_prefix(equals + 1);
      std::size_t end = s.find(' ');
      last_ = std::string{key};
      if (key == "OS") {
        end = s.find(" RealMemory=");  // with -o what follows is on the same line
      } else if (key == "Reason" || key == "Comment" || key == "Extra") {
        end = std::string_view::npos;
      }
      const std::string_view value = io_text::trim(s.substr(0, end));
      s = end == std::string_view::npos ? std::string_view{} : io_text::trim(s.substr(end));
      if (auto ok = pair(key, value); !ok) return ok;
    }

    return {};
  }

  [[nodiscard]] status pair(std::string_view key, std::string_view value) {
    if (key == "NodeName") {
      if (auto ok = close(); !ok) return ok;
      if (value.empty() || value.size() > max_host_name)
        return unexpected{lines_.error("NodeName=" + io_text::quoted(value), "a host name")};
      if (out_.size() >= most_)
        return unexpected{lines_.error("more than " + std::to_string(most_) + " nodes", "fewer nodes")};
      const auto [it, fresh] = seen_.emplace(std::string{value}, lines_.number());
      if (!fresh)
        return unexpected{
            lines_.error("node " + io_text::quoted(value) + " again (first on line " + std::to_string(it->second) + ")",
                         "each node once")};
      open_ = live_node{};
      open_->place = {source_, lines_.number()};
      open_->name = std::string{value};
      effective_.reset(), total_.reset();
      core_spec_ = threads_ = memory_spec_ = 0;
      return {};
    }
    if (!open_) return unexpected{lines_.error("key " + io_text::quoted(key) + " before any NodeName=", "NodeName=")};
    live_node& n = *open_;
    if (key == "NodeHostName") n.hostname = std::string{value};
    else if (key == "InstanceType") n.instance_type = is_nothing(value) ? "" : std::string{value};
    else if (key == "Gres") n.gres = is_nothing(value) ? "(null)" : std::string{value};
    else if (key == "GresUsed") n.gres_used = is_nothing(value) ? "" : std::string{value};
    else if (key == "AllocTRES") n.allocated_tres = std::string{value};
    else if (key == "CfgTRES") n.configured_tres = std::string{value};
    else if (key == "ActiveFeatures" || key == "Features") n.features = word_list(value);
    else if (key == "Partitions") n.partitions = word_list(value);
    else if (key == "ReservationName") n.reservation = is_nothing(value) ? "" : std::string{value};
    else if (key == "State") {
      n.state.emplace();
      if (!read_state(value, *n.state))
        return unexpected{lines_.error("State=" + io_text::quoted(value), "a state such as IDLE, MIXED or DOWN+DRAIN")};
    } else {
      return number(key, value, n);
    }
    return {};
  }

  [[nodiscard]] status number(std::string_view key, std::string_view value, live_node& n) {
    constexpr auto cpus_most = static_cast<std::uint64_t>(io_text::max_cpus);
    constexpr std::uint64_t mib_most = std::uint64_t{1} << 32;
    std::uint64_t most = 0;
    if (key == "CPUAlloc" || key == "CPUEfctv" || key == "CPUTot" || key == "CoreSpecCount" || key == "ThreadsPerCore")
      most = cpus_most;
    else if (key == "RealMemory" || key == "AllocMem" || key == "MemSpecLimit") most = mib_most;
    else return {};
    const auto v = io_text::parse_count(value, most);
    if (!v)
      return unexpected{lines_.error(std::string{key} + "=" + io_text::quoted(value),
                                     "a whole number up to " + std::to_string(most))};
    if (key == "CPUAlloc") n.allocated_cpus = *v;
    else if (key == "CPUEfctv") effective_ = *v;
    else if (key == "CPUTot") total_ = *v;
    else if (key == "CoreSpecCount") core_spec_ = *v;
    else if (key == "ThreadsPerCore") threads_ = *v;
    else if (key == "RealMemory") n.memory_mib = *v;
    else if (key == "AllocMem") n.allocated_mib = *v;
    else memory_spec_ = *v;
    return {};
  }

  [[nodiscard]] status close() {
    if (!open_) return {};
    if (effective_) {
      open_->cpus = effective_;  // what jobs may use
    } else if (total_) {
      const std::uint64_t spec = core_spec_ * (threads_ == 0 ? 1 : threads_);
      if (spec >= *total_ && spec != 0)
        return unexpected{open_->place.error("all CPUs of node " + open_->name + " set aside for the system", "fewer")};
      open_->cpus = *total_ - spec;
    }
    if (open_->memory_mib) {
      if (memory_spec_ >= *open_->memory_mib && memory_spec_ != 0)
        return unexpected{
            open_->place.error("all memory of node " + open_->name + " set aside for the system", "less")};
      *open_->memory_mib -= memory_spec_;
    }
    out_.push_back(std::move(*open_));
    open_.reset();
    return {};
  }

  io_text::line_cursor lines_;
  std::string source_;
  std::size_t most_;
  std::vector<live_node> out_;
  std::unordered_map<std::string, std::size_t> seen_;
  std::optional<live_node> open_;
  std::string last_;
  std::optional<std::uint64_t> effective_, total_;
  std::uint64_t core_spec_ = 0, threads_ = 0, memory_spec_ = 0;
};

/// The lines of `scontrol show topology` as those of a topology.conf.
[[nodiscard]] inline expected<std::vector<conf_line>, input_error> conf_of_shown_topology(
    std::vector<conf_line> lines) {
  std::vector<conf_line> out;
  std::vector<std::uint64_t> sizes;
  const conf_line* sized = nullptr;
  const auto drop = [](conf_line& l, std::string_view key) {
    for (std::size_t i = 0; i < l.pairs.size(); ++i)
      if (l.pairs[i].is(key)) {
        l.pairs.erase(l.pairs.begin() + static_cast<std::ptrdiff_t>(i));
        return;
      }
  };
  conf_line last;
  for (auto& l : lines) {
    if (const auto* text = l.find("BlockSize")) {
      const auto n = io_text::parse_count(*text, default_hostlist_limit);
      if (!n || *n == 0) return unexpected{l.error("BlockSize=" + io_text::quoted(*text), "a number of nodes")};
      bool known = false;
      for (const auto s : sizes) known = known || s == *n;
      if (!known && sizes.size() < 64) sizes.push_back(*n);
      last = {l.source, l.line, {}};
      sized = &last;
    }
    if (l.find("AggregatedBlock") != nullptr) continue;
    for (const char* key : {"Level", "BlockIndex", "BlockSize", "RingIndex", "RingSize"}) drop(l, key);
    if (l.find("Switches") != nullptr) drop(l, "Nodes");
    out.push_back(std::move(l));
  }
  if (sized != nullptr) {
    std::sort(sizes.begin(), sizes.end());
    std::string text;
    for (const auto s : sizes) text += (text.empty() ? "" : ",") + std::to_string(s);
    last.pairs.push_back({"BlockSizes", std::move(text)});
    out.push_back(std::move(last));
  }
  return out;
}

}  // namespace slurm_detail

/// Whether the text is what `scontrol show node` prints.
[[nodiscard]] inline bool looks_like_scontrol_nodes(std::string_view text) noexcept {
  text = text.substr(0, 4096);
  const std::size_t at = text.find("NodeName=");
  if (at == std::string_view::npos || (at != 0 && text[at - 1] != '\n' && text[at - 1] != '\xBF')) return false;
  return text.find(" CPUAlloc=", at) != std::string_view::npos;
}

/// Whether the text is what `scontrol show topology` prints.
[[nodiscard]] inline bool looks_like_scontrol_topology(std::string_view text) noexcept {
  text = text.substr(0, 4096);
  const auto begins = [&](std::string_view key) {
    return text.starts_with(key) || text.find("\n" + std::string{key}) != text.npos;
  };
  return (begins("SwitchName=") && text.find(" Level=") != text.npos && text.find(" LinkSpeed=") != text.npos) ||
         ((begins("BlockName=") || begins("AggregatedBlock=")) && text.find(" BlockIndex=") != text.npos);
}

/// Reads the output of `scontrol show node`. O(bytes). Errors: lines of another form, a node twice, unknown states.
[[nodiscard]] inline expected<std::vector<slurm_detail::live_node>, input_error> read_scontrol_nodes(
    const named_text& file, std::size_t max_nodes = default_hostlist_limit) {
  return slurm_detail::scontrol_node_reader{file, max_nodes}.read();
}

}  // namespace berth
