#pragma once
/// \file
/// MIG products and profiles by the names that drivers, device plugins, DRA drivers and Slurm use.

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

#include "berth/core/error.hpp"
#include "berth/core/expected.hpp"
#include "berth/core/separate.hpp"
#include "berth/topology/catalogue/mig_rows.hpp"

namespace berth {

namespace detail {

struct mig_driver_name {
  std::string_view word, product;
};
/// What `nvidia-smi -L` prints for boards whose name the table's own names and aliases do not give.
inline constexpr mig_driver_name mig_driver_names[] = {
    {"a30", "a30-24gb"},
    {"a100-80gb-pcie", "a100-80gb"},
    {"a800-sxm4-80gb", "a100-80gb"},
    {"a800-80gb-pcie", "a100-80gb"},
    {"a800-sxm4-40gb", "a100-40gb"},
    {"h100-pcie", "h100-pcie-80gb"},
    {"h800", "h100-80gb"},
    {"h800-pcie", "h100-pcie-80gb"},
    {"h200", "h200-141gb"},
    {"gh200-480gb", "gh200-96gb"},
    {"gh200-144g-hbm3e", "gh200-144gb"},
    {"rtx-pro-6000-blackwell-workstation-edition", "rtx-pro-6000-bw-96gb"},
    {"rtx-pro-6000-blackwell-max-q-workstation-edition", "rtx-pro-6000-bw-96gb"},
};

}  // namespace detail

/// The product of that name: an id of the table, the name a driver prints ("NVIDIA A100-SXM4-80GB"), a node label
/// ("NVIDIA-H100-80GB-HBM3", also with "-MIG-1g.10gb" behind), or the PCI id ("0x233010DE"). A product without a row,
/// or a name that fits several ("H20"), is refused. O(products).
[[nodiscard]] expected<const catalogue::mig_product_row*, input_error> find_mig_product(std::string_view name);

/// A GPU instance profile, and the compute instance inside it where the name asks for one.
struct mig_profile_name {
  unsigned profile = 0;                    ///< index in `mig_product_row::profiles`
  std::optional<unsigned> compute_slices;  ///< "1c.3g.20gb": 1; empty: all of the instance
};

/// The profile of that name on that product: "1g.10gb+me" (an alias too), "MIG 1g.10gb", a resource of the device
/// plugin
/// ("nvidia.com/mig-1g.10gb.me", also with ".shared"), the profile id ("19"), or with a compute instance
/// ("1c.3g.20gb"). Refused: a profile of another product, and a compute instance that the profile does not have.
/// O(profiles).
[[nodiscard]] expected<mig_profile_name, input_error> find_mig_profile(const catalogue::mig_product_row& product,
                                                                       std::string_view name);

}  // namespace berth

#if BERTH_WITH_BODIES
#include "berth/topology/impl/mig_lookup.hpp"
#endif
