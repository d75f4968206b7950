#include "berth_place/site.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <set>
#include <utility>

#include "berth/cluster/presets.hpp"
#include "berth/io/hold_parts.hpp"
#include "berth/io/inside/nvidia_smi_mig.hpp"
#include "berth/io/job_nodes.hpp"
#include "berth/io/occupied.hpp"
#include "berth/io/read_site.hpp"
#include "berth/io/sharing_terms.hpp"
#include "berth/io/taints.hpp"
#include "berth/io/text.hpp"
#include "berth/topology/catalogue/node_shapes.hpp"
#include "berth_place/fill.hpp"
#include "shared/gpu_model.hpp"

namespace berth_place {

namespace {

using berth::input_error;
using berth::unexpected;
using berth::io_text::counted;

constexpr std::string_view preset_prefix = "preset:";

// Whether what tasks hold inside their nodes must be kept.
bool asks_inside(const berth::job_spec& job) {
  bool any = false;
  for (const auto& g : job.groups) any = any || g.bind.asks();
  return any;
}

// What the GPUs may be cut into, where the job asks for parts of them, or some are held; else null.
berth::expected<const berth::part_catalogue*, input_error> parts_for(const options& o, const berth::job_spec& job,
                                                                     const berth::occupied_cluster* held, site& s) {
  bool any = !o.sharing.empty() || !o.instance_sharing.empty(), mig = false, nested = false;
  for (const auto& g : job.groups) {
    any = any || g.share || g.gpu_replicas != 0 || !g.mig.empty();
    mig = mig || !g.mig.empty();
  }
  if (held != nullptr)
    for (const auto& h : held->held)
      for (const auto& p : h.parts) any = true, nested = nested || (p.share && !p.profile.empty());
  if (!any) return nullptr;
  s.parts = std::make_unique<berth::part_catalogue>(
      berth::make_part_catalogue({s.spec.shapes.data(), s.spec.shapes.size()}, o.mig));
  if (mig)
    for (const auto& [model, why] : s.parts->without_mig)
      s.notes.push_back("GPUs of model " + model + " get no MIG instances (" + why + ").");
  const auto set = [&](const char* option, const std::string& terms, auto share) -> berth::expected<void, input_error> {
    if (terms.empty()) return {};
    auto ok = share(*s.parts, terms);
    if (!ok) return unexpected{input_error{option, 0, ok.error().found, ok.error().expected}};
    return {};
  };
  if (auto ok = set("--sharing", o.sharing, [](auto& c, const auto& t) { return berth::share_devices(c, t); }); !ok)
    return unexpected{ok.error()};
  const bool assumed = nested && o.instance_sharing.empty();
  if (assumed)
    s.notes.push_back("MIG instances that are said to be shared are shared through MPS (--share-instances).");
  if (auto ok = set("--share-instances", assumed ? "mps" : o.instance_sharing,
                    [](auto& c, const auto& t) { return berth::share_instances(c, t); });
      !ok)
    return unexpected{ok.error()};
  return s.parts.get();
}

// \param gpu_model  of files that do not say it
berth::expected<berth::site, input_error> read_files(const options& o, const std::string& gpu_model,
                                                     std::vector<std::string>& notes,
                                                     std::vector<std::string>& conflicts) {
  const bool hardware = !o.node_shape.empty() || o.node_cpus || o.node_memory;
  const auto beside = [](const char* what) {
    return unexpected{input_error{"berth-place", 0,
                                  std::string{"--node-shape, --node-cpus or --node-memory beside "} + what,
                                  "them with files that may leave the hardware open"}};
  };
  berth::site_options reading;
  reading.gpu_model = gpu_model;
  reading.merge.hardware_needed = true;
  auto& given = reading.merge.hardware;
  given.ways = ways_to_state();
  if (!o.node_shape.empty()) {
    given.shape = berth::catalogue_shape(o.node_shape);
    if (!given.shape)
      return unexpected{
          input_error{"--node-shape", 0, berth::io_text::quoted(o.node_shape), "a machine of --list-shapes"}};
  }
  given.cpu = o.node_cpus;
  given.memory = o.node_memory;
  std::vector<berth::site_input> inputs;
  for (const auto& c : o.cluster) {
    if (c == "live" || c.starts_with(preset_prefix)) {
      if (hardware) return beside(c == "live" ? "this machine" : "a preset");
      if (c == "live" || o.cluster.size() > 1) return berth::read_site(o.cluster, reading);
      // Only the tree and the nodes: the graph of a large preset would be built for nothing.
      auto spec = berth::make_preset(std::string_view{c}.substr(preset_prefix.size()));
      if (!spec)
        return unexpected{
            input_error{"--cluster", 0, berth::io_text::quoted(c), "a preset (see --list-presets): " + spec.error()}};
      berth::site only;
      only.spec = std::move(*spec);
      return only;
    }
    auto in = berth::load_site_input(c);
    if (!in) return unexpected{std::move(in).error()};
    inputs.push_back(std::move(*in));
  }
  if (hardware && inputs.size() == 1 && berth::recognise_detail::looks_like_our_cluster(inputs.front().file.text))
    return beside("a JSON cluster file");
  auto s = berth::read_site(inputs, reading);
  if (!s) return s;
  if (given.shape) {
    bool used = false;
    for (const auto& shape : s->spec.shapes) used = used || shape.name == o.node_shape;
    if (!used)
      notes.push_back("--node-shape " + o.node_shape + " was not needed: the files state the hardware of every node.");
  }
  for (const auto& c : s->conflicts) conflicts.push_back(c.text() + ".");
  // What runs already is among those that hold something.
  const auto asked = static_cast<std::size_t>(
      std::count_if(s->jobs.begin(), s->jobs.end(), [](const berth::job_spec& j) { return !j.runs_already(); }));
  if (asked != 0)
    notes.push_back("The cluster's files also ask for " + counted(asked, "job") + ", which " +
                    (asked == 1 ? "is" : "are") + " not placed here.");
  return s;
}

// A model that neither the catalogue knows nor any file of the cluster names is a word that was mistyped.
berth::expected<void, input_error> check_gpu_model(const options& o) {
  if (o.gpu_model.empty() || o.gpu_model == "guess" || berth_program::is_catalogued_gpu_model(o.gpu_model)) return {};
  std::vector<std::string> unread;
  const auto named = read_files(o, "", unread, unread);
  if (!named) return unexpected{named.error()};
  std::set<std::string> own;
  for (const auto& n : named->spec.nodes)
    for (const auto& m : named->spec.shapes[n.shape.index()].models)
      if (!m.empty() && !berth_program::is_catalogued_gpu_model(m)) own.insert(m);
  if (own.contains(o.gpu_model)) return {};
  std::string models;
  for (const auto& m : own) models += m + ", ";
  return unexpected{input_error{"--gpu-model", 0, berth::io_text::quoted(o.gpu_model),
                                "guess, or one of " + models + berth_program::catalogued_gpu_models()}};
}

// What `nvidia-smi mig -lgi` lists on the only machine: every instance that exists is taken to be in use.
berth::expected<berth::occupied_cluster, input_error> instances_of_table(const options& o, const site& s,
                                                                         const berth::named_text& file) {
  const auto refuse = [&](std::string found, std::string wanted) {
    return unexpected{input_error{file.name, 0, std::move(found), std::move(wanted)}};
  };
  if (s.spec.nodes.size() != 1)
    return refuse("a list of GPU instances, which does not say of which machine", "a cluster of one machine");
  const auto parts = berth::make_part_catalogue({s.spec.shapes.data(), s.spec.shapes.size()}, o.mig);
  if (parts.products.size() != 1)
    return refuse("a list of GPU instances", "GPUs of one product that is known to have MIG");
  const berth::mig_geometry& g = parts.products[0].geometry();
  const auto gpus = berth::read_mig_instance_table(g, file);
  if (!gpus) return unexpected{gpus.error()};
  berth::occupancy lines{file.name, {}};
  for (const auto& gpu : *gpus)
    for (const auto& [placement, id] : gpu.ids) {
      berth::occupancy_line l;
      l.job = "GPU instance " + std::to_string(gpu.index) + "/" + std::to_string(id);
      l.nodes = {s.spec.nodes[0].name};
      berth::held_part p;
      p.profile = std::string{g.row(g.placement[placement].profile).name};
      p.device = gpu.index;
      p.start = g.placement[placement].start;
      l.parts.push_back(std::move(p));
      lines.lines.push_back(std::move(l));
    }
  return berth::resolve_occupancy(lines, s.spec);
}

berth::expected<berth::occupied_cluster, input_error> read_occupied(const options& o, const site& s) {
  const auto file = berth::read_text_file(o.occupied);
  if (!file) return unexpected{file.error()};
  if (berth::is_mig_instance_table(file->text)) return instances_of_table(o, s, *file);
  const auto lines = berth::read_occupancy(*file);
  if (!lines) return unexpected{lines.error()};
  return berth::resolve_occupancy(*lines, s.spec);
}

// Commits jobs, then marks what is broken. `source`: where that is written.
berth::expected<void, input_error> occupy(const berth::occupied_cluster& held_here, const std::string& source,
                                          const options& o, site& s, const berth::job_spec& job) {
  const auto* use = &held_here;
  s.jobs = use->jobs;
  std::size_t tasks = 0;
  for (const auto& share : use->held) tasks += 1 + share.parts.size();
  berth::cluster_limits limits{s.jobs.size(), tasks, job.groups.size() + 8, 16};
  limits.bindings = asks_inside(job);
  for (const auto& share : use->held) limits.bindings = limits.bindings || share.bind.asks();
  const auto parts_of_gpus = parts_for(o, job, use, s);
  if (!parts_of_gpus) return unexpected{parts_of_gpus.error()};
  limits.parts = *parts_of_gpus;
  s.live = std::make_unique<berth::cluster>(s.spec, limits);
  // What runs on a node that the files call down keeps running: it is taken out of service after its jobs are there.
  for (std::uint32_t n = 0; n < s.spec.nodes.size(); ++n)
    static_cast<void>(s.live->set_node_usable(berth::node_id{n}, true));
  if (limits.parts != nullptr) berth::switch_split_devices(*s.live, *use);
  auto plan = berth::plan_holdings(*s.live, *use, s.spec, s.users);
  if (!plan) return unexpected{std::move(plan).error()};
  for (auto& note : plan->assumed) s.notes.push_back(std::move(note));
  const std::vector<berth::held_job>& held = plan->jobs;
  std::uint64_t devices = 0, parts = 0;
  for (const auto& share : use->held) {
    devices += limits.parts == nullptr || !share.split ? berth::count_bits(share.devices) : 0U;
    parts += share.parts.size();
  }
  for (std::size_t j = 0; j < held.size(); ++j) {
    berth::running_job one{key_of(j), {}, {}};
    if (j < use->labels.size()) one.labels = use->labels[j];
    if (j < use->keeps_away.size()) one.keeps_away = use->keeps_away[j];
    s.running.push_back(std::move(one));
  }
  if (const auto ok = berth::commit_holdings(*s.live, held, key_of); !ok)
    return unexpected{
        input_error{source, 0, "job " + berth::io_text::quoted(s.jobs[ok.error()]) + " that cannot hold what it states",
                    "amounts that its nodes and the links between them have"}};
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
  if (parts != 0) note += " and " + counted(parts, "part") + " of GPUs";
  if (devices_down != 0) note += "; " + counted(devices_down, "GPU") + " broken";
  if (nodes_down != 0) note += "; " + counted(nodes_down, "node") + " out of service";
  s.occupied.push_back(note + " (" + source + ").");
  return {};
}

}  // namespace

berth::stated_by ways_to_state() {
  return {"--node-shape ID (such as azure-ndv5)", "--node-cpus", "--node-memory"};
}

berth::expected<site, input_error> load_site(const options& o, job_request& request) {
  berth::job_spec& job = request.job;
  site s;
  if (auto ok = check_gpu_model(o); !ok) return unexpected{std::move(ok).error()};
  auto files = read_files(o, o.gpu_model, s.notes, s.conflicts);
  if (!files) return unexpected{std::move(files).error()};
  s.spec = std::move(files->spec);
  s.level_aliases = std::move(files->level_aliases);
  if (auto ok = berth::label_named_nodes(job, s.spec, request.source, s.notes); !ok)
    return unexpected{std::move(ok).error()};
  // A cordoned or drained node is there for who tolerates that; the taint keeps all others away.
  for (auto& n : s.spec.nodes)
    if (berth::is_held_back(n))
      for (const auto& g : job.groups) n.usable = n.usable || berth::tolerates_all(g.tolerations, n);
  if (o.usable_permille) s.spec.uplinks.usable_permille = *o.usable_permille;
  if (!o.occupied.empty()) {
    const auto use = read_occupied(o, s);
    if (!use) return unexpected{use.error()};
    if (auto ok = occupy(*use, o.occupied, o, s, job); !ok) return unexpected{ok.error()};
    return s;
  }
  if (!o.fill && (!files->held.held.empty() || !files->held.unhealthy.empty())) {
    if (auto ok = occupy(files->held, "as the cluster's files say", o, s, job); !ok) return unexpected{ok.error()};
    return s;
  }
  std::size_t devices = 0;
  if (o.fill)
    for (const auto& n : s.spec.nodes) devices += s.spec.shapes[n.shape.index()].devices;
  berth::cluster_limits limits{devices, devices, job.groups.size() + 16, 16};
  limits.bindings = asks_inside(job);
  const auto parts = parts_for(o, job, nullptr, s);
  if (!parts) return unexpected{parts.error()};
  limits.parts = *parts;
  s.live = std::make_unique<berth::cluster>(s.spec, limits);
  if (!o.fill) return s;
  if (devices == 0)
    return unexpected{input_error{"--fill", 0, "a cluster without GPUs", "a cluster with GPUs to fill"}};
  s.occupied.push_back(fill_randomly(*s.live, s.jobs, o));
  return s;
}

berth::expected<job_request, input_error> read_job_file(const options& o) {
  const auto file = berth::read_text_file(o.job_file);
  if (!file) return unexpected{file.error()};
  const auto wrong = [&](std::string found, std::string expected) {
    return unexpected{input_error{o.job_file, 0, std::move(found), std::move(expected)}};
  };
  constexpr const char* any_job = "a job file: one that asks for GPUs, CPUs or memory";
  const auto is_for = [&](const file_use& u) { return wrong(u.what + ", which " + u.taker + " takes", any_job); };
  // What is no known kind of file is taken for ours, whose reader says best what is wrong with it.
  const auto* format = berth::recognise(file->text);
  if (format == nullptr || format->name == "queues" || format->name == "YARN" || format->name == "Kubernetes objects")
    if (const auto u = other_use(*file, format == nullptr)) return is_for(*u);
  if (format == nullptr || format->name == "berth job") {
    if (format == nullptr && !berth::recognise_detail::starts_with_brace(file->text) &&
        file->text.find_first_not_of(" \t\r\n[") != std::string::npos)
      return unexpected{berth::recognise_detail::unknown_text(*file)};
    auto job = berth::read_job_json(*file);
    if (!job) return unexpected{std::move(job).error()};
    if (!o.job_name.empty() && o.job_name != job->name)
      return wrong("no job " + berth::io_text::quoted(o.job_name), "its job " + berth::io_text::quoted(job->name));
    return job_request{std::move(*job), o.job_file, {}};
  }
  berth::reader_options reading;
  reading.load = berth::load_text_file;
  for (std::size_t i = 1; i < o.job_files.size(); ++i) {
    auto beside = berth::read_text_file(o.job_files[i]);
    if (!beside) return unexpected{std::move(beside).error()};
    reading.beside.push_back(std::move(*beside));
  }
  auto report = berth::read_report(*file, reading);
  if (!report) return unexpected{std::move(report).error()};
  if (report->jobs.empty()) {
    const std::string read_as = "no job (it was read as " + std::string{format->name} + ")";
    return wrong(
        report->machines.empty() && report->topologies.empty() ? read_as : read_as + ", but what --cluster takes",
        any_job);
  }
  std::size_t at = 0;
  std::string names;
  for (std::size_t i = 0; i < report->jobs.size() && i < 20; ++i)
    names += (i == 0 ? "" : ", ") + berth::io_text::quoted(report->jobs[i].name);
  if (!o.job_name.empty()) {
    while (at < report->jobs.size() && report->jobs[at].name != o.job_name) ++at;
    if (at == report->jobs.size()) return wrong("no job " + berth::io_text::quoted(o.job_name), "one of " + names);
  }
  job_request out{std::move(report->jobs[at]), o.job_file, {}};
  if (report->jobs.size() > 1 && o.job_name.empty())
    out.notes.push_back("The job file has " + counted(report->jobs.size(), "job") + " (" + names +
                        "); the first is placed, --job-name takes another.");
  for (const auto& a : out.job.assumptions) out.notes.push_back(a);
  for (const auto& a : report->assumptions) out.notes.push_back(a);
  return out;
}

}  // namespace berth_place
