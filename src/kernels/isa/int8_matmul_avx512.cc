// int8 products with AVX-512 VNNI: 16 rows in the lanes of a register, two panels by up to four tokens in a tile.
//
// Per block of 32 columns: vpdpbusd multiplies the weights' unsigned bytes with four signed activation bytes broadcast
// to all rows and adds them to the rows' 32-bit sums; what the stored quants are above the true ones goes into the
// sum's start. Then two multiply-adds bring the block into the float sum: value += d * scale * dot (+ m * scaled_sum).
// The order of these is the same in every tile.
#include <cstring>

#include "kernels/isa/output_body.h"

namespace baton::kernels {

namespace {

constexpr std::size_t kPanelRows = 16;

struct Q40 {
  static constexpr bool kWide = false;  // one byte a quant
  static constexpr int kOffset = 8;     // the stored quants are above the true ones by this
  static constexpr bool kMinimum = false;
};
struct Q41 {
  static constexpr bool kWide = false;
  static constexpr int kOffset = 0;
  static constexpr bool kMinimum = true;
};
struct Q80 {
  static constexpr bool kWide = true;
  static constexpr int kOffset = 128;
  static constexpr bool kMinimum = false;
};

inline __m512i broadcast4(const std::int8_t* q) noexcept {
  std::int32_t four = 0;
  std::memcpy(&four, q, sizeof four);
  return _mm512_set1_epi32(four);
}

inline __m512 load_scales(const std::byte* p) noexcept {
  return _mm512_cvtph_ps(_mm256_loadu_si256(reinterpret_cast<const __m256i*>(p)));
}

// Quants of chunk `chunk` (of 8) of a block as unsigned bytes: for four-bit formats the high halves follow the low.
template <class Format>
inline __m512i load_quants(const std::byte* block, std::size_t chunk) noexcept {
  if constexpr (Format::kWide) {
    return _mm512_loadu_si512(block + chunk * 64);
  } else {
    const __m512i mask = _mm512_set1_epi8(15);
    const __m512i both = _mm512_loadu_si512(block + chunk % 4 * 64);
    return _mm512_and_si512(chunk < 4 ? both : _mm512_srli_epi16(both, 4), mask);
  }
}

template <class Format, std::size_t Tokens, std::size_t Panels>
inline void add_block(const std::byte* block, std::size_t panel_stride, const Q8Block4& x,
                      __m512 (&sums)[Tokens][Panels]) noexcept {
  const std::byte* quants = block + kPanelRows * (Format::kMinimum ? 4 : 2);
  __m512i dots[Tokens][Panels];
  BATON_UNROLL for (std::size_t t = 0; t < Tokens; ++t) {
    BATON_UNROLL for (std::size_t p = 0; p < Panels; ++p) {
      dots[t][p] = _mm512_set1_epi32(-Format::kOffset * x.sum[t]);
    }
  }
  BATON_UNROLL for (std::size_t chunk = 0; chunk < 8; ++chunk) {
    __m512i w[Panels];
    BATON_UNROLL for (std::size_t p = 0; p < Panels; ++p) {
      w[p] = load_quants<Format>(quants + p * panel_stride, chunk);
    }
    BATON_UNROLL for (std::size_t t = 0; t < Tokens; ++t) {
      const __m512i four = broadcast4(x.q[t] + chunk * 4);
      BATON_UNROLL for (std::size_t p = 0; p < Panels; ++p) {
        dots[t][p] = _mm512_dpbusd_epi32(dots[t][p], w[p], four);
      }
    }
  }
  BATON_UNROLL for (std::size_t p = 0; p < Panels; ++p) {
    const __m512 d = load_scales(block + p * panel_stride);
    BATON_UNROLL for (std::size_t t = 0; t < Tokens; ++t) {
      const __m512 scale = d * _mm512_set1_ps(x.scale[t]);
      sums[t][p] = _mm512_fmadd_ps(_mm512_cvtepi32_ps(dots[t][p]), scale, sums[t][p]);
    }
    if constexpr (Format::kMinimum) {
      const __m512 m = load_scales(block + p * panel_stride + kPanelRows * 2);
      BATON_UNROLL for (std::size_t t = 0; t < Tokens; ++t) {
        sums[t][p] = _mm512_fmadd_ps(m, _mm512_set1_ps(x.scaled_sum[t]), sums[t][p]);
      }
    }
  }
}

template <class Format, std::size_t Tokens, std::size_t Panels>
void tile(const MatmulArgs& args, std::size_t token, std::size_t panel) {
  const std::size_t blocks = args.w.cols / kBlockCols;
  const PanelGeometry geometry = args.geometry;
  const std::byte* data = args.w.data + panel * geometry.panel_stride;
  const Q8Block4* x = args.xq + token / 4 * blocks;
  __m512 sums[Tokens][Panels];
  BATON_UNROLL for (std::size_t t = 0; t < Tokens; ++t) {
    BATON_UNROLL for (std::size_t p = 0; p < Panels; ++p) {
      sums[t][p] = _mm512_setzero_ps();
    }
  }
  for (std::size_t block = 0; block < blocks; ++block) {
    add_block<Format, Tokens, Panels>(data, geometry.panel_stride, x[block], sums);
    data += geometry.block_stride;
  }
  BATON_UNROLL for (std::size_t t = 0; t < Tokens; ++t) {
    BATON_UNROLL for (std::size_t p = 0; p < Panels; ++p) {
      put(args, token + t, (panel + p) * kPanelRows, sums[t][p]);
    }
  }
}

// The next tokens, four at most.
template <class Format, std::size_t Panels>
void group(const MatmulArgs& args, std::size_t token, std::size_t tokens, std::size_t panel) {
  switch (tokens) {
    case 1:
      return tile<Format, 1, Panels>(args, token, panel);
    case 2:
      return tile<Format, 2, Panels>(args, token, panel);
    case 3:
      return tile<Format, 3, Panels>(args, token, panel);
    default:
      return tile<Format, 4, Panels>(args, token, panel);
  }
}

// The first group of tokens brings the weights from memory, one panel after the other: the prefetchers follow one
// stream at twice the rate of two (M = 1, q4_1: 29 against 14 GB/s on an EPYC Genoa core). The other groups find the
// weights in the cache and take two panels at a time.
template <class Format>
void int8_matmul(const MatmulArgs& args, std::size_t token_begin, std::size_t token_end, std::size_t panel_begin,
                 std::size_t panel_end) {
  const std::size_t first = token_end - token_begin < 4 ? token_end - token_begin : 4;
  std::size_t panel = panel_begin;
  for (; panel + 2 <= panel_end; panel += 2) {
    group<Format, 1>(args, token_begin, first, panel);
    group<Format, 1>(args, token_begin, first, panel + 1);
    std::size_t token = token_begin + 4;
    for (; token + 4 < token_end; token += 4) {
      tile<Format, 4, 2>(args, token, panel);
    }
    if (token < token_end) {
      group<Format, 2>(args, token, token_end - token, panel);
    }
  }
  if (panel < panel_end) {
    group<Format, 1>(args, token_begin, first, panel);
    for (std::size_t token = token_begin + 4; token < token_end; token += 4) {
      group<Format, 1>(args, token, token_end - token, panel);
    }
  }
}

}  // namespace

MatmulKernel avx512_int8_matmul(PackedFormat format) noexcept {
  switch (format) {
    case PackedFormat::q4_0x16:
      return int8_matmul<Q40>;
    case PackedFormat::q4_1x16:
      return int8_matmul<Q41>;
    case PackedFormat::q8_0x16:
      return int8_matmul<Q80>;
    default:
      return nullptr;
  }
}

}  // namespace baton::kernels
