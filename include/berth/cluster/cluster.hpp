#pragma once
/// \file
/// The live cluster: what is free, held and broken, who holds it, and the capacity index over it.
///
/// `commit`, `release`, `transaction` and the health calls are all-or-nothing. Calls that say so allocate; the others
/// do not, once `reserve` was called, and are `noexcept`.
///
/// Invariants  (checked by `check_invariants`) per node: free == usable ? installed & ~held & ~unhealthy : 0; held, CPU
///             and memory agree with the committed tasks; every live shape's counters agree with the nodes.
/// Copies      a value like any other, but neither copied, moved nor assigned to while a transaction is open.
/// Threads     one at a time. Reading the index brings it up to date, so `counters` is a change too.

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "berth/cluster/allocation_store.hpp"
#include "berth/cluster/capacity_index.hpp"
#include "berth/cluster/change_sink.hpp"
#include "berth/cluster/class_registry.hpp"
#include "berth/cluster/limits.hpp"
#include "berth/cluster/live_shape.hpp"
#include "berth/cluster/node_changes.hpp"
#include "berth/cluster/node_filter.hpp"
#include "berth/cluster/node_names.hpp"
#include "berth/cluster/node_resources.hpp"
#include "berth/cluster/node_state.hpp"
#include "berth/cluster/open_count.hpp"
#include "berth/cluster/placement.hpp"
#include "berth/cluster/spec.hpp"
#include "berth/cluster/uplinks.hpp"
#include "berth/core/expected.hpp"
#include "berth/core/flat_array.hpp"
#include "berth/core/separate.hpp"

namespace berth {

class cluster {
 public:
  /// The most node classes (unlike in hardware, labels or totals) over a cluster's life; their ids are not reused.
  static constexpr std::size_t max_classes = detail::class_registry::max_classes;

  /// Everything free and healthy. O(nodes); allocates.
  /// \pre spec.nodes follow the order of spec.tree, at least one node, at most `max_classes` unlike ones; their shapes
  /// are in spec.shapes, their CPUs and memory not negative
  explicit cluster(const cluster_spec& spec, const cluster_limits& limits = {});

  /// Prepares for more jobs, tasks, shapes and journal entries; a zero keeps what there is. Allocates.
  void reserve(const cluster_limits& limits);

  // -- what there is ---------------------------------------------------------------------------------------------

  [[nodiscard]] const domain_tree& tree() const noexcept { return tree_; }
  [[nodiscard]] std::uint32_t node_count() const noexcept { return static_cast<std::uint32_t>(nodes_.size()); }
  [[nodiscard]] const node_state& node(node_id n) const noexcept { return nodes_[n.index()]; }
  [[nodiscard]] std::span<const node_state> nodes() const noexcept;
  /// Of a vacant id the class of no shape.
  [[nodiscard]] const node_class& class_of(node_id n) const noexcept {
    return registry_.class_at(nodes_[n.index()].node_class);
  }
  [[nodiscard]] std::span<const node_class> classes() const noexcept;
  [[nodiscard]] std::span<const node_shape> shapes() const noexcept;
  /// \pre is_member(n)
  [[nodiscard]] const node_shape& shape_of(node_id n) const noexcept;
  [[nodiscard]] std::size_t job_count() const noexcept { return store_.job_count(); }
  /// Rises with every change of any node, also when a change is undone.
  [[nodiscard]] std::uint64_t epoch() const noexcept { return epoch_; }
  /// Rises when more than node states change: classes, membership, uplinks; also when such a change is undone.
  [[nodiscard]] std::uint64_t structure() const noexcept { return structure_; }
  /// The latest value of `structure` that others may know of: that of an open transaction, or of one that was undone,
  /// is none.
  [[nodiscard]] std::uint64_t published_structure() const noexcept { return published_structure_; }
  /// A moment in the log of changes, for `gained_since`.
  [[nodiscard]] std::uint64_t mark_changes() const noexcept { return index_.mark(); }
  /// Whether more may fit on some node than at the mark: something was released, repaired or added. O(1).
  [[nodiscard]] bool gained_since(std::uint64_t mark) const noexcept { return index_.gained_since(mark); }
  /// Calls `f(leaf)` for the leaves where that is so, some twice. O(leaves changed since). False: too much has happened
  /// to tell, take it for all of them.
  template <class F>
  bool each_leaf_gained_since(std::uint64_t mark, F&& f) const {
    return index_.each_leaf_gained_since(mark, std::forward<F>(f));
  }
  [[nodiscard]] bool in_transaction() const noexcept { return open_ != 0; }

  /// Calls `f(const committed_task&)` for every task of a job, in the order of its placement. False: no such job.
  template <class F>
  bool for_each_task(job_key key, F&& f) const {
    const std::uint32_t j = store_.find(key);
    if (j == detail::allocation_store::none) return false;
    for (std::uint32_t t = store_.at(j).first; t != detail::allocation_store::none; t = store_.task(t).next)
      f(store_.task(t));
    return true;
  }
  /// What a task that `for_each_task` showed holds inside its node. \pre inside().is_on()
  [[nodiscard]] const task_binding& binding_of(const committed_task& t) const noexcept {
    return inside_.binding(store_.slot_of(t));
  }
  /// Which parts such a task holds; no need where it holds none. \pre inside().parts().is_on()
  [[nodiscard]] const part_need& part_of(const committed_task& t) const noexcept {
    return inside_.parts().need(store_.slot_of(t));
  }
  [[nodiscard]] const part_places& places_of(const committed_task& t) const noexcept {
    return inside_.parts().places(store_.slot_of(t));
  }
  /// Calls `f(job_key)` for every committed job, in no particular order. O(job limit).
  template <class F>
  void for_each_job(F&& f) const {
    for (std::uint32_t j = 0; j < store_.job_slots(); ++j)
      if (store_.at(j).first != detail::allocation_store::none && !store_.at(j).parked) f(store_.at(j).key);
  }

  // -- filters and counters --------------------------------------------------------------------------------------

  /// Registers a filter, or finds an equal one; none past 65,535 of them: no task shape with that is valid. Evaluated
  /// once per node class. Allocates.
  [[nodiscard]] filter_id add_filter(const node_filter& filter) { return registry_.find_or_add_filter(filter); }
  [[nodiscard]] const node_filter& filter(filter_id f) const noexcept { return registry_.filters()[f.index()]; }
  [[nodiscard]] bool is_valid(const task_shape& shape) const noexcept;
  /// Registers a MIG request, or finds an equal one; none where parts are off. Allocates. See `make_mig_request`.
  [[nodiscard]] mig_request_id add_mig_request(const mig_request& r) { return inside_.parts().find_or_add(r); }
  /// What a filter leaves of a node.
  [[nodiscard]] eligibility eligible(filter_id f, node_id n) const noexcept;
  /// The same, were there no taints.
  [[nodiscard]] eligibility eligible_ever(filter_id f, node_id n) const noexcept;
  /// Exact counters of a shape, brought up to date. Null when no live shapes are reserved. See `live_shape` for how
  /// long it takes; the pointer holds until the next call that changes the cluster or asks for another shape. \pre
  /// is_valid(shape)
  [[nodiscard]] const live_shape* counters(const task_shape& shape) const noexcept;

  /// `counters`, or with `cluster_limits::shared_bounds` counters that never say less than what fits, exact for shapes
  /// asked for repeatedly; see `shape()` of the result for which shape they count. For searches that verify their
  /// answer on the nodes. \pre is_valid(shape)
  [[nodiscard]] const live_shape* bounds(const task_shape& shape) const noexcept;

  /// The most tasks one domain of a level would hold with nothing allocated, everything healthy and no taints. O(1), or
  /// O(nodes) where nodes changed their kind since. \pre `s` is what `counters` or `bounds` returned, and still counts
  [[nodiscard]] std::uint64_t potential(const live_shape& s, unsigned level) const noexcept {
    return index_.potential(s, level, registry_.table(s.shape().filter), nodes(), registry_.classes(), inside_);
  }

  /// Whether `bounds` may answer with the counters of another shape than was asked for.
  [[nodiscard]] bool shares_bounds() const noexcept { return shared_bounds_; }

  /// What tasks hold inside their nodes. Off unless `cluster_limits::bindings` asked for it.
  [[nodiscard]] const detail::node_resources& inside() const noexcept { return inside_; }
  /// The inside of a node for the devices in `pool`. \pre inside().is_on()
  [[nodiscard]] node_residual residual(node_id n, device_mask pool) const noexcept {
    return inside_.residual(n.raw(), nodes_[n.index()], pool);
  }

  /// Bandwidth between domains.
  [[nodiscard]] const detail::uplink_state& uplinks() const noexcept { return uplinks_; }
  /// The link that lacks what a placement's `between_nodes` would reserve now; nothing where all have it. O(tasks ×
  /// levels).
  [[nodiscard]] std::optional<lacking_link> lacking(const placement& p) const noexcept;

  // -- placements ------------------------------------------------------------------------------------------------

  /// Takes what a placement names, or nothing: `conflict` where it is not free any more, or a node does not pass the
  /// filter of its task any more. The same key with the same content again is a no-op, whatever became of the nodes:
  /// the same tasks in the same order, with the same devices and parts, CPU, memory, filters and needs inside nodes,
  /// and the same rate. `key_in_use` with other content; `bad_argument` for no tasks, a shape or node that is not
  /// there, or more or fewer devices than the shape asks for; `capacity_exhausted` past the limits. O(tasks).
  expected<void, cluster_error> commit(job_key key, const placement& p) noexcept;

  /// Gives back everything a job holds; a job that is not there holds nothing, so that is no error. Inside a
  /// transaction its key and its nodes are free at once, but its room among `cluster_limits::jobs` and `tasks` only
  /// when the outermost one ends, as it may come back until then. O(tasks).
  expected<void, cluster_error> release(job_key key) noexcept;

  // -- health and membership; all idempotent -----------------------------------------------------------------------

  /// A broken device is not handed out; who holds it keeps it.
  expected<void, cluster_error> set_device_health(node_id n, unsigned device, bool healthy) noexcept;
  /// An unusable node (drained, broken) gets nothing new; what runs there keeps running.
  expected<void, cluster_error> set_node_usable(node_id n, bool usable) noexcept;
  /// A broken NIC counts for no task that wants one near its devices; who has it keeps it. `capacity_exhausted` where
  /// `inside()` is off.
  expected<void, cluster_error> set_nic_health(node_id n, unsigned nic, bool healthy) noexcept;
  /// With its uplink down a domain still serves gangs that fit inside it, and no others.
  expected<void, cluster_error> set_uplink_health(level_id level, domain_id domain, bool healthy) noexcept;
  [[nodiscard]] bool is_detached(level_id level, domain_id domain) const noexcept {
    return index_.is_detached(level.raw(), domain.raw());
  }
  [[nodiscard]] bool any_detached() const noexcept { return index_.any_detached(); }

  /// Marks the direct link between two devices of a node broken or whole: while broken, they have what PCIe and sockets
  /// give, or an unknown bandwidth where that is not known, so sets that avoid the pair are preferred; the devices stay
  /// usable. Allocates: the node moves to a class of its own kind.
  expected<void, cluster_error> set_link_health(node_id n, unsigned a, unsigned b, bool healthy);
  /// Replaces the labels of a node. Allocates.
  expected<void, cluster_error> relabel(node_id n, std::vector<std::string> labels);
  /// What an idle device may become: whole, MIG or shared as needed, or MIG alone, or no MIG. `still_in_use` while it
  /// is held; `capacity_exhausted` where parts are off.
  expected<void, cluster_error> set_mig_switch(node_id n, unsigned device, mig_switch to) noexcept;
  /// Takes an idle node out of the cluster; its id stays vacant until `add_node` fills it. Vacant already: changes
  /// nothing. Allocates; not inside a transaction.
  expected<void, cluster_error> remove_node(node_id n);
  /// Fills a vacant id of a leaf. A node that is there under the same name, in the same leaf, with the same shape,
  /// labels and totals, is not added again, whatever became of its health: the answer is its id. Nodes without a name
  /// are all different. \returns the id; `bad_argument` for CPUs or memory below 0, `key_in_use` where the name belongs
  /// to a node of another leaf or kind, `capacity_exhausted` when the leaf has no vacant id, or the cluster no room for
  /// one more class.
  /// \pre spec.shape is one of `shapes()`. Allocates; not inside a transaction.
  expected<node_id, cluster_error> add_node(domain_id leaf, const node_spec& spec);
  /// The node of that name; the first where several were made with it, and none once that one is gone. None for an
  /// empty name. O(1).
  [[nodiscard]] std::optional<node_id> find_node(const std::string& name) const noexcept;
  /// False for a vacant id. \pre n.index() < node_count()
  [[nodiscard]] bool is_member(node_id n) const noexcept { return static_cast<bool>(class_of(n).shape); }

  // -- for other threads -------------------------------------------------------------------------------------------

  /// From now on publishes every change to `feed`, which was made from `nodes()` since the last change; null ends it.
  /// What changes inside a transaction is published when the outermost one is committed, and not at all where it is
  /// undone. A copy of the cluster is not attached; a moved cluster stays so. \pre the feed outlives the attachment; no
  /// transaction is open
  void attach(change_sink* feed) noexcept;
  /// Sets the state of a node, and its parts where there are any, as another cluster published them, see `replica`.
  void overwrite(node_id n, const node_state& state, const detail::published_parts& parts = {}) noexcept;
  /// For replicas: counts a task as there until its node is overwritten; one that does not fit is not counted.
  void assume(const task_placement& t, const task_shape& shape, const part_places& places) noexcept;

  /// As if no task held anything inside a node, or on the links between domains. The cluster's jobs no longer agree
  /// with that: for copies that are thrown away.
  void clear_inside(node_id n) noexcept;
  /// From now on knows nothing of parts of devices, only that the devices are held: for copies that follow node states.
  void forget_parts() noexcept { inside_.parts().disable(), index_.forget(); }
  /// The same of NUMA nodes, links to the host and NICs; and of bandwidth between domains.
  void forget_inside() noexcept { inside_.disable(), index_.forget(); }
  void forget_uplinks() noexcept { uplinks_.forget(); }
  void clear_uplinks() noexcept { uplinks_.clear(); }

  // -- for searches ------------------------------------------------------------------------------------------------

  /// Takes devices, CPU and memory of a node for a moment, without a job. A search undoes all of it with `unhold`, last
  /// first, before it returns. \pre the node is usable, `devices` are free on it, CPU and memory suffice
  void hold(node_id n, device_mask devices, cpu_millis cpu, bytes memory) noexcept;
  /// The same for a task of a shape, with what it needs of the inside. Room for those is made by `reserve_holds`.
  void hold(node_id n, device_mask devices, const task_shape& t) noexcept;
  /// \pre t.part.asks()
  void hold(node_id n, device_mask devices, const task_shape& t, const part_places& places) noexcept;
  void unhold(node_id n, device_mask devices, const task_shape& t) noexcept;
  /// Prepares for `tasks` tasks held at once. Allocates.
  void reserve_holds(std::size_t tasks) { inside_.reserve_holds(tasks); }
  void unhold(node_id n, device_mask devices, cpu_millis cpu, bytes memory) noexcept;

  /// Bytes of state and index, without names and labels.
  [[nodiscard]] std::size_t memory() const noexcept;
  /// Compares every derived value with what it is derived from. For tests and debug builds. O(nodes × live shapes).
  [[nodiscard]] bool check_invariants() const;

 private:
  friend class transaction;
  struct change {
    enum kind : std::uint32_t { committed, released, device_health, usable, uplink, class_move, nics, switched };
    kind what{};
    std::uint32_t subject = 0;
    std::uint32_t extra = 0;
    std::uint64_t before = 0;  ///< mask, class, or whether it was usable or healthy
  };

  /// \param gain  whether more may fit on the node than before; true when in doubt
  void changed(std::uint32_t n, bool gain = true) noexcept;
  /// As `changed`, for what a search undoes before anybody could see it.
  void touched(std::uint32_t n, bool gain) noexcept;
  /// Others hear of a change at once, or when the outermost transaction is committed; see `finish`.
  void publish(std::uint32_t n) const noexcept {
    if (feed_.to != nullptr && open_ == 0) feed_.to->publish(n, nodes_[n], inside_.parts().published(n));
  }
  void publish_tasks(std::uint32_t j) const noexcept;
  void structure_changed() noexcept;
  void publish_structure() noexcept;
  void give_back(std::uint32_t j, std::uint32_t first) noexcept;
  void note_filters(std::uint32_t j, const placement& p) noexcept;
  [[nodiscard]] bool same_content(std::uint32_t j, const placement& p) const noexcept;
  [[nodiscard]] bool is_valid_part(const part_need& need) const noexcept;
  [[nodiscard]] bool journal_has_room() const noexcept { return open_ == 0 || noted_ < journal_.size(); }
  /// \pre journal_has_room()
  void note(const change& c) noexcept {
    if (open_ != 0) journal_[noted_++] = c;
  }
  void take_again(std::uint32_t j) noexcept;
  void undo_to(std::size_t mark) noexcept;
  /// The outermost transaction was committed: others hear of it, and what was released is gone for good.
  void finish() noexcept;

  /// False: no room for one more class; nothing has changed.
  bool install(std::uint32_t n, const node_spec& spec);
  void membership_changed(node_id n);
  expected<void, cluster_error> move_to_class(node_id n, node_class c);
  void class_moved(std::uint32_t n) noexcept;
  void classes_changed();

  domain_tree tree_;
  detail::class_registry registry_;
  flat_array<node_state> nodes_;
  detail::node_names names_;
  std::size_t live_shapes_ = 0;
  bool shared_bounds_ = false;
  mutable detail::capacity_index index_;
  detail::node_resources inside_;
  mutable detail::uplink_state uplinks_;  ///< asking counts in it
  detail::allocation_store store_;
  flat_array<change> journal_;  ///< as long as it may get
  std::size_t noted_ = 0;       ///< changes in the journal
  detail::feed_link feed_;
  std::uint64_t structure_ = 1;
  std::uint64_t published_structure_ = 1;
  std::size_t published_classes_ = 0;  ///< classes that others may know of
  detail::open_count open_;            ///< nesting depth of open transactions
  std::uint64_t epoch_ = 1;
};

}  // namespace berth

#if BERTH_WITH_BODIES
#include "berth/cluster/impl/cluster.hpp"
#include "berth/cluster/impl/invariants.hpp"
#include "berth/cluster/impl/node_kinds.hpp"
#include "berth/cluster/impl/overwrite.hpp"
#include "berth/cluster/impl/same_content.hpp"
#include "berth/cluster/impl/undo.hpp"
#endif
