#include <fmt/format.h>

#include <boost/version.hpp>
#include <nlohmann/json.hpp>

#include "berth/topology/domain_tree.hpp"
#include "berth/topology/domain_tree_builder.hpp"
#include "berth/topology/graph/hardware_graph.hpp"

int main() {
  static_assert(BOOST_VERSION >= 107400);
  const auto tree = berth::domain_tree_builder::regular({"cluster", "leaf"}, {4}, 8);
  const auto said = nlohmann::json::parse(fmt::format("{{\"nodes\": {}}}", tree.node_count()));
  return said.at("nodes") == 32 ? 0 : 1;
}
