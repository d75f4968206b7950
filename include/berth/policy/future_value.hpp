#pragma once
/// \file
/// berth's own packing policy: a task goes where it costs the least of what the cluster could still serve.
///
/// The demand is learned from the requests seen so far (a sliding window); nothing of the future is known. Three terms,
/// all in thousandths of a GPU:
///
/// 1. *What the node could still take.* V(state) is the mean GPU share that a node in that state takes out of `draws`
///    tasks drawn from the window, first come first served, tightest GPU, over `samples` fixed sequences (the same for
///    every state, so that states compare without noise). Putting task t there costs V(before) − V(after) − demand(t):
///    nothing where the task fills a gap, much where it strands CPU, memory or shares.
/// 2. *Sets of whole GPUs.* A node by itself never sees that the last empty nodes are worth more than the first. For
///    every kind of task with several GPUs the number of such sets in the cluster is kept; breaking one costs its size
///    times the chance that all of them will be needed: P(X >= sets), X the requests until the cluster is full. X is
///    negative binomial: a Poisson whose rate is known only as well as the requests seen so far tell it (the predictive
///    distribution under a gamma prior; Gelman et al., Bayesian Data Analysis, 3rd ed., section 2.6). Before much is
///    known, `whole_node_prior` imagined requests for an empty node of each kind stand in.
/// 3. *Scarce models.* Requests that only some models serve are spread over these in the least pressing way (water
///    filling); pressure(model) = their expected demand until the cluster is full / free share of the model. Where
///    other tasks lower what the model could still take of *such* requests, that loss counts `scarcity` × pressure² on
///    top. Before much is known, one imagined request per model stands in.
///
/// Ties go to the node with the least share left, as by best fit; before it has seen any request that is all it does.
///
/// Why it wins: gradients of fragmentation look one task ahead; V looks at how a node fills up, so it keeps CPU and
/// shares in proportion and leaves gaps that the demand has a filling for. Only the prices of terms 2 and 3 know the
/// cluster, and they are zero while there is plenty.
///
/// Cost   a score: two table reads per choice; a state seen for the first time samples × draws checks (some µs).

#include <cassert>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "berth/cluster/share_node.hpp"
#include "berth/cluster/share_task_index.hpp"
#include "berth/core/random.hpp"
#include "berth/core/separate.hpp"
#include "berth/policy/packing.hpp"
#include "berth/policy/price_terms.hpp"
#include "berth/policy/set_holdings.hpp"
#include "berth/policy/task_sequences.hpp"
#include "berth/policy/value_table.hpp"

namespace berth {

/// Numbers above zero, but for `redraw_at`, `scarcity` and the priors, which may be zero.
struct future_value_settings {
  unsigned samples = 16;           ///< sequences of draws
  unsigned draws = 60;             ///< tasks that a node sees in each
  std::size_t window = 1U << 14U;  ///< requests that are remembered
  /// Requests between two looks at the prices; more on more than 1,024 nodes and with more than 256 kinds of sets.
  unsigned price_every = 16;
  double redraw_at = 0.02;  ///< part of the demand that must have changed for new sequences to be drawn
  double scarcity = 2;
  double whole_node_prior = 5;
  double model_prior = 0.5;
};

class future_value {
 public:
  explicit future_value(future_value_settings s = {});

  void begin(std::span<const share_node> installed);

  void arrived(const share_task& t, std::span<const share_node> now, std::span<const share_node> installed);

  void changed(const share_node& before, const share_node& after, const share_node& installed);

  [[nodiscard]] std::uint64_t version() const noexcept { return version_; }
  [[nodiscard]] double drift(unsigned kind) const noexcept { return drift_[kind]; }
  [[nodiscard]] std::uint32_t moves(unsigned kind) const noexcept { return moves_[kind]; }
  [[nodiscard]] const packing_charge* charges() const noexcept { return terms_.charges(); }

  /// What scores take from a node alone.
  struct note {
    state_code code;
    double value = 0;         ///< what it could still take, and `roominess`
    double scarce_value = 0;  ///< what it could still take of requests for scarce models
    set_holdings::number sets = set_holdings::none;
    std::int16_t untouched = -1;  ///< its kind, if nothing is on it
    std::uint8_t whole = 0;       ///< GPUs that are wholly free
  };
  [[nodiscard]] note look(const share_node& now, const share_node& installed) const;

  void prefetch(const packing_view& v, const note& seen, const share_task& t) const noexcept;

  [[nodiscard]] packing_score score(const packing_view& v, const share_task& t) const {
    return score(v, look(v.now, v.installed), t);
  }
  [[nodiscard]] packing_score score(const packing_view& v, const note& seen, const share_task& t) const;

  /// The mean share that a node in this state could still take, in thousandths of a GPU.
  [[nodiscard]] double value(const share_node& n) const {
    return all_.value(state_code{n}, n.memory.count(), [&] { return ranked_node{n}; });
  }

 private:
  // Prices of large sets move much; most nodes with room have none left to break, so their scores are kept apart.
  enum drift_kind : std::uint8_t { steady, breaks_small, breaks_large, under_pressure };
  static_assert(under_pressure + 1 == packing_drifts);
  static constexpr std::size_t most_terms = std::size_t{1} << 16;
  // One way to serve a task.
  struct choice {
    double base, value;
    float amount;
    std::uint32_t charge;
    device_mask devices;
  };
  /// Free share of the GPU that a shared GPU is taken from.
  [[nodiscard]] static std::uint16_t taken_from(const share_node& n, device_mask chosen) noexcept {
    return chosen == 0 ? std::uint16_t{0} : n.free[lowest_bit(chosen)];
  }
  // Decides ties as best fit does, for the node with the least GPU share and cores left: less than 2^-3 of a
  // thousandth.
  [[nodiscard]] static double roominess(const share_node& n) noexcept;
  // What the choice breaks, where it breaks anything. \param after, whole  what the node holds then
  void note_broken(price_term& out, const note& seen, const share_node& now, const share_task& t,
                   set_holdings::number after, unsigned whole) const noexcept;
  [[nodiscard]] std::uint8_t drift_of(const price_term& t) const noexcept;
  [[nodiscard]] packing_charge charge_of(const price_term& t) const noexcept;
  [[nodiscard]] std::int16_t kind_of(const share_node& n) const noexcept;
  // Requests that only some models serve are priced apart where such were drawn. Elsewhere the share itself is what
  // they would lose.
  [[nodiscard]] bool is_wanted(unsigned model) const noexcept { return is_pressed(model) && !only_.is_empty(model); }
  // Whether anything pressed on the model since notes were made anew. That it no longer does changes scores, but
  // neither notes nor the kind of a score's drift.
  [[nodiscard]] bool is_pressed(unsigned model) const noexcept { return (pressed_ >> model & 1U) != 0; }
  // Counts the sets of the node, `times` over.
  void count_sets(const share_node& n, const share_node& installed, std::int64_t times) noexcept;

  // Draws new sequences. What any model may be asked for is the same for all of them: tasks that a node's model does
  // not serve pass it by.
  void draw();
  // Draws in proportion to the counts, shuffled.
  template <class Counts>
  void draw(value_table& o, std::uint64_t models, const Counts& counts) {
    const std::size_t total = std::size_t{set_.samples} * set_.draws;
    double sum = 0;
    for (std::uint32_t c = 0; c < count_.size(); ++c)
      if (counts(index_[c])) sum += count_[c];
    if (sum == 0) return;
    std::vector<std::uint32_t> order;
    order.reserve(total);
    double reached = 0;
    for (std::uint32_t c = 0; c < count_.size(); ++c) {
      if (count_[c] == 0 || !counts(index_[c])) continue;
      reached += count_[c] / sum * static_cast<double>(total);
      while (static_cast<double>(order.size()) + 0.5 < reached && order.size() < total) order.push_back(c);
    }
    random_source random{99};
    random.shuffle(order.data(), order.size());
    task_sequences& into = o.add(models);
    for (std::size_t i = 0; i < order.size(); ++i) {
      into.append(index_[order[i]]);
      if ((i + 1) % set_.draws == 0 || i + 1 == order.size()) into.end_sequence();
    }
    into.compile(models);
  }

  /// Whether the sequences no longer tell the demand: it was known half as well when they were drawn, or it has changed
  /// by more than two samples of one demand differ by chance.
  [[nodiscard]] bool is_outdated() const noexcept;

  void learn(std::span<const share_node> now, std::span<const share_node> installed);
  /// Whether the cluster got fuller or emptier since the last look at the prices, by half of what this many requests
  /// ask for. Where as much leaves as comes, a look is due much more rarely.
  [[nodiscard]] bool is_another() const noexcept;
  // Charges follow the prices. No score has risen by more than the largest fall of a charge of its kind of drift; where
  // several choices had a say, kinds below count too.
  void charge_anew();

  // Prices are multiples of 2^-10 as values are, so that kept scores can be compared after `drift` without rounding.
  [[nodiscard]] static double rounded(double x) noexcept { return std::floor(x * 1024 + 0.5) / 1024; }
  /// Terms 2 and 3 anew.
  void set_prices();
  /// The part of the free share on models `q` that lies on models `r`.
  [[nodiscard]] double part_on(std::uint64_t q, std::uint64_t r) const noexcept;

  future_value_settings set_;
  share_task_index index_;
  std::vector<std::uint32_t> count_;   // per distinct task, in the window
  std::vector<std::uint32_t> recent_;  // ring of distinct tasks
  std::size_t oldest_ = 0;
  std::vector<double> drawn_;  // parts of the demand when the sequences were drawn
  std::uint64_t requests_ = 0, learn_at_ = 1, version_ = 1, price_interval_ = 1, learn_every_ = 2048, looked_at_ = 0;
  double drawn_from_ = 0;  // requests that they were drawn from
  double mean_demand_ = 0;

  std::vector<share_node> kinds_;          // distinct among `installed_`, with GPUs
  double free_total_ = 0, free_then_ = 0;  // now, at the last look at the prices
  double free_of_model_[max_device_models]{};
  double most_devices_[max_device_models]{};  // of one node
  std::uint64_t models_seen_ = 0;
  std::vector<whole_set> sets_;  // those of requests, then one per kind
  std::size_t first_kind_ = 0;
  double scarce_[max_device_models]{};
  std::uint64_t pressed_ = 0;  // models, see `is_pressed`
  double drift_[packing_drifts]{};
  std::uint32_t moves_[packing_drifts]{};
  set_holdings holdings_;
  mutable price_terms terms_;  // they remember what they were asked
  mutable value_table all_, only_;
};

}  // namespace berth

#if BERTH_WITH_BODIES
#include "berth/policy/impl/future_value.hpp"
#endif
