#include "berth_place/spread.hpp"

#include <chrono>
#include <cstddef>
#include <memory>
#include <utility>

#include "berth/solver/explain_text.hpp"

namespace berth_place {

namespace {

using berth::level_id;

// What rules count, with the gang in place.
void count(site& s, spread_answer& a) {
  const berth::domain_tree& tree = s.spec.tree;
  a.counts.resize(a.ask.groups.size());
  for (std::size_t g = 0; g < a.ask.groups.size(); ++g) {
    const berth::spread_request& q = a.ask.groups[g].ask;
    for (const berth::spread_rule& r : q.rules) {
      rule_counts n;
      const bool nodes = r.level == berth::level_of_nodes(tree);
      n.before.resize(nodes ? s.spec.nodes.size() : tree.domain_count(r.level));
      const auto domain = [&](berth::node_id node) {
        return nodes ? node.index() : tree.domain_of(node, r.level).index();
      };
      const auto by_node = a.book.count(*s.live, r.label);
      for (std::uint32_t i = 0; i < by_node.size(); ++i) n.before[domain(berth::node_id{i})] += by_node[i];
      n.now = n.before;
      // Tasks of other groups count where they carry the label.
      std::size_t at = 0;
      for (std::size_t other = 0; other < a.ask.groups.size(); ++other) {
        const std::size_t those = std::size_t{a.decision.replicas[other]} * a.ask.groups[other].ask.tasks_per_replica;
        const bool counts = (other == g && r.label.empty()) ||
                            (!r.label.empty() && berth::label_book::has(a.ask.groups[other].ask.labels, r.label));
        for (std::size_t t = at; counts && t < at + those; ++t) ++n.now[domain(a.decision.tasks[t].node)];
        at += those;
      }
      if (q.tasks_per_replica > 1)
        for (auto* list : {&n.before, &n.now})
          for (auto& v : *list) v = (v + q.tasks_per_replica - 1) / q.tasks_per_replica;
      a.counts[g].push_back(std::move(n));
    }
  }
}

// A spread placer behind the same interface for any cluster.
struct placer_of_any {
  std::unique_ptr<any_placer> place;
  berth::spread_decision operator()(const berth::spread_request& q, const berth::label_book& book) const {
    return place->spread(q, book);
  }
};

}  // namespace

std::string unit_of(const berth::spread_request& q) {
  return q.tasks_per_replica > 1 ? "segment" : "task";
}

spread_answer ask_spread(site& s, berth::resolved_job& job, const policy_choice& policy,
                         const berth::placer_limits& limits, any_placer& place, std::uint64_t& nanoseconds) {
  spread_answer a;
  a.ask = std::move(*job.spread);
  a.book = std::move(job.book);
  berth::cluster& c = *s.live;
  std::size_t held = 0;
  for (std::size_t j = 0; j < s.jobs.size(); ++j)
    c.for_each_task(key_of(j), [&](const berth::committed_task&) { ++held; });
  const std::size_t groups = a.ask.groups.size();
  berth::cluster_limits more{s.jobs.size() + groups, held + limits.tasks, 0, 4096 + limits.tasks};
  more.bindings = c.inside().is_on();
  more.parts = s.parts.get();
  c.reserve(more);
  const auto ask = [&](const berth::spread_request& q, const berth::label_book& book) { return place.spread(q, book); };
  berth::spread_gang_solver solve{c, key_of(s.jobs.size())};
  static_cast<void>(solve(ask, a.ask, a.book));
  const auto begin = std::chrono::steady_clock::now();
  a.decision = solve(ask, a.ask, a.book);
  nanoseconds = static_cast<std::uint64_t>(
      std::chrono::duration_cast<std::chrono::nanoseconds>(std::chrono::steady_clock::now() - begin).count());
  if (a.decision) {
    count(s, a);
    return a;
  }
  if (a.decision.result == berth::verdict::invalid || a.decision.result == berth::verdict::capacity_exhausted) return a;
  const std::size_t at = a.decision.group;
  const auto make = [&](berth::cluster& other) {
    return std::make_unique<placer_of_any>(placer_of_any{make_placer(policy, other, limits)});
  };
  const berth::spread_request& q = a.ask.groups[at].ask;
  a.why = berth::explain_spread(c, q, a.book, a.decision.why, make);
  if (a.why->beside_others) a.why->result = a.decision.result;
  a.sentences =
      berth::spread_sentences(*a.why, q, s.spec, groups > 1 ? " of group " + job.ask.groups[at].name : "", unit_of(q));
  return a;
}

berth::decision as_decision(const site& s, const spread_answer& a) {
  berth::decision d;
  d.result = a.decision.result;
  d.where = a.decision.where();
  d.score = a.decision.score;
  if (!a.decision) return d;
  const berth::domain_tree& tree = s.spec.tree;
  for (std::uint8_t l = 0; l < tree.level_count(); ++l)
    if (d.score.domains_used[l] == 1) {
      d.level = level_id{l};
      d.domain = tree.domain_of(a.decision.tasks.front().node, d.level);
    }
  return d;
}

std::string counts_text(const site& s, const berth::spread_rule& r, const rule_counts& n) {
  constexpr std::size_t most = 12;
  std::string out;
  std::size_t listed = 0, left = 0;
  for (std::uint32_t d = 0; d < n.now.size(); ++d) {
    if (n.now[d] == 0) continue;
    if (listed == most) {
      ++left;
      continue;
    }
    ++listed;
    out += (out.empty() ? "" : ", ") + berth::detail::level_domain_text(s.spec, r.level, berth::domain_id{d}) + " " +
           std::to_string(n.now[d]);
    if (n.before[d] != 0) out += " (" + std::to_string(n.before[d]) + " before)";
  }
  if (left != 0) out += " and " + std::to_string(left) + " more";
  return out;
}

}  // namespace berth_place
