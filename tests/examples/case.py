#!/usr/bin/env python3
"""berth-case from end to end: the contract for scripts, the text, exit codes, and what is wrong with a file."""

import json
import pathlib

from program import SOURCE, Folder, Program

DATA = SOURCE / "tests" / "profile" / "data"
QUOTA = SOURCE / "tests" / "quota" / "data"
AGREE, DIFFER, BAD_INPUT = 0, 1, 2
berth_case = Program("BERTH_CASE")

CASE = {"id": "one", "kind": "place", "policy": {},
        "cluster": {"levels": ["rack", "host"],
                    "nodes": [{"name": n, "path": [n[0], n], "capacity": {"gpu": 8, "pods": 110}}
                              for n in ("a1", "a2", "b1")]},
        "requests": [{"name": "job", "count": 10, "per_pod": {"gpu": 1}, "topology": {"mode": "required", "level": "rack"}}],
        "expect": [{"request": "job", "result": "placed", "levels": ["host"],
                    "placements": [{"node": "a1", "count": 8}, {"node": "a2", "count": 2}]}]}


def file_of(*cases, **more):
    return {"schema": "berth-cases/1", "peer": "kueue", "cases": list(cases), **more}



class Case(Folder):
    def cases(self, content, name="cases.json"):
        return self.file(name, content)

class Answers(Case):
    def test_json_is_the_contract(self):
        run = berth_case("--json", DATA / "kueue_tas.json", DATA / "ray.json")
        self.assert_code(run, AGREE)
        out = json.loads(run.stdout)
        self.assertEqual(set(out), {"files", "cases"})
        self.assertEqual([pathlib.Path(f["file"]).name for f in out["files"]], ["kueue_tas.json", "ray.json"])
        self.assertEqual(out["files"][0]["kinds"], {"place": {"agree": 17, "differ": 0, "unsupported": 0},
                                                    "replace": {"agree": 1, "differ": 0, "unsupported": 0}})
        self.assertEqual(len(out["cases"]), 28)
        for c in out["cases"]:
            self.assertEqual({k: c[k] for k in ("verdict", "why")}, {"verdict": "agree", "why": ""})
            self.assertEqual(set(c), {"id", "kind", "verdict", "why"})

    def test_a_difference_says_what_was_expected_and_what_came(self):
        wrong = json.loads(json.dumps(CASE))
        wrong["expect"][0]["placements"][1]["node"] = "b1"
        run = berth_case(self.cases(file_of(CASE, {**wrong, "id": "two"})))
        self.assert_code(run, DIFFER)
        self.assertIn("one  agrees", run.stdout)
        self.assertIn("two  differs: expected job: placed in host on a1:8 b1:2, got job: placed in host on a1:8 a2:2",
                      run.stdout)
        out = json.loads(berth_case("--json", self.cases(file_of(wrong))).stdout)
        self.assertEqual(out["cases"][0]["verdict"], "differ")
        self.assertIn("b1:2", out["cases"][0]["expected"])
        self.assertIn("a2:2", out["cases"][0]["got"])

    def test_only_one_kind_and_another_profile(self):
        run = berth_case("--json", "--kind", "excess", QUOTA / "yunikorn.json")
        self.assert_code(run, AGREE)
        self.assertEqual(set(json.loads(run.stdout)["files"][0]["kinds"]), {"excess"})
        run = berth_case("--profile", "nobody", self.cases(file_of(CASE)))
        self.assert_code(run, DIFFER)
        self.assertIn("not supported: placing by the rules of nobody", run.stdout)
        run = berth_case("--kind", "preempt", DATA / "scheduler_plugins.json")
        self.assert_code(run, DIFFER)
        self.assertIn("not supported: eviction", run.stdout)

    def test_ours_says_what_the_placer_does(self):
        run = berth_case("--ours", self.cases(file_of(CASE)))
        self.assert_code(run, AGREE)
        self.assertIn("ours: placed on a1:8 a2:2; as good", run.stdout)
        out = json.loads(berth_case("--ours", "--json", self.cases(file_of(CASE))).stdout)
        self.assertIn("as good", out["cases"][0]["ours"])
        spread = json.loads(json.dumps(CASE))
        spread["requests"][0].update(count=8)
        spread["expect"][0]["placements"] = [{"node": "a1", "count": 4}, {"node": "a2", "count": 4}]
        self.assertIn("better: 1 domain of level host instead of 2",
                      berth_case("--ours", self.cases(file_of(spread))).stdout)


class Malformed(Case):
    def assert_bad(self, run, *words):
        self.assert_code(run, BAD_INPUT)
        for word in words:
            self.assertIn(word, run.stderr)

    def test_files(self):
        self.assert_bad(berth_case(), "no file of cases")
        self.assert_bad(berth_case("/no/such/file"), "/no/such/file", "found no readable file")
        self.assert_bad(berth_case(self.cases("")), "cases.json: found an empty file")
        self.assert_bad(berth_case(self.cases("{")), "cases.json:1")
        self.assert_bad(berth_case(self.cases({"schema": "berth-cases/1", "peer": "kueue"})), "no cases")
        self.assert_bad(berth_case(self.cases(file_of({"id": "x", "kind": "place"}))), "no expect")
        self.assert_bad(berth_case("--unknown"), "--unknown")
        self.assert_bad(berth_case("--kind", "plaice", self.cases(file_of(CASE))), "'plaice'", "one of place, ")

    def test_a_malformed_case_does_not_hide_the_others(self):
        broken = json.loads(json.dumps(CASE))
        broken["id"] = "broken"
        broken["cluster"]["nodes"][0]["capacity"]["gpu"] = "eight"
        run = berth_case("--json", self.cases(json.dumps(file_of(CASE, broken), indent=1)))
        self.assert_bad(run, "found gpu: 'eight', expected a number")
        out = json.loads(run.stdout)
        self.assertEqual([c["verdict"] for c in out["cases"]], ["agree", "unsupported"])
        self.assertRegex(out["cases"][1]["why"], r"cases\.json:\d+: found gpu")

    def test_the_good_file_beside_a_bad_one_is_answered(self):
        run = berth_case("--json", self.cases("[]", "bad.json"), self.cases(file_of(CASE), "good.json"))
        self.assert_bad(run, "bad.json:1")
        self.assertEqual(len(json.loads(run.stdout)["files"]), 1)

    def test_the_page_names_every_option(self):
        page = (SOURCE / "docs" / "profiles.md").read_text(encoding="utf-8")
        for option in ("--profile", "--kind", "--json", "--ours"):
            self.assertIn(option, page)
            self.assertIn(option, berth_case("--help").stdout)


if __name__ == "__main__":
    berth_case.test()
