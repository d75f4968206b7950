#!/usr/bin/env python3
"""docs/berth-place.md names every option, cause, change, key and policy that the program has."""

import re

from harness import DATA, NOT_NOW, PLACED, SOURCE, Case, berth_place, main
from program import keys_of

PAGE = (SOURCE / "docs" / "berth-place.md").read_text(encoding="utf-8")


def enumerators(kind):
    header = (SOURCE / "include/berth/solver/explanation.hpp").read_text(encoding="utf-8")
    body = re.search(rf"enum class {kind} : std::uint8_t {{(.*?)}};", header, re.S).group(1)
    return re.findall(r"^\s*(\w+),", body, re.M)


class Documented(Case):
    def assert_words(self, words, least):
        words = sorted(set(words))
        self.assertGreaterEqual(len(words), least)
        missing = [w for w in words if not re.search(rf"(?<![\w-]){re.escape(w)}" + (r"(?![\w-])" if w[-1] != "=" else ""), PAGE)]
        self.assertEqual(missing, [])

    def test_options(self):
        self.assert_words(re.findall(r"--[a-z-]+", berth_place("--help").out), 15)

    def test_keys_of_a_gang(self):
        said = berth_place("--cluster", "preset:superpod-h100:su=1", "--gang", "no=1").err
        self.assert_words([k + "=" for k in re.search("expected one of (.*), as key=value", said).group(1).split(", ")], 50)

    def test_causes_and_changes(self):
        self.assert_words(enumerators("node_cause"), 13)
        self.assert_words(enumerators("kind"), 9)

    def test_policies(self):
        self.assert_words(re.findall(r"(?m)^  (\w+)  ", berth_place("--list-policies").out), 8)

    def test_keys_of_the_json(self):
        site = ("--cluster", DATA / "azure-tree.topology.conf", "--node-shape", "azure-ndv5", "--occupied",
                DATA / "azure-tree.occupied", "--json", "--gang")
        placed, refused = berth_place(*site, "tasks=8,gpus=8"), berth_place(*site, "tasks=3,gpus=8,within=leaf,label=x")
        self.assert_code(placed, PLACED)
        taken = berth_place(*site, "tasks=12,gpus=8")
        self.assert_code(taken, NOT_NOW)
        found = set()
        for j in (placed.json, refused.json, taken.json):
            for levels in (j, j["score"] or {}):
                levels.pop("domains_used", None)
            found |= set(keys_of(j))
        self.assert_words(found, 35)

    def test_the_first_answer_is_the_real_one(self):
        command = re.search(r"    berth-place (--cluster examples.*?)\n\n", PAGE, re.S).group(1).replace("\\\n", " ").split()
        args = [str(SOURCE / w) if w.startswith("examples/") else w for w in command]
        out = berth_place(*args).out.replace(str(SOURCE) + "/", "")
        shown = re.search(r"(    Cluster   16 nodes.*?)\n\nThe tree follows", PAGE, re.S).group(1)
        shown = re.sub(r"(?m)^    ", "", shown)
        steady = re.compile(r"Decided in [^.]*\.")
        self.assertTrue(steady.sub("", out).startswith(steady.sub("", shown)), out)


if __name__ == "__main__":
    main()
