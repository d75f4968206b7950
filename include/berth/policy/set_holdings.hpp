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
#include "berth/core/separate.hpp"

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
  [[nodiscard]] std::int64_t count_in(unsigned whole, std::int64_t cpu_left) const noexcept;
};

class set_holdings {
 public:
  using number = std::uint32_t;
  /// Holds nothing.
  static constexpr number none = 0;

  /// \param models  those of the cluster's nodes \param most_whole  of each model, the most GPUs on one node. Prices
  /// count
  ///        as nothing and nodes as none until they are told.
  void build(std::span<const whole_set> sets, std::uint64_t models, const double* most_whole);
  /// What a node of that model holds. \param whole  GPUs that are wholly free \param cpu  millicores
  [[nodiscard]] number of(unsigned model, unsigned whole, std::int64_t cpu) const noexcept;
  /// So many sets in all, and of these large ones.
  [[nodiscard]] std::uint32_t sets_in(number h) const noexcept { return steps_[h].held; }
  [[nodiscard]] std::uint32_t large_sets_in(number h) const noexcept { return steps_[h].large; }

  /// That many more nodes hold this.
  void count(number h, std::int64_t nodes) noexcept { nodes_[h] += nodes; }
  /// Says how many of each set there are.
  void tell_left(std::span<whole_set> sets) const noexcept;
  /// Prices have moved.
  void price(std::span<const whole_set> sets) noexcept;
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
  [[nodiscard]] row make_row(std::span<const whole_set> sets, unsigned model, unsigned whole);

  std::vector<row> rows_;                                           // by model and whole GPUs
  std::vector<step> steps_ = std::vector<step>(1);                  // by holding
  std::vector<std::int64_t> nodes_ = std::vector<std::int64_t>(1);  // that hold it
  std::vector<double> worth_ = std::vector<double>(1);
};

}  // namespace berth

#if BERTH_WITH_BODIES
#include "berth/policy/impl/set_holdings.hpp"
#endif
