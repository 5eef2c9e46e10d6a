#include "kernels/isa/attention_body.h"

namespace baton::kernels {

const AttentionKernels& portable_attention_kernels() noexcept {
  return kAttentionKernels;
}

}  // namespace baton::kernels
