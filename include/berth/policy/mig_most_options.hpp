#pragma once
/// \file
/// The MIG policy that keeps the most options open: an instance goes where it costs the least of what the cluster could
/// still serve.
///
/// The demand mix is given or learned from the requests seen. The cost of a placement that turns state s into s' has
/// two terms, in compute slices:
///
/// 1. *The GPU by itself.* V(s) is how many compute slices of a GPU in state s are expected to be taken yet, if
/// requests
///    of the mix come until none fits and each is started in the best way: exact, by one pass over the states from full
///    to empty. V(s) − V(s') − what the placement takes is what it strands. Starts that another start of the same
///    profile on the same GPU dominates (`mig_state_table::dominated`) are never chosen: V alone would, as it is a mean
///    over random requests, which may spoil what more room there is.
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
#include <limits>
#include <span>
#include <vector>

#include "berth/core/poisson.hpp"
#include "berth/core/separate.hpp"
#include "berth/policy/mig.hpp"

namespace berth {

struct mig_most_options_settings {
  double stranding = 0.7;         ///< weight of the first term where instances come and go
  double stranding_for_good = 4;  ///< the same while none has left: then what is stranded stays so
  double scarcity = 0.5;          ///< weight of the second
  double horizon = 2;             ///< requests looked ahead, in multiples of those that the free units would hold
  double floor = 0.05;          ///< least chance that a place is taken to be needed, also one that nobody asked for yet
  double by_size = 1;           ///< a lost place of q counts slices(q) to this power
  unsigned reprice_every = 16;  ///< requests between two looks at the prices; times 1 + GPUs / 256, as they move slower
  double prior = 8;             ///< imagined requests, in equal parts, before any were seen
  double memory = 4096;         ///< requests after which an old one counts half
};

class mig_most_options {
 public:
  /// \pre the table outlives the policy
  explicit mig_most_options(const mig_state_table& t, mig_most_options_settings s = {});

  /// Gives the mix, one weight per profile, instead of learning it. \pre as many weights as profiles, not all 0
  void set_mix(std::span<const double> weights);

  /// Requests came, placed or not. Now and then O(states × placements). \param c  as for `reprice`, and says how many
  /// placement units are in use, and how many GPUs there may be, roughly
  template <class Census>
  void arrived(const Census& c, unsigned profile, std::uint32_t times = 1) noexcept {
    requests_ += times;
    const auto used = static_cast<double>(c.used_units());
    (used > used_before_ ? grown_ : gone_) += std::fabs(used - used_before_);
    used_before_ = used;
    if (learning_) {
      // Every request weighs a little more than the one before it.
      for (std::uint32_t i = 0; i < times && i < 64; ++i) {
        seen_[profile] += step_;
        step_ *= growth_;
      }
      if (requests_ >= learn_at_) {
        learn_at_ = requests_ < 4096 ? 2 * requests_ : requests_ + 4096;
        if (step_ > 1e100) {
          for (auto& x : seen_) x /= step_;
          step_ = 1;
        }
        learn();
        reprice_at_ = 0;
      }
    }
    if (requests_ < reprice_at_) return;
    const std::uint64_t every = std::uint64_t{set_.reprice_every} * (c.size() / 256 + 1);
    reprice_at_ = requests_ - requests_ % every + every;
    reprice(c);
  }

  /// V of a state: how many compute slices of a GPU in it are expected to be taken yet.
  [[nodiscard]] double value(mig_state_id s) const noexcept { return value_[s]; }
  /// What losing one place for a profile costs now, in compute slices.
  [[nodiscard]] double price(unsigned profile) const noexcept { return price_[profile]; }
  [[nodiscard]] double cost(mig_state_id s, unsigned placement) const noexcept;
  /// The same as `mig_start_policy` wants it. \pre the table is the policy's own
  [[nodiscard]] mig_start_cost cost(const mig_state_table&, mig_state_id s, unsigned placement) const noexcept {
    return {static_cast<float>(cost(s, placement)), 0};
  }
  /// The cheapest start of a profile on a GPU in that state, and its cost. One read where the prices stand.
  /// \pre there is one
  struct start {
    float cost = 0;
    std::uint8_t placement = 0;
    mig_state_id state = no_mig_state;
  };
  [[nodiscard]] start best_start(mig_state_id s, unsigned profile) noexcept;
  /// The same over many states: the cheapest of those with their bit set, the lowest of equals; `no_mig_state` where
  /// the profile fits in none. One read per state. \param in_use  `table.words()` words  \param cost, from  none that
  /// is cheaper, or costs the same and is below state `from`
  [[nodiscard]] start best_start(const std::uint64_t* in_use, unsigned profile,
                                 float cost = -std::numeric_limits<float>::infinity(), std::size_t from = 0) noexcept;
  /// Looks at what the cluster has left. O(distinct states × profiles). \param c  calls a function for every state that
  /// GPUs are in, with their number
  template <class Census>
  void reprice(const Census& c) noexcept {
    const auto& g = t_->geometry();
    double left[max_mig_profiles]{}, free = 0;
    c.for_each_state([&](mig_state_id s, std::uint32_t gpus) {
      free += static_cast<double>(gpus) * t_->free_units(s);
      for (unsigned q = 0; q < g.profiles; ++q) left[q] += static_cast<double>(gpus) * t_->room(s, q);
    });
    bool moved = false;
    const double to_come = mean_size_ > 0 ? set_.horizon * free / mean_size_ : 0;
    for (unsigned q = 0; q < g.profiles; ++q) {
      if (g.of_profile[q] == 0) continue;
      const double size = size_[q];
      const double chance = poisson_at_least(mix_[q] * to_come, static_cast<std::int64_t>(left[q]));
      const double price = size * (chance > set_.floor ? chance : set_.floor);
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
  static constexpr double dominated_cost = 1000;  ///< more than all that a GPU can take
  struct choice {
    std::uint32_t version = 0;
    float cost = 0;
    std::uint8_t placement = 0;
  };

  void evaluate(choice& k, mig_state_id s, unsigned profile) const noexcept;

  void learn() noexcept;

  const mig_state_table* t_;
  std::size_t states_ = t_->size();
  mig_most_options_settings set_;
  bool learning_ = true;
  double seen_[max_mig_profiles]{}, mix_[max_mig_profiles]{}, price_[max_mig_profiles]{}, size_[max_mig_profiles]{};
  double stranding_ = set_.stranding_for_good, grown_ = 0, gone_ = 0, used_before_ = 0;
  double step_ = 1, growth_ = std::exp2(1 / set_.memory), mean_size_ = 0;
  std::uint64_t requests_ = 0, learn_at_ = 1, reprice_at_ = 0;
  std::uint32_t version_ = 1;
  std::vector<double> value_;
  std::vector<choice> memo_;  // per profile and state
};

}  // namespace berth

#if BERTH_WITH_BODIES
#include "berth/policy/impl/mig_most_options.hpp"
#endif
