#pragma once
/// \file
/// Packing policies that look at amounts alone, as published or as schedulers in the field have them.

#include <cmath>
#include <cstdint>

#include "berth/cluster/share_node.hpp"
#include "berth/policy/packing.hpp"

namespace berth {

namespace detail {

/// Part of `total` that `part` is; 0 where there is none.
[[nodiscard]] constexpr double fraction(std::int64_t part, std::int64_t total) noexcept {
  return total == 0 ? 0.0 : static_cast<double>(part) / static_cast<double>(total);
}
/// A score from 0 to 100 as the rule has it.
[[nodiscard]] inline double by_rule(double score, score_rule rule) noexcept {
  return rule == score_rule::exact ? score : std::floor(score);
}
/// Used parts of a node's CPU, memory and GPUs, once the task runs there.
struct used_parts {
  double cpu = 0, memory = 0, gpu = 0;
};
[[nodiscard]] inline used_parts used_after(const packing_view& v, const share_task& t) noexcept {
  const auto gpus = static_cast<std::int64_t>(v.installed.free_total());
  return {1 - fraction((v.now.cpu - t.cpu).count(), v.installed.cpu.count()),
          1 - fraction((v.now.memory - t.memory).count(), v.installed.memory.count()),
          gpus == 0 ? 0.0 : 1 - fraction(static_cast<std::int64_t>(v.now.free_total()) - t.demand(), gpus)};
}

}  // namespace detail

/// The first node that fits, its tightest GPU.
struct first_fit_packing {
  [[nodiscard]] packing_score score(const packing_view& v, const share_task& t) const noexcept {
    return {0, tightest_choice(v.now, t)};
  }
};

/// The largest sizes of any node, to compare nodes by.
struct largest_node {
  cpu_millis cpu{cpus(128)};
  unsigned devices = 8;
};

/// The least left over: 100 × (1 − (left CPU / largest CPU + left GPU share / largest GPU count) / 2), tightest GPU.
/// Source: the BestFit of Weng et al., "Beware of Fragmentation", USENIX ATC 2023.
struct best_fit_packing {
  largest_node largest{};
  score_rule rule = score_rule::exact;
  [[nodiscard]] packing_score score(const packing_view& v, const share_task& t) const noexcept {
    const double cpu = detail::fraction((v.now.cpu - t.cpu).count(), largest.cpu.count());
    const double gpu = (v.now.free_total() - t.demand()) / (1000.0 * largest.devices);
    return {detail::by_rule(100 * (1 - (cpu + gpu) / 2), rule), tightest_choice(v.now, t)};
  }
};

/// The most left over: the opposite of `best_fit_packing`, on the GPU with the most free.
struct worst_fit_packing {
  largest_node largest{};
  [[nodiscard]] packing_score score(const packing_view& v, const share_task& t) const noexcept {
    device_mask widest = 0;
    unsigned most = 0;
    for_each_choice(v.now, t, [&](device_mask m) {
      const unsigned free = m == 0 ? 0U : v.now.free[lowest_bit(m)];
      if (widest == 0 || free > most) widest = m, most = free;
    });
    return {-best_fit_packing{largest, score_rule::exact}.score(v, t).value, widest};
  }
};

/// The smallest product of what is free and what is asked, CPU and GPU each as part of the largest node: what is asked
/// goes where it is rare. Source: Grandl et al., "Multi-resource packing for cluster schedulers", SIGCOMM 2014, in the
/// sense (lowest first) of Weng et al., USENIX ATC 2023.
struct dot_product_packing {
  largest_node largest{};
  score_rule rule = score_rule::exact;  ///< as published: the integer part of 100 × (1 − product / 2)
  [[nodiscard]] packing_score score(const packing_view& v, const share_task& t) const noexcept {
    const auto cpu = static_cast<double>(largest.cpu.count());
    const double gpu = 1000.0 * largest.devices;
    const double product = static_cast<double>(v.now.cpu.count()) / cpu * static_cast<double>(t.cpu.count()) / cpu +
                           v.now.free_total() / gpu * t.demand() / gpu;
    return {rule == score_rule::exact ? -product : std::floor(100 * (1 - product / 2)), tightest_choice(v.now, t)};
  }
};

/// The node with the largest used part once the task runs there, mean over CPU, memory and GPUs that it asks for.
/// Source: NodeResourcesFit, MostAllocated, of kube-scheduler.
struct most_allocated_packing {
  [[nodiscard]] packing_score score(const packing_view& v, const share_task& t) const noexcept {
    const auto u = detail::used_after(v, t);
    return {t.devices == 0 ? (u.cpu + u.memory) / 2 : (u.cpu + u.memory + u.gpu) / 3, tightest_choice(v.now, t)};
  }
};

/// The opposite. Source: NodeResourcesFit, LeastAllocated, of kube-scheduler.
struct least_allocated_packing {
  [[nodiscard]] packing_score score(const packing_view& v, const share_task& t) const noexcept {
    return {-most_allocated_packing{}.score(v, t).value, tightest_choice(v.now, t)};
  }
};

/// The node whose used parts of CPU, memory and GPUs differ least once the task runs there (standard deviation).
/// Source: NodeResourcesBalancedAllocation of kube-scheduler.
struct balanced_packing {
  [[nodiscard]] packing_score score(const packing_view& v, const share_task& t) const noexcept {
    const auto u = detail::used_after(v, t);
    const double mean = (u.cpu + u.memory + u.gpu) / 3;
    const double variance =
        ((u.cpu - mean) * (u.cpu - mean) + (u.memory - mean) * (u.memory - mean) + (u.gpu - mean) * (u.gpu - mean)) / 3;
    return {-std::sqrt(variance), tightest_choice(v.now, t)};
  }
};

/// A curve from the used part of a node's GPUs (CPU for tasks without) to a score, linear between its points.
/// Source: NodeResourcesFit, RequestedToCapacityRatio, of kube-scheduler.
struct requested_to_capacity_packing {
  struct point {
    double used, score;
  };
  point curve[4]{{0, 0}, {0.5, 5}, {0.9, 9}, {1, 10}};  ///< rising in `used`, from 0 to 1
  [[nodiscard]] packing_score score(const packing_view& v, const share_task& t) const noexcept {
    const auto u = detail::used_after(v, t);
    const double x = t.devices == 0 ? u.cpu : u.gpu;
    double y = curve[3].score;
    for (unsigned i = 1; i < 4; ++i)
      if (x <= curve[i].used) {
        const double width = curve[i].used - curve[i - 1].used;
        const double along = width == 0 ? 1 : (x - curve[i - 1].used) / width;
        y = curve[i - 1].score + along * (curve[i].score - curve[i - 1].score);
        break;
      }
    return {y, tightest_choice(v.now, t)};
  }
};

/// GPUs that are shared already first, then free GPUs of nodes in use, then idle nodes; inside each, the least free.
/// As published: shared GPUs score 100 − (free percent of the GPU) / 10, at least 50; k free GPUs of a node with GPUs
/// in use 50 − k, at least 33; a node with none in use 33 − (its GPUs), at least its GPUs; tasks without GPUs 0
/// everywhere. Source: the Packing of Weng et al., USENIX ATC 2023, and the simulator published with it.
struct gpu_packing {
  score_rule rule = score_rule::exact;
  [[nodiscard]] packing_score score(const packing_view& v, const share_task& t) const noexcept {
    const device_mask m = tightest_choice(v.now, t);
    const bool shares = t.devices == 1 && t.share < whole_device && v.now.free[lowest_bit(m)] < whole_device;
    if (rule == score_rule::exact) {
      const double rank = shares ? 2 : v.tasks == 0 ? 0 : 1;
      return {rank * 1e6 - (static_cast<double>(v.now.free_total()) - t.demand()), m};
    }
    if (t.devices == 0) return {0, m};
    const unsigned whole = v.now.count_with(whole_device);
    const auto at_least = [](double x, double least) { return x > least ? x : least; };
    if (whole == v.now.devices) return {at_least(33.0 - whole, whole), m};
    if (shares) return {at_least(100 - v.now.free[lowest_bit(m)] / 10 / 10, 50), m};
    return {at_least(50.0 - t.devices, 33), m};
  }
};

/// Nodes that run tasks of the same kind of GPU demand first, those with the most of them foremost.
/// As published: nodes with tasks of that kind alone, then with others too, then with no task with GPUs, then the rest;
/// in each the node with the least free GPU share, in 25 steps; tasks without GPUs score 0 everywhere. Source: the
/// Clustering of Weng et al., USENIX ATC 2023 (after Gandiva, OSDI 2018), and the simulator published with it.
struct gpu_clustering {
  score_rule rule = score_rule::exact;
  [[nodiscard]] packing_score score(const packing_view& v, const share_task& t) const noexcept {
    const device_mask m = tightest_choice(v.now, t);
    if (rule == score_rule::exact)
      return {static_cast<double>(v.same) * 1e3 - static_cast<double>(v.tasks - v.same), m};
    if (t.devices == 0) return {0, m};
    const double used = std::floor(25 * (8000.0 - v.now.free_total()) / 8000);
    const double group = v.same != 0 ? (v.same == v.with_gpus ? 75 : 50) : (v.with_gpus == 0 ? 25 : 0);
    return {group + used, m};
  }
};

}  // namespace berth
