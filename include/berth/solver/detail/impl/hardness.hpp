#pragma once
/// \file
/// Bodies of `berth/solver/detail/hardness.hpp`.

#include "berth/solver/detail/hardness.hpp"

namespace berth::detail {

BERTH_INLINE std::uint32_t thousandths_of(const cluster& c, const part_need& n) noexcept {
  const unsigned part = n.thousandths() != 0  ? n.thousandths()
                        : n.memory_mib() != 0 ? n.memory_mib() / 1024
                                              : n.memory_thousandths();
  if (!n.has_places()) return n.count() * part;
  const device_parts& parts = c.inside().parts();
  unsigned room = 1;
  for (unsigned p = 0; p < parts.catalogue().products.size(); ++p)
    if (parts.room(n.request(), p, 0) > room) room = parts.room(n.request(), p, 0);
  return (n.is_mig() ? n.count() * 1000 : part) / room;
}

BERTH_INLINE bool is_harder(const cluster& c, const task_shape& x, const task_shape& y) noexcept {
  const bool xm = !c.filter(x.filter).models.empty(), ym = !c.filter(y.filter).models.empty();
  if (xm != ym) return xm;
  if (x.devices != y.devices) return x.devices > y.devices;
  if (!(x.part == y.part)) return thousandths_of(c, x.part) > thousandths_of(c, y.part);
  if (x.cpu != y.cpu) return x.cpu > y.cpu;
  if (x.memory != y.memory) return x.memory > y.memory;
  return x.per_node != y.per_node && y.shares_as_much_as(x);
}

}  // namespace berth::detail
