// Two translation units include everything and are linked: a function in a header that is not inline breaks the link,
// and what has one address must have one.
#include <cstdio>

#include "berth/berth.hpp"
#include "tools.hpp"

const void* second_address();

int main() {
  const auto* here = reinterpret_cast<const void*>(&berth::domain_tree_builder::build);
  if (here != second_address()) return std::puts("an inline function has two addresses"), 1;
  return 0;
}
