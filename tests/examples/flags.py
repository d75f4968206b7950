#!/usr/bin/env python3
"""Every option of every program stands in its page of docs/, with a meaning in --help; so does every key of the JSON."""

import json
import os
import re
import subprocess
import unittest

from program import SOURCE, Folder, keys_of

DATA = SOURCE / "examples" / "data"
# Program, its commands, and the page that describes it.
PROGRAMS = {"BERTH_PLACE": ([], "berth-place"), "BERTH_QUOTA": ([], "quota"), "BERTH_CASE": ([], "profiles"),
            "BERTH_TOPO": (["show", "check", "convert", "distance", "bisect"], "berth-topo"),
            "BERTH_MIG": (["products", "layouts", "pack", "plan", "advise"], "berth-mig"),
            "BERTH_REPLAY": (["openb", "gavel"], "berth-replay")}


def page(name):
    return (SOURCE / "docs" / f"{name}.md").read_text(encoding="utf-8")


def run(program, *args):
    return subprocess.run([os.environ[program], *map(str, args)], capture_output=True, text=True, encoding="utf-8", timeout=120,
                          check=False)


class Help(Folder):
    def each(self):
        """Program, words of the command, its help and page."""
        for program, (commands, name) in PROGRAMS.items():
            for words in ([], *([c] for c in commands)):
                got = run(program, *words, "--help")
                self.assert_code(got, 0)
                yield program, words, got.stdout, page(name)

    def test_every_option_is_in_the_page_of_its_program(self):
        count = 0
        for program, words, text, described in self.each():
            with self.subTest(program=program, words=words):
                # Beside an option stand others that it needs or excludes; those are listed themselves.
                options = set(re.findall(r"(?<![\w-])--[a-z][a-z0-9-]*", text)) - {"--help"}
                count += len(options)
                missing = [o for o in sorted(options) if not re.search(rf"(?<![\w-]){re.escape(o)}(?![\w-])", described)]
                self.assertEqual(missing, [])
        self.assertGreater(count, 100)

    def test_every_command_is_in_the_page_of_its_program(self):
        for program, (commands, name) in PROGRAMS.items():
            listed = re.search(r"(?s)Subcommands:\n(.*?)\n\n", run(program, "--help").stdout + "\n\n")
            found = re.findall(r"(?m)^  (\w+)", listed.group(1)) if listed else []
            self.assertEqual(sorted(found), sorted(commands), program)
            for c in commands:
                self.assertRegex(page(name), rf"`{c}\b|## {c}\b")

    def test_usage_names_the_program_as_it_is_called(self):
        for program, words, text, _ in self.each():
            name = program.lower().replace("_", "-")
            self.assertIn(f"Usage: {' '.join([name, *words])} [OPTIONS]", text)

    def test_every_option_says_what_it_means_and_what_it_takes(self):
        for program, words, text, _ in self.each():
            with self.subTest(program=program, words=words):
                self.assertNotRegex(text, r"(?<!:)\b(TEXT|UINT|INT|FLOAT)\b")
                lines = text.splitlines()
                for i, line in enumerate(lines):
                    if not re.match(r"  (-h,)?--", line):
                        continue
                    rest = re.sub(r"--[\w-]+", "", line)
                    if i + 1 < len(lines) and lines[i + 1].startswith(" " * 20):
                        rest += lines[i + 1]
                    self.assertGreater(len(re.findall(r"\b[A-Za-z]?[a-z]{2,}\b", rest)), 1, line)


class Json(Folder):
    def test_every_key_is_in_the_page_of_its_program(self):
        gpus = self.file("gpus.json", {"berth_mig_gpus": 1, "gpus": [{"instances": [
            {"profile": "1g.10gb", "start": s, "job": s + 1, "lost_s": 5, "drain": True} for s in (0, 1, 5)]}]})
        queues = self.file("queues.json", {"schema": "berth-queues/1", "rule": "cohort", "policy": "kueue-cohort",
                                           "resources": [{"name": "gpu"}], "queues": [
                                               {"name": "all"}, {"name": "a", "parent": "all", "quota": {"gpu": {"guarantee": 4}}},
                                               {"name": "b", "parent": "all", "quota": {"gpu": {"guarantee": 2}}}]})
        out = self.path("out.json")
        openb = ("openb", "--pods", DATA / "openb" / "openb_pod_list_default.csv", "--nodes",
                 DATA / "openb" / "openb_node_list_gpu_node.csv", "--policy", "first_fit", "--seeds", "42", "--load", "1", "--json")
        gavel = ("gavel", "--table", DATA / "gavel" / "throughput_steps_per_s.csv", "--gpus", "v100=8", "--rounds", "1", "--json")
        site, h100 = "preset:superpod-h100:su=1", ("--product", "h100-80gb", "--json")
        cases = SOURCE / "tests" / "profile" / "data" / "kueue_tas.json"
        # Keys that are names of the input.
        names = {"gpu", "k80", "p100", "v100", "1g.10gb", "3g.40gb", "7g.80gb", "place", "replace"}
        for program, code, args, least in (
                ("BERTH_TOPO", 0, ("show", "--json", "--shared", site), 40), ("BERTH_TOPO", 0, ("bisect", "--json", site), 5),
                ("BERTH_TOPO", 1, ("check", "--json", DATA / "azure-tree.topology.conf", "--node-shape", "azure-ndv5"), 6),
                ("BERTH_TOPO", 0, ("distance", "--json", "--cluster", site, "--", "node-0/gpu0", "node-1/gpu1"), 8),
                ("BERTH_MIG", 0, ("pack", *h100, "--demand", "1g.10gb=3"), 8),
                ("BERTH_MIG", 0, ("plan", *h100, "--state", gpus, "--need", "3g.40gb=1"), 11),
                ("BERTH_MIG", 1, ("plan", *h100, "--state", gpus, "--need", "7g.80gb=2"), 8),
                ("BERTH_MIG", 0, ("advise", *h100, "--peak-memory", "6000", "--peak-compute", "10"), 10),
                ("BERTH_MIG", 0, ("advise", *h100, "--peak-memory", "6000"), 3),
                ("BERTH_MIG", 0, ("advise", *h100, "--kind", "online-inference", "--latency", "relaxed", "--memory", "2000",
                                  "--utilisation", "3"), 6),
                ("BERTH_QUOTA", 0, (queues, "--json"), 15), ("BERTH_CASE", 0, (cases, "--json", "--ours"), 10),
                ("BERTH_REPLAY", 0, (*openb, out), 20), ("BERTH_REPLAY", 0, (*gavel, out), 13)):
            with self.subTest(program=program, args=args):
                got = run(program, *args)
                self.assert_code(got, code)
                text = out.read_text(encoding="utf-8") if out in args else got.stdout
                found = set(keys_of(json.loads(text))) - names
                self.assertGreaterEqual(len(found), least)
                described = page(PROGRAMS[program][1])
                missing = [k for k in sorted(found) if not re.search(rf"(?<![\w-]){re.escape(k)}(?![\w-])", described)]
                self.assertEqual(missing, [])


class Shown(Folder):
    def test_outputs_in_the_pages_are_those_of_the_programs(self):
        files = {"gpus.json": re.search(r"(?s)```json\n(\{\"berth_mig_gpus\".*?)```", page("mig")).group(1)}
        for name, text in files.items():
            self.file(name, text)
        count = 0
        for name in ("mig", "sharing"):
            for command, shown in re.findall(r"(?s)```\n(berth-mig [^\n]*)\n\n(.*?)```", page(name)):
                with self.subTest(command):
                    args = [str(self.path(w)) if w in files else w for w in command.split()[1:]]
                    got = run("BERTH_MIG", *args)
                    self.assert_code(got, 0)
                    self.assertEqual(got.stdout, shown)
                    count += 1
        self.assertGreaterEqual(count, 3)


if __name__ == "__main__":
    unittest.main()
