#!/usr/bin/env python3
"""Holds the sources to the shape that the design gives them.

    check.py                    checks the tree this file lies in; exit 1 and one line per fault
    check.py --write-umbrella   rewrites include/berth/berth.hpp so that it lists what exists
    check.py --list-tools       include lines of the headers that the umbrella leaves out and that need no library of readers
    check.py --root DIR         the same for another tree

Looks at the files that git tracks; outside a repository, at all files but those under build/.
"""

import argparse
import pathlib
import re
import subprocess
import sys

# A room includes rooms to its left and itself, never one to its right.
ROOMS = ["core", "topology", "cluster", "job", "policy", "solver", "quota", "queue", "profile", "sim", "io", "report"]
# Headers for the hot path: no heavy library, neither directly nor through another header of ours.
LEAN = {"core", "topology", "cluster", "job", "policy", "solver"}
HEAVY_LIBRARY = re.compile(r"^(boost|Eigen|unsupported|fmt|nlohmann|CLI|yaml-cpp)/|^pugixml|^hwloc|^spdlog")
HEAVY_STANDARD = {"algorithm", "functional", "iostream", "regex", "unordered_map", "unordered_set", "variant", "ranges",
                  "filesystem", "format", "fstream", "sstream", "thread", "future"}
# What may lie at the top; anything else only with a leading dot.
TOP_LEVEL = {"CMakeLists.txt", "CMakePresets.json", "LICENSE", "README.md",
             "include", "examples", "bench", "tests", "docs"}
SOURCE = {".hpp", ".cpp", ".h", ".cmake", ".py", ".sh", ".md", ".txt"}
MAX_LINES = 600
# Folders that exist on one machine only. Written apart, so that this file does not find itself.
MACHINE_PATH = re.compile("(?<![\\w.-])/(?:" + "|".join(
    ["work" + "/(?:main|shared)", "root" + "/", "home" + "/[a-z]", "tmp" + "/(?:brief|build|bash_jobs)"]) + ")")
INCLUDE = re.compile(r'^\s*#\s*include\s*([<"])([^>"]+)[>"]', re.M)
UMBRELLA = "include/berth/berth.hpp"
# Rooms that the umbrella leaves out: tools around a scheduler, included header by header.
TOOLS = {"profile", "io", "report"}
# Long tables, which are read where something is looked up in them, and so compiled with the bodies.
TABLES = {f"berth/topology/catalogue/{name}.hpp"
          for name in ("fabrics", "gpu_models", "mig_products", "node_graphs", "node_shapes")}
# The only headers outside a room: everything, and the hot path alone (which must be lean).
LEAN_ENTRY = "berth/place.hpp"
ENTRIES = {"berth/berth.hpp", LEAN_ENTRY}


def tracked(root):
    try:
        out = subprocess.run(["git", "-C", str(root), "ls-files", "-z"], capture_output=True, check=True).stdout
        names = [n for n in out.decode().split("\0") if n]
        top = subprocess.run(["git", "-C", str(root), "rev-parse", "--show-toplevel"], capture_output=True, check=True)
        if pathlib.Path(top.stdout.decode().strip()).resolve() == root.resolve():
            return sorted(n for n in names if (root / n).is_file())
    except (OSError, subprocess.CalledProcessError):
        pass
    found = (p.relative_to(root) for p in root.rglob("*") if p.is_file())
    return sorted(str(p) for p in found if p.parts[0] not in ("build", ".git"))


def room_of(header):
    """Room of a header path under include/, or None for the umbrella."""
    parts = header.split("/")
    return parts[1] if len(parts) > 2 else None


def is_graph(header):
    return header.startswith("berth/topology/graph/")


def is_lean(header):
    return header == LEAN_ENTRY or room_of(header) in LEAN and not is_graph(header)


class tree:
    def __init__(self, root):
        self.root = root
        self.files = tracked(root)
        self.text = {}
        for name in self.files:
            try:
                self.text[name] = (root / name).read_text(encoding="utf-8")
            except UnicodeDecodeError:
                pass  # not text; only its place is checked
        self.headers = {n[len("include/"):]: self.text[n] for n in self.files
                        if n.startswith("include/berth/") and n.endswith(".hpp") and n in self.text}
        self.includes = {h: [(m.group(2), t[:m.start()].count("\n") + 1 + m.group(0).count("\n"))
                             for m in INCLUDE.finditer(t)] for h, t in self.headers.items()}

    def reaches(self, header, test):
        """A chain of includes from `header` to one that satisfies `test`, or None."""
        todo, seen = [[header]], {header}
        while todo:
            chain = todo.pop()
            for name, _ in self.includes.get(chain[-1], []):
                if test(name):
                    return chain + [name]
                if name in self.headers and name not in seen:
                    seen.add(name)
                    todo.append(chain + [name])
        return None

    def public_headers(self, wanted):
        """Every header of the rooms that are `wanted`, in the order of the rooms, but our internals and those that need a
        library besides Boost, Eigen and fmt."""
        def foreign(name):
            return bool(re.match(r"^(nlohmann|CLI|yaml-cpp)/|^pugixml|^hwloc", name))
        return sorted((h for h in self.headers if room_of(h) and wanted(room_of(h)) and "/detail/" not in h
                       and "/impl/" not in h and not self.reaches(h, foreign)),
                      key=lambda h: (ROOMS.index(room_of(h)) if room_of(h) in ROOMS else 99, is_graph(h), h))


def umbrella_text(t):
    lines = ["#pragma once", "/// \\file",
             "/// What a scheduler embeds: all rooms from `core/` to `quota/`, and `sim/`. Needs Boost.Graph and Eigen",
             "/// (targets `berth::graph` and `berth::quota`, or `berth::all`).",
             "/// Heavy: users of the hot path alone include `berth/place.hpp`.",
             "/// Not listed, to be included by name: the tools around a scheduler, in `io/`, `report/` and `profile/`, and the",
             "/// tables of `topology/catalogue/`.",
             "///", "/// Kept by `tests/architecture/check.py --write-umbrella`, in the order of the rooms.", "",
             "// clang-format off: the order of the rooms"]
    last = None
    for h in t.public_headers(lambda room: room not in TOOLS):
        if h in TABLES:
            continue
        block = (room_of(h), is_graph(h))
        if last not in (None, block):
            lines.append("")
        last = block
        lines.append(f'#include "{h}"')
    return "\n".join(lines + ["// clang-format on", ""])


def check_rooms(t):
    for h in t.headers:
        room = room_of(h)
        path = "include/" + h
        if room is None:
            if h not in ENTRIES:
                yield f"{path}: lies in no room; only {' and '.join(sorted(ENTRIES))} may"
            continue
        if room not in ROOMS:
            yield f"{path}: there is no room '{room}'"
            continue
        if "#pragma once" not in t.headers[h]:
            yield f"{path}: has no #pragma once"
        for name, line in t.includes[h]:
            if not name.startswith("berth/"):
                continue
            if name not in t.headers and not (t.root / "include" / name).is_file():
                yield f"{path}:{line}: includes {name}, which does not exist"
            elif room_of(name) is None:
                yield f"{path}:{line}: includes the umbrella; name the headers that are used"
            elif room_of(name) in ROOMS and ROOMS.index(room_of(name)) > ROOMS.index(room):
                yield f"{path}:{line}: room {room} includes {name}, but {room_of(name)} lies below it"


def check_lean(t):
    def heavy(name):
        return bool(HEAVY_LIBRARY.match(name)) or is_graph(name)
    for h in t.headers:
        if not is_lean(h):
            continue
        chain = t.reaches(h, heavy)
        if chain:
            yield f"include/{h}: a lean header reaches {' -> '.join(chain[1:])}"
        for name, line in t.includes[h]:
            if name in HEAVY_STANDARD:
                yield f"include/{h}:{line}: a lean header includes <{name}>, which costs every user compile time"


def check_umbrella(t):
    if t.text.get(UMBRELLA) != umbrella_text(t):
        yield f"{UMBRELLA}: does not list what exists; run tests/architecture/check.py --write-umbrella"


def check_files(t):
    for name in t.files:
        top = name.split("/")[0]
        if top not in TOP_LEVEL and not top.startswith("."):
            yield f"{name}: '{top}' has no place at the top level"
        text = t.text.get(name)
        if text is None:
            continue
        for number, line in enumerate([] if "/data/" in name else text.splitlines(), 1):
            m = MACHINE_PATH.search(line)
            if m:
                yield f"{name}:{number}: names a path of one machine: {m.group(0)}"
        count = text.count("\n")
        if pathlib.PurePath(name).suffix in SOURCE and "/data/" not in name and count > MAX_LINES:
            yield f"{name}: {count} lines; split it, {MAX_LINES} is the most"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--root", type=pathlib.Path, default=pathlib.Path(__file__).resolve().parents[2])
    parser.add_argument("--write-umbrella", action="store_true")
    parser.add_argument("--list-tools", action="store_true")
    args = parser.parse_args()
    t = tree(args.root)
    if args.list_tools:
        print("".join(f'#include "{h}"\n' for h in t.public_headers(lambda room: room in TOOLS)), end="")
        return 0
    if args.write_umbrella:
        (args.root / UMBRELLA).write_text(umbrella_text(t), encoding="utf-8")
        return 0
    if not t.headers:
        print(f"{args.root}: no header under include/berth", file=sys.stderr)
        return 1
    faults = [f for check in (check_rooms, check_lean, check_umbrella, check_files) for f in check(t)]
    for fault in faults:
        print(fault)
    print(f"architecture: {len(t.headers)} headers, {len(t.files)} files, {len(faults)} faults")
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
