// Matrix products with float weights over Vec; included by float_matmul_<isa>.cc
//
// Every output is one chain of multiply-adds over ascending k, whatever tile computes it: that is what makes a row's
// result independent of the rows beside it. Tiles only decide how many chains run side by side.
#pragma once

#include "kernels/isa/output_body.h"

namespace baton::kernels {
namespace {

constexpr std::size_t kPanelRows = 16;
constexpr std::size_t kPanelVecs = kPanelRows / kLanes;
constexpr std::size_t kTileTokens = 6;

// Panels of a tile: as many sums as the registers hold beside the weights (32 with AVX-512, else 16), and enough
// chains to hide the latency of a multiply-add.
constexpr std::size_t tile_panels(std::size_t tokens) noexcept {
  if (kLanes == 16) {
    return 4;
  }
  return kLanes == 8 && tokens <= 2 ? 4 / tokens : 1;
}

template <PackedFormat Format>
inline Vec load_weights(const std::uint16_t* p) noexcept {
  if constexpr (Format == PackedFormat::f16_panel) {
    return load_f16(p);
  } else {
    return load_bf16(p);
  }
}

template <PackedFormat Format, std::size_t Tokens, std::size_t Panels>
void panel_tile(const MatmulArgs& args, std::size_t token, std::size_t panel) {
  const std::size_t cols = args.w.cols;
  const std::size_t stride = args.geometry.panel_stride / sizeof(std::uint16_t);
  const auto* weights = reinterpret_cast<const std::uint16_t*>(args.w.data) + panel * stride;
  const float* x = args.x + token * cols;
  constexpr std::size_t kVecs = Panels * kPanelVecs;
  Vec sums[Tokens][kVecs];
  BATON_UNROLL for (std::size_t t = 0; t < Tokens; ++t) {
    BATON_UNROLL for (std::size_t v = 0; v < kVecs; ++v) {
      sums[t][v] = splat(0);
    }
  }
  for (std::size_t k = 0; k < cols; ++k, weights += kPanelRows) {
    Vec w[kVecs];
    BATON_UNROLL for (std::size_t v = 0; v < kVecs; ++v) {
      w[v] = load_weights<Format>(weights + v / kPanelVecs * stride + v % kPanelVecs * kLanes);
    }
    BATON_UNROLL for (std::size_t t = 0; t < Tokens; ++t) {
      const Vec activation = splat(x[t * cols + k]);
      BATON_UNROLL for (std::size_t v = 0; v < kVecs; ++v) {
        sums[t][v] = fma(w[v], activation, sums[t][v]);
      }
    }
  }
  BATON_UNROLL for (std::size_t t = 0; t < Tokens; ++t) {
    BATON_UNROLL for (std::size_t v = 0; v < kVecs; ++v) {
      put(args, token + t, panel * kPanelRows + v * kLanes, sums[t][v]);
    }
  }
}

template <PackedFormat Format, std::size_t Tokens>
void panel_run(const MatmulArgs& args, std::size_t token, std::size_t panel, std::size_t panel_end) {
  constexpr std::size_t kPanels = tile_panels(Tokens);
  for (; panel + kPanels <= panel_end; panel += kPanels) {
    panel_tile<Format, Tokens, kPanels>(args, token, panel);
  }
  for (; panel < panel_end; ++panel) {
    panel_tile<Format, Tokens, 1>(args, token, panel);
  }
}

template <PackedFormat Format>
void panel_matmul(const MatmulArgs& args, std::size_t token_begin, std::size_t token_end, std::size_t panel_begin,
                  std::size_t panel_end) {
  constexpr std::size_t kStrip = 4;  // panels whose weights all tokens use before the next ones come
  for (std::size_t panel = panel_begin; panel < panel_end; panel += kStrip) {
    const std::size_t strip_end = panel + kStrip < panel_end ? panel + kStrip : panel_end;
    std::size_t token = token_begin;
    for (; token + kTileTokens <= token_end; token += kTileTokens) {
      panel_run<Format, kTileTokens>(args, token, panel, strip_end);
    }
    switch (token_end - token) {
      case 5:
        panel_run<Format, 5>(args, token, panel, strip_end);
        break;
      case 4:
        panel_run<Format, 4>(args, token, panel, strip_end);
        break;
      case 3:
        panel_run<Format, 3>(args, token, panel, strip_end);
        break;
      case 2:
        panel_run<Format, 2>(args, token, panel, strip_end);
        break;
      case 1:
        panel_run<Format, 1>(args, token, panel, strip_end);
        break;
      default:
        break;
    }
  }
}

// The oracle's products: one dot product each, in kLanes * 2 partial sums.
float dot(const float* a, const float* b, std::size_t count) noexcept {
  Vec sum0 = splat(0);
  Vec sum1 = splat(0);
  std::size_t i = 0;
  for (; i + 2 * kLanes <= count; i += 2 * kLanes) {
    sum0 = fma(load(a + i), load(b + i), sum0);
    sum1 = fma(load(a + i + kLanes), load(b + i + kLanes), sum1);
  }
  float rest = 0;
  for (; i < count; ++i) {
    rest += a[i] * b[i];
  }
  return sum_lanes(sum0 + sum1) + rest;
}

void rows_matmul(const MatmulArgs& args, std::size_t token_begin, std::size_t token_end, std::size_t panel_begin,
                 std::size_t panel_end) {
  const std::size_t cols = args.w.cols;
  const auto* weights = reinterpret_cast<const float*>(args.w.data);
  for (std::size_t row = panel_begin; row < panel_end; ++row) {
    for (std::size_t token = token_begin; token < token_end; ++token) {
      put_one(args, token, row, dot(weights + row * cols, args.x + token * cols, cols));
    }
  }
}

MatmulKernel float_kernel(PackedFormat format) noexcept {
  switch (format) {
    case PackedFormat::f32_rows:
      return rows_matmul;
    case PackedFormat::f16_panel:
      return panel_matmul<PackedFormat::f16_panel>;
    case PackedFormat::bf16_panel:
      return panel_matmul<PackedFormat::bf16_panel>;
    default:
      return nullptr;
  }
}

}  // namespace
}  // namespace baton::kernels
