// expect: berth: a node policy needs .static constexpr node_order order., or
// A node policy that is almost one is told in one sentence what is missing.
#include "berth/policy/device_choice.hpp"
#include "berth/policy/domain_fit.hpp"
#include "berth/policy/node_fit.hpp"

struct almost {
  int rate(const berth::node_view&, const berth::task_shape&) const noexcept { return 0; }
};
static_assert(berth::explain_policy<berth::tightest, berth::spread, berth::lowest_index>::ok);
#ifdef MUST_FAIL
static_assert(berth::explain_policy<berth::tightest, almost, berth::lowest_index>::ok);
#endif
