#pragma once
/// \file
/// YARN: the list of nodes that the ResourceManager's REST service gives as XML (`/ws/v1/cluster/nodes`), and the
/// amounts of a node manager's `yarn-site.xml`. Needs pugixml and Boost.Graph.
///
/// Other configuration (`capacity-scheduler.xml`, `resource-types.xml`, a TonY job) holds no machines and is refused
/// with the reason.

#include <cstddef>
#include <cstdint>
#include <optional>
#include <pugixml.hpp>
#include <string>
#include <string_view>
#include <tuple>
#include <unordered_map>
#include <utility>

#include "berth/core/bits.hpp"
#include "berth/core/error.hpp"
#include "berth/core/expected.hpp"
#include "berth/io/site_report.hpp"
#include "berth/io/text.hpp"
#include "berth/io/text_file.hpp"

namespace berth {

/// Cheap, from the first 64 KiB.
[[nodiscard]] inline bool looks_like_yarn(std::string_view text) noexcept {
  text = text.substr(0, std::size_t{64} << 10);
  const auto has = [&](std::string_view word) { return text.find(word) != std::string_view::npos; };
  return (has("<configuration") && (has("yarn.") || has("tony."))) || (has("<nodes>") && has("<nodeHostName>"));
}

/// Reads YARN's nodes, or the amounts of one node without a name.
[[nodiscard]] inline expected<site_report, input_error> read_yarn(const named_text& file,
                                                                  const reader_options& options = {}) {
  std::size_t counted = 0, counted_line = 1;  // nodes come in order: each byte is looked at about once
  const auto line_of = [&](std::ptrdiff_t offset) {
    const std::size_t to = offset < 0 ? 0 : static_cast<std::size_t>(offset);
    if (to < counted) counted = 0, counted_line = 1;
    for (; counted < to && counted < file.text.size(); ++counted) counted_line += file.text[counted] == '\n' ? 1U : 0U;
    return counted_line;
  };
  const auto fault = [&](std::ptrdiff_t offset, std::string found, std::string wanted) {
    return unexpected{input_error{file.name, line_of(offset), std::move(found), std::move(wanted)}};
  };
  if (io_text::trim(file.text).empty()) return unexpected{input_error{file.name, 0, "an empty file", "XML of YARN"}};
  if (const auto bad = io_text::find_bad_utf8(file.text))
    return fault(static_cast<std::ptrdiff_t>(*bad), "bytes that are no UTF-8", "XML text");
  pugi::xml_document doc;
  const auto parsed = doc.load_buffer(file.text.data(), file.text.size(), pugi::parse_default, pugi::encoding_utf8);
  if (!parsed) return fault(parsed.offset, std::string{"an XML error ("} + parsed.description() + ")", "XML");
  const pugi::xml_node root = doc.document_element();
  site_report out;
  out.source = file.name;
  out.format = "YARN";
  const std::string_view kind = root.name();
  if (kind == "nodes") {
    topology_report tree;
    std::unordered_map<std::string, std::uint32_t> rack_of;
    std::unordered_map<std::string, std::size_t> known;
    for (const pugi::xml_node n : root.children("node")) {
      if (out.machines.size() >= options.max_machines)
        return fault(n.offset_debug(), "more than " + std::to_string(options.max_machines) + " machines",
                     "a smaller file");
      const auto number = [&](const char* key) -> expected<std::optional<std::int64_t>, input_error> {
        const pugi::xml_node c = n.child(key);
        if (!c) return std::optional<std::int64_t>{};
        const auto v = io_text::parse_count(io_text::trim(c.text().get()), std::uint64_t{1} << 40);
        if (!v)
          return fault(c.offset_debug(), std::string{key} + ": " + io_text::quoted(c.text().get()), "a whole number");
        return std::optional<std::int64_t>{static_cast<std::int64_t>(*v)};
      };
      machine_report m;
      m.place = {file.name, line_of(n.offset_debug())};
      m.name = io_text::trim(n.child("nodeHostName").text().get());
      if (m.name.empty()) return fault(n.offset_debug(), "a node without nodeHostName", "its host name");
      if (!known.emplace(m.name, out.machines.size()).second)
        return fault(n.offset_debug(), "node " + io_text::quoted(m.name) + " twice", "each node once");
      const std::string_view state = io_text::trim(n.child("state").text().get());
      m.usable = state == "RUNNING";
      for (const auto& [used, free, memory] : {std::tuple{"usedMemoryMB", "availMemoryMB", true},
                                               std::tuple{"usedVirtualCores", "availableVirtualCores", false}}) {
        const auto u = number(used);
        if (!u) return unexpected{u.error()};
        const auto f = number(free);
        if (!f) return unexpected{f.error()};
        if (!*u && !*f) continue;
        const std::int64_t sum = u->value_or(0) + f->value_or(0);
        if (memory ? sum > io_text::max_memory >> 20 : sum > io_text::max_cpus)
          return fault(n.offset_debug(), std::to_string(sum) + (memory ? " MB" : " cores"), "amounts of a machine");
        if (memory) m.memory = mebibytes(sum);
        else m.cpu = cpus(sum);
      }
      for (const pugi::xml_node info :
           n.child("totalResource").child("resourceInformations").children("resourceInformation")) {
        if (std::string_view{info.child("name").text().get()} != "yarn.io/gpu") continue;
        const auto g = io_text::parse_count(io_text::trim(info.child("value").text().get()), max_devices_per_node);
        if (!g)
          return fault(info.offset_debug(), "yarn.io/gpu: " + io_text::quoted(info.child("value").text().get()),
                       "at most " + std::to_string(max_devices_per_node) + " GPUs");
        m.gpus = static_cast<unsigned>(*g);
      }
      // `/dc1/rack7`: one domain a part.
      std::string_view rack = io_text::trim(n.child("rack").text().get());
      std::uint32_t at = domain_declaration::no_parent;
      std::string path;
      std::size_t depth = 0;
      while (!rack.empty() && rack.front() == '/') {
        rack.remove_prefix(1);
        const std::string_view word = rack.substr(0, rack.find('/'));
        rack.remove_prefix(word.size());
        if (word.empty()) continue;
        if (++depth > 12) return fault(n.offset_debug(), "a rack path of more than 12 parts", "/dc/rack");
        path += "/" + std::string{word};
        const auto [it, fresh] = rack_of.emplace(path, static_cast<std::uint32_t>(tree.domains.size()));
        if (fresh) {
          tree.domains.push_back({std::string{word}, at, {}});
          tree.domain_places.push_back(m.place);
        }
        at = it->second;
      }
      if (at != domain_declaration::no_parent) tree.members.push_back({m.name, at});
      out.machines.push_back(std::move(m));
    }
    if (out.machines.empty()) return fault(root.offset_debug(), "no nodes", "at least one <node>");
    if (!tree.members.empty()) {
      tree.place = tree.domain_places.front();
      out.topologies.push_back(std::move(tree));
    }
    return out;
  }
  constexpr const char* wanted =
      "the ResourceManager's list of nodes (curl -H 'Accept: application/xml' http://RM:8088/ws/v1/cluster/nodes)";
  if (kind != "configuration") return fault(root.offset_debug(), "the element " + io_text::quoted(kind), wanted);
  bool queues = false, types = false, tony = false;
  std::size_t properties = 0;
  machine_report m;
  m.place = {file.name, line_of(root.offset_debug())};
  for (const pugi::xml_node p : root.children("property")) {
    ++properties;
    const std::string_view name = io_text::trim(p.child("name").text().get()),
                           value = io_text::trim(p.child("value").text().get());
    queues = queues || name.starts_with("yarn.scheduler.");
    types = types || name.starts_with("yarn.resource-types") || name.starts_with("yarn.nodemanager.resource-plugins");
    tony = tony || name.starts_with("tony.");
    const bool memory = name == "yarn.nodemanager.resource.memory-mb",
               cores = name == "yarn.nodemanager.resource.cpu-vcores",
               gpus =
                   name == "yarn.nodemanager.resource-type.yarn.io/gpu" || name == "yarn.nodemanager.resource-type.gpu";
    if (!memory && !cores && !gpus) continue;
    if (value == "-1") continue;  // found by the node manager itself
    const auto n = io_text::parse_count(value, memory  ? static_cast<std::uint64_t>(io_text::max_memory >> 20)
                                               : cores ? static_cast<std::uint64_t>(io_text::max_cpus)
                                                       : max_devices_per_node);
    if (!n) return fault(p.offset_debug(), std::string{name} + ": " + io_text::quoted(value), "a whole number");
    if (memory) m.memory = mebibytes(static_cast<std::int64_t>(*n));
    else if (cores) m.cpu = cpus(static_cast<std::int64_t>(*n));
    else m.gpus = static_cast<unsigned>(*n);
  }
  if (m.memory || m.cpu || m.gpus) {
    m.name = options.machine;
    out.machines.push_back(std::move(m));
    return out;
  }
  if (tony) return fault(root.offset_debug(), "a TonY job, which asks for nodes and lists none", wanted);
  if (queues)
    return fault(root.offset_debug(), "queues of YARN's scheduler, which share out nodes and list none", wanted);
  if (types) return fault(root.offset_debug(), "kinds of resources and plug-ins of YARN, and no machines", wanted);
  return fault(root.offset_debug(),
               "a configuration of " + io_text::counted(properties, "property") + " without machines", wanted);
}

}  // namespace berth
