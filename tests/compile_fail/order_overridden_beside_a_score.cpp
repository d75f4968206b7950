// expect: berth: a domain policy has an order and a score that need not choose alike
// A subclass that only replaces the order would score as before wherever it is combined.
#include "berth/policy/device_choice.hpp"
#include "berth/policy/domain_fit.hpp"
#include "berth/policy/node_fit.hpp"

struct mine : berth::tightest {
  static constexpr berth::split_order split = berth::split_order::smallest_first;
};
static_assert(berth::explain_policy<berth::tightest, berth::spread, berth::lowest_index>::ok);
#ifdef MUST_FAIL
static_assert(berth::explain_policy<mine, berth::spread, berth::lowest_index>::ok);
#endif
