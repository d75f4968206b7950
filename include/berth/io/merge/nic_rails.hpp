#pragma once
/// \file
/// Which NICs inside a machine are on the compute fabric, and on which of its rails: from the fabric's own files, where
/// there are any.

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "berth/io/fabric/description.hpp"
#include "berth/io/merge/fabrics.hpp"
#include "berth/topology/graph/hardware_graph.hpp"
#include "berth/topology/rails.hpp"

namespace berth::merge_detail {

/// A machine's cable as its inside needs to know it.
struct wired_nic {
  std::string name;  ///< "mlx5_0"; "" where the fabric's file does not tell it
  std::optional<std::uint64_t> guid;
  std::optional<std::uint8_t> rail;
  std::optional<gigabytes_per_second> rate;
};

/// By machine: its NICs on the fabric, each once, in the order of the files; two ports of one NIC are one.
[[nodiscard]] inline std::vector<std::vector<wired_nic>> wired_nics(const joined_fabric& f, std::size_t machines) {
  std::vector<std::vector<wired_nic>> out(machines);
  for (const auto& c : f.down) {
    if (c.machine >= machines || !c.wire.healthy || (c.nic.empty() && !c.guid)) continue;
    auto& list = out[c.machine];
    const auto same = std::find_if(list.begin(), list.end(), [&](const wired_nic& n) {
      return n.guid && c.guid ? n.guid == c.guid : n.name == c.nic;
    });
    if (same == list.end()) {
      list.push_back({c.nic, c.guid, c.wire.rail, c.wire.rate});
      continue;
    }
    if (same->rate && c.wire.rate) *same->rate += *c.wire.rate;
    else same->rate.reset();
    if (same->rail != c.wire.rail) same->rail.reset();
  }
  return out;
}

/// What tells apart machines of one kind by their cables; GUIDs, which are each machine's own, aside.
[[nodiscard]] inline std::string key_of(const std::vector<wired_nic>& nics) {
  std::string out;
  for (const auto& n : nics)
    out += n.name + ":" + (n.rail ? std::to_string(*n.rail) : "-") + ":" +
           (n.rate ? std::to_string(n.rate->count()) : "-") + ";";
  return out;
}

/// Gives the NICs of an inside that are on the fabric their rail and rate. NICs are told by GUID, else by name, else by
/// order where the inside has as many compute NICs as the fabric shows. Where the fabric has no rails, its NICs are
/// numbered in their order, so that each is told from those that are on no fabric.
/// \return what had to be assumed, or "" where nothing was
[[nodiscard]] inline std::string wire_nics(hardware_graph& g, std::vector<wired_nic> wired) {
  if (wired.empty()) return {};
  std::stable_sort(wired.begin(), wired.end(), [](const wired_nic& a, const wired_nic& b) {
    if (a.rail != b.rail) return a.rail < b.rail;
    return fabric_detail::place_of_device(a.name) < fabric_detail::place_of_device(b.name);
  });
  std::vector<std::pair<part_id, const wired_nic*>> found;
  const auto nics = parts_of(g, vertex_kind::nic);
  for (const auto v : nics) {
    const wired_nic* same = nullptr;
    for (const auto& w : wired)
      if (w.guid && g[v].guid == w.guid) same = &w;
    for (const auto& w : wired)
      if (same == nullptr && !w.name.empty() && w.name == g[v].name) same = &w;
    if (same != nullptr) found.emplace_back(v, same);
  }
  std::string note;
  if (found.empty()) {
    std::vector<part_id> compute;
    for (const auto v : nics)
      if (g[v].rail) compute.push_back(v);
    if (compute.empty()) compute = nics;
    if (compute.empty()) return {};
    if (compute.size() == wired.size()) {
      for (std::size_t i = 0; i < wired.size(); ++i) found.emplace_back(compute[i], &wired[i]);
      note = "which of their NICs is on which rail is taken from the order in which the fabric shows them.";
    } else {
      note = "the fabric shows " + io_text::counted(wired.size(), "NIC") + " and the inside " +
             std::to_string(compute.size()) + ", so that which GPU sends on which is not known.";
    }
  }
  if (found.size() > max_rails) found.clear();
  bool rails = true;
  for (const auto& f : found) rails = rails && f.second->rail.has_value();
  for (const auto v : nics) g[v].rail.reset();
  for (std::size_t i = 0; i < found.size(); ++i) {
    part& p = g[found[i].first];
    p.rail = rails ? *found[i].second->rail : static_cast<std::uint8_t>(i);
    if (found[i].second->rate) p.rate = found[i].second->rate;
  }
  return note;
}

/// Without a file of the fabric: the NICs of the highest line rate are taken to be on the compute fabric, numbered in
/// their order. \return their number; 0 where the inside tells rails itself or knows no rate
inline std::size_t assume_compute_nics(hardware_graph& g) {
  const auto nics = parts_of(g, vertex_kind::nic);
  double most = 0;
  for (const auto v : nics) {
    if (g[v].rail) return 0;
    if (g[v].rate) most = std::max(most, g[v].rate->count());
  }
  std::size_t count = 0;
  for (const auto v : nics) count += most > 0 && g[v].rate && g[v].rate->count() >= most ? 1U : 0U;
  if (count > max_rails) return 0;
  std::uint8_t rail = 0;
  for (const auto v : nics)
    if (most > 0 && g[v].rate && g[v].rate->count() >= most) g[v].rail = rail++;
  return count;
}

}  // namespace berth::merge_detail
