#pragma once
/// \file
/// Plans that recut MIG GPUs: what runs, what a step costs, the steps, and their replay.
///
/// Units    costs are compute slices × milliseconds that do no useful work: slices idle while a step runs, work that is
///          done again. The defaults are assumptions but for those with a source; sites set their own.
/// Rules    an instance cannot move; one is created or destroyed beside running ones; a destroyed one runs nothing; MIG
///          mode is switched only on a GPU without instances and processes, and resets the GPU on Ampere.

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "berth/core/error.hpp"
#include "berth/core/expected.hpp"
#include "berth/core/separate.hpp"
#include "berth/topology/mig_geometry.hpp"

namespace berth {

/// What a GPU is used as. One kind at a time; sharing inside an instance does not change it.
enum class mig_mode : std::uint8_t {
  on,      ///< takes instances
  off,     ///< idle, MIG disabled: has to be switched first
  whole,   ///< given away whole
  shared,  ///< shared by time-slicing or MPS
  out,     ///< broken or drained
};

/// What steps cost.
struct mig_plan_costs {
  std::int64_t create_ms = 2000;     ///< until monitoring follows: 1 to 2 s (NVIDIA/DCGM, issue 230)
  std::int64_t destroy_ms = 1000;    ///< assumed
  std::int64_t drain_ms = 30'000;    ///< until a job has stopped: the default grace period of a Kubernetes pod
  std::int64_t restart_ms = 60'000;  ///< assumed: a drained job's start elsewhere, with reading its checkpoint
  std::int64_t toggle_ms = 2000;     ///< assumed: switching MIG mode on an idle GPU
  std::int64_t reset_ms = 30'000;    ///< assumed: more, where the switch resets the GPU or that is not known
  /// What a request that the plan leaves out would wait otherwise. Empty: serve as much as can be served, at any cost.
  std::optional<std::int64_t> wait_ms;
};

/// Who runs on an instance or on a whole GPU.
struct mig_occupant {
  std::uint64_t owner = 0;   ///< the embedding scheduler's own number
  std::int64_t lost_ms = 0;  ///< work since the last checkpoint
  bool drainable = false;    ///< may be stopped and started again
};
struct mig_running {
  std::uint8_t placement = 0;  ///< index in `mig_geometry::placement`
  mig_occupant who;
};
/// One GPU before the plan.
struct mig_gpu_now {
  mig_mode mode = mig_mode::on;
  std::vector<mig_running> running;
  mig_set idle = 0;                   ///< instances that exist and run nothing
  std::optional<mig_occupant> whole;  ///< in mode `whole` or `shared`: who holds it
};

/// Index of whole GPUs, MIG off, beside the profiles.
inline constexpr unsigned mig_whole_gpu = max_mig_profiles;
/// Per profile and, last, whole GPUs.
using mig_need = std::array<std::uint32_t, max_mig_profiles + 1>;

struct mig_plan_request {
  enum class goal : std::uint8_t {
    queue,   ///< `need` free instances beside all that runs
    target,  ///< `need` instances in all, in use or not
  };
  mig_need need{};
  goal what = goal::queue;
  /// Drained jobs need an instance of the same profile again. With a target that is always so.
  bool restart_drained = false;
};

struct mig_step {
  enum class kind : std::uint8_t { drain, destroy, mig_off, mig_on, create };
  kind what = kind::create;
  std::uint32_t gpu = 0;
  std::uint8_t placement = 0;  ///< of `create`, `destroy`, and `drain` of an instance
  bool whole = false;          ///< `drain`: whoever holds the whole GPU
  std::uint64_t owner = 0;     ///< `drain`: who
  std::int64_t cost = 0;       ///< slice-milliseconds
  friend bool operator==(const mig_step&, const mig_step&) = default;
};

struct mig_plan {
  std::vector<mig_step> steps;   ///< to be done in this order; GPUs where nobody is drained come first
  std::int64_t cost = 0;         ///< of the steps, slice-milliseconds
  std::int64_t waiting = 0;      ///< what `wait_ms` adds for what is left out, slice-milliseconds
  std::int64_t lower_bound = 0;  ///< no plan that leaves out as little has less `cost + waiting`; see `optimal`
  bool optimal = false;          ///< proven the cheapest
  mig_need unserved{};
  /// Nothing is done: all is there already, or no step is worth its cost.
  [[nodiscard]] bool nothing_to_do() const noexcept { return steps.empty(); }
  [[nodiscard]] bool serves_all() const noexcept;
};

/// Does the steps of a plan on a description of the GPUs; refused, with the step, where one is not allowed.
/// O(steps × instances of a GPU).
[[nodiscard]] expected<std::vector<mig_gpu_now>, input_error> replay_mig_plan(const mig_geometry& g,
                                                                              std::vector<mig_gpu_now> gpus,
                                                                              const mig_plan& plan);

}  // namespace berth

#if BERTH_WITH_BODIES
#include "berth/solver/impl/mig_plan.hpp"
#endif
