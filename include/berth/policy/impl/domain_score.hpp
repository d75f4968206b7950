#pragma once
/// \file
/// Bodies of `berth/policy/domain_score.hpp`.

#include <cassert>

#include "berth/policy/domain_score.hpp"

namespace berth {

BERTH_INLINE domain_scores::domain_scores(const domain_tree& t, std::int64_t start)
    : tree_{&t}, nodes_(t.node_count(), start), levels_(t.level_count()) {
  for (std::uint8_t l = 0; l < t.level_count(); ++l)
    for (std::uint32_t d = 0; d < t.domain_count(level_id{l}); ++d)
      levels_[l].push_back({start * t.at(level_id{l}, domain_id{d}).nodes.size(), unset});
}

BERTH_INLINE void domain_scores::set(node_id n, std::int64_t score) noexcept {
  assert(score >= 0 && score <= full);
  const std::int64_t by = score - nodes_[n.index()];
  nodes_[n.index()] = score;
  std::uint32_t d = tree_->leaf_of(n).raw();
  for (std::size_t l = levels_.size(); l-- > 0;) {
    levels_[l][d].sum += by;
    d = tree_->at(level_id{static_cast<std::uint8_t>(l)}, domain_id{d}).parent;
  }
}

BERTH_INLINE void domain_scores::set(level_id l, domain_id d, std::int64_t score) noexcept {
  assert(score >= 0 && score <= full);
  levels_[l.index()][d.index()].own = score;
}

BERTH_INLINE void domain_scores::use_means() noexcept {
  for (auto& l : levels_)
    for (entry& e : l) e.own = unset;
}

BERTH_INLINE double domain_scores::at(level_id l, domain_id d) const noexcept {
  const entry& e = levels_[l.index()][d.index()];
  const std::uint32_t count = tree_->at(l, d).nodes.size();
  if (e.own != unset) return static_cast<double>(e.own);
  return count == 0 ? 0.0 : static_cast<double>(e.sum) / static_cast<double>(count);
}

BERTH_INLINE void score_affinity(const cluster& c, std::span<const weighted_filter> terms,
                                 domain_scores& out) noexcept {
  std::int64_t all = 0;
  for (const weighted_filter& t : terms) all += t.weight;
  out.use_means();
  for (std::uint32_t n = 0; n < c.node_count(); ++n) {
    std::int64_t sum = 0;
    for (const weighted_filter& t : terms)
      if (c.is_member(node_id{n}) && c.eligible(t.filter, node_id{n}).admits) sum += t.weight;
    out.set(node_id{n}, all == 0 ? 0 : sum * domain_scores::full / all);
  }
}

BERTH_INLINE void score_data(std::span<const stored_copy> data, domain_scores& out) {
  const domain_tree& t = out.tree();
  std::int64_t all = 0;
  for (const stored_copy& s : data) all += s.bytes;
  unsigned less = 0;  // bits to drop, so that a thousand times the sum fits
  while ((all >> less) >= (std::int64_t{1} << 53)) ++less;
  std::vector<std::int64_t> here;  // per domain of one level
  std::vector<std::size_t> last;
  const auto part = [&](std::int64_t b) { return all > 0 ? (b >> less) * domain_scores::full / (all >> less) : 0; };
  for (std::uint8_t l = 0; l <= t.level_count(); ++l) {
    const bool nodes = l == t.level_count();
    const std::uint32_t count = nodes ? t.node_count() : t.domain_count(level_id{l});
    here.assign(count, 0);
    last.assign(count, data.size());
    for (std::size_t i = 0; i < data.size(); ++i)
      for (const node_id n : data[i].nodes) {
        const std::size_t d = nodes ? n.index() : t.domain_of(n, level_id{l}).index();
        if (last[d] == i) continue;
        last[d] = i;
        here[d] += data[i].bytes;
      }
    for (std::uint32_t d = 0; d < count; ++d)
      if (nodes) out.set(node_id{d}, part(here[d]));
      else out.set(level_id{l}, domain_id{d}, part(here[d]));
  }
}

BERTH_INLINE void score_images(std::span<const stored_copy> images, std::uint32_t containers, domain_scores& out) {
  constexpr std::int64_t mebibyte = 1024 * 1024, least = 23 * mebibyte;
  const std::int64_t most = 1000 * mebibyte * std::int64_t{containers};
  const std::uint32_t count = out.tree().node_count();
  std::vector<std::int64_t> sums(count);
  out.use_means();
  for (const stored_copy& i : images) {
    const double spread = static_cast<double>(i.nodes.size()) / static_cast<double>(count);
    for (const node_id n : i.nodes) sums[n.index()] += static_cast<std::int64_t>(static_cast<double>(i.bytes) * spread);
  }
  for (std::uint32_t n = 0; n < count; ++n) {
    const std::int64_t s = sums[n] < least ? least : sums[n] > most ? most : sums[n];
    out.set(node_id{n}, 100 * (s - least) / (most - least) * 10);
  }
}

}  // namespace berth
