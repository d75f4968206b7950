#pragma once
/// \file
/// Kueue, as far as it needs no eviction.
///
/// | asked | answered by | source, in kubernetes-sigs/kueue |
/// |---|---|---|
/// | place, replace (topology-aware scheduling) | `kueue_topology` | pkg/cache/scheduler/tas_flavor_snapshot.go |
/// | order of sibling domains | `best_fit`, `least_free` in `domain_walk::ranked` | sortedDomains there |
/// | balanced placement | `balanced_walk` | pkg/cache/scheduler/tas_balanced_placement.go |
/// | may a workload be admitted | `queue_tree` with `quota_rule::cohort` | pkg/cache/scheduler/resource_node.go |
/// | dominant share, tournament | `kueue_share_of`, `kueue_tournament` | pkg/cache/scheduler/fair_sharing.go |
/// | admission fair sharing | `quota/usage/admission_average.hpp` | keps/4136-admission-fair-sharing |

#include "berth/profile/kueue_topology.hpp"
#include "berth/quota/kueue_share.hpp"
#include "berth/quota/queue_tree.hpp"
#include "berth/quota/usage/admission_average.hpp"
