#include "berth_topo/options.hpp"

#include <CLI/CLI.hpp>
#include <utility>

#include "berth/io/text.hpp"
#include "berth/topology/catalogue/node_shapes.hpp"
#include "shared/gpu_model.hpp"

namespace berth_topo {

namespace {

using berth::input_error;
using berth::unexpected;

const char* const footer = R"(
FILE is anything that docs/inputs.md lists, told apart by content; NODE=FILE says whose inside a file shows (a name, a
host list, or a pattern such as gpu*); preset:NAME is a reference cluster.

Exit codes: 0 clean, 1 check found something, 2 unreadable (file:line: found ..., expected ... on standard error).)";

}  // namespace

berth::expected<options, input_error> parse_options(int argc, char** argv) {
  options o;
  std::string shape, cpus, memory;
  CLI::App app{"Shows, checks and converts what a site's files say about its hardware.", "berth-topo"};
  app.footer(footer);
  app.require_subcommand(0, 1);
  const auto common = [&](CLI::App* c) {
    c->add_option("--model", o.gpu_model, "GPU model for files that do not say it; guess takes the likeliest")
        ->type_name("ID");
    c->add_option("--node-shape", shape, "Machine of nodes whose hardware no file states (berth-place --list-shapes)")
        ->type_name("ID");
    c->add_option("--node-cpus", cpus, "CPUs of nodes for which no file states any")->type_name("N");
    c->add_option("--node-memory", memory, "Memory of nodes for which no file states any, with its unit, such as 2TiB")
        ->type_name("SIZE");
  };
  const auto files = [&](CLI::App* c) {
    c->add_option("FILE", o.files, "Files of one site")->type_name("FILE|NODE=FILE|preset:NAME")->required();
  };
  auto* show = app.add_subcommand("show", "Tree, machines and bandwidths");
  common(show);
  files(show);
  show->add_flag("--json", o.json, "Print vertices, links and levels as one JSON object, bandwidths in GB/s");
  show->add_flag("--shared", o.shared, "With --json: equal machines share one inside instead of one each");
  show->add_flag("--ascii", o.ascii, "Draw the tree without characters beyond ASCII");
  show->add_option("--svg", o.svg, "Also draw PREFIX-fabric.svg and a PREFIX-<machine>.svg for each kind of machine")
      ->type_name("PREFIX");
  auto* check = app.add_subcommand("check", "What looks wrong; exit code 1 when anything does");
  common(check);
  files(check);
  check->add_flag("--json", o.json, "Print the findings as one JSON object");
  auto* convert = app.add_subcommand("convert", "Write the topology in another form");
  common(convert);
  files(convert);
  convert->add_option("--to", o.to, "The form in which it is written to standard output")
      ->type_name("json|graphviz|slurm-tree|slurm-block|slurm-yaml|kueue|hypernodes")
      ->required();
  convert->add_option("--name", o.name, "Name of the topology that is written, where the form has one")
      ->type_name("WORD");
  auto* distance = app.add_subcommand("distance", "How two devices or machines are joined");
  common(distance);
  distance->add_option("--cluster", o.files, "Files of one site")->type_name("FILE|NODE=FILE|preset:NAME")->required();
  distance->add_option("ENDS", o.ends, "gpu3, NODE/gpu3, a bus id, NODE/mlx5_0, or NODE")
      ->expected(2)
      ->type_name("A B")
      ->required();
  distance->add_flag("--json", o.json, "Print one JSON object, bandwidth in GB/s");
  auto* bisect = app.add_subcommand("bisect", "Bandwidth between two halves");
  common(bisect);
  files(bisect);
  bisect->add_option("--halves", o.halves, "Host lists of two sets of machines instead of the halves of all")
      ->expected(2)
      ->type_name("A B");
  bisect->add_flag("--json", o.json, "Print one JSON object, bandwidth in GB/s");
  try {
    app.parse(argc, argv);
  } catch (const CLI::CallForHelp&) {
    o.help = app.help();  // of the command, where one was given
    return o;
  } catch (const CLI::Error& e) {
    return unexpected{input_error{"berth-topo", 0,
                                  std::string{"a command line that is not understood ("} + e.what() + ")",
                                  "the options of --help"}};
  }
  if (app.get_subcommands().empty()) {
    o.help = app.help();
    return o;
  }
  o.command = app.get_subcommands().front()->get_name();
  const auto wrong = [](const char* option, const std::string& found, std::string expected) {
    return unexpected{input_error{option, 0, berth::io_text::quoted(found), std::move(expected)}};
  };
  if (!o.gpu_model.empty() && o.gpu_model != "guess" && !berth_program::is_catalogued_gpu_model(o.gpu_model))
    return wrong("--model", o.gpu_model, "guess, or one of " + berth_program::catalogued_gpu_models());
  auto& hardware = o.merge.hardware;
  hardware.ways = {"--node-shape", "--node-cpus", "--node-memory"};
  if (!shape.empty() && !(hardware.shape = berth::catalogue_shape(shape)))
    return wrong("--node-shape", shape, "a machine of the catalogue (berth-place --list-shapes)");
  if (!cpus.empty() && !(hardware.cpu = berth::io_text::parse_cpus(cpus)))
    return wrong("--node-cpus", cpus, "a number of CPUs such as 96");
  if (!memory.empty() && !(hardware.memory = berth::io_text::parse_memory(memory)))
    return wrong("--node-memory", memory, berth::io_text::memory_form);
  return o;
}

}  // namespace berth_topo
