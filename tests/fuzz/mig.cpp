// What runs on MIG GPUs (our JSON, nvidia-smi's table), the plan for it, and rules for kinds of devices.

#include "berth/io/inside/nvidia_smi_mig.hpp"
#include "berth/io/kind_rules_json.hpp"
#include "berth/io/mig_gpus_json.hpp"
#include "berth/solver/mig_planner.hpp"
#include "berth/topology/mig_lookup.hpp"
#include "fuzz.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size > fuzz::most_bytes) return 0;
  static const auto g = berth::make_mig_geometry(**berth::find_mig_product("h100-80gb"));
  const auto file = fuzz::text_of(data, size);
  if (const auto listed = berth::read_mig_instance_table(g, file); fuzz::good(listed))
    for (const auto& gpu : *listed)
      if (!g.key_of(gpu.instances)) fuzz::fail("a list that contradicts the geometry was read");
  const auto rules = berth::read_kind_rules(file.text, file.name);
  if (fuzz::good(rules) && !berth::read_kind_rules(berth::write_kind_rules(*rules), "again"))
    fuzz::fail("rules that were written are not read");
  const auto gpus = berth::read_mig_gpus(g, file.text, file.name);
  if (!fuzz::good(gpus) || gpus->size() > 64) return 0;
  berth::mig_plan_request want;
  want.need[0] = want.need[4] = 2;
  want.restart_drained = size % 2 == 0;
  berth::mig_planner planner{g};
  planner.budget = 1000;
  const auto plan = planner.plan(*gpus, want);
  if (fuzz::good(plan) && !berth::replay_mig_plan(g, *gpus, *plan)) fuzz::fail("a plan that cannot be carried out");
  return 0;
}
