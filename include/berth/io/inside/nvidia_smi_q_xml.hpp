#pragma once
/// \file
/// `nvidia-smi -q -x`: the GPUs of a machine with models, UUIDs, bus ids, memory, MIG mode and state. Needs pugixml.

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "berth/io/inside/gpu_list.hpp"
#include "berth/io/inside/xml_text.hpp"
#include "berth/io/site_report.hpp"

namespace berth {

/// True when a text is XML with <nvidia_smi_log>. Looks at the first 16 KiB.
[[nodiscard]] inline bool looks_like_nvidia_smi_q_xml(std::string_view text) noexcept {
  return text.substr(0, std::size_t{1} << 14).find("<nvidia_smi_log") != std::string_view::npos;
}

/// Reads `nvidia-smi -q -x`. GPUs are numbered in the order of the document, which is nvidia-smi's. A GPU that is lost
/// or whose recovery action asks for a reset or reboot is unhealthy. Errors: no such XML, a bus id that is none, a GPU
/// twice, more than 64. O(length).
[[nodiscard]] inline expected<site_report, input_error> read_nvidia_smi_q_xml(const named_text& in,
                                                                              const reader_options& options = {}) {
  const auto xml = inside_text::xml_text::parse(in, std::min<std::size_t>(options.max_parts, 4'000'000));
  if (!xml) return unexpected{xml.error()};
  const pugi::xml_node log = xml->document().child("nvidia_smi_log");
  if (!log) {
    const auto root = xml->document().document_element();
    return unexpected{xml->place(root).error(root ? "<" + std::string{root.name()} + ">" : "no element",
                                             "<nvidia_smi_log> of nvidia-smi -q -x")};
  }
  site_report out;
  out.source = in.name;
  out.format = "nvidia-smi -q -x";
  std::vector<inside_text::gpu_row> rows;
  const auto text = [](pugi::xml_node v) { return io_text::trim(std::string_view{v.text().get()}); };
  for (const auto v : log.children("gpu")) {
    if (rows.size() >= max_devices_per_node) return unexpected{xml->place(v).error("more GPUs", "at most 64")};
    inside_text::gpu_row r;
    r.line = xml->line(v);
    r.number = static_cast<std::uint32_t>(rows.size());
    std::string_view bus = text(v.child("pci").child("pci_bus_id"));
    if (inside_text::is_nothing(bus)) bus = inside_text::attribute(v, "id");
    if (!bus.empty()) {
      const auto id = inside_text::normal_bus_id(bus);
      if (!id) return unexpected{xml->place(v).error("bus id " + io_text::quoted(bus), inside_text::bus_id_form)};
      r.bus_id = *id;
    }
    const std::string_view name = text(v.child("product_name"));
    r.broken = name == "GPU is lost" || name == "Unknown Error" || name == "ERR!";
    if (!r.broken && !inside_text::is_nothing(name) && name.size() < 256) r.name = std::string{name};
    const std::string_view action = text(v.child("gpu_recovery_action"));
    r.broken = r.broken || action == "Reset" || action == "Reboot" || action == "Drain and Reset";
    r.uuid = inside_text::real_uuid(text(v.child("uuid")));
    r.memory_mib = inside_text::mebibytes_of(text(v.child("fb_memory_usage").child("total")));
    const std::string_view mig = text(v.child("mig_mode").child("current_mig"));
    if (mig == "Enabled") r.mig = true;
    else if (mig == "Disabled") r.mig = false;
    const pugi::xml_node fabric = v.child("fabric");
    const std::string_view cluster =
        text(fabric.child("clusterUuid").empty() ? fabric.child("cluster_uuid") : fabric.child("clusterUuid"));
    const std::string_view clique =
        text(fabric.child("cliqueId").empty() ? fabric.child("clique_id") : fabric.child("cliqueId"));
    if (!inside_text::is_nothing(cluster) && io_text::parse_count(clique) && cluster.size() < 128 &&
        cluster.find_first_not_of("0-") != std::string_view::npos)
      r.clique = std::string{cluster} + "." + std::string{clique};
    rows.push_back(std::move(r));
  }
  if (rows.empty()) return unexpected{xml->place(log).error("no <gpu>", "at least one")};
  if (const auto attached = io_text::parse_count(text(log.child("attached_gpus")), 1000);
      attached && *attached != rows.size())
    out.assumptions.push_back("the file lists " + io_text::counted(rows.size(), "GPU") + " of " +
                              std::to_string(*attached) + " attached ones");
  auto m = inside_text::machine_of(std::move(rows), xml->place(log), options, out.assumptions);
  if (!m) return unexpected{std::move(m).error()};
  if (const std::string_view driver = text(log.child("driver_version"));
      !inside_text::is_nothing(driver) && driver.size() < 64)
    m->labels.push_back("driver=" + std::string{driver});
  if (const std::string_view host = text(log.child("hostname"));
      m->name.empty() && !inside_text::is_nothing(host) && host.size() < 256)
    m->name = std::string{host};
  out.assumptions.push_back(inside_text::joined_unknown);
  out.machines.push_back(*std::move(m));
  return out;
}

}  // namespace berth
