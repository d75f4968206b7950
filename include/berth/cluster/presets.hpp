#pragma once
/// \file
/// A whole cluster by name, from the reference fabrics of `topology/presets.hpp` and the machines of the catalogue.

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "berth/cluster/spec.hpp"
#include "berth/core/expected.hpp"
#include "berth/core/separate.hpp"
#include "berth/topology/presets.hpp"

namespace berth {

/// What the uplinks of a fabric's domains carry, by its cables. The uplinks of an NVLink domain are the NICs of its
/// machines. Memory as the number of domains. \pre `tree` is `make_tree(f)`
[[nodiscard]] uplink_rates make_uplinks(const fabric_spec& f, const domain_tree& tree);

/// The cluster of a fabric: machines "node-0", "node-1", … of one shape, in the order of the tree. O(nodes).
/// Errors, in words: a shape that the catalogue does not have.
[[nodiscard]] expected<cluster_spec, std::string> make_cluster(const fabric_spec& f);

/// The cluster of a preset such as "superpod-h100:su=4"; `preset_names()` lists them with their parameters.
/// Errors, in words: as `parse_preset`. 131,072 machines take a few hundredths of a second.
[[nodiscard]] expected<cluster_spec, std::string> make_preset(std::string_view name_with_params);

}  // namespace berth

#if BERTH_WITH_BODIES
#include "berth/cluster/impl/presets.hpp"
#endif
