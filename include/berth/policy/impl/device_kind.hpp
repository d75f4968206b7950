#pragma once
/// \file
/// Bodies of `berth/policy/device_kind.hpp`.

#include "berth/policy/device_kind.hpp"

namespace berth {

BERTH_INLINE std::vector<kind_rule> default_kind_rules() {
  const auto of = [](std::initializer_list<work_kind> kinds) {
    unsigned m = 0;
    for (const auto k : kinds) m |= 1U << static_cast<unsigned>(k);
    return static_cast<std::uint8_t>(m);
  };
  const auto late = [](latency_class l) { return static_cast<std::uint8_t>(1U << static_cast<unsigned>(l)); };
  using enum work_kind;
  const char* const gke = "Google, About GPU sharing strategies in GKE";
  std::vector<kind_rule> t(9);
  t[0] = {"linked",
          0xff,
          0xff,
          true,
          {},
          {},
          device_kind::whole_gpu,
          "instances have no NVLink and no P2P, and a process sees one of them",
          "NVIDIA MIG User Guide"};
  t[1] = {"small training",
          of({training}),
          0xff,
          {},
          50,
          50,
          device_kind::mig_large,
          "half a GPU of its own trains undisturbed",
          "NVIDIA MIG User Guide"};
  t[2] = {"training",
          of({training}),
          0xff,
          {},
          {},
          {},
          device_kind::whole_gpu,
          "work that fills a GPU loses by sharing",
          "kubernetes.recipes, Time-Slicing vs MIG vs Full GPU Allocation"};
  t[3] = {"strict latency, small",
          of({online_inference}),
          late(latency_class::strict),
          {},
          25,
          30,
          device_kind::mig_small,
          "hardware isolation and predictable service; nobody else inside",
          gke};
  t[4] = {"strict latency",
          of({online_inference}),
          late(latency_class::strict),
          {},
          50,
          60,
          device_kind::mig_large,
          "hardware isolation and predictable service",
          gke};
  t[5] = {"relaxed latency or batch, small",
          of({online_inference, batch_inference}),
          0xff,
          {},
          10,
          30,
          device_kind::mig_small_mps,
          "several small servers fill an instance, apart from everybody else",
          "ParvaGPU (SC 2024), which runs MPS inside MIG instances"};
  t[6] = {"inference",
          of({online_inference, batch_inference}),
          0xff,
          {},
          50,
          60,
          device_kind::mig_large,
          "an instance of the size of the model",
          "kubernetes.recipes, Time-Slicing vs MIG vs Full GPU Allocation"};
  t[7] = {"development",
          of({development}),
          0xff,
          {},
          50,
          {},
          device_kind::time_slice,
          "interactive work comes in bursts and idles in between",
          gke};
  t[8] = {
      "all else",       0xff, 0xff, {}, {}, {}, device_kind::whole_gpu, "too large to share, or not known well enough",
      "the safe choice"};
  return t;
}

}  // namespace berth

namespace berth::detail {

/// The smallest profile that holds the work, of those that are large (half a GPU or more) or small; plain ones only.
[[nodiscard]] BERTH_INLINE std::optional<unsigned> profile_for(const kind_gpu& gpu, std::uint64_t memory_mib,
                                                               unsigned utilisation, bool large) noexcept {
  if (gpu.geometry == nullptr) return std::nullopt;
  const mig_geometry& g = *gpu.geometry;
  const unsigned all = g.product->compute.value_or(g.product->units.value_or(7)), units = g.product->units.value_or(8);
  std::optional<unsigned> best;
  for (unsigned q = 0; q < g.profiles; ++q) {
    const auto& row = g.row(q);
    if (g.of_profile[q] == 0 || !row.memory_mib || !row.size) continue;
    if (row.variant != catalogue::mig_variant::plain && row.variant != catalogue::mig_variant::double_memory) continue;
    if (*row.memory_mib < memory_mib || row.compute * 100U < utilisation * all) continue;
    if ((*row.size * 2U >= units) != large) continue;
    if (!best || row.compute < g.row(*best).compute ||
        (row.compute == g.row(*best).compute && *row.size < *g.row(*best).size))
      best = q;
  }
  return best;
}

}  // namespace berth::detail

namespace berth {

BERTH_INLINE std::optional<kind_choice> choose_device_kind(std::span<const kind_rule> rules, const workload& w,
                                                           const kind_gpu& gpu) noexcept {
  if ((w.memory_mib && *w.memory_mib > gpu.memory_mib) || w.utilisation.value_or(0) > 100) return std::nullopt;
  const bool linked = w.gpus > 1 || w.peer_to_peer;
  for (std::size_t i = 0; i < rules.size(); ++i) {
    const kind_rule& r = rules[i];
    if ((r.kinds >> static_cast<unsigned>(w.kind) & 1U) == 0) continue;
    if ((r.latencies >> static_cast<unsigned>(w.latency) & 1U) == 0) continue;
    if (r.linked && *r.linked != linked) continue;
    if (r.memory_at_most &&
        (!w.memory_mib || std::uint64_t{*w.memory_mib} * 100 > std::uint64_t{*r.memory_at_most} * gpu.memory_mib))
      continue;
    if (r.utilisation_at_most && (!w.utilisation || *w.utilisation > *r.utilisation_at_most)) continue;
    kind_choice out{i, r.use, std::nullopt, 1};
    if (r.use == device_kind::whole_gpu) return out;
    if (linked || !w.memory_mib || *w.memory_mib == 0) continue;  // parts have no links, and memory has to be checked
    if (r.use == device_kind::time_slice) {
      out.sharers = gpu.memory_mib / *w.memory_mib;
      if (out.sharers > max_time_slice_replicas) out.sharers = max_time_slice_replicas;
      return out;
    }
    out.profile = detail::profile_for(gpu, *w.memory_mib, w.utilisation.value_or(100), r.use == device_kind::mig_large);
    if (!out.profile) continue;
    if (r.use == device_kind::mig_small_mps) {
      const auto& row = gpu.geometry->row(*out.profile);
      const unsigned all = gpu.geometry->product->compute.value_or(7);
      const unsigned most =
          mps_client_limit_in_instance(mps_client_limit(gpu.volta_or_later, gpu.cuda), row.compute, all);
      out.sharers = *row.memory_mib / *w.memory_mib;
      if (out.sharers > most) out.sharers = most;
      if (w.utilisation && *w.utilisation != 0 && row.compute * 100U / (*w.utilisation * all) < out.sharers)
        out.sharers = row.compute * 100U / (*w.utilisation * all);
    }
    return out;
  }
  return std::nullopt;
}

}  // namespace berth
