#pragma once
/// \file
/// Which devices of a node serve a task that asks for parts, and at which starts MIG instances begin: what the placer
/// expects of such policies, those for shares, and how both join a device policy.
///
/// \code
/// berth::placer<berth::fewest_domains, berth::bin_pack, berth::with_parts<berth::best_bandwidth, berth::mig_pack>>
/// p{c}; \endcode
///
/// Which node is not their business: the index prefers nodes where parts fit into what is cut already (`bin_pack`), or
/// the emptiest (`spread`). Where a policy does not say otherwise, devices in use go before whole ones on a node too.

#include <concepts>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "berth/cluster/cluster.hpp"
#include "berth/cluster/mig_view.hpp"
#include "berth/core/bits.hpp"
#include "berth/core/separate.hpp"
#include "berth/policy/mig.hpp"
#include "berth/policy/mig_most_options.hpp"
#include "berth/topology/mig_states.hpp"

namespace berth {

/// A device shared by tasks, as policies see it.
struct shared_device {
  std::uint32_t thousandths_left = 0, thousandths = 0;
  std::uint32_t memory_left = 0, memory = 0;  ///< MiB; both 0 where unknown
  std::uint32_t tasks = 0;
};

/// Says what it costs to put an instance on a GPU in some state, at some start.
template <class P>
concept mig_start_policy = std::copy_constructible<P> &&
    requires(const P& p, const mig_state_table& t, mig_state_id s, unsigned placement) {
  { p.cost(t, s, placement) }
  noexcept->std::same_as<mig_start_cost>;
};
/// The same, made anew for every product.
template <class P>
concept mig_policy_maker = std::copy_constructible<P> && requires(const P& p, const mig_state_table& t) {
  { p.for_product(t) } -> mig_start_policy;
};
/// Says what it costs to put a share on a device; less is better, ties go to the lower device.
template <class P>
concept share_policy = std::copy_constructible<P> && requires(const P& p, const shared_device& d, const part_need& n) {
  { p.cost(d, n) }
  noexcept->std::same_as<float>;
};

namespace detail {
/// What is left of a device after a share, as parts of all of it, over what the share asks for.
[[nodiscard]] float share_left(const shared_device& d, const part_need& n) noexcept;
}  // namespace detail

/// The device on which the least stays free: pack over devices.
struct share_best_fit {
  [[nodiscard]] float cost(const shared_device& d, const part_need& n) const noexcept {
    return detail::share_left(d, n);
  }
};
/// The device on which the most stays free, whole ones first: spread over devices.
struct share_spread {
  static constexpr bool keeps_whole = false;
  [[nodiscard]] float cost(const shared_device& d, const part_need& n) const noexcept {
    return -detail::share_left(d, n);
  }
};

/// `mig_most_options` for a cluster of several products: by a mix that is given, or by the one that the placer learns
/// from what it is asked for. Questions asked inside a transaction are not learned from: they are what-ifs.
struct keep_mig_options {
  mig_most_options_settings settings{};
  std::vector<double> mix{};  ///< one weight per profile of the product; where it fits no product, the mix is learned

  [[nodiscard]] mig_most_options for_product(const mig_state_table& t) const;
};

/// A device policy, with policies for parts of devices beside it.
template <class Devices, class Mig = keep_mig_options, class Share = share_best_fit>
requires(mig_start_policy<Mig> || mig_policy_maker<Mig>) && share_policy<Share> struct with_parts : Devices {
  using mig_type = Mig;
  using share_type = Share;
  with_parts() = default;
  explicit with_parts(Devices d, Mig m = {}, Share s = {})
      : Devices{std::move(d)}, mig{std::move(m)}, share{std::move(s)} {}
  Mig mig{};
  Share share{};
};

namespace detail {

template <class P>
concept says_whole = requires {
  { P::keeps_whole } -> std::convertible_to<bool>;
};
/// Whether a policy for parts uses devices that are cut already before whole ones.
template <class P>
[[nodiscard]] consteval bool keeps_whole() noexcept {
  if constexpr (says_whole<P>) return P::keeps_whole;
  else return true;
}
template <class Devices>
concept chooses_parts = requires(const Devices& d) {
  typename Devices::mig_type;
  typename Devices::share_type;
  d.mig;
  d.share;
};
template <class Devices>
struct parts_of {
  using mig_type = keep_mig_options;
  using share_type = share_best_fit;
};
template <chooses_parts Devices>
struct parts_of<Devices> {
  using mig_type = typename Devices::mig_type;
  using share_type = typename Devices::share_type;
};

template <class Mig>
struct made_for_product {
  using type = Mig;
};
template <mig_policy_maker Mig>
struct made_for_product<Mig> {
  using type = decltype(std::declval<const Mig&>().for_product(std::declval<const mig_state_table&>()));
};

/// GPUs of one product by state, idle ones that could take instances among them, as `mig_most_options` prices them.
class mig_census {
 public:
  mig_census(const cluster& c, unsigned product) noexcept : gpus_{c, product} {}
  [[nodiscard]] std::uint64_t used_units() const noexcept { return gpus_.used_units(); }
  [[nodiscard]] std::size_t size() const noexcept { return std::size_t{gpus_.host().node_count()} * 8; }
  /// Calls `f(state, how many GPUs)`. O(nodes).
  template <class F>
  void for_each_state(F&& f) const {
    const device_parts& p = gpus_.host().inside().parts();
    std::uint32_t idle = 0;
    for (std::uint32_t n = 0; n < gpus_.host().node_count(); ++n) {
      const node_state& s = gpus_.host().node(node_id{n});
      if (s.free != 0) idle += count_bits(p.mig_able(s.node_class, gpus_.product()) & s.free & ~p.masks(n).off);
    }
    if (idle != 0 && gpus_.count(0) == 0) f(mig_state_id{0}, idle);
    gpus_.for_each_state([&](mig_state_id s) { f(s, gpus_.count(s) + (s == 0 ? idle : 0U)); });
  }

 private:
  mig_view gpus_;
};

}  // namespace detail
}  // namespace berth

#if BERTH_WITH_BODIES
#include "berth/policy/impl/part_choice.hpp"
#endif
