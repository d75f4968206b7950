#pragma once
/// \file
/// What node states are worth under fixed sequences of tasks, remembered by state.
///
/// States that differ only in memory share an entry as long as memory does not decide: a roll-out with memory without
/// bounds says how much it used, and every state with at least that much gives the same.
///
/// Cost   a known state O(GPUs); a new one a roll-out or two.

#include <cstddef>
#include <cstdint>
#include <limits>
#include <vector>

#include "berth/cluster/share_node.hpp"
#include "berth/policy/task_sequences.hpp"

namespace berth {

class value_table {
 public:
  /// Sequences of one model, to be filled and compiled by the owner, who then calls `forget`.
  [[nodiscard]] task_sequences& of_model(unsigned model) {
    if (model >= sequences_.size()) sequences_.resize(model + 1);
    return sequences_[model];
  }
  /// Whether no task was ever drawn for that model.
  [[nodiscard]] bool is_empty(unsigned model) const noexcept {
    return model >= sequences_.size() || sequences_[model].is_empty();
  }
  /// Forgets all values. \param samples  sequences that a value is the mean of
  void forget(unsigned samples) {
    slots_.clear();
    used_ = 0;
    samples_ = samples;
  }

  /// The mean share that a node in this state takes, in thousandths of a GPU. CPU counts in whole cores, memory in
  /// steps of 4 GiB, both rounded down.
  [[nodiscard]] double value(const ranked_node& n) {
    key k;
    k.cpu = n.cpu / 1000;
    k.kind = std::uint32_t{n.model} << 8 | n.devices;
    for (unsigned g = 0; g < max_shared_devices; ++g) k.free[g] = n.free[g];
    const std::int64_t memory = n.memory >> memory_step << memory_step;
    const std::size_t at = slot_of(k);
    if (!slots_[at].used) {
      const auto o = roll_out(n, std::numeric_limits<std::int64_t>::max());
      slots_[at] = {k, o.memory, mean(o), true};
      ++used_;
    }
    if (memory >= slots_[at].needed) return static_cast<double>(slots_[at].value);
    k.memory = static_cast<std::uint32_t>(memory >> memory_step) + 1;
    const std::size_t exact = slot_of(k);
    if (!slots_[exact].used) {
      slots_[exact] = {k, 0, mean(roll_out(n, memory)), true};
      ++used_;
    }
    return static_cast<double>(slots_[exact].value);
  }

 private:
  static constexpr unsigned memory_step = 32;
  struct key {
    std::int64_t cpu = 0;
    std::uint32_t kind = 0;
    std::uint32_t memory = 0;  ///< 0: any that suffices
    std::uint16_t free[max_shared_devices]{};
    friend bool operator==(const key&, const key&) noexcept = default;
  };
  struct slot {
    key state;
    std::int64_t needed = 0;
    float value = 0;
    bool used = false;
  };

  [[nodiscard]] task_sequences::outcome roll_out(ranked_node n, std::int64_t memory) const noexcept {
    n.cpu = n.cpu / 1000 * 1000;
    n.memory = memory;
    return n.model < sequences_.size() ? sequences_[n.model].roll_out(n) : task_sequences::outcome{};
  }
  [[nodiscard]] float mean(const task_sequences::outcome& o) const noexcept {
    return static_cast<float>(static_cast<double>(o.share) / samples_);
  }
  // The place of the key, or where it belongs. Makes room first, so that a place found stays good for one insertion
  // more.
  [[nodiscard]] std::size_t slot_of(const key& k) {
    if (used_ * 2 >= slots_.size()) grow();
    return find(k);
  }
  [[nodiscard]] std::size_t find(const key& k) const noexcept {
    std::uint64_t h = (static_cast<std::uint64_t>(k.cpu) << 24 ^ k.kind) * 0x9e3779b97f4a7c15U;
    h = (h ^ (h >> 29) ^ k.memory) * 0xbf58476d1ce4e5b9U;
    for (unsigned g = 0; g < max_shared_devices && k.free[g] != 0; g += 4) {
      const std::uint64_t four = k.free[g] | std::uint64_t{k.free[g + 1]} << 16 | std::uint64_t{k.free[g + 2]} << 32 |
                                 std::uint64_t{k.free[g + 3]} << 48;
      h = (h ^ (h >> 31) ^ four) * 0x94d049bb133111ebU;
    }
    std::size_t s = static_cast<std::size_t>(h >> 24) & (slots_.size() - 1);
    while (slots_[s].used && !(slots_[s].state == k)) s = (s + 1) & (slots_.size() - 1);
    return s;
  }
  void grow() {
    // Past this size states are no longer remembered from long ago; they are cheap to value anew.
    constexpr std::size_t most = std::size_t{1} << 18;
    const std::vector<slot> old = static_cast<std::vector<slot>&&>(slots_);
    const bool drop = old.size() >= most;
    slots_.assign(old.empty() ? 1024 : drop ? old.size() : 2 * old.size(), {});
    used_ = 0;
    if (drop) return;
    for (const auto& x : old)
      if (x.used) {
        slots_[find(x.state)] = x;
        ++used_;
      }
  }

  std::vector<task_sequences> sequences_;
  std::vector<slot> slots_;
  std::size_t used_ = 0;
  unsigned samples_ = 1;
};

}  // namespace berth
