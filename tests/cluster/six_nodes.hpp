#pragma once
// A cluster of six small nodes, and short ways to say what is done to it.

#include <cstdint>
#include <string>
#include <vector>

#include "berth/cluster/cluster.hpp"
#include "berth/topology/domain_tree_builder.hpp"

namespace six {

using namespace berth;

/// Two leaves of three nodes, four devices each; node ids 0 … 5.
inline cluster_spec six_nodes() {
  cluster_spec s;
  s.tree = domain_tree_builder::regular({"cluster", "leaf"}, {2}, 3);
  s.shapes = {make_plain_shape("quad", 4, "m", cpus(16), gibibytes(64)),
              make_plain_shape("octo", 8, "m", cpus(16), gibibytes(64))};
  for (int n = 0; n < 6; ++n) s.nodes.push_back({"n" + std::to_string(n), shape_id{0}, {}, cpus(16), gibibytes(64)});
  return s;
}
inline constexpr cluster_limits plenty{.jobs = 16, .tasks = 64};
inline const task_shape one{1, cpus(1), gibibytes(1)}, two{2, cpus(2), gibibytes(4)};
inline const level_id leaf{1};

using tasks = std::vector<task_placement>;
inline task_placement on(std::uint32_t node, device_mask devices) {
  return {devices, node_id{node}, 0};
}

inline expected<void, cluster_error> commit(cluster& c, std::uint64_t key, const task_shape& s, const tasks& t) {
  return c.commit(job_key{key}, {t, {&s, 1}});
}
inline expected<void, cluster_error> release(cluster& c, std::uint64_t key) {
  return c.release(job_key{key});
}
inline bool refused(const expected<void, cluster_error>& r, cluster_errc why) {
  return !r && r.error().code == why;
}
inline std::vector<node_state> state(const cluster& c) {
  return {c.nodes().begin(), c.nodes().end()};
}
inline std::uint64_t room(const cluster& c, const task_shape& s) {
  return c.counters(s)->capacity(0, 0);
}

}  // namespace six
