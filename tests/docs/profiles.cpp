// The code of docs/profiles.md.
#include <string>
#include <vector>

#include "docs/pages.hpp"

// [profile-rank]
#include "berth/policy/domain_rank.hpp"
#include "berth/profile/kueue.hpp"

// Kueue's best fit, but preferred affinity only breaks ties.
struct packed_first {
  berth::lexicographic<berth::most_leaders, berth::most_segments, berth::most_preferred, berth::fewest_tasks> rank{};
  static constexpr bool tightest_last = true;
};
// [end]

TEST_CASE("docs: a profile is asked, and its order changed") {
  // [profile-ask]
  berth::named_site site;
  site.levels = {"rack", "host"};
  for (const char* name : {"a1", "a2", "b1"}) {
    berth::site_node node;
    node.name = name;
    node.path = {std::string(1, name[0]), std::string{name}};  // its rack, itself
    node.capacity.set("gpu", 8'000);                           // thousandths
    node.capacity.set("pods", 110'000);
    node.free = node.capacity;
    site.nodes.push_back(node);
  }
  berth::named_request workers;
  workers.name = "workers";
  workers.count = 12;
  workers.per_task.set("gpu", 1'000);
  workers.mode = berth::topology_mode::required;
  workers.level = "rack";
  const auto answer = berth::kueue_topology{site}.place({workers})[0];  // a1: 8, a2: 4
  // [end]
  CHECK(answer.placements == std::vector<berth::placed_count>{{{"a1"}, 8}, {{"a2"}, 4}});

  // Small and preferred against large: the stock order asks for affinity first, ours for room.
  berth::counted_tree tree{1};
  const auto small = tree.add(berth::counted_tree::none, 0), large = tree.add(berth::counted_tree::none, 0);
  tree.counts[small].tasks = tree.counts[small].segments = 2;
  tree.counts[small].preference = 10;
  tree.counts[large].tasks = tree.counts[large].segments = 8;
  const berth::walk_request request;
  CHECK(berth::domain_walk<berth::best_fit>{tree, request}.ranked(tree.level(0), false).front() == small);
  CHECK(berth::domain_walk<packed_first>{tree, request}.ranked(tree.level(0), false).front() == large);
}
