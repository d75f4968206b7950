// berth-mig: the layouts of a MIG product, what still fits beside running instances, how few GPUs a demand needs, the
// cheapest way to recut GPUs for a queue, and which kind of device suits whom. Described in docs/mig.md and
// docs/sharing.md.

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <cstdio>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "berth/io/text.hpp"
#include "berth/solver/mig_packer.hpp"
#include "berth/topology/catalogue/mig_products.hpp"
#include "berth/topology/mig_lookup.hpp"
#include "berth/topology/mig_states.hpp"
#include "berth_mig/advise.hpp"
#include "berth_mig/draw.hpp"
#include "berth_mig/options.hpp"
#include "berth_mig/plan.hpp"
#include "shared/output.hpp"

namespace {

using namespace berth;
using namespace berth_mig;

int pack(const mig_geometry& g, const std::string& text, bool json) {
  const auto need = read_need(g, text, "--demand", false);
  if (!need) return bad_input(need.error());
  mig_demand demand{};
  for (unsigned q = 0; q < demand.size(); ++q) demand[q] = (*need)[q];
  const auto p = mig_packer{g}.pack(demand);
  if (!p) return bad_input(p.error());
  if (json) {
    nlohmann::ordered_json layouts = nlohmann::ordered_json::array();
    for (const auto& l : p->layouts) {
      nlohmann::ordered_json instances = nlohmann::ordered_json::array();
      for_each_bit(l.instances, [&](unsigned i) {
        instances.push_back(
            {{"profile", std::string{g.row(g.placement[i].profile).name}}, {"start", g.placement[i].start}});
      });
      layouts.push_back({{"gpus", l.copies}, {"instances", instances}});
    }
    const nlohmann::ordered_json out = {{"product", std::string{g.product->id}},
                                        {"gpus", p->gpus},
                                        {"lower_bound", p->lower_bound},
                                        {"optimal", p->optimal()},
                                        {"layouts", layouts}};
    fmt::print("{}\n", out.dump(2));
    return exit_ok;
  }
  fmt::print("{}; {}\n", io_text::counted(p->gpus, "GPU"),
             p->optimal() ? "no fewer will do"
                          : fmt::format("at least {} needed",
                                        p->lower_bound == 1 ? "1 is" : fmt::format("{} are", p->lower_bound)));
  for (const auto& l : p->layouts)
    fmt::print("  {:>5} x  {}  {}\n", l.copies, as_line(g, l.instances), as_words(g, l.instances));
  return exit_ok;
}

int layouts(const mig_geometry& g, const std::string& held_text, const std::string& svg) {
  std::vector<labelled_layout> rows;
  std::string text;
  if (held_text.empty()) {
    for_each_mig_layout(g, [&](mig_set set, bool maximal) {
      if (maximal) rows.push_back({std::to_string(rows.size() + 1), set});
    });
    text = fmt::format("{}: {} of {}\n", g.product->id, io_text::counted(rows.size(), "maximal layout"),
                       io_text::counted(*g.product->units, "placement unit"));
    for (const auto& r : rows)
      text += fmt::format("{:>4}  {}  {}\n", r.label, as_line(g, r.instances), as_words(g, r.instances));
  } else {
    const auto held = read_held(g, held_text);
    if (!held) return bad_input(held.error());
    rows.push_back({"now", *held});
    text = fmt::format("{}\n\nStill fits:\n{}", as_line(g, *held), what_fits(g, *held));
  }
  if (!svg.empty())
    if (const int bad = write_file(svg, as_svg(g, rows), "--svg"); bad != exit_ok) return bad;
  fmt::print("{}", text);
  return exit_ok;
}

int products() {
  for (const auto& p : catalogue::mig_products) {
    std::string names;
    for (const auto& q : p.profiles) names += (names.empty() ? "" : " ") + std::string{q.name};
    mig_geometry_options any;
    any.accept_low_confidence = true;
    const auto* state = checked_mig_geometry(p)        ? ""
                        : checked_mig_geometry(p, any) ? "  (needs an opt-in)"
                                                       : "  (placements unknown)";
    fmt::print("{:<22} {}{}\n", p.id, names, state);
  }
  return exit_ok;
}

int run(int argc, char** argv) {
  std::string product, demand, held, svg;
  bool json = false, all = false;
  mig_geometry_options options;
  CLI::App app{"Layouts of MIG GPUs, what still fits, how few GPUs a demand needs, and how to recut those in use.",
               "berth-mig"};
  app.require_subcommand(0, 1);
  const auto common = [&](CLI::App* s) {
    s->add_option("--product", product, "Id, driver's name, node label or PCI id of the GPU")
        ->required()
        ->type_name("GPU");
    s->add_flag("--inferred", options.accept_inferred_placements, "Accept placements inferred from a like product");
    s->add_flag("--low-confidence", options.accept_low_confidence, "Accept rows known by name only");
    s->add_flag("--before-r510", options.before_r510, "For a driver before R510, which bars 4g beside 3g");
  };
  auto* pack_app = app.add_subcommand("pack", "The fewest GPUs for a demand, with a lower bound");
  common(pack_app);
  pack_app->add_option("--demand", demand, "How many instances of each profile")
      ->required()
      ->type_name("PROFILE=N,...");
  pack_app->add_flag("--json", json, "Print one JSON object");
  auto* layouts_app =
      app.add_subcommand("layouts", "Draws the maximal layouts, or one GPU and what still fits beside it");
  common(layouts_app);
  layouts_app->add_option("--held", held, "Draw one GPU with these running instances instead")
      ->type_name("PROFILE@START,...");
  layouts_app->add_flag("--all", all, "Also profiles with media engines, graphics or twice the memory");
  layouts_app->add_option("--svg", svg, "Draw into this file")->type_name("FILE");
  auto* products_app = app.add_subcommand("products", "The products and their profiles");
  plan_options plan_o;
  auto* plan_app = app.add_subcommand("plan", "The cheapest steps after which a queue of profiles fits");
  common(plan_app);
  plan_app->add_option("--state", plan_o.state, "What runs on the GPUs: our JSON, or nvidia-smi mig -lgi")
      ->required()
      ->type_name("FILE");
  plan_app->add_option("--need", plan_o.need, "Free instances needed, also whole=N")->type_name("PROFILE=N,...");
  plan_app->add_option("--target", plan_o.target, "Instances in all, in use or not")->type_name("PROFILE=N,...");
  plan_app->add_flag("--restart-drained", plan_o.restart_drained, "Drained jobs must find an instance again");
  plan_app
      ->add_option("--costs", plan_o.costs, "Seconds that a step takes: create, destroy, drain, restart, toggle, reset")
      ->type_name("NAME=SECONDS,...");
  plan_app->add_option("--wait", plan_o.wait, "Seconds that what is left out would wait; without it all must be served")
      ->type_name("SECONDS");
  plan_app->add_flag("--json", plan_o.json, "Print one JSON object");
  plan_app->add_option("--svg", plan_o.svg, "Draw before and after into this file")->type_name("FILE");
  advise_options advise_o;
  auto* advise_app = app.add_subcommand("advise", "Which kind of device suits a request, or a job that uses little");
  advise_app->add_option("--product", product, "Id, driver's name, node label or PCI id of the GPU")->type_name("GPU");
  advise_app->add_flag("--inferred", options.accept_inferred_placements,
                       "Accept placements inferred from a like product");
  advise_app->add_flag("--low-confidence", options.accept_low_confidence, "Accept rows known by name only");
  advise_app
      ->add_option("--gpu-memory", advise_o.gpu_memory_mib,
                   "MiB of the GPU or of the instance held, as it reports them")
      ->type_name("MIB");
  advise_app->add_option("--rules", advise_o.rules, "Rules instead of our own")->type_name("FILE.json");
  advise_app->add_flag("--print-rules", advise_o.print_rules, "Print the rules as such a file");
  auto* kind =
      advise_app->add_option("--kind", advise_o.kind, "training, online-inference, batch-inference or development")
          ->type_name("KIND");
  advise_app->add_option("--latency", advise_o.latency, "Of online inference: relaxed or strict")
      ->type_name("WORD")
      ->needs(kind);
  advise_app->add_option("--gpus", advise_o.gpus, "GPUs of one task (1)")->type_name("N")->needs(kind);
  advise_app->add_flag("--linked", advise_o.linked, "Needs NVLink or P2P to other GPUs");
  advise_app->add_option("--memory", advise_o.memory_mib, "MiB per GPU at the peak")->type_name("MIB")->needs(kind);
  advise_app->add_option("--utilisation", advise_o.utilisation, "Percent of a whole GPU's compute at the peak")
      ->type_name("PERCENT")
      ->needs(kind);
  advise_app->add_option("--cuda", advise_o.cuda, "CUDA version, for the number of MPS clients (12.0)")
      ->type_name("VERSION")
      ->needs(kind);
  advise_app->add_option("--holds", advise_o.holds, "The profile that a running job holds; without it a whole GPU")
      ->type_name("PROFILE")
      ->excludes(kind);
  advise_app->add_option("--peak-memory", advise_o.peak_memory_mib, "MiB that a running job used at most")
      ->type_name("MIB")
      ->excludes(kind);
  advise_app->add_option("--peak-compute", advise_o.peak_compute, "Percent of its device's SMs that it used at most")
      ->type_name("PERCENT")
      ->excludes(kind);
  advise_app->add_option("--hours", advise_o.hours, "Hours that it was watched (24)")
      ->type_name("HOURS")
      ->excludes(kind);
  advise_app->add_flag("--json", advise_o.json, "Print one JSON object");
  app.footer("Exit codes: 0 fine, 1 a plan that leaves something out, 2 bad input.");
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& e) {
    if (e.get_exit_code() == 0) return app.exit(e);
    return bad_input({"berth-mig", 0, e.what(), "the options of --help"});
  }
  if (app.get_subcommands().empty())
    return bad_input({"berth-mig", 0, "no command", "pack, layouts, products, plan or advise (see --help)"});
  if (products_app->parsed()) return products();
  if (advise_app->parsed() && product.empty()) return advise(nullptr, advise_o);
  const auto row = find_mig_product(product);
  if (!row) return bad_input(row.error());
  if (layouts_app->parsed() && held.empty() && !all) {
    options.profiles = 0;
    for (unsigned q = 0; q < (*row)->profiles.size(); ++q)
      if ((*row)->profiles[q].variant == catalogue::mig_variant::plain) options.profiles |= mig_set{1} << q;
  }
  const auto g = checked_mig_geometry(**row, options);
  if (!g) return bad_input(g.error());
  if (pack_app->parsed()) return pack(*g, demand, json);
  if (plan_app->parsed()) return plan(*g, plan_o);
  if (advise_app->parsed()) return advise(&*g, advise_o);
  return layouts(*g, held, svg);
}

}  // namespace

int main(int argc, char** argv) {
  const int code = run(argc, argv);
  return berth_program::printed("berth-mig", code, exit_bad_input);
}
