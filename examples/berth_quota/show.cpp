#include "berth_quota/show.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <utility>

#include "berth/io/text.hpp"
#include "berth/report/queue_tree_svg.hpp"

namespace berth_quota {

using berth::quota_amount;
using berth::resource_id;

namespace {

std::string amount(quota_amount a) {
  return a == berth::unlimited ? "no limit" : fmt::format("{}", a);
}
// Of a queue that is promised everything there is.
std::string promised(quota_amount a) {
  return a == berth::max_quota ? "everything" : fmt::format("{}", a);
}
std::string fraction(double d) {
  return std::isinf(d) ? "infinite" : fmt::format("{:.3f}", d);
}
std::string weight(quota_amount thousandths) {
  return fmt::format("{:g}", static_cast<double>(thousandths) / 1000);
}

// Of a queue: its weight, or those of its resources where they have some of their own.
std::string weights(const berth::queue_spec& q) {
  std::string out;
  bool own = false, same = true;
  for (std::size_t k = 0; k < q.quota.size(); ++k) {
    const auto w = [&](std::size_t i) { return q.quota[i].weight.value_or(q.weight); };
    own = own || q.quota[k].weight.has_value();
    same = same && w(k) == w(0);
    out += (k == 0 ? "" : ", ") + weight(w(k));
  }
  return !own ? "weight " + weight(q.weight) : same ? "weight " + weight(*q.quota[0].weight) : "weights " + out;
}
// "gpu (thousandths)"
std::string headed(const result& r, std::uint16_t k) {
  const auto& resource = r.tree->resource(resource_id{k});
  const auto unit = berth::unit_word(r.file->system, resource.name);
  return resource.label() + (unit.empty() ? "" : fmt::format(" ({})", unit));
}

}  // namespace

std::string as_text(const result& r) {
  const auto& t = *r.tree;
  std::string out = fmt::format("{}: {} of {}, divided by {}\n", r.file->tree.source,
                                berth::io_text::counted(r.queues.size(), "queue"), r.file->system, r.file->policy);
  for (const auto& n : r.notes) out += "note: " + n + "\n";
  std::size_t width = 5;
  for (const auto& q : r.queues) width = std::max(width, std::min<std::size_t>(q.depth, 20) * 2 + t.name(q.id).size());
  for (std::uint16_t k = 0; k < t.resource_count(); ++k) width = std::max(width, headed(r, k).size());
  width = std::min<std::size_t>(width, 60);
  for (std::uint16_t k = 0; k < t.resource_count(); ++k) {
    out += fmt::format("\n{:<{}}  {:>14} {:>14} {:>14} {:>14} {:>9}\n", headed(r, k), width, "guarantee", "share",
                       "usage", "may borrow", "dominant");
    for (const auto& q : r.queues) {
      const auto& x = q.resources[k];
      out += fmt::format("{:<{}}  {:>14} {:>14} {:>14} {:>14} {:>9}{}\n",
                         std::string(std::min<std::size_t>(q.depth, 20) * 2, ' ') + t.name(q.id), width,
                         promised(x.guarantee), promised(x.share), x.usage, amount(x.may_borrow), fraction(x.dominant),
                         t.spec(q.id).active ? "" : "  stopped");
    }
  }
  if (t.resource_count() == 0) {
    out += "\nno resource is named: nothing to divide\n";
    for (const auto& q : r.queues)
      out += fmt::format("{}{}  weight {}{}\n", std::string(std::min<std::size_t>(q.depth, 20) * 2, ' '), t.name(q.id),
                         weight(t.spec(q.id).weight), t.spec(q.id).active ? "" : "  stopped");
  }
  bool any = false;
  for (const auto& q : r.queues)
    for (std::size_t k = 0; k < q.resources.size(); ++k) {
      const auto& x = q.resources[k];
      if (x.from.empty() || t.spec(q.id).group) continue;
      if (!any) out += "\nwho may borrow what from whom\n";
      any = true;
      out += fmt::format("  {} up to {} {} from", t.name(q.id), amount(x.may_borrow),
                         t.resource(resource_id{static_cast<std::uint16_t>(k)}).label());
      for (std::size_t i = 0; i < x.from.size(); ++i)
        out += fmt::format("{} {} ({} idle)", i == 0 ? "" : ",", t.name(x.from[i].from), x.from[i].idle);
      if (x.more > 0) out += fmt::format(", and {} more", x.more);
      out += "\n";
    }
  if (r.file->system == "slurm") {
    out += "\nfair tree (1 goes first)\n";
    for (const auto& q : r.queues)
      if (q.fair_share) out += fmt::format("  {:.4f}  {}\n", *q.fair_share, t.name(q.id));
  }
  return out;
}

std::string as_json(const result& r) {
  using json = nlohmann::ordered_json;
  const auto& t = *r.tree;
  const auto limit = [](quota_amount a) { return a == berth::unlimited ? json{} : json(a); };
  const auto part = [](double d) { return std::isinf(d) ? json("infinite") : json(d); };
  json out;
  out["schema"] = "berth-quota/1";
  out["source"] = r.file->tree.source;
  out["system"] = r.file->system;
  out["policy"] = r.file->policy;
  out["notes"] = r.notes;
  auto& units = out["units"] = json::object();
  for (std::uint16_t k = 0; k < t.resource_count(); ++k)
    if (const auto unit = berth::unit_word(r.file->system, t.resource(resource_id{k}).name); !unit.empty())
      units[t.resource(resource_id{k}).label()] = unit;
  auto& list = out["queues"] = json::array();
  for (const auto& q : r.queues) {
    json o;
    o["name"] = t.name(q.id);
    o["parent"] = t.parent(q.id) ? json(t.name(t.parent(q.id))) : json{};
    o["weight"] = static_cast<double>(t.spec(q.id).weight) / 1000;
    o["active"] = t.spec(q.id).active;
    o["dominant_share"] = part(q.dominant);
    o["dominant_resource"] = q.dominant_resource.empty() ? json{} : json(q.dominant_resource);
    if (q.fair_share) o["fair_share"] = *q.fair_share;
    auto& resources = o["resources"] = json::object();
    for (std::size_t k = 0; k < q.resources.size(); ++k) {
      const auto& x = q.resources[k];
      json one;
      one["guarantee"] = x.guarantee;
      one["share"] = x.share;
      one["usage"] = x.usage;
      one["may_borrow"] = limit(x.may_borrow);
      one["dominant_share"] = part(x.dominant);
      one["cap"] = limit(x.cap);
      if (const auto& w = t.spec(q.id).quota[k].weight) one["weight"] = static_cast<double>(*w) / 1000;
      auto& from = one["from"] = json::array();
      for (const auto& l : x.from) from.push_back({{"queue", t.name(l.from)}, {"idle", l.idle}});
      if (x.more > 0) one["from_more"] = x.more;
      resources[t.resource(resource_id{static_cast<std::uint16_t>(k)}).label()] = std::move(one);
    }
    list.push_back(std::move(o));
  }
  return out.dump(2, ' ', false, json::error_handler_t::replace) + "\n";
}

std::string as_svg(const result& r) {
  const auto& t = *r.tree;
  berth::queue_picture p;
  p.title = r.file->tree.source;
  p.subtitle = fmt::format("{}, divided by {}", berth::io_text::counted(r.queues.size(), "queue"), r.file->policy);
  for (std::uint16_t k = 0; k < t.resource_count(); ++k) p.resources.push_back(t.resource(resource_id{k}).label());
  for (const auto& q : r.queues) {
    berth::queue_row row;
    row.name = t.name(q.id);
    row.depth = q.depth;
    row.stopped = !t.spec(q.id).active;
    row.note = row.stopped ? "stopped" : weights(t.spec(q.id));
    for (const auto& x : q.resources) {
      berth::queue_bar b;
      b.guarantee = static_cast<double>(x.guarantee);
      b.used = static_cast<double>(x.usage);
      b.share = static_cast<double>(x.share);
      if (x.cap != berth::unlimited) b.cap = static_cast<double>(x.cap);
      b.text = fmt::format("guarantee {}, used {}, share {}, may borrow {}", x.guarantee, x.usage, x.share,
                           amount(x.may_borrow));
      row.bars.push_back(std::move(b));
    }
    p.rows.push_back(std::move(row));
  }
  return berth::queue_tree_svg(p);
}

}  // namespace berth_quota
