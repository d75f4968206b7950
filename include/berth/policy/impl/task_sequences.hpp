#pragma once
/// \file
/// Bodies of `berth/policy/task_sequences.hpp`.

#include <cassert>

#include "berth/policy/task_sequences.hpp"

namespace berth {

BERTH_INLINE ranked_node::ranked_node(const share_node& n) noexcept
    : cpu{n.cpu.count()}, memory{n.memory.count()}, model{n.model} {
  for (unsigned i = 0; i < n.devices; ++i) {
    if (n.free[i] == 0) continue;
    unsigned k = devices++;
    for (; k > 0 && free[k - 1] < n.free[i]; --k) free[k] = free[k - 1];
    free[k] = n.free[i];
    whole = static_cast<std::uint8_t>(whole + (n.free[i] == whole_device ? 1 : 0));
  }
}

BERTH_INLINE void ranked_node::take(const share_task& t, std::uint16_t from) noexcept {
  unsigned at = devices;
  if (t.devices == 1 && t.share < whole_device)
    for (at = 0; free[at] != from;) ++at;
  take_at(t, at);
}

BERTH_INLINE void ranked_node::take(const share_task& t) noexcept {
  unsigned at = devices;
  if (t.devices == 1 && t.share < whole_device)
    for (--at; free[at] < t.share;) --at;
  take_at(t, at);
}

BERTH_INLINE void ranked_node::take_at(const share_task& t, unsigned at) noexcept {
  cpu -= t.cpu.count();
  memory -= t.memory.count();
  if (t.devices == 0) return;
  if (at == devices) {
    // Whole GPUs: those with less move up.
    assert(whole >= t.devices);
    whole = static_cast<std::uint8_t>(whole - t.devices);
    devices = static_cast<std::uint8_t>(devices - t.devices);
    for (unsigned i = whole; i < devices; ++i) free[i] = free[i + t.devices];
  } else {
    assert(free[at] >= t.share);
    if (free[at] == whole_device) at = --whole;  // the last of its equals, so that less has to move
    const auto left = static_cast<std::uint16_t>(free[at] - t.share);
    for (; at + 1 < devices && free[at + 1] > left; ++at) free[at] = free[at + 1];
    free[at] = left;
    if (left == 0) --devices;
  }
  if (devices == 0) free[0] = 0;
}

BERTH_INLINE void task_sequences::clear() noexcept {
  tasks_.clear();
  ends_.clear();
}

BERTH_INLINE void task_sequences::compile(std::uint64_t models) {
  std::uint32_t longest = 1, first = 0;
  for (const auto end : ends_) {
    longest = end - first > longest ? end - first : longest;
    first = end;
  }
  words_ = (longest + 63) / 64;
  cpu_.build(tasks_, [](const share_task& t) { return t.cpu.count(); });
  memory_.build(tasks_, [](const share_task& t) { return t.memory.count(); });
  share_.build(tasks_, [](const share_task& t) { return std::int64_t{t.share}; });
  sets_.build(tasks_, [](const share_task& t) { return t.devices > 1 ? std::int64_t{t.devices} : std::int64_t{0}; });
  for (auto* d : {&cpu_, &memory_, &share_, &sets_}) d->mark(ends_, words_);
  for (unsigned x = 0; x <= whole_device; ++x) row_of_share_[x] = static_cast<std::uint32_t>(share_.row(x));
  for (unsigned x = 0; x <= max_shared_devices; ++x) row_of_whole_[x] = static_cast<std::uint32_t>(sets_.row(x));
  // What no sequence can use up.
  most_memory_ = 0;
  std::uint32_t begins = 0;
  for (const auto end : ends_) {
    std::int64_t sum = 0;
    for (; begins < end; ++begins) sum += tasks_[begins].memory.count();
    most_memory_ = sum > most_memory_ ? sum : most_memory_;
  }
  const std::size_t words = ends_.size() * words_;
  with_gpus_.assign(words, 0);
  served_.clear();
  for_each_bit(models, [&](unsigned m) {
    row_of_model_[m] = static_cast<std::uint32_t>(served_.size());
    served_.resize(served_.size() + words, 0);
  });
  std::uint32_t s = 0;
  for (std::uint32_t i = 0; i < tasks_.size(); ++i) {
    while (i >= ends_[s]) ++s;
    const std::uint32_t k = i - begin(s);
    const std::size_t at = s * words_ + k / 64;
    if (tasks_[i].devices != 0) with_gpus_[at] |= bit(k % 64);
    for_each_bit(tasks_[i].devices == 0 ? models : models & tasks_[i].models,
                 [&](unsigned m) { served_[row_of_model_[m] + at] |= bit(k % 64); });
  }
}

BERTH_INLINE void task_sequences::dimension::mark(const std::vector<std::uint32_t>& ends, std::uint32_t words) {
  stride_ = ends.size() * words;
  masks_.assign((steps_.size() + 1) * stride_, 0);
  std::uint32_t s = 0, first = 0;
  for (std::uint32_t i = 0; i < of_task_.size(); ++i) {
    while (i >= ends[s]) first = ends[s++];
    const std::uint32_t k = i - first;
    for (std::size_t r = rank(of_task_[i]); r <= steps_.size(); ++r)
      masks_[r * stride_ + s * words + k / 64] |= bit(k % 64);
  }
}

BERTH_INLINE std::size_t task_sequences::dimension::rank(std::int64_t amount) const noexcept {
  const std::int64_t bucket = amount >> shift_ < buckets ? amount >> shift_ : buckets - 1;
  std::size_t low = below_[bucket], n = below_[bucket + 1] - low;
  while (n != 0) {
    const std::size_t half = n / 2;
    const bool right = steps_[low + half] <= amount;
    low = right ? low + half + 1 : low;
    n = right ? n - half - 1 : half;
  }
  return low;
}

BERTH_INLINE void task_sequences::append(const share_task& t) {
  tasks_.push_back(t);
}

BERTH_INLINE void task_sequences::end_sequence() {
  ends_.push_back(static_cast<std::uint32_t>(tasks_.size()));
}

}  // namespace berth
