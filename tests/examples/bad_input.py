#!/usr/bin/env python3
"""Input that is wrong: exit code 2, nothing on stdout, one line that says what was found and what was expected."""

import resource

from harness import DATA, NEVER, PLACED, SOURCE, Case, berth_place, main

GANG = ("--gang", "tasks=2,gpus=8")
SHAPE = ("--node-shape", "dgx-h100")
TREE = "SwitchName=s1 Nodes=n[1-2]\nSwitchName=s2 Nodes=n[3-4]\nSwitchName=top Switches=s1,s2\n"


class Levels(Case):
    def test_a_level_that_the_cluster_has_not_is_named_with_its_line(self):
        topology = self.file("topology.conf", TREE)
        for name, text, line in (
                ("job.sbatch", "#!/bin/bash\n#SBATCH -N 4\n#SBATCH --segment=2 --gpus-per-node=8\n", 3),
                ("job.yaml", "apiVersion: batch/v1\nkind: Job\nmetadata:\n  name: j\nspec:\n  parallelism: 2\n"
                 "  completions: 2\n  template:\n    metadata:\n      annotations:\n"
                 "        kueue.x-k8s.io/podset-required-topology: rack\n    spec:\n      restartPolicy: Never\n"
                 "      containers:\n      - name: c\n        image: i\n        resources:\n          limits:\n"
                 "            nvidia.com/gpu: 8\n", 11)):
            with self.subTest(name):
                answer = berth_place("--cluster", topology, *SHAPE, "--job", self.file(name, text))
                self.assert_bad(answer, f"{name}:{line}: found level '", "expected cluster, spine or leaf")

    def test_what_the_cluster_has_not_is_named_with_its_line_in_our_own_job_file(self):
        head = '{"name": "rack",\n "groups": [\n  {"name": "a", "gpus": 8, "tasks": 2},\n  {"name": "b", "gpus": 8,\n   "tasks": 2'
        for rest, line, found in (
                ('}],\n "within": "rack"}', 6, "level 'rack'"), ('}],\n "prefer": "rack"}', 6, "level 'rack'"),
                ('}],\n "segments": {"count": 2,\n  "level": "rack"}}', 7, "level 'rack'"),
                (',\n   "model": "h1000"}]}', 6, "GPU model 'h1000'"), (',\n   "only_nodes": ["n9"]}]}', 4, "node 'n9'"),
                (',\n   "own": {"segments": {"count": 2, "level": "leaf"}}}]}', 4, "group 'b' with a locality"),
                (',\n   "other": {"google.com/tpu": 4}}]}', 4, "group 'b' asking for 4 x 'google.com/tpu'"),
                (',\n   "mig": {"9g.90gb": 1}}]}', 4, "group 'b' asking for"),
                (',\n   "spread": [\n    {"level": "rack", "max_skew": 1}]}]}', 7, "level 'rack'")):
            with self.subTest(rest):
                answer = berth_place("--cluster", self.file("t.conf", TREE), *SHAPE, "--job", self.file("job.json", head + rest))
                self.assert_bad(answer, f"job.json:{line}: found {found}")


class Topology(Case):
    def place(self, text, *more):
        return berth_place("--cluster", self.file("topology.conf", text), *SHAPE, *(more or GANG))

    def test_a_switch_that_names_an_unknown_node(self):
        topology = self.file("topology.conf", TREE + "SwitchName=s3 Nodes=ghost\n")
        slurm = self.file("slurm.conf", "NodeName=n[1-4] CPUs=64 RealMemory=1000000 Gres=gpu:8\n")
        answer = berth_place("--cluster", topology, slurm, *GANG)
        self.assert_bad(answer, "topology.conf:4", "ghost")

    def test_a_switch_that_names_an_unknown_switch(self):
        self.assert_bad(self.place(TREE + "SwitchName=more Switches=top,nowhere\n"), "topology.conf:4", "nowhere")

    def test_a_node_under_two_leaves(self):
        self.assert_bad(self.place(TREE + "SwitchName=s3 Nodes=n2\n"), "topology.conf:4", "n2")

    def test_a_cycle(self):
        self.assert_bad(self.place("SwitchName=a Switches=b\nSwitchName=b Switches=a\n"), "topology.conf:", "b")
        self.assert_bad(self.place(TREE + "SwitchName=s3 Switches=s3\n"), "s3")

    def test_a_reversed_range(self):
        self.assert_bad(self.place("SwitchName=a Nodes=n[9-3]\n"), "topology.conf:1", "9-3")

    def test_a_huge_range_costs_no_memory(self):
        before = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss
        answer = self.place("SwitchName=a Nodes=n[1-99999999999]\n")
        self.assert_bad(answer, "topology.conf:1")
        answer = self.place("SwitchName=a Nodes=" + "n[1-1000]" + "[1-1000]" * 6 + "\n")
        self.assert_bad(answer, "topology.conf:1")
        after = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss
        self.assertLess(after - before, 300_000)  # KiB; the whole of it would be terabytes

    def test_an_empty_file(self):
        self.assert_bad(self.place(""), "topology.conf")
        self.assert_bad(self.place("# nothing but a comment\n\n"), "topology.conf")

    def test_a_file_that_is_not_there_and_one_that_is_no_text(self):
        self.assert_bad(berth_place("--cluster", "/no/such/file", *GANG), "/no/such/file")
        self.assert_bad(self.place(b"SwitchName=a Nodes=\xff\xfe\n"), "topology.conf")
        self.assert_bad(self.place(b"\x00\x01\x02\x7fELF"), "topology.conf")

    def test_names_given_twice(self):
        self.assert_bad(self.place(TREE + "SwitchName=s1 Nodes=n9\n"), "topology.conf:4", "s1")
        self.assert_bad(self.place("SwitchName=a Nodes=n1,n1\n"), "n1")
        slurm = self.file("slurm.conf", "NodeName=n1 CPUs=8 Gres=gpu:8\nNodeName=n1 CPUs=8 Gres=gpu:8\n")
        self.assert_bad(berth_place("--cluster", slurm, *GANG), "slurm.conf:2", "n1")

    def test_crlf_comments_and_continuations_are_read(self):
        plain = self.place(TREE, *GANG, "--json")
        self.assert_code(plain, PLACED)
        odd = ("# a comment\r\nSwitchName=s1 \\\r\n  Nodes=n[1-2] # more\r\n\r\nSwitchName=s2 Nodes=n[3-4]\r\n"
               "SwitchName=top Switches=s1,s2")
        same = self.place(odd, *GANG, "--json")
        self.assert_code(same, PLACED)
        self.assertEqual(same.json["tasks"], plain.json["tasks"])

    def test_hardware_that_nobody_states(self):
        answer = berth_place("--cluster", self.file("topology.conf", TREE), *GANG)
        self.assert_bad(answer, "n1", "--node-shape")

    def test_json_clusters(self):
        for text in ("{", "{}", '{"berth_cluster": 1, "shapes": ["dgx-h100"]}', '{"berth_cluster": 1, "shapes": []}',
                     '{"berth_cluster": 1, "shapes": ["no-such-machine"], "nodes": []}', '{"berth_cluster": 2}'):
            self.assert_bad(berth_place("--cluster", self.file("c.json", text), *GANG), "c.json")


class Request(Case):
    def place(self, *args):
        return berth_place("--cluster", "preset:superpod-h100:su=1", *args)

    def test_gangs_that_make_no_sense(self):
        for gang, word in (("tasks=0,gpus=8", "tasks=0"), ("tasks=2", "nothing"), ("tasks=2,gpus=8,min=0", "min=0"),
                           ("tasks=2,gpus=8,min=3", "3"), ("tasks=-1,gpus=8", "tasks=-1"), ("", "key=value"),
                           ("tasks=2,gpus=8,color=red", "color"), ("tasks=2,gpus=8,gpus=4", "twice"),
                           ("tasks=2,gpus=8,memory=64", "memory=64"), ("tasks=99999999999999999999,gpus=1", "tasks="),
                           ("tasks=2,gpus=8,segments=3:leaf", "segment"), ("tasks=4,gpus=8,min=2,segments=1:leaf", "2")):
            with self.subTest(gang):
                self.assert_bad(self.place("--gang", gang), word, "--gang")

    def test_names_that_the_cluster_does_not_have(self):
        self.assert_bad(self.place("--gang", "tasks=2,gpus=8,within=rack"), "'rack'", "cluster or leaf")
        self.assert_bad(self.place("--gang", "tasks=2,gpus=8,segments=2:rack"), "'rack'")
        self.assert_bad(self.place("--gang", "tasks=2,gpus=8,model=h1000"), "'h1000'", "h100-sxm5-80gb")

    def test_requests_larger_than_the_cluster_are_never_possible(self):
        for gang in ("tasks=32,gpus=8", "tasks=10000000,gpus=1", "tasks=1,gpus=9", "tasks=1,gpus=65", "tasks=1,gpus=9999999",
                     "tasks=1,gpus=8,cpus=100000", "tasks=1,gpus=1,memory=4000TiB", "tasks=1,cpus=0.001,label=nowhere",
                     "tasks=2,gpus=8,model=b200"):
            with self.subTest(gang):
                self.assert_code(self.place("--gang", gang), NEVER)

    def test_job_files(self):
        for text in ("", "{", "[]", "{}", '{"groups": []}', '{"groups": [{"tasks": 0, "gpus": 8}]}',
                     '{"groups": [{"tasks": 2, "gpus": 8}], "wihtin": "leaf"}',
                     '{"groups": [{"tasks": 2, "gpus": 8}], "within": "rack"}',
                     '{"groups": [{"name": "a", "tasks": 2, "gpus": 8}, {"name": "a", "tasks": 2, "gpus": 8}]}'):
            with self.subTest(text):
                self.assert_bad(self.place("--job", self.file("job.json", text)), "job.json")

    def test_a_job_file_that_is_another_file_is_named_with_what_takes_it(self):
        quota, inputs = SOURCE / "tests" / "quota" / "data", SOURCE / "tests" / "io" / "data" / "inputs"
        kueue = "apiVersion: kueue.x-k8s.io/v1beta1\nkind: ClusterQueue\nmetadata:\n  name: a\nspec:\n  namespaceSelector: {}\n"
        capacity = ("<configuration><property><name>yarn.scheduler.capacity.root.queues</name><value>a</value></property>"
                    "<property><name>yarn.scheduler.capacity.root.a.capacity</name><value>100</value></property></configuration>")
        slurm = "Cluster|Account|User|Partition|Share|GrpTRES\nc|root||||\n"
        for file, what, taker in (
                (self.file("q.json", {"schema": "berth-queues/1", "queues": []}), "queues and quota", "berth-quota FILE"),
                (self.file("kueue.yaml", kueue), "queues and quota", "berth-quota FILE"),
                (self.file("capacity-scheduler.xml", capacity), "queues and quota", "berth-quota FILE"),
                (self.file("assoc.txt", slurm), "queues and quota", "berth-quota FILE"),
                (quota / "yunikorn-queues.yaml", "queues and quota", "berth-quota FILE"),
                (quota / "yunikorn-priority.yaml", "queues and quota", "berth-quota FILE"),
                (quota / "kai-queues.yaml", "queues and quota", "berth-quota FILE"),
                (quota / "volcano-hierarchical-queues.yaml", "queues and quota", "berth-quota FILE"),
                (self.file("u.json", {"schema": "berth-usage/1", "usage": {}}), "what queues use", "berth-quota --usage"),
                (quota / "kueue_quota.json", "scheduling questions", "berth-case FILE"),
                (self.file("g.json", {"berth_mig_gpus": 1, "gpus": []}), "the state of MIG GPUs", "berth-mig plan --state"),
                (DATA / "azure-tree.occupied", "who holds what", "--occupied FILE"),
                (DATA / "azure-tree.topology.conf", "no job (it was read as Slurm)", "--cluster")):
            with self.subTest(file=file):
                self.assert_bad(self.place("--job", file), file.name, what, taker, "a job file")

    def test_a_gpu_model_that_nobody_knows(self):
        self.assert_bad(self.place(*GANG, "--gpu-model", "h1000"), "--gpu-model: found 'h1000'", "guess", "h100-sxm5-80gb")
        tree = self.file("t.conf", TREE)
        self.assert_bad(berth_place("--cluster", tree, *SHAPE, "--gpu-model", "nonsense", *GANG), "'nonsense'")
        for model in ("guess", "h100-sxm5-80gb", "NVIDIA H100 80GB HBM3"):
            self.assert_code(berth_place("--cluster", tree, *SHAPE, "--gpu-model", model, *GANG), PLACED)
        # What a file of the cluster calls its GPUs is known.
        own = self.file("own.json", {"berth_cluster": 1, "shapes": [{"name": "box", "devices": 8, "model": "our-chip", "cpus": 8,
                                                                     "memory": "64GiB"}],
                                     "nodes": [{"names": "n[1-4]", "shape": "box", "path": ["r1"]}]})
        self.assert_code(berth_place("--cluster", own, "--gpu-model", "our-chip", *GANG), PLACED)
        self.assert_bad(berth_place("--cluster", own, "--gpu-model", "our-chop", *GANG), "'our-chop'", "guess, or one of our-chip, ")

    def test_occupancy_files(self):
        for line, word in (("a node-0 0-8", "8"), ("a node-99 0", "node-99"), ("a node-0 0\nb node-0 0-1", "twice"),
                           ("a node-0", "word"), ("a node-0 -", "nothing"), ("!broken node-0 1", "!broken"),
                           ("a node-0 0 cpus=9999", "cpus")):
            with self.subTest(line):
                path = self.file("x.occupied", line + "\n")
                self.assert_bad(self.place(*GANG, "--occupied", path), "x.occupied:")

    def test_flags(self):
        self.assert_bad(berth_place(), "--cluster")
        self.assert_bad(self.place(), "--gang")
        self.assert_bad(self.place(*GANG, "--no-such-flag"), "--no-such-flag", "--cluster")
        self.assert_bad(self.place(*GANG, "stray"), "stray")
        self.assert_bad(self.place("--gang"), "--gang")
        self.assert_bad(self.place(*GANG, "--job", DATA / "two-groups.job.json"), "--job")
        self.assert_bad(self.place(*GANG, "--fill", "1.5"), "'1.5'")
        self.assert_bad(self.place(*GANG, "--fill", "much"), "'much'")
        self.assert_bad(self.place(*GANG, "--fill", "0.5", "--seed", "x"), "'x'")
        self.assert_bad(self.place(*GANG, "--seed", "1"), "--fill")
        self.assert_bad(self.place(*GANG, "--fill", "0.5", "--occupied", "x"), "--occupied")
        self.assert_bad(self.place(*GANG, "--policy", "best"), "'best'", "fewest_domains")
        self.assert_bad(self.place(*GANG, "--policy", "spread/tightest"), "'spread/tightest'")
        self.assert_bad(self.place(*GANG, "--steps", "0"), "'0'")
        self.assert_bad(self.place(*GANG, "--tolerate", ""), "--tolerate: found ''")
        self.assert_bad(self.place(*GANG, "--node-shape", "dgx-h100"), "preset")
        self.assert_bad(self.place(*GANG, "--svg", "/no/such/folder/x.svg"), "/no/such/folder/x.svg")
        self.assert_bad(berth_place("--cluster", "preset:nothing", *GANG), "nothing", "superpod-h100")
        self.assert_bad(berth_place("--cluster", "preset:superpod-h100:su=99", *GANG), "su=99")
        self.assert_bad(berth_place("--cluster", "preset:nvl72", "preset:nvl72", *GANG), "preset:nvl72")
        tree = self.file("t.conf", TREE)
        self.assert_bad(berth_place("--cluster", tree, "--node-shape", "dgx-9000", *GANG), "'dgx-9000'")
        self.assert_bad(berth_place("--cluster", tree, *SHAPE, "--node-cpus", "many", *GANG), "'many'")
        self.assert_bad(berth_place("--cluster", tree, *SHAPE, "--node-memory", "64", *GANG), "'64'")

    def test_locality_is_the_gangs_not_the_groups(self):
        self.assert_bad(self.place("--gang", "tasks=2,gpus=8,within=leaf", "--gang", "tasks=2,gpus=8,within=cluster"), "--gang")
        self.assert_bad(self.place("--gang", "tasks=2,gpus=8,name=a", "--gang", "tasks=2,gpus=8,name=a"), "'a'")


if __name__ == "__main__":
    main()
