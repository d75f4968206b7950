#include "berth_place/options.hpp"

#include <CLI/CLI.hpp>
#include <cstddef>
#include <tuple>
#include <utility>

#include "berth/io/gang_text.hpp"
#include "berth/io/text.hpp"
#include "berth/topology/catalogue/node_shapes.hpp"
#include "berth/topology/presets.hpp"
#include "berth_place/site.hpp"

namespace berth_place {

namespace {

using berth::input_error;
using berth::unexpected;

std::string list_presets() {
  std::string out =
      "Presets for --cluster preset:NAME or preset:NAME:KEY=VALUE,...; all also take memory (GiB of a machine).\n\n";
  for (const auto& p : berth::preset_names())
    out += "  " + std::string{p.name} + ":" + std::string{p.parameters} + "\n      " + std::string{p.text} + "\n";
  return out;
}

std::string list_shapes() {
  std::string out = "Machines for --node-shape, with their GPUs and CPUs.\n\n";
  for (const auto name : berth::catalogue_shape_names()) {
    const auto s = berth::catalogue_shape(name);
    std::string id{name};
    id.resize(id.size() < 22 ? 22 : id.size() + 1, ' ');
    std::string model = s->models.empty() ? "" : s->models.front();
    out += "  " + id + std::to_string(s->devices) + " x " + (model.empty() ? "GPU" : model) + ", " +
           berth::io_text::cpus_text(s->cpu) + " CPUs\n";
  }
  return out;
}

std::string list_policies() {
  const auto rows = [](const auto& list) {
    std::string out;
    for (const policy_help& p : list) {
      std::string name{p.name};
      name.resize(20, ' ');
      out += "  " + name + std::string{p.text} + "\n";
    }
    return out;
  };
  return "Policies for --policy DOMAIN, --policy NODE or --policy DOMAIN/NODE, such as tightest/spread.\n\n"
         "DOMAIN: which switch, rack or NVLink domain\n" +
         rows(domain_policies) + "\nNODE: which machines inside it\n" + rows(node_policies) +
         "\nGPUs inside a node are always chosen for the widest bottleneck bandwidth.\n";
}

const char* const footer = R"(
Examples:
  berth-place --cluster topology.conf slurm.conf gres.conf --gang tasks=8,gpus=8,within=leaf
  berth-place --cluster nodes.json 'gpu*=topo.txt' --job pytorchjob.yaml
  berth-place --cluster preset:superpod-h100:su=4 --fill 0.8 --gang tasks=16,gpus=8 --svg plan.svg

A gang: tasks=N,min=N,gpus=N,cpus=N,memory=64GiB (each per task), model=h100, label=WORD, within=LEVEL or
prefer=LEVEL, segments=COUNT:LEVEL[:free|spread|consolidate], name=WORD; inside a node numa=RULE, near-nic=yes,
host-rate=GB/s, keep-cpu-ratio=yes; between nodes between-nodes=GB/s, rails=same; parts of GPUs mig=1g.10gb, or
gpu_memory_mib=N,gpu_cores=PERCENT. Several --gang are groups of one gang. docs/berth-place.md explains every key.

Exit codes: 0 placed, 1 not now, 2 bad input, 3 never possible, 4 gave up.)";

// The raw words of the command line, before any of them is understood.
struct raw_options {
  std::string cpus, memory, fill, seed, steps, policy, numa, host_rate, between_nodes, usable, mig;
  bool presets = false, shapes = false, policies = false;
};

void declare(CLI::App& app, options& o, raw_options& raw) {
  app.footer(footer);
  app.get_formatter()->column_width(34);
  const auto text = [&](const char* name, std::string& to, const char* type, const char* help) {
    return app.add_option(name, to, help)->type_name(type);
  };
  app.add_option(
         "--cluster", o.cluster,
         "Files of one site in any order, told apart by content: Slurm's, Kubernetes nodes, ibnetdiscover, topo -m, "
         "hwloc, ...; NODE=FILE says whose inside a file shows; or preset:NAME, or live for this machine")
      ->type_name("FILE...|NODE=FILE|preset:NAME")
      ->group("Cluster");
  text("--gpu-model", o.gpu_model, "ID", "GPU model for files that do not say it; guess takes the likeliest")
      ->group("Cluster");
  text("--node-shape", o.node_shape, "ID", "Machine of nodes whose hardware no file states, see --list-shapes")
      ->group("Cluster");
  text("--node-cpus", raw.cpus, "N", "CPUs of nodes for which no file states any")->group("Cluster");
  text("--node-memory", raw.memory, "SIZE", "Memory of nodes for which no file states any, with its unit, such as 2TiB")
      ->group("Cluster");
  text("--usable-uplinks", raw.usable, "SHARE",
       "Share of the uplinks' rates that is given out, above 0 and at most 1 (0.8)")
      ->group("Cluster");
  text("--trust-mig", raw.mig, "WHAT", "MIG placements taken over from a like product (inferred), or all (low)")
      ->group("Cluster");
  text("--sharing", o.sharing, "TERMS",
       "How GPUs are shared: time-slice:N[:several], mps[:N], mps-plugin:N, fractions[:N] or shards:N")
      ->group("Cluster");
  text("--share-instances", o.instance_sharing, "TERMS", "The same for MIG instances, which are not shared otherwise")
      ->group("Cluster");
  text("--occupied", o.occupied, "FILE", "Who holds what now, and what is broken")->group("Cluster");
  text("--fill", raw.fill, "SHARE", "Instead: random standing gangs on that share of all GPUs, 0 to 1")
      ->group("Cluster");
  text("--seed", raw.seed, "N", "Seed of --fill, a whole number (1)")->group("Cluster");
  app.add_option("--gang", o.gangs, "What to place; several are task groups of one gang")
      ->type_name("KEY=VALUE,...")
      ->group("Request");
  app.add_option("--job", o.job_files,
                 "Instead: a job file of any kind, ours or another scheduler's; more files may hold what it refers to")
      ->type_name("FILE...")
      ->group("Request");
  text("--job-name", o.job_name, "NAME", "Which job of that file (the first)")->group("Request");
  text("--numa", raw.numa, "RULE", "CPUs and memory near the GPUs: none, best-effort, restricted or single-node")
      ->group("Request");
  app.add_flag("--near-nic", o.near_nic, "Only GPUs with a NIC of the compute fabric beside them")->group("Request");
  text("--host-rate", raw.host_rate, "GB/s", "GB/s in one direction that each task needs to its CPUs")
      ->group("Request");
  app.add_flag("--keep-cpu-ratio", o.keep_cpu_ratio, "Leave every other free GPU its share of the CPUs")
      ->group("Request");
  text("--between-nodes", raw.between_nodes, "GB/s", "GB/s guaranteed per GPU between the gang's nodes")
      ->group("Request");
  app.add_flag("--same-rails", o.same_rails, "Take the same rails on every node")->group("Request");
  app.add_option("--tolerate", o.tolerate, "Taint that does not keep the gang away, as KEY or KEY=VALUE")
      ->type_name("TAINT")
      ->group("Request");
  text("--policy", raw.policy, "NAME", "How to choose, see --list-policies")->group("Request");
  text("--steps", raw.steps, "N", "Steps of a search among mixed groups before giving up (20000)")->group("Request");
  app.add_flag("--json", o.json, "Print one JSON object instead of text")->group("Output");
  app.add_flag("--ascii", o.ascii, "Draw the tree without characters beyond ASCII")->group("Output");
  text("--svg", o.svg, "FILE", "Write a floor plan: racks, nodes and GPUs by job")->group("Output");
  app.add_flag("--list-presets", raw.presets, "Show the clusters known by name")->group("Output");
  app.add_flag("--list-shapes", raw.shapes, "Show the machines known by name")->group("Output");
  app.add_flag("--list-policies", raw.policies, "Show the policies")->group("Output");
}

berth::expected<void, input_error> understand(const raw_options& raw, options& o) {
  const auto wrong = [](const char* option, const std::string& found, std::string expected) {
    return unexpected{input_error{option, 0, berth::io_text::quoted(found), std::move(expected)}};
  };
  if (!raw.cpus.empty()) {
    o.node_cpus = berth::io_text::parse_cpus(raw.cpus);
    if (!o.node_cpus) return wrong("--node-cpus", raw.cpus, "a number of CPUs such as 96");
  }
  if (!raw.memory.empty()) {
    o.node_memory = berth::io_text::parse_memory(raw.memory);
    if (!o.node_memory) return wrong("--node-memory", raw.memory, berth::io_text::memory_form);
  }
  if (!raw.fill.empty()) {
    const auto f = berth::io_text::parse_thousandths(raw.fill, 1000);
    if (!f) return wrong("--fill", raw.fill, "a share from 0 to 1 with at most three decimals, such as 0.8");
    o.fill = static_cast<std::uint32_t>(*f);
  }
  if (!raw.seed.empty()) {
    const auto s = berth::io_text::parse_count(raw.seed);
    if (!s) return wrong("--seed", raw.seed, "a whole number");
    o.seed = *s;
  }
  if (!raw.steps.empty()) {
    const auto s = berth::io_text::parse_count(raw.steps, 1'000'000'000);
    if (!s || *s == 0) return wrong("--steps", raw.steps, "a whole number from 1 to 1000000000");
    o.search_steps = *s;
  }
  if (!raw.numa.empty()) {
    o.numa = berth::parse_numa_rule(raw.numa);
    if (!o.numa) return wrong("--numa", raw.numa, berth::numa_rule_form);
  }
  for (const auto& [option, from, to] : {std::tuple{"--host-rate", &raw.host_rate, &o.host_rate},
                                         std::tuple{"--between-nodes", &raw.between_nodes, &o.between_nodes}}) {
    if (from->empty()) continue;
    *to = berth::io_text::parse_rate(*from);
    if (!*to) return wrong(option, *from, berth::io_text::rate_form);
  }
  if (!raw.usable.empty()) {
    const auto u = berth::io_text::parse_thousandths(raw.usable, 1000);
    if (!u || *u == 0) return wrong("--usable-uplinks", raw.usable, "a share above 0 and at most 1, such as 0.8");
    o.usable_permille = static_cast<unsigned>(*u);
  }
  if (!raw.mig.empty()) {
    if (raw.mig != "inferred" && raw.mig != "low") return wrong("--trust-mig", raw.mig, "inferred or low");
    o.mig.accept_inferred_placements = true;
    o.mig.accept_low_confidence = raw.mig == "low";
  }
  for (const auto& t : o.tolerate)
    if (t.empty() || t[0] == '=') return wrong("--tolerate", t, "a taint as KEY or KEY=VALUE");
  if (!raw.policy.empty()) {
    const auto p = parse_policy(raw.policy);
    if (!p) return unexpected{p.error()};
    o.policy = *p;
  }
  const auto missing = [](std::string found, std::string expected) {
    return unexpected{input_error{"berth-place", 0, std::move(found), std::move(expected)}};
  };
  if (o.cluster.empty()) return missing("no --cluster", "--cluster FILE... or --cluster preset:NAME (see --help)");
  if (o.gangs.empty() && o.job_file.empty())
    return missing("nothing to place", "--gang tasks=8,gpus=8 or --job FILE (see --help)");
  if (!o.gangs.empty() && !o.job_file.empty()) return missing("both --gang and --job", "one of them");
  if (!o.occupied.empty() && o.fill) return missing("both --occupied and --fill", "one of them");
  if (!o.job_name.empty() && o.job_file.empty()) return missing("--job-name without --job", "both or neither");
  if (!raw.seed.empty() && !o.fill) return missing("--seed without --fill", "both or neither");
  return {};
}

}  // namespace

berth::expected<options, input_error> parse_options(int argc, char** argv) {
  options o;
  raw_options raw;
  CLI::App app{"Places a gang on a cluster: which GPUs of which nodes, or what stands in the way.", "berth-place"};
  declare(app, o, raw);
  app.allow_extras();
  try {
    app.parse(argc, argv);
  } catch (const CLI::CallForHelp&) {
    o.what = action::show_text;
    o.text = app.help();
    return o;
  } catch (const CLI::Error& e) {
    return unexpected{input_error{"berth-place", 0,
                                  std::string{"a command line that is not understood ("} + e.what() + ")",
                                  "the options of --help"}};
  }
  if (const auto rest = app.remaining(); !rest.empty()) {
    std::string known;
    for (const auto* option : app.get_options()) known += (known.empty() ? "" : ", ") + option->get_name();
    return unexpected{
        input_error{"berth-place", 0, "argument " + berth::io_text::quoted(rest.front()), "one of " + known}};
  }
  if (!o.job_files.empty()) o.job_file = o.job_files.front();
  if (raw.presets || raw.shapes || raw.policies) {
    o.what = action::show_text;
    o.text = raw.presets ? list_presets() : raw.shapes ? list_shapes() : list_policies();
    return o;
  }
  if (auto ok = understand(raw, o); !ok) return unexpected{ok.error()};
  return o;
}

namespace {

// Every `--gang` is a task group.
berth::expected<job_request, input_error> read_gangs(const options& o) {
  job_request out{{}, "--gang", {}};
  for (std::size_t i = 0; i < o.gangs.size(); ++i) {
    const std::string source = o.gangs.size() == 1 ? "--gang" : "--gang number " + std::to_string(i + 1);
    auto one = berth::parse_gang(o.gangs[i], source);
    if (!one) return unexpected{std::move(one).error()};
    if (i == 0) {
      out.job = *one;
      if (o.gangs.size() == 1) return out;
      out.job.groups.clear();
      out.job.name = "job";
    } else {
      // Locality and segments belong to the gang: any one of its groups may state them.
      const auto twice = [&](const char* what) {
        return unexpected{input_error{source, 0, std::string{what} + " unlike those of an earlier --gang",
                                      "them once, or the same with every group"}};
      };
      if (one->where != berth::locality::unconstrained) {
        if (out.job.where != berth::locality::unconstrained &&
            (out.job.where != one->where || out.job.level != one->level))
          return twice("within= or prefer=");
        out.job.where = one->where;
        out.job.level = one->level;
      }
      if (one->segments) {
        if (out.job.segments && !(*out.job.segments == *one->segments)) return twice("segments=");
        out.job.segments = one->segments;
      }
      // So do queue, time, order and the like.
      const auto rest_of = [](berth::job_spec job) {
        job.groups.clear();
        job.name.clear();
        job.where = berth::locality::unconstrained;
        job.level.clear();
        job.segments.reset();
        return job;
      };
      const berth::job_spec rest = rest_of(*one), had = rest_of(out.job), none = rest_of({});
      if (!(rest == none) && !(rest == had)) {
        if (!(had == none)) return twice("keys of the gang");
        berth::job_spec job = rest;
        job.groups = std::move(out.job.groups);
        job.name = out.job.name;
        job.where = out.job.where;
        job.level = out.job.level;
        job.segments = out.job.segments;
        out.job = std::move(job);
      }
    }
    one->groups.front().name = one->name == berth::job_spec{}.name ? "group-" + std::to_string(i + 1) : one->name;
    out.job.groups.push_back(std::move(one->groups.front()));
  }
  if (auto f = berth::fault_of(out.job))
    return unexpected{input_error{out.source, 0, std::move(f->first), std::move(f->second)}};
  return out;
}

// What the command line asks of every group.
void apply(const options& o, berth::job_spec& job) {
  for (auto& g : job.groups) {
    const bool gpus = g.gpus != 0;
    if (o.numa) g.bind.numa = *o.numa;
    g.bind.near_nic = g.bind.near_nic || (o.near_nic && (gpus || berth::job_detail::asks_for_parts(g)));
    g.bind.keep_ratio = g.bind.keep_ratio || o.keep_cpu_ratio;
    if (o.host_rate && gpus) g.bind.host = *o.host_rate;
    g.tolerations.insert(g.tolerations.end(), o.tolerate.begin(), o.tolerate.end());
  }
  if (o.between_nodes) job.between_nodes = *o.between_nodes;
  if (o.same_rails) job.rails = berth::rail_rule::same;
}

}  // namespace

berth::expected<job_request, input_error> read_job(const options& o) {
  auto out = o.job_file.empty() ? read_gangs(o) : read_job_file(o);
  if (out) apply(o, out->job);
  return out;
}

}  // namespace berth_place
