#include "berth/policy/domain_fit.hpp"
#include "berth_place/policy/make_with.hpp"

namespace berth_place {

std::unique_ptr<any_placer> make_tightest(node_choice node, berth::cluster& c, const berth::placer_limits& limits) {
  return make_with<berth::tightest>(node, c, limits);
}

}  // namespace berth_place
