#include "bench_mig/in_cluster.hpp"

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "bench_mig/churn.hpp"
#include "berth/cluster/part_setup.hpp"
#include "berth/core/random.hpp"
#include "berth/solver/placer.hpp"
#include "berth/topology/domain_tree_builder.hpp"

namespace bench_mig {

namespace {

using namespace berth;

/// Nodes of eight H100 in MIG mode, 32 a leaf.
cluster_spec machines(std::uint32_t nodes) {
  cluster_spec s;
  s.tree = nodes <= 32 ? domain_tree_builder::regular({"cluster"}, {}, nodes)
                       : domain_tree_builder::regular({"cluster", "leaf"}, {nodes / 32}, 32);
  s.shapes.push_back(make_plain_shape("h100", 8, "h100-sxm5-80gb", cpus(192), gibibytes(2048)));
  s.nodes.resize(nodes, {"", shape_id{0}, {}, cpus(192), gibibytes(2048)});
  return s;
}

constexpr std::array<std::string_view, 5> names{"1g.10gb", "2g.20gb", "3g.40gb", "4g.40gb", "7g.80gb"};
constexpr std::array<std::uint64_t, 5> slices{1, 2, 3, 4, 7};

}  // namespace

void in_cluster(benchmark::State& state) {
  const auto nodes = static_cast<std::uint32_t>(state.range(0));
  const cluster_spec spec = machines(nodes);
  const part_catalogue parts = make_part_catalogue(spec.shapes);
  const std::size_t most = std::size_t{nodes} * 64;
  cluster c{spec, {.jobs = most, .tasks = most, .live_shapes = 8, .parts = &parts}};
  for (std::uint32_t n = 0; n < nodes; ++n)
    for (unsigned d = 0; d < 8; ++d) static_cast<void>(c.set_mig_switch(node_id{n}, d, mig_switch::on));
  std::vector<gang> asked;
  for (const std::string_view& name : names) {
    gang g;
    g.groups.push_back({.shape = {.part = part_need::mig(c.add_mig_request(*make_mig_request(parts, {&name, 1})))}});
    asked.push_back(g);
  }
  placer place{c};
  random_source random{11};
  struct job {
    std::uint64_t key, slices;
  };
  std::vector<job> live;
  live.reserve(most);
  std::uint64_t key = 0, used = 0;
  const auto request = [&] {
    const auto k = static_cast<std::size_t>(random.below(asked.size()));
    const decision d = place(asked[k]);
    if (!d || !c.commit(job_key{++key}, d.where)) return false;
    live.push_back({key, slices[k]});
    used += slices[k];
    return true;
  };
  const auto leave = [&] {
    const std::size_t i = random.below(live.size());
    static_cast<void>(c.release(job_key{live[i].key}));
    used -= live[i].slices;
    live[i] = live.back();
    live.pop_back();
  };
  churn(
      state, live, [&] { return used * 100 >= std::uint64_t{nodes} * 8 * 7 * 80; }, request, leave);
}

}  // namespace bench_mig
