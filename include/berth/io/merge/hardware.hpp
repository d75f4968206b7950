#pragma once
/// \file
/// From all that is told about a machine to its inside, its shape and its amounts. What no file tells is given by the
/// user, or taken from the catalogue and said so, or stays unknown.

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "berth/core/error.hpp"
#include "berth/core/expected.hpp"
#include "berth/io/merge/insides.hpp"
#include "berth/io/merge/machine_index.hpp"
#include "berth/io/merge/model_rates.hpp"
#include "berth/io/merge/nic_rails.hpp"
#include "berth/io/merge/shape_graph.hpp"
#include "berth/topology/catalogue/node_shapes.hpp"
#include "berth/topology/graph/compile.hpp"
#include "berth/topology/graph/node_graph.hpp"

namespace berth::merge_detail {

/// What a machine is.
struct hardware {
  std::uint32_t inside = 0;  ///< index into `hardware_table::insides`
  shape_id shape{};          ///< index into `hardware_table::shapes`
  cpu_millis cpu{};
  bytes memory{};
  bool known = false;
  std::vector<std::string> notes;  ///< assumptions for every machine of this kind
};

/// What the files state about a machine beyond its inside, all files together.
struct stated_facts {
  std::optional<unsigned> gpus;
  std::string model, shape;
  std::optional<cpu_millis> cpu;
  std::optional<bytes> memory;
  std::vector<std::string> labels;
  bool usable = true;
  device_mask unhealthy = 0;
};

/// Puts the files' words about one machine together; the smaller amount counts, as no file grants more.
[[nodiscard]] inline stated_facts facts_of(const machine& m, std::vector<site_conflict>& conflicts) {
  stated_facts out;
  const machine_report *gpus_by = nullptr, *model_by = nullptr;
  for (const auto* list : {&m.told, &m.shared})
    for (const auto* r : *list) {
      if (r->gpus && out.gpus && *r->gpus != *out.gpus && list == &m.told)
        conflicts.push_back({"machine " + m.name + " has " + io_text::counted(*out.gpus, "GPU") + " and " +
                                 std::to_string(*r->gpus) + " GPUs; the smaller number is used",
                             gpus_by->place, r->place});
      if (r->gpus && (!out.gpus || (list == &m.told && *r->gpus < *out.gpus))) out.gpus = r->gpus, gpus_by = r;
      if (!models_agree(out.model, r->gpu_model))
        conflicts.push_back(
            {"machine " + m.name + " has GPUs of model " + out.model + " and " + r->gpu_model + "; the first is used",
             model_by->place, r->place});
      else if (r->gpu_model.size() > out.model.size()) out.model = r->gpu_model, model_by = r;
      if (out.shape.empty()) out.shape = r->shape;
      if (r->cpu && (!out.cpu || *r->cpu < *out.cpu)) out.cpu = r->cpu;
      if (r->memory && (!out.memory || *r->memory < *out.memory)) out.memory = r->memory;
      if (r->usable && !*r->usable) out.usable = false;
      out.unhealthy |= r->unhealthy;
      out.labels.insert(out.labels.end(), r->labels.begin(), r->labels.end());
    }
  std::sort(out.labels.begin(), out.labels.end());
  out.labels.erase(std::unique(out.labels.begin(), out.labels.end()), out.labels.end());
  return out;
}

/// A machine has at most so many parts and links: what is worked out about a machine takes a search per pair of GPUs.
inline constexpr std::size_t max_machine_parts = 4096, max_machine_links = 65536;

/// Insides and shapes so far, and how machines get theirs.
class hardware_table {
 public:
  explicit hardware_table(const merge_options& options)
      : options_{options}, resolver_{options.hardware, catalogue_models(), {}} {}

  std::vector<hardware_graph> insides;
  std::vector<char> inside_known;
  [[nodiscard]] std::vector<node_shape>& shapes() noexcept { return resolver_.shapes; }

  /// \param tray   the machine is in an NVLink domain with others
  /// \param wired  its NICs on the fabric, as far as the fabric's files tell
  [[nodiscard]] expected<hardware, input_error> of(const machine& m, const stated_facts& facts, bool tray,
                                                   const std::vector<wired_nic>& wired,
                                                   std::vector<site_conflict>& conflicts) {
    std::vector<const machine_report*> told;
    std::string key = tray ? "t" : "m";
    unsigned shown = 0;
    for (const auto* list : {&m.told, &m.shared})
      for (const auto* r : *list)
        if (r->inside &&
            (boost::num_vertices(*r->inside) > max_machine_parts || boost::num_edges(*r->inside) > max_machine_links))
          return unexpected{r->place.error(
              "an inside of " + std::to_string(boost::num_vertices(*r->inside)) + " parts and " +
                  std::to_string(boost::num_edges(*r->inside)) + " links",
              "at most " + std::to_string(max_machine_parts) + " and " + std::to_string(max_machine_links))};
        else if (r->inside)
          shown = std::max(shown, static_cast<unsigned>(parts_of(*r->inside, vertex_kind::gpu).size()));
    const bool blind = shown == 0 && facts.gpus.value_or(0) != 0;  // such as hwloc without a GPU back end
    bool all_bare = true;
    for (const auto* list : {&m.told, &m.shared})
      for (const auto* r : *list)
        if (r->inside) all_bare = all_bare && is_bare(*r->inside);
    for (const auto* list : {&m.told, &m.shared})
      for (const auto* r : *list)
        if (r->inside && !blind && (!all_bare || facts.gpus == 0U)) told.push_back(r), key += "," + word_of_inside(*r);
    if (told.empty())  // NICs of its own
      for (const auto* r : m.told)
        if (r->inside) key += "," + word_of_inside(*r);
    key += "|" + (facts.gpus ? std::to_string(*facts.gpus) : "-") + "|" + facts.model + "|" + facts.shape + "|" +
           (facts.cpu ? std::to_string(facts.cpu->count()) : "-") + "|" +
           (facts.memory ? std::to_string(facts.memory->count()) : "-") + "|" + key_of(wired);
    if (const auto it = known_.find(key); it != known_.end()) return it->second;
    if (blind && !all_bare)
      for (const auto* r : m.told)
        if (r->inside)
          conflicts.push_back({"machine " + m.name + " is stated to have " + io_text::counted(*facts.gpus, "GPU") +
                                   " and shows none inside; the inside is not used",
                               place_of_gpus(m), r->place});
    auto out = resolve(m, facts, told, tray, wired, conflicts);
    if (out) known_.emplace(std::move(key), *out);
    return out;
  }

 private:
  /// The inside itself, or what its reader says about which machines have equal ones. What several files say about a
  /// machine is compared machine by machine all the same, as the key holds all of them.
  [[nodiscard]] static std::string word_of_inside(const machine_report& r) {
    return r.same_inside.empty() ? std::to_string(reinterpret_cast<std::uintptr_t>(&r))
                                 : r.place.source + "\n" + r.same_inside;
  }
  /// A graph that tells no more than which GPUs are on which NUMA node.
  [[nodiscard]] static bool has_no_wiring(const hardware_graph& g) {
    for (part_id v = 0; v < boost::num_vertices(g); ++v)
      if (g[v].kind != vertex_kind::gpu && g[v].kind != vertex_kind::numa) return false;
    for (auto [e, end] = boost::edges(g); e != end; ++e)
      if (g[*e].rate || g[boost::source(*e, g)].kind == g[boost::target(*e, g)].kind) return false;
    return !parts_of(g, vertex_kind::numa).empty();
  }
  /// The wiring of the default machine for one that tells its NUMA nodes alone, which keep the CPUs that it tells.
  /// Empty where the two contradict each other.
  [[nodiscard]] std::optional<hardware_graph> default_with_numa(const hardware_graph& told) const {
    const node_shape& s = *options_.hardware.shape;
    const auto gpus = parts_of(told, vertex_kind::gpu);
    if (gpus.size() != s.devices) return std::nullopt;
    for (unsigned i = 0; i < s.devices; ++i)
      if (!models_agree(told[gpus[i]].model, s.models[i])) return std::nullopt;
    hardware_graph g = catalogue::find_node_graph(s.name) != nullptr ? *make_node_graph(s.name) : graph_of_shape(s);
    const auto numa = parts_of(g, vertex_kind::numa), stated = parts_of(told, vertex_kind::numa);
    if (numa.size() != s.numa.size() || stated.size() != numa.size()) return std::nullopt;
    for (std::size_t n = 0; n < numa.size(); ++n) {
      device_mask near = 0;
      for (auto [e, end] = boost::out_edges(stated[n], told); e != end; ++e)
        for (unsigned i = 0; i < gpus.size(); ++i)
          if (gpus[i] == boost::target(*e, told)) near |= bit(i);
      if (near != s.numa[n].devices) return std::nullopt;
      if (told[stated[n]].cpu) g[numa[n]].cpu = told[stated[n]].cpu;
    }
    return g;
  }

  /// One graph of all that is told. What some file says about the GPUs' model rates the links of the others first, so
  /// that each tells as much as if its reader had known the model.
  /// \param model  of all GPUs that no inside names; "" unknown
  [[nodiscard]] static hardware_graph join_rated(const machine& m, const std::vector<const machine_report*>& told,
                                                 std::string model, std::vector<std::string>& notes,
                                                 std::vector<site_conflict>& conflicts) {
    const std::string who = "machine " + m.name + " ";
    for (const auto* r : told)
      if (const std::string inside = one_model_of(*r->inside);
          models_agree(model, inside) && inside.size() > model.size())
        model = inside;
    std::vector<machine_report> rated(told.size());
    std::vector<const machine_report*> all;
    for (std::size_t i = 0; i < told.size(); ++i) {
      rated[i].place = told[i]->place;
      rated[i].inside = told[i]->inside;
      hardware_graph& g = *rated[i].inside;
      for (const auto v : parts_of(g, vertex_kind::gpu))
        if (g[v].model.empty()) g[v].model = model;
      auto done = rate_by_models(g, told[i]->rates_by_model);
      if (!done.note.empty()) notes.push_back(std::move(done.note));
      if (!done.fault.empty()) conflicts.push_back({who + done.fault, told[i]->place, place_of_model(m)});
      all.push_back(&rated[i]);
    }
    return join_insides(all, who, conflicts);
  }
  [[nodiscard]] static input_place place_of_model(const machine& m) {
    for (const auto* list : {&m.told, &m.shared})
      for (const auto* r : *list)
        if (!r->gpu_model.empty() || (r->inside && !one_model_of(*r->inside).empty())) return r->place;
    return m.place;
  }

  [[nodiscard]] expected<hardware, input_error> resolve(const machine& m, const stated_facts& facts,
                                                        const std::vector<const machine_report*>& told, bool tray,
                                                        const std::vector<wired_nic>& wired,
                                                        std::vector<site_conflict>& conflicts) {
    hardware out;
    out.known = true;
    hardware_graph g;
    bool named = false, seen_inside = true, by_default = false, all_assumed = false;
    const std::string model = gpu_model_of(facts.model, catalogue_models());
    std::optional<hardware_graph> wired_as_given;
    if (options_.hardware.shape && told.size() == 1 && has_no_wiring(*told.front()->inside)) {
      const std::string& id = options_.hardware.shape->name;
      if (fits_default(facts, model)) wired_as_given = default_with_numa(*told.front()->inside);
      out.notes.push_back(wired_as_given ? "the files give no wiring between GPUs; that of " + id +
                                               " is used, which has the same GPUs."
                                         : "the files give no wiring between GPUs, and that of " + id +
                                               " is not used, whose GPUs or NUMA nodes are others.");
    }
    if (wired_as_given) {
      g = std::move(*wired_as_given);
      named = true;
    } else if (!told.empty()) {
      g = join_rated(m, told, model, out.notes, conflicts);
      const auto gpus = parts_of(g, vertex_kind::gpu);
      if (facts.gpus && *facts.gpus != gpus.size())
        conflicts.push_back({"machine " + m.name + " is stated to have " + io_text::counted(*facts.gpus, "GPU") +
                                 " and shows " + std::to_string(gpus.size()) + " inside; what it shows is used",
                             place_of_gpus(m), told.front()->place});
    } else if (const auto word = machine_of_word(facts.shape); word && fits(*word, facts, model)) {
      g = *make_node_graph(*word);
      named = true;
      out.notes.push_back("known to be " + facts.shape + "; its wiring is that of the catalogue's " +
                          std::string{*word} + ".");
    } else if (options_.hardware.shape && fits_default(facts, model)) {
      const node_shape& s = *options_.hardware.shape;
      g = catalogue::find_node_graph(s.name) != nullptr ? *make_node_graph(s.name) : graph_of_shape(s);
      named = true;
      by_default = true;
      all_assumed = !facts.gpus && !facts.cpu && !facts.memory;
      if (!all_assumed)
        out.notes.push_back(facts.gpus ? "the files give no wiring between GPUs; that of " + s.name +
                                             " is used, which has the same GPUs."
                                       : "no file states the hardware; taken to be " + s.name + " (" +
                                             io_text::counted(s.devices, "GPU") + ").");
    } else if (auto common = hardware_of_model(model, facts.gpus.value_or(0))) {
      g = std::move(common->graph);
      out.notes.push_back(common->source + ".");
    } else {
      seen_inside = false;
      out.known = facts.gpus.has_value();
      if (!out.known && options_.hardware_needed)
        return unexpected{m.place.error("node " + m.name + ", whose hardware no file states",
                                        "a file that states it (slurm.conf, a node list, topo -m, …)" +
                                            stated_by::words(", or ", options_.hardware.ways.shape))};
      if (!out.known)
        out.notes.push_back("no file states the hardware; taken to have no GPU" +
                            stated_by::words(" until ", options_.hardware.ways.shape, " names a machine") + ".");
      if (facts.gpus.value_or(0) > max_devices_per_node)
        return unexpected{place_of_gpus(m).error(std::to_string(*facts.gpus) + " GPUs in machine " + m.name,
                                                 "at most " + std::to_string(max_devices_per_node))};
      for (unsigned i = 0; i < facts.gpus.value_or(0); ++i) g[add_part(g, vertex_kind::gpu, i)].model = model;
      for (const auto* r : m.told)
        if (r->inside && is_bare(*r->inside))
          for (const auto v : parts_of(*r->inside, vertex_kind::nic)) (void)boost::add_vertex((*r->inside)[v], g);
    }
    if (tray && share_nvswitches(g))
      out.notes.emplace_back("the NVSwitches that they show are taken to be those of their NVLink domain.");
    if (wired.empty() && !told.empty() && !named) {
      if (const std::size_t n = assume_compute_nics(g); n != 0)
        out.notes.push_back("no file says which NICs are on the compute fabric; the " + io_text::counted(n, "NIC") +
                            " of the highest rate " + (n == 1 ? "is" : "are") + " taken for it.");
    } else if (auto note = wire_nics(g, wired); !note.empty()) {
      out.notes.push_back(std::move(note));
    }
    auto shape = compile_shape(g);
    if (!shape) return unexpected{m.place.error(shape.error(), "a machine")};
    const std::size_t notes = out.notes.size();
    amounts(out, *shape, facts, by_default ? &*options_.hardware.shape : nullptr);
    if (all_assumed) {  // one sentence instead of three
      out.notes.resize(notes);
      out.notes.push_back("no file states the hardware; taken to be " + options_.hardware.shape->name + " (" +
                          io_text::counted(shape->devices, "GPU") + ", " + io_text::cpus_text(out.cpu) + " CPUs, " +
                          (out.memory.count() != 0
                               ? io_text::memory_text(out.memory)
                               : "memory unknown and taken as 0, so that no task may ask for any" +
                                     stated_by::words("; ", options_.hardware.ways.memory, " states it")) +
                          ").");
    }
    shape->cpu = out.cpu;
    shape->memory = out.memory;
    if (named) {
      shape->cpu = cpu_millis{};
      for (const auto& n : shape->numa) shape->cpu += n.cpu;
      shape->memory = bytes{};
    }
    out.shape = resolver_.keep(std::move(*shape), named);
    if (!out.shape || insides.size() >= std::numeric_limits<std::uint16_t>::max())
      return unexpected{m.place.error("more than 65535 kinds of machines", "fewer")};
    out.inside = static_cast<std::uint32_t>(insides.size());
    if (g[boost::graph_bundle].name.empty()) g[boost::graph_bundle].name = resolver_.shapes[out.shape.index()].name;
    insides.push_back(std::move(g));
    inside_known.push_back(seen_inside ? char{1} : char{0});
    return out;
  }

  /// Only NICs: whether there are GPUs is not told.
  [[nodiscard]] static bool is_bare(const hardware_graph& g) {
    for (part_id v = 0; v < boost::num_vertices(g); ++v)
      if (g[v].kind != vertex_kind::nic && g[v].kind != vertex_kind::node) return false;
    return true;
  }

  [[nodiscard]] static input_place place_of_gpus(const machine& m) {
    for (const auto* r : m.told)
      if (r->gpus) return r->place;
    return m.place;
  }

  /// CPUs and memory: as stated, else given, else those of the inside; unknown memory is 0.
  /// \param given  the default machine, where it is one; else null
  void amounts(hardware& out, const node_shape& shape, const stated_facts& facts, const node_shape* given) const {
    if (facts.cpu) out.cpu = *facts.cpu;
    else if (options_.hardware.cpu) out.cpu = *options_.hardware.cpu;
    else if (given != nullptr && given->cpu.count() != 0) out.cpu = given->cpu;
    else out.cpu = shape.cpu;
    if (!facts.cpu && out.known)
      out.notes.push_back(out.cpu.count() == 0
                              ? "no file states the CPUs; taken as 0, so that no task may ask for any" +
                                    stated_by::words("; ", options_.hardware.ways.cpus, " states them") + "."
                              : "no file states the schedulable CPUs; taken to be " + io_text::cpus_text(out.cpu) +
                                    ".");
    if (facts.memory) out.memory = *facts.memory;
    else if (options_.hardware.memory) out.memory = *options_.hardware.memory;
    else if (given != nullptr) out.memory = given->memory;
    if (!facts.memory && out.known)
      out.notes.push_back(out.memory.count() == 0
                              ? "no file states the memory; taken as 0, so that no task may ask for any" +
                                    stated_by::words("; ", options_.hardware.ways.memory, " states it") + "."
                              : "no file states the memory; taken to be " + io_text::memory_text(out.memory) + ".");
  }

  [[nodiscard]] static bool fits(std::string_view id, const stated_facts& facts, const std::string& model) {
    const auto s = catalogue_shape(id);
    if (!s) return false;
    return (!facts.gpus || *facts.gpus == s->devices) && (s->devices == 0 || models_agree(model, s->models.front()));
  }
  [[nodiscard]] bool fits_default(const stated_facts& facts, const std::string& model) const {
    const node_shape& s = *options_.hardware.shape;
    if (!facts.gpus) return true;
    return *facts.gpus == s.devices && s.devices != 0 && models_agree(model, s.models.front());
  }

  const merge_options& options_;
  slurm_detail::hardware_resolver resolver_;
  std::unordered_map<std::string, hardware> known_;
};

}  // namespace berth::merge_detail
