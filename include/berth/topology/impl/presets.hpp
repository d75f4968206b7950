#pragma once
/// \file
/// Bodies of `berth/topology/presets.hpp`.

#include <cassert>

#include "berth/topology/catalogue/node_shapes.hpp"
#include "berth/topology/domain_tree_builder.hpp"
#include "berth/topology/presets.hpp"

namespace berth::detail {

BERTH_INLINE expected<preset_parameters, std::string> preset_parameters::read(std::string_view text) {
  preset_parameters p;
  while (!text.empty()) {
    const std::size_t comma = text.find(',');
    const std::string_view item = text.substr(0, comma);
    text = comma == std::string_view::npos ? std::string_view{} : text.substr(comma + 1);
    const std::size_t eq = item.find('=');
    if (eq == std::string_view::npos || eq == 0 || eq + 1 == item.size())
      return unexpected{"found \"" + std::string{item} + "\", expected key=value"};
    for (const auto& [key, value] : p.items_)
      if (key == item.substr(0, eq)) return unexpected{"\"" + std::string{key} + "\" is given twice"};
    p.items_.emplace_back(item.substr(0, eq), item.substr(eq + 1));
  }
  return p;
}

BERTH_INLINE std::uint32_t preset_parameters::number(std::string_view key, std::uint32_t otherwise, std::uint32_t low,
                                                     std::uint32_t high) {
  const auto text = word(key, "");
  if (text.empty()) return otherwise;
  std::uint64_t n = 0;
  bool good = text.size() <= 10;
  for (const char c : text) {
    good = good && c >= '0' && c <= '9';
    if (good) n = n * 10 + static_cast<std::uint64_t>(c - '0');
  }
  if (!good || n < low || n > high) {
    fail("found " + std::string{key} + "=" + std::string{text} + ", expected a whole number from " +
         std::to_string(low) + " to " + std::to_string(high));
    return otherwise;
  }
  return static_cast<std::uint32_t>(n);
}

BERTH_INLINE std::string_view preset_parameters::word(std::string_view key, std::string_view otherwise) {
  known_ += known_.empty() ? "" : ", ";
  known_ += key;
  for (std::size_t i = 0; i < items_.size(); ++i)
    if (items_[i].first == key) {
      const auto value = items_[i].second;
      items_.erase(items_.begin() + static_cast<std::ptrdiff_t>(i));
      return value;
    }
  return otherwise;
}

BERTH_INLINE std::string preset_parameters::finish() {
  if (!items_.empty()) fail("found \"" + std::string{items_.front().first} + "\", expected one of " + known_);
  return error_;
}

}  // namespace berth::detail

namespace berth {

BERTH_INLINE expected<fabric_spec, std::string> parse_preset(std::string_view text) {
  const std::size_t colon = text.find(':');
  const std::string_view name = text.substr(0, colon);
  auto read =
      detail::preset_parameters::read(colon == std::string_view::npos ? std::string_view{} : text.substr(colon + 1));
  const auto error = [&](const std::string& why) { return unexpected{"preset " + std::string{text} + ": " + why}; };
  if (!read) return error(read.error());
  detail::preset_parameters& p = *read;

  fabric_spec f;
  f.name = std::string{text};
  f.shape = "dgx-h100";
  const bool memory_given = [&] {
    f.memory_gib = p.number("memory", 0, 1, 1U << 20);
    return f.memory_gib != 0;
  }();
  if (!memory_given) f.memory_gib = 1024;
  std::uint32_t over = 1, core_over = 1;
  if (name == "superpod-h100") {
    // NVIDIA's table ends at 4; up to 8 the same rule holds (32 spines of 64 ports), above that a core layer is needed.
    const std::uint32_t su = p.number("su", 4, 1, 8);
    f.style = fabric_style::rails;
    f.nodes = su * 32 - 1;
    f.nodes_per_leaf = 32;
  } else if (name == "rail" || name == "leaf-spine" || name == "clos3") {
    f.style = name == "rail" ? fabric_style::rails : name == "clos3" ? fabric_style::clos3 : fabric_style::leaf_spine;
    f.nodes = p.number("nodes", name == "clos3" ? 4096 : 256, 1, max_preset_nodes);
    f.nodes_per_leaf = p.number("per-leaf", name == "leaf-spine" ? 8 : 32, 1, 65536);
    if (name == "clos3") {
      f.leaves_per_pod = p.number("leaves", 32, 1, 65536);
      core_over = p.number("core-oversubscription", 1, 1, 1024);
    }
    over = p.number("oversubscription", 1, 1, 1024);
    f.shape = std::string{p.word("shape", "dgx-h100")};
  } else if (name == "nvl72") {
    const std::uint32_t racks = p.number("racks", 8, 1, max_preset_nodes / 18);
    f.style = fabric_style::nvl72;
    f.shape = "gb200-tray";
    f.nodes_per_rack = 18;
    f.nodes = racks * 18;
    f.nodes_per_leaf = p.number("racks-per-leaf", 8, 1, 4096) * 18;
    f.assumptions.push_back(
        "which leaf a GB200 rack hangs on is not published: " + std::to_string(f.nodes_per_leaf / 18) +
        " racks are taken as one leaf domain (racks-per-leaf changes it)");
  } else {
    std::string names;
    for (const auto& h : preset_names()) names += (names.empty() ? "" : ", ") + std::string{h.name};
    return error("expected one of " + names);
  }
  if (name != "superpod-h100") {
    const auto medium = p.word("medium", "ib");
    if (medium == "roce") f.medium = link_kind::roce;
    else if (medium != "ib") p.fail("found medium=" + std::string{medium} + ", expected ib or roce");
  }
  if (const std::string why = p.finish(); !why.empty()) return error(why);

  const auto shape = catalogue_shape(f.shape);
  if (!shape) return error("no machine \"" + f.shape + "\" in the catalogue");
  std::uint32_t rails = 0;
  for (const auto& nic : shape->nics) {
    if (!nic.rail) continue;
    const auto gbit = nic.rate ? static_cast<std::uint32_t>(nic.rate->count() * 8 + 0.5) : 0;
    if (gbit == 0 || (f.nic_gbit != 0 && f.nic_gbit != gbit))
      return error("the compute NICs of " + f.shape + " differ");
    f.nic_gbit = gbit;
    ++f.nics_per_node;
    if (*nic.rail >= rails) rails = std::uint32_t{*nic.rail} + 1;
  }
  if (f.nics_per_node == 0) return error(f.shape + " has no compute NIC");
  if (f.style == fabric_style::rails || f.style == fabric_style::nvl72) f.rails = rails;
  if (f.nics_per_node % f.rails != 0)
    return error("the compute NICs of " + f.shape + " do not spread evenly over its rails");

  // Cables of one leaf, and how they spread over spines with 64 ports (NVIDIA's QM9700), which gives the published
  // SuperPOD counts; a fabric too large for that has spines of as many ports as it takes.
  const std::uint32_t down = f.nodes_per_leaf * (f.nics_per_node / f.rails);
  if (down % over != 0)
    return error("a leaf's " + std::to_string(down) +
                 " links down do not divide by oversubscription=" + std::to_string(over));
  f.uplinks_per_leaf = down / over;
  const std::uint32_t pod_leaves = f.leaves_per_pod != 0 ? f.leaves_per_pod : f.leaf_domains() * f.rails;
  f.spines = detail::spread(pod_leaves, f.uplinks_per_leaf, 64);
  if (f.leaves_per_pod != 0) {
    const std::uint32_t spine_down = f.leaves_per_pod * (f.uplinks_per_leaf / f.spines);
    if (spine_down % core_over != 0)
      return error("a spine's " + std::to_string(spine_down) +
                   " links down do not divide by core-oversubscription=" + std::to_string(core_over));
    f.uplinks_per_spine = spine_down / core_over;
    f.cores_per_group = detail::spread(f.pods(), f.uplinks_per_spine, 64);
  }
  if (!memory_given)
    f.assumptions.push_back("machines have 1024 GiB of memory: the catalogue does not say (memory=GIB changes it)");
  return f;
}

BERTH_INLINE domain_tree make_tree(const fabric_spec& f) {
  std::vector<std::string> names{"cluster"};
  std::vector<std::uint32_t> sizes;  // machines of a domain, outermost first
  if (f.pods() > 1) {
    names.emplace_back("spine");
    sizes.push_back(f.nodes_per_leaf * f.leaves_per_pod);
  }
  names.emplace_back("leaf");
  sizes.push_back(f.nodes_per_leaf);
  if (f.nodes_per_rack != 0) {
    names.emplace_back("nvlink");
    sizes.push_back(f.nodes_per_rack);
  }
  if (f.nodes % sizes.front() == 0) {
    std::vector<std::uint32_t> fanout{f.nodes / sizes.front()};
    for (std::size_t i = 1; i < sizes.size(); ++i) fanout.push_back(sizes[i - 1] / sizes[i]);
    return domain_tree_builder::regular(names, fanout, sizes.back());
  }
  // The last domains are not full.
  std::vector<domain_declaration> declared;
  std::vector<std::uint32_t> node_domain(f.nodes);
  std::uint32_t above = 0;  // first domain of the level above
  for (std::size_t i = 0; i < sizes.size(); ++i) {
    const auto first = static_cast<std::uint32_t>(declared.size());
    for (std::uint32_t d = 0; d * sizes[i] < f.nodes; ++d)
      declared.push_back({names[i + 1] + "-" + std::to_string(d),
                          i == 0 ? domain_declaration::no_parent : above + d * sizes[i] / sizes[i - 1], names[i + 1]});
    above = first;
  }
  for (std::uint32_t n = 0; n < f.nodes; ++n) node_domain[n] = above + n / sizes.back();
  auto built = domain_tree_builder::build(declared, node_domain);
  assert(built.has_value());
  return std::move(built->tree);
}

}  // namespace berth

namespace berth::detail {

BERTH_INLINE void preset_parameters::fail(std::string why) {
  if (error_.empty()) error_ = std::move(why);
}

}  // namespace berth::detail
