#pragma once
/// \file
/// The MIG policy that keeps the most options open: an instance goes where it costs the least of what the cluster could
/// still serve.
///
/// The demand mix is given or learned from the requests seen. The cost of a placement that turns state s into s' has
/// two terms, in compute slices:
///
/// 1. *The GPU by itself.* V(s) is the expected number of compute slices that a GPU in state s still takes, if requests
///    of the mix come until none fits and each is started in the best way: exact, by one pass over the states from full
///    to empty. V(s) − V(s') − slices is what the placement strands.
/// 2. *The cluster.* For every profile q the cluster holds N(q) more instances of it, and a placement lowers that by
///    room(s, q) − room(s', q). Each costs its size times the chance that it is needed: P(Poisson(requests for q within
///    the horizon) >= N(q)). While there is plenty that is nothing; the last GPUs that can take a 7g are dear.
///
/// Where instances end, what is stranded comes back; where none has ended yet, it is lost for good and weighs more. How
/// much of what was taken came back is seen in the cluster's used slices from request to request.
///
/// Decision: one table read per distinct state, a cost computed when the prices last moved otherwise. No allocation
/// after construction.

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "berth/core/poisson.hpp"
#include "berth/policy/mig.hpp"
#include "berth/topology/mig_values.hpp"

namespace berth {

struct mig_most_options_settings {
  double stranding = 0.7;         ///< weight of the first term where instances come and go
  double stranding_for_good = 4;  ///< the same while none has left: then what is stranded stays so
  double scarcity = 0.5;          ///< weight of the second
  double horizon = 2;             ///< requests looked ahead, in multiples of those that the free units would hold
  double floor = 0.05;            ///< least chance that a place is taken to be needed
  double by_size = 1;             ///< a lost place of q counts slices(q) to this power
  unsigned reprice_every = 16;  ///< requests between two looks at the prices; times 1 + GPUs / 256, as they move slower
  double prior = 8;             ///< imagined requests, in equal parts, before any were seen
  double memory = 4096;         ///< requests after which an old one counts half
};

class mig_most_options {
 public:
  /// \pre the table outlives the policy
  explicit mig_most_options(const mig_state_table& t, mig_most_options_settings s = {}) : t_{&t}, set_{s} {
    const std::size_t n = t.size();
    value_.assign(n, 0);
    memo_.resize(n * max_mig_profiles);
    const auto& g = t.geometry();
    open_.assign(std::size_t{max_mig_profiles} * words(), 0);
    unsigned offered = 0;
    for (unsigned q = 0; q < g.profiles; ++q) offered += g.of_profile[q] != 0 ? 1U : 0U;
    for (unsigned q = 0; q < g.profiles; ++q) {
      if (g.of_profile[q] != 0) seen_[q] = set_.prior / offered;
      size_[q] = std::pow(g.row(q).compute, set_.by_size) * set_.scarcity;
      for (std::size_t s2 = 0; s2 < n; ++s2)
        if (t.open(static_cast<mig_state_id>(s2), q) != 0)
          open_[q * words() + s2 / 64] |= bit(static_cast<unsigned>(s2 % 64));
    }
    learn();
  }

  /// Gives the mix, one weight per profile, instead of learning it. \pre as many weights as profiles, not all 0
  void set_mix(std::span<const double> weights) {
    learning_ = false;
    for (unsigned q = 0; q < weights.size() && q < max_mig_profiles; ++q) seen_[q] = weights[q];
    learn();
  }

  /// A request came, placed or not. Now and then O(states × placements).
  void arrived(const mig_cluster& c, unsigned profile) noexcept {
    ++requests_;
    const auto used = static_cast<double>(c.used_compute());
    (used > used_before_ ? grown_ : gone_) += std::fabs(used - used_before_);
    used_before_ = used;
    if (learning_) {
      seen_[profile] += step_;
      step_ *= growth_;
      if (requests_ == learn_at_) {
        learn_at_ = learn_at_ < 4096 ? 2 * learn_at_ : learn_at_ + 4096;
        if (step_ > 1e100) {
          for (auto& x : seen_) x /= step_;
          step_ = 1;
        }
        learn();
        reprice(c);
        return;
      }
    }
    if (requests_ % (set_.reprice_every * (c.size() / 256 + 1)) == 0) reprice(c);
  }

  /// Where one instance of a profile should go. O(distinct states).
  [[nodiscard]] std::optional<mig_instance> choose(const mig_cluster& c, unsigned profile) noexcept {
    float best = 0;
    mig_state_id state = no_mig_state;
    const auto& in_use = c.states_in_use();
    const std::uint64_t* open = open_.data() + profile * words();
    for (std::size_t w = 0; w < words(); ++w)
      for (std::uint64_t m = in_use[w] & open[w]; m != 0; m &= m - 1) {
        const auto s = static_cast<mig_state_id>(w * 64 + lowest_bit(m));
        auto& k = memo_[profile * t_->size() + s];
        if (k.version != version_) evaluate(k, s, profile);
        if (state == no_mig_state || k.cost < best) {
          best = k.cost;
          state = s;
        }
      }
    if (state == no_mig_state) return std::nullopt;
    return mig_instance{c.first(state), memo_[profile * t_->size() + state].placement};
  }

  /// V of a state: the compute slices that a GPU in it is expected to take yet.
  [[nodiscard]] double value(mig_state_id s) const noexcept { return value_[s]; }
  /// What losing one place for a profile costs now, in compute slices.
  [[nodiscard]] double price(unsigned profile) const noexcept { return price_[profile]; }
  [[nodiscard]] double cost(mig_state_id s, unsigned placement) const noexcept {
    const mig_state_id then = t_->after(s, placement);
    const auto& g = t_->geometry();
    double k = stranding_ * (value_[s] - value_[then] - g.compute_of(placement));
    for (unsigned q = 0; q < g.profiles; ++q)
      if (price_[q] != 0) k += price_[q] * static_cast<double>(t_->room(s, q) - t_->room(then, q));
    return k;
  }
  /// The same as `mig_start_policy` wants it. \pre the table is the policy's own
  [[nodiscard]] mig_start_cost cost(const mig_state_table&, mig_state_id s, unsigned placement) const noexcept {
    return {static_cast<float>(cost(s, placement)), 0};
  }
  /// The cheapest start of a profile on a GPU in that state, and its cost. One read where the prices stand.
  /// \pre there is one
  struct start {
    float cost;
    std::uint8_t placement;
  };
  [[nodiscard]] start best_start(mig_state_id s, unsigned profile) noexcept {
    choice& k = memo_[profile * t_->size() + s];
    if (k.version != version_) evaluate(k, s, profile);
    return {k.cost, k.placement};
  }
  /// Looks at what the cluster has left. O(distinct states × profiles). \param c  a `mig_cluster`, or anything that
  /// counts GPUs by state
  template <class Census>
  void reprice(const Census& c) noexcept {
    const auto& g = t_->geometry();
    double left[max_mig_profiles]{}, free = 0;
    c.for_each_state([&](mig_state_id s) {
      free += static_cast<double>(c.count(s)) * t_->free_units(s);
      for (unsigned q = 0; q < g.profiles; ++q) left[q] += static_cast<double>(c.count(s)) * t_->room(s, q);
    });
    bool moved = false;
    const double to_come = mean_size_ > 0 ? set_.horizon * free / mean_size_ : 0;
    for (unsigned q = 0; q < g.profiles; ++q) {
      if (mix_[q] <= 0 && price_[q] == 0) continue;
      const double size = size_[q];
      const double chance = poisson_at_least(mix_[q] * to_come, static_cast<std::int64_t>(left[q]));
      const double price = mix_[q] > 0 ? size * (chance > set_.floor ? chance : set_.floor) : 0;
      if (std::fabs(price - price_[q]) <= 0.01 * size) continue;
      price_[q] = price;
      moved = true;
    }
    const double back = grown_ > 0 ? (gone_ < grown_ ? gone_ / grown_ : 1) : 0;
    const double weight = set_.stranding_for_good + (set_.stranding - set_.stranding_for_good) * back;
    if (std::fabs(weight - stranding_) > 0.05) {
      stranding_ = weight;
      moved = true;
    }
    if (moved) ++version_;
  }

 private:
  struct choice {
    std::uint32_t version = 0;
    float cost = 0;
    std::uint8_t placement = 0;
  };
  [[nodiscard]] std::size_t words() const noexcept { return (t_->size() + 63) / 64; }

  void evaluate(choice& k, mig_state_id s, unsigned profile) const noexcept {
    bool first = true;
    for_each_bit(t_->open(s, profile), [&](unsigned p) {
      const auto x = static_cast<float>(cost(s, p));
      if (!first && x >= k.cost) return;
      k = {version_, x, static_cast<std::uint8_t>(p)};
      first = false;
    });
  }

  void learn() noexcept {
    const auto& g = t_->geometry();
    double all = 0;
    for (unsigned q = 0; q < g.profiles; ++q) all += g.of_profile[q] != 0 ? seen_[q] : 0;
    mean_size_ = 0;
    for (unsigned q = 0; q < g.profiles; ++q) {
      mix_[q] = all > 0 && g.of_profile[q] != 0 ? seen_[q] / all : 0;
      if (g.row(q).size) mean_size_ += mix_[q] * *g.row(q).size;
    }
    mig_state_values(*t_, mix_, value_.data());
    ++version_;
  }

  const mig_state_table* t_;
  mig_most_options_settings set_;
  bool learning_ = true;
  double seen_[max_mig_profiles]{}, mix_[max_mig_profiles]{}, price_[max_mig_profiles]{}, size_[max_mig_profiles]{};
  double stranding_ = set_.stranding_for_good, grown_ = 0, gone_ = 0, used_before_ = 0;
  double step_ = 1, growth_ = std::exp2(1 / set_.memory), mean_size_ = 0;
  std::uint64_t requests_ = 0, learn_at_ = 1;
  std::uint32_t version_ = 1;
  std::vector<double> value_;
  std::vector<choice> memo_;         // per profile and state
  std::vector<std::uint64_t> open_;  // per profile: the states in which it fits
};

}  // namespace berth
