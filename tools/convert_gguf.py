#!/usr/bin/env python3
"""Rewrites the weight matrices of a GGUF file in another number format: F32, F16, BF16, Q8_0, Q4_0, Q4_1, ...

For benchmarks and tests that need the same model in several formats. Every matrix is read to float and written anew;
norms, biases and all metadata stay as they are. Going from a quantised file to F16 or Q8_0 keeps its values (within the
rounding of the new format); going to a smaller format loses precision twice, which does not matter for speed.

Needs the packages `gguf` and `numpy`. Example:
    tools/convert_gguf.py ~/.cache/baton/models/SmolLM2-135M-Instruct.Q4_1.gguf build/smollm2.F16.gguf F16
"""

import argparse
import sys

import gguf
import numpy as np

FILE_TYPES = {  # general.file_type, as llama.cpp numbers it
    "F32": gguf.LlamaFileType.ALL_F32,
    "F16": gguf.LlamaFileType.MOSTLY_F16,
    "BF16": gguf.LlamaFileType.MOSTLY_BF16,
    "Q8_0": gguf.LlamaFileType.MOSTLY_Q8_0,
    "Q4_0": gguf.LlamaFileType.MOSTLY_Q4_0,
    "Q4_1": gguf.LlamaFileType.MOSTLY_Q4_1,
    "Q5_0": gguf.LlamaFileType.MOSTLY_Q5_0,
    "Q5_1": gguf.LlamaFileType.MOSTLY_Q5_1,
}


def copy_metadata(reader, writer, file_type):
    for field in reader.fields.values():
        if field.name.startswith("GGUF.") or field.name in ("general.architecture", "general.file_type"):
            continue
        kind = field.types[0]
        element = field.types[-1] if kind == gguf.GGUFValueType.ARRAY else None
        writer.add_key_value(field.name, field.contents(), kind, sub_type=element)
    writer.add_file_type(file_type)


def convert(source, target, type_name):
    reader = gguf.GGUFReader(source)
    architecture = reader.get_field("general.architecture").contents()
    writer = gguf.GGUFWriter(target, architecture)
    copy_metadata(reader, writer, FILE_TYPES[type_name])
    target_type = gguf.GGMLQuantizationType[type_name]
    for tensor in reader.tensors:
        if len(tensor.shape) < 2:
            writer.add_tensor(tensor.name, tensor.data, raw_dtype=tensor.tensor_type)
            continue
        values = gguf.quants.dequantize(tensor.data, tensor.tensor_type).astype(np.float32)
        data = gguf.quants.quantize(values, target_type)
        writer.add_tensor(tensor.name, data, raw_dtype=target_type)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file(progress=False)
    writer.close()


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("source", help="the GGUF file to read")
    parser.add_argument("target", help="the GGUF file to write")
    parser.add_argument("type", choices=sorted(FILE_TYPES), help="number format of the matrices")
    arguments = parser.parse_args()
    convert(arguments.source, arguments.target, arguments.type)
    print(arguments.target)
    return 0


if __name__ == "__main__":
    sys.exit(main())
