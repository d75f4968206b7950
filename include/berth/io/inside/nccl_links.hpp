#pragma once
/// \file
/// NVLinks and XGMI links of the GPUs of a host, as NCCL's topology files list them: from each GPU its links by the bus
/// id of what they lead to. Needs Boost.Graph.
/// Source: src/graph/xml.cc and topo.cc of NCCL 2.2x.

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "berth/io/inside/bus_id.hpp"
#include "berth/io/inside/gpu_names.hpp"
#include "berth/io/inside/pci_tree.hpp"
#include "berth/io/text.hpp"

namespace berth::inside_text {

/// One <nvlink> or <xgmi> of a GPU.
struct nccl_link {
  std::size_t gpu = 0;  ///< item of the tree
  std::string target;   ///< bus id
  std::uint16_t count = 0;
  bool xgmi = false, to_cpu = false, to_gpu = false;
  std::size_t line = 0;
};

/// What is known of the GPUs of a host beside its tree.
struct nccl_links {
  const std::vector<nccl_link>& rows;
  const std::map<std::size_t, unsigned>& sm;   ///< compute capability by item of a GPU
  std::map<std::string, std::size_t>& by_bus;  ///< items; gets the NVSwitches that only links name
};

/// Stands in a tree for the bus id of an NVSwitch outside of the host, which has none.
inline constexpr const char* no_bus_id = " ";

namespace nccl_detail {

/// NVLinks by compute capability, for GPUs that the catalogue does not know.
[[nodiscard]] inline link nvlinks(const catalogue::gpu_model* model, unsigned sm, std::uint16_t count) {
  link l = nvlink_of(model, count);
  if (l.rate) return l;
  struct generation {
    unsigned sm;
    std::uint8_t number;
    double gbps;
  };
  constexpr generation known[] = {{60, 1, 20}, {70, 2, 25}, {80, 3, 25}, {90, 4, 25}, {100, 5, 50}, {103, 5, 50}};
  for (const auto& k : known)
    if (k.sm == sm) {
      l.generation = k.number;
      l.rate = gigabytes_per_second{k.gbps * count};
    }
  return l;
}

[[nodiscard]] inline bool under(const pci_tree& t, const std::vector<std::size_t>& tops, std::size_t item,
                                std::size_t depth) {
  for (const auto i : tops)
    if (i == item || (depth < 100 && under(t, t.items[i].below, item, depth + 1))) return true;
  return false;
}

}  // namespace nccl_detail

/// Adds the links to the tree: one link for what both ends state. \param shared  set where the links lead to NVSwitches
/// outside of the host. O(links × log links, and items for links to a CPU).
inline void join_by_links(const nccl_links& of, pci_tree& tree, std::vector<std::string>& assumptions, bool& shared) {
  struct seen {
    std::uint16_t count = 0;
    std::size_t line = 0;
    bool both = false;
  };
  std::map<std::pair<std::size_t, std::size_t>, seen> pairs;
  std::size_t outside = 0, self = 0;
  for (const auto& r : of.rows) {
    const auto it = of.by_bus.find(r.target);
    const pci_item& from = tree.items[r.gpu];
    const auto* model = catalogue::find_gpu_model(from.content.model);
    const unsigned sm = [&] {
      const auto at = of.sm.find(r.gpu);
      return at == of.sm.end() ? 0U : at->second;
    }();
    if (r.to_cpu) {
      for (std::size_t n = 0; n < tree.numas.size(); ++n)
        if (nccl_detail::under(tree, tree.numas[n].below, r.gpu, 0))
          tree.links.push_back({r.gpu, n, true, nccl_detail::nvlinks(model, sm, r.count)});
      continue;
    }
    if (it != of.by_bus.end() && it->second == r.gpu) {
      ++self;
      continue;
    }
    if (it == of.by_bus.end() && r.to_gpu) {
      ++outside;
      continue;
    }
    std::size_t to = 0;
    if (it == of.by_bus.end()) {
      // An NVSwitch, which has no <pci> of its own.
      pci_item s;
      s.what = pci_item::kind::nvswitch;
      s.address = parse_pci_address(r.target);
      to = tree.items.size();
      of.by_bus.emplace(r.target, to);
      if (r.target == "fffffff:ff:ff.0") {
        shared = true;
        s.content.bus_id = no_bus_id;
      }
      tree.items.push_back(std::move(s));
    } else {
      to = it->second;
    }
    const auto key = std::minmax(r.gpu, to);
    const auto [p, fresh] = pairs.try_emplace({key.first, key.second}, seen{r.count, r.line, false});
    if (!fresh) {
      if (p->second.count != r.count && tree.items[to].what == pci_item::kind::gpu)
        assumptions.push_back("lines " + std::to_string(p->second.line) + " and " + std::to_string(r.line) +
                              " state unlike numbers of links for the same two GPUs: the smaller one counts");
      p->second.count = tree.items[to].what == pci_item::kind::gpu
                            ? std::min(p->second.count, r.count)
                            : static_cast<std::uint16_t>(p->second.count + r.count);
      p->second.both = true;
      continue;
    }
    link l = r.xgmi ? link{link_kind::xgmi, {}, {}, {}, {}, {}, true} : nccl_detail::nvlinks(model, sm, 1);
    tree.links.push_back({key.first, key.second, false, l});
  }
  for (auto& l : tree.links) {
    if (l.to_numa) continue;
    const auto p = pairs.find({l.a, l.b});
    if (p == pairs.end()) continue;
    l.content.count = p->second.count;
    if (l.content.rate) l.content.rate = gigabytes_per_second{l.content.rate->count() * p->second.count};
  }
  if (self != 0)
    assumptions.push_back(io_text::counted(self, "GPU") +
                          " whose NVLinks are stated to lead to itself: left out, "
                          "the file does not tell its peer");
  if (outside != 0)
    assumptions.push_back(io_text::counted(outside, "link") +
                          " between GPUs leading to GPUs that are not in the file: left out");
}

}  // namespace berth::inside_text
