#pragma once
/// \file
/// Places replicas under spread rules and budgets: reads the cluster's live counters, lets `spread_shares.hpp` decide
/// how many each domain gets, and fills those domains as the domain, node and device policies of a placer say.
///
/// \code
/// berth::spread_placer place{c};
/// const berth::level_id rack = *c.tree().find_level("rack");
/// const auto d = place({.shape = {.devices = 8}, .replicas = 6, .minimum = 6, .labels = {"web"},
///                       .rules = {{.level = rack, .label = "web", .max_skew = 1}}}, book);
/// if (d) c.commit(key, d.where);
/// \endcode
///
/// Exact: where replicas can be placed under the rules, they are, and as many of those wanted as can be, unless
/// `spread_solver` gives up (it takes several wide skews that contradict each other); then the minimum is tried.
/// Domains whose uplink is broken get nothing.
///
/// Cost        O(nodes + domains × combinations of `spread_solver`) a call, times the numbers of replicas tried between
///             what was wanted and what was found; allocates. Not the hot path.

#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <utility>
#include <vector>

#include "berth/cluster/cluster.hpp"
#include "berth/core/shell_sort.hpp"
#include "berth/job/label_book.hpp"
#include "berth/job/spread.hpp"
#include "berth/policy/concepts.hpp"
#include "berth/policy/device_choice.hpp"
#include "berth/policy/domain_fit.hpp"
#include "berth/policy/node_fit.hpp"
#include "berth/solver/decision.hpp"
#include "berth/solver/spread_shares.hpp"
#include "berth/solver/tree_filler.hpp"

namespace berth {

/// What is wrong with a spread request.
enum class spread_fault : std::uint8_t {
  none,
  bad_shape,      ///< a task asks for nothing, for a negative amount, or names an unknown filter
  bad_count,      ///< replicas, minimum or tasks of a replica is 0, or minimum > replicas
  bad_level,      ///< no such level
  bad_rule,       ///< a skew of 0, more than 1000 permille, a cap of a domain that does not exist, a negative need
  inner_rule,     ///< a rule about a level further in than the one that holds a replica
  parts_by_node,  ///< parts of devices under a rule about nodes
  bad_book,       ///< a committed job repels the request from domains of a level that does not exist
};

/// The answer. `where` is a view into the placer, valid until its next call; consecutive `tasks_per_replica` tasks are
/// a replica.
struct spread_decision {
  verdict result = verdict::not_now;
  placement where{};
  placement_score score{};
  std::uint32_t replicas = 0;             ///< placed
  std::vector<std::size_t> dropped = {};  ///< rules that were not required and are not kept, last first
  spread_fault fault = spread_fault::none;
  /// The rule at fault (budgets count after the rules), or for a skew the one that allows the fewest.
  std::size_t rule = 0;
  spread_refusal why = {};  ///< of the least number of replicas that was tried
  [[nodiscard]] explicit operator bool() const noexcept { return result == verdict::placed; }
};

template <domain_policy Domain = fewest_domains, node_policy Node = bin_pack, device_policy Devices = best_bandwidth>
class spread_placer {
 public:
  /// Allocates. \pre `c` outlives the placer
  explicit spread_placer(cluster& c, Domain domain = {}, Node node = {}, Devices devices = {},
                         const placer_limits& limits = {})
      : cluster_{&c}, filler_{c, std::move(domain), std::move(node), std::move(devices)} {
    filler_.reserve(limits.tasks);
  }
  spread_placer(const spread_placer&) = delete;
  spread_placer& operator=(const spread_placer&) = delete;

  /// Decides; the cluster is unchanged afterwards.
  [[nodiscard]] spread_decision operator()(const spread_request& q, const label_book& book = {}) {
    spread_decision d;
    d.fault = check(q, d.rule);
    if (d.fault != spread_fault::none) {
      d.result = verdict::invalid;
      return d;
    }
    const std::uint64_t wanted = std::uint64_t{q.replicas} * q.tasks_per_replica;
    filler_.begin(d.score);
    const live_shape* s = nullptr;
    const bool served = !q.shape.asks_inside() ||
                        (cluster_->inside().serves(q.shape) && (!q.shape.part.asks() || filler_.ready_for_parts()));
    if (served && wanted <= filler_.task_limit()) s = cluster_->counters(q.shape);
    if (s == nullptr) {
      d.result = verdict::capacity_exhausted;
      return d;
    }
    if (!read(q, book, *s)) {
      d.fault = spread_fault::bad_book;
      d.result = verdict::invalid;
      return d;
    }
    if (q.shape.part.asks()) filler_.arrived(q.shape.part, static_cast<std::uint32_t>(wanted));  // once, placed or not
    d = choose(q, *s);
    if (d.result == verdict::placed) return d;
    d.dropped.clear();
    if (cluster_->potential(*s, 0) < std::uint64_t{q.minimum} * q.tasks_per_replica) d.result = verdict::never;
    return d;
  }

 private:
  using amounts = std::vector<std::int64_t>;
  static constexpr std::int64_t no_limit = std::numeric_limits<std::int64_t>::max() / 4;
  struct counted_rule {
    bool own = false;                    ///< the request's replicas count too
    amounts existing;                    ///< by domain
    std::vector<std::uint8_t> could;     ///< some node could serve the request, or counts as if it could
    std::vector<std::uint8_t> eligible;  ///< and it lies where the request may go
    std::int64_t all = 0;                ///< sum of `existing`
    std::int64_t least = 0;              ///< of eligible domains; 0 where they are too few
    bool least_is_zero = false;
  };

  /// The answer without a domain around it, or the best of those that `within` or a rule `beside` leaves.
  [[nodiscard]] spread_decision choose(const spread_request& q, const live_shape& s) {
    spread_decision best;
    std::optional<std::size_t> level;
    if (q.within) level = q.within->index();
    for (std::size_t r = 0; r < q.rules.size(); ++r) {
      // The first of tasks that want to be together may be anywhere.
      const bool alone = q.rules[r].beside && counted_[r].own && counted_[r].all == 0;
      if (alone && q.rules[r].required && (!level || q.rules[r].level.index() > *level))
        level = q.rules[r].level.index();
    }
    if (!level) {
      restrict(q);
      attempt(q, s, spread_solver::default_visits, best);
      return best;
    }
    // The tightest domain that has room for all first, then those with more, then the fullest of the others.
    const std::vector<std::int64_t> room = room_by(*level);
    std::vector<std::uint32_t> order;
    std::uint32_t roomiest = 0;
    for (std::uint32_t d = 0; d < room.size(); ++d) {
      if (room[d] >= q.minimum) order.push_back(d);
      if (room[d] > room[roomiest]) roomiest = d;
    }
    if (order.empty()) order.push_back(roomiest);  // for the reason
    const auto rank = [&](std::uint32_t d) {
      return room[d] >= q.replicas ? std::pair{0, room[d]} : std::pair{1, -room[d]};
    };
    detail::shell_sort(order.data(), order.size(), [&](std::uint32_t a, std::uint32_t b) {
      return std::pair{rank(a), a} < std::pair{rank(b), b};
    });
    bool any = false, gave_up = false;
    std::uint32_t chosen = 0;
    for (const std::uint32_t domain : order) {
      inside_ = {true, *level, domain};
      restrict(q);
      spread_decision one;
      attempt(q, s, spread_solver::default_visits / order.size(), one);
      gave_up = gave_up || one.result == verdict::gave_up;
      if (one.result == verdict::placed && one.replicas == q.replicas && one.dropped.empty()) return one;
      const bool better = !any || (one.result == verdict::placed &&
                                   (best.result != verdict::placed || one.dropped.size() < best.dropped.size() ||
                                    (one.dropped.size() == best.dropped.size() && one.replicas > best.replicas)));
      if (better) best = one, chosen = domain;
      any = true;
    }
    if (best.result == verdict::placed) {  // what the filler holds is of the last try
      inside_ = {true, *level, chosen};
      restrict(q);
      best = {};
      attempt(q, s, spread_solver::default_visits / order.size(), best);
    } else if (gave_up) {
      best.result = verdict::gave_up;
    }
    return best;
  }

  /// Places as many replicas as can be under the rules, or says why not the minimum.
  void attempt(const spread_request& q, const live_shape& s, std::size_t visits, spread_decision& d) {
    const spread_solver free{tree(q, 0, 0), {}, false};
    const std::int64_t room = free.room();
    std::int64_t n = room < q.replicas ? room : q.replicas;
    if (n < q.minimum) n = q.minimum;  // for the reason
    for (std::int64_t next = n; (n = next) >= q.minimum;) {
      d.dropped.clear();
      std::size_t kept = q.rules.size();
      for (;;) {
        spread_solver solver{tree(q, n, kept), skews(q, kept), q.goal == spread_goal::even, visits};
        auto shares = solver.solve(n);
        if (shares) return fill(q, s, *shares, d);
        d.why = shares.error();
        // What the loosest rules hold now bounds every smaller number too: caps only shrink with it. After giving up,
        // only the minimum is tried.
        if (d.why.why == spread_refusal::cause::gave_up) next = n > q.minimum ? q.minimum : q.minimum - 1;
        else next = d.why.holds < n - 1 ? d.why.holds : n - 1;
        if (d.why.why == spread_refusal::cause::skew) d.rule = origin_[d.why.rule];
        std::size_t drop = kept;
        while (drop > 0 && q.rules[drop - 1].required) --drop;
        if (drop == 0) break;
        kept = drop - 1;
        d.dropped.push_back(kept);
      }
    }
    d.result = d.why.why == spread_refusal::cause::gave_up ? verdict::gave_up : verdict::not_now;
  }

  [[nodiscard]] std::size_t domains(std::size_t level) const noexcept {
    const domain_tree& t = cluster_->tree();
    return level == t.level_count() ? cluster_->node_count()
                                    : t.domain_count(level_id{static_cast<std::uint8_t>(level)});
  }
  [[nodiscard]] std::size_t domain_of(node_id n, std::size_t level) const noexcept {
    const domain_tree& t = cluster_->tree();
    return level == t.level_count() ? n.index() : t.domain_of(n, level_id{static_cast<std::uint8_t>(level)}).index();
  }
  [[nodiscard]] spread_fault check(const spread_request& q, std::size_t& rule) const noexcept {
    const std::size_t levels = cluster_->tree().level_count();
    if (!cluster_->is_valid(q.shape)) return spread_fault::bad_shape;
    if (q.replicas == 0 || q.minimum == 0 || q.tasks_per_replica == 0 || q.minimum > q.replicas)
      return spread_fault::bad_count;
    if (q.tasks_per_replica > 1 && q.inside.index() > levels) return spread_fault::bad_level;
    if (q.within && (q.within->index() > levels || (q.tasks_per_replica > 1 && *q.within > q.inside)))
      return spread_fault::bad_level;
    if (q.within && q.shape.part.asks() && q.within->index() == levels) return spread_fault::parts_by_node;
    if (q.shape.part.asks() && q.tasks_per_replica > 1 && q.inside.index() == levels)
      return spread_fault::parts_by_node;
    for (rule = 0; rule < q.rules.size(); ++rule) {
      const spread_rule& r = q.rules[rule];
      if (r.level.index() > levels) return spread_fault::bad_level;
      if (r.max_skew == 0 || r.at_most_permille > 1000) return spread_fault::bad_rule;
      for (const domain_cap& c : r.caps)
        if (c.domain.index() >= domains(r.level.index()) || c.at_most_permille > 1000) return spread_fault::bad_rule;
      if (q.tasks_per_replica > 1 && r.level > q.inside) return spread_fault::inner_rule;
      if (q.shape.part.asks() && r.level.index() == levels) return spread_fault::parts_by_node;
    }
    for (const domain_budget& b : q.budgets) {
      if (b.level.index() > levels) return spread_fault::bad_level;
      if (b.per_task < 0 || b.left.size() != domains(b.level.index())) return spread_fault::bad_rule;
      if (q.tasks_per_replica > 1 && b.level > q.inside) return spread_fault::inner_rule;
      if (q.shape.part.asks() && b.level.index() == levels) return spread_fault::parts_by_node;
      ++rule;
    }
    rule = 0;
    return spread_fault::none;
  }

  /// Whether a task fits on a node, or would if the node were empty and whole.
  [[nodiscard]] bool could_serve(const live_shape& s, node_id n, const spread_rule& r) const noexcept {
    const task_shape& t = s.shape();
    if (!r.counts && s.fits(n.raw()) != 0) return true;
    const node_state& state = cluster_->node(n);
    if (!cluster_->is_member(n) || !(state.usable || r.drained_count)) return false;
    const node_class& c = cluster_->class_of(n);
    const eligibility e = cluster_->eligible(r.counts.value_or(t.filter), n);
    if (!e.admits || c.cpu < t.cpu || c.memory < t.memory) return false;
    const device_mask pool = state.installed & e.devices;
    if (t.asks_inside())
      return cluster_->inside().potential(n.raw(), c, state.node_class, state.installed, pool, t, 1) != 0;
    return count_bits(pool) >= t.devices;
  }

  /// Room by domain of the innermost level that matters, and what the rules count. False: the book does not go with the
  /// tree.
  [[nodiscard]] bool read(const spread_request& q, const label_book& book, const live_shape& s) {
    const domain_tree& t = cluster_->tree();
    const std::int64_t size = q.tasks_per_replica;
    inside_ = {};
    bottom_ = size > 1 ? q.inside.index() : 0;
    if (q.within && q.within->index() > bottom_) bottom_ = q.within->index();
    for (const spread_rule& r : q.rules)
      if (r.level.index() > bottom_) bottom_ = r.level.index();
    for (const domain_budget& b : q.budgets)
      if (b.level.index() > bottom_) bottom_ = b.level.index();
    kept_out_.assign(t.level_count() + 1U, {});
    bool known = true;
    book.each_repelled(*cluster_, q.labels, [&](level_id l, node_id n) {
      if (l.index() > t.level_count()) {
        known = false;
        return;
      }
      const std::size_t innermost = q.shape.part.asks() ? t.leaf_level().index() : l.index();
      const std::size_t wanted = l.index() < innermost ? l.index() : innermost;
      if (size == 1 && wanted > bottom_) bottom_ = wanted;
      auto& out = kept_out_[l.index()];
      if (out.empty()) out.resize(domains(l.index()));
      out[domain_of(n, l.index())] = 1;
    });
    if (!known) return false;
    room_.assign(domains(bottom_), 0);
    for (std::uint32_t d = 0; d < room_.size(); ++d) {
      const std::uint64_t fits = bottom_ == t.level_count() ? s.fits(d) : s.capacity(static_cast<unsigned>(bottom_), d);
      if (reached(d)) room_[d] = static_cast<std::int64_t>(fits) / size;
    }
    // What is kept out of a part of a domain that a replica must fit into whole stays out of all of it.
    for (std::size_t l = 0; l < kept_out_.size(); ++l)
      for (std::uint32_t n = 0; !kept_out_[l].empty() && n < cluster_->node_count(); ++n)
        if (kept_out_[l][domain_of(node_id{n}, l)] != 0) room_[domain_of(node_id{n}, bottom_)] = 0;
    counted_.clear();
    for (const spread_rule& r : q.rules) {
      counted_rule c;
      c.own = r.label.empty() || label_book::has(q.labels, r.label);
      const std::size_t level = r.level.index();
      c.existing.assign(domains(level), 0);
      c.could.assign(domains(level), 0);
      const amounts by_node = book.count(*cluster_, r.label);
      for (std::uint32_t n = 0; n < cluster_->node_count(); ++n) {
        const std::size_t d = domain_of(node_id{n}, level);
        c.existing[d] += by_node[n];
        if (c.could[d] == 0 && could_serve(s, node_id{n}, r)) c.could[d] = 1;
      }
      for (std::size_t d = 0; d < c.existing.size(); ++d) {
        c.existing[d] = (c.existing[d] + size - 1) / size;
        c.all += c.existing[d];
        if (r.declared_only && !is_declared(level, d)) c.could[d] = 0;
      }
      counted_.push_back(std::move(c));
    }
    return true;
  }
  [[nodiscard]] bool is_declared(std::size_t level, std::size_t d) const noexcept {
    const domain_tree& t = cluster_->tree();
    return level == t.level_count() ||
           !t.at(level_id{static_cast<std::uint8_t>(level)}, domain_id{static_cast<std::uint32_t>(d)}).implicit;
  }
  /// Whether a domain lies in the one that the request is kept in, or has nothing to do with it.
  [[nodiscard]] bool is_inside(std::size_t level, std::size_t d) const noexcept {
    if (!inside_.is_set || level < inside_.level) return true;
    const domain_tree& t = cluster_->tree();
    auto at = static_cast<std::uint32_t>(d);
    if (level == t.level_count() && inside_.level != level) at = t.leaf_of(node_id{at}).raw(), --level;
    for (; level > inside_.level; --level) at = t.at(level_id{static_cast<std::uint8_t>(level)}, domain_id{at}).parent;
    return at == inside_.domain;
  }
  /// What is eligible for the rules, and the least that runs there already.
  void restrict(const spread_request& q) {
    for (std::size_t r = 0; r < q.rules.size(); ++r) {
      counted_rule& c = counted_[r];
      c.eligible = c.could;
      c.least = 0;
      std::size_t eligible = 0;
      for (std::size_t d = 0; d < c.existing.size(); ++d) {
        if (c.eligible[d] != 0 && !is_inside(q.rules[r].level.index(), d)) c.eligible[d] = 0;
        if (c.eligible[d] != 0 && (eligible++ == 0 || c.existing[d] < c.least)) c.least = c.existing[d];
      }
      c.least_is_zero = eligible < q.rules[r].minimum_domains;
      if (c.least_is_zero) c.least = 0;
    }
  }
  /// Room by domain of a level, no further in than the innermost one that matters.
  [[nodiscard]] amounts room_by(std::size_t level) const {
    amounts out(domains(level));
    for (std::uint32_t d = 0; d < room_.size(); ++d) {
      std::size_t l = bottom_;
      std::uint32_t at = d;
      const domain_tree& t = cluster_->tree();
      if (l == t.level_count() && level != l) at = t.leaf_of(node_id{at}).raw(), --l;
      for (; l > level; --l) at = t.at(level_id{static_cast<std::uint8_t>(l)}, domain_id{at}).parent;
      out[at] += room_[d];
    }
    return out;
  }
  /// Whether a domain of the innermost level hangs on the rest of the cluster.
  [[nodiscard]] bool reached(std::uint32_t d) const noexcept {
    if (!cluster_->any_detached()) return true;
    const domain_tree& t = cluster_->tree();
    std::size_t l = bottom_;
    if (l == t.level_count()) d = t.leaf_of(node_id{d}).raw(), --l;
    for (;; --l) {
      const level_id level{static_cast<std::uint8_t>(l)};
      if (cluster_->is_detached(level, domain_id{d})) return false;
      if (l == 0) return true;
      d = t.at(level, domain_id{d}).parent;
    }
  }

  /// The most that a rule's caps leave a domain, were `n` replicas placed.
  [[nodiscard]] std::int64_t cap(const spread_rule& r, const counted_rule& c, std::uint32_t d, std::int64_t n) const {
    if (r.beside && c.existing[d] == 0 && (c.all != 0 || !c.own)) return 0;
    if (r.declared_only && !is_declared(r.level.index(), d)) return 0;
    std::int64_t permille = r.at_most_permille;
    for (const domain_cap& own : r.caps)
      if (own.domain.raw() == d) permille = own.at_most_permille;
    std::int64_t most = r.at_most == spread_rule::unlimited ? no_limit : std::int64_t{r.at_most};
    const std::int64_t share = permille * (c.all + (c.own ? n : 0)) / 1000;
    if (permille < 1000 && share < most) most = share;
    if (c.own) return most > c.existing[d] ? most - c.existing[d] : 0;
    const bool skewed = r.max_skew != spread_rule::unlimited && c.existing[d] > c.least + std::int64_t{r.max_skew};
    return c.existing[d] > most || skewed ? 0 : no_limit;
  }

  /// The tree down to the innermost level that matters, under the first `kept` rules and all required ones.
  [[nodiscard]] spread_tree tree(const spread_request& q, std::int64_t n, std::size_t kept) const {
    const domain_tree& t = cluster_->tree();
    spread_tree out;
    for (std::size_t l = 0; l <= bottom_; ++l) {
      out.most.emplace_back(domains(l), no_limit);
      out.existing.emplace_back();
      out.children.emplace_back();
      for (std::uint32_t d = 0; l < bottom_ && d < domains(l); ++d)
        out.children[l].push_back(t.at(level_id{static_cast<std::uint8_t>(l)}, domain_id{d}).children);
    }
    out.most[bottom_] = room_;
    for (std::uint32_t d = 0; inside_.is_set && d < domains(inside_.level); ++d)
      if (d != inside_.domain) out.most[inside_.level][d] = 0;
    for (const domain_budget& b : q.budgets)
      for (std::size_t d = 0; b.per_task > 0 && d < b.left.size(); ++d) {
        const std::int64_t most = b.left[d] < 0 ? 0 : b.left[d] / b.per_task / q.tasks_per_replica;
        if (most < out.most[b.level.index()][d]) out.most[b.level.index()][d] = most;
      }
    for (std::size_t r = 0; n != 0 && r < q.rules.size(); ++r) {
      if (!applies(q, r, kept)) continue;
      const std::size_t level = q.rules[r].level.index();
      for (std::uint32_t d = 0; d < domains(level); ++d) {
        const std::int64_t most = cap(q.rules[r], counted_[r], d, n);
        if (most < out.most[level][d]) out.most[level][d] = most;
      }
      if (counted_[r].own && out.existing[level].empty()) out.existing[level] = counted_[r].existing;
    }
    return out;
  }
  [[nodiscard]] static bool applies(const spread_request& q, std::size_t r, std::size_t kept) noexcept {
    return r < kept || q.rules[r].required;
  }
  /// The skews of those rules, outermost first.
  [[nodiscard]] std::vector<spread_skew> skews(const spread_request& q, std::size_t kept) {
    std::vector<spread_skew> out;
    origin_.clear();
    for (std::size_t level = 0; level <= bottom_; ++level)
      for (std::size_t r = 0; r < q.rules.size(); ++r) {
        const spread_rule& rule = q.rules[r];
        if (rule.level.index() != level || rule.max_skew == spread_rule::unlimited || !applies(q, r, kept)) continue;
        const counted_rule& c = counted_[r];
        if (!c.own) continue;
        out.push_back({level, rule.max_skew, c.existing, c.eligible, c.least_is_zero});
        origin_.push_back(r);
      }
    return out;
  }

  void fill(const spread_request& q, const live_shape& s, const spread_shares& shares, spread_decision& d) {
    shape_ = q.shape;
    filler_.begin(d.score);
    if (q.shape.part.asks()) filler_.begin_parts();
    filler_.select(s, 0);
    for (std::uint32_t i = 0; i < shares[bottom_].size(); ++i) {
      const std::int64_t here = shares[bottom_][i];
      if (here == 0) continue;
      d.replicas += static_cast<std::uint32_t>(here);
      const std::uint64_t tasks = static_cast<std::uint64_t>(here) * q.tasks_per_replica;
      if (bottom_ != cluster_->tree().level_count()) {
        filler_.fill(static_cast<unsigned>(bottom_), i, tasks);
      } else {
        const node_id n{i};
        filler_.place_on(n, filler_.pool_of(cluster_->node(n), s), q.shape, tasks);
      }
    }
    filler_.score_tasks();
    filler_.forget_used();
    d.score.tasks_missing = (q.replicas - d.replicas) * q.tasks_per_replica;
    d.where = {filler_.tasks(), {&shape_, 1}};
    if (q.shape.part.asks()) d.where.parts = filler_.places();
    d.result = verdict::placed;
    d.rule = 0;
    d.why = {};
  }

  cluster* cluster_;
  detail::tree_filler<Domain, Node, Devices> filler_;
  task_shape shape_{};
  std::size_t bottom_ = 0;
  struct {
    bool is_set = false;
    std::size_t level = 0;
    std::uint32_t domain = 0;
  } inside_;                                         ///< the domain that holds all replicas
  amounts room_;                                     ///< replicas by domain of the level `bottom_`
  std::vector<std::vector<std::uint8_t>> kept_out_;  ///< by level and domain: other jobs repel the request
  std::vector<counted_rule> counted_;                ///< by rule
  std::vector<std::size_t> origin_;                  ///< the rules of the skews
};

}  // namespace berth
