// How two devices are joined, and what passes between two halves.

#include "berth/topology/graph/paths.hpp"

#include <algorithm>
#include <cstdint>
#include <limits>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "berth/io/hostlist.hpp"
#include "berth/io/merge/expand_site.hpp"
#include "berth/topology/graph/bisection.hpp"
#include "berth/topology/graph/flow.hpp"
#include "berth_topo/commands.hpp"

namespace berth_topo {

namespace {

using json = nlohmann::ordered_json;
using berth::decimal_text;
using berth::input_error;
using berth::part_id;
using berth::unexpected;
using berth::vertex_kind;
using berth::io_text::counted;

// One end: a machine, and a part of its inside or the whole.
struct end_point {
  std::uint32_t node = 0;
  std::optional<part_id> part;
};

std::string normal_bus_id(std::string_view word) {
  std::string s = berth::io_text::lower(word);
  if (s.size() == 7 && s[2] == ':') s = "0000:" + s;           // 1b:00.0
  if (s.size() == 16 && s[8] == ':') s = s.substr(4);          // 00000000:1b:00.0
  if (s.size() == 12 && s[4] == ':' && s[7] == ':') return s;  // 0000:1b:00.0
  return {};
}

std::optional<part_id> part_of(const berth::hardware_graph& g, const std::string& word) {
  const std::string bus = normal_bus_id(word);
  for (part_id v = 0; v < boost::num_vertices(g); ++v) {
    const auto& p = g[v];
    if (berth::io_text::equal_nocase(p.name, word) || (!bus.empty() && p.bus_id == bus) ||
        (!p.uuid.empty() && p.uuid == word))
      return v;
    if (p.kind == vertex_kind::gpu && berth::io_text::equal_nocase("gpu" + std::to_string(p.index), word)) return v;
  }
  return std::nullopt;
}

berth::expected<end_point, input_error> find_end(const berth::site& s, const std::string& text) {
  const auto fail = [&](std::string found) {
    return unexpected{
        input_error{"distance", 0, std::move(found),
                    "NODE, NODE/gpu3, NODE/BUS-ID or NODE/NIC; the node may be left out where it is clear"}};
  };
  const std::size_t slash = text.find('/');
  const std::string machine = text.substr(0, slash);
  for (std::uint32_t n = 0; n < s.spec.nodes.size(); ++n) {
    if (s.spec.nodes[n].name != machine) continue;
    if (slash == std::string::npos) return end_point{n, std::nullopt};
    const auto v = part_of(s.net.shapes[s.net.shape_of[n].index()], text.substr(slash + 1));
    if (!v) return fail("no part " + berth::io_text::quoted(text.substr(slash + 1)) + " in machine " + machine);
    return end_point{n, v};
  }
  if (slash != std::string::npos) return fail("no machine " + berth::io_text::quoted(machine));
  std::optional<end_point> found;
  for (std::uint32_t n = 0; n < s.spec.nodes.size(); ++n)
    if (const auto v = part_of(s.net.shapes[s.net.shape_of[n].index()], text)) {
      if (found) return fail(berth::io_text::quoted(text) + " in several machines");
      found = end_point{n, v};
    }
  if (!found) return fail("no machine or device " + berth::io_text::quoted(text));
  return *found;
}

// Parts of a shortest path that carries at least `rate` (0: anything), without the ends; empty: none.
std::vector<part_id> way(const berth::path_finder& finder, part_id a, part_id b, double rate, bool nvlink_only) {
  const auto& g = finder.graph();
  const auto& view = finder.trunks();
  std::vector<part_id> from(boost::num_vertices(g), b), now{a}, next;
  std::vector<char> seen(boost::num_vertices(g));
  seen[a] = 1;
  while (!now.empty() && seen[b] == 0) {
    next.clear();
    for (const auto v : now) {
      // Out of a machine and into another the way leads through NICs.
      const bool apart = g[a].machine != g[b].machine;
      const bool through =
          v == a || (nvlink_only ? berth::is_nvlink_switch(g[v].kind)
                                 : (apart && g[v].kind == vertex_kind::nic) || !berth::is_endpoint(g[v].kind));
      if (!through) continue;
      for (auto [e, end] = boost::out_edges(v, view); e != end; ++e) {
        const auto w = boost::target(*e, view);
        if (seen[w] != 0 || view[*e].rate < rate) continue;
        seen[w] = 1;
        from[w] = v;
        next.push_back(w);
      }
    }
    std::swap(now, next);
  }
  std::vector<part_id> out;
  if (seen[b] == 0) return out;
  for (part_id v = from[b]; v != a; v = from[v]) out.push_back(v);
  std::reverse(out.begin(), out.end());
  return out;
}

// Whether links of at least `rate` join two parts with nothing between.
bool joined_at(const berth::path_finder& finder, part_id a, part_id b, double rate) {
  const auto [e, found] = boost::edge(a, b, finder.trunks());
  return found && finder.trunks()[e].rate >= rate;
}

// \param direct  what joins the ends without anything between
const char* kind_of(const berth::hardware_graph& g, const std::vector<part_id>& via, const char* direct,
                    bool machines) {
  std::uint32_t numa = 0;
  bool socket = false, bridge = false, pcie = false, network = false, nvswitch = false, rack = false;
  for (const auto v : via) {
    numa += g[v].kind == vertex_kind::numa ? 1U : 0U;
    socket = socket || g[v].kind == vertex_kind::socket;
    bridge = bridge || g[v].kind == vertex_kind::host_bridge;
    pcie = pcie || g[v].kind == vertex_kind::pcie_switch;
    nvswitch = nvswitch || g[v].kind == vertex_kind::nvswitch;
    rack = rack || g[v].kind == vertex_kind::nvlink_domain;
    network = network || berth::is_network_switch(g[v].kind);
  }
  if (network) return "network";
  if (rack) return machines ? "NVLink domain" : "NVSwitch";
  if (nvswitch) return "NVSwitch";
  if (via.empty()) return direct;
  if (numa > 1 || socket) return "between sockets or NUMA nodes";
  if (numa == 1) return "NUMA node";
  if (bridge) return "PCIe host bridge";
  return pcie ? "PCIe switch" : "other";
}

}  // namespace

text_result distance(const options& o, const berth::site& s) {
  const auto a = find_end(s, o.ends[0]), b = find_end(s, o.ends[1]);
  if (!a) return unexpected{a.error()};
  if (!b) return unexpected{b.error()};
  if (a->node == b->node && a->part == b->part)
    return unexpected{input_error{"distance", 0, "the same end twice", "two ends"}};
  if (a->part.has_value() != b->part.has_value())
    return unexpected{input_error{"distance", 0, "a machine and a device", "two machines or two devices"}};
  berth::expanded_site full;
  part_id x = s.net.nodes[a->node], y = s.net.nodes[b->node];
  if (a->part) {
    std::vector<std::uint32_t> nodes{a->node};
    if (b->node != a->node) nodes.push_back(b->node);
    full = berth::expand_site(s, nodes);
    x = full.parts.front()[*a->part];
    y = full.parts.back()[*b->part];
  }
  const auto& g = a->part ? full.graph : s.net.graph;
  const berth::path_finder finder{g};
  auto c = finder.between(x, y);
  // The parts of the way: over NVLink where that has the bandwidth of the answer.
  std::vector<part_id> via;
  bool joined_directly = false;  // by NVLink or XGMI
  const char* direct = "direct link";
  if (c.joined) {
    double widest = 0;
    for (auto [e, end] = boost::out_edges(x, g); e != end; ++e)
      if (g[*e].healthy && g[*e].rate && g[*e].kind != berth::link_kind::nvlink)
        widest = std::max(widest, g[*e].rate->count());
    via = way(finder, x, y, 0, true);
    std::optional<berth::nanoseconds> latency;
    for (auto [e, end] = boost::out_edges(x, g); e != end; ++e) {
      const bool nvlink = g[*e].kind == berth::link_kind::nvlink;
      if (boost::target(*e, g) != y || !g[*e].healthy || (!nvlink && g[*e].kind != berth::link_kind::xgmi)) continue;
      joined_directly = true;
      direct = nvlink ? "NVLink" : "XGMI";
      latency = g[*e].latency;
    }
    bool by_nvlink = joined_directly ||
                     (!via.empty() && (!c.bandwidth || c.links == via.size() + 1 || c.bandwidth->count() > widest));
    // Links of unknown rate: what PCIe gives beside them is not the answer.
    constexpr double any_rate = std::numeric_limits<double>::min();
    const bool rated = joined_directly ? joined_at(finder, x, y, any_rate) : !way(finder, x, y, any_rate, true).empty();
    if ((joined_directly || !via.empty()) && !rated) {
      by_nvlink = true;
      if (c.bandwidth || c.links != via.size() + 1) c.latency = joined_directly ? latency : std::nullopt;
      c.bandwidth.reset();
      c.links = static_cast<std::uint32_t>(via.size() + 1);
    }
    if (!by_nvlink) {
      via = c.bandwidth ? way(finder, x, y, c.bandwidth->count(), false) : std::vector<part_id>{};
      if (via.empty()) via = way(finder, x, y, 0, false);
    }
  }
  const char* kind = c.joined ? kind_of(g, via, direct, a->node != b->node) : "not joined";
  if (o.json) {
    json j{{"a", o.ends[0]}, {"b", o.ends[1]}, {"joined", c.joined}, {"kind", kind}};
    j["gigabytes_per_second"] = c.bandwidth ? json(c.bandwidth->count()) : json(nullptr);
    j["latency_ns"] = c.latency ? json(c.latency->count()) : json(nullptr);
    j["links"] = c.links;
    j["via"] = json::array();
    for (const auto v : via) j["via"].push_back(g[v].name);
    return j.dump(1, ' ', false, json::error_handler_t::replace) + "\n";
  }
  if (!c.joined) return o.ends[0] + " and " + o.ends[1] + " are not joined\n";
  std::string out = std::string{kind} + ", " +
                    (c.bandwidth ? decimal_text(c.bandwidth->count()) + " GB/s" : "bandwidth unknown") + ", " +
                    (c.latency ? decimal_text(c.latency->count()) + " ns" : "latency unknown") + ", " +
                    counted(c.links, "link");
  for (std::size_t i = 0; i < via.size(); ++i) out += (i == 0 ? ", via " : " - ") + g[via[i]].name;
  return out + "\n";
}

namespace {

// The most that passes over switches of some kind from the machines of one side to those of the other: one maximum
// flow in which all machines of a side send together.
struct crossing {
  std::optional<berth::gigabytes_per_second> rate;
  bool joined = false;
};
template <class Carry>
crossing cross(const berth::hardware_graph& g, const std::vector<char>& side, Carry carry) {
  std::map<part_id, std::size_t> number;
  for (part_id v = 0; v < boost::num_vertices(g); ++v)
    if (g[v].healthy && carry(g[v].kind)) number.emplace(v, number.size() + 2);
  berth::flow_network flow(number.size() + 2);
  std::vector<std::int64_t> in(number.size() + 2), out(number.size() + 2);
  std::vector<char> a(number.size() + 2), b(number.size() + 2);
  std::vector<std::vector<std::size_t>> next(number.size() + 2);
  bool unknown = false;
  for (auto [e, end] = boost::edges(g); e != end; ++e) {
    auto v = boost::source(*e, g), w = boost::target(*e, g);
    if (!g[*e].healthy) continue;
    if (number.count(w) == 0) std::swap(v, w);
    const auto to = number.find(w);
    if (to == number.end()) continue;
    const auto units = g[*e].rate ? berth::flow_network::units(*g[*e].rate) : 0;
    const auto from = number.find(v);
    if (from != number.end()) {
      unknown = unknown || !g[*e].rate;
      flow.both_ways(from->second, to->second, units);
      next[from->second].push_back(to->second);
      next[to->second].push_back(from->second);
    } else if (g[v].kind == vertex_kind::node && side[v] != 0) {
      unknown = unknown || !g[*e].rate;
      (side[v] == 1 ? in : out)[to->second] += units;
      (side[v] == 1 ? a : b)[to->second] = 1;
    }
  }
  for (const auto& [v, i] : number) {
    static_cast<void>(flow.one_way(0, i, in[i]));
    static_cast<void>(flow.one_way(i, 1, out[i]));
  }
  crossing result;
  std::vector<std::size_t> todo;
  std::vector<char> seen(number.size() + 2);
  for (std::size_t i = 2; i < a.size(); ++i)
    if (a[i] != 0) seen[i] = 1, todo.push_back(i);
  while (!todo.empty()) {
    const auto i = todo.back();
    todo.pop_back();
    result.joined = result.joined || b[i] != 0;
    for (const auto k : next[i])
      if (seen[k] == 0) seen[k] = 1, todo.push_back(k);
  }
  if (!result.joined) return result;
  const auto most = flow.max_flow(0, 1);
  if (most > 0 || !unknown) result.rate = berth::flow_network::rate(most);
  return result;
}

std::string rate_words(const crossing& c) {
  return !c.joined ? "none" : c.rate ? decimal_text(c.rate->count()) + " GB/s" : "bandwidth unknown";
}

}  // namespace

text_result bisect(const options& o, const berth::site& s) {
  const auto count = static_cast<std::uint32_t>(s.spec.nodes.size());
  if (count == 1 && o.halves.empty()) {
    const auto& g = s.net.shapes[s.net.shape_of[0].index()];
    const auto gpus = berth::parts_of(g, vertex_kind::gpu);
    const berth::path_finder finder{g};
    const auto r = berth::bisection(finder, gpus);
    if (!r)
      return unexpected{
          input_error{"bisect", 0, counted(gpus.size(), "GPU") + " in the one machine",
                      "2 to " + std::to_string(berth::exact_bisection_limit) + " GPUs, or several machines"}};
    std::vector<std::string> half, rest;
    for (const auto v : gpus)
      (std::find(r->half.begin(), r->half.end(), v) != r->half.end() ? half : rest).push_back(g[v].name);
    if (o.json) {
      json j{{"of", "gpus"}, {"a", half}, {"b", rest}};
      j["gigabytes_per_second"] = r->bandwidth ? json(r->bandwidth->count()) : json(nullptr);
      return j.dump(1, ' ', false, json::error_handler_t::replace) + "\n";
    }
    std::string a, b;
    for (const auto& n : half) a += (a.empty() ? "" : ", ") + n;
    for (const auto& n : rest) b += (b.empty() ? "" : ", ") + n;
    return (r->bandwidth ? decimal_text(r->bandwidth->count()) + " GB/s" : std::string{"bandwidth unknown"}) +
           " between the worst halves: " + a + " | " + b + "\n";
  }
  // The halves of all machines in the order of the tree, or two sets by name.
  std::vector<char> side(boost::num_vertices(s.net.graph));
  std::vector<std::string> names[2];
  if (o.halves.empty()) {
    for (std::uint32_t n = 0; n < count; ++n) {
      side[s.net.nodes[n]] = n < count / 2 ? char{1} : char{2};
      names[n < count / 2 ? 0 : 1].push_back(s.spec.nodes[n].name);
    }
  } else {
    for (int h = 0; h < 2; ++h) {
      const auto list = berth::expand_hostlist(o.halves[static_cast<std::size_t>(h)]);
      if (!list) return unexpected{list.error().at("--halves", 0)};
      for (const auto& name : *list) {
        std::uint32_t n = 0;
        while (n < count && s.spec.nodes[n].name != name) ++n;
        if (n == count || side[s.net.nodes[n]] != 0)
          return unexpected{input_error{
              "--halves", 0, (n == count ? "unknown machine " : "twice machine ") + berth::io_text::quoted(name),
              "two lists of different machines"}};
        side[s.net.nodes[n]] = static_cast<char>(h + 1);
        names[h].push_back(name);
      }
    }
  }
  const auto network = cross(s.net.graph, side, berth::is_network_switch);
  const auto nvlink = cross(s.net.graph, side, berth::is_nvlink_switch);
  const auto machines = std::min(names[0].size(), names[1].size());
  if (o.json) {
    json j{{"of", "machines"}, {"a", names[0]}, {"b", names[1]}};
    const auto rate = [](const crossing& c) {
      return c.joined && !c.rate ? json(nullptr) : c.joined ? json(c.rate->count()) : json(0);
    };
    j["gigabytes_per_second"] = rate(network);
    j["nvlink_gigabytes_per_second"] = rate(nvlink);
    return j.dump(1, ' ', false, json::error_handler_t::replace) + "\n";
  }
  std::string out = "network: " + rate_words(network);
  if (network.rate && network.joined && machines != 0)
    out += ", " + decimal_text(network.rate->count() / static_cast<double>(machines)) + " per machine";
  if (nvlink.joined) out += "; NVLink: " + rate_words(nvlink);
  return out + "\n  " + berth::merge_detail::names_text(names[0]) + "\n  " + berth::merge_detail::names_text(names[1]) +
         "\n";
}

}  // namespace berth_topo
