#!/usr/bin/env bash
# Installs what is missing on a bare Debian 12, builds everything and runs all tests with g++; where asked for, also with
# clang++ under the sanitizers, and the fuzz targets of the readers. Stops at the first failure.
#
#   tests/run.sh [--asan] [--fuzz SECONDS]
#
#   --asan   also with clang++ under AddressSanitizer and UndefinedBehaviorSanitizer
#   --fuzz   also every fuzz target for so many seconds
# With CI=true in the environment: --asan --fuzz 60.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
source .ci/debian.sh

asan=no fuzz=0
if [[ ${CI:-} == true ]]; then asan=yes fuzz=60; fi
while [[ $# -gt 0 ]]; do
  case $1 in
    --asan) asan=yes ;;
    --fuzz) fuzz=${2:?seconds}; shift ;;
    *) echo "unknown argument: $1 (there are --asan and --fuzz SECONDS)" >&2; exit 2 ;;
  esac
  shift
done

section "Packages"
packages=(g++ cmake ninja-build libboost-dev libeigen3-dev libfmt-dev nlohmann-json3-dev libpugixml-dev libyaml-cpp-dev
          libhwloc-dev libcli11-dev doctest-dev libbenchmark-dev python3)
if [[ $asan == yes || $fuzz != 0 ]]; then packages+=(clang libclang-rt-14-dev); fi
need_packages "${packages[@]}"
compiler=$(find_clang || true)

ran=()
# build_and_test PRESET COMPILER WORDS
build_and_test() {
  local preset=$1 words=$3
  section "Build: $words"
  configure "$preset" "$2"
  cmake --build --preset "$preset"
  section "Test: $words"
  ctest --preset "$preset" | tee "build/$preset/ctest.txt"
  ran+=("$preset|$words")
}

build_and_test release g++ "g++ $(g++ -dumpfullversion), Release"
if [[ $asan == yes ]]; then
  build_and_test asan "$compiler" "clang++ $("$compiler" -dumpversion) with AddressSanitizer and UndefinedBehaviorSanitizer"
fi
if [[ $fuzz != 0 ]]; then
  section "Fuzz targets"
  configure fuzz "$compiler"
  cmake --build --preset fuzz
  BERTH_FUZZ_BUILD=build/fuzz bash tests/fuzz/run.sh "$fuzz"
fi

section "Counts"
for entry in "${ran[@]}"; do
  preset=${entry%%|*}
  # Cases and assertions inside the rooms' programs, added up.
  awk -v words="${entry#*|}" '
    /\[doctest\] test cases:/ { cases += $4; for (i = 2; i <= NF; ++i) if ($i == "skipped") skipped += $(i - 1) }
    /\[doctest\] assertions:/ { assertions += $3 }
    END { printf "%s: %d test cases (%d skipped), %d assertions, in\n", words, cases, skipped, assertions }' \
    "build/$preset/Testing/Temporary/LastTest.log"
  grep -E '^[0-9]+% tests passed' "build/$preset/ctest.txt"
done
