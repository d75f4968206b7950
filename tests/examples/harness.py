"""What the tests of berth-place share: answers, and a cluster read by a second, simpler hand."""

import json
import re

from program import SOURCE, Folder, Program

DATA = SOURCE / "examples" / "data"
PLACED, NOT_NOW, BAD_INPUT, NEVER, GAVE_UP = range(5)
PROGRAM = Program("BERTH_PLACE")


class Answer:
    def __init__(self, run):
        self.code = run.returncode
        self.out = run.stdout
        self.err = run.stderr

    @property
    def json(self):
        return json.loads(self.out)


def berth_place(*args, stdin=None):
    return Answer(PROGRAM(*args, stdin=stdin))


class Case(Folder):
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


main = PROGRAM.test
