#pragma once
/// \file
/// The floor: the least work that choosing nodes on a three-level tree can be. It knows free nodes and nothing else: no
/// CPU, memory, classes, devices, transactions or job keys. Best fit: the leaf with the fewest free nodes that
/// suffices, else the spine, inside it the emptiest leaves first.
///
/// Not part of the library. It is what `berth/…` is compared with in `bench_place`.

#include <bit>
#include <cstdint>
#include <cstring>
#include <span>
#include <vector>

#include "berth/core/flat_array.hpp"

namespace bench {

/// A bit set with one bit per 64-bit word on top, up to 4096 members.
class two_level_bits {
 public:
  explicit two_level_bits(std::uint32_t n = 0) : words_((n + 63) / 64, 0) {}
  void set(std::uint32_t i) noexcept {
    words_[i / 64] |= std::uint64_t{1} << (i % 64);
    summary_ |= std::uint64_t{1} << (i / 64);
  }
  void clear(std::uint32_t i) noexcept {
    words_[i / 64] &= ~(std::uint64_t{1} << (i % 64));
    if (words_[i / 64] == 0) summary_ &= ~(std::uint64_t{1} << (i / 64));
  }
  [[nodiscard]] bool empty() const noexcept { return summary_ == 0; }
  [[nodiscard]] std::uint32_t first() const noexcept {
    const auto w = static_cast<std::uint32_t>(std::countr_zero(summary_));
    return w * 64 + static_cast<std::uint32_t>(std::countr_zero(words_[w]));
  }
  /// The lowest member that is `i` or more; some number beyond all members where there is none.
  [[nodiscard]] std::uint32_t next(std::uint32_t i) const noexcept {
    std::uint32_t w = i / 64;
    if (w >= words_.size()) return ~std::uint32_t{0};
    std::uint64_t m = words_[w] >> (i % 64) << (i % 64);
    if (m == 0) {
      const std::uint64_t above = w == 63 ? 0 : summary_ >> (w + 1) << (w + 1);
      if (above == 0) return ~std::uint32_t{0};
      w = static_cast<std::uint32_t>(std::countr_zero(above));
      m = words_[w];
    }
    return w * 64 + static_cast<std::uint32_t>(std::countr_zero(m));
  }
  [[nodiscard]] std::uint32_t last() const noexcept {
    const auto w = 63 - static_cast<std::uint32_t>(std::countl_zero(summary_));
    return w * 64 + 63 - static_cast<std::uint32_t>(std::countl_zero(words_[w]));
  }

 private:
  std::uint64_t summary_ = 0;
  std::vector<std::uint64_t> words_;
};

/// What the floor writes per node taken.
struct alignas(64) floor_record {
  std::uint64_t owner = 0;
  std::uint64_t rest[7] = {};
};

class floor_tree {
 public:
  static constexpr std::uint32_t per_leaf = 32, per_spine = 32;

  explicit floor_tree(std::uint32_t nodes)
      : free_(nodes / per_leaf, 0),
        count_(nodes / per_leaf, 0),
        spine_count_((nodes / per_leaf + per_spine - 1) / per_spine, 0),
        spine_leaves_(spine_count_.size() * (per_leaf + 1), 0),
        leaves_(per_leaf + 1, two_level_bits(nodes / per_leaf)),
        spines_(per_leaf * per_spine + 1, two_level_bits(static_cast<std::uint32_t>(spine_count_.size()))),
        used_(per_leaf * per_spine + 1),
        records_(nodes),
        chosen_(nodes) {
    for (std::uint32_t l = 0; l < count_.size(); ++l) insert_leaf(l);
    for (std::uint32_t s = 0; s < spine_count_.size(); ++s) spines_[0].set(s);
    used_.set(0);
  }

  void give(std::uint32_t node) noexcept { give_leaf(node / per_leaf, std::uint32_t{1} << (node % per_leaf)); }

  /// Takes `n` nodes; 0 if that is impossible. The chosen ids are in `chosen()`.
  std::uint32_t take(std::uint32_t n, std::uint64_t owner) noexcept {
    chosen_count_ = 0;
    for (std::uint32_t c = n; c <= per_leaf; ++c)
      if (!leaves_[c].empty()) {
        take_from(leaves_[c].first(), n, owner);
        return n;
      }
    if (const std::uint32_t c = used_.next(n); c < spines_.size()) {
      take_below(spines_[c].first(), n, owner);
      return n;
    }
    if (n > total_) return 0;
    for (std::uint32_t left = n; left != 0;) {
      const std::uint32_t c = used_.last();
      const std::uint32_t part = c < left ? c : left;
      take_below(spines_[c].first(), part, owner);
      left -= part;
    }
    return n;
  }
  void undo(std::span<const std::uint32_t> nodes) noexcept {
    // Neighbours come in runs of one leaf, so a leaf is updated once.
    for (std::size_t i = 0; i < nodes.size();) {
      const std::uint32_t leaf = nodes[i] / per_leaf;
      std::uint32_t mask = 0;
      for (; i < nodes.size() && nodes[i] / per_leaf == leaf; ++i) {
        mask |= std::uint32_t{1} << (nodes[i] % per_leaf);
        records_[nodes[i]] = {};
      }
      give_leaf(leaf, mask);
    }
  }
  [[nodiscard]] std::span<const std::uint32_t> chosen() const noexcept { return {chosen_.data(), chosen_count_}; }
  [[nodiscard]] std::size_t memory() const noexcept {
    return records_.size() * sizeof(floor_record) + free_.size() * 8 + leaves_.size() * leaves_.size() / 8;
  }

 private:
  void insert_leaf(std::uint32_t l) noexcept {
    leaves_[count_[l]].set(l);
    spine_leaves_[l / per_spine * (per_leaf + 1) + count_[l]] |= std::uint32_t{1} << (l % per_spine);
  }
  void erase_leaf(std::uint32_t l) noexcept {
    leaves_[count_[l]].clear(l);
    spine_leaves_[l / per_spine * (per_leaf + 1) + count_[l]] &= ~(std::uint32_t{1} << (l % per_spine));
  }
  void move_spine(std::uint32_t s, std::uint32_t to) noexcept {
    spines_[spine_count_[s]].clear(s);
    if (spines_[spine_count_[s]].empty()) used_.clear(spine_count_[s]);
    total_ += to - spine_count_[s];
    spine_count_[s] = to;
    spines_[to].set(s);
    used_.set(to);
  }
  void give_leaf(std::uint32_t leaf, std::uint32_t mask) noexcept {
    const auto n = static_cast<std::uint32_t>(std::popcount(mask));
    erase_leaf(leaf);
    free_[leaf] |= mask;
    count_[leaf] += n;
    insert_leaf(leaf);
    move_spine(leaf / per_spine, spine_count_[leaf / per_spine] + n);
  }
  void cut(std::uint32_t leaf, std::uint32_t n, std::uint64_t owner) noexcept {
    erase_leaf(leaf);
    for (std::uint32_t i = 0; i < n; ++i) {
      const auto b = static_cast<std::uint32_t>(std::countr_zero(free_[leaf]));
      free_[leaf] &= free_[leaf] - 1;
      const std::uint32_t node = leaf * per_leaf + b;
      chosen_[chosen_count_++] = node;
      records_[node] = {owner, {node, n, i, 0, 0, 0, 0}};
    }
    count_[leaf] -= n;
    insert_leaf(leaf);
  }
  void take_from(std::uint32_t leaf, std::uint32_t n, std::uint64_t owner) noexcept {
    cut(leaf, n, owner);
    move_spine(leaf / per_spine, spine_count_[leaf / per_spine] - n);
  }
  void take_below(std::uint32_t spine, std::uint32_t n, std::uint64_t owner) noexcept {
    std::uint32_t left = n;
    std::uint32_t* by_count = &spine_leaves_[spine * (per_leaf + 1)];
    for (std::uint32_t c = per_leaf; c > 0 && left != 0; --c)
      while (left != 0 && by_count[c] != 0) {
        const auto leaf = spine * per_spine + static_cast<std::uint32_t>(std::countr_zero(by_count[c]));
        const std::uint32_t part = c < left ? c : left;
        cut(leaf, part, owner);
        left -= part;
      }
    move_spine(spine, spine_count_[spine] - n);
  }

  std::vector<std::uint32_t> free_, count_, spine_count_, spine_leaves_;
  std::vector<two_level_bits> leaves_, spines_;
  two_level_bits used_;                      // numbers of free nodes that some spine has
  berth::flat_array<floor_record> records_;  // on huge pages, as the states of the library's nodes
  std::vector<std::uint32_t> chosen_;
  std::size_t chosen_count_ = 0;
  std::uint32_t total_ = 0;
};

/// The same for one device at a time: the leaf with the fewest free devices, in it the node with the fewest, there the
/// lowest device.
class floor_devices {
 public:
  static constexpr std::uint32_t per_leaf = 32, per_node = 8;
  explicit floor_devices(std::uint32_t nodes)
      : free_(nodes, 0), count_(nodes / per_leaf, 0), leaves_(per_leaf * per_node + 1, two_level_bits(nodes / per_leaf)),
        used_(5, 0), records_(nodes) {
    for (std::uint32_t l = 0; l < count_.size(); ++l) leaves_[0].set(l);
  }
  void give(std::uint32_t node, std::uint8_t devices) noexcept {
    free_[node] = static_cast<std::uint8_t>(free_[node] | devices);
    move(node / per_leaf, count_[node / per_leaf] + static_cast<std::uint32_t>(std::popcount(devices)));
    records_[node] = {};
  }
  /// \returns node * 8 + device; all ones when nothing is free
  std::uint32_t take(std::uint64_t owner) noexcept {
    for (std::uint32_t w = 0; w < 5; ++w) {
      const std::uint64_t m = w == 0 ? used_[0] & ~std::uint64_t{1} : used_[w];
      if (m == 0) continue;
      const std::uint32_t leaf = leaves_[w * 64 + static_cast<std::uint32_t>(std::countr_zero(m))].first();
      std::uint32_t best = leaf * per_leaf, fewest = per_node + 1;
      for (std::uint32_t n = leaf * per_leaf; n < (leaf + 1) * per_leaf; ++n) {
        const auto c = static_cast<std::uint32_t>(std::popcount(free_[n]));
        if (c != 0 && c < fewest) best = n, fewest = c;
      }
      const auto d = static_cast<std::uint32_t>(std::countr_zero(free_[best]));
      free_[best] = static_cast<std::uint8_t>(free_[best] & (free_[best] - 1));
      move(leaf, count_[leaf] - 1);
      records_[best] = {owner, {best, d, 0, 0, 0, 0, 0}};
      return best * per_node + d;
    }
    return 0xffffffffU;
  }

 private:
  void move(std::uint32_t leaf, std::uint32_t to) noexcept {
    const std::uint32_t from = count_[leaf];
    leaves_[from].clear(leaf);
    if (leaves_[from].empty()) used_[from / 64] &= ~(std::uint64_t{1} << (from % 64));
    count_[leaf] = to;
    leaves_[to].set(leaf);
    used_[to / 64] |= std::uint64_t{1} << (to % 64);
  }
  std::vector<std::uint8_t> free_;
  std::vector<std::uint32_t> count_;
  std::vector<two_level_bits> leaves_;
  std::vector<std::uint64_t> used_;
  berth::flat_array<floor_record> records_;  // on huge pages, as the states of the library's nodes
};

}  // namespace bench
