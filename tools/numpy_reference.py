#!/usr/bin/env python3
"""Computes tests/data/reference/NAME.json: what a plain float64 forward pass says for the tiny models.

The arithmetic is that of the published descriptions (RMSNorm before attention and feed-forward, rotary positions,
grouped-query attention, SwiGLU), written for clarity with one matrix product per line and the whole prompt at once.
Weights are read to float32 as stored, everything after is float64, so that the only error to speak of is the engine's.

File format, one JSON object:
    model      path of the model file or directory, from the root of the tree
    arithmetic "float64"
    prompts    list of
        tokens        ids of the prompt, positions 0, 1, ...
        logits        of every vocabulary entry after the last token
        top           for each position of the prompt: [[id, log-probability], ...], the 5 most likely next tokens
        greedy        ids of the greedy continuation
        greedy_logprobs  log-probability of each of them
        margins       distance of the best to the second best logit at each step: small ones are near-ties

Needs the packages numpy and gguf:
    tools/numpy_reference.py                      # all models of tests/data/models
    tools/numpy_reference.py MODEL OUTPUT.json    # one, for example build/models/tiny-chat.gguf
"""

import argparse
import dataclasses
import json
import math
import pathlib
import struct

import numpy as np

ROOT = pathlib.Path(__file__).resolve().parent.parent
MODELS = ROOT / "tests/data/models"
REFERENCE = ROOT / "tests/data/reference"
GREEDY_STEPS = 24
TOP = 5


@dataclasses.dataclass
class Model:
    layers: int
    heads: int
    kv_heads: int
    head_dim: int
    rms_eps: float
    frequencies: np.ndarray  # (head_dim / 2), angle of each pair at position 1
    weights: dict  # Hugging Face name: float64 array, rows in half-split RoPE order


# ---- reading


def llama3_frequencies(frequencies, scaling):
    """huggingface/transformers, modeling_rope_utils.py, _compute_llama3_parameters."""
    scaled = []
    for frequency in frequencies:
        wavelength = 2 * math.pi / frequency
        low_wavelength = scaling["original_max_position_embeddings"] / scaling["low_freq_factor"]
        high_wavelength = scaling["original_max_position_embeddings"] / scaling["high_freq_factor"]
        if wavelength < high_wavelength:
            scaled.append(frequency)
        elif wavelength > low_wavelength:
            scaled.append(frequency / scaling["factor"])
        else:
            smooth = (scaling["original_max_position_embeddings"] / wavelength - scaling["low_freq_factor"]) / (
                scaling["high_freq_factor"] - scaling["low_freq_factor"])
            scaled.append((1 - smooth) * frequency / scaling["factor"] + smooth * frequency)
    return np.array(scaled)


def base_frequencies(base, head_dim):
    return base ** (-2.0 * np.arange(head_dim // 2) / head_dim)


def read_safetensors(path):
    raw = path.read_bytes()
    (length,) = struct.unpack_from("<Q", raw)
    header = json.loads(raw[8:8 + length])
    header.pop("__metadata__", None)
    tensors = {}
    for name, entry in header.items():
        begin, end = entry["data_offsets"]
        data = raw[8 + length + begin:8 + length + end]
        if entry["dtype"] == "BF16":
            values = (np.frombuffer(data, "<u2").astype(np.uint32) << 16).view(np.float32)
        else:
            values = np.frombuffer(data, {"F32": "<f4", "F16": "<f2"}[entry["dtype"]])
        tensors[name] = values.astype(np.float64).reshape(entry["shape"])
    return tensors


def read_directory(path):
    config = json.loads((path / "config.json").read_text())
    head_dim = config.get("head_dim") or config["hidden_size"] // config["num_attention_heads"]
    frequencies = base_frequencies(config["rope_theta"], head_dim)
    scaling = config.get("rope_scaling")
    if scaling:
        frequencies = llama3_frequencies(frequencies, scaling)
    weights = {}
    for file in sorted(path.glob("*.safetensors")):
        weights |= read_safetensors(file)
    return Model(config["num_hidden_layers"], config["num_attention_heads"], config["num_key_value_heads"], head_dim,
                 config["rms_norm_eps"], frequencies, weights)


GGUF_NAMES = {
    "token_embd": "model.embed_tokens", "output_norm": "model.norm", "output": "lm_head",
    "attn_norm": "input_layernorm", "attn_q": "self_attn.q_proj", "attn_k": "self_attn.k_proj",
    "attn_v": "self_attn.v_proj", "attn_output": "self_attn.o_proj", "attn_q_norm": "self_attn.q_norm",
    "attn_k_norm": "self_attn.k_norm", "ffn_norm": "post_attention_layernorm", "ffn_gate": "mlp.gate_proj",
    "ffn_up": "mlp.up_proj", "ffn_down": "mlp.down_proj",
}


def hugging_face_name(name):
    parts = name.split(".")
    if parts[0] == "blk":
        return f"model.layers.{parts[1]}.{GGUF_NAMES[parts[2]]}.{parts[3]}"
    return f"{GGUF_NAMES[parts[0]]}.{parts[1]}"


def half_split(values, heads):
    """Rows of q or k from the pair order of GGUF's llama files to Hugging Face's order."""
    head_dim = len(values) // heads
    return values.reshape(heads, head_dim // 2, 2, -1).swapaxes(1, 2).reshape(values.shape)


def read_gguf(path):
    import gguf

    reader = gguf.GGUFReader(path)
    family = reader.get_field("general.architecture").contents()

    def key(name, default=None):
        field = reader.get_field(f"{family}.{name}")
        return default if field is None else field.contents()

    heads, kv_heads = key("attention.head_count"), key("attention.head_count_kv")
    head_dim = key("attention.key_length", key("embedding_length") // heads)
    frequencies = base_frequencies(key("rope.freq_base"), head_dim)
    weights = {}
    for tensor in reader.tensors:
        values = gguf.quants.dequantize(tensor.data, tensor.tensor_type).astype(np.float64)
        if tensor.name == "rope_freqs.weight":
            frequencies = frequencies / values
            continue
        name = hugging_face_name(tensor.name)
        if family == "llama" and (".q_proj." in name or ".k_proj." in name):
            values = half_split(values, heads if ".q_proj." in name else kv_heads)
        weights[name] = values
    return Model(key("block_count"), heads, kv_heads, head_dim, key("attention.layer_norm_rms_epsilon"), frequencies,
                 weights)


# ---- computing


def rms_norm(x, weight, eps):
    return x / np.sqrt((x * x).mean(axis=-1, keepdims=True) + eps) * weight


def rotate(x, frequencies):
    """x: (tokens, heads, head_dim); pairs are (i, i + head_dim / 2)."""
    angles = np.arange(len(x))[:, None] * frequencies[None, :]
    cos, sin = np.cos(angles)[:, None, :], np.sin(angles)[:, None, :]
    first, second = np.split(x, 2, axis=-1)
    return np.concatenate([first * cos - second * sin, second * cos + first * sin], axis=-1)


def attention(model, x, at):
    weights, tokens = model.weights, len(x)

    def project(name, heads):
        y = x @ weights[f"{at}{name}_proj.weight"].T + weights.get(f"{at}{name}_proj.bias", 0.0)
        return y.reshape(tokens, heads, model.head_dim)

    q, k, v = project("q", model.heads), project("k", model.kv_heads), project("v", model.kv_heads)
    if f"{at}q_norm.weight" in weights:
        q = rms_norm(q, weights[f"{at}q_norm.weight"], model.rms_eps)
        k = rms_norm(k, weights[f"{at}k_norm.weight"], model.rms_eps)
    q, k = rotate(q, model.frequencies), rotate(k, model.frequencies)
    mask = np.triu(np.full((tokens, tokens), -np.inf), 1)
    out = np.empty_like(q)
    for head in range(model.heads):
        shared = head // (model.heads // model.kv_heads)
        scores = q[:, head] @ k[:, shared].T / math.sqrt(model.head_dim) + mask
        scores = np.exp(scores - scores.max(axis=-1, keepdims=True))
        out[:, head] = scores / scores.sum(axis=-1, keepdims=True) @ v[:, shared]
    return out.reshape(tokens, -1) @ weights[f"{at}o_proj.weight"].T


def feed_forward(model, x, at):
    gate = x @ model.weights[f"{at}gate_proj.weight"].T
    up = x @ model.weights[f"{at}up_proj.weight"].T
    return gate / (1 + np.exp(-gate)) * up @ model.weights[f"{at}down_proj.weight"].T


def forward(model, tokens):
    """Logits after each token: (tokens, vocabulary)."""
    weights = model.weights
    embedding = weights["model.embed_tokens.weight"]
    x = embedding[tokens]
    for n in range(model.layers):
        at = f"model.layers.{n}."
        x = x + attention(model, rms_norm(x, weights[at + "input_layernorm.weight"], model.rms_eps), at + "self_attn.")
        normed = rms_norm(x, weights[at + "post_attention_layernorm.weight"], model.rms_eps)
        x = x + feed_forward(model, normed, at + "mlp.")
    return rms_norm(x, weights["model.norm.weight"], model.rms_eps) @ weights.get("lm_head.weight", embedding).T


def log_softmax(logits):
    shifted = logits - logits.max(axis=-1, keepdims=True)
    return shifted - np.log(np.exp(shifted).sum(axis=-1, keepdims=True))


# ---- writing


def rounded(values, digits=6):
    return [round(float(value), digits) for value in values]


def reference_of_prompt(model, prompt):
    logits = forward(model, prompt)
    logprobs = log_softmax(logits)
    top = []
    for row in logprobs:
        best = np.argsort(-row, kind="stable")[:TOP]
        top.append([[int(i), round(float(row[i]), 6)] for i in best])
    tokens, greedy, greedy_logprobs, margins = list(prompt), [], [], []
    for _ in range(GREEDY_STEPS):
        last = forward(model, tokens)[-1]
        order = np.argsort(-last, kind="stable")
        greedy.append(int(order[0]))
        greedy_logprobs.append(float(log_softmax(last)[order[0]]))
        margins.append(float(last[order[0]] - last[order[1]]))
        tokens.append(int(order[0]))
    return {"tokens": prompt, "logits": rounded(logits[-1]), "top": top, "greedy": greedy,
            "greedy_logprobs": rounded(greedy_logprobs), "margins": rounded(margins)}


def prompts(vocab):
    """One token, a few, and enough for several pages; fixed, the same for each model."""
    random = np.random.default_rng(7)
    return [[5], [int(t) for t in random.integers(3, vocab, 7)], [int(t) for t in random.integers(3, vocab, 100)]]


def write_reference(source, target):
    model = read_gguf(source) if source.is_file() else read_directory(source)
    vocab = len(model.weights["model.embed_tokens.weight"])
    path = source.resolve()
    document = {"model": str(path.relative_to(ROOT)) if path.is_relative_to(ROOT) else source.name,
                "arithmetic": "float64",
                "prompts": [reference_of_prompt(model, prompt) for prompt in prompts(vocab - 4)]}
    target.write_text(json.dumps(document, separators=(",", ":")).replace('{"tokens"', '\n{"tokens"') + "\n")
    print(target)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("model", nargs="?", type=pathlib.Path)
    parser.add_argument("output", nargs="?", type=pathlib.Path)
    options = parser.parse_args()
    if options.model:
        if not options.output:
            parser.error("where to? name an output file too")
        write_reference(options.model, options.output)
        return
    REFERENCE.mkdir(parents=True, exist_ok=True)
    for source in sorted(MODELS.glob("tiny-*")):
        suffix = "_gguf" if source.is_file() else "_hf"
        write_reference(source, REFERENCE / f"numpy_{source.stem.replace('-', '_')}{suffix}.json")


if __name__ == "__main__":
    main()
