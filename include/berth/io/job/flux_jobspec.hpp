#pragma once
/// \file
/// Flux jobspecs, canonical YAML or JSON. Needs yaml-cpp and nlohmann-json.
///
/// A vertex `node` makes a group with one task per node; a `slot` without nodes makes a task of each slot. What stands
/// above the nodes (rack, switch, …) makes segments: so many of it, each holding its part of the nodes.
///
/// Source: RFC 14 (canonical job specification), 25 (version 1), 31 (constraints) and 26 (dependencies) of
/// flux-framework/rfc.

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "berth/core/error.hpp"
#include "berth/core/expected.hpp"
#include "berth/io/hostlist.hpp"
#include "berth/io/job_spec.hpp"
#include "berth/io/json_document.hpp"
#include "berth/io/kubernetes/values.hpp"
#include "berth/io/site_report.hpp"
#include "berth/io/text.hpp"
#include "berth/io/text_file.hpp"
#include "berth/io/yaml_document.hpp"

namespace berth {

namespace flux_detail {

struct fault {
  input_error what;
};
struct range {
  std::uint32_t least = 1, most = 1;
};

class reader {
 public:
  explicit reader(const std::string& source) : in_{source} {}

  [[nodiscard]] job_spec read(const json_value& root) {
    const json_value& resources = *need(in_.member(root, "resources", json_value::kind::array));
    if (resources.items.empty()) fail(resources, "no resources", "at least one");
    const json_value* attributes = need(in_.optional_member(root, "attributes", json_value::kind::object));
    const json_value* system =
        attributes == nullptr ? nullptr : need(in_.optional_member(*attributes, "system", json_value::kind::object));
    for (const auto& v : resources.items) {
      group_spec g;
      g.line.is = v.line;
      const std::string label = text(v, "label");
      g.name = label.empty() ? (resources.items.size() == 1 ? "tasks" : type_of(v)) : label;
      for (std::size_t n = 2; taken(g.name); ++n) g.name = type_of(v) + "-" + std::to_string(n);
      shape(v, g);
      job_.groups.push_back(std::move(g));
    }
    if (system != nullptr) read_system(*system);
    for (auto& g : job_.groups)
      if (job_detail::asks_for_nothing(g)) {
        g.cpu = cpu_millis{1};
        assume(resources, "whole nodes without amounts are counted as a thousandth of a CPU, beside being exclusive");
      }
    return std::move(job_);
  }

 private:
  [[noreturn]] void fail(const json_value& at, std::string found, std::string wanted) const {
    throw fault{{in_.source(), at.line, std::move(found), std::move(wanted)}};
  }
  template <class T>
  [[nodiscard]] T need(expected<T, input_error> v) const {
    if (!v) throw fault{std::move(v).error()};
    return std::move(*v);
  }
  [[nodiscard]] std::string text(const json_value& v, std::string_view key) const {
    auto t = need(in_.optional_text(v, key));
    return t ? std::move(*t) : std::string{};
  }
  [[nodiscard]] std::string type_of(const json_value& v) const {
    if (v.type != json_value::kind::object) fail(v, v.described(), "a resource with type and count");
    return need(in_.text(v, "type"));
  }
  [[nodiscard]] bool taken(const std::string& name) const {
    for (const auto& g : job_.groups)
      if (g.name == name) return true;
    return false;
  }
  void assume(const json_value& at, const std::string& what) {
    std::string s = in_.source() + ":" + std::to_string(at.line) + ": " + what + ".";
    for (const auto& have : job_.assumptions)
      if (have == s) return;
    job_.assumptions.push_back(std::move(s));
  }

  // A number, {min, max, operator, operand}, or a set of numbers such as "2,4-8".
  [[nodiscard]] range count_of(const json_value& v) {
    const json_value* c = v.find("count");
    if (c == nullptr) fail(v, "a resource without count", "count");
    if (c->type == json_value::kind::object) {
      range r;
      r.least = static_cast<std::uint32_t>(need(in_.integer(*c, "min", 1, max_tasks)));
      const auto most = need(in_.optional_integer(*c, "max", r.least, max_tasks));
      if (!most) assume(*c, "a count without max is asked for with its min");
      r.most = most ? static_cast<std::uint32_t>(*most) : r.least;
      const std::string op = text(*c, "operator");
      const auto operand = need(in_.optional_integer(*c, "operand", 1, max_tasks));
      if ((!op.empty() && op != "+") || (operand && *operand != 1))
        assume(*c, "that only some counts between min and max are acceptable does not bind the placer");
      return r;
    }
    if (c->type == json_value::kind::string) {
      range r{max_tasks, 0};
      std::string_view rest = c->text;
      bool gaps = false;
      for (std::uint64_t last = 0;;) {
        const std::size_t comma = rest.find(',');
        const auto item = rest.substr(0, comma);
        const std::size_t dash = item.find('-');
        const auto a = io_text::parse_count(item.substr(0, dash), max_tasks);
        const auto b = dash == std::string_view::npos ? a : io_text::parse_count(item.substr(dash + 1), max_tasks);
        if (!a || !b || *a == 0 || *b < *a || *a <= last) fail(*c, "count: " + c->described(), "counts such as 2,4-8");
        gaps = gaps || (last != 0 && *a != last + 1);
        last = *b;
        if (r.most == 0) r.least = static_cast<std::uint32_t>(*a);
        r.most = static_cast<std::uint32_t>(*b);
        if (comma == std::string_view::npos) break;
        rest.remove_prefix(comma + 1);
      }
      if (gaps) assume(*c, "that only some counts are acceptable does not bind the placer");
      return r;
    }
    const auto n = need(in_.integer(v, "count", 1, std::int64_t{1} << 50));
    if (n > max_tasks) fail(*c, "count: " + c->described(), "at most " + std::to_string(max_tasks));
    return {static_cast<std::uint32_t>(n), static_cast<std::uint32_t>(n)};
  }
  [[nodiscard]] std::uint32_t fixed(const json_value& v) {
    const range r = count_of(v);
    if (r.least != r.most) assume(v, "inside a task the smallest acceptable count is asked for");
    return r.least;
  }
  [[nodiscard]] const std::vector<json_value>& children(const json_value& v) const {
    static const std::vector<json_value> none;
    const auto* w = need(in_.optional_member(v, "with", json_value::kind::array));
    return w == nullptr ? none : w->items;
  }
  [[nodiscard]] bool holds_node(const json_value& v) const {
    for (const auto& c : children(v))
      if (type_of(c) == "node" || holds_node(c)) return true;
    return false;
  }

  // Amounts of a task: what hangs under its node or slot. Depth is bounded by that of the document.
  void collect(const json_value& v, std::uint64_t times, group_spec& g) {
    const std::string type = type_of(v);
    const json_value* unit = v.find("unit");
    if (type == "memory" || type == "storage") {
      const auto n = static_cast<std::uint64_t>(need(in_.integer(v, "count", 1, std::int64_t{1} << 52)));
      const std::uint64_t each = unit_of(v, unit);
      if (n > (std::uint64_t{1} << 52) / each / times) fail(v, type + " of more than 4 PiB", "less");
      const auto b = static_cast<std::int64_t>(n * each * times);
      if (type == "memory") g.memory += bytes{b};
      else g.other.push_back({"ephemeral-storage", b});
      if (g.memory.count() > io_text::max_memory) fail(v, "memory of more than 4 PiB", "less");
      return;
    }
    const std::uint64_t n = std::uint64_t{fixed(v)} * times;
    if (n > max_tasks)
      fail(v, std::to_string(n) + " x " + type + " in one task", "at most " + std::to_string(max_tasks));
    if (type == "core" || type == "hardware-thread" || type == "cpu" || type == "PU") {
      g.cpu += cpus(static_cast<std::int64_t>(n));
      if (g.cpu.count() > io_text::max_cpus * 1000) fail(v, "more than a million CPUs in one task", "fewer");
      if (type == "core") assume(v, "a core is counted as one CPU");
      return;
    }
    if (type == "gpu") {
      if (n > max_tasks - g.gpus) fail(v, "more GPUs than any machine has", "fewer");
      g.gpus += static_cast<std::uint32_t>(n);
      return;
    }
    if (children(v).empty() && type != "slot" && type != "socket" && type != "numanode") {
      g.other.push_back({type, static_cast<std::int64_t>(n)});
      return;
    }
    for (const auto& c : children(v)) collect(c, n, g);
  }
  [[nodiscard]] std::uint64_t unit_of(const json_value& v, const json_value* unit) const {
    const std::string u = unit == nullptr ? "MB" : scalar_text(*unit);
    const char* names[] = {"B", "KB", "MB", "GB", "TB", "B", "KiB", "MiB", "GiB", "TiB"};
    for (std::size_t i = 0; i < 10; ++i)
      if (io_text::equal_nocase(u, names[i])) {
        std::uint64_t f = 1;
        for (std::size_t k = 0; k < i % 5; ++k) f *= i < 5 ? 1000 : 1024;
        return f;
      }
    fail(v, "unit: " + io_text::quoted(u), "B, KB, MB, GB, TB, KiB, MiB, GiB or TiB");
  }

  void shape(const json_value& top, group_spec& g) {
    // Down to the node or slot, through racks, switches and the like.
    const json_value* v = &top;
    std::uint64_t above = 1;
    placed_word level;
    while (type_of(*v) != "node" && type_of(*v) != "slot" && (holds_node(*v) || children(*v).size() == 1)) {
      if (children(*v).size() != 1) fail(*v, "several kinds of resources in one " + type_of(*v), "one");
      const std::uint32_t n = fixed(*v);
      if (n > 1 && above > 1)
        fail(*v, "several " + type_of(*v) + " in each of several " + level, "one level of several");
      if (level.empty() || n > 1) level = {type_of(*v), v->line};
      if (n > 1) above = n;
      v = &children(*v).front();
    }
    const std::string type = type_of(*v);
    const range n = count_of(*v);
    std::uint64_t each = 1;
    bool nodes = type == "node";
    if (nodes) {
      g.exclusive = need(in_.flag(*v, "exclusive", false));
      for (const auto& c : children(*v)) collect(c, 1, g);
    } else if (type == "slot") {
      const json_value* node = nullptr;
      for (const auto& c : children(*v)) {
        if (type_of(c) == "node") {
          if (node != nullptr) fail(c, "two kinds of nodes in one slot", "one");
          node = &c;
        }
      }
      for (const auto& c : children(*v))
        if (&c != node) collect(c, 1, g);
      if (node != nullptr) {
        each = fixed(*node);
        nodes = true;
        g.exclusive = need(in_.flag(*node, "exclusive", true));  // what is inside a slot belongs to the job alone
        for (const auto& c : children(*node)) collect(c, 1, g);
      }
    } else {
      // Amounts without a slot, as a task each.
      collect(*v, 1, g);
      return;
    }
    const std::uint64_t wanted = std::uint64_t{n.most} * each * above;
    if (wanted > max_tasks) fail(*v, std::to_string(wanted) + " tasks", "at most " + std::to_string(max_tasks));
    g.wanted = static_cast<std::uint32_t>(wanted);
    g.minimum = static_cast<std::uint32_t>(std::uint64_t{n.least} * each * above);
    if (nodes && (g.wanted > 1 || g.exclusive)) g.per_node = 1;
    if (!level.empty() && level != "cluster") {
      if (above == 1) g.own.within = level;
      else g.own.segments = segment_spec{static_cast<std::uint32_t>(above), level, segment_layout::spread};
    }
  }

  void constrain(const json_value& c, bool negated, std::vector<std::string>* choice) {
    if (c.type != json_value::kind::object) fail(c, c.described(), "a constraint such as {properties: [...]}");
    if (choice != nullptr && (c.keys.size() != 1 || negated))
      fail(c, "alternatives of several conditions", "alternatives of single properties");
    for (std::size_t i = 0; i < c.keys.size(); ++i) {
      const std::string& op = c.keys[i];
      const json_value& all = c.items[i];
      if (all.type != json_value::kind::array) fail(all, op + ": " + all.described(), "a list");
      if (op == "properties") {
        if (choice != nullptr && all.items.size() != 1)
          fail(all, "an alternative of several properties", "alternatives of single properties");
        for (const auto& p : all.items) {
          std::string word = scalar_text(p);
          const bool without = word.starts_with('^');
          if (without) word.erase(0, 1);
          if (word.empty()) fail(p, "an empty property", "a word");
          if (choice != nullptr && without) fail(p, "an alternative that excludes a property", "properties");
          for (auto& g : job_.groups) {
            if (choice != nullptr) continue;
            (without != negated ? g.not_labels : g.labels).push_back(word);
          }
          if (choice != nullptr) choice->push_back(word);
        }
      } else if (op == "hostlist" && choice == nullptr) {
        for (const auto& h : all.items) {
          auto hosts = expand_hostlist(scalar_text(h), 100'000);
          if (!hosts) throw fault{hosts.error().at(in_.source(), h.line)};
          for (auto& g : job_.groups) {
            auto& to = negated ? g.not_nodes : g.only_nodes;
            to.insert(to.end(), hosts->begin(), hosts->end());
          }
        }
      } else if (op == "and" && choice == nullptr && !negated) {
        for (const auto& part : all.items) constrain(part, false, nullptr);
      } else if (op == "not" && choice == nullptr && !negated) {
        if (all.items.size() != 1) fail(all, "not of several conditions", "not of one");
        constrain(all.items[0], true, nullptr);
      } else if (op == "or" && choice == nullptr && !negated) {
        std::vector<std::string> any;
        for (const auto& part : all.items) constrain(part, false, &any);
        for (auto& g : job_.groups)
          if (!any.empty()) g.any_labels.push_back(any);
      } else {
        fail(all, "the constraint " + io_text::quoted(op) + " here", "properties, hostlist, and, or, not");
      }
    }
  }

  void read_system(const json_value& s) {
    if (const auto* d = s.find("duration"); d != nullptr && d->type != json_value::kind::null) {
      const std::string word = scalar_text(*d);
      std::optional<std::uint64_t> n = parse_duration(word);
      if ((d->type == json_value::kind::integer || d->type == json_value::kind::real) && d->real >= 0 && d->real < 4e9)
        n = static_cast<std::uint64_t>(d->real) +
            (d->real > static_cast<double>(static_cast<std::uint64_t>(d->real)) ? 1 : 0);
      if (!n) fail(*d, "duration: " + d->described(), "seconds");
      job_.seconds = *n;
    }
    job_.queue = text(s, "queue");
    if (job_.queue.empty()) job_.queue = text(s, "bank");
    if (const auto* j = need(in_.optional_member(s, "job", json_value::kind::object)))
      if (std::string name = text(*j, "name"); !name.empty()) job_.name = std::move(name);
    if (const auto* all = need(in_.optional_member(s, "dependencies", json_value::kind::array)))
      for (const auto& d : all->items) {
        const std::string scheme = text(d, "scheme"), value = text(d, "value");
        if (scheme.empty()) fail(d, "a dependency without scheme", "scheme and value");
        job_.after.push_back(scheme + ":" + value);
      }
    if (const auto* c = need(in_.optional_member(s, "constraints", json_value::kind::object)))
      constrain(*c, false, nullptr);
  }

  kube_reader in_;
  job_spec job_;
};

}  // namespace flux_detail

/// Whether a text may be a jobspec of Flux: `resources`, `tasks` and `version` at its top.
[[nodiscard]] inline bool looks_like_flux_jobspec(std::string_view text) noexcept {
  text = text.substr(0, std::size_t{1} << 16);
  const auto key = [&](std::string_view k) {
    for (std::size_t at = text.find(k); at != std::string_view::npos; at = text.find(k, at + 1)) {
      const char before = at == 0 ? '\n' : text[at - 1];
      const char after = at + k.size() < text.size() ? text[at + k.size()] : ' ';
      if ((before == '\n' && after == ':') || (before == '"' && after == '"')) return true;
    }
    return false;
  };
  return key("resources") && key("tasks") && (key("version") || key("attributes")) && !key("kind");
}

/// Reads a jobspec. O(bytes).
[[nodiscard]] inline expected<std::vector<job_spec>, input_error> read_flux_jobspec(
    const named_text& file, const reader_options& options = {}) {
  (void)options;
  const auto documents = parse_documents(file.text, file.name);
  if (!documents) return unexpected{documents.error()};
  std::vector<job_spec> out;
  try {
    for (const auto& d : *documents) {
      if (d.type != json_value::kind::object)
        return unexpected{input_error{file.name, d.line, d.described(), "a jobspec with resources, tasks and version"}};
      flux_detail::reader r{file.name};
      job_spec job = r.read(d);
      if (job.groups.size() == 1) {
        auto& own = job.groups.front().own;
        if (!own.within.empty()) job.where = locality::required, job.level = std::move(own.within);
        job.segments = std::move(own.segments);
        own = {};
      }
      if (auto f = fault_of(job))
        return unexpected{input_error{file.name, d.line, std::move(f->first), std::move(f->second)}};
      out.push_back(std::move(job));
    }
  } catch (flux_detail::fault& f) {
    return unexpected{std::move(f.what)};
  }
  return out;
}

}  // namespace berth
