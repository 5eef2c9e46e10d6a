#include <algorithm>
#include <cstring>

#include "kernels/attention.h"
#include "kernels/kernel_table.h"
#include "runtime/check.h"

namespace baton::kernels {

namespace {

constexpr std::uint32_t kChunkTokens = 16;

void store_row(const KvLayoutView& layout, const RowKernels& kernels, const float* x, std::byte* out) {
  if (layout.type == KvType::f32) {
    std::memcpy(out, x, layout.head_dim * sizeof(float));
    return;
  }
  kernels.to_f16(x, layout.head_dim, reinterpret_cast<std::uint16_t*>(out));
}

}  // namespace

void store_kv(Lane& lane, const KvLayoutView& layout, std::uint32_t layer, std::span<const AttentionSequence> sequences,
              const float* k, std::size_t k_stride, const float* v, std::size_t v_stride) {
  check_layout(layout, layer);
  const RowKernels& kernels = row_kernels(lane.isa());
  const std::size_t row_bytes = layout.head_dim * kv_value_bytes(layout);
  const auto store_token = [&](const AttentionSequence& sequence, std::uint32_t row) {
    const std::uint32_t position = sequence.first_position + row;
    std::byte* page = sequence.arena + sequence.pages[position / layout.page_tokens] * layout.page_bytes +
                      position % layout.page_tokens * row_bytes;
    const std::size_t token = std::size_t{sequence.first_row} + row;
    for (std::uint32_t head = 0; head < layout.kv_heads; ++head) {
      const std::size_t column = std::size_t{head} * layout.head_dim;
      store_row(layout, kernels, k + token * k_stride + column, page + kv_offset(layout, layer, 0, head));
      store_row(layout, kernels, v + token * v_stride + column, page + kv_offset(layout, layer, 1, head));
    }
  };
  std::uint32_t rows_max = 0;
  for (const AttentionSequence& sequence : sequences) {
    rows_max = std::max(rows_max, sequence.rows);
  }
  if (rows_max <= kChunkTokens) {  // decode rows: too little work to hand over
    for (const AttentionSequence& sequence : sequences) {
      for (std::uint32_t row = 0; row < sequence.rows; ++row) {
        store_token(sequence, row);
      }
    }
    return;
  }
  for (const AttentionSequence& sequence : sequences) {
    lane.parallel_for((sequence.rows + kChunkTokens - 1) / kChunkTokens, [&](unsigned chunk) {
      const std::uint32_t end = std::min(sequence.rows, (chunk + 1) * kChunkTokens);
      for (std::uint32_t row = chunk * kChunkTokens; row < end; ++row) {
        store_token(sequence, row);
      }
    });
  }
}

}  // namespace baton::kernels
