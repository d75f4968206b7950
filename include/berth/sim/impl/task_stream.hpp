#pragma once
/// \file
/// Bodies of `berth/sim/task_stream.hpp`.

#include <bit>

#include "berth/core/random.hpp"
#include "berth/sim/task_stream.hpp"

namespace berth::detail {

BERTH_INLINE remaining::remaining(std::size_t n) : sum_(n + 1), top_{std::bit_floor(n)} {
  for (std::size_t i = 1; i <= n; ++i) {
    sum_[i] += 1;
    if (const std::size_t up = i + (i & (0 - i)); up <= n) sum_[up] += sum_[i];
  }
}

BERTH_INLINE std::size_t remaining::take(std::size_t k) noexcept {
  std::size_t at = 0;
  for (std::size_t step = top_; step != 0; step /= 2)
    if (at + step < sum_.size() && sum_[at + step] <= k) at += step, k -= sum_[at];
  for (std::size_t i = at + 1; i < sum_.size(); i += i & (0 - i)) --sum_[i];
  return at;
}

}  // namespace berth::detail

namespace berth {

BERTH_INLINE std::vector<std::uint32_t> arrivals_at_load(const std::vector<share_task>& tasks, std::uint64_t capacity,
                                                         double load, std::uint64_t seed) {
  std::vector<std::uint32_t> order;
  std::uint64_t demand = 0;
  for (std::uint32_t i = 0; i < tasks.size(); ++i) {
    order.push_back(i);
    demand += tasks[i].demand();
  }
  if (order.empty()) return order;
  random_source random{seed};
  random.shuffle(order.data(), order.size());
  const auto wanted = static_cast<std::uint64_t>(load * static_cast<double>(capacity));
  if (demand == 0) return order;
  const std::size_t original = order.size();
  if (demand < wanted) {
    for (;;) {
      const std::uint32_t next = order[random.below(original)];
      if (demand + tasks[next].share > wanted) break;
      demand += tasks[next].demand();
      order.push_back(next);
    }
  } else {
    detail::remaining left{order.size()};
    std::vector<bool> removed(order.size());
    for (std::size_t n = order.size(); demand > wanted && n != 0; --n) {
      const std::size_t at = left.take(random.below(n));
      demand -= tasks[order[at]].demand();
      removed[at] = true;
    }
    std::size_t kept = 0;
    for (std::size_t i = 0; i < order.size(); ++i)
      if (!removed[i]) order[kept++] = order[i];
    order.resize(kept);
  }
  return order;
}

BERTH_INLINE std::vector<share_node> in_random_order(std::vector<share_node> nodes, std::uint64_t seed) {
  random_source random{~seed};  // not the numbers that shuffle the tasks
  random.shuffle(nodes.data(), nodes.size());
  return nodes;
}

}  // namespace berth
