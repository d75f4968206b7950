#pragma once
/// \file
/// What the devices of one node hold, task by task, judged by the geometry of MIG and by sums alone: for the checker of
/// placements and the exhaustive reference. Shares no code with the tables that the placer reads. Cold; allocates.

#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "berth/cluster/cluster.hpp"
#include "berth/core/bits.hpp"
#include "berth/core/id.hpp"
#include "berth/core/separate.hpp"

namespace berth::detail {

class part_ledger {
 public:
  /// What is held now.
  part_ledger(const cluster& c, node_id n);
  [[nodiscard]] unsigned devices() const noexcept { return static_cast<unsigned>(devices_.size()); }
  /// The geometry of a device's product; null where it has none, or there is no such device.
  [[nodiscard]] const mig_geometry* geometry(unsigned d) const noexcept;
  /// Whether parts of a device are held, or it is ready for instances.
  [[nodiscard]] bool is_open(unsigned d) const noexcept {
    return devices_[d].what == use::mig || devices_[d].what == use::shared;
  }
  /// Whether an instance lies there.
  [[nodiscard]] bool has_instance(unsigned d, unsigned placement) const noexcept {
    return (devices_[d].instances >> placement & 1U) != 0;
  }
  [[nodiscard]] unsigned product(unsigned d) const noexcept { return devices_[d].model->product; }

  /// Takes a whole device. False: it is not free.
  bool take_whole(unsigned d);
  /// Puts an instance on a device. False: it may not lie there.
  bool put_instance(unsigned d, unsigned placement);
  /// Puts a client into an instance that others share, or that it opens. False: there is no room, or no such instance.
  bool join_instance(unsigned d, unsigned placement, const part_need& need);
  /// Puts a share on a device. False: it is past a limit, or the device is used otherwise.
  bool put_share(unsigned d, const part_need& need);

 private:
  enum class use : std::uint8_t { idle, whole, mig, shared };
  /// Sums over those who share a device, or an instance.
  struct sums {
    std::uint32_t thousandths = 0, memory_mib = 0, clients = 0, user = 0;
    void take(const part_need& need, std::uint32_t device_memory);
  };
  struct entry : sums {
    const part_model* model = nullptr;
    mig_set instances = 0;
    std::vector<std::pair<unsigned, sums>> clients_of{};  ///< by placement of a shared instance
    use what = use::idle;
    bool healthy = false, mig_off = false;
  };
  template <class Limits>
  [[nodiscard]] static bool may_share(const sums& s, const part_need& need, const Limits& l) {
    const bool alone = s.clients == 1 && s.thousandths == 1000;
    if (l.exclusive_whole && (alone || (need.thousandths() == 1000 && s.clients != 0) ||
                              (need.thousandths() == 0 && s.thousandths == l.thousandths)))
      return false;
    return s.clients < l.clients && s.thousandths + need.thousandths() <= l.thousandths &&
           std::uint64_t{s.memory_mib} + need.memory_on(l.memory_mib) <= l.memory_mib &&
           (!l.one_user || s.clients == 0 || s.user == need.user());
  }
  const cluster* cluster_;
  node_id node_;
  std::vector<entry> devices_;
};

/// The devices that the filter of a shape admits on a node, whatever they are used as.
[[nodiscard]] device_mask models_for(const cluster& c, const task_shape& shape, node_id n);

/// Takes what one task has, in the order of its placement. False where anything is against the rules; then the ledger
/// is of no use any more.
bool enter_task(part_ledger& l, const cluster& c, const task_shape& shape, const task_placement& t,
                const part_places* places);

}  // namespace berth::detail

#if BERTH_WITH_BODIES
#include "berth/solver/detail/impl/part_ledger.hpp"
#endif
