#pragma once
/// \file
/// What the searches of a placer see of its filler, whatever the policies: the tasks placed so far, the domains in use,
/// and calls that the policies answer. A search written for this class is compiled once in a file, not once per placer.

#include <cstddef>
#include <cstdint>
#include <span>

#include "berth/cluster/cluster.hpp"
#include "berth/core/flat_array.hpp"
#include "berth/core/separate.hpp"
#include "berth/solver/decision.hpp"

namespace berth::detail {

class gang_filler {
 public:
  [[nodiscard]] std::size_t task_limit() const noexcept { return out_.size(); }

  /// Chooses the shape and group of the tasks to come.
  void select(const live_shape& s, std::uint32_t group) noexcept;

  /// The gang at work has groups that ask for parts: where they lie is kept beside the tasks. \pre parts are on in the
  /// cluster, and were when this was reserved
  void begin_parts() noexcept { has_parts_ = true; }
  [[nodiscard]] bool has_parts() const noexcept { return has_parts_; }
  [[nodiscard]] bool ready_for_parts() const noexcept { return places_.size() == out_.size(); }
  /// By task; empty where no group asks for parts.
  [[nodiscard]] std::span<part_places> places() noexcept;
  [[nodiscard]] part_places places_of(std::size_t task) const noexcept {
    return has_parts_ ? places_[task] : part_places{};
  }

  [[nodiscard]] std::span<task_placement> tasks() noexcept;
  [[nodiscard]] std::size_t task_count() const noexcept { return count_; }
  void truncate(std::size_t n) noexcept { count_ = n; }
  void append(const task_placement& t, const part_places& places = {}) noexcept;
  /// Sorts by group, then along the tree.
  void sort_tasks() noexcept;
  /// Nodes read or tried so far.
  [[nodiscard]] std::uint64_t visited() const noexcept { return visited_; }
  void visit(std::uint64_t n) noexcept { visited_ += n; }

  /// Prefers domains that this gang uses already, for gangs of several shapes.
  void prefer_used(bool on) noexcept;
  void forget_used() noexcept;

  /// Marks the domains of all tasks as used, and no others.
  void remember_tasks() noexcept;
  /// Counts the domains used, for tasks that were not placed in one go.
  void score_tasks() noexcept;
  /// Counts the domains around one of level `level` that alone was filled.
  void count_around(unsigned level) noexcept {
    for (unsigned l = 0; l < level; ++l) score_->domains_used[l] = 1;
  }
  void clear_score() noexcept {
    for (auto& u : score_->domains_used) u = 0;
  }
  [[nodiscard]] const placement_score& score() const noexcept { return *score_; }

  // -- what the policies answer --------------------------------------------------------------------------------------

  /// Places `n` tasks below a domain, in tree order. \pre shape capacity of the domain >= n, room for them
  virtual void fill(unsigned level, std::uint32_t domain, std::uint64_t n) = 0;
  /// Devices and starts of `node` for one task of shape `s` that asks for parts. \pre one fits there
  [[nodiscard]] virtual device_mask choose_parts(node_id node, const live_shape& s, part_places& places) noexcept = 0;
  /// The `nth` way to do so, the policy's own first; false past the last.
  [[nodiscard]] virtual bool choose_parts(node_id node, const live_shape& s, std::uint32_t nth, device_mask& devices,
                                          part_places& places) noexcept = 0;
  /// Devices of `node` for one task of shape `s`.
  [[nodiscard]] virtual device_mask choose_devices(node_id node, const live_shape& s) const noexcept = 0;
  /// `count` of the devices `pool` of `node`.
  [[nodiscard]] virtual device_mask choose_devices(node_id node, device_mask pool, unsigned count) const noexcept = 0;
  /// Places `n` tasks of a shape on one node, on devices of `pool`, as tasks of the first group. \pre they fit there
  virtual void place_on(node_id node, device_mask pool, const task_shape& t, std::uint64_t n) = 0;

 protected:
  explicit gang_filler(const cluster& c);
  gang_filler(const gang_filler&) = delete;
  gang_filler& operator=(const gang_filler&) = delete;
  ~gang_filler() = default;

  void mark_used(node_id n) noexcept;

  const cluster* cluster_;
  const live_shape* shape_ = nullptr;
  std::uint32_t group_ = 0;
  device_mask whole_ = 0;  ///< a mask known to hold exactly the devices of one task
  flat_array<task_placement> out_;
  flat_array<part_places> places_;  ///< beside `out_`, where parts are on
  std::size_t count_ = 0;
  std::uint64_t visited_ = 0;
  bool has_parts_ = false;   ///< the gang at work asks for parts
  bool one_by_one_ = false;  ///< devices of a task take more than its node's mask to choose
  bool remember_ = false;
  std::uint8_t levels_ = 0;
  placement_score* score_ = nullptr;
  flat_array<std::uint64_t> used_[domain_tree::max_levels];  ///< per level, domains the gang uses, while `remember_`
};

}  // namespace berth::detail

#if BERTH_WITH_BODIES
#include "berth/solver/detail/impl/gang_filler.hpp"
#endif
