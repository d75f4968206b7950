#pragma once
/// \file
/// From what drivers and the PCI bus call a GPU to its id in the catalogue. Standard library alone.

#include <cstdint>
#include <string>
#include <string_view>

#include "berth/io/text.hpp"
#include "berth/topology/catalogue/gpu_models.hpp"

namespace berth::inside_text {

/// A PCI device id of vendor 0x10de and the model that has it.
struct gpu_device {
  std::uint16_t device;
  std::string_view model;
};

/// Source: the table of supported GPUs of NVIDIA's open kernel modules (README.md) and pci.ids. The device id does not
/// tell GH200 and GB200 boards of other memory sizes apart.
inline constexpr gpu_device nvidia_devices[] = {
    {0x1db1, "v100-sxm2-16gb"},
    {0x1db5, "v100-sxm2-32gb"},
    {0x1db8, "v100-sxm3-32gb"},
    {0x1eb8, "t4"},
    {0x20b7, "a30-24gb"},
    {0x20f1, "a100-pcie-40gb"},
    {0x20b0, "a100-sxm4-40gb"},
    {0x20b5, "a100-pcie-80gb"},
    {0x20b2, "a100-sxm4-80gb"},
    {0x20f3, "a800-sxm4-80gb"},
    {0x27b8, "l4"},
    {0x26b9, "l40s"},
    {0x2330, "h100-sxm5-80gb"},
    {0x2331, "h100-pcie-80gb"},
    {0x2321, "h100-nvl-94gb"},
    {0x2324, "h800-sxm5-80gb"},
    {0x2342, "gh200-96gb"},
    {0x2348, "gh200-144gb"},
    {0x2335, "h200-sxm5-141gb"},
    {0x233b, "h200-nvl-141gb"},
    {0x2329, "h20-96gb"},
    {0x232c, "h20-141gb"},
    {0x2901, "b200-sxm-180gb"},
    {0x2941, "gb200-186gb"},
    {0x3182, "b300-sxm-288gb"},
    {0x31c2, "gb300-288gb"},
    {0x2bb5, "rtx-pro-6000-bw-se-96gb"},
};

/// The model with that PCI device id; "" when the catalogue has none.
[[nodiscard]] constexpr std::string_view gpu_model_of_device(std::uint16_t device) noexcept {
  for (const auto& d : nvidia_devices)
    if (d.device == device) return d.model;
  return "";
}

/// What AMD calls the accelerator with that PCI device id (vendor 0x1002), from pci.ids; "" for others. The catalogue
/// has none of them, so this is a word for people.
[[nodiscard]] constexpr std::string_view amd_name_of_device(std::uint16_t device) noexcept {
  switch (device) {
    case 0x66a1:
      return "AMD Instinct MI50";
    case 0x738c:
      return "AMD Instinct MI100";
    case 0x740f:
      return "AMD Instinct MI210";
    case 0x7408:
    case 0x740c:
      return "AMD Instinct MI250X";
    case 0x74a0:
      return "AMD Instinct MI300A";
    case 0x74a1:
      return "AMD Instinct MI300X";
    default:
      return "";
  }
}

/// The model of a PCI device, as far as these tables know it; "" otherwise.
[[nodiscard]] constexpr std::string_view gpu_model_of_pci(std::uint64_t vendor, std::uint64_t device) noexcept {
  if (device > 0xFFFF) return "";
  const auto id = static_cast<std::uint16_t>(device);
  return vendor == 0x10de ? gpu_model_of_device(id) : vendor == 0x1002 ? amd_name_of_device(id) : std::string_view{};
}

/// The catalogue's id for a product name of NVIDIA's driver ("NVIDIA H100 80GB HBM3", "Tesla V100-SXM2-16GB",
/// "NVIDIA-A100-SXM4-80GB", "NVIDIA H100 80GB HBM3 MIG 1g.10gb") or for an id of the catalogue; "" when it has none, or
/// when the name fits several. Blanks, hyphens, underscores and case do not matter. O(models).
[[nodiscard]] inline std::string gpu_model_of_name(std::string_view name) {
  std::string s;
  for (const char c : io_text::lower(name))
    if (!io_text::is_blank(c) && c != '-' && c != '_') s += c;
  for (const auto& m : catalogue::gpu_models)
    if (m.id == name) return std::string{name};
  std::string_view v{s};
  for (const std::string_view word : {"nvidia", "tesla"})
    if (v.starts_with(word)) v.remove_prefix(word.size());
  if (const std::size_t mig = v.find("mig"); mig != std::string_view::npos && mig != 0) v = v.substr(0, mig);
  struct alias {
    std::string_view name, model;
  };
  static constexpr alias aliases[] = {
      {"v100sxm216gb", "v100-sxm2-16gb"},
      {"v100sxm232gb", "v100-sxm2-32gb"},
      {"v100sxm332gb", "v100-sxm3-32gb"},
      {"v100sxm332gbh", "v100-sxm3-32gb"},
      {"t4", "t4"},
      {"a30", "a30-24gb"},
      {"a100pcie40gb", "a100-pcie-40gb"},
      {"a100sxm440gb", "a100-sxm4-40gb"},
      {"a100pcie80gb", "a100-pcie-80gb"},
      {"a10080gbpcie", "a100-pcie-80gb"},
      {"a100sxm480gb", "a100-sxm4-80gb"},
      {"a100sxm80gb", "a100-sxm4-80gb"},
      {"a800sxm480gb", "a800-sxm4-80gb"},
      {"l4", "l4"},
      {"l40s", "l40s"},
      {"h10080gbhbm3", "h100-sxm5-80gb"},
      {"h100sxm580gb", "h100-sxm5-80gb"},
      {"h100pcie", "h100-pcie-80gb"},
      {"h100nvl", "h100-nvl-94gb"},
      {"h800", "h800-sxm5-80gb"},
      {"gh200480gb", "gh200-96gb"},
      {"gh20096gb", "gh200-96gb"},
      {"gh200144gbhbm3e", "gh200-144gb"},
      {"gh200144ghbm3e", "gh200-144gb"},
      {"h200", "h200-sxm5-141gb"},
      {"h200sxm141gb", "h200-sxm5-141gb"},
      {"h200nvl", "h200-nvl-141gb"},
      {"h20", "h20-96gb"},
      {"h203e", "h20-141gb"},
      {"b200", "b200-sxm-180gb"},
      {"gb200", "gb200-186gb"},
      {"b300sxm6ac", "b300-sxm-288gb"},
      {"gb300", "gb300-288gb"},
      {"rtxpro6000blackwellserveredition", "rtx-pro-6000-bw-se-96gb"},
      {"rtxpro5000blackwell", "rtx-pro-5000-bw-48gb"},
      {"rtxpro4500blackwell", "rtx-pro-4500-bw-32gb"},
  };
  for (const auto& a : aliases)
    if (a.name == v) return std::string{a.model};
  return "";
}

/// The catalogue's id where it has one, else the name as it stands.
[[nodiscard]] inline std::string gpu_model_or_name(std::string_view name) {
  std::string id = gpu_model_of_name(name);
  return id.empty() ? std::string{name} : id;
}

}  // namespace berth::inside_text
