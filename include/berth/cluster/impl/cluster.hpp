#pragma once
/// \file
/// Bodies of `berth/cluster/cluster.hpp`.

#include <cassert>

#include "berth/cluster/cluster.hpp"
#include "berth/core/prefetch.hpp"

namespace berth {

BERTH_INLINE cluster::cluster(const cluster_spec& spec, const cluster_limits& limits)
    : tree_{spec.tree}, registry_{spec.shapes} {
  assert(spec.nodes.size() == spec.tree.node_count() && !spec.nodes.empty());
  nodes_.resize(spec.nodes.size());
  for (std::uint32_t n = 0; n < nodes_.size(); ++n) {
    assert(spec.nodes[n].shape.index() < spec.shapes.size());
    assert(spec.nodes[n].cpu.count() >= 0 && spec.nodes[n].memory.count() >= 0);
    [[maybe_unused]] const bool installed = install(n, spec.nodes[n]);
    assert(installed);
  }
  unsigned most_devices = 0;
  for (const node_shape& s : registry_.shapes()) most_devices = s.devices > most_devices ? s.devices : most_devices;
  index_.build(tree_, nodes(), most_devices, limits.parts != nullptr ? detail::part_ranks : 1);
  uplinks_.build(tree_, spec.uplinks);
  classes_changed();
  published_classes_ = registry_.classes().size();
  reserve(limits);
}

BERTH_INLINE void cluster::reserve(const cluster_limits& limits) {
  if (limits.live_shapes > live_shapes_) live_shapes_ = limits.live_shapes;
  shared_bounds_ = shared_bounds_ || limits.shared_bounds;
  store_.reserve(limits.jobs, limits.tasks);
  index_.reserve(live_shapes_, registry_.classes().size(), nodes_.size());
  if (journal_.size() < limits.journal) journal_.resize(limits.journal);
  // What was counted while it was not kept was counted as nothing.
  if ((limits.bindings && !inside_.is_on()) || (limits.parts != nullptr && !inside_.parts().is_on())) index_.forget();
  if (limits.bindings) inside_.enable(registry_.classes(), registry_.shapes(), nodes());
  if (limits.parts != nullptr)
    inside_.enable_parts(*limits.parts, registry_.classes(), registry_.shapes(), nodes(), index_.part_ranks());
  inside_.reserve_tasks(store_.task_slots());
  uplinks_.reserve_jobs(store_.job_slots());
}

BERTH_INLINE const node_shape& cluster::shape_of(node_id n) const noexcept {
  assert(is_member(n));
  return shapes()[class_of(n).shape.index()];
}

BERTH_INLINE bool cluster::is_valid(const task_shape& shape) const noexcept {
  return shape.is_valid() && shape.filter.index() < registry_.filters().size() &&
         (!shape.part.asks() || is_valid_part(shape.part));
}

BERTH_INLINE eligibility cluster::eligible(filter_id f, node_id n) const noexcept {
  const std::size_t c = nodes_[n.index()].node_class.index();
  return {registry_.table(f).admits[c] != 0, registry_.table(f).devices[c]};
}

BERTH_INLINE eligibility cluster::eligible_ever(filter_id f, node_id n) const noexcept {
  const std::size_t c = nodes_[n.index()].node_class.index();
  return {registry_.table(f).admits_ever[c] != 0, registry_.table(f).devices_ever[c]};
}

BERTH_INLINE const live_shape* cluster::counters(const task_shape& shape) const noexcept {
  assert(is_valid(shape));
  return index_.sync(shape, registry_.table(shape.filter), nodes(), inside_);
}

BERTH_INLINE const live_shape* cluster::bounds(const task_shape& shape) const noexcept {
  if (!shared_bounds_) return counters(shape);
  return index_.sync_bound(shape, registry_.table(shape.filter), nodes(), inside_);
}

BERTH_INLINE std::optional<lacking_link> cluster::lacking(const placement& p) const noexcept {
  lacking_link lack;
  if (uplinks_.take(p.between_nodes.count(), tree_, nodes(), detail::tasks_of{p}, &lack, true)) return std::nullopt;
  return lack;
}

BERTH_INLINE expected<void, cluster_error> cluster::commit(job_key key, const placement& p) noexcept {
  using store = detail::allocation_store;
  const store::position at = store_.locate(key);
  if (at.job != store::none) {
    if (same_content(at.job, p)) return {};
    return unexpected{cluster_error{cluster_errc::key_in_use, {}}};
  }
  if (p.tasks.empty()) return unexpected{cluster_error{cluster_errc::bad_argument, {}}};
  if (!store_.has_room(p.tasks.size()) || !journal_has_room())
    return unexpected{cluster_error{cluster_errc::capacity_exhausted, {}}};
  // Short loops instead of one long one: each has its values in registers.
  cluster_error error{};
  const auto take = inside_.is_any_on() ? detail::take_tasks<true> : detail::take_tasks<false>;
  const std::size_t taken = take(p, nodes_, store_, registry_.tables(), inside_, error);
  store::writer writer{store_, key, at, ++epoch_};
  detail::keep_tasks({p.tasks.data(), taken}, p.shapes, nodes_.data(), writer, index_, epoch_);
  const std::uint32_t j = writer.done(taken);
  uplinks_.set_rate(j, 0);
  if (const std::int64_t rate = p.between_nodes.count(); rate != 0 && error.code == cluster_errc{}) {
    if (rate < 0 || rate >= task_shape::amount_limit) error.code = cluster_errc::bad_argument;
    else if (!uplinks_.take(rate, tree_, nodes(), detail::tasks_of{p}, nullptr)) error.code = cluster_errc::conflict;
    else uplinks_.set_rate(j, rate);
  }
  if (error.code != cluster_errc{}) {
    give_back(j, store_.at(j).first);
    store_.close(j);
    return unexpected{error};
  }
  store_.set_filter(j, p.shapes[p.tasks[0].group].filter);
  if (p.shapes.size() > 1) note_filters(j, p);
  note({change::committed, j, 0, 0});
  publish_tasks(j);
  return {};
}

BERTH_INLINE expected<void, cluster_error> cluster::release(job_key key) noexcept {
  const detail::allocation_store::position at = store_.locate(key);
  if (at.job == detail::allocation_store::none) return {};
  if (!journal_has_room()) return unexpected{cluster_error{cluster_errc::capacity_exhausted, {}}};
  prefetch_write(nodes_.data() + at.node);
  give_back(at.job, at.first);
  publish_tasks(at.job);
  if (open_ == 0) {
    store_.close(at);
  } else {
    store_.park(at.job);
    note({change::released, at.job, 0, 0});
  }
  return {};
}

BERTH_INLINE expected<void, cluster_error> cluster::set_device_health(node_id n, unsigned device,
                                                                      bool healthy) noexcept {
  if (n.index() >= nodes_.size() || device >= 64 || (nodes_[n.index()].installed & bit(device)) == 0)
    return unexpected{cluster_error{cluster_errc::bad_argument, n}};
  node_state& s = nodes_[n.index()];
  if (((s.unhealthy & bit(device)) == 0) == healthy) return {};
  if (!journal_has_room()) return unexpected{cluster_error{cluster_errc::capacity_exhausted, n}};
  note({change::device_health, n.raw(), 0, s.unhealthy});
  s.unhealthy ^= bit(device);
  changed(n.raw(), healthy);
  return {};
}

BERTH_INLINE expected<void, cluster_error> cluster::set_node_usable(node_id n, bool usable) noexcept {
  if (n.index() >= nodes_.size() || !is_member(n)) return unexpected{cluster_error{cluster_errc::bad_argument, n}};
  node_state& s = nodes_[n.index()];
  if (s.usable == usable) return {};
  if (!journal_has_room()) return unexpected{cluster_error{cluster_errc::capacity_exhausted, n}};
  note({change::usable, n.raw(), 0, s.usable ? 1U : 0U});
  s.usable = usable;
  changed(n.raw(), usable);
  return {};
}

BERTH_INLINE expected<void, cluster_error> cluster::set_nic_health(node_id n, unsigned nic, bool healthy) noexcept {
  if (!inside_.is_on()) return unexpected{cluster_error{cluster_errc::capacity_exhausted, n}};
  if (n.index() >= nodes_.size() || !is_member(n) || nic >= inside_.layout(node(n).node_class).nics())
    return unexpected{cluster_error{cluster_errc::bad_argument, n}};
  const std::uint64_t down = inside_.nics_down(n.raw());
  if (((down & bit(nic)) == 0) == healthy) return {};
  if (!journal_has_room()) return unexpected{cluster_error{cluster_errc::capacity_exhausted, n}};
  note({change::nics, n.raw(), 0, down});
  inside_.set_nics_down(n.raw(), node(n).node_class, down ^ bit(nic));
  changed(n.raw(), healthy);
  return {};
}

BERTH_INLINE expected<void, cluster_error> cluster::set_uplink_health(level_id level, domain_id domain,
                                                                      bool healthy) noexcept {
  if (level.index() == 0 || level.index() >= tree_.level_count() || domain.index() >= tree_.domain_count(level))
    return unexpected{cluster_error{cluster_errc::bad_argument, {}}};
  if (index_.is_detached(level.raw(), domain.raw()) == !healthy) return {};
  if (!journal_has_room()) return unexpected{cluster_error{cluster_errc::capacity_exhausted, {}}};
  note({change::uplink, domain.raw(), level.raw(), healthy ? 0U : 1U});
  index_.set_detached(level.raw(), domain.raw(), !healthy);
  structure_changed();
  ++epoch_;
  return {};
}

BERTH_INLINE expected<void, cluster_error> cluster::remove_node(node_id n) {
  if (n.index() >= nodes_.size() || open_ != 0) return unexpected{cluster_error{cluster_errc::bad_argument, n}};
  if (!is_member(n)) return {};
  if (nodes_[n.index()].tasks != 0) return unexpected{cluster_error{cluster_errc::still_in_use, n}};
  const class_id vacant = registry_.find_or_add_class({{}, {}, {}, {}});
  if (!vacant) return unexpected{cluster_error{cluster_errc::capacity_exhausted, n}};
  node_state& s = nodes_[n.index()];
  inside_.parts().vacate(n.raw(), s);
  s = node_state{0, 0, 0, 0, {}, s.leaf, 0, {}, vacant, false};
  names_.clear(n.raw());
  membership_changed(n);
  return {};
}

BERTH_INLINE std::optional<node_id> cluster::find_node(const std::string& name) const noexcept {
  const std::uint32_t n = names_.find(name);
  return n == detail::node_names::none ? std::nullopt : std::optional{node_id{n}};
}

BERTH_INLINE void cluster::attach(change_sink* feed) noexcept {
  assert(open_ == 0);
  feed_.to = feed;
  if (feed != nullptr) feed->publish_structure(published_structure_);
}

BERTH_INLINE void cluster::clear_inside(node_id n) noexcept {
  inside_.clear(n.raw(), nodes_[n.index()].node_class);
  inside_.parts().clear(n.raw(), nodes_[n.index()]);
  changed(n.raw());
}

BERTH_INLINE void cluster::hold(node_id n, device_mask devices, cpu_millis cpu, bytes memory) noexcept {
  node_state& s = nodes_[n.index()];
  s.held |= devices;
  s.cpu -= cpu;
  s.memory -= memory;
  ++s.tasks;
  touched(n.raw(), false);
}

BERTH_INLINE void cluster::hold(node_id n, device_mask devices, const task_shape& t) noexcept {
  if (t.bind.asks()) inside_.hold(n.raw(), nodes_[n.index()], t, devices);
  hold(n, devices, t.cpu, t.memory);
}

BERTH_INLINE void cluster::hold(node_id n, device_mask devices, const task_shape& t,
                                const part_places& places) noexcept {
  inside_.parts().hold(n.raw(), nodes_[n.index()], t.part, devices, places);
  hold(n, 0, t.cpu, t.memory);
}

BERTH_INLINE void cluster::unhold(node_id n, device_mask devices, const task_shape& t) noexcept {
  if (t.bind.asks()) inside_.unhold(n.raw(), nodes_[n.index()].node_class, t, devices);
  if (t.part.asks()) inside_.parts().unhold(n.raw(), nodes_[n.index()], std::exchange(devices, 0));
  unhold(n, devices, t.cpu, t.memory);
}

BERTH_INLINE void cluster::unhold(node_id n, device_mask devices, cpu_millis cpu, bytes memory) noexcept {
  node_state& s = nodes_[n.index()];
  s.held &= ~devices;
  s.cpu += cpu;
  s.memory += memory;
  --s.tasks;
  touched(n.raw(), false);
}

BERTH_INLINE std::size_t cluster::memory() const noexcept {
  return nodes_.size() * sizeof(node_state) + index_.memory() + store_.memory() + journal_.size() * sizeof(change) +
         std::size_t{tree_.node_count()} * 4 + inside_.memory() + uplinks_.memory() + names_.memory();
}

BERTH_INLINE void cluster::changed(std::uint32_t n, bool gain) noexcept {
  touched(n, gain);
  publish(n);
}

BERTH_INLINE void cluster::touched(std::uint32_t n, bool gain) noexcept {
  nodes_[n].refresh();
  index_.touch(n, nodes_[n].leaf, gain);
  ++epoch_;
}

BERTH_INLINE void cluster::publish_tasks(std::uint32_t j) const noexcept {
  if (feed_.to == nullptr || open_ != 0) return;
  for (std::uint32_t t = store_.at(j).first; t != detail::allocation_store::none; t = store_.task(t).next)
    publish(store_.task(t).node.raw());
}

BERTH_INLINE void cluster::structure_changed() noexcept {
  ++structure_;
  if (open_ == 0) publish_structure();
}

BERTH_INLINE void cluster::publish_structure() noexcept {
  published_structure_ = structure_;
  published_classes_ = registry_.classes().size();
  if (feed_.to != nullptr) feed_.to->publish_structure(structure_);
}

BERTH_INLINE void cluster::give_back(std::uint32_t j, std::uint32_t first) noexcept {
  if (uplinks_.rate(j) != 0) uplinks_.give(uplinks_.rate(j), tree_, nodes(), detail::tasks_of_job{store_, j});
  const auto give = inside_.is_any_on() ? detail::give_back_tasks<true> : detail::give_back_tasks<false>;
  give(first, nodes_.data(), store_, inside_, index_, store_.at(j).commit);
  ++epoch_;
}

BERTH_INLINE bool cluster::install(std::uint32_t n, const node_spec& spec) {
  const class_id c = registry_.find_or_add_class({spec.shape, spec.labels, spec.cpu, spec.memory});
  if (!c) return false;
  const device_mask all = shapes()[spec.shape.index()].all_devices();
  const std::uint32_t leaf = tree_.leaf_of(node_id{n}).raw();
  nodes_[n] = node_state{all, 0, 0, all, spec.cpu, leaf, 0, spec.memory, c, spec.usable};
  nodes_[n].refresh();
  names_.set(n, spec.name, nodes_.size());
  return true;
}

BERTH_INLINE void cluster::membership_changed(node_id n) {
  classes_changed();
  inside_.replace(n.raw(), nodes_[n.index()].node_class);
  index_.kinds_changed();
  structure_changed();
  changed(n.raw());
}

BERTH_INLINE expected<void, cluster_error> cluster::move_to_class(node_id n, node_class c) {
  const std::size_t before = registry_.classes().size();
  const class_id next = journal_has_room() ? registry_.find_or_add_class(std::move(c)) : class_id{};
  if (!next) return unexpected{cluster_error{cluster_errc::capacity_exhausted, n}};
  note({change::class_move, n.raw(), 0, nodes_[n.index()].node_class.raw()});
  nodes_[n.index()].node_class = next;
  if (registry_.classes().size() != before) classes_changed();
  class_moved(n.raw());
  return {};
}

BERTH_INLINE void cluster::class_moved(std::uint32_t n) noexcept {
  index_.kinds_changed();
  if (nodes_[n].node_class.index() >= published_classes_) structure_changed();
  changed(n);
}

BERTH_INLINE void cluster::classes_changed() {
  index_.reserve(live_shapes_, registry_.classes().size(), nodes_.size());
  inside_.add_classes(registry_.classes(), registry_.shapes());
  uplinks_.add_classes(registry_.classes(), registry_.shapes());
}

BERTH_INLINE std::span<const node_state> cluster::nodes() const noexcept {
  return {nodes_.data(), nodes_.size()};
}

BERTH_INLINE std::span<const node_class> cluster::classes() const noexcept {
  return registry_.classes();
}

BERTH_INLINE std::span<const node_shape> cluster::shapes() const noexcept {
  return registry_.shapes();
}

}  // namespace berth
