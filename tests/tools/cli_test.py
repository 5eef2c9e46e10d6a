#!/usr/bin/env python3
"""The program as a person or a script meets it: flags, files, exit codes, output, signals."""

import collections
import contextlib
import csv
import http.client
import json
import os
import pathlib
import re
import signal
import socket
import subprocess
import tempfile
import threading
import time
import unittest

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
BATON = pathlib.Path(os.environ["BATON_BUILD_DIR"]) / "baton"
MODEL = ROOT / "tests/data/models/tiny-chat.gguf"
PATIENCE = 120  # seconds; sanitizer builds on busy machines are slow, and nothing here waits that long when it works


def baton(*arguments, stdin=""):
    return subprocess.run([BATON, *map(str, arguments)], input=stdin, capture_output=True, text=True, timeout=PATIENCE,
                          cwd=ROOT, check=False)


def steps_in(path):
    """How many steps a trace file shows of each rank."""
    events = json.loads(path.read_text())
    events = events["traceEvents"] if isinstance(events, dict) else events
    spans = [(event["cat"], event["id"], event["ph"]) for event in events if event["ph"] in "be"]
    assert len(spans) == len(set(spans)), "viewers pair begin and end by id, so no two spans may share one"
    ranks = {event["tid"]: event["args"]["name"] for event in events if event["name"] == "thread_name"}
    steps = collections.Counter()
    steps.update(ranks[event["tid"]] for event in events if event["name"] == "step" and event["ph"] == "b")
    return steps


class BadInput(unittest.TestCase):
    def refused(self, *arguments, says):
        result = baton(*arguments)
        self.assertEqual(result.returncode, 2, result.stderr)
        self.assertEqual(result.stdout, "")
        self.assertIn(says, result.stderr)
        self.assertEqual(result.stderr.count("\n"), 1, "one line, not a wall of text: " + result.stderr)

    def test_unknown_words_name_the_nearest_one(self):
        self.refused("srve", says="unknown command 'srve'; did you mean 'serve'?")
        self.refused("serve", "--prefil", "2", says="unknown option '--prefil'; did you mean '--prefill'?")
        self.refused("serve", "--zzz", says="unknown option '--zzz' (see baton serve --help)")
        self.refused("serve", "quickly", says="unknown argument 'quickly'")
        self.refused("model", "inof", MODEL, says="unknown command 'inof'; did you mean 'info'?")

    def test_bad_values_name_the_flag_and_what_is_right(self):
        self.refused("serve", "--port", "70000", says="--port: '70000' is not a whole number from 0 to 65535")
        self.refused("serve", "--port", "", says="--port: ")
        self.refused("serve", "--prefill", "-1", says="--prefill")
        self.refused("serve", "--kv-memory", "1 gig", says="--kv-memory: '1 gig' is not an amount of memory")
        self.refused("serve", "--mode", "pdd", says="did you mean pd?")
        self.refused("serve", "--page-size", "8", says="pages hold 1, 16, 32 or 64 tokens")
        self.refused("serve", "--port", "1", "--port", "2", says="--port")
        self.refused("serve", "--config", says="--config")

    def test_settings_without_use_are_refused(self):
        self.refused("serve", "--mode", "aggregated", "--prefill", "2", says="--prefill: has no use")
        self.refused("generate", "--prompt", "x", "--top-k", "4", says="--top-k: has no use without --temperature")
        self.refused("generate", "--model", MODEL, says="--prompt")

    def test_a_trace_that_cannot_be_written_is_refused_before_the_model_is_read(self):
        with tempfile.TemporaryDirectory() as folder:
            nowhere = pathlib.Path(folder) / "none" / "trace.json"
            for command in (["serve"], ["generate", "--prompt", "x"]):
                self.refused(*command, "--model", MODEL, "--trace", nowhere,
                             says=f"--trace: cannot write {nowhere}: No such file or directory")
                self.refused(*command, "--model", MODEL, "--trace", folder, says="Is a directory")

    def test_a_request_log_that_cannot_be_written_is_refused_before_the_model_is_read(self):
        with tempfile.TemporaryDirectory() as folder:
            nowhere = pathlib.Path(folder) / "none" / "requests.csv"
            self.refused("serve", "--request-log", nowhere, says=f"--request-log: cannot write {nowhere}")
            self.refused("serve", "--request-log", "requests.txt", says="ends in neither .csv nor .jsonl")

    def test_bad_settings_files_are_refused_with_their_line(self):
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder) / "pd.toml"
            for text, says in [
                ("port = 8001\nprefil = 2\n", "pd.toml:2: unknown setting 'prefil'; did you mean 'prefill'?"),
                ("port = \"many\"\n", "pd.toml:1: port: 'many' is not a whole number"),
                ("port = -1\n", "pd.toml:1: port: '-1' is not a whole number"),
                ("port = 1.5\n", "pd.toml:1: port: '1.5' is not a whole number"),
                ("[server]\nport = 1\n", "pd.toml:1: server"),
                ("port = = 1\n", "pd.toml:1: "),
                ("mode = 'aggregated'\ntransport = 'inmemory'\n", "pd.toml:2: transport: has no use"),
            ]:
                with self.subTest(text=text):
                    path.write_text(text)
                    self.refused("serve", "--config", path, says=says)
            self.refused("serve", "--config", pathlib.Path(folder) / "none.toml", says="none.toml")

    def test_bad_models_are_refused(self):
        whole = MODEL.read_bytes()
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder) / "broken.gguf"
            for name, data in [("empty", b""), ("magic", b"FUGG" + whole[4:]), ("truncated", whole[: len(whole) // 2]),
                               ("header alone", whole[:24]), ("version", whole[:4] + b"\x63\0\0\0" + whole[8:]),
                               ("counts", whole[:8] + b"\xff" * 16 + whole[24:])]:
                with self.subTest(name):
                    path.write_bytes(data)
                    self.refused("model", "info", path, says="broken.gguf")
                    self.refused("generate", "--prompt", "x", "--model", path, says="broken.gguf")
            self.refused("model", "info", pathlib.Path(folder) / "none.gguf", says="none.gguf")
            self.refused("serve", "--model", folder, says=folder)

    def test_a_missing_default_model_says_how_to_get_it(self):
        with tempfile.TemporaryDirectory() as folder:
            environment = {**os.environ, "XDG_CACHE_HOME": folder}
            result = subprocess.run([BATON, "generate", "--prompt", "x"], capture_output=True, text=True,
                                    env=environment, timeout=PATIENCE, check=False)
        self.assertEqual(result.returncode, 2)
        self.assertIn("tools/fetch_model", result.stderr)


class Help(unittest.TestCase):
    def test_help_and_version(self):
        self.assertEqual(baton("--version").stdout, "baton 0.1.0\n")
        for command in (["serve"], ["generate"], ["devices"], ["model"], ["model", "info"]):
            with self.subTest(command):
                result = baton(*command, "--help")
                self.assertEqual(result.returncode, 0)
                self.assertIn("Usage: baton", result.stdout)
        self.assertIn("default 8000", baton("serve", "--help").stdout)
        self.assertEqual(baton().returncode, 2)

    def test_devices_say_what_can_be_computed_on(self):
        result = baton("devices")
        self.assertEqual(result.returncode, 0, result.stderr)
        cpu, cuda = result.stdout.splitlines()
        found = re.fullmatch(r"cpu   (\d+) of (\d+) cores usable, (avx512|avx2|portable) kernels, "
                             r"(\d+\.\d) GiB memory, (\d+\.\d) GiB of it free", cpu)
        self.assertTrue(found, cpu)
        self.assertLessEqual(1, int(found[1]))
        self.assertLessEqual(int(found[1]), int(found[2]))
        self.assertLessEqual(int(found[1]), len(os.sched_getaffinity(0)))
        self.assertGreater(float(found[4]), 0)
        self.assertLessEqual(float(found[5]), float(found[4]))
        self.assertEqual(cuda, "cuda  not built in")

    def test_printed_settings_are_a_settings_file(self):
        first = baton("serve", "--print-settings", "--port", "8123", "--prefill", "2")
        self.assertEqual(first.returncode, 0)
        self.assertIn("port = 8123", first.stdout)
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder) / "pd.toml"
            path.write_text(re.sub("kv-tokens = 0.*\n", "", first.stdout))
            second = baton("serve", "--print-settings", "--config", path)
            self.assertEqual(second.stdout, first.stdout)
            third = baton("serve", "--print-settings", "--config", path, "--port", "9")
            self.assertIn("port = 9 ", third.stdout, "flags win over the file")


class Generate(unittest.TestCase):
    def generate(self, *arguments, stdin=""):
        result = baton("generate", "--model", MODEL, "--seed", "1", "--ignore-eos", "--max-tokens", "24", *arguments,
                       stdin=stdin)
        self.assertEqual(result.returncode, 0, result.stderr)
        return result

    def test_the_stages_of_the_timeline_sum_to_the_total(self):
        result = self.generate("--prompt", "Once upon a time", "--json", "--chunk", "2")
        numbers = json.loads(result.stderr.splitlines()[-1])
        timeline = numbers["timeline"]
        self.assertEqual(numbers["completion_tokens"], 24)
        self.assertAlmostEqual(sum(timeline["stages"].values()), timeline["total"], places=6)
        self.assertEqual((timeline["prefill"], timeline["decode"]), ("prefill/0", "decode/0"))
        self.assertGreater(timeline["chunks"], 1)
        self.assertGreater(timeline["pages"], 0)
        self.assertEqual(timeline["moved_bytes"], 0)

    def test_the_trace_holds_the_steps_of_both_ranks(self):
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder) / "trace.json"
            path.write_text("an older trace " * 100_000)
            result = self.generate("--prompt", "Once upon a time", "--trace", path)
            self.assertIn(f"events in {path}\n", result.stderr)
            steps = steps_in(path)
            self.assertEqual(steps["prefill/0"], 1)
            self.assertGreaterEqual(steps["decode/0"], 23)

    def test_the_text_does_not_depend_on_how_it_was_computed(self):
        texts = {}
        for settings in ("--mode pd", "--mode aggregated", "--transport inmemory-copy", "--page-size 1 --chunk 3",
                         "--prefill 2 --decode 2 --routing random", "--compute apart"):
            texts[settings] = self.generate("--prompt", "Once upon a time", *settings.split()).stdout
        self.assertEqual(len(set(texts.values())), 1, texts)
        self.assertGreater(len(texts["--mode pd"]), 1)

    def test_there_are_never_more_threads_than_cores(self):
        usual = self.generate("--prompt", "Hello")
        many = self.generate("--prompt", "Hello", "--threads", "1024")
        self.assertEqual(many.stdout, usual.stdout)
        self.assertRegex(many.stderr, r"(?m)^Computing on \d+ threads?, not 1024: this process may use \d+ cores?")
        self.assertNotIn("Computing on", usual.stderr + self.generate("--prompt", "Hello", "--threads", "1").stderr)

    def test_the_prompt_comes_from_stdin_too(self):
        piped = self.generate("--prompt", "-", stdin="Hello")
        self.assertEqual(piped.stdout, self.generate("--prompt", "Hello").stdout)

    def test_a_seed_repeats_what_was_drawn(self):
        drawn = {self.generate("--prompt", "Hello", "--temperature", "1.5").stdout for _ in range(2)}
        self.assertEqual(len(drawn), 1)

    def test_chat(self):
        self.assertGreater(len(self.generate("--chat", "--system", "Be kind.", "--prompt", "Hello").stdout), 1)

    def test_a_prompt_that_does_not_fit_is_refused_with_the_numbers(self):
        result = baton("generate", "--model", MODEL, "--prompt", "a b c d " * 5000)
        self.assertEqual(result.returncode, 2, result.stderr)
        self.assertRegex(result.stderr, r"\d{4,}")


class Server:
    """A running `baton serve` on a free port."""

    def __init__(self, *arguments):
        self.process = subprocess.Popen([BATON, "serve", "--model", MODEL, "--port", "0", *map(str, arguments)],
                                        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, cwd=ROOT)
        self.first_line = self.process.stdout.readline()
        found = re.search(r"http://([^:]+):(\d+)/v1", self.first_line)
        if not found:
            self.process.kill()
            raise AssertionError(f"no address in {self.first_line!r}: {self.process.stderr.read()}")
        self.port = int(found.group(2))

    def request(self, method, path, body=None):
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=PATIENCE)
        with contextlib.closing(connection):
            connection.request(method, path, json.dumps(body) if body is not None else None,
                               {"Content-Type": "application/json"})
            response = connection.getresponse()
            return response.status, response.read().decode()

    def end(self, *signals):
        for number in signals:
            self.process.send_signal(number)
            time.sleep(0.2)
        _, errors = self.process.communicate(timeout=PATIENCE)
        return self.process.returncode, errors

    def __enter__(self):
        return self

    def __exit__(self, *_):
        if self.process.poll() is None:
            self.process.kill()
        self.process.communicate()


class Serve(unittest.TestCase):
    def test_it_serves_and_ends_on_a_signal(self):
        for number in (signal.SIGINT, signal.SIGTERM):
            with self.subTest(number), Server("--prefill", 2, "--decode", 2, "--served-name", "tiny") as server:
                self.assertIn("2 prefill and 2 decode ranks", server.first_line)
                self.assertEqual(server.request("GET", "/health")[0], 200)
                self.assertIn('"tiny"', server.request("GET", "/v1/models")[1])
                status, answer = server.request("POST", "/v1/completions", {"prompt": "Hello", "max_tokens": 8})
                self.assertEqual(status, 200, answer)
                code, errors = server.end(number)
                self.assertEqual(code, 0, errors)
                self.assertIn("Draining", errors)

    def test_the_trace_is_written_after_a_drain(self):
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder) / "trace.json"
            settings = pathlib.Path(folder) / "pd.toml"
            settings.write_text(f"trace = '{path}'\n")
            with Server("--config", settings) as server:
                self.assertEqual(path.read_text(), "", "it is there from the start, to be sure that it can be written")
                body = {"prompt": "Hello", "max_tokens": 8, "ignore_eos": True}
                self.assertEqual(server.request("POST", "/v1/completions", body)[0], 200)
                code, errors = server.end(signal.SIGINT)
                self.assertEqual(code, 0, errors)
            self.assertGreaterEqual(steps_in(path)["decode/0"], 7)

    def test_the_request_log_has_a_line_for_every_sample(self):
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder) / "requests.csv"
            with Server("--request-log", path) as server:
                body = {"prompt": "Hello", "max_tokens": 8, "ignore_eos": True, "n": 2}
                self.assertEqual(server.request("POST", "/v1/completions", body)[0], 200)
                code, errors = server.end(signal.SIGINT)
                self.assertEqual(code, 0, errors)
                self.assertIn(f"2 requests in {path}", errors)
            with path.open() as file:
                rows = list(csv.DictReader(file))
            self.assertEqual([row["output_tokens"] for row in rows], ["8", "8"])
            self.assertEqual([row["reason"] for row in rows], ["length", "length"])
            for row in rows:
                self.assertGreater(float(row["ttft_ms"]), 0)
                self.assertGreater(float(row["e2e_ms"]), float(row["ttft_ms"]))
                self.assertEqual((row["prefill_rank"], row["decode_rank"]), ("prefill/0", "decode/0"))

    def test_a_taken_port_is_said(self):
        with Server() as server:
            result = baton("serve", "--model", MODEL, "--port", server.port)
            self.assertNotEqual(result.returncode, 0)
            self.assertIn(str(server.port), result.stderr)

    def test_what_runs_is_finished_while_new_work_is_refused(self):
        with Server("--drain-seconds", "60") as server:
            answers = []
            body = {"prompt": "Hello", "max_tokens": 200, "ignore_eos": True, "n": 4}
            client = threading.Thread(target=lambda: answers.append(server.request("POST", "/v1/completions", body)))
            client.start()
            self.wait_until_open(server)
            server.process.send_signal(signal.SIGINT)
            refused = self.status_while_draining(server)
            client.join(PATIENCE)
            code, errors = server.end()
            self.assertEqual(code, 0, errors)
            self.assertEqual(answers[0][0], 200, answers[0][1])
            self.assertEqual(json.loads(answers[0][1])["usage"]["completion_tokens"], 800)
            self.assertIn(refused, (503, None), "None: it had ended already")

    def test_a_second_signal_ends_at_once(self):
        with Server("--drain-seconds", "300") as server:
            # A client that never sends the rest of its request is not waited for either.
            with socket.create_connection(("127.0.0.1", server.port)) as half_open:
                half_open.sendall(b"POST /v1/completions HTTP/1.1\r\n")
                body = {"prompt": "Hello", "max_tokens": 200, "ignore_eos": True, "n": 100}
                threading.Thread(target=self.request_and_lose, args=(server, body), daemon=True).start()
                self.wait_until_open(server)
                begin = time.monotonic()
                code, errors = server.end(signal.SIGINT, signal.SIGINT)
                self.assertIn(code, (0, 130), errors)
                self.assertLess(time.monotonic() - begin, PATIENCE / 2)

    def wait_until_open(self, server):
        deadline = time.monotonic() + PATIENCE
        while time.monotonic() < deadline:
            found = re.search(r"^baton_open_requests(?:\{.*\})? (\S+)$", server.request("GET", "/metrics")[1], re.M)
            if found and float(found.group(1)) > 0:
                return
        self.fail("the request was never seen")

    def status_while_draining(self, server):
        deadline = time.monotonic() + 5
        status = None
        while time.monotonic() < deadline and status != 503:
            try:
                status = server.request("POST", "/v1/completions", {"prompt": "x", "max_tokens": 1})[0]
            except OSError:
                return None
        return status

    @staticmethod
    def request_and_lose(server, body):
        with contextlib.suppress(OSError, http.client.HTTPException):
            server.request("POST", "/v1/completions", body)


if __name__ == "__main__":
    unittest.main()
