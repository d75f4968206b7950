#pragma once
/// \file
/// How many processes may share a GPU through MPS, by generation and CUDA version, and what NVIDIA's device plug-in for
/// Kubernetes makes of it.
///
/// Source  NVIDIA, "Multi-Process Service" (clients per device; limits inside MIG); README and
///         `cmd/mps-control-daemon/mps/` of NVIDIA/k8s-device-plugin (replicas, memory and threads of each).
/// Note    The limits hold for `CUDA_DEVICE_MAX_CONNECTIONS` as it is by default; raising it lowers them.

#include <compare>
#include <cstdint>

namespace berth {

struct cuda_version {
  unsigned major = 12, minor = 0;
  friend constexpr auto operator<=>(const cuda_version&, const cuda_version&) noexcept = default;
};

/// The most replicas that a GPU is time-sliced into here; beyond that nobody gets turns of use.
inline constexpr unsigned max_time_slice_replicas = 1000;

/// Clients of one MPS server: 16 before Volta (compute capability 7.0), 48 from Volta on, 60 from CUDA 13.1 on.
[[nodiscard]] constexpr unsigned mps_client_limit(bool volta_or_later, cuda_version cuda) noexcept {
  return !volta_or_later ? 16 : cuda >= cuda_version{13, 1} ? 60 : 48;
}
/// The same inside a MIG instance that has `slices` of the GPU's `of` compute slices: in proportion, rounded down, at
/// least one. \pre of > 0
[[nodiscard]] constexpr unsigned mps_client_limit_in_instance(unsigned limit, unsigned slices, unsigned of) noexcept {
  const unsigned n = limit * slices / of;
  return n > 0 ? n : 1;
}
/// The most MPS replicas that the device plug-in advertises per GPU, whatever the CUDA version.
[[nodiscard]] constexpr unsigned kubernetes_mps_replica_limit(bool volta_or_later) noexcept {
  return volta_or_later ? 48 : 16;
}
/// What each of the plug-in's MPS replicas may use of the memory. \pre replicas > 0
[[nodiscard]] constexpr std::uint32_t kubernetes_mps_memory_mib(std::uint32_t memory_mib, unsigned replicas) noexcept {
  return memory_mib / replicas;
}
/// And of the threads, in percent.
[[nodiscard]] constexpr unsigned kubernetes_mps_percent(unsigned replicas) noexcept {
  return 100 / replicas;
}

}  // namespace berth
