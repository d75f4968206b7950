#!/usr/bin/env python3
"""Prints what including berth costs at compile time, as ratios measured in one run.

    bench/compile_cost.py [--compiler g++ --compiler clang++-14] [--runs 5] [--headers]

Twice: with the bodies left to another file (`BERTH_SEPARATE`, berth/core/separate.hpp), against the targets, and with
everything in every file, as headers are found.

  lean entry   berth/place.hpp against <fmt/format.h>: lines after preprocessing, and CPU time of -fsyntax-only
  umbrella     berth/berth.hpp against one file with the third-party headers of it and its bodies, likewise
  placer       CPU time at -O2 of a file that makes and calls a placer<>, less that of one that only includes place.hpp
  other        what a placer of other policies adds in the same file
  bodies       CPU time at -O2 of the one file that compiles the bodies of place.hpp

Times are medians of CPU seconds; the candidates of a comparison take turns, so that a busy machine slows all of them
alike. --headers lists the standard headers that place.hpp includes, by the lines each would add to a file without it.
Exit status 1 when a target is missed.
"""

import argparse
import os
import pathlib
import re
import shutil
import statistics
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[1]
INCLUDE = ROOT / "include"
THIRD_PARTY = re.compile(r"#\s*include\s*<((?:boost|fmt|Eigen|nlohmann)/[^>]+)>")
# Where Debian, Fedora and Homebrew keep Eigen; elsewhere it lies on the compiler's own path.
EIGEN = [p for p in ("/usr/include/eigen3", "/usr/local/include/eigen3", "/opt/homebrew/include/eigen3")
         if pathlib.Path(p).is_dir()]
OWN = re.compile(r'#\s*include\s*"(berth/[^"]+)"')

USE = """#include "berth/place.hpp"
template <class Placer>
berth::decision decide(berth::cluster& c, const berth::gang& g) {
  Placer place{c};
  berth::decision d = place(g);
  d.where = {};
  return d;
}
template berth::decision decide<berth::placer<>>(berth::cluster&, const berth::gang&);
"""
OTHER = """using other = berth::placer<berth::fewest_domains, berth::spread>;
template berth::decision decide<other>(berth::cluster&, const berth::gang&);
"""


def run(command):
    """CPU seconds of a command."""
    pid = os.posix_spawnp(command[0], command, os.environ)
    _, status, usage = os.wait4(pid, 0)
    if status != 0:
        sys.exit("failed: " + " ".join(command))
    return usage.ru_utime + usage.ru_stime


def third_party(header, seen=None):
    """The third-party headers that a header of ours includes, directly or through others of ours; in order."""
    seen = set() if seen is None else seen
    out = []
    text = (INCLUDE / header).read_text()
    out += THIRD_PARTY.findall(text)
    for inner in OWN.findall(text):
        if inner not in seen:
            seen.add(inner)
            out += third_party(inner, seen)
    return list(dict.fromkeys(out))


class compiler:
    def __init__(self, name, folder):
        self.name = name
        self.folder = folder
        self.flags = ["-std=c++20", "-I", str(INCLUDE), *(f"-isystem{p}" for p in EIGEN), "-x", "c++"]

    def source(self, text):
        path = self.folder / f"{abs(hash(text))}.cpp"
        path.write_text(text)
        return str(path)

    def lines(self, text, extra=()):
        command = [self.name, *self.flags, *extra, "-E", "-P", self.source(text)]
        out = subprocess.run(command, capture_output=True, text=True)
        if out.returncode != 0:
            sys.exit(out.stderr)
        return sum(1 for line in out.stdout.splitlines() if line.strip())

    def seconds(self, texts, extra, runs):
        """Median CPU seconds of each text, taking turns."""
        files = [self.source(t) for t in texts]
        taken = [[] for _ in texts]
        for _ in range(runs + 1):
            for i, f in enumerate(files):
                taken[i].append(run([self.name, *self.flags, *extra, f]))
        return [statistics.median(t[1:]) for t in taken]  # the first round fills the disk cache


def include(*headers):
    return "".join(f"#include <{h}>\n" for h in headers)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--compiler", action="append", help="default: those of g++, clang++, clang++-14 that are there")
    parser.add_argument("--runs", type=int, default=5)
    parser.add_argument("--headers", action="store_true")
    args = parser.parse_args()
    names = args.compiler or [n for n in ("g++", "clang++", "clang++-14") if shutil.which(n)]
    names = [n for i, n in enumerate(names) if shutil.which(n) not in [shutil.which(m) for m in names[:i]]]
    missed = 0

    def show(what, value, limit, unit, detail):
        nonlocal missed
        missed += limit is not None and value > limit
        target = "" if limit is None else f"(target <= {limit}{unit}{', MISSED' if value > limit else ''})"
        print(f"  {what:<42} {value:6.2f}{unit:<2}  {target:<28}  {detail}")

    with tempfile.TemporaryDirectory() as folder:
        for name in names:
            cxx = compiler(name, pathlib.Path(folder))
            print(name)
            if args.headers:
                list_headers(cxx)
            for mode, extra in (("bodies in another file", ["-DBERTH_SEPARATE"]), ("all in every file", [])):
                print(f" {mode}")
                for header, others, limit in (("berth/place.hpp", ["fmt/format.h"], 1.3),
                                              ("berth/berth.hpp", third_party("berth/berth.hpp"), 1.5)):
                    ours, theirs = include(header), include(*others)
                    words = f"<{others[0]}>" if len(others) == 1 else f"its {len(others)} third-party headers"
                    target = limit if extra else None
                    a, b = cxx.lines(ours, extra), cxx.lines(theirs)
                    show(f"{header} / {words}, lines", a / b, target, "", f"{a} / {b}")
                    a, b = cxx.seconds([ours, theirs], [*extra, "-fsyntax-only"], args.runs)
                    show(f"{header} / {words}, syntax", a / b, target, "", f"{a:.2f} s / {b:.2f} s")
                target = 1.0 if extra else None
                a, b, c, d = cxx.seconds([USE, include("berth/place.hpp"), USE + OTHER,
                                          "#define BERTH_COMPILE_BODIES\n" * bool(extra) + include("berth/place.hpp")],
                                         [*extra, "-O2", "-c", "-o", os.devnull], args.runs)
                show("placer<> at -O2 adds", a - b, target, " s", f"{a:.2f} s - {b:.2f} s")
                show("a placer of other policies adds", c - a, target, " s", f"{c:.2f} s - {a:.2f} s")
                if extra:
                    show("the file with the bodies of place.hpp takes", d, None, " s", "")
    return 1 if missed else 0


def list_headers(cxx):
    seen, todo = set(), ["berth/place.hpp"]
    used = {}
    while todo:
        h = todo.pop()
        if h in seen:
            continue
        seen.add(h)
        text = (INCLUDE / h).read_text()
        todo += OWN.findall(text)
        for s in re.findall(r"#\s*include\s*<([a-z_]+)>", text):
            used.setdefault(s, []).append(h)
    for count, s in sorted(((cxx.lines(include(s)), s) for s in used), reverse=True):
        rest = cxx.lines(include(*[o for o in used if o != s]))
        whole = cxx.lines(include(*used))
        print(f"  {count:7d} lines alone, {whole - rest:6d} beside the others  <{s}>  {', '.join(used[s][:3])}"
              f"{' …' if len(used[s]) > 3 else ''}")


if __name__ == "__main__":
    sys.exit(main())
