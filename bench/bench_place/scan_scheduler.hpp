#pragma once
/// \file
/// The baseline: filter and score every node for every task, one task after the other, as pod-by-pod schedulers do. It
/// uses the same cluster state, the same device table and the same ideas of a good node as the default policies: near
/// what is placed already, then the fewest free devices.

#include <cstdint>
#include <vector>

#include "berth/cluster/cluster.hpp"
#include "berth/job/gang.hpp"
#include "berth/policy/device_choice.hpp"

namespace bench {

class scan_scheduler {
 public:
  explicit scan_scheduler(berth::cluster& c) : cluster_{&c} {
    for (const auto& s : c.shapes()) tables_.push_back(berth::best_bandwidth{}.compile(s));
    out_.reserve(4096);
  }

  /// Places all tasks of the first group, or none. \returns the placement, empty when it does not fit
  berth::placement place(const berth::gang& g) {
    const berth::task_shape& shape = g.groups.front().shape;
    out_.clear();
    const auto& tree = cluster_->tree();
    const auto nodes = cluster_->nodes();
    for (std::uint32_t task = 0; task < g.groups.front().wanted; ++task) {
      std::uint32_t best = none;
      std::int64_t top = 0;
      const berth::node_id last = out_.empty() ? berth::node_id{} : out_.back().node;
      const std::uint32_t leaf = out_.empty() ? none : nodes[last.index()].leaf;
      const std::uint32_t spine = out_.empty() ? none : tree.at(tree.leaf_level(), berth::domain_id{leaf}).parent;
      for (std::uint32_t n = 0; n < nodes.size(); ++n) {
        const berth::node_state& s = nodes[n];
        const berth::eligibility e = cluster_->eligible(shape.filter, berth::node_id{n});
        if (!s.usable || !e.admits || berth::count_bits(s.free & e.devices) < shape.devices || s.cpu < shape.cpu ||
            s.memory < shape.memory)
          continue;
        std::int64_t score = 64 - berth::count_bits(s.free);
        if (s.leaf == leaf) score += 2000;
        else if (spine != none && tree.at(tree.leaf_level(), berth::domain_id{s.leaf}).parent == spine) score += 1000;
        if (best == none || score > top) best = n, top = score;
      }
      visited_ += nodes.size();
      if (best == none) break;
      const berth::node_id n{best};
      const auto& table = tables_[cluster_->class_of(n).shape.index()];
      const berth::device_mask devices =
          table.choose(nodes[best].free & cluster_->eligible(shape.filter, n).devices, shape.devices);
      out_.push_back({devices, n, 0});
      cluster_->hold(n, devices, shape.cpu, shape.memory);
    }
    for (std::size_t i = out_.size(); i-- > 0;) cluster_->unhold(out_[i].node, out_[i].devices, shape.cpu, shape.memory);
    if (out_.size() != g.groups.front().wanted) out_.clear();
    shape_ = shape;
    return {out_, {&shape_, 1}};
  }
  [[nodiscard]] std::uint64_t visited() const noexcept { return visited_; }

 private:
  static constexpr std::uint32_t none = 0xffffffffU;
  berth::cluster* cluster_;
  std::vector<berth::best_bandwidth::table> tables_;
  std::vector<berth::task_placement> out_;
  berth::task_shape shape_{};
  std::uint64_t visited_ = 0;
};

}  // namespace bench
