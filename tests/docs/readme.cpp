// The program that README.md shows.
#include "docs/pages.hpp"

// The page shows a whole program; here it is a function of this test.
#define main first_program
// [readme]
#include <iostream>

#include "berth/cluster/presets.hpp"
#include "berth/place.hpp"

int main() {
  const auto spec = berth::make_preset("superpod-h100:su=4");  // 127 machines of 8 GPUs under four leaf domains
  berth::cluster live{*spec, {.jobs = 100, .tasks = 1000}};    // what is free and what is held
  berth::placer place{live};                                   // the default policies
  const berth::gang job{.groups = {{.name = "worker", .shape = {.devices = 8}, .wanted = 16, .minimum = 16}}};
  const auto answer = place(job);  // sixteen machines, or the reason why not
  if (!answer || !live.commit(berth::job_key{1}, answer.where)) return 1;
  std::cout << "all in " << live.tree().name(answer.level, answer.domain) << ":";
  for (const auto& task : answer.where.tasks) std::cout << ' ' << spec->nodes[task.node.index()].name;
  std::cout << '\n';
  return live.release(berth::job_key{1}) ? 0 : 1;
}
// [end]
#undef main

TEST_CASE("docs: the program of README.md") {
  berth_docs::printed out;
  const int code = first_program();
  berth_docs::check_output("readme", out.text());
  CHECK(code == 0);
}
