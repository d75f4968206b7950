// expect: berth: a device policy needs a type .table., .table compile
// A device policy that is almost one is told in one sentence what is missing.
#include "berth/policy/device_choice.hpp"
#include "berth/policy/domain_fit.hpp"
#include "berth/policy/node_fit.hpp"

struct almost {
  berth::device_mask choose(berth::device_mask free, unsigned count) const noexcept {
    return berth::lowest_set(free, count);
  }
};
static_assert(berth::explain_policy<berth::tightest, berth::spread, berth::lowest_index>::ok);
#ifdef MUST_FAIL
static_assert(berth::explain_policy<berth::tightest, berth::spread, almost>::ok);
#endif
