#pragma once
/// \file
/// What the placer expects from a policy. Three questions, three kinds of policy:
///
/// | kind   | question                                           | ready-made                                         |
/// |--------|----------------------------------------------------|----------------------------------------------------|
/// | domain | which domain of a level, and how to split over several | `domain_fit.hpp`                               |
/// | node   | which nodes inside a leaf                          | `node_fit.hpp`                                     |
/// | device | which devices of a node                            | `device_choice.hpp`                                |
///
/// A domain or node policy either names an *order* that the capacity index can follow without looking at every
/// candidate (`indexed_…`), or gives a *score*, larger is better, which is asked for every candidate (`scored_…`). One
/// that has both, so that it can be combined (`compose.hpp`), says that they choose alike by naming itself in
/// `score_follows_order`: the order is followed then. A subclass that replaces either is refused by the compiler.
/// Ties go to the lower id.

#include <compare>
#include <concepts>
#include <cstdint>

#include "berth/cluster/node_state.hpp"
#include "berth/cluster/task_shape.hpp"
#include "berth/core/bits.hpp"
#include "berth/core/id.hpp"
#include "berth/topology/node_shape.hpp"

namespace berth {

/// A domain as policies see it.
struct domain_view {
  level_id level{};
  domain_id domain{};
  std::uint64_t capacity = 0;         ///< tasks of the asked shape that fit now
  std::uint32_t nodes = 0;            ///< nodes in the domain
  const task_shape* shape = nullptr;  ///< what is asked; null where nobody says
};

/// A node as policies see it.
struct node_view {
  node_id id{};
  const node_state& state;  ///< before the gang
  const node_shape& shape;
  std::uint32_t fits = 0;   ///< tasks of the asked shape that fit, without those of this gang
  std::uint32_t taken = 0;  ///< tasks of this gang put here so far
};

/// Which of the domains that can hold everything is taken.
enum class domain_order : std::uint8_t {
  tightest,  ///< the least capacity that suffices
  emptiest,  ///< the most capacity
};
/// How tasks are split over the children of a domain when no child holds all of them.
enum class split_order : std::uint8_t {
  largest_then_tightest,  ///< fill the emptiest; the last child is the tightest that holds the rest
  largest_first,          ///< fill the emptiest, the last one too
  smallest_first,         ///< fill the fullest first
  even,                   ///< the fewest children that can hold everything, shared out evenly
};
/// Order of nodes inside a leaf.
enum class node_order : std::uint8_t {
  fewest_free,  ///< fill the node that suffices with the fewest free devices, so that whole nodes stay whole
  most_free,    ///< one task at a time on the node with the most free devices
};

/// Names an order the index can follow.
template <class P>
concept indexed_domain_policy = requires(const P& p) {
  { P::whole } -> std::convertible_to<domain_order>;
  { P::split } -> std::convertible_to<split_order>;
  /// How many domains that can hold everything are compared by the number of sub-domains they would need.
  { p.candidates } -> std::convertible_to<std::uint32_t>;
};
/// Scores a domain for `need` tasks.
template <class P>
concept scored_domain_policy = requires(const P& p, const domain_view& d, std::uint64_t need) {
  { p.score(d, need) }
  noexcept->std::totally_ordered;
};
/// Names how a gang is split that no child holds. A scored policy may have one: children are compared by their room as
/// it says, and by score only where that ties. Without, the best score is filled first.
template <class P>
concept splits_domains = requires {
  { P::split } -> std::convertible_to<split_order>;
};

namespace detail {

template <class>
struct member_of;
template <class C, class R, class... A>
struct member_of<R (C::*)(A...) const noexcept> {
  using type = C;
};
/// Whether the score of a policy is the one that its `score_follows_order` declares.
template <class P>
concept declares_score = requires {
  typename P::score_follows_order;
  requires std::same_as < typename member_of<decltype(&P::score)>::type,
  typename P::score_follows_order > ;
};

}  // namespace detail

/// Whether a policy leaves no doubt which rule counts: it has no score, no order, or both and they choose alike.
template <class P>
concept one_domain_rule =
    !(indexed_domain_policy<P> && scored_domain_policy<P>) || (detail::declares_score<P> && requires {
      requires P::whole == P::score_follows_order::whole&& P::split == P::score_follows_order::split;
    });
template <class P>
concept domain_policy = std::copy_constructible<P> &&
    (indexed_domain_policy<P> || scored_domain_policy<P>)&&one_domain_rule<P>;

template <class P>
concept indexed_node_policy = requires {
  { P::order } -> std::convertible_to<node_order>;
};
/// Scores a node for one more task.
template <class P>
concept scored_node_policy = requires(const P& p, const node_view& n, const task_shape& t) {
  { p.score(n, t) }
  noexcept->std::totally_ordered;
};
template <class P>
concept one_node_rule = !(indexed_node_policy<P> && scored_node_policy<P>) ||
                        (detail::declares_score<P> && requires { requires P::order == P::score_follows_order::order; });
template <class P>
concept node_policy = std::copy_constructible<P> &&(indexed_node_policy<P> || scored_node_policy<P>)&&one_node_rule<P>;

/// Compiles a node shape to a table that answers which `count` of the `free` devices to take.
template <class P>
concept device_policy = std::copy_constructible<P> && requires(const P& p, const node_shape& s) {
  typename P::table;
  { p.compile(s) } -> std::same_as<typename P::table>;
} && requires(const typename P::table& t, device_mask free, unsigned count) {
  { t.choose(free, count) }
  noexcept->std::same_as<device_mask>;
};

/// Turns a failed match into one sentence. `static_assert(berth::explain_policy<my_domain, my_node, my_device>::ok);`
template <class Domain, class Node, class Device>
struct explain_policy {
  static_assert(domain_policy<Domain> || !one_domain_rule<Domain>,
                "berth: a domain policy needs `whole`, `split` and `candidates`, or "
                "`S score(const domain_view&, std::uint64_t need) const noexcept` with S ordered");
  static_assert(node_policy<Node> || !one_node_rule<Node>,
                "berth: a node policy needs `static constexpr node_order order`, or "
                "`S score(const node_view&, const task_shape&) const noexcept` with S ordered");
  static_assert(
      one_domain_rule<Domain>,
      "berth: a domain policy has an order and a score that need not choose alike: leave one out, or name the "
      "class that declares both in `score_follows_order`");
  static_assert(one_node_rule<Node>,
                "berth: a node policy has an order and a score that need not choose alike: leave one out, or name the "
                "class that declares both in `score_follows_order`");
  static_assert(device_policy<Device>,
                "berth: a device policy needs a type `table`, `table compile(const node_shape&) const` and "
                "`device_mask table::choose(device_mask free, unsigned count) const noexcept`");
  static constexpr bool ok = domain_policy<Domain> && node_policy<Node> && device_policy<Device>;
};

}  // namespace berth
