// Compiling is passing: the least that a user's policy must have, and what is turned away.
#include "berth/policy/concepts.hpp"

#include <doctest/doctest.h>

#include <cstdint>
#include <string>

#include "berth/core/bits.hpp"
#include "berth/policy/device_choice.hpp"
#include "berth/policy/domain_fit.hpp"
#include "berth/policy/node_fit.hpp"

namespace {

using namespace berth;

// Everything ready-made fits.
static_assert(domain_policy<fewest_domains> && domain_policy<tightest> && domain_policy<least_free_first> &&
              domain_policy<most_free_first> && domain_policy<balanced>);
static_assert(node_policy<bin_pack> && node_policy<spread> && node_policy<device_utilisation>);
static_assert(indexed_domain_policy<fewest_domains> && !scored_domain_policy<fewest_domains>);
static_assert(indexed_node_policy<bin_pack> && scored_node_policy<bin_pack> &&
              !indexed_node_policy<device_utilisation>);
static_assert(explain_policy<fewest_domains, bin_pack, best_bandwidth>::ok);

// The least that works.
struct least_domain {
  int score(const domain_view&, std::uint64_t) const noexcept;
};
struct least_indexed_domain {
  static constexpr domain_order whole = domain_order::emptiest;
  static constexpr split_order split = split_order::even;
  static constexpr std::uint32_t candidates = 1;
};
struct least_node {
  int score(const node_view&, const task_shape&) const noexcept;
};
struct least_indexed_node {
  static constexpr node_order order = node_order::most_free;
};
struct least_device {
  struct table {
    device_mask choose(device_mask free, unsigned count) const noexcept;
  };
  table compile(const node_shape&) const;
};
static_assert(domain_policy<least_domain> && domain_policy<least_indexed_domain>);
static_assert(node_policy<least_node> && node_policy<least_indexed_node>);
static_assert(device_policy<least_device>);
static_assert(explain_policy<least_domain, least_indexed_node, least_device>::ok);

// Almost right is not.
struct may_throw {
  int score(const domain_view&, std::uint64_t) const;
  int score(const node_view&, const task_shape&) const;
};
struct changes_itself {
  int score(const domain_view&, std::uint64_t) noexcept;
  int score(const node_view&, const task_shape&) noexcept;
};
struct unordered {
  struct result {};
  result score(const domain_view&, std::uint64_t) const noexcept;
  result score(const node_view&, const task_shape&) const noexcept;
};
struct says_nothing {
  void score(const domain_view&, std::uint64_t) const noexcept;
  void score(const node_view&, const task_shape&) const noexcept;
};
struct half_an_order {
  static constexpr domain_order whole = domain_order::tightest;
  static constexpr int order = 1;
};
struct no_copies : least_domain, least_node {
  no_copies() = default;
  no_copies(const no_copies&) = delete;
};
static_assert(!domain_policy<may_throw> && !node_policy<may_throw>);
static_assert(!domain_policy<changes_itself> && !node_policy<changes_itself>);
static_assert(!domain_policy<unordered> && !node_policy<unordered>);
static_assert(!domain_policy<says_nothing> && !node_policy<says_nothing>);
static_assert(!domain_policy<half_an_order> && !node_policy<half_an_order>);
static_assert(!domain_policy<no_copies> && !node_policy<no_copies>);
static_assert(!domain_policy<bin_pack> && !node_policy<tightest>, "a policy answers its own question");

struct throwing_device {
  struct table {
    device_mask choose(device_mask free, unsigned count) const;
  };
  table compile(const node_shape&) const;
};
struct returns_a_list {
  struct table {
    int* choose(device_mask free, unsigned count) const noexcept;
  };
  table compile(const node_shape&) const;
};
struct compiles_something_else {
  using table = least_device::table;
  int compile(const node_shape&) const;
};
struct has_no_table {
  device_mask choose(device_mask free, unsigned count) const noexcept;
};
static_assert(!device_policy<throwing_device> && !device_policy<returns_a_list> &&
              !device_policy<compiles_something_else> && !device_policy<has_no_table>);

}  // namespace

TEST_CASE("the policies' contract is checked by the compiler") {
  CHECK(explain_policy<fewest_domains, bin_pack, best_bandwidth>::ok);
}
