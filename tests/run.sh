#!/usr/bin/env bash
# Installs what is missing on a bare Debian 12, builds everything and runs all tests: with g++, with clang++ where it is
# there, and with the sanitizers where asked for. Stops at the first failure.
#
#   tests/run.sh [--asan] [--clang] [--no-clang]
#
#   --asan      also under AddressSanitizer and UndefinedBehaviorSanitizer
#   --clang     install clang++ where it is missing;  --no-clang: leave it out
# With CI=true in the environment: --asan --clang.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
source .ci/debian.sh

asan=no
clang=present
if [[ ${CI:-} == true ]]; then asan=yes clang=install; fi
for argument in "$@"; do
  case $argument in
    --asan) asan=yes ;;
    --clang) clang=install ;;
    --no-clang) clang=no ;;
    *) echo "unknown argument: $argument (there are --asan, --clang, --no-clang)" >&2; exit 2 ;;
  esac
done

section "Packages"
packages=(g++ cmake ninja-build libboost-dev libeigen3-dev libfmt-dev nlohmann-json3-dev libpugixml-dev libyaml-cpp-dev
          libhwloc-dev libcli11-dev doctest-dev libbenchmark-dev
          python3)
if [[ $clang == install && -z $(find_clang) ]]; then packages+=(clang); fi
need_packages "${packages[@]}"

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
if [[ $clang != no ]]; then
  compiler=$(find_clang)
  if [[ -n $compiler ]]; then
    build_and_test clang "$compiler" "clang++ $("$compiler" -dumpversion), assertions on"
  else
    section "clang++ is not there: not tested with it (--clang installs it)"
  fi
fi
if [[ $asan == yes ]]; then
  build_and_test asan g++ "g++ with AddressSanitizer and UndefinedBehaviorSanitizer"
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
