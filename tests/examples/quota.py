#!/usr/bin/env python3
"""berth-quota from end to end: the contract for scripts, the text, the drawing, and what is wrong with a file."""

import json
import xml.etree.ElementTree as xml

from program import SOURCE, Folder, Program

DATA = SOURCE / "tests" / "quota" / "data"
FINE, BAD_INPUT = 0, 2
quota = Program("BERTH_QUOTA")

# A cohort of 48 GPUs: research lends at most 16 of its 32, serving borrows at most 8.
TREE = {"schema": "berth-queues/1", "rule": "cohort", "policy": "kueue-cohort",
        "resources": [{"name": "gpu", "pool": "h100"}, {"name": "cpu"}],
        "queues": [{"name": "all"},
                   {"name": "research", "parent": "all", "weight": 2,
                    "quota": {"h100/gpu": {"guarantee": 32, "lending_limit": 16}, "cpu": {"guarantee": 100}}},
                   {"name": "serving", "parent": "all",
                    "quota": {"h100/gpu": {"guarantee": 16, "borrowing_limit": 8}, "cpu": {"guarantee": 300}}}]}
USAGE = {"schema": "berth-usage/1",
         "usage": {"research": {"h100/gpu": 10, "cpu": 100}, "serving": {"h100/gpu": 20}},
         "demand": {"research": {"h100/gpu": 12}, "serving": {"h100/gpu": 40}}}



class Case(Folder):
    def queues(self, *args):
        """The queues of the JSON answer by name; every number of the contract is there for every resource."""
        run = quota(*args, "--json")
        self.assert_code(run, FINE)
        answer = json.loads(run.stdout)
        self.assertEqual(answer["schema"], "berth-quota/1")
        for q in answer["queues"]:
            self.assertIn("dominant_share", q)
            for one in q["resources"].values():
                for key in ("guarantee", "share", "usage", "may_borrow", "dominant_share"):
                    self.assertIn(key, one)
        return {q["name"]: q for q in answer["queues"]}

    def bad(self, *args, says=()):
        run = quota(*args)
        self.assert_code(run, BAD_INPUT)
        self.assertEqual(run.stdout, "")
        self.assertEqual(run.stderr.count("\n"), 1, run.stderr)
        for words in ("found", "expected", *says):
            self.assertIn(words, run.stderr)
        return run.stderr


class Answers(Case):
    def test_numbers_of_every_queue_and_resource(self):
        q = self.queues(self.file("tree.json", TREE), "--usage", self.file("usage.json", USAGE))
        self.assertEqual(list(q), ["all", "research", "serving"])
        self.assertEqual(q["serving"]["parent"], "all")
        gpu = {name: one["resources"]["h100/gpu"] for name, one in q.items()}
        # research keeps 16 for itself; all have 16 of it and 16 of serving.
        self.assertEqual(gpu["all"]["guarantee"], 32)
        # Of its own 22 idle, serving has borrowed 4: 18 are left, and nothing beyond them.
        self.assertEqual(gpu["research"], {"guarantee": 32, "share": 12, "usage": 10, "may_borrow": 0,
                                           "dominant_share": 0.0, "cap": None, "from": []})
        # It wants 40 and may have its own 16 and 8 more; 4 of them it borrows already.
        self.assertEqual(gpu["serving"]["share"], 24)
        self.assertEqual(gpu["serving"]["usage"], 20)
        self.assertEqual(gpu["serving"]["may_borrow"], 4)
        self.assertEqual(gpu["serving"]["from"], [{"queue": "research", "idle": 16}])
        # Borrowed 4 of the 32 that the cohort could lend.
        self.assertAlmostEqual(gpu["serving"]["dominant_share"], 4 / 32)
        self.assertAlmostEqual(q["serving"]["dominant_share"], 4 / 32)
        self.assertEqual(q["serving"]["dominant_resource"], "gpu")
        self.assertEqual(q["research"]["dominant_share"], 0)
        self.assertEqual(q["research"]["weight"], 2)
        self.assertEqual(q["research"]["resources"]["cpu"]["may_borrow"], 300)

    def test_without_usage_everybody_wants_all_and_borrows_by_weight(self):
        tree = {"schema": "berth-queues/1", "resources": [{"name": "gpu"}],
                "queues": [{"name": "all", "quota": {"gpu": {"guarantee": 30}}},
                           {"name": "a", "parent": "all", "weight": 2, "quota": {"gpu": {"guarantee": 3}}},
                           {"name": "b", "parent": "all", "quota": {"gpu": {"guarantee": 3}}}]}
        q = self.queues(self.file("t.json", tree), "--policy", "kueue-cohort")
        self.assertEqual([q[n]["resources"]["gpu"]["share"] for n in ("all", "a", "b")], [36, 23, 13])
        q = self.queues(self.file("t.json", tree), "--policy", "head-room")
        self.assertLess(q["a"]["resources"]["gpu"]["share"], 23)

    def test_weight_0_that_borrows_is_infinite(self):
        tree = {"schema": "berth-queues/1", "resources": [{"name": "gpu"}],
                "queues": [{"name": "all", "quota": {"gpu": {"guarantee": 8}}},
                           {"name": "x", "parent": "all", "weight": 0}]}
        q = self.queues(self.file("t.json", tree), "--usage",
                        self.file("u.json", {"schema": "berth-usage/1", "usage": {"x": {"gpu": 8}}}))
        self.assertEqual(q["x"]["dominant_share"], "infinite")

    def test_text_says_who_may_borrow_what_from_whom(self):
        run = quota(self.file("tree.json", TREE), "--usage", self.file("usage.json", USAGE))
        self.assert_code(run, FINE)
        lines = run.stdout.splitlines()
        self.assertTrue(lines[0].endswith("tree.json: 3 queues of berth, divided by kueue-cohort"))
        row = next(l for l in lines if l.startswith("  serving "))
        self.assertEqual(row.split(), ["serving", "16", "24", "20", "4", "0.125"])
        self.assertIn("  serving up to 4 h100/gpu from research (16 idle)", lines)
        self.assertIn("  research up to 300 cpu from serving (300 idle)", lines)

    def test_of_thousands_of_queues_only_the_nearest_lenders_are_listed(self):
        n = 2000
        tree = dict(TREE, queues=[{"name": "all"}] + [
            {"name": f"q{i}", "parent": "all", "quota": {"h100/gpu": {"guarantee": 1}}} for i in range(n)])
        name = self.file("t.json", json.dumps(tree))
        usage = self.file("u.json", json.dumps({"schema": "berth-usage/1"}))
        gpu = self.queues(name, "--usage", usage)["q7"]["resources"]["h100/gpu"]
        self.assertEqual(gpu["may_borrow"], n - 1)
        self.assertLess(len(gpu["from"]), 100)
        self.assertEqual(gpu["from"][0], {"queue": "q0", "idle": 1})
        self.assertEqual(len(gpu["from"]) + gpu["from_more"], n - 1)
        self.assertIn(f", and {gpu['from_more']} more\n", quota(name, "--usage", usage).stdout)

    def test_the_tree_is_drawn(self):
        out = self.path("tree.svg")
        run = quota(self.file("tree.json", TREE), "--usage", self.file("usage.json", USAGE), "--svg", out)
        self.assert_code(run, FINE)
        text = out.read_text(encoding="utf-8")
        root = xml.fromstring(text)
        self.assertEqual(root.tag, "{http://www.w3.org/2000/svg}svg")
        words = "".join(root.itertext())
        for name in TREE["queues"]:
            self.assertIn(name["name"], words)
        self.assertIn("guarantee 16, used 20, share 24, may borrow 4", words)
        self.bad(self.file("tree.json", TREE), "--svg", self.path("none") / "tree.svg", says=("--svg",))

    def test_policies_are_listed(self):
        run = quota("--list-policies")
        self.assert_code(run, FINE)
        names = run.stdout.split()
        self.assertIn("volcano-capacity", names)
        for name in names:
            self.queues(self.file("tree.json", TREE), "--policy", name)


class Files(Case):
    def test_kueue(self):
        q = self.queues(DATA / "kueue-cluster-queues.yaml")
        cpu = q["emergency-cluster-queue"]["resources"]["default-flavor/cpu"]
        self.assertEqual((cpu["guarantee"], cpu["share"], cpu["may_borrow"]), (1000, 1000, 600))
        self.assertEqual([f["queue"] for f in cpu["from"]], ["agi-cluster-queue", "llm-cluster-queue"])
        self.assertEqual(len(self.queues(DATA / "kueue-cohorts.yaml")), 5)
        run = quota(DATA / "kueue-cohorts.yaml")
        self.assertIn("organization", run.stdout)

    def test_yunikorn(self):
        q = self.queues(DATA / "yunikorn-queues.yaml", "--capacity", "vcore=200000,memory=2000000000000")
        vcore = q["root.search"]["resources"]["vcore"]
        self.assertEqual(vcore["guarantee"], 40000)
        self.assertEqual(vcore["cap"], 60000)
        self.assertEqual(vcore["share"], 60000)
        self.assertIn({"queue": "root.advertisement", "idle": 50000}, vcore["from"])
        self.assertEqual(len(self.queues(DATA / "yunikorn-priority.yaml")), 8)

    def test_kai_and_volcano(self):
        q = self.queues(DATA / "kai-oscillation-queues.yaml", "--capacity", "gpu=16000")
        self.assertEqual(q["training-department"]["resources"]["gpu"]["share"], 16000)
        q = self.queues(DATA / "volcano-hierarchical-queues.yaml")
        self.assertEqual(q["root-eng-dev"]["parent"], "root/eng")
        self.assertEqual(q["root/sci"]["weight"], 8)
        self.assertEqual(q["root-sci-prod"]["weight"], 8)

    def test_units_are_said(self):
        run = quota(DATA / "kai-oscillation-queues.yaml", "--json")
        self.assertEqual(json.loads(run.stdout)["units"], {"gpu": "thousandths", "cpu": "thousandths", "memory": "bytes"})
        heads = [l for l in quota(DATA / "kai-oscillation-queues.yaml").stdout.splitlines() if "may borrow  " in l]
        self.assertTrue(heads[0].startswith("gpu (thousandths)  "), heads)
        self.assertEqual(json.loads(quota(self.file("tree.json", TREE), "--json").stdout)["units"], {})

    def test_yarn(self):
        q = self.queues(SOURCE / "tests/io/data/inputs/other-schedulers/yarn-capacity-scheduler.xml",
                        "--capacity", "gpu=3,vcores=60,memory=0")
        gpu = {name: one["resources"]["gpu"] for name, one in q.items()}
        self.assertEqual([gpu[n]["guarantee"] for n in ("root", "root.default", "root.dev")], [2, 1, 1])
        self.assertEqual(sorted(gpu[n]["share"] for n in ("root.default", "root.dev")), [1, 2])
        self.assertEqual(gpu["root.dev"]["cap"], 2)

    def test_slurm(self):
        dump = ("Cluster|Account|User|Partition|Share|GrpTRES|\nsite|root|||1||\nsite| physics|||30|gres/gpu=8|\n"
                "site|  physics|ann||1||\nsite| bio|||70||\nsite|  bio|bob||1||\nsite|  bio|cat||3||\n")
        q = self.queues(self.file("assoc.txt", dump), "--capacity", "gres/gpu=40")
        self.assertEqual(q["physics"]["resources"]["gres/gpu"]["share"], 12)
        self.assertEqual(q["physics"]["resources"]["gres/gpu"]["cap"], 8)
        self.assertEqual([q["bio/bob"]["resources"]["gres/gpu"]["share"], q["bio/cat"]["resources"]["gres/gpu"]["share"]],
                         [7, 21])
        self.assertIn("fair_share", q["physics/ann"])
        run = quota(self.path("assoc.txt"))
        self.assertIn("fair tree (1 goes first)", run.stdout)


class BadInput(Case):
    def test_faults_name_file_line_and_queue(self):
        def tree(queue):
            return self.file("t.json", '{"schema": "berth-queues/1", "resources": [{"name": "gpu"}],\n'
                                       ' "queues": [{"name": "r"},\n  ' + queue + "]}")
        for queue, says in [
                ('{"name": "a", "parent": "x"}', "t.json:3: found unknown parent 'x' at queue 'a'"),
                ('{"name": "r", "parent": "q"}', "t.json:3: found two parents, '' and 'q', at queue 'r'"),
                ('{"name": "a", "parent": "a"}', "t.json:3: found a cycle of parents at queue 'a'"),
                ('{"name": "a", "quota": {"gpu": {"guarantee": -1}}}', "t.json:3: found guarantee of gpu of queue 'a': -1"),
                ('{"name": "a", "quota": {"gpu": {"guarantee": 9e18}}}', "t.json:3: found guarantee of gpu of queue 'a'"),
                ('{"name": "a", "quota": {"tpu": {}}}', "t.json:3: found unknown resource 'tpu' of queue 'a'")]:
            self.bad(tree(queue), says=(says,))
        self.bad(self.path("none.yaml"), says=("none.yaml",))
        self.bad(self.file("x.yaml", "kind: Pod\n"), says=("x.yaml", "no queues"))
        self.bad(says=("no file of queues",))
        self.bad(self.file("tree.json", TREE), "--policy", "lottery", says=("'lottery'", "--list-policies"))
        self.bad(self.file("tree.json", TREE), "--capacity", "tpu=4", says=("unknown resource 'tpu'",))
        self.bad(self.file("tree.json", TREE), "--capacity", "cpu=4,cpu=5", says=("'cpu=5'", "every resource once"))
        self.bad(self.file("tree.json", TREE), "--capacity", "cpu=4,", says=("--capacity: found ''",))
        self.bad(self.file("tree.json", TREE), "--nonsense")

    def test_faults_of_other_systems(self):
        head = "partitions:\n- name: default\n  queues:\n  - name: root\n    queues:\n    - name: a\n"
        self.bad(self.file("y.yaml", head + "      resources: {guaranteed: {gpu: 4}}\n"
                                            "      queues: [{name: b, resources: {guaranteed: {gpu: 5}}}]\n"),
                 says=("y.yaml:6: found children that are guaranteed 5 of gpu at queue 'root.a'",))
        self.bad(self.file("v.yaml", "apiVersion: scheduling.volcano.sh/v1beta1\nkind: Queue\nmetadata: {name: a}\n"
                                     "spec: {weight: 0}\n"), says=("v.yaml:4: found weight: 0 of queue 'a'",))

    def test_faults_of_usage(self):
        tree = self.file("tree.json", TREE)
        self.bad(tree, "--usage", self.file("u.json", '{"schema": "berth-usage/1",\n "usage": {"ops": {}}}'),
                 says=("u.json:2: found unknown queue 'ops'",))
        self.bad(tree, "--usage", self.file("u.json", '{"schema": "berth-usage/1",\n "usage":\n {"all": {"gpu": 1}}}'),
                 says=("u.json:3: found unknown resource 'gpu' of queue 'all'",))
        self.bad(tree, "--usage", self.path("none.json"), says=("none.json",))


if __name__ == "__main__":
    quota.test()
