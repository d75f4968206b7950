// expect: normalized_policy
// Scores that nobody promised to keep in [0, 1] are not added to others.
#include "berth/policy/compose.hpp"
#include "berth/policy/node_fit.hpp"

auto a_share() {
  return berth::weighted{berth::term{1.0, berth::device_utilisation{}}};
}
#ifdef MUST_FAIL
berth::weighted<berth::bin_pack> a_number{berth::term<berth::bin_pack>{}};  // minus the number of free devices
#endif
