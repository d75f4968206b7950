#include <doctest/doctest.h>

#include <algorithm>
#include <array>

#include "berth/core/random.hpp"
#include "berth/quota/honest/honesty.hpp"
#include "berth/quota/honest/weekly_report.hpp"
#include "berth/quota/order/attained_service.hpp"
#include "berth/quota/order/fair_tree.hpp"
#include "berth/quota/order/finish_time.hpp"
#include "berth/quota/order/job_order.hpp"
#include "berth/quota/order/kai.hpp"
#include "berth/quota/order/yarn.hpp"
#include "berth/quota/order/yunikorn.hpp"
#include "berth/quota/usage/admission_average.hpp"
#include "berth/quota/usage/decay.hpp"
#include "berth/quota/usage/window.hpp"

using namespace berth;

static_assert(queue_order_policy<yunikorn_order> && queue_order_policy<yarn_order> &&
              queue_order_policy<kai_queue_order>);

TEST_CASE("Decay composes, and does not care how an interval is cut") {
  random_source random{9};
  for (int k = 0; k < 2000; ++k) {
    const double half_life = 60 + random.unit() * 1e6, end = random.unit() * 5e6;
    decayed_usage once{half_life}, twice{half_life}, cut{half_life}, late{half_life};
    once.add(1000, 0);
    twice.add(1000, 0);
    twice.add(0, end / 2);
    const double a = once.at(end), b = twice.at(end);
    REQUIRE(std::abs(a - b) <= 1e-12 * a);
    // A run of 3 GPUs from 0 to end, whole and in random pieces; then the same pieces backwards.
    decayed_usage whole{half_life};
    whole.run(3, 0, end);
    std::vector<double> times{0, end};
    for (int i = 0; i < 6; ++i) times.push_back(random.unit() * end);
    std::sort(times.begin(), times.end());
    for (std::size_t i = 1; i < times.size(); ++i) cut.run(3, times[i - 1], times[i]);
    for (std::size_t i = times.size(); i-- > 1;) late.run(3, times[i - 1], times[i]);
    REQUIRE(cut.at(end) == doctest::Approx(whole.at(end)).epsilon(1e-12));
    REQUIRE(late.at(end) == doctest::Approx(whole.at(end)).epsilon(1e-12));
  }
  decayed_usage d{10};
  d.add(8, 0);
  CHECK(d.at(10) == doctest::Approx(4));
  CHECK(d.at(30) == doctest::Approx(1));
  decayed_usage for_ever{HUGE_VAL};
  for_ever.run(2, 0, 10);
  CHECK(for_ever.at(1e9) == doctest::Approx(20));
}

TEST_CASE("Windows are exact in unit-seconds however samples come") {
  random_source random{4};
  for (int k = 0; k < 500; ++k) {
    const auto width = static_cast<std::int64_t>(1 + random.below(20));
    const auto n = 1 + random.below(6);
    usage_window w{width, n}, pieces{width, n};
    std::vector<quota_amount> second(400, 0);
    std::int64_t now = 0;
    for (int i = 0; i < 12; ++i) {
      const auto from = now + static_cast<std::int64_t>(random.below(10)),
                 to = from + static_cast<std::int64_t>(random.below(20));
      const auto rate = static_cast<quota_amount>(random.below(5));
      w.run(rate, from, to);
      for (auto t = from; t < to; ++t) pieces.run(rate, t, t + 1), second[static_cast<std::size_t>(t)] += rate;
      now = to;
    }
    w.advance(now);
    pieces.advance(now);
    const auto begin = (now / width - static_cast<std::int64_t>(n) + 1) * width;
    quota_amount sum = 0;
    for (auto t = std::max<std::int64_t>(0, begin); t < now; ++t) sum += second[static_cast<std::size_t>(t)];
    REQUIRE(w.total() == sum);
    REQUIRE(pieces.total() == sum);
  }
  auto week = usage_window::tumbling(7 * 86400);
  week.run(8, 0, 7 * 86400);
  CHECK(week.fraction(8) == doctest::Approx(1));
  week.advance(7 * 86400);
  CHECK(week.total() == 0);
}

TEST_CASE("Admission fair sharing: the average, and a burst that pays at once") {
  admission_average a{600, 60}, b{600, 60};
  CHECK(a.alpha(600) == doctest::Approx(0.5));
  a.sample(8, 600);
  CHECK(a.usage() == doctest::Approx(4));
  a.sample(8, 600);
  CHECK(a.usage() == doctest::Approx(6));
  // Two equal queues; the one whose workload was admitted is behind before any sample says so.
  admission_average x{600, 60}, y{600, 60};
  x.admit(8);
  CHECK(x.weighted(1) == doctest::Approx(8 * x.alpha(60)));
  CHECK(y.weighted(1) < x.weighted(1));
  x.sample(8, 60);
  CHECK(x.usage() == doctest::Approx(8 * x.alpha(60)));
  x.admit(4);
  x.withdraw(4);
  CHECK(x.usage() == doctest::Approx(8 * x.alpha(60)));
  // Cutting an interval of constant usage in two changes nothing.
  a.sample(3, 100);
  b.sample(8, 600), b.sample(8, 600), b.sample(3, 37), b.sample(3, 63);
  CHECK(a.usage() == doctest::Approx(b.usage()).epsilon(1e-12));
}

TEST_CASE("Fair Tree ranks users depth first, with ties and merged accounts") {
  using node = fair_tree_node;
  constexpr auto root = node::no_parent;
  // Accounts of 40:30:30 shares; the first uses little for its shares, so all its users rank first.
  std::vector<node> t = {{root, 40, 20, false}, {root, 30, 60, false}, {root, 30, 20, false}, {0, 1, 15, true},
                         {0, 1, 5, true},       {1, 1, 60, true},      {2, 1, 0, true},       {2, 3, 20, true}};
  const auto level = fair_tree::level_factors(t);
  CHECK(level[0] == doctest::Approx(0.4 / 0.2));
  CHECK(level[1] == doctest::Approx(0.3 / 0.6));
  CHECK(std::isinf(level[6]));
  const auto f = fair_tree::factors(t);
  CHECK(f[4] == doctest::Approx(1.0));
  CHECK(f[3] == doctest::Approx(0.8));
  CHECK(f[6] == doctest::Approx(0.6));
  CHECK(f[7] == doctest::Approx(0.4));
  CHECK(f[5] == doctest::Approx(0.2));
  // Users without usage tie at infinity: the same rank.
  const std::vector<node> tied = {{root, 1, 0, true}, {root, 5, 0, true}, {root, 1, 9, true}};
  const auto g = fair_tree::factors(tied);
  CHECK(g[0] == 1.0);
  CHECK(g[1] == 1.0);
  CHECK(g[2] == doctest::Approx(1.0 / 3));
  // Two tied accounts: their users are sorted together.
  const std::vector<node> merged = {{root, 1, 10, false}, {root, 1, 10, false}, {0, 1, 9, true},
                                    {0, 1, 1, true},      {1, 1, 6, true},      {1, 1, 4, true}};
  const auto m = fair_tree::factors(merged);
  CHECK(m[3] == 1.0);                    // 0.5 / 0.1
  CHECK(m[5] == doctest::Approx(0.75));  // 0.5 / 0.4
  CHECK(m[4] == doctest::Approx(0.5));
  CHECK(m[2] == doctest::Approx(0.25));
  // A user that ties with an account goes first and shares the rank of its first user.
  const std::vector<node> both = {{root, 1, 10, false}, {root, 1, 10, true}, {0, 1, 10, true}};
  const auto b = fair_tree::factors(both);
  CHECK(b[1] == 1.0);
  CHECK(b[2] == 1.0);
  // No shares: last; "parent": first of the account.
  const std::vector<node> odd = {{root, 0, 0, true}, {root, node::as_parent, 99, true}, {root, 1, 1, true}};
  const auto o = fair_tree::factors(odd);
  CHECK(o[1] == 1.0);
  CHECK(o[2] == doctest::Approx(2.0 / 3));
  CHECK(o[0] == doctest::Approx(1.0 / 3));
  CHECK(fair_tree::factors({}).empty());
}

TEST_CASE("A chain of a hundred thousand accounts is ranked without recursion") {
  std::vector<fair_tree_node> t;
  for (std::uint32_t i = 0; i < 100000; ++i) t.push_back({i == 0 ? fair_tree_node::no_parent : i - 1, 1, 1, false});
  t.push_back({99999, 1, 1, true});
  CHECK(fair_tree::factors(t).back() == 1.0);
}

TEST_CASE("Fair Tree: all users of the better account rank above all users of the worse") {
  random_source random{21};
  for (int k = 0; k < 500; ++k) {
    std::vector<fair_tree_node> t;
    const auto accounts = static_cast<std::uint32_t>(2 + random.below(4));
    for (std::uint32_t i = 0; i < accounts; ++i)
      t.push_back({fair_tree_node::no_parent, static_cast<quota_amount>(1 + random.below(9)), 0, false});
    for (int i = 0; i < 12; ++i) {
      const auto a = static_cast<std::uint32_t>(random.below(accounts));
      t.push_back({a, static_cast<quota_amount>(1 + random.below(9)), 1 + random.unit() * 100, true});
      t[a].usage += t.back().usage;
    }
    const auto f = fair_tree::factors(t), l = fair_tree::level_factors(t);
    for (std::size_t i = accounts; i < t.size(); ++i)
      for (std::size_t j = accounts; j < t.size(); ++j)
        if (l[t[i].parent] > l[t[j].parent]) REQUIRE(f[i] > f[j]);
  }
}

TEST_CASE("YuniKorn, YARN and KAI order queues as their sources do") {
  const quota_amount cluster[] = {100, 1000};
  const quota_amount used[] = {10, 100}, less[] = {5, 100}, zero[] = {0, 0}, g1[] = {20, 500}, g2[] = {10, 1000};
  const quota_amount nothing[] = {0, unlimited}, none[] = {unlimited, unlimited}, some[] = {4, 0};
  const yunikorn_order y;
  queue_standing a{used, g1, {}, {}, {}, {}, {}, 0, 0, 0}, b{used, g2, {}, {}, {}, {}, {}, 0, 0, 1};
  CHECK(y.share(a, cluster) == doctest::Approx(0.5));
  CHECK(y.share(b, cluster) == doctest::Approx(1.0));
  CHECK(y.before(a, b, cluster));
  b.priority = 1;
  CHECK(y.before(b, a, cluster));
  CHECK(yunikorn_order{false}.before(a, b, cluster));
  const queue_standing c{used, nothing, {}, {}, {}, {}, {}, 0, 0, 2}, d{zero, nothing, {}, {}, some, {}, {}, 0, 0, 3};
  CHECK(y.share(c, cluster) == doctest::Approx(1.0));  // a guarantee of 0 with usage
  CHECK(y.share(d, cluster) == 0.0);
  const queue_standing e{used, none, {}, {}, {}, {}, {}, 0, 0, 4};
  CHECK(y.share(e, cluster) == doctest::Approx(0.1));  // falls back to the cluster
  const queue_standing pending{zero, nothing, {}, {}, {}, {}, {}, 0, 0, 0};
  CHECK(y.before(d, pending, cluster));

  CHECK(yarn_order::compare(0.5, 0.2, 0, 0) > 0);
  CHECK(yarn_order::compare(0.5, 0.2, 5, 1) < 0);  // both under
  CHECK(yarn_order::compare(1.5, 1.2, 5, 1) < 0);  // both over
  CHECK(yarn_order::compare(1.5, 0.9, 5, 1) > 0);  // one under
  CHECK(yarn_order::compare(1.0, 0.9, 5, 1) > 0);  // meeting counts as over
  const queue_standing big{used, g1, {}, {}, {}, {}, {}, 0, 0, 9};
  const quota_amount half_g[] = {10, 500}, half_u[] = {5, 50};
  const queue_standing small{half_u, half_g, {}, {}, {}, {}, {}, 0, 0, 1};
  CHECK(yarn_order{}.before(big, small, cluster));  // same ratio: the larger guarantee
  CHECK(yarn_user_limit(100, 25, 2) == 50);
  CHECK(yarn_user_limit(100, 25, 10) == 25);

  const kai_queue_order kai;
  const quota_amount fair[] = {8, 0}, deserved[] = {6, 0}, used7[] = {7, 0}, used9[] = {9, 1}, one[] = {1, 0};
  queue_standing over{used9, deserved, {}, fair, {}, one, {}, 9, 0, 0},
      under{used7, deserved, {}, fair, {}, one, {}, 0, 0, 1};
  CHECK(kai.before(under, over, cluster));
  const quota_amount used5[] = {5, 0};
  const queue_standing in_quota{used5, deserved, {}, fair, {}, one, {}, 0, 0, 2};
  under.priority = 5;
  CHECK(kai.before(in_quota, under, cluster));  // within deserved with its job, whatever the priority
  queue_standing other = under;
  other.id = 7, other.priority = 6;
  CHECK(kai.before(other, under, cluster));
  other.priority = 5;
  other.victims = one;
  CHECK(kai.before(other, under, cluster));  // a smaller share once its victims are gone
  const quota_amount cpu_too[] = {1, 5};
  queue_standing no_share = under;
  no_share.head = cpu_too;
  CHECK(kai.before(under, no_share, cluster));  // uses a resource it has no share of
  (void)less;
}

TEST_CASE("Orders are strict and total on random queues, and do not depend on how these are listed") {
  random_source random{6};
  const quota_amount cluster[] = {20, 20};
  const auto check = [&](const auto& order) {
    for (int k = 0; k < 300; ++k) {
      std::vector<std::array<quota_amount, 10>> numbers(8);
      std::vector<queue_standing> queues;
      for (std::uint32_t i = 0; i < 8; ++i) {
        for (auto& n : numbers[i]) n = static_cast<quota_amount>(random.below(5));
        const auto* p = numbers[i].data();
        queues.push_back({{p, 2},
                          {p + 2, 2},
                          {},
                          {p + 4, 2},
                          {p + 6, 2},
                          {p + 8, 2},
                          {},
                          static_cast<std::int32_t>(random.below(2)),
                          static_cast<std::int64_t>(random.below(2)),
                          i});
      }
      const auto first = order_of(order, queues, cluster);
      for (std::size_t i = 0; i < 8; ++i)
        for (std::size_t j = 0; j < 8; ++j)
          REQUIRE(order.before(queues[first[i]], queues[first[j]], cluster) == (i < j));
      std::vector<queue_standing> shuffled = queues;
      for (std::size_t i = 8; i > 1; --i) std::swap(shuffled[i - 1], shuffled[random.below(i)]);
      const auto again = order_of(order, shuffled, cluster);
      for (std::size_t i = 0; i < 8; ++i) REQUIRE(shuffled[again[i]].id == queues[first[i]].id);
    }
  };
  check(yunikorn_order{});
  check(yarn_order{});
  check(kai_queue_order{});
}

TEST_CASE("A place in the order is explained by the parts of the sum") {
  job_order o;
  o.weight(priority_factor::waiting) = 1000;
  o.weight(priority_factor::fair_share) = 500;
  o.weight(priority_factor::size) = 100;
  o.full_age_seconds = 1000;
  std::vector<waiting_job> jobs(3);
  jobs[0] = {"old", {0, 0.2, 0, 0.5}, 0, 0};
  jobs[1] = {"fair", {0, 0.9, 0, 0.5}, 400, 0};
  jobs[2] = {"nice", {0, 0.9, 0, 0.5}, 400, 25};
  const auto r = o.order(jobs, 500);
  CHECK(r[0].job == 0);
  CHECK(r[0].total == doctest::Approx(650));
  CHECK(r[1].job == 1);
  CHECK(r[2].total == doctest::Approx(575));
  CHECK(explain_place(r, jobs, 1) ==
        "fair is 2 of 3 with 600 = waiting 100 (0.1 x 1000) + fair share 450 (0.9 x 500) + size 50 (0.5 x 100)\n"
        "behind old by 50: waiting +400, fair share -350\n");
  CHECK(explain_place(r, jobs, 2) ==
        "nice is 3 of 3 with 575 = waiting 100 (0.1 x 1000) + fair share 450 (0.9 x 500) + size 50 (0.5 x 100) - nice "
        "25\n"
        "behind fair by 25: nice +25\n");
  CHECK(explain_place(r, jobs, 9) == "no such place\n");
  CHECK(size_factor(8, 64, false) == doctest::Approx(0.125));
  CHECK(size_factor(8, 64, true) == doctest::Approx(0.875));
}

TEST_CASE("No job starves where full age goes first; by weights alone one can, however heavy waiting is") {
  // One machine, one job a step; a job with the worst factors against an endless stream of jobs with the best, twenty
  // of which always wait.
  const auto served_at = [](double waiting_weight, bool full_age_first) {
    job_order o;
    o.weight(priority_factor::waiting) = waiting_weight;
    o.weight(priority_factor::fair_share) = 1;
    o.full_age_seconds = 10;
    o.full_age_goes_first = full_age_first;
    std::vector<waiting_job> jobs(1);
    jobs[0].name = "poor";
    jobs[0].queued_at = 20;
    for (int now = 0; now < 500; ++now) {
      for (int k = 0; k < (now < 20 ? 2 : 1); ++k) {
        jobs.emplace_back();
        jobs.back().factors[1] = 1;
        jobs.back().queued_at = now;
      }
      const auto best = o.order(jobs, now).front().job;
      if (jobs[best].name == "poor") return now;
      jobs.erase(jobs.begin() + static_cast<std::ptrdiff_t>(best));
    }
    return -1;
  };
  CHECK(served_at(1000, false) == -1);
  CHECK(served_at(0.1, true) >= 30);
  CHECK(served_at(0.1, true) <= 50);
}

TEST_CASE("Least attained service: levels by GPU-seconds, arrival within a level, promotion of who starves") {
  const least_attained_service las;
  CHECK(las.level({8, 400, 0, 0, 0}) == 0);  // 3200
  CHECK(las.level({8, 407, 0, 0, 0}) == 1);  // 3256
  CHECK(las.level({8, 900, 0, 0, 0}) == 2);  // 7200
  CHECK(las.level({1, 18000, 0, 0, 0}) == 3);
  const attained_job small{1, 3000, 0, 50, 1}, big{8, 3000, 0, 10, 0}, late{2, 10, 0, 60, 2};
  CHECK(las.before(small, big));  // the same time on fewer GPUs is less service
  CHECK(las.before(small, late));
  CHECK_FALSE(las.before(late, small));
  const least_attained_service kind{{3250, 7200, 18000}, 4};
  attained_job waits = big;
  waits.waiting = 11999;
  CHECK_FALSE(kind.promoted(waits));
  waits.waiting = 12000;
  CHECK(kind.level(waits) == 0);
  CHECK(kind.before(waits, small));
  CHECK(las.level(waits) == 3);

  // Half of the jobs need 1, half 10. At first a unit of service ends a job with probability 1/2; after that all end
  // after 9 more.
  const double samples[] = {1, 1, 10, 10};
  CHECK(gittins_index(samples, 0) == doctest::Approx(2.0 / (1 + 1 + 2 * 1)));
  CHECK(gittins_index(samples, 1) == doctest::Approx(1.0 / 9));
  CHECK(gittins_index(samples, 8) == doctest::Approx(0.5));
  CHECK(gittins_index(samples, 10) == 0);
  random_source random{31};
  for (int k = 0; k < 300; ++k) {  // the sup by its definition
    std::vector<double> s;
    for (int i = 0; i < 6; ++i) s.push_back(static_cast<double>(1 + random.below(9)));
    std::sort(s.begin(), s.end());
    const double a = static_cast<double>(random.below(8));
    double best = 0;
    for (int d = 1; d < 10; ++d) {
      double ended = 0, served = 0, n = 0;
      for (const double x : s)
        if (x > a) n += 1, ended += x - a <= d ? 1 : 0, served += std::min<double>(x - a, d);
      if (n > 0) best = std::max(best, ended / served);
    }
    REQUIRE(gittins_index(s, a) == doctest::Approx(best));
  }
}

TEST_CASE("Finish-time fairness: rho, and whole GPUs so that the worst is smallest") {
  // 8 GPUs, 2 jobs: alone on 4 a job of 4000 GPU-seconds takes 1000 s.
  const finish_time_job j{500, 4000, 1000, 8};
  CHECK(isolated_seconds(j, 8, 2) == doctest::Approx(1000));
  CHECK(finish_time_fairness(j, 4, 8, 2) == doctest::Approx((500 + 750) / 1000.0));
  CHECK(finish_time_fairness(j, 16, 8, 2) == finish_time_fairness(j, 8, 8, 2));
  CHECK(std::isinf(finish_time_fairness(j, 0, 8, 2)));
  const std::vector<finish_time_job> equal(4, finish_time_job{0, 100, 0, 9});
  CHECK(least_worst_finish_times(equal, 8) == std::vector<std::int64_t>{2, 2, 2, 2});
  CHECK(least_worst_finish_times(equal, 3) == std::vector<std::int64_t>{1, 1, 1, 0});
  random_source random{32};
  for (int round = 0; round < 300; ++round) {
    std::vector<finish_time_job> jobs(3);
    for (auto& x : jobs) {
      x.work = static_cast<double>(100 + random.below(900));
      x.done = static_cast<double>(random.below(100));
      x.elapsed = static_cast<double>(random.below(500));
      x.most_gpus = static_cast<std::int64_t>(1 + random.below(5));
    }
    const auto gpus = static_cast<std::int64_t>(3 + random.below(5));
    const auto worst = [&](const std::vector<std::int64_t>& share) {
      double w = 0;
      for (std::size_t i = 0; i < 3; ++i)
        w = std::max(w, finish_time_fairness(jobs[i], share[i], static_cast<double>(gpus), 3));
      return w;
    };
    double best = HUGE_VAL;
    for (std::int64_t a = 0; a <= gpus; ++a)
      for (std::int64_t b = 0; a + b <= gpus; ++b) best = std::min(best, worst({a, b, gpus - a - b}));
    const auto share = least_worst_finish_times(jobs, gpus);
    REQUIRE(worst(share) == best);
    std::int64_t sum = 0;
    for (std::size_t i = 0; i < 3; ++i) {
      sum += share[i];
      REQUIRE(share[i] <= jobs[i].most_gpus);
    }
    REQUIRE(sum <= gpus);
  }
}

TEST_CASE("Which order of queues starves a queue of low priority") {
  // Ten units, jobs of one unit that run five steps, two queues that always have more; one of them has priority.
  const auto least_served = [](const auto& order, std::array<std::int32_t, 2> priority) {
    const quota_amount capacity[] = {10}, deserved[] = {5}, head[] = {1}, pending[] = {100};
    std::array<std::array<quota_amount, 5>, 2> started{};
    std::array<quota_amount, 2> served{};
    for (std::size_t now = 0; now < 500; ++now) {
      for (auto& s : started) s[now % 5] = 0;
      for (int k = 0; k < 2; ++k) {
        std::array<quota_amount, 2> used{};
        std::vector<queue_standing> queues(2);
        for (std::uint32_t q = 0; q < 2; ++q) {
          for (const auto n : started[q]) used[q] += n;
          queues[q].used = {&used[q], 1};
          queues[q].guarantee = queues[q].share = deserved;
          queues[q].head = head;
          queues[q].pending = pending;
          queues[q].priority = priority[q];
          queues[q].id = q;
        }
        const auto first = order_of(order, queues, capacity)[0];
        ++started[first][now % 5];
        ++served[first];
      }
    }
    return std::min(served[0], served[1]);
  };
  for (const std::int32_t high : {0, 7}) {
    CAPTURE(high);
    CHECK(least_served(yarn_order{}, {0, high}) >= 400);
    CHECK(least_served(kai_queue_order{}, {0, high}) >= 400);
    CHECK(least_served(yunikorn_order{false}, {0, high}) >= 400);
  }
  CHECK(least_served(yunikorn_order{}, {0, 0}) >= 400);
  CHECK(least_served(yunikorn_order{}, {0, 7}) == 0);  // priority comes before the share
}

TEST_CASE("Dishonest requests cost priority and are forgiven") {
  honesty_record r;
  CHECK(r.factor(0) == 1.0);
  const double day = 86400;
  // A week of 8 GPUs that used a tenth of the memory they asked for.
  r.observe({8 * 7 * day, 0.1, 0.9, std::nullopt}, 0);
  CHECK(r.honesty(0) == doctest::Approx(0.2));
  CHECK(r.factor(0) == doctest::Approx(0.6));
  // As much honest work halves the waste.
  r.observe({8 * 7 * day, 0.8, 0.9, std::nullopt}, 0);
  CHECK(r.honesty(0) == doctest::Approx(0.6));
  // Without any work the record fades once there is too little of it left.
  CHECK(r.honesty(14 * day) == doctest::Approx(0.6));
  CHECK(r.honesty(365 * day) > 0.95);
  honesty_record idle, limit;
  idle.observe({8 * day, 0.9, 0.03, 0.9}, 0);
  CHECK(idle.honesty(0) == doctest::Approx(0.1));
  limit.observe({8 * day, 0.9, 0.9, 0.05}, 0);
  CHECK(limit.honesty(0) == doctest::Approx(0.2));
  // One short test run is little evidence.
  honesty_record test;
  test.observe({600, 0.0, 0.0, 0.0}, 0);
  CHECK(test.honesty(0) > 0.97);
  test.observe({1e9, std::nullopt, std::nullopt, std::nullopt}, 0);
  CHECK(test.honesty(0) > 0.97);
}

TEST_CASE("The weekly report names idle GPUs and roomy jobs, with an action each") {
  std::vector<gpu_sample> s;
  constexpr std::int64_t gib = std::int64_t{1} << 30;
  for (int t = 0; t < 7200; t += 300) {
    const double now = t;
    s.push_back({now, "idle", "n1", "team/notebook", 0.01, 40 * gib, 80 * gib});
    s.push_back({now, "half", "n1", "team/serve", t < 3600 ? 0.3 : 0.0, 10 * gib, 80 * gib});
    s.push_back({now, "busy", "n1", "team/train", 0.9, 70 * gib, 80 * gib});
    s.push_back({now, "free", "n2", "", 0.0, 0, 80 * gib});
    if (t < 1800) s.push_back({now, "short", "n2", "", 0.0, 0, 80 * gib});
    s.push_back({now, "mute", "n2", "team/mute", std::nullopt, std::nullopt, std::nullopt});
  }
  s.push_back({99999, "late", "n2", "", 0.0, 0, 80 * gib});
  const auto r = report_of(s, 0, 7200);
  CHECK(r.devices == 6);
  CHECK(r.judged == 4);
  REQUIRE(r.idle.size() == 3);
  CHECK(r.idle[0].device == "free");
  CHECK(r.idle[0].action == waste_action::give_to_others);
  CHECK(r.idle[1].device == "idle");
  CHECK(r.idle[1].action == waste_action::ask_owner);
  CHECK(r.idle[2].device == "half");
  CHECK(r.idle[2].utilisation == doctest::Approx(0.15));
  CHECK(r.idle[2].action == waste_action::smaller_or_shared);
  CHECK(r.idle_gpu_hours == doctest::Approx(2 * (1 + 0.99 + 0.85)));
  REQUIRE(r.roomy.size() == 1);
  CHECK(r.roomy[0].owner == "team/serve");
  CHECK(r.roomy[0].enough == 12 * gib);
}
