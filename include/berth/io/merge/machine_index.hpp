#pragma once
/// \file
/// Machines by name over several files: exact names first, then aliases, then the part before the first dot.

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "berth/io/merge/site.hpp"
#include "berth/io/site_report.hpp"

namespace berth::merge_detail {

/// One machine and who speaks of it.
struct machine {
  std::string name;
  input_place place;                          ///< first mention
  std::vector<const machine_report*> told;    ///< reports about this machine alone
  std::vector<const machine_report*> shared;  ///< unnamed insides that were given to it
  bool declared = false;                      ///< in a list of machines or a declared topology
};

/// The host part of a full name; "" where there is none (addresses in digits have none).
[[nodiscard]] inline std::string short_name(std::string_view name) {
  const std::size_t dot = name.find('.');
  if (dot == 0 || dot == std::string_view::npos) return {};
  bool letter = false;
  for (const char c : name.substr(0, dot)) letter = letter || !io_text::is_digit(c);
  return letter ? std::string{name.substr(0, dot)} : std::string{};
}

/// Finds machines by any of their names. All O(1) but for hashing.
class machine_index {
 public:
  static constexpr std::uint32_t none = 0xFFFFFFFFU;

  [[nodiscard]] std::uint32_t find(const std::string& name) const {
    if (const auto it = exact_.find(name); it != exact_.end()) return it->second;
    const std::string host = short_name(name);
    if (host.empty()) {  // "n1" finds the one machine "n1.cluster.example"
      const auto it = host_of_full_.find(name);
      return it == host_of_full_.end() ? none : it->second;
    }
    const auto it = exact_.find(host);
    return it == exact_.end() ? none : it->second;
  }
  /// The machine of that name; added where there is none.
  std::uint32_t at(const std::string& name, const input_place& place) {
    if (const auto known = find(name); known != none) {
      exact_.emplace(name, known);
      return known;
    }
    const auto id = static_cast<std::uint32_t>(machines.size());
    machines.push_back({name, place, {}, {}, false});
    learn(name, id);
    return id;
  }
  /// Another name of a machine. False where it already means another one.
  bool learn(const std::string& alias, std::uint32_t id) {
    const auto [it, fresh] = exact_.emplace(alias, id);
    if (!fresh) return it->second == id;
    if (const std::string host = short_name(alias); !host.empty()) {
      const auto [h, first] = host_of_full_.emplace(host, id);
      if (!first && h->second != id) h->second = none;  // several: the short name tells nothing
    }
    return true;
  }

  std::vector<machine> machines;

 private:
  std::unordered_map<std::string, std::uint32_t> exact_, host_of_full_;
};

/// Takes the named machines of all reports. What an alias claims for two machines is a conflict.
inline void join_by_name(const std::vector<site_report>& reports, machine_index& index,
                         std::vector<site_conflict>& conflicts) {
  for (const auto& r : reports) {
    // Several nodes on one host share its name (Slurm's NodeHostname), which then tells them apart no more.
    std::unordered_map<std::string, std::uint32_t> uses;
    for (const auto& m : r.machines) {
      if (!m.name.empty()) ++uses[m.name];
      for (const auto& a : m.aliases)
        if (a != m.name) ++uses[a];
    }
    for (const auto& m : r.machines) {
      if (m.name.empty()) continue;
      std::uint32_t id = index.find(m.name);
      for (const auto& a : m.aliases)
        if (id == machine_index::none && uses[a] == 1) id = index.find(a);
      if (id == machine_index::none) id = index.at(m.name, m.place);
      else (void)index.learn(m.name, id);
      machine& known = index.machines[id];
      known.told.push_back(&m);
      known.declared = known.declared || !m.inside || (r.machines.size() > 1 && (m.gpus || m.cpu || m.memory));
      for (const auto& a : m.aliases)
        if (!a.empty() && a != m.name && uses[a] == 1 && !index.learn(a, id))
          conflicts.push_back({"machine " + m.name + " is also called " + a + ", which is " +
                                   index.machines[index.find(a)].name + " elsewhere; they are kept apart",
                               m.place, index.machines[index.find(a)].place});
    }
  }
}

}  // namespace berth::merge_detail
