#pragma once
/// \file
/// gres.conf: which GPUs a node has, in which order, and which cores are near them.
///
/// Devices      in the order of the lines and of the paths in `File=`, as Slurm numbers them. They may be NVIDIA
///              (/dev/nvidia0), AMD (/dev/dri/renderD128), Intel (/dev/dri/renderD128, oneapi) or other files.
/// `Links=`     numbers of NVLinks to the GPUs of the node, -1 for itself: which pairs are joined, and by how many. A
///              count of links without their speed is no bandwidth.
/// MIG          a line with `MultipleFiles=`, or of a MIG profile's type, is a MIG device, not a whole GPU.
/// Other gres   lines of other names (shard, mps, nic, …) are counted under their name.
/// `AutoDetect=` is accepted; what a node would detect is not in the files.
/// Source       gres.conf(5)

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "berth/core/bits.hpp"
#include "berth/core/error.hpp"
#include "berth/core/expected.hpp"
#include "berth/io/hostlist.hpp"
#include "berth/io/slurm_lines.hpp"
#include "berth/io/slurm_nodes.hpp"
#include "berth/io/text.hpp"

namespace berth {

/// One `Name=gpu` line.
struct slurm_gres_line {
  input_place place;
  bool every_node = false;         ///< no `NodeName=`
  std::vector<std::string> nodes;  ///< otherwise
  std::string type;                ///< "" when not given
  unsigned count = 0;
  std::string cores;               ///< `Cores=` (or the older `CPUs=`) as written, "" when not given
  std::vector<std::string> files;  ///< device files, as many as `count`; empty when not given
  std::vector<int> links;          ///< NVLinks to each GPU of the node; empty when not given
  bool mig = false;                ///< a MIG device
};

namespace slurm_detail {

inline constexpr std::string_view gres_keys =
    "AutoDetect Cores Count CPUs File Files Flags Link Links MultipleFiles Name NodeName Type";

/// The value of a key that has an older or other name; null where neither is there.
[[nodiscard]] inline const std::string* find_either(const conf_line& l, std::string_view key, std::string_view other) {
  const auto* v = l.find(key);
  return v != nullptr ? v : l.find(other);
}

[[nodiscard]] inline expected<void, input_error> check_gres_words(const conf_line& l) {
  if (const auto* how = l.find("AutoDetect")) {
    static constexpr std::string_view known[] = {"nvidia", "nvml", "nrt", "off", "oneapi", "rsmi", "full"};
    bool ok = false;
    for (const auto k : known) ok = ok || io_text::equal_nocase(*how, k);
    if (!ok)
      return unexpected{l.error("AutoDetect=" + io_text::quoted(*how), "nvidia, nvml, nrt, off, oneapi or rsmi")};
  }
  static constexpr std::string_view twins[][2] = {{"Cores", "CPUs"}, {"File", "Files"}, {"Links", "Link"}};
  for (const auto& [key, other] : twins)
    if (l.find(key) != nullptr && l.find(other) != nullptr)
      return unexpected{l.error("both " + std::string{key} + "= and " + std::string{other} + "=", "one of them")};
  if (const auto* links = find_either(l, "Links", "Link"))
    for (std::string_view rest = *links;;) {
      const std::size_t comma = rest.find(',');
      const std::string_view n = rest.substr(0, comma);
      if (n != "-1" && !io_text::parse_count(n, 1000))
        return unexpected{l.error("Links=" + io_text::quoted(*links), "numbers of links such as -1,16,16,0")};
      if (comma == std::string_view::npos) break;
      rest.remove_prefix(comma + 1);
    }
  if (l.find("MultipleFiles") != nullptr && find_either(l, "File", "Files") != nullptr)
    return unexpected{l.error("both File= and MultipleFiles=", "one of them")};
  return {};
}

}  // namespace slurm_detail

/// Reads gres.conf lines, in order. O(lines × keys + names).
/// \param others  if given, gets by node the gres that are no GPUs, such as "gres/shard=32".
[[nodiscard]] inline expected<std::vector<slurm_gres_line>, input_error> read_gres_lines(
    const std::vector<conf_line>& lines, std::size_t max_names = default_hostlist_limit,
    std::unordered_map<std::string, std::vector<std::string>>* others = nullptr) {
  std::vector<slurm_gres_line> out;
  std::size_t names_so_far = 0;
  for (const auto& l : lines) {
    if (auto ok = slurm_detail::only_keys(l, slurm_detail::gres_keys); !ok) return unexpected{std::move(ok).error()};
    if (auto ok = slurm_detail::check_gres_words(l); !ok) return unexpected{std::move(ok).error()};
    const auto* name = l.find("Name");
    if (name == nullptr) {
      if (l.find("AutoDetect") != nullptr) continue;
      return unexpected{l.error("a gres line without Name=", "Name=gpu")};
    }
    if (!io_text::equal_nocase(*name, "gpu")) {
      const auto* count = l.find("Count");
      const auto* node = l.find("NodeName");
      if (count != nullptr && !slurm_detail::parse_gres_count(*count))
        return unexpected{l.error("Count=" + io_text::quoted(*count), "a number")};
      if (others == nullptr || count == nullptr || node == nullptr) continue;
      auto names = slurm_detail::names_of(l, "NodeName", *node, max_names - names_so_far);
      if (!names) return unexpected{std::move(names).error()};
      names_so_far += names->size();
      for (const auto& n : *names) (*others)[n].push_back("gres/" + io_text::lower(*name) + "=" + *count);
      continue;
    }
    slurm_gres_line g;
    g.place = {l.source, l.line};
    if (const auto* type = l.find("Type")) g.type = *type;
    std::uint64_t count = 1;
    if (const auto* file = slurm_detail::find_either(l, "File", "Files")) {
      auto files = slurm_detail::names_of(l, "File", *file, max_devices_per_node);
      if (!files) return unexpected{std::move(files).error()};
      count = files->size();
      g.files = std::move(*files);
    }
    g.mig = l.find("MultipleFiles") != nullptr || slurm_detail::is_mig_type(g.type);
    if (const auto* links = slurm_detail::find_either(l, "Links", "Link"))
      for (std::string_view rest = *links;;) {
        const std::size_t comma = rest.find(',');
        const std::string_view n = rest.substr(0, comma);
        g.links.push_back(n == "-1" ? -1 : static_cast<int>(io_text::parse_count(n, 1000).value_or(0)));
        if (comma == std::string_view::npos) break;
        rest.remove_prefix(comma + 1);
      }
    if (const auto* text = l.find("Count")) {
      const auto n = slurm_detail::parse_gres_count(*text);
      if (!n || *n == 0 || *n > max_devices_per_node)
        return unexpected{l.error("Count=" + io_text::quoted(*text), "a number of GPUs from 1 to 64")};
      if (!g.files.empty() && *n != count)
        return unexpected{
            l.error("Count=" + *text + " beside " + io_text::counted(static_cast<std::size_t>(count), "file"),
                    "as many files as GPUs")};
      count = *n;
    }
    g.count = static_cast<unsigned>(count);
    const auto* cores = slurm_detail::find_either(l, "Cores", "CPUs");
    if (cores != nullptr) {
      if (!slurm_detail::parse_id_list(*cores))
        return unexpected{l.error("Cores=" + io_text::quoted(*cores), "core numbers such as 0-15,32-47")};
      g.cores = *cores;
    }
    if (const auto* node = l.find("NodeName")) {
      auto names = slurm_detail::names_of(l, "NodeName", *node, max_names - names_so_far);
      if (!names) return unexpected{std::move(names).error()};
      names_so_far += names->size();
      g.nodes = std::move(*names);
    } else {
      g.every_node = true;
    }
    out.push_back(std::move(g));
  }
  return out;
}

}  // namespace berth
