#pragma once
/// \file
/// YARN: the order of queues and limits of users (`quota/order/yarn.hpp`), and the choice of GPUs on a node. Source:
/// apache/hadoop hadoop-yarn-server-nodemanager NvidiaGPUPluginForRuntimeV2.java.

#include <cstddef>
#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "berth/core/bits.hpp"
#include "berth/quota/order/yarn.hpp"

namespace berth {

/// How near two GPUs are, and YARN's cost of it. Its own ranking takes one PCIe switch for farther than another socket;
/// the costs are a parameter, so that who knows better states better ones.
enum class yarn_link : std::uint8_t { nvlink, one_pcie_switch, several_pcie_switches, host_bridge, node, socket };
struct yarn_costs {
  std::int64_t nvlink = 100, host_bridge = 200, socket = 300, node = 200, one_switch = 600, several_switches = 1200;
  [[nodiscard]] constexpr std::int64_t of(yarn_link l) const noexcept {
    switch (l) {
      case yarn_link::nvlink:
        return nvlink;
      case yarn_link::one_pcie_switch:
        return one_switch;
      case yarn_link::several_pcie_switches:
        return several_switches;
      case yarn_link::host_bridge:
        return host_bridge;
      case yarn_link::node:
        return node;
      case yarn_link::socket:
        return socket;
    }
    return 0;
  }
};

/// All sets of every size from 2 to n - 1, by the sum of the costs of their pairs. `pack` takes the first free set from
/// the cheap end, `spread` from the dear end. One GPU, or all, need no choice: the first free ones.
class yarn_gpu_sets {
 public:
  static constexpr unsigned max_gpus = 16;

  /// `cost[i][k]`: of GPUs i and k. O(2^n log). \pre square, at most `max_gpus`
  explicit yarn_gpu_sets(const std::vector<std::vector<std::int64_t>>& cost)
      : n_{static_cast<unsigned>(cost.size())}, sets_(n_ + 1) {
    for (std::uint32_t mask = 1; mask < (std::uint32_t{1} << n_); ++mask) {
      const unsigned k = count_bits(mask);
      if (k < 2 || k + 1 > n_) continue;
      std::int64_t sum = 0;
      for (unsigned i = 0; i < n_; ++i)
        for (unsigned j = i + 1; j < n_; ++j)
          if ((mask >> i & 1) != 0 && (mask >> j & 1) != 0) sum += cost[i][j];
      sets_[k].push_back({sum, mask});
    }
    for (auto& all : sets_) sort(all);
  }
  /// A set of `count` of the free GPUs; empty where there are too few.
  [[nodiscard]] std::optional<std::uint64_t> choose(std::uint64_t free, unsigned count, bool spread = false) const {
    free &= n_ >= 64 ? ~std::uint64_t{0} : (std::uint64_t{1} << n_) - 1;
    if (count == 0 || count_bits(free) < count) return std::nullopt;
    if (count >= 2 && count + 1 <= n_) {
      const auto& all = sets_[count];
      for (std::size_t i = 0; i < all.size(); ++i) {
        const std::uint64_t mask = all[spread ? all.size() - 1 - i : i].second;
        if ((mask & ~free) == 0) return mask;
      }
    }
    std::uint64_t out = 0;
    for (unsigned i = 0; i < n_ && count > 0; ++i)
      if ((free >> i & 1) != 0) out |= std::uint64_t{1} << i, --count;
    return out;
  }

 private:
  using set = std::pair<std::int64_t, std::uint32_t>;
  /// By cost, equal ones in the order of their masks: they come in that order, and merging keeps it.
  static void sort(std::vector<set>& all) {
    std::vector<set> other(all.size());
    for (std::size_t width = 1; width < all.size(); width *= 2) {
      for (std::size_t from = 0; from < all.size(); from += 2 * width) {
        const std::size_t mid = from + width < all.size() ? from + width : all.size();
        const std::size_t to = from + 2 * width < all.size() ? from + 2 * width : all.size();
        std::size_t i = from, k = mid;
        for (std::size_t at = from; at < to; ++at)
          other[at] = k == to || (i < mid && all[i].first <= all[k].first) ? all[i++] : all[k++];
      }
      all.swap(other);
    }
  }
  unsigned n_;
  std::vector<std::vector<set>> sets_;
};

}  // namespace berth
