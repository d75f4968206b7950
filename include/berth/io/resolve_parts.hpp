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
#include "berth/cluster/device_sharing.hpp"
#include "berth/cluster/part_catalogue.hpp"
#include "berth/cluster/part_setup.hpp"
#include "berth/cluster/share_parts.hpp"
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
/// \param least  thousandths of a replica, which it takes in any case; 0 where none are counted
[[nodiscard]] inline part_need need_of_share(gpu_share_spec s, unsigned least = 0) noexcept {
  if (s.thousandths == 0 && s.memory.count() != 0) s.thousandths = least;
  if (s.memory.count() == 0) return part_need::fraction(s.thousandths, s.part_of_memory(), s.portions);
  const std::int64_t mib = (s.memory.count() + (std::int64_t{1} << 20) - 1) >> 20;
  return part_need::share(s.thousandths, static_cast<std::uint32_t>(mib < 0xffffffff ? mib : 0xffffffff), s.portions);
}

/// Whether a group that wants one of `models`, or any where there are none, may get a GPU of that one.
[[nodiscard]] inline bool may_get(const std::vector<std::string>& models, const std::string& model) {
  bool any = models.empty();
  for (const std::string& m : models) any = any || m == model;
  return any;
}

[[nodiscard]] constexpr unsigned most_of(unsigned a, unsigned b) noexcept {
  return a > b ? a : b;
}

/// What one task asks of one device, in the words of its terms. Memory that is a part of the device's is an amount.
[[nodiscard]] inline share_ask ask_on_terms(const group_spec& g, const share_terms& t) noexcept {
  share_ask a;
  a.user = g.gpu_user_id;
  if (g.gpu_replicas != 0) a.replicas = static_cast<std::uint16_t>(g.gpu_replicas < 1001 ? g.gpu_replicas : 1001);
  std::uint64_t mib = 0;
  if (g.share && g.share->memory.count() != 0)
    mib = (static_cast<std::uint64_t>(g.share->memory.count()) + (std::uint64_t{1} << 20) - 1) >> 20;
  else if (g.share) mib = std::uint64_t{t.memory_mib.value_or(0)} * g.share->part_of_memory() / 1000;
  else mib = std::uint64_t{t.memory_mib.value_or(0)} * a.replicas / (t.clients != 0 ? t.clients : 1U);
  a.memory_mib = static_cast<std::uint32_t>(mib < 0xffffffff ? mib : 0xffffffff);
  if (g.share && g.share->thousandths != 0)
    a.cores = static_cast<std::uint16_t>(g.share->thousandths < 10 ? 1 : g.share->thousandths / 10);
  return a;
}

/// The limit that a group is over, for messages.
[[nodiscard]] inline std::string limit_words(const share_terms& t, share_fault f) {
  const std::string mode = share_mode_name(t.mode), n = std::to_string(t.clients);
  switch (f) {
    case share_fault::beyond_clients:
      return "at most the " + n + " that a GPU has";
    case share_fault::one_replica_only:
      return "1 replica per task: of " + mode + " in " + n + " replicas a second one is no larger share";
    case share_fault::cores_not_limited:
      return "no part of the compute, which " + mode + " does not limit: replicas, shards or an amount of memory";
    case share_fault::beyond_cores:
      return "at most " + std::to_string(t.even_split ? kubernetes_mps_percent(t.clients) : 100) +
             " percent of the compute" + (t.even_split ? ", which each of " + n + " equal replicas gets" : "");
    case share_fault::beyond_memory:
      if (!t.memory_mib) return "GPUs whose memory is known";
      return "at most " +
             std::to_string(t.even_split ? kubernetes_mps_memory_mib(*t.memory_mib, t.clients) : *t.memory_mib) +
             " MiB" + (t.even_split ? ", which each of " + n + " equal replicas gets" : "");
    default:
      return share_fault_text(f);
  }
}

/// The limit of the terms that no task of the group may be over, whatever else is on the device; nothing where it keeps
/// to them. Memory beyond the device is left to the placer, which counts it, unless the terms make it less.
[[nodiscard]] inline std::optional<std::string> limit_exceeded(const group_spec& g, share_terms t) {
  if (t.mode == share_mode::none) return std::nullopt;
  // A replica, or one client, has a known part of memory that is not.
  if (!g.share && !t.memory_mib) t.undeclared_memory = true;
  const bool one_by_one = t.mode != share_mode::time_slice && t.mode != share_mode::shards && !t.even_split;
  if (one_by_one && g.gpu_replicas > 1)
    return "1 client per task: " + std::string{share_mode_name(t.mode)} + " counts no replicas";
  if (g.share && g.share->portions > 1 && t.one_replica_only) return limit_words(t, share_fault::one_replica_only);
  share_ask a = ask_on_terms(g, t);
  if (t.undeclared_memory && !t.memory_mib) a.memory_mib.reset();
  const auto ok = check_share(t, {}, a);
  const bool counted = !ok && ok.error() == share_fault::beyond_memory && !t.even_split &&
                       (t.memory_mib || (g.share && g.share->memory.count() != 0));
  if (ok || counted) return std::nullopt;
  return limit_words(t, ok.error());
}

/// The same on the GPUs that the group may get, with their model.
[[nodiscard]] inline std::optional<std::string> limit_of_models(const group_spec& g, const cluster& c,
                                                                const std::vector<std::string>& models) {
  for (const part_model& m : c.inside().parts().catalogue().models)
    if (m.shares && may_get(models, m.name))
      if (auto limit = limit_exceeded(g, m.terms))
        return *limit + (m.name.empty() ? "" : ", on GPUs of model " + io_text::quoted(m.name));
  return std::nullopt;
}

/// Replicas or shards as thousandths of a GPU, and as much of its memory where no amount is stated.
template <class Refuse>
[[nodiscard]] expected<part_need, input_error> replicas_of_group(const group_spec& g, const cluster& c,
                                                                 const std::vector<std::string>& models,
                                                                 Refuse refuse) {
  const std::string what = io_text::counted(g.gpu_replicas, "replica") + " of a GPU";
  unsigned all = 0;
  for (const part_model& m : c.inside().parts().catalogue().models) {
    if (!m.shares || m.clients > 1000 || m.clients < 2 || !may_get(models, m.name)) continue;
    if (all != 0 && m.clients != all) return refuse(what, "GPUs that are all shared by as many");
    all = m.clients;
  }
  if (all == 0) return refuse(what, "GPUs that are shared in replicas or shards");
  if (g.gpu_replicas > all) return refuse(what, "at most the " + std::to_string(all) + " that a GPU has");
  if (g.share && (g.share->thousandths != 0 || g.share->memory.count() == 0 || g.share->portions != 1))
    return refuse(what + " and " + share_words(*g.share), "replicas, and of one GPU an amount of memory");
  if (const auto limit = limit_of_models(g, c, models))
    return refuse(what + (g.share ? " and " + share_words(*g.share) : ""), *limit);
  const unsigned part = 1000 / all * g.gpu_replicas;
  if (!g.share) return part_need::fraction(part, part).of_user(g.gpu_user_id);
  gpu_share_spec s = *g.share;
  s.thousandths = part;
  return need_of_share(s).of_user(g.gpu_user_id);
}

/// What a group asks for in parts; no need where it asks for none. Registers its MIG request with the cluster. An error
/// where the cluster hands out no parts, for a profile that none of its GPUs has, for parts beside whole GPUs or beside
/// wishes for the inside of a node other than a NIC, for more instances than a task may have, and for what the terms
/// never allow on which the GPUs or instances are shared.
[[nodiscard]] inline expected<part_need, input_error> parts_wherever(const group_spec& g, cluster& c,
                                                                     const std::string& source,
                                                                     const std::vector<std::string>& models) {
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
  if (g.gpu_replicas != 0) return replicas_of_group(g, c, models, refuse);
  if (nested) {
    if (g.mig.size() != 1 || g.mig[0].count != 1 || g.share->portions != 1)
      return refuse(what + " and a share of them", "a share of one instance");
    const std::string_view profile = g.mig[0].name;
    auto request = make_mig_request(c.inside().parts().catalogue(), {&profile, 1});
    if (!request) return refuse(request.error().found, request.error().expected);
    bool shared = false;
    std::string why;
    unsigned least = 0;
    const auto& refused = c.inside().parts().catalogue().inside_refused;
    for (unsigned p = 0; p < request->products.size(); ++p) {
      if (request->products[p].count != 1) continue;
      const unsigned q = request->products[p].profiles[0];
      const instance_limits* const l = c.inside().parts().inside(p, q);
      shared = shared || l != nullptr;
      if (l == nullptr && p < refused.size() && q < refused[p].size() && !refused[p][q].empty())
        why = ": those of " + io_text::quoted(profile) + " are not, by terms of " + refused[p][q];
      if (l != nullptr)
        if (const auto limit = limit_exceeded(g, l->terms))
          return refuse(share_words(*g.share) + ", in " + what, *limit + ", inside that instance");
      if (l != nullptr) least = most_of(least, thousandths_per_replica(l->terms));
    }
    if (!shared) return refuse("a share of " + what, "a profile whose instances are shared" + why);
    const mig_request_id id = c.add_mig_request(*request);
    if (!id) return refuse(what, "fewer kinds of MIG requests in one cluster");
    return need_of_share(*g.share, least).of_user(g.gpu_user_id).in_instance(id);
  }
  if (g.share) {
    unsigned least = 0;
    for (const part_model& m : c.inside().parts().catalogue().models)
      if (m.shares && may_get(models, m.name)) least = most_of(least, thousandths_per_replica(m.terms));
    const part_need need = need_of_share(*g.share, least).of_user(g.gpu_user_id);
    if (!need.is_valid()) return refuse(what, "at most 63 GPUs per task");
    if (const auto limit = limit_of_models(g, c, models)) return refuse(what, *limit);
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

/// The same, beside a NIC where the group wants that. \param models  of which its GPUs may be; empty: of any
[[nodiscard]] inline expected<part_need, input_error> parts_of_group(const group_spec& g, cluster& c,
                                                                     const std::string& source,
                                                                     const std::vector<std::string>& models = {}) {
  auto need = parts_wherever(g, c, source, models);
  if (need && g.bind.near_nic) *need = need->beside_nic();
  return need;
}

}  // namespace berth::job_detail
