#pragma once
// What berth-topo does, one function per command. Each returns what goes to standard output.

#include <string>
#include <vector>

#include "berth/core/error.hpp"
#include "berth/core/expected.hpp"
#include "berth/io/merge/site.hpp"
#include "berth/io/merge/site_check.hpp"
#include "berth_topo/options.hpp"

namespace berth_topo {

using text_result = berth::expected<std::string, berth::input_error>;

[[nodiscard]] std::string show_text(const options& o, const berth::site& s);
[[nodiscard]] std::string show_json(const options& o, const berth::site& s);
[[nodiscard]] std::string findings_text(const options& o, const berth::site& s,
                                        const std::vector<berth::site_finding>& all);
[[nodiscard]] text_result convert(const options& o, const berth::site& s);
[[nodiscard]] text_result distance(const options& o, const berth::site& s);
[[nodiscard]] text_result bisect(const options& o, const berth::site& s);
// Writes the drawings of `--svg`; the paths that were written.
[[nodiscard]] berth::expected<std::vector<std::string>, berth::input_error> write_drawings(const options& o,
                                                                                           const berth::site& s);

}  // namespace berth_topo
