#pragma once
/// \file
/// Bodies of `berth/quota/queue_spec.hpp`.

#include "berth/quota/queue_spec.hpp"

namespace berth {

BERTH_INLINE std::string quota_resource::label() const {
  return pool.empty() ? name : pool + "/" + name;
}

}  // namespace berth
