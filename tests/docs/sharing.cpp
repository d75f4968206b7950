// The code of docs/sharing.md.
#include <cstdint>
#include <string_view>
#include <vector>

#include "docs/pages.hpp"

// [share]
#include "berth/cluster/part_setup.hpp"
#include "berth/cluster/share_parts.hpp"
#include "berth/policy/part_choice.hpp"
#include "berth/solver/placer.hpp"
#include "berth/topology/domain_tree_builder.hpp"

// Two nodes of two GPUs each, shared in HAMi's way; a gang of three small servers goes to one node, to the GPUs of it
// that are used least.
bool place_servers() {
  berth::cluster_spec spec;
  spec.tree = berth::domain_tree_builder::regular({"cluster"}, {}, 2);
  spec.shapes.push_back(berth::make_plain_shape("node", 2, "h100-sxm5-80gb", berth::cpus(64), berth::gibibytes(512)));
  for (const char* name : {"a", "b"})
    spec.nodes.push_back({name, berth::shape_id{0}, {}, berth::cpus(64), berth::gibibytes(512)});

  auto parts = berth::make_part_catalogue(spec.shapes);
  berth::share_host gpu;
  gpu.memory_mib = 81'559;                            // as the device reports it
  const auto terms = berth::fraction_terms(gpu, 10);  // at most ten clients; an input_error for what cannot be
  if (!terms || !berth::set_share_terms(parts.models[0], *terms)) return false;
  berth::cluster live{spec, {.jobs = 10, .tasks = 100, .parts = &parts}};

  // Packing over nodes, spreading over the devices of a node.
  berth::placer<berth::fewest_domains, berth::bin_pack,
                berth::with_parts<berth::lowest_index, berth::keep_mig_options, berth::share_spread>>
      place{live};
  const auto server = berth::share_need(*terms, {.memory_mib = 8'000, .cores = 30});  // refused: what never fits
  if (!server) return false;
  berth::gang g;
  g.groups.push_back({.shape = {.part = *server}, .wanted = 3, .minimum = 3});
  const berth::decision d = place(g);  // all three, or none and why
  if (!d || !live.commit(berth::job_key{42}, d.where)) return false;
  const auto& used = live.inside().parts();
  const bool spread = used.use(0, 0).clients == 2 && used.use(0, 1).clients == 1;  // node 0, its two GPUs
  return spread && live.release(berth::job_key{42}).has_value();
}
// [end]

// [nested]
// Inside MIG instances: MPS in 1g.10gb, six clients to an instance, of one user each.
bool share_instances() {
  berth::cluster_spec spec;
  spec.tree = berth::domain_tree_builder::regular({"cluster"}, {}, 1);
  spec.shapes.push_back(berth::make_plain_shape("node", 1, "h100-sxm5-80gb", berth::cpus(64), berth::gibibytes(512)));
  spec.nodes.push_back({"a", berth::shape_id{0}, {}, berth::cpus(64), berth::gibibytes(512)});
  auto parts = berth::make_part_catalogue(spec.shapes);
  const auto& h100 = parts.products[0].geometry();
  parts.inside.resize(1);
  parts.inside[0].resize(h100.profiles);  // by profile; those without limits are not shared
  berth::share_host instance;
  instance.memory_mib = 9'984;
  instance.slices = 1, instance.of = 7;
  const auto terms = berth::mps_terms(instance, 6);
  for (unsigned p = 0; p < h100.profiles; ++p)
    if (h100.row(p).name == "1g.10gb" && !berth::set_share_terms(parts.inside[0][p], *terms)) return false;

  berth::cluster live{spec, {.jobs = 10, .tasks = 100, .parts = &parts}};
  berth::placer place{live};
  const std::string_view profile = "1g.10gb";
  const auto request = live.add_mig_request(*berth::make_mig_request(parts, {&profile, 1}));
  const auto clients_of = [&](std::uint32_t user, std::uint32_t clients) {
    berth::gang g;
    g.groups.push_back({.wanted = clients, .minimum = clients});
    g.groups[0].shape.part =
        berth::share_need(*terms, {.memory_mib = 1'000, .cores = 30, .user = user})->in_instance(request);
    return place(g);
  };
  // Forty-two fit, six in each of seven instances; what two users share is no instance.
  const bool all = clients_of(1, 42) && !clients_of(1, 43);
  const auto first = clients_of(1, 4);
  if (!first || !live.commit(berth::job_key{1}, first.where)) return false;
  return all && clients_of(1, 38) && clients_of(2, 36) && !clients_of(2, 37);
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
  CHECK(share_instances());
  CHECK(kind_of_server());
}
