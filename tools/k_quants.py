"""Quantises float rows to GGUF's Q4_K, Q5_K and Q6_K blocks, which the Python package `gguf` only reads.

Plain rounding to the nearest step, without the search for better scales that llama-quantize does: made for test models.
The layouts are those that src/model/files/dequantize.cc describes.
"""

import numpy as np


def _half_bytes(values):
    return values.astype("<f2").view(np.uint8).reshape(len(values), -1)


def _pack_scales(scales, mins):
    """(n, 8) scales and minima of 6 bits each into (n, 12) bytes."""
    packed = np.zeros((len(scales), 12), np.uint8)
    packed[:, 0:4] = (scales[:, 0:4] & 63) | ((scales[:, 4:8] >> 4) << 6)
    packed[:, 4:8] = (mins[:, 0:4] & 63) | ((mins[:, 4:8] >> 4) << 6)
    packed[:, 8:12] = (scales[:, 4:8] & 15) | ((mins[:, 4:8] & 15) << 4)
    return packed


def _scales_and_quants(rows, levels):
    """Runs of 32 of each super-block: 16-bit d and dmin, 6-bit scales and minima, and the quants, (n, 8, 32)."""
    runs = rows.reshape(-1, 8, 32).astype(np.float32)
    low = np.minimum(runs.min(axis=2), 0)
    step = (runs.max(axis=2) - low) / levels
    d = (step.max(axis=1) / 63).astype(np.float16).astype(np.float32)
    dmin = (-low.min(axis=1) / 63).astype(np.float16).astype(np.float32)
    scales = np.clip(np.rint(step / np.maximum(d, 1e-12)[:, None]), 0, 63)
    mins = np.clip(np.rint(-low / np.maximum(dmin, 1e-12)[:, None]), 0, 63)
    divisor = np.maximum(d[:, None] * scales, 1e-12)[:, :, None]
    quants = np.clip(np.rint((runs + (dmin[:, None] * mins)[:, :, None]) / divisor), 0, levels)
    return d, dmin, scales.astype(np.uint8), mins.astype(np.uint8), quants.astype(np.uint8)


def _nibbles(quants):
    """(n, 8, 32) values below 16: run 2c in the low halves of 32 bytes, run 2c + 1 in the high halves."""
    return (quants[:, 0::2] | (quants[:, 1::2] << 4)).reshape(len(quants), 128)


def _q4_k(rows):
    d, dmin, scales, mins, quants = _scales_and_quants(rows, 15)
    return np.concatenate([_half_bytes(d), _half_bytes(dmin), _pack_scales(scales, mins), _nibbles(quants)], axis=1)


def _q5_k(rows):
    d, dmin, scales, mins, quants = _scales_and_quants(rows, 31)
    fifth = np.zeros((len(quants), 32), np.uint8)
    for run in range(8):
        fifth |= (quants[:, run] >> 4) << run
    head = [_half_bytes(d), _half_bytes(dmin), _pack_scales(scales, mins)]
    return np.concatenate(head + [fifth, _nibbles(quants & 15)], axis=1)


def _q6_k(rows):
    groups = rows.reshape(-1, 16, 16).astype(np.float32)
    step = np.abs(groups).max(axis=2) / 31
    d = (step.max(axis=1) / 127).astype(np.float16).astype(np.float32)
    scales = np.clip(np.rint(step / np.maximum(d, 1e-12)[:, None]), 0, 127)
    divisor = np.maximum(d[:, None] * scales, 1e-12)[:, :, None]
    quants = (np.clip(np.rint(groups / divisor), -32, 31) + 32).astype(np.uint8)
    runs = quants.reshape(-1, 2, 4, 32)  # two halves, four runs of 32
    low = runs & 15
    low_bytes = np.stack([low[:, :, 0] | (low[:, :, 2] << 4), low[:, :, 1] | (low[:, :, 3] << 4)], axis=2)
    high = runs >> 4
    high_bytes = high[:, :, 0] | (high[:, :, 1] << 2) | (high[:, :, 2] << 4) | (high[:, :, 3] << 6)
    parts = [low_bytes.reshape(-1, 128), high_bytes.reshape(-1, 64), scales.astype(np.int8).view(np.uint8)]
    return np.concatenate(parts + [_half_bytes(d)], axis=1)


QUANTISERS = {"Q4_K": _q4_k, "Q5_K": _q5_k, "Q6_K": _q6_k}


def quantise(matrix, type_name):
    """(rows, cols) float32, cols a multiple of 256, to (rows, bytes) uint8."""
    rows, cols = matrix.shape
    if cols % 256 != 0:
        raise ValueError(f"{type_name} needs rows of a multiple of 256 values, not {cols}")
    return QUANTISERS[type_name](matrix).reshape(rows, -1)
