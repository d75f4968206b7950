// The code of docs/packing.md.
#include <vector>

#include "docs/pages.hpp"

// [packing]
#include "berth/policy/future_value.hpp"
#include "berth/solver/packer.hpp"

// Two tasks of half a GPU and eight cores each on two nodes; the GPUs of each that the first got.
std::vector<berth::packed_task> place_two() {
  berth::share_node node;
  node.cpu = berth::cpus(64);
  node.memory = berth::gibibytes(512);
  node.devices = 2;
  node.free[0] = node.free[1] = berth::whole_device;
  berth::packer<berth::future_value> pack{{node, node}, berth::future_value{}};

  berth::share_task task;
  task.cpu = berth::cpus(8);
  task.devices = 1;
  task.share = 500;  // thousandths of a GPU
  std::vector<berth::packed_task> out;
  for (int i = 0; i < 2; ++i)
    if (const auto where = pack.place(task)) out.push_back(*where);  // nothing: it fits nowhere now
  pack.release(task, out.back());                                    // when it ends
  return out;
}
// [end]

TEST_CASE("docs: packing two halves uses one GPU") {
  const auto where = place_two();
  REQUIRE(where.size() == 2);
  CHECK(where[0].node == where[1].node);
  CHECK(where[0].devices == where[1].devices);
}
