// Jobs in words to gangs on a cluster.
#include "berth/io/resolve_job.hpp"

#include <doctest/doctest.h>

#include <string>
#include <string_view>

#include "berth/io/job_spec.hpp"

namespace {

berth::cluster make_cluster() {
  berth::cluster_spec s;
  s.tree = berth::domain_tree_builder::regular({"cluster", "spine", "leaf"}, {2, 2}, 2);
  for (const char* model : {"h100-sxm5-80gb", "h100-pcie-80gb", "a100-sxm4-40gb", ""})
    s.shapes.push_back(berth::make_plain_shape("box", 8, model, berth::cpus(8), berth::gibibytes(8)));
  for (std::uint16_t n = 0; n < 8; ++n)
    s.nodes.push_back({"n" + std::to_string(n),
                       berth::shape_id{static_cast<std::uint16_t>(n % 4)},
                       {},
                       berth::cpus(8),
                       berth::gibibytes(8)});
  return berth::cluster{s};
}
berth::expected<berth::gang, berth::input_error> resolve(berth::cluster& c, const std::string& text) {
  const auto job = berth::parse_gang(text, "--gang");
  REQUIRE(job.has_value());
  return berth::resolve_job(*job, c, {"b200-sxm-180gb", "h100-nvl-94gb"}, "--gang");
}
std::string fault(berth::cluster& c, const std::string& text) {
  const auto g = resolve(c, text);
  return g ? "" : g.error().message();
}

}  // namespace

TEST_SUITE("io/resolve_job") {
  TEST_CASE("words become levels, amounts and filters") {
    auto c = make_cluster();
    const auto g = resolve(c, "tasks=8,min=4,gpus=2,cpus=1.5,memory=1GiB,label=x,within=spine,segments=4:leaf:spread");
    REQUIRE(g.has_value());
    CHECK(g->where == berth::locality::required);
    CHECK(g->level == berth::level_id{1});
    REQUIRE(g->segments.has_value());
    CHECK(g->segments->count == 4);
    CHECK(g->segments->level == berth::level_id{2});
    CHECK(g->segments->layout == berth::segment_layout::spread);
    REQUIRE(g->groups.size() == 1);
    const auto& t = g->groups[0];
    CHECK(t.wanted == 8);
    CHECK(t.minimum == 4);
    CHECK(t.shape.devices == 2);
    CHECK(t.shape.cpu == berth::cpu_millis{1500});
    CHECK(t.shape.memory == berth::gibibytes(1));
    CHECK(c.filter(t.shape.filter).all_of == std::vector<std::string>{"x"});
    CHECK(resolve(c, "gpus=1,prefer=leaf")->where == berth::locality::preferred);
    CHECK(resolve(c, "gpus=1")->groups[0].shape.filter == berth::filter_id{0});
  }
  TEST_CASE("a model may be abbreviated; one that exists elsewhere is legal, one that nobody knows is not") {
    auto c = make_cluster();
    const auto models = [&](const char* word) {
      const auto g = resolve(c, std::string{"gpus=1,model="} + word);
      REQUIRE(g.has_value());
      return c.filter(g->groups[0].shape.filter).models;
    };
    CHECK(models("h100-sxm5-80gb") == std::vector<std::string>{"h100-sxm5-80gb"});
    CHECK(models("H100") == std::vector<std::string>{"h100-sxm5-80gb", "h100-pcie-80gb"});
    CHECK(models("b200") == std::vector<std::string>{"b200"});
    CHECK(fault(c, "gpus=1,model=h10") ==
          "--gang: found GPU model 'h10', expected h100-sxm5-80gb, h100-pcie-80gb or a100-sxm4-40gb");
  }
  TEST_CASE("unknown levels are named with those that exist") {
    auto c = make_cluster();
    CHECK(fault(c, "gpus=1,within=rack") == "--gang: found level 'rack', expected cluster, spine or leaf");
    CHECK(fault(c, "tasks=2,gpus=1,segments=2:rack") == "--gang: found level 'rack', expected cluster, spine or leaf");
  }
  TEST_CASE("amounts beyond any machine are kept, and what is wrong by itself is found without parsing") {
    auto c = make_cluster();
    CHECK(resolve(c, "gpus=1000")->groups[0].shape.devices == 1000);
    berth::job_spec job;
    CHECK_FALSE(berth::resolve_job(job, c).has_value());
    job.groups.push_back({});
    CHECK_FALSE(berth::resolve_job(job, c).has_value());  // asks for nothing
    job.groups[0].gpus = 1;
    CHECK(berth::resolve_job(job, c).has_value());
  }
}
