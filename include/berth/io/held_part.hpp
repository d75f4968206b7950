#pragma once
/// \file
/// Parts of GPUs that running work holds, in words: MIG instances, shares of GPUs, shares of instances. Which GPU and
/// which start may be open, as most files do not tell; `io/hold_parts.hpp` finds places for them.
///
///     3:1g.10gb@5   an instance on GPU 3 that starts at memory slice 5
///     3:1g.10gb     one on GPU 3
///     *:1g.10gb     one on some GPU of the node
///     3, *          with a share beside it: of GPU 3, of some GPU

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "berth/core/bits.hpp"
#include "berth/io/job_spec.hpp"
#include "berth/io/text.hpp"
#include "berth/topology/node_shape.hpp"

namespace berth {

/// One part that a job holds on a node.
struct held_part {
  std::string profile;                  ///< of a MIG instance; "": a share of a GPU that is not cut
  std::optional<unsigned> device;       ///< GPU of the node; empty: not stated
  std::optional<unsigned> start;        ///< of the instance, in memory slices; empty: not stated
  std::optional<gpu_share_spec> share;  ///< of the GPU, or of the instance where there is one; `portions` is not used
  std::string user;                     ///< who runs it, where devices are one user's at a time
  friend bool operator==(const held_part&, const held_part&) = default;
};

/// What `parse_held_parts` reads, for messages.
inline constexpr const char* held_part_form = "instances such as 3:1g.10gb@5 or *:1g.10gb, GPU:PROFILE@START";

/// `3:1g.10gb@5,*:2g.20gb`; nothing where that is no such list, or one of more than `most`.
[[nodiscard]] inline std::optional<std::vector<held_part>> parse_held_parts(std::string_view s,
                                                                            std::size_t most = 512) {
  std::vector<held_part> out;
  for (;;) {
    const std::size_t comma = s.find(',');
    const std::string_view item = s.substr(0, comma);
    const std::size_t colon = item.find(':'), at = item.rfind('@');
    if (colon == std::string_view::npos || out.size() == most) return std::nullopt;
    held_part p;
    if (item.substr(0, colon) != "*") {
      const auto d = io_text::parse_count(item.substr(0, colon), max_devices_per_node - 1);
      if (!d) return std::nullopt;
      p.device = static_cast<unsigned>(*d);
    }
    if (at != std::string_view::npos) {
      const auto start = io_text::parse_count(item.substr(at + 1), 255);
      if (!start || at < colon) return std::nullopt;
      p.start = static_cast<unsigned>(*start);
    }
    p.profile = std::string{item.substr(colon + 1, at == std::string_view::npos ? at : at - colon - 1)};
    if (p.profile.empty() || p.profile.size() > 80) return std::nullopt;
    out.push_back(std::move(p));
    if (comma == std::string_view::npos) return out;
    s.remove_prefix(comma + 1);
  }
}
/// As `parse_held_parts` reads it; of a share without an instance the GPU alone.
[[nodiscard]] inline std::string held_part_text(const held_part& p) {
  std::string out = p.device ? std::to_string(*p.device) : "*";
  if (!p.profile.empty()) out += ":" + p.profile;
  return p.start ? out + "@" + std::to_string(*p.start) : out;
}
/// The same for people: "MIG instance 1g.10gb@5 on GPU 3".
[[nodiscard]] inline std::string held_part_words(const held_part& p) {
  std::string out = p.profile.empty() ? "a share" : "MIG instance " + p.profile;
  if (p.start) out += "@" + std::to_string(*p.start);
  if (p.share && !p.profile.empty()) out = "a share of " + out;
  return out + (p.device ? (p.profile.empty() ? " of GPU " : " on GPU ") + std::to_string(*p.device) : std::string{});
}

}  // namespace berth
