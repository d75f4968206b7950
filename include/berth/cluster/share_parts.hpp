#pragma once
/// \file
/// Terms of sharing as what a cluster holds: limits of a GPU model (`part_model`) or of the instances of a MIG profile
/// (`instance_limits`), and what a task asks (`part_need`), so that time-slices, MPS clients, fractions and shards are
/// placed and committed in gangs with everything else.
///
/// A cluster counts clients, memory and thousandths per device and per shared instance; where the terms are MPS,
/// clients are of one user at a time; where they are fractions, all cores are exclusive.

#include <cstdint>

#include "berth/cluster/device_sharing.hpp"
#include "berth/cluster/part_catalogue.hpp"
#include "berth/cluster/task_part.hpp"
#include "berth/core/expected.hpp"

namespace berth {

/// Thousandths of a device that one replica, or one shard, stands for; 0 where replicas are not counted so.
[[nodiscard]] constexpr unsigned thousandths_per_replica(const share_terms& t) noexcept {
  return t.clients != 0 && (t.mode == share_mode::time_slice || t.mode == share_mode::shards) ? 1000U / t.clients : 0U;
}

namespace detail {
/// \returns false, and changes nothing, for terms that a cluster cannot count
template <class Limits>
constexpr bool set_limits(Limits& l, const share_terms& t) noexcept {
  const std::uint64_t memory = shared_memory(t);
  if (t.clients > 1000 || memory > 0xffff'ffffU) return false;
  l.clients = t.clients;
  l.memory_mib = static_cast<std::uint32_t>(memory);
  const unsigned each = thousandths_per_replica(t);
  // Caps that are not summed leave the sum unlimited, as far as 16 bits go.
  l.thousandths = each != 0            ? static_cast<std::uint16_t>(each * t.clients)
                  : t.core_factor != 0 ? t.core_factor
                                       : 65'535;
  l.one_user = t.mode == share_mode::mps;
  l.exclusive_whole = t.mode == share_mode::fraction;
  l.terms = t;
  return true;
}
}  // namespace detail

/// Sets how devices of the model are shared. \returns false, and changes nothing, for terms that a cluster cannot
/// count: more than 1,000 replicas, memory beyond 4 TiB with its factor
constexpr bool set_share_terms(part_model& m, const share_terms& t) noexcept {
  if (t.mode != share_mode::none && !detail::set_limits(m, t)) return false;
  m.shares = t.mode != share_mode::none;
  if (!m.shares) m.terms = {};
  return true;
}
/// The same for the instances of a MIG profile. \param t  made for a `share_host` that is such an instance
constexpr bool set_share_terms(instance_limits& l, const share_terms& t) noexcept {
  if (t.mode != share_mode::none) return detail::set_limits(l, t);
  l = {};
  return true;
}

/// What a task asks: the same of each of `gpus` different devices, or with `in_instance` of an instance. Refused for
/// what the terms never allow, whatever else is on the device; replicas on several GPUs are several of one request.
/// \pre a.user < 65'536
[[nodiscard]] constexpr expected<part_need, share_fault> share_need(const share_terms& t, const share_ask& a,
                                                                    unsigned gpus = 1) noexcept {
  if (const auto ok = check_share(t, {}, a); !ok) return unexpected<share_fault>{ok.error()};
  if (t.one_replica_only && gpus > 1) return unexpected<share_fault>{share_fault::one_replica_only};
  const unsigned each = thousandths_per_replica(t);
  unsigned thousandths = each != 0 ? each * a.replicas : t.core_factor != 0 ? a.cores * 10U : 0U;
  const std::uint32_t memory = t.memory_mib ? detail::counted_memory(t, a) : 0;
  if (thousandths == 0 && memory == 0) thousandths = 1;  // a need asks for something
  const part_need n = part_need::share(thousandths, memory, gpus);
  return t.mode == share_mode::mps ? n.of_user(static_cast<std::uint16_t>(a.user)) : n;
}

}  // namespace berth
