// The code of docs/quota.md.
#include <optional>
#include <utility>

#include "berth/quota/queue_tree.hpp"
#include "docs/pages.hpp"

TEST_CASE("docs: asking a queue tree") {
  berth::queue_tree_spec description;
  description.resources = {{"gpu", "", 1}, {"cpu", "", 1}};
  description.queues.resize(1);
  description.queues[0].name = "research";
  description.queues[0].quota.resize(2);
  description.queues[0].quota[0].guarantee = 12;
  description.queues[0].quota[1].guarantee = 200'000;
  const berth::resource_id gpu{0}, cpu{1};
  const berth::user_id user{7};
  const std::int64_t seconds = 3600;
  int reported = 0;
  const auto report = [&](const berth::admission& a) {
    ++reported;
    CHECK(a.refused_by == berth::quota_limit::guarantees);
    CHECK(a.available == 4);
  };
  for (int i = 0; i < 2; ++i) {
    static std::optional<berth::queue_tree> kept;
    if (i == 0) {
      // [quota-build]
      auto tree = berth::queue_tree::build(description);  // or the error, with file, line and queue
      if (!tree) return;
      tree->reserve_users(10'000);  // the only later call that allocates
      // [end]
      kept = std::move(*tree);
    }
    auto& tree = kept;
    const auto queue = tree->find("research");
    // [quota-ask]
    const berth::quota_demand request[] = {{gpu, 8}, {cpu, 64'000}};
    const auto answer = tree->may_admit(queue, request, user, seconds);
    if (answer) tree->add_usage(queue, request, user, seconds);
    else report(answer);  // which limit at which queue refuses how much of what, and what would fit
    // [end]
  }
  CHECK(reported == 1);
}
