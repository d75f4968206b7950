#include "berth/topology/domain_tree.hpp"
#include "berth/topology/domain_tree_builder.hpp"

int main() {
  const auto tree = berth::domain_tree_builder::regular({"cluster", "leaf"}, {4}, 8);
  return tree.node_count() == 32 ? 0 : 1;
}
