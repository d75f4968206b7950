// berth-replay: runs a trace against policies and shows them side by side.

#include <CLI/CLI.hpp>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <iostream>
#include <string>
#include <system_error>
#include <vector>

#include "berth/core/error.hpp"
#include "berth/io/text.hpp"
#include "berth_replay/gavel.hpp"
#include "berth_replay/openb.hpp"
#include "shared/output.hpp"

namespace {

// "42" or "42..51".
bool parse_seeds(const std::string& text, std::uint64_t& first, std::uint64_t& last) {
  const std::size_t dots = text.find("..");
  constexpr std::uint64_t most = 1'000'000'000;
  const auto a = berth::io_text::parse_count(text.substr(0, dots), most);
  const auto b = dots == std::string::npos ? a : berth::io_text::parse_count(text.substr(dots + 2), most);
  if (!a || !b || *b < *a || *b - *a >= 10'000) return false;
  first = *a;
  last = *b;
  return true;
}

// Whether a file can be written: said before the runs, not after.
bool can_write(const std::string& path) {
  if (path.empty() || berth_program::can_write(path)) return true;
  std::cerr << berth::input_error{path, 0, "no file that can be written", "one"}.message() << "\n";
  return false;
}

bool are_one(const std::string& a, const std::string& b) {
  std::error_code none;
  return !a.empty() && (a == b || std::filesystem::equivalent(a, b, none));
}
// Whether every output has a file to itself, so that it takes the place of nothing else.
bool have_own_files(const std::vector<std::string>& outputs, const std::vector<std::string>& inputs) {
  std::vector<std::string> taken = inputs;
  for (const auto& file : outputs) {
    for (const auto& other : taken)
      if (are_one(file, other)) {
        std::cerr << berth::input_error{file, 0, "a file named twice", "outputs with files of their own"}.message()
                  << "\n";
        return false;
      }
    taken.push_back(file);
  }
  return true;
}

bool write(const std::string& path, const std::string& text) {
  if (berth_program::write_file(path, text)) return true;
  std::cerr << "berth-replay: cannot write " << path << "\n";
  return false;
}

int run(int argc, char** argv) {
  CLI::App app{"Runs a trace against policies and shows them side by side.", "berth-replay"};
  app.require_subcommand(1);
  berth_replay::openb_options o;
  std::string seeds = "42..51";
  auto* openb = app.add_subcommand("openb", "tasks that arrive and never leave, on a cluster of shared GPUs");
  openb->add_option("--pods", o.pods, "task lists (CSV), each run by itself")->required()->type_name("FILE...");
  openb->add_option("--nodes", o.nodes, "node list (CSV)")->required()->type_name("FILE");
  openb->add_option("--policy", o.policies, "policies with commas between; see below")
      ->delimiter(',')
      ->type_name("NAME,...");
  openb->add_option("--seeds", seeds, "seeds of the order of arrival, FIRST..LAST")
      ->capture_default_str()
      ->type_name("A..B");
  openb->add_option("--load", o.load, "GPU demand that arrives, as part of the capacity: 1.3 is 130 %")
      ->capture_default_str()
      ->check(CLI::Range(0.01, 100.0))
      ->check([](const std::string& text) {
        return text.find_first_not_of("0123456789.") == std::string::npos ? "" : "a plain number is expected";
      })
      ->type_name("X");
  openb
      ->add_option("--ties", o.ties,
                   "which of the nodes that score alike gets a task: the first in an order that each "
                   "seed draws, as in the published runs, or the first by name")
      ->capture_default_str()
      ->check(CLI::IsMember({"random", "name"}))
      ->type_name("random|name");
  openb->add_option("--json", o.json, "write all runs as JSON")->type_name("FILE");
  openb->add_option("--html", o.html, "write tables and curves as HTML")->type_name("FILE");
  std::string footer = "Policies:\n";
  for (const auto& p : berth_replay::openb_policies()) {
    std::string name = p.name;
    name.resize(26, ' ');
    footer += "  " + name + p.text + "\n";
  }
  openb->footer(footer);
  berth_replay::gavel_options g;
  auto* gavel = app.add_subcommand("gavel", "shares of GPU types for jobs whose throughput on each was measured");
  gavel->add_option("--table", g.table, "steps per second by job type and GPU type (CSV, or Gavel's JSON)")
      ->required()
      ->type_name("FILE");
  gavel->add_option("--gpus", g.gpus, "how many GPUs there are of every type")->required()->type_name("TYPE=N,...");
  gavel->add_option("--jobs", g.jobs, "jobs (CSV); without, one of every line of the table")->type_name("FILE");
  gavel->add_option("--goal", g.goal, "max_min: the least effective throughput; max_throughput: the sum")
      ->capture_default_str()
      ->check(CLI::IsMember({"max_min", "max_throughput"}))
      ->type_name("GOAL");
  gavel->add_flag("--by-job", g.by_job, "jobs count alike, however many GPUs each has; else GPUs do, as published");
  gavel->add_flag("--spread", g.spread, "take the rates measured with the workers of a job on several servers");
  gavel->add_option("--rounds", g.rounds, "rounds in which the shares are carried out")
      ->capture_default_str()
      ->check(CLI::Range(0U, 100'000U))
      ->type_name("N");
  gavel->add_option("--json", g.json, "write the shares as JSON")->type_name("FILE");
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& e) {
    if (e.get_exit_code() == 0) return app.exit(e);
    std::cerr << berth::input_error{"berth-replay", 0, e.what(), "the options of --help"}.message() << "\n";
    return 2;
  }
  if (gavel->parsed()) {
    if (!have_own_files({g.json}, {g.table, g.jobs}) || !can_write(g.json)) return 2;
    const auto answer = berth_replay::run_gavel(g);
    if (!answer) {
      std::cerr << answer.error() << "\n";
      return 2;
    }
    std::cout << answer->text;
    return g.json.empty() || write(g.json, answer->json) ? 0 : 2;
  }
  if (!parse_seeds(seeds, o.first_seed, o.last_seed)) {
    std::cerr << "--seeds: found " << berth::io_text::quoted(seeds) << ", expected FIRST..LAST such as 42..51\n";
    return 2;
  }
  if (o.policies.empty()) o.policies = {"berth", "fgd", "best_fit", "first_fit"};
  for (const auto& p : o.policies)
    if (!berth_replay::is_openb_policy(p)) {
      std::string known;
      for (const auto& k : berth_replay::openb_policies()) known += (known.empty() ? "" : ", ") + std::string{k.name};
      std::cerr << "--policy: found " << berth::io_text::quoted(p) << ", expected " << known << "\n";
      return 2;
    }
  for (std::size_t i = 0; i < o.policies.size(); ++i)
    for (std::size_t j = 0; j < i; ++j)
      if (o.policies[i] == o.policies[j]) {
        std::cerr << "--policy: found " << berth::io_text::quoted(o.policies[i]) << " twice, expected each once\n";
        return 2;
      }
  for (std::size_t i = 0; i < o.pods.size(); ++i)
    for (std::size_t j = 0; j < i; ++j)
      if (are_one(o.pods[i], o.pods[j])) {
        std::cerr << berth::input_error{o.pods[i], 0, "a list named twice", "each list once"}.message() << "\n";
        return 2;
      }
  std::vector<std::string> inputs = o.pods;
  inputs.push_back(o.nodes);
  if (!have_own_files({o.json, o.html}, inputs) || !can_write(o.json) || !can_write(o.html)) return 2;
  const auto results = berth_replay::run_openb(o);
  if (!results) {
    std::cerr << results.error().message() << "\n";
    return 2;
  }
  std::cout << berth_replay::openb_table(*results);
  if (!o.json.empty() && !write(o.json, berth_replay::openb_json(*results))) return 2;
  if (!o.html.empty() && !write(o.html, berth_replay::openb_html(*results))) return 2;
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  const int code = run(argc, argv);
  return berth_program::printed("berth-replay", code, 2);
}
