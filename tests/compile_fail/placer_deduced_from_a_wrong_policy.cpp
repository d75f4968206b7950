// expect: berth: a node policy needs .static constexpr node_order order., or
// Where the policies are deduced, what is missing is said in one sentence too.
#include "berth/solver/placer.hpp"

struct almost {
  int score(const berth::node_view&, const berth::task_shape&) const { return 0; }  // not noexcept
};
void right(berth::cluster& c) {
  berth::placer place{c, berth::tightest{}, berth::spread{}};
}
#ifdef MUST_FAIL
void wrong(berth::cluster& c) {
  berth::placer place{c, berth::tightest{}, almost{}};
}
#endif
