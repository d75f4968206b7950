#pragma once
/// \file
/// Metrics of the DCGM exporter (Prometheus text): which GPUs a machine has, their MIG devices, and which pods hold
/// them. Plain text; needs Boost.Graph.

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "berth/io/inside/gpu_list.hpp"
#include "berth/io/inside/plain_lines.hpp"
#include "berth/io/prometheus.hpp"
#include "berth/io/site_report.hpp"

namespace berth {

/// True when the first 64 KiB have a metric DCGM_FI_… with a label gpu.
[[nodiscard]] inline bool looks_like_dcgm(std::string_view text) noexcept {
  text = text.substr(0, std::size_t{1} << 16);
  for (std::size_t at = text.find("DCGM_FI_"); at != std::string_view::npos; at = text.find("DCGM_FI_", at + 1)) {
    const std::string_view line = text.substr(at, std::min(text.find('\n', at), text.size()) - at);
    const std::size_t open = line.find('{');
    if (open != std::string_view::npos && line.substr(0, open).find(' ') == std::string_view::npos &&
        line.find("gpu=\"") != std::string_view::npos)
      return true;
  }
  return false;
}

/// Reads the metrics that the DCGM exporter serves: GPUs with models, UUIDs and bus ids by Hostname, MIG profiles as
/// labels, and pods with the whole GPUs they hold. Values of metrics are not read. Errors: a metric that is cut or
/// malformed, a GPU whose UUID or model changes, more than 64 GPUs in a machine. O(lines * GPUs).
[[nodiscard]] inline expected<site_report, input_error> read_dcgm(const named_text& in,
                                                                  const reader_options& options = {}) {
  const auto lines = inside_text::plain_lines(in.name, in.text, 1'000'000);
  if (!lines) return unexpected{lines.error()};
  site_report out;
  out.source = in.name;
  out.format = "DCGM exporter metrics";
  struct instance {
    std::uint32_t gpu = 0;
    std::string id;
  };
  struct pod {
    std::string name;
    std::vector<std::uint32_t> gpus;
    std::size_t line = 0;
  };
  struct host {
    std::string name, driver;
    std::size_t line = 0;
    std::vector<inside_text::gpu_row> rows;
    std::vector<instance> instances;
    std::vector<pod> pods;
  };
  std::vector<host> hosts;
  std::size_t on_mig = 0, first = lines->empty() ? 0 : 1;
  for (const auto& l : *lines) {
    const std::string_view line = io_text::trim(l.text);
    if (line.empty() || line[0] == '#') continue;
    const auto fail = [&](std::string found, std::string wanted) {
      return unexpected{input_error{in.name, l.number, std::move(found), std::move(wanted)}};
    };
    if (!line.starts_with("DCGM_") && !line.starts_with("dcgm_")) {
      const bool metric = line.find('{') != std::string_view::npos || line.find('}') != std::string_view::npos;
      if (metric && !hosts.empty() && line.find("gpu=") != std::string_view::npos)
        return fail(io_text::quoted(line), "a metric DCGM_FI_…{gpu=\"0\",…} value");
      continue;  // free text, other exporters
    }
    const auto metric = parse_prometheus(line);
    constexpr std::string_view begins_number = "0123456789-+NI";
    if (!metric || metric->rest.empty() || begins_number.find(metric->rest[0]) == std::string_view::npos)
      return fail(io_text::quoted(line), "a metric DCGM_FI_…{gpu=\"0\",…} value");
    const auto get = [&](std::string_view name) {
      const std::string_view v = metric->label(name);
      return v.size() <= 256 ? v : std::string_view{};
    };
    const std::string_view number = get("gpu");
    if (number.empty()) continue;  // of switches and CPUs
    const auto gpu = io_text::parse_count(number, 9999);
    if (!gpu) return fail("gpu " + io_text::quoted(number), "a number");
    inside_text::gpu_row r;
    r.number = static_cast<std::uint32_t>(*gpu);
    r.line = l.number;
    r.name = std::string{get("modelName")};
    r.uuid = inside_text::real_uuid(get("UUID"));
    if (const std::string_view bus = get("pci_bus_id"); !bus.empty()) {
      const auto id = inside_text::normal_bus_id(bus);
      if (!id) return fail("pci_bus_id " + io_text::quoted(bus), inside_text::bus_id_form);
      r.bus_id = *id;
    }
    const std::string machine{get("Hostname")};
    auto h = std::find_if(hosts.begin(), hosts.end(), [&](const host& o) { return o.name == machine; });
    if (h == hosts.end()) {
      if (hosts.size() >= std::min<std::size_t>(options.max_machines, 4096))
        return fail("one more host", "at most 4096");
      if (hosts.empty()) first = l.number;
      h = hosts.insert(hosts.end(), host{});
      h->name = machine;
      h->line = l.number;
      h->driver = std::string{get("DCGM_FI_DRIVER_VERSION")};
    }
    auto row = std::find_if(h->rows.begin(), h->rows.end(), [&](const auto& o) { return o.number == r.number; });
    if (row == h->rows.end()) {
      if (h->rows.size() >= max_devices_per_node) return fail("one more GPU", "at most 64 in a machine");
      row = h->rows.insert(h->rows.end(), r);
    } else if (row->uuid != r.uuid || row->name != r.name) {
      return fail(
          "GPU " + std::to_string(*gpu) + " with another UUID or model than in line " + std::to_string(row->line),
          "the same GPU under one number");
    }
    const std::string profile{get("GPU_I_PROFILE")}, id{get("GPU_I_ID")};
    if (!profile.empty()) {
      row->mig = true;
      const bool known = std::any_of(h->instances.begin(), h->instances.end(),
                                     [&](const instance& o) { return o.gpu == *r.number && o.id == id; });
      if (!known) {
        if (h->instances.size() >= 1024) return fail("one more MIG device", "at most 1024");
        h->instances.push_back({*r.number, id});
        row->profiles.push_back(profile);
      }
    }
    if (const std::string_view name = get("pod"); !name.empty()) {
      if (!profile.empty()) {
        ++on_mig;
        continue;
      }
      std::string full{get("namespace")};
      full += full.empty() ? "" : "/";
      full += name;
      auto p = std::find_if(h->pods.begin(), h->pods.end(), [&](const pod& o) { return o.name == full; });
      if (p == h->pods.end()) {
        if (h->pods.size() >= 1024) return fail("one more pod", "at most 1024");
        p = h->pods.insert(h->pods.end(), pod{full, {}, l.number});
      }
      if (std::find(p->gpus.begin(), p->gpus.end(), *r.number) == p->gpus.end()) p->gpus.push_back(*r.number);
    }
  }
  if (hosts.empty())
    return unexpected{
        input_error{in.name, first, "no metric of a GPU", "metrics such as DCGM_FI_DEV_GPU_UTIL{gpu=\"0\",…} 0"}};
  for (auto& h : hosts) {
    std::vector<std::uint32_t> numbers;
    for (const auto& r : h.rows) numbers.push_back(*r.number);
    std::sort(numbers.begin(), numbers.end());
    auto m = inside_text::machine_of(std::move(h.rows), {in.name, h.line}, options, out.assumptions);
    if (!m) return unexpected{std::move(m).error()};
    const bool exporter = h.name.find("dcgm-exporter") != std::string::npos;
    if (exporter && hosts.size() == 1)
      out.assumptions.push_back("the host name " + h.name + " is the exporter's own pod, not the machine");
    else if (!h.name.empty()) m->name = h.name;
    if (!h.driver.empty()) m->labels.push_back("driver=" + h.driver);
    for (const auto& p : h.pods) {
      holding_report held;
      held.place = {in.name, p.line};
      held.job = p.name;
      held.machine = m->name;
      held.gpus = static_cast<std::uint32_t>(p.gpus.size());
      device_mask mask = 0;
      for (const auto n : p.gpus)
        mask |= bit(static_cast<unsigned>(std::lower_bound(numbers.begin(), numbers.end(), n) - numbers.begin()));
      held.devices = mask;
      out.held.push_back(std::move(held));
    }
    out.machines.push_back(*std::move(m));
  }
  if (on_mig != 0) out.assumptions.push_back("pods on MIG devices are not noted as holders of GPUs");
  out.assumptions.push_back(inside_text::joined_unknown);
  return out;
}

}  // namespace berth
