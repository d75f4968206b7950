// Two translation units include everything and are linked: a function in a header that is not inline breaks the link,
// and what has one address must have one. The placer is compiled here, and called from the other.
#include <cstdio>

#include "berth/berth.hpp"
#include "tools.hpp"

template class berth::placer<>;

const void* second_address();
bool second_places(berth::cluster& c);

int main() {
  const auto* here = reinterpret_cast<const void*>(&berth::domain_tree_builder::build);
  if (here != second_address()) return std::puts("an inline function has two addresses"), 1;
  const auto spec = berth::make_preset("leaf-spine:nodes=8,per-leaf=4,oversubscription=4");
  if (!spec) return std::puts(spec.error().c_str()), 1;
  berth::cluster c{*spec};
  if (!second_places(c)) return std::puts("a placer that another file compiles does not place"), 1;
  return 0;
}
