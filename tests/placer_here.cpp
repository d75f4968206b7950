#include "berth/solver/placer.hpp"

template class berth::placer<>;
template class berth::detail::mixed_search<berth::detail::gang_filler>;
template class berth::detail::fabric_search<berth::detail::gang_filler>;
template class berth::detail::count_search<berth::detail::gang_filler>;
