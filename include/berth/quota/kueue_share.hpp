#pragma once
/// \file
/// Kueue's dominant share: how much of what the cohort could lend a queue borrows, by its worst resource.
///
/// For every resource name: borrowed = Σ over pools of max(0, usage + request - subtree quota); lendable = Σ over pools
/// of what the parent could use were everything idle; ratio = 1000 × borrowed / lendable. The share is the largest
/// ratio divided by the queue's weight; ties name the alphabetically first resource. A queue of weight 0 that borrows
/// has an infinite share; among such the ratio without weight decides, so that "equal" is never "less" by accident.
/// Source: peer_semantics item 39; kubernetes-sigs/kueue pkg/cache/scheduler/fair_sharing.go.

#include <compare>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "berth/core/separate.hpp"
#include "berth/quota/queue_tree.hpp"

namespace berth {

/// A dominant share, comparable as Kueue compares: smaller goes first, larger is reclaimed from first.
struct kueue_share {
  double ratio = 0;  ///< thousandths of what can be lent, before the weight
  double weight = 1;
  bool borrowing = false;
  std::string_view dominant;  ///< name of the resource; empty where nothing lendable is borrowed

  [[nodiscard]] bool infinite() const noexcept { return weight == 0 && borrowing; }
  [[nodiscard]] double weighted() const noexcept;
  /// As Kueue shows it in the status: rounded up; empty for infinite.
  [[nodiscard]] std::optional<std::int64_t> rounded() const noexcept;
  friend std::partial_ordering operator<=>(const kueue_share& a, const kueue_share& b) noexcept {
    if (a.infinite() != b.infinite())
      return a.infinite() ? std::partial_ordering::greater : std::partial_ordering::less;
    return a.infinite() ? a.ratio <=> b.ratio : a.weighted() <=> b.weighted();
  }
  friend bool operator==(const kueue_share& a, const kueue_share& b) noexcept { return (a <=> b) == 0; }
};

/// Amounts by resource that reach a queue; empty: none.
using quota_amounts = std::vector<quota_amount>;

/// The share of a queue or cohort with `added` (by resource, may be empty) on top of what climbed to it.
/// Roots have none: their share is 0. O(resources^2). Does not allocate.
[[nodiscard]] kueue_share kueue_share_of(const queue_tree& t, queue_id q, std::span<const quota_amount> added = {});

/// The first workload of one queue in a tournament.
struct kueue_head {
  queue_id queue;
  quota_amounts request;       ///< by resource
  std::int32_t priority = 0;   ///< larger first
  std::int64_t queued_at = 0;  ///< older first
  bool has_preempted = false;  ///< already made victims leave, so it goes first among equals
};

/// Who goes first of several heads, one per queue: up the tree, at every cohort the child with the lowest share after
/// adding its head wins. Ties: who already preempted, who does not borrow in what it asks for, lower share now, higher
/// priority, older, lower queue id.
/// Source: peer_semantics item 40; kubernetes-sigs/kueue pkg/scheduler/fair_sharing_iterator.go.
class kueue_tournament {
 public:
  explicit kueue_tournament(const queue_tree& t);

  /// The indices into `heads` of the winners under every root, roots in order of ids.
  /// O(queues + heads × depth × resources^2).
  [[nodiscard]] std::vector<std::size_t> winners(std::span<const kueue_head> heads);

 private:
  static constexpr std::size_t none = ~std::size_t{0};
  struct contender {
    kueue_share with, now;
    bool borrows = false;
    queue_id child;
  };
  struct state {
    std::size_t head = none;
    quota_amounts reaches;  ///< how much of the head's request is not covered below
    contender best;         ///< the child the head came from
  };
  [[nodiscard]] bool borrows(queue_id q, const quota_amounts& request) const;
  [[nodiscard]] static bool before(std::span<const kueue_head> heads, std::size_t i, const contender& a, std::size_t j,
                                   const contender& b);

  const queue_tree* t_;
  std::vector<state> at_;
};

}  // namespace berth

#if BERTH_WITH_BODIES
#include "berth/quota/impl/kueue_share.hpp"
#endif
