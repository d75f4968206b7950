#pragma once
/// \file
/// One writer, many readers: the writer's node states, published so that readers on other threads can follow without
/// stopping it.
///
/// The writer's cluster is attached to a `change_feed`. Every change of a node writes the node's new state into a
/// mirror and its id into a ring; neither allocates, blocks or waits. A `replica` (replica.hpp) on another thread reads
/// the ids that came since it last looked and copies these nodes, O(changes); if it fell behind by more than the ring
/// holds, it copies all nodes.
///
/// What a reader sees of one node, parts of its devices included, is always a state that the node had. States of
/// several nodes may stem from different moments: a decision made on them is speculative, and `cluster::commit` on the
/// writer validates what it touches.
///
/// Memory      64 bytes per node for the mirror, 4 bytes per ring entry. With parts of devices 32 bytes more per node
///             and 16 per device, 128 where instances may be shared, as if every node had as many as the largest.
/// Source      the per-node protocol is a sequence lock, e.g. Boehm, "Can Seqlocks Get Along With Programming Language
///             Memory Models?", MSPC 2012 (the variant with acquire loads and release stores, without fences).

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>

#include "berth/cluster/change_sink.hpp"
#include "berth/cluster/cluster.hpp"
#include "berth/cluster/device_use.hpp"
#include "berth/cluster/node_state.hpp"
#include "berth/core/bits.hpp"
#include "berth/core/separate.hpp"
#include "berth/topology/node_shape.hpp"

namespace berth {

/// What a reader got of a node's devices.
struct node_parts {
  detail::part_masks masks{};
  bool nests = false;                              ///< whether `shared` says anything
  detail::device_use use[max_devices_per_node]{};  ///< says something of those that are `masks.open()`
  detail::instance_use shared[std::size_t{max_devices_per_node} * max_task_instances]{};  ///< of those too
  [[nodiscard]] detail::published_parts view() const noexcept { return {&masks, use, nests ? shared : nullptr}; }
};

class change_feed final : public change_sink {
 public:
  /// Of node states alone: parts of devices are not published. \param nodes  the states to begin with; \param ring  ids
  /// to keep, rounded up to a power of two. Allocates.
  explicit change_feed(std::span<const node_state> nodes, std::size_t ring = 1U << 16);
  /// Of all that a cluster keeps of its nodes, with parts of devices where they are on by now. Allocates.
  explicit change_feed(const cluster& c, std::size_t ring = 1U << 16);
  change_feed(const change_feed&) = delete;
  change_feed& operator=(const change_feed&) = delete;

  // -- the writer's side -------------------------------------------------------------------------------------------

  /// Publishes the new state of a node. Called by the cluster that the feed is attached to; one thread at a time.
  void publish(std::uint32_t node, const node_state& state, const detail::published_parts& parts) noexcept override;
  /// Publishes `cluster::structure()`: where it changed, more than node states did (classes, membership, uplinks), and
  /// replicas made before must be made anew. Called before the nodes concerned are published.
  void publish_structure(std::uint64_t structure) noexcept override {
    structure_.store(structure, std::memory_order_release);
  }

  // -- the readers' side -------------------------------------------------------------------------------------------

  [[nodiscard]] std::size_t node_count() const noexcept { return size_; }
  /// A reader that is fewer changes than this behind finds all of them in the ring: the writer may be at the oldest
  /// one.
  [[nodiscard]] std::size_t ring_size() const noexcept { return mask_ + 1; }
  /// Changes published so far.
  [[nodiscard]] std::uint64_t head() const noexcept { return head_.load(std::memory_order_acquire); }
  /// 0 before the feed is attached to a cluster.
  [[nodiscard]] std::uint64_t structure() const noexcept { return structure_.load(std::memory_order_acquire); }
  /// The node of change number `at`; meaningless if the ring has gone round since, which `head` tells afterwards.
  [[nodiscard]] std::uint32_t changed_node(std::uint64_t at) const noexcept {
    return ring_[at & mask_].load(std::memory_order_acquire);
  }
  /// Whether parts of devices are published.
  [[nodiscard]] bool has_parts() const noexcept { return parts_ != nullptr; }
  /// A state that the node had at or after the latest change seen by this thread. Waits while the writer is in the
  /// middle of writing this node. \pre node < node_count()
  [[nodiscard]] node_state read(std::uint32_t node) const noexcept {
    return read_with(node, [] {});
  }
  /// The same with the parts of its devices. \pre has_parts()
  [[nodiscard]] node_state read(std::uint32_t node, node_parts& parts) const noexcept;

 private:
  using words = std::array<std::uint64_t, 7>;
  using words_of_two = std::array<std::uint64_t, 2>;
  struct cell {
    std::atomic<std::uint64_t> sequence{0};  ///< odd while the writer is at it
    std::atomic<std::uint64_t> state[7]{};
  };
  static words pack(const node_state& s) noexcept;
  static node_state unpack(const words& w) noexcept;
  /// Words of one device: what it is used as, and its shared instances where there may be any.
  [[nodiscard]] std::size_t words_of_device() const noexcept { return nests_ ? 2 + 2 * max_task_instances : 2; }
  static words_of_two pack(const detail::device_use& u) noexcept;
  static detail::device_use unpack_use(std::uint64_t first, std::uint64_t second) noexcept;
  static words_of_two pack(const detail::instance_use& u) noexcept;
  static detail::instance_use unpack_shared(std::uint64_t first, std::uint64_t second) noexcept;
  template <class Rest>
  [[nodiscard]] node_state read_with(std::uint32_t node, Rest rest) const noexcept {
    const cell& c = mirror_[node];
    for (;;) {
      words w{};
      const std::uint64_t before = c.sequence.load(std::memory_order_acquire);
      for (std::size_t i = 0; i < w.size(); ++i) w[i] = c.state[i].load(std::memory_order_acquire);
      rest();
      if ((before & 1) == 0 && c.sequence.load(std::memory_order_relaxed) == before) return unpack(w);
    }
  }
  void write(std::size_t node, const node_state& s, const detail::published_parts& p) noexcept;

  std::unique_ptr<cell[]> mirror_;
  std::size_t size_;
  std::size_t mask_;
  std::unique_ptr<std::atomic<std::uint32_t>[]> ring_;
  bool nests_ = false;                                   ///< whether instances may be shared
  unsigned devices_ = 0;                                 ///< room per node
  std::size_t stride_ = 0;                               ///< words per node
  std::unique_ptr<std::atomic<std::uint64_t>[]> parts_;  ///< null: parts are not published
  std::atomic<std::uint64_t> head_{0};
  std::atomic<std::uint64_t> structure_{0};
};

}  // namespace berth

#if BERTH_WITH_BODIES
#include "berth/cluster/impl/change_feed.hpp"
#endif
