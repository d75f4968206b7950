#pragma once
/// \file
/// Gangs whose groups are spread by rules: one group after another through a `spread_placer`, each beside those before
/// it, all inside a transaction that is undone. Rules may count tasks of other groups.
///
/// An answer keeps every rule as it stood when its group was placed, which is what Kubernetes checks of pods that come
/// one by one; anti-affinity also holds against the groups that come later. One group is decided exactly. Of several,
/// all orders are tried (up to `max_orders`); that none works proves nothing, so such a gang is `gave_up`, unless one
/// of its groups does not even fit alone and no rule looks at other groups.
///
/// Cost        orders × groups × that of a `spread_placer`; allocates. Not the hot path.

#include <cstddef>
#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "berth/cluster/cluster.hpp"
#include "berth/cluster/transaction.hpp"
#include "berth/core/separate.hpp"
#include "berth/job/label_book.hpp"
#include "berth/job/spread.hpp"
#include "berth/solver/spread_placer.hpp"

namespace berth {

/// One group: what it asks, and what it keeps out of the domains where it is.
struct spread_group {
  spread_request ask{};
  std::vector<repelled_label> repels{};
};

/// Groups that start together or not at all.
struct spread_gang {
  std::vector<spread_group> groups{};
  std::optional<level_id> prefer{};  ///< of a gang of one group: in one domain of this level if any holds it
  bool independent = true;           ///< no rule of a group counts tasks of another one
};

/// The answer to a gang. Owns what it says.
struct spread_gang_decision {
  verdict result = verdict::not_now;
  std::vector<task_placement> tasks;  ///< group by group
  std::vector<task_shape> shapes;     ///< by group
  std::vector<part_places> parts;     ///< by task; empty where no group asks for parts of devices
  placement_score score{};
  std::vector<std::uint32_t> replicas;            ///< placed, by group
  std::vector<std::vector<std::size_t>> dropped;  ///< by group: wishes that are not kept
  std::size_t group = 0;                          ///< the group at fault
  spread_decision why{};                          ///< of that group; its `where` is empty

  [[nodiscard]] explicit operator bool() const noexcept { return result == verdict::placed; }
  /// A view into this decision.
  [[nodiscard]] placement where() const noexcept;
};

class spread_gang_solver {
 public:
  static constexpr std::size_t max_orders = 24;

  /// \pre the cluster outlives this. \param first_key  this key and as many after it as there are groups are of no job
  spread_gang_solver(cluster& c, job_key first_key);

  /// Decides; the cluster is unchanged afterwards. \param place  a `spread_placer` of the same cluster \pre the
  /// cluster has room for `groups` more jobs with their tasks (`cluster_limits`)
  template <class Place>
  [[nodiscard]] spread_gang_decision operator()(Place&& place, const spread_gang& g, const label_book& book) {
    if (g.groups.size() == 1) return single(place, g, book);
    spread_gang_decision first;
    std::vector<std::size_t> order;
    for (std::size_t i = 0; i < g.groups.size(); ++i) order.push_back(i);
    for (std::size_t tried = 0; tried < max_orders; ++tried) {
      spread_gang_decision d = in_order(place, g, book, order);
      if (d || d.result == verdict::invalid || d.result == verdict::capacity_exhausted) return d;
      if (tried == 0) first = std::move(d);
      if (!next(order)) break;
    }
    if (g.independent)
      for (std::size_t i = 0; i < g.groups.size(); ++i) {
        const spread_decision alone = place(g.groups[i].ask, book);
        if (alone.result != verdict::not_now && alone.result != verdict::never) continue;
        first.result = alone.result;
        blame(first, i, alone);
        return first;
      }
    first.result = verdict::gave_up;
    return first;
  }

 private:
  static void blame(spread_gang_decision& d, std::size_t group, const spread_decision& why);
  static bool next(std::vector<std::size_t>& order);
  static void prepare(const spread_gang& g, spread_gang_decision& d);
  static void take(const spread_decision& one, std::size_t group, std::vector<task_placement>& tasks,
                   std::vector<part_places>& parts, spread_gang_decision& d);

  template <class Place>
  [[nodiscard]] spread_gang_decision single(Place& place, const spread_gang& g, const label_book& book) {
    spread_gang_decision d;
    prepare(g, d);
    spread_request q = g.groups[0].ask;
    spread_decision one;
    bool placed = false;
    if (g.prefer && !q.within)
      for (std::size_t l = g.prefer->index(); l > 0 && !placed; --l) {
        q.within = level_id{static_cast<std::uint8_t>(l)};
        one = place(q, book);
        placed = one.result == verdict::placed && one.replicas == q.replicas;
      }
    if (!placed) {
      q.within = g.groups[0].ask.within;
      one = place(q, book);
    }
    d.result = one.result;
    if (one) {
      take(one, 0, d.tasks, d.parts, d);
      d.score = one.score;
    } else {
      blame(d, 0, one);
    }
    return d;
  }

  template <class Place>
  [[nodiscard]] spread_gang_decision in_order(Place& place, const spread_gang& g, const label_book& running,
                                              const std::vector<std::size_t>& order) {
    spread_gang_decision d;
    prepare(g, d);
    label_book book = running;
    std::vector<std::vector<task_placement>> tasks(g.groups.size());
    std::vector<std::vector<part_places>> parts(g.groups.size());
    transaction trial{*cluster_};
    for (const std::size_t i : order) {
      const spread_group& group = g.groups[i];
      const spread_decision one = place(group.ask, book);
      if (!one) {
        d.result = one.result;
        blame(d, i, one);
        return d;
      }
      take(one, i, tasks[i], parts[i], d);
      const job_key key{static_cast<std::uint64_t>(first_key_) + i};
      if (!cluster_->commit(key, one.where)) {
        d.result = verdict::capacity_exhausted;
        return d;
      }
      book.set(key, group.ask.labels, group.repels);
    }
    bool any_parts = false;
    for (const auto& p : parts) any_parts = any_parts || !p.empty();
    for (std::size_t i = 0; i < tasks.size(); ++i)
      for (std::size_t t = 0; t < tasks[i].size(); ++t) {
        d.tasks.push_back(tasks[i][t]);
        d.tasks.back().group = static_cast<std::uint32_t>(i);
        if (any_parts) d.parts.push_back(t < parts[i].size() ? parts[i][t] : part_places{});
      }
    count_domains(d);
    d.result = verdict::placed;
    return d;
  }
  void count_domains(spread_gang_decision& d) const;

  cluster* cluster_;
  job_key first_key_;
};

}  // namespace berth

#if BERTH_WITH_BODIES
#include "berth/solver/impl/spread_gang.hpp"
#endif
