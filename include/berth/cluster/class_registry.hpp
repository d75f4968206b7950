#pragma once
/// \file
/// The kinds of machine of a cluster, the classes of equal nodes, and what every filter leaves of every class.

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <utility>

#include "berth/cluster/node_filter.hpp"
#include "berth/core/bits.hpp"
#include "berth/core/flat_array.hpp"
#include "berth/core/hash_slots.hpp"
#include "berth/core/id.hpp"
#include "berth/topology/node_shape.hpp"

namespace berth::detail {

/// What a filter leaves of every class, by class.
struct filter_table {
  flat_array<device_mask> devices;
  flat_array<std::uint8_t> admits;
  /// Were there no taints: they come and go with a node's state, its other labels do not.
  flat_array<device_mask> devices_ever;
  flat_array<std::uint8_t> admits_ever;
};

/// Grows only: ids stay valid. All calls that add something allocate.
class class_registry {
 public:
  static constexpr std::size_t max_classes = 65'535, max_filters = 65'535, max_shapes = 65'535;

  explicit class_registry(std::span<const node_shape> shapes) {
    shapes_.reserve(shapes.size());
    for (const node_shape& s : shapes) shapes_.append(s);
    filters_.append({});  // filter 0 admits everything
    tables_.append({});
    by_filter_.add(0, [&](std::size_t f) { return hash(filters_[f]); });
  }

  [[nodiscard]] std::span<const node_shape> shapes() const noexcept { return {shapes_.data(), shapes_.size()}; }
  [[nodiscard]] std::span<const node_class> classes() const noexcept { return {classes_.data(), classes_.size()}; }
  [[nodiscard]] std::span<const node_filter> filters() const noexcept { return {filters_.data(), filters_.size()}; }
  [[nodiscard]] std::span<const filter_table> tables() const noexcept { return {tables_.data(), tables_.size()}; }
  [[nodiscard]] const node_class& class_at(class_id c) const noexcept { return classes_[c.index()]; }
  [[nodiscard]] const filter_table& table(filter_id f) const noexcept { return tables_[f.index()]; }

  /// None where there is no room for one more. O(labels), plus O(filters) for a new class.
  [[nodiscard]] class_id find_or_add_class(node_class c) {
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
  /// None where there is no room for one more. O(its labels), plus O(classes) for a new one.
  template <class = void>
  [[nodiscard]] filter_id find_or_add_filter(const node_filter& filter) {
    const std::uint32_t known = by_filter_.find(hash(filter), [&](std::uint32_t f) { return filters_[f] == filter; });
    if (known != hash_slots::none) return filter_id{static_cast<std::uint16_t>(known)};
    if (filters_.size() == max_filters) return {};
    filters_.append(filter);
    by_filter_.add(filters_.size() - 1, [&](std::size_t f) { return hash(filters_[f]); });
    tables_.append({});
    for (const node_class& c : classes_) add_row(tables_.back(), filter, c);
    return filter_id{static_cast<std::uint16_t>(filters_.size() - 1)};
  }
  /// The shape that a shape with broken links was made from; itself where no link is broken.
  [[nodiscard]] shape_id whole_shape(shape_id s) const noexcept {
    for (const variant& v : variants_)
      if (v.made == s) return v.whole;
    return s;
  }
  /// A shape like `whole` but for its bandwidths; none where there is no room for one more.
  template <class = void>
  [[nodiscard]] shape_id find_or_add_variant(node_shape shape, shape_id whole) {
    if (shapes_[whole.index()].bandwidth == shape.bandwidth) return whole;
    for (const variant& v : variants_)
      if (v.whole == whole && shapes_[v.made.index()].bandwidth == shape.bandwidth) return v.made;
    if (shapes_.size() >= max_shapes) return {};
    shapes_.append(std::move(shape));
    const shape_id made{static_cast<std::uint16_t>(shapes_.size() - 1)};
    variants_.append({made, whole});
    return made;
  }

 private:
  struct variant {
    shape_id made, whole;
  };
  [[nodiscard]] static bool equal(const node_class& a, const node_class& b) noexcept {
    if (a.shape != b.shape || a.cpu != b.cpu || a.memory != b.memory || a.labels.size() != b.labels.size())
      return false;
    for (std::size_t i = 0; i < a.labels.size(); ++i)
      if (a.labels[i] != b.labels[i]) return false;
    return true;
  }
  /// FNV-1a (Fowler, Noll, Vo) over labels and amounts.
  struct fnv {
    std::uint64_t h = 0xcbf29ce484222325U;
    void mix(std::uint64_t v) noexcept { h = (h ^ v) * 0x100000001b3U; }
    void mix_all(std::span<const std::string> labels) noexcept {
      for (const std::string& l : labels) {
        for (const char ch : l) mix(static_cast<unsigned char>(ch));
        mix(0x100);  // no character: where one label ends
      }
    }
    [[nodiscard]] std::size_t value() const noexcept { return static_cast<std::size_t>(h ^ h >> 32); }
  };
  [[nodiscard]] static std::size_t hash(const node_class& c) noexcept {
    fnv f;
    f.mix(c.shape.raw());
    for (const std::int64_t v : {c.cpu.count(), c.memory.count()})
      for (unsigned i = 0; i < 64; i += 8) f.mix(static_cast<std::uint64_t>(v) >> i & 0xffU);
    f.mix_all(c.labels);
    return f.value();
  }
  [[nodiscard]] static std::size_t hash(const node_filter& n) noexcept {
    fnv f;
    for (const auto* list : {&n.all_of, &n.none_of, &n.any_of, &n.models, &n.tolerations}) {
      f.mix_all(*list);
      f.mix(0x101);  // where one list ends
    }
    f.mix(n.taints ? 1 : 0);
    return f.value();
  }
  void add_row(filter_table& t, const node_filter& f, const node_class& c) const {
    const eligibility e = c.shape ? evaluate(f, c, shapes_[c.shape.index()]) : eligibility{};
    t.devices.append(e.devices);
    t.admits.append(e.admits ? 1 : 0);
    const eligibility ever = f.taints && c.shape ? evaluate(without_taints(f), c, shapes_[c.shape.index()]) : e;
    t.devices_ever.append(ever.devices);
    t.admits_ever.append(ever.admits ? 1 : 0);
  }

  flat_array<node_shape> shapes_;
  flat_array<variant> variants_;  ///< shape with broken links -> whole shape
  flat_array<node_class> classes_;
  hash_slots by_class_, by_filter_;
  std::size_t last_ = 0;  ///< class found last
  flat_array<node_filter> filters_;
  flat_array<filter_table> tables_;  ///< by filter
};

}  // namespace berth::detail
