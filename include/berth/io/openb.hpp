#pragma once
/// \file
/// The CSV files of Alibaba's GPU-sharing trace (openb, 2023) and of lists in its form: nodes and tasks. Columns are
/// found by their header; a few are optional. Source of the form: alibaba/clusterdata, cluster-trace-gpu-v2023.

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <numeric>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "berth/cluster/share_node.hpp"
#include "berth/core/error.hpp"
#include "berth/core/expected.hpp"
#include "berth/io/csv.hpp"
#include "berth/io/text.hpp"
#include "berth/io/text_file.hpp"
#include "berth/io/text_lines.hpp"

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

/// A CSV table by column.
class table {
 public:
  table(const named_text& file) : lines_{file}, source_{file.name} {}

  [[nodiscard]] expected<void, input_error> read_header(std::initializer_list<std::string_view> required) {
    if (!next_line()) return unexpected{fault("no line", "a header such as " + join(required))};
    if (auto ok = split(); !ok) return ok;
    for (const auto& f : fields_) {
      header_.push_back(f);
      for (std::size_t i = 0; i + 1 < header_.size(); ++i)
        if (header_[i] == header_.back())
          return unexpected{lines_.error("two columns " + io_text::quoted(header_.back()), "each column once")};
    }
    for (const auto r : required)
      if (!column(r)) return unexpected{lines_.error("no column " + io_text::quoted(r), "columns " + join(required))};
    return {};
  }
  [[nodiscard]] bool has(std::string_view name) const { return column(name).has_value(); }
  /// Goes to the next row; false at the end, or at a fault.
  [[nodiscard]] expected<bool, input_error> next() {
    while (next_line()) {
      if (io_text::trim(lines_.line()).empty()) continue;
      if (auto ok = split(); !ok) return unexpected{std::move(ok).error()};
      if (fields_.size() != header_.size())
        return unexpected{lines_.error(io_text::counted(fields_.size(), "field"),
                                       std::to_string(header_.size()) + " as in the header")};
      return true;
    }
    if (lines_.fault()) return unexpected{*lines_.fault()};
    return false;
  }
  /// \pre the column is there
  [[nodiscard]] std::string_view text(std::string_view name) const { return fields_[*column(name)]; }
  [[nodiscard]] expected<std::int64_t, input_error> count(std::string_view name, std::int64_t most) const {
    const auto value = io_text::parse_count(text(name), static_cast<std::uint64_t>(most));
    if (!value)
      return unexpected{lines_.error(std::string{name} + " " + io_text::quoted(text(name)),
                                     "a whole number from 0 to " + std::to_string(most))};
    return static_cast<std::int64_t>(*value);
  }
  [[nodiscard]] input_error error(std::string found, std::string expected_text) const {
    return lines_.error(std::move(found), std::move(expected_text));
  }
  [[nodiscard]] std::size_t line() const noexcept { return lines_.number(); }

 private:
  [[nodiscard]] bool next_line() { return lines_.next(); }
  [[nodiscard]] expected<void, input_error> split() {
    auto cells = quoted_csv_cells(lines_.line());
    if (!cells)
      return unexpected{lines_.error("a quote that does not end with its field",
                                     "fields without quotes, or wholly in quotes with \"\" for one inside")};
    fields_ = std::move(*cells);
    return {};
  }
  [[nodiscard]] input_error fault(std::string found, std::string expected_text) const {
    return lines_.fault() ? *lines_.fault() : input_error{source_, 0, std::move(found), std::move(expected_text)};
  }
  [[nodiscard]] std::optional<std::size_t> column(std::string_view name) const {
    for (std::size_t i = 0; i < header_.size(); ++i)
      if (header_[i] == name) return i;
    return std::nullopt;
  }
  [[nodiscard]] static std::string join(std::initializer_list<std::string_view> words) {
    std::string out;
    for (const auto w : words) {
      if (!out.empty()) out += ',';
      out += w;
    }
    return out;
  }
  io_text::line_cursor lines_;
  std::string source_;
  std::vector<std::string> header_;
  std::vector<std::string> fields_;
};

inline constexpr std::int64_t max_cpu_millis = 1'000'000'000;
inline constexpr std::int64_t max_memory_mib = std::int64_t{1} << 32;

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
  openb_detail::table t{file};
  if (auto ok = t.read_header({"sn", "cpu_milli", "memory_mib", "gpu", "model"}); !ok)
    return unexpected{std::move(ok).error()};
  openb_cluster all;
  std::vector<std::size_t> lines;
  for (;;) {
    const auto more = t.next();
    if (!more) return unexpected{more.error()};
    if (!*more) break;
    const auto cpu = t.count("cpu_milli", openb_detail::max_cpu_millis);
    const auto memory = t.count("memory_mib", openb_detail::max_memory_mib);
    const auto gpus = t.count("gpu", max_shared_devices);
    for (const auto* v : {&cpu, &memory, &gpus})
      if (!*v) return unexpected{v->error()};
    if (t.text("sn").empty()) return unexpected{t.error("no name", "a name in column sn")};
    std::size_t m = 0;
    if (*gpus == 0) {
      ++all.without_gpus;
    } else {
      const std::string model{t.text("model")};
      if (model.empty()) return unexpected{t.error("GPUs without a model", "a GPU type in column model")};
      while (m < all.models.size() && all.models[m] != model) ++m;
      if (m == all.models.size()) {
        if (m == max_device_models)
          return unexpected{
              t.error("one GPU type more", "at most " + std::to_string(max_device_models) + " GPU types")};
        all.models.push_back(model);
      }
    }
    share_node n;
    n.cpu = cpu_millis{*cpu};
    n.memory = mebibytes(*memory);
    n.devices = static_cast<std::uint8_t>(*gpus);
    n.model = static_cast<std::uint8_t>(m);
    for (unsigned g = 0; g < n.devices; ++g) n.free[g] = whole_device;
    all.names.emplace_back(t.text("sn"));
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
  openb_detail::table t{file};
  if (auto ok = t.read_header({"name", "cpu_milli", "memory_mib", "num_gpu", "gpu_milli"}); !ok)
    return unexpected{std::move(ok).error()};
  // Equal empty nodes are looked at once.
  std::vector<share_node> kinds;
  for (const auto& n : cluster.nodes)
    if (std::find(kinds.begin(), kinds.end(), n) == kinds.end()) kinds.push_back(n);

  openb_tasks all;
  all.states_models = t.has("gpu_spec");
  std::vector<std::size_t> lines;
  for (;;) {
    const auto more = t.next();
    if (!more) return unexpected{more.error()};
    if (!*more) break;
    const auto cpu = t.count("cpu_milli", openb_detail::max_cpu_millis);
    const auto memory = t.count("memory_mib", openb_detail::max_memory_mib);
    const auto gpus = t.count("num_gpu", max_shared_devices);
    const auto share = t.count("gpu_milli", whole_device);
    for (const auto* v : {&cpu, &memory, &gpus, &share})
      if (!*v) return unexpected{v->error()};
    if (t.text("name").empty()) return unexpected{t.error("no name", "a name in column name")};
    if (*gpus != 0 && *share == 0)
      return unexpected{t.error("num_gpu " + std::to_string(*gpus) + " with gpu_milli 0", "a share from 1 to 1000")};
    if (*gpus == 0 && *share != 0)
      return unexpected{t.error("num_gpu 0 with gpu_milli " + std::to_string(*share), "gpu_milli 0")};
    share_task task;
    task.cpu = cpu_millis{*cpu};
    task.memory = mebibytes(*memory);
    task.devices = static_cast<std::uint8_t>(*gpus);
    task.share = *gpus == 0 ? std::uint16_t{0} : *gpus > 1 ? whole_device : static_cast<std::uint16_t>(*share);
    const std::string name{t.text("name")};
    std::string unknown;
    if (all.states_models && !t.text("gpu_spec").empty() && task.devices != 0) {
      task.models = 0;
      std::string_view rest = t.text("gpu_spec");
      for (;;) {
        const std::size_t bar = rest.find('|');
        const std::string_view word = io_text::trim(rest.substr(0, bar));
        if (word.empty())
          return unexpected{t.error("gpu_spec " + io_text::quoted(t.text("gpu_spec")), "GPU types with | between")};
        const auto m = std::find(cluster.models.begin(), cluster.models.end(), word);
        if (m == cluster.models.end()) unknown = std::string{word};
        else task.models |= bit(static_cast<unsigned>(m - cluster.models.begin()));
        if (bar == std::string_view::npos) break;
        rest.remove_prefix(bar + 1);
      }
    }
    if (*gpus > 1 && *share != whole_device)
      all.remarks.push_back(
          {t.line(), name, "several GPUs count as whole ones, not as " + std::string{t.text("gpu_milli")}});
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
