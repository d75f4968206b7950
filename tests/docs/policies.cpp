// The code of docs/policies.md.
#include <cstdint>
#include <iostream>
#include <optional>
#include <string>
#include <vector>

#include "berth/cluster/presets.hpp"
#include "berth/place.hpp"
#include "berth/policy/cpu_alignment.hpp"
#include "berth/policy/domain_score.hpp"
#include "berth/policy/keep_whole.hpp"
#include "berth/policy/node_history.hpp"
#include "berth/policy/power_budget.hpp"
#include "berth/solver/spread_placer.hpp"
#include "berth/topology/catalogue/node_shapes.hpp"
#include "docs/pages.hpp"

using berth_docs::check_output;
using berth_docs::printed;

// [own-indexed]
// Best fit for whole domains; a gang that must be split empties the fullest children first.
struct fill_the_corners {
  static constexpr berth::domain_order whole = berth::domain_order::tightest;
  static constexpr berth::split_order split = berth::split_order::smallest_first;
  static constexpr std::uint32_t candidates = 1;
};
// [end]

// [own-scored]
// The tightest domain that keeps room for `reserve` more tasks of this kind; if there is none, the tightest.
struct leave_slack {
  std::uint64_t reserve = 1;
  [[nodiscard]] double score(const berth::domain_view& d, std::uint64_t need) const noexcept {
    const double left = static_cast<double>(d.capacity) - static_cast<double>(need);
    return left >= static_cast<double>(reserve) ? -left : -1e9 - left;
  }
};
// [end]

// [own-node]
// Machines with a broken GPU first: they are of no use to tasks that need the whole machine.
struct broken_first {
  [[nodiscard]] int score(const berth::node_view& n, const berth::task_shape&) const noexcept {
    return n.state.unhealthy != 0 ? 1 : 0;
  }
};
// [end]

// [own-device]
// The free devices with the highest numbers.
struct highest_index {
  struct table {
    [[nodiscard]] berth::device_mask choose(berth::device_mask free, unsigned count) const noexcept {
      while (berth::count_bits(free) > count) free &= free - 1;  // drop the lowest
      return free;
    }
  };
  [[nodiscard]] table compile(const berth::node_shape&) const { return {}; }
};
// [end]

// [own-check]
static_assert(berth::explain_policy<fill_the_corners, broken_first, highest_index>::ok);
static_assert(berth::explain_policy<leave_slack, berth::bin_pack, berth::best_bandwidth>::ok);
// [end]

// [composed]
// In [0, 1], so that it may be weighed against others: the share of this gang's tasks that the machine holds already.
struct stay_together {
  static constexpr bool normalized = true;
  [[nodiscard]] double score(const berth::node_view& n, const berth::task_shape&) const noexcept {
    return n.taken == 0 ? 0.0 : static_cast<double>(n.taken) / static_cast<double>(n.fits);
  }
};
using broken_then_packed = berth::lexicographic<broken_first, berth::bin_pack>;
using packed_and_together = berth::weighted<berth::device_utilisation, stay_together>;
// [end]

namespace {

// Four leaves of eight machines, unevenly filled: 8, 6, 3 and 3 whole machines are free.
struct uneven_room {
  berth::cluster_spec spec = *berth::make_preset("leaf-spine:nodes=32,per-leaf=8");
  berth::cluster live{spec, {.jobs = 100, .tasks = 1000}};
  std::uint64_t next = 1000;

  uneven_room() {
    occupy(8, 9, 8);
    occupy(16, 20, 8);
    occupy(24, 28, 8);
  }
  void occupy(std::uint32_t first, std::uint32_t last, unsigned devices) {
    const berth::task_shape shape{.devices = devices};
    for (std::uint32_t n = first; n <= last; ++n) {
      const berth::task_placement task{.devices = berth::low_bits(devices), .node = berth::node_id{n}};
      REQUIRE(live.commit(berth::job_key{next++}, {.tasks = {&task, 1}, .shapes = {&shape, 1}}));
    }
  }
};

}  // namespace

TEST_SUITE("docs/policies") {
  TEST_CASE("docs: domain policies side by side") {
    uneven_room room;
    const berth::cluster_spec& spec = room.spec;
    berth::cluster& live = room.live;
    printed out;
    // [domains]
    const auto show = [&](const char* name, auto policy) {
      berth::placer place{live, policy};
      std::cout << name << ':';
      for (const std::uint32_t machines : {3U, 9U, 12U}) {
        const berth::gang job{
            .groups = {{.name = "worker", .shape = {.devices = 8}, .wanted = machines, .minimum = machines}}};
        const auto answer = place(job);
        std::vector<int> per_leaf(spec.tree.domain_count(spec.tree.leaf_level()));
        for (const auto& t : answer.where.tasks) ++per_leaf[spec.tree.leaf_of(t.node).index()];
        std::cout << "  " << machines << " =";
        for (const int n : per_leaf) std::cout << ' ' << n;
      }
      std::cout << '\n';
    };
    show("fewest_domains  ", berth::fewest_domains{});
    show("tightest        ", berth::tightest{});
    show("least_free_first", berth::least_free_first{});
    show("most_free_first ", berth::most_free_first{});
    show("balanced        ", berth::balanced{});
    // [end]
    check_output("domains", out.text());
  }

  TEST_CASE("docs: node policies side by side") {
    uneven_room room;
    room.occupy(12, 12, 4);
    room.occupy(13, 13, 6);
    berth::cluster& live = room.live;
    printed out;
    // [nodes]
    const berth::gang job{.groups = {{.name = "worker", .shape = {.devices = 1}, .wanted = 4, .minimum = 4}}};
    const auto show = [&](const char* name, auto policy) {
      berth::placer place{live, berth::tightest{}, policy};
      std::cout << name << ':';
      for (const auto& t : place(job).where.tasks) std::cout << ' ' << room.spec.nodes[t.node.index()].name;
      std::cout << '\n';
    };
    show("bin_pack", berth::bin_pack{});
    show("spread  ", berth::spread{});
    // [end]
    check_output("nodes", out.text());
  }

  TEST_CASE("docs: device choice keeps pairs whole") {
    printed out;
    // [devices]
    const auto box = *berth::catalogue_shape("pcie-a100-8");  // NVLink bridges join 0-1, 2-3, 4-5 and 6-7
    const auto table = berth::best_bandwidth{}.compile(box);
    berth::device_mask free = box.all_devices();
    for (const unsigned count : {1U, 1U, 2U, 1U, 2U}) {
      const berth::device_mask taken = table.choose(free, count);
      free &= ~taken;
      std::cout << count << ':';
      berth::for_each_bit(taken, [](unsigned d) { std::cout << ' ' << d; });
      std::cout << '\n';
    }
    // [end]
    check_output("devices", out.text());
  }

  TEST_CASE("docs: replicas spread over leaves") {
    uneven_room room;
    const berth::cluster_spec& spec = room.spec;
    berth::cluster& live = room.live;
    printed out;
    // [spread]
    const auto leaf = spec.tree.leaf_level(), node = berth::level_of_nodes(spec.tree);
    berth::label_book book;
    berth::spread_placer place{live};
    const auto show = [&](const char* name, const berth::spread_request& request) {
      const auto answer = place(request, book);
      std::vector<int> per_leaf(spec.tree.domain_count(leaf));
      for (const auto& t : answer.where.tasks) ++per_leaf[spec.tree.leaf_of(t.node).index()];
      std::cout << name << ':';
      for (const int n : per_leaf) std::cout << ' ' << n;
      std::cout << " (" << answer.replicas << " replicas)\n";
    };
    berth::spread_request web{.shape = {.devices = 2}, .replicas = 10, .minimum = 10, .labels = {"web"}};
    web.rules = {{.level = leaf, .label = "web", .max_skew = 1}};
    show("skew of 1 over leaves     ", web);
    web.rules = {{.level = leaf, .label = "web", .at_most_permille = 400},
                 {.level = node, .label = "web", .at_most = 1}};
    web.goal = berth::spread_goal::packed;
    show("40 % a leaf, one a node   ", web);
    book.set(berth::job_key{1000}, {"db"});  // the job that holds the first node of leaf 1
    web.rules = {{.level = leaf, .label = "db", .at_most = 0}};
    show("no leaf with a database   ", web);
    berth::spread_request serving{.shape = {.devices = 8}, .replicas = 4, .minimum = 1, .tasks_per_replica = 3};
    serving.inside = leaf;
    serving.rules = {{.level = leaf, .at_most = 1}};
    show("three nodes in a leaf each", serving);
    // [end]
    check_output("spread", out.text());
  }

  TEST_CASE("docs: scores of nodes lifted to domains") {
    uneven_room room;
    const berth::cluster_spec& spec = room.spec;
    berth::cluster& live = room.live;
    printed out;
    // [lifted]
    berth::domain_scores data{spec.tree}, health{spec.tree};
    const berth::stored_copy copies[] = {{.bytes = 300, .nodes = {berth::node_id{10}}},  // under leaf 1
                                         {.bytes = 100, .nodes = {berth::node_id{2}}}};  // under leaf 0
    berth::score_data(copies, data);
    berth::node_history history{spec.tree.node_count()};
    history.fault(berth::node_id{21}, 0.0);  // under leaf 2, now a week ago
    history.write(health, 7.0 * 86'400);
    const auto show = [&](const char* name, auto policy) {
      berth::placer place{live, policy};
      const berth::gang job{.groups = {{.name = "worker", .shape = {.devices = 8}, .wanted = 3, .minimum = 3}}};
      std::cout << name << ": " << spec.tree.name(spec.tree.leaf_level(), place(job).domain) << '\n';
    };
    show("tightest        ", berth::tightest{});
    show("near its data   ", berth::lexicographic{berth::preferred_domain{&data}, berth::tightest{}});
    show("where it is safe", berth::lexicographic{berth::preferred_domain{&health}, berth::tightest{}});
    show("both            ", berth::weighted{berth::term{0.2, berth::preferred_domain{&data}},
                                             berth::term{0.8, berth::preferred_domain{&health}}});
    // [end]
    check_output("lifted", out.text());
  }

  TEST_CASE("docs: power caps of leaves") {
    uneven_room room;
    const berth::cluster_spec& spec = room.spec;
    berth::cluster& live = room.live;
    printed out;
    // [power]
    const auto leaf = spec.tree.leaf_level();
    const std::vector<berth::node_power> draw(live.shapes().size(), {.idle_watts = 2000, .device_watts = 700});
    const std::vector<std::optional<std::int64_t>> caps{50'000, 50'000, std::nullopt, 50'000};
    berth::spread_request job{.shape = {.devices = 8}, .replicas = 20, .minimum = 1};
    job.budgets.push_back(berth::power_budget(live, leaf, caps, draw, job.shape));
    berth::spread_placer place{live};
    const auto answer = place(job);
    std::vector<int> per_leaf(spec.tree.domain_count(leaf));
    for (const auto& t : answer.where.tasks) ++per_leaf[spec.tree.leaf_of(t.node).index()];
    std::cout << "machines:";
    for (const int n : per_leaf) std::cout << ' ' << n;
    std::cout << "\nwatts left before:";
    for (const std::size_t l : {0U, 1U, 3U}) std::cout << ' ' << job.budgets[0].left[l];
    std::cout << '\n';
    // [end]
    check_output("power", out.text());
  }

  TEST_CASE("docs: what is whole stays whole") {
    printed out;
    const auto fresh = [] {
      uneven_room room;
      room.occupy(13, 13, 4);  // half of one machine under leaf 1
      return room;
    };
    // [whole]
    const auto show = [](const char* name, const berth::cluster_spec& spec, berth::cluster& live, auto& place,
                         berth::domain_use& use) {
      std::cout << name << ':';
      for (std::uint64_t k = 0; k < 4; ++k) {
        const berth::gang job{.groups = {{.name = "worker", .shape = {.devices = 2}, .wanted = 1, .minimum = 1}}};
        const auto answer = place(job);
        std::cout << ' ' << spec.nodes[answer.where.tasks[0].node.index()].name;
        if (!live.commit(berth::job_key{k}, answer.where)) return;
        use.update(live, answer.where.tasks);  // the book is the caller's: so after every commit and release
      }
      std::cout << '\n';
    };
    auto a = fresh(), b = fresh();
    berth::domain_use use_a{a.live}, use_b{b.live};
    berth::placer plain{a.live, berth::tightest{}};
    show("tightest    ", a.spec, a.live, plain, use_a);
    const berth::whole_islands_last islands{b.live};
    berth::placer whole{b.live, berth::whole_domains_last{&b.live, &use_b, &islands},
                        berth::lexicographic{berth::whole_nodes_last{}, islands, berth::bin_pack{}},
                        berth::keep_islands{}};
    show("kept whole  ", b.spec, b.live, whole, use_b);
    // [end]
    check_output("whole", out.text());
  }

  TEST_CASE("docs: CPUs beside the GPUs") {
    uneven_room room;
    berth::cluster live{room.spec, {.jobs = 10, .tasks = 10, .bindings = true}};
    // [aligned]
    berth::placer place{live, berth::tightest{},
                        berth::lexicographic{berth::aligned_first{&live}, berth::whole_nodes_last{},
                                             berth::ratio_kept{}, berth::bin_pack{}}};
    berth::gang job{.groups = {{.name = "worker",
                                .shape = {.devices = 2, .cpu = berth::cpus(16), .memory = berth::gibibytes(64)},
                                .wanted = 1,
                                .minimum = 1}}};
    job.groups[0].shape.bind.numa = berth::numa_rule::best_effort;
    const auto answer = place(job);
    // [end]
    CHECK(answer.result == berth::verdict::placed);
  }

  TEST_CASE("docs: policies of one's own") {
    uneven_room room;
    berth::cluster& live = room.live;
    room.occupy(23, 23, 3);
    REQUIRE(live.set_device_health(berth::node_id{22}, 7, false));
    const berth::cluster_spec& spec = room.spec;
    printed out;
    // [own-use]
    const auto show = [&](const char* name, auto& place, std::uint32_t devices) {
      const berth::gang job{.groups = {{.name = "worker", .shape = {.devices = devices}, .wanted = 2, .minimum = 2}}};
      std::cout << name << ", " << devices << " GPUs:";
      for (const auto& t : place(job).where.tasks) {
        std::cout << ' ' << spec.nodes[t.node.index()].name << " (";
        berth::for_each_bit(t.devices, [](unsigned d) { std::cout << d; });
        std::cout << ')';
      }
      std::cout << '\n';
    };
    berth::placer corners{live, fill_the_corners{}, berth::bin_pack{}, highest_index{}};
    show("corners ", corners, 8);
    show("corners ", corners, 2);
    berth::placer slack{live, leave_slack{.reserve = 2}};
    show("slack   ", slack, 8);
    berth::placer broken{live, fill_the_corners{}, broken_then_packed{}};
    show("broken  ", broken, 2);
    berth::placer together{
        live, fill_the_corners{},
        packed_and_together{berth::term{0.3, berth::device_utilisation{}}, berth::term{0.7, stay_together{}}}};
    show("together", together, 2);
    // [end]
    check_output("own", out.text());
  }

  TEST_CASE("docs: the one line about a wrong policy is the library's") {
    // The literal of the static assertion, its pieces joined. That compilers print it is tested in tests/compile_fail.
    std::string text = berth_docs::read_file("include/berth/policy/concepts.hpp");
    text = text.substr(text.find("\"berth: a domain policy") + 1);
    text = text.substr(0, text.find("\");"));
    for (std::size_t at; (at = text.find("\"\n")) != std::string::npos;)
      text.erase(at, text.find('"', at + 1) + 1 - at);
    check_output("diagnostic", "error: static assertion failed: " + text + "\n");
  }
}
