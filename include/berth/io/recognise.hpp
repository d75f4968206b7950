#pragma once
/// \file
/// Which reader a file belongs to, by its content alone. One row per format; the first row whose test holds reads it.
/// Heavy: includes every reader, and with them nlohmann-json, pugixml and yaml-cpp.

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "berth/core/error.hpp"
#include "berth/core/expected.hpp"
#include "berth/io/fabric/adapter_lists.hpp"
#include "berth/io/fabric/iblinkinfo.hpp"
#include "berth/io/fabric/ibnetdiscover.hpp"
#include "berth/io/fabric/ibsim_net.hpp"
#include "berth/io/fabric/ibswinfo.hpp"
#include "berth/io/fabric/opensm_subnet.hpp"
#include "berth/io/inside/dcgm.hpp"
#include "berth/io/inside/hwloc_xml.hpp"
#include "berth/io/inside/lspci.hpp"
#include "berth/io/inside/nccl_xml.hpp"
#include "berth/io/inside/nvidia_smi_csv.hpp"
#include "berth/io/inside/nvidia_smi_list.hpp"
#include "berth/io/inside/nvidia_smi_q_xml.hpp"
#include "berth/io/inside/rocm_topo.hpp"
#include "berth/io/inside/topo_m.hpp"
#include "berth/io/job/flux_jobspec.hpp"
#include "berth/io/job/kubernetes_jobs.hpp"
#include "berth/io/job/sbatch.hpp"
#include "berth/io/job/tony.hpp"
#include "berth/io/job_json.hpp"
#include "berth/io/kubernetes/read.hpp"
#include "berth/io/merge/site_json.hpp"
#include "berth/io/other/flux_jgf.hpp"
#include "berth/io/other/hived.hpp"
#include "berth/io/other/ray_status.hpp"
#include "berth/io/other/yarn.hpp"
#include "berth/io/site_report.hpp"
#include "berth/io/slurm/report.hpp"
#include "berth/io/text.hpp"
#include "berth/io/topograph/model.hpp"
#include "berth/topology/catalogue/node_shapes.hpp"

namespace berth {

/// One kind of file.
struct input_format {
  std::string_view name;  ///< what messages call it
  bool (*looks_like)(std::string_view text);
  expected<site_report, input_error> (*read)(const named_text& file, const reader_options& options);
};

/// The format whose files of one site are read together: `read_slurm_report`.
inline constexpr std::string_view slurm_format = "Slurm";

namespace recognise_detail {

using result = expected<site_report, input_error>;

/// Makes a report of a reader of jobs.
template <auto Read>
[[nodiscard]] result jobs_of(const named_text& file, const reader_options& options) {
  auto jobs = Read(file, options);
  if (!jobs) return unexpected{std::move(jobs).error()};
  site_report out;
  out.source = file.name;
  out.jobs = std::move(*jobs);
  return out;
}

[[nodiscard]] inline bool starts_with_brace(std::string_view text) noexcept {
  const std::size_t first = text.find_first_not_of(" \t\r\n\xEF\xBB\xBF");
  return first != std::string_view::npos && text[first] == '{';
}
[[nodiscard]] inline bool looks_like_our_cluster(std::string_view text) {
  return starts_with_brace(text) && text.find("\"berth_cluster\"") != std::string_view::npos;
}
[[nodiscard]] inline result read_our_cluster(const named_text& file, const reader_options& options) {
  const auto s = read_site_json(file, catalogue_shape, options.max_machines, options.max_parts);
  if (!s) return unexpected{s.error()};
  return report_of_site(*s, file.name);
}
/// Our job file has task groups at its top and no kind.
[[nodiscard]] inline bool looks_like_our_job(std::string_view text) {
  return starts_with_brace(text) && text.find("\"groups\"") != std::string_view::npos &&
         text.find("\"kind\"") == std::string_view::npos && text.find("\"apiVersion\"") == std::string_view::npos;
}
[[nodiscard]] inline result read_our_job(const named_text& file, const reader_options&) {
  auto job = read_job_json(file);
  if (!job) return unexpected{std::move(job).error()};
  site_report out;
  out.source = file.name;
  out.jobs.push_back(std::move(*job));
  return out;
}

/// Queues and quota, which say nothing about machines: YuniKorn's queues.yaml, our queues, Slurm's associations.
[[nodiscard]] inline bool looks_like_queues(std::string_view text) {
  const std::string_view head = text.substr(0, std::size_t{1} << 16);
  const bool partitions = head.starts_with("partitions:") || head.find("\npartitions:") != std::string_view::npos;
  return (partitions && head.find("queues:") != std::string_view::npos) ||
         head.find("\"berth-queues") != std::string_view::npos ||
         (head.find("Share|") != std::string_view::npos && head.find("Cluster|") != std::string_view::npos);
}
[[nodiscard]] inline result refuse_queues(const named_text& file, const reader_options&) {
  return unexpected{input_error{file.name, 0, "queues and quota", "machines, switches or a job"}};
}

/// Jobs of OpenPAI, which are YAML without a kind.
[[nodiscard]] inline bool looks_like_pai_job(std::string_view text) {
  const std::string_view head = text.substr(0, std::size_t{1} << 16);
  return head.find("protocolVersion:") != std::string_view::npos && head.find("taskRoles:") != std::string_view::npos;
}

/// Kubernetes objects: machines, topologies and jobs of one file.
[[nodiscard]] inline result read_kubernetes_file(const named_text& file, const reader_options& options) {
  std::vector<kube_documents> beside;
  for (const auto& f : options.beside) {
    auto documents = read_kube_documents(f);
    if (!documents) return unexpected{std::move(documents).error()};
    beside.push_back(std::move(*documents));
  }
  std::vector<const kube_documents*> pointers;
  for (const auto& d : beside) pointers.push_back(&d);
  return read_kubernetes(file, options, [&](const kube_documents& d) { return kubernetes_jobs_of(d, pointers); });
}

inline constexpr input_format formats[] = {
    {"berth cluster", looks_like_our_cluster, read_our_cluster},
    {"berth job", looks_like_our_job, read_our_job},
    {"NCCL topology XML", looks_like_nccl_xml, read_nccl_xml},
    {"hwloc XML", looks_like_hwloc_xml, read_hwloc_xml},
    {"nvidia-smi -q -x", looks_like_nvidia_smi_q_xml, read_nvidia_smi_q_xml},
    {"TonY job", looks_like_tony, jobs_of<read_tony>},
    {"YARN", looks_like_yarn, read_yarn},
    {"ibnetdiscover", looks_like_ibnetdiscover, read_ibnetdiscover},
    {"iblinkinfo", looks_like_iblinkinfo, read_iblinkinfo},
    {"OpenSM subnet list", looks_like_opensm_subnet, read_opensm_subnet},
    {"ibsim net", looks_like_ibsim_net, read_ibsim_net},
    {"ibswinfo", looks_like_ibswinfo, read_ibswinfo},
    {"InfiniBand adapters", looks_like_adapter_list, read_adapter_list},
    {"rocm-smi --showtopo", looks_like_rocm_topo, read_rocm_topo},
    {"DCGM exporter", looks_like_dcgm, read_dcgm},
    {"nvidia-smi --query-gpu", looks_like_nvidia_smi_csv, read_nvidia_smi_csv},
    {"nvidia-smi -L", looks_like_nvidia_smi_list, read_nvidia_smi_list},
    {"nvidia-smi nvlink --status", looks_like_nvlink_status, read_nvlink_status},
    {"lspci", looks_like_lspci, read_lspci},
    {"Slurm batch script", looks_like_sbatch, jobs_of<read_sbatch>},
    {slurm_format, looks_like_slurm, read_slurm_text},
    {"nvidia-smi topo -m", looks_like_topo_m, read_topo_m},
    {"Flux resource graph", looks_like_flux_jgf, read_flux_jgf},
    {"Flux jobspec", looks_like_flux_jobspec, jobs_of<read_flux_jobspec>},
    {"ray status", looks_like_ray_status, read_ray_status},
    {"topograph", looks_like_topograph, read_topograph},
    {"OpenPAI job", looks_like_pai_job, jobs_of<read_kubernetes_jobs>},
    {"queues", looks_like_queues, refuse_queues},
    {"HiveD", looks_like_hived, read_hived},
    {"Kubernetes objects", looks_like_kubernetes, read_kubernetes_file},
};

}  // namespace recognise_detail

/// All formats, in the order in which they are tried.
[[nodiscard]] inline std::span<const input_format> input_formats() noexcept {
  return recognise_detail::formats;
}

/// The format of a text, or null. O(formats × length) at most; most tests look at the beginning alone.
[[nodiscard]] inline const input_format* recognise(std::string_view text) {
  for (const auto& f : input_formats())
    if (f.looks_like(text)) return &f;
  return nullptr;
}

}  // namespace berth
