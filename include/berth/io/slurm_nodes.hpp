#pragma once
/// \file
/// The `NodeName=` and `DownNodes=` lines of slurm.conf: CPUs, memory, GPUs (`Gres=`), features and state of nodes.
///
/// CPUs     `CPUs=` (or `Procs=`), else Sockets × CoresPerSocket × ThreadsPerCore as far as given. Where both are given
///          and do not fit, the product counts, as in Slurm. `CoreSpecCount=` and `CpuSpecList=` are taken off.
/// Memory   `RealMemory=` in MiB, less `MemSpecLimit=`.
/// GPUs     `Gres=gpu[:type][:count][(S:…)]`, several per node. MIG devices, told by a type that ends in a profile such
///          as `1g.10gb`, are no whole GPUs; they and other gres (shard, mps, nic, …) are kept as
///          "gres/NAME[:TYPE]=COUNT".
/// DEFAULT  `NodeName=DEFAULT` gives values to the lines after it; a later one overrides it key by key.
/// Source   slurm.conf(5)

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "berth/core/bits.hpp"
#include "berth/core/error.hpp"
#include "berth/core/expected.hpp"
#include "berth/core/units.hpp"
#include "berth/io/hostlist.hpp"
#include "berth/io/slurm_lines.hpp"
#include "berth/io/slurm_topology.hpp"
#include "berth/io/text.hpp"
#include "berth/io/unknown_key.hpp"

namespace berth {

/// GPUs of one type; the type is the site's own word, "" when none is given.
struct slurm_gpus {
  std::string type;
  unsigned count = 0;
};

/// What one `NodeName=` line says about each of its nodes.
struct slurm_node_line {
  input_place place;
  std::vector<std::string> nodes;
  std::optional<cpu_millis> cpu;        ///< schedulable; empty when the line gives no CPUs
  std::uint64_t cores = 0;              ///< physical cores where sockets and cores are given, else 0
  std::uint64_t threads = 1;            ///< per core
  std::optional<bytes> memory;          ///< schedulable; empty when the line gives no memory
  std::vector<slurm_gpus> gpus;         ///< whole GPUs, in the order given
  std::vector<std::string> other_gres;  ///< MIG devices and gres that are no GPUs: "gres/shard=32"
  std::string hostname;                 ///< `NodeHostname=` of a line for one node
  std::vector<std::string> features;
  bool down = false;        ///< State= says that it takes no work
  bool drained = false;     ///< it is down for no other reason than to be emptied
  bool future = false;      ///< State=FUTURE: not there yet
  bool cpus_reset = false;  ///< CPUs= contradicts the sockets; the product was taken
};

/// All nodes that slurm.conf knows.
struct slurm_nodes {
  std::vector<slurm_node_line> lines;
  std::unordered_map<std::string, std::uint32_t> line_of_node;  ///< index into `lines`
  std::unordered_map<std::string, input_place> down_nodes;      ///< named by `DownNodes=` lines
  std::vector<std::string> assumptions;                         ///< keys that are not Slurm's
};

namespace slurm_detail {

/// Most labels of all nodes together: a line of many features for a million nodes is no site's.
inline constexpr std::size_t max_labels = std::size_t{1} << 23;

inline constexpr std::string_view node_keys =
    "NodeName NodeHostname NodeAddr BcastAddr Boards CertToken CoreSpecCount CoresPerSocket CpuBind CPUs CpuSpecList "
    "Extra Feature Features Gres GresConf MemSpecLimit Parameters Port Procs RealMemory Reason RestrictedCoresPerGPU "
    "Sockets SocketsPerBoard State SuspendTime ThreadsPerCore TmpDisk Topology TRESWeights Weight";

/// Numbers and ranges such as `0-15,32-47` (as in `Cores=`); every number below 65536. Gives how many and the largest.
struct id_list {
  std::uint64_t count = 0;
  std::uint64_t largest = 0;
  std::vector<bool> members;  ///< by number
};
[[nodiscard]] inline std::optional<id_list> parse_id_list(std::string_view s) {
  id_list out;
  for (;;) {
    const std::size_t comma = s.find(',');
    const std::string_view item = s.substr(0, comma);
    const std::size_t dash = item.find('-');
    const auto lo = io_text::parse_count(item.substr(0, dash), 65535);
    const auto hi = dash == std::string_view::npos ? lo : io_text::parse_count(item.substr(dash + 1), 65535);
    if (!lo || !hi || *lo > *hi) return std::nullopt;
    if (out.members.size() <= *hi) out.members.resize(static_cast<std::size_t>(*hi) + 1, false);
    for (std::uint64_t i = *lo; i <= *hi; ++i) {
      if (out.members[static_cast<std::size_t>(i)]) return std::nullopt;
      out.members[static_cast<std::size_t>(i)] = true;
      ++out.count;
    }
    if (*hi > out.largest) out.largest = *hi;
    if (comma == std::string_view::npos) return out;
    s.remove_prefix(comma + 1);
  }
}

/// A gres count such as `8` or `4K`; empty when it is none.
[[nodiscard]] inline std::optional<std::uint64_t> parse_gres_count(std::string_view s) {
  std::uint64_t factor = 1;
  if (!s.empty() && !io_text::is_digit(s.back())) {
    const std::size_t p = std::string_view{"kmgt"}.find(io_text::lower(s.back()));
    if (p == std::string_view::npos) return std::nullopt;
    for (std::size_t i = 0; i <= p; ++i) factor *= 1024;
    s.remove_suffix(1);
  }
  const auto n = io_text::parse_count(s, 1'000'000'000);
  if (!n) return std::nullopt;
  return *n * factor;
}

/// True for the type of a MIG device: it ends in a profile such as `1g.10gb` or `1g.10gb+me`.
[[nodiscard]] constexpr bool is_mig_type(std::string_view type) noexcept {
  if (type.ends_with("+me") || type.ends_with(".me")) type.remove_suffix(3);
  if (!type.ends_with("gb")) return false;
  type.remove_suffix(2);
  std::size_t n = type.size();
  while (n > 0 && io_text::is_digit(type[n - 1])) --n;
  if (n == type.size() || n < 3) return false;
  return type[n - 1] == '.' && type[n - 2] == 'g' && io_text::is_digit(type[n - 3]);
}

/// The profile in the type of a MIG device: `1g.5gb` of `a100_1g.5gb`; empty where there is none.
[[nodiscard]] constexpr std::string_view mig_profile_of(std::string_view type) noexcept {
  std::size_t at = type.rfind("g.");
  if (at == std::string_view::npos) return {};
  while (at > 0 && io_text::is_digit(type[at - 1])) --at;
  return type.substr(at);
}

/// One item of a `Gres=` value.
struct gres_item {
  std::string_view name, type;
  std::uint64_t count = 1;
  std::string_view note;  ///< what stands in parentheses: "S:0-1", "IDX:0-3"
  /// "gres/gpu:a100_1g.5gb=7"
  [[nodiscard]] std::string label() const {
    return "gres/" + std::string{name} + (type.empty() ? "" : ":" + std::string{type}) + "=" + std::to_string(count);
  }
};

/// Splits a `Gres=` value such as `gpu:h100:8(S:0-1),shard:32`. `where(found, expected)` makes the fault.
template <class Fault>
[[nodiscard]] expected<std::vector<gres_item>, input_error> split_gres(std::string_view value, Fault where) {
  std::vector<gres_item> out;
  if (value.empty() || io_text::equal_nocase(value, "(null)") || io_text::equal_nocase(value, "none")) return out;
  const auto fail = [&](std::string_view item) {
    return unexpected{where("Gres item " + io_text::quoted(item), "gpu, gpu:count or gpu:type:count")};
  };
  while (true) {
    std::size_t end = 0;
    int depth = 0;
    for (; end < value.size() && (value[end] != ',' || depth > 0); ++end) {
      if (value[end] == '(') ++depth;
      if (value[end] == ')' && --depth < 0) return fail(value);
    }
    const std::string_view whole = value.substr(0, end);
    std::string_view item = whole;
    gres_item g;
    if (depth != 0) return fail(whole);
    if (const std::size_t paren = item.find('('); paren != std::string_view::npos) {
      if (item.back() != ')') return fail(whole);
      g.note = item.substr(paren + 1, item.size() - paren - 2);
      item = item.substr(0, paren);
    }
    std::vector<std::string_view> words;
    for (std::string_view rest = item;;) {
      const std::size_t colon = rest.find(':');
      words.push_back(rest.substr(0, colon));
      if (words.back().empty() || words.size() > 8) return fail(whole);
      if (colon == std::string_view::npos) break;
      rest.remove_prefix(colon + 1);
    }
    g.name = words.front();
    std::size_t last = words.size();
    if (last > 1)
      if (const auto c = parse_gres_count(words.back())) g.count = *c, --last;
    for (std::size_t i = 1; i < last; ++i) {
      if (io_text::equal_nocase(words[i], "no_consume")) continue;
      if (!g.type.empty()) return fail(whole);
      g.type = words[i];
    }
    out.push_back(g);
    if (end == value.size()) return out;
    value.remove_prefix(end + 1);
  }
}

/// What a `Gres=` value gives a node: whole GPUs, and labels for all else.
struct node_gres {
  std::vector<slurm_gpus> gpus;
  std::vector<std::string> others;
};
template <class Fault>
[[nodiscard]] expected<node_gres, input_error> parse_gres(std::string_view value, Fault where) {
  auto items = split_gres(value, where);
  if (!items) return unexpected{std::move(items).error()};
  node_gres out;
  std::uint64_t total = 0;
  for (const auto& g : *items) {
    if (!io_text::equal_nocase(g.name, "gpu") || is_mig_type(g.type)) {
      if (g.count != 0) out.others.push_back(g.label());
      continue;
    }
    if (g.count > max_devices_per_node || total + g.count > max_devices_per_node)
      return unexpected{where("more than 64 GPUs on one node in Gres=", "at most 64")};
    total += g.count;
    if (g.count != 0) out.gpus.push_back({std::string{g.type}, static_cast<unsigned>(g.count)});
  }
  return out;
}

/// Notes a key that is not Slurm's; many of them in one sentence.
inline void note_foreign_key(std::vector<std::string>& notes, std::string said) {
  constexpr std::size_t one_by_one = 20;
  if (notes.size() < one_by_one) notes.push_back(std::move(said));
  else if (notes.size() == one_by_one) notes.emplace_back("More keys that are not Slurm's are passed over.");
}
/// Splits at commas; empty items are errors.
[[nodiscard]] inline expected<std::vector<std::string>, input_error> parse_features(const conf_line& l,
                                                                                    std::string_view value) {
  std::vector<std::string> out;
  for (;;) {
    const std::size_t comma = value.find(',');
    if (value.substr(0, comma).empty()) return unexpected{l.error("an empty item in Features=", "words and commas")};
    out.emplace_back(value.substr(0, comma));
    if (comma == std::string_view::npos) break;
    value.remove_prefix(comma + 1);
  }
  std::sort(out.begin(), out.end());
  out.erase(std::unique(out.begin(), out.end()), out.end());
  return out;
}

/// Reads `State=`: sets `down` and `future`.
[[nodiscard]] inline expected<void, input_error> parse_state(const conf_line& l, std::string_view value,
                                                             slurm_node_line& out) {
  static constexpr std::string_view up[] = {"unknown", "idle", "cloud", "external", "up", "undrain", "resume"};
  static constexpr std::string_view down[] = {"down", "drain", "drained", "draining", "fail", "failing", "error"};
  for (const auto s : up)
    if (io_text::equal_nocase(value, s)) return {};
  for (const auto s : down)
    if (io_text::equal_nocase(value, s)) {
      out.down = true;
      out.drained = s.starts_with("drain");
      return {};
    }
  if (io_text::equal_nocase(value, "future")) {
    out.future = true;
    return {};
  }
  return unexpected{
      l.error("State=" + io_text::quoted(value), "CLOUD, DOWN, DRAIN, EXTERNAL, FAIL, FUTURE or UNKNOWN")};
}

/// Whether two keys set the same thing, so that one on the line overrides the other from `NodeName=DEFAULT`.
[[nodiscard]] inline bool same_setting(const conf_pair& a, const conf_pair& b) {
  static constexpr std::string_view twins[][2] = {
      {"Feature", "Features"}, {"CPUs", "Procs"}, {"Sockets", "SocketsPerBoard"}, {"CoreSpecCount", "CpuSpecList"}};
  if (a.is(b.key)) return true;
  for (const auto& [x, y] : twins)
    if ((a.is(x) && b.is(y)) || (a.is(y) && b.is(x))) return true;
  return false;
}

/// Reads the hardware of a line whose defaults are already filled in. `nodes` stays empty.
[[nodiscard]] inline expected<slurm_node_line, input_error> parse_node_line(const conf_line& l) {
  slurm_node_line out;
  out.place = {l.source, l.line};
  std::optional<input_error> bad;
  const auto number = [&](std::string_view key, std::uint64_t least, std::uint64_t most) {
    std::optional<std::uint64_t> n;
    const std::string* v = l.find(key);
    if (v == nullptr || bad) return n;
    n = io_text::parse_count(*v, most);
    if (n && *n >= least) return n;
    bad = l.error(std::string{key} + "=" + io_text::quoted(*v),
                  "a whole number from " + std::to_string(least) + " to " + std::to_string(most));
    return std::optional<std::uint64_t>{};
  };
  constexpr auto most = static_cast<std::uint64_t>(io_text::max_cpus);
  auto total = number("CPUs", 1, most);
  const auto procs = number("Procs", 1, most);
  const auto boards = number("Boards", 1, 1024), per_board = number("SocketsPerBoard", 1, 1024);
  const auto sockets = number("Sockets", 1, 1024), cores = number("CoresPerSocket", 1, 4096);
  const auto threads = number("ThreadsPerCore", 1, 64);
  const auto spec_cores = number("CoreSpecCount", 0, most);
  const auto real = number("RealMemory", 1, std::uint64_t{1} << 32),
             spec_memory = number("MemSpecLimit", 0, std::uint64_t{1} << 32);
  (void)number("Weight", 0, std::uint64_t{1} << 32), (void)number("TmpDisk", 0, std::uint64_t{1} << 40);
  if (bad) return unexpected{std::move(*bad)};
  if (total && procs) return unexpected{l.error("both CPUs= and Procs=", "one of them")};
  if (procs) total = procs;
  if (sockets && per_board) return unexpected{l.error("both Sockets= and SocketsPerBoard=", "one of them")};
  out.threads = threads.value_or(1);
  const std::uint64_t all_sockets = sockets ? *sockets : boards.value_or(1) * per_board.value_or(1);
  const std::uint64_t all_cores = all_sockets * cores.value_or(1);
  if (sockets || per_board || cores) {
    const std::uint64_t product = all_cores * out.threads;
    if (product > most) return unexpected{l.error(std::to_string(product) + " CPUs on one node", "at most a million")};
    out.cores = all_cores;
    if (total && *total != product && *total != all_cores && *total != all_sockets) out.cpus_reset = true;
    if (!total || out.cpus_reset) total = product;
  } else if (!total && threads) {
    total = *threads;
  }
  if (spec_cores && *spec_cores != 0 && l.find("CpuSpecList") != nullptr)
    return unexpected{l.error("both CoreSpecCount= and CpuSpecList=", "one of them")};
  std::uint64_t reserved = spec_cores.value_or(0) * out.threads;
  if (const auto* list = l.find("CpuSpecList")) {
    const auto ids = parse_id_list(*list);
    if (!ids) return unexpected{l.error("CpuSpecList=" + io_text::quoted(*list), "CPU numbers such as 0-1,32")};
    reserved = ids->count;
  }
  if (total && reserved >= *total)
    return unexpected{l.error("all CPUs of the node set aside for the system", "fewer specialised cores than CPUs")};
  if (total) out.cpu = cpus(static_cast<std::int64_t>(*total - reserved));
  if (real && spec_memory.value_or(0) >= *real)
    return unexpected{l.error("MemSpecLimit= of all memory", "less than RealMemory=")};
  if (real) out.memory = mebibytes(static_cast<std::int64_t>(*real - spec_memory.value_or(0)));
  if (const auto* gres = l.find("Gres")) {
    auto parsed = parse_gres(
        *gres, [&](std::string found, std::string wanted) { return l.error(std::move(found), std::move(wanted)); });
    if (!parsed) return unexpected{std::move(parsed).error()};
    out.gpus = std::move(parsed->gpus);
    out.other_gres = std::move(parsed->others);
  }
  const auto* features = l.find("Features");
  if (features == nullptr) features = l.find("Feature");
  if (features != nullptr) {
    auto words = parse_features(l, *features);
    if (!words) return unexpected{std::move(words).error()};
    out.features = std::move(*words);
  }
  if (const auto* state = l.find("State"))
    if (auto ok = parse_state(l, *state, out); !ok) return unexpected{std::move(ok).error()};
  return out;
}

}  // namespace slurm_detail

/// Reads the `NodeName=` and `DownNodes=` lines among `lines`, in order. O(lines × keys + names).
[[nodiscard]] inline expected<slurm_nodes, input_error> read_node_lines(
    const std::vector<conf_line>& lines, std::size_t max_names = default_hostlist_limit) {
  slurm_nodes out;
  std::vector<conf_pair> defaults;
  std::vector<std::pair<const conf_line*, std::string>> down;
  std::set<std::string> foreign;
  std::vector<std::string> foreign_notes;
  for (const auto& l : lines) {
    if (const auto* list = l.find("DownNodes")) {
      if (auto ok = slurm_detail::only_keys(l, "DownNodes Reason State"); !ok) return unexpected{std::move(ok).error()};
      down.emplace_back(&l, *list);
    }
    const auto* name = l.find("NodeName");
    if (name == nullptr) continue;
    for (const auto& p : l.pairs) {
      if (slurm_detail::is_among(p, slurm_detail::node_keys)) continue;
      if (auto bad = io_text::misspelt_key(l.source, l.line, p.key, slurm_detail::node_keys))
        return unexpected{std::move(*bad)};
      if (foreign.insert(io_text::lower(p.key)).second)
        slurm_detail::note_foreign_key(foreign_notes, l.source + ":" + std::to_string(l.line) + ": the key " + p.key +
                                                          " on NodeName= lines is not one of Slurm's; passed over.");
    }
    const bool is_default = io_text::equal_nocase(*name, "DEFAULT");
    conf_line full = l;
    for (const auto& d : defaults) {
      bool set = false;
      for (const auto& p : l.pairs) set = set || slurm_detail::same_setting(p, d);
      if (!set) full.pairs.push_back(d);
    }
    auto parsed = slurm_detail::parse_node_line(full);
    if (!parsed) return unexpected{std::move(parsed).error()};
    if (is_default) {
      defaults.clear();
      for (auto& p : full.pairs)
        if (!p.is("NodeName")) defaults.push_back(std::move(p));
      continue;
    }
    auto names = slurm_detail::names_of(l, "NodeName", *name, max_names - out.line_of_node.size());
    if (!names) return unexpected{std::move(names).error()};
    parsed->nodes = std::move(*names);
    if (const auto* host = l.find("NodeHostname"); host != nullptr && parsed->nodes.size() == 1)
      parsed->hostname = *host;
    const auto index = static_cast<std::uint32_t>(out.lines.size());
    for (const auto& n : parsed->nodes) {
      const auto [it, fresh] = out.line_of_node.emplace(n, index);
      if (fresh) continue;
      const std::string first = it->second == index ? "on the same line" : "at " + out.lines[it->second].place.text();
      return unexpected{l.error("second NodeName= of node " + n + " (first " + first + ")", "each node once")};
    }
    out.lines.push_back(std::move(*parsed));
  }
  for (auto& note : foreign_notes) out.assumptions.push_back(std::move(note));
  for (const auto& [l, list] : down) {
    slurm_node_line state;
    if (const auto* s = l->find("State"))
      if (auto ok = slurm_detail::parse_state(*l, *s, state); !ok) return unexpected{std::move(ok).error()};
    if (l->find("State") != nullptr && !state.down) continue;
    auto names = slurm_detail::names_of(*l, "DownNodes", list, max_names);
    if (!names) return unexpected{std::move(names).error()};
    for (auto& n : *names) {
      if (!out.line_of_node.contains(n))
        return unexpected{l->error("DownNodes= of unknown node " + n, "a node with a NodeName= line")};
      out.down_nodes.emplace(std::move(n), input_place{l->source, l->line});
    }
  }
  return out;
}

}  // namespace berth
