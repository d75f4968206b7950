#!/bin/sh
# Where do the instructions and cache misses of one placement go? Runs one case of bench_place under valgrind's callgrind,
# for two numbers of iterations, and prints the difference per iteration: set-up does not count.
#
#   bench/profile_place.sh [CASE [GANG [GPUS]]]       defaults: whole_nodes 8 131072
#
# CASE: whole_nodes, single_gpu, no_fit, constrained, with or without _churn. Counts are exact for instructions and those of
# a simulated cache (this machine's sizes as valgrind reads them) for misses. Functions are as the optimiser left them: what
# was inlined counts where it went. CXX names the compiler, CXXFLAGS the optimisation (default "-O3 -g -DNDEBUG").
set -eu
root=$(cd "$(dirname "$0")/.." && pwd)
case=${1:-whole_nodes} gang=${2:-8} gpus=${3:-131072}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
# shellcheck disable=SC2086
${CXX:-c++} -std=c++20 ${CXXFLAGS:--O3 -g -DNDEBUG} -I"$root/include" -I"$root/bench" \
    "$root/bench/profile_place/profile_place.cpp" -o "$work/profile_place"
low=100 high=1100
for n in $low $high; do
  valgrind --tool=callgrind --cache-sim=yes --branch-sim=yes --dump-instr=no --compress-strings=no --compress-pos=no \
      --callgrind-out-file="$work/$n.out" "$work/profile_place" "$case" "$gang" "$gpus" "$n" 2>"$work/log" ||
    { cat "$work/log" >&2; exit 1; }
done
python3 - "$work/$low.out" "$work/$high.out" $((high - low)) "$case/gang:$gang/gpus:$gpus" <<'PYTHON'
import collections, re, sys

def self_costs(path):
    """Function -> its own costs, without those of what it calls."""
    costs, events, name, skip = collections.defaultdict(lambda: [0] * 16), [], None, False
    for line in open(path, errors="replace"):
        if line.startswith("events:"):
            events = line.split()[1:]
        elif line.startswith("fn="):
            name = line[3:].strip()
        elif line.startswith("calls="):
            skip = True  # the next line is the cost of the callee
        elif line[:1].isdigit() or line[:1] in "+-*":
            if skip:
                skip = False
                continue
            for i, v in enumerate(line.split()[1:]):
                costs[name][i] += int(v)
    return costs, events

low, events = self_costs(sys.argv[1])
high, _ = self_costs(sys.argv[2])
n = int(sys.argv[3])
at = {e: i for i, e in enumerate(events)}
def per_call(f, *names):
    return sum(high[f][at[e]] - low[f][at[e]] for e in names) / n
columns = [("instructions", ("Ir",)), ("L1 misses", ("D1mr", "D1mw")), ("LL misses", ("DLmr", "DLmw")),
           ("code L1", ("I1mr",)), ("mispredicted", ("Bcm", "Bim"))]
def short(f):
    f = re.sub(r"berth::(detail::)?|\(anonymous namespace\)::", "", f)
    while re.search(r"<[^<>]*>", f):
        f = re.sub(r"<[^<>]*>", "", f)
    f = f.replace("operator()", "operator call")
    return re.sub(r"\(.*", "", f)[:60]
rows = sorted(((per_call(f, "Ir"), f) for f in high), reverse=True)
print(sys.argv[4] + ", per iteration")
print("".join(f"{c:>14}" for c, _ in columns) + "  function")
print("".join(f"{sum(per_call(f, *e) for f in high):14.1f}" for _, e in columns) + "  all")
for cost, f in rows:
    if cost < 0.5:
        break
    print("".join(f"{per_call(f, *e):14.1f}" for _, e in columns) + "  " + short(f))
PYTHON
