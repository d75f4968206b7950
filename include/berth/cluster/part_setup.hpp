#pragma once
/// \file
/// Parts of GPUs by the names that people use: what the models of a site may be cut into, and MIG requests.
///
/// \code
/// const auto parts = berth::make_part_catalogue(spec.shapes);
/// berth::cluster c{spec, {.jobs = 1000, .tasks = 8000, .parts = &parts}};
/// const auto one = berth::make_mig_request(parts, {"1g.10gb"});
/// if (one) g.groups[0].shape.part = berth::part_need::mig(c.add_mig_request(*one));
/// \endcode

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

#include "berth/cluster/part_catalogue.hpp"
#include "berth/core/error.hpp"
#include "berth/core/expected.hpp"
#include "berth/core/separate.hpp"
#include "berth/topology/mig_geometry.hpp"
#include "berth/topology/node_shape.hpp"

namespace berth {

/// What the models of these machines may be cut into, as far as the catalogue of GPU models knows them: MIG where the
/// product's placements can be trusted, shares of any device. Memory is what drivers report, where a capture was seen,
/// else unknown. \param mig  which rows to trust, and which profiles the site offers. O(shapes × devices × models).
[[nodiscard]] part_catalogue make_part_catalogue(std::span<const node_shape> shapes, mig_geometry_options mig = {});

/// Instances of these profiles, all on one GPU. Profiles by name, alias or id (`find_mig_profile`). Refused: more than
/// `max_task_instances`, names that no product here has all of, parts of instances ("1c.3g.20gb").
/// O(products × profiles).
[[nodiscard]] expected<mig_request, input_error> make_mig_request(const part_catalogue& c,
                                                                  std::span<const std::string_view> profiles);

}  // namespace berth

#if BERTH_WITH_BODIES
#include "berth/cluster/impl/part_setup.hpp"
#endif
