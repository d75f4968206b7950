#pragma once
/// \file
/// Bodies of `berth/cluster/allocation_store.hpp`.

#include <bit>

#include "berth/cluster/allocation_store.hpp"

namespace berth::detail {

BERTH_INLINE void allocation_store::reserve(std::size_t jobs, std::size_t tasks) {
  jobs_.reserve(jobs);
  tasks_.reserve(tasks);
  if (filters_.size() < tasks) filters_.resize(tasks);
  while (jobs_.size() < jobs) {
    jobs_.push({job_key{}, none, free_job_});
    free_job_ = static_cast<std::uint32_t>(jobs_.size() - 1);
  }
  // Chained upwards, so that the tasks of a job follow each other in memory as long as jobs are alike.
  const auto made = static_cast<std::uint32_t>(tasks_.size());
  while (tasks_.size() < tasks) {
    const auto next = static_cast<std::uint32_t>(tasks_.size() + 1);
    tasks_.push({0, {}, {}, {}, next < tasks ? next : free_task_});
    ++free_tasks_;
  }
  if (tasks_.size() != made) free_task_ = made;
  std::size_t slots = 16;
  while (slots < jobs_.size() * 2) slots *= 2;
  if (slots > slots_.size()) {
    slots_.assign(slots, {});
    shift_ = 34 - static_cast<unsigned>(std::countr_zero(slots));
    for (std::uint32_t j = 0; j < jobs_.size(); ++j)
      if (jobs_[j].first != none && !jobs_[j].parked) link(j);
  }
}

BERTH_INLINE void allocation_store::writer::append(device_mask devices, cpu_millis cpu, bytes memory,
                                                   node_id node) noexcept {
  // The pool's free tasks are chained already; a job is the front part of that chain.
  committed_task& t = tasks_[at_];
  t.devices = devices;
  t.cpu = cpu;
  t.memory = memory;
  t.node = node;
  last_ = &t;
  at_ = t.next;
}

BERTH_INLINE void allocation_store::park(std::uint32_t j) noexcept {
  unlink(slot_of(j));
  --job_count_;
  jobs_[j].parked = true;
}

BERTH_INLINE void allocation_store::unpark(std::uint32_t j) noexcept {
  jobs_[j].parked = false;
  link(j);
  ++job_count_;
}

BERTH_INLINE std::size_t allocation_store::memory() const noexcept {
  return jobs_.size() * sizeof(job) + tasks_.size() * (sizeof(committed_task) + sizeof(filter_id)) +
         slots_.size() * sizeof(slot);
}

BERTH_INLINE allocation_store::slot allocation_store::slot_for(std::uint32_t j, std::uint32_t tag) const noexcept {
  const std::uint32_t first = jobs_[j].first;
  return {std::uint64_t{tag} << 32 | j, std::uint64_t{tasks_[first].node.raw()} << 32 | first};
}

BERTH_INLINE std::uint32_t allocation_store::tag_of(job_key key) noexcept {
  const auto x = static_cast<std::uint64_t>(key);
  const std::uint64_t block = x >> 2;
  const std::uint64_t h = (block ^ (block >> 32)) * 0x9e3779b97f4a7c15U;
  return static_cast<std::uint32_t>(h >> 34) << 2 | static_cast<std::uint32_t>((x ^ (h >> 8)) & 3);
}

BERTH_INLINE std::uint32_t allocation_store::finish(job_key key, std::uint32_t at, std::uint32_t tag,
                                                    std::uint32_t rest, committed_task* last,
                                                    std::uint32_t count) noexcept {
  const std::uint32_t j = free_job_;
  free_job_ = jobs_[j].last;
  jobs_[j] = {key, count != 0 ? free_task_ : none, count != 0 ? slot_of(*last) : none, count};
  if (count != 0) last->next = none;
  slots_[at] = {std::uint64_t{tag} << 32 | j,
                count != 0 ? std::uint64_t{tasks_[free_task_].node.raw()} << 32 | free_task_ : std::uint64_t{none}};
  free_task_ = rest;
  free_tasks_ -= count;
  ++job_count_;
  return j;
}

BERTH_INLINE void allocation_store::close(std::uint32_t j, std::size_t at) noexcept {
  job& done = jobs_[j];
  if (!done.parked) unlink(at), --job_count_;
  // In front of the pool, so that the next job takes what is still in the cache.
  if (done.first != none) {
    tasks_[done.last].next = free_task_;
    free_task_ = done.first;
    free_tasks_ += done.tasks;
  }
  done = {job_key{}, none, free_job_};
  free_job_ = j;
}

BERTH_INLINE void allocation_store::link(std::uint32_t j) noexcept {
  const std::uint32_t tag = tag_of(jobs_[j].key);
  std::size_t s = home(tag);
  while (slots_[s].job() != none) s = (s + 1) & (slots_.size() - 1);
  slots_[s] = slot_for(j, tag);
}

BERTH_INLINE std::size_t allocation_store::slot_of(std::uint32_t j) const noexcept {
  std::size_t s = home(tag_of(jobs_[j].key));
  while (slots_[s].job() != j) s = (s + 1) & (slots_.size() - 1);
  return s;
}

BERTH_INLINE void allocation_store::unlink(std::size_t s) noexcept {
  // Backward-shift deletion keeps probe sequences whole without tombstones.
  for (std::size_t n = (s + 1) & (slots_.size() - 1); slots_[n].job() != none; n = (n + 1) & (slots_.size() - 1))
    if (((n - home(slots_[n].tag())) & (slots_.size() - 1)) >= ((n - s) & (slots_.size() - 1))) {
      slots_[s] = slots_[n];
      s = n;
    }
  slots_[s] = {};
}

}  // namespace berth::detail
