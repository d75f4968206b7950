#pragma once
/// \file
/// Bodies of `berth/cluster/transaction.hpp`.

#include <cassert>

#include "berth/cluster/transaction.hpp"

namespace berth {

BERTH_INLINE void transaction::commit() noexcept {
  assert(open_ && cluster_->open_ == depth_);
  open_ = false;
  if (--cluster_->open_ == 0) cluster_->finish();
}

BERTH_INLINE void transaction::rollback() noexcept {
  assert(open_ && cluster_->open_ == depth_);
  cluster_->undo_to(mark_);
  open_ = false;
  --cluster_->open_;
}

}  // namespace berth
