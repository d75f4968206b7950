#pragma once
/// \file
/// From what Slurm's files say about one node to its `node_shape`: the GPUs of `Gres=` ordered and typed by gres.conf,
/// NUMA nodes from `Cores=`, wiring from a catalogue shape where the user names one and the files do not contradict it.
/// Whatever no file states is either given by the user or written down as an assumption, never invented silently.

#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "berth/cluster/spec.hpp"
#include "berth/core/error.hpp"
#include "berth/core/expected.hpp"
#include "berth/core/units.hpp"
#include "berth/io/assumptions.hpp"
#include "berth/io/same_hardware.hpp"
#include "berth/io/slurm_gres.hpp"
#include "berth/io/slurm_nodes.hpp"
#include "berth/io/stated_by.hpp"
#include "berth/io/text.hpp"
#include "berth/topology/node_shape.hpp"

namespace berth {

/// Hardware for nodes about which no file says any, given by the user.
struct hardware_defaults {
  std::optional<node_shape> shape;  ///< the machine of a node whose file gives no hardware
  std::optional<cpu_millis> cpu;    ///< schedulable CPUs of a node whose file gives none
  std::optional<bytes> memory;      ///< schedulable memory of a node whose file gives none
  stated_by ways;                   ///< how a user gives these, for messages
};

/// A catalogue's id for the site's word for a GPU ("h100", "nvidia_a100-sxm4-80gb"): the word itself, or the one id
/// that begins with it; where several do or none does, the word is kept. O(ids × length).
[[nodiscard]] inline std::string gpu_model_of(std::string_view word, const std::vector<std::string>& model_ids) {
  std::string w = io_text::lower(word);
  for (char& c : w)
    if (c == '_') c = '-';
  if (w.starts_with("nvidia-")) w = w.substr(7);
  const std::string* match = nullptr;
  for (const auto& id : model_ids) {
    if (id == w) return id;
    if (!id.starts_with(w + "-")) continue;
    if (match != nullptr) return std::string{word};
    match = &id;
  }
  return match != nullptr ? *match : std::string{word};
}

namespace slurm_detail {

/// One whole GPU of a node, in the order in which Slurm numbers them.
struct slurm_device {
  std::string type;
  std::string cores;       ///< as written, "" when not given
  std::string file;        ///< "/dev/nvidia3", "" when not given
  std::vector<int> links;  ///< NVLinks to each GPU of the node; empty when not given
};

struct hardware_resolver {
  const hardware_defaults& defaults;
  const std::vector<std::string>& model_ids;
  std::vector<node_shape> shapes;

  using gpu = slurm_device;

  [[nodiscard]] static bool has_mig(const std::vector<std::string>& gres) {
    for (const auto& g : gres)
      if (g.starts_with("gres/gpu")) return true;
    return false;
  }

  /// The whole GPUs of a node in device order, from `Gres=` (none: no slurm.conf line) and its gres.conf lines.
  [[nodiscard]] static expected<std::vector<gpu>, input_error> devices_of(
      const std::string& node, const slurm_node_line* line, const std::vector<const slurm_gres_line*>& gres,
      std::vector<std::string>& notes) {
    std::vector<gpu> listed;
    std::vector<const slurm_gres_line*> from;  // by listed GPU
    bool mig = line != nullptr && has_mig(line->other_gres);
    for (const auto* g : gres) {
      mig = mig || g->mig;
      if (g->mig) continue;
      if (listed.size() + g->count > max_devices_per_node)
        return unexpected{
            input_error{g->place.source, g->place.line, "more than 64 GPUs on node " + node, "at most 64"}};
      for (unsigned i = 0; i < g->count; ++i) {
        std::string file = i < g->files.size() ? g->files[i] : std::string{};
        for (std::size_t k = 0; k < listed.size() && !file.empty(); ++k)
          if (listed[k].file == file)
            return unexpected{
                g->place.error("device " + file + " of node " + node + " again, first " +
                                   (from[k] == g ? std::string{"on the same line"} : "at " + from[k]->place.text()),
                               "each device of a node once")};
        listed.push_back({g->type, g->cores, std::move(file), g->links});
        from.push_back(g);
      }
    }
    if (mig) notes.emplace_back("MIG devices are no whole GPUs and are not counted as such.");
    if (line == nullptr) return listed;
    if (line->gpus.empty()) {
      for (const auto* g : gres)
        if (!g->every_node && !g->mig) {
          notes.emplace_back(
              "gres.conf lists GPUs but the NodeName= line has no Gres=, so there are none, as in Slurm.");
          break;
        }
      return std::vector<gpu>{};
    }
    if (listed.empty()) {
      // Where gres.conf lists MIG devices alone, an item without a type means them.
      for (const auto* g : gres)
        if (g->mig) return std::vector<gpu>{};
      std::vector<gpu> out;
      for (const auto& g : line->gpus) out.insert(out.end(), g.count, gpu{g.type, "", "", {}});
      return out;
    }
    // gres.conf gives the order: every listed GPU serves the Gres= item of its type, else one without a type.
    std::vector<unsigned> left;
    for (const auto& g : line->gpus) left.push_back(g.count);
    std::vector<gpu> out;
    for (const auto& d : listed) {
      std::size_t hit = left.size();
      for (std::size_t i = left.size(); i-- > 0;) {
        const auto& want = line->gpus[i].type;
        if (left[i] == 0 || !(want.empty() || d.type.empty() || io_text::equal_nocase(want, d.type))) continue;
        if (hit == left.size() || !want.empty()) hit = i;
      }
      if (hit == left.size()) continue;
      --left[hit];
      out.push_back(d);
      if (d.type.empty()) out.back().type = line->gpus[hit].type;
    }
    for (std::size_t i = 0; i < left.size(); ++i)
      if (left[i] != 0) {
        const auto& t = line->gpus[i].type;
        return unexpected{
            input_error{line->place.source, line->place.line,
                        "Gres=gpu" + (t.empty() ? "" : ":" + t) + ":" + std::to_string(line->gpus[i].count) +
                            " on node " + node + ", of which gres.conf lists " +
                            std::to_string(line->gpus[i].count - left[i]) + " (" + gres.front()->place.text() + ")",
                        "as many GPUs in gres.conf"}};
      }
    if (out.size() < listed.size())
      notes.push_back("gres.conf lists " + io_text::counted(listed.size(), "GPU") + ", Gres= states " +
                      std::to_string(out.size()) + "; the first that fit are used, as in Slurm.");
    return out;
  }

  /// NUMA nodes from `Cores=`: devices with the same cores share one. Empty unless it covers all devices cleanly.
  [[nodiscard]] static std::vector<numa_shape> numa_of(const std::vector<gpu>& devices, const slurm_node_line* line,
                                                       cpu_millis cpu, bytes memory) {
    std::vector<numa_shape> out;
    std::vector<std::string> cores;
    std::vector<id_list> ids;
    std::uint64_t largest = 0;
    for (std::size_t d = 0; d < devices.size(); ++d) {
      if (devices[d].cores.empty()) return {};
      std::size_t n = 0;
      while (n < cores.size() && cores[n] != devices[d].cores) ++n;
      if (n == cores.size()) {
        auto list = parse_id_list(devices[d].cores);
        if (!list) return {};
        for (const auto& other : ids)
          for (std::size_t i = 0; i < list->members.size() && i < other.members.size(); ++i)
            if (list->members[i] && other.members[i]) return {};
        if (list->largest > largest) largest = list->largest;
        cores.push_back(devices[d].cores);
        ids.push_back(std::move(*list));
        out.emplace_back();
      }
      out[n].devices |= bit(static_cast<unsigned>(d));
    }
    // `Cores=` numbers cores; some sites write hardware threads, which shows in numbers beyond the last core.
    const std::uint64_t per = line != nullptr && line->cores != 0 && largest < line->cores ? line->threads : 1;
    std::int64_t sum = 0;
    for (std::size_t n = 0; n < out.size(); ++n) {
      out[n].cpu = cpus(static_cast<std::int64_t>(ids[n].count * per));
      out[n].memory = bytes{memory.count() / static_cast<std::int64_t>(out.size())};
      sum += out[n].cpu.count();
    }
    if (sum > cpu.count()) return {};
    return out;
  }

  /// The name of a plain shape, such as "8xh100", "4xa100+4xl40s", "cpu".
  [[nodiscard]] std::string name_of(const node_shape& s) const {
    std::string out;
    for (unsigned i = 0; i < s.devices;) {
      unsigned n = 0;
      while (i + n < s.devices && s.models[i + n] == s.models[i]) ++n;
      out += (out.empty() ? "" : "+") + std::to_string(n) + "x" + (s.models[i].empty() ? "gpu" : s.models[i]);
      i += n;
    }
    if (out.empty()) out = "cpu";
    std::string unique = out;
    for (std::size_t k = 2;; ++k) {
      bool taken = false;
      for (const auto& other : shapes) taken = taken || other.name == unique;
      if (!taken) return unique;
      unique = out + "#" + std::to_string(k);
    }
  }

  [[nodiscard]] shape_id keep(node_shape s, bool named) {
    for (std::size_t i = 0; i < shapes.size(); ++i)
      if (same_hardware(shapes[i], s) && (!named || shapes[i].name == s.name))
        return shape_id{static_cast<std::uint16_t>(i)};
    if (shapes.size() >= std::numeric_limits<std::uint16_t>::max()) return shape_id{};
    if (!named) s.name = name_of(s);
    shapes.push_back(std::move(s));
    return shape_id{static_cast<std::uint16_t>(shapes.size() - 1)};
  }
};

}  // namespace slurm_detail
}  // namespace berth
