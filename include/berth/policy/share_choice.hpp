#pragma once
/// \file
/// Which shared devices a gang gets. Packing or spreading over nodes and over the devices of a node are two settings.
///
/// What fits is asked of every device by itself: half a GPU here and half there serve nobody who needs 0.8 of one.
/// Every choice sees those made before it, also within the gang, and all of them are taken or none. The socket of a
/// device plays no part: one share lies on one device.
///
/// Complete for gangs of equal tasks with one device each, and, by a second try that takes the roomiest devices first
/// (Gale and Ryser), for equal tasks with several. Cost O(tasks × units), the second try × clients per unit. No
/// allocation after the constructor.

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "berth/cluster/share_table.hpp"

namespace berth {

enum class share_over : std::uint8_t { pack, spread };

/// What one task of a gang asks: as many different GPUs of one node as it says, the same of each.
struct share_task_ask {
  share_ask ask;
  std::uint8_t gpus = 1;
};

/// Why a gang found no place. Nothing was taken.
struct share_refusal {
  std::uint32_t tasks_placed = 0;        ///< before the one that found nothing
  std::uint32_t devices = 0;             ///< looked at for that one
  std::uint32_t by_fault[12]{};          ///< of them, refused for that `share_fault`
  std::uint32_t held_whole = 0;          ///< of them, held whole
  bool enough_on_a_node_in_sum = false;  ///< the memory and cores free on one node's devices would do, were they one
  bool capacity_exhausted = false;       ///< more grants than the table or the choice has room for
  bool conflicting_job = false;          ///< the key holds something else
};

struct share_choice {
  share_over nodes = share_over::pack, devices = share_over::pack;

  /// \param grants  the most that one gang gets
  share_choice(share_over over_nodes, share_over over_devices, std::size_t grants)
      : nodes{over_nodes}, devices{over_devices}, made_(grants) {}

  /// Chooses and commits. Keys are below 2^63. The grants are those of `table.for_each_grant(key)`.
  expected<void, share_refusal> place(share_table& table, std::uint64_t key,
                                      std::span<const share_task_ask> tasks) noexcept {
    share_refusal why;
    if (key >> 63 != 0) {
      why.conflicting_job = true;
      return unexpected{why};
    }
    for (const bool roomiest : {false, true}) {
      share_refusal now;
      const std::size_t from = table.begin();
      std::size_t n = 0;
      bool ok = true;
      for (const share_task_ask& t : tasks) {
        ok = n + t.gpus <= made_.size() && t.gpus != 0;
        now.capacity_exhausted = !ok;
        ok = ok && choose(table, t, n, roomiest, now);
        if (!ok) break;
        // Held under a key of its own until the whole gang is known.
        const std::span<const share_grant> these{made_.data() + n, t.gpus};
        if (const auto took = table.commit(scratch_key(key, now.tasks_placed), these); !took) {
          now.capacity_exhausted = true;
          ok = false;
          break;
        }
        n += t.gpus;
        ++now.tasks_placed;
      }
      table.rollback(from);
      if (ok) {
        const auto took = table.commit(key, {made_.data(), n});
        if (took) return {};
        now.conflicting_job = took.error().code == share_table_errc::conflicting_job;
        now.capacity_exhausted = !now.conflicting_job;
        return unexpected{now};
      }
      if (!roomiest || now.tasks_placed > why.tasks_placed) why = now;
      bool several = false;
      for (const share_task_ask& t : tasks) several = several || t.gpus > 1;
      if (!several || now.capacity_exhausted) break;
    }
    return unexpected{why};
  }

 private:
  /// Keys that no job has: those are below 2^63.
  [[nodiscard]] static std::uint64_t scratch_key(std::uint64_t key, std::uint32_t task) noexcept {
    return std::uint64_t{1} << 63 | (key + task);
  }
  [[nodiscard]] static unsigned load(const share_table& t, share_unit u) noexcept {
    return t.used_as(u) == share_table::use_of::whole ? 1000 : share_load(t.terms(u), t.use(u));
  }
  /// GPUs of one node.
  struct node_range {
    share_unit first = 0, last = 0;
  };
  [[nodiscard]] static node_range from(const share_table& t, share_unit first) noexcept {
    node_range r{first, first + 1};
    while (r.last < t.gpus() && t.node(r.last) == t.node(first)) ++r.last;
    return r;
  }
  template <class F>
  static void each_unit(const share_table& t, node_range r, F&& f) {
    for (share_unit g = r.first; g < r.last; ++g) t.for_each_unit_on(g, f);
  }
  /// Mean load of a node's units, in millionths.
  [[nodiscard]] static std::uint64_t node_load(const share_table& t, node_range r) noexcept {
    std::uint64_t sum = 0, n = 0;
    each_unit(t, r, [&](share_unit u) { sum += load(t, u), ++n; });
    return n != 0 ? sum * 1000 / n : 0;
  }

  /// Devices for one task on the best node that has enough; they go to `made_[at…]`.
  bool choose(const share_table& t, const share_task_ask& task, std::size_t at, bool roomiest,
              share_refusal& why) noexcept {
    std::optional<node_range> best;
    std::uint64_t best_load = 0;
    for (share_unit g = 0; g < t.gpus();) {
      const node_range r = from(t, g);
      g = r.last;
      const std::uint64_t l = node_load(t, r);
      if (best && !(nodes == share_over::pack ? l > best_load : l < best_load)) continue;
      if (!pick(t, task, r, at, roomiest)) continue;
      best = r;
      best_load = l;
    }
    if (best) return pick(t, task, *best, at, roomiest);
    for (share_unit g = 0; g < t.gpus();) {
      const node_range r = from(t, g);
      g = r.last;
      explain(t, task, r, why);
    }
    return false;
  }
  /// The best devices of a node, on different GPUs. False: there are too few.
  bool pick(const share_table& t, const share_task_ask& task, node_range r, std::size_t at, bool roomiest) noexcept {
    for (std::size_t k = 0; k < task.gpus; ++k) {
      std::optional<share_unit> best;
      std::uint64_t best_rank = 0;
      each_unit(t, r, [&](share_unit u) {
        if (!t.check({u, false, task.ask})) return;
        for (std::size_t i = 0; i < k; ++i)
          if (t.gpu(made_[at + i].unit) == t.gpu(u)) return;
        const std::uint64_t rank = roomiest                      ? share_room(t.terms(u), t.use(u), task.ask)
                                   : devices == share_over::pack ? load(t, u)
                                                                 : 1'000'000 - load(t, u);
        if (best && (rank < best_rank || (rank == best_rank && u > *best))) return;
        best = u;
        best_rank = rank;
      });
      if (!best) return false;
      made_[at + k] = {*best, false, task.ask};
    }
    return true;
  }
  static void explain(const share_table& t, const share_task_ask& task, node_range r, share_refusal& why) noexcept {
    std::uint64_t memory = 0, cores = 0;
    each_unit(t, r, [&](share_unit u) {
      ++why.devices;
      const auto ok = t.check({u, false, task.ask});
      if (!ok && ok.error().code == share_table_errc::refused) ++why.by_fault[static_cast<unsigned>(ok.error().fault)];
      else if (!ok) ++why.held_whole;
      if (t.used_as(u) == share_table::use_of::whole) return;
      const share_terms& m = t.terms(u);
      const std::uint64_t room = detail::shared_memory(m), most = std::uint64_t{100} * m.core_factor / 1000;
      memory += room > t.use(u).memory_mib ? room - t.use(u).memory_mib : 0;
      cores += most > t.use(u).cores ? most - t.use(u).cores : 0;
    });
    if (task.gpus == 1 && (task.ask.memory_mib || task.ask.cores != 0) && memory >= task.ask.memory_mib.value_or(0) &&
        cores >= task.ask.cores)
      why.enough_on_a_node_in_sum = true;
  }

  std::vector<share_grant> made_;
};

}  // namespace berth
