#pragma once
/// \file
/// Quality of MIG policies on random request streams, see bench_mig.cpp.

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "berth/topology/mig_geometry.hpp"

namespace bench_mig {

/// Weights of the plain profiles by compute slices.
struct mix {
  const char* name;
  double weight[8];
  double small_with_double_memory = 0;  ///< 1g.20gb of an 80 GB product
};
/// `trace`: the instance sizes of the four published deployments of ParvaGPU (SC 2024): 42 of 1g, 27 of 2g, 19 of 3g.
inline constexpr mix mixes[] = {
    {"uniform", {0, 1, 1, 1, 1, 0, 0, 1}},          {"small-heavy", {0, 50, 25, 15, 5, 0, 0, 5}},
    {"large-heavy", {0, 10, 15, 25, 25, 0, 0, 25}}, {"trace", {0, 42, 27, 19, 0, 0, 0, 0}},
    {"memory", {0, 3, 1, 1, 0, 0, 0, 0}, 5},        {"all-profiles", {0, 2, 1, 1, 1, 0, 0, 1}, 1}};

struct quality_run {
  std::string policy, mix, product;
  std::uint32_t gpus = 64;
  double load = 0;  ///< offered compute or memory, whichever is more, of what the GPUs have; 0: nobody leaves
  bool departures = false;
  std::uint64_t seed = 0;
  std::uint64_t requests = 0, refused = 0;
  double refused_percent = 0, refused_slices_percent = 0;
  std::uint64_t refused_while_free = 0;          ///< some GPU had the free compute and units, but no legal start
  std::uint64_t refused_while_cluster_free = 0;  ///< all GPUs together had them
  double slices_used_percent = 0;                ///< mean over time; nobody leaves: at the end
  double first_refusal_percent = 0;              ///< slices in use when the first request was refused
  /// Nobody leaves: the most that those requests could fill. With departures: the mean over time of the most that the
  /// requests alive at each moment could fill, freely chosen and repacked; no policy can be above it.
  double optimum_percent = 0;
  double pooled_refused_percent = 0;  ///< one pool of slices and units, freely repacked
  std::vector<std::string> profiles;  ///< names
  std::vector<std::uint64_t> refused_by_profile;
};

/// The MIG product of a GPU model.
std::string_view product_of(std::string_view model);

/// With departures: exponential stays at that load, `requests` counted after as many as fill the cluster twice.
/// \param gpus  on nodes of eight
quality_run with_departures(const std::string& policy, const mix& m, std::string_view model, std::uint32_t gpus,
                            double load, std::uint64_t seed, std::uint64_t requests);
/// Nobody leaves: until no profile of the mix fits anywhere.
quality_run until_full(const std::string& policy, const mix& m, std::string_view model, std::uint32_t gpus,
                       std::uint64_t seed);

/// Weights per profile of the product.
std::vector<double> weights_of(const mix& m, const berth::mig_geometry& g);

}  // namespace bench_mig
