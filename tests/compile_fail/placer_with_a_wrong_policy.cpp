// expect: node_policy
// A placer takes its policies in their places: a domain policy answers no question about nodes.
#include "berth/solver/placer.hpp"

using right = berth::placer<berth::tightest, berth::spread, berth::lowest_index>;
#ifdef MUST_FAIL
using wrong = berth::placer<berth::tightest, berth::tightest, berth::lowest_index>;
#endif
