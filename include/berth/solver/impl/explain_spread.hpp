#pragma once
/// \file
/// Bodies of `berth/solver/explain_spread.hpp`.

#include "berth/solver/detail/nodes_to_free.hpp"
#include "berth/solver/explain_spread.hpp"

namespace berth::detail {

BERTH_INLINE cluster emptied(const cluster& c) {
  cluster out = c;
  std::vector<job_key> keys;
  out.for_each_job([&](job_key k) { keys.push_back(k); });
  for (const job_key k : keys) static_cast<void>(out.release(k));
  restore_all(out);
  return out;
}

}  // namespace berth::detail

namespace berth {

BERTH_INLINE std::string rule_text(const spread_rule& r, const domain_tree& t, const std::string& unit) {
  const std::string level = detail::level_word(t, r.level);
  std::string out;
  const auto add = [&](const std::string& s) { out += (out.empty() ? "" : ", ") + s; };
  if (r.max_skew != spread_rule::unlimited)
    add("no " + level + " with over " + detail::counted_text(r.max_skew, unit) + " more than another");
  if (r.minimum_domains != 0) add("over at least " + detail::counted_text(r.minimum_domains, level));
  if (r.at_most == 0) add("no " + level + " where tasks run that it keeps away from");
  else if (r.at_most != spread_rule::unlimited)
    add("at most " + detail::counted_text(r.at_most, unit) + " in a " + level);
  if (r.at_most_permille != 1000) add("at most " + std::to_string(r.at_most_permille) + " thousandths in a " + level);
  if (r.beside) add("in a " + level + " where tasks run that it wants to be beside");
  return out;
}

BERTH_INLINE std::vector<std::string> spread_sentences(const spread_explanation& e, const spread_request& q,
                                                       const cluster_spec& spec, const std::string& who,
                                                       const std::string& unit) {
  using kind = spread_remedy::kind;
  const domain_tree& t = spec.tree;
  std::vector<std::string> out;
  const std::string wish =
      detail::counted_text(e.needs, unit) + who + " of " + detail::shape_words(q.shape) + (e.needs == 1 ? "" : " each");
  if (e.result == verdict::gave_up) {
    out.push_back("Gave up: no way to place " + wish + " under all rules was found, and none was ruled out.");
    if (e.beside_others)
      out.push_back("The group fits by itself, and no order of the groups was found in which all do.");
  } else if (e.result == verdict::never) {
    out.push_back("Never: even with everything free and healthy the rules do not let the cluster hold " + wish + ".");
  } else {
    out.push_back("Not now: there is room for " + wish + ", but not under the rules.");
  }
  if (e.rule) {
    out.push_back("The rule at fault: " + rule_text(q.rules[*e.rule], t, unit) + ".");
    if (e.domain) {
      std::string s = detail::level_domain_text(spec, q.rules[*e.rule].level, *e.domain);
      if (s[0] >= 'a' && s[0] <= 'z') s[0] = static_cast<char>(s[0] - 'a' + 'A');
      out.push_back(s + " can come to " + detail::counted_text(static_cast<std::uint64_t>(e.domain_total), unit) +
                    " at most and holds the others back.");
    }
  }
  for (const auto& r : e.remedies) {
    const spread_rule* rule = r.rule < q.rules.size() ? &q.rules[r.rule] : nullptr;
    const std::string level = rule == nullptr ? "" : detail::level_word(t, rule->level);
    switch (r.what) {
      case kind::larger_skew:
        out.push_back("A skew of " + std::to_string(r.count) + " instead of " + std::to_string(rule->max_skew) +
                      " over " + detail::counted_text(2, level).substr(2) + " would fit now.");
        break;
      case kind::more_at_most:
        out.push_back("At most " + std::to_string(r.count) + " instead of " + std::to_string(rule->at_most) + " in a " +
                      level + " would fit now.");
        break;
      case kind::fewer_domains:
        out.push_back("Without the least number of " + detail::counted_text(2, level).substr(2) + " it would fit now.");
        break;
      case kind::no_rule:
        out.push_back("Without that rule (" + rule_text(*rule, t, unit) + ") it would fit now.");
        break;
      case kind::no_rules:
        out.push_back("No rule alone is at fault; without all of them it would fit now.");
        break;
      case kind::no_repelling:
        out.push_back("Jobs that run keep it away; without that it would fit now.");
        break;
      case kind::fewer_replicas:
        out.push_back(std::to_string(r.count) + " instead of " + detail::counted_text(e.needs, unit) +
                      " would fit now.");
        break;
    }
  }
  return out;
}

}  // namespace berth

namespace berth::detail {

BERTH_INLINE std::string level_word(const domain_tree& t, level_id l) {
  return l == level_of_nodes(t) ? std::string{"node"} : t.level_name(l);
}

BERTH_INLINE std::string level_domain_text(const cluster_spec& spec, level_id l, domain_id d) {
  return l == level_of_nodes(spec.tree) ? "node " + spec.nodes[d.index()].name : domain_text(spec, l, d);
}

}  // namespace berth::detail
