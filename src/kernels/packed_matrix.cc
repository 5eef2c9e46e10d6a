#include "kernels/packed_matrix.h"

#include <cstring>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "kernels/half.h"
#include "kernels/panel_geometry.h"
#include "runtime/check.h"
#include "runtime/errors.h"

namespace baton::kernels {

namespace {

constexpr int kBiasQ8 = 0x80;  // q8_0x16 stores q + 128: vpdpbusd wants one unsigned operand

bool has_minimum(PackedFormat format) noexcept {
  return format == PackedFormat::q4_1x8 || format == PackedFormat::q4_1x16;
}

bool is_q8(PackedFormat format) noexcept {
  return format == PackedFormat::q8_0x8 || format == PackedFormat::q8_0x16;
}

// One row's part of a panel: the row's lane in every interleaved group.
struct RowPlace {
  std::size_t scales;  // offset of the row's d in block 0
  std::size_t quants;  // offset of the row's 4 bytes in chunk 0 of block 0
};

RowPlace place_of(const PanelGeometry& geometry, std::uint32_t row) noexcept {
  const std::size_t panel = row / geometry.rows * geometry.panel_stride;
  const std::size_t lane = row % geometry.rows;
  return {panel + lane * 2, panel + geometry.quant_offset + lane * 4};
}

void pack_row(const PackTarget& target, const PanelGeometry& geometry, std::uint32_t row, const std::byte* blocks) {
  const RowPlace place = place_of(geometry, row);
  const std::size_t chunk_stride = std::size_t{geometry.rows} * 4;
  const bool q8 = is_q8(target.format);
  const std::size_t chunks = q8 ? 8 : 4;
  const bool biased = target.format == PackedFormat::q8_0x16;
  for (std::uint32_t block = 0; block < target.cols / kBlockCols; ++block) {
    std::byte* scales = target.data + place.scales + block * geometry.block_stride;
    std::byte* quants = target.data + place.quants + block * geometry.block_stride;
    std::memcpy(scales, blocks, 2);
    blocks += 2;
    if (has_minimum(target.format)) {
      std::memcpy(scales + std::size_t{geometry.rows} * 2, blocks, 2);
      blocks += 2;
    }
    for (std::size_t chunk = 0; chunk < chunks; ++chunk) {
      std::memcpy(quants + chunk * chunk_stride, blocks, 4);
      for (std::size_t j = 0; biased && j < 4; ++j) {
        quants[chunk * chunk_stride + j] ^= std::byte{kBiasQ8};
      }
      blocks += 4;
    }
  }
}

void unpack_quantised_row(const PackedMatrix& matrix, std::uint32_t row, float* out) {
  const PanelGeometry geometry = panel_geometry(matrix.format, matrix.cols);
  const RowPlace place = place_of(geometry, row);
  const std::size_t chunk_stride = std::size_t{geometry.rows} * 4;
  const int zero = matrix.format == PackedFormat::q4_0x8 || matrix.format == PackedFormat::q4_0x16 ? 8 : 0;
  for (std::uint32_t block = 0; block < matrix.cols / kBlockCols; ++block, out += kBlockCols) {
    const std::byte* scales = matrix.data + place.scales + block * geometry.block_stride;
    const std::byte* quants = matrix.data + place.quants + block * geometry.block_stride;
    std::uint16_t half = 0;
    std::memcpy(&half, scales, 2);
    const float d = f16_to_float(half);
    float m = 0;
    if (has_minimum(matrix.format)) {
      std::memcpy(&half, scales + std::size_t{geometry.rows} * 2, 2);
      m = f16_to_float(half);
    }
    for (std::size_t e = 0; e < kBlockCols; ++e) {
      if (is_q8(matrix.format)) {
        const auto byte = std::to_integer<std::uint8_t>(quants[e / 4 * chunk_stride + e % 4]);
        const int q = matrix.format == PackedFormat::q8_0x16 ? byte - kBiasQ8 : static_cast<std::int8_t>(byte);
        out[e] = d * static_cast<float>(q);
      } else {
        const std::size_t low = e % 16;
        const auto byte = std::to_integer<int>(quants[low / 4 * chunk_stride + low % 4]);
        out[e] = d * static_cast<float>((e < 16 ? byte & 15 : byte >> 4) - zero) + m;
      }
    }
  }
}

}  // namespace

const char* to_string(PackedFormat format) noexcept {
  constexpr const char* kNames[] = {"f32_rows", "f16_panel", "bf16_panel", "q4_0x8", "q4_1x8",
                                    "q8_0x8",   "q4_0x16",   "q4_1x16",    "q8_0x16"};
  return kNames[static_cast<std::size_t>(format)];
}

PackedFormat preferred_format(SourceType type, Isa isa) noexcept {
  const bool wide = isa == Isa::avx512;
  switch (type) {
    case SourceType::q4_0:
      return wide ? PackedFormat::q4_0x16 : PackedFormat::q4_0x8;
    case SourceType::q4_1:
      return wide ? PackedFormat::q4_1x16 : PackedFormat::q4_1x8;
    case SourceType::q8_0:
      return wide ? PackedFormat::q8_0x16 : PackedFormat::q8_0x8;
    case SourceType::f32:
    case SourceType::bf16:
      return PackedFormat::bf16_panel;
    case SourceType::f16:
    case SourceType::other:
      return PackedFormat::f16_panel;
  }
  return PackedFormat::f16_panel;
}

bool is_quantised(PackedFormat format) noexcept {
  return format >= PackedFormat::q4_0x8;
}

std::uint32_t panel_rows(PackedFormat format) noexcept {
  return panel_geometry(format, 32).rows;
}

std::size_t packed_bytes(PackedFormat format, std::uint32_t rows, std::uint32_t cols) {
  if (rows == 0 || cols == 0) {
    throw Error(Errc::bad_file, fmt::format("a weight matrix of {} x {} is empty", rows, cols));
  }
  if (is_quantised(format) && cols % kBlockCols != 0) {
    throw Error(Errc::bad_file, fmt::format("a {} matrix needs rows of a multiple of {} values, this one has {}",
                                            to_string(format), kBlockCols, cols));
  }
  const PanelGeometry geometry = panel_geometry(format, cols);
  const std::size_t panels = (std::size_t{rows} + geometry.rows - 1) / geometry.rows;
  return round_up_64(panels * geometry.panel_stride);
}

void pack_quantised_rows(const PackTarget& target, std::uint32_t first_row, std::uint32_t count,
                         const std::function<const std::byte*(std::uint32_t row)>& row_blocks) {
  BATON_CHECK(is_quantised(target.format), to_string(target.format));
  BATON_CHECK(first_row <= target.rows && count <= target.rows - first_row, first_row, count, target.rows);
  const PanelGeometry geometry = panel_geometry(target.format, target.cols);
  for (std::uint32_t i = 0; i < count; ++i) {
    pack_row(target, geometry, first_row + i, row_blocks(i));
  }
}

void pack_float_rows(const PackTarget& target, std::uint32_t first_row, std::uint32_t count,
                     const std::function<void(std::uint32_t row, float* out)>& row_values) {
  BATON_CHECK(!is_quantised(target.format), to_string(target.format));
  BATON_CHECK(first_row <= target.rows && count <= target.rows - first_row, first_row, count, target.rows);
  const PanelGeometry geometry = panel_geometry(target.format, target.cols);
  std::vector<float> values(target.cols);
  for (std::uint32_t i = 0; i < count; ++i) {
    const std::uint32_t row = first_row + i;
    row_values(i, values.data());
    std::byte* panel = target.data + row / geometry.rows * geometry.panel_stride;
    if (target.format == PackedFormat::f32_rows) {
      std::memcpy(panel, values.data(), values.size() * sizeof(float));
      continue;
    }
    auto* lane = reinterpret_cast<std::uint16_t*>(panel) + row % geometry.rows;
    for (std::size_t k = 0; k < values.size(); ++k) {
      lane[k * geometry.rows] =
          target.format == PackedFormat::f16_panel ? float_to_f16(values[k]) : float_to_bf16(values[k]);
    }
  }
}

void unpack_row(const PackedMatrix& matrix, std::uint32_t row, float* out) {
  BATON_CHECK(row < matrix.rows, row, matrix.rows);
  if (is_quantised(matrix.format)) {
    unpack_quantised_row(matrix, row, out);
    return;
  }
  const PanelGeometry geometry = panel_geometry(matrix.format, matrix.cols);
  const std::byte* panel = matrix.data + row / geometry.rows * geometry.panel_stride;
  if (matrix.format == PackedFormat::f32_rows) {
    std::memcpy(out, panel, std::size_t{matrix.cols} * sizeof(float));
    return;
  }
  const auto* lane = reinterpret_cast<const std::uint16_t*>(panel) + row % geometry.rows;
  for (std::size_t k = 0; k < matrix.cols; ++k) {
    const std::uint16_t value = lane[k * geometry.rows];
    out[k] = matrix.format == PackedFormat::f16_panel ? f16_to_float(value) : bf16_to_float(value);
  }
}

}  // namespace baton::kernels
