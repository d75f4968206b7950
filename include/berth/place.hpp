#pragma once
/// \file
/// All that the hot path needs, and nothing heavy: cluster state, gangs, policies, the placer. Includes no Boost, Eigen
/// or fmt header.

#include "berth/cluster/cluster.hpp"
#include "berth/cluster/transaction.hpp"
#include "berth/job/gang.hpp"
#include "berth/policy/compose.hpp"
#include "berth/policy/device_choice.hpp"
#include "berth/policy/domain_fit.hpp"
#include "berth/policy/node_fit.hpp"
#include "berth/solver/batch.hpp"
#include "berth/solver/placer.hpp"
