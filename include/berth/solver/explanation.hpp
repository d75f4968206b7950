#pragma once
/// \file
/// Why a gang was refused and what would make it fit, as numbers and ids. Made by `explain` (`explain.hpp`), turned
/// into English by `explain_text.hpp`.

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "berth/core/id.hpp"
#include "berth/solver/decision.hpp"

namespace berth {

/// What keeps one task of the group at fault off a node. Every node counts once, under the first that applies, in this
/// order: what no release and no repair would change, then what a repair would, then what waiting would.
enum class node_cause : std::uint8_t {
  vacant,             ///< the id belongs to no node
  excluded_by_label,  ///< the filter's labels
  too_few_devices,    ///< fewer devices installed than a task needs
  excluded_by_model,  ///< too few of the installed devices are of a model that the filter admits
  too_few_cpus,       ///< the whole node has fewer CPUs than a task needs
  too_little_memory,  ///< the whole node has less memory than a task needs
  tainted,            ///< a taint that the filter does not tolerate: cordoned, drained, reserved, kept for others
  unusable,           ///< drained or broken
  unhealthy_devices,  ///< too few healthy devices, held or not
  devices_in_use,     ///< too few free devices
  cpus_in_use,        ///< too few free CPUs
  memory_in_use,      ///< too little free memory
  inside_in_use,      ///< enough of each, but no set that meets what the task needs: NUMA node, NIC, host bandwidth
  fragmented,         ///< some GPU has slices enough, but its MIG instances leave no start for what a task needs
  uplink_down,        ///< has room, but a link between it and the rest of its domain is down
  has_room,           ///< could take a task now
};
inline constexpr std::size_t node_cause_count = 16;

/// "devices_in_use", …: the words of machine-readable output.
[[nodiscard]] constexpr std::string_view to_string(node_cause c) noexcept {
  constexpr std::string_view words[node_cause_count] = {"vacant",
                                                        "excluded_by_label",
                                                        "too_few_devices",
                                                        "excluded_by_model",
                                                        "too_few_cpus",
                                                        "too_little_memory",
                                                        "tainted",
                                                        "unusable",
                                                        "unhealthy_devices",
                                                        "devices_in_use",
                                                        "cpus_in_use",
                                                        "memory_in_use",
                                                        "inside_in_use",
                                                        "fragmented",
                                                        "uplink_down",
                                                        "has_room"};
  return words[static_cast<std::size_t>(c)];
}

/// The domain that comes nearest to holding the gang.
struct near_miss {
  level_id level{};
  domain_id domain{};
  std::uint64_t holds =
      0;  ///< tasks of the group at fault that fit there beside all other groups; segments if there are any
  std::uint64_t needs = 0;  ///< tasks (segments) needed
};

/// How room for the group at fault is scattered.
struct fragmentation {
  std::uint64_t free_devices = 0;    ///< free devices of nodes and models that may serve the group
  std::uint64_t tasks_anywhere = 0;  ///< tasks that fit on all nodes together
  std::uint64_t tasks_in_one = 0;    ///< tasks that fit in the best single domain of `explanation::level`
  std::uint64_t tasks_crowded = 0;   ///< as `tasks_anywhere`, were there no limit of tasks per node
};

/// A change after which the placer does place the gang. Every one is tried before it is named.
struct remedy {
  enum class kind : std::uint8_t {
    free_nodes,       ///< `count` nodes, listed in `nodes`, become free and healthy
    restore_uplinks,  ///< the links that are down work again
    wider_level,      ///< the gang may use one domain of the wider `level`
    fewer_tasks,      ///< `count` tasks of the group instead of its minimum
    fewer_segments,   ///< `count` segments
    smaller_tasks,    ///< `count` devices per task of the group
    any_layout,       ///< segments need not be spread over different domains
    no_segments,      ///< the gang in one piece
    no_filter,        ///< the group without its labels and models
    no_taints,        ///< the group tolerates the taints in `explanation::taints`
    more_per_node,    ///< `count` tasks of the group may share a node
  };
  kind what{};
  bool least = true;  ///< no smaller change of this kind would do; false: the smallest that was found
  level_id level{};   ///< the narrowest level of which one domain then holds the gang
  domain_id domain{};
  std::uint32_t count = 0;
  std::uint32_t spread = 0;      ///< `wider_level`: domains then used of the level asked for before
  std::vector<node_id> nodes{};  ///< `free_nodes`: which, by id
};
/// "free_nodes", …: the words of machine-readable output.
[[nodiscard]] constexpr std::string_view to_string(remedy::kind k) noexcept {
  constexpr std::string_view words[] = {"free_nodes",     "restore_uplinks", "wider_level",  "fewer_tasks",
                                        "fewer_segments", "smaller_tasks",   "any_layout",   "no_segments",
                                        "no_filter",      "no_taints",       "more_per_node"};
  return words[static_cast<std::size_t>(k)];
}

/// All about one refusal.
struct explanation {
  verdict result = verdict::not_now;    ///< the placer's verdict, made exact where an empty cluster decides it
  std::optional<bool> fits_empty;       ///< fits with everything released and healthy; nothing where that gave up too
  gang_fault fault = gang_fault::none;  ///< for an invalid gang
  std::uint32_t group = 0;              ///< the group at fault
  bool groups_fit_alone = false;        ///< several groups: each fits alone, only together they do not
  level_id level{};                     ///< the level of which one domain was to hold the gang, or each segment
  std::uint64_t steps = 0;              ///< nodes the placer visited before it answered
  std::uint32_t causes[node_cause_count] = {};  ///< nodes by cause, by `node_cause`; adds up to all nodes
  struct taint {
    std::string key;
    std::uint32_t nodes = 0;
  };
  std::vector<taint> taints{};  ///< of the nodes that are `tainted`; a node may have several
  fragmentation room{};
  std::optional<lacking_link> link;    ///< there is room for the tasks, but not for their rate on this link
  std::optional<near_miss> nearest;    ///< as things stand
  std::optional<near_miss> best_ever;  ///< for `never`: on an empty, healthy cluster
  std::vector<remedy> remedies;        ///< for `never`: they hold on an empty, healthy cluster
};

}  // namespace berth
