#pragma once
/// \file
/// Row types of the MIG table. The table itself, `mig_products.hpp`, is generated (`.catalogue/generate.py`).
///
/// Units    memory in MiB; starts and sizes in placement units (`mig_product_row::units` of them; most products call
///          them memory slices: 8 on 7-slice GPUs, 4 on the A30, 12 on the RTX PRO 6000).
/// Unknown  an empty optional, never 0. An empty string means "not stated".

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

#include "berth/topology/catalogue/kinds.hpp"

namespace berth::catalogue {

/// The three shapes in which placements are known, and those products where none was found.
enum class mig_shape : std::uint8_t { unknown, hepta_8, quad_4, quad_12 };

/// What sets a profile apart from the plain one of its size.
enum class mig_variant : std::uint8_t {
  plain,
  media,          ///< `+me`: owns the JPEG and optical-flow engines; one per GPU
  double_memory,  ///< 1g with the memory of a 2g
  graphics,       ///< `+gfx`
  all_media,      ///< `+me.all`: takes every media engine, so that the rest must be `-me`; one per GPU
  no_media,       ///< `-me`
};

/// Counts of engines.
struct mig_engines {
  std::uint8_t copy, decoder, encoder, jpeg, optical_flow;
};

/// A compute instance that a GPU instance may be split into; they share its memory.
struct mig_compute_row {
  std::uint8_t slices;
  std::uint8_t id;  ///< 0 = 1c, 1 = 2c, 2 = 3c, 3 = 4c, 4 = 7c
  std::uint8_t most;
  std::optional<std::uint16_t> sm_count;
};

/// A GPU instance profile of one product.
struct mig_profile_row {
  std::string_view name;           ///< "1g.10gb+me"
  std::string_view alias;          ///< what other drivers call it; "": none
  std::optional<std::uint8_t> id;  ///< as `nvidia-smi mig` takes it; not the NVML enumerator
  std::uint8_t compute;            ///< compute slices
  std::optional<std::uint8_t> size;
  std::optional<std::uint32_t> memory_mib;  ///< a default: the device knows better, drivers differ
  std::optional<std::uint16_t> sm_count;
  std::uint8_t most;  ///< instances on one GPU
  std::optional<mig_engines> engines;
  mig_variant variant;
  std::span<const std::uint8_t> starts;
  confidence placements, trust;
  std::string_view first_driver;  ///< "R525"; "": not stated
  std::span<const mig_compute_row> compute_instances;
};

/// One MIG-capable product.
struct mig_product_row {
  std::string_view id;  ///< "h100-80gb", as in `gpu_model::mig_product`
  std::string_view name;
  std::span<const std::string_view> aliases;
  std::string_view architecture, chip;
  std::span<const std::uint32_t> pci_ids;  ///< device and vendor, 0x233010DE
  mig_shape shape;
  std::uint8_t most;  ///< instances
  std::optional<std::uint8_t> compute, units;
  std::optional<mig_engines> engines;
  std::optional<bool> reset_to_toggle;  ///< switching MIG mode resets the GPU
  confidence trust;
  std::string_view note;
  std::span<const mig_profile_row> profiles;
};

}  // namespace berth::catalogue
