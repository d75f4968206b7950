#pragma once
/// \file
/// The machine that the program runs on, through libhwloc. Needs libhwloc and pugixml.

#include <hwloc.h>

#include <memory>
#include <string>

#include "berth/io/inside/hwloc_xml.hpp"

namespace berth {

/// This machine: loads hwloc's topology with PCI and OS devices and reads hwloc's own XML export of it. Which GPUs are
/// seen, and whether NVLinks are, depends on hwloc's plugins. `options.machine` names it where hwloc knows no host
/// name. Errors: hwloc cannot look at this machine, in words with the source "hwloc".
[[nodiscard]] inline expected<site_report, input_error> read_live_machine(const reader_options& options = {}) {
  const auto fail = [](std::string what) {
    return unexpected{input_error{"hwloc", 0, std::move(what), "a topology of this machine"}};
  };
  hwloc_topology_t raw = nullptr;
  if (hwloc_topology_init(&raw) != 0) return fail("no memory for a topology");
  const auto destroy = [](hwloc_topology_t t) { hwloc_topology_destroy(t); };
  const std::unique_ptr<hwloc_topology, decltype(destroy)> topology{raw, destroy};
  if (hwloc_topology_set_io_types_filter(raw, HWLOC_TYPE_FILTER_KEEP_IMPORTANT) != 0 || hwloc_topology_load(raw) != 0)
    return fail("no topology");
  char* buffer = nullptr;
  int length = 0;
  if (hwloc_topology_export_xmlbuffer(raw, &buffer, &length, 0) != 0 || buffer == nullptr) return fail("no XML export");
  named_text xml{"hwloc", std::string{buffer}};
  hwloc_free_xmlbuffer(raw, buffer);
  auto r = read_hwloc_xml(xml, options);
  if (r) r->format += ", live";
  return r;
}

}  // namespace berth
