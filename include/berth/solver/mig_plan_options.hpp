#pragma once
/// \file
/// What can be made of one GPU in a repartition plan: every useful choice of what stays, what is drained, destroyed and
/// created, with its cost. Of choices that give the same, only the cheapest is kept.

#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <utility>
#include <vector>

#include "berth/core/separate.hpp"
#include "berth/solver/mig_plan.hpp"
#include "berth/topology/mig_geometry.hpp"

namespace berth::detail {

/// Per profile and whole GPUs: what a choice adds to what counts, against doing nothing.
using mig_net = std::array<std::int32_t, max_mig_profiles + 1>;

struct mig_gpu_option {
  std::int64_t cost = 0;
  mig_net net{};
  mig_set drained = 0, destroyed = 0, made = 0;
  bool drains_whole = false, turns_on = false, turns_off = false;
};

class mig_option_maker {
 public:
  mig_option_maker(const mig_geometry& g, const mig_plan_costs& costs, const mig_plan_request& request);

  /// Compute slices that an instance, or a whole GPU, takes.
  [[nodiscard]] std::int64_t slices(unsigned what) const noexcept {
    return what == mig_whole_gpu ? all_ : g_.row(what).compute;
  }
  [[nodiscard]] std::int64_t drain_cost(const mig_occupant& who, unsigned what) const noexcept {
    return (who.lost_ms + costs_.drain_ms + costs_.restart_ms) * slices(what);
  }
  [[nodiscard]] std::int64_t create_cost(unsigned p) const noexcept { return costs_.create_ms * g_.compute_of(p); }
  [[nodiscard]] std::int64_t destroy_cost(unsigned p) const noexcept { return costs_.destroy_ms * g_.compute_of(p); }
  [[nodiscard]] std::int64_t toggle_cost() const noexcept {
    return (costs_.toggle_ms + (g_.product->reset_to_toggle.value_or(true) ? costs_.reset_ms : 0)) * all_;
  }
  /// Whether a drained job's place has to be found again.
  [[nodiscard]] bool replaces() const noexcept {
    return request_.restart_drained || request_.what == mig_plan_request::goal::target;
  }
  /// What a GPU has of what counts, left as it is.
  [[nodiscard]] mig_net counted(const mig_gpu_now& n) const noexcept;

  /// All choices for a GPU, doing nothing first. Instances are made only of `wanted` profiles (bit `mig_whole_gpu`:
  /// whole GPUs). At most some thousand sets of survivors × the layouts beside them.
  [[nodiscard]] std::vector<mig_gpu_option> options(const mig_gpu_now& n, std::uint32_t wanted);

 private:
  using counts = std::array<std::uint8_t, max_mig_profiles>;

  void offer(const mig_gpu_option& o);
  [[nodiscard]] bool dominated(const mig_gpu_option& o) const;
  /// The multisets of wanted profiles that may be added to a GPU with that key, a layout each; the empty one too.
  [[nodiscard]] const std::map<counts, mig_set>& addable(std::uint32_t key);
  void add(std::map<counts, mig_set>& out, std::uint32_t key, unsigned from, const counts& have, mig_set set);
  /// `o` is what goes; every way to fill the room.
  void fill(mig_gpu_option o, std::uint32_t key, bool must_make);
  void from_whole(const mig_gpu_now& n);
  struct held {
    unsigned placement = 0;
    const mig_occupant* who = nullptr;  ///< null: idle
  };
  void from_instances(const mig_gpu_now& n);
  void choose(const std::vector<held>& list, std::size_t i, const mig_gpu_option& o, std::uint32_t key);

  mig_geometry g_;
  mig_plan_costs costs_;
  mig_plan_request request_;
  std::int64_t all_;
  std::uint32_t wanted_ = 0;
  std::map<std::pair<std::uint32_t, std::uint32_t>, std::map<counts, mig_set>> addable_;
  std::map<mig_net, mig_gpu_option> found_;
};

}  // namespace berth::detail

#if BERTH_WITH_BODIES
#include "berth/solver/impl/mig_plan_options.hpp"
#endif
