#include "berth/profile/flux.hpp"

#include "berth/io/case/sequence.hpp"
#include "profile/samples.hpp"

using namespace berth;

namespace {

// Two hosts of two sockets with two cores, a GPU and 8 bytes each.
flux::machine two_hosts() {
  flux::machine m;
  for (std::int64_t h = 0; h < 2; ++h) {
    m.hosts.push_back({"node" + std::to_string(h), h, {}});
    for (std::int64_t s = 0; s < 2; ++s) {
      m.hosts.back().sockets.push_back(m.sockets.size());
      m.sockets.push_back({"node" + std::to_string(h) + "/socket" + std::to_string(s),
                           static_cast<std::size_t>(h),
                           s,
                           {2 * s, 2 * s + 1},
                           {s},
                           8,
                           {}});
    }
  }
  return m;
}
flux::request ask(flux::exclusive_part part, std::int64_t sockets, std::int64_t cores) {
  flux::request r;
  r.duration = 10;
  r.each = {cores, 0, 0};
  r.exclusive = part;
  r.sockets = sockets;
  return r;
}

}  // namespace

TEST_CASE("The samples of Flux's tests agree") {
  profile_test::check_samples("flux.json", case_io::answer_sequence, {});
}

TEST_CASE("Whole sockets go to the highest host first; what does not fit now is held for the earliest time") {
  flux::matcher<highest_number_first> m{two_hosts()};
  const auto one = ask(flux::exclusive_part::socket, 1, 1);
  for (const std::size_t expected : {3U, 2U, 1U, 0U}) {
    const auto p = m.match(one, false);
    REQUIRE(p);
    CHECK(p->at == 0);
    CHECK(p->pieces[0].socket == expected);
    CHECK(p->pieces[0].cores.front() == (expected % 2 == 1 ? 3 : 1));
  }
  CHECK_FALSE(m.match(one, false));
  const auto later = m.match(ask(flux::exclusive_part::socket, 2, 1), true);
  REQUIRE(later);
  CHECK(later->at == 10);
  CHECK(later->pieces.size() == 2);
  CHECK(m.match(ask(flux::exclusive_part::host, 2, 2), true)->at == 10);  // the other host
  CHECK(m.match(one, true)->at == 20);
  CHECK_FALSE(m.match(ask(flux::exclusive_part::socket, 1, 3), true));  // never fits
  CHECK_FALSE(m.match(ask(flux::exclusive_part::socket, 3, 1), true));  // no host has three sockets
}

TEST_CASE("Slots of cores without a host go where the lowest cores are free, host by host") {
  flux::matcher<lowest_number_first> m{two_hosts()};
  const auto slot = ask(flux::exclusive_part::none, 1, 1);
  for (const std::size_t expected : {0U, 2U, 0U, 2U, 1U, 3U, 1U, 3U}) {
    const auto p = m.match(slot, false);
    REQUIRE(p);
    CHECK(p->pieces[0].socket == expected);
  }
  CHECK_FALSE(m.match(slot, false));
}

TEST_CASE("A host of its own is taken whole, and keeps others off the sockets that it does not use") {
  flux::matcher<lowest_number_first> m{two_hosts()};
  CHECK(m.match(ask(flux::exclusive_part::host, 1, 1), false)->pieces[0].socket == 0);
  CHECK(m.match(ask(flux::exclusive_part::none, 1, 1), false)->pieces[0].socket == 2);
  CHECK_FALSE(m.match(ask(flux::exclusive_part::host, 1, 1), false));
}

TEST_CASE("Steps and requests of another form are not answered") {
  const auto a = profile_test::answer_text(
      "flux-sched", R"({"id": "t", "kind": "sequence", "policy": {"pick": "by the moon"}, "steps": []})",
      case_io::answer_sequence);
  REQUIRE(a);
  CHECK(a->why == "picking by the moon");
}

TEST_CASE("Negative amounts of a slot are errors, and parts of cores and GPUs are not answered") {
  const auto answer = [](const std::string& per_slot) {
    return profile_test::answer_text(
        "flux-sched",
        R"({"id": "t", "kind": "sequence", "policy": {"pick": "lowest id first"},
            "cluster": {"levels": ["host", "socket"],
                        "nodes": [{"name": "n", "path": ["node0", "socket0"], "cores": [0, 3], "gpus": [0]}]},
            "steps": [{"op": "match", "request": {"name": "j", "duration": 1, "exclusive": "socket", "sockets": 1,
                       "per_slot": )" +
            per_slot + R"(}, "expect": {"result": "placed", "at": 0, "placements": [{"node": "n", "cores": [0]}]}}]})",
        case_io::answer_sequence);
  };
  for (const char* bad : {R"({"gpu": -1})", R"({"cpu": -1000})", R"({"mem": -1})"}) {
    CAPTURE(bad);
    const auto a = answer(bad);
    REQUIRE_FALSE(a);
    CHECK(a.error().line == 5);
    CHECK(a.error().expected == "amounts of at least 0");
  }
  for (const char* part : {R"({"gpu": 0.5})", R"({"cpu": 1500})"}) CHECK(answer(part)->why.starts_with("parts of"));
  CHECK(answer(R"({"cpu": 1000})")->result == case_result::agrees);
}
