#pragma once
/// \file
/// What Slurm's commands say about a node at one time, whatever command says it (`scontrol`, `sinfo`, JSON): one record
/// per node, turned into a `machine_report` and what runs there.

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "berth/core/bits.hpp"
#include "berth/core/error.hpp"
#include "berth/core/expected.hpp"
#include "berth/io/assumptions.hpp"
#include "berth/io/site_report.hpp"
#include "berth/io/slurm/parts_used.hpp"
#include "berth/io/slurm_hardware.hpp"
#include "berth/io/slurm_nodes.hpp"
#include "berth/io/taints.hpp"
#include "berth/io/text.hpp"

namespace berth::slurm_detail {

/// What `State=` says: the base state and the flags joined to it by '+', and the marks of `sinfo` after it.
struct live_state {
  bool usable = true;
  bool drained = false;  ///< it is not usable for this reason alone
  bool future = false;
  bool reserved = false;
  bool full = false;    ///< jobs have all of it, or are ending on it
  bool in_use = false;  ///< jobs have a part of it that the state does not tell
};

/// Reads `IDLE`, `MIXED+DRAIN`, `down*`, `alloc~`. False where a word is not known.
/// Source: slurm src/common/slurm_protocol_defs.c, `node_state_string_complete` and `node_state_string_compact`.
[[nodiscard]] inline bool read_state(std::string_view text, live_state& out) {
  static constexpr std::string_view up[] = {
      "allocated",    "alloc",         "idle",           "mixed",     "mix",         "completing",
      "comp",         "cloud",         "planned",        "plnd",      "reserved",    "resv",
      "powered_down", "powering_down", "powering_up",    "pow_dn",    "pow_up",      "power_down",
      "power_up",     "powerdown",     "perfctrs",       "npc",       "external",    "allocated+",
      "inval",        "dynamic_norm",  "dynamic_future", "no_change", "power_drain", "resume"};
  static constexpr std::string_view down[] = {
      "down",    "fail",         "failing",        "failg",       "error",         "unknown",
      "unk",     "maint",        "reboot",         "maintenance", "reboot_issued", "reboot_requested",
      "boot",    "no_respond",   "not_responding", "invalid",     "invalid_reg",   "blocked",
      "undrain", "reboot_cancel"};
  static constexpr std::string_view drained[] = {"drain", "drained", "draining", "drng"};
  if (text.empty()) return false;
  bool drain = false, ending = false;
  for (std::string_view rest = text;;) {
    const std::size_t plus = rest.find('+');
    std::string_view word = rest.substr(0, plus);
    // Marks: * no answer, ~ powered down, # powering up, ! power-down pending, % powering down, $ maintenance,
    // @ reboot pending, ^ reboot issued, - planned.
    while (!word.empty() && std::string_view{"*~#!%$@^-"}.find(word.back()) != std::string_view::npos) {
      if (word.back() == '*' || word.back() == '$' || word.back() == '@' || word.back() == '^') out.usable = false;
      word.remove_suffix(1);
    }
    bool known =
        word.empty() && plus == std::string_view::npos && rest.size() != text.size();  // "mix+": jobs are ending
    for (const auto w : up) known = known || io_text::equal_nocase(word, w);
    for (const auto w : down)
      if (io_text::equal_nocase(word, w)) known = true, out.usable = false;
    for (const auto w : drained)
      if (io_text::equal_nocase(word, w)) known = drain = true;
    for (const std::string_view w : {"allocated", "alloc"}) out.full = out.full || io_text::equal_nocase(word, w);
    // "draining" is short for allocated or mixed, with a drain.
    for (const std::string_view w : {"mixed", "mix", "draining", "drng"})
      out.in_use = out.in_use || io_text::equal_nocase(word, w);
    for (const std::string_view w : {"completing", "comp"}) ending = ending || io_text::equal_nocase(word, w);
    if (io_text::equal_nocase(word, "reserved") || io_text::equal_nocase(word, "resv")) out.reserved = true;
    if (io_text::equal_nocase(word, "future") || io_text::equal_nocase(word, "futr")) known = out.future = true;
    if (!known) return false;
    if (plus == std::string_view::npos) break;
    rest.remove_prefix(plus + 1);
  }
  out.full = out.full || (ending && !out.in_use);
  out.drained = drain && out.usable;
  out.usable = out.usable && !drain;
  return true;
}

/// One node as a command shows it. Unstated stays empty.
struct live_node {
  input_place place;
  std::string name, hostname, instance_type;
  std::optional<std::uint64_t> cpus, memory_mib, allocated_cpus, allocated_mib;
  std::string gres, gres_used, allocated_tres, configured_tres;  ///< as printed
  std::vector<std::string> features, partitions;
  std::optional<live_state> state;
  std::string reservation;
};

/// `(null)` and `N/A` stand for nothing.
[[nodiscard]] inline bool is_nothing(std::string_view s) noexcept {
  return s.empty() || s == "(null)" || io_text::equal_nocase(s, "N/A") || io_text::equal_nocase(s, "none");
}

/// A comma list of words; "(null)" is none.
[[nodiscard]] inline std::vector<std::string> word_list(std::string_view s) {
  std::vector<std::string> out;
  if (is_nothing(s)) return out;
  for (;;) {
    const std::size_t comma = s.find(',');
    if (const auto word = io_text::trim(s.substr(0, comma)); !word.empty()) out.emplace_back(word);
    if (comma == std::string_view::npos) return out;
    s.remove_prefix(comma + 1);
  }
}

/// Memory as TRES have it: `112G`, `1000M`, `62.50G`, bare: MiB. In MiB, rounded up.
[[nodiscard]] inline std::optional<std::uint64_t> tres_mib(std::string_view s) {
  std::uint64_t times = 1, per = 1000;  // the number is read in thousandths
  if (!s.empty() && !io_text::is_digit(s.back())) {
    const std::size_t p = std::string_view{"KMGTP"}.find(s.back());
    if (p == std::string_view::npos) return std::nullopt;
    s.remove_suffix(1);
    if (p == 0) per *= 1024;
    for (std::size_t i = 1; i < p; ++i) times *= 1024;
  }
  const auto v = io_text::parse_thousandths(s, std::int64_t{1} << 50);
  if (!v || static_cast<std::uint64_t>(*v) > (std::uint64_t{1} << 62) / times) return std::nullopt;
  return (static_cast<std::uint64_t>(*v) * times + per - 1) / per;
}

/// What a TRES list such as `cpu=96,mem=112G,gres/gpu=8` says; empty where a part has no form.
struct tres_amounts {
  std::uint64_t cpus = 0, mib = 0, gpus = 0;
};
[[nodiscard]] inline std::optional<tres_amounts> parse_tres(std::string_view s) {
  tres_amounts out;
  std::uint64_t typed = 0;
  bool whole = false;
  if (is_nothing(s)) return out;
  for (;;) {
    const std::size_t comma = s.find(',');
    const std::string_view item = io_text::trim(s.substr(0, comma));
    const std::size_t equals = item.find('=');
    if (equals == std::string_view::npos) return std::nullopt;
    const std::string_view key = item.substr(0, equals), value = item.substr(equals + 1);
    if (key == "mem") {
      const auto v = tres_mib(value);
      if (!v) return std::nullopt;
      out.mib = *v;
    } else if (key == "cpu" || key == "gres/gpu" || key.starts_with("gres/gpu:")) {
      const auto v = parse_gres_count(value);
      if (!v || *v > (std::uint64_t{1} << 32)) return std::nullopt;
      if (key == "cpu") out.cpus = *v;
      else if (key == "gres/gpu") out.gpus = *v, whole = true;
      else if (!is_mig_type(key.substr(9))) typed += *v;
    }
    if (comma == std::string_view::npos) break;
    s.remove_prefix(comma + 1);
  }
  if (!whole) out.gpus = typed;
  return out;
}

/// Device numbers in the notes of a `GresUsed` text: `gpu:h100:8(IDX:0-7)`. Empty unless all used GPUs are named.
struct used_gpus {
  std::uint64_t count = 0;
  std::optional<device_mask> devices;
};
template <class Fault>
[[nodiscard]] expected<used_gpus, input_error> parse_used(std::string_view text, Fault where) {
  auto items = split_gres(text, where);
  if (!items) return unexpected{std::move(items).error()};
  used_gpus out;
  device_mask mask = 0;
  bool named = true;
  for (const auto& g : *items) {
    if (!io_text::equal_nocase(g.name, "gpu") || is_mig_type(g.type) || g.count == 0) continue;
    out.count += g.count;
    std::string_view note = g.note;
    if (!note.starts_with("IDX:")) {
      named = false;
      continue;
    }
    const auto m = io_text::parse_device_list(note.substr(4));
    if (!m || (*m & mask) != 0 || static_cast<std::uint64_t>(count_bits(*m)) != g.count) named = false;
    else mask |= *m;
  }
  if (named && out.count != 0) out.devices = mask;
  return out;
}

/// Adds what another row says about a known node: its partitions, and whether it is usable.
/// \return false where the node is in more than a thousand partitions
[[nodiscard]] inline bool add_row(live_node& known, const live_node& row) {
  for (const auto& p : row.partitions) {
    bool has = false;
    for (const auto& q : known.partitions) has = has || p == q;
    if (has) continue;
    if (known.partitions.size() >= 1000) return false;
    known.partitions.push_back(p);
  }
  if (known.state && row.state) {
    live_state& s = *known.state;
    // Only drained: no row gives another reason.
    s.drained =
        (s.drained || row.state->drained) && (s.usable || s.drained) && (row.state->usable || row.state->drained);
    s.usable = s.usable && row.state->usable;
    s.reserved = s.reserved || row.state->reserved;
    s.full = s.full || row.state->full;
    s.in_use = s.in_use || row.state->in_use;
  }
  if (known.reservation.empty()) known.reservation = row.reservation;
  return true;
}

/// Adds MIG devices of a type such as `a100_1g.5gb` to what a machine offers, by profile.
inline void add_mig(machine_report& m, std::string_view type, std::uint64_t count) {
  const std::string profile{mig_profile_of(type)};
  if (profile.empty() || count == 0) return;
  for (auto& known : m.mig)
    if (known.name == profile) {
      known.count += static_cast<std::int64_t>(count);
      return;
    }
  m.mig.push_back({profile, static_cast<std::int64_t>(count)});
}
/// Sorts gres besides whole GPUs ("gres/gpu:1g.5gb=7", "gres/shard=32") into MIG profiles and labels.
/// \return whether there are MIG devices
inline bool add_other_gres(machine_report& m, const std::vector<std::string>& others) {
  bool mig = false;
  for (const auto& o : others) {
    const std::size_t equals = o.rfind('=');
    if (!o.starts_with("gres/gpu:")) {
      m.labels.push_back(o);
      continue;
    }
    mig = true;
    add_mig(m, std::string_view{o}.substr(9, equals - 9),
            io_text::parse_count(std::string_view{o}.substr(equals + 1), max_devices_per_node * 8).value_or(0));
  }
  return mig;
}

/// Adds nodes of a live listing to a report.
class live_nodes {
 public:
  /// \param jobs_are_known  a job list says what runs, so that the nodes' sums are not needed.
  live_nodes(site_report& out, const std::vector<std::string>& model_ids, bool jobs_are_known)
      : out_{out}, model_ids_{model_ids}, jobs_are_known_{jobs_are_known} {}

  /// Errors: a `Gres=` or TRES of no known form, more than 64 GPUs.
  [[nodiscard]] expected<void, input_error> add(const live_node& n) {
    const auto where = [&](std::string found, std::string wanted) {
      return n.place.error(std::move(found), std::move(wanted));
    };
    if (n.state && n.state->future) {
      notes_.add("State=FUTURE, not there yet; left out.", n.name);
      return {};
    }
    machine_report m;
    m.place = n.place;
    m.name = n.name;
    if (!n.hostname.empty() && n.hostname != n.name) m.aliases.push_back(n.hostname);
    m.shape = n.instance_type;
    if (n.cpus) m.cpu = cpus(static_cast<std::int64_t>(*n.cpus));
    if (n.memory_mib) m.memory = mebibytes(static_cast<std::int64_t>(*n.memory_mib));
    for (const auto& f : n.features) m.labels.push_back(f);
    for (const auto& p : n.partitions) m.labels.push_back("partition=" + p);
    auto gres = parse_gres(n.gres, where);
    if (!gres) return unexpected{std::move(gres).error()};
    if (!n.gres.empty()) {
      unsigned total = 0;
      for (const auto& g : gres->gpus) total += g.count;
      m.gpus = total;
      if (gres->gpus.size() == 1) m.gpu_model = gpu_model_of(gres->gpus[0].type, model_ids_);
      if (gres->gpus.size() > 1) {
        m.inside.emplace();
        for (const auto& g : gres->gpus)
          for (unsigned i = 0; i < g.count; ++i) {
            const auto v =
                add_part(*m.inside, vertex_kind::gpu, static_cast<std::uint32_t>(boost::num_vertices(*m.inside)));
            (*m.inside)[v].model = gpu_model_of(g.type, model_ids_);
          }
        m.same_inside = n.gres;
      }
      if (add_other_gres(m, gres->others))
        notes_.add("MIG devices are no whole GPUs and are not counted as such.", n.name);
    }
    if (n.state) {
      m.usable = n.state->usable;
      if (!n.state->usable) notes_.add("down, drained or out of reach; nothing is placed there.", n.name);
      if (n.state->drained) m.labels.emplace_back(drain_taint);
    }
    if (!n.reservation.empty() || (n.state && n.state->reserved)) {
      m.labels.push_back(reservation_taint(n.reservation));
      notes_.add("in a reservation; only jobs that name it are placed there.", n.name);
    }
    if (auto ok = add_held(n, m.gpus.value_or(0), where); !ok) return ok;
    labels_ += m.labels.size();
    if (labels_ > max_labels)
      return unexpected{where("more than " + std::to_string(max_labels) + " labels in all", "fewer")};
    out_.machines.push_back(std::move(m));
    return {};
  }
  /// Writes the assumptions. Call once, at the end.
  void finish() {
    if (not_used_)
      out_.assumptions.emplace_back("What runs is taken from the list of jobs; the sums that nodes show are not used.");
    for (const auto& h : out_.held) {
      if (h.rest_of_gpus)
        notes_.add("jobs run there, and which GPUs they hold is not stated; all are taken to be held.", h.machine);
      if (h.rest_of_cpu)
        notes_.add("jobs run there, and how many CPUs they hold is not stated; all are taken to be held.", h.machine);
    }
    for (auto& s : notes_.sentences()) out_.assumptions.push_back(std::move(s));
  }

 private:
  template <class Fault>
  [[nodiscard]] expected<void, input_error> add_held(const live_node& n, std::uint64_t gpus_of_node, Fault where) {
    const auto tres = parse_tres(n.allocated_tres);
    if (!tres)
      return unexpected{
          where("allocated TRES " + io_text::quoted(n.allocated_tres), "such as cpu=96,mem=112G,gres/gpu=8")};
    const auto used = parse_used(n.gres_used, where);
    if (!used) return unexpected{used.error()};
    holding_report h;
    h.place = n.place;
    h.job = "running on " + n.name;
    h.machine = n.name;
    const std::uint64_t gpus = is_nothing(n.allocated_tres) ? used->count : tres->gpus;
    if (gpus > max_devices_per_node) return unexpected{where(std::to_string(gpus) + " GPUs in use", "at most 64")};
    h.gpus = static_cast<std::uint32_t>(gpus);
    if (used->devices && used->count == gpus) h.devices = used->devices;
    h.cpu = cpus(static_cast<std::int64_t>(n.allocated_cpus.value_or(tres->cpus)));
    const std::uint64_t mib = n.allocated_mib.value_or(tres->mib);
    if (mib > (std::uint64_t{1} << 32))
      return unexpected{where(std::to_string(mib) + " MiB in use", "less than 4 PiB")};
    h.memory = mebibytes(static_cast<std::int64_t>(mib));
    auto parts = parts_used(n.gres_used, n.gres, gpus_of_node, where);
    if (!parts) return unexpected{std::move(parts).error()};
    h.parts = std::move(*parts);
    // A state says that jobs run there, but not what they have: then none of it is free.
    const bool full = n.state && n.state->full, busy = n.state && (n.state->full || n.state->in_use);
    const bool gpus_stated = (!n.gres.empty() && gpus_of_node == 0) || !n.gres_used.empty() ||
                             (!is_nothing(n.allocated_tres) && counts_gpus(n));
    h.rest_of_gpus = busy && (!gpus_stated || (full && !n.allocated_cpus));
    h.rest_of_cpu = busy && !n.allocated_cpus && (full || h.rest_of_gpus);
    if (h.rest_of_gpus) h.devices.reset();
    if (h.gpus == 0 && h.cpu.count() == 0 && h.memory.count() == 0 && h.parts.empty() && !h.rest_of_gpus &&
        !h.rest_of_cpu)
      return {};
    if (jobs_are_known_) {
      not_used_ = true;
      return {};
    }
    // Two commands about one node say the same use twice, one perhaps in less detail.
    const auto [it, fresh] = held_at_.emplace(n.name, out_.held.size());
    if (fresh) {
      out_.held.push_back(std::move(h));
      return {};
    }
    holding_report& known = out_.held[it->second];
    if (h.gpus > known.gpus || (h.gpus == known.gpus && !known.devices)) known.devices = h.devices;
    known.gpus = std::max(known.gpus, h.gpus);
    known.cpu = std::max(known.cpu, h.cpu);
    known.memory = std::max(known.memory, h.memory);
    if (known.parts.empty()) known.parts = std::move(h.parts);
    known.rest_of_gpus = known.rest_of_gpus && h.rest_of_gpus;
    known.rest_of_cpu = known.rest_of_cpu && h.rest_of_cpu;
    return {};
  }

  /// Whether allocated TRES count GPUs: they do where `AccountingStorageTRES` has gres/gpu, and then those configured
  /// do too.
  [[nodiscard]] static bool counts_gpus(const live_node& n) {
    return n.allocated_tres.find("gres/gpu") != std::string::npos ||
           n.configured_tres.find("gres/gpu") != std::string::npos;
  }

  site_report& out_;
  const std::vector<std::string>& model_ids_;
  bool jobs_are_known_;
  bool not_used_ = false;
  std::size_t labels_ = 0;
  std::unordered_map<std::string, std::size_t> held_at_;
  assumption_list notes_;
};

}  // namespace berth::slurm_detail
