#!/usr/bin/env bash
# Builds the fuzz targets and runs each for some seconds, three at a time, from the sample files.
#   tests/fuzz/run.sh [SECONDS] [TARGET...]     60 seconds and all targets by default
# Exits with 1 when any target found something; the input that shows it lies in build/fuzz/findings/.
set -euo pipefail
cd "$(dirname "$0")/../.."
seconds=${1:-60}
shift || true
build=${BERTH_FUZZ_BUILD:-build/fuzz}
if [ -z "${BERTH_FUZZ_BUILD:-}" ]; then
  cmake --preset fuzz > /dev/null
  cmake --build --preset fuzz
fi
targets=("$@")
if [ ${#targets[@]} -eq 0 ]; then
  for source in tests/fuzz/*.cpp; do targets+=("$(basename "$source" .cpp)"); done
fi
mkdir -p "$build/findings"

# Which samples begin the search of which target.
seeds() {
  local data=tests/io/data/inputs
  case $1 in
    insides) echo "$data/topo-m $data/nccl-topo $data/hwloc $data/dcgm $data/infiniband" ;;
    fabrics) echo "$data/infiniband" ;;
    slurm) echo "$data/slurm $data/topograph examples/data" ;;
    kubernetes) echo "$data/kubernetes tests/fuzz/seeds/jobs" ;;
    jobs) echo "tests/fuzz/seeds/jobs $data/kubernetes $data/other-schedulers $data/slurm examples/data" ;;
    other) echo "$data/other-schedulers $data/kubernetes" ;;
    cases) echo "tests/profile/data tests/quota/data" ;;
    queues) echo "tests/quota/data tests/fuzz/seeds/queues $data/other-schedulers examples/data/openb examples/data/gavel" ;;
    own) echo "examples/data tests/fuzz/seeds/own" ;;
    mig) echo "tests/fuzz/seeds/mig" ;;
    *) echo "$data/topo-m $data/slurm $data/topograph $data/infiniband tests/fuzz/seeds/sites" ;;
  esac
}

one() {
  local target=$1 corpus="$build/corpus/$1"
  mkdir -p "$corpus"
  local dirs=()
  for d in $(seeds "$target"); do [ -d "$d" ] && dirs+=("$d"); done
  if ASAN_OPTIONS=detect_leaks=0:allocator_may_return_null=0 UBSAN_OPTIONS=print_stacktrace=1 \
      "$build/${BERTH_FUZZ_SUBDIR-tests/fuzz/}fuzz_$target" "$corpus" "${dirs[@]}" -max_total_time="$seconds" -max_len=16384 -timeout=25 -seed=1 \
      -rss_limit_mb=2048 -artifact_prefix="$build/findings/$target-" -print_final_stats=1 > "$build/$target.log" 2>&1; then
    echo "fuzz_$target: $(grep -o 'number_of_executed_units: *[0-9]*' "$build/$target.log" | grep -o '[0-9]*$') inputs, nothing found"
  else
    echo "fuzz_$target: FOUND something, see $build/$target.log"
    tail -n 40 "$build/$target.log"
    return 1
  fi
}

failed=0
for ((i = 0; i < ${#targets[@]}; i += 3)); do
  pids=()
  for target in "${targets[@]:i:3}"; do one "$target" & pids+=($!); done
  for pid in "${pids[@]}"; do wait "$pid" || failed=1; done
done
exit $failed
