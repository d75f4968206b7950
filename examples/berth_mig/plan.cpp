#include "berth_mig/plan.hpp"

#include <fmt/format.h>

#include <iterator>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "berth/io/inside/nvidia_smi_mig.hpp"
#include "berth/io/mig_gpus_json.hpp"
#include "berth/io/text_file.hpp"
#include "berth/solver/mig_planner.hpp"
#include "berth_mig/draw.hpp"
#include "berth_mig/options.hpp"

namespace berth_mig {

using namespace berth;

namespace {

constexpr const char* step_words[] = {"drain", "destroy", "mig-off", "mig-on", "create"};

std::string seconds(std::int64_t slice_ms) {
  return fmt::format("{:.1f}", static_cast<double>(slice_ms) / 1000);
}

std::string_view name_of(const mig_geometry& g, unsigned what) {
  return what == mig_whole_gpu ? "whole" : g.row(what).name;
}
std::string where(const mig_geometry& g, unsigned p) {
  return fmt::format("{}@{}", g.row(g.placement[p].profile).name, g.placement[p].start);
}
mig_set held(const mig_gpu_now& n) {
  mig_set out = n.idle;
  for (const auto& r : n.running) out |= mig_set{1} << r.placement;
  return out;
}
std::string drawn(const mig_geometry& g, const mig_gpu_now& n) {
  switch (n.mode) {
    case mig_mode::on:
      return as_line(g, held(n));
    case mig_mode::off:
      return "idle, MIG off";
    case mig_mode::whole:
      return n.whole ? fmt::format("whole: job {}", n.whole->owner) : "whole";
    case mig_mode::shared:
      return "shared";
    case mig_mode::out:
      return "out of service";
  }
  return "";
}

// "create=2,drain=30" in seconds.
expected<mig_plan_costs, input_error> read_costs(const plan_options& o) {
  mig_plan_costs c;
  expected<void, input_error> ok;
  if (!o.costs.empty())
    ok = each_pair(o.costs, '=', "--costs", [&](std::string_view name, std::uint32_t n) -> expected<void, input_error> {
      std::int64_t* const to = name == "create"    ? &c.create_ms
                               : name == "destroy" ? &c.destroy_ms
                               : name == "drain"   ? &c.drain_ms
                               : name == "restart" ? &c.restart_ms
                               : name == "toggle"  ? &c.toggle_ms
                               : name == "reset"   ? &c.reset_ms
                                                   : nullptr;
      if (to == nullptr)
        return unexpected{input_error{"--costs", 0, "'" + std::string{name} + "'",
                                      "create, destroy, drain, restart, toggle or reset"}};
      *to = std::int64_t{n} * 1000;
      return {};
    });
  if (!ok) return unexpected{ok.error()};
  if (o.wait) {
    if (!(*o.wait >= 0 && *o.wait <= 1e7))
      return unexpected{input_error{"--wait", 0, fmt::format("{}", *o.wait), "seconds from 0 to 10^7"}};
    c.wait_ms = static_cast<std::int64_t>(*o.wait * 1000);
  }
  return c;
}

// Our own file; or what nvidia-smi lists, of which nobody says what may be drained, so that all stays.
expected<std::vector<mig_gpu_now>, input_error> read_state(const mig_geometry& g, const std::string& path) {
  const auto file = read_text_file(path);
  if (!file) return unexpected{file.error()};
  if (!is_mig_instance_table(file->text)) return read_mig_gpus(g, file->text, file->name);
  const auto listed = read_mig_instance_table(g, *file);
  if (!listed) return unexpected{listed.error()};
  std::vector<mig_gpu_now> out;
  for (const auto& gpu : *listed) {
    if (gpu.index >= out.size()) out.resize(std::size_t{gpu.index} + 1);
    for (const auto& i : gpu.ids)
      out[gpu.index].running.push_back({static_cast<std::uint8_t>(i.first), {i.second, 0, false}});
  }
  if (out.empty())
    return unexpected{input_error{path, 0, "a list without instances", "GPUs; those without any are unknown"}};
  return out;
}

void print_json(const mig_geometry& g, const mig_plan& p) {
  using nlohmann::ordered_json;
  ordered_json steps = ordered_json::array();
  for (const auto& s : p.steps) {
    ordered_json one;
    one["step"] = step_words[static_cast<unsigned>(s.what)];
    one["gpu"] = s.gpu;
    if (s.what == mig_step::kind::create || s.what == mig_step::kind::destroy ||
        (s.what == mig_step::kind::drain && !s.whole)) {
      one["profile"] = std::string{g.row(g.placement[s.placement].profile).name};
      one["start"] = g.placement[s.placement].start;
    }
    if (s.what == mig_step::kind::drain) one["job"] = s.owner;
    one["slice_seconds"] = static_cast<double>(s.cost) / 1000;
    steps.push_back(std::move(one));
  }
  ordered_json unserved = ordered_json::object();
  for (unsigned q = 0; q < p.unserved.size(); ++q)
    if (p.unserved[q] != 0) unserved[std::string{name_of(g, q)}] = p.unserved[q];
  const ordered_json out = {{"product", std::string{g.product->id}},
                            {"steps", steps},
                            {"slice_seconds", static_cast<double>(p.cost) / 1000},
                            {"waiting_slice_seconds", static_cast<double>(p.waiting) / 1000},
                            {"lower_bound_slice_seconds", static_cast<double>(p.lower_bound) / 1000},
                            {"optimal", p.optimal},
                            {"unserved", unserved}};
  fmt::print("{}\n", out.dump(2));
}

void print_text(const mig_geometry& g, const std::vector<mig_gpu_now>& before, const std::vector<mig_gpu_now>& after,
                const mig_plan& p) {
  std::size_t number = 0;
  for (const auto& s : p.steps) {
    std::string what;
    if (s.what == mig_step::kind::drain && s.whole) what = fmt::format("job {} from the whole GPU", s.owner);
    else if (s.what == mig_step::kind::drain) what = fmt::format("job {} from {}", s.owner, where(g, s.placement));
    else if (s.what == mig_step::kind::create || s.what == mig_step::kind::destroy) what = where(g, s.placement);
    fmt::print("{:>4}  GPU {:<5} {:<8} {:<32} {:>10}\n", ++number, s.gpu, step_words[static_cast<unsigned>(s.what)],
               what, seconds(s.cost));
  }
  if (p.nothing_to_do()) fmt::print("Nothing to do.\n");
  else fmt::print("\n");
  for (std::size_t i = 0; i < before.size(); ++i) {
    bool touched = false;
    for (const auto& s : p.steps) touched = touched || s.gpu == i;
    if (touched) fmt::print("GPU {:<5} {}\n       to {}\n", i, drawn(g, before[i]), drawn(g, after[i]));
  }
  fmt::print("{}Cost {} slice-seconds{}; {}\n", p.steps.empty() ? "" : "\n", seconds(p.cost),
             p.waiting != 0 ? fmt::format(", and {} of waiting", seconds(p.waiting)) : "",
             p.optimal ? "nothing is cheaper" : fmt::format("at least {}", seconds(p.lower_bound)));
  for (unsigned q = 0; q < p.unserved.size(); ++q)
    if (p.unserved[q] != 0) fmt::print("Left out: {} x {}\n", p.unserved[q], name_of(g, q));
}

}  // namespace

int plan(const mig_geometry& g, const plan_options& o) {
  if (o.need.empty() == o.target.empty())
    return bad_input({"berth-mig plan", 0, o.need.empty() ? "neither --need nor --target" : "--need and --target",
                      "one of the two"});
  mig_plan_request request;
  request.what = o.need.empty() ? mig_plan_request::goal::target : mig_plan_request::goal::queue;
  request.restart_drained = o.restart_drained;
  const auto need = read_need(g, o.need.empty() ? o.target : o.need, o.need.empty() ? "--target" : "--need", true);
  if (!need) return bad_input(need.error());
  request.need = *need;
  const auto costs = read_costs(o);
  if (!costs) return bad_input(costs.error());
  const auto gpus = read_state(g, o.state);
  if (!gpus) return bad_input(gpus.error());
  const auto p = mig_planner{g, *costs}.plan(*gpus, request);
  if (!p) return bad_input(p.error());
  const auto after = replay_mig_plan(g, *gpus, *p);
  if (!after) return bad_input(after.error());
  if (!o.svg.empty()) {
    std::vector<labelled_layout> rows;
    for (std::size_t i = 0; i < gpus->size(); ++i) {
      bool touched = false;
      for (const auto& s : p->steps) touched = touched || s.gpu == i;
      if (!touched) continue;
      rows.push_back({fmt::format("{} before", i), held((*gpus)[i])});
      rows.push_back({fmt::format("{} after", i), held((*after)[i])});
    }
    if (const int bad = write_file(o.svg, as_svg(g, rows), "--svg"); bad != exit_ok) return bad;
  }
  if (o.json) print_json(g, *p);
  else print_text(g, *gpus, *after, *p);
  return p->serves_all() ? exit_ok : exit_not_all;
}

}  // namespace berth_mig
