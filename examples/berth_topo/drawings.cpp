// The drawings of --svg.

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "berth/report/fabric_svg.hpp"
#include "berth/report/machine_svg.hpp"
#include "berth_topo/commands.hpp"
#include "shared/output.hpp"

namespace berth_topo {

namespace {

// A word that is a file name everywhere.
std::string file_word(std::string s) {
  for (char& c : s)
    if (!berth::io_text::is_digit(c) && (berth::io_text::lower(c) < 'a' || berth::io_text::lower(c) > 'z') &&
        c != '.' && c != '_')
      c = '-';
  return s;
}

}  // namespace

berth::expected<std::vector<std::string>, berth::input_error> write_drawings(const options& o, const berth::site& s) {
  std::vector<std::pair<std::string, std::string>> drawings;
  if (s.spec.nodes.size() > 1)
    drawings.emplace_back(o.svg + "-fabric.svg",
                          berth::draw_fabric(s.net.graph, berth::io_text::counted(s.spec.nodes.size(), "machine")));
  std::vector<std::vector<std::string>> nodes(s.net.shapes.size());
  for (std::uint32_t n = 0; n < s.spec.nodes.size(); ++n)
    nodes[s.net.shape_of[n].index()].push_back(s.spec.nodes[n].name);
  for (std::size_t i = 0; i < nodes.size() && drawings.size() < 17; ++i) {
    const auto& g = s.net.shapes[i];
    if (nodes[i].empty() || boost::num_vertices(g) == 0) continue;
    const std::string title = g[boost::graph_bundle].name + ": " + berth::merge_detail::names_text(nodes[i]);
    drawings.emplace_back(o.svg + "-" + file_word(nodes[i].front()) + ".svg", berth::draw_machine(g, title));
  }
  std::vector<std::string> written;
  for (const auto& [path, text] : drawings) {
    if (!berth_program::write_file(path, text))
      return berth::unexpected{berth::input_error{"--svg", 0,
                                                  berth::io_text::quoted(path) + ", which cannot be written",
                                                  "a path where a file can be written"}};
    written.push_back(path);
  }
  return written;
}

}  // namespace berth_topo
