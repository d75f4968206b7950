#!/usr/bin/env python3
"""berth-mig from end to end: the contract for scripts, plans, advice, and what bad input says."""

import json
import xml.dom.minidom

from program import Folder, Program

FINE, LEFT_OUT, BAD_INPUT = range(3)
mig = Program("BERTH_MIG")
H100 = ("--product", "NVIDIA H100 80GB HBM3")
SCATTERED = {"instances": [{"profile": "1g.10gb", "start": s, "job": s + 1, "lost_s": 5, "drain": True} for s in (0, 1, 5)]}



class Case(Folder):
    def gpus(self, *gpus):
        return self.file("gpus.json", {"berth_mig_gpus": 1, "gpus": list(gpus)})

    def run_ok(self, *args, code=FINE):
        run = mig(*args)
        self.assert_code(run, code)
        self.assertEqual(run.stderr, "")
        return run.stdout

    def assert_bad(self, *args, says):
        run = mig(*args)
        self.assert_code(run, BAD_INPUT)
        self.assertEqual(run.stdout, "")
        self.assertEqual(run.stderr.count("\n"), 1)
        for part in (says,) if isinstance(says, str) else says:
            self.assertIn(part, run.stderr)


class Pack(Case):
    def test_the_contract_for_scripts(self):
        p = json.loads(self.run_ok("pack", "--product", "a100-40gb", "--demand", "1g.5gb=9,3g.20gb=3", "--json"))
        self.assertEqual((p["gpus"], p["lower_bound"]), (3, 3))
        held = [i["profile"] for l in p["layouts"] for i in l["instances"] * l["gpus"]]
        self.assertEqual((held.count("1g.5gb"), held.count("3g.20gb")), (9, 3))

    def test_bad_input(self):
        self.assert_bad("pack", *H100, "--demand", "1g.5gb=2", says=("1g.5gb", "a profile of a100-40gb"))
        self.assert_bad("pack", *H100, "--demand", "1g.10gb", says="'1g.10gb'")
        self.assert_bad("pack", *H100, "--demand", "1g.10gb=1,", says="--demand: found ''")
        self.assert_bad("pack", *H100, "--demand", "", says="--demand: found ''")
        self.assert_bad(says=("no command", "pack, layouts"))
        self.assert_bad("pak", says="pak")
        self.assert_bad("pack", *H100, "--demand", "1c.3g.40gb=1", says="a part of an instance")
        self.assert_bad("pack", *H100, "--demand", "whole=1", says="whole")
        self.assert_bad("pack", "--product", "v100", "--demand", "1g.10gb=1", says="v100")
        self.assert_bad("pack", "--product", "h200", "--demand", "1g.18gb=1", says="inferred")


class Plan(Case):
    def plan(self, *args, code=FINE):
        return json.loads(self.run_ok("plan", *H100, "--json", *args, code=code))

    def test_the_cheapest_of_three_goes(self):
        p = self.plan("--state", self.gpus(SCATTERED), "--need", "3g.40gb=1")
        self.assertEqual([(s["step"], s["start"]) for s in p["steps"]], [("drain", 5), ("destroy", 5), ("create", 4)])
        self.assertEqual(p["steps"][0]["job"], 6)
        self.assertEqual(p["slice_seconds"], 5 + 30 + 60 + 1 + 3 * 2)
        self.assertTrue(p["optimal"])

    def test_waiting_can_be_cheaper(self):
        p = self.plan("--state", self.gpus(SCATTERED), "--need", "3g.40gb=1", "--wait", "10", code=LEFT_OUT)
        self.assertEqual((p["steps"], p["waiting_slice_seconds"]), ([], 30))
        self.assertEqual(p["unserved"], {"3g.40gb": 1})
        self.assertIn("Nothing to do", self.run_ok("plan", *H100, "--state", self.gpus(SCATTERED), "--need", "1g.10gb=0"))

    def test_modes_targets_costs_and_copies(self):
        p = self.plan("--state", self.gpus({"mode": "off", "copies": 2}), "--need", "7g.80gb=1,whole=1")
        self.assertEqual([s["step"] for s in p["steps"]], ["mig-on", "create"])
        p = self.plan("--state", self.gpus({"mode": "off"}), "--need", "7g.80gb=1", "--costs", "toggle=5,create=0")
        self.assertEqual(p["slice_seconds"], 35)
        whole = {"mode": "whole", "job": 9, "lost_s": 1, "drain": True}
        p = self.plan("--state", self.gpus(whole), "--need", "1g.10gb=7")
        self.assertEqual([s["step"] for s in p["steps"]], ["drain", "mig-on"] + ["create"] * 7)
        p = self.plan("--state", self.gpus(SCATTERED), "--target", "1g.10gb=4")
        self.assertEqual(len(p["steps"]), 1)

    def test_what_nvidia_smi_lists(self):
        row = "|   %d  MIG %-13s   %3d       %2d          %s     |\n"
        head = ("+----+\n| GPU instances:      |\n| GPU   Name  Profile  Instance   Placement  |\n"
                "|    ID       ID       Start:Size |\n|====|\n")
        listed = head + row % (0, "1g.10gb", 19, 7, "0:1") + "+----+\n" + row % (0, "1g.10gb+me", 20, 8, "5:1")
        p = self.plan("--state", self.file("lgi.txt", listed), "--need", "3g.40gb=1", code=LEFT_OUT)
        self.assertEqual(p["steps"], [])  # both halves are touched, and nobody may be drained
        p = self.plan("--state", self.file("lgi.txt", listed + row % (1, "7g.80gb", 0, 0, "0:8")), "--need", "2g.20gb=1")
        self.assertEqual((p["steps"][0]["gpu"], p["steps"][0]["start"]), (0, 2))

        def bad(more, *says):
            self.assert_bad("plan", *H100, "--need", "1g.10gb=1", "--state", self.file("lgi.txt", listed + more), says=says)
        bad(row % (0, "2g.20gb", 19, 9, "2:2"), "lgi.txt:9", "profile id 19", "14")
        bad(row % (0, "2g.20gb", 14, 9, "2:8"), "8 placement units")
        bad(row % (0, "2g.20gb", 14, 9, "0:2"), "beside the rows before it")
        bad(row % (0, "1g.10gb", 19, 9, "0:1"), "beside the rows before it")
        bad(row % (0, "2g.20gb", 14, 9, "1:2"), "0 2 4")
        bad(row % (0, "2g.10gb", 14, 9, "2:2"), "a profile of a100-40gb")
        bad("| something else |\n", "a row such as")

    def test_text_and_drawing(self):
        svg = self.path("plan.svg")
        text = self.run_ok("plan", *H100, "--state", self.gpus(SCATTERED), "--need", "3g.40gb=1", "--svg", svg)
        self.assertIn("drain    job 6 from 1g.10gb@5", text)
        self.assertIn("[1g ][1g ]..........[3g.40gb           ]", text)
        self.assertIn("0 after", xml.dom.minidom.parse(str(svg)).toxml())

    def test_bad_input(self):
        state = self.gpus(SCATTERED)
        bad = lambda text, says: self.assert_bad(  # noqa: E731
            "plan", *H100, "--need", "1g.10gb=1", "--state", self.file("bad.json", text), says=says)
        one = '{"berth_mig_gpus": 1, "gpus": [\n%s]}'
        bad(one % '{"instances": [{"profile": "3g.40gb", "start": 1}]}', ("bad.json:2", "3g.40gb@1", "0 4"))
        bad(one % '{"instances": [{"profile": "4g.40gb", "start": 0}, {"profile": "3g.40gb", "start": 0}]}', "beside")
        bad(one % '{"instances": [{"profile": "1g.5gb", "start": 0}]}', "a profile of a100-40gb")
        bad(one % '{"instances": [{"profile": "1g.10gb", "start": 0, "lost_s": 5}]}', '"job"')
        bad(one % '{"mode": "off", "instances": [{"profile": "1g.10gb", "start": 0}]}', "mode off")
        bad(one % '{"mode": "half"}', "'half'")
        bad(one % '{"job": 3}', "mode on")
        bad(one % '{"copies": 16384}, {}', "16384")
        bad('{"gpus": []}', "berth_mig_gpus")
        bad("", "bad.json")
        self.assert_bad("plan", *H100, "--state", state, says="--need")
        self.assert_bad("plan", *H100, "--state", state, "--need", "1g.10gb=1", "--target", "1g.10gb=1", says="--target")
        self.assert_bad("plan", *H100, "--state", "/no/such", "--need", "1g.10gb=1", says="/no/such")
        self.assert_bad("plan", *H100, "--state", state, "--need", "1g.10gb=1", "--costs", "walk=1", says="'walk'")
        self.assert_bad("plan", *H100, "--state", state, "--need", "1g.10gb=20000", says="20000")
        need = ("plan", *H100, "--state", state, "--need", "1g.10gb=1")
        for wait in ("nan", "-1", "inf", "1e9"):
            self.assert_bad(*need, "--wait", wait, says=("--wait: found", "seconds from 0 to 10^7"))
        self.assert_bad(*need, "--svg", "/no/such/plan.svg", says="--svg")
        self.assert_bad("layouts", *H100, "--svg", "/no/such/plan.svg", says="--svg")


class Advise(Case):
    def test_requests(self):
        def use(*args):
            return json.loads(self.run_ok("advise", *H100, "--json", *args))
        a = use("--kind", "online-inference", "--latency", "strict", "--memory", 9000, "--utilisation", 10)
        self.assertEqual((a["use"], a["profile"], a["rule"]), ("mig-small", "1g.10gb", "strict latency, small"))
        self.assertEqual(use("--kind", "training", "--gpus", 8)["use"], "whole-gpu")
        self.assertEqual(use("--kind", "development", "--memory", 10000)["sharers"], 8)
        self.assertEqual(use("--kind", "development", "--memory", 10)["sharers"], 1000)  # of time-slicing

    def test_own_rules(self):
        rules = json.loads(self.run_ok("advise", "--print-rules"))
        rules["rules"] = [r for r in rules["rules"] if r["name"] == "all else"]
        path = self.file("rules.json", rules)
        a = json.loads(self.run_ok("advise", *H100, "--rules", path, "--kind", "development", "--memory", 1000, "--json"))
        self.assertEqual(a["use"], "whole-gpu")
        self.assert_bad("advise", *H100, "--rules", self.file("r.json", '{"berth_kind_rules": 1, "rules": [{}]}'),
                        "--kind", "training", says="r.json:1")

    def test_jobs_that_use_little(self):
        seen = ("advise", *H100, "--peak-memory", 6000, "--hours", 48)
        a = json.loads(self.run_ok(*seen, "--peak-compute", 10, "--json"))["advice"]
        self.assertEqual((a["profile"], a["slices_now"], a["slices_then"]), ("1g.10gb", 7, 1))
        self.assertIn("--peak-compute", self.run_ok(*seen))
        self.assertIn("links", self.run_ok(*seen, "--peak-compute", 10, "--linked"))

    def test_bad_input(self):
        self.assert_bad("advise", *H100, says="--kind")
        self.assert_bad("advise", *H100, "--kind", "training", "--peak-compute", 5, says=("--peak-compute", "--kind"))
        self.assert_bad("advise", *H100, "--peak-memory", 100, "--latency", "strict", says=("--latency", "--kind"))
        self.assert_bad("advise", *H100, "--kind", "mining", says=("'mining'", "training"))
        self.assert_bad("advise", *H100, "--kind", "training", "--latency", "fast", says="'fast'")
        self.assert_bad("advise", *H100, "--kind", "training", "--memory", 200000, says="larger than the GPU")
        self.assert_bad("advise", *H100, "--peak-memory", 200000, "--peak-compute", 1, says="200000")
        self.assert_bad("advise", "--kind", "training", says="--gpu-memory")
        self.assert_bad("advise", *H100, "--kind", "training", "--cuda", "new", says="'new'")


if __name__ == "__main__":
    mig.test()
