#pragma once
/// \file
/// Which numbers of tasks of every group fit together below a domain: the tables of `count_search`.
///
/// Tasks of a group are alike, so what a domain holds is a vector of counts. Vectors up to the gang's own (the total)
/// are numbered in mixed radix. A table keeps per vector the least number of domains used below, as digits by level,
/// the outermost first; the sum of the least is the least of the sums.
///
/// Cost        a domain costs O(vectors × parts of its children), in place. No allocation.
/// Source      the method of `exact.hpp`, of which this shares the idea and no line: bounded in memory and steps, and
///             with a condition on what each domain may hold.

#include <cstddef>
#include <cstdint>
#include <limits>

#include "berth/core/separate.hpp"

namespace berth::detail {

/// The vectors of counts up to a total, as numbers. Adding vectors adds their numbers.
class count_space {
 public:
  static constexpr std::size_t most_groups = 16;

  /// \returns false where there are more than `limit` vectors, or more than 63 bits of counts
  [[nodiscard]] bool set(const std::uint32_t* total, std::size_t groups, std::uint64_t limit) noexcept;
  [[nodiscard]] std::uint32_t size() const noexcept { return static_cast<std::uint32_t>(size_); }
  [[nodiscard]] std::uint32_t last() const noexcept { return static_cast<std::uint32_t>(size_ - 1); }
  [[nodiscard]] std::size_t groups() const noexcept { return groups_; }
  [[nodiscard]] std::uint32_t total(std::size_t group) const noexcept { return total_[group]; }
  [[nodiscard]] std::uint32_t stride(std::size_t group) const noexcept { return stride_[group]; }
  [[nodiscard]] std::uint32_t count(std::uint32_t v, std::size_t group) const noexcept {
    return v / stride_[group] % (total_[group] + 1);
  }
  /// Counts side by side, each with a guard bit above it: what `within` compares.
  [[nodiscard]] std::uint64_t packed(std::uint32_t v) const noexcept;
  /// Whether `part` has no more of any group than `whole`, both packed.
  [[nodiscard]] bool within(std::uint64_t part, std::uint64_t whole) const noexcept {
    return (((whole | guards_) - part) & guards_) == guards_;
  }

 private:
  std::size_t groups_ = 0;
  std::uint64_t size_ = 1, guards_ = 0;
  std::uint32_t total_[most_groups] = {}, stride_[most_groups] = {};
  unsigned shift_[most_groups] = {};
};

/// What a child of a domain may hold: a vector, whether it leaves a domain of segments loose, and what that costs.
struct count_part {
  std::uint32_t vector = 0;
  std::uint32_t loose = 0;
  std::uint64_t packed = 0;
  std::uint64_t cost = 0;
};

/// One domain's table: `planes` rows of one cost per vector. Row 1 is for vectors with a domain of segments that is not
/// filled up, of which `consolidate` allows one; other gangs have row 0 alone.
class count_row {
 public:
  static constexpr std::uint64_t none = std::numeric_limits<std::uint64_t>::max();

  count_row(std::uint64_t* cells, std::uint32_t vectors, unsigned rows) noexcept
      : cells_{cells}, vectors_{vectors}, rows_{rows} {}
  [[nodiscard]] std::uint64_t& at(std::uint32_t v, unsigned row = 0) const noexcept {
    return cells_[std::size_t{row} * vectors_ + v];
  }
  void clear() const noexcept;
  /// Adds a child: every vector held so far, alone or with one of the child's parts. Where `choice` is not null, it
  /// gets per vector and row 0, or 1 + the part that was taken. \param packed by vector \returns steps
  std::uint64_t add(const count_space& space, const std::uint64_t* packed, const count_part* parts, std::uint32_t count,
                    std::uint32_t* choice) const noexcept;

 private:
  std::uint64_t* cells_;
  std::uint32_t vectors_;
  unsigned rows_;
};

}  // namespace berth::detail

#if BERTH_WITH_BODIES
#include "berth/solver/impl/count_table.hpp"
#endif
