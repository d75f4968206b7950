#pragma once
/// \file
/// Bodies of `berth/cluster/capacity_index.hpp`.

#include <bit>
#include <cassert>

#include "berth/cluster/capacity_index.hpp"

namespace berth::detail {

BERTH_INLINE capacity_index& capacity_index::operator=(const capacity_index& o) {
  capacity_index_data::operator=(o);
  relink();
  return *this;
}

BERTH_INLINE capacity_index& capacity_index::operator=(capacity_index&& o) noexcept {
  capacity_index_data::operator=(std::move(o));
  relink();
  return *this;
}

BERTH_INLINE void capacity_index::build(const domain_tree& tree, std::span<const node_state> nodes,
                                        std::uint32_t most_devices, unsigned ranks) {
  part_ranks_ = ranks;
  flat_array<std::uint64_t> per_level(tree.level_count(), 0);
  flat_array<std::uint64_t> sums;
  for (std::uint8_t l = tree.level_count(); l-- > 0;) {
    const std::uint32_t count = tree.domain_count(level_id{l});
    flat_array<std::uint64_t> below = std::move(sums);
    sums.assign(count, 0);
    for (std::uint32_t d = 0; d < count; ++d) {
      const auto& dom = tree.at(level_id{l}, domain_id{d});
      for (std::uint32_t c = dom.children.first; c < dom.children.last; ++c)
        sums[d] += level_id{l} == tree.leaf_level() ? count_bits(nodes[c].installed) : below[c];
      if (sums[d] > per_level[l]) per_level[l] = sums[d];
    }
    if (per_level[l] < 4) per_level[l] = 4;
  }
  layout_ = index_layout{tree, {per_level.data(), per_level.size()}, most_devices + ranks};
  detached_.assign(layout_.capacity_count(), 0);
  last_entry_.assign(layout_.word_count(layout_.leaf_level()), 0);
  std::size_t ring = 1024;
  while (ring < 2 * last_entry_.size()) ring *= 2;
  log_.assign(ring, {});
  head_ = 1;  // position 0 means "never logged"
  newest_reader_ = 1;
  last_gain_ = 0;
  live_.clear();
  recent_ = 0;
}

BERTH_INLINE void capacity_index::reserve(std::size_t shapes, std::size_t classes, std::size_t nodes) {
  if (live_.size() < shapes) live_.resize(shapes);
  for (auto& s : live_) {
    s.layout_ = &layout_;
    // Classes come one by one: room for some more each time.
    if (s.eligible_.size() < classes) s.eligible_.resize(std::bit_ceil(classes + 15));
    if (s.admits_.size() < classes) s.admits_.resize(std::bit_ceil(classes + 15));
    s.info_.resize(nodes);
    s.capacity_.resize(layout_.capacity_count());
    s.potential_.resize(layout_.levels());
    s.arena_.resize(layout_.arena_words());
  }
}

BERTH_INLINE std::uint64_t capacity_index::potential(const live_shape& shape, unsigned level, const filter_table& table,
                                                     std::span<const node_state> nodes,
                                                     std::span<const node_class> classes,
                                                     const node_resources& inside) noexcept {
  live_shape& s = live_[static_cast<std::size_t>(&shape - live_.data())];
  if (!s.potential_known_) count_potential(s, table, nodes, classes, inside);
  return s.potential_[level];
}

BERTH_INLINE void capacity_index::touch(std::uint32_t node, std::uint32_t leaf, bool gain) noexcept {
  const span_of_word w = word_of(node, leaf);
  log_change(w.word, bit(node - w.first), gain, 0);
}

BERTH_INLINE void capacity_index::set_detached(unsigned level, std::uint32_t domain, bool detached) noexcept {
  auto& flag = detached_[layout_.capacity_offset(level) + domain];
  if ((flag != 0) == detached) return;
  flag = detached ? 1 : 0;
  detached ? ++detached_count_ : --detached_count_;
  for (auto& s : live_) {
    if (!s.in_use_ || level == 0) continue;
    const auto c = static_cast<std::int64_t>(s.capacity(level, domain));
    if (c != 0) s.add(level - 1, layout_.parent(level, domain), detached ? -c : c, detached_);
  }
}

BERTH_INLINE const live_shape* capacity_index::sync(const task_shape& shape, const filter_table& table,
                                                    std::span<const node_state> nodes,
                                                    const node_resources& inside) noexcept {
  if (live_shape* const s = find(shape)) return catch_up(*s, table, nodes, inside);
  return count_new(shape, table, nodes, inside);
}

BERTH_INLINE const live_shape* capacity_index::sync_bound(const task_shape& shape, const filter_table& table,
                                                          std::span<const node_state> nodes,
                                                          const node_resources& inside) noexcept {
  if (live_shape* const s = find(shape)) return catch_up(*s, table, nodes, inside);
  bool exact = live_.empty() || shape.asks_inside();
  for (const auto& s : live_) exact = exact || !s.in_use_;
  for (const task_shape& asked : asked_) exact = exact || asked == shape;
  if (exact) return count_new(shape, table, nodes, inside);
  asked_[asked_next_++ % std::size(asked_)] = shape;
  task_shape coarse = shape;
  coarse.cpu = cpu_millis{static_cast<std::int64_t>(std::bit_floor(static_cast<std::uint64_t>(shape.cpu.count())))};
  coarse.memory = bytes{static_cast<std::int64_t>(std::bit_floor(static_cast<std::uint64_t>(shape.memory.count())))};
  return sync(coarse, table, nodes, inside);
}

BERTH_INLINE bool capacity_index::agrees_with(std::span<const node_state> nodes, std::span<const filter_table> tables,
                                              std::span<const node_class> classes, const node_resources& inside) {
  for (auto& s : live_) {
    if (!s.in_use_) continue;
    const task_shape shape = s.shape_;
    const std::uint64_t used = s.used_;
    sync(shape, tables[shape.filter.index()], nodes, inside);
    live_shape fresh = s;
    recount(fresh, shape, tables[shape.filter.index()], nodes, inside);
    if (s.potential_known_) count_potential(fresh, tables[shape.filter.index()], nodes, classes, inside);
    s.used_ = used;
    if (fresh.arena_ != s.arena_ || fresh.capacity_ != s.capacity_ || fresh.info_ != s.info_ ||
        fresh.potential_ != s.potential_)
      return false;
  }
  return true;
}

BERTH_INLINE std::size_t capacity_index::memory() const noexcept {
  std::size_t sum = layout_.memory() + log_.size() * sizeof(entry) + last_entry_.size() * 8 + detached_.size();
  for (const auto& s : live_)
    sum += s.arena_.size() * 8 + s.capacity_.size() * 8 + s.info_.size() * 4 + s.eligible_.size() * 9 + sizeof(s);
  return sum;
}

BERTH_INLINE capacity_index::span_of_word capacity_index::word_of(std::uint32_t node,
                                                                  std::uint32_t leaf) const noexcept {
  const domain_record& r = layout_.record(layout_.leaf_level(), leaf);
  const std::uint32_t begin = (node - r.first_child) / 64 * 64, left = r.children - begin;
  return {r.first_child + begin, left < 64 ? left : 64, r.first_word + begin / 64};
}

[[gnu::noinline]] BERTH_INLINE void capacity_index::log_change(std::uint32_t word, std::uint64_t mask, bool gain,
                                                               std::uint64_t commit) noexcept {
  if (mask == 0) return;
  const entry alone{mask, gain ? 0 : commit, word, gain};
  std::uint64_t& last = last_entry_[word];
  if (last < newest_reader_) {
    log_[head_ & (log_.size() - 1)] = alone;
    last = head_++;
  } else if (entry& e = log_[last & (log_.size() - 1)]; e.mask == 0) {
    e = alone;
  } else if (gain && e.commit == commit && commit != 0) {
    // Nothing else changed these nodes since some shape last looked: they are again as it saw them.
    assert(e.mask == mask);
    e.mask = 0;
    return;
  } else {
    // An entry that no shape has read yet can take the nodes too.
    e = {e.mask | mask, 0, word, e.gain || gain};
  }
  if (gain && last > last_gain_) last_gain_ = last;
}

BERTH_INLINE live_shape* capacity_index::find(const task_shape& shape) noexcept {
  if (recent_ < live_.size() && live_[recent_].in_use_ && live_[recent_].shape_ == shape) return &live_[recent_];
  for (std::size_t i = 0; i < live_.size(); ++i)
    if (live_[i].in_use_ && live_[i].shape_ == shape) {
      recent_ = i;
      return &live_[i];
    }
  return nullptr;
}

BERTH_INLINE const live_shape* capacity_index::catch_up(live_shape& s, const filter_table& table,
                                                        std::span<const node_state> nodes,
                                                        const node_resources& inside) noexcept {
  if (head_ - s.seen_ > log_.size()) {
    const task_shape shape = s.shape_;
    recount(s, shape, table, nodes, inside);
  }
  if (s.classes_ != table.devices.size()) learn_classes(s, table);
  // What one leaf lost another often won: the domain around them hears of the sum.
  const unsigned leaf_level = layout_.leaf_level();
  std::uint32_t around = live_shape::no_domain;
  std::int64_t sum = 0;
  for (std::uint64_t at = s.seen_; at != head_; ++at) {
    const entry& e = log_[at & (log_.size() - 1)];
    if (e.mask == 0) continue;
    const std::uint32_t leaf = layout_.leaf_of_word(e.word);
    const domain_record& r = layout_.record(leaf_level, leaf);
    const std::int64_t delta = s.refresh_word(leaf, r, e.word - r.first_word, e.mask, nodes.data(), inside);
    if (delta == 0) continue;
    const std::uint32_t parent = s.add_here(leaf_level, leaf, delta, detached_);
    if (parent == live_shape::no_domain) continue;
    if (parent != around && sum != 0) s.add(leaf_level - 1, around, std::exchange(sum, 0), detached_);
    around = parent;
    sum += delta;
  }
  if (sum != 0) s.add(leaf_level - 1, around, sum, detached_);
  s.seen_ = head_;
  newest_reader_ = head_;
  s.used_ = ++clock_;
  return &s;
}

[[gnu::noinline]] BERTH_INLINE const live_shape* capacity_index::count_new(const task_shape& shape,
                                                                           const filter_table& table,
                                                                           std::span<const node_state> nodes,
                                                                           const node_resources& inside) noexcept {
  if (live_.empty()) return nullptr;
  live_shape* s = &live_[0];
  for (auto& candidate : live_) {
    if (!candidate.in_use_) {
      s = &candidate;
      break;
    }
    if (candidate.used_ < s->used_) s = &candidate;
  }
  recount(*s, shape, table, nodes, inside);
  recent_ = static_cast<std::size_t>(s - live_.data());
  return catch_up(*s, table, nodes, inside);
}

[[gnu::cold]] BERTH_INLINE void capacity_index::learn_classes(live_shape& s, const filter_table& table) noexcept {
  for (std::size_t c = s.classes_; c < table.devices.size(); ++c)
    s.eligible_[c] = table.devices[c], s.admits_[c] = table.admits[c];
  s.classes_ = static_cast<std::uint32_t>(table.devices.size());
}

BERTH_INLINE void capacity_index::recount(live_shape& s, const task_shape& shape, const filter_table& table,
                                          std::span<const node_state> nodes, const node_resources& inside) noexcept {
  s.in_use_ = true;
  s.shape_ = shape;
  s.asks_inside_ = shape.asks_inside();
  s.seen_ = head_;
  s.most_ = static_cast<std::uint32_t>(shape.capped(live_shape::max_tasks_per_node));
  for (unsigned f = 0; f <= max_devices_per_node; ++f)
    s.per_free_[f] = static_cast<std::uint8_t>(shape.devices != 0 ? shape.capped(f / shape.devices) : 0);
  s.classes_ = 0;
  learn_classes(s, table);
  s.potential_known_ = false;
  for (auto& w : s.arena_) w = 0;
  for (auto& c : s.capacity_) c = 0;
  for (auto& i : s.info_) i = 0;
  const unsigned leaf_level = layout_.leaf_level();
  // Sums first, buckets afterwards: one move per domain.
  for (std::uint32_t leaf = 0; leaf < layout_.domains(leaf_level); ++leaf) {
    std::uint64_t sum = 0;
    const domain_record& r = layout_.record(leaf_level, leaf);
    for (std::uint32_t w = 0; w * 64 < r.children; ++w)
      sum += static_cast<std::uint64_t>(s.refresh_word(
          leaf, r, w, low_bits(r.children - w * 64 < 64 ? r.children - w * 64 : 64), nodes.data(), inside));
    s.capacity_[layout_.capacity_offset(leaf_level) + leaf] = sum;
  }
  for (unsigned l = leaf_level; l > 0; --l)
    for (std::uint32_t d = 0; d < layout_.domains(l); ++d) {
      const std::size_t at = layout_.capacity_offset(l) + d;
      if (detached_[at] == 0) s.capacity_[layout_.capacity_offset(l - 1) + layout_.parent(l, d)] += s.capacity_[at];
      if (s.capacity_[at] != 0) s.move(l, d, layout_.parent(l, d), 0, s.capacity_[at]);
    }
}

[[gnu::noinline]] BERTH_INLINE void capacity_index::count_potential(live_shape& s, const filter_table& table,
                                                                    std::span<const node_state> nodes,
                                                                    std::span<const node_class> classes,
                                                                    const node_resources& inside) noexcept {
  for (auto& p : s.potential_) p = 0;
  s.potential_known_ = true;
  const bool shape_has_devices = s.shape_.devices != 0;
  // One pass in tree order: a running sum per level, closed when its domain ends.
  std::uint64_t sum[domain_tree::max_levels] = {};
  std::uint32_t open[domain_tree::max_levels];
  for (auto& o : open) o = live_shape::no_domain;
  for (std::uint32_t n = 0; n < nodes.size(); ++n) {
    const node_state& node = nodes[n];
    const node_class& c = classes[node.node_class.index()];
    const std::size_t ci = node.node_class.index();
    const std::uint64_t most = shape_has_devices ? s.per_free_[count_bits(node.installed & table.devices_ever[ci])]
                               : table.admits_ever[ci] != 0 ? s.most_
                                                            : 0U;
    std::uint64_t fit = s.limit(most, c.cpu, c.memory);
    if (s.asks_inside_)
      fit = inside.potential(n, c, node.node_class, node.installed, node.installed & table.devices_ever[ci], s.shape_,
                             static_cast<std::uint32_t>(fit));
    std::uint32_t d = node.leaf;
    for (unsigned l = layout_.levels(); l-- > 0;) {
      if (open[l] != d) open[l] = d, sum[l] = 0;
      sum[l] += fit;
      if (sum[l] > s.potential_[l]) s.potential_[l] = sum[l];
      if (l != 0) d = layout_.parent(l, d);
    }
  }
}

}  // namespace berth::detail
