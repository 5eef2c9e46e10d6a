#!/usr/bin/env python3
"""Computes tests/data/reference/llama_smollm2.json with llama.cpp: what an independent implementation says.

For each prompt: token ids, a greedy continuation, and at each of its steps the most likely tokens with their
log-probabilities, three times:
    q      llama.cpp as it comes on the given file: activations quantised to 8 bits, keys and values in f16
    exact  the same weights as F32 tensors, keys and values in f32, no flash attention: the arithmetic without rounding
    f16    the same weights as F16 tensors, keys and values in f16
The later two follow the continuation of the first (teacher forcing), so all three speak of the same prefixes. How far q
is from exact says how far two correct implementations may be apart.

Needs the package llama-cpp-python, and gguf and numpy for tools/convert_gguf.py. Run once; the result is committed:
    python3 -m venv build/venv-llama && . build/venv-llama/bin/activate
    pip install llama-cpp-python gguf numpy
    tools/make_llama_reference.py ~/.cache/baton/models/SmolLM2-135M-Instruct.Q4_1.gguf
"""

import argparse
import hashlib
import json
import pathlib
import sys

import llama_cpp
import numpy as np

import convert_gguf

PROMPTS = [
    "The capital of France is",
    "Once upon a time, in a small village by the sea, there lived a",
    "The first ten prime numbers are 2, 3, 5,",
    "def fibonacci(n):\n    \"\"\"Return the n-th Fibonacci number.\"\"\"\n",
    "#include <vector>\n\n// Sums all elements.\nint sum(const std::vector<int>& values) {\n",
    "Water boils at a temperature of",
    "Question: Why is the sky blue?\nAnswer:",
    "Die Hauptstadt von Deutschland ist",
    "La photosynthèse est le processus par lequel",
    "To make a simple tomato soup, you need the following ingredients:\n-",
    "SELECT name, COUNT(*) FROM orders WHERE",
    "In 1969, the first humans landed on the Moon. The mission was called",
    "A haiku about autumn:\n",
    "The quick brown fox jumps over the lazy dog. The quick brown fox",
    "List of planets in order from the sun: Mercury, Venus,",
    "Dear Sir or Madam,\n\nI am writing to",
    "<|im_start|>system\nYou are a helpful AI assistant named SmolLM, trained by Hugging Face<|im_end|>\n"
    "<|im_start|>user\nWhat is gravity?<|im_end|>\n<|im_start|>assistant\n",
    "<|im_start|>system\nAnswer in one short sentence.<|im_end|>\n"
    "<|im_start|>user\nName three colours of the rainbow.<|im_end|>\n<|im_start|>assistant\n",
    "<|im_start|>user\nWrite a Python function that reverses a string.<|im_end|>\n<|im_start|>assistant\n",
    "Distributed systems fail in parts. When a machine that holds a replica stops answering, the others cannot know "
    "whether it has crashed, whether it is slow, or whether the network between them is broken. A timeout is therefore "
    "a guess, and a good protocol stays correct when the guess is wrong. The usual answer is a quorum: a write counts "
    "once a majority has acknowledged it, and a read asks a majority, so that any two of them share a member. This is "
    "why",
    "Temperature 21.5 °C, humidity 48 %, pressure 1013 hPa. 天気は",
]


def open_model(path, threads, exact):
    options = {"type_k": 0, "type_v": 0, "flash_attn": False} if exact else {}
    return llama_cpp.Llama(str(path), n_ctx=512, n_batch=512, n_threads=threads, n_threads_batch=threads,
                           logits_all=True, verbose=False, **options)


def log_probabilities(logits):
    row = logits.astype(np.float64)
    row -= row.max()
    return row - np.log(np.exp(row).sum())


def top(logprobs, count):
    order = np.lexsort((np.arange(len(logprobs)), -logprobs))[:count]
    return [[int(i), round(float(logprobs[i]), 5)] for i in order]


def run(model, prompt, steps, top_count, follow=None):
    """Greedy tokens (or the ones to follow) and the most likely tokens before each."""
    model.reset()
    model.eval(prompt)
    tokens, tops = [], []
    for step in range(steps if follow is None else len(follow)):
        best = top(log_probabilities(model.scores[model.n_tokens - 1]), top_count)
        tops.append(best)
        token = best[0][0] if follow is None else follow[step]
        tokens.append(token)
        if follow is None and token == model.token_eos():
            break
        model.eval([token])
    return tokens, tops


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("model", type=pathlib.Path, help="a GGUF file")
    parser.add_argument("--output", type=pathlib.Path, default="tests/data/reference/llama_smollm2.json")
    parser.add_argument("--work", type=pathlib.Path, default="build/models", help="where converted models go")
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--steps", type=int, default=40)
    parser.add_argument("--top", type=int, default=10)
    arguments = parser.parse_args()

    arguments.work.mkdir(parents=True, exist_ok=True)
    files = {"q": arguments.model}
    for name, type_name in (("exact", "F32"), ("f16", "F16")):
        files[name] = arguments.work / f"{arguments.model.stem}.{type_name}.gguf"
        if not files[name].exists():
            convert_gguf.convert(arguments.model, files[name], type_name)

    cases = []
    model = open_model(files["q"], arguments.threads, False)
    for text in PROMPTS:
        prompt = model.tokenize(text.encode(), add_bos=False, special=True)
        tokens, tops = run(model, prompt, arguments.steps, arguments.top)
        cases.append({"text": text, "prompt": prompt, "tokens": tokens, "q": tops})
    model.close()
    for name in ("exact", "f16"):
        model = open_model(files[name], arguments.threads, name == "exact")
        for case in cases:
            case[name] = run(model, case["prompt"], 0, arguments.top, case["tokens"])[1]
        model.close()

    result = {
        "source": f"llama-cpp-python {llama_cpp.__version__}",
        "model": arguments.model.name,
        "sha256": hashlib.sha256(arguments.model.read_bytes()).hexdigest(),
        "cases": cases,
    }
    arguments.output.parent.mkdir(parents=True, exist_ok=True)
    lines = json.dumps(result, ensure_ascii=False, separators=(",", ":")).replace('{"text"', '\n{"text"')
    arguments.output.write_text(lines + "\n", encoding="utf-8")
    print(arguments.output)
    return 0


if __name__ == "__main__":
    sys.exit(main())
