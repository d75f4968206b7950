#pragma once
/// \file
/// Bodies of `berth/cluster/index_layout.hpp`.

#include "berth/cluster/index_layout.hpp"

namespace berth::detail {

BERTH_INLINE index_layout::index_layout(const domain_tree& tree, std::span<const std::uint64_t> devices_per_domain,
                                        std::uint32_t node_ranks) {
  levels_ = tree.level_count();
  first_record_.append(0);
  for (std::uint8_t m = 0; m < levels_; ++m) {
    const std::uint32_t count = tree.domain_count(level_id{m});
    std::uint32_t at = 0;
    for (std::uint32_t d = 0; d < count; ++d) {
      const auto& dom = tree.at(level_id{m}, domain_id{d});
      const std::uint32_t words = (dom.children.size() + 63) / 64;
      records_.append({at, words, dom.children.first, dom.children.size(), dom.parent});
      at += words;
    }
    word_count_.append(at);
    first_record_.append(records_.size());
  }
  // Four doublings above the device count leave room for tasks without devices; what exceeds them shares a bucket.
  for (std::uint8_t l = 0; l < levels_; ++l) buckets_.append(bucket_scale::of(devices_per_domain[l] * 16) + 1);
  buckets_.append(node_ranks);
  pairs_.resize(std::size_t{levels_} * (levels_ + 1U));
  std::size_t at = 0;
  for (std::uint8_t m = 0; m < levels_; ++m)
    for (std::uint8_t l = static_cast<std::uint8_t>(m + 1); l <= levels_; ++l) {
      if (l == levels_ && m + 1 != levels_) continue;  // nodes are looked up inside their leaf only
      auto& p = pairs_[std::size_t{m} * (levels_ + 1U) + l];
      p.buckets = buckets_[l];
      p.bucket_words = bucket_words(l);
      p.bits = at;
      at += std::size_t{word_count_[m]} * p.buckets;
      p.non_empty = at;
      at += std::size_t{domains(m)} * p.bucket_words;
    }
  arena_words_ = at;
  leaf_of_word_.resize(word_count_[leaf_level()]);
  for (std::uint32_t d = 0; d < domains(leaf_level()); ++d)
    for (std::uint32_t w = 0; w < words(leaf_level(), d); ++w) leaf_of_word_[first_word(leaf_level(), d) + w] = d;
}

}  // namespace berth::detail
