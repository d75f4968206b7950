#include <doctest/doctest.h>

#include <map>
#include <string>
#include <utility>
#include <vector>

#include "berth/core/random.hpp"
#include "berth/io/case/file.hpp"
#include "berth/io/case/queues.hpp"
#include "berth/io/text_file.hpp"
#include "berth/quota/borrowing.hpp"
#include "berth/quota/kueue_share.hpp"

using namespace berth;

namespace {

queue_quota quota(quota_amount nominal, quota_amount borrow = unlimited, quota_amount lend = unlimited) {
  queue_quota q;
  q.guarantee = nominal;
  q.borrowing_limit = borrow;
  q.lending_limit = lend;
  return q;
}
queue_spec queue(std::string name, std::string parent, std::vector<queue_quota> k, quota_amount weight = 1000) {
  queue_spec q;
  q.name = std::move(name);
  q.parent = std::move(parent);
  q.quota = std::move(k);
  q.weight = weight;
  return q;
}
queue_tree_spec gpu_tree(std::vector<queue_spec> queues) {
  queue_tree_spec s;
  s.resources = {{"gpu", "", 1}};
  s.queues = std::move(queues);
  return s;
}
constexpr resource_id gpu{0};
std::vector<quota_demand> gpus(quota_amount n) {
  return {{gpu, n}};
}

/// Kueue's definition, recursively, as independent of `queue_tree::available` as can be.
quota_amount available_by_definition(const queue_tree& t, queue_id q) {
  const auto c = t.cell(q, gpu);
  const auto& k = t.spec(q).quota[0];
  if (!t.parent(q)) return c.subtree - c.climbed;
  auto from_above = available_by_definition(t, t.parent(q));
  if (k.borrowing_limit != unlimited)
    from_above =
        std::min(from_above, c.subtree - c.local - std::max<quota_amount>(0, c.climbed - c.local) + k.borrowing_limit);
  return std::max<quota_amount>(0, c.local - c.climbed) + from_above;
}

}  // namespace

TEST_CASE("Kueue's admissions agree where quota decides alone") {
  // What the quota says of every pending workload on the usage at the start of the cycle; the rest of these cases is
  // about topology and preemption. Workloads that need victims do not fit, or fit the quota and lack a domain.
  const std::map<std::string, std::map<std::string, bool>> fits_quota = {
      {"kueue-admit-002", {{"foo", true}}},
      {"kueue-admit-010", {{"foo", true}}},
      {"kueue-admit-018", {{"foo", true}}},
      {"kueue-admit-026", {{"foo", true}}},
      {"kueue-admit-034", {{"foo", true}}},
      {"kueue-admit-042", {{"wl-high-1", true}, {"wl-high-2", true}}},
      {"kueue-admit-050", {{"a1", true}, {"b1", false}}},
      {"kueue-admit-058", {{"b1", false}}},
      {"kueue-admit-066", {{"a2", true}, {"b1", true}}}};
  std::size_t seen = 0;
  case_file file;
  const auto text = load_text_file(std::string{BERTH_SOURCE_DIR} + "/tests/quota/data/kueue_admit.json");
  REQUIRE(text);
  REQUIRE(read_cases(*text, "kueue_admit.json", file));
  for (const auto& c : file.cases) {
    CAPTURE(c.id);
    auto spec = case_io::kueue_queues(c);
    REQUIRE(spec);
    auto t = queue_tree::build(std::move(*spec));
    REQUIRE(t);
    const auto demands = [&](const std::map<std::string, quota_amount>& kinds) {
      std::map<std::uint16_t, quota_amount> sum;
      for (const auto& [kind, n] : kinds) sum[t->find_resource(kind, "tas-default").raw()] += n;
      std::vector<quota_demand> out;
      for (const auto& [r, n] : sum)
        if (r < t->resource_count()) out.push_back({resource_id{r}, n});
      return out;
    };
    const auto text_of = [](const json_value& o, std::string_view key) { return o.find(key)->text; };
    const auto add = [](std::map<std::string, quota_amount>& to, const json_value& kinds, quota_amount times) {
      for (std::size_t i = 0; i < kinds.keys.size(); ++i) to[kinds.keys[i]] += kinds.items[i].integer * times;
    };
    for (const auto& w : c.find("workloads")->items) {
      if (text_of(w, "state") != "running") continue;
      std::map<std::string, quota_amount> used;
      add(used, *w.find("usage")->find("tas-default"), 1);
      REQUIRE(t->add_usage(t->find(text_of(w, "queue")), demands(used)));
    }
    for (const auto& w : c.find("workloads")->items) {
      if (text_of(w, "state") != "pending") continue;
      std::map<std::string, quota_amount> total;
      for (const auto& p : w.find("pod_sets")->items) add(total, *p.find("per_pod"), p.find("count")->integer);
      const auto a = t->may_admit(t->find(text_of(w, "queue")), demands(total));
      const auto name = text_of(w, "name");
      CHECK_MESSAGE(bool(a) == fits_quota.at(c.id).at(name), name, " ", name_of(a.refused_by));
      for (const auto& e : c.find("expect")->items)
        if (text_of(e, "workload") == name && text_of(e, "result") == "admitted") CHECK(bool(a));
      ++seen;
    }
  }
  CHECK(seen == 12);
}

TEST_CASE("A tree lends, borrows and refuses as Kueue's rules say") {
  // Cohort with 2 of its own; a lends at most 3 of 10, b borrows at most 4.
  auto t = *queue_tree::build(gpu_tree({queue("all", "", {quota(2)}), queue("a", "all", {quota(10, unlimited, 3)}),
                                        queue("b", "all", {quota(6, 4)}), queue("c", "all", {quota(0)})}));
  const auto all = t.find("all"), a = t.find("a"), b = t.find("b"), c = t.find("c");
  CHECK(t.cell(all, gpu).subtree == 2 + 3 + 6);
  CHECK(t.cell(a, gpu).local == 7);
  CHECK(t.available(a, gpu) == 7 + 11);
  CHECK(t.available(b, gpu) == 10);
  CHECK(t.available(c, gpu) == 11);
  CHECK(t.cell(a, gpu).potential == 18);
  CHECK(t.admit(a, gpus(8)));  // 7 local, one climbs
  CHECK(t.cell(all, gpu).climbed == 1);
  CHECK(t.cell(all, gpu).used == 8);
  CHECK(t.available(c, gpu) == 10);
  const auto no = t.may_admit(b, gpus(11));
  CHECK(no.refused_by == quota_limit::borrowing_limit);
  CHECK(no.queue == b);
  CHECK(no.available == 10);
  CHECK(t.admit(c, gpus(5)));
  const auto full = t.may_admit(b, gpus(6));
  CHECK(full.refused_by == quota_limit::guarantees);
  CHECK(full.queue == all);
  CHECK(full.asked == 6);
  CHECK(full.available == 5);
  CHECK(may_borrow(t, b, gpu) == 0);
  CHECK(may_borrow(t, a, gpu) == 3);
  CHECK(t.remove_usage(c, gpus(6)).refused_by == quota_limit::invalid_request);
  CHECK(t.remove_usage(c, gpus(5)));
  CHECK(t.remove_usage(a, gpus(8)));
  CHECK(t.cell(all, gpu).climbed == 0);
  CHECK(t.cell(all, gpu).used == 0);
  const auto from = lenders(t, b, gpu);
  REQUIRE(from.size() == 2);
  CHECK(from[0].from == a);
  CHECK(from[0].idle == 3);
  CHECK(from[1].from == all);
  const auto kept = kept_back(t, b, gpu);
  REQUIRE(kept.size() == 1);
  CHECK(kept[0].from == a);
  CHECK(kept[0].idle == 7);
}

TEST_CASE("The nearest lenders are the first of all, and the others are counted") {
  random_source random{12};
  for (int round = 0; round < 200; ++round) {
    std::vector<queue_spec> queues;
    const auto n = 2 + random.below(12);
    const auto roots = 1 + random.below(3);
    for (std::uint64_t i = 0; i < n; ++i)
      queues.push_back(queue("q" + std::to_string(i), i < roots ? "" : "q" + std::to_string(random.below(i)),
                             {quota(static_cast<quota_amount>(random.below(4)), unlimited, unlimited)}));
    auto spec = gpu_tree(queues);
    if (round % 2 == 1) spec.rule = quota_rule::caps, spec.guarantees = guarantee_rule::as_given;
    const auto t = *queue_tree::build(spec);
    const lender_index index{t, gpu};
    for (std::uint32_t i = 0; i < n; ++i) {
      // As the definition goes: siblings of everybody on the path, and what cohorts hold themselves.
      std::vector<lender> all;
      for (queue_id at{i};; at = t.parent(at)) {
        const auto up = t.parent(at);
        for (std::uint32_t k = 0; k < n; ++k)
          if (const auto idle = t.cell(queue_id{k}, gpu).subtree;
              k != at.raw() && t.parent(queue_id{k}) == up && idle > 0 && (up || spec.rule == quota_rule::caps))
            all.push_back({queue_id{k}, idle});
        if (!up) break;
        if (spec.rule == quota_rule::cohort && t.cell(up, gpu).guarantee > 0)
          all.push_back({up, t.cell(up, gpu).guarantee});
      }
      for (std::size_t most = 0; most <= all.size() + 1; ++most) {
        const auto some = index.of(queue_id{i}, most);
        REQUIRE(some.nearest.size() == std::min(most, all.size()));
        CHECK(some.more == all.size() - some.nearest.size());
        for (std::size_t k = 0; k < some.nearest.size(); ++k) {
          CHECK(some.nearest[k].from == all[k].from);
          CHECK(some.nearest[k].idle == all[k].idle);
        }
      }
      CHECK(lenders(t, queue_id{i}, gpu).size() == all.size());
    }
  }
}

TEST_CASE("On random trees admission, usage and Kueue's recursive definition agree") {
  random_source random{11};
  for (int round = 0; round < 2000; ++round) {
    std::vector<queue_spec> queues;
    const auto n = 1 + random.below(12);
    for (std::uint64_t i = 0; i < n; ++i) {
      const auto limit = [&](quota_amount most) {
        return random.below(2) == 0 ? unlimited
                                    : static_cast<quota_amount>(random.below(static_cast<std::uint64_t>(most)));
      };
      queues.push_back(queue("q" + std::to_string(i), i == 0 ? "" : "q" + std::to_string(random.below(i)),
                             {quota(static_cast<quota_amount>(random.below(10)), limit(8), limit(8))}));
    }
    auto t = *queue_tree::build(gpu_tree(queues));
    std::vector<std::pair<queue_id, quota_amount>> running;
    for (int step = 0; step < 20; ++step) {
      const queue_id q{static_cast<std::uint32_t>(random.below(n))};
      const auto free = available_by_definition(t, q);
      REQUIRE(t.available(q, gpu) == std::max<quota_amount>(0, free));
      const auto k = static_cast<quota_amount>(1 + random.below(6));
      REQUIRE(bool(t.may_admit(q, gpus(k))) == (k <= free));
      const bool force = random.below(4) == 0;  // running work of an earlier, larger quota
      if (force ? bool(t.add_usage(q, gpus(k))) : bool(t.admit(q, gpus(k)))) running.emplace_back(q, k);
      if (!running.empty() && random.below(3) == 0) {
        const auto i = random.below(running.size());
        REQUIRE(t.remove_usage(running[i].first, gpus(running[i].second)));
        running.erase(running.begin() + static_cast<std::ptrdiff_t>(i));
      }
      quota_amount sum = 0;
      for (const auto& r : running) sum += r.second;
      quota_amount roots = 0;
      for (std::uint32_t i = 0; i < t.root_count(); ++i) roots += t.cell(queue_id{i}, gpu).used;
      REQUIRE(roots == sum);
    }
    for (const auto& [q, k] : running) REQUIRE(t.remove_usage(q, gpus(k)));
    for (std::uint32_t i = 0; i < n; ++i) {
      REQUIRE(t.cell(queue_id{i}, gpu).used == 0);
      REQUIRE(t.cell(queue_id{i}, gpu).climbed == 0);
    }
  }
}

TEST_CASE("Among queues of weight zero the unweighted share decides, and equal is not less") {
  // pains A24: a group with 8, two queues of weight 0 and nominal 0.
  auto t = *queue_tree::build(
      gpu_tree({queue("all", "", {quota(8)}), queue("x", "all", {quota(0)}, 0), queue("y", "all", {quota(0)}, 0)}));
  const auto x = t.find("x"), y = t.find("y");
  REQUIRE(t.admit(x, gpus(8)));
  const auto big = kueue_share_of(t, x);
  const quota_amount four[] = {4}, eight[] = {8};
  CHECK(big.infinite());
  CHECK(kueue_share_of(t, y, four) < big);
  CHECK_FALSE(kueue_share_of(t, y, eight) < big);
  CHECK(kueue_share_of(t, y, eight) == big);
  CHECK_FALSE(kueue_share_of(t, y).infinite());
  // The largest weights do not round the difference away.
  auto u = *queue_tree::build(gpu_tree({queue("all", "", {quota(8)}), queue("x", "all", {quota(0)}, max_quota),
                                        queue("y", "all", {quota(0)}, max_quota)}));
  CHECK(kueue_share_of(u, u.find("x"), four) < kueue_share_of(u, u.find("y"), eight));
}

TEST_CASE("In a tournament the lowest share after adding wins at every cohort") {
  auto t = *queue_tree::build(
      gpu_tree({queue("org", "", {quota(0)}), queue("left", "org", {quota(0)}), queue("right", "org", {quota(0)}),
                queue("a", "left", {quota(4)}), queue("b", "left", {quota(4)}), queue("c", "right", {quota(8)})}));
  const auto a = t.find("a"), b = t.find("b"), c = t.find("c");
  REQUIRE(t.admit(a, gpus(4)));
  REQUIRE(t.admit(c, gpus(8)));
  kueue_tournament cup{t};
  std::vector<kueue_head> heads{{a, {1}, 0, 0, false}, {b, {4}, 0, 5, false}, {c, {1}, 9, 0, false}};
  CHECK(cup.winners(heads) == std::vector<std::size_t>{1});  // only b stays within its own
  heads[1].request = {6};
  // Under left: a would borrow 1 of 16, b 2 of 16. Left then uses 5 of its 8, right would borrow.
  CHECK(cup.winners(heads) == std::vector<std::size_t>{0});
  REQUIRE(t.admit(b, gpus(4)));
  // left and right would both borrow 1: higher priority wins.
  heads[1].request = {2};
  CHECK(cup.winners(heads) == std::vector<std::size_t>{2});
  heads[2].priority = 0;
  heads[2].queued_at = 1;
  CHECK(cup.winners(heads) == std::vector<std::size_t>{0});
  heads[2].has_preempted = true;
  CHECK(cup.winners(heads) == std::vector<std::size_t>{2});
}

TEST_CASE("A second pass of the tournament gives the freed share to who asked for it, not back to the victim") {
  // pains A23: A=150, B=150, BE=0; A runs 250, BE 50; A asks 50 more.
  auto t = *queue_tree::build(gpu_tree({queue("all", "", {quota(0)}), queue("A", "all", {quota(150)}),
                                        queue("B", "all", {quota(150)}), queue("BE", "all", {quota(0)})}));
  const auto a = t.find("A"), be = t.find("BE");
  REQUIRE(t.admit(a, gpus(250)));
  REQUIRE(t.admit(be, gpus(50)));
  const quota_amount fifty[] = {50};
  // A with 50 more borrows 150 of 300, BE 50 of 300: by Kueue's rules A may not take from BE, so nothing moves.
  CHECK(kueue_share_of(t, a, fifty).rounded() == 500);
  CHECK(kueue_share_of(t, be).rounded() == 167);
  CHECK_FALSE(kueue_share_of(t, a, fifty) < kueue_share_of(t, be));
  REQUIRE(t.remove_usage(be, gpus(50)));
  kueue_tournament cup{t};
  const std::vector<kueue_head> heads{{a, {50}, 0, 0, false}, {be, {50}, 0, 0, false}};
  CHECK(cup.winners(heads) == std::vector<std::size_t>{1});
}
