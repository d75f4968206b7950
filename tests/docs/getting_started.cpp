// The code of docs/getting-started.md, in its order.
#include "docs/pages.hpp"

// [start-includes]
#include <iostream>

#include "berth/cluster/presets.hpp"  // clusters by name
#include "berth/place.hpp"            // cluster, gang, placer, policies, transactions
// [end]
// [slurm-includes]
#include "berth/io/slurm.hpp"
#include "berth/topology/catalogue/node_shapes.hpp"
// [end]
#include "berth/topology/domain_tree_builder.hpp"
// [explain-includes]
#include "berth/solver/explain.hpp"
#include "berth/solver/explain_text.hpp"
// [end]
// [job-includes]
#include "berth/io/gang_text.hpp"
#include "berth/io/resolve_job.hpp"
// [end]
// [replica-includes]
#include <future>

#include "berth/cluster/replica.hpp"
// [end]

#include <string>
#include <vector>

#include "berth/io/text.hpp"

using berth_docs::check_output;
using berth_docs::printed;

// [print]
// One line per task: group, node, GPUs.
void print(const berth::cluster_spec& spec, const berth::gang& job, const berth::placement& p) {
  for (const berth::task_placement& t : p.tasks) {
    std::cout << job.groups[t.group].name << " on " << spec.nodes[t.node.index()].name << ", GPUs";
    berth::for_each_bit(t.devices, [](unsigned device) { std::cout << ' ' << device; });
    std::cout << '\n';
  }
}
// [end]

namespace {

// What several sections start from: four leaves of eight machines.
struct machine_room {
  berth::cluster_spec spec = *berth::make_preset("leaf-spine:nodes=32,per-leaf=8");
  berth::cluster live{spec, {.jobs = 100, .tasks = 1000}};
  berth::placer<> place{live};
  std::uint64_t next = 1000;

  // Takes the first `devices` GPUs of some machines.
  void occupy(std::uint32_t first, std::uint32_t last, unsigned devices) {
    const berth::task_shape shape{.devices = devices};
    for (std::uint32_t n = first; n <= last; ++n) {
      const berth::task_placement task{.devices = berth::low_bits(devices), .node = berth::node_id{n}};
      REQUIRE(live.commit(berth::job_key{next++}, {.tasks = {&task, 1}, .shapes = {&shape, 1}}));
    }
  }
};

}  // namespace

TEST_SUITE("docs/getting-started") {
  TEST_CASE("docs: a cluster, a gang, a placement, a commit, a release") {
    const auto first_steps = [] {
      // [start-cluster]
      const auto spec = berth::make_preset("leaf-spine:nodes=32,per-leaf=8");
      if (!spec) {
        std::cerr << spec.error() << '\n';
        return 1;
      }
      berth::cluster live{*spec, {.jobs = 100, .tasks = 1000}};
      berth::placer place{live};
      // [end]
      // [start-gang]
      const berth::gang job{.groups = {{
                                .name = "worker",
                                .shape = {.devices = 8, .cpu = berth::cpus(32), .memory = berth::gibibytes(200)},
                                .wanted = 4,
                                .minimum = 4,
                            }}};
      // [end]
      // [start-place]
      const berth::decision answer = place(job);
      if (!answer) return 1;
      print(*spec, job, answer.where);
      if (!live.commit(berth::job_key{1}, answer.where)) return 1;
      std::cout << live.job_count() << " job\n";
      // [end]
      // [start-release]
      if (!live.release(berth::job_key{1})) return 1;
      std::cout << live.job_count() << " jobs\n";
      // [end]
      return 0;
    };
    printed out;
    const int code = first_steps();
    check_output("start", out.text());
    CHECK(code == 0);
  }

  TEST_CASE("docs: a cluster from Slurm's files") {
    {
      const auto read_site = [] {
        // [slurm]
        berth::slurm_options options;
        options.hardware.shape = berth::catalogue_shape("azure-ndv5");  // the file names switches and nodes, no GPUs
        const auto spec = berth::read_slurm_files({"examples/data/azure-tree.topology.conf"}, options);
        if (!spec) {
          std::cerr << spec.error().message() << '\n';
          return 1;
        }
        for (const auto& sentence : spec->assumptions) std::cout << sentence << '\n';
        for (const auto& name : spec->tree.path(berth::node_id{0})) std::cout << name << " / ";
        std::cout << spec->nodes[0].name << '\n';
        // [end]
        return 0;
      };
      printed out;
      const int code = read_site();
      check_output("slurm", out.text());
      CHECK(code == 0);
    }
    {
      printed out;
      // [slurm-error]
      const auto broken =
          berth::read_slurm({{"topology.conf", "SwitchName=s0 Nodes=n[1-4]\nSwitchName=s1 Nodes=n4\n"}});
      if (!broken) std::cout << broken.error().message() << '\n';
      // [end]
      check_output("slurm-error", out.text());
    }
  }

  TEST_CASE("docs: a cluster in code") {
    printed out;
    // [in-code]
    berth::cluster_spec spec;
    spec.shapes = {*berth::catalogue_shape("dgx-h100"), *berth::catalogue_shape("gb200-tray")};
    for (auto& shape : spec.shapes) shape.memory = berth::gibibytes(960);  // the catalogue knows no memory
    const std::vector<berth::domain_declaration> domains{{.name = "spine", .level = "spine"},
                                                         {.name = "rack-a", .parent = 0, .level = "rack"},
                                                         {.name = "rack-b", .parent = 0, .level = "rack"},
                                                         {.name = "nvl-0", .parent = 2, .level = "nvlink"},
                                                         {.name = "nvl-1", .parent = 2, .level = "nvlink"}};
    const std::vector<std::uint32_t> hangs_on{3, 3, 4, 4, 1, 1, 1, 1};  // per machine, in your own order
    const auto built = berth::domain_tree_builder::build(domains, hangs_on);
    if (!built) return;
    spec.tree = built->tree;
    spec.nodes.resize(hangs_on.size());
    for (std::size_t i = 0; i < hangs_on.size(); ++i) {
      const berth::shape_id kind{static_cast<std::uint16_t>(hangs_on[i] >= 3 ? 1 : 0)};
      const berth::node_shape& shape = spec.shapes[kind.index()];
      spec.nodes[built->node_ids[i].index()] = {// ids follow the tree
                                                .name = "machine-" + std::to_string(i),
                                                .shape = kind,
                                                .cpu = shape.cpu,
                                                .memory = shape.memory};
    }
    berth::cluster live{spec, {.jobs = 100, .tasks = 1000}};
    berth::placer place{live};
    const berth::filter_id trays = live.add_filter({.models = {"gb200-186gb"}});
    const berth::gang job{
        .groups = {{.name = "worker", .shape = {.devices = 4, .filter = trays}, .wanted = 2, .minimum = 2}},
        .where = berth::locality::required,
        .level = *spec.tree.find_level("nvlink")};
    print(spec, job, place(job).where);
    // [end]
    check_output("in-code", out.text());
    CHECK(live.check_invariants());
  }

  TEST_CASE("docs: what already runs") {
    machine_room room;
    berth::cluster& live = room.live;
    printed out;
    // [occupied]
    // Job 7 holds GPUs 0 to 3 and 40 CPUs of node 5.
    const berth::task_shape share{.devices = 4, .cpu = berth::cpus(40)};
    const berth::task_placement where{.devices = 0b1111, .node = berth::node_id{5}};
    const auto taken = live.commit(berth::job_key{7}, {.tasks = {&where, 1}, .shapes = {&share, 1}});
    // The same again changes nothing and is no error; the same key with other content is one.
    const auto again = live.commit(berth::job_key{7}, {.tasks = {&where, 1}, .shapes = {&share, 1}});
    std::cout << std::boolalpha << taken.has_value() << ' ' << again.has_value() << ' ' << live.job_count() << '\n';
    // [end]
    check_output("occupied", out.text());
  }

  TEST_CASE("docs: locality") {
    machine_room room;
    const berth::cluster_spec& spec = room.spec;
    berth::placer<>& place = room.place;
    room.occupy(0, 4, 8);
    room.occupy(8, 12, 8);
    room.occupy(16, 20, 8);
    room.occupy(24, 28, 8);
    printed out;
    // [locality]
    const berth::level_id leaf = *spec.tree.find_level("leaf");
    berth::gang job{.groups = {{.name = "worker", .shape = {.devices = 8}, .wanted = 5, .minimum = 5}}};
    for (const auto rule : {berth::locality::unconstrained, berth::locality::preferred, berth::locality::required}) {
      job.where = rule;
      job.level = leaf;
      const auto answer = place(job);
      if (answer) std::cout << "placed under " << answer.score.domains_used[leaf.index()] << " leaves\n";
      else std::cout << "not placed: one leaf holds " << answer.why.holds << " of " << answer.why.needs << '\n';
    }
    // [end]
    check_output("locality", out.text());
  }

  TEST_CASE("docs: elastic gangs") {
    machine_room room;
    room.occupy(0, 19, 8);
    berth::placer<>& place = room.place;
    printed out;
    // [elastic]
    const berth::gang job{.groups = {{.name = "worker", .shape = {.devices = 8}, .wanted = 16, .minimum = 4}}};
    const auto answer = place(job);
    std::cout << answer.where.tasks.size() << " tasks, " << answer.score.tasks_missing << " fewer than wanted\n";
    // [end]
    check_output("elastic", out.text());
  }

  TEST_CASE("docs: gangs of several groups") {
    machine_room room;
    const berth::cluster_spec& spec = room.spec;
    berth::cluster& live = room.live;
    berth::placer<>& place = room.place;
    for (std::uint32_t n = 0; n < 32; ++n) {
      const std::int64_t left = n == 0 ? 31 : n == 1 ? 53 : 4;
      const berth::task_shape shape{.cpu = live.node(berth::node_id{n}).cpu - berth::cpus(left)};
      const berth::task_placement task{.node = berth::node_id{n}};
      REQUIRE(live.commit(berth::job_key{n}, {.tasks = {&task, 1}, .shapes = {&shape, 1}}));
    }
    printed out;
    // [mixed]
    const berth::gang job{.groups = {{.name = "small", .shape = {.devices = 2, .cpu = berth::cpus(30)}},
                                     {.name = "large", .shape = {.devices = 2, .cpu = berth::cpus(50)}}}};
    print(spec, job, place(job).where);
    // [end]
    check_output("mixed", out.text());
  }

  TEST_CASE("docs: segments") {
    machine_room room;
    room.occupy(0, 1, 8);
    room.occupy(8, 12, 8);
    room.occupy(16, 18, 8);
    const berth::cluster_spec& spec = room.spec;
    berth::placer<>& place = room.place;
    printed out;
    // [segments]
    const berth::level_id leaf = *spec.tree.find_level("leaf");
    const berth::gang job{
        .groups = {{.name = "worker", .shape = {.devices = 8}, .wanted = 12, .minimum = 6}},
        .segments = berth::segment_request{.count = 4, .level = leaf, .layout = berth::segment_layout::spread}};
    const auto answer = place(job);
    for (std::size_t rank = 0; rank < answer.where.tasks.size(); ++rank) {
      const berth::node_id node = answer.where.tasks[rank].node;
      std::cout << (rank % 3 == 0 ? spec.tree.name(leaf, spec.tree.leaf_of(node)) + ": " : "")
                << spec.nodes[node.index()].name << (rank % 3 == 2 ? '\n' : ' ');
    }
    // [end]
    check_output("segments", out.text());
  }

  TEST_CASE("docs: filters") {
    machine_room room;
    berth::cluster& live = room.live;
    const berth::cluster_spec& spec = room.spec;
    berth::placer<>& place = room.place;
    printed out;
    // [filters]
    for (std::uint32_t n = 24; n < 28; ++n)
      if (!live.relabel(berth::node_id{n}, {"pool=research"})) return;
    const berth::filter_id research = live.add_filter({.all_of = {"pool=research"}, .models = {"h100-sxm5-80gb"}});
    const berth::gang job{
        .groups = {{.name = "worker", .shape = {.devices = 8, .filter = research}, .wanted = 2, .minimum = 2}}};
    print(spec, job, place(job).where);
    // [end]
    check_output("filters", out.text());
  }

  TEST_CASE("docs: a job in words") {
    machine_room room;
    berth::cluster& live = room.live;
    berth::placer<>& place = room.place;
    const auto in_words = [&] {
      // [job]
      const auto words = berth::parse_gang("tasks=8,min=4,gpus=8,cpus=16,memory=100GiB,within=leaf", "request");
      if (!words) return 1;
      const auto job = berth::resolve_job(*words, live);
      if (!job) {
        std::cerr << job.error().message() << '\n';
        return 1;
      }
      std::cout << place(*job).where.tasks.size() << " tasks\n";
      const auto wrong =
          berth::resolve_job(*berth::parse_gang("tasks=8,gpus=8,within=rack", "request"), live, {}, "request");
      if (!wrong) std::cout << wrong.error().message() << '\n';
      // [end]
      return 0;
    };
    printed out;
    const int code = in_words();
    check_output("job", out.text());
    CHECK(code == 0);
  }

  TEST_CASE("docs: explanations") {
    machine_room room;
    berth::cluster& live = room.live;
    berth::placer<>& place = room.place;
    const berth::cluster_spec& spec = room.spec;
    room.occupy(0, 4, 8);
    room.occupy(5, 6, 2);
    room.occupy(8, 13, 8);
    room.occupy(16, 20, 8);
    room.occupy(24, 30, 8);
    printed out;
    // [explain]
    const berth::gang job{.groups = {{.name = "worker", .shape = {.devices = 8}, .wanted = 4, .minimum = 4}},
                          .where = berth::locality::required,
                          .level = *spec.tree.find_level("leaf")};
    if (const auto answer = place(job); !answer) {
      const berth::explanation why = berth::explain(live, job, answer);
      for (const auto& sentence : berth::explanation_sentences(why, job, spec)) std::cout << sentence << '\n';
    }
    // [end]
    check_output("explain", out.text());
  }

  TEST_CASE("docs: transactions") {
    machine_room room;
    berth::cluster& live = room.live;
    berth::placer<>& place = room.place;
    room.occupy(0, 31, 8);
    const berth::job_key small{1003}, other{1004};
    printed out;
    // [transaction]
    const berth::gang job{.groups = {{.name = "worker", .shape = {.devices = 8}, .wanted = 2, .minimum = 2}}};
    {
      berth::transaction what_if{live};
      if (live.release(small)) std::cout << "without one job: " << (place(job) ? "fits" : "does not fit") << '\n';
      {
        berth::transaction further{live};  // a savepoint inside the first
        if (live.release(other)) std::cout << "without two jobs: " << (place(job) ? "fits" : "does not fit") << '\n';
      }  // `other` is back
      std::cout << live.job_count() << " jobs\n";
    }  // so is `small`; `what_if.commit()` would have kept the changes
    std::cout << live.job_count() << " jobs\n";
    // [end]
    check_output("transaction", out.text());
    CHECK(live.check_invariants());
  }

  TEST_CASE("docs: whom to preempt") {
    machine_room room;
    berth::cluster& live = room.live;
    berth::placer<>& place = room.place;
    room.occupy(0, 30, 8);
    // [preempt]
    const berth::gang job{.groups = {{.name = "worker", .shape = {.devices = 8}, .wanted = 2, .minimum = 2}}};
    const berth::explanation why = berth::explain(live, job, place(job));
    for (const berth::remedy& way : why.remedies) {
      if (way.what != berth::remedy::kind::free_nodes) continue;  // `way.nodes` become free and healthy
      std::vector<berth::job_key> victims;
      live.for_each_job([&](berth::job_key key) {
        bool there = false;
        live.for_each_task(key, [&](const berth::committed_task& task) {
          for (const berth::node_id n : way.nodes) there = there || task.node == n;
        });
        if (there) victims.push_back(key);  // here the scheduler asks its own rules: priority, quota, grace
      });
      berth::transaction evict{live};
      for (const berth::job_key key : victims)
        if (!live.release(key)) return;
      const auto answer = place(job);
      if (!answer || !live.commit(berth::job_key{1}, answer.where)) continue;  // undone: a node is broken, not held
      evict.commit();
      break;  // the other ways are those of the cluster as it was
    }
    // [end]
    CHECK(live.job_count() == 31);
    CHECK(live.for_each_task(berth::job_key{1}, [](const auto&) {}));
    CHECK(live.check_invariants());
  }

  TEST_CASE("docs: health") {
    machine_room room;
    berth::cluster& live = room.live;
    berth::placer<>& place = room.place;
    const berth::cluster_spec& spec = room.spec;
    room.occupy(12, 31, 8);
    printed out;
    // [health]
    const auto say = [&](std::uint32_t machines) {
      const berth::gang job{
          .groups = {{.name = "worker", .shape = {.devices = 8}, .wanted = machines, .minimum = machines}}};
      std::cout << machines << " machines: " << (place(job) ? "fits" : "does not fit") << '\n';
    };
    say(12);
    if (!live.set_device_health(berth::node_id{0}, 3, false)) return;  // one GPU: the other seven can be used
    if (!live.set_node_usable(berth::node_id{1}, false)) return;       // drained: what runs there goes on
    say(12);
    say(10);
    const berth::level_id leaf = *spec.tree.find_level("leaf");
    if (!live.set_uplink_health(leaf, berth::domain_id{0}, false)) return;  // leaf-0 still serves what fits inside it
    say(10);
    say(6);
    // [end]
    check_output("health", out.text());
  }

  TEST_CASE("docs: a broken link") {
    machine_room room;
    berth::cluster& live = room.live;
    berth::placer<>& place = room.place;
    const berth::cluster_spec& spec = room.spec;
    room.occupy(0, 1, 8);
    room.occupy(3, 31, 8);
    printed out;
    // [link]
    const berth::gang job{.groups = {{.name = "pair", .shape = {.devices = 2}}}};
    print(spec, job, place(job).where);
    if (!live.set_link_health(berth::node_id{2}, 0, 1, false)) return;
    print(spec, job, place(job).where);
    // [end]
    check_output("link", out.text());
  }

  TEST_CASE("docs: a queue") {
    machine_room room;
    berth::cluster& live = room.live;
    berth::placer<>& place = room.place;
    printed out;
    // [queue]
    const berth::gang large{.groups = {{.name = "large", .shape = {.devices = 8}, .wanted = 20, .minimum = 20}}};
    const berth::gang small{.groups = {{.name = "small", .shape = {.devices = 1}, .wanted = 4, .minimum = 4}}};
    const berth::pending_gang queue[] = {{&large, berth::job_key{1}},
                                         {&large, berth::job_key{2}},
                                         {&large, berth::job_key{3}},
                                         {&small, berth::job_key{4}}};
    const berth::batch_result result = berth::place_all(live, place, queue);
    std::cout << result.placed << " placed, " << result.refused << " refused, " << result.excused
              << " refused without looking again\n";
    // [end]
    check_output("queue", out.text());
  }

  TEST_CASE("docs: a reader on another thread") {
    machine_room room;
    berth::cluster& live = room.live;
    berth::placer<>& place = room.place;
    printed out;
    // [replica]
    const berth::gang job{.groups = {{.name = "worker", .shape = {.devices = 8}, .wanted = 6, .minimum = 6}}};
    const std::vector<berth::task_shape> shapes{job.groups[0].shape};

    berth::change_feed feed{live.nodes()};
    live.attach(&feed);               // from here on every change of `live` is published
    berth::replica mine{live, feed};  // copied while the writer stands still
    berth::placer speculate{mine.view()};
    const auto propose = [&] {  // on the reader's thread
      if (mine.catch_up() == berth::catch_up_result::rebuild) std::cout << "made anew\n";
      const auto answer = speculate(job);
      // The answer is a view into the reader's placer: copy what goes to another thread.
      return std::vector<berth::task_placement>(answer.where.tasks.begin(), answer.where.tasks.end());
    };

    auto proposal = std::async(std::launch::async, propose).get();
    if (const auto own = place(job); own && live.commit(berth::job_key{1}, own.where))
      std::cout << "the writer was first\n";
    if (!live.commit(berth::job_key{2}, {.tasks = proposal, .shapes = shapes}))
      std::cout << "conflict: propose again\n";
    proposal = std::async(std::launch::async, propose).get();
    if (live.commit(berth::job_key{2}, {.tasks = proposal, .shapes = shapes})) std::cout << "taken\n";
    live.attach(nullptr);
    // [end]
    check_output("replica", out.text());
  }
}
