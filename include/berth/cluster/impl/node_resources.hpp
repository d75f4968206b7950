#pragma once
/// \file
/// Bodies of `berth/cluster/node_resources.hpp`.

#include "berth/cluster/node_resources.hpp"

namespace berth::detail {

BERTH_INLINE void node_resources::enable_parts(const part_catalogue& catalogue, std::span<const node_class> classes,
                                               std::span<const node_shape> shapes, std::span<const node_state> nodes,
                                               unsigned ranks) {
  parts_.enable(catalogue, classes, shapes, nodes, ranks);
  any_on_ = true;
  for (std::uint32_t n = 0; n < nodes.size(); ++n) tell_near_nic(n, nodes[n].node_class);
}

BERTH_INLINE void node_resources::enable(std::span<const node_class> classes, std::span<const node_shape> shapes,
                                         std::span<const node_state> nodes) {
  if (on_) return;
  on_ = any_on_ = true;
  add_classes(classes, shapes);
  at_.resize(nodes.size());
  room_.resize(nodes.size());
  nics_down_.resize(nodes.size());
  std::size_t sum = 0;
  for (const node_state& n : nodes) sum += layouts_[n.node_class.index()].amounts();
  left_.reserve(sum);
  for (std::uint32_t n = 0; n < nodes.size(); ++n) {
    add_amounts(n, nodes[n].node_class);
    tell_near_nic(n, nodes[n].node_class);
  }
  reserve_holds(holds_);
}

BERTH_INLINE void node_resources::disable() noexcept {
  on_ = false;
  any_on_ = parts_.is_on();
}

BERTH_INLINE void node_resources::reserve_tasks(std::size_t slots) {
  parts_.reserve_tasks(slots);
  if (!on_ || slots <= of_task_.size()) return;
  of_task_.resize(slots);
  asked_.resize(slots);
}

BERTH_INLINE void node_resources::reserve_holds(std::size_t tasks) {
  parts_.reserve_holds(tasks);
  if (tasks > holds_) holds_ = tasks;
  if (on_ && holds_ > held_.size()) held_.resize(holds_);
}

BERTH_INLINE void node_resources::add_classes(std::span<const node_class> classes, std::span<const node_shape> shapes) {
  parts_.add_classes(classes, shapes);
  if (!on_) return;
  for (std::size_t c = layouts_.size(); c < classes.size(); ++c)
    layouts_.append(classes[c].shape
                        ? machine_layout{shapes[classes[c].shape.index()], classes[c].cpu, classes[c].memory}
                        : machine_layout{});
}

BERTH_INLINE void node_resources::replace(std::uint32_t n, class_id c) {
  parts_.replace(n, c);
  if (!on_) return;
  nics_down_[n] = 0;
  tell_near_nic(n, c);
  const std::size_t amounts = layouts_[c.index()].amounts();
  if (amounts == 0) return;
  // What was there before makes way, so that nodes which come and go take no more memory each time.
  if (amounts > room_[n]) return add_amounts(n, c);
  for (std::size_t i = 0; i < amounts; ++i) left_[at_[n] + i] = layouts_[c.index()].capacity()[i];
}

BERTH_INLINE std::uint32_t node_resources::count(std::uint32_t n, const node_state& s, device_mask pool,
                                                 const task_shape& t, std::uint32_t limit) const noexcept {
  return on_ && limit != 0 ? count_fits(residual(n, s, pool), t, limit) : 0;
}

BERTH_INLINE std::uint32_t node_resources::potential(std::uint32_t n, const node_class& c, class_id id,
                                                     device_mask installed, device_mask pool, const task_shape& t,
                                                     std::uint32_t limit) const noexcept {
  if (t.part.asks()) {
    const device_mask near = !t.part.near_nic() ? pool : on_ ? layout(id).near_nic(~std::uint64_t{0}) : 0;
    return parts_.potential(n, id, pool & near, t.part, limit);
  }
  if (!on_ || limit == 0) return 0;
  const machine_layout& y = layout(id);
  return count_fits({&y, y.capacity().data(), ~std::uint64_t{0}, installed, pool, c.cpu, c.memory}, t, limit);
}

BERTH_INLINE bool node_resources::equal(std::uint32_t a, std::uint32_t b, class_id c) const noexcept {
  if (parts_.is_on() && !parts_.equal(a, b)) return false;
  if (!on_) return true;
  if (nics_down_[a] != nics_down_[b]) return false;
  for (std::size_t i = 0; i < layout(c).amounts(); ++i)
    if (left(a)[i] != left(b)[i]) return false;
  return true;
}

BERTH_INLINE bool node_resources::take(std::uint32_t slot, std::uint32_t n, const node_state& s, const task_shape& t,
                                       device_mask devices) noexcept {
  of_task_[slot] = {};
  asked_[slot] = t.bind;
  if (!t.bind.asks()) return true;
  if (!residual(n, s, s.free).bind(t, devices, of_task_[slot])) return false;
  apply(n, s.node_class, of_task_[slot], t.cpu, t.memory, devices, -1);
  return true;
}

BERTH_INLINE void node_resources::give(std::uint32_t slot, std::uint32_t n, class_id c, cpu_millis cpu, bytes memory,
                                       device_mask devices, std::int64_t sign) noexcept {
  if (!(of_task_[slot] == task_binding{})) apply(n, c, of_task_[slot], cpu, memory, devices, sign);
}

BERTH_INLINE void node_resources::hold(std::uint32_t n, const node_state& s, const task_shape& t,
                                       device_mask devices) noexcept {
  task_binding& b = held_[held_count_++];
  if (residual(n, s, s.free).bind(t, devices, b)) apply(n, s.node_class, b, t.cpu, t.memory, devices, -1);
  else b = {};
}

BERTH_INLINE void node_resources::clear(std::uint32_t n, class_id c) noexcept {
  if (!on_) return;
  set_nics_down(n, c, 0);
  for (std::size_t i = 0; i < layout(c).amounts(); ++i) left_[at_[n] + i] = layout(c).capacity()[i];
}

BERTH_INLINE void node_resources::set_nics_down(std::uint32_t n, class_id c, std::uint64_t mask) noexcept {
  nics_down_[n] = mask;
  tell_near_nic(n, c);
}

BERTH_INLINE std::size_t node_resources::memory() const noexcept {
  return left_.capacity() * 8 + at_.size() * 8 + nics_down_.size() * 8 +
         of_task_.size() * (sizeof(task_binding) + sizeof(binding_need)) + held_.size() * sizeof(task_binding) +
         parts_.memory();
}

BERTH_INLINE void node_resources::apply(std::uint32_t n, class_id c, const task_binding& b, cpu_millis cpu,
                                        bytes memory, device_mask devices, std::int64_t sign) noexcept {
  apply_binding(layout(c), left_.data() + at_[n], b, cpu, memory, devices, sign);
}

BERTH_INLINE void node_resources::add_amounts(std::uint32_t n, class_id c) {
  at_[n] = static_cast<std::uint32_t>(left_.size());
  room_[n] = static_cast<std::uint32_t>(layout(c).amounts());
  for (const std::int64_t a : layout(c).capacity()) left_.append(a);
}

}  // namespace berth::detail
