#pragma once
/// \file
/// The domain tree of a named site: which domains there are, and which node lies in which. Nodes that are not ready,
/// not schedulable, filtered out or without a domain at some level are not part of it.

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "berth/profile/site.hpp"
#include "berth/solver/counted_tree.hpp"

namespace berth {

class site_tree {
 public:
  struct leaf {
    std::uint32_t domain = 0;
    std::vector<std::size_t> nodes = {};
    amount_list free = {};  ///< free capacity of its nodes, less what runs there
  };

  /// O(nodes × levels). The site must outlive it.
  explicit site_tree(const named_site& site) : tree{site.levels.size()}, site_{site} {
    if (site.levels.empty()) return;
    for (std::size_t i = 0; i < site.nodes.size(); ++i) {
      const site_node& n = site.nodes[i];
      if (!n.ready || !n.schedulable || !belongs(n)) continue;
      std::vector<std::string> path;
      std::uint32_t at = counted_tree::none;
      for (std::size_t l = 0; l < site.levels.size(); ++l) {
        path.push_back(*n.path[l]);
        const auto [where, fresh] = known_.emplace(path, 0);
        if (fresh) {
          where->second = tree.add(at, l);
          names_.push_back(*n.path[l]);
          leaf_at_.push_back(no_leaf);
        }
        at = where->second;
      }
      if (leaf_at_[at] == no_leaf) {
        leaf_at_[at] = leaves.size();
        leaves.push_back({at, {}, {}});
      }
      leaves[leaf_at_[at]].nodes.push_back(i);
      leaves[leaf_at_[at]].free.add(n.free);
      by_name_.emplace(n.name, leaf_at_[at]);
      by_name_.emplace(path.back(), leaf_at_[at]);
    }
    std::vector<std::uint32_t> next(site.levels.size(), 0);
    for (const auto& [p, d] : known_) tree.set_rank(d, next[p.size() - 1]++);  // a map goes through paths in order
    for (const site_use& u : site.uses) {
      if (!u.counts) continue;
      if (leaf* l = of(u)) {
        l->free.add(u.requests, -u.count);
        if (u.requests.find("pods") == nullptr) l->free.set("pods", l->free.of("pods") - 1000 * u.count);
      }
    }
  }

  [[nodiscard]] const named_site& site() const noexcept { return site_; }
  [[nodiscard]] bool leaves_are_nodes() const noexcept {
    return !site_.levels.empty() && (site_.levels.back() == "host" || site_.levels.back() == "node");
  }
  [[nodiscard]] const std::string& name(std::uint32_t domain) const noexcept { return names_[domain]; }
  /// A node's labels, and its domains as labels of their levels' names.
  [[nodiscard]] label_list labels_of(const site_node& n) const {
    label_list out = n.labels;
    for (std::size_t l = 0; l < n.path.size() && l < site_.levels.size(); ++l)
      if (n.path[l] && value_of(n.labels, site_.levels[l]) == nullptr) out.push_back({site_.levels[l], *n.path[l]});
    if (leaves_are_nodes() && value_of(n.labels, "kubernetes.io/hostname") == nullptr)
      out.push_back({"kubernetes.io/hostname", *n.path.back()});
    return out;
  }
  /// Names of a domain and those around it, outermost first.
  [[nodiscard]] std::vector<std::string> path(std::uint32_t domain) const {
    std::vector<std::string> out(tree.at(domain).level + 1);
    for (std::size_t i = out.size(); i-- > 0; domain = tree.at(domain).parent) out[i] = names_[domain];
    return out;
  }
  /// The leaf of a domain of the last level.
  [[nodiscard]] leaf* leaf_at(std::uint32_t domain) noexcept {
    return leaf_at_[domain] == no_leaf ? nullptr : &leaves[leaf_at_[domain]];
  }
  /// The leaf of a path, of the name of one of its nodes, or of its own name. O(log nodes).
  [[nodiscard]] leaf* find(const std::vector<std::string>& where) {
    if (where.empty()) return nullptr;
    if (const auto full = known_.find(where); full != known_.end()) return leaf_at(full->second);
    const auto one = by_name_.find(where.back());
    return one == by_name_.end() ? nullptr : &leaves[one->second];
  }

  counted_tree tree;
  std::vector<leaf> leaves;

 private:
  static constexpr std::size_t no_leaf = ~std::size_t{0};
  [[nodiscard]] bool belongs(const site_node& n) const {
    for (const auto& d : n.path)
      if (!d) return false;
    for (const label& f : site_.node_filter) {
      const std::string* have = value_of(n.labels, f.key);
      if (have == nullptr || *have != f.value) return false;
    }
    return n.path.size() == site_.levels.size();
  }
  [[nodiscard]] leaf* of(const site_use& u) {
    if (u.domain.empty()) return u.node.empty() ? nullptr : find({u.node});
    return find(u.domain);
  }

  const named_site& site_;
  std::vector<std::string> names_;
  std::vector<std::size_t> leaf_at_;  // by domain
  std::map<std::vector<std::string>, std::uint32_t> known_;
  std::map<std::string, std::size_t> by_name_;
};

}  // namespace berth
