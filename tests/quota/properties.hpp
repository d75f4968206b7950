#pragma once
/// What one may ask of a rule that divides, as numbers: by how many units does a division miss the property?

#include <algorithm>
#include <cstdint>
#include <string>
#include <vector>

#include "berth/core/random.hpp"
#include "berth/quota/division/policies.hpp"

namespace quota_properties {

using berth::division_problem;
using berth::quota_amount;
using berth::quota_matrix;

enum class property {
  conservation,
  efficiency,
  keeps_guarantee,
  sharing_incentive,
  envy_freeness,
  strategy_proofness,
  guarantee_monotonicity,
  capacity_monotonicity,
  order_independence
};
inline constexpr property all_properties[] = {property::conservation,           property::efficiency,
                                              property::keeps_guarantee,        property::sharing_incentive,
                                              property::envy_freeness,          property::strategy_proofness,
                                              property::guarantee_monotonicity, property::capacity_monotonicity,
                                              property::order_independence};
inline const char* name_of(property p) {
  constexpr const char* names[] = {
      "conservation",      "efficiency",         "keeps guarantee",        "sharing incentive",
      "envy-freeness",     "strategy-proofness", "guarantee monotonicity", "capacity monotonicity",
      "order independence"};
  return names[static_cast<int>(p)];
}

/// A random group of at most six queues and `resources` resources, small numbers, so that corners are met.
inline division_problem random_problem(berth::random_source& random, Eigen::Index resources, bool guarantees) {
  const auto below = [&](quota_amount n) {
    return static_cast<quota_amount>(random.below(static_cast<std::uint64_t>(n)));
  };
  const auto n = static_cast<Eigen::Index>(1 + below(6));
  division_problem p(n, resources);
  for (Eigen::Index r = 0; r < resources; ++r) p.capacity[static_cast<std::size_t>(r)] = below(30);
  for (Eigen::Index i = 0; i < n; ++i) {
    p.created_at[static_cast<std::size_t>(i)] = below(1000) * 10 + i;  // all different
    const auto weight = 1 + below(4);
    for (Eigen::Index r = 0; r < resources; ++r) {
      p.demand(i, r) = below(20);
      if (below(4) == 0) p.cap(i, r) = below(15);
      p.weight(i, r) = weight;
    }
  }
  if (guarantees)
    for (Eigen::Index r = 0; r < resources; ++r) {
      quota_amount left = p.capacity[static_cast<std::size_t>(r)];
      for (Eigen::Index i = 0; i < n; ++i) {
        const auto k = below(left + 1) / (n > 2 ? 2 : 1);
        p.guarantee(i, r) = p.deserved(i, r) = std::min(k, p.cap(i, r));
        left -= k;
      }
    }
  return p;
}

/// The same group in units a million times smaller: rounding no longer matters.
inline division_problem divisible(division_problem p) {
  constexpr quota_amount fine = 1'000'000;
  for (auto& c : p.capacity) c *= fine;
  for (auto* matrix : {&p.guarantee, &p.deserved, &p.demand, &p.cap})
    for (Eigen::Index k = 0; k < matrix->size(); ++k)
      if (auto& a = matrix->data()[k]; a != berth::unlimited) a *= fine;
  return p;
}

/// How many units worse the division is than the property allows; at most 1 is rounding.
template <class P>
quota_amount missed_by(property what, const P& policy, const division_problem& p, berth::random_source& random) {
  const quota_matrix share = p.divided_by(policy);
  const auto view = p.view();
  const auto n = p.demand.rows(), m = p.demand.cols();
  // What queue i can use of a bundle: the tasks it makes of it, as units of its largest need.
  const auto useful = [&](Eigen::Index i, auto&& bundle) {
    double part = 1;
    quota_amount largest = 0;
    for (Eigen::Index r = 0; r < m; ++r)
      if (const auto need = view.need(i, r); need > 0) {
        part = std::min(part, static_cast<double>(bundle(r)) / static_cast<double>(need));
        largest = std::max(largest, need);
      }
    return part * static_cast<double>(largest);
  };
  double worst = 0;
  const auto miss = [&](double by) { worst = std::max(worst, by); };
  switch (what) {
    case property::conservation:
      for (Eigen::Index r = 0; r < m; ++r) {
        miss(static_cast<double>(share.col(r).sum() - p.capacity[static_cast<std::size_t>(r)]));
        for (Eigen::Index i = 0; i < n; ++i)
          miss(static_cast<double>(std::max(share(i, r) - view.need(i, r), -share(i, r))));
      }
      break;
    case property::efficiency:
      for (Eigen::Index r = 0; r < m; ++r) {
        quota_amount wanted = 0;
        for (Eigen::Index i = 0; i < n; ++i) wanted += view.need(i, r);
        miss(static_cast<double>(std::min(wanted, p.capacity[static_cast<std::size_t>(r)]) - share.col(r).sum()));
      }
      break;
    case property::keeps_guarantee:
      for (Eigen::Index r = 0; r < m; ++r)
        for (Eigen::Index i = 0; i < n; ++i)
          miss(static_cast<double>(std::min(p.guarantee(i, r), view.need(i, r)) - share(i, r)));
      break;
    case property::sharing_incentive: {
      const auto total = static_cast<double>(p.weight.col(0).sum());
      for (Eigen::Index i = 0; i < n; ++i) {
        const auto mine = [&](Eigen::Index r) {
          return static_cast<double>(p.capacity[static_cast<std::size_t>(r)]) * static_cast<double>(p.weight(i, 0)) /
                 total;
        };
        miss(useful(i, mine) - useful(i, [&](Eigen::Index r) { return share(i, r); }));
      }
      break;
    }
    case property::envy_freeness:
      for (Eigen::Index i = 0; i < n; ++i)
        for (Eigen::Index j = 0; j < n; ++j) {
          const double scale = static_cast<double>(p.weight(i, 0)) / static_cast<double>(p.weight(j, 0));
          miss((useful(i, [&](Eigen::Index r) { return static_cast<double>(share(j, r)) * scale; }) -
                useful(i, [&](Eigen::Index r) { return share(i, r); })) /
               std::max(1.0, scale));
        }
      break;
    case property::strategy_proofness:
      for (Eigen::Index i = 0; i < n; ++i) {
        division_problem lie = p;
        for (Eigen::Index r = 0; r < m; ++r)
          lie.demand(i, r) =
              static_cast<quota_amount>(random.below(25)) * std::max<quota_amount>(1, p.demand.maxCoeff() / 20);
        const quota_matrix other = lie.divided_by(policy);
        miss(useful(i, [&](Eigen::Index r) { return other(i, r); }) -
             useful(i, [&](Eigen::Index r) { return share(i, r); }));
      }
      break;
    case property::guarantee_monotonicity:
      for (Eigen::Index i = 0; i < n; ++i)
        for (Eigen::Index r = 0; r < m; ++r) {
          quota_amount all = p.guarantee.col(r).sum();
          if (all >= p.capacity[static_cast<std::size_t>(r)] || p.guarantee(i, r) >= p.cap(i, r)) continue;
          division_problem more = p;
          more.guarantee(i, r) += 1;
          more.deserved(i, r) += 1;
          miss(static_cast<double>(share(i, r) - more.divided_by(policy)(i, r)));
        }
      break;
    case property::capacity_monotonicity: {
      division_problem more = p;
      for (auto& c : more.capacity) ++c;
      miss(static_cast<double>((share - more.divided_by(policy)).maxCoeff()));
      break;
    }
    case property::order_independence: {
      std::vector<Eigen::Index> to(static_cast<std::size_t>(n));
      for (Eigen::Index i = 0; i < n; ++i) to[static_cast<std::size_t>(i)] = i;
      for (std::size_t i = to.size(); i > 1; --i) std::swap(to[i - 1], to[random.below(i)]);
      division_problem q = p;
      for (Eigen::Index i = 0; i < n; ++i) {
        const auto k = to[static_cast<std::size_t>(i)];
        q.guarantee.row(k) = p.guarantee.row(i);
        q.deserved.row(k) = p.deserved.row(i);
        q.demand.row(k) = p.demand.row(i);
        q.cap.row(k) = p.cap.row(i);
        q.weight.row(k) = p.weight.row(i);
        q.created_at[static_cast<std::size_t>(k)] = p.created_at[static_cast<std::size_t>(i)];
      }
      const quota_matrix other = q.divided_by(policy);
      for (Eigen::Index i = 0; i < n; ++i)
        miss(static_cast<double>((share.row(i) - other.row(to[static_cast<std::size_t>(i)])).cwiseAbs().maxCoeff()));
      break;
    }
  }
  return static_cast<quota_amount>(std::ceil(worst - 1e-6));
}

inline std::string print(const division_problem& p) {
  std::string s = "capacity";
  for (const auto c : p.capacity) s += " " + std::to_string(c);
  for (Eigen::Index i = 0; i < p.demand.rows(); ++i) {
    s += " | w" + std::to_string(p.weight(i, 0));
    for (Eigen::Index r = 0; r < p.demand.cols(); ++r) {
      s += " g" + std::to_string(p.guarantee(i, r)) + " d" + std::to_string(p.demand(i, r));
      if (p.cap(i, r) != berth::unlimited) s += " cap" + std::to_string(p.cap(i, r));
    }
  }
  return s;
}

}  // namespace quota_properties
