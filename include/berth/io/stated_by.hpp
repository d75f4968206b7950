#pragma once
/// \file
/// How a user states what no file does: words of the program that asks, which the library's messages repeat.

#include <string>
#include <string_view>

namespace berth {

/// What a user may write to state it, such as "--node-cpus"; "" where only files can say it.
struct stated_by {
  std::string shape;   ///< the machine of a node
  std::string cpus;    ///< the schedulable CPUs of a node
  std::string memory;  ///< the schedulable memory of a node

  /// `before`, the way and `after`; "" where there is no way.
  [[nodiscard]] static std::string words(std::string_view before, const std::string& way, std::string_view after = {}) {
    return way.empty() ? std::string{} : std::string{before} + way + std::string{after};
  }
};

}  // namespace berth
