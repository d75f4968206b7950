#pragma once
/// \file
/// From the stations and cables of a scan to a `fabric_report`: machines by the host of their adapters' descriptions,
/// switches by level, parallel cables as one link.
///
/// Levels   A switch with adapters of hosts is a leaf. Others are spines at one step from a leaf, core at more. A
///          switch that has a few hosts (a management server) but more leaves below it than hosts, and more than any
///          of these leaves has above, is one level up all the same.
/// Rails    Where the adapters of most machines on a leaf are the same one of several (`mlx5_5`), and machines hang on
///          several such leaves, these leaves are rails, numbered in the order of the devices.
/// Cost     O(stations + cables).

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <map>
#include <optional>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <vector>

#include "berth/core/expected.hpp"
#include "berth/io/fabric/description.hpp"
#include "berth/io/fabric/fabric_scan.hpp"
#include "berth/io/site_report.hpp"
#include "berth/topology/graph/hardware_graph.hpp"

namespace berth::fabric_detail {

class fabric_builder {
 public:
  /// Fills `out` in place: copies of a graph of this size cost as much as making it.
  fabric_builder(const fabric_scan& scan, fabric_report& out, std::vector<std::string>& assumptions)
      : scan_{scan}, assumptions_{assumptions}, out_{out} {}

  [[nodiscard]] expected<void, input_error> build() {
    if (scan_.stations.empty())
      return unexpected{scan_.error(0, "no switch and no adapter", "the output of a scan of a fabric")};
    classify();
    if (machines_.size() > scan_.limits.max_machines)
      return unexpected{scan_.error(0, io_text::counted(machines_.size(), "host"),
                                    "at most " + std::to_string(scan_.limits.max_machines))};
    find_levels();
    find_rails();
    add_parts();
    add_links();
    say();
    out_.place = {scan_.source, 0};
    return {};
  }

 private:
  static constexpr std::uint32_t none = std::numeric_limits<std::uint32_t>::max();
  static constexpr std::uint8_t no_rail = std::numeric_limits<std::uint8_t>::max();

  /// Hosts of the adapters.
  void classify() {
    const auto& all = scan_.stations;
    machine_of_.assign(all.size(), none);
    std::unordered_map<std::string_view, std::uint32_t> by_name;
    std::unordered_map<std::uint64_t, std::uint32_t> by_box;  // `none` where one box has several hosts
    by_box.reserve(all.size());
    for (std::uint32_t s = 0; s < all.size(); ++s) {
      if (all[s].kind != station_kind::adapter || is_part_of_a_switch(all[s].description)) continue;
      const adapter_words w = words_of_adapter(all[s].description);
      if (w.host.empty()) continue;
      const auto [it, fresh] = by_name.emplace(w.host, static_cast<std::uint32_t>(machines_.size()));
      if (fresh) machines_.push_back(std::string{w.host});
      machine_of_[s] = it->second;
      if (!all[s].system) continue;
      const auto [box, first] = by_box.emplace(*all[s].system, it->second);
      if (!first && box->second != it->second) box->second = none;
    }
    // The second port of a card may be described while the first is not.
    for (std::uint32_t s = 0; s < all.size(); ++s) {
      if (all[s].kind != station_kind::adapter || machine_of_[s] != none) continue;
      if (is_part_of_a_switch(all[s].description)) {
        ++switch_adapters_;
        continue;
      }
      if (all[s].system)
        if (const auto box = by_box.find(*all[s].system); box != by_box.end() && box->second != none) {
          machine_of_[s] = box->second;
          ++by_box_;
          continue;
        }
      ++nameless_;
    }
  }

  /// True for an adapter of a host, named or not.
  [[nodiscard]] bool is_host_adapter(std::uint32_t s) const {
    return scan_.stations[s].kind == station_kind::adapter && !is_part_of_a_switch(scan_.stations[s].description);
  }
  [[nodiscard]] bool is_switch(std::uint32_t s) const { return scan_.stations[s].kind == station_kind::network_switch; }

  void find_levels() {
    const auto& all = scan_.stations;
    std::vector<std::vector<std::uint32_t>> next(all.size());  // switches beside a switch, each once
    std::vector<std::uint32_t> hosts(all.size());
    for (const auto& c : scan_.cables) {
      if (is_switch(c.a) && is_switch(c.b)) next[c.a].push_back(c.b), next[c.b].push_back(c.a);
      if (is_switch(c.a) && is_host_adapter(c.b)) ++hosts[c.a];
      if (is_switch(c.b) && is_host_adapter(c.a)) ++hosts[c.b];
    }
    for (auto& n : next) {
      std::sort(n.begin(), n.end());
      n.erase(std::unique(n.begin(), n.end()), n.end());
    }
    std::vector<std::uint32_t> beside(all.size());  // switches with hosts beside one
    for (std::uint32_t s = 0; s < all.size(); ++s)
      for (const auto t : next[s]) beside[s] += hosts[t] != 0 ? 1U : 0U;
    level_.assign(all.size(), none);
    std::vector<std::uint32_t> now;
    for (std::uint32_t s = 0; s < all.size(); ++s) {
      if (!is_switch(s) || hosts[s] == 0) continue;
      bool above = beside[s] > hosts[s];
      for (const auto t : next[s])
        if (hosts[t] != 0) above = above && beside[s] > beside[t] && hosts[s] <= hosts[t];
      if (above) {
        ++lifted_;
        continue;
      }
      level_[s] = 0;
      now.push_back(s);
    }
    has_leaves_ = !now.empty();
    for (std::uint32_t step = 1; !now.empty(); ++step) {
      std::vector<std::uint32_t> reached;
      for (const auto s : now)
        for (const auto t : next[s])
          if (level_[t] == none) level_[t] = step, reached.push_back(t);
      now = std::move(reached);
    }
  }

  void find_rails() {
    const auto& all = scan_.stations;
    // Per leaf: how often it serves which device; per machine: which leaves it hangs on.
    std::unordered_map<std::uint32_t, std::map<device_place, std::uint32_t>> served;
    for (const auto& c : scan_.cables)
      for (const auto& [leaf, adapter] : {std::pair{c.a, c.b}, std::pair{c.b, c.a}})
        if (is_switch(leaf) && level_[leaf] == 0 && machine_of_[adapter] != none) {
          const adapter_words w = words_of_adapter(all[adapter].description);
          if (!w.device.empty()) ++served[leaf][place_of_device(w.device)];
        }
    std::map<device_place, std::uint8_t> rails;
    std::unordered_map<std::uint32_t, device_place> device_of_leaf;
    for (const auto& [leaf, devices] : served) {
      std::uint32_t sum = 0, most = 0;
      const device_place* best = nullptr;
      for (const auto& [device, n] : devices) {
        sum += n;
        if (n > most) most = n, best = &device;
      }
      if (most * 2 <= sum) continue;
      device_of_leaf.emplace(leaf, *best);
      rails.emplace(*best, std::uint8_t{0});
    }
    rail_.assign(all.size(), no_rail);
    if (rails.size() < 2 || rails.size() >= no_rail) return;
    std::uint8_t number = 0;
    for (auto& r : rails) r.second = number++;
    // Rails only where a machine hangs on two of them.
    std::vector<std::uint8_t> first(machines_.size(), no_rail);
    bool several = false;
    for (const auto& c : scan_.cables)
      for (const auto& [leaf, adapter] : {std::pair{c.a, c.b}, std::pair{c.b, c.a}}) {
        const auto it = device_of_leaf.find(leaf);
        if (it == device_of_leaf.end() || machine_of_[adapter] == none) continue;
        const std::uint8_t r = rails[it->second];
        auto& f = first[machine_of_[adapter]];
        several = several || (f != no_rail && f != r);
        f = r;
      }
    if (!several) return;
    for (const auto& [leaf, device] : device_of_leaf) rail_[leaf] = rails[device];
    assumptions_.push_back(std::to_string(rails.size()) +
                           " rails are told from which adapter of a machine hangs on which leaf.");
  }

  [[nodiscard]] std::string unique_name(std::string name, const station& s) {
    if (name.empty()) name = std::string{s.id};
    if (!names_.insert(name).second) {
      name += " " + std::string{s.id};
      names_.insert(name);
    }
    return name;
  }

  void add_parts() {
    const auto& all = scan_.stations;
    std::size_t total = machines_.size();
    for (const auto& s : all) total += s.kind != station_kind::router ? 1U : 0U;
    out_.graph = hardware_graph(total);
    hardware_graph& g = out_.graph;
    part_id next = 0;
    const auto add = [&](vertex_kind kind, std::uint32_t index) {
      g[next].kind = kind;
      g[next].index = index;
      return next++;
    };
    for (std::uint32_t m = 0; m < machines_.size(); ++m) {
      g[add(vertex_kind::node, m)].name = machines_[m];
      names_.insert(machines_[m]);
    }
    part_.assign(all.size(), none);
    std::uint32_t nics = 0, count[3] = {0, 0, 0};
    for (std::uint32_t s = 0; s < all.size(); ++s) {
      if (all[s].kind != station_kind::adapter) continue;
      const part_id v = add(vertex_kind::nic, nics++);
      part_[s] = static_cast<std::uint32_t>(v);
      g[v].guid = all[s].guid;
      g[v].name = std::string{all[s].id};
      if (machine_of_[s] == none) {
        if (!is_host_adapter(s)) out_.not_hosts.push_back(v);
        continue;
      }
      // As its machine calls it.
      if (const adapter_words w = words_of_adapter(all[s].description); !w.device.empty())
        g[v].name = std::string{w.device};
    }
    static constexpr vertex_kind kinds[3] = {vertex_kind::leaf, vertex_kind::spine, vertex_kind::core};
    for (std::uint32_t s = 0; s < all.size(); ++s) {
      if (!is_switch(s)) continue;
      // Without any adapter nothing tells the levels apart; a switch that nothing joins to a leaf is as far as can be.
      const std::size_t level = !has_leaves_ ? 0 : level_[s] > 2 ? 2 : level_[s];
      const part_id v = add(kinds[level], count[level]++);
      part_[s] = static_cast<std::uint32_t>(v);
      g[v].guid = all[s].guid;
      g[v].name = unique_name(name_of_switch(all[s].description), all[s]);
      if (rail_[s] != no_rail) g[v].rail = rail_[s];
      if (has_leaves_ && level_[s] == none) ++unreached_;
    }
  }

  void add_links() {
    hardware_graph& g = out_.graph;
    for (std::uint32_t s = 0; s < scan_.stations.size(); ++s) {
      if (machine_of_[s] == none) continue;
      link l;
      l.kind = link_kind::pcie;
      (void)join(g, part_[s], machine_of_[s], std::move(l));
    }
    // Parallel cables together, broken ones apart: sorted by their ends.
    struct end_pair {
      std::uint64_t ends;
      std::uint32_t cable;
      bool works;
    };
    std::vector<end_pair> order;
    order.reserve(scan_.cables.size());
    for (std::uint32_t i = 0; i < scan_.cables.size(); ++i) {
      const cable& c = scan_.cables[i];
      if (part_[c.a] == none || part_[c.b] == none) {
        ++router_cables_;
        continue;
      }
      if (!c.rate) ++unknown_rates_;
      const std::uint64_t a = std::min(part_[c.a], part_[c.b]), b = std::max(part_[c.a], part_[c.b]);
      order.push_back({a << 32 | b, i, c.works});
    }
    std::sort(order.begin(), order.end(), [](const end_pair& x, const end_pair& y) {
      if (x.ends != y.ends) return x.ends < y.ends;
      return x.works != y.works ? x.works : x.cable < y.cable;
    });
    for (std::size_t first = 0; first < order.size();) {
      link l;
      l.kind = link_kind::infiniband;
      l.healthy = order[first].works;
      double rate = 0;
      bool known = true;
      std::size_t last = first;
      for (; last < order.size() && order[last].ends == order[first].ends && order[last].works == order[first].works;
           ++last) {
        const cable& c = scan_.cables[order[last].cable];
        known = known && c.rate.has_value();
        if (c.rate) rate += c.rate->count();
        for (const auto s : {c.a, c.b})
          if (rail_[s] != no_rail) l.rail = rail_[s];
      }
      l.count = static_cast<std::uint16_t>(last - first);
      if (known) l.rate = gigabytes_per_second{rate};
      const std::uint64_t ends = order[first].ends;
      (void)join(g, ends >> 32, ends & 0xFFFFFFFFU, std::move(l));
      first = last;
    }
    for (const auto& c : scan_.cables) {
      if (part_[c.a] == none || part_[c.b] == none) continue;
      // The line rate of an adapter is that of its cables; so is its rail.
      for (const auto& [adapter, other] : {std::pair{c.a, c.b}, std::pair{c.b, c.a}}) {
        if (scan_.stations[adapter].kind != station_kind::adapter || !c.works) continue;
        part& nic = g[part_[adapter]];
        if (c.rate) nic.rate = gigabytes_per_second{(nic.rate ? nic.rate->count() : 0) + c.rate->count()};
        if (rail_[other] != no_rail) nic.rail = rail_[other];
      }
    }
  }

  void say() {
    const auto note = [&](std::size_t n, std::string_view word, std::string rest) {
      if (n != 0) assumptions_.push_back(io_text::counted(n, word) + std::move(rest));
    };
    note(nameless_, "adapter", " without a host name in the description; told apart by GUID alone.");
    note(by_box_, "adapter", " without a host name; taken for the machine whose adapter has the same system GUID.");
    note(switch_adapters_, "adapter", " inside switches and gateways (aggregation nodes); no machines.");
    note(scan_.loose_ports, "port", " with a link but without a peer; left out.");
    note(scan_.loops, "cable end", " back to the same switch; left out.");
    note(scan_.unlisted, "part",
         " that only peers tell of, without a record of its own (the first is " + scan_.first_unlisted +
             "): taken as cabled as these say.");
    note(scan_.unlike_rates, "cable", " whose ends report different rates; the lower one is used.");
    note(unknown_rates_, "cable", " of unknown rate.");
    note(router_cables_, "cable", " to routers; other subnets are not read.");
    note(lifted_, "switch", " with a few hosts beside many leaves; taken for a spine.");
    note(unreached_, "switch", " that no cable joins to a leaf.");
    if (!has_leaves_)
      assumptions_.push_back("No switch has an adapter, so that levels cannot be told: all count as leaves.");
  }

  const fabric_scan& scan_;
  std::vector<std::string>& assumptions_;
  fabric_report& out_;
  std::vector<std::string> machines_;
  std::unordered_set<std::string> names_;
  std::vector<std::uint32_t> machine_of_, level_, part_;  // by station
  std::vector<std::uint8_t> rail_;                        // by station: of a leaf
  bool has_leaves_ = false;
  std::size_t nameless_ = 0, by_box_ = 0, switch_adapters_ = 0, lifted_ = 0, unreached_ = 0, unknown_rates_ = 0,
              router_cables_ = 0;
};

/// The report of one scanned fabric. Errors: nothing in it; too many hosts.
[[nodiscard]] inline expected<site_report, input_error> report_of(const fabric_scan& scan, std::string format) {
  site_report out;
  out.source = scan.source;
  out.format = std::move(format);
  out.fabrics.emplace_back();
  if (auto ok = fabric_builder{scan, out.fabrics.back(), out.assumptions}.build(); !ok)
    return unexpected{std::move(ok).error()};
  return out;
}

}  // namespace berth::fabric_detail
