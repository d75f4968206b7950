#pragma once
/// \file
/// What the last week's samples say: GPUs that hardly worked, jobs that hardly used their memory, and what to do about
/// it.

#include <cstddef>
#include <cstdint>
#include <iterator>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "berth/core/separate.hpp"

namespace berth {

/// One reading of one GPU or MIG instance. What the source does not say is absent.
struct gpu_sample {
  double time = 0;     ///< seconds
  std::string device;  ///< UUID, with "/" and the instance for MIG
  std::string host;
  std::string owner;                         ///< "namespace/pod", or what the scheduler calls the job; empty: nobody
  std::optional<double> utilisation;         ///< part of the time in which it worked, 0..1
  std::optional<std::int64_t> memory_used;   ///< bytes
  std::optional<std::int64_t> memory_total;  ///< bytes
};

enum class waste_action : std::uint8_t {
  give_to_others,     ///< nobody holds the GPU
  ask_owner,          ///< held and idle: release it or explain
  smaller_or_shared,  ///< works, but far below what was asked: a MIG instance or a share would do
};
[[nodiscard]] constexpr const char* name_of(waste_action a) noexcept {
  constexpr const char* names[] = {"give to others", "ask the owner to release it",
                                   "ask for a MIG instance or a share"};
  return names[static_cast<std::size_t>(a)];
}

struct idle_gpu {
  std::string device, host;
  std::string owner;       ///< who held it longest
  double utilisation = 0;  ///< mean over the time covered
  double seconds = 0;      ///< time covered by samples
  waste_action action = waste_action::ask_owner;
};
struct roomy_job {
  std::string owner;
  std::int64_t peak_memory = 0;  ///< bytes, the most seen on one of its devices
  std::int64_t memory = 0;       ///< bytes of that device
  double part = 0;               ///< peak / memory
  std::int64_t enough = 0;       ///< bytes: peak and a fifth more, what to ask for next time
  waste_action action = waste_action::smaller_or_shared;
};

/// Limits of the report; times in seconds.
struct report_rule {
  double idle_below = 0.20;
  double memory_below = 0.30;
  double least_covered = 3600;  ///< a GPU with fewer seconds of samples is not judged
  double longest_gap = 600;     ///< a sample speaks for the time until the next, but no longer than this
};
struct weekly_report {
  std::vector<idle_gpu> idle;    ///< least used first
  std::vector<roomy_job> roomy;  ///< smallest part first
  std::size_t devices = 0;       ///< seen
  std::size_t judged = 0;        ///< with enough samples of utilisation
  double idle_gpu_hours = 0;     ///< Σ (1 - utilisation) × hours of `idle`
};

/// Reads the samples with begin <= time < end, in any order. A sample speaks for the time until the device's next one,
/// at most `longest_gap`; the last for as long as the one before it did. O(n log n).
[[nodiscard]] weekly_report report_of(std::span<const gpu_sample> samples, double begin, double end,
                                      const report_rule& rule = {});

}  // namespace berth

#if BERTH_WITH_BODIES
#include "berth/quota/honest/impl/weekly_report.hpp"
#endif
