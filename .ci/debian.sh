# Sourced by the run.sh scripts: sections with times, and packages for Debian 12.

set -euo pipefail
section_name=""
section_start=0

# section TEXT: opens a section and closes the one before with its time.
section() {
  [[ -z $section_name ]] || echo "-- $section_name: $((SECONDS - section_start)) s"
  section_name=$1
  section_start=$SECONDS
  echo
  echo "== $1"
}

# On any failure say in which section.
trap 'code=$?; [[ $code -eq 0 ]] || echo "FAILED in: ${section_name:-start} (exit $code)" >&2' EXIT

# need_packages NAME...: installs those that are missing, and only those.
need_packages() {
  if ! command -v dpkg-query >/dev/null; then
    echo "not a Debian system; these must be there in their own way: $*"
    return
  fi
  local missing=() name
  for name in "$@"; do
    [[ $(dpkg-query -W -f='${db:Status-Status}' "$name" 2>/dev/null || true) == installed ]] || missing+=("$name")
  done
  if [[ ${#missing[@]} -eq 0 ]]; then
    echo "all there: $*"
    return
  fi
  echo "installing: ${missing[*]}"
  local as_root=()
  if [[ $(id -u) -ne 0 ]]; then
    command -v sudo >/dev/null || { echo "need root or sudo to install: ${missing[*]}" >&2; return 1; }
    as_root=(sudo)
  fi
  local quiet=(env DEBIAN_FRONTEND=noninteractive apt-get -qq -o Dpkg::Use-Pty=0)
  "${as_root[@]}" "${quiet[@]}" update
  "${as_root[@]}" "${quiet[@]}" install -y --no-install-recommends "${missing[@]}" >/dev/null
}

# The newest clang++ there is, or nothing.
find_clang() {
  local name
  for name in clang++ clang++-{19,18,17,16,15,14}; do
    if command -v "$name"; then return; fi
  done
}

# configure PRESET COMPILER [ARGUMENT...]: says nothing unless it fails. A build folder of another compiler is begun anew:
# CMake would keep it, but forget the build type.
configure() {
  local preset=$1 compiler arguments=() log
  compiler=$(command -v "$2")
  shift 2
  ! command -v ccache >/dev/null || arguments+=(-D CMAKE_CXX_COMPILER_LAUNCHER=ccache)
  local cache=build/$preset/CMakeCache.txt
  if [[ -f $cache ]] && ! grep -qE "^CMAKE_CXX_COMPILER:[A-Z]+=$compiler\$" "$cache"; then arguments+=(--fresh); fi
  log=$(cmake --preset "$preset" -D CMAKE_CXX_COMPILER="$compiler" "${arguments[@]}" "$@" 2>&1) || {
    echo "$log"
    return 1
  }
}
