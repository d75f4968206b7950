#!/usr/bin/env python3
"""The gang of examples/run.sh, checked by brute force: as few leaf switches as can be, on nodes that really are free."""

import itertools
import re

from harness import DATA, NEVER, PLACED, Case, berth_place, hosts, leaves_of, main

TOPOLOGY = DATA / "azure-tree.topology.conf"
OCCUPIED = DATA / "azure-tree.occupied"
GPUS = 8  # azure-ndv5


def taken_devices():
    """Node -> GPUs that are held or broken."""
    out = {}
    for line in OCCUPIED.read_text().splitlines():
        words = line.split("#")[0].split()
        if not words:
            continue
        devices = set()
        if words[2] == "-" and words[0] == "!unhealthy":
            devices = set(range(GPUS))
        elif words[2] != "-":
            for part in words[2].split(","):
                low, _, high = part.partition("-")
                devices.update(range(int(low), int(high or low) + 1))
        for node in hosts(words[1]):
            out.setdefault(node, set()).update(devices)
    return out


def fewest_leaves(leaves, taken, tasks, gpus):
    """The least number of leaves that together hold the tasks, over all sets of leaves; None if even all do not."""
    room = [sum((GPUS - len(taken.get(n, ()))) // gpus for n in nodes) for nodes in leaves.values()]
    for size in range(1, len(room) + 1):
        if any(sum(some) >= tasks for some in itertools.combinations(room, size)):
            return size
    return None


class AzureTree(Case):
    def place(self, gang, *more):
        return berth_place("--cluster", TOPOLOGY, "--node-shape", "azure-ndv5", "--occupied", OCCUPIED, "--gang", gang,
                           *more)

    def check(self, tasks, gpus):
        leaves, taken = leaves_of(TOPOLOGY), taken_devices()
        leaf_of = {n: leaf for leaf, nodes in leaves.items() for n in nodes}
        best = fewest_leaves(leaves, taken, tasks, gpus)
        answer = self.place(f"tasks={tasks},gpus={gpus}", "--json")
        if best is None:
            self.assertNotEqual(answer.code, PLACED)
            return None
        self.assert_code(answer, PLACED)
        got = answer.json
        self.assertEqual(len(got["tasks"]), tasks)
        used = {n: set(d) for n, d in taken.items()}
        for t in got["tasks"]:
            self.assertEqual(len(t["devices"]), gpus)
            self.assertEqual(t["path"], ["sw05", leaf_of[t["node"]]])
            here = used.setdefault(t["node"], set())
            self.assertFalse(here & set(t["devices"]), "a GPU that is held, broken or given twice")
            here.update(t["devices"])
        self.assertEqual(len({t["path"][1] for t in got["tasks"]}), best)
        self.assertEqual(got["domains_used"], {"cluster": 1, "spine": 1, "leaf": best})
        return best

    def test_the_sample_needs_two_leaves_and_gets_two(self):
        self.assertEqual(self.check(8, 8), 2)

    def test_every_gang_gets_as_few_leaves_as_can_be(self):
        placed = [self.check(tasks, gpus) for gpus in (1, 2, 3, 4, 8) for tasks in (1, 2, 3, 5, 6, 7, 9, 10, 13)]
        self.assertGreater(sum(p is not None for p in placed), 30)
        self.assertGreater(sum(p is not None and p > 1 for p in placed), 4)
        self.assertIn(None, placed)

    def test_the_text_shows_hardware_as_assumed_and_the_gang_in_the_tree(self):
        answer = self.place("tasks=8,gpus=8")
        self.assert_code(answer, PLACED)
        self.assertRegex(answer.out, r"(?m)^Assumed .*no file states the hardware")
        self.assertRegex(answer.out, r"sw01 \(leaf\)  6 nodes, 48 GPUs: 48 chosen")
        self.assertEqual(len(re.findall("█{8}", answer.out)), 8)
        self.assertIn("under 2 leaves", answer.out)
        self.assertEqual(answer.err, "")

    def test_the_text_can_be_plain_ascii(self):
        answer = self.place("tasks=8,gpus=8", "--ascii")
        self.assertTrue(answer.out.isascii())
        self.assertEqual(answer.out.count("########"), 8)

    def test_what_no_leaf_can_hold_is_never_possible_within_a_leaf(self):
        answer = self.place("tasks=7,gpus=8,within=leaf", "--json")
        self.assert_code(answer, NEVER)
        self.assertEqual(answer.json["explanation"]["best_ever"]["holds"], max(map(len, leaves_of(TOPOLOGY).values())))


if __name__ == "__main__":
    main()
