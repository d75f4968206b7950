#pragma once
/// \file
/// Puts n tasks of one shape on the nodes of a leaf and chooses their devices, as the node and device policies say.
///
/// Cost        O(nodes used) with indexed policies, O(nodes of the leaf × tasks) with scored ones. No allocation after
///             `reserve`.

#include <cassert>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <utility>

#include "berth/cluster/cluster.hpp"
#include "berth/core/flat_array.hpp"
#include "berth/policy/concepts.hpp"
#include "berth/solver/child_choice.hpp"
#include "berth/solver/detail/gang_filler.hpp"
#include "berth/solver/need_choice.hpp"
#include "berth/solver/part_chooser.hpp"

namespace berth::detail {

template <node_policy Node, device_policy Devices>
class leaf_filler : public gang_filler {
 public:
  leaf_filler(const cluster& c, Node node, Devices devices)
      : gang_filler{c}, node_{std::move(node)}, devices_{std::move(devices)}, chooser_{c, devices_} {
    std::uint32_t widest = 0;
    const auto& tree = c.tree();
    for (std::uint32_t d = 0; d < tree.domain_count(tree.leaf_level()); ++d)
      if (tree.at(tree.leaf_level(), domain_id{d}).children.size() > widest)
        widest = tree.at(tree.leaf_level(), domain_id{d}).children.size();
    nodes_of_leaf_.reserve(widest);
    compile_tables();
  }

  void reserve(std::size_t tasks) {
    out_.resize(tasks);
    chooser_.begin();
    if (!cluster_->inside().parts().is_on()) return;
    places_.resize(tasks);
    extra_ranks_ = cluster_->inside().parts().ranks() - 1;
  }
  /// Compiles device tables if the cluster met new node shapes; allocates then, only then. False: out of memory.
  [[nodiscard]] bool learn() noexcept { return tables_.size() == cluster_->shapes().size() || try_to_compile(); }

  /// Starts a new gang. Learns what `learn` would, without its noexcept.
  void begin() {
    if (tables_.size() != cluster_->shapes().size()) compile_tables();
    has_parts_ = false;
    count_ = 0;
    visited_ = 0;
  }
  /// Tasks that ask for parts were asked for.
  void arrived(const part_need& need, std::uint32_t tasks) noexcept { chooser_.arrived(need, tasks); }
  /// Places one task with one instance on the best GPU that is cut already, wherever it is. False: there is none, or
  /// the index should say which. \pre the task asks for one instance and nothing else of the inside of a node
  [[nodiscard, gnu::noinline]] bool place_instance(const task_shape& t) noexcept {
    typename part_chooser<Devices>::place_of_one at;
    if (!chooser_.choose_anywhere(t, at)) return false;
    ++visited_;
    append({at.device, at.node, 0}, at.places);
    return true;
  }
  [[nodiscard]] device_mask choose_parts(node_id node, const live_shape& s, part_places& places) noexcept final {
    device_mask out = 0;
    chooser_.choose(node, s.eligible(cluster_->node(node).node_class), s.shape().part, 1,
                    [&](std::uint64_t, device_mask devices, const part_places& p) { out = devices, places = p; });
    return out;
  }
  [[nodiscard]] bool choose_parts(node_id node, const live_shape& s, std::uint32_t nth, device_mask& devices,
                                  part_places& places) noexcept final {
    if (nth != 0)
      return chooser_.choose_nth(node, s.eligible(cluster_->node(node).node_class), s.shape().part, nth - 1, devices,
                                 places);
    devices = choose_parts(node, s, places);
    return true;
  }
  [[nodiscard]] device_mask choose_devices(node_id node, const live_shape& s) const noexcept final {
    const node_state& n = cluster_->node(node);
    if (s.shape().devices == 0) return 0;
    if (s.shape().bind.asks()) return choose_for(table(n), cluster_->residual(node, pool_of(n, s)), s.shape());
    return table(n).choose(n.free & s.eligible(n.node_class), s.shape().devices);
  }

  [[nodiscard]] static device_mask pool_of(const node_state& n, const live_shape& s) noexcept {
    return n.free & s.eligible(n.node_class);
  }
  [[nodiscard]] device_mask choose_devices(node_id node, device_mask pool, unsigned count) const noexcept final {
    return table(cluster_->node(node)).choose(pool, count);
  }

  void place_on(node_id node, device_mask pool, const task_shape& t, std::uint64_t n) final {
    const auto& tab = table(cluster_->node(node));
    ++visited_;
    if (t.bind.asks()) {
      choose_for_all(tab, cluster_->residual(node, pool), t, n, [&](std::uint64_t i, device_mask devices) {
        out_[count_ + i] = {devices, node, 0};
      });
      count_ += n;
      return;
    }
    if (t.devices != 0 && n > 1) pool = tab.choose(pool, static_cast<unsigned>(n) * t.devices);
    for (; n != 0; --n) {
      const device_mask devices = t.devices == 0 ? 0 : tab.choose(pool, t.devices);
      pool &= ~devices;
      out_[count_++] = {devices, node, 0};
    }
  }

  /// Places `n` tasks on nodes of a leaf, in order of node. \pre the leaf's capacity is at least n
  void fill_leaf(std::uint32_t leaf, std::uint64_t n) {
    child_choice& s = nodes_of_leaf_;
    const auto& layout = shape_->layout();
    const unsigned level = layout.leaf_level();
    const std::uint32_t base = layout.first_child(level, leaf), words = layout.words(level, leaf);
    if constexpr (indexed_node_policy<Node>) {
      if (Node::order == node_order::fewest_free && n == 1) return fill_one(leaf);
    }
    if constexpr (indexed_node_policy<Node>) {
      if (Node::order == node_order::fewest_free && words == 1 &&
          2 * shape_->shape().devices + extra_ranks_ >= layout.buckets(level + 1))
        return fill_narrow(leaf, base, static_cast<unsigned>(n));
    }
    bool one_each = false;
    if constexpr (!indexed_node_policy<Node>) {
      choose_nodes_by_score(leaf, n);
    } else if constexpr (Node::order == node_order::fewest_free) {
      one_each = pack_nodes(leaf, n);
    } else {
      spread_nodes(leaf, n);
    }
    for (std::uint32_t w = 0; w < words; ++w) {
      const std::uint64_t chosen = std::exchange(s.words[w], 0);
      if (one_each) emit_one_each(base + w * 64, chosen);
      else for_each_bit(chosen, [&](unsigned i) { emit(base + w * 64 + i, s.amount[w * 64 + i]); });
    }
  }

 private:
  [[gnu::cold, gnu::noinline]] bool try_to_compile() noexcept {
    try {
      compile_tables();
    } catch (...) {  // what it did is complete as far as it came
      return false;
    }
    return true;
  }
  void compile_tables() {
    for (std::size_t s = tables_.size(); s < cluster_->shapes().size(); ++s)
      tables_.append(devices_.compile(cluster_->shapes()[s]));
    shape_of_class_.clear();
    for (const auto& c : cluster_->classes()) shape_of_class_.append(c.shape.raw());
  }
  [[nodiscard]] const typename Devices::table& table(const node_state& n) const noexcept {
    const std::size_t c = n.node_class.index();
    return tables_[c < shape_of_class_.size() ? shape_of_class_[c] : cluster_->classes()[c].shape.raw()];
  }
  /// \returns whether every chosen node gets one task, and no amounts were written
  bool pack_nodes(std::uint32_t leaf, std::uint64_t n) {
    child_choice& s = nodes_of_leaf_;
    const auto& layout = shape_->layout();
    const unsigned level = layout.leaf_level();
    const std::uint32_t base = layout.first_child(level, leaf), words = layout.words(level, leaf);
    const std::uint32_t ranks = layout.buckets(level + 1);
    const std::uint32_t k = shape_->shape().devices;
    if (2 * k + extra_ranks_ >= ranks) {
      take_singles(leaf, n);
      return true;
    }
    bool first = true;
    while (n != 0) {
      // The node with the fewest free devices that holds all that is left …
      const std::uint64_t least_rank = n * k;
      for (std::uint32_t r = least_rank < ranks ? static_cast<std::uint32_t>(least_rank) : ranks; r < ranks; ++r) {
        const std::uint64_t* bits = shape_->bucket_bits(level, level + 1, leaf, r);
        for (std::uint32_t w = 0; w < words; ++w)
          for (std::uint64_t m = bits[w] & ~s.words[w]; m != 0; m &= m - 1) {
            const std::uint32_t c = w * 64 + lowest_bit(m);
            if (shape_->fits(base + c) < n) continue;
            s.take(c, n);
            return false;
          }
      }
      // … else the one that holds most; among equals the one with the fewest free devices.
      std::uint32_t pick = live_shape::no_domain, pick_rank = ranks;
      std::uint64_t most = 0;
      for (std::uint32_t r = ranks; r-- > 0;) {
        if (k != 0 && r / k < most) break;
        const std::uint64_t* bits = shape_->bucket_bits(level, level + 1, leaf, r);
        for (std::uint32_t w = 0; w < words; ++w)
          for (std::uint64_t m = bits[w] & ~s.words[w]; m != 0; m &= m - 1) {
            const std::uint32_t c = w * 64 + lowest_bit(m);
            const std::uint64_t fits = shape_->fits(base + c);
            if (fits > most || (fits == most && r < pick_rank)) pick = c, pick_rank = r, most = fits;
          }
      }
      assert(pick != live_shape::no_domain);
      if (most == 1 && first) {
        take_singles(leaf, n);
        return true;
      }
      first = false;
      s.take(pick, most);
      n -= most;
    }
    return false;
  }
  /// One task alone: the node with the fewest free devices.
  void fill_one(std::uint32_t leaf) {
    const auto& layout = shape_->layout();
    const unsigned level = layout.leaf_level();
    // Nodes without devices are in bucket 0, which `next_bucket` takes for none.
    const std::uint32_t k = shape_->shape().devices;
    const std::uint32_t r = k == 0 && any(shape_->bucket_bits(level, level + 1, leaf, 0), layout.words(level, leaf))
                                ? 0
                                : shape_->next_bucket(level, level + 1, leaf, k == 0 ? 1 : k);
    const std::uint64_t* bits = shape_->bucket_bits(level, level + 1, leaf, r);
    std::uint32_t w = 0;
    while (bits[w] == 0) ++w;
    emit_one_each(layout.first_child(level, leaf) + w * 64, bits[w] & (~bits[w] + 1));
  }
  /// One task a node in a leaf of up to 64 nodes: those with the fewest free devices, lowest id first.
  void fill_narrow(std::uint32_t leaf, std::uint32_t base, unsigned n) {
    const unsigned level = shape_->layout().leaf_level();
    // The bits of one bucket follow those of the one before.
    const std::uint64_t* bits = shape_->bucket_bits(level, level + 1, leaf, shape_->shape().devices);
    std::uint64_t chosen = 0;
    for (;; ++bits) {
      const unsigned here = count_bits(*bits);
      if (here > n) break;
      chosen |= *bits;
      n -= here;
      if (n == 0) return emit_one_each(base, chosen);
    }
    emit_one_each(base, chosen | lowest_set(*bits, n));
  }
  [[nodiscard]] static bool any(const std::uint64_t* words, std::uint32_t count) noexcept {
    for (std::uint32_t w = 0; w < count; ++w)
      if (words[w] != 0) return true;
    return false;
  }
  /// One task a node: those with the fewest free devices, lowest id first. Writes no amounts.
  void take_singles(std::uint32_t leaf, std::uint64_t n) noexcept {
    child_choice& s = nodes_of_leaf_;
    const auto& layout = shape_->layout();
    const unsigned level = layout.leaf_level();
    const std::uint32_t words = layout.words(level, leaf);
    for (std::uint32_t r = shape_->shape().devices; n != 0; ++r) {
      assert(r < layout.buckets(level + 1));
      const std::uint64_t* bits = shape_->bucket_bits(level, level + 1, leaf, r);
      for (std::uint32_t w = 0; w < words && n != 0; ++w) {
        std::uint64_t m = bits[w] & ~s.words[w];
        std::uint64_t taken = count_bits(m);
        if (taken > n) m = lowest_set(m, static_cast<unsigned>(n)), taken = n;
        s.words[w] |= m;
        n -= taken;
      }
    }
  }
  void spread_nodes(std::uint32_t leaf, std::uint64_t n) {
    child_choice& s = nodes_of_leaf_;
    const auto& layout = shape_->layout();
    const unsigned level = layout.leaf_level();
    const std::uint32_t base = layout.first_child(level, leaf), words = layout.words(level, leaf);
    const std::uint32_t per_task = shape_->shape().devices;
    // A round hands every node that still has `free` devices left one more task; with each round the mark sinks.
    for (std::uint32_t mark = layout.buckets(level + 1); n != 0;) {
      const std::uint64_t before = n;
      if (mark != 0) --mark;
      // Nodes with equally many left take turns by id, however many they had.
      const std::uint64_t* const bits = shape_->bucket_bits(level, level + 1, leaf, 0);
      for (std::uint32_t w = 0; w < words; ++w) {
        std::uint64_t m = 0;
        for (std::uint32_t r = mark; r < layout.buckets(level + 1); ++r) m |= bits[std::size_t{r} * words + w];
        for (; m != 0 && n != 0; m &= m - 1) {
          const std::uint32_t c = w * 64 + lowest_bit(m);
          const std::uint64_t have = s.tasks_of(c);
          if (have >= shape_->fits(base + c) || shape_->free_devices(base + c) < have * per_task + mark) continue;
          s.take(c, have + 1);
          --n;
        }
      }
      assert(n != before || mark != 0);
      static_cast<void>(before);
    }
  }
  void choose_nodes_by_score(std::uint32_t leaf, std::uint64_t n) {
    if constexpr (scored_node_policy<Node>) {
      child_choice& s = nodes_of_leaf_;
      const auto& layout = shape_->layout();
      const std::uint32_t base = layout.first_child(layout.leaf_level(), leaf),
                          count = layout.children(layout.leaf_level(), leaf);
      const auto look = [&](std::uint32_t c) -> node_view {
        const node_id id{base + c};
        return {id, cluster_->node(id), cluster_->shape_of(id), shape_->fits(base + c),
                static_cast<std::uint32_t>(s.tasks_of(c))};
      };
      for (; n != 0; --n) {
        std::uint32_t best = live_shape::no_domain;
        auto top = std::optional<decltype(node_.score(look(0), shape_->shape()))>{};
        for (std::uint32_t c = 0; c < count; ++c) {
          if (shape_->fits(base + c) <= s.tasks_of(c)) continue;
          auto v = node_.score(look(c), shape_->shape());
          if (!top || *top < v) best = c, top = std::move(v);
        }
        assert(best != live_shape::no_domain);
        s.take(best, s.tasks_of(best) + 1);
      }
    }
  }

  /// Writes one task on every chosen node.
  void emit_one_each(std::uint32_t first, std::uint64_t chosen) {
    const std::uint32_t k = shape_->shape().devices;
    if (one_by_one_) return for_each_bit(chosen, [&](unsigned i) { emit(first + i, 1); });
    const node_state* const nodes = cluster_->nodes().data();
    const device_mask* const eligible = shape_->eligible();
    task_placement* const first_out = out_.data() + count_;
    task_placement* out = first_out;
    const std::uint32_t group = group_;
    device_mask whole = whole_;
    for (; chosen != 0; chosen &= chosen - 1) {
      const std::uint32_t n = first + lowest_bit(chosen);
      const node_state& st = nodes[n];
      assert(shape_->count(st) >= 1);  // every answer is verified on the node itself
      device_mask pool = st.free & eligible[st.node_class.index()];
      if (pool != whole) {
        if (count_bits(pool) == k) whole = pool;  // nodes of a gang tend to be alike
        else pool = k == 0 ? 0 : table(st).choose(pool, k);
      }
      *out++ = {pool, node_id{n}, group};
    }
    whole_ = whole;
    const auto made = static_cast<std::size_t>(out - first_out);
    visited_ += made;
    count_ += made;
  }

  /// Writes `n` tasks on one node. Several tasks of a gang on one node get devices out of the set that is best for all
  /// of them together.
  void emit(std::uint32_t node, std::uint64_t n) {
    const node_state& st = cluster_->node(node_id{node});
    assert(shape_->count(st) >= n);  // every answer is verified on the node itself
    ++visited_;
    const std::uint32_t k = shape_->shape().devices;
    if (has_parts_) {
      if (shape_->shape().part.asks()) return emit_parts(node, st, n);
      for (std::uint64_t i = 0; i < n; ++i) places_[count_ + i] = {};
    }
    if (shape_->asks_inside()) {
      choose_for_all(table(st), cluster_->residual(node_id{node}, pool_of(st, *shape_)), shape_->shape(), n,
                     [&](std::uint64_t i, device_mask devices) {
                       out_[count_ + i] = {devices, node_id{node}, group_};
                     });
      count_ += n;
      return;
    }
    if (k == 0) {
      for (; n != 0; --n) out_[count_++] = {0, node_id{node}, group_};
      return;
    }
    device_mask pool = st.free & shape_->eligible(st.node_class);
    if (pool == whole_ || count_bits(pool) == k) {
      whole_ = pool;  // nodes of a gang tend to be alike
      out_[count_++] = {pool, node_id{node}, group_};
      return;
    }
    const auto& t = table(st);
    if (n > 1) pool = t.choose(pool, static_cast<unsigned>(n) * k);
    for (; n != 0; --n) {
      const device_mask devices = n == 1 && count_bits(pool) == k ? pool : t.choose(pool, k);
      pool &= ~devices;
      out_[count_++] = {devices, node_id{node}, group_};
    }
  }

  [[gnu::noinline]] void emit_parts(std::uint32_t node, const node_state& st, std::uint64_t n) {
    chooser_.choose(node_id{node}, shape_->eligible(st.node_class), shape_->shape().part, n,
                    [&](std::uint64_t i, device_mask devices, const part_places& places) {
                      out_[count_ + i] = {devices, node_id{node}, group_};
                      places_[count_ + i] = places;
                    });
    count_ += n;
  }

  [[no_unique_address]] Node node_;
  [[no_unique_address]] Devices devices_;
  part_chooser<Devices> chooser_;
  child_choice nodes_of_leaf_;
  flat_array<typename Devices::table> tables_;  ///< by shape
  flat_array<std::uint16_t> shape_of_class_;
  std::uint32_t extra_ranks_ = 0;  ///< buckets of nodes that no number of free devices needs
};

}  // namespace berth::detail
