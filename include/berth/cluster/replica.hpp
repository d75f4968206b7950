#pragma once
/// \file
/// A reader's own copy of a cluster, for placing speculatively on another thread than the writer's.
///
/// \code
/// // writer's thread                                    // a reader's thread
/// berth::change_feed feed{live.nodes()};
/// live.attach(&feed);                                   berth::replica mine{live_copy, feed};
///                                                       berth::placer place{mine.view()};
///                                                       mine.catch_up();
/// if (!live.commit(key, proposal)) …conflict: again…  <--  const auto d = place(gang);   // hand d.where over
/// \endcode

#include <cstdint>

#include "berth/cluster/change_feed.hpp"
#include "berth/cluster/cluster.hpp"

namespace berth {

/// What catching up found.
enum class catch_up_result : std::uint8_t {
  current,   ///< nothing had changed
  followed,  ///< copied the nodes that changed
  recopied,  ///< had fallen behind the ring: copied all nodes
  rebuild,   ///< classes, membership or uplinks changed: make the replica anew from the writer's cluster
};

class replica {
 public:
  /// \param at_rest  a copy of the writer's cluster, made while the writer stood still. It keeps tree, classes and filters;
  ///                 its jobs stay the writer's: the replica knows what is free, not who holds the rest.
  replica(const cluster& at_rest, const change_feed& feed)
      : view_{at_rest}, feed_{&feed}, structure_{feed.structure()} {
    copy_all();
  }

  /// The copy: place on it, do not commit to it.
  [[nodiscard]] cluster& view() noexcept { return view_; }

  /// Brings the copy up to date with what the writer published. O(changes since the last call), or O(nodes) after falling
  /// behind. Does not allocate.
  catch_up_result catch_up() noexcept {
    if (feed_->structure() != structure_) return catch_up_result::rebuild;
    const std::uint64_t head = feed_->head();
    if (head == seen_) return catch_up_result::current;
    if (head - seen_ <= feed_->ring_size()) {
      for (std::uint64_t at = seen_; at != head; ++at) {
        const std::uint32_t n = feed_->changed_node(at);
        if (n < feed_->node_count()) view_.overwrite(node_id{n}, feed_->read(n));
      }
      // Had the writer lapped the ring meanwhile, some of these ids would be later ones, and some would be missing.
      if (feed_->head() - seen_ <= feed_->ring_size()) {
        seen_ = head;
        return catch_up_result::followed;
      }
    }
    copy_all();
    return catch_up_result::recopied;
  }

 private:
  void copy_all() noexcept {
    seen_ = feed_->head();  // first: what changes while copying is copied again next time
    for (std::uint32_t n = 0; n < feed_->node_count(); ++n) view_.overwrite(node_id{n}, feed_->read(n));
  }

  cluster view_;
  const change_feed* feed_;
  std::uint64_t seen_ = 0;
  std::uint64_t structure_;
};

}  // namespace berth
