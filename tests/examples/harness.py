"""What the tests of berth-place share: running the program, and a cluster read by a second, simpler hand."""

import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile
import unittest

SOURCE = pathlib.Path(__file__).resolve().parents[2]
DATA = SOURCE / "examples" / "data"
PLACED, NOT_NOW, BAD_INPUT, NEVER, GAVE_UP = range(5)
PROGRAM = os.environ.get("BERTH_PLACE", "")


class Answer:
    def __init__(self, run):
        self.code = run.returncode
        self.out = run.stdout
        self.err = run.stderr

    @property
    def json(self):
        return json.loads(self.out)


def berth_place(*args, stdin=None):
    run = subprocess.run([PROGRAM, *map(str, args)], capture_output=True, text=True, encoding="utf-8", input=stdin,
                         timeout=120, check=False)
    return Answer(run)


class Case(unittest.TestCase):
    """A test with a folder of its own for files."""

    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.addCleanup(self.folder.cleanup)

    def file(self, name, text):
        path = pathlib.Path(self.folder.name) / name
        path.write_bytes(text if isinstance(text, bytes) else text.encode())
        return path

    def assert_code(self, answer, code):
        self.assertEqual(answer.code, code, f"\nstdout: {answer.out}\nstderr: {answer.err}")

    def assert_bad(self, answer, *words):
        """Bad input: nothing on stdout, one line on stderr that says what was found and what was expected."""
        self.assert_code(answer, BAD_INPUT)
        self.assertEqual(answer.out, "")
        self.assertEqual(answer.err.count("\n"), 1, answer.err)
        self.assertIn("found", answer.err)
        self.assertIn("expected", answer.err)
        for word in words:
            self.assertIn(word, answer.err)


def hosts(text):
    """Names of a host list with at most one bracket per name; enough for the sample files."""
    out = []
    for item in re.findall(r"[^,\[\]]+(?:\[[^\]]*\])?[^,\[\]]*", text):
        m = re.fullmatch(r"([^\[]*)\[([^\]]*)\](.*)", item)
        if not m:
            out.append(item)
            continue
        for part in m.group(2).split(","):
            low, _, high = part.partition("-")
            for n in range(int(low), int(high or low) + 1):
                out.append(m.group(1) + str(n).zfill(len(low)) + m.group(3))
    return out


def leaves_of(topology):
    """Leaf switch -> nodes of a topology.conf."""
    out = {}
    for line in topology.read_text().splitlines():
        m = re.match(r"\s*SwitchName=(\S+)\s+Nodes=(\S+)", line)
        if m:
            out[m.group(1)] = hosts(m.group(2))
    return out


def main():
    if not PROGRAM:
        sys.exit("BERTH_PLACE must name the program")
    unittest.main()
