#pragma once
/// \file
/// Bodies of `berth/job/label_book.hpp`.

#include <utility>

#include "berth/job/label_book.hpp"

namespace berth {

BERTH_INLINE void label_book::set(job_key key, std::vector<std::string> labels, std::vector<repelled_label> repels) {
  entry e{key, std::move(labels), std::move(repels)};
  for (entry& known : entries_)
    if (known.key == key) {
      known = std::move(e);
      return;
    }
  entries_.push_back(std::move(e));
}

BERTH_INLINE bool label_book::erase(job_key key) {
  for (std::size_t i = 0; i < entries_.size(); ++i)
    if (entries_[i].key == key) {
      entries_.erase(entries_.begin() + static_cast<std::ptrdiff_t>(i));
      return true;
    }
  return false;
}

BERTH_INLINE std::vector<std::int64_t> label_book::count(const cluster& c, const std::string& label) const {
  std::vector<std::int64_t> out(c.node_count());
  if (label.empty()) return out;
  for (const entry& e : entries_)
    if (has(e.labels, label)) c.for_each_task(e.key, [&](const committed_task& t) { ++out[t.node.index()]; });
  return out;
}

BERTH_INLINE bool label_book::has(const std::vector<std::string>& labels, const std::string& label) {
  for (const std::string& l : labels)
    if (l == label) return true;
  return false;
}

BERTH_INLINE const std::vector<label_book::entry>& label_book::entries() const noexcept {
  return entries_;
}

}  // namespace berth
