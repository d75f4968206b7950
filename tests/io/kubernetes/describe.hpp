#pragma once
/// \file
/// A site report in a few lines, for tables of expected readings. What is not stated is left out.

#include <doctest/doctest.h>

#include <string>
#include <vector>

#include "berth/io/site_report.hpp"
#include "berth/io/text.hpp"
#include "io/broken_text.hpp"

namespace site_test {

inline std::string describe(const berth::machine_report& m) {
  std::string out = m.name.empty() ? "?" : m.name;
  if (m.gpus) out += " gpus=" + std::to_string(*m.gpus);
  if (!m.gpu_model.empty()) out += " model=" + m.gpu_model;
  if (!m.shape.empty()) out += " shape=" + m.shape;
  if (m.cpu) out += " cpus=" + berth::io_text::cpus_text(*m.cpu);
  if (m.memory) out += " memory=" + std::to_string(m.memory->count() >> 20) + "MiB";
  for (const auto& p : m.mig) out += " mig=" + p.name + ":" + std::to_string(p.count);
  if (m.usable) out += *m.usable ? " up" : " down";
  if (m.unhealthy != 0) out += " broken=" + berth::io_text::device_list_text(m.unhealthy);
  for (const auto& a : m.aliases) out += " aka=" + a;
  if (m.inside) {
    out += " inside";
    for (berth::part_id v = 0; v < boost::num_vertices(*m.inside); ++v)
      out += (v == 0 ? "=" : ",") + (*m.inside)[v].name;
  }
  if (m.split != 0) out += " split=" + berth::io_text::device_list_text(m.split);
  return out;
}
/// `outer>inner: machine machine`, one line for each domain that has members.
inline std::string describe(const berth::topology_report& t) {
  std::string out = "[" + t.name + (t.what == berth::topology_report::kind::nvlink ? " nvlink" : "") +
                    (t.preferred ? "]" : " other]");
  for (const auto& l : t.label_levels) out += " " + l;
  for (std::uint32_t d = 0; d < t.domains.size(); ++d) {
    std::string members;
    for (const auto& m : t.members)
      if (m.domain == d) members += " " + m.machine;
    std::string path = t.domains[d].name;
    std::size_t up = 0;
    for (auto p = t.domains[d].parent; p != berth::domain_declaration::no_parent && up < 20;
         p = t.domains[p].parent, ++up)
      path = t.domains[p].name + ">" + path;
    if (!members.empty()) out += "\n" + path + ":" + members;
  }
  return out;
}
/// Parts of GPUs: ` 0:1g.5gb@6 */500`.
inline std::string describe(const std::vector<berth::held_part>& parts) {
  std::string out;
  for (const auto& p : parts) {
    out += " " + berth::held_part_text(p);
    if (p.share && p.share->thousandths != 0) out += "/" + std::to_string(p.share->thousandths);
    if (p.share && p.share->memory.count() != 0) out += "/" + berth::io_text::memory_text(p.share->memory);
    if (p.share && p.share->memory_thousandths != 0) out += "/m" + std::to_string(p.share->memory_thousandths);
  }
  return out;
}
/// Machines, topologies and holdings.
inline std::string describe(const berth::site_report& r) {
  std::string out;
  for (const auto& m : r.machines) out += describe(m) + "\n";
  for (const auto& t : r.topologies) out += describe(t) + "\n";
  for (const auto& h : r.held)
    out += "held " + h.machine + " gpus=" + std::to_string(h.gpus) +
           (h.devices ? " devices=" + berth::io_text::device_list_text(*h.devices) : "") +
           (h.cpu.count() != 0 ? " cpus=" + berth::io_text::cpus_text(h.cpu) : "") + describe(h.parts) +
           (h.split ? " split" : "") + " by " + h.job + "\n";
  return out;
}
template <class T>
std::string failure(const berth::expected<T, berth::input_error>& e) {
  return e ? std::string{} : e.error().message();
}
inline bool says(const berth::site_report& r, std::string_view part) {
  for (const auto& s : r.assumptions)
    if (s.find(part) != std::string::npos) return true;
  return false;
}
/// What must hold in every report.
inline void check_sound(const berth::site_report& r) {
  for (const auto& t : r.topologies) {
    CHECK(t.domain_places.size() == t.domains.size());
    for (const auto& d : t.domains)
      CHECK((d.parent == berth::domain_declaration::no_parent || d.parent < t.domains.size()));
    for (const auto& m : t.members) CHECK(m.domain < t.domains.size());
    for (const auto& x : t.rules) CHECK(x.domain < t.domains.size());
  }
  for (const auto& m : r.machines) {
    if (m.gpus) CHECK(*m.gpus <= berth::max_devices_per_node);
    if (!m.inside) continue;
    for (berth::part_id v = 0; v < boost::num_vertices(*m.inside); ++v)
      CHECK(((*m.inside)[v].kind == berth::vertex_kind::gpu) == (v < m.gpus.value_or(0)));
  }
}

}  // namespace site_test
