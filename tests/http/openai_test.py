#!/usr/bin/env python3
"""Starts a server on the tiny model in each mode and lets the OpenAI client test loose on it."""

import os
import subprocess
import sys

import served

HERE = os.path.dirname(os.path.abspath(__file__))


def main():
    for settings in (["--prefill", "2", "--decode", "2"], ["--mode", "aggregated"]):
        with served.serving(*settings) as server:
            client = os.path.join(HERE, "openai_client_test.py")
            subprocess.run([sys.executable, client, "--url", server.url], check=True)
            held = server.held()
            assert not held, f"the server still holds {held}"
            code = server.drain()
            assert code == 0, f"the server ended with {code}"


if __name__ == "__main__":
    main()
