// The operators of a forward step. Declared once; another device adds its own implementation beside the CPU's.
//
// All of them: called by the thread that holds the Lane, between operators, and done when they return. Activations are
// f32, row-major, one row per token. A row's result is the same to the bit whatever other rows are in the call,
// however a prompt was cut into chunks, whatever the page size and the thread count: every output element is summed
// by one thread in one order that depends on the element alone. (It does depend on the instruction set.)
// Inputs must be finite. Sizes that do not fit each other are bugs (BATON_CHECK).
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "kernels/attention.h"
#include "kernels/compute_pool.h"
#include "kernels/packed_matrix.h"

namespace baton::kernels {

// out[i] = row tokens[i] of the table; out is [tokens, table.cols]. Token ids must be below table.rows.
void embed(Lane& lane, const PackedMatrix& table, std::span<const std::int32_t> tokens, float* out);

// out[r] = x[r] / sqrt(mean(x[r]^2) + eps) * weight, over `dim` values; rows without gaps. out may be x.
void rms_norm(Lane& lane, const float* x, const float* weight, float eps, std::size_t rows, std::size_t dim,
              float* out);

// In place on [rows, heads, head_dim] where rows are row_stride floats apart (Qwen3 normalises q and k so).
void rms_norm_heads(Lane& lane, float* x, std::size_t row_stride, const float* weight, float eps, std::size_t rows,
                    std::size_t heads, std::size_t head_dim);

// out[r][n] = x[r] . w[n] + bias[n], or += with accumulate. x is [rows, w.cols] without gaps; out rows are out_stride
// floats apart and w.rows long. Quantised formats round each run of 32 activations to int8 first (0.5 % rms of a
// product on Gaussian data). bias may be null.
void matmul(Lane& lane, const float* x, std::size_t rows, const PackedMatrix& w, const float* bias, float* out,
            std::size_t out_stride, bool accumulate = false);

// matmul on rms_norm(x), normalising and rounding a row in one go. Equal to the two calls to the bit.
void norm_matmul(Lane& lane, const float* x, const float* norm_weight, float eps, std::size_t rows,
                 const PackedMatrix& w, const float* bias, float* out, std::size_t out_stride);

// The first half of a gated feed-forward layer: with y = rms_norm(x) and w = [gate; up] of 2 * ffn rows,
// out[r][i] = silu(y[r] . gate[i]) * (y[r] . up[i]). out is [rows, ffn]. Without norm_weight (null), y = x.
void gate_up_silu(Lane& lane, const float* x, const float* norm_weight, float eps, std::size_t rows,
                  const PackedMatrix& gate_up, float* out);

// Rotates the pairs (i, i + head_dim / 2) of every head by the row's angles. x is [rows, heads, head_dim], rows
// row_stride floats apart; cosines and sines are [rows, head_dim / 2].
void rope(Lane& lane, float* x, std::size_t row_stride, std::size_t rows, std::size_t heads, std::size_t head_dim,
          const float* cosines, const float* sines);

// out[i] = silu(gate[i]) * up[i], silu(z) = z / (1 + exp(-z)). out may be gate.
void silu_mul(Lane& lane, const float* gate, const float* up, std::size_t count, float* out);

// out[i] += x[i]
void add(Lane& lane, const float* x, std::size_t count, float* out);

}  // namespace baton::kernels
