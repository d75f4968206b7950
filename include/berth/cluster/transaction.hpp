#pragma once
/// \file
/// All or nothing: changes to a cluster made while a `transaction` is open are undone unless it is committed. They
/// nest: an inner one is a savepoint of the outer one.

#include <cstddef>

#include "berth/cluster/cluster.hpp"
#include "berth/core/separate.hpp"

namespace berth {

/// A scope of changes. Opening costs O(1), undoing O(changes), with no copy of the cluster and no allocation.
/// \pre transactions on one cluster end in the reverse order of their beginning.
class transaction {
 public:
  explicit transaction(cluster& c) noexcept : cluster_{&c}, mark_{c.noted_}, depth_{++c.open_} {}
  transaction(const transaction&) = delete;
  transaction& operator=(const transaction&) = delete;
  ~transaction() {
    if (open_) rollback();
  }

  /// Keeps the changes: for good if this is the outermost transaction, else as part of the outer one.
  void commit() noexcept;
  /// Undoes every change since the transaction began, bit for bit.
  void rollback() noexcept;
  [[nodiscard]] bool is_open() const noexcept { return open_; }

 private:
  cluster* cluster_;
  std::size_t mark_;
  std::size_t depth_;
  bool open_ = true;
};

}  // namespace berth

#if BERTH_WITH_BODIES
#include "berth/cluster/impl/transaction.hpp"
#endif
