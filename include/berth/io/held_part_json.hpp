#pragma once
/// \file
/// Parts of GPUs that jobs hold, as JSON: `{"part": "3:1g.10gb@5", "thousandths": 500, "memory": "4000MiB"}`. Needs
/// nlohmann-json.

#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>
#include <vector>

#include "berth/core/error.hpp"
#include "berth/core/expected.hpp"
#include "berth/io/held_part.hpp"
#include "berth/io/json_document.hpp"

namespace berth {

[[nodiscard]] inline nlohmann::ordered_json held_part_json(const held_part& p) {
  nlohmann::ordered_json j{{"part", held_part_text(p)}};
  if (p.share) {
    if (p.share->thousandths != 0) j["thousandths"] = p.share->thousandths;
    if (p.share->memory.count() != 0) j["memory"] = io_text::memory_text(p.share->memory);
    if (p.share->memory_thousandths != 0) j["memory_thousandths"] = p.share->memory_thousandths;
  }
  if (!p.user.empty()) j["user"] = p.user;
  return j;
}

/// Reads the member "parts" of a held entry, if it is there.
[[nodiscard]] inline expected<void, input_error> read_held_parts(const json_reader& r, const std::string& source,
                                                                 std::vector<held_part>& out) {
  const auto list = r.array("parts");
  if (!list) return unexpected{list.error()};
  if (*list == nullptr) return {};
  for (const json_value& v : (*list)->items) {
    const json_reader in{v, source};
    std::string text;
    gpu_share_spec share;
    held_part p;
    auto ok = in.only("part thousandths memory memory_thousandths user");
    if (ok) ok = in.text("part", text);
    if (ok) ok = in.integer("thousandths", share.thousandths, 0, 1000);
    if (ok) ok = in.memory("memory", share.memory);
    if (ok) ok = in.integer("memory_thousandths", share.memory_thousandths, 0, 1000);
    std::string user;
    if (ok) ok = in.text("user", user);
    if (!ok) return ok;
    const bool shares = share.thousandths != 0 || share.memory.count() != 0 || share.memory_thousandths != 0;
    if (text.find(':') != std::string::npos) {
      auto one = parse_held_parts(text, 1);
      if (!one) return unexpected{input_error{source, v.line, "part " + io_text::quoted(text), held_part_form}};
      p = std::move((*one)[0]);
    } else if (text != "*") {
      const auto d = io_text::parse_count(text, max_devices_per_node - 1);
      if (!d || !shares)
        return unexpected{input_error{source, v.line, "part " + io_text::quoted(text),
                                      std::string{held_part_form} + ", or a share of a GPU"}};
      p.device = static_cast<unsigned>(*d);
    } else if (!shares) {
      return unexpected{input_error{source, v.line, "part '*' without a share", held_part_form}};
    }
    if (shares) p.share = share;
    p.user = std::move(user);
    out.push_back(std::move(p));
  }
  return {};
}

}  // namespace berth
