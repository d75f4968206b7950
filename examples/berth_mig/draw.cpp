#include "berth_mig/draw.hpp"

#include <fmt/format.h>

#include <iterator>

#include "berth/topology/mig_states.hpp"

namespace berth_mig {

using namespace berth;

namespace {

// Calls f(placement) for the instances by start.
template <class F>
void by_start(const mig_geometry& g, mig_set instances, F&& f) {
  for (unsigned start = 0; start < *g.product->units; ++start)
    for_each_bit(instances, [&](unsigned p) {
      if (g.placement[p].start == start) f(p);
    });
}

std::string escaped(std::string_view text) {
  std::string out;
  for (const char c : text) out += c == '&' ? "&amp;" : c == '<' ? "&lt;" : std::string(1, c);
  return out;
}

}  // namespace

std::string as_words(const mig_geometry& g, mig_set instances) {
  std::string out;
  by_start(g, instances, [&](unsigned p) {
    out += fmt::format("{}{}@{}", out.empty() ? "" : " ", g.row(g.placement[p].profile).name, g.placement[p].start);
  });
  return out.empty() ? "nothing" : out;
}

std::string as_line(const mig_geometry& g, mig_set instances) {
  const unsigned unit = *g.product->units > 8 ? 4 : 5;
  std::string out(std::size_t{*g.product->units} * unit, '.');
  for_each_bit(instances, [&](unsigned p) {
    const auto& place = g.placement[p];
    const std::size_t from = std::size_t{place.start} * unit, width = std::size_t{place.size} * unit;
    std::string name{g.row(place.profile).name};
    if (name.size() > width - 2) name.resize(name.find('.') < width - 2 ? name.find('.') : width - 2);
    std::string box = "[" + name + std::string(width - 2 - name.size(), ' ') + "]";
    out.replace(from, width, box);
  });
  return out;
}

std::string what_fits(const mig_geometry& g, mig_set instances) {
  const mig_state_table t{g};
  const auto s = t.find(*g.key_of(instances));
  std::string out;
  for (unsigned q = 0; q < g.profiles; ++q) {
    const mig_set open = t.open(s, q);
    if (g.of_profile[q] == 0) continue;
    out += fmt::format("  {:<16} ", g.row(q).name);
    if (open == 0) {
      out += "no legal start\n";
      continue;
    }
    out += fmt::format("{} more, start", t.room(s, q));
    for_each_bit(open, [&](unsigned p) { out += fmt::format(" {}", g.placement[p].start); });
    out += "\n";
  }
  return out;
}

std::string as_svg(const mig_geometry& g, const std::vector<labelled_layout>& rows) {
  constexpr unsigned row = 30, left = 90;
  const unsigned units = *g.product->units, unit = 560 / units;
  constexpr const char* fill[] = {"#ddd", "#cfe8cf", "#b9d9f2", "#f5d6a8", "#f2b8b0", "#ddd", "#ddd", "#cdbfe3"};
  std::string out = fmt::format(
      "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{}\" height=\"{}\" font-family=\"sans-serif\" "
      "font-size=\"11\">\n",
      left + unit * units + 10, row * (rows.size() + 1));
  out += fmt::format("<text x=\"4\" y=\"18\">{}</text>\n", escaped(g.product->name));
  std::size_t y = row;
  for (const auto& r : rows) {
    out += fmt::format("<text x=\"4\" y=\"{}\">{}</text>\n", y + 17, escaped(r.label));
    for (unsigned u = 0; u < units; ++u)
      out += fmt::format("<rect x=\"{}\" y=\"{}\" width=\"{}\" height=\"{}\" fill=\"#fff\" stroke=\"#bbb\"/>\n",
                         left + u * unit, y, unit, row - 6);
    by_start(g, r.instances, [&](unsigned p) {
      const auto& place = g.placement[p];
      out += fmt::format(
          "<rect x=\"{}\" y=\"{}\" width=\"{}\" height=\"{}\" rx=\"3\" fill=\"{}\" stroke=\"#555\"/>"
          "<text x=\"{}\" y=\"{}\">{}</text>\n",
          left + place.start * unit + 1, y + 1, place.size * unit - 2, row - 8, fill[g.compute_of(p) & 7U],
          left + place.start * unit + 5, y + 16, escaped(g.row(place.profile).name));
    });
    y += row;
  }
  return out + "</svg>\n";
}

}  // namespace berth_mig
