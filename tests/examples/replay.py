#!/usr/bin/env python3
"""berth-replay from end to end: the contract for scripts, every policy by name, shares by GPU type, and what bad input says."""

import json

from program import SOURCE, Folder, Program

FINE, BAD_INPUT = 0, 2
replay = Program("BERTH_REPLAY")
DATA = SOURCE / "examples" / "data"
NODES = DATA / "openb" / "openb_node_list_gpu_node.csv"
PODS = DATA / "openb" / "openb_pod_list_default.csv"
RATES = DATA / "gavel" / "throughput_steps_per_s.csv"
JOBS = DATA / "gavel" / "physical_max_min_fairness.csv"
HEADER = "name,cpu_milli,memory_mib,num_gpu,gpu_milli"
POLICIES = """berth fgd fgd_exact best_fit_published dot_product_published gpu_packing_published gpu_clustering_published best_fit worst_fit first_fit dot_product gpu_packing gpu_clustering power power_fgd scarcity
              keep_whole right_size ratio most_allocated least_allocated balanced requested_to_capacity""".split()



class Case(Folder):
    def run_ok(self, *args):
        run = replay(*args)
        self.assert_code(run, FINE)
        return run

    def assert_bad(self, *args, says):
        run = replay(*args)
        self.assert_code(run, BAD_INPUT)
        self.assertEqual(run.stdout, "")
        self.assertIn("expected", run.stderr.splitlines()[-1])
        for part in (says,) if isinstance(says, str) else says:
            self.assertIn(part, run.stderr)


class Openb(Case):
    def pods(self, text):
        return ("openb", "--nodes", NODES, "--pods", self.file("pods.csv", text), "--policy", "first_fit", "--seeds",
                "42..42", "--load", "0.01")

    def test_every_policy_by_name_keeps_the_contract_for_scripts(self):
        out, page = self.path("out.json"), self.path("out.html")
        self.run_ok("openb", "--nodes", NODES, "--pods", PODS, "--policy", ",".join(POLICIES), "--seeds", "42..42", "--load",
                    "0.1", "--json", out, "--html", page)
        runs = json.loads(out.read_text())["runs"]
        self.assertEqual([r["policy"] for r in runs], POLICIES)
        for r in runs:
            self.assertEqual((r["pods"], r["seed"]), ("openb_pod_list_default", 42))
            self.assertLess(r["refused"], 20)
            for member in ("allocated_percent", "fragmentation_percent", "watts"):
                self.assertEqual(list(r[member]), ["90", "100", "130"])
                self.assertEqual(set(r[member].values()), {None})  # the run ends at 10
            self.assertEqual(list(r["decision_ns"]), ["p50", "p99"])
        self.run_ok("openb", "--nodes", NODES, "--pods", PODS, "--policy", "power,best_fit,gpu_packing", "--seeds", "42", "--load", "0.92", "--json", out)
        runs = json.loads(out.read_text())["runs"]
        for r in runs:
            self.assertAlmostEqual(r["allocated_percent"]["90"], 90, delta=3)
            self.assertIsNone(r["allocated_percent"]["100"])
            self.assertGreater(r["watts"]["90"], 200_000)  # idle: 6,212 GPUs and their CPUs
        watts = {r["policy"]: r["watts"]["90"] for r in runs}
        self.assertEqual(min(watts, key=watts.get), "power")
        self.assertIn("kW at 100 %", page.read_text())
        listed = self.run_ok("openb", "--help").stdout
        self.assertEqual(sorted(line.split()[0] for line in listed.split("Policies:\n")[1].splitlines() if line), sorted(POLICIES))

    def test_columns_are_found_by_their_header_and_some_are_optional(self):
        run = self.run_ok(*self.pods("num_gpu,qos,gpu_milli,name,memory_mib,cpu_milli\n1,LS,500,a,1,1\n"))
        self.assertEqual(run.stderr.count("gpu_spec"), 1)
        run = self.run_ok(*self.pods(HEADER + ",gpu_spec\na,1,1,1,500,T4|G2\n"))
        self.assertEqual(run.stderr, "")

    def test_tasks_that_can_never_be_placed_are_counted_with_their_line(self):
        run = self.run_ok(*self.pods(HEADER + ",gpu_spec\na,1,1,1,500,\nb,1,1,1,500,H100\nc,999999,1,1,500,\n"))
        self.assertIn("2 tasks can never be placed", run.stderr)
        self.assertIn("pods.csv:3: b: no node has GPUs of type 'H100'", run.stderr)
        run = self.run_ok(*self.pods(HEADER + ",gpu_spec\na,1,1,2,300,T4|H100\n"))
        self.assertIn("pods.csv:2: a: several GPUs count as whole ones, not as 300", run.stderr)

    def test_bad_lists(self):
        for text, says in (("", "no line"), (" \n", "no column 'name'"), ("name,cpu_milli,memory_mib,num_gpu\na,1,1,1\n", "pods.csv:1: found no column 'gpu_milli'"),
                           (HEADER + "\na,-1,1,1,500\n", "pods.csv:2: found cpu_milli '-1'"),
                           (HEADER + "\na,1,many,1,500\n", "pods.csv:2: found memory_mib 'many'"),
                           (HEADER + "\na,1,1,1,500\nb,1,1,0,500\n", "pods.csv:3: found num_gpu 0 with gpu_milli 500"),
                           (HEADER + "\na,1,1,1,1001\n", "pods.csv:2: found gpu_milli '1001'"),
                           (HEADER + "\na,1,1,1,5\na,1,1,1,5\n", "first on line 2"),
                           (HEADER + "\n", "found no task")):
            with self.subTest(text):
                self.assert_bad(*self.pods(text), says=says)
        nodes = self.file("nodes.csv", "sn,cpu_milli,memory_mib,gpu,model\na,96000,400000,8,X9\n")
        self.assert_bad("openb", "--nodes", nodes, "--pods", PODS, "--policy", "power", says=("GPU type 'X9'", "policy power"))
        run = self.run_ok("openb", "--nodes", nodes, "--pods", PODS, "--policy", "first_fit", "--seeds", "1..1")
        self.assertIn("nothing is known of GPU type 'X9': no watts", run.stderr)

    def test_bad_arguments(self):
        lists = ("openb", "--nodes", NODES, "--pods", PODS)
        self.assert_bad(*lists, "--policy", "best", says=("found 'best'", "best_fit"))
        self.assert_bad(*lists, "--seeds", "51..42", says="found '51..42'")
        for load in ("nan", "inf", "-1", "0", "1e1", "x"):
            self.assert_bad(*lists, "--load", load, says="--load")
        self.assert_bad(*lists, "--ties", "x", says="--ties")
        self.assert_bad(*lists, "--json", "/nonexistent/out.json", says="/nonexistent/out.json")
        self.assert_bad("openb", "--nodes", "/nonexistent", "--pods", PODS, says="/nonexistent")
        self.assert_bad("openb", "--nodes", PODS, "--pods", PODS, says="no column 'sn'")


class Gavel(Case):
    CLUSTER = ("--gpus", "v100=8,p100=16,k80=24")

    def test_shares_of_the_published_jobs(self):
        out = self.path("out.json")
        run = self.run_ok("gavel", "--table", RATES, "--jobs", JOBS, *self.CLUSTER, "--json", out)
        answer = json.loads(out.read_text())
        used = dict.fromkeys(("k80", "p100", "v100"), 0.0)
        self.assertEqual(sum(j["jobs"] for j in answer["jobs"]), 96)
        for j in answer["jobs"]:
            self.assertLessEqual(sum(j["shares"].values()), 1 + 1e-9)
            for t, share in j["shares"].items():
                used[t] += share * j["jobs"] * j["gpus"]
            # Fair in GPUs: everybody has the same gain times its GPUs.
            self.assertAlmostEqual(j["of_equal_shares"] * j["gpus"], 1.990, delta=0.002)
            self.assertAlmostEqual(j["of_equal_shares_in_rounds"], j["of_equal_shares"], delta=0.05)
        for t, most in (("k80", 24), ("p100", 16), ("v100", 8)):
            self.assertAlmostEqual(used[t], most, places=5)
        self.assertIn("max_min: 96 jobs", run.stdout)
        by_job = self.path("by_job.json")
        self.run_ok("gavel", "--table", RATES, "--jobs", JOBS, *self.CLUSTER, "--by-job", "--json", by_job)
        for j in json.loads(by_job.read_text())["jobs"]:
            self.assertGreaterEqual(j["of_equal_shares"], 1 - 1e-9)  # nobody loses by sharing
        self.run_ok("gavel", "--table", RATES, "--jobs", JOBS, *self.CLUSTER, "--goal", "max_throughput", "--json", out)
        self.assertGreater(json.loads(out.read_text())["mean_of_equal_shares"], answer["mean_of_equal_shares"])

    def test_the_published_json_is_read_as_it_is(self):
        table = self.file("rates.json", json.dumps({"v100": {"('A', 1)": {"null": 4}, "('B', 1)": {"null": 3}, "('C', 1)": {"null": 2}},
                                                    "k80": {"('A', 1)": {"null": 1, "('B', 1)": [0.5, 0.5]},
                                                            "('B', 1)": {"null": 1}, "('C', 1)": {"null": 1}}}))
        out = self.path("out.json")
        self.run_ok("gavel", "--table", table, "--gpus", "v100=1,k80=1", "--json", out)
        shares = [[round(j["shares"][t], 2) for t in ("v100", "k80")] for j in json.loads(out.read_text())["jobs"]]
        self.assertEqual(shares, [[0.45, 0.0], [0.45, 0.09], [0.09, 0.91]])  # the paper's example

    def test_bad_input(self):
        def bad(text):
            return ("gavel", "--table", self.file("rates.csv", text), "--gpus", "k80=1")

        self.assert_bad(*bad("job_type,num_gpus,k80\na,1,-1\n"), says="rates.csv:2: found k80 '-1'")
        self.assert_bad(*bad("job_type,k80\n"), says="no column 'num_gpus'")
        self.assert_bad(*bad("{\"k80\": {\n\"A3C\": {}}}"), says="rates.csv:2: found key 'A3C'")
        self.assert_bad(*bad("job_type,num_gpus,k80\na,1,0\n"), says="found no type on which 'a' on 1 GPU was measured")
        for gpus in ("", "k80", "k80=x", "k80=1,k80=2", "h100=1", "k80=-1"):
            self.assert_bad("gavel", "--table", RATES, "--gpus", gpus, says="--gpus")
        jobs = self.file("jobs.csv", "job_id,job_type,total_steps,num_gpus\n1,B,1,1\n")
        self.assert_bad("gavel", "--table", RATES, "--gpus", "k80=1", "--jobs", jobs, says="jobs.csv:2: found job type 'B'")


if __name__ == "__main__":
    replay.test()
