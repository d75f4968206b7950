#pragma once
/// \file
/// Bandwidth between domains: what the uplinks of every domain carry, and what gangs with a guaranteed rate have
/// reserved.
///
/// Hose model  (Duffield et al., "A flexible model for resource management in virtual private networks", SIGCOMM 1999):
///             a gang of N devices at rate r may send any traffic that no device exceeds r with, so a domain that holds n
///             of them reserves min(n, N - n) × r on its uplinks. That is enough whatever the devices send to whom, and
///             no less would be.
/// Planes      where a domain has one switch per rail (`uplink_level::planes` > 1), devices send on the plane of their
///             rail and the rule holds on every plane by itself, with the devices of that rail as n and N.
/// Derating    flows are spread over parallel cables by hashing, never quite evenly, so only `usable_permille` of an
///             uplink's rate is given out. The default, 800, is a cautious choice and no measurement: a fabric with
///             adaptive routing may set 950, a single cable per uplink 1000.
/// Integers    amounts are bytes per second; releasing restores them bit for bit.

#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <span>
#include <vector>

#include "berth/cluster/node_filter.hpp"
#include "berth/cluster/node_state.hpp"
#include "berth/core/flat_array.hpp"
#include "berth/core/id.hpp"
#include "berth/core/separate.hpp"
#include "berth/core/units.hpp"
#include "berth/topology/domain_tree.hpp"
#include "berth/topology/rails.hpp"

namespace berth {

/// The uplinks of all domains of one level.
struct uplink_level {
  unsigned planes = 1;  ///< switches side by side that serve one rail each, plane p rail p; at most `max_rails`
  /// By domain, and by plane within it: all cables together, one direction. Empty optional: unknown. Empty list: all
  /// unknown.
  std::vector<std::optional<gigabytes_per_second>> rates{};
};

/// What a site knows about the links between its domains.
struct uplink_rates {
  unsigned usable_permille = 800;      ///< share of a rate that is given out
  std::vector<uplink_level> levels{};  ///< by level of the tree, [0] unused; empty: nothing is known
};

/// The link that a guaranteed rate lacks.
struct lacking_link {
  level_id level{};        ///< of the domain whose uplink it is
  domain_id domain{};      ///< none: the NICs of `node`
  std::uint8_t plane = 0;  ///< where the level has several
  node_id node{};
  std::int64_t needs = 0;  ///< bytes per second, or the most that the number holds
  std::int64_t left = 0;   ///< bytes per second; 0 also where its rate is unknown
  bool unknown = false;    ///< nobody said what it carries
};

namespace detail {

class uplink_state {
 public:
  /// O(domains × planes + classes). Allocates.
  void build(const domain_tree& tree, const uplink_rates& rates);
  void add_classes(std::span<const node_class> classes, std::span<const node_shape> shapes);
  void reserve_jobs(std::size_t jobs);

  [[nodiscard]] unsigned planes(unsigned level) const noexcept { return planes_[level]; }
  [[nodiscard]] bool has_planes() const noexcept;
  /// Bytes per second left on a plane of a domain's uplinks; 0 where unknown.
  [[nodiscard]] std::int64_t left(unsigned level, std::uint32_t domain, unsigned plane) const noexcept;
  [[nodiscard]] bool is_unknown(unsigned level, std::uint32_t domain, unsigned plane) const noexcept {
    return left_[at(level, domain, plane)] < 0;
  }
  [[nodiscard]] device_mask on_rail(class_id c, unsigned rail) const noexcept {
    return on_rail_[c.index() * max_rails + rail];
  }
  [[nodiscard]] std::int64_t nic_share_of(class_id c) const noexcept { return nic_share_[c.index()]; }
  [[nodiscard]] std::int64_t rate(std::uint32_t job) const noexcept {
    return rated_ != 0 && job < rate_.size() ? rate_[job] : 0;
  }

  /// Reserves `rate` per device for the tasks that `each(f)` names, calling `f(node, devices)`; nothing where a link
  /// lacks it, which `lack` then names: the first one on the way up from the first task. O(tasks × levels × planes).
  template <class Each>
  [[nodiscard]] bool take(std::int64_t rate, const domain_tree& tree, std::span<const node_state> nodes, Each each,
                          lacking_link* lack, bool only_ask = false) noexcept {
    const totals all = count(tree, nodes, each);
    bool ok = true;
    if (all.several_nodes)
      each([&](node_id n, device_mask devices) {
        if (devices == 0 || !ok || nic_share_of(nodes[n.index()].node_class) >= rate) return;
        ok = false;
        const std::int64_t share = nic_share_of(nodes[n.index()].node_class);
        if (lack != nullptr) *lack = {tree.leaf_level(), {}, 0, n, rate, share, share == 0};
      });
    each([&](node_id n, device_mask devices) {
      if (devices == 0 || !ok) return;
      each_domain(tree, nodes[n.index()].leaf, [&](unsigned l, std::uint32_t d) {
        for (unsigned p = 0; p < planes_[l] && ok; ++p) {
          const std::size_t i = at(l, d, p);
          // Divided, as many devices at a high rate are more than a number holds.
          const std::int64_t crossing = all.needs(count_[i], planes_[l] > 1 ? p : max_rails);
          if (rate <= 0 || crossing <= 0 || (left_[i] >= 0 && crossing <= left_[i] / rate)) continue;
          ok = false;
          if (lack != nullptr)
            *lack = {level_id{static_cast<std::uint8_t>(l)},
                     domain_id{d},
                     static_cast<std::uint8_t>(p),
                     {},
                     crossing <= most / rate ? crossing * rate : most,
                     left(l, d, p),
                     left_[i] < 0};
        }
      });
    });
    settle(tree, nodes, each, all, ok && !only_ask ? -rate : 0);
    return ok;
  }
  /// Gives back (`sign` 1) or takes again (-1) what `take` reserved.
  template <class Each>
  void give(std::int64_t rate, const domain_tree& tree, std::span<const node_state> nodes, Each each,
            std::int64_t sign = 1) noexcept {
    if (rate == 0) return;
    const totals all = count(tree, nodes, each);
    settle(tree, nodes, each, all, sign * rate);
  }
  void set_rate(std::uint32_t job, std::int64_t rate) noexcept;
  /// From now on nobody tells what is reserved: for copies that follow node states.
  void forget() noexcept { kept_ = false; }
  /// Whether `left` is what is left.
  [[nodiscard]] bool is_kept() const noexcept { return kept_; }
  /// As if nothing were reserved.
  void clear() noexcept {
    for (std::size_t i = 0; i < left_.size(); ++i) left_[i] = capacity_[i];
  }
  /// Whether everything is as it was built. For tests.
  [[nodiscard]] bool is_untouched() const noexcept { return left_ == capacity_; }
  [[nodiscard]] const flat_array<std::int64_t>& amounts() const noexcept { return left_; }
  [[nodiscard]] std::size_t memory() const noexcept {
    return left_.size() * 20 + nic_share_.size() * 8 + on_rail_.size() * 8 + rate_.size() * 8;
  }

 private:
  static constexpr std::int64_t unknown = -1;
  static constexpr std::int64_t most = std::numeric_limits<std::int64_t>::max();
  static constexpr std::int64_t unlimited = most / 4;

  struct totals {
    std::int64_t on[max_rails + 1] = {};  ///< devices by rail; the last entry counts all
    bool several_nodes = false;
    /// Devices on one side of an uplink, the smaller side.
    [[nodiscard]] std::int64_t needs(std::uint32_t inside, unsigned rail) const noexcept;
  };
  [[nodiscard]] std::size_t at(unsigned level, std::uint32_t domain, unsigned plane) const noexcept {
    return first_[level] + std::size_t{domain} * planes_[level] + plane;
  }
  template <class F>
  void each_domain(const domain_tree& tree, std::uint32_t leaf, F&& f) const noexcept {
    for (unsigned l = tree_leaf_; l > 0; --l) {
      f(l, leaf);
      leaf = tree.at(level_id{static_cast<std::uint8_t>(l)}, domain_id{leaf}).parent;
    }
  }
  template <class Each>
  [[nodiscard]] totals count(const domain_tree& tree, std::span<const node_state> nodes, Each each) noexcept {
    totals all;
    node_id first{};
    each([&](node_id n, device_mask devices) {
      if (devices == 0) return;
      if (!first) first = n;
      all.several_nodes = all.several_nodes || n != first;
      const class_id c = nodes[n.index()].node_class;
      std::uint32_t on[max_rails + 1];
      for (unsigned r = 0; r < max_rails; ++r) on[r] = count_bits(devices & on_rail(c, r));
      on[max_rails] = count_bits(devices);
      for (unsigned r = 0; r <= max_rails; ++r) all.on[r] += on[r];
      each_domain(tree, nodes[n.index()].leaf, [&](unsigned l, std::uint32_t d) {
        for (unsigned p = 0; p < planes_[l]; ++p) count_[at(l, d, p)] += on[planes_[l] > 1 ? p : max_rails];
      });
    });
    return all;
  }
  /// Adds `rate` per device on the smaller side to every uplink once, and forgets the counts.
  template <class Each>
  void settle(const domain_tree& tree, std::span<const node_state> nodes, Each each, const totals& all,
              std::int64_t rate) noexcept {
    each([&](node_id n, device_mask devices) {
      if (devices == 0) return;
      each_domain(tree, nodes[n.index()].leaf, [&](unsigned l, std::uint32_t d) {
        for (unsigned p = 0; p < planes_[l]; ++p) {
          const std::size_t i = at(l, d, p);
          if (count_[i] == 0) continue;
          if (rate != 0) left_[i] += all.needs(count_[i], planes_[l] > 1 ? p : max_rails) * rate;
          count_[i] = 0;
        }
      });
    });
  }

  unsigned levels_ = 0;
  unsigned tree_leaf_ = 0;
  unsigned planes_[domain_tree::max_levels] = {};
  std::uint32_t first_[domain_tree::max_levels] = {};
  flat_array<std::int64_t> left_, capacity_;  ///< by level, domain, plane
  flat_array<std::uint32_t> count_;           ///< devices of the gang at work; all 0 between calls
  flat_array<std::int64_t> nic_share_;        ///< by class
  flat_array<device_mask> on_rail_;           ///< by class and rail
  flat_array<std::int64_t> rate_;  ///< by job of the store: what it, or the one before it, reserved per device
  std::size_t rated_ = 0;          ///< how many of them are not 0
  bool kept_ = true;
};

}  // namespace detail
}  // namespace berth

#if BERTH_WITH_BODIES
#include "berth/cluster/impl/uplinks.hpp"
#endif
