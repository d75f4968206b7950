// Queues of every system, what they use, what GPUs were seen to do, openb's lists and Gavel's tables. A tree that is
// built can be divided.

#include "berth/io/gavel.hpp"
#include "berth/io/openb.hpp"
#include "berth/io/quota/dcgm_samples.hpp"
#include "berth/io/quota/read_queues.hpp"
#include "berth/quota/division/policies.hpp"
#include "berth/quota/share_book.hpp"
#include "fuzz.hpp"

namespace {

void check(const berth::gpu_samples& seen) {
  for (const auto& s : seen.samples) {
    if (s.device.empty()) fuzz::fail("a sample of no device");
    if (s.utilisation && !(*s.utilisation >= 0 && *s.utilisation <= 1))
      fuzz::fail("a utilisation that is no part of 1");
    if (s.memory_used && *s.memory_used < 0) fuzz::fail("memory below 0");
  }
}

void check(const berth::queue_file& file) {
  auto tree = berth::queue_tree::build(file.tree);
  if (!fuzz::good(tree)) return;
  const std::uint32_t queues = tree->queue_count(), resources = tree->resource_count();
  if (queues != file.tree.queues.size()) fuzz::fail("queues were lost");
  if (queues > 200 || resources > 20) return;
  const bool known = berth::with_division_policy(file.policy, [&](const auto& policy) {
    berth::share_book<std::decay_t<decltype(policy)>> book{*tree, policy};
    for (std::uint16_t r = 0; r < resources; ++r)
      for (std::uint32_t q = 0; q < queues; ++q)
        static_cast<void>(book.set_demand(berth::queue_id{q}, berth::resource_id{r}, (q % 3 + 1) * 1000));
    const auto& shares = book.shares();
    for (std::uint16_t r = 0; r < resources; ++r)
      for (std::uint32_t q = 0; q < queues; ++q)
        if (shares(q, r) < 0) fuzz::fail("a share below 0");
  });
  if (!known && file.system != "berth") fuzz::fail("a policy that does not exist");
}

void lists(const berth::named_text& file) {
  // Nodes and tasks may be halves of one input; otherwise one node stands for the cluster.
  const auto cut = file.text.find("\nname,");
  const berth::named_text first{file.name, file.text.substr(0, cut)};
  auto nodes = berth::read_openb_nodes(first);
  if (!fuzz::good(nodes))
    nodes = berth::read_openb_nodes({"one", "sn,cpu_milli,memory_mib,gpu,model\nn,96000,786432,8,A100\n"});
  if (!nodes) fuzz::fail("one node is not read");
  if (nodes->names.size() != nodes->nodes.size()) fuzz::fail("nodes without names");
  const berth::named_text second{file.name, cut == std::string::npos ? file.text : file.text.substr(cut + 1)};
  const auto tasks = berth::read_openb_tasks(second, *nodes);
  if (fuzz::good(tasks) && tasks->names.size() != tasks->tasks.size()) fuzz::fail("tasks without names");
}

void rates(const berth::named_text& file) {
  // Table and jobs may be halves of one input; otherwise a table of one line stands for the jobs'.
  const auto cut = file.text.find("\njob_id,");
  auto table = berth::read_gavel_throughputs({file.name, file.text.substr(0, cut)});
  if (!fuzz::good(table)) table = berth::read_gavel_throughputs({"one", "job_type,num_gpus,k80\nA3C,1,3.4\n"});
  if (!table) fuzz::fail("one line is not read");
  for (const auto& l : table->lines)
    if (l.on.size() != table->types.size()) fuzz::fail("a line without a rate for every type");
  const auto jobs =
      berth::read_gavel_jobs({file.name, cut == std::string::npos ? file.text : file.text.substr(cut + 1)}, *table);
  if (!fuzz::good(jobs)) return;
  const auto c = berth::classes_of(*table, *jobs);
  if (c.lines.size() > 8 || table->types.size() > 4) return;
  const std::vector<std::uint32_t> devices(table->types.size(), 3);
  if (const auto s = berth::max_min_type_shares(c.lines, devices))
    if (!(s->level >= 0)) fuzz::fail("a level below 0");
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size > fuzz::most_bytes) return 0;
  const auto file = fuzz::text_of(data, size);
  const bool samples = file.text.find("DCGM_FI_") != std::string::npos || file.text.find("uuid") != std::string::npos;
  if (samples || size % 8 == 0) {
    if (const auto s = berth::read_dcgm_text(file, 0); fuzz::good(s)) check(*s);
    if (const auto s = berth::read_gpu_csv(file, 0); fuzz::good(s)) check(*s);
  }
  if (file.text.find("cpu_milli") != std::string::npos) lists(file);
  if (file.text.find("job_type") != std::string::npos || file.text.find("\"null\"") != std::string::npos) rates(file);
  if (const auto f = berth::read_queues(file); fuzz::good(f)) check(*f);
  if (file.text.find("usage") != std::string::npos) {
    berth::queue_tree_spec two;
    two.source = "tree";
    two.resources = {{"gpu", "h100", 1}, {"cpu", "", 1}};
    for (const char* name : {"all", "research", "serving"}) {
      two.queues.emplace_back();
      two.queues.back().name = name;
      two.queues.back().quota.resize(2);
      if (two.queues.size() > 1) two.queues.back().parent = "all";
    }
    const auto tree = berth::queue_tree::build(two);
    if (!tree) fuzz::fail("the tree of three queues is not built");
    static_cast<void>(fuzz::good(berth::read_usage_json(file, *tree)));
  }
  return 0;
}
