#pragma once
/// \file
/// How the GPUs of a site are shared, in a word, for tools: `time-slice:4`, `time-slice:4:several` (a request may have
/// several replicas: the device plug-in without `failRequestsGreaterThanOne`), `mps`, `mps:20`, `mps-plugin:4`,
/// `fractions`, `fractions:10`, `shards:8`. The number is one of replicas, clients or shards per GPU; see
/// docs/sharing.md.

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "berth/cluster/device_sharing.hpp"
#include "berth/cluster/part_catalogue.hpp"
#include "berth/cluster/share_parts.hpp"
#include "berth/core/error.hpp"
#include "berth/core/expected.hpp"
#include "berth/io/text.hpp"
#include "berth/topology/catalogue/gpu_models.hpp"

namespace berth {

/// What `parse_sharing_terms` reads, for messages.
inline constexpr const char* sharing_terms_form =
    "time-slice:N or time-slice:N:several, mps or mps:N, mps-plugin:N, fractions or fractions:N, or shards:N";

/// The terms for one device or instance; the limits of each mode are in the message of what is refused.
[[nodiscard]] inline expected<share_terms, input_error> parse_sharing_terms(std::string_view text,
                                                                            const share_host& h) {
  constexpr std::string_view several = ":several";
  const bool any_replicas = text.starts_with("time-slice:") && text.ends_with(several);
  if (any_replicas) text.remove_suffix(several.size());
  const std::size_t colon = text.find(':');
  const std::string_view mode = text.substr(0, colon);
  std::optional<unsigned> n;
  if (colon != std::string_view::npos) {
    const auto count = io_text::parse_count(text.substr(colon + 1), 1'000'000);
    if (!count) return unexpected{input_error{"sharing", 0, io_text::quoted(text.substr(0, 80)), sharing_terms_form}};
    n = static_cast<unsigned>(*count);
  }
  if (mode == "mps") {
    unsigned most = mps_client_limit(h.volta_or_later, h.cuda);
    if (h.in_instance()) most = mps_client_limit_in_instance(most, h.slices, h.of);
    return mps_terms(h, n.value_or(most));
  }
  if (mode == "fractions") return fraction_terms(h, n.value_or(10));
  if (mode == "time-slice" && n) return time_slice_terms(h, *n, !any_replicas);
  if (mode == "mps-plugin" && n) return kubernetes_mps_terms(h, *n);
  if (mode == "shards" && n) return shard_terms(h, *n);
  return unexpected{input_error{"sharing", 0, io_text::quoted(text.substr(0, 80)), sharing_terms_form}};
}

/// Sets how all GPUs of a catalogue are shared. Nothing is changed where a model does not allow it: too many clients
/// for its generation, or a mode that needs its memory, which is not known.
[[nodiscard]] inline expected<void, input_error> share_devices(part_catalogue& c, std::string_view text) {
  part_catalogue then = c;
  for (part_model& m : then.models) {
    share_host h;
    if (m.memory_mib != 0) h.memory_mib = m.memory_mib;
    if (const catalogue::gpu_model* const g = catalogue::find_gpu_model(m.name))
      h.volta_or_later =
          g->compute_capability.empty() || g->compute_capability[0] >= '7' || g->compute_capability.size() > 3;
    const auto terms = parse_sharing_terms(text, h);
    if (!terms) {
      input_error e = terms.error();
      return unexpected{input_error{e.source, 0, e.found + " on GPUs of model " + io_text::quoted(m.name), e.expected}};
    }
    if (!set_share_terms(m, *terms))
      return unexpected{input_error{"sharing", 0, io_text::quoted(text.substr(0, 80)), "at most 1000 clients per GPU"}};
  }
  c.models = std::move(then.models);
  return {};
}

/// Sets how MIG instances of all profiles are shared that the terms allow, as far as their memory is known. An error
/// where no profile allows it, with the reason of the last one.
[[nodiscard]] inline expected<void, input_error> share_instances(part_catalogue& c, std::string_view text) {
  std::optional<input_error> why;
  bool any = c.products.empty();
  std::vector<std::vector<instance_limits>> inside(c.products.size());
  std::vector<std::vector<std::string>> refused(c.products.size());
  for (std::size_t p = 0; p < c.products.size(); ++p) {
    const mig_geometry& g = c.products[p].geometry();
    inside[p].resize(g.profiles);
    refused[p].resize(g.profiles);
    for (unsigned q = 0; q < g.profiles; ++q) {
      share_host h;
      h.memory_mib = g.row(q).memory_mib;
      h.slices = g.row(q).compute;
      h.of = g.product->compute.value_or(7);
      const auto terms = parse_sharing_terms(text, h);
      if (!terms) {
        why = terms.error();
        refused[p][q] = why->source + " with " + why->found + ", where " + why->expected + " would do";
      } else {
        any = set_share_terms(inside[p][q], *terms) || any;
      }
    }
  }
  if (!any) return unexpected{why ? *why : input_error{"sharing", 0, "MIG instances", "profiles that can be shared"}};
  c.inside = std::move(inside);
  c.inside_refused = std::move(refused);
  return {};
}

}  // namespace berth
