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
#include "berth/core/poisson.hpp"
#include "berth/core/random.hpp"
#include "berth/policy/packing.hpp"
#include "berth/policy/task_sequences.hpp"
#include "berth/policy/value_table.hpp"

namespace berth {

/// Numbers above zero, but for `price_step`, `redraw_at`, `scarcity` and the priors, which may be zero.
struct future_value_settings {
  unsigned samples = 16;           ///< sequences of draws
  unsigned draws = 60;             ///< tasks that a node sees in each
  std::size_t window = 1U << 14U;  ///< requests that are remembered
  /// Requests between two looks at the prices. On more than 1,024 nodes, where they move slower, more in proportion.
  unsigned price_every = 32;
  /// Of a price's range: smaller moves are ignored. On more than 1,024 nodes more in proportion, at most tenfold.
  double price_step = 0.002;
  double redraw_at = 0.02;  ///< part of the demand that must have changed for new sequences to be drawn
  double scarcity = 2;
  double whole_node_prior = 5;
  double model_prior = 0.5;
};

class future_value {
 public:
  explicit future_value(future_value_settings s = {}) : set_{s} {
    assert(s.samples != 0 && s.draws != 0 && s.window != 0 && s.price_every != 0);
  }

  void begin(std::span<const share_node> installed) {
    for (const auto& n : installed) {
      free_total_ += n.free_total();
      free_of_model_[n.model] += n.free_total();
      if (n.devices == 0) continue;
      most_devices_[n.model] = n.devices > most_devices_[n.model] ? n.devices : most_devices_[n.model];
      models_seen_ |= bit(n.model);
      bool known = false;
      for (const auto& k : kinds_) known = known || k == n;
      if (!known) kinds_.push_back(n);
    }
    // A look at the prices gets rarer as the cluster grows; prices move slower there.
    const std::size_t thousands = installed.size() / 1024 + 1;
    price_interval_ = set_.price_every * thousands;
    price_step_ = set_.price_step * (thousands < 10 ? static_cast<double>(thousands) : 10);
    learn_every_ = installed.size() < 1024 ? 2048 : 2 * installed.size();
  }

  void arrived(const share_task& t, std::span<const share_node> now, std::span<const share_node> installed) {
    const std::uint32_t c = index_.intern(t);
    if (c == count_.size()) count_.push_back(0);
    if (recent_.size() < set_.window) recent_.push_back(c);
    else {
      --count_[recent_[oldest_]];
      recent_[oldest_] = c;
      oldest_ = (oldest_ + 1) % set_.window;
    }
    ++count_[c];
    ++requests_;
    if (requests_ == learn_at_) {
      learn_at_ += learn_at_ < learn_every_ ? learn_at_ : learn_every_;
      learn(now, installed);
    } else if (requests_ % price_interval_ == 0 && is_another()) {
      set_prices();
    }
  }

  void changed(const share_node& before, const share_node& after, const share_node& installed) {
    const double delta = static_cast<double>(after.free_total()) - before.free_total();
    free_total_ += delta;
    free_of_model_[installed.model] += delta;
    count_sets(before, installed, -1);
    count_sets(after, installed, 1);
  }

  [[nodiscard]] std::uint64_t version() const noexcept { return version_; }
  [[nodiscard]] double drift(unsigned kind) const noexcept { return drift_[kind]; }
  [[nodiscard]] std::uint32_t moves(unsigned kind) const noexcept { return moves_[kind]; }

  /// What scores take from a node alone.
  struct note {
    state_code code;
    double value = 0, scarce_value = 0;  ///< what it could still take: of all requests, of scarce ones
    std::uint8_t whole = 0;              ///< GPUs that are wholly free
    std::int16_t untouched = -1;         ///< its kind, if nothing is on it
  };
  [[nodiscard]] note look(const share_node& now, const share_node& installed) const {
    note out;
    out.code = state_code{now};
    out.whole = static_cast<std::uint8_t>(now.count_with(whole_device));
    const auto state = [&] { return ranked_node{now}; };
    out.value = all_.value(out.code, now.memory.count(), state);
    if (is_wanted(now.model)) out.scarce_value = only_.value(out.code, now.memory.count(), state);
    if (now.devices != 0 && first_kind_ != sets_.size() && now == installed) out.untouched = kind_of(now);
    return out;
  }

  void prefetch(const packing_view& v, const note& seen, const share_task& t) const noexcept {
    const bool wanted = is_wanted(v.now.model);
    for_each_choice(v.now, t, [&](device_mask m) {
      const state_code code = seen.code.after(v.now, t, taken_from(v.now, m));
      all_.prefetch(code);
      if (wanted) only_.prefetch(code);
    });
  }

  [[nodiscard]] packing_score score(const packing_view& v, const share_task& t) const {
    return score(v, look(v.now, v.installed), t);
  }
  [[nodiscard]] packing_score score(const packing_view& v, const note& seen, const share_task& t) const {
    const double pressure = scarce_[v.now.model];
    const bool wanted = is_wanted(v.now.model);
    packing_score best{-1e300, 0, is_pressed(v.now.model) ? under_pressure : steady};
    for_each_choice(v.now, t, [&](device_mask m) {
      const std::uint16_t from = taken_from(v.now, m);
      const state_code code = seen.code.after(v.now, t, from);
      const std::int64_t memory = v.now.memory.count() - t.memory.count();
      const auto state = [&] {
        ranked_node after{v.now};
        after.take(t, from);
        return after;
      };
      double s = all_.value(code, memory, state) + t.demand() - seen.value;
      if (seen.untouched >= 0) {
        s -= sets_[first_kind_ + static_cast<std::size_t>(seen.untouched)].price;
        if (best.drift < breaks_large) best.drift = breaks_large;
      }
      const unsigned taken = from == whole_device ? t.devices : 0U;
      if (seen.whole >= 2) {
        const std::int64_t cpu = v.now.cpu.count(), cpu_after = cpu - t.cpu.count();
        for (std::size_t i = 0; i < first_kind_; ++i) {
          const whole_set& set = sets_[i];
          if (set.devices > seen.whole || (set.models >> v.now.model & 1U) == 0 || set.is(t)) continue;
          const std::int64_t broken = sets_in(seen.whole, cpu, set) - sets_in(seen.whole - taken, cpu_after, set);
          if (broken == 0) continue;
          if (best.drift < set.drift()) best.drift = set.drift();
          s -= set.price * static_cast<double>(broken);
        }
      }
      if (pressure > 0) {
        const double lost =
            wanted ? seen.scarce_value - only_.value(code, memory, state) : static_cast<double>(t.demand());
        // First come, first served may do better with less. That is luck and nothing to pay for.
        if (lost > 0) s -= set_.scarcity * pressure * lost;
      }
      if (s > best.value) best.value = s, best.devices = m;
    });
    return best;
  }

  /// The mean share that a node in this state could still take, in thousandths of a GPU.
  [[nodiscard]] double value(const share_node& n) const {
    return all_.value(state_code{n}, n.memory.count(), [&] { return ranked_node{n}; });
  }

 private:
  // Prices of large sets move much; most nodes with room have none left to break, so their scores are kept apart.
  enum drift_kind : std::uint8_t { steady, breaks_small, breaks_large, under_pressure };
  static_assert(under_pressure + 1 == packing_drifts);
  /// So many whole GPUs with so much CPU on one node of these models; or an untouched node of one kind.
  struct whole_set {
    std::uint8_t devices = 0;
    std::int16_t kind = -1;  ///< which one; -1: no such
    cpu_millis cpu{};
    std::uint64_t models = 0;
    double per_request = 0;  ///< requests for it, of all requests
    std::int64_t left = 0;   ///< in the whole cluster
    double price = 0;
    [[nodiscard]] bool is_same(const whole_set& o) const noexcept {
      return devices == o.devices && cpu == o.cpu && models == o.models && kind == o.kind;
    }
    [[nodiscard]] std::uint8_t drift() const noexcept {
      return kind < 0 && devices < 4 ? std::uint8_t{breaks_small} : std::uint8_t{breaks_large};
    }
    [[nodiscard]] bool is(const share_task& t) const noexcept {
      return kind < 0 && t.devices == devices && t.cpu == cpu && t.models == models;
    }
  };
  /// Free share of the GPU that a shared GPU is taken from.
  [[nodiscard]] static std::uint16_t taken_from(const share_node& n, device_mask chosen) noexcept {
    return chosen == 0 ? std::uint16_t{0} : n.free[lowest_bit(chosen)];
  }
  [[nodiscard]] static std::int64_t sets_in(unsigned whole, std::int64_t cpu, const whole_set& s) noexcept {
    const std::int64_t sets = whole / s.devices, asked = s.cpu.count();
    if (sets == 0 || cpu >= sets * asked) return sets;
    return cpu < asked ? 0 : cpu / asked;
  }
  [[nodiscard]] std::int16_t kind_of(const share_node& n) const noexcept {
    for (std::size_t k = 0; k < kinds_.size(); ++k)
      if (kinds_[k] == n) return static_cast<std::int16_t>(k);
    return -1;
  }
  // Requests that only some models serve are priced apart where such were drawn. Elsewhere the share itself is what
  // they would lose.
  [[nodiscard]] bool is_wanted(unsigned model) const noexcept { return is_pressed(model) && !only_.is_empty(model); }
  // Whether anything pressed on the model since notes were made anew. That it no longer does changes scores, but neither
  // notes nor the kind of a score's drift.
  [[nodiscard]] bool is_pressed(unsigned model) const noexcept { return (pressed_ >> model & 1U) != 0; }
  // Counts the sets of the node, `times` over.
  void count_sets(const share_node& n, const share_node& installed, std::int64_t times) noexcept {
    const unsigned whole = n.count_with(whole_device);
    if (whole == 0) return;
    for (std::size_t i = 0; i < first_kind_; ++i)
      if ((sets_[i].models >> n.model & 1U) != 0) sets_[i].left += times * sets_in(whole, n.cpu.count(), sets_[i]);
    if (!(n == installed) || first_kind_ == sets_.size()) return;
    if (const auto k = kind_of(n); k >= 0) sets_[first_kind_ + static_cast<std::size_t>(k)].left += times;
  }

  // Draws in proportion to the counts, shuffled; `scarce_only`: tasks that not every model serves.
  void draw(value_table& o, bool scarce_only) {
    o.forget(set_.samples);
    const std::size_t total = std::size_t{set_.samples} * set_.draws;
    for (unsigned model = 0; model < max_device_models; ++model) {
      if ((models_seen_ >> model & 1U) == 0) continue;
      task_sequences& into = o.of_model(model);
      into.clear();
      double sum = 0;
      for (std::uint32_t c = 0; c < count_.size(); ++c)
        if (counts_for(c, model, scarce_only)) sum += count_[c];
      if (sum == 0) continue;
      std::vector<std::uint32_t> order;
      order.reserve(total);
      double reached = 0;
      for (std::uint32_t c = 0; c < count_.size(); ++c) {
        if (!counts_for(c, model, scarce_only)) continue;
        reached += count_[c] / sum * static_cast<double>(total);
        while (static_cast<double>(order.size()) + 0.5 < reached && order.size() < total) order.push_back(c);
      }
      random_source random{99};
      random.shuffle(order.data(), order.size());
      for (std::size_t i = 0; i < order.size(); ++i) {
        const share_task& t = index_[order[i]];
        if (t.devices == 0 || (t.models >> model & 1U) != 0) into.append(t);
        if ((i + 1) % set_.draws == 0 || i + 1 == order.size()) into.end_sequence();
      }
      into.compile();
    }
  }
  [[nodiscard]] bool counts_for(std::uint32_t c, unsigned model, bool scarce_only) const noexcept {
    if (count_[c] == 0) return false;
    return !scarce_only || (!index_[c].any_model() && (index_[c].models >> model & 1U) != 0);
  }

  /// Whether the sequences no longer tell the demand: it was known half as well when they were drawn, or it has changed
  /// by more than two samples of one demand differ by chance.
  [[nodiscard]] bool is_outdated() const noexcept {
    const auto seen = static_cast<double>(recent_.size());
    if (drawn_.empty() || seen >= 2 * drawn_from_) return true;
    double moved = 0, chance = 0;
    for (std::uint32_t c = 0; c < count_.size(); ++c) {
      const double now = count_[c] / seen, then = c < drawn_.size() ? drawn_[c] : 0.0;
      moved += std::fabs(now - then) / 2;
      // Half the mean distance of two normal estimates of one part.
      const double part = (now + then) / 2;
      chance += std::sqrt(part * (1 - part) * (1 / seen + 1 / drawn_from_) / 6.2832);
    }
    return moved > set_.redraw_at + chance;
  }

  void learn(std::span<const share_node> now, std::span<const share_node> installed) {
    const auto seen = static_cast<double>(recent_.size());
    // New sequences make every kept value void, so they are drawn only when the demand has changed.
    if (is_outdated()) {
      draw(all_, false);
      draw(only_, true);
      drawn_.clear();
      for (const auto n : count_) drawn_.push_back(n / seen);
      drawn_from_ = seen;
      pressed_ = 0;
      for_each_bit(models_seen_, [&](unsigned m) { pressed_ |= scarce_[m] > 0 ? bit(m) : 0; });
      ++version_;
    }
    const std::vector<whole_set> old = static_cast<std::vector<whole_set>&&>(sets_);
    sets_.clear();
    for (std::uint32_t c = 0; c < count_.size(); ++c) {
      const share_task& t = index_[c];
      if (count_[c] == 0 || t.devices < 2) continue;
      std::size_t i = 0;
      while (i < sets_.size() && !sets_[i].is(t)) ++i;
      if (i == sets_.size()) sets_.push_back({t.devices, -1, t.cpu, t.models, 0, 0, 0});
      sets_[i].per_request += count_[c] / seen;
    }
    const double imagined = set_.whole_node_prior / (seen + set_.whole_node_prior);
    first_kind_ = sets_.size();
    for (std::size_t k = 0; k < kinds_.size(); ++k)
      sets_.push_back({kinds_[k].devices, static_cast<std::int16_t>(k), kinds_[k].cpu, bit(kinds_[k].model),
                       imagined / static_cast<double>(kinds_.size()), 0, 0});
    for (std::size_t n = 0; n < now.size(); ++n) count_sets(now[n], installed[n], 1);
    mean_demand_ = 0;
    for (std::uint32_t c = 0; c < count_.size(); ++c) mean_demand_ += count_[c] / seen * index_[c].demand();
    set_prices();
    std::size_t kept = 0;
    for (const auto& o : old) {
      double price = 0;
      for (const auto& s : sets_)
        if (s.is_same(o)) price = s.price, ++kept;
      cheaper(o, o.price - price);
    }
    if (kept != sets_.size()) ++version_;  // nothing was expected to break what was no set
    add_drift();
  }
  /// Whether the cluster got fuller or emptier since the last look at the prices, by half of what this many requests
  /// ask for. Where as much leaves as comes, a look is due much more rarely.
  [[nodiscard]] bool is_another() const noexcept {
    const double moved = std::fabs(free_total_ - free_then_);
    return moved >= 0.5 * mean_demand_ * static_cast<double>(price_interval_) ||
           requests_ - looked_at_ >= 64 * price_interval_;
  }
  /// Notes that breaking such a set costs so much less than it did; less than nothing: more.
  void cheaper(const whole_set& s, double by) noexcept {
    if (by == 0) return;
    moved_[s.drift()] = true;
    if (by < 0) return;
    for_each_bit(s.models & models_seen_, [&](unsigned m) {
      rise& r = risen_[m];
      if (s.kind < 0) r.by[s.drift()] += by * (most_devices_[m] / s.devices);
      else if (by > r.by_kind) r.by_kind = by;  // a node is of one kind
    });
  }
  /// A node has one model, so no score has risen by more than the prices of one model allow.
  void add_drift() noexcept {
    double most[packing_drifts]{};
    for_each_bit(models_seen_, [&](unsigned m) {
      const rise& r = risen_[m];
      double sum = 0;
      for (unsigned d = breaks_small; d < packing_drifts; ++d) {
        sum += r.by[d] + (d == breaks_large ? r.by_kind : 0);
        most[d] = sum > most[d] ? sum : most[d];
      }
      risen_[m] = {};
    });
    bool moved = false;
    for (unsigned d = breaks_small; d < packing_drifts; ++d) {
      drift_[d] += std::ceil(most[d] * 1024) / 1024;  // as coarse as prices are
      moved = moved || moved_[d];
      if (moved) ++moves_[d];
      moved_[d] = false;
    }
  }

  /// Terms 2 and 3 anew, where a price moved enough to matter. Prices are multiples of 2^-10, so that kept scores can
  /// be compared after `drift` without rounding.
  void set_prices() {
    const auto rounded = [](double x) { return std::floor(x * 1024 + 0.5) / 1024; };
    looked_at_ = requests_;
    free_then_ = free_total_;
    const double to_come = mean_demand_ > 0 ? free_total_ / mean_demand_ : 0;  // requests until the cluster is full
    // Rates that were learned from few requests may be wrong by much: the tail has to know it.
    const double spread = 1 + to_come / (static_cast<double>(recent_.size()) + set_.whole_node_prior);
    for (auto& s : sets_) {
      double need = 0;
      for (const auto& q : sets_)
        if (q.devices >= s.devices && (q.models & s.models) != 0)
          need += q.per_request * to_come * (q.devices / s.devices) * part_on(q.models, s.models);
      const double price = rounded(negative_binomial_at_least(need, spread, s.left) * s.devices * whole_device);
      if (std::fabs(price - s.price) <= price_step_ * s.devices * whole_device) continue;
      cheaper(s, s.price - price);
      s.price = price;
    }

    struct demand {
      std::uint64_t models;
      double amount;
      double on[max_device_models];
    };
    std::vector<demand> demands;
    const auto add = [&](std::uint64_t models, double amount) {
      for (auto& d : demands)
        if (d.models == models) {
          d.amount += amount;
          return;
        }
      demands.push_back({models, amount, {}});
    };
    const auto seen = static_cast<double>(recent_.size());
    for (std::uint32_t c = 0; c < count_.size(); ++c)
      if (count_[c] != 0 && !index_[c].any_model() && (index_[c].models & models_seen_) != 0)
        add(index_[c].models & models_seen_, count_[c] / seen * to_come * index_[c].demand());
    const double imagined = set_.model_prior / (seen + set_.model_prior * count_bits(models_seen_));
    for_each_bit(models_seen_, [&](unsigned m) { add(bit(m), imagined * to_come * mean_demand_); });

    // Water filling, one set of models at a time, until it settles.
    double load[max_device_models]{};
    for (unsigned round = 0; round < 20; ++round)
      for (auto& d : demands) {
        for_each_bit(d.models, [&](unsigned m) { load[m] -= d.on[m]; });
        double low = 0, high = 0;
        for_each_bit(d.models, [&](unsigned m) {
          const double top = (load[m] + d.amount) / (free_of_model_[m] + 1);
          high = top > high ? top : high;
        });
        for (unsigned step = 0; step < 40; ++step) {
          const double level = (low + high) / 2;
          double held = 0;
          for_each_bit(d.models, [&](unsigned m) {
            const double x = level * (free_of_model_[m] + 1) - load[m];
            held += x > 0 ? x : 0;
          });
          (held > d.amount ? high : low) = level;
        }
        for_each_bit(d.models, [&](unsigned m) {
          const double x = low * (free_of_model_[m] + 1) - load[m];
          d.on[m] = x > 0 ? x : 0;
          load[m] += d.on[m];
        });
      }
    for_each_bit(models_seen_, [&](unsigned m) {
      const double pressure = load[m] / (free_of_model_[m] + 1);
      const double price = rounded(pressure * pressure < 2 ? pressure * pressure : 2.0);
      const double fall = scarce_[m] - price;
      if (std::fabs(fall) <= price_step_) return;
      if (!is_pressed(m)) pressed_ |= bit(m), ++version_;  // what nothing pressed on did not drift
      moved_[under_pressure] = true;
      // No node loses more than all its GPUs.
      if (fall > 0) risen_[m].by[under_pressure] += set_.scarcity * fall * whole_device * most_devices_[m];
      scarce_[m] = price;
    });
    add_drift();
  }
  /// The part of the free share on models `q` that lies on models `r`.
  [[nodiscard]] double part_on(std::uint64_t q, std::uint64_t r) const noexcept {
    double all = 0, some = 0;
    for_each_bit(q & models_seen_, [&](unsigned m) {
      all += free_of_model_[m] + 1;
      some += (r >> m & 1U) != 0 ? free_of_model_[m] + 1 : 0;
    });
    return all > 0 ? some / all : 0;
  }

  future_value_settings set_;
  share_task_index index_;
  std::vector<std::uint32_t> count_;   // per distinct task, in the window
  std::vector<std::uint32_t> recent_;  // ring of distinct tasks
  std::size_t oldest_ = 0;
  std::vector<double> drawn_;  // parts of the demand when the sequences were drawn
  std::uint64_t requests_ = 0, learn_at_ = 1, version_ = 1, price_interval_ = 1, learn_every_ = 2048, looked_at_ = 0;
  double drawn_from_ = 0;  // requests that they were drawn from
  double price_step_ = 0;
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
  struct rise {
    double by[packing_drifts]{};
    double by_kind = 0;
  };
  rise risen_[max_device_models]{};  // what scores may have risen by since the last drift
  double drift_[packing_drifts]{};
  std::uint32_t moves_[packing_drifts]{};
  bool moved_[packing_drifts]{};    // since the last drift
  mutable value_table all_, only_;  // they remember what they were asked
};

}  // namespace berth
