#!/usr/bin/env python3
"""`baton chaos` as a person meets it: the real world behind it, files, exit codes, Ctrl-C."""

import json
import os
import pathlib
import signal
import subprocess
import tempfile
import time
import unittest

BATON = pathlib.Path(os.environ["BATON_BUILD_DIR"]).resolve() / "baton"
PATIENCE = 120  # seconds; nothing here takes that long when it works


class Chaos(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.addCleanup(self.folder.cleanup)

    def chaos(self, *arguments):
        return subprocess.run([BATON, "chaos", *map(str, arguments)], capture_output=True, text=True, timeout=PATIENCE,
                              cwd=self.folder.name, check=False)

    def file(self, name):
        return pathlib.Path(self.folder.name) / name

    def test_help_teaches(self):
        text = self.chaos("--help").stdout
        for word in ("--seeds", "--replay", "--script", "crashes: ranks die", "control_lost", "Examples:", "Exit code"):
            self.assertIn(word, text)

    def test_the_digests_are_the_same_whoever_runs_the_seeds(self):
        one = self.chaos("--seeds", 12, "--from", 5, "--jobs", 1, "--digest", "--profile", "calm")
        three = self.chaos("--seeds", 12, "--from", 5, "--jobs", 3, "--digest", "--profile", "calm")
        self.assertEqual(one.returncode, 0, one.stdout)
        self.assertEqual(one.stdout, three.stdout)
        lines = one.stdout.splitlines()
        self.assertEqual([line.split()[0] for line in lines[:12]], [str(seed) for seed in range(5, 17)])
        self.assertEqual(len({line.split()[1] for line in lines[:12]}), 12)

    def test_a_seed_can_be_written_down_and_run_from_its_script(self):
        seed = self.chaos("--replay", 7, "--profile", "calm", "--output", "seven.toml", "--perfetto", "seven.json")
        self.assertEqual(seed.returncode, 0, seed.stderr)
        self.assertTrue(json.loads(self.file("seven.json").read_text())["traceEvents"])
        script = self.chaos("--script", "seven.toml")
        self.assertEqual(script.returncode, 0, script.stderr)
        self.assertIn("wrote seven.json for ui.perfetto.dev\n", seed.stdout)
        counts = [line for line in seed.stdout.splitlines() if "; digest " in line]
        self.assertEqual(len(counts), 1)
        self.assertIn(counts[0], script.stdout)
        one = self.chaos("--script", "seven.toml", "--request", 3).stdout
        self.assertTrue(one.startswith("timeline of request 3:\n"))
        self.assertLess(one.count("\n"), script.stdout.count("\n") / 5)

    def test_a_bad_script_is_refused_with_its_line(self):
        self.file("bad.toml").write_text("decode = 2\nprefil = 3\n")
        result = self.chaos("--script", "bad.toml")
        self.assertEqual(result.returncode, 2)
        self.assertTrue(result.stderr.startswith("baton chaos: bad.toml:2: unknown key 'prefil'"), result.stderr)
        self.assertEqual(result.stdout, "")

    def test_coverage_has_a_table(self):
        result = self.chaos("--seeds", 5, "--profile", "calm", "--coverage")
        self.assertEqual(result.returncode, 0, result.stdout)
        self.assertIn("pairs of state and event reached", result.stdout)

    def test_ctrl_c_ends_a_search_and_its_workers_with_the_counts_so_far(self):
        command = [BATON, "chaos", "--seeds", "900", "--profile", "calm", "--jobs", "2"]
        with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                              cwd=self.folder.name) as search:
            time.sleep(0.3)
            search.send_signal(signal.SIGINT)
            _, said = search.communicate(timeout=PATIENCE)
        self.assertEqual(search.returncode, 130, said)
        self.assertIn(" seeds in ", said)
        self.assertTrue(said.endswith("Interrupted.\n"), said)


if __name__ == "__main__":
    unittest.main()
