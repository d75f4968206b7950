#pragma once
/// \file
/// Clusters at 85 % after churn, for `bench_place`.
///
/// Nodes of 8 GPUs (HGX H100), 32 nodes a leaf, 32 leaves a spine. Of the GPUs 85 % are held: half of the nodes by
/// gangs of the size under test, the others by jobs of one node, after three times as many random releases and new
/// placements as there are jobs. About 12 % of the nodes are wholly free; 6 % are broken into by single-GPU jobs that
/// leave 1 to 7 GPUs free, equally likely.

#include <cstdint>
#include <cstdlib>
#include <memory>
#include <string>
#include <vector>

#include "berth/cluster/cluster.hpp"
#include "berth/core/random.hpp"
#include "berth/job/gang.hpp"
#include "berth/policy/node_fit.hpp"
#include "berth/solver/placer.hpp"
#include "berth/topology/catalogue/node_shapes.hpp"
#include "berth/topology/domain_tree_builder.hpp"

namespace bench {

enum class scenario : std::uint8_t {
  whole_nodes,  ///< gangs of whole nodes
  single_gpu,   ///< one GPU
  no_fit,       ///< whole nodes, but every free node lacks CPU
  constrained,  ///< whole nodes, 40 node classes, 10 of them admitted, CPU and memory asked for
};

inline berth::gang make_gang(std::uint32_t tasks, const berth::task_shape& shape) {
  berth::gang g;
  g.groups.push_back({"worker", shape, tasks, tasks});
  return g;
}

inline berth::cluster_spec make_spec(std::uint32_t nodes, std::uint32_t classes) {
  berth::cluster_spec spec;
  const std::uint32_t leaves = nodes / 32, spines = leaves / 32;
  spec.tree = berth::domain_tree_builder::regular({"cluster", "spine", "leaf"}, {spines, 32}, 32, false);
  spec.shapes.push_back(*berth::catalogue_shape("dgx-h100"));
  spec.nodes.resize(nodes);
  for (std::uint32_t n = 0; n < nodes; ++n) {
    spec.nodes[n].shape = berth::shape_id{0};
    spec.nodes[n].cpu = berth::cpus(224);
    spec.nodes[n].memory = berth::gibibytes(2048);
    if (classes > 1) spec.nodes[n].labels = {"pool=" + std::to_string(n / 32 * 7 % classes)};
  }
  return spec;
}

struct fixture {
  berth::cluster c;
  berth::placer<> place;
  berth::random_source random{42};
  std::vector<berth::job_key> standing;  ///< gangs of the size under test (or single-GPU jobs)
  std::vector<std::vector<std::uint32_t>> standing_nodes;
  std::uint64_t next_key = 1;
  berth::gang request;

  fixture(scenario what, std::uint32_t nodes, std::uint32_t gang_nodes)
      : c{make_spec(nodes, what == scenario::constrained ? 40 : 1), {nodes + nodes / 2, nodes + nodes / 2, 8, 1024}},
        place{c} {
    const berth::task_shape whole{8, berth::cpus(192), berth::gibibytes(1024)};
    berth::task_shape asked = whole;
    if (what == scenario::constrained) {
      berth::node_filter f;
      for (int i = 0; i < 10; ++i) f.any_of.push_back("pool=" + std::to_string(i * 4));
      asked.filter = c.add_filter(f);
    }
    if (what == scenario::single_gpu) asked = {1, berth::cpus(8), berth::gibibytes(64)};
    request = make_gang(what == scenario::single_gpu ? 1 : gang_nodes, asked);

    // Fill: gangs on half of the nodes they may use, jobs of one node on the rest, up to 82 % of each pool.
    const bool singles = what == scenario::single_gpu;
    const bool pools = what == scenario::constrained;
    std::vector<berth::job_key> background;
    berth::gang inside = make_gang(1, whole), outside = inside;
    if (pools) {
      inside.groups[0].shape.filter = asked.filter;
      berth::node_filter others;
      others.none_of = c.filter(asked.filter).any_of;
      outside.groups[0].shape.filter = c.add_filter(others);
    }
    const std::uint32_t target = nodes / 100 * 82;
    const std::uint32_t target_inside = pools ? target / 4 : target;
    std::uint32_t held = 0;
    if (!singles)
      while (held + gang_nodes <= target_inside / 2 && add(request, standing)) held += gang_nodes;
    while (held < target_inside && add(inside, background)) ++held;
    const std::size_t inside_jobs = background.size();
    while (held < target && add(outside, background)) ++held;
    const std::size_t rounds = 3 * (standing.size() + background.size());
    for (std::size_t i = 0; i < rounds; ++i) {
      if (!standing.empty() && random.below(2) == 0) {
        drop(standing);
        add(request, standing);
      } else {
        const std::size_t pick = random.below(background.size());
        const berth::gang& g = pick < inside_jobs ? inside : outside;
        static_cast<void>(c.release(background[pick]));
        const berth::decision d = place(g);
        background[pick] = berth::job_key{next_key++};
        if (!d || !c.commit(background[pick], d.where)) std::abort();  // what was just released fits again
      }
    }
    // Break nodes: one job of a node makes room for jobs of one GPU.
    const berth::task_shape gpu{1, berth::cpus(8), berth::gibibytes(64)};
    std::vector<berth::job_key> small;
    for (std::uint32_t i = 0; i < nodes / 100 * 6; ++i) {
      berth::node_id at{};
      const std::size_t pick = random.below(background.size());
      c.for_each_task(background[pick], [&](const berth::committed_task& t) { at = t.node; });
      drop_at(background, pick);
      const auto keep = static_cast<unsigned>(random.between(1, 7));
      for (unsigned d = 0; d < keep; ++d) {
        const berth::task_placement t{berth::bit(d), at, 0};
        const berth::job_key key{next_key++};
        if (c.commit(key, {{&t, 1}, {&gpu, 1}})) small.push_back(key);
      }
    }
    if (singles) standing = small;
    // Jobs without GPUs on every free node: what is left of the CPUs is too little for the gang.
    if (what == scenario::no_fit) {
      const berth::task_shape cpu_only{0, berth::cpus(64), berth::gibibytes(1)};
      for (std::uint32_t n = 0; n < nodes; ++n) {
        if (berth::count_bits(c.node(berth::node_id{n}).free) != 8) continue;
        const berth::task_placement t{0, berth::node_id{n}, 0};
        static_cast<void>(c.commit(berth::job_key{next_key++}, {{&t, 1}, {&cpu_only, 1}}));
      }
    }
  }

  bool add(const berth::gang& g, std::vector<berth::job_key>& list) {
    const berth::decision d = place(g);
    if (!d) return false;
    const berth::job_key key{next_key++};
    if (!c.commit(key, d.where)) return false;
    list.push_back(key);
    return true;
  }
  void drop(std::vector<berth::job_key>& list) {
    if (!list.empty()) drop_at(list, random.below(list.size()));
  }
  void drop_at(std::vector<berth::job_key>& list, std::size_t i) {
    static_cast<void>(c.release(list[i]));
    list[i] = list.back();
    list.pop_back();
  }
};

}  // namespace bench
