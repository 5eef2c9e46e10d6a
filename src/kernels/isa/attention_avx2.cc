#include "kernels/isa/attention_body.h"

namespace baton::kernels {

const AttentionKernels& avx2_attention_kernels() noexcept {
  return kAttentionKernels;
}

}  // namespace baton::kernels
