#pragma once
/// \file
/// Offline MIG packing: the fewest GPUs that hold a multiset of profiles, with a proven lower bound.
///
/// A GPU is filled by one of a few patterns: the multisets of profiles that some layout holds, none contained in
/// another (28 to 64 per product). How often each pattern is used is a covering program. Its linear relaxation (Gilmore
/// and Gomory 1961, with all columns at hand) gives weights of profiles under which no GPU holds more than 1, so that
/// the weight of the demand, rounded up, is a lower bound. Whole multiples of the relaxation's patterns are taken
/// first, the rest is searched depth first with the same weights as a bound, and once more from nothing where the two
/// do not meet.
///
/// For planning, not for the hot path: allocates, some milliseconds.

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <set>
#include <utility>
#include <vector>

#include "berth/core/separate.hpp"
#include "berth/solver/small_lp.hpp"
#include "berth/topology/mig_geometry.hpp"

namespace berth {

/// Instances per profile.
using mig_demand = std::array<std::uint32_t, max_mig_profiles>;

/// `copies` GPUs, each with these instances.
struct mig_packed_layout {
  mig_set instances = 0;
  std::uint32_t copies = 0;
};

struct mig_packing {
  std::uint32_t gpus = 0, lower_bound = 0;
  std::vector<mig_packed_layout> layouts;
  /// Whether fewer GPUs are proven impossible.
  [[nodiscard]] bool optimal() const noexcept { return gpus == lower_bound; }
};

/// An upper bound of the compute slices that any choice out of a demand can use on some GPUs: a dual solution, so that
/// it holds for every demand and number of GPUs, and is tight near those it was made for.
struct mig_compute_bound {
  std::array<double, max_mig_profiles> per_instance{};
  double per_gpu = 0;
  /// O(profiles).
  [[nodiscard]] double of(const mig_demand& demand, std::uint32_t gpus) const noexcept;
};

class mig_packer {
 public:
  /// Enumerates the layouts. O(layouts).
  explicit mig_packer(const mig_geometry& g);

  [[nodiscard]] std::size_t pattern_count() const noexcept { return patterns_.size(); }

  /// The fewest GPUs for the demand. Refused: a profile that no layout holds. `nodes`: search steps before the best
  /// found so far is returned with the bound that was proven.
  [[nodiscard]] expected<mig_packing, input_error> pack(const mig_demand& demand, std::uint64_t nodes = 200000) const;

  /// The most compute slices that `gpus` GPUs can hold out of the demand, taking what suits: the relaxation, an upper
  /// bound that is met but for roundings.
  [[nodiscard]] double most_compute(const mig_demand& demand, std::uint32_t gpus) const {
    return compute_bound(demand, gpus).of(demand, gpus);
  }
  /// The bound that is tight for that demand and number of GPUs.
  [[nodiscard]] mig_compute_bound compute_bound(const mig_demand& demand, std::uint32_t gpus) const;

 private:
  struct pattern {
    std::array<std::uint8_t, max_mig_profiles> holds{};
    mig_set layout = 0;
  };
  using weights = std::array<double, max_mig_profiles>;
  struct search {
    weights y;
    std::set<std::pair<std::uint32_t, mig_demand>> failed;
    std::uint64_t left;
    std::vector<std::size_t> taken;
  };

  /// The best of a program whose value has a bound. Were it not found, all zeros: no weight and no price at all make
  /// worse bounds, not wrong ones.
  [[nodiscard]] static small_lp::solution solved(const small_lp& p);
  [[nodiscard]] static bool covers(const pattern& a, const pattern& b) noexcept;
  [[nodiscard]] static std::uint32_t bound(const mig_demand& d, const weights& y) noexcept;
  [[nodiscard]] mig_demand without(mig_demand d, std::size_t k) const noexcept;

  /// The profile with demand that the fewest patterns hold; every answer has a GPU with it.
  [[nodiscard]] std::optional<unsigned> hardest(const mig_demand& d) const noexcept;
  /// Whether the demand fits `gpus` GPUs; `s.taken` says how. Depth at most `gpus`, kept small by the caller.
  [[nodiscard]] bool reach(search& s, const mig_demand& d, std::uint32_t gpus) const;
  [[nodiscard]] std::vector<std::size_t> fewest(const mig_demand& d, const weights& y, std::uint32_t least,
                                                std::uint64_t nodes) const;
  /// The layouts with no more instances than were asked for.
  void write_layouts(mig_packing& out, const std::vector<std::uint32_t>& base, mig_demand left) const;

  mig_geometry g_;
  std::vector<pattern> patterns_;
};

}  // namespace berth

#if BERTH_WITH_BODIES
#include "berth/solver/impl/mig_packer.hpp"
#endif
