#pragma once
/// \file
/// Volcano's HyperNodes: a tree of domains by tier, whose members are named, matched by a pattern or by labels.
/// Needs nlohmann-json and yaml-cpp (through `io/kubernetes/values.hpp`).
///
/// A HyperNode that others name as a member but no document of the file defines stays in the tree without members:
/// `join_topologies` (`io/topology_rules.hpp`) joins the trees of several files by name.
/// Source: volcano-sh/apis `pkg/apis/topology/v1alpha1/hypernode_types.go`.

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "berth/core/error.hpp"
#include "berth/core/expected.hpp"
#include "berth/io/json_document.hpp"
#include "berth/io/kubernetes/documents.hpp"
#include "berth/io/kubernetes/nodes.hpp"
#include "berth/io/kubernetes/values.hpp"
#include "berth/io/site_report.hpp"
#include "berth/io/topology_rules.hpp"

namespace berth {

/// The name of the topology that HyperNodes of all files make.
inline constexpr std::string_view hypernode_topology = "HyperNodes";

namespace kube_detail {

/// `{matchLabels: …, matchExpressions: …}`.
[[nodiscard]] inline expected<std::vector<label_requirement>, input_error> read_label_selector(const json_value& v,
                                                                                               const kube_reader& in) {
  std::vector<label_requirement> out;
  const auto match = in.optional_member(v, "matchLabels", json_value::kind::object);
  if (!match) return unexpected{match.error()};
  if (*match != nullptr)
    for (std::size_t i = 0; i < (*match)->keys.size(); ++i) {
      const json_value& w = (*match)->items[i];
      if (w.type == json_value::kind::object || w.type == json_value::kind::array)
        return in.error(w, (*match)->keys[i] + ": " + w.described(), "a word");
      out.push_back({(*match)->keys[i], label_requirement::kind::in, {scalar_text(w)}});
    }
  const auto expressions = in.optional_member(v, "matchExpressions", json_value::kind::array);
  if (!expressions) return unexpected{expressions.error()};
  if (*expressions != nullptr)
    for (const auto& e : (*expressions)->items) {
      label_requirement r;
      const auto key = in.text(e, "key");
      if (!key) return unexpected{key.error()};
      const auto op = in.text(e, "operator");
      if (!op) return unexpected{op.error()};
      r.key = *key;
      if (*op == "In") r.what = label_requirement::kind::in;
      else if (*op == "NotIn") r.what = label_requirement::kind::not_in;
      else if (*op == "Exists") r.what = label_requirement::kind::exists;
      else if (*op == "DoesNotExist") r.what = label_requirement::kind::missing;
      else return in.error(e, "operator: " + io_text::quoted(*op), "In, NotIn, Exists or DoesNotExist");
      const auto values = in.optional_member(e, "values", json_value::kind::array);
      if (!values) return unexpected{values.error()};
      if (*values != nullptr)
        for (const auto& w : (*values)->items) {
          if (w.type == json_value::kind::object || w.type == json_value::kind::array)
            return in.error(w, "values: " + w.described(), "a list of words");
          r.values.push_back(scalar_text(w));
        }
      const bool takes = *op == "In" || *op == "NotIn";
      if (takes == r.values.empty())
        return in.error(e, *op + (takes ? " without values" : " with values"), takes ? "values" : "no values");
      out.push_back(std::move(r));
    }
  if (out.empty()) return in.error(v, "a selector of no labels", "matchLabels or matchExpressions");
  return out;
}

/// Collects the HyperNodes of a file into one topology.
class hypernode_tree {
 public:
  hypernode_tree(reading& r, topology_report& t) : r_{r}, t_{t} {}

  [[nodiscard]] expected<void, input_error> add(const kube_object& o) {
    const json_value& v = *o.value;
    if (o.name.empty()) return r_.in.missing(v, "metadata.name", "a HyperNode's name");
    const auto spec = r_.in.member(v, "spec", json_value::kind::object);
    if (!spec) return unexpected{spec.error()};
    const auto tier = r_.in.integer(**spec, "tier", 0, 1'000'000);
    if (!tier) return unexpected{tier.error()};
    const auto tier_name = r_.in.optional_text(**spec, "tierName");
    if (!tier_name) return unexpected{tier_name.error()};
    if (t_.domains.empty()) t_.place = r_.in.place(v);
    const std::uint32_t d = domain_of(o.name, v);
    if (defined_[d] != 0)
      return r_.in.error(v, "HyperNode " + io_text::quoted(o.name) + " a second time", "each HyperNode once");
    defined_[d] = 1;
    tier_[d] = *tier;
    t_.domain_places[d] = r_.in.place(v);
    t_.domains[d].level = *tier_name && !(*tier_name)->empty() ? **tier_name : "tier" + std::to_string(*tier);
    // A name that had to be changed for Kubernetes is kept beside.
    if (const auto* notes = o.metadata("annotations"))
      if (const auto* own = notes->find(std::string{own_level_prefix} + "name"))
        if (const std::string name = scalar_text(*own); !name.empty()) t_.domains[d].name = name;
    const auto members = r_.in.optional_member(**spec, "members", json_value::kind::array);
    if (!members) return unexpected{members.error()};
    if (*members == nullptr) return {};
    for (const auto& m : (*members)->items)
      if (auto ok = add_member(m, d); !ok) return ok;
    return {};
  }

  /// Patterns of member HyperNodes, cycles, tiers.
  [[nodiscard]] expected<void, input_error> finish() {
    std::size_t tries = 0;
    for (const auto& p : patterns_) {
      const auto regex = parse_name_pattern(p.text);
      for (std::uint32_t c = 0; regex && c < t_.domains.size(); ++c) {
        if (c == p.parent || defined_[c] == 0 || names_[c].size() > 253) continue;
        if (++tries > 10'000'000) return r_.in.error(*p.at, "too many patterns for HyperNodes", "exact names");
        if (!std::regex_search(names_[c], *regex)) continue;
        if (auto ok = set_parent(c, p.parent, *p.at); !ok) return ok;
      }
    }
    for (std::uint32_t d = 0; d < t_.domains.size(); ++d) {
      const std::uint32_t parent = t_.domains[d].parent;
      if (parent == domain_declaration::no_parent || defined_[d] == 0 || defined_[parent] == 0) continue;
      if (tier_[parent] <= tier_[d])
        return unexpected{t_.domain_places[parent].error(
            "HyperNode " + io_text::quoted(names_[parent]) + " of tier " + std::to_string(tier_[parent]) +
                " with member " + io_text::quoted(names_[d]) + " of tier " + std::to_string(tier_[d]),
            "members of lower tiers")};
    }
    // Only what no document defines can still close a cycle; it has no members, so there is none.
    return {};
  }

 private:
  struct pattern {
    std::string text;
    std::uint32_t parent;
    const json_value* at;
  };

  std::uint32_t domain_of(const std::string& name, const json_value& at) {
    const auto [it, fresh] = known_.emplace(name, static_cast<std::uint32_t>(t_.domains.size()));
    if (fresh) {
      t_.domains.push_back({name, domain_declaration::no_parent, {}});
      t_.domain_places.push_back(r_.in.place(at));
      names_.push_back(name);
      defined_.push_back(0);
      tier_.push_back(0);
    }
    return it->second;
  }
  [[nodiscard]] expected<void, input_error> set_parent(std::uint32_t child, std::uint32_t parent,
                                                       const json_value& at) {
    std::uint32_t& p = t_.domains[child].parent;
    if (child == parent)
      return r_.in.error(at, "HyperNode " + io_text::quoted(names_[child]) + " as its own member", "other HyperNodes");
    if (p != domain_declaration::no_parent && p != parent)
      return r_.in.error(at,
                         "HyperNode " + io_text::quoted(names_[child]) + " in " + io_text::quoted(names_[p]) +
                             " and in " + io_text::quoted(names_[parent]),
                         "each HyperNode in at most one other");
    p = parent;
    return {};
  }
  [[nodiscard]] expected<void, input_error> add_member(const json_value& m, std::uint32_t d) {
    const auto type = r_.in.text(m, "type");
    if (!type) return unexpected{type.error()};
    if (*type != "Node" && *type != "HyperNode")
      return r_.in.error(m, "type: " + io_text::quoted(*type), "Node or HyperNode");
    const bool node = *type == "Node";
    const auto selector = r_.in.member(m, "selector", json_value::kind::object);
    if (!selector) return unexpected{selector.error()};
    const auto exact = r_.in.optional_member(**selector, "exactMatch", json_value::kind::object);
    const auto regex = r_.in.optional_member(**selector, "regexMatch", json_value::kind::object);
    const auto label = r_.in.optional_member(**selector, "labelMatch", json_value::kind::object);
    if (!exact) return unexpected{exact.error()};
    if (!regex) return unexpected{regex.error()};
    if (!label) return unexpected{label.error()};
    const int kinds = (*exact != nullptr ? 1 : 0) + (*regex != nullptr ? 1 : 0) + (*label != nullptr ? 1 : 0);
    if (kinds != 1)
      return r_.in.error(**selector, std::to_string(kinds) + " kinds of match",
                         "one of exactMatch, regexMatch and labelMatch");
    if (*exact != nullptr) {
      const auto name = r_.in.text(**exact, "name");
      if (!name) return unexpected{name.error()};
      if (!node) return set_parent(domain_of(*name, **exact), d, **exact);
      if (t_.members.size() >= r_.options.max_machines)
        return r_.in.error(m, "more than " + std::to_string(r_.options.max_machines) + " members", "a smaller file");
      const auto [it, fresh] = member_.emplace(*name, d);
      if (!fresh && it->second != d)
        return r_.in.error(**exact,
                           "node " + io_text::quoted(*name) + " in " + io_text::quoted(names_[it->second]) +
                               " and in " + io_text::quoted(names_[d]),
                           "each node in one HyperNode");
      if (fresh) t_.members.push_back({*name, d});
      return {};
    }
    if (*regex != nullptr) {
      const auto text = r_.in.text(**regex, "pattern");
      if (!text) return unexpected{text.error()};
      if (!parse_name_pattern(*text))
        return r_.in.error(**regex, "pattern: " + io_text::quoted(*text),
                           "a regular expression of at most 256 characters, without references back");
      if (node) t_.rules.push_back({r_.in.place(**regex), d, *text, {}});
      else patterns_.push_back({*text, d, *regex});
      return {};
    }
    if (!node)
      return r_.in.error(**label, "labelMatch for HyperNodes", "exactMatch or regexMatch; labels select nodes");
    auto requirements = read_label_selector(**label, r_.in);
    if (!requirements) return unexpected{requirements.error()};
    t_.rules.push_back({r_.in.place(**label), d, {}, std::move(*requirements)});
    return {};
  }

  reading& r_;
  topology_report& t_;
  std::unordered_map<std::string, std::uint32_t> known_;
  std::unordered_map<std::string, std::uint32_t> member_;
  std::vector<std::string> names_;  ///< of HyperNodes, by domain
  std::vector<char> defined_;
  std::vector<std::int64_t> tier_;
  std::vector<pattern> patterns_;
};

}  // namespace kube_detail
}  // namespace berth
