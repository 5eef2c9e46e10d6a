// The paged key and value cache as the kernels see it.
//
// A page is contiguous over all layers: [layer][K, V][kv_head][page_tokens][head_dim], the same picture as the pool's.
#pragma once

#include <cstddef>
#include <cstdint>

namespace baton::kernels {

enum class KvType : std::uint8_t { f16, f32 };

struct KvLayoutView {
  std::uint32_t layers = 0;
  std::uint32_t kv_heads = 0;
  std::uint32_t head_dim = 0;
  std::uint32_t page_tokens = 0;
  KvType type = KvType::f16;
  std::size_t page_bytes = 0;  // from page to page in the arena; at least what the other fields need
};

// Rows [first_row, first_row + rows) of q, k, v and out are positions [first_position, first_position + rows) of this
// sequence. Page p of the arena begins at arena + p * page_bytes; pages[i] holds positions from i * page_tokens on.
struct AttentionSequence {
  std::byte* arena = nullptr;
  const std::uint32_t* pages = nullptr;
  std::uint32_t first_position = 0;
  std::uint32_t rows = 0;
  std::uint32_t first_row = 0;
};

// Positions that are reduced on their own before they are merged; see attention.h.
constexpr std::uint32_t kAttentionRange = 256;

}  // namespace baton::kernels
