#pragma once
/// \file
/// Amounts of quota from quantities in Kubernetes objects. Needs yaml-cpp and nlohmann-json.

#include <string>
#include <string_view>

#include "berth/io/kubernetes/values.hpp"
#include "berth/quota/amount.hpp"

namespace berth {

/// An amount of a resource: millicores for "cpu", whole units rounded up otherwise. `what` names it in the message.
[[nodiscard]] inline expected<quota_amount, input_error> kube_amount(const kube_reader& in, const json_value& v,
                                                                     const std::string& what,
                                                                     std::string_view resource) {
  const auto q = in.quantity(v, what);
  if (!q) return unexpected{q.error()};
  const bool cpu = resource == "cpu";
  if (q->whole > (cpu ? max_quota / 1001 : max_quota - 1))
    return in.error(v, what + ": " + scalar_text(v), "an amount below 2^62");
  return cpu ? q->whole * 1000 + q->thousandths : q->whole + (q->thousandths > 0 ? 1 : 0);
}

}  // namespace berth
