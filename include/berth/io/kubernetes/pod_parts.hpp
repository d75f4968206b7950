#pragma once
/// \file
/// Parts of GPUs that running pods hold: MIG instances (`nvidia.com/mig-1g.10gb`), replicas of time-sliced GPUs
/// (`nvidia.com/gpu.shared`), HAMi's memory and cores of each GPU (`nvidia.com/gpumem`, `gpumem-percentage`,
/// `gpucores`), and the annotations of KAI and Run:ai (`gpu-fraction`, `gpu-memory`, `runai-mig-device`, which alone
/// says GPU and position) and of the openb traces. Needs nlohmann-json.

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "berth/core/error.hpp"
#include "berth/core/expected.hpp"
#include "berth/io/held_part.hpp"
#include "berth/io/json_document.hpp"
#include "berth/io/kubernetes/documents.hpp"
#include "berth/io/kubernetes/labels.hpp"
#include "berth/io/kubernetes/nodes.hpp"
#include "berth/io/kubernetes/values.hpp"
#include "berth/io/text.hpp"

namespace berth::kube_detail {

/// The least share there is: of a time-sliced GPU nobody says how much a pod uses.
inline constexpr gpu_share_spec least_share{1, 1, {}, 1};

/// What the containers of a pod ask of GPUs in parts.
struct pod_parts {
  std::vector<held_part> list;
  std::int64_t mib = 0, memory_percent = 0, cores_percent = 0;  ///< HAMi's, of each GPU

  void add(std::int64_t n, const held_part& p) { list.insert(list.end(), static_cast<std::size_t>(n), p); }
  /// Turns HAMi's amounts into shares of `gpus` GPUs. \returns the GPUs that are whole
  [[nodiscard]] std::int64_t add_shares(std::int64_t gpus) {
    if (mib == 0 && memory_percent == 0 && cores_percent == 0) return gpus;
    const bool all_memory = mib == 0 && (memory_percent == 0 || memory_percent == 100);
    if (all_memory && (cores_percent == 100 || cores_percent == 0)) return gpus;
    held_part p;
    p.share = gpu_share_spec{1, static_cast<std::uint32_t>(cores_percent * 10), mebibytes(mib),
                             static_cast<std::uint32_t>(mib != 0     ? 0
                                                        : all_memory ? 1000
                                                                     : memory_percent * 10)};
    add(std::max<std::int64_t>(gpus, 1), p);
    return 0;
  }
};

/// Takes a resource that is a part of a GPU. \param again  the limits were read before: requests count in their place
/// \returns whether it is one
[[nodiscard]] inline expected<bool, input_error> take_part(pod_parts& out, std::string_view key, const json_value& v,
                                                           const kube_reader& in, bool again) {
  const std::string_view profile = kube_labels::mig_of_resource(key);
  const bool replica = key == "nvidia.com/gpu.shared";
  if (!profile.empty() || replica) {
    const auto n = in.count(v, key, max_devices_per_node * 8);
    if (!n) return unexpected{n.error()};
    held_part p;
    p.profile = std::string{profile};
    if (replica || key.ends_with(".shared")) p.share = least_share;
    if (again) out.list.erase(std::remove(out.list.begin(), out.list.end(), p), out.list.end());
    out.add(*n, p);
    return true;
  }
  for (const auto& [name, to, most] :
       {std::tuple{std::string_view{"nvidia.com/gpumem"}, &out.mib, std::int64_t{1} << 30},
        std::tuple{std::string_view{"nvidia.com/gpumem-percentage"}, &out.memory_percent, std::int64_t{100}},
        std::tuple{std::string_view{"nvidia.com/gpucores"}, &out.cores_percent, std::int64_t{100}}})
    if (key == name) {
      const auto n = in.count(v, key, most);
      if (!n) return unexpected{n.error()};
      *to = *n;
      return true;
    }
  return false;
}

/// Parts by annotation. \param no_gpus  the pod asks for no whole GPU
[[nodiscard]] inline expected<void, input_error> read_annotated_parts(const kube_object& o, const reading& r,
                                                                      bool no_gpus, std::vector<held_part>& out) {
  const json_value* const notes = o.metadata("annotations");
  if (notes == nullptr || notes->type != json_value::kind::object) return {};
  const auto text = [&](std::string_view key) {
    const json_value* const v = notes->find(key);
    return v == nullptr ? std::string{} : scalar_text(*v);
  };
  const auto wrong = [&](std::string_view key, const char* wanted) {
    return r.in.error(*notes->find(key), std::string{key} + ": " + io_text::quoted(text(key).substr(0, 80)), wanted);
  };
  // Run:ai: {"name":"nvidia.com/mig-1g.5gb","position":6,"gpuindex":0,…}
  if (notes->find("runai-mig-device") != nullptr) {
    const auto device = parse_json(text("runai-mig-device"), "runai-mig-device");
    if (!device || device->type != json_value::kind::object)
      return wrong("runai-mig-device", "an object with name, gpuindex and position");
    const auto number = [&](const char* key) -> std::optional<unsigned> {
      const json_value* const at = device->find(key);
      if (at == nullptr || at->type != json_value::kind::integer || at->integer < 0 || at->integer > 255)
        return std::nullopt;
      return static_cast<unsigned>(at->integer);
    };
    const auto gpu = number("gpuindex"), start = number("position");
    const json_value* const name = device->find("name");
    const std::string_view profile =
        kube_labels::mig_of_resource(name != nullptr ? std::string_view{name->text} : std::string_view{});
    if (profile.empty() || !gpu || *gpu >= max_devices_per_node || !start)
      return wrong("runai-mig-device", "an object with name, gpuindex and position");
    held_part p;
    p.profile = std::string{profile};
    p.device = gpu;
    p.start = start;
    out.push_back(std::move(p));
    return {};
  }
  constexpr std::string_view mig = "nvidia.com/mig-";
  const bool stated = !out.empty();
  for (std::size_t i = 0; i < notes->keys.size() && !stated; ++i) {
    const std::string& key = notes->keys[i];
    if (!key.starts_with(mig) || key.size() == mig.size() || !io_text::is_digit(key[mig.size()])) continue;
    const auto n = io_text::parse_count(scalar_text(notes->items[i]), 512);
    if (!n) continue;  // such as nvidia.com/mig-1g.5gb.count, which is no request
    held_part p;
    p.profile = key.substr(mig.size());
    out.insert(out.end(), *n, p);
  }
  if (!no_gpus || !out.empty()) return {};
  std::uint64_t devices = 1;
  if (const std::string n = text("gpu-fraction-num-devices"); !n.empty()) {
    const auto many = io_text::parse_count(n, max_devices_per_node);
    if (!many || *many == 0) return wrong("gpu-fraction-num-devices", "1 to 64 GPUs");
    devices = *many;
  }
  held_part p;
  for (const std::string_view key : {"gpu-fraction", "kai.scheduler/gpu-fraction"})
    if (notes->find(key) != nullptr) {
      const auto t = io_text::parse_thousandths(text(key), 1000);
      if (!t || *t < 1 || *t > 1000) return wrong(key, "a share such as 0.5");
      p.share = gpu_share_spec{1, static_cast<std::uint32_t>(*t), {}};
    }
  if (!p.share && notes->find("gpu-memory") != nullptr) {  // MiB, or with a unit
    const auto plain = io_text::parse_count(text("gpu-memory"), std::uint64_t{1} << 30);
    const auto with_unit = io_text::parse_memory(text("gpu-memory"));
    if (plain ? *plain == 0 : !with_unit || with_unit->count() == 0) return wrong("gpu-memory", "MiB of GPU memory");
    p.share = gpu_share_spec{1, 0, plain ? mebibytes(static_cast<std::int64_t>(*plain)) : *with_unit};
  }
  if (!p.share && notes->find("alibabacloud.com/gpu-milli") != nullptr) {
    const auto t = io_text::parse_count(text("alibabacloud.com/gpu-milli"), 1000);
    if (!t) return wrong("alibabacloud.com/gpu-milli", "0 to 1000 thousandths");
    if (*t != 0) p.share = gpu_share_spec{1, static_cast<std::uint32_t>(*t), {}};
    if (const std::string n = text("alibabacloud.com/gpu-count"); !n.empty()) {
      const auto many = io_text::parse_count(n, max_devices_per_node);
      if (!many) return wrong("alibabacloud.com/gpu-count", "at most 64 GPUs");
      devices = *many;
    }
  }
  if (p.share) out.insert(out.end(), devices, p);
  return {};
}

}  // namespace berth::kube_detail
