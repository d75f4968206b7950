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
#include <bit>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>

#include "berth/cluster/change_sink.hpp"
#include "berth/cluster/cluster.hpp"
#include "berth/cluster/device_use.hpp"
#include "berth/cluster/node_state.hpp"
#include "berth/core/bits.hpp"
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
  explicit change_feed(std::span<const node_state> nodes, std::size_t ring = 1U << 16)
      : mirror_{std::make_unique<cell[]>(nodes.size())},
        size_{nodes.size()},
        mask_{std::bit_ceil(ring) - 1},
        ring_{std::make_unique<std::atomic<std::uint32_t>[]>(mask_ + 1)} {
    for (std::size_t n = 0; n < size_; ++n) write(n, nodes[n], {});
  }
  /// Of all that a cluster keeps of its nodes, with parts of devices where they are on by now. Allocates.
  explicit change_feed(const cluster& c, std::size_t ring = 1U << 16) : change_feed{c.nodes(), ring} {
    const detail::device_parts& parts = c.inside().parts();
    if (!parts.is_on()) return;
    for (const node_shape& s : c.shapes()) devices_ = s.devices > devices_ ? s.devices : devices_;
    nests_ = parts.shared_instances(0, 0) != nullptr;
    stride_ = 4 + words_of_device() * devices_;
    parts_ = std::make_unique<std::atomic<std::uint64_t>[]>(stride_ * size_);
    for (std::uint32_t n = 0; n < size_; ++n) write(n, c.node(node_id{n}), parts.published(n));
  }
  change_feed(const change_feed&) = delete;
  change_feed& operator=(const change_feed&) = delete;

  // -- the writer's side -------------------------------------------------------------------------------------------

  /// Publishes the new state of a node. Called by the cluster that the feed is attached to; one thread at a time.
  void publish(std::uint32_t node, const node_state& state, const detail::published_parts& parts) noexcept override {
    write(node, state, parts);
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
  /// Whether parts of devices are published.
  [[nodiscard]] bool has_parts() const noexcept { return parts_ != nullptr; }
  /// A state that the node had at or after the latest change seen by this thread. Waits while the writer is in the
  /// middle of writing this node. \pre node < node_count()
  [[nodiscard]] node_state read(std::uint32_t node) const noexcept {
    return read_with(node, [] {});
  }
  /// The same with the parts of its devices. \pre has_parts()
  [[nodiscard]] node_state read(std::uint32_t node, node_parts& parts) const noexcept {
    const std::atomic<std::uint64_t>* const at = parts_.get() + node * stride_;
    const auto word = [&](std::size_t i) { return at[i].load(std::memory_order_acquire); };
    parts.nests = nests_;
    return read_with(node, [&] {
      parts.masks = {word(0), word(1), word(2), word(3)};
      for_each_bit(parts.masks.open() & low_bits(devices_), [&](unsigned d) {
        const std::size_t i = 4 + words_of_device() * d;
        parts.use[d] = unpack_use(word(i), word(i + 1));
        for (unsigned k = 0; k < max_task_instances && nests_; ++k)
          parts.shared[d * max_task_instances + k] = unpack_shared(word(i + 2 + 2 * k), word(i + 3 + 2 * k));
      });
    });
  }

 private:
  using words = std::array<std::uint64_t, 7>;
  using words_of_two = std::array<std::uint64_t, 2>;
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
  /// Words of one device: what it is used as, and its shared instances where there may be any.
  [[nodiscard]] std::size_t words_of_device() const noexcept { return nests_ ? 2 + 2 * max_task_instances : 2; }
  static words_of_two pack(const detail::device_use& u) noexcept {
    return {std::uint64_t{u.instances} << 32 | u.memory_mib, std::uint64_t{u.thousandths} << 48 |
                                                                 std::uint64_t{u.clients} << 32 |
                                                                 std::uint64_t{u.state} << 16 | u.user};
  }
  static detail::device_use unpack_use(std::uint64_t first, std::uint64_t second) noexcept {
    detail::device_use u;
    u.instances = static_cast<mig_set>(first >> 32);
    u.memory_mib = static_cast<std::uint32_t>(first);
    u.thousandths = static_cast<std::uint16_t>(second >> 48);
    u.clients = static_cast<std::uint16_t>(second >> 32);
    u.state = static_cast<mig_state_id>(second >> 16);
    u.user = static_cast<std::uint16_t>(second);
    return u;
  }
  static words_of_two pack(const detail::instance_use& u) noexcept {
    return {std::uint64_t{u.memory_mib} << 32 | std::uint64_t{u.thousandths} << 16 | u.clients,
            std::uint64_t{u.user} << 8 | u.placement};
  }
  static detail::instance_use unpack_shared(std::uint64_t first, std::uint64_t second) noexcept {
    detail::instance_use u;
    u.memory_mib = static_cast<std::uint32_t>(first >> 32);
    u.thousandths = static_cast<std::uint16_t>(first >> 16);
    u.clients = static_cast<std::uint16_t>(first);
    u.user = static_cast<std::uint16_t>(second >> 8);
    u.placement = static_cast<std::uint8_t>(second);
    return u;
  }
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
  void write(std::size_t node, const node_state& s, const detail::published_parts& p) noexcept {
    cell& c = mirror_[node];
    const words w = pack(s);
    const std::uint64_t sequence = c.sequence.load(std::memory_order_relaxed);
    c.sequence.store(sequence + 1, std::memory_order_relaxed);
    for (std::size_t i = 0; i < w.size(); ++i) c.state[i].store(w[i], std::memory_order_release);
    if (parts_ != nullptr && p.masks != nullptr) {
      std::atomic<std::uint64_t>* const at = parts_.get() + node * stride_;
      const auto put = [&](std::size_t i, std::uint64_t x) { at[i].store(x, std::memory_order_release); };
      put(0, p.masks->mig), put(1, p.masks->shared), put(2, p.masks->on), put(3, p.masks->off);
      for_each_bit(p.masks->open(), [&](unsigned d) {
        const std::size_t i = 4 + words_of_device() * d;
        const auto put_two = [&](std::size_t k, const words_of_two& x) { put(i + k, x[0]), put(i + k + 1, x[1]); };
        put_two(0, pack(p.use[d]));
        for (unsigned k = 0; k < max_task_instances && nests_; ++k)
          put_two(2 + 2 * k, pack(p.shared_instances[d * max_task_instances + k]));
      });
    }
    c.sequence.store(sequence + 2, std::memory_order_release);
  }

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
