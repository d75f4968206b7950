#pragma once
/// \file
/// What the profiles of topology-aware schedulers are asked, and how they answer.

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "berth/profile/labels.hpp"
#include "berth/profile/site.hpp"

namespace berth {

enum class topology_mode : std::uint8_t {
  none,           ///< says nothing
  unconstrained,  ///< anywhere
  preferred,      ///< in one domain of the level if possible
  required,       ///< in one domain of the level
};

/// Tasks in equal chunks that stay inside one domain each (a Kueue slice).
struct named_segment {
  std::string level;
  std::int64_t size = 0;  ///< 0: not given
};

/// Tasks that ask the same.
struct named_request {
  std::string name;
  std::int64_t count = 0;
  amount_list per_task;
  std::string group;  ///< requests of one group share a domain: a leader and its workers
  node_wish wish;
  topology_mode mode = topology_mode::none;
  std::string level;
  std::vector<named_segment> segments;  ///< outermost first
  std::vector<placed_count> previous;   ///< where they run already, when the gang grows or shrinks
  std::vector<placed_count> existing;   ///< where they run, when a node failed
};

/// What kept nodes away.
struct node_exclusion {
  std::string cause;  ///< taint, node-selector, affinity, topology-domain or resource
  std::string what;   ///< the taint, the resource
  std::int64_t nodes = 0;
};

/// Why a request was not placed, as numbers.
struct named_refusal {
  enum class category : std::uint8_t {
    insufficient_capacity,
    no_domains_at_level,
    invalid_request,
    unknown_level,
    never_feasible,
    no_nodes,
  };
  category why = category::insufficient_capacity;
  std::string detail;
  std::optional<std::int64_t> fits, needed;
  std::string unit;  ///< pod or slice
  struct level_count {
    std::string level;
    std::int64_t fits = 0, needed = 0;
  };
  std::vector<level_count> per_level;
  std::int64_t nodes_considered = 0;
  std::vector<node_exclusion> excluded;
};

[[nodiscard]] constexpr const char* name_of(named_refusal::category c) noexcept {
  switch (c) {
    case named_refusal::category::insufficient_capacity:
      return "insufficient-capacity";
    case named_refusal::category::no_domains_at_level:
      return "no-domains-at-level";
    case named_refusal::category::invalid_request:
      return "invalid-request";
    case named_refusal::category::unknown_level:
      return "unknown-level";
    case named_refusal::category::never_feasible:
      return "never-feasible";
    case named_refusal::category::no_nodes:
      return "no-nodes";
  }
  return "";
}

/// The answer to one request.
struct named_answer {
  enum class result : std::uint8_t { placed, unschedulable, partial, not_attempted };
  std::string request;
  result outcome = result::not_attempted;
  std::vector<std::string> levels;  ///< that the domains of `placements` are given in
  std::vector<placed_count> placements;
  std::optional<named_refusal> reason;

  [[nodiscard]] std::int64_t tasks() const noexcept {
    std::int64_t n = 0;
    for (const auto& p : placements) n += p.count;
    return n;
  }
};

[[nodiscard]] constexpr const char* name_of(named_answer::result r) noexcept {
  switch (r) {
    case named_answer::result::placed:
      return "placed";
    case named_answer::result::unschedulable:
      return "unschedulable";
    case named_answer::result::partial:
      return "partial";
    case named_answer::result::not_attempted:
      return "not-attempted";
  }
  return "";
}

}  // namespace berth
