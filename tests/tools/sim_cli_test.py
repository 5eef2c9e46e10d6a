#!/usr/bin/env python3
"""`baton sim` as a person meets it: what it prints and writes, exit codes, what it refuses and how it says so."""

import csv
import json
import os
import pathlib
import subprocess
import tempfile
import unittest

BATON = pathlib.Path(os.environ["BATON_BUILD_DIR"]).resolve() / "baton"
EXAMPLES = pathlib.Path(__file__).resolve().parents[2] / "examples"
TRACE = EXAMPLES / "traces/mooncake_conversation.jsonl.gz"
CLUSTER = EXAMPLES / "clusters/llama70b-8p8d.toml"
PATIENCE = 120  # seconds; nothing here takes that long when it works


class Sim(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.addCleanup(self.folder.cleanup)

    def sim(self, *arguments):
        return subprocess.run([BATON, "sim", *map(str, arguments)], capture_output=True, text=True, timeout=PATIENCE,
                              cwd=self.folder.name, check=False)

    def file(self, name, text):
        path = pathlib.Path(self.folder.name) / name
        path.write_text(text)
        return path

    def refused(self, message, *arguments):
        result = self.sim(*arguments)
        self.assertEqual(result.returncode, 2, result.stderr)
        self.assertIn(message, result.stderr)
        self.assertEqual(result.stdout, "")

    def records(self, folder):
        with open(pathlib.Path(self.folder.name) / folder / "requests.csv", newline="") as file:
            return list(csv.DictReader(file))

    def test_help_teaches(self):
        text = self.sim("--help").stdout
        for word in ("--cluster FILE", "--compare", "--calibrate LOG", "examples/clusters/", "Examples:"):
            self.assertIn(word, text)

    def test_a_run_prints_a_summary_and_writes_a_report(self):
        result = self.sim("--trace", TRACE, "--first", 300, "--cluster", CLUSTER, "--out", "report")
        self.assertEqual(result.returncode, 0, result.stderr)
        for word in ("TTFT", "TPOT", "goodput", "prefill", "links", "roofline"):
            self.assertIn(word, result.stdout)
        folder = pathlib.Path(self.folder.name) / "report"
        summary = json.loads((folder / "summary.json").read_text())
        self.assertTrue(json.loads((folder / "trace.json").read_text())["traceEvents"])
        self.assertNotIn("http", (folder / "report.html").read_text().replace("http://www.w3.org", ""))
        self.assertEqual(len(self.records("report")), 300)
        self.assertIn("configuration", json.dumps(summary))

    def test_decode_steps_one_by_one_give_the_same_log(self):
        for name, more in (("rounds", ()), ("single", ("--step-by-step",))):
            self.assertEqual(self.sim("--trace", TRACE, "--first", 200, "--cluster", CLUSTER, "--out", name,
                                      *more).returncode, 0)
        self.assertEqual(self.records("rounds"), self.records("single"))

    def test_two_clusters_are_compared_under_the_same_requests(self):
        slower = self.file("slower.toml", CLUSTER.read_text().replace("h100", "a100-80g"))
        result = self.sim("--compare", CLUSTER, slower, "--trace", EXAMPLES / "traces/chats.toml", "--first", 300,
                          "--seeds", 3, "--json")
        self.assertEqual(result.returncode, 0, result.stderr)
        comparison = json.loads(result.stdout)
        self.assertEqual(comparison["pairs"], 3)
        ttft = comparison["measures"]["TTFT mean"]
        self.assertGreater(ttft["b"] - ttft["a"], ttft["difference_ci95"])

    def test_what_cannot_be_is_refused(self):
        self.refused("--trace FILE is needed", "--cluster", CLUSTER)
        self.refused("--cluster FILE is needed", "--trace", TRACE)
        self.refused("two cluster files, not 1", "--trace", TRACE, "--compare", CLUSTER)
        self.refused("nope.toml", "--trace", TRACE, "--cluster", "nope.toml")
        unknown = self.file("unknown.toml", CLUSTER.read_text().replace('hardware = "h100"', 'hardware = "h9000"'))
        self.refused("there is no hardware 'h9000'; known are", "--trace", TRACE, "--cluster", unknown)
        typo = self.file("typo.toml", CLUSTER.read_text().replace("running_max", "runing_max"))
        self.refused("typo.toml:", "--trace", TRACE, "--cluster", typo)
        small = self.file("small.toml", CLUSTER.read_text().replace("tp = 8", "tp = 1"))
        self.refused("GiB", "--trace", TRACE, "--cluster", small)
        row = self.file("row.jsonl", '{"timestamp": 0, "input_length": -5, "output_length": 3, "hash_ids": []}\n')
        self.refused("row.jsonl:1: input_length", "--trace", row, "--cluster", CLUSTER)
        self.refused("empty.jsonl", "--trace", self.file("empty.jsonl", ""), "--cluster", CLUSTER)
        self.refused("no column", "--calibrate", self.file("log.csv", "a,b\n1,2\n"))


if __name__ == "__main__":
    unittest.main()
