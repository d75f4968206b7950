#pragma once
/// \file
/// Bodies of `berth/topology/mig_lookup.hpp`.

#include <string>

#include "berth/topology/catalogue/mig_products.hpp"
#include "berth/topology/mig_lookup.hpp"

namespace berth::detail {

/// Lower case; spaces, dashes and underscores are one dash; what follows "-mig-" or precedes "nvidia-" is dropped.
[[nodiscard]] BERTH_INLINE std::string mig_product_word(std::string_view name) {
  std::string out;
  for (const char c : name) {
    if (c == ' ' || c == '-' || c == '_') {
      if (!out.empty() && out.back() != '-') out += '-';
    } else {
      out += c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
    }
  }
  while (!out.empty() && out.back() == '-') out.pop_back();
  if (const auto at = out.find("-mig-"); at != std::string::npos) out.resize(at);  // GFD's label under `single`
  for (const std::string_view tail : {"-shared", "-mig"})                          // GFD's label under time-slicing
    if (out.size() > tail.size() && out.ends_with(tail)) out.resize(out.size() - tail.size());
  if (out.starts_with("nvidia-")) out.erase(0, 7);
  return out;
}

}  // namespace berth::detail

namespace berth {

BERTH_INLINE expected<const catalogue::mig_product_row*, input_error> find_mig_product(std::string_view name) {
  if (name.size() == 10 && name[0] == '0' && (name[1] == 'x' || name[1] == 'X')) {
    std::uint32_t id = 0;
    bool hex = true;
    for (const char c : name.substr(2)) {
      const int d = c >= '0' && c <= '9'   ? c - '0'
                    : c >= 'a' && c <= 'f' ? c - 'a' + 10
                    : c >= 'A' && c <= 'F' ? c - 'A' + 10
                                           : -1;
      hex = hex && d >= 0;
      id = id << 4 | static_cast<std::uint32_t>(d < 0 ? 0 : d);
    }
    if (hex)
      for (const auto& p : catalogue::mig_products)
        for (const auto have : p.pci_ids)
          if (have == id) return &p;
  }
  const std::string word = detail::mig_product_word(name);
  for (const auto& p : catalogue::mig_products) {
    if (word == p.id || word == detail::mig_product_word(p.name)) return &p;
    for (const auto a : p.aliases)
      if (word == detail::mig_product_word(a)) return &p;
  }
  for (const auto& d : detail::mig_driver_names)
    if (word == d.word)
      for (const auto& p : catalogue::mig_products)
        if (p.id == d.product) return &p;
  std::string known, like;
  for (const auto& p : catalogue::mig_products) {
    auto& list = !word.empty() && p.id.starts_with(word + '-') ? like : known;
    list += (list.empty() ? "" : ", ") + std::string{p.id};
  }
  return unexpected{input_error{"MIG product", 0, "'" + std::string{name.substr(0, 80)} + "'",
                                like.empty() ? "a MIG-capable product: " + known : "one of " + like}};
}

BERTH_INLINE expected<mig_profile_name, input_error> find_mig_profile(const catalogue::mig_product_row& product,
                                                                      std::string_view name) {
  std::string_view rest = name;
  for (const std::string_view lead : {"nvidia.com/", "mig-", "MIG-", "MIG ", "mig "})
    if (rest.starts_with(lead)) rest.remove_prefix(lead.size());
  if (rest.ends_with(".shared")) rest.remove_suffix(7);
  mig_profile_name out;
  if (rest.size() > 3 && rest[0] >= '1' && rest[0] <= '7' && rest[1] == 'c' && rest[2] == '.') {
    out.compute_slices = static_cast<unsigned>(rest[0] - '0');
    rest.remove_prefix(3);
  }
  // The device plugin writes '.' for '+', as resource names may not hold a plus sign.
  std::string word{rest};
  for (const std::string_view variant : {".me", ".gfx"})
    if (const auto at = word.find(variant); at != std::string::npos && word.find('+') == std::string::npos)
      word[at] = '+';
  std::optional<unsigned> id;
  if (!rest.empty() && rest.size() <= 3) {
    unsigned n = 0;
    bool digits = true;
    for (const char c : rest) {
      digits = digits && c >= '0' && c <= '9';
      n = n * 10 + static_cast<unsigned>(c - '0');
    }
    if (digits) id = n;
  }
  for (unsigned i = 0; i < product.profiles.size(); ++i) {
    const auto& q = product.profiles[i];
    if (word != q.name && (q.alias.empty() || word != q.alias) && !(id && q.id && *q.id == *id)) continue;
    out.profile = i;
    if (!out.compute_slices || *out.compute_slices == q.compute) return out;
    for (const auto& c : q.compute_instances)
      if (c.slices == *out.compute_slices) return out;
    return unexpected{
        input_error{"MIG profile", 0,
                    "'" + std::string{name.substr(0, 80)} + "', a compute instance of " +
                        std::to_string(*out.compute_slices) + " slices",
                    "one that " + std::string{q.name} + " of " + std::string{product.id} + " is known to have"}};
  }
  std::string known;
  for (const auto& q : product.profiles) known += (known.empty() ? "" : ", ") + std::string{q.name};
  std::string found = "'" + std::string{name.substr(0, 80)} + "'";
  for (const auto& p : catalogue::mig_products)
    for (const auto& q : p.profiles)
      if (&p != &product && (word == q.name || (!q.alias.empty() && word == q.alias)) &&
          found.find(',') == std::string::npos)
        found += ", a profile of " + std::string{p.id};
  return unexpected{input_error{"MIG profile", 0, found, "a profile of " + std::string{product.id} + ": " + known}};
}

}  // namespace berth
