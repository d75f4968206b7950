// expect: could not convert|no viable conversion from
// A bare number is no id: say `node_id{3}`.
#include "berth/core/id.hpp"

berth::node_id said(std::uint32_t raw) { return berth::node_id{raw}; }
#ifdef MUST_FAIL
berth::node_id implied(std::uint32_t raw) { return raw; }
#endif
