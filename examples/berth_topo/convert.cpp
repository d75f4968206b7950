// The topology in another form.

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "berth/io/graphviz.hpp"
#include "berth/io/merge/expand_site.hpp"
#include "berth/io/merge/site_json.hpp"
#include "berth_topo/commands.hpp"

namespace berth_topo {

namespace {

// One drawing of everything: machines in full where there are few, else one vertex each.
std::string graphviz(const berth::site& s) {
  std::vector<std::uint32_t> inside;
  std::size_t parts = 0;
  for (std::uint32_t n = 0; n < s.spec.nodes.size(); ++n) {
    inside.push_back(n);
    parts += boost::num_vertices(s.net.shapes[s.net.shape_of[n].index()]);
  }
  if (parts == 0 || parts > 500) return berth::write_graphviz_text(s.net.graph);
  return berth::write_graphviz_text(berth::expand_site(s, inside).graph);
}

}  // namespace

text_result convert(const options& o, const berth::site& s) {
  if (o.to == "json") return berth::write_site_json(s);
  if (o.to == "graphviz") return graphviz(s);
  return berth::unexpected{
      berth::input_error{"--to", 0, berth::io_text::quoted(o.to),
                         "json, graphviz, slurm-tree, slurm-block, slurm-yaml, kueue or hypernodes"}};
}

}  // namespace berth_topo
