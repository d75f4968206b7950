#pragma once
/// \file
/// The flat file that `sacctmgr dump CLUSTER` writes and `sacctmgr load` reads, as a queue tree. Standard library only.
///
///     Cluster - 'hpc':FairShare=1
///     Parent - 'root'
///     Account - 'eng':Description='Engineering':FairShare=50:GrpTRES='cpu=1000,gres/gpu=64'
///     Parent - 'eng'
///     User - 'ann':DefaultAccount='eng':FairShare=10:QOS='high,normal'
///
/// A Parent line says below which account the next lines stand; it has to be there already. Names and meanings as in
/// `slurm_associations.hpp`. Limits of jobs and of their number are noted; the rest (descriptions, QOS, coordinators)
/// is not about quota. Source: SchedMD, manual of sacctmgr, "FLAT FILE DUMP AND LOAD".

#include <algorithm>
#include <cstddef>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "berth/io/quota/slurm_associations.hpp"

namespace berth {

/// Whether a text is such a file: its first line that is no comment begins with "Cluster - ".
[[nodiscard]] inline bool looks_like_slurm_dump(std::string_view text) noexcept {
  while (!text.empty()) {
    const auto end = text.find('\n');
    const auto line = io_text::trim(text.substr(0, end));
    text = end == std::string_view::npos ? std::string_view{} : text.substr(end + 1);
    if (line.empty() || line[0] == '#') continue;
    return line.starts_with("Cluster - ");
  }
  return false;
}

namespace slurm_assoc_detail {

/// Cuts at a sign that stands in no quotes, single or double; nothing where a quote does not end.
[[nodiscard]] inline bool cut_unquoted(std::string_view s, char sign, std::vector<std::string_view>& out) {
  char quote = 0;
  std::size_t first = 0;
  for (std::size_t i = 0; i < s.size(); ++i) {
    if (quote != 0) {
      if (s[i] == quote) quote = 0;
    } else if (s[i] == '\'' || s[i] == '"') {
      quote = s[i];
    } else if (s[i] == sign) {
      out.push_back(s.substr(first, i - first));
      first = i + 1;
    }
  }
  out.push_back(s.substr(first));
  return quote == 0;
}
[[nodiscard]] inline std::string_view unquoted(std::string_view s) noexcept {
  s = io_text::trim(s);
  if (s.size() >= 2 && (s[0] == '\'' || s[0] == '"') && s.back() == s[0]) s = s.substr(1, s.size() - 2);
  return s;
}

}  // namespace slurm_assoc_detail

/// Reads the file. O(bytes + associations × log).
[[nodiscard]] inline expected<queue_file, input_error> read_slurm_dump(const named_text& file) {
  using namespace slurm_assoc_detail;
  rows out;
  std::size_t number = 0;
  const auto fail = [&](std::string found, std::string wanted) {
    return unexpected{input_error{file.name, number, std::move(found), std::move(wanted)}};
  };
  if (const auto bad = io_text::find_bad_utf8(file.text)) return fail("bytes that are no UTF-8", "text");
  for (const auto k : {account, user, partition, share, group, group_minutes, parent}) out.has[k] = true;
  std::set<std::string, std::less<>> accounts{"root"};
  std::string above = "root";
  bool begun = false, has_root = false;
  for (std::string_view rest = file.text; !rest.empty();) {
    const auto end = rest.find('\n');
    const auto line = io_text::trim(rest.substr(0, end));
    rest = end == std::string_view::npos ? std::string_view{} : rest.substr(end + 1);
    ++number;
    if (line.empty() || line[0] == '#') continue;
    const auto dash = line.find(" - ");
    const auto what = line.substr(0, dash);
    std::vector<std::string_view> parts;
    if (dash == std::string_view::npos || !cut_unquoted(line.substr(dash + 3), ':', parts))
      return fail(io_text::quoted(line), "KIND - 'name':Option=value:..., quotes in pairs");
    const std::string name{unquoted(parts[0])};
    if (name.empty()) return fail(io_text::quoted(line), "a name after the dash");
    if (what == "Cluster") {
      if (begun) return fail("a second Cluster line", "one cluster per file, as sacctmgr dumps it");
      begun = true;
      continue;
    }
    if (!begun) return fail(io_text::quoted(what) + " before the Cluster line", "Cluster - 'name' first");
    if (what == "Parent") {
      if (accounts.find(name) == accounts.end())
        return fail("unknown parent " + io_text::quoted(name), "an account of a line before");
      above = name;
      continue;
    }
    if (what != "Account" && what != "User")
      return fail("a line of kind " + io_text::quoted(what), "Cluster, Parent, Account or User");
    row r;
    r.line = number;
    r.cell[account] = what == "Account" ? name : above;
    if (what == "User") r.cell[user] = name;
    else r.cell[parent] = above;
    for (std::size_t i = 1; i < parts.size(); ++i) {
      const auto equals = parts[i].find('=');
      if (equals == std::string_view::npos) return fail(io_text::quoted(parts[i]), "Option=value");
      const auto key = io_text::trim(parts[i].substr(0, equals));
      const auto is = [&](std::string_view k) { return io_text::equal_nocase(key, k); };
      std::string value{unquoted(parts[i].substr(equals + 1))};
      if (is("FairShare") || is("Share")) r.cell[share] = std::move(value);
      else if (is("GrpTRES")) r.cell[group] = std::move(value);
      else if (is("GrpTRESMins")) r.cell[group_minutes] = std::move(value);
      else if (is("Partition")) r.cell[partition] = std::move(value);
      else if ((key.size() > 3 &&
                (io_text::equal_nocase(key.substr(0, 3), "Max") || io_text::equal_nocase(key.substr(0, 3), "Grp"))))
        out.unread.insert(std::string{key});
    }
    if (what == "Account" && !accounts.insert(name).second && name != "root")
      return fail("account " + io_text::quoted(name) + " a second time", "every account once");
    has_root = has_root || (what == "Account" && name == "root");
    if (r.cell[account] == r.cell[parent]) r.cell[parent].clear();
    out.all.push_back(std::move(r));
  }
  if (out.all.empty()) return fail("no accounts", "Account and User lines");
  if (!has_root) {
    row r;
    r.cell[account] = "root";
    out.all.insert(out.all.begin(), std::move(r));
  }
  return tree_of(out, file.name);
}

}  // namespace berth
