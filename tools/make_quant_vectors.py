#!/usr/bin/env python3
"""Makes tests/data/quants/vectors.safetensors: random blocks of every GGUF tensor type and the values they stand for.

The values come from the Python package `gguf` (gguf.quants.dequantize; ggml-org/llama.cpp, MIT licence), so that
src/model/files/dequantize.cc is compared with code that is not ours. For each type: "TYPE.blocks" (rows, bytes) as U8
and "TYPE.values" (rows, values) as F32. All bytes are random but the half-precision scales, which are kept finite.

Needs the packages numpy and gguf:
    tools/make_quant_vectors.py
"""

import json
import pathlib
import struct

import gguf
import numpy as np

OUTPUT = pathlib.Path(__file__).resolve().parent.parent / "tests/data/quants/vectors.safetensors"
VALUES_PER_ROW = 512
ROWS = 2

# Where each block keeps 16-bit scales (all types but BF16 and F32: little-endian half precision).
SCALES_AT = {"F16": [0], "Q4_0": [0], "Q4_1": [0, 2], "Q5_0": [0], "Q5_1": [0, 2], "Q8_0": [0], "Q4_K": [0, 2],
             "Q5_K": [0, 2], "Q6_K": [208]}


def random_blocks(random, name):
    kind = gguf.GGMLQuantizationType[name]
    elements, size = gguf.GGML_QUANT_SIZES[kind]
    blocks = random.integers(0, 256, (ROWS * VALUES_PER_ROW // elements, size), dtype=np.uint8)
    for at in SCALES_AT.get(name, []):
        scales = random.normal(0, 0.05, len(blocks)).astype("<f2")
        scales[::7] *= np.float16(1e-5)  # subnormal ones
        blocks[:, at:at + 2] = scales.view(np.uint8).reshape(-1, 2)
    if name in ("F32", "BF16"):  # keep the exponent away from infinities
        blocks[:, -1] = (blocks[:, -1] & 0x80) | 0x3E
    return blocks.reshape(ROWS, -1), kind


def main():
    random = np.random.default_rng(11)
    header, data = {}, bytearray()

    def add(name, dtype, values):
        raw = values.tobytes()
        header[name] = {"dtype": dtype, "shape": list(values.shape), "data_offsets": [len(data), len(data) + len(raw)]}
        data.extend(raw)

    for name in ["F32", "F16", "BF16", "Q4_0", "Q4_1", "Q5_0", "Q5_1", "Q8_0", "Q4_K", "Q5_K", "Q6_K"]:
        blocks, kind = random_blocks(random, name)
        stored = blocks.view({"F32": "<f4", "F16": "<f2"}[name]) if name in ("F32", "F16") else blocks
        add(f"{name}.blocks", "U8", blocks)
        add(f"{name}.values", "F32", gguf.quants.dequantize(stored, kind).astype("<f4"))
    header["__metadata__"] = {"source": "gguf.quants.dequantize of the Python package gguf (MIT)"}
    text = json.dumps(header, separators=(",", ":")).encode()
    text += b" " * (-len(text) % 8)
    OUTPUT.parent.mkdir(parents=True, exist_ok=True)
    OUTPUT.write_bytes(struct.pack("<Q", len(text)) + text + data)
    print(OUTPUT)


if __name__ == "__main__":
    main()
