#!/usr/bin/env python3
"""Makes the seeds of the fuzz targets for model files, traces and loads: small good files from which libFuzzer starts.

The other inputs in tests/fuzz/corpus were found by the fuzzer and kept (libFuzzer's -merge=1). Needs the packages numpy
and gguf:
    tools/make_fuzz_corpus.py tests/fuzz/corpus
"""

import argparse
import gzip
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


# One trace of each format; the first byte of an input says which is read (trace_fuzz.cc), 15 leaves it to the file.
TRACES = {
    "mooncake": """{"timestamp": 0, "input_length": 1025, "output_length": 5, "hash_ids": [3, 4, 5], "priority": 2}
{"session_id": "a", "timestamp": 7.5, "input_length": 9, "output_length": 0, "hash_ids": [6]}
{"session_id": "a", "delay_ms": 250, "input_length": 19, "output_length": 1}
""",
    "azure": """TIMESTAMP,ContextTokens,GeneratedTokens\r
2023-11-16 18:15:46.6805900,374,44\r
2024-05-12 00:00:00.001023+00:00,3,4""",
    "burstgpt": '''Timestamp,Session ID,Elapsed time,Model,Request tokens,Response tokens,Total tokens,Log Type
5,7,1.2,"GPT, 4",472,18,490,Conversation log
45.5,,1,GPT-4,10,0,10,"API ""log"""
''',
    "vidur": "arrived_at,num_prefill_tokens,num_decode_tokens\n0.25,10,2\n1e1,374.0,3\n",
    "splitwise": """request_id,request_type,application_id,arrival_timestamp,batch_size,prompt_size,token_size
17,2,0,1.5,1,100,20
""",
    "distserve": """[{"start_time": 100.5, "prompt_len": 7,
 "output_len": 3, "note": "]}\\""}, {"start_time": 101, "prompt_len": 8, "output_len": 4}]""",
    "rtp_llm": """{"ts": 56, "il": 2100, "ol": 0, "bh": ["29", "-7"], "priority": 70}""",
    "bailian": """{"chat_id": 159, "parent_chat_id": -1, "timestamp": 61.114, "input_length": 21, \
"output_length": 132, "turn": 1, "hash_ids": [1, 2]}
{"chat_id": 160, "parent_chat_id": 159, "timestamp": 62, "input_length": 32, "output_length": 1, "turn": 2}
""",
    "llmservingsim": """{"arrival_time_ns": 5, "input_toks": 2, "output_toks": 1, "input_tok_ids": [1, 2], \
"output_tok_ids": [3]}
{"arrival_time_ns": 9, "sub_requests": [{"input_toks": 10, "output_toks": 1, "tool_duration_ns": 77}, \
{"input_toks": 12, "output_toks": 2}]}
""",
    "vllm_bench": """{"request_id":"b-0","arrival_ns":46,"input_length":20,"output_length":14,"hash_ids16":[1,2,3]}""",
    "lengths": "num_prefill_tokens,num_decode_tokens\n3772,54\n",
    "servegen": """category,window_start_s,rate_rps,active_clients,rate_weighted_interarrival_cv,mean_input_tokens,\
mean_output_tokens
a,600,40,1,1,100,20
a,700,0,0,,,
a,800,80,1,2,200,30
""",
}

LOADS = {
    "chats": """requests = 300
arrivals = "gamma:5,2"
turns = "uniform:1,4"
think = "exponential:5s"
prefix-groups = 3
prefix-zipf = 1.1
prefix-tokens = "lognormal:300,1"
block-tokens = 32
context-max = 5000
""",
    "bursts": 'arrivals = "onoff:5,2s,500ms"\nduration = "1h"\ninput = 100\noutput = "exponential:20"\nseed = 7\n',
    "steady": 'arrivals = "constant:0.5"\nlengths = "x.csv"\n',
}


def texts(folder):
    for index, (name, text) in enumerate(TRACES.items()):
        (folder / f"fuzz_trace/{name}").write_bytes(bytes([index]) + text.encode())
        (folder / f"fuzz_trace/{name}.any.gz").write_bytes(b"\x1f" + gzip.compress(text.encode(), mtime=0))
    for name, text in LOADS.items():
        (folder / f"fuzz_load/{name}").write_text(text)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=pathlib.Path)
    folder = parser.parse_args().folder
    for name in ("fuzz_gguf", "fuzz_safetensors", "fuzz_config", "fuzz_trace", "fuzz_load"):
        (folder / name).mkdir(parents=True, exist_ok=True)
    texts(folder)
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
