// The int8 products in plain C++: any machine, any quantised format. The oracle's neighbour rather than a fast path.
#include "kernels/half.h"
#include "kernels/isa/output_body.h"
#include "kernels/isa/vector.h"

namespace baton::kernels {

namespace {

template <bool Q8, int Offset>
std::int32_t dot_block(const std::uint8_t* quants, std::size_t chunk_stride, const std::int8_t* q) noexcept {
  std::int32_t sum = 0;
  for (std::size_t e = 0; e < kBlockCols; ++e) {
    if constexpr (Q8) {
      const std::uint8_t byte = quants[e / 4 * chunk_stride + e % 4];
      sum += (Offset == 0 ? static_cast<std::int8_t>(byte) : byte) * q[e];
    } else {
      const std::uint8_t byte = quants[e % 16 / 4 * chunk_stride + e % 4];
      sum += (e < 16 ? byte & 15 : byte >> 4) * q[e];
    }
  }
  return sum;
}

float read_half(const std::byte* p) noexcept {
  std::uint16_t half = 0;
  std::memcpy(&half, p, sizeof half);
  return f16_to_float(half);
}

// Offset is what the stored quants are above the true ones: 0, 8 (q4_0) or 128 (q8_0x16).
template <bool Q8, int Offset, bool Minimum>
float dot_row(const MatmulArgs& args, const std::byte* panel, std::size_t lane, const Q8Block4* x,
              std::size_t token) noexcept {
  const PanelGeometry& geometry = args.geometry;
  float sum = 0;
  for (std::size_t block = 0; block < args.w.cols / kBlockCols; ++block) {
    const std::byte* scales = panel + block * geometry.block_stride + lane * 2;
    const auto* quants =
        reinterpret_cast<const std::uint8_t*>(panel) + block * geometry.block_stride + geometry.quant_offset + lane * 4;
    const Q8Block4& xb = x[block];
    const std::int32_t dot = dot_block<Q8, Offset>(quants, std::size_t{geometry.rows} * 4, xb.q[token]);
    sum += static_cast<float>(dot - Offset * xb.sum[token]) * (read_half(scales) * xb.scale[token]);
    if constexpr (Minimum) {
      sum += read_half(scales + std::size_t{geometry.rows} * 2) * xb.scaled_sum[token];
    }
  }
  return sum;
}

template <bool Q8, int Offset, bool Minimum>
void int8_matmul(const MatmulArgs& args, std::size_t token_begin, std::size_t token_end, std::size_t panel_begin,
                 std::size_t panel_end) {
  const std::size_t blocks = args.w.cols / kBlockCols;
  for (std::size_t panel = panel_begin; panel < panel_end; ++panel) {
    const std::byte* data = args.w.data + panel * args.geometry.panel_stride;
    for (std::size_t lane = 0; lane < args.geometry.rows; ++lane) {
      const std::size_t row = panel * args.geometry.rows + lane;
      for (std::size_t token = token_begin; row < args.w.rows && token < token_end; ++token) {
        const Q8Block4* x = args.xq + token / 4 * blocks;
        put_one(args, token, row, dot_row<Q8, Offset, Minimum>(args, data, lane, x, token % 4));
      }
    }
  }
}

}  // namespace

MatmulKernel portable_int8_matmul(PackedFormat format) noexcept {
  switch (format) {
    case PackedFormat::q4_0x8:
    case PackedFormat::q4_0x16:
      return int8_matmul<false, 8, false>;
    case PackedFormat::q4_1x8:
    case PackedFormat::q4_1x16:
      return int8_matmul<false, 0, true>;
    case PackedFormat::q8_0x8:
      return int8_matmul<true, 0, false>;
    case PackedFormat::q8_0x16:
      return int8_matmul<true, 128, false>;
    default:
      return nullptr;
  }
}

}  // namespace baton::kernels
