#pragma once
/// \file
/// What the OS devices of a PCI device tell in hwloc's XML: GPU drivers know models, UUIDs and an order of their own,
/// network drivers names and GUIDs. Needs pugixml.
/// Source: hwloc 1.11 to 3.0, the documentation of I/O devices and of their infos.

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "berth/io/inside/bus_id.hpp"
#include "berth/io/inside/xml_text.hpp"
#include "berth/io/text.hpp"

namespace berth::inside_text {

/// The value of an <info> of an object; "" when it has none of that name.
[[nodiscard]] inline std::string_view hwloc_info(pugi::xml_node v, std::string_view name) {
  for (const auto i : v.children("info"))
    if (attribute(i, "name") == name) return attribute(i, "value");
  return {};
}

/// What OS devices tell of one PCI device together.
struct hwloc_os_facts {
  bool compute = false;                 ///< a GPU driver knows it
  std::string model, uuid;              ///< of a GPU
  std::optional<std::uint32_t> number;  ///< of a GPU, in its driver's order
  std::string nic;                      ///< name of a NIC: of the fabric's device where there is one
  std::optional<std::uint64_t> guid;    ///< of a NIC
};

/// Sets `bad` where a GUID is none. O(OS devices).
[[nodiscard]] inline hwloc_os_facts hwloc_os_devices(const xml_text& xml, pugi::xml_node v,
                                                     std::optional<input_error>& bad) {
  hwloc_os_facts out;
  int trusted = 0;      // rank of the driver that gave the model
  bool fabric = false;  // the NIC's name is of its device on the fabric
  for (const auto c : v.children("object")) {
    if (attribute(c, "type") != std::string_view{"OSDev"}) continue;
    const std::string_view name = attribute(c, "name"), backend = hwloc_info(c, "Backend");
    const int rank = backend == "NVML" || backend == "RSMI" || backend == "LevelZero" ? 3
                     : backend == "CUDA"                                              ? 2
                     : backend == "OpenCL"                                            ? 1
                                                                                      : 0;
    if (rank != 0 && (backend != "OpenCL" || hwloc_info(c, "OpenCLDeviceType") == std::string_view{"GPU"})) {
      out.compute = true;
      if (const auto model = hwloc_info(c, "GPUModel"); !model.empty() && rank > trusted && model.size() < 256) {
        out.model = model;
        trusted = rank;
      }
      for (const char* key : {"NVIDIAUUID", "AMDUUID", "LevelZeroUUID"})
        if (const auto uuid = hwloc_info(c, key); !uuid.empty() && uuid.size() < 256) out.uuid = uuid;
      if (rank == 3) {
        const std::size_t digits = name.find_first_of("0123456789");
        if (digits != std::string_view::npos)
          if (const auto n = io_text::parse_count(name.substr(digits), 9999))
            out.number = static_cast<std::uint32_t>(*n);
      }
      continue;
    }
    const std::string_view guid = hwloc_info(c, "NodeGUID");
    if (!guid.empty()) {
      std::string hex;
      for (const char ch : guid)
        if (ch != ':') hex += ch;
      const auto value = parse_hex(hex);
      if (!value && !bad)
        bad = xml.place(c).error("NodeGUID " + io_text::quoted(guid), "a GUID such as b8e9:2403:00ba:a4c8");
      else if (!value) continue;
      else if (*value != 0 && !out.guid) out.guid = value;
    }
    if ((!guid.empty() && !fabric) || (out.nic.empty() && name.size() < 256)) out.nic = name;
    fabric = fabric || !guid.empty();
  }
  return out;
}

}  // namespace berth::inside_text
