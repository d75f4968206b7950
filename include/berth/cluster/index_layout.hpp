#pragma once
/// \file
/// How the capacity index lays a domain tree out in flat arrays. One layout serves all shapes of a cluster.
///
/// Levels are 0 (cluster) … leaf; "level" `leaf + 1` stands for nodes. For an outer level m and an inner level l, every
/// domain P of level m has, per bucket of capacity b, one bit per child: the child holds a level-l domain (or is one)
/// whose capacity lies in bucket b. So "the tightest leaf with room for n" is found by walking down from the root
/// along set bits. Bits of one domain start at a word of their own.

#include <bit>
#include <cassert>
#include <cstddef>
#include <cstdint>
#include <span>

#include "berth/core/flat_array.hpp"
#include "berth/core/separate.hpp"
#include "berth/topology/domain_tree.hpp"

namespace berth::detail {

/// Capacities sorted into buckets: exact below 256, then 16 buckets per doubling. Bucket 0 is "nothing free".
struct bucket_scale {
  static constexpr std::uint64_t exact = 256;
  [[nodiscard]] static constexpr std::uint32_t of(std::uint64_t capacity) noexcept {
    if (capacity < exact) return static_cast<std::uint32_t>(capacity);
    const auto e = static_cast<unsigned>(std::bit_width(capacity)) - 1;  // >= 8
    return static_cast<std::uint32_t>(exact + (e - 8) * 16 + ((capacity >> (e - 4)) & 15));
  }
};

/// One outer/inner pair of levels inside a shape's arena of words.
struct level_pair {
  std::size_t bits = 0;            ///< first word of the child bits
  std::size_t non_empty = 0;       ///< first word of the bitmaps of buckets in use
  std::uint32_t buckets = 0;       ///< of the inner level
  std::uint32_t bucket_words = 0;  ///< words of one bitmap of buckets
};

/// What the index needs to know of one domain, in one place.
struct domain_record {
  std::uint32_t first_word = 0;  ///< where its words of child bits start among those of its level
  std::uint32_t words = 0;
  std::uint32_t first_child = 0;
  std::uint32_t children = 0;
  std::uint32_t parent = 0;
};

class index_layout {
 public:
  index_layout() = default;
  /// \param devices_per_domain  per level, the most devices one domain holds; \param node_ranks most devices of a node
  /// + 1
  index_layout(const domain_tree& tree, std::span<const std::uint64_t> devices_per_domain, std::uint32_t node_ranks);

  [[nodiscard]] std::uint8_t levels() const noexcept { return levels_; }
  [[nodiscard]] std::uint8_t leaf_level() const noexcept { return static_cast<std::uint8_t>(levels_ - 1); }
  [[nodiscard]] std::uint32_t buckets(unsigned level) const noexcept { return buckets_[level]; }
  [[nodiscard]] std::uint32_t bucket_words(unsigned level) const noexcept { return (buckets_[level] + 63) / 64; }
  [[nodiscard]] const level_pair& pair(unsigned outer, unsigned inner) const noexcept {
    return pairs_[std::size_t{outer} * (levels_ + 1U) + inner];
  }
  [[nodiscard]] const domain_record& record(unsigned level, std::uint32_t d) const noexcept {
    return records_[first_record_[level] + d];
  }
  [[nodiscard]] std::uint32_t domains(unsigned level) const noexcept {
    return static_cast<std::uint32_t>(first_record_[level + 1] - first_record_[level]);
  }
  [[nodiscard]] std::uint32_t parent(unsigned level, std::uint32_t d) const noexcept { return record(level, d).parent; }
  [[nodiscard]] std::uint32_t first_child(unsigned level, std::uint32_t d) const noexcept {
    return record(level, d).first_child;
  }
  [[nodiscard]] std::uint32_t children(unsigned level, std::uint32_t d) const noexcept {
    return record(level, d).children;
  }
  /// Words of child bits of one domain, and where they start among those of its level.
  [[nodiscard]] std::uint32_t words(unsigned level, std::uint32_t d) const noexcept { return record(level, d).words; }
  [[nodiscard]] std::uint32_t first_word(unsigned level, std::uint32_t d) const noexcept {
    return record(level, d).first_word;
  }
  [[nodiscard]] std::uint32_t word_count(unsigned level) const noexcept { return word_count_[level]; }
  /// The leaf a word of node bits belongs to.
  [[nodiscard]] std::uint32_t leaf_of_word(std::uint32_t w) const noexcept { return leaf_of_word_[w]; }
  [[nodiscard]] std::size_t arena_words() const noexcept { return arena_words_; }
  [[nodiscard]] std::size_t capacity_offset(unsigned level) const noexcept { return first_record_[level]; }
  [[nodiscard]] std::size_t capacity_count() const noexcept { return records_.size(); }
  /// Bytes this object holds.
  [[nodiscard]] std::size_t memory() const noexcept {
    return leaf_of_word_.size() * 4 + records_.size() * sizeof(domain_record);
  }

 private:
  std::uint8_t levels_ = 0;
  flat_array<domain_record> records_;     ///< by level and domain
  flat_array<std::size_t> first_record_;  ///< by level, with one past the end
  flat_array<std::uint32_t> word_count_;  ///< by level
  flat_array<std::uint32_t> buckets_;
  flat_array<level_pair> pairs_;
  flat_array<std::uint32_t> leaf_of_word_;
  std::size_t arena_words_ = 0;
};

}  // namespace berth::detail

#if BERTH_WITH_BODIES
#include "berth/cluster/impl/index_layout.hpp"
#endif
