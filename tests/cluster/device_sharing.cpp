// Shared GPUs: the terms of every mode, client after client.
#include "berth/cluster/device_sharing.hpp"

#include <doctest/doctest.h>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "berth/core/random.hpp"

using namespace berth;

namespace {

share_host host(std::uint32_t memory_mib = 80'000) {
  share_host h;
  h.memory_mib = memory_mib;
  return h;
}
share_ask ask(std::optional<std::uint32_t> memory_mib, unsigned cores = 0, unsigned replicas = 1,
              std::uint32_t user = 0) {
  return {memory_mib, static_cast<std::uint16_t>(cores), static_cast<std::uint16_t>(replicas), user};
}
template <class T>
std::string message(const expected<T, input_error>& e) {
  return e ? std::string{} : e.error().message();
}

// Clients one after the other: "ok", or why not.
std::vector<std::string> answers(const share_terms& t, const std::vector<share_ask>& asks) {
  share_use u;
  std::vector<std::string> out;
  for (const auto& a : asks) {
    const auto ok = check_share(t, u, a);
    if (ok) take_share(t, u, a);
    out.push_back(ok ? "ok" : share_fault_text(ok.error()));
  }
  return out;
}
std::string text(share_fault f) {
  return share_fault_text(f);
}

static_assert(mps_client_limit(false, {13, 1}) == 16);
static_assert(mps_client_limit(true, {12, 4}) == 48);
static_assert(mps_client_limit(true, {13, 0}) == 48);
static_assert(mps_client_limit(true, {13, 1}) == 60);
static_assert(mps_client_limit(true, {14, 0}) == 60);
static_assert(mps_client_limit_in_instance(48, 7, 7) == 48);
static_assert(mps_client_limit_in_instance(48, 1, 7) == 6);
static_assert(mps_client_limit_in_instance(60, 3, 7) == 25);
static_assert(mps_client_limit_in_instance(16, 1, 56) == 1);
static_assert(kubernetes_mps_memory_mib(81'559, 10) == 8155 && kubernetes_mps_percent(7) == 14);

}  // namespace

TEST_SUITE("cluster/device_sharing") {
  TEST_CASE("terms that a mode does not allow are refused with the limit") {
    share_host h = host(), old = h, cut = h, unknown;
    old.volta_or_later = false;
    cut.slices = 1, cut.of = 7;
    CHECK(mps_terms(h, 48));
    CHECK(message(mps_terms(h, 49)).find("1 to 48") != std::string::npos);
    h.cuda = {13, 1};
    CHECK(mps_terms(h, 60));
    CHECK(message(mps_terms(h, 61)).find("1 to 60") != std::string::npos);
    CHECK(message(mps_terms(old, 17)).find("1 to 16 before Volta") != std::string::npos);
    CHECK(mps_terms(cut, 6));
    CHECK(message(mps_terms(cut, 7)).find("1 to 6 inside that MIG instance") != std::string::npos);
    CHECK(kubernetes_mps_terms(h, 48));  // whatever the CUDA version
    CHECK(message(kubernetes_mps_terms(h, 60)).find("2 to 48") != std::string::npos);
    CHECK(message(kubernetes_mps_terms(old, 17)).find("2 to 16") != std::string::npos);
    CHECK(message(kubernetes_mps_terms(cut, 2)).find("a MIG instance") != std::string::npos);
    CHECK_FALSE(kubernetes_mps_terms(unknown, 4));
    CHECK_FALSE(fraction_terms(unknown));
    CHECK_FALSE(fraction_terms(h, 10, 0));
    CHECK_FALSE(fraction_terms(h, 0));
    CHECK_FALSE(time_slice_terms(h, 1));
    CHECK_FALSE(shard_terms(h, 0));
    CHECK(time_slice_terms(unknown, 4));
  }

  TEST_CASE("what each mode admits, client after client") {
    using enum share_fault;
    const auto check = [](const share_terms& t, const std::vector<share_ask>& asks, std::vector<std::string> want) {
      CHECK(answers(t, asks) == want);
    };
    const std::string ok = "ok";
    // Turns: memory is everybody's, so that it is said and summed; a second replica would be no larger share.
    check(
        *time_slice_terms(host(), 4),
        {ask(30'000), ask({}), ask(90'000), ask(1, 50), ask(1, 0, 2), ask(60'000), ask(50'000), ask(0), ask(0), ask(0)},
        {ok, text(memory_not_declared), text(beyond_memory), text(cores_not_limited), text(one_replica_only),
         text(no_memory_left), ok, ok, ok, text(no_clients_left)});
    check(*time_slice_terms(host(), 4, false), {ask(1, 0, 3), ask(1, 0, 5), ask(1, 0, 2), ask(1)},
          {ok, text(beyond_clients), text(no_clients_left), ok});
    check(*time_slice_terms({}, 4), {ask(1), ask({})}, {text(beyond_memory), text(memory_not_declared)});
    // MPS: one user; percentages are caps and may add up to more than 100, unless the terms sum them.
    check(*mps_terms(host(), 3), {ask(1000, 80, 1, 5), ask(1000, 80, 1, 6), ask(1000, 101, 1, 5), ask(1000, 80, 1, 5)},
          {ok, text(other_user), text(beyond_cores), ok});
    check(*mps_terms(host(), 3, 1000), {ask(1000, 80), ask(1000, 21), ask(1000, 20)}, {ok, text(no_cores_left), ok});
    // The plug-in's MPS: an even split, one each.
    check(*kubernetes_mps_terms(host(), 10), {ask({}), ask(8000), ask(8001), ask({}, 0, 2), ask({}, 11), ask({}, 10)},
          {ok, ok, text(beyond_memory), text(one_replica_only), text(beyond_cores), ok});
    // HAMi: both counted, 100 % is exclusive, no limit is refused where all cores are given away.
    check(*fraction_terms(host()),
          {ask(8000, 30), ask(70'000, 30), ask(100, 100), ask(73'000, 0), ask(72'000, 70), ask(0, 0)},
          {ok, ok, text(exclusive), text(no_memory_left), text(no_memory_left), ok});
    check(*fraction_terms(host()), {ask(8000, 100), ask(8000, 0)}, {ok, text(exclusive)});
    check(*fraction_terms(host()), {ask(8000, 60), ask(8000, 40), ask(8000, 0)}, {ok, ok, text(no_cores_left)});
    // Oversubscribed by half: the sum may be above, one client may not.
    check(*fraction_terms(host(), 10, 1500, 1500), {ask(80'001, 1), ask(80'000, 90), ask(40'000, 60), ask(1, 1)},
          {text(beyond_memory), ok, ok, text(no_memory_left)});
    // Shards know nothing of memory; who states it is still held to it.
    check(*shard_terms(host(), 8), {ask({}, 0, 5), ask({}, 0, 4), ask({}, 0, 9), ask(90'000), ask({}, 0, 3)},
          {ok, text(no_clients_left), text(beyond_clients), text(beyond_memory), ok});
    check({}, {ask(1)}, {text(not_shared)});
  }

  TEST_CASE("taking and giving back in any order leaves nothing; room and load agree with what is taken") {
    random_source random{8};
    for (const auto& t :
         {*time_slice_terms(host(), 40, false), *mps_terms(host(), 48), *kubernetes_mps_terms(host(), 9),
          *fraction_terms(host(), 20, 1500, 2000), *shard_terms(host(), 30)}) {
      share_use u;
      std::vector<share_ask> in;
      for (int i = 0; i < 2000; ++i) {
        if (in.empty() || random.below(3) != 0) {
          const bool cores = t.mode == share_mode::mps || t.mode == share_mode::fraction;
          const auto a = ask(static_cast<std::uint32_t>(random.below(9000)),
                             cores ? static_cast<unsigned>(random.below(3)) * 5 : 0,
                             t.one_replica_only ? 1 : 1 + static_cast<unsigned>(random.below(3)));
          const bool fits = static_cast<bool>(check_share(t, u, a));
          CHECK((share_room(t, u, a) > 0) == fits);
          if (!fits) continue;
          take_share(t, u, a);
          in.push_back(a);
        } else {
          const auto k = random.below(in.size());
          give_share(t, u, in[k]);
          in.erase(in.begin() + static_cast<std::ptrdiff_t>(k));
        }
        CHECK(u.replicas <= t.clients);
        CHECK(u.memory_mib <= std::uint64_t{80'000} * t.memory_factor / 1000);
        CHECK((share_load(t, u) <= 1000 || t.core_factor == 0));
      }
      for (const auto& a : in) give_share(t, u, a);
      CHECK(u == share_use{});
    }
  }
}
