#!/usr/bin/env python3
"""Exit codes, the JSON contract and what the explanations say, on clusters small enough to be checked by hand."""

import json
import re
import xml.etree.ElementTree as xml

from harness import BAD_INPUT, DATA, GAVE_UP, NEVER, NOT_NOW, PLACED, Case, berth_place, main

TREE = "SwitchName=s1 Nodes=n[1-4]\nSwitchName=s2 Nodes=n[5-8]\nSwitchName=top Switches=s1,s2\n"
POLICIES = [f"{d}/{n}" for d in ("fewest_domains", "tightest", "least_free_first", "most_free_first", "balanced")
            for n in ("bin_pack", "spread", "device_utilisation")]


class Answers(Case):
    def place(self, occupied, *args):
        files = ["--cluster", self.file("topology.conf", TREE), "--node-shape", "dgx-h100"]
        if occupied:
            files += ["--occupied", self.file("x.occupied", occupied)]
        return berth_place(*files, *args)

    def check_schema(self, j):
        self.assertIn(j["result"], ("placed", "not_now", "never", "gave_up"))
        self.assertIsInstance(j["nanoseconds"], int)
        self.assertGreater(j["nanoseconds"], 0)
        self.assertIsInstance(j["domains_used"], dict)
        for text in ("assumptions", "notes"):
            self.assertTrue(all(isinstance(s, str) for s in j[text]))
        ranks = {}
        for t in j["tasks"]:
            self.assertEqual(set(t), {"group", "rank", "node", "devices", "path"})
            self.assertEqual(t["rank"], ranks.get(t["group"], 0))
            ranks[t["group"]] = t["rank"] + 1
            self.assertEqual(t["devices"], sorted(set(t["devices"])))
            self.assertTrue(t["path"] and all(isinstance(p, str) and p for p in t["path"]))
        if j["result"] == "placed":
            self.assertTrue(j["tasks"])
            self.assertIsNone(j["explanation"])
            self.assertEqual(list(j["domains_used"].values()), j["score"]["domains_used"])
            return
        self.assertEqual(j["tasks"], [])
        self.assertIsNone(j["score"])
        e = j["explanation"]
        self.assertEqual(sum(c["nodes"] for c in e["causes"]), j["cluster"]["nodes"])
        self.assertEqual(len({c["cause"] for c in e["causes"]}), len(e["causes"]))
        for near in (e["nearest"], e["best_ever"]):
            if near is not None:
                self.assertLess(near["holds"], near["needs"])
        for change in e["changes"]:
            self.assertTrue({"change", "level", "domain", "least"} <= set(change))
        self.assertTrue(e["sentences"])

    def test_placed(self):
        answer = self.place("", "--gang", "tasks=4,gpus=8,within=leaf,name=train", "--json")
        self.assert_code(answer, PLACED)
        j = answer.json
        self.check_schema(j)
        self.assertEqual([t["node"] for t in j["tasks"]], ["n1", "n2", "n3", "n4"])
        self.assertEqual(j["domains_used"], {"cluster": 1, "spine": 1, "leaf": 1})
        self.assertEqual((j["level"], j["domain"], j["job"]), ("leaf", "s1", "train"))

    def test_not_now_names_the_nearest_leaf_and_ways_out(self):
        occupied = "a n1 0\nb n5 0-3\nc n6 0\n!unhealthy n7 -\n!unhealthy n8 0-1\n"
        answer = self.place(occupied, "--gang", "tasks=4,gpus=8,within=leaf", "--json")
        self.assert_code(answer, NOT_NOW)
        j = answer.json
        self.check_schema(j)
        e = j["explanation"]
        self.assertEqual({c["cause"]: c["nodes"] for c in e["causes"]},
                         {"devices_in_use": 3, "unusable": 1, "unhealthy_devices": 1, "has_room": 3})
        self.assertEqual((e["nearest"]["domain"], e["nearest"]["holds"], e["nearest"]["needs"]), ("s1", 3, 4))
        changes = {c["change"]: c for c in e["changes"]}
        self.assertEqual(changes["free_nodes"]["nodes"], ["n1"])
        self.assertEqual(changes["fewer_tasks"]["count"], 3)
        self.assertTrue(e["fits_empty"])
        # What the answer proposes works.
        self.assert_code(self.place(occupied, "--gang", "tasks=3,gpus=8,within=leaf"), PLACED)
        self.assert_code(self.place(occupied.replace("a n1 0\n", ""), "--gang", "tasks=4,gpus=8,within=leaf"), PLACED)
        size = changes["smaller_tasks"]["count"]
        self.assert_code(self.place(occupied, "--gang", f"tasks=4,gpus={size},within=leaf"), PLACED)
        self.assert_code(self.place(occupied, "--gang", f"tasks=4,gpus={size + 1},within=leaf"), NOT_NOW)
        text = self.place(occupied, "--gang", "tasks=4,gpus=8,within=leaf")
        self.assert_code(text, NOT_NOW)
        self.assertIn("Leaf s1 comes nearest: it holds 3 of 4 tasks.", text.out)

    def test_never(self):
        answer = self.place("a n1 0\n", "--gang", "tasks=5,gpus=8,within=leaf", "--json")
        self.assert_code(answer, NEVER)
        self.check_schema(answer.json)
        self.assertFalse(answer.json["explanation"]["fits_empty"])
        self.assertEqual(answer.json["explanation"]["changes"][1]["change"], "wider_level")

    def test_never_is_told_from_not_now_for_several_groups_too(self):
        gangs = ["--gang", "tasks=7,gpus=8,name=big", "--gang", "tasks=2,gpus=5,name=small"]
        answer = self.place("", *gangs, "--json")
        self.assert_code(answer, NEVER)
        self.check_schema(answer.json)
        self.assertTrue(answer.json["explanation"]["groups_fit_alone"])
        gangs[1] = "tasks=6,gpus=8,name=big"
        self.assert_code(self.place("", *gangs), PLACED)
        self.assert_code(self.place("a n1 0\n", *gangs), PLACED)
        self.assert_code(self.place("a n1 0-3\n", *gangs), NOT_NOW)

    def test_gave_up_is_told_from_not_now(self):
        # 3, 7, 6, 4, 8, 4, 5 and 7 GPUs are free, and the gang wants all 44: a matter of some search.
        occupied = "a n1 0-4\nb n2 0\nc n3 0-1\nd n4 0-3\nf n6 0-3\ng n7 0-2\nh n8 0\n"
        gangs = ("--gang", "tasks=4,gpus=3", "--gang", "tasks=6,gpus=2", "--gang", "tasks=5,gpus=4")
        self.assert_code(self.place(occupied, *gangs), PLACED)
        answer = self.place(occupied, *gangs, "--steps", "1", "--json")
        self.assert_code(answer, GAVE_UP)
        self.check_schema(answer.json)
        self.assertEqual(answer.json["result"], "gave_up")
        self.assertIn("Gave up", self.place(occupied, *gangs, "--steps", "1").out)

    def test_fewer_than_wanted_where_the_gang_allows_it(self):
        answer = self.place("a n[1-2] 0\n", "--gang", "tasks=8,min=4,gpus=8", "--json")
        self.assert_code(answer, PLACED)
        self.assertEqual(len(answer.json["tasks"]), 6)
        self.assertEqual(answer.json["score"]["tasks_missing"], 2)
        self.assert_code(self.place("a n[1-2] 0\n", "--gang", "tasks=8,min=7,gpus=8"), NOT_NOW)

    def test_memory_and_cpus(self):
        unknown = self.place("", "--gang", "tasks=1,gpus=1,memory=1GiB")
        self.assert_code(unknown, BAD_INPUT)  # whether it could run is not known
        self.assertIn("where nobody states the memory of the 8 nodes", unknown.err)
        self.assert_code(self.place("", "--node-memory", "2TiB", "--gang", "tasks=8,gpus=1,memory=2TiB"), PLACED)
        answer = self.place("a n1 - cpus=100\n", "--gang", "tasks=8,cpus=50", "--node-cpus", "100", "--json")
        self.assert_code(answer, PLACED)
        self.assertNotIn("n1", [t["node"] for t in answer.json["tasks"]])
        self.assertTrue(all(t["devices"] == [] for t in answer.json["tasks"]))
        self.assertTrue(any("100 CPUs" in a for a in answer.json["assumptions"]))

    def test_nodes_that_the_files_call_down_get_nothing_new_but_keep_what_runs_there(self):
        slurm = self.file("slurm.conf", "NodeName=n[1-8] CPUs=64 RealMemory=1000000 Gres=gpu:8\nDownNodes=n2 State=DOWN\n")
        site = ("--cluster", self.file("topology.conf", TREE), slurm, "--occupied", self.file("x.occupied", "a n2 0-3\n"))
        answer = berth_place(*site, "--gang", "tasks=7,gpus=8", "--json")
        self.assert_code(answer, PLACED)
        self.assertNotIn("n2", [t["node"] for t in answer.json["tasks"]])
        answer = berth_place(*site, "--gang", "tasks=8,gpus=1,within=leaf,cpus=64", "--json")
        self.assert_code(answer, NEVER)
        answer = berth_place(*site, "--gang", "tasks=4,gpus=8,within=leaf", "--json")
        self.assertEqual(answer.json["domain"], "s2")
        answer = berth_place(*site, "--gang", "tasks=8,gpus=8", "--json")
        self.assert_code(answer, NOT_NOW)
        e = answer.json["explanation"]
        self.assertEqual({c["cause"]: c["nodes"] for c in e["causes"]}, {"unusable": 1, "has_room": 7})
        self.assertEqual(e["changes"][0]["nodes"], ["n2"])

    def test_segments(self):
        answer = self.place("a n1 0\n", "--gang", "tasks=6,gpus=8,segments=2:leaf", "--json")
        self.assert_code(answer, PLACED)
        tasks = answer.json["tasks"]
        for segment in (tasks[:3], tasks[3:]):
            self.assertEqual(len({t["path"][-1] for t in segment}), 1)
        answer = self.place("a n[1,5] 0\n", "--gang", "tasks=8,gpus=4,segments=4:leaf:spread", "--json")
        self.assert_code(answer, NEVER)
        self.check_schema(answer.json)
        self.assertIn("any_layout", [c["change"] for c in answer.json["explanation"]["changes"]])

    def test_a_job_file_with_two_groups(self):
        cluster = ("--cluster", DATA / "topograph-tree.topology.conf", "--node-shape", "dgx-h100")
        answer = berth_place(*cluster, "--job", DATA / "two-groups.job.json", "--json")
        self.assert_code(answer, PLACED)
        j = answer.json
        self.check_schema(j)
        job = json.loads((DATA / "two-groups.job.json").read_text())
        for g in job["groups"]:
            self.assertEqual(sum(t["group"] == g["name"] for t in j["tasks"]), g["tasks"])
        self.assertEqual(j["domains_used"]["spine"], 1)  # "within": "spine"
        self.assertEqual(j["domains_used"]["leaf"], 2)   # two segments, spread over leaves

    def test_every_policy_places_all_tasks_on_different_gpus(self):
        for policy in POLICIES:
            with self.subTest(policy):
                answer = self.place("a n1 0-3\nb n6 0\n", "--gang", "tasks=9,gpus=4", "--policy", policy, "--json")
                self.assert_code(answer, PLACED)
                self.check_schema(answer.json)
                self.assertEqual(answer.json["policy"], policy)
                held = [(t["node"], d) for t in answer.json["tasks"] for d in t["devices"]]
                self.assertEqual(len(held), 36)
                self.assertEqual(len(set(held)), 36)
                self.assertFalse({("n1", 0), ("n1", 3), ("n6", 0)} & set(held))

    def test_policies_differ(self):
        def nodes(policy):
            answer = self.place("a n1 0-3\n", "--gang", "tasks=2,gpus=2,within=leaf", "--policy", policy, "--json")
            return answer.json["domain"], [t["node"] for t in answer.json["tasks"]]
        self.assertEqual(nodes("bin_pack"), ("s1", ["n1", "n1"]))
        self.assertEqual(nodes("most_free_first")[0], "s2")
        self.assertEqual(len(set(nodes("most_free_first/spread")[1])), 2)

    def test_filling_is_repeatable_exact_and_said(self):
        ask = ("--cluster", "preset:superpod-h100:su=2", "--gang", "tasks=4,gpus=8", "--json", "--fill")
        first, again, other = berth_place(*ask, "0.6"), berth_place(*ask, "0.6"), berth_place(*ask, "0.6", "--seed", "2")
        self.assertEqual(first.json["tasks"], again.json["tasks"])
        for answer in (first, other):
            c = answer.json["cluster"]
            self.assertEqual(c["devices"] - c["free_devices"], round(c["devices"] * 0.6))
            self.assertRegex(answer.json["notes"][0], r"seed [12].*(59\.9|60\.\d) %")
        self.assertNotEqual(first.json["cluster"]["jobs"], other.json["cluster"]["jobs"])
        self.assertEqual(berth_place(*ask, "0").json["cluster"]["jobs"], 0)
        self.assert_code(berth_place(*ask, "1"), NOT_NOW)

    def test_json_alone_on_stdout_and_svg_is_xml(self):
        svg = self.file("plan.svg", "")
        answer = self.place("a n1 0-3\n", "--gang", "tasks=2,gpus=8,name=<&>", "--json", "--svg", svg)
        self.assert_code(answer, PLACED)
        self.check_schema(answer.json)
        self.assertEqual(answer.err, "")
        root = xml.parse(svg).getroot()
        self.assertTrue(root.tag.endswith("svg"))
        self.assertIn("<&>", "".join(root.itertext()))
        refused = self.place("a n[1-8] 0\n", "--gang", "tasks=2,gpus=8", "--svg", svg)
        self.assert_code(refused, NOT_NOW)
        xml.parse(svg)

    def test_help_and_lists(self):
        for flag, word in (("--help", "Exit codes"), ("--list-presets", "superpod-h100"), ("--list-shapes", "azure-ndv5"),
                           ("--list-policies", "fewest_domains")):
            answer = berth_place(flag)
            self.assert_code(answer, PLACED)
            self.assertIn(word, answer.out)
            self.assertEqual(answer.err, "")
        for policy in POLICIES:
            for word in policy.split("/"):
                self.assertIn(word, berth_place("--list-policies").out)
        for name in re.findall(r"(?m)^  (\S+?):", berth_place("--list-presets").out):
            self.assert_code(berth_place("--cluster", "preset:" + name, "--gang", "tasks=2,gpus=4"), PLACED)

    def test_the_files_of_other_sites(self):
        for files, more in ((("topograph-tree.topology.conf",), ("--node-shape", "dgx-h100")),
                            (("gcp-nodesets.topology.conf",), ("--node-shape", "gcp-a3-high")),
                            (("azure-block-gb200.topology.conf",), ("--node-shape", "gb200-tray")),
                            (("tara-mixed.topology.conf",), ("--node-shape", "dgx1-v100")),
                            (("aws-gpu.partition.conf", "aws-gpu.gres.conf"), ()),
                            (("lambda-8gpu.slurm.conf", "lambda-8gpu.gres.conf"), ())):
            with self.subTest(files[0]):
                answer = berth_place("--cluster", *(DATA / f for f in files), *more, "--gang", "tasks=1,gpus=1", "--json")
                self.assert_code(answer, PLACED)
                self.check_schema(answer.json)
                text = berth_place("--cluster", *(DATA / f for f in files), *more, "--gang", "tasks=1,gpus=1")
                self.assert_code(text, PLACED)


class Kubernetes(Case):
    NODE = {"apiVersion": "v1", "kind": "Node", "metadata": {"name": "n1"},
            "status": {"allocatable": {"cpu": "64", "memory": "512Gi", "nvidia.com/gpu": "8"}}}

    def pod(self, name, gpus, phase, **spec):
        return {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": name, "namespace": "a"}, "status": {"phase": phase},
                "spec": {"containers": [{"name": "c", "image": "i", "resources": {"limits": {"nvidia.com/gpu": gpus},
                                                                                  "requests": {"cpu": 1}}}], **spec}}

    def place(self, *pods):
        return berth_place("--cluster", self.file("objects.json", {"apiVersion": "v1", "kind": "List",
                                                                   "items": [self.NODE, *pods]}), "--gang", "gpus=1", "--json")

    def test_a_pod_that_runs_is_not_asked_for_as_well(self):
        running = [self.pod("p1", 2, "Running", nodeName="n1"), self.pod("p2", 1, "Running", nodeName="n1"),
                   self.pod("p4", 1, "Succeeded", nodeName="n1")]
        j = self.place(*running).json
        self.assertEqual((j["cluster"]["jobs"], j["cluster"]["free_devices"]), (2, 5))
        self.assertIn("2 jobs hold 3 GPUs (as the cluster's files say).", j["notes"])
        self.assertFalse([n for n in j["notes"] if "also ask for" in n])
        # What is said of a node is said of it once.
        self.assertEqual([a for a in j["assumptions"] if "which GPUs" in a],
                         ["1 node (n1): which GPUs running jobs hold is not stated; the lowest free ones are taken."])
        j = self.place(*running, self.pod("p3", 1, "Pending")).json
        self.assertIn("The cluster's files also ask for 1 job, which is not placed here.", j["notes"])

    def test_a_gang_of_which_a_part_runs_is_asked_for(self):
        gang = [self.pod(f"w{i}", 1, "Running" if i < 2 else "Pending", **({"nodeName": "n1"} if i < 2 else {})) for i in range(3)]
        for p in gang:
            p["metadata"]["labels"] = {"scheduling.x-k8s.io/pod-group": "g"}
            p["metadata"]["annotations"] = {"scheduling.k8s.io/group-name": "g"}
        j = self.place(*gang).json
        self.assertEqual(j["cluster"]["free_devices"], 6)
        self.assertIn("The cluster's files also ask for 1 job, which is not placed here.", j["notes"])

    def test_names_that_are_no_utf_8_are_refused_with_their_line(self):
        for name, text in (("x.xml", b'<?xml version="1.0" encoding="UTF-8"?>\n<topology version="2.0">\n<object type="Machine" '
                            b'os_index="0">\n<info name="HostName" value="caf\xe9"/>\n<object type="Package" os_index="0" '
                            b'cpuset="0x1"/></object>\n</topology>\n'),
                           ("x.prom", b'DCGM_FI_DEV_GPU_TEMP{gpu="0",UUID="GPU-1",device="nvidia0",modelName="NVIDIA H100 80GB HBM3",'
                            b'Hostname="caf\xe9"} 40\n')):
            self.assert_bad(berth_place("--cluster", self.file(name, text), "--gang", "gpus=1"), name, "UTF-8")

    def test_counts_agree_with_their_words(self):
        one = dict(self.NODE, status={"allocatable": {"cpu": "64", "memory": "512Gi", "nvidia.com/gpu": "1"}})
        answer = berth_place("--cluster", self.file("one.json", one), "--gang", "gpus=1")
        self.assert_code(answer, PLACED)
        self.assertIn("1 node with 1 GPU (", answer.out)
        filled = berth_place("--cluster", "preset:leaf-spine:nodes=1,per-leaf=1", "--gang", "gpus=1", "--fill", "1")
        self.assertIn("; 1 was placed.", filled.out)


class Parts(Case):
    """Parts of GPUs: what is held of them already, and what gangs may ask of GPUs that are shared."""

    # The form is that of the listings in NVIDIA's MIG User Guide (of an A100 40GB); the rows are ours.
    LISTED = """\
+-------------------------------------------------------+
| GPU instances:                                        |
| GPU   Name             Profile  Instance   Placement  |
|                          ID       ID       Start:Size |
|=======================================================|
|   0  MIG 1g.5gb          19        7          0:1     |
+-------------------------------------------------------+
|   0  MIG 3g.20gb          9        1          4:4     |
+-------------------------------------------------------+
"""
    ONE = ("--cluster", "preset:leaf-spine:nodes=1,per-leaf=1")

    def listed(self, text, gang, nodes="n1", *more):
        return berth_place("--cluster", self.file("t.conf", f"SwitchName=s Nodes={nodes}\n"), "--node-shape", "aws-p4d",
                           "--occupied", self.file("lgi.txt", text), "--gang", gang, *more)

    def test_instances_that_nvidia_smi_lists_are_held(self):
        answer = self.listed(self.LISTED, "tasks=7,gpus=1", "n1", "--json")
        self.assert_code(answer, PLACED)
        self.assertEqual({d for t in answer.json["tasks"] for d in t["devices"]}, set(range(1, 8)))
        self.assertIn("2 parts of GPUs", " ".join(answer.json["notes"]))
        self.assert_code(self.listed(self.LISTED, "tasks=8,gpus=1"), NOT_NOW)
        # Seven GPUs hold two of 3g.20gb each. On GPU 0 one half is taken, and of the other the first slice.
        self.assert_code(self.listed(self.LISTED, "tasks=14,mig=3g.20gb"), PLACED)
        self.assert_code(self.listed(self.LISTED, "tasks=15,mig=3g.20gb"), NOT_NOW)
        self.assert_code(self.listed(self.LISTED, "tasks=22,mig=2g.10gb"), PLACED)  # three each, and 2:2 of GPU 0
        self.assert_code(self.listed(self.LISTED, "tasks=23,mig=2g.10gb"), NOT_NOW)
        self.assert_code(self.listed("No GPU instances found: Not Found\n", "tasks=8,gpus=1"), PLACED)

    def test_listings_that_cannot_be(self):
        def bad(old, new, *words):
            self.assert_bad(self.listed(self.LISTED.replace(old, new), "gpus=1"), "lgi.txt:", *words)
        bad("0:1 ", "4:1 ", "lgi.txt:8")  # inside the other one
        bad("MIG 1g.5gb ", "MIG 1g.10gb", "lgi.txt:6")
        bad("|   0  MIG 1g", "|   9  MIG 1g")
        self.assert_bad(self.listed(self.LISTED, "gpus=1", "n[1-2]"), "lgi.txt", "one machine")

    def test_a_shared_instance_is_one_users(self):
        held = self.file("x.occupied", "small node-0 0:1g.10gb@0 gpu_cores=30 gpu_memory_mib=2000 user=ann\n")
        # Four of 2000 MiB fit in the instance, with hers: three more before another is opened; of his none.
        for user, tasks, code in (("ann", 223, PLACED), ("ann", 224, NOT_NOW), ("bob", 220, PLACED), ("bob", 221, NOT_NOW)):
            gang = f"tasks={tasks},mig=1g.10gb,gpu_memory_mib=2000,user={user}"
            answer = berth_place(*self.ONE, "--occupied", held, "--share-instances", "mps:6", "--gang", gang)
            self.assert_code(answer, code)

    def test_gangs_keep_to_the_terms_of_sharing(self):
        for terms, gang, *words in (("mps-plugin:4", "replicas=2", "1 replica per task"),
                                    ("mps-plugin:4", "gpu_cores=60", "at most 25 percent"),
                                    ("mps-plugin:4", "gpu_memory_mib=40000", "at most 20389 MiB"),
                                    ("time-slice:4", "replicas=2", "1 replica per task"),
                                    ("time-slice:4", "gpu_cores=30", "time-slice does not limit"),
                                    ("shards:4", "gpu_cores=30", "shards does not limit")):
            with self.subTest((terms, gang)):
                self.assert_bad(berth_place(*self.ONE, "--sharing", terms, "--gang", gang), "group 'tasks'", *words)
        for terms, gang, most in (("mps-plugin:4", "replicas=1", 32), ("mps-plugin:4", "gpu_memory_mib=9000", 32),
                                  ("time-slice:4", "gpu_memory_mib=9000", 32), ("time-slice:4:several", "replicas=2", 16),
                                  ("shards:4", "shards=2", 16)):
            with self.subTest((terms, gang)):
                place = (*self.ONE, "--sharing", terms, "--gang")
                self.assert_code(berth_place(*place, f"{gang},tasks={most}"), PLACED)
                self.assertIn(berth_place(*place, f"{gang},tasks={most + 1}").code, (NOT_NOW, NEVER))
        answer = berth_place(*self.ONE, "--share-instances", "mps:7", "--gang", "mig=1g.10gb,gpu_memory_mib=1000")
        self.assert_bad(answer, "7 clients", "1 to 6")

    def test_job_files_ask_for_shards_and_replicas(self):
        batch = self.file("s.sbatch", "#!/bin/bash\n#SBATCH -N 1 -n 1 --gres=shard:2\nsrun x\n")
        pod = self.file("p.yaml", "apiVersion: v1\nkind: Pod\nmetadata: {name: p}\nspec:\n  containers:\n  - name: a\n"
                                  "    resources: {limits: {nvidia.com/gpu.shared: 1}}\n")
        for file, terms in ((batch, "shards:4"), (pod, "time-slice:4"), (pod, "mps-plugin:4")):
            self.assert_code(berth_place(*self.ONE, "--sharing", terms, "--job", file), PLACED)
        self.assert_bad(berth_place(*self.ONE, "--sharing", "shards:1", "--job", batch), "shards")
        self.assert_bad(berth_place(*self.ONE, "--sharing", "time-slice:4", "--job", batch), "shared in shards")
        self.assert_bad(berth_place(*self.ONE, "--job", batch), "shared in shards")
        self.assert_bad(berth_place(*self.ONE, "--sharing", "shards:4", "--job", pod), "time-sliced")


if __name__ == "__main__":
    main()
