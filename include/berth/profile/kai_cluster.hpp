#pragma once
/// \file
/// KAI's view of a cluster: nodes with devices that are whole, shared or MIG slices, jobs as trees of pod groups,
/// queues.
///
/// Amounts are millicores, bytes, and thousandths of everything else (GPUs, pods, MIG slices). Source of every rule
/// here: kai-scheduler/KAI-Scheduler pkg/scheduler/api/, at the commit named in the case files.

#include <cstddef>
#include <cstdint>
#include <limits>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace berth::kai {

/// By resource: cpu, memory, GPUs, pods, then whatever the cluster names (MIG profiles, licences).
using quantities = std::vector<std::int64_t>;
enum resource : std::size_t { cpu = 0, memory = 1, gpu = 2, pods = 3, first_other = 4 };
inline constexpr std::int64_t one = 1000;  ///< one GPU, pod or slice

inline void add(quantities& to, const quantities& q, std::int64_t sign = 1) {
  for (std::size_t r = 0; r < q.size() && r < to.size(); ++r) to[r] += sign * q[r];
}
[[nodiscard]] inline bool within(const quantities& a, const quantities& b) {
  for (std::size_t r = 0; r < a.size(); ++r)
    if (a[r] > (r < b.size() ? b[r] : 0)) return false;
  return true;
}

enum class pod_state : std::uint8_t { pending, gated, allocated, pipelined, running, releasing, stuck, gone };

/// Holds resources of a node now or soon (KAI: active allocated).
[[nodiscard]] constexpr bool holds(pod_state s) noexcept {
  return s == pod_state::allocated || s == pod_state::pipelined || s == pod_state::running;
}
/// Is on a node's books at all (KAI: active used).
[[nodiscard]] constexpr bool on_node(pod_state s) noexcept {
  return holds(s) || s == pod_state::releasing || s == pod_state::stuck;
}
[[nodiscard]] constexpr bool alive(pod_state s) noexcept {
  return holds(s) || s == pod_state::pending || s == pod_state::gated;
}
/// Is charged to its queue when a cycle begins.
[[nodiscard]] constexpr bool charged(pod_state s) noexcept {
  return s == pod_state::allocated || s == pod_state::running;
}

/// What kind of device a pod asks for.
enum class device_kind : std::uint8_t { none, whole, fraction, memory, mig };

inline constexpr std::size_t nowhere = std::numeric_limits<std::size_t>::max();

struct pod {
  std::string name;
  std::size_t job = 0;
  std::size_t group = 0;  ///< a leaf of its job's tree
  pod_state state = pod_state::pending;
  std::size_t node = nowhere;
  device_kind kind = device_kind::none;
  std::int64_t devices = 0;                      ///< how many GPUs it wants a share of, or whole
  std::int64_t portion = 0;                      ///< of each, thousandths; of a whole one all
  std::int64_t memory_mib = 0;                   ///< of each, where the share is stated so
  quantities request;                            ///< GPUs as devices × portion; 0 where memory is asked
  std::vector<std::string> shared;               ///< names of the shared devices it is on
  std::optional<std::int64_t> order;             ///< within its group: larger first, before those without
  std::optional<std::vector<std::size_t>> only;  ///< nodes it may run on; absent: all
  std::size_t nominated = nowhere;
  [[nodiscard]] bool shares() const noexcept { return kind == device_kind::fraction || kind == device_kind::memory; }
};

struct topology_wish {
  std::optional<std::size_t> required, preferred;  ///< levels, 0 = coarsest
  [[nodiscard]] bool any() const noexcept { return required || preferred; }
};

/// A node of a job's tree: a set of pods, or a group of such.
struct pod_group {
  std::string name;
  std::size_t parent = nowhere;
  bool leaf = true;
  std::int64_t least = 0;             ///< pods (leaf) or children that have to be satisfied
  std::optional<topology_wish> wish;  ///< own constraint; with neither level it is an error of the job
  std::vector<std::size_t> children;  ///< inner: groups before leaves, as listed
  std::vector<std::size_t> pods;      ///< leaf
};

struct job {
  std::string name;
  std::size_t queue = nowhere;
  std::int64_t priority = 0;
  bool preemptible = true;
  std::int64_t created = 0;       ///< smaller is older
  std::vector<pod_group> groups;  ///< 0 is the root
  std::vector<std::size_t> pods;
};

struct queue {
  std::string name;
  std::size_t parent = nowhere;
  std::int64_t priority = 0;
  std::int64_t created = 0;
  quantities deserved, limit;  ///< cpu, memory, gpu; `unlimited` where there is none
  quantities weight;           ///< of surplus
  bool leaf = true;
};

/// What shares one device.
struct shared_device {
  std::int64_t used = 0;       ///< MiB, of everybody on it
  std::int64_t allocated = 0;  ///< MiB, without those who only wait for it
  std::int64_t releasing = 0;  ///< MiB, less what is promised to those who wait
  bool known_allocated = false;
  bool marked_releasing = false;
};

enum class mig_strategy : std::uint8_t { none, single, mixed, other };

struct node {
  std::string name;
  std::vector<std::optional<std::string>> path;  ///< a domain per level
  quantities total, idle, used, releasing;
  std::int64_t gpu_count = 0;     ///< devices in the node, whatever their mode
  std::int64_t gpu_memory = 100;  ///< MiB of each, rounded down to hundreds
  bool gpu_memory_known = true;
  bool mig = false;
  mig_strategy strategy = mig_strategy::none;
  bool ready = true;
  std::map<std::string, shared_device> shared;

  [[nodiscard]] std::int64_t free(std::size_t r) const noexcept { return idle[r] + releasing[r]; }
  [[nodiscard]] bool without_devices() const noexcept { return !mig && total[gpu] <= 0; }
};

/// Everything a cycle changes is a value, so that an attempt is undone by assigning the copy.
struct cluster {
  std::vector<std::string> levels;  ///< coarse to fine
  std::vector<std::string> resources;
  std::vector<std::int64_t> gpus_per_unit;  ///< by resource: how many GPUs one counts as for queues (MIG 3g: 3)
  std::vector<node> nodes;
  std::vector<pod> all_pods;
  std::vector<job> jobs;
  std::vector<queue> queues;
};

}  // namespace berth::kai
