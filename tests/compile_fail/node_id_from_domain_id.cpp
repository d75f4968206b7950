// expect: could not convert|no viable conversion from
// One kind of id does not turn into another, nor is it compared with it.
#include "berth/core/id.hpp"

berth::node_id same_kind(berth::node_id n) { return n; }
#ifdef MUST_FAIL
berth::node_id other_kind(berth::domain_id d) { return d; }
#endif
