#pragma once
/// \file
/// What one file says about a site, before it is known what the other files say. Every reader of `io/` that reads
/// machines, fabrics, topologies or jobs fills one of these; `merge_site` (`io/merge.hpp`) makes one graph and one
/// `cluster_spec` of several.
///
/// A report holds only what its file states. What nobody states stays empty here; the merge decides what is assumed,
/// and says so. Needs Boost.Graph.

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "berth/core/bits.hpp"
#include "berth/core/units.hpp"
#include "berth/io/held_part.hpp"
#include "berth/io/input_place.hpp"
#include "berth/io/job_spec.hpp"
#include "berth/io/spread_spec.hpp"
#include "berth/io/text_file.hpp"
#include "berth/topology/domain_tree_builder.hpp"
#include "berth/topology/graph/hardware_graph.hpp"

namespace berth {

/// One machine, or the kind of machine that several are, as far as the file tells.
struct machine_report {
  input_place place;
  std::string name;                  ///< host name; "" where the file does not say which machine it shows
  std::vector<std::string> aliases;  ///< other names of the same machine: fully qualified, NodeHostName, instance id
  /// Its inside: all GPUs first, so that GPU i is vertex i, with bus ids, GUIDs and UUIDs where stated.
  std::optional<hardware_graph> inside;
  std::optional<unsigned> gpus;     ///< stated number of whole GPUs
  std::string gpu_model;            ///< id in the catalogue, or the file's own word; "" when not stated
  std::string shape;                ///< machine of the catalogue or instance type, as the file's own word; "" when none
  std::optional<cpu_millis> cpu;    ///< schedulable CPUs
  std::optional<bytes> memory;      ///< schedulable memory
  std::vector<std::string> labels;  ///< "key=value" or bare words
  device_mask split = 0;            ///< its GPUs in MIG mode, where a file says which: they are held, by no job
  std::vector<named_count> mig;     ///< MIG profiles that it offers; its GPUs that are split are held, see `held`
  std::optional<bool> usable;       ///< false: down, drained, cordoned
  device_mask unhealthy = 0;        ///< GPUs that the file calls broken
  std::string same_inside{};        ///< machines of one report with the same word here have equal insides; "": unsaid
  bool rates_by_model = false;  ///< the inside has every link between its GPUs; rates follow once their model is known
};

/// A machine's place in a declared topology.
struct topology_member {
  std::string machine;       ///< name or alias
  std::uint32_t domain = 0;  ///< index into `topology_report::domains`
};

/// Machines that belong to a domain by a rule instead of by name. `apply_topology_rules` (`io/topology_rules.hpp`)
/// finds them among the machines of all files.
struct topology_rule {
  input_place place;
  std::uint32_t domain = 0;               ///< index into `topology_report::domains`
  std::string pattern;                    ///< a regular expression, found anywhere in the name; "" for rules by labels
  std::vector<label_requirement> labels;  ///< all of them must hold
};

/// A hierarchy of domains as a file declares it: switches, blocks, racks, NVLink domains, labels.
struct topology_report {
  enum class kind : std::uint8_t {
    network,  ///< switches, racks, zones: where the machines hang
    nvlink,   ///< NVLink domains that span machines; a level of its own below the leaves
  };
  /// Whose word it is; of several topologies the one of the highest standing counts, in any order of files.
  enum class standing : std::uint8_t {
    zones,     ///< nothing but labels of regions and zones
    labels,    ///< labels that clouds and tools put on nodes, whose meaning is known
    declared,  ///< a file that declares levels or domains
  };
  input_place place;
  std::string name;  ///< "" where the file has only one
  kind what = kind::network;
  standing by = standing::declared;
  bool preferred = true;  ///< false: one of several in its file, and not the one that the file makes the default
  std::vector<domain_declaration> domains;
  std::vector<input_place> domain_places;  ///< by domain
  std::vector<topology_member> members;
  std::vector<topology_rule> rules;
  /// Outermost first: labels of machines whose values are the domains of a level, which is named like the label. Read
  /// by `apply_topology_rules`; empty where the file names the domains.
  std::vector<std::string> label_levels;
  std::vector<std::pair<std::string, std::string>> level_aliases;  ///< {other name, level}
  /// By domain, and by rail within it (one entry: all cables together): what its uplinks carry. Empty: not stated.
  std::vector<std::vector<std::optional<gigabytes_per_second>>> uplinks;
  std::optional<unsigned> usable_permille;  ///< of the uplinks' rates, see `uplink_rates`
  std::vector<std::uint64_t> block_sizes;   ///< of Slurm's topology/block, in nodes, as its file lists them; else empty
};

/// The cables between machines and switches: `node` vertices for machines (name: host), `nic` vertices (GUID) joined to
/// their machine where the file tells it, switches by level.
struct fabric_report {
  input_place place;
  hardware_graph graph;
  std::vector<part_id> not_hosts;  ///< adapters of switches (aggregation nodes), kept out of the machines
};

/// What a job holds at the time the file was written.
struct holding_report {
  input_place place;
  std::string job;
  std::string machine;
  std::optional<device_mask> devices;  ///< empty: only their number is known
  std::uint32_t gpus = 0;              ///< whole ones
  cpu_millis cpu{};
  bytes memory{};
  std::vector<held_part> parts{};  ///< of GPUs that are cut or shared
  bool split = false;              ///< the GPUs are no job's: MIG has split them, `parts` of others say who has which
  std::vector<std::string> labels{};      ///< `key=value`, of a pod; rules of spreading count by them
  std::vector<spread_spec> keeps_away{};  ///< tasks that may not come into its domains: `at_most` 0 of what is selected
  bool rest_of_gpus = false;  ///< it may hold any GPU of the machine: all that no other holding names count as held
  bool rest_of_cpu = false;   ///< the same of CPUs and memory
};

/// Everything one file says.
struct site_report {
  std::string source;  ///< name of the file
  std::string format;  ///< what it was read as: "nvidia-smi topo -m", "Slurm", …
  std::vector<machine_report> machines;
  std::vector<topology_report> topologies;
  std::vector<fabric_report> fabrics;
  std::vector<holding_report> held;
  std::vector<job_spec> jobs;
  std::vector<std::string> assumptions;  ///< what the reader had to assume, one sentence each; tools must print them
};

/// What every reader is told besides the text.
struct reader_options {
  std::string machine;    ///< host name for files that do not say whose inside they show; "" leaves it open
  std::string gpu_model;  ///< model for files that do not say it; "" leaves it open, "guess" derives it and says so
  std::size_t max_machines = std::size_t{1} << 20;
  std::size_t max_parts = std::size_t{1} << 24;  ///< vertices and links of a graph
  text_loader load;                              ///< finds included files; empty refuses them
  std::vector<named_text> beside;  ///< files that may hold what jobs refer to, such as a TrainJob's runtime
};

}  // namespace berth
