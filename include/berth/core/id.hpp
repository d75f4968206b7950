#pragma once
/// \file
/// Strong ids: an index that does no arithmetic and does not mix with other indices.

#include <compare>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <limits>

namespace berth {

/// An index of one kind of thing. The default value means "none"; all others are dense and start at 0.
template <class Tag, std::unsigned_integral Rep>
class id {
 public:
  using rep = Rep;
  constexpr id() noexcept = default;
  constexpr explicit id(Rep raw) noexcept : raw_{raw} {}
  [[nodiscard]] constexpr Rep raw() const noexcept { return raw_; }
  /// The id as an index into an array.
  [[nodiscard]] constexpr std::size_t index() const noexcept { return raw_; }
  /// False for "none".
  constexpr explicit operator bool() const noexcept { return raw_ != std::numeric_limits<Rep>::max(); }
  friend constexpr auto operator<=>(id, id) noexcept = default;

 private:
  Rep raw_ = std::numeric_limits<Rep>::max();
};

/// A machine. Ids follow the domain tree: neighbours in id are neighbours in the tree.
using node_id = id<struct node_tag, std::uint32_t>;
/// A domain of the tree, within its level.
using domain_id = id<struct domain_tag, std::uint32_t>;
/// A level of the domain tree: 0 is the outermost ("cluster"), the last one holds nodes directly.
using level_id = id<struct level_tag, std::uint8_t>;
/// A kind of node hardware (`node_shape`).
using shape_id = id<struct shape_tag, std::uint16_t>;
/// An equivalence class of nodes: same hardware, same labels, same taints.
using class_id = id<struct class_tag, std::uint16_t>;
/// A registered filter over node classes and device models.
using filter_id = id<struct filter_tag, std::uint16_t>;

/// The embedding scheduler's own name for a job; any value is legal.
enum class job_key : std::uint64_t {};

}  // namespace berth
