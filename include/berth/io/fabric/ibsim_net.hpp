#pragma once
/// \file
/// Net files of ibsim, the InfiniBand fabric simulator: records as of `ibnetdiscover` with free words for GUIDs. Plain
/// text; needs Boost.Graph for the result.
///
/// Read      switches, adapters and cables. An adapter's word is taken for its machine's name.
/// Assumed   levels, see `build_fabric.hpp`. Rates are not in these files (`w=` is a width without a speed).
/// Source    linux-rdma/ibsim, net-examples/ and ibsim/sim_net.c.

#include <string_view>
#include <utility>

#include "berth/io/fabric/build_fabric.hpp"
#include "berth/io/fabric/netdiscover_records.hpp"

namespace berth {

/// Whether the text is a net file of ibsim with free words as names.
[[nodiscard]] inline bool looks_like_ibsim_net(std::string_view text) noexcept {
  return fabric_detail::kind_of_file(text) == fabric_detail::record_file::ibsim;
}

/// Reads a net file into one fabric. O(bytes). Errors as `read_ibnetdiscover`; a peer without a record.
[[nodiscard]] inline expected<site_report, input_error> read_ibsim_net(const named_text& file,
                                                                       const reader_options& options = {}) {
  auto scan = fabric_detail::record_reader{file, options, true}.read();
  if (!scan) return unexpected{std::move(scan).error()};
  return fabric_detail::report_of(*scan, "ibsim net");
}

}  // namespace berth
