#pragma once
/// \file
/// Bodies of `berth/cluster/device_sharing.hpp`.

#include "berth/cluster/device_sharing.hpp"

namespace berth {

BERTH_INLINE expected<share_terms, input_error> time_slice_terms(const share_host& h, unsigned replicas,
                                                                 bool one_replica_only) {
  if (replicas < 2 || replicas > max_time_slice_replicas)
    return detail::bad_terms("time-slicing", std::to_string(replicas) + " replicas",
                             "2 to " + std::to_string(max_time_slice_replicas));
  share_terms t;
  t.mode = share_mode::time_slice;
  t.clients = static_cast<std::uint16_t>(replicas);
  t.one_replica_only = one_replica_only;
  t.memory_mib = h.memory_mib;
  return t;
}

BERTH_INLINE expected<share_terms, input_error> mps_terms(const share_host& h, unsigned clients, unsigned core_factor) {
  unsigned most = mps_client_limit(h.volta_or_later, h.cuda);
  if (h.in_instance()) most = mps_client_limit_in_instance(most, h.slices, h.of);
  if (clients == 0 || clients > most)
    return detail::bad_terms("MPS", std::to_string(clients) + " clients",
                             "1 to " + std::to_string(most) + (h.in_instance() ? " inside that MIG instance" : "") +
                                 (h.volta_or_later ? "" : " before Volta"));
  if (core_factor > 60'000) return detail::bad_terms("MPS", std::to_string(core_factor), "a factor up to 60000");
  share_terms t;
  t.mode = share_mode::mps;
  t.clients = static_cast<std::uint16_t>(clients);
  t.core_factor = static_cast<std::uint16_t>(core_factor);
  t.memory_mib = h.memory_mib;
  return t;
}

BERTH_INLINE expected<share_terms, input_error> kubernetes_mps_terms(const share_host& h, unsigned replicas) {
  if (h.in_instance()) return detail::bad_terms("MPS of the device plug-in", "a MIG instance", "a whole GPU");
  const unsigned most = kubernetes_mps_replica_limit(h.volta_or_later);
  if (replicas < 2 || replicas > most)
    return detail::bad_terms("MPS of the device plug-in", std::to_string(replicas) + " replicas",
                             "2 to " + std::to_string(most));
  if (!h.memory_mib) return detail::bad_terms("MPS of the device plug-in", "unknown memory", "the memory of the GPU");
  share_terms t;
  t.mode = share_mode::mps;
  t.clients = static_cast<std::uint16_t>(replicas);
  t.one_replica_only = true;
  t.even_split = true;
  t.core_factor = 0;
  t.memory_mib = h.memory_mib;
  return t;
}

BERTH_INLINE expected<share_terms, input_error> fraction_terms(const share_host& h, unsigned clients,
                                                               unsigned memory_factor, unsigned core_factor) {
  if (clients == 0 || clients > 1000)
    return detail::bad_terms("fractions", std::to_string(clients) + " clients", "1 to 1000");
  if (memory_factor < 100 || memory_factor > 60'000 || core_factor < 100 || core_factor > 60'000)
    return detail::bad_terms("fractions",
                             "factors " + std::to_string(memory_factor) + " and " + std::to_string(core_factor),
                             "100 to 60000 thousandths");
  if (!h.memory_mib) return detail::bad_terms("fractions", "unknown memory", "the memory of the GPU");
  share_terms t;
  t.mode = share_mode::fraction;
  t.clients = static_cast<std::uint16_t>(clients);
  t.memory_factor = static_cast<std::uint16_t>(memory_factor);
  t.core_factor = static_cast<std::uint16_t>(core_factor);
  t.memory_mib = h.memory_mib;
  return t;
}

BERTH_INLINE expected<share_terms, input_error> shard_terms(const share_host& h, unsigned shards) {
  if (shards == 0 || shards > 1000) return detail::bad_terms("shards", std::to_string(shards), "1 to 1000 per GPU");
  share_terms t;
  t.mode = share_mode::shards;
  t.clients = static_cast<std::uint16_t>(shards);
  t.undeclared_memory = true;
  t.memory_mib = h.memory_mib;
  return t;
}

}  // namespace berth

namespace berth::detail {

BERTH_INLINE unexpected<input_error> bad_terms(const char* what, std::string found, std::string wanted) {
  return unexpected{input_error{what, 0, std::move(found), std::move(wanted)}};
}

}  // namespace berth::detail
