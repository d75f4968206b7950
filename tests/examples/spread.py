#!/usr/bin/env python3
"""Rules of spreading from end to end: the keys of --gang, Kubernetes jobs beside the pods that run, refusals."""

import collections
import json

from harness import NEVER, NOT_NOW, PLACED, Case, berth_place, main

TREE = ("SwitchName=s1 Nodes=n[1-4]\nSwitchName=s2 Nodes=n[5-8]\nSwitchName=s3 Nodes=n[9-12]\n"
        "SwitchName=top Switches=s1,s2,s3\n")


def node(name, rack):
    return {"apiVersion": "v1", "kind": "Node",
            "metadata": {"name": name, "labels": {"cloud.provider.com/topology-block": "b",
                                                  "cloud.provider.com/topology-rack": rack,
                                                  "node.kubernetes.io/instance-type": "p5.48xlarge"}},
            "status": {"allocatable": {"cpu": "192", "memory": "2000Gi", "nvidia.com/gpu": "8"},
                       "capacity": {"cpu": "192", "memory": "2000Gi", "nvidia.com/gpu": "8"}}}


def pod(name, where, app, away_from=None):
    spec = {"nodeName": where, "containers": [{"resources": {"requests": {"cpu": "1"}}}]}
    if away_from:
        spec["affinity"] = {"podAntiAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [
            {"topologyKey": "cloud.provider.com/topology-rack", "labelSelector": {"matchLabels": {"app": away_from}}}]}}
    return {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": name, "namespace": "default", "labels": {"app": app}},
            "spec": spec, "status": {"phase": "Running"}}


NODES = [node(f"k{i}", f"r{i // 2}") for i in range(6)]
JOB = """apiVersion: batch/v1
kind: Job
metadata: {name: web}
spec:
  parallelism: 6
  template:
    metadata: {labels: {app: web}}
    spec:
      RULES
      containers: [{resources: {limits: {nvidia.com/gpu: 1}}}]
"""


class Spread(Case):
    def place(self, occupied, *args):
        files = ["--cluster", self.file("topology.conf", TREE), "--node-shape", "dgx-h100"]
        if occupied:
            files += ["--occupied", self.file("x.occupied", occupied)]
        return berth_place(*files, *args)

    def kube(self, pods, rules, *args):
        site = self.file("site.json", json.dumps({"apiVersion": "v1", "kind": "List", "items": NODES + pods}))
        return berth_place("--cluster", site, "--job", self.file("job.yaml", JOB.replace("RULES", rules)), *args)

    def per(self, answer, index):
        return dict(collections.Counter(t["path"][index] if index is not None else t["node"] for t in answer.json["tasks"]))

    def test_a_skew_over_leaves(self):
        answer = self.place("a n[1-3] 0-7\n", "--gang", "tasks=6,gpus=8,spread=leaf", "--json")
        self.assert_code(answer, NOT_NOW)
        e = answer.json["explanation"]
        self.assertEqual(e["rule"]["level"], "leaf")
        self.assertEqual(e["rule"]["held_back_by"], {"domain": "s1", "total": 1})
        self.assertEqual((e["nearest"]["holds"], e["nearest"]["needs"]), (5, 6))
        changes = {c["change"]: c for c in e["changes"]}
        self.assertEqual(changes["larger_skew"]["count"], 2)
        self.assertEqual(changes["fewer_tasks"]["count"], 5)
        self.assertTrue(e["fits_empty"])
        self.assertEqual(sum(c["nodes"] for c in e["causes"]), 12)
        # What is proposed works.
        answer = self.place("a n[1-3] 0-7\n", "--gang", "tasks=6,gpus=8,spread=leaf:2", "--json")
        self.assert_code(answer, PLACED)
        self.assertEqual(self.per(answer, 1), {"s1": 1, "s2": 3, "s3": 2})
        self.assertEqual(answer.json["spread"][0]["domains"],
                         [{"domain": d, "before": 0, "now": n} for d, n in (("s1", 1), ("s2", 3), ("s3", 2))])
        self.assert_code(self.place("a n[1-3] 0-7\n", "--gang", "tasks=5,gpus=8,spread=leaf"), PLACED)
        text = self.place("a n[1-3] 0-7\n", "--gang", "tasks=6,gpus=8,spread=leaf").out
        self.assertIn("The rule at fault: no leaf with over 1 task more than another.", text)
        self.assertIn("Leaf s1 can come to 1 task at most and holds the others back.", text)

    def test_apart_and_both(self):
        answer = self.place("", "--gang", "tasks=6,gpus=1,anti=node,anti=leaf:2", "--json")
        self.assert_code(answer, PLACED)
        self.assertEqual(set(self.per(answer, None).values()), {1})
        self.assertEqual(self.per(answer, 1), {"s1": 2, "s2": 2, "s3": 2})
        answer = self.place("", "--gang", "tasks=7,gpus=1,anti=leaf:2", "--json")
        self.assert_code(answer, NEVER)
        self.assertEqual([c["change"] for c in answer.json["explanation"]["changes"]], ["more_at_most", "fewer_tasks"])
        answer = self.place("", "--gang", "tasks=4,gpus=1,spread=leaf:1:4", "--json")
        self.assert_code(answer, NEVER)
        self.assertIn("fewer_domains", [c["change"] for c in answer.json["explanation"]["changes"]])
        # Within one leaf, spread over its nodes; segments in different leaves.
        answer = self.place("", "--gang", "tasks=8,gpus=2,spread=node,within=leaf", "--json")
        self.assertEqual(self.per(answer, None), {"n1": 2, "n2": 2, "n3": 2, "n4": 2})
        answer = self.place("", "--gang", "tasks=6,gpus=8,segments=3:leaf,anti=leaf", "--json")
        self.assertEqual(self.per(answer, 1), {"s1": 2, "s2": 2, "s3": 2})

    def test_wishes(self):
        answer = self.place("a n[1-4] 0-7\n", "--gang", "tasks=3,gpus=8,prefer-anti=leaf", "--json")
        self.assert_code(answer, PLACED)
        self.assertFalse(answer.json["spread"][0]["kept"])
        answer = self.place("", "--gang", "tasks=3,gpus=8,prefer-anti=leaf")
        self.assertIn("at most 1 task in a leaf: leaf s1 1, leaf s2 1, leaf s3 1.", answer.out)

    def test_several_groups(self):
        answer = self.place("", "--gang", "tasks=3,gpus=4,anti=leaf", "--gang", "tasks=12,gpus=4", "--json")
        self.assert_code(answer, PLACED)
        self.assertEqual(len({t["path"][1] for t in answer.json["tasks"] if t["group"] == "group-1"}), 3)
        self.assertEqual(len(answer.json["tasks"]), 15)
        answer = self.place("", "--gang", "tasks=4,gpus=4,anti=leaf", "--gang", "tasks=2,gpus=4", "--json")
        self.assert_code(answer, NEVER)
        self.assertEqual(answer.json["explanation"]["group"], "group-1")

    def test_bad_input(self):
        self.assert_bad(self.place("", "--gang", "tasks=2,gpus=1,spread=row"), "'row'", "or node")
        self.assert_bad(self.place("", "--gang", "tasks=2,gpus=1,anti=leaf:0"), "LEVEL:TASKS")
        self.assert_bad(self.place("", "--gang", "tasks=2,gpus=1,spread=leaf,rails=same"), "rules")
        rules = ("topologySpreadConstraints: [{topologyKey: row, maxSkew: 1, whenUnsatisfiable: DoNotSchedule, "
                 "labelSelector: {}}]")
        self.assert_bad(self.kube([], rules), "job.yaml:9: found level 'row'")

    def test_pods_that_run_count(self):
        spread = ("topologySpreadConstraints: [{topologyKey: cloud.provider.com/topology-rack, maxSkew: 1, "
                  "whenUnsatisfiable: DoNotSchedule, labelSelector: {matchLabels: {app: web}}}]")
        web = [pod(f"w{i}", "k0", "web") for i in range(3)]
        answer = self.kube(web, spread, "--json")
        self.assert_code(answer, PLACED)
        self.assertEqual(self.per(answer, 1), {"r1": 3, "r2": 3})
        self.assertEqual({d["domain"]: (d["before"], d["now"]) for d in answer.json["spread"][0]["domains"]},
                         {"r0": (3, 3), "r1": (0, 3), "r2": (0, 3)})
        apart = ("affinity: {podAntiAffinity: {requiredDuringSchedulingIgnoredDuringExecution: [{topologyKey: "
                 "cloud.provider.com/topology-rack, labelSelector: {matchLabels: {app: db}}}]}}")
        db = [pod("d0", "k0", "db"), pod("d1", "k2", "db")]
        self.assertEqual(set(self.per(self.kube(db, apart, "--json"), 1)), {"r2"})
        beside = apart.replace("podAntiAffinity", "podAffinity")
        self.assertLessEqual(set(self.per(self.kube(db, beside, "--json"), 1)), {"r0", "r1"})
        answer = self.kube([pod("x", "k0", "x")], beside, "--json")
        self.assert_code(answer, NEVER)
        # A pod that runs keeps them out of its rack; unknown pods are said.
        answer = self.kube([pod("shy", "k4", "shy", away_from="web")], "", "--json")
        self.assertNotIn("r2", self.per(answer, 1))
        answer = self.kube([], apart, "--json")
        self.assert_code(answer, PLACED)
        self.assertTrue(any("where these run is not known" in n for n in answer.json["notes"]))


if __name__ == "__main__":
    main()
