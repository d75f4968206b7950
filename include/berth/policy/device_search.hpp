#pragma once
/// \file
/// The best devices of a machine that is too large for a table of all sets: branch and bound by the rules of
/// `best_bandwidth`.
///
/// Sets grow in order of device numbers. A branch ends where its bottleneck, or with an equal bottleneck the sum of its
/// rates, cannot reach what was found; of devices that no rule tells apart ("twins") the lower numbers come first. So a
/// box of PCIe switches costs one step per way to share the devices out over its switches, not per set.
///
/// Cost        up to `step_limit` rates of pairs read, a few ms; then the best set so far is the answer. Rests of
/// more
///             than `largest_rest` devices are compared by their bandwidth alone.

#include <cstddef>
#include <cstdint>
#include <limits>

#include "berth/core/bits.hpp"
#include "berth/core/flat_array.hpp"
#include "berth/core/separate.hpp"
#include "berth/policy/device_rank.hpp"
#include "berth/topology/node_shape.hpp"

namespace berth::detail {

/// Devices that no rule and no need tells apart, by device: a mask of its twins. O(devices³) once per kind of node.
[[nodiscard]] flat_array<device_mask> device_twins(const node_shape& s, const device_measure& m);

class device_search {
 public:
  static constexpr std::uint32_t step_limit = 1U << 20;
  static constexpr unsigned largest_rest = 12;

  /// \param base  what the rest is counted from: the devices that may serve tasks like this one
  device_search(const device_measure& m, const flat_array<device_mask>& twins, device_mask base) noexcept;

  /// Looks at sets of `count` devices out of `from`. `may(set)`: whether it can be part of an answer, so also whether
  /// every part of it may; `admits(set)`: whether a whole set is one; `nics(set)`: for rule 5.
  template <class May, class Admits, class Nics>
  void run(device_mask from, unsigned count, const May& may, const Admits& admits, const Nics& nics) noexcept {
    if (count == 0 || count_bits(from) < count) return;
    const walk<May, Admits, Nics> w{may, admits, nics, from};
    extend(w, 0, from, count, std::numeric_limits<float>::infinity(), 0);
  }
  /// Offers a set from elsewhere, so that worse ones are not looked at. \pre it is an answer
  template <class Nics>
  void offer(device_mask set, const Nics& nics) noexcept {
    score s{set};
    for_each_bit(set, [&](unsigned a) {
      for_each_bit(set & low_bits(a), [&](unsigned b) {
        const float r = measure_->rank(a, b);
        s.least = r < s.least ? r : s.least;
        s.total += r;
      });
    });
    consider(s, nics);
  }
  [[nodiscard]] device_mask best() const noexcept { return best_.set; }
  /// Whether all sets were looked at or ruled out.
  [[nodiscard]] bool is_complete() const noexcept { return steps_ != 0; }

 private:
  template <class May, class Admits, class Nics>
  struct walk {
    const May& may;
    const Admits& admits;
    const Nics& nics;
    device_mask from;
  };
  struct rest_value {
    double bottleneck = 0, total = 0;
    std::uint32_t nodes = 0, switches = 0;
    bool known = false;
  };
  struct score {
    device_mask set = 0;
    float least = std::numeric_limits<float>::infinity();
    double total = 0;
    unsigned nodes = 0, switches = 0;
    std::int64_t nics = 0;
    rest_value rest{};
  };

  /// As deep as devices are wanted.
  template <class Walk>
  void extend(const Walk& w, device_mask set, device_mask open, unsigned left, float least, double total) noexcept {
    if (left == 0) {
      if (!w.admits(set)) return;
      score s{set};
      s.least = least, s.total = total;
      consider(s, w.nics);
      return;
    }
    // What each device would add, and the best that any `left` of them could.
    float least_of[64];
    double sum_of[64], most[64];
    device_mask use = 0;
    unsigned count = 0;
    for (device_mask m = open; m != 0; m &= m - 1) {
      const unsigned d = lowest_bit(m);
      float low = least;
      double sum = 0;
      for (device_mask k = set; k != 0; k &= k - 1) {
        const float r = measure_->rank(d, lowest_bit(k));
        low = r < low ? r : low;
        sum += r;
      }
      if (best_.set != 0 && low < best_.least) continue;
      least_of[d] = low;
      sum_of[d] = sum;
      use |= bit(d);
      unsigned at = count++;
      for (; at != 0 && most[at - 1] < sum; --at) most[at] = most[at - 1];
      most[at] = sum;
    }
    spend(count_bits(open) * (count_bits(set) + 1));
    if (count < left || steps_ == 0) return;
    if (best_.set != 0 && !may_win(use, least_of, left, total, most)) return;
    for (device_mask m = use; m != 0 && count_bits(m) >= left; m &= m - 1) {
      const unsigned d = lowest_bit(m);
      // A lower twin that was passed over would have done as well.
      if (((*twins_)[d] & low_bits(d) & w.from & ~set) != 0) continue;
      if (best_.set != 0 && least_of[d] < best_.least) continue;
      if (!w.may(set | bit(d))) continue;
      extend(w, set | bit(d), m & (m - 1), left - 1, least_of[d], total + sum_of[d]);
    }
  }
  /// Whether `left` more of these devices could be as good as the best. \param most  their sums of rates, descending
  [[nodiscard]] bool may_win(device_mask use, const float* least_of, unsigned left, double total,
                             const double* most) const noexcept;
  template <class Nics>
  void consider(score& s, const Nics& nics) noexcept {
    s.nodes = measure_->numa_nodes(s.set);
    s.switches = measure_->switches(s.set);
    if (best_.set != 0) {
      if (s.least != best_.least) {
        if (s.least < best_.least) return;
      } else if (s.total != best_.total) {
        if (s.total < best_.total) return;
      } else if (s.nodes != best_.nodes) {
        if (s.nodes > best_.nodes) return;
      } else if (s.switches != best_.switches) {
        if (s.switches > best_.switches) return;
      } else if (!leaves_more(s, nics)) {
        return;
      }
    }
    s.nics = nics(s.set);
    best_ = s;
  }
  /// Rules 5 to 7. \pre equal by rules 1 to 4
  template <class Nics>
  [[nodiscard]] bool leaves_more(score& s, const Nics& nics) noexcept {
    s.nics = nics(s.set);
    if (s.nics != best_.nics) return s.nics > best_.nics;
    weigh(best_);
    weigh(s);
    const rest_value &x = s.rest, &y = best_.rest;
    if (x.bottleneck != y.bottleneck) return x.bottleneck > y.bottleneck;
    if (x.nodes != y.nodes) return x.nodes < y.nodes;
    if (x.switches != y.switches) return x.switches < y.switches;
    if (x.total != y.total) return x.total > y.total;
    return device_ranks::lower(s.set, best_.set);
  }
  void spend(std::uint32_t steps) noexcept { steps_ -= steps < steps_ ? steps : steps_; }
  /// How good the rest is to be kept: see rule 6. O(2^rest × rest).
  void weigh(score& s) noexcept;

  const device_measure* measure_;
  const flat_array<device_mask>* twins_;
  device_mask base_;
  float fastest_ = 0;
  std::uint32_t steps_ = step_limit;
  score best_{};
};

}  // namespace berth::detail

#if BERTH_WITH_BODIES
#include "berth/policy/impl/device_search.hpp"
#endif
