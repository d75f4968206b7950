#pragma once
/// \file
/// Orders of parts by their number, as resource managers number them.

#include <cstdint>

namespace berth {

/// A part with a number of its own: the n-th node, socket or core.
struct numbered {
  std::int64_t number = 0;
};
/// Larger is better, as with every score.
struct highest_number_first {
  template <class Request>
  [[nodiscard]] constexpr std::int64_t score(const numbered& n, const Request&) const noexcept {
    return n.number;
  }
};
struct lowest_number_first {
  template <class Request>
  [[nodiscard]] constexpr std::int64_t score(const numbered& n, const Request&) const noexcept {
    return -n.number;
  }
};

}  // namespace berth
