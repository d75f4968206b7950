// The placer against the reference on random small clusters: it finds a placement whenever there is one, none of its
// placements breaks a rule, and the default policy's are nearly always the best there are.
#include <doctest/doctest.h>

#include <cstdio>
#include <string>
#include <vector>

#include "berth/cluster/transaction.hpp"
#include "berth/policy/compose.hpp"
#include "berth/solver/exact.hpp"
#include "berth/solver/placer.hpp"
#include "berth/solver/validate.hpp"
#include "solver/random_instance.hpp"
#include "solver/sanitized.hpp"

using namespace berth;
using namespace berth_test;

namespace {

/// A domain policy as a user might write one: as close to half used as can be.
struct half_used {
  [[nodiscard]] double score(const domain_view& d, std::uint64_t need) const noexcept {
    const double share = static_cast<double>(need) / static_cast<double>(d.capacity + 1);
    return -(share - 0.5) * (share - 0.5);
  }
};
/// A node policy as a user might write one: odd nodes first, then much memory.
struct odd_nodes {
  [[nodiscard]] std::int64_t score(const node_view& n, const task_shape&) const noexcept {
    return (n.id.raw() % 2 != 0 ? std::int64_t{1} << 50 : 0) + n.state.memory.count() / 1024;
  }
};
struct low_capacity {
  static constexpr bool normalized = true;
  [[nodiscard]] double score(const domain_view& d, std::uint64_t) const noexcept {
    return 1.0 / (1.0 + static_cast<double>(d.capacity));
  }
};
struct few_nodes {
  static constexpr bool normalized = true;
  [[nodiscard]] double score(const domain_view& d, std::uint64_t) const noexcept { return 1.0 / (1.0 + d.nodes); }
};
struct memory_left {
  static constexpr bool normalized = true;
  [[nodiscard]] double score(const node_view& n, const task_shape&) const noexcept {
    return 1.0 / (2.0 + static_cast<double>(n.state.memory.count() >> 20));
  }
};
using composed_domains = weighted<low_capacity, few_nodes>;
using composed_nodes = weighted<device_utilisation, memory_left>;

/// One placer per policy, all on one cluster.
struct placers {
  placer<> standard;
  placer<tightest, bin_pack, best_bandwidth> tight;
  placer<least_free_first, bin_pack, best_bandwidth> least;
  placer<most_free_first, bin_pack, lowest_index> most;
  placer<balanced, spread, lowest_index> even;
  placer<fewest_domains, spread, best_bandwidth> spreading;
  placer<lexicographic<few_nodes, tightest>, lexicographic<bin_pack, odd_nodes>, lowest_index> lexical;
  placer<composed_domains, composed_nodes, lowest_index> weighed;
  placer<half_used, odd_nodes, best_bandwidth> own;
  explicit placers(cluster& c)
      : standard{c},
        tight{c},
        least{c},
        most{c},
        even{c},
        spreading{c},
        lexical{c},
        weighed{c, composed_domains{term{0.7, low_capacity{}}, term{0.3, few_nodes{}}},
                composed_nodes{term{1.0, device_utilisation{}}, term{0.5, memory_left{}}}},
        own{c} {}

  template <class F>
  void each(F&& f) {
    f(standard, "default");
    f(tight, "tightest");
    f(least, "least_free_first");
    f(most, "most_free_first, lowest_index");
    f(even, "balanced, spread, lowest_index");
    f(spreading, "fewest_domains, spread");
    f(lexical, "lexicographic");
    f(weighed, "weighted");
    f(own, "a user's own");
  }
};

struct tally {
  std::uint64_t asked = 0, possible = 0, impossible = 0, too_large = 0, best = 0, fewest_missing = 0, gave_up = 0,
                gave_up_possible = 0;
};
void add(tally& to, const tally& t) {
  to.asked += t.asked;
  to.possible += t.possible;
  to.impossible += t.impossible;
  to.too_large += t.too_large;
  to.best += t.best;
  to.fewest_missing += t.fewest_missing;
  to.gave_up += t.gave_up;
  to.gave_up_possible += t.gave_up_possible;
}
[[nodiscard]] double percent(std::uint64_t part, std::uint64_t whole) {
  return whole == 0 ? 100.0 : 100.0 * static_cast<double>(part) / static_cast<double>(whole);
}
[[nodiscard]] std::string line(const char* name, const tally& t) {
  char out[240];
  std::snprintf(out, sizeof out,
                "\n  %-28s %7llu asked %7llu possible  %6.2f %% best  %6.2f %% with fewest missing  %6.3f %% gave up "
                "(%llu possible)",
                name, static_cast<unsigned long long>(t.asked), static_cast<unsigned long long>(t.possible),
                percent(t.best, t.possible), percent(t.fewest_missing, t.possible),
                percent(t.gave_up, t.asked - t.too_large), static_cast<unsigned long long>(t.gave_up_possible));
  return out;
}

/// What of a decision must be the same when it is asked for again.
struct answer {
  verdict result;
  std::uint32_t missing;
  std::vector<task_placement> tasks;
  explicit answer(const decision& d)
      : result{d.result}, missing{d.score.tasks_missing}, tasks(d.where.tasks.begin(), d.where.tasks.end()) {}
};

struct results {
  tally standard[gang_kinds][2];  ///< by kind, and whether elastic
  tally others;
  std::uint64_t never = 0, not_now = 0, not_now_but_never = 0;
};

/// Asks every placer for one gang and holds the answers against the reference.
void judge(const cluster_spec& spec, cluster& c, placers& all, const gang& g, gang_kind kind, bool elastic,
           results& sum) {
  INFO(describe(g), describe(c));
  const exact_answer best = solve_exactly(c, g);
  REQUIRE(best.result != exact_verdict::invalid);
  bool never_possible = false, asked_empty = false;
  const auto possible_when_empty = [&] {
    if (!asked_empty) {
      gang translated;
      const cluster empty = pristine(spec, c, g, translated);
      never_possible = solve_exactly(empty, translated).result == exact_verdict::impossible;
      asked_empty = true;
    }
    return !never_possible;
  };
  const std::vector<node_state> before(c.nodes().begin(), c.nodes().end());
  all.each([&](auto& place, const char* name) {
    INFO("policy ", std::string(name));
    const bool standard = static_cast<void*>(&place) == static_cast<void*>(&all.standard);
    const decision d = place(g);
    bool same = true;
    for (std::uint32_t n = 0; n < before.size(); ++n) same = same && c.node(node_id{n}) == before[n];
    REQUIRE(same);
    REQUIRE(d.result != verdict::invalid);
    REQUIRE(d.result != verdict::capacity_exhausted);
    tally t;
    t.asked = 1;
    if (best.result == exact_verdict::too_large) t.too_large = 1;
    if (best.result == exact_verdict::found) t.possible = 1;
    if (best.result == exact_verdict::impossible) t.impossible = 1;
    if (d.result == verdict::placed) {
      const placement_check check = validate(c, g, d);
      INFO(describe(d, c));
      REQUIRE(static_cast<int>(check.fault) == 0);
      REQUIRE(best.result != exact_verdict::impossible);
      if (g.segments && g.segments->layout == segment_layout::consolidate)
        REQUIRE(is_consolidated(c, g, d.where) != false);
      if (best.result == exact_verdict::found) {
        INFO("best:   ", describe(best.score, c.tree().level_count()),
             "\nplacer: ", describe(d.score, c.tree().level_count()));
        REQUIRE(d.score >= best.score);
        t.best = d.score == best.score ? 1 : 0;
        t.fewest_missing = d.score.tasks_missing == best.score.tasks_missing ? 1 : 0;
        if (kind == gang_kind::alike || !elastic) REQUIRE(t.fewest_missing == 1);
      }
      if (standard) {
        transaction undone{c};
        REQUIRE(c.commit(job_key{999}, d.where));
      }
    } else if (d.result == verdict::gave_up) {
      t.gave_up = best.result != exact_verdict::too_large ? 1 : 0;
      t.gave_up_possible = t.possible;
    } else {
      REQUIRE(best.result != exact_verdict::found);
      if (d.result == verdict::never) REQUIRE(!possible_when_empty());
      if (standard && d.result == verdict::never) ++sum.never;
      if (standard && d.result == verdict::not_now)
        ++sum.not_now, sum.not_now_but_never += possible_when_empty() ? 0U : 1U;
    }
    add(standard ? sum.standard[static_cast<std::size_t>(kind)][elastic ? 1 : 0] : sum.others, t);
  });
}

void report(const results& sum, const char* title) {
  std::string text = title;
  for (std::size_t k = 0; k < gang_kinds; ++k)
    for (int e = 0; e < 2; ++e)
      if (sum.standard[k][e].asked != 0)
        text += line((std::string(gang_kind_names[k]) + (e != 0 ? ", elastic" : "")).c_str(), sum.standard[k][e]);
  text += line("all other policies", sum.others);
  MESSAGE(text, "\n  refused: ", sum.never, " never, ", sum.not_now, " not now (", sum.not_now_but_never,
          " of them would not fit an empty cluster either)");
}

}  // namespace

TEST_CASE("on random small clusters the placer finds what exists, breaks no rule and is nearly always best") {
  const std::uint64_t clusters = sanitized ? 1000 : 20000;
  results sum;
  for (std::uint64_t seed = 1; seed <= clusters; ++seed) {
    CAPTURE(seed);
    instance_maker make{seed * 7919, {seed % 10 == 0 ? 30U : 12U, 8, 12, 1500}};
    const cluster_spec spec = make.make_spec();
    // With few live shapes some are answered by bounds, and which ones depends on what was asked before.
    const bool all_shapes_live = make.chance(50);
    cluster c{spec, {.jobs = 40, .tasks = 500, .live_shapes = all_shapes_live ? 16U : make.between(1, 8)}};
    make.disturb(c);
    REQUIRE(!make.broken());
    placers all{c};
    std::vector<gang> asked;
    std::vector<answer> got;
    for (std::size_t k = 0; k < gang_kinds; ++k) {
      const auto kind = static_cast<gang_kind>(k);
      const bool elastic = make.chance(40);
      asked.push_back(make.make_gang(c, kind, elastic));
      judge(spec, c, all, asked.back(), kind, elastic, sum);
      got.emplace_back(all.standard(asked.back()));
    }
    for (std::size_t k = asked.size(); k-- > 0;) {
      INFO(describe(asked[k]), describe(c));
      const answer again{all.standard(asked[k])};
      REQUIRE(static_cast<int>(again.result) == static_cast<int>(got[k].result));
      REQUIRE(again.missing == got[k].missing);
      if (all_shapes_live) REQUIRE(again.tasks == got[k].tasks);
    }
    REQUIRE(c.check_invariants());
  }
  report(sum, "placer against exact");
  tally whole, fixed;
  for (const auto& kind : sum.standard) add(fixed, kind[0]), add(whole, kind[0]), add(whole, kind[1]);
  CHECK(percent(fixed.best, fixed.possible) >= 99.0);
  CHECK(percent(whole.gave_up, whole.asked - whole.too_large) <= 0.1);
  CHECK(percent(sum.others.gave_up, sum.others.asked - sum.others.too_large) <= 0.1);
  CHECK(whole.possible > clusters);
  CHECK(whole.impossible > clusters / 2);
}

TEST_CASE("gangs that fill what is free to the brim are found or refused, and hardly ever given up") {
  const std::uint64_t clusters = sanitized ? 60 : 400;
  results sum;
  std::uint64_t changed = 0;
  for (std::uint64_t seed = 1; seed <= clusters; ++seed) {
    CAPTURE(seed);
    instance_maker make{seed * 6151, {10, 8, 12, 3000}};
    const cluster_spec spec = make.make_spec();
    cluster c{spec, {.jobs = 40, .tasks = 500, .live_shapes = make.between(1, 8)}};
    make.disturb(c);
    placers all{c};
    for (int k = 0; k < 4; ++k) {
      gang g = make.make_tight_gang(c);
      if (g.groups.empty()) continue;
      judge(spec, c, all, g, gang_kind::mixed, false, sum);
      // One task more, and often it just does not fit.
      task_group& more = g.groups[make.between(0, static_cast<std::uint32_t>(g.groups.size()) - 1)];
      more.minimum = ++more.wanted;
      judge(spec, c, all, g, gang_kind::mixed, false, sum);
      ++changed;
    }
    REQUIRE(c.check_invariants());
  }
  report(sum, "tight gangs");
  const tally& t = sum.standard[1][0];
  // Vector packing to the brim: about 0.01 % of these are given up (2 of 18,940 of the default policies). A short run
  // asks for too few to tell that from 0.1 %.
  constexpr double most_given_up = sanitized ? 0.2 : 0.1;
  CHECK(percent(t.gave_up, t.asked - t.too_large) <= most_given_up);
  CHECK(percent(sum.others.gave_up, sum.others.asked - sum.others.too_large) <= most_given_up);
  CHECK(t.possible > changed / 2);
  CHECK(t.impossible > changed / 4);
}

TEST_CASE("with limits of tasks per node the placer finds what exists and breaks no rule") {
  const std::uint64_t clusters = sanitized ? 300 : 3000;
  results sum;
  for (std::uint64_t seed = 1; seed <= clusters; ++seed) {
    CAPTURE(seed);
    instance_maker make{seed * 9151, {seed % 10 == 0 ? 30U : 10U, 8, 12, 1500}};
    make.limit_per_node();
    const cluster_spec spec = make.make_spec();
    cluster c{spec, {.jobs = 40, .tasks = 500, .live_shapes = make.between(1, 8)}};
    make.disturb(c);
    placers all{c};
    for (std::size_t k = 0; k < gang_kinds; ++k) {
      const auto kind = static_cast<gang_kind>(k);
      const bool elastic = make.chance(40);
      gang g = make.make_gang(c, kind, elastic);
      judge(spec, c, all, g, kind, elastic, sum);
      g.groups[0].shape.per_node =
          make.between(0, 2);  // the same with another limit, which what is remembered must see
      judge(spec, c, all, g, kind, elastic, sum);
    }
    REQUIRE(c.check_invariants());
  }
  report(sum, "limits per node");
  tally whole;
  for (const auto& kind : sum.standard) add(whole, kind[0]), add(whole, kind[1]);
  CHECK(percent(whole.gave_up, whole.asked - whole.too_large) <= 0.1);
  CHECK(percent(whole.best, whole.possible) >= 97.0);
  CHECK(whole.possible > clusters);
  CHECK(whole.impossible > clusters);
}

TEST_CASE("leaves of more than 64 nodes and capacities of hundreds are no different") {
  const std::uint64_t clusters = sanitized ? 20 : 150;
  results sum;
  for (std::uint64_t seed = 1; seed <= clusters; ++seed) {
    CAPTURE(seed);
    instance_maker make{seed * 4513, {200, 8, 700, 900, 4}};
    const cluster_spec spec = make.make_spec();
    cluster c{spec, {.jobs = 300, .tasks = 2000, .live_shapes = 12}};
    make.disturb(c);
    placers all{c};
    for (std::size_t k = 0; k < gang_kinds; ++k) {
      const auto kind = static_cast<gang_kind>(k);
      const bool elastic = make.chance(40);
      judge(spec, c, all, make.make_gang(c, kind, elastic), kind, elastic, sum);
    }
    REQUIRE(c.check_invariants());
  }
  report(sum, "large leaves");
  tally whole;
  for (const auto& kind : sum.standard) add(whole, kind[0]), add(whole, kind[1]);
  CHECK(whole.possible > clusters);
  CHECK(whole.too_large * 20 <= whole.asked);
  CHECK(percent(whole.gave_up, whole.asked - whole.too_large) <= 0.5);
}
