#!/usr/bin/env python3
"""berth-topo from end to end: the contract for scripts, and every command on real files."""

import json
import os
import pathlib
import sys
import tempfile
import xml.dom.minidom

from program import SOURCE, Folder, Program

DATA = SOURCE / "tests" / "io" / "data" / "inputs"
CLEAN, FINDINGS, UNREADABLE = range(3)
topo = Program("BERTH_TOPO")
TOPO = DATA / "topo-m"



class Case(Folder):
    def shown(self, *args):
        run = topo("show", "--json", *args)
        self.assert_code(run, CLEAN)
        return json.loads(run.stdout)


class Show(Case):
    def test_vertices_and_links_of_a_machine(self):
        s = self.shown(TOPO / "v100-dgx1-4nic.txt", "--model", "v100-sxm2-16gb")
        kinds = [v["kind"] for v in s["vertices"]]
        self.assertEqual(kinds.count("gpu"), 8)
        self.assertEqual(kinds.count("nic"), 4)
        self.assertEqual(kinds.count("node"), 1)
        for link in s["links"]:
            self.assertIn("kind", link)
            self.assertIn("gigabytes_per_second", link)
            self.assertIn("latency_ns", link)
        names = {v["id"]: v["name"] for v in s["vertices"]}
        nvlinks = {frozenset(names[link[end]] for end in ("from", "to")): link["gigabytes_per_second"]
                   for link in s["links"] if link["kind"] == "nvlink"}
        self.assertEqual(len(nvlinks), 16)
        self.assertEqual(nvlinks[frozenset(("node-0/gpu0", "node-0/gpu3"))], 50)
        self.assertEqual(nvlinks[frozenset(("node-0/gpu0", "node-0/gpu1"))], 25)

    def test_levels_of_a_tree(self):
        s = self.shown(SOURCE / "examples" / "data" / "azure-tree.topology.conf", "--node-shape", "azure-ndv5")
        levels = {level["level"]: level["domains"] for level in s["levels"]}
        self.assertEqual(list(levels), ["cluster", "spine", "leaf"])
        self.assertEqual(sorted(len(d["nodes"]) for d in levels["leaf"]), [2, 2, 3, 3, 6])
        self.assertEqual(sum(d["gpus"] for d in levels["leaf"]), 128)
        self.assertEqual(sum(v["kind"] == "gpu" for v in s["vertices"]), 128)
        shared = self.shown(SOURCE / "examples" / "data" / "azure-tree.topology.conf", "--node-shape", "azure-ndv5",
                            "--shared")
        self.assertEqual(sum(v["kind"] == "gpu" for v in shared["vertices"]), 8)
        self.assertEqual(sum(v["kind"] == "node" for v in shared["vertices"]), 16)

    def test_counts_agree_with_their_words(self):
        text = topo("show", SOURCE / "examples" / "data" / "azure-tree.topology.conf", "--node-shape", "azure-ndv5").stdout
        self.assertIn("1 spine, 5 leaves", text)
        self.assertIn("5 leaf switches, 1 spine switch;", text)
        self.assertIn("nearest to GPU 0,", text)
        blocks = topo("show", DATA / "slurm" / "slinky.topology.yaml").stdout
        self.assertIn("1 domain of block-4,", blocks)

    def test_every_file_has_its_own_format(self):
        with tempfile.TemporaryDirectory() as folder:
            files = {"topology.conf": "SwitchName=s Nodes=n[1-2]\n", "slurm.conf": "NodeName=n[1-2] Gres=gpu:8\n"}
            for name, text in files.items():
                (pathlib.Path(folder) / name).write_text(text)
            s = self.shown(f"{folder}/topology.conf", f"n*={TOPO / 'facts-dgx-a100-8gpu-12nic.txt'}",
                           f"{folder}/slurm.conf")
            self.assertEqual([f["format"] for f in s["files"]], ["Slurm", "nvidia-smi topo -m", "Slurm"])

    def test_text_and_drawings(self):
        with tempfile.TemporaryDirectory() as folder:
            run = topo("show", DATA / "infiniband" / "links-p.ibnetdiscover",
                       f"?0*={TOPO / 'facts-dgx-a100-8gpu-12nic.txt'}", "--svg", f"{folder}/x")
            self.assert_code(run, CLEAN)
            self.assertIn("3 machines with 24 GPUs", run.stdout)
            files = sorted(os.listdir(folder))
            self.assertEqual(len(files), 2)
            self.assertIn("x-fabric.svg", files)
            for name in files:
                xml.dom.minidom.parse(f"{folder}/{name}")
        ascii_only = topo("show", "--ascii", TOPO / "k80-4gpu-node.txt")
        ascii_only.stdout.encode("ascii")

    def test_a_preset(self):
        s = self.shown("preset:nvl72:racks=2", "--shared")
        self.assertEqual(sum(v["kind"] == "nvlink" for v in s["vertices"] if "inside" not in v), 2)


class Check(Case):
    def test_exit_codes(self):
        self.assert_code(topo("check", TOPO / "facts-dgx-a100-8gpu-12nic.txt"), CLEAN)
        run = topo("check", TOPO / "facts-3xa6000-one-bridge.txt")
        self.assert_code(run, FINDINGS)
        self.assertIn("fewer_nvlinks", run.stdout)
        run = topo("check", "--json", TOPO / "facts-8x4090-all-sys.txt")
        self.assert_code(run, FINDINGS)
        self.assertEqual([f["kind"] for f in json.loads(run.stdout)["findings"]], ["far_nic"])

    def test_a_node_missing_from_the_fabric(self):
        with tempfile.TemporaryDirectory() as folder:
            conf = pathlib.Path(folder) / "slurm.conf"
            conf.write_text("NodeName=o[0001-0002],p0001 CPUs=64 RealMemory=100000 Gres=gpu:4\n"
                            "NodeName=lost CPUs=64 RealMemory=100000 Gres=gpu:4\n")
            run = topo("check", conf, DATA / "infiniband" / "links-p.ibnetdiscover")
            self.assert_code(run, FINDINGS)
            self.assertIn("missing_from_fabric: 1 machine (lost)", run.stdout)

    def test_unreadable_files(self):
        with tempfile.TemporaryDirectory() as folder:
            broken = pathlib.Path(folder) / "topology.conf"
            broken.write_text("SwitchName=s1 Nodes=n[1-2]\nSwitchName=s2 Nodes=n2\n")
            for command in (("check",), ("show",), ("show", "--json"), ("bisect",), ("convert", "--to", "json")):
                run = topo(*command, broken)
                self.assert_code(run, UNREADABLE)
                self.assertEqual(run.stdout, "")
                self.assertIn("topology.conf:2: found ", run.stderr)
                self.assertIn(", expected ", run.stderr)
        self.assert_code(topo("check", "/no/such/file"), UNREADABLE)
        self.assert_code(topo("nonsense"), UNREADABLE)


class Paths(Case):
    def distance(self, a, b, *files):
        run = topo("distance", "--json", "--cluster", *files, "--", a, b)
        self.assert_code(run, CLEAN)
        return json.loads(run.stdout)

    def test_inside_a_machine(self):
        file = DATA / "nccl-topo" / "oci-h100-topology.xml"
        d = self.distance("gpu0", "gpu7", file)
        self.assertEqual(d["kind"], "NVSwitch")
        self.assertTrue(d["joined"])
        crossed = TOPO / "facts-4x3090-crossed-nvlink.txt"
        self.assertEqual(self.distance("gpu0", "gpu2", crossed)["kind"], "NVLink")
        self.assertNotEqual(self.distance("gpu0", "gpu1", crossed)["kind"], "NVLink")
        self.assertIsNone(self.distance("gpu0", "gpu1", crossed)["latency_ns"])

    def test_links_of_unknown_rate(self):
        file = DATA / "nccl-topo" / "rccl-mi50-8p6l.xml"
        for other in ("gpu1", "gpu4"):  # of the same NUMA node and of the other one
            d = self.distance("gpu0", other, file)
            self.assertEqual((d["kind"], d["links"], d["via"]), ("XGMI", 1, []))
            self.assertIsNone(d["gigabytes_per_second"])
        d = self.distance("gpu0", "gpu5", file)
        self.assertEqual(d["kind"], "between sockets or NUMA nodes")
        d = self.distance("gpu0", "gpu2", TOPO / "facts-4x3090-crossed-nvlink.txt")
        self.assertEqual((d["kind"], d["links"], d["gigabytes_per_second"]), ("NVLink", 1, None))

    def test_unknown_model(self):
        file = TOPO / "v100-dgx1-4nic.txt"
        for command in (("show",), ("check", "--json"), ("convert", "--to", "json"), ("bisect",)):
            run = topo(*command, "--model", "bogus", file)
            self.assert_code(run, UNREADABLE)
            self.assertEqual(run.stdout, "")
            self.assertIn("--model: found 'bogus', expected guess, or one of ", run.stderr)
            self.assertIn("h100-sxm5-80gb", run.stderr)
        for model in ("guess", "Tesla V100-SXM2-16GB", "v100-sxm2-16gb"):
            self.assert_code(topo("show", "--model", model, file), CLEAN)

    def test_between_machines(self):
        d = self.distance("node-0/gpu0", "node-40/gpu3", "preset:superpod-h100:su=2")
        self.assertEqual(d["kind"], "network")
        self.assertEqual(d["gigabytes_per_second"], 50)
        d = self.distance("node-0/gpu0", "node-1/gpu3", "preset:nvl72:racks=2")
        self.assertEqual(d["kind"], "NVLink domain")
        self.assertEqual(d["gigabytes_per_second"], 900)
        self.assert_code(topo("distance", "--cluster", "preset:nvl72:racks=2", "--", "gpu0", "gpu1"), UNREADABLE)

    def test_halves(self):
        run = topo("bisect", "--json", "--model", "v100-sxm2-16gb", TOPO / "v100-dgx1-4nic.txt")
        self.assert_code(run, CLEAN)
        self.assertGreater(json.loads(run.stdout)["gigabytes_per_second"], 0)
        run = topo("bisect", "--json", "preset:superpod-h100:su=2")
        self.assert_code(run, CLEAN)
        self.assertEqual(json.loads(run.stdout)["gigabytes_per_second"], 31 * 400)


class Convert(Case):
    def test_every_form(self):
        tree = SOURCE / "examples" / "data" / "topograph-tree.topology.conf"
        for form, word in (("slurm-tree", "SwitchName="), ("slurm-yaml", "tree:"), ("kueue", "kind: Topology"),
                           ("hypernodes", "kind: HyperNode"), ("graphviz", "graph G"), ("json", "berth_cluster")):
            with self.subTest(form):
                run = topo("convert", "--to", form, tree)
                self.assert_code(run, CLEAN)
                self.assertIn(word, run.stdout)
        blocks = SOURCE / "examples" / "data" / "azure-block-gb200.topology.conf"
        run = topo("convert", "--to", "slurm-block", blocks)
        self.assert_code(run, CLEAN)
        self.assertEqual(run.stdout.count("BlockName="), 4)

    def test_written_and_read_again_is_the_same(self):
        tree = SOURCE / "examples" / "data" / "azure-tree.topology.conf"
        first = self.shown(tree)
        with tempfile.TemporaryDirectory() as folder:
            for form in ("slurm-tree", "slurm-yaml", "kueue", "hypernodes", "json"):
                with self.subTest(form):
                    path = pathlib.Path(folder) / form
                    path.write_text(topo("convert", "--to", form, tree).stdout)
                    again = self.shown(path)
                    leaves = [sorted(sorted(d["nodes"]) for d in s["levels"][-1]["domains"]) for s in (first, again)]
                    self.assertEqual(leaves[0], leaves[1])
            path = pathlib.Path(folder) / "json"
            self.assertEqual(topo("convert", "--to", "json", path).stdout, path.read_text())

    def rewritten(self, folder, form, *files):
        """What a form says, and says again when it is read back; the levels of both."""
        path = pathlib.Path(folder) / "again"
        first = topo("convert", "--to", form, *files)
        self.assert_code(first, CLEAN)
        path.write_text(first.stdout)
        self.assertEqual(topo("convert", "--to", form, path).stdout, first.stdout)
        levels = [[(level["level"], [(d["name"], d["nodes"]) for d in level["domains"]])
                   for level in self.shown(*what)["levels"]] for what in (files, (path,))]
        return first.stdout, *levels

    def test_slurm_blocks_keep_their_names_and_sizes(self):
        with tempfile.TemporaryDirectory() as folder:
            source = pathlib.Path(folder) / "topology.conf"
            source.write_text("".join(f"BlockName=b{i} Nodes=gb[{18 * i - 17:03}-{18 * i:03}]\n" for i in range(1, 5)) +
                              "BlockSizes=18,36,72\n")
            for file in (source, DATA / "slurm" / "topograph-block.topology.conf"):
                for form in ("slurm-block", "slurm-yaml", "json"):
                    with self.subTest(f"{file.name} {form}"):
                        text, before, after = self.rewritten(folder, form, file)
                        self.assertEqual(before, after)
                        self.assertEqual(text.count("topology:"), 1 if form == "slurm-yaml" else 0)
            self.assertEqual(topo("convert", "--to", "slurm-block", source).stdout, source.read_text())
            saved = pathlib.Path(folder) / "site.json"
            saved.write_text(topo("convert", "--to", "json", source).stdout)
            self.assertEqual(topo("convert", "--to", "slurm-block", saved).stdout, source.read_text())
            # Blocks beside a tree; blocks as switches.
            both, before, after = self.rewritten(folder, "slurm-yaml", DATA / "slurm" / "slinky.topology.yaml")
            self.assertEqual(before, after)
            for words in ("sw_root", 'block: "b1"', 'block: "b2"', "block_sizes:\n      - 2\n      - 4\n"):
                self.assertIn(words, both)
            switches, _, _ = self.rewritten(folder, "slurm-tree", source)
            self.assertIn("SwitchName=b1...b4 Switches=", switches)

    def test_nvlink_domains_are_no_switches_whatever_a_site_calls_them(self):
        node = ("apiVersion: v1\nkind: Node\nmetadata: {{name: n{0}, labels: {{topology.kubernetes.io/rack: r{1}{2}}}}}\n"
                "status: {{allocatable: {{nvidia.com/gpu: 4}}}}\n")
        topology = ("apiVersion: kueue.x-k8s.io/v1beta1\nkind: Topology\nmetadata: {name: t}\n"
                    "spec: {levels: [{nodeLabel: topology.kubernetes.io/rack}]}\n")
        for label in ("nvidia.com/gpu.clique", "ds.coreweave.com/nvlink.domain"):
            with self.subTest(label), tempfile.TemporaryDirectory() as folder:
                path = pathlib.Path(folder) / "nodes.yaml"
                cliques = [f", {label}: nvl{i // 2}" if i < 4 else "" for i in range(6)]
                path.write_text("---\n".join([topology] + [node.format(i, i // 2, c) for i, c in enumerate(cliques)]))
                model = ("--model", "b200-sxm-180gb", path)
                run = topo("convert", "--to", "slurm-tree", *model)
                self.assert_code(run, CLEAN)
                self.assertEqual(run.stdout, "".join(f"SwitchName=r{i} Nodes=n[{2 * i}-{2 * i + 1}]\n" for i in range(3)) +
                                 "SwitchName=cluster Switches=r[0-2]\n")
                run = topo("convert", "--to", "slurm-block", *model)
                self.assert_code(run, CLEAN)
                self.assertEqual(run.stdout, "".join(f"BlockName=nvl{i} Nodes=n[{2 * i}-{2 * i + 1}]\n" for i in range(2)))

    def test_a_slurm_tree_of_a_fabric_hangs_under_one_switch(self):
        with tempfile.TemporaryDirectory() as folder:
            for file in ("preset:superpod-h100:su=2", DATA / "infiniband" / "dgx-superpod-ndr.ibnetdiscover"):
                for form in ("slurm-tree", "slurm-yaml"):
                    with self.subTest(f"{file} {form}"):
                        text, before, after = self.rewritten(folder, form, file)
                        self.assertEqual(before, after)
                        self.assertIn("SwitchName=cluster Switches=" if form == "slurm-tree" else 'switch: "cluster"', text)


if __name__ == "__main__":
    topo.test()
