#pragma once
/// \file
/// `nvidia-smi topo -m`: the GPUs and NICs of one machine and what lies between any two of them. Needs Boost.Graph.
///
/// The table names no switch: those are inferred. Devices that are PIX hang on one PCIe switch; groups of these that
/// are PXB hang on a switch above; PHB means a common host bridge, NODE a common NUMA node, SYS two NUMA nodes. Where
/// all GPUs of a group have equally many NVLinks to each other and more than their ports could give to every peer, they
/// hang on an NVSwitch; otherwise NVLinks join pairs. `path_table` of the graph gives the table back; cells that no
/// tree of switches can give are named in the assumptions.

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "berth/io/inside/model_option.hpp"
#include "berth/io/inside/path_kind.hpp"
#include "berth/io/inside/topo_table.hpp"
#include "berth/io/site_report.hpp"

namespace berth {

namespace topo_text {

/// Sets that grow together.
class groups {
 public:
  explicit groups(std::size_t n) : parent_(n) {
    for (std::size_t i = 0; i < n; ++i) parent_[i] = i;
  }
  [[nodiscard]] std::size_t of(std::size_t i) const {
    while (parent_[i] != i) i = parent_[i];
    return i;
  }
  void merge(std::size_t a, std::size_t b) {
    a = of(a);
    b = of(b);
    parent_[std::max(a, b)] = std::min(a, b);
  }
  /// The members of each set, sets and members in ascending order.
  [[nodiscard]] std::vector<std::vector<std::size_t>> sets() const {
    std::map<std::size_t, std::vector<std::size_t>> by;
    for (std::size_t i = 0; i < parent_.size(); ++i) by[of(i)].push_back(i);
    std::vector<std::vector<std::size_t>> out;
    for (auto& [root, members] : by) out.push_back(std::move(members));
    return out;
  }

 private:
  std::vector<std::size_t> parent_;
};

/// Builds the graph of a table.
class graph_maker {
 public:
  graph_maker(const table& t, const catalogue::gpu_model* model, std::vector<std::string>& assumptions)
      : t_{t}, model_{model}, assumptions_{assumptions}, n_{t.devices.size()} {}

  [[nodiscard]] expected<hardware_graph, input_error> make(const std::string& source, std::string_view model_name) {
    for (std::size_t i = 0; i < n_; ++i) {
      const device& d = t_.devices[i];
      const part_id v = add(d.is_gpu ? vertex_kind::gpu : vertex_kind::nic);
      if (d.is_gpu) {
        g_[v].name = "gpu" + std::to_string(d.number);
        g_[v].model = std::string{model_name};
      } else {
        g_[v].name = d.name;
      }
    }
    if (auto bad = nvlinks(source)) return unexpected{std::move(*bad)};
    host();
    compare();
    return std::move(g_);
  }

 private:
  part_id add(vertex_kind k) { return add_part(g_, k, next_[static_cast<std::size_t>(k)]++); }
  void wire(part_id a, part_id b) {
    link l;
    l.kind = link_kind::pcie;
    if (model_ != nullptr) l = inside_text::pcie_of(*model_);
    join(g_, a, b, l);
  }
  [[nodiscard]] const path_cell& cell(std::size_t i, std::size_t j) const { return t_.cells[i][j]; }
  [[nodiscard]] std::uint32_t links(std::size_t i, std::size_t j) const {
    return cell(i, j).kind == path_kind::nvlink ? cell(i, j).links : 0;
  }

  /// NVLinks of pairs, or of a switch.
  [[nodiscard]] std::optional<input_error> nvlinks(const std::string& source) {
    const std::size_t n = t_.gpus;
    const std::uint32_t ports = model_ != nullptr && model_->nvlink ? model_->nvlink->links : 18U;
    groups islands(n);
    for (std::size_t i = 0; i < n; ++i)
      for (std::size_t j = 0; j < i; ++j) {
        if (links(i, j) == 0) continue;
        islands.merge(i, j);
        if (model_ != nullptr && links(i, j) > (model_->nvlink ? model_->nvlink->links : 0U))
          return input_error{
              source, t_.devices[i].line,
              "NV" + std::to_string(links(i, j)) + " between " + t_.devices[j].label + " and " + t_.devices[i].label,
              "at most " + std::to_string(model_->nvlink ? ports : 0U) + " NVLinks, as " + std::string{model_->id} +
                  " has"};
      }
    for (const auto& island : islands.sets()) {
      if (island.size() < 2) continue;
      // Over a switch, two GPUs have as many links as the one with fewer.
      std::vector<std::uint32_t> most(n);
      bool direct = true, switched = true;
      for (const auto i : island) {
        std::uint32_t sum = 0;
        for (const auto j : island) {
          if (i == j) continue;
          sum += links(i, j);
          most[i] = std::max(most[i], links(i, j));
        }
        if (sum > ports) direct = false;
      }
      for (const auto i : island)
        for (const auto j : island)
          if (i != j && links(i, j) != std::min(most[i], most[j])) switched = false;
      if (direct || !switched) {
        if (!direct)
          assumptions_.push_back("the NVLinks of " + t_.devices[island[0]].label + " and its peers are more than " +
                                 std::to_string(ports) + " per GPU, but not what one NVSwitch gives; taken as stated");
        for (const auto i : island)
          for (const auto j : island)
            if (i < j && links(i, j) != 0)
              join(g_, i, j, inside_text::nvlink_of(model_, static_cast<std::uint16_t>(links(i, j))));
        continue;
      }
      const bool rack = model_ != nullptr && model_->id.starts_with("gb");
      const part_id s = add(rack ? vertex_kind::nvlink_domain : vertex_kind::nvswitch);
      for (const auto i : island) join(g_, i, s, inside_text::nvlink_of(model_, static_cast<std::uint16_t>(most[i])));
      assumptions_.push_back(io_text::counted(island.size(), "GPU") + " from " + t_.devices[island[0]].label +
                             " on share NVSwitches: shown as one, the table does not tell how many");
      if (rack || (!t_.devices[0].gpu_numa.empty() && island.size() == t_.gpus))
        assumptions_.push_back(
            "NVLinks that leave the machine are not in this table; its NVLink domain has to come "
            "from elsewhere");
    }
    return std::nullopt;
  }

  /// PCIe switches, host bridges and NUMA nodes.
  void host() {
    const auto joined_at = [this](path_kind most) {
      groups out(n_);
      for (std::size_t i = 0; i < n_; ++i)
        for (std::size_t j = 0; j < i; ++j)
          if (cell(i, j).kind >= path_kind::pix && cell(i, j).kind <= most) out.merge(i, j);
      return out;
    };
    const groups pix = joined_at(path_kind::pix), pxb = joined_at(path_kind::pxb), phb = joined_at(path_kind::phb),
                 node = joined_at(path_kind::node);
    // From the devices up: what stands for the device's group at each level.
    std::vector<part_id> under_switches(n_), under_bridge(n_);
    for (const auto& group : pxb.sets()) {
      std::map<std::size_t, std::vector<std::size_t>> parts;
      for (const auto i : group) parts[pix.of(i)].push_back(i);
      std::optional<part_id> above;
      if (parts.size() > 1) above = add(vertex_kind::pcie_switch);
      part_id top = group[0];
      for (const auto& [root, members] : parts) {
        top = members[0];
        if (members.size() > 1 || above) {
          top = add(vertex_kind::pcie_switch);
          for (const auto i : members) wire(i, top);
        }
        if (above) wire(top, *above);
      }
      for (const auto i : group) under_switches[i] = above.value_or(top);
    }
    for (const auto& group : phb.sets()) {
      std::map<std::size_t, part_id> parts;
      for (const auto i : group) parts.emplace(pxb.of(i), under_switches[i]);
      part_id top = parts.begin()->second;
      if (parts.size() > 1) {
        top = add(vertex_kind::host_bridge);
        for (const auto& [root, v] : parts) wire(v, top);
      }
      for (const auto i : group) under_bridge[i] = top;
    }
    attach_to_numa(phb, node, under_bridge);
  }

  struct numa_group {
    std::string key;                                 ///< NUMA column, else CPU column; "" where neither is stated
    std::vector<std::vector<std::size_t>> together;  ///< sets of devices that are NODE or nearer
    bool apart = false;                              ///< the table has SYS between some of these sets
  };

  [[nodiscard]] bool sys_between(const std::vector<std::size_t>& a, const std::vector<std::size_t>& b) const {
    for (const auto i : a)
      for (const auto j : b)
        if (cell(i, j).kind == path_kind::sys) return true;
    return false;
  }
  [[nodiscard]] std::string key_of(const std::vector<std::size_t>& members) {
    std::string key;
    for (const auto i : members) {
      const device& d = t_.devices[i];
      const std::string own = !d.numa.empty() && d.numa != "-1" ? "numa " + d.numa
                              : d.cpus.empty()                  ? ""
                                                                : "cpus " + d.cpus;
      if (own.empty()) continue;
      if (key.empty()) key = own;
      else if (key != own)
        assumptions_.push_back(d.label + " is on the NUMA node of " + t_.devices[members[0]].label +
                               " by its cells, but on another by its affinity; the cells count");
    }
    return key;
  }

  void attach_to_numa(const groups& phb, const groups& node, const std::vector<part_id>& under_bridge) {
    std::vector<numa_group> numas;
    for (const auto& members : node.sets()) {
      const std::string key = key_of(members);
      auto it = std::find_if(numas.begin(), numas.end(), [&](const numa_group& g) {
        if (g.key != key) return false;
        if (!key.empty()) return true;  // the columns say it is the same one
        return std::none_of(g.together.begin(), g.together.end(),
                            [&](const auto& o) { return sys_between(members, o); });
      });
      if (it == numas.end()) it = numas.insert(numas.end(), numa_group{key, {}, false});
      for (const auto& o : it->together) it->apart = it->apart || sys_between(members, o);
      it->together.push_back(members);
    }
    std::stable_sort(numas.begin(), numas.end(), [](const numa_group& a, const numa_group& b) {
      return number_of(a).value_or(~0U) < number_of(b).value_or(~0U);
    });
    std::vector<part_id> made;
    std::vector<inside_text::cpu_set> cpus;
    std::size_t nameless = 0;
    for (const auto& group : numas) {
      const part_id v = add(vertex_kind::numa);
      made.push_back(v);
      cpus.push_back(cpus_of(group));
      if (const auto number = number_of(group)) {
        g_[v].index = *number;
        g_[v].name = "numa" + std::to_string(*number);
      }
      if (group.key.empty()) ++nameless;
      for (const auto& members : group.together) attach(v, members, phb, under_bridge, group.apart);
      if (group.apart)
        assumptions_.push_back("some GPUs of one NUMA node (" + group.key +
                               ") are SYS to each other: kept apart by an interconnect inside that node");
    }
    renumber(made, numas);
    for (std::size_t i = 0; i < made.size(); ++i) {
      const bool shared = [&] {
        for (std::size_t j = 0; j < made.size(); ++j)
          if (i != j && inside_text::overlap(cpus[i], cpus[j])) return true;
        return false;
      }();
      if (shared)
        assumptions_.push_back(g_[made[i]].name +
                               " shares CPUs with another NUMA node; its number of CPUs is left open");
      else if (!cpus[i].empty())
        g_[made[i]].cpu = berth::cpus(static_cast<std::int64_t>(inside_text::count_cpus(cpus[i])));
      // Every pair; of very many only a star, which has the same kinds of ways.
      for (std::size_t j = 0; j < i; ++j)
        if (made.size() <= 64 || j == 0)
          join(g_, made[j], made[i], link{link_kind::cpu_link, {}, {}, {}, {}, {}, true});
    }
    if (nameless != 0)
      assumptions_.push_back(nameless == made.size()
                                 ? "the table does not tell NUMA nodes; they follow from its SYS cells"
                                 : io_text::counted(nameless, "NUMA node") +
                                       " that the table does not name: its NICs are "
                                       "SYS to everything else");
  }

  /// The number in the NUMA column; of a list, the first.
  [[nodiscard]] static std::optional<std::uint32_t> number_of(const numa_group& g) {
    if (!g.key.starts_with("numa ")) return std::nullopt;
    const auto list = inside_text::parse_cpu_list(std::string_view{g.key}.substr(5));
    if (!list) return std::nullopt;
    return list->front().first;
  }
  /// Numbers for the NUMA nodes that have none: from 0 where the table numbers none, else past the largest.
  void renumber(const std::vector<part_id>& made, const std::vector<numa_group>& numas) {
    std::uint32_t free = 0;
    for (const auto& g : numas)
      if (const auto number = number_of(g)) free = std::max(free, *number + 1);
    const bool numbered = free != 0;
    for (std::size_t i = 0; i < made.size(); ++i) {
      if (number_of(numas[i])) continue;
      g_[made[i]].index = free;
      g_[made[i]].name = (numbered || numas[i].key.empty() ? "unnamed-numa" : "numa") + std::to_string(free++);
    }
  }
  [[nodiscard]] inside_text::cpu_set cpus_of(const numa_group& group) {
    std::string first;
    for (const auto& members : group.together)
      for (const auto i : members) {
        const std::string& c = t_.devices[i].cpus;
        if (c.empty() || c == first) continue;
        if (first.empty()) first = c;
        else
          assumptions_.push_back(t_.devices[i].label +
                                 " has other CPUs than its NUMA node's first GPU; those of the first count");
      }
    if (first.empty()) return {};
    return inside_text::parse_cpu_list(first).value_or(inside_text::cpu_set{});
  }

  /// Hangs a set of devices on a NUMA node; `apart`: over an interconnect of their own.
  void attach(part_id numa, const std::vector<std::size_t>& members, const groups& phb,
              const std::vector<part_id>& under_bridge, bool apart) {
    std::map<std::size_t, part_id> tops;
    for (const auto i : members) tops.emplace(phb.of(i), under_bridge[i]);
    if (!apart) {
      for (const auto& [root, top] : tops) wire(top, numa);
      return;
    }
    const auto bridged = [this](part_id top) {
      if (g_[top].kind == vertex_kind::host_bridge) return top;
      const part_id b = add(vertex_kind::host_bridge);
      wire(top, b);
      return b;
    };
    part_id root = bridged(tops.begin()->second);
    if (tops.size() > 1) {
      const part_id first = root;
      root = add(vertex_kind::host_bridge);
      wire(first, root);
      for (auto it = std::next(tops.begin()); it != tops.end(); ++it) wire(bridged(it->second), root);
    }
    join(g_, root, numa, link{link_kind::cpu_link, {}, {}, {}, {}, {}, true});
  }

  /// Names the cells that the graph does not give back.
  void compare() {
    const auto again = path_table(g_);
    std::size_t wrong = 0;
    std::string first;
    for (std::size_t i = 0; i < n_; ++i)
      for (std::size_t j = 0; j < i; ++j) {
        if (cell(i, j).kind == path_kind::unknown || cell(i, j) == again[i][j]) continue;
        if (++wrong == 1)
          first = t_.devices[j].label + "-" + t_.devices[i].label + " is " + to_string(cell(i, j)) +
                  ", by the rest of the table it would be " + to_string(again[i][j]);
      }
    if (wrong != 0)
      assumptions_.push_back(io_text::counted(wrong, "cell") + " of the table fit no tree of switches: " + first);
  }

  const table& t_;
  const catalogue::gpu_model* model_;
  std::vector<std::string>& assumptions_;
  std::size_t n_;
  hardware_graph g_;
  std::uint32_t next_[32] = {};
};

}  // namespace topo_text

/// True when a text has a line "GPU0 X" or "GPU0 <cells>" below a header of GPUs: cheap, looks at the first 64 KiB.
[[nodiscard]] inline bool looks_like_topo_m(std::string_view text) noexcept {
  text = text.substr(0, std::size_t{1} << 16);
  const auto blank = [](char c) { return io_text::is_blank(c) || c == '\xC2' || c == '\xA0'; };  // and no-break spaces
  for (std::size_t at = text.find("GPU"); at != std::string_view::npos; at = text.find("GPU", at + 1)) {
    std::size_t i = at + 3;
    while (i < text.size() && io_text::is_digit(text[i])) ++i;
    if (i == at + 3) continue;
    std::size_t words = 0;
    bool self = false;
    while (i < text.size() && words < 70) {
      while (i < text.size() && blank(text[i])) ++i;
      std::size_t end = i;
      while (end < text.size() && text[end] != '\n' && !blank(text[end])) ++end;
      if (end == i) break;
      const auto c = topo_text::parse_cell(text.substr(i, end - i));
      if (!c || c->kind == path_kind::unknown) break;
      self = self || c->kind == path_kind::self;
      ++words;
      i = end;
    }
    if (self) return true;
  }
  return false;
}

/// Reads the output of `nvidia-smi topo -m` as one machine.
/// Errors: no table or several, cells that are missing or contradict each other, more than 64 GPUs or 256 NICs, more
/// NVLinks than the stated model has. O(length + devices^2).
[[nodiscard]] inline expected<site_report, input_error> read_topo_m(const named_text& in,
                                                                    const reader_options& options = {}) {
  auto t = topo_text::read_table(in.name, in.text);
  if (!t) return unexpected{std::move(t).error()};
  site_report out;
  out.source = in.name;
  out.format = "nvidia-smi topo -m";
  if (t->gpus == 0) return unexpected{input_error{in.name, t->line, "a table without GPUs", "at least one GPU"}};

  inside_text::model_hints hints;
  hints.gpus = t->gpus;
  for (std::size_t i = 0; i < t->gpus; ++i) {
    std::uint32_t sum = 0, most = 0;
    for (std::size_t j = 0; j < t->gpus; ++j)
      if (t->cells[i][j].kind == path_kind::nvlink) {
        sum += t->cells[i][j].links;
        most = std::max<std::uint32_t>(most, t->cells[i][j].links);
      }
    hints.nvlinks = std::max(hints.nvlinks, sum > 18 ? most : sum);
    if (!t->devices[i].gpu_numa.empty()) hints.cpu_memory = true;
  }
  machine_report m;
  m.place = {in.name, t->line};
  m.name = options.machine;
  m.gpus = static_cast<unsigned>(t->gpus);
  m.gpu_model = inside_text::chosen_gpu_model(options, hints, out.assumptions);
  const auto* model = catalogue::find_gpu_model(m.gpu_model);
  for (std::size_t i = 0; i < t->gpus; ++i)
    if (t->devices[i].number != i) {
      out.assumptions.push_back(t->devices[i].label + " is the GPU number " + std::to_string(i) +
                                " of the machine: the table skips numbers");
      break;
    }
  for (std::size_t i = t->gpus; i < t->devices.size(); ++i)
    if (t->devices[i].line == 0) {
      out.assumptions.push_back("rows of NICs are missing; what lies between those NICs is open");
      break;
    }
  for (std::size_t i = 0; i < t->gpus; ++i)
    if (t->devices[i].numa.find_first_of(",-") != std::string::npos && t->devices[i].numa != "-1") {
      out.assumptions.push_back("of a list of NUMA nodes, such as " + t->devices[i].numa +
                                ", the first has the CPUs; the others are memory of GPUs");
      break;
    }
  topo_text::graph_maker maker{*t, model, out.assumptions};
  auto g = maker.make(in.name, m.gpu_model);
  if (!g) return unexpected{std::move(g).error()};
  if (boost::num_vertices(*g) + boost::num_edges(*g) > options.max_parts)
    return unexpected{
        input_error{in.name, t->line, "a machine of more parts", "at most " + std::to_string(options.max_parts)}};
  if (model != nullptr) out.assumptions.push_back(inside_text::pcie_assumption(*model));
  m.rates_by_model = model == nullptr;
  m.inside = std::move(*g);
  out.machines.push_back(std::move(m));
  return out;
}

}  // namespace berth
