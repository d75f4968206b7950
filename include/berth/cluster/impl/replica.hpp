#pragma once
/// \file
/// Bodies of `berth/cluster/replica.hpp`.

#include "berth/cluster/replica.hpp"

namespace berth {

BERTH_INLINE replica::replica(const cluster& at_rest, const change_feed& feed) : view_{at_rest}, feed_{&feed} {
  // A feed of node states alone does not tell which parts of a held device are free. Gangs with parts are then
  // refused on the view with `capacity_exhausted`.
  if (!feed.has_parts()) view_.forget_parts();
  // No feed tells what tasks hold inside their nodes or between domains, nor which NICs work: the same for gangs that
  // ask for that.
  view_.forget_inside();
  view_.forget_uplinks();
  if (is_current()) copy_all();
}

BERTH_INLINE catch_up_result replica::catch_up() noexcept {
  if (!is_current()) return catch_up_result::rebuild;
  const std::uint64_t head = feed_->head();
  if (head == seen_) return catch_up_result::current;
  bool whole = head - seen_ < feed_->ring_size();
  for (std::uint64_t at = seen_; whole && at != head; ++at) copy(feed_->changed_node(at));
  // Had the writer lapped the ring meanwhile, some of these ids would be later ones, and some would be missing.
  whole = whole && feed_->head() - seen_ < feed_->ring_size();
  if (whole) seen_ = head;
  else copy_all();
  // A class that the copy does not know is published after the structure it belongs to: whoever read one sees that
  // here.
  if (!is_current()) return catch_up_result::rebuild;
  return whole ? catch_up_result::followed : catch_up_result::recopied;
}

BERTH_INLINE void replica::assume(const placement& p) noexcept {
  for (std::size_t i = 0; i < p.tasks.size(); ++i)
    view_.assume(p.tasks[i], p.shapes[p.tasks[i].group], i < p.parts.size() ? p.parts[i] : part_places{});
}

BERTH_INLINE void replica::copy(std::uint32_t n) noexcept {
  if (n >= feed_->node_count()) return;
  if (!feed_->has_parts()) return view_.overwrite(node_id{n}, feed_->read(n));
  const node_state s = feed_->read(n, parts_);
  view_.overwrite(node_id{n}, s, parts_.view());
}

BERTH_INLINE void replica::copy_all() noexcept {
  seen_ = feed_->head();  // first: what changes while copying is copied again next time
  for (std::uint32_t n = 0; n < feed_->node_count(); ++n) copy(n);
}

BERTH_INLINE void replica::retract(std::span<const task_placement> tasks) noexcept {
  for (const task_placement& t : tasks) copy(t.node.raw());
}

}  // namespace berth
