#pragma once
/// \file
/// Bodies of `berth/topology/graph/bisection.hpp`.

#include <map>
#include <memory>
#include <set>
#include <utility>

#include "berth/topology/graph/bisection.hpp"
#include "berth/topology/graph/flow.hpp"

namespace berth {

BERTH_INLINE set_bandwidth bandwidth_inside(const path_finder& finder, const std::vector<part_id>& set) {
  set_bandwidth out;
  for (std::size_t i = 0; i < set.size(); ++i)
    for (std::size_t j = i + 1; j < set.size(); ++j) {
      const connection c = finder.between(set[i], set[j]);
      ++out.pairs;
      if (!c.joined) ++out.apart_pairs;
      else if (!c.bandwidth) ++out.unknown_pairs;
      else {
        out.total += *c.bandwidth;
        if (!out.slowest || *c.bandwidth < *out.slowest) out.slowest = *c.bandwidth;
      }
    }
  return out;
}

}  // namespace berth

namespace berth::detail {

/// Maximum flow between two halves of a device set, for many splits of the same set.
///
/// The flow of one split is taken over one family of parts at a time: NVLink (NVSwitches, and links from device to
/// device), the network between machines, PCIe and sockets, or, where the set's GPUs are of several machines, their
/// PCIe, NICs and network; the largest counts, as for two devices. Other devices carry nothing.
class split_flow {
 public:
  split_flow(const path_finder& finder, const std::vector<part_id>& set);

  /// GB/s from the devices with `in_a[i]` to the others; 0: not joined; empty: only links of unknown rate join them.
  [[nodiscard]] std::optional<gigabytes_per_second> across(const std::vector<char>& in_a);

 private:
  struct trunk {
    std::size_t a, b;
    std::int64_t rate;
  };
  struct family {
    std::size_t switches = 0;
    bool used = false;
    std::vector<std::int64_t> to_switch, direct;  // member x switch; member x member
    std::vector<char> reaches, direct_joined;
    std::vector<trunk> between;
    std::vector<std::size_t> root;  // of the switch's connected part
    std::unique_ptr<flow_network> net;
    std::vector<flow_network::handle> sources, sinks;

    void attach(std::size_t m, std::size_t s, std::int64_t rate);
    /// Vertices: 0 the first half, 1 the second, then the switches.
    void prepare();
    [[nodiscard]] std::int64_t flow(const std::vector<char>& in_a);
    [[nodiscard]] bool joined(const std::vector<char>& in_a) const;
  };
  std::size_t size_;
  std::vector<family> families_;
};

BERTH_INLINE split_flow::split_flow(const path_finder& finder, const std::vector<part_id>& set) : size_{set.size()} {
  std::map<part_id, std::size_t> member;
  for (std::size_t i = 0; i < set.size(); ++i) member.emplace(set[i], i);
  const auto& view = finder.trunks();
  const auto& g = finder.graph();
  std::set<std::uint32_t> machines;
  for (const auto v : set)
    if (g[v].machine) machines.insert(*g[v].machine);
  for (const auto f :
       {network_family::nvlink, network_family::network, network_family::host, network_family::scale_out}) {
    if (f == network_family::scale_out && machines.size() < 2) continue;
    family fam;
    std::map<part_id, std::size_t> number;
    for (part_id v = 0; v < boost::num_vertices(g); ++v)
      if (finder.usable(v) && carries(f, g[v].kind) && member.count(v) == 0 &&
          (!g[v].machine || machines.count(*g[v].machine) != 0))
        number.emplace(v, number.size());
    fam.switches = number.size();
    fam.to_switch.resize(size_ * fam.switches);
    fam.reaches.resize(size_ * fam.switches);
    fam.direct.resize(f == network_family::nvlink ? size_ * size_ : 0);
    fam.direct_joined.resize(fam.direct.size());
    fam.root.resize(fam.switches);
    for (std::size_t i = 0; i < fam.switches; ++i) fam.root[i] = i;
    for (auto [e, end] = boost::edges(view); e != end; ++e) {
      const auto a = boost::source(*e, view), b = boost::target(*e, view);
      const auto rate = flow_network::units(gigabytes_per_second{view[*e].rate});
      const auto sa = number.find(a), sb = number.find(b);
      const auto ma = member.find(a), mb = member.find(b);
      if (sa != number.end() && sb != number.end()) {
        fam.between.push_back({sa->second, sb->second, rate});
        const auto from = fam.root[sa->second], to = fam.root[sb->second];
        for (auto& r : fam.root)
          if (r == from) r = to;
      } else if (sa != number.end() && mb != member.end()) fam.attach(mb->second, sa->second, rate);
      else if (sb != number.end() && ma != member.end()) fam.attach(ma->second, sb->second, rate);
      else if (ma != member.end() && mb != member.end() && !fam.direct.empty()) {
        fam.direct[ma->second * size_ + mb->second] = fam.direct[mb->second * size_ + ma->second] = rate;
        fam.direct_joined[ma->second * size_ + mb->second] = fam.direct_joined[mb->second * size_ + ma->second] = 1;
      }
    }
    if (fam.used || !fam.direct.empty()) families_.push_back(std::move(fam));
  }
  for (auto& fam : families_) fam.prepare();
}

BERTH_INLINE std::optional<gigabytes_per_second> split_flow::across(const std::vector<char>& in_a) {
  std::int64_t most = 0;
  bool joined = false;
  for (auto& fam : families_) {
    most = std::max(most, fam.flow(in_a));
    joined = joined || fam.joined(in_a);
  }
  if (most == 0 && joined) return std::nullopt;
  return flow_network::rate(most);
}

BERTH_INLINE void split_flow::family::attach(std::size_t m, std::size_t s, std::int64_t rate) {
  to_switch[m * switches + s] += rate;
  reaches[m * switches + s] = 1;
  used = true;
}

BERTH_INLINE void split_flow::family::prepare() {
  net = std::make_unique<flow_network>(switches + 2);
  for (const auto& t : between) net->both_ways(t.a + 2, t.b + 2, t.rate);
  for (std::size_t s = 0; s < switches; ++s) {
    sources.push_back(net->one_way(0, s + 2));
    sinks.push_back(net->one_way(s + 2, 1));
  }
}

BERTH_INLINE std::int64_t split_flow::family::flow(const std::vector<char>& in_a) {
  std::int64_t straight = 0;
  if (!direct.empty())
    for (std::size_t i = 0; i < in_a.size(); ++i)
      for (std::size_t j = i + 1; j < in_a.size(); ++j)
        if (in_a[i] != in_a[j]) straight += direct[i * in_a.size() + j];
  if (!used) return straight;
  for (std::size_t s = 0; s < switches; ++s) {
    std::int64_t a = 0, b = 0;
    for (std::size_t i = 0; i < in_a.size(); ++i) (in_a[i] ? a : b) += to_switch[i * switches + s];
    net->set(sources[s], a);
    net->set(sinks[s], b);
  }
  return straight + net->max_flow(0, 1);
}

BERTH_INLINE bool split_flow::family::joined(const std::vector<char>& in_a) const {
  for (std::size_t i = 0; i < in_a.size(); ++i)
    for (std::size_t j = 0; j < in_a.size(); ++j) {
      if (!in_a[i] || in_a[j]) continue;
      if (!direct_joined.empty() && direct_joined[i * in_a.size() + j]) return true;
      for (std::size_t s = 0; s < switches; ++s)
        for (std::size_t t = 0; t < switches; ++t)
          if (root[s] == root[t] && reaches[i * switches + s] && reaches[j * switches + t]) return true;
    }
  return false;
}

}  // namespace berth::detail

namespace berth {

BERTH_INLINE std::optional<gigabytes_per_second> cut_bandwidth(const path_finder& finder, const std::vector<part_id>& a,
                                                               const std::vector<part_id>& b) {
  std::vector<part_id> set = a;
  set.insert(set.end(), b.begin(), b.end());
  std::vector<char> in_a(set.size());
  std::fill(in_a.begin(), in_a.begin() + static_cast<std::ptrdiff_t>(a.size()), char{1});
  return detail::split_flow{finder, set}.across(in_a);
}

BERTH_INLINE expected<bisection_result, bisection_error> bisection(const path_finder& finder,
                                                                   const std::vector<part_id>& set) {
  const std::size_t n = set.size();
  if (n < 2) return unexpected{bisection_error::too_few};
  if (n > exact_bisection_limit) return unexpected{bisection_error::too_many};
  for (std::size_t i = 0; i < n; ++i)
    for (std::size_t j = i + 1; j < n; ++j)
      if (set[i] == set[j]) return unexpected{bisection_error::repeated};
  detail::split_flow flows{finder, set};
  bisection_result best;
  std::vector<char> in_a(n);
  for (std::uint32_t bits = 1; bits < (std::uint32_t{1} << n); bits += 2) {  // the first device is always in the half
    std::size_t count = 0;
    for (std::size_t i = 0; i < n; ++i) {
      in_a[i] = static_cast<char>((bits >> i) & 1);
      if (in_a[i] != 0) ++count;
    }
    if (count != n / 2 && count != n - n / 2) continue;
    const auto rate = flows.across(in_a);
    if (rate && best.bandwidth && *rate >= *best.bandwidth) continue;
    best.bandwidth = rate;
    best.half.clear();
    for (std::size_t i = 0; i < n; ++i)
      if (in_a[i] != 0) best.half.push_back(set[i]);
    if (!rate) break;  // nothing smaller can be told any more
  }
  return best;
}

}  // namespace berth
