#pragma once
/// \file
/// What runs on MIG GPUs, as a JSON file for the repartition planner:
///
///     {"berth_mig_gpus": 1, "gpus": [
///       {"mode": "on", "instances": [
///         {"profile": "1g.10gb", "start": 0, "job": 12, "lost_s": 300, "drain": true},
///         {"profile": "3g.40gb", "start": 4}]},
///       {"mode": "whole", "job": 7, "lost_s": 60, "drain": true},
///       {"mode": "off", "copies": 3}]}
///
/// `mode` is on, off, whole, shared or out, and "on" where it is not stated. An instance without `job` runs nothing.
/// `lost_s`: seconds of work since the last checkpoint; `drain`: whether the job may be stopped and started again,
/// false where it is not stated. Needs nlohmann-json.

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "berth/core/error.hpp"
#include "berth/core/expected.hpp"
#include "berth/io/json_document.hpp"
#include "berth/solver/mig_plan.hpp"
#include "berth/solver/mig_planner.hpp"
#include "berth/topology/mig_geometry.hpp"
#include "berth/topology/mig_listing.hpp"
#include "berth/topology/mig_lookup.hpp"

namespace berth {

namespace json_detail {

/// `job`, `lost_s` and `drain`; nothing without `job`.
[[nodiscard]] inline expected<std::optional<mig_occupant>, input_error> read_occupant(const json_reader& r,
                                                                                      const json_value& v) {
  std::optional<mig_occupant> out;
  if (v.find("job") == nullptr) {
    if (v.find("lost_s") != nullptr || v.find("drain") != nullptr)
      return unexpected{r.error(v, "\"lost_s\" or \"drain\" of nobody", "\"job\" as well")};
    return out;
  }
  mig_occupant who;
  std::int64_t lost = 0;
  auto ok = r.integer("job", who.owner, 0, std::int64_t{1} << 62);
  if (ok) ok = r.integer("lost_s", lost, 0, mig_planner::max_ms / 1000);
  if (ok) ok = r.yes_or_no("drain", who.drainable);
  if (!ok) return unexpected{std::move(ok).error()};
  who.lost_ms = lost * 1000;
  out = who;
  return out;
}

[[nodiscard]] inline expected<mig_gpu_now, input_error> read_mig_gpu(const mig_geometry& g, const json_value& v,
                                                                     const std::string& source, std::size_t& copies) {
  const json_reader r{v, source};
  mig_gpu_now out;
  std::string mode = "on";
  auto ok = r.only("mode instances job lost_s drain copies");
  if (ok) ok = r.text("mode", mode);
  if (ok) ok = r.integer("copies", copies, 1, mig_planner::max_gpus);
  if (!ok) return unexpected{std::move(ok).error()};
  constexpr std::string_view modes[] = {"on", "off", "whole", "shared", "out"};  // as `mig_mode`
  std::size_t m = 0;
  while (m < 5 && modes[m] != mode) ++m;
  if (m == 5)
    return unexpected{r.error(*v.find("mode"), "mode " + io_text::quoted(mode), "on, off, whole, shared or out")};
  out.mode = static_cast<mig_mode>(m);
  auto who = read_occupant(r, v);
  if (!who) return unexpected{who.error()};
  out.whole = *who;
  if (out.whole && out.mode != mig_mode::whole && out.mode != mig_mode::shared)
    return unexpected{r.error(v, "a job on a GPU of mode " + mode, "jobs on its instances, or mode whole or shared")};
  const auto list = r.array("instances");
  if (!list) return unexpected{list.error()};
  if (*list == nullptr) return out;
  if (!(*list)->items.empty() && out.mode != mig_mode::on)
    return unexpected{r.error(**list, "instances on a GPU of mode " + mode, "mode on")};
  std::vector<mig_listed_instance> listed;
  for (const auto& i : (*list)->items) {
    const json_reader in{i, source};
    mig_listed_instance x;
    std::string profile;
    ok = in.only("profile start job lost_s drain");
    if (ok) ok = in.text("profile", profile);
    if (ok) ok = in.integer("start", x.start, 0, 255);
    if (ok && (i.find("profile") == nullptr || i.find("start") == nullptr))
      ok = unexpected{in.error(i, "an instance without \"profile\" or \"start\"", "both")};
    if (!ok) return unexpected{std::move(ok).error()};
    x.profile = i.find("profile")->text;
    listed.push_back(x);
    const auto held = read_mig_listing(g, listed, source);
    if (!held) return unexpected{in.error(i, held.error().found, held.error().expected)};
    const unsigned p = *g.find(find_mig_profile(*g.product, x.profile)->profile, x.start);
    const auto owner = read_occupant(in, i);
    if (!owner) return unexpected{owner.error()};
    if (*owner) out.running.push_back({static_cast<std::uint8_t>(p), **owner});
    else out.idle |= mig_set{1} << p;
  }
  return out;
}

}  // namespace json_detail

/// Reads the GPUs of one product; at most `mig_planner::max_gpus`. Instances that contradict the geometry are refused.
[[nodiscard]] inline expected<std::vector<mig_gpu_now>, input_error> read_mig_gpus(const mig_geometry& g,
                                                                                   std::string_view text,
                                                                                   const std::string& source) {
  const auto root = parse_json(text, source);
  if (!root) return unexpected{root.error()};
  const json_reader r{*root, source};
  std::int64_t version = 0;
  auto ok = r.only("berth_mig_gpus gpus");
  if (ok) ok = r.integer("berth_mig_gpus", version, 1, 1);
  if (ok && version != 1) ok = unexpected{r.error(*root, "no \"berth_mig_gpus\"", "\"berth_mig_gpus\": 1")};
  if (!ok) return unexpected{std::move(ok).error()};
  const auto list = r.array("gpus");
  if (!list) return unexpected{list.error()};
  if (*list == nullptr || (*list)->items.empty())
    return unexpected{r.error(*root, "no GPUs", "\"gpus\": an array with at least one")};
  std::vector<mig_gpu_now> out;
  for (const auto& v : (*list)->items) {
    std::size_t copies = 1;
    const auto one = json_detail::read_mig_gpu(g, v, source, copies);
    if (!one) return unexpected{one.error()};
    if (out.size() + copies > mig_planner::max_gpus)
      return unexpected{r.error(v, "more than 16384 GPUs", "at most 16384")};
    out.insert(out.end(), copies, *one);
  }
  return out;
}

}  // namespace berth
