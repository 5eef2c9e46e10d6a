// int8 products with AVX2: 8 rows in the lanes of a register by up to four tokens in a tile.
//
// Four-bit weights: vpmaddubsw of unsigned quants and signed activations; a pair is at most 2 * 15 * 127 and the
// eight pairs of a block at most 30,480, so a block is summed in 16 bits and widened once. Eight-bit weights: the
// weight's sign moves to the activation (|w| * sign(w) x), and every pair is widened, because two pairs would overflow.
// Then two multiply-adds bring the block into the float sum. The order of all this is the same in every tile.
#include <cstring>

#include "kernels/isa/output_body.h"

namespace baton::kernels {

namespace {

constexpr std::size_t kPanelRows = 8;

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
  static constexpr bool kMinimum = false;
};

inline __m256i broadcast4(const std::int8_t* q) noexcept {
  std::int32_t four = 0;
  std::memcpy(&four, q, sizeof four);
  return _mm256_set1_epi32(four);
}

inline __m256 load_scales(const std::byte* p) noexcept {
  return _mm256_cvtph_ps(_mm_loadu_si128(reinterpret_cast<const __m128i*>(p)));
}

inline __m256i load_quants(const std::byte* p) noexcept {
  return _mm256_loadu_si256(reinterpret_cast<const __m256i*>(p));
}

template <class Format, std::size_t Tokens>
inline void dots_of_nibbles(const std::byte* quants, const Q8Block4& x, __m256i (&dots)[Tokens]) noexcept {
  const __m256i mask = _mm256_set1_epi8(15);
  __m256i pairs[Tokens];
  BATON_UNROLL for (std::size_t chunk = 0; chunk < 4; ++chunk) {
    const __m256i both = load_quants(quants + chunk * 32);
    const __m256i low = _mm256_and_si256(both, mask);
    const __m256i high = _mm256_and_si256(_mm256_srli_epi16(both, 4), mask);
    BATON_UNROLL for (std::size_t t = 0; t < Tokens; ++t) {
      const __m256i a = _mm256_maddubs_epi16(low, broadcast4(x.q[t] + chunk * 4));
      const __m256i b = _mm256_maddubs_epi16(high, broadcast4(x.q[t] + 16 + chunk * 4));
      const __m256i both_pairs = _mm256_add_epi16(a, b);
      pairs[t] = chunk == 0 ? both_pairs : _mm256_add_epi16(pairs[t], both_pairs);
    }
  }
  BATON_UNROLL for (std::size_t t = 0; t < Tokens; ++t) {
    dots[t] = _mm256_madd_epi16(pairs[t], _mm256_set1_epi16(1));
    if constexpr (Format::kOffset != 0) {
      dots[t] = _mm256_sub_epi32(dots[t], _mm256_set1_epi32(Format::kOffset * x.sum[t]));
    }
  }
}

template <std::size_t Tokens>
inline void dots_of_bytes(const std::byte* quants, const Q8Block4& x, __m256i (&dots)[Tokens]) noexcept {
  const __m256i ones = _mm256_set1_epi16(1);
  BATON_UNROLL for (std::size_t t = 0; t < Tokens; ++t) {
    dots[t] = _mm256_setzero_si256();
  }
  BATON_UNROLL for (std::size_t chunk = 0; chunk < 8; ++chunk) {
    const __m256i w = load_quants(quants + chunk * 32);
    const __m256i size = _mm256_abs_epi8(w);
    BATON_UNROLL for (std::size_t t = 0; t < Tokens; ++t) {
      const __m256i signed_x = _mm256_sign_epi8(broadcast4(x.q[t] + chunk * 4), w);
      dots[t] = _mm256_add_epi32(dots[t], _mm256_madd_epi16(_mm256_maddubs_epi16(size, signed_x), ones));
    }
  }
}

template <class Format, std::size_t Tokens>
inline void add_block(const std::byte* block, const Q8Block4& x, __m256 (&sums)[Tokens]) noexcept {
  const std::byte* quants = block + kPanelRows * (Format::kMinimum ? 4 : 2);
  __m256i dots[Tokens];
  if constexpr (Format::kWide) {
    dots_of_bytes<Tokens>(quants, x, dots);
  } else {
    dots_of_nibbles<Format, Tokens>(quants, x, dots);
  }
  const __m256 d = load_scales(block);
  BATON_UNROLL for (std::size_t t = 0; t < Tokens; ++t) {
    sums[t] = _mm256_fmadd_ps(_mm256_cvtepi32_ps(dots[t]), d * _mm256_set1_ps(x.scale[t]), sums[t]);
  }
  if constexpr (Format::kMinimum) {
    const __m256 m = load_scales(block + kPanelRows * 2);
    BATON_UNROLL for (std::size_t t = 0; t < Tokens; ++t) {
      sums[t] = _mm256_fmadd_ps(m, _mm256_set1_ps(x.scaled_sum[t]), sums[t]);
    }
  }
}

template <class Format, std::size_t Tokens>
void tile(const MatmulArgs& args, std::size_t token, std::size_t panel) {
  const std::size_t blocks = args.w.cols / kBlockCols;
  const PanelGeometry& geometry = args.geometry;
  const std::byte* data = args.w.data + panel * geometry.panel_stride;
  const Q8Block4* x = args.xq + token / 4 * blocks;
  __m256 sums[Tokens];
  BATON_UNROLL for (std::size_t t = 0; t < Tokens; ++t) {
    sums[t] = _mm256_setzero_ps();
  }
  for (std::size_t block = 0; block < blocks; ++block) {
    add_block<Format, Tokens>(data, x[block], sums);
    data += geometry.block_stride;
  }
  BATON_UNROLL for (std::size_t t = 0; t < Tokens; ++t) {
    put(args, token + t, panel * kPanelRows, sums[t]);
  }
}

template <class Format>
void strip(const MatmulArgs& args, std::size_t token, std::size_t token_end, std::size_t panel) {
  for (; token + 4 < token_end; token += 4) {
    tile<Format, 4>(args, token, panel);
  }
  switch (token_end - token) {
    case 1:
      return tile<Format, 1>(args, token, panel);
    case 2:
      return tile<Format, 2>(args, token, panel);
    case 3:
      return tile<Format, 3>(args, token, panel);
    default:
      return tile<Format, 4>(args, token, panel);
  }
}

template <class Format>
void int8_matmul(const MatmulArgs& args, std::size_t token_begin, std::size_t token_end, std::size_t panel_begin,
                 std::size_t panel_end) {
  for (std::size_t panel = panel_begin; panel < panel_end; ++panel) {
    strip<Format>(args, token_begin, token_end, panel);
  }
}

}  // namespace

MatmulKernel avx2_int8_matmul(PackedFormat format) noexcept {
  switch (format) {
    case PackedFormat::q4_0x8:
      return int8_matmul<Q40>;
    case PackedFormat::q4_1x8:
      return int8_matmul<Q41>;
    case PackedFormat::q8_0x8:
      return int8_matmul<Q80>;
    default:
      return nullptr;
  }
}

}  // namespace baton::kernels
