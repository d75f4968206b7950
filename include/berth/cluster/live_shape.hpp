#pragma once
/// \file
/// Exact capacity counters for one task shape: how many such tasks fit on every node and in every domain, and which
/// domains hold how much. Kept by `capacity_index`, read by placers.
///
/// Cost        a changed node costs O(levels); finding the tightest or emptiest domain with room for n tasks costs
///             O(levels), or O(members of one bucket) where capacities are above 255.
/// Limits      a node counts at most 65,535 tasks of one shape.

#include <cassert>
#include <cstddef>
#include <cstdint>
#include <limits>

#include "berth/cluster/index_layout.hpp"
#include "berth/cluster/node_filter.hpp"
#include "berth/cluster/node_resources.hpp"
#include "berth/cluster/node_state.hpp"
#include "berth/cluster/task_shape.hpp"
#include "berth/core/bits.hpp"
#include "berth/core/flat_array.hpp"
#include "berth/core/separate.hpp"

namespace berth {

namespace detail {
class capacity_index;

[[nodiscard]] std::uint64_t any_of(const std::uint64_t* words, std::uint32_t count) noexcept;
}  // namespace detail

/// Counters of one task shape over the whole tree.
class live_shape {
 public:
  static constexpr std::uint32_t no_domain = std::numeric_limits<std::uint32_t>::max();
  static constexpr std::uint32_t max_tasks_per_node = 65'535;

  [[nodiscard]] const task_shape& shape() const noexcept { return shape_; }
  [[nodiscard]] const detail::index_layout& layout() const noexcept { return *layout_; }

  /// Tasks of one group that fit on a node, no more than may share one.
  [[nodiscard]] std::uint32_t fits(std::uint32_t node) const noexcept { return info_[node] & 0xffffU; }
  /// Free devices of a node on which a task fits; 0 where none does. For parts: the rank of the node.
  [[nodiscard]] std::uint32_t free_devices(std::uint32_t node) const noexcept { return info_[node] >> 16; }
  /// Tasks that fit in a domain, counting only what hangs on it by healthy links.
  [[nodiscard]] std::uint64_t capacity(unsigned level, std::uint32_t domain) const noexcept {
    return capacity_[layout_->capacity_offset(level) + domain];
  }
  /// Whether nodes that look alike from outside may differ for the shape.
  [[nodiscard]] bool asks_inside() const noexcept { return asks_inside_; }
  /// Devices of every node class that may serve the shape, by class.
  [[nodiscard]] const device_mask* eligible() const noexcept { return eligible_.data(); }
  /// Devices of a node class that may serve the shape.
  [[nodiscard]] device_mask eligible(class_id c) const noexcept { return eligible_[c.index()]; }

  /// How many tasks fit on a node in state `n`, whatever they need of its inside; reads the node alone. O(1).
  [[nodiscard]] std::uint32_t count(const node_state& n) const noexcept {
    return count(n, count_bits(n.free & eligible_[n.node_class.index()]));
  }

  /// Bits of the children of `domain` (level `level`) that are in `bucket`, or hold a level-`inner` domain that is.
  [[nodiscard]] const std::uint64_t* bucket_bits(unsigned level, unsigned inner, std::uint32_t domain,
                                                 std::uint32_t bucket) const noexcept;
  /// The smallest bucket >= `from` in use below `domain` for level `inner`; 0 when there is none.
  [[nodiscard]] std::uint32_t next_bucket(unsigned level, unsigned inner, std::uint32_t domain,
                                          std::uint32_t from) const noexcept;
  /// The largest bucket < `below` in use below `domain` for level `inner`; 0 when there is none.
  [[nodiscard]] std::uint32_t previous_bucket(unsigned level, unsigned inner, std::uint32_t domain,
                                              std::uint32_t below) const noexcept;
  /// Calls `f(bucket, bits)` for the buckets in use below `domain` for level `inner`, largest capacity first, as long as
  /// it returns true; `bits` as `bucket_bits` says.
  template <class F>
  void each_bucket_down(unsigned level, unsigned inner, std::uint32_t domain, F&& f) const {
    const std::uint64_t* const used = arena_.data() + non_empty_at(level, inner, domain);
    const std::uint64_t* const bits = bucket_bits(level, inner, domain, 0);
    const std::uint32_t words = layout_->words(level, domain);
    for (std::uint32_t i = layout_->bucket_words(inner); i-- > 0;)
      for (std::uint64_t m = used[i]; m != 0;) {
        const unsigned highest = 63 - static_cast<unsigned>(std::countl_zero(m));
        m ^= bit(highest);
        const std::uint32_t b = i * 64 + highest;
        if (!f(b, bits + std::size_t{b} * words)) return;
      }
  }
  /// The lowest of `free_devices` of the nodes of a leaf that have room. \pre some have
  [[nodiscard]] std::uint32_t lowest_rank(std::uint32_t leaf) const noexcept;
  /// Whether all members of a bucket have the same capacity.
  [[nodiscard]] bool is_exact(unsigned level, std::uint32_t bucket) const noexcept {
    return bucket < detail::bucket_scale::exact && bucket + 1 != layout_->buckets(level);
  }
  /// The bucket of a capacity at a level.
  [[nodiscard]] std::uint32_t bucket_of(unsigned level, std::uint64_t capacity) const noexcept;

  /// The `inner`-level domain below `domain` with the least capacity that is >= `need`; ties by id.
  [[nodiscard]] std::uint32_t tightest(unsigned level, std::uint32_t domain, unsigned inner,
                                       std::uint64_t need) const noexcept;
  /// The `inner`-level domain below `domain` with the most capacity, if that is >= `need` (>= 1); ties by id.
  [[nodiscard]] std::uint32_t emptiest(unsigned level, std::uint32_t domain, unsigned inner,
                                       std::uint64_t need) const noexcept;
  /// The capacity of the emptiest `inner`-level domain anywhere. O(1), or O(members) above 255.
  [[nodiscard]] std::uint64_t largest(unsigned inner) const noexcept;
  /// Calls `f(domain)` for every `inner`-level domain of a bucket below `domain`, in order of id.
  template <class F>
  void each_in_bucket(unsigned level, unsigned inner, std::uint32_t domain, std::uint32_t bucket, F&& f) const {
    each_in_bucket_while(level, inner, domain, bucket, [&](std::uint32_t d) { return f(d), true; });
  }
  /// The same as long as `f` returns true. \returns whether it always did
  template <class F>
  bool each_in_bucket_while(unsigned level, unsigned inner, std::uint32_t domain, std::uint32_t bucket, F&& f) const {
    const std::uint64_t* bits = bucket_bits(level, inner, domain, bucket);
    const std::uint32_t words = layout_->words(level, domain);
    const std::uint32_t base = layout_->first_child(level, domain);
    for (std::uint32_t w = 0; w < words; ++w)
      for (std::uint64_t m = bits[w]; m != 0; m &= m - 1) {
        const std::uint32_t child = base + w * 64 + lowest_bit(m);
        if (!(level + 1 == inner ? f(child) : each_in_bucket_while(level + 1, inner, child, bucket, f))) return false;
      }
    return true;
  }

 private:
  friend class detail::capacity_index;

  /// Tasks that fit where `devices` eligible devices are free.
  [[nodiscard]] std::uint32_t count(const node_state& n, std::uint32_t devices) const noexcept;
  /// `n`, or as many tasks as CPU and memory allow.
  [[nodiscard]] std::uint32_t limit(std::uint64_t n, cpu_millis cpu, bytes memory) const noexcept;
  [[nodiscard]] std::size_t bits_at(unsigned m, unsigned l, std::uint32_t d, std::uint32_t bucket) const noexcept;
  [[nodiscard]] std::size_t non_empty_at(unsigned m, unsigned l, std::uint32_t d) const noexcept;
  [[nodiscard]] std::uint32_t first_in_bucket(unsigned level, unsigned inner, std::uint32_t domain,
                                              std::uint32_t bucket) const noexcept;
  /// Moves bits of one word, children or nodes, between two buckets of a domain; 0 in `leave` or `enter` where they
  /// were in none, or come into none. Where a bucket of the domain fills or empties, the domains around it hear of it.
  [[gnu::always_inline]] void move_bits(unsigned m, unsigned l, std::uint32_t d, const detail::domain_record& r,
                                        std::uint32_t word, std::uint64_t mask, bool leave, std::uint32_t from,
                                        bool enter, std::uint32_t to) noexcept {
    const detail::level_pair& p = layout_->pair(m, l);
    std::uint64_t* const bits = arena_.data() + p.bits + std::size_t{r.first_word} * p.buckets + word;
    std::uint64_t* const used = arena_.data() + p.non_empty + std::size_t{d} * p.bucket_words;
    const std::uint32_t words = r.words;
    bool emptied = false, filled = false;
    if (leave) {
      std::uint64_t* const b = bits + std::size_t{from} * words;
      std::uint64_t any = *b &= ~mask;
      if (words != 1) any = detail::any_of(b - word, words);
      if (any == 0) used[from / 64] &= ~bit(from % 64), emptied = true;
    }
    if (enter) {
      bits[std::size_t{to} * words] |= mask;
      std::uint64_t& u = used[to / 64];
      if ((u & bit(to % 64)) == 0) u |= bit(to % 64), filled = true;
    }
    if ((emptied || filled) && m != 0 && l != layout_->levels())
      tell_parent(m, l, d, r.parent, emptied ? from : 0, filled ? to : 0);
  }
  void tell_parent(unsigned m, unsigned l, std::uint32_t d, std::uint32_t parent, std::uint32_t from,
                   std::uint32_t to) noexcept;
  /// Moves nodes of one word between the buckets of their leaf; see `info_` for what `before` and `now` mean. A node
  /// without room is in no bucket; one without free devices is in bucket 0.
  void move_nodes(std::uint32_t leaf, const detail::domain_record& r, std::uint32_t word, std::uint64_t mask,
                  std::uint32_t before, std::uint32_t now) noexcept;
  /// Moves a domain to the bucket of its new capacity.
  [[gnu::always_inline]] void move(unsigned level, std::uint32_t d, std::uint32_t parent, std::uint64_t before,
                                   std::uint64_t after) noexcept {
    const std::uint32_t from = bucket_of(level, before), to = bucket_of(level, after);
    if (from == to) return;
    const detail::domain_record& r = layout_->record(level - 1, parent);
    const std::uint32_t child = d - r.first_child;
    move_bits(level - 1, level, parent, r, child / 64, bit(child % 64), from != 0, from, to != 0, to);
  }
  /// Adds `delta` to one domain. \returns the domain around it that has to hear of it, `no_domain` where none has
  std::uint32_t add_here(unsigned level, std::uint32_t d, std::int64_t delta,
                         const flat_array<std::uint8_t>& detached) noexcept;
  /// Adds `delta` to a domain and, as far as healthy uplinks reach, to those around it.
  void add(unsigned level, std::uint32_t d, std::int64_t delta, const flat_array<std::uint8_t>& detached) noexcept {
    for (; d != no_domain; --level) d = add_here(level, d, delta, detached);
  }
  /// What `info_` says of node `n` in state `s`.
  [[nodiscard]] std::uint32_t entry_of(std::uint32_t n, const node_state& s,
                                       const detail::node_resources& inside) const noexcept;
  /// The same for parts of devices, with a rank in place of the free devices, see `device_parts::count`.
  [[nodiscard]] std::uint32_t part_entry(std::uint32_t n, const node_state& s, std::uint32_t limit,
                                         const detail::node_resources& inside) const noexcept;
  /// Writes `now` as what is known of the lowest node of `mask`, and of those after it as long as they look like it and
  /// had the same written. \returns the others. Apart, so that it has its values in registers.
  static std::uint64_t write_run(const node_state* nodes, std::uint32_t* info, std::uint64_t mask,
                                 std::uint32_t now) noexcept;
  /// Whether a shape may fit differently often on two nodes.
  [[nodiscard]] static bool differs(const node_state& a, const node_state& b) noexcept {
    return a.free != b.free || a.cpu != b.cpu || a.memory != b.memory || a.kind() != b.kind();
  }
  /// Brings the nodes `mask` of a word of node bits up to date. Returns the change of the leaf's capacity.
  std::int64_t refresh_word(std::uint32_t leaf, const detail::domain_record& leaf_record, std::uint32_t word_in_leaf,
                            std::uint64_t mask, const node_state* nodes, const detail::node_resources& inside) noexcept;

  task_shape shape_{};
  const detail::index_layout* layout_ = nullptr;
  std::uint8_t per_free_[max_devices_per_node + 1]{};  ///< free devices -> tasks
  std::uint32_t most_ = max_tasks_per_node;            ///< tasks of one group on one node
  flat_array<device_mask> eligible_;                   ///< by class
  flat_array<std::uint8_t> admits_;                    ///< by class
  flat_array<std::uint32_t> info_;                     ///< by node: 0, or tasks | free devices << 16
  flat_array<std::uint64_t> capacity_;                 ///< by level and domain
  flat_array<std::uint64_t> potential_;                ///< by level; see `cluster::potential`
  bool potential_known_ = false;                       ///< not yet, or no more since nodes changed their kind
  std::uint32_t classes_ = 0;                          ///< how many are in `eligible_` and `admits_`
  flat_array<std::uint64_t> arena_;                    ///< bucket bits, see index_layout
  std::uint64_t seen_ = 0;                             ///< position in the change log up to which this is current
  std::uint64_t used_ = 0;                             ///< clock of the last request, for eviction
  bool in_use_ = false;
  bool asks_inside_ = false;
};

}  // namespace berth

#if BERTH_WITH_BODIES
#include "berth/cluster/impl/live_shape.hpp"
#endif
