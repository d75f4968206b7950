// Long random runs of every call on `cluster` beside the naive model: same results, same state, same counters.

#include <doctest/doctest.h>

#include <algorithm>
#include <cstdint>
#include <memory>
#include <string>
#include <type_traits>
#include <vector>

#include "berth/cluster/cluster.hpp"
#include "berth/cluster/transaction.hpp"
#include "berth/core/random.hpp"
#include "berth/topology/domain_tree_builder.hpp"
#include "effort.hpp"
#include "naive_cluster.hpp"

namespace {

using namespace berth;

const std::vector<std::string> words{"fast", "old", "ssd"};

node_shape shape(std::string name, unsigned devices, std::string model, std::string other) {
  node_shape s = make_plain_shape(std::move(name), devices, std::move(model), cpus(16), gibibytes(64));
  for (unsigned d = devices / 2; d < devices && !other.empty(); ++d) s.models[d] = other;
  for (unsigned a = 0; a + 1 < devices; ++a) s.bandwidth.set(a, a + 1, gigabytes_per_second{a % 2 == 0 ? 50.0 : 25.0});
  return s;
}

/// The same kinds of machine for every tree; kind 4 is in no spec at first and has the most devices.
std::vector<node_shape> kinds() {
  return {shape("quad", 4, "a", ""), shape("octo", 8, "a", "b"), shape("cpu", 0, "", ""), shape("pair", 2, "b", ""),
          shape("huge", 64, "a", "c")};
}
node_spec random_node(random_source& random, unsigned kinds_used) {
  node_spec n;
  n.shape = shape_id{static_cast<std::uint16_t>(random.below(kinds_used))};
  for (const auto& w : words)
    if (random.below(2) == 0) n.labels.push_back(w);
  n.cpu = cpus(static_cast<std::int64_t>(random.between(1, 12)));
  n.memory = gibibytes(static_cast<std::int64_t>(random.between(4, 64)));
  return n;
}
cluster_spec occupy(domain_tree tree, std::uint64_t seed, unsigned kinds_used) {
  cluster_spec s;
  s.tree = std::move(tree);
  s.shapes = kinds();
  random_source random{seed};
  for (std::uint32_t n = 0; n < s.tree.node_count(); ++n) {
    s.nodes.push_back(random_node(random, kinds_used));
    s.nodes.back().name = "n" + std::to_string(n);
  }
  return s;
}

cluster_spec regular(std::uint64_t seed) {
  return occupy(domain_tree_builder::regular({"cluster", "spine", "leaf"}, {2, 3}, 5), seed, 4);
}
cluster_spec wide_leaf(std::uint64_t seed) {
  return occupy(domain_tree_builder::regular({"cluster", "leaf"}, {2}, 70), seed, 4);
}
cluster_spec only_root(std::uint64_t seed) {
  return occupy(domain_tree_builder::regular({"cluster"}, {}, 9), seed, 2);
}
/// Two roots, branches of unlike depth, nodes beside switches.
cluster_spec crooked(std::uint64_t seed) {
  const std::vector<domain_declaration> domains{{"core", domain_declaration::no_parent, ""},
                                                {"spine", 0, ""},
                                                {"leaf-a", 1, ""},
                                                {"leaf-b", 1, ""},
                                                {"leaf-c", 0, ""},
                                                {"island", domain_declaration::no_parent, ""}};
  std::vector<std::uint32_t> at;
  for (std::uint32_t n = 0; n < 24; ++n) at.push_back(n % 6);
  auto built = domain_tree_builder::build(domains, at);
  REQUIRE(built);
  return occupy(std::move(built->tree), seed, 4);
}

/// One cluster, its naive twin, and what is done to both.
class walk {
 public:
  walk(cluster_spec spec, const cluster_limits& limits, std::uint64_t seed)
      : spec_{std::move(spec)}, limits_{limits}, real_{spec_, limits}, twin_{spec_, limits}, random_{seed} {
    for (int i = 0; i < 10; ++i) shapes_.push_back(random_shape());
  }

  void step() {
    const std::uint64_t epoch = real_.epoch();
    ++steps_;
    const std::uint64_t roll = random_.below(100);
    if (roll < 34) commit();
    else if (roll < 58) release();
    else if (roll < 64) device_health();
    else if (roll < 68) node_usable();
    else if (roll < 71) uplink();
    else if (roll < 73) relabel();
    else if (roll < 75) link_health();
    else if (roll < 77) membership();
    else if (roll < 79) filter();
    else if (roll < 90) transactions();
    else if (roll < 92) hold_for_a_moment();
    else if (roll < 94) bounds(shapes_[random_.below(shapes_.size())]);
    else if (roll < 95) gains();
    else counters(shapes_[random_.below(shapes_.size())]);
    good(real_.epoch() >= epoch, "an epoch fell");
    if (steps_ % 64 == 0) compare();
    if (steps_ % 512 == 0) {
      for (const auto& s : shapes_) counters(s);
      good(real_.check_invariants(), "invariants");
    }
  }
  void finish() {
    while (!open_.empty()) end_transaction(random_.below(2) == 0);
    compare();
    for (const auto& s : shapes_) counters(s);
    good(real_.check_invariants(), "invariants");
  }
  [[nodiscard]] bool ok() const { return fault_.empty(); }
  [[nodiscard]] const std::string& fault() const { return fault_; }
  [[nodiscard]] std::size_t steps() const { return steps_; }
  /// Every kind of result that was seen, so that the test can show that it met them all.
  [[nodiscard]] const std::set<std::string>& seen() const { return seen_; }

 private:
  struct scope {
    std::unique_ptr<transaction> t;
    std::vector<node_state> nodes;
    std::uint64_t epoch = 0;
  };

  void good(bool condition, const char* what) {
    if (!condition && fault_.empty()) fault_ = std::string{what} + " at step " + std::to_string(steps_);
  }
  [[nodiscard]] std::uint32_t any_node() {
    return static_cast<std::uint32_t>(random_.below(40) == 0 ? real_.node_count() + random_.below(3)
                                                             : random_.below(real_.node_count()));
  }
  [[nodiscard]] bool one_in(std::uint64_t n) { return random_.below(n) == 0; }

  template <class Result>
  void same(const char* call, const Result& got, const naive::outcome& want) {
    const bool agree = got.has_value() ? !want.error : want.error == got.error().code && want.node == got.error().node;
    good(agree, call);
    seen_.insert(std::string{call} +
                 (got.has_value() ? " ok" : " " + std::to_string(static_cast<int>(got.error().code))));
    if (!got.has_value() && one_in(32)) compare();  // a refusal changes nothing
  }
  /// Does it, and now and then does it again: the second time must change nothing.
  template <class Call>
  void twice(const char* call, const naive::outcome& want, Call f) {
    same(call, f(), want);
    if (want.error || !one_in(8)) return;
    const std::vector<node_state> before{real_.nodes().begin(), real_.nodes().end()};
    const std::uint64_t epoch = real_.epoch();
    good(f().has_value(), "the same again");
    good(std::equal(before.begin(), before.end(), real_.nodes().begin()), "the same again changed a node");
    good(real_.epoch() == epoch, "the same again was a change");
  }

  task_shape random_shape() {
    task_shape s;
    constexpr std::uint32_t devices[] = {0, 1, 1, 1, 2, 2, 4, 8};
    s.devices = devices[random_.below(8)];
    if (s.devices == 0 || one_in(2)) s.cpu = cpu_millis{static_cast<std::int64_t>(random_.between(100, 3000))};
    if (one_in(3)) s.memory = gibibytes(static_cast<std::int64_t>(random_.between(1, 10)));
    s.filter = filter_id{static_cast<std::uint16_t>(random_.below(twin_.filters.size()))};
    return s;
  }
  [[nodiscard]] std::uint64_t known_key() {
    if (twin_.now.jobs.empty() || one_in(20)) return random_.below(1000);
    auto j = twin_.now.jobs.lower_bound(random_.below(1000));
    return j == twin_.now.jobs.end() ? twin_.now.jobs.begin()->first : j->first;
  }

  void commit() {
    std::vector<task_placement> tasks;
    std::vector<task_shape> shapes;
    std::uint64_t key = random_.below(1000);
    if (one_in(12)) {  // the content of a job that exists, under its own key, perhaps with one thing changed
      key = known_key();
      if (const auto j = twin_.now.jobs.find(key); j != twin_.now.jobs.end())
        for (const auto& t : j->second) {
          device_mask devices = 0;
          for (const unsigned d : t.devices) devices |= bit(d);
          shapes.push_back(
              {static_cast<std::uint32_t>(t.devices.size()), cpu_millis{t.cpu}, bytes{t.memory}, t.filter});
          tasks.push_back({devices, node_id{t.node}, static_cast<std::uint32_t>(tasks.size())});
        }
      if (!tasks.empty() && one_in(2)) {
        auto& t = tasks[random_.below(tasks.size())];
        switch (random_.below(5)) {
          case 0:
            t.devices ^= 1;
            break;
          case 1:
            t.node = node_id{any_node()};
            break;
          case 2:
            shapes[t.group].cpu += cpu_millis{1};
            break;
          case 3:
            if (key % 2 == 0) shapes[t.group].memory += bytes{1};
            else shapes[t.group].filter = filter_id{static_cast<std::uint16_t>(shapes[t.group].filter.raw() ^ 1U)};
            break;
          default:
            tasks.pop_back();
            break;
        }
      }
    } else {
      const std::uint64_t count = random_.between(one_in(50) ? 0 : 1, 4);
      const std::uint32_t base = any_node();
      for (std::uint64_t i = 0; i < count; ++i) {
        const std::uint32_t n = one_in(3) ? any_node() : base;
        task_shape s = random_shape();
        if (!one_in(3)) s.filter = filter_id{0};  // others let few nodes pass
        s.cpu = cpu_millis{s.cpu.count() / (one_in(2) ? 4 : 1)};
        if (s.devices == 0 && s.cpu.count() == 0 && s.memory.count() == 0 && !one_in(10)) s.cpu = cpus(1);
        if (one_in(100)) s.cpu = cpu_millis{-1};
        if (one_in(100)) s.devices += 1;
        device_mask devices = 0;
        if (n < real_.node_count()) {
          device_mask pool = real_.node(node_id{n}).free;
          for (const auto& t : tasks)
            if (t.node == node_id{n} && !one_in(6)) pool &= ~t.devices;
          if (one_in(20)) pool = real_.node(node_id{n}).installed;
          if (one_in(200)) pool = ~device_mask{0};
          while (count_bits(devices) < s.devices && (pool & ~devices) != 0) {
            const unsigned d = static_cast<unsigned>(random_.below(64));
            if ((pool >> d & 1) != 0) devices |= bit(d);
          }
          if (!one_in(20)) s.devices = count_bits(devices);
          if (s.devices == 0 && s.cpu.count() == 0 && s.memory.count() == 0) s.cpu = cpus(1);
        }
        shapes.push_back(s);
        tasks.push_back({devices, node_id{n}, one_in(200) ? 99U : static_cast<std::uint32_t>(i)});
      }
    }
    const naive::outcome want = twin_.commit(key, tasks, shapes);
    twice("commit", want, [&] { return real_.commit(job_key{key}, {tasks, shapes}); });
    latest_ = key;
  }
  void release() {
    // What came last often goes before any counters are read.
    const std::uint64_t key = one_in(3) ? latest_ : known_key();
    same("release", real_.release(job_key{key}), twin_.release(key));
    if (one_in(10)) same("release", real_.release(job_key{key}), twin_.release(key));
  }
  void device_health() {
    const std::uint32_t n = any_node();
    const unsigned d = one_in(30) ? static_cast<unsigned>(random_.below(70)) : static_cast<unsigned>(random_.below(8));
    const bool healthy = random_.below(3) != 0;
    const auto want = twin_.set_device_health(n, d, healthy);
    twice("device", want, [&] { return real_.set_device_health(node_id{n}, d, healthy); });
  }
  void node_usable() {
    const std::uint32_t n = any_node();
    const bool usable = random_.below(4) != 0;
    const auto want = twin_.set_node_usable(n, usable);
    twice("node", want, [&] { return real_.set_node_usable(node_id{n}, usable); });
  }
  void uplink() {
    const unsigned level = static_cast<unsigned>(random_.below(real_.tree().level_count() + 1U));
    std::uint64_t domains = 1;
    if (level < real_.tree().level_count())
      domains = real_.tree().domain_count(level_id{static_cast<std::uint8_t>(level)});
    const auto d = static_cast<std::uint32_t>(random_.below(domains + (one_in(20) ? 1 : 0)));
    const bool healthy = random_.below(5) > 1;
    const auto want = twin_.set_uplink_health(level, d, healthy);
    twice("uplink", want,
          [&] { return real_.set_uplink_health(level_id{static_cast<std::uint8_t>(level)}, domain_id{d}, healthy); });
  }
  void relabel() {
    const std::uint32_t n = any_node();
    std::vector<std::string> labels;
    for (const auto& w : words)
      if (one_in(2)) labels.push_back(w);
    const auto want = twin_.relabel(n, labels);
    twice("relabel", want, [&] { return real_.relabel(node_id{n}, labels); });
  }
  void link_health() {
    const std::uint32_t n = any_node();
    // Few links, so that the kinds of machine that this makes stay few.
    const unsigned a = static_cast<unsigned>(random_.below(2)), b = static_cast<unsigned>(random_.below(3));
    const bool healthy = one_in(2);
    const auto want = twin_.set_link_health(n, a, b, healthy);
    twice("link", want, [&] { return real_.set_link_health(node_id{n}, a, b, healthy); });
  }
  void membership() {
    if (one_in(2)) {
      const std::uint32_t n = any_node();
      same("remove", real_.remove_node(node_id{n}), twin_.remove_node(n));
    } else {
      const auto leaves = real_.tree().domain_count(real_.tree().leaf_level());
      const auto leaf = static_cast<std::uint32_t>(random_.below(leaves + (one_in(20) ? 1 : 0)));
      node_spec fresh = random_node(random_, 5);
      if (one_in(50)) fresh.shape = shape_id{60'000};
      const auto [want, id] = twin_.add_node(leaf, spec_, fresh);
      const auto got = real_.add_node(domain_id{leaf}, fresh);
      same("add", got, want);
      if (got.has_value()) good(got->raw() == id, "the id of a new node");
    }
  }
  void filter() {
    if (twin_.filters.size() < 12) {
      node_filter f;
      for (auto* list : {&f.all_of, &f.none_of, &f.any_of})
        for (const auto& w : words)
          if (one_in(4)) list->push_back(w);
      for (const char* m : {"a", "b", "c"})
        if (one_in(3)) f.models.emplace_back(m);
      const filter_id id = real_.add_filter(f);
      good(real_.add_filter(f) == id, "an equal filter");
      good(real_.filter(id) == f, "a filter's content");
      if (id.index() == twin_.filters.size()) twin_.filters.push_back(f);
      good(twin_.filters[id.index()] == f, "a filter's id");
    }
    shapes_[random_.below(shapes_.size())] = random_shape();
  }

  void transactions() {
    if (open_.size() < 4 && one_in(2)) {
      open_.push_back(
          {std::make_unique<transaction>(real_), {real_.nodes().begin(), real_.nodes().end()}, real_.epoch()});
      twin_.begin();
    } else if (!open_.empty()) {
      end_transaction(one_in(2));
    }
  }
  void end_transaction(bool keep) {
    scope s = std::move(open_.back());
    open_.pop_back();
    if (keep) {
      s.t->commit();
      twin_.keep();
      seen_.insert("kept");
      return;
    }
    const std::uint64_t epoch = real_.epoch();
    const bool changed = !std::equal(s.nodes.begin(), s.nodes.end(), real_.nodes().begin());
    if (one_in(2)) s.t->rollback();
    else s.t.reset();
    twin_.undo();
    good(std::equal(s.nodes.begin(), s.nodes.end(), real_.nodes().begin()), "rollback left a node changed");
    good(!changed || real_.epoch() > epoch, "undoing is a change");
    compare();
    seen_.insert("undone");
  }
  void hold_for_a_moment() {
    const node_id n{static_cast<std::uint32_t>(random_.below(real_.node_count()))};
    const node_state before = real_.node(n);
    const device_mask devices = lowest_set(before.free, 1);
    const task_shape& s = shapes_[random_.below(shapes_.size())];
    if (!before.usable) return;
    const std::uint64_t epoch = real_.epoch();
    real_.hold(n, devices, before.cpu, bytes{before.memory.count() / 2});
    good(real_.node(n).free == (before.free & ~devices), "hold");
    if (one_in(2)) static_cast<void>(real_.counters(s));
    real_.unhold(n, devices, before.cpu, bytes{before.memory.count() / 2});
    good(real_.node(n) == before, "unhold");
    good(real_.epoch() > epoch, "hold and unhold are changes");
  }

  void counters(const task_shape& s) {
    const live_shape* c = real_.counters(s);
    good(c != nullptr && c->shape() == s, "counters of a shape");
    if (c == nullptr) return;
    const auto left = twin_.left();
    std::vector<std::uint64_t> fit, fit_empty;
    for (std::uint32_t n = 0; n < real_.node_count(); ++n) {
      fit.push_back(twin_.fits(n, s, left[n], false));
      fit_empty.push_back(twin_.fits(n, s, left[n], true));
      good(c->fits(n) == fit[n], "tasks that fit on a node");
      good(c->count(real_.node(node_id{n})) == fit[n], "tasks counted on a node");
    }
    const auto now = twin_.capacities(fit, false), empty = twin_.capacities(fit_empty, true);
    for (unsigned l = 0; l < real_.tree().level_count(); ++l) {
      for (std::uint32_t d = 0; d < now[l].size(); ++d) good(c->capacity(l, d) == now[l][d], "capacity of a domain");
      good(real_.potential(*c, l) == *std::max_element(empty[l].begin(), empty[l].end()), "potential of a level");
    }
  }

  /// Bounds may be those of a coarser shape, but never promise too little.
  void bounds(task_shape s) {
    if (s.cpu.count() != 0 && one_in(2))
      s.cpu += cpu_millis{static_cast<std::int64_t>(random_.below(500))};  // a one-off
    const live_shape* c = real_.bounds(s);
    good(c != nullptr && c->shape().devices == s.devices && c->shape().filter == s.filter && c->shape().cpu <= s.cpu &&
             c->shape().memory <= s.memory,
         "shape of a bound");
    if (c == nullptr) return;
    seen_.insert(c->shape() == s ? "exact bound" : "coarse bound");
    const auto left = twin_.left();
    std::vector<std::uint64_t> fit, fit_empty;
    for (std::uint32_t n = 0; n < real_.node_count(); ++n) {
      fit.push_back(twin_.fits(n, s, left[n], false));
      fit_empty.push_back(twin_.fits(n, s, left[n], true));
      good(c->fits(n) >= fit[n], "bound of a node");
    }
    const auto now = twin_.capacities(fit, false), empty = twin_.capacities(fit_empty, true);
    for (unsigned l = 0; l < real_.tree().level_count(); ++l) {
      for (std::uint32_t d = 0; d < now[l].size(); ++d) good(c->capacity(l, d) >= now[l][d], "bound of a domain");
      good(real_.potential(*c, l) >= *std::max_element(empty[l].begin(), empty[l].end()), "bound of a potential");
    }
  }
  /// What gained something since the mark is told; then there is a new mark.
  void gains() {
    std::set<std::uint32_t> told;
    const bool all = !real_.each_leaf_gained_since(mark_, [&](std::uint32_t leaf) { told.insert(leaf); });
    seen_.insert(all ? "log too short" : told.empty() ? "no gain" : "gain");
    good(all || told.empty() || real_.gained_since(mark_), "a gain that was told and denied");
    for (std::uint32_t n = 0; n < marked_.size(); ++n) {
      const node_state &was = marked_[n], &is = real_.node(node_id{n});
      const bool gained = (is.free & ~was.free) != 0 || is.cpu > was.cpu || is.memory > was.memory ||
                          (is.usable && !was.usable) || is.node_class != was.node_class;
      good(!gained || real_.gained_since(mark_), "a gain that was denied");
      good(!gained || all || told.count(is.leaf) != 0, "a gain that was not told");
    }
    mark_ = real_.mark_changes();
    marked_.assign(real_.nodes().begin(), real_.nodes().end());
    good(!real_.gained_since(mark_), "a gain after no change");
  }

  void compare() {
    const auto left = twin_.left();
    for (std::uint32_t n = 0; n < real_.node_count(); ++n) {
      const node_state& s = real_.node(node_id{n});
      const naive::node& x = twin_.now.nodes[n];
      good(real_.is_member(node_id{n}) == x.present, "membership");
      good(s.usable == (x.present && x.usable), "usable");
      good(naive::set_of(s.held) == left[n].held, "devices held");
      good(naive::set_of(s.unhealthy) == x.sick, "devices unhealthy");
      good(s.cpu.count() == left[n].cpu && s.memory.count() == left[n].memory, "CPU and memory");
      good(s.tasks == left[n].tasks, "tasks on a node");
      good(naive::set_of(s.installed).size() == x.models.size(), "devices installed");
      good(s.leaf == real_.tree().leaf_of(node_id{n}).raw(), "leaf");
      for (unsigned d = 0; d < 64; ++d) good(((s.free >> d & 1) != 0) == twin_.is_free(n, d, left[n]), "devices free");
      if (!x.present) continue;
      const auto& labels = real_.class_of(node_id{n}).labels;
      good(std::equal(labels.begin(), labels.end(), x.labels.begin(), x.labels.end()), "labels");
      const node_shape& k = real_.shape_of(node_id{n});
      good(k.models == x.models, "models");
      for (unsigned a = 0; a < 3 && a < k.devices; ++a)
        for (unsigned b = a + 1; b < 3 && b < k.devices; ++b) {
          const auto rate = k.bandwidth.between(a, b);
          const auto want = x.cut.count({a, b}) != 0 ? std::nullopt : x.rates[a][b];
          good(rate.has_value() == want.has_value() && (!rate || rate->count() == *want), "bandwidth");
        }
    }
    for (unsigned l = 1; l < real_.tree().level_count(); ++l)
      for (std::uint32_t d = 0; d < real_.tree().domain_count(level_id{static_cast<std::uint8_t>(l)}); ++d)
        good(real_.is_detached(level_id{static_cast<std::uint8_t>(l)}, domain_id{d}) ==
                 (twin_.now.down.count({l, d}) != 0),
             "uplink");
    good(real_.any_detached() == !twin_.now.down.empty(), "any uplink down");
    std::set<std::uint64_t> keys;
    real_.for_each_job(
        [&](job_key k) { good(keys.insert(static_cast<std::uint64_t>(k)).second, "a job named twice"); });
    good(keys.size() == twin_.now.jobs.size() && real_.job_count() == keys.size(), "jobs");
    for (const auto& job : twin_.now.jobs) {
      const std::vector<naive::task>& tasks = job.second;
      std::vector<naive::task> got;
      good(real_.for_each_task(
               job_key{job.first},
               [&](const committed_task& t) {
                 // What filter it has shows only when the job is committed again.
                 const filter_id f = got.size() < tasks.size() ? tasks[got.size()].filter : filter_id{};
                 got.push_back({t.node.raw(), naive::set_of(t.devices), t.cpu.count(), t.memory.count(), f});
               }),
           "a job is missing");
      good(got == tasks, "content of a job");
    }
  }

  cluster_spec spec_;
  cluster_limits limits_;
  cluster real_;
  naive::cluster twin_;
  random_source random_;
  std::vector<task_shape> shapes_;
  std::vector<scope> open_;
  std::uint64_t latest_ = 0;  ///< key of the latest commit
  std::uint64_t mark_ = 0;
  std::vector<node_state> marked_;
  std::size_t steps_ = 0;
  std::string fault_;
  std::set<std::string> seen_;
};

void run(cluster_spec (*make)(std::uint64_t), const cluster_limits& limits, std::uint64_t seed, std::size_t steps) {
  walk w{make(seed), limits, seed};
  for (std::size_t i = 0; i < steps && w.ok(); ++i) w.step();
  w.finish();
  CHECK_MESSAGE(w.ok(), "seed " << seed << ": " << w.fault());
  // A walk that never met a case has proved nothing about it; a short one may miss the rare ones.
  if (steps < 100'000) return;
  for (const char* call : {"commit ok", "commit 1", "commit 2",   "commit 3", "release ok", "device ok",   "device 1",
                           "node ok",   "uplink 1", "relabel ok", "link ok",  "link 1",     "remove ok",   "remove 1",
                           "remove 5",  "add ok",   "add 6",      "kept",     "undone",     "exact bound", "gain"})
    CHECK_MESSAGE(w.seen().count(call) == 1, "never seen: " << std::string{call});
  if (limits.shared_bounds) CHECK(w.seen().count("coarse bound") == 1);
}

}  // namespace

TEST_CASE("a cluster does what a naive model does: three levels") {
  run(regular, {.jobs = 1000, .tasks = 4000, .live_shapes = 12, .journal = 4096}, 1, effort(300'000));
}
TEST_CASE("a cluster does what a naive model does: leaves with more than 64 nodes") {
  run(wide_leaf, {.jobs = 1000, .tasks = 4000, .live_shapes = 12, .journal = 4096}, 2, effort(150'000));
}
TEST_CASE("a cluster does what a naive model does: several roots, unlike depth, implicit domains") {
  run(crooked, {.jobs = 1000, .tasks = 4000, .live_shapes = 12, .journal = 4096}, 3, effort(300'000));
}
TEST_CASE("a cluster does what a naive model does: one level") {
  run(only_root, {.jobs = 1000, .tasks = 4000, .live_shapes = 12, .journal = 4096}, 4, effort(200'000));
}
TEST_CASE("a cluster does what a naive model does: at its limits, with more shapes than it counts") {
  run(regular, {.jobs = 12, .tasks = 25, .live_shapes = 3, .journal = 6, .shared_bounds = true}, 5, effort(300'000));
}
