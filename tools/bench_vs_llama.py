#!/usr/bin/env python3
"""Runs bench_engine and llama.cpp on the same file and threads, in turns, and prints the ratios.

Speed of a shared machine drifts by more than the differences of interest, so each round measures every point with both
programs, one after the other, and a point's ratio is the median of its rounds' ratios. Both do the same work:
    pN     prefill of one prompt of N random tokens, logits of the last one
    BxD    decode of B sequences of D positions each (own copies of keys and values), 32 steps, mean tokens/s of all B
llama.cpp runs as it comes (f16 keys and values, flash attention auto, n_batch 2048, n_ubatch 512).

Needs the package llama-cpp-python (see make_llama_reference.py) and a release build of bench_engine:
    tools/bench_vs_llama.py --bench build/release/bench_engine --model FILE.gguf --threads 2
"""

import argparse
import ctypes
import json
import random
import statistics
import subprocess
import sys
import time

DECODE_STEPS = 32
POINTS = "p128,p512,p2048,1x0,4x0,16x0,32x0,1x512,1x2048,16x512"


def parse_point(text):
    """("prefill", 512, 0) or ("decode", 16, 512)."""
    if text.startswith("p"):
        return ("prefill", int(text[1:]), 0)
    batch, depth = text.split("x")
    return ("decode", int(batch), int(depth))


class LlamaCpp:
    """llama.cpp through the C API that llama-cpp-python binds."""

    def __init__(self, path, threads, clock):
        import llama_cpp

        self.clock = clock
        self.api = llama_cpp
        self.threads = threads
        quiet = llama_cpp.llama_log_callback(lambda level, text, data: None)
        self.quiet = quiet  # must outlive the library's use of it
        llama_cpp.llama_log_set(quiet, ctypes.c_void_p(0))
        llama_cpp.llama_backend_init()
        self.model = llama_cpp.llama_model_load_from_file(path.encode(), llama_cpp.llama_model_default_params())
        if not self.model:
            raise SystemExit(f"llama.cpp cannot load {path}")
        self.vocab = llama_cpp.llama_vocab_n_tokens(llama_cpp.llama_model_get_vocab(self.model))

    def context(self, tokens_each, sequences):
        params = self.api.llama_context_default_params()
        params.n_ctx = (tokens_each + 64) * sequences
        params.n_batch = 2048
        params.n_ubatch = 512
        params.n_seq_max = sequences
        params.n_threads = self.threads
        params.n_threads_batch = self.threads
        params.kv_unified = False
        return self.api.llama_init_from_model(self.model, params)

    def decode(self, context, tokens):
        """tokens: list of (id, position, sequence, wants_logits)."""
        batch = self.api.llama_batch_init(len(tokens), 0, 1)
        batch.n_tokens = len(tokens)
        for i, (token, position, sequence, logits) in enumerate(tokens):
            batch.token[i], batch.pos[i], batch.n_seq_id[i], batch.logits[i] = token, position, 1, logits
            batch.seq_id[i][0] = sequence
        begin = self.clock()
        code = self.api.llama_decode(context, batch)
        self.api.llama_synchronize(context)
        elapsed = self.clock() - begin
        self.api.llama_batch_free(batch)
        if code != 0:
            raise SystemExit(f"llama_decode failed with {code}")
        return elapsed

    def token(self):
        return random.randrange(100, self.vocab - 100)

    def fill(self, context, depth, sequence=0):
        for first in range(0, depth, 2048):
            count = min(2048, depth - first)
            self.decode(context, [(self.token(), first + i, sequence, False) for i in range(count)])

    def prefill(self, length):
        context = self.context(length, 1)
        tokens = [(self.token(), i, 0, i + 1 == length) for i in range(length)]
        self.decode(context, tokens[:64])  # warms up the threads and the weights
        self.api.llama_memory_clear(self.api.llama_get_memory(context), True)
        elapsed = sum(self.decode(context, tokens[i:i + 2048]) for i in range(0, length, 2048))
        self.api.llama_free(context)
        return length / elapsed

    def decoding(self, batch, depth):
        context = self.context(depth + DECODE_STEPS + 1, batch)
        memory = self.api.llama_get_memory(context)
        self.fill(context, depth)
        for sequence in range(1, batch if depth > 0 else 0):
            self.api.llama_memory_seq_cp(memory, 0, sequence, -1, -1)
        elapsed = 0.0
        for step in range(DECODE_STEPS + 1):
            tokens = [(self.token(), depth + step, s, True) for s in range(batch)]
            seconds = self.decode(context, tokens)
            elapsed += seconds if step > 0 else 0.0  # the first step warms up
        self.api.llama_free(context)
        return batch * DECODE_STEPS / elapsed

    def measure(self, point):
        kind, first, second = parse_point(point)
        return self.prefill(first) if kind == "prefill" else self.decoding(first, second)


def run_llama(arguments):
    """In a process of its own, so that no idle thread of one program disturbs the other."""
    clock = time.process_time if arguments.cpu_time else time.perf_counter
    llama = LlamaCpp(arguments.model, arguments.threads, clock)
    print(json.dumps({point: llama.measure(point) for point in arguments.points.split(",")}))
    return 0


def run_child(command):
    done = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True)
    return json.loads(done.stdout.strip().splitlines()[-1])


def compare(arguments):
    points = arguments.points.split(",")
    common = ["--model", arguments.model, "--threads", str(arguments.threads)]
    common += ["--cpu-time"] if arguments.cpu_time else []
    common.append("--points")
    ours, theirs = {p: [] for p in points}, {p: [] for p in points}
    for turn in range(arguments.rounds):
        for point in points:
            ours[point].append(run_child([arguments.bench, *common, point, "--json"])[point])
            theirs[point].append(run_child([sys.executable, __file__, "--llama-only", *common, point])[point])
        print(f"round {turn + 1} of {arguments.rounds} done", file=sys.stderr)
    rows = []
    for point in points:
        ratios = [a / b for a, b in zip(ours[point], theirs[point])]
        rows.append({"point": point, "baton": statistics.median(ours[point]),
                     "llama.cpp": statistics.median(theirs[point]), "ratio": statistics.median(ratios),
                     "lowest": min(ratios), "highest": max(ratios)})
    if arguments.json:
        print(json.dumps({"model": arguments.model, "threads": arguments.threads, "rows": rows}))
        return 0
    unit = "second of processor time" if arguments.cpu_time else "second"
    print(f"{arguments.model}, {arguments.threads} threads, {arguments.rounds} rounds; tokens per {unit}, medians")
    print(f"{'point':>8} {'baton':>9} {'llama.cpp':>9} {'ratio':>6}  (lowest to highest)")
    for row in rows:
        print(f"{row['point']:>8} {row['baton']:9.1f} {row['llama.cpp']:9.1f} {row['ratio']:6.2f}"
              f"  ({row['lowest']:.2f} to {row['highest']:.2f})")
    return 0


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--bench", default="build/release/bench_engine", help="our program")
    parser.add_argument("--model", required=True, help="a GGUF file")
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--points", default=POINTS, help=f"what to measure (default {POINTS})")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--cpu-time", action="store_true",
                        help="count processor time: for machines that are never quiet, with one thread")
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--llama-only", action="store_true", help="measure llama.cpp alone and print JSON")
    arguments = parser.parse_args()
    return run_llama(arguments) if arguments.llama_only else compare(arguments)


if __name__ == "__main__":
    sys.exit(main())
