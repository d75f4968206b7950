#pragma once
// The numbers that berth-quota shows.

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "berth/core/error.hpp"
#include "berth/core/expected.hpp"
#include "berth/io/quota/queue_file.hpp"
#include "berth/io/quota/quota_json.hpp"
#include "berth/quota/borrowing.hpp"
#include "berth/quota/queue_tree.hpp"

namespace berth_quota {

struct one_resource {
  berth::quota_amount guarantee = 0, share = 0, usage = 0, demand = 0;
  berth::quota_amount may_borrow = 0;  // or unlimited
  berth::quota_amount cap = berth::unlimited;
  double dominant = 0;              // this resource's part of the dominant share; HUGE_VAL: infinite
  std::vector<berth::lender> from;  // the nearest
  std::size_t more = 0;             // lenders beyond these
};
struct one_queue {
  berth::queue_id id;
  std::size_t depth = 0;
  double dominant = 0;
  std::string dominant_resource;
  std::optional<double> fair_share;  // Slurm's factor
  std::vector<one_resource> resources;
};
struct result {
  const berth::queue_file* file = nullptr;
  const berth::queue_tree* tree = nullptr;
  std::vector<one_queue> queues;  // depth first
  std::vector<std::string> notes;
};

// "gpu=64,h100/gpu=8" into the capacities of a tree.
berth::expected<void, berth::input_error> add_capacity(std::string_view list, berth::queue_tree_spec& tree);

// Adds the usage to the tree and divides. `usage` may be null.
berth::expected<result, berth::input_error> work_out(const berth::queue_file& file, berth::queue_tree& tree,
                                                     const berth::usage_file* usage, const std::string& usage_name);

}  // namespace berth_quota
