#!/usr/bin/env python3
"""`baton trace info` and `baton trace convert` as a person meets them: real files, exit codes, what they say."""

import gzip
import json
import os
import pathlib
import subprocess
import tempfile
import unittest

BATON = pathlib.Path(os.environ["BATON_BUILD_DIR"]).resolve() / "baton"
TRACES = pathlib.Path(__file__).resolve().parents[2] / "examples/traces"
CONVERSATION = TRACES / "mooncake_conversation.jsonl.gz"
PATIENCE = 60  # seconds; nothing here takes that long when it works


class Trace(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.addCleanup(self.folder.cleanup)

    def trace(self, *arguments):
        return subprocess.run([BATON, "trace", *map(str, arguments)], capture_output=True, text=True, timeout=PATIENCE,
                              cwd=self.folder.name, check=False)

    def file(self, name):
        return pathlib.Path(self.folder.name) / name

    def refused(self, message, *arguments):
        result = self.trace(*arguments)
        self.assertEqual(result.returncode, 2, result.stderr)
        self.assertIn(message, result.stderr)
        self.assertEqual(result.stderr.count("\n"), 1, result.stderr)

    def info(self, *arguments):
        result = self.trace("info", "--json", *arguments)
        self.assertEqual(result.returncode, 0, result.stderr)
        return json.loads(result.stdout)

    def test_help_teaches(self):
        for command in ("info", "convert"):
            text = self.trace(command, "--help").stdout
            for word in ("mooncake: ", "poisson:RATE", "--rate-scale", "Examples:"):
                self.assertIn(word, text)

    def test_info_says_what_is_in_traces(self):
        result = self.trace("info", CONVERSATION, TRACES / "azure_llm_2023_conv.csv.gz")
        self.assertEqual(result.returncode, 0, result.stderr)
        for words in ("requests   12031", "3.40 requests/s", "p50 6909", "coarse: 90 %", "37.3 %", "requests   19366"):
            self.assertIn(words, result.stdout)
        one, two = self.info(CONVERSATION, TRACES / "mooncake_synthetic.jsonl.gz")
        self.assertEqual((one["requests"], two["requests"]), (12031, 3993))
        self.assertAlmostEqual(two["hit_share_partial"], 0.651, 3)

    def test_converting_changes_nothing_that_both_formats_say(self):
        for form in ("mooncake", "vidur", "azure"):
            result = self.trace("convert", CONVERSATION, f"copy.{form}.gz", "--to", form)
            self.assertEqual(result.returncode, 0, result.stderr)
            self.assertEqual(result.stderr, f"wrote 12031 requests to copy.{form}.gz\n")
        before = self.info(CONVERSATION)[0]
        mooncake, vidur, azure = self.info(*(f"copy.{form}.gz" for form in ("mooncake", "vidur", "azure")))
        for key in ("requests", "end_s", "rate_rps", "input", "output"):
            self.assertEqual(before[key], mooncake[key])
            self.assertEqual(before[key], vidur[key])
            self.assertEqual(before[key], azure[key])
        self.assertEqual(before["hit_tokens"], mooncake["hit_tokens"])
        with gzip.open(CONVERSATION, "rt") as old, gzip.open(self.file("copy.mooncake.gz"), "rt") as new:
            for a, b in zip(old, new, strict=True):
                self.assertEqual(json.loads(a), json.loads(b))

    def test_a_load_from_flags_is_the_load_from_a_file(self):
        flags = ("--requests", 300, "--arrivals", "gamma:5,2", "--turns", "uniform:1,4", "--think", "exponential:5s",
                 "--prefix-groups", 3, "--input", "lognormal:300,1", "--seed", 9, "--block-tokens", 32)
        self.file("load.toml").write_text(
            'requests = 300\narrivals = "gamma:5,2"\nturns = "uniform:1,4"\nthink = "exponential:5s"\n'
            'prefix-groups = 3\ninput = "lognormal:300,1"\nseed = 9\nblock-tokens = 32\n')
        made = self.trace("convert", "--synthetic", "-", *flags)
        self.assertEqual(made.returncode, 0, made.stderr)
        read = self.trace("convert", "load.toml", "-")
        self.assertEqual(made.stdout, read.stdout)
        self.assertEqual(made.stdout.count("\n"), 300)
        config = self.trace("convert", "--synthetic", "-", "--config", "load.toml")
        self.assertEqual(made.stdout, config.stdout)

    def test_bad_input_is_refused_with_its_place(self):
        self.file("bad.csv").write_text("arrived_at,num_prefill_tokens,num_decode_tokens\n0,5,5\n1,-5,5\n")
        self.refused("bad.csv:3: num_prefill_tokens: '-5': a whole number from 1 to", "info", "bad.csv")
        self.refused("bad.csv:3: ", "convert", "bad.csv", "out.jsonl")
        self.assertEqual([path.name for path in self.file(".").iterdir()], ["bad.csv"])
        self.file("empty.jsonl").write_text("")
        self.refused("empty.jsonl: an empty file", "info", "empty.jsonl")
        self.refused("no.csv: cannot be opened", "info", "no.csv")
        self.refused("--arrivals: 'often': constant:RATE", "info", CONVERSATION, "--arrivals", "often")
        self.refused("--until: ends before --from begins", "info", CONVERSATION, "--from", "9s", "--until", "8s")
        self.refused("--turns: has no use without --synthetic", "convert", CONVERSATION, "x", "--turns", 3)
        self.refused("1 files given, 2 wanted", "convert", CONVERSATION)
        self.refused("2 files given, 1 wanted", "convert", "a", "b", "--synthetic")
        self.refused("is read and would be overwritten", "convert", "bad.csv", "./bad.csv")
        self.refused("nothing is left of this trace", "convert", CONVERSATION, "x", "--thin", 0)
        self.refused("did you mean '--rate-scale'", "info", CONVERSATION, "--rate-scal", 2)


if __name__ == "__main__":
    unittest.main()
