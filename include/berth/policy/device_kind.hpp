#pragma once
/// \file
/// Which kind of device suits which work: a table of rules, read from above; the first that applies decides. The table
/// is plain data, to be read, changed or read from a file (`io/kind_rules_json.hpp`).
///
/// A rule applies where all that it states holds, and where the GPU can serve the kind that it names. What is not known
/// of a request (memory, utilisation) satisfies no limit, so that unknown work is never squeezed.

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "berth/core/separate.hpp"
#include "berth/topology/mig_geometry.hpp"
#include "berth/topology/sharing_limits.hpp"

namespace berth {

enum class work_kind : std::uint8_t { training, online_inference, batch_inference, development };
/// How much a late answer hurts. Of work other than online inference: `none`.
enum class latency_class : std::uint8_t { none, relaxed, strict };
enum class device_kind : std::uint8_t { whole_gpu, mig_large, mig_small, mig_small_mps, time_slice };

inline constexpr std::string_view work_kind_names[] = {"training", "online-inference", "batch-inference",
                                                       "development"};
inline constexpr std::string_view latency_class_names[] = {"none", "relaxed", "strict"};
inline constexpr std::string_view device_kind_names[] = {"whole-gpu", "mig-large", "mig-small", "mig-small-mps",
                                                         "time-slice"};

/// What is known of a request.
struct workload {
  work_kind kind = work_kind::training;
  latency_class latency = latency_class::none;
  std::uint32_t gpus = 1;                   ///< of one task
  bool peer_to_peer = false;                ///< needs NVLink or P2P to other GPUs, as gangs that train together do
  std::optional<std::uint32_t> memory_mib;  ///< at its peak, per GPU
  std::optional<unsigned> utilisation;      ///< percent of a whole GPU's compute, at its peak
};

/// One row. What is empty is not asked.
struct kind_rule {
  std::string name;
  std::uint8_t kinds = 0xff;                                    ///< bit per `work_kind`
  std::uint8_t latencies = 0xff;                                ///< bit per `latency_class`
  std::optional<bool> linked;                                   ///< whether it needs several GPUs or links between them
  std::optional<unsigned> memory_at_most, utilisation_at_most;  ///< percent of a whole GPU
  device_kind use = device_kind::whole_gpu;
  std::string why, source;
};

/// The GPU that is considered.
struct kind_gpu {
  std::uint32_t memory_mib = 0;            ///< as the device reports it
  const mig_geometry* geometry = nullptr;  ///< null: no MIG
  bool volta_or_later = true;
  cuda_version cuda{};
};

/// What the rules say.
struct kind_choice {
  std::size_t rule = 0;  ///< index in the table
  device_kind use = device_kind::whole_gpu;
  std::optional<unsigned> profile;  ///< of MIG kinds: index in the product's profiles
  unsigned sharers = 1;             ///< how many of its like fit on the device: MPS clients, time-slices
};

/// The table that berth comes with.
[[nodiscard]] std::vector<kind_rule> default_kind_rules();

/// The first rule that applies to the work on that GPU, and what it comes to. Nothing where no rule does, or the work
/// needs more memory than the GPU has, or more than 100 %. O(rules × profiles).
[[nodiscard]] std::optional<kind_choice> choose_device_kind(std::span<const kind_rule> rules, const workload& w,
                                                            const kind_gpu& gpu) noexcept;

}  // namespace berth

#if BERTH_WITH_BODIES
#include "berth/policy/impl/device_kind.hpp"
#endif
