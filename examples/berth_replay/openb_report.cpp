#include <fmt/format.h>

#include <cmath>
#include <cstddef>
#include <iterator>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "berth/io/text.hpp"
#include "berth/report/line_chart.hpp"
#include "berth/report/xml.hpp"
#include "berth_replay/openb.hpp"

namespace berth_replay {

namespace {

constexpr std::size_t loads[] = {90, 100, 130};

// Results of one list and policy, over its seeds.
struct series {
  std::string policy, pods;
  std::vector<const openb_result*> runs;

  template <class F>
  [[nodiscard]] double mean(F f) const {
    double sum = 0;
    for (const auto* r : runs) sum += f(*r);
    return sum / static_cast<double>(runs.size());
  }
  template <class F>
  [[nodiscard]] double deviation(F f) const {
    if (runs.size() < 2) return 0;
    const double m = mean(f);
    double sum = 0;
    for (const auto* r : runs) sum += (f(*r) - m) * (f(*r) - m);
    return std::sqrt(sum / static_cast<double>(runs.size() - 1));
  }
};

std::vector<series> grouped(const std::vector<openb_result>& results) {
  std::vector<series> out;
  for (const auto& r : results) {
    if (out.empty() || out.back().policy != r.policy || out.back().pods != r.pods)
      out.push_back({r.policy, r.pods, {}});
    out.back().runs.push_back(&r);
  }
  return out;
}

std::optional<double> fragmentation_at(const berth::packing_run& r, std::size_t percent) {
  if (percent >= r.by_load.size() || r.by_load[percent].samples == 0) return std::nullopt;
  return r.by_load[percent].fragmentation_percent;
}

// Watts of all nodes at a percent of load; none where not measured or not reached.
std::optional<double> watts_at(const berth::packing_run& r, std::size_t percent) {
  if (r.watts == 0 || percent >= r.by_load.size() || r.by_load[percent].samples == 0) return std::nullopt;
  return r.by_load[percent].watts;
}
// The mean over the runs of what `f` says, "-" where it says nothing of one.
template <class F>
std::string mean_text(const series& s, const char* form, F f) {
  for (const auto* r : s.runs)
    if (!f(r->run)) return "-";
  return fmt::format(fmt::runtime(form), s.mean([&](const openb_result& r) { return *f(r.run); }));
}
std::string kilowatts(const series& s, std::size_t percent) {
  return mean_text(s, "{:.1f}", [percent](const berth::packing_run& r) {
    const auto w = watts_at(r, percent);
    return w ? std::optional{*w / 1000} : w;
  });
}
std::string allocated_text(const series& s, std::size_t percent) {
  return mean_text(s, "{:.2f}", [percent](const berth::packing_run& r) { return allocated_at(r, percent); });
}
std::string deviation_text(const series& s, std::size_t percent) {
  for (const auto* r : s.runs)
    if (!allocated_at(r->run, percent)) return "-";
  return fmt::format("{:.2f}", s.deviation([percent](const openb_result& r) { return *allocated_at(r.run, percent); }));
}

std::string class_text(const berth::share_task& t) {
  if (t.devices == 0) return berth::io_text::cpus_text(t.cpu) + (t.cpu.count() == 1000 ? " CPU" : " CPUs");
  return fmt::format("{} x {} GPU, {} {}{}", t.devices,
                     t.share == berth::whole_device ? std::string{"1"} : fmt::format("{:.3f}", t.share / 1000.0),
                     berth::io_text::cpus_text(t.cpu), t.cpu.count() == 1000 ? "CPU" : "CPUs",
                     t.any_model() ? "" : ", some types only");
}

}  // namespace

std::string openb_table(const std::vector<openb_result>& results) {
  std::string out;
  auto to = std::back_inserter(out);
  std::string pods;
  for (const auto& s : grouped(results)) {
    if (s.pods != pods) {
      pods = s.pods;
      fmt::format_to(to, "{}{}, {}\n{:25}{:>8}{:>8}{:>8}{:>7}{:>9}{:>9}{:>8}{:>10}{:>10}\n", out.empty() ? "" : "\n",
                     pods, berth::io_text::counted(s.runs.size(), "seed"), "allocated % at load", "90", "100", "130",
                     "+-", "kW @ 100", "refused", "s/run", "ns p50", "ns p99");
    }
    fmt::format_to(to, "{:25}{:>8}{:>8}{:>8}{:>7}{:>9}{:9.0f}{:8.2f}{:10.0f}{:10.0f}\n", s.policy,
                   allocated_text(s, 90), allocated_text(s, 100), allocated_text(s, 130), deviation_text(s, 100),
                   kilowatts(s, 100), s.mean([](const openb_result& r) { return static_cast<double>(r.run.refused); }),
                   s.mean([](const openb_result& r) { return r.run.seconds; }),
                   s.mean([](const openb_result& r) { return r.run.decision_ns_p50; }),
                   s.mean([](const openb_result& r) { return r.run.decision_ns_p99; }));
  }
  return out;
}

std::string openb_json(const std::vector<openb_result>& results) {
  nlohmann::ordered_json runs = nlohmann::ordered_json::array();
  for (const auto& r : results) {
    nlohmann::ordered_json run{{"policy", r.policy}, {"pods", r.pods}, {"seed", r.seed}};
    for (const auto load : loads) {
      const auto share = allocated_at(r.run, load);
      run["allocated_percent"][std::to_string(load)] =
          share ? nlohmann::ordered_json(*share) : nlohmann::ordered_json();
      const auto f = fragmentation_at(r.run, load);
      run["fragmentation_percent"][std::to_string(load)] = f ? nlohmann::ordered_json(*f) : nlohmann::ordered_json();
      const auto w = watts_at(r.run, load);
      run["watts"][std::to_string(load)] = w ? nlohmann::ordered_json(*w) : nlohmann::ordered_json();
    }
    run["arrived"] = r.run.arrived;
    run["refused"] = r.run.refused;
    auto classes = nlohmann::ordered_json::array();
    for (const auto& c : r.run.refusals)
      classes.push_back({{"gpus", c.task.devices},
                         {"gpu_milli", c.task.share},
                         {"cpu_milli", c.task.cpu.count()},
                         {"memory_mib", c.task.memory.count() >> 20},
                         {"any_type", c.task.any_model()},
                         {"tasks", c.tasks},
                         {"gpu_demand", static_cast<double>(c.demand) / 1000}});
    run["refused_by_class"] = std::move(classes);
    run["seconds"] = r.run.seconds;
    run["decision_ns"] = {{"p50", r.run.decision_ns_p50}, {"p99", r.run.decision_ns_p99}};
    runs.push_back(std::move(run));
  }
  return nlohmann::ordered_json{{"runs", std::move(runs)}}.dump(1, ' ', false,
                                                                nlohmann::ordered_json::error_handler_t::replace) +
         "\n";
}

std::string openb_html(const std::vector<openb_result>& results) {
  std::string out =
      "<!DOCTYPE html>\n<html lang=\"en\"><head><meta charset=\"utf-8\"><title>berth-replay</title>\n<style>body{"
      "font-family:sans-serif;margin:2em;max-width:80em}table{border-collapse:collapse}td,th{padding:.2em .8em;"
      "text-align:right;border-bottom:1px solid #ddd}td:first-child,th:first-child{text-align:left}</style></head>"
      "<body>\n<h1>Packing, policies side by side</h1>\n";
  auto to = std::back_inserter(out);
  const auto all = grouped(results);
  for (std::size_t begin = 0; begin < all.size();) {
    std::size_t end = begin;
    while (end < all.size() && all[end].pods == all[begin].pods) ++end;
    fmt::format_to(to,
                   "<h2>{}</h2>\n<table><tr><th>policy</th><th>allocated at 90 %</th><th>at 100 %</th><th>at 130 %"
                   "</th><th>kW at 100 %</th><th>refused</th><th>s a run</th></tr>\n",
                   berth::xml_text(all[begin].pods));
    berth::line_chart allocated{"Not allocated", "arrived GPU demand, % of capacity", "% of GPU capacity", {}};
    berth::line_chart fragmented{"Fragmented", "arrived GPU demand, % of capacity", "% of GPU capacity", {}};
    for (std::size_t i = begin; i < end; ++i) {
      const auto& s = all[i];
      fmt::format_to(to, "<tr><td>{}</td>", berth::xml_text(s.policy));
      for (const auto load : loads) fmt::format_to(to, "<td>{}</td>", allocated_text(s, load));
      fmt::format_to(to, "<td>{}</td><td>{:.0f}</td><td>{:.2f}</td></tr>\n", kilowatts(s, 100),
                     s.mean([](const openb_result& r) { return static_cast<double>(r.run.refused); }),
                     s.mean([](const openb_result& r) { return r.run.seconds; }));
      berth::chart_series a{s.policy, {}}, f{s.policy, {}};
      for (std::size_t load = 0; load < s.runs.front()->run.by_load.size(); ++load) {
        bool everywhere = true;
        for (const auto* r : s.runs)
          everywhere = everywhere && load < r->run.by_load.size() && r->run.by_load[load].samples != 0;
        if (!everywhere) continue;
        // What is not allocated though it was asked for: the curves differ only where the cluster gets full.
        if (load >= 70)
          a.points.emplace_back(static_cast<double>(load), 100 - s.mean([load](const openb_result& r) {
            return r.run.by_load[load].allocated_percent;
          }));
        f.points.emplace_back(static_cast<double>(load), s.mean([load](const openb_result& r) {
          return r.run.by_load[load].fragmentation_percent;
        }));
      }
      allocated.series.push_back(std::move(a));
      fragmented.series.push_back(std::move(f));
    }
    out += "</table>\n" + berth::svg_line_chart(allocated) + berth::svg_line_chart(fragmented);
    for (std::size_t i = begin; i < end; ++i) {
      const auto& run = all[i].runs.front()->run;
      if (run.refusals.empty()) continue;
      fmt::format_to(to, "<h3>Refused by {}, seed {}</h3>\n<table><tr><th>asked</th><th>tasks</th><th>GPUs</th></tr>\n",
                     berth::xml_text(all[i].policy), all[i].runs.front()->seed);
      for (std::size_t k = 0; k < run.refusals.size() && k < 8; ++k)
        fmt::format_to(to, "<tr><td>{}</td><td>{}</td><td>{:.1f}</td></tr>\n", class_text(run.refusals[k].task),
                       run.refusals[k].tasks, static_cast<double>(run.refusals[k].demand) / 1000);
      out += "</table>\n";
    }
    begin = end;
  }
  return out + "</body></html>\n";
}

}  // namespace berth_replay
