#pragma once
/// \file
/// Which node has a name: a hash table over the nodes' names, so that a node said twice is found.
///
/// Cost        find, set and clear O(length of the name) on average. Nothing is kept where no node has a name.

#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>

#include "berth/core/flat_array.hpp"

namespace berth::detail {

class node_names {
 public:
  static constexpr std::uint32_t none = 0xffffffffU;

  /// The node of that name; the first to get it where several did. `none` where there is none, and for no name.
  [[nodiscard]] std::uint32_t find(const std::string& name) const noexcept {
    if (name.empty() || slots_.empty()) return none;
    for (std::size_t at = hash(name) & (slots_.size() - 1); slots_[at] != none; at = (at + 1) & (slots_.size() - 1))
      if (names_[slots_[at]] == name) return slots_[at];
    return none;
  }
  /// Names a node that has no name. Allocates. \param nodes  how many nodes there are
  void set(std::uint32_t node, const std::string& name, std::size_t nodes) {
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
  /// Takes a node's name away.
  void clear(std::uint32_t node) noexcept {
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
  /// Bytes held, without the text of long names.
  [[nodiscard]] std::size_t memory() const noexcept { return names_.size() * sizeof(std::string) + slots_.size() * 4; }

 private:
  /// FNV-1a (Fowler, Noll, Vo). Only finds: no order follows from it.
  [[nodiscard]] static std::size_t hash(const std::string& name) noexcept {
    std::uint64_t h = 0xcbf29ce484222325U;
    for (const char c : name) h = (h ^ static_cast<unsigned char>(c)) * 0x100000001b3U;
    return static_cast<std::size_t>(h ^ h >> 32);
  }

  flat_array<std::string> names_;    ///< by node, or nothing
  flat_array<std::uint32_t> slots_;  ///< a power of two of them, at most half in use
};

}  // namespace berth::detail
