#pragma once
/// \file
/// What a task may ask for instead of whole devices: MIG instances, or shares of GPUs; and where it got them.

#include <cstddef>
#include <cstdint>

#include "berth/core/bits.hpp"
#include "berth/core/id.hpp"

namespace berth {

/// A MIG request known to a cluster, made by `cluster::add_mig_request`.
using mig_request_id = id<struct mig_request_tag, std::uint16_t>;

/// The most MIG instances of one task: as many as the smallest profile has on a GPU of seven slices.
inline constexpr unsigned max_task_instances = 7;

/// Parts of GPUs that one task asks for. One word, so that a shape without parts pays one comparison for it.
class part_need {
 public:
  /// No parts.
  constexpr part_need() noexcept = default;
  /// `count` times the instances of a request, each time all of them on one GPU. `apart`: each time on another GPU.
  [[nodiscard]] static constexpr part_need mig(mig_request_id r, unsigned count = 1, bool apart = false) noexcept {
    return part_need{kind_mig, count, apart, r.raw(), 0};
  }
  /// Of each of `gpus` different GPUs so many thousandths of its compute and so much of its memory. One of the two may
  /// be 0: that one is not counted for this task.
  [[nodiscard]] static constexpr part_need share(unsigned thousandths, std::uint32_t memory_mib,
                                                 unsigned gpus = 1) noexcept {
    return part_need{kind_share, gpus, true, thousandths, memory_mib};
  }

  /// Whether parts are asked for.
  [[nodiscard]] constexpr bool asks() const noexcept { return code_ != 0; }
  [[nodiscard]] constexpr bool is_mig() const noexcept { return code_ >> 62 == kind_mig; }
  [[nodiscard]] constexpr bool is_share() const noexcept { return code_ >> 62 == kind_share; }
  [[nodiscard]] constexpr mig_request_id request() const noexcept {
    return is_mig() ? mig_request_id{static_cast<std::uint16_t>(code_ >> 32)} : mig_request_id{};
  }
  /// How many times the request, or of how many GPUs.
  [[nodiscard]] constexpr unsigned count() const noexcept { return static_cast<unsigned>(code_ >> 56 & 63U); }
  /// Whether each time has to be on another GPU; shares always are.
  [[nodiscard]] constexpr bool apart() const noexcept { return (code_ >> 55 & 1U) != 0; }
  /// Thousandths of a GPU's compute.
  [[nodiscard]] constexpr unsigned thousandths() const noexcept {
    return is_share() ? static_cast<unsigned>(code_ >> 32 & 0xffffU) : 0;
  }
  /// Memory of a GPU in MiB.
  [[nodiscard]] constexpr std::uint32_t memory_mib() const noexcept { return static_cast<std::uint32_t>(code_); }

  /// Whether the amounts are legal, as far as can be said without a cluster.
  [[nodiscard]] constexpr bool is_valid() const noexcept {
    if (code_ == 0) return true;
    if (count() == 0) return false;
    if (is_mig()) return static_cast<bool>(request()) && count() <= max_task_instances;
    return thousandths() <= 1000 && (thousandths() != 0 || memory_mib() != 0);
  }
  friend constexpr bool operator==(part_need, part_need) noexcept = default;

 private:
  static constexpr std::uint64_t kind_mig = 1, kind_share = 2;
  /// What does not fit its field makes a need that is not valid, never a smaller one.
  constexpr part_need(std::uint64_t kind, unsigned count, bool apart, unsigned amount, std::uint32_t memory) noexcept
      : code_{kind << 62 | std::uint64_t{count < 64 ? count : 0} << 56 | std::uint64_t{apart} << 55 |
              std::uint64_t{amount < 0xffff ? amount : 0xffffU} << 32 | memory} {}
  std::uint64_t code_ = 0;
};

/// One MIG instance of a task: a device of its node, and a placement of the device's product (`mig_geometry`).
struct part_place {
  std::uint8_t device = 0;
  std::uint8_t placement = 0;
  friend constexpr bool operator==(const part_place&, const part_place&) noexcept = default;
};

/// Where the instances of one task lie. Of a task with shares the placement's device mask says all there is to say.
/// Instances of one request are neighbours, in the order of the request; the request is repeated as often as asked.
struct part_places {
  std::uint8_t count = 0;
  part_place at[max_task_instances]{};

  constexpr void push(unsigned device, unsigned placement) noexcept {
    at[count++] = {static_cast<std::uint8_t>(device), static_cast<std::uint8_t>(placement)};
  }
  [[nodiscard]] constexpr device_mask devices() const noexcept {
    device_mask m = 0;
    for (unsigned i = 0; i < count && i < max_task_instances; ++i) m |= at[i].device < 64 ? bit(at[i].device) : 0;
    return m;
  }
  friend constexpr bool operator==(const part_places&, const part_places&) noexcept = default;
};
static_assert(sizeof(part_places) == 15);

}  // namespace berth
