#pragma once
/// \file
/// Bodies of `berth/cluster/node_names.hpp`.

#include "berth/cluster/node_names.hpp"

namespace berth::detail {

BERTH_INLINE std::uint32_t node_names::find(const std::string& name) const noexcept {
  if (name.empty() || slots_.empty()) return none;
  for (std::size_t at = hash(name) & (slots_.size() - 1); slots_[at] != none; at = (at + 1) & (slots_.size() - 1))
    if (names_[slots_[at]] == name) return slots_[at];
  return none;
}

BERTH_INLINE void node_names::set(std::uint32_t node, const std::string& name, std::size_t nodes) {
  if (name.empty() || find(name) != none) return;
  if (slots_.empty()) {
    std::size_t size = 16;
    while (size < 2 * nodes) size *= 2;
    names_.resize(nodes);
    slots_.assign(size, none);
  }
  names_[node] = name;
  std::size_t at = hash(name) & (slots_.size() - 1);
  while (slots_[at] != none) at = (at + 1) & (slots_.size() - 1);
  slots_[at] = node;
}

BERTH_INLINE void node_names::clear(std::uint32_t node) noexcept {
  if (slots_.empty() || names_[node].empty()) return;
  const std::size_t last = slots_.size() - 1;
  std::size_t hole = hash(names_[node]) & last;
  while (slots_[hole] != node) hole = (hole + 1) & last;
  names_[node].clear();
  // Backward-shift deletion keeps probe sequences whole.
  for (std::size_t at = (hole + 1) & last; slots_[at] != none; at = (at + 1) & last)
    if (const std::size_t home = hash(names_[slots_[at]]) & last; ((at - home) & last) >= ((at - hole) & last))
      slots_[hole] = slots_[at], hole = at;
  slots_[hole] = none;
}

BERTH_INLINE std::size_t node_names::hash(const std::string& name) noexcept {
  std::uint64_t h = 0xcbf29ce484222325U;
  for (const char c : name) h = (h ^ static_cast<unsigned char>(c)) * 0x100000001b3U;
  return static_cast<std::size_t>(h ^ h >> 32);
}

BERTH_INLINE std::size_t node_names::memory() const noexcept {
  return names_.size() * sizeof(std::string) + slots_.size() * 4;
}

}  // namespace berth::detail
