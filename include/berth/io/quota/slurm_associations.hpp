#pragma once
/// \file
/// Slurm's associations as a queue tree: `sacctmgr -p show assoc tree` (or with a ParentName column), `sacctmgr -P`,
/// and `sshare -a -l -P`, which also knows usage. Standard library only.
///
/// Accounts and users become queues, "account" and "account/user" ("account/user/partition" where an association is
/// bound to one, "cluster:account" where the file speaks of several clusters, whose resources then are in pools of
/// their names). Share (Fairshare, RawShares) is the weight; "parent" is remembered in `shares_as_parent`. GrpTRES are
/// caps, GrpTRESMins budgets (in minutes there, in seconds here), RawUsage the usage so far. CPUs are counted in
/// thousandths, memory in bytes (MiB where no unit is given, as Slurm does), everything else as it is; "gres/gpu" and
/// "gres/gpu:h100" are resources of their own. Limits per job and counts of jobs are not quota; columns of them are
/// listed in `notes` where they are not empty.

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "berth/io/quota/queue_file.hpp"
#include "berth/io/text.hpp"
#include "berth/io/text_file.hpp"

namespace berth {

namespace slurm_assoc_detail {

[[nodiscard]] inline std::vector<std::string_view> cells(std::string_view line) {
  std::vector<std::string_view> out;
  for (std::size_t at = 0;;) {
    const auto bar = line.find('|', at);
    out.push_back(line.substr(at, bar == std::string_view::npos ? bar : bar - at));
    if (bar == std::string_view::npos) return out;
    at = bar + 1;
  }
}

/// "cpu=100,mem=4T,gres/gpu=8" through `set(name, amount)`. Empty on success, otherwise what is wrong.
template <class Set>
[[nodiscard]] std::string tres(std::string_view list, quota_amount scale, Set&& set) {
  while (!list.empty()) {
    const auto comma = list.find(',');
    const auto word = io_text::trim(list.substr(0, comma));
    list = comma == std::string_view::npos ? std::string_view{} : list.substr(comma + 1);
    const auto equals = word.find('=');
    if (equals == std::string_view::npos || equals == 0) return std::string{word};
    const auto name = word.substr(0, equals);
    auto digits = word.substr(equals + 1);
    quota_amount unit = scale;
    if (name == "cpu") unit = quota_detail::multiply(scale, 1000);
    if (name == "mem") {
      static constexpr std::string_view suffixes = "KMGTP";
      auto power = std::size_t{1};
      if (!digits.empty())
        if (const auto p = suffixes.find(digits.back()); p != std::string_view::npos) {
          power = p;
          digits.remove_suffix(1);
        }
      unit = quota_detail::multiply(scale, quota_amount{1} << (10 * (power + 1)));
    }
    const auto n = io_text::parse_count(digits, static_cast<std::uint64_t>(max_quota));
    if (!n || unit == unlimited) return std::string{word};
    const auto amount = quota_detail::multiply(static_cast<quota_amount>(*n), unit);
    if (amount == unlimited) return std::string{word};
    set(name, amount);
  }
  return {};
}

enum column : std::size_t { cluster, account, user, partition, share, group, group_minutes, parent, usage, columns };
/// One association.
struct row {
  std::size_t line = 0;
  std::array<std::string, columns> cell;
  std::size_t indent = 0;
};
/// What a table or a dump holds, before it is a tree.
struct rows {
  std::vector<row> all;
  std::array<bool, columns> has{};         ///< whether the file can say it
  std::set<std::string> clusters, unread;  ///< columns that hold limits of jobs
};

}  // namespace slurm_assoc_detail

/// Whether a text begins like such a table.
[[nodiscard]] inline bool looks_like_slurm_associations(std::string_view text) noexcept {
  const auto line = text.substr(0, text.find('\n'));
  const auto has = [&](std::string_view word) { return line.find(word) != std::string_view::npos; };
  return line.find('|') != std::string_view::npos && has("Account") && has("User");
}

namespace slurm_assoc_detail {

/// The lines of a table. O(bytes × columns).
[[nodiscard]] inline expected<rows, input_error> table_rows(const named_text& file) {
  rows out;
  std::size_t number = 0;
  const auto fail = [&](std::string found, std::string wanted) {
    return unexpected{input_error{file.name, number, std::move(found), std::move(wanted)}};
  };
  constexpr std::array<std::array<std::string_view, 4>, columns> names = {
      {{"Cluster"},
       {"Account"},
       {"User"},
       {"Partition"},
       {"Share", "Fairshare", "FairShare", "RawShares"},
       {"GrpTRES"},
       {"GrpTRESMins"},
       {"ParentName", "Par Name", "Parent"},
       {"RawUsage"}}};
  std::array<std::optional<std::size_t>, columns> where;
  std::vector<std::string> header;
  std::string_view rest = file.text;
  if (const auto bad = io_text::find_bad_utf8(rest)) return fail("bytes that are no UTF-8", "text");
  while (!rest.empty()) {
    const auto end = rest.find('\n');
    auto line = rest.substr(0, end);
    rest = end == std::string_view::npos ? std::string_view{} : rest.substr(end + 1);
    ++number;
    while (!line.empty() && line.back() == '\r') line.remove_suffix(1);
    if (io_text::trim(line).empty()) continue;
    auto c = cells(line);
    if (header.empty()) {
      for (const auto w : c) header.emplace_back(io_text::trim(w));
      if (!header.empty() && header.back().empty()) header.pop_back();
      // sshare has "RawShares" and "FairShare" (a result); the former is what is assigned.
      const bool raw = std::find(header.begin(), header.end(), "RawShares") != header.end();
      for (std::size_t i = 0; i < header.size(); ++i)
        for (std::size_t k = 0; k < columns; ++k)
          for (const auto n : names[k])
            if (!n.empty() && header[i] == n && !(raw && k == share && n != "RawShares")) {
              if (where[k]) return fail("two columns '" + header[i] + "'", "each column once");
              where[k] = i;
            }
      if (!where[account] || !where[user])
        return fail("a header without Account and User", "the output of sacctmgr -p show assoc");
      continue;
    }
    if (c.size() == header.size() + 1 && c.back().empty()) c.pop_back();
    if (c.size() != header.size())
      return fail(std::to_string(c.size()) + " columns", std::to_string(header.size()) + ", as in the header");
    row r{number, {}, 0};
    const auto first = c[*where[account]];
    while (r.indent < first.size() && first[r.indent] == ' ') ++r.indent;
    for (std::size_t k = 0; k < columns; ++k)
      if (where[k]) r.cell[k] = io_text::trim(c[*where[k]]);
    for (std::size_t i = 0; i < c.size(); ++i) {
      static const std::set<std::string> limits = {"MaxTRES", "MaxTRESPerNode", "MaxTRESPJ",     "MaxTRESMins",
                                                   "MaxJobs", "GrpJobs",        "MaxSubmit",     "GrpSubmit",
                                                   "MaxWall", "GrpWall",        "GrpTRESRunMins"};
      if (limits.count(header[i]) != 0 && !io_text::trim(c[i]).empty()) out.unread.insert(header[i]);
    }
    if (where[cluster] && !r.cell[cluster].empty()) out.clusters.insert(r.cell[cluster]);
    out.all.push_back(std::move(r));
  }
  if (header.empty()) return fail("an empty file", "the output of sacctmgr -p show assoc");
  if (out.all.empty()) return fail("no associations below the header", "at least one");
  for (std::size_t k = 0; k < columns; ++k) out.has[k] = where[k].has_value();
  return out;
}

/// The tree of associations.
[[nodiscard]] inline expected<queue_file, input_error> tree_of(const rows& read, const std::string& source) {
  const auto& clusters = read.clusters;
  queue_file out;
  out.system = "slurm";
  out.policy = "slurm-shares";
  out.tree.source = source;
  out.tree.rule = quota_rule::caps;
  out.tree.guarantees = guarantee_rule::as_given;
  std::size_t number = 0;
  const auto fail = [&](std::string found, std::string wanted) {
    return unexpected{input_error{source, number, std::move(found), std::move(wanted)}};
  };
  bool any_indent = false;
  for (const auto& r : read.all) any_indent = any_indent || r.indent > 0;
  std::map<std::string, std::size_t> at;                  // queue by name
  std::vector<std::pair<std::size_t, std::string>> path;  // indented accounts above
  for (const auto& r : read.all) {
    number = r.line;
    const auto& c = r.cell;
    const std::string prefix = clusters.size() > 1 ? c[cluster] + ":" : "";
    if (c[account].empty()) return fail("an association without an account", "an account");
    queue_spec q;
    q.line = r.line;
    const bool is_user = !c[user].empty();
    const std::string own = prefix + c[account];
    q.name = own + (is_user ? "/" + c[user] : "") + (c[partition].empty() ? "" : "/" + c[partition]);
    q.group = !is_user;
    if (is_user) {
      q.parent = own;
    } else if (read.has[parent]) {
      if (!c[parent].empty() && c[parent] != c[account]) q.parent = prefix + c[parent];
    } else if (any_indent) {
      while (!path.empty() && path.back().first >= r.indent) path.pop_back();
      if (!path.empty()) q.parent = path.back().second;
      path.emplace_back(r.indent, q.name);
    } else if (c[account] != "root") {
      return fail("account '" + c[account] + "' without its parent", "`tree` in the command, or a ParentName column");
    }
    if (const auto& s = c[share]; !s.empty()) {
      if (io_text::equal_nocase(s, "parent")) {
        out.shares_as_parent[q.name] = true;
      } else {
        const auto n = io_text::parse_count(s, std::uint64_t{1} << 40);
        if (!n) return fail("share '" + s + "' of '" + q.name + "'", "a whole number up to 2^40, or parent");
        q.weight = static_cast<quota_amount>(*n) * 1000;
      }
    }
    const std::pair<column, quota_amount> lists[] = {{group, 1}, {group_minutes, 60}};
    for (const auto& [k, scale] : lists) {
      const bool minutes = k == group_minutes;
      const auto wrong = tres(c[k], scale, [&](std::string_view name, quota_amount a) {
        auto& quota = queue_file_detail::quota_at(
            q, queue_file_detail::column(out.tree, name, clusters.size() > 1 ? c[cluster] : ""));
        (minutes ? quota.budget : quota.cap) = a;
      });
      if (!wrong.empty())
        return fail("'" + wrong + "' in " + std::string{minutes ? "GrpTRESMins" : "GrpTRES"} + " of '" + q.name + "'",
                    "TRES=amount below 2^62");
    }
    if (!c[usage].empty()) {
      char* stop = nullptr;
      const double u = std::strtod(c[usage].c_str(), &stop);
      if (*stop != '\0' || !(u >= 0) || u > 1e300)
        return fail("RawUsage '" + c[usage] + "' of '" + q.name + "'", "a number from 0");
      out.raw_usage[q.name] = u;
    }
    if (!at.emplace(q.name, out.tree.queues.size()).second)
      return fail("association '" + q.name + "' a second time", "every association once");
    out.tree.queues.push_back(std::move(q));
  }
  if (out.tree.resources.empty()) {
    if (clusters.size() < 2) out.tree.resources.push_back({"cpu", "", 1});
    else
      for (const auto& name : clusters) out.tree.resources.push_back({"cpu", name, 1});
  }
  for (const auto& u : read.unread) out.notes.push_back(u + " not read: a limit of single jobs or of their number");
  if (auto ok = queue_file_detail::complete(out.tree); !ok) return unexpected{std::move(ok).error()};
  if (clusters.size() > 1)
    queue_file_detail::keep_apart(
        out.tree, [](const queue_spec& q) { return std::string_view{q.name}.substr(0, q.name.find(':')); });
  return out;
}

}  // namespace slurm_assoc_detail

/// Reads the table. O(bytes × columns).
[[nodiscard]] inline expected<queue_file, input_error> read_slurm_associations(const named_text& file) {
  const auto rows = slurm_assoc_detail::table_rows(file);
  if (!rows) return unexpected{rows.error()};
  return slurm_assoc_detail::tree_of(*rows, file.name);
}

}  // namespace berth
