#pragma once
/// \file
/// How many transactions are open on a cluster. It may be neither copied, moved nor assigned to while one is: the
/// copy's would never end. Debug builds say so.

#include <cassert>
#include <cstddef>

#include "berth/core/separate.hpp"

namespace berth::detail {

class open_count {
 public:
  open_count() = default;
  open_count([[maybe_unused]] const open_count& o) noexcept { assert(o.n_ == 0); }
  open_count& operator=([[maybe_unused]] const open_count& o) noexcept;
  ~open_count() = default;

  [[nodiscard]] operator std::size_t() const noexcept { return n_; }
  std::size_t operator++() noexcept { return ++n_; }
  std::size_t operator--() noexcept { return --n_; }

 private:
  std::size_t n_ = 0;
};

}  // namespace berth::detail

#if BERTH_WITH_BODIES
#include "berth/cluster/impl/open_count.hpp"
#endif
