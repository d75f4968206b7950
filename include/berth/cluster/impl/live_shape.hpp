#pragma once
/// \file
/// Bodies of `berth/cluster/live_shape.hpp`.

#include "berth/cluster/live_shape.hpp"

namespace berth::detail {

BERTH_INLINE std::uint64_t any_of(const std::uint64_t* words, std::uint32_t count) noexcept {
  std::uint64_t any = 0;
  for (std::uint32_t w = 0; w < count; ++w) any |= words[w];
  return any;
}

}  // namespace berth::detail

namespace berth {

BERTH_INLINE const std::uint64_t* live_shape::bucket_bits(unsigned level, unsigned inner, std::uint32_t domain,
                                                          std::uint32_t bucket) const noexcept {
  return arena_.data() + bits_at(level, inner, domain, bucket);
}

BERTH_INLINE std::uint32_t live_shape::next_bucket(unsigned level, unsigned inner, std::uint32_t domain,
                                                   std::uint32_t from) const noexcept {
  const std::uint64_t* w = arena_.data() + non_empty_at(level, inner, domain);
  const std::uint32_t words = layout_->bucket_words(inner);
  std::uint32_t i = from / 64;
  if (i >= words) return 0;
  std::uint64_t m = w[i] & ~low_bits(from % 64);
  while (m == 0) {
    if (++i == words) return 0;
    m = w[i];
  }
  return i * 64 + lowest_bit(m);
}

BERTH_INLINE std::uint32_t live_shape::previous_bucket(unsigned level, unsigned inner, std::uint32_t domain,
                                                       std::uint32_t below) const noexcept {
  const std::uint64_t* w = arena_.data() + non_empty_at(level, inner, domain);
  std::uint32_t i = below / 64;
  std::uint64_t m = i < layout_->bucket_words(inner) ? w[i] & low_bits(below % 64) : 0;
  while (m == 0) {
    if (i == 0) return 0;
    m = w[--i];
  }
  return i * 64 + 63 - static_cast<unsigned>(std::countl_zero(m));
}

BERTH_INLINE std::uint32_t live_shape::lowest_rank(std::uint32_t leaf) const noexcept {
  const std::uint64_t* w = arena_.data() + non_empty_at(layout_->leaf_level(), layout_->levels(), leaf);
  std::uint32_t i = 0;
  while (w[i] == 0) ++i;
  return i * 64 + lowest_bit(w[i]);
}

BERTH_INLINE std::uint32_t live_shape::bucket_of(unsigned level, std::uint64_t capacity) const noexcept {
  const std::uint32_t b = detail::bucket_scale::of(capacity);
  const std::uint32_t last = layout_->buckets(level) - 1;
  return b < last ? b : last;
}

BERTH_INLINE std::uint32_t live_shape::tightest(unsigned level, std::uint32_t domain, unsigned inner,
                                                std::uint64_t need) const noexcept {
  if (level == inner) return capacity(level, domain) >= need ? domain : no_domain;
  for (std::uint32_t b = next_bucket(level, inner, domain, bucket_of(inner, need)); b != 0;
       b = next_bucket(level, inner, domain, b + 1)) {
    if (is_exact(inner, b)) return first_in_bucket(level, inner, domain, b);
    std::uint32_t best = no_domain;
    std::uint64_t least = std::numeric_limits<std::uint64_t>::max();
    each_in_bucket(level, inner, domain, b, [&](std::uint32_t d) {
      const std::uint64_t c = capacity(inner, d);
      if (c >= need && c < least) best = d, least = c;
    });
    if (best != no_domain) return best;
  }
  return no_domain;
}

BERTH_INLINE std::uint32_t live_shape::emptiest(unsigned level, std::uint32_t domain, unsigned inner,
                                                std::uint64_t need) const noexcept {
  if (level == inner) return capacity(level, domain) >= need ? domain : no_domain;
  const std::uint32_t b = previous_bucket(level, inner, domain, layout_->buckets(inner));
  if (b == 0) return no_domain;
  std::uint32_t best = no_domain;
  if (is_exact(inner, b)) {
    best = first_in_bucket(level, inner, domain, b);
  } else {
    std::uint64_t most = 0;
    each_in_bucket(level, inner, domain, b, [&](std::uint32_t d) {
      if (capacity(inner, d) > most) best = d, most = capacity(inner, d);
    });
  }
  return capacity(inner, best) >= need ? best : no_domain;
}

BERTH_INLINE std::uint64_t live_shape::largest(unsigned inner) const noexcept {
  const std::uint32_t d = emptiest(0, 0, inner, 1);
  return d == no_domain ? 0 : capacity(inner, d);
}

BERTH_INLINE std::uint32_t live_shape::count(const node_state& n, std::uint32_t devices) const noexcept {
  if (shape_.devices == 0) return n.usable && admits_[n.node_class.index()] != 0 ? limit(most_, n.cpu, n.memory) : 0;
  return limit(per_free_[devices], n.cpu, n.memory);  // an unusable node has no free devices
}

BERTH_INLINE std::uint32_t live_shape::limit(std::uint64_t n, cpu_millis cpu, bytes memory) const noexcept {
  const auto need_cpu = static_cast<std::uint64_t>(shape_.cpu.count());
  const auto need_memory = static_cast<std::uint64_t>(shape_.memory.count());
  const auto have_cpu = static_cast<std::uint64_t>(cpu.count());
  const auto have_memory = static_cast<std::uint64_t>(memory.count());
  // Dividing only where the product does not fit spares the usual case. No overflow: amounts stay below 2^47.
  if (have_cpu < n * need_cpu) n = have_cpu / need_cpu;
  if (have_memory < n * need_memory) n = have_memory / need_memory;
  return static_cast<std::uint32_t>(n);
}

BERTH_INLINE std::size_t live_shape::bits_at(unsigned m, unsigned l, std::uint32_t d,
                                             std::uint32_t bucket) const noexcept {
  const detail::level_pair& p = layout_->pair(m, l);
  const detail::domain_record& r = layout_->record(m, d);
  return p.bits + std::size_t{r.first_word} * p.buckets + std::size_t{bucket} * r.words;
}

BERTH_INLINE std::size_t live_shape::non_empty_at(unsigned m, unsigned l, std::uint32_t d) const noexcept {
  const detail::level_pair& p = layout_->pair(m, l);
  return p.non_empty + std::size_t{d} * p.bucket_words;
}

BERTH_INLINE std::uint32_t live_shape::first_in_bucket(unsigned level, unsigned inner, std::uint32_t domain,
                                                       std::uint32_t bucket) const noexcept {
  for (;; ++level) {
    const std::uint64_t* bits = bucket_bits(level, inner, domain, bucket);
    std::uint32_t w = 0;
    while (bits[w] == 0) ++w;
    domain = layout_->first_child(level, domain) + w * 64 + lowest_bit(bits[w]);
    if (level + 1 == inner) return domain;
  }
}

[[gnu::noinline]] BERTH_INLINE void live_shape::tell_parent(unsigned m, unsigned l, std::uint32_t d,
                                                            std::uint32_t parent, std::uint32_t from,
                                                            std::uint32_t to) noexcept {
  const detail::domain_record& r = layout_->record(m - 1, parent);
  const std::uint32_t child = d - r.first_child;
  move_bits(m - 1, l, parent, r, child / 64, bit(child % 64), from != 0, from, to != 0, to);
}

BERTH_INLINE void live_shape::move_nodes(std::uint32_t leaf, const detail::domain_record& r, std::uint32_t word,
                                         std::uint64_t mask, std::uint32_t before, std::uint32_t now) noexcept {
  if (before != 0 && now != 0 && before >> 16 == now >> 16) return;
  const unsigned m = layout_->leaf_level();
  move_bits(m, m + 1, leaf, r, word, mask, before != 0, before >> 16, now != 0, now >> 16);
}

BERTH_INLINE std::uint32_t live_shape::add_here(unsigned level, std::uint32_t d, std::int64_t delta,
                                                const flat_array<std::uint8_t>& detached) noexcept {
  const std::size_t at = layout_->capacity_offset(level) + d;
  const std::uint64_t before = capacity_[at], after = before + static_cast<std::uint64_t>(delta);
  capacity_[at] = after;
  if (level == 0) return no_domain;
  const std::uint32_t parent = layout_->parent(level, d);
  move(level, d, parent, before, after);
  return detached[at] != 0 ? no_domain : parent;
}

BERTH_INLINE std::uint32_t live_shape::entry_of(std::uint32_t n, const node_state& s,
                                                const detail::node_resources& inside) const noexcept {
  const device_mask open = s.free & eligible_.data()[s.node_class.index()];
  const std::uint32_t devices = count_bits(open);
  std::uint32_t fit = count(s, devices);
  if (asks_inside_) {
    if (shape_.part.asks()) return part_entry(n, s, fit, inside);
    fit = inside.count(n, s, open, shape_, fit);
  }
  return fit == 0 ? 0 : fit | (open == s.free ? devices : count_bits(s.free)) << 16;
}

[[gnu::noinline]] BERTH_INLINE std::uint32_t live_shape::part_entry(
    std::uint32_t n, const node_state& s, std::uint32_t limit, const detail::node_resources& inside) const noexcept {
  std::uint32_t rank = 0;
  const std::uint32_t fit =
      inside.parts().count(n, s, eligible_.data()[s.node_class.index()], shape_.part, limit, rank);
  return fit == 0 ? 0 : fit | rank << 16;
}

[[gnu::noinline]] BERTH_INLINE std::uint64_t live_shape::write_run(const node_state* nodes, std::uint32_t* info,
                                                                   std::uint64_t mask, std::uint32_t now) noexcept {
  unsigned n = lowest_bit(mask);
  const device_mask free = nodes[n].free;
  const cpu_millis cpu = nodes[n].cpu;
  const bytes memory = nodes[n].memory;
  const std::uint32_t kind = nodes[n].kind(), before = info[n];
  do {
    info[n] = now;
    mask &= mask - 1;
    if (mask == 0) break;
    n = lowest_bit(mask);
  } while (nodes[n].free == free && nodes[n].cpu == cpu && nodes[n].memory == memory && nodes[n].kind() == kind &&
           info[n] == before);
  return mask;
}

BERTH_INLINE std::int64_t live_shape::refresh_word(std::uint32_t leaf, const detail::domain_record& leaf_record,
                                                   std::uint32_t word_in_leaf, std::uint64_t mask,
                                                   const node_state* nodes,
                                                   const detail::node_resources& inside) noexcept {
  std::int64_t delta = 0;
  const std::uint32_t first = leaf_record.first_child + word_in_leaf * 64;
  std::uint32_t* const info = info_.data() + first;
  nodes += first;
  const node_state* like = nullptr;
  std::uint32_t now = 0;
  while (mask != 0) {
    // Nodes of a gang tend to be alike: what the first amounted to is worth a comparison with the others, and those
    // that change in the same way move together.
    const unsigned n = lowest_bit(mask);
    const std::uint32_t before = info[n];
    if (like == nullptr || differs(nodes[n], *like)) like = nodes + n, now = entry_of(first + n, *like, inside);
    std::uint64_t rest;
    if (asks_inside_) rest = mask & (mask - 1), info[n] = now, like = nullptr;  // alike outside may differ inside
    else rest = write_run(nodes, info, mask, now);
    const std::uint64_t run = mask ^ rest;
    mask = rest;
    if (now == before) continue;
    move_nodes(leaf, leaf_record, word_in_leaf, run, before, now);
    const std::int64_t each = static_cast<std::int64_t>(now & 0xffffU) - static_cast<std::int64_t>(before & 0xffffU);
    delta += (run & (run - 1)) == 0 ? each : each * static_cast<std::int64_t>(count_bits(run));
  }
  return delta;
}

}  // namespace berth
