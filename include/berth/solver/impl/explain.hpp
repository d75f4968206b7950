#pragma once
/// \file
/// Bodies of `berth/solver/explain.hpp`.

#include <cassert>
#include <utility>

#include "berth/core/shell_sort.hpp"
#include "berth/solver/explain.hpp"

namespace berth::detail {

/// Whether some GPU of a node has free slices enough for a MIG need of one instance, though no legal start.
[[nodiscard]] BERTH_INLINE bool is_fragmented(const cluster& c, node_id n, device_mask may, const part_need& need) {
  if (!need.is_mig()) return false;
  const device_parts& parts = c.inside().parts();
  bool out = false;
  for_each_bit(may & parts.masks(n.raw()).mig, [&](unsigned d) {
    const unsigned product = parts.limits(c.node(n).node_class, d).product;
    const mig_state_table& t = parts.product(product);
    const mig_geometry& g = t.geometry();
    const mig_request::on_product& want = parts.request(need.request()).products[product];
    unsigned units = 0, compute = 0;
    for (unsigned i = 0; i < want.count; ++i)
      units += g.row(want.profiles[i]).size.value_or(0), compute += g.row(want.profiles[i]).compute;
    const device_use& u = parts.use(n.raw(), d);
    out = out || (want.count != 0 && g.product->compute && t.free_units(u.state) >= units &&
                  mig_free_compute(g, u.instances) >= compute);
  });
  return out;
}

}  // namespace berth::detail

namespace berth {

BERTH_INLINE node_cause cause_of(const cluster& c, node_id n, const task_shape& t, level_id level) {
  if (!c.is_member(n)) return node_cause::vacant;
  const node_state& s = c.node(n);
  const node_class& whole = c.class_of(n);
  const eligibility may = c.eligible_ever(t.filter, n);
  if (!may.admits) return node_cause::excluded_by_label;
  if (count_bits(s.installed) < t.devices) return node_cause::too_few_devices;
  if (count_bits(s.installed & may.devices) < t.devices) return node_cause::excluded_by_model;
  const detail::device_parts& parts = c.inside().parts();
  const auto ever = [&](device_mask pool) {  // on the empty node
    return c.inside().potential(n.raw(), whole, s.node_class, s.installed, pool, t, 1) != 0;
  };
  if (t.part.asks() && !ever(may.devices))
    return ever(s.installed) ? node_cause::excluded_by_model : node_cause::too_few_devices;
  if (whole.cpu < t.cpu) return node_cause::too_few_cpus;
  if (whole.memory < t.memory) return node_cause::too_little_memory;
  if (!c.eligible(t.filter, n).admits) return node_cause::tainted;
  if (!s.usable) return node_cause::unusable;
  if (count_bits(s.installed & may.devices & ~s.unhealthy) < t.devices) return node_cause::unhealthy_devices;
  if (count_bits(s.free & may.devices) < t.devices) return node_cause::devices_in_use;
  if (t.part.asks() && parts.count(n.raw(), s, may.devices, t.part, 1) == 0) {
    if (!ever(may.devices & ~s.unhealthy)) return node_cause::unhealthy_devices;
    return detail::is_fragmented(c, n, may.devices & ~s.unhealthy, t.part) ? node_cause::fragmented
                                                                           : node_cause::devices_in_use;
  }
  if (s.cpu < t.cpu) return node_cause::cpus_in_use;
  if (s.memory < t.memory) return node_cause::memory_in_use;
  if (t.bind.asks() && c.inside().is_on() && c.inside().count(n.raw(), s, s.free & may.devices, t, 1) == 0)
    return node_cause::inside_in_use;
  for (unsigned l = level.raw() + 1U; c.any_detached() && l < c.tree().level_count(); ++l) {
    const level_id at{static_cast<std::uint8_t>(l)};
    if (c.is_detached(at, c.tree().domain_of(n, at))) return node_cause::uplink_down;
  }
  return node_cause::has_room;
}

}  // namespace berth

namespace berth::detail {

BERTH_INLINE explanation explainer::run() {
  explanation e;
  e.result = why_.result;
  e.fault = why_.why.fault;
  e.group = why_.why.group;
  e.steps = why_.steps;
  e.link = why_.why.link;
  const gang& g = *given_;
  const bool oversized =
      why_.result == verdict::invalid && e.fault == gang_fault::bad_shape && asks_too_much(g, e.group);
  if (why_.result == verdict::placed || why_.result == verdict::capacity_exhausted) return e;
  if (why_.result == verdict::invalid && (!oversized || otherwise_invalid(e))) return e;
  set_strict();
  outer_ = g.where == locality::required ? g.level : level_id{0};
  inner_ = g.segments && g.segments->level > outer_ ? g.segments->level : outer_;
  e.level = inner_;
  if (oversized) {
    // Never more than one node has, so no cluster needs to be asked.
    e.result = verdict::never;
    e.fault = gang_fault::none;
    e.fits_empty = false;
  } else {
    decide_never(e);
    e.groups_fit_alone = groups_fit_alone();
    count_room(e);
  }
  for (std::uint32_t n = 0; n < real_->node_count(); ++n) {
    const node_cause cause = cause_of(*real_, node_id{n}, group(e).shape, outer_);
    ++e.causes[static_cast<std::size_t>(cause)];
    if (cause == node_cause::tainted) count_taints(e, node_id{n});
  }
  if (!oversized) {
    asker now{*real_, limits_};
    e.nearest = near(now, e, nullptr);
    if (e.result == verdict::never) {
      cluster& empty = empty_cluster();
      asker ideal{empty, limits_};
      e.best_ever = near(ideal, e, &e.remedies);
      changes_of_request(ideal, e);
    } else {
      free_nodes(e);
      uplinks(e);
      near(now, e, &e.remedies);
      changes_of_request(now, e);
    }
  }
  smaller_tasks(e);
  return e;
}

BERTH_INLINE decision explainer::asker::operator()(const gang& g) {
  std::size_t tasks = 0;
  for (const auto& t : g.groups) {
    // What cannot fit by number alone needs no memory prepared for it.
    const live_shape* s = copy.is_valid(t.shape) ? copy.counters(t.shape) : nullptr;
    decision no;
    no.result = verdict::never;
    if (s == nullptr || copy.potential(*s, 0) < t.minimum) return no;
    tasks += t.wanted;
  }
  if (tasks > limits.tasks) {
    limits.tasks = tasks;
    place.reserve(limits);
  }
  return place(g);
}

BERTH_INLINE bool explainer::asks_too_much(const gang& g, std::uint32_t i) {
  if (i >= g.groups.size()) return false;
  const task_shape& s = g.groups[i].shape;
  return s.cpu.count() >= 0 && s.memory.count() >= 0 &&
         (s.devices > max_devices_per_node || s.cpu.count() >= task_shape::amount_limit ||
          s.memory.count() >= task_shape::amount_limit);
}

BERTH_INLINE bool explainer::otherwise_invalid(explanation& e) {
  gang g = *given_;
  for (std::uint32_t i = 0; i < g.groups.size(); ++i)
    if (asks_too_much(g, i)) g.groups[i].shape = {1, {}, {}, g.groups[i].shape.filter};
  std::uint32_t at = 0;
  const gang_fault f = check_gang(g, *real_, at);
  if (f == gang_fault::none) return false;
  e.fault = f;
  e.group = at;
  return true;
}

BERTH_INLINE void explainer::set_strict() {
  strict_ = *given_;
  if (strict_.segments) {
    const std::uint32_t count = strict_.segments->count;
    needs_ = 1;
    for (const auto& t : strict_.groups)
      if (t.minimum / (t.wanted / count) > needs_) needs_ = t.minimum / (t.wanted / count);
    set_segments(strict_, needs_);
  }
  for (auto& t : strict_.groups)
    if (!strict_.segments) t.wanted = t.minimum;
  if (limits_.groups < strict_.groups.size()) limits_.groups = strict_.groups.size();
}

BERTH_INLINE void explainer::set_segments(gang& g, std::uint32_t count) {
  for (auto& t : g.groups) t.wanted = t.minimum = t.wanted / g.segments->count * count;
  g.segments->count = count;
}

BERTH_INLINE cluster& explainer::empty_cluster() {
  if (!empty_) {
    empty_.emplace(*real_);
    detail::restore_all(*empty_);
    empty_->clear_uplinks();
  }
  return *empty_;
}

BERTH_INLINE void explainer::decide_never(explanation& e) {
  asker empty{empty_cluster(), limits_};
  const verdict v = empty(strict_).result;
  if (v == verdict::placed) e.fits_empty = true;
  if (v == verdict::not_now || v == verdict::never) e.fits_empty = false;
  if (e.fits_empty == false) e.result = verdict::never;
}

BERTH_INLINE void explainer::count_taints(explanation& e, node_id n) const {
  for (const std::string& label : real_->class_of(n).labels) {
    if (!is_taint(label) || is_tolerated(label, real_->filter(group(e).shape.filter).tolerations)) continue;
    const std::string key = label.substr(6, label.find_first_of("=:", 6) - 6);
    std::size_t k = 0;
    while (k < e.taints.size() && e.taints[k].key != key) ++k;
    if (k == e.taints.size()) e.taints.push_back({key, 0});
    ++e.taints[k].nodes;
  }
}

BERTH_INLINE bool explainer::groups_fit_alone() {
  if (strict_.groups.size() < 2) return false;
  asker now{*real_, limits_};
  for (const auto& t : strict_.groups) {
    gang one = strict_;
    one.groups.assign(1, t);
    if (!now(one)) return false;
  }
  return true;
}

BERTH_INLINE void explainer::count_room(explanation& e) {
  const task_shape& t = group(e).shape;
  if (t.per_node != 0) {
    task_shape any = t;
    any.per_node = 0;
    const live_shape* const crowded = real_->counters(any);
    for (std::uint32_t n = 0; crowded != nullptr && n < real_->node_count(); ++n)
      e.room.tasks_crowded += crowded->fits(n);
  }
  const live_shape* s = real_->counters(t);
  if (s == nullptr) return;
  for (std::uint32_t n = 0; n < real_->node_count(); ++n) {
    e.room.tasks_anywhere += s->fits(n);
    e.room.free_devices += count_bits(real_->node(node_id{n}).free & real_->eligible(t.filter, node_id{n}).devices);
  }
  if (t.per_node == 0) e.room.tasks_crowded = e.room.tasks_anywhere;
  e.room.tasks_in_one = s->largest(inner_.raw());
}

BERTH_INLINE std::optional<near_miss> explainer::near(asker& ask, const explanation& e, std::vector<remedy>* out) {
  decision best;
  const bool segments = strict_.segments.has_value();
  const std::uint32_t needs = segments ? needs_ : strict_.groups[e.group].minimum;
  const std::uint32_t holds = largest_placed(
      ask, needs,
      [&](std::uint32_t n) {
        gang g = strict_;
        if (segments) set_segments(g, n);
        else set_tasks(g, e.group, n);
        return g;
      },
      best);
  if (holds == 0) return std::nullopt;
  if (out != nullptr)
    out->push_back(
        {segments ? remedy::kind::fewer_segments : remedy::kind::fewer_tasks, true, best.level, best.domain, holds});
  // The domain of the level that was asked for; a narrower one where a broken uplink cut it off.
  if (!ask.copy.any_detached() && best.level > outer_) {
    const node_id first{ask.copy.tree().at(best.level, best.domain).nodes.first};
    return near_miss{outer_, ask.copy.tree().domain_of(first, outer_), holds, needs};
  }
  return near_miss{best.level, best.domain, holds, needs};
}

BERTH_INLINE void explainer::add(explanation& e, const decision& d, remedy r) {
  r.level = d.level;
  r.domain = d.domain;
  e.remedies.push_back(std::move(r));
}

BERTH_INLINE void explainer::uplinks(explanation& e) {
  if (!real_->any_detached()) return;
  asker whole{*real_, limits_};
  detail::restore_uplinks(whole.copy);
  if (const decision d = whole(strict_)) add(e, d, {remedy::kind::restore_uplinks});
}

BERTH_INLINE void explainer::changes_of_request(asker& ask, explanation& e) {
  for (unsigned l = outer_.raw(); l-- > 0;) {
    gang g = strict_;
    g.level = level_id{static_cast<std::uint8_t>(l)};
    const decision d = ask(g);
    if (!d) continue;
    remedy r{remedy::kind::wider_level};
    r.spread = d.score.domains_used[outer_.index()];
    add(e, d, std::move(r));
    e.remedies.back().level = g.level;
    e.remedies.back().domain =
        ask.copy.tree().domain_of(node_id{ask.copy.tree().at(d.level, d.domain).nodes.first}, g.level);
    break;
  }
  if (strict_.segments) {
    gang g = strict_;
    if (g.segments->layout == segment_layout::spread) {
      g.segments->layout = segment_layout::free;
      if (const decision d = ask(g)) add(e, d, {remedy::kind::any_layout});
    }
    g = strict_;
    g.segments.reset();
    if (const decision d = ask(g)) add(e, d, {remedy::kind::no_segments});
  }
  if (group(e).shape.per_node != 0) more_per_node(ask, e);
  if (group(e).shape.filter == filter_id{0}) return;
  gang g = strict_;
  const node_filter& asked = real_->filter(group(e).shape.filter);
  if (asked.taints) {
    g.groups[e.group].shape.filter = ask.copy.add_filter(without_taints(asked));
    if (const decision d = ask(g)) return add(e, d, {remedy::kind::no_taints});
  }
  g.groups[e.group].shape.filter = filter_id{0};
  if (const decision d = ask(g)) add(e, d, {remedy::kind::no_filter});
}

BERTH_INLINE void explainer::more_per_node(asker& ask, explanation& e) {
  gang g = strict_;
  task_group& t = g.groups[e.group];
  std::uint32_t low = t.shape.per_node, high = t.wanted;  // low does not do
  if (high <= low) return;
  decision best;
  for (t.shape.per_node = high;; t.shape.per_node = low + (high - low) / 2) {
    const decision d = ask(g);
    if (d) high = t.shape.per_node, best = d;
    else if (t.shape.per_node == high) return;
    else low = t.shape.per_node;
    if (low + 1 >= high) break;
  }
  remedy r{remedy::kind::more_per_node};
  r.count = high;
  add(e, best, std::move(r));
}

BERTH_INLINE void explainer::smaller_tasks(explanation& e) {
  const std::uint32_t asked = group(e).shape.devices;
  if (asked < 2) return;
  // On an empty cluster where the gang would never fit on the real one: there the question is what could ever fit.
  asker ask{e.result == verdict::never ? empty_cluster() : *real_, limits_};
  decision best;
  const std::uint32_t limit = asked > max_devices_per_node ? max_devices_per_node + 1 : asked;
  const std::uint32_t n = largest_placed(
      ask, limit,
      [&](std::uint32_t devices) {
        gang g = strict_;
        g.groups[e.group].shape.devices = devices;
        return g;
      },
      best);
  if (n == 0) return;
  remedy r{remedy::kind::smaller_tasks};
  r.count = n;
  add(e, best, std::move(r));
}

BERTH_INLINE void explainer::free_nodes(explanation& e) {
  const task_group& t = strict_.groups[e.group];
  room_request r{t.shape, outer_, inner_, t.minimum, 1, false};
  if (strict_.segments) {
    r.size = t.wanted / strict_.segments->count;
    r.needs = needs_;
    r.one_per_domain = strict_.segments->layout == segment_layout::spread;
  }
  const bool exact = strict_.groups.size() == 1 && !strict_.segments;
  std::vector<room_plan> plans = plan_room(*real_, r);
  if (plans.size() > 8) plans.resize(8);
  for (room_plan& p : plans) {
    const std::size_t planned = p.nodes.size();
    if (exact) {
      if (with_free(p, planned, e, true)) return;
      continue;
    }
    if (planned != 0 && with_free(p, planned, e, false)) return;
    // Several shapes get in each other's way: add the domain's other nodes until it fits, then halve the way back.
    complete(p);
    if (!with_free(p, p.nodes.size(), e, false)) continue;
    std::size_t low = planned, high = p.nodes.size();
    while (low + 1 < high) {
      const std::size_t mid = low + (high - low) / 2;
      e.remedies.pop_back();
      if (with_free(p, mid, e, false)) {
        high = mid;
      } else {
        low = mid;
        static_cast<void>(with_free(p, high, e, false));
      }
    }
    return;
  }
}

BERTH_INLINE void explainer::complete(room_plan& p) {
  std::vector<bool> listed(real_->node_count(), false);
  for (const node_id n : p.nodes) listed[n.index()] = true;
  const id_range all = real_->tree().at(outer_, p.domain).nodes;
  for (std::uint32_t n = all.first; n < all.last; ++n)
    if (!listed[n] && real_->is_member(node_id{n}) && !(restored(*real_, node_id{n}) == real_->node(node_id{n})))
      p.nodes.push_back(node_id{n});
}

BERTH_INLINE bool explainer::with_free(const room_plan& p, std::size_t count, explanation& e, bool least) {
  asker freed{*real_, limits_};
  for (std::size_t i = 0; i < count; ++i) restore(freed.copy, p.nodes[i]);
  const decision d = freed(strict_);
  if (!d) return false;
  remedy r{remedy::kind::free_nodes, least};
  r.count = static_cast<std::uint32_t>(count);
  r.nodes.assign(p.nodes.begin(), p.nodes.begin() + static_cast<std::ptrdiff_t>(count));
  shell_sort(r.nodes.data(), r.nodes.size(), [](node_id a, node_id b) { return a < b; });
  add(e, d, std::move(r));
  return true;
}

}  // namespace berth::detail

namespace berth {

BERTH_INLINE explanation explain(const cluster& c, const gang& g, const decision& d, const placer_limits& limits) {
  assert(!c.in_transaction());
  return detail::explainer{c, g, d, limits}.run();
}

}  // namespace berth

namespace berth::detail {

BERTH_INLINE explainer::explainer(const cluster& c, const gang& g, const decision& d, const placer_limits& limits)
    : real_{&c}, given_{&g}, why_{d}, limits_{limits} {}

BERTH_INLINE explainer::asker::asker(const cluster& c, const placer_limits& l)
    : copy{c}, place{copy, {}, {}, {}, l}, limits{l} {}

}  // namespace berth::detail
