#pragma once
/// \file
/// Bodies of `berth/cluster/change_feed.hpp`.

#include <bit>

#include "berth/cluster/change_feed.hpp"

namespace berth {

BERTH_INLINE change_feed::change_feed(std::span<const node_state> nodes, std::size_t ring)
    : mirror_{std::make_unique<cell[]>(nodes.size())},
      size_{nodes.size()},
      mask_{std::bit_ceil(ring) - 1},
      ring_{std::make_unique<std::atomic<std::uint32_t>[]>(mask_ + 1)} {
  for (std::size_t n = 0; n < size_; ++n) write(n, nodes[n], {});
}

BERTH_INLINE change_feed::change_feed(const cluster& c, std::size_t ring) : change_feed{c.nodes(), ring} {
  const detail::device_parts& parts = c.inside().parts();
  if (!parts.is_on()) return;
  for (const node_shape& s : c.shapes()) devices_ = s.devices > devices_ ? s.devices : devices_;
  nests_ = parts.shared_instances(0, 0) != nullptr;
  stride_ = 4 + words_of_device() * devices_;
  parts_ = std::make_unique<std::atomic<std::uint64_t>[]>(stride_ * size_);
  for (std::uint32_t n = 0; n < size_; ++n) write(n, c.node(node_id{n}), parts.published(n));
}

BERTH_INLINE void change_feed::publish(std::uint32_t node, const node_state& state,
                                       const detail::published_parts& parts) noexcept {
  write(node, state, parts);
  const std::uint64_t at = head_.load(std::memory_order_relaxed);
  ring_[at & mask_].store(node, std::memory_order_release);
  head_.store(at + 1, std::memory_order_release);
}

BERTH_INLINE node_state change_feed::read(std::uint32_t node, node_parts& parts) const noexcept {
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

BERTH_INLINE change_feed::words change_feed::pack(const node_state& s) noexcept {
  return {s.held,
          s.unhealthy,
          s.installed,
          static_cast<std::uint64_t>(s.cpu.count()),
          static_cast<std::uint64_t>(s.memory.count()),
          std::uint64_t{s.leaf} << 32 | s.tasks,
          std::uint64_t{s.node_class.raw()} << 1 | (s.usable ? 1U : 0U)};
}

BERTH_INLINE node_state change_feed::unpack(const words& w) noexcept {
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

BERTH_INLINE change_feed::words_of_two change_feed::pack(const detail::device_use& u) noexcept {
  return {std::uint64_t{u.instances} << 32 | u.memory_mib,
          std::uint64_t{u.thousandths} << 48 | std::uint64_t{u.clients} << 32 | std::uint64_t{u.state} << 16 | u.user};
}

BERTH_INLINE detail::device_use change_feed::unpack_use(std::uint64_t first, std::uint64_t second) noexcept {
  detail::device_use u;
  u.instances = static_cast<mig_set>(first >> 32);
  u.memory_mib = static_cast<std::uint32_t>(first);
  u.thousandths = static_cast<std::uint16_t>(second >> 48);
  u.clients = static_cast<std::uint16_t>(second >> 32);
  u.state = static_cast<mig_state_id>(second >> 16);
  u.user = static_cast<std::uint16_t>(second);
  return u;
}

BERTH_INLINE change_feed::words_of_two change_feed::pack(const detail::instance_use& u) noexcept {
  return {std::uint64_t{u.memory_mib} << 32 | std::uint64_t{u.thousandths} << 16 | u.clients,
          std::uint64_t{u.user} << 8 | u.placement};
}

BERTH_INLINE detail::instance_use change_feed::unpack_shared(std::uint64_t first, std::uint64_t second) noexcept {
  detail::instance_use u;
  u.memory_mib = static_cast<std::uint32_t>(first >> 32);
  u.thousandths = static_cast<std::uint16_t>(first >> 16);
  u.clients = static_cast<std::uint16_t>(first);
  u.user = static_cast<std::uint16_t>(second >> 8);
  u.placement = static_cast<std::uint8_t>(second);
  return u;
}

BERTH_INLINE void change_feed::write(std::size_t node, const node_state& s, const detail::published_parts& p) noexcept {
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

}  // namespace berth
