// Stored weights to float, one row at a time: the plain portable reading of every format.
//
// It is the oracle of the kernels and good enough wherever speed does not matter (norms, biases, embedding rows,
// repacking). Pure functions, any thread. Nothing needs alignment.
#pragma once

#include <cstddef>
#include <cstdint>

#include "model/files/tensor_types.h"

namespace baton {

// Reads `elements` values, a whole number of blocks (BATON_CHECK), from `row` into `out`.
void dequantize_row(TensorType type, const std::byte* row, std::size_t elements, float* out);

float half_to_float(std::uint16_t bits) noexcept;      // IEEE 754 binary16, subnormals, infinities and NaN included
float bfloat16_to_float(std::uint16_t bits) noexcept;  // the upper half of a float

}  // namespace baton
