#pragma once
/// \file
/// What the commands of berth-mig share: options that are lists, and exit codes.

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

#include "berth/core/error.hpp"
#include "berth/core/expected.hpp"
#include "berth/solver/mig_plan.hpp"
#include "berth/topology/mig_geometry.hpp"

namespace berth_mig {

inline constexpr int exit_ok = 0, exit_not_all = 1, exit_bad_input = 2;

/// Prints the error; returns `exit_bad_input`.
int bad_input(const berth::input_error& e);

/// Calls f(left, right) for every "left<sign>right" between commas; f returns an error or nothing.
berth::expected<void, berth::input_error> each_pair(
    std::string_view list, char sign, const char* option,
    const std::function<berth::expected<void, berth::input_error>(std::string_view, std::uint32_t)>& f);

/// "3g.40gb=2,1g.10gb=4,whole=1".
berth::expected<berth::mig_need, berth::input_error> read_need(const berth::mig_geometry& g, std::string_view text,
                                                               const char* option, bool whole_allowed);

/// "1g.10gb@0,3g.40gb@4".
berth::expected<berth::mig_set, berth::input_error> read_held(const berth::mig_geometry& g, std::string_view text);

/// Writes a file, or says why not. \returns an exit code
int write_file(const std::string& path, const std::string& text, const char* option);

}  // namespace berth_mig
