#include "berth/policy/compose.hpp"

#include <doctest/doctest.h>

#include <cstdint>
#include <string>
#include <tuple>
#include <type_traits>

#include "berth/policy/concepts.hpp"
#include "berth/policy/domain_fit.hpp"
#include "berth/policy/node_fit.hpp"

namespace {

using namespace berth;

// Policies as a user would write them: any number, any ordered type.
struct by_capacity {
  std::uint64_t score(const domain_view& d, std::uint64_t) const noexcept { return d.capacity; }
};
struct by_size {
  double score(const domain_view& d, std::uint64_t) const noexcept { return 1.0 / static_cast<double>(d.nodes); }
};
struct by_parity {
  bool score(const domain_view& d, std::uint64_t need) const noexcept { return d.domain.raw() % 2 == need % 2; }
};
struct share_used {
  static constexpr bool normalized = true;
  double score(const domain_view& d, std::uint64_t need) const noexcept {
    return static_cast<double>(need) / static_cast<double>(d.capacity);
  }
};
struct constant {
  static constexpr bool normalized = true;
  double value = 0;
  double score(const domain_view&, std::uint64_t) const noexcept { return value; }
};
struct claims_nothing {
  double score(const domain_view&, std::uint64_t) const noexcept { return 0; }
};
struct denies {
  static constexpr bool normalized = false;
  double score(const domain_view&, std::uint64_t) const noexcept { return 0; }
};

static_assert(scored_domain_policy<lexicographic<by_capacity, by_size, by_parity>>);
static_assert(domain_policy<lexicographic<by_capacity>> && !node_policy<lexicographic<by_capacity>>);
static_assert(node_policy<lexicographic<device_utilisation, bin_pack>> && !domain_policy<lexicographic<bin_pack>>);
static_assert(domain_policy<weighted<share_used, constant>> && node_policy<weighted<device_utilisation>>);
static_assert(domain_policy<lexicographic<weighted<share_used>, by_size>>, "they nest");
static_assert(!domain_policy<lexicographic<by_capacity, bin_pack>>,
              "a node policy among domain policies scores no domain");
static_assert(!domain_policy<lexicographic<fewest_domains>>, "an order without a score cannot be combined");
static_assert(normalized_policy<share_used> && !normalized_policy<claims_nothing> && !normalized_policy<denies>);
static_assert(!normalized_policy<weighted<share_used>>, "weights need not add up to one");
template <class... Ps>
concept can_be_weighted = requires {
  typename weighted<Ps...>;
};
static_assert(can_be_weighted<share_used, constant> && !can_be_weighted<share_used, claims_nothing> &&
              !can_be_weighted<denies>);
static_assert(std::is_same_v<decltype(lexicographic<by_capacity, by_parity>{}.score(domain_view{}, std::uint64_t{1})),
                             std::tuple<std::uint64_t, bool>>,
              "every part keeps its own type");
static_assert(std::is_empty_v<lexicographic<by_capacity, by_size>>, "policies without settings take no room");

domain_view domain(std::uint32_t id, std::uint64_t capacity, std::uint32_t nodes) {
  return {level_id{1}, domain_id{id}, capacity, nodes};
}

}  // namespace

TEST_CASE("lexicographic: a later policy only breaks ties of the earlier ones") {
  const lexicographic<by_capacity, by_size, by_parity> p;
  const auto score = [&](const domain_view& d) { return p.score(d, 2U); };
  CHECK(score(domain(1, 10, 99)) > score(domain(0, 9, 1)));  // the first decides alone
  CHECK(score(domain(1, 10, 4)) > score(domain(0, 10, 5)));  // it ties: the second decides
  CHECK(score(domain(2, 10, 4)) > score(domain(3, 10, 4)));  // both tie: the third decides
  CHECK(score(domain(2, 10, 4)) == score(domain(4, 10, 4)));
  const lexicographic<by_size, by_capacity> reversed;
  CHECK(reversed.score(domain(1, 10, 99), 2U) < reversed.score(domain(0, 9, 1), 2U));
}

TEST_CASE("lexicographic keeps the settings of its parts") {
  const lexicographic p{constant{0.25}, constant{0.75}};
  CHECK(p.score(domain(0, 1, 1), 1U) == std::tuple{0.25, 0.75});
}

TEST_CASE("weighted: the sum of the scores, each times its weight") {
  const weighted p{term{2.0, share_used{}}, term{0.5, constant{0.5}}};
  CHECK(p.score(domain(0, 8, 1), 4U) == doctest::Approx(2.0 * 0.5 + 0.5 * 0.5));
  CHECK(p.score(domain(0, 4, 1), 4U) == doctest::Approx(2.0 * 1.0 + 0.5 * 0.5));
  // What lexicographic never does: enough of the second outweighs the first.
  const weighted light{term{1.0, share_used{}}, term{10.0, constant{0.1}}};
  const weighted heavy{term{1.0, share_used{}}, term{10.0, constant{0.2}}};
  CHECK(light.score(domain(0, 4, 1), 4U) < heavy.score(domain(0, 8, 1), 4U));
  const weighted negative{term{-1.0, share_used{}}};
  CHECK(negative.score(domain(0, 4, 1), 4U) < negative.score(domain(0, 8, 1), 4U));
}

TEST_CASE("composites of node policies score nodes") {
  node_state s;
  s.installed = 0xff;
  s.free = 0x0f;
  const node_shape shape;
  const task_shape task{.devices = 2};
  const node_view view{node_id{0}, s, shape, 2, 0}, later{node_id{0}, s, shape, 2, 1};
  CHECK(device_utilisation{}.score(view, task) == doctest::Approx(0.75));
  CHECK(device_utilisation{}.score(later, task) == doctest::Approx(1.0));
  CHECK(weighted{term{4.0, device_utilisation{}}}.score(view, task) == doctest::Approx(3.0));
  CHECK(lexicographic{device_utilisation{}, bin_pack{}}.score(view, task) ==
        std::tuple{device_utilisation{}.score(view, task), bin_pack{}.score(view, task)});
  node_state none;
  CHECK(device_utilisation{}.score(node_view{node_id{0}, none, shape, 9, 0}, task_shape{.cpu = cpus(1)}) == 1.0);
}
