#pragma once
/// \file
/// From a job with rules of spreading to requests on a concrete cluster: names of levels become ids, selectors the
/// labels of those whose tasks count.

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "berth/cluster/cluster.hpp"
#include "berth/core/error.hpp"
#include "berth/core/expected.hpp"
#include "berth/io/job_spec.hpp"
#include "berth/io/own_tasks.hpp"
#include "berth/io/resolve_job.hpp"
#include "berth/io/spread_spec.hpp"
#include "berth/job/gang.hpp"
#include "berth/job/label_book.hpp"
#include "berth/solver/spread_gang.hpp"

namespace berth {

/// A job that runs, as rules see it.
struct running_job {
  job_key key{};
  std::vector<std::string> labels{};      ///< `key=value`; empty where no file shows them
  std::vector<spread_spec> keeps_away{};  ///< selected tasks may not come into its domains
};

/// A gang, and where rules say more than a gang can, the requests of its groups.
struct resolved_job {
  gang ask{};
  std::optional<spread_gang> spread{};            ///< by group of `ask`
  std::vector<std::vector<spread_spec>> rules{};  ///< by group: the words of the rules of its request
  label_book book{};                              ///< who counts for them
};

namespace job_detail {

class rule_resolver {
 public:
  rule_resolver(const job_spec& job, const cluster& c, const std::vector<running_job>& running,
                const std::string& source, std::vector<std::string>& said)
      : job_{job},
        c_{c},
        running_{running},
        source_{source},
        said_{said},
        labels_(running.size()),
        repels_(running.size()),
        carried_(job.groups.size()),
        own_repels_(job.groups.size()) {
    for (const auto& r : running) known_ = known_ || !r.labels.empty();
  }

  /// What of the rules is left once those are gone that are kept in any case; also sets `per_node` of the job's groups.
  [[nodiscard]] std::optional<input_error> reduce(job_spec& plain) {
    rules_.resize(job_.groups.size());
    for (std::size_t i = 0; i < job_.groups.size(); ++i) {
      plain.groups[i].spread.clear();
      for (const auto& s : job_.groups[i].spread) {
        kept_rule k;
        k.words = s;
        auto level = level_of(s);
        if (!level) {
          if (s.required) return std::move(level).error();
          say("The wish about " + io_text::quoted(s.level) + " is left out: " + level.error().found +
              " is none of the cluster's levels.");
          continue;
        }
        k.level = *level;
        k.counted = who_counts(i, s, k);
        if (is_kept_anyway(i, s, k)) continue;
        // Tasks of a group on different nodes need no rule.
        if (k.level == level_of_nodes(c_.tree()) && s.own && !k.counted && s.at_most && s.max_skew == 0 && s.required) {
          auto& per_node = plain.groups[i].per_node;
          if (per_node == 0 || *s.at_most < per_node) per_node = *s.at_most;
          continue;
        }
        rules_[i].push_back(std::move(k));
      }
    }
    return std::nullopt;
  }
  /// Whether a placer of plain gangs may decide.
  [[nodiscard]] bool is_plain() {
    bool any = keep_away();
    for (const auto& r : rules_) any = any || !r.empty();
    return !any;
  }

  /// Requests of the groups of `g`. \pre !is_plain()
  [[nodiscard]] expected<void, input_error> make(cluster& c, resolved_job& out) {
    const gang& g = out.ask;
    const bool several = g.groups.size() > 1;
    if (auto f = clash(g)) {
      for (const auto& group : rules_)
        for (const auto& k : group)
          if (k.words.required)
            return unexpected{input_error{source_, k.words.line.is, std::move(f->first), std::move(f->second)}};
      say("Wishes about where tasks are spread are left out beside what else the gang asks for: " + f->first + ".");
      if (kept_away_) say("Running pods that keep these tasks away are not looked at for that reason.");
      return {};
    }
    spread_gang all;
    for (std::size_t i = 0; i < g.groups.size(); ++i) {
      const task_group& t = g.groups[i];
      spread_group group;
      spread_request& q = group.ask;
      q.shape = t.shape;
      q.replicas = t.wanted;
      q.minimum = t.minimum;
      q.goal = spread_goal::packed;
      if (g.segments) {
        q.tasks_per_replica = t.wanted / g.segments->count;
        q.replicas = g.segments->count;
        q.minimum = t.minimum / q.tasks_per_replica;
        q.inside = g.segments->level;
        if (g.segments->layout == segment_layout::spread) {
          spread_rule one;
          one.level = g.segments->level;
          one.at_most = 1;
          q.rules.push_back(std::move(one));
          out.rules.resize(i + 1);
          spread_spec words;
          words.level = c.tree().level_name(g.segments->level);
          words.at_most = 1;
          out.rules[i].push_back(std::move(words));
        }
      }
      out.rules.resize(i + 1);
      if (g.where == locality::required && g.level.raw() != 0) q.within = g.level;
      for (kept_rule& k : rules_[i]) {
        if (g.segments && k.level > g.segments->level)
          return unexpected{input_error{source_, k.words.line.is,
                                        "a rule about " + io_text::quoted(k.words.level) +
                                            " inside of segments of one " + c.tree().level_name(g.segments->level),
                                        "a rule about that level or a wider one: it counts segments"}};
        if (t.shape.part.asks() && k.level == level_of_nodes(c.tree()))
          return unexpected{input_error{source_, k.words.line.is, "a rule about nodes for parts of GPUs",
                                        "per-node, or a rule about a level of switches"}};
        if (k.words.max_skew != 0) q.goal = spread_goal::even;
        q.rules.push_back(rule_of(k, t, c));
        out.rules[i].push_back(std::move(k.words));
      }
      for (const std::string& l : carried_[i]) q.labels.push_back(l);
      group.repels = std::move(own_repels_[i]);
      all.groups.push_back(std::move(group));
    }
    if (g.where == locality::preferred && g.level.raw() != 0) {
      if (several) say("The wish for one " + c.tree().level_name(g.level) + " is left out beside rules of spreading.");
      else all.prefer = g.level;
    }
    all.independent = !cross_;
    out.spread = std::move(all);
    for (std::size_t j = 0; j < running_.size(); ++j)
      if (!labels_[j].empty() || !repels_[j].empty())
        out.book.set(running_[j].key, std::move(labels_[j]), std::move(repels_[j]));
    return {};
  }

 private:
  struct kept_rule {
    spread_spec words;
    level_id level{};
    bool counted = false;  ///< tasks of others count
    std::string label;     ///< of those that count; "" for the group's own alone
  };

  /// What of a gang cannot be decided together with rules, as {found, expected}.
  [[nodiscard]] std::optional<std::pair<std::string, std::string>> clash(const gang& g) const {
    using fault = std::pair<std::string, std::string>;
    const bool several = g.groups.size() > 1;
    if (g.between_nodes.count() != 0 || g.rails == rail_rule::same)
      return fault{"a rate between nodes or the same rails beside rules of spreading",
                   "one of them: rules and uplinks are not decided together yet"};
    if (several && g.where == locality::required && g.level.raw() != 0)
      return fault{"one " + c_.tree().level_name(g.level) + " for several groups, of which one is spread by rules",
                   "rules without a level that holds all groups, or one group"};
    if (several && g.segments)
      return fault{"segments of several groups, of which one is spread by rules",
                   "segments without rules, or one group"};
    if (g.segments && g.segments->layout == segment_layout::consolidate)
      return fault{"segments that are consolidated and spread by rules", "one of them"};
    return std::nullopt;
  }
  void say(std::string sentence) {
    for (const auto& s : said_)
      if (s == sentence) return;
    said_.push_back(std::move(sentence));
  }
  [[nodiscard]] expected<level_id, input_error> level_of(const spread_spec& s) const {
    if (means_node(s.level)) return level_of_nodes(c_.tree());
    auto l = resolve_level(s.level, c_.tree(), source_);
    if (l) return l;
    input_error e = std::move(l).error();
    e.line = s.line.is;
    e.expected += ", or node";
    return unexpected{std::move(e)};
  }
  /// Marks who counts for a rule. \return whether others than the group's own tasks do
  [[nodiscard]] bool who_counts(std::size_t group, const spread_spec& s, kept_rule& k) {
    if (!s.others) return false;
    const std::string label = "rule " + std::to_string(next_label_++);
    bool any = false;
    for (std::size_t j = 0; j < running_.size(); ++j)
      if (!running_[j].labels.empty() && meets_all(running_[j].labels, s.selector)) {
        labels_[j].push_back(label);
        any = true;
      }
    for (std::size_t i = 0; i < job_.groups.size(); ++i) {
      const auto& labels = job_.groups[i].task_labels.is;
      if (i == group || labels.empty() || !meets_all(labels, s.selector)) continue;
      carried_[i].push_back(label);
      any = cross_ = true;
      if (s.required && s.at_most) own_repels_[group].push_back({label, k.level});
    }
    if (!any) return false;
    k.label = label;
    if (s.own) carried_[group].push_back(label);
    return true;
  }
  /// Rules that nothing can break, or of which nothing is known.
  [[nodiscard]] bool is_kept_anyway(std::size_t group, const spread_spec& s, const kept_rule& k) {
    if (k.counted) return false;
    if (s.beside && s.own) {  // together: `within` says it, and `prefer` the first wish
      if (!s.required) say("A second wish to be together, in one " + io_text::quoted(s.level) + ", is left out.");
      return true;
    }
    if (!s.own && !known_) {
      say(std::string{"A rule about other pods and "} + io_text::quoted(s.level) +
          " is not applied: where these run is not known, for no file of the cluster shows pods.");
      return true;
    }
    if (s.beside) return !s.required;  // nothing runs that the group could be beside
    if (s.declared_only && has_gaps(k.level)) return false;
    return !s.own || job_.groups[group].wanted == 1;
  }
  [[nodiscard]] bool has_gaps(level_id l) const noexcept {
    if (l == level_of_nodes(c_.tree())) return false;
    for (std::uint32_t d = 0; d < c_.tree().domain_count(l); ++d)
      if (c_.tree().at(l, domain_id{d}).implicit) return true;
    return false;
  }
  /// Marks what running jobs keep away. \return whether anything
  [[nodiscard]] bool keep_away() {
    for (std::size_t j = 0; j < running_.size(); ++j)
      for (const auto& s : running_[j].keeps_away) {
        std::string label;
        for (std::size_t i = 0; i < job_.groups.size(); ++i) {
          const auto& labels = job_.groups[i].task_labels.is;
          if (labels.empty() || !meets_all(labels, s.selector)) continue;
          if (label.empty()) label = "away " + std::to_string(next_label_++);
          carried_[i].push_back(label);
        }
        if (label.empty()) continue;
        const auto level = level_of(s);
        if (!level) {
          say("A running pod keeps these tasks out of its " + io_text::quoted(s.level) +
              ", which is none of the cluster's levels.");
          continue;
        }
        repels_[j].push_back({label, *level});
        kept_away_ = true;
      }
    return kept_away_;
  }
  [[nodiscard]] static spread_rule rule_of(const kept_rule& k, const task_group& t, cluster& c) {
    const spread_spec& s = k.words;
    spread_rule r;
    r.level = k.level;
    r.label = k.label;
    if (r.label.empty() && !s.own) r.label = "nobody";
    if (s.max_skew != 0) r.max_skew = s.max_skew;
    r.minimum_domains = s.minimum_domains;
    if (s.at_most) r.at_most = *s.at_most;
    r.required = s.required;
    r.beside = s.beside;
    r.declared_only = s.declared_only;
    r.drained_count = s.any_taints;
    if (s.max_skew != 0 && (s.any_labels || s.any_taints)) {
      node_filter f = c.filter(t.shape.filter);
      const node_filter own = f;
      if (s.any_labels) f.all_of.clear(), f.none_of.clear(), f.any_of.clear();
      if (s.any_taints) f.taints = false, f.tolerations.clear();
      if (!(f == own)) r.counts = c.add_filter(f);
    }
    return r;
  }

  const job_spec& job_;
  const cluster& c_;
  const std::vector<running_job>& running_;
  const std::string& source_;
  std::vector<std::string>& said_;
  std::vector<std::vector<kept_rule>> rules_;
  std::vector<std::vector<std::string>> labels_;     ///< by running job: rules that count it
  std::vector<std::vector<repelled_label>> repels_;  ///< by running job
  std::vector<std::vector<std::string>> carried_;    ///< by group: labels of its request
  std::vector<std::vector<repelled_label>> own_repels_;
  bool kept_away_ = false;
  std::size_t next_label_ = 0;
  bool known_ = false, cross_ = false;
};

}  // namespace job_detail

/// Turns a job into a gang for `c`, and where its rules of spreading say more than a gang can, into requests for
/// `spread_gang_solver`. Rules that nothing can break are left out, one own task per node becomes the shape's limit.
/// What cannot be kept beside rules (several groups in one domain, guaranteed rates, …) is an error with the line of a
/// rule; a level that the cluster does not have too, except of a wish, which is left out and said so. Tasks of the job
/// that run already are counted in a note.
///
/// \param running  jobs of the cluster; those that are not in the list count for no rule \param source, notes, ways  as
/// those of `resolve_job`
[[nodiscard]] inline expected<resolved_job, input_error> resolve_spread_job(
    const job_spec& job, cluster& c, const std::vector<running_job>& running = {},
    const std::vector<std::string>& known_models = {}, const std::string& source = "job",
    std::vector<std::string>* notes = nullptr, const stated_by& ways = {}) {
  std::vector<std::string> said;
  if (auto f = fault_of(job)) return unexpected{input_error{source, 0, std::move(f->first), std::move(f->second)}};
  job_detail::rule_resolver rules{job, c, running, source, said};
  job_spec plain = job;
  if (auto wrong = rules.reduce(plain)) return unexpected{std::move(*wrong)};
  const bool simple = rules.is_plain();
  auto g = resolve_job(plain, c, known_models, source, &said, ways);
  if (!g) return unexpected{std::move(g).error()};
  resolved_job out;
  out.ask = std::move(*g);
  if (!simple)
    if (auto ok = rules.make(c, out); !ok) return unexpected{std::move(ok).error()};
  std::size_t own = 0;
  for (const auto& r : running) own += is_own_task(job, r.labels) ? 1U : 0U;
  if (own != 0)
    said.push_back(io_text::counted(own, "task") + " of this job " + (own == 1 ? "runs" : "run") +
                   " in the cluster already; all that it asks for is asked for besides.");
  if (notes != nullptr)
    for (auto& s : said) notes->push_back(std::move(s));
  return out;
}

}  // namespace berth
