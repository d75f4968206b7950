#pragma once
/// \file
/// Jobs that ask for CPUs or memory of nodes for which nobody states any. Such nodes count as having none, so that
/// nothing is promised there; whether the job could run is not known, which is another answer than "never".

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>

#include "berth/cluster/cluster.hpp"
#include "berth/core/error.hpp"
#include "berth/io/job_spec.hpp"
#include "berth/io/stated_by.hpp"
#include "berth/io/text.hpp"

namespace berth::job_detail {

/// A fault where no node is known to be large enough for a task of the group, and some would be but for CPUs or memory
/// that nobody states of them. O(kinds of nodes), and O(nodes) to say it. \param ways  how else they could be stated
[[nodiscard]] inline std::optional<input_error> unknown_amounts(const group_spec& s, const node_filter& f,
                                                                const cluster& c, const std::string& source,
                                                                const stated_by& ways) {
  if (s.cpu.count() == 0 && s.memory.count() == 0) return std::nullopt;
  const auto lacks_cpu = [&](const node_class& k) { return s.cpu.count() != 0 && k.cpu.count() == 0; };
  const auto lacks_memory = [&](const node_class& k) { return s.memory.count() != 0 && k.memory.count() == 0; };
  const auto may_hold = [&](const node_class& k) {
    const eligibility e = evaluate(f, k, c.shapes()[k.shape.index()]);
    return e.admits && static_cast<std::uint32_t>(count_bits(e.devices)) >= s.gpus &&
           (k.cpu >= s.cpu || lacks_cpu(k)) && (k.memory >= s.memory || lacks_memory(k));
  };
  bool cpu = false, memory = false;
  for (const node_class& k : c.classes()) {
    if (!may_hold(k)) continue;
    if (!lacks_cpu(k) && !lacks_memory(k)) return std::nullopt;
    cpu = cpu || lacks_cpu(k);
    memory = memory || lacks_memory(k);
  }
  if (!cpu && !memory) return std::nullopt;
  std::size_t nodes = 0;
  for (std::uint32_t n = 0; n < c.node_count(); ++n)
    nodes += c.is_member(node_id{n}) && may_hold(c.class_of(node_id{n})) ? 1U : 0U;
  const std::string what = cpu && memory ? "CPUs and memory" : cpu ? "CPUs" : "memory";
  const std::string asked = (cpu ? io_text::cpus_text(s.cpu) + " CPUs" : "") + (cpu && memory ? " and " : "") +
                            (memory ? io_text::memory_text(s.memory) + " of memory" : "");
  const std::string cpu_way = cpu ? ways.cpus : "", memory_way = memory ? ways.memory : "";
  const std::string way = cpu_way + (!cpu_way.empty() && !memory_way.empty() ? " and " : "") + memory_way;
  return input_error{source, 0,
                     "group " + io_text::quoted(s.name) + " asking for " + asked +
                         " per task, where nobody states the " + what + " of the " + io_text::counted(nodes, "node") +
                         " that might hold it",
                     "a file that states the " + what + " of these nodes" + stated_by::words(", or ", way)};
}

}  // namespace berth::job_detail
