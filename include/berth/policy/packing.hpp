#pragma once
/// \file
/// What a packing policy is: it says how good it is to put a task on a node, given the node alone. `packer`
/// (`solver/packer.hpp`) keeps the scores of all nodes and finds the best.

#include <concepts>
#include <cstdint>
#include <span>

#include "berth/cluster/share_node.hpp"

namespace berth {

/// How good a node is for a task, and which of its GPUs the task would get.
struct packing_score {
  double value = 0;         ///< higher is better
  device_mask devices = 0;  ///< as `for_each_choice` gives them
  std::uint8_t drift = 0;   ///< not 0: the score may change though the node does not; see `learning_packing_policy`
  /// Of policies that charge: whether it stays `charged(base, charges()[charge], amount)` as charges move. If not, other
  /// GPUs may come out best then.
  bool follows_charge = true;
  float amount = 0;
  std::uint32_t charge = 0;  ///< 0: nothing is charged
  double base = 0;           ///< the score without the charge
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
/// `drift(d)` has, and those with drift 0 are the same; as long as `moves(d)` is the same, so are those with drift d. Which
/// drift a score has changes with the node alone.
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

/// A learning policy whose scores move with charges alone, so that nothing but these need be looked at anew.
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

}  // namespace berth
