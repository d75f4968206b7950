#pragma once
/// \file
/// Parts of GPUs in a node's `GresUsed=`: MIG devices by type (`gpu:a100_1g.5gb:2(IDX:0,3)`; the numbers count MIG
/// devices, so they name no GPU) and shards (`shard:12`, or `shard:12(8/8,4/8)` with used and all shards of each GPU).

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "berth/core/error.hpp"
#include "berth/core/expected.hpp"
#include "berth/io/held_part.hpp"
#include "berth/io/slurm_nodes.hpp"
#include "berth/io/text.hpp"

namespace berth::slurm_detail {

/// `8/8,4/8`: used and all shards by GPU; nothing where it is no such list.
[[nodiscard]] inline std::optional<std::vector<std::pair<std::uint64_t, std::uint64_t>>> parse_shards_by_gpu(
    std::string_view note) {
  std::vector<std::pair<std::uint64_t, std::uint64_t>> out;
  for (;;) {
    const std::size_t comma = note.find(',');
    const std::string_view item = note.substr(0, comma);
    const std::size_t slash = item.find('/');
    if (slash == std::string_view::npos || out.size() == max_devices_per_node) return std::nullopt;
    const auto used = io_text::parse_count(item.substr(0, slash), 1'000'000);
    const auto all = io_text::parse_count(item.substr(slash + 1), 1'000'000);
    if (!used || !all || *used > *all) return std::nullopt;
    out.emplace_back(*used, *all);
    if (comma == std::string_view::npos) return out;
    note.remove_prefix(comma + 1);
  }
}

/// \param gres  the node's `Gres=`, which says how many shards there are  \param gpus  whole GPUs of the node
template <class Fault>
[[nodiscard]] expected<std::vector<held_part>, input_error> parts_used(std::string_view used_text,
                                                                       std::string_view gres, std::uint64_t gpus,
                                                                       Fault where) {
  const auto used = split_gres(used_text, where);
  if (!used) return unexpected{used.error()};
  std::vector<held_part> out;
  for (const gres_item& g : *used) {
    if (g.count == 0) continue;
    const bool mig = io_text::equal_nocase(g.name, "gpu") && is_mig_type(g.type);
    const bool shard = io_text::equal_nocase(g.name, "shard");
    if (!mig && !shard) continue;
    if (g.count > 4096) return unexpected{where(std::to_string(g.count) + " parts of GPUs in use", "at most 4096")};
    if (mig) {
      held_part p;
      p.profile = std::string{mig_profile_of(g.type)};
      out.insert(out.end(), g.count, p);
      continue;
    }
    if (const auto by_gpu = parse_shards_by_gpu(g.note)) {
      for (std::size_t d = 0; d < by_gpu->size(); ++d) {
        const auto [taken, all] = (*by_gpu)[d];
        if (taken == 0) continue;
        held_part p;
        p.device = static_cast<unsigned>(d);
        p.share = gpu_share_spec{1, static_cast<std::uint32_t>((taken * 1000 + all - 1) / all), {}};
        out.push_back(std::move(p));
      }
      continue;
    }
    std::uint64_t all = 0;
    const auto there = split_gres(gres, where);
    if (!there) return unexpected{there.error()};
    for (const gres_item& h : *there)
      if (io_text::equal_nocase(h.name, "shard")) all += h.count;
    const std::uint64_t each = gpus != 0 && all >= gpus ? all / gpus : 1;
    held_part p;
    p.share = gpu_share_spec{1, static_cast<std::uint32_t>(each > 1000 ? 1 : 1000 / each), {}};
    out.insert(out.end(), g.count, p);
  }
  return out;
}

}  // namespace berth::slurm_detail
