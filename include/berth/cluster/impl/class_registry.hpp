#pragma once
/// \file
/// Bodies of `berth/cluster/class_registry.hpp`.

#include <utility>

#include "berth/cluster/class_registry.hpp"

namespace berth::detail {

BERTH_INLINE class_registry::class_registry(std::span<const node_shape> shapes) {
  shapes_.reserve(shapes.size());
  for (const node_shape& s : shapes) shapes_.append(s);
  filters_.append({});  // filter 0 admits everything
  tables_.append({});
  by_filter_.add(0, [&](std::size_t f) { return hash(filters_[f]); });
}

BERTH_INLINE class_id class_registry::find_or_add_class(node_class c) {
  if (last_ < classes_.size() && equal(classes_[last_], c)) return class_id{static_cast<std::uint16_t>(last_)};
  const std::uint32_t known = by_class_.find(hash(c), [&](std::uint32_t i) { return equal(classes_[i], c); });
  if (known != hash_slots::none) {
    last_ = known;
    return class_id{static_cast<std::uint16_t>(last_)};
  }
  if (classes_.size() == max_classes) return {};
  classes_.append(std::move(c));
  last_ = classes_.size() - 1;
  by_class_.add(last_, [&](std::size_t i) { return hash(classes_[i]); });
  for (std::size_t f = 0; f < filters_.size(); ++f) add_row(tables_[f], filters_[f], classes_.back());
  return class_id{static_cast<std::uint16_t>(last_)};
}

BERTH_INLINE filter_id class_registry::find_or_add_filter(const node_filter& filter) {
  const std::uint32_t known = by_filter_.find(hash(filter), [&](std::uint32_t f) { return filters_[f] == filter; });
  if (known != hash_slots::none) return filter_id{static_cast<std::uint16_t>(known)};
  if (filters_.size() == max_filters) return {};
  filters_.append(filter);
  by_filter_.add(filters_.size() - 1, [&](std::size_t f) { return hash(filters_[f]); });
  tables_.append({});
  for (const node_class& c : classes_) add_row(tables_.back(), filter, c);
  return filter_id{static_cast<std::uint16_t>(filters_.size() - 1)};
}

BERTH_INLINE shape_id class_registry::whole_shape(shape_id s) const noexcept {
  for (const variant& v : variants_)
    if (v.made == s) return v.whole;
  return s;
}

BERTH_INLINE shape_id class_registry::find_or_add_variant(node_shape shape, shape_id whole) {
  if (shapes_[whole.index()].bandwidth == shape.bandwidth) return whole;
  for (const variant& v : variants_)
    if (v.whole == whole && shapes_[v.made.index()].bandwidth == shape.bandwidth) return v.made;
  if (shapes_.size() >= max_shapes) return {};
  shapes_.append(std::move(shape));
  const shape_id made{static_cast<std::uint16_t>(shapes_.size() - 1)};
  variants_.append({made, whole});
  return made;
}

BERTH_INLINE bool class_registry::equal(const node_class& a, const node_class& b) noexcept {
  if (a.shape != b.shape || a.cpu != b.cpu || a.memory != b.memory || a.labels.size() != b.labels.size()) return false;
  for (std::size_t i = 0; i < a.labels.size(); ++i)
    if (a.labels[i] != b.labels[i]) return false;
  return true;
}

BERTH_INLINE void class_registry::fnv::mix_all(std::span<const std::string> labels) noexcept {
  for (const std::string& l : labels) {
    for (const char ch : l) mix(static_cast<unsigned char>(ch));
    mix(0x100);  // no character: where one label ends
  }
}

BERTH_INLINE std::size_t class_registry::hash(const node_class& c) noexcept {
  fnv f;
  f.mix(c.shape.raw());
  for (const std::int64_t v : {c.cpu.count(), c.memory.count()})
    for (unsigned i = 0; i < 64; i += 8) f.mix(static_cast<std::uint64_t>(v) >> i & 0xffU);
  f.mix_all(c.labels);
  return f.value();
}

BERTH_INLINE std::size_t class_registry::hash(const node_filter& n) noexcept {
  fnv f;
  for (const auto* list : {&n.all_of, &n.none_of, &n.any_of, &n.models, &n.tolerations}) {
    f.mix_all(*list);
    f.mix(0x101);  // where one list ends
  }
  f.mix(n.taints ? 1 : 0);
  return f.value();
}

BERTH_INLINE void class_registry::add_row(filter_table& t, const node_filter& f, const node_class& c) const {
  const eligibility e = c.shape ? evaluate(f, c, shapes_[c.shape.index()]) : eligibility{};
  t.devices.append(e.devices);
  t.admits.append(e.admits ? 1 : 0);
  const eligibility ever = f.taints && c.shape ? evaluate(without_taints(f), c, shapes_[c.shape.index()]) : e;
  t.devices_ever.append(ever.devices);
  t.admits_ever.append(ever.admits ? 1 : 0);
}

BERTH_INLINE std::span<const node_shape> class_registry::shapes() const noexcept {
  return {shapes_.data(), shapes_.size()};
}

BERTH_INLINE std::span<const node_class> class_registry::classes() const noexcept {
  return {classes_.data(), classes_.size()};
}

BERTH_INLINE std::span<const node_filter> class_registry::filters() const noexcept {
  return {filters_.data(), filters_.size()};
}

BERTH_INLINE std::span<const filter_table> class_registry::tables() const noexcept {
  return {tables_.data(), tables_.size()};
}

}  // namespace berth::detail
