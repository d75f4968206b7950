#pragma once
/// \file
/// Sets of whole GPUs that tasks ask for, and how many of each a node holds.
///
/// Nodes that hold as many of every set share a number, a holding: what breaking sets costs is the difference of two
/// numbers, whatever the sets.
///
/// Cost   `build` O(s log s) for s = sets × GPUs² of a node, for every group of models that serve the same; `of` O(log
/// s);
///        what is said of all holdings O(s).

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "berth/cluster/share_node.hpp"
#include "berth/core/shell_sort.hpp"

namespace berth {

/// So many whole GPUs with so much CPU on one node of these models; or an untouched node of one kind.
struct whole_set {
  std::uint8_t devices = 0;
  std::int16_t kind = -1;  ///< which one; -1: no such
  cpu_millis cpu{};
  std::uint64_t models = 0;
  double per_request = 0;  ///< requests for it, of all requests
  std::int64_t left = 0;   ///< in the whole cluster
  double price = 0;        ///< of breaking one
  [[nodiscard]] bool is_same(const whole_set& o) const noexcept {
    return devices == o.devices && cpu == o.cpu && models == o.models && kind == o.kind;
  }
  [[nodiscard]] bool is(const share_task& t) const noexcept {
    return kind < 0 && t.devices == devices && t.cpu == cpu && t.models == models;
  }
  /// Of four GPUs and more.
  [[nodiscard]] bool is_large() const noexcept { return devices >= 4; }
  /// So many of these fit on a node at once. \param whole  GPUs that are wholly free
  [[nodiscard]] std::int64_t count_in(unsigned whole, std::int64_t cpu_left) const noexcept {
    const std::int64_t sets = whole / devices, asked = cpu.count();
    if (sets == 0 || cpu_left >= sets * asked) return sets;
    return cpu_left < asked ? 0 : cpu_left / asked;
  }
};

class set_holdings {
 public:
  using number = std::uint32_t;
  /// Holds nothing.
  static constexpr number none = 0;

  /// \param models  those of the cluster's nodes \param most_whole  of each model, the most GPUs on one node. Prices
  /// count
  ///        as nothing and nodes as none until they are told.
  void build(std::span<const whole_set> sets, std::uint64_t models, const double* most_whole) {
    rows_.assign(std::size_t{max_device_models} * (max_shared_devices + 1), {});
    steps_.assign(1, {});
    std::uint64_t done = 0;
    for_each_bit(models, [&](unsigned m) {
      unsigned like = max_device_models;
      for_each_bit(done, [&](unsigned o) {
        bool same = most_whole[o] >= most_whole[m] && like == max_device_models;
        for (std::size_t i = 0; same && i < sets.size(); ++i)
          same = ((sets[i].models >> m ^ sets[i].models >> o) & 1U) == 0;
        if (same) like = o;
      });
      done |= bit(m);
      for (unsigned whole = 2; whole <= static_cast<unsigned>(most_whole[m]); ++whole)
        row_of(m, whole) = like != max_device_models ? row_of(like, whole) : make_row(sets, m, whole);
    });
    nodes_.assign(steps_.size(), 0);
    worth_.assign(steps_.size(), 0);
  }
  /// What a node of that model holds. \param whole  GPUs that are wholly free \param cpu  millicores
  [[nodiscard]] number of(unsigned model, unsigned whole, std::int64_t cpu) const noexcept {
    if (whole < 2 || rows_.empty()) return none;
    const row& r = rows_[std::size_t{model} * (max_shared_devices + 1) + whole];
    number low = r.begin, n = r.steps;
    while (n != 0) {
      const number half = (n + 1) / 2;
      low = steps_[low + half].cpu <= cpu ? low + half : low;
      n -= half;
    }
    return low;
  }
  /// So many sets in all, and of these large ones.
  [[nodiscard]] std::uint32_t sets_in(number h) const noexcept { return steps_[h].held; }
  [[nodiscard]] std::uint32_t large_sets_in(number h) const noexcept { return steps_[h].large; }

  /// That many more nodes hold this.
  void count(number h, std::int64_t nodes) noexcept { nodes_[h] += nodes; }
  /// Says how many of each set there are.
  void tell_left(std::span<whole_set> sets) const noexcept {
    for (whole_set& s : sets) s.left = 0;
    std::int64_t nodes = 0;  // that hold the set of the step
    for (std::size_t h = steps_.size(); h-- > 1;) {
      nodes += nodes_[h];
      if (steps_[h].set == row_begins) nodes = 0;
      else sets[steps_[h].set].left += nodes;
    }
  }
  /// Prices have moved.
  void price(std::span<const whole_set> sets) noexcept {
    for (std::size_t h = 1; h < steps_.size(); ++h)
      worth_[h] = steps_[h].set == row_begins ? 0 : worth_[h - 1] + sets[steps_[h].set].price;
  }
  /// What all sets of a holding cost together.
  [[nodiscard]] double worth(number h) const noexcept { return worth_[h]; }

 private:
  static constexpr std::uint32_t row_begins = ~std::uint32_t{0};
  // One more set than the holding before has, from so much CPU on. A row begins with a holding of nothing.
  struct step {
    std::int64_t cpu = 0;
    std::uint32_t set = row_begins;
    std::uint32_t held = 0, large = 0;
  };
  // The holdings of nodes with so many whole GPUs of some models: from `begin` on, by CPU, one per step and one more.
  struct row {
    number begin = none, steps = 0;
  };
  [[nodiscard]] row& row_of(unsigned model, unsigned whole) noexcept {
    return rows_[std::size_t{model} * (max_shared_devices + 1) + whole];
  }
  [[nodiscard]] row make_row(std::span<const whole_set> sets, unsigned model, unsigned whole) {
    const row out{static_cast<number>(steps_.size()), 0};
    steps_.push_back({});
    for (std::uint32_t i = 0; i < sets.size(); ++i)
      if ((sets[i].models >> model & 1U) != 0)
        for (unsigned k = 1; k <= whole / sets[i].devices; ++k) steps_.push_back({k * sets[i].cpu.count(), i, 0, 0});
    const std::size_t count = steps_.size() - out.begin - 1;
    detail::shell_sort(steps_.data() + out.begin + 1, count,
                       [](const step& a, const step& b) { return a.cpu < b.cpu; });
    for (std::size_t h = out.begin + 1; h < steps_.size(); ++h) {
      steps_[h].held = steps_[h - 1].held + 1;
      steps_[h].large = steps_[h - 1].large + (sets[steps_[h].set].is_large() ? 1U : 0U);
    }
    return {out.begin, static_cast<number>(count)};
  }

  std::vector<row> rows_;                                           // by model and whole GPUs
  std::vector<step> steps_ = std::vector<step>(1);                  // by holding
  std::vector<std::int64_t> nodes_ = std::vector<std::int64_t>(1);  // that hold it
  std::vector<double> worth_ = std::vector<double>(1);
};

}  // namespace berth
