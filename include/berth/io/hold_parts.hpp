#pragma once
/// \file
/// Running work that holds parts of GPUs, put into a cluster: where its MIG instances and shares lie.
///
/// What a file states is taken as it is: whole GPUs, instances with GPU and start, shares with their GPU. What it
/// leaves open is found by a search: GPUs that are cut or shared already first, then the lowest; where that does not
/// matter, 1g and 3g instances start as high as they can and others as low, as drivers do. The same files give the same
/// places. Instances that cannot lie beside each other are an error, and nothing is committed.

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "berth/cluster/cluster.hpp"
#include "berth/cluster/part_setup.hpp"
#include "berth/core/error.hpp"
#include "berth/core/expected.hpp"
#include "berth/io/assumptions.hpp"
#include "berth/io/held_part.hpp"
#include "berth/io/occupied.hpp"
#include "berth/io/resolve_parts.hpp"
#include "berth/io/text.hpp"
#include "berth/solver/detail/hardness.hpp"
#include "berth/solver/detail/part_ledger.hpp"

namespace berth {

/// What one job holds, as `cluster::commit` takes it.
struct held_job {
  std::vector<task_placement> tasks;
  std::vector<task_shape> shapes;
  std::vector<part_places> places;  ///< by task
  bytes_per_second between_nodes{};
  [[nodiscard]] placement view() const { return {tasks, shapes, between_nodes, places}; }
};

/// Whom the ids of users stand for: the first name is user 1. 0 is nobody in particular.
struct user_names {
  std::vector<std::string> names;
  /// The id of a name, given now if need be; nothing past 65,535 names.
  [[nodiscard]] std::optional<std::uint16_t> id_of(const std::string& name) {
    if (name.empty()) return std::uint16_t{0};
    const auto at = static_cast<std::size_t>(std::find(names.begin(), names.end(), name) - names.begin());
    if (at == names.size()) names.push_back(name);
    return at < 65'535 ? std::optional{static_cast<std::uint16_t>(at + 1)} : std::nullopt;
  }
};

namespace hold_detail {

/// Tries a search may make on one node, and parts it may have.
inline constexpr std::size_t most_tries = 40'000, most_parts = 2'000;

class holder {
 public:
  holder(cluster& c, const occupied_cluster& use, const cluster_spec& spec, user_names& users)
      : c_{c}, use_{use}, spec_{spec}, users_{users}, ledger_of_(c.node_count(), 0) {}

  [[nodiscard]] expected<std::vector<held_job>, input_error> plan() {
    std::vector<std::vector<item*>> open(c_.node_count());
    items_.resize(use_.held.size());
    // MIG has split GPUs of these nodes, and it is not known how: 1, and 2 from the first part on.
    std::vector<std::uint32_t> unknown(c_.node_count(), 0);
    for (const occupied_share& h : use_.held)
      if (h.split && whole_of(h) != 0 &&
          (!c_.inside().parts().is_on() || c_.inside().parts().mig_able(c_.node(h.node).node_class) == 0))
        unknown[h.node.index()] = 1;
    for (std::size_t i = 0; i < use_.held.size(); ++i) {
      const occupied_share& h = use_.held[i];
      bool free = true;
      for_each_bit(whole_of(h), [&](unsigned d) { free = ledger(h.node).take_whole(d) && free; });
      if (!free)
        return fail(h, "GPUs " + io_text::device_list_text(h.devices) + name_of(h.node) + " held whole",
                    "GPUs that nothing else is said to hold");
      if (!h.parts.empty() && !c_.inside().parts().is_on())
        return fail(h, "parts of GPUs held" + name_of(h.node), "a cluster that hands out parts of GPUs");
      items_[i].reserve(h.parts.size());
      for (const held_part& p : h.parts) {
        // Held whole, with all that is on them.
        if (!p.profile.empty() && unknown[h.node.index()] != 0) {
          if (unknown[h.node.index()]++ == 1) unknown_.push_back(spec_.nodes[h.node.index()].name);
          continue;
        }
        items_[i].push_back({i, {}, p, {}, false});
        if (auto ok = understand(items_[i].back()); !ok) return unexpected{std::move(ok).error()};
        open[h.node.index()].push_back(&items_[i].back());
        if (open[h.node.index()].size() > most_parts)
          return fail(h, "more than " + std::to_string(most_parts) + " parts held" + name_of(h.node), "fewer");
      }
    }
    for (auto& on_node : open)
      if (auto ok = place(on_node); !ok) return unexpected{std::move(ok).error()};
    return jobs();
  }
  /// Nodes on which files leave open what parts are where.
  [[nodiscard]] const std::vector<std::string>& guessed() const { return guessed_; }
  /// Nodes whose instances are of products with unknown placements.
  [[nodiscard]] const std::vector<std::string>& unknown() const { return unknown_; }

 private:
  struct item {
    std::size_t share = 0;  // of `use_.held`
    part_need need;
    held_part what;
    part_place at;
    bool placed = false;
  };
  using ledger_type = detail::part_ledger;

  [[nodiscard]] ledger_type& ledger(node_id n) {
    std::size_t& at = ledger_of_[n.index()];
    if (at == 0) ledgers_.emplace_back(c_, n), at = ledgers_.size();
    return ledgers_[at - 1];
  }
  [[nodiscard]] std::string name_of(node_id n) const { return " of node " + spec_.nodes[n.index()].name; }
  [[nodiscard]] static unexpected<input_error> fail(const occupied_share& h, std::string found, std::string wanted) {
    return unexpected{h.place.error(std::move(found), std::move(wanted))};
  }

  /// What is held whole: of GPUs that MIG has split, those that the cluster cannot hand out instances of.
  [[nodiscard]] device_mask whole_of(const occupied_share& h) const {
    if (!h.split || !c_.inside().parts().is_on()) return h.devices;
    return h.devices & ~c_.inside().parts().masks(h.node.raw()).on;
  }
  /// Profile and share become a need.
  [[nodiscard]] expected<void, input_error> understand(item& x) {
    const occupied_share& h = use_.held[x.share];
    const auto user = users_.id_of(x.what.user);
    if (!user) return fail(h, "more than 65,535 users", "fewer");
    if (x.what.share) {
      gpu_share_spec one = *x.what.share;
      one.portions = 1;
      x.need = job_detail::need_of_share(one).of_user(*user);
      if (!x.need.is_valid()) return fail(h, "a share of nothing, or of more than a GPU", "1 to 1000 thousandths");
    }
    if (x.what.profile.empty()) return {};
    const std::string_view profile = x.what.profile;
    auto request = make_mig_request(c_.inside().parts().catalogue(), {&profile, 1});
    if (!request) {
      input_error e = std::move(request).error();
      return fail(h, std::move(e.found), std::move(e.expected));
    }
    const mig_request_id id = c_.add_mig_request(*request);
    if (!id) return fail(h, "one more kind of MIG instance", "fewer kinds in one cluster");
    x.need = x.what.share ? x.need.in_instance(id) : part_need::mig(id);
    return {};
  }

  /// The placements on a device that a part may be, as far as product and stated start tell; 0 for a share of the GPU.
  [[nodiscard]] mig_set candidates(const ledger_type& l, const item& x, unsigned d) const {
    const mig_geometry* const g = l.geometry(d);
    if (g == nullptr) return 0;
    const mig_request::on_product& want = c_.inside().parts().request(x.need.request()).products[l.product(d)];
    if (want.count != 1) return 0;
    const mig_set all = g->of_profile[want.profiles[0]];
    if (!x.what.start) return all;
    const auto p = g->find(want.profiles[0], *x.what.start);
    return p ? mig_set{1} << *p : 0;
  }
  [[nodiscard]] static bool put(ledger_type& l, const item& x, part_place at) {
    if (x.need.is_share()) return l.put_share(at.device, x.need);
    return x.need.is_nested() ? l.join_instance(at.device, at.placement, x.need)
                              : l.put_instance(at.device, at.placement);
  }

  [[nodiscard]] expected<void, input_error> place(std::vector<item*>& items) {
    if (items.empty()) return {};
    const node_id n = use_.held[items[0]->share].node;
    // What is stated in full comes first: a share of an instance joins it or opens it.
    for (item* const each : items) {
      item& x = *each;
      const bool mig = !x.need.is_share();
      if (!x.what.device || (mig && !x.what.start)) continue;
      const occupied_share& h = use_.held[x.share];
      ledger_type& l = ledger(n);
      const unsigned d = *x.what.device;
      const mig_set at = mig ? candidates(l, x, d) : 1;
      if (mig && at == 0)
        return fail(h, held_part_words(x.what) + name_of(n),
                    l.geometry(d) == nullptr
                        ? "a GPU that is known to have MIG"
                        : "a start at which instances of this profile may lie: " + starts(l, x, d));
      x.at = {static_cast<std::uint8_t>(d), static_cast<std::uint8_t>(mig ? lowest_bit(at) : 0)};
      if (!put(l, x, x.at))
        return fail(h, held_part_words(x.what) + name_of(n),
                    mig ? "instances that may lie beside each other, on GPUs that nothing else holds"
                        : "shares that fit on the GPU together, on GPUs that nothing else holds");
      x.placed = true;
    }
    std::vector<item*> rest;
    for (item* const x : items)
      if (!x->placed) rest.push_back(x);
    if (rest.empty()) return {};
    guessed_.push_back(spec_.nodes[n.index()].name);
    // The hardest first: large instances, then those that leave more open, then large shares.
    const auto weight = [&](const item* x) {
      return std::pair{!x->need.is_share(), detail::thousandths_of(c_, x->need)};
    };
    std::stable_sort(rest.begin(), rest.end(), [&](const item* a, const item* b) {
      if (a->what.device.has_value() != b->what.device.has_value()) return a->what.device.has_value();
      return weight(a) > weight(b);
    });
    std::size_t tries = 0, deepest = 0;
    if (search(rest, 0, ledger(n), tries, deepest)) return {};
    const item& x = *rest[deepest];
    return fail(use_.held[x.share],
                held_part_words(x.what) + " on node " + spec_.nodes[n.index()].name + ", beside " +
                    io_text::counted(items.size() - 1, "other part") + " of its GPUs",
                tries > most_tries ? "fewer parts whose GPU and start are not stated"
                                   : "parts that fit on the GPUs of the node together");
  }
  [[nodiscard]] std::string starts(const ledger_type& l, const item& x, unsigned d) const {
    item any = x;
    any.what.start.reset();
    std::string out;
    for_each_bit(candidates(l, any, d), [&](unsigned p) {
      out += (out.empty() ? "" : ", ") + std::to_string(l.geometry(d)->placement[p].start);
    });
    return out.empty() ? "none on this GPU" : out;
  }

  /// The placement of one profile that drivers would take: 1g and 3g as high as they can, others as low.
  [[nodiscard]] static unsigned usual_start(const mig_geometry& g, mig_set some) {
    const unsigned compute = g.compute_of(lowest_bit(some));
    unsigned last = 0;
    for_each_bit(some, [&](unsigned p) { last = p; });
    return compute == 1 || compute == 3 ? last : lowest_bit(some);
  }
  bool search(std::vector<item*>& rest, std::size_t k, const ledger_type& now, std::size_t& tries,
              std::size_t& deepest) {
    if (k == rest.size()) {
      ledger(use_.held[rest[0]->share].node) = now;
      return true;
    }
    deepest = std::max(deepest, k);
    item& x = *rest[k];
    for (const bool open : {true, false})
      for (unsigned d = 0; d < now.devices(); ++d) {
        if ((x.what.device && *x.what.device != d) || now.is_open(d) != open) continue;
        if (x.need.is_share()) {
          if (attempt(rest, k, now, {static_cast<std::uint8_t>(d), 0}, tries, deepest)) return true;
          continue;
        }
        const mig_set at = candidates(now, x, d);
        // A client joins what is open before it opens more.
        for (const bool there : {true, false}) {
          mig_set some = 0;
          for_each_bit(at, [&](unsigned p) { some |= now.has_instance(d, p) == there ? mig_set{1} << p : 0; });
          while (some != 0) {
            const unsigned p = usual_start(*now.geometry(d), some);
            some &= ~(mig_set{1} << p);
            if (attempt(rest, k, now, {static_cast<std::uint8_t>(d), static_cast<std::uint8_t>(p)}, tries, deepest))
              return true;
          }
        }
      }
    return false;
  }
  bool attempt(std::vector<item*>& rest, std::size_t k, const ledger_type& now, part_place at, std::size_t& tries,
               std::size_t& deepest) {
    if (++tries > most_tries) return false;
    ledger_type then = now;
    if (!put(then, *rest[k], at)) return false;
    rest[k]->at = at;
    return search(rest, k + 1, then, tries, deepest);
  }

  /// All of it by job. A line's CPUs and memory are those of its first task.
  [[nodiscard]] std::vector<held_job> jobs() const {
    std::vector<held_job> out(use_.jobs.size());
    for (std::size_t j = 0; j < out.size() && j < use_.between_nodes.size(); ++j)
      out[j].between_nodes = use_.between_nodes[j];
    for (const occupied_share& h : use_.held) {
      if (h.split && whole_of(h) == 0) continue;
      held_job& j = out[h.job];
      bool first = true;
      const auto add = [&](device_mask devices, const part_need& need, const part_places& places) {
        task_shape t;
        t.devices = need.asks() ? 0 : count_bits(devices);
        t.part = need;
        t.bind = h.bind;
        if (first) t.cpu = h.cpu, t.memory = h.memory;
        first = false;
        if (j.shapes.empty() || !(j.shapes.back() == t)) j.shapes.push_back(t);
        j.tasks.push_back({devices, h.node, static_cast<std::uint32_t>(j.shapes.size() - 1)});
        j.places.push_back(places);
      };
      if (h.devices != 0 || h.parts.empty()) add(whole_of(h), {}, {});
      for (const item& x : items_[static_cast<std::size_t>(&h - use_.held.data())]) {
        part_places places;
        if (x.need.has_places()) places.push(x.at.device, x.at.placement);
        add(bit(x.at.device), x.need, places);
      }
    }
    return out;
  }

  cluster& c_;
  const occupied_cluster& use_;
  const cluster_spec& spec_;
  user_names& users_;
  std::vector<std::vector<item>> items_;  // by share
  std::vector<std::size_t> ledger_of_;    // by node: 1 + its ledger, or 0
  std::vector<ledger_type> ledgers_;
  std::vector<std::string> guessed_, unknown_;
};

}  // namespace hold_detail

/// Switches GPUs that MIG has split to instances alone, where the cluster knows how their product is cut. Before
/// `plan_holdings`. O(holdings).
inline void switch_split_devices(cluster& c, const occupied_cluster& use) {
  for (const occupied_share& h : use.held)
    if (h.split)
      for_each_bit(h.devices, [&](unsigned d) { static_cast<void>(c.set_mig_switch(h.node, d, mig_switch::on)); });
}

/// What was found, and what had to be assumed for it.
struct holding_plan {
  std::vector<held_job> jobs;          ///< by index in `use.jobs`
  std::vector<std::string> assumed{};  ///< sentences; tools must print them
};

/// A plan for all of it. Registers MIG requests with the cluster and changes nothing else.
/// \param c  empty, with all nodes usable and healthy  \param users  gets the names of users. O(parts × GPUs), more
/// where starts are open.
[[nodiscard]] inline expected<holding_plan, input_error> plan_holdings(cluster& c, const occupied_cluster& use,
                                                                       const cluster_spec& spec, user_names& users) {
  hold_detail::holder h{c, use, spec, users};
  auto jobs = h.plan();
  if (!jobs) return unexpected{std::move(jobs).error()};
  holding_plan out{std::move(*jobs)};
  assumption_list notes;
  for (const std::string& n : h.guessed())
    notes.add("where parts of GPUs of running jobs lie is not stated in full; GPUs that are cut or shared come first.",
              n);
  for (const std::string& n : h.unknown())
    notes.add("MIG instances of running jobs are on GPUs whose placements are not known; the GPUs are held whole.", n);
  out.assumed = notes.sentences();
  return out;
}

/// Commits them under `key_of(index)`: all, or none and which one cannot be.
template <class Key>
[[nodiscard]] expected<void, std::size_t> commit_holdings(cluster& c, const std::vector<held_job>& jobs, Key key_of) {
  for (std::size_t j = 0; j < jobs.size(); ++j) {
    if (jobs[j].tasks.empty() || c.commit(key_of(j), jobs[j].view())) continue;
    for (std::size_t k = 0; k < j; ++k) static_cast<void>(c.release(key_of(k)));
    return unexpected{j};
  }
  return {};
}

}  // namespace berth
