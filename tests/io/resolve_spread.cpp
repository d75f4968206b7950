// Rules of spreading in words, on a concrete cluster: what counts, what nothing can break, what is refused.
#include "berth/io/resolve_spread.hpp"

#include <doctest/doctest.h>

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "berth/io/gang_text.hpp"
#include "berth/solver/explain_spread.hpp"
#include "berth/topology/domain_tree_builder.hpp"

namespace {

using namespace berth;

/// Two zones of two racks with two nodes of 8 GPUs each; node 7 has a taint, node 0 the label fast.
cluster_spec make_spec() {
  cluster_spec s;
  s.tree = domain_tree_builder::regular({"cluster", "zone", "rack"}, {2, 2}, 2);
  s.shapes.push_back(make_plain_shape("box", 8, "m", cpus(64), gibibytes(64)));
  for (std::uint32_t n = 0; n < 8; ++n)
    s.nodes.push_back({"n" + std::to_string(n), shape_id{0}, {}, cpus(64), gibibytes(64)});
  s.nodes[7].labels = {"taint:k=v:NoSchedule"};
  s.nodes[0].labels = {"fast"};
  return s;
}

/// `rack skew 1 least 2 most 3 of LABEL …; within …; labels …`
std::string describe(const resolved_job& r, const cluster& c) {
  if (!r.spread) {
    std::string out = "plain";
    for (const auto& g : r.ask.groups)
      out += g.shape.per_node != 0 ? " per-node " + std::to_string(g.shape.per_node) : "";
    return out;
  }
  std::string out = r.spread->independent ? "" : "dependent ";
  if (r.spread->prefer) out += "prefer " + c.tree().level_name(*r.spread->prefer) + " ";
  for (const auto& group : r.spread->groups) {
    const spread_request& q = group.ask;
    out +=
        (out.empty() || out.back() == ' ' ? "" : "; ") + std::to_string(q.minimum) + "-" + std::to_string(q.replicas);
    if (q.tasks_per_replica != 1) out += "x" + std::to_string(q.tasks_per_replica);
    if (q.within) out += " within " + c.tree().level_name(*q.within);
    if (q.goal == spread_goal::even) out += " even";
    for (const auto& rule : q.rules) {
      out += " [" + detail::level_word(c.tree(), rule.level);
      if (rule.max_skew != spread_rule::unlimited) out += " skew " + std::to_string(rule.max_skew);
      if (rule.minimum_domains != 0) out += " least " + std::to_string(rule.minimum_domains);
      if (rule.at_most != spread_rule::unlimited) out += " most " + std::to_string(rule.at_most);
      if (rule.beside) out += " beside";
      if (rule.drained_count) out += " drained";
      if (rule.counts) out += " other-nodes";
      if (!rule.required) out += " wish";
      if (!rule.label.empty()) out += " of " + rule.label;
      out += "]";
    }
    for (const auto& l : q.labels) out += " +" + l;
    for (const auto& l : group.repels) out += " -" + l.label;
  }
  return out;
}

spread_spec rule(const char* level, std::uint32_t skew, std::vector<label_requirement> selector = {}, bool own = true) {
  spread_spec s;
  s.level = level;
  s.max_skew = skew;
  s.own = own;
  s.others = true;
  s.selector = std::move(selector);
  s.line.is = 12;
  return s;
}
spread_spec at_most(const char* level, std::uint32_t n, const char* app, bool own) {
  spread_spec s = rule(level, 0, {{"app", label_requirement::kind::in, {app}}}, own);
  s.at_most = n;
  return s;
}
spread_spec beside(const char* level, const char* app, bool own) {
  spread_spec s = at_most(level, 0, app, own);
  s.at_most.reset();
  s.beside = true;
  return s;
}

}  // namespace

TEST_SUITE("io/resolve_spread") {
  TEST_CASE("gangs as text") {
    struct row {
      const char* gang;
      const char* expected;
    };
    const row rows[] = {
        {"tasks=4,gpus=1", "plain"},
        {"tasks=4,gpus=1,anti=node", "plain per-node 1"},
        {"tasks=4,gpus=1,anti=kubernetes.io/hostname:2,spread=rack", "4-4 even [rack skew 1]"},
        {"tasks=4,min=2,gpus=1,spread=zone:2:3,anti=example.com/rack:2",
         "2-4 even [zone skew 2 least 3] [rack most 2]"},
        {"tasks=4,gpus=1,prefer-spread=rack,prefer-anti=node:2", "4-4 even [rack skew 1 wish] [node most 2 wish]"},
        {"tasks=4,gpus=1,spread=rack,within=zone", "4-4 within zone even [rack skew 1]"},
        {"tasks=4,gpus=1,spread=node,prefer=rack", "prefer rack 4-4 even [node skew 1]"},
        {"tasks=4,gpus=1,anti=rack,segments=2:rack", "2-2x2 [rack most 1]"},
        {"tasks=4,gpus=1,spread=zone,segments=2:rack:spread", "2-2x2 even [rack most 1] [zone skew 1]"},
        {"tasks=1,gpus=1,spread=rack:1,anti=zone", "plain"},
        {"tasks=4,gpus=1,spread=row", "! --gang: found level 'row', expected cluster, zone or rack, or node"},
        {"tasks=4,gpus=1,prefer-spread=row", "plain"},
        {"tasks=4,gpus=1,spread=node,segments=2:rack", "! a rule about 'node' inside of segments of one rack"},
        {"tasks=4,gpus=1,spread=rack,segments=2:rack:consolidate", "! consolidated"},
        {"tasks=4,gpus=1,spread=rack,between-nodes=10", "! a rate between nodes"},
        {"tasks=4,gpus=1,prefer-spread=rack,between-nodes=10", "plain"},
    };
    for (const auto& r : rows) {
      cluster c{make_spec()};
      const auto job = parse_gang(r.gang, "--gang");
      REQUIRE(job.has_value());
      const auto got = resolve_spread_job(*job, c, {}, {}, "--gang");
      const std::string text = got ? describe(*got, c) : "! " + got.error().message();
      if (r.expected[0] == '!') CHECK_MESSAGE(text.find(r.expected + 2) != std::string::npos, text);
      else CHECK_MESSAGE(text == r.expected, r.gang);
    }
    for (const char* bad : {"tasks=2,gpus=1,spread=rack:0", "tasks=2,gpus=1,anti=:1", "tasks=2,gpus=1,spread=rack:"})
      CHECK(!parse_gang(bad, "--gang"));
    cluster c{make_spec()};
    CHECK(resolve_job(*parse_gang("tasks=2,gpus=1,spread=rack", "g"), c, {}, "g").error().message().find("spreading") !=
          std::string::npos);
  }
  TEST_CASE("rules about the pods of others") {
    const std::vector<running_job> unknown{{job_key{0}, {}, {}}};
    std::vector<running_job> running{{job_key{0}, {"app=web"}, {}},
                                     {job_key{1}, {"app=db"}, {at_most("rack", 1, "web", false)}}};
    const auto resolve = [&](std::vector<spread_spec> rules, const std::vector<running_job>& others, const char* app,
                             std::string* said = nullptr) {
      cluster c{make_spec(), {.jobs = 8, .tasks = 8}};
      job_spec job = *parse_gang("tasks=4,gpus=1,label=fast", "j");
      job.groups[0].spread = std::move(rules);
      job.groups[0].task_labels.is = {std::string{"app="} + app};
      std::vector<std::string> notes;
      const auto got = resolve_spread_job(job, c, others, {}, "j", &notes);
      if (said != nullptr)
        for (const auto& n : notes) *said += n;
      return got ? describe(*got, c) : "! " + got.error().message();
    };
    CHECK(resolve({rule("rack", 1, {{"app", label_requirement::kind::in, {"x"}}})}, running, "x") ==
          "4-4 even [rack skew 1]");
    CHECK(resolve({at_most("node", 1, "x", true)}, running, "x") == "plain per-node 1");
    CHECK(resolve({at_most("node", 1, "db", true)}, running, "db") == "4-4 [node most 1 of rule 0] +rule 0");
    CHECK(resolve({at_most("rack", 0, "db", false)}, running, "x") == "4-4 [rack most 0 of rule 0]");
    CHECK(resolve({at_most("rack", 0, "x", false)}, running, "y") == "plain");
    CHECK(resolve({}, running, "web") == "4-4 +away 0");  // job 1 keeps it out of its racks
    CHECK(resolve({}, running, "x") == "plain");
    CHECK(resolve({beside("rack", "db", false)}, running, "x") == "4-4 [rack beside of rule 0]");
    CHECK(resolve({beside("rack", "x", false)}, running, "y") == "4-4 [rack beside of nobody]");
    CHECK(resolve({beside("rack", "x", true)}, running, "x") == "plain");  // within says it
    std::string said;
    spread_spec wish = beside("rack", "x", true);
    wish.required = false;
    CHECK(resolve({wish}, running, "x", &said) == "plain");
    CHECK(said == "A second wish to be together, in one 'rack', is left out.");
    said.clear();
    CHECK(resolve({beside("rack", "db", false), at_most("zone", 0, "db", false)}, unknown, "x", &said) == "plain");
    CHECK(said.find("A rule about other pods and 'rack' is not applied") != std::string::npos);
    spread_spec any = rule("rack", 2, {{"app", label_requirement::kind::in, {"x"}}});
    any.any_labels = any.any_taints = true;
    CHECK(resolve({any}, running, "x") == "4-4 even [rack skew 2 drained other-nodes]");
    CHECK(resolve({rule("row", 1)}, running, "x").starts_with("! j:12: found level 'row'"));
  }
  TEST_CASE("tasks of the job that run already are counted") {
    job_spec job;
    job.groups.emplace_back();
    job.groups[0].gpus = 1;
    job.groups[0].task_labels.is = {"berth/namespace=a", "app=web", "batch.kubernetes.io/job-name=train"};
    const auto noted = [&](const std::vector<std::vector<std::string>>& labels) {
      cluster c{make_spec()};
      std::vector<running_job> running;
      for (const auto& l : labels) running.push_back({job_key{running.size()}, l, {}});
      std::vector<std::string> notes;
      REQUIRE(resolve_spread_job(job, c, running, {}, "j", &notes).has_value());
      return notes.empty() ? std::string{} : notes.front();
    };
    const std::vector<std::string> own{"berth/namespace=a", "batch.kubernetes.io/job-name=train", "x=y"};
    CHECK(noted({own, {"berth/namespace=a"}, {}, own}) ==
          "2 tasks of this job run in the cluster already; all that it asks for is asked for besides.");
    CHECK(noted({own}).find("1 task of this job runs") == 0);
    CHECK(noted({{"berth/namespace=b", own[1]}, {"berth/namespace=a", "app=web"}, {own[1]}}).empty());
  }
  TEST_CASE("rules among the groups of one job") {
    cluster c{make_spec(), {.jobs = 8, .tasks = 64}};
    job_spec job = *parse_gang("tasks=2,gpus=8", "j");
    job.groups.push_back(job.groups[0]);
    job.groups[1].name = "b";
    for (auto& g : job.groups) {
      g.task_labels.is = {"app=x"};
      g.spread = {at_most("rack", 1, "x", true)};
    }
    auto r = resolve_spread_job(job, c, {}, {}, "j");
    REQUIRE(r);
    CHECK(describe(*r, c) ==
          "dependent 2-2 [rack most 1 of rule 0] +rule 0 +rule 1 -rule 0; 2-2 [rack most 1 of rule 1] +rule 0 +rule 1 "
          "-rule 1");
    spread_placer place{c};
    const auto ask = [&](const spread_request& q, const label_book& book) { return place(q, book); };
    auto d = spread_gang_solver{c, job_key{100}}(ask, *r->spread, r->book);
    REQUIRE(d);
    std::vector<int> per_rack(4);
    for (const auto& t : d.tasks) ++per_rack[t.node.index() / 2];
    CHECK(per_rack == std::vector<int>(4, 1));  // each rack holds one task of either group
    CHECK(d.tasks[2].group == 1);
    CHECK(d.score.domains_used[2] == 4);
    CHECK(c.job_count() == 0);
    CHECK(c.commit(job_key{1}, d.where()));
    // With a rack taken away three are left for four tasks: no order works, which proves nothing.
    CHECK(c.release(job_key{1}));
    c.hold(node_id{0}, 0xff, cpus(0), bytes{});
    c.hold(node_id{1}, 0xff, cpus(0), bytes{});
    d = spread_gang_solver{c, job_key{100}}(ask, *r->spread, r->book);
    CHECK(d.result == verdict::gave_up);
    // A group that does not fit alone, in a gang whose groups do not look at each other, does.
    for (auto& g : job.groups) g.spread[0].others = false;
    job.groups[0].wanted = job.groups[0].minimum = 4;
    r = resolve_spread_job(job, c, {}, {}, "j");
    REQUIRE(r);
    d = spread_gang_solver{c, job_key{100}}(ask, *r->spread, r->book);
    CHECK(d.result == verdict::not_now);
    CHECK(d.group == 0);
    job.where = locality::required;
    job.level = "zone";
    CHECK(resolve_spread_job(job, c, {}, {}, "j").error().message().find("one zone for several groups") !=
          std::string::npos);
  }
}
