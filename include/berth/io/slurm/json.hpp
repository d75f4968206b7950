#pragma once
/// \file
/// Slurm's `--json` output: `scontrol show nodes --json`, `sinfo --json`, `squeue --json`. Needs nlohmann-json (and
/// yaml-cpp, through `io/yaml_document.hpp`).
///
/// Nodes     `nodes` of scontrol and of old sinfo (21.08): one object per node. `sinfo` of newer ones: one object per
///           group of nodes alike, of which sums over the group are passed over.
/// Jobs      running and suspended jobs hold what `job_resources` says node by node, else an even share of
///           `tres_alloc_str`; which GPUs from `gres_detail` (…(IDX:0-3)), one entry per node. Pending jobs become
///           gangs of `node_count` tasks with an even share of `tres_req_str`. Others are over.
/// Numbers   plain, or `{"set": …, "infinite": …, "number": …}` as since 23.02; words or lists of words alike.
/// Source    slurm src/plugins/data_parser (v0.0.37 to v0.0.42)

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "berth/core/error.hpp"
#include "berth/core/expected.hpp"
#include "berth/io/hostlist.hpp"
#include "berth/io/job_spec.hpp"
#include "berth/io/json_document.hpp"
#include "berth/io/site_report.hpp"
#include "berth/io/slurm/live_nodes.hpp"

namespace berth {

namespace slurm_detail {

class slurm_json_reader {
 public:
  slurm_json_reader(const std::string& source, std::size_t max_nodes) : source_{source}, most_{max_nodes} {}

  std::vector<live_node> nodes;
  std::vector<holding_report> held;
  std::vector<job_spec> jobs;
  std::vector<std::string> notes;

  [[nodiscard]] expected<void, input_error> read(const json_value& root) {
    if (root.type != json_value::kind::object)
      return fail(root, root.described(), "an object with nodes, sinfo or jobs");
    const json_value* list = root.find("nodes");
    const json_value* groups = root.find("sinfo");
    const json_value* job_list = root.find("jobs");
    if (list == nullptr && groups == nullptr && job_list == nullptr)
      return fail(root, "an object without nodes, sinfo or jobs", "the --json output of scontrol, sinfo or squeue");
    for (const auto* l : {list, groups, job_list})
      if (l != nullptr && l->type != json_value::kind::array) return fail(*l, l->described(), "a list");
    if (list != nullptr)
      for (const auto& n : list->items)
        if (auto ok = add_node(n); !ok) return ok;
    if (groups != nullptr)
      for (const auto& g : groups->items)
        if (auto ok = add_group(g); !ok) return ok;
    if (job_list != nullptr)
      for (const auto& j : job_list->items)
        if (auto ok = add_job(j); !ok) return ok;
    if (over_ != 0) notes.push_back(io_text::counted(over_, "job") + " that are over; left out.");
    return {};
  }

 private:
  using status = expected<void, input_error>;

  [[nodiscard]] unexpected<input_error> fail(const json_value& at, std::string found, std::string wanted) const {
    return unexpected{input_error{source_, at.line, std::move(found), std::move(wanted)}};
  }
  [[nodiscard]] static std::string word(const json_value* v) {
    return v != nullptr && v->type == json_value::kind::string ? v->text : std::string{};
  }
  /// A number in either form; nothing where it is not set.
  [[nodiscard]] static std::optional<std::uint64_t> number(const json_value* v) {
    if (v == nullptr) return std::nullopt;
    if (v->type == json_value::kind::object) {
      const auto* set = v->find("set");
      if (set != nullptr && set->type == json_value::kind::boolean && !set->boolean) return std::nullopt;
      return number(v->find("number"));
    }
    if (v->type != json_value::kind::integer || v->integer < 0) return std::nullopt;
    return static_cast<std::uint64_t>(v->integer);
  }
  /// "a,b" or ["a", "b"].
  [[nodiscard]] static std::vector<std::string> words(const json_value* v) {
    if (v == nullptr) return {};
    if (v->type == json_value::kind::string) return word_list(v->text);
    std::vector<std::string> out;
    if (v->type == json_value::kind::array)
      for (const auto& i : v->items)
        if (i.type == json_value::kind::string && !is_nothing(i.text)) out.push_back(i.text);
    return out;
  }
  [[nodiscard]] std::optional<input_error> state_of(const json_value& v, const json_value* state,
                                                    const json_value* flags, live_node& n) const {
    std::string text;
    for (const auto* part : {state, flags})
      for (const auto& w : words(part)) {
        if (!text.empty()) text += '+';
        text += io_text::lower(io_text::trim(w));
      }
    if (text.empty()) return std::nullopt;
    n.state.emplace();
    if (read_state(text, *n.state)) return std::nullopt;
    return input_error{source_, v.line, "state " + io_text::quoted(text), "a state such as idle, mixed or down"};
  }
  [[nodiscard]] std::optional<input_error> bounded(const json_value& v, const live_node& n) const {
    const auto beyond = [](const std::optional<std::uint64_t>& x, std::uint64_t most) { return x && *x > most; };
    constexpr auto cpus_most = static_cast<std::uint64_t>(io_text::max_cpus);
    if (!beyond(n.cpus, cpus_most) && !beyond(n.allocated_cpus, cpus_most) &&
        !beyond(n.memory_mib, std::uint64_t{1} << 32) && !beyond(n.allocated_mib, std::uint64_t{1} << 32))
      return std::nullopt;
    return input_error{source_, v.line, "more CPUs or memory than any machine has", "a million CPUs, 4 PiB"};
  }

  [[nodiscard]] status push(live_node n, const json_value& at) {
    if (n.name.empty() || n.name.size() > max_host_name || io_text::find_bad_utf8(n.name))
      return fail(at, "node " + io_text::quoted(n.name), "a host name");
    if (nodes.size() >= most_) return fail(at, "more than " + std::to_string(most_) + " nodes", "fewer");
    const auto [it, fresh] = index_.emplace(n.name, nodes.size());
    if (fresh) {
      nodes.push_back(std::move(n));
      return {};
    }
    if (!add_row(nodes[it->second], n)) return fail(at, "a node in more than 1000 partitions", "fewer");
    return {};
  }

  [[nodiscard]] status add_node(const json_value& v) {
    if (v.type != json_value::kind::object) return fail(v, v.described(), "a node");
    live_node n;
    n.place = {source_, v.line};
    n.name = word(v.find("name"));
    n.hostname = word(v.find("hostname"));
    n.instance_type = word(v.find("instance_type"));
    n.cpus = number(v.find("effective_cpus"));
    if (!n.cpus) n.cpus = number(v.find("cpus"));
    n.memory_mib = number(v.find("real_memory"));
    if (const auto spec = number(v.find("specialized_memory")); spec && n.memory_mib && *spec < *n.memory_mib)
      *n.memory_mib -= *spec;
    n.allocated_cpus = number(v.find("alloc_cpus"));
    n.allocated_mib = number(v.find("alloc_memory"));
    n.allocated_tres = word(v.find("tres_used"));
    n.configured_tres = word(v.find("tres"));
    if (v.find("gres") != nullptr) {
      const std::string gres = word(v.find("gres"));
      n.gres = is_nothing(gres) ? "(null)" : gres;
    }
    if (const std::string used = word(v.find("gres_used")); !is_nothing(used)) n.gres_used = used;
    n.features = words(v.find("active_features"));
    if (n.features.empty()) n.features = words(v.find("features"));
    n.partitions = words(v.find("partitions"));
    if (const std::string name = word(v.find("reservation")); !is_nothing(name)) n.reservation = name;
    if (auto bad = state_of(v, v.find("state"), v.find("state_flags"), n)) return unexpected{std::move(*bad)};
    if (auto bad = bounded(v, n)) return unexpected{std::move(*bad)};
    return push(std::move(n), v);
  }

  [[nodiscard]] status add_group(const json_value& v) {
    if (v.type != json_value::kind::object) return fail(v, v.described(), "a group of nodes");
    const auto part = [&](const char* key, const char* inner) -> const json_value* {
      const json_value* o = v.find(key);
      return o == nullptr ? nullptr : o->find(inner);
    };
    live_node n;
    n.place = {source_, v.line};
    const auto smallest = number(part("cpus", "minimum")), largest = number(part("cpus", "maximum"));
    if (smallest && smallest == largest) n.cpus = largest;
    const auto least = number(part("memory", "minimum")), most = number(part("memory", "maximum"));
    if (least && least == most) n.memory_mib = most;
    if (part("gres", "total") != nullptr) {
      const std::string gres = word(part("gres", "total"));
      n.gres = is_nothing(gres) ? "(null)" : gres;
    }
    n.features = words(part("features", "active"));
    if (n.features.empty()) n.features = words(part("features", "total"));
    if (const std::string p = word(part("partition", "name")); !p.empty()) n.partitions.push_back(p);
    if (auto bad = state_of(v, part("node", "state"), nullptr, n)) return unexpected{std::move(*bad)};
    if (auto bad = bounded(v, n)) return unexpected{std::move(*bad)};
    std::vector<std::string> names;
    if (const auto* list = part("nodes", "nodes"); list != nullptr) {
      for (const auto& text : words(list)) {
        auto some = expand_hostlist(text, most_);
        if (!some) return unexpected{some.error().at(source_, list->line)};
        names.insert(names.end(), some->begin(), some->end());
        if (names.size() > most_) return fail(*list, "more than " + std::to_string(most_) + " nodes", "fewer");
      }
    }
    for (auto& name : names) {
      live_node one = n;
      one.name = std::move(name);
      if (auto ok = push(std::move(one), v); !ok) return ok;
    }
    return {};
  }

  [[nodiscard]] status add_job(const json_value& v) {
    if (v.type != json_value::kind::object) return fail(v, v.described(), "a job");
    const auto id = number(v.find("job_id"));
    if (!id) return fail(v, "a job without job_id", "job_id: a number");
    const auto states = words(v.find("job_state"));
    const std::string state = states.empty() ? "" : io_text::lower(states.front());
    if (state == "pending") return add_pending(v, *id);
    if (state == "running" || state == "suspended" || state == "completing" || state == "configuring")
      return add_running(v, *id);
    if (state.empty()) return fail(v, "job " + std::to_string(*id) + " without a state", "job_state");
    ++over_;
    return {};
  }

  [[nodiscard]] expected<tres_amounts, input_error> tres(const json_value& v, const char* key) const {
    const std::string text = word(v.find(key));
    const auto amounts = parse_tres(text);
    if (!amounts) return fail(v, std::string{key} + " " + io_text::quoted(text), "such as cpu=96,mem=112G,gres/gpu=8");
    return *amounts;
  }

  [[nodiscard]] status add_running(const json_value& v, std::uint64_t id) {
    const std::string list = word(v.find("nodes"));
    if (list.empty()) return {};
    auto names = expand_hostlist(list, most_);
    if (!names) return unexpected{names.error().at(source_, v.line)};
    held_names_ += names->size();
    if (held_names_ > most_ * 2)
      return fail(v, "jobs on more than " + std::to_string(most_ * 2) + " nodes in all", "fewer");
    const auto whole = tres(v, "tres_alloc_str");
    if (!whole) return unexpected{whole.error()};
    const json_value* resources = v.find("job_resources");
    const json_value* by_node = resources == nullptr ? nullptr : resources->find("allocated_nodes");
    const json_value* detail = v.find("gres_detail");
    const std::size_t n = names->size();
    if (whole->gpus % n != 0 && (detail == nullptr || detail->items.size() != n))
      return fail(
          v, std::to_string(whole->gpus) + " GPUs of job " + std::to_string(id) + " on " + io_text::counted(n, "node"),
          "gres_detail, which says how many each node gives");
    for (std::size_t i = 0; i < n; ++i) {
      holding_report h;
      h.place = {source_, v.line};
      h.job = "slurm job " + std::to_string(id);
      h.machine = (*names)[i];
      // Rounded up, so that no more is free than is.
      std::uint64_t cpus_here = (whole->cpus + n - 1) / n, mib = (whole->mib + n - 1) / n, gpus = whole->gpus / n;
      if (const json_value* mine = by_node == nullptr ? nullptr : node_entry(*by_node, i, h.machine)) {
        if (const auto c = number(mine->find("cpus"))) cpus_here = *c;
        if (const auto m = number(mine->find("memory"))) mib = *m;
      }
      if (detail != nullptr && detail->items.size() == n) {
        const auto used = parse_used(word(&detail->items[i]), [&](std::string found, std::string wanted) {
          return input_error{source_, detail->items[i].line, std::move(found), std::move(wanted)};
        });
        if (!used) return unexpected{used.error()};
        gpus = used->count;
        h.devices = used->devices;
      }
      if (gpus > max_devices_per_node || cpus_here > static_cast<std::uint64_t>(io_text::max_cpus) ||
          mib > (std::uint64_t{1} << 32))
        return fail(v, "more on one node than any machine has", "at most 64 GPUs, a million CPUs, 4 PiB");
      h.gpus = static_cast<std::uint32_t>(gpus);
      h.cpu = cpus(static_cast<std::int64_t>(cpus_here));
      h.memory = mebibytes(static_cast<std::int64_t>(mib));
      held.push_back(std::move(h));
    }
    return {};
  }
  /// `allocated_nodes` is an object by position, or a list with `nodename`.
  [[nodiscard]] static const json_value* node_entry(const json_value& by_node, std::size_t i, const std::string& name) {
    if (by_node.type == json_value::kind::object) return by_node.find(std::to_string(i));
    if (by_node.type == json_value::kind::array && i < by_node.items.size()) {
      const json_value& e = by_node.items[i];
      const std::string stated = word(e.find("nodename"));
      if (stated.empty() || stated == name) return &e;
    }
    return nullptr;
  }

  [[nodiscard]] status add_pending(const json_value& v, std::uint64_t id) {
    const auto asked = tres(v, "tres_req_str");
    if (!asked) return unexpected{asked.error()};
    std::uint64_t n = number(v.find("node_count")).value_or(1);
    if (n == 0) n = 1;
    if (n > max_tasks) return fail(v, std::to_string(n) + " nodes", "fewer than ten million");
    job_spec j;
    j.name = "slurm job " + std::to_string(id);
    group_spec g;
    g.name = "nodes";
    g.wanted = g.minimum = static_cast<std::uint32_t>(n);
    const std::uint64_t gpus = (asked->gpus + n - 1) / n;
    if (asked->gpus % n != 0)
      notes.push_back("Job " + std::to_string(id) + " asks for " + std::to_string(asked->gpus) + " GPUs on " +
                      std::to_string(n) + " nodes; taken to be " + std::to_string(gpus) + " on each.");
    if (gpus > max_tasks) return fail(v, std::to_string(gpus) + " GPUs on a node", "fewer");
    const std::uint64_t cpus_each = (asked->cpus + n - 1) / n, mib = (asked->mib + n - 1) / n;
    if (cpus_each > static_cast<std::uint64_t>(io_text::max_cpus) || mib > (std::uint64_t{1} << 32))
      return fail(v, "more on one node than any machine has", "a million CPUs, 4 PiB");
    g.gpus = static_cast<std::uint32_t>(gpus);
    g.cpu = cpus(static_cast<std::int64_t>(cpus_each));
    g.memory = mebibytes(static_cast<std::int64_t>(mib));
    if (g.gpus == 0 && g.cpu.count() == 0 && g.memory.count() == 0) return {};
    if (const std::string p = word(v.find("partition")); !p.empty() && p.find(',') == p.npos)
      g.labels.push_back("partition=" + p);
    // Plain conjunctions are labels; "a|b", counts and brackets are a choice that labels cannot say.
    const std::string features = word(v.find("features"));
    if (!features.empty() && features.find_first_of("|[]()*!") == features.npos) {
      for (std::string_view rest = features;;) {
        const std::size_t mark = rest.find_first_of("&,");
        if (const auto f = io_text::trim(rest.substr(0, mark)); !f.empty()) g.labels.emplace_back(f);
        if (mark == rest.npos) break;
        rest.remove_prefix(mark + 1);
      }
    } else if (!features.empty()) {
      notes.push_back("Job " + std::to_string(id) + " asks for features " + io_text::quoted(features) +
                      ", which is not read.");
    }
    j.groups.push_back(std::move(g));
    jobs.push_back(std::move(j));
    return {};
  }

  const std::string& source_;
  std::size_t most_;
  std::unordered_map<std::string, std::size_t> index_;
  std::size_t over_ = 0, held_names_ = 0;
};

}  // namespace slurm_detail

/// Whether the text is Slurm's `--json` output about nodes or jobs.
[[nodiscard]] inline bool looks_like_slurm_json(std::string_view text) noexcept {
  std::size_t i = text.find_first_not_of(" \t\r\n");
  if (i == std::string_view::npos || text[i] != '{') return false;
  const std::string_view head = text.substr(0, std::size_t{1} << 16);
  const bool nodes = head.find("\"real_memory\"") != head.npos || head.find("\"sinfo\"") != head.npos;
  const bool jobs = head.find("\"job_state\"") != head.npos && head.find("\"job_id\"") != head.npos;
  const bool tail = text.size() > head.size() && text.substr(text.size() - 4096).find("lurm") != text.npos;
  return (nodes || jobs) && (head.find("lurm") != head.npos || tail);
}

}  // namespace berth
