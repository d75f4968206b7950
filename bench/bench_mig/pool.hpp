#pragma once
/// \file
/// Nodes of eight GPUs in MIG mode in a cluster, and requests for one instance each.

#include <cstdint>
#include <string_view>
#include <vector>

#include "berth/cluster/cluster.hpp"
#include "berth/cluster/mig_view.hpp"
#include "berth/cluster/part_setup.hpp"
#include "berth/job/gang.hpp"
#include "berth/topology/domain_tree_builder.hpp"

namespace bench_mig {

inline constexpr unsigned gpus_per_node = 8;

struct pool {
  /// \param model  as in the catalogue of GPU models
  pool(std::string_view model, std::uint32_t nodes)
      : spec{machines(model, nodes)},
        parts{berth::make_part_catalogue({spec.shapes.data(), spec.shapes.size()})},
        live{spec,
             {.jobs = nodes * std::size_t{64}, .tasks = nodes * std::size_t{64}, .live_shapes = 8, .parts = &parts}} {
    for (std::uint32_t n = 0; n < nodes; ++n)
      for (unsigned d = 0; d < gpus_per_node; ++d)
        static_cast<void>(live.set_mig_switch(berth::node_id{n}, d, berth::mig_switch::on));
    const berth::mig_geometry& g = geometry();
    asked.resize(g.profiles);
    for (unsigned q = 0; q < g.profiles; ++q) {
      const std::string_view name = g.row(q).name;
      if (const auto r = berth::make_mig_request(parts, {&name, 1}))
        asked[q].groups.push_back({.shape = {.part = berth::part_need::mig(live.add_mig_request(*r))}});
    }
  }
  pool(const pool&) = delete;
  pool& operator=(const pool&) = delete;

  [[nodiscard]] const berth::mig_state_table& table() const { return parts.products[0]; }
  [[nodiscard]] const berth::mig_geometry& geometry() const { return table().geometry(); }
  [[nodiscard]] berth::mig_view view() const { return {live, 0}; }
  [[nodiscard]] unsigned compute(unsigned profile) const { return geometry().row(profile).compute; }
  /// Takes an answer as a new job.
  bool take(const berth::placement& p, unsigned profile) {
    if (!live.commit(berth::job_key{next}, p)) return false;
    ++next;
    used += compute(profile);
    return true;
  }
  void leave(std::uint64_t job, unsigned profile) {
    static_cast<void>(live.release(berth::job_key{job}));
    used -= compute(profile);
  }

  berth::cluster_spec spec;
  berth::part_catalogue parts;
  berth::cluster live;
  std::vector<berth::gang> asked;  ///< by profile
  std::uint64_t next = 1;          ///< key of the next job
  std::uint64_t used = 0;          ///< compute slices

 private:
  /// 32 nodes a leaf.
  static berth::cluster_spec machines(std::string_view model, std::uint32_t nodes) {
    using namespace berth;
    cluster_spec s;
    s.tree = nodes <= 32 ? domain_tree_builder::regular({"cluster"}, {}, nodes)
                         : domain_tree_builder::regular({"cluster", "leaf"}, {nodes / 32}, 32);
    s.shapes.push_back(make_plain_shape("node", gpus_per_node, std::string{model}, cpus(192), gibibytes(2048)));
    s.nodes.resize(nodes, {"", shape_id{0}, {}, cpus(192), gibibytes(2048)});
    return s;
  }
};

}  // namespace bench_mig
