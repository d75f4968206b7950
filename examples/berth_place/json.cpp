// The JSON answer; its schema is in docs/berth-place.md.

#include <cstddef>
#include <nlohmann/json.hpp>
#include <string>

#include "berth/solver/explain.hpp"
#include "berth/solver/explain_text.hpp"
#include "berth_place/answer.hpp"

namespace berth_place {

namespace {

using json = nlohmann::ordered_json;
using berth::level_id;

const char* result_word(berth::verdict v) {
  switch (v) {
    case berth::verdict::placed:
      return "placed";
    case berth::verdict::never:
      return "never";
    case berth::verdict::gave_up:
      return "gave_up";
    default:
      return "not_now";
  }
}

struct writer {
  const options& o;
  const site& s;
  const answer& a;

  [[nodiscard]] const berth::domain_tree& tree() const { return s.spec.tree; }
  [[nodiscard]] std::string level(level_id l) const { return tree().level_name(l); }
  // A domain's own name; "cluster" for the whole; for one without a name that of its first node.
  [[nodiscard]] std::string domain(level_id l, berth::domain_id d) const {
    if (l.raw() == 0) return "cluster";
    const std::string& name = tree().name(l, d);
    return name.empty() ? level(l) + " of " + s.spec.nodes[tree().at(l, d).nodes.first].name : name;
  }

  [[nodiscard]] json tasks() const {
    auto out = json::array();
    std::uint32_t rank = 0;
    const auto& placed = a.decision.where.tasks;
    for (std::size_t i = 0; i < placed.size(); ++i) {
      const berth::task_placement& t = placed[i];
      rank = i != 0 && placed[i - 1].group == t.group ? rank + 1 : 0;
      auto devices = json::array();
      berth::for_each_bit(t.devices, [&](unsigned d) { devices.push_back(d); });
      out.push_back({{"group", a.request.groups[t.group].name},
                     {"rank", rank},
                     {"node", s.spec.nodes[t.node.index()].name},
                     {"devices", std::move(devices)},
                     {"path", tree().path(t.node)}});
      const berth::part_need& part = a.request.groups[t.group].shape.part;
      if (part.has_places()) {
        out.back()["mig"] = json::array();
        for (const auto& at : instances_of(s, a, i))
          out.back()["mig"].push_back({{"device", at.device}, {"profile", at.profile}, {"start", at.start}});
      }
      if (part.is_share() || part.is_nested()) {
        json share;
        if (part.thousandths() != 0) share["thousandths"] = part.thousandths();
        if (part.memory_mib() != 0) share["memory_mib"] = part.memory_mib();
        if (part.memory_thousandths() != 0) share["memory_thousandths"] = part.memory_thousandths();
        out.back()["share"] = std::move(share);
      }
      if (i < a.bindings.size()) out.back()["bound"] = bound(t, a.bindings[i]);
    }
    return out;
  }
  [[nodiscard]] static json bits(std::uint64_t mask) {
    auto out = json::array();
    berth::for_each_bit(mask, [&](unsigned i) { out.push_back(i); });
    return out;
  }
  [[nodiscard]] static double gigabytes(std::int64_t rate) { return static_cast<double>(rate) / 1e9; }
  [[nodiscard]] json bound(const berth::task_placement& t, const berth::task_binding& b) const {
    json j{{"cpu_numa", bits(b.cpu_nodes)}, {"memory_numa", bits(b.memory_nodes)}};
    if (a.request.groups[t.group].shape.bind.near_nic) j["nics"] = bits(nics_beside(s, t));
    j["host_gigabytes_per_second"] = gigabytes(b.host_per_device * berth::count_bits(t.devices));
    return j;
  }
  [[nodiscard]] json reserved() const {
    if (a.request.between_nodes.count() == 0) return nullptr;
    json j{{"gigabytes_per_second", gigabytes(a.request.between_nodes.count())},
           {"usable", s.spec.uplinks.usable_permille / 1000.0},
           {"uplinks", json::array()}};
    for (const auto& u : a.uplinks) {
      json one{{"level", level(u.level)}, {"domain", domain(u.level, u.domain)}};
      if (u.rail) one["rail"] = *u.rail;
      one["gigabytes_per_second"] = gigabytes(u.taken);
      one["left"] = gigabytes(u.left);
      j["uplinks"].push_back(std::move(one));
    }
    return j;
  }
  [[nodiscard]] json lacking(const berth::lacking_link& l) const {
    json j;
    if (l.domain) {
      j = {{"level", level(l.level)}, {"domain", domain(l.level, l.domain)}};
      if (s.live->uplinks().planes(l.level.raw()) > 1) j["rail"] = l.plane;
    } else {
      j["node"] = s.spec.nodes[l.node.index()].name;
    }
    j["needs"] = gigabytes(l.needs);
    j["left"] = l.unknown ? json(nullptr) : json(gigabytes(l.left));
    return j;
  }
  [[nodiscard]] json near(const std::optional<berth::near_miss>& n, const berth::explanation& e) const {
    if (!n) return nullptr;
    return {{"level", level(n->level)},
            {"domain", domain(n->level, n->domain)},
            {"unit", a.request.segments ? "segments" : "tasks"},
            {"group", a.request.groups[e.group].name},
            {"holds", n->holds},
            {"needs", n->needs}};
  }
  [[nodiscard]] json remedy(const berth::remedy& r) const {
    json j{{"change", berth::to_string(r.what)}, {"level", level(r.level)}, {"domain", domain(r.level, r.domain)}};
    if (r.count != 0) j["count"] = r.count;
    if (r.spread != 0) j["spread"] = r.spread;
    j["least"] = r.least;
    if (!r.nodes.empty()) {
      j["nodes"] = json::array();
      for (const auto n : r.nodes) j["nodes"].push_back(s.spec.nodes[n.index()].name);
    }
    return j;
  }
  [[nodiscard]] json rule(const berth::spread_rule& r) const {
    json j{{"level", berth::detail::level_word(tree(), r.level)}};
    if (r.max_skew != berth::spread_rule::unlimited) j["max_skew"] = r.max_skew;
    if (r.minimum_domains != 0) j["minimum_domains"] = r.minimum_domains;
    if (r.at_most != berth::spread_rule::unlimited) j["at_most"] = r.at_most;
    if (r.beside) j["beside"] = true;
    j["required"] = r.required;
    return j;
  }
  [[nodiscard]] std::string any_domain(level_id l, berth::domain_id d) const {
    return l == berth::level_of_nodes(tree()) ? s.spec.nodes[d.index()].name : domain(l, d);
  }
  [[nodiscard]] json spread() const {
    if (!a.spread) return nullptr;
    auto out = json::array();
    for (std::size_t g = 0; g < a.spread->ask.groups.size(); ++g) {
      const auto& rules = a.spread->ask.groups[g].ask.rules;
      for (std::size_t r = 0; r < rules.size(); ++r) {
        json j = rule(rules[r]);
        j["group"] = a.request.groups[g].name;
        j["unit"] = unit_of(a.spread->ask.groups[g].ask);
        if (g < a.spread->counts.size()) {
          bool kept = true;
          for (const std::size_t d : a.spread->decision.dropped[g]) kept = kept && d != r;
          j["kept"] = kept;
          j["domains"] = json::array();
          const rule_counts& n = a.spread->counts[g][r];
          for (std::uint32_t d = 0; d < n.now.size(); ++d)
            if (n.now[d] != 0)
              j["domains"].push_back({{"domain", any_domain(rules[r].level, berth::domain_id{d})},
                                      {"before", n.before[d]},
                                      {"now", n.now[d]}});
        }
        out.push_back(std::move(j));
      }
    }
    return out;
  }
  // Why the rules alone stand in the way.
  [[nodiscard]] json broken_rules() const {
    const berth::spread_explanation& e = *a.spread->why;
    const std::size_t group = a.spread->decision.group;
    const berth::spread_request& q = a.spread->ask.groups[group].ask;
    json j;
    j["group"] = a.request.groups[group].name;
    j["level"] = level(level_id{0});
    std::size_t nodes[berth::node_cause_count] = {};
    for (std::uint32_t n = 0; n < s.live->node_count(); ++n)
      ++nodes[static_cast<std::size_t>(berth::cause_of(*s.live, berth::node_id{n}, q.shape, level_id{0}))];
    j["causes"] = json::array();
    for (std::size_t c = 0; c < berth::node_cause_count; ++c)
      if (nodes[c] != 0)
        j["causes"].push_back({{"cause", berth::to_string(static_cast<berth::node_cause>(c))}, {"nodes", nodes[c]}});
    j["nearest"] = {{"level", level(level_id{0})}, {"domain", "cluster"}, {"unit", unit_of(q) + "s"},
                    {"group", j["group"]},         {"holds", e.holds},    {"needs", e.needs}};
    if (e.beside_others) j["nearest"] = nullptr;
    j["best_ever"] = nullptr;
    j["fits_empty"] = e.fits_empty ? json(*e.fits_empty) : json(nullptr);
    j["groups_fit_alone"] = e.beside_others;
    j["fragmentation"] = nullptr;
    j["changes"] = json::array();
    for (const auto& r : e.remedies) {
      json one{{"change", berth::to_string(r.what)}, {"level", level(level_id{0})}, {"domain", "cluster"}};
      using kind = berth::spread_remedy::kind;
      if (r.count != 0) one["count"] = r.count;
      if (r.what != kind::no_rules && r.what != kind::no_repelling && r.what != kind::fewer_replicas)
        one["rule"] = rule(q.rules[r.rule]);
      one["least"] = true;
      j["changes"].push_back(std::move(one));
    }
    j["link"] = nullptr;
    j["rule"] = e.rule ? rule(q.rules[*e.rule]) : json(nullptr);
    if (e.rule && e.domain)
      j["rule"]["held_back_by"] = {{"domain", any_domain(q.rules[*e.rule].level, *e.domain)},
                                   {"total", e.domain_total}};
    j["sentences"] = a.spread->sentences;
    return j;
  }
  [[nodiscard]] json explanation() const {
    if (a.refused_by_rules()) return broken_rules();
    if (!a.explanation) return nullptr;
    const berth::explanation& e = *a.explanation;
    json j;
    j["group"] = a.request.groups[e.group].name;
    j["level"] = level(e.level);
    j["causes"] = json::array();
    for (std::size_t c = 0; c < berth::node_cause_count; ++c)
      if (e.causes[c] != 0)
        j["causes"].push_back({{"cause", berth::to_string(static_cast<berth::node_cause>(c))}, {"nodes", e.causes[c]}});
    j["taints"] = json::array();
    for (const auto& t : e.taints) j["taints"].push_back({{"key", t.key}, {"nodes", t.nodes}});
    j["nearest"] = near(e.nearest, e);
    j["best_ever"] = near(e.best_ever, e);
    j["fits_empty"] = e.fits_empty ? json(*e.fits_empty) : json(nullptr);
    j["groups_fit_alone"] = e.groups_fit_alone;
    j["fragmentation"] = {{"free_devices", e.room.free_devices},
                          {"tasks_anywhere", e.room.tasks_anywhere},
                          {"tasks_in_one", e.room.tasks_in_one},
                          {"tasks_crowded", e.room.tasks_crowded}};
    j["changes"] = json::array();
    for (const auto& r : e.remedies) j["changes"].push_back(remedy(r));
    j["link"] = e.link ? lacking(*e.link) : json(nullptr);
    j["sentences"] = berth::explanation_sentences(e, a.request, s.spec);
    if (const std::string link = host_link_sentence(s, a); !link.empty()) j["sentences"].push_back(link);
    return j;
  }
  [[nodiscard]] json whole() const {
    const bool placed = a.decision.result == berth::verdict::placed;
    json j;
    j["result"] = result_word(a.result());
    j["job"] = a.job.name;
    j["policy"] = o.policy.name();
    j["tasks"] = tasks();
    j["domains_used"] = json::object();
    j["score"] = nullptr;
    if (placed) {
      auto by_level = json::array();
      for (std::uint8_t l = 0; l < tree().level_count(); ++l) {
        j["domains_used"][level(level_id{l})] = a.decision.score.domains_used[l];
        by_level.push_back(a.decision.score.domains_used[l]);
      }
      j["score"] = {{"tasks_missing", a.decision.score.tasks_missing}, {"domains_used", std::move(by_level)}};
      j["level"] = level(a.decision.level);
      j["domain"] = domain(a.decision.level, a.decision.domain);
    }
    if (a.spread) j["spread"] = spread();
    if (placed && a.decision.rails != 0) j["rails"] = bits(a.decision.rails);
    if (placed) j["between_nodes"] = reserved();
    j["explanation"] = explanation();
    j["nanoseconds"] = a.nanoseconds;
    j["steps"] = a.decision.steps;
    std::uint64_t devices = 0, free = 0;
    for (const auto& n : s.live->nodes()) devices += berth::count_bits(n.installed), free += berth::count_bits(n.free);
    auto levels = json::array();
    for (std::uint8_t l = 0; l < tree().level_count(); ++l)
      levels.push_back({{"level", level(level_id{l})}, {"domains", tree().domain_count(level_id{l})}});
    j["cluster"] = {{"nodes", s.spec.nodes.size()},
                    {"devices", devices},
                    {"free_devices", free},
                    {"jobs", s.live->job_count()},
                    {"levels", std::move(levels)}};
    j["assumptions"] = s.spec.assumptions;
    j["notes"] = s.conflicts;
    for (const auto* more : {&s.occupied, &s.notes})
      for (const auto& t : *more) j["notes"].push_back(t);
    return j;
  }
};

}  // namespace

std::string as_json(const options& o, const site& s, const answer& a) {
  return writer{o, s, a}.whole().dump(2, ' ', false, nlohmann::json::error_handler_t::replace) + "\n";
}

}  // namespace berth_place
