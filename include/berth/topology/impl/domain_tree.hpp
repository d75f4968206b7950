#pragma once
/// \file
/// Bodies of `berth/topology/domain_tree.hpp`.

#include "berth/topology/domain_tree.hpp"

namespace berth {

BERTH_INLINE std::optional<level_id> domain_tree::find_level(std::string_view name) const noexcept {
  for (std::size_t i = 0; i < levels_.size(); ++i)
    if (levels_[i].name == name) return level_id{static_cast<std::uint8_t>(i)};
  return std::nullopt;
}

BERTH_INLINE const std::string& domain_tree::name(level_id l, domain_id d) const noexcept {
  static const std::string none;
  const auto& names = levels_[l.index()].names;
  return d.index() < names.size() ? names[d.index()] : none;
}

BERTH_INLINE domain_id domain_tree::domain_of(node_id n, level_id l) const noexcept {
  std::uint32_t d = leaf_of_[n.index()];
  for (std::size_t i = levels_.size() - 1; i > l.index(); --i) d = levels_[i].domains[d].parent;
  return domain_id{d};
}

BERTH_INLINE std::vector<std::string> domain_tree::path(node_id n) const {
  std::vector<std::string> out;
  for (std::size_t i = 0; i < levels_.size(); ++i) {
    const level_id l{static_cast<std::uint8_t>(i)};
    const domain_id d = domain_of(n, l);
    if (!at(l, d).implicit) out.push_back(name(l, d));
  }
  return out;
}

BERTH_INLINE const std::string& domain_tree::level_name(level_id l) const noexcept {
  return levels_[l.index()].name;
}

}  // namespace berth
