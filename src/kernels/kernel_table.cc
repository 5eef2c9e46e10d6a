#include "kernels/kernel_table.h"

#include "runtime/check.h"

namespace baton::kernels {

namespace {

MatmulKernel native_kernel(PackedFormat format, Isa isa) noexcept {
#if defined(__x86_64__)
  MatmulKernel kernel = nullptr;
  if (isa == Isa::avx512) {
    kernel = is_quantised(format) ? avx512_int8_matmul(format) : avx512_float_matmul(format);
  }
  if (kernel == nullptr && isa != Isa::portable) {
    kernel = is_quantised(format) ? avx2_int8_matmul(format) : avx2_float_matmul(format);
  }
  return kernel;
#else
  (void)format;
  (void)isa;
  return nullptr;
#endif
}

}  // namespace

void check_layout(const KvLayoutView& layout, std::uint32_t layer) {
  BATON_CHECK(layer < layout.layers, layer, layout.layers);
  BATON_CHECK(layout.kv_heads > 0 && layout.page_tokens > 0, layout.kv_heads, layout.page_tokens);
  BATON_CHECK(layout.head_dim > 0 && layout.head_dim <= kHeadDimMax, layout.head_dim);
  BATON_CHECK(layout.page_bytes >= kv_offset(layout, layout.layers, 0, 0), layout.page_bytes);
}

std::size_t kv_value_bytes(const KvLayoutView& layout) noexcept {
  return layout.type == KvType::f16 ? 2 : 4;
}

std::size_t kv_offset(const KvLayoutView& layout, std::uint32_t layer, std::uint32_t part,
                      std::uint32_t head) noexcept {
  const std::size_t head_bytes = std::size_t{layout.page_tokens} * layout.head_dim * kv_value_bytes(layout);
  return ((std::size_t{layer} * 2 + part) * layout.kv_heads + head) * head_bytes;
}

const RowKernels& row_kernels([[maybe_unused]] Isa isa) noexcept {
#if defined(__x86_64__)
  if (isa == Isa::avx512) {
    return avx512_row_kernels();
  }
  if (isa == Isa::avx2) {
    return avx2_row_kernels();
  }
#endif
  return portable_row_kernels();
}

const AttentionKernels& attention_kernels([[maybe_unused]] Isa isa) noexcept {
#if defined(__x86_64__)
  if (isa == Isa::avx512) {
    return avx512_attention_kernels();
  }
  if (isa == Isa::avx2) {
    return avx2_attention_kernels();
  }
#endif
  return portable_attention_kernels();
}

MatmulKernel matmul_kernel(PackedFormat format, Isa isa) noexcept {
  if (const MatmulKernel kernel = native_kernel(format, isa)) {
    return kernel;
  }
  return is_quantised(format) ? portable_int8_matmul(format) : portable_float_matmul(format);
}

}  // namespace baton::kernels
