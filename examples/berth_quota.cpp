// berth-quota: what every queue of a tree is due, uses, and may borrow from whom.
//
// Reads queues (our JSON, Kueue, KAI, Volcano, YuniKorn, YARN, Slurm), what they use and want, divides by the rule of
// their scheduler or by another one, and prints text or JSON and draws the tree. Described in docs/quota.md.

#include <CLI/CLI.hpp>
#include <cstdio>
#include <optional>
#include <string>
#include <utility>

#include "berth/io/quota/quota_json.hpp"
#include "berth/io/quota/read_queues.hpp"
#include "berth/quota/division/policies.hpp"
#include "berth_quota/show.hpp"
#include "berth_quota/work_out.hpp"
#include "shared/output.hpp"

namespace {

constexpr int exit_ok = 0, exit_bad_input = 2;

int bad_input(const berth::input_error& e) {
  std::fprintf(stderr, "%s\n", e.message().c_str());
  return exit_bad_input;
}

int run(int argc, char** argv) {
  std::string file, usage, policy, capacity, svg;
  bool json = false, list = false;
  CLI::App app{"What every queue is due, what it uses, and what it may borrow from whom.", "berth-quota"};
  app.get_formatter()->column_width(28);
  app.add_option(
         "FILE", file,
         "Queues: berth-queues/1 JSON, Kueue's ClusterQueues and Cohorts, KAI's or Volcano's Queues, YuniKorn's "
         "queues.yaml or its ConfigMap, YARN's capacity-scheduler.xml, the output of sacctmgr -p show assoc tree, "
         "sacctmgr dump or sshare -alP")
      ->type_name("");
  app.add_option("--usage", usage, "berth-usage/1 JSON: what queues use, and want in all")->type_name("FILE");
  app.add_option("--capacity", capacity,
                 "What the cluster has, where the file does not say it, counted as in the output: gpu=64,cpu=4000000")
      ->type_name("RESOURCE=N,...");
  app.add_option("--policy", policy, "Divide by this rule instead of the scheduler's own, see --list-policies")
      ->type_name("NAME");
  app.add_flag("--json", json, "Print one JSON object instead of text");
  app.add_option("--svg", svg, "Draw the tree into this file")->type_name("FILE");
  app.add_flag("--list-policies", list, "Show the rules of division and exit");
  app.footer("Exit codes: 0 fine, 2 bad input.");
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& e) {
    if (e.get_exit_code() == 0) return app.exit(e);
    return bad_input({"berth-quota", 0, e.what(), "the options of --help"});
  }
  if (list) {
    berth::for_each_division_policy([](const auto& p) { std::printf("%s\n", std::string{p.name}.c_str()); });
    return exit_ok;
  }
  if (file.empty()) return bad_input({"berth-quota", 0, "no file of queues", "berth-quota FILE (see --help)"});
  const auto text = berth::read_text_file(file);
  if (!text) return bad_input(text.error());
  auto queues = berth::read_queues(*text);
  if (!queues) return bad_input(queues.error());
  if (!policy.empty()) queues->policy = policy;
  if (!berth::with_division_policy(queues->policy, [](const auto&) {}))
    return bad_input(
        {policy.empty() ? file : "--policy", 0, berth::io_text::quoted(queues->policy), "a name from --list-policies"});
  if (auto ok = berth_quota::add_capacity(capacity, queues->tree); !ok) return bad_input(ok.error());
  auto tree = berth::queue_tree::build(queues->tree);
  if (!tree) return bad_input(tree.error());
  std::optional<berth::usage_file> in_use;
  if (!usage.empty()) {
    const auto u = berth::read_text_file(usage);
    if (!u) return bad_input(u.error());
    auto read = berth::read_usage_json(*u, *tree);
    if (!read) return bad_input(read.error());
    in_use = std::move(*read);
  }
  const auto result = berth_quota::work_out(*queues, *tree, in_use ? &*in_use : nullptr, usage);
  if (!result) return bad_input(result.error());
  if (!svg.empty() && !berth_program::write_file(svg, berth_quota::as_svg(*result)))
    return bad_input({"--svg", 0, "a file that cannot be written: " + berth::io_text::quoted(svg),
                      "a path in a folder that exists"});
  std::fputs((json ? berth_quota::as_json(*result) : berth_quota::as_text(*result)).c_str(), stdout);
  return exit_ok;
}

}  // namespace

int main(int argc, char** argv) {
  const int code = run(argc, argv);
  return berth_program::printed("berth-quota", code, exit_bad_input);
}
