#pragma once
// Racks of nodes of eight devices, jobs with labels on them, and where the tasks of an answer lie.

#include <doctest/doctest.h>

#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "berth/cluster/cluster.hpp"
#include "berth/job/label_book.hpp"
#include "berth/topology/domain_tree_builder.hpp"

namespace berth_test {

using namespace berth;
using amounts = std::vector<std::int64_t>;

inline cluster with_racks(std::uint32_t racks, std::uint32_t nodes, std::uint32_t zones = 1) {
  cluster_spec s;
  s.tree = domain_tree_builder::regular({"cluster", "zone", "rack"}, {zones, racks / zones}, nodes);
  s.shapes = {make_plain_shape("eight", 8, "m", cpus(64), gibibytes(512))};
  for (std::uint32_t n = 0; n < s.tree.node_count(); ++n)
    s.nodes.push_back({"", shape_id{0}, {}, cpus(64), gibibytes(512)});
  return cluster{s, {.jobs = 100, .tasks = 1000}};
}
inline void take(cluster& c, label_book& book, std::uint64_t key, std::vector<std::uint32_t> nodes,
                 const std::string& label, std::vector<repelled_label> repels = {}, unsigned devices = 1) {
  const task_shape shape{.devices = devices};
  std::vector<task_placement> tasks;
  std::map<std::uint32_t, device_mask> used;
  for (const std::uint32_t n : nodes) {
    const device_mask free = c.node(node_id{n}).free & ~used[n], mask = lowest_set(free, devices);
    used[n] |= mask;
    tasks.push_back({mask, node_id{n}, 0});
  }
  REQUIRE(c.commit(job_key{key}, {tasks, {&shape, 1}}));
  book.set(job_key{key}, {label}, std::move(repels));
}
inline constexpr level_id zone{1}, rack{2}, node_level{3};

inline amounts per_domain(const cluster& c, const placement& p, level_id level) {
  amounts out(level == node_level ? c.node_count() : c.tree().domain_count(level));
  for (const auto& t : p.tasks) ++out[level == node_level ? t.node.index() : c.tree().domain_of(t.node, level).index()];
  return out;
}

}  // namespace berth_test
