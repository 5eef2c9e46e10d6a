#!/usr/bin/env python3
"""Makes the seeds of the fuzz targets for model files: small good files from which libFuzzer starts.

The other inputs in tests/fuzz/corpus were found by the fuzzer and kept (libFuzzer's -merge=1). Needs the packages numpy
and gguf:
    tools/make_fuzz_corpus.py tests/fuzz/corpus
"""

import argparse
import json
import pathlib
import struct

import gguf
import numpy as np

import make_tiny_model as models


def tiny_gguf(path, family, extra):
    """A model of 2 tokens and 32 hidden values, with one value of each kind that `extra` adds."""
    writer = gguf.GGUFWriter(path, family)
    writer.add_block_count(1)
    writer.add_context_length(16)
    writer.add_embedding_length(32)
    writer.add_feed_forward_length([32])
    writer.add_head_count(2)
    writer.add_head_count_kv(1)
    writer.add_layer_norm_rms_eps(1e-5)
    writer.add_token_list(["a", "<|im_end|>"])
    writer.add_token_types([1, 3])
    writer.add_eos_token_id(1)
    extra(writer)
    writer.add_tensor("token_embd.weight", gguf.quants.quantize(np.ones((2, 32), np.float32),
                                                                gguf.GGMLQuantizationType.Q4_0),
                      raw_dtype=gguf.GGMLQuantizationType.Q4_0)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file(progress=False)
    writer.close()


def plain(writer):
    writer.add_bool("some.flag", True)
    writer.add_float64("some.double", 0.5)
    writer.add_int64("some.int", -3)
    writer.add_chat_template("{{ messages }}")


def scaled(writer):
    writer.add_rope_scaling_type(gguf.RopeScalingType.LINEAR)
    writer.add_rope_scaling_factor(4.0)
    writer.add_key_length(16)
    writer.add_value_length(16)
    writer.add_custom_alignment(64)


def divided(writer):
    writer.add_tensor("rope_freqs.weight", np.ones(8, np.float32))
    writer.add_array("some.nested", [[1, 2], [3]])


def safetensors(path, header, data):
    text = json.dumps(header).encode()
    path.write_bytes(struct.pack("<Q", len(text)) + text + data)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=pathlib.Path)
    folder = parser.parse_args().folder
    for name in ("fuzz_gguf", "fuzz_safetensors", "fuzz_config"):
        (folder / name).mkdir(parents=True, exist_ok=True)
    tiny_gguf(folder / "fuzz_gguf/plain", "llama", plain)
    tiny_gguf(folder / "fuzz_gguf/scaled", "qwen2", scaled)
    tiny_gguf(folder / "fuzz_gguf/divided", "qwen3", divided)
    entry = {"dtype": "BF16", "shape": [2, 1], "data_offsets": [0, 4]}
    safetensors(folder / "fuzz_safetensors/one", {"t": entry}, b"1234")
    scalar = {"dtype": "F32", "shape": [], "data_offsets": [4, 8]}
    two = {"__metadata__": {"format": "pt"}, "t": entry, "u": scalar}
    safetensors(folder / "fuzz_safetensors/two", two, b"12345678")
    for name, (shape, family, *_) in models.MODELS.items():
        tokenizer = models.tokenizers.Tokenizer(family, "", 256 + len(family.specials))
        config = models.config_json(shape, tokenizer)
        (folder / f"fuzz_config/{name}.json").write_text(json.dumps(config))


if __name__ == "__main__":
    main()
