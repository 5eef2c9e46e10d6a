#include "model/kv/kv_layout.h"

#include <array>

#include <fmt/format.h>
#include <xxhash.h>

namespace baton {

std::uint64_t KvLayout::fingerprint() const noexcept {
  // Changes whenever the meaning of a page's bytes does: the version stands for the order of the dimensions, the
  // half-split rotation of keys, and the byte order.
  constexpr std::uint64_t kOrderVersion = 1;
  const std::array<std::uint64_t, 6> fields{kOrderVersion, layers,      kv_heads,
                                            head_dim,      page_tokens, static_cast<std::uint64_t>(type)};
  return XXH64(fields.data(), sizeof(fields), 0);
}

std::string describe(const KvLayout& layout) {
  return fmt::format("{} layers, {} kv heads of {}, {}, pages of {}", layout.layers, layout.kv_heads, layout.head_dim,
                     layout.type == KvType::f16 ? "f16" : "f32", layout.page_tokens);
}

}  // namespace baton
