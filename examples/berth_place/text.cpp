// The answer for people.

#include "berth/io/text.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "berth/io/hostlist.hpp"
#include "berth/report/tree_text.hpp"
#include "berth/solver/explain_text.hpp"
#include "berth_place/answer.hpp"
#include "shared/words.hpp"

namespace berth_place {

namespace {

using berth::level_id;
using berth::io_text::counted;

constexpr std::size_t width = 110;
constexpr std::size_t most_rows = 40;            // of the table of tasks
constexpr std::uint32_t most_drawn_leaves = 24;  // in a tree that is too large to be drawn whole

// A paragraph broken at blanks, its first line after `first`, the others indented.
std::string wrapped(std::string_view text, std::string first) {
  // Characters, not bytes: UTF-8 continuation bytes take no room.
  const auto length = [](std::string_view s) {
    std::size_t n = 0;
    for (const char c : s) n += (static_cast<unsigned char>(c) & 0xC0U) != 0x80U ? 1 : 0;
    return n;
  };
  const std::string indent(length(first), ' ');
  std::string out, line = std::move(first);
  bool empty = true, glued = false;
  while (!text.empty()) {
    // A piece ends at a blank, or after a comma of a word that is very long (a list of names).
    const std::size_t blank = std::min(text.find(' '), text.size());
    std::size_t end = blank, skip = 1;
    if (blank > width / 2)
      if (const std::size_t comma = text.find(',', width / 4); comma < blank) end = comma + 1, skip = 0;
    const std::string_view piece = text.substr(0, end);
    if (!empty && length(line) + 1 + length(piece) > width) {
      out += line + "\n";
      line = indent;
      empty = true;
    }
    line += (empty || glued ? "" : " ") + std::string{piece};
    empty = false;
    glued = skip == 0;
    text.remove_prefix(std::min(end + skip, text.size()));
  }
  return out + line + "\n";
}

std::string grouped(std::uint64_t n) {
  std::string s = std::to_string(n);
  for (std::size_t i = s.size(); i > 3; i -= 3) s.insert(i - 3, ",");
  return s;
}

struct writer {
  const options& o;
  const site& s;
  const answer& a;
  std::string out{};

  [[nodiscard]] const berth::domain_tree& tree() const { return s.spec.tree; }

  void cluster() {
    std::uint64_t devices = 0;
    std::vector<std::uint32_t> nodes_of(s.spec.shapes.size(), 0);
    for (const auto& n : s.spec.nodes) {
      devices += s.spec.shapes[n.shape.index()].devices;
      ++nodes_of[n.shape.index()];
    }
    std::string kinds;
    std::size_t listed = 0;
    for (std::size_t i = 0; i < nodes_of.size() && listed < 4; ++i)
      if (nodes_of[i] != 0) {
        kinds += (kinds.empty() ? "" : ", ") + grouped(nodes_of[i]) + " x " + s.spec.shapes[i].name;
        ++listed;
      }
    if (nodes_of.size() > listed) kinds += ", …";
    std::string levels;
    for (std::uint8_t l = 1; l < tree().level_count(); ++l) {
      std::uint32_t real = 0;
      for (std::uint32_t d = 0; d < tree().domain_count(level_id{l}); ++d)
        real += tree().at(level_id{l}, berth::domain_id{d}).implicit ? 0U : 1U;
      levels += (levels.empty() ? "" : ", ") + berth_program::counted_domains(real, tree().level_name(level_id{l}));
    }
    out += wrapped(grouped(s.spec.nodes.size()) + (s.spec.nodes.size() == 1 ? " node" : " nodes") + " with " +
                       grouped(devices) + (devices == 1 ? " GPU (" : " GPUs (") + kinds + "); " + levels,
                   "Cluster   ");
    for (const auto& t : s.spec.assumptions) out += wrapped(t, "Assumed   ");
    for (const auto& t : s.conflicts) out += wrapped(t, "Conflict  ");
    for (const auto& t : s.occupied) out += wrapped(t, "Occupied  ");
    for (const auto& t : s.notes) out += wrapped(t, "Note      ");
  }
  void request() {
    for (const auto& t : a.request.groups) {
      std::string line = a.request.groups.size() > 1 ? t.name + ": " : "";
      line += berth_program::counted(t.wanted, "task") + " of " + berth::detail::shape_words(t.shape);
      if (t.shape.part.has_places()) line += " (" + s.live->inside().parts().request(t.shape.part.request()).name + ")";
      if (t.minimum != t.wanted) line += ", at least " + std::to_string(t.minimum);
      const auto& f = s.live->filter(t.shape.filter);
      for (std::size_t i = 0; i < f.models.size(); ++i) line += (i == 0 ? ", on " : " or ") + f.models[i];
      for (const auto& l : f.all_of) line += ", on nodes with " + l;
      if (t.shape.per_node != 0) line += ", at most " + std::to_string(t.shape.per_node) + " on a node";
      out += wrapped(line, &t == &a.request.groups.front() ? "Asked     " : "          ");
    }
    std::string where;
    if (a.request.segments) {
      where = "in " + berth_program::counted(a.request.segments->count, "segment") + ", each within one " +
              tree().level_name(a.request.segments->level);
      if (a.request.segments->layout == berth::segment_layout::spread) where += ", no two in the same";
      if (a.request.segments->layout == berth::segment_layout::consolidate)
        where += ", as many as fit in each that is used";
    }
    if (a.request.where != berth::locality::unconstrained)
      where +=
          std::string{where.empty() ? "" : "; "} +
          (a.request.where == berth::locality::required ? "all within one " : "all within one, if any holds them, ") +
          tree().level_name(a.request.level);
    if (a.request.between_nodes.count() != 0)
      where += (where.empty() ? "" : "; ") + std::string{"with "} + berth::io_text::rate_text(a.request.between_nodes) +
               " per GPU guaranteed between nodes";
    if (a.request.rails == berth::rail_rule::same)
      where += (where.empty() ? "" : "; ") + std::string{"on the same rails"};
    if (!where.empty()) out += wrapped(where, "          ");
    rules();
    out += "Policy    " + o.policy.name() + "\n";
  }
  // The rules of spreading, and what came of them.
  void rules() {
    if (!a.spread) return;
    for (std::size_t g = 0; g < a.spread->ask.groups.size(); ++g) {
      const berth::spread_request& q = a.spread->ask.groups[g].ask;
      const std::string who = a.request.groups.size() > 1 ? a.request.groups[g].name + ": " : "";
      for (const berth::spread_rule& r : q.rules)
        out +=
            wrapped(who + (r.required ? "" : "if it can be, ") + berth::rule_text(r, tree(), unit_of(q)), "          ");
    }
  }
  void counts() {
    if (!a.spread) return;
    for (std::size_t g = 0; g < a.spread->counts.size(); ++g) {
      const berth::spread_request& q = a.spread->ask.groups[g].ask;
      const auto& dropped = a.spread->decision.dropped[g];
      for (std::size_t r = 0; r < q.rules.size(); ++r) {
        const bool kept = std::find(dropped.begin(), dropped.end(), r) == dropped.end();
        out += wrapped((kept ? "" : "Not kept: ") + berth::rule_text(q.rules[r], tree(), unit_of(q)) + ": " +
                           counts_text(s, q.rules[r], a.spread->counts[g][r]) + ".",
                       "  ");
      }
    }
  }
  [[nodiscard]] std::string time() const {
    const std::uint64_t n = a.nanoseconds;
    if (n < 10'000) return grouped(n) + " ns";
    if (n < 10'000'000) return grouped(n / 1000) + " µs";
    return grouped(n / 1'000'000) + " ms";
  }
  // What a task holds inside its node beyond devices: "NUMA 0, NICs 0-3, 25GB/s to the host".
  [[nodiscard]] std::string inside_of(std::size_t i) const {
    if (i >= a.bindings.size()) return {};
    const berth::task_placement& t = a.decision.where.tasks[i];
    const berth::binding_need& need = a.request.groups[t.group].shape.bind;
    const berth::task_binding& b = a.bindings[i];
    std::string what;
    const auto add = [&](const std::string& more) { what += (what.empty() ? "" : ", ") + more; };
    if (b.cpu_nodes == b.memory_nodes && b.cpu_nodes != 0) add("NUMA " + berth::io_text::device_list_text(b.cpu_nodes));
    else {
      if (b.cpu_nodes != 0) add("CPUs of NUMA " + berth::io_text::device_list_text(b.cpu_nodes));
      if (b.memory_nodes != 0) add("memory of NUMA " + berth::io_text::device_list_text(b.memory_nodes));
    }
    if (need.near_nic) add(berth_program::numbered("NIC", nics_beside(s, t)));
    if (b.host_per_device != 0)
      add(berth::io_text::rate_text(berth::bytes_per_second{b.host_per_device * berth::count_bits(t.devices)}) +
          " to the host");
    return what.empty() ? "-" : what;
  }
  // What the gang holds on the links between its nodes.
  void reserved() {
    if (a.decision.rails != 0)
      out += wrapped(berth_program::numbered("Rail", a.decision.rails) + " on every node.", "  ");
    std::size_t shown = 0;
    for (const auto& u : a.uplinks) {
      if (shown++ == most_rows) break;
      out += wrapped(berth::io_text::rate_text(berth::bytes_per_second{u.taken}) + " reserved on the uplinks of " +
                         berth::domain_text(s.spec, u.level, u.domain) +
                         (u.rail ? " on rail " + std::to_string(*u.rail) : "") + ", " +
                         berth::io_text::rate_text(berth::bytes_per_second{u.left}) + " left.",
                     "  ");
    }
    if (a.uplinks.size() > most_rows)
      out += "  … and on " + counted(a.uplinks.size() - most_rows, "more uplink") + "; --json lists all\n";
  }
  // The devices of a task, or the instances: "3:1g.10gb@5", device, profile and start.
  [[nodiscard]] std::string devices_of(std::size_t i) const {
    const berth::task_placement& t = a.decision.where.tasks[i];
    if (!a.request.groups[t.group].shape.part.has_places()) return berth::io_text::device_list_text(t.devices);
    std::string text;
    for (const auto& at : instances_of(s, a, i))
      text += (text.empty() ? "" : ",") + std::to_string(at.device) + ":" + at.profile + "@" + std::to_string(at.start);
    return text;
  }
  // Tasks of one node make one item; neighbouring nodes under one leaf whose items look alike make one row.
  void table() {
    struct row {
      std::string group, ranks, nodes, devices, inside, path;
    };
    std::vector<row> rows;
    const auto& tasks = a.decision.where.tasks;
    const auto leaf = [&](std::size_t i) { return tree().leaf_of(tasks[i].node); };
    // The end of the item that begins at `i`, its devices and what it holds besides.
    const auto item_at = [&](std::size_t i, std::string& devices, std::string& inside) {
      devices.clear();
      inside = inside_of(i);
      std::size_t end = i;
      for (; end < tasks.size() && tasks[end].group == tasks[i].group && tasks[end].node == tasks[i].node; ++end) {
        if (tasks[end].devices != 0) devices += (devices.empty() ? "" : " | ") + devices_of(end);
        if (const std::string more = inside_of(end); end != i && !more.empty()) inside += " | " + more;
      }
      if (devices.empty()) devices = "-";
      return end;
    };
    std::size_t rank = 0, shown = 0;
    for (std::size_t i = 0; i < tasks.size();) {
      if (i == 0 || tasks[i - 1].group != tasks[i].group) rank = 0;
      std::string devices, others, inside, inside_others;
      std::vector<std::string> names{s.spec.nodes[tasks[i].node.index()].name};
      std::size_t end = item_at(i, devices, inside);
      const std::size_t each = end - i;
      while (end < tasks.size() && tasks[end].group == tasks[i].group && leaf(end) == leaf(i)) {
        const std::size_t next = item_at(end, others, inside_others);
        if (others != devices || inside_others != inside || next - end != each) break;
        names.push_back(s.spec.nodes[tasks[end].node.index()].name);
        end = next;
      }
      const std::size_t count = end - i;
      if (rows.size() < most_rows) {
        std::string path;
        for (const auto& p : tree().path(tasks[i].node)) path += (path.empty() ? "" : " / ") + p;
        std::string hosts = berth::compress_hostlist(names);
        if (hosts.size() > 60) hosts = names.front() + " … " + names.back();
        rows.push_back({a.request.groups[tasks[i].group].name,
                        std::to_string(rank) + (count > 1 ? "-" + std::to_string(rank + count - 1) : ""),
                        std::move(hosts), std::move(devices), std::move(inside), std::move(path)});
        shown += count;
      }
      rank += count;
      i = end;
    }
    row widest{"group", "ranks", "nodes", "GPUs", a.bindings.empty() ? "" : "bound", "path"};
    const row head = widest;
    const auto widen = [](std::string& to, const std::string& from) {
      if (from.size() > to.size()) to = from;
    };
    for (const auto& r : rows) {
      widen(widest.group, r.group);
      widen(widest.ranks, r.ranks);
      widen(widest.nodes, r.nodes);
      widen(widest.devices, r.devices);
      widen(widest.inside, r.inside);
    }
    const auto put = [&](const row& r) {
      const auto cell = [&](const std::string& text, const std::string& widest_text) {
        out += text + std::string(widest_text.size() > text.size() ? widest_text.size() - text.size() : 0, ' ') + "  ";
      };
      out += "  ";
      cell(r.group, widest.group);
      cell(r.ranks, widest.ranks);
      cell(r.nodes, widest.nodes);
      cell(r.devices, widest.devices);
      if (!widest.inside.empty()) cell(r.inside, widest.inside);
      out += r.path + "\n";
    };
    put(head);
    for (const auto& r : rows) put(r);
    if (shown < tasks.size()) out += "  … and " + counted(tasks.size() - shown, "task") + " more; --json lists all\n";
  }
  void drawing(const berth::floor_plan& plan) {
    berth::tree_text_options style;
    style.ascii = o.ascii;
    style.jobs_in_legend = 6;
    const std::uint32_t leaves = a.decision.score.domains_used[tree().leaf_level().index()];
    out += "\n";
    if (tree().domain_count(tree().leaf_level()) > style.draw_all_leaves && leaves > most_drawn_leaves) {
      out += "The tree is not drawn: the gang is under " +
             berth_program::counted(leaves, tree().level_name(tree().leaf_level())) + "; --svg draws any number.\n";
      return;
    }
    out += berth::draw_tree(plan, style);
  }
  void refused() {
    const auto sentences =
        a.refused_by_rules() ? a.spread->sentences : berth::explanation_sentences(*a.explanation, a.request, s.spec);
    out += wrapped(sentences.front(), "");
    for (std::size_t i = 1; i < sentences.size(); ++i) out += wrapped(sentences[i], "  - ");
    if (const std::string link = host_link_sentence(s, a); !link.empty()) out += wrapped(link, "  - ");
    out += "Decided in " + time() + ".\n";
  }
};

}  // namespace

std::string headline(const site& s, const answer& a) {
  if (a.refused_by_rules()) return a.spread->sentences.front();
  if (a.explanation) return berth::explanation_sentences(*a.explanation, a.request, s.spec).front();
  const berth::decision& d = a.decision;
  const berth::domain_tree& tree = s.spec.tree;
  std::string line = "Placed in " + berth::domain_text(s.spec, d.level, d.domain);
  bool first = true;
  for (std::uint8_t l = 1; l < tree.level_count(); ++l) {
    if (level_id{l} <= d.level) continue;
    line +=
        (first ? ", under " : " and ") + berth_program::counted(d.score.domains_used[l], tree.level_name(level_id{l}));
    first = false;
  }
  if (a.request.groups.size() == 1) {
    std::uint32_t nodes = 0;
    const auto& t = d.where.tasks;  // sorted by node
    for (std::size_t i = 0; i < t.size(); ++i) nodes += i == 0 || t[i - 1].node != t[i].node ? 1U : 0U;
    line += ", on " + berth_program::counted(nodes, "node");
  }
  if (d.score.tasks_missing != 0)
    line += "; " + berth_program::counted(d.score.tasks_missing, "task") + " fewer than wanted";
  return line + ".";
}

std::string as_text(const options& o, const site& s, const answer& a, const berth::floor_plan& plan) {
  writer w{o, s, a};
  w.cluster();
  w.request();
  w.out += "\n";
  if (a.explanation || a.refused_by_rules()) {
    w.refused();
  } else {
    w.out += wrapped(headline(s, a) + " Decided in " + w.time() + ".", "");
    w.out += "\n";
    w.table();
    w.counts();
    w.reserved();
  }
  w.drawing(plan);
  return std::move(w.out);
}

}  // namespace berth_place
