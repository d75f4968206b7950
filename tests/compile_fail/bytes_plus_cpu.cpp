// expect: no match for 'operator\+'|invalid operands to binary expression
// Amounts of different units do not add.
#include "berth/core/units.hpp"

auto same_unit() { return berth::gibibytes(1) + berth::bytes{1}; }
#ifdef MUST_FAIL
auto mixed_units() { return berth::gibibytes(1) + berth::cpus(1); }
#endif
