#pragma once
/// \file
/// Whether everybody could still have a place if those who may be moved were: what KAI's consolidation needs. Only GPUs
/// are looked at, so "no" is sure and "yes" is not.

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "berth/profile/kai_cluster.hpp"
#include "berth/profile/kai_node.hpp"

namespace berth::kai {

/// Searches places on GPUs for pods that stay or move and for `asking`, whole devices first, then the largest shares.
/// Gives up, and says yes, after a bounded number of steps.
class gpu_packing {
 public:
  explicit gpu_packing(const cluster& c) : c_{c} {
    for (const auto& n : c.nodes)
      fill_.emplace_back(static_cast<std::size_t>(std::clamp<std::int64_t>(n.total[gpu] / one, 0, most_devices)), 0);
    for (std::size_t p = 0; p < c.all_pods.size(); ++p) {
      const auto& x = c.all_pods[p];
      if (holds(x.state)) take_in(p, c.jobs[x.job].preemptible ? nowhere : x.node);
    }
  }
  [[nodiscard]] bool fits(const std::vector<std::size_t>& asking) {
    for (const auto p : asking) take_in(p, nowhere);
    too_large_ = too_large_ || items_.size() > most_devices;
    if (too_large_) return true;
    std::stable_sort(items_.begin(), items_.end(), [](const item& a, const item& b) {
      return a.whole != b.whole ? a.whole > b.whole : a.size > b.size;
    });
    return place(0);
  }

 private:
  static constexpr std::int64_t most_devices = 1024;
  struct item {
    std::size_t pod = 0;
    std::size_t node = nowhere;  ///< the only one; nowhere: any
    std::int64_t whole = 0;      ///< devices
    std::int64_t size = 0;       ///< of one shared device, for the order only
  };

  void take_in(std::size_t p, std::size_t node) {
    const auto& x = c_.all_pods[p];
    if (x.kind == device_kind::whole && x.devices > 0) items_.push_back({p, node, x.devices, 0});
    if (!x.shares()) return;
    if (x.devices > most_devices) too_large_ = true;
    for (std::int64_t i = 0; i < x.devices && !too_large_; ++i)
      items_.push_back({p, node, 0, x.memory_mib > 0 ? x.memory_mib : x.portion});
  }
  [[nodiscard]] bool place(std::size_t at) {
    if (at == items_.size() || steps_ == 0) return true;
    const auto i = items_[at];
    std::vector<std::size_t> tried;
    for (std::size_t n = 0; n < c_.nodes.size(); ++n) {
      if (steps_ == 0) return true;
      --steps_;
      if (i.node != nowhere && i.node != n) continue;
      // Nodes that look alike need one try.
      if (i.node == nowhere && std::any_of(tried.begin(), tried.end(), [&](std::size_t t) {
            return c_.nodes[t].gpu_memory == c_.nodes[n].gpu_memory && fill_[t] == fill_[n];
          }))
        continue;
      tried.push_back(n);
      if (i.whole > 0 ? whole(at, n) : share(at, n)) return true;
    }
    return false;
  }
  [[nodiscard]] bool whole(std::size_t at, std::size_t n) {
    auto wanted = items_[at].whole;
    if (std::count(fill_[n].begin(), fill_[n].end(), 0) < wanted) return false;
    const auto before = fill_[n];
    for (auto& f : fill_[n])
      if (f == 0 && wanted > 0) {
        f = c_.nodes[n].gpu_memory;
        --wanted;
      }
    if (place(at + 1)) return true;
    fill_[n] = before;
    return false;
  }
  [[nodiscard]] bool share(std::size_t at, std::size_t n) {
    const auto size = share_memory(c_.nodes[n], c_.all_pods[items_[at].pod]);
    for (std::size_t d = 0; d < fill_[n].size(); ++d) {
      const auto f = fill_[n][d];
      if (f + size > c_.nodes[n].gpu_memory ||
          std::find(fill_[n].begin(), fill_[n].begin() + static_cast<std::ptrdiff_t>(d), f) !=
              fill_[n].begin() + static_cast<std::ptrdiff_t>(d))
        continue;
      fill_[n][d] += size;
      if (place(at + 1)) return true;
      fill_[n][d] = f;
    }
    return false;
  }

  const cluster& c_;
  std::vector<item> items_;
  std::vector<std::vector<std::int64_t>> fill_;  ///< MiB by device of each node
  std::size_t steps_ = 200'000;
  bool too_large_ = false;
};

}  // namespace berth::kai
