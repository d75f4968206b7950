#pragma once
/// \file
/// What a reader of queues gives: the tree, what the system would divide by, and what the file left open.

#include <cstddef>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "berth/core/error.hpp"
#include "berth/core/expected.hpp"
#include "berth/quota/queue_spec.hpp"

namespace berth {

/// A file of queues.
struct queue_file {
  queue_tree_spec tree;
  std::string system;                            ///< "berth", "kueue", "yunikorn", "slurm", "kai", "volcano", "yarn"
  std::string policy;                            ///< name of the share policy that fits
  std::map<std::string, double> raw_usage;       ///< by queue, where the file knows it (sshare)
  std::map<std::string, bool> shares_as_parent;  ///< Slurm users whose shares are "parent"
  std::vector<std::string> notes;                ///< what was read in a way worth knowing, or is not about quota
};

/// In what a resource of a system's file is counted: "thousandths", "millionths", "bytes", or nothing where it is whole
/// units, or whatever our own JSON means.
[[nodiscard]] inline std::string_view unit_word(std::string_view system, std::string_view resource) noexcept {
  if (system == "berth") return {};
  if (resource == "memory" || resource == "mem" || resource == "ephemeral-storage") return "bytes";
  if (system == "yarn") return resource == "cluster" ? "millionths" : "";
  if (resource == "cpu" || resource == "vcore" || (system == "kai" && resource == "gpu")) return "thousandths";
  return {};
}

namespace queue_file_detail {

/// The column of a resource, made if need be.
inline std::size_t column(queue_tree_spec& t, std::string_view name, std::string_view pool) {
  for (std::size_t i = 0; i < t.resources.size(); ++i)
    if (t.resources[i].name == name && t.resources[i].pool == pool) return i;
  t.resources.push_back({std::string{name}, std::string{pool}, 1});
  return t.resources.size() - 1;
}
/// Gives every queue a number for every resource. Errors where these are too many to be meant.
[[nodiscard]] inline expected<void, input_error> complete(queue_tree_spec& t) {
  constexpr std::size_t most = 4'000'000;
  if (!t.resources.empty() && t.queues.size() > most / t.resources.size())
    return unexpected{input_error{
        t.source, 0,
        std::to_string(t.queues.size()) + " queues with " + std::to_string(t.resources.size()) + " resources in all",
        "at most " + std::to_string(most) + " numbers"}};
  for (auto& q : t.queues) {
    q.quota.resize(t.resources.size());
    for (auto& l : q.user_limits) l.at_most.resize(t.resources.size(), unlimited);
  }
  return {};
}
/// Queues of one pool (partition, cluster) have nothing of another's. \pre `complete` was called
template <class PoolOf>
void keep_apart(queue_tree_spec& t, PoolOf&& pool_of) {
  for (auto& q : t.queues) {
    const std::string_view pool = pool_of(q);
    for (std::size_t r = 0; r < t.resources.size(); ++r)
      if (t.resources[r].pool != pool) q.quota[r].cap = 0, q.quota[r].weight = 0;
  }
}
inline queue_quota& quota_at(queue_spec& q, std::size_t r) {
  if (q.quota.size() <= r) q.quota.resize(r + 1);
  return q.quota[r];
}

}  // namespace queue_file_detail
}  // namespace berth
