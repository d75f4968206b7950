// expect: berth: a packing policy that learns needs all of
// A packing policy that hears of requests, but not all that learning takes, is not taken for one that never learns.
#include "berth/policy/packing_fit.hpp"
#include "berth/solver/packer.hpp"

struct half {
  void begin(std::span<const berth::share_node>) {}
  void arrived(const berth::share_task&, std::span<const berth::share_node>, std::span<const berth::share_node>) {}
  [[nodiscard]] berth::packing_score score(const berth::packing_view& v, const berth::share_task& t) const {
    return berth::first_fit_packing{}.score(v, t);
  }
};
void right(berth::packer<berth::first_fit_packing>&& p) {
  p.release({}, {});
}
#ifdef MUST_FAIL
void wrong(berth::packer<half>&& p) {
  p.release({}, {});
}
#endif
