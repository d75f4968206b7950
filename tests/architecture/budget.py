#!/usr/bin/env python3
"""Counts what including a lean header costs a scheduler that embeds it: its lines after preprocessing, as a multiple of
those of <vector>, <string> and <optional> together, which every user of the library reads anyway. Lines do not depend on
how busy the machine is, and the multiple hardly on the compiler.

    budget.py COMPILER [--root DIR] [--limit 2.0]
"""

import argparse
import pathlib
import subprocess
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
sys.dont_write_bytecode = True
import check  # noqa: E402


def lines(compiler, include, headers):
    text = "".join(f"#include <{h}>\n" for h in headers)
    out = subprocess.run([compiler, "-std=c++20", "-I", include, "-E", "-P", "-x", "c++", "-"], input=text,
                         capture_output=True, text=True, check=False)
    if out.returncode != 0:
        sys.exit(f"cannot preprocess {', '.join(headers)}:\n{out.stderr}")
    return sum(1 for line in out.stdout.splitlines() if line.strip())


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("compiler")
    parser.add_argument("--root", type=pathlib.Path, default=pathlib.Path(__file__).resolve().parents[2])
    parser.add_argument("--limit", type=float, default=2.0)
    args = parser.parse_args()
    include = str(args.root / "include")
    unit = lines(args.compiler, include, ["vector", "string", "optional"])
    lean = [h for h in check.tree(args.root).headers if check.is_lean(h)]
    cost = sorted(((lines(args.compiler, include, [h]) / unit, h) for h in lean), reverse=True)
    for ratio, header in cost[:5]:
        print(f"{ratio:5.2f}  {header}")
    over = [(ratio, header) for ratio, header in cost if ratio > args.limit]
    for ratio, header in over:
        print(f"{header}: {ratio:.2f} times <vector>, <string> and <optional>; {args.limit} is the most for a lean header")
    print(f"budget: {len(lean)} lean headers, {len(over)} over it; the unit is {unit} lines")
    return 1 if over or not lean else 0


if __name__ == "__main__":
    sys.exit(main())
