// Where the parts of a panel lie; shared by packing and by the kernels. See packed_matrix.h for the picture.
// Internal linkage because kernels compiled for several instruction sets include it.
#pragma once

#include <cstddef>
#include <cstdint>

#include "kernels/packed_matrix.h"

namespace baton::kernels {

struct PanelGeometry {
  std::uint32_t rows = 1;        // R
  std::size_t quant_offset = 0;  // bytes of scales at the begin of a block
  std::size_t block_stride = 0;  // bytes of R rows by 32 columns; 0 for float formats
  std::size_t panel_stride = 0;  // bytes from panel to panel
};

[[maybe_unused]] constexpr std::uint32_t kBlockCols = 32;

[[maybe_unused]] static constexpr std::size_t round_up_64(std::size_t bytes) noexcept {
  return (bytes + 63) / 64 * 64;
}

[[maybe_unused]] static constexpr PanelGeometry quantised_geometry(std::uint32_t rows, std::size_t scales,
                                                                   std::size_t bits, std::uint32_t cols) noexcept {
  const std::size_t blocks = cols / kBlockCols;
  PanelGeometry geometry;
  geometry.rows = rows;
  geometry.quant_offset = scales * rows * 2;
  geometry.block_stride = geometry.quant_offset + bits * kBlockCols / 8 * rows;
  geometry.panel_stride = geometry.block_stride * blocks;
  return geometry;
}

[[maybe_unused]] static constexpr PanelGeometry panel_geometry(PackedFormat format, std::uint32_t cols) noexcept {
  switch (format) {
    case PackedFormat::f32_rows:
      return {1, 0, 0, std::size_t{cols} * 4};
    case PackedFormat::f16_panel:
    case PackedFormat::bf16_panel:
      return {16, 0, 0, round_up_64(std::size_t{cols} * 32)};
    case PackedFormat::q4_0x8:
      return quantised_geometry(8, 1, 4, cols);
    case PackedFormat::q4_1x8:
      return quantised_geometry(8, 2, 4, cols);
    case PackedFormat::q8_0x8:
      return quantised_geometry(8, 1, 8, cols);
    case PackedFormat::q4_0x16:
      return quantised_geometry(16, 1, 4, cols);
    case PackedFormat::q4_1x16:
      return quantised_geometry(16, 2, 4, cols);
    case PackedFormat::q8_0x16:
      return quantised_geometry(16, 1, 8, cols);
  }
  return {};
}

}  // namespace baton::kernels
