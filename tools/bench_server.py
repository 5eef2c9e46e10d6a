#!/usr/bin/env python3
"""How a server feels to its clients: tokens per second, time to first token, gaps between tokens.

    tools/bench_server.py load [--program build/release/baton] [--clients 16] [--prompt 256] [--output 64] [-- SETTINGS]
        starts `baton serve` and lets CLIENTS clients ask at once, ROUNDS times each
    tools/bench_server.py load --url http://127.0.0.1:8080 ...
        the same against a server that runs already, any with /v1/completions that takes token ids (llama-server does)
    tools/bench_server.py ttft [--rounds 20] [--prompts 128,512]
        time to first token of one client, of a prefill and a decode rank against one aggregated rank, in turns

SETTINGS after -- go to `baton serve` (for example --prefill 1 --decode 1 --threads 2). Every figure is what a client
measures over HTTP on this machine, where the client's own work counts too. --json prints the figures as one object.
"""

import argparse
import asyncio
import contextlib
import json
import random
import re
import statistics
import subprocess
import sys
import time


@contextlib.contextmanager
def baton(program, settings):
    command = [program, "serve", "--port", "0", *settings]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    try:
        for line in process.stdout:
            found = re.search(r"http://([^ ]+?):(\d+)/v1", line)
            if found:
                break
        else:
            sys.exit(f"{' '.join(command)} did not start")
        yield found.group(1), int(found.group(2))
    finally:
        process.terminate()
        process.wait(60)


async def ask(place, prompt, output):
    """Arrival times of the tokens of one streamed completion, with the time of asking first."""
    body = json.dumps({"prompt": prompt, "max_tokens": output, "temperature": 0, "ignore_eos": True, "stream": True})
    reader, writer = await asyncio.open_connection(*place)
    times = [time.monotonic()]
    writer.write(f"POST /v1/completions HTTP/1.1\r\nHost: bench\r\nContent-Type: application/json\r\n"
                 f"Connection: close\r\nContent-Length: {len(body)}\r\n\r\n{body}".encode())
    status = await reader.readline()
    if b" 200 " not in status:
        sys.exit(f"bench: {status.decode().strip()}: {(await reader.read(2000)).decode()}")
    while line := await reader.readline():
        if line.startswith(b"data: {"):
            times.append(time.monotonic())
    writer.close()
    return times


def percentile(values, share):
    ordered = sorted(values)
    return ordered[min(len(ordered) - 1, int(share * len(ordered)))]


def tokens(seed, count):
    pick = random.Random(seed)
    return [pick.randrange(100, 40000) for _ in range(count)]


async def load(place, arguments):
    async def client(index):
        return [await ask(place, tokens(1000 * index + turn, arguments.prompt), arguments.output)
                for turn in range(arguments.rounds)]

    begin = time.monotonic()
    answers = [times for one in await asyncio.gather(*(client(i) for i in range(arguments.clients))) for times in one]
    return answers, time.monotonic() - begin


def load_figures(answers, took, arguments):
    first = [times[1] - times[0] for times in answers]
    gaps = [after - before for times in answers for before, after in zip(times[1:], times[2:])]
    requests = len(answers)
    return {
        "tokens_per_s": requests * (arguments.prompt + arguments.output) / took,
        "output_tokens_per_s": requests * arguments.output / took,
        "ttft_p50_s": statistics.median(first),
        "ttft_p99_s": percentile(first, 0.99),
        "gap_p50_s": statistics.median(gaps),
        "gap_p99_s": percentile(gaps, 0.99),
        "gap_max_s": max(gaps),
        "request_p50_s": statistics.median([times[-1] - times[0] for times in answers]),
    }


def run_load(arguments, settings):
    def measure(place):
        asyncio.run(ask(place, tokens(7, 16), 2))  # warms up
        answers, took = asyncio.run(load(place, arguments))
        return load_figures(answers, took, arguments)

    if arguments.url:
        host, _, port = arguments.url.split("//")[-1].rstrip("/").partition(":")
        figures = measure((host, int(port or 80)))
    else:
        with baton(arguments.program, settings) as place:
            figures = measure(place)
    if arguments.json:
        print(json.dumps(figures))
        return
    print(f"{arguments.clients} clients, {arguments.rounds} requests each, {arguments.prompt} tokens in, "
          f"{arguments.output} out")
    for name, value in figures.items():
        print(f"  {name:22} {value:9.3f}")


def run_ttft(arguments, settings):
    figures = {}
    with baton(arguments.program, ["--mode", "pd", *settings]) as split, \
            baton(arguments.program, ["--mode", "aggregated", *settings]) as whole:
        for length in [int(text) for text in arguments.prompts.split(",")]:
            asyncio.run(ask(split, tokens(7, length), 2))
            asyncio.run(ask(whole, tokens(7, length), 2))
            ratios, ours, theirs = [], [], []
            for turn in range(arguments.rounds):
                order = [(split, ours), (whole, theirs)]
                for place, times in order if turn % 2 == 0 else reversed(order):
                    answer = asyncio.run(ask(place, tokens(turn, length), 2))
                    times.append(answer[1] - answer[0])
                ratios.append(ours[-1] / theirs[-1])
            figures[length] = {"pd_s": statistics.median(ours), "aggregated_s": statistics.median(theirs),
                               "ratio": statistics.median(ratios)}
    if arguments.json:
        print(json.dumps(figures))
        return
    for length, row in figures.items():
        print(f"prompt {length:5}: time to first token {row['pd_s'] * 1e3:8.2f} ms with the hand-over, "
              f"{row['aggregated_s'] * 1e3:8.2f} ms aggregated; median of paired ratios {row['ratio']:.4f}")


def main():
    parser = argparse.ArgumentParser(usage=__doc__)
    parser.add_argument("what", choices=["load", "ttft"])
    parser.add_argument("--program", default="build/release/baton")
    parser.add_argument("--url")
    parser.add_argument("--clients", type=int, default=16)
    parser.add_argument("--rounds", type=int, default=2)
    parser.add_argument("--prompt", type=int, default=256)
    parser.add_argument("--output", type=int, default=64)
    parser.add_argument("--prompts", default="128,512")
    parser.add_argument("--json", action="store_true")
    own, settings = sys.argv[1:], []
    if "--" in own:
        own, settings = own[:own.index("--")], own[own.index("--") + 1:]
    arguments = parser.parse_args(own)
    if arguments.what == "load":
        run_load(arguments, settings)
    else:
        run_ttft(arguments, settings)


if __name__ == "__main__":
    main()
