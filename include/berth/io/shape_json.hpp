#pragma once
/// \file
/// Node shapes as JSON, for `cluster_json.hpp`: a catalogue id, or devices, models, pairwise bandwidth, NUMA nodes,
/// PCIe switches, NICs, links to the host, CPUs and memory inline. Unknown rates are absent or null, never 0. Needs
/// nlohmann-json.

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
  /// A symmetric square of rates, or where `one` one number for all pairs.
  status table(std::string_view key, unsigned size, bool one, bandwidth_table& out) {
    const auto* b = v.find(key);
    if (b == nullptr) return {};
    out = bandwidth_table{size};
    std::optional<gigabytes_per_second> x;
    if (one && b->type != json_value::kind::array) {
      if (auto ok = rate(key, *b, x); !ok) return ok;
      for (unsigned i = 0; i < size; ++i)
        for (unsigned k = 0; k < i; ++k) out.set(i, k, x);
      return {};
    }
    const std::string form = "a square of " + std::to_string(size) + " rows in GB/s, null for unknown";
    if (b->type != json_value::kind::array || b->items.size() != size) return r.wrong(key, *b, form);
    for (unsigned i = 0; i < size; ++i) {
      const auto& row = b->items[i];
      if (row.type != json_value::kind::array || row.items.size() != size) return r.wrong(key, row, form);
      for (unsigned k = 0; k < size; ++k) {
        if (auto ok = rate(key, row.items[k], x); !ok) return ok;
        if (k < i) {
          const auto before = out.between(k, i);
          out.set(i, k, x);
          if (before != out.between(i, k))
            return fail(row.items[k],
                        "unlike rates from " + std::to_string(i) + " to " + std::to_string(k) + " and back",
                        "a symmetric table");
        } else {
          out.set(i, k, x);
        }
      }
    }
    return {};
  }
  /// The order of pairs of unknown rate: a symmetric square of numbers above -1, null where there is none.
  status order() {
    const auto* o = v.find("bandwidth_order");
    if (o == nullptr) return {};
    const std::string form = "a symmetric square of " + std::to_string(s.devices) +
                             " rows of numbers above -1, null for pairs of known rate or without order";
    const auto number = [&](std::size_t i, std::size_t k) -> std::optional<double> {
      const auto& x = o->items[i].items[k];
      if (x.type == json_value::kind::null) return std::nullopt;
      if (x.type != json_value::kind::integer && x.type != json_value::kind::real) return -1.0;
      return x.real;
    };
    bool square = o->type == json_value::kind::array && o->items.size() == s.devices;
    for (unsigned i = 0; square && i < s.devices; ++i)
      square = o->items[i].type == json_value::kind::array && o->items[i].items.size() == s.devices;
    if (!square) return r.wrong("bandwidth_order", *o, form);
    for (unsigned i = 0; i < s.devices; ++i)
      for (unsigned k = 0; k <= i; ++k) {
        const auto x = number(i, k);
        if (x != number(k, i) || (x && (i == k || !(*x > -1) || *x > max_rate)))
          return r.wrong("bandwidth_order", o->items[i].items[k], form);
        if (x && s.bandwidth.between(i, k))
          return fail(o->items[i].items[k],
                      "an order for devices " + std::to_string(k) + " and " + std::to_string(i) + " of known rate",
                      "one of the two");
        if (x) s.bandwidth.set_unknown(i, k, static_cast<float>(*x));
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
        if (auto ok = nr.only("devices cpus memory"); !ok) return ok;
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
        if (auto ok = nr.only("devices gigabytes_per_second rail"); !ok) return ok;
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
    const auto numas = r.array("numa");
    if (*numas != nullptr && (*numas)->items.size() > 1024)
      return fail(**numas, std::to_string((*numas)->items.size()) + " NUMA nodes", "at most 1024");
    const auto host = r.array("host_links");
    if (!host) return unexpected{host.error()};
    if (*host != nullptr)
      for (const auto& n : (*host)->items) {
        host_link out;
        const json_reader nr{n, source};
        if (auto ok = nr.only("devices gigabytes_per_second"); !ok) return ok;
        if (auto ok = nr.devices("devices", out.devices); !ok) return ok;
        if (auto ok = inside(n, out.devices); !ok) return ok;
        if (const auto* speed = n.find("gigabytes_per_second")) {
          const bool none = speed->type == json_value::kind::integer && speed->integer == 0;  // all lanes broken
          if (none) out.rate = gigabytes_per_second{0};
          else if (auto ok = rate("gigabytes_per_second", *speed, out.rate); !ok) return ok;
        }
        s.host_links.push_back(out);
      }
    return {};
  }
  expected<node_shape, input_error> read() {
    auto ok = r.only(
        "name devices model models bandwidth bandwidth_order numa pcie_switches nics host_links numa_bandwidth cpus "
        "memory");
    if (ok && v.find("name") == nullptr) ok = fail(v, "a shape without \"name\"", "\"name\"");
    if (ok && v.find("devices") == nullptr) ok = fail(v, "a shape without \"devices\"", "\"devices\": number of GPUs");
    if (ok) ok = r.text("name", s.name);
    if (ok) ok = r.integer("devices", s.devices, 0, max_devices_per_node);
    if (ok) ok = models();
    if (ok) {
      s.bandwidth = bandwidth_table{s.devices};
      ok = table("bandwidth", s.devices, true, s.bandwidth);
    }
    if (ok) ok = order();
    if (ok) ok = parts();
    if (ok) ok = table("numa_bandwidth", static_cast<unsigned>(s.numa.size()), false, s.numa_bandwidth);
    if (ok) ok = r.cpus("cpus", s.cpu);
    if (ok) ok = r.memory("memory", s.memory);
    if (!ok) return unexpected{std::move(ok).error()};
    return std::move(s);
  }
};

/// The rates as `shape_reader::table` reads them; null where nothing needs saying.
/// \param one  all pairs alike are one number, and a table without a known rate says nothing
[[nodiscard]] inline nlohmann::ordered_json table_json(const bandwidth_table& t, bool one) {
  bool known = false, uniform = one;
  for (unsigned a = 0; a < t.size(); ++a)
    for (unsigned b = 0; b < t.size(); ++b) {
      const auto rate = t.between(a, b);
      known = known || rate.has_value();
      uniform = uniform && (a == b ? !rate.has_value() : rate == t.between(0, 1));
    }
  if (!known && (one || t.size() == 0)) return nullptr;
  if (uniform) return t.between(0, 1)->count();
  auto table = nlohmann::ordered_json::array();
  for (unsigned a = 0; a < t.size(); ++a) {
    auto row = nlohmann::ordered_json::array();
    for (unsigned b = 0; b < t.size(); ++b) {
      const auto rate = t.between(a, b);
      row.push_back(rate ? nlohmann::ordered_json(rate->count()) : nlohmann::ordered_json(nullptr));
    }
    table.push_back(std::move(row));
  }
  return table;
}

/// The order of pairs of unknown rate as `shape_reader::order` reads it; null where no pair has one.
[[nodiscard]] inline nlohmann::ordered_json order_json(const bandwidth_table& t) {
  bool any = false;
  auto table = nlohmann::ordered_json::array();
  for (unsigned a = 0; a < t.size(); ++a) {
    auto row = nlohmann::ordered_json::array();
    for (unsigned b = 0; b < t.size(); ++b) {
      const auto order = t.order(a, b);
      any = any || order;
      row.push_back(order ? nlohmann::ordered_json(*order) : nlohmann::ordered_json(nullptr));
    }
    table.push_back(std::move(row));
  }
  if (!any) return nullptr;
  return table;
}

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
  if (auto table = json_detail::table_json(s.bandwidth, true); !table.is_null()) j["bandwidth"] = std::move(table);
  if (auto table = json_detail::order_json(s.bandwidth); !table.is_null()) j["bandwidth_order"] = std::move(table);
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
  for (const auto& l : s.host_links) {
    nlohmann::ordered_json host;
    host["devices"] = io_text::device_list_text(l.devices);
    if (l.rate && l.rate->count() == 0) host["gigabytes_per_second"] = 0;
    else if (l.rate) host["gigabytes_per_second"] = l.rate->count();
    j["host_links"].push_back(std::move(host));
  }
  if (auto table = json_detail::table_json(s.numa_bandwidth, false); !table.is_null())
    j["numa_bandwidth"] = std::move(table);
  j["cpus"] = json_detail::cpus_json(s.cpu);
  j["memory"] = io_text::memory_text(s.memory);
  return j;
}

}  // namespace berth
