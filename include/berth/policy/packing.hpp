#pragma once
/// \file
/// What a packing policy is: it says how good it is to put a task on a node, given the node alone. `packer`
/// (`solver/packer.hpp`) keeps the scores of all nodes and finds the best.

#include <concepts>
#include <cstdint>
#include <span>
#include <type_traits>

#include "berth/cluster/share_node.hpp"

namespace berth {

/// How good a node is for a task, and which of its GPUs the task would get. Policies that do not learn set `value` and
/// `devices` alone, and those that do not charge read nothing below `drift`.
struct packing_score {
  double value = 0;         ///< higher is better; finite, also for nodes that the policy would rather not have
  device_mask devices = 0;  ///< as `for_each_choice` gives them
  std::uint8_t drift = 0;   ///< below `packing_drifts`; not 0: the score may change though the node does not, see
                            ///< `learning_packing_policy`
  /// Of policies that charge: whether it stays `charged(base, charges()[charge], amount)` as charges move, with the
  /// same `devices`. If not, other GPUs may come out best then, and the node is scored again.
  bool follows_charge = true;
  float amount = 0;          ///< what is charged for, in the policy's unit
  std::uint32_t charge = 0;  ///< which of `charges()`; 0: nothing is charged
  double base = 0;           ///< the score without the charge; read where `charge` is not 0
};

/// What a policy asks for beside the value of a choice, so much and so much per `packing_score::amount`. Scores of many
/// nodes move with it.
struct packing_charge {
  double fixed = 0, rate = 0;
};
[[nodiscard]] constexpr double charged(double base, const packing_charge& c, float amount) noexcept {
  return base - c.fixed - c.rate * static_cast<double>(amount);
}

/// Kinds of `packing_score::drift`, 0 included.
inline constexpr unsigned packing_drifts = 4;

/// What a policy may look at.
struct packing_view {
  const share_node& now;        ///< free amounts
  const share_node& installed;  ///< amounts of the empty node
  std::uint32_t tasks = 0;      ///< tasks on the node
  std::uint32_t same = 0;       ///< of these, tasks of the asked task's kind (`packing_kind`)
  std::uint32_t with_gpus = 0;  ///< of these, tasks with GPUs
};

/// How exactly scores are compared.
enum class score_rule : std::uint8_t {
  exact,         ///< as they are
  as_published,  ///< whole numbers as in the published simulator, so that many nodes tie and the order of nodes decides
};

/// Kinds of GPU demand: none, a shared GPU, or so many whole GPUs.
[[nodiscard]] constexpr unsigned packing_kind(const share_task& t) noexcept {
  return t.devices == 0 ? 0U : t.share < whole_device ? 1U : 1U + t.devices;
}

/// A policy scores a node that fits, from what `packing_view` shows; the same view must give the same score while
/// `version()` stays the same. Policies without `version()` never change their mind.
template <class P>
concept packing_policy = requires(const P& p, const packing_view& v, const share_task& t) {
  { p.score(v, t) } -> std::convertible_to<packing_score>;
};

/// A policy that learns from requests and from what happens to nodes. Kept scores stay useful while it changes its mind
/// a little: as long as `version()` is the same, no score of an unchanged node with drift d > 0 has risen by more than
/// `drift(d)` has, and those with drift 0 are the same; as long as `moves(d)` is the same, so are those with drift d.
/// Which drift a score has changes with the node alone. Kinds of drift are 1 to `packing_drifts - 1`; a policy with one
/// kind answers for all. `drift` is a bound and may rise while nothing moves; one that rises too little makes the
/// packer take nodes that are not the best, and nothing tells. What is kept is `value - drift`, so scores that have to
/// tie exactly are multiples of a power of two, as `drift` then is.
///
/// `packer` calls, for every request: `arrived`; `moves` and `drift`; `version`; `score`; and, for what it takes,
/// `changed`. For every release: `changed`. `docs/packing.md` has an example.
template <class P>
concept learning_packing_policy = packing_policy<P> &&
    requires(P& p, const share_task& t, const share_node& n, std::span<const share_node> all) {
  p.begin(all);            // the nodes as installed, once, before anything else
  p.arrived(t, all, all);  // every request, also those that are refused; nodes now, nodes as installed
  p.changed(n, n, n);      // a node: before, after, installed
  { p.version() } -> std::convertible_to<std::uint64_t>;  // another value makes every kept score void
  { p.drift(1U) } -> std::convertible_to<double>;         // never falls
  { p.moves(1U) } -> std::convertible_to<std::uint32_t>;
};

/// A learning policy whose scores move with charges alone, so that nothing but these need be looked at anew. Of a score
/// with a charge that is not 0, `value` is `charged(base, charges()[charge], amount)`, and its `drift` is not 0:
/// charges fall by no more than `drift` rises, so with a `fixed` lower by f and a `rate` lower by r it rises by f + r ×
/// the largest amount. The array may stand elsewhere after every call that is not `const`.
template <class P>
concept charging_packing_policy = learning_packing_policy<P> && requires(const P& p) {
  { p.charges() } -> std::same_as<const packing_charge*>;  // by `packing_score::charge`
};

/// A learning policy that says once what it sees in a node, for the scores of all tasks. A note is good until the node
/// or the `version()` changes. Such a policy does not look at how many tasks are on the node.
template <class P>
concept noting_packing_policy = learning_packing_policy<P> &&
    requires(const P& p, const packing_view& v, const share_task& t, const share_node& n,
             const typename P::note& seen) {
  { p.look(n, n) } -> std::same_as<typename P::note>;  // at a node: now, as installed
  p.prefetch(v, seen, t);  // a score is about to be asked for: its memory may be on its way until then
  { p.score(v, seen, t) } -> std::convertible_to<packing_score>;
};

namespace detail {

// Whether a class has a function of that name, whatever it takes; not seen where it is overloaded or a template.
template <class P>
concept names_learning = requires {
  requires std::is_member_function_pointer_v<decltype(&P::arrived)>;
}
|| requires {
  requires std::is_member_function_pointer_v<decltype(&P::changed)>;
}
|| requires {
  requires std::is_member_function_pointer_v<decltype(&P::drift)>;
}
|| requires {
  requires std::is_member_function_pointer_v<decltype(&P::moves)>;
}
|| requires {
  requires std::is_member_function_pointer_v<decltype(&P::version)>;
};
template <class P>
concept names_charges = requires {
  requires std::is_member_function_pointer_v<decltype(&P::charges)>;
};
template <class P>
concept names_notes = requires {
  requires std::is_member_function_pointer_v<decltype(&P::look)>;
};

}  // namespace detail

/// Turns a failed match into one sentence, and refuses what would be taken for less than it was meant to be: a policy
/// with half of what learning takes would be used as one that never changes its mind. `packer` asks for it.
template <class P>
struct explain_packing_policy {
  static_assert(packing_policy<P>,
                "berth: a packing policy needs `packing_score score(const packing_view&, const share_task&) const`");
  static_assert(
      learning_packing_policy<P> || !detail::names_learning<P>,
      "berth: a packing policy that learns needs all of `void begin(std::span<const share_node>)`, "
      "`void arrived(const share_task&, std::span<const share_node> now, std::span<const share_node> installed)`, "
      "`void changed(const share_node& before, const share_node& after, const share_node& installed)`, "
      "`std::uint64_t version() const`, `double drift(unsigned) const` and `std::uint32_t moves(unsigned) const`");
  static_assert(charging_packing_policy<P> || !detail::names_charges<P>,
                "berth: a packing policy that charges needs `const packing_charge* charges() const`, and all that one "
                "that learns has");
  static_assert(
      noting_packing_policy<P> || !detail::names_notes<P>,
      "berth: a packing policy that notes needs a type `note`, `note look(const share_node& now, const "
      "share_node& installed) const`, `void prefetch(const packing_view&, const note&, const share_task&) "
      "const`, `packing_score score(const packing_view&, const note&, const share_task&) const`, and all that "
      "one that learns has");
  static constexpr bool ok = packing_policy<P>;
};

}  // namespace berth
