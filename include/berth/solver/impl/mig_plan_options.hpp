#pragma once
/// \file
/// Bodies of `berth/solver/mig_plan_options.hpp`.

#include "berth/solver/mig_plan_options.hpp"

namespace berth::detail {

BERTH_INLINE mig_net mig_option_maker::counted(const mig_gpu_now& n) const noexcept {
  mig_net out{};
  for_each_bit(n.idle, [&](unsigned p) { ++out[g_.placement[p].profile]; });
  if (n.mode == mig_mode::off) ++out[mig_whole_gpu];
  if (request_.what == mig_plan_request::goal::target) {
    for (const auto& r : n.running) ++out[g_.placement[r.placement].profile];
    if (n.mode == mig_mode::whole) ++out[mig_whole_gpu];
  }
  return out;
}

BERTH_INLINE std::vector<mig_gpu_option> mig_option_maker::options(const mig_gpu_now& n, std::uint32_t wanted) {
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

BERTH_INLINE void mig_option_maker::offer(const mig_gpu_option& o) {
  const auto [at, fresh] = found_.emplace(o.net, o);
  if (!fresh && o.cost < at->second.cost) at->second = o;
}

BERTH_INLINE bool mig_option_maker::dominated(const mig_gpu_option& o) const {
  for (const auto& f : found_) {
    if (f.second.cost > o.cost || f.first == o.net) continue;
    bool covers = true;
    for (std::size_t q = 0; q < o.net.size() && covers; ++q) covers = f.first[q] >= o.net[q];
    if (covers) return true;
  }
  return false;
}

BERTH_INLINE const std::map<mig_option_maker::counts, mig_set>& mig_option_maker::addable(std::uint32_t key) {
  auto& out = addable_[{key, wanted_}];
  if (!out.empty()) return out;
  add(out, key, 0, {}, 0);
  return out;
}

BERTH_INLINE void mig_option_maker::add(std::map<counts, mig_set>& out, std::uint32_t key, unsigned from,
                                        const counts& have, mig_set set) {
  out.emplace(have, set);
  for (unsigned p = from; p < g_.placements; ++p) {
    if ((wanted_ >> g_.placement[p].profile & 1U) == 0 || !g_.fits(key, p)) continue;
    counts more = have;
    ++more[g_.placement[p].profile];
    add(out, key + g_.weight[p], p + 1, more, set | mig_set{1} << p);
  }
}

BERTH_INLINE void mig_option_maker::fill(mig_gpu_option o, std::uint32_t key, bool must_make) {
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

BERTH_INLINE void mig_option_maker::from_whole(const mig_gpu_now& n) {
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

BERTH_INLINE void mig_option_maker::from_instances(const mig_gpu_now& n) {
  std::vector<held> list;
  for (const auto& r : n.running) list.push_back({r.placement, &r.who});
  for_each_bit(n.idle, [&](unsigned p) { list.push_back({p, nullptr}); });
  choose(list, 0, {}, 0);
}

BERTH_INLINE void mig_option_maker::choose(const std::vector<held>& list, std::size_t i, const mig_gpu_option& o,
                                           std::uint32_t key) {
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

BERTH_INLINE mig_option_maker::mig_option_maker(const mig_geometry& g, const mig_plan_costs& costs,
                                                const mig_plan_request& request)
    : g_{g}, costs_{costs}, request_{request}, all_{g.product->compute.value_or(g.product->units.value_or(7))} {}

}  // namespace berth::detail
