#include "berth_place/fill.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <memory>
#include <utility>

#include "berth/core/random.hpp"
#include "berth/io/text.hpp"
#include "berth/job/gang.hpp"
#include "berth_place/site.hpp"

namespace berth_place {

namespace {

struct standing {
  std::size_t job;
  std::uint64_t devices;
};

class filler {
 public:
  filler(berth::cluster& c, std::vector<std::string>& jobs, const options& o)
      : c_{c}, jobs_{jobs}, random_{o.seed}, place_{make_placer(o.policy, c, {4096, 4, o.search_steps})} {
    std::int64_t cpu = std::numeric_limits<std::int64_t>::max(), memory = cpu;
    for (const auto& n : c.nodes()) {
      const auto devices = static_cast<std::int64_t>(berth::count_bits(n.installed));
      if (devices == 0) continue;
      total_ += static_cast<std::uint64_t>(devices);
      largest_ = std::max(largest_, static_cast<std::uint32_t>(devices));
      cpu = std::min(cpu, n.cpu.count() / devices);
      memory = std::min(memory, n.memory.count() / devices);
    }
    // A device's share of its node: CPUs and memory then never run out before the devices do.
    cpu_per_device_ = std::min(cpu, berth::task_shape::amount_limit / 64 - 1);
    memory_per_device_ = std::min(memory, berth::task_shape::amount_limit / 64 - 1);
  }

  void run(std::uint64_t target, std::uint64_t peak) {
    for (int failures = 0; held_ < peak && failures < 100;) {
      if (!start(random_gang(peak - held_))) ++failures;
    }
    while (held_ > target && !standing_.empty()) {
      const std::size_t i = random_.below(standing_.size());
      static_cast<void>(c_.release(key_of(standing_[i].job)));
      held_ -= standing_[i].devices;
      standing_[i] = standing_.back();
      standing_.pop_back();
      ++released_;
    }
    while (held_ < target) {
      std::uint32_t devices = 1;
      while (devices * 2 <= largest_ && devices * 2 <= target - held_) devices *= 2;
      while (devices > 0 && !start(gang_of(1, devices))) devices /= 2;
      if (devices == 0) break;
    }
  }
  [[nodiscard]] std::string said(std::uint64_t seed) const {
    const std::uint64_t tenths = (held_ * 1000 + total_ / 2) / total_;
    return "Filled at random (seed " + std::to_string(seed) +
           "): " + berth::io_text::counted(standing_.size(), "standing gang") + " on " + std::to_string(held_) +
           " of " + std::to_string(total_) + " GPUs (" + std::to_string(tenths / 10) + "." +
           std::to_string(tenths % 10) + " %); " + std::to_string(started_) +
           (started_ == 1 ? " was placed" : " were placed") +
           (released_ == 0 ? "." : ", " + std::to_string(released_) + " of them released again.");
  }
  [[nodiscard]] std::uint64_t total() const { return total_; }

 private:
  [[nodiscard]] berth::gang gang_of(std::uint32_t tasks, std::uint32_t devices) const {
    berth::task_group t;
    t.shape.devices = devices;
    t.shape.cpu = berth::cpu_millis{cpu_per_device_ * devices};
    t.shape.memory = berth::bytes{memory_per_device_ * devices};
    t.wanted = t.minimum = tasks;
    berth::gang g;
    g.groups.push_back(std::move(t));
    return g;
  }
  // Half of the gangs ask for a part of one node, half for one or many whole nodes.
  [[nodiscard]] berth::gang random_gang(std::uint64_t most) {
    std::uint32_t devices = largest_, tasks = 1;
    if (largest_ > 1 && random_.below(2) == 0) {
      devices = 1;
      while (devices * 2 < largest_ && random_.below(2) == 0) devices *= 2;
    } else {
      for (std::uint32_t n = 0; n < 6 && random_.below(2) == 0; ++n) tasks *= 2;
    }
    while (std::uint64_t{tasks} * devices > most) tasks > 1 ? tasks /= 2 : devices = (devices + 1) / 2;
    return gang_of(tasks, devices);
  }
  bool start(const berth::gang& g) {
    const berth::decision d = place_->place(g);
    if (!d) return false;
    const std::size_t job = jobs_.size();
    if (!c_.commit(key_of(job), d.where)) return false;
    jobs_.push_back("standing-" + std::to_string(job + 1));
    const std::uint64_t devices = std::uint64_t{g.groups[0].wanted} * g.groups[0].shape.devices;
    standing_.push_back({job, devices});
    held_ += devices;
    ++started_;
    return true;
  }

  berth::cluster& c_;
  std::vector<std::string>& jobs_;
  berth::random_source random_;
  std::unique_ptr<any_placer> place_;
  std::vector<standing> standing_;
  std::uint64_t total_ = 0, held_ = 0, started_ = 0, released_ = 0;
  std::uint32_t largest_ = 1;
  std::int64_t cpu_per_device_ = 0, memory_per_device_ = 0;
};

}  // namespace

std::string fill_randomly(berth::cluster& c, std::vector<std::string>& jobs, const options& o) {
  filler f{c, jobs, o};
  const std::uint64_t target = (f.total() * o.fill.value_or(0) + 500) / 1000;
  f.run(target, std::min(f.total(), target + f.total() / 10));
  return f.said(o.seed);
}

}  // namespace berth_place
