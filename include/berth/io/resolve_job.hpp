#pragma once
/// \file
/// From a job in words to a gang on a concrete cluster: names of levels, GPU models and labels become ids and filters.

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "berth/cluster/cluster.hpp"
#include "berth/cluster/node_filter.hpp"
#include "berth/core/bits.hpp"
#include "berth/core/error.hpp"
#include "berth/core/expected.hpp"
#include "berth/io/job_spec.hpp"
#include "berth/io/resolve_parts.hpp"
#include "berth/io/text.hpp"
#include "berth/io/unknown_amounts.hpp"
#include "berth/job/gang.hpp"
#include "berth/topology/level_names.hpp"

namespace berth {

namespace job_detail {

/// "cluster, spine or leaf"
[[nodiscard]] inline std::string any_of(const std::vector<std::string>& words) {
  std::string out;
  for (std::size_t i = 0; i < words.size(); ++i)
    out += (i == 0 ? "" : i + 1 == words.size() ? " or " : ", ") + words[i];
  return out;
}

/// Words that mean a node, which is no level of the domain tree.
[[nodiscard]] inline bool means_node(std::string_view word) noexcept {
  return io_text::equal_nocase(word, "node") || io_text::equal_nocase(word, "host") || word == "kubernetes.io/hostname";
}

/// The level of that name; else the only one that the word means: `tier 2` counts from the leaves up (1), words for
/// NVLink domains mean the outermost level of those, and `cloud.example.com/topology-rack` means `rack` where no other
/// level ends in it.
[[nodiscard]] inline expected<level_id, input_error> resolve_level(const placed_word& name, const domain_tree& tree,
                                                                   const std::string& source) {
  if (const auto l = tree.find_level(name)) return *l;
  const std::uint8_t count = tree.level_count();
  if (name.starts_with("tier ")) {
    if (const auto l = tree.find_level("tier-" + name.substr(5))) return *l;
    if (const auto l = tree.find_level("tier" + name.substr(5))) return *l;
    const auto n = io_text::parse_count(std::string_view{name}.substr(5), 255);
    if (n && *n >= 1 && *n < count) return level_id{static_cast<std::uint8_t>(count - *n)};
    if (n && *n >= count) return level_id{0};  // wider than everything there is
  }
  if (name == "nvlink" || is_nvlink_label(name) || name == "nvidia.com/gpu.imex-domain" ||
      name == "topograph.nvidia.com/accelerator")
    for (std::uint8_t l = 1; l < count; ++l)
      if (is_nvlink_level(tree.level_name(level_id{l}))) return level_id{l};
  const auto last_word = [](std::string_view s) {
    const std::size_t at = s.find_last_of("/-._");
    return at == std::string_view::npos ? s : s.substr(at + 1);
  };
  std::optional<level_id> found;
  bool several = false;
  for (std::uint8_t l = 1; l < count; ++l)
    if (io_text::equal_nocase(last_word(tree.level_name(level_id{l})), last_word(name))) {
      several = found.has_value();
      found = level_id{l};
    }
  if (found && !several) return *found;
  std::vector<std::string> levels;
  for (std::uint8_t l = 0; l < count; ++l) levels.push_back(tree.level_name(level_id{l}));
  return unexpected{input_error{source, name.line, "level " + io_text::quoted(name), any_of(levels)}};
}

/// A model as catalogues write it: "NVIDIA A100-SXM4-80GB" is "a100-sxm4-80gb".
[[nodiscard]] inline std::string plain_model(std::string_view word) {
  std::string s = io_text::lower(word);
  for (char& c : s)
    if (c == ' ' || c == '_') c = '-';
  for (const std::string_view maker : {"nvidia-", "amd-", "tesla-"})
    if (s.starts_with(maker)) s.erase(0, maker.size());
  return s;
}

/// The models of the cluster that a word means: the model of that name, or all that begin with it ("h100" for
/// "h100-sxm5-80gb"). Empty where no model does.
[[nodiscard]] inline std::vector<std::string> models_of(std::string_view word, const std::vector<std::string>& all) {
  std::vector<std::string> out;
  for (const auto& m : all)
    if (io_text::equal_nocase(m, word)) return {m};
  const std::string plain = plain_model(word);
  for (const auto& m : all)
    if (plain_model(m) == plain) out.push_back(m);
  if (!out.empty()) return out;
  for (const auto& m : all)
    if (plain_model(m).starts_with(plain + "-")) out.push_back(m);
  return out;
}

[[nodiscard]] inline std::vector<std::string> models_in(const cluster& c) {
  std::vector<std::string> out;
  for (const auto& s : c.shapes())
    for (const auto& m : s.models) {
      bool known = m.empty();
      for (const auto& o : out) known = known || o == m;
      if (!known) out.push_back(m);
    }
  return out;
}

/// The labels of the cluster that a pattern means (`key=*`, `key>8`, `key<8`), or the label itself.
[[nodiscard]] inline std::vector<std::string> labels_of(const std::string& pattern, const cluster& c) {
  const bool any = pattern.ends_with("=*");
  const std::size_t at = any ? pattern.size() - 2 : pattern.find_last_of("<>");
  if (at == std::string::npos) return {pattern};
  const std::string key = pattern.substr(0, at);
  const auto number =
      any ? std::optional<std::uint64_t>{} : io_text::parse_count(std::string_view{pattern}.substr(at + 1));
  if (!any && !number) return {pattern};
  const std::uint64_t bound = number.value_or(0);
  std::vector<std::string> out;
  for (const node_class& k : c.classes())
    for (const auto& label : k.labels) {
      bool fits = any && label == key;
      if (label.starts_with(key + "=")) {
        const auto n = io_text::parse_count(std::string_view{label}.substr(at + 1));
        fits = any || (n && (pattern[at] == '>' ? *n > bound : *n < bound));
      }
      for (const auto& o : out) fits = fits && o != label;
      if (fits) out.push_back(label);
    }
  if (out.empty()) out.push_back(pattern);  // no node has it
  return out;
}

/// Resources that are no devices of the placer and do not decide where a GPU job runs on an otherwise fit node.
[[nodiscard]] inline bool beside_devices(std::string_view name) noexcept {
  return name == "ephemeral-storage" || name == "pods" || name.starts_with("hugepages-") || name.starts_with("rdma/") ||
         name.starts_with("license:") || name.find("efa") != std::string_view::npos ||
         name.find("hca") != std::string_view::npos || name.find("rdma") != std::string_view::npos ||
         name.ends_with("_nic") || name.find("networking") != std::string_view::npos || name == "tmp-disk";
}

/// Counts of a shared GPU under the names that they have elsewhere: Slurm's `shard`, and `nvidia.com/gpu.shared` of
/// NVIDIA's device plug-in.
[[nodiscard]] inline bool counts_shards(std::string_view name) noexcept {
  return io_text::equal_nocase(name, "shard") || io_text::equal_nocase(name, "gres/shard");
}
[[nodiscard]] inline bool counts_replicas(std::string_view name) noexcept {
  return name == "nvidia.com/gpu.shared";
}

/// Makes replicas of such counts, where the GPUs that the group may get are shared so; leaves them elsewhere.
inline void read_shared_counts(group_spec& g, const cluster& c, const std::vector<std::string>& models) {
  bool shards = false, replicas = false;
  if (c.inside().parts().is_on())
    for (const part_model& m : c.inside().parts().catalogue().models) {
      if (!m.shares || !may_get(models, m.name)) continue;
      shards = shards || m.terms.mode == share_mode::shards;
      replicas = replicas || m.terms.mode == share_mode::time_slice || m.terms.even_split;
    }
  for (std::size_t i = 0; i < g.other.size(); ++i) {
    const named_count& o = g.other[i];
    if (g.gpu_replicas != 0 || o.count < 1 ||
        !((shards && counts_shards(o.name)) || (replicas && counts_replicas(o.name))))
      continue;
    g.gpu_replicas = static_cast<std::uint32_t>(o.count < 1'000'000 ? o.count : 1'000'000);
    g.other.erase(g.other.begin() + static_cast<std::ptrdiff_t>(i--));
  }
}

/// What the placer cannot serve of a group, as {found, expected}.
[[nodiscard]] inline std::optional<std::pair<std::string, std::string>> unserved(const group_spec& g) {
  using fault = std::pair<std::string, std::string>;
  const std::string who = "group " + io_text::quoted(g.name) + " asking for ";
  for (const auto& o : g.other)
    if (!beside_devices(o.name))
      return fault{who + std::to_string(o.count) + " x " + io_text::quoted(o.name),
                   counts_shards(o.name) ? "GPUs that are shared in shards, and one such count"
                   : counts_replicas(o.name)
                       ? "GPUs in replicas, time-sliced or of the MPS of the device plug-in, and one such count"
                       : "GPUs, CPUs and memory: the placer does not count other resources yet"};
  for (const auto& s : g.spread)
    if (s.required)
      return fault{"group " + io_text::quoted(g.name) + " with rules of spreading over " + io_text::quoted(s.level),
                   "no such rules: a gang cannot hold them, `resolve_spread_job` reads them"};
  if (!g.only_nodes.empty() || !g.not_nodes.empty())
    return fault{"group " + io_text::quoted(g.name) + " that names the nodes it wants or does not want",
                 "labels: the placer does not choose by host name yet"};
  return std::nullopt;
}

/// The filter of a group.
[[nodiscard]] inline expected<node_filter, input_error> filter_of(const group_spec& s, const cluster& c,
                                                                  const std::vector<std::string>& known_models,
                                                                  const std::string& source) {
  node_filter f;
  std::vector<std::vector<std::string>> choices;
  for (const auto& l : s.labels) choices.push_back(labels_of(l, c));
  for (const auto& any : s.any_labels) {
    auto& all = choices.emplace_back();
    for (const auto& l : any)
      for (auto& m : labels_of(l, c)) all.push_back(std::move(m));
  }
  for (auto& choice : choices) {
    if (choice.size() == 1) {
      f.all_of.push_back(std::move(choice.front()));
    } else if (f.any_of.empty() || f.any_of == choice) {
      f.any_of = std::move(choice);
    } else {
      return unexpected{input_error{source, 0, "group " + io_text::quoted(s.name) + " with several choices of labels",
                                    "one: the placer's filters hold one list of which a node must have a label"}};
    }
  }
  for (const auto& l : s.not_labels)
    for (auto& m : labels_of(l, c)) f.none_of.push_back(std::move(m));
  for (const node_class& k : c.classes())
    for (const auto& l : k.labels) f.taints = f.taints || is_taint(l);
  if (f.taints) f.tolerations = s.tolerations;
  if (s.gpu_model.empty()) return f;
  const std::vector<std::string> models = models_in(c);
  f.models = models_of(s.gpu_model, models);
  if (!f.models.empty()) return f;
  if (models_of(s.gpu_model, known_models).empty())
    return unexpected{input_error{source, s.gpu_model.line, "GPU model " + io_text::quoted(s.gpu_model),
                                  models.empty() ? "no model: the cluster's files name none" : any_of(models)}};
  f.models = {s.gpu_model};
  return f;
}

/// What the nodes that could ever hold a task of a group have.
struct node_totals {
  bool any = false, alike = true;
  std::uint32_t gpus = 0;  ///< most that one has
  cpu_millis cpu{};        ///< most that one has
};
[[nodiscard]] inline node_totals totals_of(const group_spec& s, const node_filter& f, const cluster& c) {
  node_totals t;
  for (const node_class& k : c.classes()) {
    const eligibility e = evaluate(f, k, c.shapes()[k.shape.index()]);
    const auto gpus = static_cast<std::uint32_t>(count_bits(e.devices));
    if (!e.admits || gpus < s.gpus || k.cpu < s.cpu || k.memory < s.memory) continue;
    t.alike = t.alike && (!t.any || (gpus == t.gpus && k.cpu == t.cpu));
    t.any = true;
    if (gpus > t.gpus) t.gpus = gpus;
    if (k.cpu > t.cpu) t.cpu = k.cpu;
  }
  return t;
}

/// Sets how many tasks of a group a node may hold; tasks that want their nodes for themselves are made as large as
/// those.
[[nodiscard]] inline std::optional<input_error> settle_per_node(const group_spec& s, const node_filter& f,
                                                                const cluster& c, task_shape& shape,
                                                                const std::string& source) {
  if (!s.exclusive && s.per_node == 0) return std::nullopt;
  const std::string who = "group " + io_text::quoted(s.name);
  const node_totals t = totals_of(s, f, c);
  if (!t.any) return std::nullopt;  // never placeable, as `explain` says better
  const std::uint32_t per_node = s.per_node == 0 ? 1 : s.per_node;
  if (s.exclusive) {
    if (s.per_node != 1)
      return input_error{
          source, 0,
          who + " on exclusive nodes, with " + (s.per_node == 0 ? "any number" : "several") + " of its tasks on a node",
          "one task per node: the placer cannot keep others away from nodes that tasks share"};
    if (!t.alike)
      return input_error{source, 0, who + " on exclusive nodes",
                         "nodes with equal GPUs and CPUs, so that a task can take all of them; labels or a GPU model "
                         "may restrict it to such nodes"};
    shape.devices = t.gpus;
    shape.cpu = t.cpu;
    return std::nullopt;
  }
  // Tasks so large that no more fit need no limit, and share their counters with others of their size.
  const auto more_than = [&](std::uint64_t one, std::uint64_t most) {
    return one * (per_node + 1ULL) > most && one != 0;
  };
  const bool large = more_than(shape.devices, t.gpus) || more_than(static_cast<std::uint64_t>(shape.cpu.count()),
                                                                   static_cast<std::uint64_t>(t.cpu.count()));
  if (!large && s.wanted > s.per_node) shape.per_node = s.per_node;
  return std::nullopt;
}

}  // namespace job_detail

/// Turns a job into a gang for `c`, registering its filters there.
///
/// A GPU model may be abbreviated; one that neither the cluster nor `known_models` has is an error, one that is merely
/// not in the cluster makes a gang that never fits. A label that no node has does so too: labels are the site's own
/// words. Amounts beyond any machine are kept as they are: the placer refuses them and `explain` says why.
///
/// What the placer cannot serve (other resources, unlike localities of single groups, nodes by name, …)
/// is an error that says so. What does not decide where the gang goes now, and what is asked for more strictly than the
/// job does, is said in `notes`. \param source  what messages call the job: its file, or "--gang" \param notes receives
/// sentences about what was read but does not bind the placer; tools should print them
/// \param ways  how a user states CPUs and memory that no file does, for messages
[[nodiscard]] inline expected<gang, input_error> resolve_job(const job_spec& job, cluster& c,
                                                             const std::vector<std::string>& known_models = {},
                                                             const std::string& source = "job",
                                                             std::vector<std::string>* notes = nullptr,
                                                             const stated_by& ways = {}) {
  const auto refuse = [&](std::string found, std::string wanted, std::size_t line = 0) {
    return unexpected{input_error{source, line, std::move(found), std::move(wanted)}};
  };
  // A fault of a group that names no line of its own is on that of the group.
  const auto of_group = [](const group_spec& s, input_error e) {
    if (e.line == 0) e.line = s.line.is;
    return unexpected{std::move(e)};
  };
  std::vector<std::string> said;
  if (auto f = fault_of(job)) return refuse(std::move(f->first), std::move(f->second));
  gang g;
  g.where = job.where;
  g.between_nodes = job.between_nodes;
  g.rails = job.rails;
  placed_word level = job.level, prefer = job.prefer;
  std::optional<segment_spec> segments = job.segments;
  group_locality own;
  for (const auto& s : job.groups) {
    if (s.own == group_locality{}) continue;
    const bool clashes = job.where != locality::unconstrained || job.segments || s.own.segments.has_value();
    const bool unlike = !(own == group_locality{}) && !(own == s.own);
    if (job.groups.size() != 1 && (clashes || unlike))
      return refuse("group " + io_text::quoted(s.name) + " with a locality of its own",
                    "one locality for the whole gang: the placer does not keep single groups together yet", s.line.is);
    own = s.own;
  }
  if (!(own == group_locality{})) {
    if (job.groups.size() == 1 && (job.where != locality::unconstrained || job.segments))
      return refuse(
          "group " + io_text::quoted(job.groups[0].name) + " with a locality of its own beside that of its gang",
          "one of them", job.groups[0].line.is);
    if (job.groups.size() > 1)
      said.push_back(
          "Single groups ask for a domain of a level each; the whole gang is kept in one, which is more than "
          "they ask for.");
    g.where = !own.within.empty()   ? locality::required
              : !own.prefer.empty() ? locality::preferred
                                    : locality::unconstrained;
    level = !own.within.empty() ? own.within : own.prefer;
    prefer = own.within.empty() ? placed_word{} : own.prefer;
    segments = own.segments;
  }
  const bool one_task = job.groups.size() == 1 && job.groups[0].wanted == 1;
  if (g.where == locality::required && job_detail::means_node(level)) {
    if (!one_task)
      return refuse("level " + io_text::quoted(level) + " for several tasks",
                    "a level of switches: to be on one node, the tasks must be asked for as one task", level.line);
    g.where = locality::unconstrained;
  }
  if (g.where == locality::preferred && job_detail::means_node(level)) {
    g.where = locality::unconstrained;  // the narrowest domain is what the placer tries first in any case
    said.push_back("The wish for a single node is taken as one for few domains.");
  }
  if (g.where != locality::unconstrained) {
    const auto l = job_detail::resolve_level(level, c.tree(), source);
    if (!l) return unexpected{l.error()};
    g.level = *l;
  }
  if (!prefer.empty() && !job_detail::means_node(prefer)) {
    // Inside a required domain the placer takes the narrowest domain that holds the gang, so a narrower wish is met.
    const auto l = job_detail::resolve_level(prefer, c.tree(), source);
    if (!l) return unexpected{l.error()};
    if (g.where == locality::required && *l < g.level)
      said.push_back("The preferred level " + io_text::quoted(prefer) +
                     " is wider than the required one and adds nothing.");
  }
  if (segments) {
    if (job_detail::means_node(segments->level)) {
      if (job.groups.size() != 1 || job.groups[0].wanted != segments->count)
        return refuse("segments of several tasks at level " + io_text::quoted(segments->level),
                      "a level of switches: tasks that belong on one node must be asked for as one task",
                      segments->level.line);
    } else {
      const auto l = job_detail::resolve_level(segments->level, c.tree(), source);
      if (!l) return unexpected{l.error()};
      g.segments = segment_request{segments->count, *l, segments->layout};
    }
  }
  if (job.domains != 0) {
    if (job.domains > 1)
      return refuse("a job on at most " + std::to_string(job.domains) + " switches",
                    "one switch or any number: the placer prefers few but cannot promise a number");
    const level_id leaf{static_cast<std::uint8_t>(c.tree().level_count() - 1)};
    if (g.where != locality::required || g.level < leaf) g.level = leaf;
    g.where = locality::required;
  }
  if (job.exclusive_domain)
    said.push_back("Segments get domains of their own; whether another such job is in a domain already is not known.");
  std::uint64_t total = 0;
  for (const auto& s : job.groups) total += s.wanted;
  const bool all = job.minimum != 0 && (job.minimum == total || job.groups.size() > 1);
  if (all && job.minimum != total)
    said.push_back("At least " + std::to_string(job.minimum) + " of " + std::to_string(total) +
                   " tasks of whichever group would do; all of them are asked for.");
  for (const auto& stated : job.groups) {
    auto f = job_detail::filter_of(stated, c, known_models, source);
    group_spec s = stated;
    if (f) job_detail::read_shared_counts(s, c, f->models);
    if (auto u = job_detail::unserved(s)) return refuse(std::move(u->first), std::move(u->second), s.line.is);
    if (!f) return of_group(s, std::move(f).error());
    task_group t;
    t.name = s.name;
    t.shape = {s.gpus, s.cpu, s.memory, filter_id{0}};
    t.shape.bind = s.bind;
    const auto parts = job_detail::parts_of_group(s, c, source, f->models);
    if (!parts) return of_group(s, parts.error());
    t.shape.part = *parts;
    if (parts->asks()) t.shape.bind = {};  // the part itself says whether it wants a NIC
    if (t.shape.part.asks() && wants_links(g, c.tree()))
      return refuse("group " + io_text::quoted(s.name) +
                        " asking for parts of GPUs, and bandwidth between devices, the "
                        "same rails or one NVLink domain for them",
                    "whole GPUs: MIG instances have neither NVLink nor P2P, and shares are promised no part of a link",
                    s.line.is);
    if (auto wrong = job_detail::settle_per_node(s, *f, c, t.shape, source)) return of_group(s, std::move(*wrong));
    if (auto open = job_detail::unknown_amounts(s, *f, c, source, ways)) return of_group(s, std::move(*open));
    t.shape.filter = c.add_filter(*f);
    t.wanted = s.wanted;
    t.minimum = s.minimum;
    if (all) t.minimum = t.wanted;
    else if (job.minimum != 0 && job.minimum > t.minimum) t.minimum = job.minimum;  // of the only group
    if (g.segments && t.minimum % (t.wanted / g.segments->count) != 0)
      return refuse("group " + io_text::quoted(s.name) + " with a minimum of " + std::to_string(t.minimum) +
                        " tasks in segments of " + std::to_string(t.wanted / g.segments->count),
                    "a minimum that is a whole number of segments", s.line.is);
    g.groups.push_back(std::move(t));
    if (s.most > s.wanted)
      said.push_back("Group " + io_text::quoted(s.name) + " may grow to " + std::to_string(s.most) +
                     " tasks later; it is asked for with " + std::to_string(s.wanted) + ".");
    if (!s.spread.empty())
      said.push_back("Group " + io_text::quoted(s.name) + " has wishes about where it is spread, which do not bind.");
    if (!s.after.empty())
      said.push_back("Group " + io_text::quoted(s.name) + " starts after others; room is asked for all at once.");
    for (const auto& o : s.other)
      said.push_back("Group " + io_text::quoted(s.name) + " asks for " + std::to_string(o.count) + " x " +
                     io_text::quoted(o.name) + " per task, which the placer does not count.");
  }
  if (!job.after.empty())
    said.push_back("The job waits for " + job_detail::any_of(job.after) + "; it is placed as if that were done.");
  if (job.copies > 1)
    said.push_back("One of " + std::to_string(job.copies) + " equal jobs is placed; each is a gang of its own.");
  if (notes != nullptr)
    for (auto& s : said) notes->push_back(std::move(s));
  return g;
}

}  // namespace berth
