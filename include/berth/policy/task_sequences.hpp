#pragma once
/// \file
/// How much GPU share a node takes out of fixed sequences of tasks, first come first served, tightest GPU: the roll-out
/// behind `future_value`.
///
/// Most tasks of a sequence do not fit a node that fills up. Which do not is read from masks, one per amount that any
/// of them asks for, instead of asking every task.
///
/// Cost   `compile` O(tasks × distinct amounts); a roll-out O(tasks taken × (tasks of a sequence / 64 + GPUs)).

#include <cstddef>
#include <cstdint>
#include <vector>

#include "berth/cluster/share_node.hpp"
#include "berth/core/bits.hpp"
#include "berth/core/separate.hpp"
#include "berth/core/shell_sort.hpp"

namespace berth {

/// The free amounts of a node with its GPUs in falling order: which GPU is which does not matter.
struct ranked_node {
  std::int64_t cpu = 0;      ///< millicores
  std::int64_t memory = 0;   ///< bytes
  std::uint8_t devices = 0;  ///< GPUs with anything free
  std::uint8_t model = 0;
  std::uint8_t whole = 0;                    ///< GPUs that are wholly free: the first ones
  std::uint16_t free[max_shared_devices]{};  ///< of these GPUs; the first is 0 where there is none

  ranked_node() = default;
  explicit ranked_node(const share_node& n) noexcept;
  /// Takes the task's amounts, a shared GPU from one with exactly `from` thousandths free. \pre there is one
  void take(const share_task& t, std::uint16_t from) noexcept;
  /// Takes the task's amounts, a shared GPU from the tightest. \pre it fits
  void take(const share_task& t) noexcept;

 private:
  void take_at(const share_task& t, unsigned at) noexcept;
};

class task_sequences {
 public:
  /// What a node took.
  struct outcome {
    std::uint64_t share = 0;  ///< thousandths of GPUs, all sequences together
    std::int64_t memory = 0;  ///< bytes, in the sequence that took the most
  };

  void clear() noexcept;
  /// Adds a task to the sequence at work.
  void append(const share_task& t);
  /// Ends it; an empty one counts as one.
  void end_sequence();
  [[nodiscard]] bool is_empty() const noexcept { return tasks_.empty(); }

  /// Prepares roll-outs of nodes of these models. To be called after the last `end_sequence`.
  void compile(std::uint64_t models);

  /// Rolls all sequences out. \pre compiled, for the node's model too
  [[nodiscard]] outcome roll_out(const ranked_node& n) const noexcept {
    return n.memory >= most_memory_ ? roll_out<false>(n) : roll_out<true>(n);
  }

 private:
  // `Memory`: whether it may run out.
  template <bool Memory>
  [[nodiscard]] outcome roll_out(const ranked_node& n) const noexcept {
    outcome out;
    const std::uint64_t* const served = served_.data() + row_of_model_[n.model];
    const std::size_t cpu = cpu_.rank(n.cpu), memory = memory_.rank(n.memory);
    for (std::uint32_t s = 0; s < ends_.size(); ++s) {
      ranked_node left = n;
      std::size_t cpu_rank = cpu, memory_rank = memory, share_row = row_of_share_[n.free[0]],
                  whole_row = row_of_whole_[n.whole];
      const share_task* const tasks = tasks_.data() + begin(s);
      for (std::uint32_t w = 0; w < words_; ++w) {
        const std::size_t at = std::size_t{s} * words_ + w;
        const std::uint64_t gpus = with_gpus_[at];
        std::uint64_t open = served[at];
        for (;;) {
          std::uint64_t here = open & cpu_.mask(cpu_.row_of_rank(cpu_rank) + at) & share_.mask(share_row + at) &
                               sets_.mask(whole_row + at);
          if constexpr (Memory) here &= memory_.mask(memory_.row_of_rank(memory_rank) + at);
          // Tasks without GPUs matter only while tasks with GPUs may follow.
          if (here == 0 || ((here & gpus) == 0 && w + 1 == words_)) break;
          const unsigned i = lowest_bit(here);
          const share_task& t = tasks[w * 64 + i];
          left.take(t);
          out.share += t.demand();
          cpu_rank = cpu_.rank(left.cpu);
          if constexpr (Memory) memory_rank = memory_.rank(left.memory);
          share_row = row_of_share_[left.free[0]];
          whole_row = row_of_whole_[left.whole];
          open &= ~std::uint64_t{1} << i;
        }
      }
      const std::int64_t used = n.memory - left.memory;
      out.memory = used > out.memory ? used : out.memory;
    }
    return out;
  }
  // The distinct amounts of one resource, rising, and for each which tasks ask for no more than that. A row of masks is
  // named by where it begins.
  class dimension {
   public:
    template <class F>
    void build(const std::vector<share_task>& tasks, F&& amount) {
      of_task_.clear();
      for (const auto& t : tasks) of_task_.push_back(amount(t));
      steps_ = of_task_;
      detail::shell_sort(steps_.data(), steps_.size(), [](std::int64_t a, std::int64_t b) { return a < b; });
      std::size_t distinct = 0;
      for (std::size_t i = 0; i < steps_.size(); ++i)
        if (i == 0 || steps_[i] != steps_[distinct - 1]) steps_[distinct++] = steps_[i];
      steps_.resize(distinct);
      shift_ = 0;
      while (distinct != 0 && steps_.back() >> shift_ >= buckets) ++shift_;
      for (unsigned i = 0, below = 0; i <= buckets; ++i) {
        while (below < distinct && (i == buckets || steps_[below] >> shift_ < i)) ++below;
        below_[i] = below;
      }
    }
    void mark(const std::vector<std::uint32_t>& ends, std::uint32_t words);
    /// The row of the tasks that ask for no more than `amount`.
    [[nodiscard]] std::size_t row(std::int64_t amount) const noexcept { return rank(amount) * stride_; }
    [[nodiscard]] std::size_t row_of_rank(std::size_t rank) const noexcept { return rank * stride_; }
    /// How many steps are no higher than `amount`.
    [[nodiscard]] std::size_t rank(std::int64_t amount) const noexcept;
    [[nodiscard]] std::uint64_t mask(std::size_t at) const noexcept { return masks_[at]; }

   private:
    // Steps are found by their highest bits: few share them.
    static constexpr std::int64_t buckets = 256;
    std::vector<std::int64_t> steps_, of_task_;
    std::uint32_t below_[buckets + 1]{};  // steps of lower buckets
    unsigned shift_ = 0;
    std::vector<std::uint64_t> masks_;
    std::size_t stride_ = 0;
  };

  [[nodiscard]] std::uint32_t begin(std::uint32_t s) const noexcept { return s == 0 ? 0U : ends_[s - 1]; }

  std::vector<share_task> tasks_;
  std::vector<std::uint32_t> ends_;
  std::vector<std::uint64_t> with_gpus_, served_;  // served_: by model
  std::uint32_t words_ = 1;
  std::int64_t most_memory_ = 0;
  std::uint32_t row_of_model_[max_device_models]{};
  std::uint32_t row_of_share_[whole_device + 1]{}, row_of_whole_[max_shared_devices + 1]{};
  dimension cpu_, memory_, share_, sets_;
};

}  // namespace berth

#if BERTH_WITH_BODIES
#include "berth/policy/impl/task_sequences.hpp"
#endif
