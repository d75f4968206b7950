// expect: berth: a domain policy needs .whole., .split. and .candidates., or
// A domain policy that is almost one is told in one sentence what is missing.
#include "berth/policy/device_choice.hpp"
#include "berth/policy/domain_fit.hpp"
#include "berth/policy/node_fit.hpp"

struct almost {
  int score(const berth::domain_view&, std::uint64_t) const { return 0; }  // not noexcept
};
static_assert(berth::explain_policy<berth::tightest, berth::spread, berth::lowest_index>::ok);
#ifdef MUST_FAIL
static_assert(berth::explain_policy<almost, berth::spread, berth::lowest_index>::ok);
#endif
