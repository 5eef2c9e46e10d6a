#!/usr/bin/env python3
"""The scripts in tools/ when things are not as they should be: wrong arguments, no network, damaged files."""

import os
import pathlib
import subprocess
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
SCRIPTS = ["tools/install_deps", "tools/python_env", "tools/fetch_model", "tools/test", "tools/quickstart", "tools/ask",
           "tools/check_packages", ".ci/run"]
MODEL = "SmolLM2-135M-Instruct.Q4_1.gguf"


def run(*command, **environment):
    return subprocess.run(list(map(str, command)), capture_output=True, text=True, timeout=300, check=False, cwd=ROOT,
                          stdin=subprocess.DEVNULL, env={**os.environ, **environment})


class Scripts(unittest.TestCase):
    def test_each_says_what_it_does(self):
        for script in SCRIPTS:
            with self.subTest(script):
                result = run(ROOT / script, "--help")
                self.assertEqual(result.returncode, 0, result.stderr)
                self.assertTrue(result.stdout.startswith(script) or result.stdout.startswith("usage: " + script),
                                result.stdout)

    def test_wrong_arguments_are_refused(self):
        for script in ["tools/install_deps", "tools/python_env", "tools/fetch_model", ".ci/run"]:
            with self.subTest(script):
                result = run(ROOT / script, "--nonsense")
                self.assertEqual(result.returncode, 1)
                self.assertIn("unknown argument '--nonsense'", result.stderr)
        result = run(ROOT / ".ci/run", "--only", "nonsense")
        self.assertEqual(result.returncode, 1)
        self.assertIn("no stage 'nonsense'; there are: dependencies test", result.stderr)

    def test_asking_where_nobody_serves_is_one_line(self):
        result = run(ROOT / "tools/ask", "--url", "http://127.0.0.1:9", "Hello?")
        self.assertEqual(result.returncode, 1)
        self.assertIn("no answer from http://127.0.0.1:9", result.stderr)
        self.assertEqual(result.stderr.count("\n"), 1)


class FetchModel(unittest.TestCase):
    # An index that refuses connections at once, as a machine without network does.
    NO_NETWORK = {"PIP_INDEX_URL": "http://127.0.0.1:9/", "PIP_EXTRA_INDEX_URL": "", "PIP_FIND_LINKS": "",
                  "PIP_RETRIES": "0", "PIP_CONFIG_FILE": "/dev/null"}

    def test_without_network_it_says_so_and_leaves_nothing(self):
        with tempfile.TemporaryDirectory() as cache:
            result = run(ROOT / "tools/fetch_model", XDG_CACHE_HOME=cache, **self.NO_NETWORK)
            self.assertEqual(result.returncode, 1)
            self.assertEqual(result.stdout, "")
            self.assertIn("no network", result.stderr)
            self.assertIn("--model FILE", result.stderr)
            self.assertEqual(list((pathlib.Path(cache) / "baton/models").iterdir()), [])

    def test_a_damaged_file_is_not_taken_for_the_model(self):
        with tempfile.TemporaryDirectory() as cache:
            path = pathlib.Path(cache) / "baton/models" / MODEL
            path.parent.mkdir(parents=True)
            path.write_bytes(b"GGUF, but not all of it")
            result = run(ROOT / "tools/fetch_model", XDG_CACHE_HOME=cache, **self.NO_NETWORK)
            self.assertEqual(result.returncode, 1)
            self.assertIn("is damaged", result.stderr)


if __name__ == "__main__":
    unittest.main()
