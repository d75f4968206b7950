#pragma once
/// \file
/// Insides that name no machine: they go to the machines that the user names, else to all whose stated GPUs fit, else
/// each kind is a cluster of one machine.

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "berth/core/error.hpp"
#include "berth/core/expected.hpp"
#include "berth/io/assumptions.hpp"
#include "berth/io/hostlist.hpp"
#include "berth/io/merge/insides.hpp"
#include "berth/io/merge/machine_index.hpp"
#include "berth/io/merge/shape_graph.hpp"

namespace berth::merge_detail {

/// Shell pattern with `*` and `?`. O(text × stars).
[[nodiscard]] inline bool matches_pattern(std::string_view pattern, std::string_view text) {
  std::size_t p = 0, t = 0, star = std::string_view::npos, back = 0;
  while (t < text.size()) {
    if (p < pattern.size() && (pattern[p] == '?' || pattern[p] == text[t])) ++p, ++t;
    else if (p < pattern.size() && pattern[p] == '*') star = p++, back = t;
    else if (star != std::string_view::npos) p = star + 1, t = ++back;
    else return false;
  }
  while (p < pattern.size() && pattern[p] == '*') ++p;
  return p == pattern.size();
}

/// Reports without a name that speak of the same kind of machine.
struct unnamed_kind {
  std::vector<const machine_report*> reports;
  std::optional<unsigned> gpus;
  std::string model;
  bool inside = false;
};

[[nodiscard]] inline std::optional<unsigned> gpus_of(const machine_report& r) {
  if (r.inside)
    if (const auto n = parts_of(*r.inside, vertex_kind::gpu).size(); n != 0 || !r.gpus) return static_cast<unsigned>(n);
  return r.gpus;
}
[[nodiscard]] inline std::string model_of(const machine_report& r) {
  if (!r.gpu_model.empty()) return r.gpu_model;
  if (r.inside)
    for (const auto v : parts_of(*r.inside, vertex_kind::gpu))
      if (!(*r.inside)[v].model.empty()) return (*r.inside)[v].model;
  return {};
}

/// Same number of GPUs, same model, and the same bus ids where both tell them.
[[nodiscard]] inline bool same_kind(const unnamed_kind& k, const machine_report& r) {
  const auto gpus = gpus_of(r);
  if (k.gpus && gpus && *k.gpus != *gpus) return false;
  if (!models_agree(gpu_model_of(k.model, catalogue_models()), gpu_model_of(model_of(r), catalogue_models())))
    return false;
  if (!r.inside) return true;
  for (const auto* other : k.reports)
    if (other->inside && !match_parts(*other->inside, *r.inside, vertex_kind::gpu)) return false;
  return true;
}

/// Hands out all unnamed reports. Errors: a pattern that is no host list, or that no machine matches.
[[nodiscard]] inline expected<void, input_error> place_unnamed(const std::vector<site_report>& reports,
                                                               const merge_options& options, machine_index& index,
                                                               std::vector<site_conflict>& conflicts,
                                                               std::vector<std::string>& assumptions) {
  std::vector<unnamed_kind> kinds;
  for (std::size_t i = 0; i < reports.size(); ++i)
    for (const auto& m : reports[i].machines) {
      if (!m.name.empty()) continue;
      const std::string pattern = i < options.machine_of.size() ? options.machine_of[i] : std::string{};
      if (pattern.empty()) {
        unnamed_kind* home = nullptr;
        for (auto& k : kinds)
          if (home == nullptr && same_kind(k, m)) home = &k;
        if (home == nullptr) home = &kinds.emplace_back();
        home->reports.push_back(&m);
        if (const auto n = gpus_of(m); n && !home->gpus) home->gpus = n;
        if (home->model.empty()) home->model = model_of(m);
        home->inside = home->inside || m.inside.has_value();
        continue;
      }
      if (pattern.find_first_of("*?") != std::string::npos) {
        std::size_t hits = 0;
        for (auto& known : index.machines)
          if (matches_pattern(pattern, known.name)) known.shared.push_back(&m), ++hits;
        if (hits == 0)
          return unexpected{m.place.error("the pattern " + io_text::quoted(pattern) + ", which no machine matches",
                                          "a pattern for machines of the other files")};
        continue;
      }
      const auto names = expand_hostlist(pattern, options.max_nodes);
      if (!names) return unexpected{names.error().at(m.place.source, 0)};
      for (const auto& n : *names) {
        machine& known = index.machines[index.at(n, m.place)];
        known.declared = true;
        (names->size() == 1 ? known.told : known.shared).push_back(&m);
      }
    }
  const bool alone = index.machines.empty();
  for (std::size_t k = 0; k < kinds.size(); ++k) {
    const unnamed_kind& kind = kinds[k];
    const input_place& place = kind.reports.front()->place;
    std::string sources;
    for (const auto* r : kind.reports)
      if (sources.find(r->place.source) == std::string::npos)
        sources += (sources.empty() ? "" : ", ") + r->place.source;
    if (alone) {
      const std::string name = "node-" + std::to_string(k);
      machine& one = index.machines[index.at(name, place)];
      one.declared = true;
      one.told = kind.reports;
      assumptions.push_back(sources + " names no machine; taken to be one machine, called " + name + " here.");
      continue;
    }
    std::vector<std::string> fitting;
    for (auto& m : index.machines) {
      bool fits = true, has_inside = false;
      for (const auto* list : {&m.told, &m.shared})
        for (const auto* r : *list) {
          has_inside = has_inside || (r->inside && boost::num_vertices(*r->inside) != 0);
          const auto n = gpus_of(*r);
          fits = fits && (!n || !kind.gpus || *n == *kind.gpus) &&
                 models_agree(gpu_model_of(model_of(*r), catalogue_models()),
                              gpu_model_of(kind.model, catalogue_models()));
        }
      if (!fits || (has_inside && kind.inside)) continue;
      m.shared.insert(m.shared.end(), kind.reports.begin(), kind.reports.end());
      fitting.push_back(m.name);
    }
    if (fitting.empty()) {
      conflicts.push_back({"the machine that it shows (" +
                               (kind.gpus ? io_text::counted(*kind.gpus, "GPU") : "GPUs unknown") +
                               (kind.model.empty() ? "" : ", " + kind.model) +
                               ") is like none of the other files' machines; it is not used. NODE=FILE says whose "
                               "inside it is",
                           place,
                           {}});
      continue;
    }
    assumption_list which;
    for (auto& n : fitting) which.add("taken to be inside as " + sources + " shows one machine.", std::move(n));
    for (auto& s : which.sentences()) assumptions.push_back(std::move(s));
  }
  return {};
}

}  // namespace berth::merge_detail
