// expect: berth: a packing policy needs .packing_score score
// A packing policy that scores with a number alone is told in one sentence what is missing.
#include "berth/policy/packing_fit.hpp"
#include "berth/solver/packer.hpp"

struct almost {
  double score(const berth::packing_view&, const berth::share_task&) const { return 0; }
};
void right(std::vector<berth::share_node> nodes) {
  berth::packer pack{nodes, berth::first_fit_packing{}};
}
#ifdef MUST_FAIL
void wrong(std::vector<berth::share_node> nodes) {
  berth::packer pack{nodes, almost{}};
}
#endif
