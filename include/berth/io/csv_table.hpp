#pragma once
/// \file
/// Tables of comma-separated values with a header, as traces come: columns by name, fields bare or in quotes. One line
/// a row.
///
/// Errors  of `read_header` and `next`: no line, a column twice or missing, a quote that does not end with its field, a
///         row of other length than the header; with file and line.

#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "berth/core/error.hpp"
#include "berth/core/expected.hpp"
#include "berth/io/csv.hpp"
#include "berth/io/text.hpp"
#include "berth/io/text_file.hpp"
#include "berth/io/text_lines.hpp"

namespace berth::io_text {

class csv_table {
 public:
  explicit csv_table(const named_text& file) : lines_{file}, source_{file.name} {}

  [[nodiscard]] expected<void, input_error> read_header(std::initializer_list<std::string_view> required) {
    std::string list;
    for (const auto r : required) list += (list.empty() ? "" : ",") + std::string{r};
    if (!lines_.next())
      return unexpected{lines_.fault() ? *lines_.fault()
                                       : input_error{source_, 0, "no line", "a header such as " + list}};
    if (auto ok = split(header_); !ok) return ok;
    for (std::size_t i = 0; i < header_.size(); ++i)
      for (std::size_t k = 0; k < i; ++k)
        if (header_[i] == header_[k])
          return unexpected{error("two columns " + io_text::quoted(header_[i]), "each column once")};
    for (const auto r : required)
      if (!column(r)) return unexpected{error("no column " + io_text::quoted(r), "columns " + list)};
    return {};
  }
  /// Goes to the next row; false at the end. Empty lines are passed over. O(length).
  [[nodiscard]] expected<bool, input_error> next() {
    while (lines_.next()) {
      if (trim(lines_.line()).empty()) continue;
      if (auto ok = split(row_); !ok) return unexpected{std::move(ok).error()};
      if (row_.size() != header_.size())
        return unexpected{error(counted(row_.size(), "field"), std::to_string(header_.size()) + " as in the header")};
      return true;
    }
    if (lines_.fault()) return unexpected{*lines_.fault()};
    return false;
  }

  [[nodiscard]] const std::vector<std::string>& header() const noexcept { return header_; }
  /// O(columns).
  [[nodiscard]] std::optional<std::size_t> column(std::string_view name) const noexcept {
    for (std::size_t i = 0; i < header_.size(); ++i)
      if (header_[i] == name) return i;
    return std::nullopt;
  }
  /// A cell of the row. \pre `c` is a column
  [[nodiscard]] const std::string& cell(std::size_t c) const noexcept { return row_[c]; }
  /// A cell as a whole number from `least` to `most`.
  [[nodiscard]] expected<std::uint64_t, input_error> count(std::size_t c, std::uint64_t least,
                                                           std::uint64_t most) const {
    const auto v = parse_count(row_[c], most);
    if (v && *v >= least) return *v;
    return unexpected{error(header_[c] + " " + io_text::quoted(row_[c]),
                            "a whole number from " + std::to_string(least) + " to " + std::to_string(most))};
  }
  /// About the line of the row.
  [[nodiscard]] input_error error(std::string found, std::string expected_text) const {
    return lines_.error(std::move(found), std::move(expected_text));
  }
  [[nodiscard]] std::size_t line() const noexcept { return lines_.number(); }

 private:
  [[nodiscard]] expected<void, input_error> split(std::vector<std::string>& into) {
    auto cells = quoted_csv_cells(lines_.line());
    if (!cells)
      return unexpected{error("a quote that does not end with its field",
                              "fields without quotes, or wholly in quotes with \"\" for one inside")};
    into = std::move(*cells);
    return {};
  }
  line_cursor lines_;
  std::string source_;
  std::vector<std::string> header_, row_;
};

}  // namespace berth::io_text
