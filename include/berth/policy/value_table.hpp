#pragma once
/// \file
/// What node states are worth under fixed sequences of tasks, remembered by state.
///
/// States that differ only in memory share an entry as long as memory does not decide: a roll-out with memory without
/// bounds says how much it used, and every state with at least that much gives the same.
///
/// Cost   a known state one line of memory; a new one a roll-out or two.

#include <cstddef>
#include <cstdint>
#include <limits>
#include <vector>

#include "berth/cluster/share_node.hpp"
#include "berth/core/flat_array.hpp"
#include "berth/core/prefetch.hpp"
#include "berth/core/random.hpp"
#include "berth/core/separate.hpp"
#include "berth/policy/task_sequences.hpp"

namespace berth {

/// A number for what roll-outs see of a node beside its memory: model, whole cores, free shares of the GPUs in any
/// order. A sum of one scattered word per part, so that a task taken changes it by a few words. Equal states have
/// equal numbers; that two of a million states share one has a chance below one in ten million.
class state_code {
 public:
  state_code() = default;
  explicit state_code(const share_node& n) noexcept;
  /// The code after a task was taken. \param from  free share of the GPU that a shared GPU is taken from. O(1)
  [[nodiscard]] state_code after(const share_node& n, const share_task& t, std::uint16_t from) const noexcept;
  [[nodiscard]] std::uint64_t bits() const noexcept { return bits_; }

 private:
  static constexpr std::uint64_t step = 0x9e3779b97f4a7c15U;
  [[nodiscard]] static constexpr std::uint64_t model(std::uint64_t m) noexcept { return scattered((m + 1) * step); }
  [[nodiscard]] static constexpr std::uint64_t cores(cpu_millis c) noexcept {
    return scattered((static_cast<std::uint64_t>(c.count() / 1000) + (std::uint64_t{1} << 32)) * step);
  }
  // Nothing where nothing is free: such a GPU is like none.
  [[nodiscard]] static constexpr std::uint64_t free(std::uint16_t share) noexcept {
    return share == 0 ? 0 : scattered((share + (std::uint64_t{1} << 16)) * step);
  }
  std::uint64_t bits_ = 0;
};

class value_table {
 public:
  /// Forgets all. \param samples  sequences that a value is the mean of
  void begin(unsigned samples);
  /// New sequences for these models, to be filled and compiled by the owner. To be used until the next call.
  [[nodiscard]] task_sequences& add(std::uint64_t models);
  /// Whether the sequences have no task for that model.
  [[nodiscard]] bool is_empty(unsigned model) const noexcept {
    return of_model_[model] == 0 || sequences_[of_model_[model] - 1U].is_empty();
  }

  /// The mean share that a node in this state takes, in thousandths of a GPU. CPU counts in whole cores, memory that is
  /// short in steps of 16 GiB, both rounded down. \param state  gives the state, should it be unknown.
  template <class F>
  [[nodiscard]] double value(state_code code, std::int64_t memory, F&& state) {
    const auto steps = static_cast<std::uint32_t>(memory >> memory_step);
    const std::uint64_t any = scattered(code.bits()) | 1U;
    const slot* s = find(any);
    if (s == nullptr) {
      const auto o = roll_out(state(), std::numeric_limits<std::int64_t>::max());
      constexpr std::int64_t below = (std::int64_t{1} << memory_step) - 1;
      s = insert({any, mean(o), static_cast<std::uint32_t>((o.memory + below) >> memory_step)});
    }
    if (steps >= s->needed) return static_cast<double>(s->value);
    const std::uint32_t coarse = steps / 4 * 4;
    const std::uint64_t exact = scattered(code.bits() + coarse + 1) | 1U;
    s = find(exact);
    if (s == nullptr) s = insert({exact, mean(roll_out(state(), std::int64_t{coarse} << memory_step)), 0});
    return static_cast<double>(s->value);
  }

  /// Begins to bring in what `value` looks at first.
  void prefetch(state_code code) const noexcept { prefetch_read(&lines_[line_of(scattered(code.bits()) | 1U)]); }

 private:
  static constexpr unsigned memory_step = 32;
  static constexpr std::size_t ways = 4;  // of a line of memory
  struct slot {
    std::uint64_t key = 0;  // 0: free
    float value = 0;
    std::uint32_t needed = 0;  // steps of memory
  };
  struct alignas(64) line {
    slot slots[ways];
  };

  [[nodiscard]] task_sequences::outcome roll_out(ranked_node n, std::int64_t memory) const noexcept;
  // A multiple of 2^-10, so that sums of values and prices are exact in any order.
  [[nodiscard]] float mean(const task_sequences::outcome& o) const noexcept {
    return static_cast<float>((o.share * 1024 + samples_ / 2) / samples_) / 1024;
  }

  [[nodiscard]] std::size_t line_of(std::uint64_t key) const noexcept {
    return static_cast<std::size_t>(key >> 20) & (lines_.size() - 1);
  }
  [[nodiscard]] const slot* find(std::uint64_t key) const noexcept;
  // Grows to a bound; from then on a new value takes the place of another: values can always be had again.
  const slot* insert(const slot& x);
  const slot* put(const slot& x) noexcept;

  std::vector<task_sequences> sequences_;
  std::uint8_t of_model_[max_device_models]{};  // which sequences, from 1 on; 0: none
  flat_array<line> lines_{256, line{}};
  std::size_t used_ = 0;
  unsigned samples_ = 1;
};

}  // namespace berth

#if BERTH_WITH_BODIES
#include "berth/policy/impl/value_table.hpp"
#endif
