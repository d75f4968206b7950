// The MIG table against the counts that NVIDIA and papers publish, and how products and profiles are found by name.
#include <doctest/doctest.h>

#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "berth/topology/catalogue/gpu_models.hpp"
#include "berth/topology/catalogue/mig_products.hpp"
#include "berth/topology/mig_lookup.hpp"
#include "berth/topology/mig_states.hpp"

using namespace berth;
using catalogue::mig_shape;
using catalogue::mig_variant;

namespace {

constexpr const catalogue::mig_product_row& product(std::string_view id) {
  for (const auto& p : catalogue::mig_products)
    if (p.id == id) return p;
  return catalogue::mig_products[0];
}

// The profiles of these variants.
constexpr mig_set of_variants(const catalogue::mig_product_row& p, bool double_memory, bool media) {
  mig_set out = 0;
  for (unsigned i = 0; i < p.profiles.size(); ++i) {
    const auto v = p.profiles[i].variant;
    if (v == mig_variant::plain || (double_memory && v == mig_variant::double_memory) ||
        (media && v == mig_variant::media))
      out |= mig_set{1} << i;
  }
  return out;
}
constexpr mig_geometry geometry(std::string_view id, bool double_memory, bool media, bool before_r510 = false) {
  mig_geometry_options o;
  o.profiles = of_variants(product(id), double_memory, media);
  o.before_r510 = before_r510;
  return make_mig_geometry(product(id), o);
}

// 19 in NVIDIA's figure and in the papers that quote it; 18 before 4g and 3g could share a GPU.
static_assert(count_mig_layouts(geometry("a100-40gb", false, false)).maximal == 19);
static_assert(count_mig_layouts(geometry("h100-80gb", false, false)).legal == 297);
static_assert(count_mig_layouts(geometry("a100-40gb", false, false, true)).maximal == 18);
static_assert(count_mig_layouts(geometry("a30-24gb", false, false)).maximal == 5);
static_assert(count_mig_layouts(geometry("rtx-pro-6000-bw-96gb", false, false)).maximal == 5);

struct published {
  mig_shape shape;
  bool double_memory, media, before_r510, everything;
  unsigned legal, maximal, multisets, maximal_multisets;
};
constexpr published counts[] = {
    {mig_shape::hepta_8, false, false, false, false, 297, 19, 14, 12},
    {mig_shape::hepta_8, false, false, true, false, 296, 18, 13, 11},
    {mig_shape::hepta_8, true, false, false, false, 722, 78, 38, 28},
    {mig_shape::hepta_8, true, true, false, true, 2318, 239, 64, 44},
    {mig_shape::quad_4, false, false, false, false, 25, 5, 4, 4},
    {mig_shape::quad_4, false, true, false, true, 75, 17, 8, 8},
    {mig_shape::quad_12, false, false, false, false, 25, 5, 4, 4},
    {mig_shape::quad_12, false, false, false, true, 716, 302, 64, 64},
};

std::vector<unsigned> profiles_of(const mig_geometry& g, mig_set set) {
  std::vector<unsigned> n(g.profiles);
  for_each_bit(set, [&](unsigned p) { ++n[g.placement[p].profile]; });
  return n;
}

}  // namespace

TEST_SUITE("topology/mig") {
  TEST_CASE("20 products, 17 of them with known placements; the layouts of each are as many as published") {
    std::size_t known = 0;
    std::set<std::string_view> ids;
    for (const auto& p : catalogue::mig_products) {
      CAPTURE(p.id);
      ids.insert(p.id);
      if (p.shape == mig_shape::unknown) continue;
      ++known;
      for (const auto& c : counts) {
        if (c.shape != p.shape) continue;
        mig_geometry_options o;
        o.before_r510 = c.before_r510;
        if (!c.everything) o.profiles = of_variants(p, c.double_memory, c.media);
        const auto g = make_mig_geometry(p, o);
        unsigned legal = 0, maximal = 0;
        std::set<std::vector<unsigned>> multisets, all;
        for_each_mig_layout(g, [&](mig_set set, bool full) {
          ++legal;
          const auto m = profiles_of(g, set);
          all.insert(m);
          if (!full) return;
          ++maximal;
          multisets.insert(m);
        });
        std::size_t maximal_multisets = 0;
        for (const auto& m : all) {
          bool contained = false;
          for (unsigned q = 0; q < g.profiles && !contained; ++q) {
            auto more = m;
            ++more[q];
            contained = all.count(more) != 0;
          }
          maximal_multisets += contained ? 0 : 1;
        }
        CHECK(legal == c.legal);
        CHECK(maximal == c.maximal);
        CHECK(multisets.size() == c.multisets);
        CHECK(maximal_multisets == c.maximal_multisets);
      }
    }
    CHECK(ids.size() == 20);
    CHECK(known == 17);
  }

  TEST_CASE("No layout exceeds the GPU in compute slices, SMs or engines, and each profile alone reaches its maximum") {
    for (const auto& p : catalogue::mig_products) {
      if (p.shape == mig_shape::unknown) continue;
      CAPTURE(p.id);
      const auto g = make_mig_geometry(p);
      if (p.shape == mig_shape::hepta_8) CHECK(g.placements == 25);
      std::vector<unsigned> most(g.profiles);
      for_each_mig_layout(g, [&](mig_set set, bool) {
        unsigned compute = 0, copy = 0, decoder = 0, encoder = 0, jpeg = 0, flow = 0;
        bool engines = p.engines.has_value();
        for_each_bit(set, [&](unsigned i) {
          const auto& q = g.row(g.placement[i].profile);
          compute += q.compute;
          engines = engines && q.engines.has_value();
          if (!engines) return;
          copy += q.engines->copy, decoder += q.engines->decoder, encoder += q.engines->encoder;
          jpeg += q.engines->jpeg, flow += q.engines->optical_flow;
        });
        bool fits = compute <= *p.compute;
        if (engines && p.shape != mig_shape::hepta_8)
          fits = fits && copy <= p.engines->copy && decoder <= p.engines->decoder && encoder <= p.engines->encoder &&
                 flow <= p.engines->optical_flow;
        if (!fits) FAIL_CHECK("a layout holds more than the GPU has");
        const auto n = profiles_of(g, set);
        for (unsigned q = 0; q < g.profiles; ++q) most[q] = n[q] > most[q] ? n[q] : most[q];
      });
      for (unsigned q = 0; q < g.profiles; ++q) CHECK(most[q] == g.row(q).most);
    }
  }

  TEST_CASE("Traps: 3g at 0 strands a compute slice, +me is one per GPU, 1g is three units wide on an RTX PRO 6000") {
    const auto h100 = make_mig_geometry(product("h100-80gb"));
    const auto at = [&](const mig_geometry& g, std::string_view profile, unsigned start) {
      const auto name = find_mig_profile(*g.product, profile);
      REQUIRE(name);
      const auto p = g.find(name->profile, start);
      REQUIRE(p);
      return mig_set{1} << *p;
    };
    const mig_state_table t{h100};
    const unsigned one = find_mig_profile(*h100.product, "1g.10gb")->profile;
    CHECK(t.room(t.find(*h100.key_of(at(h100, "3g.40gb", 0))), one) == 3);
    CHECK(t.room(t.find(*h100.key_of(at(h100, "3g.40gb", 4))), one) == 4);
    CHECK_FALSE(h100.key_of(at(h100, "1g.10gb+me", 0) | at(h100, "1g.10gb+me", 1)));
    CHECK_FALSE(h100.find(find_mig_profile(*h100.product, "4g.40gb")->profile, 4));
    CHECK_FALSE(h100.find(one, 7));  // unit 7 is reached only by what is two, four or eight wide
    const auto rtx = make_mig_geometry(product("rtx-pro-6000-bw-96gb"));
    CHECK(rtx.placement[0].size == 3);
    CHECK_FALSE(rtx.key_of(at(rtx, "1g.24gb+me.all", 0) | at(rtx, "1g.24gb", 3)));
    CHECK(rtx.key_of(at(rtx, "1g.24gb+me.all", 0) | at(rtx, "1g.24gb-me", 3) | at(rtx, "2g.48gb-me", 6)));
    const auto a30 = make_mig_geometry(product("a30-24gb"));
    CHECK(a30.placement[0].size == 1);
    CHECK(find_mig_profile(*a30.product, "5")->profile == find_mig_profile(*a30.product, "2g.12gb")->profile);
  }

  TEST_CASE("Placing and destroying walk the same states, whatever the order") {
    for (const auto* id : {"h100-80gb", "a30-24gb", "rtx-pro-6000-bw-96gb"}) {
      for (const bool old : {false, true}) {
        mig_geometry_options o;
        o.before_r510 = old;
        const auto g = make_mig_geometry(product(id), o);
        const mig_state_table t{g};
        CHECK(t.size() < 1000);
        std::set<std::uint32_t> keys{0};
        for_each_mig_layout(g, [&](mig_set set, bool) {
          std::uint32_t key = 0;
          for_each_bit(set, [&](unsigned p) { key += g.weight[p]; });
          keys.insert(key);
          const auto s = t.find(key);
          if (s == no_mig_state || t.open(s) != g.open(key)) FAIL_CHECK("a layout whose state is wrong");
          for_each_bit(set, [&](unsigned p) {
            const auto before = t.without(s, p);
            if (before == no_mig_state || t.after(before, p) != s) FAIL_CHECK("destroying leads elsewhere");
          });
        });
        CHECK(keys.size() == t.size());
      }
    }
  }

  TEST_CASE("Products are found by the names of drivers, labels and PCI ids") {
    constexpr std::string_view cases[][2] = {{"NVIDIA A100-SXM4-40GB", "a100-40gb"},
                                             {"NVIDIA A100-PCIE-40GB", "a100-40gb"},
                                             {"NVIDIA A100 80GB PCIe", "a100-80gb"},
                                             {"NVIDIA-A100-SXM4-80GB-MIG-1g.10gb", "a100-80gb"},
                                             {"NVIDIA H100 80GB HBM3", "h100-80gb"},
                                             {"NVIDIA-H100-80GB-HBM3", "h100-80gb"},
                                             {"NVIDIA-H100-80GB-HBM3-SHARED", "h100-80gb"},
                                             {"NVIDIA H100 PCIe", "h100-pcie-80gb"},
                                             {"NVIDIA H100 NVL", "h100-94gb"},
                                             {"NVIDIA H200", "h200-141gb"},
                                             {"NVIDIA B200", "b200-180gb"},
                                             {"NVIDIA GB200", "gb200-186gb"},
                                             {"NVIDIA A30", "a30-24gb"},
                                             {"NVIDIA GH200 480GB", "gh200-96gb"},
                                             {"0x233010DE", "h100-80gb"},
                                             {"0X2bb510de", "rtx-pro-6000-bw-96gb"},
                                             {"thor-igpu", "thor-igpu"}};
    for (const auto& c : cases) {
      CAPTURE(c[0]);
      const auto p = find_mig_product(c[0]);
      REQUIRE(p);
      CHECK((*p)->id == c[1]);
    }
    for (const auto& m : catalogue::gpu_models)
      if (!m.mig_product.empty()) CHECK(find_mig_product(m.mig_product).has_value());
    for (const auto* bad : {"NVIDIA L40S", "", "0x00000000", "-MIG-", "nvidia-"}) CHECK_FALSE(find_mig_product(bad));
    CHECK(find_mig_product("NVIDIA H20").error().message() ==
          "MIG product: found 'NVIDIA H20', expected one of h20-96gb, h20-141gb");
  }

  TEST_CASE("Profiles are found by name, alias, id and resource name; those of another product are refused by name") {
    const auto& a100 = product("a100-40gb");
    constexpr std::string_view same[] = {"1g.5gb+me",
                                         "20",
                                         "nvidia.com/mig-1g.5gb.me",
                                         "mig-1g.5gb.me",
                                         "MIG 1g.5gb+me",
                                         "nvidia.com/mig-1g.5gb.me.shared"};
    for (const auto name : same) {
      CAPTURE(name);
      const auto p = find_mig_profile(a100, name);
      REQUIRE(p);
      CHECK(a100.profiles[p->profile].name == "1g.5gb+me");
    }
    const auto ci = find_mig_profile(a100, "1c.3g.20gb");
    REQUIRE(ci);
    CHECK(ci->compute_slices == 1U);
    CHECK(a100.profiles[ci->profile].id == 9);
    CHECK(find_mig_profile(product("a100-80gb"), "7g.79gb"));
    const auto& rtx = product("rtx-pro-6000-bw-96gb");
    CHECK(rtx.profiles[find_mig_profile(rtx, "mig-1g.24gb.me.all")->profile].id == 65);
    CHECK(rtx.profiles[find_mig_profile(rtx, "1g.24gb.gfx")->profile].id == 47);
    CHECK(rtx.profiles[find_mig_profile(rtx, "1g.24gb-me")->profile].id == 67);
    CHECK(find_mig_profile(a100, "1g.6gb").error().message() ==
          "MIG profile: found '1g.6gb', a profile of a30-24gb, expected a profile of a100-40gb: 1g.5gb, 1g.5gb+me, "
          "1g.10gb, 2g.10gb, "
          "3g.20gb, 4g.20gb, 7g.40gb");
    for (const auto* bad : {"", "8g.40gb", "1", "99", "5c.3g.20gb", "1c.", "1g.5gb+", "mig-"}) {
      CAPTURE(bad);
      CHECK_FALSE(find_mig_profile(a100, bad));
    }
  }

  TEST_CASE("Weak rows need an opt-in; products without placements are refused whatever is opted into") {
    CHECK(checked_mig_geometry(product("h100-80gb")));
    CHECK(checked_mig_geometry(product("a30-24gb")));
    CHECK(checked_mig_geometry(product("rtx-pro-6000-bw-96gb")));
    mig_geometry_options inferred, low;
    inferred.accept_inferred_placements = true;
    low.accept_low_confidence = true;
    CHECK_FALSE(checked_mig_geometry(product("h200-141gb")));
    CHECK(checked_mig_geometry(product("h200-141gb"), inferred));
    for (const auto* id : {"b300-269gb", "gb300-278gb", "pg506-96gb", "h20-141gb"}) {
      CHECK_FALSE(checked_mig_geometry(product(id), inferred));
      CHECK(checked_mig_geometry(product(id), low));
    }
    for (const auto* id : {"rtx-pro-5000-bw-48gb", "rtx-pro-4500-bw-32gb", "thor-igpu"}) {
      const auto g = checked_mig_geometry(product(id), low);
      REQUIRE_FALSE(g);
      CHECK(g.error().message().find(id) != std::string::npos);
    }
  }
}
