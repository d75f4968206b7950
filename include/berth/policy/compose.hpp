#pragma once
/// \file
/// Policies combined at compile time. Both work on anything with a `score`: domain policies and node policies.

#include <compare>
#include <concepts>
#include <tuple>
#include <utility>

#include "berth/policy/concepts.hpp"

namespace berth {

/// Whether `P` scores a subject (a domain, a node) for a request.
template <class P, class Subject, class Request>
concept scores = requires(const P& p, const Subject& s, const Request& r) {
  { p.score(s, r) }
  noexcept->std::totally_ordered;
};

namespace detail {

/// The split of the first policy, where it has one.
template <class...>
struct first_split {};
template <class P, class... Ps>
requires(splits_domains<P>&& one_domain_rule<P>) struct first_split<P, Ps...> {
  static constexpr split_order split = P::split;
};

}  // namespace detail

/// Compares scores from left to right: a later policy only breaks ties, so scores may differ in type and unit. A gang
/// that no child of a domain holds is split as the first policy says, where it says so: `lexicographic<tightest, X>`
/// fills the emptiest child first and the tightest last, and asks X between children with equal room.
template <class... Ps>
class lexicographic : public detail::first_split<Ps...> {
 public:
  constexpr lexicographic() = default;
  constexpr explicit lexicographic(Ps... ps) requires(sizeof...(Ps) > 0) : ps_{std::move(ps)...} {}
  template <class Subject, class Request>
  [[nodiscard]] constexpr auto score(const Subject& s, const Request& r) const noexcept
      requires(scores<Ps, Subject, Request>&&...) {
    return std::apply([&](const Ps&... p) { return std::tuple{p.score(s, r)...}; }, ps_);
  }

 private:
  [[no_unique_address]] std::tuple<Ps...> ps_;
};

/// Promises that `score` lies in [0, 1], so that it may be added to others.
template <class P>
concept normalized_policy = requires {
  requires P::normalized;
};

/// A policy and its weight.
template <class P>
struct term {
  double weight = 1.0;
  P policy{};
};
template <class P>
term(double, P) -> term<P>;

/// The weighted sum of normalised scores.
template <normalized_policy... Ps>
class weighted {
 public:
  static constexpr bool normalized = false;  // the sum of the weights is the caller's
  constexpr explicit weighted(term<Ps>... t) : terms_{std::move(t)...} {}
  template <class Subject, class Request>
  [[nodiscard]] constexpr double score(const Subject& s, const Request& r) const noexcept
      requires(scores<Ps, Subject, Request>&&...) {
    return std::apply([&](const term<Ps>&... t) { return (0.0 + ... + (t.weight * t.policy.score(s, r))); }, terms_);
  }

 private:
  std::tuple<term<Ps>...> terms_;
};

}  // namespace berth
