#pragma once
/// \file
/// A reader's own copy of a cluster, for placing speculatively on another thread than the writer's.
///
/// \code
/// // writer's thread                                       // a reader's thread
/// berth::change_feed feed{live};
/// live.attach(&feed);
/// const berth::cluster copy = live;  // at rest            berth::replica mine{copy, feed};
///                                                          berth::placer place{mine.view()};
///                                                          mine.catch_up();
///                                                          const auto d = place(gang);
///                                         <-- a copy of d.where: its tasks and shapes, and its parts if there are any
/// if (!live.commit(key, proposal)) …                       mine.assume(d.where);  // and on with the next gang
///                                         --> conflict     mine.retract(tasks);   // of the proposal; propose again
/// \endcode

#include <cstddef>
#include <cstdint>
#include <span>

#include "berth/cluster/change_feed.hpp"
#include "berth/cluster/cluster.hpp"
#include "berth/core/separate.hpp"

namespace berth {

/// What catching up found.
enum class catch_up_result : std::uint8_t {
  current,   ///< nothing had changed
  followed,  ///< copied the nodes that changed
  recopied,  ///< had fallen behind the ring: copied all nodes
  rebuild,   ///< classes, membership or uplinks changed: make the replica anew from the writer's cluster
};

class replica {
 public:
  /// \param at_rest  a copy of the writer's cluster, made while the writer stood still. It keeps tree, classes, filters
  ///                 and MIG requests, so register these with the writer before the copy is made: ids made later on
  ///                 one of the two mean nothing to the other. Its jobs stay the writer's: the replica knows what is
  ///                 free, not who holds the rest.
  /// \param feed     attached to the writer's cluster; outlives the replica.
  /// Gangs with a `binding_need` or a rate between nodes, and those with parts beside a NIC, are refused on the view
  /// with `capacity_exhausted`: place them on the writer's cluster.
  /// Call `catch_up` before the first use: the writer may have gone on since the copy was made.
  replica(const cluster& at_rest, const change_feed& feed);

  /// The copy: place on it, do not commit to it. Not to be used after `catch_up_result::rebuild`.
  [[nodiscard]] cluster& view() noexcept { return view_; }

  /// Brings the copy up to date with what the writer published. O(changes since the last call), or O(nodes) after
  /// falling behind. Does not allocate.
  catch_up_result catch_up() noexcept;

  /// Counts what was just placed on the view, parts of devices included, and handed over, as taken, so that the next
  /// gangs go elsewhere while the writer has not answered. Holds for each node until the writer publishes another state
  /// of it. O(tasks).
  void assume(const placement& p) noexcept;
  /// Takes back what was assumed: the writer refused it, or it was not handed over after all. O(tasks).
  void retract(std::span<const task_placement> tasks) noexcept;

 private:
  [[nodiscard]] bool is_current() const noexcept { return feed_->structure() == view_.published_structure(); }
  void copy(std::uint32_t n) noexcept;
  void copy_all() noexcept;

  cluster view_;
  const change_feed* feed_;
  std::uint64_t seen_ = 0;
  node_parts parts_{};  ///< of the node that is being copied
};

}  // namespace berth

#if BERTH_WITH_BODIES
#include "berth/cluster/impl/replica.hpp"
#endif
