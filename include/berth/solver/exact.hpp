#pragma once
/// \file
/// The reference answer on small inputs: the best placement there is, or the proof that there is none. Slow, plain, and
/// without a line in common with the placer; reads node states and the domain tree only.
///
/// Method      tasks of a group are alike, so what a domain holds is a vector of counts, one per group. A node holds a
///             vector iff CPU and memory suffice and, for every set of groups, the devices that may serve any of them
///             suffice for all of them (Hall's condition for transportation problems), and no group has more tasks
///             there than may share a node. From the nodes upwards, dynamic programming keeps per domain and vector the least number of domains used below, level by level from the
///             outside in; that order survives adding, so the least of the sums is the sum of the least. Above the
///             level of segments the vector shrinks to the number of segments.
/// Objective   `placement_score`: fewest tasks missing, then fewest domains per level, outermost level first.
/// Cost        O(nodes × vectors²) at worst, vectors = product of (wanted + 1) over groups; past the limits:
///             `too_large`. So are, always, gangs that ask for parts of devices, for something of the inside of nodes
///             (`binding_need`), for a rate between nodes or for the same rails: no vector of counts says who holds
///             them.
/// See also    `exhaustive.hpp`, which tries everything one task at a time, for inputs of a few nodes.

#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <vector>

#include "berth/cluster/cluster.hpp"
#include "berth/core/separate.hpp"
#include "berth/job/gang.hpp"
#include "berth/solver/decision.hpp"
#include "berth/solver/validate.hpp"

namespace berth {

enum class exact_verdict : std::uint8_t {
  found,       ///< `score` is the best there is, `tasks` reach it
  impossible,  ///< no placement exists, as things stand
  too_large,   ///< past the limits; nothing is known
  invalid,     ///< the gang contradicts itself
};

struct exact_limits {
  std::uint64_t vectors = 1U << 16;    ///< product of (wanted + 1) over groups
  std::uint64_t work = 2'000'000'000;  ///< pairs of vectors combined, or placements tried
};

/// The best score and one placement that has it, in the order of ranks.
struct exact_answer {
  exact_verdict result = exact_verdict::impossible;
  placement_score score{};
  std::vector<task_placement> tasks;
  std::vector<task_shape> shapes;
  std::vector<part_places> parts{};  ///< by task, where a group asks for MIG instances (`solve_exhaustively`)
  [[nodiscard]] placement where() const noexcept;
};

namespace detail {

class exact_solver {
 public:
  exact_solver(const cluster& c, const gang& g, const exact_limits& limits);

  [[nodiscard]] exact_answer solve();

  /// The most segments that fit into a domain of their level, at most as many as the gang wants. Empty: too large.
  [[nodiscard]] std::optional<std::uint32_t> most_segments(std::uint32_t domain);

 private:
  static constexpr std::uint64_t none = std::numeric_limits<std::uint64_t>::max();
  /// What one domain can hold: per vector the domains used below, and how the last child shares in it.
  struct table {
    std::vector<std::uint64_t> cost;
    std::vector<std::uint32_t> reached;              ///< vectors whose cost is not `none`
    std::vector<std::vector<std::uint32_t>> choice;  ///< by child and vector: the child's part
  };
  /// The same by segments: state 2·k + p holds k segments, p domains of their level not filled up (`consolidate` only).
  struct segment_table {
    std::vector<std::uint64_t> cost;
    std::vector<std::vector<std::uint32_t>> choice;
  };

  [[nodiscard]] std::uint32_t domains(unsigned l) const noexcept {
    return tree_.domain_count(level_id{static_cast<std::uint8_t>(l)});
  }
  [[nodiscard]] id_range children(unsigned l, std::uint32_t d) const noexcept {
    return tree_.at(level_id{static_cast<std::uint8_t>(l)}, domain_id{d}).children;
  }
  [[nodiscard]] bool detached(unsigned l, std::uint32_t d) const noexcept {
    return l != 0 && cluster_.is_detached(level_id{static_cast<std::uint8_t>(l)}, domain_id{d});
  }
  /// The cost of using one domain of a level: levels are digits, the outermost the highest.
  [[nodiscard]] std::uint64_t unit(unsigned l) const noexcept { return std::uint64_t{1} << (cost_bits_ * (leaf_ - l)); }
  [[nodiscard]] std::uint64_t digit(std::uint64_t vector, std::size_t group) const noexcept {
    return vector / stride_[group] % (gang_.groups[group].wanted + std::uint64_t{1});
  }
  /// Whether two vectors together ask for no more than is wanted of any group.
  [[nodiscard]] bool within(std::uint32_t a, std::uint32_t b) const noexcept {
    return ((most_ - packed_[a] - packed_[b]) & guards_) == guards_;
  }
  [[nodiscard]] std::uint32_t segment_vector(std::uint32_t k) const noexcept;

  bool prepare();

  /// All vectors that a node holds by itself.
  void list_vectors(std::uint32_t node);

  /// \returns false when the work exceeds the limit
  bool fill_table(unsigned l, std::uint32_t d);

  [[nodiscard]] std::uint32_t most_segments_of(unsigned l, std::uint32_t d) const noexcept;
  void fill_segments(unsigned l, std::uint32_t d);

  /// Compares everything a gang can have inside one domain with the best so far.
  void consider(unsigned l, std::uint32_t d);
  void offer(unsigned l, std::uint32_t d, std::uint32_t vector, std::uint64_t cost, std::uint32_t state);

  void witness(exact_answer& out);
  void trace(unsigned l, std::uint32_t d, std::uint32_t vector, std::vector<std::uint32_t>& on_node) const;
  void trace_segments(unsigned l, std::uint32_t d, std::uint32_t state, std::vector<std::uint32_t>& on_node) const;
  /// Gives every task of a node its devices.
  void hand_out(std::uint32_t node, std::uint32_t vector, std::vector<std::vector<task_placement>>& by_group) const;

  const cluster& cluster_;
  const domain_tree& tree_;
  const gang& gang_;
  std::size_t groups_ = 0;
  unsigned leaf_ = 0, digit_bits_ = 0, cost_bits_ = 0;
  bool fits_ = false, found_ = false;
  std::uint64_t vectors_ = 1, wanted_ = 0, work_ = 0, guards_ = 0, most_ = 0;
  std::vector<std::uint64_t> stride_, packed_;          ///< by group; by vector: digits in fields with a guard bit each
  std::vector<std::vector<std::uint32_t>> vectors_of_;  ///< by node
  std::vector<std::vector<table>> tables_;              ///< by level and domain
  std::vector<std::vector<segment_table>> segments_;    ///< by level and domain
  placement_score best_{};
  unsigned best_level_ = 0;
  std::uint32_t best_domain_ = 0, best_vector_ = 0, best_state_ = 0;
};

}  // namespace detail

/// The best placement of a gang on a cluster as it is.
[[nodiscard]] exact_answer solve_exactly(const cluster& c, const gang& g, const exact_limits& limits = {});

/// Whether a valid placement fills all domains of its segment level but one to the brim, as `consolidate` asks: in at
/// most one of them another segment would fit. Empty: too large. \pre validate(c, g, p), g.segments
[[nodiscard]] std::optional<bool> is_consolidated(const cluster& c, const gang& g, const placement& p,
                                                  const exact_limits& limits = {});

}  // namespace berth

#if BERTH_WITH_BODIES
#include "berth/solver/impl/exact.hpp"
#endif
