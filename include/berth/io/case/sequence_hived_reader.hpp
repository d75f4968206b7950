#pragma once
/// \file
/// The cells and tenants of cases after HiveD's tests. Needs nlohmann-json.

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "berth/io/case/value.hpp"
#include "berth/profile/hived.hpp"

namespace berth::case_io {

/// The cells and tenants of a case.
class hived_reader {
 public:
  explicit hived_reader(const case_question& q) : q_{q} {}

  std::vector<std::string> nodes;  ///< by number
  std::string unknown;             ///< what the case needs and this cannot do
  unread_members unread;

  /// Nothing where the tenants' cells do not fit into the cluster.
  [[nodiscard]] read<std::optional<hived::scheduler>> start() {
    const auto* c = cluster();
    if (c == nullptr) return object{q_.body, q_.source}.wrong("cluster_ref", q_.body, "a cluster of the file");
    const object o{*c, q_.source};
    if (auto ok = o.is_object("cluster"); !ok) return unexpected{std::move(ok).error()};
    if (auto ok = read_nodes(o); !ok) return unexpected{std::move(ok).error()};
    for (std::size_t i = 0; i < book_.chains.size(); ++i)
      if (auto ok = build_chain(i, o); !ok) return unexpected{std::move(ok).error()};
    read_note(o);
    for (auto& [name, id] : pinned_) id = common(pinned_at_[name]);
    if (auto ok = read_tenants(); !ok) return unexpected{std::move(ok).error()};
    auto models = models_of(o);
    if (!models) return unexpected{std::move(models).error()};
    if (unread.misspelt) return unexpected{*unread.misspelt};
    if (unknown.empty()) unknown = unread.first;
    if (!unknown.empty()) return std::optional<hived::scheduler>{};
    return hived::scheduler::start(std::move(book_), std::move(*models), pinned_, nodes.size());
  }
  [[nodiscard]] std::optional<std::size_t> node(std::string_view name) const {
    const auto i = std::find(nodes.begin(), nodes.end(), name);
    if (i == nodes.end()) return {};
    return static_cast<std::size_t>(i - nodes.begin());
  }

 private:
  static constexpr std::size_t most_cells = 1'000'000, most_levels = 16;
  struct host {
    std::size_t number = 0, chain = 0;
    std::vector<std::string> path;
    const json_value* tree = nullptr;
    std::string pinned_as;
  };

  [[nodiscard]] const json_value* cluster() const {
    const auto* ref = q_.given("cluster_ref");
    if (ref == nullptr) return q_.given("cluster");
    const auto* all = q_.file == nullptr ? nullptr : q_.file->find("clusters");
    return all == nullptr || ref->type != json_value::kind::string ? nullptr : all->find(ref->text);
  }
  [[nodiscard]] std::optional<std::size_t> chain(std::string_view name) const {
    for (std::size_t i = 0; i < book_.chains.size(); ++i)
      if (book_.chains[i].name == name) return i;
    return {};
  }
  [[nodiscard]] read<void> read_nodes(const object& o) {
    auto list = o.objects("nodes");
    if (!list) return unexpected{std::move(list).error()};
    unread.look(o.value(), "nodes chain_preference", "cluster", q_.source);
    for (const auto& n : *list) {
      unread.look(n.value(), "name chain gpu_model pinned_as path device_tree", "node", q_.source);
      host h;
      auto name = n.name();
      if (!name) return unexpected{std::move(name).error()};
      std::string chain_name, model;
      for (const auto& [key, to] :
           {std::pair{"chain", &chain_name}, std::pair{"gpu_model", &model}, std::pair{"pinned_as", &h.pinned_as}})
        if (auto ok = n.text(key, *to); !ok) return ok;
      if (auto ok = n.texts("path", h.path); !ok) return ok;
      if (h.path.empty() || h.path.size() > most_levels)
        return n.wrong("path", n.value(), "the cells that hold the node");
      auto tree = n.needed("device_tree", json_value::kind::array, "the devices of the node");
      if (!tree) return unexpected{std::move(tree).error()};
      h.tree = *tree;
      if (const auto known = node(*name)) {
        h.number = *known;
      } else {
        h.number = nodes.size();
        nodes.push_back(*name);
      }
      if (const auto known = chain(chain_name)) {
        h.chain = *known;
        if (book_.chains[h.chain].model != model) return n.wrong("gpu_model", n.value(), "one model in each chain");
      } else {
        h.chain = book_.chains.size();
        book_.chains.push_back({chain_name, model, {}, {}, {}, {}, {}, {}, 0});
      }
      hosts_.push_back(std::move(h));
    }
    if (hosts_.empty()) return o.wrong("nodes", o.value(), "at least one node");
    return {};
  }
  /// A chain of single nodes ends at the node, any other one at the first cell of the path.
  [[nodiscard]] read<void> build_chain(std::size_t n, const object& o) {
    std::vector<std::size_t> mine;
    for (std::size_t i = 0; i < hosts_.size(); ++i)
      if (hosts_[i].chain == n) mine.push_back(i);
    const auto path_size = hosts_[mine[0]].path.size();
    bool shared = path_size > 1;
    for (std::size_t a = 0; a < mine.size(); ++a) {
      if (hosts_[mine[a]].path.size() != path_size) return o.wrong("path", o.value(), "paths of one length in a chain");
      for (std::size_t b = 0; b < a; ++b) shared = shared || hosts_[mine[a]].path[0] == hosts_[mine[b]].path[0];
    }
    const auto above = shared ? path_size : 0;
    const auto below = depth(*hosts_[mine[0]].tree);
    if (below == 0 || below > most_levels) return o.wrong("device_tree", o.value(), "devices at one depth");
    auto& all = book_.chains[n].all;
    all.resize(above + below + 1);
    book_.chains[n].node_level = below;
    if (above == 0) {
      for (const auto i : mine)
        if (auto c = build_host(i, below, o); !c) return unexpected{std::move(c).error()};
    } else if (auto ok = build_group(mine, 0, above, below, o); !ok) {
      return unexpected{std::move(ok).error()};
    }
    for (const auto& l : all)
      for (const auto c : l)
        if (book_.at(c).children.size() != book_.at(l[0]).children.size())
          return o.wrong("nodes", o.value(), "cells of one shape in a chain");
    return {};
  }
  [[nodiscard]] static std::size_t depth(const json_value& v) {
    std::size_t out = 0;
    for (const auto* at = &v; at->type == json_value::kind::array && !at->items.empty(); at = &at->items[0]) ++out;
    return out;
  }
  [[nodiscard]] hived::cell_id add(std::size_t n, std::size_t level) {
    hived::cell c;
    c.chain = n;
    c.level = level;
    c.devices = 0;
    book_.cells.push_back(std::move(c));
    book_.chains[n].all[level].push_back(book_.cells.size() - 1);
    return book_.cells.size() - 1;
  }
  void adopt(hived::cell_id parent, hived::cell_id child) {
    auto& p = book_.at(parent);
    book_.at(child).parent = parent;
    p.children.push_back(child);
    p.devices += book_.at(child).devices;
    for (const auto n : book_.at(child).nodes)
      if (!hived::holds(p.nodes, n)) p.nodes.push_back(n);
  }
  /// The cells for hosts that share a path so far.
  [[nodiscard]] read<std::vector<hived::cell_id>> build_group(const std::vector<std::size_t>& hosts, std::size_t at,
                                                              std::size_t above, std::size_t below, const object& o) {
    std::vector<hived::cell_id> out;
    std::vector<std::pair<std::string, std::vector<std::size_t>>> groups;
    for (const auto h : hosts) {
      if (at == above) {
        auto c = build_host(h, below, o);
        if (!c) return unexpected{std::move(c).error()};
        out.push_back(*c);
        continue;
      }
      const auto& name = hosts_[h].path[at];
      auto g = std::find_if(groups.begin(), groups.end(), [&](const auto& x) { return x.first == name; });
      if (g == groups.end()) g = groups.insert(groups.end(), {name, {}});
      g->second.push_back(h);
    }
    for (const auto& [name, members] : groups) {
      const auto c = add(hosts_[hosts[0]].chain, below + above - at);
      auto children = build_group(members, at + 1, above, below, o);
      if (!children) return unexpected{std::move(children).error()};
      for (const auto child : *children) adopt(c, child);
      book_.at(c).node_or_above = true;
      out.push_back(c);
    }
    return out;
  }
  [[nodiscard]] read<hived::cell_id> build_host(std::size_t h, std::size_t level, const object& o) {
    auto c = build_tree(*hosts_[h].tree, level, h, o);
    if (!c) return unexpected{std::move(c).error()};
    book_.at(*c).node_or_above = true;
    if (!hosts_[h].pinned_as.empty()) {
      pinned_[hosts_[h].pinned_as] = hived::none;
      pinned_at_[hosts_[h].pinned_as].push_back(*c);
    }
    return *c;
  }
  [[nodiscard]] read<hived::cell_id> build_tree(const json_value& v, std::size_t level, std::size_t h,
                                                const object& o) {
    if (book_.cells.size() >= most_cells) return o.wrong("nodes", v, "at most a million cells");
    const auto c = add(hosts_[h].chain, level);
    book_.at(c).nodes = {hosts_[h].number};
    if (level == 0) {
      if (v.type != json_value::kind::integer || v.integer < 0)
        return o.wrong("device_tree", v, "numbers of devices at one depth");
      book_.at(c).device = v.integer;
      book_.at(c).devices = 1;
      return c;
    }
    if (v.type != json_value::kind::array || v.items.empty()) return o.wrong("device_tree", v, "devices at one depth");
    for (const auto& i : v.items) {
      auto child = build_tree(i, level - 1, h, o);
      if (!child) return unexpected{std::move(child).error()};
      adopt(c, *child);
    }
    return c;
  }
  /// The smallest cell that holds all of some.
  [[nodiscard]] hived::cell_id common(const hived::cell_list& of) const {
    for (auto c = of[0]; c != hived::none; c = book_.at(c).parent)
      if (std::all_of(of.begin(), of.end(), [&](hived::cell_id x) {
            for (; x != hived::none; x = book_.at(x).parent)
              if (x == c) return true;
            return false;
          }))
        return c;
    return of[0];
  }
  /// Single devices that are pinned stand in the cluster's note: "GPU 8 of 1.0.0.2 is pinned as NAME".
  void read_note(const object& o) {
    const auto* v = o.given("note");
    if (v == nullptr || v->type != json_value::kind::string) return;
    std::vector<std::string> words(1);
    for (const char c : v->text)
      if (c == ' ' || c == '\n') words.emplace_back();
      else words.back() += c;
    for (std::size_t i = 0; i + 7 < words.size(); ++i) {
      if (words[i] != "GPU" || words[i + 2] != "of" || words[i + 5] != "pinned" || words[i + 6] != "as") continue;
      auto name = words[i + 7];
      while (!name.empty() && (name.back() == '.' || name.back() == ',')) name.pop_back();
      const auto host_number = node(words[i + 3]);
      const auto device = label_condition::whole(words[i + 1]);
      if (!host_number || !device) continue;
      for (const auto& ch : book_.chains)
        for (const auto c : ch.all[0])
          if (pinned_at_[name].empty() && book_.at(c).nodes[0] == *host_number && book_.at(c).device == *device) {
            pinned_[name] = hived::none;
            pinned_at_[name].push_back(c);
          }
    }
  }
  /// "single node", "pair of nodes", "4 nodes", "cpu socket (half node)", "single GPU".
  [[nodiscard]] std::optional<std::size_t> level_of(const hived::chain& c, const std::string& text) const {
    const auto has = [&](const char* word) { return text.find(word) != std::string::npos; };
    const auto devices_in_node = book_.at(c.all[c.node_level][0]).devices;
    std::int64_t devices = 0;
    std::int64_t times = 1;
    if (const auto digit = text.find_first_of("0123456789"); digit != std::string::npos)
      times =
          label_condition::whole(text.substr(digit, text.find_first_not_of("0123456789", digit) - digit)).value_or(1);
    if (has("half")) devices = devices_in_node / 2;
    else if (has("quarter")) devices = devices_in_node / 4;
    else if (has("pair of nodes")) devices = 2 * devices_in_node;
    else if (has("node")) devices = times * devices_in_node;
    else if (has("GPU") || has("gpu") || has("device")) devices = times;
    for (std::size_t l = 0; l < c.all.size(); ++l)
      if (book_.at(c.all[l][0]).devices == devices &&
          (l >= c.node_level || !has("node") || has("half") || has("quarter")))
        return l;
    return {};
  }
  [[nodiscard]] read<void> read_tenants() {
    const auto* v = q_.given("tenants");
    if (v == nullptr) return {};
    const object all{*v, q_.source};
    if (auto ok = all.is_object("tenants"); !ok) return ok;
    for (std::size_t i = 0; i < v->keys.size(); ++i) {
      hived::tenant t;
      t.name = v->keys[i];
      t.reserved.resize(book_.chains.size());
      t.views.resize(book_.chains.size());
      for (std::size_t n = 0; n < book_.chains.size(); ++n) {
        const auto levels = book_.chains[n].all.size();
        t.reserved[n].roots.resize(levels);
        t.reserved[n].doomed.resize(levels);
        t.reserved[n].owed.assign(levels, 0);
      }
      const object o{v->items[i], q_.source};
      if (auto ok = o.is_object("tenants"); !ok) return ok;
      unread.look(o.value(), "reserved pinned", "tenant", q_.source);
      if (auto ok = read_reserved(o, t, i); !ok) return ok;
      std::vector<std::string> pinned;
      if (auto ok = o.texts("pinned", pinned); !ok) return ok;
      for (const auto& name : pinned) {
        const auto p = pinned_.find(name);
        if (p == pinned_.end()) {
          if (unknown.empty()) unknown = "pinned cell " + name + " of unknown place";
          continue;
        }
        const auto& physical = book_.at(p->second);
        auto& r = t.reserved[physical.chain];
        r.any = true;
        ++r.owed[physical.level];
        hived::tenant::pinned_cell cell{name, {}, {}};
        book_.grow(physical.chain, physical.level, i, hived::none, cell.all);
        t.pinned.push_back(std::move(cell));
      }
      book_.tenants.push_back(std::move(t));
    }
    return {};
  }
  [[nodiscard]] read<void> read_reserved(const object& o, hived::tenant& t, std::size_t number) {
    auto list = o.objects("reserved");
    if (!list) return unexpected{std::move(list).error()};
    for (const auto& x : *list) {
      std::string chain_name, cell;
      std::int64_t count = 0;
      unread.look(x.value(), "chain cell count", "reserved cell", q_.source);
      if (auto ok = x.text("chain", chain_name); !ok) return ok;
      if (auto ok = x.text("cell", cell); !ok) return ok;
      if (auto ok = x.integer("count", count, 0, 1'000'000); !ok) return ok;
      const auto n = chain(chain_name);
      if (!n) return x.wrong("chain", x.value(), "a chain of the cluster");
      const auto level = level_of(book_.chains[*n], cell);
      if (!level) {
        if (unknown.empty()) unknown = "reserved cell " + cell;
        continue;
      }
      auto& r = t.reserved[*n];
      r.any = true;
      r.owed[*level] += count;
      const auto devices = book_.at(book_.chains[*n].all[*level][0]).devices;
      for (; count > 0; --count) {
        if (book_.cells.size() + 2 * static_cast<std::size_t>(devices) >= most_cells)
          return x.wrong("count", x.value(), "at most a million cells");
        r.roots[*level].push_back(book_.grow(*n, *level, number, hived::none, r.all));
      }
    }
    return {};
  }
  /// Chains by model: models by descending name; chains as preferred, else by descending name too.
  [[nodiscard]] read<std::vector<std::pair<std::string, std::vector<std::size_t>>>> models_of(const object& o) const {
    std::map<std::string, std::vector<std::size_t>> by_model;
    for (std::size_t i = 0; i < book_.chains.size(); ++i) by_model[book_.chains[i].model].push_back(i);
    const auto* preference = o.given("chain_preference");
    std::vector<std::pair<std::string, std::vector<std::size_t>>> out;
    for (auto i = by_model.rbegin(); i != by_model.rend(); ++i) {
      std::vector<std::string> wanted;
      if (preference != nullptr)
        if (auto ok = object{*preference, q_.source}.texts(i->first, wanted); !ok)
          return unexpected{std::move(ok).error()};
      const auto rank = [&](std::size_t c) {
        return std::find(wanted.begin(), wanted.end(), book_.chains[c].name) - wanted.begin();
      };
      std::sort(i->second.begin(), i->second.end(), [&](std::size_t a, std::size_t b) {
        return rank(a) != rank(b) ? rank(a) < rank(b) : book_.chains[a].name > book_.chains[b].name;
      });
      out.emplace_back(i->first, i->second);
    }
    return out;
  }

  const case_question& q_;
  hived::reservation_book book_;
  std::vector<host> hosts_;
  std::map<std::string, hived::cell_id> pinned_;
  std::map<std::string, hived::cell_list> pinned_at_;
};

}  // namespace berth::case_io
