#pragma once
/// \file
/// Why a request was refused under its rules although there is room for it without them: which rule, which domain, and
/// what smallest change would do. As numbers, and in English.

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "berth/cluster/cluster.hpp"
#include "berth/cluster/spec.hpp"
#include "berth/core/separate.hpp"
#include "berth/job/label_book.hpp"
#include "berth/job/spread.hpp"
#include "berth/solver/explain_text.hpp"
#include "berth/solver/spread_placer.hpp"

namespace berth {

/// A change after which the request is placed. Every one is tried before it is named.
struct spread_remedy {
  enum class kind : std::uint8_t {
    larger_skew,     ///< `count` as the skew of `rule`
    more_at_most,    ///< `count` replicas in a domain
    fewer_domains,   ///< `rule` without its least number of domains
    no_rule,         ///< without `rule`
    no_rules,        ///< without all of them: no single one is at fault
    no_repelling,    ///< other jobs no longer keep the request away
    fewer_replicas,  ///< `count` of them
  };
  kind what{};
  std::size_t rule = 0;
  std::uint32_t count = 0;
};
/// "larger_skew", …: the words of machine-readable output.
[[nodiscard]] constexpr std::string_view to_string(spread_remedy::kind k) noexcept {
  constexpr std::string_view words[] = {"larger_skew", "more_at_most", "fewer_domains", "no_rule",
                                        "no_rules",    "no_repelling", "fewer_tasks"};
  return words[static_cast<std::size_t>(k)];
}

/// All about one refusal.
struct spread_explanation {
  verdict result = verdict::not_now;  ///< made exact where an empty cluster decides it
  bool beside_others = false;         ///< the request fits alone, but not beside the other groups of its gang
  std::optional<bool> fits_empty;     ///< fits with everything released and healthy; nothing where that gave up too
  std::uint32_t needs = 0;            ///< replicas
  std::uint32_t holds = 0;            ///< of them, as many as do fit under the rules
  std::optional<std::size_t> rule;    ///< the one at fault, where one alone is
  /// For a skew at fault: the domain that can take no more and holds the others back.
  std::optional<domain_id> domain;
  std::int64_t domain_total = 0;  ///< the most that it can come to
  std::vector<spread_remedy> remedies;
};

namespace detail {

/// A copy with all jobs released and everything healthy.
[[nodiscard]] cluster emptied(const cluster& c);

/// The smallest value in (low, high] for which `fits` holds, where it holds for all above one. Null: not for `high`.
template <class F>
[[nodiscard]] std::optional<std::uint32_t> least_that(std::uint32_t low, std::uint32_t high, F&& fits) {
  if (high <= low || !fits(high)) return std::nullopt;
  while (high - low > 1) {
    const std::uint32_t mid = low + (high - low) / 2;
    if (fits(mid)) high = mid;
    else low = mid;
  }
  return high;
}

}  // namespace detail

/// Explains the refusal of `q`. \pre `d` is what a placer of `c` answered to it \param make  makes a placer of a
/// cluster: `[](cluster& c) { return std::make_unique<spread_placer<>>(c); }`
template <class Make>
[[nodiscard]] spread_explanation explain_spread(cluster& c, const spread_request& q, const label_book& book,
                                                const spread_decision& d, Make&& make) {
  spread_explanation e;
  e.result = d.result;
  e.needs = q.minimum;
  auto place = make(c);
  const auto fits = [&](auto change) {
    spread_request other = q;
    change(other);
    return (*place)(other, book).result == verdict::placed;
  };
  {
    spread_request any = q;
    any.minimum = 1;
    const spread_decision most = (*place)(any, book);
    if (most) e.holds = most.replicas;
  }
  if (e.holds >= q.minimum) {
    e.beside_others = true;
    return e;
  }
  {
    cluster empty = detail::emptied(c);
    auto ideal = make(empty);
    const verdict v = (*ideal)(q, book).result;
    if (v == verdict::placed) e.fits_empty = true;
    if (v == verdict::not_now || v == verdict::never) e.fits_empty = false;
    if (e.fits_empty == false) e.result = verdict::never;
  }
  using kind = spread_remedy::kind;
  bool single = false;
  for (std::size_t r = 0; r < q.rules.size(); ++r) {
    const spread_rule& rule = q.rules[r];
    if (!rule.required ||
        !fits([&](spread_request& x) { x.rules.erase(x.rules.begin() + static_cast<std::ptrdiff_t>(r)); }))
      continue;
    if (!single) e.rule = r;
    single = true;
    bool milder = false;
    const auto with = [&](auto set) { return fits([&](spread_request& x) { set(x.rules[r]); }); };
    if (rule.max_skew != spread_rule::unlimited)
      if (const auto n = detail::least_that(rule.max_skew, rule.max_skew + q.replicas, [&](std::uint32_t v) {
            return with([&](spread_rule& x) { x.max_skew = v; });
          }))
        e.remedies.push_back({kind::larger_skew, r, *n}), milder = true;
    if (rule.at_most != spread_rule::unlimited)
      if (const auto n = detail::least_that(rule.at_most, rule.at_most + q.replicas, [&](std::uint32_t v) {
            return with([&](spread_rule& x) { x.at_most = v; });
          }))
        e.remedies.push_back({kind::more_at_most, r, *n}), milder = true;
    if (rule.minimum_domains != 0 && with([](spread_rule& x) { x.minimum_domains = 0; }))
      e.remedies.push_back({kind::fewer_domains, r, 0}), milder = true;
    if (!milder) e.remedies.push_back({kind::no_rule, r, 0});
  }
  if (!single) {
    // Several are at fault together, or what others keep away.
    if (fits([](spread_request& x) { x.rules.clear(); })) e.remedies.push_back({kind::no_rules, 0, 0});
    label_book quiet;
    for (const auto& entry : book.entries()) quiet.set(entry.key, entry.labels);
    if ((*place)(q, quiet).result == verdict::placed) e.remedies.push_back({kind::no_repelling, 0, 0});
  }
  if (e.holds != 0) e.remedies.push_back({kind::fewer_replicas, 0, e.holds});
  if (d.why.why == spread_refusal::cause::skew && (!e.rule || *e.rule == d.rule)) {
    e.rule = d.rule;
    if (!d.why.few_domains) e.domain = domain_id{d.why.domain}, e.domain_total = d.why.total;
  }
  return e;
}

namespace detail {

/// "rack", or "node" for the level below the leaves.
[[nodiscard]] std::string level_word(const domain_tree& t, level_id l);
[[nodiscard]] std::string level_domain_text(const cluster_spec& spec, level_id l, domain_id d);

}  // namespace detail

/// A rule in words: "no rack with over 1 task more than another". \param unit "task" or "segment"
[[nodiscard]] std::string rule_text(const spread_rule& r, const domain_tree& t, const std::string& unit = "task");

/// An explanation in sentences; the first says the result. \param unit  of the replicas: "task" or "segment"
[[nodiscard]] std::vector<std::string> spread_sentences(const spread_explanation& e, const spread_request& q,
                                                        const cluster_spec& spec, const std::string& who = "",
                                                        const std::string& unit = "task");

}  // namespace berth

#if BERTH_WITH_BODIES
#include "berth/solver/impl/explain_spread.hpp"
#endif
