#pragma once
/// \file
/// Orders of the domains of one level, for walks over counted trees (`solver/counted_tree.hpp`). Each key is a policy
/// with a score, larger first, so that `lexicographic` combines them; ties end in the order of the names.
///
/// | order        | keys                                                            | whose |
/// |--------------|------------------------------------------------------------------|-------|
/// | `best_fit`   | leaders, preference, segments descending, tasks ascending        | Kueue: required, preferred |
/// | `least_free` | leaders, preference, segments ascending, tasks ascending         | Kueue: unconstrained |
/// | `fullest_first`, `emptiest_first` | tasks of the same group, tasks that fit, both compared outwards through the
/// parents as well, then score | Koordinator |

#include <cstdint>

#include "berth/policy/compose.hpp"

namespace berth {

/// What a domain can hold, counted for one gang. Units: tasks, and segments of the gang's outermost segment size.
struct domain_counts {
  std::int64_t tasks = 0;
  std::int64_t segments = 0;
  std::int64_t tasks_with_leader = 0;  ///< when the gang's leader goes here too
  std::int64_t segments_with_leader = 0;
  std::int64_t leaders = 0;     ///< 1 where a leader fits
  std::int64_t preference = 0;  ///< sum of what its nodes are preferred by
  std::int64_t existing = 0;    ///< tasks of the same group that run here already
  std::int64_t score = 0;       ///< sum of its nodes' scores
};

/// For whom domains are ranked.
struct rank_request {
  bool leader = false;  ///< a leader still has to be placed
};

/// Where the leader fits.
struct most_leaders {
  [[nodiscard]] constexpr std::int64_t score(const domain_counts& d, const rank_request& r) const noexcept {
    return r.leader ? d.leaders : 0;
  }
};
/// What the tasks' node affinity prefers.
struct most_preferred {
  [[nodiscard]] constexpr std::int64_t score(const domain_counts& d, const rank_request&) const noexcept {
    return d.preference;
  }
};
struct most_segments {
  [[nodiscard]] constexpr std::int64_t score(const domain_counts& d, const rank_request& r) const noexcept {
    return r.leader ? d.segments_with_leader : d.segments;
  }
};
struct fewest_segments {
  [[nodiscard]] constexpr std::int64_t score(const domain_counts& d, const rank_request& r) const noexcept {
    return -most_segments{}.score(d, r);
  }
};
/// The least that is left beside whole segments.
struct fewest_tasks {
  [[nodiscard]] constexpr std::int64_t score(const domain_counts& d, const rank_request& r) const noexcept {
    return -(r.leader ? d.tasks_with_leader : d.tasks);
  }
};

/// A walk's order, and how it ends. Largest first; the last domain is exchanged for the tightest that suffices.
struct best_fit {
  lexicographic<most_leaders, most_preferred, most_segments, fewest_tasks> rank{};
  static constexpr bool tightest_last = true;
};
/// Smallest first; where one domain alone suffices, the first such one.
struct least_free {
  lexicographic<most_leaders, most_preferred, fewest_segments, fewest_tasks> rank{};
  static constexpr bool tightest_last = false;
};

/// Compares a chain of domains, from one outwards, by what runs there and by what fits. `Less` says which of two unlike
/// numbers of fitting tasks comes first.
template <bool FewestFirst>
struct outward_order {
  /// Negative where `a` comes first, positive where `b` does, 0 where neither the chains nor the scores differ. Each
  /// chain is a range of `const domain_counts*`. O(depth).
  template <class Chain>
  [[nodiscard]] static constexpr int compare(const Chain& a, const Chain& b) noexcept {
    const auto n = a.size() < b.size() ? a.size() : b.size();
    for (decltype(a.size()) i = 0; i < n; ++i)
      if (a[i]->existing != b[i]->existing) return a[i]->existing > b[i]->existing ? -1 : 1;
    for (decltype(a.size()) i = 0; i < n; ++i)
      if (a[i]->tasks != b[i]->tasks) return (a[i]->tasks < b[i]->tasks) == FewestFirst ? -1 : 1;
    if (n > 0 && a[0]->score != b[0]->score) return a[0]->score > b[0]->score ? -1 : 1;
    return 0;
  }
};
/// Which whole domain is taken: the fullest that suffices.
using fullest_first = outward_order<true>;
/// How a domain is filled: the emptiest child first.
using emptiest_first = outward_order<false>;

}  // namespace berth
