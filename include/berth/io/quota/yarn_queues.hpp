#pragma once
/// \file
/// YARN's capacity-scheduler.xml as a queue tree. Needs pugixml.
///
/// Queues are named by their path ("root.dev"). A capacity is a part of the parent's, in percent ("40") or as a weight
/// ("2w"), or absolute ("[memory=100Gi,vcores=20,yarn.io/gpu=1]"). Parts are guarantees of the resource "cluster",
/// whatever the cluster has, in millionths: "root" has 1,000,000 of it. Of absolute amounts memory is in bytes (MiB
/// where no unit is given, as YARN does), everything else as it is. `maximum-capacity` is the cap: absolute where the
/// capacity is (100 and -1 say that there is none), else a part of the parent's cap. What is left over goes by
/// capacity. `user-limit-factor` (1 where absent, -1 for none) times the guarantee is the most that one user has of a
/// leaf. Siblings are all in percent, adding up to 100 (within 0.05), all weights or all absolute, and below root
/// absolute queues have an absolute parent and absolute children only; 0 percent goes with everything. So YARN requires
/// it outside its mode of mixed vectors, which is refused. A property that is stated twice has its last value, as in
/// Hadoop. Node labels, templates, application masters, numbers of applications and minimum-user-limit-percent are
/// listed in `notes`. Source: apache/hadoop hadoop-yarn-site/src/site/markdown/CapacityScheduler.md; setChildQueues and
/// getCapacityConfigurationTypeForQueues of its AbstractParentQueue.java.

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <functional>
#include <iterator>
#include <map>
#include <optional>
#include <pugixml.hpp>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "berth/io/quota/queue_file.hpp"
#include "berth/io/text.hpp"
#include "berth/io/text_file.hpp"

namespace berth {

/// Cheap, from the first 64 KiB.
[[nodiscard]] inline bool looks_like_yarn_queues(std::string_view text) noexcept {
  text = text.substr(0, std::size_t{64} << 10);
  return text.find("<configuration") != std::string_view::npos &&
         text.find("yarn.scheduler.capacity.") != std::string_view::npos;
}

namespace yarn_queue_detail {

struct property {
  std::string value;
  std::size_t line = 0;
};
using properties = std::map<std::string, property, std::less<>>;

enum class mode : std::uint8_t { none, percent, weight, absolute };

struct amount_of {
  std::string resource;
  quota_amount amount;
};
struct capacity {
  mode kind = mode::none;
  double part = 0;  ///< percent or weight
  std::vector<amount_of> amounts;
};

/// A decimal number, as Hadoop reads it: hexadecimal ones, infinity and the like are none.
[[nodiscard]] inline std::optional<double> number(std::string_view s) {
  if (s.find_first_not_of("0123456789+-.eE") != std::string_view::npos) return std::nullopt;
  const std::string text{s};
  char* end = nullptr;
  const double v = std::strtod(text.c_str(), &end);
  if (text.empty() || *end != '\0' || !(std::fabs(v) <= 1e6)) return std::nullopt;
  return v;
}

/// "100Gi" of a resource; nothing where it is no amount below 2^62.
[[nodiscard]] inline std::optional<quota_amount> amount(std::string_view resource, std::string_view s) {
  std::size_t n = 0;
  while (n < s.size() && io_text::is_digit(s[n])) ++n;
  const auto digits = io_text::parse_count(s.substr(0, n), static_cast<std::uint64_t>(max_quota));
  const auto unit = io_text::trim(s.substr(n));
  if (!digits) return std::nullopt;
  quota_amount scale = 1;
  if (unit.empty()) {
    if (resource == "memory" || resource == "memory-mb") scale = quota_amount{1} << 20;
  } else {
    static constexpr std::string_view steps = "kMGTP";
    const auto at = steps.find(unit[0] == 'K' ? 'k' : unit[0]);
    if (at == std::string_view::npos || (unit.size() > 1 && unit.substr(1) != "i")) return std::nullopt;
    for (std::size_t i = 0; i <= at; ++i) scale *= unit.size() > 1 ? 1024 : 1000;
  }
  const auto all = quota_detail::multiply(static_cast<quota_amount>(*digits), scale);
  if (all == unlimited || all > max_quota) return std::nullopt;
  return all;
}

/// A value of `capacity` or `maximum-capacity`; `kind` stays `none` where it is neither.
[[nodiscard]] inline capacity read_capacity(std::string_view s) {
  capacity out;
  if (s.starts_with('[') && s.ends_with(']')) {
    s = io_text::trim(s.substr(1, s.size() - 2));
    while (!s.empty()) {
      const auto comma = s.find(',');
      const auto word = io_text::trim(s.substr(0, comma));
      s = comma == std::string_view::npos ? std::string_view{} : s.substr(comma + 1);
      const auto equals = word.find('=');
      if (equals == std::string_view::npos || equals == 0) return {};
      std::string name{io_text::trim(word.substr(0, equals))};
      const auto a = amount(name, io_text::trim(word.substr(equals + 1)));
      if (name == "memory-mb") name = "memory";
      if (!a || std::any_of(out.amounts.begin(), out.amounts.end(), [&](const auto& x) { return x.resource == name; }))
        return {};
      out.amounts.push_back({std::move(name), *a});
    }
    if (!out.amounts.empty()) out.kind = mode::absolute;
    return out;
  }
  const bool weight = s.ends_with('w');
  const auto v = number(weight ? s.substr(0, s.size() - 1) : s);
  if (!v) return out;
  out.kind = weight ? mode::weight : mode::percent;
  out.part = *v;
  return out;
}

struct reader {
  const std::string& source;
  const properties& all;
  queue_file& out;

  /// What a queue has while its children are read: amounts by column that are known.
  struct frame {
    std::size_t queue;
    std::map<std::size_t, quota_amount> guarantee, cap;
    std::size_t depth;
    mode kind;  ///< of its capacity; none at 0 percent or where none is stated
  };

  [[nodiscard]] unexpected<input_error> fail(std::size_t line, std::string found, std::string wanted) const {
    return unexpected<input_error>{input_error{source, line, std::move(found), std::move(wanted)}};
  }
  [[nodiscard]] const property* find(const std::string& queue, std::string_view key) const {
    const auto it = all.find(queue + "." + std::string{key});
    return it == all.end() ? nullptr : &it->second;
  }
  [[nodiscard]] static quota_amount part_of(quota_amount whole, double part) {
    return static_cast<quota_amount>(std::floor(static_cast<double>(whole) * part + 1e-6));
  }

  [[nodiscard]] expected<capacity, input_error> capacity_of(const std::string& queue, std::string_view key) const {
    const property* p = find(queue, key);
    if (p == nullptr) return capacity{};
    auto c = read_capacity(p->value);
    const bool no_limit = key == "maximum-capacity" && c.kind == mode::percent && c.part == -1;
    const bool in_range = c.kind == mode::absolute || c.part >= 0;
    if (c.kind == mode::none || (c.kind == mode::percent && c.part > 100) || !(in_range || no_limit) ||
        (key == "maximum-capacity" && c.kind == mode::weight))
      return fail(p->line, std::string{key} + " " + io_text::quoted(p->value) + " of queue " + io_text::quoted(queue),
                  key == "capacity" ? "percents, a weight such as 2w, or [memory=100Gi,vcores=20]"
                                    : "percents, -1, or [memory=100Gi,vcores=20]");
    if (no_limit) return capacity{};
    return c;
  }

  /// Cap, state and users of the queue of `f`; its guarantee is known.
  [[nodiscard]] expected<void, input_error> finish(frame& f, const std::map<std::size_t, quota_amount>& above,
                                                   bool leaf) {
    const std::string name = out.tree.queues[f.queue].name;
    const auto most = capacity_of(name, "maximum-capacity");
    if (!most) return unexpected{most.error()};
    const bool other = most->kind == mode::percent ? f.kind == mode::absolute && most->part != 100
                                                   : most->kind == mode::absolute && f.kind != mode::absolute;
    if (other && name != "root") {
      const property& p = *find(name, "maximum-capacity");
      return fail(p.line, "maximum-capacity " + io_text::quoted(p.value) + " of queue " + io_text::quoted(name),
                  most->kind == mode::percent ? "an absolute one, as its capacity is"
                                              : "percents, as its capacity is not absolute");
    }
    f.cap = above;
    if (most->kind == mode::percent)
      for (auto& [column, a] : f.cap) a = part_of(a, most->part / 100);
    for (const auto& a : most->amounts) f.cap[queue_file_detail::column(out.tree, a.resource, "")] = a.amount;
    auto& q = out.tree.queues[f.queue];
    for (const auto& [column, a] : f.guarantee) queue_file_detail::quota_at(q, column).guarantee = a;
    for (const auto& [column, a] : f.cap) queue_file_detail::quota_at(q, column).cap = a;
    if (const property* s = find(name, "state"); s != nullptr && s->value != "RUNNING") {
      if (s->value != "STOPPED" && s->value != "DRAINING")
        return fail(s->line, "state " + io_text::quoted(s->value) + " of queue " + io_text::quoted(name),
                    "RUNNING or STOPPED");
      q.active = false;
      out.notes.push_back("queue " + io_text::quoted(name) + " is stopped (" + s->value + ")");
    }
    q.group = !leaf;
    if (!leaf) return {};
    double factor = 1;
    if (const property* u = find(name, "user-limit-factor")) {
      const auto n = number(u->value);
      if (!n || (*n < 0 && *n != -1))
        return fail(u->line, "user-limit-factor " + io_text::quoted(u->value) + " of queue " + io_text::quoted(name),
                    "a number from 0, or -1 for no limit");
      factor = *n;
    }
    user_limit each{"*", {}};
    for (const auto& [column, a] : f.guarantee) {
      if (factor < 0 || a == 0 || static_cast<double>(a) * factor > 4e18) continue;
      each.at_most.resize(std::max(each.at_most.size(), column + 1), unlimited);
      each.at_most[column] = part_of(a, factor);
    }
    if (!each.at_most.empty()) q.user_limits.push_back(std::move(each));
    return {};
  }

  /// The children of a queue, with their guarantees and weights.
  [[nodiscard]] expected<std::vector<frame>, input_error> children(const frame& up, const property& list) {
    std::vector<frame> made;
    std::vector<capacity> given;
    const std::string parent = out.tree.queues[up.queue].name;
    std::string_view rest = list.value;
    mode kind = mode::none;
    double sum = 0;
    bool zero = false;  // 0 percent is stated somewhere
    std::map<std::string, double> sums;
    while (!rest.empty()) {
      const auto comma = rest.find(',');
      const std::string name{io_text::trim(rest.substr(0, comma))};
      rest = comma == std::string_view::npos ? std::string_view{} : rest.substr(comma + 1);
      if (name.empty() || name.find('.') != std::string::npos)
        return fail(list.line, "queue " + io_text::quoted(name) + " below " + io_text::quoted(parent),
                    "names of queues with commas between");
      queue_spec q;
      q.name = parent + "." + name;
      q.parent = parent;
      q.line = list.line;
      if (const property* p = find(q.name, "capacity")) q.line = p->line;
      auto c = capacity_of(q.name, "capacity");
      if (!c) return unexpected{c.error()};
      const mode own = c->kind == mode::percent && c->part == 0 ? mode::none : c->kind;
      zero = zero || c->kind == mode::percent;
      if (own != mode::none) {
        if (kind != mode::none && kind != own)
          return fail(q.line, "another kind of capacity of queue " + io_text::quoted(q.name) + " than of its siblings",
                      "siblings all in percent, all weights or all absolute");
        if (parent != "root" && (own == mode::absolute) != (up.kind == mode::absolute))
          return fail(q.line,
                      "capacity " + io_text::quoted(find(q.name, "capacity")->value) + " of queue " +
                          io_text::quoted(q.name) + " below a queue " +
                          (own == mode::absolute ? "without an absolute one" : "with an absolute one"),
                      "absolute capacities of both or of neither");
        kind = own;
      }
      sum += c->part;
      for (const auto& a : c->amounts) sums[a.resource] += static_cast<double>(a.amount);
      made.push_back({out.tree.queues.size(), {}, {}, up.depth + 1, own});
      out.tree.queues.push_back(std::move(q));
      given.push_back(std::move(*c));
    }
    if ((kind == mode::none && !zero) || (kind == mode::percent && std::fabs(sum - 100) > 0.05))
      return fail(list.line,
                  "capacities of the queues below " + io_text::quoted(parent) + " that add up to " +
                      std::to_string(sum) + " percent",
                  "100");
    for (std::size_t i = 0; i < made.size(); ++i) {
      auto& q = out.tree.queues[made[i].queue];
      q.weight = std::max<quota_amount>(1, std::llround(given[i].part * 1000));
      if (kind != mode::absolute && sum > 0)
        for (const auto& [column, a] : up.guarantee) made[i].guarantee[column] = part_of(a, given[i].part / sum);
      for (const auto& a : given[i].amounts) {
        const auto column = queue_file_detail::column(out.tree, a.resource, "");
        made[i].guarantee[column] = a.amount;
        const double all_of_it = sums[a.resource];
        queue_file_detail::quota_at(q, column).weight = std::max<quota_amount>(
            1, all_of_it > 0 ? std::llround(static_cast<double>(a.amount) / all_of_it * 1e6) : 1);
      }
    }
    return made;
  }
};

/// What is said of queues and not read, and of queues that no list names.
inline void note_unread(const properties& all, queue_file& out) {
  std::set<std::string, std::less<>> names;
  std::set<std::string> unread, unknown;
  for (const auto& q : out.tree.queues) names.insert(q.name);
  static constexpr std::string_view read[] = {"queues", "capacity", "maximum-capacity", "state", "user-limit-factor"};
  static constexpr std::string_view not_read[] = {
      "maximum-am-resource-percent", "minimum-user-limit-percent", "maximum-applications",
      "maximum-parallel-apps",       "accessible-node-labels",     "leaf-queue-template",
      "auto-queue-creation-v2",      "auto-create-child-queue",    "user-settings"};
  for (const auto& [key, p] : all) {
    if (!key.starts_with("root.")) continue;
    std::string_view queue{key};
    while (names.find(queue) == names.end()) queue = queue.substr(0, queue.rfind('.'));
    const std::string_view rest = std::string_view{key}.substr(queue.size() + 1);
    const auto is = [&](std::string_view word) {
      return rest == word || (rest.starts_with(word) && rest[word.size()] == '.');
    };
    if (const auto w = std::find_if(std::begin(not_read), std::end(not_read), is); w != std::end(not_read))
      unread.insert(std::string{*w});
    else if (const auto dot = rest.rfind('.');
             dot != std::string_view::npos &&
             std::find(std::begin(read), std::end(read), rest.substr(dot + 1)) != std::end(read))
      unknown.insert(std::string{std::string_view{key}.substr(0, queue.size() + 1 + dot)});
  }
  for (const auto& u : unread) out.notes.push_back(u + " not read");
  for (const auto& u : unknown)
    out.notes.push_back("queue " + io_text::quoted(u) + " is named by no list of queues: left out, as by YARN");
}

}  // namespace yarn_queue_detail

/// Reads the queues of a capacity-scheduler.xml. O(bytes + queues × depth).
[[nodiscard]] inline expected<queue_file, input_error> read_yarn_queues(const named_text& file) {
  using namespace yarn_queue_detail;
  std::size_t counted = 0, line = 1;  // properties come in order: each byte is looked at once
  const auto line_of = [&](std::ptrdiff_t offset) {
    const std::size_t to = std::min(file.text.size(), static_cast<std::size_t>(std::max<std::ptrdiff_t>(offset, 0)));
    for (; counted < to; ++counted) line += file.text[counted] == '\n' ? 1U : 0U;
    return line;
  };
  const auto fail = [&](std::size_t at, std::string found, std::string wanted) {
    return unexpected{input_error{file.name, at, std::move(found), std::move(wanted)}};
  };
  if (const auto bad = io_text::find_bad_utf8(file.text))
    return fail(line_of(static_cast<std::ptrdiff_t>(*bad)), "bytes that are no UTF-8", "XML text");
  pugi::xml_document document;
  const auto parsed =
      document.load_buffer(file.text.data(), file.text.size(), pugi::parse_default, pugi::encoding_utf8);
  if (!parsed) return fail(line_of(parsed.offset), std::string{"an XML error ("} + parsed.description() + ")", "XML");
  queue_file out;
  out.system = "yarn";
  out.policy = "weighted-max-min";
  out.tree.source = file.name;
  out.tree.rule = quota_rule::caps;
  out.tree.guarantees = guarantee_rule::at_least_children;
  constexpr std::string_view prefix = "yarn.scheduler.capacity.";
  properties all;
  for (const pugi::xml_node p : document.document_element().children("property")) {
    const std::string_view name = io_text::trim(p.child("name").text().get());
    if (!name.starts_with(prefix)) continue;
    property value{std::string{io_text::trim(p.child("value").text().get())}, line_of(p.offset_debug())};
    const auto [it, fresh] = all.emplace(std::string{name.substr(prefix.size())}, value);
    if (!fresh && it->second.value != value.value)
      out.notes.push_back(std::string{name} + " is stated again, with another value: the last one counts");
    it->second = std::move(value);
  }
  reader in{file.name, all, out};
  const property* top = in.find("root", "queues");
  if (top == nullptr) return fail(0, "no queues below root", std::string{prefix} + "root.queues");
  out.tree.queues.emplace_back();
  out.tree.queues[0].name = "root";
  out.tree.queues[0].line = top->line;
  const auto own = in.capacity_of("root", "capacity");
  if (!own) return unexpected{own.error()};
  if (own->kind == mode::percent && own->part != 100)
    return fail(in.find("root", "capacity")->line, "capacity of root: " + in.find("root", "capacity")->value, "100");
  std::vector<reader::frame> open(1);
  if (own->kind != mode::absolute) {
    const auto cluster = queue_file_detail::column(out.tree, "cluster", "");
    open[0].guarantee[cluster] = 1'000'000;
  }
  open[0].kind = own->kind;
  for (const auto& a : own->amounts) open[0].guarantee[queue_file_detail::column(out.tree, a.resource, "")] = a.amount;
  if (auto ok = in.finish(open[0], open[0].guarantee, false); !ok) return unexpected{ok.error()};
  constexpr std::size_t deepest = 64;
  while (!open.empty()) {
    const auto f = std::move(open.back());
    open.pop_back();
    const std::string name = out.tree.queues[f.queue].name;
    const property* list = in.find(name, "queues");
    if (list == nullptr || list->value.empty()) continue;
    if (f.depth == deepest) return fail(list->line, "more than 64 levels of queues", "at most 64");
    auto below = in.children(f, *list);
    if (!below) return unexpected{below.error()};
    for (auto& child : *below) {
      const property* more = in.find(out.tree.queues[child.queue].name, "queues");
      if (auto ok = in.finish(child, f.cap, more == nullptr || more->value.empty()); !ok) return unexpected{ok.error()};
    }
    std::reverse(below->begin(), below->end());
    for (auto& child : *below) open.push_back(std::move(child));
  }
  note_unread(all, out);
  // Where every amount is absolute, nobody has parts of the cluster.
  bool parts = false;
  for (const auto& q : out.tree.queues)
    parts = parts || (q.name != "root" && !q.quota.empty() && q.quota[0].guarantee > 0);
  if (out.tree.resources.size() > 1 && out.tree.resources[0].name == "cluster" && !parts) {
    out.tree.resources.erase(out.tree.resources.begin());
    for (auto& q : out.tree.queues) {
      if (!q.quota.empty()) q.quota.erase(q.quota.begin());
      for (auto& l : q.user_limits)
        if (!l.at_most.empty()) l.at_most.erase(l.at_most.begin());
    }
  } else if (!out.tree.resources.empty() && out.tree.resources[0].name == "cluster") {
    out.tree.capacity.assign(1, 1'000'000);
    out.notes.push_back("parts of the cluster are counted in millionths");
  }
  if (auto ok = queue_file_detail::complete(out.tree); !ok) return unexpected{std::move(ok).error()};
  out.tree.capacity.resize(out.tree.resources.size());
  return out;
}

}  // namespace berth
