#pragma once
/// \file
/// What one node can hold of a gang: vectors of counts, a part of `count_search`.

#include <cstddef>
#include <cstdint>

#include "berth/cluster/cluster.hpp"
#include "berth/core/flat_array.hpp"
#include "berth/core/separate.hpp"
#include "berth/job/gang.hpp"
#include "berth/solver/count_table.hpp"
#include "berth/solver/detail/device_split.hpp"

namespace berth::detail {

/// Lists the vectors of counts that a node holds by devices, CPU, memory, limits of tasks per node, NICs and rails.
///
/// Exact, except that what several groups need of the inside of a node is counted for each alone.
class count_nodes {
 public:
  static constexpr std::uint32_t most_vectors = 1U << 15;

 protected:
  explicit count_nodes(cluster& c) noexcept : cluster_{&c} {}

  void reserve_vectors();
  [[nodiscard]] std::size_t groups() const noexcept { return gang_->groups.size(); }
  [[nodiscard]] const task_shape& shape(std::size_t i) const noexcept { return gang_->groups[i].shape; }

  /// Free devices of a node that may serve a group, on the rails of the set; 0 where the node lacks one of those.
  [[nodiscard]] device_mask pool(node_id n, std::size_t group) const noexcept;
  /// Tasks of one group that fit on a node, without the others.
  [[nodiscard]] std::uint64_t fits(node_id n, std::size_t group, device_mask open) const noexcept;
  /// All vectors but 0 that a node holds, into `parts_`.
  [[nodiscard]] std::uint32_t list_node(node_id n) noexcept;
  void extend(std::size_t group, std::uint32_t v, std::uint64_t devices, std::int64_t cpu,
              std::int64_t memory) noexcept;
  /// Whether the devices of the node can be split so that every group has enough.
  [[nodiscard]] bool split_fits(std::uint32_t v, std::uint64_t devices) noexcept;
  [[nodiscard]] bool split(std::uint32_t v) noexcept;
  /// Whether two neighbours hold the same vectors.
  [[nodiscard]] bool equal(node_id a, node_id b) const noexcept;

  cluster* cluster_;
  const gang* gang_ = nullptr;
  count_space space_{};
  std::int64_t rate_ = 0;                  ///< bytes per second and device between nodes
  std::uint64_t devices_ = 0, tasks_ = 0;  ///< of the total
  std::uint32_t rails_ = 0;                ///< the set of rails at work; 0: whichever a node has
  bool one_node_ = false;                  ///< the gang must be on one node
  std::uint64_t steps_ = 0;                ///< left
  flat_array<std::uint64_t> packed_;       ///< by vector
  flat_array<count_part> parts_;           ///< of the child at work
  std::uint32_t listed_ = 0, open_ = 0;    ///< of the node at work: vectors, free devices of some use
  bool alike_ = true, may_send_ = true;    ///< all groups may use the same devices; its NICs carry the rate
  std::uint32_t fits_[count_space::most_groups] = {};
  device_mask pools_[count_space::most_groups] = {}, given_[count_space::most_groups] = {};
};

}  // namespace berth::detail

#if BERTH_WITH_BODIES
#include "berth/solver/impl/count_nodes.hpp"
#endif
