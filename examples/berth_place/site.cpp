#include "berth_place/site.hpp"

#include <cstddef>
#include <cstdint>
#include <utility>

#include "berth/cluster/presets.hpp"
#include "berth/io/cluster_files.hpp"
#include "berth/io/occupied.hpp"
#include "berth/io/text.hpp"
#include "berth/topology/catalogue/gpu_models.hpp"
#include "berth/topology/catalogue/node_shapes.hpp"
#include "berth_place/fill.hpp"

namespace berth_place {

namespace {

using berth::input_error;
using berth::unexpected;
using berth::io_text::counted;

constexpr std::string_view preset_prefix = "preset:";

berth::expected<berth::cluster_spec, input_error> read_spec(const options& o, std::vector<std::string>& notes) {
  const bool hardware = !o.node_shape.empty() || o.node_cpus || o.node_memory;
  const auto beside = [](const char* what) {
    return unexpected{input_error{"berth-place", 0,
                                  std::string{"--node-shape, --node-cpus or --node-memory beside "} + what,
                                  "them with Slurm files only"}};
  };
  for (const auto& c : o.cluster) {
    if (!c.starts_with(preset_prefix)) continue;
    if (o.cluster.size() > 1)
      return unexpected{
          input_error{"--cluster", 0, berth::io_text::quoted(c) + " beside other clusters", "one preset alone"}};
    if (hardware) return beside("a preset");
    auto spec = berth::make_preset(std::string_view{c}.substr(preset_prefix.size()));
    if (!spec)
      return unexpected{
          input_error{"--cluster", 0, berth::io_text::quoted(c), "a preset (see --list-presets): " + spec.error()}};
    return std::move(*spec);
  }
  berth::slurm_options slurm;
  for (const auto& m : berth::catalogue::gpu_models) slurm.model_ids.emplace_back(m.id);
  if (!o.node_shape.empty()) {
    slurm.hardware.shape = berth::catalogue_shape(o.node_shape);
    if (!slurm.hardware.shape)
      return unexpected{
          input_error{"--node-shape", 0, berth::io_text::quoted(o.node_shape), "a machine of --list-shapes"}};
  }
  slurm.hardware.cpu = o.node_cpus;
  slurm.hardware.memory = o.node_memory;
  if (hardware)
    for (const auto& path : o.cluster) {
      const auto file = berth::read_text_file(path);
      if (!file) return unexpected{file.error()};
      const std::size_t first = file->text.find_first_not_of(" \t\r\n");
      if (first != std::string::npos && file->text[first] == '{') return beside("a JSON cluster file");
    }
  auto spec = berth::read_cluster_files(o.cluster, slurm, berth::catalogue_shape);
  if (!spec) return unexpected{std::move(spec).error()};
  if (slurm.hardware.shape) {
    bool used = false;
    for (const auto& s : spec->shapes) used = used || s.name == o.node_shape;
    if (!used)
      notes.push_back("--node-shape " + o.node_shape + " was not needed: the files state the hardware of every node.");
  }
  return std::move(*spec);
}

// Commits the jobs of an occupancy file, then marks what is broken.
berth::expected<void, input_error> occupy(const options& o, site& s, std::size_t groups) {
  const auto file = berth::read_text_file(o.occupied);
  if (!file) return unexpected{file.error()};
  const auto lines = berth::read_occupancy(*file);
  if (!lines) return unexpected{lines.error()};
  const auto use = berth::resolve_occupancy(*lines, s.spec);
  if (!use) return unexpected{use.error()};

  s.jobs = use->jobs;
  s.live =
      std::make_unique<berth::cluster>(s.spec, berth::cluster_limits{s.jobs.size(), use->held.size(), groups + 8, 16});
  // What runs on a node that the files call down keeps running: it is taken out of service after its jobs are there.
  for (std::uint32_t n = 0; n < s.spec.nodes.size(); ++n)
    static_cast<void>(s.live->set_node_usable(berth::node_id{n}, true));
  struct holdings {
    std::vector<berth::task_placement> tasks;
    std::vector<berth::task_shape> shapes;
  };
  std::vector<holdings> held(s.jobs.size());
  std::uint64_t devices = 0;
  for (const auto& share : use->held) {
    holdings& h = held[share.job];
    const berth::task_shape shape{berth::count_bits(share.devices), share.cpu, share.memory, berth::filter_id{0}};
    if (h.shapes.empty() || !(h.shapes.back() == shape)) h.shapes.push_back(shape);
    h.tasks.push_back({share.devices, share.node, static_cast<std::uint32_t>(h.shapes.size() - 1)});
    devices += shape.devices;
  }
  for (std::size_t j = 0; j < held.size(); ++j)
    if (const auto ok = s.live->commit(key_of(j), {held[j].tasks, held[j].shapes}); !ok)
      return unexpected{input_error{o.occupied, 0,
                                    "job " + berth::io_text::quoted(s.jobs[j]) + " that cannot hold what it states",
                                    "amounts that its nodes have"}};
  for (std::uint32_t n = 0; n < s.spec.nodes.size(); ++n)
    static_cast<void>(s.live->set_node_usable(berth::node_id{n}, s.spec.nodes[n].usable));
  std::size_t nodes_down = 0, devices_down = 0;
  for (const auto& broken : use->unhealthy) {
    if (broken.devices == 0) {
      nodes_down += s.live->node(broken.node).usable ? 1U : 0U;
      static_cast<void>(s.live->set_node_usable(broken.node, false));
    }
    devices_down += berth::count_bits(broken.devices & ~s.live->node(broken.node).unhealthy);
    berth::for_each_bit(broken.devices,
                        [&](unsigned d) { static_cast<void>(s.live->set_device_health(broken.node, d, false)); });
  }
  std::string note =
      counted(s.jobs.size(), "job") + (s.jobs.size() == 1 ? " holds " : " hold ") + counted(devices, "GPU");
  if (devices_down != 0) note += "; " + counted(devices_down, "GPU") + " broken";
  if (nodes_down != 0) note += "; " + counted(nodes_down, "node") + " out of service";
  s.notes.push_back(note + " (" + o.occupied + ").");
  return {};
}

}  // namespace

berth::expected<site, input_error> load_site(const options& o, std::size_t groups) {
  site s;
  auto spec = read_spec(o, s.notes);
  if (!spec) return unexpected{std::move(spec).error()};
  s.spec = std::move(*spec);
  if (!o.occupied.empty()) {
    if (auto ok = occupy(o, s, groups); !ok) return unexpected{ok.error()};
    return s;
  }
  std::size_t devices = 0;
  if (o.fill)
    for (const auto& n : s.spec.nodes) devices += s.spec.shapes[n.shape.index()].devices;
  s.live = std::make_unique<berth::cluster>(s.spec, berth::cluster_limits{devices, devices, groups + 16, 16});
  if (!o.fill) return s;
  if (devices == 0)
    return unexpected{input_error{"--fill", 0, "a cluster without GPUs", "a cluster with GPUs to fill"}};
  s.notes.push_back(fill_randomly(*s.live, s.jobs, o));
  return s;
}

}  // namespace berth_place
