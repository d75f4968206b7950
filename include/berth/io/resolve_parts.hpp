#pragma once
/// \file
/// From parts of GPUs in words to a need on a concrete cluster: MIG profiles become requests, shares become thousandths
/// and MiB.

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "berth/cluster/cluster.hpp"
#include "berth/cluster/part_setup.hpp"
#include "berth/core/error.hpp"
#include "berth/core/expected.hpp"
#include "berth/io/job_spec.hpp"
#include "berth/io/text.hpp"

namespace berth::job_detail {

[[nodiscard]] inline std::string mig_words(const group_spec& g) {
  std::string out;
  for (const named_count& m : g.mig)
    out += (out.empty() ? "" : " and ") + std::to_string(m.count) + " x MIG profile " + io_text::quoted(m.name);
  return out;
}
[[nodiscard]] inline std::string share_words(const gpu_share_spec& s) {
  std::string out = s.thousandths != 0 ? std::to_string(s.thousandths) + " thousandths" : "";
  if (s.memory.count() != 0) out += (out.empty() ? "" : " and ") + io_text::memory_text(s.memory);
  else if (s.part_of_memory() != s.thousandths)
    out += (out.empty() ? "" : " and ") + std::to_string(s.part_of_memory()) + " thousandths of the memory";
  return out + " of " + io_text::counted(s.portions, "GPU");
}

/// A share as a need: memory in MiB, rounded up, or as a part of what the device has.
[[nodiscard]] inline part_need need_of_share(const gpu_share_spec& s) noexcept {
  if (s.memory.count() == 0) return part_need::fraction(s.thousandths, s.part_of_memory(), s.portions);
  const std::int64_t mib = (s.memory.count() + (std::int64_t{1} << 20) - 1) >> 20;
  return part_need::share(s.thousandths, static_cast<std::uint32_t>(mib < 0xffffffff ? mib : 0xffffffff), s.portions);
}

/// Replicas or shards as thousandths of a GPU, and as much of its memory where no amount is stated.
template <class Refuse>
[[nodiscard]] expected<part_need, input_error> replicas_of_group(const group_spec& g, const cluster& c, Refuse refuse) {
  const std::string what = io_text::counted(g.gpu_replicas, "replica") + " of a GPU";
  unsigned all = 0;
  for (const part_model& m : c.inside().parts().catalogue().models) {
    if (!m.shares || m.clients > 1000 || m.clients < 2) continue;
    if (all != 0 && m.clients != all) return refuse(what, "GPUs that are all shared by as many");
    all = m.clients;
  }
  if (all == 0) return refuse(what, "GPUs that are shared in replicas or shards");
  if (g.gpu_replicas > all) return refuse(what, "at most the " + std::to_string(all) + " that a GPU has");
  const unsigned part = 1000 / all * g.gpu_replicas;
  if (!g.share) return part_need::fraction(part, part).of_user(g.gpu_user_id);
  if (g.share->thousandths != 0 || g.share->memory.count() == 0 || g.share->portions != 1)
    return refuse(what + " and " + share_words(*g.share), "replicas, and of one GPU an amount of memory");
  gpu_share_spec s = *g.share;
  s.thousandths = part;
  return need_of_share(s).of_user(g.gpu_user_id);
}

/// What a group asks for in parts; no need where it asks for none. Registers its MIG request with the cluster. An error
/// where the cluster hands out no parts, for a profile that none of its GPUs has, for parts beside whole GPUs or beside
/// wishes for the inside of a node other than a NIC, and for more instances than a task may have.
[[nodiscard]] inline expected<part_need, input_error> parts_wherever(const group_spec& g, cluster& c,
                                                                     const std::string& source) {
  const auto refuse = [&](std::string found, std::string wanted) {
    return unexpected{input_error{source, 0, "group " + io_text::quoted(g.name) + " asking for " + std::move(found),
                                  std::move(wanted)}};
  };
  if (!asks_for_parts(g)) return part_need{};
  const std::string what = !g.mig.empty() ? mig_words(g)
                           : g.share      ? share_words(*g.share)
                                          : io_text::counted(g.gpu_replicas, "replica") + " of a GPU";
  if (!c.inside().parts().is_on()) return refuse(what, "whole GPUs: this cluster hands out no parts of them");
  const bool nested = !g.mig.empty() && g.share && !c.inside().parts().catalogue().inside.empty();
  if (g.gpus != 0 || (!g.mig.empty() && g.share && !nested) || (!g.mig.empty() && g.gpu_replicas != 0))
    return refuse(what + (g.gpus != 0 ? " beside whole GPUs" : " beside shares of GPUs"),
                  "one kind per group: a group of its own for each" +
                      std::string{g.gpus == 0 && g.share ? ", or a cluster whose MIG instances are shared" : ""});
  if (binding_need rest = g.bind; rest.near_nic = false, rest.asks())
    return refuse(what + " and for NUMA nodes, host bandwidth or a ratio of CPUs",
                  "whole GPUs: of the inside of a node, parts can only have a NIC beside them");
  if (g.exclusive) return refuse(what + " on exclusive nodes", "whole GPUs, which fill a node");
  if (g.gpu_replicas != 0) return replicas_of_group(g, c, refuse);
  if (nested) {
    if (g.mig.size() != 1 || g.mig[0].count != 1 || g.share->portions != 1)
      return refuse(what + " and a share of them", "a share of one instance");
    const std::string_view profile = g.mig[0].name;
    auto request = make_mig_request(c.inside().parts().catalogue(), {&profile, 1});
    if (!request) return refuse(request.error().found, request.error().expected);
    bool shared = false;
    for (unsigned p = 0; p < request->products.size(); ++p)
      shared = shared || (request->products[p].count == 1 &&
                          c.inside().parts().inside(p, request->products[p].profiles[0]) != nullptr);
    if (!shared) return refuse("a share of " + what, "a profile whose instances are shared");
    const mig_request_id id = c.add_mig_request(*request);
    if (!id) return refuse(what, "fewer kinds of MIG requests in one cluster");
    return need_of_share(*g.share).of_user(g.gpu_user_id).in_instance(id);
  }
  if (g.share) {
    const part_need need = need_of_share(*g.share).of_user(g.gpu_user_id);
    if (!need.is_valid()) return refuse(what, "at most 63 GPUs per task");
    return need;
  }
  std::int64_t instances = 0;
  for (const named_count& m : g.mig) instances += m.count < 1000 ? m.count : 1000;
  if (instances > max_task_instances)
    return refuse(what, "at most " + std::to_string(max_task_instances) + " MIG instances per task");
  const bool one_gpu = g.mig_on == mig_spread_rule::one_gpu;
  if (g.mig.size() > 1 && !one_gpu)
    return refuse(what,
                  "instances of several profiles on one GPU (mig-on=one-gpu), or a group of its own for each profile");
  std::vector<std::string_view> profiles;
  for (const named_count& m : g.mig)
    for (std::int64_t i = 0; i < (one_gpu ? m.count : 1); ++i) profiles.push_back(m.name);
  auto request = make_mig_request(c.inside().parts().catalogue(), {profiles.data(), profiles.size()});
  if (!request) {
    input_error e = std::move(request).error();
    return refuse(e.found, e.expected);
  }
  const mig_request_id id = c.add_mig_request(*request);
  if (!id) return refuse(what, "fewer kinds of MIG requests in one cluster");
  return part_need::mig(id, one_gpu ? 1U : static_cast<unsigned>(instances), g.mig_on == mig_spread_rule::apart);
}

/// The same, beside a NIC where the group wants that.
[[nodiscard]] inline expected<part_need, input_error> parts_of_group(const group_spec& g, cluster& c,
                                                                     const std::string& source) {
  auto need = parts_wherever(g, c, source);
  if (need && g.bind.near_nic) *need = need->beside_nic();
  return need;
}

}  // namespace berth::job_detail
