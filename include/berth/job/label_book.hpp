#pragma once
/// \file
/// Which committed jobs carry which labels, and which labels they keep away: what spread rules count. The cluster knows
/// where tasks run, the book what they are called.

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "berth/cluster/cluster.hpp"
#include "berth/core/id.hpp"
#include "berth/core/separate.hpp"

namespace berth {

/// A job that keeps tasks of a label out of the domains it runs in: the other direction of anti-affinity.
struct repelled_label {
  std::string label{};
  level_id level{};  ///< of the tree, or `level_of_nodes`
};

/// Labels of jobs. Jobs that are in the book but not in the cluster count nothing, so a release need not be told here
/// at once.
class label_book {
 public:
  struct entry {
    job_key key{};
    std::vector<std::string> labels{};
    std::vector<repelled_label> repels{};
  };

  /// Adds a job or replaces what is known of it. O(jobs); allocates.
  void set(job_key key, std::vector<std::string> labels, std::vector<repelled_label> repels = {});
  /// Forgets a job. O(jobs). \returns whether it was known
  bool erase(job_key key);
  [[nodiscard]] const std::vector<entry>& entries() const noexcept;

  /// Tasks of a label by node. O(jobs × labels + tasks of the label + nodes).
  [[nodiscard]] std::vector<std::int64_t> count(const cluster& c, const std::string& label) const;
  /// Calls `f(level, node)` where a committed job keeps one of `labels` out of the domain of that level around the
  /// node.
  template <class F>
  void each_repelled(const cluster& c, const std::vector<std::string>& labels, F&& f) const {
    for (const entry& e : entries_)
      for (const repelled_label& r : e.repels)
        if (has(labels, r.label)) c.for_each_task(e.key, [&](const committed_task& t) { f(r.level, t.node); });
  }
  [[nodiscard]] static bool has(const std::vector<std::string>& labels, const std::string& label);

 private:
  std::vector<entry> entries_;
};

}  // namespace berth

#if BERTH_WITH_BODIES
#include "berth/job/impl/label_book.hpp"
#endif
