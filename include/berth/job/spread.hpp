#pragma once
/// \file
/// How a set of replicas is spread over domains: skew, minimum domains, caps and anti-affinity, at any levels at once.
///
/// Every rule looks at one level and one label. With E(d) the tasks of that label that run in domain d already, x(d)
/// the replicas that the request puts there, and T(d) = E(d) + x(d) where the request carries the label itself, else
/// E(d), an answer keeps, in every domain d with x(d) > 0:
///
/// | member             | condition                                         | elsewhere                              |
/// |--------------------|---------------------------------------------------|----------------------------------------|
/// | `max_skew`         | T(d) <= m + max_skew, m the least T of eligible domains | Kubernetes `maxSkew`             |
/// | `minimum_domains`  | m is 0 while fewer domains are eligible           | Kubernetes `minDomains`                |
/// | `at_most`          | T(d) <= at_most                                   | YARN's maximal cardinality             |
/// | `at_most` 0, 1     | of a foreign label 0, of one's own 1: anti-affinity | Kubernetes `podAntiAffinity`         |
/// | `at_most_permille` | T(d) <= floor(permille × sum of all T / 1000)     | percentages of Nomad's `spread`, hard  |
/// | `beside`           | E(d) > 0; where no E is, and T counts x: all in one d | Kubernetes `podAffinity`           |
///
/// Numbers: six replicas over three racks that run 2, 0 and 1 of them. Evenly they end as 3, 3, 3, so `max_skew = 1`
/// is kept. If the second rack has room for one only, m is at most 1 and no rack may have more than 2: 2, 1, 2 holds
/// two replicas at most. With `max_skew = 3` all six fit: 4, 1, 4.
///
/// For a single rule, the conditions on the end are those that Kubernetes checks pod by pod: take the replicas in the
/// order of T; either the domain with the least T is still owed one, which raises it to at most m + 1, or m has its
/// last value already. Tasks on nodes that are not eligible count as well, which Kubernetes leaves out. Sources:
/// kubernetes.io/docs/concepts/scheduling-eviction/topology-spread-constraints, KEP-895 and KEP-3022 (minDomains);
/// developer.hashicorp.com/nomad/docs/job-specification/spread.

#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <vector>

#include "berth/cluster/task_shape.hpp"
#include "berth/core/id.hpp"
#include "berth/topology/domain_tree.hpp"

namespace berth {

/// A named domain's own cap, in place of the rule's.
struct domain_cap {
  domain_id domain{};
  std::uint32_t at_most_permille = 1000;
};

/// A condition on the domains of one level. Nothing set restricts nothing.
struct spread_rule {
  static constexpr std::uint32_t unlimited = std::numeric_limits<std::uint32_t>::max();
  level_id level{};                       ///< of the tree, or `level_of_nodes`
  std::string label{};                    ///< whose tasks count; empty: the request's own replicas alone
  std::uint32_t max_skew = unlimited;     ///< at least 1
  std::uint32_t minimum_domains = 0;      ///< read with `max_skew`
  std::uint32_t at_most = unlimited;      ///< replicas
  std::uint32_t at_most_permille = 1000;  ///< of all that count
  std::vector<domain_cap> caps{};         ///< domains with another `at_most_permille`
  bool required = true;                   ///< false: dropped where the request does not fit with it
  bool drained_count = false;             ///< drained and broken nodes make domains eligible, as Kubernetes has it
  bool beside = false;                    ///< only where tasks of the label run already
  bool declared_only = false;             ///< nothing goes into domains that the site does not declare
  std::optional<filter_id> counts{};      ///< nodes that make domains eligible, where not those of the request's filter
};

/// What the domains of a level have left of something that tasks use up: watts, cooling, licences, whatever the unit.
/// Budgets of several levels hold at once: a rack's and its row's. See `policy/power_budget.hpp`.
struct domain_budget {
  level_id level{};                  ///< of the tree, or `level_of_nodes`
  std::vector<std::int64_t> left{};  ///< by domain, all of the level; nothing more goes where it is negative
  std::int64_t per_task = 0;         ///< at least 0
};

/// What is wanted of domains that no rule tells apart.
enum class spread_goal : std::uint8_t {
  even,    ///< the least T of the outermost rule as large as possible, then that of the next; even in between
  packed,  ///< few domains, those with replicas already first, as far as the rules let it
};

/// Replicas to be spread: each is `tasks_per_replica` equal tasks inside one domain of level `inside` ("pack inside,
/// spread outside"). Rules count replicas; tasks that run already count as replicas of that size, rounded up by domain.
/// At levels without a rule replicas are packed.
struct spread_request {
  task_shape shape{};  ///< of each task
  std::uint32_t replicas = 1;
  std::uint32_t minimum = 1;  ///< replicas; fewer are no answer
  std::uint32_t tasks_per_replica = 1;
  level_id inside{};  ///< read where `tasks_per_replica` > 1; then no rule may be about a level further in
  /// All replicas in one domain of this level, or none are placed. Rules about levels further in then look at the
  /// domains inside of that one alone.
  std::optional<level_id> within{};
  std::vector<std::string> labels{};
  std::vector<spread_rule> rules{};
  std::vector<domain_budget> budgets{};
  spread_goal goal = spread_goal::even;
};

/// The level below the leaves, for rules about nodes.
[[nodiscard]] inline level_id level_of_nodes(const domain_tree& t) noexcept {
  return level_id{t.level_count()};
}

}  // namespace berth
