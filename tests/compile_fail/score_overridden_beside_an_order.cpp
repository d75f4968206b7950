// expect: berth: a node policy has an order and a score that need not choose alike
// The index follows an order without asking for scores, so a subclass that only replaces the score would change
// nothing.
#include "berth/policy/device_choice.hpp"
#include "berth/policy/domain_fit.hpp"
#include "berth/policy/node_fit.hpp"

struct mine : berth::bin_pack {
  std::int64_t score(const berth::node_view& n, const berth::task_shape&) const noexcept { return n.id.raw(); }
};
struct renamed : berth::bin_pack {};
static_assert(berth::explain_policy<berth::tightest, renamed, berth::lowest_index>::ok);
#ifdef MUST_FAIL
static_assert(berth::explain_policy<berth::tightest, mine, berth::lowest_index>::ok);
#endif
