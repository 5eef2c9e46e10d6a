// The seam between operators and instruction sets: an operator cuts work into chunks and calls through these tables;
// each table is one instruction set's code, compiled with its own flags in isa/. Internal to kernels.
#pragma once

#include <cstddef>
#include <cstdint>

#include "kernels/kv_view.h"
#include "kernels/packed_matrix.h"
#include "kernels/panel_geometry.h"

namespace baton::kernels {

// Activations of four tokens and 32 columns, rounded to int8. x ~ scale * q.
struct alignas(64) Q8Block4 {
  std::int8_t q[4][kBlockCols];
  float scale[4];
  float scaled_sum[4];  // scale * sum(q): what a weight block's minimum is multiplied with
  std::int32_t sum[4];  // sum(q): what an offset in the quants is multiplied with
};

struct RowKernels {
  void (*rms_norm)(const float* x, const float* weight, float eps, std::size_t dim, float* out);
  void (*rope_head)(float* x, std::size_t half_dim, const float* cosines, const float* sines);
  void (*silu_mul)(const float* gate, const float* up, std::size_t count, float* out);
  void (*add)(const float* x, std::size_t count, float* out);
  void (*to_f16)(const float* x, std::size_t count, std::uint16_t* out);
  // One token's row into slot `token` of a run of cols / 32 blocks. Unused slots of the last group are never read.
  void (*quantise)(const float* x, std::size_t cols, Q8Block4* blocks, std::size_t token);
};

struct MatmulArgs {
  PackedMatrix w;
  PanelGeometry geometry;
  const float* x = nullptr;      // float formats: [tokens, cols]
  const Q8Block4* xq = nullptr;  // quantised formats: [tokens / 4][cols / 32]
  const float* bias = nullptr;
  float* out = nullptr;        // element (token 0, row 0)
  std::size_t out_stride = 0;  // floats from token to token
  bool accumulate = false;
};

// Computes out for tokens [token_begin, token_end) and panels [panel_begin, panel_end). token_begin is a multiple of 4.
using MatmulKernel = void (*)(const MatmulArgs& args, std::size_t token_begin, std::size_t token_end,
                              std::size_t panel_begin, std::size_t panel_end);

// Query rows of one KV head that are computed together: `tokens` rows of the sequence, `heads` query heads each.
struct AttentionTile {
  const KvLayoutView* layout = nullptr;
  const AttentionSequence* sequence = nullptr;
  std::size_t k_offset = 0;  // bytes from a page's begin to this layer's and KV head's keys
  std::size_t v_offset = 0;
  const float* q = nullptr;  // of the tile's first token and head
  std::size_t q_stride = 0;  // floats from token to token; heads are head_dim apart
  std::uint32_t first_position = 0;
  std::uint32_t tokens = 0;
  std::uint32_t heads = 0;
  float scale = 1;
};

constexpr std::uint32_t kTileRowsMax = 64;  // tokens * heads of a tile
constexpr std::uint32_t kHeadDimMax = 256;
constexpr std::uint32_t kAttentionBlock = 64;  // positions that are scored together; divides kAttentionRange

[[maybe_unused]] static constexpr std::size_t padded_head_dim(std::size_t head_dim) noexcept {
  return (head_dim + 15) / 16 * 16;
}

// The softmax-weighted sum over some positions, not yet divided: for a tile's row r, values[r * padded_head_dim + d],
// the largest score and the sum of exp(score - largest).
struct AttentionPartial {
  float* values = nullptr;
  float* largest = nullptr;
  float* sum = nullptr;
};

// A tile's work on positions [begin, end); begin is a multiple of kAttentionRange. No tile: no work.
struct AttentionWork {
  const AttentionTile* tile = nullptr;
  std::uint32_t begin = 0;
  std::uint32_t end = 0;
};

struct AttentionKernels {
  // Each row takes those of the positions that are up to its own; rows whose position is below `work.begin` are left
  // alone. `next` is what this thread will probably do afterwards: its first keys and values are asked for in time.
  void (*range)(const AttentionWork& work, const AttentionWork& next, const AttentionPartial& partial);
  // total += other for one row (row pointers), in the order of the arguments.
  void (*merge)(const AttentionPartial& total, const AttentionPartial& other, std::size_t padded_dim);
  // out = values / sum
  void (*finish)(const AttentionPartial& total, std::size_t head_dim, float* out);
};

// Stops the program unless the view makes sense for `layer`.
void check_layout(const KvLayoutView& layout, std::uint32_t layer);
std::size_t kv_value_bytes(const KvLayoutView& layout) noexcept;
// Bytes from a page's begin to one KV head's page_tokens rows of keys (part 0) or values (part 1).
std::size_t kv_offset(const KvLayoutView& layout, std::uint32_t layer, std::uint32_t part, std::uint32_t head) noexcept;

const RowKernels& row_kernels(Isa isa) noexcept;
const AttentionKernels& attention_kernels(Isa isa) noexcept;
MatmulKernel matmul_kernel(PackedFormat format, Isa isa) noexcept;  // any pair works; portable where nothing is faster

// What the files in isa/ provide. Null where an instruction set has no kernel of its own for a format.
const RowKernels& portable_row_kernels() noexcept;
const RowKernels& avx2_row_kernels() noexcept;
const RowKernels& avx512_row_kernels() noexcept;
const AttentionKernels& portable_attention_kernels() noexcept;
const AttentionKernels& avx2_attention_kernels() noexcept;
const AttentionKernels& avx512_attention_kernels() noexcept;
MatmulKernel portable_float_matmul(PackedFormat format) noexcept;
MatmulKernel portable_int8_matmul(PackedFormat format) noexcept;
MatmulKernel avx2_float_matmul(PackedFormat format) noexcept;
MatmulKernel avx2_int8_matmul(PackedFormat format) noexcept;
MatmulKernel avx512_float_matmul(PackedFormat format) noexcept;
MatmulKernel avx512_int8_matmul(PackedFormat format) noexcept;

}  // namespace baton::kernels
