#pragma once
/// \file
/// What can be made of one GPU in a repartition plan: every useful choice of what stays, what is drained, destroyed and
/// created, with its cost. Of choices that give the same, only the cheapest is kept.

#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <utility>
#include <vector>

#include "berth/solver/mig_plan.hpp"
#include "berth/topology/mig_geometry.hpp"

namespace berth::detail {

/// Per profile and whole GPUs: what a choice adds to what counts, against doing nothing.
using mig_net = std::array<std::int32_t, max_mig_profiles + 1>;

struct mig_gpu_option {
  std::int64_t cost = 0;
  mig_net net{};
  mig_set drained = 0, destroyed = 0, made = 0;
  bool drains_whole = false, turns_on = false, turns_off = false;
};

class mig_option_maker {
 public:
  mig_option_maker(const mig_geometry& g, const mig_plan_costs& costs, const mig_plan_request& request)
      : g_{g}, costs_{costs}, request_{request}, all_{g.product->compute.value_or(g.product->units.value_or(7))} {}

  /// Compute slices that an instance, or a whole GPU, takes.
  [[nodiscard]] std::int64_t slices(unsigned what) const noexcept {
    return what == mig_whole_gpu ? all_ : g_.row(what).compute;
  }
  [[nodiscard]] std::int64_t drain_cost(const mig_occupant& who, unsigned what) const noexcept {
    return (who.lost_ms + costs_.drain_ms + costs_.restart_ms) * slices(what);
  }
  [[nodiscard]] std::int64_t create_cost(unsigned p) const noexcept { return costs_.create_ms * g_.compute_of(p); }
  [[nodiscard]] std::int64_t destroy_cost(unsigned p) const noexcept { return costs_.destroy_ms * g_.compute_of(p); }
  [[nodiscard]] std::int64_t toggle_cost() const noexcept {
    return (costs_.toggle_ms + (g_.product->reset_to_toggle.value_or(true) ? costs_.reset_ms : 0)) * all_;
  }
  /// Whether a drained job's place has to be found again.
  [[nodiscard]] bool replaces() const noexcept {
    return request_.restart_drained || request_.what == mig_plan_request::goal::target;
  }
  /// What a GPU has of what counts, left as it is.
  [[nodiscard]] mig_net counted(const mig_gpu_now& n) const noexcept {
    mig_net out{};
    for_each_bit(n.idle, [&](unsigned p) { ++out[g_.placement[p].profile]; });
    if (n.mode == mig_mode::off) ++out[mig_whole_gpu];
    if (request_.what == mig_plan_request::goal::target) {
      for (const auto& r : n.running) ++out[g_.placement[r.placement].profile];
      if (n.mode == mig_mode::whole) ++out[mig_whole_gpu];
    }
    return out;
  }

  /// All choices for a GPU, doing nothing first. Instances are made only of `wanted` profiles (bit `mig_whole_gpu`:
  /// whole GPUs). At most some thousand sets of survivors × the layouts beside them.
  [[nodiscard]] std::vector<mig_gpu_option> options(const mig_gpu_now& n, std::uint32_t wanted) {
    found_.clear();
    wanted_ = wanted;
    offer({});
    if (n.mode == mig_mode::on) {
      from_instances(n);
    } else if (n.mode != mig_mode::out) {
      from_whole(n);
    }
    std::vector<mig_gpu_option> out;
    out.push_back(found_.at(mig_net{}));
    for (const auto& f : found_)
      if (f.first != mig_net{} && !dominated(f.second)) out.push_back(f.second);
    return out;
  }

 private:
  using counts = std::array<std::uint8_t, max_mig_profiles>;

  void offer(const mig_gpu_option& o) {
    const auto [at, fresh] = found_.emplace(o.net, o);
    if (!fresh && o.cost < at->second.cost) at->second = o;
  }
  [[nodiscard]] bool dominated(const mig_gpu_option& o) const {
    for (const auto& f : found_) {
      if (f.second.cost > o.cost || f.first == o.net) continue;
      bool covers = true;
      for (std::size_t q = 0; q < o.net.size() && covers; ++q) covers = f.first[q] >= o.net[q];
      if (covers) return true;
    }
    return false;
  }
  /// The multisets of wanted profiles that may be added to a GPU with that key, a layout each; the empty one too.
  [[nodiscard]] const std::map<counts, mig_set>& addable(std::uint32_t key) {
    auto& out = addable_[{key, wanted_}];
    if (!out.empty()) return out;
    add(out, key, 0, {}, 0);
    return out;
  }
  void add(std::map<counts, mig_set>& out, std::uint32_t key, unsigned from, const counts& have, mig_set set) {
    out.emplace(have, set);
    for (unsigned p = from; p < g_.placements; ++p) {
      if ((wanted_ >> g_.placement[p].profile & 1U) == 0 || !g_.fits(key, p)) continue;
      counts more = have;
      ++more[g_.placement[p].profile];
      add(out, key + g_.weight[p], p + 1, more, set | mig_set{1} << p);
    }
  }
  /// `o` is what goes; every way to fill the room.
  void fill(mig_gpu_option o, std::uint32_t key, bool must_make) {
    for (const auto& a : addable(key)) {
      if (must_make && a.second == 0) continue;
      mig_gpu_option x = o;
      x.made = a.second;
      for_each_bit(a.second, [&](unsigned p) {
        ++x.net[g_.placement[p].profile];
        x.cost += create_cost(p);
      });
      offer(x);
    }
  }
  void from_whole(const mig_gpu_now& n) {
    mig_gpu_option o;
    if (n.mode == mig_mode::off) {
      --o.net[mig_whole_gpu];
    } else {
      if (!n.whole || !n.whole->drainable || (n.mode == mig_mode::shared && replaces())) return;
      o.drains_whole = true;
      o.cost = drain_cost(*n.whole, mig_whole_gpu);
      if (!replaces()) {
        mig_gpu_option freed = o;
        ++freed.net[mig_whole_gpu];
        offer(freed);
      } else {
        --o.net[mig_whole_gpu];
      }
    }
    o.turns_on = true;
    o.cost += toggle_cost();
    fill(o, 0, true);
  }
  struct held {
    unsigned placement = 0;
    const mig_occupant* who = nullptr;  ///< null: idle
  };
  void from_instances(const mig_gpu_now& n) {
    std::vector<held> list;
    for (const auto& r : n.running) list.push_back({r.placement, &r.who});
    for_each_bit(n.idle, [&](unsigned p) { list.push_back({p, nullptr}); });
    choose(list, 0, {}, 0);
  }
  void choose(const std::vector<held>& list, std::size_t i, const mig_gpu_option& o, std::uint32_t key) {
    if (i == list.size()) {
      fill(o, key, o.destroyed != 0);
      if (key == 0 && (wanted_ >> mig_whole_gpu & 1U) != 0) {
        mig_gpu_option off = o;
        off.turns_off = true;
        off.cost += toggle_cost();
        ++off.net[mig_whole_gpu];
        offer(off);
      }
      return;
    }
    const held& h = list[i];
    const unsigned q = g_.placement[h.placement].profile;
    choose(list, i + 1, o, key + g_.weight[h.placement]);
    if (h.who != nullptr && !h.who->drainable) return;
    mig_gpu_option gone = o;
    if (h.who != nullptr) {
      gone.drained |= mig_set{1} << h.placement;
      gone.cost += drain_cost(*h.who, q);
      if (!replaces()) {
        mig_gpu_option handed_over = gone;
        ++handed_over.net[q];
        if ((wanted_ >> q & 1U) != 0) choose(list, i + 1, handed_over, key + g_.weight[h.placement]);
      } else {
        --gone.net[q];
      }
    } else {
      --gone.net[q];
    }
    gone.destroyed |= mig_set{1} << h.placement;
    gone.cost += destroy_cost(h.placement);
    choose(list, i + 1, gone, key);
  }

  mig_geometry g_;
  mig_plan_costs costs_;
  mig_plan_request request_;
  std::int64_t all_;
  std::uint32_t wanted_ = 0;
  std::map<std::pair<std::uint32_t, std::uint32_t>, std::map<counts, mig_set>> addable_;
  std::map<mig_net, mig_gpu_option> found_;
};

}  // namespace berth::detail
