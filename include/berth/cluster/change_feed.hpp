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
/// What a reader sees of one node is always a state that the node had. States of several nodes may stem from different
/// moments: a decision made on them is speculative, and `cluster::commit` on the writer validates what it touches.
///
/// Memory      64 bytes per node for the mirror, 4 bytes per ring entry.
/// Source      the per-node protocol is a sequence lock, e.g. Boehm, "Can Seqlocks Get Along With Programming Language
/// Memory
///             Models?", MSPC 2012 (the variant with acquire loads and release stores, without fences).

#include <array>
#include <atomic>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>

#include "berth/cluster/change_sink.hpp"
#include "berth/cluster/node_state.hpp"

namespace berth {

class change_feed final : public change_sink {
 public:
  /// \param nodes  the states to begin with; \param ring  ids to keep, rounded up to a power of two. Allocates.
  explicit change_feed(std::span<const node_state> nodes, std::size_t ring = 1U << 16)
      : mirror_{std::make_unique<cell[]>(nodes.size())},
        size_{nodes.size()},
        mask_{std::bit_ceil(ring) - 1},
        ring_{std::make_unique<std::atomic<std::uint32_t>[]>(mask_ + 1)} {
    for (std::size_t n = 0; n < size_; ++n) write(n, nodes[n]);
  }
  change_feed(const change_feed&) = delete;
  change_feed& operator=(const change_feed&) = delete;

  // -- the writer's side -------------------------------------------------------------------------------------------

  /// Publishes the new state of a node. Called by the cluster that the feed is attached to; one thread at a time.
  void publish(std::uint32_t node, const node_state& state) noexcept override {
    write(node, state);
    const std::uint64_t at = head_.load(std::memory_order_relaxed);
    ring_[at & mask_].store(node, std::memory_order_release);
    head_.store(at + 1, std::memory_order_release);
  }
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
  /// A state that the node had at or after the latest change seen by this thread. Waits while the writer is in the
  /// middle of writing this node. \pre node < node_count()
  [[nodiscard]] node_state read(std::uint32_t node) const noexcept {
    const cell& c = mirror_[node];
    for (;;) {
      words w{};
      const std::uint64_t before = c.sequence.load(std::memory_order_acquire);
      for (std::size_t i = 0; i < w.size(); ++i) w[i] = c.state[i].load(std::memory_order_acquire);
      if ((before & 1) == 0 && c.sequence.load(std::memory_order_relaxed) == before) return unpack(w);
    }
  }

 private:
  using words = std::array<std::uint64_t, 7>;
  struct cell {
    std::atomic<std::uint64_t> sequence{0};  ///< odd while the writer is at it
    std::atomic<std::uint64_t> state[7]{};
  };
  static words pack(const node_state& s) noexcept {
    return {s.held,
            s.unhealthy,
            s.installed,
            static_cast<std::uint64_t>(s.cpu.count()),
            static_cast<std::uint64_t>(s.memory.count()),
            std::uint64_t{s.leaf} << 32 | s.tasks,
            std::uint64_t{s.node_class.raw()} << 1 | (s.usable ? 1U : 0U)};
  }
  static node_state unpack(const words& w) noexcept {
    node_state s;
    s.held = w[0];
    s.unhealthy = w[1];
    s.installed = w[2];
    s.cpu = cpu_millis{static_cast<std::int64_t>(w[3])};
    s.memory = bytes{static_cast<std::int64_t>(w[4])};
    s.leaf = static_cast<std::uint32_t>(w[5] >> 32);
    s.tasks = static_cast<std::uint32_t>(w[5]);
    s.node_class = class_id{static_cast<std::uint16_t>(w[6] >> 1)};
    s.usable = (w[6] & 1) != 0;
    s.refresh();
    return s;
  }
  void write(std::size_t node, const node_state& s) noexcept {
    cell& c = mirror_[node];
    const words w = pack(s);
    const std::uint64_t sequence = c.sequence.load(std::memory_order_relaxed);
    c.sequence.store(sequence + 1, std::memory_order_relaxed);
    for (std::size_t i = 0; i < w.size(); ++i) c.state[i].store(w[i], std::memory_order_release);
    c.sequence.store(sequence + 2, std::memory_order_release);
  }

  std::unique_ptr<cell[]> mirror_;
  std::size_t size_;
  std::size_t mask_;
  std::unique_ptr<std::atomic<std::uint32_t>[]> ring_;
  std::atomic<std::uint64_t> head_{0};
  std::atomic<std::uint64_t> structure_{0};
};

}  // namespace berth
