// What a file that was given as a job is instead.

#include <cstddef>
#include <string>
#include <string_view>

#include "berth/io/inside/nvidia_smi_mig.hpp"
#include "berth/io/job/kubernetes_jobs.hpp"
#include "berth/io/occupied.hpp"
#include "berth/io/quota/read_queues.hpp"
#include "berth/io/recognise.hpp"
#include "berth_place/site.hpp"

namespace berth_place {

std::optional<file_use> other_use(const berth::named_text& file, bool may_be_occupancy) {
  struct own_file {
    std::string_view mark;
    const char* what;
    const char* taker;
  };
  static constexpr own_file own[] = {
      {"\"berth-usage/", "what queues use (berth-usage)", "berth-quota --usage FILE"},
      {"\"berth-cases/", "scheduling questions (berth-cases)", "berth-case FILE"},
      {"\"berth_mig_gpus\"", "the state of MIG GPUs (berth_mig_gpus)", "berth-mig plan --state FILE"},
      {"\"berth_kind_rules\"", "rules for kinds of devices (berth_kind_rules)", "berth-mig advise --rules FILE"}};
  const std::string_view head = std::string_view{file.text}.substr(0, std::size_t{1} << 16);
  for (const auto& o : own)
    if (head.find(o.mark) != std::string_view::npos) return file_use{o.what, o.taker};
  if (berth::is_mig_instance_table(file.text))
    return file_use{"a list of GPU instances (nvidia-smi mig -lgi)", "--occupied FILE or berth-mig plan --state FILE"};
  const auto objects = berth::read_kube_documents(file);
  if (objects && berth::has_kubernetes_jobs(*objects)) return std::nullopt;
  const file_use queues{"queues and quota", "berth-quota FILE"};
  if (berth::recognise_detail::looks_like_queues(file.text)) return queues;
  if (berth::read_queues(file)) return queues;
  if (may_be_occupancy)
    if (const auto held = berth::read_occupancy(file); held && !held->lines.empty())
      return file_use{"who holds what on a cluster", "--occupied FILE"};
  return std::nullopt;
}

}  // namespace berth_place
