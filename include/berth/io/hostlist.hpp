#pragma once
/// \file
/// Slurm hostlist expressions: `gpu[001-128,200]`, `r[1-2]n[01-04]`, `node[1-4]-ib`, `a,b[1-2]`.
///
/// Expansion    groups vary from right to left, as Slurm does; the padding of a range's first number is kept.
/// Memory       the number of names is computed and checked against the limit before any name is made.
/// Cost         O(length + names); compression O(n log n).
/// Source       the hostlist rules of slurm.conf(5). Stricter in one point: `[1-04]`, where the second number is padded
///              and the first is not, is an error here, because it is not clear which names it means.

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "berth/core/error.hpp"
#include "berth/core/expected.hpp"
#include "berth/io/text.hpp"

namespace berth {

/// Most names one expression may stand for, unless the caller says otherwise.
inline constexpr std::size_t default_hostlist_limit = 1'000'000;
/// Longest name an expression may stand for (a DNS name has at most 253 characters).
inline constexpr std::size_t max_host_name = 255;

/// What is wrong with an expression. `position` counts bytes from 0.
struct hostlist_error {
  std::size_t position = 0;
  std::string found;
  std::string expected;

  /// The same with file and line.
  [[nodiscard]] input_error at(std::string source, std::size_t line) const {
    return {std::move(source), line, found + " at character " + std::to_string(position + 1), expected};
  }
};

namespace hostlist_detail {

struct range {
  std::uint64_t first = 0;
  std::uint64_t last = 0;
  std::size_t width = 1;
};
/// Literal text followed by a bracket group; no ranges: literal only.
struct part {
  std::string literal;
  std::vector<range> ranges;
};
using pattern = std::vector<part>;

/// Reads one `a`, `a-b` inside brackets.
[[nodiscard]] inline expected<range, hostlist_error> parse_range(std::string_view s, std::size_t position) {
  const auto fail = [&](std::string expected_text) {
    return unexpected{hostlist_error{position, "range " + io_text::quoted(s), std::move(expected_text)}};
  };
  if (s.empty()) return unexpected{hostlist_error{position, "an empty item in brackets", "a number or a range"}};
  const std::size_t dash = s.find('-');
  const std::string_view a = s.substr(0, dash);
  const std::string_view b = dash == std::string_view::npos ? a : s.substr(dash + 1);
  constexpr std::uint64_t most = 999'999'999'999'999'999U;  // 18 digits
  const auto lo = io_text::parse_count(a, most);
  const auto hi = io_text::parse_count(b, most);
  if (!lo || !hi || a.size() > max_host_name || b.size() > max_host_name)
    return fail("numbers of at most 18 digits, such as 001-128");
  if (*lo > *hi) return fail("the smaller number first");
  if (b.size() != a.size() && b.size() > 1 && b.front() == '0') return fail("both numbers padded alike");
  return range{*lo, *hi, a.size()};
}

/// Reads an expression into one pattern per item and checks everything but the number of names.
[[nodiscard]] inline expected<std::vector<pattern>, hostlist_error> parse(std::string_view s) {
  const auto fail = [](std::size_t position, std::string found, std::string expected_text) {
    return unexpected{hostlist_error{position, std::move(found), std::move(expected_text)}};
  };
  if (s.empty()) return fail(0, "an empty host list", "names such as gpu[001-128]");
  std::vector<pattern> out;
  pattern item;
  std::string literal;
  std::size_t longest = 0;  // of the names of this item
  const auto close_item = [&](std::size_t position) -> expected<void, hostlist_error> {
    if (literal.empty() && item.empty()) return fail(position, "an empty item", "a name between commas");
    if (!literal.empty()) item.push_back({std::move(literal), {}});
    if (longest > max_host_name) return fail(position, "a name of more than 255 characters", "a host name");
    out.push_back(std::move(item));
    item = {}, literal = {}, longest = 0;
    return {};
  };
  for (std::size_t i = 0; i < s.size(); ++i) {
    const char c = s[i];
    if (c == ',') {
      if (auto ok = close_item(i); !ok) return unexpected{std::move(ok).error()};
    } else if (c == '[') {
      const std::size_t close = s.find_first_of("[]", i + 1);
      if (close == std::string_view::npos || s[close] == '[')
        return fail(i, "'[' without its ']'", "brackets in pairs, not nested");
      part p{std::move(literal), {}};
      literal = {};
      std::size_t widest = 0;
      for (std::size_t at = i + 1;;) {
        std::size_t end = s.find(',', at);
        if (end == std::string_view::npos || end > close) end = close;
        auto r = parse_range(s.substr(at, end - at), at);
        if (!r) return unexpected{std::move(r).error()};
        std::size_t digits = std::to_string(r->last).size();
        if (digits < r->width) digits = r->width;
        if (digits > widest) widest = digits;
        p.ranges.push_back(*r);
        if (end == close) break;
        at = end + 1;
      }
      longest += widest;
      item.push_back(std::move(p));
      i = close;
    } else if (c == ']') {
      return fail(i, "']' without its '['", "brackets in pairs");
    } else if (static_cast<unsigned char>(c) <= 0x20 || c == 0x7F) {
      return fail(i, "a blank or control character", "names without blanks");
    } else {
      literal += c;
      ++longest;
    }
  }
  if (auto ok = close_item(s.size()); !ok) return unexpected{std::move(ok).error()};
  return out;
}

/// Number of names, or `limit + 1` when there are more. O(ranges).
[[nodiscard]] inline std::uint64_t count(const std::vector<pattern>& items, std::uint64_t limit) {
  std::uint64_t total = 0;
  for (const auto& item : items) {
    std::uint64_t product = 1;
    for (const auto& p : item) {
      if (p.ranges.empty()) continue;
      std::uint64_t sum = 0;
      for (const auto& r : p.ranges) {
        const std::uint64_t n = r.last - r.first + 1;
        sum = n > limit - (sum < limit ? sum : limit) ? limit + 1 : sum + n;
        if (sum > limit) return limit + 1;
      }
      if (product > limit / sum) return limit + 1;
      product *= sum;
    }
    total += product;
    if (total > limit) return limit + 1;
  }
  return total;
}

inline void append_number(std::string& out, std::uint64_t v, std::size_t width) {
  const std::string digits = std::to_string(v);
  if (digits.size() < width) out.append(width - digits.size(), '0');
  out += digits;
}

inline void expand(const pattern& item, std::size_t at, std::string& prefix, std::vector<std::string>& out) {
  if (at == item.size()) {
    out.push_back(prefix);
    return;
  }
  const std::size_t before = prefix.size();
  prefix += item[at].literal;
  if (item[at].ranges.empty()) expand(item, at + 1, prefix, out);
  const std::size_t stem = prefix.size();
  for (const auto& r : item[at].ranges)
    for (std::uint64_t v = r.first; v <= r.last; ++v) {
      append_number(prefix, v, r.width);
      expand(item, at + 1, prefix, out);
      prefix.resize(stem);
    }
  prefix.resize(before);
}

}  // namespace hostlist_detail

/// The names an expression stands for, in its order; a name may come twice when the expression says so.
/// \param limit  most names; checked before any is made.
[[nodiscard]] inline expected<std::vector<std::string>, hostlist_error> expand_hostlist(
    std::string_view expression, std::size_t limit = default_hostlist_limit) {
  const auto items = hostlist_detail::parse(expression);
  if (!items) return unexpected{items.error()};
  const std::uint64_t n = hostlist_detail::count(*items, limit);
  if (n > limit)
    return unexpected{hostlist_error{0, "host list " + io_text::quoted(expression) + " with too many names",
                                     "at most " + std::to_string(limit) + " names"}};
  std::vector<std::string> out;
  out.reserve(static_cast<std::size_t>(n));
  std::string prefix;
  for (const auto& item : *items) hostlist_detail::expand(item, 0, prefix, out);
  return out;
}

/// A short expression for the same names: names that differ in their last number are joined to ranges. The names come
/// out in the order of their first relative, sorted by number within; every name comes as often as it was given.
/// \pre no name holds a bracket or a comma. O(n log n).
[[nodiscard]] inline std::string compress_hostlist(const std::vector<std::string>& names) {
  struct member {
    std::size_t width;  // of the range it may join: its length where it starts with 0, else decided below
    std::uint64_t number;
    std::size_t length;
  };
  struct family {
    std::string prefix, suffix;
    std::vector<member> members;
    bool plain = false;  // a name without a usable number: `prefix` alone
  };
  std::vector<family> families;
  std::map<std::pair<std::string, std::string>, std::size_t> index;
  for (const auto& name : names) {
    std::size_t end = name.size();
    while (end > 0 && !io_text::is_digit(name[end - 1])) --end;
    std::size_t begin = end;
    while (begin > 0 && io_text::is_digit(name[begin - 1])) --begin;
    if (begin == end || end - begin > 18) {
      families.push_back({name, "", {}, true});
      continue;
    }
    const std::string digits = name.substr(begin, end - begin);
    auto key = std::make_pair(name.substr(0, begin), name.substr(end));
    const auto [it, fresh] = index.emplace(std::move(key), families.size());
    if (fresh) families.push_back({it->first.first, it->first.second, {}, false});
    const bool padded = digits.size() > 1 && digits.front() == '0';
    families[it->second].members.push_back({padded ? digits.size() : 0, *io_text::parse_count(digits), digits.size()});
  }
  std::string out;
  for (auto& f : families) {
    if (!out.empty()) out += ',';
    out += f.prefix;
    if (f.plain) continue;
    // An unpadded number may stand in a padded range when it is at least as long as the padding.
    std::vector<std::size_t> widths;
    for (const auto& m : f.members)
      if (m.width != 0) widths.push_back(m.width);
    std::sort(widths.begin(), widths.end());
    widths.erase(std::unique(widths.begin(), widths.end()), widths.end());
    for (auto& m : f.members) {
      if (m.width != 0) continue;
      m.width = 1;
      for (const auto w : widths)
        if (w <= m.length) m.width = w;
    }
    std::sort(f.members.begin(), f.members.end(), [](const member& a, const member& b) {
      return a.width != b.width ? a.width < b.width : a.number < b.number;
    });
    std::string ranges;
    const bool lone = f.members.size() == 1;
    for (std::size_t i = 0; i < f.members.size();) {
      std::size_t j = i;
      while (j + 1 < f.members.size() && f.members[j + 1].width == f.members[i].width &&
             f.members[j + 1].number == f.members[j].number + 1)
        ++j;
      if (!ranges.empty()) ranges += ',';
      hostlist_detail::append_number(ranges, f.members[i].number, f.members[i].width);
      if (j != i) {
        ranges += '-';
        hostlist_detail::append_number(ranges, f.members[j].number, f.members[j].width);
      }
      i = j + 1;
    }
    out += lone ? ranges : "[" + ranges + "]";
    out += f.suffix;
  }
  return out;
}

}  // namespace berth
