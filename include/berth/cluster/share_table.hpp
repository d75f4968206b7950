#pragma once
/// \file
/// GPUs and MIG instances that are shared, and who shares which: commit, release and undo, all or nothing.
///
/// A unit is a GPU or a MIG instance on one. A GPU is idle, whole, cut into instances, or shared: instances are put on
/// it only while nobody shares it or has it whole, so that sharing nests inside an instance and never lies beside one.
///
/// Memory   what `share_table_limits` says, taken by the constructor. Nothing else allocates; all is `noexcept`.
/// Cost     O(grants) per change; looking a job up is a hash.

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "berth/cluster/device_sharing.hpp"
#include "berth/core/expected.hpp"

namespace berth {

struct share_table_limits {
  std::uint32_t gpus = 0;
  std::uint32_t instances = 0;  ///< MIG instances that are shared or held, at once
  std::uint32_t grants = 0;     ///< clients at once
  std::uint32_t log = 4096;     ///< changes within one transaction
};

/// A GPU or a MIG instance in the table; GPUs are numbered in the order in which they are added.
using share_unit = std::uint32_t;

/// Part of what a job holds: one client on one unit, or a unit that it has whole.
struct share_grant {
  share_unit unit = 0;
  bool whole = false;
  share_ask ask;
  friend constexpr bool operator==(const share_grant&, const share_grant&) noexcept = default;
};

enum class share_table_errc : std::uint8_t {
  no_such_unit,
  in_mig_mode,  ///< a GPU with instances is neither shared nor held whole
  held_whole,
  shared,   ///< it has clients, so that its terms and its use cannot change
  refused,  ///< by the terms; `fault` says why
  unknown_job,
  conflicting_job,     ///< the key holds something else
  capacity_exhausted,  ///< past the limits
};
struct share_table_error {
  share_table_errc code{};
  share_unit unit = 0;
  share_fault fault{};  ///< where `code` is `refused`
};

class share_table {
 public:
  enum class use_of : std::uint8_t { idle, shared, whole, cut };

  explicit share_table(const share_table_limits& l) : gpus_most_{l.gpus} {
    units_.reserve(std::size_t{l.gpus} + l.instances);
    grants_.resize(l.grants);
    for (std::uint32_t i = l.grants; i-- > 0;) {
      grants_[i].next = free_;
      free_ = i;
    }
    std::size_t slots = 16;
    while (slots < std::size_t{l.grants} * 2) slots *= 2;
    first_.assign(slots, none);
    log_.resize(l.log);
  }

  /// Adds a GPU of a node; node by node, and before any instance.
  expected<share_unit, share_table_error> add_gpu(std::uint32_t node, const share_terms& terms = {}) noexcept {
    if (gpus_ == gpus_most_ || units_.size() != gpus_) return fail(share_table_errc::capacity_exhausted, gpus_);
    if (gpus_ != 0 && units_[gpus_ - 1].node > node) return fail(share_table_errc::no_such_unit, gpus_);
    units_.push_back({terms, {}, node, gpus_, none, use_of::idle, true});
    return gpus_++;
  }
  /// Adds a MIG instance on a GPU that nobody shares or holds whole. No undo: instances come and go outside of
  /// transactions.
  expected<share_unit, share_table_error> open_instance(share_unit gpu, const share_terms& terms) noexcept {
    if (gpu >= gpus_ || open_ != 0) return fail(share_table_errc::no_such_unit, gpu);
    if (units_[gpu].use == use_of::whole) return fail(share_table_errc::held_whole, gpu);
    if (units_[gpu].use == use_of::shared) return fail(share_table_errc::shared, gpu);
    std::size_t at = gpus_;
    while (at < units_.size() && units_[at].there) ++at;
    if (at == units_.size()) {
      if (units_.size() == units_.capacity()) return fail(share_table_errc::capacity_exhausted, gpu);
      units_.push_back({});
    }
    units_[at] = {terms, {}, units_[gpu].node, gpu, units_[gpu].instance, use_of::idle, true};
    units_[gpu].instance = static_cast<share_unit>(at);
    units_[gpu].use = use_of::cut;
    return static_cast<share_unit>(at);
  }
  /// Takes an instance away that nobody uses.
  expected<void, share_table_error> close_instance(share_unit unit) noexcept {
    if (!is_unit(unit) || unit < gpus_ || open_ != 0) return fail(share_table_errc::no_such_unit, unit);
    if (units_[unit].use != use_of::idle) return fail(share_table_errc::shared, unit);
    row& gpu = units_[units_[unit].gpu];
    share_unit* at = &gpu.instance;
    while (*at != unit) at = &units_[*at].instance;
    *at = units_[unit].instance;
    if (gpu.instance == none) gpu.use = use_of::idle;
    units_[unit] = {};
    return {};
  }
  /// Other terms for a unit that nobody uses.
  expected<void, share_table_error> set_terms(share_unit unit, const share_terms& terms) noexcept {
    if (!is_unit(unit) || open_ != 0) return fail(share_table_errc::no_such_unit, unit);
    if (units_[unit].use == use_of::whole) return fail(share_table_errc::held_whole, unit);
    if (units_[unit].use == use_of::shared) return fail(share_table_errc::shared, unit);
    units_[unit].terms = terms;
    return {};
  }

  [[nodiscard]] std::uint32_t gpus() const noexcept { return gpus_; }
  /// One above the highest unit.
  [[nodiscard]] share_unit units() const noexcept { return static_cast<share_unit>(units_.size()); }
  [[nodiscard]] bool is_unit(share_unit u) const noexcept { return u < units_.size() && units_[u].there; }
  [[nodiscard]] std::uint32_t node(share_unit u) const noexcept { return units_[u].node; }
  /// The GPU that the unit is, or lies on.
  [[nodiscard]] share_unit gpu(share_unit u) const noexcept { return units_[u].gpu; }
  [[nodiscard]] const share_terms& terms(share_unit u) const noexcept { return units_[u].terms; }
  [[nodiscard]] const share_use& use(share_unit u) const noexcept { return units_[u].now; }
  [[nodiscard]] use_of used_as(share_unit u) const noexcept { return units_[u].use; }
  /// Calls `f(unit)` for a GPU, or for the instances on it where there are any.
  template <class F>
  void for_each_unit_on(share_unit gpu, F&& f) const {
    if (units_[gpu].use != use_of::cut) return f(gpu);
    for (share_unit u = units_[gpu].instance; u != none; u = units_[u].instance) f(u);
  }

  /// Whether a grant fits now. O(1).
  [[nodiscard]] expected<void, share_table_error> check(const share_grant& g) const noexcept {
    if (!is_unit(g.unit)) return fail(share_table_errc::no_such_unit, g.unit);
    const row& r = units_[g.unit];
    if (r.use == use_of::cut) return fail(share_table_errc::in_mig_mode, g.unit);
    if (r.use == use_of::whole) return fail(share_table_errc::held_whole, g.unit);
    if (g.whole) {
      if (r.use == use_of::shared) return fail(share_table_errc::shared, g.unit);
      return {};
    }
    if (const auto ok = check_share(r.terms, r.now, g.ask); !ok)
      return unexpected{share_table_error{share_table_errc::refused, g.unit, ok.error()}};
    return {};
  }

  /// Gives a job all of its grants, or none. The same key with the same grants again changes nothing. O(grants).
  expected<void, share_table_error> commit(std::uint64_t key, std::span<const share_grant> grants) noexcept {
    if (const std::uint32_t had = find(key); had != none) {
      std::uint32_t i = had;
      for (std::size_t n = grants.size(); n-- > 0; i = grants_[i].next)
        if (i == none || !(grants_[i].what == grants[n])) return fail(share_table_errc::conflicting_job, 0);
      if (i != none) return fail(share_table_errc::conflicting_job, 0);
      return {};
    }
    if (grants.empty()) return {};
    const std::size_t from = begin();
    for (const share_grant& g : grants) {
      auto ok = check(g);
      if (ok && (free_ == none || logged_ == log_.size())) ok = fail(share_table_errc::capacity_exhausted, g.unit);
      if (!ok) {
        rollback(from);
        return ok;
      }
      const std::uint32_t slot = free_;
      put(slot, key, g);
      log_[logged_++] = {key, g, true};
    }
    keep(from);
    return {};
  }
  /// Takes back all that a job holds. O(its grants).
  expected<void, share_table_error> release(std::uint64_t key) noexcept {
    std::uint32_t i = find(key);
    if (i == none) return fail(share_table_errc::unknown_job, 0);
    std::size_t n = 0;
    for (std::uint32_t k = i; k != none; k = grants_[k].next) ++n;
    if (open_ != 0 && n > log_.size() - logged_) return fail(share_table_errc::capacity_exhausted, 0);
    while (i != none) {
      const std::uint32_t next = grants_[i].next;
      if (open_ != 0) log_[logged_++] = {key, grants_[i].what, false};
      take_out(i);
      i = next;
    }
    return {};
  }
  /// What a job holds, last grant first: calls `f(grant)`. O(its grants).
  template <class F>
  void for_each_grant(std::uint64_t key, F&& f) const {
    for (std::uint32_t i = find(key); i != none; i = grants_[i].next) f(grants_[i].what);
  }

  /// Opens a transaction; they nest. Either `rollback` or `keep` of what this returns ends it.
  [[nodiscard]] std::size_t begin() noexcept {
    ++open_;
    return logged_;
  }
  /// Restores the state of `begin`. O(changes since).
  void rollback(std::size_t from) noexcept {
    while (logged_ > from) {
      const change& c = log_[--logged_];
      if (c.added) take_out(find(c.key));
      else put(free_, c.key, c.what);
    }
    --open_;
  }
  void keep(std::size_t) noexcept {
    if (--open_ == 0) logged_ = 0;
  }

  /// The same units, in use in the same way, by whomever.
  friend bool operator==(const share_table& a, const share_table& b) noexcept { return a.units_ == b.units_; }

 private:
  static constexpr std::uint32_t none = ~std::uint32_t{0};
  struct row {
    share_terms terms;
    share_use now;
    std::uint32_t node = 0;
    share_unit gpu = 0;
    share_unit instance = none;  ///< of a GPU: its first instance; of an instance: the next one
    use_of use = use_of::idle;
    bool there = false;
    friend bool operator==(const row&, const row&) noexcept = default;
  };
  struct held {
    std::uint64_t key = 0;
    share_grant what;
    std::uint32_t next = none;  ///< of the job, or of the free ones
  };
  struct change {
    std::uint64_t key = 0;
    share_grant what;
    bool added = false;
  };

  [[nodiscard]] static unexpected<share_table_error> fail(share_table_errc code, share_unit unit) noexcept {
    return unexpected{share_table_error{code, unit, {}}};
  }
  [[nodiscard]] std::size_t home(std::uint64_t key) const noexcept {
    return static_cast<std::size_t>((key * 0x9e3779b97f4a7c15U) >> 20) & (first_.size() - 1);
  }
  [[nodiscard]] std::size_t slot_of(std::uint64_t key) const noexcept {
    std::size_t s = home(key);
    while (first_[s] != none && grants_[first_[s]].key != key) s = (s + 1) & (first_.size() - 1);
    return s;
  }
  [[nodiscard]] std::uint32_t find(std::uint64_t key) const noexcept { return first_[slot_of(key)]; }
  /// Puts a free entry at the head of the job's list and takes the amounts. \pre `slot` is `free_`; it fits
  void put(std::uint32_t slot, std::uint64_t key, const share_grant& g) noexcept {
    free_ = grants_[slot].next;
    const std::size_t s = slot_of(key);
    grants_[slot] = {key, g, first_[s]};
    first_[s] = slot;
    row& r = units_[g.unit];
    if (g.whole) {
      r.use = use_of::whole;
    } else {
      take_share(r.terms, r.now, g.ask);
      r.use = use_of::shared;
    }
  }
  /// Takes the head of a job's list out.
  void take_out(std::uint32_t slot) noexcept {
    const share_grant& g = grants_[slot].what;
    row& r = units_[g.unit];
    if (!g.whole) give_share(r.terms, r.now, g.ask);
    if (g.whole || r.now.clients == 0) r.use = use_of::idle;
    std::size_t s = slot_of(grants_[slot].key);
    first_[s] = grants_[slot].next;
    grants_[slot].next = free_;
    free_ = slot;
    if (first_[s] != none) return;
    // Keys behind the gap move up, so that none is cut off from its home.
    for (std::size_t t = (s + 1) & (first_.size() - 1); first_[t] != none; t = (t + 1) & (first_.size() - 1)) {
      const std::size_t h = home(grants_[first_[t]].key);
      if (((t - h) & (first_.size() - 1)) < ((t - s) & (first_.size() - 1))) continue;
      first_[s] = first_[t];
      first_[t] = none;
      s = t;
    }
  }

  std::uint32_t gpus_most_, gpus_ = 0;
  std::vector<row> units_;  // GPUs, then instances; grown within what was reserved
  std::vector<held> grants_;
  std::uint32_t free_ = none;
  std::vector<std::uint32_t> first_;  // hash of keys: the head of the job's list
  std::vector<change> log_;
  std::size_t logged_ = 0, open_ = 0;
};

}  // namespace berth
