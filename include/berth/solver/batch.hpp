#pragma once
/// \file
/// A queue of pending gangs, placed and committed in order.
///
/// Equal task shapes share their counters, and a gang that does not fit speaks for the later ones that ask at least as
/// much: while a batch runs nothing is released, so what was refused once stays refused.
///
/// Cost        a gang that fits: as `placer`. One that a refused one speaks for: O(kinds of refused gangs), at most 64.
/// No allocation.

#include <cstdint>
#include <span>

#include "berth/cluster/cluster.hpp"
#include "berth/job/gang.hpp"
#include "berth/solver/decision.hpp"

namespace berth {

/// One pending gang and the key to commit it under.
struct pending_gang {
  const gang* what = nullptr;
  job_key key{};
};

/// What became of a batch.
struct batch_result {
  std::uint32_t placed = 0;
  std::uint32_t refused = 0;  ///< searched for, with any verdict but `placed`
  std::uint32_t excused = 0;  ///< refused without a search
  std::uint32_t failed = 0;   ///< placed, but the cluster could not take them: key in use, or past its limits
};

/// Places and commits `queue` in order; what does not fit is passed over. Calls `on_decision(index, const decision&)`
/// for every gang that was decided by a search; its placement is committed by then. \pre no other changes to the
/// cluster meanwhile, also not by `on_decision`
template <class Placer, class OnDecision>
batch_result place_all(cluster& c, Placer& place, std::span<const pending_gang> queue, OnDecision&& on_decision) {
  // One group, no segments: what most gangs are. Others are remembered by the placer itself.
  struct refused_kind {
    task_shape shape{};
    std::uint32_t minimum = 0;
    bool required = false;
    level_id level{};
  };
  constexpr std::size_t most = 64;
  refused_kind kinds[most];
  std::size_t count = 0;
  batch_result out;
  for (std::size_t i = 0; i < queue.size(); ++i) {
    const gang& g = *queue[i].what;
    const bool simple =
        g.groups.size() == 1 && !g.segments && g.between_nodes.count() == 0 && g.rails == rail_rule::any;
    refused_kind kind;
    if (simple) {
      const bool required = g.where == locality::required;
      kind = {g.groups[0].shape, g.groups[0].minimum, required, required ? g.level : level_id{0}};
      bool excused = false;
      for (std::size_t k = 0; k < count && !excused; ++k) {
        const refused_kind& r = kinds[k];
        excused = r.shape.filter == kind.shape.filter && r.shape.shares_as_much_as(kind.shape) &&
                  r.required == kind.required && r.level == kind.level && r.minimum <= kind.minimum &&
                  r.shape.devices <= kind.shape.devices && r.shape.cpu <= kind.shape.cpu &&
                  r.shape.memory <= kind.shape.memory && (!r.shape.asks_inside() || r.shape == kind.shape);
      }
      if (excused) {
        ++out.excused;
        continue;
      }
    }
    const decision d = place(g);
    if (d) {
      if (c.commit(queue[i].key, d.where)) ++out.placed;
      else ++out.failed;
    } else {
      ++out.refused;
      if (simple && count < most && (d.result == verdict::not_now || d.result == verdict::never)) kinds[count++] = kind;
    }
    on_decision(i, d);
  }
  return out;
}

/// The same without a callback.
template <class Placer>
batch_result place_all(cluster& c, Placer& place, std::span<const pending_gang> queue) {
  return place_all(c, place, queue, [](std::size_t, const decision&) {});
}

}  // namespace berth
