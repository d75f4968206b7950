// The offline MIG packer against a search that knows nothing of patterns, on 1,000 random instances.
#include "berth/solver/mig_packer.hpp"

#include <doctest/doctest.h>

#include <map>
#include <string_view>
#include <utility>
#include <vector>

#include "berth/core/random.hpp"
#include "berth/topology/mig_lookup.hpp"

using namespace berth;

namespace {

mig_geometry geometry(std::string_view product) {
  return make_mig_geometry(**find_mig_product(product));
}

// The fewest GPUs, by trying for one GPU after the other every set of instances that it could hold; nothing is shared
// with the packer but the geometry.
class plain_search {
 public:
  explicit plain_search(const mig_geometry& g) : g_{g} {
    std::map<mig_demand, int> seen;
    for_each_mig_layout(g_, [&](mig_set set, bool) {
      mig_demand d{};
      for_each_bit(set, [&](unsigned p) { ++d[g_.placement[p].profile]; });
      seen[d] = 1;
    });
    for (const auto& s : seen) sets_.push_back(s.first);
  }
  unsigned fewest(const mig_demand& d) {
    if (d == mig_demand{}) return 0;
    if (const auto m = memo_.find(d); m != memo_.end()) return m->second;
    unsigned first = 0;
    while (d[first] == 0) ++first;
    unsigned best = ~0U;
    for (const auto& s : sets_) {
      if (s[first] == 0) continue;
      mig_demand rest = d;
      bool inside = true;
      for (unsigned q = 0; q < rest.size() && inside; ++q) {
        inside = s[q] <= rest[q];
        if (inside) rest[q] -= s[q];
      }
      if (!inside) continue;
      const unsigned n = 1 + fewest(rest);
      best = n < best ? n : best;
    }
    return memo_[d] = best;
  }

 private:
  mig_geometry g_;
  std::vector<mig_demand> sets_;
  std::map<mig_demand, unsigned> memo_;
};

void check_layouts(const mig_geometry& g, const mig_demand& d, const mig_packing& p) {
  mig_demand held{};
  std::uint32_t gpus = 0;
  for (const auto& l : p.layouts) {
    REQUIRE(g.key_of(l.instances).has_value());
    gpus += l.copies;
    for_each_bit(l.instances, [&](unsigned i) { held[g.placement[i].profile] += l.copies; });
  }
  CHECK(held == d);
  CHECK(gpus == p.gpus);
  CHECK(p.lower_bound <= p.gpus);
}

}  // namespace

TEST_SUITE("solver/mig_packer") {
  TEST_CASE("1,000 random demands: as few GPUs as an exhaustive search, and the bound proves it") {
    random_source random{5};
    unsigned instances = 0;
    for (const auto* product : {"h100-80gb", "a30-24gb", "rtx-pro-6000-bw-96gb"}) {
      const auto g = geometry(product);
      const mig_packer packer{g};
      plain_search plain{g};
      const unsigned cases = product[0] == 'h' ? 600 : 200;
      for (unsigned i = 0; i < cases; ++i, ++instances) {
        mig_demand d{};
        const auto n = 1 + random.below(product[0] == 'r' ? 6 : 9);
        for (std::uint64_t k = 0; k < n; ++k) ++d[random.below(g.profiles)];
        const auto p = packer.pack(d);
        REQUIRE(p);
        check_layouts(g, d, *p);
        if (p->gpus != plain.fewest(d) || !p->optimal()) FAIL_CHECK("not the fewest, or not proven");
      }
    }
    CHECK(instances == 1000);
  }

  TEST_CASE("Large demands meet their bound") {
    random_source random{6};
    const auto g = geometry("h100-80gb");
    const mig_packer packer{g};
    for (int i = 0; i < 40; ++i) {
      mig_demand d{};
      for (unsigned q = 0; q < g.profiles; ++q) d[q] = static_cast<std::uint32_t>(random.below(q == 1 ? 20 : 300));
      const auto p = packer.pack(d);
      REQUIRE(p);
      check_layouts(g, d, *p);
      CHECK(p->optimal());
      CHECK(packer.most_compute(d, p->gpus) >= packer.most_compute(d, p->gpus - 1));
    }
  }

  TEST_CASE("The bound on compute slices is met where it was made, and holds for every other demand") {
    random_source random{7};
    const auto g = geometry("h100-80gb");
    const mig_packer packer{g};
    std::vector<mig_compute_bound> bounds;
    for (int i = 0; i < 200; ++i) {
      // What some legal layouts hold is what can be used: no bound is below it, whatever else is asked for.
      mig_demand d{};
      const auto gpus = static_cast<std::uint32_t>(1 + random.below(5));
      unsigned used = 0;
      for (std::uint32_t k = 0; k < gpus; ++k) {
        mig_set held = 0;
        for (int tries = 0; tries < 12; ++tries) {
          const mig_set bit = mig_set{1} << random.below(g.placements);
          if ((held & bit) != 0 || !g.key_of(held | bit)) continue;
          held |= bit;
          ++d[g.placement[lowest_bit(bit)].profile];
          used += g.compute_of(lowest_bit(bit));
        }
      }
      for (auto more = random.below(4); more-- > 0;) ++d[random.below(g.profiles)];
      bounds.push_back(packer.compute_bound(d, gpus));
      const double own = packer.most_compute(d, gpus);
      CHECK(own >= used - 1e-6);
      CHECK(own <= 7.0 * gpus + 1e-6);
      for (const auto& b : bounds) CHECK(b.of(d, gpus) >= own - 1e-6);
    }
  }

  TEST_CASE("Known answers: halves, stranded slices, media engines; and what is refused") {
    const auto g = geometry("a100-40gb");
    const mig_packer packer{g};
    const auto gpus = [&](std::initializer_list<std::pair<std::string_view, std::uint32_t>> want) {
      mig_demand d{};
      for (const auto& [name, n] : want) d[find_mig_profile(*g.product, name)->profile] += n;
      const auto p = packer.pack(d);
      REQUIRE(p);
      check_layouts(g, d, *p);
      CHECK(p->optimal());
      return p->gpus;
    };
    CHECK(gpus({}) == 0);
    CHECK(gpus({{"1g.5gb", 7}}) == 1);
    CHECK(gpus({{"1g.5gb", 8}}) == 2);
    CHECK(gpus({{"3g.20gb", 2}, {"1g.5gb", 1}}) == 2);  // two 3g hold all memory units, one compute slice is stranded
    CHECK(gpus({{"4g.20gb", 1}, {"2g.10gb", 1}, {"1g.5gb", 1}}) == 1);
    CHECK(gpus({{"4g.20gb", 2}, {"3g.20gb", 2}}) == 2);
    CHECK(gpus({{"1g.5gb+me", 3}}) == 3);
    CHECK(gpus({{"2g.10gb", 4}}) == 2);
    mig_demand none{};
    none[11] = 1;
    CHECK_FALSE(packer.pack(none));
    mig_demand huge{};
    huge[0] = 2'000'000;
    CHECK_FALSE(packer.pack(huge));
  }
}
