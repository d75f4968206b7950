// The code of docs/mig.md.
#include <cstdint>
#include <vector>

#include "docs/pages.hpp"

// [mig]
#include "berth/cluster/mig_state.hpp"
#include "berth/policy/mig_most_options.hpp"
#include "berth/topology/mig_geometry.hpp"
#include "berth/topology/mig_lookup.hpp"

// Carves one instance of the profile out of 64 GPUs and gives it back; false where nothing fits.
bool carve(const char* product_name, const char* profile_name) {
  const auto product = berth::find_mig_product(product_name);  // an input_error where unknown
  if (!product) return false;
  const auto geometry = berth::checked_mig_geometry(**product);  // an input_error where not trustworthy
  if (!geometry) return false;
  const berth::mig_state_table states{*geometry};  // once per product
  berth::mig_cluster gpus{states, 64};
  berth::mig_most_options policy{states};

  const auto profile = berth::find_mig_profile(**product, profile_name);
  if (!profile) return false;
  policy.arrived(gpus, profile->profile);  // placed or not: the mix is learned
  const auto where = policy.choose(gpus, profile->profile);
  if (!where || !gpus.create(*where)) return false;
  return static_cast<bool>(gpus.destroy(*where));  // when it ends
}
// [end]

TEST_CASE("docs: an instance is carved and given back") {
  CHECK(carve("NVIDIA-H100-80GB-HBM3", "nvidia.com/mig-1g.10gb.me"));
  CHECK_FALSE(carve("NVIDIA-H100-80GB-HBM3", "1g.5gb"));
  CHECK_FALSE(carve("no such GPU", "1g.5gb"));
}
