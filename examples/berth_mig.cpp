// berth-mig: the layouts of a MIG product, what still fits beside running instances, and how few GPUs a demand needs.
// Described in docs/mig.md.

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <cstdio>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "berth/solver/mig_packer.hpp"
#include "berth/topology/mig_lookup.hpp"
#include "berth/topology/mig_states.hpp"
#include "berth_mig/draw.hpp"

namespace {

using namespace berth;

constexpr int exit_ok = 0, exit_bad_input = 2;

int bad_input(const input_error& e) {
  std::fprintf(stderr, "%s\n", e.message().c_str());
  return exit_bad_input;
}

// A whole number below a million, or nothing.
std::optional<std::uint32_t> number(std::string_view s) {
  if (s.empty() || s.size() > 6) return std::nullopt;
  std::uint32_t n = 0;
  for (const char c : s) {
    if (c < '0' || c > '9') return std::nullopt;
    n = n * 10 + static_cast<std::uint32_t>(c - '0');
  }
  return n;
}

// Calls f(left, right) for every "left<sign>right" between commas; f returns an error or nothing.
template <class F>
expected<void, input_error> each_pair(std::string_view list, char sign, const char* option, F&& f) {
  while (!list.empty()) {
    const auto comma = list.find(',');
    const std::string_view item = list.substr(0, comma);
    list = comma == std::string_view::npos ? std::string_view{} : list.substr(comma + 1);
    const auto at = item.rfind(sign);
    const auto n = at == std::string_view::npos ? std::optional<std::uint32_t>{} : number(item.substr(at + 1));
    if (!n)
      return unexpected{
          input_error{option, 0, "'" + std::string{item} + "'", std::string{"profile"} + sign + "number"}};
    if (auto ok = f(item.substr(0, at), *n); !ok) return ok;
  }
  return {};
}

expected<mig_set, input_error> read_held(const mig_geometry& g, std::string_view text) {
  mig_set held = 0;
  auto ok =
      each_pair(text, '@', "--held", [&](std::string_view name, std::uint32_t start) -> expected<void, input_error> {
        const auto q = find_mig_profile(*g.product, name);
        if (!q) return unexpected{q.error()};
        const auto p = g.find(q->profile, start);
        const std::string what = std::string{name} + "@" + std::to_string(start);
        if (!p) {
          std::string starts;
          for (const auto s : g.row(q->profile).starts) starts += " " + std::to_string(s);
          return unexpected{input_error{"--held", 0, what, "one of its starts:" + starts}};
        }
        if (!g.key_of(held | mig_set{1} << *p) || (held >> *p & 1U) != 0)
          return unexpected{input_error{"--held", 0, what + " beside " + berth_mig::as_words(g, held),
                                        "instances that may lie beside each other"}};
        held |= mig_set{1} << *p;
        return {};
      });
  if (!ok) return unexpected{ok.error()};
  return held;
}

int pack(const mig_geometry& g, const std::string& text, bool json) {
  mig_demand demand{};
  auto ok =
      each_pair(text, '=', "--demand", [&](std::string_view name, std::uint32_t n) -> expected<void, input_error> {
        const auto q = find_mig_profile(*g.product, name);
        if (!q) return unexpected{q.error()};
        demand[q->profile] += n;
        return {};
      });
  if (!ok) return bad_input(ok.error());
  const auto p = mig_packer{g}.pack(demand);
  if (!p) return bad_input(p.error());
  if (json) {
    nlohmann::json layouts = nlohmann::json::array();
    for (const auto& l : p->layouts) {
      nlohmann::json instances = nlohmann::json::array();
      for_each_bit(l.instances, [&](unsigned i) {
        instances.push_back(
            {{"profile", std::string{g.row(g.placement[i].profile).name}}, {"start", g.placement[i].start}});
      });
      layouts.push_back({{"gpus", l.copies}, {"instances", instances}});
    }
    const nlohmann::json out = {{"product", std::string{g.product->id}},
                                {"gpus", p->gpus},
                                {"lower_bound", p->lower_bound},
                                {"optimal", p->optimal()},
                                {"layouts", layouts}};
    fmt::print("{}\n", out.dump(2));
    return exit_ok;
  }
  fmt::print("{} GPUs; {}\n", p->gpus,
             p->optimal() ? "no fewer will do" : fmt::format("at least {} are needed", p->lower_bound));
  for (const auto& l : p->layouts)
    fmt::print("  {:>5} x  {}  {}\n", l.copies, berth_mig::as_line(g, l.instances),
               berth_mig::as_words(g, l.instances));
  return exit_ok;
}

int layouts(const mig_geometry& g, const std::string& held_text, const std::string& svg) {
  std::vector<berth_mig::labelled_layout> rows;
  if (held_text.empty()) {
    for_each_mig_layout(g, [&](mig_set set, bool maximal) {
      if (maximal) rows.push_back({std::to_string(rows.size() + 1), set});
    });
    fmt::print("{}: {} maximal layouts of {} placement units\n", g.product->id, rows.size(), *g.product->units);
    for (const auto& r : rows)
      fmt::print("{:>4}  {}  {}\n", r.label, berth_mig::as_line(g, r.instances), berth_mig::as_words(g, r.instances));
  } else {
    const auto held = read_held(g, held_text);
    if (!held) return bad_input(held.error());
    rows.push_back({"now", *held});
    fmt::print("{}\n\nStill fits:\n{}", berth_mig::as_line(g, *held), berth_mig::what_fits(g, *held));
  }
  if (svg.empty()) return exit_ok;
  const std::string text = berth_mig::as_svg(g, rows);
  std::FILE* f = std::fopen(svg.c_str(), "wb");
  const bool ok = f != nullptr && std::fwrite(text.data(), 1, text.size(), f) == text.size();
  if (f == nullptr || std::fclose(f) != 0 || !ok)
    return bad_input({"--svg", 0, "a file that cannot be written: " + svg, "a path in a folder that exists"});
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

}  // namespace

int main(int argc, char** argv) {
  std::string product, demand, held, svg;
  bool json = false, all = false;
  mig_geometry_options options;
  CLI::App app{"Layouts of MIG GPUs, what still fits, and how few GPUs a demand needs."};
  app.require_subcommand(1);
  const auto common = [&](CLI::App* s) {
    s->add_option("--product", product, "Id, driver's name, node label or PCI id of the GPU")->required();
    s->add_flag("--inferred", options.accept_inferred_placements, "Accept placements inferred from a like product");
    s->add_flag("--low-confidence", options.accept_low_confidence, "Accept rows known by name only");
    s->add_flag("--before-r510", options.before_r510, "A driver that bars 4g beside 3g");
  };
  auto* pack_app = app.add_subcommand("pack", "The fewest GPUs for a demand, with a lower bound");
  common(pack_app);
  pack_app->add_option("--demand", demand, "How many of each profile")->required()->type_name("PROFILE=N,...");
  pack_app->add_flag("--json", json, "Print one JSON object");
  auto* layouts_app =
      app.add_subcommand("layouts", "Draws the maximal layouts, or one GPU and what still fits beside it");
  common(layouts_app);
  layouts_app->add_option("--held", held, "Running instances")->type_name("PROFILE@START,...");
  layouts_app->add_flag("--all", all, "With media, graphics and double-memory variants");
  layouts_app->add_option("--svg", svg, "Draw into this file")->type_name("FILE");
  auto* products_app = app.add_subcommand("products", "The products and their profiles");
  app.footer("Exit codes: 0 fine, 2 bad input.");
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& e) {
    if (e.get_exit_code() == 0) return app.exit(e);
    return bad_input({"berth-mig", 0, e.what(), "the options of --help"});
  }
  if (products_app->parsed()) return products();
  const auto row = find_mig_product(product);
  if (!row) return bad_input(row.error());
  if (layouts_app->parsed() && held.empty() && !all) {
    options.profiles = 0;
    for (unsigned q = 0; q < (*row)->profiles.size(); ++q)
      if ((*row)->profiles[q].variant == catalogue::mig_variant::plain) options.profiles |= mig_set{1} << q;
  }
  const auto g = checked_mig_geometry(**row, options);
  if (!g) return bad_input(g.error());
  return pack_app->parsed() ? pack(*g, demand, json) : layouts(*g, held, svg);
}
