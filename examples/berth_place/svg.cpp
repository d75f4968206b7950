// The floor plan.

#include <string>

#include "berth/report/floor_plan_svg.hpp"
#include "berth_place/answer.hpp"

namespace berth_place {

std::string as_svg(const berth::floor_plan& plan) {
  return berth::floor_plan_svg(plan);
}

}  // namespace berth_place
