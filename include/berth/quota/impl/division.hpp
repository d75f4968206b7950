#pragma once
/// \file
/// Bodies of `berth/quota/division.hpp`.

#include "berth/quota/division.hpp"

namespace berth {

BERTH_INLINE division_problem::division_problem(Eigen::Index n, Eigen::Index m)
    : guarantee{quota_matrix::Zero(n, m)},
      deserved{quota_matrix::Zero(n, m)},
      demand{quota_matrix::Zero(n, m)},
      cap{quota_matrix::Constant(n, m, unlimited)},
      weight{quota_matrix::Constant(n, m, 1000)},
      local{quota_matrix::Zero(n, m)},
      ceiling{quota_matrix::Constant(n, m, unlimited)},
      past_usage{Eigen::MatrixXd::Zero(n, m)},
      priority(static_cast<std::size_t>(n), 0),
      created_at(static_cast<std::size_t>(n), 0),
      lends(static_cast<std::size_t>(n), 1),
      capacity(static_cast<std::size_t>(m), 0),
      unit(static_cast<std::size_t>(m), 1) {}

BERTH_INLINE sibling_group division_problem::view() const {
  return {guarantee,  deserved, demand,     cap,   weight,   local, ceiling,
          past_usage, priority, created_at, lends, capacity, unit};
}

}  // namespace berth
