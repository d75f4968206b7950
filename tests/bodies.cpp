// Of all that the tests include, what the headers leave to one file (berth/core/separate.hpp).
#define BERTH_COMPILE_BODIES
#include "berth/berth.hpp"
