#pragma once
// A domain policy with each of the node policies behind `any_placer`.

#include <memory>
#include <optional>

#include "berth/policy/node_fit.hpp"
#include "berth/solver/placer.hpp"
#include "berth/solver/spread_placer.hpp"
#include "berth_place/any_placer.hpp"

namespace berth_place {

template <class Domain, class Node>
class concrete_placer final : public any_placer {
 public:
  concrete_placer(berth::cluster& c, const berth::placer_limits& limits)
      : cluster_{c}, limits_{limits}, place_{c, {}, {}, {}, limits} {}
  [[nodiscard]] berth::decision place(const berth::gang& g) noexcept override { return place_(g); }
  [[nodiscard]] berth::spread_decision spread(const berth::spread_request& q, const berth::label_book& book) override {
    if (!spread_) spread_.emplace(cluster_, Domain{}, Node{}, berth::best_bandwidth{}, limits_);
    return (*spread_)(q, book);
  }

 private:
  berth::cluster& cluster_;
  berth::placer_limits limits_;
  berth::placer<Domain, Node> place_;
  std::optional<berth::spread_placer<Domain, Node>> spread_;
};

template <class Domain>
std::unique_ptr<any_placer> make_with(node_choice node, berth::cluster& c, const berth::placer_limits& limits) {
  switch (node) {
    case node_choice::bin_pack:
      return std::make_unique<concrete_placer<Domain, berth::bin_pack>>(c, limits);
    case node_choice::spread:
      return std::make_unique<concrete_placer<Domain, berth::spread>>(c, limits);
    case node_choice::device_utilisation:
      break;
  }
  return std::make_unique<concrete_placer<Domain, berth::device_utilisation>>(c, limits);
}

}  // namespace berth_place
