#pragma once
/// \file
/// `cluster::check_invariants`.

#include <cstddef>
#include <cstdint>

#include "berth/cluster/cluster.hpp"
#include "berth/core/flat_array.hpp"

namespace berth {

BERTH_INLINE bool cluster::check_invariants() const {
  flat_array<node_state> naive(nodes_.size());
  for (std::size_t n = 0; n < nodes_.size(); ++n) {
    const node_class& c = registry_.class_at(nodes_[n].node_class);
    naive[n].cpu = c.cpu;
    naive[n].memory = c.memory;
  }
  bool ok = true;
  for_each_job([&](job_key key) {
    for_each_task(key, [&](const committed_task& t) {
      node_state& s = naive[t.node.index()];
      if (!inside_.parts().is_on() || !part_of(t).asks()) {
        ok = ok && (s.held & t.devices) == 0;  // no double booking
        s.held |= t.devices;
      }
      s.cpu -= t.cpu;
      s.memory -= t.memory;
      ++s.tasks;
    });
  });
  for (std::uint32_t n = 0; n < nodes_.size(); ++n) {
    const node_state& s = nodes_[n];
    if (inside_.parts().is_on()) {
      const device_mask cut = inside_.parts().masks(n).open();
      ok = ok && (naive[n].held & cut) == 0;  // nothing is whole and in parts
      naive[n].held |= cut;
    }
    ok = ok && s.held == naive[n].held && s.cpu == naive[n].cpu && s.memory == naive[n].memory &&
         s.tasks == naive[n].tasks;
    ok = ok && s.free == (s.usable ? s.installed & ~s.held & ~s.unhealthy : 0) && s.cpu.count() >= 0 &&
         s.memory.count() >= 0;
  }
  const auto each_binding = [&](auto&& f) {
    for (std::uint32_t j = 0; j < store_.job_slots(); ++j)
      for (std::uint32_t t = store_.at(j).parked ? detail::allocation_store::none : store_.at(j).first;
           t != detail::allocation_store::none; t = store_.task(t).next)
        f(t, store_.task(t).node.raw(), store_.task(t).cpu, store_.task(t).memory, store_.task(t).devices);
  };
  const auto each_part = [&](auto&& f) {
    each_binding(
        [&](std::uint32_t slot, std::uint32_t n, cpu_millis, bytes, device_mask devices) { f(slot, n, devices); });
  };
  return ok && inside_.agrees(nodes(), each_binding) && inside_.parts().agrees(nodes(), each_part) &&
         index_.agrees_with(nodes(), registry_.tables(), registry_.classes(), inside_);
}

}  // namespace berth
