#pragma once
/// \file
/// The cluster's own copy of what was committed: per job key its tasks. A hash table over preallocated pools.
///
/// Cost        find, add and remove O(1) plus O(tasks of the job); no allocation after `reserve`.

#include <cassert>
#include <cstddef>
#include <cstdint>
#include <limits>

#include "berth/core/bits.hpp"
#include "berth/core/flat_array.hpp"
#include "berth/core/id.hpp"
#include "berth/core/separate.hpp"
#include "berth/core/units.hpp"

namespace berth {

/// One committed task.
struct committed_task {
  device_mask devices = 0;
  cpu_millis cpu{};
  bytes memory{};
  node_id node{};
  std::uint32_t next = 0;  ///< next task of the job in the store's pool
};

namespace detail {

class allocation_store {
 public:
  static constexpr std::uint32_t none = std::numeric_limits<std::uint32_t>::max();

  struct job {
    job_key key{};
    std::uint32_t first = none;  ///< first task
    std::uint32_t last = none;   ///< last task; where there is no job, the next place without one
    std::uint32_t tasks = 0;
    bool parked = false;       ///< released inside an open transaction: invisible, but can come back
    bool mixed = false;        ///< its tasks have several filters, see `filter_of`
    filter_id filter{0};       ///< of its tasks, where they have one
    std::uint64_t commit = 0;  ///< number of the commit that made it
  };

  /// Makes room for `jobs` jobs with together `tasks` tasks. Keeps what is stored.
  void reserve(std::size_t jobs, std::size_t tasks);

  /// Where the hash table has a key, or would have it. Good until the next job is added, hidden or removed.
  struct position {
    std::uint32_t job = none;
    std::uint32_t first = none;  ///< the job's first task, and where that is: known without a look at either
    std::uint32_t node = 0;
    std::uint32_t slot = 0;
    std::uint32_t tag = 0;
  };
  [[nodiscard, gnu::always_inline]] position locate(job_key key) const noexcept {
    if (slots_.empty()) return {};
    const std::uint32_t tag = tag_of(key);
    const slot* const slots = slots_.data();
    const std::size_t last = slots_.size() - 1;
    for (std::size_t s = home(tag);; s = (s + 1) & last) {
      const slot& at = slots[s];
      if (at.job() == none || (at.tag() == tag && jobs_[at.job()].key == key))
        return {at.job(), at.first(), at.node(), static_cast<std::uint32_t>(s), tag};
    }
  }
  [[nodiscard]] std::uint32_t find(job_key key) const noexcept { return locate(key).job; }
  [[nodiscard]] const job& at(std::uint32_t j) const noexcept { return jobs_[j]; }
  /// All tasks, by number.
  [[nodiscard]] const committed_task* tasks() const noexcept { return tasks_.data(); }
  [[nodiscard]] const committed_task& task(std::uint32_t t) const noexcept { return tasks_[t]; }
  [[nodiscard]] std::uint32_t slot_of(const committed_task& t) const noexcept {
    return static_cast<std::uint32_t>(&t - tasks_.data());
  }
  [[nodiscard]] bool has_room(std::size_t tasks) const noexcept { return free_job_ != none && tasks <= free_tasks_; }
  [[nodiscard]] std::size_t job_count() const noexcept { return job_count_; }
  [[nodiscard]] std::size_t job_slots() const noexcept { return jobs_.size(); }
  [[nodiscard]] std::size_t task_slots() const noexcept { return tasks_.size(); }

  /// Where the first task of the next job goes; those after it follow by `next`.
  [[nodiscard]] std::uint32_t next_task() const noexcept { return free_task_; }

  /// Adds a job task by task; nothing is stored before `done`. \pre has_room(tasks to come); `at` is where the key
  /// would be
  class writer {
   public:
    /// \param commit  see `job::commit`
    writer(allocation_store& store, job_key key, const position& at, std::uint64_t commit) noexcept
        : store_{&store}, tasks_{store.tasks_.data()}, key_{key}, place_{at}, commit_{commit}, at_{store.free_task_} {}
    void append(device_mask devices, cpu_millis cpu, bytes memory, node_id node) noexcept;
    /// \param count  how many were appended
    /// \returns the job
    [[gnu::always_inline]] std::uint32_t done(std::size_t count) noexcept {
      const std::uint32_t j =
          store_->finish(key_, place_.slot, place_.tag, at_, last_, static_cast<std::uint32_t>(count));
      store_->jobs_[j].commit = commit_;
      return j;
    }

   private:
    allocation_store* store_;
    committed_task* tasks_;
    job_key key_;
    position place_;
    std::uint64_t commit_;
    std::uint32_t at_;
    committed_task* last_ = nullptr;
  };
  /// Notes the one filter of a job's tasks.
  void set_filter(std::uint32_t j, filter_id f) noexcept { jobs_[j].filter = f; }
  /// The same where they have several, task by task: `of(k)` is that of the k-th.
  template <class F>
  void set_filters(std::uint32_t j, F&& of) noexcept {
    jobs_[j].mixed = true;
    std::size_t k = 0;
    for (std::uint32_t t = jobs_[j].first; t != none; t = tasks_[t].next) filters_[t] = of(k++);
  }
  [[nodiscard]] filter_id filter_of(std::uint32_t j, std::uint32_t t) const noexcept {
    return jobs_[j].mixed ? filters_[t] : jobs_[j].filter;
  }
  /// Forgets a job and gives its tasks back to the pool.
  void close(std::uint32_t j) noexcept { close(j, jobs_[j].parked ? 0 : slot_of(j)); }
  /// The same for a job that was located and is not hidden.
  void close(const position& p) noexcept { close(p.job, p.slot); }
  /// Hides a job, keeping its tasks; `unpark` brings it back.
  void park(std::uint32_t j) noexcept;
  void unpark(std::uint32_t j) noexcept;

  [[nodiscard]] std::size_t memory() const noexcept;

 private:
  /// A place in the hash table: the job, and what spares looks at jobs and tasks that are long out of the caches. Two
  /// words, read as they were written or in halves, so that reading them soon after does not stall.
  struct slot {
    std::uint64_t low = none, high = 0;
    [[nodiscard]] std::uint32_t job() const noexcept { return static_cast<std::uint32_t>(low); }
    [[nodiscard]] std::uint32_t tag() const noexcept { return static_cast<std::uint32_t>(low >> 32); }
    [[nodiscard]] std::uint32_t first() const noexcept { return static_cast<std::uint32_t>(high); }
    [[nodiscard]] std::uint32_t node() const noexcept { return static_cast<std::uint32_t>(high >> 32); }
  };
  [[nodiscard]] slot slot_for(std::uint32_t j, std::uint32_t tag) const noexcept;
  /// Fibonacci hashing of four neighbouring keys to one cache line, as schedulers number jobs in sequence; inside the
  /// line they are permuted, so that keys which are multiples of four do not meet. The upper 30 bits say which line.
  [[nodiscard]] static std::uint32_t tag_of(job_key key) noexcept;
  /// Where the search for a tag begins.
  [[nodiscard]] std::size_t home(std::uint32_t tag) const noexcept {
    return std::size_t{tag} >> shift_ << 2 | (tag & 3);
  }
  std::uint32_t finish(job_key key, std::uint32_t at, std::uint32_t tag, std::uint32_t rest, committed_task* last,
                       std::uint32_t count) noexcept;
  void close(std::uint32_t j, std::size_t at) noexcept;
  void link(std::uint32_t j) noexcept;
  [[nodiscard]] std::size_t slot_of(std::uint32_t j) const noexcept;
  void unlink(std::size_t s) noexcept;

  flat_array<job> jobs_;
  flat_array<committed_task> tasks_;
  flat_array<filter_id> filters_;  ///< by task, of jobs where they differ
  flat_array<slot> slots_;         ///< a power of two of them, at most half in use
  unsigned shift_ = 30;
  std::uint32_t free_job_ = none;
  std::uint32_t free_task_ = none;
  std::size_t free_tasks_ = 0;
  std::size_t job_count_ = 0;
};

/// Calls `f(node, devices)` for every task of a job.
struct tasks_of_job {
  const allocation_store& store;
  std::uint32_t job;
  template <class F>
  void operator()(F&& f) const {
    for (std::uint32_t t = store.at(job).first; t != allocation_store::none; t = store.task(t).next)
      f(store.task(t).node, store.task(t).devices);
  }
};

}  // namespace detail
}  // namespace berth

#if BERTH_WITH_BODIES
#include "berth/cluster/impl/allocation_store.hpp"
#endif
