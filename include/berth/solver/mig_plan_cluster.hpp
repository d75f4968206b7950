#pragma once
/// \file
/// Repartition plans on a cluster: what the planner should know of its GPUs, and the steps of a plan done on its state.
///
/// An instance in a cluster lives as long as the task that holds it, so nothing is idle, draining a job gives its
/// instances back, and what a plan creates is held by jobs of the caller's naming until the queue takes it.

#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "berth/cluster/cluster.hpp"
#include "berth/cluster/mig_view.hpp"
#include "berth/cluster/transaction.hpp"
#include "berth/core/expected.hpp"
#include "berth/solver/mig_plan.hpp"

namespace berth {

/// The GPUs of one product, as the planner wants them.
struct mig_gpus_of_cluster {
  std::vector<mig_gpu_now> now;
  std::vector<mig_gpu> at;  ///< which each is
};

/// What runs on the GPUs of a product. `who(job_key)` says what draining a job loses, as a `mig_occupant`; its owner is
/// set to the key. A job with more than one instance or GPU is never drained in part, so it is not drainable here; nor
/// are jobs that share a GPU. GPUs that may be cut as needed and are idle are `mig_mode::off`: cutting one switches it.
/// O(nodes + tasks).
template <class Who>
[[nodiscard]] mig_gpus_of_cluster mig_gpus_of(const mig_view& v, Who&& who) {
  const cluster& c = v.host();
  const detail::device_parts& parts = c.inside().parts();
  mig_gpus_of_cluster out;
  std::vector<std::size_t> first(c.node_count() + std::size_t{1});
  v.for_each_gpu([&](mig_gpu g) {
    ++first[g.node.index() + 1];
    const node_state& s = c.node(g.node);
    const device_mask d = bit(g.device);
    const detail::part_masks& m = parts.masks(g.node.raw());
    mig_gpu_now n;
    n.mode = !s.usable || (s.unhealthy & d) != 0 ? mig_mode::out
             : (m.mig & d) != 0                  ? mig_mode::on
             : (m.shared & d) != 0               ? mig_mode::shared
             : (s.held & d) != 0                 ? mig_mode::whole
                                                 : mig_mode::off;
    out.now.push_back(std::move(n));
    out.at.push_back(g);
  });
  for (std::size_t n = 0; n < c.node_count(); ++n) first[n + 1] += first[n];
  const auto find = [&](node_id n, unsigned device) -> mig_gpu_now* {
    for (std::size_t i = first[n.index()]; i < first[n.index() + 1]; ++i)
      if (out.at[i].device == device) return &out.now[i];
    return nullptr;  // of another product
  };
  c.for_each_job([&](job_key key) {
    std::size_t things = 0;
    c.for_each_task(key, [&](const committed_task& t) {
      const bool places = c.part_of(t).asks() && c.places_of(t).count != 0;
      things += places ? c.places_of(t).count : count_bits(t.devices);
    });
    mig_occupant o = who(key);
    o.owner = static_cast<std::uint64_t>(key);
    o.drainable = o.drainable && things == 1;
    c.for_each_task(key, [&](const committed_task& t) {
      const part_places places = c.part_of(t).asks() ? c.places_of(t) : part_places{};
      for (unsigned i = 0; i < places.count; ++i) {
        mig_gpu_now* const n = find(t.node, places.at[i].device);
        if (n == nullptr || n->mode != mig_mode::on) continue;
        bool shared = false;  // by tasks inside the instance
        for (mig_running& r : n->running)
          if (r.placement == places.at[i].placement) shared = true, r.who.drainable = false;
        if (!shared) n->running.push_back({places.at[i].placement, o});
      }
      if (places.count != 0) return;
      for_each_bit(t.devices, [&](unsigned d) {
        mig_gpu_now* const n = find(t.node, d);
        if (n == nullptr || (n->mode != mig_mode::whole && n->mode != mig_mode::shared)) return;
        if (n->whole) n->whole->drainable = false;
        else n->whole = o;
      });
    });
  });
  return out;
}

/// Does the steps of a plan on the cluster, all or none: drains release the job, and switches are the site's
/// (`set_mig_switch`). What step i creates, and the instance that it drains and no later step destroys, is committed as
/// job `key(i)`: one task with no CPU and memory, which holds the place until the queue takes it.
/// \param requests  by profile of the product: the request for one instance, registered with the cluster
/// \returns the error of the first step that the state does not allow. O(steps²)
template <class Key>
expected<void, cluster_error> apply_mig_plan(cluster& c, const mig_gpus_of_cluster& gpus, const mig_plan& plan,
                                             unsigned product, std::span<const mig_request_id> requests, Key&& key) {
  const detail::device_parts& parts = c.inside().parts();
  const mig_geometry& g = parts.product(product).geometry();
  transaction all{c};
  for (std::size_t i = 0; i < plan.steps.size(); ++i) {
    const mig_step& s = plan.steps[i];
    if (s.gpu >= gpus.at.size() || s.placement >= g.placements)
      return unexpected{cluster_error{cluster_errc::bad_argument, {}}};
    const mig_gpu at = gpus.at[s.gpu];
    bool create = s.what == mig_step::kind::create;
    expected<void, cluster_error> ok;
    switch (s.what) {
      case mig_step::kind::drain: {
        ok = c.release(job_key{s.owner});
        create = !s.whole;
        for (std::size_t k = i + 1; k < plan.steps.size() && create; ++k)
          create = plan.steps[k].what != mig_step::kind::destroy || plan.steps[k].gpu != s.gpu ||
                   plan.steps[k].placement != s.placement;
        break;
      }
      case mig_step::kind::destroy:
        // Gone with the job that held it.
        if ((parts.use(at.node.raw(), at.device).instances >> s.placement & 1U) != 0)
          ok = unexpected{cluster_error{cluster_errc::still_in_use, at.node}};
        break;
      case mig_step::kind::mig_off:
        ok = c.set_mig_switch(at.node, at.device, mig_switch::as_needed);
        break;
      case mig_step::kind::mig_on:
        ok = c.set_mig_switch(at.node, at.device, mig_switch::on);
        break;
      case mig_step::kind::create:
        break;
    }
    if (ok && create) {
      if (g.placement[s.placement].profile >= requests.size())
        return unexpected{cluster_error{cluster_errc::bad_argument, at.node}};
      const task_shape shape{.part = part_need::mig(requests[g.placement[s.placement].profile])};
      part_places places;
      places.push(at.device, s.placement);
      const task_placement t{bit(at.device), at.node, 0};
      ok = c.commit(key(i), {{&t, 1}, {&shape, 1}, {}, {&places, 1}});
    }
    if (!ok) return ok;
  }
  all.commit();
  return {};
}

}  // namespace berth
