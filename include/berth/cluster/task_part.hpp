#pragma once
/// \file
/// What a task may ask for instead of whole devices: MIG instances, shares of GPUs, or a share of a MIG instance; and
/// where it got them.

#include <cstddef>
#include <cstdint>

#include "berth/core/bits.hpp"
#include "berth/core/id.hpp"

namespace berth {

/// A MIG request known to a cluster, made by `cluster::add_mig_request`.
using mig_request_id = id<struct mig_request_tag, std::uint16_t>;

/// The most MIG instances of one task: as many as the smallest profile has on a GPU of seven slices.
inline constexpr unsigned max_task_instances = 7;

/// Parts of GPUs that one task asks for. Two words, the first of which says whether anything is asked, so that a shape
/// without parts pays one comparison for it.
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
  /// The same with memory in thousandths of what each GPU has, rounded down to MiB.
  [[nodiscard]] static constexpr part_need fraction(unsigned thousandths, unsigned memory_thousandths,
                                                    unsigned gpus = 1) noexcept {
    part_need n = share(thousandths, memory_thousandths, gpus);
    n.code_ |= scaled_bit;
    return n;
  }
  /// This share, but of one MIG instance of a request for a single instance: of one that others share already and that
  /// has room, or of a new one. Of anything but a share a need that is not valid.
  [[nodiscard]] constexpr part_need in_instance(mig_request_id r) const noexcept {
    part_need n = *this;
    n.code_ = (is_share() ? n.code_ & ~(std::uint64_t{3} << 62) : 0) | std::uint64_t{kind_nested} << 62;
    n.more_ = (n.more_ & 0xffffU) | std::uint64_t{r.raw()} << 16;
    return n;
  }
  /// The same parts, all of them on GPUs that have a working NIC of the compute fabric beside them, as `nic_shape`
  /// says.
  [[nodiscard]] constexpr part_need beside_nic() const noexcept {
    part_need n = *this;
    if (n.asks()) n.code_ |= nic_bit;
    return n;
  }
  /// This share for a user. Where a device takes clients of one user at a time (MPS), 0 is a user like any other.
  [[nodiscard]] constexpr part_need of_user(std::uint16_t user) const noexcept {
    part_need n = *this;
    n.more_ = (n.more_ & ~std::uint64_t{0xffff}) | user;
    return n;
  }

  /// Whether parts are asked for.
  [[nodiscard]] constexpr bool asks() const noexcept { return code_ != 0; }
  /// Instances for the task alone.
  [[nodiscard]] constexpr bool is_mig() const noexcept { return code_ >> 62 == kind_mig; }
  /// Shares of GPUs that are not cut.
  [[nodiscard]] constexpr bool is_share() const noexcept { return code_ >> 62 == kind_share; }
  /// A share of a MIG instance.
  [[nodiscard]] constexpr bool is_nested() const noexcept { return code_ >> 62 == kind_nested; }
  /// Whether the task is told where its instances lie (`part_places`), its own or the one it shares.
  [[nodiscard]] constexpr bool has_places() const noexcept { return is_mig() || is_nested(); }
  [[nodiscard]] constexpr mig_request_id request() const noexcept {
    return is_mig()      ? mig_request_id{static_cast<std::uint16_t>(code_ >> 32)}
           : is_nested() ? mig_request_id{static_cast<std::uint16_t>(more_ >> 16)}
                         : mig_request_id{};
  }
  /// How many times the request, or of how many GPUs.
  [[nodiscard]] constexpr unsigned count() const noexcept { return static_cast<unsigned>(code_ >> 56 & 63U); }
  /// Whether each time has to be on another GPU; shares always are.
  [[nodiscard]] constexpr bool apart() const noexcept { return (code_ >> 55 & 1U) != 0; }
  [[nodiscard]] constexpr bool near_nic() const noexcept { return (code_ & nic_bit) != 0; }
  /// Thousandths of a GPU's compute, or of the instance's.
  [[nodiscard]] constexpr unsigned thousandths() const noexcept {
    return is_mig() ? 0 : static_cast<unsigned>(code_ >> 32 & 0xffffU);
  }
  /// Memory in MiB, where it is stated so.
  [[nodiscard]] constexpr std::uint32_t memory_mib() const noexcept {
    return is_scaled() ? 0 : static_cast<std::uint32_t>(code_);
  }
  /// Memory in thousandths of what the device has, where it is stated so.
  [[nodiscard]] constexpr unsigned memory_thousandths() const noexcept {
    return is_scaled() ? static_cast<unsigned>(code_ & 0xffffU) : 0;
  }
  /// MiB of a device, or an instance, that has `mib`.
  [[nodiscard]] constexpr std::uint32_t memory_on(std::uint32_t mib) const noexcept {
    return is_scaled() ? static_cast<std::uint32_t>(std::uint64_t{mib} * memory_thousandths() / 1000) : memory_mib();
  }
  [[nodiscard]] constexpr std::uint16_t user() const noexcept { return static_cast<std::uint16_t>(more_); }

  /// Whether the amounts are legal, as far as can be said without a cluster.
  [[nodiscard]] constexpr bool is_valid() const noexcept {
    if (code_ == 0) return true;
    if (count() == 0) return false;
    if (is_mig()) return static_cast<bool>(request()) && count() <= max_task_instances;
    if (is_nested() && (count() != 1 || !request())) return false;
    return thousandths() <= 1000 && (!is_scaled() || static_cast<std::uint32_t>(code_) <= 1000) &&
           (thousandths() != 0 || static_cast<std::uint32_t>(code_) != 0);
  }
  friend constexpr bool operator==(part_need, part_need) noexcept = default;

 private:
  static constexpr std::uint64_t kind_mig = 1, kind_share = 2, kind_nested = 3, scaled_bit = std::uint64_t{1} << 54,
                                 nic_bit = std::uint64_t{1} << 53;
  [[nodiscard]] constexpr bool is_scaled() const noexcept { return (code_ & scaled_bit) != 0; }
  /// What does not fit its field makes a need that is not valid, never a smaller one.
  constexpr part_need(std::uint64_t kind, unsigned count, bool apart, unsigned amount, std::uint32_t memory) noexcept
      : code_{kind << 62 | std::uint64_t{count < 64 ? count : 0} << 56 | std::uint64_t{apart} << 55 |
              std::uint64_t{amount < 0xffff ? amount : 0xffffU} << 32 | memory} {}
  std::uint64_t code_ = 0;
  std::uint64_t more_ = 0;  ///< of shares: the user, and from bit 16 on the request of the instance
};

/// One MIG instance of a task: a device of its node, and a placement of the device's product (`mig_geometry`).
struct part_place {
  std::uint8_t device = 0;
  std::uint8_t placement = 0;
  friend constexpr bool operator==(const part_place&, const part_place&) noexcept = default;
};

/// Where the instances of one task lie, of a share of an instance the one that it shares. Of a task with shares the
/// placement's device mask says all there is to say. Instances of one request are neighbours, in the order of the
/// request; the request is repeated as often as asked.
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
