#pragma once
/// \file
/// Input texts by name, and how included files are found.

#include <cstddef>
#include <fstream>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "berth/core/error.hpp"
#include "berth/core/expected.hpp"

namespace berth {

/// A text and the name under which messages speak of it (usually its path).
struct named_text {
  std::string name;
  std::string text;
};

/// Gives the text of a path, or nothing when it cannot be read.
using text_loader = std::function<std::optional<std::string>(const std::string& path)>;

/// The largest file that is read: 256 MiB, more than any cluster description needs.
inline constexpr std::size_t max_text_file_bytes = std::size_t{256} << 20;

/// The whole content of a file; empty when it cannot be read or is larger than `max_text_file_bytes`.
[[nodiscard]] inline std::optional<std::string> load_text_file(const std::string& path) {
  std::ifstream in{path, std::ios::binary};
  if (!in) return std::nullopt;
  std::string out;
  char buffer[1 << 14];
  while (in.read(buffer, sizeof buffer), in.gcount() > 0) {
    out.append(buffer, static_cast<std::size_t>(in.gcount()));
    if (out.size() > max_text_file_bytes) return std::nullopt;
  }
  if (in.bad() || !in.eof()) return std::nullopt;
  return out;
}

/// A file as `named_text`, or why not.
[[nodiscard]] inline expected<named_text, input_error> read_text_file(const std::string& path) {
  auto text = load_text_file(path);
  if (!text) return unexpected{input_error{path, 0, "no readable file", "a text file of at most 256 MiB"}};
  return named_text{path, std::move(*text)};
}

/// `path` as seen from the file `from`: absolute paths stay, others start in the folder of `from`.
[[nodiscard]] inline std::string path_beside(std::string_view from, std::string_view path) {
  const std::size_t slash = from.rfind('/');
  if (path.starts_with('/') || slash == std::string_view::npos) return std::string{path};
  return std::string{from.substr(0, slash + 1)} + std::string{path};
}

}  // namespace berth
