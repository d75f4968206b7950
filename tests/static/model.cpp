// Compiling is passing: what the plain types of topology/, cluster/ and job/ promise.
#include <concepts>
#include <type_traits>

#include "berth/cluster/spec.hpp"
#include "berth/cluster/task_shape.hpp"
#include "berth/job/gang.hpp"
#include "berth/topology/domain_tree.hpp"
#include "berth/topology/node_shape.hpp"

namespace {

using namespace berth;

// What the hot path copies around is trivial.
static_assert(std::is_trivially_copyable_v<task_shape> && std::equality_comparable<task_shape>);
static_assert(std::is_trivially_copyable_v<segment_request>);

// What is handed over is moved, and moving does not throw.
static_assert(std::is_nothrow_move_constructible_v<domain_tree> && std::is_nothrow_move_assignable_v<domain_tree>);
static_assert(std::is_nothrow_move_constructible_v<node_shape>);
static_assert(std::is_nothrow_move_constructible_v<cluster_spec>);
static_assert(std::is_nothrow_move_constructible_v<gang>);

}  // namespace
