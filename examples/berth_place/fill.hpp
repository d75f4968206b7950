#pragma once
// Random standing gangs, for clusters of which nobody knows who holds what.

#include <string>
#include <vector>

#include "berth/cluster/cluster.hpp"
#include "berth_place/options.hpp"

namespace berth_place {

// Occupies `o.fill` of all devices: places gangs of random sizes by the chosen policy a tenth beyond the share,
// releases random ones until it is met, so that there are holes as after weeks of use, and meets it exactly with small
// gangs. Appends their names to `jobs` and says what was done. Same seed, same cluster, same result.
[[nodiscard]] std::string fill_randomly(berth::cluster& c, std::vector<std::string>& jobs, const options& o);

}  // namespace berth_place
