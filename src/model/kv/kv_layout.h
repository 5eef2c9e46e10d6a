// How keys and values lie in memory, and the fingerprint both sides of a hand-over compare before any byte moves.
//
// A page holds page_tokens positions of one sequence over all layers, contiguous:
//   [layer][K, V][kv_head][page_tokens][head_dim], keys after RoPE in Hugging Face's half-split order.
// One page is therefore one run of bytes on the wire.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

namespace baton {

enum class KvType : std::uint8_t { f16, f32 };

struct KvLayout {
  std::uint32_t layers = 0;
  std::uint32_t kv_heads = 0;
  std::uint32_t head_dim = 0;
  std::uint32_t page_tokens = 0;  // positions a page; 1, 16, 32 or 64
  KvType type = KvType::f16;

  friend bool operator==(const KvLayout&, const KvLayout&) = default;

  std::size_t value_bytes() const noexcept { return type == KvType::f16 ? 2 : 4; }
  std::size_t token_bytes() const noexcept {  // keys and values of one position over all layers
    return std::size_t{2} * layers * kv_heads * head_dim * value_bytes();
  }
  std::size_t page_bytes() const noexcept { return token_bytes() * page_tokens; }
  std::uint32_t pages_for(std::uint64_t tokens) const noexcept {
    return static_cast<std::uint32_t>((tokens + page_tokens - 1) / page_tokens);
  }

  // Hash of every field and of the canonical RoPE order and page order: equal fingerprints mean that bytes of a page
  // mean the same on both sides. The model is not in it; model_hash of the hand-over covers that.
  std::uint64_t fingerprint() const noexcept;
};

std::string describe(const KvLayout& layout);  // for messages: "30 layers, 3 kv heads of 64, f16, pages of 16"

}  // namespace baton
