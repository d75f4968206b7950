"""What all tests of example programs share: running the program, and a folder of their own for files."""

import json
import os
import pathlib
import subprocess
import sys
import tempfile
import unittest

SOURCE = pathlib.Path(__file__).resolve().parents[2]


class Program:
    """The program that an environment variable names."""

    def __init__(self, variable):
        self.variable = variable
        self.path = os.environ.get(variable, "")

    def __call__(self, *args, stdin=None):
        return subprocess.run([self.path, *map(str, args)], capture_output=True, text=True, encoding="utf-8",
                              input=stdin, timeout=120, check=False)

    def test(self):
        """Runs the tests of the calling file."""
        if not self.path:
            sys.exit(f"{self.variable} must name the program")
        unittest.main()


def keys_of(value):
    """All keys of a JSON value, however deep."""
    if isinstance(value, dict):
        for k, v in value.items():
            yield k
            yield from keys_of(v)
    elif isinstance(value, list):
        for v in value:
            yield from keys_of(v)


class Folder(unittest.TestCase):
    """A test with a folder of its own."""

    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.addCleanup(self.folder.cleanup)

    def path(self, name):
        return pathlib.Path(self.folder.name) / name

    def file(self, name, content):
        """Text, bytes, or what is written as JSON."""
        if not isinstance(content, (bytes, str)):
            content = json.dumps(content)
        self.path(name).write_bytes(content if isinstance(content, bytes) else content.encode())
        return self.path(name)

    def assert_code(self, run, code):
        self.assertEqual(run.returncode, code, f"\nstdout: {run.stdout}\nstderr: {run.stderr}")
