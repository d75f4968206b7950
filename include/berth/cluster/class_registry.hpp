#pragma once
/// \file
/// The kinds of machine of a cluster, the classes of equal nodes, and what every filter leaves of every class.

#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "berth/cluster/node_filter.hpp"
#include "berth/core/bits.hpp"
#include "berth/core/id.hpp"
#include "berth/topology/node_shape.hpp"

namespace berth::detail {

/// What a filter leaves of every class, by class.
struct filter_table {
  std::vector<device_mask> devices;
  std::vector<std::uint8_t> admits;
};

/// Grows only: ids stay valid. All calls that add something allocate.
class class_registry {
 public:
  static constexpr std::size_t max_classes = 65'535;

  explicit class_registry(const std::vector<node_shape>& shapes) : shapes_{shapes} {
    filters_.emplace_back();  // filter 0 admits everything
    tables_.emplace_back();
  }

  [[nodiscard]] const std::vector<node_shape>& shapes() const noexcept { return shapes_; }
  [[nodiscard]] const std::vector<node_class>& classes() const noexcept { return classes_; }
  [[nodiscard]] const std::vector<node_filter>& filters() const noexcept { return filters_; }
  [[nodiscard]] const std::vector<filter_table>& tables() const noexcept { return tables_; }
  [[nodiscard]] const node_class& class_at(class_id c) const noexcept { return classes_[c.index()]; }
  [[nodiscard]] const filter_table& table(filter_id f) const noexcept { return tables_[f.index()]; }

  /// None where there is no room for one more. O(classes).
  [[nodiscard]] class_id find_or_add_class(node_class c) {
    const auto equal = [&](const node_class& o) {
      return o.shape == c.shape && o.cpu == c.cpu && o.memory == c.memory && o.labels == c.labels;
    };
    if (last_ < classes_.size() && equal(classes_[last_])) return class_id{static_cast<std::uint16_t>(last_)};
    for (last_ = 0; last_ < classes_.size(); ++last_)
      if (equal(classes_[last_])) return class_id{static_cast<std::uint16_t>(last_)};
    if (classes_.size() == max_classes) return {};
    classes_.push_back(std::move(c));
    for (std::size_t f = 0; f < filters_.size(); ++f) add_row(tables_[f], filters_[f], classes_.back());
    return class_id{static_cast<std::uint16_t>(last_)};
  }
  [[nodiscard]] filter_id find_or_add_filter(const node_filter& filter) {
    for (std::size_t f = 0; f < filters_.size(); ++f)
      if (filters_[f] == filter) return filter_id{static_cast<std::uint16_t>(f)};
    filters_.push_back(filter);
    tables_.emplace_back();
    for (const node_class& c : classes_) add_row(tables_.back(), filter, c);
    return filter_id{static_cast<std::uint16_t>(filters_.size() - 1)};
  }
  /// The shape that a shape with broken links was made from; itself where no link is broken.
  [[nodiscard]] shape_id whole_shape(shape_id s) const noexcept {
    for (const auto& [variant, whole] : variants_)
      if (variant == s) return whole;
    return s;
  }
  /// A shape like `whole` but for its bandwidths.
  [[nodiscard]] shape_id find_or_add_variant(node_shape shape, shape_id whole) {
    if (shapes_[whole.index()].bandwidth == shape.bandwidth) return whole;
    for (const auto& [variant, of] : variants_)
      if (of == whole && shapes_[variant.index()].bandwidth == shape.bandwidth) return variant;
    shapes_.push_back(std::move(shape));
    const shape_id made{static_cast<std::uint16_t>(shapes_.size() - 1)};
    variants_.emplace_back(made, whole);
    return made;
  }

 private:
  void add_row(filter_table& t, const node_filter& f, const node_class& c) const {
    const eligibility e = c.shape ? evaluate(f, c, shapes_[c.shape.index()]) : eligibility{};
    t.devices.push_back(e.devices);
    t.admits.push_back(e.admits ? 1 : 0);
  }

  std::vector<node_shape> shapes_;
  std::vector<std::pair<shape_id, shape_id>> variants_;  ///< shape with broken links -> whole shape
  std::vector<node_class> classes_;
  std::size_t last_ = 0;  ///< class found last
  std::vector<node_filter> filters_;
  std::vector<filter_table> tables_;  ///< by filter
};

}  // namespace berth::detail
