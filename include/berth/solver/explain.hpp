#pragma once
/// \file
/// Explains a refusal: what keeps nodes from serving the gang, how near it came, whether it could ever fit, and which
/// changes would make it fit. Nothing is guessed: every statement comes from counting nodes or from asking a placer
/// again, with an altered gang or on an altered copy of the cluster.
///
/// Cost        cold: copies the cluster two or three times and asks some dozens of times; O(nodes) each, plus up to
///             `search_steps` per question for gangs of several shapes. Allocates.
/// Policies    whether a gang fits does not depend on them, so the questions are put to one fixed placer. Which of
///             several smallest changes is named does.

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "berth/cluster/cluster.hpp"
#include "berth/cluster/mig_view.hpp"
#include "berth/core/separate.hpp"
#include "berth/job/gang.hpp"
#include "berth/solver/decision.hpp"
#include "berth/solver/detail/nodes_to_free.hpp"
#include "berth/solver/explanation.hpp"
#include "berth/solver/placer.hpp"

namespace berth {

/// What keeps one task off a node; see `node_cause` for the order. \param level the gang's required level: a broken
/// uplink below it cuts the node off. O(levels). \pre t.filter is a filter of `c`
[[nodiscard]] node_cause cause_of(const cluster& c, node_id n, const task_shape& t, level_id level);

namespace detail {

class explainer {
 public:
  explainer(const cluster& c, const gang& g, const decision& d, const placer_limits& limits);

  [[nodiscard]] explanation run();

 private:
  using oracle = placer<fewest_domains, bin_pack, lowest_index>;
  /// A copy of a cluster with a placer over it.
  struct asker {
    cluster copy;
    oracle place;
    placer_limits limits;
    asker(const cluster& c, const placer_limits& l);
    decision operator()(const gang& g);
  };

  static bool asks_too_much(const gang& g, std::uint32_t i);
  /// Whether the gang would be invalid with tasks of a legal size too; then `e` says how.
  bool otherwise_invalid(explanation& e);
  [[nodiscard]] const task_group& group(const explanation& e) const { return given_->groups[e.group]; }

  /// The gang at its minimum: it fits if and only if the given one does.
  void set_strict();
  static void set_segments(gang& g, std::uint32_t count);
  static void set_tasks(gang& g, std::size_t i, std::uint32_t n) { g.groups[i].wanted = g.groups[i].minimum = n; }

  cluster& empty_cluster();
  void decide_never(explanation& e);
  void count_taints(explanation& e, node_id n) const;
  bool groups_fit_alone();
  void count_room(explanation& e);

  /// The largest n below `limit` for which `make(n)` is placed, and that decision; 0 if there is none. O(log limit)
  /// asks.
  template <class Make>
  static std::uint32_t largest_placed(asker& ask, std::uint32_t limit, Make make, decision& best) {
    std::uint32_t low = 0, high = limit;  // low fits (or is 0), high does not
    while (low + 1 < high) {
      const std::uint32_t mid = low + (high - low) / 2;
      const decision d = ask(make(mid));
      if (d) low = mid, best = d;
      else high = mid;
    }
    return low;
  }
  /// The most of the gang that fits, and where.
  std::optional<near_miss> near(asker& ask, const explanation& e, std::vector<remedy>* out);

  void add(explanation& e, const decision& d, remedy r);
  void uplinks(explanation& e);
  void changes_of_request(asker& ask, explanation& e);
  /// The least limit of tasks per node with which it fits: more tasks on a node only help.
  void more_per_node(asker& ask, explanation& e);
  void smaller_tasks(explanation& e);

  void free_nodes(explanation& e);
  /// Appends all other nodes of the domain that are not free and healthy.
  void complete(room_plan& p);
  bool with_free(const room_plan& p, std::size_t count, explanation& e, bool least);

  const cluster* real_;
  const gang* given_;
  decision why_;
  placer_limits limits_;
  gang strict_{};
  level_id outer_{}, inner_{};  ///< levels of the gang and of its segments
  std::uint32_t needs_ = 1;     ///< segments needed
  std::optional<cluster> empty_;
};

}  // namespace detail

/// Explains why `d`, the answer of a placer on `c`, is not a placement. For an invalid gang and for one beyond the
/// placer's limits only `result` and `fault` are set, except that a task larger than any machine can be is explained as
/// `never`. \param limits `search_steps` of every question asked
/// \pre no transaction is open on `c`: it is copied. What one would change can be explained once it is committed
[[nodiscard]] explanation explain(const cluster& c, const gang& g, const decision& d, const placer_limits& limits = {});

}  // namespace berth

#if BERTH_WITH_BODIES
#include "berth/solver/impl/explain.hpp"
#endif
