#!/usr/bin/env python3
"""How well a calibrated simulation predicts a real server on this machine.

    tools/check_calibration.py --baton build/release/baton [--mode pd] [--seconds 90] [--rate 1.5]

Starts `baton serve`, sends it a first load to fit a cost model to (--step-log, baton sim
--calibrate), then a second one of other arrivals and lengths, and replays that one in the simulator. Prints measured
and simulated means of time to first token and time per output token, and their ratios. Wants a quiet machine: the
server is what is measured. Standard library only.

With --mode pd one prefill and one decode rank have a compute thread each (--compute apart) and arenas of their own:
ranks that share threads wait for each other's steps, which the simulator, where every rank is a machine, does not know.
Even so they share the memory's bandwidth, and where there are fewer than two idle cores the cores.
"""

import argparse
import csv
import json
import pathlib
import random
import signal
import subprocess
import sys
import tempfile
import threading
import time
import urllib.request

PORT = 18431
WORDS = "river stone light wind small great under over green old new house road night water fire".split()


def ask(prompt_words, output_tokens, seed):
    words = random.Random(seed)
    body = {
        "prompt": " ".join(words.choice(WORDS) for _ in range(prompt_words)),
        "max_tokens": output_tokens, "ignore_eos": True, "temperature": 0, "stream": True,
    }
    request = urllib.request.Request(f"http://127.0.0.1:{PORT}/v1/completions", json.dumps(body).encode(),
                                     {"Content-Type": "application/json"})
    with urllib.request.urlopen(request, timeout=300) as answer:
        for _ in answer:
            pass


def send_load(seconds, rate, seed):
    """Poisson arrivals, uniform lengths."""
    draw = random.Random(seed)
    threads = []
    begin = time.monotonic()
    at = 0.0
    while True:
        at += draw.expovariate(rate)
        if at > seconds:
            break
        time.sleep(max(0.0, begin + at - time.monotonic()))
        words, tokens = draw.randint(20, 500), draw.randint(8, 120)
        threads.append(threading.Thread(target=ask, args=(words, tokens, draw.random())))
        threads[-1].start()
    for thread in threads:
        thread.join()
    return len(threads)


MODES = {
    "aggregated": ["--mode", "aggregated"],
    "pd": ["--mode", "pd", "--compute", "apart", "--transport", "inmemory-copy"],
}


def serve_and_load(baton, mode, folder, name, seconds, rate, seed):
    steps, requests = folder / f"steps-{name}.csv", folder / f"requests-{name}.csv"
    server = subprocess.Popen([baton, "serve", *MODES[mode], "--port", str(PORT),
                               "--step-log", steps, "--request-log", requests], stderr=subprocess.DEVNULL)
    try:
        for _ in range(300):
            if server.poll() is not None:
                sys.exit("the server did not start")
            try:
                urllib.request.urlopen(f"http://127.0.0.1:{PORT}/health", timeout=1).read()
                break
            except OSError:
                time.sleep(0.1)
        ask(20, 4, 0)  # pages and caches are touched once
        count = send_load(seconds, rate, seed)
    finally:
        server.send_signal(signal.SIGTERM)
        server.wait(60)
    print(f"{name}: {count} requests in {seconds} s", file=sys.stderr)
    return steps, requests


def rows_of(path):
    with open(path, newline="") as file:
        return [row for row in csv.DictReader(file) if row["reason"] != "failure"][1:]  # without the one before


def mean(rows, column):
    values = [float(row[column]) for row in rows if row[column]]
    return sum(values) / len(values)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--baton", required=True, help="the program, from a release build")
    parser.add_argument("--mode", choices=MODES, default="aggregated")
    parser.add_argument("--seconds", type=float, default=90)
    parser.add_argument("--rate", type=float, default=1.5, help="requests a second of the load that is predicted")
    parser.add_argument("--keep", help="folder for the logs and the cluster file")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as temporary:
        folder = pathlib.Path(options.keep or temporary)
        folder.mkdir(parents=True, exist_ok=True)
        steps, _ = serve_and_load(options.baton, options.mode, folder, "fitted", options.seconds, 1.3 * options.rate, 1)
        fit = subprocess.run([options.baton, "sim", "--calibrate", steps], capture_output=True, text=True)
        print(fit.stderr, end="")
        if fit.returncode != 0:
            sys.exit("nothing to predict with; a longer load has more steps")
        cluster = folder / "calibrated.toml"
        cluster.write_text(fit.stdout)
        _, requests = serve_and_load(options.baton, options.mode, folder, "predicted", options.seconds, options.rate, 2)
        measured = rows_of(requests)
        trace = folder / "trace.csv"
        ordered = sorted(measured, key=lambda row: float(row["arrival_s"]))
        first = float(ordered[0]["arrival_s"])
        trace.write_text("arrived_at,num_prefill_tokens,num_decode_tokens\n" + "".join(
            f"{float(row['arrival_s']) - first:.9f},{row['prompt_tokens']},{row['output_tokens']}\n"
            for row in ordered))
        subprocess.run([options.baton, "sim", "--trace", trace, "--cluster", cluster, "--out", folder / "simulated"],
                       check=True, stdout=subprocess.DEVNULL)
        with open(folder / "simulated" / "requests.csv", newline="") as file:
            simulated = list(csv.DictReader(file))
    print(f"{'mean, ms':<12}{'measured':>12}{'simulated':>12}{'ratio':>8}")
    for column in ("ttft_ms", "tpot_ms", "e2e_ms"):
        real, predicted = mean(measured, column), mean(simulated, column)
        print(f"{column[:-3]:<12}{real:>12.2f}{predicted:>12.2f}{predicted / real:>8.3f}")


if __name__ == "__main__":
    main()
