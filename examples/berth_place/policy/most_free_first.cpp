#include "berth/policy/domain_fit.hpp"
#include "berth_place/policy/make_with.hpp"

namespace berth_place {

std::unique_ptr<any_placer> make_most_free_first(node_choice node, berth::cluster& c,
                                                 const berth::placer_limits& limits) {
  return make_with<berth::most_free_first>(node, c, limits);
}

}  // namespace berth_place
