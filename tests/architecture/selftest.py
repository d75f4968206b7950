#!/usr/bin/env python3
"""Shows that check.py finds what it is there to find: one small tree per fault, and one without any."""

import pathlib
import subprocess
import sys
import tempfile

CHECK = pathlib.Path(__file__).resolve().parent / "check.py"
GOOD = {
    "include/berth/core/a.hpp": "#pragma once\n",
    "include/berth/topology/b.hpp": '#pragma once\n#include "berth/core/a.hpp"\n',
    "include/berth/topology/graph/g.hpp": '#pragma once\n#include <boost/graph/x.hpp>\n#include "berth/topology/b.hpp"\n',
    "include/berth/core/d.hpp": '#pragma once\n#if BERTH_WITH_BODIES\n#include "berth/core/impl/d.hpp"\n#endif\n',
    "include/berth/core/impl/d.hpp": "#pragma once\nBERTH_INLINE void d() {}\n",
    "include/berth/io/j.hpp": "#pragma once\n#include <nlohmann/json.hpp>\n",
    "README.md": "berth\n",
}
# What is changed in the good tree, and what the check must then say.
BAD = {
    "a room below": ({"include/berth/core/a.hpp": '#pragma once\n#include "berth/topology/b.hpp"\n'}, "lies below it"),
    "a library in a lean room": ({"include/berth/core/a.hpp": "#pragma once\n#include <fmt/format.h>\n"}, "lean header"),
    "a library behind another header": (
        {"include/berth/cluster/c.hpp": '#pragma once\n#include "berth/topology/graph/g.hpp"\n'}, "lean header"),
    "a heavy standard header": ({"include/berth/job/c.hpp": "#pragma once\n#include <iostream>\n"}, "<iostream>"),
    "a heavy entry to the hot path": (
        {"include/berth/place.hpp": '#pragma once\n#include "berth/topology/graph/g.hpp"\n'}, "lean header"),
    "a header in no room": ({"include/berth/z.hpp": "#pragma once\n"}, "lies in no room"),
    "an unknown room": ({"include/berth/misc/c.hpp": "#pragma once\n"}, "no room 'misc'"),
    "a missing header": ({"include/berth/core/a.hpp": '#pragma once\n#include "berth/core/z.hpp"\n'}, "does not exist"),
    "no include guard": ({"include/berth/core/a.hpp": "\n"}, "#pragma once"),
    "a stray top-level entry": ({"scratch/x": "\n"}, "no place"),
    "a long file": ({"tests/x.cpp": "\n" * 601}, "601 lines"),
    "a path of one machine": ({"docs/x.md": "see /" + "home/me/x\n"}, "one machine"),
    "bodies that nobody includes": ({"include/berth/core/d.hpp": "#pragma once\n"}, "no header of include/berth/core/"),
    "bodies in every file": (
        {"include/berth/core/d.hpp": '#pragma once\n#include "berth/core/impl/d.hpp"\n'}, "after #if BERTH_WITH_BODIES"),
    "bodies of another room": (
        {"include/berth/topology/b.hpp": '#pragma once\n#if BERTH_WITH_BODIES\n#include "berth/core/impl/d.hpp"\n#endif\n'},
        "only a header beside impl/"),
    "a body that no single file can compile": (
        {"include/berth/core/impl/d.hpp": "#pragma once\ninline void d() {}\n"}, "BERTH_INLINE"),
    "the umbrella used inside": (
        {"include/berth/core/a.hpp": '#pragma once\n#include "berth/berth.hpp"\n'}, "umbrella"),
}


def run(files, umbrella=True):
    with tempfile.TemporaryDirectory() as folder:
        root = pathlib.Path(folder)
        for name, text in files.items():
            (root / name).parent.mkdir(parents=True, exist_ok=True)
            (root / name).write_text(text, encoding="utf-8")
        if umbrella:
            subprocess.run([sys.executable, CHECK, "--root", root, "--write-umbrella"], check=True)
        out = subprocess.run([sys.executable, CHECK, "--root", root], capture_output=True, text=True, check=False)
        return out.returncode, out.stdout + out.stderr


def the_umbrella():
    """It lists what a scheduler embeds, the list of tools the rest; neither names a header with a reader's library."""
    with tempfile.TemporaryDirectory() as folder:
        root = pathlib.Path(folder)
        for name, text in {**GOOD, "include/berth/io/t.hpp": "#pragma once\n", "include/berth/sim/s.hpp": "#pragma once\n"}.items():
            (root / name).parent.mkdir(parents=True, exist_ok=True)
            (root / name).write_text(text, encoding="utf-8")
        subprocess.run([sys.executable, CHECK, "--root", root, "--write-umbrella"], check=True)
        umbrella = [line.split('"')[1] for line in (root / "include/berth/berth.hpp").read_text().splitlines()
                    if line.startswith("#include")]
        tools = subprocess.run([sys.executable, CHECK, "--root", root, "--list-tools"], capture_output=True, text=True,
                               check=True).stdout
    found = []
    wanted = ["berth/core/a.hpp", "berth/core/d.hpp", "berth/topology/b.hpp", "berth/topology/graph/g.hpp", "berth/sim/s.hpp"]
    if umbrella != wanted:
        found.append(f"the umbrella lists {umbrella}, expected {wanted}")
    if tools != '#include "berth/io/t.hpp"\n':
        found.append(f"the tools are {tools!r}")
    return found


def main():
    faults = []
    code, text = run(GOOD)
    if code != 0:
        faults.append(f"a good tree is refused: {text}")
    code, text = run(GOOD, umbrella=False)
    if code != 1 or "does not list what exists" not in text:
        faults.append(f"a missing umbrella is not found: {text}")
    for name, (change, message) in BAD.items():
        code, text = run({**GOOD, **change})
        if code != 1 or message not in text:
            faults.append(f"{name}: exit {code}, expected 1 and '{message}': {text}")
    faults += the_umbrella()
    print("\n".join(faults) or f"architecture check: finds all {len(BAD) + 1} faults")
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
