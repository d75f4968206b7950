// Which kind of device for whom, and advice for those who use little of theirs.
#include "berth/policy/device_kind.hpp"

#include <doctest/doctest.h>

#include <string_view>
#include <vector>

#include "berth/policy/mig_advice.hpp"
#include "berth/topology/mig_lookup.hpp"

using namespace berth;

namespace {

mig_geometry geometry(std::string_view product) {
  return *checked_mig_geometry(**find_mig_product(product));
}

}  // namespace

TEST_SUITE("policy/device_kind") {
  TEST_CASE("the table decides by the first rule that applies, and never for work that is not known well enough") {
    using enum work_kind;
    using enum latency_class;
    const auto g = geometry("h100-80gb");
    const kind_gpu h100{81'559, &g, true, {12, 4}}, no_mig{81'559, nullptr, true, {12, 4}};
    const auto rules = default_kind_rules();
    struct row {
      workload w;
      std::string_view use, profile;
      unsigned sharers;
      std::string_view without_mig;
    };
    const auto work = [](work_kind k, latency_class l, std::optional<std::uint32_t> memory,
                         std::optional<unsigned> busy,
                         std::uint32_t gpus = 1) { return workload{k, l, gpus, false, memory, busy}; };
    const row table[] = {
        {work(training, none, 70'000, 95), "whole-gpu", "", 1, "whole-gpu"},
        {work(training, none, 30'000, 40), "mig-large", "3g.40gb", 1, "whole-gpu"},
        {work(training, none, 30'000, 45), "mig-large", "4g.40gb", 1, "whole-gpu"},
        {work(training, none, 30'000, 40, 2), "whole-gpu", "", 1, "whole-gpu"},  // two GPUs need links
        {work(training, none, {}, {}), "whole-gpu", "", 1, "whole-gpu"},
        {work(online_inference, strict, 9'000, 10), "mig-small", "1g.10gb", 1, "whole-gpu"},
        {work(online_inference, strict, 18'000, 10), "mig-small", "1g.20gb", 1, "whole-gpu"},
        {work(online_inference, strict, 18'000, 25), "mig-small", "2g.20gb", 1, "whole-gpu"},
        {work(online_inference, strict, 38'000, 30), "mig-large", "3g.40gb", 1, "whole-gpu"},
        {work(online_inference, relaxed, 2'000, 3), "mig-small-mps", "1g.10gb", 4, "whole-gpu"},
        {work(online_inference, relaxed, 500, 1), "mig-small-mps", "1g.10gb", 6, "whole-gpu"},  // 48 clients × 1/7
        {work(batch_inference, none, 2'000, 12), "mig-small-mps", "1g.10gb", 1, "whole-gpu"},
        {work(batch_inference, none, 30'000, 40), "mig-large", "3g.40gb", 1, "whole-gpu"},
        {work(batch_inference, none, 60'000, 90), "whole-gpu", "", 1, "whole-gpu"},
        {work(development, none, 10'000, {}), "time-slice", "", 8, "time-slice"},
        {work(development, none, 10, {}), "time-slice", "", 1000, "time-slice"},  // as many replicas as a GPU may have
        {work(development, none, {}, 5), "whole-gpu", "", 1, "whole-gpu"},  // nothing would guard the memory
    };
    for (const auto& r : table) {
      CAPTURE(&r - table);
      const auto c = choose_device_kind(rules, r.w, h100);
      REQUIRE(c);
      CHECK(device_kind_names[static_cast<unsigned>(c->use)] == r.use);
      CHECK((c->profile ? g.row(*c->profile).name : std::string_view{}) == r.profile);
      CHECK(c->sharers == r.sharers);
      const auto without = choose_device_kind(rules, r.w, no_mig);
      REQUIRE(without);
      CHECK(device_kind_names[static_cast<unsigned>(without->use)] == r.without_mig);
    }
    for (const auto& r : rules) {
      CAPTURE(r.name);
      CHECK_FALSE(r.why.empty());
      CHECK_FALSE(r.source.empty());
    }
    CHECK_FALSE(choose_device_kind(rules, work(training, none, 90'000, 50), h100));  // larger than the GPU
    CHECK_FALSE(choose_device_kind(rules, work(training, none, 9'000, 101), h100));
    CHECK_FALSE(choose_device_kind({}, work(training, none, 9'000, 50), h100));
    // Other rules, other answers.
    auto mine = rules;
    mine.insert(mine.begin(), kind_rule{"mine", 0xff, 0xff, {}, {}, {}, device_kind::time_slice, "cheap", "the site"});
    CHECK(choose_device_kind(mine, work(training, none, 40'000, 95), h100)->use == device_kind::time_slice);
    workload linked = work(development, none, 100, 1);
    linked.peer_to_peer = true;
    CHECK(choose_device_kind(mine, linked, h100)->use ==
          device_kind::whole_gpu);  // a part has no links, whatever a rule says
  }

  TEST_CASE("who used under 30 % of the memory for a day is proposed the smallest profile that holds the peaks") {
    const auto g = geometry("h100-80gb");
    const auto seen = [](std::uint32_t peak, std::optional<unsigned> busy) {
      usage_seen u;
      u.memory_mib = 81'559;
      u.peak_memory_mib = peak;
      u.peak_compute = busy;
      u.seconds = 7 * 24 * 3600;
      return u;
    };
    const auto name = [&](const usage_seen& u) {
      const auto a = advise_mig(g, u);
      return a ? g.row(a->profile).name : std::string_view{};
    };
    CHECK(name(seen(6'000, 10)) == "1g.10gb");
    CHECK(name(seen(6'000, 20)) == "2g.20gb");   // 24 % with headroom is more than one seventh
    CHECK(name(seen(12'000, 10)) == "1g.20gb");  // double memory instead of a second slice
    CHECK(name(seen(20'000, 30)) == "3g.40gb");
    CHECK(name(seen(20'000, 45)) == "4g.40gb");
    const auto a = *advise_mig(g, seen(6'000, 10));
    CHECK(a.memory_used == 8);
    CHECK(a.memory_needed_mib == 7'200);
    CHECK(a.memory_offered_mib >= 7'200);
    CHECK(a.compute_needed == 12);
    CHECK(a.slices_now == 7);
    CHECK(a.slices_then == 1);
    CHECK(a.per_gpu == 7);
    // Why not.
    const auto why = [&](const usage_seen& u) { return advise_mig(g, u).error(); };
    CHECK(why(seen(24'468, 10)) == no_mig_advice::uses_enough);  // 30 % is not below 30 %
    CHECK(advise_mig(g, seen(24'467, 10)));
    CHECK(why(seen(6'000, 80)) == no_mig_advice::nothing_smaller);
    CHECK(why(seen(6'000, {})) == no_mig_advice::compute_unknown);
    CHECK(why(seen(90'000, 10)) == no_mig_advice::bad_numbers);
    CHECK(why(seen(6'000, 101)) == no_mig_advice::bad_numbers);
    auto u = seen(6'000, 10);
    u.seconds = 3600;
    CHECK(why(u) == no_mig_advice::watched_too_short);
    u = seen(6'000, 10);
    u.linked = true;
    CHECK(why(u) == no_mig_advice::linked);
    // Inside an instance, percent are those of the instance.
    u = seen(5'000, 30);
    u.profile = find_mig_profile(*g.product, "3g.40gb")->profile;
    u.memory_mib = 40'448;
    CHECK(name(u) == "2g.20gb");  // 30 % of 3 slices with headroom is 1.08 slices
    u.peak_compute = 25;
    CHECK(name(u) == "1g.10gb");
    u.profile = find_mig_profile(*g.product, "1g.10gb")->profile;
    u.memory_mib = 9'984;
    u.peak_memory_mib = 100;
    CHECK(why(u) == no_mig_advice::nothing_smaller);
  }
}
