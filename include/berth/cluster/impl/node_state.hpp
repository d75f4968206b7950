#pragma once
/// \file
/// Bodies of `berth/cluster/node_state.hpp`.

#include <cstring>

#include "berth/cluster/node_state.hpp"

namespace berth {

BERTH_INLINE std::uint32_t node_state::kind() const noexcept {
  std::uint32_t out;
  std::memcpy(&out, reinterpret_cast<const char*>(this) + offsetof(node_state, node_class), sizeof(out));
  return out;
}

}  // namespace berth
