#!/usr/bin/env python3
"""What all programs do with their answers: files are written whole or not at all, and a full disk is an error."""

import os
import pathlib
import resource
import signal
import stat
import subprocess
import threading
import unittest

from program import SOURCE, Folder

DATA = SOURCE / "examples" / "data"
BAD_INPUT = 2
OLD = "what was there before\n"
CLUSTER = ("--cluster", DATA / "azure-tree.topology.conf", "--node-shape", "azure-ndv5", "--gang", "tasks=2,gpus=8")
QUEUES = {"schema": "berth-queues/1", "resources": [{"name": "gpu"}], "queues": [{"name": "a", "quota": {"gpu": {"guarantee": 4}}}]}
GPUS = {"berth_mig_gpus": 1, "gpus": [{"instances": []}]}
OPENB = DATA / "openb"


def full_disk():
    """Files of the program may have 64 bytes; a write beyond that fails, as on a full disk."""
    signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (64, 64))


class Outputs(Folder):
    def commands(self, out):
        """Every option that writes a file: program, arguments, and the file that it writes for `out`."""
        queues, gpus = self.file("queues.json", QUEUES), self.file("gpus.json", GPUS)
        openb = ("openb", "--pods", OPENB / "openb_pod_list_default.csv", "--nodes", OPENB / "openb_node_list_gpu_node.csv",
                 "--policy", "first_fit", "--seeds", "42", "--load", "0.02")
        gavel = ("gavel", "--table", DATA / "gavel" / "throughput_steps_per_s.csv", "--gpus", "v100=8", "--rounds", "1")
        return [("BERTH_PLACE", (*CLUSTER, "--svg", out), out),
                ("BERTH_TOPO", ("show", "preset:clos3:nodes=16", "--svg", out), pathlib.Path(f"{out}-fabric.svg")),
                ("BERTH_MIG", ("layouts", "--product", "h100-80gb", "--svg", out), out),
                ("BERTH_MIG", ("plan", "--product", "h100-80gb", "--state", gpus, "--need", "1g.10gb=1", "--svg", out), out),
                ("BERTH_QUOTA", (queues, "--svg", out), out),
                ("BERTH_REPLAY", (*openb, "--json", out), out),
                ("BERTH_REPLAY", (*openb, "--html", out), out),
                ("BERTH_REPLAY", (*gavel, "--json", out), out)]

    def run_with(self, program, args, **more):
        return subprocess.run([os.environ[program], *map(str, args)], capture_output=True, text=True, timeout=120,
                              check=False, **more)

    def others(self):
        return sorted(p.name for p in pathlib.Path(self.folder.name).iterdir() if p.name not in ("queues.json", "gpus.json"))

    def test_a_good_file_is_replaced_and_keeps_its_permissions(self):
        for program, args, out in self.commands(self.path("out")):
            with self.subTest(program=program, args=args):
                out.write_text(OLD)
                out.chmod(0o640)
                run = self.run_with(program, args)
                self.assert_code(run, 0)
                self.assertGreater(len(out.read_text()), 64)
                self.assertNotIn(OLD, out.read_text())
                self.assertEqual(stat.S_IMODE(out.stat().st_mode), 0o640)
                self.assertFalse([n for n in self.others() if n.endswith(".part")])

    def test_a_full_disk_leaves_the_file_that_was_there(self):
        for program, args, out in self.commands(self.path("out")):
            with self.subTest(program=program, args=args):
                out.write_text(OLD)
                # Standard output is a pipe, to which the limit does not apply.
                run = self.run_with(program, args, preexec_fn=full_disk)
                self.assert_code(run, BAD_INPUT)
                self.assertIn(str(out), run.stderr)
                self.assertEqual(out.read_text(), OLD)
                out.unlink()
                self.assert_code(self.run_with(program, args, preexec_fn=full_disk), BAD_INPUT)
                self.assertEqual(self.others(), [])

    def test_behind_a_link_the_target_is_replaced(self):
        target = self.path("target")
        for program, args, out in self.commands(self.path("out")):
            with self.subTest(program=program, args=args):
                target.write_text(OLD)
                out.unlink(missing_ok=True)
                out.symlink_to("target")
                self.assert_code(self.run_with(program, args), 0)
                self.assertTrue(out.is_symlink())
                self.assertGreater(len(target.read_text()), 64)
                target.unlink()  # a link that leads nowhere yet
                self.assert_code(self.run_with(program, args), 0)
                self.assertTrue(out.is_symlink() and target.exists())

    def test_devices_and_pipes_are_written_directly(self):
        args = ("layouts", "--product", "h100-80gb", "--svg")
        run = self.run_with("BERTH_MIG", (*args, "/dev/stdout"))
        self.assert_code(run, 0)
        self.assertIn("<svg", run.stdout)
        behind = self.path("behind")
        with behind.open("w", encoding="utf-8") as out:
            subprocess.run([os.environ["BERTH_MIG"], *args, "/dev/stdout"], stdout=out, timeout=120, check=True)
        self.assertIn("maximal layouts", behind.read_text(encoding="utf-8"))  # what is printed after the drawing
        self.assert_code(self.run_with("BERTH_MIG", (*args, "/dev/null")), 0)
        self.assertTrue(stat.S_ISCHR(os.stat("/dev/null").st_mode))
        self.assert_code(self.run_with("BERTH_MIG", (*args, "/dev/full")), BAD_INPUT)
        fifo, got = self.path("fifo"), []
        os.mkfifo(fifo)
        reader = threading.Thread(target=lambda: got.append(fifo.read_text()))
        reader.start()
        self.assert_code(self.run_with("BERTH_MIG", (*args, fifo)), 0)
        reader.join(60)
        self.assertIn("</svg>", got[0])
        self.assertTrue(stat.S_ISFIFO(fifo.stat().st_mode))

    def test_a_path_that_cannot_be_written_is_bad_input(self):
        for out in (self.path("none/out"), pathlib.Path(self.folder.name)):
            for program, args, real in self.commands(out):
                if real != out and out.is_dir():
                    continue  # a prefix, not a path
                with self.subTest(program=program, out=out):
                    run = self.run_with(program, args)
                    self.assert_code(run, BAD_INPUT)
                    self.assertEqual(run.stdout, "")

    def test_a_full_disk_behind_standard_output_is_an_error(self):
        queues = self.file("queues.json", QUEUES)
        cases = self.file("cases.json", {"schema": "berth-cases/1", "source": {"project": "none"}, "cases": []})
        for program, args in (("BERTH_PLACE", CLUSTER), ("BERTH_PLACE", ("--help",)), ("BERTH_PLACE", (*CLUSTER, "--json")),
                              ("BERTH_TOPO", ("show", "preset:clos3:nodes=16")), ("BERTH_MIG", ("products",)),
                              ("BERTH_MIG", ("pack", "--product", "h100-80gb", "--demand", "1g.10gb=1", "--json")),
                              ("BERTH_QUOTA", (queues,)), ("BERTH_CASE", (cases,)), ("BERTH_REPLAY", ("--help",))):
            with self.subTest(program=program, args=args), open("/dev/full", "w", encoding="utf-8") as full:
                run = subprocess.run([os.environ[program], *map(str, args)], stdout=full, stderr=subprocess.PIPE, text=True,
                                     timeout=120, check=False)
                self.assertEqual(run.returncode, BAD_INPUT, run.stderr)
                self.assertNotEqual(run.stderr, "")


if __name__ == "__main__":
    unittest.main()
