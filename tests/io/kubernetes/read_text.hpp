#pragma once
/// \file
/// Texts as files of Kubernetes objects: what they are read as, in words or as a report.

#include <doctest/doctest.h>

#include <string>
#include <utility>

#include "berth/io/kubernetes/read.hpp"
#include "describe.hpp"

namespace site_test {

inline std::string read_text(const std::string& text) {
  const auto r = berth::read_kubernetes({"f", text});
  return r ? describe(*r) : r.error().message();
}
inline berth::site_report good(const std::string& text) {
  auto r = berth::read_kubernetes({"f", text});
  REQUIRE_MESSAGE(r.has_value(), failure(r));
  return std::move(*r);
}

}  // namespace site_test
