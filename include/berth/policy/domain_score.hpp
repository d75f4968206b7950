#pragma once
/// \file
/// Scores of nodes lifted to domains, so that what is known of single machines (where data lies, what a job prefers,
/// how healthy they were) already decides which rack a gang goes to.
///
/// \code
/// berth::domain_scores scores{c.tree()};
/// berth::score_affinity(c, terms, scores);
/// berth::placer place{c, berth::lexicographic{berth::preferred_domain{&scores}, berth::tightest{}},
///                     berth::preferred_node{&scores}};
/// \endcode
///
/// Scores are thousandths. A domain's is the mean of its nodes', kept as an exact sum, unless it was set itself: a rack
/// that holds a data set once serves all its nodes alike. Numbers: a rack of four nodes with 1000, 1000, 0 and 500 has
/// 625.

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "berth/cluster/cluster.hpp"
#include "berth/core/id.hpp"
#include "berth/core/separate.hpp"
#include "berth/policy/concepts.hpp"
#include "berth/topology/domain_tree.hpp"

namespace berth {

class domain_scores {
 public:
  static constexpr std::int64_t full = 1000;

  /// All nodes at `start`. O(domains + nodes); allocates. \pre the tree outlives the scores; 0 <= start <= full
  explicit domain_scores(const domain_tree& t, std::int64_t start = 0);
  /// A node's score; the means around it follow. O(levels). \pre 0 <= score <= full
  void set(node_id n, std::int64_t score) noexcept;
  /// A domain's own score, in place of the mean. \pre 0 <= score <= full
  void set(level_id l, domain_id d, std::int64_t score) noexcept;
  /// Back to means for all domains. O(domains).
  void use_means() noexcept;
  [[nodiscard]] std::int64_t at(node_id n) const noexcept { return nodes_[n.index()]; }
  /// In thousandths; not a whole number where it is a mean.
  [[nodiscard]] double at(level_id l, domain_id d) const noexcept;
  [[nodiscard]] const domain_tree& tree() const noexcept { return *tree_; }

 private:
  static constexpr std::int64_t unset = -1;
  struct entry {
    std::int64_t sum = 0;
    std::int64_t own = unset;
  };
  const domain_tree* tree_;
  std::vector<std::int64_t> nodes_;
  std::vector<std::vector<entry>> levels_;
};

/// Domain policy: the best score. Without scores all are alike. The scores are read at every decision, and outlive it.
struct preferred_domain {
  static constexpr bool normalized = true;
  const domain_scores* scores = nullptr;
  [[nodiscard]] double score(const domain_view& d, std::uint64_t) const noexcept {
    return scores == nullptr ? 0.0 : scores->at(d.level, d.domain) / static_cast<double>(domain_scores::full);
  }
};
/// Node policy: the best score.
struct preferred_node {
  static constexpr bool normalized = true;
  const domain_scores* scores = nullptr;
  [[nodiscard]] double score(const node_view& n, const task_shape&) const noexcept {
    return scores == nullptr ? 0.0 : static_cast<double>(scores->at(n.id)) / static_cast<double>(domain_scores::full);
  }
};

/// Nodes that a job likes, and how much.
struct weighted_filter {
  filter_id filter{};
  std::uint32_t weight = 1;
};
/// Preferred affinity: floor(1000 × weights of the filters that admit the node / all weights). Source: Kubernetes'
/// preferredDuringSchedulingIgnoredDuringExecution, where the sum is scaled to the largest of all nodes instead.
/// Weights of 0 in all give 0. O(nodes × (filters + levels)).
void score_affinity(const cluster& c, std::span<const weighted_filter> terms, domain_scores& out) noexcept;

/// A data set or an image, and the nodes that have a copy of it.
struct stored_copy {
  std::int64_t bytes = 0;        ///< at least 0
  std::vector<node_id> nodes{};  ///< each once
};
/// Data locality: which part of the bytes has a copy inside the node, and inside each domain, where it can be fetched
/// without crossing the domain's uplink. Numbers: of 100 GB and 300 GB, a rack with the larger set has 750, whichever
/// of its nodes holds it. O(copies × levels + domains + nodes).
void score_data(std::span<const stored_copy> data, domain_scores& out);

/// Image locality as Kubernetes' scheduler has it: the sum over the node's images of size × (nodes that have it / all
/// nodes), which does not crowd a task onto the one node with the image, from 23 MiB (0) to 1,000 MiB × containers
/// (1000); domains have the mean. Source: kubernetes pkg/scheduler/framework/plugins/imagelocality (its 0 … 100, times
/// ten). \pre containers >= 1
void score_images(std::span<const stored_copy> images, std::uint32_t containers, domain_scores& out);

}  // namespace berth

#if BERTH_WITH_BODIES
#include "berth/policy/impl/domain_score.hpp"
#endif
