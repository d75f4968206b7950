// Our own files: clusters with graphs, occupancy, host lists. What is read is written and read again as the same.

#include "berth/io/gang_text.hpp"
#include "berth/io/hold_parts.hpp"
#include "berth/io/merge/site_json.hpp"
#include "berth/io/occupied.hpp"
#include "berth/io/sharing_terms.hpp"
#include "berth/topology/catalogue/node_shapes.hpp"
#include "berth/topology/domain_tree_builder.hpp"
#include "fuzz.hpp"

namespace {

// Three machines with two GPUs of H100 each, whose instances may be shared.
void hold(const berth::occupancy& o) {
  static const berth::cluster_spec spec = [] {
    berth::cluster_spec s;
    s.tree = berth::domain_tree_builder::regular({"cluster"}, {}, 3);
    s.shapes.push_back(berth::make_plain_shape("h100", 2, "h100-sxm5-80gb", berth::cpus(64), berth::gibibytes(512)));
    for (const char* n : {"n0", "n1", "n2"})
      s.nodes.push_back({n, berth::shape_id{0}, {}, berth::cpus(64), berth::gibibytes(512)});
    return s;
  }();
  static const berth::part_catalogue parts = [] {
    auto c = berth::make_part_catalogue({spec.shapes.data(), spec.shapes.size()});
    static_cast<void>(berth::share_instances(c, "mps"));
    return c;
  }();
  std::size_t held = 0;
  for (const auto& l : o.lines) held += l.nodes.size() * (1 + l.parts.size());
  if (held > 40) return;
  const auto use = berth::resolve_occupancy(o, spec);
  if (!fuzz::good(use)) return;
  berth::cluster c{spec, {.jobs = 41, .tasks = 100, .parts = &parts}};
  berth::user_names users;
  const auto plan = berth::plan_holdings(c, *use, spec, users);
  if (!fuzz::good(plan)) return;
  if (!berth::commit_holdings(c, plan->jobs, [](std::size_t j) { return berth::job_key{j}; }))
    fuzz::fail("what was planned cannot be held");
  if (!c.check_invariants()) fuzz::fail("the cluster does not agree with what it holds");
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size > fuzz::most_bytes) return 0;
  const auto file = fuzz::text_of(data, size);
  static_cast<void>(fuzz::good(berth::parse_gang(file.text, "gang")));
  if (const auto o = berth::read_occupancy(file, 2000); fuzz::good(o)) hold(*o);
  const auto s = berth::read_site_json(file, berth::catalogue_shape, 2000, 20000);
  if (!fuzz::good(s)) return 0;
  fuzz::check(berth::report_of_site(*s, "input"));
  for (const auto& n : s->spec.nodes)
    for (const char c : n.name)
      if (c == ',' || c == '[' || c == ']' || c == ' ') return 0;  // no host list can hold such a name
  const std::string text = berth::write_site_json(*s);
  const auto again = berth::read_site_json({"again", text}, berth::catalogue_shape, 2000, 20000);
  if (!again) {
    std::fprintf(stderr, "%s\n", again.error().message().c_str());
    fuzz::fail("what was written is not read");
  }
  if (berth::write_site_json(*again) != text) fuzz::fail("what was read again is not the same");
  return 0;
}
