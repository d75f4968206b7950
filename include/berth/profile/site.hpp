#pragma once
/// \file
/// A cluster as the other schedulers' tests state it: nodes by name, resources by name, domains by the labels of their
/// nodes. For questions and answers and for simulation of small clusters; the hot path has `berth::cluster`.

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "berth/profile/labels.hpp"

namespace berth {

/// An amount of a named resource in thousandths of its unit (cpu: thousandths of a millicore, gpu: of a GPU), so that
/// shares of a GPU are exact.
struct named_amount {
  std::string resource;
  std::int64_t thousandths = 0;
};
/// Each resource at most once, in the order of their names.
class amount_list {
 public:
  /// No single amount is larger: two petabytes in thousandths of a byte.
  static constexpr std::int64_t most = std::int64_t{2'000'000'000'000'000'000};

  [[nodiscard]] std::int64_t of(std::string_view resource) const noexcept {
    const auto* a = find(resource);
    return a == nullptr ? 0 : a->thousandths;
  }
  [[nodiscard]] const named_amount* find(std::string_view resource) const noexcept {
    for (const auto& a : amounts_)
      if (a.resource == resource) return &a;
    return nullptr;
  }
  void set(std::string_view resource, std::int64_t thousandths) {
    std::size_t i = 0;
    while (i < amounts_.size() && amounts_[i].resource < resource) ++i;
    if (i < amounts_.size() && amounts_[i].resource == resource) amounts_[i].thousandths = thousandths;
    else amounts_.insert(amounts_.begin() + static_cast<std::ptrdiff_t>(i), {std::string{resource}, thousandths});
  }
  /// Adds `times` of another list; saturates at +-4 `most`.
  void add(const amount_list& o, std::int64_t times = 1) {
    for (const auto& a : o.amounts_) {
      const double sum =
          static_cast<double>(of(a.resource)) + static_cast<double>(a.thousandths) * static_cast<double>(times);
      constexpr double edge = 4.0 * static_cast<double>(most);
      if (sum > edge || sum < -edge) set(a.resource, sum > 0 ? 4 * most : -4 * most);
      else set(a.resource, of(a.resource) + a.thousandths * times);
    }
  }
  [[nodiscard]] bool empty() const noexcept { return amounts_.empty(); }
  [[nodiscard]] auto begin() const noexcept { return amounts_.begin(); }
  [[nodiscard]] auto end() const noexcept { return amounts_.end(); }
  [[nodiscard]] std::size_t size() const noexcept { return amounts_.size(); }

 private:
  std::vector<named_amount> amounts_;
};

/// How many times `need` fits into `free`, at most 2^31 - 1: the least quotient over the resources that are needed;
/// `otherwise` where nothing is. `short_of` gets the first resource, by name, that does not suffice for one.
[[nodiscard]] inline std::int64_t times_in(const amount_list& free, const amount_list& need, std::int64_t otherwise,
                                           std::string* short_of = nullptr) {
  std::int64_t least = -1;
  for (const auto& n : need) {
    if (n.thousandths <= 0) continue;
    const std::int64_t have = free.of(n.resource);
    const std::int64_t fits = have <= 0 ? 0 : have / n.thousandths;
    if (least < 0 || fits < least) {
      least = fits;
      if (fits == 0 && short_of != nullptr) *short_of = n.resource;
    }
  }
  constexpr std::int64_t ceiling = 2'147'483'647;
  return least < 0 ? otherwise : least < ceiling ? least : ceiling;
}

/// One node.
struct site_node {
  std::string name;
  std::vector<std::optional<std::string>> path;  ///< one domain per level of the site; empty without that label
  amount_list capacity;
  amount_list free;  ///< before `site_use`; equals `capacity` unless stated
  std::optional<std::int64_t> free_slots;
  label_list labels;
  std::vector<node_taint> taints;
  bool ready = true;
  bool schedulable = true;
};

/// What runs already.
struct site_use {
  std::string name;
  std::string node;                 ///< where it is known
  std::vector<std::string> domain;  ///< or the domain's path
  amount_list requests;             ///< of each
  std::int64_t count = 1;
  bool counts = true;  ///< false: finished, or for another reason no part of what is taken
};

/// Nodes, levels, and what runs.
struct named_site {
  std::vector<std::string> levels;  ///< coarse to fine
  std::vector<site_node> nodes;
  label_list node_filter;  ///< nodes without these labels are not part of it
  std::vector<site_use> uses;

  [[nodiscard]] std::optional<std::size_t> level(std::string_view name) const noexcept {
    for (std::size_t i = 0; i < levels.size(); ++i)
      if (levels[i] == name) return i;
    return std::nullopt;
  }
  [[nodiscard]] std::optional<std::size_t> node(std::string_view name) const noexcept {
    for (std::size_t i = 0; i < nodes.size(); ++i)
      if (nodes[i].name == name) return i;
    return std::nullopt;
  }
};

/// Tasks on one node or in one domain.
struct placed_count {
  std::vector<std::string> domain;  ///< path; a single node name where the finest level is the node
  std::int64_t count = 0;
  friend bool operator==(const placed_count& a, const placed_count& b) {
    return a.count == b.count && a.domain == b.domain;
  }
};

}  // namespace berth
