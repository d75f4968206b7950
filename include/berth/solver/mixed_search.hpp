#pragma once
/// \file
/// Gangs of several task shapes, and gangs in segments.
///
/// A *unit* is what must lie in one domain: a segment, or the whole gang where there are none. Units are shared out
/// over domains by how many each could hold at most, then packed domain by domain: first group by group with
/// `tree_filler` (scarce and large tasks first, domains already in use preferred), and where that fails by a
/// depth-first search with backtracking over the domain's nodes. Tasks are held in the cluster while the search runs,
/// so that the capacity index prunes with exact counts; all of it is undone before the answer is given.
///
/// The search is complete while its steps last: equal tasks are placed in order of node, nodes in equal state are tried
/// once. What it could not decide is reported as `gave_up`, never as `not_now`.
///
/// Source      the symmetry rules are the usual ones for bin packing with identical items and bins, e.g. Martello and
///             Toth, "Knapsack Problems" (1990), ch. 8.

#include <cassert>
#include <cstddef>
#include <cstdint>

#include "berth/cluster/cluster.hpp"
#include "berth/core/flat_array.hpp"
#include "berth/core/separate.hpp"
#include "berth/job/gang.hpp"
#include "berth/policy/concepts.hpp"
#include "berth/solver/decision.hpp"
#include "berth/solver/joint_bound.hpp"
#include "berth/solver/rank_order.hpp"
#include "berth/solver/unit_share.hpp"

namespace berth::detail {

/// Which of several domains that could do a domain policy wants first.
struct domain_wishes {
  bool emptiest_first = false;        ///< of those that hold everything; else the fullest
  bool smallest_share_first = false;  ///< where a gang is split

  template <domain_policy Domain>
  [[nodiscard]] static constexpr domain_wishes of() noexcept {
    if constexpr (indexed_domain_policy<Domain>)
      return {Domain::whole == domain_order::emptiest, Domain::split == split_order::smallest_first};
    else return {};
  }
};

/// `Filler` is `gang_filler`: a template, so that only files with a placer compile it.
template <class Filler>
class mixed_search {
 public:
  mixed_search(cluster& c, Filler& f, domain_wishes wishes) : cluster_{&c}, filler_{&f}, wishes_{wishes}, share_{c} {}

  void reserve(const placer_limits& limits);

  /// Looks only into those domains of the required level whose bit is set; null: into all. Holds for one `place`.
  void restrict_to(const std::uint64_t* domains) noexcept { only_ = domains; }

  /// Decides; fills the filler's tasks and score. \pre `check_gang` found no fault
  void place(const gang& g, decision& d);

  /// Says why `g` is refused, knowing already that it is. O(groups), no search.
  void refuse_unsearched(const gang& g, decision& d);

 private:
  enum class outcome : std::uint8_t { yes, no, unknown };
  static constexpr unsigned representatives = 8;
  static constexpr std::uint32_t no_way = 0xffffffffU;
  /// One depth of the search: the next node to try, and nodes tried before whose equals are skipped.
  struct frame {
    std::uint32_t next = 0;
    std::uint32_t known = 0;
    std::uint32_t tried[representatives] = {};
    std::uint32_t way = 0;  ///< the way to serve the task that is tried on the node before `next`, where it wants parts
  };

  // -- preparation -------------------------------------------------------------------------------------------------

  [[nodiscard]] const task_shape& shape(std::size_t group) const noexcept { return gang_->groups[group].shape; }
  [[nodiscard]] const live_shape& counters(std::size_t group) const noexcept {
    return *cluster_->counters(shape(group));
  }
  [[nodiscard]] std::size_t groups() const noexcept { return gang_->groups.size(); }

  void begin(const gang& g);
  /// Hardest first: restricted to some models, then more devices, CPU, memory.
  void order_groups();
  // -- whole gangs ---------------------------------------------------------------------------------------------------

  bool place_wanted_or_minimum();
  /// Raises the counts of what is placed, one group after the other, the easiest first, as far as a search still finds
  /// a place for all. Afterwards no group alone can have more, as far as `step_limit_` steps tell.
  void raise_counts();
  void hold_task(std::size_t n) noexcept;
  void keep() noexcept;

  /// All of `counts_` in one domain, the narrowest level first.
  bool place_whole(std::uint64_t& budget);
  /// All of `counts_` in one domain of a level. Where a wider level is tried later (not `last`), a domain that is part
  /// of it gets few steps.
  bool place_at_level(unsigned level, bool last, std::uint64_t& budget);
  /// The next domain of a level in order of the hardest group's capacity (then id) that could hold every group alone.
  std::uint32_t next_candidate(unsigned level, std::uint32_t domains, std::uint64_t& key, std::uint32_t after);

  [[nodiscard]] bool is_admitted(unsigned level, std::uint32_t d) const noexcept;

  // -- segments ------------------------------------------------------------------------------------------------------

  bool place_in_segments_of(unsigned level, std::uint32_t wanted);
  /// All units inside one domain narrower than theirs: nearer together, and the only way into one whose uplink is down.
  bool place_narrower(unsigned level, std::uint32_t wanted, std::uint32_t units, std::uint64_t& budget);
  [[nodiscard]] bool attached(unsigned level, std::uint32_t d) const noexcept {
    return !cluster_->is_detached(level_id{static_cast<std::uint8_t>(level)}, domain_id{d});
  }

  // -- one domain ----------------------------------------------------------------------------------------------------

  /// Puts `counts_` into a domain, holding what it places. Spends from `steps`.
  outcome pack(unsigned level, std::uint32_t domain, std::uint64_t& steps);
  void fill_held(std::size_t group, unsigned level, std::uint32_t domain, std::uint64_t n);
  void undo_to(std::size_t mark);

  /// Whether a node may be combined with others of the level's domain: no uplink between them is down.
  [[nodiscard]] bool reaches(std::uint32_t node, unsigned level) const noexcept;
  /// Whether two nodes are as good as each other for everything that is still to come.
  [[nodiscard]] bool equal(std::uint32_t a, std::uint32_t b) const noexcept;

  outcome search(unsigned level, std::uint32_t domain, std::size_t mark, std::uint64_t& steps);
  /// Whether the groups from the `from`-th hardest on together ask for more than the nodes of a domain have left, where
  /// that can be said with few of the steps left.
  [[nodiscard]] bool rest_exceeds(id_range nodes, unsigned level, std::size_t from, std::uint64_t& steps) noexcept;
  /// Devices for one task where models tell them apart: those that the fewest groups may use. A device that serves a
  /// subset of the groups that another serves is never the worse choice, so only where neither set contains the other
  /// does the choice stay open, and the search with it.
  [[nodiscard]] device_mask least_wanted_devices(node_id node, std::size_t group) noexcept;
  /// Whether a node as good as the next one was tried; `unlike` is like no other.
  [[nodiscard]] bool skip(const frame& f, std::uint32_t unlike) const noexcept;
  /// Tasks on the node of the last one, of its group. \pre there is one; tasks of a group are placed in order of node
  [[nodiscard]] std::uint32_t on_last_node() const noexcept;
  void drop_last();
  /// Whether every group, taken alone, still has room for its remaining tasks.
  [[nodiscard]] bool can_finish(unsigned level, std::uint32_t domain, std::size_t depth) const noexcept;

  // -- the answer ----------------------------------------------------------------------------------------------------

  void finish(decision& d);
  void refuse(decision& d, verdict v, std::size_t group, std::uint64_t holds);
  void decide_refusal(decision& d);

  cluster* cluster_;
  Filler* filler_;
  domain_wishes wishes_;
  const gang* gang_ = nullptr;
  flat_array<std::uint32_t> order_;   ///< groups, hardest first
  flat_array<std::uint64_t> counts_;  ///< by group: tasks of the unit at work
  flat_array<std::uint64_t> left_;    ///< by group: tasks not yet placed
  flat_array<frame> frames_;
  unit_share share_;
  rank_order ranks_;
  flat_array<task_placement> kept_;  ///< the best found so far, while counts are raised
  flat_array<part_places> kept_places_;
  std::size_t kept_count_ = 0;
  std::uint64_t step_limit_ = 0;
  unsigned widest_ = 0;
  unsigned unit_level_ = 0;
  const std::uint64_t* only_ = nullptr;
  bool uncertain_ = false;
  bool interchangeable_ = true;         ///< no group asks for models
  bool binds_ = false;                  ///< some group has a `binding_need`
  bool needs_ = false;                  ///< some group asks something of the inside of nodes
  bool device_choice_matters_ = false;  ///< the search took devices where others might have been better
};

}  // namespace berth::detail

#if BERTH_WITH_BODIES
#include "berth/solver/impl/mixed_search.hpp"
#endif
