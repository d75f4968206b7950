#!/usr/bin/env bash
# Places a 64-GPU gang on a real site's cluster, from nothing: on a bare Debian 12 this installs what is missing, builds
# berth-place and runs it. Arguments are handed to berth-place in place of the ones below.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
source .ci/debian.sh

section "Packages"
need_packages g++ cmake ninja-build libboost-dev libeigen3-dev libfmt-dev nlohmann-json3-dev libpugixml-dev \
  libyaml-cpp-dev libhwloc-dev libcli11-dev

section "Build (Release)"
configure release g++ -D BERTH_BUILD_TESTS=OFF -D BERTH_BUILD_BENCH=OFF
cmake --build --preset release --target berth-place

section "Place 8 tasks of 8 GPUs each on the occupied Azure cluster"
if [[ $# -gt 0 ]]; then
  arguments=("$@")
else
  arguments=(--cluster examples/data/azure-tree.topology.conf --node-shape azure-ndv5
             --occupied examples/data/azure-tree.occupied --gang tasks=8,gpus=8 --svg build/azure-tree.svg)
fi
echo "build/release/examples/berth-place ${arguments[*]}"
echo
build/release/examples/berth-place "${arguments[@]}"
if [[ $# -eq 0 ]]; then
  [[ -s build/azure-tree.svg ]] || { echo "no SVG was written" >&2; exit 1; }
  echo
  echo "The floor plan is in $PWD/build/azure-tree.svg"
fi
