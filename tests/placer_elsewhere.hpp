#pragma once
/// \file
/// The default placer, and the searches that all placers share, are compiled once for a room's tests: in
/// `placer_here.cpp`.

#include "berth/solver/placer.hpp"

extern template class berth::placer<>;
extern template class berth::detail::mixed_search<berth::detail::gang_filler>;
extern template class berth::detail::fabric_search<berth::detail::gang_filler>;
extern template class berth::detail::count_search<berth::detail::gang_filler>;
