#pragma once
/// \file
/// The kinds of machine of a cluster, the classes of equal nodes, and what every filter leaves of every class.

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

#include "berth/cluster/node_filter.hpp"
#include "berth/core/bits.hpp"
#include "berth/core/flat_array.hpp"
#include "berth/core/hash_slots.hpp"
#include "berth/core/id.hpp"
#include "berth/core/separate.hpp"
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

  explicit class_registry(std::span<const node_shape> shapes);

  [[nodiscard]] std::span<const node_shape> shapes() const noexcept;
  [[nodiscard]] std::span<const node_class> classes() const noexcept;
  [[nodiscard]] std::span<const node_filter> filters() const noexcept;
  [[nodiscard]] std::span<const filter_table> tables() const noexcept;
  [[nodiscard]] const node_class& class_at(class_id c) const noexcept { return classes_[c.index()]; }
  [[nodiscard]] const filter_table& table(filter_id f) const noexcept { return tables_[f.index()]; }

  /// None where there is no room for one more. O(labels), plus O(filters) for a new class.
  [[nodiscard]] class_id find_or_add_class(node_class c);
  /// None where there is no room for one more. O(its labels), plus O(classes) for a new one.
  [[nodiscard]] filter_id find_or_add_filter(const node_filter& filter);
  /// The shape that a shape with broken links was made from; itself where no link is broken.
  [[nodiscard]] shape_id whole_shape(shape_id s) const noexcept;
  /// A shape like `whole` but for its bandwidths; none where there is no room for one more.
  [[nodiscard]] shape_id find_or_add_variant(node_shape shape, shape_id whole);

 private:
  struct variant {
    shape_id made, whole;
  };
  [[nodiscard]] static bool equal(const node_class& a, const node_class& b) noexcept;
  /// FNV-1a (Fowler, Noll, Vo) over labels and amounts.
  struct fnv {
    std::uint64_t h = 0xcbf29ce484222325U;
    void mix(std::uint64_t v) noexcept { h = (h ^ v) * 0x100000001b3U; }
    void mix_all(std::span<const std::string> labels) noexcept;
    [[nodiscard]] std::size_t value() const noexcept { return static_cast<std::size_t>(h ^ h >> 32); }
  };
  [[nodiscard]] static std::size_t hash(const node_class& c) noexcept;
  [[nodiscard]] static std::size_t hash(const node_filter& n) noexcept;
  void add_row(filter_table& t, const node_filter& f, const node_class& c) const;

  flat_array<node_shape> shapes_;
  flat_array<variant> variants_;  ///< shape with broken links -> whole shape
  flat_array<node_class> classes_;
  hash_slots by_class_, by_filter_;
  std::size_t last_ = 0;  ///< class found last
  flat_array<node_filter> filters_;
  flat_array<filter_table> tables_;  ///< by filter
};

}  // namespace berth::detail

#if BERTH_WITH_BODIES
#include "berth/cluster/impl/class_registry.hpp"
#endif
