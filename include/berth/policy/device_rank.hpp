#pragma once
/// \file
/// Every set of devices of one machine, ranked: how good it is for the task that gets it, and how good it is to keep.

#include <cstddef>
#include <cstdint>
#include <limits>

#include "berth/core/bits.hpp"
#include "berth/core/flat_array.hpp"
#include "berth/core/separate.hpp"
#include "berth/core/shell_sort.hpp"
#include "berth/topology/node_shape.hpp"

namespace berth::detail {

/// Pairwise rates and groups of one machine, for ranking one set at a time.
class device_measure {
 public:
  device_measure() = default;
  explicit device_measure(const node_shape& s);
  [[nodiscard]] unsigned devices() const noexcept { return n_; }
  /// The rate of a pair; unknown is below everything known.
  [[nodiscard]] float rank(unsigned a, unsigned b) const noexcept { return rank_[a * n_ + b]; }
  [[nodiscard]] unsigned numa_nodes(device_mask set) const noexcept;
  [[nodiscard]] unsigned switches(device_mask set) const noexcept;
  /// Whether no rule tells the devices apart.
  [[nodiscard]] bool is_uniform() const noexcept;

 private:
  /// Groups that a set touches; devices outside all of them are one more.
  [[nodiscard]] static unsigned spans(const flat_array<device_mask>& groups, device_mask set) noexcept;
  [[nodiscard]] bool disjoint_singles(const flat_array<device_mask>& groups) const noexcept;
  unsigned n_ = 0;
  flat_array<float> rank_;
  flat_array<device_mask> numa_, switches_;
};

/// The ranks of all sets of a machine of at most 16 devices; smaller is better. Sets of equal rank are equally good.
/// Memory   6 bytes per set: 6 kB at 10 devices, 384 kB at 16.
class device_ranks {
 public:
  static constexpr unsigned limit = 16;

  device_ranks() = default;
  /// O(n² 2^n + sorting 2^n keys). \pre at most `limit` devices
  explicit device_ranks(const device_measure& d);

  [[nodiscard]] unsigned devices() const noexcept { return n_; }
  /// How good a set is for the task.
  [[nodiscard]] std::uint16_t use(device_mask set) const noexcept { return use_[set]; }
  /// How good a set is to be left.
  [[nodiscard]] std::uint16_t rest(device_mask set) const noexcept { return rest_[set]; }
  /// The sets of `count` devices, best for the task first. \pre count <= devices()
  [[nodiscard]] const std::uint16_t* begin(unsigned count) const noexcept { return sets_.data() + first_[count]; }
  [[nodiscard]] const std::uint16_t* end(unsigned count) const noexcept { return sets_.data() + first_[count + 1U]; }
  /// Of two sets of equal size, whether `a` has the lowest number in which they differ.
  [[nodiscard]] static constexpr bool lower(device_mask a, device_mask b) noexcept {
    const device_mask differ = a ^ b;
    return (a & (differ & (~differ + 1))) != 0;
  }

 private:
  struct value {
    double bottleneck = std::numeric_limits<double>::infinity();
    // Sums of floats are exact in double, in any order (unless rates differ by more than 2^20), so equal sets tie.
    double total = 0;
    std::uint32_t nodes = 0, switches = 0;
  };
  template <class Compare>
  static void rank(flat_array<device_mask>& order, Compare compare, flat_array<std::uint16_t>& out) {
    shell_sort(order.data(), order.size(), [&](device_mask a, device_mask b) {
      const int c = compare(a, b);
      return c != 0 ? c < 0 : count_bits(a) != count_bits(b) ? count_bits(a) < count_bits(b) : a != b && lower(a, b);
    });
    out.resize(order.size());
    std::uint16_t now = 0;
    for (std::size_t i = 0; i < order.size(); ++i) {
      if (i != 0 && compare(order[i - 1], order[i]) != 0) ++now;
      out[order[i]] = now;
    }
  }

  unsigned n_ = 0;
  flat_array<std::uint16_t> use_, rest_, sets_;
  flat_array<std::uint32_t> first_;
};

}  // namespace berth::detail

#if BERTH_WITH_BODIES
#include "berth/policy/impl/device_rank.hpp"
#endif
