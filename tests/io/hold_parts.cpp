/// \file
/// Running work that holds parts of GPUs: read from occupancy files, put where they say, or where there is room.

#include "berth/io/hold_parts.hpp"

#include <doctest/doctest.h>

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "berth/core/random.hpp"
#include "berth/io/slurm/parts_used.hpp"
#include "berth/topology/domain_tree_builder.hpp"
#include "io/broken_text.hpp"

namespace {

using namespace berth;

cluster_spec machines() {
  cluster_spec s;
  s.tree = domain_tree_builder::regular({"cluster"}, {}, 4);
  s.shapes.push_back(make_plain_shape("h100", 2, "h100-sxm5-80gb", cpus(64), gibibytes(512)));
  s.shapes.push_back(make_plain_shape("v100", 2, "v100-sxm2-32gb", cpus(64), gibibytes(512)));
  for (std::uint32_t n = 0; n < 4; ++n)
    s.nodes.push_back({"n" + std::to_string(n),
                       shape_id{n == 3 ? std::uint16_t{1} : std::uint16_t{0}},
                       {},
                       cpus(64),
                       gibibytes(512)});
  return s;
}

struct site {
  cluster_spec spec{machines()};
  part_catalogue parts;
  cluster live;
  user_names users;
  explicit site(bool nests = false)
      : parts{cut_up(make_part_catalogue({spec.shapes.data(), spec.shapes.size()}), nests)},
        live{spec, {.jobs = 50, .tasks = 500, .parts = &parts}} {}
  static part_catalogue cut_up(part_catalogue c, bool nests) {
    if (!nests) return c;
    c.inside.resize(c.products.size());
    for (unsigned q = 0; q < c.products[0].geometry().profiles; ++q)
      c.inside[0].push_back({9000, 1000, 6, true, false});
    return c;
  }

  /// "" where the text is read and held, else what is wrong; nothing is held then.
  std::string hold(const std::string& text) {
    const auto lines = read_occupancy({"jobs", text});
    if (!lines) return lines.error().message();
    const auto use = resolve_occupancy(*lines, spec);
    if (!use) return use.error().message();
    return hold(*use);
  }
  std::string hold(const occupied_cluster& use) {
    switch_split_devices(live, use);
    const auto plan = plan_holdings(live, use, spec, users);
    if (!plan) {
      CHECK(live.job_count() == 0);
      return plan.error().message();
    }
    const auto done = commit_holdings(live, plan->jobs, [](std::size_t j) { return job_key{j}; });
    CHECK(live.check_invariants());
    return done ? "" : "job " + std::to_string(done.error()) + " does not fit";
  }
  /// What a device is used as: "1g.10gb@5 2g.20gb@0", "3 shares 600 24467", "whole", "free".
  std::string device(std::uint32_t n, unsigned d) const {
    const auto& p = live.inside().parts();
    const auto& u = p.use(n, d);
    if ((p.masks(n).shared & bit(d)) != 0)
      return std::to_string(u.clients) + " shares " + std::to_string(u.thousandths) + " " +
             std::to_string(u.memory_mib);
    if ((p.masks(n).mig & bit(d)) != 0) {
      std::string out;
      const mig_geometry& g = p.product(p.limits(live.node(node_id{n}).node_class, d).product).geometry();
      for_each_bit(u.instances, [&](unsigned at) {
        out += (out.empty() ? "" : " ") + std::string{g.row(g.placement[at].profile).name} + "@" +
               std::to_string(g.placement[at].start);
        for (unsigned k = 0; k < max_task_instances && p.shared_instances(n, d) != nullptr; ++k)
          if (const auto& s = p.shared_instances(n, d)[k]; s.clients != 0 && s.placement == at)
            out += "(" + std::to_string(s.clients) + " " + std::to_string(s.memory_mib) + ")";
      });
      return out.empty() ? "MIG" : out;
    }
    return (live.node(node_id{n}).held & bit(d)) != 0 ? "whole" : "free";
  }
};

bool contains(const std::string& s, const std::string& what) {
  return s.find(what) != std::string::npos;
}

}  // namespace

TEST_SUITE("io/hold_parts") {
  TEST_CASE("instances and shares lie where the file says, and where it does not, where there is room") {
    struct row {
      const char *text, *zero, *one;  // node n0: its two GPUs
    };
    for (const row& r : {
             row{"a n0 0:3g.40gb@4,0:1g.10gb@0 cpus=4", "1g.10gb@0 3g.40gb@4", "free"},
             // Starts that are open make way for those that are stated, whatever the order of the lines.
             row{"a n0 0:3g.40gb\nb n0 0:4g.40gb@0", "3g.40gb@4 4g.40gb@0", "free"},
             row{"a n0 *:1g.10gb,*:7g.80gb", "7g.80gb@0", "1g.10gb@6"},
             // Six 1g do not leave a place for a 3g on the GPU unless one thinks ahead.
             row{"a n0 0:1g.10gb\nb n0 0:1g.10gb,0:1g.10gb,0:1g.10gb\nc n0 0:3g.40gb",
                 "1g.10gb@0 1g.10gb@1 1g.10gb@2 1g.10gb@3 3g.40gb@4", "free"},
             row{"a n0 1\nb n0 *:2g.20gb", "2g.20gb@0", "whole"},
             row{"a n0 0-1 share=0.5\nb n0 0 gpu_memory_mib=1000 gpu_cores=10", "2 shares 600 41779",
                 "1 shares 500 40779"},
             // Shares go together while they fit.
             row{"a n0 * share=0.5\nb n0 * share=0.4\nc n0 * share=0.3", "2 shares 900 73402", "1 shares 300 24467"},
         }) {
      site s;
      CHECK_MESSAGE(s.hold(r.text) == "", r.text);
      CHECK_MESSAGE(s.device(0, 0) == r.zero, r.text);
      CHECK_MESSAGE(s.device(0, 1) == r.one, r.text);
    }
  }

  TEST_CASE("what cannot be is refused with file and line, and nothing is held") {
    struct row {
      const char *text, *fault;
    };
    for (const row& r : {
             row{"a n0 0:3g.40gb@4\nb n0 0:4g.40gb@0\nc n0 0:1g.10gb@6",
                 "jobs:3: found MIG instance 1g.10gb@6 on GPU 0 of node n0, expected instances that may lie beside "
                 "each other"},
             row{"a n0 0:3g.40gb@1",
                 "jobs:1: found MIG instance 3g.40gb@1 on GPU 0 of node n0, expected a start at which instances of "
                 "this profile may lie: 0, 4"},
             row{"a n0 0:9g.99gb", "jobs:1: found"},
             row{"\na n3 0:1g.10gb@0",
                 "jobs:2: found MIG instance 1g.10gb@0 on GPU 0 of node n3, expected a GPU that is known to have MIG"},
             row{"a n0 *:7g.80gb,*:7g.80gb\nb n0 *:7g.80gb",
                 "expected parts that fit on the GPUs of the node together"},
             row{"a n0 0\nb n0 0:1g.10gb", "jobs:2: found device 0 on node n0 held whole and in parts"},
             row{"a n0 0 share=0.6\nb n0 0 share=0.5",
                 "jobs:2: found a share of GPU 0 of node n0, expected shares that fit"},
             row{"a n0 0 gpu_memory_mib=50000\nb n0 0 gpu_memory_mib=50000", "jobs:2"},
             row{"a n0 0 share=0.6\nb n0 0:1g.10gb@0", "jobs:2"},
             row{"a n0 2:1g.10gb", "jobs:1: found device 2 on node n0, expected devices 0 to 1"},
             row{"a n0 0:1g.10gb@0 gpu_cores=20",
                 "jobs:1: found a share of MIG instance 1g.10gb@0 on GPU 0 of node n0"},
             row{"a n0 0:1g.10gb,1", "jobs:1: found devices '0:1g.10gb,1', expected instances such as"},
             row{"a n0 0:@3", "jobs:1: found devices '0:@3'"},
             row{"a n0 *", "jobs:1: found devices '*' without a share"},
             row{"a n0 - share=0.5", "jobs:1: found a share without GPUs"},
             row{"a n0 0 share=0.5 gpu_cores=20", "one way to say it"},
             row{"a n0 0 share=1.5", "'share=1.5'"},
             row{"a n0 0 user=x", "user=NAME beside a share"},
             row{"!unhealthy n0 0:1g.10gb", "a line of their own"},
             row{"a n0 0:1g.10gb host-rate=3GB/s", "a line of their own"},
         }) {
      site s;
      const std::string fault = s.hold(r.text);
      CHECK_MESSAGE(contains(fault, r.fault), r.text << ": " << fault);
      CHECK(s.live.job_count() == 0);
    }
  }

  TEST_CASE("a part on a GPU that the node has not is refused, whoever reports it") {
    occupied_cluster use;
    use.jobs = {"a"};
    occupied_share share;
    share.node = node_id{0};
    share.place = {"pods", 7};
    share.parts.push_back({"1g.10gb", 40, 0, {}, {}});
    use.held.push_back(share);
    site s;
    CHECK(contains(s.hold(use), "pods:7: found MIG instance 1g.10gb@0 on GPU 40 of node n0"));
  }

  TEST_CASE("clients of one user share an instance; those of another one get one of their own") {
    site s{true};
    CHECK(s.hold("a n0 0:1g.10gb@3 gpu_memory_mib=3000 gpu_cores=30 user=ann\nb n0 0:1g.10gb gpu_memory_mib=3000 "
                 "gpu_cores=30 user=ann\nc n0 0:1g.10gb gpu_memory_mib=3000 gpu_cores=30 user=bob\n") == "");
    CHECK(s.device(0, 0) == "1g.10gb@3(2 6000) 1g.10gb@6(1 3000)");
    CHECK(s.users.names == std::vector<std::string>{"ann", "bob"});
    site t{true};
    CHECK(contains(t.hold("a n0 0:7g.80gb@0 gpu_cores=30 user=ann\nb n0 0:7g.80gb@0 gpu_cores=30 user=bob"), "jobs:2"));
  }

  TEST_CASE(
      "GPUs that MIG has split take instances and nothing else, or are held whole where their product is not known") {
    occupied_cluster use;
    use.jobs = {"split", "pod"};
    use.held.push_back({0, node_id{0}, 1, {}, {}, {}, {}, true, {"f", 1}});
    use.held.push_back({0, node_id{3}, 2, {}, {}, {}, {}, true, {"f", 2}});
    held_part p;
    p.profile = "1g.10gb";
    use.held.push_back({1, node_id{0}, 0, cpus(2), {}, {}, {p, p}, false, {"f", 3}});
    use.held.push_back({1, node_id{3}, 0, {}, {}, {}, {p}, false, {"f", 4}});
    site s;
    CHECK(s.hold(use) == "");
    CHECK(s.device(0, 0) == "1g.10gb@5 1g.10gb@6");
    CHECK(s.device(3, 1) == "whole");
    CHECK(s.live.release(job_key{1}));
    CHECK(s.device(0, 0) == "MIG");
  }

  TEST_CASE("GresUsed tells MIG devices by type, and shards by GPU or by number") {
    const auto parts = [](const char* used, const char* gres, std::uint64_t gpus) {
      const auto r = slurm_detail::parts_used(used, gres, gpus, [](std::string found, std::string wanted) {
        return input_error{"f", 1, std::move(found), std::move(wanted)};
      });
      if (!r) return r.error().message();
      std::string out;
      for (const held_part& p : *r)
        out += held_part_text(p) + (p.share ? "/" + std::to_string(p.share->thousandths) : "") + " ";
      return out;
    };
    CHECK(parts("gpu:a100_1g.5gb:2(IDX:0,3),gpu:a100:1(IDX:0)", "gpu:a100:2,gpu:a100_1g.5gb:7", 2) ==
          "*:1g.5gb *:1g.5gb ");
    CHECK(parts("gpu:0,shard:12(8/8,4/8)", "gpu:2,shard:16", 2) == "0/1000 1/500 ");
    CHECK(parts("shard:3", "gpu:2,shard:16", 2) == "*/125 */125 */125 ");
    CHECK(parts("shard:0(0/8)", "gpu:1,shard:8", 1) == "");
    CHECK(parts("(null)", "", 0) == "");
    CHECK(contains(parts("shard:900000", "shard:900000", 1), "at most 4096"));
  }

  TEST_CASE("mutated occupancies are held or refused with words, and what is held is what the cluster can count") {
    const std::string seed =
        "a n0 0:3g.40gb@4,0:1g.10gb cpus=4\nb n0 1 share=0.5\nc n1 *:2g.20gb,*:2g.20gb,*:1g.10gb\n"
        "d n2 0:1g.10gb@6 gpu_cores=30 gpu_memory_mib=2000 user=ann\ne n1 * gpu_memory_mib=9000\nf n[2-3] 1\n";
    const std::vector<std::string_view> words{"0:1g.10gb@5", "*:7g.80gb", ",",         "@",
                                              ":",           "*",         "share=0.3", "user=bob",
                                              "1:3g.40gb",   "n0 ",       "g n1 0 ",   "gpu_cores=60"};
    random_source rng{3};
    int held = 0, refused = 0;
    for (int i = 0; i < 400; ++i) {
      site s{true};
      const std::string fault = s.hold(broken::mutated(seed, words, rng));
      (fault.empty() ? held : refused) += 1;
      if (!fault.empty()) CHECK(s.live.job_count() == 0);
    }
    CHECK(held > 20);
    CHECK(refused > 20);
  }
}
