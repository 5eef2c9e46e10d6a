// Weight matrices as the kernels read them: rows (output features) interleaved in panels, quantised blocks unchanged.
//
// A matrix is a run of panels of R rows; the last panel is padded with zero rows. `cols` is the inner dimension K.
//   f32_rows        R = 1: K floats. The exact oracle, nothing is rounded.
//   f16_panel       R = 16: K x 16 binary16, the 16 rows of one column side by side
//   bf16_panel      R = 16: K x 16 bfloat16
//   q*xR            R = 8 (AVX2, portable) or 16 (AVX-512). Per block of 32 columns: R x f16 d, for q4_1 R x f16 m,
//                   then the quants:
//                     q4: 4 chunks of 4R bytes; byte 4r+j of chunk c holds element 4c+j of row r in its low half and
//                         element 16+4c+j in its high half
//                     q8: 8 chunks of 4R bytes; byte 4r+j of chunk c is element 4c+j of row r; in q8_0x16 plus
//                         128, since vpdpbusd takes unsigned weights
//                   A panel is read as one ascending stream: with the scales in a run of their own the prefetchers of
//                   an EPYC Genoa gave half the bandwidth.
// The interleaving follows the measured plan for int8 kernels without horizontal sums; four neighbouring elements of
// a row are what one multiply-add instruction consumes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>

#include "kernels/isa.h"

namespace baton::kernels {

enum class PackedFormat : std::uint8_t {
  f32_rows,
  f16_panel,
  bf16_panel,
  q4_0x8,
  q4_1x8,
  q8_0x8,
  q4_0x16,
  q4_1x16,
  q8_0x16,
};

// How the file holds a tensor. The values are GGUF's type numbers; types not listed are brought to f32 rows by the
// caller (SourceType::other).
enum class SourceType : std::uint32_t { f32 = 0, f16 = 1, q4_0 = 2, q4_1 = 3, q8_0 = 8, bf16 = 30, other = 0xFFFF };

// Owns nothing: the data lies in an arena that outlives every step. Aligned to 64 bytes.
struct PackedMatrix {
  PackedFormat format = PackedFormat::f32_rows;
  std::uint32_t rows = 0;  // output features, without padding
  std::uint32_t cols = 0;
  const std::byte* data = nullptr;
};

// A matrix being packed: zero-filled memory of packed_bytes(), so that padding is zero.
struct PackTarget {
  PackedFormat format = PackedFormat::f32_rows;
  std::uint32_t rows = 0;
  std::uint32_t cols = 0;
  std::byte* data = nullptr;

  PackedMatrix matrix() const noexcept { return {format, rows, cols, data}; }
};

const char* to_string(PackedFormat format) noexcept;

// The format that keeps `type` as exact as its file has it and that `isa` computes fastest. f32 becomes bf16 (8 bits
// of precision), other becomes f16 (11 bits). An exact engine uses f32_rows for everything instead.
PackedFormat preferred_format(SourceType type, Isa isa = host_isa()) noexcept;

bool is_quantised(PackedFormat format) noexcept;
std::uint32_t panel_rows(PackedFormat format) noexcept;

// Bytes of the whole matrix, a multiple of 64. Throws Error(bad_file) if the format is quantised and cols is not a
// multiple of 32, or if rows or cols is 0.
std::size_t packed_bytes(PackedFormat format, std::uint32_t rows, std::uint32_t cols);

// Packs rows [first_row, first_row + count) of a quantised matrix; row_blocks(i) gives the blocks of row first_row + i
// as the file has them (18, 20 or 34 bytes per 32 values, no alignment needed). Fused matrices (q+k+v, gate+up) take
// several calls. Calls for rows of different panels may run at the same time.
void pack_quantised_rows(const PackTarget& target, std::uint32_t first_row, std::uint32_t count,
                         const std::function<const std::byte*(std::uint32_t row)>& row_blocks);

// The same for f32_rows, f16_panel and bf16_panel: row_values(i, out) writes `cols` floats.
void pack_float_rows(const PackTarget& target, std::uint32_t first_row, std::uint32_t count,
                     const std::function<void(std::uint32_t row, float* out)>& row_values);

// Writes the `cols` values of one row, dequantised. Not fast; for embedding look-ups and tests.
void unpack_row(const PackedMatrix& matrix, std::uint32_t row, float* out);

}  // namespace baton::kernels
