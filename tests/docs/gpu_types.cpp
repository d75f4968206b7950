// The code of docs/gpu-types.md.
#include <cmath>
#include <cstdint>
#include <iostream>
#include <optional>
#include <string_view>
#include <vector>

#include "berth/cluster/cluster.hpp"
#include "berth/policy/compose.hpp"
#include "berth/policy/device_requirements.hpp"
#include "berth/policy/domain_fit.hpp"
#include "berth/policy/model_preference.hpp"
#include "berth/policy/node_fit.hpp"
#include "berth/solver/first_choice.hpp"
#include "berth/solver/placer.hpp"
#include "berth/solver/type_shares.hpp"
#include "berth/solver/type_turns.hpp"
#include "berth/topology/catalogue/gpu_models.hpp"
#include "berth/topology/domain_tree_builder.hpp"
#include "docs/pages.hpp"

using berth_docs::check_output;
using berth_docs::printed;

namespace {

// A rack of two machines with four GPUs for each of three models.
berth::cluster three_models() {
  berth::cluster_spec s;
  s.tree = berth::domain_tree_builder::regular({"cluster", "rack"}, {3}, 2);
  for (const char* m : {"a100-sxm4-80gb", "l4", "a30-24gb"})
    s.shapes.push_back(berth::make_plain_shape(m, 4, m, berth::cpus(64), berth::gibibytes(512)));
  for (std::uint16_t n = 0; n < 6; ++n)
    s.nodes.push_back(
        {"", berth::shape_id{static_cast<std::uint16_t>(n / 2)}, {}, berth::cpus(64), berth::gibibytes(512)});
  return berth::cluster{s, {.jobs = 50, .tasks = 200}};
}

}  // namespace

TEST_SUITE("docs/gpu-types") {
  TEST_CASE("docs: conditions on models, and one model else the other") {
    berth::cluster live = three_models();
    printed out;
    // [choices]
    // A condition: at least 24 GB, and a compute capability below 8.9.
    berth::device_requirements needs;
    needs.least_memory_gb = 24;
    needs.below_capability = "8.9";
    const auto old_enough =
        live.add_filter({.models = berth::model_ids_that_meet(berth::catalogue::gpu_models, needs)});
    // In order: L4 while there are any, else whatever meets the condition.
    const auto only_l4 = live.add_filter({.models = {"l4"}});
    std::vector<berth::gang> choices(2);
    for (auto& c : choices) c.groups = {{.name = "worker", .shape = {.devices = 4}, .wanted = 1, .minimum = 1}};
    choices[0].groups[0].shape.filter = only_l4;
    choices[1].groups[0].shape.filter = old_enough;
    // A preference: of those that do, small GPUs, so that large ones are left for tasks that need them.
    berth::domain_scores small{live.tree()};
    berth::score_small_first(live, small);
    berth::placer place{live, berth::lexicographic{berth::preferred_domain{&small}, berth::tightest{}},
                        berth::lexicographic{berth::preferred_node{&small}, berth::bin_pack{}}};
    for (std::uint64_t k = 0; k < 5; ++k) {
      const auto got = berth::place_first(place, choices);
      const auto node = got.answer.where.tasks[0].node;
      std::cout << (k == 0 ? "" : ", ") << live.shape_of(node).models[0];
      if (!live.commit(berth::job_key{k}, got.answer.where)) break;
    }
    std::cout << '\n';
    // [end]
    check_output("choices", out.text());
  }

  TEST_CASE("docs: shares of types and turns that follow them") {
    printed out;
    // [shares]
    // Steps per second alone on a V100 and a K80; one GPU of each.
    const std::vector<berth::typed_job> jobs{{{4, 1}}, {{3, 1}}, {{2, 1}}};
    const std::vector<std::uint32_t> gpus{1, 1};
    const auto shares = berth::max_min_type_shares(jobs, gpus);
    if (!shares) return;  // a job that no type serves, or numbers that are none
    for (const auto& part : shares->part)
      std::cout << std::lround(100 * part[0]) << " % V100, " << std::lround(100 * part[1]) << " % K80\n";

    berth::type_turns turns{gpus.size()};
    for (std::size_t m = 0; m < jobs.size(); ++m) static_cast<void>(turns.add(jobs[m].devices, shares->part[m]));
    for (int round = 0; round < 12; ++round) {
      for (const auto& type : turns.round(gpus, 360)) std::cout << (!type ? '.' : *type == 0 ? 'V' : 'K');
      std::cout << (round == 11 ? '\n' : ' ');
    }
    // One job by itself: which type should the third get, when both are free?
    std::cout << (*turns.type_for(2, gpus) == 0 ? "V100" : "K80") << '\n';
    // [end]
    check_output("shares", out.text());
  }
}
