#pragma once
/// \file
/// What the containers of a pod ask for: CPUs, memory, GPUs, parts of GPUs under the names of several device plugins,
/// MIG profiles, and everything else by its name.
///
/// Sources: Kubernetes' rules for effective requests (a limit stands in for a request; init containers run before the
/// others, those that restart always stay); the device plugins of NVIDIA, AMD, Intel; HAMi (nvidia.com/gpumem,
/// gpucores), Volcano's vGPU, Koordinator's gpu-core and gpu-memory(-ratio), Aliyun's gpu-mem; KAI's and Run:ai's
/// gpu-fraction, gpu-memory; the annotations of the openb traces (alibabacloud.com/gpu-milli).

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <map>
#include <string>
#include <string_view>
#include <utility>

#include "berth/io/job/kubernetes/context.hpp"
#include "berth/io/kubernetes/labels.hpp"

namespace berth::kube_job {

/// Amounts by resource name: CPUs in thousandths, everything else in units.
using amounts = std::map<std::string, std::int64_t>;

inline constexpr std::int64_t max_amount = std::int64_t{1} << 60;

/// One amount. `3 * 16` is what some documents write for a product.
[[nodiscard]] inline std::int64_t amount_of(const context& c, const std::string& name, const json_value& v) {
  const bool scalar = v.type != json_value::kind::array && v.type != json_value::kind::object;
  const std::string word = scalar ? scalar_text(v) : std::string{};
  std::string_view text = word;
  std::int64_t times = 1;
  if (const std::size_t star = text.find('*'); star != std::string_view::npos) {
    const auto n = io_text::parse_count(io_text::trim(text.substr(star + 1)), max_tasks);
    if (n) {
      times = static_cast<std::int64_t>(*n);
      text = io_text::trim(text.substr(0, star));
    }
  }
  const auto q = parse_quantity(text);
  if (!q) c.fail(v, name + ": " + v.described(), quantity_form);
  const bool cpu = name == "cpu";
  const std::int64_t most = cpu ? io_text::max_cpus : name == "memory" ? io_text::max_memory : max_amount / 1000;
  if (q->whole > most || (times != 0 && q->whole > most / times))
    c.fail(v, name + ": " + v.described(), cpu ? "at most a million CPUs" : "at most " + std::to_string(most));
  if (cpu) return (q->whole * 1000 + q->thousandths) * times;
  if (q->thousandths != 0 && name.find('/') != std::string::npos)
    c.fail(v, name + ": " + v.described(), "a whole number");
  return (q->whole + (q->thousandths > 0 ? 1 : 0)) * times;
}

/// The effective amounts of one `resources` mapping.
[[nodiscard]] inline amounts amounts_of(const context& c, const json_value* resources) {
  amounts out;
  for (const char* part : {"limits", "requests"})  // requests, where given, replace limits
    if (const auto* all = c.object(resources, part))
      for (std::size_t i = 0; i < all->keys.size(); ++i) out[all->keys[i]] = amount_of(c, all->keys[i], all->items[i]);
  return out;
}

inline void add(const context& c, const json_value& at, amounts& to, const amounts& from) {
  for (const auto& [name, n] : from) {
    auto& have = to[name];
    if (have > max_amount - n) c.fail(at, "more " + name + " than any machine has", "smaller amounts");
    have += n;
  }
}

/// The effective amounts of a pod. \param spec may be null
[[nodiscard]] inline amounts amounts_of_pod(const context& c, const json_value* spec) {
  amounts total, staying, largest;
  if (const auto* list = c.array(spec, "containers"))
    for (const auto& k : list->items) add(c, k, total, amounts_of(c, c.object(&k, "resources")));
  if (const auto* list = c.array(spec, "initContainers"))
    for (const auto& k : list->items) {
      amounts now = amounts_of(c, c.object(&k, "resources"));
      const bool stays = c.text(&k, "restartPolicy") == "Always";
      if (stays) add(c, k, total, now);
      add(c, k, now, staying);
      for (const auto& [name, n] : now) largest[name] = std::max(largest[name], n);
      if (stays) staying = std::move(now);
    }
  for (const auto& [name, n] : largest) total[name] = std::max(total[name], n);
  // Amounts of the pod as a whole replace the sums (Kubernetes 1.34).
  for (const auto& [name, n] : amounts_of(c, c.object(spec, "resources"))) total[name] = n;
  if (const auto* over = c.object(spec, "overhead")) {
    amounts extra;
    for (std::size_t i = 0; i < over->keys.size(); ++i)
      extra[over->keys[i]] = amount_of(c, over->keys[i], over->items[i]);
    add(c, *over, total, extra);
  }
  return total;
}

[[nodiscard]] inline bool counts_gpus(std::string_view name) noexcept {
  for (const auto r : kube_labels::gpu_resources)
    if (r == name) return true;
  return false;
}

/// Takes the amount of that name out of `from`; 0 when absent.
[[nodiscard]] inline std::int64_t take(amounts& from, std::string_view name) {
  const auto at = from.find(std::string{name});
  if (at == from.end()) return 0;
  const std::int64_t n = at->second;
  from.erase(at);
  return n;
}

/// Puts the amounts of a pod into its group, parts of GPUs under whichever name they come.
inline void put_amounts(const context& c, const json_value& at, amounts a, group_spec& g) {
  g.cpu = cpu_millis{take(a, "cpu")};
  const std::int64_t memory = take(a, "memory");
  if (g.cpu.count() > io_text::max_cpus * 1000 || memory > io_text::max_memory)
    c.fail(at, "a pod with more CPUs or memory than any machine has", "at most a million CPUs and 4 PiB");
  g.memory = bytes{memory};
  std::int64_t gpus = 0;
  for (auto i = a.begin(); i != a.end();) {
    if (counts_gpus(i->first)) {
      gpus += i->second;
      i = a.erase(i);
    } else {
      ++i;
    }
  }
  constexpr std::int64_t mib = std::int64_t{1} << 20, gib = std::int64_t{1} << 30;
  // Percent of GPUs: 100 and its multiples are whole GPUs.
  std::int64_t percent = 0;
  for (const char* name :
       {"koordinator.sh/gpu", "koordinator.sh/gpu-core", "koordinator.sh/gpu-memory-ratio", "tencent.com/vcuda-core"})
    percent = std::max(percent, take(a, name));
  const std::int64_t portions = std::max(
      {take(a, "koordinator.sh/gpu.shared"), take(a, "volcano.sh/vgpu-number"), take(a, "volcano.sh/gpu-number")});
  if (percent != 0 && percent % 100 == 0 && portions == 0) {
    gpus += percent / 100;
    percent = 0;
  }
  // Memory of GPUs, and percent of their cores.
  std::int64_t memory_part = 0;
  for (const auto& [name, unit] : {std::pair{"nvidia.com/gpumem", mib}, std::pair{"volcano.sh/vgpu-memory", mib},
                                   std::pair{"volcano.sh/gpu-memory", mib}, std::pair{"aliyun.com/gpu-mem", gib},
                                   std::pair{"koordinator.sh/gpu-memory", std::int64_t{1}}}) {
    const std::int64_t n = take(a, name);
    if (n > io_text::max_memory / unit) c.fail(at, "more GPU memory than any machine has", "at most 4 PiB");
    memory_part = std::max(memory_part, n * unit);
  }
  // HAMi: percent of the cores and of the memory of each GPU, apart.
  const std::int64_t cores = std::max(take(a, "nvidia.com/gpucores"), take(a, "volcano.sh/vgpu-cores"));
  const std::int64_t part = take(a, "nvidia.com/gpumem-percentage");
  if (cores > 100 || part > 100)
    c.fail(at, "more than 100 percent of a GPU", "at most 100 percent of its cores and memory");
  if (part == 100 && memory_part == 0 && cores == 0) percent = std::max(percent, part);  // a GPU for itself
  if (cores != 0 || (part > 0 && part < 100)) {
    gpu_share_spec share;
    const std::int64_t on = std::max({portions, gpus, std::int64_t{1}});
    if (on > max_tasks) c.fail(at, std::to_string(on) + " GPUs", "at most " + std::to_string(max_tasks));
    share.portions = static_cast<std::uint32_t>(on);
    share.thousandths = static_cast<std::uint32_t>(cores * 10);
    share.memory = bytes{memory_part};
    if (memory_part == 0) share.memory_thousandths = static_cast<std::uint32_t>(part * 10);
    // HAMi gives all of the memory to who limits the cores alone.
    if (memory_part == 0 && part == 0) share.memory_thousandths = 1000;
    gpus = share.thousandths == 1000 && share.part_of_memory() == 1000 ? on : 0;
    if (gpus == 0) g.share = share;
  } else if (memory_part != 0 || (percent > 0 && percent < 100) || portions != 0) {
    gpu_share_spec share;
    std::int64_t on = std::max(portions, std::int64_t{1});
    if (portions == 0 && gpus != 0) on = std::exchange(gpus, 0);
    if (on > max_tasks) c.fail(at, std::to_string(on) + " GPUs", "at most " + std::to_string(max_tasks));
    share.portions = static_cast<std::uint32_t>(on);
    if (memory_part != 0) {
      share.memory = bytes{memory_part};
    } else {
      const std::int64_t each = percent == 0 ? 1 : percent * 10 / on;  // vgpu-number alone: the least share there is
      if (each > 999) gpus += on;
      else share.thousandths = static_cast<std::uint32_t>(std::max(each, std::int64_t{1}));
    }
    if (share.thousandths != 0 || share.memory.count() != 0) g.share = share;
  } else if (percent > 100) {
    g.other.push_back({"percent of GPUs", percent});
  }
  if (gpus > max_tasks) c.fail(at, std::to_string(gpus) + " GPUs", "at most " + std::to_string(max_tasks));
  g.gpus = static_cast<std::uint32_t>(gpus);
  for (const auto& [name, n] : a) {
    if (n == 0 || name == "hivedscheduler.microsoft.com/pod-scheduling-enable") continue;
    constexpr std::string_view mig = "nvidia.com/mig-";
    if (name.starts_with(mig)) g.mig.push_back({name.substr(mig.size()), n});
    else g.other.push_back({name, n});
  }
}

/// Parts of GPUs that annotations of the pod ask for.
inline void put_annotated_share(const context& c, const json_value* metadata, group_spec& g) {
  const auto* notes = c.object(metadata, "annotations");
  if (notes == nullptr) return;
  const auto portions = [&](const char* key) {
    const auto n = c.tasks(notes, key, 1);
    return n ? *n : 1U;
  };
  const json_value* at = nullptr;
  if ((at = notes->find("gpu-fraction")) != nullptr || (at = notes->find("kai.scheduler/gpu-fraction")) != nullptr) {
    const std::string word =
        c.text(notes, at == notes->find("gpu-fraction") ? "gpu-fraction" : "kai.scheduler/gpu-fraction");
    const auto q = parse_quantity(word);
    const std::int64_t t = q && q->whole <= 1 ? q->whole * 1000 + q->thousandths : 0;
    if (t < 1 || t > 1000) c.fail(*at, "gpu-fraction: " + io_text::quoted(word), "a share such as 0.5");
    const std::uint32_t n = portions("gpu-fraction-num-devices");
    if (t == 1000) g.gpus += n;
    else g.share = gpu_share_spec{n, static_cast<std::uint32_t>(t), {}};
  } else if ((at = notes->find("gpu-memory")) != nullptr) {  // in MiB, or with a unit
    const std::string word = c.text(notes, "gpu-memory");
    const auto plain = io_text::parse_count(word, static_cast<std::uint64_t>(io_text::max_memory) >> 20);
    const auto q = parse_quantity(word);
    const std::int64_t n = plain ? static_cast<std::int64_t>(*plain) << 20 : q ? q->whole : 0;
    if (n < 1 || n > io_text::max_memory) c.fail(*at, "gpu-memory: " + io_text::quoted(word), "MiB of GPU memory");
    g.share = gpu_share_spec{portions("gpu-fraction-num-devices"), 0, bytes{n}};
  } else if ((at = notes->find("alibabacloud.com/gpu-milli")) != nullptr) {
    const auto milli = c.integer(notes, "alibabacloud.com/gpu-milli", 0, 1000);
    const std::uint32_t n = c.tasks(notes, "alibabacloud.com/gpu-count").value_or(1);
    if (n != 0 && milli && *milli == 1000) g.gpus += n;
    else if (n != 0 && milli && *milli != 0) g.share = gpu_share_spec{n, static_cast<std::uint32_t>(*milli), {}};
  }
  constexpr std::string_view mig = "nvidia.com/mig-";
  for (std::size_t i = 0; i < notes->keys.size(); ++i) {
    const std::string& key = notes->keys[i];
    if (!key.starts_with(mig) || key.size() == mig.size() || !io_text::is_digit(key[mig.size()])) continue;
    const auto n = c.integer(notes, key, 1, 1000);
    bool known = !n.has_value();
    for (const auto& m : g.mig) known = known || m.name == key.substr(mig.size());
    if (!known) g.mig.push_back({key.substr(mig.size()), *n});
  }
  if (const std::string model = c.text(notes, "alibabacloud.com/gpu-card-model"); !model.empty()) {
    std::vector<std::string> choice;
    for (const auto& m : job_detail::parse_choice(model)) choice.push_back("alibabacloud.com/gpu-card-model=" + m);
    if (choice.size() == 1) g.labels.push_back(choice.front());
    else g.any_labels.push_back(std::move(choice));
  }
}

}  // namespace berth::kube_job
