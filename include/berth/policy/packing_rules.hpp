#pragma once
/// \file
/// Packing policies about more than amounts, most of them wrapped around another one that decides among equals.
///
/// | policy               | prefers                                                                     |
/// |----------------------|-----------------------------------------------------------------------------|
/// | `power_packing`      | where the power draw grows the least                                        |
/// | `scarcity_packing`   | for tasks without a type, types that constrained tasks do not need          |
/// | `ratio_packing`      | nodes whose CPU and GPU shares then are left in the proportion installed    |
/// | `right_size_packing` | small GPUs for small tasks                                                  |
/// | `first_type_packing` | the first type of a list, else the next                                     |
/// | `keep_whole_packing` | nodes and GPUs that are broken into already                                 |

#include <cmath>
#include <cstdint>
#include <span>
#include <utility>

#include "berth/cluster/share_node.hpp"
#include "berth/core/separate.hpp"
#include "berth/policy/packing.hpp"
#include "berth/policy/packing_fit.hpp"
#include "berth/policy/power_model.hpp"

namespace berth {

/// The least growth of the power draw; among equals as `Base` likes. Value: −watts, plus a part below 0.01 of the base
/// policy's choice, whose scores must lie between −`span` and `span`.
template <packing_policy Base = best_fit_packing>
struct power_packing {
  power_model power{};
  Base base{};
  double span = 100;
  [[nodiscard]] packing_score score(const packing_view& v, const share_task& t) const {
    const double before = power.watts(v.now, v.installed);
    const packing_score b = base.score(v, t);
    packing_score best{-1e300, 0};
    for_each_choice(v.now, t, [&](device_mask m) {
      share_node after = v.now;
      take(after, t, m);
      const double s = before - power.watts(after, v.installed) + (m == b.devices ? 1e-3 : 0);
      if (s > best.value) best = {s, m};
    });
    best.value += 5e-3 * b.value / span;
    return best;
  }
};

/// Keeps tasks that any type serves off types that constrained tasks press on: `Base`'s score less `points` × pressure
/// of the type, where pressure = part of the demand so far that was constrained to the type / part of the capacity that
/// is of that type, at most 1. Learned from the requests; prices move in steps.
template <packing_policy Base = best_fit_packing>
class scarcity_packing {
 public:
  explicit scarcity_packing(Base base = {}, double points = 20, double step = 0.02)
      : base_{std::move(base)}, points_{points}, step_{step} {}

  void begin(std::span<const share_node> installed) {
    for (const auto& n : installed) capacity_[n.model] += n.free_total(), all_ += n.free_total();
  }
  void arrived(const share_task& t, std::span<const share_node>, std::span<const share_node>) {
    asked_ += t.demand();
    if (t.any_model() || t.devices == 0) return;
    double room = 0;
    for (unsigned m = 0; m < max_device_models; ++m) room += (t.models >> m & 1U) != 0 ? capacity_[m] : 0;
    if (room == 0) return;
    for (unsigned m = 0; m < max_device_models; ++m) {
      if ((t.models >> m & 1U) == 0 || capacity_[m] == 0) continue;
      bound_[m] += t.demand() * capacity_[m] / room;  // spread over its types as these are
      const double now = bound_[m] / asked_ * all_ / capacity_[m];
      const double pressure = now < 1 ? now : 1;
      if (std::fabs(pressure - pressure_[m]) < step_) continue;
      pressure_[m] = pressure;
      ++version_;
    }
  }
  void changed(const share_node&, const share_node&, const share_node&) noexcept {}
  [[nodiscard]] std::uint64_t version() const noexcept { return version_; }
  [[nodiscard]] double drift(unsigned) const noexcept { return 0; }
  [[nodiscard]] std::uint32_t moves(unsigned) const noexcept { return 0; }
  [[nodiscard]] double pressure(unsigned model) const noexcept { return pressure_[model]; }

  [[nodiscard]] packing_score score(const packing_view& v, const share_task& t) const {
    packing_score s = base_.score(v, t);
    if (t.any_model()) s.value -= points_ * pressure_[v.now.model];
    return s;
  }

 private:
  Base base_;
  double points_, step_;
  double capacity_[max_device_models]{}, bound_[max_device_models]{}, pressure_[max_device_models]{};
  double all_ = 0, asked_ = 0;
  std::uint64_t version_ = 1;
};

/// The smallest difference of the parts of CPU and of GPU share that are left: −|CPU left / CPU − GPU left / GPU|.
struct ratio_packing {
  [[nodiscard]] packing_score score(const packing_view& v, const share_task& t) const noexcept;
};

/// Small tasks off large GPUs: `Base`'s score less `points` × size of the GPU model (0 to 1) × the part of a GPU that
/// the task leaves unused. \pre sizes in [0, 1], such as fp16 TFLOPS or memory over those of the largest model
template <packing_policy Base = best_fit_packing>
struct right_size_packing {
  double size[max_device_models]{};
  Base base{};
  double points = 20;
  [[nodiscard]] packing_score score(const packing_view& v, const share_task& t) const {
    packing_score s = base.score(v, t);
    s.value -= points * size[v.now.model] * (t.devices == 0 ? 1.0 : 1 - t.share / 1000.0);
    return s;
  }
};

/// "This type, else that one", one order for all tasks; in each type as `Base` likes. Lists by task are what
/// `place_first` (`solver/first_choice.hpp`) is for. \pre the base policy's scores lie between −`span` and `span`
template <packing_policy Base = best_fit_packing>
struct first_type_packing {
  std::uint8_t rank[max_device_models]{};  ///< 0: first choice
  Base base{};
  double span = 1000;
  [[nodiscard]] packing_score score(const packing_view& v, const share_task& t) const {
    packing_score s = base.score(v, t);
    s.value -= 2 * span * rank[v.now.model];
    return s;
  }
};

/// Never breaks a whole node, and on a node never a whole GPU, while a broken one serves; in each as `Base` likes.
/// \pre the base policy's scores lie between −`span` and `span`
template <packing_policy Base = best_fit_packing>
struct keep_whole_packing {
  Base base{};
  double span = 1000;
  [[nodiscard]] packing_score score(const packing_view& v, const share_task& t) const {
    packing_score s = base.score(v, t);
    s.devices = tightest_choice(v.now, t);
    const bool breaks_gpu =
        t.devices == 1 && t.share < whole_device && v.now.free[lowest_bit(s.devices)] == whole_device;
    s.value -= 2 * span * ((v.now == v.installed ? 2 : 0) + (breaks_gpu ? 1 : 0));
    return s;
  }
};

}  // namespace berth

#if BERTH_WITH_BODIES
#include "berth/policy/impl/packing_rules.hpp"
#endif
