// The one file of the program `separate` that compiles berth's bodies.
#define BERTH_COMPILE_BODIES
#include "berth/place.hpp"
#include "berth/topology/domain_tree_builder.hpp"
