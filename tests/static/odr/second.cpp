#include "berth/berth.hpp"
#include "tools.hpp"

extern template class berth::placer<>;

const void* second_address();
bool second_places(berth::cluster& c);

const void* second_address() {
  return reinterpret_cast<const void*>(&berth::domain_tree_builder::build);
}
bool second_places(berth::cluster& c) {
  berth::placer<> place{c};
  const berth::gang g{.groups = {{.name = "worker", .shape = {.devices = 8}, .wanted = 3, .minimum = 3}}};
  return static_cast<bool>(place(g));
}
