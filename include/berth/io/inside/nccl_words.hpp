#pragma once
/// \file
/// The elements and attributes of NCCL's and RCCL's topology files. Needs pugixml.
/// Source: src/graph/xml.cc and topo.cc of NCCL 2.2x and RCCL.

#include <optional>
#include <string_view>

#include "berth/io/inside/xml_text.hpp"

namespace berth::inside_text {

/// What of an element of such a file, of the elements right below it and of its attributes is close to a name that
/// NCCL or RCCL writes, but none: a mistake. Elements that these do not write themselves are not looked at.
[[nodiscard]] inline std::optional<input_error> nccl_mistake(const xml_text& xml, pugi::xml_node v) {
  struct element {
    std::string_view name, below, attributes;
  };
  static constexpr element known[] = {
      {"system", "cpu", "version"},
      {"cpu", "pci nic", "numaid affinity arch vendor familyid modelid host_hash"},
      {"pci", "pci gpu nic pcilink",
       "busid class vendor device subsystem_vendor subsystem_device link_speed link_width"},
      {"nic", "net", ""},
      {"net", "", "name dev speed latency port guid maxconn gdr coll keep gin rma rail plane"},
      {"gpu", "nvlink xgmi c2c", "dev sm rank gdr mlopart gcn arch"},
      {"nvlink", "", "target count tclass"},
      {"xgmi", "", "target count tclass"},
      {"c2c", "", "bw count"}};
  for (const auto& k : known)
    if (k.name == v.name()) return misspelt(xml, v, k.below, k.attributes);
  return std::nullopt;
}

}  // namespace berth::inside_text
