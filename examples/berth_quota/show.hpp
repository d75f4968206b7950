#pragma once
// A result of berth-quota as text, JSON and SVG.

#include <string>

#include "berth_quota/work_out.hpp"

namespace berth_quota {

std::string as_text(const result& r);
std::string as_json(const result& r);
std::string as_svg(const result& r);

}  // namespace berth_quota
