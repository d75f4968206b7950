#pragma once
/// \file
/// The GPUs of one MIG product in a cluster, as policies, claims and planners read them: which are in MIG mode, in
/// which state, and where. A view: nothing is kept twice.

#include <compare>
#include <cstdint>
#include <optional>

#include "berth/cluster/cluster.hpp"
#include "berth/core/bits.hpp"
#include "berth/core/separate.hpp"
#include "berth/topology/mig_states.hpp"

namespace berth {

/// A GPU of a cluster.
struct mig_gpu {
  node_id node{};
  std::uint8_t device = 0;
  friend constexpr auto operator<=>(const mig_gpu&, const mig_gpu&) noexcept = default;
};

/// A placement on a GPU.
struct mig_instance {
  mig_gpu gpu{};
  std::uint8_t placement = 0;  ///< index in `mig_geometry::placement`
  friend constexpr bool operator==(const mig_instance&, const mig_instance&) noexcept = default;
};

class mig_view {
 public:
  /// \pre the cluster outlives the view and hands out parts; `product` is one of its catalogue's
  mig_view(const cluster& c, unsigned product) noexcept : cluster_{&c}, product_{product} {}

  [[nodiscard]] const cluster& host() const noexcept { return *cluster_; }
  [[nodiscard]] unsigned product() const noexcept { return product_; }
  [[nodiscard]] const mig_state_table& table() const noexcept { return parts().product(product_); }
  /// GPUs in MIG mode that are in that state, broken ones too. O(1).
  [[nodiscard]] std::uint32_t count(mig_state_id s) const noexcept {
    return parts().buckets().count(parts().first_state(product_) + s);
  }
  /// Placement units that instances hold. O(1).
  [[nodiscard]] std::uint64_t used_units() const noexcept { return parts().used_units(product_); }
  /// Calls `f(state)` for every state that a GPU in MIG mode is in, in rising order.
  template <class F>
  void for_each_state(F&& f) const {
    const std::uint64_t* const in_use = parts().buckets().in_use() + parts().first_state(product_) / 64;
    for (std::size_t w = 0; w < table().words(); ++w)
      for_each_bit(in_use[w], [&](unsigned b) { f(static_cast<mig_state_id>(w * 64 + b)); });
  }
  /// The lowest GPU in that state that works and whose node is in use, above `after` if that is given. O(levels), and
  /// O(nodes) where those are not.
  [[nodiscard]] std::optional<mig_gpu> next(mig_state_id s, std::optional<mig_gpu> after = {}) const noexcept;
  /// What a GPU of the product holds.
  [[nodiscard]] mig_set instances(mig_gpu g) const noexcept { return parts().use(g.node.raw(), g.device).instances; }
  [[nodiscard]] mig_state_id state(mig_gpu g) const noexcept { return parts().use(g.node.raw(), g.device).state; }
  /// Calls `f(mig_gpu)` for every GPU of the product, whatever it is used as. O(nodes).
  template <class F>
  void for_each_gpu(F&& f) const {
    for (std::uint32_t n = 0; n < cluster_->node_count(); ++n)
      for_each_bit(parts().mig_able(cluster_->node(node_id{n}).node_class, product_), [&](unsigned d) {
        f(mig_gpu{node_id{n}, static_cast<std::uint8_t>(d)});
      });
  }

 private:
  [[nodiscard]] const detail::device_parts& parts() const noexcept { return cluster_->inside().parts(); }
  const cluster* cluster_;
  unsigned product_;
};

/// Why a request for one instance found no place among the GPUs in MIG mode.
struct mig_refusal {
  std::uint32_t open_gpus = 0;     ///< in MIG mode, working
  std::uint32_t fragmented = 0;    ///< of them, those with enough free compute and placement units, but no legal start
  std::uint64_t free_units = 0;    ///< of all of them
  std::uint64_t free_compute = 0;  ///< the same in compute slices
};

/// Compute slices of a GPU with these instances that no instance uses. \pre the product's slices are known
[[nodiscard]] unsigned mig_free_compute(const mig_geometry& g, mig_set held) noexcept;

/// Tells "full" from "fragmented". O(GPUs); not for the hot path.
[[nodiscard]] mig_refusal explain_mig_refusal(const mig_view& v, unsigned profile) noexcept;

}  // namespace berth

#if BERTH_WITH_BODIES
#include "berth/cluster/impl/mig_view.hpp"
#endif
