// berth-case: scheduling questions taken from other schedulers' tests, answered by their rules.
//
// Reads files of cases (berth-cases/1), answers each with the profile of the scheduler it comes from, and says which
// answers agree. Described in docs/profiles.md.

#include <CLI/CLI.hpp>
#include <cstdio>
#include <string>
#include <utility>
#include <vector>

#include "berth/io/case/run.hpp"
#include "berth/io/text_file.hpp"
#include "berth_case/ours.hpp"
#include "shared/output.hpp"

namespace {

constexpr int exit_agree = 0, exit_differ = 1, exit_bad_input = 2;

int bad_input(const berth::input_error& e) {
  std::fprintf(stderr, "%s\n", e.message().c_str());
  return exit_bad_input;
}

int run(int argc, char** argv) {
  std::vector<std::string> names;
  berth::case_run_options options;
  bool json = false;
  CLI::App app{"Answers scheduling questions from other schedulers' tests by their own rules.", "berth-case"};
  app.get_formatter()->column_width(28);
  app.add_option("FILE", names, "Files of cases (berth-cases/1 JSON)")->type_name("");
  app.add_option("--profile", options.profile, "Answer by the rules of this scheduler instead of the file's own")
      ->type_name("NAME");
  app.add_option("--kind", options.kind, "Only cases of this kind")->type_name("KIND");
  app.add_flag("--json", json, "Print one JSON object instead of text");
  app.add_flag("--ours", options.ours, "Also say what berth's own default placer would do, and whether it is better");
  app.footer("Exit codes: 0 every case agrees, 1 some do not or are not supported, 2 malformed input.");
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& e) {
    if (e.get_exit_code() == 0) return app.exit(e);
    return bad_input({"berth-case", 0, e.what(), "the options of --help"});
  }
  if (names.empty()) return bad_input({"berth-case", 0, "no file of cases", "berth-case FILE... (see --help)"});
  std::string kinds;
  bool known = options.kind.empty();
  for (const auto& k : berth::case_kinds) {
    known = known || k.name == options.kind;
    kinds += (kinds.empty() ? "" : ", ") + std::string{k.name};
  }
  if (!known) return bad_input({"--kind", 0, berth::io_text::quoted(options.kind), "one of " + kinds});
  std::vector<berth::case_file_outcome> files;
  int code = exit_agree;
  for (const auto& name : names) {
    const auto text = berth::read_text_file(name);
    if (!text) {
      code = bad_input(text.error());
      continue;
    }
    berth::case_file file;
    if (const auto ok = berth::read_cases(text->text, name, file); !ok) {
      code = bad_input(ok.error());
      continue;
    }
    auto outcome = berth::run_cases(file, options, berth_case::ours);
    for (const auto& c : outcome.cases)
      if (c.malformed) std::fprintf(stderr, "%s\n", c.verdict.why.c_str());
    if (outcome.malformed()) code = exit_bad_input;
    else if (!outcome.all_agree() && code == exit_agree) code = exit_differ;
    files.push_back(std::move(outcome));
  }
  if (!files.empty()) std::fputs((json ? berth::case_json(files) : berth::case_text(files)).c_str(), stdout);
  return berth_program::printed("berth-case", code, exit_bad_input);
}

}  // namespace

int main(int argc, char** argv) {
  return run(argc, argv);
}
