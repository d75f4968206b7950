#pragma once
/// \file
/// Sorts in place without <algorithm>, which lean headers do without.
///
/// Cost        about O(n^1.3); no allocation. Not stable: let `before` decide ties.
/// Source      gaps after Gonnet and Baeza-Yates, "Handbook of Algorithms and Data Structures", 2nd ed. (1991).

#include <cstddef>
#include <utility>

namespace berth::detail {

/// Sorts `first[0] … first[n - 1]` so that none is `before` the one ahead of it.
template <class T, class Before>
constexpr void shell_sort(T* first, std::size_t n, const Before& before) {
  for (std::size_t gap = n / 2; gap > 0; gap = gap == 2 ? 1 : gap * 5 / 11)
    for (std::size_t i = gap; i < n; ++i) {
      T x = std::move(first[i]);
      std::size_t at = i;
      for (; at >= gap && before(x, first[at - gap]); at -= gap) first[at] = std::move(first[at - gap]);
      first[at] = std::move(x);
    }
}

}  // namespace berth::detail
