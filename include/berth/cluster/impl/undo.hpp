#pragma once
/// \file
/// The end of transactions: what was changed is undone, last change first, or others hear of it.

#include <cstddef>
#include <cstdint>

#include "berth/cluster/cluster.hpp"

namespace berth {

BERTH_INLINE void cluster::take_again(std::uint32_t j) noexcept {
  uplinks_.give(uplinks_.rate(j), tree_, nodes(), detail::tasks_of_job{store_, j}, -1);
  for (std::uint32_t t = store_.at(j).first; t != detail::allocation_store::none; t = store_.task(t).next) {
    const committed_task& c = store_.task(t);
    const bool parts = inside_.parts().is_on() && inside_.parts().has_parts(t);
    if (parts) inside_.parts().take_again(t, c.node.raw(), nodes_[c.node.index()], c.devices);
    hold(c.node, parts ? 0 : c.devices, c.cpu, c.memory);
    if (inside_.is_on()) inside_.give(t, c.node.raw(), node(c.node).node_class, c.cpu, c.memory, c.devices, -1);
  }
}

BERTH_INLINE void cluster::undo_to(std::size_t mark) noexcept {
  while (noted_ > mark) {
    const change c = journal_[--noted_];
    switch (c.what) {
      case change::committed:
        give_back(c.subject, store_.at(c.subject).first);
        store_.close(c.subject);
        break;
      case change::released:
        store_.unpark(c.subject);
        take_again(c.subject);
        break;
      case change::device_health:
        nodes_[c.subject].unhealthy = c.before;
        changed(c.subject);
        break;
      case change::usable:
        nodes_[c.subject].usable = c.before != 0;
        changed(c.subject);
        break;
      case change::switched:
        inside_.parts().set_switch(c.subject, nodes_[c.subject], c.extra, static_cast<mig_switch>(c.before));
        index_.kinds_changed();
        changed(c.subject);
        break;
      case change::nics:
        inside_.set_nics_down(c.subject, nodes_[c.subject].node_class, c.before);
        changed(c.subject);
        break;
      case change::uplink:
        index_.set_detached(c.extra, c.subject, c.before == 0);
        structure_changed();
        ++epoch_;
        break;
      case change::class_move:
        nodes_[c.subject].node_class = class_id{static_cast<std::uint16_t>(c.before)};
        class_moved(c.subject);
        break;
    }
  }
}

BERTH_INLINE void cluster::finish() noexcept {
  // Only what lasts is in the journal by now: inner transactions that were undone took their changes out of it.
  bool structural = false;
  for (std::size_t i = 0; i < noted_; ++i)
    structural = structural || journal_[i].what == change::uplink ||
                 (journal_[i].what == change::class_move &&
                  nodes_[journal_[i].subject].node_class.index() >= published_classes_);
  if (structural) publish_structure();
  for (std::size_t i = 0; i < noted_; ++i) {
    const change& c = journal_[i];
    switch (c.what) {
      case change::committed:
      case change::released:
        publish_tasks(c.subject);
        break;
      case change::uplink:
        break;
      case change::device_health:
      case change::usable:
      case change::class_move:
      case change::nics:
      case change::switched:
        publish(c.subject);
        break;
    }
  }
  for (std::size_t i = 0; i < noted_; ++i)
    if (journal_[i].what == change::released) store_.close(journal_[i].subject);
  noted_ = 0;
}

}  // namespace berth
