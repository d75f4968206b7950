#!/usr/bin/env python3
"""What gangs ask of nodes inside and of the links between them, who tolerates what, nodes by name."""

from harness import BAD_INPUT, NEVER, NOT_NOW, PLACED, SOURCE, Case, berth_place, main

INPUTS = SOURCE / "tests" / "io" / "data" / "inputs"
TWO_LEAVES = """{"berth_cluster": 1, "shapes": ["dgx-h100"], "uplinks": {"leaf": [%s]}, "usable_uplinks": 1,
  "domains": [{"name": "a", "level": "leaf", "nodes": [{"names": "n[1-2]", "memory": "1TiB"}]},
              {"name": "b", "level": "leaf", "nodes": [{"names": "n[3-4]", "memory": "1TiB"}]}]}"""


class Rates(Case):
    def cluster(self, rates):
        return self.file("cluster.json", TWO_LEAVES % rates)

    def test_inside_a_node(self):
        answer = berth_place("--cluster", self.cluster("400"), "--json", "--gang",
                             "gpus=2,cpus=8,memory=8GiB,numa=single-node,near-nic=yes,host-rate=60")
        self.assert_code(answer, PLACED)
        bound = answer.json["tasks"][0]["bound"]
        self.assertEqual(len(bound["cpu_numa"]), 1)
        self.assertEqual(bound["memory_numa"], bound["cpu_numa"])
        self.assertEqual(len(bound["nics"]), 2)
        self.assertEqual(bound["host_gigabytes_per_second"], 60)

    def test_a_rate_is_reserved_on_the_uplinks_or_refused_with_the_link(self):
        eight = ",".join(["60"] * 8)
        gang = ("--json", "--gang", "tasks=4,gpus=8,between-nodes=25")
        answer = berth_place("--cluster", self.cluster(eight), *gang)
        self.assert_code(answer, PLACED)
        uplinks = answer.json["between_nodes"]["uplinks"]
        self.assertEqual(len(uplinks), 16)
        for u in uplinks:  # two of four GPUs of the rail on each side
            self.assertEqual((u["gigabytes_per_second"], u["left"]), (50, 10))
        self.assertEqual(answer.json["rails"], list(range(8)))
        answer = berth_place("--cluster", self.cluster(eight), "--usable-uplinks", "0.8", *gang)
        self.assert_code(answer, NEVER)  # not on the empty cluster either
        link = answer.json["explanation"]["link"]
        self.assertEqual((link["level"], link["needs"], link["left"]), ("leaf", 50, 48))
        answer = berth_place("--cluster", self.cluster("null"), *gang)
        self.assertIsNone(answer.json["explanation"]["link"]["left"])

    def test_what_others_hold_is_not_given_out_again(self):
        cluster = self.cluster(",".join(["60"] * 8))
        held = self.file("held", "j n[2-3] 0-3 between-nodes=30GB/s\n")
        gang = ("--cluster", cluster, "--json", "--gang", "tasks=4,gpus=4,between-nodes=20")
        answer = berth_place(*gang)
        self.assert_code(answer, PLACED)
        answer = berth_place(*gang, "--occupied", held)
        if answer.code == PLACED:  # then on links that carry both
            for u in answer.json["between_nodes"]["uplinks"]:
                self.assertLessEqual(u["gigabytes_per_second"] + (30 if u["rail"] < 4 else 0), 60)
        wide = self.file("wide", "j n[2-3] 0-3 between-nodes=61GB/s\n")
        self.assert_bad(berth_place(*gang, "--occupied", wide), "job 'j'", "links between them")

    def test_a_real_fabric(self):
        answer = berth_place("--cluster", INPUTS / "infiniband" / "dgx-superpod-ndr.ibnetdiscover", "--node-shape",
                             "dgx-h100", "--gang", "tasks=2,gpus=8,between-nodes=1")
        # Four NICs on the fabric, eight inside the assumed machine: nothing is promised.
        self.assert_code(answer, NEVER)
        self.assertIn("nobody said what", " ".join(answer.out.split()))

    def test_taints_and_names(self):
        nodes = self.file("nodes.yaml", "apiVersion: v1\nkind: List\nitems:\n" + "".join(
            f"- {{apiVersion: v1, kind: Node, metadata: {{name: {n}}}, spec: {{{s}}},\n   status: {{allocatable: "
            "{cpu: '9', memory: 9Gi, nvidia.com/gpu: '8'}, conditions: [{type: Ready, status: 'True'}]}}\n"
            for n, s in (("a", "unschedulable: true"), ("b", "taints: [{key: k, value: v, effect: NoExecute}]"))))

        def node(*more):
            answer = berth_place("--cluster", nodes, "--json", *more)
            return answer.json["tasks"][0]["node"] if answer.code == PLACED else answer.json["result"]

        self.assertEqual(node("--gang", "gpus=1"), "not_now")
        refused = berth_place("--cluster", nodes, "--json", "--gang", "gpus=1").json["explanation"]
        self.assertEqual(refused["causes"], [{"cause": "tainted", "nodes": 2}])
        self.assertEqual(refused["taints"], [{"key": "node.kubernetes.io/unschedulable", "nodes": 1}, {"key": "k", "nodes": 1}])
        self.assertIn("no_taints", [c["change"] for c in refused["changes"]])
        self.assertEqual(node("--gang", "gpus=1", "--tolerate", "k=v"), "b")
        self.assertEqual(node("--gang", "gpus=1", "--tolerate", "node.kubernetes.io/unschedulable"), "a")
        self.assertEqual(node("--gang", "gpus=1,not-node=a", "--tolerate", "*"), "b")
        self.assertEqual(node("--gang", "gpus=1,only-node=a", "--tolerate", "*"), "a")
        self.assert_bad(berth_place("--cluster", nodes, "--gang", "gpus=1,only-node=zz"), "node 'zz'")

    def test_what_may_be_in_use_is_not_given_away(self):
        def site(gpus, more=""):
            return self.file("site.yaml", "apiVersion: v1\nkind: List\nitems:\n- {apiVersion: v1, kind: Node, metadata: {name: a},\n   status: "
                "{allocatable: {cpu: '9', memory: 9Gi, nvidia.com/gpu: '8'}, conditions: [{type: Ready, status: 'True'}]}}\n"
                "- {apiVersion: v1, kind: Pod, metadata: {name: p}, spec: {nodeName: a, containers: [{name: c, resources: "
                f"{{limits: {{nvidia.com/gpu: '{gpus}'}}}}}}]}}, status: {{phase: Running}}}}\n" + more)

        def ask(cluster, gang):
            return berth_place("--cluster", cluster, "--json", "--gang", gang)

        self.assertEqual(ask(site(7), "gpus=1").code, PLACED)
        more_than_there_is = ask(site(12), "gpus=1")
        self.assertEqual(more_than_there_is.json["result"], "not_now")
        self.assertIn("holds GPUs that the machine does not have", more_than_there_is.json["notes"][0])
        mig = SOURCE / "tests" / "io" / "data" / "inputs" / "dcgm" / "nvidia-smi-L-h100-mig.txt"
        self.assertEqual(ask(mig, "gpus=1").json["result"], "not_now")
        self.assertEqual(ask(mig, "mig=1g.10gb").code, PLACED)

    def test_a_runtime_in_another_file(self):
        job = INPUTS / "kubernetes" / "trainjob-multi-node.yaml"
        runtime = INPUTS / "kubernetes" / "trainjob-runtime-torch.yaml"
        site = ("--cluster", self.cluster("400"))
        self.assert_code(berth_place(*site, "--job", job), BAD_INPUT)
        self.assert_code(berth_place(*site, "--job", job, runtime), PLACED)


if __name__ == "__main__":
    main()
