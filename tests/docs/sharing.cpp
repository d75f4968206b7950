// The code of docs/sharing.md.
#include <cstdint>
#include <vector>

#include "docs/pages.hpp"

// [share-table]
#include "berth/cluster/share_table.hpp"
#include "berth/policy/share_choice.hpp"

// Two nodes of two GPUs each, shared in HAMi's way; a gang of three small servers goes to one node, to the GPUs of it
// that are used least.
bool place_servers() {
  berth::share_host gpu;
  gpu.memory_mib = 81'559;                            // as the device reports it
  const auto terms = berth::fraction_terms(gpu, 10);  // at most ten clients; an input_error for what cannot be
  if (!terms) return false;
  berth::share_table gpus{{.gpus = 4, .instances = 0, .grants = 100}};
  for (const std::uint32_t node : {0U, 0U, 1U, 1U})
    if (!gpus.add_gpu(node, *terms)) return false;

  berth::share_choice choose{berth::share_over::pack, berth::share_over::spread, 100};  // nodes, devices, grants
  const berth::share_task_ask server{{.memory_mib = 8'000, .cores = 30}};
  const std::vector<berth::share_task_ask> gang(3, server);
  const auto placed = choose.place(gpus, 42, gang);  // all three, or none and why
  if (!placed) return false;
  unsigned on_node_0 = 0;
  gpus.for_each_grant(42, [&](const berth::share_grant& g) { on_node_0 += gpus.node(g.unit) == 0 ? 1U : 0U; });
  return on_node_0 == 3 && gpus.release(42);
}
// [end]

// [kind]
#include "berth/policy/device_kind.hpp"
#include "berth/topology/mig_lookup.hpp"

// What an answering service of 9 GB with a strict latency should get of an H100: an instance of its own.
bool kind_of_server() {
  const auto h100 = berth::checked_mig_geometry(**berth::find_mig_product("h100-80gb"));
  if (!h100) return false;
  const berth::workload server{.kind = berth::work_kind::online_inference,
                               .latency = berth::latency_class::strict,
                               .memory_mib = 9'000,
                               .utilisation = 10};
  const auto rules = berth::default_kind_rules();  // a vector: change it, or read one from a file
  const auto choice = berth::choose_device_kind(rules, server, {.memory_mib = 81'559, .geometry = &*h100});
  return choice && choice->use == berth::device_kind::mig_small && h100->row(*choice->profile).name == "1g.10gb";
}
// [end]

TEST_CASE("docs: servers share GPUs, and a server gets its kind of device") {
  CHECK(place_servers());
  CHECK(kind_of_server());
}
