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
#include "berth/core/separate.hpp"

namespace berth::detail {

class node_names {
 public:
  static constexpr std::uint32_t none = 0xffffffffU;

  /// The node of that name; the first to get it where several did. `none` where there is none, and for no name.
  [[nodiscard]] std::uint32_t find(const std::string& name) const noexcept;
  /// Names a node that has no name. Allocates. \param nodes  how many nodes there are
  void set(std::uint32_t node, const std::string& name, std::size_t nodes);
  /// Takes a node's name away.
  void clear(std::uint32_t node) noexcept;
  /// Bytes held, without the text of long names.
  [[nodiscard]] std::size_t memory() const noexcept;

 private:
  /// FNV-1a (Fowler, Noll, Vo). Only finds: no order follows from it.
  [[nodiscard]] static std::size_t hash(const std::string& name) noexcept;

  flat_array<std::string> names_;    ///< by node, or nothing
  flat_array<std::uint32_t> slots_;  ///< a power of two of them, at most half in use
};

}  // namespace berth::detail

#if BERTH_WITH_BODIES
#include "berth/cluster/impl/node_names.hpp"
#endif
