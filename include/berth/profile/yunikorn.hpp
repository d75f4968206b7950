#pragma once
/// \file
/// YuniKorn: its order of queues, and what may be taken back from a queue whose limit was lowered. Both are
/// compositions of `quota/`; its preemption needs the scheduling cycle.
///
/// | asked | answered by | source |
/// |---|---|---|
/// | which queue next | `yunikorn_order` | apache/yunikorn-core pkg/scheduler/objects/sorters.go |
/// | what a lowered limit takes back | `excess` | apache/yunikorn-core pkg/scheduler/objects/quota_preemptor.go |

#include "berth/quota/excess.hpp"
#include "berth/quota/order/yunikorn.hpp"

namespace berth {

/// How YuniKorn's queues become a tree: only limits hold at admission, and guarantees are as written. Set on the
/// description before `queue_tree::build`.
inline void as_yunikorn(queue_tree_spec& s) noexcept {
  s.rule = quota_rule::caps;
  s.guarantees = guarantee_rule::as_given;
}

}  // namespace berth
