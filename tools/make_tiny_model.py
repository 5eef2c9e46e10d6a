#!/usr/bin/env python3
"""Makes the tiny random models of tests/data/models: every family, every number format, GGUF and Hugging Face.

The weights are random but fixed by a seed, so their text is nonsense; what they test is that files are read right and
that the arithmetic is that of their family. `tiny-chat.gguf` stands in for the default model where that cannot be had.

    name                     family, what is special
    tiny-chat.gguf           llama, Q4_1 with a tied Q8_0 embedding like the default model, ChatML
    tiny-llama-mixed.gguf    llama, untied, a tensor of each of F32 F16 BF16 Q4_0 Q4_1 Q5_0 Q5_1 Q8_0, q/k/v biases
    tiny-llama-k.gguf        llama, Q4_K, Q5_K and Q6_K
    tiny-llama-3.gguf        llama, BF16, untied, RoPE divisors; the same weights as tiny-llama-3/
    tiny-llama-3/            the same as two safetensors shards, RoPE scaling "llama3"
    tiny-qwen2.gguf, /       qwen2: biases, tied; the same weights in both
    tiny-qwen3.gguf, /       qwen3: q and k norms, head_dim not hidden / heads, untied; the same weights in both

Needs the packages numpy and gguf:
    tools/make_tiny_model.py tests/data/models            # all of them
    tools/make_tiny_model.py build/models tiny-chat.gguf  # one
"""

import argparse
import dataclasses
import json
import math
import pathlib
import struct

import gguf
import numpy as np

import k_quants
import tiny_tokenizer as tokenizers

CORPUS = pathlib.Path(__file__).resolve().parent.parent / "tests/data/models/corpus.txt"
LLAMA3_SCALING = {"rope_type": "llama3", "factor": 8.0, "low_freq_factor": 1.0, "high_freq_factor": 4.0,
                  "original_max_position_embeddings": 64}


@dataclasses.dataclass(frozen=True)
class Shape:
    family: str
    layers: int = 2
    hidden: int = 64
    heads: int = 4
    kv_heads: int = 2
    head_dim: int = 16
    ffn: int = 96
    tied: bool = True
    bias: bool = False
    qk_norm: bool = False
    llama3_scaling: bool = False
    rope_base: float = 10000.0
    context: int = 4096
    rms_eps: float = 1e-5


def to_bf16_values(values):
    """Float32 values rounded to the nearest that bf16 can hold, ties to even."""
    bits = values.astype(np.float32).view(np.uint32)
    bits = bits + 0x7FFF + ((bits >> 16) & 1)
    return (bits & np.uint32(0xFFFF0000)).view(np.float32)


def make_weights(shape, vocab, seed):
    """All tensors under their Hugging Face names, in bf16 values, rows as in a Hugging Face checkpoint."""
    random = np.random.default_rng(seed)
    weights = {}

    def matrix(name, rows, cols, gain=1.0):
        weights[name] = to_bf16_values(random.normal(0, gain / math.sqrt(cols), (rows, cols)))

    def vector(name, size, mean, spread):
        weights[name] = to_bf16_values(random.normal(mean, spread, size))

    weights["model.embed_tokens.weight"] = to_bf16_values(random.normal(0, 0.3, (vocab, shape.hidden)))
    q_rows, kv_rows = shape.heads * shape.head_dim, shape.kv_heads * shape.head_dim
    for n in range(shape.layers):
        at = f"model.layers.{n}."
        vector(at + "input_layernorm.weight", shape.hidden, 1, 0.1)
        for name, rows in (("q", q_rows), ("k", kv_rows), ("v", kv_rows)):
            matrix(at + f"self_attn.{name}_proj.weight", rows, shape.hidden, 1.5)
            if shape.bias:
                vector(at + f"self_attn.{name}_proj.bias", rows, 0, 0.3)
        if shape.qk_norm:
            vector(at + "self_attn.q_norm.weight", shape.head_dim, 1.5, 0.3)
            vector(at + "self_attn.k_norm.weight", shape.head_dim, 1.5, 0.3)
        matrix(at + "self_attn.o_proj.weight", shape.hidden, q_rows, 1.5)
        vector(at + "post_attention_layernorm.weight", shape.hidden, 1, 0.1)
        matrix(at + "mlp.gate_proj.weight", shape.ffn, shape.hidden, 1.5)
        matrix(at + "mlp.up_proj.weight", shape.ffn, shape.hidden, 1.5)
        matrix(at + "mlp.down_proj.weight", shape.hidden, shape.ffn, 1.5)
    vector("model.norm.weight", shape.hidden, 1, 0.1)
    if not shape.tied:
        weights["lm_head.weight"] = to_bf16_values(random.normal(0, 0.3, (vocab, shape.hidden)))
    return weights


# ---- GGUF

GGUF_NAMES = {
    "model.embed_tokens": "token_embd", "model.norm": "output_norm", "lm_head": "output",
    "input_layernorm": "attn_norm", "self_attn.q_proj": "attn_q", "self_attn.k_proj": "attn_k",
    "self_attn.v_proj": "attn_v", "self_attn.o_proj": "attn_output", "self_attn.q_norm": "attn_q_norm",
    "self_attn.k_norm": "attn_k_norm", "post_attention_layernorm": "ffn_norm", "mlp.gate_proj": "ffn_gate",
    "mlp.up_proj": "ffn_up", "mlp.down_proj": "ffn_down",
}


def gguf_name(name):
    stem, kind = name.rsplit(".", 1)
    if stem.startswith("model.layers."):
        layer, part = stem[len("model.layers."):].split(".", 1)
        return f"blk.{layer}.{GGUF_NAMES[part]}.{kind}"
    return f"{GGUF_NAMES[stem]}.{kind}"


def interleave(values, heads):
    """Rows of q or k from Hugging Face's half-split order to the pair order of GGUF's llama files."""
    head_dim = len(values) // heads
    return values.reshape(heads, 2, head_dim // 2, -1).swapaxes(1, 2).reshape(values.shape)


def rope_divisors(shape):
    """What llama.cpp's converter stores for RoPE scaling "llama3"."""
    scaling = LLAMA3_SCALING
    divisors = []
    for i in range(shape.head_dim // 2):
        wavelength = 2 * math.pi * shape.rope_base ** (2 * i / shape.head_dim)
        turns = scaling["original_max_position_embeddings"] / wavelength
        low, high = scaling["low_freq_factor"], scaling["high_freq_factor"]
        if turns > high:
            divisors.append(1.0)
        elif turns < low:
            divisors.append(scaling["factor"])
        else:
            blend = (turns - low) / (high - low)
            divisors.append(1 / ((1 - blend) / scaling["factor"] + blend))
    return np.array(divisors, np.float32)


def add_gguf_tensor(writer, name, values, type_name):
    if type_name == "F32":
        writer.add_tensor(name, values.astype(np.float32))
        return
    kind = gguf.GGMLQuantizationType[type_name]
    data = (k_quants.quantise(values, type_name) if type_name in k_quants.QUANTISERS
            else gguf.quants.quantize(values.astype(np.float32), kind))
    writer.add_tensor(name, data, raw_dtype=kind)


def write_gguf(path, shape, tokenizer, weights, type_of):
    """`type_of(name)` gives the number format of a matrix by its GGUF name; vectors stay F32."""
    writer = gguf.GGUFWriter(path, shape.family)
    writer.add_name(path.stem)
    writer.add_block_count(shape.layers)
    writer.add_context_length(shape.context)
    writer.add_embedding_length(shape.hidden)
    writer.add_feed_forward_length(shape.ffn)
    writer.add_head_count(shape.heads)
    writer.add_head_count_kv(shape.kv_heads)
    writer.add_layer_norm_rms_eps(shape.rms_eps)
    writer.add_rope_freq_base(shape.rope_base)
    writer.add_rope_dimension_count(shape.head_dim)
    writer.add_vocab_size(tokenizer.rows)
    if shape.head_dim * shape.heads != shape.hidden:
        writer.add_key_length(shape.head_dim)
        writer.add_value_length(shape.head_dim)
    tokenizer.write_gguf(writer, gguf.TokenType)
    if shape.llama3_scaling:
        writer.add_tensor("rope_freqs.weight", rope_divisors(shape))
    for name, values in weights.items():
        if shape.family == "llama" and (".q_proj." in name or ".k_proj." in name):
            values = interleave(values, shape.heads if ".q_proj." in name else shape.kv_heads)
        kind = type_of(gguf_name(name)) if values.ndim == 2 else "F32"
        add_gguf_tensor(writer, gguf_name(name), values, kind)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file(progress=False)
    writer.close()


# ---- Hugging Face directories


def write_safetensors(path, tensors):
    """All tensors as BF16, one after another in the order of their names."""
    header, data = {"__metadata__": {"format": "pt"}}, bytearray()
    for name, values in sorted(tensors.items()):
        raw = (values.view(np.uint32) >> 16).astype("<u2").tobytes()
        header[name] = {"dtype": "BF16", "shape": list(values.shape), "data_offsets": [len(data), len(data) + len(raw)]}
        data += raw
    text = json.dumps(header, separators=(",", ":")).encode()
    text += b" " * (-len(text) % 8)
    path.write_bytes(struct.pack("<Q", len(text)) + text + data)


def config_json(shape, tokenizer):
    config = {
        "architectures": [{"llama": "Llama", "qwen2": "Qwen2", "qwen3": "Qwen3"}[shape.family] + "ForCausalLM"],
        "model_type": shape.family, "hidden_size": shape.hidden, "intermediate_size": shape.ffn,
        "num_hidden_layers": shape.layers, "num_attention_heads": shape.heads, "num_key_value_heads": shape.kv_heads,
        "vocab_size": tokenizer.rows, "max_position_embeddings": shape.context, "rms_norm_eps": shape.rms_eps,
        "rope_theta": shape.rope_base, "rope_scaling": LLAMA3_SCALING if shape.llama3_scaling else None,
        "tie_word_embeddings": shape.tied, "hidden_act": "silu", "torch_dtype": "bfloat16",
        "eos_token_id": tokenizer.end_ids()[0],
    }
    if shape.family == "qwen2":
        config |= {"use_sliding_window": False, "sliding_window": 4096, "max_window_layers": shape.layers}
    else:
        config |= {"attention_bias": False, "head_dim": shape.head_dim}
    return config


def dump(path, document):
    path.write_text(json.dumps(document, indent=1, ensure_ascii=False) + "\n")


def write_directory(path, shape, tokenizer, weights, shards):
    path.mkdir(exist_ok=True)
    dump(path / "config.json", config_json(shape, tokenizer))
    dump(path / "generation_config.json", {"eos_token_id": tokenizer.end_ids()})
    dump(path / "tokenizer_config.json", {
        "chat_template": tokenizer.family.template, "bos_token": tokenizer.family.bos,
        "eos_token": tokenizer.family.ends[0], "tokenizer_class": "PreTrainedTokenizerFast"})
    (path / "tokenizer.json").write_text(
        json.dumps(tokenizer.tokenizer_json(), ensure_ascii=False, separators=(",", ":")) + "\n")
    if shards == 1:
        write_safetensors(path / "model.safetensors", weights)
        return
    names = sorted(weights)
    weight_map = {}
    for shard in range(shards):
        file = f"model-{shard + 1:05}-of-{shards:05}.safetensors"
        part = {name: weights[name] for name in names[shard::shards]}
        write_safetensors(path / file, part)
        weight_map |= dict.fromkeys(part, file)
    total = sum(values.size * 2 for values in weights.values())
    dump(path / "model.safetensors.index.json", {"metadata": {"total_size": total}, "weight_map": weight_map})


# ---- the models


def chat_type(name):
    return "Q8_0" if name == "token_embd.weight" else "Q4_1"


def mixed_type(name):
    parts = {"token_embd": "F16", "output": "Q8_0", "attn_q": "Q4_0", "attn_k": "Q5_0", "attn_v": "Q5_1",
             "attn_output": "BF16", "ffn_gate": "Q4_1", "ffn_up": "F32", "ffn_down": "Q8_0"}
    return parts[name.removesuffix(".weight").split(".")[-1]]


def k_type(name):
    parts = {"token_embd": "Q6_K", "attn_q": "Q4_K", "attn_k": "Q5_K", "attn_v": "Q6_K", "attn_output": "Q5_0",
             "ffn_gate": "Q5_K", "ffn_up": "Q4_K", "ffn_down": "Q6_K"}
    return parts[name.removesuffix(".weight").split(".")[-1]]


LLAMA = Shape("llama")
LLAMA_3 = Shape("llama", tied=False, llama3_scaling=True, rope_base=500000.0)
QWEN2 = Shape("qwen2", bias=True, rope_base=1000000.0, rms_eps=1e-6)
QWEN3 = Shape("qwen3", head_dim=32, qk_norm=True, tied=False, rope_base=1000000.0, rms_eps=1e-6)

# name: shape, family of the tokenizer, padding of the embedding, seed, types in GGUF, shards of the directory
MODELS = {
    "tiny-chat": (LLAMA, tokenizers.SMOLLM, 0, 1, chat_type, 0),
    "tiny-llama-mixed": (dataclasses.replace(LLAMA, tied=False, bias=True), tokenizers.SMOLLM, 0, 2, mixed_type, 0),
    "tiny-llama-k": (dataclasses.replace(LLAMA, layers=1, hidden=256, heads=2, kv_heads=1, head_dim=64, ffn=256),
                     tokenizers.SMOLLM, 0, 3, k_type, 0),
    "tiny-llama-3": (LLAMA_3, tokenizers.LLAMA, 0, 4, lambda name: "BF16", 2),
    "tiny-qwen2": (QWEN2, tokenizers.QWEN, 4, 5, lambda name: "BF16", 1),
    "tiny-qwen3": (QWEN3, tokenizers.QWEN, 4, 6, lambda name: "BF16", 1),
}
TOKENS = 380


def make(folder, wanted):
    text = CORPUS.read_text()
    for name, (shape, family, padding, seed, type_of, shards) in MODELS.items():
        tokenizer = tokenizers.Tokenizer(family, text, TOKENS, padding)
        weights = make_weights(shape, tokenizer.rows, seed)
        if not wanted or f"{name}.gguf" in wanted:
            write_gguf(folder / f"{name}.gguf", shape, tokenizer, weights, type_of)
            print(folder / f"{name}.gguf")
        if shards and (not wanted or name in wanted):
            write_directory(folder / name, shape, tokenizer, weights, shards)
            print(folder / name)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=pathlib.Path, help="where to put them")
    parser.add_argument("names", nargs="*", help="which ones, as in the table above; all by default")
    options = parser.parse_args()
    known = [f"{name}.gguf" for name in MODELS] + [name for name, model in MODELS.items() if model[-1]]
    unknown = [name for name in options.names if name not in known]
    if unknown:
        parser.error(f"no such model: {', '.join(unknown)}; there are {', '.join(known)}")
    options.folder.mkdir(parents=True, exist_ok=True)
    make(options.folder, options.names)


if __name__ == "__main__":
    main()
