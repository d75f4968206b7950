#pragma once
/// \file
/// One GPU, or one MIG instance, shared by several clients: the terms on which it is shared, what is in use, and
/// whether one more client fits. `cluster/share_parts.hpp` makes limits and needs of a cluster of them.
///
///   time_slice  turns of the whole device; nothing is isolated, memory least of all
///   mps         side by side; a percentage of the threads (a cap, no reservation) and a cap on memory; one user
///   fraction    vGPU, HAMi: MiB of memory and percent of the cores of one physical device, both counted
///   shards      Slurm: a device has so many shards, nothing is isolated
///
/// Memory is checked in every mode: no client beyond the device, all together not beyond the device times
/// `memory_factor`. So a client says what it needs, unless the terms let it go without. Amounts are per device and
/// never summed over devices. Sources: the documentation of each (`docs/sharing.md`).

#include <cstdint>
#include <optional>
#include <string>
#include <utility>

#include "berth/core/error.hpp"
#include "berth/core/expected.hpp"
#include "berth/core/separate.hpp"
#include "berth/topology/sharing_limits.hpp"

namespace berth {

enum class share_mode : std::uint8_t { none, time_slice, mps, fraction, shards };

[[nodiscard]] constexpr const char* share_mode_name(share_mode m) noexcept {
  constexpr const char* names[] = {"none", "time-slice", "mps", "fraction", "shards"};
  return names[static_cast<unsigned>(m)];
}

/// Why a client is refused; nothing is changed.
enum class share_fault : std::uint8_t {
  not_shared,       ///< the device has no terms
  no_clients_left,  ///< replicas, clients or shards are used up
  beyond_clients,   ///< the client asks for more of them than the device has at all
  memory_not_declared,
  beyond_memory,  ///< more than the device has, or than one replica gets
  no_memory_left,
  beyond_cores,  ///< more than 100 %
  no_cores_left,
  cores_not_limited,  ///< the mode cannot limit cores
  exclusive,          ///< all cores for one client, but there are others; or one client has them
  other_user,         ///< an MPS server serves one user at a time
  one_replica_only,   ///< the terms allow one replica per request
};
[[nodiscard]] constexpr const char* share_fault_text(share_fault f) noexcept {
  constexpr const char* texts[] = {"a device that is not shared",
                                   "a device with all its clients",
                                   "more clients than the device may have",
                                   "no statement of the memory needed",
                                   "more memory than a client of the device can have",
                                   "a device without enough memory left",
                                   "more than 100 percent of the cores",
                                   "a device without enough cores left",
                                   "a limit on cores, which the mode does not have",
                                   "a device that one client has to itself",
                                   "a device in use by another user",
                                   "several replicas, where the terms allow one"};
  return texts[static_cast<unsigned>(f)];
}

/// The device that is to be shared.
struct share_host {
  std::optional<std::uint32_t> memory_mib;  ///< as the device reports it
  bool volta_or_later = true;
  cuda_version cuda{};
  std::uint8_t slices = 0, of = 0;  ///< a MIG instance: its compute slices, of those of the GPU; 0: a whole GPU
  [[nodiscard]] constexpr bool in_instance() const noexcept { return of != 0; }
};

/// On what terms it is shared. Made by the functions below, which check them.
struct share_terms {
  share_mode mode = share_mode::none;
  bool undeclared_memory = false;           ///< clients need not say what memory they need; then nothing guards it
  bool one_replica_only = false;            ///< a request gets no second replica, as it would be no larger share
  bool even_split = false;                  ///< every replica gets the same part of memory and threads
  std::uint16_t clients = 0;                ///< replicas, clients, or shards
  std::uint16_t memory_factor = 1000;       ///< thousandths: how far declared memory may exceed the device's
  std::uint16_t core_factor = 1000;         ///< the same of cores; 0: percentages are caps and not summed
  std::optional<std::uint32_t> memory_mib;  ///< of the device
  friend constexpr bool operator==(const share_terms&, const share_terms&) noexcept = default;
};

/// What one client asks of one device.
struct share_ask {
  std::optional<std::uint32_t> memory_mib;
  std::uint16_t cores = 0;     ///< percent; 0: no limit stated
  std::uint16_t replicas = 1;  ///< replicas or shards
  std::uint32_t user = 0;      ///< who runs it; matters to MPS
  friend constexpr bool operator==(const share_ask&, const share_ask&) noexcept = default;
};

/// What is in use. Integers: giving back restores it bit for bit.
struct share_use {
  std::uint64_t memory_mib = 0;
  std::uint32_t cores = 0;      ///< percent, summed
  std::uint32_t user = 0;       ///< of MPS clients, while there are any
  std::uint16_t replicas = 0;   ///< taken
  std::uint16_t clients = 0;    ///< who share it now
  std::uint16_t exclusive = 0;  ///< of them, those with all cores to themselves
  friend constexpr bool operator==(const share_use&, const share_use&) noexcept = default;
};

namespace detail {
[[nodiscard]] constexpr std::uint64_t shared_memory(const share_terms& t) noexcept {
  return std::uint64_t{t.memory_mib.value_or(0)} * t.memory_factor / 1000;
}
/// What the client is counted with: an even split makes up for what it does not say.
[[nodiscard]] constexpr std::uint32_t counted_memory(const share_terms& t, const share_ask& a) noexcept {
  if (t.even_split && t.memory_mib) return kubernetes_mps_memory_mib(*t.memory_mib, t.clients);
  return a.memory_mib.value_or(0);
}
}  // namespace detail

/// Whether one more client fits. O(1).
[[nodiscard]] constexpr expected<void, share_fault> check_share(const share_terms& t, const share_use& u,
                                                                const share_ask& a) noexcept {
  using enum share_fault;
  const auto no = [](share_fault f) { return unexpected<share_fault>{f}; };
  if (t.mode == share_mode::none) return no(not_shared);
  if (a.replicas == 0 || a.replicas > t.clients) return no(beyond_clients);
  if (t.one_replica_only && a.replicas > 1) return no(one_replica_only);
  if (t.mode != share_mode::mps && t.mode != share_mode::fraction && a.cores != 0) return no(cores_not_limited);
  if (a.cores > 100) return no(beyond_cores);
  if (t.even_split && a.cores > kubernetes_mps_percent(t.clients)) return no(beyond_cores);
  if (!a.memory_mib && !t.undeclared_memory && !t.even_split) return no(memory_not_declared);
  if (a.memory_mib) {
    if (t.memory_mib && *a.memory_mib > *t.memory_mib) return no(beyond_memory);
    if (t.even_split && t.memory_mib && *a.memory_mib > detail::counted_memory(t, a)) return no(beyond_memory);
    if (!t.memory_mib && !t.undeclared_memory) return no(beyond_memory);  // unknown: nothing can be promised
  }
  if (t.mode == share_mode::mps && u.clients != 0 && u.user != a.user) return no(other_user);
  if (u.replicas + a.replicas > t.clients) return no(no_clients_left);
  if (t.memory_mib && u.memory_mib + detail::counted_memory(t, a) > detail::shared_memory(t)) return no(no_memory_left);
  if (t.mode == share_mode::fraction) {
    if (u.exclusive != 0 || (a.cores == 100 && u.clients != 0)) return no(exclusive);
    if (t.core_factor != 0 && a.cores == 0 && u.cores >= 100U * t.core_factor / 1000) return no(no_cores_left);
  }
  if (t.core_factor != 0 && u.cores + a.cores > 100U * t.core_factor / 1000) return no(no_cores_left);
  return {};
}
/// Takes the client in. \pre `check_share` allows it
constexpr void take_share(const share_terms& t, share_use& u, const share_ask& a) noexcept {
  u.memory_mib += detail::counted_memory(t, a);
  u.cores += a.cores;
  u.replicas = static_cast<std::uint16_t>(u.replicas + a.replicas);
  ++u.clients;
  if (t.mode == share_mode::mps) u.user = a.user;
  if (t.mode == share_mode::fraction && a.cores == 100) ++u.exclusive;
}
/// Undoes `take_share` of the same client.
constexpr void give_share(const share_terms& t, share_use& u, const share_ask& a) noexcept {
  u.memory_mib -= detail::counted_memory(t, a);
  u.cores -= a.cores;
  u.replicas = static_cast<std::uint16_t>(u.replicas - a.replicas);
  --u.clients;
  if (u.clients == 0) u.user = 0;
  if (t.mode == share_mode::fraction && a.cores == 100) --u.exclusive;
}
/// How many more such clients fit at once. O(clients).
[[nodiscard]] constexpr unsigned share_room(const share_terms& t, share_use u, const share_ask& a) noexcept {
  unsigned n = 0;
  for (; check_share(t, u, a); ++n) take_share(t, u, a);
  return n;
}
/// How full the device is, in thousandths: of clients, memory or cores, whichever is fullest. Above 1000 where caps on
/// cores are not summed.
[[nodiscard]] constexpr unsigned share_load(const share_terms& t, const share_use& u) noexcept {
  std::uint64_t most = t.clients != 0 ? std::uint64_t{u.replicas} * 1000 / t.clients : 0;
  if (const auto m = detail::shared_memory(t); m != 0 && u.memory_mib * 1000 / m > most) most = u.memory_mib * 1000 / m;
  const std::uint64_t cores = std::uint64_t{100} * (t.core_factor != 0 ? t.core_factor : 1000) / 1000;
  if (cores != 0 && std::uint64_t{u.cores} * 1000 / cores > most) most = std::uint64_t{u.cores} * 1000 / cores;
  return static_cast<unsigned>(most);
}

// -- terms ---------------------------------------------------------------------------------------------------------

namespace detail {
[[nodiscard]] unexpected<input_error> bad_terms(const char* what, std::string found, std::string wanted);
}  // namespace detail

/// Time-slicing in `replicas`. \param one_replica_only  the device plug-in's `failRequestsGreaterThanOne`
[[nodiscard]] expected<share_terms, input_error> time_slice_terms(const share_host& h, unsigned replicas,
                                                                  bool one_replica_only = true);
/// MPS with room for so many clients, which share memory and say what part of the threads each may use. Percentages are
/// caps; with `core_factor` above 0 they are summed as well.
[[nodiscard]] expected<share_terms, input_error> mps_terms(const share_host& h, unsigned clients,
                                                           unsigned core_factor = 0);
/// MPS as NVIDIA's device plug-in does it: equal parts, one per request, not on MIG devices.
[[nodiscard]] expected<share_terms, input_error> kubernetes_mps_terms(const share_host& h, unsigned replicas);
/// vGPU fractions as HAMi counts them. \param clients  `deviceSplitCount` \param memory_factor, core_factor  its
/// scaling, in thousandths
[[nodiscard]] expected<share_terms, input_error> fraction_terms(const share_host& h, unsigned clients = 10,
                                                                unsigned memory_factor = 1000,
                                                                unsigned core_factor = 1000);
/// Slurm's `gres/shard`, which knows nothing of memory: clients need not state any.
[[nodiscard]] expected<share_terms, input_error> shard_terms(const share_host& h, unsigned shards);

}  // namespace berth

#if BERTH_WITH_BODIES
#include "berth/cluster/impl/device_sharing.hpp"
#endif
