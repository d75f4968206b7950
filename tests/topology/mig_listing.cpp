// Lists of instances, claims and compute instances in words: what contradicts the table is refused by name.
#include "berth/topology/mig_listing.hpp"

#include <doctest/doctest.h>

#include <string>
#include <vector>

#include "berth/topology/catalogue/mig_products.hpp"
#include "berth/topology/mig_compute.hpp"
#include "berth/topology/mig_lookup.hpp"

using namespace berth;

namespace {

mig_geometry geometry(std::string_view product) {
  return *checked_mig_geometry(**find_mig_product(product));
}

std::string refusal(const mig_geometry& g, std::vector<mig_listed_instance> list) {
  const auto r = read_mig_listing(g, list, "node7");
  return r ? "read" : r.error().message();
}
std::string refusal(std::vector<mig_claim_item> items) {
  const auto r = read_mig_claim(items);
  return r ? "read" : r.error().message();
}
bool has(const std::string& text, std::string_view part) {
  return text.find(part) != std::string::npos;
}

}  // namespace

TEST_SUITE("topology/mig_listing") {
  TEST_CASE("a node's list of instances is taken over whole, or refused for what contradicts the geometry") {
    const auto g = geometry("h100-80gb");
    const std::vector<mig_listed_instance> good = {
        {"4g.40gb", 0, 4, {}}, {"nvidia.com/mig-1g.10gb.me", 4, {}, {}}, {"19", 5, 1, {1}}, {"1g.10gb", 6, {}, {}}};
    const auto held = read_mig_listing(g, good);
    REQUIRE(held);
    CHECK(count_bits(*held) == 4);
    CHECK(g.key_of(*held));
    CHECK(*read_mig_listing(g, {}) == 0);

    CHECK(has(refusal(g, {{"4g.40gb", 0, {}, {}}, {"3g.40gb", 0, {}, {}}}), "node7:2: found 3g.40gb@0 beside"));
    CHECK(has(refusal(g, {{"4g.40gb", 4, {}, {}}}), "one of its starts: 0"));
    CHECK(has(refusal(g, {{"3g.40gb", 4, 3, {}}}), "3 placement units, expected 4"));  // 3g takes 4 units, not 3
    CHECK(has(refusal(g, {{"1g.10gb", 1, {}, {}}, {"1g.10gb", 1, {}, {}}}), "twice"));
    CHECK(has(refusal(g, {{"1g.10gb+me", 0, {}, {}}, {"1g.10gb+me", 1, {}, {}}}), "beside what is listed"));
    CHECK(has(refusal(g, {{"1g.5gb", 0, {}, {}}}), "a profile of a100-40gb"));
    CHECK(has(refusal(g, {{"9g.90gb", 0, {}, {}}}), "9g.90gb"));
    mig_geometry_options some;
    some.profiles = 1;
    const auto only = *checked_mig_geometry(**find_mig_product("h100-80gb"), some);
    CHECK(has(refusal(only, {{"7g.80gb", 0, {}, {}}}), "does not offer"));
    // 1g of an RTX PRO 6000 is three units wide; +me.all beside anything but -me takes engines that are not there.
    const auto rtx = geometry("rtx-pro-6000-bw-96gb");
    CHECK(refusal(rtx, {{"1g.24gb", 3, 3, {}}}) == "read");
    CHECK(has(refusal(rtx, {{"1g.24gb", 1, {}, {}}}), "one of its starts: 0 3 6 9"));
    CHECK(has(refusal(rtx, {{"1g.24gb+me.all", 0, {}, {}}, {"1g.24gb", 3, {}, {}}}), "beside what is listed"));
  }

  TEST_CASE("compute instances divide the slices of their GPU instance; what the table does not name is refused") {
    const auto g = geometry("a100-40gb");
    const auto& row = g.row(find_mig_profile(*g.product, "3g.20gb")->profile);
    mig_compute_use use;
    CHECK(add_compute_instance(row, use, 1));
    CHECK(add_compute_instance(row, use, 2));
    CHECK(use.slices() == 3);
    const auto full = use;
    CHECK(add_compute_instance(row, use, 1).error() == mig_compute_fault::no_slices_left);
    CHECK(add_compute_instance(row, use, 4).error() == mig_compute_fault::no_such_instance);
    CHECK(add_compute_instance(row, use, 0).error() == mig_compute_fault::no_such_instance);
    CHECK(use == full);
    CHECK(remove_compute_instance(use, 2));
    CHECK(remove_compute_instance(use, 2).error() == mig_compute_fault::not_there);
    CHECK(remove_compute_instance(use, 9).error() == mig_compute_fault::not_there);
    CHECK(add_compute_instance(row, use, 2));
    // Every profile of every product: as many of each kind as the table says fit, and never more slices than there are.
    for (const auto& p : catalogue::mig_products)
      for (const auto& q : p.profiles)
        for (const auto& c : q.compute_instances) {
          CAPTURE(p.id);
          CAPTURE(q.name);
          mig_compute_use u;
          unsigned n = 0;
          while (add_compute_instance(q, u, c.slices)) ++n;
          CHECK(n == c.most);
          CHECK(u.slices() <= q.compute);
        }
    CHECK(has(refusal(g, {{"3g.20gb", 4, {}, {2, 2}}}), "compute instances of more or other slices"));
    CHECK(refusal(g, {{"3g.20gb", 4, {}, {2, 1}}}) == "read");
  }

  TEST_CASE("a claim is of one product; unknown products and profiles are refused with their place in it") {
    const auto claim = read_mig_claim(std::vector<mig_claim_item>{{"H100-80GB", "4g.40gb"}, {"", "1g.10gb"}});
    REQUIRE(claim);
    CHECK(claim->product->id == "h100-80gb");
    CHECK(claim->profiles.size() == 2);
    CHECK(has(refusal({{"h100-80gb", "1g.10gb"}, {"a100-40gb", "1g.5gb"}}),
              "MIG claim:2: found a100-40gb beside h100-80gb"));
    CHECK(has(refusal({{"h100-80gb", "1g.10gb"}, {"", "1g.5gb"}}), "MIG claim:2"));
    CHECK(has(refusal({{"h100-80gb", "1g.10gb"}, {"", "1g.5gb"}}), "a profile of a100-40gb"));
    CHECK(has(refusal({{"v100", "1g.10gb"}}), "MIG claim:1"));
    CHECK(has(refusal({{"", "1g.10gb"}}), "no product"));
    CHECK(has(refusal(std::vector<mig_claim_item>(13, {"h100-80gb", "1g.10gb"})), "13 instances"));
    CHECK(has(refusal(std::vector<mig_claim_item>{}), "0 instances"));
  }
}
