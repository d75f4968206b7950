// The code of docs/mig.md.
#include <cstdint>
#include <string_view>
#include <vector>

#include "docs/pages.hpp"

// [mig]
#include "berth/cluster/cluster.hpp"
#include "berth/cluster/part_setup.hpp"
#include "berth/solver/placer.hpp"
#include "berth/topology/domain_tree_builder.hpp"

// Carves one instance of the profile out of 64 GPUs in MIG mode and gives it back; false where nothing fits.
bool carve(const char* model, const char* profile) {
  berth::cluster_spec spec;
  spec.tree = berth::domain_tree_builder::regular({"cluster"}, {}, 8);
  spec.shapes = {berth::make_plain_shape("node", 8, model, berth::cpus(96), berth::gibibytes(1024))};
  spec.nodes.resize(8, {"", berth::shape_id{0}, {}, berth::cpus(96), berth::gibibytes(1024)});
  // Whose placements are not trustworthy is in `without_mig`, with the reason.
  const berth::part_catalogue parts = berth::make_part_catalogue(spec.shapes);
  berth::cluster c{spec, {.jobs = 100, .tasks = 100, .parts = &parts}};
  for (std::uint32_t n = 0; n < 8; ++n)
    for (unsigned d = 0; d < 8; ++d)
      if (!c.set_mig_switch(berth::node_id{n}, d, berth::mig_switch::on)) return false;

  const auto request = berth::make_mig_request(parts, std::vector<std::string_view>{profile});
  if (!request) return false;  // an input_error: unknown, or of another product
  berth::placer place{c};      // keeps the most options open; learns the mix from what it is asked for
  berth::gang g;
  g.groups.push_back({.shape = {.part = berth::part_need::mig(c.add_mig_request(*request))}});
  const auto d = place(g);
  return d && c.commit(berth::job_key{1}, d.where) && c.release(berth::job_key{1});
}
// [end]

// [mig-cluster]
// Two machines of eight H100: six small instances and two whole GPUs as one gang, all or nothing.
bool share_a_cluster() {
  berth::cluster_spec spec;
  spec.tree = berth::domain_tree_builder::regular({"cluster"}, {}, 2);
  spec.shapes = {berth::make_plain_shape("h100", 8, "h100-sxm5-80gb", berth::cpus(96), berth::gibibytes(1024))};
  spec.nodes.resize(2, {"", berth::shape_id{0}, {}, berth::cpus(96), berth::gibibytes(1024)});

  const berth::part_catalogue parts = berth::make_part_catalogue(spec.shapes);  // outlives the cluster
  berth::cluster c{spec, {.jobs = 100, .tasks = 1000, .parts = &parts}};
  const auto small = berth::make_mig_request(parts, std::vector<std::string_view>{"1g.10gb"});
  if (!small) return false;  // an input_error: no GPU here has that profile

  berth::placer place{c};
  berth::gang g;
  g.groups.push_back({.name = "servers",
                      .shape = {.part = berth::part_need::mig(c.add_mig_request(*small))},
                      .wanted = 6,
                      .minimum = 6});
  g.groups.push_back({.name = "trainer", .shape = {.devices = 2}, .wanted = 1, .minimum = 1});
  const auto d = place(g);
  // d.where.parts says for every task at which placements of its GPU's product the instances start.
  return d && c.commit(berth::job_key{1}, d.where) && c.release(berth::job_key{1});
}
// [end]

// [mig-plan]
#include "berth/solver/mig_planner.hpp"
#include "berth/topology/mig_lookup.hpp"

// One H100 with three scattered 1g, and a job that needs a 3g: how many steps make room, and whether nothing is
// cheaper.
bool make_room() {
  const auto h100 = berth::checked_mig_geometry(**berth::find_mig_product("h100-80gb"));
  if (!h100) return false;
  const unsigned one = berth::find_mig_profile(*h100->product, "1g.10gb")->profile;
  const unsigned three = berth::find_mig_profile(*h100->product, "3g.40gb")->profile;
  std::vector<berth::mig_gpu_now> gpus(1);
  for (const unsigned start : {0U, 1U, 5U}) {
    const berth::mig_occupant job{.owner = start, .lost_ms = 5'000, .drainable = true};  // since its last checkpoint
    gpus[0].running.push_back({static_cast<std::uint8_t>(*h100->find(one, start)), job});
  }
  berth::mig_plan_request want;
  want.need[three] = 1;
  const auto plan = berth::mig_planner{*h100}.plan(gpus, want);
  if (!plan) return false;
  // Drains the job at start 5, destroys its instance, creates 3g@4.
  return plan->steps.size() == 3 && plan->optimal && berth::replay_mig_plan(*h100, gpus, *plan).has_value();
}
// [end]

TEST_CASE("docs: instances and whole GPUs of one gang are placed together") {
  CHECK(share_a_cluster());
}

TEST_CASE("docs: room is made for a 3g") {
  CHECK(make_room());
}

TEST_CASE("docs: an instance is carved and given back") {
  CHECK(carve("NVIDIA-H100-80GB-HBM3", "nvidia.com/mig-1g.10gb.me"));
  CHECK_FALSE(carve("NVIDIA-H100-80GB-HBM3", "1g.5gb"));
  CHECK_FALSE(carve("no such GPU", "1g.5gb"));
}
