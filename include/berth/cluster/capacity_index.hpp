#pragma once
/// \file
/// The capacity index: exact counters (`live_shape`) for the task shapes asked for most recently, brought up to date
/// when they are read.
///
/// A change to a node only notes the node in a log: O(1), however many shapes are live. A shape catches up when it is
/// asked for, O(levels) per node changed since; a node that changed and changed back costs one comparison, and nothing
/// where a job was committed and released, or rolled back, before any shape caught up. A shape that fell behind the
/// log, or is new, is counted anew in O(nodes).
///
/// The least recently used shape makes room for a new one. After `reserve` nothing allocates.

#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>

#include "berth/cluster/class_registry.hpp"
#include "berth/cluster/index_layout.hpp"
#include "berth/cluster/live_shape.hpp"
#include "berth/cluster/node_resources.hpp"
#include "berth/cluster/node_state.hpp"
#include "berth/core/flat_array.hpp"
#include "berth/core/separate.hpp"
#include "berth/topology/domain_tree.hpp"

namespace berth::detail {

/// What a capacity index holds; copied and moved member by member.
struct capacity_index_data {
  struct entry {
    std::uint64_t mask = 0;    ///< none where what changed has changed back
    std::uint64_t commit = 0;  ///< the one commit that made all of the change; 0 where it was not one alone
    std::uint32_t word = 0;
    bool gain = false;
  };

  index_layout layout_;
  flat_array<std::uint8_t> detached_;  ///< by level and domain
  std::size_t detached_count_ = 0;
  unsigned part_ranks_ = 1;
  flat_array<std::uint64_t> last_entry_;  ///< by word of node bits: where it was logged last
  flat_array<entry> log_;                 ///< ring of changed nodes
  std::uint64_t head_ = 1;
  std::uint64_t newest_reader_ = 1;  ///< entries below this were read by some shape
  std::uint64_t last_gain_ = 0;      ///< position of the latest gain
  std::uint64_t clock_ = 0;
  flat_array<live_shape> live_;
  task_shape asked_[64]{};  ///< shapes asked for once, answered by coarser ones
  std::size_t asked_next_ = 0;
  std::size_t recent_ = 0;
};

class capacity_index : capacity_index_data {
 public:
  capacity_index() = default;
  // Live shapes point at the layout beside them.
  capacity_index(const capacity_index& o) : capacity_index_data{o} { relink(); }
  capacity_index(capacity_index&& o) noexcept : capacity_index_data{std::move(o)} { relink(); }
  capacity_index& operator=(const capacity_index& o);
  capacity_index& operator=(capacity_index&& o) noexcept;
  ~capacity_index() = default;

  /// \param most_devices  the most devices that a node may ever have, also one that is added later
  /// \param ranks         ranks for nodes by what parts of devices cost there, below those by free devices
  void build(const domain_tree& tree, std::span<const node_state> nodes, std::uint32_t most_devices, unsigned ranks);

  /// Makes room for `shapes` live shapes over `classes` node classes. The only call that allocates.
  void reserve(std::size_t shapes, std::size_t classes, std::size_t nodes);
  /// Forgets all live shapes.
  void forget() noexcept {
    for (auto& s : live_) s.in_use_ = false;
  }
  /// Nodes changed their class, or what of their devices could be used if all were free; they are touched besides.
  void kinds_changed() noexcept {
    for (auto& s : live_) s.potential_known_ = false;
  }
  /// The most tasks one domain of a level would hold with nothing allocated, everything healthy and no taints. O(1), or
  /// O(nodes) when asked for the first time since kinds changed. \pre `shape` is one that `sync` returned and still
  /// counts
  [[nodiscard]] std::uint64_t potential(const live_shape& shape, unsigned level, const filter_table& table,
                                        std::span<const node_state> nodes, std::span<const node_class> classes,
                                        const node_resources& inside) noexcept;

  [[nodiscard]] const index_layout& layout() const noexcept { return layout_; }
  [[nodiscard]] unsigned part_ranks() const noexcept { return part_ranks_; }

  /// Notes that a node changed. O(1). \param gain  whether more may fit on it than before
  void touch(std::uint32_t node, std::uint32_t leaf, bool gain) noexcept;
  /// A moment in the log: changes noted from now on come after it.
  [[nodiscard]] std::uint64_t mark() noexcept { return newest_reader_ = head_; }
  /// Whether a node gained something since a mark. O(1).
  [[nodiscard]] bool gained_since(std::uint64_t mark) const noexcept { return last_gain_ >= mark; }
  /// Calls `f(leaf)` for leaves where a node gained something since a mark. False: the log does not reach back that
  /// far.
  template <class F>
  bool each_leaf_gained_since(std::uint64_t mark, F&& f) const {
    if (head_ - mark > log_.size()) return false;
    for (std::uint64_t at = mark; at != head_; ++at) {
      const entry& e = log_[at & (log_.size() - 1)];
      if (e.gain) f(layout_.leaf_of_word(e.word));
    }
    return true;
  }

  /// Notes changed nodes one after the other; neighbours share one entry of the log.
  class run {
   public:
    /// \param commit  a number of its own, never 0, for the commit that takes from the nodes; with `gain`, that of the
    ///                commit whose job gives all of it back, exactly
    run(capacity_index& index, bool gain, std::uint64_t commit) noexcept
        : index_{&index}, commit_{commit}, gain_{gain} {}
    run(const run&) = delete;
    run& operator=(const run&) = delete;
    ~run() { index_->log_change(word_, mask_, gain_, commit_); }
    [[gnu::always_inline]] void operator()(std::uint32_t node, const node_state* nodes) noexcept {
      if (node - first_ >= count_) {
        index_->log_change(word_, mask_, gain_, commit_);
        mask_ = 0;
        const span_of_word w = index_->word_of(node, nodes[node].leaf);
        first_ = w.first;
        count_ = w.count;
        word_ = w.word;
      }
      mask_ |= bit(node - first_);
    }

   private:
    capacity_index* index_;
    std::uint64_t commit_;
    bool gain_;
    std::uint32_t first_ = 0, count_ = 0, word_ = 0;  ///< the nodes that share the word at work
    std::uint64_t mask_ = 0;
  };

  /// Whether the uplink of a domain is down: its capacity does not count for the domains around it.
  [[nodiscard]] bool is_detached(unsigned level, std::uint32_t domain) const noexcept {
    return detached_[layout_.capacity_offset(level) + domain] != 0;
  }
  [[nodiscard]] bool any_detached() const noexcept { return detached_count_ != 0; }
  void set_detached(unsigned level, std::uint32_t domain, bool detached) noexcept;

  /// The counters of a shape, brought up to date. Null when no shapes were reserved.
  /// \param table  what the shape's filter leaves of every class
  /// \param inside what is left inside nodes, for shapes with needs
  const live_shape* sync(const task_shape& shape, const filter_table& table, std::span<const node_state> nodes,
                         const node_resources& inside) noexcept;

  /// As `sync`, but where all live shapes are taken and the shape was not asked for lately, the counters of a coarser
  /// shape: same devices and filter, CPU and memory rounded down to powers of two. They are upper bounds, shared by
  /// many shapes, so that one-off requests do not cost a count of all nodes each.
  const live_shape* sync_bound(const task_shape& shape, const filter_table& table, std::span<const node_state> nodes,
                               const node_resources& inside) noexcept;
  /// Whether every live shape, brought up to date, equals a fresh count. O(nodes × shapes); allocates; for tests.
  [[nodiscard]] bool agrees_with(std::span<const node_state> nodes, std::span<const filter_table> tables,
                                 std::span<const node_class> classes, const node_resources& inside);
  /// Bytes held by index and log.
  [[nodiscard]] std::size_t memory() const noexcept;

 private:
  void relink() noexcept {
    for (auto& s : live_) s.layout_ = &layout_;
  }
  /// The nodes that share a word of node bits.
  struct span_of_word {
    std::uint32_t first, count, word;
  };
  [[nodiscard]] span_of_word word_of(std::uint32_t node, std::uint32_t leaf) const noexcept;
  void log_change(std::uint32_t word, std::uint64_t mask, bool gain, std::uint64_t commit) noexcept;

  live_shape* find(const task_shape& shape) noexcept;

  const live_shape* catch_up(live_shape& s, const filter_table& table, std::span<const node_state> nodes,
                             const node_resources& inside) noexcept;
  /// Takes the place of the shape that was asked for least recently.
  const live_shape* count_new(const task_shape& shape, const filter_table& table, std::span<const node_state> nodes,
                              const node_resources& inside) noexcept;
  static void learn_classes(live_shape& s, const filter_table& table) noexcept;
  void recount(live_shape& s, const task_shape& shape, const filter_table& table, std::span<const node_state> nodes,
               const node_resources& inside) noexcept;

  /// The most each level's domains would hold empty, healthy and without taints; kept as maxima only.
  void count_potential(live_shape& s, const filter_table& table, std::span<const node_state> nodes,
                       std::span<const node_class> classes, const node_resources& inside) noexcept;
};

}  // namespace berth::detail

#if BERTH_WITH_BODIES
#include "berth/cluster/impl/capacity_index.hpp"
#endif
