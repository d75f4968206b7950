#pragma once
/// \file
/// DRA's `ResourceSlice` (resource.k8s.io, v1alpha3 to v1) and bare lists of its devices: GPUs, MIG slices, NICs.
/// Needs nlohmann-json and yaml-cpp (through `io/kubernetes/values.hpp`) and Boost.Graph.
///
/// A GPU that two drivers or two kinds list (whole and as VFIO function) is one, by its UUID. MIG slices count at the
/// machine, and the GPU that they are cut from (`parentUUID`) is held. IMEX channels and daemons are no devices.

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "berth/core/error.hpp"
#include "berth/core/expected.hpp"
#include "berth/io/json_document.hpp"
#include "berth/io/kubernetes/devices.hpp"
#include "berth/io/kubernetes/documents.hpp"
#include "berth/io/kubernetes/inside_parts.hpp"
#include "berth/io/kubernetes/nodes.hpp"
#include "berth/io/kubernetes/values.hpp"

namespace berth::kube_detail {

/// The slices of a file, by node; machines are made at the end, when all drivers have spoken.
class slice_collection {
 public:
  explicit slice_collection(reading& r) : r_{r} {}

  /// True for a bare device: `name` with `attributes` (or `basic`).
  [[nodiscard]] static bool is_bare_device(const json_value& v) noexcept {
    return v.find("name") != nullptr && v.find("kind") == nullptr &&
           (v.find("attributes") != nullptr || v.find("basic") != nullptr);
  }
  [[nodiscard]] expected<void, input_error> add_bare(const json_value& device) {
    return add_device(device, machine_at(r_.options.machine, device));
  }
  [[nodiscard]] expected<void, input_error> add(const kube_object& o) {
    const auto spec = r_.in.member(*o.value, "spec", json_value::kind::object);
    if (!spec) return unexpected{spec.error()};
    const auto driver = r_.in.text(**spec, "driver");
    if (!driver) return unexpected{driver.error()};
    const auto node = r_.in.optional_text(**spec, "nodeName");
    if (!node) return unexpected{node.error()};
    const auto pool = r_.in.optional_member(**spec, "pool", json_value::kind::object);
    if (!pool) return unexpected{pool.error()};
    std::string pool_name;
    std::int64_t generation = 0;
    if (*pool != nullptr) {
      const auto name = r_.in.optional_text(**pool, "name");
      if (!name) return unexpected{name.error()};
      pool_name = name->value_or("");
      const auto g = r_.in.optional_integer(**pool, "generation", 0, std::int64_t{1} << 60);
      if (!g) return unexpected{g.error()};
      generation = g->value_or(0);
    }
    const auto devices = r_.in.optional_member(**spec, "devices", json_value::kind::array);
    if (!devices) return unexpected{devices.error()};
    if (*devices == nullptr || (*devices)->items.empty()) return {};
    if (!*node || (*node)->empty()) {
      r_.assume("ResourceSlices without nodeName (devices outside of machines) are not kept.");
      return {};
    }
    // Only the newest generation of a pool counts.
    auto [it, fresh] = generation_.emplace(std::pair{*driver, pool_name}, generation);
    if (!fresh && generation < it->second) return {};
    machine& m = machine_at(**node, *o.value);
    if (!fresh && generation > it->second) {
      it->second = generation;
      for (auto& [name, other] : machines_) other.forget(*driver, pool_name);
    }
    m.begin(*driver, pool_name);
    for (const auto& d : (*devices)->items)
      if (auto ok = add_device(d, m); !ok) return ok;
    return {};
  }
  /// Fills the machines' reports.
  [[nodiscard]] expected<void, input_error> finish() {
    for (auto& [name, m] : machines_) {
      std::vector<listed_device> devices;
      std::map<std::string, std::size_t> known;  // by UUID, else bus id
      std::map<std::string, std::int64_t> profiles;
      std::map<std::string, bool> split;  // UUIDs of GPUs with slices
      for (const auto& e : m.entries) {
        if (!e.profile.empty()) {
          ++profiles[e.profile];
          if (!e.parent.empty()) split[e.parent] = true;
          continue;
        }
        const std::string& key = e.device.uuid.empty() ? e.device.bus_id : e.device.uuid;
        if (!key.empty())
          if (const auto [it, fresh] = known.emplace(key, devices.size()); !fresh) {
            listed_device& have = devices[it->second];
            if (have.bus_id.empty()) have.bus_id = e.device.bus_id;
            if (have.root.empty()) have.root = e.device.root;
            if (!have.numa) have.numa = e.device.numa;
            if (!have.index) have.index = e.device.index;
            continue;
          }
        devices.push_back(e.device);
      }
      // A GPU of which only slices are listed.
      for (const auto& e : m.entries)
        if (!e.profile.empty() && !e.parent.empty() && !known.contains(e.parent)) {
          listed_device whole = e.device;
          whole.uuid = e.parent;
          known.emplace(e.parent, devices.size());
          devices.push_back(std::move(whole));
        }
      const auto added = name.empty() ? nameless(*m.at) : machine_of(name, *m.at, r_);
      if (!added) return unexpected{added.error()};
      machine_report& out = **added;
      if (devices.empty() && profiles.empty()) continue;  // channels alone say nothing about hardware
      if (auto ok = set_inside(out, std::move(devices), *m.at, r_.in); !ok) return ok;
      out.mig.clear();
      for (const auto& [profile, n] : profiles) out.mig.push_back({profile, n});
      for (part_id v = 0; v < boost::num_vertices(*out.inside); ++v)
        if ((*out.inside)[v].kind == vertex_kind::gpu && split.contains((*out.inside)[v].uuid))
          out.split |= bit(static_cast<unsigned>(v));
    }
    return {};
  }

 private:
  struct entry {
    listed_device device;
    std::string profile, parent;  // of a MIG slice
    std::size_t source = 0;       // index into `machine::sources`
  };
  struct machine {
    const json_value* at = nullptr;
    std::vector<std::pair<std::string, std::string>> sources;  // driver, pool
    std::vector<entry> entries;
    std::size_t current = 0;
    void begin(const std::string& driver, const std::string& pool) {
      for (current = 0; current < sources.size(); ++current)
        if (sources[current].first == driver && sources[current].second == pool) return;
      sources.emplace_back(driver, pool);
    }
    void forget(const std::string& driver, const std::string& pool) {
      std::vector<entry> rest;
      for (auto& e : entries)
        if (e.source >= sources.size() || sources[e.source].first != driver || sources[e.source].second != pool)
          rest.push_back(std::move(e));
      entries = std::move(rest);
    }
  };

  machine& machine_at(const std::string& name, const json_value& at) {
    machine& m = machines_[name];
    if (m.at == nullptr) m.at = &at;
    return m;
  }
  [[nodiscard]] expected<machine_report*, input_error> nameless(const json_value& at) {
    auto& m = r_.out.machines.emplace_back();
    m.place = r_.in.place(at);
    return &m;
  }
  /// `{string: x}`, `{int: 1}`, `{bool: true}`, `{version: 1.2.3}`, and the older `StringValue`.
  [[nodiscard]] expected<std::string, input_error> attribute_text(const json_value& v, const std::string& key) const {
    if (v.type != json_value::kind::object)
      return r_.in.error(v, key + ": " + v.described(), "a typed value such as {string: gpu}");
    if (v.items.size() != 1 || v.items[0].type == json_value::kind::object ||
        v.items[0].type == json_value::kind::array)
      return r_.in.error(v, key + ": a value of " + std::to_string(v.items.size()) + " parts",
                         "one of string, int, bool, version");
    return scalar_text(v.items[0]);
  }
  [[nodiscard]] expected<void, input_error> add_device(const json_value& d, machine& m) {
    if (m.entries.size() >= 4096) return r_.in.error(d, "more than 4096 devices of one node", "a machine");
    const auto name = r_.in.text(d, "name");
    if (!name) return unexpected{name.error()};
    const auto basic = r_.in.optional_member(d, "basic", json_value::kind::object);
    if (!basic) return unexpected{basic.error()};
    const json_value& body = *basic != nullptr ? **basic : d;
    const auto attributes = r_.in.optional_member(body, "attributes", json_value::kind::object);
    if (!attributes) return unexpected{attributes.error()};
    entry e;
    e.source = m.current;
    std::string type, product;
    bool nic = false;
    if (*attributes != nullptr)
      for (std::size_t i = 0; i < (*attributes)->keys.size(); ++i) {
        const std::string& full = (*attributes)->keys[i];
        const std::size_t slash = full.rfind('/');
        const std::string_view key = std::string_view{full}.substr(slash == std::string::npos ? 0 : slash + 1);
        const json_value& value = (*attributes)->items[i];
        const auto text = attribute_text(value, full);
        if (!text) return unexpected{text.error()};
        const auto number = [&]() -> expected<std::int64_t, input_error> {
          const bool minus = text->starts_with('-');
          const auto n = io_text::parse_count(std::string_view{*text}.substr(minus ? 1 : 0), 65535);
          if (!n) return r_.in.error(value, full + ": " + io_text::quoted(*text), "a small whole number");
          return minus ? -static_cast<std::int64_t>(*n) : static_cast<std::int64_t>(*n);
        };
        if (key == "type") type = *text;
        else if (key == "uuid") e.device.uuid = *text;
        else if (key == "parentUUID") e.parent = *text;
        else if (key == "profile") e.profile = *text;
        else if (key == "productName") product = *text;
        else if (key == "pcieRoot") e.device.root = *text;
        else if (key == "rdma" || key == "ifName" || key == "rdmaDevice") {
          nic = true;
          if (key != "rdma") e.device.name = *text;
        } else if (key == "pciBusID" || key == "pcieBusID" || key == "pciAddress" || key == "busID") {
          auto bus = bus_id_of(*text, value, r_.in);
          if (!bus) return unexpected{bus.error()};
          e.device.bus_id = std::move(*bus);
        } else if (key == "numa" || key == "numaNode") {
          const auto n = number();
          if (!n) return unexpected{n.error()};
          e.device.numa = *n;
        } else if (key == "index" || key == "minor") {
          const auto n = number();
          if (!n) return unexpected{n.error()};
          if (!e.device.index || key == "index") e.device.index = *n;
        }
      }
    const auto capacity = r_.in.optional_member(body, "capacity", json_value::kind::object);
    if (!capacity) return unexpected{capacity.error()};
    if (*capacity != nullptr)
      for (std::size_t i = 0; i < (*capacity)->keys.size(); ++i) {
        const json_value& c = (*capacity)->items[i];
        const json_value* amount = c.type == json_value::kind::object ? c.find("value") : &c;
        if (amount == nullptr) return r_.in.missing(c, "value", quantity_form);
        if (const auto q = r_.in.quantity(*amount, (*capacity)->keys[i]); !q) return unexpected{q.error()};
      }
    if (type == "mig" && e.profile.empty()) return r_.in.missing(d, "profile", "the MIG profile of a slice");
    if (type != "mig") e.profile.clear();
    const bool gpu =
        type == "gpu" || type == "vfio" || type == "mig" || type == "vgpu" ||
        (type.empty() && !nic && (e.device.uuid.starts_with("GPU-") || product.find("Instinct") != std::string::npos));
    if (type == "amdgpu" || type == "amdgpu-partition") return add_entry(std::move(e), product, m);
    if (gpu) return add_entry(std::move(e), product, m);
    if (nic) {
      e.device.kind = vertex_kind::nic;
      if (e.device.name.empty()) e.device.name = *name;
      m.entries.push_back(std::move(e));
      return {};
    }
    r_.assume(type == "channel" || type == "daemon"
                  ? "IMEX channels and daemons of ResourceSlices say which nodes can join an NVLink domain, not which "
                    "do; labels say that."
                  : "Devices of ResourceSlices that are neither GPUs nor NICs are not kept.");
    return {};
  }
  [[nodiscard]] static expected<void, input_error> add_entry(entry e, const std::string& product, machine& m) {
    e.device.kind = vertex_kind::gpu;
    if (!product.empty()) e.device.model = kube_labels::gpu_model(product);
    m.entries.push_back(std::move(e));
    return {};
  }

  reading& r_;
  std::map<std::string, machine> machines_;
  std::map<std::pair<std::string, std::string>, std::int64_t> generation_;
};

}  // namespace berth::kube_detail
