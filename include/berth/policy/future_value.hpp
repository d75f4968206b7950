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
///    times the chance that all of them will be needed: P(Poisson(expected requests until the cluster is full) >=
///    sets). Before much is known, `whole_node_prior` imagined requests for an empty node of each kind stand in.
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

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "berth/cluster/share_node.hpp"
#include "berth/cluster/share_task_index.hpp"
#include "berth/core/poisson.hpp"
#include "berth/core/random.hpp"
#include "berth/policy/packing.hpp"

namespace berth {

struct future_value_settings {
  unsigned samples = 16;           ///< sequences of draws
  unsigned draws = 80;             ///< tasks that a node sees in each
  std::size_t window = 1U << 14U;  ///< requests that are remembered
  unsigned price_every =
      64;  ///< requests between two looks at the prices; more on more than 1,024 nodes, in proportion
  double scarcity = 2;
  double whole_node_prior = 5;
  double model_prior = 1;
};

class future_value {
 public:
  explicit future_value(future_value_settings s = {}) : set_{s} {}

  void add_node(const share_node& n) {
    nodes_.push_back(n);
    installed_.push_back(n);
    free_total_ += n.free_total();
    free_of_model_[n.model] += n.free_total();
    if (n.devices != 0) models_seen_ |= bit(n.model);
    for (const auto& k : kinds_)
      if (k == n) return;
    if (n.devices != 0) kinds_.push_back(n);
  }

  void arrived(const share_task& t) {
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
      learn_at_ = learn_at_ < 2048 ? 2 * learn_at_ : learn_at_ + 2048;
      learn();
    } else if (requests_ % price_interval() == 0 && set_prices()) {
      ++version_;
    }
  }

  void changed(std::uint32_t node, const share_node& after, const share_node& installed) {
    const share_node& before = nodes_[node];
    const double delta = static_cast<double>(after.free_total()) - before.free_total();
    free_total_ += delta;
    free_of_model_[installed.model] += delta;
    for (auto& s : sets_) s.left += sets_in(after, installed, s) - sets_in(before, installed, s);
    nodes_[node] = after;
  }

  [[nodiscard]] std::uint64_t version() const noexcept { return version_; }

  [[nodiscard]] packing_score score(const packing_view& v, const share_task& t) const {
    const double value = value_of(v.now, all_);
    const double pressure = scarce_[v.now.model];
    const double scarce_value = pressure > 0 ? value_of(v.now, only_) : 0;
    packing_score best{-1e300, 0};
    for_each_choice(v.now, t, [&](device_mask m) {
      share_node after = v.now;
      take(after, t, m);
      double s = value_of(after, all_) + t.demand() - value;
      for (const auto& set : sets_) {
        if (set.price == 0 || set.is(t)) continue;
        const auto broken = sets_in(v.now, v.installed, set) - sets_in(after, v.installed, set);
        s -= set.price * static_cast<double>(broken);
      }
      if (pressure > 0) {
        const double lost = only_.of_model[v.now.model].empty() ? static_cast<double>(t.demand())
                                                                : scarce_value - value_of(after, only_);
        s -= set_.scarcity * pressure * lost;
      }
      if (s > best.value) best = {s, m};
    });
    return best;
  }

  /// The mean share that a node in this state could still take, in thousandths of a GPU.
  [[nodiscard]] double value(const share_node& n) const { return value_of(n, all_); }

 private:
  // A look at the prices may void the scores of all nodes, so it gets rarer as the cluster grows; prices move slower
  // there.
  [[nodiscard]] std::uint64_t price_interval() const noexcept { return set_.price_every * (nodes_.size() / 1024 + 1); }

  /// So many whole GPUs with so much CPU on one node of these models; `empty_kind`: an untouched node of one kind.
  struct whole_set {
    std::uint8_t devices = 0;
    cpu_millis cpu{};
    std::uint64_t models = 0;
    bool empty_kind = false;
    share_node kind{};
    double per_request = 0;  ///< requests for it, of all requests
    std::int64_t left = 0;   ///< in the whole cluster
    double price = 0;
    [[nodiscard]] bool is(const share_task& t) const noexcept {
      return !empty_kind && t.devices == devices && t.cpu == cpu && t.models == models;
    }
  };
  /// Sequences of draws per model, and what states were found to be worth.
  struct outlook {
    std::vector<share_task> of_model[max_device_models];  ///< those draws that the model serves, `ends` splits them
    std::vector<std::uint32_t> ends[max_device_models];
    std::uint16_t smallest[max_device_models]{};  ///< least share that any of the draws asks for
    struct slot {
      share_node state;
      float value = 0;
      bool used = false;
    };
    mutable std::vector<slot> memo;
    mutable std::size_t used = 0;
  };

  [[nodiscard]] static std::int64_t sets_in(const share_node& n, const share_node& installed,
                                            const whole_set& s) noexcept {
    if (s.empty_kind) return n == s.kind && installed == s.kind ? 1 : 0;
    if ((s.models >> n.model & 1U) == 0) return 0;
    const std::int64_t sets = n.count_with(whole_device) / s.devices;
    if (sets == 0 || s.cpu.count() == 0) return sets;
    const std::int64_t by_cpu = n.cpu.count() / s.cpu.count();
    return by_cpu < sets ? by_cpu : sets;
  }

  // What is worth the same: GPUs in falling order, CPU and memory in coarse steps.
  [[nodiscard]] static share_node coarse(const share_node& n) noexcept {
    share_node c = n;
    c.cpu = cpu_millis{n.cpu.count() / 1000 * 1000};
    c.memory = bytes{n.memory.count() >> 32 << 32};
    for (unsigned i = 1; i < c.devices; ++i)
      for (unsigned k = i; k > 0 && c.free[k] > c.free[k - 1]; --k) {
        const auto x = c.free[k];
        c.free[k] = c.free[k - 1];
        c.free[k - 1] = x;
      }
    return c;
  }

  [[nodiscard]] double value_of(const share_node& now, const outlook& o) const {
    const share_node n = coarse(now);
    if (o.used * 2 >= o.memo.size()) grow(o);
    const std::size_t at = find(o, n);
    if (o.memo[at].used) return static_cast<double>(o.memo[at].value);
    const auto& tasks = o.of_model[n.model];
    std::uint64_t taken = 0;
    std::uint32_t first = 0;
    for (const auto end : o.ends[n.model]) {
      share_node left = n;
      // Most draws no longer fit a node that fills up: they are turned down on three numbers.
      unsigned widest = 0, whole = left.count_with(whole_device);
      for (unsigned g = 0; g < left.devices; ++g) widest = left.free[g] > widest ? left.free[g] : widest;
      for (std::uint32_t i = first; i < end && widest >= o.smallest[n.model]; ++i) {
        const share_task& t = tasks[i];
        if (t.cpu > left.cpu || t.memory > left.memory || t.share > widest || (t.devices > 1 && t.devices > whole))
          continue;
        take(left, t, tightest_choice(left, t));
        taken += t.demand();
        if (t.devices == 0) continue;
        whole = left.count_with(whole_device);
        widest = 0;
        for (unsigned g = 0; g < left.devices; ++g) widest = left.free[g] > widest ? left.free[g] : widest;
      }
      first = end;
    }
    const double value = static_cast<double>(taken) / set_.samples;
    o.memo[at] = {n, static_cast<float>(value), true};
    ++o.used;
    return static_cast<double>(static_cast<float>(value));
  }
  [[nodiscard]] static std::size_t find(const outlook& o, const share_node& n) noexcept {
    std::uint64_t h = static_cast<std::uint64_t>(n.cpu.count()) * 0x9e3779b97f4a7c15U;
    h = (h ^ (h >> 29) ^ static_cast<std::uint64_t>(n.memory.count() >> 32)) * 0xbf58476d1ce4e5b9U;
    for (unsigned g = 0; g < n.devices; ++g) h = (h ^ n.free[g]) * 0x94d049bb133111ebU + (h >> 31);
    h = (h ^ (h >> 30) ^ (std::uint64_t{n.model} << 8 | n.devices)) * 0x9e3779b97f4a7c15U;
    std::size_t s = static_cast<std::size_t>(h >> 20) & (o.memo.size() - 1);
    while (o.memo[s].used && !(o.memo[s].state == n)) s = (s + 1) & (o.memo.size() - 1);
    return s;
  }
  static void grow(const outlook& o) {
    // Past this size states are no longer remembered from long ago; they are cheap to value anew.
    constexpr std::size_t most = std::size_t{1} << 18;
    const std::vector<outlook::slot> old = static_cast<std::vector<outlook::slot>&&>(o.memo);
    const bool forget = old.size() >= most;
    o.memo.assign(old.empty() ? 1024 : forget ? old.size() : 2 * old.size(), {});
    o.used = 0;
    if (forget) return;
    for (const auto& x : old)
      if (x.used) {
        o.memo[find(o, x.state)] = x;
        ++o.used;
      }
  }

  // Draws in proportion to the counts, shuffled; `scarce_only`: tasks that not every model serves.
  void draw(outlook& o, bool scarce_only) {
    o.memo.clear();
    o.used = 0;
    const std::size_t total = std::size_t{set_.samples} * set_.draws;
    for (unsigned model = 0; model < max_device_models; ++model) {
      o.of_model[model].clear();
      o.ends[model].clear();
    }
    for (unsigned model = 0; model < max_device_models; ++model) {
      if ((models_seen_ >> model & 1U) == 0) continue;
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
      o.smallest[model] = whole_device + 1;
      random_source random{99};
      for (std::size_t i = order.size(); i > 1; --i) {
        const std::size_t k = random.below(i);
        const auto x = order[i - 1];
        order[i - 1] = order[k];
        order[k] = x;
      }
      for (std::size_t i = 0; i < order.size(); ++i) {
        const share_task& t = index_[order[i]];
        if (t.devices == 0 || (t.models >> model & 1U) != 0) {
          o.of_model[model].push_back(t);
          if (t.devices != 0 && t.share < o.smallest[model]) o.smallest[model] = t.share;
        }
        if ((i + 1) % set_.draws == 0 || i + 1 == order.size())
          o.ends[model].push_back(static_cast<std::uint32_t>(o.of_model[model].size()));
      }
    }
  }
  [[nodiscard]] bool counts_for(std::uint32_t c, unsigned model, bool scarce_only) const noexcept {
    if (count_[c] == 0) return false;
    return !scarce_only || (!index_[c].any_model() && (index_[c].models >> model & 1U) != 0);
  }

  void learn() {
    draw(all_, false);
    draw(only_, true);
    const auto seen = static_cast<double>(recent_.size());
    sets_.clear();
    for (std::uint32_t c = 0; c < count_.size(); ++c) {
      const share_task& t = index_[c];
      if (count_[c] == 0 || t.devices < 2) continue;
      std::size_t i = 0;
      while (i < sets_.size() && !sets_[i].is(t)) ++i;
      if (i == sets_.size()) sets_.push_back({t.devices, t.cpu, t.models, false, {}, 0, 0, 0});
      sets_[i].per_request += count_[c] / seen;
    }
    const double imagined = set_.whole_node_prior / (seen + set_.whole_node_prior);
    for (const auto& k : kinds_)
      sets_.push_back({k.devices, k.cpu, bit(k.model), true, k, imagined / static_cast<double>(kinds_.size()), 0, 0});
    for (auto& set : sets_)
      for (std::size_t n = 0; n < nodes_.size(); ++n) set.left += sets_in(nodes_[n], installed_[n], set);
    mean_demand_ = 0;
    for (std::uint32_t c = 0; c < count_.size(); ++c) mean_demand_ += count_[c] / seen * index_[c].demand();
    static_cast<void>(set_prices());
    ++version_;
  }

  /// Terms 2 and 3 anew. Whether any price moved enough to matter.
  bool set_prices() {
    const double to_come = mean_demand_ > 0 ? free_total_ / mean_demand_ : 0;  // requests until the cluster is full
    bool moved = false;
    for (auto& s : sets_) {
      double need = 0;
      for (const auto& q : sets_)
        if (q.devices >= s.devices && (q.models & s.models) != 0)
          need += q.per_request * to_come * (q.devices / s.devices) * part_on(q.models, s.models);
      const double price = poisson_at_least(need, s.left) * s.devices * whole_device;
      if (std::fabs(price - s.price) > 0.01 * s.devices * whole_device) {
        s.price = price;
        moved = true;
      }
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
      const double price = pressure * pressure < 2 ? pressure * pressure : 2.0;
      if (std::fabs(price - scarce_[m]) > 0.01) {
        scarce_[m] = price;
        moved = true;
      }
    });
    return moved;
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
  std::uint64_t requests_ = 0, learn_at_ = 1, version_ = 1;
  double mean_demand_ = 0;

  std::vector<share_node> nodes_, installed_;
  std::vector<share_node> kinds_;  // distinct among `installed_`, with GPUs
  double free_total_ = 0;
  double free_of_model_[max_device_models]{};
  std::uint64_t models_seen_ = 0;
  std::vector<whole_set> sets_;
  double scarce_[max_device_models]{};
  outlook all_, only_;
};

}  // namespace berth
