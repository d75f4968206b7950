#pragma once
/// \file
/// The CSV files of Alibaba's GPU-sharing trace (openb, 2023) and of lists in its form: nodes and tasks. Columns are
/// found by their header; a few are optional. Source of the form: alibaba/clusterdata, cluster-trace-gpu-v2023.

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <numeric>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "berth/cluster/share_node.hpp"
#include "berth/core/error.hpp"
#include "berth/core/expected.hpp"
#include "berth/io/csv_table.hpp"
#include "berth/io/text.hpp"
#include "berth/io/text_file.hpp"

namespace berth {

/// Nodes by name, those without GPUs too. Models are numbered in the order of their first appearance.
struct openb_cluster {
  std::vector<std::string> names;
  std::vector<share_node> nodes;
  std::vector<std::string> models;
  std::size_t without_gpus = 0;  ///< nodes that have none; tasks without GPUs run there too

  /// GPU share of all nodes in thousandths.
  [[nodiscard]] std::uint64_t capacity() const noexcept {
    std::uint64_t sum = 0;
    for (const auto& n : nodes) sum += n.free_total();
    return sum;
  }
};

/// A task that no node could ever take, or one that is read otherwise than it may be meant.
struct openb_misfit {
  std::size_t line = 0;
  std::string task;
  std::string why;
};

/// Tasks by name.
struct openb_tasks {
  std::vector<std::string> names;
  std::vector<share_task> tasks;
  bool states_models = false;         ///< whether the list has a gpu_spec column
  std::vector<openb_misfit> misfits;  ///< tasks that fit no empty node, in the order of the file
  std::vector<openb_misfit> remarks;  ///< tasks of which something does not count, in the order of the file
};

namespace openb_detail {

inline constexpr std::int64_t max_cpu_millis = 1'000'000'000;
inline constexpr std::int64_t max_memory_mib = std::int64_t{1} << 32;

/// A whole number from 0 to `most`.
[[nodiscard]] inline expected<std::int64_t, input_error> amount(const io_text::csv_table& t, std::size_t column,
                                                                std::int64_t most) {
  const auto v = t.count(column, 0, static_cast<std::uint64_t>(most));
  if (!v) return unexpected{v.error()};
  return static_cast<std::int64_t>(*v);
}

/// Order of names; errors for a name that comes twice.
[[nodiscard]] inline expected<std::vector<std::uint32_t>, input_error> by_name(const std::vector<std::string>& names,
                                                                               const std::vector<std::size_t>& lines,
                                                                               const std::string& source) {
  std::vector<std::uint32_t> order(names.size());
  std::iota(order.begin(), order.end(), 0U);
  std::sort(order.begin(), order.end(),
            [&](std::uint32_t a, std::uint32_t b) { return names[a] != names[b] ? names[a] < names[b] : a < b; });
  for (std::size_t i = 1; i < order.size(); ++i)
    if (names[order[i]] == names[order[i - 1]])
      return unexpected{input_error{source, lines[order[i]], "name " + io_text::quoted(names[order[i]]) + " again",
                                    "each name once (first on line " + std::to_string(lines[order[i - 1]]) + ")"}};
  return order;
}

}  // namespace openb_detail

/// Reads a node list: sn, cpu_milli, memory_mib, gpu, model. O(bytes + n log n).
[[nodiscard]] inline expected<openb_cluster, input_error> read_openb_nodes(const named_text& file) {
  io_text::csv_table t{file};
  if (auto ok = t.read_header({"sn", "cpu_milli", "memory_mib", "gpu", "model"}); !ok)
    return unexpected{std::move(ok).error()};
  const std::size_t sn = *t.column("sn"), cpu_at = *t.column("cpu_milli"), memory_at = *t.column("memory_mib"),
                    gpus_at = *t.column("gpu"), model_at = *t.column("model");
  openb_cluster all;
  std::vector<std::size_t> lines;
  for (;;) {
    const auto more = t.next();
    if (!more) return unexpected{more.error()};
    if (!*more) break;
    const auto cpu = openb_detail::amount(t, cpu_at, openb_detail::max_cpu_millis);
    const auto memory = openb_detail::amount(t, memory_at, openb_detail::max_memory_mib);
    const auto gpus = openb_detail::amount(t, gpus_at, max_shared_devices);
    for (const auto* v : {&cpu, &memory, &gpus})
      if (!*v) return unexpected{v->error()};
    if (t.cell(sn).empty()) return unexpected{t.error("no name", "a name in column sn")};
    std::size_t m = no_device_model;
    if (*gpus == 0) {
      ++all.without_gpus;
    } else {
      const std::string& model = t.cell(model_at);
      if (model.empty()) return unexpected{t.error("GPUs without a model", "a GPU type in column model")};
      for (m = 0; m < all.models.size() && all.models[m] != model;) ++m;
      if (m == all.models.size()) {
        if (m == no_device_model)
          return unexpected{t.error("one GPU type more", "at most " + std::to_string(no_device_model) + " GPU types")};
        all.models.push_back(model);
      }
    }
    share_node n;
    n.cpu = cpu_millis{*cpu};
    n.memory = mebibytes(*memory);
    n.devices = static_cast<std::uint8_t>(*gpus);
    n.model = static_cast<std::uint8_t>(m);
    for (unsigned g = 0; g < n.devices; ++g) n.free[g] = whole_device;
    all.names.emplace_back(t.cell(sn));
    all.nodes.push_back(n);
    lines.push_back(t.line());
  }
  if (all.models.empty()) return unexpected{input_error{file.name, 0, "no node with GPUs", "at least one"}};
  const auto order = openb_detail::by_name(all.names, lines, file.name);
  if (!order) return unexpected{order.error()};
  openb_cluster out;
  out.models = std::move(all.models);
  out.without_gpus = all.without_gpus;
  for (const auto i : *order) {
    out.names.push_back(std::move(all.names[i]));
    out.nodes.push_back(all.nodes[i]);
  }
  return out;
}

/// Reads a task list: name, cpu_milli, memory_mib, num_gpu, gpu_milli and, where there, gpu_spec (GPU types with `|`
/// between). For several GPUs each counts as whole; a remark where gpu_milli says otherwise. Types that the cluster
/// does not have do not count, with a remark; where no type is left, or no empty node has the amounts, the task is a
/// misfit: it arrives and is refused like any other. O(bytes + n log n).
[[nodiscard]] inline expected<openb_tasks, input_error> read_openb_tasks(const named_text& file,
                                                                         const openb_cluster& cluster) {
  io_text::csv_table t{file};
  if (auto ok = t.read_header({"name", "cpu_milli", "memory_mib", "num_gpu", "gpu_milli"}); !ok)
    return unexpected{std::move(ok).error()};
  const std::size_t name_at = *t.column("name"), cpu_at = *t.column("cpu_milli"), memory_at = *t.column("memory_mib"),
                    gpus_at = *t.column("num_gpu"), share_at = *t.column("gpu_milli");
  const auto spec_at = t.column("gpu_spec");
  // Equal empty nodes are looked at once.
  std::vector<share_node> kinds;
  for (const auto& n : cluster.nodes)
    if (std::find(kinds.begin(), kinds.end(), n) == kinds.end()) kinds.push_back(n);

  openb_tasks all;
  all.states_models = spec_at.has_value();
  std::vector<std::size_t> lines;
  for (;;) {
    const auto more = t.next();
    if (!more) return unexpected{more.error()};
    if (!*more) break;
    const auto cpu = openb_detail::amount(t, cpu_at, openb_detail::max_cpu_millis);
    const auto memory = openb_detail::amount(t, memory_at, openb_detail::max_memory_mib);
    const auto gpus = openb_detail::amount(t, gpus_at, max_shared_devices);
    const auto share = openb_detail::amount(t, share_at, whole_device);
    for (const auto* v : {&cpu, &memory, &gpus, &share})
      if (!*v) return unexpected{v->error()};
    if (t.cell(name_at).empty()) return unexpected{t.error("no name", "a name in column name")};
    if (*gpus != 0 && *share == 0)
      return unexpected{t.error("num_gpu " + std::to_string(*gpus) + " with gpu_milli 0", "a share from 1 to 1000")};
    if (*gpus == 0 && *share != 0)
      return unexpected{t.error("num_gpu 0 with gpu_milli " + std::to_string(*share), "gpu_milli 0")};
    share_task task;
    task.cpu = cpu_millis{*cpu};
    task.memory = mebibytes(*memory);
    task.devices = static_cast<std::uint8_t>(*gpus);
    task.share = *gpus == 0 ? std::uint16_t{0} : *gpus > 1 ? whole_device : static_cast<std::uint16_t>(*share);
    const std::string& name = t.cell(name_at);
    std::string unknown;
    if (spec_at && !t.cell(*spec_at).empty() && task.devices != 0) {
      task.models = 0;
      std::string_view rest = t.cell(*spec_at);
      for (;;) {
        const std::size_t bar = rest.find('|');
        const std::string_view word = io_text::trim(rest.substr(0, bar));
        if (word.empty())
          return unexpected{t.error("gpu_spec " + io_text::quoted(t.cell(*spec_at)), "GPU types with | between")};
        const auto m = std::find(cluster.models.begin(), cluster.models.end(), word);
        if (m == cluster.models.end()) unknown = std::string{word};
        else task.models |= bit(static_cast<unsigned>(m - cluster.models.begin()));
        if (bar == std::string_view::npos) break;
        rest.remove_prefix(bar + 1);
      }
    }
    if (*gpus > 1 && *share != whole_device)
      all.remarks.push_back({t.line(), name, "several GPUs count as whole ones, not as " + t.cell(share_at)});
    if (!unknown.empty() && task.models != 0)
      all.remarks.push_back({t.line(), name, "no node has GPUs of type " + io_text::quoted(unknown)});
    if (std::none_of(kinds.begin(), kinds.end(), [&](const share_node& n) { return fits(n, task); }))
      all.misfits.push_back({t.line(), name,
                             task.models == 0 ? "no node has GPUs of type " + io_text::quoted(unknown)
                                              : std::string{"no empty node has what it asks for"}});
    all.names.push_back(name);
    all.tasks.push_back(task);
    lines.push_back(t.line());
  }
  if (all.tasks.empty()) return unexpected{input_error{file.name, 0, "no task", "at least one"}};
  const auto order = openb_detail::by_name(all.names, lines, file.name);
  if (!order) return unexpected{order.error()};
  openb_tasks out;
  out.states_models = all.states_models;
  out.misfits = std::move(all.misfits);
  out.remarks = std::move(all.remarks);
  for (const auto i : *order) {
    out.names.push_back(std::move(all.names[i]));
    out.tasks.push_back(all.tasks[i]);
  }
  return out;
}

}  // namespace berth
