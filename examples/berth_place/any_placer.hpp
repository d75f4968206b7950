#pragma once
// The one place where policies are chosen at run time: a placer behind a virtual call, made from a name such as
// "tightest/spread".

#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "berth/cluster/cluster.hpp"
#include "berth/core/error.hpp"
#include "berth/core/expected.hpp"
#include "berth/job/gang.hpp"
#include "berth/job/label_book.hpp"
#include "berth/job/spread.hpp"
#include "berth/solver/decision.hpp"
#include "berth/solver/spread_placer.hpp"

namespace berth_place {

class any_placer {
 public:
  any_placer() = default;
  any_placer(const any_placer&) = delete;
  any_placer& operator=(const any_placer&) = delete;
  virtual ~any_placer() = default;
  [[nodiscard]] virtual berth::decision place(const berth::gang& g) noexcept = 0;
  [[nodiscard]] virtual berth::spread_decision spread(const berth::spread_request& q,
                                                      const berth::label_book& book) = 0;
};

enum class node_choice { bin_pack, spread, device_utilisation };

// One per domain policy, each in its own file under policy/, because every combination is a program of its own.
using placer_maker = std::unique_ptr<any_placer> (*)(node_choice, berth::cluster&, const berth::placer_limits&);
std::unique_ptr<any_placer> make_fewest_domains(node_choice, berth::cluster&, const berth::placer_limits&);
std::unique_ptr<any_placer> make_tightest(node_choice, berth::cluster&, const berth::placer_limits&);
std::unique_ptr<any_placer> make_least_free_first(node_choice, berth::cluster&, const berth::placer_limits&);
std::unique_ptr<any_placer> make_most_free_first(node_choice, berth::cluster&, const berth::placer_limits&);
std::unique_ptr<any_placer> make_balanced(node_choice, berth::cluster&, const berth::placer_limits&);

struct policy_help {
  std::string_view name;
  std::string_view text;
};
inline constexpr policy_help domain_policies[] = {
    {"fewest_domains", "fewest sub-domains, then the tightest fit (the default)"},
    {"tightest",
     "the domain with the least room that suffices; a split fills the emptiest first, the last one tightly"},
    {"least_free_first", "as tightest, but a split fills the fullest first: small jobs fill holes"},
    {"most_free_first", "the emptiest domain: least contention, breaks empty domains"},
    {"balanced", "the tightest domain; a split is even over the fewest children"},
};
inline constexpr policy_help node_policies[] = {
    {"bin_pack", "fill nodes that are in use, so that whole nodes stay whole (the default)"},
    {"spread", "the least loaded node first, one task at a time"},
    {"device_utilisation", "the node whose share of GPUs in use comes out highest"},
};

struct policy_choice {
  std::string_view domain = domain_policies[0].name;
  std::string_view node = node_policies[0].name;
  [[nodiscard]] std::string name() const { return std::string{domain} + "/" + std::string{node}; }
};

// "DOMAIN", "NODE" or "DOMAIN/NODE".
[[nodiscard]] berth::expected<policy_choice, berth::input_error> parse_policy(std::string_view text);
[[nodiscard]] std::unique_ptr<any_placer> make_placer(const policy_choice& policy, berth::cluster& c,
                                                      const berth::placer_limits& limits);

}  // namespace berth_place
