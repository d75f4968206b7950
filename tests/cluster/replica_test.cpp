/// \file
/// Replicas follow a writer: everything it published arrives, falling behind is noticed, proposals made on a stale view
/// conflict without leaving a trace. The last case runs on three threads; it is meant for ThreadSanitizer.

#include "berth/cluster/replica.hpp"

#include <doctest/doctest.h>

#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <thread>
#include <utility>
#include <vector>

#include "berth/cluster/cluster.hpp"
#include "berth/cluster/transaction.hpp"
#include "berth/core/random.hpp"
#include "berth/solver/placer.hpp"
#include "berth/topology/domain_tree_builder.hpp"
#include "cluster/effort.hpp"

namespace {

using namespace berth;

constexpr std::uint32_t node_total = 48;

cluster_spec machines() {
  cluster_spec spec;
  spec.tree = domain_tree_builder::regular({"cluster", "spine", "leaf"}, {3, 4}, 4);
  spec.shapes.push_back(make_plain_shape("machine", 8, "a", cpus(32), gibibytes(256)));
  for (std::uint32_t n = 0; n < node_total; ++n)
    spec.nodes.push_back({"n" + std::to_string(n), shape_id{0}, {}, cpus(32), gibibytes(256)});
  return spec;
}
constexpr cluster_limits limits{.jobs = 512, .tasks = 4096, .live_shapes = 8, .journal = 256};

gang make_gang(std::uint32_t tasks, std::uint32_t devices, std::int64_t cpu = 0) {
  gang g;
  g.groups = {{"g", {devices, cpus(cpu), {}, filter_id{0}}, tasks, tasks}};
  return g;
}

/// The first node on which the two clusters differ, or none.
std::optional<std::uint32_t> first_difference(const cluster& a, const cluster& b) {
  for (std::uint32_t n = 0; n < a.node_count(); ++n)
    if (!(a.node(node_id{n}) == b.node(node_id{n}))) return n;
  return std::nullopt;
}
std::vector<node_state> states(const cluster& c) {
  return {c.nodes().begin(), c.nodes().end()};
}

/// A writer with its feed, and a replica of it.
struct pair {
  cluster live{machines(), limits};
  change_feed feed;
  placer<> place{live};
  explicit pair(std::size_t ring = 1024) : feed{live.nodes(), ring} { live.attach(&feed); }
  ~pair() { live.attach(nullptr); }
  pair(const pair&) = delete;
  pair& operator=(const pair&) = delete;

  bool start(std::uint64_t key, const gang& g) {
    const decision d = place(g);
    return d && live.commit(job_key{key}, d.where).has_value();
  }
};

TEST_CASE("a replica follows commits, releases, health and rollbacks node by node") {
  pair w;
  replica mine{w.live, w.feed};
  CHECK(mine.catch_up() == catch_up_result::current);
  REQUIRE(w.start(1, make_gang(5, 8)));
  REQUIRE(w.start(2, make_gang(3, 2, 4)));
  CHECK(first_difference(w.live, mine.view()) == 0U);
  CHECK(mine.catch_up() == catch_up_result::followed);
  CHECK_FALSE(first_difference(w.live, mine.view()));
  CHECK(mine.catch_up() == catch_up_result::current);

  REQUIRE(w.live.release(job_key{1}));
  REQUIRE(w.live.set_device_health(node_id{7}, 3, false));
  REQUIRE(w.live.set_node_usable(node_id{9}, false));
  CHECK(mine.catch_up() == catch_up_result::followed);
  CHECK_FALSE(first_difference(w.live, mine.view()));

  // A placement that fails half way is no change either.
  const std::uint64_t heard = w.feed.head();
  const task_shape one{1, {}, {}, filter_id{0}};
  const task_placement half[] = {{1, node_id{20}, 0}, {1, node_id{9}, 0}};
  CHECK_FALSE(w.live.commit(job_key{9}, {half, {&one, 1}}));
  CHECK(w.feed.head() == heard);
}

TEST_CASE("a transaction is published when the outermost one is committed, and not at all when it is undone") {
  pair w;
  replica mine{w.live, w.feed};
  REQUIRE(w.start(1, make_gang(5, 8)));
  REQUIRE(w.start(2, make_gang(3, 2, 4)));
  REQUIRE(w.live.relabel(node_id{47}, {"known"}));
  REQUIRE(w.live.relabel(node_id{47}, {}));
  CHECK(mine.catch_up() == catch_up_result::rebuild);
  const auto change_much = [&](std::uint64_t key) {
    REQUIRE(w.live.release(job_key{2}));
    REQUIRE(w.start(key, make_gang(6, 8)));
    REQUIRE(w.start(key + 1, make_gang(1, 1)));
    REQUIRE(w.live.release(job_key{key + 1}));
    REQUIRE(w.live.set_device_health(node_id{7}, 3, false));
    REQUIRE(w.live.set_node_usable(node_id{30}, false));
    REQUIRE(w.live.relabel(node_id{31}, {"known"}));
  };
  const auto undo_within = [&](std::uint64_t key) {
    transaction inner{w.live};
    REQUIRE(w.start(key, make_gang(2, 8)));
    REQUIRE(w.live.set_node_usable(node_id{40}, false));
  };
  replica anew{w.live, w.feed};
  const std::vector<node_state> before = states(w.live);
  const std::uint64_t heard = w.feed.head();
  {
    transaction t{w.live};
    change_much(10);
    transaction inner{w.live};
    REQUIRE(w.start(20, make_gang(1, 8)));
    inner.commit();
    CHECK(anew.catch_up() == catch_up_result::current);
    CHECK(states(anew.view()) == before);
  }
  CHECK(w.feed.head() == heard);
  CHECK(anew.catch_up() == catch_up_result::current);
  CHECK(states(w.live) == before);
  {
    transaction t{w.live};
    change_much(10);
    undo_within(20);
    CHECK(anew.catch_up() == catch_up_result::current);
    t.commit();
  }
  CHECK(anew.catch_up() == catch_up_result::followed);
  CHECK_FALSE(first_difference(w.live, anew.view()));
  CHECK(w.live.check_invariants());
}

TEST_CASE("a new class that was undone is news to nobody until a node has it for good") {
  pair w;
  replica mine{w.live, w.feed};
  {
    transaction t{w.live};
    REQUIRE(w.live.relabel(node_id{3}, {"x"}));
    REQUIRE(w.live.set_uplink_health(level_id{1}, domain_id{1}, false));
  }
  CHECK(mine.catch_up() == catch_up_result::current);
  replica later{w.live, w.feed};
  CHECK(later.catch_up() == catch_up_result::current);
  {
    transaction t{w.live};
    REQUIRE(w.live.relabel(node_id{3}, {"x"}));
    CHECK(mine.catch_up() == catch_up_result::current);
    t.commit();
  }
  CHECK(mine.catch_up() == catch_up_result::rebuild);
  replica anew{w.live, w.feed};
  // By now the class is known: another node of it is a change of that node alone.
  REQUIRE(w.live.relabel(node_id{4}, {"x"}));
  REQUIRE(w.live.relabel(node_id{3}, {}));
  CHECK(anew.catch_up() == catch_up_result::followed);
  CHECK_FALSE(first_difference(w.live, anew.view()));
  node_filter with_x;
  with_x.all_of = {"x"};
  const task_shape on_x{8, {}, {}, anew.view().add_filter(with_x)};
  const live_shape* s = anew.view().counters(on_x);
  CHECK(s->capacity(0, 0) == 1);
  CHECK(anew.view().potential(*s, 0) == 1);
  REQUIRE(w.live.relabel(node_id{5}, {"x"}));
  CHECK(anew.catch_up() == catch_up_result::followed);
  s = anew.view().counters(on_x);
  CHECK(s->capacity(0, 0) == 2);
  CHECK(anew.view().potential(*s, 0) == 2);
}

TEST_CASE("what a replica places is what the writer would place, and it commits") {
  pair w;
  random_source random{5};
  for (std::uint64_t k = 0; k < 30; ++k)
    static_cast<void>(w.start(k, make_gang(1 + static_cast<std::uint32_t>(random.below(3)),
                                           1 + static_cast<std::uint32_t>(random.below(8)))));
  replica mine{w.live, w.feed};
  placer place{mine.view()};
  for (std::uint64_t k = 100; k < 160; ++k) {
    static_cast<void>(w.live.release(job_key{random.below(30)}));
    static_cast<void>(mine.catch_up());
    const gang g =
        make_gang(1 + static_cast<std::uint32_t>(random.below(6)), 1 + static_cast<std::uint32_t>(random.below(8)));
    const decision here = place(g), there = w.place(g);
    REQUIRE(here.result == there.result);
    if (!here) continue;
    REQUIRE(std::vector(here.where.tasks.begin(), here.where.tasks.end()) ==
            std::vector(there.where.tasks.begin(), there.where.tasks.end()));
    REQUIRE(w.live.commit(job_key{k}, here.where));
  }
  CHECK(w.live.check_invariants());
}

TEST_CASE("a replica that fell behind a small ring copies all nodes") {
  pair w{16};
  CHECK(w.feed.ring_size() == 16);
  replica mine{w.live, w.feed};
  REQUIRE(w.start(1, make_gang(15, 8)));  // the ring keeps one place for the change the writer may be at
  CHECK(mine.catch_up() == catch_up_result::followed);
  CHECK_FALSE(first_difference(w.live, mine.view()));
  REQUIRE(w.start(2, make_gang(16, 8)));
  CHECK(mine.catch_up() == catch_up_result::recopied);
  CHECK_FALSE(first_difference(w.live, mine.view()));
  REQUIRE(w.live.release(job_key{1}));
  REQUIRE(w.live.release(job_key{2}));
  CHECK(mine.catch_up() == catch_up_result::recopied);
  CHECK_FALSE(first_difference(w.live, mine.view()));
  CHECK(mine.catch_up() == catch_up_result::current);
}

TEST_CASE("classes, membership and uplinks call for a new replica") {
  pair w;
  const auto changes = [&](auto&& change) {
    replica mine{w.live, w.feed};
    CHECK(mine.catch_up() == catch_up_result::current);
    change();
    CHECK(mine.catch_up() == catch_up_result::rebuild);
    CHECK(mine.catch_up() == catch_up_result::rebuild);
    replica anew{w.live, w.feed};
    CHECK(anew.catch_up() == catch_up_result::current);
    CHECK_FALSE(first_difference(w.live, anew.view()));
  };
  changes([&] { REQUIRE(w.live.relabel(node_id{3}, {"x"})); });
  changes([&] { REQUIRE(w.live.set_uplink_health(level_id{1}, domain_id{1}, false)); });
  changes([&] { REQUIRE(w.live.set_uplink_health(level_id{1}, domain_id{1}, true)); });
  changes([&] { REQUIRE(w.live.remove_node(node_id{5})); });
  changes([&] { REQUIRE(w.live.add_node(domain_id{1}, {"new", shape_id{0}, {"y"}, cpus(8), gibibytes(8)})); });
}

TEST_CASE("a copy that was out of date before its replica was made is noticed") {
  pair w;
  const cluster old = w.live;
  REQUIRE(w.live.relabel(node_id{3}, {"x"}));
  replica mine{old, w.feed};
  CHECK(mine.catch_up() == catch_up_result::rebuild);
  // Only nodes changed: the replica can make up for that itself.
  const cluster recent = w.live;
  REQUIRE(w.start(1, make_gang(5, 8)));
  replica follows{recent, w.feed};
  CHECK(follows.catch_up() == catch_up_result::current);
  CHECK_FALSE(first_difference(w.live, follows.view()));
}

TEST_CASE("a proposal from a stale view conflicts and changes nothing") {
  pair w;
  replica mine{w.live, w.feed};
  placer place{mine.view()};
  const gang g = make_gang(6, 8);
  const decision stale = place(g);
  REQUIRE(stale);

  // The last of its nodes is taken meanwhile.
  const task_placement one{bit(7), stale.where.tasks.back().node, 0};
  const task_shape shape{1, {}, {}, filter_id{0}};
  REQUIRE(w.live.commit(job_key{1}, {{&one, 1}, {&shape, 1}}));
  const std::vector<node_state> before = states(w.live);
  const std::size_t jobs = w.live.job_count();
  const auto committed = w.live.commit(job_key{2}, stale.where);
  REQUIRE_FALSE(committed);
  CHECK(committed.error().code == cluster_errc::conflict);
  CHECK(committed.error().node == one.node);
  CHECK(states(w.live) == before);
  CHECK(w.live.job_count() == jobs);
  CHECK(w.live.check_invariants());
  CHECK_FALSE(w.live.for_each_task(job_key{2}, [](const committed_task&) {}));

  // After catching up the same gang goes elsewhere.
  CHECK(mine.catch_up() == catch_up_result::followed);
  CHECK_FALSE(first_difference(w.live, mine.view()));
  const decision again = place(g);
  REQUIRE(again);
  CHECK(w.live.commit(job_key{2}, again.where));

  // CPU alone, a broken device and a drained node conflict too.
  const auto conflicts = [&](auto&& meanwhile, const gang& asked) {
    static_cast<void>(mine.catch_up());
    const decision d = place(asked);
    REQUIRE(d);
    meanwhile(d.where.tasks.front().node);
    const std::vector<node_state> as_it_was = states(w.live);
    const auto result = w.live.commit(job_key{3}, d.where);
    REQUIRE_FALSE(result);
    CHECK(result.error().code == cluster_errc::conflict);
    CHECK(states(w.live) == as_it_was);
    CHECK(w.live.check_invariants());
  };
  conflicts(
      [&](node_id n) {
        const task_placement t{0, n, 0};
        const task_shape cpu_only{0, cpus(30), {}, filter_id{0}};
        REQUIRE(w.live.commit(job_key{4}, {{&t, 1}, {&cpu_only, 1}}));
      },
      make_gang(1, 1, 4));
  conflicts([&](node_id n) { REQUIRE(w.live.set_device_health(n, 0, false)); }, make_gang(2, 8));
  conflicts([&](node_id n) { REQUIRE(w.live.set_node_usable(n, false)); }, make_gang(2, 8));
}

TEST_CASE("proposals under way are assumed to succeed; one that does not is taken back") {
  pair w;
  replica mine{w.live, w.feed};
  placer place{mine.view()};
  const gang g = make_gang(4, 8, 20);
  std::vector<std::vector<task_placement>> proposals;
  for (int i = 0; i < 3; ++i) {
    const decision d = place(g);
    REQUIRE(d);
    proposals.emplace_back(d.where.tasks.begin(), d.where.tasks.end());
    mine.assume(d.where);
  }
  // The writer refuses the second one: someone was faster.
  const task_placement one{bit(0), proposals[1][2].node, 0};
  const task_shape single{1, {}, {}, filter_id{0}};
  REQUIRE(w.live.commit(job_key{9}, {{&one, 1}, {&single, 1}}));
  for (std::uint64_t i = 0; i < 3; ++i)
    CHECK(w.live.commit(job_key{i}, {proposals[i], {&g.groups[0].shape, 1}}).has_value() == (i != 1));
  CHECK(mine.catch_up() == catch_up_result::followed);
  // What was refused changed nothing, so nothing was published but the node that someone else took.
  CHECK(first_difference(w.live, mine.view()) == proposals[1][0].node.raw());
  mine.retract(proposals[1]);
  CHECK_FALSE(first_difference(w.live, mine.view()));
  // One that never reached the writer.
  const decision d = place(g);
  REQUIRE(d);
  const std::vector<task_placement> kept{d.where.tasks.begin(), d.where.tasks.end()};
  mine.assume(d.where);
  mine.retract(kept);
  CHECK(mine.catch_up() == catch_up_result::current);
  CHECK_FALSE(first_difference(w.live, mine.view()));
}

/// A gang placed by a reader, on its way to the writer.
struct proposal {
  std::vector<task_placement> tasks;
  task_shape shape{};
};

/// A few proposals between readers and the writer.
class mailbox {
 public:
  /// False when it is full: the proposal is dropped.
  bool put(proposal p) {
    const std::scoped_lock lock{guard_};
    if (waiting_.size() == 8) return false;
    waiting_.push_back(std::move(p));
    return true;
  }
  std::vector<proposal> take() {
    const std::scoped_lock lock{guard_};
    return std::exchange(waiting_, {});
  }

 private:
  std::mutex guard_;
  std::vector<proposal> waiting_;
};

/// How a reader gets a copy of the cluster at rest: it asks, the writer makes one between two changes.
class copies {
 public:
  std::unique_ptr<cluster> wait() {
    wanted_.store(true);
    for (;;) {
      {
        const std::scoped_lock lock{guard_};
        if (ready_) return std::move(ready_);
      }
      std::this_thread::yield();
    }
  }
  void serve(const cluster& live) {
    if (!wanted_.load()) return;
    auto copy = std::make_unique<cluster>(live);
    const std::scoped_lock lock{guard_};
    ready_ = std::move(copy);
    wanted_.store(false);
  }

 private:
  std::atomic<bool> wanted_{false};
  std::mutex guard_;
  std::unique_ptr<cluster> ready_;
};

struct reader_report {
  std::uint64_t followed = 0, recopied = 0, rebuilt = 0;
  std::atomic<std::uint64_t> proposed{0};
  std::unique_ptr<replica> mine;
  std::atomic<bool> finished{false};
};

void read(std::uint64_t seed, const change_feed& feed, copies& source, mailbox& out, const std::atomic<bool>& stop,
          reader_report& report) {
  random_source random{seed};
  std::unique_ptr<placer<>> place;
  const auto renew = [&] {
    place.reset();
    const auto copy = source.wait();
    report.mine = std::make_unique<replica>(*copy, feed);
    place = std::make_unique<placer<>>(report.mine->view());
    ++report.rebuilt;
  };
  renew();
  for (bool last = false; !last;) {
    last = stop.load();  // once more after the writer has stopped
    catch_up_result r = report.mine->catch_up();
    for (; r == catch_up_result::rebuild; r = report.mine->catch_up()) renew();
    report.followed += r == catch_up_result::followed ? 1 : 0;
    report.recopied += r == catch_up_result::recopied ? 1 : 0;
    const gang g =
        make_gang(1 + static_cast<std::uint32_t>(random.below(5)), 1 + static_cast<std::uint32_t>(random.below(8)),
                  static_cast<std::int64_t>(random.below(4)));
    const decision d = (*place)(g);
    if (last || !d) continue;
    if (out.put({{d.where.tasks.begin(), d.where.tasks.end()}, d.where.shapes[0]})) ++report.proposed;
    else std::this_thread::yield();
  }
  report.finished.store(true);
}

TEST_CASE("what does not fit on the view any more is not assumed") {
  pair p;
  replica mine{p.live, p.feed};
  placer place{mine.view()};
  const gang g = make_gang(1, 4, 20);
  const decision d = place(g);
  REQUIRE(d);
  const std::vector<task_placement> tasks{d.where.tasks.begin(), d.where.tasks.end()};
  const placement kept{tasks, {&g.groups[0].shape, 1}};
  REQUIRE(p.live.commit(job_key{1}, kept));
  static_cast<void>(mine.catch_up());
  const node_state before = mine.view().node(tasks[0].node);
  mine.assume(kept);  // the devices are held, and there is too little CPU
  CHECK(mine.view().node(tasks[0].node) == before);
  const gang cpu_only = make_gang(1, 0, 20);
  const placement no_cpu{std::span<const task_placement>{tasks}, {&cpu_only.groups[0].shape, 1}};
  mine.assume(no_cpu);
  CHECK(mine.view().node(tasks[0].node) == before);
  CHECK(mine.view().counters(cpu_only.groups[0].shape)->capacity(0, 0) == node_total - 1);
}

TEST_CASE("what a view cannot follow leaves it as it was until it is made anew") {
  pair p;
  replica mine{p.live, p.feed};
  placer place{mine.view()};
  const gang g = make_gang(1, 1);
  const decision d = place(g);
  REQUIRE(d);
  const std::vector<task_placement> tasks{d.where.tasks.begin(), d.where.tasks.end()};
  mine.assume(d.where);
  REQUIRE(p.live.relabel(tasks[0].node, {"new"}));  // a class that the view does not know
  mine.retract(tasks);
  CHECK(mine.view().node(tasks[0].node).node_class.index() < mine.view().classes().size());
  CHECK(place(g));
  CHECK(mine.catch_up() == catch_up_result::rebuild);
}

TEST_CASE("gangs that ask for the inside of nodes are refused on views, which do not know of it") {
  cluster_spec spec = machines();
  spec.shapes[0].numa = {{0x0f, cpus(16), gibibytes(128)}, {0xf0, cpus(16), gibibytes(128)}};
  cluster live{spec, {.jobs = 200, .tasks = 200, .bindings = true}};
  change_feed feed{live};
  live.attach(&feed);
  replica mine{live, feed};
  placer there{mine.view()}, here{live};
  gang near = make_gang(1, 0, 12);
  near.groups[0].shape.bind.numa = numa_rule::single_node;
  // One such task fits on each NUMA node. By sums of CPUs there is room beside the first two, which a view that only
  // knows those would propose for ever.
  for (std::uint64_t key = 0; key < std::uint64_t{2} * node_total; ++key)
    REQUIRE(live.commit(job_key{key}, here(near).where));
  CHECK(here(near).result == verdict::not_now);
  static_cast<void>(mine.catch_up());
  CHECK(there(near).result == verdict::capacity_exhausted);
  // All else is as it was.
  const decision d = there(make_gang(3, 8, 8));
  REQUIRE(d);
  CHECK(live.commit(job_key{1000}, d.where));
}

TEST_CASE("gangs with a rate between nodes are refused on views, which do not know what links have left") {
  cluster_spec spec = machines();
  nic_shape& card = spec.shapes[0].nics.emplace_back();
  card.devices = 0xff;
  card.rail = std::uint8_t{0};
  card.rate = gigabytes_per_second{400};
  spec.uplinks.usable_permille = 1000;
  spec.uplinks.levels = {{}, {1, {3, gigabytes_per_second{100}}}, {1, {12, gigabytes_per_second{100}}}};
  cluster live{spec, limits};
  change_feed feed{live};
  live.attach(&feed);
  replica mine{live, feed};
  placer there{mine.view()}, here{live};
  gang g = make_gang(5, 8);  // one leaf has four machines
  g.between_nodes = bytes_per_second{10'000'000'000};
  // Until no two leaves have a link left; machines are left, so that a view that only knows those would go on.
  std::uint64_t key = 0;
  for (decision d = here(g); d; d = here(g)) REQUIRE(live.commit(job_key{key++}, d.where));
  CHECK(here(g).result == verdict::not_now);
  static_cast<void>(mine.catch_up());
  CHECK(there(g).result == verdict::capacity_exhausted);
  g.between_nodes = {};
  const decision d = there(g);
  REQUIRE(d);
  CHECK(live.commit(job_key{key}, d.where));
}

TEST_CASE("two readers propose while one writer commits; in the end all see the same") {
  pair w{64};
  mailbox in;
  copies for_reader[2];
  reader_report report[2];
  std::atomic<bool> stop{false};
  std::vector<std::thread> readers;
  for (std::uint64_t i = 0; i < 2; ++i)
    readers.emplace_back([&, i] { read(100 + i, w.feed, for_reader[i], in, stop, report[i]); });

  random_source random{7};
  std::vector<job_key> jobs;
  std::uint64_t next = 1, committed = 0, conflicts = 0, wrong = 0;
  const std::size_t steps = effort(100'000);
  const auto release_one = [&] {
    const std::size_t i = random.below(jobs.size());
    wrong += w.live.release(jobs[i]).has_value() ? 0U : 1U;
    jobs[i] = jobs.back();
    jobs.pop_back();
  };
  // Goes on until both readers proposed and enough of it was committed; a loaded machine may take its time.
  for (std::size_t step = 0; step < steps || committed < 200 || report[0].proposed == 0 || report[1].proposed == 0;
       ++step) {
    for (auto& c : for_reader) c.serve(w.live);
    if (step % 8 == 0) {
      for (const proposal& p : in.take()) {
        const std::vector<node_state> before = states(w.live);
        const job_key key{next++};
        const auto done = w.live.commit(key, {p.tasks, {&p.shape, 1}});
        if (done) {
          jobs.push_back(key);
          ++committed;
        } else {
          ++conflicts;
          wrong += done.error().code == cluster_errc::conflict && states(w.live) == before ? 0U : 1U;
        }
      }
    }
    while (jobs.size() > 40) release_one();
    const std::uint64_t what = random.below(8);
    if (what < 3) {
      if (w.start(next, make_gang(1 + static_cast<std::uint32_t>(random.below(4)),
                                  1 + static_cast<std::uint32_t>(random.below(8)))))
        jobs.push_back(job_key{next});
      ++next;
    } else if (what < 6 && !jobs.empty()) {
      release_one();
    } else if (what == 6) {
      const node_id n{static_cast<std::uint32_t>(random.below(node_total))};
      static_cast<void>(w.live.set_device_health(n, static_cast<unsigned>(random.below(8)), random.below(4) != 0));
    } else if (step % 512 == 7) {
      static_cast<void>(
          w.live.relabel(node_id{static_cast<std::uint32_t>(random.below(node_total))},
                         random.below(2) == 0 ? std::vector<std::string>{} : std::vector<std::string>{"x"}));
    } else {
      std::this_thread::yield();
    }
  }
  stop.store(true);
  while (!report[0].finished.load() || !report[1].finished.load()) {
    for (auto& c : for_reader) c.serve(w.live);
    std::this_thread::yield();
  }
  for (auto& t : readers) t.join();

  CHECK(wrong == 0);
  CHECK(w.live.check_invariants());
  for (auto& r : report) {
    CHECK_FALSE(first_difference(w.live, r.mine->view()));
    CHECK(r.mine->catch_up() == catch_up_result::current);
  }
  MESSAGE(committed << " proposals committed, " << conflicts << " conflicts; readers followed "
                    << report[0].followed + report[1].followed << " times, copied all "
                    << report[0].recopied + report[1].recopied << " times, were made anew "
                    << report[0].rebuilt + report[1].rebuilt << " times");
}

}  // namespace
