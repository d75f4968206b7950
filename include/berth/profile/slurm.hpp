#pragma once
/// \file
/// Slurm, as far as it needs no eviction.
///
/// | asked | answered by | source, in SchedMD/slurm |
/// |---|---|---|
/// | nodes of a tree, `--switches` | `slurm_tree` | src/plugins/topology/tree/eval_nodes_tree.c |
/// | nodes of blocks, segments | `slurm_block` | src/plugins/topology/block/eval_nodes_block.c |
/// | boxes of a torus | `slurm_torus` | src/plugins/topology/torus3d/eval_nodes_torus3d.c |
/// | trial slots of backfill | `slurm_block::best_start` | src/plugins/sched/backfill/oracle.c |
/// | fragmentation score | `slurm_block::fragmentation` | src/plugins/topology/block/topology_block.c |
/// | Fair Tree | `fair_tree` | doc/html/fair_tree.shtml |
/// | decayed usage | `quota/usage/decay.hpp` | doc/html/priority_multifactor.shtml |

#include "berth/profile/slurm_block.hpp"
#include "berth/profile/slurm_torus.hpp"
#include "berth/profile/slurm_tree.hpp"
#include "berth/quota/order/fair_tree.hpp"
#include "berth/quota/usage/decay.hpp"
