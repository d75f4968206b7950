#pragma once
/// \file
/// Node shapes as JSON, for `cluster_json.hpp`: a catalogue id, or devices, models, pairwise bandwidth, NUMA nodes,
/// PCIe switches, NICs, CPUs and memory inline. Unknown rates are absent or null, never 0. Needs nlohmann-json.

#include <cstddef>
#include <cstdint>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "berth/core/error.hpp"
#include "berth/core/expected.hpp"
#include "berth/io/json_document.hpp"
#include "berth/io/same_hardware.hpp"
#include "berth/io/text.hpp"
#include "berth/topology/node_shape.hpp"

namespace berth {

/// Finds a catalogue shape by id.
using shape_lookup = std::optional<node_shape> (*)(std::string_view id);

namespace json_detail {

/// Fastest link that is believed, GB/s: a hundred times what a 2025 NVSwitch gives.
inline constexpr double max_rate = 1e6;

[[nodiscard]] inline nlohmann::ordered_json cpus_json(cpu_millis c) {
  if (c.count() % 1000 == 0) return c.count() / 1000;
  return static_cast<double>(c.count()) / 1000;
}

struct shape_reader {
  const json_value& v;
  const std::string& source;
  json_reader r{v, source};
  node_shape s{};

  using status = expected<void, input_error>;

  [[nodiscard]] unexpected<input_error> fail(const json_value& at, std::string found, std::string expected_text) const {
    return unexpected<input_error>{r.error(at, std::move(found), std::move(expected_text))};
  }
  status inside(const json_value& at, device_mask m) const {
    if ((m & ~s.all_devices()) == 0) return {};
    return fail(at, "devices " + io_text::device_list_text(m & ~s.all_devices()),
                "devices below " + std::to_string(s.devices));
  }
  /// A rate in GB/s; null is unknown.
  status rate(std::string_view key, const json_value& at, std::optional<gigabytes_per_second>& out) const {
    out.reset();
    if (at.type == json_value::kind::null) return {};
    const bool number = at.type == json_value::kind::integer || at.type == json_value::kind::real;
    if (!number || !(at.real > 0) || at.real > max_rate) return r.wrong(key, at, "GB/s above 0, or null for unknown");
    out = gigabytes_per_second{at.real};
    return {};
  }
  status models() {
    const auto* one = v.find("model");
    const auto* list = v.find("models");
    if (one != nullptr && list != nullptr) return fail(*list, "both \"model\" and \"models\"", "one of them");
    std::string model;
    if (auto ok = r.text("model", model); !ok) return ok;
    s.models.assign(s.devices, model);
    if (list == nullptr) return {};
    if (auto ok = r.texts("models", s.models); !ok) return ok;
    if (s.models.size() != s.devices)
      return fail(*list, io_text::counted(s.models.size(), "model"), "one per device, " + std::to_string(s.devices));
    return {};
  }
  status bandwidth() {
    s.bandwidth = bandwidth_table{s.devices};
    const auto* b = v.find("bandwidth");
    if (b == nullptr) return {};
    std::optional<gigabytes_per_second> x;
    if (b->type != json_value::kind::array) {
      if (auto ok = rate("bandwidth", *b, x); !ok) return ok;
      for (unsigned i = 0; i < s.devices; ++i)
        for (unsigned k = 0; k < i; ++k) s.bandwidth.set(i, k, x);
      return {};
    }
    const std::string form = "a square of " + std::to_string(s.devices) + " rows in GB/s, null for unknown";
    if (b->items.size() != s.devices) return r.wrong("bandwidth", *b, form);
    for (unsigned i = 0; i < s.devices; ++i) {
      const auto& row = b->items[i];
      if (row.type != json_value::kind::array || row.items.size() != s.devices) return r.wrong("bandwidth", row, form);
      for (unsigned k = 0; k < s.devices; ++k) {
        if (auto ok = rate("bandwidth", row.items[k], x); !ok) return ok;
        if (k < i) {
          const auto before = s.bandwidth.between(k, i);
          s.bandwidth.set(i, k, x);
          if (before != s.bandwidth.between(i, k))
            return fail(row.items[k],
                        "unlike rates from " + std::to_string(i) + " to " + std::to_string(k) + " and back",
                        "a symmetric table");
        } else {
          s.bandwidth.set(i, k, x);
        }
      }
    }
    return {};
  }
  status parts() {
    const auto numa = r.array("numa");
    if (!numa) return unexpected{numa.error()};
    if (*numa != nullptr)
      for (const auto& n : (*numa)->items) {
        numa_shape out;
        const json_reader nr{n, source};
        if (auto ok = nr.only({"devices", "cpus", "memory"}); !ok) return ok;
        if (auto ok = nr.devices("devices", out.devices); !ok) return ok;
        if (auto ok = inside(n, out.devices); !ok) return ok;
        if (auto ok = nr.cpus("cpus", out.cpu); !ok) return ok;
        if (auto ok = nr.memory("memory", out.memory); !ok) return ok;
        s.numa.push_back(out);
      }
    std::vector<std::string> switches;
    if (auto ok = r.texts("pcie_switches", switches); !ok) return ok;
    for (const auto& text : switches) {
      const auto m = text.empty() ? std::optional<device_mask>{0} : io_text::parse_device_list(text);
      const auto& at = *v.find("pcie_switches");
      if (!m) return fail(at, "pcie_switches: " + io_text::quoted(text), io_text::device_list_form);
      if (auto ok = inside(at, *m); !ok) return ok;
      s.pcie_switches.push_back(*m);
    }
    const auto nics = r.array("nics");
    if (!nics) return unexpected{nics.error()};
    if (*nics != nullptr)
      for (const auto& n : (*nics)->items) {
        nic_shape out;
        const json_reader nr{n, source};
        if (auto ok = nr.only({"devices", "gigabytes_per_second", "rail"}); !ok) return ok;
        if (auto ok = nr.devices("devices", out.devices); !ok) return ok;
        if (auto ok = inside(n, out.devices); !ok) return ok;
        if (const auto* speed = n.find("gigabytes_per_second"))
          if (auto ok = rate("gigabytes_per_second", *speed, out.rate); !ok) return ok;
        if (n.find("rail") != nullptr) {
          std::uint8_t rail = 0;
          if (auto ok = nr.integer("rail", rail, 0, 255); !ok) return ok;
          out.rail = rail;
        }
        s.nics.push_back(out);
      }
    return {};
  }
  expected<node_shape, input_error> read() {
    auto ok =
        r.only({"name", "devices", "model", "models", "bandwidth", "numa", "pcie_switches", "nics", "cpus", "memory"});
    if (ok && v.find("name") == nullptr) ok = fail(v, "a shape without \"name\"", "\"name\"");
    if (ok && v.find("devices") == nullptr) ok = fail(v, "a shape without \"devices\"", "\"devices\": number of GPUs");
    if (ok) ok = r.text("name", s.name);
    if (ok) ok = r.integer("devices", s.devices, 0, max_devices_per_node);
    if (ok) ok = models();
    if (ok) ok = bandwidth();
    if (ok) ok = parts();
    if (ok) ok = r.cpus("cpus", s.cpu);
    if (ok) ok = r.memory("memory", s.memory);
    if (!ok) return unexpected{std::move(ok).error()};
    return std::move(s);
  }
};

}  // namespace json_detail

/// Reads one element of a "shapes" array.
[[nodiscard]] inline expected<node_shape, input_error> read_shape_json(const json_value& v, const std::string& source,
                                                                       shape_lookup catalogue) {
  if (v.type == json_value::kind::string) {
    if (catalogue != nullptr)
      if (auto s = catalogue(v.text)) return std::move(*s);
    return unexpected{input_error{source, v.line, "shape " + io_text::quoted(v.text),
                                  catalogue != nullptr ? "the id of a catalogue shape, or a shape as an object"
                                                       : "a shape as an object (no catalogue is at hand)"}};
  }
  json_detail::shape_reader reader{v, source};
  return reader.read();
}

/// A shape as `read_shape_json` reads it back: its id where the catalogue has the very same, else an object.
[[nodiscard]] inline nlohmann::ordered_json shape_json(const node_shape& s, shape_lookup catalogue) {
  if (catalogue != nullptr)
    if (const auto known = catalogue(s.name); known && known->name == s.name && same_hardware(*known, s)) return s.name;
  nlohmann::ordered_json j;
  j["name"] = s.name;
  j["devices"] = s.devices;
  bool one_model = true, any_model = false;
  for (const auto& m : s.models) {
    one_model = one_model && m == s.models.front();
    any_model = any_model || !m.empty();
  }
  if (any_model && one_model) j["model"] = s.models.front();
  if (any_model && !one_model) j["models"] = s.models;
  bool known = false, uniform = true;
  for (unsigned a = 0; a < s.devices; ++a)
    for (unsigned b = 0; b < s.devices; ++b) {
      const auto rate = s.bandwidth.between(a, b);
      known = known || rate.has_value();
      uniform = uniform && (a == b ? !rate.has_value() : rate == s.bandwidth.between(0, 1));
    }
  if (known && uniform) {
    j["bandwidth"] = s.bandwidth.between(0, 1)->count();
  } else if (known) {
    auto table = nlohmann::ordered_json::array();
    for (unsigned a = 0; a < s.devices; ++a) {
      auto row = nlohmann::ordered_json::array();
      for (unsigned b = 0; b < s.devices; ++b) {
        const auto rate = s.bandwidth.between(a, b);
        row.push_back(rate ? nlohmann::ordered_json(rate->count()) : nlohmann::ordered_json(nullptr));
      }
      table.push_back(std::move(row));
    }
    j["bandwidth"] = std::move(table);
  }
  for (const auto& n : s.numa)
    j["numa"].push_back({{"devices", io_text::device_list_text(n.devices)},
                         {"cpus", json_detail::cpus_json(n.cpu)},
                         {"memory", io_text::memory_text(n.memory)}});
  for (const auto m : s.pcie_switches) j["pcie_switches"].push_back(io_text::device_list_text(m));
  for (const auto& n : s.nics) {
    nlohmann::ordered_json nic;
    nic["devices"] = io_text::device_list_text(n.devices);
    if (n.rate) nic["gigabytes_per_second"] = n.rate->count();
    if (n.rail) nic["rail"] = *n.rail;
    j["nics"].push_back(std::move(nic));
  }
  j["cpus"] = json_detail::cpus_json(s.cpu);
  j["memory"] = io_text::memory_text(s.memory);
  return j;
}

}  // namespace berth
