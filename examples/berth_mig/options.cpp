#include "berth_mig/options.hpp"

#include <cstdio>
#include <optional>

#include "berth/topology/mig_lookup.hpp"
#include "berth_mig/draw.hpp"
#include "shared/output.hpp"

namespace berth_mig {

using namespace berth;

int bad_input(const input_error& e) {
  std::fprintf(stderr, "%s\n", e.message().c_str());
  return exit_bad_input;
}

namespace {

// A whole number below a million, or nothing.
std::optional<std::uint32_t> number(std::string_view s) {
  if (s.empty() || s.size() > 6) return std::nullopt;
  std::uint32_t n = 0;
  for (const char c : s) {
    if (c < '0' || c > '9') return std::nullopt;
    n = n * 10 + static_cast<std::uint32_t>(c - '0');
  }
  return n;
}

}  // namespace

expected<void, input_error> each_pair(
    std::string_view list, char sign, const char* option,
    const std::function<expected<void, input_error>(std::string_view, std::uint32_t)>& f) {
  for (bool more = true; more;) {
    const auto comma = list.find(',');
    const std::string_view item = list.substr(0, comma);
    more = comma != std::string_view::npos;
    if (more) list.remove_prefix(comma + 1);
    const auto at = item.rfind(sign);
    const auto n = at == std::string_view::npos ? std::optional<std::uint32_t>{} : number(item.substr(at + 1));
    if (!n)
      return unexpected{input_error{option, 0, "'" + std::string{item} + "'",
                                    std::string{"name"} + sign + "number, a whole number up to 999999"}};
    if (auto ok = f(item.substr(0, at), *n); !ok) return ok;
  }
  return {};
}

expected<mig_need, input_error> read_need(const mig_geometry& g, std::string_view text, const char* option,
                                          bool whole_allowed) {
  mig_need out{};
  const auto add = [&](std::uint32_t& to, std::string_view name, std::uint32_t n) -> expected<void, input_error> {
    if (to + n > 1'000'000)
      return unexpected{input_error{option, 0, "more than 1000000 of " + std::string{name}, "fewer"}};
    to += n;
    return {};
  };
  auto ok = each_pair(text, '=', option, [&](std::string_view name, std::uint32_t n) -> expected<void, input_error> {
    if (whole_allowed && name == "whole") return add(out[mig_whole_gpu], name, n);
    const auto q = find_mig_profile(*g.product, name);
    if (!q) return unexpected{q.error()};
    if (q->compute_slices && *q->compute_slices != g.row(q->profile).compute)
      return unexpected{
          input_error{option, 0, "'" + std::string{name} + "', a part of an instance", "whole instances"}};
    return add(out[q->profile], name, n);
  });
  if (!ok) return unexpected{ok.error()};
  return out;
}

expected<mig_set, input_error> read_held(const mig_geometry& g, std::string_view text) {
  mig_set held = 0;
  auto ok =
      each_pair(text, '@', "--held", [&](std::string_view name, std::uint32_t start) -> expected<void, input_error> {
        const auto q = find_mig_profile(*g.product, name);
        if (!q) return unexpected{q.error()};
        const auto p = g.find(q->profile, start);
        const std::string what = std::string{name} + "@" + std::to_string(start);
        if (!p) {
          std::string starts;
          for (const auto s : g.row(q->profile).starts) starts += " " + std::to_string(s);
          return unexpected{input_error{"--held", 0, what, "one of its starts:" + starts}};
        }
        if (!g.key_of(held | mig_set{1} << *p) || (held >> *p & 1U) != 0)
          return unexpected{input_error{"--held", 0, what + " beside " + as_words(g, held),
                                        "instances that may lie beside each other"}};
        held |= mig_set{1} << *p;
        return {};
      });
  if (!ok) return unexpected{ok.error()};
  return held;
}

int write_file(const std::string& path, const std::string& text, const char* option) {
  if (berth_program::write_file(path, text)) return exit_ok;
  return bad_input({option, 0, "a file that cannot be written: " + path, "a path in a folder that exists"});
}

}  // namespace berth_mig
