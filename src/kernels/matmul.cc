// Matrix products: preparing activations once per operator, and cutting the output into chunks of panels and tokens.
#include <algorithm>

#include "kernels/kernel_table.h"
#include "kernels/ops.h"
#include "runtime/check.h"

namespace baton::kernels {

namespace {

// Multiply-adds a chunk should hold, counting a chunk of few tokens as four of them, since it waits for memory: some
// 5 us either way.
constexpr std::size_t kChunkWork = 500'000;
constexpr std::size_t kPrepareValues = 16384;  // activations a chunk normalises and rounds, some 5 us again
constexpr std::size_t kChunkGates = 6144;      // gates a chunk of gate_up_silu applies
constexpr std::size_t kChunkTokens = 96;       // activations of a chunk stay in the second-level cache

struct Input {
  const float* x = nullptr;
  const float* norm_weight = nullptr;  // null: x goes in as it is
  float eps = 0;
  std::size_t rows = 0;
};

struct Cut {
  std::size_t tokens = 0;  // per chunk, a multiple of 4 unless one chunk has all
  std::size_t panels = 0;  // per chunk
  std::size_t token_chunks = 0;
  std::size_t panel_chunks = 0;
};

Cut cut_output(std::size_t rows, std::size_t panels, const PackedMatrix& w, std::size_t panel_height) {
  Cut cut;
  cut.tokens = std::min(rows, kChunkTokens);
  const std::size_t panel_work = panel_height * w.cols * std::max<std::size_t>(cut.tokens, 4);
  // Whole strips of 64 rows, as long as there are enough of them: tiles of several panels are the fastest.
  const std::size_t strip = std::max<std::size_t>(1, 64 / panel_height);
  cut.panels = std::clamp<std::size_t>(kChunkWork / panel_work / strip * strip, strip, std::max(strip, panels));
  cut.token_chunks = (rows + cut.tokens - 1) / cut.tokens;
  cut.panel_chunks = (panels + cut.panels - 1) / cut.panels;
  return cut;
}

// Normalises and, for quantised weights, rounds the activations; what the kernels read lies in the lane's scratch.
void prepare(Lane& lane, const Input& input, MatmulArgs& args) {
  const std::size_t cols = args.w.cols;
  const bool quantised = is_quantised(args.w.format);
  args.x = input.x;
  if (!quantised && input.norm_weight == nullptr) {
    return;
  }
  const RowKernels& kernels = row_kernels(lane.isa());
  const std::size_t blocks = cols / kBlockCols;
  const std::size_t groups = (input.rows + 3) / 4;
  auto* normed = input.norm_weight == nullptr
                     ? nullptr
                     : reinterpret_cast<float*>(lane.scratch(input.rows * cols * sizeof(float)));
  auto* xq = quantised ? reinterpret_cast<Q8Block4*>(lane.scratch(groups * blocks * sizeof(Q8Block4))) : nullptr;
  const std::size_t chunk_rows = std::max<std::size_t>(1, kPrepareValues / cols / 4) * 4;  // whole groups
  const std::size_t chunks = (input.rows + chunk_rows - 1) / chunk_rows;
  lane.parallel_for(static_cast<unsigned>(chunks), [&](unsigned chunk) {
    const std::size_t begin = chunk * chunk_rows;
    const std::size_t end = std::min(input.rows, begin + chunk_rows);
    for (std::size_t row = begin; row < end; ++row) {
      const float* values = input.x + row * cols;
      if (normed != nullptr) {
        kernels.rms_norm(values, input.norm_weight, input.eps, cols, normed + row * cols);
        values = normed + row * cols;
      }
      if (quantised) {
        kernels.quantise(values, cols, xq + row / 4 * blocks, row % 4);
      }
    }
  });
  args.x = normed == nullptr ? input.x : normed;
  args.xq = xq;
}

MatmulArgs make_args(const PackedMatrix& w) {
  BATON_CHECK(w.data != nullptr && reinterpret_cast<std::uintptr_t>(w.data) % 64 == 0);
  MatmulArgs args;
  args.w = w;
  args.geometry = panel_geometry(w.format, w.cols);
  return args;
}

void multiply(Lane& lane, const Input& input, const PackedMatrix& w, const float* bias, float* out,
              std::size_t out_stride, bool accumulate) {
  BATON_CHECK(out_stride >= w.rows, out_stride, w.rows);
  if (input.rows == 0) {
    return;
  }
  const ScratchScope scope(lane);
  MatmulArgs args = make_args(w);
  args.bias = bias;
  args.out = out;
  args.out_stride = out_stride;
  args.accumulate = accumulate;
  prepare(lane, input, args);
  const MatmulKernel kernel = matmul_kernel(w.format, lane.isa());
  const std::size_t panels = (w.rows + args.geometry.rows - 1) / args.geometry.rows;
  const Cut cut = cut_output(input.rows, panels, w, args.geometry.rows);
  lane.parallel_for(static_cast<unsigned>(cut.token_chunks * cut.panel_chunks), [&](unsigned chunk) {
    const std::size_t token = chunk % cut.token_chunks * cut.tokens;
    const std::size_t panel = chunk / cut.token_chunks * cut.panels;
    kernel(args, token, std::min(input.rows, token + cut.tokens), panel, std::min(panels, panel + cut.panels));
  });
}

}  // namespace

void matmul(Lane& lane, const float* x, std::size_t rows, const PackedMatrix& w, const float* bias, float* out,
            std::size_t out_stride, bool accumulate) {
  multiply(lane, {x, nullptr, 0, rows}, w, bias, out, out_stride, accumulate);
}

void norm_matmul(Lane& lane, const float* x, const float* norm_weight, float eps, std::size_t rows,
                 const PackedMatrix& w, const float* bias, float* out, std::size_t out_stride) {
  multiply(lane, {x, norm_weight, eps, rows}, w, bias, out, out_stride, false);
}

void gate_up_silu(Lane& lane, const float* x, const float* norm_weight, float eps, std::size_t rows,
                  const PackedMatrix& gate_up, float* out) {
  BATON_CHECK(gate_up.rows % 2 == 0, gate_up.rows);
  const ScratchScope scope(lane);
  const std::size_t ffn = gate_up.rows / 2;
  auto* both = reinterpret_cast<float*>(lane.scratch(rows * gate_up.rows * sizeof(float)));
  multiply(lane, {x, norm_weight, eps, rows}, gate_up, nullptr, both, gate_up.rows, false);
  const auto kernel = row_kernels(lane.isa()).silu_mul;
  const std::size_t chunk_rows = std::max<std::size_t>(1, kChunkGates / ffn);
  lane.parallel_for(static_cast<unsigned>((rows + chunk_rows - 1) / chunk_rows), [&](unsigned chunk) {
    const std::size_t end = std::min(rows, (chunk + 1) * chunk_rows);
    for (std::size_t row = chunk * chunk_rows; row < end; ++row) {
      const float* gate = both + row * gate_up.rows;
      kernel(gate, gate + ffn, ffn, out + row * ffn);
    }
  });
}

}  // namespace baton::kernels
