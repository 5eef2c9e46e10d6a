"""A `baton serve` of this build for a test: started, waited for, asked for its metrics, and ended."""

import contextlib
import os
import re
import signal
import subprocess
import urllib.request

TINY_MODEL = "tests/data/models/tiny-chat.gguf"


class Server:
    def __init__(self, process, url):
        self.process = process
        self.url = url

    @property
    def port(self):
        return int(self.url.rsplit(":", 1)[1])

    def metrics(self):
        """{name{labels}: value} of /metrics."""
        with urllib.request.urlopen(self.url + "/metrics", timeout=30) as answer:
            text = answer.read().decode("utf-8")
        values = {}
        for line in text.splitlines():
            if line and not line.startswith("#"):
                name, value = line.rsplit(" ", 1)
                values[name] = float(value)
        return values

    def held(self):
        """What is still held somewhere: empty at rest. Cached pages are nobody's: whoever needs them gets them."""
        held = {}
        for name, value in self.metrics().items():
            at_rest_zero = name.startswith(("baton_open_requests", "baton_queue_depth")) or (
                name.startswith("baton_kv_pages") and 'state="free"' not in name and 'state="cached"' not in name)
            if at_rest_zero and value != 0:
                held[name] = value
        return held

    def drain(self, timeout=60):
        """SIGTERM; the exit code."""
        self.process.send_signal(signal.SIGTERM)
        return self.process.wait(timeout)


@contextlib.contextmanager
def serving(*arguments, model=TINY_MODEL):
    program = os.path.join(os.environ.get("BATON_BUILD_DIR", "build/dev"), "baton")
    command = [program, "serve", "--model", model, "--port", "0", *arguments]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    try:
        for line in process.stdout:
            found = re.search(r"(http://[^ ]+?)/v1", line)
            if found:
                break
        else:
            raise AssertionError(f"{' '.join(command)} ended with {process.wait()} before it served")
        yield Server(process, found.group(1))
    finally:
        if process.poll() is None:
            process.kill()
            process.wait()
        process.stdout.close()
