#pragma once
/// \file
/// The MIG GPUs of one product: which instances each holds, and which GPUs are in the same state.
///
/// Equal GPUs are one bucket, so that a decision looks at states, not at GPUs: a bucket is a set of GPU ids as a tree
/// of 64-bit words, whose lowest member is found in one step per level. Everything is integers; undoing restores all
/// bits.
///
/// Memory   states × GPUs / 8 bytes for the buckets (400 kB for 8,192 H100 with all profiles).

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "berth/core/bits.hpp"
#include "berth/core/expected.hpp"
#include "berth/topology/mig_states.hpp"

namespace berth {

/// What a GPU is used as. One kind at a time; sharing inside an instance does not change it.
enum class mig_mode : std::uint8_t {
  on,      ///< takes instances
  off,     ///< idle, MIG disabled: has to be switched first
  whole,   ///< given away whole
  shared,  ///< shared by time-slicing or MPS
  out,     ///< broken or drained
};

/// Why a change was refused; the state is untouched.
enum class mig_fault : std::uint8_t {
  no_such_gpu,
  no_such_placement,
  not_in_mig_mode,
  overlaps,            ///< geometry or a limit on media extensions or engines
  not_there,           ///< no such instance to destroy
  not_idle,            ///< the mode changes only without instances
  capacity_exhausted,  ///< the undo log is full: commit, or reserve more
};

/// A placement on a GPU.
struct mig_instance {
  std::uint32_t gpu = 0;
  std::uint8_t placement = 0;  ///< index in `mig_geometry::placement`
  friend bool operator==(const mig_instance&, const mig_instance&) = default;
};

class mig_cluster {
 public:
  /// `gpus` empty GPUs in MIG mode, numbered node by node. \pre the table outlives the cluster; gpus_per_node > 0
  mig_cluster(const mig_state_table& table, std::uint32_t gpus, std::uint32_t gpus_per_node = 8, std::size_t log = 4096)
      : table_{&table}, per_node_{gpus_per_node}, gpus_(gpus), node_used_(gpus / gpus_per_node + 1, 0) {
    std::size_t words = gpus;
    do {
      words = (words + 63) / 64;
      level_at_[levels_++] = stride_;
      stride_ += words;
    } while (words > 1);
    const std::size_t states = table.size();
    bits_.assign(states * stride_, 0);
    count_.assign(states, 0);
    in_use_.assign((states + 63) / 64, 0);
    log_.resize(log);
    for (std::uint32_t g = 0; g < gpus; ++g) enter(0, g);
  }

  [[nodiscard]] const mig_state_table& table() const noexcept { return *table_; }
  [[nodiscard]] std::uint32_t size() const noexcept { return static_cast<std::uint32_t>(gpus_.size()); }
  [[nodiscard]] std::uint32_t node_of(std::uint32_t gpu) const noexcept { return gpu / per_node_; }
  [[nodiscard]] mig_state_id state(std::uint32_t gpu) const noexcept { return gpus_[gpu].state; }
  [[nodiscard]] mig_mode mode(std::uint32_t gpu) const noexcept { return gpus_[gpu].mode; }
  /// The placements that a GPU holds.
  [[nodiscard]] mig_set instances(std::uint32_t gpu) const noexcept { return gpus_[gpu].held; }
  /// Compute slices in use on a node.
  [[nodiscard]] std::uint32_t node_used(std::uint32_t node) const noexcept { return node_used_[node]; }
  [[nodiscard]] std::uint64_t used_compute() const noexcept { return used_; }

  /// GPUs in MIG mode that are in that state.
  [[nodiscard]] std::uint32_t count(mig_state_id s) const noexcept { return count_[s]; }
  /// Bit s of word s / 64: whether any GPU in MIG mode is in state s.
  [[nodiscard]] const std::vector<std::uint64_t>& states_in_use() const noexcept { return in_use_; }
  /// The lowest GPU in that state. O(levels). \pre count(s) > 0
  [[nodiscard]] std::uint32_t first(mig_state_id s) const noexcept {
    const std::uint64_t* b = bits_.data() + s * stride_;
    std::size_t word = 0;
    for (unsigned l = levels_; l-- > 0;) word = word * 64 + lowest_bit(b[level_at_[l] + word]);
    return static_cast<std::uint32_t>(word);
  }
  /// The lowest GPU in that state with an id above `gpu`, or nothing. O(GPUs / 64).
  [[nodiscard]] std::optional<std::uint32_t> next(mig_state_id s, std::uint32_t gpu) const noexcept {
    const std::uint64_t* b = bits_.data() + s * stride_;
    const std::uint32_t from = gpu + 1;
    for (std::size_t w = from / 64; w * 64 < gpus_.size(); ++w) {
      const std::uint64_t m = w == from / 64 ? b[w] & ~low_bits(from % 64) : b[w];
      if (m != 0) return static_cast<std::uint32_t>(w * 64 + lowest_bit(m));
    }
    return std::nullopt;
  }
  /// Calls `f(state)` for every state that some GPU in MIG mode is in, in rising order.
  template <class F>
  void for_each_state(F&& f) const {
    for (std::size_t w = 0; w < in_use_.size(); ++w)
      for_each_bit(in_use_[w], [&](unsigned b) { f(static_cast<mig_state_id>(w * 64 + b)); });
  }

  /// Adds an instance. O(levels); no allocation.
  expected<void, mig_fault> create(mig_instance i) noexcept {
    if (i.gpu >= gpus_.size()) return unexpected{mig_fault::no_such_gpu};
    if (i.placement >= table_->geometry().placements) return unexpected{mig_fault::no_such_placement};
    if (gpus_[i.gpu].mode != mig_mode::on) return unexpected{mig_fault::not_in_mig_mode};
    if ((table_->open(gpus_[i.gpu].state) >> i.placement & 1U) == 0) return unexpected{mig_fault::overlaps};
    if (!note({i.gpu, static_cast<std::uint8_t>(i.placement), change::created}))
      return unexpected{mig_fault::capacity_exhausted};
    add(i);
    return {};
  }
  /// Removes an instance; its neighbours stay. O(levels); no allocation.
  expected<void, mig_fault> destroy(mig_instance i) noexcept {
    if (i.gpu >= gpus_.size()) return unexpected{mig_fault::no_such_gpu};
    if (i.placement >= table_->geometry().placements) return unexpected{mig_fault::no_such_placement};
    if ((gpus_[i.gpu].held >> i.placement & 1U) == 0) return unexpected{mig_fault::not_there};
    if (!note({i.gpu, static_cast<std::uint8_t>(i.placement), change::destroyed}))
      return unexpected{mig_fault::capacity_exhausted};
    remove(i);
    return {};
  }
  /// Changes what an idle GPU is used as. Saying again what it is changes nothing.
  expected<void, mig_fault> set_mode(std::uint32_t gpu, mig_mode m) noexcept {
    if (gpu >= gpus_.size()) return unexpected{mig_fault::no_such_gpu};
    if (gpus_[gpu].mode == m) return {};
    if (gpus_[gpu].held != 0) return unexpected{mig_fault::not_idle};
    if (!note({gpu, static_cast<std::uint8_t>(gpus_[gpu].mode), change::switched}))
      return unexpected{mig_fault::capacity_exhausted};
    apply_mode(gpu, m);
    return {};
  }
  /// Takes a node's list of running instances over: all of it, or nothing where it contradicts the geometry.
  expected<void, mig_fault> adopt(std::uint32_t gpu, mig_set held) noexcept {
    if (gpu >= gpus_.size()) return unexpected{mig_fault::no_such_gpu};
    if (gpus_[gpu].mode != mig_mode::on) return unexpected{mig_fault::not_in_mig_mode};
    const auto key = table_->geometry().key_of(held);
    if (!key) return unexpected{mig_fault::overlaps};
    const std::size_t from = begin();
    expected<void, mig_fault> result;
    for (mig_set gone = gpus_[gpu].held & ~held; gone != 0 && result; gone &= gone - 1)
      result = destroy({gpu, static_cast<std::uint8_t>(lowest_bit(gone))});
    for (mig_set come = held & ~gpus_[gpu].held; come != 0 && result; come &= come - 1)
      result = create({gpu, static_cast<std::uint8_t>(lowest_bit(come))});
    if (!result) rollback(from);
    else commit(from);
    return result;
  }

  /// Opens a transaction; they nest. What follows is undone by `rollback` of what this returns, or kept by `commit`.
  [[nodiscard]] std::size_t begin() noexcept {
    ++open_;
    return logged_;
  }
  /// Restores all state of `begin`, bit for bit. O(changes since).
  void rollback(std::size_t from) noexcept {
    while (logged_ > from) {
      const change c = log_[--logged_];
      if (c.kind == change::created) remove({c.gpu, c.what});
      else if (c.kind == change::destroyed) add({c.gpu, c.what});
      else apply_mode(c.gpu, static_cast<mig_mode>(c.what));
    }
    --open_;
  }
  /// Keeps what was done since `begin` returned that value.
  void commit(std::size_t) noexcept {
    if (--open_ == 0) logged_ = 0;
  }

  /// Whether all that is kept twice agrees: for tests. O(states × GPUs).
  [[nodiscard]] bool consistent() const {
    std::vector<std::uint32_t> count(count_.size()), used(node_used_.size());
    std::uint64_t all = 0;
    for (std::uint32_t g = 0; g < size(); ++g) {
      const auto key = table_->geometry().key_of(gpus_[g].held);
      if (!key || table_->key(gpus_[g].state) != *key) return false;
      for_each_bit(gpus_[g].held, [&](unsigned p) { used[node_of(g)] += table_->geometry().compute_of(p); });
      if (gpus_[g].mode == mig_mode::on) ++count[gpus_[g].state];
      for (std::size_t s = 0; s < count_.size(); ++s)
        if ((bits_[s * stride_ + g / 64] >> (g % 64) & 1U) !=
            (gpus_[g].mode == mig_mode::on && gpus_[g].state == s ? 1U : 0U))
          return false;
    }
    for (std::size_t s = 0; s < count_.size(); ++s)
      if ((in_use_[s / 64] >> (s % 64) & 1U) != (count[s] != 0 ? 1U : 0U)) return false;
    for (const auto u : used) all += u;
    return count == count_ && used == node_used_ && all == used_;
  }
  friend bool operator==(const mig_cluster& a, const mig_cluster& b) {
    return a.gpus_ == b.gpus_ && a.bits_ == b.bits_ && a.count_ == b.count_ && a.in_use_ == b.in_use_ &&
           a.node_used_ == b.node_used_ && a.used_ == b.used_;
  }

 private:
  struct gpu_record {
    mig_set held = 0;
    mig_state_id state = 0;
    mig_mode mode = mig_mode::on;
    friend bool operator==(const gpu_record&, const gpu_record&) = default;
  };
  struct change {
    enum kind_of : std::uint8_t { created, destroyed, switched };
    std::uint32_t gpu = 0;
    std::uint8_t what = 0;
    kind_of kind = created;
  };

  [[nodiscard]] bool note(change c) noexcept {
    if (open_ == 0) return true;
    if (logged_ == log_.size()) return false;
    log_[logged_++] = c;
    return true;
  }
  void add(mig_instance i) noexcept {
    gpu_record& g = gpus_[i.gpu];
    move(i.gpu, table_->after(g.state, i.placement));
    g.held |= mig_set{1} << i.placement;
    const unsigned compute = table_->geometry().compute_of(i.placement);
    node_used_[node_of(i.gpu)] += compute;
    used_ += compute;
  }
  void remove(mig_instance i) noexcept {
    gpu_record& g = gpus_[i.gpu];
    move(i.gpu, table_->without(g.state, i.placement));
    g.held &= ~(mig_set{1} << i.placement);
    const unsigned compute = table_->geometry().compute_of(i.placement);
    node_used_[node_of(i.gpu)] -= compute;
    used_ -= compute;
  }
  void apply_mode(std::uint32_t id, mig_mode m) noexcept {
    gpu_record& g = gpus_[id];
    if (g.mode == mig_mode::on) leave(g.state, id);
    g.mode = m;
    if (m == mig_mode::on) enter(g.state, id);
  }
  void move(std::uint32_t id, mig_state_id to) noexcept {
    leave(gpus_[id].state, id);
    gpus_[id].state = to;
    enter(to, id);
  }
  void enter(mig_state_id s, std::uint32_t id) noexcept {
    std::uint64_t* b = bits_.data() + s * stride_;
    std::size_t i = id;
    for (unsigned l = 0; l < levels_; ++l, i /= 64) {
      std::uint64_t& w = b[level_at_[l] + i / 64];
      const bool had = w != 0;
      w |= bit(static_cast<unsigned>(i % 64));
      if (had) break;
    }
    if (count_[s]++ == 0) in_use_[s / 64] |= bit(s % 64);
  }
  void leave(mig_state_id s, std::uint32_t id) noexcept {
    std::uint64_t* b = bits_.data() + s * stride_;
    std::size_t i = id;
    for (unsigned l = 0; l < levels_; ++l, i /= 64) {
      std::uint64_t& w = b[level_at_[l] + i / 64];
      w &= ~bit(static_cast<unsigned>(i % 64));
      if (w != 0) break;
    }
    if (--count_[s] == 0) in_use_[s / 64] &= ~bit(s % 64);
  }

  const mig_state_table* table_;
  std::uint32_t per_node_;
  std::vector<gpu_record> gpus_;
  std::vector<std::uint32_t> node_used_;
  std::uint64_t used_ = 0;
  std::size_t stride_ = 0;
  std::size_t level_at_[6]{};
  unsigned levels_ = 0;
  std::vector<std::uint64_t> bits_;  // per state: the words of every level
  std::vector<std::uint32_t> count_;
  std::vector<std::uint64_t> in_use_;
  std::vector<change> log_;
  std::size_t logged_ = 0, open_ = 0;
};

}  // namespace berth
